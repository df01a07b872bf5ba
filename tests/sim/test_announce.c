/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The order of the tables, which the master announces to the standby managers
 * (fabricd/sm/apply/announce.c), its record of changes (changed_blocks.c), and what a standby
 * manager and a new master do with them (behind.c). The replica is a fake: the functions below
 * stand in for those of fabricd/replica.
 */
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/sm/apply/apply.h"
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/plan/lft_changes.h"
#include "tests/sim/lab.h"
#include "tests/unit/state_dir.h"

#define SWITCHES 200
#define TOP 1023 /* the highest LID of the fabric is lower */
#define CLAIM 5  /* the claim of the former master */

/* ---- the fake -------------------------------------------------------------------------------- */

static struct {
    bool leads, level, confirms;
    /* the last announcement; count 0: "changing". changes: number of announcements */
    uint64_t order[SWITCHES];
    uint32_t count;
    uint64_t links;
    unsigned changes;
    /* what the former master announced; count 0: nothing */
    uint64_t former[SWITCHES];
    uint32_t former_count;
    uint64_t former_links;
    int64_t revision;
    /* number of announcements of the former master that arrive only with the claim */
    int64_t late;
    uint64_t former_guid;
    bool former_was_level; /* what replica_former_was_level returns */
    /* the claim of this manager, the number of rows that it received, and its listener */
    int64_t claim;
    uint64_t received;
    void (*news)(void *ctx);
    void *news_ctx;
    /* The record of changes of this manager: its text, and the numbers of the last change in it and
     * of the last change that is confirmed. */
    char text[10000];
    uint64_t last, recorded;
    /* [heard] the records of the former master that have not been taken yet */
    struct replica_changes record[4];
    unsigned heard;
    void (*changed)(void *ctx);
    void *changed_ctx;
} fake;

void replica_lead(struct replica *r)
{
    (void)r;
    fake.leads = true;
    fake.revision += fake.late;
    fake.late = 0;
}

void replica_follow(struct replica *r)
{
    (void)r;
    fake.leads = false;
}

bool replica_is_level(const struct replica *r)
{
    (void)r;
    return fake.leads && fake.level;
}

int64_t replica_level_claim(const struct replica *r)
{
    return replica_is_level(r) ? fake.claim : 0;
}

uint64_t replica_changes(const struct replica *r)
{
    (void)r;
    return fake.received;
}

uint64_t replica_former_guid(const struct replica *r)
{
    (void)r;
    return fake.former_guid;
}

bool replica_former_was_level(const struct replica *r)
{
    (void)r;
    return fake.former_was_level;
}

bool replica_has_sent_all(struct replica *r)
{
    (void)r;
    return true;
}

bool replica_shares_keys_with(const struct replica *r, uint64_t port_guid)
{
    (void)r;
    return port_guid == 0;
}

void replica_on_news(struct replica *r, void (*fn)(void *ctx), void *ctx)
{
    (void)r;
    fake.news = fn;
    fake.news_ctx = ctx;
}

void replica_announce(struct replica *r, const uint64_t *guid, uint32_t count, uint64_t links)
{
    (void)r;
    fake.links = links;
    ck_assert_uint_le(count, SWITCHES);
    fake.count = guid ? count : 0;
    memcpy(fake.order, guid ? guid : fake.order, fake.count * sizeof(*guid));
    fake.changes++;
}

bool replica_is_announced(const struct replica *r, uint64_t since_us)
{
    (void)r;
    ck_assert_uint_le(since_us, clock_now_us());
    return fake.confirms;
}

int64_t replica_order_revision(const struct replica *r)
{
    (void)r;
    return fake.revision;
}

void replica_record_changes(struct replica *r, uint64_t first, uint64_t last, const char *text)
{
    (void)r;
    ck_assert_uint_eq(first, fake.recorded + 1);
    fake.last = last;
    snprintf(fake.text, sizeof(fake.text), "%s", text);
}

uint64_t replica_recorded(const struct replica *r)
{
    (void)r;
    return fake.recorded;
}

bool replica_next_changes(struct replica *r, struct replica_changes *ret)
{
    (void)r;
    if (fake.heard == 0)
        return false;
    *ret = fake.record[0];
    memmove(fake.record, fake.record + 1, --fake.heard * sizeof(*fake.record));
    return true;
}

void replica_on_changes(struct replica *r, void (*fn)(void *ctx), void *ctx)
{
    (void)r;
    fake.changed = fn;
    fake.changed_ctx = ctx;
}

