/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Generates leaf-spine fabrics. Each leaf has its hosts at its first ports, then `parallel` uplinks
 * to each spine in ascending order. Port i * parallel + k of a spine, for k = 1..parallel, leads to
 * leaf i.
 */
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/make.h"

struct leaf_spine {
    struct maker m;
    const struct fab_leaf_spine_spec *spec;
    uint32_t leaf_ports, spine_ports, host_width;
};

static int check(struct leaf_spine *t)
{
    const struct fab_leaf_spine_spec *s = t->spec;
    if (s->leaves == 0 || s->parallel == 0 || s->spines > 254 || s->hosts_per_leaf > 254 ||
        s->parallel > 254 || s->radix > 254 || s->leaves > MAKE_NODE_LIMIT / 256)
        return FAB_E_RANGE;
    t->leaf_ports = s->hosts_per_leaf + s->spines * s->parallel;
    t->spine_ports = s->spines > 0 ? s->leaves * s->parallel : 0;
    uint32_t room = s->radix > 0 ? s->radix : 254;
    if (t->leaf_ports == 0 || t->leaf_ports > room || t->spine_ports > room ||
        (s->spines == 0 && s->leaves > 1))
        return FAB_E_RANGE;
    if (s->radix > 0)
        t->leaf_ports = t->spine_ports = s->radix;
    t->host_width = fab_fabric_make_width((uint64_t)s->leaves * s->hosts_per_leaf, 4);
    return FAB_OK;
}

/* Adds the switches. The leaves get the references 0 to leaves - 1 in the builder, and the spines
 * the references that follow. */
static void make_switches(struct leaf_spine *t)
{
    const struct fab_leaf_spine_spec *s = t->spec;
    for (uint32_t i = 0; i < s->leaves; i++)
        fab_fabric_make_switch(
            &t->m, t->leaf_ports,
            (struct make_name){"leaf", i + 1, fab_fabric_make_width(s->leaves, 3)});
    for (uint32_t i = 0; i < s->spines; i++)
        fab_fabric_make_switch(
            &t->m, t->spine_ports,
            (struct make_name){"spine", i + 1, fab_fabric_make_width(s->spines, 3)});
}

static void connect_leaf(struct leaf_spine *t, uint32_t leaf)
{
    const struct fab_leaf_spine_spec *s = t->spec;
    for (uint32_t i = 0; i < s->hosts_per_leaf; i++) {
        uint32_t number = leaf * s->hosts_per_leaf + i + 1;
        uint32_t host =
            fab_fabric_make_host(&t->m, 1, (struct make_name){"host", number, t->host_width});
        fab_fabric_make_link(&t->m, leaf, i + 1, host, 1);
    }
    for (uint32_t i = 0; i < s->spines; i++)
        for (uint32_t k = 0; k < s->parallel; k++)
            fab_fabric_make_link(&t->m, leaf, s->hosts_per_leaf + i * s->parallel + k + 1,
                                 s->leaves + i, leaf * s->parallel + k + 1);
}

int fab_fabric_generate_leaf_spine(const struct fab_leaf_spine_spec *spec, struct fab_builder **ret)
{
    struct leaf_spine t = {.spec = spec};
    int status = check(&t);
    if (status != FAB_OK)
        return status;
    fab_fabric_make_init(&t.m);
    make_switches(&t);
    for (uint32_t i = 0; i < spec->leaves && t.m.status == FAB_OK; i++)
        connect_leaf(&t, i);
    return fab_fabric_make_finish(&t.m, ret);
}
