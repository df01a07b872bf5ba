/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Grows spanning trees branch by branch, breadth first from a root. A branch is a link of the tree.
 * If a branch would close a cycle of channel dependencies, it is left out for good, because more
 * branches only add dependencies. So each link is tried at most once. If the finished tree lacks a
 * switch, other roots are tried.
 *
 * The VL on which a packet leaves a switch depends on the class of the port by which the packet
 * entered the switch. If a branch is added at a switch, packets may therefore leave by the older
 * branches on further VLs. To exclude this, packets of a tree are assumed to enter a switch by any
 * of its ports, including ports that are not in the tree. So all VLs of a branch are known when the
 * branch is added.
 */
#include "libfabmgr/spanning/spanning.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/spanning/order.h"

/* maximum number of roots that are tried for a connected part of the fabric */
#define ROOTS_MAX 16

/* a channel dependency that was added for the tree that is being grown */
struct added {
    uint32_t channel;
    uint8_t num, vl;
};
struct draft {
    struct fab_spanning_order order;
    const struct fab_verify_graph *graph;
    const struct fab_fabric *f;
    const struct fab_vls *vls; /* NULL: one VL */
    uint16_t sls;
    uint32_t vl_count;
    uint32_t reserved; /* number of switches in vls->branch[]; 0: the engine reserved no tree */
    /* [switches] bitset of the port classes of the ports of each switch; always includes class 0 */
    uint16_t *classes;
    uint64_t *ends; /* bitset of the switches with endports */
    /* bitset of the ports at both ends of each branch of all trees */
    uint64_t *branch;
    /* [switches] the switches of the tree that is being grown, the root first */
    uint32_t *queue;
    struct added *added;
    size_t count, room;
    bool failed; /* memory ran out */
    struct fab_mcast_guide guide;
};

/* ---- VLs ------------------------------------------------------------------------------------- */

static uint8_t class_of(const struct draft *d, uint32_t port)
{
    return d->vl_count > 1 ? fab_target_vls_port_class(d->vls, port) : 0;
}

/* Returns the VL on which a packet leaves a switch by port `out`, if it entered by a port of class
 * `in`; vl_count: the switch drops the packet. */
static uint32_t vl_of(const struct draft *d, uint8_t in, uint32_t out, uint8_t sl)
{
    if (d->vl_count == 1)
        return 0;
    uint8_t vl = d->vls->vl[in][class_of(d, out)][sl];
    return vl == FAB_VLS_MAX ? d->vl_count : vl % d->vl_count;
}

/* Returns a bitset of the VLs on which packets of service level `sl` can leave a switch by `port`.
 */
static uint32_t vls_out(const struct draft *d, uint32_t port, uint8_t sl)
{
    uint32_t set = 0;
    for (unsigned class = 0; class < FAB_VL_CLASSES; class ++)
        if (d->classes[fab_fabric_port(d->f, port)->node] >> class & 1)
            set |= UINT32_C(1) << vl_of(d, (uint8_t) class, port, sl);
    return set & ((UINT32_C(1) << d->vl_count) - 1);
}

/* ---- dependencies ---------------------------------------------------------------------------- */

static bool add(struct draft *d, uint32_t channel, uint32_t num, uint32_t vl)
{
    struct added *more = d->added;
    if (fab_verify_deps_has(&d->order.deps, channel, num, vl))
        return true;
    if (d->count == d->room)
        more = fab_base_grow(d->added, sizeof(*more), d->count + 1, &d->room);
    d->failed |= more == NULL;
    if (more == NULL)
        return false;
    d->added = more;
    if (!fab_spanning_order_add(&d->order, channel, num, vl))
        return false;
    more[d->count++] = (struct added){channel, (uint8_t)num, (uint8_t)vl};
    return true;
}

static void take_back(struct draft *d, size_t count)
{
    while (d->count > count) {
        const struct added *a = &d->added[--d->count];
        fab_spanning_order_remove(&d->order, a->channel, a->num, a->vl);
    }
}

/* Adds the dependencies of packets that enter a switch by port `in` and leave by port `out`.
 * Returns false if a dependency would close a cycle, or there is no memory (d->failed); the caller
 * must then remove the dependencies that were added before (take_back). */
