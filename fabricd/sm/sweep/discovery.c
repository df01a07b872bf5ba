/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Phase "discovering" sends the requests of libfabmgr/discover, for the whole fabric or for the
 * suspects of a targeted sweep. The phases before and after it are in snapshot.c.
 *
 * If the manager's own node or more than half of the fabric is missing in the result of a targeted
 * sweep, the result is implausible. The manager then discards it and does a heavy sweep.
 */
#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/links/links.h"
#include "fabricd/sm/sweep/state.h"

/* While requests are unanswered, the runner calls stalled() every 10 ms. If it has not called
 * stalled() for this time, in us, the sweep is not stalled any more. */
#define STALLED_US 20000u

static bool next(struct sm *s, struct fab_mads_request *ret)
{
    struct fab_discover_ask ask;
    if (!s->sweep->discover || !fab_discover_next(s->sweep->discover, &ask))
        return false;
    ret->path = ask.path;
    ret->attr_id = ask.attr_id;
    ret->attr_mod = ask.attr_mod;
    ret->tag = ask.tag;
    sm_m_key_fill_discovery(s, ask.guid, ret);
    return true;
}

static void answer(struct sm *s, uint64_t tag, const struct fab_mads_answer *a)
{
    bool good = a->status == FAB_OK && a->len >= FAB_SMP_DATA;
    sm_m_key_answered(s, a);
    int status = good || a->status != FAB_OK ? a->status : FAB_E_FORMAT;
    if (fab_discover_answer(s->sweep->discover, tag, status, good ? a->data : NULL) != FAB_OK)
        log_error("sm", "out of memory during discovery; a part of the fabric is missed");
}

static bool finished(const struct sm *s)
{
    return !s->sweep->discover || fab_discover_done(s->sweep->discover);
}

static bool is_implausible(const struct sm *s, const struct fab_fabric *now)
{
    const struct fab_fabric *was = s->model.fabric;
    return now->self_port == FAB_NONE || (was && now->node_count < was->node_count / 2);
}

/* Returns true if the peer of this unresponsive port did not answer, and the new snapshot
 * nevertheless has the node that was connected to the port before. */
static bool is_kept_unresponsive(const struct sm *s, const struct fab_fabric *now,
                                 const struct fab_unresponsive *place)
{
    const struct fab_fabric *was = s->model.fabric;
    uint32_t near = fab_fabric_node_by_guid(was, place->near_guid);
    if (place->status != FAB_E_TIMEOUT || near == FAB_NONE ||
        place->near_port > was->nodes[near].num_ports)
        return false;
    uint32_t node = fab_fabric_peer_node(was, fab_fabric_port_id(was, near, place->near_port));
    return node != FAB_NONE && fab_fabric_node_by_guid(now, was->nodes[node].guid) != FAB_NONE;
}

/* Returns true if a heavy sweep must follow this targeted sweep: a known node did not answer, but
 * neighbours report links to it as up. Only a heavy sweep finds other routes to the nodes behind
 * this node. */
static bool needs_heavy_sweep(struct sm *s, const struct fab_fabric *now)
{
    uint32_t count, i = 0;
    const struct fab_unresponsive *unresponsive =
        fab_discover_unresponsive(s->sweep->discover, &count);
    while (i < count && !is_kept_unresponsive(s, now, &unresponsive[i]))
        i++;
    if (i == count)
        return false;
    sm_round_widen(s);
    return true;
}

/* Returns true if the result of a targeted sweep must be discarded, because it is implausible or a
 * heavy sweep must follow. */
static bool dismiss(struct sm *s, const struct fab_fabric *now)
{
    if (!s->run.round->scoped)
        return false;
    if (!is_implausible(s, now))
        return needs_heavy_sweep(s, now);
    log_notice("sm", "the targeted sweep contradicts what was known; a heavy sweep follows");
    sm_request_heavy(s);
    return true;
}

/* Checks the new snapshot before the model adopts it. Removes links from it that routes must avoid:
 * held-down, isolated and drained links, and links of silent switches. */
