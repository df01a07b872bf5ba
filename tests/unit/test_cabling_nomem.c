/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lets each allocation fail once while cabling plans are read and compared, and while the structure
 * of a fabric is inferred. Each call must return NOMEM and leak no memory (which the sanitizers
 * check).
 */
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/cabling/infer.h"
#include "libfabmgr/cabling/progress.h"
#include "tests/unit/fabrics.h"
#include "tests/unit/testing.h"

#include "tests/unit/failing_alloc.h"

/* leaf-001/1 and leaf-001/2 are swapped, a link is missing, and leaf-009 is absent */
static const struct {
    const char *text;
} plans[] = {
    {"node_a,port_a,node_b,port_b,rate,rack_a\nleaf-001,1,host-0002,1,4x EDR,r1\n"
     "leaf-001,2,host-0001,1,2x EDR,r1\nleaf-001,30,spine-001,1,,\nleaf-009,1,spine-001,20,,\n"
     "leaf-009,2,spine-001,21,,\n"},
    {"T leaf-001\n P1 -4x-10G-> T host-0002 P1\n P2 -> T host-0001 U1/P1\n"},
    {"Switch 4 \"S-1\" # \"leaf-001\"\n[1] \"H-1\"[1] # \"host-0002\" 4xEDR\n\n"
     "Ca 1 \"H-1\" # \"host-0002\"\n[1] \"S-1\"[1] # \"leaf-001\" lid 1 4xEDR\n"},
};
static struct fab_fabric *f;
static const char *text;

static int compare(void)
{
    struct fab_cabling_plan *p = fab_cabling_plan_new();
    struct fab_cabling_check *c = NULL;
    struct fab_cabling_progress *racks = NULL;
    struct fab_text_error e;
    size_t count;
    int r = p != NULL ? fab_cabling_plan_read(p, text, strlen(text), &e) : FAB_E_NOMEM;
    if (r == FAB_OK)
        r = fab_cabling_compare(p, f, &c);
    if (r == FAB_OK)
        r = fab_cabling_progress(c, &racks, &count);
    free(racks);
    fab_cabling_check_free(c);
    fab_cabling_plan_free(p);
    return r;
}

static int infer(void)
{
    struct fab_cabling_shape *s = NULL;
    int r = fab_cabling_infer(f, &s);
    fab_cabling_shape_free(s);
    return r;
}

START_TEST(each_allocation_may_fail)
{
    f = leaf_spine(4, 3, 2);
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        text = plans[i].text;
        ck_assert_uint_gt(fail_each_allocation(compare, FAB_E_NOMEM), 20);
    }
    ck_assert_uint_gt(fail_each_allocation(infer, FAB_E_NOMEM), 20);
    fab_fabric_unref(f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cabling without memory");
    TCase *cases = tcase_create("cabling without memory");
    tcase_add_test(cases, each_allocation_may_fail);
    suite_add_tcase(suite, cases);
    return test_run(suite);
}
