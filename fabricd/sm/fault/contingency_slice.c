/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One slice of the computation of contingencies. It runs on a worker thread and takes about
 * SLICE_US of processor time. It ends earlier after SLICE_CASES cases, if nothing is left to
 * compute, or if the loop thread needs the processor for a fault. In virtual time, the processor
 * time does not count.
 */
#include "fabricd/sm/fault/contingency_slice.h"

#include <sched.h>
#include <stdlib.h>

#include "fabricd/base/clock.h"
#include "libfabmgr/base/status.h"

#define SLICE_US 4000u

static void make_one(struct sm_contingency_job *j)
{
    const struct fab_repair_stored_plan *plan = j->earlier[j->cases];
    uint32_t row = fab_repair_contingency_peek(j->maker, 0);
    j->status = plan ? fab_repair_contingency_recheck(j->maker, plan, j->valid_at[j->cases])
                     : FAB_E_NOT_FOUND;
    if (j->status == FAB_OK) {
        j->confirmed[j->confirms++] = row;
    } else {
        j->status = fab_repair_contingency_next(j->maker, j->keep, &j->made[j->count]);
        j->count += j->status == FAB_OK;
    }
    j->cases += j->status == FAB_OK;
}

static bool slice_is_over(const struct sm_contingency_job *j, uint64_t start_ns)
{
    return j->status != FAB_OK || __atomic_load_n(&j->stop, __ATOMIC_RELAXED) != 0 ||
           (j->timed && clock_cpu_ns() - start_ns >= SLICE_US * UINT64_C(1000));
}

void sm_contingency_work(void *ctx, struct loop_task *task)
{
    struct sm_contingency_job *j = ctx;
    uint64_t start_ns = clock_cpu_ns();
    (void)task;
    if (j->later) {
        j->status = fab_repair_contingency_follow(j->maker, j->later, &j->tables);
        j->strays = j->status == FAB_E_INVAL;
        j->later = NULL;
    }
    for (unsigned i = 0; i < SLICE_CASES && !slice_is_over(j, start_ns); i++) {
        if (!fab_repair_contingency_prepare(j->maker))
            make_one(j);
        /* Lets the loop thread run, which may have to handle a fault. */
        (void)sched_yield();
    }
    if (j->status == FAB_E_BUSY)
        j->status = FAB_OK;
    j->cpu_ns = clock_cpu_ns() - start_ns;
}

void sm_contingency_job_free(struct sm_contingency_job *j)
{
    for (uint32_t i = 0; i < j->count; i++)
        fab_repair_stored_plan_unref(j->made[i].plan);
    for (uint32_t i = 0; i < SLICE_CASES; i++)
        fab_repair_stored_plan_unref(j->earlier[i]);
    fab_repair_contingency_end(j->maker);
    fab_repair_free(j->later);
    fab_target_lft_fini(&j->tables);
    free(j);
}
