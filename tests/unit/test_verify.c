/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The proof, compared with a second, simple proof on correct tables and on tables with random
 * damage. For each kind of failure, a test also makes such tables by hand, and checks the witness.
 */
#include "libfabmgr/verify/trace.h"
#include "tests/unit/naive.h"

static struct fab_target *routed_by_default(const struct fab_fabric *f, uint8_t lmc)
{
    struct fab_policy p;
    fab_policy_defaults(&p);
    p.lmc = lmc;
    return routed(f, &p);
}

/* ---- witnesses ------------------------------------------------------------------------------- */

static bool some_lid_goes(const struct fab_fabric *f, const struct fab_target *t, uint32_t in,
                          uint32_t out)
{
    const uint8_t *here = fab_target_lft_row(&t->lft, fab_fabric_port(f, in)->node);
    const uint8_t *there = fab_target_lft_row(&t->lft, fab_fabric_port(f, out)->node);
    for (uint32_t lid = 1; lid <= t->lids.top; lid++) {
        if (t->lids.owner[lid] != FAB_NONE && here[lid] == fab_fabric_port(f, in)->num &&
            there[lid] == fab_fabric_port(f, out)->num)
            return true;
    }
    return false;
}

static void assert_cycle(const struct fab_fabric *f, const struct fab_target *t,
                         const struct fab_witness *w)
{
    ck_assert_uint_ge(w->port_count, 2);
    ck_assert_uint_eq(w->src, FAB_NONE);
    for (uint32_t i = 0; i < w->port_count; i++) {
        uint32_t next = w->ports[(i + 1) % w->port_count];
        ck_assert(naive_is_channel(f, w->ports[i]));
        ck_assert_uint_eq(fab_fabric_peer_node(f, w->ports[i]), fab_fabric_port(f, next)->node);
        ck_assert(some_lid_goes(f, t, w->ports[i], next));
    }
}

static void assert_way(const struct fab_fabric *f, const struct fab_target *t,
                       const struct fab_witness *w)
{
    ck_assert_uint_eq(t->lids.owner[w->lid], w->dst);
    ck_assert_uint_ge(w->port_count, 1);
    ck_assert_uint_eq(w->ports[0], w->src);
    for (uint32_t i = 1; i < w->port_count; i++) {
        uint32_t node = fab_fabric_port(f, w->ports[i])->node;
        ck_assert_uint_eq(fab_target_lft_at(&t->lft, node, w->lid),
                          fab_fabric_port(f, w->ports[i])->num);
        if (i > 1)
            ck_assert_uint_eq(fab_fabric_peer_node(f, w->ports[i - 1]), node);
    }
}

static void assert_witness(const struct fab_fabric *f, const struct fab_target *t,
                           const struct fab_verdict *v)
{
    char *text = NULL;
    bool bad = v->unreachable_pairs > 0 || !v->deadlock_free;
    ck_assert_int_eq(v->witness.kind != FAB_OK, bad);
    ck_assert_int_eq(fab_verify_verdict_good(v), !bad);
    if (v->unreachable_pairs > 0)
        assert_way(f, t, &v->witness);
    else if (bad)
        assert_cycle(f, t, &v->witness);
    ck_assert_int_eq(fab_verify_witness_text(f, &v->witness, &text), FAB_OK);
    ck_assert_uint_gt(strlen(text), 0);
    free(text);
}

/* ---- agreement ------------------------------------------------------------------------------- */

static void damage_entries(const struct fab_fabric *f, struct fab_target *t, struct fab_prng *prng,
                           uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t sw = (uint32_t)fab_base_prng_below(prng, f->switch_count);
        uint32_t lid = (uint32_t)fab_base_prng_below(prng, t->lids.top + 1);
        uint32_t ports = f->nodes[sw].num_ports + 1u;
        uint8_t entry = (uint8_t)fab_base_prng_below(prng, ports + (ports < 250 ? 2 : 0));
        fab_target_lft_row(&t->lft, sw)[lid] = fab_base_prng_below(prng, 10) == 0 ? 255 : entry;
    }
}

