/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The proof with several VLs, compared with a second, simple proof on random fabrics with random VL
 * tables. For each kind of fault, a test also makes such tables by hand, on rings of switches, and
 * checks the witness.
 */
#include "tests/unit/dealing_pool.h"
#include "tests/unit/verify_vls.h"

static struct fab_policy defaults(void)
{
    struct fab_policy p;
    fab_policy_defaults(&p);
    return p;
}

static struct fab_verdict proven_with(const struct fab_fabric *f, const struct fab_target *t,
                                      const struct fab_policy *p)
{
    struct fab_verdict v;
    struct fab_verify_input in = {
        .fabric = f, .lids = &t->lids, .lft = &t->lft, .vls = &t->vls, .policy = p, .max_hops = 64};
    ck_assert_int_eq(fab_verify(&in, &v), FAB_OK);
    assert_steps_agree(&in, &v);
    return v;
}

static void fill(struct fab_prng *prng, uint8_t *byte, size_t count, uint8_t limit)
{
    for (size_t i = 0; i < count; i++)
        byte[i] = (uint8_t)fab_base_prng_below(prng, limit);
}

/* ---- agreement ------------------------------------------------------------------------------- */

static void random_classes(const struct fab_fabric *f, struct fab_vls *v, struct fab_prng *prng)
{
    v->classes = (uint8_t)(2 + fab_base_prng_below(prng, 3));
    ck_assert_int_eq(fab_target_vls_by_class(v, f->port_count), FAB_OK);
    fill(prng, v->port_class, f->port_count, v->classes);
    for (uint32_t port = 0; port < f->port_count; port++) {
        if (!naive_is_channel(f, port))
            v->port_class[port] = 0;
    }
}

static void random_lanes(const struct fab_fabric *f, struct fab_target *t, struct fab_prng *prng)
{
    struct fab_vls *v = &t->vls;
    unsigned kind = (unsigned)fab_base_prng_below(prng, 8);
    fab_target_vls_fini(v);
    fab_target_vls_init(v, (uint8_t)(2 + fab_base_prng_below(prng, 3)));
    v->sls = (uint8_t)(1 + fab_base_prng_below(prng, FAB_SLS));
    for (unsigned i = 0; i < FAB_VL_CLASSES * FAB_VL_CLASSES; i++)
        fill(prng, v->vl[i / FAB_VL_CLASSES][i % FAB_VL_CLASSES], FAB_SLS, v->count);
    if (kind & 1) {
        ck_assert_int_eq(fab_target_vls_by_lid(v, t->lids.top), FAB_OK);
        fill(prng, v->of_lid, t->lids.top + 1, v->sls);
    }
    if (kind & 2) {
        ck_assert_int_eq(fab_target_vls_by_pair(v, f->switch_count), FAB_OK);
        fill(prng, v->of_pair, f->switch_count * f->switch_count, v->sls);
    }
    if (kind & 4)
        random_classes(f, v, prng);
}

/* Gives some random ports only 1 to 3 VLs. */
static void weaken(struct fab_fabric *f, struct fab_prng *prng)
{
    for (uint32_t port = 0; port < f->port_count; port++) {
        if (fab_base_prng_below(prng, 6) == 0)
            fab_fabric_edit_port(f, port)->info.vl_cap =
                (uint8_t)(1 + fab_base_prng_below(prng, 3));
    }
}

static void assert_witness(const struct naive_vls *n, const struct fab_verdict *v)
{
    const struct fab_witness *w = &v->witness;
    char *text = NULL;
    ck_assert_int_eq(fab_verify_verdict_good(v), w->kind == FAB_OK);
    ck_assert_int_eq(fab_verify_witness_text(n->f, w, &text), FAB_OK);
    if (w->kind == FAB_E_CYCLE) {
        ck_assert_ptr_nonnull(w->vls);
        for (uint32_t i = 0; i < w->port_count; i++) {
            uint32_t k = (i + 1) % w->port_count;
            size_t from = w->ports[i] * 16u + w->vls[i], to = w->ports[k] * 16u + w->vls[k];
            ck_assert(n->depends[from * n->size + to]);
        }
        ck_assert_ptr_nonnull(strstr(text, ", VL "));
    }
    if (w->kind == FAB_E_LIMIT && w->src == FAB_NONE) {
        const uint32_t used = n->used[w->ports[0]];
        ck_assert_uint_eq(used >> w->need, 0);
        ck_assert_uint_ne(used >> (w->need - 1), 0);
        ck_assert_ptr_nonnull(strstr(text, "too few VLs"));
    }
    free(text);
}

