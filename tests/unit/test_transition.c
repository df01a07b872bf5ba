/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transitions between tables of random engines, policies and damaged fabrics. All writes are
 * applied one by one, in a random order within each step. After each write, libfabmgr/verify checks
 * the mixture of tables. It must have no loop, no cycle on any VL, and no more pairs without a path
 * than the transition announced.
 *
 * Packets in flight keep their old channel dependencies until the round ends. So the test collects
 * the dependencies of all packets that are sent during a round in a matrix, which must have no
 * cycle either. After the last write, the dependencies of packets with old and with new SLs
 * together must have no cycle, unless the transition reports one (stale_sls).
 *
 * If a transition has several steps, the test also applies all writes in any order, without steps.
 * Some of these mixtures must have a loop or a cycle, which shows that the steps are necessary.
 *
 * TRANSITION_ROUNDS=300 in the environment sets the number of transitions for each family of
 * fabrics.
 */
#include <string.h>

#include "libfabmgr/transition/transition.h"
#include "tests/unit/naive.h"
#include "tests/unit/route_families.h"

struct tally {
    uint32_t tried, by_verdict[7], steps, rounds_most, drained_lids, writes, mixtures;
    uint32_t lossy, stale, lanes, sampled, unsafe, unions, bad_unions;
};

struct tables { /* the tables of one engine, with their LIDs and VLs */
    struct fab_lids lids;
    struct fab_lft lft;
    struct fab_vls vls;
};

static void tables_fini(struct tables *t)
{
    fab_target_lids_fini(&t->lids);
    fab_target_lft_fini(&t->lft);
    fab_target_vls_fini(&t->vls);
}

static uint8_t lmc; /* LMC for the next tables */

/* Makes the tables of an engine for f. Returns false if the engine refuses f, or if its tables fail
 * the proof. */
static bool make_tables(const struct fab_fabric *f, const char *engine, struct fab_prng *prng,
                        struct tables *ret)
{
    struct fab_policy p;
    struct fab_verdict v;
    char why[200] = "";
    uint64_t root = f->nodes[fab_base_prng_below(prng, f->switch_count)].guid;
    *ret = (struct tables){0};
    fab_policy_defaults(&p);
    p.lmc = lmc;
    p.max_op_vls = (uint8_t)(2 + fab_base_prng_below(prng, 3));
    if (fab_base_prng_chance(prng, 0.3)) {
        p.roots = &root;
        p.root_count = 1;
    }
    assigned(f, &p, &ret->lids);
    struct fab_route_input in = {.fabric = f, .policy = &p, .lids = &ret->lids};
    int status = fab_route_engine_by_name(engine)->run(&in, &ret->lft, &ret->vls, why, sizeof(why));
    p.roots = NULL;
    p.root_count = 0;
    fab_policy_fini(&p);
    bool good = false;
    if (status == FAB_OK) {
        struct fab_verify_input check = {
            .fabric = f, .lids = &ret->lids, .lft = &ret->lft, .vls = &ret->vls};
        ck_assert_int_eq(fab_verify(&check, &v), FAB_OK);
        good = fab_verify_verdict_good(&v);
        fab_verify_verdict_fini(&v);
    }
    if (!good)
        tables_fini(ret);
    return good;
}

/* ---- paths ----------------------------------------------------------------------------------- */

/* Result of hop() if the packet has arrived at the LID; FAB_NONE: the packet is dropped. */
#define HOME (FAB_NONE - 1)
static uint32_t hop(const struct fab_fabric *f, const struct fab_lft *lft, uint32_t sw,
                    uint32_t lid, uint32_t owner, uint32_t *ret_port)
{
    uint8_t entry = fab_target_lft_at(lft, sw, lid);
    if (entry > f->nodes[sw].num_ports)
        return FAB_NONE;
    uint32_t port = fab_fabric_port_id(f, sw, entry);
    *ret_port = port;
    if (entry == 0)
        return port == owner ? HOME : FAB_NONE;
    if (!fab_fabric_port_is_up(f, port))
        return FAB_NONE;
    if (fab_fabric_port(f, port)->peer == owner)
        return HOME;
    uint32_t peer = fab_fabric_peer_node(f, port);
    return fab_fabric_node_is_switch(f, peer) ? peer : FAB_NONE;
}

