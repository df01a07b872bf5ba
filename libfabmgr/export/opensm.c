/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes files that OpenSM dumps, for the programs that read them. As in OpenSM's osm_dump.c,
 * opensm-subnet.lst has a line for each end of each link, and opensm.fdbs and opensm-lfts.dump have
 * a paragraph for each switch.
 *
 * Programs that read opensm-subnet.lst split names at braces, so the exporter writes parentheses in
 * their place. The column "Optimal" of opensm.fdbs is always "yes": the exporter does not compute
 * whether a shorter path exists. service_levels.c writes the files about SLs and VLs.
 */
#include <inttypes.h>
#include <string.h>

#include "libfabmgr/export/writer.h"
#include "libfabmgr/wire/wire.h"

#define HOPS_MAX 64
/* number of LIDs in one row of the file (writer.h) */
#define LIDS_AT_ONCE 16

/* ---- opensm-subnet.lst ----------------------------------------------------------------------- */

void fab_export_add_plain(struct fab_text *t, const char *desc)
{
    char clean[FAB_NODE_DESC_LEN + 1] = "";
    for (size_t i = 0; desc[i] != '\0' && i < FAB_NODE_DESC_LEN; i++) {
        unsigned char c = (unsigned char)desc[i];
        clean[i] = (char)(c < ' ' || c > '~' ? '?' : c == '{' ? '(' : c == '}' ? ')' : c);
    }
    fab_base_text_add(t, clean);
}

static void lst_side(const struct fab_export *e, uint32_t port, struct fab_text *t)
{
    static const char *const types[] = {
        [FAB_NODE_CA] = "CA", [FAB_NODE_SWITCH] = "SW", [FAB_NODE_ROUTER] = "Rt"};
    const struct fab_fabric *f = e->in.fabric;
    const struct fab_port *p = fab_fabric_port(f, port);
    const struct fab_node *n = &f->nodes[p->node];
    uint64_t guid = n->type == FAB_NODE_SWITCH ? fab_fabric_port(f, n->first_port)->guid : p->guid;
    fab_base_text_addf(t, "{ %s Ports:%02X SystemGUID:%016" PRIx64 " NodeGUID:%016" PRIx64,
                       types[n->type], n->num_ports, n->info.system_guid, n->guid);
    fab_base_text_addf(t, " PortGUID:%016" PRIx64 " VenID:%06X DevID:%04X Rev:%08X {", guid,
                       n->info.vendor_id, n->info.device_id, n->info.revision);
    fab_export_add_plain(t, n->name);
    fab_base_text_addf(t, "} LID:%04X PN:%02X } ", fab_export_lid(e, port), p->num);
}

/* Returns the signalling rate of one lane of the link in Gb/s, as text; "??": it is not known. */
static const char *lane_speed(const struct fab_port_info *info)
{
    static const struct {
        uint32_t mbps;
        const char *name;
    } speeds[] = {{2500, "2.5"}, {5000, "5"},   {10000, "10"},   {14000, "14"},  {14062, "14"},
                  {25000, "25"}, {50000, "50"}, {100000, "100"}, {200000, "200"}};
    unsigned width = fab_wire_link_width(info);
    uint32_t mbps = width > 0 ? fab_wire_link_rate(info) / width : 0;
    for (size_t i = 0; i < sizeof speeds / sizeof speeds[0]; i++)
        if (speeds[i].mbps == mbps)
            return speeds[i].name;
    return "??";
}

static const char *log_state(uint8_t state)
{
    static const char *const names[] = {"DWN", "DWN", "INI", "ARM", "ACT"};
    return state < sizeof names / sizeof names[0] ? names[state] : "DWN";
}

static bool write_lst(struct fab_export *e, uint64_t row, struct fab_text *t)
{
    const struct fab_fabric *f = e->in.fabric;
    if (row >= f->port_count)
        return false;
    uint32_t port = (uint32_t)row;
    const struct fab_port_info *info = &fab_fabric_port(f, port)->info;
    if (!fab_fabric_port_is_up(f, port))
        return true;
    lst_side(e, port, t);
    lst_side(e, fab_fabric_port(f, port)->peer, t);
    unsigned width = fab_wire_link_width(info);
    fab_base_text_addf(t, "PHY=%ux LOG=%s SPD=%s\n", width, log_state(info->port_state),
                       lane_speed(info));
    return true;
}

const struct fab_export_writer fab_export_write_lst = {.write = write_lst};

/* ---- LFTs: a switch has a fixed number of rows, and a row covers some LIDs ------------------- */

struct place {
    uint32_t sw;
    /* the row has the entries of the switch for the LIDs from `from` to `to` - 1 */
    uint32_t from, to;
    /* first: this is the first row of its switch; last: this is the last row of its switch */
    bool first, last;
};

