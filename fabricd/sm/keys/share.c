/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shares the key file with the other managers of the fabric, if replication.wrapping_key is set and
 * fabricd makes the M_Key. A row of the replicated table shared_key has the contents of the file
 * (fabricd/store/shared_key.h).
 *
 * If row and file have different keys, the key in the row replaces the key in the file: a rotation
 * first changes the row, and a manager uses a new key only after a majority has confirmed the row.
 * If the master is killed before the row is confirmed, no port has the new key. If it is killed
 * later, the next master has both keys and completes the rotation.
 */
#include <stdio.h>

#include "fabricd/base/log.h"
#include "fabricd/replica/replica.h"
#include "fabricd/sm/keys/state.h"
#include "fabricd/store/shared_key.h"
#include "fabricd/store/store.h"
#include "libfabmgr/base/status.h"

#define WHY_LEN 512
/* time in us between two checks whether a majority has confirmed the row */
#define CONFIRMED_US 10000
#define OTHERS_MAX 64
/* time in us between two checks whether this manager has got all rows of the other managers */
#define LEVEL_US 500000

bool sm_keys_shared(const struct sm *s)
{
    return s->in.replica && s->in.store && s->in.keys_dir && s->in.config->replication.wraps &&
           s->in.config->m_key_generated;
}

static struct store_sharing sharing(const struct sm *s)
{
    return (struct store_sharing){.wrapping_key = s->in.config->replication.wrapping_key,
                                  .subnet_prefix = s->policy.subnet_prefix};
}

/* Returns true if this manager's last change of the shared row waits to be written to the database.
 * The row in the database is then older than the key file. */
static bool is_queued(const struct sm *s)
{
    return s->keys->row_mark != 0 && store_written(s->in.store, s->keys->row_mark) != STORE_WRITTEN;
}

int sm_keys_put_row(struct sm *s, const struct store_m_key *file, char *why, size_t why_len)
{
    const struct store_sharing w = sharing(s);
    int r = store_put_shared_key(s->in.store, &w, file);
    if (r != FAB_OK)
        snprintf(why, why_len, "the M_Key cannot be encrypted for the other managers: %s",
                 fab_base_status_text(r));
    else
        s->keys->row_mark = store_mark(s->in.store);
    return r;
}

void sm_keys_tell(struct sm *s)
{
    char why[WHY_LEN];
    if (sm_keys_shared(s) && sm_is_master(s) && !s->keys->proposed &&
        sm_keys_put_row(s, &s->keys->file, why, sizeof(why)) != FAB_OK)
        log_error("sm", "%s", why);
}

int sm_keys_propose(struct sm *s, const struct store_m_key *file, char *why, size_t why_len)
{
    int r = sm_keys_put_row(s, file, why, why_len);
    if (r != FAB_OK)
        return r;
    s->keys->proposed = true;
    loop_timer_set(s->keys->share, CONFIRMED_US);
    return FAB_OK;
}

/* Returns true if the settings of this manager permit the kind of key that the row has. */
static bool suits(struct sm *s, const struct store_m_key *row)
{
    bool same = row->generated && row->secret.set == s->in.config->m_key_derived;
    if (!same && !s->keys->told_unsuited)
        log_error("sm",
                  "the M_Key that the managers share is %s, but subnet.m_key is '%s' here; "
                  "set the same value for all managers of the fabric",
                  row->secret.set ? "derived" : "generated",
                  s->in.config->m_key_derived ? "derived" : "generated");
    s->keys->told_unsuited = !same;
    return same;
}

static void adopt(struct sm *s, struct store_m_key *row)
{
    char why[WHY_LEN];
    if (s->model.lent) {
        loop_timer_set(s->keys->share, CONFIRMED_US);
        return;
    }
    int r = store_adopt_key(s->in.keys_dir, &s->keys->file, row, why, sizeof(why));
    if (r == FAB_OK)
        r = sm_keys_use(s, row, why, sizeof(why));
    if (r == FAB_OK) {
        log_notice("sm", "the M_Key that the managers share is in use");
        s->keys->proposed = false;
        sm_schedule(s);
    } else {
        log_error("sm", "%s", why);
        loop_timer_set(s->keys->share, LEVEL_US);
    }
}

/* Handles a row whose key differs from that in the key file: puts the key of the row into use,
 * waits until a majority has confirmed it, or logs why this manager cannot use it. */
static void handle_other(struct sm *s, struct store_m_key *row, bool confirmed)
{
    if (!suits(s, row))
        return;
    s->keys->proposed = !confirmed;
    if (confirmed)
        adopt(s, row);
    else if (sm_is_master(s))
        loop_timer_set(s->keys->share, CONFIRMED_US);
}

/* Called if the managers share no M_Key yet. A master writes its key to the row, as soon as it has
 * got all rows of the other managers. */
static void handle_none(struct sm *s)
{
    if (!sm_is_master(s))
        return;
    if (replica_is_level(s->in.replica))
        sm_keys_tell(s);
    else
        loop_timer_set(s->keys->share, LEVEL_US);
}

static void tell_unreadable(struct sm *s, int status, const char *why)
{
    if (!s->keys->told_unsuited)
        log_error("sm", "%s", why[0] != '\0' ? why : fab_base_status_text(status));
    s->keys->told_unsuited = true;
}

void sm_keys_load(struct sm *s)
{
    const struct store_sharing w = sharing(s);
    struct store_m_key row = {0};
    bool confirmed = false;
    char why[WHY_LEN] = "";
    if (!sm_keys_shared(s))
        return;
    if (is_queued(s)) {
        loop_timer_set(s->keys->share, CONFIRMED_US);
        return;
    }
    int r = store_get_shared_key(s->in.store, &w, STORE_KEY_OF_PORTS, &row, &confirmed, why,
                                 sizeof(why));
    if (r == FAB_E_NOT_FOUND)
        handle_none(s);
    else if (r != FAB_OK)
        tell_unreadable(s, r, why);
    else if (!store_m_key_same(&row, &s->keys->file))
        handle_other(s, &row, confirmed);
    else
        s->keys->proposed = false;
    store_m_key_fini(&row);
}

void sm_keys_on_share(void *ctx)
{
    struct sm *s = ctx;
    if (s->keys->proposed && store_shared_key_waits(s->in.store, STORE_KEY_OF_PORTS))
        loop_timer_set(s->keys->share, CONFIRMED_US);
    else
        sm_keys_load(s);
}

bool sm_others_share_keys(const struct sm *s, bool shared)
{
    struct fab_sm_info others[OTHERS_MAX];
    uint32_t count = sm_others(s, others, OTHERS_MAX);
    if (count == 0 && s->policy.manager_count == 0)
        return true;
    shared &= count <= OTHERS_MAX;
    for (uint32_t i = 0; shared && i < count; i++)
        shared = replica_shares_keys_with(s->in.replica, others[i].guid);
    for (uint32_t i = 0; shared && i < s->policy.manager_count; i++)
        shared = s->policy.managers[i].guid == s->role.guid ||
                 replica_shares_keys_with(s->in.replica, s->policy.managers[i].guid);
    return shared;
}

bool sm_keys_shared_with_others(const struct sm *s)
{
    return sm_others_share_keys(s, sm_keys_shared(s));
}
