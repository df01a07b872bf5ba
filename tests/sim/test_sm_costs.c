/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limits for what the manager does on fabrics of three sizes: the numbers of MADs and table writes
 * of a bring-up, a sweep, a repair and a restart. Raise a limit only on purpose. The tests run in
 * virtual time, so the numbers are the same on every machine.
 */
#include <stdio.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/discover/discover.h"
#include "libfabmgr/sim/fault.h"
#include "libfabmgr/sim/sim.h"
#include "tests/sim/lab.h"

struct size {
    uint32_t leaves, spines, hosts; /* hosts: number of hosts at each leaf */
};

/* Leaf-spine fabrics: {leaves, spines, hosts at each leaf}. In the last one, an LFT has several
 * blocks; in the others, one. */
static const struct size sizes[] = {{6, 3, 4}, {6, 4, 4}, {12, 6, 8}};
#define SIZES (sizeof sizes / sizeof sizes[0])

struct cost {
    uint64_t mads, sets, lft_sets, lft_gets, port_sets, generations, sweeps;
};

static char state[40];
static struct sm_status before;

static struct size begin(struct lab *lab, int number)
{
    struct size z = sizes[number];
    snprintf(state, sizeof state, "/tmp/fabricd-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(state));
    lab_open_virtual(lab, lab_leaf_spine(z.leaves, z.spines, z.hosts), state);
    lab_stop(lab);
    lab->config.sweep.light_interval_s = 10;
    /* Switch the scrub off, because it sends MADs all the time. tests/attack/test_scrub.c counts
     * these MADs. */
    lab->config.sweep.scrub_interval_s = 0;
    lab_begin(lab, state);
    sm_start(lab->sm);
    return z;
}

static void end(struct lab *lab)
{
    char command[80];
    lab_assert_good(lab);
    lab_close(lab);
    snprintf(command, sizeof command, "rm -r '%s'", state);
    ck_assert_int_eq(system(command), 0);
}

static void start_counting(struct lab *lab)
{
    lab_forget_writes(lab);
    lab_forget_events(lab);
    sm_get_status(lab->sm, &before);
}

static struct cost cost(struct lab *lab)
{
    struct sm_status now;
    sm_get_status(lab->sm, &now);
    ck_assert_uint_eq(now.smps_retried, before.smps_retried);
    ck_assert_uint_eq(now.smps_timed_out, before.smps_timed_out);
    return (struct cost){.mads = now.smps_sent - before.smps_sent,
                         .sets = lab->sets,
                         .lft_sets = lab->sets_lft,
                         .lft_gets = lab->gets_lft,
                         .port_sets = lab->sets_port_info,
                         .generations = now.generation - before.generation,
                         .sweeps = now.sweeps - before.sweeps};
}

static uint32_t switches(struct size z)
{
    return z.leaves + z.spines;
}

/* Returns the number of MADs of a heavy sweep. It reads NodeInfo and NodeDescription of each node,
 * SwitchInfo of each switch, and PortInfo of each port, including port 0 of each switch. For each
 * link that leads to an already known switch, it reads one NodeInfo more. */
static uint64_t heavy(struct size z)
{
    uint64_t hosts = (uint64_t)z.leaves * z.hosts, isls = (uint64_t)z.leaves * z.spines;
    uint64_t ports = hosts + 2 * isls + switches(z);
    return 3 * hosts + 3 * (uint64_t)switches(z) + ports + isls - (switches(z) - 1);
}

/* Returns the limit for additional NodeInfo requests of a sweep. Requests for the same new switch
 * may be on their way over several links, because none of them is answered yet. */
static uint64_t at_once(struct size z)
{
    return (uint64_t)z.leaves * z.spines / 8;
}

static uint64_t blocks(struct size z)
{
    uint64_t lids = (uint64_t)z.leaves * z.hosts + switches(z);
    return switches(z) * (lids / 64 + 1);
}

/* A bring-up writes each LFT block once, and PortInfo of each port with a link twice: first the
 * settings, then the state Active. Port 0 of a switch has no link state, so its PortInfo is written
 * once. */
START_TEST(a_bring_up_writes_each_thing_once)
{
    struct lab lab;
    struct size z = begin(&lab, _i);
    memset(&before, 0, sizeof before);
    lab_run(&lab, 10, lab_is_ready, "bring-up");
    struct cost c = cost(&lab);
    uint64_t hosts = (uint64_t)z.leaves * z.hosts, isls = (uint64_t)z.leaves * z.spines;
    ck_assert_uint_eq(c.lft_sets, blocks(z));
    /* after the reset of a switch, the manager need not read its LFT */
    ck_assert_uint_eq(c.lft_gets, 0);
    ck_assert_uint_eq(c.port_sets, 4 * (hosts + isls) + switches(z));
    ck_assert_uint_eq(c.sets, c.port_sets + c.lft_sets + switches(z));
    ck_assert_uint_ge(c.mads, heavy(z) + c.sets);
    ck_assert_uint_le(c.mads, heavy(z) + c.sets + at_once(z));
    ck_assert_uint_eq(c.generations, 1);
    ck_assert_uint_eq(c.sweeps, 1);
    end(&lab);
}
END_TEST

START_TEST(a_light_sweep_asks_each_switch_once)
{
    struct lab lab;
    struct size z = begin(&lab, _i);
    lab_run(&lab, 10, lab_is_ready, "bring-up");
    lab_run_for(&lab, 1);
    start_counting(&lab);
    lab_run_for(&lab, 30);
    struct cost c = cost(&lab);
    ck_assert_uint_eq(c.mads, 3 * switches(z));
    ck_assert_uint_eq(c.sets, 0);
    ck_assert_uint_eq(c.generations, 0);
    ck_assert_uint_eq(c.sweeps, 0);
    end(&lab);
}
END_TEST

/* A heavy sweep of an unchanged fabric reads each attribute once. The manager computes, publishes
 * and writes nothing. */
START_TEST(a_heavy_sweep_asks_for_each_thing_once)
{
    struct lab lab;
    struct size z = begin(&lab, _i);
    lab_run(&lab, 10, lab_is_ready, "bring-up");
    lab_run_for(&lab, 1);
    start_counting(&lab);
    struct fab_view *view = sm_view(lab.sm), *after;
    ck_assert_int_eq(sm_sweep(lab.sm, NULL, NULL), FAB_OK);
    lab_run_for(&lab, 1);
    struct cost c = cost(&lab);
    ck_assert_uint_eq(c.sweeps, 1);
    ck_assert_uint_eq(c.mads, heavy(z));
    ck_assert_uint_eq(c.sets, 0);
    ck_assert_uint_eq(c.lft_gets, 0);
    ck_assert_uint_eq(c.generations, 0);
    after = sm_view(lab.sm);
    ck_assert_ptr_eq(after->target, view->target);
    ck_assert_uint_eq(sm_reroutes(lab.sm, 0, &(struct reroute){0}, 1), 0);
    fab_view_unref(after);
    fab_view_unref(view);
    end(&lab);
}
END_TEST

/* An operator requests new tables. They equal the old ones, so the manager reads and writes
 * nothing. */
START_TEST(a_reroute_that_changes_nothing_sends_nothing)
{
    struct lab lab;
    (void)begin(&lab, _i);
    lab_run(&lab, 10, lab_is_ready, "bring-up");
    lab_run_for(&lab, 1);
    start_counting(&lab);
    ck_assert_int_eq(sm_reroute(lab.sm, NULL, NULL), FAB_OK);
    lab_run_for(&lab, 1);
    ck_assert_uint_eq(cost(&lab).mads, 0);
    end(&lab);
}
END_TEST

/* A restart reads the fabric and each block of the tables once, and writes nothing. */
START_TEST(a_restart_writes_nothing)
{
    struct lab lab;
    struct size z = begin(&lab, _i);
    lab_run(&lab, 10, lab_is_ready, "bring-up");
    lab_stop(&lab);
    lab_begin(&lab, state);
    lab_forget_writes(&lab);
    memset(&before, 0, sizeof before);
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_ready, "the restart");
    lab_run_for(&lab, 1);
    struct cost c = cost(&lab);
    ck_assert_uint_eq(c.sets, 0);
    ck_assert_uint_eq(c.lft_gets, blocks(z));
    ck_assert_uint_ge(c.mads, heavy(z) + c.lft_gets);
    ck_assert_uint_le(c.mads, heavy(z) + c.lft_gets + at_once(z));
    ck_assert_uint_eq(c.sweeps, 1);
    end(&lab);
}
END_TEST

