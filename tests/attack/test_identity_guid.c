/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rogue host answers NodeInfo with the GUIDs of another host, or of a switch.
 *
 *  Before contest.c was written, the device that discovery reached first got the GUID. If this was
 * the rogue, it got the LID, the routes and the partitions of the victim, and the victim was left
 * out. This could happen in a targeted sweep, after a restart, and in a heavy sweep, and even to
 * the manager's own port. A rogue with the GUID of a switch appeared as a link of that switch. A
 * rogue with only the port GUID of the victim took the LID of the victim, which moved from LID 17
 * to 34. Without contest.c, only the two tests of moved hosts pass.
 *
 *  The fabric has 6 leaves with 4 hosts each and 3 spines. The manager is host-0001 (leaf-001/1).
 * The rogue is host-0002 (leaf-001/2), so that each sweep reaches it before the victim, host-0017
 * (leaf-005/1).
 */
#include <string.h>

#include "fabricd/base/events.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/fault.h"
#include "tests/sim/lab.h"

#define ROGUE "host-0002"
#define ROGUE_PLACE "leaf-001/2"
#define VICTIM "host-0017"
#define VICTIM_PLACE "leaf-005/1"

static struct fab_node_info identity(struct lab *lab, const char *name)
{
    const struct fab_fabric *f = fab_sim_fabric(lab->sim);
    uint32_t node = lab_node(lab, name);
    struct fab_node_info info = f->nodes[node].info;
    info.local_port = 0;
    return info;
}

static void pretend(struct lab *lab, const char *name, const struct fab_node_info *as)
{
    ck_assert_int_eq(fab_sim_impersonate(lab->sim, lab_node(lab, name), as), FAB_OK);
}

static void bounce(struct lab *lab, const char *leaf, uint8_t port)
{
    lab_unlink(lab, leaf, port);
    lab_run_for(lab, 1);
    lab_relink(lab, leaf, port);
    lab_run_for(lab, 3);
}

static void swept(void *ctx, int status, const char *message)
{
    (void)message;
    ck_assert_int_eq(status, FAB_OK);
    *(bool *)ctx = true;
}

static void sweep(struct lab *lab)
{
    bool done = false;
    ck_assert_int_eq(sm_sweep(lab->sm, swept, &done), FAB_OK);
    for (int i = 0; i < 300 && !done; i++)
        lab_run_for(lab, 0.1);
    ck_assert(done);
    lab_run(lab, 30, lab_is_idle, "idle after the sweep");
}

static void begin(struct lab *lab, const char *state)
{
    lab_open_virtual(lab, lab_leaf_spine(6, 3, 4), state);
    sm_start(lab->sm);
    lab_run(lab, 20, lab_is_ready, "bring-up");
    lab_forget_events(lab);
}

/* Returns whether the LFTs lead packets for this LID from every switch to this node. */
static bool all_switches_lead_to(struct lab *lab, uint32_t lid, uint32_t node)
{
    const struct fab_fabric *f = fab_sim_fabric(lab->sim);
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        uint32_t at = sw;
        for (int hops = 0; at < f->switch_count && hops < 64 && at != FAB_NONE; hops++) {
            uint32_t top = 0;
            const uint8_t *lft = fab_sim_lft(lab->sim, at, &top);
            if (lft == NULL || lid > top || lft[lid] == 0 || lft[lid] > f->nodes[at].num_ports)
                return false;
            at = fab_fabric_peer_node(f, fab_fabric_port_id(f, at, lft[lid]));
        }
        if (at != node)
            return false;
    }
    return true;
}

static uint32_t lid_of(struct lab *lab, const char *name)
{
    return fab_sim_port(lab->sim, lab_node(lab, name), 1)->lid;
}

/* Checks that the victim has its LID and its routes, and that the view has it at its own switch
 * port. No other device may have its GUID. */
