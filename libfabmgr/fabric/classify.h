/* SPDX-License-Identifier: BSD-3-Clause */
/* The role of a node, derived from its NodeInfo and NodeDescription. */
#ifndef LIBFABMGR_FABRIC_CLASSIFY_H
#define LIBFABMGR_FABRIC_CLASSIFY_H

#include "libfabmgr/fabric/fabric.h"

/* Returns true for an adapter inside a switch that aggregates data in the network. Any switch may
 * have one, spines included, so routing must not take a switch for a leaf because of it. */
bool fab_fabric_is_aggregation_node(const struct fab_node *n);

#endif
