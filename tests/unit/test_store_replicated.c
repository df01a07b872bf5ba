/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows that managers exchange (fabricd/store/replicated.h). A change marks its rows. They are sent
 * with their present values. Received rows are stored, and rows from a hostile manager must do no
 * harm. */
#include "fabricd/store/replicated.h"

#include <stdatomic.h>

#include "fabricd/store/gone.h"
#include "tests/unit/state_dir.h"

#define LEAF UINT64_C(0x0002c90100000001)
#define LEAF_KEY "[\"0x0002c90100000001\",5]"

static struct store *s;
static struct store_pending *p;
static atomic_uint calls;

static void on_marked(void *ctx)
{
    (void)ctx;
    atomic_fetch_add(&calls, 1);
}

static void begin(void)
{
    char why[300];
    s = open_store();
    ck_assert_int_eq(store_replicate(s, on_marked, NULL), FAB_OK);
    ck_assert_int_eq(store_pending_open(s, &p, why, sizeof(why)), FAB_OK);
}

static void end(void)
{
    store_stop_marked(s);
    store_pending_close(p);
    store_close(s);
}

static void setup(void)
{
    make_dir();
    begin();
}

static void teardown(void)
{
    end();
    remove_dir();
}

/* Waits until all changes are written, and returns the marked rows. */
static struct store_rows marked(void)
{
    struct store_rows rows = {0};
    uint64_t all = 0;
    store_flush(s);
    ck_assert_int_eq(store_pending_read(p, 1000, &rows, &all), FAB_OK);
    ck_assert_uint_eq(all, rows.count);
    return rows;
}

static size_t count_marked(void)
{
    struct store_rows rows = marked();
    size_t count = rows.count;
    store_rows_fini(&rows);
    return count;
}

static size_t disabled(void)
{
    struct store_port *ports = NULL;
    size_t count = 0;
    store_flush(s);
    ck_assert_int_eq(store_load_disabled(s, &ports, &count), FAB_OK);
    free(ports);
    return count;
}

static void receive(const char *table, const char *key, const char *value, bool whole,
                    uint64_t keeps_after)
{
    struct store_received in = {.whole = whole, .keeps_after = keeps_after};
    if (table != NULL)
        ck_assert_int_eq(store_rows_add(&in.rows, table, key, value, 0), FAB_OK);
    ck_assert_int_eq(store_put_received(s, &in), FAB_OK);
    store_flush(s);
}

START_TEST(a_change_is_marked_with_its_value)
{
    store_put_disabled(s, LEAF, 5, true);
    struct store_rows rows = marked();
    ck_assert_uint_eq(rows.count, 1);
    ck_assert_str_eq(rows.row[0].table, "disabled_port");
    ck_assert_str_eq(rows.row[0].key, LEAF_KEY);
    ck_assert_ptr_nonnull(strstr(rows.row[0].value, "\"since\":"));
    ck_assert_uint_ge(atomic_load(&calls), 1);
    ck_assert_int_eq(store_put_confirmed(s, &rows), FAB_OK);
    ck_assert_uint_eq(count_marked(), 0);
    store_put_disabled(s, LEAF, 5, false);
    rows = marked();
    ck_assert_uint_eq(rows.count, 1);
    ck_assert_ptr_null(rows.row[0].value);
    store_rows_fini(&rows);
}
END_TEST

START_TEST(a_change_after_the_row_was_read_stays_marked)
{
    store_put_disabled(s, LEAF, 5, true);
    struct store_rows rows = marked();
    store_put_disabled(s, LEAF, 5, false);
    /* the store writes this row by INSERT OR IGNORE, and must mark it again */
    store_put_disabled(s, LEAF, 5, true);
    store_flush(s);
    ck_assert_int_eq(store_put_confirmed(s, &rows), FAB_OK);
    ck_assert_uint_eq(count_marked(), 1);
}
END_TEST

START_TEST(marks_survive_a_crash)
{
    store_put_disabled(s, LEAF, 5, true);
    struct store_rows rows = marked();
    uint64_t version = rows.row[0].version;
    store_rows_fini(&rows);
    end();
    begin();
    ck_assert_uint_eq(count_marked(), 1);
    store_put_disabled(s, LEAF, 6, true);
    rows = marked();
    ck_assert_uint_eq(rows.count, 2);
    ck_assert_uint_gt(rows.row[1].version, version);
    store_rows_fini(&rows);
}
END_TEST

START_TEST(leases_that_are_only_seen_again_are_not_marked)
{
    const struct fab_lease lease = {.port_guid = 0x10, .lid = 7};
    store_put_leases(s, &lease, 1);
    struct store_rows rows = marked();
    ck_assert_uint_eq(rows.count, 1);
    ck_assert_int_eq(store_put_confirmed(s, &rows), FAB_OK);
    store_put_leases(s, &lease, 1);
    ck_assert_uint_eq(count_marked(), 0);
}
END_TEST

