/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of a comparison. For this folder only. */
#ifndef LIBFABMGR_CABLING_CHECK_H
#define LIBFABMGR_CABLING_CHECK_H

#include "libfabmgr/cabling/compare.h"

/* Finds the nodes of the plan in the fabric, and makes the sites and the numbers of their ports.
 * Returns OK or NOMEM. */
int fab_cabling_match(struct fab_cabling_check *c);
/* Finds the planned nodes and hosts that are not in the fabric, and adds a difference for each that
 * has several planned links. Returns OK or NOMEM. */
int fab_cabling_find_absent(struct fab_cabling_check *c);
/* Returns the number of sites of the same host or modular switch, which are adjacent in c->by_name
 * from position `first`. */
uint32_t fab_cabling_system_size(const struct fab_cabling_check *c, uint32_t first);
/* Finds nodes that have exchanged their places, from the moves. Returns OK or NOMEM. */
int fab_cabling_find_exchanges(struct fab_cabling_check *c);
/* Finds the rails and planes of the plan. Returns OK or NOMEM. */
int fab_cabling_find_rails(struct fab_cabling_check *c);
/* Returns the kind of a cable between the ports a and b that is not planned. */
enum fab_cabling_kind fab_cabling_classify(const struct fab_cabling_check *c, uint32_t a,
                                           uint32_t b);
/* These functions add a difference, of a cable or of a node. They return OK or NOMEM. */
int fab_cabling_add(struct fab_cabling_check *c, const struct fab_cabling_difference *d);
int fab_cabling_add_site(struct fab_cabling_check *c, enum fab_cabling_kind kind, uint32_t site,
                         uint32_t count, uint32_t nodes);
/* Returns less than 0 if port a comes before port b in the order of racks, names and numbers. */
int fab_cabling_port_order(const struct fab_cabling_check *c, uint32_t a, uint32_t b);

/* Returns which of two ports is named first, the one with the lower value: 0 for a leaf, 1 for
 * another switch, 2 for a host. */
unsigned fab_cabling_precedence(const struct fab_cabling_check *c, uint32_t port);

#endif
