/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine "dfsssp" uses the paths of sssp and makes them deadlock-free by virtual lanes (Domke,
 * Hoefler, Nagel, IPDPS 2011).
 *
 * If the channel dependencies of these paths form no cycle, one VL is enough and the tables are
 * those of sssp. Otherwise port 0 of a leaf shares the paths of the hosts at this leaf (sssp.h),
 * and virtual_layers.c distributes the pairs of switches over several layers. A layer has one SL,
 * and one VL from end to end. Both directions of a pair use the same layer, so paths are
 * reversible. If this needs too many VLs, the hosts at a leaf share 4, then 2, then 1 set of paths,
 * so that the dependencies form fewer cycles.
 *
 * The engine uses no more VLs than needed. The SLs are then less likely to change when the fabric
 * changes, and each VL has a larger part of the buffers. If the paths of sssp need more than two
 * VLs in a fabric of at most FEWER_VLS_PATHS paths, the engine therefore looks for paths that need
 * fewer VLs: it chooses paths and VLs together, by the search of nue. Each destination switch then
 * gets shortest paths whose dependencies close no cycle on a VL. The loads are balanced equally
 * well.
 *
 * When the number of VLs is known, the engine makes room on all of them (make_room). A local repair
 * gives packets another path on the same VL, because hosts keep their SLs, and an assignment with
 * as few VLs as possible leaves no other path without a cycle on the fullest VLs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/route/dependencies/even_layers.h"
#include "libfabmgr/route/dependencies/virtual_layers.h"
#include "libfabmgr/route/engines/engines.h"
#include "libfabmgr/route/engines/nue.h"
#include "libfabmgr/route/engines/sssp.h"

/* Maximum number of steps of virtual_layers.c in all attempts together. This number of steps takes
 * about two seconds. A fabric that needs more steps is better served by an engine that needs no
 * layers. */
#define LAYERS_BUDGET UINT64_C(200000000)

/* In fabrics with at most this number of paths (switches x LIDs), the engine also chooses paths and
 * VLs together. This takes a second at most. */
#define FEWER_VLS_PATHS 200000u
/* In fabrics with at most this number of paths, the engine also makes all VLs equally full. */
#define EVEN_PATHS 1000000u

struct dfsssp {
    const struct fab_route_input *in;
    struct fab_graph graph;
    struct fab_lft lft;
    struct fab_vls vls;
    /* number of VLs that the last attempt needs, or a lower bound of this number */
    uint32_t needed;
    uint64_t budget; /* steps of virtual_layers.c that are left */
};

/* Handles the result `status` of an assignment of layers. If more than `max` layers are needed
 * (LIMIT), or if the budget is used up (BUSY), sets *count to max + 1 and returns FAB_OK, so that
 * the engine tries other assignments. */
static int bounded(int status, uint32_t max, uint32_t *count)
{
    bool failed = status == FAB_E_LIMIT || status == FAB_E_BUSY;
    if (failed)
        *count = max + 1;
    return failed ? FAB_OK : status;
}

static struct fab_layers_input layers_input(struct dfsssp *d, uint32_t max)
{
    return (struct fab_layers_input){.fabric = d->in->fabric,
                                     .policy = d->in->policy,
                                     .graph = &d->graph,
                                     .lids = d->in->lids,
                                     .lft = &d->lft,
                                     .max = max,
                                     .budget = &d->budget};
}

/* Sets d->needed to 1 if one VL is enough, otherwise to 2. */
static int try_one_vl(struct dfsssp *d, uint32_t max)
{
    const struct fab_layers_input in = layers_input(d, max);
    bool one = false;
    int status = fab_route_layers_suffice(&in, &one);
    d->needed = one ? 1 : 2;
    return status;
}

static int distribute(struct dfsssp *d, uint32_t max)
{
    const struct fab_layers_input in = layers_input(d, max);
    fab_target_vls_fini(&d->vls);
    int ret = fab_target_vls_by_pair(&d->vls, d->graph.n);
    return ret == FAB_OK
               ? bounded(fab_route_layers_by_pair(&in, d->vls.of_pair, &d->needed), max, &d->needed)
               : ret;
}

/* Sets up `count` SLs and as many VLs. Each path uses the SL with the number of its layer. */
static void set_count(struct fab_vls *v, uint32_t count)
{
    struct fab_vls found = *v;
    fab_target_vls_init(v, (uint8_t)count);
    v->switches = found.switches;
    v->of_pair = found.of_pair;
}

