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
 * Makes tables that keep each held entry whose path leads to the LID. The other switches get their
 * fresh entries. If fewer switches reach the LID with these entries than with the fresh tables, all
 * switches get the fresh entries for this LID. A LID keeps its held entries if no port owns it, or
 * if its owner is not connected to a switch.
 *
 * The result may have cycles of channel dependencies. The caller proves it before the tables are
 * used. Returns OK, or NOMEM.
 */
int fab_repair_standing(const struct fab_standing *in, struct fab_lft *ret,
                        struct fab_standing_count *ret_count);

/* Counts the entries and blocks in which the tables `now` differ from the held tables, and the
 * blocks in which the fresh tables differ from the held tables. All three have the same size. */
void fab_repair_standing_compare(const struct fab_standing *in, const struct fab_lft *now,
                                 struct fab_standing_count *ret_count);

#endif
