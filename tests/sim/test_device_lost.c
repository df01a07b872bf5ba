/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The manager loses its own port during a sweep, and gets it back (sm_device_lost and
 * sm_device_back). The loss comes at many different moments. In some runs, all switches are
 * restarted in the meantime.
 */
#include <stdlib.h>

#include "fabricd/sm/core/core.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/fault.h"
#include "tests/sim/lab.h"

static bool restarts, lost;

static void restart_all(struct lab *lab)
{
    const struct fab_fabric *f = fab_sim_fabric(lab->sim);
    for (uint32_t node = 0; node < f->node_count; node++)
        ck_assert_int_eq(fab_sim_power_off(lab->sim, node), FAB_OK);
    for (uint32_t node = 0; node < f->node_count; node++)
        ck_assert_int_eq(fab_sim_power_on(lab->sim, node, 0, 0), FAB_OK);
}

static void lose(struct lab *lab)
{
    lost = true;
    sm_device_lost(lab->sm, "a test");
    if (restarts)
        restart_all(lab);
}

static bool is_lost(struct lab *lab)
{
    (void)lab;
    return lost;
}

/* The manager is without its port. It must send no requests, and refuse those of its callers. Then
 * gives the port back. */
static void find_again(struct lab *lab)
{
    struct sm_status s;
    lab_run_for(lab, 5);
    sm_get_status(lab->sm, &s);
    ck_assert_str_eq(s.device_alarm, "a test");
    ck_assert_uint_eq(s.role, FAB_SM_NOT_ACTIVE);
    uint64_t sent = s.smps_sent;
    lab_run_for(lab, 1000);
    sm_get_status(lab->sm, &s);
    ck_assert_uint_eq(s.smps_sent, sent);
    ck_assert_int_eq(sm_reroute(lab->sm, NULL, NULL), FAB_E_DENIED);
    sm_device_back(lab->sm);
    sm_get_status(lab->sm, &s);
    ck_assert_str_eq(s.device_alarm, "");
}

/* In each of many heavy sweeps, the manager loses its port after another number of MADs (1, 14, 27,
 * ...), and gets it back. */
START_TEST(routes_again)
{
    struct lab lab;
    size_t len;
    restarts = _i == 1;
    lab_open_virtual(&lab, lab_leaf_spine(4, 2, 2), NULL);
    lab.interrupt = lose;
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_ready, "bring-up");
    uint8_t *before = lab_tables(&lab, &len);
    for (uint64_t after = 1; after < 160; after += 13) {
        lost = false;
        lab_forget_events(&lab);
        lab.interrupt_at = lab.sends + after;
        sm_request_heavy(lab.sm);
        sm_schedule(lab.sm);
        lab_run(&lab, 1000, is_lost, "the loss");
        find_again(&lab);
        lab_run(&lab, 60, lab_is_ready, "the return");
        ck_assert_uint_eq(lab_count_events(&lab, "link-flapping"), 0);
        lab_assert_good(&lab);
        lab_assert_same_tables(&lab, before, len, true);
    }
    free(before);
    lab_close(&lab);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("device-lost");
    TCase *t = tcase_create("device lost");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, routes_again, 0, 2);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