/* Replaces the tables. d->needed becomes the number of VLs of the new ones. */
static void replace(struct dfsssp *d, const struct fab_lft *lft, const struct fab_vls *vls)
{
    fab_target_lft_fini(&d->lft);
    fab_target_vls_fini(&d->vls);
    d->lft = *lft;
    d->vls = *vls;
    d->needed = fab_target_vls_count(vls);
}

static int route_by(struct dfsssp *d, uint32_t paths)
{
    fab_target_lft_fini(&d->lft);
    return fab_route_sssp_route(d->in, &d->graph, FAB_SSSP_WHOLE_PATH, paths, &d->lft);
}

static bool is_small(const struct dfsssp *d, uint64_t paths)
{
    return (uint64_t)d->graph.n * d->lft.top <= paths;
}

/* Replaces the tables by shortest paths on fewer VLs (nue.h). Returns LIMIT if there are none. */
static int lower_vls(struct dfsssp *d)
{
    struct fab_lft lft = {0};
    struct fab_vls vls = {0};
    uint32_t most = d->needed <= FAB_VLS_MAX ? d->needed - 1 : FAB_VLS_MAX;
    int ret = fab_route_nue_shortest(d->in, most, false, &lft, &vls);
    if (ret == FAB_OK)
        replace(d, &lft, &vls);
    return ret;
}

/* Chooses paths and VLs together, as long as this lowers the number of VLs. */
static int choose_together(struct dfsssp *d)
{
    int ret = FAB_OK;
    if (!is_small(d, FEWER_VLS_PATHS))
        return FAB_OK;
    while (ret == FAB_OK && d->needed > 2)
        ret = lower_vls(d);
    return ret == FAB_E_LIMIT ? FAB_OK : ret;
}

/* ---- room for repairs ------------------------------------------------------------------------ */

/* Adds the load of all packets to the LID of a host to load[port ids]. */
static void add_load(const struct dfsssp *d, const struct fab_lft *lft, uint32_t lid,
                     uint64_t *load)
{
    const struct fab_fabric *f = d->in->fabric;
    for (uint32_t s = 0; s < d->graph.n; s++) {
        uint32_t sw = s;
        for (uint32_t hops = 0; d->graph.hosts[s] > 0 && hops < d->graph.n; hops++) {
            uint8_t num = fab_target_lft_at(lft, sw, lid);
            uint32_t port = num <= f->nodes[sw].num_ports ? fab_fabric_port_id(f, sw, num) : 0;
            if (num > f->nodes[sw].num_ports || !fab_fabric_isl_is_up(f, port))
                break;
            load[port] += d->graph.hosts[s];
            sw = fab_fabric_peer_node(f, port);
        }
    }
}

/* Sets *ret to the greatest load of a link, if each host sends to each other. */
static int greatest_load(const struct dfsssp *d, const struct fab_lft *lft, uint64_t *ret)
{
    const struct fab_fabric *f = d->in->fabric;
    const struct fab_graph *g = &d->graph;
    uint64_t *load = fab_base_alloc_array((size_t)f->port_count + 1, sizeof(*load));
    if (load == NULL)
        return FAB_E_NOMEM;
    memset(load, 0, f->port_count * sizeof(*load));
    for (uint32_t lid = 0; lid <= lft->top && lid <= d->in->lids->top; lid++) {
        uint32_t owner = d->in->lids->owner[lid];
        if (owner != FAB_NONE && !fab_fabric_port_is_of_switch(f, owner))
            add_load(d, lft, lid, load);
    }
    *ret = 0;
    for (uint32_t s = 0; s < g->n; s++) {
        for (uint32_t p = g->port_at[s]; p < g->port_at[s + 1]; p++) {
            uint64_t one = load[fab_fabric_port_id(f, s, g->port_num[p])] * g->port_slow[p];
            *ret = one > *ret ? one : *ret;
        }
    }
    free(load);
    return FAB_OK;
}

/* Replaces the tables by shortest paths on as many VLs that leave room for an escape tree on each
 * VL (repair/labels/escape_tree.c), if there are any whose greatest link load is not higher. */