START_TEST(agrees_with_the_naive_proof)
{
    struct fab_prng prng;
    unsigned good = 0, cyclic = 0, broken = 0;
    fab_base_prng_init(&prng, test_seed("agreement", 11));
    for (unsigned i = 0; i < 1000; i++) {
        uint32_t switches = 1 + (uint32_t)fab_base_prng_below(&prng, 10);
        uint32_t degree = 1 + (uint32_t)fab_base_prng_below(&prng, 5);
        uint32_t hosts = (uint32_t)fab_base_prng_below(&prng, 3);
        struct fab_fabric *f = random_fabric(switches, degree, hosts, fab_base_prng_next(&prng));
        if (i % 4 == 0)
            f = damaged(f, &prng, 0.15, 0.1);
        struct fab_target *t = routed_by_default(f, i % 5 == 0 ? 1 : 0);
        uint32_t max_hops = i % 7 == 0 ? 3 : 64;
        if (i % 3 != 0)
            damage_entries(f, t, &prng, 1 + (uint32_t)fab_base_prng_below(&prng, 6));
        struct naive n = naive_verify(f, t, max_hops);
        struct fab_verdict v = proven(f, t, max_hops);
        assert_agrees(&n, &v);
        assert_witness(f, t, &v);
        good += fab_verify_verdict_good(&v);
        cyclic += !v.deadlock_free;
        broken += v.unreachable_pairs > 0;
        fab_verify_verdict_fini(&v);
        fab_target_unref(t);
        fab_fabric_unref(f);
    }
    printf("# %u good, %u cyclic, %u with unreachable pairs\n", good, cyclic, broken);
    ck_assert_uint_gt(good, 50);
    ck_assert_uint_gt(broken, 50);
}
END_TEST

/* Follows every path. The numbers that fab_verify_number gives to channels must ascend along the
 * path. */
static void assert_numbers(const struct fab_fabric *f, const struct fab_target *t,
                           const struct fab_verify_numbers *n)
{
    const struct fab_verify_input in = proof_input(f, t, 64);
    for (uint32_t src = 0; src < f->port_count; src++) {
        for (uint32_t lid = 1; lid <= t->lids.top && t->lids.base[src] != 0; lid++) {
            struct fab_verify_trace trace;
            if (t->lids.owner[lid] == FAB_NONE || t->lids.owner[lid] == src)
                continue;
            uint32_t before = 0;
            ck_assert_int_eq(fab_verify_trace(&in, src, lid, &trace), FAB_OK);
            for (uint32_t i = 0; i < trace.count; i++) {
                if (!naive_is_channel(f, trace.ports[i]))
                    continue;
                ck_assert_uint_gt(n->number[trace.ports[i]], before);
                before = n->number[trace.ports[i]];
            }
            fab_verify_trace_fini(&trace);
        }
    }
}

START_TEST(numbers_ascend_or_there_are_none)
{
    struct fab_prng prng;
    unsigned numbered = 0, cyclic = 0, broken = 0;
    fab_base_prng_init(&prng, test_seed("numbers", 12));
    for (unsigned i = 0; i < 300; i++) {
        uint32_t switches = 2 + (uint32_t)fab_base_prng_below(&prng, 9);
        struct fab_fabric *f = random_fabric(switches, 3, 2, fab_base_prng_next(&prng));
        struct fab_target *t = routed_by_default(f, 0);
        if (i % 3 != 0)
            damage_entries(f, t, &prng, 1 + (uint32_t)fab_base_prng_below(&prng, 4));
        struct fab_verdict v = proven(f, t, 64);
        const struct fab_verify_input in = proof_input(f, t, 64);
        struct fab_verify_numbers n = {0};
        int rc = fab_verify_number(&in, &n);
        ck_assert_int_eq(rc, v.unreachable_pairs > 0 ? FAB_E_UNREACHABLE
                             : v.deadlock_free       ? FAB_OK
                                                     : FAB_E_CYCLE);
        if (rc == FAB_OK)
            assert_numbers(f, t, &n);
        numbered += rc == FAB_OK;
        cyclic += rc == FAB_E_CYCLE;
        broken += rc == FAB_E_UNREACHABLE;
        fab_verify_numbers_fini(&n);
        fab_verify_verdict_fini(&v);
        fab_target_unref(t);
        fab_fabric_unref(f);
    }
    printf("# %u numbered, %u cyclic, %u with unreachable pairs\n", numbered, cyclic, broken);
    ck_assert_uint_gt(numbered, 100);
    ck_assert_uint_gt(cyclic, 0);
    ck_assert_uint_gt(broken, 20);
}
END_TEST

