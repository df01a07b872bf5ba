/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Studies are calls that need a long computation. A separate worker thread runs one study after the
 * other, so that studies do not delay the manager's worker tasks, such as repairs.
 *
 * Every client (a Unix user, or the subject of a certificate) has its own queue. The next study to
 * run is from the client whose last turn was longest ago. A study that sends its result in parts
 * computes one part in each turn. limits.h has the limits of the queues and of the CPU time.
 */
#ifndef FABRICD_RPC_STUDY_H
#define FABRICD_RPC_STUDY_H

#include <stdatomic.h>
#include <sys/queue.h>

#include "fabricd/rpc/server.h"

struct study;

struct study_kind {
    /* Computes the result on the worker thread, from the view and the study's own data. Must call
     * study_stopped often. On failure, sets s->code to an error and s->why to a sentence; the call
     * is then finished with both. */
    void (*work)(struct study *s);
    /* Sends the result on the loop thread, after `work`. Not called if the client's call has ended.
     * Returns true if `work` must run again for the next part of the result. */
    bool (*tell)(struct study *s);
    /* frees the study, and the data that studies of this kind have besides `struct study` */
    void (*free)(struct study *s);
    /* For the error message: what a client can request so that the study needs less CPU time, such
     * as "fewer samples". NULL: nothing; the CPU time of this kind of study then has no limit. */
    const char *less;
};
/* base of all studies: the struct of each kind begins with this struct */
struct study {
    TAILQ_ENTRY(study) entry;
    const struct study_kind *kind;
    /* the call to answer; used on the loop thread only; NULL: the call has ended */
    struct call *call;
    struct studies *all;
    struct study_client *client;
    struct fab_view *view;
    atomic_bool stop;
    /* Only for the worker thread. `cpu_end`: value of clock_cpu_ns at which this part of the study
     * has used up its CPU time; 0: no limit. `over` is true if the CPU time is used up. */
    uint64_t cpu_end;
    bool over;
    enum fab_grpc_code code;
    char why[600];
    /* the name of a node or endport that `work` did not find; "": `work` found all names */
    char missing[256];
};

/* The studies of one client. */
struct study_client {
    struct caller *who; /* NULL: the record is free */
    unsigned count;     /* number of studies that are queued or running */
    unsigned queued;
    /* Number of the client's last turn. When a client without studies queues one, it gets the next
     * number, as if it had just had a turn, so that it waits behind the other clients. */
    uint64_t turn;
};
/* Returns the index of the client whose study runs next: among the clients with a queued study, the
 * client with the lowest `turn`. Returns `count` if no study is queued. */
size_t study_next(const struct study_client *clients, size_t count);

int studies_new(struct rpc *r, struct studies **ret); /* returns NOMEM */
/* Frees all studies. Call this function after all calls have ended. `all` may be NULL. */
void studies_free(struct studies *all);

/* Queues a study, and takes it over. The caller has allocated the study with calloc, and has set
 * only the data of this kind of study. `v` may be NULL if the study needs no view. If the study
 * cannot be queued, the function finishes the call with an error and frees the study. */
void study_start(struct call *c, const struct fab_view *v, const struct study_kind *kind,
                 struct study *s);
/* Returns true if the study must stop because its call or the server has ended, or because its CPU
 * time is used up. For the worker thread. The function can serve as fab_quality_input.stopped. */
bool study_stopped(void *study);
/* Sets s->code and s->why for an error status. `what` is the first part of the sentence. */
void study_fail(struct study *s, int status, const char *what);

#endif