static int leave_room_for_tree(struct dfsssp *d)
{
    struct fab_lft lft = {0};
    struct fab_vls vls = {0};
    uint64_t before = 0, after = 0;
    int ret = fab_route_nue_shortest(d->in, d->needed, true, &lft, &vls);
    if (ret != FAB_OK)
        return ret == FAB_E_LIMIT ? FAB_OK : ret;
    ret = greatest_load(d, &d->lft, &before);
    if (ret == FAB_OK)
        ret = greatest_load(d, &lft, &after);
    if (ret == FAB_OK && after <= before && fab_target_vls_count(&vls) == d->needed) {
        replace(d, &lft, &vls);
        return FAB_OK;
    }
    fab_target_lft_fini(&lft);
    fab_target_vls_fini(&vls);
    return ret;
}

/* Makes room for the detours of local repairs on all VLs, without using more of them. */
static int make_room(struct dfsssp *d, uint32_t available)
{
    const struct fab_layers_input in = layers_input(d, available);
    int ret = FAB_OK;
    if (d->needed < 2 || d->needed > available)
        return FAB_OK;
    if (is_small(d, FEWER_VLS_PATHS))
        ret = leave_room_for_tree(d);
    return ret == FAB_OK && is_small(d, EVEN_PATHS)
               ? fab_route_layers_even(&in, d->needed, d->vls.of_pair)
               : ret;
}

/* Tries several choices of paths and layers, one after the other, until the available VLs suffice.
 * The first choice balances the link loads best; the last one needs the fewest VLs. Returns BUSY if
 * the budget is used up before. */
static int route(struct dfsssp *d, uint32_t available)
{
    static const struct {
        uint32_t paths;
        int (*find)(struct dfsssp *d, uint32_t max);
        bool many;
    } attempts[] = {
        {FAB_SSSP_PER_LID, try_one_vl, false},
        {FAB_SSSP_OF_HOSTS, distribute, true},
        {4, distribute, true},
        {2, distribute, true},
        {1, distribute, true},
    };
    for (size_t i = 0; i < sizeof(attempts) / sizeof(*attempts) && d->budget > 0; i++) {
        int ret = route_by(d, attempts[i].paths);
        uint32_t max = attempts[i].many ? available : 1;
        if (ret == FAB_OK)
            ret = attempts[i].find(d, max);
        if (ret == FAB_OK && i == 1)
            ret = choose_together(d);
        if (ret != FAB_OK || d->needed <= max)
            return ret;
    }
    return d->budget > 0 ? FAB_OK : FAB_E_BUSY;
}

static int conclude(struct dfsssp *d, uint32_t available, uint32_t port, char *why, size_t why_len)
{
    if (d->needed <= 1) {
        fab_target_vls_fini(&d->vls);
        snprintf(why, why_len, "shortest paths on one virtual lane");
    } else if (d->needed <= available) {
        set_count(&d->vls, d->needed);
        snprintf(why, why_len, "shortest paths on %u virtual lanes", d->needed);
    } else {
        const struct fab_port *p = fab_fabric_port(d->in->fabric, port);
        snprintf(why, why_len, "at least %u VLs are needed and %.64s port %u has %u", d->needed,
                 d->in->fabric->nodes[p->node].name, p->num, available);
        return FAB_E_UNSUPPORTED;
    }
    return FAB_OK;
}

static int run(const struct fab_route_input *in, struct fab_lft *ret_lft, struct fab_vls *ret_vls,
               char *why, size_t why_len)
{
    struct dfsssp d = {.in = in, .budget = LAYERS_BUDGET};
    uint32_t port = FAB_NONE;
    uint32_t available = fab_route_vls_available(in->fabric, in->policy, &port);
    if (in->lids->port_count != in->fabric->port_count)
        return FAB_E_INVAL;
    int ret = fab_route_graph_make(in->fabric, &d.graph);
    if (ret == FAB_OK)
        ret = route(&d, available);
    if (ret == FAB_OK)
        ret = make_room(&d, available);
    if (ret == FAB_E_BUSY) {
        snprintf(why, why_len, "too many cycles: the search for virtual layers was given up");
        ret = FAB_E_UNSUPPORTED;
    }
    if (ret == FAB_OK)
        ret = conclude(&d, available, port, why, why_len);
    if (ret == FAB_OK) {
        if (in->flawed != NULL)
            *in->flawed = true; /* for regular topologies, other engines are better */
        *ret_lft = d.lft;
        *ret_vls = d.vls;
    } else {
        fab_target_lft_fini(&d.lft);
        fab_target_vls_fini(&d.vls);
    }
    fab_route_graph_fini(&d.graph);
    return ret;
}

const struct fab_route_engine fab_route_engine_dfsssp = {
    .name = "dfsssp",
    .summary = "sssp on as many VLs as make it deadlock-free",
    .run = run,
    .moves_sls = true,
};
