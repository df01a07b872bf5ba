/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fabric: what the builder accepts and refuses, copies, partitioned fabrics, differences, and
 * which adapters are aggregation nodes. A snapshot must not depend on the order in which the
 * builder got its nodes and links.
 */
#include "libfabmgr/fabric/fabric.h"

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "tests/unit/fabrics.h"

static uint32_t add(struct fab_builder *b, uint8_t type, uint64_t guid, uint8_t ports)
{
    struct fab_node_info info = {.node_type = type,
                                 .node_guid = guid,
                                 .num_ports = ports,
                                 .port_guid = guid + (type != FAB_NODE_SWITCH),
                                 .local_port = type != FAB_NODE_SWITCH};
    uint32_t ref = FAB_NONE;
    ck_assert_int_eq(fab_fabric_builder_add_node(b, &info, &ref), FAB_OK);
    return ref;
}

/* ---- the builder ----------------------------------------------------------------------------- */

START_TEST(builder_refuses_nonsense)
{
    struct fab_builder *b = fab_fabric_builder_new();
    struct fab_node_info info = {.node_type = FAB_NODE_CA, .node_guid = 7, .num_ports = 1}, bad;
    uint32_t ref = 99;
    bad = info, bad.node_guid = 0;
    ck_assert_int_eq(fab_fabric_builder_add_node(b, &bad, &ref), FAB_E_INVAL);
    bad = info, bad.node_type = 0;
    ck_assert_int_eq(fab_fabric_builder_add_node(b, &bad, &ref), FAB_E_INVAL);
    bad = info, bad.node_type = 4;
    ck_assert_int_eq(fab_fabric_builder_add_node(b, &bad, &ref), FAB_E_INVAL);
    bad = info, bad.num_ports = 0;
    ck_assert_int_eq(fab_fabric_builder_add_node(b, &bad, &ref), FAB_E_INVAL);
    bad = info, bad.num_ports = 255;
    ck_assert_int_eq(fab_fabric_builder_add_node(b, &bad, &ref), FAB_E_INVAL);
    ck_assert_uint_eq(ref, 99);
    ck_assert_uint_eq(fab_fabric_builder_node_count(b), 0);
    fab_fabric_builder_free(b);
}
END_TEST

START_TEST(builder_takes_a_node_again_but_not_its_double)
{
    struct fab_builder *b = fab_fabric_builder_new();
    struct fab_node_info info = {.node_type = FAB_NODE_CA, .node_guid = 7, .num_ports = 2};
    uint32_t ref = 99, again = 98;
    ck_assert_int_eq(fab_fabric_builder_add_node(b, &info, &ref), FAB_OK);
    info.revision = 5;
    ck_assert_int_eq(fab_fabric_builder_add_node(b, &info, &again), FAB_OK);
    ck_assert_uint_eq(ref, again);
    info.num_ports = 1;
    ck_assert_int_eq(fab_fabric_builder_add_node(b, &info, &again), FAB_E_EXISTS);
    info.num_ports = 2;
    info.node_type = FAB_NODE_ROUTER;
    ck_assert_int_eq(fab_fabric_builder_add_node(b, &info, &again), FAB_E_EXISTS);
    ck_assert_uint_eq(fab_fabric_builder_node_count(b), 1);
    ck_assert_int_eq(fab_fabric_builder_find_node(b, 7, &again), FAB_OK);
    ck_assert_uint_eq(ref, again);
    ck_assert_int_eq(fab_fabric_builder_find_node(b, 8, &again), FAB_E_NOT_FOUND);
    struct fab_fabric *f = sealed(b);
    ck_assert_uint_eq(f->nodes[0].info.revision, 5);
    fab_fabric_unref(f);
}
END_TEST

