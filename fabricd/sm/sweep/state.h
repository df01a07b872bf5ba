/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of fabricd/sm/sweep. For this folder only. */
#ifndef FABRICD_SM_SWEEP_STATE_H
#define FABRICD_SM_SWEEP_STATE_H

#include "fabricd/sm/sweep/sweep.h"

struct sm_background { /* background_sweep.c */
    struct sm *s;
    struct fab_discover *discover; /* the pass that runs, or NULL */
    struct loop_task *task;        /* between two passes, or NULL */
    struct fab_fabric *fabric;     /* what was found; with discover: what that starts from */
    uint32_t outstanding, passes;
    uint64_t *touched; /* GUIDs of nodes that changed since the pass began */
    uint64_t *asked;   /* of those that the pass looks at */
    uint32_t touched_count, asked_count;
    struct fab_unresponsive *unresponsive;
    uint32_t unresponsive_count;
    uint64_t started_us, sent_before;
    struct loop_timer *timer;
};
struct sm_sweep {
    struct loop_tasks tasks;
    uint32_t next_switch, unanswered; /* of a light sweep */
    struct fab_discover *discover;    /* of a targeted or heavy one, or NULL */
    struct fab_fabric *found;         /* by it, not yet the model's; or NULL */
    struct sm_background background;
};

int sm_background_init(struct sm *s); /* NOMEM */
void sm_background_fini(struct sm *s);
bool sm_background_touched(const struct sm *s, uint64_t guid);

/* discovery.c: judges what was found, as `leave` of a phase. UNREACHABLE: our own port is not in
 * it. NOMEM. */
int sm_sweep_judge(struct sm *s);

/* unresponsive.c */
/* NOMEM. */
int sm_unresponsive_update(struct sm *s, const struct fab_unresponsive *found, uint32_t count,
                           bool scoped);
void sm_unresponsive_suspect(struct sm *s); /* the next targeted sweep looks at them again */

#endif
