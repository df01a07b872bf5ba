/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The record of a reroute: why the tables were changed, how long each step took, and how much
 * was written. The sm makes it, the store keeps it, the RPC shows it.
 */
#ifndef FABRICD_BASE_REROUTE_H
#define FABRICD_BASE_REROUTE_H

#include <stdint.h>

struct reroute {
    uint64_t generation; /* generation of the resulting view; identifies the reroute */
    int64_t time_us;     /* Unix time of the trap, or of the start */
    char cause[96];      /* "trap 128 from leaf-3", "light sweep", "request" */
    char engine[32];
    /* Microseconds after time_us, 0: no such step. known: the change of the fabric was known;
     * computed, proved: the tables were; first_write, last_write: the first table write was
     * sent, the last one acknowledged. */
    uint64_t known_us, computed_us, proved_us, first_write_us, last_write_us;
    uint32_t entries, blocks, switches; /* entries that changed; blocks that were acknowledged */
    uint32_t failed;                    /* failed writes, which a later reroute repeats */
    uint32_t links_lost, links_gained, nodes_lost, nodes_gained;
};
typedef void reroute_handler(void *ctx, const struct reroute *r);

#endif