static void break_entries(const struct fab_fabric *f, struct fab_target *t, struct fab_prng *prng)
{
    for (unsigned i = 0; i < 6; i++) {
        uint32_t sw = (uint32_t)fab_base_prng_below(prng, f->switch_count);
        uint32_t lid = (uint32_t)fab_base_prng_below(prng, t->lids.top + 1);
        fab_target_lft_row(&t->lft, sw)[lid] =
            (uint8_t)fab_base_prng_below(prng, f->nodes[sw].num_ports + 2u);
    }
}

START_TEST(agrees_with_the_naive_proof)
{
    struct fab_prng prng;
    unsigned good = 0, cyclic = 0, beyond = 0;
    fab_base_prng_init(&prng, test_seed("lanes", 21));
    for (unsigned i = 0; i < 400; i++) {
        uint32_t switches = 2 + (uint32_t)fab_base_prng_below(&prng, 7);
        uint32_t degree = 2 + (uint32_t)fab_base_prng_below(&prng, 3);
        struct fab_fabric *f = random_fabric(switches, degree, i % 3, fab_base_prng_next(&prng));
        struct fab_policy p = defaults();
        if (i % 4 == 0)
            f = damaged(f, &prng, 0.15, 0.1);
        p.lmc = i % 5 == 0 ? 1 : 0;
        struct fab_target *t = routed(f, &p);
        random_lanes(f, t, &prng);
        if (i % 4 == 1)
            weaken(f, &prng);
        if (i % 3 != 0)
            break_entries(f, t, &prng);
        struct naive_vls n = naive_vls(f, t, &p);
        struct fab_verdict v = proven_with(f, t, &p);
        ck_assert_int_eq(v.deadlock_free, !n.cyclic);
        ck_assert_uint_eq(v.dependencies, n.dependencies);
        ck_assert_uint_eq(v.beyond, n.beyond);
        assert_witness(&n, &v);
        good += fab_verify_verdict_good(&v);
        cyclic += n.cyclic;
        beyond += n.beyond > 0;
        naive_vls_fini(&n);
        fab_verify_verdict_fini(&v);
        fab_target_unref(t);
        fab_fabric_unref(f);
    }
    printf("# %u good, %u cyclic, %u beyond\n", good, cyclic, beyond);
    ck_assert_uint_gt(good, 30);
    ck_assert_uint_gt(cyclic, 20);
    ck_assert_uint_gt(beyond, 20);
}
END_TEST

/* Both proofs agree about tables of engines, on fabrics for which the engines need several VLs. */
START_TEST(agrees_about_engines)
{
    struct fab_prng prng;
    unsigned many = 0;
    fab_base_prng_init(&prng, test_seed("engines", 22));
    for (unsigned i = 0; i < 120; i++) {
        static const char *const names[] = {"torus", "dfsssp", "nue"};
        uint32_t size[3] = {3 + i % 3, i % 2 ? 3 : 1, 1};
        struct fab_fabric *f = i % 4 == 0 ? random_fabric(9, 3, 1, fab_base_prng_next(&prng))
                                          : damaged(grid(size, true, 1), &prng, 0.04, 0);
        struct fab_policy p = defaults();
        struct fab_target *t = fab_target_new();
        char why[200] = "";
        assigned(f, &p, &t->lids);
        struct fab_route_input in = {.fabric = f, .policy = &p, .lids = &t->lids};
        int status =
            fab_route_engine_by_name(names[i % 3])->run(&in, &t->lft, &t->vls, why, sizeof(why));
        ck_assert(status == FAB_OK || status == FAB_E_UNSUPPORTED);
        if (status == FAB_OK && fab_target_vls_multiple(&t->vls)) {
            struct naive_vls n = naive_vls(f, t, &p);
            struct fab_verdict v = proven_with(f, t, &p);
            ck_assert(!n.cyclic);
            ck_assert_uint_eq(v.dependencies, n.dependencies);
            assert_good(f, &v, names[i % 3]);
            naive_vls_fini(&n);
            fab_verify_verdict_fini(&v);
            many++;
        }
        fab_target_unref(t);
        fab_fabric_unref(f);
    }
    printf("# %u with several lanes\n", many);
    ck_assert_uint_gt(many, 30);
}
END_TEST

