/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures how long the iterations of the loop take, and which work takes longest. For this folder
 * only; loop.h has the public results. */
#ifndef FABRICD_LOOP_ITERATIONS_H
#define FABRICD_LOOP_ITERATIONS_H

#include "fabricd/loop/loop.h"

struct iterations {
    struct loop_iterations all;
    uint64_t begun_ns;   /* CPU time of this thread when the iteration began */
    uint64_t marked_ns;  /* CPU time when the current work began */
    const char *at;      /* name of the current work; NULL: not named yet */
    uint64_t longest_ns; /* longest work of this iteration, and its name */
    const char *longest;
};

/* Begins an iteration. now_ns: CPU time of the thread, which excludes waiting for events. */
void iterations_begin(struct iterations *t, uint64_t now_ns);
void iterations_at(struct iterations *t, uint64_t now_ns, const char *what);
/* Ends the iteration. If it was long, returns the name of the work that took longest, else NULL. */
const char *iterations_end(struct iterations *t, uint64_t now_ns, uint64_t *ret_us);

#endif
