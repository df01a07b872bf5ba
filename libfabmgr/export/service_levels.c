/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes opensm-sl2vl.dump as OpenSM's osm_dump.c does, and the SL of each path in the form that
 * ibdm (ibutils) reads. If the routes use several VLs, ibdmchk needs both files to prove that there
 * are no credit loops. */
#include <inttypes.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/export/writer.h"

/* number of LIDs in one row of the file (writer.h) */
#define LIDS_AT_ONCE 64

static const char *type_name(uint8_t type)
{
    return type == FAB_NODE_SWITCH ? "Switch" : type == FAB_NODE_CA ? "Channel Adapter" : "Router";
}

static void heading(const struct fab_export *e, uint32_t owner, struct fab_text *t)
{
    const struct fab_node *n = &e->in.fabric->nodes[fab_fabric_port(e->in.fabric, owner)->node];
    fab_base_text_addf(t, "%s 0x%016" PRIx64 ", base LID %u, \"", type_name(n->type),
                       fab_fabric_port(e->in.fabric, owner)->guid, e->in.lids->base[owner]);
    fab_export_add_plain(t, n->name);
    fab_base_text_add(t, "\"\n");
}

/* ---- SL to VL: each row is the table of an output port -------------------------------------- */

#define RULE "#--------------------------------------------------------\n"

static int open_sl2vl(struct fab_export *e)
{
    fab_policy_defaults(&e->policy);
    return FAB_OK;
}

static void map_line(const struct fab_export *e, uint32_t in, uint32_t out, struct fab_text *t)
{
    static const struct fab_vls one = {0};
    const struct fab_vls *v = e->in.vls != NULL ? e->in.vls : &one;
    const struct fab_policy *p = e->in.policy != NULL ? e->in.policy : &e->policy;
    const struct fab_fabric *f = e->in.fabric;
    bool sw = fab_fabric_node_is_switch(f, fab_fabric_port(f, out)->node);
    fab_base_text_addf(t, "%-3u %-3u :", sw ? fab_fabric_port(f, in)->num : 0,
                       sw ? fab_fabric_port(f, out)->num : 0);
    uint64_t map = fab_target_sl2vl(f, p, v, in, out);
    for (unsigned sl = 0; sl < FAB_SLS; sl++)
        fab_base_text_addf(t, " %-2u", (unsigned)(map >> (FAB_SLS - 1 - sl) * 4 & 15));
    fab_base_text_add(t, "\n");
}

static bool write_sl2vl(struct fab_export *e, uint64_t row, struct fab_text *t)
{
    const struct fab_fabric *f = e->in.fabric;
    if (row >= f->port_count)
        return false;
    uint32_t out = (uint32_t)row;
    const struct fab_node *n = &f->nodes[fab_fabric_port(f, out)->node];
    bool sw = n->type == FAB_NODE_SWITCH, owner = e->in.lids->base[out] != 0;
    if (owner) {
        heading(e, out, t);
        fab_base_text_add(t, "#in out : 0  1  2  3  4  5  6  7  8  9  10 11 12 13 14 15\n" RULE);
    }
    for (uint32_t in = 0; in <= n->num_ports && sw && fab_fabric_port(f, out)->num > 0; in++) {
        if (fab_fabric_port_is_up(f, out))
            map_line(e, n->first_port + in, out, t);
    }
    if (owner && !sw)
        map_line(e, out, out, t);
    if (sw ? fab_fabric_port(f, out)->num == n->num_ports : owner)
        fab_base_text_add(t, RULE "\n\n");
    return true;
}

const struct fab_export_writer fab_export_write_sl2vl = {.open = open_sl2vl, .write = write_sl2vl};

/* ---- SLs of paths: a row has one source port and a range of destination LIDs ----------------- */

static unsigned sl_of(const struct fab_export *e, uint32_t src, uint32_t lid)
{
    return e->in.vls != NULL ? fab_target_sl(e->in.fabric, e->in.lids, e->in.vls, src, lid) : 0;
}

static bool write_path_sls(struct fab_export *e, uint64_t row, struct fab_text *t)
{
    const struct fab_lids *lids = e->in.lids;
    uint64_t rows = lids->top / LIDS_AT_ONCE + 1;
    if (row / rows > lids->top)
        return false;
    uint32_t from = (uint32_t)(row / rows), first = (uint32_t)(row % rows) * LIDS_AT_ONCE;
    uint32_t src = lids->owner[from];
    if (src == FAB_NONE || lids->base[src] != from)
        return true;
    if (first == 0)
        heading(e, src, t);
    for (uint32_t lid = first; lid < first + LIDS_AT_ONCE && lid <= lids->top; lid++) {
        if (lids->owner[lid] != FAB_NONE)
            fab_base_text_addf(t, "0x%04x : %u\n", lid, sl_of(e, src, lid));
    }
    if (first + LIDS_AT_ONCE > lids->top)
        fab_base_text_add(t, "\n");
    return true;
}

const struct fab_export_writer fab_export_write_path_sls = {.write = write_path_sls};
