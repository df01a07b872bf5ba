/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prefetching brings table entries into the cache before the decisions read them.
 *
 * A decision follows some paths switch by switch: the old path, and the paths that may replace it.
 * Each hop waits for memory, since the tables of 128,000 endports take 1 GB and each entry lies in
 * another cache line. So this file first follows the paths of several affected entries in parallel,
 * only to load these lines.
 *
 * The results of a repair do not depend on prefetching. At 65,536 endports, prefetching saves a
 * fifth of the repair time after the failure of a leaf switch's link.
 */
#include "libfabmgr/repair/internal.h"

/* maximum number of switches of a path whose entries are prefetched; few paths are longer */
#define HOPS 5
/* Number of paths that are prefetched for an entry: the path of the old entry, and the path of the
 * first candidate. */
#define PATHS 2

struct walker {
    /* sw: the switch at which the path has arrived; FAB_NONE: the path has ended. lid: the LID
     * whose path is followed. */
    uint32_t sw, lid;
};

static const uint8_t *entry_of(const struct fab_lft *lft, const struct walker *w)
{
    return fab_target_lft_entry(lft, w->sw, w->lid);
}

static void step(const struct fab_repair_network *b, const struct fab_lft *lft, struct walker *w)
{
    uint32_t channel = FAB_NONE;
    if (w->sw != FAB_NONE && b->home[w->lid] != w->sw)
        channel = fab_repair_channel(b, w->sw, *entry_of(lft, w));
    w->sw = channel != FAB_NONE ? b->peer_sw[channel] : FAB_NONE;
}

void fab_repair_prefetch(struct fab_repair *r, const struct fab_lft *lft, const uint64_t *affected,
                         size_t count)
{
    const struct fab_repair_network *b = r->network;
    struct walker walker[PATHS * FAB_REPAIR_PREFETCH_MAX];
    for (size_t i = 0; i < count; i++) {
        struct walker w = {(uint32_t)affected[i], (uint32_t)(affected[i] >> 32)};
        uint8_t entry = *entry_of(lft, &w);
        walker[PATHS * i] = w;
        step(b, lft, &walker[PATHS * i]);
        walker[PATHS * i + 1] =
            (struct walker){fab_repair_likely_next(r, w.sw, entry, w.lid), w.lid};
    }
    for (unsigned s = 0; s < HOPS; s++) {
        for (size_t i = 0; i < PATHS * count; i++) {
            if (walker[i].sw != FAB_NONE)
                __builtin_prefetch(entry_of(lft, &walker[i]));
        }
        for (size_t i = 0; i < PATHS * count; i++)
            step(b, lft, &walker[i]);
    }
}
