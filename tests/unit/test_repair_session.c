/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Repair sessions, while nodes and links leave and return in any order. After each change, the
 * tables of the target must pass the proof, and the session's own tables must equal them. A port's
 * id in the present fabric must translate into its id in the baseline's fabric, and back.
 */
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/repair/session/session.h"
#include "libfabmgr/verify/verify.h"
#include "tests/unit/routing.h"

struct world {
    struct fab_policy policy;
    struct fab_fabric *whole; /* the fabric for which the engine computed tables */
    struct fab_target *first; /* the tables of the engine */
    struct fab_fabric *now;
    struct fab_target *target;
    struct fab_repair_session session;
    unsigned updates, restarts, partial, dead_links, absent_switches;
    unsigned spared; /* number of entries that a proof need not read */
};

static uint32_t draw(struct fab_prng *prng, uint32_t bound)
{
    return (uint32_t)fab_base_prng_below(prng, bound);
}

static void start_session(struct world *w)
{
    char why[200];
    struct fab_repair_input in = {.fabric = w->whole,
                                  .policy = &w->policy,
                                  .lids = &w->first->lids,
                                  .lft = &w->first->lft,
                                  .vls = &w->first->vls};
    ck_assert_int_eq(fab_repair_session_new(&in, &w->session, why, sizeof(why)), FAB_OK);
    ck_assert(w->session.idmap.same);
    w->now = fab_fabric_ref(w->whole);
    ck_assert_int_eq(fab_target_clone(w->first, &w->target), FAB_OK);
}

static void end_session(struct world *w)
{
    fab_repair_session_fini(&w->session);
    fab_target_unref(w->target);
    fab_fabric_unref(w->now);
}

/* Returns the id in `to` of a port of `from`; FAB_NONE: its node is absent. */
static uint32_t same_port(const struct fab_fabric *from, uint32_t port, const struct fab_fabric *to)
{
    const struct fab_port *p = fab_fabric_port(from, port);
    uint32_t node = fab_fabric_node_by_guid(to, from->nodes[p->node].guid);
    return node != FAB_NONE ? fab_fabric_port_id(to, node, p->num) : FAB_NONE;
}

static void give_lids(const struct world *w, const struct fab_fabric *f, struct fab_lids *ret)
{
    ck_assert_int_eq(fab_target_lids_init(ret, f->port_count), FAB_OK);
    for (uint32_t port = 0; port < f->port_count; port++) {
        uint32_t was = same_port(f, port, w->whole);
        ret->base[port] = w->first->lids.base[was];
        ret->lmc[port] = w->first->lids.lmc[was];
    }
    ck_assert_int_eq(fab_target_lids_index(ret), FAB_OK);
}

/* Returns a part of the whole fabric: without some links, and in some cases without a node. */
static struct fab_fabric *part_of(const struct fab_fabric *whole, struct fab_prng *prng)
{
    struct fab_builder *b = fab_fabric_builder_from(whole);
    for (uint32_t i = draw(prng, 3); i > 0; i--)
        (void)fab_fabric_builder_remove_node(b, draw(prng, whole->node_count));
    for (uint32_t i = draw(prng, 3); i > 0; i--) {
        uint32_t port = draw(prng, whole->port_count);
        if (fab_fabric_port(whole, port)->peer != FAB_NONE)
            (void)fab_fabric_builder_unlink(b, fab_fabric_port(whole, port)->node,
                                            fab_fabric_port(whole, port)->num);
    }
    return sealed(b);
}

/* ---- checks ---------------------------------------------------------------------------------- */

static void assert_proven(const struct world *w)
{
    struct fab_verdict v = proven(w->now, w->target, w->policy.max_hops);
    ck_assert(v.deadlock_free);
    ck_assert_uint_eq(v.unreachable_host_pairs, 0);
    ck_assert(v.unreachable_pairs == 0 || w->session.leaves_out);
    fab_verify_verdict_fini(&v);
}

static void assert_ports(const struct world *w)
{
    const struct fab_repair_session *t = &w->session;
    for (uint32_t port = 0; port < w->now->port_count; port++) {
        uint32_t was = same_port(w->now, port, w->whole);
        uint32_t peer =
            fab_fabric_port_is_up(w->whole, was) ? fab_fabric_port(w->whole, was)->peer : FAB_NONE;
        ck_assert_uint_eq(fab_repair_session_port(t, w->now, port), was);
        ck_assert_uint_eq(fab_repair_session_peer(t, w->now, port),
                          peer != FAB_NONE ? same_port(w->whole, peer, w->now) : FAB_NONE);
    }
}

