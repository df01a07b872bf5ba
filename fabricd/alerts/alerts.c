/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Manages the queues of the targets. If the settings of a target select an event, the loop thread
 * copies the event into the queue of this target. A job passes up to BATCH_MOST events from the
 * queue to the thread of the target. A target has at most one job at a time, and at most one job a
 * second. If a job fails, the next job sends the same events again. The pause between two jobs then
 * doubles each time, up to PAUSE_MOST_US. The loop thread drops events that are older than
 * AGE_MOST_US. It drops an event at once if the server will never accept it (WEBHOOK_REFUSED).
 *
 * A full queue drops new events, because the first events of a fault explain it best. The events
 * alerts-failing, alerts-lost and alerts-recovered report the state of a target; the target itself
 * does not get them.
 */
#include "fabricd/alerts/alerts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <syslog.h>

#include "fabricd/alerts/private.h"
#include "fabricd/base/clock.h"
#include "fabricd/base/events.h"
#include "fabricd/base/log.h"
#include "fabricd/loop/worker.h"
#include "libfabmgr/base/status.h"

#define SECOND UINT64_C(1000000)
#define QUEUE_MOST 1000u
#define BATCH_MOST 100u
#define INTERVAL_US SECOND
#define PAUSE_MOST_US (60 * SECOND)
#define AGE_MOST_US (3600 * SECOND)
/* number of successive failures after which alerts-failing is emitted */
#define FAILURES_TOLD 3
#define LOST_TOLD_US (60 * SECOND)

struct waiting { /* an event that waits in the queue of a target */
    STAILQ_ENTRY(waiting) entry;
    struct event event;
    uint64_t since_us; /* time at which the event was queued */
    max_align_t room[];
};
struct target {
    struct alerts *alerts;
    const struct config_alert *config;
    char name[24]; /* name of the target, such as "alerts[0]" */
    struct worker *worker;
    struct loop_timer *timer;
    struct webhook *webhook; /* NULL: the target is syslog */
    atomic_bool stop;
    /* the events that the target has not accepted yet; the thread is sending the first `batch` of
     * them */
    STAILQ_HEAD(, waiting) queue;
    uint32_t queued, batch;
    uint64_t sent, lost;
    /* Numbers of lost alerts that were reported. `lost_told`: by events alerts-lost.
     * `lost_reported`: to the target itself, in requests that it accepted. */
    uint64_t lost_told, lost_reported;
    uint64_t lost_told_us;
    uint32_t failures; /* number of failed requests since the last one that succeeded */
    /* true: alerts-failing has been emitted, and alerts-recovered has not been emitted since */
    bool failing_told;
    /* Only the thread uses these members while `batch` is not 0. `event`: the events of the
     * request. `lost_before`: number of lost alerts that were not reported to the target yet.
     * `result`, `why`: the result of the request. */
    const struct event *event[BATCH_MOST];
    uint64_t lost_before;
    enum webhook_result result;
    char why[256];
};
struct alerts {
    struct loop *loop;
    struct bus *bus;
    struct target *target; /* [count] the targets in the order of the configuration */
    size_t count;
    bool subscribed;
};

/* ---- the thread of a target ------------------------------------------------------------------ */

static void send_to_syslog(struct target *t)
{
    static const int priorities[] = {LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERR};
    for (uint32_t i = 0; i < t->batch; i++) {
        char clean[1024];
        log_clean(t->event[i]->message, clean, sizeof(clean));
        syslog(LOG_DAEMON | priorities[t->event[i]->severity], "%s: %s", t->event[i]->type, clean);
    }
    t->result = WEBHOOK_SENT;
}

static void send_to_webhook(struct target *t)
{
    struct fab_text body = {0};
    alerts_body(t->event, t->batch, t->lost_before, &body);
    t->result = WEBHOOK_RETRY;
    if (body.status == FAB_OK)
        t->result =
            webhook_send(t->webhook, fab_base_text_get(&body), body.len, t->why, sizeof(t->why));
    else
        snprintf(t->why, sizeof(t->why), "out of memory");
    fab_base_text_fini(&body);
}

