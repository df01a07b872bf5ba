/* SPDX-License-Identifier: BSD-3-Clause */
/* The structure of a fat tree: positions, numbers and slots that do not depend on faults elsewhere.
 * For this folder only. */
#ifndef LIBFABMGR_ROUTE_FATTREE_TREE_H
#define LIBFABMGR_ROUTE_FATTREE_TREE_H

#include "libfabmgr/route/updown/legal_paths.h"

#define FAB_TREE_SLOTS 254

/* The ports to each neighbour: num[at[i]..at[i + 1]), ascending, lead to updown.nbr[i]. */
struct fab_nbr_ports {
    uint32_t *at; /* [neighbours + 1] */
    uint8_t *num; /* [ports] */
};

struct fab_tree {
    const struct fab_fabric *f;
    const struct fab_graph *g;
    const struct fab_order *o;
    const struct fab_updown *updown;
    struct fab_nbr_ports ports;
    uint32_t levels;       /* of switches */
    uint32_t pods;         /* groups of leaves that share upper switches */
    uint32_t rails;        /* kinds of adapters, each on leaves of its own; 1: no rails */
    uint8_t parallel[256]; /* by rank: usual number of links from a switch to one above it */
    uint8_t first_up[256], first_down[256]; /* by rank: lowest port that leads up, down */
    uint32_t irregular;                     /* number of irregular switches (slots.c) */
    uint32_t empty_slots;                   /* number of slots without a port, of all switches */
    uint32_t first_host;                    /* lowest port of any leaf with a host */
    uint32_t leaf_size;                     /* numbers reserved for the hosts of a leaf */
    uint32_t *number;    /* [n] number among the switches of its rank; siblings are consecutive */
    uint32_t *lower_pos; /* [n] position among the switches with the same upper switches */
    uint32_t *upper_pos; /* [n] position among the switches with the same lower switches */
    uint32_t *upper_positions; /* [n] number of positions among which upper_pos is, whether
                                  occupied or not */
    uint32_t *divider; /* [n] W(l) of D-mod-k: product of the numbers of upper switches below */
    /* Slots: the ports that D-mod-k chooses from for packets that ascend. Slot i of switch s has
     * index slot_at[s] + i. */
    uint32_t *slot_at;    /* [n + 1] */
    uint8_t *slot_num;    /* [slots] port, or 0: the link is missing */
    uint8_t *slot_nbr;    /* [slots] the neighbour of s, counted from updown.at[s] */
    uint8_t *higher;      /* [neighbours] as updown.nbr; 0xff: of a higher rank, else 0 */
    uint8_t *single_port; /* [neighbours] the port if there is a single link, else 0 */
    uint8_t *slot_nbrs;   /* [n] number of distinct neighbours in slots */
    /* Two class ids, 0..2n-1, for each switch: [n][2] (switch_classes.c). Switches have the same
     * port_class [0] if their ports to upper neighbours are equal and they have as many lower
     * neighbours, the same port_class [1] if their ports to all neighbours are equal. */
    uint32_t *port_class;
    uint32_t *full_class;   /* [n][2] as port_class, for switches that have the same neighbours
                               on these ports */
    bool *whole;            /* [n] all slots have a port */
    bool *irregular_switch; /* [n] */
};
/* f, g, o and updown are borrowed. Fails only with NOMEM. */
int fab_route_tree_make(const struct fab_fabric *f, const struct fab_graph *g,
                        const struct fab_order *o, const struct fab_updown *updown,
                        struct fab_tree *ret);
void fab_route_tree_fini(struct fab_tree *t);

/* slots.c: fills the slots and what depends on them. The positions must be known. Fails only with
 * NOMEM. */
int fab_route_tree_slots(struct fab_tree *t);

/* switch_classes.c: fills port_class[] and full_class[]. The slots must be known. Fails only with
 * NOMEM. */
int fab_route_tree_classes(struct fab_tree *t);

/* rails.c: ret_rail: [n] the kind of adapters of a leaf, 0 for other switches. Returns the number
 * of kinds; 1: the fabric has no rails. */
uint32_t fab_route_tree_rails(const struct fab_fabric *f, const struct fab_order *o,
                              uint32_t *ret_rail);

/* ret[num]: positions of the hosts of leaf `sw` by its ports; consecutive hosts have consecutive
 * positions. Returns the number of positions. first: the lowest port of any leaf with a host. */
uint32_t fab_route_tree_host_positions(const struct fab_fabric *f, uint32_t sw, uint32_t first,
                                       uint8_t ret[256]);

#endif