static uint32_t baseline_switch(const struct world *w, uint32_t sw)
{
    return fab_fabric_node_by_guid(w->whole, w->now->nodes[sw].guid);
}

/* Checks that the session's own tables, whose ids are those of the baseline, have the same entries
 * as the target. */
static void assert_tables(struct world *w)
{
    const struct fab_lft *own = fab_repair_session_tables(&w->session, w->target);
    bool same = w->now->node_count == w->whole->node_count;
    ck_assert(w->session.idmap.same == same);
    ck_assert(own == (same ? &w->target->lft : &w->session.lft));
    ck_assert_uint_eq(own->switch_count, w->whole->switch_count);
    ck_assert_uint_eq(w->target->lft.switch_count, w->now->switch_count);
    for (uint32_t sw = 0; sw < w->now->switch_count; sw++)
        for (uint32_t lid = 0; lid <= w->target->lids.top; lid++)
            ck_assert_uint_eq(fab_target_lft_at(&w->target->lft, sw, lid),
                              fab_target_lft_at(own, baseline_switch(w, sw), lid));
}

/* Checks the list of changes since the last update. Applied to the tables `before` (with ids of the
 * baseline), these changes must give the present tables. A second request for the list must give an
 * empty list. */
static void assert_last(struct world *w, struct fab_lft *before)
{
    struct fab_repair_delta d, none;
    fab_repair_session_take_last(&w->session, &d);
    fab_repair_session_take_last(&w->session, &none);
    ck_assert(none.changes == 0 && none.change == NULL && none.by_write == NULL);
    for (size_t i = 0; i < d.changes; i++) {
        const struct fab_repair_change *c = &d.change[i];
        if (c->sw == FAB_NONE)
            continue;
        uint8_t *entry = fab_target_lft_row(before, baseline_switch(w, c->sw)) + c->lid;
        ck_assert_uint_eq(c->was, c->stale ? FAB_LFT_NO_ROUTE : *entry);
        *entry = c->now;
    }
    for (size_t i = 0; i < d.writes; i++)
        ck_assert(d.write[i].sw == FAB_NONE || d.write[i].sw < w->now->switch_count);
    const struct fab_lft *own = fab_repair_session_tables(&w->session, w->target);
    for (uint32_t sw = 0; sw < w->now->switch_count; sw++) {
        uint32_t was = baseline_switch(w, sw);
        for (uint32_t lid = 0; lid <= own->top; lid++)
            ck_assert_uint_eq(fab_target_lft_at(before, was, lid),
                              fab_target_lft_at(own, was, lid));
    }
    fab_repair_delta_fini(&d);
}

/* ---- changes --------------------------------------------------------------------------------- */

/* The fabric becomes `now`, which this function takes over. If the labels of the baseline permit no
 * repair, starts a new session. */
static void update(struct world *w, struct fab_fabric *now)
{
    struct fab_target *next = fab_target_new();
    struct fab_lft before;
    give_lids(w, now, &next->lids);
    ck_assert_int_eq(
        fab_target_lft_copy(fab_repair_session_tables(&w->session, w->target), &before), FAB_OK);
    int status = fab_repair_session_update(&w->session, w->target, now, next);
    if (status != FAB_OK) {
        ck_assert_int_eq(status, FAB_E_UNSUPPORTED);
        fab_target_lft_fini(&before);
        fab_target_unref(next);
        fab_fabric_unref(now);
        end_session(w);
        start_session(w);
        w->restarts++;
        return;
    }
    ck_assert_str_eq(next->engine, w->target->engine);
    ck_assert_str_eq(next->reason, w->target->reason);
    fab_target_unref(w->target);
    fab_fabric_unref(w->now);
    w->target = next;
    w->now = now;
    w->updates++;
    w->partial += !w->session.idmap.same;
    w->dead_links += w->session.idmap.deads;
    w->absent_switches += w->whole->switch_count - now->switch_count;
    assert_proven(w);
    assert_ports(w);
    assert_tables(w);
    assert_last(w, &before);
    fab_target_lft_fini(&before);
}

/* Checks that fab_repair_session_proof_blocks finds all blocks that the proof of the delta reads:
 * if all other blocks of the present switches have random entries, the proof still succeeds. */
