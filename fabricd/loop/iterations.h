/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures how long the iterations of the loop take, and which work takes longest. The functions
 * that return the results are in loop.h. For this folder only. */
#ifndef FABRICD_LOOP_ITERATIONS_H
#define FABRICD_LOOP_ITERATIONS_H

#include "fabricd/loop/loop.h"

struct iterations {
    struct loop_iterations all;
    /* CPU time of the loop thread in ns when the iteration began */
    uint64_t begun_ns;
    /* CPU time of the loop thread in ns at the last call of loop_at */
    uint64_t marked_ns;
    /* name of the work that is running now, as passed to loop_at; NULL: not named yet */
    const char *at;
    /* CPU time in ns of the longest work in this iteration, and the name of this work */
    uint64_t longest_ns;
    const char *longest;
};

/*
 * Begins an iteration, after the wait for events. now_ns: CPU time of the thread.
 */
void iterations_begin(struct iterations *t, uint64_t now_ns);
void iterations_at(struct iterations *t, uint64_t now_ns, const char *what);
/* Ends the iteration. *ret_us is its CPU time in us. If the iteration took longer than 2 ms,
 * returns the name of the work that took longest in it; otherwise NULL. */
const char *iterations_end(struct iterations *t, uint64_t now_ns, uint64_t *ret_us);

#endif
