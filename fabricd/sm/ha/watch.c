/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the SMInfo of the other managers twice a second, as master and as standby. So this manager
 * knows their state, priority and ActCount between elections. If one of them has precedence, a
 * master hands over to it (handover.c). A master also notices a second master, for example when two
 * parts of a divided fabric are connected again.
 *
 * If a trusted manager does not answer in an election, although its port has IsSM set, its process
 * may hang. If this process continues later, it may still act as master. A master therefore asks
 * such managers, too, one after the other.
 *
 * A manager that no election has found may ask this manager for SMInfo over a directed route. This
 * manager then asks that manager for its SMInfo, too. This helps in three cases. The master finds a
 * new manager even if the trap 144 about IsSM was lost. A manager whose link was down learns that
 * another manager is master, too. A standby manager, which holds no elections while the master
 * answers, learns of managers that came later.
 */
#include <string.h>

#include "fabricd/sm/ha/state.h"

/* Interval in us of the reads. At most one request to an unknown manager is sent in this time,
 * because any host can cause such requests. */
#define WATCH_US UINT64_C(500000)
/* One of the managers that may hang gets a request at each of the first MISSING_OFTEN reads after
 * an election, and then at every MISSING_TICKS-th read. */
#define MISSING_TICKS 4
#define MISSING_OFTEN 4
/* tag of the request to an unknown manager; the tags of all other requests are indices of the list
 * of managers */
#define TAG_STRANGER UINT64_MAX

/* ---- two masters ---- */

/* Emits the event about `o`, a second master, unless the last event was about the same manager.
 * yields: this manager is the one that hands over. */
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

static bool takes_precedence(const struct sm *s, const struct sm_other *o)
{
    return fab_smstate_beats(o->info.priority, o->info.guid, s->role.priority, s->role.guid);
}

/* Handles a second master, `o`: emits the event about it. If this manager has no precedence, it
 * hands over to `o` (IBA 14.4.1). */
static void meet_master(struct sm *s, const struct sm_other *o)
{
    struct sm_other better = *o;
    bool yields = takes_precedence(s, o);
    report_two(s, o, yields);
    if (!yields)
        return;
    sm_handover_tell(s, &better);
    sm_ha_because(s, "the manager at %s is master, too, and has priority %u", better.place,
                  better.info.priority);
    sm_ha_step_down(s, &better);
}

/* Returns true if `o` is a second master. An answer from before this manager became master does not
 * count, because its sender may have handed over to this manager. */
static bool is_second_master(const struct sm *s, const struct sm_other *o)
{
    return o->trusted && o->info.state == FAB_SM_MASTER && sm_other_is_fresh(o) &&
           o->answered_us > s->ha->watch.master_us;
}

void sm_watch_report_masters(struct sm *s)
{
    const struct sm_election *x = &s->ha->election;
    for (uint32_t i = 0; i < x->other_count && sm_is_master(s); i++)
        if (is_second_master(s, &x->others[i]))
            report_two(s, &x->others[i], takes_precedence(s, &x->others[i]));
}

/* If this manager is master, and the last answers show a second master or a manager with
 * precedence, emits the event about the second master, and hands over to a manager with
 * precedence. */
static void consider(struct sm *s)
{
    const struct sm_election *x = &s->ha->election;
    bool second = false;
    for (uint32_t i = 0; i < x->other_count && sm_is_master(s); i++) {
        const struct sm_other *o = &x->others[i];
        if (is_second_master(s, o)) {
            second = true;
            meet_master(s, o);
        }
    }
    if (!second)
        s->ha->watch.second_guid = 0;
    sm_handover_consider(s);
}

/* ---- requests ---- */

/* w->missing[] has the trusted managers whose process may hang. Copies the next of them to
 * w->stranger, which gets the next request. Returns false if none of them gets a request at this
 * tick, or if no path leads to the chosen one. */
