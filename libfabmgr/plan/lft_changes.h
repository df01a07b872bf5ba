/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A set of LFT blocks that a manager has changed, and of switches whose links have changed. Its
 * text tells another manager what it must read again.
 *
 * A fault changes the same few blocks at many switches. So the text groups the switches by their
 * sets of blocks, and has runs instead of single numbers: 829 blocks at 648 switches take some
 * hundred bytes to 2 KB. It names switches by their ids, which both managers have in the order of
 * the GUIDs, and has a hash of these GUIDs.
 */
#ifndef LIBFABMGR_PLAN_LFT_CHANGES_H
#define LIBFABMGR_PLAN_LFT_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/target/target.h"

/* number of LFT blocks of a switch that the set can hold: all blocks of unicast LIDs */
#define FAB_LFT_CHANGES_BLOCKS (FAB_LID_UNICAST_MAX / FAB_LFT_BLOCK + 1)
#define FAB_LFT_CHANGES_WORDS ((FAB_LFT_CHANGES_BLOCKS + 63) / 64)

struct fab_lft_changes {
    uint32_t switches; /* 0: nothing was added yet */
    uint64_t hash;     /* hash of the GUIDs of the switches */
    /* Everything counts as changed: the caller said so (fab_plan_changes_add_all), changes of
     * another set of switches were added, or there was no memory. The other members then have no
     * meaning. */
    bool all;
    /* [switches] bitset of the changed blocks of each switch */
    uint64_t (*block)[FAB_LFT_CHANGES_WORDS];
    uint64_t *linked; /* bitset of the switches whose links have changed */
};

void fab_plan_changes_clear(struct fab_lft_changes *c);
void fab_plan_changes_add_all(struct fab_lft_changes *c);
/* Call this function before blocks or switches are added that are named by the ids of f. If the set
 * has switches of another fabric already, or if there is no memory, everything counts as changed.
 * The functions that add ignore ids of other nodes. */
void fab_plan_changes_begin(struct fab_lft_changes *c, const struct fab_fabric *f);
void fab_plan_changes_add_block(struct fab_lft_changes *c, uint32_t sw, uint32_t block);
void fab_plan_changes_add_links(struct fab_lft_changes *c, uint32_t sw);
/* Adds the set `from`, after fab_plan_changes_begin. */
void fab_plan_changes_add(struct fab_lft_changes *c, const struct fab_lft_changes *from);
bool fab_plan_changes_any(const struct fab_lft_changes *c);
bool fab_plan_changes_has_block(const struct fab_lft_changes *c, uint32_t sw, uint32_t block);
/* Returns the first block in the set, from `from` on, of this switch; FAB_LFT_CHANGES_BLOCKS: there
 * is none. */
uint32_t fab_plan_changes_next_block(const struct fab_lft_changes *c, uint32_t sw, uint32_t from);

/* Returns the text of the set, which the caller frees. If it would be longer than `most` bytes, it
 * says that everything has changed. NULL: no memory. */
char *fab_plan_changes_text(const struct fab_lft_changes *c, size_t most);
/* Adds what the text names. Returns OK, or INVAL if the text is not well-formed or names switches
 * of another fabric than f; everything then counts as changed. */
int fab_plan_changes_read(struct fab_lft_changes *c, const struct fab_fabric *f, const char *text);

#endif
