/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds links between switches that come back after a failure. The repair session knows which link
 * each port had when the tables were computed. A port probe may find a port of a failed link up
 * again. Four requests then verify that the same link is back. NodeInfo, read over the link, shows
 * the port at the other end. PortInfo of that port shows its state. SwitchInfo of both switches
 * shows whether one of them was reset and has lost its tables. If the link is verified, no sweep is
 * needed: the local repair removes it from the list of dead links, and makes it Active before any
 * table entry leads over it.
 *
 * A targeted sweep handles all other links: links of hosts, links that the baseline does not have,
 * and links that must stay excluded. It also handles links to a switch that is cut off or that the
 * snapshot does not have.
 */
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/log.h"
#include "fabricd/sm/fault/state.h"

/* The four requests that verify a link: NodeInfo over the link, PortInfo of the port at its other
 * end, and SwitchInfo of both switches. They are bits of a bitset. The tag of a request is its bit
 * << TAG_SHIFT, plus the port id. */
enum { ASK_NODE = 1, ASK_PEER = 2, ASK_NEAR = 4, ASK_FAR = 8, ASK_ALL = 15 };
#define TAG_SHIFT 32

/* ---- which links ----------------------------------------------------------------------------- */

static bool is_linked_up(const struct fab_port_info *info)
{
    return info->phys_state == FAB_PHYS_LINKUP && info->port_state >= FAB_STATE_INIT;
}

static const struct fab_path *path_to(const struct sm *s, uint32_t port)
{
    const struct fab_path *path = &s->model.paths[fab_fabric_port(s->model.fabric, port)->node];
    return path->hops != FAB_PATH_UNKNOWN ? path : NULL;
}

bool sm_return_is(struct sm *s, uint32_t port, const struct fab_port_info *now)
{
    const struct fab_fabric *f = s->model.fabric;
    if (!is_linked_up(now) || fab_fabric_port(f, port)->peer != FAB_NONE || !sm_repair_ready(s) ||
        sm_program_failed(s) > 0 || sm_flap_bars(s, port))
        return false;
    uint32_t peer = fab_repair_session_peer(sm_repair_session(s), f, port);
    const struct fab_path *path = path_to(s, port);
    return peer != FAB_NONE && fab_fabric_node_is_switch(f, fab_fabric_port(f, peer)->node) &&
           fab_fabric_port(f, peer)->peer == FAB_NONE && path && path->hops < FAB_MAX_HOPS &&
           path_to(s, peer) && !sm_flap_bars(s, peer);
}

int sm_return_add(struct sm *s, uint32_t port, const struct fab_port_info *now)
{
    struct sm_probe *p = &s->fault->probe;
    for (const struct sm_return *l = p->back; l; l = l->next)
        if (l->port == port || l->peer == port)
            return FAB_OK;
    struct sm_return *l = calloc(1, sizeof(*l));
    if (!l)
        return FAB_E_NOMEM;
    l->port = port;
    l->peer = fab_repair_session_peer(sm_repair_session(s), s->model.fabric, port);
    l->info[0] = *now;
    l->path = *path_to(s, port);
    l->path.port[++l->path.hops] = fab_fabric_port(s->model.fabric, port)->num;
    l->next = p->back;
    p->back = l;
    return FAB_OK;
}

void sm_returns_fini(struct sm_probe *p)
{
    for (struct sm_return *l = p->back, *next; l; l = next) {
        next = l->next;
        free(l);
    }
    p->back = NULL;
    free(p->gained);
    p->gained = NULL;
    p->gains = 0;
}

void sm_returns_drop(struct sm *s)
{
    sm_returns_fini(&s->fault->probe);
    s->fault->probe.more = true;
}

/* ---- verifying the links --------------------------------------------------------------------- */

static void fill(struct sm *s, struct sm_return *l, unsigned ask, struct fab_mads_request *ret)
{
    const struct fab_fabric *f = s->model.fabric;
    ret->tag = (uint64_t)ask << TAG_SHIFT | l->port;
    ret->path = path_to(s, ask == ASK_NEAR ? l->port : l->peer);
    ret->attr_id = FAB_ATTR_SWITCH_INFO;
    ret->attr_mod = 0;
    if (ask == ASK_NODE) {
        ret->path = &l->path;
        ret->attr_id = FAB_ATTR_NODE_INFO;
    } else if (ask == ASK_PEER) {
        ret->attr_id = FAB_ATTR_PORT_INFO;
        ret->attr_mod = fab_fabric_port(f, l->peer)->num;
    }
    sm_m_key_fill(s, ret);
    /* sm_m_key_fill cannot find the port at the end of this route, because the snapshot lacks the
     * link. So the M_Key is set here. */
    if (ask == ASK_NODE)
        ret->m_key = sm_m_key_of_port(s, l->peer);
    l->asked |= (uint8_t)ask;
}

bool sm_return_next(struct sm *s, struct fab_mads_request *ret)
{
    for (struct sm_return *l = s->fault->probe.back; l; l = l->next)
        for (unsigned ask = ASK_NODE; ask <= ASK_FAR; ask <<= 1)
            if (!(l->asked & ask)) {
                fill(s, l, ask, ret);
                return true;
            }
    return false;
}

