/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The network of a repair: the data that faults do not change. It has the peer of each switch port,
 * the switch that delivers each LID, and the labels (labels/labels.c). Clones of a repair share its
 * network. The network has no pointers into the fabric or its tables, so these may be freed.
 *
 * It takes 5 bytes per port of a switch, 4 more per port for each VL of each set of labels, up to
 * 20 bytes per switch, and up to 5 bytes per LID. If the VL depends on the pair of switches, it
 * takes one more byte per pair, and 16 more per port for each VL (32 if a switch has more than 63
 * ports) for the channel dependencies.
 */
#include "libfabmgr/repair/internal.h"

#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

static int alloc_base(struct fab_repair_network *b)
{
    size_t n = (size_t)b->n + 1, ports = (size_t)b->ports + 1, top = (size_t)b->top + 1;
    b->first = fab_base_arena_alloc(&b->arena, n, sizeof(*b->first));
    b->peer_sw = fab_base_arena_alloc(&b->arena, ports, sizeof(*b->peer_sw));
    b->peer_num = fab_base_arena_alloc(&b->arena, ports, sizeof(*b->peer_num));
    b->home = fab_base_arena_alloc(&b->arena, top, sizeof(*b->home));
    b->is_endport =
        fab_base_arena_alloc(&b->arena, fab_base_bits_words(top), sizeof(*b->is_endport));
    b->attached = fab_base_arena_alloc(&b->arena, n, sizeof(*b->attached));
    b->degree = fab_base_arena_alloc(&b->arena, n, sizeof(*b->degree));
    b->group = fab_base_arena_alloc(&b->arena, n, sizeof(*b->group));
    return !b->arena.failed ? FAB_OK : FAB_E_NOMEM;
}

static void find_peers(struct fab_repair_network *b, const struct fab_fabric *f)
{
    for (uint32_t sw = 0; sw < b->n; sw++) {
        b->first[sw] = f->nodes[sw].first_port;
        for (unsigned num = 0; num <= f->nodes[sw].num_ports; num++) {
            uint32_t port = fab_fabric_port_id(f, sw, (uint8_t)num);
            b->peer_sw[port] = FAB_NONE;
            if (num == 0 || !fab_fabric_port_is_up(f, port))
                continue;
            const struct fab_port *peer = fab_fabric_port(f, fab_fabric_port(f, port)->peer);
            if (!fab_fabric_node_is_switch(f, peer->node)) {
                b->attached[sw]++;
                continue;
            }
            b->peer_sw[port] = peer->node;
            b->peer_num[port] = peer->num;
            b->degree[sw]++;
        }
    }
    b->first[b->n] = b->ports;
}

/* Returns the switch to which the first ISL of `sw` leads; FAB_NONE: it has no ISL. */
static uint32_t first_neighbour(const struct fab_repair_network *b, uint32_t sw)
{
    for (uint32_t port = b->first[sw] + 1; port < b->first[sw + 1]; port++) {
        if (b->peer_sw[port] != FAB_NONE)
            return b->peer_sw[port];
    }
    return FAB_NONE;
}

/* Sets the group of each switch. Groups of switches with endports are numbered from 0. Any other
 * switch is a group of its own, and has a number from b->n on. */
static int find_groups(struct fab_repair_network *b)
{
    uint32_t groups = 0, *of = fab_base_alloc_array((size_t)b->n + 1, sizeof(*of));
    if (of == NULL)
        return FAB_E_NOMEM;
    memset(of, 0xff, ((size_t)b->n + 1) * sizeof(*of));
    for (uint32_t sw = 0; sw < b->n; sw++) {
        uint32_t near = b->attached[sw] > 0 ? first_neighbour(b, sw) : FAB_NONE;
        if (near != FAB_NONE && of[near] == FAB_NONE)
            of[near] = groups++;
        b->group[sw] = near != FAB_NONE ? of[near] : b->n + sw;
    }
    free(of);
    return FAB_OK;
}

/* Returns the switch that delivers packets to `port`; FAB_NONE: the port is not connected to a
 * switch. */
static uint32_t home_of(const struct fab_fabric *f, uint32_t port)
{
    const struct fab_port *p = fab_fabric_port(f, port);
    if (fab_fabric_node_is_switch(f, p->node))
        return p->node;
    return fab_fabric_port_is_up(f, port) &&
                   fab_fabric_node_is_switch(f, fab_fabric_port(f, p->peer)->node)
               ? fab_fabric_port(f, p->peer)->node
               : FAB_NONE;
}

