/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the role of a node from its NodeInfo and NodeDescription. */
#ifndef LIBFABMGR_FABRIC_CLASSIFY_H
#define LIBFABMGR_FABRIC_CLASSIFY_H

#include "libfabmgr/fabric/fabric.h"

/* Returns true if the node is an aggregation node: an adapter that is inside a switch and
 * aggregates data in the network. Any switch may contain an aggregation node, even a spine. So
 * routing must not regard a switch as a leaf because an aggregation node is connected to it. */
bool fab_fabric_is_aggregation_node(const struct fab_node *n);

#endif
