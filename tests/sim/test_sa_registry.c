/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Services that hosts register with subnet administration, with leases and keys. A host sees only
 * the services that it may see.
 */
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "fabricd/store/store.h"
#include "libfabmgr/policy/partitions.h"
#include "tests/sim/sa_scene.h"
#include "tests/unit/same_service.h"

START_TEST(a_service_is_found_until_it_is_taken_back)
{
    open_scene(false);
    struct fab_wire_service_record a = service_of(1, 0x1234, UINT32_MAX),
                                   b = service_of(2, 9, UINT32_MAX), got;
    uint64_t by_id = service_component("ServiceID");
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_SET, 0, all_of_service(), &a, &got), 0);
    ck_assert_uint_eq(scene.answer[3], FAB_METHOD_GET_RESP);
    assert_same_service(&got, &a);
    ck_assert_uint_eq(service(host_lid(2), FAB_METHOD_SET, 0, all_of_service(), &b, NULL), 0);
    ck_assert_uint_eq(service(host_lid(3), FAB_METHOD_GET, 0, by_id, &a, &got), 0);
    assert_same_service(&got, &a);
    ck_assert_uint_eq(service(host_lid(3), FAB_METHOD_GET, 0, 0, &a, NULL),
                      FAB_SA_TOO_MANY_RECORDS);
    ck_assert_uint_eq(
        service(host_lid(3), FAB_METHOD_GET, 0, service_component("ServiceData64"), &b, &got), 0);
    ck_assert_uint_eq(got.id, 9);
    ck_assert_uint_eq(service(host_lid(3), FAB_METHOD_DELETE, 0, all_of_service(), &a, NULL),
                      FAB_SA_REQ_INVALID); /* the service belongs to another host */
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_DELETE, 0, all_of_service(), &a, &got), 0);
    ck_assert_uint_eq(scene.answer[3], FAB_METHOD_DELETE | FAB_METHOD_RESPONSE);
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_DELETE, 0, all_of_service(), &a, NULL),
                      FAB_SA_NO_RECORDS);
    ck_assert_uint_eq(service(host_lid(3), FAB_METHOD_GET, 0, by_id, &a, NULL), FAB_SA_NO_RECORDS);
    ck_assert_uint_eq(sa_services(scene.sa)->count, 1);
    close_scene();
}
END_TEST

START_TEST(keys_are_asked_for_and_not_told)
{
    open_scene(false);
    struct fab_wire_service_record a = service_of(1, 5, UINT32_MAX), wrong, got;
    uint64_t by_id = service_component("ServiceID");
    a.key[1] = 77;
    wrong = a;
    wrong.key[0] = 1;
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_SET, 0, all_of_service(), &a, &got), 0);
    ck_assert_uint_eq(got.key[1], 0);
    ck_assert_uint_eq(service(host_lid(2), FAB_METHOD_GET, 0, by_id, &a, &got), 0);
    ck_assert_uint_eq(got.key[1], 0);
    ck_assert_uint_eq(service(host_lid(2), FAB_METHOD_GET, SM_KEY, by_id, &a, &got), 0);
    ck_assert_uint_eq(got.key[1], 77);
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_SET, 0, all_of_service(), &wrong, NULL),
                      FAB_SA_REQ_INVALID);
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_DELETE, 0, all_of_service(), &wrong, NULL),
                      FAB_SA_REQ_INVALID);
    ck_assert_uint_eq(service(host_lid(3), FAB_METHOD_DELETE, 0, all_of_service(), &a, NULL), 0);
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_SET, 0, all_of_service(), &a, NULL), 0);
    ck_assert_uint_eq(
        service(host_lid(3), FAB_METHOD_DELETE, SM_KEY, all_of_service(), &wrong, NULL), 0);
    close_scene();
}
END_TEST

START_TEST(leases_run_out)
{
    open_scene(true);
    struct fab_wire_service_record a = service_of(1, 1, 10), b = service_of(1, 2, 100), got;
    uint64_t by_id = service_component("ServiceID");
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_SET, 0, all_of_service(), &a, NULL), 0);
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_SET, 0, all_of_service(), &b, NULL), 0);
    lab_run_for(&scene.lab, 5);
    ck_assert_uint_eq(service(host_lid(2), FAB_METHOD_GET, 0, by_id, &a, &got), 0);
    ck_assert_uint_le(got.lease, 5);
    lab_run_for(&scene.lab, 6);
    ck_assert_uint_eq(service(host_lid(2), FAB_METHOD_GET, 0, by_id, &a, NULL), FAB_SA_NO_RECORDS);
    start_again();
    ck_assert_uint_eq(service(host_lid(2), FAB_METHOD_GET, 0, by_id, &b, &got), 0);
    ck_assert_uint_le(got.lease, 89);
    ck_assert_uint_gt(got.lease, 10);
    lab_run_for(&scene.lab, 95);
    ck_assert_uint_eq(sa_services(scene.sa)->count, 0);
    close_scene();
}
END_TEST

