/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses the M_Key that each SMP carries (IBA 14.2.4).
 *
 * The snapshot has the M_Key of each port as the manager read it. A port shows its M_Key to
 * requests that carry this key; at protection level 0, a port shows its key to all requests. To
 * other requests it shows 0. So a request carries the key of the port at which it ends, or the
 * manager's current key if that port's key is not known. While all known keys equal the current
 * one, which is the usual case, the manager need not find out where a request ends.
 *
 * A device of protection level 2 or 3 does not answer a wrong key. So the last try of a discovery's
 * request carries the previous key, if there is one. If only this try was answered, requests on the
 * same route carry the previous key until the snapshot knows the device.
 */
#include "fabricd/sm/core/state.h"
#include "libfabmgr/base/status.h"

bool sm_m_key_has_own(const struct fab_fabric *f, uint32_t port)
{
    return f->ports[port].num == 0 || !fab_fabric_node_is_switch(f, f->ports[port].node);
}

uint64_t sm_m_key_of_port(const struct sm *s, uint32_t port)
{
    const struct fab_fabric *f = s->model.fabric;
    uint32_t node = f->ports[port].node;
    if (!s->core->m_keys_mixed)
        return s->policy.m_key;
    if (fab_fabric_node_is_switch(f, node))
        port = fab_fabric_port_id(f, node, 0);
    uint64_t key = f->ports[port].info.m_key;
    return key != 0 ? key : s->policy.m_key;
}

/* Returns the port at which the directed route ends. Returns FAB_NONE if the snapshot does not
 * contain the route. */
static uint32_t end_of(const struct fab_fabric *f, const struct fab_path *path)
{
    uint32_t port = f->self_port;
    for (uint8_t hop = 1; hop <= path->hops && port != FAB_NONE; hop++) {
        uint32_t node = f->ports[port].node;
        if (path->port[hop] == 0 || path->port[hop] > f->nodes[node].num_ports)
            return FAB_NONE;
        port = f->ports[fab_fabric_port_id(f, node, path->port[hop])].peer;
    }
    return port;
}

/* Returns the id in the snapshot of the port that owns the LID in the published view, or
 * FAB_NONE. */
static uint32_t owner_of(const struct sm *s, uint16_t lid)
{
    const struct fab_view *v = s->model.view;
    const struct fab_fabric *f = s->model.fabric;
    if (!v || !v->target || lid > v->target->lids.top || v->target->lids.owner[lid] == FAB_NONE)
        return FAB_NONE;
    const struct fab_port *port = &v->fabric->ports[v->target->lids.owner[lid]];
    uint32_t node = fab_fabric_node_by_guid(f, v->fabric->nodes[port->node].guid);
    return node != FAB_NONE && port->num <= f->nodes[node].num_ports
               ? fab_fabric_port_id(f, node, port->num)
               : FAB_NONE;
}

static uint64_t hash_of(const struct fab_path *path)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ path->hops; /* FNV-1a */
    for (uint8_t hop = 1; hop <= path->hops; hop++)
        hash = (hash ^ path->port[hop]) * UINT64_C(0x100000001b3);
    return hash;
}

void sm_m_key_fill(const struct sm *s, struct fab_mads_request *req)
{
    const struct sm_core *c = s->core;
    req->m_key = s->policy.m_key;
    if (req->path && c->former_paths.count > 0 &&
        fab_base_map_has(&c->former_paths, hash_of(req->path)))
        req->m_key = c->previous_m_key;
    if (!c->m_keys_mixed || !s->model.fabric || s->model.fabric->self_port == FAB_NONE)
        return;
    uint32_t port = req->path ? end_of(s->model.fabric, req->path) : owner_of(s, req->dlid);
    if (port != FAB_NONE)
        req->m_key = sm_m_key_of_port(s, port);
}

uint64_t sm_m_key_of_lid(const struct sm *s, uint16_t lid)
{
    struct fab_mads_request req = {.dlid = lid};
    sm_m_key_fill(s, &req);
    return req.m_key;
}

void sm_m_key_fill_discovery(const struct sm *s, struct fab_mads_request *req)
{
    sm_m_key_fill(s, req);
    if (req->m_key == s->policy.m_key)
        req->m_key_last = s->core->previous_m_key;
}

void sm_m_key_answered(struct sm *s, const struct fab_mads_answer *a)
{
    struct sm_core *c = s->core;
    if (a->status == FAB_OK && c->previous_m_key != 0 && a->m_key == c->previous_m_key && a->path)
        (void)fab_base_map_put(&c->former_paths, hash_of(a->path),
                               1); /* NOMEM: a later discovery notes the route again */
}

void sm_m_key_recount(struct sm *s)
{
    const struct fab_fabric *f = s->model.fabric;
    uint32_t others = 0;
    for (uint32_t port = 0; f && port < f->port_count; port++) {
        uint64_t key = f->ports[port].info.m_key;
        others += key != 0 && key != s->policy.m_key && sm_m_key_has_own(f, port);
    }
    s->core->m_keys_mixed = others > 0;
    fab_base_map_fini(&s->core->former_paths);
}

uint64_t sm_m_key_previous(const struct sm *s)
{
    return s->core->previous_m_key;
}

void sm_m_key_set_previous(struct sm *s, uint64_t key)
{
    s->core->previous_m_key = key;
    sm_m_key_recount(s);
}
