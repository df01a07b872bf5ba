/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The record of a reroute: why the tables were changed, how long each step took, and how much was
 * written. fabricd/sm fills it in, the store keeps it, and the RPC shows it.
 */
#ifndef FABRICD_BASE_REROUTE_H
#define FABRICD_BASE_REROUTE_H

#include <stdint.h>

struct reroute {
    uint64_t generation; /* generation of the resulting view; identifies the reroute */
    int64_t time_us;     /* Unix time of the trap or, without a trap, of the start */
    char cause[96];      /* for example "trap 128 from leaf-3", "light sweep", "request" */
    char engine[32];
    /* When each step ended, in microseconds after time_us; 0: there was no such step. known: the
     * manager knew how the fabric had changed. computed, proved: the tables were computed, and
     * verified. first_write: the first table write was sent. last_write: the last one was
     * acknowledged. */
    uint64_t known_us, computed_us, proved_us, first_write_us, last_write_us;
    /* LFT entries changed, LFT blocks acknowledged, switches written */
    uint32_t entries, blocks, switches;
    uint32_t failed; /* failed writes, which a later reroute repeats */
    uint32_t links_lost, links_gained, nodes_lost, nodes_gained;
};
typedef void reroute_handler(void *ctx, const struct reroute *r);

#endif