/* full: true: no file of this process can grow, and SQLite reports a full disk. False: files can
 * grow again. */
static void set_disk(bool full)
{
    struct rlimit limit;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = full ? 0 : limit.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* While the disk is full, two hosts register services, and both get BUSY. The first request waits
 * for a transaction that fails. For the second request, the manager knows that the disk is full. */
START_TEST(what_is_not_stored_is_not_confirmed)
{
    signal(SIGXFSZ, SIG_IGN);
    open_scene(true);
    struct fab_wire_service_record a = service_of(1, 1, UINT32_MAX), b = service_of(2, 2, 100), got;
    uint64_t by_id = service_component("ServiceID");
    set_disk(true);
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_SET, 0, all_of_service(), &a, NULL),
                      FAB_SMP_BUSY);
    ck_assert_uint_eq(service(host_lid(2), FAB_METHOD_SET, 0, all_of_service(), &b, NULL),
                      FAB_SMP_BUSY);
    set_disk(false);
    store_flush(scene.lab.store);
    store_flush(scene.lab.store);
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_SET, 0, all_of_service(), &a, NULL), 0);
    start_again();
    ck_assert_uint_eq(service(host_lid(3), FAB_METHOD_GET, 0, by_id, &a, &got), 0);
    ck_assert_uint_eq(service(host_lid(3), FAB_METHOD_GET, 0, by_id, &b, NULL), FAB_SA_NO_RECORDS);
    close_scene();
}
END_TEST

START_TEST(senseless_services_are_refused)
{
    open_scene(false);
    struct fab_wire_service_record a = service_of(1, 1, UINT32_MAX), foreign = a, got;
    uint64_t no_gid = all_of_service() & ~service_component("ServiceGID");
    uint64_t quota = scene.lab.config.policy.quotas.each[FAB_QUOTA_SERVICES];
    uint64_t no_key = all_of_service() & ~service_component("ServiceP_Key");
    foreign.gid[1] = 0x123456;
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_SET, 0, no_gid, &a, NULL),
                      FAB_SA_REQ_INVALID);
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_SET, 0, all_of_service(), &foreign, NULL),
                      FAB_SA_REQ_INVALID);
    ck_assert_uint_eq(service(200, FAB_METHOD_SET, 0, all_of_service(), &a, NULL),
                      FAB_SA_REQ_INVALID); /* no port has that LID */
    a.pkey = 0x1234;
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_SET, 0, all_of_service(), &a, NULL),
                      FAB_SA_REQ_INVALID);
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_SET, 0, no_key, &a, &got), 0);
    ck_assert_uint_eq(got.pkey, 0xffff);
    for (uint64_t id = 100; id < 100 + quota - 1; id++) {
        a.id = id;
        ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_SET, 0, no_key, &a, NULL), 0);
    }
    a.id = 99;
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_SET, 0, no_key, &a, NULL),
                      FAB_SA_NO_RESOURCES);
    a = service_of(2, 99, 1);
    ck_assert_uint_eq(service(host_lid(2), FAB_METHOD_SET, 0, no_key, &a, NULL), 0);
    close_scene();
}
END_TEST

/* ---- multicast forwarding tables ---- */

static uint64_t fill_join(unsigned host, uint16_t pkey, uint64_t low, uint8_t data[FAB_REC_MAX])
{
    struct fab_wire_mc_member_record r = {
        .mgid = {UINT64_C(0xff12401b00000000) | (uint64_t)pkey << 16, low},
        .port_gid = {UINT64_C(0xfe80) << 48, host_guid(host)},
        .qkey = 0xb1b,
        .pkey = pkey,
        .join_state = FAB_JOIN_FULL};
    static const char *const names[] = {"MGID", "PortGID",   "Q_Key",  "P_Key",
                                        "SL",   "FlowLabel", "TClass", "JoinState"};
    uint64_t mask = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        mask |= fab_wire_rec_component(&fab_wire_mc_member_record, names[i]);
    ck_assert_int_eq(fab_wire_rec_pack(&fab_wire_mc_member_record, &r, data, FAB_REC_MAX), FAB_OK);
    return mask;
}