static void assert_proof_blocks(struct world *w, const struct fab_repair_delta *d,
                                struct fab_prng *prng)
{
    struct fab_repair_session *t = &w->session;
    struct fab_repair_change at;
    struct fab_lft other;
    uint64_t *read = NULL;
    uint32_t blocks = fab_target_lft_blocks(&w->target->lft);
    if (d->lost > 0 || fab_repair_overlay_size(t->state) > 0)
        return; /* the proof reads further entries */
    ck_assert_int_eq(fab_target_lft_copy(fab_repair_session_tables(t, w->target), &other), FAB_OK);
    ck_assert_int_eq(fab_repair_session_proof_blocks(t, w->now, &w->target->lft, d, &read), FAB_OK);
    for (uint32_t sw = 0; sw < w->now->switch_count; sw++)
        for (uint32_t lid = 0; lid <= other.top; lid++) {
            bool is_read = fab_base_bits_get(read, (size_t)sw * blocks + lid / FAB_LFT_BLOCK);
            uint8_t *entry = fab_target_lft_row(&other, baseline_switch(w, sw)) + lid;
            *entry = is_read ? *entry : (uint8_t)draw(prng, 256);
            w->spared += !is_read;
        }
    ck_assert_int_eq(fab_repair_prove(t->state, &other, d, &at), FAB_OK);
    for (size_t i = 0; i < d->changes; i++) {
        uint32_t sw = t->idmap.to_current[d->change[i].sw];
        ck_assert(sw == FAB_NONE ||
                  fab_base_bits_get(read, (size_t)sw * blocks + d->change[i].lid / FAB_LFT_BLOCK));
    }
    free(read);
    fab_target_lft_fini(&other);
}

/* Lets a link of the present fabric fail. Repairs the tables without making a new target. */
static void repair_in_place(struct world *w, struct fab_prng *prng)
{
    struct fab_repair_session *t = &w->session;
    struct fab_repair_delta d;
    struct fab_repair_change at;
    char why[200];
    uint32_t dead[64], port;
    do
        port = draw(prng, w->now->port_count);
    while (!fab_fabric_isl_is_up(w->now, port));
    ck_assert_uint_lt(t->idmap.deads, 64);
    for (uint32_t i = 0; i < t->idmap.deads; i++)
        dead[i] = t->idmap.dead[i];
    dead[t->idmap.deads] = fab_repair_session_port(t, w->now, port);
    fab_repair_session_prepare(t, w->target);
    struct fab_lft *own = fab_repair_session_tables(t, w->target);
    if (fab_repair_plan(t->state, own, dead, t->idmap.deads + 1, &d, why, sizeof(why)) != FAB_OK)
        return;
    ck_assert_int_eq(fab_repair_prove(t->state, own, &d, &at), FAB_OK);
    assert_proof_blocks(w, &d, prng);
    ck_assert_int_eq(fab_repair_session_commit(t, w->target, &d), FAB_OK);
    bool leaves_out = d.lost > 0;
    fab_repair_delta_fini(&d);
    assert_tables(w);
    struct fab_fabric *less = NULL;
    ck_assert_int_eq(fab_fabric_clone(w->now, &less), FAB_OK);
    fab_fabric_edit_port(less, port)->info.phys_state = FAB_PHYS_POLLING;
    struct fab_verdict v = proven(less, w->target, w->policy.max_hops);
    ck_assert(v.deadlock_free && v.unreachable_host_pairs == 0);
    ck_assert(v.unreachable_pairs == 0 || leaves_out);
    fab_verify_verdict_fini(&v);
    fab_fabric_unref(less);
}

static void check(const char *name, struct fab_fabric *f, uint8_t lmc, struct fab_prng *prng)
{
    struct world w = {.whole = f};
    fab_policy_defaults(&w.policy);
    w.policy.lmc = lmc;
    w.first = routed_by(f, &w.policy, "updn");
    snprintf(w.first->engine, sizeof(w.first->engine), "updn");
    snprintf(w.first->reason, sizeof(w.first->reason), "as configured");
    start_session(&w);
    assert_ports(&w);
    for (unsigned i = 0; i < test_rounds(40); i++) {
        bool all = draw(prng, 4) == 0;
        update(&w, all ? fab_fabric_ref(f) : part_of(f, prng));
        /* when all nodes and links are back, the tables must be those of the engine again */
        if (all)
            ck_assert(fab_target_lft_same(&w.target->lft, &w.first->lft));
        if (draw(prng, 3) == 0)
            repair_in_place(&w, prng);
    }
    printf("# %s: %u updates, %u with other ids, %u restarts, %u dead links, %u absent switches\n",
           name, w.updates, w.partial, w.restarts, w.dead_links, w.absent_switches);
    ck_assert_uint_gt(w.partial, 0);
    ck_assert_uint_gt(w.dead_links, 0);
    end_session(&w);
    fab_target_unref(w.first);
    fab_policy_fini(&w.policy);
    fab_fabric_unref(f);
}

