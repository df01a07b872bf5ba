/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * P_Key tables: which keys each port must have, at which index, and where switches enforce them
 * (IBA 10.9, 14.2.5.7, 18.2.4.2.1); and the tables that ports are known to hold.
 *
 * Tables exist for endports, for port 0 of switches, and for those switch ports facing adapters and
 * routers that enforce partitions.
 */
#ifndef LIBFABMGR_TARGET_PKEYS_H
#define LIBFABMGR_TARGET_PKEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/target/blocks.h"

#define FAB_PKEY_BLOCK FAB_BLOCK_ENTRIES
#define FAB_PKEY_BLOCKS_MAX 64 /* at most so many blocks of a port are used: 2,048 keys */

enum fab_enforce { FAB_ENFORCE_IN = 1, FAB_ENFORCE_OUT = 2 };

struct fab_pkeys { /* all zero: no table is managed, and ports keep what they hold */
    uint32_t ports;
    uint32_t *first;  /* [ports + 1] index in key[] of the table of each port; a port with an
                         empty table is not managed */
    uint16_t *key;    /* by P_Key index; 0: free entry. Entries beyond the end of a port's table
                         are free too */
    uint8_t *enforce; /* [ports] enum fab_enforce bits, of external ports of switches */
};
int fab_target_pkeys_copy(const struct fab_pkeys *p, struct fab_pkeys *ret_copy); /* NOMEM */
void fab_target_pkeys_fini(struct fab_pkeys *p);
/* The table of a port, *ret_count entries long; NULL: it is not managed. */
const uint16_t *fab_target_pkeys_table(const struct fab_pkeys *p, uint32_t port,
                                       uint32_t *ret_count);
/* Like fab_target_pkeys_table; for a port that is not managed, the table of devices after power-on,
 * which has full membership of the default partition. */
const uint16_t *fab_target_pkeys_table_or_default(const struct fab_pkeys *p, uint32_t port,
                                                  uint32_t *ret_count);
/* Whether that table makes the port a full or limited member of the partition. */
bool fab_target_pkeys_has(const struct fab_pkeys *p, uint32_t port, uint16_t pkey);
/* The first P_Key of port a by which it can communicate with port b, as PathRecord returns it; 0:
 * none. wanted: the partition of the P_Key; 0: any. A port that is not managed has the default
 * table. */
uint16_t fab_target_pkeys_common(const struct fab_pkeys *p, uint32_t a, uint32_t b,
                                 uint16_t wanted);
/* A block of the port's table. */
void fab_target_pkeys_block(const struct fab_pkeys *p, uint32_t port, uint32_t block,
                            uint16_t ret[FAB_PKEY_BLOCK]);

/* How many entries the device has for the port's table (0: it has no table), and how many blocks of
 * these are used. */
uint32_t fab_target_pkeys_capacity(const struct fab_fabric *f, uint32_t port);
static inline uint32_t fab_target_pkeys_blocks(uint32_t room)
{
    uint32_t blocks = (room + FAB_PKEY_BLOCK - 1) / FAB_PKEY_BLOCK;
    return blocks < FAB_PKEY_BLOCKS_MAX ? blocks : FAB_PKEY_BLOCKS_MAX;
}

static inline bool fab_target_pkey_is_full(uint16_t key)
{
    return (key & 0x8000) != 0;
}
static inline uint16_t fab_target_pkey_base(uint16_t key) /* 0: no key */
{
    return key & 0x7fff;
}
/* Ports with these keys can communicate: the partition is the same, and not both are limited
 * members (IBA 10.9). */
static inline bool fab_target_pkeys_match(uint16_t a, uint16_t b)
{
    return fab_target_pkey_base(a) == fab_target_pkey_base(b) && fab_target_pkey_base(a) != 0 &&
           (fab_target_pkey_is_full(a) || fab_target_pkey_is_full(b));
}

/* ---- what ports hold, by port and block; an absent block is unknown ---------------------------
 */

void fab_target_held_pkeys_forget(struct fab_blocks *h, uint32_t port);
/* set_enforce records which enforcement a switch port was last set to (NOMEM). If the port reports
 * another one afterwards, it has refused that setting, and the manager does not repeat it. */
int fab_target_held_pkeys_set_enforce(struct fab_blocks *h, uint32_t port, uint8_t enforce);
bool fab_target_held_pkeys_refused_enforce(const struct fab_blocks *h, uint32_t port,
                                           uint8_t enforce);
/* Translates the blocks to the port ids of another snapshot, and leaves out ports that are gone.
 * NOMEM. */
int fab_target_held_pkeys_remap(const struct fab_blocks *h, const struct fab_fabric *old,
                                const struct fab_fabric *now, struct fab_blocks *ret);

#endif
