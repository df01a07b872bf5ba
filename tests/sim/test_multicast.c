/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multicast by the whole manager on a simulated fabric, in virtual time. Hosts join and leave
 * groups, and cables and switches fail and come back. After each step, the test follows packets by
 * the tables in the simulated switches. A packet from a member must reach every other member of its
 * group exactly once. MULTICAST_STEPS=10000 in the environment sets the number of steps.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/mcast/groups.h"
#include "libfabmgr/sim/fault.h"
#include "libfabmgr/sim/sim.h"
#include "tests/sim/lab.h"

/* number of groups; 40 MLIDs take two blocks of an MFT */
#define GROUPS 40
#define PATIENCE_S 30
#define DEAD_MOST 5

struct world {
    struct config config;
    struct loop *loop;
    struct bus *bus;
    struct fab_sim *sim;
    struct transport *transport;
    struct sm *sm;
    const struct fab_fabric *f; /* the simulated fabric, with all its cables */
    struct fab_prng r;
    uint8_t (*member)[GROUPS]; /* [port_count] JoinState of each adapter port in each group */
    /* [port_count] true: the cable at this port is pulled. */
    bool *dead;
    uint32_t self; /* the port of the manager */
    /* id of the switch that is off; FAB_NONE: all are on */
    uint32_t off;
    unsigned faults, joins, leaves, dropped;
    struct loop_timer *timer;
    uint64_t end_us;
    bool met;
    uint16_t *came; /* [port_count] number of copies of a packet that this port got */
    uint32_t sent;
};

static void on_event(void *ctx, const struct event *e)
{
    (void)ctx;
    if (getenv("LAB_VERBOSE"))
        printf("# %s: %s\n", e->type, e->message);
}

/* ---- the manager ----------------------------------------------------------------------------- */

static bool is_settled(const struct world *w)
{
    struct sm_status status;
    struct sm_multicast_status multicast;
    sm_get_status(w->sm, &status);
    sm_get_multicast(w->sm, &multicast);
    return status.generation > 0 && strcmp(status.state, "idle") == 0 && !multicast.pending;
}

static void look(void *ctx)
{
    struct world *w = ctx;
    w->met = is_settled(w);
    if (w->met || clock_now_us() >= w->end_us)
        loop_stop(w->loop);
    else
        loop_timer_set(w->timer, 5000);
}

static void settle(struct world *w, uint64_t after_us)
{
    w->end_us = clock_now_us() + PATIENCE_S * UINT64_C(1000000);
    loop_timer_set(w->timer, after_us);
    ck_assert_int_eq(loop_run(w->loop), FAB_OK);
    struct sm_status status;
    struct sm_multicast_status multicast;
    sm_get_status(w->sm, &status);
    sm_get_multicast(w->sm, &multicast);
    if (!w->met)
        ck_abort_msg(
            "it does not come to rest: state %s, tables %s, %u unresponsive switches, %u faults",
            status.state, multicast.pending ? "pending" : "written", multicast.unresponsive,
            w->faults);
}

static void begin(struct world *w, struct fab_builder *b, uint64_t seed)
{
    struct fab_fabric *f;
    char why[256] = "";
    *w = (struct world){.off = FAB_NONE};
    ck_assert_int_eq(fab_fabric_builder_seal(b, &f), FAB_OK);
    fab_fabric_builder_free(b);
    fab_base_prng_init(&w->r, seed);
    ck_assert_int_eq(fab_sim_new(f, seed, &w->sim), FAB_OK);
    fab_fabric_unref(f);
    w->f = fab_sim_fabric(w->sim);
    w->member = calloc(w->f->port_count, sizeof(*w->member));
    w->dead = calloc(w->f->port_count, sizeof(*w->dead));
    w->came = calloc(w->f->port_count, sizeof(*w->came));
    ck_assert_int_eq(config_defaults(&w->config), FAB_OK);
    w->config.flapping.hold_down_s = 0;
    w->config.multicast.absent_s = 5;
    w->loop = loop_new_virtual();
    w->timer = loop_timer_new(w->loop, look, w);
    w->bus = bus_new(0);
    ck_assert_int_eq(bus_subscribe(w->bus, on_event, NULL), FAB_OK);
    ck_assert_int_eq(transport_sim_open(w->loop, w->sim, NULL, &w->transport, why, sizeof(why)),
                     FAB_OK);
    w->self = fab_fabric_port_by_guid(w->f, w->transport->port_guid);
    const struct sm_input in = {
        .loop = w->loop, .transport = w->transport, .bus = w->bus, .config = &w->config};
    ck_assert_int_eq(sm_new(&in, &w->sm), FAB_OK);
    sm_start(w->sm);
    settle(w, 0);
}

static void end(struct world *w)
{
    sm_free(w->sm);
    transport_close(w->transport);
    bus_free(w->bus);
    loop_timer_free(w->timer);
    loop_free(w->loop);
    fab_sim_free(w->sim);
    config_fini(&w->config);
    free(w->member);
    free(w->dead);
    free(w->came);
}

/* ---- hosts ----------------------------------------------------------------------------------- */

