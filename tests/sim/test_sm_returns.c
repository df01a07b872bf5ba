/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When a link comes back, a local repair uses it again. Until the last write, no sweep and no
 * engine runs. Afterwards, the tables equal those before the failure byte for byte.
 *
 * In random fabrics, links fail and come back at random. The test checks each write of the manager:
 * the unanswered writes may take effect in any order, and no mixture of tables may have a loop or a
 * cycle of channel dependencies. A pair of endports may lose its path only if the manager announced
 * this.
 */
#include <stdlib.h>
#include <string.h>

#include "fabricd/sm/core/core.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/fault.h"
#include "libfabmgr/verify/verify.h"
#include "tests/sim/lab.h"

#define LINKS 256
#define WRITES 1024

/* ---- checks of mixtures ---------------------------------------------------------------------- */

/* An LFT write that the switch has not answered yet. */
struct flight {
    uint64_t tid;
    uint32_t sw, block;
    uint8_t data[FAB_LFT_BLOCK];
};
struct judge {
    struct flight flight[WRITES];
    unsigned flights;
    bool on; /* false: the test does not check the writes */
    /* True: a mixture may have at most `allowed` + `announced` pairs of endports without a path.
     * False: any number. */
    bool lossless;
    /* Number of pairs that lose their paths for some time in this round, according to the event
     * paths-paused. */
    uint64_t announced;
    /* Number of events before the writes of this round. Later events belong to the round. */
    unsigned events;
    /* The present round, identified by the number of SMPs that the manager had sent before it. */
    uint64_t round;
    /* Number of pairs of endports that had no path when the round began. */
    uint64_t allowed;
    unsigned judgements; /* number of checked mixtures */
    /* number of checked mixtures in which more than `allowed` pairs had no path */
    unsigned paused;
    unsigned lft_writes, port_writes, gets_of_tables;
    unsigned drained; /* number of entries that a write set to NO_ROUTE */
};

static uint32_t switch_of(struct lab *lab, const struct fab_mad *head, uint16_t dlid)
{
    const struct fab_fabric *f = fab_sim_fabric(lab->sim);
    if (head->mgmt_class == FAB_CLASS_SMP_DIRECTED)
        return lab_end_of(lab, &head->path);
    for (uint32_t sw = 0; sw < f->switch_count; sw++)
        if (fab_sim_port(lab->sim, sw, 0)->lid == dlid)
            return sw;
    ck_abort_msg("no switch has LID %u", dlid);
}

/* Follows the path from a switch to a LID over links that are up. */
static bool arrives(const struct fab_fabric *f, const struct fab_lft *lft, uint32_t sw,
                    uint32_t owner, uint32_t lid)
{
    for (unsigned hop = 0; hop < 64 && fab_fabric_node_is_switch(f, sw); hop++) {
        uint8_t num = fab_target_lft_at(lft, sw, lid);
        uint32_t port = fab_fabric_port_id(f, sw, num);
        if (num == 0 || num > f->nodes[sw].num_ports || !fab_fabric_port_is_up(f, port))
            return false;
        if (fab_fabric_port(f, port)->peer == owner)
            return true;
        sw = fab_fabric_peer_node(f, port);
    }
    return false;
}

/* Returns the number of pairs of adapter endports that have no path. */
static uint64_t count_lost(const struct fab_fabric *f, const struct fab_lids *lids,
                           const struct fab_lft *lft)
{
    uint64_t lost = 0;
    uint32_t first = f->nodes[f->switch_count].first_port;
    for (uint32_t to = first; to < f->port_count; to++)
        for (uint32_t from = first; from < f->port_count; from++) {
            uint32_t sw = fab_fabric_peer_node(f, from);
            bool pair = from != to && sw != FAB_NONE && lids->base[from] && lids->base[to] &&
                        fab_fabric_port_is_up(f, from) && fab_fabric_port_is_up(f, to);
            lost += pair && !arrives(f, lft, sw, to, lids->base[to]);
        }
    return lost;
}

/* Among the events with the number `event` and later, finds the last paths-paused. Returns the
 * number of pairs that it announces; 0: no such event. */