int64_t replica_order_links(const struct replica *r, int64_t *ret_claim, uint64_t *ret_links)
{
    (void)r;
    *ret_claim = CLAIM;
    *ret_links = fake.former_count > 0 ? fake.former_links : 0;
    return fake.revision;
}

int replica_former_order(const struct replica *r, struct replica_order *ret)
{
    (void)r;
    if (fake.former_count == 0)
        return FAB_E_NOT_FOUND;
    *ret = (struct replica_order){.revision = fake.revision,
                                  .guid = calloc(fake.former_count, sizeof(*ret->guid)),
                                  .count = fake.former_count,
                                  .links = fake.former_links};
    ck_assert_ptr_nonnull(ret->guid);
    memcpy(ret->guid, fake.former, fake.former_count * sizeof(*ret->guid));
    return FAB_OK;
}

/* ---- the master ------------------------------------------------------------------------------ */

static void bring_up(struct lab *lab)
{
    static char replica;
    struct fab_builder *b;
    const struct fab_fat_tree_spec spec = {.radix = 8, .levels = 3};
    memset(&fake, 0, sizeof(fake));
    fake.level = fake.confirms = true;
    fake.former_guid = 0x42;
    fake.former_was_level = true;
    fake.revision = 7;
    fake.claim = 8;
    lab_replica = (struct replica *)(void *)&replica;
    ck_assert_int_eq(fab_fabric_generate_fat_tree(&spec, &b), FAB_OK);
    make_dir();
    lab_open_virtual(lab, b, dir);
    lab->config.rebalance_s = 0;
    lab->config.managers.standby_rate = 4000;
    sm_start(lab->sm);
    lab_run(lab, 10, lab_is_idle, "bring-up");
    lab_run(lab, 5, lab_is_ready, "the repair session");
}

static void finish(struct lab *lab)
{
    lab_assert_good(lab);
    lab_close(lab);
    lab_replica = NULL;
    remove_dir();
}

static bool has_announced(struct lab *lab)
{
    return lab_is_idle(lab) && fake.count > 0;
}

static bool is_changing(struct lab *lab)
{
    (void)lab;
    return fake.count == 0;
}

/* The master announces its order. Before it writes an engine's tables, it announces a change, and
 * waits until a majority has confirmed this. */
START_TEST(announces_a_change_before_it_writes)
{
    struct lab lab;
    bring_up(&lab);
    ck_assert(has_announced(&lab));
    ck_assert_uint_eq(fake.count, fab_sim_fabric(lab.sim)->switch_count);
    fake.confirms = false;
    lab_forget_writes(&lab);
    snprintf(lab.config.policy.engine, sizeof(lab.config.policy.engine), "updn");
    ck_assert_int_eq(sm_reload(lab.sm), FAB_OK);
    ck_assert_int_eq(sm_reroute(lab.sm, NULL, NULL), FAB_OK);
    lab_run(&lab, 5, is_changing, "the announcement of a change");
    lab_run_for(&lab, 2);
    ck_assert_uint_eq(lab.sets_lft, 0);
    ck_assert_uint_eq(fake.count, 0);
    fake.confirms = true;
    lab_run(&lab, 10, has_announced, "the reroute");
    ck_assert_uint_gt(lab.sets_lft, 0);
    finish(&lab);
}
END_TEST

/* A local repair does not wait, and keeps the order. When the link is back, the order is announced
 * again. */
START_TEST(a_repair_does_not_wait)
{
    struct lab lab;
    bring_up(&lab);
    lab_forget_events(&lab);
    unsigned before = fake.changes;
    fake.confirms = false;
    lab_unlink(&lab, "leaf-019", 7);
    lab_await(&lab, 1, "reroute-done");
    lab_run(&lab, 5, has_announced, "the repair");
    ck_assert_uint_eq(fake.changes, before);
    lab_relink(&lab, "leaf-019", 7);
    lab_await(&lab, 5, "link-up");
    lab_run(&lab, 5, has_announced, "the return of the link");
    ck_assert_uint_gt(fake.changes, before);
    finish(&lab);
}
END_TEST

/* A local repair removes an isolated link. When the link is released, a sweep brings it back. Paths
 * over it follow the announced order, but a standby manager may not know the link. So the master
 * announces the order again. */
