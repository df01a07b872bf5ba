/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dressing a generated fabric: the same devices and cables again, with what was asked for.
 *
 * Missing cables are taken in a random order, each unless what is left would fall apart. Those that
 * would be refused are known beforehand: they are the forest that Kruskal's algorithm finds in the
 * opposite order (the last cable first).
 *
 * GUIDs follow make.c; planes are 2^24 apart, which is more than a fabric of 2^20 nodes needs.
 */
#include <stdio.h>
#include <string.h>

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/make.h"

#define PLANE_SHIFT 24
#define MAX_PLANE 255
#define MILLION 1000000

struct dressing {
    struct maker m;
    const struct fab_fabric *plain;
    const struct fab_variation *variation;
    struct fab_prng prng;
    uint64_t *guids;   /* [nodes + switches]: of the nodes, then of new aggregation nodes */
    uint64_t *missing; /* bitset of ports: the cable of this port, which is the lower end */
    uint32_t *cables;  /* lower end's port of each cable between switches */
    uint32_t cable_count;
};

/* ---- GUIDs -------------------------------------------------------------------------------------
 */

static void shuffle(struct fab_prng *prng, uint64_t *guids, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t j = (size_t)fab_base_prng_below(prng, i);
        uint64_t swap = guids[j];
        guids[j] = guids[i - 1];
        guids[i - 1] = swap;
    }
}

static void give_guids(struct dressing *d)
{
    const struct fab_fabric *f = d->plain;
    uint32_t switches = f->switch_count, fresh = d->variation->aggregation ? switches : 0;
    uint64_t last = 0;
    for (uint32_t n = 0; n < f->node_count; n++) {
        d->guids[n] = f->nodes[n].guid;
        last = f->nodes[n].guid;
    }
    for (uint32_t i = 0; i < fresh; i++)
        d->guids[f->node_count + i] = last + (uint64_t)MAKE_END_STEP * (i + 1);
    if (d->variation->shuffle_guids) {
        shuffle(&d->prng, d->guids, switches);
        shuffle(&d->prng, d->guids + switches, f->node_count - switches + fresh);
    }
    for (uint32_t n = 0; n < f->node_count + fresh; n++)
        d->guids[n] += (uint64_t)d->variation->plane << PLANE_SHIFT;
}

/* ---- missing cables ----------------------------------------------------------------------------
 */

/* The lower end of a cable between switches: port ids of switches are below all others. */
static bool is_trunk(const struct fab_fabric *f, uint32_t port)
{
    uint32_t peer = f->ports[port].peer;
    return peer != FAB_NONE && peer > port && fab_fabric_node_is_switch(f, f->ports[peer].node);
}

static int list_cables(struct dressing *d)
{
    const struct fab_fabric *f = d->plain;
    for (uint32_t p = 0; p < f->port_count; p++)
        d->cable_count += is_trunk(f, p);
    d->cables = fab_base_alloc_array(d->cable_count, sizeof *d->cables);
    if (d->cables == NULL)
        return FAB_E_NOMEM;
    uint32_t count = 0;
    for (uint32_t p = 0; p < f->port_count; p++)
        if (is_trunk(f, p))
            d->cables[count++] = p;
    fab_base_prng_shuffle(&d->prng, d->cables, count);
    return FAB_OK;
}

/* The representative of a switch's part of the forest; the way to it is shortened. */
static uint32_t root_of(uint32_t *of, uint32_t n)
{
    while (of[n] != n) {
        of[n] = of[of[n]];
        n = of[n];
    }
    return n;
}

/* Moves the cables that must stay behind the others, which keep their order; *ret_free counts
 * these. `of`: scratch, [switches]. */
static void set_aside(struct dressing *d, uint32_t *of, uint32_t *ret_free)
{
    const struct fab_fabric *f = d->plain;
    uint32_t to = d->cable_count;
    for (uint32_t n = 0; n < f->switch_count; n++)
        of[n] = n;
    for (uint32_t i = d->cable_count; i-- > 0;) {
        uint32_t p = d->cables[i], x = root_of(of, f->ports[p].node);
        uint32_t y = root_of(of, fab_fabric_peer_node(f, p));
        of[x] = y;
        if (x != y)
            fab_base_bits_set(d->missing, p); /* for now: it must stay */
    }
    for (uint32_t i = d->cable_count; i-- > 0;)
        if (!fab_base_bits_get(d->missing, d->cables[i]))
            d->cables[--to] = d->cables[i];
    memmove(d->cables, d->cables + to, (d->cable_count - to) * sizeof *d->cables);
    fab_base_bits_zero(d->missing, f->port_count);
    *ret_free = d->cable_count - to;
}

static int choose_missing(struct dressing *d)
{
    uint64_t wanted = d->variation->missing;
    uint32_t free_cables = d->cable_count;
    wanted += ((uint64_t)d->cable_count * d->variation->missing_ppm + MILLION / 2) / MILLION;
    if (wanted > 0 && !d->variation->allow_partitioned) {
        uint32_t *of = fab_base_alloc_array(d->plain->switch_count, sizeof *of);
        if (of == NULL)
            return FAB_E_NOMEM;
        set_aside(d, of, &free_cables);
        free(of);
    }
    if (wanted > free_cables)
        return FAB_E_LIMIT;
    for (uint32_t i = 0; i < wanted; i++)
        fab_base_bits_set(d->missing, d->cables[i]);
    return FAB_OK;
}