static void send_batch(void *ctx)
{
    struct target *t = ctx;
    t->why[0] = '\0';
    if (t->webhook)
        send_to_webhook(t);
    else
        send_to_syslog(t);
}

/* ---- the queue ------------------------------------------------------------------------------- */

static void drop_first(struct target *t)
{
    struct waiting *w = STAILQ_FIRST(&t->queue);
    STAILQ_REMOVE_HEAD(&t->queue, entry);
    t->queued--;
    free(w);
}

static void tell_lost(struct target *t)
{
    uint64_t now = clock_now_us();
    if (t->lost == t->lost_told || (t->lost_told_us != 0 && now - t->lost_told_us < LOST_TOLD_US))
        return;
    uint64_t lost = t->lost - t->lost_told;
    t->lost_told = t->lost;
    t->lost_told_us = now;
    event_emit(t->alerts->bus, alerts_lost, .subject = t->name, .alerts = lost);
}

/* Drops events that are too old to be sent again. */
static void drop_old(struct target *t)
{
    uint64_t now = clock_now_us();
    struct waiting *w;
    while ((w = STAILQ_FIRST(&t->queue)) != NULL && now - w->since_us > AGE_MOST_US) {
        drop_first(t);
        t->lost++;
    }
}

static void on_sent(void *ctx);

static void begin_batch(void *ctx)
{
    struct target *t = ctx;
    struct waiting *w;
    loop_at(t->alerts->loop, "alerts");
    if (t->batch > 0)
        return;
    drop_old(t);
    tell_lost(t);
    if (t->queued == 0)
        return;
    STAILQ_FOREACH(w, &t->queue, entry)
    if (t->batch < BATCH_MOST)
        t->event[t->batch++] = &w->event;
    t->lost_before = t->lost - t->lost_reported;
    if (worker_add(t->worker, send_batch, on_sent, t) == FAB_OK)
        return;
    t->batch = 0;
    loop_timer_set(t->timer, INTERVAL_US);
}

static void note_failure(struct target *t)
{
    t->failures++;
    if (t->failures < FAILURES_TOLD || t->failing_told)
        return;
    t->failing_told = true;
    event_emit(t->alerts->bus, alerts_failing, .subject = t->name, .reason = t->why,
               .queued = t->queued);
}

static void note_success(struct target *t)
{
    t->failures = 0;
    if (!t->failing_told)
        return;
    t->failing_told = false;
    event_emit(t->alerts->bus, alerts_recovered, .subject = t->name, .lost = t->lost);
}

static uint64_t pause_of(const struct target *t)
{
    uint64_t pause = t->failures < 7 ? INTERVAL_US << t->failures : PAUSE_MOST_US;
    return pause < PAUSE_MOST_US ? pause : PAUSE_MOST_US;
}

static void on_sent(void *ctx)
{
    struct target *t = ctx;
    uint32_t batch = t->batch;
    loop_at(t->alerts->loop, "alerts");
    t->batch = 0;
    for (uint32_t i = 0; t->result != WEBHOOK_RETRY && i < batch; i++)
        drop_first(t);
    if (t->result == WEBHOOK_SENT) {
        t->sent += batch;
        t->lost_reported += t->lost_before;
        note_success(t);
    } else {
        t->lost += t->result == WEBHOOK_REFUSED ? batch : 0;
        note_failure(t);
    }
    loop_timer_set(t->timer, pause_of(t));
}

/* Returns true if the event reports the state of this target. The target does not get such
 * events. */
static bool is_about(const struct target *t, const struct event *e)
{
    return strncmp(e->type, "alerts-", 7) == 0 && strcmp(e->subject, t->name) == 0;
}

