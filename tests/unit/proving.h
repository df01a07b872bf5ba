/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks that the tables of an engine pass the proof, for the fabric without faults and with each
 * single fault. */
#ifndef TESTS_UNIT_PROVING_H
#define TESTS_UNIT_PROVING_H

#include "libfabmgr/study/quality.h"
#include "tests/unit/verify_vls.h"

struct made {
    struct fab_fabric *f;
    struct fab_target *t;
    int status;
    char why[200];
};

/* Makes the tables of this engine for the fabric f, and takes over f. lane_sets: number of traffic
 * classes, each with VLs of its own. */
static inline struct made made_for_classes(const char *engine, struct fab_fabric *f,
                                           uint8_t lane_sets)
{
    struct made m = {.f = f, .t = fab_target_new()};
    struct fab_policy p;
    fab_policy_defaults(&p);
    p.lane_sets = lane_sets;
    assigned(f, &p, &m.t->lids);
    struct fab_route_input in = {.fabric = f, .policy = &p, .lids = &m.t->lids};
    m.status =
        fab_route_engine_by_name(engine)->run(&in, &m.t->lft, &m.t->vls, m.why, sizeof(m.why));
    fab_policy_fini(&p);
    return m;
}

static inline struct made made_by(const char *engine, struct fab_fabric *f)
{
    return made_for_classes(engine, f, 1);
}

static inline void made_fini(struct made *m)
{
    fab_target_unref(m->t);
    fab_fabric_unref(m->f);
}

/* Returns the greatest link load of all-to-all traffic, divided by the mean load. */
static inline double imbalance(const struct made *m)
{
    struct fab_quality q;
    const struct fab_quality_input in = {.fabric = m->f, .lids = &m->t->lids, .lft = &m->t->lft};
    ck_assert_int_eq(fab_study_quality_measure(&in, &q), FAB_OK);
    return fab_study_quality_imbalance(&q);
}

static inline struct fab_verdict judged(const struct made *m)
{
    struct fab_verdict v;
    struct fab_policy p;
    fab_policy_defaults(&p);
    struct fab_verify_input in = {.fabric = m->f,
                                  .lids = &m->t->lids,
                                  .lft = &m->t->lft,
                                  .max_hops = 255,
                                  .vls = &m->t->vls,
                                  .policy = &p};
    ck_assert_int_eq(fab_verify(&in, &v), FAB_OK);
    fab_policy_fini(&p);
    return v;
}

static inline void assert_proven(const struct made *m, const char *what)
{
    ck_assert_msg(m->status == FAB_OK, "%s: %d %s", what, m->status, m->why);
    struct fab_verdict v = judged(m);
    assert_good(m->f, &v, what);
    fab_verify_verdict_fini(&v);
}

static inline void whole(const char *engine, struct fab_fabric *f, const char *expect,
                         const char *what)
{
    struct made m = made_by(engine, f);
    assert_proven(&m, what);
    if (expect != NULL)
        ck_assert_str_eq(m.why, expect);
    made_fini(&m);
}

/* ---- faults ---------------------------------------------------------------------------------- */

static inline bool is_trunk(const struct fab_fabric *f, uint32_t port)
{
    return fab_fabric_port(f, port)->node < f->switch_count && naive_is_channel(f, port);
}

/* Returns a copy of f without the link of `port`. Does not free f. */
static inline struct fab_fabric *without_cable(const struct fab_fabric *f, uint32_t port)
{
    struct fab_builder *b = fab_fabric_builder_from(f);
    uint32_t ref;
    ck_assert_int_eq(
        fab_fabric_builder_find_node(b, f->nodes[fab_fabric_port(f, port)->node].guid, &ref),
        FAB_OK);
    ck_assert_int_eq(fab_fabric_builder_unlink(b, ref, fab_fabric_port(f, port)->num), FAB_OK);
    return sealed(b);
}

/* Returns a copy of f without the switch `sw` and its endports. */
static inline struct fab_fabric *without_switch(const struct fab_fabric *f, uint32_t sw)
{
    struct fab_builder *b = fab_fabric_builder_from(f);
    uint32_t ref;
    for (unsigned num = 1; num <= f->nodes[sw].num_ports; num++) {
        uint32_t peer = fab_fabric_peer_node(f, fab_fabric_port_id(f, sw, (uint8_t)num));
        if (peer == FAB_NONE || fab_fabric_node_is_switch(f, peer))
            continue;
        ck_assert_int_eq(fab_fabric_builder_find_node(b, f->nodes[peer].guid, &ref), FAB_OK);
        ck_assert_int_eq(fab_fabric_builder_remove_node(b, ref), FAB_OK);
    }
    ck_assert_int_eq(fab_fabric_builder_find_node(b, f->nodes[sw].guid, &ref), FAB_OK);
    ck_assert_int_eq(fab_fabric_builder_remove_node(b, ref), FAB_OK);
    return sealed(b);
}