START_TEST(builder_knows_its_ports)
{
    struct fab_builder *b = fab_fabric_builder_new();
    struct fab_port_info info = {.lid = 12};
    uint32_t sw = add(b, FAB_NODE_SWITCH, 1, 8), ca = add(b, FAB_NODE_CA, 2, 1);
    ck_assert_int_eq(fab_fabric_builder_set_port(b, sw, 0, 0, &info), FAB_OK);
    ck_assert_int_eq(fab_fabric_builder_set_port(b, sw, 8, 0, &info), FAB_OK);
    ck_assert_int_eq(fab_fabric_builder_set_port(b, sw, 9, 0, &info), FAB_E_RANGE);
    ck_assert_int_eq(fab_fabric_builder_set_port(b, ca, 0, 0, &info), FAB_E_RANGE);
    ck_assert_int_eq(fab_fabric_builder_set_port(b, 77, 1, 0, &info), FAB_E_RANGE);
    ck_assert_uint_eq(fab_fabric_builder_get_port_info(b, sw, 8)->lid, 12);
    ck_assert_ptr_null(fab_fabric_builder_get_port_info(b, sw, 7));
    ck_assert_ptr_null(fab_fabric_builder_get_port_info(b, sw, 9));
    ck_assert_int_eq(fab_fabric_builder_set_desc(b, 77, "x", 1), FAB_E_INVAL);
    ck_assert_int_eq(fab_fabric_builder_set_switch_info(b, ca, &(struct fab_switch_info){0}),
                     FAB_E_INVAL);
    fab_fabric_builder_free(b);
}
END_TEST

START_TEST(builder_joins_and_parts_cables)
{
    struct fab_builder *b = fab_fabric_builder_new();
    uint32_t x = add(b, FAB_NODE_SWITCH, 1, 4), y = add(b, FAB_NODE_SWITCH, 2, 4), ref = 9;
    uint8_t port = 9;
    ck_assert_int_eq(fab_fabric_builder_link(b, x, 1, y, 2), FAB_OK);
    ck_assert_int_eq(fab_fabric_builder_link(b, y, 2, x, 1),
                     FAB_OK); /* a link that exists already is accepted */
    ck_assert_int_eq(fab_fabric_builder_link(b, x, 1, y, 3), FAB_E_EXISTS);
    ck_assert_int_eq(fab_fabric_builder_link(b, x, 2, y, 2), FAB_E_EXISTS);
    ck_assert_int_eq(fab_fabric_builder_link(b, x, 0, y, 3), FAB_E_INVAL);
    ck_assert_int_eq(fab_fabric_builder_link(b, x, 3, x, 3), FAB_E_INVAL);
    ck_assert_int_eq(fab_fabric_builder_link(b, x, 3, x, 4),
                     FAB_OK); /* a link between two ports of one switch is accepted */
    ck_assert_int_eq(fab_fabric_builder_link(b, x, 5, y, 3), FAB_E_RANGE);
    ck_assert_int_eq(fab_fabric_builder_peer(b, x, 1, &ref, &port), FAB_OK);
    ck_assert_uint_eq(ref, y);
    ck_assert_uint_eq(port, 2);
    ck_assert_int_eq(fab_fabric_builder_peer(b, y, 1, &ref, &port), FAB_E_NOT_FOUND);
    ck_assert_int_eq(fab_fabric_builder_unlink(b, y, 2), FAB_OK);
    ck_assert_int_eq(fab_fabric_builder_unlink(b, y, 2), FAB_OK);
    ck_assert_int_eq(fab_fabric_builder_peer(b, x, 1, &ref, &port), FAB_E_NOT_FOUND);
    struct fab_fabric *f = sealed(b);
    ck_assert_uint_eq(f->link_count, 1);
    assert_sound(f);
    fab_fabric_unref(f);
}
END_TEST

