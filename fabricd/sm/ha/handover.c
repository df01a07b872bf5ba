/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hands the role of master over (IBA 14.4.1). The master sends SubnSet(SMInfo) HANDOVER to a
 * trusted manager in standby. That manager accepts the role by an answer without an error or by
 * ACKNOWLEDGE, and the master then goes to standby. OpenSM sends only the answer.
 *
 * Without a command, a master hands over only to a manager that has precedence
 * (fab_smstate_successor), and not before that manager has had time to read the tables in standby.
 * Without these tables, it could not route around a failed link before its first heavy sweep ends,
 * after 10 s at 11,664 hosts. If a manager repeatedly became master and lost the role again, it
 * gets no hand-over for some time (holds.h).
 *
 * After a hand-over by command, this manager may have precedence over the new master. The new
 * master would then hand the role back. To prevent this, this manager lowers its priority so far
 * that the new master has precedence. It has its former priority again when it becomes master, when
 * an operator sets it, or after a restart.
 *
 * If managers share their state (fabricd/replica), this manager first waits until a majority has
 * confirmed all that it has stored. Meanwhile it accepts no registrations (sm_is_handing_over),
 * because the new master would not know them. The wait ends after SETTLE_US, because etcd may be
 * slow.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/sm/ha/state.h"

/* minimum time in us from a failed hand-over to the next one */
#define AGAIN_US UINT64_C(10000000)
/* time in us after the beginning of a hand-over: by then, HANDOVER must be sent (on_time) */
#define SETTLE_US 1000000
/* NODE_READS: number of requests for each node by which a manager in standby reads the fabric.
 * READING_MOST_US: maximum time in us for which a hand-over waits for these reads. */
#define NODE_READS 9
#define READING_MOST_US UINT64_C(180000000)
/* interval in us at which the manager checks whether HANDOVER can be sent */
#define LOOK_US 2000

uint64_t sm_handover_held_until(const struct sm *s, uint64_t guid)
{
    uint64_t first_us = (uint64_t)s->in.config->managers.handover_hold_s * 1000000;
    return fab_smstate_holds_until(&s->ha->handover.holds, guid, first_us, clock_now_us());
}