static bool connect(struct draft *d, uint32_t in, uint32_t out)
{
    const uint32_t from = fab_fabric_port(d->f, in)->peer, num = fab_fabric_port(d->f, out)->num;
    bool free = true;
    for (uint8_t sl = 0; sl < FAB_SLS && free; sl++) {
        uint32_t vls = (d->sls >> sl & 1) != 0 ? vls_out(d, from, sl) : 0;
        uint32_t vl = vl_of(d, class_of(d, in), out, sl);
        for (uint32_t on = 0; on < d->vl_count && vl < d->vl_count && free; on++)
            if (vls >> on & 1)
                free = add(d, from * d->vl_count + on, num, vl);
    }
    return free;
}

/* ---- one tree -------------------------------------------------------------------------------- */

/* Adds a branch: the link at `port`, which leads to a switch that is not yet in a tree. If the
 * branch would close a cycle, adds nothing and returns false. */
static bool add_branch(struct draft *d, uint32_t port)
{
    const struct fab_verify_graph *g = d->graph;
    uint32_t sw = fab_fabric_port(d->f, port)->node, peer = fab_fabric_port(d->f, port)->peer;
    size_t count = d->count;
    for (uint32_t num = 1; num < g->port_room[sw]; num++) {
        uint32_t other = g->first[sw] + num;
        if (!fab_base_bits_get(d->branch, other))
            continue;
        if (!connect(d, other, port) || !connect(d, port, other)) {
            take_back(d, count);
            return false;
        }
    }
    fab_base_bits_set(d->branch, port);
    fab_base_bits_set(d->branch, peer);
    d->guide.up[g->hop[port]] = peer;
    d->guide.root[g->hop[port]] = d->guide.root[sw];
    return true;
}

/* Returns true if the link at `port` is a branch of the tree that the engine reserved. */
static bool is_reserved(const struct draft *d, uint32_t port)
{
    const struct fab_port *a = fab_fabric_port(d->f, port), *b = fab_fabric_port(d->f, a->peer);
    return (a->node < d->reserved && d->vls->branch[a->node] == a->num) ||
           (b->node < d->reserved && d->vls->branch[b->node] == b->num);
}

/* Extends the tree, whose switches are queue[0] to queue[count - 1], breadth first. If
 * `only_reserved` is true, adds only branches that the engine reserved. Returns the number of
 * switches that the tree then has. */
static uint32_t extend(struct draft *d, uint32_t count, bool only_reserved)
{
    const struct fab_verify_graph *g = d->graph;
    for (uint32_t at = 0; at < count && !d->failed; at++) {
        uint32_t sw = d->queue[at];
        for (uint32_t num = 1; num < g->port_room[sw]; num++) {
            uint32_t port = g->first[sw] + num, next = g->hop[port];
            if (next < g->n && d->guide.root[next] == FAB_NONE &&
                d->f->switches[next].multicast_fdb_cap > 0 &&
                (!only_reserved || is_reserved(d, port)) && add_branch(d, port))
                d->queue[count++] = next;
        }
    }
    return count;
}

/* Grows a tree from a root. Begins with the branches that the engine reserved, if `from_reserved`
 * is true. Returns the number of switches of the tree. */
static uint32_t grow(struct draft *d, uint32_t root, bool from_reserved)
{
    uint32_t count = 1;
    d->queue[0] = root;
    d->guide.root[root] = root;
    if (from_reserved)
        count = extend(d, count, true);
    return extend(d, count, false);
}

static void cut_down(struct draft *d, uint32_t count, size_t added)
{
    take_back(d, added);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t *up = &d->guide.up[d->queue[i]];
        if (*up != FAB_NONE) {
            fab_base_bits_clear(d->branch, *up);
            fab_base_bits_clear(d->branch, fab_fabric_port(d->f, *up)->peer);
        }
        *up = d->guide.root[d->queue[i]] = FAB_NONE;
    }
}

/* ---- one part of the fabric ------------------------------------------------------------------ */

static bool is_in(const struct draft *d, uint32_t sw, uint32_t part)
{
    return d->graph->component[sw] == part && d->f->switches[sw].multicast_fdb_cap > 0;
}

static uint32_t ends_in(const struct draft *d, uint32_t count)
{
    uint32_t ends = 0;
    for (uint32_t i = 0; i < count; i++)
        ends += fab_base_bits_get(d->ends, d->queue[i]);
    return ends;
}

/* Makes the tree of a connected part of the fabric. Tries roots, at most ROOTS_MAX, until a tree
 * contains all switches of the part that have an MFT. If no tree does, takes the tree with the most
 * switches that have endports. */