/* In trees, many switches form equivalence classes: their ports lead to the same switches, and
 * their tables are equal. The proof treats a class as one switch, and must give the same verdict as
 * the simple proof. */
START_TEST(agrees_on_trees_full_of_siblings)
{
    static const uint32_t shapes[][3] = {{4, 2, 1}, {4, 3, 1}, {6, 2, 2}, {8, 2, 1}, {6, 2, 1}};
    struct fab_prng prng;
    unsigned good = 0, bad = 0;
    fab_base_prng_init(&prng, test_seed("siblings", 13));
    for (unsigned i = 0; i < 150; i++) {
        const uint32_t *shape = shapes[i % 5];
        struct fab_fabric *f = fat_tree(shape[0], shape[1], shape[2]);
        struct fab_policy p;
        fab_policy_defaults(&p);
        /* With LMC 4, there are several tiles of 64 LIDs. In most of them, all switches of a class
         * have the same entries. */
        p.lmc = i % 11 == 0 ? 1 : i % 3 == 1 ? 4 : 0;
        struct fab_target *t = fab_target_new();
        char why[200];
        assigned(f, &p, &t->lids);
        struct fab_route_input in = {.fabric = f, .policy = &p, .lids = &t->lids};
        const char *engine = i % 2 == 0 ? "fattree" : "updn";
        ck_assert_int_eq(
            fab_route_engine_by_name(engine)->run(&in, &t->lft, &t->vls, why, sizeof(why)), FAB_OK);
        if (i >= 20)
            damage_entries(f, t, &prng, 1 + (uint32_t)fab_base_prng_below(&prng, 8));
        /* gives switches 1 and 2 the same entry as switch 0, so that the three may be in one
         * class */
        if (i % 3 == 0) {
            uint32_t lid = 1 + (uint32_t)fab_base_prng_below(&prng, t->lids.top);
            for (uint32_t sw = 1; sw < 3; sw++)
                fab_target_lft_row(&t->lft, sw)[lid] = fab_target_lft_at(&t->lft, 0, lid);
        }
        struct naive n = naive_verify(f, t, 64);
        struct fab_verdict v = proven(f, t, 64);
        assert_agrees(&n, &v);
        assert_witness(f, t, &v);
        good += fab_verify_verdict_good(&v);
        bad += !fab_verify_verdict_good(&v);
        fab_verify_verdict_fini(&v);
        fab_target_unref(t);
        fab_fabric_unref(f);
    }
    printf("# %u good, %u bad\n", good, bad);
    ck_assert_uint_gt(good, 15);
    ck_assert_uint_gt(bad, 50);
}
END_TEST

/* Routes the packets for each LID over a random spanning tree of its own. All packets arrive, but
 * most of these tables have a cycle of dependencies. */
static void route_at_random(const struct fab_fabric *f, struct fab_target *t, struct fab_prng *prng)
{
    uint32_t *queue = calloc(f->switch_count + 1, sizeof(*queue));
    bool *in = calloc(f->switch_count + 1, sizeof(*in));
    for (uint32_t lid = 1; lid <= t->lids.top; lid++) {
        uint32_t owner = t->lids.owner[lid], count = 0;
        if (owner == FAB_NONE)
            continue;
        bool is_switch = fab_fabric_node_is_switch(f, fab_fabric_port(f, owner)->node);
        uint32_t home =
            is_switch ? fab_fabric_port(f, owner)->node : fab_fabric_peer_node(f, owner);
        memset(in, 0, f->switch_count);
        fab_target_lft_row(&t->lft, home)[lid] =
            is_switch ? 0 : fab_fabric_port(f, fab_fabric_port(f, owner)->peer)->num;
        in[home] = true;
        queue[count++] = home;
        while (count > 0) {
            uint32_t pick = (uint32_t)fab_base_prng_below(prng, count), sw = queue[pick];
            queue[pick] = queue[--count];
            for (unsigned num = 1; num <= f->nodes[sw].num_ports; num++) {
                uint32_t port = fab_fabric_port_id(f, sw, (uint8_t)num),
                         peer = fab_fabric_peer_node(f, port);
                if (!naive_is_channel(f, port) || in[peer])
                    continue;
                in[peer] = true;
                fab_target_lft_row(&t->lft, peer)[lid] =
                    fab_fabric_port(f, fab_fabric_port(f, port)->peer)->num;
                queue[count++] = peer;
            }
        }
    }
    free(queue);
    free(in);
}

