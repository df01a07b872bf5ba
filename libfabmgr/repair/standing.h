/* SPDX-License-Identifier: BSD-3-Clause */
/* Standing tables: tables that the switches hold, and that this manager has not made since it
 * started. */
#ifndef LIBFABMGR_REPAIR_STANDING_H
#define LIBFABMGR_REPAIR_STANDING_H

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/target/target.h"

struct fab_standing {
    /* the tables that the switches hold; entries that are not known are FAB_LFT_NO_ROUTE */
    const struct fab_lft *held;
    const struct fab_lft *fresh; /* the tables of an engine for the present fabric */
    const struct fab_fabric *fabric;
    const struct fab_lids *lids;
};
struct fab_standing_count {
    uint64_t entries; /* number of entries in which the result differs from the held tables */
    uint32_t blocks;  /* number of LFT blocks in which the result differs from the held tables */
    /* Number of LFT blocks in which the fresh tables differ from the held tables */
    uint32_t fresh_blocks;
};
/*
 * Makes tables from held and fresh entries. For each LID, a switch keeps its held entry if packets
 * that follow the held entries from this switch arrive at the LID. The other switches get their
 * fresh entries for the LID. If packets to the LID then arrive from fewer switches than with the
 * fresh tables, all switches get their fresh entries for it. All switches keep their held entries
 * for a LID that no port owns, or whose owner is not connected to a switch.
 *
 * The result may have cycles of channel dependencies. The caller must verify the tables before they
 * are used. Returns OK or NOMEM.
 */
int fab_repair_standing(const struct fab_standing *in, struct fab_lft *ret,
                        struct fab_standing_count *ret_count);

/* Counts the entries and blocks in which the tables `now` differ from the held tables, and the
 * blocks in which the fresh tables differ from the held tables. All three have the same size. */
void fab_repair_standing_compare(const struct fab_standing *in, const struct fab_lft *now,
                                 struct fab_standing_count *ret_count);

#endif