/* Returns the number of pairs of switches for which the SL of packets differs between the VLs of
 * `before` and of `now`. */
static inline uint64_t changed_sls(const struct made *before, const struct made *now)
{
    uint64_t changed = 0;
    for (uint32_t to = 0; to < now->f->switch_count; to++) {
        uint32_t old_to = fab_fabric_node_by_guid(before->f, now->f->nodes[to].guid);
        for (uint32_t from = 0; from < now->f->switch_count; from++) {
            uint32_t old_from = fab_fabric_node_by_guid(before->f, now->f->nodes[from].guid);
            changed += fab_target_vls_sl(&now->t->vls, from, to, 0) !=
                       fab_target_vls_sl(&before->t->vls, old_from, old_to, 0);
        }
    }
    return changed;
}

/* Returns true if all links that are left have the same SL-to-VL tables as in `before`. */
static inline bool same_lanes(const struct made *before, const struct made *now)
{
    const struct fab_vls *a = &before->t->vls, *b = &now->t->vls;
    if (fab_target_vls_count(a) != fab_target_vls_count(b) ||
        (fab_target_vls_multiple(a) && memcmp(a->vl, b->vl, sizeof(a->vl)) != 0))
        return false;
    for (uint32_t sw = 0; sw < now->f->switch_count; sw++) {
        uint32_t old = fab_fabric_node_by_guid(before->f, now->f->nodes[sw].guid);
        for (unsigned num = 1; num <= now->f->nodes[sw].num_ports; num++) {
            uint32_t port = fab_fabric_port_id(now->f, sw, (uint8_t)num);
            if (is_trunk(now->f, port) &&
                fab_target_vls_port_class(b, port) !=
                    fab_target_vls_port_class(a, fab_fabric_port_id(before->f, old, (uint8_t)num)))
                return false;
        }
    }
    return true;
}

/* What a test has counted over many faults. */
struct tally {
    unsigned tried, refused, unproven;
    unsigned changed;  /* faults after which the engine gave some path another SL */
    unsigned remapped; /* faults that changed SL-to-VL tables */
};

static inline void try_one(struct tally *tally, const char *engine, const struct made *before,
                           struct fab_fabric *f)
{
    struct made m = made_by(engine, f);
    tally->tried++;
    if (m.status == FAB_OK) {
        struct fab_verdict v = judged(&m);
        tally->unproven += !fab_verify_verdict_good(&v);
        tally->changed += changed_sls(before, &m) != 0;
        tally->remapped += !same_lanes(before, &m);
        fab_verify_verdict_fini(&v);
    } else {
        ck_assert_int_eq(m.status, FAB_E_UNSUPPORTED);
        ck_assert_str_ne(m.why, "");
        tally->refused++;
    }
    made_fini(&m);
}

static inline void say(const struct tally *t, const char *what, const char *faults)
{
    printf("# %s, %u %s: %u refused, %u not proven, SLs changed by %u, SL-to-VL tables by %u\n",
           what, t->tried, faults, t->refused, t->unproven, t->changed, t->remapped);
    fflush(stdout);
}

static inline struct tally cable_faults(const char *engine, const struct made *before,
                                        const char *what)
{
    struct tally t = {0};
    for (uint32_t port = 0; port < before->f->port_count; port++) {
        if (is_trunk(before->f, port) && fab_fabric_port(before->f, port)->peer > port)
            try_one(&t, engine, before, without_cable(before->f, port));
    }
    say(&t, what, "cables");
    return t;
}

static inline struct tally switch_faults(const char *engine, const struct made *before,
                                         const char *what)
{
    struct tally t = {0};
    for (uint32_t sw = 0; sw < before->f->switch_count; sw++)
        try_one(&t, engine, before, without_switch(before->f, sw));
    say(&t, what, "switches");
    return t;
}

/* Frees f. Lets each link and each switch fail alone. Each time, the engine must route the fabric,
 * and its tables must pass the proof. A failed link must not change any SL or SL-to-VL table. At
 * most one switch may change SLs by its failure. */
static inline void survives(const char *engine, struct fab_fabric *f, const char *what)
{
    struct made before = made_by(engine, f);
    assert_proven(&before, what);
    struct tally cables = cable_faults(engine, &before, what);
    struct tally switches = switch_faults(engine, &before, what);
    ck_assert_uint_eq(cables.refused + cables.unproven + cables.changed + cables.remapped, 0);
    ck_assert_uint_eq(switches.refused + switches.unproven, 0);
    ck_assert_uint_le(switches.changed, 1);
    made_fini(&before);
}