START_TEST(finds_cycles_as_the_naive_proof_does)
{
    struct fab_prng prng;
    unsigned cyclic = 0;
    fab_base_prng_init(&prng, test_seed("cycles", 12));
    for (unsigned i = 0; i < 200; i++) {
        uint32_t switches = 3 + (uint32_t)fab_base_prng_below(&prng, 7);
        uint32_t degree = 2 + (uint32_t)fab_base_prng_below(&prng, 3);
        struct fab_fabric *f = random_fabric(switches, degree, 1, fab_base_prng_next(&prng));
        struct fab_target *t = routed_by_default(f, 0);
        route_at_random(f, t, &prng);
        struct naive n = naive_verify(f, t, 64);
        struct fab_verdict v = proven(f, t, 64);
        assert_agrees(&n, &v);
        assert_witness(f, t, &v);
        ck_assert_uint_eq(v.unreachable_pairs, 0);
        cyclic += !v.deadlock_free;
        fab_verify_verdict_fini(&v);
        fab_target_unref(t);
        fab_fabric_unref(f);
    }
    printf("# %u cyclic\n", cyclic);
    ck_assert_uint_gt(cyclic, 30);
}
END_TEST

/* ---- each kind by hand ----------------------------------------------------------------------- */

/* Makes a fabric of three switches in a row, 0 - 1 - 2, with one host at each. */
static struct fab_fabric *row_of_three(void)
{
    return grid((uint32_t[3]){3, 1, 1}, false, 1);
}
static uint32_t host_at(const struct fab_fabric *f, uint32_t sw)
{
    for (uint32_t port = 0; port < f->port_count; port++) {
        if (!fab_fabric_node_is_switch(f, fab_fabric_port(f, port)->node) &&
            fab_fabric_peer_node(f, port) == sw)
            return port;
    }
    return FAB_NONE;
}

static void assert_kind(const struct fab_fabric *f, struct fab_target *t, int kind, uint64_t pairs,
                        const char *says)
{
    struct fab_verdict v = proven(f, t, 64);
    char *text = NULL;
    ck_assert_int_eq(v.witness.kind, kind);
    ck_assert_uint_eq(v.unreachable_pairs, pairs);
    ck_assert_int_eq(fab_verify_witness_text(f, &v.witness, &text), FAB_OK);
    ck_assert_msg(strstr(text, says) != NULL, "%s", text);
    assert_witness(f, t, &v);
    free(text);
    fab_verify_verdict_fini(&v);
}

static void check_broken_row(uint32_t at, uint8_t entry, int kind, uint64_t pairs, const char *says)
{
    struct fab_fabric *f = row_of_three();
    struct fab_target *t = routed_by_default(f, 0);
    fab_target_lft_row(&t->lft, at)[t->lids.base[host_at(f, 2)]] = entry;
    assert_kind(f, t, kind, pairs, says);
    fab_target_unref(t);
    fab_fabric_unref(f);
}

START_TEST(a_missing_entry_is_unreachable)
{
    check_broken_row(1, FAB_LFT_NO_ROUTE, FAB_E_UNREACHABLE, 4, "no route");
}
END_TEST

START_TEST(a_wrong_host_is_unreachable)
{
    struct fab_fabric *f = row_of_three();
    uint8_t num = fab_fabric_port(f, fab_fabric_port(f, host_at(f, 1))->peer)->num;
    fab_fabric_unref(f);
    check_broken_row(1, num, FAB_E_UNREACHABLE, 4, "delivers to another port");
    check_broken_row(1, 0, FAB_E_UNREACHABLE, 4, "delivers to another port");
}
END_TEST

START_TEST(a_dead_port_is_named)
{
    check_broken_row(1, 9, FAB_E_INVAL, 4, "no cable");
    check_broken_row(1, 77, FAB_E_INVAL, 4, "dead port");
}
END_TEST

START_TEST(a_loop_is_shown)
{
    struct fab_fabric *f = row_of_three();
    uint32_t back = fab_fabric_port_id(f, 1, 1);
    while (fab_fabric_peer_node(f, back) != 0)
        back++;
    check_broken_row(1, fab_fabric_port(f, back)->num, FAB_E_LOOP, 4, "loop");
    fab_fabric_unref(f);
}
END_TEST

