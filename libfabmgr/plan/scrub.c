/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the attributes that the scrub reads, one after the other, and compares the values that were
 * read with the expected ones.
 *
 * Each stage of the scrub has rows: for LFTs a row is a block number, for PortInfo a port number,
 * and so on. In each row the scrub visits the nodes in the order of their ids. If a new snapshot
 * gives other ids to nodes, the scrub continues at the same position. In this turn it then reads a
 * few attributes twice or not at all.
 *
 * Tables are compared with what the device acknowledged (struct fab_observed). PortInfo and
 * SwitchInfo are compared with the snapshot, and only in the fields that traffic depends on
 * (attr_diff.c), because some devices do not keep timers and thresholds.
 */
#include "libfabmgr/plan/scrub.h"

#include <string.h>

#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/plan/attr_diff.h"
#include "libfabmgr/target/arb.h"

#define CAP_SL_MAPPING (1u << 6)
/* the attribute modifier of VLArbitrationTable has the block number from this bit on */
#define VLARB_BLOCK 16

/* ---- single items ---------------------------------------------------------------------------- */

typedef bool find_fn(const struct fab_plan_input *in, uint32_t node, uint32_t row,
                     struct fab_scrub_item *ret);

static bool find_switch_info(const struct fab_plan_input *in, uint32_t node, uint32_t row,
                             struct fab_scrub_item *ret)
{
    (void)row;
    *ret = (struct fab_scrub_item){.node = node,
                                   .port = fab_fabric_port_id(in->fabric, node, 0),
                                   .attr_id = FAB_ATTR_SWITCH_INFO};
    return true;
}

static bool find_lft(const struct fab_plan_input *in, uint32_t node, uint32_t row,
                     struct fab_scrub_item *ret)
{
    *ret = (struct fab_scrub_item){.node = node,
                                   .port = fab_fabric_port_id(in->fabric, node, 0),
                                   .attr_id = FAB_ATTR_LFT,
                                   .block = row,
                                   .mod = row};
    return row <= in->fabric->switches[node].linear_fdb_top / FAB_LFT_BLOCK &&
           fab_plan_observed_is_known(in->observed, node, row);
}

static bool is_served(const struct fab_fabric *f, uint32_t port)
{
    const struct fab_port *p = fab_fabric_port(f, port);
    return p->present && (p->num == 0 || port == f->self_port ||
                          (fab_fabric_port_is_up(f, port) && p->info.port_state >= FAB_STATE_INIT));
}

static bool find_port(const struct fab_plan_input *in, uint32_t node, uint32_t num,
                      struct fab_scrub_item *ret)
{
    const struct fab_node *n = &in->fabric->nodes[node];
    if (num > n->num_ports || (num == 0 && !fab_fabric_node_is_switch(in->fabric, node)))
        return false;
    *ret = (struct fab_scrub_item){
        .node = node, .port = n->first_port + num, .attr_id = FAB_ATTR_PORT_INFO, .mod = num};
    return is_served(in->fabric, ret->port);
}

/* Finds the P_Key block of a node for row number `row`: port number * FAB_PKEY_BLOCKS_MAX + block
 * number. Returns false if the node has no such block, or if the contents of the block are
 * unknown. */
static bool find_pkeys(const struct fab_plan_input *in, uint32_t node, uint32_t row,
                       struct fab_scrub_item *ret)
{
    uint32_t num = row / FAB_PKEY_BLOCKS_MAX, block = row % FAB_PKEY_BLOCKS_MAX, entries;
    if (!find_port(in, node, num, ret))
        return false;
    ret->attr_id = FAB_ATTR_PKEY_TABLE;
    ret->block = ret->mod = block;
    if (fab_fabric_node_is_switch(in->fabric, node))
        ret->mod |= num << 16;
    return fab_target_pkeys_table(&in->target->pkeys, ret->port, &entries) != NULL &&
           block < fab_target_pkeys_blocks(fab_target_pkeys_capacity(in->fabric, ret->port)) &&
           fab_target_blocks_get(&in->observed->pkeys, ret->port, block) != NULL;
}

/* Returns the values from which the VL tables of a port are computed; the member vls is 0 if the
 * values are unknown. */
static struct fab_observed_vl_port lanes_of(const struct fab_plan_input *in, uint32_t port)
{
    const struct fab_observed_vls *held = &in->observed->vls;
    if (held->port == NULL || held->ports != in->fabric->port_count)
        return (struct fab_observed_vl_port){0};
    return held->port[port];
}