/* ---- rings ----------------------------------------------------------------------------------- */

#define RING 6
#define RING_MOST 6
/* A ring of switches, which are numbered by their position in it. */
struct ring {
    struct fab_fabric *f;
    struct fab_target *t;
    struct fab_policy p;
    uint32_t n;
    /* ids of the ports from each position to the next one, and to the one before */
    uint32_t on[RING_MOST], back[RING_MOST];
    /* place[switch id] is a position, and at[position] is a switch id */
    uint32_t place[RING_MOST], at[RING_MOST];
};

static uint32_t neighbour(const struct fab_fabric *f, uint32_t sw, uint32_t not, uint32_t *ret_port)
{
    for (unsigned num = 1; num <= f->nodes[sw].num_ports; num++) {
        uint32_t port = fab_fabric_port_id(f, sw, (uint8_t)num),
                 peer = fab_fabric_peer_node(f, port);
        if (naive_is_channel(f, port) && peer != not ) {
            *ret_port = port;
            return peer;
        }
    }
    return FAB_NONE;
}

static void follow_ring(struct ring *r)
{
    uint32_t sw = 0, last = FAB_NONE, port = 0;
    for (uint32_t i = 0; i < r->n; i++) {
        uint32_t next = neighbour(r->f, sw, last, &port);
        r->at[i] = sw;
        r->place[sw] = i;
        r->on[i] = port;
        r->back[(i + 1) % r->n] = fab_fabric_port(r->f, port)->peer;
        last = sw;
        sw = next;
    }
    ck_assert_uint_eq(sw, 0);
}

/* Routes packets by the shortest path round the ring; if both directions are equally long, forward
 * (to higher positions). Paths over the link between the last position and position 0 have SL 1,
 * all others SL 0. */
static void route_ring(struct ring *r)
{
    struct fab_vls *v = &r->t->vls;
    ck_assert_int_eq(fab_target_lft_init(&r->t->lft, r->n, r->t->lids.top), FAB_OK);
    fab_target_vls_init(v, 2);
    ck_assert_int_eq(fab_target_vls_by_pair(v, r->n), FAB_OK);
    for (uint32_t lid = 1; lid <= r->t->lids.top; lid++) {
        uint32_t owner = r->t->lids.owner[lid], to = naive_switch_of(r->f, owner);
        uint32_t q = r->place[to];
        for (uint32_t i = 0; i < r->n; i++) {
            bool on = (q + r->n - i) % r->n <= r->n / 2;
            uint32_t port = on ? r->on[i] : r->back[i];
            if (i == q)
                port = fab_fabric_port(r->f, owner)->num == 0 ? owner
                                                              : fab_fabric_port(r->f, owner)->peer;
            fab_target_lft_row(&r->t->lft, r->at[i])[lid] = fab_fabric_port(r->f, port)->num;
            v->of_pair[to * r->n + r->at[i]] = on ? q < i : q > i;
        }
    }
}

/* Makes the tables of a ring on f. Takes over f. */
static struct ring ring_of(struct fab_fabric *f)
{
    struct ring r = {.n = f->switch_count, .f = f, .t = fab_target_new(), .p = defaults()};
    assigned(r.f, &r.p, &r.t->lids);
    follow_ring(&r);
    route_ring(&r);
    return r;
}

