/* SPDX-License-Identifier: BSD-3-Clause */
/* Generates dragonflies. Switch i of group g has the reference g * group_size + i in the builder.
 * The first ports of a switch lead to its hosts. The next ports lead to the other switches of its
 * group in ascending order, `parallel` ports to each. The last ports lead to other groups
 * (groups.c). */
#include <stdio.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/groups.h"

struct dragonfly {
    struct maker m;
    const struct fab_dragonfly_spec *spec;
    struct groups groups;
    /* Number of switches of the fabric, and number of ports of each switch. */
    uint32_t count, ports;
};

static int check(struct dragonfly *t)
{
    const struct fab_dragonfly_spec *s = t->spec;
    t->groups = (struct groups){s->groups, s->group_size, s->global, 0};
    int status = fab_fabric_groups_init(&t->groups);
    if (status != FAB_OK)
        return status;
    if (s->parallel == 0 || s->parallel > 254 || s->hosts > 254)
        return FAB_E_RANGE;
    t->ports = s->hosts + (s->group_size - 1) * s->parallel + s->global;
    t->count = t->groups.count * s->group_size;
    if (t->ports == 0 || t->ports > 254 || (uint64_t)t->count * (s->hosts + 1) > MAKE_NODE_LIMIT)
        return FAB_E_RANGE;
    return FAB_OK;
}

static void make_switches(struct dragonfly *t)
{
    char desc[FAB_NODE_DESC_LEN + 1];
    uint32_t size = t->spec->group_size;
    for (uint32_t i = 0; i < t->count && t->m.status == FAB_OK; i++) {
        snprintf(desc, sizeof desc, "group%0*u-switch-%0*u",
                 (int)fab_fabric_make_width(t->groups.count, 2), i / size + 1,
                 (int)fab_fabric_make_width(size, 2), i % size + 1);
        fab_fabric_make_switch_named(&t->m, t->ports, desc);
    }
}

/* Adds the hosts of one switch, and its links to the switches of its group with higher
 * references. */
static void connect(struct dragonfly *t, uint32_t sw)
{
    const struct fab_dragonfly_spec *s = t->spec;
    uint32_t at = sw % s->group_size;
    fab_fabric_make_hosts(&t->m, sw, s->hosts, (uint64_t)t->count * s->hosts);
    for (uint32_t to = at + 1; to < s->group_size; to++)
        fab_fabric_make_links(&t->m, sw, s->hosts + (to - 1) * s->parallel + 1, sw + to - at,
                              s->hosts + at * s->parallel + 1, s->parallel);
}

int fab_fabric_generate_dragonfly(const struct fab_dragonfly_spec *spec, struct fab_builder **ret)
{
    struct dragonfly t = {.spec = spec};
    int status = check(&t);
    if (status != FAB_OK)
        return status;
    fab_fabric_make_init(&t.m);
    make_switches(&t);
    for (uint32_t i = 0; i < t.count && t.m.status == FAB_OK; i++)
        connect(&t, i);
    fab_fabric_groups_connect(&t.groups, &t.m, 0, spec->group_size, t.ports - spec->global + 1);
    return fab_fabric_make_finish(&t.m, ret);
}
