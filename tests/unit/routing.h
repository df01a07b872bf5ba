/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions for the tests of addressing, routing, the proof and plans. They make irregular and
 * damaged fabrics, and the tables for a fabric. */
#ifndef TESTS_UNIT_ROUTING_H
#define TESTS_UNIT_ROUTING_H

#include "libfabmgr/address/address.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/make.h"
#include "libfabmgr/route/route.h"
#include "libfabmgr/verify/steps.h"
#include "libfabmgr/verify/verify.h"
#include "tests/unit/fabrics.h"

/* ---- small fabrics by hand: each link takes the next free port of both nodes ----------------- */

#define DRAW_NODES 4096
struct drawing {
    struct maker m;
    uint32_t refs[DRAW_NODES], used[DRAW_NODES], count;
};

static inline struct drawing *draw_new(void)
{
    struct drawing *d = calloc(1, sizeof(*d));
    ck_assert_ptr_nonnull(d);
    fab_fabric_make_init(&d->m);
    return d;
}

/* A drawing is a fabric that a test builds node by node. The draw_ functions add a node or a link
 * to it. draw_node returns the index of the new node. */
static inline uint32_t draw_node(struct drawing *d, uint32_t ref)
{
    ck_assert_uint_lt(d->count, DRAW_NODES);
    d->refs[d->count] = ref;
    return d->count++;
}
static inline uint32_t draw_switch(struct drawing *d, uint32_t ports)
{
    return draw_node(d,
                     fab_fabric_make_switch(&d->m, ports, (struct make_name){"sw", d->count, 4}));
}
static inline void draw_cable(struct drawing *d, uint32_t a, uint32_t b)
{
    uint32_t port_a = ++d->used[a], port_b = ++d->used[b];
    fab_fabric_make_link(&d->m, d->refs[a], port_a, d->refs[b], port_b);
}
static inline void draw_hosts(struct drawing *d, uint32_t sw, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        draw_cable(
            d,
            draw_node(d, fab_fabric_make_host(&d->m, 1, (struct make_name){"host", d->count, 4})),
            sw);
}
static inline void draw_aggregation(struct drawing *d, uint32_t sw)
{
    draw_cable(d, draw_node(d, fab_fabric_make_aggregation(&d->m)), sw);
}
static inline struct fab_fabric *draw_done(struct drawing *d)
{
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_fabric_make_finish(&d->m, &b), FAB_OK);
    free(d);
    return sealed(b);
}

/* Makes a grid of up to three dimensions; size 1 means that a dimension is not used. wrap: true for
 * a torus, false for a mesh. hosts: number at each switch. */
static inline struct fab_fabric *grid(const uint32_t size[3], bool wrap, uint32_t hosts)
{
    struct drawing *d = draw_new();
    uint32_t total = size[0] * size[1] * size[2], step[3] = {1, size[0], size[0] * size[1]};
    for (uint32_t i = 0; i < total; i++)
        draw_switch(d, 10 + hosts);
    for (uint32_t i = 0; i < total; i++) {
        for (unsigned dim = 0; dim < 3; dim++) {
            uint32_t at = i / step[dim] % size[dim];
            if (size[dim] < 2 || (at + 1 == size[dim] && (!wrap || size[dim] == 2)))
                continue;
            uint32_t next = at + 1 == size[dim] ? i - at * step[dim] : i + step[dim];
            draw_cable(d, i, next);
        }
    }
    for (uint32_t i = 0; i < total; i++)
        draw_hosts(d, i, hosts);
    return draw_done(d);
}

/* Makes a tree of two levels with an aggregation node at every switch, and with hosts at leaves and
 * spines. */
static inline struct fab_fabric *modern_tree(uint32_t leaves, uint32_t spines, uint32_t hosts,
                                             uint32_t spine_hosts, uint32_t parallel)
{
    struct drawing *d = draw_new();
    for (uint32_t i = 0; i < leaves + spines; i++)
        draw_switch(d, 200);
    for (uint32_t l = 0; l < leaves; l++) {
        for (uint32_t s = 0; s < spines * parallel; s++)
            draw_cable(d, l, leaves + s / parallel);
    }
    for (uint32_t i = 0; i < leaves + spines; i++) {
        draw_aggregation(d, i);
        draw_hosts(d, i, i < leaves ? hosts : spine_hosts);
    }
    return draw_done(d);
}

