/* SPDX-License-Identifier: BSD-3-Clause */
/* The links that are up, but that routes do not use. For this folder only. */
#ifndef FABRICD_RPC_EXCLUDED_H
#define FABRICD_RPC_EXCLUDED_H

#include "fabricd/rpc/answer.h"
#include "fabricd/sm/sm.h"

/* The links that routes do not use, because they are isolated, held down or drained. */
struct excluded {
    const struct sm *sm;
    struct sm_isolation *isolated;
    struct sm_flapping *flapping;
    uint32_t isolated_count, flapping_count;
};
/* Fills *ret with the links that are isolated or held down. The lists are in memory of the answer.
 * Returns false if memory ran out. */
bool excluded_read(struct answer *a, const struct sm *sm, struct excluded *ret);
/* If the link of a port is up, but routes avoid it, returns why: "isolated", "held down" or "in
 * maintenance". Otherwise returns "". */
const char *excluded_why(const struct excluded *x, const struct fab_fabric *f, uint32_t port);

#endif
