/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the structure of a fat tree, from which D-mod-k computes the entries. Leaves have rank 0. A
 * group consists of switches of two successive ranks that are connected by links between these
 * ranks (for example the leaves and the middle switches of a pod). So each switch is a lower switch
 * of one group, and an upper switch of the group below it. It has a position in each of these two
 * groups (tree.c). Each switch also has a number among all switches of its rank. A slot is the port
 * that D-mod-k means by "the i-th port up" (slots.c). A fault changes the positions, numbers and
 * slots of few switches only. Internal to libfabmgr/route. */
#ifndef LIBFABMGR_ROUTE_FATTREE_TREE_H
#define LIBFABMGR_ROUTE_FATTREE_TREE_H

#include "libfabmgr/base/arena.h"
#include "libfabmgr/route/updown/legal_paths.h"

#define FAB_TREE_SLOTS 254

/* The ports of a switch to each of its neighbours. The ports to neighbour updown.nbr[i] are
 * num[at[i]] to num[at[i + 1] - 1], in ascending order. */
struct fab_nbr_ports {
    uint32_t *at; /* [neighbours + 1] */
    uint8_t *num; /* [ports] */
};

struct fab_tree {
    struct fab_arena arena; /* memory of the arrays */
    const struct fab_fabric *f;
    const struct fab_graph *g;
    const struct fab_order *o;
    const struct fab_updown *updown;
    struct fab_nbr_ports ports;
    uint32_t levels; /* number of ranks */
    /* number of pods: groups of leaves that share upper switches */
    uint32_t pods;
    /* number of rails (rails.c); 1: no rails */
    uint32_t rails;
    /* by rank: the most frequent number of parallel links from a switch to a switch one rank
     * above */
    uint8_t parallel[256];
    /* By rank: the lowest port number that leads to a higher rank (first_up), and to a lower rank
     * (first_down), at any switch of the rank. */
    uint8_t first_up[256], first_down[256];
    uint32_t irregular; /* number of irregular switches (slots.c) */
    /* number of slots without a link, summed over all switches */
    uint32_t empty_slots;
    /* the lowest port number at which any leaf has a host */
    uint32_t first_host;
    /* number of D-mod-k numbers reserved for the hosts of each leaf */
    uint32_t leaf_size;
    /* [switches] number of each switch among the switches of its rank; the lower switches of a
     * group have consecutive numbers, except that free positions are counted, too */
    uint32_t *number;
    /* [switches] position of the switch among the lower switches of the group above it */
    uint32_t *lower_pos;
    /* [switches] position of the switch among the upper switches of the group below it */
    uint32_t *upper_pos;
    /* [switches] number of positions among the upper switches of the group below the switch,
     * positions of missing switches included */
    uint32_t *upper_positions;
    /* [switches] divider of D-mod-k (W of Zahavi); 1 for a leaf. For any other switch, it is the
     * greatest of these products, one for each neighbour one rank below: the divider of that
     * neighbour, multiplied by the number of positions among its upper switches (an irregular
     * neighbour: by the number of its upper switches). At most 2^20. */
    uint32_t *divider;
    /* The slots are the ports from which D-mod-k selects for packets that ascend. Slot i of switch
     * s has the index slot_at[s] + i in the arrays below. */
    uint32_t *slot_at; /* [switches + 1] */
    /* [slots] the port of each slot; 0 if its link is missing */
    uint8_t *slot_num;
    /* [slots] the neighbour to which the slot leads: i stands for updown.nbr[updown.at[s] + i] */
    uint8_t *slot_nbr;
    /* [neighbours] 0xff if neighbour updown.nbr[i] has a higher rank than the switch, otherwise 0
     */
    uint8_t *higher;
    /* [neighbours] the port to the neighbour, if there is a single link to it; otherwise 0 */
    uint8_t *single_port;
    /* [switches] number of distinct neighbours to which slots lead */
    uint8_t *slot_nbrs;
    /* [switches][2] ids of two classes of each switch (switch_classes.c); the ids are below 2 *
     * switches. Two switches have the same element [1] if they have the same rank, the same slots,
     * and the same numbers of lower and upper neighbours, and if, for each i, the links to the i-th
     * neighbour are at the same port numbers on both switches. For element [0], only the upper
     * neighbours and the number of lower neighbours are compared. */
    uint32_t *port_class;
    /* [switches][2] like port_class, but the neighbours must also be the same switches */
    uint32_t *full_class;
    /* [switches] whether the switch has slots, and all of them have a port */
    bool *whole;
    /* [switches] whether the switch is irregular (slots.c) */
    bool *irregular_switch;
};
/* Finds the positions, numbers, slots and classes of a tree. *ret keeps pointers to `f`, `g`, `o`
 * and `updown`, which must outlive *ret. Returns NOMEM if there is no memory. */
int fab_route_tree_make(const struct fab_fabric *f, const struct fab_graph *g,
                        const struct fab_order *o, const struct fab_updown *updown,
                        struct fab_tree *ret);
void fab_route_tree_fini(struct fab_tree *t);

/* Computes the slots, and the members that depend on them (slots.c). The positions must be known.
 * Returns NOMEM if there is no memory. */
int fab_route_tree_slots(struct fab_tree *t);

/* Computes port_class[] and full_class[] (switch_classes.c). The slots must be known. Returns NOMEM
 * if there is no memory. */
int fab_route_tree_classes(struct fab_tree *t);

/* Finds the rails (rails.c): sets ret_rail[n] to the number of each leaf's rail, and to 0 for other
 * switches. Returns the number of rails, which is 1 if the fabric has no rails. */
uint32_t fab_route_tree_rails(const struct fab_fabric *f, const struct fab_order *o,
                              uint32_t *ret_rail);

/* Sets ret[num] to the position of the host at port `num` among the hosts of leaf `sw`. first: the
 * lowest port number at which any leaf has a host. All ports from `first` on that have no link to a
 * switch count as positions, so that a host that is off does not move others. If more than about a
 * fifth of the positions would then be free, only ports with hosts count. Returns the number of
 * positions. */
uint32_t fab_route_tree_host_positions(const struct fab_fabric *f, uint32_t sw, uint32_t first,
                                       uint8_t ret[256]);

#endif