START_TEST(a_removed_node_is_gone_with_its_cables)
{
    struct fab_builder *b = fab_fabric_builder_new();
    uint32_t sw = add(b, FAB_NODE_SWITCH, 1, 4), ca = add(b, FAB_NODE_CA, 2, 1), ref;
    uint8_t port;
    fab_fabric_builder_link(b, sw, 1, ca, 1);
    fab_fabric_builder_set_self(b, ca, 1);
    ck_assert_int_eq(fab_fabric_builder_remove_node(b, ca), FAB_OK);
    ck_assert_int_eq(fab_fabric_builder_remove_node(b, ca), FAB_E_INVAL);
    ck_assert_int_eq(fab_fabric_builder_find_node(b, 2, &ref), FAB_E_NOT_FOUND);
    ck_assert_int_eq(fab_fabric_builder_peer(b, sw, 1, &ref, &port), FAB_E_NOT_FOUND);
    ck_assert_uint_eq(fab_fabric_builder_node_count(b), 1);
    uint32_t back = add(b, FAB_NODE_ROUTER, 2, 2);
    ck_assert_uint_ne(back, ca);
    struct fab_fabric *f = sealed(b);
    ck_assert_uint_eq(f->node_count, 2);
    ck_assert_uint_eq(f->self_port, FAB_NONE);
    ck_assert_uint_eq(f->nodes[1].type, FAB_NODE_ROUTER);
    assert_sound(f);
    fab_fabric_unref(f);
}
END_TEST

START_TEST(a_description_is_cut_at_64_bytes_and_at_a_nul)
{
    struct fab_builder *b = fab_fabric_builder_new();
    char longer[80];
    memset(longer, 'x', sizeof longer);
    fab_fabric_builder_set_desc(b, add(b, FAB_NODE_CA, 1, 1), longer, sizeof longer);
    fab_fabric_builder_set_desc(b, add(b, FAB_NODE_CA, 2, 1), "ab\0cd", 5);
    struct fab_fabric *f = sealed(b);
    ck_assert_uint_eq(strlen(f->nodes[0].desc), 64);
    ck_assert_str_eq(f->nodes[1].desc, "ab");
    fab_fabric_unref(f);
}
END_TEST

START_TEST(an_empty_builder_seals)
{
    struct fab_fabric *f = sealed(fab_fabric_builder_new()), *island = NULL, *clone = NULL;
    struct fab_change *changes = NULL;
    uint32_t dropped = 9;
    size_t count = 9;
    ck_assert_uint_eq(f->node_count, 0);
    ck_assert_uint_eq(fab_fabric_node_by_guid(f, 1), FAB_NONE);
    ck_assert_uint_eq(fab_fabric_port_by_guid(f, 1), FAB_NONE);
    ck_assert_int_eq(fab_fabric_reachable(f, &island, &dropped), FAB_OK);
    ck_assert_uint_eq(dropped, 0);
    ck_assert_int_eq(fab_fabric_clone(f, &clone), FAB_OK);
    ck_assert_int_eq(fab_fabric_diff(f, clone, &changes, &count), FAB_OK);
    ck_assert_uint_eq(count, 0);
    free(changes);
    fab_fabric_unref(f);
    fab_fabric_unref(island);
    fab_fabric_unref(clone);
    fab_fabric_unref(NULL);
    fab_fabric_builder_free(NULL);
}
END_TEST

/* ---- order ----------------------------------------------------------------------------------- */

static void add_port(struct fab_builder *b, uint32_t ref, const struct fab_port *p)
{
    if (p->present)
        ck_assert_int_eq(fab_fabric_builder_set_port(b, ref, p->num, p->guid, &p->info), FAB_OK);
}

/* Adds a node as a discovery does: LocalPortNum and the port GUID in NodeInfo are those of a random
 * port, by which the discovery reached the node. */
static void add_as_found(struct fab_builder *b, const struct fab_fabric *f, uint32_t id,
                         struct fab_prng *prng)
{
    const struct fab_node *n = &f->nodes[id];
    struct fab_node_info info = n->info;
    uint32_t ref;
    info.local_port = (uint8_t)(1 + fab_base_prng_below(prng, n->num_ports));
    if (n->type != FAB_NODE_SWITCH)
        info.port_guid = fab_fabric_port(f, n->first_port + info.local_port)->guid;
    ck_assert_int_eq(fab_fabric_builder_add_node(b, &info, &ref), FAB_OK);
    fab_fabric_builder_set_desc(b, ref, n->desc, strlen(n->desc));
    if (fab_fabric_node_is_switch(f, id))
        fab_fabric_builder_set_switch_info(b, ref, &f->switches[id]);
    for (uint32_t i = 0; i <= n->num_ports; i++) {
        struct fab_port p = *fab_fabric_port(f, n->first_port + i);
        p.info.local_port = info.local_port;
        add_port(b, ref, &p);
    }
}

