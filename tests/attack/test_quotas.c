/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rogue host uses up what all hosts share in subnet administration: multicast LIDs, groups,
 * memberships, services, subscriptions, alias GUIDs, and the time of the agent. Before quotas
 * existed, one host took all multicast LIDs in 4.4 s and created 17,000 IP groups. It could also
 * create IP groups of partitions of which it was no member, and register services with the GIDs of
 * other hosts. With a source LID that the manager did not know, it could read every record.
 *
 *  The rogue is host 1, at switch port leaf-001/2.
 */
#include "tests/sim/sa_scene.h"

#include "libfabmgr/policy/partitions.h"

#define ROGUE 1
#define PLACE "leaf-001/2"
#define VICTIM 6
#define UNKNOWN_LID 900

static struct fab_policy_quotas *quotas(void)
{
    return &scene.lab.config.policy.quotas;
}

static void reload(void)
{
    ck_assert_int_eq(sm_reload(scene.lab.sm), FAB_OK);
    lab_run_for(&scene.lab, 2);
    lab_run(&scene.lab, 20, lab_is_idle, "the reload");
}

static uint16_t member_from(uint16_t lid, unsigned host, uint8_t method, uint64_t key,
                            uint64_t mgid_high, uint64_t mgid_low, uint16_t pkey)
{
    static const char *const names[] = {"MGID", "PortGID",   "Q_Key",  "P_Key",
                                        "SL",   "FlowLabel", "TClass", "JoinState"};
    uint8_t data[FAB_REC_MAX];
    struct fab_wire_mc_member_record r = {.mgid = {mgid_high, mgid_low},
                                          .port_gid = {UINT64_C(0xfe80) << 48, host_guid(host)},
                                          .qkey = 0xb1b,
                                          .pkey = pkey,
                                          .join_state = FAB_JOIN_FULL};
    uint64_t mask = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        mask |= fab_wire_rec_component(&fab_wire_mc_member_record, names[i]);
    ck_assert_int_eq(fab_wire_rec_pack(&fab_wire_mc_member_record, &r, data, sizeof data), FAB_OK);
    return ask(lid, method, FAB_SA_MC_MEMBER_RECORD, key, mask, data, 52);
}

#define OTHER_GROUP UINT64_C(0xff12a01b00000000)
#define IP_GROUP UINT64_C(0xff12401bffff0000)

static uint16_t join(unsigned host, uint64_t mgid_high, uint64_t mgid_low)
{
    return member_from(host_lid(host), host, FAB_METHOD_SET, 0, mgid_high, mgid_low, 0xffff);
}

static uint16_t leave(unsigned host, uint64_t mgid_high, uint64_t mgid_low)
{
    return member_from(host_lid(host), host, FAB_METHOD_DELETE, 0, mgid_high, mgid_low, 0xffff);
}

/* Checks that exactly one event names the rogue, with its switch port, its GUID and the exceeded
 * limit. */
static void assert_named(const char *limit)
{
    const struct lab_event *e = lab_event(&scene.lab, "quota-exceeded");
    ck_assert_uint_eq(lab_count_events(&scene.lab, "quota-exceeded"), 1);
    ck_assert_ptr_nonnull(e);
    ck_assert_str_eq(e->subject, PLACE);
    ck_assert_uint_eq(e->guid, host_guid(ROGUE));
    ck_assert_msg(strstr(e->message, limit) != NULL, "%s", e->message);
}

/* ---- multicast ------------------------------------------------------------------------------- */