static void span_part(struct draft *d, uint32_t part)
{
    uint32_t size = 0, ends = 0, best = FAB_NONE, most = 0, most_ends = 0, seen = 0, tried = 0;
    bool best_reserved = false;
    const size_t added = d->count;
    for (uint32_t sw = part; sw < d->graph->n; sw++) {
        size += is_in(d, sw, part);
        ends += is_in(d, sw, part) && fab_base_bits_get(d->ends, sw);
    }
    for (uint32_t sw = part; sw < d->graph->n && !d->failed; sw++) {
        if (!is_in(d, sw, part) || (uint64_t)seen++ * ROOTS_MAX < (uint64_t)tried * size)
            continue;
        bool from_reserved = tried == 0 && d->reserved > 0;
        uint32_t count = grow(d, sw, from_reserved), with_ends = ends_in(d, count);
        tried++;
        if (count == size)
            return;
        cut_down(d, count, added);
        if (best == FAB_NONE || with_ends > most_ends || (with_ends == most_ends && count > most)) {
            best = sw;
            best_reserved = from_reserved;
            most = count;
            most_ends = with_ends;
        }
    }
    if (best != FAB_NONE && !d->failed)
        (void)grow(d, best, best_reserved);
    d->guide.missed += ends - most_ends;
}

/* ---- all parts ------------------------------------------------------------------------------- */

static void read_ports(struct draft *d)
{
    const struct fab_verify_graph *g = d->graph;
    for (uint32_t sw = 0; sw < g->n; sw++) {
        d->classes[sw] = 1;
        for (uint32_t num = 1; num < g->port_room[sw]; num++) {
            uint32_t port = g->first[sw] + num;
            if (g->hop[port] < g->n)
                d->classes[sw] |= (uint16_t)(1u << class_of(d, port));
            else if (g->hop[port] == FAB_HOP_ENDPORT)
                fab_base_bits_set(d->ends, sw);
        }
    }
}

static int open_draft(struct draft *d, const struct fab_verify_channels *unicast, uint16_t sls)
{
    *d = (struct draft){.graph = &unicast->graph,
                        .f = unicast->in.fabric,
                        .vls = unicast->in.vls,
                        .vl_count = unicast->unicast.vl_count,
                        .sls = unicast->unicast.vl_count > 1 && sls != 0 ? sls : 1};
    if (d->vls != NULL && d->vls->branch != NULL)
        d->reserved = d->vls->branch_switches;
    int status = fab_spanning_order_init(&d->order, unicast);
    if (status != FAB_OK)
        return status;
    d->classes = fab_base_alloc_array(d->graph->n, sizeof(*d->classes));
    d->queue = fab_base_alloc_array(d->graph->n, sizeof(*d->queue));
    d->ends = fab_base_bits_new(d->graph->n);
    d->branch = fab_base_bits_new(d->graph->ports);
    d->guide.switches = d->graph->n;
    d->guide.up = fab_base_alloc_array(d->graph->n, sizeof(*d->guide.up));
    d->guide.root = fab_base_alloc_array(d->graph->n, sizeof(*d->guide.root));
    if (!d->classes || !d->queue || !d->ends || !d->branch || !d->guide.up || !d->guide.root)
        return FAB_E_NOMEM;
    memset(d->guide.up, 0xff, d->graph->n * sizeof(*d->guide.up));
    memset(d->guide.root, 0xff, d->graph->n * sizeof(*d->guide.root));
    read_ports(d);
    return FAB_OK;
}

static void close_draft(struct draft *d)
{
    fab_spanning_order_fini(&d->order);
    free(d->classes);
    free(d->queue);
    free(d->ends);
    free(d->branch);
    free(d->added);
    fab_mcast_guide_fini(&d->guide);
}

int fab_spanning_make(const struct fab_verify_channels *unicast, uint16_t sls,
                      struct fab_mcast_guide *ret)
{
    struct draft d;
    int status = open_draft(&d, unicast, sls);
    for (uint32_t part = 0; status == FAB_OK && part < d.graph->n; part++)
        if (d.graph->component[part] == part)
            span_part(&d, part);
    if (status == FAB_OK && d.failed)
        status = FAB_E_NOMEM;
    if (status == FAB_OK) {
        *ret = d.guide;
        d.guide = (struct fab_mcast_guide){0};
    }
    close_draft(&d);
    return status;
}
