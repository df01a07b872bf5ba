/* SPDX-License-Identifier: BSD-3-Clause */
/* State of fabricd/sm/keys, for this folder only. */
#ifndef FABRICD_SM_KEYS_STATE_H
#define FABRICD_SM_KEYS_STATE_H

#include "fabricd/sm/keys/keys.h"
#include "fabricd/store/m_key.h"

/* Maximum number of ports whose key is changed at the same time. */
#define SM_KEY_SLOTS 64

enum sm_key_step {
    SM_KEY_FREE,
    /* Sends SubnSet(PortInfo) with the new key in the attribute, and the port's old key in the
     * header. */
    SM_KEY_SET,
    /* Asks with SubnGet(PortInfo) and the new key whether the port has this key. */
    SM_KEY_ASK_CURRENT,
    /* Asks with SubnGet(PortInfo) and the old key whether the port still has this key. */
    SM_KEY_ASK_FORMER
};
struct sm_key_slot {
    enum sm_key_step step;
    bool sent;
    /* Port id in the snapshot. The ids do not change while the round runs. */
    uint32_t port;
    uint64_t former;
    unsigned sets, asks;
};
/* Position of phase "identifying M_Keys" (identify.c): the port whose hidden key the phase looks
 * for. */
struct sm_key_ask {
    uint32_t port;
    /* Which key (current, previous or listed) the phase tries next at `port`. */
    unsigned key;
};
struct sm_keys {
    struct sm *s;
    struct store_m_key file; /* the content of the key file */
    struct sm_key_slot slot[SM_KEY_SLOTS];
    /* Members of the running round: number of used elements of slot[], and id of the next port to
     * check. */
    uint32_t busy, next_port;
    uint32_t begun; /* number of ports whose change has begun */
    uint32_t changed, refused;
    /* Targeted sweeps have delayed the change of keys too long (sm_keys_overdue), so the round
     * changes SM_KEY_SLOTS ports even if a fault waits. */
    bool overdue;
    struct sm_key_ask ask;
    /* Some port shows an M_Key that is new to the manager, so this key is read a second time
     * (identify.c). */
    bool doubts;
    /* Pending while the manager must not ask again the ports that rejected the new key. */
    struct loop_timer *retry;
    /* Members of share.c. The row is the row of the database by which managers share the key
     * (fabricd/store/shared_key.h). share: pending while the manager must read the row again.
     * proposed: the row has a new key that this manager does not use yet, because no majority has
     * confirmed it. */
    struct loop_timer *share;
    bool proposed, told_unsuited;
    /* store_mark() of this manager's last change of the shared row; 0: no change since the start */
    uint64_t row_mark;
};

/* Returns whether the port has a known M_Key that the current M_Key must replace. */
bool sm_keys_must_change(const struct sm *s, uint32_t port);

/* ---- keys.c ---- */
/* Uses the keys in `file`, which the caller has already written to the key file, and requests a
 * round that changes the ports to them. Takes over `file`, if it returns OK. Otherwise returns
 * NOMEM, with a sentence in why[]. */
int sm_keys_use(struct sm *s, struct store_m_key *file, char *why, size_t why_len);

/* ---- share.c ---- */
bool sm_keys_shared(const struct sm *s); /* this manager shares its M_Key */
/* Returns whether all other managers in the fabric, and those in subnet.managers, share the M_Key
 * with this one. */
bool sm_keys_shared_with_others(const struct sm *s);
/* Writes `file` to the shared row. Returns an error of store_put_shared_key, with a sentence in
 * why[]. */
int sm_keys_put_row(struct sm *s, const struct store_m_key *file, char *why, size_t why_len);
/* Writes the contents of the key file to the shared row, if this manager is master and no new key
 * is proposed. Call this function after the file has changed. */
void sm_keys_tell(struct sm *s);
/* Writes `file` to the shared row. The timer `share` uses the new key when a majority has confirmed
 * the row. Returns an error of store_put_shared_key, with a sentence in why[]. */
int sm_keys_propose(struct sm *s, const struct store_m_key *file, char *why, size_t why_len);
void sm_keys_on_share(void *sm); /* callback of the timer `share` */

#endif