static struct fab_wire_mc_member_record record_of(const struct world *w, uint32_t port,
                                                  uint32_t group, uint8_t join_state)
{
    return (struct fab_wire_mc_member_record){
        .mgid = {UINT64_C(0xff12000000000000), group + 1},
        .port_gid = {UINT64_C(0xfe80000000000000), fab_fabric_port(w->f, port)->guid},
        .pkey = 0xffff,
        .qkey = 0x1234,
        .join_state = join_state,
    };
}

/* components of a join: MGID, PortGID, Q_Key, TClass, P_Key, SL, FlowLabel, JoinState */
#define JOIN_MASK (1u << 0 | 1u << 1 | 1u << 2 | 1u << 6 | 1u << 7 | 1u << 12 | 1u << 13 | 1u << 16)

static void join(struct world *w, uint32_t port, uint32_t group, uint8_t state)
{
    const struct fab_wire_mc_member_record record = record_of(w, port, group, state);
    struct fab_wire_mc_member_record is;
    const struct fab_mcast_request ask = {
        .record = &record, .comp_mask = JOIN_MASK, .mtu = 4, .rate = 3, .life = 18};
    ck_assert_uint_eq(sm_mgroup_join(w->sm, &ask, &is), 0);
    w->member[port][group] = is.join_state;
    w->joins++;
}

static void leave(struct world *w, uint32_t port, uint32_t group)
{
    const struct fab_wire_mc_member_record record =
        record_of(w, port, group, w->member[port][group] & 15);
    struct fab_wire_mc_member_record is;
    const struct fab_mcast_request ask = {.record = &record, .comp_mask = JOIN_MASK};
    ck_assert_uint_eq(sm_mgroup_leave(w->sm, &ask, &is), 0);
    w->member[port][group] = 0;
    w->leaves++;
}

/* Updates the expected members: a port that has been absent for too long is no member any more, and
 * a group without full members does not exist any more. */
static void learn_members(struct world *w)
{
    const struct fab_mcast_groups *g = sm_mgroups(w->sm);
    for (uint32_t group = 0; group < GROUPS; group++) {
        const uint64_t mgid[2] = {UINT64_C(0xff12000000000000), group + 1};
        const struct fab_mcast_group *is = fab_mcast_groups_find(g, mgid);
        for (uint32_t port = 0; port < w->f->port_count; port++) {
            size_t i =
                is != NULL ? fab_mcast_group_lower_bound(is, fab_fabric_port(w->f, port)->guid) : 0;
            bool there = is != NULL && i < is->members &&
                         is->member[i].gid[1] == fab_fabric_port(w->f, port)->guid;
            if (w->member[port][group] == 0)
                continue;
            w->dropped += !there;
            w->member[port][group] = there ? is->member[i].join_state : 0;
        }
    }
}

static uint32_t some_host(struct world *w)
{
    for (;;) {
        uint32_t node = (uint32_t)fab_base_prng_below(&w->r, w->f->node_count);
        if (node >= w->f->switch_count)
            return w->f->nodes[node].first_port + 1;
    }
}

static void change_member(struct world *w)
{
    uint32_t port = some_host(w), group = (uint32_t)fab_base_prng_below(&w->r, GROUPS);
    if (w->member[port][group] != 0)
        leave(w, port, group);
    else if (!w->dead[port])
        join(w, port, group, 1);
}

/* ---- faults ---------------------------------------------------------------------------------- */

static unsigned dead_count(const struct world *w)
{
    unsigned count = 0;
    for (uint32_t port = 0; port < w->f->port_count; port++)
        count += w->dead[port];
    return count / 2;
}

static void cable(struct world *w, uint32_t port, bool dies)
{
    const struct fab_port *p = fab_fabric_port(w->f, port);
    transport_sim_tell_time(w->transport);
    int r =
        dies ? fab_sim_unlink(w->sim, p->node, p->num) : fab_sim_relink(w->sim, p->node, p->num);
    ck_assert_int_eq(r, FAB_OK);
    w->dead[port] = w->dead[p->peer] = dies;
    transport_sim_kick(w->transport);
}

static void power(struct world *w)
{
    transport_sim_tell_time(w->transport);
    if (w->off != FAB_NONE) {
        ck_assert_int_eq(fab_sim_power_on(w->sim, w->off, 100000, 0), FAB_OK);
        w->off = FAB_NONE;
    } else {
        uint32_t own = fab_fabric_peer_node(w->f, w->self);
        uint32_t sw = (uint32_t)fab_base_prng_below(&w->r, w->f->switch_count);
        if (sw == own)
            return;
        ck_assert_int_eq(fab_sim_power_off(w->sim, sw), FAB_OK);
        w->off = sw;
    }
    transport_sim_kick(w->transport);
}

/* Pulls or plugs in a cable, or switches a switch off or on. Never cuts off the manager itself. */
static void change_fabric(struct world *w)
{
    w->faults++;
    if (fab_base_prng_chance(&w->r, 0.1)) {
        power(w);
        return;
    }
    bool dies = dead_count(w) < DEAD_MOST && fab_base_prng_chance(&w->r, 0.6);
    uint32_t self = w->self, from = (uint32_t)fab_base_prng_below(&w->r, w->f->port_count);
    for (uint32_t i = 0; i < w->f->port_count; i++) {
        uint32_t port = (from + i) % w->f->port_count, peer = fab_fabric_port(w->f, port)->peer;
        if (peer == FAB_NONE || port == self || peer == self || w->dead[port] == dies)
            continue;
        cable(w, port, dies);
        return;
    }
}

