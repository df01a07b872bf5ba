/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Registrations of hosts. They are loaded again only under the same key. What the store has
 * reported as written must survive a kill. A database of an older version gets the tables for
 * registrations.
 */
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "fabricd/store/schema.h"
#include "tests/unit/same_service.h"
#include "tests/unit/state_dir.h"

static struct store_service service(uint64_t id, uint64_t guid, uint16_t pkey)
{
    struct store_service s = {.record = {.id = id,
                                         .gid = {UINT64_C(0xfe80000000000000), guid},
                                         .pkey = pkey,
                                         .lease = 77,
                                         .key = {1, UINT64_MAX},
                                         .data8 = {1, 2, 3},
                                         .data16 = {[7] = 0xfffe},
                                         .data32 = {[3] = 5},
                                         .data64 = {9, UINT64_MAX}},
                              .ends_us = 1700000000000000,
                              .owner = GUID(70)};
    memcpy(s.record.name, "a '\0\xff name", 10);
    return s;
}

START_TEST(services_come_back)
{
    struct store *s = open_store();
    struct store_service *rows = NULL;
    size_t count = 9;
    ck_assert_int_eq(store_load_services(s, &rows, &count), FAB_OK);
    ck_assert_uint_eq(count, 0);
    free(rows);
    struct store_service a = service(0, GUID(2), 0xffff), b = service(UINT64_MAX, GUID(1), 0x8001),
                         c = service(0, GUID(2), 0x8001), changed = a;
    changed.ends_us = 0;
    changed.record.data8[0] = 200;
    store_put_service(s, &a, true);
    store_put_service(s, &b, true);
    store_put_service(s, &c, true);
    /* this registration has the same key, so it replaces the first one */
    store_put_service(s, &changed, true);
    store_put_service(s, &c, false);
    s = reopen(s);
    ck_assert_int_eq(store_load_services(s, &rows, &count), FAB_OK);
    ck_assert_uint_eq(count, 2);
    assert_same_service(&rows[0].record, &changed.record);
    ck_assert_int_eq(rows[0].ends_us, 0);
    assert_same_service(&rows[1].record, &b.record);
    ck_assert_int_eq(rows[1].ends_us, b.ends_us);
    ck_assert_uint_eq(rows[1].owner, b.owner);
    free(rows);
    store_close(s);
    ck_assert_int_eq(ask("SELECT count(*) FROM service WHERE id = '0x0000000000000000' AND "
                         "gid = 'fe80:0000:0000:0000:0002:c903:0000:0002' AND pkey = 65535"),
                     1);
}
END_TEST

START_TEST(subscriptions_come_back)
{
    struct store *s = open_store();
    struct store_subscription *rows = NULL;
    size_t count = 0;
    struct store_subscription a = {.record = {.subscriber_gid = {0, GUID(1)},
                                              .number = 3,
                                              .info = {.lid_begin = 0xffff,
                                                       .generic = 1,
                                                       .subscribe = 1,
                                                       .type = 0xffff,
                                                       .trap = 64,
                                                       .qpn = 0xabcdef,
                                                       .resp_time = 18,
                                                       .producer = 4}},
                                   .trusted = true},
                              b = a;
    b.trusted = false;
    b.record.number = 0;
    store_put_subscription(s, &a, true);
    store_put_subscription(s, &b, true);
    s = reopen(s);
    ck_assert_int_eq(store_load_subscriptions(s, &rows, &count), FAB_OK);
    ck_assert_uint_eq(count, 2);
    ck_assert_mem_eq(&rows[0].record, &b.record, sizeof(b.record));
    ck_assert_mem_eq(&rows[1].record, &a.record, sizeof(a.record));
    ck_assert(rows[1].trusted && !rows[0].trusted);
    free(rows);
    store_put_subscription(s, &b, false);
    store_flush(s);
    ck_assert_int_eq(store_load_subscriptions(s, &rows, &count), FAB_OK);
    ck_assert_uint_eq(count, 1);
    ck_assert_uint_eq(rows[0].record.number, 3);
    free(rows);
    store_close(s);
}
END_TEST

static bool is_same(const struct store_member *a, const struct store_member *b)
{
    return a->mgid[0] == b->mgid[0] && a->mgid[1] == b->mgid[1] &&
           a->port_gid[0] == b->port_gid[0] && a->port_gid[1] == b->port_gid[1] &&
           a->join_state == b->join_state && a->proxy_join == b->proxy_join;
}