static bool arrives(const struct fab_fabric *f, const struct fab_lft *lft, uint32_t sw,
                    uint32_t lid, uint32_t owner)
{
    uint32_t port;
    for (uint32_t hops = 0; hops <= f->switch_count; hops++) {
        sw = hop(f, lft, sw, lid, owner, &port);
        if (sw == HOME || sw == FAB_NONE)
            return sw == HOME;
    }
    return false;
}

/* ---- the world of one transition ------------------------------------------------------------- */

struct world {
    const struct fab_fabric *f;
    const struct tables *was, *is;
    const struct fab_transition *t;
    struct fab_lft at;
    /* [switches] number of LIDs that belong to endports at the switch or to its port 0 */
    uint32_t *owners;
    /* [switches][top + 1] true: packets from the switch reach the LID by the tables before the
     * transition, after it, or by the present mixture */
    bool *before, *after, *now;
    uint32_t vls;
    size_t size; /* number of channels: ports * VLs */
    /* bit matrix [size][size]: bit (a, b) is set if channel a depends on channel b */
    uint8_t *depends;
};

static uint32_t home_of(const struct world *w, uint32_t lid)
{
    uint32_t owner = w->is->lids.owner[lid], node = fab_fabric_port(w->f, owner)->node;
    if (fab_fabric_node_is_switch(w->f, node))
        return node;
    return fab_fabric_port_is_up(w->f, owner) ? fab_fabric_peer_node(w->f, owner) : FAB_NONE;
}

static void look(const struct world *w, const struct fab_lft *lft, uint32_t first, uint32_t last,
                 bool *ret)
{
    for (uint32_t lid = first; lid <= last && lid <= w->is->lids.top; lid++)
        for (uint32_t sw = 0; sw < w->f->switch_count; sw++)
            ret[(size_t)sw * w->at.stride + lid] =
                w->is->lids.owner[lid] != FAB_NONE &&
                arrives(w->f, lft, sw, lid, w->is->lids.owner[lid]);
}

/* Counts the pairs that have a path before and after the transition, but not by the present
 * mixture. */
static uint64_t count_lost(const struct world *w)
{
    uint64_t lost = 0;
    for (uint32_t lid = 1; lid <= w->is->lids.top; lid++)
        for (uint32_t sw = 0; sw < w->f->switch_count; sw++) {
            size_t i = (size_t)sw * w->at.stride + lid;
            if (w->before[i] && w->after[i] && !w->now[i])
                lost += w->owners[sw] - (home_of(w, lid) == sw);
        }
    return lost;
}

/* ---- the dependencies of all packets of a round ---------------------------------------------- */

static uint32_t vl_of(const struct fab_vls *v, uint32_t in, uint32_t out, uint8_t sl)
{
    return fab_target_vls_multiple(v) ? fab_target_vls_vl(v, in, out, sl) % v->count : 0;
}

static void send(struct world *w, uint32_t from, uint32_t lid, uint8_t sl)
{
    uint32_t sw = from, owner = w->is->lids.owner[lid], port = FAB_NONE;
    size_t last = SIZE_MAX;
    uint32_t in = fab_fabric_port_id(w->f, from, 0);
    for (uint32_t hops = 0; hops <= w->f->switch_count; hops++) {
        uint32_t next = hop(w->f, &w->at, sw, lid, owner, &port);
        if (next == HOME || next == FAB_NONE)
            return;
        size_t channel = (size_t)port * w->vls + vl_of(&w->is->vls, in, port, sl);
        if (last != SIZE_MAX)
            w->depends[(last * w->size + channel) / 8] |=
                (uint8_t)(1u << (last * w->size + channel) % 8);
        last = channel;
        in = fab_fabric_port(w->f, port)->peer;
        sw = next;
    }
}

/* Adds the dependencies of packets from all switches to this LID, by the present tables and with
 * the SLs in `sls`. */
static void send_all(struct world *w, const struct fab_vls *sls, uint32_t lid)
{
    if (w->is->lids.owner[lid] == FAB_NONE || home_of(w, lid) == FAB_NONE)
        return;
    for (uint32_t sw = 0; sw < w->f->switch_count; sw++) {
        if (w->owners[sw] == 0)
            continue;
        uint32_t home = home_of(w, lid);
        send(w, sw, lid, fab_target_vls_sl(sls, sw, home, lid));
    }
}

