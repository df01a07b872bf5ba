/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the endports to measure, the leaves to which they are attached, and the switch to which
 * each channel leads. If the caller gives no list, the endports to measure are those of adapters
 * and routers that have a LID and a working link to a switch. Endports of aggregation nodes are
 * left out, because they neither send nor receive on behalf of a job.
 */
#include "libfabmgr/study/measurement.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/condition.h"

static uint32_t rate_of(const struct fab_measurement *f, uint32_t port)
{
    return fab_wire_link_rate(&fab_fabric_port(f->in->fabric, port)->info);
}

static void find_channels(struct fab_measurement *f)
{
    const struct fab_fabric *fabric = f->in->fabric;
    uint32_t fastest = 0;
    for (uint32_t sw = 0; sw < f->switches; sw++)
        f->first[sw] = fabric->nodes[sw].first_port;
    for (uint32_t port = 0; port < f->ports; port++) {
        uint32_t peer = fab_fabric_peer_node(fabric, port);
        bool channel = peer < f->switches && peer != fab_fabric_port(fabric, port)->node &&
                       fab_fabric_port_is_up(fabric, port);
        f->to[port] = channel ? peer : FAB_NONE;
        f->channels += channel;
        if (channel && rate_of(f, port) > fastest)
            fastest = rate_of(f, port);
    }
    for (uint32_t port = 0; port < f->ports; port++)
        f->slow[port] =
            f->to[port] != FAB_NONE ? fab_fabric_slowness(rate_of(f, port), fastest) : 0;
}

/* Finds the switch to which an endport is attached, and the port of that switch. Returns false if
 * the endport can neither send nor receive: it has no LID, its LID is above the LFTs, or it has no
 * working link to a switch. Also returns false if `port` is not the id of an endport. */
static bool attachment(const struct fab_measurement *f, uint32_t port, uint32_t *ret_sw,
                       uint8_t *ret_num)
{
    const struct fab_fabric *fabric = f->in->fabric;
    if (port < f->ports || port >= fabric->port_count || f->in->lids->base[port] == 0 ||
        f->in->lids->base[port] > f->in->lft->top)
        return false;
    uint32_t sw = fab_fabric_peer_node(fabric, port);
    if (sw >= f->switches || !fab_fabric_port_is_up(fabric, port))
        return false;
    *ret_sw = sw;
    *ret_num = fab_fabric_port(fabric, fab_fabric_port(fabric, port)->peer)->num;
    return true;
}

static int add_end(struct fab_measurement *f, uint32_t port)
{
    struct fab_measured_endport *e = &f->ends[f->end_count];
    uint32_t sw;
    if (!attachment(f, port, &sw, &e->num))
        return FAB_E_INVAL;
    if (f->leaf_at[sw] == FAB_NONE) {
        f->leaf_at[sw] = f->leaf_count;
        f->leaves[f->leaf_count++] = (struct fab_measured_leaf){.sw = sw};
    }
    e->port = port;
    e->lid = f->in->lids->base[port];
    e->leaf = f->leaf_at[sw];
    f->leaves[e->leaf].ends++;
    f->end_count++;
    return FAB_OK;
}

static void add_all(struct fab_measurement *f)
{
    const struct fab_fabric *fabric = f->in->fabric;
    for (uint32_t port = f->ports; port < fabric->port_count; port++)
        if (!fabric->nodes[fab_fabric_port(fabric, port)->node].aggregation)
            (void)add_end(f, port);
}

static int add_listed(struct fab_measurement *f)
{
    uint64_t *seen = fab_base_bits_new(f->in->fabric->port_count);
    int rc = seen != NULL ? FAB_OK : FAB_E_NOMEM;
    for (uint32_t i = 0; i < f->in->end_count && rc == FAB_OK; i++) {
        rc = add_end(f, f->in->ends[i]);
        if (rc == FAB_OK && !fab_base_bits_add(seen, f->in->ends[i]))
            rc = FAB_E_INVAL;
    }
    free(seen);
    return rc;
}

static void add_leaf_capacities(struct fab_measurement *f)
{
    for (uint32_t i = 0; i < f->leaf_count; i++) {
        uint32_t sw = f->leaves[i].sw;
        uint32_t end = sw + 1 < f->switches ? f->first[sw + 1] : f->ports;
        for (uint32_t port = f->first[sw]; port < end; port++)
            f->leaves[i].capacity += f->slow[port] > 0 ? 1.0 / f->slow[port] : 0;
    }
}

static int allocate(struct fab_measurement *f)
{
    const struct fab_fabric *fabric = f->in->fabric;
    uint32_t room = f->in->ends != NULL ? f->in->end_count : fabric->port_count - f->ports;
    f->first = fab_base_arena_alloc(&f->arena, f->switches, sizeof *f->first);
    f->to = fab_base_arena_alloc(&f->arena, f->ports, sizeof *f->to);
    f->slow = fab_base_arena_alloc(&f->arena, f->ports, sizeof *f->slow);
    f->leaf_at = fab_base_arena_alloc(&f->arena, f->switches, sizeof *f->leaf_at);
    f->leaves = fab_base_arena_alloc(&f->arena, f->switches, sizeof *f->leaves);
    f->ends = fab_base_arena_alloc(&f->arena, (size_t)room + 1, sizeof *f->ends);
    if (f->arena.failed)
        return FAB_E_NOMEM;
    memset(f->leaf_at, 0xff, f->switches * sizeof *f->leaf_at);
    return FAB_OK;
}

static int fill(struct fab_measurement *f)
{
    int rc = FAB_OK;
    find_channels(f);
    if (f->in->ends != NULL)
        rc = add_listed(f);
    else
        add_all(f);
    if (rc < 0)
        return rc;
    add_leaf_capacities(f);
    f->words = fab_base_bits_words(f->end_count);
    f->broken = fab_base_arena_alloc(&f->arena, (size_t)f->leaf_count + 1,
                                     (f->words + 1) * sizeof *f->broken);
    if (f->arena.failed)
        return FAB_E_NOMEM;
    return f->in->ends != NULL ? FAB_OK : fab_study_measurement_order(f);
}

int fab_study_measurement_make(const struct fab_quality_input *in, struct fab_measurement *ret)
{
    const struct fab_fabric *fabric = in->fabric;
    struct fab_measurement f = {.in = in, .switches = fabric->switch_count};
    f.ports = fabric->switch_count < fabric->node_count
                  ? fabric->nodes[fabric->switch_count].first_port
                  : fabric->port_count;
    int rc = allocate(&f);
    if (rc == FAB_OK)
        rc = fill(&f);
    if (rc == FAB_OK)
        *ret = f;
    else
        fab_study_measurement_fini(&f);
    return rc;
}

void fab_study_measurement_fini(struct fab_measurement *f)
{
    fab_base_arena_fini(&f->arena);
}
