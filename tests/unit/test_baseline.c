/* SPDX-License-Identifier: BSD-3-Clause */
/* The baseline of approved devices (libfabmgr/discover/baseline.h). */
#include "libfabmgr/discover/baseline.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/generate.h"
#include "tests/unit/testing.h"

static struct fab_fabric *random_fabric(uint64_t seed)
{
    const struct fab_random_spec spec = {
        .switches = 6, .degree = 3, .hosts_per_switch = 3, .seed = seed};
    struct fab_builder *b = NULL;
    struct fab_fabric *f = NULL;
    ck_assert_int_eq(fab_fabric_generate_random(&spec, &b), FAB_OK);
    ck_assert_int_eq(fab_fabric_builder_seal(b, &f), FAB_OK);
    fab_fabric_builder_free(b);
    return f;
}

static struct fab_approved approved(struct fab_place place)
{
    return (struct fab_approved){.place = place, .name = "a", .by = "test", .since_us = 1};
}

static struct fab_baseline *baseline_of(const struct fab_fabric *f)
{
    struct fab_approved *list = calloc(f->port_count + 1u, sizeof *list);
    struct fab_baseline *b = NULL;
    struct fab_place place;
    size_t count = 0;
    for (uint32_t p = 0; p < f->port_count; p++)
        if (fab_discover_baseline_place(f, p, &place))
            list[count++] = approved(place);
    ck_assert_int_eq(fab_discover_baseline_new(list, count, &b), FAB_OK);
    free(list);
    return b;
}

static size_t count_unapproved(const struct fab_baseline *b, const struct fab_fabric *f)
{
    struct fab_unapproved *list = NULL;
    size_t count = 0;
    ck_assert_int_eq(fab_discover_baseline_compare(b, f, &list, &count), FAB_OK);
    free(list);
    return count;
}

static bool same_place(const struct fab_place *a, const struct fab_place *b)
{
    return a->guid == b->guid && a->port == b->port && a->near_guid == b->near_guid &&
           a->near_port == b->near_port && a->is_switch == b->is_switch &&
           (a->is_switch || a->port_guid == b->port_guid);
}

/* Returns whether the fabric f has this place. Compares the place with every port of f, which the
 * library does not do. */
static bool is_in(const struct fab_fabric *f, const struct fab_place *place)
{
    struct fab_place other;
    for (uint32_t p = 0; p < f->port_count; p++)
        if (fab_discover_baseline_place(f, p, &other) && same_place(place, &other))
            return true;
    return false;
}

/* ---- one device ---- */

static const struct fab_place host = {
    .guid = 0x100, .port_guid = 0x101, .near_guid = 0x1, .port = 1, .near_port = 7};
static const struct fab_place cable = {.guid = 0x1,
                                       .port_guid = 0x1,
                                       .near_guid = 0x2,
                                       .port = 20,
                                       .near_port = 21,
                                       .is_switch = true};

static struct fab_baseline *of_two(void)
{
    const struct fab_approved list[] = {approved(host), approved(cable)};
    struct fab_baseline *b = NULL;
    ck_assert_int_eq(fab_discover_baseline_new(list, 2, &b), FAB_OK);
    return b;
}