static bool maps_sls(const struct fab_fabric *f, uint32_t port)
{
    return (fab_fabric_port(f, port)->info.cap_mask & CAP_SL_MAPPING) != 0;
}

/* Finds the SLtoVLMappingTable of a switch for row number `row`: number of the in port * 256 +
 * number of the out port. Returns false if the switch has no such table, or if the contents of the
 * table are unknown. */
static bool find_sl2vl_of_switch(const struct fab_plan_input *in, uint32_t node, uint32_t row,
                                 struct fab_scrub_item *ret)
{
    const struct fab_node *n = &in->fabric->nodes[node];
    uint32_t from = row >> 8, to = row & 0xff, first = n->first_port;
    if (from > n->num_ports || to > n->num_ports || to == 0)
        return false;
    *ret =
        (struct fab_scrub_item){.node = node, .port = first, .attr_id = FAB_ATTR_SL2VL, .mod = row};
    return maps_sls(in->fabric, first) && is_served(in->fabric, first + from) &&
           is_served(in->fabric, first + to) && lanes_of(in, first).vls != 0 &&
           lanes_of(in, first + from).vls != 0 && lanes_of(in, first + to).vls != 0;
}

static bool find_sl2vl_of_endport(const struct fab_plan_input *in, uint32_t node, uint32_t num,
                                  struct fab_scrub_item *ret)
{
    if (fab_fabric_node_is_switch(in->fabric, node) || !find_port(in, node, num, ret))
        return false;
    ret->attr_id = FAB_ATTR_SL2VL;
    ret->mod = 0;
    return maps_sls(in->fabric, ret->port) && lanes_of(in, ret->port).vls != 0;
}

static bool arb_of(const struct fab_plan_input *in, uint32_t port, struct fab_arb *ret)
{
    const struct fab_observed_vls *held = &in->observed->vls;
    struct fab_observed_vl_port lanes = lanes_of(in, port);
    if (lanes.arbitrated == 0 || lanes.arbitrated > held->arbs)
        return false;
    *ret = held->arb[lanes.arbitrated - 1];
    return ret->lows + ret->highs > 0;
}

/* Finds the VLArbitrationTable block of a node for row number `row`: port number * FAB_ARB_BLOCKS +
 * block number - 1. Returns false if the node has no such block, or if the contents of the block
 * are unknown. */
static bool find_vlarb(const struct fab_plan_input *in, uint32_t node, uint32_t row,
                       struct fab_scrub_item *ret)
{
    uint32_t num = row / FAB_ARB_BLOCKS, block = 1 + row % FAB_ARB_BLOCKS;
    struct fab_arb arb;
    if (num == 0 || !find_port(in, node, num, ret) || !arb_of(in, ret->port, &arb))
        return false;
    ret->attr_id = FAB_ATTR_VLARB;
    ret->block = block;
    ret->mod = block << VLARB_BLOCK | (fab_fabric_node_is_switch(in->fabric, node) ? num : 0);
    return fab_target_arb_has_block(&arb, &fab_fabric_port(in->fabric, ret->port)->info, block);
}

/* ---- stages ---------------------------------------------------------------------------------- */

static uint32_t most_ports(const struct fab_fabric *f, uint32_t nodes)
{
    uint32_t most = 0;
    for (uint32_t node = 0; node < nodes; node++)
        most = f->nodes[node].num_ports > most ? f->nodes[node].num_ports : most;
    return most;
}

/* Each function rows_of_... handles one kind of attribute. It sets at->rows to the number of rows.
 * If the rows form groups, it sets at->width to the number of rows in use per group (struct
 * stage). */
static void rows_of_one(const struct fab_plan_input *in, struct fab_scrub_at *at)
{
    (void)in;
    at->rows = 1;
}

static void rows_of_lft(const struct fab_plan_input *in, struct fab_scrub_at *at)
{
    at->rows = in->observed->blocks;
}

static void rows_of_ports(const struct fab_plan_input *in, struct fab_scrub_at *at)
{
    at->rows = most_ports(in->fabric, in->fabric->node_count) + 1;
}

static void rows_of_pkeys(const struct fab_plan_input *in, struct fab_scrub_at *at)
{
    uint32_t entries;
    for (uint32_t port = 0; port < in->target->pkeys.ports && port < in->fabric->port_count;
         port++) {
        uint32_t blocks = fab_target_pkeys_blocks(fab_target_pkeys_capacity(in->fabric, port));
        if (blocks > at->width && fab_target_pkeys_table(&in->target->pkeys, port, &entries))
            at->width = blocks;
    }
    if (at->width != 0)
        at->rows = (most_ports(in->fabric, in->fabric->node_count) + 1) * FAB_PKEY_BLOCKS_MAX;
}