static bool place_of(const struct fab_export *e, uint64_t row, struct place *ret)
{
    uint64_t rows = e->in.lft->top / LIDS_AT_ONCE + 1;
    if (row / rows >= e->in.fabric->switch_count)
        return false;
    ret->sw = (uint32_t)(row / rows);
    ret->from = (uint32_t)(row % rows) * LIDS_AT_ONCE;
    ret->last = ret->from + LIDS_AT_ONCE > e->in.lft->top;
    ret->to = ret->last ? e->in.lft->top + 1 : ret->from + LIDS_AT_ONCE;
    ret->first = ret->from == 0;
    ret->from += ret->first;
    return true;
}

static uint32_t owner_of(const struct fab_export *e, uint32_t lid)
{
    return lid <= e->in.lids->top ? e->in.lids->owner[lid] : FAB_NONE;
}

/* Returns the number of hops on the path from the switch to the owner of the LID, by the tables;
 * HOPS_MAX: the tables do not lead there. */
static unsigned hops_to(const struct fab_export *e, uint32_t sw, uint32_t lid)
{
    const struct fab_fabric *f = e->in.fabric;
    uint32_t owner = owner_of(e, lid),
             goal = owner != FAB_NONE ? fab_fabric_port(f, owner)->node : FAB_NONE;
    for (unsigned hops = 0; hops < HOPS_MAX; hops++) {
        if (sw == goal)
            return hops;
        uint8_t num =
            sw < f->switch_count ? fab_target_lft_at(e->in.lft, sw, lid) : FAB_LFT_NO_ROUTE;
        if (sw >= f->switch_count || num == 0 || num > f->nodes[sw].num_ports)
            break;
        sw = fab_fabric_peer_node(f, fab_fabric_port_id(f, sw, num));
    }
    return HOPS_MAX;
}

static bool write_fdbs(struct fab_export *e, uint64_t row, struct fab_text *t)
{
    struct place at;
    if (!place_of(e, row, &at))
        return false;
    const struct fab_node *n = &e->in.fabric->nodes[at.sw];
    if (at.first)
        fab_base_text_addf(t,
                           "dump_ucast_routes: Switch 0x%016" PRIx64 "\n"
                           "LID    : Port : Hops : Optimal\n",
                           n->guid);
    for (uint32_t lid = at.from; lid < at.to; lid++) {
        uint8_t num = fab_target_lft_at(e->in.lft, at.sw, lid);
        unsigned hops = hops_to(e, at.sw, lid);
        if (owner_of(e, lid) == FAB_NONE || num > n->num_ports)
            fab_base_text_addf(t, "0x%04X : UNREACHABLE\n", lid);
        else if (hops == HOPS_MAX)
            fab_base_text_addf(t, "0x%04X : %03u  : HOPS UNKNOWN\n", lid, num);
        else
            fab_base_text_addf(t, "0x%04X : %03u  : %02u   : yes\n", lid, num, hops);
    }
    if (at.last)
        fab_base_text_add(t, "\n");
    return true;
}

const struct fab_export_writer fab_export_write_fdbs = {.write = write_fdbs, .tables = true};

static void lfts_owner(const struct fab_export *e, uint32_t owner, struct fab_text *t)
{
    static const char *const types[] = {[FAB_NODE_CA] = "Channel Adapter",
                                        [FAB_NODE_SWITCH] = "Switch",
                                        [FAB_NODE_ROUTER] = "Router"};
    const struct fab_fabric *f = e->in.fabric;
    const struct fab_node *n =
        owner != FAB_NONE ? &f->nodes[fab_fabric_port(f, owner)->node] : NULL;
    if (n == NULL) {
        fab_base_text_add(t, "unknown node and type");
        return;
    }
    fab_base_text_addf(t, "%s portguid 0x%016" PRIx64 ": '", types[n->type],
                       fab_fabric_port(f, owner)->guid);
    fab_export_add_plain(t, n->name);
    fab_base_text_add(t, "'");
}

static bool write_lfts(struct fab_export *e, uint64_t row, struct fab_text *t)
{
    struct place at;
    if (!place_of(e, row, &at))
        return false;
    const struct fab_node *n = &e->in.fabric->nodes[at.sw];
    if (at.first) {
        fab_base_text_addf(t, "Unicast lids [0-%u] of switch Lid %u guid 0x%016" PRIx64 " ('",
                           e->in.lft->top, e->in.lids->base[n->first_port], n->guid);
        fab_export_add_plain(t, n->name);
        fab_base_text_add(t, "'):\n");
    }
    for (uint32_t lid = at.from; lid < at.to; lid++) {
        uint8_t num = fab_target_lft_at(e->in.lft, at.sw, lid);
        if (num > n->num_ports)
            continue;
        fab_base_text_addf(t, "0x%04x %03u # ", lid, num);
        lfts_owner(e, owner_of(e, lid), t);
        fab_base_text_add(t, "\n");
    }
    if (at.last)
        fab_base_text_addf(t, "%u lids dumped\n", e->in.lft->top);
    return true;
}

const struct fab_export_writer fab_export_write_lfts = {.write = write_lfts, .tables = true};