START_TEST(a_long_way_is_a_failure)
{
    struct fab_fabric *f = row_of_three();
    struct fab_target *t = routed_by_default(f, 0);
    struct fab_verdict v = proven(f, t, 2);
    ck_assert_int_eq(v.witness.kind, FAB_E_LIMIT);
    ck_assert_uint_eq(v.unreachable_pairs, 8);
    ck_assert_uint_eq(v.longest_path, 3);
    fab_verify_verdict_fini(&v);
    /* with max_hops 1, a pair counts as reachable only if its path has a single switch */
    v = proven(f, t, 1);
    ck_assert_uint_gt(v.unreachable_pairs, 8);
    fab_verify_verdict_fini(&v);
    v = proven(f, t, 3);
    ck_assert(fab_verify_verdict_good(&v));
    fab_verify_verdict_fini(&v);
    v = proven(f, t, 0);
    ck_assert(fab_verify_verdict_good(&v));
    fab_verify_verdict_fini(&v);
    fab_target_unref(t);
    fab_fabric_unref(f);
}
END_TEST

/* All packets go round a ring clockwise, and arrive. Each link waits for the next one, which is a
 * cycle. */
START_TEST(a_ring_clockwise_is_a_cycle)
{
    struct fab_fabric *f = grid((uint32_t[3]){6, 1, 1}, true, 1);
    struct fab_target *t = routed_by_default(f, 0);
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        uint32_t clockwise = fab_fabric_port_id(f, sw, 1);
        while (fab_fabric_peer_node(f, clockwise) != (sw + 1) % f->switch_count)
            clockwise++;
        for (uint32_t lid = 1; lid <= t->lids.top; lid++) {
            uint32_t node = fab_fabric_port(f, t->lids.owner[lid])->node;
            uint32_t home =
                node < f->switch_count ? node : fab_fabric_peer_node(f, t->lids.owner[lid]);
            if (home != sw)
                fab_target_lft_row(&t->lft, sw)[lid] = fab_fabric_port(f, clockwise)->num;
        }
    }
    struct fab_verdict v = proven(f, t, 64);
    ck_assert_int_eq(v.witness.kind, FAB_E_CYCLE);
    ck_assert_uint_eq(v.witness.port_count, 6);
    fab_verify_verdict_fini(&v);
    assert_kind(f, t, FAB_E_CYCLE, 0, "waits");
    fab_target_unref(t);
    fab_fabric_unref(f);
}
END_TEST

/* A NodeDescription comes from a device, and could break a line or control a terminal. So the text
 * of a witness has a dot for each byte that is not printable ASCII. */
START_TEST(names_are_made_safe)
{
    struct fab_fabric *f = row_of_three();
    struct fab_target *t = routed_by_default(f, 0);
    fab_target_lft_row(&t->lft, 1)[t->lids.base[host_at(f, 2)]] = FAB_LFT_NO_ROUTE;
    char *text = NULL, *longest = f->nodes[fab_fabric_port(f, host_at(f, 2))->node].name;
    memset(f->nodes[0].name, 0, FAB_NODE_DESC_LEN);
    memset(longest, 'Y', FAB_NODE_DESC_LEN);
    memcpy(f->nodes[1].name, "\x1b[2J\n\x1f ~\x7f\x80\xff", 12);
    struct fab_verdict v = proven(f, t, 64);
    ck_assert_int_eq(v.witness.kind, FAB_E_UNREACHABLE);
    ck_assert_int_eq(fab_verify_witness_text(f, &v.witness, &text), FAB_OK);
    for (const char *c = text; *c; c++)
        ck_assert_msg(*c == '\n' || (*c >= 0x20 && *c < 0x7f), "byte 0x%02x", (unsigned char)*c);
    ck_assert_msg(strstr(text, " .[2J.. ~... (0x") != NULL, "%s", text);
    ck_assert_msg(strstr(text, "no name (0x") != NULL, "%s", text);
    const char *name = strstr(text, "YY");
    ck_assert_ptr_nonnull(name);
    ck_assert_uint_eq(strspn(name, "Y"), FAB_NODE_DESC_LEN);
    ck_assert_int_eq(strncmp(name + FAB_NODE_DESC_LEN, " (0x", 4), 0);
    free(text);
    fab_verify_verdict_fini(&v);
    fab_target_unref(t);
    fab_fabric_unref(f);
}
END_TEST

