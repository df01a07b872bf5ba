/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes what would remain of a fabric if links failed: the part that the manager would still
 * reach. The result contains this smaller fabric, and the LIDs and the active tables with its ids.
 * Engines can then compute tables for the smaller fabric. */
#ifndef LIBFABMGR_STUDY_WHATIF_H
#define LIBFABMGR_STUDY_WHATIF_H

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/target/target.h"

struct fab_whatif_input {
    const struct fab_fabric *fabric;
    const struct fab_lids *lids;
    const struct fab_lft *lft;
    /* Ports whose links fail, by their ids in `fabric`. A link may be named by either of its ports,
     * and several times. */
    const uint32_t *ports;
    uint32_t port_count;
};
struct fab_whatif {
    /* the fabric after the failures: the part that the manager's own port still reaches */
    struct fab_fabric *fabric;
    struct fab_lids lids; /* the LIDs of the remaining ports, unchanged */
    struct fab_lft kept;  /* the active LFTs of the remaining switches */
    uint32_t cables;      /* number of links that fail */
    uint32_t lost_switches;
    /* [lost_count] endports with LIDs that become unreachable, by their ids in the old fabric,
     * ascending */
    uint32_t *lost;
    uint32_t lost_count;
    /* [port_count of the old fabric] id of each port in the new fabric; FAB_NONE: the manager would
     * not reach the port */
    uint32_t *port_now;
};
/* Computes what remains of the fabric after the links in->ports[] have failed. Returns NOT_FOUND if
 * one of these ports has no link, UNREACHABLE if the manager's own port would be cut off from all
 * switches, or NOMEM. */
int fab_study_whatif_make(const struct fab_whatif_input *in, struct fab_whatif *ret);
void fab_study_whatif_fini(struct fab_whatif *w);

/* The number of writes that a change from the tables `before` to the tables `now` would need. Only
 * switches that both tables have are compared. */
struct fab_whatif_change {
    /* number of LFT entries and number of LFT blocks that differ, up to the top LID of `now`;
     * blocks that `before` lacks count as different */
    uint64_t entries, blocks;
    uint32_t switches; /* number of switches whose tables differ */
    /* number of all LFT blocks of the compared switches, changed or not */
    uint64_t all_blocks;
};
void fab_study_whatif_compare(const struct fab_lft *before, const struct fab_lft *now,
                              struct fab_whatif_change *ret);

#endif
