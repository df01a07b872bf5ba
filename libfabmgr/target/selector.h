/* SPDX-License-Identifier: BSD-3-Clause */
/* Ports as rules of partitions and traffic classes name them. */
#ifndef LIBFABMGR_TARGET_SELECTOR_H
#define LIBFABMGR_TARGET_SELECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/policy/partitions.h"

/* The pattern is for the node's description, or for its first word: that is the host's name in what
 * drivers write ("node-0001 mlx5_0"). */
bool fab_target_node_matches(const struct fab_node *n, const char *pattern);
/* An end port is meant, on its own account: a GROUP means none. */
bool fab_target_selector_matches(const struct fab_fabric *f, const struct fab_port_selector *who,
                                 uint32_t port);

#endif
