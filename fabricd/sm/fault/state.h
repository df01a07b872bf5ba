/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of fabricd/sm/fault. For this folder only. */
#ifndef FABRICD_SM_FAULT_STATE_H
#define FABRICD_SM_FAULT_STATE_H

#include "fabricd/sm/apply/apply.h"
#include "fabricd/sm/fault/fault.h"
#include "libfabmgr/repair/contingency/contingency.h"

struct sm_probe {         /* result of a port probe */
    struct sm_link *link; /* ISLs that failed or are to be isolated, each once */
    uint32_t count;
    uint32_t held;                /* ports of held-down links whose state changed */
    struct sm_guids unresponsive; /* switches that did not answer, or to which no route is known */
    bool more;                    /* there were other changes: a targeted sweep must follow */
};
struct sm_contingency_state { /* contingency.c */
    struct fab_repair_contingencies
        all; /* the contingencies of the active tables; all.network is NULL if there are none */
    struct fab_repair_contingency_maker *maker; /* computes the remaining contingencies; NULL: there
                                                   are none, or the worker has the maker */
    struct loop_task *task;                     /* the task on the worker, or NULL */
    struct loop_timer *timer;
    uint32_t cases;
    uint64_t load; /* number of endport pairs whose paths use the most loaded channel of the active
                      tables */
};
struct sm_fault {
    struct loop_tasks tasks;
    uint32_t next_suspect, next_port; /* position of the running probe */
    struct sm_probe probe;
    struct sm_guids unchecked; /* probed nodes that a targeted sweep must check */
    struct loop_timer *check_timer;
    struct sm_contingency_state contingency;
    void (*on_patch)(void *ctx); /* the listener of sm_on_patch, or NULL */
    void *on_patch_ctx;
};

/* port_probe.c */
int sm_probe_add(struct sm_probe *p, const struct sm_link *link); /* NOMEM */
void sm_probe_fini(struct sm_probe *p);

/* contingency.c */
int sm_contingency_init(struct sm *s); /* NOMEM */
void sm_contingency_fini(struct sm *s);
/* Finds the repair for exactly these failed links (port ids of the repair state). NOT_FOUND: none
 * was computed. NOMEM. */
int sm_contingency_find(struct sm *s, const uint32_t *failed, size_t count,
                        struct fab_repair_delta *ret);

#endif
