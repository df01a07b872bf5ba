/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The writes of multicast forwarding tables, and their order: from what switches are known to hold
 * to the trees of libfabmgr/mcast. Blocks are identified by switch id and fab_mft_number; an
 * unknown block is read first.
 *
 * There are two steps; the second starts when the first is completely answered. If the old and new
 * branches of a LID together form no cycle, the new ones are added first and the old ones removed
 * then: no remaining member is cut off. If they form a cycle, the branches that are in both trees
 * stay, the old ones are removed first and the new ones added then. At any time, whatever order
 * the writes of a step take effect in, the branches of a LID are part of a graph without cycles,
 * and no port receives a packet twice.
 */
#ifndef LIBFABMGR_PLAN_MFT_WRITES_H
#define LIBFABMGR_PLAN_MFT_WRITES_H

#include <stdint.h>

#include "libfabmgr/mcast/net.h"
#include "libfabmgr/target/blocks.h"

#define FAB_MFT_GROUPS 512 /* groups of 32 LIDs: a block number without its position */

enum fab_plan_mft_stage { FAB_MFT_READ, FAB_MFT_FIRST, FAB_MFT_SECOND, FAB_MFT_STAGES };
struct fab_plan_mft_op {
    uint32_t sw, number;
    uint16_t entry[FAB_BLOCK_ENTRIES];
};
struct fab_plan_mft {
    struct fab_plan_mft_ops {
        struct fab_plan_mft_op *op; /* ordered by group, switch and position */
        size_t count, room;
    } stage[FAB_MFT_STAGES];
};
struct fab_plan_mft_input {
    const struct fab_mcast_net *net; /* the switches and links of the trees */
    const struct fab_blocks *want;   /* missing blocks are zeros */
    const struct fab_blocks *held;   /* missing blocks are unknown */
    /* Bitset of switches that take no writes, or NULL. Their tables may differ from the target;
     * for the LIDs for which they do, no branch leads into them. */
    const uint64_t *unresponsive;
    const uint64_t *groups; /* bitset [FAB_MFT_GROUPS] of the groups to plan */
};
/* A group with unknown blocks gets reads only: plan again when these are answered. Returns NOMEM.
 */
int fab_plan_mft_make(const struct fab_plan_mft_input *in, struct fab_plan_mft *ret);
void fab_plan_mft_fini(struct fab_plan_mft *p);

/* Carries what switches hold over to the ids of another snapshot. guid[switches] are those of the
 * old ids. Switches that are gone are left out. Returns NOMEM. */
int fab_plan_mft_remap(const struct fab_blocks *held, const uint64_t *guid, uint32_t switches,
                       const struct fab_fabric *now, struct fab_blocks *ret);
void fab_plan_mft_forget(struct fab_blocks *held, uint32_t sw);

#endif