static void call_done(struct sm *s, int status, const char *text)
{
    struct sm_handover *h = &s->ha->handover;
    sm_done *done = h->done;
    h->done = NULL;
    if (done)
        done(h->ctx, status, text);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void fail(struct sm *s, const char *reason)
{
    struct sm_handover *h = &s->ha->handover;
    char text[400];
    h->pending = h->sent = false;
    h->not_before_us = clock_now_us() + AGAIN_US;
    s->role.priority = h->former_priority;
    event_emit(s->in.bus, sm_handover_failed, .subject = h->to.place, .guid = h->to.info.guid,
               .reason = reason);
    snprintf(text, sizeof(text),
             "the manager 0x%016" PRIx64 " at %s did not accept the role: %s; this manager stays "
             "master",
             h->to.info.guid, h->to.place, reason);
    call_done(s, FAB_E_REFUSED, text);
}

static void succeed(struct sm *s)
{
    struct sm_handover *h = &s->ha->handover;
    const struct sm_other to = h->to;
    const char *reason = h->by_command ? "an operator demanded it" : "it has precedence";
    char text[300];
    sm_done *done = h->done;
    h->pending = h->sent = false;
    /* the caller gets the result of the hand-over below, and not an error from sm_ha_step_down */
    h->done = NULL;
    event_emit(s->in.bus, sm_handed_over, .subject = to.place, .guid = to.info.guid,
               .priority = to.info.priority, .reason = reason);
    sm_ha_because(s, "it handed over to the manager at %s, because %s", to.place, reason);
    sm_ha_step_down(s, &to);
    snprintf(text, sizeof(text), "handed over to the manager 0x%016" PRIx64 " at %s", to.info.guid,
             to.place);
    if (done)
        done(h->ctx, FAB_OK, text);
}

static void on_answer(void *ctx, uint64_t tag, const struct fab_mads_answer *a)
{
    struct sm_handover *h = ctx;
    char reason[80] = "it did not answer";
    (void)tag;
    if (!h->pending)
        return;
    if (a->status == FAB_OK) {
        succeed(h->s);
        return;
    }
    if (a->data)
        snprintf(reason, sizeof(reason), "it answered with the status 0x%04x", a->smp_status);
    fail(h->s, reason);
}

bool sm_handover_acknowledged(struct sm *s, const struct fab_sm_info *from)
{
    struct sm_handover *h = &s->ha->handover;
    if (!h->sent || from->guid != h->to.info.guid)
        return false;
    fab_mads_cancel(s->mads, h);
    succeed(s);
    return true;
}

void sm_handover_forget(struct sm *s)
{
    struct sm_handover *h = &s->ha->handover;
    fab_mads_cancel(s->mads, h);
    if (h->timer)
        loop_timer_cancel(h->timer);
    if (h->sent)
        s->role.priority = h->former_priority;
    h->pending = h->sent = false;
    call_done(s, FAB_E_DENIED, "this manager is not master any more");
}

/* ---- the begin ------------------------------------------------------------------------------- */

static void make_request(struct sm *s, const struct sm_other *to, struct fab_mads_request *ret)
{
    *ret = (struct fab_mads_request){
        .mgmt_class = FAB_CLASS_SMP_DIRECTED,
        .method = FAB_METHOD_SET,
        .attr_id = FAB_ATTR_SM_INFO,
        .attr_mod = FAB_SM_HANDOVER,
        .m_key = sm_trust_m_key(s, sm_trust_port_of(s, to)),
        .dlid = 0xffff,
        .path = &to->path,
    };
    sm_ha_own_info(s, true, ret->data);
}

static void send(struct sm *s)
{
    struct sm_handover *h = &s->ha->handover;
    struct fab_mads_request req;
    h->former_priority = s->role.priority;
    s->role.priority = h->priority;
    make_request(s, &h->to, &req);
    req.done = on_answer;
    req.ctx = h;
    h->sent = true;
    if (fab_mads_submit(s->mads, &req) == FAB_OK)
        agent_pump(s->agent);
    else
        fail(s, "HANDOVER could not be sent");
}

/* HANDOVER could not be sent in time. Ends this attempt, and begins the next one later: while this
 * manager waits, it drops registrations. */
static void put_off(struct sm *s)
{
    sm_handover_forget(s);
    s->ha->handover.not_before_us = clock_now_us() + AGAIN_US;
}

/* Sends HANDOVER when no round runs (a change would be left half done) and when the other manager
 * can know all that this one has stored. After SETTLE_US, a hand-over by command is sent in any
 * case; any other is put off. */
static void on_time(void *ctx)
{
    struct sm_handover *h = ctx;
    struct sm *s = h->s;
    bool late = clock_now_us() >= h->until_us;
    bool ready = !sm_run_busy(s) && (!s->in.replica || replica_has_sent_all(s->in.replica));
    if (ready || (late && h->by_command))
        send(s);
    else if (late)
        put_off(s);
    else
        loop_timer_set(h->timer, LOOK_US);
}

static void begin(struct sm *s, const struct sm_other *to, uint8_t priority, bool by_command)
{
    struct sm_handover *h = &s->ha->handover;
    h->to = *to;
    h->by_command = by_command;
    h->priority = priority;
    h->until_us = clock_now_us() + SETTLE_US;
    h->pending = true;
    if (s->in.replica)
        store_flush(s->in.store);
    loop_timer_set(h->timer, 0);
}

bool sm_is_handing_over(const struct sm *s)
{
    return s->ha->handover.pending;
}

int sm_handover_init(struct sm *s)
{
    struct sm_handover *h = &s->ha->handover;
    h->s = s;
    h->timer = loop_timer_new(s->in.loop, on_time, h);
    return h->timer ? FAB_OK : FAB_E_NOMEM;
}

void sm_handover_fini(struct sm *s)
{
    sm_handover_forget(s);
    loop_timer_free(s->ha->handover.timer);
}

void sm_handover_tell(struct sm *s, const struct sm_other *master)
{
    struct sm_handover *h = &s->ha->handover;
    struct fab_mads_request req;
    sm_handover_forget(s);
    /* The request has a pointer to the path in h->to, which must stay valid until the answer
     * comes. */
    h->to = *master;
    make_request(s, &h->to, &req);
    req.once = true;
    req.ctx = h;
    if (fab_mads_submit(s->mads, &req) == FAB_OK)
        agent_pump(s->agent);
}

static const struct sm_other *other_of(const struct sm *s, uint64_t guid)
{
    const struct sm_election *x = &s->ha->election;
    for (uint32_t i = 0; i < x->other_count; i++)
        if (x->others[i].info.guid == guid)
            return &x->others[i];
    return NULL;
}

/* Returns whether a fabricd at the other port may still be reading the fabric and the tables for
 * the first time since it is in standby. It needs about NODE_READS requests for each node and one
 * for each LFT block, and probably has the same subnet.standby_rate as this manager. */
static bool is_reading(const struct sm *s, const struct sm_other *o)
{
    const struct fab_fabric *f = s->model.fabric;
    uint64_t rate = s->in.config->managers.standby_rate;
    if (rate == 0 || !f || o->info.state != FAB_SM_STANDBY)
        return false;
    uint64_t reads =
        (uint64_t)f->node_count * NODE_READS + (uint64_t)f->switch_count * s->model.observed.blocks;
    uint64_t us = reads * 1000000 / rate;
    return clock_now_us() < o->standby_us + (us < READING_MOST_US ? us : READING_MOST_US);
}

void sm_handover_consider(struct sm *s)
{
    const struct sm_election *x = &s->ha->election;
    const struct sm_handover *h = &s->ha->handover;
    struct fab_sm_info infos[SM_MAX_OTHERS];
    uint32_t count = 0;
    if (!sm_is_master(s) || h->pending || sm_run_busy(s) || clock_now_us() < h->not_before_us)
        return;
    for (uint32_t i = 0; i < x->other_count; i++)
        if (x->others[i].trusted && sm_other_is_fresh(&x->others[i]) &&
            sm_handover_held_until(s, x->others[i].info.guid) == 0 && !is_reading(s, &x->others[i]))
            infos[count++] = x->others[i].info;
    const struct fab_sm_info *best = fab_smstate_successor(&s->role, infos, count);
    if (best)
        begin(s, other_of(s, best->guid), s->role.priority, false);
}

/* ---- by command ------------------------------------------------------------------------------ */

/* Returns the best of the managers in standby that can take over now; NULL: there is none. */
static const struct sm_other *best_standby(const struct sm *s)
{
    const struct sm_election *x = &s->ha->election;
    const struct sm_other *best = NULL;
    for (uint32_t i = 0; i < x->other_count; i++) {
        const struct sm_other *o = &x->others[i];
        if (o->trusted && o->info.state == FAB_SM_STANDBY && sm_other_is_fresh(o) &&
            (!best || fab_smstate_beats(o->info.priority, o->info.guid, best->info.priority,
                                        best->info.guid)))
            best = o;
    }
    return best;
}

/* Returns why this manager cannot hand over to `o` now, as a sentence for operators; "": it can. */
static void objection(const struct sm *s, const struct sm_other *o, char *ret, size_t len)
{
    *ret = '\0';
    if (!sm_is_master(s))
        snprintf(ret, len, "this manager is %s; only the master can hand over",
                 fab_smstate_name(s->role.state));
    else if (s->ha->handover.pending)
        snprintf(ret, len, "a hand-over is under way already");
    else if (!o)
        snprintf(ret, len,
                 "no trusted subnet manager is in standby; 'fabricctl ha status' lists "
                 "the managers that this one sees");
    else if (!o->trusted)
        snprintf(ret, len, "the manager at %s is not trusted; list it in subnet.managers",
                 o->place);
    else if (o->info.state != FAB_SM_STANDBY || !sm_other_is_fresh(o))
        snprintf(ret, len, "the manager at %s is not in standby or does not answer", o->place);
    else if (fab_smstate_priority_below(s->role.priority, s->role.guid, &o->info) < 0)
        snprintf(
            ret, len,
            "the manager at %s has priority 0 and a higher port GUID than this one, so it would "
            "hand the role back at once; give it a higher priority first, on its host with "
            "'fabricctl ha priority 1', or for OpenSM with its setting sm_priority",
            o->place);
}

/* Returns the manager to which an operator's command hands over, and sets *ret_priority to the
 * priority that this manager then takes. NULL: there is no such manager, and ret_why[] has the
 * reason. */
static const struct sm_other *find_successor(const struct sm *s, uint64_t guid,
                                             uint8_t *ret_priority, char *ret_why, size_t len)
{
    const struct sm_other *o = guid ? other_of(s, guid) : best_standby(s);
    objection(s, o, ret_why, len);
    if (ret_why[0])
        return NULL;
    *ret_priority = (uint8_t)fab_smstate_priority_below(s->role.priority, s->role.guid, &o->info);
    return o;
}

int sm_hand_over_check(const struct sm *s, uint64_t guid, uint64_t *ret_guid, uint8_t *ret_priority,
                       char *ret_why, size_t len)
{
    const struct sm_other *o = find_successor(s, guid, ret_priority, ret_why, len);
    if (!o)
        return FAB_E_DENIED;
    *ret_guid = o->info.guid;
    return FAB_OK;
}

int sm_hand_over(struct sm *s, uint64_t guid, sm_done *done, void *ctx, char *ret_why, size_t len)
{
    struct sm_handover *h = &s->ha->handover;
    uint8_t priority;
    const struct sm_other *o = find_successor(s, guid, &priority, ret_why, len);
    if (!o)
        return FAB_E_DENIED;
    h->done = done;
    h->ctx = ctx;
    begin(s, o, priority, true);
    return FAB_OK;
}

void sm_handover_drop(struct sm *s, const void *ctx)
{
    if (s->ha->handover.done && s->ha->handover.ctx == ctx)
        s->ha->handover.done = NULL;
}