static uint16_t join_in(unsigned host, uint16_t pkey, uint64_t low)
{
    uint8_t data[FAB_REC_MAX];
    uint64_t mask = fill_join(host, pkey, low, data);
    return ask(host_lid(host), FAB_METHOD_SET, FAB_SA_MC_MEMBER_RECORD, 0, mask, data, 56);
}

static uint16_t try_to_join(unsigned host, uint64_t low)
{
    return join_in(host, 0xffff, low);
}

static void join_group(unsigned host, uint64_t low)
{
    ck_assert_uint_eq(try_to_join(host, low), 0);
}

/* The host with the LID `from` requests the record of one MFT block. lid: LID of the switch. block:
 * number of the block of 32 MLIDs. position: number of the group of 16 ports. Returns false if
 * there is no such record. */
static bool mft_record(uint16_t from, uint16_t lid, uint16_t block, uint8_t position,
                       struct fab_wire_mft_record *ret)
{
    const struct fab_wire_mft_record r = {.lid = lid, .block = block, .position = position};
    uint64_t mask = fab_wire_rec_component(&fab_wire_mft_record, "LID") |
                    fab_wire_rec_component(&fab_wire_mft_record, "BlockNum") |
                    fab_wire_rec_component(&fab_wire_mft_record, "Position");
    uint8_t data[FAB_REC_MAX];
    ck_assert_int_eq(fab_wire_rec_pack(&fab_wire_mft_record, &r, data, sizeof data), FAB_OK);
    uint16_t status = ask(from, FAB_METHOD_GET, FAB_SA_MFT_RECORD, SM_KEY, mask, data, 8);
    ck_assert(status == 0 || status == FAB_SA_NO_RECORDS);
    if (status == 0)
        ck_assert_int_eq(
            fab_wire_rec_unpack(&fab_wire_mft_record, scene.answer + FAB_SA_DATA, 200, ret),
            FAB_OK);
    return status == 0;
}

/* MulticastForwardingTableRecords equal the MFTs in the switches. Only switches on the trees of two
 * multicast groups have a record, and only for the blocks in use. */
static void use_partition(void)
{
    static const char text[] = "tenant=0x12, defmember=full: ALL_CAS;\n";
    struct fab_partitions_error e;
    struct fab_partitions *p;
    struct lab *lab = &scene.lab;
    ck_assert_int_eq(fab_policy_partitions_read(text, strlen(text), &p, &e), FAB_OK);
    fab_policy_partitions_unref(lab->config.policy.partitions);
    lab->config.policy.partitions = p;
    ck_assert_int_eq(sm_reload(lab->sm), FAB_OK);
    lab_run_for(lab, 1);
    lab_run(lab, 20, lab_is_idle, "the partition");
}

static bool has_joined;

/* When the manager sends its first MAD as master, a host joins a group. */
static void join_at_once(struct lab *lab, const struct fab_mad *head, const uint8_t *bytes,
                         uint16_t dlid, bool sent)
{
    uint8_t data[FAB_REC_MAX];
    (void)head, (void)bytes, (void)dlid, (void)sent;
    if (has_joined || lab_role(lab) != FAB_SM_MASTER)
        return;
    has_joined = true;
    uint64_t mask = fill_join(5, 0x8012, 2, data);
    send_request(host_lid(5), FAB_METHOD_SET, FAB_SA_MC_MEMBER_RECORD, 0, mask, data, 56);
}

/* A new master publishes the tables that it read in standby. It has not read P_Keys. A host that
 * joins a group in its partition right then must repeat its request, but is not refused. */
START_TEST(no_join_is_refused_at_a_take_over)
{
    struct lab *lab = &scene.lab;
    open_scene(true);
    use_partition();
    ck_assert_uint_eq(join_in(5, 0x8012, 1), 0);
    stop_agent();
    lab_stop(lab);
    lab_play_other(lab, "host-0004", 9, FAB_SM_MASTER);
    lab_begin(lab, scene.dir);
    lab_forget_events(lab);
    begin_agent();
    lab_run(lab, 5, lab_is_standby, "standby");
    lab_await(lab, 20, "sm-standby-ready");
    lab_run_for(lab, 1);
    has_joined = false;
    scene.answers = 0;
    lab->watch = join_at_once;
    lab_end_other(lab);
    lab_run(lab, 5, has_answer, "the first answer");
    ck_assert_uint_eq(fab_base_get_be16(scene.answer + 4), FAB_SMP_BUSY);
    lab_await(lab, 5, "sweep-done");
    lab_run(lab, 5, lab_is_idle, "the sweep");
    ck_assert_uint_eq(join_in(5, 0x8012, 2), 0);
    close_scene();
}
END_TEST