static void flood_groups(uint64_t mgid_high)
{
    open_scene(false);
    uint32_t limit = quotas()->each[FAB_QUOTA_GROUPS];
    for (uint64_t i = 0; i < 2000; i++)
        ck_assert_uint_eq(join(ROGUE, mgid_high, 0x1000 + i), i < limit ? 0 : FAB_SA_NO_RESOURCES);
    assert_named("quota of 128 multicast groups");
    for (unsigned host = 2; host < 10; host++)
        ck_assert_uint_eq(join(host, mgid_high, 0x10000 + host), 0);
    /* At its quota, the rogue can still join groups of other hosts. It can create one group for
     * each of its groups that it gives up. */
    ck_assert_uint_eq(join(ROGUE, mgid_high, 0x10002), 0);
    ck_assert_uint_eq(leave(ROGUE, mgid_high, 0x1000), 0);
    ck_assert_uint_eq(join(ROGUE, mgid_high, 0x999), 0);
    ck_assert_uint_eq(join(ROGUE, mgid_high, 0x998), FAB_SA_NO_RESOURCES);
    struct sa_stats stats;
    sa_get_stats(scene.sa, &stats);
    ck_assert_uint_eq(stats.over_quota, 2000 - limit + 1);
    close_scene();
}

START_TEST(one_host_cannot_take_all_multicast_lids)
{
    flood_groups(OTHER_GROUP);
}
END_TEST

START_TEST(one_host_cannot_make_ip_groups_without_limit)
{
    flood_groups(IP_GROUP);
}
END_TEST

/* A group counts against the quota of its creator until the group ends. So two hosts cannot exceed
 * their quotas by creating groups for each other. */
START_TEST(a_group_that_is_passed_on_is_still_charged)
{
    open_scene(false);
    quotas()->each[FAB_QUOTA_GROUPS] = 3;
    reload();
    for (uint64_t i = 0; i < 3; i++) {
        ck_assert_uint_eq(join(ROGUE, OTHER_GROUP, i + 1), 0);
        ck_assert_uint_eq(join(2, OTHER_GROUP, i + 1), 0);
        ck_assert_uint_eq(leave(ROGUE, OTHER_GROUP, i + 1), 0);
    }
    ck_assert_uint_eq(join(ROGUE, OTHER_GROUP, 9), FAB_SA_NO_RESOURCES);
    ck_assert_uint_eq(leave(2, OTHER_GROUP, 1), 0); /* the last member leaves, so the group ends */
    ck_assert_uint_eq(join(ROGUE, OTHER_GROUP, 9), 0);
    close_scene();
}
END_TEST

/* A proxy join counts against the quota of the port that sent the request, and not of the port that
 * becomes a member. */
START_TEST(memberships_are_charged_to_the_requester)
{
    open_scene(false);
    quotas()->each[FAB_QUOTA_MEMBERSHIPS] = 5;
    reload();
    for (uint64_t i = 0; i < 10; i++) {
        ck_assert_uint_eq(join(2 + (unsigned)(i % 2), OTHER_GROUP, i + 1), 0);
        ck_assert_uint_eq(
            member_from(host_lid(ROGUE), VICTIM, FAB_METHOD_SET, 0, OTHER_GROUP, i + 1, 0xffff),
            i < 5 ? 0 : FAB_SA_NO_RESOURCES);
    }
    assert_named("quota of 5 multicast memberships");
    for (uint64_t i = 5; i < 10; i++)
        ck_assert_uint_eq(join(VICTIM, OTHER_GROUP, i + 1), 0);
    ck_assert_uint_eq(join(VICTIM, OTHER_GROUP, 1), 0); /* a repeated join is no new membership */
    close_scene();
}
END_TEST

/* After a restart, a group with one member counts against the quota of this member. */
START_TEST(charges_outlive_a_restart)
{
    open_scene(true);
    quotas()->each[FAB_QUOTA_GROUPS] = 4;
    reload();
    for (uint64_t i = 0; i < 4; i++)
        ck_assert_uint_eq(join(ROGUE, OTHER_GROUP, i + 1), 0);
    ck_assert_uint_eq(join(ROGUE, OTHER_GROUP, 9), FAB_SA_NO_RESOURCES);
    start_again();
    ck_assert_uint_eq(join(ROGUE, OTHER_GROUP, 9), FAB_SA_NO_RESOURCES);
    ck_assert_uint_eq(join(2, OTHER_GROUP, 9), 0);
    close_scene();
}
END_TEST

