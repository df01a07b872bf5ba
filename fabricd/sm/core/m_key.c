/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses the M_Key that each SMP carries (IBA 14.2.4).
 *
 * The snapshot has the M_Key of each port as the manager read it. At protection level 0, a port
 * shows its M_Key in all answers. At other levels it shows the key only to requests that carry this
 * key, and 0 to others. A request carries the key of the port at which it ends. If this key is not
 * known, the request carries the current key, which the policy demands. Usually all known keys
 * equal the current key, so it does not matter at which port a request ends.
 *
 * A device of protection level 2 or 3 does not answer a request with a wrong key. So the last tries
 * of a discovery's request carry the previous key (the policy demanded it before its last change)
 * and the listed key, if there are such keys. If the device has answered only a try with one of
 * these two keys, later requests on the same directed route carry that key, too, until the device
 * is in the snapshot.
 *
 * Listed keys are keys that another manager gave to ports; they come from the file
 * subnet.m_key_file. A listed key is sent only to the place of the port for which the file lists
 * it. fill_by_place checks this condition, and also the conditions for derived keys.
 */
#include "fabricd/sm/core/state.h"
#include "libfabmgr/base/status.h"

/* Which M_Key a request had to carry so that the device at the end of a directed route answered:
 * the current, the previous or the listed key. */
enum path_key { PATH_WANTED, PATH_FORMER, PATH_LISTED };

bool sm_m_key_has_own(const struct fab_fabric *f, uint32_t port)
{
    return fab_fabric_port(f, port)->num == 0 ||
           !fab_fabric_node_is_switch(f, fab_fabric_port(f, port)->node);
}

/* Returns the port that has the M_Key for `port`: port 0 of its switch, or else the port itself. */
static uint32_t keyed_port(const struct fab_fabric *f, uint32_t port)
{
    uint32_t node = fab_fabric_port(f, port)->node;
    return fab_fabric_node_is_switch(f, node) ? fab_fabric_port_id(f, node, 0) : port;
}

static uint64_t key_of(const struct sm *s, const struct fab_m_keys *keys, uint32_t port)
{
    const struct fab_fabric *f = s->model.fabric;
    return fab_policy_m_key(keys,
                            port != FAB_NONE ? fab_fabric_port(f, keyed_port(f, port))->guid : 0);
}

uint64_t sm_m_key_wanted(const struct sm *s, uint32_t port)
{
    return key_of(s, &s->policy.m_keys, port);
}

uint64_t sm_m_key_former(const struct sm *s, uint32_t port)
{
    return key_of(s, &s->core->previous_m_keys, port);
}

uint64_t sm_m_key_listed(const struct sm *s, uint32_t port)
{
    const struct fab_fabric *f = s->model.fabric;
    return fab_policy_m_key_list_find(s->policy.listed_m_keys,
                                      fab_fabric_port(f, keyed_port(f, port))->guid);
}

uint64_t sm_m_key_of_port(const struct sm *s, uint32_t port)
{
    const struct fab_fabric *f = s->model.fabric;
    if (!s->core->m_keys_mixed || port == FAB_NONE)
        return sm_m_key_wanted(s, port);
    uint64_t key = fab_fabric_port(f, keyed_port(f, port))->info.m_key;
    return key != 0 ? key : sm_m_key_wanted(s, port);
}

bool sm_m_key_proves(const struct sm *s, uint64_t key)
{
    return key != 0 && (key == fab_policy_m_key(&s->policy.m_keys, s->role.guid) ||
                        (s->core->m_keys_rotate &&
                         key == fab_policy_m_key(&s->core->previous_m_keys, s->role.guid)));
}

/* Returns the port of the snapshot at which the directed route ends; FAB_NONE: the snapshot lacks a
 * node or link of the route. */