static void assert_victim_is_whole(struct lab *lab, const char *victim, uint32_t lid)
{
    const struct fab_fabric *f = fab_sim_fabric(lab->sim);
    uint32_t node = lab_node(lab, victim);
    const struct fab_port *port = fab_fabric_port(f, fab_fabric_port_id(f, node, 1));
    struct fab_view *v = sm_view(lab->sm);
    uint32_t seen = fab_fabric_node_by_guid(v->fabric, f->nodes[node].guid);
    ck_assert_uint_ne(seen, FAB_NONE);
    uint32_t at = fab_fabric_port_id(v->fabric, seen, 1);
    const struct fab_port *peer = fab_fabric_port(v->fabric, fab_fabric_port(v->fabric, at)->peer);
    ck_assert_uint_eq(v->fabric->nodes[peer->node].guid,
                      f->nodes[fab_fabric_port(f, port->peer)->node].guid);
    ck_assert_uint_eq(peer->num, fab_fabric_port(f, port->peer)->num);
    ck_assert_uint_eq(v->target->lids.base[at], lid);
    fab_view_unref(v);
    ck_assert_uint_eq(fab_sim_port(lab->sim, node, 1)->lid, lid);
    ck_assert_uint_eq(fab_sim_port(lab->sim, node, 1)->port_state, FAB_STATE_ACTIVE);
    ck_assert(all_switches_lead_to(lab, lid, node));
}

static void assert_named(struct lab *lab, const char *newcomer, const char *first)
{
    const struct lab_event *e = lab_event(lab, "duplicate-guid");
    ck_assert_ptr_nonnull(e);
    ck_assert_str_eq(e->subject, newcomer);
    ck_assert_msg(strstr(e->message, first) != NULL, "%s", e->message);
}

/* ---- hosts ---- */

