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

/* Computes the tables of a port. Returns false, with *ret all zero, if the manager must not set
 * them: the port has one VL, or too few table entries. cache: NULL, or the cache of earlier calls
 * with the same fabric, policy and vls. */
bool fab_target_arb(const struct fab_fabric *f, const struct fab_policy *p, const struct fab_vls *v,
                    uint32_t port, struct fab_arb_cache *cache, struct fab_arb *ret);
/* Block 1..FAB_ARB_BLOCKS of the tables. has_block returns whether the port has the block and the
 * manager sets it. */
void fab_target_arb_block(const struct fab_arb *a, unsigned block, struct fab_vlarb *ret);
bool fab_target_arb_has_block(const struct fab_arb *a, const struct fab_port_info *info,
                              unsigned block);

/* The VLs of a traffic class (level) at a port, a bit each. */
uint16_t fab_target_class_vls(const struct fab_fabric *f, const struct fab_policy *p,
                              const struct fab_vls *v, uint32_t port, uint8_t level);
/* The share of a link's bandwidth, per mille, that the VLs `mine` get by the rules of 7.6.9 while
 * all VLs `others` have packets of `mtu` bytes to send. The worst case is assumed: of `mine`, only
 * the VL that gets least has packets. */
uint32_t fab_target_arb_guarantee(const struct fab_arb *a, uint16_t mine, uint16_t others,
                                  uint32_t mtu);
/* The share of a class in thousandths of a percent: the configured one, or an equal part of what
 * the classes with configured shares leave. */
uint32_t fab_target_class_share(const struct fab_classes *c, uint8_t class);

#endif
