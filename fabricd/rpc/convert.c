/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Converts values of the manager to messages of fabric.v1. Some numbers (port states, node types)
 * are the same in the IBA specification and in the API. The functions copy these numbers, and
 * static assertions check that they are the same.
 *
 * Names are made valid UTF-8. GUIDs are converted to text, and times to the well-known protobuf
 * types.
 */
#include "fabricd/rpc/convert.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/rpc/limits.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/base/version.h"
#include "libfabmgr/fabric/condition.h"

static_assert((int)FAB_NODE_CA == FABRIC__V1__NODE_TYPE__NODE_TYPE_ADAPTER &&
                  (int)FAB_NODE_SWITCH == FABRIC__V1__NODE_TYPE__NODE_TYPE_SWITCH &&
                  (int)FAB_NODE_ROUTER == FABRIC__V1__NODE_TYPE__NODE_TYPE_ROUTER,
              "node types");
static_assert((int)FAB_STATE_DOWN == FABRIC__V1__PORT_STATE__PORT_STATE_DOWN &&
                  (int)FAB_STATE_ACTIVE == FABRIC__V1__PORT_STATE__PORT_STATE_ACTIVE,
              "port states");
static_assert((int)FAB_PHYS_SLEEP == FABRIC__V1__PHYSICAL_STATE__PHYSICAL_STATE_SLEEP &&
                  (int)FAB_PHYS_TEST == FABRIC__V1__PHYSICAL_STATE__PHYSICAL_STATE_PHY_TEST,
              "physical states");
static_assert((int)EVENT_DEBUG + 1 == FABRIC__V1__EVENT_SEVERITY__EVENT_SEVERITY_DEBUG &&
                  (int)EVENT_ERROR + 1 == FABRIC__V1__EVENT_SEVERITY__EVENT_SEVERITY_ERROR,
              "severities");
static_assert((int)FAB_SM_NOT_ACTIVE + 1 == FABRIC__V1__MANAGER_ROLE__MANAGER_ROLE_NOT_ACTIVE &&
                  (int)FAB_SM_MASTER + 1 == FABRIC__V1__MANAGER_ROLE__MANAGER_ROLE_MASTER,
              "roles");

/* ---- nodes and ports ------------------------------------------------------------------------- */

uint32_t lid_of_port(const struct fab_view *v, uint32_t port)
{
    const struct fab_port *p = fab_fabric_port(v->fabric, port);
    if (v->target != NULL && port < v->target->lids.port_count)
        return v->target->lids.base[port];
    return p->present ? p->info.lid : 0;
}

/* Returns port 0 of a switch, or the first discovered port of an adapter or router; port 1 if none
 * was discovered. */
static uint32_t main_port(const struct fab_fabric *f, uint32_t node)
{
    const struct fab_node *n = &f->nodes[node];
    if (fab_fabric_node_is_switch(f, node))
        return n->first_port;
    for (uint32_t i = 1; i <= n->num_ports; i++)
        if (fab_fabric_port(f, n->first_port + i)->present)
            return n->first_port + i;
    return n->first_port + 1;
}

/* Counts the active ports that have a link in the snapshot. Ports of isolated and held-down links
 * stay Active in the devices, but their links are not in the snapshot. */
static uint32_t count_active(const struct fab_fabric *f, uint32_t node)
{
    uint32_t active = 0;
    for (uint32_t i = 1; i <= f->nodes[node].num_ports; i++) {
        const struct fab_port *p = fab_fabric_port(f, f->nodes[node].first_port + i);
        active += p->info.port_state == FAB_STATE_ACTIVE && p->peer != FAB_NONE;
    }
    return active;
}

static uint32_t count_degraded(const struct fab_fabric *f, uint32_t node)
{
    uint32_t degraded = 0;
    for (uint32_t i = 1; i <= f->nodes[node].num_ports; i++)
        degraded += fab_fabric_link_is_degraded(f, f->nodes[node].first_port + i);
    return degraded;
}

Fabric__V1__Node *convert_node(struct answer *a, const struct fab_view *v, uint32_t node)
{
    const struct fab_node *n = &v->fabric->nodes[node];
    uint32_t port = main_port(v->fabric, node);
    Fabric__V1__Node *m = ANSWER_NEW(a, Fabric__V1__Node, fabric__v1__node);
    if (m == NULL)
        return NULL;
    m->guid = answer_guid(a, n->guid);
    m->name = answer_text(a, n->name);
    m->type = (Fabric__V1__NodeType)n->type;
    m->aggregation_node = n->aggregation;
    m->system_guid = answer_guid(a, n->info.system_guid);
    m->port_guid = answer_guid(a, fab_fabric_port(v->fabric, port)->guid);
    m->lid = lid_of_port(v, port);
    m->port_count = n->num_ports;
    m->active_port_count = count_active(v->fabric, node);
    m->vendor_id = n->info.vendor_id;
    m->device_id = n->info.device_id;
    m->revision = n->info.revision;
    m->degraded_link_count = count_degraded(v->fabric, node);
    return m;
}