/* ---- the walk -------------------------------------------------------------------------------- */

static bool carries(const struct world *w, uint32_t port)
{
    const struct fab_port *p = fab_fabric_port(w->f, port);
    if (p->peer == FAB_NONE || w->dead[port])
        return false;
    const struct fab_port *q = fab_fabric_port(w->f, p->peer);
    return p->node != w->off && q->node != w->off &&
           fab_sim_port(w->sim, p->node, p->num)->port_state == FAB_STATE_ACTIVE &&
           fab_sim_port(w->sim, q->node, q->num)->port_state == FAB_STATE_ACTIVE;
}

static void forward(struct world *w, uint16_t mlid, uint32_t sw, uint32_t in)
{
    const struct fab_node *n = &w->f->nodes[sw];
    if (++w->sent > w->f->switch_count)
        ck_abort_msg("MLID 0x%x forwards in a loop", mlid);
    for (uint32_t num = 0; num <= n->num_ports; num++) {
        uint32_t port = n->first_port + num;
        if ((fab_sim_mft(w->sim, sw, mlid, num / 16) >> num % 16 & 1) == 0 || port == in)
            continue;
        if (num == 0) {
            w->came[port]++;
            continue;
        }
        if (!carries(w, port))
            continue;
        uint32_t peer = fab_fabric_port(w->f, port)->peer;
        w->came[peer]++;
        if (fab_fabric_node_is_switch(w->f, fab_fabric_port(w->f, peer)->node))
            forward(w, mlid, fab_fabric_port(w->f, peer)->node, peer);
    }
}

/* Gives switches the same number in part[] if links that are up connect them. */
static void find_parts(const struct world *w, uint32_t *part)
{
    bool more = true;
    for (uint32_t sw = 0; sw < w->f->switch_count; sw++)
        part[sw] = sw;
    while (more) {
        more = false;
        for (uint32_t port = 0; port < w->f->port_count; port++) {
            uint32_t a = fab_fabric_port(w->f, port)->node, b = fab_fabric_peer_node(w->f, port);
            if (b == FAB_NONE || a >= w->f->switch_count || b >= w->f->switch_count ||
                !carries(w, port) || part[a] <= part[b])
                continue;
            part[a] = part[b];
            more = true;
        }
    }
}

static void judge_from(struct world *w, uint32_t from, uint32_t group, uint16_t mlid,
                       const uint32_t *part)
{
    uint32_t own = fab_fabric_peer_node(w->f, w->self), sw = fab_fabric_peer_node(w->f, from);
    if (w->member[from][group] == 0 || !carries(w, from) || part[sw] != part[own])
        return;
    memset(w->came, 0, w->f->port_count * sizeof(*w->came));
    w->sent = 0;
    forward(w, mlid, sw, fab_fabric_port(w->f, from)->peer);
    for (uint32_t to = 0; to < w->f->port_count; to++) {
        uint32_t there = fab_fabric_peer_node(w->f, to);
        if (fab_fabric_node_is_switch(w->f, fab_fabric_port(w->f, to)->node) || there == FAB_NONE ||
            to == from || !carries(w, to))
            continue;
        unsigned shall = w->member[to][group] != 0 && part[there] == part[own];
        if (w->came[to] != shall)
            ck_abort_msg("group %u, MLID 0x%x: from %s to %s %u times, not %u", group, mlid,
                         w->f->nodes[fab_fabric_port(w->f, from)->node].desc,
                         w->f->nodes[fab_fabric_port(w->f, to)->node].desc, w->came[to], shall);
    }
}

static void judge(struct world *w)
{
    uint32_t *part = calloc(w->f->switch_count, sizeof(*part));
    find_parts(w, part);
    learn_members(w);
    for (uint32_t group = 0; group < GROUPS; group++) {
        const uint64_t mgid[2] = {UINT64_C(0xff12000000000000), group + 1};
        const struct fab_mcast_group *is = fab_mcast_groups_find(sm_mgroups(w->sm), mgid);
        for (uint32_t port = 0; is != NULL && port < w->f->port_count; port++)
            judge_from(w, port, group, is->is.mlid, part);
    }
    free(part);
}

/* Checks that each group has an MLID, that there are no other MLIDs in use, and that all MFT
 * entries of unused MLIDs are empty. */
static void judge_lids(const struct world *w)
{
    const struct fab_mcast_groups *g = sm_mgroups(w->sm);
    struct sm_multicast_status status;
    sm_get_multicast(w->sm, &status);
    ck_assert_uint_eq(status.mlids, g->groups);
    for (uint32_t i = 0; i < g->mlids; i++)
        for (uint32_t sw = 0; g->users[i] == 0 && sw < w->f->switch_count; sw++)
            for (unsigned p = 0; p <= w->f->nodes[sw].num_ports / 16u; p++)
                if (sw != w->off && fab_sim_mft(w->sim, sw, (uint16_t)(0xc000 + i), p) != 0)
                    ck_abort_msg("%s still has an entry for LID 0x%x", w->f->nodes[sw].desc,
                                 0xc000 + i);
}