/* ---- devices and cables ------------------------------------------------------------------------
 */

static bool has_aggregation(const struct fab_fabric *f, uint32_t sw)
{
    for (uint32_t i = 1; i <= f->nodes[sw].num_ports; i++) {
        uint32_t peer = fab_fabric_peer_node(f, f->nodes[sw].first_port + i);
        if (peer != FAB_NONE && f->nodes[peer].aggregation)
            return true;
    }
    return false;
}

static bool needs_aggregation(const struct dressing *d, uint32_t sw)
{
    return d->variation->aggregation && !has_aggregation(d->plain, sw);
}

/* Ports of a switch, without that of a new aggregation node. */
static uint32_t ports_of(struct dressing *d, uint32_t node)
{
    const struct fab_node *n = &d->plain->nodes[node];
    uint32_t radix = d->variation->radix;
    if (n->type != FAB_NODE_SWITCH || radix == 0)
        return n->num_ports;
    if (n->num_ports > radix)
        d->m.status = d->m.status != FAB_OK ? d->m.status : FAB_E_RANGE;
    return radix;
}

static void dress_node(struct dressing *d, uint32_t node)
{
    const struct fab_node *n = &d->plain->nodes[node];
    bool sw = n->type == FAB_NODE_SWITCH;
    char desc[FAB_NODE_DESC_LEN + 8];
    uint32_t ports = ports_of(d, node) + (sw && needs_aggregation(d, node));
    if (d->variation->plane == 0 || n->aggregation)
        snprintf(desc, sizeof desc, "%s", n->desc);
    else if (sw)
        snprintf(desc, sizeof desc, "p%u-%s", d->variation->plane & 255, n->desc);
    else
        snprintf(desc, sizeof desc, "%.59s/p%u", n->desc, d->variation->plane & 255);
    struct fab_device device = {.type = n->type,
                                .num_ports = (uint8_t)ports,
                                .guid = d->guids[node],
                                .vendor_id = n->info.vendor_id,
                                .device_id = n->info.device_id,
                                .enhanced_port0 = sw && d->plain->switches[node].enhanced_port0,
                                .desc = desc,
                                .desc_len = strlen(desc)};
    if (ports > 254)
        d->m.status = d->m.status != FAB_OK ? d->m.status : FAB_E_RANGE;
    fab_fabric_make_device(&d->m, &device);
}

static void dress_cable(struct dressing *d, uint32_t port)
{
    const struct fab_port *p = &d->plain->ports[port];
    if (p->peer == FAB_NONE || p->peer < port || fab_base_bits_get(d->missing, port))
        return;
    const struct fab_port *q = &d->plain->ports[p->peer];
    d->m.rate = d->variation->rate != NULL ? *d->variation->rate : p->info;
    fab_fabric_make_link(&d->m, p->node, p->num, q->node, q->num);
}

/* After the nodes, whose references are their ids. */
static void add_aggregation(struct dressing *d)
{
    const struct fab_fabric *f = d->plain;
    const struct fab_port_info usual = d->m.rate;
    for (uint32_t sw = 0; sw < f->switch_count && d->m.status == FAB_OK; sw++) {
        if (!needs_aggregation(d, sw))
            continue;
        d->m.rate = d->variation->rate != NULL ? *d->variation->rate : usual;
        uint32_t ref = fab_fabric_make_aggregation_with_guid(&d->m, d->guids[f->node_count + sw]);
        fab_fabric_make_link(&d->m, sw, ports_of(d, sw) + 1, ref, 1);
    }
}

static void put_on(struct dressing *d)
{
    const struct fab_fabric *f = d->plain;
    for (uint32_t n = 0; n < f->node_count && d->m.status == FAB_OK; n++)
        dress_node(d, n);
    add_aggregation(d);
    for (uint32_t p = 0; p < f->port_count && d->m.status == FAB_OK; p++)
        dress_cable(d, p);
}

static void dressing_fini(struct dressing *d)
{
    free(d->guids);
    free(d->missing);
    free(d->cables);
}

/* FAB_OK: everything that is drawn is drawn. */
static int draw(struct dressing *d)
{
    const struct fab_fabric *f = d->plain;
    if (d->variation->plane > MAX_PLANE || d->variation->radix > 254 ||
        d->variation->missing_ppm > MILLION)
        return FAB_E_RANGE;
    d->guids = fab_base_alloc_array((size_t)f->node_count + f->switch_count, sizeof *d->guids);
    d->missing = fab_base_bits_new(f->port_count);
    if (d->guids == NULL || d->missing == NULL)
        return FAB_E_NOMEM;
    fab_base_prng_init(&d->prng, d->variation->seed + d->variation->plane);
    give_guids(d);
    int status = list_cables(d);
    return status == FAB_OK ? choose_missing(d) : status;
}

int fab_fabric_generate_variation(const struct fab_fabric *plain,
                                  const struct fab_variation *variation, struct fab_builder **ret)
{
    struct dressing d = {.plain = plain, .variation = variation};
    int status = draw(&d);
    if (status == FAB_OK) {
        fab_fabric_make_init(&d.m);
        put_on(&d);
        status = fab_fabric_make_finish(&d.m, ret);
    }
    dressing_fini(&d);
    return status;
}
