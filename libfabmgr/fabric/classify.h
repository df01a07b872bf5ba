/* SPDX-License-Identifier: BSD-3-Clause */
/* What a node is for, told from what it says of itself. */
#ifndef LIBFABMGR_FABRIC_CLASSIFY_H
#define LIBFABMGR_FABRIC_CLASSIFY_H

#include "libfabmgr/fabric/fabric.h"

/* An adapter inside a switch that reduces data on its way through the fabric. It may hang on any
 * switch, spines included, so that it says nothing about which switches are leaves. */
bool fab_fabric_is_aggregation_node(const struct fab_node *n);

#endif