static void find_homes(struct fab_repair_network *b, const struct fab_repair_input *in)
{
    for (uint32_t lid = 0; lid <= b->top; lid++) {
        uint32_t owner = lid <= in->lids->top ? in->lids->owner[lid] : FAB_NONE;
        b->home[lid] = owner != FAB_NONE ? home_of(in->fabric, owner) : FAB_NONE;
        if (owner != FAB_NONE &&
            !fab_fabric_node_is_switch(in->fabric, fab_fabric_port(in->fabric, owner)->node))
            fab_base_bits_set(b->is_endport, lid);
    }
}

static bool input_fits(const struct fab_repair_input *in)
{
    const struct fab_lft *t = in->lft;
    return t->switch_count == in->fabric->switch_count &&
           in->lids->port_count == in->fabric->port_count && t->top >= in->lids->top;
}

int fab_repair_network_new(const struct fab_repair_input *in, struct fab_repair_network **ret)
{
    const struct fab_fabric *f = in->fabric;
    if (!input_fits(in))
        return FAB_E_INVAL;
    struct fab_repair_network *b = calloc(1, sizeof(*b));
    if (b == NULL)
        return FAB_E_NOMEM;
    *b = (struct fab_repair_network){.refs = 1,
                                     .n = f->switch_count,
                                     .top = in->lids->top,
                                     .vl_count = 1,
                                     .sets = 1,
                                     .max_hops = in->policy->max_hops};
    if (b->n > 0)
        b->ports = f->nodes[b->n - 1].first_port + f->nodes[b->n - 1].num_ports + 1u;
    int status = alloc_base(b);
    if (status == FAB_OK) {
        find_peers(b, f);
        find_homes(b, in);
        status = find_groups(b);
    }
    if (status != FAB_OK) {
        fab_repair_network_unref(b);
        return status;
    }
    *ret = b;
    return FAB_OK;
}

struct fab_repair_network *fab_repair_network_ref(struct fab_repair_network *b)
{
    __atomic_add_fetch(&b->refs, 1, __ATOMIC_RELAXED);
    return b;
}

void fab_repair_network_unref(struct fab_repair_network *b)
{
    if (b == NULL || __atomic_sub_fetch(&b->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    fab_base_arena_fini(&b->arena);
    free(b->vl);
    free(b->pair_vl);
    free(b->flat);
    free(b->next);
    free(b->previous);
    free(b->preferred);
    free(b->order);
    free(b->label);
    free(b);
}

size_t fab_repair_network_memory(const struct fab_repair_network *b)
{
    size_t a_switch = (b->order != NULL ? 5 : 4) * sizeof(uint32_t),
           a_port = sizeof(*b->peer_sw) + sizeof(*b->peer_num);
    size_t a_lid = sizeof(*b->home) + (b->vl != NULL ? sizeof(*b->vl) : 0);
    if (b->pair_vl != NULL) {
        a_switch += b->n * sizeof(*b->pair_vl);
        a_port += sizeof(*b->flat) + 1 + 2 * b->vl_count * b->words * sizeof(*b->next);
    }
    return sizeof(*b) + a_switch * b->n + a_port * b->ports + a_lid * ((size_t)b->top + 1) +
           sizeof(*b->label) * b->sets * b->vl_count * b->ports;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static bool labels_agree(const struct fab_repair_network *a, const struct fab_repair_network *b)
{
    size_t rows = (size_t)a->sets * a->vl_count;
    for (uint32_t port = 0; port < a->ports; port++) {
        if (a->peer_sw[port] == FAB_NONE || a->peer_sw[port] != b->peer_sw[port])
            continue;
        if (a->peer_num[port] != b->peer_num[port])
            return false;
        for (size_t row = 0; row < rows; row++) {
            if (a->label[row * a->ports + port] != b->label[row * b->ports + port])
                return false;
        }
    }
    return true;
}

bool fab_repair_networks_agree(const struct fab_repair_network *a,
                               const struct fab_repair_network *b)
{
    if (a->n != b->n || a->ports != b->ports || a->top != b->top || a->vl_count != b->vl_count ||
        a->max_hops != b->max_hops || a->sets != b->sets ||
        (a->order == NULL) != (b->order == NULL) || (a->vl == NULL) != (b->vl == NULL) ||
        (a->pair_vl == NULL) != (b->pair_vl == NULL))
        return false;
    return memcmp(a->first, b->first, ((size_t)a->n + 1) * sizeof(*a->first)) == 0 &&
           (a->order == NULL || memcmp(a->order, b->order, a->n * sizeof(*a->order)) == 0) &&
           (a->vl == NULL || memcmp(a->vl, b->vl, (size_t)a->top + 1) == 0) &&
           (a->pair_vl == NULL ||
            (memcmp(a->pair_vl, b->pair_vl, (size_t)a->n * a->n) == 0 &&
             memcmp(a->preferred, b->preferred,
                    fab_base_bits_words(a->ports) * sizeof(*a->preferred)) == 0)) &&
           labels_agree(a, b);
}
