/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the VLs of a link share its bandwidth: a port's VLArbitrationTables (IBA 7.6.9, 14.2.5.9) and
 * LimitOfHighPriority, computed from the shares of the traffic classes; and what these tables
 * guarantee.
 */
#ifndef LIBFABMGR_TARGET_ARB_H
#define LIBFABMGR_TARGET_ARB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/policy/policy.h"
#include "libfabmgr/target/vls.h"

#define FAB_ARB_BLOCKS 4 /* 1 and 2: low priority, 3 and 4: high priority; 32 entries each */

/* Entries after the last have weight 0. All zero: the tables are unknown, or need not be set. */
struct fab_arb {
    uint8_t lows, highs;
    uint8_t limit; /* LimitOfHighPriority, in 4096 bytes; meaningful if highs > 0 */
    bool whole;    /* both tables are set completely; else only block 1 is set */
    struct fab_arb_entry low[FAB_ARB_ENTRIES], high[FAB_ARB_ENTRIES];
};
/* Caches tables, as many ports have the same. An all-zero cache is empty. */
struct fab_arb_cache_entry {
    uint64_t key;
    struct fab_arb arb;
};
struct fab_arb_cache {
    struct fab_arb_cache_entry *entry;
    size_t count, room;
};
void fab_target_arb_cache_fini(struct fab_arb_cache *b);

/* The tables of a port. False: nothing is to be set (the port has one VL, or too few entries), and
 * *ret is all zero. cache: NULL, or of earlier calls with the same fabric, policy and vls. */
bool fab_target_arb(const struct fab_fabric *f, const struct fab_policy *p, const struct fab_vls *v,
                    uint32_t port, struct fab_arb_cache *cache, struct fab_arb *ret);
/* A block of the tables, 1..FAB_ARB_BLOCKS, and whether the port has that block and it is set. */
void fab_target_arb_block(const struct fab_arb *a, unsigned block, struct fab_vlarb *ret);
bool fab_target_arb_has_block(const struct fab_arb *a, const struct fab_port_info *info,
                              unsigned block);

/* The VLs of a traffic class (level) at a port, a bit each. */
uint16_t fab_target_class_vls(const struct fab_fabric *f, const struct fab_policy *p,
                              const struct fab_vls *v, uint32_t port, uint8_t level);
/* The part of a link's bandwidth, per mille, that the VLs `mine` get by the rules of 7.6.9 when all
 * VLs `others` have packets of `mtu` bytes to send, too. Only one VL of `mine` has packets: that
 * which gets least. */
uint32_t fab_target_arb_guarantee(const struct fab_arb *a, uint16_t mine, uint16_t others,
                                  uint32_t mtu);
/* The share of a class in thousandths of a percent: the configured one, or an equal part of what
 * the classes with configured shares leave. */
uint32_t fab_target_class_share(const struct fab_classes *c, uint8_t class);

#endif
