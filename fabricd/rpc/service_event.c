/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements WatchEvents.
 *
 * A follower is a call of WatchEvents, with the sequence number of the last event that it sent. A
 * follower has no queue: when the client can take more (drain), the follower reads the next events.
 * Events that are older than the journal in memory come from the store, all others from the
 * journal. After a follower has once reached the newest event, it reads only from the journal. If
 * the journal has dropped the next event of the follower, the manager ends the call, and a last
 * response says where to resume.
 *
 * The follower reports every gap: events that the store does not have any more, and debug events
 * that the journal dropped before a slow follower could send them.
 *
 * The bus does not call the followers. Each event starts a timer, which wakes the followers once
 * for all events that have arrived by then.
 */
#include "fabricd/rpc/follower.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/v1/event.pb-c.h"
#include "fabricd/base/clock.h"
#include "fabricd/rpc/convert.h"
#include "fabricd/rpc/journal.h"
#include "fabricd/rpc/limits.h"
#include "fabricd/rpc/page.h"
#include "libfabmgr/base/status.h"

#define STORE_CHUNK 256u
#define STORE_CHUNKS_AT_ONCE 8u
#define EVENTS_AT_ONCE 64u
/* maximum difference in us between the clocks of two managers (event.proto) */
#define CLOCKS_US INT64_C(5000000)
/* Maximum number of events in the store that are examined to find the last event before a time. */
#define SEARCHED 65536u

struct follower {
    LIST_ENTRY(follower) entry;
    struct rpc *rpc;
    /* the WatchEvents call of this follower; NULL: sending failed, which has finished the call */
    struct call *call;
    /* sequence number of the last event that the follower sent or skipped */
    uint64_t sent;
    /* number of events of severity debug that the follower sent or skipped (journal.h) */
    uint64_t debug_sent;
    int min_severity; /* enum EventSeverity of the API */
    /* Not 0: the client has followed the journal of another manager, and the next response must say
     * that the events of this journal begin at this Unix time in us. 0: there is nothing to say. */
    int64_t begins_us;
    /* true: the follower has reached the newest event at least once */
    bool live;
    /* number of events that were written since the last call of `drain` */
    unsigned written;
};

static bool is_severe(const struct event *e, int min_severity)
{
    return (int)e->severity + 1 >= min_severity;
}

static void follower_free(struct follower *f)
{
    LIST_REMOVE(f, entry);
    free(f);
}

static void forget(struct call *c, void *data)
{
    (void)c;
    follower_free(data);
}

/* Sends a response and frees the memory of `a`, which the response uses. */
static void write_response(struct follower *f, struct answer *a, Fabric__V1__WatchEventsResponse *m)
{
    m->journal = f->rpc->journal_name;
    if (answer_send(a, f->call, &m->base) < 0)
        f->call = NULL;
    f->written++;
}

static void write_event(struct follower *f, const struct event *e)
{
    Fabric__V1__WatchEventsResponse m = FABRIC__V1__WATCH_EVENTS_RESPONSE__INIT;
    struct answer a = {0};
    m.event = convert_event(&a, e);
    write_response(f, &a, &m);
}

static void write_missed(struct follower *f, Fabric__V1__MissedEvents *missed)
{
    Fabric__V1__WatchEventsResponse m = FABRIC__V1__WATCH_EVENTS_RESPONSE__INIT;
    struct answer a = {0};
    m.missed = missed;
    write_response(f, &a, &m);
}

static void write_beginning(struct follower *f)
{
    Fabric__V1__WatchEventsResponse m = FABRIC__V1__WATCH_EVENTS_RESPONSE__INIT;
    Fabric__V1__MissedEvents missed = FABRIC__V1__MISSED_EVENTS__INIT;
    struct answer a = {0};
    missed.other_journal = true;
    missed.since = convert_time(&a, f->begins_us);
    m.missed = &missed;
    f->begins_us = 0;
    write_response(f, &a, &m);
}