/* Frees f. Lets each switch fail. The engine must route all these fabrics, but may change SLs. */
static inline void survives_switches(const char *engine, struct fab_fabric *f, const char *what)
{
    struct made before = made_by(engine, f);
    struct tally switches = switch_faults(engine, &before, what);
    ck_assert_uint_eq(switches.refused + switches.unproven, 0);
    made_fini(&before);
}

/* Frees f. Lets each link fail. The engine must route all these fabrics without a change of SLs or
 * SL-to-VL tables. */
static inline void survives_cables(const char *engine, struct fab_fabric *f, const char *what)
{
    struct made before = made_by(engine, f);
    assert_proven(&before, what);
    struct tally cables = cable_faults(engine, &before, what);
    ck_assert_uint_eq(cables.refused + cables.unproven + cables.changed + cables.remapped, 0);
    made_fini(&before);
}

/* Returns a copy of f without some random links and switches. Does not free f. */
static inline struct fab_fabric *with_faults(const struct fab_fabric *f, struct fab_prng *prng,
                                             unsigned cables, unsigned switches)
{
    struct fab_fabric *now = fab_fabric_ref(f);
    while (cables + switches > 0) {
        struct fab_fabric *less;
        if (switches > 0) {
            less = without_switch(now, (uint32_t)fab_base_prng_below(prng, now->switch_count));
            switches--;
        } else {
            uint32_t port;
            do
                port = (uint32_t)fab_base_prng_below(prng, now->port_count);
            while (!is_trunk(now, port));
            less = without_cable(now, port);
            cables--;
        }
        fab_fabric_unref(now);
        now = less;
    }
    return now;
}

/* Frees f. Lets several links and switches fail at once, `rounds` times. Each time, the engine must
 * either route the fabric or refuse it with a reason. In at most `odd` percent of the rounds, the
 * tables may fail the proof. */
static inline void mostly_survives(const char *engine, struct fab_fabric *f, struct fab_prng *prng,
                                   unsigned rounds, unsigned odd, const char *what)
{
    struct made before = made_by(engine, f);
    struct tally t = {0};
    for (unsigned i = 0; i < rounds; i++) {
        unsigned switches = i % 3 == 0;
        struct fab_fabric *less = with_faults(f, prng, i % 4 + 1 - switches, switches);
        try_one(&t, engine, &before, less);
    }
    say(&t, what, "sets of faults");
    ck_assert_uint_le(t.unproven * 100, odd * rounds);
    made_fini(&before);
}

/* Frees f. Checks that the engine makes the same tables and VLs if discovery finds the nodes in
 * another order. */
static inline void is_told_in_any_order(const char *engine, struct fab_fabric *f,
                                        struct fab_prng *prng)
{
    struct made a = made_by(engine, f), b = made_by(engine, retold(f, prng, 0));
    ck_assert_int_eq(a.status, FAB_OK);
    ck_assert_int_eq(b.status, FAB_OK);
    ck_assert_mem_eq(a.t->lft.entries, b.t->lft.entries, a.t->lft.switch_count * a.t->lft.stride);
    ck_assert_uint_eq(a.t->vls.count, b.t->vls.count);
    ck_assert_mem_eq(a.t->vls.vl, b.t->vls.vl, sizeof(a.t->vls.vl));
    if (a.t->vls.of_pair != NULL)
        ck_assert_mem_eq(a.t->vls.of_pair, b.t->vls.of_pair,
                         (size_t)a.t->vls.switches * a.t->vls.switches);
    if (a.t->vls.port_class != NULL)
        ck_assert_mem_eq(a.t->vls.port_class, b.t->vls.port_class, a.t->vls.ports);
    made_fini(&a);
    made_fini(&b);
}

/* Frees f. Gives the switches other GUIDs, which leads to other coordinates in the grid, and checks
 * that the tables still pass the proof. */
static inline void bears_other_guids(const char *engine, struct fab_fabric *f,
                                     struct fab_prng *prng, const char *what)
{
    for (uint64_t salt = 1; salt <= 3; salt++) {
        struct made m = made_by(engine, retold(f, prng, salt));
        assert_proven(&m, what);
        made_fini(&m);
    }
    fab_fabric_unref(f);
}

static inline void is_refused(const char *engine, struct fab_fabric *f, const char *reason)
{
    struct made m = made_by(engine, f);
    ck_assert_int_eq(m.status, FAB_E_UNSUPPORTED);
    ck_assert_str_eq(m.why, reason);
    made_fini(&m);
}

#endif