static void link_as_found(struct fab_builder *b, const struct fab_fabric *f, uint32_t id)
{
    const struct fab_port *p = fab_fabric_port(f, id), *q = fab_fabric_port(f, p->peer);
    uint32_t x, y;
    ck_assert_int_eq(fab_fabric_builder_find_node(b, f->nodes[p->node].guid, &x), FAB_OK);
    ck_assert_int_eq(fab_fabric_builder_find_node(b, f->nodes[q->node].guid, &y), FAB_OK);
    ck_assert_int_eq(fab_fabric_builder_link(b, x, p->num, y, q->num), FAB_OK);
}

static uint32_t *shuffled(uint32_t count, struct fab_prng *prng)
{
    uint32_t *items = calloc(count, sizeof *items);
    for (uint32_t i = 0; i < count; i++)
        items[i] = i;
    fab_base_prng_shuffle(prng, items, count);
    return items;
}

static struct fab_fabric *rebuilt_in_random_order(const struct fab_fabric *f, struct fab_prng *prng)
{
    struct fab_builder *b = fab_fabric_builder_new();
    uint32_t *nodes = shuffled(f->node_count, prng), *ports = shuffled(f->port_count, prng);
    for (uint32_t i = 0; i < f->node_count; i++)
        add_as_found(b, f, nodes[i], prng);
    for (uint32_t i = 0; i < f->port_count; i++)
        if (fab_fabric_port(f, ports[i])->peer != FAB_NONE)
            link_as_found(b, f, ports[i]);
    free(nodes);
    free(ports);
    return sealed(b);
}

START_TEST(a_snapshot_says_nothing_of_the_order)
{
    uint64_t seed = test_seed("order", 20 + (uint64_t)_i);
    struct fab_prng prng;
    fab_base_prng_init(&prng, seed);
    struct fab_fabric *f = random_fabric(1 + (uint32_t)_i * 7, 5, 4, seed);
    struct fab_fabric *g = rebuilt_in_random_order(f, &prng);
    struct fab_fabric *same = sealed(fab_fabric_builder_from(f));
    assert_sound(f);
    assert_same_fabric(f, g);
    assert_same_fabric(f, same);
    for (uint32_t port = 0; port < f->port_count; port++)
        ck_assert_int_eq(fab_fabric_port_is_of_switch(f, port),
                         fab_fabric_node_is_switch(f, fab_fabric_port(f, port)->node));
    ck_assert(!fab_fabric_port_is_of_switch(f, f->port_count));
    fab_fabric_unref(f);
    fab_fabric_unref(g);
    fab_fabric_unref(same);
}
END_TEST

/* ---- using ----------------------------------------------------------------------------------- */

START_TEST(ports_are_found_by_guid)
{
    struct fab_fabric *f = random_fabric(9, 4, 5, 3);
    for (uint32_t i = 0; i < f->port_count; i++)
        if (fab_fabric_port(f, i)->guid != 0)
            ck_assert_uint_eq(fab_fabric_port_by_guid(f, fab_fabric_port(f, i)->guid), i);
    ck_assert_uint_eq(fab_fabric_port_by_guid(f, 0), FAB_NONE);
    ck_assert_uint_eq(fab_fabric_port_by_guid(f, 12345), FAB_NONE);
    fab_fabric_unref(f);
}
END_TEST

START_TEST(the_first_of_two_ports_with_one_guid_has_it)
{
    struct fab_builder *b = fab_fabric_builder_new();
    struct fab_port_info info = {0};
    uint32_t y = add(b, FAB_NODE_CA, 20, 1), x = add(b, FAB_NODE_CA, 10, 1);
    fab_fabric_builder_set_port(b, y, 1, 0x77, &info);
    fab_fabric_builder_set_port(b, x, 1, 0x77, &info);
    struct fab_fabric *f = sealed(b);
    ck_assert_uint_eq(fab_fabric_port(f, fab_fabric_port_by_guid(f, 0x77))->node, 0);
    fab_fabric_unref(f);
}
END_TEST

