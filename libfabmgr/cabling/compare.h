/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares the cables of a fabric with a plan.
 *
 * First, match.c finds the nodes of the plan in the fabric. A site is a node of the plan, of the
 * fabric, or of both. The ports of all sites are numbered from 0. Planned links and cables are then
 * two matchings of the same ports, and moves.h explains how they differ.
 *
 * A link that is down does not count as a cable, because the manager cannot see where the cable
 * leads. So the difference for a planned link without a cable is called "missing or down".
 *
 * Cables that the plan does not cover are no differences. If the plan has only links between
 * switches, it does not cover links of hosts, and vice versa. No plan covers links inside a modular
 * switch, or aggregation nodes, which are inside switches.
 */
#ifndef LIBFABMGR_CABLING_COMPARE_H
#define LIBFABMGR_CABLING_COMPARE_H

#include "libfabmgr/cabling/moves.h"
#include "libfabmgr/cabling/plan.h"

enum fab_cabling_match {
    FAB_CABLING_UNMATCHED,
    FAB_CABLING_BY_NAME,
    FAB_CABLING_BY_GUID,
    FAB_CABLING_BY_PLACE, /* by its place: most of its links are connected as planned */
};

struct fab_cabling_site {
    /* name as in the plan; if the node is not in the plan, its name in the fabric; borrowed */
    const char *name;
    const char *rack; /* name of the rack; "": not known; borrowed */
    const char *key;  /* key of the name (fab_cabling_key); borrowed */
    /* ids of this node in the plan and in the fabric; FAB_NONE: the plan, or the fabric, does not
     * have it */
    uint32_t planned, observed;
    /* number of port 0 of the site; the ports of all sites are numbered together */
    uint32_t first_port;
    uint16_t ports; /* number of ports, port 0 included */
    bool is_switch;
    enum fab_cabling_match match;
};

enum fab_cabling_kind {
    /* a planned node with several links, or a whole host, is not in the fabric */
    FAB_CABLING_ABSENT,
    FAB_CABLING_MISSING,    /* a planned link has no cable, or is down */
    FAB_CABLING_SWAPPED,    /* two cables, each with one end exchanged with an end of the other */
    FAB_CABLING_WRONG_PORT, /* a cable leads to a port that is not the planned one */
    /* the host that is connected to the port of a switch is not the planned one */
    FAB_CABLING_WRONG_HOST,
    FAB_CABLING_WRONG_RAIL, /* an adapter is connected to a switch of another rail */
    /* a cable joins two planes, or connects an adapter to the wrong plane */
    FAB_CABLING_WRONG_PLANE,
    /* there is a cable between two ports, and neither of them has a planned link */
    FAB_CABLING_EXTRA,
    FAB_CABLING_WRONG_WIDTH,
    FAB_CABLING_WRONG_SPEED,
    FAB_CABLING_DUPLICATE_NAME, /* more nodes of the fabric have this name than nodes of the plan */
    FAB_CABLING_KINDS,
};
/* Returns the word for a kind of difference, such as "missing" or "wrong-host". */
const char *fab_cabling_kind_name(enum fab_cabling_kind kind);

struct fab_cabling_difference {
    enum fab_cabling_kind kind;
    /* The ports of the cable, or of the planned link if there is no cable. If the difference is
     * about a node, both are port 0 of this node. A port of a leaf comes first, then a port of
     * another switch, then a port of a host. */
    uint32_t a, b;
    /* If the difference is a cable that is not planned: the ports to which the plan connects a and
     * b; FAB_NONE: the plan has no link at this port. Otherwise both are FAB_NONE. */
    uint32_t planned_a, planned_b;
    /* WRONG_WIDTH and WRONG_SPEED: the planned and the actual width and speed */
    struct fab_link_modes planned_rate, rate;
    /* ABSENT: number of planned links; DUPLICATE_NAME: number of nodes with the name */
    uint32_t count;
    /* ABSENT: if a whole host or modular switch is absent, the number of its nodes; otherwise 1 */
    uint32_t nodes;
    /* number of the group of moves that correct the difference; FAB_NONE: no moves correct it */
    uint32_t group;
};

/* Two switches or two hosts, a and b, that have exchanged their cables port by port. Probably their
 * places or their names were exchanged. */
struct fab_cabling_exchange {
    /* ids of sites: one site of each of the two; a host with several adapters has several sites */
    uint32_t a, b;
    uint32_t cables; /* number of ports of `a` that have exchanged their cables with ports of `b` */
};

struct fab_cabling_check {
    const struct fab_cabling_plan *plan; /* borrowed */
    const struct fab_fabric *fabric;     /* borrowed */
    /* [site_count] the sites; the first ones are the nodes of the fabric, in the order of their
     * ids */
    struct fab_cabling_site *sites;
    uint32_t site_count, port_count;
    /* [port_count] For each port: the id of its site; the port to which the plan connects it; the
     * port to which a cable connects it; the index of its planned link. FAB_NONE in the last three
     * arrays: none. */
    uint32_t *port_site, *planned, *actual, *link;
    /* [port_count] rail of each port, from 1, and in the element of port 0 of a switch the rail of
     * the switch; 0: the rail is not known (rails.c) */
    uint8_t *rail;
    /* [site_count] ids of the sites in the order of their keys; numbers in keys are compared by
     * value, so that node-9 comes before node-10 */
    uint32_t *by_name;
    /* [site_count] true: the site was reported as absent, alone or together with the other nodes of
     * its host */
    bool *absent;
    /* [site_count] The plane of each site, denoted by the lowest site id in this plane. A site
     * without planned links between switches has a plane of its own. */
    uint32_t *plane;
    /* the moves that correct the cabling, ordered by rack, switch and port */
    struct fab_cabling_moves moves;
    /* [difference_count] the differences, ordered by rack, switch and port of `a`, then by kind */
    struct fab_cabling_difference *differences;
    size_t difference_count, difference_room;
    /* [exchange_count] pairs of switches or hosts that have exchanged their cables */
    struct fab_cabling_exchange *exchanges;
    size_t exchange_count;
    /* [method] number of planned nodes that were found by this method (enum fab_cabling_match) */
    uint32_t matched[FAB_CABLING_BY_PLACE + 1];
    uint32_t correct;                  /* number of planned links that are cabled correctly */
    uint32_t kinds[FAB_CABLING_KINDS]; /* [kind] number of differences of this kind */
    struct fab_arena arena;            /* private: memory of the keys of names */
};

/* Compares the cables of the fabric with the plan. Both must exist as long as the result. Returns
 * OK or NOMEM. */
int fab_cabling_compare(const struct fab_cabling_plan *plan, const struct fab_fabric *fabric,
                        struct fab_cabling_check **ret_check);
void fab_cabling_check_free(struct fab_cabling_check *c); /* c may be NULL */

static inline const struct fab_cabling_site *fab_cabling_site_of(const struct fab_cabling_check *c,
                                                                 uint32_t port)
{
    return &c->sites[c->port_site[port]];
}
static inline unsigned fab_cabling_port_number(const struct fab_cabling_check *c, uint32_t port)
{
    return port - fab_cabling_site_of(c, port)->first_port;
}
/* Returns true if the plan seems to belong to another fabric; the differences then mean nothing.
 * The criterion: the plan or the fabric, whichever has fewer nodes, has more than twice as many
 * nodes as were found. */
bool fab_cabling_is_foreign(const struct fab_cabling_check *c);

#endif
