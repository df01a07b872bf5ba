/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps records of reroutes. A reroute is a round that wrote LFT blocks, or a round without a sweep
 * in which an engine computed all tables anew (requested by an operator, after new settings, or as
 * a refinement). A ring in memory keeps the last SM_REROUTES records; the store keeps more
 * (store_put_reroute).
 *
 * Times in a record are relative to the trap that caused the reroute, or to the start of the round
 * if no trap caused it.
 *
 * After several faults near the root of the up/down order, a local repair may have to leave out
 * paths from and to switches. Hosts do not use these paths, but traps of some switches may not
 * reach the manager. A second reroute, the refinement, adds the paths. With 11,664 hosts,
 * planning the refinement takes 1 to 3 s, and a further fault interrupts it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "fabricd/base/clock.h"
#include "fabricd/sm/apply/state.h"

void sm_reroute_begun(struct sm *s)
{
    s->run.follows = s->apply->tune ? 0 : s->apply->left_out;
    if (s->run.follows)
        snprintf(s->run.cause, sizeof(s->run.cause),
                 "refinement of reroute %" PRIu64 ", which left out paths between switches",
                 s->run.follows);
    else
        snprintf(s->run.cause, sizeof(s->run.cause), "%s",
                 s->apply->tune ? "new settings" : "request");
}

void sm_reroute_repaired(struct sm *s, bool lost)
{
    if (lost)
        s->apply->left_out = s->apply->generation;
    if (s->apply->left_out > 0)
        sm_request(s, SM_REQUEST_REROUTE);
}

static void count_changes(const struct fab_change *changes, size_t count, struct reroute *r)
{
    for (size_t i = 0; i < count; i++) {
        r->nodes_gained += changes[i].kind == FAB_CHANGE_NODE_ADDED;
        r->nodes_lost += changes[i].kind == FAB_CHANGE_NODE_REMOVED;
        r->links_gained += changes[i].kind == FAB_CHANGE_LINK_ADDED;
        r->links_lost += changes[i].kind == FAB_CHANGE_LINK_REMOVED;
    }
}

void sm_reroute_changes(struct sm *s, const struct fab_change *changes, size_t count)
{
    s->run.changed = (struct reroute){0};
    count_changes(changes, count, &s->run.changed);
}

static uint64_t after(uint64_t from, uint64_t at)
{
    return at > from ? at - from : 0;
}

static struct reroute *next_place(struct sm *s)
{
    if (!s->apply->reroutes)
        s->apply->reroutes = calloc(SM_REROUTES, sizeof(*s->apply->reroutes));
    return s->apply->reroutes ? &s->apply->reroutes[s->apply->reroute_count++ % SM_REROUTES] : NULL;
}

const uint32_t sm_reroute_bounds_us[SM_REROUTE_BOUNDS] = {
    500,    1000,   2000,   5000,    10000,   20000,   50000,
    100000, 200000, 500000, 1000000, 2000000, 5000000, 10000000,
};

static void note_time(struct sm_reroute_times *t, uint64_t us)
{
    int i = 0;
    while (i < SM_REROUTE_BOUNDS && us > sm_reroute_bounds_us[i])
        i++;
    if (i < SM_REROUTE_BOUNDS)
        t->within[i]++;
    t->count++;
    t->sum_us += us;
}

void sm_reroute_record(struct sm *s)
{
    const struct sm_programming *p = &s->apply->program;
    const struct sm_run *run = &s->run;
    bool asked = run->round->engine == SM_ENGINE_ANEW && run->computed;
    struct reroute *r = p->blocks || asked ? next_place(s) : NULL;
    if (!r)
        return;
    uint64_t from = run->trap_us ? run->trap_us : run->started_us;
    *r = run->changed;
    r->generation = s->apply->generation;
    r->time_us = clock_unix_us() - (int64_t)after(from, clock_now_us());
    snprintf(r->cause, sizeof(r->cause), "%s", run->cause);
    snprintf(r->engine, sizeof(r->engine), "%s", s->model.target->engine);
    r->known_us = after(from, run->known_us);
    r->computed_us = after(from, run->computed_us);
    r->proved_us = after(from, run->proved_us);
    r->first_write_us = p->blocks ? after(from, p->first_write_us) : 0;
    r->last_write_us = p->blocks ? after(from, p->last_write_us) : 0;
    if (p->blocks && !run->follows && run->round->engine != SM_ENGINE_IF_BETTER)
        note_time(&s->apply->reroute_times, r->last_write_us);
    r->entries = p->entries;
    r->blocks = p->blocks;
    r->switches = p->switches;
    r->failed = p->failed;
    r->lost_pairs = p->lossy_us ? p->lost_pairs : 0;
    r->lost_us = p->lost_us;
    if (s->in.store)
        store_put_reroute(s->in.store, r);
}

uint32_t sm_reroutes(const struct sm *s, uint64_t before, struct reroute *ret, uint32_t max)
{
    uint64_t kept = s->apply->reroute_count < SM_REROUTES ? s->apply->reroute_count : SM_REROUTES;
    uint32_t count = 0;
    for (uint64_t back = 1; back <= kept && count < max; back++) {
        const struct reroute *r =
            &s->apply->reroutes[(s->apply->reroute_count - back) % SM_REROUTES];
        if (!before || r->generation < before)
            ret[count++] = *r;
    }
    return count;
}

/* Returns the measured rate of LFT writes in blocks per second; 0: not known. It is computed from
 * all reroutes in memory: the number of blocks that they wrote, divided by their times between
 * first and last write. Reroutes with failed writes or fewer than 8 blocks are left out. */
uint32_t sm_table_write_rate(const struct sm *s)
{
    uint64_t blocks = 0, us = 0;
    for (uint64_t i = 0; i < s->apply->reroute_count && i < SM_REROUTES; i++) {
        const struct reroute *r = &s->apply->reroutes[i];
        if (r->blocks < 8 || r->failed || r->last_write_us <= r->first_write_us)
            continue;
        blocks += r->blocks;
        us += r->last_write_us - r->first_write_us;
    }
    uint64_t rate = us > 0 ? blocks * 1000000 / us : 0;
    return rate < UINT32_MAX ? (uint32_t)rate : UINT32_MAX;
}
