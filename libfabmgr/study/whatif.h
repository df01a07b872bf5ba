/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fabric as it would be if links failed: what the manager would still know of it, with the LIDs
 * and the active tables under the new ids, so that engines can compute tables for it.
 */
#ifndef LIBFABMGR_STUDY_WHATIF_H
#define LIBFABMGR_STUDY_WHATIF_H

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/target/target.h"

struct fab_whatif_input {
    const struct fab_fabric *fabric;
    const struct fab_lids *lids;
    const struct fab_lft *lft;
    const uint32_t *ports; /* one port id of each link that fails; duplicates are allowed */
    uint32_t port_count;
};
struct fab_whatif {
    struct fab_fabric *fabric; /* the part that the manager's own port reaches */
    struct fab_lids lids;      /* unchanged LIDs of the ports that are left */
    struct fab_lft kept;       /* the active tables of the switches that are left */
    uint32_t cables;           /* number of links that fail */
    uint32_t lost_switches;
    uint32_t *lost; /* [lost_count] lost endports with LIDs, by their old ids, ascending */
    uint32_t lost_count;
    uint32_t *port_now; /* [old port_count] new id of each port, or FAB_NONE */
};
/* Returns NOT_FOUND if a port has no link, UNREACHABLE if the manager's own port would be cut off
 * from all switches, or NOMEM. */
int fab_study_whatif_make(const struct fab_whatif_input *in, struct fab_whatif *ret);
void fab_study_whatif_fini(struct fab_whatif *w);

/* The writes that would replace the tables `before` by `now` in the same switches. */
struct fab_whatif_change {
    uint64_t entries, blocks; /* entries and blocks that differ, up to the top of `now` */
    uint32_t switches;        /* switches with any difference */
    uint64_t all_blocks;
};
void fab_study_whatif_compare(const struct fab_lft *before, const struct fab_lft *now,
                              struct fab_whatif_change *ret);

#endif
