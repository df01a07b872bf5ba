/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the SMInfo of the other managers twice a second, as master and as standby, so that this
 * manager knows their state, priority and ActCount between elections. With the answers, a master
 * finds a better manager, to which it hands over (handover.c), and a second master, for example
 * after a partition of the fabric has healed.
 *
 * A manager that asks this one for its SMInfo over a directed route, and that no election has found
 * yet, is asked in return. The master thus finds a new manager even if the trap 144 about IsSM was
 * lost, and a manager that was gone learns of it that it is not the only master.
 */
#include <string.h>

#include "fabricd/sm/ha/state.h"

/* Interval of the reads, and the minimum time between two requests to unknown managers. Any host
 * can cause such requests. */
#define WATCH_US UINT64_C(500000)
/* Tag of the request to an unknown manager. Other tags are indices of the list of managers. */
#define TAG_STRANGER UINT64_MAX

/* ---- two masters ---- */

/* Emits one event for each second master, which names both and says which of them yields. */
static void report_two(struct sm *s, const struct sm_other *o, bool yields)
{
    struct sm_watch *w = &s->ha->watch;
    if (w->second_guid == o->info.guid)
        return;
    w->second_guid = o->info.guid;
    event_emit(s->in.bus, sm_two_masters, .subject = o->place, .guid = o->info.guid,
               .priority = o->info.priority, .our_guid = s->role.guid,
               .our_priority = s->role.priority, .yields = yields);
}

/* Handles the SMInfo of another master. By IBA 14.4.1, the lesser one of two masters hands over. */
static void meet_master(struct sm *s, const struct sm_other *o)
{
    struct sm_other better = *o;
    bool yields = fab_smstate_beats(o->info.priority, o->info.guid, s->role.priority, s->role.guid);
    report_two(s, o, yields);
    if (!yields)
        return;
    sm_handover_tell(s, &better);
    sm_ha_because(s, "the manager at %s is master, too, and has priority %u", better.place,
                  better.info.priority);
    sm_ha_step_down(s, &better);
}

/* Draws the conclusions of a master from the last answers. */
static void consider(struct sm *s)
{
    const struct sm_election *x = &s->ha->election;
    bool second = false;
    for (uint32_t i = 0; i < x->other_count && sm_is_master(s); i++) {
        const struct sm_other *o = &x->others[i];
        if (o->trusted && o->info.state == FAB_SM_MASTER && sm_other_is_fresh(o)) {
            second = true;
            meet_master(s, o);
        }
    }
    if (!second)
        s->ha->watch.second_guid = 0;
    sm_handover_consider(s);
}

/* ---- requests ---- */

/* Handles the answer of a manager that no election has found yet. Only a trusted manager is added
 * to the list: the next sweep reports all others. */
static void on_stranger(struct sm *s, const struct fab_sm_info *info)
{
    uint32_t port = sm_trust_port_of(s, &s->ha->watch.stranger);
    s->ha->watch.stranger.path.hops = 0;
    if (!info || port == FAB_NONE || !sm_model_path(&s->model, port) ||
        !sm_trust_answer(s, port, info))
        return;
    (void)sm_election_note(s, port, info);
}

static void on_answer(void *ctx, uint64_t tag, const struct fab_mads_answer *a)
{
    struct sm_watch *w = ctx;
    struct sm *s = w->s;
    struct sm_election *x = &s->ha->election;
    struct fab_sm_info info;
    bool good = a->status == FAB_OK &&
                fab_wire_attr_unpack(&fab_wire_attr_sm_info, a->data, a->len, &info) == FAB_OK;
    if (tag == TAG_STRANGER) {
        on_stranger(s, good ? &info : NULL);
        return;
    }
    if (!good || tag >= x->other_count || x->others[tag].info.guid != info.guid)
        return;
    sm_other_answered(s, &x->others[tag], &info);
}

static void ask(struct sm *s, uint32_t port, const struct fab_path *path, uint64_t tag)
{
    const struct fab_mads_request req = {
        .mgmt_class = FAB_CLASS_SMP_DIRECTED,
        .method = FAB_METHOD_GET,
        .attr_id = FAB_ATTR_SM_INFO,
        .m_key = sm_trust_m_key(s, port),
        .once = true,
        .dlid = 0xffff,
        .path = path,
        .done = on_answer,
        .ctx = &s->ha->watch,
        .tag = tag,
    };
    (void)fab_mads_submit(s->mads, &req);
}

/* Returns whether the running phase makes the list of managers anew. */
static bool list_is_read(const struct sm *s)
{
    return sm_run_busy(s) && sm_run_phase(s) == &sm_phase_sminfo;
}

/* The conclusions are drawn here, from the answers of the reads before. A manager thus never gets
 * two requests at once: its answer to a poll and a HANDOVER, for example. */
static void on_time(void *ctx)
{
    struct sm_watch *w = ctx;
    struct sm *s = w->s;
    const struct sm_election *x = &s->ha->election;
    fab_mads_cancel(s->mads, w);
    if (w->stranger_asked) /* it did not answer */
        w->stranger.path.hops = 0;
    bool asks = w->stranger.path.hops != 0;
    w->stranger_asked = false;
    if (x->other_count != 0 || asks)
        loop_timer_set(w->timer, WATCH_US);
    if (s->role.state == FAB_SM_DISCOVERING || s->role.state == FAB_SM_NOT_ACTIVE ||
        list_is_read(s))
        return;
    consider(s);
    if (s->ha->handover.pending)
        return;
    for (uint32_t i = 0; i < x->other_count; i++) {
        w->paths[i] = x->others[i].path;
        ask(s, sm_trust_port_of(s, &x->others[i]), &w->paths[i], i);
    }
    w->stranger_asked = asks;
    if (asks)
        ask(s, sm_trust_port_of(s, &w->stranger), &w->stranger.path, TAG_STRANGER);
    agent_pump(s->agent);
}

void sm_watch_begin(struct sm *s)
{
    if (!loop_timer_pending(s->ha->watch.timer))
        loop_timer_set(s->ha->watch.timer, WATCH_US);
}

void sm_watch_cancel(struct sm *s)
{
    fab_mads_cancel(s->mads, &s->ha->watch);
    s->ha->watch.stranger.path.hops = 0;
}

static bool is_known(const struct sm *s, uint32_t port)
{
    const struct sm_election *x = &s->ha->election;
    for (uint32_t i = 0; i < x->other_count; i++)
        if (sm_trust_port_of(s, &x->others[i]) == port)
            return true;
    return false;
}

void sm_watch_heard(struct sm *s, uint32_t port)
{
    struct sm_watch *w = &s->ha->watch;
    const struct fab_fabric *f = s->model.fabric;
    if (!sm_is_master(s) || port == FAB_NONE || port == f->self_port || is_known(s, port) ||
        w->stranger.path.hops != 0 || !sm_model_path(&s->model, port) || list_is_read(s))
        return;
    w->stranger = (struct sm_other){.path = *sm_model_path(&s->model, port),
                                    .node_guid = f->nodes[fab_fabric_port(f, port)->node].guid,
                                    .port_num = fab_fabric_port(f, port)->num};
    sm_watch_begin(s);
}

int sm_watch_init(struct sm *s)
{
    struct sm_watch *w = &s->ha->watch;
    w->s = s;
    w->timer = loop_timer_new(s->in.loop, on_time, w);
    return w->timer ? FAB_OK : FAB_E_NOMEM;
}

void sm_watch_fini(struct sm *s)
{
    if (s->ha->watch.timer)
        sm_watch_cancel(s);
    loop_timer_free(s->ha->watch.timer);
}
