/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes a variation of a generated fabric: a fabric with the same devices and links, except for the
 * requested changes.
 *
 * Links are removed in a random order. Some links must stay to keep the fabric connected. These
 * links are found first, as a spanning forest: Kruskal's algorithm visits the links in the reverse
 * of the random order.
 *
 * GUIDs are assigned as in make.c. The GUIDs of successive planes differ by 2^24, which is more
 * than a fabric of 2^20 nodes needs.
 */
#include <stdio.h>
#include <string.h>

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/sets.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/make.h"

#define PLANE_SHIFT 24
#define MAX_PLANE 255
#define MILLION 1000000

struct varying {
    struct maker m;
    const struct fab_fabric *plain;
    const struct fab_variation *variation;
    struct fab_prng prng;
    /* [nodes + switches] the GUIDs of all nodes, followed by the GUIDs of added aggregation
     * nodes */
    uint64_t *guids;
    /* Bitset of port ids: the links to remove. A link is marked at the lower of its two port
     * ids. */
    uint64_t *missing;
    /* [link_count] all ISLs, each as the lower of its two port ids */
    uint32_t *links;
    uint32_t link_count;
};

/* ---- GUIDs ----------------------------------------------------------------------------------- */

static void shuffle(struct fab_prng *prng, uint64_t *guids, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t j = (size_t)fab_base_prng_below(prng, i);
        uint64_t swap = guids[j];
        guids[j] = guids[i - 1];
        guids[i - 1] = swap;
    }
}

static void assign_guids(struct varying *d)
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

/* ---- missing links --------------------------------------------------------------------------- */

/* Returns true if the port belongs to an ISL, and has the lower id of the two ports of this ISL.
 * (Switches have the lowest port ids.) */
static bool is_lower_isl_port(const struct fab_fabric *f, uint32_t port)
{
    uint32_t peer = fab_fabric_port(f, port)->peer;
    return peer != FAB_NONE && peer > port &&
           fab_fabric_node_is_switch(f, fab_fabric_port(f, peer)->node);
}

static int list_links(struct varying *d)
{
    const struct fab_fabric *f = d->plain;
    for (uint32_t p = 0; p < f->port_count; p++)
        d->link_count += is_lower_isl_port(f, p);
    d->links = fab_base_alloc_array(d->link_count, sizeof *d->links);
    if (d->links == NULL)
        return FAB_E_NOMEM;
    uint32_t count = 0;
    for (uint32_t p = 0; p < f->port_count; p++)
        if (is_lower_isl_port(f, p))
            d->links[count++] = p;
    fab_base_prng_shuffle(&d->prng, d->links, count);
    return FAB_OK;
}

/* Deletes from the list d->links those links that must stay in the fabric to keep it connected. The
 * order of the other links does not change. *ret_free is the number of links that are left in
 * d->links. `sets` is scratch memory, [switches]. */
static void keep_removable(struct varying *d, uint32_t *sets, uint32_t *ret_free)
{
    const struct fab_fabric *f = d->plain;
    uint32_t to = d->link_count;
    fab_base_sets_init(sets, f->switch_count);
    for (uint32_t i = d->link_count; i-- > 0;) {
        uint32_t p = d->links[i];
        if (fab_base_sets_join(sets, fab_fabric_port(f, p)->node, fab_fabric_peer_node(f, p)))
            /* this function borrows d->missing: a set bit means that the link must stay */
            fab_base_bits_set(d->missing, p);
    }
    for (uint32_t i = d->link_count; i-- > 0;)
        if (!fab_base_bits_get(d->missing, d->links[i]))
            d->links[--to] = d->links[i];
    memmove(d->links, d->links + to, (d->link_count - to) * sizeof *d->links);
    fab_base_bits_zero(d->missing, f->port_count);
    *ret_free = d->link_count - to;
}

static int choose_missing(struct varying *d)
{
    uint64_t wanted = d->variation->missing;
    uint32_t removable = d->link_count;
    wanted += ((uint64_t)d->link_count * d->variation->missing_ppm + MILLION / 2) / MILLION;
    if (wanted > 0 && !d->variation->allow_partitioned) {
        uint32_t *sets = fab_base_alloc_array(d->plain->switch_count, sizeof *sets);
        if (sets == NULL)
            return FAB_E_NOMEM;
        keep_removable(d, sets, &removable);
        free(sets);
    }
    if (wanted > removable)
        return FAB_E_LIMIT;
    for (uint32_t i = 0; i < wanted; i++)
        fab_base_bits_set(d->missing, d->links[i]);
    return FAB_OK;
}

/* ---- devices and links ----------------------------------------------------------------------- */

static bool has_aggregation(const struct fab_fabric *f, uint32_t sw)
{
    for (uint32_t i = 1; i <= f->nodes[sw].num_ports; i++) {
        uint32_t peer = fab_fabric_peer_node(f, f->nodes[sw].first_port + i);
        if (peer != FAB_NONE && f->nodes[peer].aggregation)
            return true;
    }
    return false;
}

static bool needs_aggregation(const struct varying *d, uint32_t sw)
{
    return d->variation->aggregation && !has_aggregation(d->plain, sw);
}

/* Returns the number of ports of a node, not counting the port of an added aggregation node. */
static uint32_t ports_of(struct varying *d, uint32_t node)
{
    const struct fab_node *n = &d->plain->nodes[node];
    uint32_t radix = d->variation->radix;
    if (n->type != FAB_NODE_SWITCH || radix == 0)
        return n->num_ports;
    if (n->num_ports > radix)
        d->m.status = d->m.status != FAB_OK ? d->m.status : FAB_E_RANGE;
    return radix;
}

static void vary_node(struct varying *d, uint32_t node)
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

static void vary_link(struct varying *d, uint32_t port)
{
    const struct fab_port *p = fab_fabric_port(d->plain, port);
    if (p->peer == FAB_NONE || p->peer < port || fab_base_bits_get(d->missing, port))
        return;
    const struct fab_port *q = fab_fabric_port(d->plain, p->peer);
    d->m.rate = d->variation->rate != NULL ? *d->variation->rate : p->info;
    fab_fabric_make_link(&d->m, p->node, p->num, q->node, q->num);
}

/* Adds the aggregation nodes that the variation demands. Call this function after all other nodes
 * have been added: the reference of each of those nodes must be equal to its id in `plain`. */
static void add_aggregation(struct varying *d)
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

static void add_to_switch(struct varying *d)
{
    const struct fab_fabric *f = d->plain;
    for (uint32_t n = 0; n < f->node_count && d->m.status == FAB_OK; n++)
        vary_node(d, n);
    add_aggregation(d);
    for (uint32_t p = 0; p < f->port_count && d->m.status == FAB_OK; p++)
        vary_link(d, p);
}

static void varying_fini(struct varying *d)
{
    free(d->guids);
    free(d->missing);
    free(d->links);
}

/* Makes all random choices: the GUIDs and the missing links. Returns OK, RANGE, LIMIT or NOMEM. */
static int draw(struct varying *d)
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
    assign_guids(d);
    int status = list_links(d);
    return status == FAB_OK ? choose_missing(d) : status;
}

int fab_fabric_generate_variation(const struct fab_fabric *plain,
                                  const struct fab_variation *variation, struct fab_builder **ret)
{
    struct varying d = {.plain = plain, .variation = variation};
    int status = draw(&d);
    if (status == FAB_OK) {
        fab_fabric_make_init(&d.m);
        add_to_switch(&d);
        status = fab_fabric_make_finish(&d.m, ret);
    }
    varying_fini(&d);
    return status;
}
