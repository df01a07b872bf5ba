/* SPDX-License-Identifier: BSD-3-Clause */
/* Where everything is in a tree, in numbers that a fault elsewhere does not change. Private. */
#ifndef LIBFABMGR_ROUTE_FATTREE_TREE_H
#define LIBFABMGR_ROUTE_FATTREE_TREE_H

#include "libfabmgr/route/updown/legal_paths.h"

#define FAB_TREE_SLOTS 254

/* The cables of each neighbour: those to slopes.nbr[i] are num[at[i]..at[i + 1]), ascending. */
struct fab_nbr_ports {
    uint32_t *at; /* [neighbours + 1] */
    uint8_t *num;
};

struct fab_tree {
    const struct fab_fabric *f;
    const struct fab_graph *g;
    const struct fab_order *o;
    const struct fab_updown *slopes;
    struct fab_nbr_ports cables;
    uint32_t levels;       /* of switches */
    uint32_t pods;         /* groups of leaves that share switches above them */
    uint32_t rails;        /* kinds of adapters, each on leaves of its own; 1: no rails */
    uint8_t parallel[256]; /* by rank: cables that are usual between a switch and one above it */
    uint8_t first_up[256], first_down[256]; /* by rank: the lowest port with a cable up, down */
    uint32_t irregular;                     /* switches whose slots are just the cables they have */
    uint32_t short_slots;                   /* slots without a cable, of all switches */
    uint32_t first_host;                    /* lowest port of a leaf with a host */
    uint32_t leaf_size;                     /* numbers kept for the hosts of a leaf */
    uint32_t *number;   /* [n] place among the switches of its rank: siblings stand together */
    uint32_t *under;    /* [n] place among those that share its upper switches */
    uint32_t *over;     /* [n] place among those that share its lower switches */
    uint32_t *siblings; /* [n] places for such: no place is greater */
    uint32_t *divider;  /* [n] digits of a host's number below this: W(l) of D-mod-k */
    /* Slots: where D-mod-k sends what has to climb. Slot i of s is at[s] + i. */
    uint32_t *slot_at;  /* [n + 1] */
    uint8_t *slot_num;  /* port, or 0: nothing there (now) */
    uint8_t *slot_nbr;  /* which of s's neighbours, counted from slopes.at[s] */
    uint8_t *higher;    /* [neighbours] 0xff: of a higher rank, 0: not; as slopes.nbr */
    uint8_t *lone;      /* [neighbours] the port, when there is one cable; else 0 */
    uint8_t *slot_nbrs; /* [n] distinct neighbours in slots */
    /* [n][2] kinds, 0..2n-1: those who have their neighbours above on the same ports, in order, and
     * as many below; then those who have all of them so; */
    uint32_t *cousin;
    uint32_t *twin;         /* [n][2] likewise, and the neighbours are the same */
    bool *whole;            /* [n] all slots have a port */
    bool *irregular_switch; /* [n] */
};
int fab_route_tree_make(const struct fab_fabric *f, const struct fab_graph *g,
                        const struct fab_order *o, const struct fab_updown *slopes,
                        struct fab_tree *ret);
void fab_route_tree_fini(struct fab_tree *t);

/* slots.c: fills slot_*, divider; places are known. */
int fab_route_tree_slots(struct fab_tree *t);

/* twins.c: fills these two; slots are known. */
int fab_route_tree_classes(struct fab_tree *t);

/* rails.c: ret_rail: [n] which kind of adapters a leaf has, 0 for others. Returns how many kinds,
 * 1 when that means nothing here. */
uint32_t fab_route_tree_rails(const struct fab_fabric *f, const struct fab_order *o,
                              uint32_t *ret_rail);

/* Numbers of the ports of leaf `sw` by where they are: ret[num], hosts follow each other. Returns
 * one more than the greatest. */
uint32_t fab_route_tree_host_positions(const struct fab_fabric *f, uint32_t sw, uint32_t first,
                                       uint8_t ret[256]);

#endif