START_TEST(a_link_that_a_sweep_brings_back_is_announced)
{
    struct lab lab;
    bring_up(&lab);
    unsigned before = fake.changes;
    uint64_t guid = lab_node_guid(&lab, "leaf-019");
    char why[200];
    ck_assert_int_eq(sm_link_isolate(lab.sm, guid, 7, true, "a test", why, sizeof(why)), FAB_OK);
    lab_await(&lab, 1, "reroute-done");
    lab_run_for(&lab, 1);
    lab_run(&lab, 5, has_announced, "the repair");
    ck_assert_uint_eq(fake.changes, before);
    lab_forget_events(&lab);
    ck_assert_int_eq(sm_link_release(lab.sm, guid, 7, "a test"), FAB_OK);
    lab_await(&lab, 5, "link-up");
    lab_run(&lab, 5, has_announced, "the return of the link");
    ck_assert_uint_gt(fake.changes, before);
    finish(&lab);
}
END_TEST

/* ---- the new master -------------------------------------------------------------------------- */

/* number of LFT blocks that the manager had read when it wrote the first one; UINT64_MAX: it has
 * written none */
static uint64_t reads_before_writes;

static void note_reads(struct lab *lab, const struct fab_mad *head, uint16_t dlid)
{
    (void)dlid;
    if (head->method == FAB_METHOD_SET && head->attr_id == FAB_ATTR_LFT &&
        reads_before_writes == UINT64_MAX)
        reads_before_writes = lab->gets_lft;
}

static uint32_t number_of_blocks(struct lab *lab)
{
    uint32_t top, blocks = 0;
    for (uint32_t sw = 0; sw < fab_sim_fabric(lab->sim)->switch_count; sw++) {
        (void)fab_sim_lft(lab->sim, sw, &top);
        blocks += top / FAB_LFT_BLOCK + 1;
    }
    return blocks;
}

static void yield(struct lab *lab)
{
    lab_play_other(lab, "host-0020", 9, FAB_SM_MASTER);
    ck_assert_int_eq(sm_sweep(lab->sm, NULL, NULL), FAB_OK);
    lab_run(lab, 5, lab_is_standby, "yielding");
    lab_forget_events(lab);
}

/* The other manager, which is master, has announced the order that this manager announced before.
 */
static void stand_by(struct lab *lab)
{
    fake.former_count = fake.count;
    fake.former_links = fake.links;
    memcpy(fake.former, fake.order, sizeof(fake.former));
    yield(lab);
    lab_await(lab, 20, "sm-standby-ready");
    lab_run_for(lab, 1);
}

/* In one instant, the master dies and a link fails. */
static void lose_master_and_link(struct lab *lab)
{
    lab_forget_writes(lab);
    lab_forget_events(lab);
    reads_before_writes = UINT64_MAX;
    lab->sent = note_reads;
    lab_unlink(lab, "leaf-019", 7);
    lab_end_other(lab);
}

/* Returns whether the manager repairs before it sweeps, and after it has read fewer LFT blocks than
 * `most`. */
static bool repairs_after(struct lab *lab, uint32_t most)
{
    lab_await(lab, 5, "sweep-done");
    lab_run(lab, 15, lab_is_idle, "the sweep");
    ck_assert(!sm_standby_unchecked(lab->sm));
    const struct lab_event *repair = lab_event(lab, "reroute-done");
    return repair && repair->smps_sent < lab_event(lab, "sweep-done")->smps_sent &&
           reads_before_writes < most;
}

static bool repairs_at_once(struct lab *lab)
{
    return repairs_after(lab, number_of_blocks(lab) * 3 / 4);
}

START_TEST(repairs_at_once_by_the_announced_order)
{
    struct lab lab;
    bring_up(&lab);
    stand_by(&lab);
    lose_master_and_link(&lab);
    ck_assert(repairs_at_once(&lab));
    finish(&lab);
}
END_TEST

/* Under the former master, a link has failed and come back since this manager discovered the
 * fabric. The announcement is new, but its links are those that this manager knows. */
START_TEST(repairs_at_once_if_the_links_are_the_same)
{
    struct lab lab;
    bring_up(&lab);
    stand_by(&lab);
    fake.late = 1;
    lose_master_and_link(&lab);
    ck_assert(repairs_at_once(&lab));
    finish(&lab);
}
END_TEST

static void changes_tables(void)
{
    fake.former_count = 0;
}

/* The announcement is newer than the last discovery of this manager, and about other links. */
static void brought_back_links(void)
{
    fake.late = 1;
    fake.former_links++;
}

