/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Phase "reading back" finds port changes that no trap reported. A switch sends its traps to the
 * LID in MasterSMLID. In some switches, this was the LID of another manager until this round wrote
 * the LID of this manager. The bit PortStateChange would show that a port of such a switch changed,
 * but the writes of this round cleared the bit.
 *
 * The phase therefore reads the ports of these switches again. It leaves out ports whose state this
 * round wrote, because a port that had gone down would have refused the write. If the state of a
 * port has changed, a targeted sweep reads the switch again.
 */
#include "fabricd/sm/apply/state.h"

#include <stdlib.h>

#include "libfabmgr/base/bitset.h"

static uint32_t switch_ports(const struct fab_fabric *f)
{
    return f->switch_count == f->node_count ? f->port_count : f->nodes[f->switch_count].first_port;
}

static void note_written(const struct fab_plan *plan, enum fab_plan_stage stage, uint64_t *written)
{
    for (uint32_t i = plan->stage_start[stage]; i < plan->stage_start[stage + 1]; i++)
        fab_base_bits_set(written, plan->ops[i].port);
}

static int enter(struct sm *s)
{
    const struct fab_fabric *f = s->model.fabric;
    struct sm_programming *p = &s->apply->program;
    s->apply->scan = (struct sm_scan){.index = p->unsure ? 0 : switch_ports(f)};
    if (!p->unsure)
        return FAB_OK;
    p->unsure = 0;
    free(p->written);
    p->written = fab_base_bits_new(f->port_count);
    if (!p->written)
        return FAB_E_NOMEM;
    note_written(&p->plan, FAB_STAGE_ISLS_UP, p->written);
    note_written(&p->plan, FAB_STAGE_ENDPORTS_UP, p->written);
    return FAB_OK;
}

static bool is_in_doubt(const struct sm *s, uint32_t port)
{
    const struct fab_port *p = fab_fabric_port(s->model.fabric, port);
    return p->num != 0 && p->present && s->apply->program.touched[p->node] & SM_UNSURE &&
           !fab_base_bits_get(s->apply->program.written, port) &&
           s->model.paths[p->node].hops != FAB_PATH_UNKNOWN;
}

static bool next(struct sm *s, struct fab_mads_request *ret)
{
    const struct fab_fabric *f = s->model.fabric;
    while (s->apply->scan.index < switch_ports(f) && !is_in_doubt(s, s->apply->scan.index))
        s->apply->scan.index++;
    if (s->apply->scan.index >= switch_ports(f))
        return false;
    const struct fab_port *port = fab_fabric_port(f, s->apply->scan.index);
    ret->path = &s->model.paths[port->node];
    ret->attr_id = FAB_ATTR_PORT_INFO;
    ret->attr_mod = port->num;
    ret->tag = s->apply->scan.index++;
    return true;
}

static bool is_as_it_was(const struct fab_port *port, const struct fab_mads_answer *a)
{
    struct fab_port_info now;
    return a->status == FAB_OK &&
           fab_wire_attr_unpack(&fab_wire_attr_port_info, a->data, a->len, &now) == FAB_OK &&
           now.port_state == port->info.port_state && now.phys_state == port->info.phys_state;
}

static void answer(struct sm *s, uint64_t tag, const struct fab_mads_answer *a)
{
    const struct fab_fabric *f = s->model.fabric;
    if (is_as_it_was(fab_fabric_port(f, (uint32_t)tag), a))
        return;
    sm_request_retry_of(s, f->nodes[fab_fabric_port(f, (uint32_t)tag)->node].guid);
    s->apply->program.unsure++;
}

static bool finished(const struct sm *s)
{
    return s->apply->scan.index >= switch_ports(s->model.fabric);
}

const struct sm_phase sm_phase_readback = {
    .name = "reading back", .enter = enter, .next = next, .answer = answer, .finished = finished};
