/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which blocks of multicast forwarding tables are written, and in which order: from what switches
 * are known to hold to the trees that shall stand (libfabmgr/mcast). Blocks are by switch id and
 * fab_mft_number; a block that is not known is read first.
 *
 * In two steps, the second of which starts when all of the first is answered. A LID whose old and
 * new branches together make no circle gets the new ones first, and the old ones go then: nobody
 * who stays is cut off. Where they make one, what is in both stays first, and the new ones come
 * then: at any time on the way, in whatever order writes of a step take effect, the branches of a
 * LID are a part of one without circles, and nobody gets a packet twice.
 */
#ifndef LIBFABMGR_PLAN_MFT_WRITES_H
#define LIBFABMGR_PLAN_MFT_WRITES_H

#include <stdint.h>

#include "libfabmgr/mcast/net.h"
#include "libfabmgr/target/blocks.h"

#define FAB_MFT_GROUPS 512 /* of 32 LIDs: the number of a block without its position */

enum fab_plan_mft_stage { FAB_MFT_READ, FAB_MFT_FIRST, FAB_MFT_SECOND, FAB_MFT_STAGES };
struct fab_plan_mft_op {
    uint32_t sw, number;
    uint16_t entry[FAB_BLOCK_ENTRIES];
};
struct fab_plan_mft {
    struct fab_plan_mft_ops {
        struct fab_plan_mft_op *op; /* by group, switch and position */
        size_t count, room;
    } stage[FAB_MFT_STAGES];
};
struct fab_plan_mft_input {
    const struct fab_mcast_net *net; /* that the trees are of */
    const struct fab_blocks *want;   /* what is not there is zeros */
    const struct fab_blocks *held;   /* what is not there is not known */
    /* Bitset of switches that take no writes. What they hold may be other than it shall be; so, for
     * LIDs of which it is, no branch leads into them. NULL: none. */
    const uint64_t *silent;
    const uint64_t *groups; /* bitset [FAB_MFT_GROUPS] of those to look at */
};
/* A group for which something must be read has reads only: plan again after these. NOMEM. */
int fab_plan_mft_make(const struct fab_plan_mft_input *in, struct fab_plan_mft *ret);
void fab_plan_mft_fini(struct fab_plan_mft *p);

/* What switches hold, by the ids of another net. guid[switches] are the old ones.
 * Those that are gone are left out. NOMEM. */
int fab_plan_mft_remap(const struct fab_blocks *held, const uint64_t *guid, uint32_t switches,
                       const struct fab_fabric *now, struct fab_blocks *ret);
void fab_plan_mft_forget(struct fab_blocks *held, uint32_t sw);

#endif
