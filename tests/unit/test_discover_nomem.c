/* SPDX-License-Identifier: BSD-3-Clause */
/* Each allocation of a discovery and of a simulated fabric fails once. */
#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/fault.h"
#include "tests/support/drive.h"
#include "tests/unit/fabrics.h"

#include "tests/unit/failing_alloc.h"

/* the fabrics for the scenarios; lab_open() makes them before allocations fail */
static struct {
    struct fab_fabric *built, *base;
    struct fab_places *places;
    struct drive r;
} lab;

static void lab_open(void)
{
    lab.built = random_fabric(6, 3, 2, 9);
    ck_assert_int_eq(fab_sim_new(lab.built, 1, &lab.r.sim), FAB_OK);
    drive_sit(&lab.r);
    ck_assert_int_eq(drive_whole(&lab.r, &lab.base), FAB_OK);
    ck_assert_int_eq(fab_discover_places_of(lab.base, NULL, &lab.places), FAB_OK);
    /* The last adapter claims the GUIDs of the adapter before it. */
    uint32_t last = lab.built->node_count - 1;
    struct fab_node_info as = lab.built->nodes[last - 1].info;
    as.local_port = 0;
    ck_assert_int_eq(fab_sim_impersonate(lab.r.sim, last, &as), FAB_OK);
}

static void lab_close(void)
{
    fab_sim_free(lab.r.sim);
    fab_fabric_unref(lab.built);
    fab_fabric_unref(lab.base);
    fab_discover_places_unref(lab.places);
}

static int look(const struct fab_fabric *base)
{
    uint64_t suspects[] = {lab.built->nodes[0].guid, lab.built->nodes[1].guid};
    struct fab_discover_config config = {
        .base = base, .suspects = suspects, .suspect_count = 2, .places = lab.places};
    struct fab_discover *d = NULL;
    struct fab_fabric *found = NULL;
    int status = fab_discover_new(&config, &d);
    if (status == FAB_OK)
        status = drive(&lab.r, d);
    if (status == FAB_OK)
        status = fab_discover_result(d, &found);
    fab_discover_free(d);
    fab_fabric_unref(found);
    return status;
}

static int look_at_all(void)
{
    return look(NULL);
}

static int look_at_some(void)
{
    return look(lab.base);
}

static int find_places(void)
{
    struct fab_places *places = NULL;
    int status = fab_discover_places_of(lab.base, lab.places, &places);
    fab_discover_places_unref(places);
    return status;
}

static int find_ways(void)
{
    struct fab_path *paths = NULL;
    int status = fab_discover_paths(lab.base, &paths);
    free(paths);
    return status;
}

static int simulate(void)
{
    struct fab_sim *s = NULL;
    int status = fab_sim_new(lab.built, 1, &s);
    fab_sim_free(s);
    return status;
}

START_TEST(each_allocation_fails)
{
    lab_open();
    ck_assert_uint_gt(fail_each_allocation(look_at_all, FAB_E_NOMEM), 10);
    ck_assert_uint_gt(fail_each_allocation(look_at_some, FAB_E_NOMEM), 10);
    for (uint8_t port = 1; port <= lab.built->nodes[0].num_ports; port += 2)
        (void)fab_sim_unlink(lab.r.sim, 0, port);
    ck_assert_uint_gt(fail_each_allocation(look_at_some, FAB_E_NOMEM), 10);
    ck_assert_uint_gt(fail_each_allocation(find_ways, FAB_E_NOMEM), 1);
    ck_assert_uint_gt(fail_each_allocation(find_places, FAB_E_NOMEM), 3);
    ck_assert_uint_gt(fail_each_allocation(simulate, FAB_E_NOMEM), 3);
    lab_close();
}
END_TEST

/* Writes a table to a simulated device. The device has no memory for the table at the first Set,
 * and answers BUSY. The second Set must succeed. */
static void table_without_room(const struct fab_path *path, uint16_t attr_id)
{
    uint8_t data[FAB_SMP_DATA] = {0};
    alloc_calls = alloc_fail_at = 0;
    int status = drive_smp(&lab.r, path, FAB_METHOD_SET, attr_id, 0, data);
    alloc_fail_at = UINT64_MAX;
    ck_assert_int_eq(status, FAB_SMP_BUSY);
    ck_assert_int_eq(drive_smp(&lab.r, path, FAB_METHOD_SET, attr_id, 0, data), 0);
}

START_TEST(tables_without_room)
{
    struct fab_path *paths = NULL;
    lab_open();
    ck_assert_int_eq(fab_discover_paths(lab.base, &paths), FAB_OK);
    table_without_room(&paths[0], FAB_ATTR_LFT);
    table_without_room(&paths[0], FAB_ATTR_PKEY_TABLE);
    free(paths);
    lab_close();
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("discover_nomem");
    TCase *c = tcase_create("discover_nomem");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, each_allocation_fails);
    tcase_add_test(c, tables_without_room);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return test_run(suite());
}
