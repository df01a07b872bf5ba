/* SPDX-License-Identifier: BSD-3-Clause */
/* Channel dependencies with several VLs. Only this folder uses this header. */
#ifndef LIBFABMGR_VERIFY_VL_WALK_H
#define LIBFABMGR_VERIFY_VL_WALK_H

#include "libfabmgr/base/arena.h"
#include "libfabmgr/verify/walk.h"

struct fab_verify_vl_walk {
    struct fab_arena arena; /* memory of the arrays */
    const struct fab_verify_graph *graph;
    const struct fab_vls *vls;
    struct fab_verify_deps deps;
    /* [ports] port class of each port; the SLtoVLMappingTables select the VL by it */
    uint8_t *out_class;
    /* [ports] port class of the port at the other end of the link */
    uint8_t *in_class;
    /* [ports] bitset of the VLs that packets use on the port */
    uint16_t *used;
    /* [switches][classes] bitset of SLs, by switch and port class. A bit is set if packets to the
     * current LIDs with this SL have entered the switch by a port of this class. */
    uint16_t *seen;
    /* [switches] LFT entry (out port) of each switch for the current LIDs */
    uint8_t *entry;
};
/* Returns true if the VL tables fit the fabric and all SLs, VLs and port classes are in range. */
bool fab_verify_vls_valid(const struct fab_verify_graph *graph, const struct fab_vls *v);
/* Creates a walk that has recorded no dependencies yet. Returns INVAL if the VL tables do not fit
 * the fabric, or NOMEM. */
int fab_verify_vl_walk_new(const struct fab_verify_graph *graph, struct fab_verify_vl_walk **ret);
void fab_verify_vl_walk_free(struct fab_verify_vl_walk *w); /* w may be NULL */
/* Adds the dependencies and VLs that the walk `from` has recorded. Both walks must use the same
 * graph. */
void fab_verify_vl_walk_merge(struct fab_verify_vl_walk *to, const struct fab_verify_vl_walk *from);
/* Records the dependencies of packets to the LIDs of a batch, even if the packets do not arrive.
 * The first column of the tile has the entries of LID first_lid. */
void fab_verify_vl_walk_batch(struct fab_verify_vl_walk *w, const uint8_t *tile, uint32_t first_lid,
                              const struct fab_verify_batch *b);

#endif
