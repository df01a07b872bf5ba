/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * P_Key tables: which keys each port must have, at which index, and where switches enforce
 * partitions (IBA 10.9, 14.2.5.7, 18.2.4.2.1). This file also declares the tables that ports are
 * known to hold.
 *
 * The manager sets the tables of endports, and of those switch ports facing adapters and routers
 * that enforce partitions.
 */
#ifndef LIBFABMGR_TARGET_PKEYS_H
#define LIBFABMGR_TARGET_PKEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/target/blocks.h"

#define FAB_PKEY_BLOCK FAB_BLOCK_ENTRIES
/* Greatest number of blocks of a port's table that the manager uses, with 2,048 keys in total. */
#define FAB_PKEY_BLOCKS_MAX 64

enum fab_enforce { FAB_ENFORCE_IN = 1, FAB_ENFORCE_OUT = 2 };

struct fab_pkeys { /* The P_Key tables of all ports. If all members are zero, no table is managed,
                      and ports keep what they hold. */
    uint32_t ports;
    uint32_t *first; /* [ports + 1] index in key[] of the table of each port; a port with an
                        empty table is not managed */
    /* P_Keys of all tables, in the order of their index; 0: free entry. Entries beyond the end of a
     * port's table are free, too. */
    uint16_t *key;
    /* [ports] in which directions the switch enforces the table at the port: bits of enum
     * fab_enforce. Always 0 for port 0 of a switch, and for ports of adapters and routers. */
    uint8_t *enforce;
    int *owners; /* private: how many values share the arrays; NULL: one */
};
/* Returns NOMEM. */
int fab_target_pkeys_copy(const struct fab_pkeys *p, struct fab_pkeys *ret_copy);
/* Lets *ret_other use the same arrays, which must not change any more. Returns NOMEM. */
int fab_target_pkeys_share(struct fab_pkeys *p, struct fab_pkeys *ret_other);
void fab_target_pkeys_fini(struct fab_pkeys *p);
/* Returns the table of a port, which has *ret_count entries, or NULL if the port is not managed. */
const uint16_t *fab_target_pkeys_table(const struct fab_pkeys *p, uint32_t port,
                                       uint32_t *ret_count);
/* Like fab_target_pkeys_table, but for a port that is not managed it returns the table that devices
 * have after power-on. That table has one key, full membership of the default partition. */
const uint16_t *fab_target_pkeys_table_or_default(const struct fab_pkeys *p, uint32_t port,
                                                  uint32_t *ret_count);
/* Returns whether the port is a full or limited member of the partition, by the table that
 * fab_target_pkeys_table_or_default returns. */
bool fab_target_pkeys_has(const struct fab_pkeys *p, uint32_t port, uint16_t pkey);
/* Returns the P_Key with which port a can communicate with port b, as a PathRecord contains it; 0:
 * they cannot communicate. Of several keys, it is the first in a's table. If `wanted` is not 0,
 * only this partition is considered. For a port that is not managed, the function uses the table
 * after power-on. */
uint16_t fab_target_pkeys_common(const struct fab_pkeys *p, uint32_t a, uint32_t b,
                                 uint16_t wanted);
/* Copies a block of the port's table to ret; entries beyond the end of the table are 0. */
void fab_target_pkeys_block(const struct fab_pkeys *p, uint32_t port, uint32_t block,
                            uint16_t ret[FAB_PKEY_BLOCK]);

/* fab_target_pkeys_capacity returns how many entries the device has for the port's table (0: the
 * port has no table). fab_target_pkeys_blocks returns how many blocks of such a table the manager
 * uses. */
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
static inline uint16_t fab_target_pkey_base(uint16_t key) /* returns 0 if `key` is an invalid key */
{
    return key & 0x7fff;
}
/* Returns true if ports with these keys can communicate: both keys must belong to the same
 * partition, and at least one of them must be a full member (IBA 10.9). */
static inline bool fab_target_pkeys_match(uint16_t a, uint16_t b)
{
    return fab_target_pkey_base(a) == fab_target_pkey_base(b) && fab_target_pkey_base(a) != 0 &&
           (fab_target_pkey_is_full(a) || fab_target_pkey_is_full(b));
}

/* ---- what ports hold, by port and block; an absent block is unknown ---------------------------
 */

void fab_target_held_pkeys_forget(struct fab_blocks *h, uint32_t port);
/* fab_target_held_pkeys_set_enforce records which enforcement the manager last set at a switch
 * port. It returns NOMEM if there is no memory. If the port reports another enforcement afterwards,
 * it has refused that setting, and the manager does not repeat it. */
int fab_target_held_pkeys_set_enforce(struct fab_blocks *h, uint32_t port, uint8_t enforce);
bool fab_target_held_pkeys_refused_enforce(const struct fab_blocks *h, uint32_t port,
                                           uint8_t enforce);
/* Records which enforcement a switch port reports. Returns true if the port reported the set value
 * before and now reports another one: the port did not refuse the setting, but another program
 * changed it. The setting then counts as not set, and the next plan writes it. */
bool fab_target_held_pkeys_lost_enforce(struct fab_blocks *h, uint32_t port, uint8_t reported);
/* Translates the blocks to the port ids of the snapshot `now`, and leaves out ports that it does
 * not contain. Returns NOMEM if there is no memory. */
int fab_target_held_pkeys_remap(const struct fab_blocks *h, const struct fab_fabric *old,
                                const struct fab_fabric *now, struct fab_blocks *ret);

#endif
