/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of nodes and links that left the fabric (fabricd/store/gone.h). They stay until they are
 * forgotten. */
#include "fabricd/store/gone.h"

#include "fabricd/store/schema.h"
#include "tests/unit/state_dir.h"

static struct store *s;
static struct fab_builder *b;

static void setup(void)
{
    make_dir();
    s = open_store();
    b = leaf_spine();
}

static void teardown(void)
{
    fab_fabric_builder_free(b);
    store_close(s);
    remove_dir();
}

static void publish(uint64_t generation)
{
    struct fab_view *v = make_view(b, generation, 1);
    store_put_view(s, v, "test", 1);
    fab_view_unref(v);
    store_flush(s);
}

/* Removes the node with this name from the builder, and returns its GUID. */
static uint64_t lose(const char *name)
{
    struct fab_fabric *f = NULL;
    uint64_t guid = 0;
    uint32_t ref;
    ck_assert_int_eq(fab_fabric_builder_seal(b, &f), FAB_OK);
    for (uint32_t n = 0; n < f->node_count; n++)
        if (strcmp(f->nodes[n].desc, name) == 0)
            guid = f->nodes[n].guid;
    fab_fabric_unref(f);
    ck_assert_int_eq(fab_fabric_builder_find_node(b, guid, &ref), FAB_OK);
    ck_assert_int_eq(fab_fabric_builder_remove_node(b, ref), FAB_OK);
    return guid;
}

/* ---- rows as text ---- */

static char rows[4000];

static void add_node(void *ctx, const struct store_gone_node *n)
{
    size_t len = strlen(rows);
    (void)ctx;
    ck_assert_int_gt(n->seen.first, 1600000000);
    ck_assert_int_ge(n->seen.last, n->seen.first);
    ck_assert_int_ge(n->seen.gone_since, n->seen.last);
    snprintf(rows + len, sizeof(rows) - len, "%s %d;", n->name, n->type);
}

static const char *nodes(int type, int64_t before)
{
    const struct store_gone_nodes q = {.type = type, .before = before, .after_since = INT64_MAX};
    rows[0] = '\0';
    ck_assert_int_eq(store_gone_nodes(s, &q, 100, add_node, NULL), FAB_OK);
    return rows;
}

static void add_link(void *ctx, const struct store_gone_link *l)
{
    size_t len = strlen(rows);
    (void)ctx;
    snprintf(rows + len, sizeof(rows) - len, "%s/%u%s-%s/%u%s %ux %s;", l->end[0].name,
             l->end[0].port, l->end[0].is_switch ? "s" : "", l->end[1].name, l->end[1].port,
             l->end[1].is_switch ? "s" : "", l->width, l->speed);
}

static const char *links(uint64_t node, uint8_t port)
{
    const struct store_gone_links q = {.node = node, .port = port, .after_since = INT64_MAX};
    rows[0] = '\0';
    ck_assert_int_eq(store_gone_links(s, &q, 100, add_link, NULL), FAB_OK);
    return rows;
}

/* Lists the links of port `port` (0: of all ports) of several nodes, at most `limit`. */
static const char *links_of(const uint64_t *guids, size_t guid_count, uint8_t port, uint32_t limit)
{
    const struct store_gone_links q = {
        .nodes = guids, .node_count = guid_count, .port = port, .after_since = INT64_MAX};
    rows[0] = '\0';
    ck_assert_int_eq(store_gone_links(s, &q, limit, add_link, NULL), FAB_OK);
    return rows;
}

static unsigned count(const char *text)
{
    unsigned n = 0;
    for (; (text = strchr(text, ';')) != NULL; text++)
        n++;
    return n;
}

/* ---- tests ---- */

START_TEST(a_host_that_left_is_known_with_its_place)
{
    publish(1);
    ck_assert_str_eq(nodes(0, INT64_MAX), "");
    ck_assert_str_eq(links(0, 0), "");
    uint64_t guid = lose("host-0007");
    publish(2);
    for (int restarts = 0; restarts < 2; restarts++) {
        ck_assert_str_eq(nodes(0, INT64_MAX), "host-0007 1;");
        ck_assert_str_eq(nodes(FAB_NODE_SWITCH, INT64_MAX), "");
        ck_assert_str_eq(nodes(FAB_NODE_CA, INT64_MAX), "host-0007 1;");
        ck_assert_ptr_nonnull(strstr(links(guid, 0), "host-0007/1"));
        ck_assert_ptr_nonnull(strstr(rows, "leaf-002/"));
        ck_assert_uint_eq(count(rows), 1);
        ck_assert_uint_eq(count(links(guid, 1)), 1);
        ck_assert_uint_eq(count(links(guid, 2)), 0);
        s = reopen(s);
    }
}
END_TEST

