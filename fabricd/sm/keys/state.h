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
    /* the SubnSet(PortInfo) with the new key in the attribute, and the port's old key in the
     * header */
    SM_KEY_SET,
    /* a SubnGet(PortInfo) with the new key, which shows whether the port has it */
    SM_KEY_ASK_CURRENT,
    /* a SubnGet(PortInfo) with the old key, which shows whether the port still has it */
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
/* The position of phase "identifying M_Keys": the port whose key it tries to find, and the next key
 * that it tries. */
struct sm_key_ask {
    uint32_t port;
    /* number of the next key to try at `port`: 0: the current key; 1: the previous key; 2: the
     * listed key */
    unsigned key;
};
struct sm_keys {
    struct sm *s;
    struct store_m_key file; /* the content of the key file */
    struct sm_key_slot slot[SM_KEY_SLOTS];
    /* In the running round. busy: number of used elements of slot[]. next_port: id of the port that
     * is examined next. */
    uint32_t busy, next_port;
    uint32_t begun; /* number of ports whose change has begun */
    uint32_t changed, refused;
    /* true: targeted sweeps have delayed the change of keys too often (sm_keys_overdue), so this
     * round changes up to SM_KEY_SLOTS ports even if a fault is waiting */
    bool overdue;
    struct sm_key_ask ask;
    /* true: some port shows an M_Key that is new to the manager; identify.c reads such a key a
     * second time */
    bool doubts;
    /* While this timer is set, sm_keys_round_ended requests no round that changes keys, because a
     * port has not accepted the new key. */
    struct loop_timer *retry;
    /* Members of share.c, which shares the key with the other managers in a row of the database
     * (fabricd/store/shared_key.h). share: timer for the next read of this row. proposed: the row
     * has a new key, which this manager does not use before a majority has confirmed the row. */
    struct loop_timer *share;
    bool proposed, told_unsuited;
    /* store_mark() of this manager's last change of the shared row; 0: no change since the start */
    uint64_t row_mark;
};

/* Returns true if the port is known to have an M_Key that the manager must replace: any M_Key
 * except the current one. If the policy demands no M_Key, only the previous key must be
 * replaced. */
bool sm_keys_must_change(const struct sm *s, uint32_t port);

/* ---- keys.c ---- */
/* Call this function when the keys in `file` have been written to the key file. It puts these keys
 * into use, and requests a round that writes the current key to the ports. If it returns OK, it has
 * taken over `file`. Returns NOMEM, with a sentence in why[]. */
int sm_keys_use(struct sm *s, struct store_m_key *file, char *why, size_t why_len);

/* ---- share.c ---- */
bool sm_keys_shared(const struct sm *s); /* this manager shares its M_Key */
/* Returns whether all other managers in the fabric, and those in subnet.managers, share the M_Key
 * with this one. */
bool sm_keys_shared_with_others(const struct sm *s);
/* Writes `file` to the shared row. Returns OK, or an error of store_put_shared_key with a sentence
 * in why[]. */
int sm_keys_put_row(struct sm *s, const struct store_m_key *file, char *why, size_t why_len);
/* Copies the key file to the shared row. Does nothing if this manager is not master, or if a new
 * key is proposed. Call this function after the key file has changed. */
void sm_keys_tell(struct sm *s);
/* Proposes the new keys in `file`: writes them to the shared row. When a majority has confirmed the
 * row, the callback of the timer `share` puts the keys into use. Returns OK, or an error of
 * store_put_shared_key with a sentence in why[]. */
int sm_keys_propose(struct sm *s, const struct store_m_key *file, char *why, size_t why_len);
void sm_keys_on_share(void *sm); /* callback of the timer `share` */

#endif
