/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures the iterations of the event loop. An iteration handles all events that are ready; later
 * events wait until it ends. Durations are CPU time of the loop thread, so that other processes do
 * not count.
 *
 * loop_at names the work that begins within an iteration. This file keeps the longest time for each
 * name. When the table of names is full, further names are counted as "other".
 */
#include "fabricd/loop/iterations.h"

#include <string.h>

#define LONG_US 2000 /* iterations longer than this are logged */

const uint32_t loop_iteration_bounds_us[LOOP_ITERATION_BOUNDS] = {
    100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000};

void iterations_begin(struct iterations *t, uint64_t now_ns)
{
    t->begun_ns = t->marked_ns = now_ns;
    t->at = NULL;
    t->longest_ns = 0;
    t->longest = NULL;
}

static struct loop_held *held_by(struct loop_iterations *all, const char *what)
{
    for (uint32_t i = 0; i < all->names; i++)
        if (all->held[i].what == what || strcmp(all->held[i].what, what) == 0)
            return &all->held[i];
    if (all->names + 1 < LOOP_ITERATION_NAMES) {
        all->held[all->names].what = what;
        return &all->held[all->names++];
    }
    all->names = LOOP_ITERATION_NAMES;
    all->held[LOOP_ITERATION_NAMES - 1].what = "other";
    return &all->held[LOOP_ITERATION_NAMES - 1];
}

static void close_mark(struct iterations *t, uint64_t now_ns)
{
    uint64_t ns = now_ns - t->marked_ns;
    const char *what = t->at ? t->at : "other";
    struct loop_held *h = held_by(&t->all, what);
    h->times++;
    if (ns / 1000 > h->longest_us)
        h->longest_us = ns / 1000;
    if (ns > t->longest_ns) {
        t->longest_ns = ns;
        t->longest = what;
    }
}

void iterations_at(struct iterations *t, uint64_t now_ns, const char *what)
{
    close_mark(t, now_ns);
    t->at = what;
    t->marked_ns = now_ns;
}

const char *iterations_end(struct iterations *t, uint64_t now_ns, uint64_t *ret_us)
{
    uint64_t us = (now_ns - t->begun_ns) / 1000;
    int i = 0;
    close_mark(t, now_ns);
    while (i < LOOP_ITERATION_BOUNDS && us > loop_iteration_bounds_us[i])
        i++;
    if (i < LOOP_ITERATION_BOUNDS)
        t->all.within[i]++;
    t->all.count++;
    t->all.sum_us += us;
    if (us > t->all.longest_us) {
        t->all.longest_us = us;
        t->all.longest_what = t->longest;
    }
    *ret_us = us;
    return us > LONG_US ? t->longest : NULL;
}