START_TEST(a_group_takes_its_members_with_it)
{
    struct store *s = open_store();
    struct fab_wire_mc_member_record *groups = NULL;
    struct store_member *members = NULL;
    size_t count = 0;
    struct fab_wire_mc_member_record a = {.mgid = {UINT64_C(0xff12401bffff0000), 0xffffffff},
                                          .qkey = 0xb1b,
                                          .mlid = 0xc001,
                                          .mtu_selector = 2,
                                          .mtu = 4,
                                          .pkey = 0xffff,
                                          .rate = 3,
                                          .scope = 2},
                                     b = a;
    b.mgid[1] = 1;
    b.mlid = 0xc002;
    struct store_member m = {{a.mgid[0], a.mgid[1]}, {UINT64_C(0xfe80) << 48, GUID(7)}, 1, 0},
                        n = m, o = m;
    n.port_gid[1] = GUID(8);
    n.join_state = 6;
    n.proxy_join = 1;
    o.mgid[1] = b.mgid[1];
    store_put_group(s, &a, true);
    store_put_group(s, &b, true);
    store_put_member(s, &m, true);
    store_put_member(s, &n, true);
    store_put_member(s, &o, true);
    s = reopen(s);
    ck_assert_int_eq(store_load_groups(s, &groups, &count), FAB_OK);
    ck_assert_uint_eq(count, 2);
    ck_assert_mem_eq(&groups[0], &b, sizeof(b));
    ck_assert_mem_eq(&groups[1], &a, sizeof(a));
    free(groups);
    ck_assert_int_eq(store_load_members(s, &members, &count), FAB_OK);
    ck_assert_uint_eq(count, 3);
    ck_assert(is_same(&members[0], &o));
    ck_assert(is_same(&members[1], &m));
    ck_assert(is_same(&members[2], &n));
    free(members);
    store_put_member(s, &o, false);
    store_put_group(s, &a, false);
    store_flush(s);
    ck_assert_int_eq(store_load_members(s, &members, &count), FAB_OK);
    ck_assert_uint_eq(count, 0);
    free(members);
    store_close(s);
}
END_TEST

START_TEST(alias_guids_come_back)
{
    struct store *s = open_store();
    struct store_alias *rows = NULL, a = {GUID(1), UINT64_MAX, 1}, b = {GUID(1), GUID(9), 255};
    size_t count = 0;
    store_put_alias(s, &b, true);
    store_put_alias(s, &a, true);
    a.guid = GUID(77);
    store_put_alias(s, &a, true);
    s = reopen(s);
    ck_assert_int_eq(store_load_aliases(s, &rows, &count), FAB_OK);
    ck_assert_uint_eq(count, 2);
    ck_assert_uint_eq(rows[0].guid, GUID(77));
    ck_assert_uint_eq(rows[0].place, 1);
    ck_assert_uint_eq(rows[1].guid, GUID(9));
    ck_assert_uint_eq(rows[1].port_guid, GUID(1));
    ck_assert_uint_eq(rows[1].place, 255);
    free(rows);
    store_put_alias(s, &a, false);
    store_flush(s);
    ck_assert_int_eq(store_load_aliases(s, &rows, &count), FAB_OK);
    ck_assert_uint_eq(count, 1);
    ck_assert_uint_eq(rows[0].place, 255);
    free(rows);
    store_close(s);
}
END_TEST

START_TEST(spoilt_rows_are_left_out)
{
    struct store *s = open_store();
    struct store_service *services = NULL;
    struct store_subscription *subscriptions = NULL;
    struct fab_wire_mc_member_record *groups = NULL;
    struct store_member *members = NULL;
    struct store_alias *aliases = NULL;
    size_t count[5] = {9, 9, 9, 9, 9};
    change("INSERT INTO service VALUES ('x', 'y', 1, 0, '0x0002c90300000001', x'0102');"
           "INSERT INTO subscription VALUES ('', 1, 0, '');"
           "INSERT INTO multicast_group VALUES ('', 1, 'a');"
           "INSERT INTO multicast_member VALUES ('::1', 'q', 1, 1);"
           "INSERT INTO alias_guid VALUES ('0x', 1, '0x0002c90300000001');"
           "INSERT INTO alias_guid VALUES ('0x0002c90300000001', 65536, '0x0002c90300000001');");
    ck_assert_int_eq(store_load_services(s, &services, &count[0]), FAB_OK);
    ck_assert_int_eq(store_load_subscriptions(s, &subscriptions, &count[1]), FAB_OK);
    ck_assert_int_eq(store_load_groups(s, &groups, &count[2]), FAB_OK);
    ck_assert_int_eq(store_load_members(s, &members, &count[3]), FAB_OK);
    ck_assert_int_eq(store_load_aliases(s, &aliases, &count[4]), FAB_OK);
    for (int i = 0; i < 5; i++)
        ck_assert_uint_eq(count[i], 0);
    free(services);
    free(subscriptions);
    free(groups);
    free(members);
    free(aliases);
    store_close(s);
}
END_TEST