/* Tells the client that it misses the events after the last one sent, up to number `last`. */
static void pass_over(struct follower *f, uint64_t last)
{
    Fabric__V1__MissedEvents m = FABRIC__V1__MISSED_EVENTS__INIT;
    if (last <= f->sent)
        return;
    m.first_sequence = f->sent + 1;
    m.last_sequence = last;
    f->sent = last;
    write_missed(f, &m);
}

static void pass_over_debug(struct follower *f, uint64_t count)
{
    Fabric__V1__MissedEvents m = FABRIC__V1__MISSED_EVENTS__INIT;
    f->debug_sent += count;
    m.debug_events = count;
    if (f->min_severity <= FABRIC__V1__EVENT_SEVERITY__EVENT_SEVERITY_DEBUG)
        write_missed(f, &m);
}

static void send_event(void *ctx, const struct event *e)
{
    struct follower *f = ctx;
    if (f->call == NULL || e->seq <= f->sent)
        return;
    pass_over(f, e->seq - 1);
    f->sent = e->seq;
    if (f->call != NULL && is_severe(e, f->min_severity))
        write_event(f, e);
}

/* Sends the next event of severity debug. If the journal has dropped such events before the
 * follower could send them, sends their number instead. Returns false if there is no event, or if
 * an event with a sequence number must be sent first. */
static bool send_debug(struct follower *f)
{
    const struct journal *j = f->rpc->journal;
    uint64_t after = 0, count = journal_debug_count(j);
    if (f->debug_sent + RPC_DEBUG_KEPT < count) {
        pass_over_debug(f, count - RPC_DEBUG_KEPT - f->debug_sent);
        return true;
    }
    if (f->debug_sent == count)
        return false;
    const struct event *e = journal_debug_at(j, f->debug_sent + 1, &after);
    if (e != NULL && after > f->sent)
        return false;
    if (e == NULL) { /* the journal had no memory to store this event */
        pass_over_debug(f, 1);
        return true;
    }
    f->debug_sent++;
    if (is_severe(e, f->min_severity))
        write_event(f, e);
    return true;
}

static bool send_numbered(struct follower *f)
{
    const struct journal *j = f->rpc->journal;
    if (f->sent + 1 < journal_oldest(j) || f->sent >= journal_newest(j))
        return false;
    const struct event *e = journal_at(j, f->sent + 1);
    if (e != NULL)
        send_event(f, e);
    else
        pass_over(f, f->sent + 1);
    return true;
}

static void send_old(struct follower *f)
{
    uint64_t oldest = journal_oldest(f->rpc->journal);
    for (unsigned i = 0;
         i < STORE_CHUNKS_AT_ONCE && f->call != NULL && f->written == 0 && f->sent + 1 < oldest;
         i++) {
        uint64_t before = f->sent;
        if (f->rpc->in.store != NULL)
            store_events(f->rpc->in.store, f->sent, oldest, false, STORE_CHUNK, send_event, f);
        /* if nothing was sent, the store has no events between f->sent and `oldest` */
        if (f->sent == before)
            pass_over(f, oldest - 1);
    }
}

/* Returns true if the follower has once reached the newest event, but is now so late that the
 * journal has dropped its next event. */
static bool is_behind(const struct follower *f)
{
    return f->live && f->sent + 1 < journal_oldest(f->rpc->journal);
}

static void leave_behind(struct follower *f)
{
    Fabric__V1__WatchEventsResponse m = FABRIC__V1__WATCH_EVENTS_RESPONSE__INIT;
    struct answer a = {0};
    m.resume_after = f->sent;
    m.journal = f->rpc->journal_name;
    /* if answer_send fails, it has already finished the call */
    if (answer_send(&a, f->call, &m.base) == FAB_OK)
        call_finish(f->call, FAB_GRPC_RESOURCE_EXHAUSTED,
                    "the client fell too far behind; resume with after_sequence %" PRIu64, f->sent);
    follower_free(f);
}

