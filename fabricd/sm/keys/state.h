/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of fabricd/sm/keys. For this folder only. */
#ifndef FABRICD_SM_KEYS_STATE_H
#define FABRICD_SM_KEYS_STATE_H

#include "fabricd/sm/keys/keys.h"
#include "fabricd/store/m_key.h"

#define SM_KEY_SLOTS 64 /* ports whose key is changed at the same time */

enum sm_key_step {
    SM_KEY_FREE,
    SM_KEY_SET,         /* SubnSet(PortInfo) with the port's key in the header */
    SM_KEY_ASK_CURRENT, /* SubnGet(PortInfo): does the port have our key? */
    SM_KEY_ASK_FORMER   /* SubnGet(PortInfo): does it still have the other one? */
};
struct sm_key_slot {
    enum sm_key_step step;
    bool sent;
    uint32_t port; /* id in the snapshot, which stays as long as the round runs */
    uint64_t former;
    unsigned sets, asks;
};
struct sm_key_ask { /* identify.c: the position in the walk over ports with hidden keys */
    uint32_t port;
    bool previous; /* the next request carries the previous key */
};
struct sm_keys {
    struct sm *s;
    struct store_m_key file; /* the content of the key file */
    struct sm_key_slot slot[SM_KEY_SLOTS];
    uint32_t busy, next_port; /* of the running round: slots in use, the next port to look at */
    uint32_t changed, refused;
    struct sm_key_ask ask;
    struct loop_timer *retry; /* pending: ports refused the key a short time ago */
};

/* True if the port has a known key that is to be replaced by ours. */
bool sm_keys_must_change(const struct sm *s, uint32_t port);

#endif
