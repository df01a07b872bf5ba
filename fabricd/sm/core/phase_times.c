/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures how long each phase of each kind of round takes: in the manager's time, in CPU time of
 * the loop thread, and in CPU time of the worker task. The metrics show the sums.
 */
#include "fabricd/base/clock.h"
#include "fabricd/sm/core/state.h"

void sm_phase_time_begin(struct sm *s)
{
    struct sm_core *c = s->core;
    c->phase_began_us = clock_now_us();
    c->phase_began_ns = clock_cpu_ns();
    c->phase_worker_ns = 0;
}

void sm_phase_time_worker(struct sm *s, uint64_t cpu_ns)
{
    s->core->phase_worker_ns += cpu_ns;
}

void sm_phase_time_end(struct sm *s)
{
    struct sm_core *c = s->core;
    const struct sm_phase *phase = sm_run_phase(s);
    size_t number = phase ? (size_t)(c->phases - s->run.round->phases) : SM_PHASES_A_ROUND;
    if (number >= SM_PHASES_A_ROUND)
        return;
    struct sm_phase_time *t = &c->phase_times[s->run.round - s->wiring->rounds][number];
    uint64_t us = clock_now_us() - c->phase_began_us;
    t->round = s->run.round->name;
    t->phase = phase->name;
    t->count++;
    t->wall_us += us;
    if (us > t->longest_us)
        t->longest_us = us;
    t->loop_ns += clock_cpu_ns() - c->phase_began_ns;
    t->worker_ns += c->phase_worker_ns;
}

uint32_t sm_phase_times(const struct sm *s, struct sm_phase_time ret[SM_PHASE_TIMES_MAX])
{
    uint32_t count = 0;
    _Static_assert(SM_ROUND_KINDS * SM_PHASES_A_ROUND <= SM_PHASE_TIMES_MAX + SM_PHASES_A_ROUND,
                   "room for all phases; SM_ROUND_NONE has none");
    for (int kind = 0; kind < SM_ROUND_KINDS; kind++)
        for (int i = 0; i < SM_PHASES_A_ROUND; i++)
            if (s->core->phase_times[kind][i].count > 0)
                ret[count++] = s->core->phase_times[kind][i];
    return count;
}