START_TEST(the_links_of_several_nodes_are_one_list)
{
    publish(1);
    const uint64_t guid[] = {lose("host-0007"), 0xabc, lose("host-0002")};
    lose("host-0005");
    publish(2);
    ck_assert_uint_eq(count(links(0, 0)), 3);
    ck_assert_uint_eq(count(links_of(guid, 3, 0, 100)), 2);
    ck_assert_ptr_nonnull(strstr(rows, "host-0007/1"));
    ck_assert_ptr_nonnull(strstr(rows, "host-0002/1"));
    ck_assert_uint_eq(count(links_of(guid, 3, 1, 100)), 2);
    ck_assert_uint_eq(count(links_of(guid, 3, 9, 100)), 0);
    ck_assert_uint_eq(count(links_of(guid, 3, 0, 1)), 1);
    ck_assert_uint_eq(count(links_of(guid, 2, 0, 100)), 1);
}
END_TEST

/* The host leaves while fabricd is stopped, or after it was killed. last_seen must not change.
 * gone_since must be the time of the first view without the host. */
START_TEST(a_host_may_leave_while_the_manager_is_stopped)
{
    publish(1);
    s = reopen(s);
    store_close(s);
    s = NULL;
    sqlite3 *db = NULL;
    ck_assert_int_eq(sqlite3_open(db_path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db,
                                  "UPDATE node SET first_seen = 1700000000, last_seen = "
                                  "1700000005; UPDATE link SET last_seen = 1700000005",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    s = open_store();
    lose("host-0001");
    publish(2);
    ck_assert_str_eq(nodes(0, INT64_MAX), "host-0001 1;");
    ck_assert_int_eq(ask("SELECT last_seen FROM node WHERE NOT current"), 1700000005);
    ck_assert_int_eq(ask("SELECT last_seen FROM link WHERE NOT current"), 1700000005);
    ck_assert_int_gt(ask("SELECT gone_since FROM node WHERE NOT current"), 1700000005);
    ck_assert_int_gt(ask("SELECT gone_since FROM link WHERE NOT current"), 1700000005);
}
END_TEST

START_TEST(a_host_that_returns_is_not_gone)
{
    publish(1);
    lose("host-0007");
    publish(2);
    fab_fabric_builder_free(b);
    b = leaf_spine();
    publish(3);
    ck_assert_str_eq(nodes(0, INT64_MAX), "");
    ck_assert_str_eq(links(0, 0), "");
}
END_TEST

START_TEST(nodes_are_found_as_users_name_them)
{
    struct store_gone_found f;
    publish(1);
    uint64_t guid = lose("host-0007");
    lose("host-0008");
    lose("leaf-004");
    publish(2);
    ck_assert_int_eq(store_gone_find(s, "host-0007", 9, 0, false, &f), FAB_OK);
    ck_assert_uint_eq(f.count, 1);
    ck_assert_int_eq(f.match, STORE_MATCH_NAME);
    ck_assert_uint_eq(f.guid, guid);
    ck_assert_int_eq(store_gone_find(s, "host-0007/1", 9, 0, false, &f), FAB_OK);
    ck_assert_int_eq(f.match, STORE_MATCH_NAME);
    ck_assert_int_eq(store_gone_find(s, "host-000", 8, 0, false, &f), FAB_OK);
    ck_assert_int_eq(f.match, STORE_MATCH_BEGINNING);
    ck_assert_uint_eq(f.count, 2);
    ck_assert_int_eq(store_gone_find(s, "x", 1, guid, true, &f), FAB_OK);
    ck_assert_int_eq(f.match, STORE_MATCH_NUMBER);
    ck_assert_uint_eq(f.count, 1);
    ck_assert_uint_eq(f.guid, guid);
    int64_t lid = ask("SELECT lid FROM port WHERE NOT current ORDER BY lid DESC LIMIT 1");
    ck_assert_int_eq(store_gone_find(s, "x", 1, (uint64_t)lid, false, &f), FAB_OK);
    ck_assert_int_eq(f.match, STORE_MATCH_NUMBER);
    for (const char *const *none = (const char *const[]){"", "host-0001", "ost", "%", NULL};
         *none != NULL; none++) {
        ck_assert_int_eq(store_gone_find(s, *none, strlen(*none), 0, false, &f), FAB_OK);
        ck_assert_uint_eq(f.count, 0);
    }
}
END_TEST

START_TEST(pages_continue_after_the_last_row)
{
    publish(1);
    for (int i = 1; i <= 9; i++) {
        char name[20];
        snprintf(name, sizeof(name), "host-%04d", i);
        lose(name);
    }
    publish(2);
    struct store_gone_nodes q = {.before = INT64_MAX, .after_since = INT64_MAX};
    rows[0] = '\0';
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    sqlite3_open(db_path, &db);
    sqlite3_prepare_v2(db,
                       "SELECT gone_since, guid FROM node WHERE NOT current ORDER BY "
                       "gone_since DESC, guid",
                       -1, &stmt, NULL);
    for (int i = 0; i < 9; i++) {
        ck_assert_int_eq(store_gone_nodes(s, &q, 1, add_node, NULL), FAB_OK);
        ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
        q.after_since = sqlite3_column_int64(stmt, 0);
        q.after_guid = strtoull((const char *)sqlite3_column_text(stmt, 1), NULL, 16);
        ck_assert_int_eq((int)count(rows), i + 1);
    }
    ck_assert_int_eq(store_gone_nodes(s, &q, 1, add_node, NULL), FAB_OK);
    ck_assert_uint_eq(count(rows), 9);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
}
END_TEST

START_TEST(nodes_are_counted)
{
    struct store_gone_count c;
    publish(1);
    lose("host-0007");
    lose("leaf-004");
    publish(2);
    ck_assert_int_eq(store_gone_count(s, 0, INT64_MAX, &c), FAB_OK);
    ck_assert_uint_eq(c.hosts, 1);
    ck_assert_uint_eq(c.switches, 1);
    ck_assert_uint_eq(c.others, 0);
    ck_assert_uint_eq(c.links, 1 + 2 + 6);
    ck_assert_int_eq(store_gone_count(s, 0, 1700000000, &c), FAB_OK);
    ck_assert_uint_eq(c.hosts + c.switches + c.links, 0);
}
END_TEST

START_TEST(a_node_is_forgotten)
{
    publish(1);
    uint64_t guid = lose("host-0007");
    lose("host-0008");
    publish(2);
    int64_t ports = ask("SELECT count(*) FROM port");
    store_forget_node(s, guid);
    store_flush(s);
    ck_assert_str_eq(nodes(0, INT64_MAX), "host-0008 1;");
    ck_assert_uint_eq(count(links(0, 0)), 1);
    ck_assert_int_eq(ask("SELECT count(*) FROM port"), ports - 1);
    ck_assert_int_eq(ask("SELECT count(*) FROM pragma_foreign_key_check"), 0);
    /* a node of the present fabric cannot be forgotten */
    fab_fabric_builder_free(b);
    b = leaf_spine();
    publish(3);
    store_forget_node(s, guid);
    store_flush(s);
    ck_assert_int_eq(ask("SELECT count(*) FROM node WHERE current"), 30);
    ck_assert_int_eq(ask("SELECT count(*) FROM link WHERE current"), 32);
}
END_TEST

START_TEST(nodes_are_forgotten_by_age_and_number)
{
    publish(1);
    for (int i = 1; i <= 9; i++) {
        char name[20];
        snprintf(name, sizeof(name), "host-%04d", i);
        lose(name);
    }
    publish(2);
    store_forget_gone(s, 1700000000, 9);
    store_flush(s);
    ck_assert_uint_eq(count(nodes(0, INT64_MAX)), 9);
    store_forget_gone(s, 1700000000, 4);
    store_flush(s);
    ck_assert_uint_eq(count(nodes(0, INT64_MAX)), 4);
    ck_assert_uint_eq(count(links(0, 0)), 4);
    store_forget_gone(s, INT64_MAX, 1000);
    store_flush(s);
    ck_assert_str_eq(nodes(0, INT64_MAX), "");
    ck_assert_str_eq(links(0, 0), "");
    ck_assert_int_eq(ask("SELECT count(*) FROM node"), 30 - 9);
    ck_assert_int_eq(ask("SELECT count(*) FROM pragma_foreign_key_check"), 0);
}
END_TEST

/* before schema version 11, rows did not have the time at which the node was found to be gone */
START_TEST(an_older_registry_keeps_its_nodes)
{
    const struct schema_steps before = {schema_steps.sql, 10};
    char why[600] = "";
    sqlite3 *db = NULL;
    store_close(s);
    remove_dir();
    make_dir();
    ck_assert_int_eq(schema_open(db_path, &before, &db, why, sizeof(why)), FAB_OK);
    ck_assert_int_eq(sqlite3_exec(db,
                                  "INSERT INTO node VALUES ('0x0000000000000001', 'adapter', "
                                  "'old', 1, 0, 0, NULL, 1600000001, 1600000002, 0)",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    s = open_store();
    ck_assert_str_eq(nodes(0, INT64_MAX), "old 1;");
    ck_assert_str_eq(nodes(0, 1600000002), "");
    ck_assert_str_eq(nodes(0, 1600000003), "old 1;");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store_gone");
    TCase *tc = tcase_create("gone");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_host_that_left_is_known_with_its_place);
    tcase_add_test(tc, the_links_of_several_nodes_are_one_list);
    tcase_add_test(tc, a_host_may_leave_while_the_manager_is_stopped);
    tcase_add_test(tc, a_host_that_returns_is_not_gone);
    tcase_add_test(tc, nodes_are_found_as_users_name_them);
    tcase_add_test(tc, pages_continue_after_the_last_row);
    tcase_add_test(tc, nodes_are_counted);
    tcase_add_test(tc, a_node_is_forgotten);
    tcase_add_test(tc, nodes_are_forgotten_by_age_and_number);
    tcase_add_test(tc, an_older_registry_keeps_its_nodes);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