static inline struct fab_fabric *fat_tree(uint32_t radix, uint32_t levels, uint32_t taper)
{
    struct fab_builder *b = NULL;
    struct fab_fat_tree_spec spec = {.radix = radix, .levels = levels, .taper = taper};
    ck_assert_int_eq(fab_fabric_generate_fat_tree(&spec, &b), FAB_OK);
    return sealed(b);
}

/* ---- damaged fabrics ------------------------------------------------------------------------- */

/* Frees f. Returns a copy in which each ISL is missing with the probability `cables`, and each
 * switch but the first with the probability `switches`. The copy may be partitioned. */
static inline struct fab_fabric *damaged(struct fab_fabric *f, struct fab_prng *prng, double cables,
                                         double switches)
{
    struct fab_builder *b = fab_fabric_builder_from(f);
    ck_assert_ptr_nonnull(b);
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        uint32_t ref = FAB_NONE;
        ck_assert_int_eq(fab_fabric_builder_find_node(b, f->nodes[sw].guid, &ref), FAB_OK);
        for (unsigned num = 1; num <= f->nodes[sw].num_ports; num++) {
            uint32_t peer = fab_fabric_peer_node(f, fab_fabric_port_id(f, sw, (uint8_t)num));
            if (peer != FAB_NONE && peer > sw && fab_fabric_node_is_switch(f, peer) &&
                fab_base_prng_chance(prng, cables))
                ck_assert_int_eq(fab_fabric_builder_unlink(b, ref, (uint8_t)num), FAB_OK);
        }
    }
    for (uint32_t sw = 1; sw < f->switch_count; sw++) {
        uint32_t ref = FAB_NONE;
        if (fab_base_prng_chance(prng, switches) &&
            fab_fabric_builder_find_node(b, f->nodes[sw].guid, &ref) == FAB_OK)
            ck_assert_int_eq(fab_fabric_builder_remove_node(b, ref), FAB_OK);
    }
    fab_fabric_unref(f);
    return sealed(b);
}

static inline uint64_t new_guid(uint64_t guid, uint64_t salt)
{
    return salt == 0 ? guid : fab_base_mix64(guid * 2 + salt * UINT64_C(0x9e3779b97f4a7c15)) | 1;
}

/* Makes the same fabric as if discovery had found its nodes in another order. If salt is not 0, the
 * nodes also get other GUIDs. */
static inline struct fab_fabric *retold(const struct fab_fabric *f, struct fab_prng *prng,
                                        uint64_t salt)
{
    struct fab_builder *b = fab_fabric_builder_new();
    uint32_t *order = calloc(f->node_count + 1, sizeof(*order));
    uint32_t *refs = calloc(f->node_count + 1, sizeof(*refs));
    for (uint32_t i = 0; i < f->node_count; i++)
        order[i] = i;
    fab_base_prng_shuffle(prng, order, f->node_count);
    for (uint32_t i = 0; i < f->node_count; i++) {
        uint32_t id = order[i];
        const struct fab_node *n = &f->nodes[id];
        struct fab_node_info info = n->info;
        info.node_guid = new_guid(n->guid, salt);
        info.port_guid = new_guid(n->info.port_guid, salt);
        ck_assert_int_eq(fab_fabric_builder_add_node(b, &info, &refs[id]), FAB_OK);
        fab_fabric_builder_set_desc(b, refs[id], n->desc, strlen(n->desc));
        if (fab_fabric_node_is_switch(f, id))
            fab_fabric_builder_set_switch_info(b, refs[id], &f->switches[id]);
        for (unsigned num = 0; num <= n->num_ports; num++) {
            const struct fab_port *p = fab_fabric_port(f, fab_fabric_port_id(f, id, (uint8_t)num));
            uint64_t guid = p->guid != 0 ? new_guid(p->guid, salt) : 0;
            if (p->present)
                ck_assert_int_eq(fab_fabric_builder_set_port(b, refs[id], p->num, guid, &p->info),
                                 FAB_OK);
        }
    }
    fab_base_prng_shuffle(prng, order, f->node_count);
    for (uint32_t i = 0; i < f->node_count; i++) {
        for (unsigned num = f->nodes[order[i]].num_ports; num >= 1; num--) {
            const struct fab_port *p =
                fab_fabric_port(f, fab_fabric_port_id(f, order[i], (uint8_t)num));
            uint32_t ref;
            uint8_t at;
            if (p->peer == FAB_NONE ||
                fab_fabric_builder_peer(b, refs[order[i]], p->num, &ref, &at) == 0)
                continue;
            ck_assert_int_eq(fab_fabric_builder_link(b, refs[order[i]], p->num,
                                                     refs[fab_fabric_port(f, p->peer)->node],
                                                     fab_fabric_port(f, p->peer)->num),
                             FAB_OK);
        }
    }
    free(order);
    free(refs);
    return sealed(b);
}