START_TEST(who_has_a_lid_and_which_cable_is_up)
{
    struct fab_fabric *f = leaf_spine(2, 1, 2), *clone = NULL;
    uint32_t host = fab_fabric_port_id(f, f->switch_count, 1), leaf = fab_fabric_port_id(f, 0, 0);
    ck_assert(fab_fabric_port_has_lid(f, leaf));
    ck_assert(!fab_fabric_port_has_lid(f, leaf + 1));
    ck_assert(fab_fabric_port_has_lid(f, host));
    ck_assert(!fab_fabric_port_has_lid(f, host - 1));
    ck_assert(fab_fabric_port_is_up(f, host));
    ck_assert(fab_fabric_port_is_up(f, fab_fabric_port(f, host)->peer));
    ck_assert(!fab_fabric_port_is_up(f, leaf));
    ck_assert_int_eq(fab_fabric_clone(f, &clone), FAB_OK);
    fab_fabric_edit_port(clone, host)->info.phys_state = FAB_PHYS_POLLING;
    ck_assert(!fab_fabric_port_is_up(clone, fab_fabric_port(clone, host)->peer));
    /* a change of the copy does not change the original */
    ck_assert(fab_fabric_port_is_up(f, host));
    ck_assert_uint_eq(fab_fabric_port_by_guid(clone, fab_fabric_port(f, host)->guid), host);
    fab_fabric_unref(clone);
    fab_fabric_unref(f);
}
END_TEST

START_TEST(versions_share_what_does_not_change)
{
    struct fab_fabric *f = leaf_spine(8, 4, 8), *next = NULL, *later = NULL;
    uint32_t isl = fab_fabric_port_id(f, 0, 1), peer = fab_fabric_port(f, isl)->peer;
    struct fab_port_info info = fab_fabric_port(f, 0)->info;
    ck_assert(peer != FAB_NONE);
    ck_assert_int_eq(fab_fabric_next(f, &next), FAB_OK);
    ck_assert_ptr_eq(next->nodes, f->nodes);
    ck_assert_ptr_eq(fab_fabric_port(next, isl), fab_fabric_port(f, isl));
    ck_assert_int_eq(fab_fabric_remove_link(next, isl), FAB_OK);
    info.sm_lid = 77;
    ck_assert_int_eq(fab_fabric_next(next, &later), FAB_OK);
    ck_assert_int_eq(fab_fabric_set_port_info(later, 0, &info), FAB_OK);
    ck_assert_uint_eq(fab_fabric_port(f, isl)->peer, peer);
    ck_assert_uint_eq(next->link_count + 1, f->link_count);
    fab_fabric_unref(f);
    ck_assert_uint_eq(fab_fabric_port(next, isl)->peer, FAB_NONE);
    ck_assert_uint_ne(fab_fabric_port(next, 0)->info.sm_lid, 77);
    fab_fabric_unref(next);
    ck_assert_uint_eq(fab_fabric_port(later, peer)->peer, FAB_NONE);
    ck_assert_uint_eq(fab_fabric_port(later, 0)->info.sm_lid, 77);
    ck_assert_uint_eq(fab_fabric_node_by_guid(later, later->nodes[3].guid), 3);
    fab_fabric_unref(later);
}
END_TEST

