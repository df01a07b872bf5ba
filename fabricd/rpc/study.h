/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Studies are calls that need a long computation. A separate worker thread runs studies one after
 * the other, so that they do not delay the manager's own worker tasks, such as repairs.
 */
#ifndef FABRICD_RPC_STUDY_H
#define FABRICD_RPC_STUDY_H

#include <stdatomic.h>
#include <sys/queue.h>

#include "fabricd/rpc/server.h"

struct study_kind {
    /* Computes the result, on the worker thread, from the view and the study's own data. It
     * often calls study_stopped. If it fails, it sets s->code to an error and s->why to a
     * sentence, which finish the call. */
    void (*work)(struct study *s);
    /* Sends the result, on the loop thread, after `work`; not called if the call has ended.
     * Returns true if `work` must run again. */
    bool (*tell)(struct study *s);
    /* frees the data of this kind of study, and the study */
    void (*free)(struct study *s);
};
/* base of all studies: the struct of each kind begins with this struct */
struct study {
    LIST_ENTRY(study) entry;
    const struct study_kind *kind;
    /* the call to answer; used on the loop thread only; NULL: the call has ended */
    struct call *call;
    struct fab_view *view;
    atomic_bool stop;
    enum fab_grpc_code code;
    char why[600];
};
/* Queues a study, and takes it over. The caller has allocated it with calloc, and set only the
 * data of this kind of study. v may be NULL, for a study that needs no view. If the study cannot be
 * queued, the function finishes the call with an error and frees the study. */
void study_start(struct call *c, const struct fab_view *v, const struct study_kind *kind,
                 struct study *s);
/* Returns true if the study must stop because its call or the server has ended. It can be used
 * as fab_quality_input.stopped. */
bool study_stopped(void *study);
/* Sets s->code and s->why for an error status. `what` is the first part of the sentence. */
void study_fail(struct study *s, int status, const char *what);
/* Frees all studies. Call this function after all calls have ended. */
void studies_end(struct rpc *r);

#endif