START_TEST(received_rows_are_stored_and_not_marked)
{
    receive("disabled_port", LEAF_KEY, "{\"since\":1}", false, 0);
    ck_assert_uint_eq(disabled(), 1);
    ck_assert_uint_eq(count_marked(), 0);
    ck_assert_uint_eq(store_received_changes(s), 1);
    receive("disabled_port", LEAF_KEY, "{\"since\":1}", false, 0);
    ck_assert_uint_eq(store_received_changes(s), 1);
    receive("disabled_port", LEAF_KEY, NULL, false, 0);
    ck_assert_uint_eq(disabled(), 0);
}
END_TEST

START_TEST(received_leases_are_compared_with_those_of_this_manager)
{
    const struct fab_lease lease = {.port_guid = 0x10, .lid = 7};
    struct fab_lease *leases = NULL;
    size_t count = 0;
    store_put_leases(s, &lease, 1);
    store_flush(s);
    receive("lease", "[\"0x0000000000000010\"]",
            "{\"lid\":9,\"lmc\":0,\"current\":1,\"first_seen\":1,\"last_seen\":1}", false,
            UINT64_MAX);
    /* stores LID 7 again, because the received lease has replaced it by LID 9 */
    store_put_leases(s, &lease, 1);
    store_flush(s);
    ck_assert_int_eq(store_load_leases(s, &leases, &count), FAB_OK);
    ck_assert_uint_eq(count, 1);
    ck_assert_uint_eq(leases[0].lid, 7);
    free(leases);
}
END_TEST

START_TEST(rows_that_are_missing_in_a_whole_set_are_deleted)
{
    store_put_disabled(s, LEAF, 5, true);
    store_put_disabled(s, LEAF, 6, true);
    store_flush(s);
    receive("disabled_port", LEAF_KEY, "{\"since\":1}", true, UINT64_MAX);
    ck_assert_uint_eq(disabled(), 1);
    ck_assert_uint_eq(count_marked(), 0);
    ck_assert_uint_gt(store_received_drops(s), 0);
}
END_TEST

START_TEST(later_changes_of_this_manager_are_kept)
{
    store_put_disabled(s, LEAF, 5, true);
    store_flush(s);
    uint64_t before = store_marked_version(s);
    store_put_disabled(s, LEAF, 6, true);
    store_flush(s);
    /* etcd had no rows when the version was `before`, so only rows that changed later stay */
    receive(NULL, NULL, NULL, true, before);
    ck_assert_uint_eq(disabled(), 1);
    struct store_rows rows = marked();
    ck_assert_uint_eq(rows.count, 1);
    ck_assert_str_eq(rows.row[0].key, "[\"0x0002c90100000001\",6]");
    store_rows_fini(&rows);
}
END_TEST

START_TEST(all_rows_can_be_marked)
{
    receive("disabled_port", LEAF_KEY, "{\"since\":1}", false, 0);
    receive("meta", "[\"baseline\"]", "{\"value\":\"0\"}", false, 0);
    ck_assert_int_eq(store_mark_all(s), FAB_OK);
    ck_assert_uint_eq(count_marked(), 2);
}
END_TEST

START_TEST(wrong_rows_are_left_out)
{
    static const struct {
        const char *table, *key, *value;
    } wrong[] = {
        {"disabled_port", LEAF_KEY, "{\"since\":"},
        {"disabled_port", LEAF_KEY, "{}"},
        {"disabled_port", "[", "{\"since\":1}"},
        {"disabled_port", "[\"0x1\"]", "{\"since\":1}"},
        {"service", "[\"0x1\",\"0:0\",1]", "{\"ends_us\":0,\"owner\":\"0x1\",\"record\":\"0g\"}"},
        {"service", "[\"0x1\",\"0:0\",1]", "{\"ends_us\":0,\"owner\":\"0x1\",\"record\":\"000\"}"},
        {"lease", "[\"0x10\"]",
         "{\"lid\":0,\"lmc\":9,\"current\":1,\"first_seen\":1,\"last_seen\":1}"},
        {"meta", "[\"registry_hash\"]", NULL},
    };
    struct store_health health;
    struct store_rows none = {0};
    ck_assert_int_eq(store_rows_add(&none, "audit", "[1]", NULL, 0), FAB_E_NOT_FOUND);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        receive(wrong[i].table, wrong[i].key, wrong[i].value, false, 0);
    ck_assert_uint_eq(disabled(), 0);
    store_get_health(s, &health);
    ck_assert_uint_eq(health.failures, 0);
    receive("disabled_port", LEAF_KEY, "{\"since\":1}", false, 0);
    ck_assert_uint_eq(disabled(), 1);
}
END_TEST

