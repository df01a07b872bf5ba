/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions for the comparison of a cabling plan with the fabric, which several files share. For
 * this folder only. */
#ifndef LIBFABMGR_CABLING_CHECK_H
#define LIBFABMGR_CABLING_CHECK_H

#include "libfabmgr/cabling/compare.h"

/* Finds the nodes of the plan in the fabric, makes the sites, and numbers their ports. Returns OK
 * or NOMEM. */
int fab_cabling_match(struct fab_cabling_check *c);
/* Finds the planned nodes and hosts that are not in the fabric. Adds a difference for each such
 * node or host with several planned links. Returns OK or NOMEM. */
int fab_cabling_find_absent(struct fab_cabling_check *c);
/* Returns the number of sites that belong to the same host or modular switch as site
 * c->by_name[first]. In c->by_name, these sites come one after the other, from index `first` on. */
uint32_t fab_cabling_system_size(const struct fab_cabling_check *c, uint32_t first);
/* Finds pairs of nodes that have exchanged their places. Derives them from the moves, which must be
 * known already. Returns OK or NOMEM. */
int fab_cabling_find_exchanges(struct fab_cabling_check *c);
/* Finds the rails and planes of the plan. Returns OK or NOMEM. */
int fab_cabling_find_rails(struct fab_cabling_check *c);
/* Returns the kind of difference for a cable that is not planned. `a` and `b` are the ports of the
 * cable, in the order of fab_cabling_precedence. */
enum fab_cabling_kind fab_cabling_classify(const struct fab_cabling_check *c, uint32_t a,
                                           uint32_t b);
/* fab_cabling_add adds a copy of *d to the differences. fab_cabling_add_site adds a difference
 * about a site; `count` and `nodes` become members of this difference. Both return OK or NOMEM. */
int fab_cabling_add(struct fab_cabling_check *c, const struct fab_cabling_difference *d);
int fab_cabling_add_site(struct fab_cabling_check *c, enum fab_cabling_kind kind, uint32_t site,
                         uint32_t count, uint32_t nodes);
/* Compares two ports, by their racks, then by the names of their nodes, then by their numbers. */
int fab_cabling_port_order(const struct fab_cabling_check *c, uint32_t a, uint32_t b);

/* Returns 0 for a port of a leaf (a switch for which links of hosts are planned), 1 for a port of
 * another switch, 2 for a port of a host. Messages name the port with the lower value first. */
unsigned fab_cabling_precedence(const struct fab_cabling_check *c, uint32_t port);

#endif