/* The same, but an earlier version of fabricd does not announce the hash of the links. */
static void announced_no_links(void)
{
    fake.late = 1;
    fake.former_links = 0;
}

static void follows_another_order(void)
{
    for (uint32_t i = 0; i < fake.former_count / 2; i++) {
        uint64_t guid = fake.former[i];
        fake.former[i] = fake.former[fake.former_count - 1 - i];
        fake.former[fake.former_count - 1 - i] = guid;
    }
}

/* The order lacks a switch that this manager knows. */
static void lacks_a_switch(void)
{
    fake.former_count--;
}

static void does_not_share(void)
{
    fake.former_guid = 0x43;
}

static void etcd_is_silent(void)
{
    fake.level = false;
}

static void (*const doubts[])(void) = {
    changes_tables, brought_back_links, announced_no_links, follows_another_order,
    lacks_a_switch, does_not_share,     etcd_is_silent};

/* The new master cannot know that all tables follow its order. It reads all of them before it
 * writes. */
START_TEST(reads_all_tables_if_in_doubt)
{
    struct lab lab;
    bring_up(&lab);
    stand_by(&lab);
    lose_master_and_link(&lab);
    doubts[_i]();
    ck_assert(!repairs_at_once(&lab));
    ck_assert_uint_ge(reads_before_writes, number_of_blocks(&lab));
    finish(&lab);
}
END_TEST

/* ---- what hosts notice of a take-over -------------------------------------------------------- */

/* What the manager had done when the heavy sweep began to discover the fabric, and when it then
 * read the first LFT block. */
static struct {
    unsigned discoveries; /* number of times that the manager read its own NodeInfo */
    uint64_t ports;       /* writes of PortInfo before the first discovery */
    unsigned asked;       /* number of writes that asked a host to register again */
    bool groups, read;    /* hosts could join groups when the first block was read */
} seen;

static void note_progress(struct lab *lab, const struct fab_mad *head, const uint8_t *data,
                          uint16_t dlid, bool sent)
{
    struct fab_port_info info;
    (void)dlid;
    if (!sent)
        return;
    if (head->attr_id == FAB_ATTR_NODE_INFO && head->directed && head->path.hops == 0 &&
        seen.discoveries++ == 0)
        seen.ports = lab->sets_port_info;
    if (head->method == FAB_METHOD_SET && head->attr_id == FAB_ATTR_PORT_INFO &&
        fab_wire_attr_unpack(&fab_wire_attr_port_info, data, FAB_SMP_DATA, &info) == FAB_OK)
        seen.asked += info.client_reregister;
    if (seen.asked == 1 && lab->interrupt)
        lab->interrupt_at = lab->sends + 1; /* the present MAD */
    if (head->method == FAB_METHOD_GET && head->attr_id == FAB_ATTR_LFT && seen.discoveries > 0 &&
        !seen.read) {
        seen.read = true;
        seen.groups = sm_mgroups(lab->sm) != NULL;
    }
}

static void lose_master(struct lab *lab)
{
    memset(&seen, 0, sizeof(seen));
    lab_forget_writes(lab);
    lab_forget_events(lab);
    lab->watch = note_progress;
    lab_end_other(lab);
}

/* A new master that has read the tables in standby writes its MasterSMLID to all hosts and switches
 * before it reads the fabric again, and loads the multicast groups. So hosts can join groups while
 * the heavy sweep runs. None is asked to register again. */
START_TEST(hosts_find_the_new_master_before_the_heavy_sweep)
{
    struct lab lab;
    bring_up(&lab);
    lab_set_master_lid(&lab, "host-0020");
    stand_by(&lab);
    fake.received = 1;
    lose_master(&lab);
    lab_await(&lab, 5, "sweep-done");
    lab_run(&lab, 15, lab_is_idle, "the sweep");
    ck_assert_uint_eq(seen.ports, fab_sim_fabric(lab.sim)->node_count);
    ck_assert_uint_eq(lab.sets_port_info, seen.ports);
    ck_assert_uint_eq(seen.asked, 0);
    ck_assert(seen.groups);
    ck_assert_uint_eq(seen.discoveries, 1);
    finish(&lab);
}
END_TEST

static unsigned number_of_hosts(struct lab *lab)
{
    const struct fab_fabric *f = fab_sim_fabric(lab->sim);
    return f->node_count - f->switch_count;
}

static bool has_asked_all(struct lab *lab)
{
    return lab_is_idle(lab) && seen.asked >= number_of_hosts(lab);
}

