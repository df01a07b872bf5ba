/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of unit tests that read fabrics from text, seal them, and compare them field by field.
 */
#ifndef TESTS_UNIT_FABRICS_H
#define TESTS_UNIT_FABRICS_H

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/fabric/generate.h"
#include "libfabmgr/fabric/text.h"
#include "tests/unit/testing.h"

#include <string.h>

/* Seals the builder into a fabric, and frees the builder. */
static inline struct fab_fabric *sealed(struct fab_builder *b)
{
    struct fab_fabric *f = NULL;
    ck_assert_int_eq(fab_fabric_builder_seal(b, &f), 0);
    fab_fabric_builder_free(b);
    return f;
}

static inline struct fab_fabric *random_fabric(uint32_t switches, uint32_t degree, uint32_t hosts,
                                               uint64_t seed)
{
    struct fab_random_spec spec = {switches, degree, hosts, seed};
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_fabric_generate_random(&spec, &b), 0);
    return sealed(b);
}

static inline struct fab_fabric *leaf_spine(uint32_t leaves, uint32_t spines, uint32_t hosts)
{
    struct fab_leaf_spine_spec spec = {
        .leaves = leaves, .spines = spines, .hosts_per_leaf = hosts, .parallel = 1};
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_fabric_generate_leaf_spine(&spec, &b), 0);
    return sealed(b);
}

/* Reads a topology file, which must be valid. */
static inline struct fab_fabric *read_fabric(const char *text, size_t len)
{
    struct fab_builder *b = NULL;
    struct fab_text_error e;
    int status = fab_fabric_text_read(text, len, &b, &e);
    ck_assert_msg(status == 0, "status %d at %u:%u: %s", status, e.line, e.column, e.message);
    return sealed(b);
}

static inline void assert_same_attr(const struct fab_attr *a, const void *x, const void *y,
                                    uint32_t id)
{
    const struct fab_field *field = fab_wire_attr_diff(a, x, y);
    ck_assert_msg(field == NULL, "%s of %u differs in %s", a->name, id,
                  field != NULL ? field->name : "");
}

static inline void assert_same_port(const struct fab_port *x, const struct fab_port *y, uint32_t id)
{
    ck_assert_uint_eq(x->node, y->node);
    ck_assert_uint_eq(x->peer, y->peer);
    ck_assert_uint_eq(x->num, y->num);
    ck_assert_int_eq(x->present, y->present);
    ck_assert_uint_eq(x->guid, y->guid);
    assert_same_attr(&fab_wire_attr_port_info, &x->info, &y->info, id);
}

static inline void assert_same_node(const struct fab_node *x, const struct fab_node *y, uint32_t id)
{
    ck_assert_uint_eq(x->first_port, y->first_port);
    ck_assert_uint_eq(x->num_ports, y->num_ports);
    ck_assert_uint_eq(x->type, y->type);
    ck_assert_int_eq(x->aggregation, y->aggregation);
    ck_assert_uint_eq(x->guid, y->guid);
    ck_assert_str_eq(x->desc, y->desc);
    assert_same_attr(&fab_wire_attr_node_info, &x->info, &y->info, id);
}

static inline void assert_same_fabric(const struct fab_fabric *x, const struct fab_fabric *y)
{
    ck_assert_uint_eq(x->node_count, y->node_count);
    ck_assert_uint_eq(x->switch_count, y->switch_count);
    ck_assert_uint_eq(x->port_count, y->port_count);
    ck_assert_uint_eq(x->link_count, y->link_count);
    ck_assert_uint_eq(x->self_port, y->self_port);
    for (uint32_t i = 0; i < x->node_count; i++)
        assert_same_node(&x->nodes[i], &y->nodes[i], i);
    for (uint32_t i = 0; i < x->port_count; i++)
        assert_same_port(fab_fabric_port(x, i), fab_fabric_port(y, i), i);
    for (uint32_t i = 0; i < x->switch_count; i++)
        assert_same_attr(&fab_wire_attr_switch_info, &x->switches[i], &y->switches[i], i);
}

/* Checks what must hold for every snapshot: for example, that links lead back, and that nodes are
 * sorted. */
static inline void assert_sound(const struct fab_fabric *f)
{
    uint32_t links = 0, next = 0;
    for (uint32_t n = 0; n < f->node_count; n++) {
        const struct fab_node *node = &f->nodes[n];
        ck_assert_int_eq(node->type == FAB_NODE_SWITCH, n < f->switch_count);
        ck_assert(n == 0 || n == f->switch_count || f->nodes[n - 1].guid < node->guid);
        ck_assert_uint_eq(node->first_port, next);
        ck_assert_uint_eq(fab_fabric_node_by_guid(f, node->guid), n);
        for (uint32_t i = 0; i <= node->num_ports; i++) {
            const struct fab_port *p = fab_fabric_port(f, next + i);
            ck_assert_uint_eq(p->node, n);
            ck_assert_uint_eq(p->num, i);
            if (p->peer != FAB_NONE)
                ck_assert_uint_eq(fab_fabric_port(f, p->peer)->peer, next + i);
            links += p->peer != FAB_NONE && p->peer > next + i;
        }
        next += node->num_ports + 1u;
    }
    ck_assert_uint_eq(next, f->port_count);
    ck_assert_uint_eq(links, f->link_count);
}

#endif