static void enqueue(struct target *t, const struct event *e)
{
    struct waiting *w =
        t->queued < QUEUE_MOST ? malloc(sizeof(*w) + event_room(e) + sizeof(max_align_t)) : NULL;
    if (!w) {
        t->lost++;
        if (!loop_timer_pending(t->timer) && t->batch == 0)
            loop_timer_set(t->timer, 0);
        return;
    }
    event_copy(&w->event, e, w->room);
    w->since_us = clock_now_us();
    STAILQ_INSERT_TAIL(&t->queue, w, entry);
    t->queued++;
    /* Wait a moment before sending the event, so that the next events of the same fault are sent
     * with it. */
    if (t->batch == 0 && !loop_timer_pending(t->timer))
        loop_timer_set(t->timer, SECOND / 20);
}

static void on_event(void *ctx, const struct event *e)
{
    struct alerts *a = ctx;
    for (size_t i = 0; i < a->count; i++)
        if (config_alert_wants(a->target[i].config, e) && !is_about(&a->target[i], e))
            enqueue(&a->target[i], e);
}

/* ---- starting and stopping ------------------------------------------------------------------- */

static int start_target(struct alerts *a, const struct config_alert *config, struct target *t)
{
    const struct worker_config worker = {.name = "alerts", .background = true};
    t->alerts = a;
    t->config = config;
    snprintf(t->name, sizeof(t->name), "alerts[%zu]", (size_t)(t - a->target));
    STAILQ_INIT(&t->queue);
    t->webhook = config->url ? webhook_new(config, &t->stop) : NULL;
    t->timer = loop_timer_new(a->loop, begin_batch, t);
    t->worker = worker_new(a->loop, &worker);
    return (config->url && !t->webhook) || !t->timer || !t->worker ? FAB_E_NOMEM : FAB_OK;
}

int alerts_start(struct loop *loop, struct bus *bus, const struct config_alerts *config,
                 struct alerts **ret)
{
    *ret = NULL;
    if (config->count == 0)
        return FAB_OK;
    struct alerts *a = calloc(1, sizeof(*a));
    if (!a)
        return FAB_E_NOMEM;
    *a = (struct alerts){
        .loop = loop, .bus = bus, .target = calloc(config->count, sizeof(*a->target))};
    int r = !a->target ? FAB_E_NOMEM : webhook_init() ? FAB_OK : FAB_E_IO;
    openlog("fabricd", LOG_PID | LOG_NDELAY, LOG_DAEMON);
    while (r == FAB_OK && a->count < config->count) {
        r = start_target(a, &config->alert[a->count], &a->target[a->count]);
        a->count++;
    }
    if (r == FAB_OK)
        r = bus_subscribe(bus, on_event, a);
    a->subscribed = r == FAB_OK;
    if (r == FAB_OK)
        *ret = a;
    else
        alerts_stop(a);
    return r;
}

static void stop_target(struct target *t)
{
    worker_free(t->worker);
    webhook_free(t->webhook);
    loop_timer_free(t->timer);
    while (t->queued > 0)
        drop_first(t);
}

void alerts_stop(struct alerts *a)
{
    if (!a)
        return;
    if (a->subscribed)
        bus_unsubscribe(a->bus, on_event, a);
    for (size_t i = 0; i < a->count; i++)
        atomic_store(&a->target[i].stop, true);
    for (size_t i = 0; i < a->count; i++)
        stop_target(&a->target[i]);
    free(a->target);
    free(a);
}

size_t alerts_count(const struct alerts *a)
{
    return a ? a->count : 0;
}

void alerts_get_status(const struct alerts *a, size_t target, struct alerts_status *ret)
{
    const struct target *t = &a->target[target];
    *ret = (struct alerts_status){
        .sent = t->sent, .lost = t->lost, .queued = t->queued, .failing = t->failures > 0};
    memcpy(ret->target, t->name, sizeof(ret->target));
}
