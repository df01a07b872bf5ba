/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The best of several engines. "auto" takes the first that proves itself; where that one says that
 * something is missing, and the fabric is small, those after it are asked, too, and measured.
 */
#ifndef LIBFABMGR_STUDY_CHOOSE_ENGINE_H
#define LIBFABMGR_STUDY_CHOOSE_ENGINE_H

#include "libfabmgr/route/route.h"
#include "libfabmgr/verify/verify.h"

/* Fabrics of more switches x LIDs are not compared nor polished: it would take longer than a tenth
 * of a second or so an engine, and half a second for polishing. A full tree of 1,024 hosts and 320
 * switches is below. */
#define FAB_STUDY_CHOOSE_WORK 500000u

struct fab_engine_choice {
    const struct fab_route_engine *engine;
    struct fab_lft lft; /* proven good */
    struct fab_vls vls;
    struct fab_verdict verdict;
    char why[300]; /* the engine's sentence, and how they compared */
};
/* Puts the best in place of *choice, which engine chain->engine[taken] made of *in, and polishes it
 * (libfabmgr/route/local_search/local_search.h): of the first polished, and of all engines from
 * there on that take the fabric with as few lanes and prove themselves, the one whose worst load of
 * all-to-all, times its worst shift, is least; of equals the earliest. Where paths of the first
 * need other SLs than 0, others are not asked, and those that need them are not taken. It is good
 * by the proof, too. Leaves the tables as they are where nothing is to be compared: no "auto",
 * in->flawed NULL or false, or too large. Says so in choice->why where hosts have to use other SLs.
 * NOMEM and other failures: *choice is as it was. */
int fab_study_choose_engine(const struct fab_route_input *in, const struct fab_route_chain *chain,
                            uint32_t taken, struct fab_engine_choice *choice);

#endif