static void drain(struct call *c, void *data)
{
    (void)c;
    struct follower *f = data;
    const struct journal *j = f->rpc->journal;
    /* since the last call of this function, the journal may have dropped the event that is next for
     * this follower */
    if (is_behind(f)) {
        leave_behind(f);
        return;
    }
    f->written = 0;
    if (f->begins_us != 0)
        write_beginning(f);
    if (f->call != NULL && f->sent + 1 < journal_oldest(j))
        send_old(f);
    while (f->call != NULL && f->written < EVENTS_AT_ONCE && (send_debug(f) || send_numbered(f)))
        ;
    f->live = f->live || f->sent == journal_newest(j);
    if (f->call == NULL)
        follower_free(f);
    else if (f->written == 0 && !f->live)
        /* Nothing was sent, because many events were skipped. Continue in the next iteration of the
         * event loop. */
        loop_timer_set(f->rpc->turn, 0);
}

void followers_turn(void *ctx)
{
    struct rpc *r = ctx;
    for (struct follower *f = LIST_FIRST(&r->followers), *next; f != NULL; f = next) {
        next = LIST_NEXT(f, entry);
        if (is_behind(f))
            leave_behind(f);
        else
            call_kick(f->call);
    }
}

/* The state of a search for the last event before the time before_us. The search begins with the
 * newest event. */
struct search {
    int64_t before_us;
    /* the result so far: no event with a higher sequence number occurred before `before_us` */
    uint64_t at;
    unsigned seen;
    bool found;
};

static void look_at(void *ctx, const struct event *e)
{
    struct search *x = ctx;
    x->seen++;
    x->found = x->found || e->time_us < x->before_us;
    if (!x->found)
        x->at = e->seq - 1;
}

/* Returns the sequence number of the last event that occurred before time_us. Examines about
 * SEARCHED events of the store; if all of them are later, returns the number before the first of
 * them. */
static uint64_t sequence_before(const struct rpc *r, int64_t time_us)
{
    struct search x = {.before_us = time_us, .at = journal_newest(r->journal)};
    while (!x.found && x.at >= journal_oldest(r->journal) && x.at > 0) {
        const struct event *e = journal_at(r->journal, x.at);
        if (e != NULL)
            look_at(&x, e);
        else
            x.at--;
    }
    for (unsigned all = 0; !x.found && r->in.store != NULL && all < SEARCHED; all += x.seen) {
        x.seen = 0;
        if (store_events(r->in.store, 0, x.at + 1, true, STORE_CHUNK, look_at, &x) != FAB_OK ||
            x.seen == 0)
            break;
    }
    return x.at;
}

/* Sets f->sent to the event after which the follower begins, as the request demands. */
static void choose_beginning(struct follower *f, const Fabric__V1__WatchEventsRequest *q)
{
    bool other = q->journal[0] != '\0' && strcmp(q->journal, f->rpc->journal_name) != 0;
    int64_t time_us = read_time(q->after_time, 0);
    f->sent = journal_newest(f->rpc->journal);
    if (q->after_sequence != 0 && !other)
        f->sent = q->after_sequence;
    else if (time_us > CLOCKS_US)
        f->sent = sequence_before(f->rpc, time_us - CLOCKS_US);
    if (other)
        f->begins_us = time_us > CLOCKS_US ? time_us - CLOCKS_US : clock_unix_us();
}

void watch_events(struct call *c, const void *request)
{
    static const struct call_hooks hooks = {.gone = forget, .drain = drain};
    const Fabric__V1__WatchEventsRequest *q = request;
    struct rpc *r = call_rpc(c);
    uint64_t newest = journal_newest(r->journal);
    bool own = q->journal[0] == '\0' || strcmp(q->journal, r->journal_name) == 0;
    if (own && q->after_sequence > newest) {
        call_finish(c, FAB_GRPC_OUT_OF_RANGE,
                    "after_sequence is %" PRIu64
                    ", but the newest event has sequence number %" PRIu64,
                    q->after_sequence, newest);
        return;
    }
    struct follower *f = calloc(1, sizeof *f);
    if (f == NULL) {
        call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED, "the manager is out of memory");
        return;
    }
    f->rpc = r;
    f->call = c;
    f->debug_sent = journal_debug_count(r->journal);
    choose_beginning(f, q);
    f->min_severity = (int)q->min_severity;
    LIST_INSERT_HEAD(&r->followers, f, entry);
    call_later(c, &hooks, f);
}
