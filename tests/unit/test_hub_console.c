/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The console of `fabsim serve`: how commands name nodes and ports, and what each command does to
 * the hub (cli/sim/hub.h) and the fabric.
 */
#include "cli/sim/cmd.h"
#include "libfabmgr/sim/fault.h"
#include "tests/unit/hub_lab.h"

START_TEST(places)
{
    struct lab x;
    struct place p;
    char text[64];
    lab_start(&x);
    const struct fab_sim *sim = x.hub.sim;
    uint64_t guid = x.f->nodes[0].guid;
    for (int form = 0; form < 4; form++) {
        static const char *const forms[] = {"S-%016" PRIx64 "/2", "0x%" PRIx64 "/2",
                                            "\"S-%016" PRIx64 "\"[2]", "\"0x%" PRIx64 "\"[2]"};
        snprintf(text, sizeof text, forms[form], guid);
        ck_assert_int_eq(place_find(sim, text, &p), FAB_OK);
        ck_assert_uint_eq(p.node, 0);
        ck_assert_uint_eq(p.port, 2);
    }
    ck_assert_int_eq(place_find(sim, "leaf-001", &p), FAB_OK);
    ck_assert_uint_eq(p.port, 0);
    ck_assert_int_eq(place_find(sim, "leaf-001/200", &p), FAB_E_RANGE);
    static const char *const wrong[] = {
        "",       "leaf",          "leaf-001/0", "leaf-001/",     "/1",
        "\"",     "\"leaf-001",    "leaf-001/x", "leaf-001/1x",   "\"\"",
        "\"\"[1", "\"leaf-001\"1", "S-zz",       "\"leaf-001\"[1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_int_eq(place_find(sim, wrong[i], &p), FAB_E_NOT_FOUND);
    lab_end(&x);
}
END_TEST

static int say(struct lab *x, const char *line)
{
    fab_base_text_fini(&x->out);
    return console_run(&x->console, line, strlen(line), &x->out);
}

START_TEST(console)
{
    struct lab x;
    uint32_t leaf;
    lab_start(&x);
    ck_assert_int_eq(fab_sim_find(x.hub.sim, "leaf-001", &leaf), FAB_OK);
    ck_assert_int_eq(say(&x, "unlink leaf-001/1"), CMD_OK);
    ck_assert_uint_eq(fab_sim_port(x.hub.sim, leaf, 1)->port_state, FAB_STATE_DOWN);
    ck_assert_int_eq(say(&x, "  ReLink \"leaf-001\"[1] \n# none\n\nUnlink leaf-001"), CMD_OK);
    ck_assert_uint_eq(fab_sim_port(x.hub.sim, leaf, 1)->port_state, FAB_STATE_DOWN);
    ck_assert_uint_eq(fab_sim_port(x.hub.sim, leaf, 2)->port_state, FAB_STATE_DOWN);
    ck_assert_int_eq(say(&x, "relink leaf-001"), CMD_OK);
    ck_assert_int_eq(say(&x, "unlink nosuch/1"), CMD_FAILED);
    ck_assert_str_eq(fab_base_text_get(&x.out), "no node \"nosuch/1\"\n");
    ck_assert_int_eq(say(&x, "unlink leaf-001/40"), CMD_FAILED);
    ck_assert_str_eq(fab_base_text_get(&x.out), "the node in \"leaf-001/40\" has no such port\n");
    ck_assert_int_eq(come(&x, 10, "host-0001", false), 0);
    ck_assert_int_eq(say(&x, "silence host-0001\nloss 0.5\nwake host-0001\nloss 0%"), CMD_OK);
    ck_assert_int_eq(say(&x, "status"), CMD_OK);
    ck_assert_ptr_nonnull(strstr(fab_base_text_get(&x.out), "client 0 pid 10 at"));
    ck_assert_int_eq(say(&x, "detach 0"), CMD_OK);
    ck_assert_uint_eq(x.hub.clients[0].pid, 0);
    ck_assert_int_eq(say(&x, "stop"), CMD_OK);
    ck_assert(x.console.stop);
    lab_end(&x);
}
END_TEST

/* The simulated fabric delays an answer. The hub must deliver it later, and must not report it as
 * lost. */
START_TEST(late_answers)
{
    struct lab x;
    lab_start(&x);
    int id = come(&x, 10, "host-0001", false);
    ck_assert_int_eq(say(&x, "delay host-0001 by=20ms"), CMD_OK);
    (void)request(&x, id, FAB_LID_PERMISSIVE, &get_node);
    ck_assert_uint_eq(x.count[id], 0);
    fab_sim_advance(x.hub.sim, 30000);
    hub_collect(&x.hub);
    ck_assert_uint_eq(x.count[id], 1);
    ck_assert_uint_eq(status_of(x.last[id]), 0);
    ck_assert_uint_eq(x.last[id][32 + 3], FAB_METHOD_GET_RESP);
    ck_assert_uint_eq(x.hub.wait_count, 0);
    fab_sim_loss(x.hub.sim, 1);
    (void)request(&x, id, FAB_LID_PERMISSIVE, &get_node);
    ck_assert_uint_eq(x.count[id], 2);
    ck_assert_uint_eq(status_of(x.last[id]), LOST);
    ck_assert_uint_eq(x.hub.wait_count, 0);
    lab_end(&x);
}
END_TEST

/* The simulated fabric delays a request. The hub waits HUB_PATIENCE_MS for the answer before it
 * reports the request as lost. */
START_TEST(late_requests)
{
    struct fab_sim_impairments foul = {.delay = 1, .delay_us = 5000};
    struct lab x;
    lab_start(&x);
    int id = come(&x, 10, "host-0001", false);
    fab_sim_set_impairments(x.hub.sim, &foul);
    (void)request(&x, id, FAB_LID_PERMISSIVE, &get_node);
    ck_assert_uint_eq(x.count[id], 0);
    ck_assert_uint_eq(x.hub.wait_count, 1);
    fab_sim_advance(x.hub.sim, 20000);
    hub_collect(&x.hub);
    ck_assert_uint_eq(x.count[id], 1);
    ck_assert_uint_eq(status_of(x.last[id]), 0);
    ck_assert_uint_eq(x.hub.wait_count, 0);
    (void)request(&x, id, FAB_LID_PERMISSIVE, &get_node);
    fab_sim_loss(x.hub.sim, 1);
    fab_sim_advance(x.hub.sim, 40000);
    hub_collect(&x.hub);
    ck_assert_uint_eq(x.count[id], 1);
    hub_tick(&x.hub, HUB_PATIENCE_MS + 1);
    ck_assert_uint_eq(x.count[id], 2);
    ck_assert_uint_eq(status_of(x.last[id]), LOST);
    lab_end(&x);
}
END_TEST

START_TEST(faults_that_take_time)
{
    struct lab x;
    uint32_t leaf;
    lab_start(&x);
    ck_assert_int_eq(fab_sim_find(x.hub.sim, "leaf-001", &leaf), FAB_OK);
    const struct fab_port_info *port = fab_sim_port(x.hub.sim, leaf, 1);
    ck_assert_int_eq(say(&x, "degrade leaf-001/1 lanes=1 speed=QDR"), CMD_OK);
    ck_assert_uint_eq(fab_wire_link_width(port), 1);
    ck_assert_str_eq(fab_wire_link_speed(port), "QDR");
    ck_assert_int_eq(say(&x, "repair \"leaf-001\"[1] "), CMD_OK);
    ck_assert_uint_eq(fab_wire_link_width(port), 4);
    ck_assert_int_eq(say(&x, "flap leaf-001/1 period=100ms  count=1"), CMD_OK);
    ck_assert_uint_eq(port->port_state, FAB_STATE_DOWN);
    fab_sim_advance(x.hub.sim, 200000);
    ck_assert_uint_eq(port->port_state, FAB_STATE_INIT);
    ck_assert_int_eq(say(&x, "power-off leaf-001"), CMD_OK);
    ck_assert_uint_eq(port->port_state, FAB_STATE_DOWN);
    ck_assert_int_eq(say(&x, "power-on leaf-001"), CMD_OK);
    fab_sim_advance(x.hub.sim, 300000);
    ck_assert_uint_eq(port->port_state, FAB_STATE_INIT);
    lab_end(&x);
}
END_TEST

static uint8_t method_of_answer(struct lab *x, int id)
{
    uint32_t before = x->count[id];
    (void)request(x, id, FAB_LID_PERMISSIVE, &get_node);
    return x->count[id] > before && status_of(x->last[id]) == 0 ? x->last[id][32 + 3] : 0;
}

/* Each command for a fault has its effect, and another command undoes it. */
START_TEST(faults_and_back)
{
    struct lab x;
    uint32_t leaf, host;
    lab_start(&x);
    ck_assert_int_eq(fab_sim_find(x.hub.sim, "leaf-001", &leaf), FAB_OK);
    ck_assert_int_eq(fab_sim_find(x.hub.sim, "host-0001", &host), FAB_OK);
    const struct fab_port_info *port = fab_sim_port(x.hub.sim, leaf, 1);
    int id = come(&x, 10, "host-0001", false);
    ck_assert_int_eq(say(&x, "pull leaf-*/1"), CMD_OK);
    ck_assert_uint_eq(port->port_state, FAB_STATE_DOWN);
    ck_assert_int_eq(say(&x, "status"), CMD_OK);
    ck_assert_ptr_nonnull(strstr(fab_base_text_get(&x.out), " of them down\n"));
    ck_assert_int_eq(say(&x, "plug-all"), CMD_OK);
    ck_assert_uint_eq(port->port_state, FAB_STATE_INIT);
    ck_assert_int_eq(say(&x, "off *"), CMD_OK);
    ck_assert_uint_eq(method_of_answer(&x, id), 0);
    ck_assert_int_eq(say(&x, "on *\nreboot leaf-001"), CMD_OK);
    ck_assert_uint_eq(method_of_answer(&x, id), FAB_METHOD_GET_RESP);
    ck_assert_int_eq(say(&x, "corrupt host-0001 wrong-tid"), CMD_OK);
    (void)method_of_answer(&x, id);
    ck_assert_uint_eq(x.last[id][32 + 15], (uint8_t)get_node.tid ^ 0x55);
    ck_assert_int_eq(say(&x, "corrupt host-0001 none"), CMD_OK);
    ck_assert_int_eq(say(&x, "set-mkey host-00?? 0xdeadbeef protect=2 lease=10s"), CMD_OK);
    ck_assert_uint_eq(fab_sim_port(x.hub.sim, host, 1)->m_key, 0xdeadbeef);
    ck_assert_uint_eq(fab_sim_port(x.hub.sim, host, 1)->m_key_lease, 10);
    ck_assert_uint_eq(method_of_answer(&x, id), 0);
    ck_assert_int_eq(say(&x, "set-mkey host-0001 0"), CMD_OK);
    ck_assert_uint_eq(method_of_answer(&x, id), FAB_METHOD_GET_RESP);
    ck_assert_int_eq(say(&x, "increment leaf-001/1 PortXmitWait rate=1000"), CMD_OK);
    fab_sim_advance(x.hub.sim, 1000000);
    ck_assert_int_eq(say(&x, "increment leaf-001/1 PortXmitWait"), CMD_OK);
    fab_sim_advance(x.hub.sim, 2000000);
    ck_assert_uint_eq(fab_sim_counter(x.hub.sim, leaf, 1, FAB_SIM_XMIT_WAIT), 1000);
    ck_assert_int_eq(say(&x, "impair loss=1%  duplicate=2% delay=100% by=1ms spread=2s"), CMD_OK);
    struct fab_sim_impairments impair = fab_sim_impairments(x.hub.sim);
    ck_assert(impair.loss > 0.009 && impair.loss < 0.011 && impair.delay > 0.99);
    ck_assert_uint_eq(impair.delay_us, 1000);
    ck_assert_uint_eq(impair.spread_us, 2000000);
    ck_assert_int_eq(say(&x, "impair"), CMD_OK);
    ck_assert(!(fab_sim_impairments(x.hub.sim).delay > 0));
    ck_assert_int_eq(say(&x, "noise leaf-001/1 share=100%\nrepair leaf-001/1"), CMD_OK);
    ck_assert_int_eq(say(&x, "timing train=20ms hop=1us"), CMD_OK);
    ck_assert_uint_eq(fab_sim_timing(x.hub.sim).train_us, 20000);
    ck_assert_int_eq(say(&x, "trap leaf-001/1 129\nstorm leaf-001 128 every=1ms count=3"), CMD_OK);
    lab_end(&x);
}
END_TEST

START_TEST(console_mistakes)
{
    struct lab x;
    lab_start(&x);
    static const struct {
        const char *line, *says;
        int code;
    } cases[] = {
        {"frobnicate", "no command \"frobnicate\"", CMD_USAGE},
        {"unlink", "usage: pull NODE", CMD_USAGE},
        {"stop now", "usage: stop", CMD_USAGE},
        {"loss 2", "usage: loss", CMD_USAGE},
        {"loss nan", "usage: loss", CMD_USAGE},
        {"loss 0.1x", "usage: loss", CMD_USAGE},
        {"unlink nobody/1", "no node \"nobody/1\"", CMD_FAILED},
        {"unlink leaf-001/99", "no such port", CMD_FAILED},
        {"silence leaf-001/1", "is a port", CMD_FAILED},
        {"detach 0", "no client", CMD_FAILED},
        {"delay leaf-001 5", "no node \"leaf-001 5\"", CMD_FAILED},
        {"delay leaf-001 by=x", "by=\"x\" is not a number", CMD_USAGE},
        {"delay by=5ms", "usage: delay", CMD_USAGE},
        {"delay leaf-001 by=5ms by=6ms", "\"by\" is given twice", CMD_USAGE},
        {"delay leaf-001 lanes=5", "delay takes no option \"lanes\"", CMD_USAGE},
        {"delay nobody-*", "no node \"nobody-*\"", CMD_FAILED},
        {"flap leaf-001/1 count=0", "usage: flap", CMD_USAGE},
        {"flap leaf-001", "a port is needed; usage: flap", CMD_USAGE},
        {"degrade leaf-001/1 lanes=3", "usage: degrade", CMD_USAGE},
        {"degrade leaf-001/1 speed=XXX", "leaf-001/1: invalid value; usage", CMD_USAGE},
        {"noise leaf-001/1 share=2", "usage: noise", CMD_USAGE},
        {"noise leaf-*/99 share=1%", "no node \"leaf-*/99\"", CMD_FAILED},
        {"increment leaf-001/1 PortFoo rate=1", "usage: increment", CMD_USAGE},
        {"increment leaf-001/1", "usage: increment", CMD_USAGE},
        {"increment PortXmitWait", "usage: increment", CMD_USAGE},
        {"corrupt leaf-001 always", "busy|unsupported", CMD_USAGE},
        {"corrupt leaf-001 busy rate=101%", "usage: corrupt", CMD_USAGE},
        {"set-mkey leaf-001 secret", "usage: set-mkey", CMD_USAGE},
        {"set-mkey leaf-001 1 protect=4", "usage: set-mkey", CMD_USAGE},
        {"trap leaf-001/1 7", "usage: trap", CMD_USAGE},
        {"storm leaf-001 128 count=0", "usage: storm", CMD_USAGE},
        {"impair loss=2", "usage: impair", CMD_USAGE},
        {"impair everywhere", "usage: impair", CMD_USAGE},
        {"plug-all leaf-001", "usage: plug-all", CMD_USAGE},
        {"power-on nobody", "no node", CMD_FAILED},
        {"detach -1", "no client", CMD_FAILED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(say(&x, cases[i].line), cases[i].code);
        ck_assert_msg(strstr(fab_base_text_get(&x.out), cases[i].says) != NULL, "%s: %s",
                      cases[i].line, fab_base_text_get(&x.out));
    }
    char long_line[400];
    memset(long_line, 'x', sizeof long_line);
    ck_assert_int_eq(console_run(&x.console, long_line, sizeof long_line, &x.out), CMD_USAGE);
    ck_assert_int_eq(console_run(&x.console, "sta\0tus", 7, &x.out), CMD_USAGE);
    lab_end(&x);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hub console");
    TCase *tcase = tcase_create("console");
    tcase_add_test(tcase, places);
    tcase_add_test(tcase, console);
    tcase_add_test(tcase, late_answers);
    tcase_add_test(tcase, late_requests);
    tcase_add_test(tcase, faults_that_take_time);
    tcase_add_test(tcase, faults_and_back);
    tcase_add_test(tcase, console_mistakes);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