START_TEST(the_total_is_a_limit_as_well)
{
    open_scene(false);
    quotas()->all[FAB_QUOTA_GROUPS] = (uint32_t)sm_mgroups(scene.lab.sm)->groups + 6;
    reload();
    for (unsigned host = 1; host < 7; host++)
        ck_assert_uint_eq(join(host, OTHER_GROUP, host), 0);
    lab_forget_events(&scene.lab);
    ck_assert_uint_eq(join(ROGUE, OTHER_GROUP, 99), FAB_SA_NO_RESOURCES);
    ck_assert_uint_eq(join(2, OTHER_GROUP, 99), FAB_SA_NO_RESOURCES);
    /* one event about each of the two hosts */
    ck_assert_uint_eq(lab_count_events(&scene.lab, "quota-exceeded"), 2);
    ck_assert_ptr_nonnull(
        strstr(lab_event(&scene.lab, "quota-exceeded")->message, "all hosts together"));
    ck_assert_uint_eq(member_from(host_lid(2), 2, FAB_METHOD_SET, SM_KEY, OTHER_GROUP, 99, 0xffff),
                      0);
    close_scene();
}
END_TEST

/* A host outside of a partition can neither create the IP groups of the partition nor join them. */
START_TEST(ip_groups_belong_to_their_partition)
{
    char text[300];
    struct fab_partitions_error e;
    struct fab_partitions *p;
    open_scene(false);
    snprintf(text, sizeof text,
             "Default=0x7fff, defmember=full: ALL;\nBlue=0x11, defmember=full: 0x%" PRIx64 ";\n",
             host_guid(VICTIM));
    ck_assert_int_eq(fab_policy_partitions_read(text, strlen(text), &p, &e), FAB_OK);
    scene.lab.config.policy.partitions = p;
    reload();
    const uint64_t blue[] = {UINT64_C(0xff12401b80110000), UINT64_C(0xff15601b80110000),
                             UINT64_C(0xff12401b00110000)};
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_uint_eq(join(ROGUE, blue[i], 0x77), FAB_SA_REQ_INVALID);
        ck_assert_uint_eq(
            member_from(host_lid(ROGUE), ROGUE, FAB_METHOD_SET, 0, blue[i], 0x77, 0x8011),
            FAB_SA_REQ_INVALID);
        ck_assert_uint_eq(
            member_from(host_lid(VICTIM), VICTIM, FAB_METHOD_SET, 0, blue[i], 0x77, 0x8011), 0);
    }
    ck_assert_uint_eq(join(ROGUE, IP_GROUP, 0x77), 0);
    close_scene();
}
END_TEST

/* ---- services, subscriptions, alias GUIDs ---------------------------------------------------- */

START_TEST(one_host_cannot_fill_the_directory)
{
    open_scene(false);
    uint32_t limit = quotas()->each[FAB_QUOTA_SERVICES];
    for (uint64_t id = 1; id <= 1000; id++) {
        struct fab_wire_service_record r = service_of(ROGUE, id, UINT32_MAX);
        ck_assert_uint_eq(service(host_lid(ROGUE), FAB_METHOD_SET, 0, all_of_service(), &r, NULL),
                          id <= limit ? 0 : FAB_SA_NO_RESOURCES);
    }
    assert_named("quota of 128 services");
    struct fab_wire_service_record other = service_of(VICTIM, 5000, UINT32_MAX),
                                   more = service_of(ROGUE, 5001, UINT32_MAX);
    ck_assert_uint_eq(service(host_lid(VICTIM), FAB_METHOD_SET, 0, all_of_service(), &other, NULL),
                      0);
    ck_assert_uint_eq(
        service(host_lid(ROGUE), FAB_METHOD_SET, SM_KEY, all_of_service(), &more, NULL), 0);
    close_scene();
}
END_TEST