/* Many links fail, one at a time, in a fabric with many LFT blocks. */
START_TEST(a_proof_reads_few_blocks)
{
    struct fab_prng prng;
    struct world w = {.whole = _i == 0 ? fat_tree(8, 3, 1) : random_fabric(40, 5, 8, 7)};
    fab_base_prng_init(&prng, test_seed("proof blocks", 62));
    fab_policy_defaults(&w.policy);
    w.first = routed_by(w.whole, &w.policy, "updn");
    for (unsigned i = 0; i < test_rounds(20); i++) {
        start_session(&w);
        repair_in_place(&w, &prng);
        end_session(&w);
    }
    ck_assert_uint_gt(w.spared, 0);
    fab_target_unref(w.first);
    fab_policy_fini(&w.policy);
    fab_fabric_unref(w.whole);
}
END_TEST

/* ---- orders ---------------------------------------------------------------------------------- */

static bool agrees(const struct world *w, const uint64_t *guid, uint32_t count)
{
    bool ret = false;
    ck_assert_int_eq(fab_repair_session_agrees(&w->session, w->now, guid, count, &ret), FAB_OK);
    return ret;
}

static void swap(uint64_t *guid, uint32_t i, uint32_t k)
{
    uint64_t was = guid[i];
    guid[i] = guid[k];
    guid[k] = was;
}

static bool are_neighbours(const struct fab_fabric *f, uint64_t a, uint64_t b)
{
    uint32_t sw = fab_fabric_node_by_guid(f, a);
    for (uint32_t num = 1; num <= f->nodes[sw].num_ports; num++) {
        uint32_t peer = fab_fabric_peer_node(f, fab_fabric_port_id(f, sw, (uint8_t)num));
        if (peer != FAB_NONE && f->nodes[peer].guid == b)
            return true;
    }
    return false;
}

/* Two orders agree if each link leads up in both, so only the order of neighbours matters. An order
 * that lacks a switch, or has one twice, never agrees; a further switch does not matter. */
START_TEST(orders_agree_if_links_do)
{
    struct world w = {.whole = fat_tree(6, 3, 1)};
    uint64_t *guid = NULL;
    uint32_t count = 0, neighbours = 0;
    fab_policy_defaults(&w.policy);
    w.first = routed_by(w.whole, &w.policy, "updn");
    start_session(&w);
    ck_assert_int_eq(fab_repair_session_order(&w.session, w.now, &guid, &count), FAB_OK);
    ck_assert_uint_eq(count, w.now->switch_count);
    ck_assert(agrees(&w, guid, count));
    for (uint32_t i = 0; i + 1 < count; i++) {
        bool linked = are_neighbours(w.now, guid[i], guid[i + 1]);
        swap(guid, i, i + 1);
        ck_assert(agrees(&w, guid, count) == !linked);
        swap(guid, i, i + 1);
        neighbours += linked;
    }
    ck_assert(neighbours > 0 && neighbours < count - 1);
    ck_assert(!agrees(&w, guid + 1, count - 1));
    uint64_t *more = calloc(count + 1, sizeof(*more));
    memcpy(more + 1, guid, count * sizeof(*guid));
    more[0] = 0x1234;
    ck_assert(agrees(&w, more, count + 1));
    more[0] = guid[count - 1];
    ck_assert(!agrees(&w, more, count + 1));
    free(more);
    free(guid);
    end_session(&w);
    fab_target_unref(w.first);
    fab_policy_fini(&w.policy);
    fab_fabric_unref(w.whole);
}
END_TEST

/* Switches and links leave and return. The order of the switches that are left agrees with that of
 * the whole fabric. */