START_TEST(nodes_with_the_same_links_are_found)
{
    struct fab_fabric *f = leaf_spine(8, 4, 40), *other = leaf_spine(8, 4, 40), *next = NULL,
                      *wider = leaf_spine(8, 4, 41);
    uint32_t isl = fab_fabric_port_id(f, 1, 41), peer = fab_fabric_port(f, isl)->peer;
    uint32_t ends[2] = {1, fab_fabric_port(f, peer)->node};
    ck_assert(!fab_fabric_same_ids(f, wider));
    ck_assert(fab_fabric_same_ids(f, other));
    ck_assert_int_eq(fab_fabric_next(f, &next), FAB_OK);
    ck_assert_int_eq(fab_fabric_remove_link(next, isl), FAB_OK);
    ck_assert(fab_fabric_same_ids(f, next));
    for (uint32_t node = 0; node < f->node_count; node++) {
        bool end = node == ends[0] || node == ends[1];
        ck_assert(fab_fabric_same_links(f, other, node));
        ck_assert_int_eq(fab_fabric_same_links(f, next, node), !end);
        ck_assert_int_eq(fab_fabric_same_links(other, next, node), !end);
    }
    fab_fabric_unref(next);
    /* the ports of node 1 begin in the first page and end in the second one */
    ck_assert_uint_lt(f->nodes[1].first_port, FAB_PORT_PAGE);
    ck_assert_uint_ge(f->nodes[1].first_port + f->nodes[1].num_ports, FAB_PORT_PAGE);
    ck_assert_int_eq(fab_fabric_next(f, &next), FAB_OK);
    fab_fabric_edit_port(next, f->nodes[1].first_port + f->nodes[1].num_ports)->info.phys_state =
        FAB_PHYS_POLLING;
    for (uint32_t node = 0; node < f->node_count; node++)
        ck_assert_int_eq(fab_fabric_same_links(f, next, node), node != 1);
    fab_fabric_unref(next);
    fab_fabric_unref(wider);
    fab_fabric_unref(other);
    fab_fabric_unref(f);
}
END_TEST

START_TEST(the_last_reference_frees)
{
    struct fab_fabric *f = leaf_spine(2, 1, 2), *held = fab_fabric_ref(f);
    ck_assert_ptr_eq(f, held);
    fab_fabric_unref(f);
    ck_assert_uint_eq(held->switch_count, 3);
    fab_fabric_unref(held);
}
END_TEST

START_TEST(an_island_is_what_cables_reach)
{
    struct fab_builder *b = fab_fabric_builder_new();
    uint32_t s1 = add(b, FAB_NODE_SWITCH, 10, 4), s2 = add(b, FAB_NODE_SWITCH, 20, 4),
             h1 = add(b, FAB_NODE_CA, 30, 1), h2 = add(b, FAB_NODE_CA, 40, 1), dropped = 9;
    fab_fabric_builder_link(b, s1, 1, h2, 1);
    fab_fabric_builder_link(b, s2, 1, h1, 1);
    struct fab_fabric *all = NULL, *f = NULL, *island = NULL;
    ck_assert_int_eq(fab_fabric_builder_seal(b, &all), FAB_OK);
    ck_assert_int_eq(fab_fabric_reachable(all, &island, &dropped), FAB_OK);
    ck_assert_uint_eq(dropped, 0);
    ck_assert_ptr_eq(island, all);
    fab_fabric_unref(island);
    fab_fabric_builder_set_self(b, h2, 1);
    f = sealed(b);
    ck_assert_int_eq(fab_fabric_reachable(f, &island, &dropped), FAB_OK);
    ck_assert_uint_eq(dropped, 2);
    ck_assert_uint_eq(island->node_count, 2);
    ck_assert_uint_eq(island->nodes[0].guid, 10);
    ck_assert_uint_eq(island->nodes[1].guid, 40);
    ck_assert_uint_eq(island->self_port, fab_fabric_port_id(island, 1, 1));
    assert_sound(island);
    fab_fabric_unref(island);
    fab_fabric_unref(f);
    fab_fabric_unref(all);
}
END_TEST

/* ---- differences ----------------------------------------------------------------------------- */

static void assert_changes(const struct fab_fabric *old, const struct fab_fabric *now,
                           const struct fab_change *want, size_t want_count)
{
    struct fab_change *got = NULL;
    size_t count = 99;
    ck_assert_int_eq(fab_fabric_diff(old, now, &got, &count), FAB_OK);
    ck_assert_uint_eq(count, want_count);
    for (size_t i = 0; i < count; i++) {
        ck_assert_int_eq(got[i].kind, want[i].kind);
        ck_assert_uint_eq(got[i].guid_a, want[i].guid_a);
        ck_assert_uint_eq(got[i].guid_b, want[i].guid_b);
        ck_assert_uint_eq(got[i].port_a, want[i].port_a);
        ck_assert_uint_eq(got[i].port_b, want[i].port_b);
    }
    free(got);
}

