/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The manager on a simulated fabric: power-on, bring-up, restarts and hostile devices. Faults are
 * in test_sm_faults.c, other managers and requests of operators in test_sm_others.c.
 */
#include <stdio.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/sm/model/model.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/target/choice.h"
#include "tests/sim/lab.h"

/* ---- bring-up ---- */

START_TEST(brings_up_small)
{
    struct lab lab;
    lab_bring_up(&lab, lab_leaf_spine(6, 3, 4), NULL);
    lab_assert_good(&lab);
    struct fab_view *v = sm_view(lab.sm);
    ck_assert_uint_eq(v->fabric->switch_count, 9);
    ck_assert_uint_eq(v->fabric->node_count, 33);
    ck_assert(fab_verify_verdict_good(&v->verdict));
    fab_view_unref(v);
    lab_close(&lab);
}
END_TEST

START_TEST(messages_have_names)
{
    static const struct {
        const char *desc, *node, *port;
    } nodes[] = {{"leaf 1", "leaf 1", "leaf 1/2"},
                 {"a\x1b[2J\tb\x7f  ", "a?[2J?b?", "a?[2J?b?/2"},
                 {"", "0x0000000000000011", "0x0000000000000011/2"},
                 {"   ", "0x0000000000000011", "0x0000000000000011/2"}};
    static const struct {
        uint16_t id;
        const char *name;
    } attrs[] = {{FAB_ATTR_PORT_INFO, "PortInfo"},
                 {FAB_ATTR_NODE_DESC, "NodeDescription"},
                 {FAB_ATTR_SL2VL, "SLtoVLMappingTable"},
                 {FAB_ATTR_VLARB, "VLArbitrationTable"},
                 {FAB_ATTR_LFT, "LinearForwardingTable"},
                 {FAB_ATTR_MFT, "MulticastForwardingTable"},
                 {0xfff0, "another attribute"}};
    char name[SM_PLACE_LEN];
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        struct fab_builder *b = fab_fabric_builder_new();
        struct fab_node_info info = {
            .node_type = FAB_NODE_SWITCH, .num_ports = 4, .node_guid = 0x11, .port_guid = 0x11};
        struct fab_fabric *f;
        uint32_t ref;
        ck_assert_int_eq(fab_fabric_builder_add_node(b, &info, &ref), FAB_OK);
        ck_assert_int_eq(fab_fabric_builder_set_desc(b, ref, nodes[i].desc, strlen(nodes[i].desc)),
                         FAB_OK);
        ck_assert_int_eq(fab_fabric_builder_seal(b, &f), FAB_OK);
        fab_fabric_builder_free(b);
        sm_node_name(f, 0, name);
        ck_assert_str_eq(name, nodes[i].node);
        sm_port_name(f, fab_fabric_port_id(f, 0, 2), name);
        ck_assert_str_eq(name, nodes[i].port);
        sm_place_name(f, 0x11, 2, name);
        ck_assert_str_eq(name, nodes[i].port);
        /* The node has no port 5 any more, so the name consists of the GUID and the port number. */
        sm_place_name(f, 0x11, 5, name);
        ck_assert_str_eq(name, "0x0000000000000011/5");
        sm_place_name(f, 0x12, 2, name);
        ck_assert_str_eq(name, "0x0000000000000012/2");
        fab_fabric_unref(f);
    }
    sm_place_name(NULL, 0x11, 2, name);
    ck_assert_str_eq(name, "0x0000000000000011/2");
    sm_place_name(NULL, 0, 0, name);
    ck_assert_str_eq(name, "our own port");
    for (size_t i = 0; i < sizeof attrs / sizeof *attrs; i++)
        ck_assert_str_eq(sm_attr_name(attrs[i].id), attrs[i].name);
}
END_TEST

START_TEST(brings_up_648)
{
    struct lab lab;
    lab_bring_up(&lab, lab_leaf_spine(36, 18, 18), NULL);
    lab_assert_good(&lab);
    ck_assert_uint_lt(lab.sets_lft, 700);
    lab_close(&lab);
}
END_TEST

START_TEST(brings_up_any_fabric)
{
    struct fab_random_spec spec = {.switches = 12, .degree = 4, .hosts_per_switch = 3};
    for (uint64_t i = 0; i < 8; i++) {
        struct lab lab;
        struct fab_builder *b;
        spec.seed = test_seed("random fabric", 100) + i;
        ck_assert_int_eq(fab_fabric_generate_random(&spec, &b), FAB_OK);
        lab_bring_up(&lab, b, NULL);
        lab_assert_good(&lab);
        lab_close(&lab);
    }
}
END_TEST

