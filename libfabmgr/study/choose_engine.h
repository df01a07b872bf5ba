/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The choice of the best engine. "auto" takes the first engine whose tables pass the proof. If that
 * engine reports a flaw and the fabric is small, the engines after it are tried and measured, too.
 */
#ifndef LIBFABMGR_STUDY_CHOOSE_ENGINE_H
#define LIBFABMGR_STUDY_CHOOSE_ENGINE_H

#include "libfabmgr/route/route.h"
#include "libfabmgr/verify/verify.h"

/* Greatest size (switches x LIDs) of a fabric for which engines are compared. In a larger fabric,
 * an engine would take longer than about 0.1 s, and local search longer than 0.5 s. A full tree of
 * 1,024 hosts and 320 switches is smaller. */
#define FAB_STUDY_CHOOSE_WORK 500000u

struct fab_engine_choice {
    const struct fab_route_engine *engine;
    struct fab_lft lft; /* passes the proof */
    struct fab_vls vls;
    struct fab_verdict verdict;
    char why[300]; /* the engine's sentence, and the comparison */
};
/* Replaces *choice, which engine chain->engine[taken] made of *in, by the best tables: those of the
 * first engine after local search, or of a later engine of the chain, whichever has the least
 * product of the greatest load of all-to-all and the worst shift; of equals, the earliest. Later
 * engines must not need more VLs, must pass the proof, and all paths must have SL 0; if the first
 * engine uses other SLs, no other engine is tried. The result passes the proof.
 *
 * Nothing is compared unless the chain is "auto", *in->flawed is true and the fabric is small
 * enough. choice->why tells the operator if hosts must use other SLs than 0. Returns NOMEM or
 * another error of the engines and of the proof; *choice is then unchanged. */
int fab_study_choose_engine(const struct fab_route_input *in, const struct fab_route_chain *chain,
                            uint32_t taken, struct fab_engine_choice *choice);

#endif