static bool find_cycle(const struct world *w, size_t at, uint8_t *colour)
{
    const uint8_t *row = w->depends + at * w->size / 8;
    colour[at] = 1;
    for (size_t to = 0; to < w->size; to++) {
        if (to % 8 == 0 && row[to / 8] == 0)
            to += 7;
        else if ((row[to / 8] >> to % 8 & 1) != 0 &&
                 (colour[to] == 1 || (colour[to] == 0 && find_cycle(w, to, colour))))
            return true;
    }
    colour[at] = 2;
    return false;
}

static bool round_has_cycle(const struct world *w)
{
    uint8_t *colour = calloc(w->size + 1, 1);
    bool cycle = false;
    for (size_t i = 0; i < w->size && !cycle; i++)
        cycle = colour[i] == 0 && find_cycle(w, i, colour);
    free(colour);
    return cycle;
}

/* A round begins when all packets of earlier rounds have arrived. So only the dependencies of the
 * present tables count. */
static void begin_round(struct world *w)
{
    memset(w->depends, 0, w->size * w->size / 8 + 8);
    for (uint32_t lid = 1; lid <= w->is->lids.top; lid++)
        send_all(w, &w->was->vls, lid);
}

/* All writes are acknowledged, but some hosts still use old SLs, and others use new ones. The
 * dependencies of packets with old and with new SLs together must have no cycle, unless the
 * transition reports one (stale_sls). */
static void check_union_of_sls(struct world *w, struct tally *tally)
{
    begin_round(w);
    for (uint32_t lid = 1; lid <= w->is->lids.top; lid++)
        send_all(w, &w->is->vls, lid);
    bool cycle = round_has_cycle(w);
    ck_assert_msg(w->t->stale_sls || !cycle, "a cycle with old and new SLs together");
    tally->unions++;
    tally->bad_unions += cycle;
}

/* ---- applying the writes --------------------------------------------------------------------- */

static struct fab_transition_judgement judge(const struct world *w, const struct fab_vls *sls)
{
    struct fab_transition_judgement j;
    ck_assert_int_eq(fab_transition_judge(w->f, &w->is->lids, &w->at, sls, &w->is->vls, &j),
                     FAB_OK);
    return j;
}

static void check_mixture(struct world *w, const struct fab_transition_step *step,
                          struct tally *tally)
{
    tally->mixtures++;
    uint64_t lost = count_lost(w);
    ck_assert_msg(lost <= step->lost_pairs, "%" PRIu64 " pairs lost, %" PRIu64 " announced", lost,
                  step->lost_pairs);
    struct fab_transition_judgement j = judge(w, &w->was->vls);
    ck_assert_msg(!j.loop, "a loop");
    ck_assert_msg(!j.cycle, "a cycle: %s, %u steps, %u rounds",
                  fab_transition_verdict_name(w->t->verdict), w->t->step_count, w->t->rounds);
}

static void carry_out_step(struct world *w, const struct fab_transition_step *step,
                           struct fab_prng *prng, struct tally *tally)
{
    uint32_t *order = calloc(step->count + 1u, sizeof(*order));
    for (uint32_t i = 0; i < step->count; i++)
        order[i] = step->first + i;
    fab_base_prng_shuffle(prng, order, step->count);
    for (uint32_t i = 0; i < step->count; i++) {
        const struct fab_transition_write *write = &w->t->writes[order[i]];
        uint32_t first = write->block * FAB_LFT_BLOCK, last = first + FAB_LFT_BLOCK - 1;
        fab_transition_apply(write, &w->is->lft, &w->at);
        look(w, &w->at, first, last, w->now);
        for (uint32_t lid = first; lid <= last && lid <= w->is->lids.top; lid++) {
            if (((write->set | write->drain) >> lid % 64 & 1) != 0)
                send_all(w, &w->was->vls, lid);
        }
        check_mixture(w, step, tally);
        tally->writes++;
    }
    free(order);
}

static void carry_out(struct world *w, struct fab_prng *prng, struct tally *tally)
{
    const struct fab_transition *t = w->t;
    begin_round(w);
    for (uint32_t i = 0; i < t->step_count; i++) {
        if (t->steps[i].settle) {
            ck_assert_msg(!round_has_cycle(w), "a cycle in the round before step %u", i);
            begin_round(w);
        }
        carry_out_step(w, &t->steps[i], prng, tally);
    }
    ck_assert_msg(
        !round_has_cycle(w), "a cycle in the last round: %s, %u steps, %u rounds, stale %d, %u VLs",
        fab_transition_verdict_name(t->verdict), t->step_count, t->rounds, t->stale_sls, w->vls);
    for (uint32_t sw = 0; sw < w->f->switch_count; sw++)
        ck_assert_mem_eq(fab_target_lft_row(&w->at, sw), fab_target_lft_row(&w->is->lft, sw),
                         w->is->lids.top + 1);
    /* the final tables have no cycle, whether hosts use old or new SLs */
    ck_assert(!judge(w, &w->was->vls).cycle);
    ck_assert(!judge(w, &w->is->vls).cycle);
    check_union_of_sls(w, tally);
}