static uint64_t announced_since(const struct lab *lab, unsigned event)
{
    uint64_t pairs = 0;
    for (unsigned i = event; i < lab->event_count; i++)
        if (strcmp(lab->events[i].type, "paths-paused") == 0)
            pairs = strtoull(lab->events[i].message, NULL, 10);
    return pairs;
}

/* Checks a mixture of tables: those in the devices, with a random choice of the unanswered writes
 * in addition. begins: the round is about to send its first write. */
static void judge_mixture(struct lab *lab, struct judge *j, bool begins)
{
    struct fab_fabric *f = lab_devices(lab);
    struct fab_view *view = sm_view(lab->sm);
    struct fab_verdict verdict;
    struct fab_lids lids;
    struct fab_lft lft;
    char *text = NULL;
    lab_take_inactive_down(f);
    lab_read_lids(f, &lids);
    lab_read_lft(lab, f, lids.top, &lft);
    for (unsigned i = 0; i < j->flights; i++)
        if (lab_random(lab) % 2)
            memcpy(fab_target_lft_row(&lft, j->flight[i].sw) + j->flight[i].block * FAB_LFT_BLOCK,
                   j->flight[i].data, FAB_LFT_BLOCK);
    struct fab_verify_input in = {
        .fabric = f, .lids = &lids, .lft = &lft, .vls = view ? &view->target->vls : NULL};
    ck_assert_int_eq(fab_verify(&in, &verdict), FAB_OK);
    if (!fab_verify_verdict_good(&verdict))
        (void)fab_verify_witness_text(f, &verdict.witness, &text);
    ck_assert_msg(verdict.deadlock_free && verdict.witness.kind != FAB_E_LOOP,
                  "a mixture has a loop or a cycle: %s", text ? text : "?");
    uint64_t lost = count_lost(f, &lids, &lft);
    if (begins) {
        j->allowed = lost;
        j->announced = announced_since(lab, j->events);
    }
    j->paused += lost > j->allowed;
    ck_assert_msg(lost <= j->allowed + j->announced || !j->lossless,
                  "a mixture has lost %" PRIu64 " pairs, of which %" PRIu64 " may be, and %" PRIu64
                  " were announced: %s",
                  lost, j->allowed, j->announced, text ? text : "?");
    j->judgements++;
    free(text);
    fab_verify_verdict_fini(&verdict);
    fab_target_lft_fini(&lft);
    fab_target_lids_fini(&lids);
    fab_fabric_unref(f);
    if (view)
        fab_view_unref(view);
}

static void land(struct judge *j, uint64_t tid)
{
    for (unsigned i = 0; i < j->flights; i++)
        if (j->flight[i].tid == tid)
            j->flight[i--] = j->flight[--j->flights];
}

static void take_off(struct lab *lab, struct judge *j, const struct fab_mad *head,
                     const uint8_t *data, uint16_t dlid)
{
    ck_assert_uint_lt(j->flights, WRITES);
    struct flight *to = &j->flight[j->flights++];
    *to = (struct flight){
        .tid = head->tid, .sw = switch_of(lab, head, dlid), .block = head->attr_mod};
    memcpy(to->data, data, FAB_LFT_BLOCK);
}

/* Returns the number of entries of an LFT block that drop packets, but will not when the round has
 * ended. */
static unsigned count_drained(struct lab *lab, uint32_t sw, uint32_t block, const uint8_t *data)
{
    struct fab_view *v = sm_view(lab->sm);
    uint32_t id = fab_fabric_node_by_guid(v->fabric, fab_sim_fabric(lab->sim)->nodes[sw].guid);
    unsigned count = 0;
    for (uint32_t i = 0; i < FAB_LFT_BLOCK; i++) {
        uint32_t lid = block * FAB_LFT_BLOCK + i;
        count += data[i] == FAB_LFT_NO_ROUTE && lid <= v->target->lft.top &&
                 fab_target_lft_at(&v->target->lft, id, lid) != FAB_LFT_NO_ROUTE;
    }
    fab_view_unref(v);
    return count;
}

