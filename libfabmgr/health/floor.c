/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts the uplinks of leaves and pods, and compares them with the capacity floor. */
#include "libfabmgr/health/floor.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/sets.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/health/hosts.h"

/* ---- levels and pods ------------------------------------------------------------------------- */

static void find_levels(struct fab_floor *fl, uint32_t *queue)
{
    const struct fab_fabric *f = fl->f;
    uint32_t head = 0, tail = 0;
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        fl->level[sw] = fab_health_count_hosts(f, sw) > 0 ? 0 : FAB_NONE;
        if (fl->level[sw] == 0)
            queue[tail++] = sw;
    }
    while (head < tail) {
        uint32_t sw = queue[head++];
        fl->top = fl->level[sw];
        for (uint32_t i = 1; i <= f->nodes[sw].num_ports; i++) {
            uint32_t port = fab_fabric_port_id(f, sw, (uint8_t)i),
                     far = fab_fabric_peer_node(f, port);
            if (!fab_fabric_isl_is_up(f, port) || fl->level[far] != FAB_NONE)
                continue;
            fl->level[far] = fl->level[sw] + 1;
            queue[tail++] = far;
        }
    }
}

static bool is_below_top(const struct fab_floor *fl, uint32_t sw)
{
    return fl->level[sw] < fl->top;
}

/* Finds the pods. sets[switch_count]: scratch memory for union-find. */
static void find_pods(struct fab_floor *fl, uint32_t *sets)
{
    const struct fab_fabric *f = fl->f;
    fab_base_sets_init(sets, f->switch_count);
    for (uint32_t p = 0; p < f->port_count; p++) {
        if (!fab_fabric_isl_is_up(f, p))
            continue;
        uint32_t a = fab_fabric_port(f, p)->node, b = fab_fabric_peer_node(f, p);
        if (is_below_top(fl, a) && is_below_top(fl, b))
            (void)fab_base_sets_join(sets, a, b);
    }
    for (uint32_t sw = 0; sw < f->switch_count; sw++)
        fl->pod[sw] =
            fl->top >= 2 && is_below_top(fl, sw) ? fab_base_sets_find(sets, sw) : FAB_NONE;
}

int fab_health_floor_init(struct fab_floor *fl, const struct fab_fabric *f, uint32_t min_percent)
{
    size_t n = f->switch_count + 1u;
    uint32_t *room = calloc(n, sizeof(*room));
    *fl = (struct fab_floor){.f = f, .min_percent = min_percent};
    fl->level = calloc(n, sizeof(*fl->level));
    fl->pod = calloc(n, sizeof(*fl->pod));
    fl->leaf = calloc(n, sizeof(*fl->leaf));
    fl->of_pods = calloc(n, sizeof(*fl->of_pods));
    bool good = room && fl->level && fl->pod && fl->leaf && fl->of_pods;
    if (good) {
        find_levels(fl, room);
        find_pods(fl, room);
    } else {
        fab_health_floor_fini(fl);
    }
    free(room);
    return good ? FAB_OK : FAB_E_NOMEM;
}

void fab_health_floor_fini(struct fab_floor *fl)
{
    free(fl->level);
    free(fl->pod);
    free(fl->leaf);
    free(fl->of_pods);
    *fl = (struct fab_floor){0};
}

/* ---- counting -------------------------------------------------------------------------------- */

/* Returns the counts of the leaf `near`; NULL if this switch is not a leaf. All ISLs of a leaf are
 * uplinks. */
static struct fab_floor_count *leaf_of(const struct fab_floor *fl, uint32_t near)
{
    return near < fl->f->switch_count && fl->level[near] == 0 ? &fl->leaf[near] : NULL;
}

/* Returns the counts of the pod of switch `near`; NULL if a link from this switch to a switch of
 * level `far_level` is not an uplink of the pod. */
static struct fab_floor_count *pod_of(const struct fab_floor *fl, uint32_t near, uint32_t far_level)
{
    return near < fl->f->switch_count && fl->pod[near] != FAB_NONE && far_level >= fl->top &&
                   far_level != FAB_NONE
               ? &fl->of_pods[fl->pod[near]]
               : NULL;
}

