/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * k-level fat trees: extended generalised fat trees XGFT(h; m1..mh; w1..wh) (Ohring et al., IPPS
 * 1995) of switches with one radix. With half = radix / 2 and w1 = 1:
 *
 *     hosts a leaf        m1 = radix - up          leaves' uplinks  w2 = up
 *     children elsewhere  m2.. = half, mh = radix  uplinks          w3.. = half
 *
 * A node of level l is (A, B): A counts the subtrees of that level, B its twins within the subtree,
 * B < W(l) = w1 * .. * wl. Its parents are (A / m, b * W(l) + B) for b < w(l+1), where it is child
 * number A % m. Nodes of a level are numbered A * W(l) + B, so that what hangs together stands
 * together. One level is a single switch with hosts on all its ports.
 */
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/make.h"

#define MAX_LEVELS 6
#define NODE_LIMIT (1u << 20)

struct fat_tree {
    struct maker m;
    uint32_t radix, levels;
    uint32_t down[MAX_LEVELS + 1]; /* m: children of a node of that level */
    uint32_t up[MAX_LEVELS + 1];   /* parents of a node of that level: w of the next */
    uint64_t twins[MAX_LEVELS + 1];
    uint64_t count[MAX_LEVELS + 1]; /* nodes of a level; level 0: hosts */
    uint32_t first[MAX_LEVELS + 1]; /* reference of its first switch */
};

static int shape(struct fat_tree *t, const struct fab_fat_tree_spec *s)
{
    uint32_t half = s->radix / 2, h = s->levels;
    if (s->radix < 2 || s->radix > 254 || h == 0 || h > MAX_LEVELS || s->taper >= s->radix)
        return FAB_E_RANGE;
    uint32_t up = s->taper > 1 ? s->radix / (s->taper + 1) : half;
    for (uint32_t l = 1; l <= h; l++) {
        t->down[l] = l == h ? s->radix : l > 1 ? half : s->taper > 1 ? s->taper * up : half;
        t->up[l] = l == h ? 0 : l == 1 ? up : half;
    }
    t->radix = s->radix;
    t->levels = h;
    t->up[0] = 1;
    return FAB_OK;
}

static int count_nodes(struct fat_tree *t)
{
    t->twins[0] = 1;
    for (uint32_t l = 1; l <= t->levels; l++)
        t->twins[l] = t->twins[l - 1] * t->up[l - 1];
    uint64_t subtrees = 1, all = 0;
    for (uint32_t l = t->levels; l > 0; l--) {
        t->count[l] = subtrees * t->twins[l];
        subtrees *= t->down[l];
        all += t->count[l];
    }
    t->count[0] = subtrees;
    return all + subtrees <= NODE_LIMIT ? FAB_OK : FAB_E_RANGE;
}

/* What people call the switches of a level. */
static const char *stem(const struct fat_tree *t, uint32_t level)
{
    static const char *const two[] = {"leaf", "spine"}, *const three[] = {"leaf", "spine", "core"},
                             *const more[] = {"level1", "level2", "level3",
                                              "level4", "level5", "level6"};
    const char *const *names = t->levels <= 2 ? two : t->levels == 3 ? three : more;
    return names[level - 1];
}

static void make_level(struct fat_tree *t, uint32_t level)
{
    uint32_t count = (uint32_t)t->count[level];
    t->first[level] = t->m.switches;
    for (uint32_t i = 0; i < count && t->m.status == FAB_OK; i++)
        make_switch(&t->m, t->radix,
                    (struct make_name){stem(t, level), i + 1, make_width(count, 3)});
}

static void connect_hosts(struct fat_tree *t)
{
    uint32_t count = (uint32_t)t->count[0], a_leaf = t->down[1];
    for (uint32_t i = 0; i < count && t->m.status == FAB_OK; i++) {
        struct make_name name = {"host", i + 1, make_width(count, 4)};
        make_cable(&t->m, t->first[1] + i / a_leaf, i % a_leaf + 1, make_host(&t->m, 1, name), 1);
    }
}

/* All cables from one switch up. */
static void connect_up(struct fat_tree *t, uint32_t level, uint32_t i)
{
    uint32_t twins = (uint32_t)t->twins[level], above = (uint32_t)t->twins[level + 1];
    uint32_t a = i / twins, b = i % twins, children = t->down[level + 1];
    for (uint32_t u = 0; u < t->up[level]; u++) {
        uint32_t parent = a / children * above + u * twins + b;
        make_cable(&t->m, t->first[level] + i, t->down[level] + u + 1, t->first[level + 1] + parent,
                   a % children + 1);
    }
}

int fab_generate_fat_tree(const struct fab_fat_tree_spec *spec, struct fab_builder **ret)
{
    struct fat_tree t = {0};
    int status = shape(&t, spec);
    if (status == FAB_OK)
        status = count_nodes(&t);
    if (status != FAB_OK)
        return status;
    make_init(&t.m);
    for (uint32_t l = 1; l <= t.levels; l++)
        make_level(&t, l);
    connect_hosts(&t);
    for (uint32_t l = 1; l < t.levels; l++)
        for (uint32_t i = 0; i < t.count[l] && t.m.status == FAB_OK; i++)
            connect_up(&t, l, i);
    return make_done(&t.m, ret);
}
