/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Phase "electing": asks every port that says it hosts a subnet manager (IsSM) for its SMInfo, and
 * lets the role machine decide (IBA 14.4.1). A port is reached by the cable that ends in it, since
 * an adapter may have two.
 */
#include "fabricd/sm/private.h"

/* The directed route that ends in this very port; false: none is known. */
static bool path_to_port(const struct sm *s, uint32_t port, struct fab_path *ret)
{
    const struct fab_fabric *f = s->model.fabric;
    uint32_t node = f->ports[port].node, peer = f->ports[port].peer;
    if (fab_node_is_switch(f, node)) {
        *ret = s->model.paths[node];
        return ret->hops != FAB_PATH_UNKNOWN;
    }
    if (peer == FAB_NONE)
        return false;
    const struct fab_path *near = &s->model.paths[f->ports[peer].node];
    if (near->hops == FAB_PATH_UNKNOWN || near->hops >= FAB_MAX_HOPS)
        return false;
    *ret = *near;
    ret->hops++;
    ret->port[ret->hops] = f->ports[peer].num;
    return true;
}

static int enter(struct sm *s)
{
    const struct fab_fabric *f = s->model.fabric;
    struct sm_sminfo *x = &s->sminfo;
    x->count = x->asked = x->info_count = 0;
    for (uint32_t p = 0; p < f->port_count && x->count < SM_MAX_OTHERS; p++) {
        const struct fab_port *port = &f->ports[p];
        if (port->present && p != f->self_port && (port->info.cap_mask & SM_CAP_IS_SM) &&
            fab_port_has_lid(f, p) && path_to_port(s, p, &x->paths[x->count]))
            x->ports[x->count++] = p;
    }
    return FAB_OK;
}

static bool next(struct sm *s, struct fab_mads_request *ret)
{
    struct sm_sminfo *x = &s->sminfo;
    if (x->asked == x->count)
        return false;
    ret->path = &x->paths[x->asked];
    ret->attr_id = FAB_ATTR_SM_INFO;
    ret->attr_mod = 0;
    ret->tag = x->asked++;
    return true;
}

static void answer(struct sm *s, uint64_t tag, const struct fab_mads_answer *a)
{
    struct sm_sminfo *x = &s->sminfo;
    struct fab_sm_info info;
    if (a->status != FAB_OK || fab_attr_unpack(&fab_attr_sm_info, a->data, a->len, &info) != FAB_OK)
        return;
    if (info.guid == s->role.guid || info.state == FAB_SM_NOT_ACTIVE)
        return;
    x->infos[x->info_count] = info;
    x->info_paths[x->info_count] = x->paths[tag];
    x->info_lids[x->info_count++] = s->model.fabric->ports[x->ports[tag]].info.lid;
}

static bool finished(const struct sm *s)
{
    return s->sminfo.asked == s->sminfo.count;
}

static int leave(struct sm *s)
{
    sm_ha_elect(s);
    return s->role.state == FAB_SM_MASTER ? FAB_OK : SM_ROUND_OVER;
}

const struct sm_phase sm_phase_sminfo = {"electing", enter, next, answer, finished, leave};
