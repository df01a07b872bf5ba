/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares the cables of a fabric with a plan.
 *
 * First the nodes of the plan are found in the fabric (match.c). A site is a node of the plan, of
 * the fabric, or of both. The ports of all sites are numbered from 0, so that planned links and
 * cables are two matchings of the same ports, and moves.h explains their differences.
 *
 * A link that is down is not a cable here, because nobody can see where a dead cable leads. So a
 * planned link without a cable is "missing or down".
 *
 * What the plan does not cover is no difference: links of hosts if the plan has only links between
 * switches, and vice versa; links inside a modular switch; aggregation nodes, which are inside
 * switches.
 */
#ifndef LIBFABMGR_CABLING_COMPARE_H
#define LIBFABMGR_CABLING_COMPARE_H

#include "libfabmgr/cabling/moves.h"
#include "libfabmgr/cabling/plan.h"

enum fab_cabling_match {
    FAB_CABLING_UNMATCHED,
    FAB_CABLING_BY_NAME,
    FAB_CABLING_BY_GUID,
    FAB_CABLING_BY_PLACE, /* most of its links are where the plan has them */
};

struct fab_cabling_site {
    const char *name;           /* as the plan spells it, or else the NodeDescription; borrowed */
    const char *rack;           /* "": not known; borrowed */
    const char *key;            /* fab_cabling_key of the name; borrowed */
    uint32_t planned, observed; /* ids of the nodes; FAB_NONE: not in the plan, or in the fabric */
    uint32_t first_port;        /* index of port 0 */
    uint16_t ports;             /* number of ports, port 0 included */
    bool is_switch;
    enum fab_cabling_match match;
};

enum fab_cabling_kind {
    FAB_CABLING_ABSENT,      /* a planned node, or a whole host, with several links is not there */
    FAB_CABLING_MISSING,     /* a planned link has no cable, or is down */
    FAB_CABLING_SWAPPED,     /* two cables have exchanged their ends */
    FAB_CABLING_WRONG_PORT,  /* a cable leads to another port than planned */
    FAB_CABLING_WRONG_HOST,  /* the port of a switch has another host than planned */
    FAB_CABLING_WRONG_RAIL,  /* an adapter is connected to a switch of another rail */
    FAB_CABLING_WRONG_PLANE, /* a cable joins two planes */
    FAB_CABLING_EXTRA,       /* neither port of a cable is planned to have one */
    FAB_CABLING_WRONG_WIDTH,
    FAB_CABLING_WRONG_SPEED,
    FAB_CABLING_DUPLICATE_NAME, /* more nodes have this name than planned */
    FAB_CABLING_KINDS,
};
/* Returns a word such as "missing" or "wrong-host". */
const char *fab_cabling_kind_name(enum fab_cabling_kind kind);

struct fab_cabling_difference {
    enum fab_cabling_kind kind;
    /* The ports of the cable, or of the planned link if there is no cable. A difference of a node
     * has port 0 of the node in both. A port of a switch comes first, and of a leaf before that of
     * another switch. */
    uint32_t a, b;
    /* the ports that are planned for a and b instead; FAB_NONE: none, or as it is */
    uint32_t planned_a, planned_b;
    /* WRONG_WIDTH and WRONG_SPEED: the planned and the actual mode */
    struct fab_link_modes planned_rate, rate;
    /* ABSENT: number of planned links; DUPLICATE_NAME: number of nodes with the name */
    uint32_t count;
    /* ABSENT: number of nodes of the host or modular switch, if none of them is there; or 1 */
    uint32_t nodes;
    uint32_t group; /* of the moves that correct it; FAB_NONE: none */
};

/* Two switches or hosts that have exchanged cables port by port, so that each seems to have the
 * place, or the name, of the other. */
struct fab_cabling_exchange {
    uint32_t a, b;   /* sites; of a host with several adapters, one of them */
    uint32_t cables; /* number of swapped pairs of cables */
};

struct fab_cabling_check {
    const struct fab_cabling_plan *plan; /* borrowed */
    const struct fab_fabric *fabric;     /* borrowed */
    struct fab_cabling_site *sites;      /* [site_count] first the nodes of the fabric, by id */
    uint32_t site_count, port_count;
    /* [port_count] site of a port; port at the other end by plan, and by the fabric (FAB_NONE:
     * none); index of the planned link (FAB_NONE: none) */
    uint32_t *port_site, *planned, *actual, *link;
    /* [port_count] rail of a port, from 1; 0: not known (rails.c) */
    uint8_t *rail;
    uint32_t *by_name; /* [site_count] sites in the order of their keys; numbers count by value */
    bool *absent;      /* [site_count] the site is a part of an absent node or host (ABSENT) */
    /* [site_count] a site of the same plane, the same for all of them; FAB_NONE: no plane */
    uint32_t *plane;
    struct fab_cabling_moves moves;             /* ordered by rack, switch and port */
    struct fab_cabling_difference *differences; /* [difference_count] in the same order */
    size_t difference_count, difference_room;
    struct fab_cabling_exchange *exchanges; /* [exchange_count] */
    size_t exchange_count;
    uint32_t matched[FAB_CABLING_BY_PLACE + 1]; /* number of planned nodes by enum match */
    uint32_t correct;                           /* planned links that have their cable */
    uint32_t kinds[FAB_CABLING_KINDS];          /* number of differences of each kind */
    struct fab_arena arena;                     /* private: keys */
};

/* Both the plan and the fabric must exist as long as the result. Returns OK or NOMEM. */
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
/* Returns true if so few names of the plan are in the fabric that the result says nothing: less
 * than half of the nodes of the plan, or of the fabric if it has fewer. */
bool fab_cabling_is_foreign(const struct fab_cabling_check *c);

#endif
