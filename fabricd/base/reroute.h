/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A reroute, as it is told: why tables were written again, how long each part took, how much it
 * was. The sm makes them, the store keeps them, the RPC shows them.
 */
#ifndef FABRICD_BASE_REROUTE_H
#define FABRICD_BASE_REROUTE_H

#include <stdint.h>

struct reroute {
    uint64_t generation; /* of the view that came of it: its name */
    int64_t time_us;     /* Unix: when the trap came, or when the work began */
    char cause[96];      /* "trap 128 from leaf-3", "light look", "request" */
    char engine[32];
    /* Microseconds after time_us; 0: that was not needed. known: the look was done; then tables
     * computed, and proved; first table write sent, last one acknowledged. */
    uint64_t known_us, computed_us, proved_us, first_write_us, last_write_us;
    uint32_t entries, blocks, switches; /* that changed; blocks as acknowledged */
    uint32_t failed;                    /* writes without success: tried again by a later one */
    uint32_t links_lost, links_gained, nodes_lost, nodes_gained;
};
typedef void reroute_handler(void *ctx, const struct reroute *r);

#endif