static void watch(struct lab *lab, const struct fab_mad *head, const uint8_t *data, uint16_t dlid,
                  bool sent)
{
    struct judge *j = lab->watch_ctx;
    bool smp = head->mgmt_class == FAB_CLASS_SMP_DIRECTED || head->mgmt_class == FAB_CLASS_SMP_LID;
    if (!smp)
        return;
    bool write = head->method == FAB_METHOD_SET;
    if (!sent) {
        land(j, head->tid);
        return;
    }
    j->lft_writes += write && head->attr_id == FAB_ATTR_LFT;
    j->port_writes += write && head->attr_id == FAB_ATTR_PORT_INFO;
    if (!write) {
        j->events = lab->event_count;
        return;
    }
    bool begins = j->round != lab->sm->run.sent_before;
    j->round = lab->sm->run.sent_before;
    if (begins)
        /* a new round: the manager no longer waits for the answers to older writes */
        j->flights = 0;
    if (j->on && lab->sm->run.round->probes)
        judge_mixture(lab, j, begins);
    if (head->attr_id != FAB_ATTR_LFT)
        return;
    take_off(lab, j, head, data, dlid);
    j->drained += count_drained(lab, j->flight[j->flights - 1].sw, head->attr_mod, data);
}

static void begin_judging(struct lab *lab, struct judge *j)
{
    *j = (struct judge){0};
    lab->watch = watch;
    lab->watch_ctx = j;
}

/* ---- one link -------------------------------------------------------------------------------- */

static uint64_t smps(struct lab *lab)
{
    struct sm_status status;
    sm_get_status(lab->sm, &status);
    return status.smps_sent;
}

/* Waits until the manager is idle. Before that, the devices send their traps again, because the
 * first ones may be lost at failed links. */
static void settle(struct lab *lab, const char *what)
{
    lab_repeat_traps(lab);
    lab_run(lab, 10, lab_is_idle, what);
    lab_run_for(lab, 0.2);
}

/* A link fails and comes back. After its return, the manager probes the ports of both switches,
 * verifies the link, and writes the tables. */
START_TEST(a_link_comes_back_without_a_sweep)
{
    struct lab lab;
    struct judge j;
    size_t len;
    struct reroute last;
    lab_open_virtual(&lab, lab_leaf_spine(18, 6, 6), NULL);
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_ready, "bring-up");
    uint8_t *before = lab_tables(&lab, &len);
    begin_judging(&lab, &j);
    lab_unlink(&lab, "leaf-003", 8);
    settle(&lab, "the repair");
    lab_forget_events(&lab);
    lab_forget_writes(&lab);
    j = (struct judge){.on = true};
    uint64_t sent = smps(&lab);
    lab_relink(&lab, "leaf-003", 8);
    const struct lab_event *e = lab_await(&lab, 1, "reroute-done");
    ck_assert_uint_eq(sm_reroutes(lab.sm, 0, &last, 1), 1);
    ck_assert_uint_eq(last.links_gained, 1);
    ck_assert_uint_eq(last.links_lost, 0);
    ck_assert_uint_gt(last.blocks, 0);
    /* The limit for the MADs of the repair: probes of the spine's 18 ports and the leaf's 12 ports,
     * four reads to verify the link, four writes of port states, and the LFT blocks. */
    ck_assert_uint_le(e->smps_sent - sent, 18 + 12 + 4 + 4 + last.blocks);
    ck_assert_uint_eq(j.port_writes, 4);
    ck_assert_str_eq(lab_await(&lab, 1, "link-up")->subject, "leaf-003/8");
    lab_assert_good(&lab);
    lab_assert_same_tables(&lab, before, len, true);
    lab_forget_writes(&lab);
    settle(&lab, "the sweep that checks the repair");
    ck_assert_uint_eq(lab.sets_lft, 0);
    ck_assert_uint_eq(lab.sets_port_info, 0);
    /* An event tables-published would mean that an engine ran or that all tables were proved. */
    ck_assert_ptr_null(lab_event(&lab, "tables-published"));
    ck_assert_ptr_null(lab_event(&lab, "link-down"));
    ck_assert_uint_eq(sm_census(lab.sm).active_links, 18 * 6 + 18 * 6);
    ck_assert_uint_gt(j.judgements, last.blocks);
    lab_assert_good(&lab);
    free(before);
    lab_close(&lab);
}
END_TEST

