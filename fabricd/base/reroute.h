/* SPDX-License-Identifier: BSD-3-Clause */
/* The record of a reroute: why the tables changed, how long each step took, and how many entries
 * and blocks were written. fabricd/sm makes the record, the store keeps it, and RPCs show it. */
#ifndef FABRICD_BASE_REROUTE_H
#define FABRICD_BASE_REROUTE_H

#include <stdint.h>

struct reroute {
    /* generation of the view after the reroute; it identifies the reroute */
    uint64_t generation;
    /* Unix time in us at which the trap arrived that caused the reroute. If no trap caused the
     * reroute: the time at which the reroute began. */
    int64_t time_us;
    /* what caused the reroute, for example "trap 128 from leaf-3", "light sweep", "request" */
    char cause[96];
    char engine[32];
    /* The time at which each step of the reroute ended, in us after time_us; 0: the reroute had no
     * such step. known: the manager knew what had changed in the fabric. computed, proved: the
     * tables were computed and proved. first_write: the first LFT write was sent. last_write: the
     * last LFT write was acknowledged. */
    uint64_t known_us, computed_us, proved_us, first_write_us, last_write_us;
    /* entries: number of changed LFT entries. blocks: number of acknowledged LFT blocks. switches:
     * number of switches whose LFTs were written. */
    uint32_t entries, blocks, switches;
    /* number of LFT writes of this reroute that failed, and that a later reroute must repeat */
    uint32_t failed;
    uint32_t links_lost, links_gained, nodes_lost, nodes_gained;
    /* lost_pairs: number of pairs of endports that had a path before and after the reroute, but may
     * have had none while the tables changed. lost_us: time in us for which these pairs may have
     * had no path. */
    uint64_t lost_pairs, lost_us;
};
typedef void reroute_handler(void *ctx, const struct reroute *r);

#endif