START_TEST(an_order_without_some_switches)
{
    struct fab_prng prng;
    uint64_t *guid = NULL;
    uint32_t count = 0, partial = 0;
    struct world w = {.whole = fat_tree(6, 2, 1)};
    fab_base_prng_init(&prng, test_seed("orders", 63));
    fab_policy_defaults(&w.policy);
    w.first = routed_by(w.whole, &w.policy, "updn");
    snprintf(w.first->engine, sizeof(w.first->engine), "updn");
    start_session(&w);
    uint64_t *whole = NULL;
    uint32_t whole_count = 0;
    ck_assert_int_eq(fab_repair_session_order(&w.session, w.now, &whole, &whole_count), FAB_OK);
    for (unsigned i = 0; i < test_rounds(40) || (partial == 0 && i < 40); i++) {
        update(&w, part_of(w.whole, &prng));
        if (fab_repair_positions(w.session.state) == NULL)
            continue; /* switches are relabelled */
        ck_assert_int_eq(fab_repair_session_order(&w.session, w.now, &guid, &count), FAB_OK);
        ck_assert_uint_eq(count, w.now->switch_count);
        ck_assert(agrees(&w, guid, count));
        ck_assert(agrees(&w, whole, whole_count));
        partial += count < whole_count;
        free(guid);
    }
    ck_assert_uint_gt(partial, 0);
    free(whole);
    end_session(&w);
    fab_target_unref(w.first);
    fab_policy_fini(&w.policy);
    fab_fabric_unref(w.whole);
}
END_TEST

/* ---- another manager ------------------------------------------------------------------------- */

/* Gives the session of `to` the tables of `from`, as a standby manager reads them. */
static int follow(struct world *to, const struct world *from)
{
    struct fab_target *next = fab_target_new();
    give_lids(to, from->now, &next->lids);
    int status =
        fab_repair_session_follow(&to->session, to->target, from->now, &from->target->lft, next);
    if (status != FAB_OK) {
        fab_target_unref(next);
        return status;
    }
    fab_target_unref(to->target);
    fab_fabric_unref(to->now);
    to->target = next;
    to->now = fab_fabric_ref(from->now);
    return FAB_OK;
}

/* One step of the incremental rebalance. */
static void rebalance(struct world *w)
{
    struct fab_repair_session *t = &w->session;
    struct fab_repair_delta d;
    struct fab_repair_change bad;
    uint32_t at = 0;
    struct fab_lft *own = fab_repair_session_tables(t, w->target);
    ck_assert_int_eq(fab_repair_rebalance(t->state, own, 8, &at, &d), FAB_OK);
    ck_assert_int_eq(fab_repair_prove(t->state, own, &d, &bad), FAB_OK);
    ck_assert_int_eq(fab_repair_session_commit(t, w->target, &d), FAB_OK);
    fab_repair_delta_fini(&d);
}

/* Changes one entry of the tables of `from`, at random. The session of `to` must refuse the tables
 * unless they pass the whole proof. Returns true if it refused them. */
static bool spoil(struct world *to, const struct world *from, struct fab_prng *prng)
{
    struct world bad = {.whole = from->whole, .policy = from->policy, .now = from->now};
    struct fab_verdict v;
    ck_assert_int_eq(fab_target_clone(from->target, &bad.target), FAB_OK);
    uint32_t sw = draw(prng, from->now->switch_count), lid = 1 + draw(prng, bad.target->lids.top);
    uint8_t port = (uint8_t)draw(prng, from->now->nodes[sw].num_ports + 1u);
    ck_assert_int_eq(fab_target_lft_unshare(&bad.target->lft), FAB_OK);
    ck_assert_int_eq(fab_target_lft_own(&bad.target->lft, sw, lid), FAB_OK);
    fab_target_lft_set(&bad.target->lft, sw, lid, port);
    int status = follow(to, &bad);
    if (status == FAB_OK) {
        v = proven(to->now, to->target, to->policy.max_hops);
        ck_assert(v.deadlock_free && v.unreachable_host_pairs == 0);
        ck_assert(v.unreachable_pairs == 0 || to->session.leaves_out);
        fab_verify_verdict_fini(&v);
    }
    fab_target_unref(bad.target);
    return status != FAB_OK;
}

/* The standby manager has read the tables of the master at any time, so its baseline is another
 * one. It follows repairs and rebalances of the master, and can repair the tables afterwards. */