/* ---- repairs ---- */

/* Takes a link down or up, and returns the cost of the repair with the sweep that checks it. A
 * repair reads only a part of the fabric. After a failure, it writes no block twice. When a link
 * comes back, it may: the manager writes in several steps, so that no mixture of old and new tables
 * has a cycle. */
static struct cost fault(struct lab *lab, const char *node, uint8_t port, bool up)
{
    start_counting(lab);
    if (up)
        lab_relink(lab, node, port);
    else
        lab_unlink(lab, node, port);
    lab_run_for(lab, 2);
    lab_assert_good(lab);
    return cost(lab);
}

START_TEST(a_repair_asks_for_what_may_have_changed)
{
    static const struct {
        uint64_t lost, regained, lost_sets, regained_sets, lost_host, regained_host;
    } most[SIZES] = {
        {62, 58, 13, 22, 25, 32}, {65, 62, 13, 22, 28, 35}, {122, 110, 34, 44, 46, 53}};
    struct lab lab;
    struct size z = begin(&lab, _i);
    uint8_t uplink = (uint8_t)(z.hosts + 1);
    lab_run(&lab, 10, lab_is_ready, "bring-up");
    lab_run_for(&lab, 1);
    struct cost c = fault(&lab, "leaf-001", uplink, false);
    ck_assert_uint_le(c.mads, most[_i].lost);
    ck_assert_uint_le(c.sets, most[_i].lost_sets);
    /* After the repair, the incremental rebalance may write two more blocks. */
    ck_assert_uint_le(c.lft_sets, blocks(z) + 2);
    ck_assert_uint_eq(c.port_sets, 0);
    ck_assert_uint_eq(c.sweeps, 0);
    c = fault(&lab, "leaf-001", uplink, true);
    ck_assert_uint_le(c.mads, most[_i].regained);
    ck_assert_uint_le(c.sets, most[_i].regained_sets);
    /* leaf-001 is the root of the up/down order. When its link returns, the detours of the spines
     * are removed in two steps, so each spine may get one block twice. */
    ck_assert_uint_le(c.lft_sets, blocks(z) + z.spines);
    /* PortInfo of each of the two ports is written twice: first the settings, then the state
     * Active. */
    ck_assert_uint_eq(c.port_sets, 4);
    ck_assert_uint_eq(c.sweeps, 0);
    c = fault(&lab, "leaf-002", 2, false);
    ck_assert_uint_le(c.mads, most[_i].lost_host);
    /* The host keeps its LID, so the routes to it stay the same. */
    ck_assert_uint_eq(c.lft_sets, 0);
    ck_assert_uint_le(c.sets, 1);
    c = fault(&lab, "leaf-002", 2, true);
    ck_assert_uint_le(c.mads, most[_i].regained_host);
    ck_assert_uint_eq(c.lft_sets, 0);
    ck_assert_uint_eq(c.port_sets, 4);
    ck_assert_uint_le(c.sets, 5);
    end(&lab);
}
END_TEST

