/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records of nodes, ports, links and tables (IBA 15.2.5.2-13, 15.2.5.18). Records are not stored:
 * when a request selects a record, it is made from the snapshot and the active tables. LIDs in
 * records are base LIDs; all ports of a switch have the LID of its port 0.
 *
 * Only requesters that have sent the right SM_Key see M_Keys and P_Key tables. Other requesters see
 * only ports with which they share a partition. If the manager does not program a table, for
 * example VLArbitration with one VL, the records show zeros. Records of registrations of hosts come
 * from the caller (struct fab_sa_source).
 */
#include <string.h>

#include "libfabmgr/sa/kinds.h"

static const struct fab_fabric *fabric_of(const struct fab_sa_query *q)
{
    return q->sa->view->fabric;
}

static const struct fab_target *target_of(const struct fab_sa_query *q)
{
    return q->sa->view->target;
}

static uint16_t lid_of(const struct fab_sa_query *q, uint32_t port)
{
    return (uint16_t)target_of(q)->lids.base[port];
}

static bool is_switch(const struct fab_sa_query *q, uint32_t port)
{
    return fab_fabric_node_is_switch(fabric_of(q), fab_fabric_port(fabric_of(q), port)->node);
}

static uint32_t one(const struct fab_sa_query *q, uint32_t port)
{
    (void)q, (void)port;
    return 1;
}

static uint32_t one_of_switch(const struct fab_sa_query *q, uint32_t port)
{
    return is_switch(q, port);
}

/* Returns the number of records for a port. If it is port 0 of a switch, this is the number of
 * ports of the switch, including port 0. Otherwise it is 1. */
static uint32_t ports(const struct fab_sa_query *q, uint32_t port)
{
    const struct fab_fabric *f = fabric_of(q);
    return is_switch(q, port) ? f->nodes[fab_fabric_port(f, port)->node].num_ports + 1u : 1u;
}

/* ---- nodes, ports, links --------------------------------------------------------------------- */

static bool fill_node(struct fab_sa_query *q, uint32_t port, uint32_t k, void *ret)
{
    const struct fab_port *p = fab_fabric_port(fabric_of(q), port);
    const struct fab_node *node = &fabric_of(q)->nodes[p->node];
    struct fab_wire_node_record *r = ret;
    (void)k;
    r->lid = lid_of(q, port);
    r->info = node->info;
    r->info.local_port = p->num;
    if (p->guid != 0)
        r->info.port_guid = p->guid;
    memcpy(r->desc.text, node->desc, sizeof r->desc.text);
    return true;
}

static bool fill_port_info(struct fab_sa_query *q, uint32_t port, uint32_t k, void *ret)
{
    const struct fab_port *p = fab_fabric_port(fabric_of(q), port + k);
    struct fab_wire_port_info_record *r = ret;
    if (!p->present)
        return false;
    r->lid = lid_of(q, port);
    r->port = p->num;
    r->info = p->info;
    if (!q->trusted)
        r->info.m_key = 0;
    return true;
}

static bool fill_switch_info(struct fab_sa_query *q, uint32_t port, uint32_t k, void *ret)
{
    struct fab_wire_switch_info_record *r = ret;
    (void)k;
    r->lid = lid_of(q, port);
    r->info = fabric_of(q)->switches[fab_fabric_port(fabric_of(q), port)->node];
    return true;
}

static bool fill_link(struct fab_sa_query *q, uint32_t port, uint32_t k, void *ret)
{
    const struct fab_fabric *f = fabric_of(q);
    const struct fab_sa_link *c = &q->sa->links[port + k];
    struct fab_wire_link_record *r = ret;
    if (c->peer == FAB_NONE)
        return false;
    r->from_lid = lid_of(q, port);
    r->from_port = fab_fabric_port(f, port + k)->num;
    r->to_port = fab_fabric_port(f, c->peer)->num;
    uint32_t to = c->node < f->switch_count ? q->sa->first_port[c->node] : c->peer;
    r->to_lid = lid_of(q, to);
    return r->to_lid != 0 && fab_sa_may_see(q, to);
}