static void add(struct fab_floor_count *c, uint32_t links, uint32_t lost)
{
    if (!c)
        return;
    c->links += links;
    c->lost += lost;
}

static void add_end(struct fab_floor *fl, uint32_t near, uint32_t far_level, uint32_t links,
                    uint32_t lost)
{
    add(leaf_of(fl, near), links, lost);
    add(pod_of(fl, near, far_level), links, lost);
}

static uint32_t level_of(const struct fab_floor *fl, uint32_t sw, uint32_t otherwise)
{
    return sw < fl->f->switch_count ? fl->level[sw] : otherwise;
}

void fab_health_floor_count(struct fab_floor *fl, const struct fab_lost_link *lost, size_t count)
{
    const struct fab_fabric *f = fl->f;
    memset(fl->leaf, 0, f->switch_count * sizeof(*fl->leaf));
    memset(fl->of_pods, 0, f->switch_count * sizeof(*fl->of_pods));
    for (uint32_t p = 0; p < f->port_count; p++)
        if (fab_fabric_isl_is_up(f, p))
            add_end(fl, fab_fabric_port(f, p)->node, fl->level[fab_fabric_peer_node(f, p)], 1, 0);
    for (size_t i = 0; i < count; i++)
        for (int e = 0; e < 2; e++)
            add_end(fl, lost[i].node[e], level_of(fl, lost[i].node[!e], lost[i].level[!e]), 1, 1);
}

void fab_health_floor_lost(struct fab_floor *fl, uint32_t a, uint32_t b)
{
    add_end(fl, a, level_of(fl, b, FAB_NONE), 1, 1);
    add_end(fl, b, level_of(fl, a, FAB_NONE), 1, 1);
}

void fab_health_floor_exclude(struct fab_floor *fl, uint32_t a, uint32_t b)
{
    add_end(fl, a, fl->level[b], 0, 1);
    add_end(fl, b, fl->level[a], 0, 1);
}

/* ---- the floor ------------------------------------------------------------------------------- */

static struct fab_floor_group describe(const struct fab_floor *fl, uint32_t node, bool pod,
                                       const struct fab_floor_count *c)
{
    return (struct fab_floor_group){.node = node,
                                    .pod = pod,
                                    .links = c->links,
                                    .lost = c->lost,
                                    .least =
                                        (uint32_t)((uint64_t)c->links * fl->min_percent / 100)};
}

/* Lists in ret[] the leaves and pods of which a link between switches `a` and `b` is an uplink.
 * Returns the number of these leaves and pods. */
static int groups_of(const struct fab_floor *fl, uint32_t a, uint32_t b,
                     struct fab_floor_group ret[4])
{
    const uint32_t end[2] = {a, b};
    int n = 0;
    for (int e = 0; e < 2; e++) {
        const struct fab_floor_count *leaf = leaf_of(fl, end[e]),
                                     *pod = pod_of(fl, end[e], fl->level[end[!e]]);
        if (leaf)
            ret[n++] = describe(fl, end[e], false, leaf);
        if (pod)
            ret[n++] = describe(fl, fl->pod[end[e]], true, pod);
    }
    return n;
}

bool fab_health_floor_permits(const struct fab_floor *fl, uint32_t a, uint32_t b,
                              struct fab_floor_group *ret)
{
    struct fab_floor_group group[4];
    int n = groups_of(fl, a, b, group);
    for (int i = 0; i < n; i++)
        if (group[i].lost + group[i].least >= group[i].links && group[i].least > 0) {
            *ret = group[i];
            return false;
        }
    return true;
}

bool fab_health_floor_tightest(const struct fab_floor *fl, uint32_t a, uint32_t b,
                               struct fab_floor_group *ret)
{
    struct fab_floor_group group[4];
    int n = groups_of(fl, a, b, group), least = 0;
    for (int i = 1; i < n; i++)
        if ((uint64_t)(group[i].links - group[i].lost) * group[least].links <
            (uint64_t)(group[least].links - group[least].lost) * group[i].links)
            least = i;
    if (n > 0)
        *ret = group[least];
    return n > 0;
}