/* Runs in a child process until it is killed. Registers services, and writes to the pipe which of
 * them the store has reported as written. The database must have all of these. */
static void register_for_ever(int to)
{
    struct store *s = open_store();
    for (uint64_t id = 1;; id++) {
        struct store_service one = service(id, GUID(id % 7), 0xffff);
        store_put_service(s, &one, true);
        uint64_t mark = store_mark(s);
        while (store_written(s, mark) == STORE_PENDING)
            usleep(50);
        if (write(to, &id, sizeof(id)) != sizeof(id))
            _exit(1);
    }
}

START_TEST(what_was_said_to_be_written_survives_a_kill)
{
    srandom((unsigned)test_seed("store hosts", (uint64_t)time(NULL)));
    for (unsigned round = 0; round < 10; round++) {
        int ends[2];
        uint64_t told = 0, id;
        ck_assert_int_eq(pipe(ends), 0);
        pid_t child = fork();
        if (child == 0) {
            close(ends[0]);
            register_for_ever(ends[1]);
        }
        close(ends[1]);
        usleep((useconds_t)(20000 + random() % 40000));
        kill(child, SIGKILL);
        ck_assert_int_eq(waitpid(child, NULL, 0), child);
        while (read(ends[0], &id, sizeof(id)) == sizeof(id))
            told = id;
        close(ends[0]);
        struct store *s = open_store();
        struct store_service *rows = NULL;
        size_t count = 0;
        ck_assert_int_eq(store_load_services(s, &rows, &count), FAB_OK);
        ck_assert_uint_ge(count, told);
        for (size_t i = 0; i < count; i++)
            ck_assert_uint_eq(rows[i].record.id, i + 1);
        free(rows);
        store_close(s);
        change("DELETE FROM service");
    }
}
END_TEST

/* The store must write a registration at once. It may not wait for further changes to write them
 * together. */
START_TEST(what_is_registered_is_written_at_once)
{
    struct store *s = open_store();
    struct store_alias a = {GUID(1), GUID(2), 3};
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (unsigned i = 0; i < 20; i++) {
        put_events(s, i + 1, i + 1);
        store_put_alias(s, &a, i % 2 == 0);
        uint64_t mark = store_mark(s);
        while (store_written(s, mark) == STORE_PENDING)
            usleep(100);
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    ck_assert(!store_is_behind(s));
    double s_taken = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
    /* if the store waited for further changes, each of 20 writes would take 0.05 s */
    ck_assert_double_lt(s_taken, 20 * 0.05);
    store_close(s);
}
END_TEST

START_TEST(a_database_of_before_gets_the_tables)
{
    struct schema_steps before = {schema_steps.sql, 3};
    char why[600] = "";
    sqlite3 *db = NULL;
    ck_assert_int_eq(schema_open(db_path, &before, &db, why, sizeof(why)), FAB_OK);
    sqlite3_close(db);
    change("INSERT INTO lease VALUES ('0x0002c90300000001', 4, 0, 1, 1, 1)");
    struct store *s = open_store();
    ck_assert(!store_was_asked(s));
    store_put_asked(s);
    struct fab_lease want = {GUID(1), 4, 0};
    struct store_alias *rows = NULL, a = {GUID(1), GUID(2), 3};
    size_t count = 9;
    assert_leases(s, &want, 1);
    ck_assert_int_eq(store_load_aliases(s, &rows, &count), FAB_OK);
    ck_assert_uint_eq(count, 0);
    free(rows);
    store_put_alias(s, &a, true);
    s = reopen(s);
    ck_assert_int_eq(store_load_aliases(s, &rows, &count), FAB_OK);
    ck_assert_uint_eq(count, 1);
    ck_assert(store_was_asked(s));
    free(rows);
    store_close(s);
    ck_assert_int_eq(ask("PRAGMA user_version"), schema_steps.count);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store_hosts");
    TCase *tcase = tcase_create("registrations");
    tcase_add_checked_fixture(tcase, make_dir, remove_dir);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, services_come_back);
    tcase_add_test(tcase, subscriptions_come_back);
    tcase_add_test(tcase, a_group_takes_its_members_with_it);
    tcase_add_test(tcase, alias_guids_come_back);
    tcase_add_test(tcase, spoilt_rows_are_left_out);
    tcase_add_test(tcase, what_was_said_to_be_written_survives_a_kill);
    tcase_add_test(tcase, what_is_registered_is_written_at_once);
    tcase_add_test(tcase, a_database_of_before_gets_the_tables);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