bool sm_returns_asked(const struct sm *s)
{
    for (const struct sm_return *l = s->fault->probe.back; l; l = l->next)
        if (l->asked != ASK_ALL)
            return false;
    return true;
}

bool sm_return_is_answer(uint64_t tag)
{
    return tag >> TAG_SHIFT != 0;
}

static bool is_same_port(const struct fab_fabric *f, const struct sm_return *l, const uint8_t *data,
                         size_t len)
{
    const struct fab_node *node = &f->nodes[fab_fabric_port(f, l->peer)->node];
    struct fab_node_info info;
    return fab_wire_attr_unpack(&fab_wire_attr_node_info, data, len, &info) == FAB_OK &&
           info.node_guid == node->guid && info.node_type == node->type &&
           info.num_ports == node->num_ports && info.local_port == fab_fabric_port(f, l->peer)->num;
}

/* Returns whether the switch still has its tables. If it was reset, its LinearFDBTop is not the one
 * that the manager has written. */
static bool has_kept_tables(const struct sm *s, uint32_t sw, const uint8_t *data, size_t len)
{
    struct fab_switch_info info;
    return fab_wire_attr_unpack(&fab_wire_attr_switch_info, data, len, &info) == FAB_OK &&
           info.linear_fdb_top == s->model.fabric->switches[sw].linear_fdb_top &&
           info.linear_fdb_top == s->model.target->lids.top;
}

static bool is_expected(struct sm *s, struct sm_return *l, unsigned ask,
                        const struct fab_mads_answer *a)
{
    const struct fab_fabric *f = s->model.fabric;
    if (a->status != FAB_OK)
        return false;
    switch (ask) {
    case ASK_NODE:
        return is_same_port(f, l, a->data, a->len);
    case ASK_PEER:
        return fab_wire_attr_unpack(&fab_wire_attr_port_info, a->data, a->len, &l->info[1]) ==
                   FAB_OK &&
               is_linked_up(&l->info[1]);
    default:
        return has_kept_tables(s, fab_fabric_port(f, ask == ASK_NEAR ? l->port : l->peer)->node,
                               a->data, a->len);
    }
}

void sm_return_answer(struct sm *s, uint64_t tag, const struct fab_mads_answer *a)
{
    unsigned ask = (unsigned)(tag >> TAG_SHIFT);
    for (struct sm_return *l = s->fault->probe.back; l; l = l->next)
        if (l->port == (uint32_t)tag && is_expected(s, l, ask, a))
            l->good |= (uint8_t)ask;
}

int sm_returns_verified(struct sm *s)
{
    struct sm_probe *p = &s->fault->probe;
    uint32_t count = 0;
    for (const struct sm_return *l = p->back; l; l = l->next)
        count++;
    if (count == 0)
        return FAB_OK;
    p->gained = calloc(count, sizeof(*p->gained));
    if (!p->gained)
        return FAB_E_NOMEM;
    for (const struct sm_return *l = p->back; l; l = l->next)
        if (l->good == ASK_ALL)
            p->gained[p->gains++] = (struct sm_link){.port = l->port, .peer = l->peer};
    p->more |= p->gains < count;
    return FAB_OK;
}

/* ---- restoring the links --------------------------------------------------------------------- */

bool sm_return_has(const struct sm *s, uint32_t dead)
{
    const struct fab_repair_session *t = sm_repair_session_of(s);
    const struct sm_probe *p = &s->fault->probe;
    for (uint32_t i = 0; i < p->gains; i++)
        if (fab_repair_session_port(t, s->model.fabric, p->gained[i].port) == dead ||
            fab_repair_session_port(t, s->model.fabric, p->gained[i].peer) == dead)
            return true;
    return false;
}

bool sm_returns_stand(struct sm *s, const struct fab_repair_delta *d)
{
    const struct fab_observed *o = &s->model.observed;
    const struct fab_lft *lft = &s->model.target->lft;
    for (size_t i = 0; i < d->writes; i++) {
        uint32_t sw = sm_repair_session(s)->idmap.to_current[d->write[i].sw],
                 block = d->write[i].block;
        if (sw != FAB_NONE && (!fab_plan_observed_is_known(o, sw, block) ||
                               memcmp(fab_target_lft_block(&o->lft, sw, block),
                                      fab_target_lft_block(lft, sw, block), FAB_LFT_BLOCK) != 0))
            return false;
    }
    return true;
}

static const struct sm_return *returned_at(const struct sm_probe *p, uint32_t port)
{
    const struct sm_return *l = p->back;
    while (l && l->port != port)
        l = l->next;
    return l;
}

int sm_returns_restore(struct sm *s, struct fab_plan *ret)
{
    const struct sm_probe *p = &s->fault->probe;
    uint32_t *port = calloc(2 * (size_t)p->gains + 1, sizeof(*port));
    if (!port)
        return FAB_E_NOMEM;
    int r = FAB_OK;
    for (uint32_t i = 0; r == FAB_OK && i < p->gains; i++) {
        const struct sm_return *l = returned_at(p, p->gained[i].port);
        port[2 * i] = l->port;
        port[2 * i + 1] = l->peer;
        r = fab_fabric_add_link(s->model.fabric, &port[2 * i], l->info);
    }
    if (r == FAB_OK && p->gains > 0)
        r = sm_program_links(s, port, 2 * (size_t)p->gains, ret);
    free(port);
    return r;
}
