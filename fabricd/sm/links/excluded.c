/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists the excluded links that may still carry packets. Excluded links are not in the snapshot, so
 * that new routes avoid them; but entries that the switches hold may still lead over them. A proof
 * of the entries that switches hold therefore uses a snapshot to which these links are added. A
 * released link stays in this list until a port probe or a sweep has put it back into the snapshot.
 */
#include <stdlib.h>

#include "fabricd/sm/links/state.h"

/* Returns true if packets can pass the link of this port, although the link is not in the snapshot:
 * the port is Active. */
static bool carries(const struct fab_fabric *f, uint64_t guid, uint8_t num)
{
    uint32_t node = fab_fabric_node_by_guid(f, guid);
    if (node == FAB_NONE || num > f->nodes[node].num_ports)
        return false;
    const struct fab_port *p = fab_fabric_port(f, fab_fabric_port_id(f, node, num));
    return p->peer == FAB_NONE && p->info.phys_state == FAB_PHYS_LINKUP &&
           p->info.port_state == FAB_STATE_ACTIVE;
}

struct sm_excluded *sm_excluded_take(const struct sm *s, bool barred)
{
    const struct fab_fabric *f = s->model.fabric;
    uint32_t silent = 0;
    const struct fab_silent_link *of_silent = fab_discover_silent_links(sm_silent_set(s), &silent);
    struct sm_excluded *x =
        calloc(1, sizeof(*x) + ((size_t)silent + s->links->count) * sizeof(x->link[0]));
    if (!x)
        return NULL;
    for (uint32_t i = 0; i < silent; i++)
        x->link[x->count++] = of_silent[i];
    for (uint32_t i = 0; barred && i < s->links->count; i++) {
        const struct sm_flap *e = &s->links->list[i];
        if (!e->offence && carries(f, e->guid[0], e->port[0]) && carries(f, e->guid[1], e->port[1]))
            x->link[x->count++] =
                (struct fab_silent_link){{e->guid[0], e->guid[1]}, {e->port[0], e->port[1]}};
    }
    return x;
}

bool sm_excluded_peer(const struct sm *s, uint64_t node_guid, uint8_t port, uint64_t *ret_guid,
                      uint8_t *ret_port)
{
    const struct sm_flap *e = sm_flap_find(s, node_guid, port);
    if (!e || !e->out)
        return false;
    int other = e->guid[0] == node_guid && e->port[0] == port;
    *ret_guid = e->guid[other];
    *ret_port = e->port[other];
    return true;
}

bool sm_link_ports(const struct fab_fabric *f, const struct fab_silent_link *l, uint32_t ret[2])
{
    for (int end = 0; end < 2; end++) {
        uint32_t node = fab_fabric_node_by_guid(f, l->guid[end]);
        if (node == FAB_NONE || l->port[end] > f->nodes[node].num_ports)
            return false;
        ret[end] = fab_fabric_port_id(f, node, l->port[end]);
    }
    return true;
}

/* Puts the link back into the snapshot if both its ports are LinkUp and have no peer in the
 * snapshot. Returns OK or NOMEM. */
static int connect(struct fab_fabric *f, const struct fab_silent_link *l)
{
    uint32_t port[2];
    struct fab_port_info info[2];
    if (!sm_link_ports(f, l, port))
        return FAB_OK;
    for (int end = 0; end < 2; end++) {
        const struct fab_port *p = fab_fabric_port(f, port[end]);
        if (p->peer != FAB_NONE || p->info.phys_state != FAB_PHYS_LINKUP)
            return FAB_OK;
        info[end] = p->info;
    }
    return fab_fabric_add_link(f, port, info);
}

int sm_excluded_connected(const struct sm_excluded *x, struct fab_fabric *f,
                          struct fab_fabric **ret)
{
    struct fab_fabric *next = NULL;
    if (x->count == 0) {
        *ret = fab_fabric_ref(f);
        return FAB_OK;
    }
    int r = fab_fabric_next(f, &next);
    for (uint32_t i = 0; i < x->count && r == FAB_OK; i++)
        r = connect(next, &x->link[i]);
    if (r != FAB_OK) {
        fab_fabric_unref(next);
        return r;
    }
    *ret = next;
    return FAB_OK;
}