int sm_sweep_judge(struct sm *s)
{
    if (dismiss(s, s->sweep->found))
        return SM_ROUND_OVER;
    if (s->sweep->found->self_port == FAB_NONE)
        return FAB_E_UNREACHABLE;
    int r = sm_sweep_confirm(s, s->sweep->found);
    if (r == FAB_OK)
        r = sm_flap_exclude(s, s->sweep->found);
    if (r == FAB_OK)
        r = sm_silent_exclude(s, s->sweep->found);
    return r == FAB_OK ? sm_sweep_leave_gains(s, s->sweep->found) : r;
}

bool sm_sweep_awaits(const struct sm *s, uint64_t node_guid)
{
    uint64_t guid[64];
    if (sm_run_phase(s) != &sm_phase_discover || !s->run.round->scoped)
        return false;
    uint32_t i = 0, count = fab_discover_awaited(s->sweep->discover, guid, 64);
    while (i < count && guid[i] != node_guid)
        i++;
    return i < count;
}

/* The switch has answered over a new directed route, but not over the old route. So some switch on
 * the old route has probably failed, but the manager does not know which one. The routes of the new
 * sweep therefore avoid all switches on the old route. */
void sm_sweep_answered_elsewhere(struct sm *s, uint64_t node_guid)
{
    uint64_t via[FAB_MAX_HOPS];
    bool fresh = false;
    if (!sm_sweep_awaits(s, node_guid) || clock_now_us() - s->sweep->stalled_us > STALLED_US)
        return;
    uint32_t count = fab_discover_route_of(s->sweep->discover, node_guid, via, FAB_MAX_HOPS);
    for (uint32_t i = 0; i < count; i++)
        fresh |= sm_silent_note_failed(s, via[i]);
    if (fresh)
        sm_round_repeat(s);
}

/* Input and result of is_given_up. That function selects the requests to switches that have
 * probably failed; these requests are then cancelled. tag[count]: the tags of the selected
 * requests. */
struct given_up {
    const struct fab_discover *discover;
    const struct sm_guids *failed;
    uint64_t tag[64];
    uint32_t count;
};

static bool is_given_up(void *arg, uint64_t tag, const struct fab_path *path)
{
    struct given_up *g = arg;
    uint64_t guid = fab_discover_awaited_by(g->discover, tag);
    (void)path;
    if (guid == 0 || g->count == 64 || !sm_guids_have(g->failed, guid))
        return false;
    g->tag[g->count++] = tag;
    return true;
}

/* Gives up the requests to switches that have probably failed, as if all tries were unanswered.
 * Otherwise each wave of a targeted sweep would wait for the last try. */
static void give_up_failed(struct sm *s)
{
    struct given_up g = {.discover = s->sweep->discover, .failed = sm_silent_failed(s)};
    if (!s->run.round->scoped || g.failed->count == 0)
        return;
    sm_run_give_up_if(s, is_given_up, &g);
    for (uint32_t i = 0; i < g.count; i++)
        (void)fab_discover_answer(s->sweep->discover, g.tag[i], FAB_E_TIMEOUT, NULL);
    sm_run_pump(s);
}

/* Starts checks of the switches that have not answered within the time of one try
 * (links/silent_check.c). If a switch is found to be silent, a targeted sweep begins again without
 * this switch. */
static void stalled(struct sm *s, uint64_t stalled_us)
{
    uint64_t guid[64];
    if (!s->sweep->discover || stalled_us < sm_first_try_us(s))
        return;
    s->sweep->stalled_us = clock_now_us();
    give_up_failed(s);
    uint32_t count = fab_discover_awaited(s->sweep->discover, guid, 64);
    for (uint32_t i = 0; i < count; i++)
        (void)sm_silent_check(s, guid[i]);
}

const struct sm_phase sm_phase_discover = {.name = "discovering",
                                           .next = next,
                                           .keyed = true,
                                           .answer = answer,
                                           .finished = finished,
                                           .stalled = stalled,
                                           .yields = SM_YIELDS,
                                           .restarts = true};