/* Applies all writes in a random order, without steps. Returns true if one of the mixtures has a
 * loop or a cycle. */
static bool is_unsafe_at_once(struct world *w, struct fab_prng *prng)
{
    const struct fab_lft *now = &w->is->lft;
    uint32_t count = now->switch_count, *order = calloc(count + 1u, sizeof(*order));
    bool unsafe = false;
    memcpy(w->at.entries, w->was->lft.entries, w->at.stride * w->at.switch_count);
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    fab_base_prng_shuffle(prng, order, count);
    for (uint32_t i = 0; i < count && !unsafe; i++) {
        memcpy(fab_target_lft_row(&w->at, order[i]), fab_target_lft_row(now, order[i]),
               now->stride);
        struct fab_transition_judgement j = judge(w, &w->was->vls);
        unsafe = j.loop || j.cycle;
    }
    free(order);
    return unsafe;
}

/* ---- one transition -------------------------------------------------------------------------- */

static void world_init(struct world *w)
{
    const struct fab_lft *lft = &w->was->lft;
    size_t cells = lft->stride * lft->switch_count + 1;
    uint32_t a = fab_target_vls_count(&w->was->vls), b = fab_target_vls_count(&w->is->vls);
    ck_assert_int_eq(fab_target_lft_init(&w->at, lft->switch_count, lft->top), FAB_OK);
    memcpy(w->at.entries, lft->entries, lft->stride * lft->switch_count);
    w->owners = calloc(w->f->switch_count + 1u, sizeof(*w->owners));
    w->before = calloc(cells, 1);
    w->after = calloc(cells, 1);
    w->now = calloc(cells, 1);
    w->vls = a > b ? a : b;
    uint32_t ports = w->f->nodes[w->f->switch_count - 1].first_port +
                     w->f->nodes[w->f->switch_count - 1].num_ports + 1u;
    w->size = ((size_t)ports * w->vls + 7) / 8 * 8;
    w->depends = calloc(w->size, w->size / 8 + 1);
    ck_assert_ptr_nonnull(w->depends);
    for (uint32_t port = 0; port < w->f->port_count; port++) {
        uint32_t lid = w->is->lids.base[port];
        if (lid != 0 && home_of(w, lid) != FAB_NONE &&
            fab_fabric_node_is_switch(w->f, home_of(w, lid)))
            w->owners[home_of(w, lid)]++;
    }
    look(w, &w->at, 1, w->is->lids.top, w->before);
    look(w, &w->is->lft, 1, w->is->lids.top, w->after);
    memcpy(w->now, w->before, cells);
}

static void world_fini(struct world *w)
{
    fab_target_lft_fini(&w->at);
    free(w->owners);
    free(w->before);
    free(w->after);
    free(w->now);
    free(w->depends);
}

static void note(struct tally *tally, const struct fab_transition *t)
{
    tally->tried++;
    tally->by_verdict[t->verdict]++;
    tally->steps += t->step_count;
    tally->rounds_most = t->rounds > tally->rounds_most ? t->rounds : tally->rounds_most;
    tally->drained_lids += t->drained;
    tally->lossy += t->lost_pairs > 0;
    tally->stale += t->stale_sls;
    tally->lanes += t->unproven_lanes;
}

