/* SPDX-License-Identifier: BSD-3-Clause */
/* Generates Dragonfly+ fabrics. The leaves have the first references in the builder, group by
 * group; the spines follow. The first ports of a leaf lead to its hosts; the others lead to the
 * spines of its group, `parallel` ports to each. The first ports of a spine lead to the leaves of
 * its group; the others lead to other groups (groups.c). */
#include <stdio.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/groups.h"

struct plus {
    struct maker m;
    const struct fab_dragonfly_plus_spec *spec;
    struct groups groups;
    /* Numbers of leaves and spines of all groups together. */
    uint32_t leaves, spines;
};

static int check(struct plus *t)
{
    const struct fab_dragonfly_plus_spec *s = t->spec;
    t->groups = (struct groups){s->groups, s->spines, s->global, 0};
    int status = fab_fabric_groups_init(&t->groups);
    if (status != FAB_OK)
        return status;
    if (s->parallel == 0 || s->parallel > 254 || s->leaves == 0 || s->leaves > 254 ||
        s->hosts > 254 || s->hosts + s->spines * s->parallel > 254 ||
        s->leaves * s->parallel + s->global > 254)
        return FAB_E_RANGE;
    t->leaves = t->groups.count * s->leaves;
    t->spines = t->groups.count * s->spines;
    if ((uint64_t)t->leaves * (s->hosts + 1) + t->spines > MAKE_NODE_LIMIT)
        return FAB_E_RANGE;
    return FAB_OK;
}

static void make_rank(struct plus *t, const char *stem, uint32_t a_group, uint32_t ports)
{
    char desc[FAB_NODE_DESC_LEN + 1];
    for (uint32_t i = 0; i < t->groups.count * a_group && t->m.status == FAB_OK; i++) {
        snprintf(desc, sizeof desc, "group%0*u-%s-%0*u",
                 (int)fab_fabric_make_width(t->groups.count, 2), i / a_group + 1, stem,
                 (int)fab_fabric_make_width(a_group, 2), i % a_group + 1);
        fab_fabric_make_switch_named(&t->m, ports, desc);
    }
}

static void connect_leaf(struct plus *t, uint32_t leaf)
{
    const struct fab_dragonfly_plus_spec *s = t->spec;
    uint32_t group = leaf / s->leaves, at = leaf % s->leaves;
    fab_fabric_make_hosts(&t->m, leaf, s->hosts, (uint64_t)t->leaves * s->hosts);
    for (uint32_t i = 0; i < s->spines; i++)
        fab_fabric_make_links(&t->m, leaf, s->hosts + i * s->parallel + 1,
                              t->leaves + group * s->spines + i, at * s->parallel + 1, s->parallel);
}

int fab_fabric_generate_dragonfly_plus(const struct fab_dragonfly_plus_spec *spec,
                                       struct fab_builder **ret)
{
    struct plus t = {.spec = spec};
    int status = check(&t);
    if (status != FAB_OK)
        return status;
    fab_fabric_make_init(&t.m);
    make_rank(&t, "leaf", spec->leaves, spec->hosts + spec->spines * spec->parallel);
    make_rank(&t, "spine", spec->spines, spec->leaves * spec->parallel + spec->global);
    for (uint32_t i = 0; i < t.leaves && t.m.status == FAB_OK; i++)
        connect_leaf(&t, i);
    fab_fabric_groups_connect(&t.groups, &t.m, t.leaves, spec->spines,
                              spec->leaves * spec->parallel + 1);
    return fab_fabric_make_finish(&t.m, ret);
}
