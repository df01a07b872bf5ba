/* SPDX-License-Identifier: BSD-3-Clause */
/* Stored snapshots of the topology (fabricd/store/snapshots.h): which are stored, which are
 * replaced, and which are deleted. */
#include "fabricd/store/snapshots.h"

#include "tests/unit/state_dir.h"

static struct store *s;
static struct fab_builder *b;
static const struct store_snapshot_limits loose = {100, 1 << 30};

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

static void put(const char *name, bool automatic, int64_t time,
                const struct store_snapshot_limits *limits)
{
    struct fab_fabric *f = NULL;
    ck_assert_int_eq(fab_fabric_builder_seal(b, &f), FAB_OK);
    store_put_snapshot(
        s, &(struct store_snapshot){.name = name, .by = "me", .time = time, .automatic = automatic},
        f, limits);
    fab_fabric_unref(f);
    store_flush(s);
}

static char names[400];

static void add_name(void *ctx, const struct store_snapshot *x)
{
    size_t len = strlen(names);
    (void)ctx;
    ck_assert_uint_gt(x->size, 0);
    snprintf(names + len, sizeof(names) - len, "%s;", x->name);
}

static const char *all(void)
{
    names[0] = '\0';
    ck_assert_int_eq(store_snapshots(s, add_name, NULL), FAB_OK);
    return names;
}

static uint32_t nodes_of(const char *name, int64_t time)
{
    struct fab_fabric *f = NULL;
    int status = store_snapshot_load(s, name, time, &f);
    uint32_t nodes = status == FAB_OK ? f->node_count : 0;
    ck_assert(status == FAB_OK || status == FAB_E_NOT_FOUND);
    fab_fabric_unref(f);
    return nodes;
}

START_TEST(snapshots_come_back)
{
    put("a", false, 100, &loose);
    ck_assert_int_eq(fab_fabric_builder_remove_node(b, 29), FAB_OK);
    put("b", false, 200, &loose);
    put("a", false, 300, &loose); /* a snapshot with this name exists, and is not replaced */
    s = reopen(s);
    ck_assert_str_eq(all(), "a;b;");
    ck_assert_uint_eq(nodes_of("a", 0), 30);
    ck_assert_uint_eq(nodes_of("b", 0), 29);
    ck_assert_uint_eq(nodes_of("c", 0), 0);
    ck_assert_uint_eq(nodes_of(NULL, 99), 0);
    ck_assert_uint_eq(nodes_of(NULL, 100), 30);
    ck_assert_uint_eq(nodes_of(NULL, 199), 30);
    ck_assert_uint_eq(nodes_of(NULL, INT64_MAX), 29);
    store_delete_snapshot(s, "a");
    store_flush(s);
    ck_assert_str_eq(all(), "b;");
}
END_TEST

START_TEST(automatic_snapshots_need_a_change)
{
    put("auto-1", true, 100, &loose);
    put("auto-2", true, 200, &loose);
    put("named", false, 250, &loose);
    ck_assert_str_eq(all(), "auto-1;named;");
    ck_assert_int_eq(fab_fabric_builder_remove_node(b, 29), FAB_OK);
    put("auto-3", true, 300, &loose);
    ck_assert_str_eq(all(), "auto-1;named;auto-3;");
}
END_TEST

START_TEST(the_oldest_automatic_snapshots_are_deleted)
{
    const struct store_snapshot_limits two = {2, 1 << 30};
    put("named", false, 1, &loose);
    for (int i = 1; i <= 4; i++) {
        char name[20];
        snprintf(name, sizeof(name), "auto-%d", i);
        ck_assert_int_eq(fab_fabric_builder_remove_node(b, (uint32_t)(30 - i)), FAB_OK);
        put(name, true, 100 * i, &two);
    }
    ck_assert_str_eq(all(), "named;auto-3;auto-4;");
    int64_t size = ask("SELECT sum(size) FROM snapshot WHERE name IN ('named', 'auto-4')");
    const struct store_snapshot_limits small = {100, (uint64_t)size + 10};
    /* stores nothing new, but deletes what exceeds the new limits */
    put("named", false, 1, &small);
    ck_assert_str_eq(all(), "named;auto-4;");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store_snapshots");
    TCase *tc = tcase_create("snapshots");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, snapshots_come_back);
    tcase_add_test(tc, automatic_snapshots_need_a_change);
    tcase_add_test(tc, the_oldest_automatic_snapshots_are_deleted);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