static struct fab_sm_info own_info(const struct fab_sa_query *q, uint64_t guid)
{
    return (struct fab_sm_info){.guid = guid,
                                .activity = q->activity,
                                .priority = q->sa->view->policy.sm_priority,
                                .state = FAB_SM_MASTER};
}

/* Fills in the SMInfoRecord of a port: for the port of this manager, with its own SMInfo; for other
 * ports, with the last SMInfo that was received from the port. SM_Keys are set to 0. Returns false
 * if there is no manager at the port. */
static bool fill_sm_info(struct fab_sa_query *q, uint32_t port, uint32_t k, void *ret)
{
    uint64_t guid = fab_fabric_port(fabric_of(q), port)->guid;
    struct fab_wire_sm_info_record *r = ret;
    (void)k;
    r->lid = lid_of(q, port);
    if (port == fabric_of(q)->self_port)
        r->info = own_info(q, guid);
    for (uint32_t i = 0; r->info.guid == 0 && i < q->sa->manager_count; i++)
        if (q->sa->manager[i].guid == guid)
            r->info = q->sa->manager[i];
    r->info.sm_key = 0;
    return r->info.guid != 0;
}

static uint32_t guid_blocks(const struct fab_sa_query *q, uint32_t port)
{
    return (fab_fabric_port(fabric_of(q), port)->info.guid_cap + 7u) / 8u;
}

/* Fills in the GUIDInfoRecord of block `k`. In block 0, the first GUID is the port's own GUID; all
 * other GUIDs are alias GUIDs. Always returns true. */