/* The labels of the tables follow from an order of the switches, in which one leaf is the highest
 * switch. Without its link to this leaf, a spine reaches the hosts of the leaf only over another
 * leaf, and its entries for these hosts must drop packets when the link comes back. No host sends
 * packets through these entries at that time, so no pair of hosts loses its path, and there is no
 * event paths-paused. */
START_TEST(no_pair_loses_its_path_when_a_link_of_any_leaf_comes_back)
{
    unsigned drained = 0;
    for (unsigned leaf = 1; leaf <= 6; leaf++) {
        struct lab lab;
        struct judge j;
        char name[16];
        snprintf(name, sizeof(name), "leaf-%03u", leaf);
        lab_open_virtual(&lab, lab_leaf_spine(6, 3, 3), NULL);
        sm_start(lab.sm);
        lab_run(&lab, 10, lab_is_ready, "bring-up");
        begin_judging(&lab, &j);
        lab_unlink(&lab, name, 5);
        settle(&lab, "the repair");
        lab_forget_events(&lab);
        j = (struct judge){.on = true, .lossless = true};
        lab_relink(&lab, name, 5);
        lab_await(&lab, 1, "reroute-done");
        settle(&lab, "the sweep that checks the repair");
        ck_assert_uint_gt(j.judgements, 0);
        ck_assert_uint_eq(j.paused, 0);
        ck_assert_ptr_null(lab_event(&lab, "paths-paused"));
        drained += j.drained > 0;
        lab_assert_good(&lab);
        lab_close(&lab);
    }
    /* one leaf is the highest switch */
    ck_assert_uint_eq(drained, 1);
}
END_TEST

/* Takes a link down or up, and drops the traps of this change. Only a light sweep can find the
 * change then. */
static void turn_unnoticed(struct lab *lab, const char *node, uint8_t port, bool up)
{
    fab_sim_loss(lab->sim, 1);
    if (up)
        lab_relink(lab, node, port);
    else
        lab_unlink(lab, node, port);
    lab_run_for(lab, 0.01);
    fab_sim_loss(lab->sim, 0);
}

/* A light sweep finds a link that went down or came up. The manager must then do the same as after
 * a trap, without a heavy sweep. */
START_TEST(a_link_that_a_light_sweep_finds_comes_back_without_a_sweep)
{
    struct lab lab;
    struct judge j;
    size_t len;
    struct reroute last;
    lab_open_virtual(&lab, lab_leaf_spine(18, 6, 6), NULL);
    lab_stop(&lab);
    lab.config.sweep.scrub_interval_s =
        0; /* switch the scrub off, because it could find the change before the light sweep */
    lab.config.sweep.light_interval_s = 10;
    lab_begin(&lab, NULL);
    fab_sim_set_timing(lab.sim, &(struct fab_sim_timing){.trap_us = 0});
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_ready, "bring-up");
    uint8_t *before = lab_tables(&lab, &len);
    begin_judging(&lab, &j);
    for (int up = 0; up < 2; up++) {
        lab_forget_events(&lab);
        j = (struct judge){.on = true};
        turn_unnoticed(&lab, "leaf-003", 8, up);
        uint64_t sent = smps(&lab);
        const struct lab_event *e = lab_await(&lab, 12, "reroute-done");
        ck_assert_uint_eq(sm_reroutes(lab.sm, 0, &last, 1), 1);
        ck_assert_str_eq(last.cause, "light sweep");
        ck_assert_uint_eq(up ? last.links_gained : last.links_lost, 1);
        /* The limit for the MADs: 24 of the light sweep, probes of the spine's 18 ports and the
         * leaf's 12 ports, and the LFT blocks. A link that comes up also needs four reads and four
         * writes. A link that goes down needs a read of another neighbour of each end. */
        ck_assert_uint_le(e->smps_sent - sent, 24 + 18 + 12 + (up ? 8u : 2u) + last.blocks);
        ck_assert_uint_eq(j.port_writes, up ? 4 : 0);
        ck_assert_uint_gt(j.judgements, up ? last.blocks : 0);
        lab_run_for(&lab, 1);
        ck_assert_ptr_null(lab_event(&lab, "tables-published"));
        lab_assert_good(&lab);
        /* The sweep that checked the repair has cleared PortStateChange. So the next light sweep
         * only reads each of the 24 switches once. */
        lab_run_for(&lab, 5);
        sent = smps(&lab);
        lab_run_for(&lab, 10);
        ck_assert_uint_eq(smps(&lab) - sent, 24);
    }
    lab_assert_same_tables(&lab, before, len, true);
    free(before);
    lab_close(&lab);
}
END_TEST