START_TEST(services_have_the_gid_of_their_host)
{
    open_scene(false);
    struct fab_wire_service_record r = service_of(VICTIM, 7, UINT32_MAX);
    uint64_t no_key = all_of_service() & ~service_component("ServiceP_Key");
    ck_assert_uint_eq(service(host_lid(ROGUE), FAB_METHOD_SET, 0, all_of_service(), &r, NULL),
                      FAB_SA_REQ_INVALID);
    ck_assert_uint_eq(service(host_lid(ROGUE), FAB_METHOD_SET, 0, no_key, &r, NULL),
                      FAB_SA_REQ_INVALID);
    ck_assert_uint_eq(sa_services(scene.sa)->count, 0);
    ck_assert_uint_eq(service(host_lid(ROGUE), FAB_METHOD_SET, SM_KEY, no_key, &r, NULL), 0);
    r.id = 8;
    ck_assert_uint_eq(service(host_lid(VICTIM), FAB_METHOD_SET, 0, no_key, &r, NULL), 0);
    close_scene();
}
END_TEST

START_TEST(one_host_cannot_subscribe_without_limit)
{
    open_scene(false);
    uint32_t limit = quotas()->each[FAB_QUOTA_SUBSCRIPTIONS];
    for (uint16_t i = 0; i < 1000; i++) {
        const struct fab_inform_info info = all_notices((uint16_t)(1000 + i));
        ck_assert_uint_eq(inform(host_lid(ROGUE), 0, &info), i < limit ? 0 : FAB_SA_NO_RESOURCES);
    }
    assert_named("quota of 256 subscriptions");
    const struct fab_inform_info info = all_notices(64), known = all_notices(1000);
    ck_assert_uint_eq(inform(host_lid(VICTIM), 0, &info), 0);
    ck_assert_uint_eq(inform(host_lid(ROGUE), 0, &known), 0); /* it exists already */
    ck_assert_uint_eq(inform(host_lid(ROGUE), SM_KEY, &info), 0);
    close_scene();
}
END_TEST

static uint16_t ask_aliases(unsigned host, uint64_t key, uint8_t block, uint8_t places)
{
    const struct fab_wire_guid_info_record r = {.lid = host_lid(host), .block = block};
    uint8_t data[FAB_REC_MAX];
    ck_assert_int_eq(fab_wire_rec_pack(&fab_wire_guid_info_record, &r, data, sizeof data), FAB_OK);
    return ask(host_lid(host), FAB_METHOD_SET, FAB_SA_GUID_INFO_RECORD, key,
               3 | (uint64_t)places << 4, data, 80);
}

START_TEST(one_host_has_so_many_alias_guids)
{
    open_scene(false);
    quotas()->each[FAB_QUOTA_ALIAS_GUIDS] = 5;
    reload();
    ck_assert_uint_eq(ask_aliases(ROGUE, 0, 0, 0x1e), 0); /* the bits select 4 alias GUIDs */
    ck_assert_uint_eq(ask_aliases(ROGUE, 0, 0, 0x60), FAB_SA_NO_RESOURCES);
    assert_named("quota of 5 alias GUIDs");
    ck_assert_uint_eq(ask_aliases(ROGUE, 0, 0, 0x3e), 0); /* four of these five exist already */
    ck_assert_uint_eq(ask_aliases(VICTIM, 0, 0, 0x1e), 0);
    ck_assert_uint_eq(ask_aliases(ROGUE, SM_KEY, 0, 0x40), 0);
    close_scene();
}
END_TEST

/* The rogue requests `guid` as alias GUID at index 1 of its own port. Returns the GUID that the
 * port then has at this index. */
