/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cancels reads of a port probe whose directed routes lead over failed links or through failed
 * switches. Such reads get no answer, and the probe would delay the repair by 10 to 20 ms until it
 * stops waiting for them. After the repair there are directed routes around the failed links.
 * Another probe then reads the switches that this probe could not read.
 */
#include "fabricd/sm/fault/state.h"

/* Returns true if the probe has found the link of this port down. The links in the list of the
 * probe are not all down: some are up, but must be isolated. */
static bool is_down(const struct sm *s, uint32_t port)
{
    const struct sm_probe *p = &s->fault->probe;
    for (uint32_t i = 0; i < p->count; i++)
        if (!p->link[i].isolated && (p->link[i].port == port || p->link[i].peer == port))
            return true;
    return false;
}

/* Returns true if the directed route leads over a failed link, through a failed switch, or through
 * the switch `doubt`. */
static bool is_cut(const struct sm *s, const struct fab_path *path, uint32_t doubt)
{
    const struct fab_fabric *f = s->model.fabric;
    uint32_t at = fab_fabric_port(f, f->self_port)->node;
    for (unsigned hop = 1; path->hops != FAB_PATH_UNKNOWN && hop <= path->hops && at != FAB_NONE;
         hop++) {
        uint32_t port = fab_fabric_port_id(f, at, path->port[hop]);
        if (is_down(s, port))
            return true;
        at = fab_fabric_peer_node(f, port);
        if (at != FAB_NONE && (at == doubt || sm_lost_switch_is(s, at)))
            return true;
    }
    return false;
}

bool sm_path_is_cut(const struct sm *s, const struct fab_path *path)
{
    return is_cut(s, path, FAB_NONE);
}

bool sm_read_is_cut(const struct sm *s, uint32_t node)
{
    return s->fault->probe.count > 0 && is_cut(s, &s->model.paths[node], FAB_NONE);
}

struct selection {
    struct sm *s;
    uint32_t doubt;
};

/* Returns true if this request of the probe must be cancelled. In this case, notes the switch that
 * the request was to read. */
static bool select_cut(void *arg, uint64_t tag, const struct fab_path *path)
{
    const struct selection *x = arg;
    const struct fab_fabric *f = x->s->model.fabric;
    if (sm_return_is_answer(tag) || !is_cut(x->s, path, x->doubt))
        return false;
    uint32_t node = fab_fabric_port(f, (uint32_t)tag)->node;
    sm_guids_add(&x->s->fault->probe.cut, f->nodes[node].guid);
    sm_lost_switch_count(x->s, node, -1);
    return true;
}

void sm_reads_cut(struct sm *s, uint32_t doubt)
{
    struct selection x = {.s = s, .doubt = doubt};
    sm_run_give_up_if(s, select_cut, &x);
}

void sm_reads_cut_end(struct sm *s)
{
    struct sm_probe *p = &s->fault->probe;
    struct sm_guids cut = p->cut;
    for (uint32_t i = 0; i < cut.count; i++) {
        uint32_t node = fab_fabric_node_by_guid(s->model.fabric, cut.guid[i]);
        bool lost = sm_lost_switch_is(s, node);
        if (!lost)
            sm_guids_remove(&p->unresponsive, cut.guid[i]);
        if (lost || sm_lost_switch_explains(s, node))
            sm_guids_remove(&p->cut, cut.guid[i]);
    }
}
