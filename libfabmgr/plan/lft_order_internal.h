/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the order of table writes share. Private to order.c, wishes.c, parts.c. */
#ifndef LIBFABMGR_PLAN_LFT_ORDER_INTERNAL_H
#define LIBFABMGR_PLAN_LFT_ORDER_INTERNAL_H

#include "libfabmgr/plan/lft_order.h"

#define FAB_LFT_ORDERING_STEPS 4000000u /* entries looked at: some 40 ms */
/* In hop[]: nowhere; an end, which is or is not the destination. */
#define FAB_LFT_ORDERING_DROPS (FAB_NONE - 1)
#define FAB_LFT_ORDERING_ENDPORT (FAB_NONE - 2)

struct fab_lft_ordering_item {                  /* a block to write */
    uint32_t sw, drops, far, wave, waits, edge; /* edge: the first, or FAB_NONE */
    uint64_t differs, changed, written;         /* entries; changed: that differ and are in use */
    bool known, urgent, awaited;
};
struct fab_lft_ordering_edge { /* the entry of one item is written before the same of another */
    uint32_t before, after, next;
    uint8_t entry;
    bool soft, gone; /* soft: given up where nothing else goes on */
};
struct fab_lft_ordering_part { /* a write */
    struct fab_plan_op op;
    uint32_t item, wave;
};
struct fab_lft_ordering {
    const struct fab_plan_input *in;
    struct fab_lft_ordering_item *items;
    uint32_t count;
    uint32_t *by_block, *block_start; /* items of each block */
    uint32_t *hop;                    /* [port_count] where a port leads: a switch, ENDS, DROPS */
    uint32_t *slot;                   /* [switch_count] item of this block, or FAB_NONE */
    uint32_t *changed;                /* switches whose entry for this destination changes */
    uint32_t *stack, *open, *index, *low, *group; /* of the search for circles, by switch */
    uint8_t *phase;
    uint32_t *rank; /* by switch: cables from the nearest leaf */
    uint32_t counter, base, open_count, changed_count, steps;
    uint64_t *blocked;                   /* by item: entries that must wait */
    uint32_t *queue;                     /* items that wait for nothing */
    struct fab_lft_ordering_edge *edges; /* of this block */
    uint32_t edge_count, unordered;
    struct fab_lft_ordering_part *parts;
    uint32_t part_count;
    size_t edge_room, part_room;
    const struct fab_plan_op *ops; /* by item */
    /* the destination at hand */
    uint32_t lid, owner;
};

/* wishes.c: which of items[count], all of one block, waits for which for the destination at hand:
 * edges, item.changed, far, drops. NOMEM. */
int fab_plan_lft_constrain(struct fab_lft_ordering *o, const uint32_t *items, uint32_t count);

/* parts.c: these items as parts, each with its wave, behind what it waits for. NOMEM. */
int fab_plan_lft_write_parts(struct fab_lft_ordering *o, const uint32_t *items, uint32_t count);

#endif
