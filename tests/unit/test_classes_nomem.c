/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lets each allocation fail once while traffic classes are read, their members are found, and VL
 * tables are planned. Each call must return NOMEM and leak no memory (which the sanitizers check).
 */
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/qos/qos.h"
#include "tests/unit/fabrics.h"
#include "tests/unit/testing.h"

#include "tests/unit/failing_alloc.h"

static const char text[] =
    "port-groups\nport-group\nname: a\nport-guid: 1-5,7\nport-name: x/P1, y\npartition: p\n"
    "node-type: CA\nend-port-group\nend-port-groups\n"
    "qos-levels\nqos-level\nname: DEFAULT\nsl: 1\nend-qos-level\nend-qos-levels\n"
    "qos-match-rules\nqos-match-rule\nsource: a\nservice-id: 1,2,3\nqos-class: 5\n"
    "qos-level-name: DEFAULT\nend-qos-match-rule\nend-qos-match-rules\n"
    "qos-ulps\nsdp : 2\nany, target-port-guid 5 : 3\nend-qos-ulps\n";

static struct fab_fabric *f;

static int make(struct fab_classes **ret)
{
    struct fab_classes_error e;
    uint8_t n;
    int r = fab_policy_classes_new(ret);
    if (r == FAB_OK)
        r = fab_policy_classes_read(*ret, text, strlen(text), &e);
    if (r == FAB_OK)
        r = fab_policy_classes_add(*ret, &(struct fab_class){.name = "b", .sl = FAB_CLASS_NO_SL},
                                   &n, &e);
    if (r == FAB_OK)
        r = fab_policy_classes_add_rule(*ret, n, "from=@g to=h* pkey=1,2,3 partition=q", &e);
    return r;
}

static int read_all(void)
{
    struct fab_classes *c = NULL;
    int r = make(&c);
    fab_policy_classes_unref(c);
    return r;
}

static int find_groups(void)
{
    struct fab_policy p = {.classes = NULL};
    struct fab_qos_matcher m;
    const struct fab_pkeys none = {.ports = 0};
    int r = make(&p.classes);
    if (r == FAB_OK)
        r = fab_qos_matcher_init(&m, f, &p, &none);
    if (r == FAB_OK)
        fab_qos_matcher_fini(&m);
    fab_policy_classes_unref(p.classes);
    return r;
}

START_TEST(each_allocation_may_fail)
{
    f = leaf_spine(2, 1, 2);
    ck_assert_uint_gt(fail_each_allocation(read_all, FAB_E_NOMEM), 20);
    ck_assert_uint_gt(fail_each_allocation(find_groups, FAB_E_NOMEM), 20);
    fab_fabric_unref(f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("classes without memory");
    TCase *cases = tcase_create("classes without memory");
    tcase_add_test(cases, each_allocation_may_fail);
    suite_add_tcase(suite, cases);
    return test_run(suite);
}
