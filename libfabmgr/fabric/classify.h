/* SPDX-License-Identifier: BSD-3-Clause */
/* The role of a node, derived from its NodeInfo and NodeDescription. */
#ifndef LIBFABMGR_FABRIC_CLASSIFY_H
#define LIBFABMGR_FABRIC_CLASSIFY_H

#include "libfabmgr/fabric/fabric.h"

/* An adapter inside a switch that aggregates data in the network. It may be connected to any
 * switch, spines included; routing must not take such a switch for a leaf. */
bool fab_fabric_is_aggregation_node(const struct fab_node *n);

#endif