/* Makes two connected switches, and a host at the second one. */
static struct fab_builder *small(void)
{
    struct fab_builder *b = fab_fabric_builder_new();
    uint32_t s1 = add(b, FAB_NODE_SWITCH, 10, 4), s2 = add(b, FAB_NODE_SWITCH, 20, 4),
             h = add(b, FAB_NODE_CA, 30, 1);
    struct fab_port_info up = {.port_state = FAB_STATE_ACTIVE, .phys_state = FAB_PHYS_LINKUP};
    fab_fabric_builder_set_port(b, h, 1, 31, &up);
    fab_fabric_builder_link(b, s1, 1, s2, 2);
    fab_fabric_builder_link(b, s2, 4, h, 1);
    return b;
}

START_TEST(nothing_differs_from_itself)
{
    struct fab_fabric *f = random_fabric(12, 4, 3, 8), *g = NULL;
    ck_assert_int_eq(fab_fabric_clone(f, &g), FAB_OK);
    assert_changes(f, g, NULL, 0);
    fab_fabric_unref(f);
    fab_fabric_unref(g);
}
END_TEST

START_TEST(a_moved_cable_a_new_name_a_state)
{
    struct fab_fabric *old = sealed(small());
    struct fab_builder *b = small();
    uint32_t s1, s2, h;
    fab_fabric_builder_find_node(b, 10, &s1);
    fab_fabric_builder_find_node(b, 20, &s2);
    fab_fabric_builder_find_node(b, 30, &h);
    fab_fabric_builder_unlink(b, s1, 1);
    fab_fabric_builder_link(b, s1, 3, s2, 2);
    fab_fabric_builder_set_desc(b, h, "new", 3);
    fab_fabric_builder_set_port(
        b, h, 1, 31,
        &(struct fab_port_info){.port_state = FAB_STATE_INIT, .phys_state = FAB_PHYS_LINKUP});
    struct fab_fabric *now = sealed(b);
    const struct fab_change want[] = {{FAB_CHANGE_NODE_RENAMED, 30, 0, 0, 0},
                                      {FAB_CHANGE_LINK_ADDED, 10, 20, 3, 2},
                                      {FAB_CHANGE_LINK_REMOVED, 10, 20, 1, 2},
                                      {FAB_CHANGE_PORT_STATE, 30, 0, 1, 0}};
    assert_changes(old, now, want, 4);
    fab_fabric_unref(old);
    fab_fabric_unref(now);
}
END_TEST

START_TEST(nodes_come_and_go_with_their_cables)
{
    struct fab_fabric *old = sealed(small());
    struct fab_builder *b = small();
    uint32_t h, s1;
    fab_fabric_builder_find_node(b, 30, &h);
    fab_fabric_builder_find_node(b, 10, &s1);
    fab_fabric_builder_remove_node(b, h);
    fab_fabric_builder_link(b, s1, 2, add(b, FAB_NODE_CA, 5, 1), 1);
    struct fab_fabric *now = sealed(b);
    const struct fab_change want[] = {{FAB_CHANGE_NODE_ADDED, 5, 0, 0, 0},
                                      {FAB_CHANGE_NODE_REMOVED, 30, 0, 0, 0},
                                      {FAB_CHANGE_LINK_ADDED, 5, 10, 1, 2},
                                      {FAB_CHANGE_LINK_REMOVED, 20, 30, 4, 1}};
    assert_changes(old, now, want, 4);
    fab_fabric_unref(old);
    fab_fabric_unref(now);
}
END_TEST

START_TEST(another_device_behind_a_guid_is_another_node)
{
    struct fab_fabric *old = sealed(small());
    struct fab_builder *b = small();
    uint32_t h;
    fab_fabric_builder_find_node(b, 30, &h);
    fab_fabric_builder_remove_node(b, h);
    add(b, FAB_NODE_ROUTER, 30, 1);
    struct fab_fabric *now = sealed(b);
    const struct fab_change want[] = {{FAB_CHANGE_NODE_ADDED, 30, 0, 0, 0},
                                      {FAB_CHANGE_NODE_REMOVED, 30, 0, 0, 0},
                                      {FAB_CHANGE_LINK_REMOVED, 20, 30, 4, 1}};
    assert_changes(old, now, want, 3);
    fab_fabric_unref(old);
    fab_fabric_unref(now);
}
END_TEST

