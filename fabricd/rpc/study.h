/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Studies: questions whose answer takes a computation of its own. They are done one after the other
 * on a thread that nothing else waits for: what the manager needs to repair the fabric never stands
 * behind them.
 */
#ifndef FABRICD_RPC_STUDY_H
#define FABRICD_RPC_STUDY_H

#include <stdatomic.h>
#include <sys/queue.h>

#include "fabricd/rpc/server.h"

struct study_kind {
    /* On the worker: computes, from the view and what the study keeps. Asks study_stopped often. A
     * code other than OK, with a sentence in why[], ends the call. */
    void (*work)(struct study *s);
    /* On the loop, when work is done and somebody still waits: answers. True: work again. */
    bool (*tell)(struct study *s);
    void (*free)(struct study *s); /* what the kind keeps, and the study itself */
};
struct study { /* embedded at the start of each kind's own */
    LIST_ENTRY(study) entry;
    const struct study_kind *kind;
    struct call *call; /* loop only; NULL: nobody waits any more */
    struct fab_view *view;
    atomic_bool stop;
    enum fab_grpc_code code;
    char why[600];
};
/* Takes over the study (allocated with calloc, in which only the kind's own part is filled). Where
 * it cannot be begun the call is finished with an error and the study freed. */
void study_start(struct call *c, const struct fab_view *v, const struct study_kind *kind,
                 struct study *s);
bool study_stopped(void *study); /* for fab_quality_input */
/* Ends it with what a status says. */
void study_fail(struct study *s, int status, const char *what);
void studies_end(struct rpc *r); /* calls are gone by then */

#endif