START_TEST(a_heavy_sweep_leaves_the_newcomer_out)
{
    struct lab lab;
    begin(&lab, NULL);
    uint32_t lid = lid_of(&lab, VICTIM);
    struct fab_node_info as = identity(&lab, VICTIM);
    pretend(&lab, ROGUE, &as);
    for (int i = 0; i < 3; i++) {
        sweep(&lab);
        assert_victim_is_whole(&lab, VICTIM, lid);
    }
    assert_named(&lab, ROGUE_PLACE, VICTIM_PLACE);
    ck_assert_uint_eq(lab_count_events(&lab, "duplicate-guid"), 1);
    /* the host shows its own GUIDs again, and gets a LID */
    pretend(&lab, ROGUE, NULL);
    sweep(&lab);
    lab_run_for(&lab, 5);
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

START_TEST(a_targeted_sweep_leaves_the_newcomer_out)
{
    struct lab lab;
    begin(&lab, NULL);
    uint32_t lid = lid_of(&lab, VICTIM);
    struct fab_node_info as = identity(&lab, VICTIM);
    pretend(&lab, ROGUE, &as);
    bounce(&lab, "leaf-001", 2);
    assert_victim_is_whole(&lab, VICTIM, lid);
    assert_named(&lab, ROGUE_PLACE, VICTIM_PLACE);
    lab_run_for(&lab, 120); /* each light sweep reads the contested port again */
    assert_victim_is_whole(&lab, VICTIM, lid);
    sweep(&lab);
    assert_victim_is_whole(&lab, VICTIM, lid);
    ck_assert_uint_eq(lab_count_events(&lab, "duplicate-guid"), 1);
    lab_close(&lab);
}
END_TEST

START_TEST(the_port_guid_alone_is_not_shared_either)
{
    struct lab lab;
    begin(&lab, NULL);
    uint32_t lid = lid_of(&lab, VICTIM);
    struct fab_node_info as = identity(&lab, VICTIM);
    as.node_guid = 0xbad;
    pretend(&lab, ROGUE, &as);
    bounce(&lab, "leaf-001", 2);
    assert_victim_is_whole(&lab, VICTIM, lid);
    assert_named(&lab, ROGUE_PLACE, VICTIM_PLACE);
    sweep(&lab);
    assert_victim_is_whole(&lab, VICTIM, lid);
    lab_close(&lab);
}
END_TEST

START_TEST(the_managers_own_guid_is_not_taken)
{
    struct lab lab;
    begin(&lab, NULL);
    uint32_t lid = lid_of(&lab, "host-0001");
    struct fab_node_info as = identity(&lab, "host-0001");
    pretend(&lab, ROGUE, &as);
    bounce(&lab, "leaf-001", 2);
    assert_victim_is_whole(&lab, "host-0001", lid);
    sweep(&lab);
    assert_victim_is_whole(&lab, "host-0001", lid);
    assert_named(&lab, ROGUE_PLACE, "leaf-001/1");
    lab_close(&lab);
}
END_TEST

/* ---- switches ---- */

/* The rogue answers with the GUIDs and a port number of a switch: first with the number of a port
 * that is in use, then with that of a port that is down. */
START_TEST(a_host_does_not_become_a_switch)
{
    for (uint8_t port = 1; port <= 6; port += 5) {
        struct lab lab;
        begin(&lab, NULL);
        uint32_t lid = lid_of(&lab, VICTIM);
        lab_unlink(&lab, "spine-001", 6);
        lab_run_for(&lab, 5);
        struct fab_node_info as = identity(&lab, "spine-001");
        as.local_port = port;
        pretend(&lab, ROGUE, &as);
        bounce(&lab, "leaf-001", 2);
        assert_victim_is_whole(&lab, VICTIM, lid);
        assert_named(&lab, ROGUE_PLACE, "leaf-");
        sweep(&lab);
        assert_victim_is_whole(&lab, VICTIM, lid);
        lab_relink(&lab, "spine-001", 6);
        lab_run_for(&lab, 5);
        sweep(&lab);
        assert_victim_is_whole(&lab, VICTIM, lid);
        lab_close(&lab);
    }
}
END_TEST

/* ---- moves ---- */

/* Two hosts exchange their switch ports, and no trap reports this. Both keep their LIDs. */
START_TEST(a_moved_host_is_taken_over)
{
    struct lab lab;
    begin(&lab, NULL);
    uint32_t lid = lid_of(&lab, VICTIM);
    lab_exchange(&lab, "leaf-005", 1, "leaf-003", 2);
    sweep(&lab);
    lab_run_for(&lab, 5);
    lab_assert_good(&lab);
    ck_assert_uint_eq(lid_of(&lab, VICTIM), lid);
    ck_assert_uint_eq(lab_count_events(&lab, "duplicate-guid"), 0);
    ck_assert_uint_eq(lab_count_events(&lab, "node-moved"), 2);
    lab_close(&lab);
}
END_TEST

/* The victim does not answer. The rogue with its GUID might be the victim at a new place, so the
 * manager accepts it and emits node-moved. */
START_TEST(a_guid_that_no_longer_answers_moves)
{
    struct lab lab;
    begin(&lab, NULL);
    struct fab_node_info as = identity(&lab, VICTIM);
    lab_silence(&lab, VICTIM);
    pretend(&lab, ROGUE, &as);
    bounce(&lab, "leaf-001", 2);
    lab_run_for(&lab, 10);
    ck_assert_uint_eq(lab_count_events(&lab, "duplicate-guid"), 0);
    const struct lab_event *e = lab_event(&lab, "node-moved");
    ck_assert_ptr_nonnull(e);
    ck_assert_ptr_nonnull(strstr(e->message, "from " VICTIM_PLACE " to " ROGUE_PLACE));
    lab_close(&lab);
}
END_TEST

/* ---- restarts ---- */

START_TEST(after_a_restart_the_stored_place_wins)
{
    struct lab lab;
    char state[] = "/tmp/identity-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(state));
    begin(&lab, state);
    uint32_t lid = lid_of(&lab, VICTIM);
    struct fab_node_info as = identity(&lab, VICTIM);
    lab_stop(&lab);
    pretend(&lab, ROGUE, &as);
    lab_begin(&lab, state);
    sm_start(lab.sm);
    lab_run(&lab, 20, lab_is_idle, "restart");
    assert_victim_is_whole(&lab, VICTIM, lid);
    assert_named(&lab, ROGUE_PLACE, VICTIM_PLACE);
    lab_close(&lab);
    char command[80];
    snprintf(command, sizeof(command), "rm -r '%s'", state);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

/* ---- floods ---- */

/* For three hours, the link of the rogue goes up and down every 20 s. The rogue shows the GUID of
 * the victim. */
START_TEST(a_flapping_duplicate_makes_few_events)
{
    struct lab lab;
    struct sm_status before, after;
    begin(&lab, NULL);
    uint32_t lid = lid_of(&lab, VICTIM);
    struct fab_node_info as = identity(&lab, VICTIM);
    pretend(&lab, ROGUE, &as);
    sm_get_status(lab.sm, &before);
    for (int i = 0; i < 540; i++) {
        lab_unlink(&lab, "leaf-001", 2);
        lab_run_for(&lab, 10);
        lab_relink(&lab, "leaf-001", 2);
        lab_run_for(&lab, 10);
        ck_assert_uint_eq(fab_sim_port(lab.sim, lab_node(&lab, VICTIM), 1)->lid, lid);
        lab.event_count = lab.event_count > LAB_EVENTS / 2 ? 0 : lab.event_count;
    }
    sm_get_status(lab.sm, &after);
    assert_victim_is_whole(&lab, VICTIM, lid);
    uint64_t events = bus_counted(lab.bus, EVENT_duplicate_guid);
    ck_assert_msg(events >= 4 && events <= 12, "%llu events", (unsigned long long)events);
    ck_assert_uint_lt(after.smps_sent - before.smps_sent, 540 * 400);
    lab_close(&lab);
}
END_TEST

/* ---- random fabrics ---- */

static void random_attack(uint64_t seed)
{
    struct fab_random_spec spec = {.switches = 8, .degree = 4, .hosts_per_switch = 3, .seed = seed};
    struct fab_builder *b = NULL;
    struct lab lab;
    struct fab_prng prng;
    fab_base_prng_init(&prng, seed);
    ck_assert_int_eq(fab_fabric_generate_random(&spec, &b), FAB_OK);
    lab_open_virtual(&lab, b, NULL);
    sm_start(lab.sm);
    lab_run(&lab, 30, lab_is_idle, "bring-up");
    const struct fab_fabric *f = fab_sim_fabric(lab.sim);
    uint32_t hosts = f->node_count - f->switch_count;
    uint32_t manager = lab_node(&lab, "host-0001");
    for (int i = 0; i < 6; i++) {
        uint32_t rogue = f->switch_count + (uint32_t)fab_base_prng_below(&prng, hosts);
        uint32_t victim = f->switch_count + (uint32_t)fab_base_prng_below(&prng, hosts);
        /* An aggregation node cannot be the victim, because names find the victim, and all
         * aggregation nodes have the same name. */
        if (rogue == victim || rogue == manager || f->nodes[rogue].desc[0] != 'h' ||
            f->nodes[victim].desc[0] != 'h')
            continue;
        const char *name = f->nodes[victim].desc;
        struct fab_node_info as = identity(&lab, name);
        uint32_t peer = fab_fabric_port(f, fab_fabric_port_id(f, rogue, 1))->peer,
                 lid = lid_of(&lab, name);
        uint64_t claim = fab_base_prng_below(&prng, 3);
        if (claim == 0)
            as.node_guid ^= 0xbad0000; /* only the port GUID is that of the victim */
        if (claim == 1) {
            /* The rogue claims to be a random port of a random switch. This port may be in use. */
            as = f->nodes[fab_base_prng_below(&prng, f->switch_count)].info;
            as.local_port = (uint8_t)(1 + fab_base_prng_below(&prng, as.num_ports));
        }
        pretend(&lab, f->nodes[rogue].desc, &as);
        if (fab_base_prng_below(&prng, 2) == 0)
            bounce(&lab, f->nodes[fab_fabric_port(f, peer)->node].desc,
                   fab_fabric_port(f, peer)->num);
        sweep(&lab);
        assert_victim_is_whole(&lab, name, lid);
        pretend(&lab, f->nodes[rogue].desc, NULL);
        sweep(&lab);
        lab_run_for(&lab, 5);
        lab_assert_good(&lab);
    }
    lab_close(&lab);
}

START_TEST(in_random_fabrics_the_victim_never_loses_a_route)
{
    uint64_t seed = test_seed("random fabrics", 20261122);
    for (uint64_t i = 0; i < 12; i++)
        random_attack(seed + i);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("identity under attack: GUIDs");
    TCase *t = tcase_create("attacks");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, a_heavy_sweep_leaves_the_newcomer_out);
    tcase_add_test(t, a_targeted_sweep_leaves_the_newcomer_out);
    tcase_add_test(t, the_port_guid_alone_is_not_shared_either);
    tcase_add_test(t, the_managers_own_guid_is_not_taken);
    tcase_add_test(t, a_host_does_not_become_a_switch);
    tcase_add_test(t, a_moved_host_is_taken_over);
    tcase_add_test(t, a_guid_that_no_longer_answers_moves);
    tcase_add_test(t, after_a_restart_the_stored_place_wins);
    tcase_add_test(t, a_flapping_duplicate_makes_few_events);
    tcase_add_test(t, in_random_fabrics_the_victim_never_loses_a_route);
    suite_add_tcase(s, t);
    return test_run(s);
}