static void rows_of_pairs(const struct fab_plan_input *in, struct fab_scrub_at *at)
{
    at->width = most_ports(in->fabric, in->fabric->switch_count) + 1;
    if (in->observed->vls.port != NULL)
        at->rows = at->width << 8;
}

static void rows_of_maps(const struct fab_plan_input *in, struct fab_scrub_at *at)
{
    if (in->observed->vls.port != NULL)
        rows_of_ports(in, at);
}

static void rows_of_vlarb(const struct fab_plan_input *in, struct fab_scrub_at *at)
{
    rows_of_maps(in, at);
    at->rows *= FAB_ARB_BLOCKS;
}

struct stage {
    void (*set_rows)(const struct fab_plan_input *in, struct fab_scrub_at *at);
    find_fn *find;
    /* If not 0, the rows form groups of this size (for example, one group for each in port, with
     * one row for each out port). Only the first at->width rows of each group are in use. 0: all
     * rows are in use. */
    uint32_t inner;
    bool switches; /* true: only switches have attributes of this kind */
};
#define STAGES 4
static const struct stage stages[FAB_SCRUB_TURNS][STAGES] = {
    [FAB_SCRUB_TABLES] = {{rows_of_one, find_switch_info, 0, true},
                          {rows_of_lft, find_lft, 0, true},
                          {rows_of_ports, find_port, 0, false},
                          {rows_of_pkeys, find_pkeys, FAB_PKEY_BLOCKS_MAX, false}},
    [FAB_SCRUB_LANES] = {{rows_of_pairs, find_sl2vl_of_switch, 256, true},
                         {rows_of_maps, find_sl2vl_of_endport, 0, false},
                         {rows_of_vlarb, find_vlarb, 0, false}},
};

/* Finds the next attribute to read in the row of *at. Returns false if the row has no more
 * attributes, or if *steps is used up. */
static bool find_in_row(const struct fab_plan_input *in, const struct stage *st,
                        struct fab_scrub_at *at, uint32_t *steps, struct fab_scrub_item *ret)
{
    uint32_t nodes = st->switches ? in->fabric->switch_count : in->fabric->node_count;
    if (st->inner != 0 && at->row % st->inner >= at->width)
        at->node = nodes;
    for (; at->node < nodes && *steps != 0; (*steps)--)
        if (st->find(in, at->node++, at->row, ret))
            return true;
    if (at->node >= nodes) {
        at->row++;
        at->node = 0;
    }
    return false;
}

bool fab_plan_scrub_next(const struct fab_plan_input *in, enum fab_scrub_turn turn,
                         struct fab_scrub_at *at, uint32_t steps, struct fab_scrub_item *ret)
{
    while (at->stage < STAGES && stages[turn][at->stage].find != NULL) {
        const struct stage *st = &stages[turn][at->stage];
        if (at->row == 0 && at->node == 0)
            st->set_rows(in, at);
        while (at->row < at->rows && steps > 0)
            if (find_in_row(in, st, at, &steps, ret))
                return true;
        if (at->row < at->rows)
            return false;
        *at = (struct fab_scrub_at){.stage = at->stage + 1};
    }
    at->over = true;
    return false;
}

static uint64_t count_port_tables(const struct fab_plan_input *in, uint32_t port)
{
    uint32_t entries;
    if (!is_served(in->fabric, port))
        return 0;
    if (fab_target_pkeys_table(&in->target->pkeys, port, &entries) == NULL)
        return 1;
    return 1 + fab_target_pkeys_blocks(fab_target_pkeys_capacity(in->fabric, port));
}

static uint64_t count_tables(const struct fab_plan_input *in, uint32_t node)
{
    const struct fab_node *n = &in->fabric->nodes[node];
    uint64_t count = 0;
    if (fab_fabric_node_is_switch(in->fabric, node))
        count += 2 + in->fabric->switches[node].linear_fdb_top / FAB_LFT_BLOCK;
    for (uint32_t num = 0; num <= n->num_ports; num++)
        count += count_port_tables(in, n->first_port + num);
    return count;
}

