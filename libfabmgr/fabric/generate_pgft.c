/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Generates PGFT(h; m1..mh; w1..wh; p1..ph); see generate.h.
 *
 * A node of level l is a pair (A, B). A is the number of its subtree among the subtrees of level l.
 * B is its number among the roots of that subtree; there are W(l) = w1 * .. * wl roots. Let m =
 * m(l+1). The node is child number A % m of its parents (A / m, b * W(l) + B), for all b < w(l+1).
 * Its number in the level is A * W(l) + B, so that the nodes of a subtree have consecutive numbers.
 *
 * The p links to child c are at the ports c * p + 1 to c * p + p. The ports after the ports of all
 * children lead to the parents, in the same way. With one level there is a single switch, with
 * hosts at all its ports.
 */
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/make.h"

#define MAX_LEVELS FAB_GENERATE_LEVELS

struct pgft {
    struct maker m;
    const struct fab_pgft_spec *spec;
    /* [level] W(level), the number of roots of a subtree of this level */
    uint64_t twins[MAX_LEVELS + 1];
    /* [level] number of nodes of this level; at level 0, number of hosts */
    uint64_t count[MAX_LEVELS + 1];
    /* [level] the builder's reference of the first node of this level */
    uint32_t first[MAX_LEVELS + 1];
};

/* Returns how many ports of a node of this level lead to its children. */
static uint32_t down(const struct pgft *t, uint32_t level)
{
    return level > 0 ? t->spec->m[level - 1] * t->spec->p[level - 1] : 0;
}
static uint32_t up(const struct pgft *t, uint32_t level)
{
    return level < t->spec->levels ? t->spec->w[level] * t->spec->p[level] : 0;
}

static int check(const struct pgft *t)
{
    const struct fab_pgft_spec *s = t->spec;
    uint32_t room = s->radix > 0 ? s->radix : 254;
    if (s->levels == 0 || s->levels > MAX_LEVELS || room > 254)
        return FAB_E_RANGE;
    for (uint32_t i = 0; i < s->levels; i++)
        if (s->m[i] == 0 || s->m[i] > 254 || s->w[i] == 0 || s->w[i] > 254 || s->p[i] == 0 ||
            s->p[i] > 254)
            return FAB_E_RANGE;
    for (uint32_t l = 0; l <= s->levels; l++)
        if (down(t, l) + up(t, l) > (l == 0 ? MAKE_END_PORTS : room))
            return FAB_E_RANGE;
    return FAB_OK;
}

static int count_nodes(struct pgft *t)
{
    const struct fab_pgft_spec *s = t->spec;
    uint64_t subtrees = 1, all = 0;
    t->twins[0] = 1;
    for (uint32_t l = 1; l <= s->levels; l++) {
        t->twins[l] = t->twins[l - 1] * s->w[l - 1];
        if (t->twins[l] > MAKE_NODE_LIMIT)
            return FAB_E_RANGE;
    }
    for (uint32_t l = s->levels; subtrees <= MAKE_NODE_LIMIT; l--) {
        t->count[l] = subtrees * t->twins[l];
        all += t->count[l];
        if (l == 0)
            return all <= MAKE_NODE_LIMIT ? FAB_OK : FAB_E_RANGE;
        subtrees *= s->m[l - 1];
    }
    return FAB_E_RANGE;
}

/* Returns the first word of the names of all nodes of this level, such as "leaf". */
static const char *stem(const struct pgft *t, uint32_t level)
{
    static const char *const few[] = {"leaf", "spine", "core"}, *const more[] = {
                                                                    "level1", "level2", "level3",
                                                                    "level4", "level5", "level6"};
    return level == 0 ? "host" : (t->spec->levels <= 3 ? few : more)[level - 1];
}

static void make_level(struct pgft *t, uint32_t level)
{
    uint32_t count = (uint32_t)t->count[level], ports = down(t, level) + up(t, level);
    uint32_t width = fab_fabric_make_width(count, level == 0 ? 4 : 3);
    if (level > 0 && t->spec->radix > 0)
        ports = t->spec->radix;
    t->first[level] = t->m.switches + t->m.ends;
    for (uint32_t i = 0; i < count && t->m.status == FAB_OK; i++) {
        struct make_name name = {stem(t, level), i + 1, width};
        if (level == 0)
            fab_fabric_make_host(&t->m, ports, name);
        else
            fab_fabric_make_switch(&t->m, ports, name);
    }
}

/* Adds all uplinks of one node. */
static void connect_up(struct pgft *t, uint32_t level, uint32_t i)
{
    uint32_t twins = (uint32_t)t->twins[level], above = (uint32_t)t->twins[level + 1];
    uint32_t a = i / twins, b = i % twins;
    uint32_t children = t->spec->m[level], parallel = t->spec->p[level];
    for (uint32_t u = 0; u < t->spec->w[level]; u++) {
        uint32_t parent = a / children * above + u * twins + b;
        fab_fabric_make_links(&t->m, t->first[level] + i, down(t, level) + u * parallel + 1,
                              t->first[level + 1] + parent, a % children * parallel + 1, parallel);
    }
}

int fab_fabric_generate_pgft(const struct fab_pgft_spec *spec, struct fab_builder **ret)
{
    struct pgft t = {.spec = spec};
    int status = check(&t);
    if (status == FAB_OK)
        status = count_nodes(&t);
    if (status != FAB_OK)
        return status;
    fab_fabric_make_init(&t.m);
    for (uint32_t l = 1; l <= spec->levels; l++)
        make_level(&t, l);
    make_level(&t, 0);
    for (uint32_t l = 0; l < spec->levels; l++)
        for (uint32_t i = 0; i < t.count[l] && t.m.status == FAB_OK; i++)
            connect_up(&t, l, i);
    return fab_fabric_make_finish(&t.m, ret);
}