static void takes_over_without_rows(struct lab *lab)
{
    (void)lab;
}

static void loads_last_rows(struct lab *lab)
{
    (void)lab;
    fake.received = 1;
}

/* The manager is not level when it takes over, so that it decides later. */
static void decides_late(struct lab *lab)
{
    fake.level = false;
    lab_await(lab, 5, "sweep-done");
    fake.level = true;
}

static void loads_rows_and_decides_late(struct lab *lab)
{
    decides_late(lab);
    fake.received = 1;
}

static void reload(struct lab *lab)
{
    ck_assert_uint_gt(seen.asked, 0);
    seen.asked = 0;
    lab->interrupt = NULL;
    ck_assert_int_eq(sm_reload(lab->sm), FAB_OK);
}

/* A reload interrupts the round that asks the hosts, before they have answered. The next round asks
 * all of them. */
static void is_interrupted(struct lab *lab)
{
    lab->interrupt = reload;
}

static void (*const take_overs[])(struct lab *lab) = {takes_over_without_rows, loads_last_rows,
                                                      decides_late, loads_rows_and_decides_late,
                                                      is_interrupted};

/* The former master had not sent all registrations when it died. The new master asks all hosts to
 * register again, once, although the former master has stored in the shared rows that it had asked
 * all hosts before. */
START_TEST(hosts_register_again_if_registrations_may_be_missing)
{
    struct lab lab;
    bring_up(&lab);
    store_flush(lab.store);
    ck_assert(store_was_asked(lab.store));
    stand_by(&lab);
    fake.former_was_level = false;
    lose_master(&lab);
    take_overs[_i](&lab);
    lab_run(&lab, 15, has_asked_all, "the requests to register again");
    lab_run_for(&lab, 1);
    ck_assert_uint_eq(seen.asked, number_of_hosts(&lab));
    finish(&lab);
}
END_TEST

/* The group of the tests, and whether hosts could see or join it. */
#define MGID                                                                                       \
    {                                                                                              \
        UINT64_C(0xff12401bffff0000), 0x4711                                                       \
    }
/* components of a join: MGID, PortGID, Q_Key, TClass, P_Key, SL, FlowLabel, JoinState */
#define JOIN_MASK (1u << 0 | 1u << 1 | 1u << 2 | 1u << 6 | 1u << 7 | 1u << 12 | 1u << 13 | 1u << 16)
static bool found_group;

static void look_for_group(struct lab *lab, const struct fab_mad *head, uint16_t dlid)
{
    const uint64_t mgid[2] = MGID;
    const struct fab_mcast_groups *g = sm_mgroups(lab->sm);
    (void)head;
    (void)dlid;
    found_group |= g && fab_mcast_groups_find(g, mgid);
}

/* The master before deleted a multicast group. This manager, which had the group when it was master
 * itself, does not show it again, not even for a moment. */
START_TEST(a_manager_that_is_master_again_has_no_old_groups)
{
    struct lab lab;
    struct fab_wire_mc_member_record is, record = {
                                             .mgid = MGID,
                                             .port_gid = {UINT64_C(0xfe80000000000000), 0},
                                             .pkey = 0xffff,
                                             .qkey = 0x1234,
                                             .join_state = 1,
                                         };
    bring_up(&lab);
    record.port_gid[1] = lab.sim_transport->port_guid;
    const struct fab_mcast_request ask = {
        .record = &record, .comp_mask = JOIN_MASK, .mtu = 4, .rate = 3, .life = 18};
    ck_assert_uint_eq(sm_mgroup_join(lab.sm, &ask, &is), 0);
    stand_by(&lab);
    store_put_group(lab.store, &is, false);
    fake.received = 1;
    lab.sent = look_for_group;
    lose_master(&lab);
    lab_await(&lab, 5, "sweep-done");
    lab_run(&lab, 15, lab_is_idle, "the sweep");
    ck_assert(!found_group);
    ck_assert_ptr_nonnull(sm_mgroups(lab.sm));
    finish(&lab);
}
END_TEST

static void receive_a_row(struct lab *lab, const struct fab_mad *head, uint16_t dlid)
{
    (void)lab;
    (void)dlid;
    if (head->attr_id == FAB_ATTR_NODE_INFO && fake.received == 0)
        fake.received = 1;
}

/* Registrations of hosts arrive while a new master, which has read nothing in standby, discovers
 * the fabric. It loads them, and does not discover the fabric again. */
