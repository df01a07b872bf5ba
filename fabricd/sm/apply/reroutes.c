/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The record of each reroute: a round that wrote tables although some stood already, or one that
 * was asked for. The last SM_REROUTES are kept in memory, in a ring; the store gets all of them.
 *
 * Times begin with the trap, or with the round where there was none.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "fabricd/base/clock.h"
#include "fabricd/sm/private.h"

void sm_cause_set(struct sm *s, const char *fmt, ...)
{
    va_list ap;
    if (s->want.cause[0])
        return;
    va_start(ap, fmt);
    vsnprintf(s->want.cause, sizeof(s->want.cause), fmt, ap);
    va_end(ap);
}

static void cause_of_compute(struct sm *s)
{
    s->run.follows = s->tune ? 0 : s->left_out;
    if (s->run.follows)
        snprintf(s->run.cause, sizeof(s->run.cause),
                 "follow-up of reroute %" PRIu64 ", which left ways between switches out",
                 s->run.follows);
    else
        snprintf(s->run.cause, sizeof(s->run.cause), "%s", s->tune ? "new settings" : "request");
}

/* What is known of why this round runs; else what it is. */
void sm_cause_take(struct sm *s)
{
    enum sm_round_kind kind = s->run.kind;
    const char *cause = s->want.cause;
    if (kind == SM_ROUND_REROUTE) {
        cause_of_compute(s);
        return;
    }
    if (!cause[0])
        cause = kind == SM_ROUND_TARGETED ? "another look at what did not answer" : "sweep";
    snprintf(s->run.cause, sizeof(s->run.cause), "%s", cause);
    s->want.cause[0] = 0;
}

/* The look begins again: for the same cause. */
void sm_cause_keep(struct sm *s)
{
    snprintf(s->want.cause, sizeof(s->want.cause), "%s", s->run.cause);
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
    if (!s->reroutes)
        s->reroutes = calloc(SM_REROUTES, sizeof(*s->reroutes));
    return s->reroutes ? &s->reroutes[s->reroute_count++ % SM_REROUTES] : NULL;
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
    const struct sm_programming *p = &s->program;
    const struct sm_run *run = &s->run;
    bool asked = run->kind == SM_ROUND_REROUTE && run->computed;
    struct reroute *r = p->blocks || asked ? next_place(s) : NULL;
    if (!r)
        return;
    uint64_t from = run->trap_us ? run->trap_us : run->started_us;
    *r = run->changed;
    r->generation = s->generation;
    r->time_us = clock_unix_us() - (int64_t)after(from, clock_now_us());
    snprintf(r->cause, sizeof(r->cause), "%s", run->cause);
    snprintf(r->engine, sizeof(r->engine), "%s", s->model.target->engine);
    r->known_us = after(from, run->known_us);
    r->computed_us = after(from, run->computed_us);
    r->proved_us = after(from, run->proved_us);
    r->first_write_us = p->blocks ? after(from, p->first_write_us) : 0;
    r->last_write_us = p->blocks ? after(from, p->last_write_us) : 0;
    if (p->blocks && !run->follows && run->kind != SM_ROUND_REBALANCE)
        note_time(&s->reroute_times, r->last_write_us);
    r->entries = p->entries;
    r->blocks = p->blocks;
    r->switches = p->switches;
    r->failed = p->failed;
    if (s->in.store)
        store_put_reroute(s->in.store, r);
}

uint32_t sm_reroutes(const struct sm *s, uint64_t before, struct reroute *ret, uint32_t max)
{
    uint64_t kept = s->reroute_count < SM_REROUTES ? s->reroute_count : SM_REROUTES;
    uint32_t count = 0;
    for (uint64_t back = 1; back <= kept && count < max; back++) {
        const struct reroute *r = &s->reroutes[(s->reroute_count - back) % SM_REROUTES];
        if (!before || r->generation < before)
            ret[count++] = *r;
    }
    return count;
}