/* ---- requests in flight ---------------------------------------------------------------------- */

static struct {
    /* the transport's functions, of which the test replaces `send` */
    const struct transport_ops *ops;
    transport_receive *receive;
    void *ctx;
    unsigned count, most; /* count: requests in flight now. most: highest value of `count`. */
} wire;

static int count_sent(struct transport *t, const struct transport_mad *mad)
{
    wire.most = ++wire.count > wire.most ? wire.count : wire.most;
    return wire.ops->send(t, mad);
}

static void count_received(void *ctx, const struct transport_mad *mads, size_t n)
{
    (void)ctx;
    wire.count -= (unsigned)n;
    wire.receive(wire.ctx, mads, n);
}

/* Devices answer after 100 ms, so requests are in flight for a long time. A background heavy sweep
 * must have up to 16 requests in flight, and not more. */
START_TEST(a_background_sweep_has_few_requests_in_flight)
{
    struct lab lab;
    lab_open_virtual(&lab, lab_leaf_spine(8, 4, 6), NULL);
    lab_stop(&lab);
    lab.config.smp.timeout_ms = 5000;
    lab.config.sweep.light_interval_s = lab.config.sweep.scrub_interval_s = 0;
    lab.config.sweep.heavy_interval_s = 60;
    lab_begin(&lab, NULL);
    sm_start(lab.sm);
    lab_run(&lab, 50, lab_is_ready, "bring-up");
    struct transport_ops ops = *lab.sim_transport->ops;
    ops.send = count_sent;
    memset(&wire, 0, sizeof wire);
    wire.ops = lab.sim_transport->ops;
    wire.receive = lab.sim_transport->receive;
    wire.ctx = lab.sim_transport->receive_ctx;
    lab.sim_transport->ops = &ops;
    transport_on_receive(lab.sim_transport, count_received, NULL);
    for (uint32_t node = 0; node < fab_sim_fabric(lab.sim)->node_count; node++)
        ck_assert_int_eq(fab_sim_delay(lab.sim, node, 100000, 0), FAB_OK);
    uint64_t before = lab.sends;
    lab_run_for(&lab, 65);
    ck_assert_uint_gt(lab.sends, before + 200);
    ck_assert_uint_eq(wire.most, 16);
    lab.sim_transport->ops = wire.ops;
    lab_close(&lab);
}
END_TEST

