/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports the contingencies to operators. Ids of nodes and ports in a report are those of the
 * present snapshot. */
#include "fabricd/sm/apply/apply.h"
#include "fabricd/sm/fault/state.h"

/* rate of LFT writes, in blocks per second, that is assumed before reroutes have shown the real
 * rate */
#define WRITE_RATE 25000

/* Returns what the computation of the missing plans is waiting for, as a phrase; "": it is
 * running, pauses between two slices, or begins soon. */
static const char *waits_for(const struct sm *s)
{
    const struct sm_contingency_state *a = &s->fault->contingency;
    if (sm_run_busy(s))
        return "the end of a sweep or repair";
    if (sm_reproof_runs(s))
        return "the background proof";
    if (a->task == NULL && !loop_timer_pending(a->timer))
        return "memory";
    return "";
}

void sm_get_contingencies(const struct sm *s, struct sm_contingencies *ret)
{
    const struct sm_contingency_state *a = &s->fault->contingency;
    uint32_t rate = sm_table_write_rate(s);
    *ret = (struct sm_contingencies){
        .budget = (size_t)s->in.config->contingency_mb << 20,
        .rate = rate > 0 ? rate : WRITE_RATE,
        .rate_measured = rate > 0,
        .percent = s->in.config->contingency_cpu,
        .cpu_us = a->cpu_ns / 1000,
        .waits_for = "",
    };
    if (!sm_repair_ready(s) ||
        !fab_repair_contingencies_valid(&a->all, sm_repair_session_of(s)->state))
        return;
    bool follows = fab_repair_contingencies_follows(&a->all, sm_repair_session_of(s)->state);
    ret->all = &a->all;
    ret->cases = (uint32_t)a->all.cases;
    ret->current = follows ? (uint32_t)a->all.current : 0;
    ret->kept = follows ? a->kept : 0;
    ret->load = a->load;
    ret->under_way = !follows || !a->complete;
    ret->waits_for = ret->under_way ? waits_for(s) : "";
    ret->working = a->maker ? fab_repair_contingency_memory(a->maker) : 0;
}

/* The repair session and the present snapshot have different port ids. Returns the id in the
 * snapshot for `port`, an id in the session. */
static uint32_t port_now(const struct sm *s, uint32_t port)
{
    const struct fab_repair_session *t = sm_repair_session_of(s);
    return port != FAB_NONE
               ? fab_repair_idmap_to_current(&t->idmap, t->baseline, s->model.fabric, port)
               : FAB_NONE;
}

void sm_contingency_row(const struct sm *s, const struct fab_repair_contingency *row,
                        struct fab_repair_contingency *ret)
{
    *ret = *row;
    ret->busiest = port_now(s, row->busiest);
    ret->id =
        row->is_switch ? sm_repair_session_of(s)->idmap.to_current[row->id] : port_now(s, row->id);
    ret->peer = port_now(s, row->peer);
}

const struct fab_repair_contingency *sm_contingency_of(const struct sm *s, bool is_switch,
                                                       uint32_t id)
{
    const struct fab_repair_session *t = sm_repair_session_of(s);
    struct sm_contingencies all;
    sm_get_contingencies(s, &all);
    if (!all.all || (is_switch && id >= s->model.fabric->switch_count))
        return NULL;
    return is_switch ? fab_repair_contingencies_switch(all.all, t->idmap.to_baseline[id])
                     : fab_repair_contingencies_link(
                           all.all, fab_repair_session_port(t, s->model.fabric, id));
}
