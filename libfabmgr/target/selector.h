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
/* Returns true if the pattern consists only of stars, and therefore matches every name. */
bool fab_target_pattern_is_any(const char *pattern);
/* Returns true if the pattern matches the name of the node, or the name that an operator gave to
 * the node. A pattern that consists only of stars matches every node. For an adapter or router, the
 * name of the node is its pinned name (fab_policy_pins_name), or its NodeDescription if `pins` is
 * NULL. For a switch, it is always the NodeDescription. */
bool fab_target_node_matches(const struct fab_pins *pins, const struct fab_node *n,
                             const char *pattern);
/* Returns true if the selector `who` matches `port`, which must own a LID. A selector of kind
 * FAB_SELECT_GROUP matches no port: the caller must resolve groups. */
bool fab_target_selector_matches(const struct fab_fabric *f, const struct fab_pins *pins,
                                 const struct fab_port_selector *who, uint32_t port);

#endif
