/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the lanes of a cable share it: VLArbitrationTables (IBA 7.6.9, 14.2.5.9) and
 * PortInfo:LimitOfHighPriority of a port, from the shares of the traffic classes; and what these
 * tables guarantee.
 */
#ifndef LIBFABMGR_TARGET_ARB_H
#define LIBFABMGR_TARGET_ARB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/policy/policy.h"
#include "libfabmgr/target/vls.h"

#define FAB_ARB_BLOCKS 4 /* 1 and 2 of low priority, 3 and 4 of high, 32 entries each */

/* Entries behind the last are of weight 0. All zero: nothing is known, or to be set. */
struct fab_arb {
    uint8_t lows, highs;
    uint8_t limit; /* bytes of high priority / 4096 until a packet of low may go; with highs */
    bool whole;    /* both tables are ours; else only the first block of low priority is */
    struct fab_arb_entry low[FAB_ARB_ENTRIES], high[FAB_ARB_ENTRIES];
};
/* Those that many ports have in common, so that they are computed once. All zero: none. */
struct fab_arb_cache_entry {
    uint64_t key;
    struct fab_arb arb;
};
struct fab_arb_cache {
    struct fab_arb_cache_entry *page;
    size_t count, room;
};
void fab_target_arb_cache_fini(struct fab_arb_cache *b);

/* The tables of a port; false: there is nothing to be set (one lane, or tables of too few entries)
 * and *ret is all zero. book: NULL, or what was computed before for this fabric, policy and lanes.
 */
bool fab_target_arb(const struct fab_fabric *f, const struct fab_policy *p, const struct fab_vls *v,
                    uint32_t port, struct fab_arb_cache *book, struct fab_arb *ret);
/* A block of them, 1..FAB_ARB_BLOCKS, as it is written; and whether the port has it. */
void fab_target_arb_block(const struct fab_arb *a, unsigned block, struct fab_vlarb *ret);
bool fab_target_arb_has_block(const struct fab_arb *a, const struct fab_port_info *info,
                              unsigned block);

/* The VLs of a traffic class at a port, a bit each. */
uint16_t fab_target_class_vls(const struct fab_fabric *f, const struct fab_policy *p,
                              const struct fab_vls *v, uint32_t port, uint8_t level);
/* What the lanes `mine` get of a cable when all of `others` have packets of `mtu` bytes to send,
 * too: per mille, by the arithmetic of 7.6.9; the least of all its lanes, should only one have
 * packets. */
uint32_t fab_target_arb_guarantee(const struct fab_arb *a, uint16_t mine, uint16_t others,
                                  uint32_t mtu);
/* The share that a class shall have, in thousandths of a percent: its own, or its part of what the
 * others leave. */
uint32_t fab_target_class_share(const struct fab_classes *c, uint8_t class);

#endif