static uint32_t end_of(const struct fab_fabric *f, const struct fab_path *path)
{
    uint32_t port = f->self_port;
    for (uint8_t hop = 1; hop <= path->hops && port != FAB_NONE; hop++) {
        uint32_t node = fab_fabric_port(f, port)->node;
        if (path->port[hop] == 0 || path->port[hop] > f->nodes[node].num_ports)
            return FAB_NONE;
        port = fab_fabric_port(f, fab_fabric_port_id(f, node, path->port[hop]))->peer;
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
    const struct fab_port *port = fab_fabric_port(v->fabric, v->target->lids.owner[lid]);
    uint32_t node = fab_fabric_node_by_guid(f, v->fabric->nodes[port->node].guid);
    return node != FAB_NONE && port->num <= f->nodes[node].num_ports
               ? fab_fabric_port_id(f, node, port->num)
               : FAB_NONE;
}

static uint64_t hash_of(const struct fab_path *path)
{
    /* the offset basis of the FNV-1a hash */
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ path->hops;
    for (uint8_t hop = 1; hop <= path->hops; hop++)
        hash = (hash ^ path->port[hop]) * UINT64_C(0x100000001b3);
    return hash;
}

/* Returns the port of the snapshot to which the directed route or the LID of a request leads;
 * FAB_NONE: the snapshot does not have this port, or all ports need the same M_Key. */
static uint32_t end_of_request(const struct sm *s, const struct fab_mads_request *req)
{
    const struct fab_fabric *f = s->model.fabric;
    if (!s->core->m_keys_mixed || !f || f->self_port == FAB_NONE)
        return FAB_NONE;
    return req->path ? end_of(f, req->path) : sm_m_key_port_of_lid(s, req->dlid);
}

static enum path_key key_of_path(const struct sm *s, const struct fab_path *path)
{
    const struct fab_map *m = &s->core->key_paths;
    uint32_t key = PATH_WANTED;
    if (path && m->count > 0)
        (void)fab_base_map_get(m, hash_of(path), &key);
    return (enum path_key)key;
}

void sm_m_key_fill(const struct sm *s, struct fab_mads_request *req)
{
    uint32_t port = end_of_request(s, req);
    bool former = port == FAB_NONE && key_of_path(s, req->path) == PATH_FORMER;
    req->m_key = former ? sm_m_key_former(s, port) : sm_m_key_of_port(s, port);
}

/* ---- discovery ------------------------------------------------------------------------------- */

/* The port that was last seen at the end of a directed route. */
struct end {
    uint64_t guid, port_guid; /* 0: not known */
    /* id of the port in the snapshot; FAB_NONE: the port is known only from the places of earlier
     * sweeps (model.places) */
    uint32_t port;
};

/* Finds the port at the end of a directed route if the snapshot lacks a node or link of the route.
 * The function follows the route through the places where ports were last seen. The store keeps
 * these places over restarts. */
static struct end end_by_places(const struct sm *s, const struct fab_path *path)
{
    const struct fab_places *places = s->model.places;
    const struct fab_place *at = fab_discover_place_of_port_guid(places, s->role.guid);
    for (uint8_t hop = 1; hop <= path->hops && at; hop++) {
        const struct fab_place *out = fab_discover_place(places, at->guid, path->port[hop]);
        at = out ? fab_discover_place(places, out->near_guid, out->near_port) : NULL;
    }
    return (struct end){
        .guid = at ? at->guid : 0, .port_guid = at ? at->port_guid : 0, .port = FAB_NONE};
}

static struct end find_end(const struct sm *s, const struct fab_path *path)
{
    const struct fab_fabric *f = s->model.fabric;
    uint32_t port = f && f->self_port != FAB_NONE ? end_of(f, path) : FAB_NONE;
    if (port == FAB_NONE)
        return end_by_places(s, path);
    return (struct end){.guid = f->nodes[fab_fabric_port(f, port)->node].guid,
                        .port_guid = fab_fabric_port(f, keyed_port(f, port))->guid,
                        .port = port};
}

/* Returns the listed M_Key of the port at the end of a directed route; 0: none. port_guid: GUID
 * of the port that was last seen at the end of the route; 0: not known. A route without hops
 * ends at the manager's own port. */
static uint64_t listed_at(const struct sm *s, const struct fab_path *path, uint64_t port_guid)
{
    return fab_policy_m_key_list_find(s->policy.listed_m_keys,
                                      path->hops == 0 ? s->role.guid : port_guid);
}

static void add_last_key(struct fab_mads_request *req, uint64_t key)
{
    uint64_t *last = req->m_key_last;
    if (key != 0 && key != req->m_key && key != last[0])
        last[last[0] != 0] = key;
}

/* Sets the M_Keys of a discovery's request if ports can have different keys, because subnet.m_key
 * is or was "derived", or because subnet.m_key_file lists keys. guid: the node GUID that the device
 * claims; 0: not known. The key of a port is sent only to the place where the port was last seen,
 * and only if the device there claims its GUID. At protection levels 2 and 3, a device claims no
 * GUID before it has got its key, so the place alone decides. If the device claims the GUID at a
 * new place, sm_phase_identify_keys sends the key later, after its own checks. */
static void fill_by_place(const struct sm *s, uint64_t guid, struct fab_mads_request *req)
{
    struct end e = find_end(s, req->path);
    bool established = guid != 0 ? guid == e.guid : s->policy.m_key_protect > 1;
    uint64_t port_guid = established ? e.port_guid : 0;
    uint64_t wanted = fab_policy_m_key(&s->policy.m_keys, port_guid);
    uint64_t former = fab_policy_m_key(&s->core->previous_m_keys, port_guid);
    uint64_t known = established && e.port != FAB_NONE ? sm_m_key_of_port(s, e.port) : wanted;
    uint64_t listed = listed_at(s, req->path, port_guid);
    enum path_key answered = key_of_path(s, req->path);
    req->m_key = answered == PATH_FORMER                  ? former
                 : answered == PATH_LISTED && listed != 0 ? listed
                                                          : known;
    if (req->m_key != wanted)
        return;
    add_last_key(req, former);
    add_last_key(req, listed);
}

void sm_m_key_fill_discovery(const struct sm *s, uint64_t guid, struct fab_mads_request *req)
{
    if (s->policy.m_keys.derive || s->core->previous_m_keys.derive || s->policy.listed_m_keys) {
        fill_by_place(s, guid, req);
        return;
    }
    uint32_t port = end_of_request(s, req);
    sm_m_key_fill(s, req);
    if (req->m_key == sm_m_key_wanted(s, port))
        add_last_key(req, sm_m_key_former(s, port));
}

void sm_m_key_answered(struct sm *s, const struct fab_mads_answer *a)
{
    struct sm_core *c = s->core;
    bool any = fab_policy_m_keys_set(&c->previous_m_keys) || s->policy.listed_m_keys;
    if (a->status != FAB_OK || a->m_key == 0 || !a->path || !any)
        return;
    uint64_t guid = find_end(s, a->path).port_guid;
    enum path_key key = PATH_WANTED;
    if (a->m_key == fab_policy_m_key(&c->previous_m_keys, guid))
        key = PATH_FORMER;
    else if (a->m_key != fab_policy_m_key(&s->policy.m_keys, guid) &&
             a->m_key == listed_at(s, a->path, guid))
        key = PATH_LISTED;
    /* If memory runs out, the key is not noted, and a later discovery must find it again. */
    if (key != PATH_WANTED)
        (void)fab_base_map_put(&c->key_paths, hash_of(a->path), key);
}

static bool is_other_key(const struct sm *s, uint32_t port)
{
    uint64_t key = fab_fabric_port(s->model.fabric, port)->info.m_key;
    return key != 0 && key != sm_m_key_wanted(s, port);
}

void sm_m_key_recount(struct sm *s)
{
    const struct fab_fabric *f = s->model.fabric;
    bool mixed = s->policy.m_keys.derive || s->core->previous_m_keys.derive;
    for (uint32_t node = 0; !mixed && f && node < f->node_count; node++)
        for (uint32_t i = 0; !mixed && i < sm_own_ports(f, node); i++)
            mixed = is_other_key(s, f->nodes[node].first_port + i);
    s->core->m_keys_mixed = mixed;
    fab_base_map_fini(&s->core->key_paths);
}

bool sm_m_keys_are_mixed(const struct sm *s)
{
    return s->core->m_keys_mixed;
}

const struct fab_m_keys *sm_m_key_previous(const struct sm *s)
{
    return &s->core->previous_m_keys;
}

void sm_m_key_set_rotating(struct sm *s, bool rotating)
{
    s->core->m_keys_rotate = rotating;
}

void sm_m_key_set_previous(struct sm *s, const struct fab_m_keys *keys, bool rotating)
{
    s->core->previous_m_keys = *keys;
    s->core->m_keys_rotate = rotating;
    sm_m_key_recount(s);
}