/* no_memory: fab_discover_new() fails with FAB_E_NOMEM. missed: fab_discover_new() has failed. */
static bool no_memory, missed;

int __real_fab_discover_new(const struct fab_discover_config *config, struct fab_discover **ret);
int __wrap_fab_discover_new(const struct fab_discover_config *config, struct fab_discover **ret);
int __wrap_fab_discover_new(const struct fab_discover_config *config, struct fab_discover **ret)
{
    missed = missed || no_memory;
    return no_memory ? FAB_E_NOMEM : __real_fab_discover_new(config, ret);
}

/* A background sweep cannot begin for want of memory. As soon as there is memory again, the manager
 * sweeps, without waiting for the next interval. */
START_TEST(a_background_sweep_without_memory_is_made_up_for)
{
    struct lab lab;
    lab_open_virtual(&lab, lab_leaf_spine(4, 2, 2), NULL);
    lab_stop(&lab);
    lab.config.sweep.light_interval_s = lab.config.sweep.scrub_interval_s = 0;
    lab.config.sweep.heavy_interval_s = 600;
    lab_begin(&lab, NULL);
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_ready, "bring-up");
    start_counting(&lab);
    no_memory = true;
    missed = false;
    while (!missed)
        lab_run_for(&lab, 1);
    no_memory = false;
    ck_assert_uint_eq(cost(&lab).sweeps, 0);
    lab_run_for(&lab, 60);
    ck_assert_uint_eq(cost(&lab).sweeps, 1);
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sm costs");
    TCase *t = tcase_create("counts");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, a_bring_up_writes_each_thing_once, 0, SIZES);
    tcase_add_loop_test(t, a_light_sweep_asks_each_switch_once, 0, SIZES);
    tcase_add_loop_test(t, a_heavy_sweep_asks_for_each_thing_once, 0, SIZES);
    tcase_add_loop_test(t, a_reroute_that_changes_nothing_sends_nothing, 0, SIZES);
    tcase_add_loop_test(t, a_restart_writes_nothing, 0, SIZES);
    tcase_add_loop_test(t, a_repair_asks_for_what_may_have_changed, 0, SIZES);
    tcase_add_test(t, a_background_sweep_has_few_requests_in_flight);
    tcase_add_test(t, a_background_sweep_without_memory_is_made_up_for);
    suite_add_tcase(s, t);
    return test_run(s);
}
