/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limits the rate of traps with token buckets. Each source LID has a bucket, and all LIDs without
 * an owner share one. A host can forge any source LID. So all adapters and routers also share one
 * bucket, from which each of their traps takes a token. Traps from switches do not use the shared
 * bucket, so that a flood from hosts cannot delay a trap about a failed link.
 *
 * The manager answers a trap beyond the limit only with TrapRepress. But traps 128, 144 and 256
 * mean that the device must be read. For such a trap beyond the limit, the manager owes a read: the
 * source LID waits in a queue until the buckets have a token again. So no change is missed. One
 * read covers all ports of the device, so it is enough for all earlier traps of this device.
 *
 * The table has an entry for each unicast LID, so that no source can displace another. The kernel
 * gives memory only to those pages of the table that are used.
 */
#include <stdlib.h>

#include "fabricd/base/clock.h"
#include "fabricd/sm/core/trap.h"
#include "libfabmgr/base/bucket.h"

/* Number of unicast LIDs (IBA 4.1.3). All source LIDs without an owner share entry 0. */
#define LIDS 0xc000u
#define OWED_EVERY_US 125000u
/* Maximum number of owed reads that the manager starts in one iteration of the event loop. */
#define OWED_AT_ONCE 256u
/* number of traps beyond the limit after which the event trap-flood is emitted about their
 * source */
#define FLOOD 64u
/* Minimum time between two events of one kind about the same source. */
#define EVENT_EVERY_US 60000000u
#define UNKNOWN_AFTER_US 2000000u
#define UNKNOWN_FIRST_US UINT64_C(60000000)
#define UNKNOWN_MOST_US UINT64_C(600000000)

static const struct fab_bucket_rate source_rate = {.each_us = 125000, .burst = 32};
static const struct fab_bucket_rate hosts_rate = {.each_us = 2000, .burst = 2048};
static const struct fab_bucket_rate event_rate = {.each_us = 4000000, .burst = 16};

struct source {
    /* time on the manager's clock at which the token bucket of this source will be full again
     * (libfabmgr/base/bucket.h) */
    uint64_t full_us;
    /* time (manager's clock) at which the counts `traps` and `repressed` were last set to 0 */
    uint64_t since_us;
    /* Time (manager's clock) of the last event trap-flood (flood_told_us) and trap-refused
     * (refused_told_us) about this source; 0: none yet. */
    uint64_t flood_told_us, refused_told_us;
    /* traps: number of traps since since_us. repressed: number of those beyond the limit. */
    uint32_t traps, repressed;
    /* number of traps of this source that sm_trap_doubt rejected since the last event about them */
    uint32_t refused;
    /* number of the trap (128, 144 or 256) because of which a read is owed; 0: no read is owed */
    uint16_t owed;
    /* next LID in the queue of owed reads; 0: this LID is the last in the queue, or not in the
     * queue */
    uint16_t next;
};

struct sm_trap_limit {
    struct sm *sm;
    struct source *source; /* [LIDS] one entry for each unicast LID */
    uint64_t hosts_full_us, events_full_us;
    /* First and last LID in the queue of LIDs to which the manager owes a read; 0: the queue is
     * empty. */
    uint16_t first, last;
    uint32_t queued;
    struct loop_timer *owed_timer;
    /* unknown_timer requests the heavy sweep after a trap from an unknown LID. The other members
     * limit how often it does so. unknown_next_us: earliest time (manager's clock) of the next such
     * sweep. unknown_wait_us: pause after the last such sweep, in us. unknown_last_us: time
     * (manager's clock) of the last trap from an unknown LID. */
    struct loop_timer *unknown_timer;
    uint64_t unknown_next_us, unknown_wait_us, unknown_last_us;
    struct sm_trap_counts counts;
};

static uint16_t index_of(const struct sm_trap *t)
{
    return t->port != FAB_NONE && t->slid < LIDS ? t->slid : 0;
}

