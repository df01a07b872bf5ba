/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the writes of multicast forwarding tables and their order. The writes turn the tables that
 * switches are known to hold into the tables that the trees of libfabmgr/mcast need. A switch id
 * and fab_mft_number identify a block. An unknown block is read first.
 *
 * The writes have two steps; the second starts when all writes of the first are answered. In
 * whatever order the writes of a step take effect, the branches of an MLID never form a cycle, and
 * no port receives a packet twice. There are two cases:
 *
 *   - The old and new branches of an MLID together form no cycle. The first step adds the new
 *     branches and the second removes the old ones. So members of both trees always receive
 *     packets.
 *   - The old and new branches form a cycle. The branches that are in both trees stay. The first
 *     step removes the other old branches, and the second adds the new ones.
 */
#ifndef LIBFABMGR_PLAN_MFT_WRITES_H
#define LIBFABMGR_PLAN_MFT_WRITES_H

#include <stdint.h>

#include "libfabmgr/mcast/net.h"
#include "libfabmgr/target/blocks.h"

/* number of MLID groups (32 MLIDs each); the low 9 bits of a block number are the number of its
 * group */
#define FAB_MFT_GROUPS 512

enum fab_plan_mft_stage { FAB_MFT_READ, FAB_MFT_FIRST, FAB_MFT_SECOND, FAB_MFT_STAGES };
struct fab_plan_mft_op {
    uint32_t sw, number;
    uint16_t entry[FAB_BLOCK_ENTRIES];
};
struct fab_plan_mft {
    struct fab_plan_mft_ops {
        /* the reads or writes of this stage, sorted by MLID group, then by switch, then by ports */
        struct fab_plan_mft_op *op;
        size_t count, room;
    } stage[FAB_MFT_STAGES];
};
struct fab_plan_mft_input {
    const struct fab_mcast_net *net; /* the switches and links of the trees */
    /* the blocks that the switches should hold; a missing block is all zero */
    const struct fab_blocks *want;
    /* the blocks that the switches hold; a missing block is unknown */
    const struct fab_blocks *held;
    /* Bitset of the switches that do not answer; NULL: all answer. If the entries of such a switch
     * for a LID differ from the target, the plan adds no branches for this LID that lead into the
     * switch, and removes those that exist. */
    const uint64_t *unresponsive;
    /* bitset of the MLID groups to plan */
    const uint64_t *groups;
};
/* Plans the reads and writes for the MLIDs in in->groups. For a group with unknown blocks, the plan
 * has only reads; the caller plans this group again when they are answered. Returns NOMEM. */
int fab_plan_mft_make(const struct fab_plan_mft_input *in, struct fab_plan_mft *ret);
void fab_plan_mft_fini(struct fab_plan_mft *p);

/* Translates the MFT blocks that switches hold to the switch ids of the snapshot `now`.
 * guid[switches]: the node GUID of each switch, by its old id. Drops the blocks of switches that
 * `now` does not contain. Returns NOMEM. */
int fab_plan_mft_remap(const struct fab_blocks *held, const uint64_t *guid, uint32_t switches,
                       const struct fab_fabric *now, struct fab_blocks *ret);
void fab_plan_mft_forget(struct fab_blocks *held, uint32_t sw);

#endif