START_TEST(rows_of_hosts_do_not_repeat_the_sweep)
{
    struct lab lab;
    bring_up(&lab);
    lab.config.managers.standby_rate = 0;
    yield(&lab);
    lab.sent = receive_a_row;
    lose_master(&lab);
    lab_await(&lab, 5, "sweep-done");
    lab_run(&lab, 15, lab_is_idle, "the sweep");
    ck_assert_uint_eq(fake.received, 1);
    ck_assert_uint_eq(seen.discoveries, 1);
    finish(&lab);
}
END_TEST

/* ---- decisions of the former master ---------------------------------------------------------- */

static bool can_decide(struct lab *lab)
{
    return !sm_lacks_decisions(lab->sm);
}

/* The rows of the former master arrive late, and must be loaded before this manager decides
 * anything. */
START_TEST(a_new_master_loads_decisions_before_it_decides)
{
    struct lab lab;
    bring_up(&lab);
    ck_assert(can_decide(&lab));
    stand_by(&lab);
    ck_assert(can_decide(&lab)); /* another check refuses calls at a standby manager */
    fake.level = false;
    lab_forget_events(&lab);
    lab_end_other(&lab);
    lab_await(&lab, 5, "sm-master");
    ck_assert(!can_decide(&lab));
    lab_run_for(&lab, 1);
    ck_assert(!can_decide(&lab));
    fake.level = true;
    fake.claim = 20;
    fake.received = 1;
    ck_assert(!can_decide(&lab));
    fake.news(fake.news_ctx);
    lab_run(&lab, 10, can_decide, "the decisions are loaded");
    /* another manager led for a moment, and decided nothing */
    fake.level = false;
    ck_assert(!can_decide(&lab));
    fake.level = true;
    fake.claim = 30;
    ck_assert(can_decide(&lab));
    lab_run(&lab, 10, lab_is_idle, "the sweep");
    finish(&lab);
}
END_TEST

/* ---- what the former master has changed ------------------------------------------------------ */

/* The tables of all switches. */
struct tables {
    uint8_t entry[SWITCHES][TOP + 1];
};

static void read_tables(struct lab *lab, struct tables *ret)
{
    uint32_t top;
    memset(ret, 0xff, sizeof(*ret));
    for (uint32_t sw = 0; sw < fab_sim_fabric(lab->sim)->switch_count; sw++) {
        const uint8_t *row = fab_sim_lft(lab->sim, sw, &top);
        ck_assert_uint_le(top, TOP);
        memcpy(ret->entry[sw], row, top + 1);
    }
}

static void write_tables(struct lab *lab, const struct tables *t)
{
    uint32_t top;
    for (uint32_t sw = 0; sw < fab_sim_fabric(lab->sim)->switch_count; sw++) {
        uint8_t *row = (uint8_t *)(uintptr_t)fab_sim_lft(lab->sim, sw, &top);
        memcpy(row, t->entry[sw], top + 1);
    }
}

static void confirm_record(void)
{
    fake.recorded = fake.last;
}

static void assert_records(struct lab *lab, const struct tables *was, const struct tables *now,
                           const char *node)
{
    const struct fab_fabric *f = fab_sim_fabric(lab->sim);
    struct fab_lft_changes set = {0};
    unsigned blocks = 0;
    ck_assert_int_eq(fab_plan_changes_read(&set, f, fake.text), FAB_OK);
    ck_assert(!set.all);
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        for (uint32_t block = 0; block <= TOP / FAB_LFT_BLOCK; block++) {
            bool differs = memcmp(was->entry[sw] + block * FAB_LFT_BLOCK,
                                  now->entry[sw] + block * FAB_LFT_BLOCK, FAB_LFT_BLOCK) != 0;
            ck_assert(!differs || fab_plan_changes_has_block(&set, sw, block));
            blocks += differs;
        }
        if (f->nodes[sw].guid == lab_node_guid(lab, node))
            ck_assert(fab_base_bits_get(set.linked, sw));
    }
    ck_assert_uint_gt(blocks, 0);
    fab_plan_changes_clear(&set);
}

/* The master records the blocks and links that a local repair changes, also when the link comes
 * back. While a record is not confirmed, the next one repeats it. New tables of an engine are a
 * change of everything. */