static uint64_t take_guid(uint64_t guid, uint64_t key)
{
    struct fab_wire_guid_info_record r = {.lid = host_lid(ROGUE), .table.guid[1] = guid};
    uint8_t data[FAB_REC_MAX];
    ck_assert_int_eq(fab_wire_rec_pack(&fab_wire_guid_info_record, &r, data, sizeof data), FAB_OK);
    ck_assert_uint_eq(
        ask(r.lid, FAB_METHOD_SET, FAB_SA_GUID_INFO_RECORD, key, 3 | 1 << 5, data, 80), 0);
    ck_assert_int_eq(fab_wire_rec_unpack(&fab_wire_guid_info_record, scene.answer + FAB_SA_DATA,
                                         FAB_SA_DATA_LEN, &r),
                     FAB_OK);
    return r.table.guid[1];
}

static bool has_lost_the_victim(struct lab *lab)
{
    struct fab_view *v = sm_view(lab->sm);
    bool lost = v != NULL && lab_is_idle(lab) && v->fabric->node_count < 6 + 16;
    fab_view_unref(v);
    return lost;
}

/* With the GUID of a host that is switched off, the rogue would get the paths and services of that
 * host. The manager knows the GUIDs of absent hosts by their LID leases, also after a restart. */
START_TEST(the_guid_of_an_absent_host_is_not_free)
{
    const uint64_t unused = 0x77;
    open_scene(true);
    uint64_t victim = host_guid(VICTIM);
    ck_assert_uint_eq(take_guid(victim, 0), 0);
    lab_unlink(&scene.lab, "host-0007", 1);
    lab_run(&scene.lab, 20, has_lost_the_victim, "the sweep without the victim");
    ck_assert_uint_eq(take_guid(victim, 0), 0);
    start_again();
    ck_assert_uint_eq(take_guid(victim, 0), 0);
    ck_assert_uint_eq(take_guid(unused, 0), unused);
    /* With the SM_Key, the GUID of an absent host can be given to another host, for example when an
     * adapter was replaced. */
    ck_assert_uint_eq(take_guid(victim, SM_KEY), victim);
    close_scene();
}
END_TEST

/* ---- requests -------------------------------------------------------------------------------- */

/* Sends a Get of NodeRecord, and does not wait for the answer. */
static void send_get(uint16_t lid, uint64_t key)
{
    uint8_t mad[FAB_MAD_SIZE];
    struct fab_mad head = {.mgmt_class = FAB_CLASS_SA,
                           .method = FAB_METHOD_GET,
                           .tid = ++scene.tid,
                           .attr_id = FAB_SA_NODE_RECORD};
    struct fab_sa_header sa = {.sm_key = key, .comp_mask = 1};
    ck_assert_int_eq(fab_wire_gmp_pack(&head, NULL, 0, mad), FAB_OK);
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_sa_header, &sa, mad + FAB_SA_HEADER, 20),
                     FAB_OK);
    fab_base_put_be16(mad + FAB_SA_DATA, lid);
    to_agent(lid, mad);
}

/* A host sends 10,000 requests a second for 30 s. It gets answers to a burst at the beginning, and
 * then to 2,000 requests a second. Returns the number of answers. */
static unsigned flood(uint16_t (*lid)(unsigned step), uint64_t key)
{
    scene.answers = 0;
    for (unsigned step = 0; step < 3000; step++) {
        for (unsigned i = 0; i < 100; i++)
            send_get(lid(step * 100 + i), key);
        lab_run_for(&scene.lab, 0.01);
    }
    return scene.answers;
}

static uint16_t rogue_lid;

static uint16_t lid_of_rogue(unsigned step)
{
    (void)step;
    return rogue_lid;
}

static uint16_t any_unknown_lid(unsigned step)
{
    return (uint16_t)(UNKNOWN_LID + step % 10000);
}

