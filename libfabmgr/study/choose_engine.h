/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The choice of the best engine. The chain "auto" takes the first engine whose tables pass the
 * proof. If that engine reports a flaw and the fabric is small, the manager also tries and measures
 * the later engines of the chain.
 */
#ifndef LIBFABMGR_STUDY_CHOOSE_ENGINE_H
#define LIBFABMGR_STUDY_CHOOSE_ENGINE_H

#include "libfabmgr/route/route.h"
#include "libfabmgr/target/choice.h"
#include "libfabmgr/verify/verify.h"

/* Engines are compared only in fabrics up to this size (number of switches x highest LID). In a
 * larger fabric, an engine would take longer than about 0.1 s, and local search longer than 0.5 s.
 * A full tree of 1,024 hosts and 320 switches is below this limit. */
#define FAB_STUDY_CHOOSE_WORK 500000u

struct fab_engine_choice {
    const struct fab_route_engine *engine;
    /* tables that have passed the proof; the caller frees them */
    struct fab_lft lft;
    struct fab_vls vls;
    struct fab_verdict verdict;
    /* sentence of the engine about its tables, for operators */
    char why[300];
    /* The record to which fab_study_choose_engine adds a row for the tables in *choice, and one for
     * each further candidate. The caller has already added rows for the engines that failed. NULL:
     * the caller wants no record. */
    struct fab_choice *record;
    /* clock for the times in the record, in microseconds; NULL: times are 0 */
    uint64_t (*now_us)(void);
};
/* Replaces *choice by the best tables. On entry, *choice has the tables that engine
 * chain->engine[taken] made of *in. The candidates are these tables after local search, and the
 * tables of the later engines of the chain. figures.h says which tables are better.
 *
 * Tables of later engines must pass the proof. If the first tables use SL 0 only, the other tables
 * must also use SL 0 only, and must not need more VLs. The other tables must also use SL 0 only if
 * the first engine never changes the SL of a path after a fault (member moves_sls of struct
 * fab_route_engine is false). Local repairs do not support tables in which the VL depends on
 * classes of ports. If such tables also use SLs other than 0, they may replace only tables of the
 * same kind.
 *
 * Tables are compared only if the chain is "auto", *in->flawed is true and the fabric is small
 * enough. Afterwards, choice->why tells the operator whether hosts must use SLs other than 0, and
 * choice->record has the figures of all candidates. Returns NOMEM or another error of the engines
 * and of the proof; *choice is then unchanged, but the record may have more rows. */
int fab_study_choose_engine(const struct fab_route_input *in, const struct fab_route_chain *chain,
                            uint32_t taken, struct fab_engine_choice *choice);

#endif