START_TEST(a_device_is_judged_by_guids_and_place)
{
    struct fab_baseline *b = of_two();
    static const struct {
        struct fab_place place;
        enum fab_unapproved_why why;
        uint64_t first, holder;
    } cases[] = {
        {{0x100, 0x101, 0x1, 1, 7, false}, FAB_APPROVED_HERE, 0, 0},
        {{0x100, 0x101, 0x1, 1, 8, false}, FAB_UNAPPROVED_MOVED, 0x1, 0},
        {{0x100, 0x101, 0x2, 1, 7, false}, FAB_UNAPPROVED_MOVED, 0x1, 0},
        {{0x100, 0x101, 0x2, 1, 21, false}, FAB_UNAPPROVED_MOVED, 0x1, 0x1},
        {{0x100, 0x999, 0x1, 1, 7, false}, FAB_UNAPPROVED_PORT, 0, 0},
        {{0x100, 0x102, 0x1, 2, 9, false}, FAB_UNAPPROVED_PORT, 0, 0},
        {{0x200, 0x201, 0x1, 1, 7, false}, FAB_UNAPPROVED_NEW, 0, 0x100},
        {{0x200, 0x201, 0x1, 1, 9, false}, FAB_UNAPPROVED_NEW, 0, 0},
        {{0x1, 0x1, 0x2, 20, 21, true}, FAB_APPROVED_HERE, 0, 0},
        {{0x2, 0x2, 0x1, 21, 20, true}, FAB_APPROVED_HERE, 0, 0},
        {{0x1, 0x1, 0x2, 20, 22, true}, FAB_UNAPPROVED_LINK, 0, 0},
        {{0x1, 0x1, 0x2, 19, 21, true}, FAB_UNAPPROVED_LINK, 0, 0},
        {{0x3, 0x3, 0x1, 1, 9, true}, FAB_UNAPPROVED_SWITCH, 0, 0},
        {{0x3, 0x3, 0x1, 1, 7, true}, FAB_UNAPPROVED_SWITCH, 0, 0x100},
        /* a host that claims the GUID of the approved switch */
        {{0x1, 0x1, 0x2, 20, 21, false}, FAB_UNAPPROVED_PORT, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fab_unapproved u = {0};
        ck_assert_msg(fab_discover_baseline_judge(b, &cases[i].place, &u) == cases[i].why,
                      "case %zu", i);
        ck_assert_msg(u.first_guid == cases[i].first && u.holder == cases[i].holder, "case %zu", i);
    }
    fab_discover_baseline_unref(b);
}
END_TEST

START_TEST(a_new_approval_replaces_what_has_an_end_in_common)
{
    struct fab_baseline *b = of_two(), *now = NULL;
    struct fab_approved swap = approved(host), loose = approved(host);
    struct fab_unapproved u;
    swap.place.guid = 0x200;
    ck_assert_int_eq(fab_discover_baseline_with(b, &swap, 1, &now), FAB_OK);
    ck_assert_int_eq(fab_discover_baseline_judge(now, &swap.place, &u), FAB_APPROVED_HERE);
    ck_assert_int_eq(fab_discover_baseline_judge(now, &host, &u), FAB_UNAPPROVED_NEW);
    ck_assert_uint_eq(u.holder, 0x200);
    fab_discover_baseline_unref(now);
    loose.place.near_port = 8; /* in this baseline, the host is approved at port 8 instead */
    ck_assert_int_eq(fab_discover_baseline_with(b, &loose, 1, &now), FAB_OK);
    ck_assert_int_eq(fab_discover_baseline_judge(now, &loose.place, &u), FAB_APPROVED_HERE);
    ck_assert_int_eq(fab_discover_baseline_judge(now, &host, &u), FAB_UNAPPROVED_MOVED);
    fab_discover_baseline_unref(now);
    ck_assert_int_eq(fab_discover_baseline_with(NULL, &loose, 1, &now), FAB_OK);
    ck_assert(!fab_discover_baseline_knows(now, 0x2));
    ck_assert(fab_discover_baseline_has_guid(now, loose.place.guid));
    ck_assert(fab_discover_baseline_has_guid(now, loose.place.port_guid));
    ck_assert(fab_discover_baseline_has_guid(now, loose.place.near_guid));
    ck_assert(!fab_discover_baseline_has_guid(now, 0x2));
    ck_assert(!fab_discover_baseline_has_guid(NULL, loose.place.guid));
    fab_discover_baseline_unref(now);
    fab_discover_baseline_unref(b);
}
END_TEST

START_TEST(a_switch_is_dropped_with_its_hosts)
{
    struct fab_baseline *b = of_two(), *now = NULL;
    size_t count;
    static const uint64_t some[] = {0x100, 0x77};
    ck_assert_int_eq(fab_discover_baseline_without(b, some, 2, &now), FAB_E_NOT_FOUND);
    ck_assert_int_eq(fab_discover_baseline_without(b, some, 1, &now), FAB_OK);
    (void)fab_discover_baseline_list(now, &count);
    ck_assert_uint_eq(count, 1);
    fab_discover_baseline_unref(now);
    ck_assert_int_eq(fab_discover_baseline_without(b, &(uint64_t){0x1}, 1, &now), FAB_OK);
    (void)fab_discover_baseline_list(now, &count);
    ck_assert_uint_eq(count, 0);
    fab_discover_baseline_unref(now);
    fab_discover_baseline_unref(b);
}
END_TEST

/* ---- random fabrics ---- */

static void approve_all(struct fab_baseline *b, const struct fab_fabric *f)
{
    struct fab_unapproved *list = NULL;
    struct fab_baseline *now = NULL;
    size_t count = 0;
    ck_assert_int_eq(fab_discover_baseline_compare(b, f, &list, &count), FAB_OK);
    struct fab_approved *more = calloc(count + 1, sizeof *more);
    for (size_t i = 0; i < count; i++)
        more[i] = approved(list[i].place);
    ck_assert_int_eq(fab_discover_baseline_with(b, more, count, &now), FAB_OK);
    ck_assert_uint_eq(count_unapproved(now, f), 0);
    fab_discover_baseline_unref(now);
    free(more);
    free(list);
}

/* Compares two random fabrics that have the same node GUIDs, but each node at another place. */
static void compare_two(uint64_t seed)
{
    struct fab_fabric *first = random_fabric(seed), *second = random_fabric(seed + 1000000);
    struct fab_baseline *b = baseline_of(first);
    struct fab_unapproved *list = NULL;
    struct fab_place place;
    size_t count = 0, at = 0;
    ck_assert_uint_eq(count_unapproved(b, first), 0);
    ck_assert_int_eq(fab_discover_baseline_compare(b, second, &list, &count), FAB_OK);
    for (uint32_t p = 0; p < second->port_count; p++) {
        if (!fab_discover_baseline_place(second, p, &place) || is_in(first, &place))
            continue;
        ck_assert_uint_lt(at, count);
        ck_assert(same_place(&list[at].place, &place));
        ck_assert_uint_ne(list[at++].why, FAB_APPROVED_HERE);
    }
    ck_assert_uint_eq(at, count);
    free(list);
    approve_all(b, second);
    fab_discover_baseline_unref(b);
    fab_fabric_unref(first);
    fab_fabric_unref(second);
}

START_TEST(random_fabrics_are_compared_as_by_exhaustive_search)
{
    uint64_t seed = test_seed("random fabrics", 20261123);
    for (uint64_t i = 0; i < 200; i++)
        compare_two(seed + i);
}
END_TEST

START_TEST(a_dropped_host_is_the_only_one_that_waits)
{
    uint64_t seed = test_seed("random fabrics", 20261123);
    for (uint64_t i = 0; i < 50; i++) {
        struct fab_fabric *f = random_fabric(seed + i);
        struct fab_baseline *b = baseline_of(f), *now = NULL;
        uint32_t node =
            f->switch_count + (uint32_t)((seed + i) % (f->node_count - f->switch_count));
        struct fab_unapproved *list = NULL;
        size_t count = 0;
        ck_assert_int_eq(fab_discover_baseline_without(b, &f->nodes[node].guid, 1, &now), FAB_OK);
        ck_assert_int_eq(fab_discover_baseline_compare(now, f, &list, &count), FAB_OK);
        ck_assert_uint_ge(count, 1);
        for (size_t k = 0; k < count; k++)
            ck_assert_uint_eq(list[k].place.guid, f->nodes[node].guid);
        free(list);
        fab_discover_baseline_unref(now);
        fab_discover_baseline_unref(b);
        fab_fabric_unref(f);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("baseline");
    TCase *t = tcase_create("baseline");
    tcase_add_test(t, a_device_is_judged_by_guids_and_place);
    tcase_add_test(t, a_new_approval_replaces_what_has_an_end_in_common);
    tcase_add_test(t, a_switch_is_dropped_with_its_hosts);
    tcase_add_test(t, random_fabrics_are_compared_as_by_exhaustive_search);
    tcase_add_test(t, a_dropped_host_is_the_only_one_that_waits);
    suite_add_tcase(s, t);
    return test_run(s);
}
