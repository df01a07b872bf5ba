/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Divides the bandwidth of a link among VLs: computes the VLArbitrationTables (IBA 7.6.9, 14.2.5.9)
 * and LimitOfHighPriority of a port from the shares of the traffic classes. Also computes the
 * bandwidth that existing tables guarantee to a class.
 */
#ifndef LIBFABMGR_TARGET_ARB_H
#define LIBFABMGR_TARGET_ARB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/policy/policy.h"
#include "libfabmgr/target/vls.h"

/* Number of blocks of the VLArbitrationTables; a block has 32 entries. Blocks 1 and 2 form the
 * low-priority table, blocks 3 and 4 the high-priority table. */
#define FAB_ARB_BLOCKS 4

/* The VLArbitrationTables of a port. The first `lows` elements of low[] and the first `highs` of
 * high[] are in use; the others have weight 0. If all bytes are zero, the tables are unknown, or
 * the manager does not set them. */
struct fab_arb {
    uint8_t lows, highs;
    /* LimitOfHighPriority, in units of 4096 bytes; has no meaning if highs is 0 */
    uint8_t limit;
    /* true: the manager sets all blocks of both tables; false: only block 1 */
    bool whole;
    struct fab_arb_entry low[FAB_ARB_ENTRIES], high[FAB_ARB_ENTRIES];
};
/* A cache of computed tables, which saves time because many ports have equal tables. If all bytes
 * are zero, the cache is empty. */
struct fab_arb_cache_entry {
    uint64_t key;
    struct fab_arb arb;
};
struct fab_arb_cache {
    struct fab_arb_cache_entry *entry;
    size_t count, room;
};
void fab_target_arb_cache_fini(struct fab_arb_cache *b);

/* Computes the tables of a port. Returns false, with *ret all zero, if the manager must not set the
 * tables, because only one VL is in use at the port, the port has too few table entries, or no
 * entry that the operator has configured fits the port. `cache` may be NULL. `f`, `p` and `v` must
 * be the same in all calls with one cache. */
bool fab_target_arb(const struct fab_fabric *f, const struct fab_policy *p, const struct fab_vls *v,
                    uint32_t port, struct fab_arb_cache *cache, struct fab_arb *ret);
/* fab_target_arb_block copies one block of the tables, with a number from 1 to FAB_ARB_BLOCKS, to
 * *ret. fab_target_arb_has_block returns true if the port has this block and the manager sets
 * it. */
void fab_target_arb_block(const struct fab_arb *a, unsigned block, struct fab_vlarb *ret);
bool fab_target_arb_has_block(const struct fab_arb *a, const struct fab_port_info *info,
                              unsigned block);

/* Returns the bitset of the VLs on which packets of traffic class `level` may leave by port
 * `port`. */
uint16_t fab_target_class_vls(const struct fab_fabric *f, const struct fab_policy *p,
                              const struct fab_vls *v, uint32_t port, uint8_t level);
/* Returns the share of a link's bandwidth, per mille, that the tables guarantee to the VLs `mine`
 * (IBA 7.6.9). Assumes the worst case: all VLs in the bitset `others` have packets of `mtu` bytes
 * to send, but of the VLs in the bitset `mine` only the one with the smallest share has packets to
 * send. */
uint32_t fab_target_arb_guarantee(const struct fab_arb *a, uint16_t mine, uint16_t others,
                                  uint32_t mtu);
/* Returns the share of a traffic class in thousandths of a percent. Classes without a configured
 * share divide equally what the configured shares leave. If `c` is NULL, returns 100 percent. */
uint32_t fab_target_class_share(const struct fab_classes *c, uint8_t class);

#endif
