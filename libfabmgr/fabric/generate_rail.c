/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Generates rail-optimised clusters, as built for machine learning. The servers form groups
 * ("scalable units"). Adapter r of each server in a group is connected to leaf r of the group. The
 * leaves r of all groups form rail r. So traffic between two adapters of the same group and the
 * same rail crosses one switch.
 *
 * Without cores, each spine is connected to all leaves. With cores, each rail has spines of its
 * own, and a spine is connected to the leaves of its rail, one in each group. The spines with the
 * same number, one in each rail, are connected to the same cores.
 *
 * The leaves get the first references in the builder, group by group, and rail by rail within a
 * group. The spines follow, rail by rail, and then the cores. The first ports of a leaf lead to its
 * servers, and its other ports lead to spines. The first ports of a spine lead to leaves, and its
 * other ports lead to cores. The ports of a core lead to its spines, rail by rail.
 */
#include <stdio.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/make.h"

struct rail {
    struct maker m;
    const struct fab_rail_spec *spec;
    /* numbers of groups and switches in the whole cluster */
    uint32_t groups, leaves, spines, cores;
    /* leaf_ports, spine_ports, core_ports: number of ports of a leaf, a spine, a core. children:
     * number of downlinks of a spine (its ports that lead to leaves). */
    uint32_t leaf_ports, children, spine_ports, core_ports;
};

static bool in_range(const struct fab_rail_spec *s)
{
    return s->servers > 0 && s->servers <= MAKE_NODE_LIMIT && s->adapters > 0 &&
           s->adapters <= 254 && s->group_size > 0 && s->group_size <= 254 && s->spines <= 254 &&
           s->parallel > 0 && s->parallel <= 254 && s->cores <= 254 && s->core_parallel <= 254 &&
           (s->cores == 0 || (s->core_parallel > 0 && s->spines > 0));
}

static int check(struct rail *t)
{
    const struct fab_rail_spec *s = t->spec;
    if (!in_range(s))
        return FAB_E_RANGE;
    t->groups = (s->servers + s->group_size - 1) / s->group_size;
    t->leaves = t->groups * s->adapters;
    if (t->leaves > MAKE_NODE_LIMIT)
        return FAB_E_RANGE;
    t->spines = s->cores > 0 ? s->spines * s->adapters : s->spines;
    t->cores = s->spines * s->cores;
    t->leaf_ports = s->group_size + s->spines * s->parallel;
    t->children = (s->cores > 0 ? t->groups : t->leaves) * s->parallel;
    t->spine_ports = t->children + s->cores * s->core_parallel;
    t->core_ports = s->cores > 0 ? s->adapters * s->core_parallel : 0;
    if (t->leaf_ports > 254 || (t->spines > 0 && t->spine_ports > 254) || t->core_ports > 254 ||
        (t->spines == 0 && t->leaves > 1))
        return FAB_E_RANGE;
    uint64_t all = (uint64_t)s->servers * s->adapters + t->leaves + t->spines + t->cores;
    return all <= MAKE_NODE_LIMIT ? FAB_OK : FAB_E_RANGE;
}

static void make_leaves(struct rail *t)
{
    char desc[FAB_NODE_DESC_LEN + 1];
    uint32_t rails = t->spec->adapters;
    for (uint32_t i = 0; i < t->leaves && t->m.status == FAB_OK; i++) {
        snprintf(desc, sizeof desc, "su%0*u-leaf-%0*u", (int)fab_fabric_make_width(t->groups, 2),
                 i / rails + 1, (int)fab_fabric_make_width(rails, 1), i % rails + 1);
        fab_fabric_make_switch_named(&t->m, t->leaf_ports, desc);
    }
}

static void make_spines(struct rail *t)
{
    char stem[32] = "spine";
    uint32_t count = t->spec->spines, width = fab_fabric_make_width(count, t->cores > 0 ? 2 : 3);
    for (uint32_t i = 0; i < t->spines && t->m.status == FAB_OK; i++) {
        if (t->cores > 0)
            snprintf(stem, sizeof stem, "rail%0*u-spine",
                     (int)fab_fabric_make_width(t->spec->adapters, 1), i / count + 1);
        fab_fabric_make_switch(&t->m, t->spine_ports,
                               (struct make_name){stem, i % count + 1, width});
    }
    for (uint32_t i = 0; i < t->cores && t->m.status == FAB_OK; i++)
        fab_fabric_make_switch(
            &t->m, t->core_ports,
            (struct make_name){"core", i + 1, fab_fabric_make_width(t->cores, 3)});
}

static void connect_server(struct rail *t, uint32_t server)
{
    char desc[FAB_NODE_DESC_LEN + 1];
    const struct fab_rail_spec *s = t->spec;
    uint32_t first_leaf = server / s->group_size * s->adapters;
    for (uint32_t r = 0; r < s->adapters; r++) {
        snprintf(desc, sizeof desc, "node-%0*u/mlx5_%u", (int)fab_fabric_make_width(s->servers, 4),
                 server + 1, r);
        fab_fabric_make_link(&t->m, first_leaf + r, server % s->group_size + 1,
                             fab_fabric_make_host_named(&t->m, 1, desc), 1);
    }
}

static void connect_leaf(struct rail *t, uint32_t leaf)
{
    const struct fab_rail_spec *s = t->spec;
    uint32_t first = t->leaves, child = leaf;
    if (t->cores > 0) {
        first += leaf % s->adapters * s->spines;
        child = leaf / s->adapters;
    }
    for (uint32_t i = 0; i < s->spines; i++)
        fab_fabric_make_links(&t->m, leaf, s->group_size + i * s->parallel + 1, first + i,
                              child * s->parallel + 1, s->parallel);
}

static void connect_spine(struct rail *t, uint32_t spine)
{
    const struct fab_rail_spec *s = t->spec;
    uint32_t rail = spine / s->spines, first = t->leaves + t->spines + spine % s->spines * s->cores;
    for (uint32_t i = 0; i < s->cores; i++)
        fab_fabric_make_links(&t->m, t->leaves + spine, t->children + i * s->core_parallel + 1,
                              first + i, rail * s->core_parallel + 1, s->core_parallel);
}

int fab_fabric_generate_rail(const struct fab_rail_spec *spec, struct fab_builder **ret)
{
    struct rail t = {.spec = spec};
    int status = check(&t);
    if (status != FAB_OK)
        return status;
    fab_fabric_make_init(&t.m);
    make_leaves(&t);
    make_spines(&t);
    for (uint32_t i = 0; i < spec->servers && t.m.status == FAB_OK; i++)
        connect_server(&t, i);
    for (uint32_t i = 0; i < t.leaves && t.m.status == FAB_OK; i++)
        connect_leaf(&t, i);
    for (uint32_t i = 0; i < t.spines && t.m.status == FAB_OK; i++)
        connect_spine(&t, i);
    return fab_fabric_make_finish(&t.m, ret);
}
