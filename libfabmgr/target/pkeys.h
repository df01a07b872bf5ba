/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * P_Key tables: which keys each port shall have, at which index, and where switches check them (IBA
 * 10.9, 14.2.5.7, 18.2.4.2.1); and those that ports are known to hold.
 *
 * Tables are those of end ports (of adapters and routers, and port 0 of switches), and of the
 * switch ports before adapters and routers, where these check.
 */
#ifndef LIBFABMGR_TARGET_PKEYS_H
#define LIBFABMGR_TARGET_PKEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/target/blocks.h"

#define FAB_PKEY_BLOCK FAB_BLOCK_ENTRIES
#define FAB_PKEY_BLOCKS_MAX 64 /* of a port, that are used: 2,048 keys */

enum fab_enforce { FAB_ENFORCE_IN = 1, FAB_ENFORCE_OUT = 2 };

struct fab_pkeys { /* all zero: nobody has an opinion, and what ports hold stays */
    uint32_t ports;
    uint32_t *first;  /* [ports + 1] of key[]: a port's table; none: what it holds stays */
    uint16_t *key;    /* by index; 0: a free entry. The rest of the table is free, too */
    uint8_t *enforce; /* [ports] enum fab_enforce bits, of external ports of switches */
};
int fab_target_pkeys_copy(const struct fab_pkeys *p, struct fab_pkeys *ret_copy);
void fab_target_pkeys_fini(struct fab_pkeys *p);
/* The table of a port, *ret_count entries long; NULL: no opinion. */
const uint16_t *fab_target_pkeys_table(const struct fab_pkeys *p, uint32_t port,
                                       uint32_t *ret_count);
/* Likewise; where there is no opinion, what devices have from the start: the default partition, as
 * a full member. */
const uint16_t *fab_target_pkeys_table_or_default(const struct fab_pkeys *p, uint32_t port,
                                                  uint32_t *ret_count);
/* Whether one of these is of the partition, as full or as limited member. */
bool fab_target_pkeys_has(const struct fab_pkeys *p, uint32_t port, uint16_t pkey);
/* The first key of port a's table by which it can talk to port b, as SA answers it; of the
 * partition `wanted`, if that is not 0. 0: none. A port without a table has the default one. */
uint16_t fab_target_pkeys_common(const struct fab_pkeys *p, uint32_t a, uint32_t b,
                                 uint16_t wanted);
/* A block of it as it is written. */
void fab_target_pkeys_block(const struct fab_pkeys *p, uint32_t port, uint32_t block,
                            uint16_t ret[FAB_PKEY_BLOCK]);

/* How many entries the table of a port has, and so many blocks; 0: it has none. */
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
/* Two keys let packets pass between their owners: the same partition, and not both limited. */
static inline bool fab_target_pkeys_match(uint16_t a, uint16_t b)
{
    return fab_target_pkey_base(a) == fab_target_pkey_base(b) && fab_target_pkey_base(a) != 0 &&
           (fab_target_pkey_is_full(a) || fab_target_pkey_is_full(b));
}

/* ---- what ports hold, by port and block; unknown at first ------------------------------------
 */

void fab_target_held_pkeys_forget(struct fab_blocks *h, uint32_t port);
/* A port of a switch that was told to check as it should, and still `is` otherwise, refuses: it is
 * not told again. enforce: what it was told, or should do. NOMEM. */
int fab_target_held_pkeys_set_enforce(struct fab_blocks *h, uint32_t port, uint8_t enforce);
bool fab_target_held_pkeys_refused_enforce(const struct fab_blocks *h, uint32_t port,
                                           uint8_t enforce);
/* By the ids of another snapshot; ports that are gone are left out. NOMEM. */
int fab_target_held_pkeys_remap(const struct fab_blocks *h, const struct fab_fabric *old,
                                const struct fab_fabric *now, struct fab_blocks *ret);

#endif