static struct ring make_ring(uint32_t n)
{
    const uint32_t size[3] = {n, 1, 1};
    return ring_of(grid(size, true, 2));
}

static void ring_free(struct ring *r)
{
    fab_target_unref(r->t);
    fab_fabric_unref(r->f);
}

/* Checks that the proof finds a cycle, and that it goes round the whole ring on this VL. */
static void assert_cycle(const struct ring *r, uint8_t vl)
{
    struct fab_verdict v = proven_with(r->f, r->t, &r->p);
    ck_assert_int_eq(v.witness.kind, FAB_E_CYCLE);
    ck_assert(!v.deadlock_free && !fab_verify_verdict_good(&v));
    ck_assert_uint_eq(v.unreachable_pairs, 0);
    ck_assert_uint_eq(v.witness.port_count, r->n);
    for (uint32_t i = 0; i < r->n; i++)
        ck_assert_uint_eq(v.witness.vls[i], vl);
    fab_verify_verdict_fini(&v);
}

static void assert_ring_good(const struct ring *r)
{
    struct fab_verdict v = proven_with(r->f, r->t, &r->p);
    assert_good(r->f, &v, "ring");
    fab_verify_verdict_fini(&v);
}

START_TEST(a_dateline_makes_a_ring_safe)
{
    struct ring r = make_ring(RING);
    assert_ring_good(&r);
    r.t->vls.count = 1; /* all packets use one VL now */
    struct fab_verdict v = proven_with(r.f, r.t, &r.p);
    ck_assert_int_eq(v.witness.kind, FAB_E_CYCLE);
    ck_assert_ptr_null(v.witness.vls);
    fab_verify_verdict_fini(&v);
    ring_free(&r);
}
END_TEST

/* The proof stores dependencies in words of 64 bits, with one bit for each port. So the links of
 * this ring are at ports above 62, 126 or 190. */
START_TEST(links_at_high_ports_count)
{
    for (uint32_t hosts = 62; hosts <= 190; hosts += 64) {
        struct drawing *d = draw_new();
        for (uint32_t i = 0; i < RING; i++)
            draw_switch(d, 200);
        for (uint32_t i = 0; i < RING; i++)
            d->used[i] = hosts;
        for (uint32_t i = 0; i < RING; i++)
            draw_cable(d, i, (i + 1) % RING);
        for (uint32_t i = 0; i < RING; i++)
            d->used[i] = 0;
        for (uint32_t i = 0; i < RING; i++)
            draw_hosts(d, i, 2);
        struct ring r = ring_of(draw_done(d));
        assert_ring_good(&r);
        r.t->vls.vl[0][0][1] = 0;
        assert_cycle(&r, 0);
        r.t->vls.vl[0][0][0] = r.t->vls.vl[0][0][1] = 1;
        assert_cycle(&r, 1);
        r.t->vls.count = 1;
        struct fab_verdict v = proven_with(r.f, r.t, &r.p);
        ck_assert_int_eq(v.witness.kind, FAB_E_CYCLE);
        ck_assert_uint_eq(v.witness.port_count, RING);
        fab_verify_verdict_fini(&v);
        ring_free(&r);
    }
}
END_TEST

START_TEST(a_wrong_mapping_is_a_cycle_on_its_lane)
{
    struct ring r = make_ring(RING);
    r.t->vls.vl[0][0][1] = 0;
    assert_cycle(&r, 0);
    r.t->vls.vl[0][0][0] = r.t->vls.vl[0][0][1] = 1;
    assert_cycle(&r, 1);
    ring_free(&r);
}
END_TEST