static uint64_t arb_blocks(const struct fab_port_info *info)
{
    return (info->vlarb_low_cap + FAB_BLOCK_ENTRIES - 1u) / FAB_BLOCK_ENTRIES +
           (info->vlarb_high_cap + FAB_BLOCK_ENTRIES - 1u) / FAB_BLOCK_ENTRIES;
}

static uint64_t count_lanes(const struct fab_plan_input *in, uint32_t node)
{
    const struct fab_fabric *f = in->fabric;
    uint64_t count = 0, live = 0; /* count: result so far; live: number of ports with a link */
    if (in->observed->vls.port == NULL)
        return 0;
    for (uint32_t num = 1; num <= f->nodes[node].num_ports; num++) {
        uint32_t port = f->nodes[node].first_port + num;
        if (!is_served(f, port))
            continue;
        live++;
        count += arb_blocks(&fab_fabric_port(f, port)->info);
    }
    return count + (fab_fabric_node_is_switch(f, node) ? (live + 1) * live : live);
}

uint64_t fab_plan_scrub_count(const struct fab_plan_input *in, enum fab_scrub_turn turn,
                              uint32_t node, uint32_t end)
{
    uint64_t count = 0;
    for (; node < end; node++)
        count += turn == FAB_SCRUB_TABLES ? count_tables(in, node) : count_lanes(in, node);
    return count;
}

/* ---- comparison ------------------------------------------------------------------------------ */

static void note(struct fab_scrub_difference *d, const char *field, uint32_t entry, uint64_t held,
                 uint64_t wanted)
{
    if (held == wanted)
        return;
    if (d->entries++ == 0) {
        d->field = field;
        d->entry = entry;
        d->held = held;
        d->wanted = wanted;
    }
}

/* Compares the LFT entries of a block up to LinearFDBTop. Higher entries have no meaning, and
 * devices may return anything for them. */
static void compare_lft(const struct fab_plan_input *in, const struct fab_scrub_item *item,
                        const uint8_t *data, struct fab_scrub_difference *d)
{
    const uint8_t *held = fab_target_lft_block(&in->observed->lft, item->node, item->block);
    uint32_t top = in->fabric->switches[item->node].linear_fdb_top;
    for (uint32_t i = 0; i < FAB_LFT_BLOCK; i++) {
        uint32_t lid = item->block * FAB_LFT_BLOCK + i;
        if (lid <= top)
            note(d, "entry", lid, data[i], held[i]);
    }
}

/* Notes a difference in a default port of SwitchInfo (the port for packets without a table entry).
 * If `held` is no external port of the switch (0, or above the last port number), there is no
 * difference, because the manager accepts all such values. */
static void note_default_port(const char *field, uint8_t held, uint8_t wanted, uint8_t ports,
                              struct fab_scrub_difference *d)
{
    if (held != 0 && held <= ports)
        note(d, field, 0, held, wanted);
}

static void compare_switch(const struct fab_switch_info *now, const struct fab_switch_info *want,
                           uint8_t ports, struct fab_scrub_difference *d)
{
    struct fab_switch_info a = *now, b = *want;
    a.port_state_change = b.port_state_change = 0;
    if (!fab_plan_switch_differs(&a, &b))
        return;
    note(d, "LinearFDBTop", 0, a.linear_fdb_top, b.linear_fdb_top);
    note(d, "MulticastFDBTop", 0, a.multicast_fdb_top, b.multicast_fdb_top);
    note(d, "LifeTimeValue", 0, a.life_time, b.life_time);
    note_default_port("DefaultPort", a.default_port, b.default_port, ports, d);
    note_default_port("DefaultMulticastPrimaryPort", a.default_mcast_primary_port,
                      b.default_mcast_primary_port, ports, d);
    note_default_port("DefaultMulticastNotPrimaryPort", a.default_mcast_not_primary_port,
                      b.default_mcast_not_primary_port, ports, d);
}

static void compare_port(const struct fab_port_info *now, const struct fab_port_info *want,
                         bool is_port0, struct fab_scrub_difference *d)
{
    if (!fab_plan_port_differs(now, want, is_port0))
        return;
    note(d, "LID", 0, now->lid, want->lid);
    note(d, "LMC", 0, now->lmc, want->lmc);
    note(d, "MasterSMLID", 0, now->sm_lid, want->sm_lid);
    note(d, "GIDPrefix", 0, now->gid_prefix, want->gid_prefix);
    /* Messages must not show keys. So 0 stands for the wanted M_Key, and 1 for any other M_Key. */
    note(d, "M_Key", 0, now->m_key != want->m_key, 0);
    note(d, "M_KeyProtectBits", 0, now->m_key_protect, want->m_key_protect);
    note(d, "M_KeyLeasePeriod", 0, now->m_key_lease, want->m_key_lease);
    if (!is_port0) {
        note(d, "NeighborMTU", 0, now->neighbor_mtu, want->neighbor_mtu);
        note(d, "OperationalVLs", 0, now->op_vls, want->op_vls);
        note(d, "PartitionEnforcementInbound", 0, now->part_enforce_in, want->part_enforce_in);
        note(d, "PartitionEnforcementOutbound", 0, now->part_enforce_out, want->part_enforce_out);
    }
}