START_TEST(the_master_records_what_it_changes)
{
    struct lab lab;
    struct tables *was = calloc(1, sizeof(*was)), *now = calloc(1, sizeof(*now));
    bring_up(&lab);
    lab_run_for(&lab, 1);
    confirm_record();
    read_tables(&lab, was);
    lab_unlink(&lab, "leaf-020", 7);
    lab_await(&lab, 1, "reroute-done");
    lab_run_for(&lab, 1);
    read_tables(&lab, now);
    assert_records(&lab, was, now, "leaf-020");
    ck_assert_uint_gt(fake.last, fake.recorded);
    lab_relink(&lab, "leaf-020", 7);
    lab_await(&lab, 5, "link-up");
    lab_run(&lab, 5, has_announced, "the return of the link");
    lab_run_for(&lab, 1);
    assert_records(&lab, was, now, "leaf-020");
    confirm_record();
    snprintf(lab.config.policy.engine, sizeof(lab.config.policy.engine), "updn");
    ck_assert_int_eq(sm_reload(lab.sm), FAB_OK);
    lab_run(&lab, 10, has_announced, "the reroute");
    lab_run_for(&lab, 1);
    ck_assert_uint_gt(fake.last, fake.recorded);
    free(was);
    free(now);
    finish(&lab);
}
END_TEST

static void hear(uint64_t first, uint64_t last, const char *text)
{
    ck_assert_uint_lt(fake.heard, 4);
    fake.record[fake.heard++] = (struct replica_changes){
        .claim = CLAIM, .first = first, .last = last, .text = strdup(text)};
}

/* The former master has recorded no change yet, when this manager reads its tables in standby. */
static void stand_by_with_record(struct lab *lab)
{
    fake.former_count = fake.count;
    fake.former_links = fake.links;
    memcpy(fake.former, fake.order, sizeof(fake.former));
    yield(lab);
    hear(0, 0, "");
    lab_await(lab, 20, "sm-standby-ready");
    lab_run_for(lab, 1);
}

/* Repairs a failed link as master, to learn what the tables and the record of the former master
 * are after this repair. The link is up again afterwards. */
static char *learn(struct lab *lab, struct tables *ret)
{
    lab_run_for(lab, 1);
    confirm_record();
    lab_unlink(lab, "leaf-020", 7);
    lab_await(lab, 1, "reroute-done");
    lab_run_for(lab, 1);
    read_tables(lab, ret);
    char *text = strdup(fake.text);
    lab_relink(lab, "leaf-020", 7);
    lab_await(lab, 5, "link-up");
    lab_run(lab, 5, has_announced, "the return of the link");
    return text;
}

/* The former master repairs the failed link. */
static void former_repairs(struct lab *lab, const struct tables *t)
{
    lab_unlink(lab, "leaf-020", 7);
    write_tables(lab, t);
    lab_forget_writes(lab);
}

/* In standby, the manager reads only what the record names. At a take-over, it repairs at once. */
START_TEST(a_standby_manager_reads_what_has_changed)
{
    struct lab lab;
    struct tables *after = calloc(1, sizeof(*after));
    bring_up(&lab);
    char *text = learn(&lab, after);
    stand_by_with_record(&lab);
    former_repairs(&lab, after);
    hear(1, 2, text);
    fake.changed(fake.changed_ctx);
    lab_run_for(&lab, 1.5);
    ck_assert_uint_gt(lab.gets_lft, 0);
    ck_assert_uint_lt(lab.gets_lft, number_of_blocks(&lab) / 2);
    lose_master_and_link(&lab);
    ck_assert(repairs_at_once(&lab));
    free(text);
    free(after);
    finish(&lab);
}
END_TEST

/* The master dies before the standby manager has read what the record names. The new master reads
 * it first, not limited by the rate, and then repairs. */
START_TEST(a_new_master_first_reads_what_has_changed)
{
    struct lab lab;
    struct tables *after = calloc(1, sizeof(*after));
    bring_up(&lab);
    char *text = learn(&lab, after);
    stand_by_with_record(&lab);
    lab.config.managers.standby_rate = 2;
    former_repairs(&lab, after);
    hear(1, 2, text);
    fake.changed(fake.changed_ctx);
    lab_run_for(&lab, _i == 0 ? 0.01 : 0.6); /* before the round begins, or while it runs */
    lose_master_and_link(&lab);
    ck_assert_uint_lt(lab.gets_lft, 2);
    /* besides the blocks of the proof, it reads those of the record */
    ck_assert(repairs_after(&lab, number_of_blocks(&lab)));
    free(text);
    free(after);
    finish(&lab);
}
END_TEST