START_TEST(a_flood_of_requests_is_dropped)
{
    open_scene(false);
    rogue_lid = host_lid(ROGUE);
    unsigned answers = flood(lid_of_rogue, 0);
    ck_assert_msg(answers >= 68000 && answers <= 71000, "%u answers", answers);
    assert_named("quota of 2000 requests a second");
    scene.answers = 0;
    send_get(rogue_lid, 0);
    send_get(host_lid(VICTIM), 0);
    lab_run_for(&scene.lab, 0.001);
    ck_assert_uint_ge(scene.answers, 1);
    lab_run_for(&scene.lab, 10);
    ck_assert_uint_eq(ask_aliases(ROGUE, 0, 0, 0x02), 0);
    struct sa_stats stats;
    sa_get_stats(scene.sa, &stats);
    ck_assert_uint_ge(stats.over_rate, 300000 - 71000);
    close_scene();
}
END_TEST

START_TEST(changing_the_lid_does_not_help)
{
    open_scene(false);
    unsigned answers = flood(any_unknown_lid, 0);
    ck_assert_msg(answers <= 71000, "%u answers", answers);
    const struct lab_event *e = lab_event(&scene.lab, "quota-exceeded");
    ck_assert_ptr_nonnull(e);
    ck_assert_str_eq(e->subject, "an unknown port");
    close_scene();
}
END_TEST

/* The rogue sends this number of requests at once. Returns the number of answers within one
 * millisecond. */
static unsigned count_answers(unsigned requests, uint64_t key)
{
    scene.answers = 0;
    for (unsigned i = 0; i < requests; i++)
        send_get(rogue_lid, key);
    lab_run_for(&scene.lab, 0.001);
    return scene.answers;
}

/* A host may send a burst while its token bucket is full, and gets all answers at once. An empty
 * bucket fills by `requests` tokens a second. */
START_TEST(the_rate_of_requests_is_exact)
{
    static const struct {
        uint32_t requests, burst;
        uint64_t key;
        unsigned sent, answered;
        unsigned pause_ms; /* the host repeats its `sent` requests after this pause */
        unsigned again;
    } rows[] = {
        {0, 1, 0, 5000, 5000, 1, 5000}, /* requests 0: there is no limit */
        {10, 4, 0, 4, 4, 1, 0},         {10, 4, 0, 5, 4, 99, 0},   {10, 4, 0, 5, 4, 100, 1},
        {10, 4, 0, 5, 4, 299, 2},       {10, 4, 0, 5, 4, 9000, 4}, {10, 4, SM_KEY, 50, 50, 1, 50},
        {1, 1, 0, 2, 1, 999, 0},        {1, 1, 0, 2, 1, 1000, 1},  {1000000, 1, 0, 2, 1, 1, 1},
    };
    open_scene(false);
    rogue_lid = host_lid(ROGUE);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sa_stats before, after;
        quotas()->requests = rows[i].requests;
        quotas()->request_burst = rows[i].burst;
        reload();
        lab_run_for(&scene.lab, 10);
        sa_get_stats(scene.sa, &before);
        unsigned first = count_answers(rows[i].sent, rows[i].key);
        if (rows[i].pause_ms > 1)
            lab_run_for(&scene.lab, (rows[i].pause_ms - 1) / 1e3);
        unsigned then = count_answers(rows[i].sent, rows[i].key);
        sa_get_stats(scene.sa, &after);
        ck_assert_msg(first == rows[i].answered && then == rows[i].again,
                      "row %zu: %u answers, then %u", i, first, then);
        ck_assert_uint_eq(after.over_rate - before.over_rate, 2 * rows[i].sent - first - then);
    }
    close_scene();
}
END_TEST

/* ---- responses of many records --------------------------------------------------------------- */

static void send_get_table(uint16_t lid)
{
    uint8_t mad[FAB_MAD_SIZE];
    struct fab_mad head = {.mgmt_class = FAB_CLASS_SA,
                           .method = FAB_METHOD_GET_TABLE,
                           .tid = ++scene.tid,
                           .attr_id = FAB_SA_PATH_RECORD};
    const struct fab_sa_header sa = {0};
    ck_assert_int_eq(fab_wire_gmp_pack(&head, NULL, 0, mad), FAB_OK);
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_sa_header, &sa, mad + FAB_SA_HEADER, 20),
                     FAB_OK);
    to_agent(lid, mad);
}

