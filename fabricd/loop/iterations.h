/* SPDX-License-Identifier: BSD-3-Clause */
/* How long the iterations of the loop are, and what makes them long. For this folder only; the
 * values are public (loop.h). */
#ifndef FABRICD_LOOP_ITERATIONS_H
#define FABRICD_LOOP_ITERATIONS_H

#include "fabricd/loop/loop.h"

struct iterations {
    struct loop_iterations all;
    uint64_t begun_ns;   /* processor time of this thread when the iteration began */
    uint64_t marked_ns;  /* and when `at` did */
    const char *at;      /* what is being done; NULL: the iteration has just begun */
    uint64_t longest_ns; /* of this iteration, and what took it */
    const char *longest;
};

/* now_ns: processor time of the thread, in which waiting for events does not count. */
void iterations_begin(struct iterations *t, uint64_t now_ns);
void iterations_at(struct iterations *t, uint64_t now_ns, const char *what);
/* The iteration is over. Returns what took longest in it if it was a long one, else NULL. */
const char *iterations_end(struct iterations *t, uint64_t now_ns, uint64_t *ret_us);

#endif
