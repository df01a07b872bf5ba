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

/* Returns the port whose M_Key protects this port: port 0 of its switch, or for an adapter the port
 * itself. */
static uint32_t keyed_port(const struct fab_fabric *f, uint32_t port)
{
    uint32_t node = f->ports[port].node;
    return fab_fabric_node_is_switch(f, node) ? fab_fabric_port_id(f, node, 0) : port;
}

static uint64_t key_of(const struct sm *s, const struct fab_m_keys *keys, uint32_t port)
{
    const struct fab_fabric *f = s->model.fabric;
    return fab_policy_m_key(keys, port != FAB_NONE ? f->ports[keyed_port(f, port)].guid : 0);
}

uint64_t sm_m_key_wanted(const struct sm *s, uint32_t port)
{
    return key_of(s, &s->policy.m_keys, port);
}

uint64_t sm_m_key_former(const struct sm *s, uint32_t port)
{
    return key_of(s, &s->core->previous_m_keys, port);
}

uint64_t sm_m_key_of_port(const struct sm *s, uint32_t port)
{
    const struct fab_fabric *f = s->model.fabric;
    if (!s->core->m_keys_mixed || port == FAB_NONE)
        return sm_m_key_wanted(s, port);
    uint64_t key = f->ports[keyed_port(f, port)].info.m_key;
    return key != 0 ? key : sm_m_key_wanted(s, port);
}

bool sm_m_key_proves(const struct sm *s, uint64_t key)
{
    const struct fab_fabric *f = s->model.fabric;
    return key != 0 && key == sm_m_key_wanted(s, f ? f->self_port : FAB_NONE);
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

uint32_t sm_m_key_port_of_lid(const struct sm *s, uint16_t lid)
{
    const struct fab_view *v = s->model.view;
    const struct fab_fabric *f = s->model.fabric;
    if (!f || !v || !v->target || lid > v->target->lids.top ||
        v->target->lids.owner[lid] == FAB_NONE)
        return FAB_NONE;
    const struct fab_port *port = &v->fabric->ports[v->target->lids.owner[lid]];
    uint32_t node = fab_fabric_node_by_guid(f, v->fabric->nodes[port->node].guid);
    return node != FAB_NONE && port->num <= f->nodes[node].num_ports
               ? fab_fabric_port_id(f, node, port->num)
               : FAB_NONE;
}

static uint64_t hash_of(const struct fab_path *path)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ path->hops; /* start value of the FNV-1a hash */
    for (uint8_t hop = 1; hop <= path->hops; hop++)
        hash = (hash ^ path->port[hop]) * UINT64_C(0x100000001b3);
    return hash;
}

/* Returns the port at which a request ends. Returns FAB_NONE if the snapshot does not contain this
 * port. */
static uint32_t end_of_request(const struct sm *s, const struct fab_mads_request *req)
{
    const struct fab_fabric *f = s->model.fabric;
    if (!s->core->m_keys_mixed || !f || f->self_port == FAB_NONE)
        return FAB_NONE;
    return req->path ? end_of(f, req->path) : sm_m_key_port_of_lid(s, req->dlid);
}

void sm_m_key_fill(const struct sm *s, struct fab_mads_request *req)
{
    const struct sm_core *c = s->core;
    uint32_t port = end_of_request(s, req);
    bool former = port == FAB_NONE && req->path && c->former_paths.count > 0 &&
                  fab_base_map_has(&c->former_paths, hash_of(req->path));
    req->m_key = former ? sm_m_key_former(s, port) : sm_m_key_of_port(s, port);
}

void sm_m_key_fill_discovery(const struct sm *s, struct fab_mads_request *req)
{
    uint32_t port = end_of_request(s, req);
    sm_m_key_fill(s, req);
    if (req->m_key == sm_m_key_wanted(s, port))
        req->m_key_last = sm_m_key_former(s, port);
}

void sm_m_key_answered(struct sm *s, const struct fab_mads_answer *a)
{
    struct sm_core *c = s->core;
    if (a->status == FAB_OK && a->m_key != 0 && a->path && a->m_key == sm_m_key_former(s, FAB_NONE))
        (void)fab_base_map_put(&c->former_paths, hash_of(a->path),
                               1); /* NOMEM: a later discovery notes the route again */
}

void sm_m_key_recount(struct sm *s)
{
    const struct fab_fabric *f = s->model.fabric;
    uint32_t others = 0;
    for (uint32_t port = 0; f && port < f->port_count; port++) {
        uint64_t key = f->ports[port].info.m_key;
        others += key != 0 && sm_m_key_has_own(f, port) && key != sm_m_key_wanted(s, port);
    }
    s->core->m_keys_mixed = others > 0;
    fab_base_map_fini(&s->core->former_paths);
}

const struct fab_m_keys *sm_m_key_previous(const struct sm *s)
{
    return &s->core->previous_m_keys;
}

void sm_m_key_set_previous(struct sm *s, const struct fab_m_keys *keys)
{
    s->core->previous_m_keys = *keys;
    sm_m_key_recount(s);
}
