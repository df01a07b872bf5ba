/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A frozen manager must send no Set, whichever part of the program requests one, and must stay
 * frozen over a restart. The scenarios freeze-*.scenario show what the manager does while it is
 * frozen.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fabricd/sm/core/core.h"
#include "libfabmgr/base/status.h"
#include "tests/sim/lab.h"

static int answered;

static void note(void *ctx, uint64_t tag, const struct fab_mads_answer *a)
{
    (void)ctx, (void)tag;
    answered = a->status;
}

/* Sends a request to the leaf as those parts of the manager do that do not know about the freeze.
 * Returns the status of the answer. */
static int send(struct lab *lab, uint8_t method, uint16_t attr_id)
{
    static const struct fab_path leaf = {.hops = 1, .port = {0, 1}};
    const struct fab_mads_request req = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                                         .method = method,
                                         .attr_id = attr_id,
                                         .dlid = 0xffff,
                                         .path = &leaf,
                                         .done = note,
                                         .ctx = lab};
    answered = FAB_E_BUSY;
    ck_assert_int_eq(fab_mads_submit(lab->sm->mads, &req), FAB_OK);
    agent_pump(lab->sm->agent);
    lab_run_for(lab, 5);
    return answered;
}

static enum sm_freeze mode_of(struct lab *lab)
{
    struct sm_freeze_status s;
    sm_get_freeze(lab->sm, &s);
    return s.mode;
}

static void freeze(struct lab *lab, enum sm_freeze mode)
{
    char why[200];
    ck_assert_int_eq(sm_freeze(lab->sm, mode, 0, "a test", "because", why, sizeof(why)), FAB_OK);
}

static const struct {
    uint16_t attr_id;
    bool repairs;
} attributes[] = {
    {FAB_ATTR_LFT, true},         {FAB_ATTR_MFT, true},        {FAB_ATTR_SWITCH_INFO, true},
    {FAB_ATTR_PORT_INFO, false},  {FAB_ATTR_SL2VL, false},     {FAB_ATTR_VLARB, false},
    {FAB_ATTR_PKEY_TABLE, false}, {FAB_ATTR_GUID_INFO, false},
};

START_TEST(no_set_leaves)
{
    struct lab lab;
    struct sm_freeze_status s;
    lab_open_virtual(&lab, lab_leaf_spine(4, 2, 2), NULL);
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_ready, "bring-up");
    freeze(&lab, SM_NO_WRITES);
    lab_forget_writes(&lab);
    lab.sets = 0;
    for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); i++)
        ck_assert_int_eq(send(&lab, FAB_METHOD_SET, attributes[i].attr_id), FAB_E_DENIED);
    ck_assert_uint_eq(lab.sets, 0);
    ck_assert_int_eq(send(&lab, FAB_METHOD_GET, FAB_ATTR_PORT_INFO), FAB_OK);
    sm_get_freeze(lab.sm, &s);
    ck_assert_uint_eq(s.refused, sizeof(attributes) / sizeof(*attributes));
    uint64_t before = lab.sends;
    (void)send(&lab, FAB_METHOD_SET, FAB_ATTR_SM_INFO);
    ck_assert_uint_gt(lab.sends, before);
    lab_close(&lab);
}
END_TEST

START_TEST(only_repairs_leave)
{
    struct lab lab;
    lab_open_virtual(&lab, lab_leaf_spine(4, 2, 2), NULL);
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_ready, "bring-up");
    freeze(&lab, SM_REPAIRS_ONLY);
    for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); i++) {
        int status = send(&lab, FAB_METHOD_SET, attributes[i].attr_id);
        ck_assert_msg((status != FAB_E_DENIED) == attributes[i].repairs, "attribute 0x%04x: %d",
                      attributes[i].attr_id, status);
    }
    lab_close(&lab);
}
END_TEST

START_TEST(the_mode_is_stored)
{
    struct lab lab;
    struct sm_freeze_status s;
    char folder[] = "/tmp/test_freeze.XXXXXX", command[64];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    lab_open_virtual(&lab, lab_leaf_spine(4, 2, 2), folder);
    ck_assert_int_eq(mode_of(&lab), SM_NOT_FROZEN);
    freeze(&lab, SM_NO_WRITES);
    lab_stop(&lab);
    lab_begin(&lab, folder);
    sm_get_freeze(lab.sm, &s);
    ck_assert_int_eq(s.mode, SM_NO_WRITES);
    ck_assert_str_eq(s.by, "a test");
    ck_assert_str_eq(s.reason, "because");
    lab.sets = 0;
    sm_start(lab.sm);
    lab_run_for(&lab, 60);
    ck_assert_uint_eq(lab.sets, 0);
    sm_get_freeze(lab.sm, &s);
    ck_assert_uint_gt(s.writes, 0);
    ck_assert_uint_gt(s.blocks, 0);
    char why[200];
    ck_assert_int_eq(sm_freeze(lab.sm, SM_REPAIRS_ONLY, 0, "a test", "", why, sizeof(why)),
                     FAB_E_DENIED);
    /* another freeze must not make the manager forget that it withheld writes */
    freeze(&lab, SM_NO_WRITES);
    ck_assert_int_eq(sm_freeze(lab.sm, SM_REPAIRS_ONLY, 0, "a test", "", why, sizeof(why)),
                     FAB_E_DENIED);
    ck_assert_int_eq(sm_reroute(lab.sm, NULL, NULL), FAB_E_DENIED);
    ck_assert_int_eq(sm_resume(lab.sm, "a test"), FAB_OK);
    ck_assert_int_eq(sm_resume(lab.sm, "a test"), FAB_E_EXISTS);
    lab_run(&lab, 60, lab_is_ready, "the bring-up after the freeze");
    lab_assert_good(&lab);
    lab_stop(&lab);
    lab_begin(&lab, folder);
    ck_assert_int_eq(mode_of(&lab), SM_NOT_FROZEN);
    lab_close(&lab);
    snprintf(command, sizeof(command), "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("freeze");
    TCase *t = tcase_create("freeze");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, no_set_leaves);
    tcase_add_test(t, only_repairs_leave);
    tcase_add_test(t, the_mode_is_stored);
    suite_add_tcase(s, t);
    return test_run(s);
}
