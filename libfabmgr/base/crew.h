/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work side by side. The library has no threads; who calls it may lend it some: a function that
 * runs `body` for 0..count-1, in any order and on any thread, and returns when all are done. Bodies
 * write to places of their own only, so that results do not depend on how many hands there are.
 */
#ifndef LIBFABMGR_BASE_CREW_H
#define LIBFABMGR_BASE_CREW_H

#include <stddef.h>
#include <stdint.h>

/* hand: 0..hands-1, no two bodies at work have the same: an index of scratch space. */
typedef void fab_crew_body(void *arg, uint32_t i, uint32_t hand);

struct fab_crew {
    uint32_t hands; /* 1.. */
    void (*run)(void *ctx, uint32_t count, fab_crew_body *body, void *arg);
    void *ctx;
};

static inline uint32_t fab_crew_hands(const struct fab_crew *c)
{
    return c != NULL && c->hands > 1 ? c->hands : 1;
}
/* NULL: one after the other, here. */
static inline void fab_crew_run(const struct fab_crew *c, uint32_t count, fab_crew_body *body,
                                void *arg)
{
    if (fab_crew_hands(c) > 1 && count > 1) {
        c->run(c->ctx, count, body, arg);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        body(arg, i, 0);
}

#endif
