/* SPDX-License-Identifier: BSD-3-Clause */
/* Data structures for ordering LFT writes. Private to lft_order.c, lft_constraints.c and
 * lft_parts.c. */
#ifndef LIBFABMGR_PLAN_LFT_ORDER_INTERNAL_H
#define LIBFABMGR_PLAN_LFT_ORDER_INTERNAL_H

#include "libfabmgr/plan/lft_order.h"

/* The analysis stops when it has read this number of entries, which takes about 40 ms. */
#define FAB_LFT_ORDERING_STEPS 4000000u
/* Values of hop[] that are not switch ids. DROPS: packets sent through this port are lost. ENDPORT:
 * the port leads to an endport. */
#define FAB_LFT_ORDERING_DROPS (FAB_NONE - 1)
#define FAB_LFT_ORDERING_ENDPORT (FAB_NONE - 2)

struct fab_lft_ordering_item { /* a block to write */
    /* drops: number of entries that drop packets until they are written. distance: 1 + the number
     * of switches on the longest new path of an entry. wave: the writes of one block number are
     * sent wave by wave, the lowest first. waits: number of edges (constraints) that end at this
     * item. edge: first edge that begins at this item, or FAB_NONE. */
    uint32_t sw, drops, distance, wave, waits, edge;
    /* Bitsets of the 64 entries. differs: the old and new values differ. changed: the entry
     * differs, and its LID is in use. written: earlier parts of this block have written the entry.
     */
    uint64_t differs, changed, written;
    /* known: the old entries are known. urgent: the write ends packet loss, or must precede an
     * urgent write (find_urgent). awaited: another item must be written after this item. */
    bool known, urgent, awaited;
};
/* A constraint: the entry of the switch of item `before` must be written earlier than the entry of
 * the switch of item `after`. */
struct fab_lft_ordering_edge {
    /* next: the next edge that begins at `before`, or FAB_NONE */
    uint32_t before, after, next;
    /* position of the entry in the LFT block */
    uint8_t entry;
    /* soft: the edge may be removed if no item can be written otherwise. gone: it was removed. */
    bool soft, gone;
};
/* one LFT write, which changes all of an item's entries or only a part of them */
struct fab_lft_ordering_part {
    struct fab_plan_op op;
    uint32_t item, wave;
};
struct fab_lft_ordering {
    const struct fab_plan_input *in;
    struct fab_lft_ordering_item *items;
    uint32_t count;
    /* [count] indices of the items, sorted by block number; the items of block b begin at
     * by_block[block_start[b]] */
    uint32_t *by_block, *block_start;
    /* [port_count] the switch to which the port leads, or FAB_LFT_ORDERING_ENDPORT or
     * FAB_LFT_ORDERING_DROPS */
    uint32_t *hop;
    /* [switch_count] index of each switch's item of the current block number; FAB_NONE: it has
     * none */
    uint32_t *slot;
    /* the switches whose entry changes for the current LID; changed_count is their number */
    uint32_t *changed;
    /* [switch_count] scratch memory of the search for cycles in lft_constraints.c */
    uint32_t *stack, *open, *index, *low, *group;
    uint8_t *phase;
    /* [switch_count] number of hops from the nearest leaf switch */
    uint32_t *rank;
    uint32_t counter, base, open_count, changed_count, steps;
    /* [count] for each item, a bitset of the entries that must wait for another switch or are
     * already written */
    uint64_t *blocked;
    /* the items that wait for no other item, and may be written now */
    uint32_t *queue;
    struct fab_lft_ordering_edge *edges; /* edges of the current block */
    /* edge_count: number of edges. unordered: number of writes that are sent before another write
     * that should precede them (struct fab_plan). */
    uint32_t edge_count, unordered;
    struct fab_lft_ordering_part *parts;
    uint32_t part_count;
    size_t edge_room, part_room;
    const struct fab_plan_op *ops; /* the original write of each item */
    /* the current LID, and the port that owns it */
    uint32_t lid, owner;
};

/* Finds the pairs of switches of which one must be written before the other, for the entries of the
 * LID o->lid (lft_constraints.c). items[count] are the LFT blocks that have these entries; their
 * block number is the same in all switches. Adds one edge for each constraint, and updates changed,
 * distance and drops of the items. Returns NOMEM. */
int fab_plan_lft_constrain(struct fab_lft_ordering *o, const uint32_t *items, uint32_t count);

/* Adds the writes of the given items (lft_parts.c). Each write gets a later wave than the writes
 * that must precede it. Returns NOMEM, or INVAL if no item can be written, which would be an
 * internal error. */
int fab_plan_lft_write_parts(struct fab_lft_ordering *o, const uint32_t *items, uint32_t count);

#endif
