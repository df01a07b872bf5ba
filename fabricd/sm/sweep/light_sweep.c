/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Phase "light sweep" sends one SubnGet(SwitchInfo) to each switch.
 *
 * For switches that report a changed port (PortStateChange, IBA 14.2.5.4), a port probe follows, or
 * a targeted sweep if no local repair is possible. So a local repair can handle a link that failed
 * or came back, even if the trap was lost. A targeted sweep follows for switches whose LinearFDBTop
 * changed, and for nodes that were unresponsive before. If a switch does not answer within the time
 * of one try, the manager asks it over other paths (links/silent_check.c). If no switch answers,
 * the fault is near the manager, and a heavy sweep follows.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fabricd/sm/links/links.h"
#include "fabricd/sm/sweep/state.h"
#include "libfabmgr/base/bitset.h"

static int enter(struct sm *s)
{
    s->sweep->next_switch = s->sweep->unanswered = s->sweep->changed_tops = 0;
    free(s->sweep->asked);
    s->sweep->asked = fab_base_bits_new(s->model.fabric->switch_count);
    if (!s->sweep->asked)
        return FAB_E_NOMEM;
    sm_unresponsive_suspect(s);
    if (s->model.fabric->switch_count == 0)
        sm_request_heavy(s);
    return FAB_OK;
}

static bool next(struct sm *s, struct fab_mads_request *ret)
{
    uint32_t *at = &s->sweep->next_switch;
    const struct fab_fabric *f = s->model.fabric;
    while (*at < f->switch_count && s->model.paths[*at].hops == FAB_PATH_UNKNOWN)
        (*at)++;
    if (*at >= f->switch_count)
        return false;
    ret->path = &s->model.paths[*at];
    ret->attr_id = FAB_ATTR_SWITCH_INFO;
    ret->attr_mod = 0;
    fab_base_bits_set(s->sweep->asked, *at);
    ret->tag = (*at)++;
    return true;
}

/* Requests a targeted sweep of the neighbours of a switch that did not answer. The ports of the
 * neighbours show whether the switch is down. */
static void suspect_neighbours(struct sm *s, uint32_t node)
{
    const struct fab_fabric *f = s->model.fabric;
    for (uint32_t port = 0; port <= f->nodes[node].num_ports; port++) {
        uint32_t peer = fab_fabric_peer_node(f, fab_fabric_port_id(f, node, (uint8_t)port));
        if (peer != FAB_NONE)
            sm_request_target(s, f->nodes[peer].guid);
    }
}

/* Emits an event if another program has written the LinearFDBTop of a switch. This is so if the
 * value differs from the one that the manager wrote and the switch was not restarted: after a
 * restart, LinearFDBTop is 0, or ports have changed. */
static void report_changed_top(struct sm *s, uint32_t sw, const struct fab_switch_info *info)
{
    const struct fab_node *node = &s->model.fabric->nodes[sw];
    uint16_t written = s->model.fabric->switches[sw].linear_fdb_top;
    char name[SM_PLACE_LEN], found[8], wrote[8];
    if (info->port_state_change || info->linear_fdb_top == 0 || info->linear_fdb_top == written ||
        s->sweep->changed_tops++ >= SM_EVENTS_A_ROUND)
        return;
    sm_node_name(s->model.fabric, sw, name);
    snprintf(found, sizeof(found), "%u", (unsigned)info->linear_fdb_top);
    snprintf(wrote, sizeof(wrote), "%u", (unsigned)written);
    event_emit(s->in.bus, settings_changed, .subject = name, .guid = node->guid,
               .attribute = sm_attr_name(FAB_ATTR_SWITCH_INFO), .place = "LinearFDBTop",
               .found = found, .written = wrote, .differences = 1, .author = "author unknown");
}

/* Called when a switch gave no valid answer. Starts a check whether the switch is silent, or
 * requests a targeted sweep of the switch and its neighbours. */
static void suspect(struct sm *s, uint32_t sw, int status)
{
    uint64_t guid = s->model.fabric->nodes[sw].guid;
    s->sweep->unanswered++;
    if (status == FAB_E_TIMEOUT && sm_silent_check(s, guid))
        return;
    sm_request_target(s, guid);
    suspect_neighbours(s, sw);
}

static void answer(struct sm *s, uint64_t tag, const struct fab_mads_answer *a)
{
    uint32_t sw = (uint32_t)tag;
    struct fab_switch_info info;
    fab_base_bits_clear(s->sweep->asked, sw);
    if (a->status != FAB_OK ||
        fab_wire_attr_unpack(&fab_wire_attr_switch_info, a->data, a->len, &info) != FAB_OK) {
        suspect(s, sw, a->status);
    } else {
        report_changed_top(s, sw, &info);
        sm_request_if_changed(s, sw, &info);
    }
}

static bool finished(const struct sm *s)
{
    return s->sweep->next_switch >= s->model.fabric->switch_count;
}

/* If some switches have not answered within the time of one try, gives up the requests to them, and
 * lets links/silent_check.c find out whether they are silent. */
static void stalled(struct sm *s, uint64_t stalled_us)
{
    uint32_t count = s->model.fabric->switch_count;
    if (stalled_us < sm_first_try_us(s))
        return;
    for (size_t sw = 0; (sw = fab_base_bits_next(s->sweep->asked, count, sw)) < count; sw++)
        suspect(s, (uint32_t)sw, FAB_E_TIMEOUT);
    sm_run_give_up(s);
}

static int leave(struct sm *s)
{
    free(s->sweep->asked);
    s->sweep->asked = NULL;
    if (sm_fault_waits(s) && !sm_trap_waits(s))
        sm_cause_set(s, "light sweep");
    if (s->sweep->unanswered && s->sweep->unanswered == s->model.fabric->switch_count)
        sm_request_heavy(s);
    return FAB_OK;
}

const struct sm_phase sm_phase_light = {.name = "light sweep",
                                        .enter = enter,
                                        .next = next,
                                        .answer = answer,
                                        .finished = finished,
                                        .leave = leave,
                                        .stalled = stalled,
                                        .yields = SM_YIELDS};