/* The view tells the chosen engine and the topology that this engine recognised. The record of the
 * choice gives the reason why the engines before it were refused. */
START_TEST(says_why_it_took_an_engine)
{
    struct lab lab;
    struct fab_builder *b;
    lab_bring_up(&lab, lab_leaf_spine(6, 3, 3), NULL);
    struct fab_view *v = sm_view(lab.sm);
    ck_assert_str_eq(v->target->engine, "fattree");
    ck_assert_str_eq(v->target->reason, "fat tree of 2 levels, 6 leaves");
    fab_view_unref(v);
    lab_close(&lab);
    struct fab_hypercube_spec cube = {.dimensions = 3, .hosts = 1, .parallel = 1};
    ck_assert_int_eq(fab_fabric_generate_hypercube(&cube, &b), FAB_OK);
    lab_bring_up(&lab, b, NULL);
    v = sm_view(lab.sm);
    ck_assert_str_eq(v->target->engine, "dor");
    ck_assert_ptr_null(strstr(v->target->reason, "no tree"));
    const struct fab_choice_row *row = v->target->choice->row;
    ck_assert_str_eq(row[0].engine, "fattree");
    ck_assert_int_eq(row[0].outcome, FAB_CHOICE_REFUSED);
    ck_assert_ptr_nonnull(strstr(row[0].why, "no tree: 12 of 12 links join"));
    ck_assert_str_eq(fab_target_choice_taken(v->target->choice)->engine, "dor");
    fab_view_unref(v);
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

/* The only engine of the configuration refuses the fabric. The manager publishes a view without
 * tables, and the status gives the reason. */
START_TEST(refuses_in_words)
{
    struct lab lab;
    struct fab_builder *b;
    struct fab_hypercube_spec cube = {.dimensions = 3, .hosts = 1, .parallel = 1};
    ck_assert_int_eq(fab_fabric_generate_hypercube(&cube, &b), FAB_OK);
    lab_open(&lab, b, NULL);
    lab_stop(&lab);
    strcpy(lab.config.policy.engine, "fattree");
    lab_begin(&lab, NULL);
    sm_start(lab.sm);
    lab_await(&lab, 10, "routing-refused");
    struct sm_status status;
    sm_get_status(lab.sm, &status);
    ck_assert_ptr_nonnull(strstr(status.alarm, "fattree: no tree"));
    ck_assert_ptr_null(strstr(status.alarm, "routing.roots"));
    uint64_t root = lab_node_guid(&lab, "cube-000");
    lab.config.policy.roots = &root;
    lab.config.policy.root_count = 1;
    ck_assert_int_eq(sm_reload(lab.sm), FAB_OK);
    lab_run(&lab, 10, lab_is_idle, "the reload");
    sm_get_status(lab.sm, &status);
    ck_assert_ptr_nonnull(strstr(status.alarm, "; routing.roots names 1 root switch: correct it"));
    lab.config.policy.roots = NULL;
    lab.config.policy.root_count = 0;
    lab_run(&lab, 10, lab_is_idle, "the end of the sweep");
    struct fab_view *v = sm_view(lab.sm);
    ck_assert_ptr_nonnull(v);
    ck_assert_uint_eq(v->fabric->switch_count, 8);
    ck_assert_ptr_null(v->target);
    fab_view_unref(v);
    strcpy(lab.config.policy.engine, "dor");
    ck_assert_int_eq(sm_reload(lab.sm), FAB_OK);
    lab_run(&lab, 10, lab_is_idle, "tables by another engine");
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

static bool failed_to_reroute(struct lab *lab)
{
    return lab_event(lab, "sweep-failed") != NULL;
}

static bool is_routed_by_updn(struct lab *lab)
{
    struct fab_view *v = sm_view(lab->sm);
    bool routed = v->target != NULL && strcmp(v->target->engine, "updn") == 0;
    fab_view_unref(v);
    return routed && lab_is_idle(lab);
}

/* The computation of new tables ends with an error. The manager must neither write nor publish
 * tables. With the next policy, it must compute and write tables again. */
START_TEST(a_failed_computation_leaves_the_tables)
{
    struct lab lab;
    size_t len;
    lab_bring_up(&lab, lab_leaf_spine(4, 2, 3), NULL);
    uint8_t *before = lab_tables(&lab, &len);
    struct fab_view *v = sm_view(lab.sm);
    struct fab_target *target = fab_target_ref(v->target);
    fab_view_unref(v);
    lab_forget_events(&lab);
    lab_forget_writes(&lab);
    strcpy(lab.config.policy.engine, "none-of-this-name");
    ck_assert_int_eq(sm_reload(lab.sm), FAB_OK);
    lab_run(&lab, 10, failed_to_reroute, "the failure");
    ck_assert_ptr_nonnull(strstr(lab_event(&lab, "sweep-failed")->message, "failed: not found"));
    ck_assert_uint_eq(lab.sets_lft, 0);
    lab_assert_same_tables(&lab, before, len, true);
    v = sm_view(lab.sm);
    ck_assert_ptr_eq(v->target, target);
    fab_view_unref(v);
    strcpy(lab.config.policy.engine, "updn");
    ck_assert_int_eq(sm_reload(lab.sm), FAB_OK);
    lab_run(&lab, 20, is_routed_by_updn, "tables by another engine");
    lab_assert_good(&lab);
    fab_target_unref(target);
    free(before);
    lab_close(&lab);
}
END_TEST

/* chain: engines of the configuration. If all of them fail, the alarm gives the reason of each. */
static const struct {
    const char *chain, *event, *alarm;
} chains[] = {
    {"fattree, minhop", "proof-failed",
     "could deadlock (engine minhop); passed over fattree: no tree"},
    {"minhop, fattree", "routing-refused",
     "no engine computed tables that pass the verification: minhop: the tables could deadlock; "
     "fattree: no tree"},
    {"fattree", "routing-refused", "no engine supports this topology: fattree: no tree"},
};

START_TEST(tells_the_whole_chain)
{
    struct lab lab;
    struct fab_builder *b;
    struct fab_torus_spec torus = {.dimensions = 2, .size = {5, 5}, .hosts = 1, .parallel = 1};
    ck_assert_int_eq(fab_fabric_generate_torus(&torus, &b), FAB_OK);
    lab_open(&lab, b, NULL);
    lab_stop(&lab);
    strcpy(lab.config.policy.engine, chains[_i].chain);
    lab_begin(&lab, NULL);
    sm_start(lab.sm);
    lab_await(&lab, 10, chains[_i].event);
    struct sm_status status;
    sm_get_status(lab.sm, &status);
    ck_assert_msg(strstr(status.alarm, chains[_i].alarm), "%s", status.alarm);
    lab_close(&lab);
}
END_TEST

START_TEST(bears_loss)
{
    struct lab lab;
    lab_open(&lab, lab_leaf_spine(6, 3, 4), NULL);
    lab.config.smp.timeout_ms = 5;
    fab_sim_loss(lab.sim, 0.01);
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_idle, "bring-up with 1 % loss");
    fab_sim_loss(lab.sim, 0);
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

/* ---- hostile devices ---- */

START_TEST(bears_hostile_mads)
{
    struct lab lab;
    uint8_t mad[FAB_MAD_SIZE];
    lab_bring_up(&lab, lab_leaf_spine(6, 3, 4), NULL);
    lab.prng = test_seed("hostile MADs", 11);
    for (int i = 0; i < 20000; i++) {
        for (size_t k = 0; k < sizeof(mad); k++)
            mad[k] = (uint8_t)lab_random(&lab);
        mad[0] = 1;
        mad[1] = i & 1 ? FAB_CLASS_SMP_LID : FAB_CLASS_SMP_DIRECTED;
        mad[2] = 1;
        if (i & 2)
            mad[3] = i & 4 ? FAB_METHOD_TRAP : FAB_METHOD_SET;
        if (i & 8) {
            mad[16] = 0;
            mad[17] = i & 16 ? FAB_ATTR_NOTICE : FAB_ATTR_SM_INFO;
        }
        if (i & 32) { /* trap 128 or 144 with a random source LID */
            mad[64] |= 0x80;
            mad[68] = 0;
            mad[69] = i & 64 ? 128 : 144;
            mad[70] = mad[74] = 0;
            mad[71] = mad[75] = (uint8_t)(lab_random(&lab) % 64);
        }
        lab_receive(&lab, mad);
        if (i % 500 == 0)
            lab_run_for(&lab, 0.001);
    }
    lab_run_for(&lab, 0.3);
    struct sm_status status;
    sm_get_status(lab.sm, &status);
    if (status.role ==
        /* A valid control packet among the random MADs may have ended the master state. */
        FAB_SM_MASTER)
        lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

/* Returns whether the manager is idle, and all nodes have answered. On a slow machine (for example
 * with ThreadSanitizer), correct answers may come too late, so the test has to wait until this is
 * true. */
static bool is_idle_and_complete(struct lab *lab)
{
    struct sm_status status;
    sm_get_status(lab->sm, &status);
    return status.unresponsive == 0 && lab_is_idle(lab);
}

/* The transport corrupts the answers of the devices. Meanwhile, the manager must not send MADs
 * without limit. When the answers are correct again, the manager brings the fabric up. */
START_TEST(bears_answers_that_are_nonsense)
{
    uint64_t seed = test_seed("nonsense", 21);
    for (uint64_t i = 0; i < 12; i++) {
        struct lab lab;
        lab_open(&lab, lab_leaf_spine(6, 3, 4), NULL);
        lab.config.smp.timeout_ms = 10;
        lab.prng = seed + i;
        lab.spoil = 10u << i % 6;
        lab_stop(&lab);
        lab_begin(&lab, NULL);
        sm_start(lab.sm);
        lab_run_for(&lab, 0.15);
        struct sm_status status;
        sm_get_status(lab.sm, &status);
        /* A bring-up without faults needs 373 MADs. Corrupt answers may cause 20 times as many. */
        ck_assert_uint_le(status.smps_sent, 20 * 373);
        lab.spoil = 0;
        (void)sm_sweep(lab.sm, NULL, NULL);
        lab_run_for(&lab, 0.1);
        lab_run(&lab, 30, is_idle_and_complete, "the fabric, when answers are right again");
        lab_assert_good(&lab);
        lab_close(&lab);
    }
}
END_TEST

/* ---- restarts ---- */

START_TEST(writes_nothing_after_a_restart)
{
    char state[] = "/tmp/fabricd-test-XXXXXX", command[80];
    struct lab lab;
    size_t len;
    ck_assert_ptr_nonnull(mkdtemp(state));
    lab_bring_up(&lab, lab_leaf_spine(6, 3, 4), state);
    uint8_t *before = lab_tables(&lab, &len);
    for (int i = 0; i < 2; i++) {
        lab_stop(&lab);
        lab_forget_writes(&lab);
        lab_begin(&lab, state);
        sm_start(lab.sm);
        lab_run(&lab, 10, lab_is_idle, "the restart");
        ck_assert_uint_eq(lab.sets_lft, 0);
        ck_assert_uint_eq(lab.sets_port_info, 0);
        ck_assert_uint_gt(lab.gets_lft, 0);
        lab_assert_same_tables(&lab, before, len, true);
    }
    lab_assert_good(&lab);
    free(before);
    lab_close(&lab);
    snprintf(command, sizeof(command), "rm -r '%s'", state);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

START_TEST(keeps_a_port_disabled_over_a_restart)
{
    char state[] = "/tmp/fabricd-test-XXXXXX", command[80];
    struct lab lab;
    ck_assert_ptr_nonnull(mkdtemp(state));
    lab_bring_up(&lab, lab_leaf_spine(6, 3, 4), state);
    uint32_t leaf = lab_node(&lab, "leaf-003");
    uint64_t guid = fab_sim_fabric(lab.sim)->nodes[leaf].guid;
    ck_assert_int_eq(sm_port_set(lab.sm, guid, 2, false, "an operator", NULL, NULL), FAB_OK);
    lab_await(&lab, 3, "node-removed");
    lab_stop(&lab);
    lab_power_cycle(&lab);
    lab_begin(&lab, state);
    lab_forget_events(&lab);
    sm_start(lab.sm);
    lab_await(&lab, 3, "port-disabled");
    lab_run_for(&lab, 0.1);
    ck_assert_uint_eq(fab_sim_port(lab.sim, leaf, 2)->phys_state, FAB_PHYS_DISABLED);
    ck_assert_int_eq(sm_port_set(lab.sm, guid, 2, true, "an operator", NULL, NULL), FAB_OK);
    lab_await(&lab, 3, "node-added");
    lab_run_for(&lab, 0.1);
    lab_assert_good(&lab);
    lab_close(&lab);
    snprintf(command, sizeof(command), "rm -r '%s'", state);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

/* The link of the manager's own port fails. No trap reaches the manager, and no device answers. The
 * manager keeps its view until the link is up again. */
START_TEST(survives_isolation)
{
    struct lab lab;
    size_t len;
    lab_open(&lab, lab_leaf_spine(4, 2, 2), NULL);
    lab_stop(&lab);
    lab.config.sweep.light_interval_s = 1;
    lab_begin(&lab, NULL);
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_idle, "bring-up");
    uint8_t *before = lab_tables(&lab, &len);
    lab_unlink(&lab, "host-0001", 1);
    lab_await(&lab, 6, "fabric-loss-confirming");
    lab_run(&lab, 5, lab_is_idle, "alone and calm");
    struct fab_view *v = sm_view(lab.sm);
    ck_assert_uint_eq(v->fabric->node_count, 14);
    fab_view_unref(v);
    lab_relink(&lab, "host-0001", 1);
    lab_await(&lab, 6, "fabric-loss-refuted");
    ck_assert_uint_eq(lab_count_events(&lab, "node-removed"), 0);
    lab_run_for(&lab, 0.1);
    lab_run(&lab, 5, lab_is_idle, "back in the fabric");
    lab_assert_good(&lab);
    lab_assert_same_tables(&lab, before, len, true);
    free(before);
    lab_close(&lab);
}
END_TEST

#define ISOLATED_SWEEPS 100

/* Times in s at which an isolated manager begins heavy sweeps. Each of them first reads NodeInfo of
 * the manager's own node. */
static struct {
    double begun[ISOLATED_SWEEPS];
    unsigned count;
} isolated;

static void note_sweep(struct lab *lab, const struct fab_mad *head, uint16_t dlid)
{
    (void)lab, (void)dlid;
    if (head->attr_id == FAB_ATTR_NODE_INFO && isolated.count < ISOLATED_SWEEPS)
        isolated.begun[isolated.count++] = (double)clock_now_us() / 1e6;
}

/* While the manager's own port has no link, the pauses between its sweeps grow to ten seconds, and
 * stay at ten. */
START_TEST(sweeps_less_often_while_isolated)
{
    struct lab lab;
    lab_open_virtual(&lab, lab_leaf_spine(4, 2, 2), NULL);
    lab.config.sweep.light_interval_s = 0;
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_idle, "bring-up");
    lab_unlink(&lab, "host-0001", 1);
    memset(&isolated, 0, sizeof(isolated));
    lab.sent = note_sweep;
    ck_assert_int_eq(sm_sweep(lab.sm, NULL, NULL), FAB_OK);
    lab_run_for(&lab, 60);
    ck_assert_uint_ge(isolated.count, 8);
    for (unsigned i = isolated.count - 3; i < isolated.count; i++)
        ck_assert_double_eq_tol(isolated.begun[i] - isolated.begun[i - 1], 10, 0.2);
    lab_close(&lab);
}
END_TEST

START_TEST(takes_a_new_policy)
{
    struct lab lab;
    lab_bring_up(&lab, lab_leaf_spine(6, 3, 4), NULL);
    lab_forget_writes(&lab);
    lab.config.policy.max_mtu = 4;
    ck_assert_int_eq(sm_reload(lab.sm), FAB_OK);
    lab_run_for(&lab, 0.1);
    lab_run(&lab, 5, lab_is_idle, "the new policy");
    ck_assert_uint_gt(lab.sets_port_info, 80);
    ck_assert_uint_eq(fab_sim_port(lab.sim, lab_node(&lab, "leaf-001"), 5)->neighbor_mtu, 4);
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

/* sm_model_lend() gives the contents of the manager's model to a worker task. In the first run, the
 * manager ends before the task, so the task frees the contents. In the second run, the task gives
 * them back. */
START_TEST(a_lent_model_has_one_owner)
{
    for (int given_back = 0; given_back < 2; given_back++) {
        struct sm_model m = {.lease_count = 2}, lent;
        struct fab_lease *leases = calloc(2, sizeof(*leases));
        ck_assert_ptr_nonnull(leases);
        m.leases = leases;
        ck_assert_int_eq(fab_plan_observed_init(&m.observed, 3, 100), FAB_OK);
        const uint8_t *entries = m.observed.lft.entries;
        sm_model_lend(&m, &lent);
        ck_assert_ptr_null(m.leases);
        ck_assert_uint_eq(m.lease_count, 0);
        ck_assert_ptr_null(m.observed.lft.entries);
        ck_assert(m.lent);
        ck_assert_ptr_eq(lent.leases, leases);
        ck_assert_uint_eq(lent.lease_count, 2);
        ck_assert_ptr_eq(lent.observed.lft.entries, entries);
        if (given_back) {
            sm_model_take_back(&m, &lent);
            ck_assert_ptr_eq(m.leases, leases);
            ck_assert_uint_eq(m.lease_count, 2);
            ck_assert_ptr_eq(m.observed.lft.entries, entries);
            ck_assert(!m.lent);
        } else {
            sm_model_fini(&lent);
        }
        sm_model_fini(&m);
    }
}
END_TEST

/* If the configured arbitration tables give a traffic class less than its share, an event reports
 * this class. There is no event for classes that get their share or have none. */
START_TEST(a_class_below_its_share_is_told_of)
{
    static const struct {
        /* VL arbitration table of the configuration. NULL: the manager computes the table from the
         * shares of the classes. */
        const char *arbitration;
        const char *subject; /* subject of the event; NULL: no event */
    } cases[] = {{"0:20,1:180", "default"}, {"0:180,1:20", "storage"}, {NULL, NULL}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct lab lab;
        struct fab_classes *c;
        struct fab_classes_error e;
        struct fab_class k = {.name = "storage", .share = 40, .sl = FAB_CLASS_NO_SL};
        uint8_t n;
        lab_open_virtual(&lab, lab_leaf_spine(3, 2, 2), NULL);
        ck_assert_int_eq(fab_policy_classes_new(&c), FAB_OK);
        ck_assert_int_eq(fab_policy_classes_add(c, &k, &n, &e), FAB_OK);
        k = (struct fab_class){.name = "default", .share = 60, .sl = FAB_CLASS_NO_SL};
        ck_assert_int_eq(fab_policy_classes_add(c, &k, &n, &e), FAB_OK);
        ck_assert_uint_eq(n, 0);
        if (cases[i].arbitration != NULL)
            ck_assert_int_eq(fab_policy_classes_set_arb(c, false, cases[i].arbitration), FAB_OK);
        sm_start(lab.sm);
        lab_run(&lab, 10, lab_is_idle, "bring-up");
        ck_assert_ptr_null(lab_event(&lab, "class-share-missed"));
        lab.config.policy.classes = c;
        ck_assert_int_eq(sm_reload(lab.sm), FAB_OK);
        lab_run_for(&lab, 1);
        lab_run(&lab, 20, lab_is_idle, "the classes");
        unsigned count = 0;
        for (unsigned at = 0; at < lab.event_count; at++) {
            if (strcmp(lab.events[at].type, "class-share-missed") != 0)
                continue;
            count++;
            ck_assert_str_eq(lab.events[at].subject, cases[i].subject);
            const char *share = strstr(lab.events[at].message, cases[i].subject);
            ck_assert_ptr_nonnull(share);
            double percent = strtod(share + strlen(cases[i].subject), NULL);
            ck_assert_msg(percent >= 10 && percent <= 25, "%s", lab.events[at].message);
        }
        ck_assert_msg(count == (cases[i].subject != NULL), "case %zu: %u events", i, count);
        lab_close(&lab);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sm");
    TCase *t = tcase_create("scenarios");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, brings_up_small);
    tcase_add_test(t, messages_have_names);
    tcase_add_test(t, brings_up_648);
    tcase_add_test(t, brings_up_any_fabric);
    tcase_add_test(t, says_why_it_took_an_engine);
    tcase_add_test(t, a_failed_computation_leaves_the_tables);
    tcase_add_test(t, refuses_in_words);
    tcase_add_test(t, a_class_below_its_share_is_told_of);
    tcase_add_test(t, a_lent_model_has_one_owner);
    tcase_add_loop_test(t, tells_the_whole_chain, 0, (int)(sizeof(chains) / sizeof(*chains)));
    tcase_add_test(t, bears_loss);
    tcase_add_test(t, bears_hostile_mads);
    tcase_add_test(t, bears_answers_that_are_nonsense);
    tcase_add_test(t, writes_nothing_after_a_restart);
    tcase_add_test(t, keeps_a_port_disabled_over_a_restart);
    tcase_add_test(t, survives_isolation);
    tcase_add_test(t, sweeps_less_often_while_isolated);
    tcase_add_test(t, takes_a_new_policy);
    suite_add_tcase(s, t);
    return test_run(s);
}