/* Writes a port as the texts of witnesses do: "NAME (GUID) port N". */
static const char *place(const struct fab_fabric *f, uint32_t port, char ret[120])
{
    const struct fab_node *n = &f->nodes[fab_fabric_port(f, port)->node];
    snprintf(ret, 120, "%s (0x%016" PRIx64 ") port %u", n->desc, n->guid,
             fab_fabric_port(f, port)->num);
    return ret;
}

static void assert_text(const struct fab_fabric *f, const struct fab_witness *w, const char *want)
{
    char *text = NULL;
    ck_assert_int_eq(fab_verify_witness_text(f, w, &text), FAB_OK);
    ck_assert_str_eq(text, want);
    free(text);
}

/* The text of a witness has a line for each hop. For each port, it says what is at the other end of
 * the link. */
START_TEST(texts_show_each_hop)
{
    struct fab_fabric *f = row_of_three();
    uint32_t a = host_at(f, 0), c = host_at(f, 2), free_port = fab_fabric_port_id(f, 1, 9);
    uint32_t ports[] = {a, fab_fabric_port(f, c)->peer, free_port, fab_fabric_port_id(f, 1, 0)};
    uint8_t vls[] = {0, 3, 1, 2};
    char p[4][120], peer[2][120], want[1000], *from = p[0], *to = peer[1];
    for (unsigned i = 0; i < 4; i++)
        place(f, ports[i], p[i]);
    place(f, fab_fabric_port(f, a)->peer, peer[0]);
    place(f, c, peer[1]);
    fab_fabric_edit_port(f, ports[1])->info.phys_state = FAB_PHYS_POLLING;
    struct fab_witness w = {
        .kind = FAB_E_INVAL, .src = a, .dst = c, .lid = 7, .ports = ports, .port_count = 4};
    snprintf(want, sizeof want,
             "dead port: a table entry leads to a port without a working link\n"
             "  from %.*s to %.*s, LID 7\n"
             "  %s -> %s\n  %s -> link down: %s\n  %s -> no cable\n  %s\n",
             (int)(strstr(from, " port") - from), from, (int)(strstr(to, " port") - to), to, p[0],
             peer[0], p[1], peer[1], p[2], p[3]);
    assert_text(f, &w, want);
    w.vls = vls;
    w.src = FAB_NONE;
    w.port_count = 2;
    snprintf(want, sizeof want,
             "dead port: a table entry leads to a port without a working link\n"
             "  %s -> %s, VL 0\n  %s -> link down: %s, VL 3\n",
             p[0], peer[0], p[1], peer[1]);
    assert_text(f, &w, want);
    w.vls = NULL;
    w.port_count = 1;
    w.kind = FAB_E_LIMIT;
    w.need = 9;
    w.have = 2;
    snprintf(want, sizeof want,
             "too few VLs: packets take VL 8, and both ends of the link and the policy allow 2 "
             "VLs\n  %s -> %s\n",
             p[0], peer[0]);
    assert_text(f, &w, want);
    w.ports = ports + 3;
    snprintf(want, sizeof want,
             "table too small: LIDs up to 8 are in use, and the switch has entries below 2\n  %s\n",
             p[3]);
    assert_text(f, &w, want);
    w.port_count = 0;
    assert_text(f, &w, "too long: the path has more switches than allowed\n");
    w.kind = FAB_OK;
    assert_text(f, &w, "no failure\n");
    w.kind = FAB_E_CYCLE;
    assert_text(f, &w,
                "cycle: each of these links waits for the next one, the last for the first\n");
    w.kind = FAB_E_LOOP;
    assert_text(f, &w, "loop: the packet comes back to a switch that it passed before\n");
    w.kind = FAB_E_UNREACHABLE;
    assert_text(f, &w, "unreachable: the last switch has no route, or delivers to another port\n");
    w.kind = FAB_E_NOMEM;
    assert_text(f, &w, "failure\n");
    fab_fabric_unref(f);
}
END_TEST

START_TEST(further_lids_are_checked)
{
    struct fab_fabric *f = row_of_three();
    struct fab_target *t = routed_by_default(f, 2);
    fab_target_lft_row(&t->lft, 1)[t->lids.base[host_at(f, 2)] + 3] = FAB_LFT_NO_ROUTE;
    assert_kind(f, t, FAB_E_UNREACHABLE, 4, "no route");
    fab_target_unref(t);
    fab_fabric_unref(f);
}
END_TEST

