/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Phase "glancing": what became of the switches that traps name? One PortInfo a port, all at once,
 * and nothing else is asked: enough to know a cable between two switches that died, which is what
 * cannot wait. One that is to be isolated goes along as if it had died. It is compared with what is
 * known; the rest (a cable that came, a host, another speed) is left to the scoped look that
 * follows, at once when there is something of that kind.
 */
#include <stdlib.h>

#include "fabricd/base/clock.h"
#include "fabricd/sm/private.h"

#define GATHER_US 20000u

static void step_over(struct sm *s)
{
    s->scan.index++;
    s->scan.block = 1;
}

static int enter(struct sm *s)
{
    sm_probe_fini(&s->cut);
    s->scan = (struct sm_scan){.block = 1};
    return FAB_OK;
}

/* The suspect that is asked now, when it is a switch that can be reached. */
static const struct fab_path *suspect(struct sm *s, uint32_t *ret_node)
{
    const struct fab_fabric *f = s->model.fabric;
    uint32_t node = fab_fabric_node_by_guid(f, s->suspects.guid[s->scan.index]);
    if (node == FAB_NONE || !fab_node_is_switch(f, node) ||
        s->model.paths[node].hops == FAB_PATH_UNKNOWN)
        return NULL;
    *ret_node = node;
    return &s->model.paths[node];
}

/* Traps that came while we were looking: a switch that dies makes dozens, and one change of them
 * all is less work, and better, than dozens of changes. Not for ever. */
static void gather(struct sm *s)
{
    struct sm_guids *came = &s->want.glance, later = {0};
    if (came->count == 0 || came->many || clock_now_us() - s->run.started_us > GATHER_US)
        return;
    for (uint32_t i = 0; i < came->count; i++) {
        bool known = sm_guids_have(&s->suspects, came->guid[i]);
        sm_guids_add(known || s->suspects.count == SM_MAX_SUSPECTS ? &later : &s->suspects,
                     came->guid[i]);
    }
    *came = later;
}

static bool next(struct sm *s, struct fab_mads_request *ret)
{
    const struct fab_fabric *f = s->model.fabric;
    if (s->scan.index >= s->suspects.count)
        gather(s);
    for (; s->scan.index < s->suspects.count; step_over(s)) {
        uint32_t node = FAB_NONE;
        ret->path = suspect(s, &node);
        if (s->scan.block == 1)
            sm_guids_add(&s->cut.mute, s->suspects.guid[s->scan.index]);
        if (ret->path == NULL)
            s->cut.more = true;
        if (ret->path == NULL || s->scan.block > f->nodes[node].num_ports)
            continue;
        ret->attr_id = FAB_ATTR_PORT_INFO;
        ret->attr_mod = s->scan.block;
        ret->tag = fab_port_id(f, node, (uint8_t)s->scan.block++);
        return true;
    }
    return false;
}

static bool is_trunk(const struct fab_fabric *f, uint32_t port)
{
    uint32_t peer = fab_peer_node(f, port);
    return peer != FAB_NONE && fab_node_is_switch(f, peer);
}

static bool is_up(const struct fab_port_info *info)
{
    return info->phys_state == FAB_PHYS_LINKUP;
}

static bool differs(const struct fab_port_info *was, const struct fab_port_info *now)
{
    return is_up(was) != is_up(now) ||
           (is_up(now) &&
            (was->port_state != now->port_state || was->width_active != now->width_active ||
             was->speed_active != now->speed_active ||
             was->speed_ext_active != now->speed_ext_active));
}

static void answer(struct sm *s, uint64_t tag, const struct fab_mads_answer *a)
{
    const struct fab_fabric *f = s->model.fabric;
    uint32_t port = (uint32_t)tag;
    struct fab_port_info now;
    if (a->status != FAB_OK ||
        fab_attr_unpack(&fab_attr_port_info, a->data, a->len, &now) != FAB_OK) {
        s->cut.more = true;
        return;
    }
    sm_guids_remove(&s->cut.mute, f->nodes[f->ports[port].node].guid);
    if (sm_flap_probed(s, port, is_up(&now)))
        return;
    const struct sm_link cable = {.port = port,
                                  .peer = f->ports[port].peer,
                                  .isolated = is_up(&now) && sm_isolate_due(s, port)};
    if (fab_port_is_up(f, port) && is_trunk(f, port) && (!is_up(&now) || cable.isolated))
        s->cut.more |= sm_probe_add(&s->cut, &cable) != FAB_OK;
    else
        s->cut.more |= differs(&f->ports[port].info, &now);
}

static bool finished(const struct sm *s)
{
    return s->scan.index >= s->suspects.count;
}

/* Another glance at those that did not answer this one would be in vain, too: until a look has
 * ended or the ways have changed, their traps are left to the look. */
static void note_mute(struct sm *s)
{
    const struct sm_guids *mute = &s->cut.mute;
    for (uint32_t i = 0; i < mute->count; i++) {
        sm_guids_add(&s->mute, mute->guid[i]);
        if (!sm_guids_have(&s->want.glance, mute->guid[i]))
            continue;
        sm_guids_remove(&s->want.glance, mute->guid[i]);
        sm_request_target(s, mute->guid[i]);
    }
}

static int leave(struct sm *s)
{
    note_mute(s);
    s->run.known_us = clock_now_us();
    sm_flap_arm(s);
    return s->cut.count == 0 ? SM_ROUND_OVER : FAB_OK;
}

/* A cable that is known to be dead does not wait for a switch that hangs; else one try is given to
 * it. The look that follows asks again. */
void sm_probe_stalled(struct sm *s)
{
    if (s->cut.count == 0 && s->run.stalled_us < sm_first_try_us(s))
        return;
    s->cut.more = true;
    if (s->run.stalled_us < sm_first_try_us(s))
        s->cut.mute = (struct sm_guids){0}; /* it was not waited for them */
    sm_run_give_up(s);
}

const struct sm_phase sm_phase_probe = {"glancing", enter, next, answer, finished, leave};

/* ---- the cables that died -------------------------------------------------------------------- */

static bool has(const struct sm_probe *c, uint32_t port)
{
    for (uint32_t i = 0; i < c->count; i++)
        if (c->cable[i].port == port || c->cable[i].peer == port)
            return true;
    return false;
}

int sm_probe_add(struct sm_probe *c, const struct sm_link *cable)
{
    if (has(c, cable->port))
        return FAB_OK;
    struct sm_link *more = realloc(c->cable, (c->count + 1) * sizeof(*more));
    if (more == NULL)
        return FAB_E_NOMEM;
    c->cable = more;
    c->cable[c->count++] = *cable;
    return FAB_OK;
}

void sm_probe_fini(struct sm_probe *c)
{
    free(c->cable);
    *c = (struct sm_probe){0};
}