/* A host may have 8 responses in progress; it never acknowledges a segment, so all of them stay in
 * progress. Meanwhile other hosts get their responses. */
START_TEST(one_host_cannot_hold_all_transfers)
{
    struct sa_stats stats;
    open_scene(false);
    rogue_lid = host_lid(ROGUE);
    for (unsigned i = 0; i < 300; i++)
        send_get_table(rogue_lid);
    lab_run_for(&scene.lab, 0.05);
    sa_get_stats(scene.sa, &stats);
    ck_assert_uint_eq(stats.busy, 292);
    ck_assert_uint_eq(stats.tables, 8);
    assert_named("quota of 8 responses of many records");
    for (unsigned host = 2; host < 16; host++)
        send_get_table(host_lid(host));
    lab_run_for(&scene.lab, 0.05);
    sa_get_stats(scene.sa, &stats);
    ck_assert_uint_eq(stats.busy, 292);
    ck_assert_uint_eq(stats.tables, 8 + 14);
    /* By now, the transfers to the rogue have timed out. */
    lab_run_for(&scene.lab, 10);
    send_get_table(rogue_lid);
    lab_run_for(&scene.lab, 0.05);
    sa_get_stats(scene.sa, &stats);
    ck_assert_uint_eq(stats.tables, 8 + 14 + 1);
    close_scene();
}
END_TEST

/* number of bytes that were passed to the kernel, in responses [0] to the rogue, [1] to other
 * hosts */
static uint64_t long_bytes[2];

static int count_long(struct transport *t, const struct fab_mad_addr *to, const uint8_t *bytes,
                      size_t len)
{
    (void)t;
    (void)bytes;
    long_bytes[to->dlid != rogue_lid] += len;
    return FAB_OK;
}

/* The kernel keeps a response for 2.2 s if the requester does not acknowledge it. Without a limit,
 * 10,000 requests filled 310 MB of kernel memory in this small fabric. */
START_TEST(one_host_cannot_fill_the_memory_of_the_kernel)
{
    static const struct transport_ops ops = {.send = wire_send, .send_long = count_long};
    open_scene(false);
    scene.wire.rmpp = TRANSPORT_RMPP_KERNEL;
    scene.wire.ops = &ops;
    rogue_lid = host_lid(ROGUE);
    uint64_t begun = clock_now_us();
    for (unsigned i = 0; i < 10000; i += 8) {
        for (unsigned k = 0; k < 8; k++)
            send_get_table(rogue_lid);
        lab_run_for(&scene.lab, 0.0001);
    }
    uint64_t elapsed_us = clock_now_us() - begun, most = (64 << 20) + elapsed_us * 1024 / 32;
    ck_assert_msg(long_bytes[0] > 50 << 20 && long_bytes[0] < most + (1 << 20),
                  "%" PRIu64 " bytes in %" PRIu64 " us", long_bytes[0], elapsed_us);
    assert_named("responses of many records");
    send_get_table(host_lid(VICTIM));
    lab_run_for(&scene.lab, 0.05);
    ck_assert_uint_gt(long_bytes[1], 0);
    lab_run_for(&scene.lab, 3);
    uint64_t before = long_bytes[0];
    send_get_table(rogue_lid);
    lab_run_for(&scene.lab, 0.05);
    ck_assert_uint_gt(long_bytes[0], before);
    close_scene();
}
END_TEST

/* ---- requesters with an unknown LID ---------------------------------------------------------- */

