/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers the switches of a lattice from 0; the last coordinate changes fastest. Hosts are
 * connected to the first ports of their switch. */
#include "libfabmgr/fabric/lattice.h"

#include <stdio.h>

#include "libfabmgr/base/status.h"

int fab_fabric_lattice_init(struct lattice *l, uint32_t dimensions, const uint32_t *size,
                            uint32_t hosts)
{
    uint64_t count = 1;
    if (dimensions == 0 || dimensions > FAB_GENERATE_DIMENSIONS || hosts > 254)
        return FAB_E_RANGE;
    *l = (struct lattice){.dimensions = dimensions};
    for (uint32_t d = dimensions; d-- > 0;) {
        l->size[d] = size[d];
        l->step[d] = (uint32_t)count;
        count *= size[d];
        if (count == 0 || count * (hosts + 1) > MAKE_NODE_LIMIT)
            return FAB_E_RANGE;
    }
    l->count = (uint32_t)count;
    return FAB_OK;
}

static void make_one(const struct lattice *l, struct maker *m, const char *stem, uint32_t ports)
{
    char desc[FAB_NODE_DESC_LEN + 1];
    uint32_t sw = m->switches;
    size_t len = (size_t)snprintf(desc, sizeof desc, "%s", stem);
    for (uint32_t d = 0; d < l->dimensions; d++)
        len += (size_t)snprintf(desc + len, sizeof desc - len, "-%0*u",
                                (int)fab_fabric_make_width(l->size[d] - 1, 1),
                                fab_fabric_lattice_at(l, sw, d));
    fab_fabric_make_switch_named(m, ports, desc);
}

void fab_fabric_lattice_switches(const struct lattice *l, struct maker *m, const char *stem,
                                 uint32_t ports, uint32_t hosts)
{
    for (uint32_t i = 0; i < l->count && m->status == FAB_OK; i++)
        make_one(l, m, stem, ports);
    for (uint32_t i = 0; i < l->count && m->status == FAB_OK; i++)
        fab_fabric_make_hosts(m, i, hosts, (uint64_t)l->count * hosts);
}
