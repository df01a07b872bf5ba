/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The M_Key and the CC_Key may have been rotated while this manager was down. With an old key, the
 * manager would cause key violations at devices, and the other managers would not trust it. The
 * manager therefore takes over the keys that the managers share before it sends its first MAD. A
 * manager that cannot understand the shared state does not start.
 */
#include <stdio.h>

#include "fabricd/base/log.h"
#include "fabricd/daemon.h"
#include "fabricd/store/shared_key.h"
#include "fabricd/store/wrap.h"
#include "libfabmgr/base/status.h"

/* If etcd does not answer within this time in us, the manager starts without the keys of the other
 * managers. */
#define WAIT_US 1500000

static int read_file(const char *dir, enum store_key_of of, struct store_m_key *ret, char *why)
{
    *ret = (struct store_m_key){.of = of};
    int r = of == STORE_KEY_OF_PORTS ? store_m_key_read(dir, ret, why, WHY_LEN)
                                     : store_cc_key_read(dir, ret, why, WHY_LEN);
    return r == FAB_E_NOT_FOUND ? FAB_OK : r;
}

void daemon_note_keys(struct daemon *d)
{
    for (int of = STORE_KEY_OF_PORTS; of <= STORE_KEY_OF_CONGESTION; of++) {
        struct store_m_key file;
        char why[WHY_LEN];
        d->had_keys[of] =
            read_file(d->config.state_dir, (enum store_key_of)of, &file, why) != FAB_OK ||
            file.generation > 0;
        store_m_key_fini(&file);
    }
}

/* If the key that the managers share differs from that in the key file, replaces the key in the
 * file. Does so only if a majority of the etcd servers has confirmed the shared key, and if fabricd
 * has generated this key (or, if `derived` is true, the secret from which it derives M_Keys). */
static int adopt(struct daemon *d, enum store_key_of of, bool derived, char *why)
{
    const struct store_sharing w = {.wrapping_key = d->config.replication.wrapping_key,
                                    .subnet_prefix = d->config.policy.subnet_prefix};
    struct store_m_key file, row = {0};
    char unread[WHY_LEN] = "";
    bool confirmed = false;
    int r = store_get_shared_key(d->store, &w, of, &row, &confirmed, unread, sizeof(unread));
    if (r != FAB_OK) {
        if (r != FAB_E_NOT_FOUND)
            log_error("fabricd", "%s", unread[0] != '\0' ? unread : fab_base_status_text(r));
        return FAB_OK;
    }
    r = read_file(d->config.state_dir, of, &file, why);
    /* if daemon_take_keys has just made this key, no port has it yet */
    if (r == FAB_OK && !d->had_keys[of])
        file.generated = false;
    if (r == FAB_OK && confirmed && row.generated && row.secret.set == derived &&
        !store_m_key_same(&row, &file))
        r = store_adopt_key(d->config.state_dir, &file, &row, why, WHY_LEN);
    store_m_key_fini(&file);
    store_m_key_fini(&row);
    return r;
}

int daemon_adopt_keys(struct daemon *d, char *why)
{
    int r = FAB_OK;
    if (d->replica == NULL)
        return FAB_OK;
    bool read = replica_await_rows(d->replica, WAIT_US);
    if (!replica_understands(d->replica, why, WHY_LEN))
        return FAB_E_UNSUPPORTED;
    if (!d->config.replication.wraps)
        return FAB_OK;
    if (!read)
        log_warning("fabricd", "etcd does not answer: the manager starts with the keys of its own "
                               "key files, and takes over those of the other managers later");
    store_flush(d->store);
    if (d->config.m_key_generated)
        r = adopt(d, STORE_KEY_OF_PORTS, d->config.m_key_derived, why);
    if (r == FAB_OK && d->config.cc_key_generated)
        r = adopt(d, STORE_KEY_OF_CONGESTION, false, why);
    return r == FAB_OK ? daemon_take_keys(d, &d->config, why) : r;
}
