/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares the attributes that a device holds with the wanted attributes. For this folder only. */
#ifndef LIBFABMGR_PLAN_ATTR_DIFF_H
#define LIBFABMGR_PLAN_ATTR_DIFF_H

#include <stdbool.h>

#include "libfabmgr/wire/wire.h"

/* Returns true if the PortInfo of the port must be written, because a field on which traffic
 * depends differs. At every port, these fields are the LIDs, the M_Key and the GID prefix. At all
 * ports except port 0 of a switch (`is_port0`), they also include the MTU, the number of VLs and
 * the P_Key enforcement. */
bool fab_plan_port_differs(const struct fab_port_info *now, const struct fab_port_info *want,
                           bool is_port0);
/* Returns true if a timer, a threshold, VLHighLimit or NeighborMTU differs. Such a difference alone
 * does not always justify a write, because some devices accept new values but do not keep them. */
bool fab_plan_tuning_differs(const struct fab_port_info *now, const struct fab_port_info *want);
bool fab_plan_switch_differs(const struct fab_switch_info *now, const struct fab_switch_info *want);

#endif
