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
    /* SubnSet(PortInfo) writes the new key; the header has the port's old key */
    SM_KEY_SET,
    /* SubnGet(PortInfo) with the new key: does the port have this key? */
    SM_KEY_ASK_CURRENT,
    /* SubnGet(PortInfo) with the old key: does the port still have this key? */
    SM_KEY_ASK_FORMER
};
struct sm_key_slot {
    enum sm_key_step step;
    bool sent;
    /* Port id in the snapshot, which does not change while the round runs. */
    uint32_t port;
    uint64_t former;
    unsigned sets, asks;
};
/* How far identify.c has come in the list of ports whose keys are hidden. */
struct sm_key_ask {
    uint32_t port;
    /* The next key to try at `port` (identify.c). */
    unsigned key;
};
struct sm_keys {
    struct sm *s;
    struct store_m_key file; /* the content of the key file */
    struct sm_key_slot slot[SM_KEY_SLOTS];
    /* in the running round: number of elements of slot[] in use; id of the next port to check */
    uint32_t busy, next_port;
    uint32_t begun; /* number of ports whose change has begun */
    uint32_t changed, refused;
    /* The round changes SM_KEY_SLOTS ports even if a fault waits. */
    bool overdue;
    struct sm_key_ask ask;
    /* A port shows an M_Key that the manager reads again (identify.c). */
    bool doubts;
    /* Pending while ports that refused the key are not to be asked again. */
    struct loop_timer *retry;
};

/* Returns whether the port has a known M_Key that the current M_Key must replace. */
bool sm_keys_must_change(const struct sm *s, uint32_t port);

#endif
