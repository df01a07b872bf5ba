/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes the fabric as it would be after links have failed: the part that the manager would still
 * reach, with the LIDs and the active tables under the new ids. Engines can then compute tables for
 * it.
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
    struct fab_lids lids;      /* the LIDs of the remaining ports, unchanged */
    struct fab_lft kept;       /* the active LFTs of the remaining switches */
    uint32_t cables;           /* number of links that fail */
    uint32_t lost_switches;
    uint32_t *lost; /* [lost_count] ids, in the old fabric, of endports with LIDs that become
                       unreachable; ascending */
    uint32_t lost_count;
    uint32_t *port_now; /* [port_count of the old fabric] new id of each port, or FAB_NONE if the
                           port is gone */
};
/* Computes the fabric after the links have failed. Returns NOT_FOUND if a port has no link,
 * UNREACHABLE if the manager's own port would be cut off from all switches, or NOMEM. */
int fab_study_whatif_make(const struct fab_whatif_input *in, struct fab_whatif *ret);
void fab_study_whatif_fini(struct fab_whatif *w);

/* The numbers of writes that would replace the tables `before` by `now` in the same switches. */
struct fab_whatif_change {
    uint64_t entries, blocks; /* number of LFT entries and LFT blocks that differ, up to the top of
                                 `now` */
    uint32_t switches;        /* number of switches with any difference */
    uint64_t all_blocks;      /* number of LFT blocks of all compared switches */
};
void fab_study_whatif_compare(const struct fab_lft *before, const struct fab_lft *now,
                              struct fab_whatif_change *ret);

#endif
