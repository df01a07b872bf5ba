/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine "file" uses the tables that the operator gives (libfabmgr/policy/tables.h), on one VL.
 * These tables must pass the proof, like the tables of other engines.
 *
 * The file names switches and destinations by GUID, so the tables fit even if LIDs have changed
 * since the dump. If the file does not tell the port GUID of a LID, the LID is assumed to be
 * unchanged.
 *
 * The engine refuses an incomplete file only if packets need the missing information. It follows
 * the paths from each switch with endports, and from the manager, to each LID in use in the same
 * connected component. It refuses the file if such a path reaches a switch without an entry or a
 * port without a link.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/route/engines/engines.h"
#include "libfabmgr/route/graph/graph.h"

struct given {
    const struct fab_route_input *in;
    const struct fab_tables *tables;
    struct fab_graph graph;
    struct fab_lft lft;
    /* [tables->top + 1] for each LID of the file, the LID that the same port has now; 0: this port
     * is not in the fabric, or has no such LID */
    uint32_t *lid;
    const struct fab_policy_tables_switch **sw; /* [switches] the rows of each switch in the file */
    /* [switches] the LID for which a path through this switch was last followed */
    uint32_t *seen;
    /* number of switches of the file that are not in the fabric */
    uint32_t unknown;
    char *why;
    size_t why_len;
};

static int prepare(struct given *g)
{
    const struct fab_route_input *in = g->in;
    size_t n = (size_t)in->fabric->switch_count + 1;
    int status = fab_route_graph_make(in->fabric, &g->graph);
    if (status == FAB_OK)
        status = fab_target_lft_init(&g->lft, in->fabric->switch_count, in->lids->top);
    if (status != FAB_OK)
        return status;
    g->lid = calloc((size_t)g->tables->top + 1, sizeof(*g->lid));
    g->sw = calloc(n, sizeof(*g->sw));
    g->seen = calloc(n, sizeof(*g->seen));
    return g->lid != NULL && g->sw != NULL && g->seen != NULL ? FAB_OK : FAB_E_NOMEM;
}

static void translate(struct given *g)
{
    const struct fab_tables *t = g->tables;
    const struct fab_lids *lids = g->in->lids;
    for (uint32_t lid = 1; lid <= t->top; lid++) {
        if (t->guid[lid] == 0) {
            g->lid[lid] = lid <= lids->top && lids->owner[lid] != FAB_NONE ? lid : 0;
            continue;
        }
        uint32_t port = fab_fabric_port_by_guid(g->in->fabric, t->guid[lid]);
        uint32_t offset = lid - t->first[lid];
        if (port != FAB_NONE && lids->base[port] != 0 && offset >> lids->lmc[port] == 0)
            g->lid[lid] = lids->base[port] + offset;
    }
}

static void fill(struct given *g)
{
    const struct fab_fabric *f = g->in->fabric;
    size_t known = 0;
    for (uint32_t s = 0; s < g->graph.n; s++) {
        g->sw[s] = fab_policy_tables_switch(g->tables, f->nodes[s].guid);
        if (g->sw[s] == NULL)
            continue;
        known++;
        uint8_t *row = fab_target_lft_row(&g->lft, s);
        const struct fab_tables_entry *entry = g->tables->entry + g->sw[s]->first;
        for (size_t i = 0; i < g->sw[s]->count; i++) {
            if (g->lid[entry[i].lid] != 0)
                row[g->lid[entry[i].lid]] = entry[i].port;
        }
    }
    g->unknown = (uint32_t)(g->tables->switches - known);
}

/* ---- completeness of the paths in use -------------------------------------------------------- */

static int refuse(struct given *g, uint32_t s, uint32_t lid, const char *what)
{
    const struct fab_fabric *f = g->in->fabric;
    uint32_t owner = g->in->lids->owner[lid];
    if (g->why_len > 0)
        snprintf(g->why, g->why_len, "switch %.40s (0x%016" PRIx64 ") %s; LID %u (%.40s) needs it",
                 f->nodes[s].name, f->nodes[s].guid, what, lid,
                 f->nodes[fab_fabric_port(f, owner)->node].name);
    return FAB_E_UNSUPPORTED;
}

/* Returns the switch to which the port `owner` belongs or is connected; FAB_NONE if there is none,
 * or if the link is down. */
static uint32_t switch_of(const struct fab_fabric *f, uint32_t owner)
{
    uint32_t node = fab_fabric_port(f, owner)->node;
    if (fab_fabric_node_is_switch(f, node))
        return node;
    uint32_t peer = fab_fabric_peer_node(f, owner);
    return peer != FAB_NONE && fab_fabric_node_is_switch(f, peer) && fab_fabric_port_is_up(f, owner)
               ? peer
               : FAB_NONE;
}

