/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Generates fat trees of switches with the same radix, as PGFTs (see generate.h). The table gives,
 * for each level, m (number of children) and w (number of parents); k is the number of parallel
 * links to each parent. Let half be radix / 2, and `up` the number of uplinks of a leaf (leaf_up):
 *
 *    leaves        m1 = half, or taper * up if taper > 1       w2 = up / k
 *    other levels  m2.. = half / k                             w3.. = half / k
 *    highest       mh = radix / k (m1 = radix with one level)
 *
 * As w1 = 1, each host has one link.
 */
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/generate.h"

/* Returns the number of uplinks of a leaf: half of the ports, or fewer with a taper. */
static uint32_t leaf_up(const struct fab_fat_tree_spec *s, uint32_t parallel)
{
    uint32_t up = s->taper > 1 ? s->radix / (s->taper + 1) : s->radix / 2;
    return up - up % parallel;
}

static void shape(const struct fab_fat_tree_spec *s, uint32_t parallel, struct fab_pgft_spec *t)
{
    uint32_t half = s->radix / 2, h = s->levels, up = leaf_up(s, parallel);
    t->m[0] = h == 1 ? s->radix : s->taper > 1 ? s->taper * up : half;
    t->w[0] = t->p[0] = 1;
    for (uint32_t i = 1; i < h; i++) {
        t->m[i] = (i + 1 == h ? s->radix : half) / parallel;
        t->w[i] = (i == 1 ? up : half) / parallel;
        t->p[i] = parallel;
    }
}

int fab_fabric_generate_fat_tree(const struct fab_fat_tree_spec *spec, struct fab_builder **ret)
{
    struct fab_pgft_spec tree = {.levels = spec->levels, .radix = spec->radix};
    uint32_t parallel = spec->parallel > 1 ? spec->parallel : 1;
    if (spec->radix < 2 || spec->levels == 0 || spec->levels > FAB_GENERATE_LEVELS ||
        spec->taper >= spec->radix || spec->radix / 2 % parallel != 0)
        return FAB_E_RANGE;
    shape(spec, parallel, &tree);
    return fab_fabric_generate_pgft(&tree, ret);
}
