/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides which other managers are trusted, and which requesters may see a key.
 *
 * SMInfo is answered by software that any administrator of a host can replace. A GUID, a priority
 * or a source LID therefore proves nothing. Only two things prove something: a key, and the switch
 * port through which an answer comes.
 *
 * If the operator configures an M_Key or lists managers (subnet.managers), other managers must
 * prove themselves. A manager has three ways to do so: it answers with the right SM_Key, it has
 * sent the right M_Key before, or it is listed with its GUID and its switch port. The SM_Keys 0 and
 * 1 are well known and prove nothing.
 *
 * A key is never sent to a port that an attacker could own. The SM_Key is sent to requesters that
 * sent the M_Key (IBA 14.2.5.13 requires this check) and to listed managers. The M_Key is sent, in
 * requests for SMInfo, to listed managers and to nodes that already sent this M_Key.
 *
 * If neither an M_Key nor a list of managers is configured, every port can read the SM_Key, as IBA
 * 14.2.4 specifies for an M_Key of 0. A manager is then trusted if its SM_Key equals this
 * manager's, as in OpenSM.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "fabricd/sm/ha/state.h"

/* Offset of the return path in a directed-route SMP, IBA 14.2.1.2. */
enum { AT_RETURN_PATH = 192 };

bool sm_trust_required(const struct sm *s)
{
    return fab_policy_m_keys_set(&s->policy.m_keys) || s->policy.manager_count > 0;
}

static bool is_switch_named(const struct fab_node *node, const char *name)
{
    char guid[24];
    snprintf(guid, sizeof(guid), "0x%016" PRIx64, node->guid);
    return strcmp(node->desc, name) == 0 || strcmp(node->name, name) == 0 ||
           strcasecmp(guid, name) == 0;
}

/* Searches subnet.managers from entry `i` on. Returns the first entry with the switch port to which
 * `port` is connected; NULL: there is none. */
static const struct fab_manager *listed_at(const struct sm *s, uint32_t port, uint32_t i)
{
    const struct fab_fabric *f = s->model.fabric;
    uint32_t peer = f && port != FAB_NONE ? fab_fabric_port(f, port)->peer : FAB_NONE;
    if (peer == FAB_NONE || !fab_fabric_node_is_switch(f, fab_fabric_port(f, peer)->node))
        return NULL;
    for (; i < s->policy.manager_count; i++) {
        const struct fab_manager *m = &s->policy.managers[i];
        if (m->switch_port == fab_fabric_port(f, peer)->num &&
            is_switch_named(&f->nodes[fab_fabric_port(f, peer)->node], m->switch_name))
            return m;
    }
    return NULL;
}

bool sm_trust_listed(const struct sm *s, uint32_t port, uint64_t guid)
{
    const struct fab_manager *m = listed_at(s, port, 0);
    while (m && m->guid != guid)
        m = listed_at(s, port, (uint32_t)(m - s->policy.managers) + 1);
    return m != NULL;
}

bool sm_trust_sm_key(const struct sm *s, uint64_t key)
{
    return key == s->policy.sm_key && (s->policy.sm_key > 1 || !sm_trust_required(s));
}

static uint64_t node_guid_of(const struct sm *s, uint32_t port)
{
    const struct fab_fabric *f = s->model.fabric;
    return port != FAB_NONE ? f->nodes[fab_fabric_port(f, port)->node].guid : 0;
}

uint64_t sm_trust_m_key(const struct sm *s, uint32_t port)
{
    if (port == FAB_NONE)
        return 0;
    bool knows = sm_guids_have(&s->ha->proved, node_guid_of(s, port)) ||
                 sm_trust_listed(s, port, fab_fabric_port(s->model.fabric, port)->guid);
    return knows ? sm_m_key_of_port(s, port) : 0;
}

bool sm_trust_known(const struct sm *s, uint32_t port)
{
    uint64_t node = node_guid_of(s, port);
    return listed_at(s, port, 0) != NULL || sm_guids_have(&s->ha->proved, node) ||
           sm_guids_have(&s->ha->trusted, node);
}

/* If the settings have neither an M_Key nor a list of managers, this manager gives its SM_Key to
 * every requester. That a manager has the same SM_Key then proves nothing, so it is not noted as
 * trusted. */
void sm_trust_note(struct sm *s, const struct sm_other *o)
{
    if (o->trusted && sm_trust_required(s))
        sm_guids_add(&s->ha->trusted, o->node_guid);
    else
        sm_guids_remove(&s->ha->trusted, o->node_guid);
}

bool sm_trust_answer(const struct sm *s, uint32_t port, const struct fab_sm_info *info)
{
    return sm_trust_sm_key(s, info->sm_key) || sm_trust_listed(s, port, info->guid) ||
           sm_guids_have(&s->ha->proved, node_guid_of(s, port));
}

