/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Studies: requests whose answer needs a long computation. A separate thread computes them one
 * after the other, so that they never delay the work that the manager needs to repair the fabric.
 */
#ifndef FABRICD_RPC_STUDY_H
#define FABRICD_RPC_STUDY_H

#include <stdatomic.h>
#include <sys/queue.h>

#include "fabricd/rpc/server.h"

struct study_kind {
    /* On the worker thread: computes from the view and the study's own data, and checks
     * study_stopped often. A result other than OK, with a sentence in why[], ends the call. */
    void (*work)(struct study *s);
    /* On the loop thread, after work, if the caller still waits: answers. True: work again. */
    bool (*tell)(struct study *s);
    void (*free)(struct study *s); /* frees the kind's own data, and the study */
};
struct study { /* the first member of each kind's struct */
    LIST_ENTRY(study) entry;
    const struct study_kind *kind;
    struct call *call; /* used on the loop thread only; NULL: the caller is gone */
    struct fab_view *view;
    atomic_bool stop;
    enum fab_grpc_code code;
    char why[600];
};
/* Takes over the study, which the caller allocated with calloc and in which it filled only the
 * kind's own data. If the study cannot be queued, the call is finished with an error and the study
 * freed. */
void study_start(struct call *c, const struct fab_view *v, const struct study_kind *kind,
                 struct study *s);
bool study_stopped(void *study); /* for fab_quality_input */
/* Ends the study with the error of a status. */
void study_fail(struct study *s, int status, const char *what);
void studies_end(struct rpc *r); /* after all calls have ended */

#endif