START_TEST(islands_need_not_meet)
{
    struct drawing *d = draw_new();
    for (unsigned i = 0; i < 4; i++)
        draw_hosts(d, draw_switch(d, 8), 0);
    draw_cable(d, 0, 1);
    draw_cable(d, 2, 3);
    draw_hosts(d, 0, 2);
    draw_hosts(d, 3, 1);
    struct fab_fabric *f = draw_done(d);
    /* with LMC 1, each of the 3 hosts is two destinations */
    static const uint64_t pairs[] = {4 * 3 + 3 * 2, (2 + 2 * 2) * 3 + (2 + 2) * 2};
    for (uint8_t lmc = 0; lmc < 2; lmc++) {
        struct fab_target *t = routed_by_default(f, lmc);
        struct fab_verdict v = proven(f, t, 64);
        ck_assert(fab_verify_verdict_good(&v));
        ck_assert_uint_eq(v.pairs, pairs[lmc]);
        fab_verify_verdict_fini(&v);
        fab_target_unref(t);
    }
    fab_fabric_unref(f);
}
END_TEST

START_TEST(traces_go_where_packets_go)
{
    struct fab_fabric *f = row_of_three();
    struct fab_target *t = routed_by_default(f, 0);
    struct fab_verify_input in = {.fabric = f, .lids = &t->lids, .lft = &t->lft, .max_hops = 64};
    struct fab_verify_trace trace;
    uint32_t a = host_at(f, 0), c = host_at(f, 2), port0 = fab_fabric_port_id(f, 2, 0);
    ck_assert_int_eq(fab_verify_trace(&in, a, t->lids.base[c], &trace), FAB_OK);
    ck_assert_uint_eq(trace.count, 4);
    ck_assert_uint_eq(trace.ports[0], a);
    ck_assert_uint_eq(fab_fabric_port(f, trace.ports[3])->peer, c);
    fab_verify_trace_fini(&trace);
    ck_assert_int_eq(fab_verify_trace(&in, a, t->lids.base[port0], &trace), FAB_OK);
    ck_assert_uint_eq(trace.count, 3);
    fab_verify_trace_fini(&trace);
    ck_assert_int_eq(fab_verify_trace(&in, a, t->lids.base[a], &trace), FAB_OK);
    ck_assert_uint_eq(trace.count, 0);
    fab_verify_trace_fini(&trace);
    ck_assert_int_eq(fab_verify_trace(&in, a, t->lids.top + 1, &trace), FAB_E_UNREACHABLE);
    fab_verify_trace_fini(&trace);
    ck_assert_int_eq(fab_verify_trace(&in, f->port_count, 1, &trace), FAB_E_UNREACHABLE);
    fab_verify_trace_fini(&trace);
    ck_assert_int_eq(fab_verify_trace(&in, a, 0, &trace), FAB_E_UNREACHABLE);
    ck_assert_ptr_null(trace.ports);
    /* Traces that start at port 0 of a switch whose entry is wrong: it drops packets, names a port
     * that does not exist, or names port 0. */
    uint8_t *entry = &fab_target_lft_row(&t->lft, 2)[t->lids.base[c]];
    const uint8_t good = *entry;
    static const struct {
        uint8_t num;
        int strict;
        uint32_t count;
    } lost[] = {
        {FAB_LFT_NO_ROUTE, FAB_E_UNREACHABLE, 1}, {99, FAB_E_INVAL, 1}, {0, FAB_E_UNREACHABLE, 1}};
    for (size_t i = 0; i < sizeof lost / sizeof *lost; i++) {
        *entry = lost[i].num;
        ck_assert_int_eq(fab_verify_trace_strict(&in, port0, t->lids.base[c], &trace),
                         lost[i].strict);
        ck_assert_uint_eq(trace.count, lost[i].count);
        ck_assert_uint_eq(trace.ports[0], port0);
        fab_verify_trace_fini(&trace);
        ck_assert_int_eq(fab_verify_trace(&in, port0, t->lids.base[c], &trace), FAB_E_UNREACHABLE);
        fab_verify_trace_fini(&trace);
    }
    *entry = good;
    ck_assert_int_eq(fab_verify_trace(&in, port0, t->lids.base[c], &trace), FAB_OK);
    ck_assert_uint_eq(trace.count, 2);
    fab_verify_trace_fini(&trace);
    fab_fabric_edit_port(f, a)->info.phys_state = FAB_PHYS_POLLING;
    ck_assert_int_eq(fab_verify_trace_strict(&in, a, t->lids.base[c], &trace), FAB_E_UNREACHABLE);
    ck_assert_uint_eq(trace.count, 1);
    fab_verify_trace_fini(&trace);
    fab_target_unref(t);
    fab_fabric_unref(f);
}
END_TEST

