/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Phases and rounds. A round is a list of phases run one after the other; a phase is a state that
 * says what to ask next and what to do with each answer. run.c drives them; nothing waits.
 */
#ifndef FABRICD_SM_CORE_PHASE_H
#define FABRICD_SM_CORE_PHASE_H

#include <stdbool.h>
#include <stdint.h>

#include "libfabmgr/mads/mads.h"

struct sm;

/* What enter and leave return beside 0 (go on) and a negative status (the round failed). */
#define SM_ROUND_OVER 1 /* the round ends here, and well */

struct sm_phase {
    const char *name; /* what status shows */
    int (*enter)(struct sm *s);
    /* Fills path, method, attribute and tag of the next directed request (the rest is set by the
     * runner); false: none at present. It is asked again after every answer. */
    bool (*next)(struct sm *s, struct fab_mads_request *ret);
    void (*answer)(struct sm *s, uint64_t tag, const struct fab_mads_answer *a);
    /* Asked while nothing is unanswered. NULL: yes. */
    bool (*finished)(const struct sm *s);
    int (*leave)(struct sm *s);
};

extern const struct sm_phase sm_phase_prepare, sm_phase_seal, sm_phase_adopt, sm_phase_plan;
extern const struct sm_phase sm_phase_light, sm_phase_port, sm_phase_discover, sm_phase_sminfo,
    sm_phase_read_tables, sm_phase_address, sm_phase_route, sm_phase_pkeys, sm_phase_partition,
    sm_phase_program, sm_phase_readback, sm_phase_publish, sm_phase_probe, sm_phase_repair,
    sm_phase_program_repair, sm_phase_report_repair;

enum sm_round_kind {
    SM_ROUND_NONE,
    SM_ROUND_HEAVY,     /* the whole fabric anew */
    SM_ROUND_TARGETED,  /* the suspects only */
    SM_ROUND_REROUTE,   /* compute anew from the fabric as known */
    SM_ROUND_REBALANCE, /* the same, and only if it gains */
    SM_ROUND_LIGHT,     /* ask each switch whether something changed */
    SM_ROUND_PORT,      /* one operator's port request */
    SM_ROUND_REPAIR,    /* cables that just died: the way round them, and nothing else */
};
struct sm_round {
    const char *name;
    const struct sm_phase *const *phases; /* NULL-terminated */
};
extern const struct sm_round sm_rounds[];

#endif