START_TEST(multicast_tables_are_those_of_the_switches)
{
    open_scene(false);
    struct fab_sim *sim = scene.lab.sim;
    const struct fab_fabric *f = fab_sim_fabric(sim);
    struct fab_wire_mft_record is;
    join_group(0, 5);
    join_group(5, 5);
    join_group(5, 6);
    join_group(6, 6);
    lab_run_for(&scene.lab, 1);
    struct fab_view *v = sm_view(scene.lab.sm);
    unsigned with = 0, without = 0, set = 0;
    for (uint32_t sw = 0; sw < v->fabric->switch_count; sw++) {
        uint32_t there = fab_fabric_node_by_guid(f, v->fabric->nodes[sw].guid);
        uint16_t lid = (uint16_t)v->target->lids.base[fab_fabric_port_id(v->fabric, sw, 0)];
        bool any = false;
        for (uint16_t i = 0; i < 32; i++)
            any = any || fab_sim_mft(sim, there, (uint16_t)(0xc000 + i), 0) != 0;
        ck_assert_int_eq(mft_record(host_lid(1), lid, 0, 0, &is), any);
        with += any;
        without += !any;
        if (any) {
            ck_assert_uint_eq(is.lid, lid);
            ck_assert_uint_eq(is.block, 0);
            ck_assert_uint_eq(is.position, 0);
            for (uint16_t i = 0; i < 32; i++) {
                ck_assert_uint_eq(is.mask[i], fab_sim_mft(sim, there, (uint16_t)(0xc000 + i), 0));
                set += is.mask[i] != 0;
            }
        }
        ck_assert(!mft_record(host_lid(1), lid, 1, 0, &is));
        /* Position 1 means ports 16 to 31, and the switch has fewer than 16 ports. */
        ck_assert(!mft_record(host_lid(1), lid, 0, 1, &is));
    }
    fab_view_unref(v);
    /* Two members of the groups share a leaf, so only three switches have entries: two leaves and a
     * spine. */
    ck_assert_uint_eq(with, 3);
    ck_assert_uint_eq(without, 3);
    ck_assert_uint_eq(set, 3 + 1);
    ck_assert(!mft_record(host_lid(1), host_lid(2), 0, 0, &is)); /* the LID of a host */
    close_scene();
}
END_TEST

/* ---- registrations that the database does not take ---- */

enum { SERVICE, SUBSCRIPTION, MEMBERSHIP, ALIAS, KINDS };
static const char *const tables[KINDS] = {"service", "subscription", "multicast_member",
                                          "alias_guid"};
#define A_GROUP 0x77

/* Sends a registration of type `kind` (SERVICE, SUBSCRIPTION, …). Returns the status of the
 * answer. */
static uint16_t send_registration(unsigned kind)
{
    struct fab_wire_service_record a = service_of(1, 1, UINT32_MAX);
    struct fab_inform_info info = all_notices(64);
    struct fab_wire_guid_info_record guids = {.lid = host_lid(3)};
    uint8_t data[FAB_REC_MAX];
    switch (kind) {
    case SERVICE:
        return service(host_lid(1), FAB_METHOD_SET, 0, all_of_service(), &a, NULL);
    case SUBSCRIPTION:
        return inform(host_lid(2), 0, &info);
    case MEMBERSHIP:
        return try_to_join(2, A_GROUP);
    default:
        /* requests an alias GUID at index 1 of the first block; its value is 0, so the manager
         * chooses it */
        ck_assert_int_eq(fab_wire_rec_pack(&fab_wire_guid_info_record, &guids, data, sizeof data),
                         FAB_OK);
        return ask(host_lid(3), FAB_METHOD_SET, FAB_SA_GUID_INFO_RECORD, 0, 3 | 2 << 4, data, 72);
    }
}

/* Executes the query on a connection of its own, and returns the number in the first column of the
 * first row. It sees only committed rows, so these are the rows that a manager finds after kill
 * -9. */
