/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many lanes there are for engines that need several: what the weakest cable between switches
 * offers, since any path may take it (VLCap and OperationalVLs, IBA 14.2.5.6). Where each of
 * several traffic classes shall have as many, that is shared out among them.
 */
#include "libfabmgr/route/route.h"

uint8_t fab_route_vls_available(const struct fab_fabric *f, const struct fab_policy *p,
                                uint32_t *ret_port)
{
    uint8_t least = (uint8_t)fab_op_vls_count(p->max_op_vls);
    uint32_t weakest = FAB_NONE;
    for (uint32_t port = 0; port < f->port_count; port++) {
        if (!fab_trunk_is_up(f, port))
            continue;
        uint8_t vls = fab_target_port_vls(f, p, port);
        if (weakest == FAB_NONE || vls < least) {
            least = vls;
            weakest = port;
        }
    }
    *ret_port = weakest;
    least = (uint8_t)(least / (p->lane_sets > 1 ? p->lane_sets : 1));
    return least > 0 ? least : 1;
}