/* ---- a target -------------------------------------------------------------------------------- */

static inline void assigned_with(const struct fab_fabric *f, const struct fab_policy *p,
                                 const struct fab_lease *leases, size_t lease_count,
                                 struct fab_lids *ret)
{
    struct fab_address_note *notes = NULL;
    size_t count = 0;
    struct fab_address_input in = {
        .fabric = f, .policy = p, .leases = leases, .lease_count = lease_count};
    ck_assert_int_eq(fab_address_assign(&in, ret, &notes, &count), FAB_OK);
    free(notes);
}

static inline void assigned(const struct fab_fabric *f, const struct fab_policy *p,
                            struct fab_lids *ret)
{
    assigned_with(f, p, NULL, 0, ret);
}

static inline struct fab_target *routed_by(const struct fab_fabric *f, const struct fab_policy *p,
                                           const char *engine)
{
    struct fab_target *t = fab_target_new();
    char why[160] = "";
    ck_assert_ptr_nonnull(t);
    assigned(f, p, &t->lids);
    struct fab_route_input in = {.fabric = f, .policy = p, .lids = &t->lids};
    int status = fab_route_engine_by_name(engine)->run(&in, &t->lft, &t->vls, why, sizeof(why));
    ck_assert_msg(status == FAB_OK, "status %d: %s", status, why);
    return t;
}

static inline struct fab_target *routed(const struct fab_fabric *f, const struct fab_policy *p)
{
    return routed_by(f, p, "updn");
}

static inline struct fab_verify_input proof_input(const struct fab_fabric *f,
                                                  const struct fab_target *t, uint32_t max_hops)
{
    return (struct fab_verify_input){
        .fabric = f, .lids = &t->lids, .lft = &t->lft, .vls = &t->vls, .max_hops = max_hops};
}

/* Checks that the proof in steps (libfabmgr/verify/steps.h) gives the same verdict as the proof in
 * a single call. */
static inline void assert_steps_agree(const struct fab_verify_input *in,
                                      const struct fab_verdict *want)
{
    struct fab_verify_steps *steps = NULL;
    struct fab_verdict v;
    ck_assert_int_eq(fab_verify_steps_new(in, &steps), FAB_OK);
    (void)fab_verify_steps_next(steps);
    ck_assert_int_eq(fab_verify_steps_judge(steps, &v), FAB_OK);
    ck_assert_int_eq(v.deadlock_free, want->deadlock_free);
    ck_assert_uint_eq(v.unreachable_pairs, want->unreachable_pairs);
    ck_assert_uint_eq(v.unreachable_host_pairs, want->unreachable_host_pairs);
    ck_assert_uint_eq(v.pairs, want->pairs);
    ck_assert_uint_eq(v.longest_path, want->longest_path);
    ck_assert_uint_eq(v.dependencies, want->dependencies);
    ck_assert_uint_eq(v.beyond, want->beyond);
    ck_assert_int_eq(v.witness.kind, want->witness.kind);
    ck_assert_uint_eq(v.witness.lid, want->witness.lid);
    ck_assert_uint_eq(v.witness.port_count, want->witness.port_count);
    fab_verify_verdict_fini(&v);
    fab_verify_steps_free(steps);
}

static inline struct fab_verdict proven(const struct fab_fabric *f, const struct fab_target *t,
                                        uint32_t max_hops)
{
    struct fab_verdict v;
    struct fab_verify_input in = proof_input(f, t, max_hops);
    ck_assert_int_eq(fab_verify(&in, &v), FAB_OK);
    assert_steps_agree(&in, &v);
    return v;
}

static inline void assert_good(const struct fab_fabric *f, const struct fab_verdict *v,
                               const char *what)
{
    char *text = NULL;
    ck_assert_int_eq(fab_verify_witness_text(f, &v->witness, &text), FAB_OK);
    ck_assert_msg(fab_verify_verdict_good(v) && v->witness.kind == FAB_OK, "%s: %s", what, text);
    free(text);
}

#endif