static void check_follower(const char *name, struct fab_fabric *f, struct fab_prng *prng)
{
    struct world master = {.whole = f}, standby = {.whole = f};
    unsigned followed = 0, refused = 0, caught = 0;
    fab_policy_defaults(&master.policy);
    fab_policy_defaults(&standby.policy);
    master.first = routed_by(f, &master.policy, "updn");
    snprintf(master.first->engine, sizeof(master.first->engine), "updn");
    snprintf(master.first->reason, sizeof(master.first->reason), "as configured");
    standby.first = fab_target_ref(master.first);
    start_session(&master);
    start_session(&standby);
    for (unsigned i = 0; i < test_rounds(40) || (caught == 0 && i < 200); i++) {
        update(&master, draw(prng, 4) == 0 ? fab_fabric_ref(f) : part_of(f, prng));
        if (draw(prng, 2) == 0)
            rebalance(&master);
        if (draw(prng, 4) == 0)
            continue; /* the standby manager reads the tables after several changes */
        bool spoils = draw(prng, 4) == 0;
        if (spoils ? spoil(&standby, &master, prng) : follow(&standby, &master) != FAB_OK) {
            caught += spoils;
            refused += !spoils;
            end_session(&standby);
            start_session(&standby);
            continue;
        }
        if (spoils)
            continue;
        followed++;
        ck_assert(fab_target_lft_same(&standby.target->lft, &master.target->lft));
        assert_proven(&standby);
        assert_tables(&standby);
        if (standby.session.idmap.deads < 60)
            repair_in_place(&standby, prng);
    }
    printf("# %s: followed %u changes, refused %u, caught %u of the spoilt ones\n", name, followed,
           refused, caught);
    ck_assert_uint_gt(followed, 3 * refused);
    ck_assert_uint_gt(caught, 0);
    end_session(&master);
    end_session(&standby);
    fab_target_unref(master.first);
    fab_target_unref(standby.first);
    fab_policy_fini(&master.policy);
    fab_policy_fini(&standby.policy);
    fab_fabric_unref(f);
}

START_TEST(a_session_follows_another_manager)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("another manager", 64));
    check_follower("fat tree of 2 levels", fat_tree(6, 2, 1), &prng);
    check_follower("fat tree of 3 levels", fat_tree(4, 3, 1), &prng);
    check_follower("leaves and spines", leaf_spine(6, 4, 4), &prng);
    check_follower("random", random_fabric(14, 4, 2, fab_base_prng_next(&prng)), &prng);
}
END_TEST

START_TEST(tables_follow_what_is_there)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("repair sessions", 61));
    check("fat tree of 2 levels", fat_tree(6, 2, 1), 0, &prng);
    check("fat tree of 3 levels", fat_tree(4, 3, 1), 0, &prng);
    check("leaves and spines, 8 LIDs a port", leaf_spine(4, 3, 4), 3, &prng);
    check("random", random_fabric(10, 4, 2, fab_base_prng_next(&prng)), 0, &prng);
    check("random", random_fabric(14, 3, 1, fab_base_prng_next(&prng)), 0, &prng);
}
END_TEST

/* The present fabric has a node that the baseline does not have. The session cannot make tables for
 * this node, and ends. */
START_TEST(new_nodes_end_the_session)
{
    struct fab_fabric *whole = leaf_spine(4, 3, 2);
    struct world w = {.whole = whole};
    struct fab_builder *b = fab_fabric_builder_from(whole);
    fab_policy_defaults(&w.policy);
    w.first = routed_by(whole, &w.policy, "updn");
    ck_assert_int_eq(fab_fabric_builder_remove_node(b, whole->node_count - 1), FAB_OK);
    /* the baseline is made without the last node */
    struct fab_fabric *less = sealed(b);
    struct fab_target *of_less = routed_by(less, &w.policy, "updn");
    char why[200];
    struct fab_repair_input in = {.fabric = less,
                                  .policy = &w.policy,
                                  .lids = &of_less->lids,
                                  .lft = &of_less->lft,
                                  .vls = &of_less->vls};
    ck_assert_int_eq(fab_repair_session_new(&in, &w.session, why, sizeof(why)), FAB_OK);
    struct fab_target *next = fab_target_new();
    give_lids(&w, whole, &next->lids);
    ck_assert_int_eq(fab_repair_session_update(&w.session, of_less, whole, next), FAB_E_NOT_FOUND);
    fab_target_unref(next);
    fab_repair_session_fini(&w.session);
    ck_assert_ptr_null(w.session.state);
    fab_target_unref(of_less);
    fab_target_unref(w.first);
    fab_policy_fini(&w.policy);
    fab_fabric_unref(less);
    fab_fabric_unref(whole);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("repair sessions");
    TCase *tcase = tcase_create("sessions");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, orders_agree_if_links_do);
    tcase_add_test(tcase, an_order_without_some_switches);
    tcase_add_test(tcase, tables_follow_what_is_there);
    tcase_add_loop_test(tcase, a_proof_reads_few_blocks, 0, 2);
    tcase_add_test(tcase, new_nodes_end_the_session);
    tcase_add_test(tcase, a_session_follows_another_manager);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