/* ---- aggregation nodes ----------------------------------------------------------------------- */

static const struct {
    uint8_t type;
    uint32_t vendor;
    uint16_t device;
    const char *desc;
    bool aggregation;
} kinds[] = {
    {FAB_NODE_CA, 0x2c9, 0xcf09, "", true},
    {FAB_NODE_CA, 0x2c9, 0xcf09, "renamed", true},
    {FAB_NODE_CA, 0x2c9, 0, "Mellanox Technologies Aggregation Node", true},
    {FAB_NODE_CA, 0, 0, "Quantum Aggregation Node", true},
    {FAB_NODE_CA, 0x8f1, 0xcf09, "other vendor", false},
    {FAB_NODE_CA, 0x2c9, 0x1017, "host-0001 HCA-1", false},
    {FAB_NODE_CA, 0x2c9, 0x1017, "Aggregation Node test-01", false},
    {FAB_NODE_CA, 0x2c9, 0x1017, "", false},
    {FAB_NODE_SWITCH, 0x2c9, 0xcf09, "Quantum Aggregation Node", false},
    {FAB_NODE_ROUTER, 0x2c9, 0xcf09, "", false},
};

START_TEST(aggregation_nodes_are_marked)
{
    struct fab_node_info info = {.node_guid = 1,
                                 .num_ports = 1,
                                 .node_type = kinds[_i].type,
                                 .vendor_id = kinds[_i].vendor,
                                 .device_id = kinds[_i].device};
    struct fab_builder *b = fab_fabric_builder_new();
    uint32_t ref;
    ck_assert_int_eq(fab_fabric_builder_add_node(b, &info, &ref), FAB_OK);
    fab_fabric_builder_set_desc(b, ref, kinds[_i].desc, strlen(kinds[_i].desc));
    struct fab_fabric *f = sealed(b);
    ck_assert_int_eq(f->nodes[0].aggregation, kinds[_i].aggregation);
    fab_fabric_unref(f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fabric");
    TCase *builder = tcase_create("builder"), *order = tcase_create("order"),
          *use = tcase_create("use"), *diff = tcase_create("diff");
    tcase_add_test(builder, builder_refuses_nonsense);
    tcase_add_test(builder, builder_takes_a_node_again_but_not_its_double);
    tcase_add_test(builder, builder_knows_its_ports);
    tcase_add_test(builder, builder_joins_and_parts_cables);
    tcase_add_test(builder, a_removed_node_is_gone_with_its_cables);
    tcase_add_test(builder, a_description_is_cut_at_64_bytes_and_at_a_nul);
    tcase_add_test(builder, an_empty_builder_seals);
    tcase_add_loop_test(order, a_snapshot_says_nothing_of_the_order, 0, 12);
    tcase_add_test(use, ports_are_found_by_guid);
    tcase_add_test(use, the_first_of_two_ports_with_one_guid_has_it);
    tcase_add_test(use, who_has_a_lid_and_which_cable_is_up);
    tcase_add_test(use, versions_share_what_does_not_change);
    tcase_add_test(use, nodes_with_the_same_links_are_found);
    tcase_add_test(use, the_last_reference_frees);
    tcase_add_test(use, an_island_is_what_cables_reach);
    tcase_add_loop_test(use, aggregation_nodes_are_marked, 0, sizeof kinds / sizeof *kinds);
    tcase_add_test(diff, nothing_differs_from_itself);
    tcase_add_test(diff, a_moved_cable_a_new_name_a_state);
    tcase_add_test(diff, nodes_come_and_go_with_their_cables);
    tcase_add_test(diff, another_device_behind_a_guid_is_another_node);
    suite_add_tcase(suite, builder);
    suite_add_tcase(suite, order);
    suite_add_tcase(suite, use);
    suite_add_tcase(suite, diff);
    return test_run(suite);
}