START_TEST(one_wrong_path_is_enough)
{
    struct ring r = make_ring(RING);
    /* This path of RING / 2 hops starts at the last position but one, so it uses the link from the
     * last position to position 0. It gets SL 0 in place of SL 1. */
    uint32_t from = r.at[RING - 2], to = r.at[(RING - 2 + RING / 2) % RING];
    r.t->vls.of_pair[to * RING + from] = 0;
    struct fab_verdict v = proven_with(r.f, r.t, &r.p);
    struct naive_vls n = naive_vls(r.f, r.t, &r.p);
    ck_assert_int_eq(v.deadlock_free, !n.cyclic);
    ck_assert_uint_eq(v.dependencies, n.dependencies);
    naive_vls_fini(&n);
    fab_verify_verdict_fini(&v);
    ring_free(&r);
}
END_TEST

/* Lets packets that enter a switch by `port` continue on VL 1. Paths in a ring of four switches
 * have at most two links. If `port` is where forward packets enter position 0, there is no cycle,
 * because on VL 1 they go only to the next switch. */
static void by_class(struct ring *r, uint32_t port)
{
    struct fab_vls *v = &r->t->vls;
    fab_target_vls_fini(v);
    fab_target_vls_init(v, 2);
    v->sls = 1;
    v->classes = 2;
    ck_assert_int_eq(fab_target_vls_by_class(v, r->f->port_count), FAB_OK);
    v->port_class[port] = 1;
    v->vl[1][0][0] = v->vl[1][1][0] = 1;
}

START_TEST(a_class_at_the_wrong_port_is_a_cycle)
{
    struct ring r = make_ring(4);
    /* the port where forward packets enter position 0 */
    by_class(&r, r.back[0]);
    assert_ring_good(&r);
    /* the port where packets in the other direction enter position 3; their paths end there */
    by_class(&r, r.on[3]);
    assert_cycle(&r, 0);
    ring_free(&r);
}
END_TEST

/* ---- devices --------------------------------------------------------------------------------- */

START_TEST(too_few_vls_at_one_port_are_reported)
{
    struct ring r = make_ring(RING);
    char *text = NULL;
    /* the link between the last position and position 0, where paths need VL 1 */
    fab_fabric_edit_port(r.f, r.back[0])->info.vl_cap = 1;
    struct fab_verdict v = proven_with(r.f, r.t, &r.p);
    ck_assert(v.deadlock_free && !fab_verify_verdict_good(&v));
    ck_assert_uint_eq(v.beyond, 2);
    ck_assert_int_eq(v.witness.kind, FAB_E_LIMIT);
    ck_assert_uint_eq(v.witness.port_count, 1);
    ck_assert(v.witness.ports[0] == r.back[0] || v.witness.ports[0] == r.on[RING - 1]);
    ck_assert_uint_eq(v.witness.need, 2);
    ck_assert_uint_eq(v.witness.have, 1);
    ck_assert_int_eq(fab_verify_witness_text(r.f, &v.witness, &text), FAB_OK);
    ck_assert_ptr_nonnull(strstr(text, "packets take VL 1"));
    ck_assert_ptr_nonnull(
        strstr(text, r.f->nodes[fab_fabric_port(r.f, v.witness.ports[0])->node].desc));
    free(text);
    fab_verify_verdict_fini(&v);
    ring_free(&r);
}
END_TEST

START_TEST(cables_that_nobody_takes_by_a_lane_need_it_not)
{
    struct ring r = make_ring(RING);
    for (uint32_t i = 0; i < r.f->port_count; i++) {
        if (!naive_is_channel(r.f, i))
            /* no path needs VL 1 at an endport */
            fab_fabric_edit_port(r.f, i)->info.vl_cap = 1;
    }
    /* this link is half way round the ring, so no path uses it after the link between the last
     * position and position 0 */
    fab_fabric_edit_port(r.f, r.on[RING / 2 - 1])->info.vl_cap = 1;
    struct naive_vls n = naive_vls(r.f, r.t, &r.p);
    struct fab_verdict v = proven_with(r.f, r.t, &r.p);
    ck_assert_uint_eq(v.beyond, n.beyond);
    naive_vls_fini(&n);
    fab_verify_verdict_fini(&v);
    r.p.max_op_vls = 1;
    v = proven_with(r.f, r.t, &r.p);
    ck_assert_uint_gt(v.beyond, 2);
    fab_verify_verdict_fini(&v);
    ring_free(&r);
}
END_TEST

