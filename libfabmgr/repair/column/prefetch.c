/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Looking ahead. A decision follows two ways switch by switch, the one before and the one that will
 * most likely be taken, and every step waits for memory: tables of 128,000 ends are 1 GB, and each
 * LID is in another line of them. So the ways of some columns to come are followed side by side
 * first, for nothing but to have those lines at hand. Nothing depends on it but the time: a fifth
 * less for a leaf's cable at 65,536 ends.
 */
#include "libfabmgr/repair/internal.h"

#define STEPS 5 /* switches on a usual way */

struct walker {
    uint32_t sw, lid; /* sw FAB_NONE: there */
};

static const uint8_t *entry_of(const struct fab_lft *lft, const struct walker *w)
{
    return fab_target_lft_row(lft, w->sw) + w->lid;
}

static void step(const struct fab_repair_network *b, const struct fab_lft *lft, struct walker *w)
{
    uint32_t channel = FAB_NONE;
    if (w->sw != FAB_NONE && b->home[w->lid] != w->sw)
        channel = fab_repair_channel(b, w->sw, *entry_of(lft, w));
    w->sw = channel != FAB_NONE ? b->hop[channel] : FAB_NONE;
}

void fab_repair_prefetch(struct fab_repair *r, const struct fab_lft *lft, const uint64_t *place,
                         size_t count)
{
    const struct fab_repair_network *b = r->base;
    struct walker walker[2 * FAB_REPAIR_PREFETCH_MAX];
    for (size_t i = 0; i < count; i++) {
        struct walker w = {(uint32_t)place[i], (uint32_t)(place[i] >> 32)};
        walker[2 * i] = walker[2 * i + 1] = w;
        walker[2 * i + 1].sw = fab_repair_likely_next(r, w.sw, *entry_of(lft, &w), w.lid);
        step(b, lft, &walker[2 * i]);
    }
    for (unsigned s = 0; s < STEPS; s++) {
        for (size_t i = 0; i < 2 * count; i++) {
            if (walker[i].sw != FAB_NONE)
                __builtin_prefetch(entry_of(lft, &walker[i]));
        }
        for (size_t i = 0; i < 2 * count; i++)
            step(b, lft, &walker[i]);
    }
}