static bool ask_missing(struct sm_watch *w)
{
    if (w->missing_count == 0 || !sm_is_master(w->s) ||
        (w->ticks > MISSING_OFTEN && w->ticks % MISSING_TICKS != 0))
        return false;
    w->next_missing = (w->next_missing + 1) % w->missing_count;
    w->stranger = w->missing[w->next_missing];
    uint32_t port = sm_trust_port_of(w->s, &w->stranger);
    const struct fab_path *path = port != FAB_NONE ? sm_model_path(&w->s->model, port) : NULL;
    w->stranger.path = path ? *path : (struct fab_path){0};
    return w->stranger.path.hops != 0;
}

static bool answered_election(const struct sm *s, const struct sm_other *o)
{
    const struct sm_election *x = &s->ha->election;
    uint32_t i = 0;
    while (i < x->other_count &&
           (x->others[i].node_guid != o->node_guid || x->others[i].port_num != o->port_num))
        i++;
    return i < x->other_count;
}

static bool is_missing(const struct sm *s, const struct sm_other *o)
{
    uint32_t port = sm_trust_port_of(s, o);
    return o->trusted && port != FAB_NONE && sm_election_is_manager_port(s, port) &&
           !answered_election(s, o);
}

static bool is_noted(const struct sm_watch *w, const struct sm_other *o)
{
    for (uint32_t i = 0; i < w->missing_count; i++)
        if (w->missing[i].node_guid == o->node_guid && w->missing[i].port_num == o->port_num)
            return true;
    return false;
}

void sm_watch_note_missing(struct sm *s)
{
    struct sm_watch *w = &s->ha->watch;
    const struct sm_election *x = &s->ha->election;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < w->missing_count; i++)
        if (is_missing(s, &w->missing[i]))
            w->missing[kept++] = w->missing[i];
    w->missing_count = kept;
    for (uint32_t i = 0; i < x->former_count && w->missing_count < SM_MISSING_MOST; i++)
        if (is_missing(s, &x->former[i]) && !is_noted(w, &x->former[i]))
            w->missing[w->missing_count++] = x->former[i];
    w->ticks = 0;
    if (w->missing_count > 0)
        sm_watch_begin(s);
}

/* Handles the answer of a manager that the last election did not find. info: the SMInfo that it
 * sent; NULL: it did not answer. If the manager is trusted, adds it to the list of managers. If it
 * is not trusted, the next sweep reports it. */
static void on_stranger(struct sm *s, const struct fab_sm_info *info)
{
    uint32_t port = sm_trust_port_of(s, &s->ha->watch.stranger);
    s->ha->watch.stranger.path.hops = 0;
    if (!info || port == FAB_NONE || !sm_model_path(&s->model, port) ||
        !sm_trust_answer(s, port, info))
        return;
    if (!answered_election(s, &s->ha->watch.stranger))
        (void)sm_election_note(s, port, info);
    sm_watch_note_missing(s);
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

/* Returns true if the running phase is making a new list of managers. */
static bool list_is_read(const struct sm *s)
{
    return sm_run_busy(s) && sm_run_phase(s) == &sm_phase_sminfo;
}

/* The answers to the reads of one interval are handled together, at the end of the interval. So
 * another manager never gets a read and a HANDOVER at the same time. */
static void on_time(void *ctx)
{
    struct sm_watch *w = ctx;
    struct sm *s = w->s;
    const struct sm_election *x = &s->ha->election;
    fab_mads_cancel(s->mads, w);
    if (w->stranger_asked) /* the manager that no election has found did not answer */
        w->stranger.path.hops = 0;
    w->ticks++;
    bool asks = w->stranger.path.hops != 0 || ask_missing(w);
    w->stranger_asked = false;
    if (x->other_count != 0 || w->missing_count != 0 || asks)
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
    bool elected = sm_is_master(s) || s->role.state == FAB_SM_STANDBY;
    if (!elected || port == FAB_NONE || port == f->self_port || is_known(s, port) ||
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