static int in_database(const char *sql)
{
    char path[128];
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    int number = 0;
    snprintf(path, sizeof path, "%s/fabricd.db", scene.dir);
    ck_assert_int_eq(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_busy_timeout(db, 10000), SQLITE_OK);
    ck_assert_int_eq(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
    if (sqlite3_step(stmt) == SQLITE_ROW)
        number = sqlite3_column_int(stmt, 0);
    ck_assert_int_eq(sqlite3_finalize(stmt), SQLITE_OK);
    sqlite3_close(db);
    return number;
}

static int rows_of(unsigned kind)
{
    char sql[64];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", tables[kind]);
    return in_database(sql);
}

/* refused: true: the database refuses new rows of the table for `kind`. False: it accepts them
 * again. */
static void set_refused(unsigned kind, bool refused)
{
    char sql[128];
    if (refused)
        snprintf(sql, sizeof sql,
                 "CREATE TRIGGER refusal BEFORE INSERT ON %s BEGIN SELECT RAISE(ABORT, 'no'); END",
                 tables[kind]);
    else
        snprintf(sql, sizeof sql, "DROP TRIGGER refusal");
    (void)in_database(sql);
}

static void await_writable(void)
{
    /* Without new rows, the writer of the store tries every two seconds to write. */
    for (int i = 0; i < 1000 && store_is_failing(scene.lab.store); i++)
        usleep(10000);
    ck_assert(!store_is_failing(scene.lab.store));
    store_flush(scene.lab.store);
}

/* Waits until the table for `kind` has this number of rows. The wait is necessary because the store
 * writes its queued rows in the background. */
static void await_rows(unsigned kind, int rows)
{
    for (int i = 0; i < 1000 && rows_of(kind) != rows; i++)
        usleep(10000);
    ck_assert_int_eq(rows_of(kind), rows);
}

/* A registration of each kind arrives while the disk is full. When the disk has room again, the
 * manager stores it. In the odd runs, the host repeats the registration; it must be stored only
 * once. */
START_TEST(the_recovery_of_the_disk_stores_registrations)
{
    unsigned kind = (unsigned)_i / 2;
    bool repeats = _i % 2;
    signal(SIGXFSZ, SIG_IGN);
    open_scene(true);
    int before = rows_of(kind);
    /* Flush the store first. Otherwise, the row of an earlier event could be the first one that
     * cannot be written. The manager would then refuse the registration, because it would already
     * know that the disk is full. */
    store_flush(scene.lab.store);
    set_disk(true);
    ck_assert_uint_eq(send_registration(kind), FAB_SMP_BUSY);
    if (repeats)
        ck_assert_uint_eq(send_registration(kind), FAB_SMP_BUSY);
    set_disk(false);
    await_writable();
    await_rows(kind, before + 1);
    if (repeats)
        ck_assert_uint_eq(send_registration(kind), 0);
    ck_assert_int_eq(rows_of(kind), before + 1);
    close_scene();
}
END_TEST

/* The database refuses the row of a registration, so the store drops the row. The host repeats the
 * registration, and gets BUSY until the database accepts the row. */
START_TEST(the_repetition_of_a_dropped_registration_is_stored)
{
    unsigned kind = (unsigned)_i;
    open_scene(true);
    int before = rows_of(kind);
    set_refused(kind, true);
    for (int i = 0; i < 3; i++)
        ck_assert_uint_eq(send_registration(kind), FAB_SMP_BUSY);
    ck_assert_int_eq(rows_of(kind), before);
    set_refused(kind, false);
    await_writable();
    ck_assert_uint_eq(send_registration(kind), 0);
    ck_assert_int_eq(rows_of(kind), before + 1);
    start_again();
    ck_assert_int_eq(rows_of(kind), before + 1);
    close_scene();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sa registry");
    TCase *tcase = tcase_create("registry");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_service_is_found_until_it_is_taken_back);
    tcase_add_test(tcase, keys_are_asked_for_and_not_told);
    tcase_add_test(tcase, leases_run_out);
    tcase_add_test(tcase, what_is_not_stored_is_not_confirmed);
    tcase_add_test(tcase, senseless_services_are_refused);
    tcase_add_test(tcase, multicast_tables_are_those_of_the_switches);
    tcase_add_test(tcase, no_join_is_refused_at_a_take_over);
    tcase_add_loop_test(tcase, the_recovery_of_the_disk_stores_registrations, 0, 2 * KINDS);
    tcase_add_loop_test(tcase, the_repetition_of_a_dropped_registration_is_stored, 0, KINDS);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