/* Tables are good for hosts if each pair without a path contains a switch. They are not good
 * then. */
START_TEST(good_for_hosts_is_less_than_good)
{
    const struct fab_verdict good = {.deadlock_free = true};
    struct fab_verdict v = good;
    ck_assert(fab_verify_verdict_good(&v) && fab_verify_verdict_good_for_hosts(&v));
    v.deadlock_free = false;
    ck_assert(!fab_verify_verdict_good(&v) && !fab_verify_verdict_good_for_hosts(&v));
    v = good;
    v.beyond = 1;
    ck_assert(!fab_verify_verdict_good(&v) && !fab_verify_verdict_good_for_hosts(&v));
    v = good;
    v.unreachable_pairs = 1;
    ck_assert(!fab_verify_verdict_good(&v) && fab_verify_verdict_good_for_hosts(&v));
    v.unreachable_host_pairs = 1;
    ck_assert(!fab_verify_verdict_good_for_hosts(&v));
}
END_TEST

/* Two adapters are connected directly, without a switch. They need no tables to reach each other.
 * The proof must count this pair in both directions. */
START_TEST(back_to_back)
{
    static const char text[] =
        "vendid=0x2c9\ndevid=0x1017\nsysimgguid=0x10\ncaguid=0x10\n"
        "Ca\t1 \"H-0000000000000010\"\t\t# \"a\"\n"
        "[1](11) \t\"H-0000000000000020\"[1] (21)\t\t# lid 0 lmc 0 \"b\" lid 0 4xEDR\n\n"
        "vendid=0x2c9\ndevid=0x1017\nsysimgguid=0x20\ncaguid=0x20\n"
        "Ca\t1 \"H-0000000000000020\"\t\t# \"b\"\n"
        "[1](21) \t\"H-0000000000000010\"[1] (11)\t\t# lid 0 lmc 0 \"a\" lid 0 4xEDR\n";
    struct fab_fabric *f = read_fabric(text, sizeof text - 1);
    struct fab_policy p;
    struct fab_lids lids;
    struct fab_lft lft;
    struct fab_verdict v;
    struct fab_verify_trace trace;
    fab_policy_defaults(&p);
    assigned(f, &p, &lids);
    ck_assert_int_eq(fab_target_lft_init(&lft, f->switch_count, lids.top), FAB_OK);
    struct fab_verify_input in = {.fabric = f, .lids = &lids, .lft = &lft};
    ck_assert_int_eq(fab_verify(&in, &v), FAB_OK);
    ck_assert(fab_verify_verdict_good(&v));
    ck_assert_uint_eq(v.pairs, 2);
    ck_assert_uint_eq(v.unreachable_pairs, 0);
    uint32_t a = fab_fabric_port_id(f, 0, 1), b = fab_fabric_port_id(f, 1, 1);
    ck_assert_int_eq(fab_verify_trace(&in, a, lids.base[b], &trace), FAB_OK);
    ck_assert_uint_eq(trace.count, 1);
    ck_assert_uint_eq(trace.ports[0], a);
    fab_verify_trace_fini(&trace);
    fab_verify_verdict_fini(&v);
    fab_target_lft_fini(&lft);
    fab_target_lids_fini(&lids);
    fab_policy_fini(&p);
    fab_fabric_unref(f);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        agrees_on_trees_full_of_siblings,
        agrees_with_the_naive_proof,
        numbers_ascend_or_there_are_none,
        finds_cycles_as_the_naive_proof_does,
        a_missing_entry_is_unreachable,
        a_wrong_host_is_unreachable,
        a_dead_port_is_named,
        a_loop_is_shown,
        a_long_way_is_a_failure,
        a_ring_clockwise_is_a_cycle,
        names_are_made_safe,
        texts_show_each_hop,
        further_lids_are_checked,
        islands_need_not_meet,
        traces_go_where_packets_go,
        good_for_hosts_is_less_than_good,
        back_to_back,
    };
    Suite *suite = suite_create("verify");
    TCase *tcase = tcase_create("proof");
    tcase_set_timeout(tcase, 120);
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
