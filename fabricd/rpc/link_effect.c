/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * While an unhealthy link stays in use, its errors damage packets on the paths that lead over it.
 * The measure of this effect is e * (n + 1): e is the number of errors per hour, and n the number
 * of LIDs that the two switches reach over the link. While an uplink is isolated, its leaf or pod
 * has one uplink less.
 */
#include "fabricd/rpc/link_effect.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/study/link_use.h"
#include "libfabmgr/view/view.h"

/* Returns the rate of the counter that crossed its threshold. */
static uint64_t errors_per_hour(const Fabric__V1__UnhealthyLink *l)
{
    uint64_t us =
        l->interval ? (uint64_t)l->interval->seconds * 1000000 + (uint64_t)l->interval->nanos / 1000
                    : 0;
    return us ? (uint64_t)((double)l->increase * 3600e6 / (double)us) : 0;
}

static uint64_t routed_lids(const struct fab_view *v, uint64_t guid, uint8_t port)
{
    uint32_t node = v && v->target ? fab_fabric_node_by_guid(v->fabric, guid) : FAB_NONE;
    if (node == FAB_NONE || port > v->fabric->nodes[node].num_ports)
        return 0;
    return fab_study_link_use(v->fabric, &v->target->lft,
                              fab_fabric_port_id(v->fabric, node, port));
}

static void set_capacity(struct answer *a, const struct sm_capacity *c,
                         Fabric__V1__UnhealthyLink *m)
{
    if (!c->is_uplink)
        return;
    m->uplinks_of = answer_text(a, c->name);
    m->uplinks_of_pod = c->pod;
    m->uplinks = c->uplinks;
    m->uplinks_in_use = c->in_use;
    m->uplinks_least = c->least;
}

static int compare(const void *a, const void *b)
{
    const Fabric__V1__UnhealthyLink *l[2] = {*(Fabric__V1__UnhealthyLink *const *)a,
                                             *(Fabric__V1__UnhealthyLink *const *)b};
    double effect[2];
    if (l[0]->in_routes != l[1]->in_routes)
        return l[0]->in_routes ? -1 : 1;
    for (int i = 0; i < 2; i++)
        effect[i] = (double)l[i]->errors_per_hour * (1 + (double)l[i]->routed_lids);
    if (effect[0] != effect[1])
        return effect[0] > effect[1] ? -1 : 1;
    int names = strcmp(l[0]->a->node_name, l[1]->a->node_name);
    return names ? names : (int)l[0]->a->port_number - (int)l[1]->a->port_number;
}

static uint64_t guid_of(const Fabric__V1__UnhealthyLink *l)
{
    return l->a ? strtoull(l->a->node_guid, NULL, 16) : 0;
}

void link_effect_add(struct call *c, struct answer *a, Fabric__V1__ListUnhealthyLinksResponse *m)
{
    struct sm *sm = call_rpc(c)->in.sm;
    struct fab_view *v = sm_view(sm);
    struct sm_capacity *list = answer_alloc(a, m->n_links, sizeof *list);
    for (size_t i = 0; list && i < m->n_links; i++) {
        if (!m->links[i] || !m->links[i]->a)
            goto out; /* memory ran out, and answer_reply will send an error */
        list[i].guid = guid_of(m->links[i]);
        list[i].port = (uint8_t)m->links[i]->a->port_number;
    }
    if (!list || sm_link_capacities(sm, list, (uint32_t)m->n_links) != FAB_OK)
        goto out;
    for (size_t i = 0; i < m->n_links; i++) {
        m->links[i]->errors_per_hour = errors_per_hour(m->links[i]);
        m->links[i]->routed_lids = routed_lids(v, list[i].guid, list[i].port);
        set_capacity(a, &list[i], m->links[i]);
    }
    qsort(m->links, m->n_links, sizeof *m->links, compare);
out:
    fab_view_unref(v);
}