static void run_sql(const char *sql)
{
    sqlite3 *db = NULL;
    ck_assert_int_eq(sqlite3_open_v2(db_path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    sqlite3_busy_timeout(db, 5000);
    ck_assert_msg(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
    sqlite3_close(db);
}

/* Adds three nodes to the database. The first two are gone since the times 100 and 200. The third
 * one is in the fabric. */
static void add_nodes(void)
{
    run_sql("INSERT INTO node(guid, kind, description, ports, vendor_id, device_id, first_seen, "
            "last_seen, current, gone_since) VALUES "
            "('0x0002c90100000001', 'adapter', 'h1', 1, 0, 0, 1, 100, 0, 100), "
            "('0x0002c90100000002', 'adapter', 'h2', 1, 0, 0, 1, 200, 0, 200), "
            "('0x0002c90100000003', 'switch', 's', 8, 0, 0, 1, 300, 1, 0)");
}

static int64_t nodes(void)
{
    store_flush(s);
    return ask("SELECT count(*) FROM node");
}

START_TEST(nodes_that_an_operator_forgets_are_told_to_the_others)
{
    add_nodes();
    /* each manager forgets nodes by their age itself, so this needs no message to others */
    store_forget_gone(s, 150, UINT32_MAX);
    ck_assert_int_eq(nodes(), 2);
    ck_assert_int_eq(ask("SELECT count(*) FROM forgotten_node"), 0);
    store_forget_node(s, LEAF + 1);
    ck_assert_int_eq(nodes(), 1);
    struct store_rows rows = marked();
    ck_assert_uint_eq(rows.count, 1);
    ck_assert_str_eq(rows.row[0].table, "forgotten_node");
    ck_assert_str_eq(rows.row[0].key, "[\"0x0002c90100000002\"]");
    store_rows_fini(&rows);
    store_forget_node(s, LEAF + 2); /* cannot be forgotten, because this node is in the fabric */
    ck_assert_int_eq(nodes(), 1);
    ck_assert_int_eq(ask("SELECT count(*) FROM forgotten_node"), 1);
}
END_TEST

START_TEST(nodes_that_another_manager_forgot_are_forgotten)
{
    add_nodes();
    /* Another manager forgot nodes at the time 150. The second node was seen after that, and the
     * third one is in the fabric, so only the first one is forgotten. */
    receive("forgotten_node", "[\"0x0002c90100000001\"]", "{\"time_s\":150}", false, 0);
    receive("forgotten_node", "[\"0x0002c90100000002\"]", "{\"time_s\":150}", false, 0);
    receive("forgotten_node", "[\"0x0002c90100000003\"]", "{\"time_s\":400}", false, 0);
    ck_assert_int_eq(nodes(), 2);
    ck_assert_int_eq(ask("SELECT count(*) FROM node WHERE guid = '0x0002c90100000001'"), 0);
    /* The third node was last seen at 300. Another manager forgot it at 400, but this manager finds
     * only at 500 that it is gone. The node must be forgotten. */
    run_sql("UPDATE node SET current = 0, gone_since = 500 WHERE guid = '0x0002c90100000003'");
    receive("forgotten_node", "[\"0x0002c90100000009\"]", "{\"time_s\":1}", false, 0);
    ck_assert_int_eq(nodes(), 1);
}
END_TEST

START_TEST(the_number_of_the_database_stays)
{
    uint64_t number = store_instance(s);
    ck_assert_uint_ne(number, 0);
    end();
    begin();
    ck_assert_uint_eq(store_instance(s), number);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store_replicated");
    TCase *tc = tcase_create("rows");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_change_is_marked_with_its_value);
    tcase_add_test(tc, a_change_after_the_row_was_read_stays_marked);
    tcase_add_test(tc, marks_survive_a_crash);
    tcase_add_test(tc, leases_that_are_only_seen_again_are_not_marked);
    tcase_add_test(tc, received_rows_are_stored_and_not_marked);
    tcase_add_test(tc, received_leases_are_compared_with_those_of_this_manager);
    tcase_add_test(tc, rows_that_are_missing_in_a_whole_set_are_deleted);
    tcase_add_test(tc, later_changes_of_this_manager_are_kept);
    tcase_add_test(tc, all_rows_can_be_marked);
    tcase_add_test(tc, wrong_rows_are_left_out);
    tcase_add_test(tc, nodes_that_an_operator_forgets_are_told_to_the_others);
    tcase_add_test(tc, nodes_that_another_manager_forgot_are_forgotten);
    tcase_add_test(tc, the_number_of_the_database_stays);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