static uint64_t map_of(const struct fab_plan_input *in, const struct fab_scrub_item *item)
{
    const struct fab_observed_vls *held = &in->observed->vls;
    if (!fab_fabric_node_is_switch(in->fabric, item->node))
        return fab_target_sl2vl_pack(held->vl[0][0], lanes_of(in, item->port).vls);
    struct fab_observed_vl_port from = lanes_of(in, item->port + (item->mod >> 8 & 0xff)),
                                to = lanes_of(in, item->port + (item->mod & 0xff));
    return fab_target_sl2vl_pack(held->vl[from.class][to.class], to.vls);
}

static void compare_sl2vl(const struct fab_plan_input *in, const struct fab_scrub_item *item,
                          const uint8_t *data, struct fab_scrub_difference *d)
{
    uint64_t held = fab_base_get_be64(data), wanted = map_of(in, item);
    for (unsigned sl = 0; sl < FAB_SLS; sl++)
        note(d, "SL", sl, held >> (60 - 4 * sl) & 15, wanted >> (60 - 4 * sl) & 15);
}

static void compare_vlarb(const struct fab_plan_input *in, const struct fab_scrub_item *item,
                          const uint8_t *data, struct fab_scrub_difference *d)
{
    struct fab_vlarb held, wanted;
    struct fab_arb arb;
    if (!arb_of(in, item->port, &arb) ||
        fab_wire_attr_unpack(&fab_wire_attr_vlarb, data, FAB_SMP_DATA, &held) != FAB_OK)
        return;
    fab_target_arb_block(&arb, item->block, &wanted);
    for (unsigned i = 0; i < FAB_BLOCK_ENTRIES; i++) {
        note(d, "weight of entry", i, held.entry[i].weight, wanted.entry[i].weight);
        if (wanted.entry[i].weight != 0)
            note(d, "VL of entry", i, held.entry[i].vl, wanted.entry[i].vl);
    }
}

static void compare_pkeys(const struct fab_plan_input *in, const struct fab_scrub_item *item,
                          const uint8_t *data, struct fab_scrub_difference *d)
{
    const uint16_t *wanted = fab_target_blocks_get(&in->observed->pkeys, item->port, item->block);
    struct fab_pkey_block held;
    if (wanted == NULL ||
        fab_wire_attr_unpack(&fab_wire_attr_pkey_block, data, FAB_SMP_DATA, &held) != FAB_OK)
        return;
    for (uint32_t i = 0; i < FAB_PKEY_BLOCK; i++)
        note(d, "entry", item->block * FAB_PKEY_BLOCK + i, held.pkey[i], wanted[i]);
}

bool fab_plan_scrub_differs(const struct fab_plan_input *in, const struct fab_scrub_item *item,
                            const uint8_t *data, struct fab_scrub_difference *ret)
{
    const struct fab_port *p = fab_fabric_port(in->fabric, item->port);
    struct fab_port_info port;
    struct fab_switch_info sw;
    *ret = (struct fab_scrub_difference){.field = ""};
    if (item->attr_id == FAB_ATTR_LFT &&
        fab_plan_observed_is_known(in->observed, item->node, item->block))
        compare_lft(in, item, data, ret);
    else if (item->attr_id == FAB_ATTR_SWITCH_INFO &&
             fab_wire_attr_unpack(&fab_wire_attr_switch_info, data, FAB_SMP_DATA, &sw) == FAB_OK)
        compare_switch(&sw, &in->fabric->switches[item->node],
                       in->fabric->nodes[item->node].num_ports, ret);
    else if (item->attr_id == FAB_ATTR_PORT_INFO &&
             fab_wire_attr_unpack(&fab_wire_attr_port_info, data, FAB_SMP_DATA, &port) == FAB_OK)
        compare_port(&port, &p->info, p->num == 0, ret);
    else if (item->attr_id == FAB_ATTR_PKEY_TABLE)
        compare_pkeys(in, item, data, ret);
    else if (item->attr_id == FAB_ATTR_SL2VL)
        compare_sl2vl(in, item, data, ret);
    else if (item->attr_id == FAB_ATTR_VLARB)
        compare_vlarb(in, item, data, ret);
    return ret->entries > 0;
}