START_TEST(an_unknown_lid_sees_nobody)
{
    static const uint8_t nothing[FAB_SA_DATA_LEN];
    static const uint16_t kinds[] = {FAB_SA_NODE_RECORD,      FAB_SA_PORT_INFO_RECORD,
                                     FAB_SA_GUID_INFO_RECORD, FAB_SA_MC_MEMBER_RECORD,
                                     FAB_SA_LINK_RECORD,      FAB_SA_SWITCH_INFO_RECORD,
                                     FAB_SA_SERVICE_RECORD,   FAB_SA_INFORM_INFO_RECORD,
                                     FAB_SA_LFT_RECORD,       FAB_SA_MFT_RECORD};
    open_scene(false);
    const struct fab_inform_info info = all_notices(64);
    struct fab_wire_service_record r = service_of(VICTIM, 7, UINT32_MAX);
    ck_assert_uint_eq(join(VICTIM, OTHER_GROUP, 1), 0);
    ck_assert_uint_eq(inform(host_lid(VICTIM), 0, &info), 0);
    ck_assert_uint_eq(service(host_lid(VICTIM), FAB_METHOD_SET, 0, all_of_service(), &r, NULL), 0);
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        ck_assert_msg(ask(UNKNOWN_LID, FAB_METHOD_GET, kinds[i], 0, 0, nothing, sizeof nothing) ==
                          FAB_SA_NO_RECORDS,
                      "attribute 0x%x", kinds[i]);
    struct fab_wire_path_record path = {
        .dgid = {UINT64_C(0xfe80) << 48, host_guid(VICTIM)},
        .sgid = {UINT64_C(0xfe80) << 48, host_guid(ROGUE)},
    };
    uint8_t data[FAB_REC_MAX];
    uint64_t mask = fab_wire_rec_component(&fab_wire_path_record, "DGID") |
                    fab_wire_rec_component(&fab_wire_path_record, "SGID");
    fab_wire_path_record_pack(&path, data);
    ck_assert_uint_eq(ask(UNKNOWN_LID, FAB_METHOD_GET, FAB_SA_PATH_RECORD, 0, mask, data, 64),
                      FAB_SA_NO_RECORDS);
    ck_assert_uint_eq(ask(host_lid(ROGUE), FAB_METHOD_GET, FAB_SA_PATH_RECORD, 0, mask, data, 64),
                      0);
    ck_assert_uint_eq(ask(UNKNOWN_LID, FAB_METHOD_GET, FAB_SA_PATH_RECORD, SM_KEY, mask, data, 64),
                      0);
    close_scene();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("quotas");
    TCase *tcase = tcase_create("quotas");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, one_host_cannot_take_all_multicast_lids);
    tcase_add_test(tcase, one_host_cannot_make_ip_groups_without_limit);
    tcase_add_test(tcase, a_group_that_is_passed_on_is_still_charged);
    tcase_add_test(tcase, memberships_are_charged_to_the_requester);
    tcase_add_test(tcase, charges_outlive_a_restart);
    tcase_add_test(tcase, the_total_is_a_limit_as_well);
    tcase_add_test(tcase, ip_groups_belong_to_their_partition);
    tcase_add_test(tcase, one_host_cannot_fill_the_directory);
    tcase_add_test(tcase, services_have_the_gid_of_their_host);
    tcase_add_test(tcase, one_host_cannot_subscribe_without_limit);
    tcase_add_test(tcase, one_host_has_so_many_alias_guids);
    tcase_add_test(tcase, the_guid_of_an_absent_host_is_not_free);
    tcase_add_test(tcase, the_rate_of_requests_is_exact);
    tcase_add_test(tcase, a_flood_of_requests_is_dropped);
    tcase_add_test(tcase, changing_the_lid_does_not_help);
    tcase_add_test(tcase, one_host_cannot_hold_all_transfers);
    tcase_add_test(tcase, one_host_cannot_fill_the_memory_of_the_kernel);
    tcase_add_test(tcase, an_unknown_lid_sees_nobody);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
