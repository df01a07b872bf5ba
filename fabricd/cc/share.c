/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shares the file cc_key with the other managers of the fabric through a row of the database
 * (fabricd/store/shared_key.h), if replication.wrapping_key is set and fabricd makes the CC_Key.
 * fabricd/sm/keys/share.c does the same for the M_Key, and says why the key in the row replaces the
 * key in the file.
 */
#include <stdio.h>

#include "fabricd/base/log.h"
#include "fabricd/cc/private.h"
#include "fabricd/replica/replica.h"
#include "fabricd/store/shared_key.h"
#include "fabricd/store/store.h"
#include "libfabmgr/base/status.h"

#define WHY_LEN 512

bool cc_keys_shared(const struct cc *cc)
{
    return cc->in.replica && cc->in.store && cc->in.keys_dir && cc->in.config->replication.wraps &&
           cc->in.config->cc_key_generated;
}

static struct store_sharing sharing(const struct cc *cc)
{
    return (struct store_sharing){.wrapping_key = cc->in.config->replication.wrapping_key,
                                  .subnet_prefix = cc->in.config->policy.subnet_prefix};
}

static int put_row(struct cc *cc, const struct store_m_key *file, char *why, size_t why_len)
{
    const struct store_sharing w = sharing(cc);
    int r = store_put_shared_key(cc->in.store, &w, file);
    if (r != FAB_OK)
        snprintf(why, why_len, "the CC_Key cannot be encrypted for the other managers: %s",
                 fab_base_status_text(r));
    else
        cc->keys.row_mark = store_mark(cc->in.store);
    return r;
}

void cc_keys_tell(struct cc *cc)
{
    char why[WHY_LEN];
    if (cc_keys_shared(cc) && cc_is_master(cc) && !cc->keys.proposed &&
        put_row(cc, &cc->keys.file, why, sizeof(why)) != FAB_OK)
        log_error("congestion", "%s", why);
}

int cc_keys_propose(struct cc *cc, const struct store_m_key *file, char *why, size_t why_len)
{
    int r = put_row(cc, file, why, why_len);
    cc->keys.proposed |= r == FAB_OK;
    return r;
}

static void adopt(struct cc *cc, struct store_m_key *row)
{
    char why[WHY_LEN];
    int r = store_adopt_key(cc->in.keys_dir, &cc->keys.file, row, why, sizeof(why));
    if (r == FAB_OK)
        r = cc_keys_use(cc, row, why, sizeof(why));
    if (r != FAB_OK) {
        log_error("congestion", "%s", why);
        return;
    }
    cc->keys.proposed = false;
    log_notice("congestion", "the CC_Key that the managers share is in use");
}

static void load(struct cc *cc)
{
    const struct store_sharing w = sharing(cc);
    struct store_m_key row = {0};
    bool confirmed = false;
    char why[WHY_LEN] = "";
    int r = store_get_shared_key(cc->in.store, &w, STORE_KEY_OF_CONGESTION, &row, &confirmed, why,
                                 sizeof(why));
    bool differs = r == FAB_OK && row.generated && !store_m_key_same(&row, &cc->keys.file);
    cc->keys.proposed = differs && !confirmed;
    if (r == FAB_E_NOT_FOUND && cc->keys.file.generation > 0 && replica_is_level(cc->in.replica))
        cc_keys_tell(cc);
    else if (r != FAB_OK && r != FAB_E_NOT_FOUND && !cc->keys.told_unreadable)
        log_error("congestion", "%s", why[0] != '\0' ? why : fab_base_status_text(r));
    else if (differs && confirmed)
        adopt(cc, &row);
    cc->keys.told_unreadable = r != FAB_OK && r != FAB_E_NOT_FOUND;
    store_m_key_fini(&row);
}

/* Returns a number that changes when the shared row must be loaded again: another manager's rows
 * arrived, or this manager's role changed. */
static uint64_t state_of(const struct cc *cc)
{
    return replica_changes(cc->in.replica) << 2 | (uint64_t)replica_is_level(cc->in.replica) << 1 |
           cc_is_master(cc);
}

/* Returns true if the shared row must not be loaded yet. There are two such cases: this manager's
 * own change of the row is not written to the database yet, so the row is older than the key file;
 * or this manager has proposed a new key that no majority has confirmed yet. */
static bool waits(const struct cc *cc)
{
    const struct cc_keys *k = &cc->keys;
    return (k->row_mark != 0 && store_written(cc->in.store, k->row_mark) != STORE_WRITTEN) ||
           (k->proposed && store_shared_key_waits(cc->in.store, STORE_KEY_OF_CONGESTION));
}

void cc_share_tick(struct cc *cc)
{
    if (!cc_keys_shared(cc))
        return;
    uint64_t state = state_of(cc);
    if ((state == cc->keys.shared_state && !cc->keys.proposed) || waits(cc))
        return;
    cc->keys.shared_state = state;
    load(cc);
}

bool cc_keys_shared_with_others(const struct cc *cc)
{
    return sm_others_share_keys(cc->in.sm, cc_keys_shared(cc));
}