/* ---- events ---- */

/* Returns whether an event about a source may be emitted now. There is a limit for each source, and
 * one for all sources together: a host that forges many LIDs must not fill the event journal with
 * these events. */
static bool may_tell(struct sm_trap_limit *l, uint64_t *told_us)
{
    uint64_t now = clock_now_us();
    if ((*told_us && now < *told_us + EVENT_EVERY_US) ||
        !fab_base_bucket_take(&l->events_full_us, now, &event_rate))
        return false;
    *told_us = now;
    return true;
}

static void tell_flood(struct sm *s, const struct sm_trap *t, struct source *x)
{
    struct sm_trap_limit *l = s->core->traps;
    char place[SM_PLACE_LEN];
    uint64_t since_us = x->since_us;
    if (x->repressed < FLOOD || !may_tell(l, &x->flood_told_us))
        return;
    sm_trap_place(s, t->port, place);
    event_emit(s->in.bus, trap_flood, .subject = place, .guid = t->guid, .lid = t->slid,
               .traps = x->traps, .period_us = clock_now_us() - since_us,
               .repressed = x->repressed);
    x->traps = x->repressed = 0;
    x->since_us = clock_now_us();
}

void sm_trap_refuse(struct sm *s, const struct sm_trap *t, const char *reason)
{
    struct sm_trap_limit *l = s->core->traps;
    struct source *x = &l->source[index_of(t)];
    char place[SM_PLACE_LEN];
    l->counts.received++;
    l->counts.refused++;
    x->refused++;
    if (!may_tell(l, &x->refused_told_us))
        return;
    sm_trap_place(s, t->port, place);
    event_emit(s->in.bus, trap_refused, .subject = place, .guid = t->guid, .lid = t->slid,
               .trap = t->notice.trap, .traps = x->refused, .reason = reason);
    x->refused = 0;
}

/* ---- owed actions ---- */

static void enqueue(struct sm_trap_limit *l, uint16_t lid)
{
    l->source[lid].next = 0;
    if (l->last)
        l->source[l->last].next = lid;
    else
        l->first = lid;
    l->last = lid;
    l->queued++;
}

static uint16_t dequeue(struct sm_trap_limit *l)
{
    uint16_t lid = l->first;
    l->first = l->source[lid].next;
    if (!l->first)
        l->last = 0;
    l->queued--;
    return lid;
}

static void owe(struct sm_trap_limit *l, uint16_t lid, uint16_t trap)
{
    struct source *x = &l->source[lid];
    if (!x->owed)
        enqueue(l, lid);
    if (x->owed != TRAP_LINK_STATE)
        x->owed = trap;
    if (!loop_timer_pending(l->owed_timer))
        loop_timer_set(l->owed_timer, OWED_EVERY_US);
}

static bool is_switch(const struct sm *s, uint32_t port)
{
    const struct fab_fabric *f = s->model.view->fabric;
    return fab_fabric_node_is_switch(f, fab_fabric_port(f, port)->node);
}

static bool take_token(struct sm *s, struct source *x, uint32_t port)
{
    struct sm_trap_limit *l = s->core->traps;
    uint64_t now = clock_now_us();
    bool shared = port != FAB_NONE && !is_switch(s, port);
    return fab_base_bucket_has(x->full_us, now, &source_rate) &&
           (!shared || fab_base_bucket_take(&l->hosts_full_us, now, &hosts_rate)) &&
           fab_base_bucket_take(&x->full_us, now, &source_rate);
}

static void make_up(struct sm *s, uint16_t lid)
{
    struct source *x = &s->core->traps->source[lid];
    uint32_t port = sm_trap_owner(s, lid);
    uint16_t trap = x->owed;
    if (port != FAB_NONE && !take_token(s, x, port)) {
        enqueue(s->core->traps, lid);
        return;
    }
    x->owed = 0;
    /* If the LID has no owner any more, a sweep has found that the port left the fabric, so no read
     * is needed. */
    if (port != FAB_NONE && sm_is_master(s))
        sm_trap_act(s, sm_model_guid_of_lid(&s->model, lid), trap);
}