bool fab_plan_scrub_is_stale(const struct fab_plan_input *in, const struct fab_scrub_item *item,
                             const uint8_t *data)
{
    const struct fab_port_info *was = &fab_fabric_port(in->fabric, item->port)->info;
    struct fab_port_info port;
    struct fab_switch_info sw;
    if (item->attr_id == FAB_ATTR_SWITCH_INFO)
        return fab_wire_attr_unpack(&fab_wire_attr_switch_info, data, FAB_SMP_DATA, &sw) ==
                   FAB_OK &&
               sw.port_state_change != 0;
    return item->attr_id == FAB_ATTR_PORT_INFO &&
           fab_wire_attr_unpack(&fab_wire_attr_port_info, data, FAB_SMP_DATA, &port) == FAB_OK &&
           (port.port_state != was->port_state || port.phys_state != was->phys_state);
}

/* Makes the next plan write the partition enforcement of the port again. If a port reports an
 * enforcement that differs from the last setting of the manager, plans assume that the port refused
 * the setting, and do not repeat it. But if the scrub finds such a difference, another program has
 * changed the enforcement. So this function records the present enforcement as the last setting of
 * the manager. */
static void record_enforce(const struct fab_plan_input *in, uint32_t port,
                           const struct fab_port_info *now, struct fab_observed *o)
{
    uint8_t does =
        (uint8_t)(now->part_enforce_in * FAB_ENFORCE_IN | now->part_enforce_out * FAB_ENFORCE_OUT);
    if (port < in->target->pkeys.ports && in->target->pkeys.enforce[port] != does &&
        fab_target_held_pkeys_refused_enforce(&o->pkeys, port, in->target->pkeys.enforce[port]))
        (void)fab_target_held_pkeys_set_enforce(&o->pkeys, port, does);
}

/* Marks VL tables that differed as unknown, so that the next plan writes them again. If an SL-to-VL
 * table of a switch differed, the values of its out port become unknown, and therefore all tables
 * of port pairs with this port. */
static void forget_lanes(const struct fab_plan_input *in, const struct fab_scrub_item *item,
                         struct fab_observed *o)
{
    uint32_t port = item->port;
    if (o->vls.port == NULL || o->vls.ports != in->fabric->port_count)
        return;
    if (item->attr_id == FAB_ATTR_VLARB)
        o->vls.port[port].arbitrated = 0;
    else if (fab_fabric_node_is_switch(in->fabric, item->node))
        o->vls.port[port + (item->mod & 0xff)].vls = 0;
    else
        o->vls.port[port].vls = 0;
}

void fab_plan_scrub_record(const struct fab_plan_input *in, const struct fab_scrub_item *item,
                           const uint8_t *data, struct fab_observed *o)
{
    struct fab_pkey_block held;
    struct fab_port_info port;
    if (item->attr_id == FAB_ATTR_LFT)
        fab_plan_observed_set_block(o, item->node, item->block, data);
    else if (item->attr_id == FAB_ATTR_SL2VL || item->attr_id == FAB_ATTR_VLARB)
        forget_lanes(in, item, o);
    else if (item->attr_id == FAB_ATTR_PORT_INFO &&
             fab_wire_attr_unpack(&fab_wire_attr_port_info, data, FAB_SMP_DATA, &port) == FAB_OK)
        record_enforce(in, item->port, &port, o);
    else if (item->attr_id == FAB_ATTR_PKEY_TABLE &&
             (fab_wire_attr_unpack(&fab_wire_attr_pkey_block, data, FAB_SMP_DATA, &held) !=
                  FAB_OK ||
              fab_target_blocks_put(&o->pkeys, item->port, item->block, held.pkey) != FAB_OK))
        fab_target_held_pkeys_forget(&o->pkeys, item->port);
}

bool fab_plan_scrub_blocks_differ(const uint16_t *held, const uint16_t *wanted,
                                  struct fab_scrub_difference *ret)
{
    *ret = (struct fab_scrub_difference){.field = ""};
    for (uint32_t i = 0; i < FAB_BLOCK_ENTRIES; i++)
        note(ret, "entry", i, held[i], wanted[i]);
    return ret->entries > 0;
}
