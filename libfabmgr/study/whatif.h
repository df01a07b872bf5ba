/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fabric as it would be if cables failed: what the manager would still know of it, with the
 * LIDs and the tables in force under the new ids, so that engines can be asked what they would do.
 */
#ifndef LIBFABMGR_STUDY_WHATIF_H
#define LIBFABMGR_STUDY_WHATIF_H

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/target/target.h"

struct fab_whatif_input {
    const struct fab_fabric *fabric;
    const struct fab_lids *lids;
    const struct fab_lft *lft;
    const uint32_t *ports; /* one port id of each cable that fails; one may come twice */
    uint32_t port_count;
};
struct fab_whatif {
    struct fab_fabric *fabric; /* what is left around our own port */
    struct fab_lids lids;      /* unchanged, of the ports that are left */
    struct fab_lft kept;       /* the tables in force, of the switches that are left */
    uint32_t cables;           /* that fail */
    uint32_t lost_switches;
    uint32_t *lost; /* [lost_count] ids of before: ends with LIDs that are not left, ascending */
    uint32_t lost_count;
    uint32_t *port_now; /* [port_count of before] its id, or FAB_NONE */
};
/* NOMEM; NOT_FOUND: a port has no cable; UNREACHABLE: our own port would be cut off from every
 * switch. */
int fab_study_whatif_make(const struct fab_whatif_input *in, struct fab_whatif *ret);
void fab_study_whatif_fini(struct fab_whatif *w);

/* What programming `now` over `before` writes: tables of the same switches. */
struct fab_whatif_change {
    uint64_t entries, blocks; /* that differ, up to the top of `now` */
    uint32_t switches;        /* that have any */
    uint64_t all_blocks;
};
void fab_study_whatif_compare(const struct fab_lft *before, const struct fab_lft *now,
                              struct fab_whatif_change *ret);

#endif