static void on_owed(void *ctx)
{
    struct sm_trap_limit *l = ctx;
    uint32_t count = l->queued < OWED_AT_ONCE ? l->queued : OWED_AT_ONCE;
    for (uint32_t i = 0; i < count; i++)
        make_up(l->sm, dequeue(l));
    if (l->queued)
        loop_timer_set(l->owed_timer, OWED_EVERY_US);
}

/* ---- admission ---- */

bool sm_trap_admit(struct sm *s, const struct sm_trap *t)
{
    struct sm_trap_limit *l = s->core->traps;
    uint16_t lid = index_of(t);
    struct source *x = &l->source[lid];
    l->counts.received++;
    if (fab_base_bucket_is_full(x->full_us, clock_now_us())) {
        x->traps = x->repressed = 0;
        x->since_us = clock_now_us();
    }
    x->traps++;
    if (take_token(s, x, t->port))
        return true;
    x->repressed++;
    l->counts.repressed++;
    if (lid && sm_trap_acts(s, &t->notice))
        owe(l, lid, t->notice.trap);
    tell_flood(s, t, x);
    return false;
}

/* ---- unknown LIDs ---- */

static void on_unknown(void *ctx)
{
    struct sm_trap_limit *l = ctx;
    uint64_t wait = l->unknown_wait_us * 2;
    wait = wait < UNKNOWN_FIRST_US ? UNKNOWN_FIRST_US : wait;
    l->unknown_wait_us = wait > UNKNOWN_MOST_US ? UNKNOWN_MOST_US : wait;
    l->unknown_next_us = clock_now_us() + l->unknown_wait_us;
    if (!sm_is_master(l->sm))
        return;
    l->counts.sweeps++;
    sm_request_heavy(l->sm);
    sm_schedule(l->sm);
}

void sm_trap_unknown(struct sm *s)
{
    struct sm_trap_limit *l = s->core->traps;
    uint64_t now = clock_now_us();
    if (now >= l->unknown_last_us + UNKNOWN_MOST_US)
        l->unknown_wait_us = l->unknown_next_us = 0;
    l->unknown_last_us = now;
    if (loop_timer_pending(l->unknown_timer))
        return;
    uint64_t at = now + UNKNOWN_AFTER_US;
    loop_timer_set(l->unknown_timer, (at > l->unknown_next_us ? at : l->unknown_next_us) - now);
}

void sm_trap_swept(struct sm *s)
{
    if (!s->run.same)
        s->core->traps->unknown_wait_us = s->core->traps->unknown_next_us = 0;
}

/* ---- init and fini ---- */

struct sm_trap_counts sm_trap_counts(const struct sm *s)
{
    struct sm_trap_counts counts = s->core->traps->counts;
    counts.unconfirmed = sm_trap_unconfirmed(s);
    sm_violation_counts(s, &counts);
    return counts;
}

int sm_trap_limit_init(struct sm *s)
{
    struct sm_trap_limit *l = s->core->traps = calloc(1, sizeof(*l));
    if (!l)
        return FAB_E_NOMEM;
    l->sm = s;
    l->source = calloc(LIDS, sizeof(*l->source));
    l->owed_timer = loop_timer_new(s->in.loop, on_owed, l);
    l->unknown_timer = loop_timer_new(s->in.loop, on_unknown, l);
    return l->source && l->owed_timer && l->unknown_timer ? FAB_OK : FAB_E_NOMEM;
}

void sm_trap_limit_fini(struct sm *s)
{
    struct sm_trap_limit *l = s->core->traps;
    if (!l)
        return;
    loop_timer_free(l->owed_timer);
    loop_timer_free(l->unknown_timer);
    free(l->source);
    free(l);
}