/* ---- random losses and returns --------------------------------------------------------------- */

struct links {
    /* [ISL] id of one of the two ports, in the simulated fabric */
    uint32_t port[LINKS];
    bool dead[LINKS];
    uint32_t count;
};

static void list_links(const struct fab_fabric *f, struct links *l)
{
    *l = (struct links){.count = 0};
    ck_assert_uint_lt(f->switch_count, 64);
    for (uint32_t p = 0; p < f->port_count; p++) {
        if (!fab_fabric_port_is_isl(f, p) || fab_fabric_port(f, p)->peer < p)
            continue;
        ck_assert_uint_lt(l->count, LINKS);
        l->port[l->count++] = p;
    }
}

/* Returns whether the ISLs connect all switches. Removed ISLs do not count, and the ISL `without`
 * does not count, either. */
static bool is_connected(const struct fab_fabric *f, const struct links *l, uint32_t without)
{
    uint64_t seen = 1, before = 0;
    while (seen != before) {
        before = seen;
        for (uint32_t i = 0; i < l->count; i++) {
            uint64_t a = UINT64_C(1) << fab_fabric_port(f, l->port[i])->node,
                     b = UINT64_C(1) << fab_fabric_peer_node(f, l->port[i]);
            if (i != without && !l->dead[i] && (seen & (a | b)))
                seen |= a | b;
        }
    }
    return (unsigned)__builtin_popcountll(seen) == f->switch_count;
}

static bool can_go(const struct fab_fabric *f, const struct links *l, uint32_t i)
{
    return !l->dead[i] && is_connected(f, l, i);
}

static void turn(struct lab *lab, struct links *l, uint32_t i)
{
    const struct fab_fabric *f = fab_sim_fabric(lab->sim);
    const struct fab_port *p = fab_fabric_port(f, l->port[i]);
    uint32_t a = p->node, b = fab_fabric_port(f, p->peer)->node;
    printf("# %s %s/%u - %s\n", l->dead[i] ? "plug" : "pull", f->nodes[a].desc, p->num,
           f->nodes[b].desc);
    if (l->dead[i])
        lab_relink(lab, f->nodes[a].desc, p->num);
    else
        lab_unlink(lab, f->nodes[a].desc, p->num);
    l->dead[i] = !l->dead[i];
}

enum step { LOSSES, RETURNS, BOTH, STEPS };

static void change_some(struct lab *lab, struct links *l, enum step step)
{
    const struct fab_fabric *f = fab_sim_fabric(lab->sim);
    for (unsigned n = 1 + (unsigned)(lab_random(lab) % 3); n > 0; n--) {
        bool back = step == RETURNS || (step == BOTH && n % 2 == 0);
        uint32_t i = (uint32_t)(lab_random(lab) % l->count);
        for (uint32_t k = 0; k < l->count && (back ? !l->dead[i] : !can_go(f, l, i)); k++)
            i = (i + 1) % l->count;
        if (back ? l->dead[i] : can_go(f, l, i))
            turn(lab, l, i);
    }
}

static struct fab_builder *some_fabric(uint64_t seed, const char **ret_engine)
{
    struct fab_builder *b = NULL;
    const struct fab_fat_tree_spec tree = {.radix = 4 + 2 * (uint32_t)(seed / 5 % 2), .levels = 3};
    const struct fab_leaf_spine_spec clos = {
        .leaves = 6, .spines = 3, .hosts_per_leaf = 3, .parallel = 1 + (uint32_t)(seed / 5 % 2)};
    const struct fab_random_spec any = {
        .switches = 10, .degree = 4, .hosts_per_switch = 2, .seed = seed};
    const struct fab_torus_spec torus = {
        .dimensions = 2, .size = {4, 3}, .hosts = 2, .parallel = 1};
    *ret_engine = NULL;
    switch (seed % 5) {
    case 0:
        ck_assert_int_eq(fab_fabric_generate_leaf_spine(&clos, &b), FAB_OK);
        break;
    case 1:
        *ret_engine = "updn";
        ck_assert_int_eq(fab_fabric_generate_random(&any, &b), FAB_OK);
        break;
    case 2:
        ck_assert_int_eq(fab_fabric_generate_torus(&torus, &b), FAB_OK);
        break;
    case 3:
        ck_assert_int_eq(fab_fabric_generate_random(&any, &b), FAB_OK);
        break;
    default:
        ck_assert_int_eq(fab_fabric_generate_fat_tree(&tree, &b), FAB_OK);
    }
    return b;
}

