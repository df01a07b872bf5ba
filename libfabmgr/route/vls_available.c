/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes the number of VLs that engines may use. The ISL with the fewest VLs limits this number,
 * because any path may use this ISL. The VLs of a port follow from its VLCap and OperationalVLs
 * (IBA 14.2.5.6). If traffic classes need several sets of VLs, the number is divided among the
 * sets. */
#include <stdio.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/route/engines/engines.h"

uint8_t fab_route_vls_available(const struct fab_fabric *f, const struct fab_policy *p,
                                uint32_t *ret_port)
{
    uint8_t least = (uint8_t)fab_wire_op_vls_count(p->max_op_vls);
    uint32_t weakest = FAB_NONE;
    for (uint32_t port = 0; port < f->port_count; port++) {
        if (!fab_fabric_isl_is_up(f, port))
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

int fab_route_vls_check(const struct fab_route_input *in, unsigned need, char *why, size_t why_len)
{
    uint32_t port;
    unsigned have = fab_route_vls_available(in->fabric, in->policy, &port);
    if (have >= need)
        return FAB_OK;
    const struct fab_port *p = fab_fabric_port(in->fabric, port);
    snprintf(why, why_len, "%u VLs are needed and %.64s port %u has %u", need,
             in->fabric->nodes[p->node].name, p->num, have);
    return FAB_E_UNSUPPORTED;
}

uint8_t fab_route_vls_up_to(const struct fab_route_input *in, uint8_t most)
{
    uint32_t port, have = fab_route_vls_available(in->fabric, in->policy, &port);
    return have < most ? (uint8_t)have : most;
}

uint8_t fab_route_vls_reserve(const struct fab_route_input *in, uint8_t need, uint8_t more)
{
    const struct fab_classes *c = in->policy->classes;
    uint8_t have = fab_route_vls_up_to(in, (uint8_t)(need + more));
    /* Returns `need` (no further VLs) if there are several traffic classes. Each class would need
     * its own set of the further VLs, which would lower the share of a link that VL arbitration can
     * guarantee to a class. */
    if (have <= need || in->policy->lane_sets > 1 || (need == 1 && c != NULL && c->has_map))
        return need;
    return have;
}