static bool fill_guid_info(struct fab_sa_query *q, uint32_t port, uint32_t k, void *ret)
{
    uint64_t own = fab_fabric_port(fabric_of(q), port)->guid;
    const struct fab_sa_alias_block *b =
        q->sa->aliases != NULL ? fab_sa_aliases_block(q->sa->aliases, own, k) : NULL;
    struct fab_wire_guid_info_record *r = ret;
    r->lid = lid_of(q, port);
    r->block = (uint8_t)k;
    if (b != NULL)
        memcpy(r->table.guid, b->guid, sizeof b->guid);
    if (k == 0)
        r->table.guid[0] = own;
    return true;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static uint32_t lft_blocks(const struct fab_sa_query *q, uint32_t port)
{
    return is_switch(q, port) ? fab_target_lft_blocks(&target_of(q)->lft) : 0;
}

static bool fill_lft(struct fab_sa_query *q, uint32_t port, uint32_t k, void *ret)
{
    struct fab_wire_lft_record *r = ret;
    r->lid = lid_of(q, port);
    r->block = (uint16_t)k;
    memcpy(r->port,
           fab_target_lft_block(&target_of(q)->lft, fab_fabric_port(fabric_of(q), port)->node, k),
           64);
    return true;
}

/* Returns the number of SL-to-VL tables: for port 0 of a switch, one for each pair of input and
 * output port of the switch; for a port of an adapter or router, 1. */
static uint32_t port_pairs(const struct fab_sa_query *q, uint32_t port)
{
    return ports(q, port) * ports(q, port);
}

static bool fill_sl2vl(struct fab_sa_query *q, uint32_t port, uint32_t k, void *ret)
{
    const struct fab_view *v = q->sa->view;
    struct fab_wire_sl2vl_record *r = ret;
    uint32_t count = ports(q, port), in = port + k % count, out = port + k / count;
    if (!fab_fabric_port(v->fabric, in)->present || !fab_fabric_port(v->fabric, out)->present)
        return false;
    uint64_t map = fab_target_sl2vl(v->fabric, &v->policy, &v->target->vls, in, out);
    r->lid = lid_of(q, port);
    r->in_port = (uint8_t)(in - port);
    r->out_port = (uint8_t)(out - port);
    for (unsigned sl = 0; sl < FAB_SLS; sl++)
        r->table.vl[sl] = map >> (FAB_SLS - 1 - sl) * 4 & 15;
    return true;
}

/* Returns the number of blocks of VLArbitration tables: four for each port. Blocks 1 and 2 have
 * entries 0-31 and 32-63 of the low-priority table; blocks 3 and 4 have the same entries of the
 * high-priority table. */
static uint32_t vlarb_blocks(const struct fab_sa_query *q, uint32_t port)
{
    return ports(q, port) * 4u;
}

static bool fill_vlarb(struct fab_sa_query *q, uint32_t port, uint32_t k, void *ret)
{
    const struct fab_view *v = q->sa->view;
    const struct fab_port *p = fab_fabric_port(v->fabric, port + k / 4);
    struct fab_wire_vlarb_record *r = ret;
    unsigned block = k % 4 + 1;
    unsigned cap = block <= 2 ? p->info.vlarb_low_cap : p->info.vlarb_high_cap;
    if (!p->present || cap <= (block % 2 ? 0u : 32u))
        return false;
    r->lid = lid_of(q, port);
    r->port = p->num;
    r->block = (uint8_t)block;
    struct fab_arb arb;
    if (p->peer != FAB_NONE &&
        fab_target_arb(v->fabric, &v->policy, &v->target->vls, port + k / 4, NULL, &arb))
        fab_target_arb_block(&arb, block, &r->table);
    return true;
}

/* log2 of FAB_PKEY_BLOCKS_MAX, the maximum number of P_Key blocks of a port */
#define PKEY_BLOCKS_SHIFT 6

static uint32_t pkey_blocks(const struct fab_sa_query *q, uint32_t port)
{
    return ports(q, port) << PKEY_BLOCKS_SHIFT;
}

/* Fills in a P_KeyTableRecord. A port without its own table is a full member of the default
 * partition. Returns false if the port or the block does not exist. */
static bool fill_pkey(struct fab_sa_query *q, uint32_t port, uint32_t k, void *ret)
{
    const struct fab_pkeys *keys = &target_of(q)->pkeys;
    uint32_t block = k % FAB_PKEY_BLOCKS_MAX, at = port + (k >> PKEY_BLOCKS_SHIFT), count;
    const struct fab_port *p = fab_fabric_port(fabric_of(q), at);
    struct fab_wire_pkey_record *r = ret;
    if (!p->present ||
        block >= fab_target_pkeys_blocks(fab_target_pkeys_capacity(fabric_of(q), at)))
        return false;
    r->lid = lid_of(q, port);
    r->port = p->num;
    r->block = (uint16_t)block;
    if (fab_target_pkeys_table(keys, at, &count) != NULL)
        fab_target_pkeys_block(keys, at, block, r->table.pkey);
    else if (block == 0)
        r->table.pkey[0] = 0xffff;
    return true;
}

/* ---- records of registrations, if the caller has no source of them --------------------------- */

static uint32_t none(const struct fab_sa_query *q, uint32_t port)
{
    (void)q, (void)port;
    return 0;
}

static bool fill_none(struct fab_sa_query *q, uint32_t port, uint32_t k, void *ret)
{
    (void)q, (void)port, (void)k, (void)ret;
    return false;
}

const struct fab_sa_kind *fab_sa_kind_of(uint16_t attr_id)
{
    static const struct fab_sa_kind kinds[] = {
        {&fab_wire_node_record, true, false, one, fill_node},
        {&fab_wire_port_info_record, true, false, ports, fill_port_info},
        {&fab_wire_switch_info_record, true, false, one_of_switch, fill_switch_info},
        {&fab_wire_link_record, true, false, ports, fill_link},
        {&fab_wire_sm_info_record, true, false, one, fill_sm_info},
        {&fab_wire_guid_info_record, true, false, guid_blocks, fill_guid_info},
        {&fab_wire_lft_record, true, false, lft_blocks, fill_lft},
        {&fab_wire_sl2vl_record, true, false, port_pairs, fill_sl2vl},
        {&fab_wire_vlarb_record, true, false, vlarb_blocks, fill_vlarb},
        {&fab_wire_pkey_record, true, true, pkey_blocks, fill_pkey},
        {&fab_wire_mft_record, false, false, none, fill_none},
        {&fab_wire_mc_member_record, false, false, none, fill_none},
        {&fab_wire_service_record, false, false, none, fill_none},
        {&fab_wire_inform_info_record, false, false, none, fill_none},
    };
    if (attr_id == FAB_SA_PATH_RECORD)
        return &fab_sa_kind_path;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (kinds[i].rec->id == attr_id)
            return &kinds[i];
    return NULL;
}