/* Notes that the node has sent the right M_Key. If the manager on this node was refused before, the
 * next sweep requests its SMInfo again, now with the M_Key in the request. */
static void note_proof(struct sm *s, uint64_t node_guid)
{
    if (node_guid == 0 || sm_guids_have(&s->ha->proved, node_guid))
        return;
    sm_guids_add(&s->ha->proved, node_guid);
    if (sm_is_master(s))
        sm_request_heavy_later(s);
}

bool sm_trust_requester(struct sm *s, const struct transport_mad *mad, const struct fab_mad *head)
{
    uint32_t port = sm_trust_origin(s, mad, head);
    if (sm_m_key_proves(s, head->m_key)) {
        note_proof(s, node_guid_of(s, port));
        return true;
    }
    /* The source LID may be forged. This does no harm, because the answer with the key goes to the
     * port that owns the LID. */
    return !sm_trust_required(s) ||
           (port != FAB_NONE &&
            sm_trust_listed(s, port, fab_fabric_port(s->model.fabric, port)->guid));
}

static uint32_t across_link(const struct fab_fabric *f, uint32_t node, uint8_t num)
{
    if (num == 0 || num > f->nodes[node].num_ports)
        return FAB_NONE;
    return fab_fabric_port(f, fab_fabric_port_id(f, node, num))->peer;
}

/* Returns true if the request had a directed route from end to end: its source LID is then
 * permissive (IBA 14.2.2.1), and switches have written the whole return path. In any other request,
 * the sender may have invented a part of the return path. */
static bool is_pure_directed(const struct transport_mad *mad, const struct fab_mad *head)
{
    return mad->addr.slid == FAB_LID_PERMISSIVE && head->dr_slid == FAB_LID_PERMISSIVE &&
           head->dr_dlid == FAB_LID_PERMISSIVE;
}

/* Follows the return path in the SMP from this manager's port to the sender. Returns the sender's
 * port. A path that leads through an adapter is forged, because adapters do not forward packets;
 * the result is then FAB_NONE. */
static uint32_t origin_of_directed(const struct fab_fabric *f, const struct transport_mad *mad,
                                   const struct fab_mad *head)
{
    uint32_t port = f->self_port;
    if (!is_pure_directed(mad, head) || head->path.hops == 0)
        return FAB_NONE;
    for (uint8_t hop = head->path.hops; hop >= 1; hop--) {
        uint32_t node = fab_fabric_port(f, port)->node;
        if (hop != head->path.hops && !fab_fabric_node_is_switch(f, node))
            return FAB_NONE;
        port = across_link(f, node, mad->bytes[AT_RETURN_PATH + hop]);
        if (port == FAB_NONE)
            return FAB_NONE;
    }
    return port;
}

static uint32_t same_port(const struct sm *s, uint64_t node_guid, uint8_t num)
{
    const struct fab_fabric *f = s->model.fabric;
    uint32_t node = f ? fab_fabric_node_by_guid(f, node_guid) : FAB_NONE;
    return node != FAB_NONE && num <= f->nodes[node].num_ports ? fab_fabric_port_id(f, node, num)
                                                               : FAB_NONE;
}

uint32_t sm_trust_port_of(const struct sm *s, const struct sm_other *o)
{
    return same_port(s, o->node_guid, o->port_num);
}

/* Returns the id of the port that owns a LID; FAB_NONE: not known. Only a master knows the owners
 * of all LIDs; in other states, this manager knows only the LIDs of the other managers. */
static uint32_t owner_of(const struct sm *s, uint16_t lid)
{
    const struct fab_view *v = s->model.view;
    const struct sm_election *e = &s->ha->election;
    if (sm_is_master(s) && v && v->target) {
        const struct fab_lids *lids = &v->target->lids;
        if (lid > lids->top || lids->owner[lid] == FAB_NONE)
            return FAB_NONE;
        const struct fab_port *port = fab_fabric_port(v->fabric, lids->owner[lid]);
        return same_port(s, v->fabric->nodes[port->node].guid, port->num);
    }
    for (uint32_t i = 0; i < e->other_count; i++)
        if (lid != 0 && e->others[i].lid == lid)
            return sm_trust_port_of(s, &e->others[i]);
    return FAB_NONE;
}

uint32_t sm_trust_origin(const struct sm *s, const struct transport_mad *mad,
                         const struct fab_mad *head)
{
    if (!s->model.fabric)
        return FAB_NONE;
    return head->directed ? origin_of_directed(s->model.fabric, mad, head)
                          : owner_of(s, mad->addr.slid);
}
