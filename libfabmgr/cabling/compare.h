/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares the cables of a fabric with a plan.
 *
 * First, match.c finds the nodes of the plan in the fabric. A site is a node of the plan, of the
 * fabric, or of both. The ports of all sites are numbered from 0. Planned links and cables are then
 * two matchings of the same ports, and moves.h explains how they differ.
 *
 * A link that is down does not count as a cable, because nobody can see where the cable leads. So
 * the difference of a planned link without a cable is called "missing or down".
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
    FAB_CABLING_BY_PLACE, /* found by its place: most of its links are connected as planned */
};

struct fab_cabling_site {
    /* name as the plan spells it; NodeDescription if the plan does not have the node; borrowed */
    const char *name;
    const char *rack; /* name of the rack; "": not known; borrowed */
    const char *key;  /* fab_cabling_key of the name; borrowed */
    /* ids of the node in the plan and in the fabric; FAB_NONE: the plan, or the fabric, does not
     * have the node */
    uint32_t planned, observed;
    uint32_t first_port; /* number of the site's port 0 among the ports of all sites */
    uint16_t ports;      /* number of ports, port 0 included */
    bool is_switch;
    enum fab_cabling_match match;
};

enum fab_cabling_kind {
    /* a planned node, or a whole host, with several links is not in the fabric */
    FAB_CABLING_ABSENT,
    FAB_CABLING_MISSING,    /* a planned link has no cable, or is down */
    FAB_CABLING_SWAPPED,    /* an end of one cable is exchanged with an end of another cable */
    FAB_CABLING_WRONG_PORT, /* a cable leads to another port than planned */
    FAB_CABLING_WRONG_HOST, /* the port of a switch has another host than planned */
    FAB_CABLING_WRONG_RAIL, /* an adapter is connected to a switch of another rail */
    /* a cable joins two planes, or connects an adapter to another plane than planned */
    FAB_CABLING_WRONG_PLANE,
    FAB_CABLING_EXTRA, /* neither port of a cable is planned to have one */
    FAB_CABLING_WRONG_WIDTH,
    FAB_CABLING_WRONG_SPEED,
    FAB_CABLING_DUPLICATE_NAME, /* more nodes have this name than planned */
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
    /* The ports to which a and b should be connected by plan. FAB_NONE: no link is planned at the
     * port, or the port is connected as planned. */
    uint32_t planned_a, planned_b;
    /* WRONG_WIDTH and WRONG_SPEED: the planned and the actual mode */
    struct fab_link_modes planned_rate, rate;
    /* ABSENT: number of planned links; DUPLICATE_NAME: number of nodes with the name */
    uint32_t count;
    /* ABSENT: number of absent nodes of a host or modular switch of which no node is in the fabric;
     * otherwise 1 */
    uint32_t nodes;
    /* number of the group of moves that correct the difference; FAB_NONE: no moves correct it */
    uint32_t group;
};

/* Two switches or hosts, a and b, that have exchanged their cables port by port. It seems that a
 * and b have exchanged their places or their names. */
struct fab_cabling_exchange {
    /* a site of each of the two switches or hosts; a host with several adapters has several
     * sites */
    uint32_t a, b;
    uint32_t cables; /* number of swapped pairs of cables */
};

struct fab_cabling_check {
    const struct fab_cabling_plan *plan; /* borrowed */
    const struct fab_fabric *fabric;     /* borrowed */
    struct fab_cabling_site *sites;      /* [site_count] first the nodes of the fabric, by id */
    uint32_t site_count, port_count;
    /* [port_count] For each port: its site; the port to which the plan connects it; the port to
     * which a cable connects it; the index of its planned link. In the last three, FAB_NONE: there
     * is none. */
    uint32_t *port_site, *planned, *actual, *link;
    /* [port_count] rail of each port, from 1; 0: the rail is not known (rails.c) */
    uint8_t *rail;
    /* [site_count] sites sorted by their keys; numbers in keys are compared by value */
    uint32_t *by_name;
    /* [site_count] true: the site was reported as ABSENT, alone or as a part of a host */
    bool *absent;
    /* [site_count] The plane of each site, named by the lowest site in it. A site without a planned
     * link between switches is alone in its plane. */
    uint32_t *plane;
    struct fab_cabling_moves moves; /* ordered by rack, switch and port */
    /* [difference_count] ordered by rack, switch and port of `a`, then by kind */
    struct fab_cabling_difference *differences;
    size_t difference_count, difference_room;
    struct fab_cabling_exchange *exchanges; /* [exchange_count] */
    size_t exchange_count;
    /* number of planned nodes that were found by each method of enum fab_cabling_match */
    uint32_t matched[FAB_CABLING_BY_PLACE + 1];
    uint32_t correct;                  /* number of planned links that have their cable */
    uint32_t kinds[FAB_CABLING_KINDS]; /* number of differences of each kind */
    struct fab_arena arena;            /* private: memory of the keys */
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
/* Returns true if the plan seems to belong to another fabric, so that the differences mean nothing.
 * Let n be the number of nodes of the plan or of the fabric, whichever is smaller. The function
 * returns true if fewer than n / 2 nodes of the plan were found. */
bool fab_cabling_is_foreign(const struct fab_cabling_check *c);

#endif