/* Each switch in turn has a table with one entry less than the LIDs need. */
START_TEST(a_table_that_is_too_small_is_told)
{
    struct fab_fabric *f = leaf_spine(3, 2, 3);
    struct fab_policy p = defaults();
    struct fab_target *t = routed(f, &p);
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        const uint16_t whole = f->switches[sw].linear_fdb_cap;
        f->switches[sw].linear_fdb_cap = (uint16_t)t->lids.top;
        struct fab_verdict v = proven_with(f, t, &p);
        char *text = NULL;
        ck_assert(!fab_verify_verdict_good(&v));
        ck_assert_uint_eq(v.beyond, 1);
        ck_assert_int_eq(v.witness.kind, FAB_E_LIMIT);
        ck_assert_uint_eq(v.witness.ports[0], fab_fabric_port_id(f, sw, 0));
        ck_assert_int_eq(fab_verify_witness_text(f, &v.witness, &text), FAB_OK);
        ck_assert_ptr_nonnull(strstr(text, "table too small"));
        free(text);
        fab_verify_verdict_fini(&v);
        f->switches[sw].linear_fdb_cap = (uint16_t)(t->lids.top + 1);
        v = proven_with(f, t, &p);
        assert_good(f, &v, "room enough");
        fab_verify_verdict_fini(&v);
        f->switches[sw].linear_fdb_cap = whole;
    }
    fab_target_unref(t);
    fab_fabric_unref(f);
}
END_TEST

/* ---- several workers ------------------------------------------------------------------------- */

static void assert_same(const struct fab_verdict *a, const struct fab_verdict *b)
{
    const struct fab_witness *x = &a->witness, *y = &b->witness;
    ck_assert_int_eq(a->deadlock_free, b->deadlock_free);
    ck_assert_uint_eq(a->pairs, b->pairs);
    ck_assert_uint_eq(a->unreachable_pairs, b->unreachable_pairs);
    ck_assert_uint_eq(a->unreachable_host_pairs, b->unreachable_host_pairs);
    ck_assert_uint_eq(a->longest_path, b->longest_path);
    ck_assert_uint_eq(a->dependencies, b->dependencies);
    ck_assert_uint_eq(a->beyond, b->beyond);
    ck_assert_int_eq(x->kind, y->kind);
    ck_assert_uint_eq(x->src, y->src);
    ck_assert_uint_eq(x->dst, y->dst);
    ck_assert_uint_eq(x->lid, y->lid);
    ck_assert_uint_eq(x->port_count, y->port_count);
    for (uint32_t i = 0; i < x->port_count; i++)
        ck_assert_uint_eq(x->ports[i], y->ports[i]);
}

static void run_nothing(void *ctx, uint32_t count, fab_pool_task *task, void *arg)
{
    (void)ctx, (void)task, (void)arg;
    ck_abort_msg("a proof in steps gave %u parts to a pool", count);
}

/* Proves the tables with 2, 3 and 4 workers. The verdicts must equal that of one worker. */
static void assert_workers_agree(const struct fab_fabric *f, const struct fab_target *t,
                                 const struct fab_policy *p, const struct fab_verdict *alone)
{
    for (uint32_t workers = 2; workers <= 4; workers++) {
        struct fab_pool pool = dealing_pool(&workers);
        struct fab_verdict v;
        struct fab_verify_input in = {.fabric = f,
                                      .lids = &t->lids,
                                      .lft = &t->lft,
                                      .vls = &t->vls,
                                      .policy = p,
                                      .max_hops = 64,
                                      .pool = &pool};
        ck_assert_int_eq(fab_verify(&in, &v), FAB_OK);
        assert_same(alone, &v);
        fab_verify_verdict_fini(&v);
        pool.run = run_nothing;
        assert_steps_agree(&in, alone);
    }
}

/* Workers prove parts of 256 LIDs each. Together they must find what one worker finds. With 32 LIDs
 * for each endport, there are several parts. */