Fabric__V1__PortRef *convert_port_ref(struct answer *a, const struct fab_view *v, uint32_t port)
{
    Fabric__V1__PortRef *m = ANSWER_NEW(a, Fabric__V1__PortRef, fabric__v1__port_ref);
    if (m == NULL)
        return NULL;
    const struct fab_port *p = fab_fabric_port(v->fabric, port);
    const struct fab_node *n = &v->fabric->nodes[p->node];
    m->node_guid = answer_guid(a, n->guid);
    m->node_name = answer_text(a, n->name);
    m->port_number = p->num;
    return m;
}

/* Converts the width and speed of a link. Returns NULL if the link is not up, because the values
 * are then not valid. */
Fabric__V1__LinkRate *convert_rate(struct answer *a, const struct fab_port_info *info)
{
    if (info->port_state < FAB_STATE_INIT)
        return NULL;
    Fabric__V1__LinkRate *m = ANSWER_NEW(a, Fabric__V1__LinkRate, fabric__v1__link_rate);
    if (m == NULL)
        return NULL;
    m->width = fab_wire_link_width(info);
    m->speed = answer_constant(fab_wire_link_speed(info));
    m->mbps = fab_wire_link_rate(info);
    return m;
}

/* ---- supported, enabled and active rates ----------------------------------------------------- */

static Fabric__V1__LinkRate *convert_mode(struct answer *a, struct fab_link_modes mode)
{
    Fabric__V1__LinkRate *m = ANSWER_NEW(a, Fabric__V1__LinkRate, fabric__v1__link_rate);
    if (m == NULL)
        return NULL;
    m->width = fab_wire_best_lanes(mode.widths);
    m->speed = answer_constant(fab_wire_best_speed(mode.speeds));
    m->mbps = m->width * fab_wire_best_lane_rate(mode.speeds);
    return m;
}

static Fabric__V1__PortRates *convert_rates(struct answer *a, const struct fab_port_info *info)
{
    Fabric__V1__PortRates *m = ANSWER_NEW(a, Fabric__V1__PortRates, fabric__v1__port_rates);
    if (m == NULL)
        return NULL;
    m->supported = convert_mode(a, fab_wire_link_modes(info, FAB_LINK_SUPPORTED));
    m->enabled = convert_mode(a, fab_wire_link_modes(info, FAB_LINK_ENABLED));
    m->active = convert_mode(a, fab_wire_link_modes(info, FAB_LINK_ACTIVE));
    return m;
}

static void place_name(const struct fab_fabric *f, uint32_t port, char name[FAB_NODE_DESC_LEN + 8])
{
    const struct fab_port *p = fab_fabric_port(f, port);
    snprintf(name, FAB_NODE_DESC_LEN + 8, "%s/%u", f->nodes[p->node].name, p->num);
}

/* Sets *ret to the condition of the port's link. If this condition is not the best one, also sets
 * *ret_reason to the reason. Returns false if the port has no link that is up. */
static bool link_condition(struct answer *a, const struct fab_fabric *f, uint32_t port,
                           struct fab_link_condition *ret, char **ret_reason)
{
    char name[2][FAB_NODE_DESC_LEN + 8], text[FAB_CONDITION_LEN];
    const char *const names[2] = {name[0], name[1]};
    if (!fab_fabric_port_is_up(f, port))
        return false;
    const struct fab_port *p = fab_fabric_port(f, port), *q = fab_fabric_port(f, p->peer);
    fab_fabric_link_condition(&p->info, &q->info, ret);
    /* A link in the best condition needs no reason. Making a text for each link would take a fifth
     * of the time of ListPorts. */
    if (fab_fabric_condition_is_best(ret))
        return true;
    place_name(f, port, name[0]);
    place_name(f, p->peer, name[1]);
    fab_fabric_condition_text(ret, names, text);
    *ret_reason = answer_text(a, text);
    return true;
}

static void convert_port_condition(struct answer *a, const struct fab_fabric *f, uint32_t port,
                                   Fabric__V1__Port *m)
{
    struct fab_link_condition c;
    if (!link_condition(a, f, port, &c, &m->rate_reason))
        return;
    m->rates = convert_rates(a, &fab_fabric_port(f, port)->info);
    m->degraded = fab_fabric_condition_is_degraded(&c);
}

static void convert_link_condition(struct answer *a, const struct fab_fabric *f, uint32_t port,
                                   Fabric__V1__Link *m)
{
    const struct fab_port *p = fab_fabric_port(f, port);
    struct fab_link_condition c;
    if (!link_condition(a, f, port, &c, &m->rate_reason))
        return;
    m->best = convert_mode(a, c.best);
    m->enabled = convert_mode(a, c.enabled);
    m->a_rates = convert_rates(a, &p->info);
    m->b_rates = convert_rates(a, &fab_fabric_port(f, p->peer)->info);
    m->degraded = fab_fabric_condition_is_degraded(&c);
}

