/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the ports that a rule selects. A selector with a port GUID, or for the manager's own port,
 * names its port directly. A group stands for its members. All other selectors are compared with
 * each endport and with port 0 of each switch. */
#include "libfabmgr/partition/port_selector.h"

#include "libfabmgr/target/selector.h"

static void take_one(const struct fab_fabric *f, uint32_t port, fab_partition_selected *take,
                     void *ctx)
{
    if (port != FAB_NONE && fab_fabric_port_has_lid(f, port))
        take(ctx, port);
}

void fab_partition_select_ports(const struct fab_partition_input *in,
                                const struct fab_port_selector *who, fab_partition_selected *take,
                                void *ctx)
{
    const struct fab_fabric *f = in->fabric;
    if (who->kind == FAB_SELECT_GUID) {
        take_one(f, fab_fabric_port_by_guid(f, who->guid), take, ctx);
    } else if (who->kind == FAB_SELECT_SELF) {
        take_one(f, f->self_port, take, ctx);
    } else if (who->kind == FAB_SELECT_GROUP) {
        const struct fab_port_group *g = &in->partitions->group[who->group];
        for (size_t i = 0; i < g->count; i++)
            fab_partition_select_ports(in, &g->member[i], take, ctx);
    } else {
        for (uint32_t port = 0; port < f->port_count; port++)
            if (fab_fabric_port_has_lid(f, port) &&
                fab_target_selector_matches(f, in->pins, who, port))
                take(ctx, port);
    }
}
