/* SPDX-License-Identifier: BSD-3-Clause */
/* Discovery of a simulated fabric in tests: the fabric that was built, the expected result, and the
 * comparison of two fabrics. */
#ifndef TESTS_UNIT_DISCOVER_BENCH_H
#define TESTS_UNIT_DISCOVER_BENCH_H

#include "libfabmgr/base/status.h"
#include "libfabmgr/discover/discover.h"
#include "libfabmgr/fabric/generate.h"
#include "tests/support/drive.h"
#include "tests/unit/testing.h"

/* ---- fabrics --------------------------------------------------------------------------------- */

struct bench {
    struct fab_fabric *built, *expected, *found;
    struct fab_builder *builder;
    struct drive r;
};

/* Returns the fabric that discovery must find. It is the built fabric without the ports of adapters
 * that have no link, because discovery cannot find these. */
static inline struct fab_fabric *expect(struct fab_builder *b, const struct fab_fabric *built,
                                        const struct drive *r)
{
    struct fab_fabric *expected = NULL, *island = NULL;
    uint32_t ref, dropped;
    for (uint32_t p = 0; p < built->port_count; p++) {
        const struct fab_port *port = fab_fabric_port(built, p);
        if (fab_fabric_node_is_switch(built, port->node) || port->num == 0 ||
            port->peer != FAB_NONE)
            continue;
        ck_assert_int_eq(fab_fabric_builder_find_node(b, built->nodes[port->node].guid, &ref),
                         FAB_OK);
        if (port->node != r->node || port->num != r->port)
            fab_fabric_builder_forget_port(b, ref, port->num);
    }
    ck_assert_int_eq(fab_fabric_builder_find_node(b, built->nodes[r->node].guid, &ref), FAB_OK);
    fab_fabric_builder_set_self(b, ref, r->port);
    ck_assert_int_eq(fab_fabric_builder_seal(b, &expected), FAB_OK);
    ck_assert_int_eq(fab_fabric_reachable(expected, &island, &dropped), FAB_OK);
    fab_fabric_unref(expected);
    return island;
}

static inline struct bench bench_new(struct fab_builder *b, uint64_t seed)
{
    struct bench x = {.builder = b};
    ck_assert_int_eq(fab_fabric_builder_seal(b, &x.built), FAB_OK);
    ck_assert_int_eq(fab_sim_new(x.built, seed, &x.r.sim), FAB_OK);
    x.r.seed = seed;
    drive_sit(&x.r);
    x.expected = expect(b, x.built, &x.r);
    return x;
}

static inline void bench_free(struct bench *x)
{
    fab_sim_free(x->r.sim);
    fab_fabric_unref(x->built);
    fab_fabric_unref(x->expected);
    fab_fabric_unref(x->found);
    fab_fabric_builder_free(x->builder);
}

static inline struct fab_builder *leaf_spine(uint32_t leaves, uint32_t spines, uint32_t hosts,
                                             uint32_t parallel)
{
    struct fab_leaf_spine_spec spec = {
        .leaves = leaves, .spines = spines, .hosts_per_leaf = hosts, .parallel = parallel};
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_fabric_generate_leaf_spine(&spec, &b), FAB_OK);
    return b;
}

static inline struct fab_builder *fat_tree(uint32_t radix, uint32_t levels)
{
    struct fab_fat_tree_spec spec = {.radix = radix, .levels = levels, .taper = 1};
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_fabric_generate_fat_tree(&spec, &b), FAB_OK);
    return b;
}

static inline struct fab_builder *random_fabric(uint32_t switches, uint64_t seed)
{
    struct fab_random_spec spec = {
        .switches = switches, .degree = 4, .hosts_per_switch = 2, .seed = seed};
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_fabric_generate_random(&spec, &b), FAB_OK);
    return b;
}

/* ---- equality -------------------------------------------------------------------------------- */

static inline void same_node(const struct fab_node *a, const struct fab_node *b)
{
    const struct fab_field *field =
        fab_wire_attr_diff(&fab_wire_attr_node_info, &a->info, &b->info);
    ck_assert_uint_eq(a->guid, b->guid);
    ck_assert_uint_eq(a->first_port, b->first_port);
    ck_assert_uint_eq(a->num_ports, b->num_ports);
    ck_assert_uint_eq(a->type, b->type);
    ck_assert_uint_eq(a->aggregation, b->aggregation);
    ck_assert_str_eq(a->desc, b->desc);
    ck_assert_msg(field == NULL, "%s: NodeInfo.%s differs", a->desc, field ? field->name : "");
}

static inline void same_port(const struct fab_fabric *f, const struct fab_port *a,
                             const struct fab_port *b)
{
    const char *name = f->nodes[a->node].desc;
    const struct fab_field *field =
        fab_wire_attr_diff(&fab_wire_attr_port_info, &a->info, &b->info);
    ck_assert_uint_eq(a->node, b->node);
    ck_assert_uint_eq(a->num, b->num);
    ck_assert_msg(a->peer == b->peer, "%s port %u: peers %u and %u", name, a->num, a->peer,
                  b->peer);
    ck_assert_msg(a->present == b->present, "%s port %u: present %d and %d", name, a->num,
                  a->present, b->present);
    ck_assert_msg(a->guid == b->guid, "%s port %u: GUIDs differ", name, a->num);
    ck_assert_msg(field == NULL, "%s port %u: PortInfo.%s differs", name, a->num,
                  field ? field->name : "");
}

static inline void same_fabric(const struct fab_fabric *a, const struct fab_fabric *b)
{
    ck_assert_uint_eq(a->node_count, b->node_count);
    ck_assert_uint_eq(a->switch_count, b->switch_count);
    ck_assert_uint_eq(a->port_count, b->port_count);
    ck_assert_uint_eq(a->link_count, b->link_count);
    ck_assert_uint_eq(a->self_port, b->self_port);
    for (uint32_t n = 0; n < a->node_count; n++)
        same_node(&a->nodes[n], &b->nodes[n]);
    for (uint32_t p = 0; p < a->port_count; p++)
        same_port(a, fab_fabric_port(a, p), fab_fabric_port(b, p));
    for (uint32_t s = 0; s < a->switch_count; s++)
        ck_assert_ptr_null(
            fab_wire_attr_diff(&fab_wire_attr_switch_info, &a->switches[s], &b->switches[s]));
}

#endif