Fabric__V1__Port *convert_port(struct answer *a, const struct fab_view *v, uint32_t port)
{
    const struct fab_port *p = fab_fabric_port(v->fabric, port);
    Fabric__V1__Port *m = ANSWER_NEW(a, Fabric__V1__Port, fabric__v1__port);
    if (m == NULL)
        return NULL;
    m->port = convert_port_ref(a, v, port);
    m->guid = answer_guid(a, p->guid);
    if (p->peer != FAB_NONE)
        m->peer = convert_port_ref(a, v, p->peer);
    if (fab_fabric_port_has_lid(v->fabric, port)) {
        m->lid = lid_of_port(v, port);
        m->lmc = v->target != NULL && port < v->target->lids.port_count ? v->target->lids.lmc[port]
                                                                        : p->info.lmc;
    }
    if (!p->present)
        return m;
    m->state = (Fabric__V1__PortState)p->info.port_state;
    m->physical_state = (Fabric__V1__PhysicalState)p->info.phys_state;
    if (p->num != 0)
        m->rate = convert_rate(a, &p->info);
    convert_port_condition(a, v->fabric, port, m);
    m->mtu = fab_wire_mtu_bytes(p->info.neighbor_mtu);
    m->virtual_lanes = fab_wire_op_vls_count(p->info.op_vls);
    return m;
}

Fabric__V1__Link *convert_link(struct answer *a, const struct fab_view *v, uint32_t port)
{
    const struct fab_port *x = fab_fabric_port(v->fabric, port);
    const struct fab_port *y = fab_fabric_port(v->fabric, x->peer);
    Fabric__V1__Link *m = ANSWER_NEW(a, Fabric__V1__Link, fabric__v1__link);
    if (m == NULL)
        return NULL;
    m->a = convert_port_ref(a, v, port);
    m->b = convert_port_ref(a, v, x->peer);
    uint8_t lesser =
        x->info.port_state < y->info.port_state ? x->info.port_state : y->info.port_state;
    m->state = (Fabric__V1__PortState)lesser;
    m->rate = convert_rate(a, &x->info);
    convert_link_condition(a, v->fabric, port, m);
    return m;
}

/* ---- routes ---------------------------------------------------------------------------------- */

Fabric__V1__ForwardingEntry *convert_entry(struct answer *a, const struct fab_view *v, uint32_t lid,
                                           uint8_t out_port)
{
    const struct fab_lids *lids = &v->target->lids;
    Fabric__V1__ForwardingEntry *m =
        ANSWER_NEW(a, Fabric__V1__ForwardingEntry, fabric__v1__forwarding_entry);
    if (m == NULL)
        return NULL;
    m->lid = lid;
    m->out_port = out_port;
    if (lid <= lids->top && lids->owner[lid] != FAB_NONE)
        m->owner = convert_port_ref(a, v, lids->owner[lid]);
    return m;
}

static Fabric__V1__WitnessKind witness_kind(const struct fab_witness *w)
{
    if (w->kind == FAB_E_LIMIT && w->src == FAB_NONE)
        return FABRIC__V1__WITNESS_KIND__WITNESS_KIND_DEVICE_LIMIT;
    switch (w->kind) {
    case FAB_OK:
        return FABRIC__V1__WITNESS_KIND__WITNESS_KIND_UNSPECIFIED;
    case FAB_E_LOOP:
        return FABRIC__V1__WITNESS_KIND__WITNESS_KIND_LOOP;
    case FAB_E_CYCLE:
        return FABRIC__V1__WITNESS_KIND__WITNESS_KIND_CYCLE;
    case FAB_E_LIMIT:
        return FABRIC__V1__WITNESS_KIND__WITNESS_KIND_TOO_LONG;
    case FAB_E_INVAL:
        return FABRIC__V1__WITNESS_KIND__WITNESS_KIND_DEAD_PORT;
    default:
        return FABRIC__V1__WITNESS_KIND__WITNESS_KIND_UNREACHABLE;
    }
}

Fabric__V1__Verdict *convert_verdict(struct answer *a, const struct fab_view *v,
                                     const struct fab_verdict *verdict)
{
    char *witness = NULL;
    Fabric__V1__Verdict *m = ANSWER_NEW(a, Fabric__V1__Verdict, fabric__v1__verdict);
    if (m == NULL)
        return NULL;
    m->passed = fab_verify_verdict_good(verdict);
    m->deadlock_free = verdict->deadlock_free;
    m->pairs = verdict->pairs;
    m->unreachable_pairs = verdict->unreachable_pairs;
    m->longest_path = verdict->longest_path;
    m->dependencies = verdict->dependencies;
    m->witness_kind = witness_kind(&verdict->witness);
    if (verdict->witness.kind != FAB_OK &&
        fab_verify_witness_text(v->fabric, &verdict->witness, &witness) == FAB_OK)
        m->witness = fab_base_arena_text(&a->arena, witness, strlen(witness));
    if (m->witness == NULL)
        m->witness = answer_text(a, "");
    free(witness);
    return m;
}