/* In a random fabric, links fail and come back in `steps` steps. Adds the number of local repairs
 * that used a link again to *ret_back. */
static void play(uint64_t seed, unsigned steps, struct judge *j, unsigned *ret_back)
{
    struct lab lab;
    struct links l;
    size_t len;
    struct reroute all[64];
    const char *engine;
    struct fab_builder *b = some_fabric(seed, &engine);
    lab_open_virtual(&lab, b, NULL);
    lab.prng = seed;
    lab.config.flapping.hold_down_s = 0;
    if (engine)
        snprintf(lab.config.policy.engine, sizeof(lab.config.policy.engine), "%s", engine);
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_idle, "bring-up");
    lab_run_for(&lab, 0.2);
    uint8_t *before = lab_tables(&lab, &len);
    list_links(fab_sim_fabric(lab.sim), &l);
    begin_judging(&lab, j);
    for (unsigned step = 0; step < steps; step++) {
        enum step what = (enum step)(lab_random(&lab) % STEPS);
        j->on = true;
        j->lossless = what == RETURNS;
        change_some(&lab, &l, what);
        settle(&lab, "the repair");
        j->on = false;
        lab_assert_good(&lab);
    }
    for (uint32_t i = 0; i < l.count; i++)
        if (l.dead[i])
            turn(&lab, &l, i);
    settle(&lab, "all links back");
    lab_assert_good(&lab);
    lab_assert_same_tables(&lab, before, len, true);
    uint32_t count = sm_reroutes(lab.sm, 0, all, 64);
    for (uint32_t i = 0; i < count; i++)
        *ret_back += all[i].links_gained > 0;
    free(before);
    lab_close(&lab);
}

START_TEST(random_links_come_and_go)
{
    uint64_t seed = test_seed("returns", 100);
    unsigned judgements = 0, back = 0, paused = 0;
    for (unsigned i = 0; i < test_rounds(10); i++) {
        struct judge j;
        printf("# seed %" PRIu64 "\n", seed + i);
        fflush(stdout);
        play(seed + i, 8, &j, &back);
        judgements += j.judgements;
        paused += j.paused;
    }
    printf("# %u mixtures judged, %u lost pairs, %u reroutes with returned links\n", judgements,
           paused, back);
    ck_assert_uint_gt(judgements, 100);
    ck_assert_uint_gt(back, 5);
}
END_TEST

/* Seeds with which an earlier version of the manager failed, and the reason. */
static const struct {
    uint64_t seed;
    const char *was;
} once_failed[] = {
    {1073, "a second fault while writes of the first repair were missing: the writes of its repair "
           "carried entries whose order was not proved"},
};

START_TEST(seeds_that_once_failed)
{
    struct judge j;
    unsigned back = 0;
    printf("# seed %" PRIu64 ": %s\n", once_failed[_i].seed, once_failed[_i].was);
    play(once_failed[_i].seed, 8, &j, &back);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("sm_returns");
    TCase *t = tcase_create("one link");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_link_comes_back_without_a_sweep);
    tcase_add_test(t, no_pair_loses_its_path_when_a_link_of_any_leaf_comes_back);
    tcase_add_test(t, a_link_that_a_light_sweep_finds_comes_back_without_a_sweep);
    suite_add_tcase(s, t);
    t = tcase_create("random");
    tcase_set_timeout(t, 240);
    tcase_add_test(t, random_links_come_and_go);
    tcase_add_loop_test(t, seeds_that_once_failed, 0, sizeof(once_failed) / sizeof(once_failed[0]));
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