static void check(const struct fab_fabric *f, const struct tables *was, const struct tables *is,
                  struct fab_prng *prng, struct tally *tally)
{
    struct fab_transition t;
    struct fab_transition_input in = {.fabric = f,
                                      .lids = &is->lids,
                                      .old_lft = &was->lft,
                                      .new_lft = &is->lft,
                                      .old_vls = &was->vls,
                                      .new_vls = &is->vls};
    ck_assert_uint_eq(was->lids.top, is->lids.top);
    ck_assert_int_eq(fab_transition_make(&in, &t), FAB_OK);
    note(tally, &t);
    if (t.verdict == FAB_TRANSITION_NOTHING)
        ck_assert_uint_eq(t.write_count, 0);
    if (t.verdict == FAB_TRANSITION_NEW_CYCLE)
        ck_assert(t.stale_sls && t.sl_pairs > 0);
    /* With the old SL-to-VL tables, the old LFTs have no cycle: an engine made them, and links that
     * have failed since only remove dependencies. But the new SL-to-VL tables are written before
     * the LFTs, and with these, the old LFTs can have a cycle. */
    if (t.verdict == FAB_TRANSITION_OLD_CYCLE)
        ck_assert(t.unproven_lanes);
    if (t.verdict != FAB_TRANSITION_NOTHING && t.verdict < FAB_TRANSITION_OLD_CYCLE) {
        struct world w = {.f = f, .was = was, .is = is, .t = &t};
        world_init(&w);
        carry_out(&w, prng, tally);
        if (t.verdict == FAB_TRANSITION_STEPS || t.verdict == FAB_TRANSITION_DRAINS) {
            tally->sampled++;
            tally->unsafe += is_unsafe_at_once(&w, prng);
        }
        world_fini(&w);
    }
    fab_transition_fini(&t);
}

/* ---- families -------------------------------------------------------------------------------- */

static const char *draw_engine(const struct family *fam, struct fab_prng *prng)
{
    size_t count = 0;
    while (fam->engines[count] != NULL)
        count++;
    return fam->engines[fab_base_prng_below(prng, count)];
}

static void try_one(const struct family *fam, struct fab_prng *prng, struct tally *tally)
{
    struct fab_fabric *whole = fam->draw(prng);
    struct fab_fabric *old = damaged_copy(whole, prng);
    struct fab_fabric *now =
        fab_base_prng_chance(prng, 0.5) ? fab_fabric_ref(old) : damaged_copy(whole, prng);
    struct tables was, is;
    /* in every fourth transition, endports have 4 LIDs, so that the LFTs have several blocks */
    lmc = tally->tried % 4 == 3 ? 2 : 0;
    if (make_tables(old, draw_engine(fam, prng), prng, &was)) {
        if (make_tables(now, draw_engine(fam, prng), prng, &is)) {
            check(now, &was, &is, prng, tally);
            tables_fini(&is);
        }
        tables_fini(&was);
    }
    fab_fabric_unref(whole);
    fab_fabric_unref(old);
    fab_fabric_unref(now);
}

static unsigned rounds_wanted(unsigned usual)
{
    const char *wanted = getenv("TRANSITION_ROUNDS");
    return wanted != NULL ? (unsigned)strtoul(wanted, NULL, 0) : test_rounds(usual);
}

START_TEST(transitions)
{
    const struct family *fam = &families[_i];
    struct fab_prng prng;
    struct tally t = {0};
    unsigned wanted = rounds_wanted(16);
    fab_base_prng_init(&prng, test_seed(fam->name, 160 + (uint64_t)_i));
    for (unsigned i = 0; i < wanted * 10 && t.tried < wanted; i++)
        try_one(fam, &prng, &t);
    printf(
        "# %s: %u transitions; nothing %u, any order %u, steps %u, drains %u (%u LIDs), old "
        "cycle %u; %u with announced losses, stale SLs %u, SL-to-VL unproven %u; %u steps, "
        "at most %u rounds; %u mixtures; at once %u of %u unsafe; old and new SLs together have a "
        "cycle in %u of %u\n",
        fam->name, t.tried, t.by_verdict[FAB_TRANSITION_NOTHING],
        t.by_verdict[FAB_TRANSITION_ANY_ORDER], t.by_verdict[FAB_TRANSITION_STEPS],
        t.by_verdict[FAB_TRANSITION_DRAINS], t.drained_lids, t.by_verdict[FAB_TRANSITION_OLD_CYCLE],
        t.lossy, t.stale, t.lanes, t.steps, t.rounds_most, t.mixtures, t.unsafe, t.sampled,
        t.bad_unions, t.unions);
    fflush(stdout);
    ck_assert_uint_gt(t.tried, 0);
    ck_assert(t.sampled < 8 || t.unsafe > 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("transitions");
    TCase *tcase = tcase_create("mixtures");
    tcase_set_timeout(tcase, 3600);
    tcase_add_loop_test(tcase, transitions, 0, FAMILIES);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
