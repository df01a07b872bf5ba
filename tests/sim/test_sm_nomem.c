/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lets an allocation of the loop thread fail during a bring-up, a local repair or a change of
 * mastership. The manager accepts a hand-over, hands over itself, or takes over from a master that
 * died. It must go on, must become master (or hand over) in the end, and must leave correct tables
 * in the switches. In virtual time, the work of worker threads is done on the loop thread, too.
 *
 * In each run, one allocation fails. It is one of those in the SECONDS of virtual time after the
 * next MAD from or to the manager. Allocations of the library Check do not count, because the test
 * itself must not fail.
 */
#include <pthread.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/smstate/smstate.h"
#include "tests/sim/lab.h"
#include "tests/unit/failing_alloc.h"

#define SECONDS 3.0

void *__wrap_reallocarray(void *old, size_t count, size_t size);
void __real__mark_point(const char *file, int line);
void __wrap__mark_point(const char *file, int line);

static pthread_t loop_thread;
/* armed: allocations of the loop thread count. waits: `armed` will be set at the next MAD. */
static bool armed, waits;

static bool counts(void)
{
    return armed && pthread_equal(pthread_self(), loop_thread);
}

void *__wrap_reallocarray(void *old, size_t count, size_t size)
{
    return __wrap_realloc(old, count * size);
}

/* Check calls this function at each assertion, and allocates memory in it. */
void __wrap__mark_point(const char *file, int line)
{
    bool was = armed;
    armed = false;
    __real__mark_point(file, line);
    armed = was;
}

static void arm_at_mad(struct lab *lab, const struct fab_mad *head, const uint8_t *data,
                       uint16_t dlid, bool sent)
{
    (void)lab, (void)head, (void)data, (void)dlid, (void)sent;
    armed |= waits;
    waits = false;
}

/* Runs the manager while allocation number alloc_fail_at fails. */
static void run_failing(struct lab *lab)
{
    lab->watch = arm_at_mad;
    waits = true;
    lab_run_for(lab, SECONDS);
    armed = waits = false;
}

#define OTHER "host-0005"

static void open_beside(struct lab *lab, uint8_t priority, uint8_t state)
{
    lab_open_virtual(lab, lab_leaf_spine(3, 2, 2), NULL);
    lab->config.policy.sm_priority = 5;
    lab_stop(lab);
    lab_play_other(lab, OTHER, priority, state);
    lab_begin(lab, NULL);
    sm_start(lab->sm);
}

/* The other manager, which is master, sends HANDOVER and goes to standby. */
static void send_handover(struct lab *lab)
{
    struct fab_sm_info from = lab->other;
    struct fab_mad head = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                           .method = FAB_METHOD_SET,
                           .tid = 11,
                           .attr_id = FAB_ATTR_SM_INFO,
                           .attr_mod = FAB_SM_HANDOVER,
                           .path = lab_path_from(lab, OTHER)};
    uint8_t data[FAB_SMP_DATA] = {0};
    from.state = FAB_SM_MASTER;
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_sm_info, &from, data, sizeof data), FAB_OK);
    lab->other.state = FAB_SM_STANDBY;
    lab->other.priority = 0;
    lab_send(lab, OTHER, &head, data);
}

static void assert_master(struct lab *lab)
{
    lab_run(lab, 60, lab_is_idle, "bring-up");
    ck_assert_uint_eq(lab_role(lab), FAB_SM_MASTER);
    lab_assert_good(lab);
}

static void bring_up(struct lab *lab)
{
    lab_open_virtual(lab, lab_leaf_spine(3, 2, 2), NULL);
    sm_start(lab->sm);
    run_failing(lab);
    assert_master(lab);
}

/* A link fails, an allocation fails during the repair, and the link comes back. */
static void repair(struct lab *lab)
{
    lab_open_virtual(lab, lab_leaf_spine(3, 2, 2), NULL);
    sm_start(lab->sm);
    lab_run(lab, 10, lab_is_ready, "bring-up");
    lab_unlink(lab, "leaf-002", 3);
    run_failing(lab);
    lab_run_for(lab, 20);
    lab_run(lab, 60, lab_is_ready, "the repair");
    lab_assert_good(lab);
    lab_relink(lab, "leaf-002", 3);
    lab_run_for(lab, 1);
    lab_run(lab, 60, lab_is_idle, "the return of the link");
    lab_assert_good(lab);
}

static void accept_role(struct lab *lab)
{
    open_beside(lab, 15, FAB_SM_MASTER);
    lab_run(lab, 10, lab_is_standby, "standby");
    send_handover(lab);
    run_failing(lab);
    /* the HANDOVER got no answer, so the other manager sends it once more */
    if (lab_is_standby(lab))
        send_handover(lab);
    assert_master(lab);
}

static void give_role(struct lab *lab)
{
    open_beside(lab, 3, FAB_SM_STANDBY);
    lab_run(lab, 10, lab_is_idle, "bring-up");
    lab->other.priority = 9;
    lab->other_accepts = true;
    run_failing(lab);
    lab_run(lab, 60, lab_is_standby, "handing over");
    lab_assert_good(lab);
}

static void take_over(struct lab *lab)
{
    open_beside(lab, 15, FAB_SM_MASTER);
    lab_run(lab, 10, lab_is_standby, "standby");
    lab_end_other(lab);
    run_failing(lab);
    assert_master(lab);
}

START_TEST(each_allocation_may_fail)
{
    static void (*const scenarios[])(struct lab * lab) = {bring_up, repair, accept_role, give_role,
                                                          take_over};
    bool more = true;
    loop_thread = pthread_self();
    alloc_counts = counts;
    for (alloc_fail_at = 0; more; alloc_fail_at++) {
        struct lab lab;
        alloc_calls = 0;
        scenarios[_i](&lab);
        more = alloc_calls > alloc_fail_at;
        lab_close(&lab);
    }
    ck_assert_uint_gt(alloc_fail_at, 300); /* enough allocations must have been tried */
}
END_TEST

/* a fabric without a manager */
static struct lab idle;

/* Creates and frees a manager. */
static int create(void)
{
    struct sm *sm = NULL;
    const struct sm_input in = {.loop = idle.loop,
                                .transport = idle.sim_transport,
                                .bus = idle.bus,
                                .config = &idle.config};
    armed = true;
    int r = sm_new(&in, &sm);
    armed = false;
    if (r == FAB_OK)
        sm_free(sm);
    return r;
}

/* If an allocation fails, sm_new() must return NOMEM, and must free everything (which the sanitizer
 * checks). */
START_TEST(a_manager_is_created_whole_or_not_at_all)
{
    loop_thread = pthread_self();
    alloc_counts = counts;
    lab_open_virtual(&idle, lab_leaf_spine(3, 2, 2), NULL);
    sm_free(idle.sm);
    idle.sm = NULL;
    ck_assert_uint_gt(fail_each_allocation(create, FAB_E_NOMEM), 30);
    lab_close(&idle);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("the manager without memory");
    TCase *t = tcase_create("allocations");
    tcase_set_timeout(t, 600);
    tcase_add_loop_test(t, each_allocation_may_fail, 0, 5);
    tcase_add_test(t, a_manager_is_created_whole_or_not_at_all);
    suite_add_tcase(s, t);
    return test_run(s);
}