static unsigned steps_wanted(unsigned fewer)
{
    const char *text = getenv("MULTICAST_STEPS");
    return text ? (unsigned)strtoul(text, NULL, 10) : fewer;
}

static void live(struct world *w, unsigned steps)
{
    for (unsigned step = 0; step < steps; step++) {
        bool fault = fab_base_prng_chance(&w->r, 0.2);
        fault ? change_fabric(w) : change_member(w);
        settle(w, fault ? 300000 : 0);
        judge(w);
    }
    while (w->off != FAB_NONE)
        power(w);
    for (uint32_t port = 0; port < w->f->port_count; port++)
        if (w->dead[port])
            cable(w, port, false);
    settle(w, 2000000);
    judge(w);
    judge_lids(w);
    for (uint32_t port = 0; port < w->f->port_count; port++)
        for (uint32_t group = 0; group < GROUPS; group++)
            if (w->member[port][group] != 0)
                leave(w, port, group);
    settle(w, 0);
    judge_lids(w);
    printf("# %u steps: %u joins, %u leaves, %u faults; %u memberships ended with their ports\n",
           steps, w->joins, w->leaves, w->faults, w->dropped);
}

START_TEST(each_reaches_each_once_on_a_fat_tree)
{
    struct world w;
    begin(&w, lab_leaf_spine(6, 4, 3), test_seed("fat tree", 1));
    live(&w, steps_wanted(200));
    end(&w);
}
END_TEST

START_TEST(each_reaches_each_once_on_a_random_fabric)
{
    struct world w;
    uint64_t seed = test_seed("random", 2);
    const struct fab_random_spec spec = {12, 4, 24, seed};
    struct fab_builder *b;
    ck_assert_int_eq(fab_fabric_generate_random(&spec, &b), FAB_OK);
    begin(&w, b, seed);
    live(&w, steps_wanted(200));
    end(&w);
}
END_TEST

/* ---- a restart ------------------------------------------------------------------------------- */

static bool is_written(struct lab *lab)
{
    struct sm_multicast_status status;
    sm_get_multicast(lab->sm, &status);
    return lab_is_idle(lab) && !status.pending;
}

static uint32_t host_port(struct lab *lab, const char *name)
{
    return fab_sim_fabric(lab->sim)->nodes[lab_node(lab, name)].first_port + 1;
}

static void join_as(struct lab *lab, const char *name, uint32_t group, uint8_t state)
{
    const struct world w = {.f = fab_sim_fabric(lab->sim)};
    const struct fab_wire_mc_member_record record =
        record_of(&w, host_port(lab, name), group, state);
    struct fab_wire_mc_member_record is;
    const struct fab_mcast_request ask = {
        .record = &record, .comp_mask = JOIN_MASK, .mtu = 4, .rate = 3, .life = 18};
    ck_assert_uint_eq(sm_mgroup_join(lab->sm, &ask, &is), 0);
}

static void join_in_lab(struct lab *lab, const char *name, uint32_t group)
{
    join_as(lab, name, group, 1);
}

/* the next calls of fab_mcast_net_new, as many as this number, get no memory */
static unsigned nets_refused;

int __real_fab_mcast_net_new(const struct fab_fabric *f, struct fab_mcast_net **ret);
int __wrap_fab_mcast_net_new(const struct fab_fabric *f, struct fab_mcast_net **ret);
int __wrap_fab_mcast_net_new(const struct fab_fabric *f, struct fab_mcast_net **ret)
{
    if (nets_refused == 0)
        return __real_fab_mcast_net_new(f, ret);
    nets_refused--;
    return FAB_E_NOMEM;
}

/* Brings a fabric up, with a store in the folder `dir`. Then two hosts join the broadcast group. */
static void two_hosts_join(struct lab *lab, const char *dir)
{
    lab_bring_up(lab, lab_leaf_spine(4, 2, 2), dir);
    lab_run(lab, 3, is_written, "the groups of the configuration");
    ck_assert_uint_eq(lab->sets_mft, 0); /* a group without members needs no tables */
    join_in_lab(lab, "host-0001", 0);
    join_in_lab(lab, "host-0003", 0);
    lab_run(lab, 3, is_written, "a join");
    ck_assert_uint_eq(lab->sets_mft, 3); /* each host's leaf, and a spine */
}

/* Replaces the manager by a new one with the same store, and waits until it has nothing to
 * write. */
static void restart(struct lab *lab, const char *dir)
{
    lab_stop(lab);
    lab_forget_writes(lab);
    lab_begin(lab, dir);
    sm_start(lab->sm);
    lab_run(lab, 10, is_written, "the next life");
}

/* After a restart, the manager makes the stored groups, but gets no memory three times. It must try
 * again after a second each time, and lose no group. */
