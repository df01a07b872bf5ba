/* SPDX-License-Identifier: BSD-3-Clause */
/* Data structures of the order of LFT writes. Private to lft_order.c, lft_constraints.c and
 * lft_parts.c. */
#ifndef LIBFABMGR_PLAN_LFT_ORDER_INTERNAL_H
#define LIBFABMGR_PLAN_LFT_ORDER_INTERNAL_H

#include "libfabmgr/plan/lft_order.h"

#define FAB_LFT_ORDERING_STEPS 4000000u /* limit of entries read, about 40 ms */
/* In hop[]: the port leads nowhere; the port leads to an endport. */
#define FAB_LFT_ORDERING_DROPS (FAB_NONE - 1)
#define FAB_LFT_ORDERING_ENDPORT (FAB_NONE - 2)

struct fab_lft_ordering_item {                       /* a block to write */
    uint32_t sw, drops, distance, wave, waits, edge; /* edge: its first edge, or FAB_NONE */
    /* bitsets of entries; changed: those that differ and whose LID has an owner */
    uint64_t differs, changed, written;
    bool known, urgent, awaited;
};
struct fab_lft_ordering_edge { /* an entry of one item is written before the same entry of
                                  another */
    uint32_t before, after, next;
    uint8_t entry;
    bool soft, gone; /* soft: ignored if no other write is possible */
};
struct fab_lft_ordering_part { /* a write */
    struct fab_plan_op op;
    uint32_t item, wave;
};
struct fab_lft_ordering {
    const struct fab_plan_input *in;
    struct fab_lft_ordering_item *items;
    uint32_t count;
    uint32_t *by_block, *block_start; /* [count] item ids by block, and the start of each block */
    uint32_t *hop;                    /* [port_count] where a port leads: a switch, ENDPORT,
                                         DROPS */
    uint32_t *slot;                   /* [switch_count] the switch's item of this block, or
                                         FAB_NONE */
    uint32_t *changed;                /* switches whose entry for this LID changes */
    uint32_t *stack, *open, *index, *low, *group; /* by switch; for the search for cycles */
    uint8_t *phase;
    uint32_t *rank; /* by switch: hops from the nearest leaf switch */
    uint32_t counter, base, open_count, changed_count, steps;
    uint64_t *blocked;                   /* by item: bits of entries that must wait */
    uint32_t *queue;                     /* items that may be written */
    struct fab_lft_ordering_edge *edges; /* of this block */
    uint32_t edge_count, unordered;
    struct fab_lft_ordering_part *parts;
    uint32_t part_count;
    size_t edge_room, part_room;
    const struct fab_plan_op *ops; /* by item */
    /* the LID at hand, and the port that owns it */
    uint32_t lid, owner;
};

/* lft_constraints.c: items[count] are the writes of one LFT block on different switches. Finds the
 * order in which they must happen for the LID o->lid: adds one edge per constraint, and fills
 * item.changed, distance and drops. Returns NOMEM. */
int fab_plan_lft_constrain(struct fab_lft_ordering *o, const uint32_t *items, uint32_t count);

/* lft_parts.c: adds the writes of these items, each in a later wave than the writes that it waits
 * for. Returns NOMEM, or INVAL if no item can be written, which would be a defect. */
int fab_plan_lft_write_parts(struct fab_lft_ordering *o, const uint32_t *items, uint32_t count);

#endif