START_TEST(workers_find_the_same_together)
{
    struct fab_prng prng;
    unsigned good = 0, cyclic = 0, broken = 0, beyond = 0;
    fab_base_prng_init(&prng, test_seed("several workers", 23));
    for (unsigned i = 0; i < test_rounds(100); i++) {
        struct fab_fabric *f = random_fabric(6, 3, 3, fab_base_prng_next(&prng));
        struct fab_policy p = defaults();
        p.lmc = 5;
        struct fab_target *t = routed(f, &p);
        ck_assert_uint_gt(t->lids.top, 2 * 256);
        if (i % 4 != 0)
            random_lanes(f, t, &prng);
        if (i % 4 == 1)
            weaken(f, &prng);
        if (i % 3 == 2)
            break_entries(f, t, &prng);
        struct fab_verdict v = proven_with(f, t, &p);
        assert_workers_agree(f, t, &p, &v);
        good += fab_verify_verdict_good(&v);
        cyclic += !v.deadlock_free;
        broken += v.unreachable_pairs > 0;
        beyond += v.beyond > 0;
        fab_verify_verdict_fini(&v);
        fab_target_unref(t);
        fab_fabric_unref(f);
    }
    printf("# %u good, %u cyclic, %u with unreachable pairs, %u beyond\n", good, cyclic, broken,
           beyond);
    ck_assert_uint_gt(good, 2);
    ck_assert_uint_gt(cyclic, 2);
    ck_assert_uint_gt(broken, 2);
    ck_assert_uint_gt(beyond, 2);
}
END_TEST

/* ---- invalid VL tables ----------------------------------------------------------------------- */

static void assert_refused(const struct ring *r)
{
    struct fab_verdict v;
    struct fab_verify_input in = {
        .fabric = r->f, .lids = &r->t->lids, .lft = &r->t->lft, .vls = &r->t->vls};
    ck_assert_int_eq(fab_verify(&in, &v), FAB_E_INVAL);
}

START_TEST(lanes_out_of_range_are_refused)
{
    struct ring r = make_ring(RING);
    struct fab_vls *v = &r.t->vls;
    v->vl[0][0][1] = 15;
    assert_refused(&r);
    /* a VL that does not exist, because the tables have VLs 0 and 1 only */
    v->vl[0][0][1] = 2;
    assert_refused(&r);
    v->vl[0][0][1] = 1;
    assert_ring_good(&r);
    v->of_pair[7] = 16;
    assert_refused(&r);
    v->of_pair[7] = 0;
    v->count = 16;
    assert_refused(&r);
    v->count = 2;
    v->sls = 17;
    assert_refused(&r);
    v->sls = 2;
    v->switches = RING - 1;
    assert_refused(&r);
    v->switches = RING;
    v->classes = 17;
    assert_refused(&r);
    v->classes = 2;
    ck_assert_int_eq(fab_target_vls_by_class(v, r.f->port_count), FAB_OK);
    v->port_class[r.on[0]] = 2;
    assert_refused(&r);
    v->port_class[r.on[0]] = 0;
    /* a class other than 0 for port 0 of a switch, which is not permitted */
    v->port_class[fab_fabric_port_id(r.f, 0, 0)] = 1;
    assert_refused(&r);
    ring_free(&r);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        agrees_with_the_naive_proof,
        agrees_about_engines,
        a_dateline_makes_a_ring_safe,
        links_at_high_ports_count,
        a_wrong_mapping_is_a_cycle_on_its_lane,
        one_wrong_path_is_enough,
        a_class_at_the_wrong_port_is_a_cycle,
        too_few_vls_at_one_port_are_reported,
        cables_that_nobody_takes_by_a_lane_need_it_not,
        a_table_that_is_too_small_is_told,
        workers_find_the_same_together,
        lanes_out_of_range_are_refused,
    };
    Suite *suite = suite_create("verify_lanes");
    TCase *tcase = tcase_create("proof");
    tcase_set_timeout(tcase, 120);
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
