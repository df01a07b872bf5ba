/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the switches that forward packets between other switches. */
#ifndef LIBFABMGR_STUDY_TRANSIT_H
#define LIBFABMGR_STUDY_TRANSIT_H

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/target/target.h"

/* Finds those switches in the bitset `of` that forward packets between other switches, and sets
 * their bits in the bitset ret[]. A switch does so if there is a LID of an endport with two
 * properties: the entry of a neighbour for this LID leads to the switch, and the switch's own entry
 * leads over an ISL. LIDs of switches do not count, because only management packets have them as
 * destination. The tables must have the switch ids of the fabric `f`. */
void fab_study_transit(const struct fab_fabric *f, const struct fab_lids *lids,
                       const struct fab_lft *lft, const uint64_t *of, uint64_t *ret);

#endif