START_TEST(stored_groups_survive_a_lack_of_memory)
{
    struct lab lab;
    struct sm_multicast_status before, after;
    char dir[] = "/tmp/test-multicast-XXXXXX", command[64];
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(command, sizeof(command), "rm -r %s", dir);
    two_hosts_join(&lab, dir);
    sm_get_multicast(lab.sm, &before);
    nets_refused = 3;
    restart(&lab, dir);
    sm_get_multicast(lab.sm, &after);
    ck_assert_uint_eq(nets_refused, 0);
    ck_assert_uint_eq(after.groups, before.groups);
    ck_assert_uint_eq(after.members, 2);
    ck_assert_uint_eq(lab.sets_mft, 0);
    lab_close(&lab);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

/* After a restart, no MFT must be written. A join must then write only the MFTs of switches on its
 * new branch. */
START_TEST(groups_and_tables_survive_a_restart)
{
    struct lab lab;
    struct sm_multicast_status before, after;
    char dir[] = "/tmp/test-multicast-XXXXXX", command[64];
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(command, sizeof(command), "rm -r %s", dir);
    two_hosts_join(&lab, dir);
    lab_forget_writes(&lab);
    join_in_lab(&lab, "host-0004", 0);
    lab_run(&lab, 3, is_written, "a further join");
    ck_assert_uint_eq(lab.sets_mft, 1);
    join_in_lab(&lab, "host-0005", 7);
    lab_run(&lab, 3, is_written, "another group");
    sm_get_multicast(lab.sm, &before);
    restart(&lab, dir);
    sm_get_multicast(lab.sm, &after);
    ck_assert_uint_eq(after.groups, before.groups);
    ck_assert_uint_eq(after.members, 4);
    ck_assert_uint_eq(after.mlids, before.mlids);
    ck_assert_uint_eq(lab.sets_mft, 0);
    ck_assert_uint_gt(lab.gets_mft, 0);
    lab_close(&lab);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

/* Inverts a bit of a port mask in the memory of the manager, as a programming error might. */
static void spoil_tree(struct lab *lab)
{
    const struct fab_blocks *t = fab_mcast_trees_tables(sm_mgroups(lab->sm)->trees);
    for (size_t i = 0; i < t->count; i++)
        for (unsigned k = 0; k < FAB_BLOCK_ENTRIES; k++)
            if (t->block[i].entry[k] != 0) {
                ((struct fab_block *)(uintptr_t)&t->block[i])->entry[k] ^= 0x8;
                return;
            }
}

START_TEST(an_unproved_tree_is_not_written)
{
    struct lab lab;
    lab_bring_up(&lab, lab_leaf_spine(4, 2, 2), NULL);
    lab_run(&lab, 3, is_written, "the groups of the configuration");
    join_in_lab(&lab, "host-0001", 0);
    join_in_lab(&lab, "host-0003", 0);
    lab_run(&lab, 3, is_written, "the joins");
    lab_forget_writes(&lab);
    lab_forget_events(&lab);
    spoil_tree(&lab);
    join_in_lab(&lab, "host-0005", 0);
    const struct lab_event *e = lab_await(&lab, 3, "multicast-unproved");
    ck_assert_msg(strstr(e->message, "MLID 0xc0") != NULL, "%s", e->message);
    lab_run(&lab, 3, is_written, "the end of the work");
    ck_assert_uint_eq(lab.sets_mft, 0);
    /* the damaged tree has been reported, and must not be reported again */
    join_in_lab(&lab, "host-0007", 0);
    lab_run(&lab, 3, is_written, "the end of the work");
    ck_assert_uint_eq(lab_count_events(&lab, "multicast-unproved"), 1);
    spoil_tree(&lab); /* a second call undoes the damage */
    join_in_lab(&lab, "host-0002", 0);
    lab_run(&lab, 3, is_written, "a join of a good tree");
    ck_assert_uint_gt(lab.sets_mft, 0);
    lab_close(&lab);
}
END_TEST

/* ---- verification on request ----------------------------------------------------------------- */

static struct fab_multicast_verdict verified(struct lab *lab)
{
    struct sm_mft_copy *copy;
    struct fab_multicast_verdict v;
    struct fab_view *view = sm_view(lab->sm);
    const struct fab_verify_input unicast = fab_view_verify_input(view);
    ck_assert_int_eq(sm_copy_mfts(lab->sm, &copy), FAB_OK);
    ck_assert_int_eq(sm_mft_copy_verify(copy, &unicast, &v), FAB_OK);
    sm_mft_copy_free(copy);
    fab_view_unref(view);
    return v;
}

/* Inverts a random bit of the entry of MLID 0xc001 in the manager's copy of a random MFT.
 * *ret_entry: the entry. *ret_bit: a mask with this bit. Returns false if the manager knows no MFT
 * of this switch. */
static bool flip(struct lab *lab, struct fab_prng *r, uint16_t **ret_entry, uint16_t *ret_bit)
{
    const struct fab_fabric *f = fab_sim_fabric(lab->sim);
    uint32_t sw = (uint32_t)fab_base_prng_below(r, f->switch_count);
    const uint16_t *entry = sm_mft_block(lab->sm, sw, fab_mft_number(0xc000, 0));
    if (!entry)
        return false;
    *ret_bit = (uint16_t)(1u << fab_base_prng_below(r, 16));
    /* the block begins with MLID 0xc000, so this is the entry of 0xc001 */
    *ret_entry = (uint16_t *)(uintptr_t)entry + 1;
    **ret_entry ^= *ret_bit;
    return true;
}

/* An operator requests a verification of the MFTs that switches hold, together with the unicast
 * tables. It must find each bit that the test inverts. */
START_TEST(tables_in_switches_are_verified)
{
    struct lab lab;
    struct fab_prng r;
    unsigned found = 0;
    fab_base_prng_init(&r, test_seed("verified", 41));
    lab_bring_up(&lab, lab_leaf_spine(4, 2, 2), NULL);
    lab_run(&lab, 3, is_written, "the groups of the configuration");
    join_in_lab(&lab, "host-0001", 0);
    join_in_lab(&lab, "host-0003", 0);
    join_in_lab(&lab, "host-0005", 0);
    lab_run(&lab, 3, is_written, "the joins");
    const struct fab_multicast_verdict good = verified(&lab);
    ck_assert_int_eq(good.kind, FAB_OK);
    ck_assert_uint_eq(good.members, 3);
    ck_assert(good.with_unicast && good.together && good.dependencies > 0);
    for (unsigned i = 0; i < 100; i++) {
        uint16_t *entry, bit;
        if (!flip(&lab, &r, &entry, &bit))
            continue;
        struct fab_multicast_verdict bad = verified(&lab);
        ck_assert_int_ne(bad.kind, FAB_OK);
        ck_assert_uint_eq(bad.mlid, 0xc001);
        fab_verify_multicast_fini(&bad);
        *entry ^= bit;
        found++;
    }
    ck_assert_uint_gt(found, 20);
    ck_assert_int_eq(verified(&lab).kind, FAB_OK);
    lab_close(&lab);
}
END_TEST

/* Checks that multicast packets reach all 25 hosts, and that unicast and multicast packets together
 * cannot deadlock. */
static void assert_free(struct lab *lab)
{
    struct fab_multicast_verdict v = verified(lab);
    struct sm_status status;
    ck_assert_int_eq(v.kind, FAB_OK);
    ck_assert(v.with_unicast && v.together);
    ck_assert_uint_eq(v.members, 25);
    sm_get_status(lab->sm, &status);
    ck_assert_str_eq(status.multicast_alarm, "");
    fab_verify_multicast_fini(&v);
}

/* Starts a manager on a torus, and lets all hosts join a group. max_op_vls: code of the maximum
 * number of VLs, as in PortInfo.OperationalVLs. */
static void open_torus(struct lab *lab, uint8_t max_op_vls)
{
    struct fab_torus_spec spec = {.dimensions = 2, .size = {5, 5}, .hosts = 1, .parallel = 1};
    struct fab_builder *b;
    ck_assert_int_eq(fab_fabric_generate_torus(&spec, &b), FAB_OK);
    lab_open(lab, b, NULL);
    lab_stop(lab);
    lab->config.policy.max_op_vls = max_op_vls;
    lab_begin(lab, NULL);
    sm_start(lab->sm);
    lab_run(lab, 10, lab_is_idle, "bring-up");
    lab_run(lab, 3, is_written, "the groups of the configuration");
    const struct fab_fabric *f = fab_sim_fabric(lab->sim);
    for (uint32_t node = 0; node < f->node_count; node++)
        if (!fab_fabric_node_is_switch(f, node))
            join_in_lab(lab, f->nodes[node].desc, 0);
    lab_run(lab, 3, is_written, "the joins");
    assert_free(lab);
}

/* On a torus with two VLs, multicast trees of shortest paths would close a cycle with the unicast
 * routes. So the manager must use trees that follow a spanning tree. */
START_TEST(no_deadlock_on_a_torus)
{
    struct lab lab;
    struct sm_multicast_status status;
    open_torus(&lab, 2);
    sm_get_multicast(lab.sm, &status);
    ck_assert(status.spanning);
    lab_close(&lab);
}
END_TEST

/* With further VLs for detours, there must be no cycle either, not even after faults. */
START_TEST(no_deadlock_on_a_damaged_torus)
{
    struct lab lab;
    open_torus(&lab, 4);
    const struct fab_fabric *f = fab_sim_fabric(lab.sim);
    for (uint32_t sw = 0; sw < 3; sw++) {
        uint8_t num = 1;
        while (
            !fab_fabric_node_is_switch(f, fab_fabric_peer_node(f, fab_fabric_port_id(f, sw, num))))
            num++;
        transport_sim_tell_time(lab.sim_transport);
        ck_assert_int_eq(fab_sim_unlink(lab.sim, sw, num), FAB_OK);
        transport_sim_kick(lab.sim_transport);
        lab_run_for(&lab, 1);
        lab_run(&lab, 30, is_written, "the trees after a fault");
        assert_free(&lab);
    }
    ck_assert_uint_eq(lab_count_events(&lab, "multicast-deadlock"), 0);
    lab_close(&lab);
}
END_TEST

/* ---- time ------------------------------------------------------------------------------------ */

/* Starts a manager in virtual time. state: folder of its store; NULL: no store. */
static void bring_up_virtual(struct lab *lab, const char *state)
{
    lab_open_virtual(lab, lab_leaf_spine(4, 2, 2), state);
    lab->config.sweep.light_interval_s = lab->config.sweep.heavy_interval_s = 0;
    lab->config.multicast.absent_s = 5;
    sm_start(lab->sm);
    lab_run(lab, 60, is_written, "bring-up");
}

static unsigned entries(struct lab *lab)
{
    const struct fab_fabric *f = fab_sim_fabric(lab->sim);
    unsigned count = 0;
    for (uint32_t sw = 0; sw < f->switch_count; sw++)
        for (unsigned mlid = 0; mlid < 64; mlid++)
            for (unsigned p = 0; p <= f->nodes[sw].num_ports / 16u; p++)
                count += fab_sim_mft(lab->sim, sw, (uint16_t)(0xc000 + mlid), p) != 0;
    return count;
}

/* When the last full member of a group leaves, the group ends, even if it has other members, and
 * its MFT entries are cleared. If the port of the last full member is absent, the group ends after
 * multicast.absent. */
START_TEST(tables_are_cleared_when_the_last_full_member_was_absent_for_long)
{
    struct lab lab;
    bring_up_virtual(&lab, NULL);
    join_in_lab(&lab, "host-0003", 0);
    join_as(&lab, "host-0005", 0, 2);
    join_as(&lab, "host-0007", 0, 2);
    lab_run(&lab, 3, is_written, "the joins");
    ck_assert_uint_eq(entries(&lab), 4); /* the leaf of each of three members, and a spine */
    lab_unlink(&lab, "host-0003", 1);
    lab_run_for(&lab, 4);
    ck_assert(is_written(&lab));
    /* the leaf of the absent member has no entry any more; the two other members can still reach
     * each other */
    ck_assert_uint_eq(entries(&lab), 3);
    lab_run_for(&lab, 2);
    ck_assert(is_written(&lab));
    ck_assert_uint_eq(entries(&lab), 0);
    lab_close(&lab);
}
END_TEST

/* the next MFT requests, as many as this number, get lost */
static uint32_t to_lose;

static void lose_some(struct lab *lab, const struct fab_mad *head, uint16_t dlid)
{
    (void)dlid;
    if (head->attr_id != FAB_ATTR_MFT)
        return;
    lab->lost = to_lose > 0 ? FAB_ATTR_MFT : 0;
    to_lose -= to_lose > 0;
}

static bool is_written_or_given_up(struct lab *lab)
{
    struct sm_multicast_status status;
    sm_get_multicast(lab->sm, &status);
    return is_written(lab) || status.unresponsive > 0;
}

/* A request without an answer does not prove that the switch is at fault, because its route may
 * have used a failed link. So multicast trees may avoid the switch only after a second request
 * without an answer. */
START_TEST(one_unanswered_request_names_no_switch)
{
    /* each request is sent up to four times, so two requests are lost with the 8th MAD */
    static const uint32_t lost[] = {1, 4, 5, 7, 8};
    struct sm_multicast_status status;
    for (unsigned i = 0; i < sizeof(lost) / sizeof(lost[0]); i++) {
        struct lab lab;
        bring_up_virtual(&lab, NULL);
        join_in_lab(&lab, "host-0001", 0);
        lab_run(&lab, 3, is_written, "a join");
        lab.sent = lose_some;
        to_lose = lost[i];
        /* a member at the same leaf, so that only the MFT of this leaf changes */
        join_in_lab(&lab, "host-0002", 0);
        lab_run(&lab, 3, is_written_or_given_up, "the answer");
        sm_get_multicast(lab.sm, &status);
        ck_assert_uint_eq(status.unresponsive, lost[i] >= 8);
        ck_assert_uint_eq(lab_count_events(&lab, "multicast-unresponsive"), lost[i] >= 8);
        ck_assert(lost[i] >= 8 || is_written(&lab));
        lab_run_for(&lab, 2);
        ck_assert(is_written(&lab));
        ck_assert_uint_eq(entries(&lab), 1);
        lab_close(&lab);
    }
}
END_TEST

/* If multicast.mlids is the limit of the number of MLIDs, and not an MFT, the event multicast-full
 * must name this setting and no switch. */
START_TEST(the_event_names_the_setting_that_limits_mlids)
{
    struct lab lab;
    struct fab_wire_mc_member_record is;
    lab_open_virtual(&lab, lab_leaf_spine(4, 2, 2), NULL);
    /* room for one MLID only, which the broadcast group of IPoIB uses */
    lab.config.multicast.mlids = 1;
    sm_start(lab.sm);
    lab_run(&lab, 60, is_written, "bring-up");
    const struct world w = {.f = fab_sim_fabric(lab.sim)};
    const struct fab_wire_mc_member_record record =
        record_of(&w, host_port(&lab, "host-0001"), 0, 1);
    const struct fab_mcast_request ask = {
        .record = &record, .comp_mask = JOIN_MASK, .mtu = 4, .rate = 3, .life = 18};
    ck_assert_uint_eq(sm_mgroup_join(lab.sm, &ask, &is), FAB_SA_NO_RESOURCES);
    const struct lab_event *e = lab_event(&lab, "multicast-full");
    ck_assert_ptr_nonnull(e);
    ck_assert_str_eq(e->subject, "fabric");
    ck_assert_str_eq(e->message, "no multicast LID is left: 1 group uses all 1 MLIDs, and "
                                 "multicast.mlids permits no more; new groups are refused");
    /* as long as no MLID is left, further refusals emit no event */
    ck_assert_uint_eq(sm_mgroup_join(lab.sm, &ask, &is), FAB_SA_NO_RESOURCES);
    ck_assert_uint_eq(lab_count_events(&lab, "multicast-full"), 1);
    lab_close(&lab);
}
END_TEST

/* All switches fail to answer. The manager must ask again after 1, 2, 4, 8 and 16 s, even right
 * after its start. When they answer, it must not write anything, because the tables are correct. */
START_TEST(switches_that_do_not_answer_are_asked_less_and_less)
{
    struct lab lab;
    char dir[] = "/tmp/test-multicast-XXXXXX", command[64];
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(command, sizeof(command), "rm -r %s", dir);
    bring_up_virtual(&lab, dir);
    join_in_lab(&lab, "host-0001", 0);
    join_in_lab(&lab, "host-0002", 0);
    lab_run(&lab, 3, is_written, "the joins");
    ck_assert_uint_eq(entries(&lab), 1);
    lab_stop(&lab);
    lab_forget_events(&lab);
    lab_forget_writes(&lab);
    lab.lost = FAB_ATTR_MFT;
    lab_begin(&lab, dir);
    sm_start(lab.sm);
    lab_run_for(&lab, 40);
    ck_assert_uint_eq(lab_count_events(&lab, "multicast-unresponsive"), 6);
    lab.lost = 0;
    lab_run_for(&lab, 40);
    ck_assert(is_written(&lab));
    ck_assert_uint_eq(lab.sets_mft, 0);
    ck_assert_uint_eq(entries(&lab), 1);
    ck_assert_uint_eq(lab_count_events(&lab, "multicast-unresponsive"), 6);
    lab_close(&lab);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

/* id of the switch that does not answer, and number of MADs about its MFT */
static uint32_t unresponsive, asked;

static void count_asked(struct lab *lab, const struct fab_mad *head, uint16_t dlid)
{
    (void)dlid;
    asked += head->attr_id == FAB_ATTR_MFT && lab_end_of(lab, &head->path) == unresponsive;
}

/* A switch did not answer the write of its MFT. The scrub, which reads all tables in turn, must
 * leave this switch out until the manager writes to it again. */
START_TEST(the_scrub_waits_for_switches_that_do_not_answer)
{
    struct lab lab;
    struct sm_multicast_status status;
    bring_up_virtual(&lab, NULL);
    lab_stop(&lab);
    lab.config.sweep.scrub_interval_s = 5;
    lab_begin(&lab, NULL);
    sm_start(lab.sm);
    lab_run(&lab, 60, is_written, "the next life");
    join_in_lab(&lab, "host-0001", 0);
    join_in_lab(&lab, "host-0002", 0);
    lab_run(&lab, 3, is_written, "the joins");
    lab_forget_writes(&lab);
    lab_run_for(&lab, 50);
    ck_assert_uint_ge(lab.gets_mft, 9);
    lab.lost = FAB_ATTR_MFT;
    join_in_lab(&lab, "host-0002", 1);
    /* the manager has tried after 0, 1, 3, 7, 15 and 31 s, and now waits for a longer time */
    lab_run_for(&lab, 35);
    sm_get_multicast(lab.sm, &status);
    ck_assert_uint_eq(status.unresponsive, 1);
    lab_forget_writes(&lab);
    unresponsive = fab_fabric_node_by_guid(fab_sim_fabric(lab.sim),
                                           lab_event(&lab, "multicast-unresponsive")->guid);
    lab.sent = count_asked;
    lab_run_for(&lab, 25);
    ck_assert_uint_eq(asked, 0);
    ck_assert_uint_eq(lab.sets_mft, 0);
    lab.lost = 0;
    lab_run_for(&lab, 30);
    ck_assert(is_written(&lab));
    ck_assert_uint_eq(entries(&lab), 2);
    lab_close(&lab);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("multicast");
    TCase *tree = tcase_create("tree"), *random = tcase_create("random");
    TCase *restart = tcase_create("restart");
    tcase_set_timeout(tree, 1200);
    tcase_set_timeout(restart, 120);
    tcase_set_timeout(random, 1200);
    tcase_add_test(tree, each_reaches_each_once_on_a_fat_tree);
    tcase_add_test(random, each_reaches_each_once_on_a_random_fabric);
    tcase_add_test(restart, groups_and_tables_survive_a_restart);
    tcase_add_test(restart, stored_groups_survive_a_lack_of_memory);
    tcase_add_test(restart, an_unproved_tree_is_not_written);
    tcase_add_test(restart, tables_in_switches_are_verified);
    tcase_add_test(restart, no_deadlock_on_a_torus);
    tcase_add_test(restart, no_deadlock_on_a_damaged_torus);
    TCase *time = tcase_create("time");
    tcase_add_test(time, tables_are_cleared_when_the_last_full_member_was_absent_for_long);
    tcase_add_test(time, the_event_names_the_setting_that_limits_mlids);
    tcase_add_test(time, one_unanswered_request_names_no_switch);
    tcase_add_test(time, switches_that_do_not_answer_are_asked_less_and_less);
    tcase_add_test(time, the_scrub_waits_for_switches_that_do_not_answer);
    suite_add_tcase(s, time);
    suite_add_tcase(s, tree);
    suite_add_tcase(s, random);
    suite_add_tcase(s, restart);
    return test_run(s);
}