/* The standby manager has missed a part of the record. It reads everything again. */
START_TEST(a_gap_means_that_everything_has_changed)
{
    struct lab lab;
    struct tables *after = calloc(1, sizeof(*after));
    bring_up(&lab);
    char *text = learn(&lab, after);
    stand_by_with_record(&lab);
    former_repairs(&lab, after);
    hear(_i == 0 ? 2 : 1, 3, _i == 0 ? text : "all");
    fake.changed(fake.changed_ctx);
    lab_run_for(&lab, 5);
    ck_assert_uint_ge(lab.gets_lft, number_of_blocks(&lab));
    lose_master_and_link(&lab);
    ck_assert(repairs_at_once(&lab));
    free(text);
    free(after);
    finish(&lab);
}
END_TEST

/* The former master died while it wrote the tables of its repair, so that some switches have old
 * entries, which lead into the failed link. Or a switch does not answer. The new master reads all
 * tables before it repairs routes. */
START_TEST(changes_that_cannot_be_followed)
{
    struct lab lab;
    struct tables *after = calloc(1, sizeof(*after)), *before = calloc(1, sizeof(*before));
    bring_up(&lab);
    char *text = learn(&lab, after);
    read_tables(&lab, before);
    stand_by_with_record(&lab);
    lab.config.managers.standby_rate = 2;
    for (uint32_t sw = 0; sw < SWITCHES; sw += 2)
        memcpy(after->entry[sw], before->entry[sw], TOP + 1);
    former_repairs(&lab, after);
    hear(1, 2, text);
    fake.changed(fake.changed_ctx);
    lab_run_for(&lab, 0.6);
    lose_master_and_link(&lab);
    lab_await(&lab, 5, "sweep-done");
    lab_run(&lab, 15, lab_is_idle, "the sweep");
    ck_assert(!sm_standby_unchecked(lab.sm));
    free(text);
    free(after);
    free(before);
    finish(&lab);
}
END_TEST

/* Settings are read again while the new master reads what has changed. */
START_TEST(a_reload_while_the_new_master_reads)
{
    struct lab lab;
    struct tables *after = calloc(1, sizeof(*after));
    bring_up(&lab);
    char *text = learn(&lab, after);
    stand_by_with_record(&lab);
    lab.config.managers.standby_rate = 2;
    former_repairs(&lab, after);
    hear(1, 2, text);
    fake.changed(fake.changed_ctx);
    lab_run_for(&lab, 0.01);
    lose_master_and_link(&lab);
    lab_await(&lab, 5, "sm-master");
    ck_assert_int_eq(sm_reload(lab.sm), FAB_OK);
    lab_await(&lab, 5, "sweep-done");
    lab_run(&lab, 15, lab_is_idle, "the sweep");
    lab_run(&lab, 5, lab_is_ready, "the repair session");
    free(text);
    free(after);
    finish(&lab);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("announce");
    TCase *t = tcase_create("order");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, announces_a_change_before_it_writes);
    tcase_add_test(t, a_repair_does_not_wait);
    tcase_add_test(t, a_link_that_a_sweep_brings_back_is_announced);
    tcase_add_test(t, repairs_at_once_by_the_announced_order);
    tcase_add_test(t, repairs_at_once_if_the_links_are_the_same);
    tcase_add_loop_test(t, reads_all_tables_if_in_doubt, 0, sizeof(doubts) / sizeof(*doubts));
    tcase_add_test(t, hosts_find_the_new_master_before_the_heavy_sweep);
    tcase_add_loop_test(t, hosts_register_again_if_registrations_may_be_missing, 0,
                        sizeof(take_overs) / sizeof(*take_overs));
    tcase_add_test(t, a_manager_that_is_master_again_has_no_old_groups);
    tcase_add_test(t, rows_of_hosts_do_not_repeat_the_sweep);
    tcase_add_test(t, a_new_master_loads_decisions_before_it_decides);
    suite_add_tcase(s, t);
    t = tcase_create("changes");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, the_master_records_what_it_changes);
    tcase_add_test(t, a_standby_manager_reads_what_has_changed);
    tcase_add_loop_test(t, a_new_master_first_reads_what_has_changed, 0, 2);
    tcase_add_loop_test(t, a_gap_means_that_everything_has_changed, 0, 2);
    tcase_add_test(t, changes_that_cannot_be_followed);
    tcase_add_test(t, a_reload_while_the_new_master_reads);
    suite_add_tcase(s, t);
    return test_run(s);
}
