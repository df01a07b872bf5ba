/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * P_Key tables that the manager wants: the keys that each port must have, with their indices, and
 * the ports at which switches enforce partitions (IBA 10.9, 14.2.5.7, 18.2.4.2.1). The last part of
 * this file is about the tables that ports are known to hold.
 *
 * The manager sets the tables of endports. The manager also sets the table of a switch port that
 * leads to an adapter or router, if the switch enforces partitions at this port.
 */
#ifndef LIBFABMGR_TARGET_PKEYS_H
#define LIBFABMGR_TARGET_PKEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/target/blocks.h"

#define FAB_PKEY_BLOCK FAB_BLOCK_ENTRIES
/* Maximum number of P_Key blocks of a port that the manager uses; 64 blocks hold 2,048 keys. */
#define FAB_PKEY_BLOCKS_MAX 64

enum fab_enforce { FAB_ENFORCE_IN = 1, FAB_ENFORCE_OUT = 2 };

/* The P_Key tables of all ports. If all bytes are zero, the manager sets no tables, and ports keep
 * their tables. */
struct fab_pkeys {
    uint32_t ports;
    /* [ports + 1] index in key[] at which the table of each port begins; the table ends where that
     * of the next port begins. If a table is empty, the manager does not set the table of this
     * port. */
    uint32_t *first;
    /* The P_Keys of all tables, one table after the other; 0: unused entry. A device may have a
     * longer table than is stored here; the manager writes 0 to the additional entries. */
    uint16_t *key;
    /* [ports] directions in which the switch checks P_Keys at this port: bits of enum fab_enforce.
     * 0 for port 0 of switches, and for ports of adapters and routers. */
    uint8_t *enforce;
    /* private: number of structs that share the arrays; NULL: the arrays are not shared */
    int *owners;
};
/* Copies the tables. Returns NOMEM. */
int fab_target_pkeys_copy(const struct fab_pkeys *p, struct fab_pkeys *ret_copy);
/* Makes *ret_other a second owner of the arrays of *p. From then on, neither owner may change the
 * arrays. Returns NOMEM. */
int fab_target_pkeys_share(struct fab_pkeys *p, struct fab_pkeys *ret_other);
void fab_target_pkeys_fini(struct fab_pkeys *p);
/* Returns the table of a port, with *ret_count entries; NULL if the manager does not set the port's
 * table. */
const uint16_t *fab_target_pkeys_table(const struct fab_pkeys *p, uint32_t port,
                                       uint32_t *ret_count);
/* Like fab_target_pkeys_table, but never NULL. If the manager does not set the port's table,
 * returns the table that devices have after power-on: one key, full membership of the default
 * partition. */
const uint16_t *fab_target_pkeys_table_or_default(const struct fab_pkeys *p, uint32_t port,
                                                  uint32_t *ret_count);
/* Returns true if the port is a full or limited member of the partition, by the table that
 * fab_target_pkeys_table_or_default returns. */
bool fab_target_pkeys_has(const struct fab_pkeys *p, uint32_t port, uint16_t pkey);
/* Returns the P_Key for a PathRecord from port `a` to port `b`; 0: the ports cannot communicate. If
 * several keys are possible, returns the first one in the table of `a`. If `a` and `b` are the same
 * port, every key of its table is possible, even a limited one. If `wanted` is not 0, considers
 * only the partition with this P_Key. Uses the tables of fab_target_pkeys_table_or_default. */
uint16_t fab_target_pkeys_common(const struct fab_pkeys *p, uint32_t a, uint32_t b,
                                 uint16_t wanted);
/* Copies block number `block` of the port's table to ret[]; entries beyond the end of the table are
 * 0. */
void fab_target_pkeys_block(const struct fab_pkeys *p, uint32_t port, uint32_t block,
                            uint16_t ret[FAB_PKEY_BLOCK]);

/* fab_target_pkeys_capacity returns the number of entries of the port's P_Key table in the device;
 * 0: the port has no table. fab_target_pkeys_blocks returns how many blocks of a table with `room`
 * entries the manager uses. */
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
/* Returns the P_Key without its full-member bit; 0: the key is invalid. */
static inline uint16_t fab_target_pkey_base(uint16_t key)
{
    return key & 0x7fff;
}
/* Returns true if ports with these keys can communicate: both keys must belong to the same
 * partition, and at least one key must have the full-member bit (IBA 10.9). */
static inline bool fab_target_pkeys_match(uint16_t a, uint16_t b)
{
    return fab_target_pkey_base(a) == fab_target_pkey_base(b) && fab_target_pkey_base(a) != 0 &&
           (fab_target_pkey_is_full(a) || fab_target_pkey_is_full(b));
}

/* ---- what ports hold, by port and block; an absent block is unknown -------------------------- */

void fab_target_held_pkeys_forget(struct fab_blocks *h, uint32_t port);
/* Records the enforcement that the manager last set at a switch port. If the port then reports
 * another enforcement, it has refused the setting, and the manager does not write the setting
 * again. Returns NOMEM if there is no memory. */
int fab_target_held_pkeys_set_enforce(struct fab_blocks *h, uint32_t port, uint8_t enforce);
bool fab_target_held_pkeys_refused_enforce(const struct fab_blocks *h, uint32_t port,
                                           uint8_t enforce);
/* Records the enforcement that a switch port reports. Returns true if the port once reported the
 * value that the manager set, and now reports another value, because another program has changed
 * it. The manager's value then counts as not set, so the next plan writes it again. */
bool fab_target_held_pkeys_lost_enforce(struct fab_blocks *h, uint32_t port, uint8_t reported);
/* Copies the blocks, with the port ids of the snapshot `old` replaced by those of `now`. Omits the
 * blocks of ports that are not in `now`. Returns NOMEM if there is no memory. */
int fab_target_held_pkeys_remap(const struct fab_blocks *h, const struct fab_fabric *old,
                                const struct fab_fabric *now, struct fab_blocks *ret);

#endif
