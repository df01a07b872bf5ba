/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The record of a reroute: why the tables changed, how long each step took, and how much was
 * written. fabricd/sm makes the record, the store keeps it, and the RPC shows it.
 */
#ifndef FABRICD_BASE_REROUTE_H
#define FABRICD_BASE_REROUTE_H

#include <stdint.h>

struct reroute {
    /* generation of the resulting view, which identifies the reroute */
    uint64_t generation;
    /* Unix time in microseconds of the trap, or of the start if no trap came. */
    int64_t time_us;
    /* for example "trap 128 from leaf-3", "light sweep", "request" */
    char cause[96];
    char engine[32];
    /* When each step ended, in microseconds after time_us; 0: the reroute did not have this step.
     * known: the manager knew what had changed in the fabric. computed, proved: the tables were
     * computed and proved. first_write: the first LFT write was sent. last_write: the last LFT
     * write was acknowledged. */
    uint64_t known_us, computed_us, proved_us, first_write_us, last_write_us;
    /* Numbers of LFT entries changed, LFT blocks acknowledged, and switches written. */
    uint32_t entries, blocks, switches;
    /* number of failed writes, which a later reroute repeats */
    uint32_t failed;
    uint32_t links_lost, links_gained, nodes_lost, nodes_gained;
    /* Number of pairs of endports that may have had no path while tables changed, although they
     * have one before and after, and for how long. */
    uint64_t lost_pairs, lost_us;
};
typedef void reroute_handler(void *ctx, const struct reroute *r);

#endif
