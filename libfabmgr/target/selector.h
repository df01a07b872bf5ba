/* SPDX-License-Identifier: BSD-3-Clause */
/* Evaluates the port selectors in the rules of partitions and traffic classes. */
#ifndef LIBFABMGR_TARGET_SELECTOR_H
#define LIBFABMGR_TARGET_SELECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/policy/partitions.h"
#include "libfabmgr/policy/pins.h"

/* Returns true if the pattern matches a node description or its first word. Drivers write
 * descriptions like "node-0001 mlx5_0", whose first word is the name of the host. */
bool fab_target_name_matches(const char *desc, const char *pattern);
/* Returns true if the pattern consists only of stars, so that it matches every name. */
bool fab_target_pattern_is_any(const char *pattern);
/* Returns true if the pattern matches the name of the node. The name of an adapter or router is the
 * pinned name (fab_policy_pins_name); if pins is NULL, it is the NodeDescription. The pattern may
 * also match the name that the operator gave the node. */
bool fab_target_node_matches(const struct fab_pins *pins, const struct fab_node *n,
                             const char *pattern);
/* Returns true if the selector `who` matches `port`, which must own a LID. A selector of kind
 * FAB_SELECT_GROUP matches no port, because the caller resolves groups. */
bool fab_target_selector_matches(const struct fab_fabric *f, const struct fab_pins *pins,
                                 const struct fab_port_selector *who, uint32_t port);

#endif