/* Follows the path from switch s to the LID, which is attached to switch `home`. Stops at `home`,
 * at a switch that delivers the packets to an endport, or at a switch that an earlier call for the
 * same LID has passed. Returns UNSUPPORTED if an entry or a link is missing. */
static int follow(struct given *g, uint32_t s, uint32_t home, uint32_t lid)
{
    const struct fab_fabric *f = g->in->fabric;
    char what[48];
    while (g->seen[s] != lid) {
        uint8_t num = fab_target_lft_at(&g->lft, s, lid);
        g->seen[s] = lid;
        if (g->sw[s] == NULL)
            return refuse(g, s, lid, "is not in the file");
        if (num == FAB_LFT_NO_ROUTE)
            return refuse(g, s, lid, "has no entry in the file");
        snprintf(what, sizeof(what), "sends by port %u, which has no link", num);
        if (num > f->nodes[s].num_ports)
            return refuse(g, s, lid, what);
        if (s == home || num == 0)
            /* The path has ended. If it did not end at the owner of the LID, the proof will
             * fail. */
            return FAB_OK;
        uint32_t port = fab_fabric_port_id(f, s, num), next = fab_fabric_peer_node(f, port);
        if (next == FAB_NONE || !fab_fabric_port_is_up(f, port))
            return refuse(g, s, lid, what);
        if (!fab_fabric_node_is_switch(f, next))
            return FAB_OK;
        s = next;
    }
    return FAB_OK;
}

static bool has_endports(const struct fab_fabric *f, uint32_t s)
{
    if (f->self_port != FAB_NONE && fab_fabric_port(f, f->self_port)->node == s)
        return true;
    for (unsigned num = 1; num <= f->nodes[s].num_ports; num++) {
        uint32_t port = fab_fabric_port_id(f, s, (uint8_t)num),
                 peer = fab_fabric_peer_node(f, port);
        if (peer != FAB_NONE && !fab_fabric_node_is_switch(f, peer) &&
            fab_fabric_port_is_up(f, port))
            return true;
    }
    return false;
}

static int check(struct given *g)
{
    const struct fab_fabric *f = g->in->fabric;
    const struct fab_lids *lids = g->in->lids;
    int status = FAB_OK;
    for (uint32_t s = 0; s < g->graph.n && status == FAB_OK; s++) {
        /* packets also start at aggregation nodes and at the manager, which hosts[] does not count;
         * from here on, hosts[s] > 0 marks all switches at which packets start */
        if (has_endports(f, s))
            g->graph.hosts[s] |= 1;
    }
    for (uint32_t lid = 1; lid <= lids->top && status == FAB_OK; lid++) {
        uint32_t home = lids->owner[lid] != FAB_NONE ? switch_of(f, lids->owner[lid]) : FAB_NONE;
        if (home == FAB_NONE)
            continue;
        for (uint32_t s = 0; s < g->graph.n && status == FAB_OK; s++) {
            if (g->graph.hosts[s] > 0 && g->graph.component[s] == g->graph.component[home])
                status = follow(g, s, home, lid);
        }
    }
    return status;
}

static int run(const struct fab_route_input *in, struct fab_lft *ret_lft, struct fab_vls *ret_vls,
               char *why, size_t why_len)
{
    (void)ret_vls; /* *ret_vls stays zero: the tables use one VL */
    struct given g = {.in = in, .tables = in->policy->tables, .why = why, .why_len = why_len};
    if (in->lids->port_count != in->fabric->port_count)
        return FAB_E_INVAL;
    if (g.tables == NULL) {
        if (why_len > 0)
            snprintf(why, why_len, "no tables given: set routing.file");
        return FAB_E_UNSUPPORTED;
    }
    int status = prepare(&g);
    if (status == FAB_OK) {
        translate(&g);
        fill(&g);
        status = check(&g);
    }
    if (status == FAB_OK) {
        if (why_len > 0 && g.unknown > 0)
            snprintf(why, why_len,
                     "tables of %zu switches from the file, %u of them not in the "
                     "fabric",
                     g.tables->switches, g.unknown);
        else if (why_len > 0)
            snprintf(why, why_len, "tables of %zu switches from the file", g.tables->switches);
        *ret_lft = g.lft;
    } else {
        fab_target_lft_fini(&g.lft);
    }
    free(g.lid);
    free(g.sw);
    free(g.seen);
    fab_route_graph_fini(&g.graph);
    return status;
}

const struct fab_route_engine fab_route_engine_file = {
    .name = "file",
    .summary = "tables given by the operator, in OpenSM's dump format, one VL",
    .run = run,
};
