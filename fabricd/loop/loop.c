/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The event loop. It runs on libevent or, in virtual time, only on the timers of timeline.c.
 *
 * One thread owns the loop and all mutable state of the daemon. Other threads send messages to it
 * through one mailbox (loop_post, and the results of workers). The mailbox is a list with a lock.
 * An eventfd wakes the loop once for all pending messages.
 */
#include "fabricd/loop/loop.h"

#include <errno.h>
#include <event2/event.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/loop/hold.h"
#include "fabricd/loop/iterations.h"
#include "fabricd/loop/thread_pool.h"
#include "fabricd/loop/timeline.h"
#include "fabricd/loop/worker.h"
#include "libfabmgr/base/status.h"

/* time in us at which virtual time begins; not 0, because several modules use the time 0 as "no
 * time" */
#define VIRTUAL_START_US 1000000
/* Numbers of pending timers for which libevent gets memory in advance (make_room). ROOM_AT_FIRST:
 * for struct loop_timer; the number doubles when there are more. ROOM_OF_OTHERS: for the timers
 * that libevent itself makes for connections. */
#define ROOM_AT_FIRST 128
#define ROOM_OF_OTHERS 128

struct signal_watch {
    struct event *event;
    loop_fn *fn;
    void *ctx;
    struct signal_watch *next;
};

/* The worker threads; loop.h says which work they run. */
enum { WORKER_LONG, WORKER_SHORT, WORKER_BLOCKING, WORKER_BACKGROUND };
static const struct worker_config worker_configs[HOLD_WORKERS] = {
    [WORKER_LONG] = {.name = "fabricd-worker", .owes = true},
    [WORKER_SHORT] = {.name = "fabricd-short", .owes = true},
    [WORKER_BLOCKING] = {.name = "fabricd-block", .owes = true},
    [WORKER_BACKGROUND] = {.name = "fabricd-back", .owes = true, .background = true},
};

struct loop {
    struct event_base *base;
    struct event *mailbox_event;
    /* timers: number of timers. room: number of timers for which libevent has memory. */
    size_t timers, room;
    int mailbox_fd;
    pthread_mutex_t lock;          /* guards `first` and `last` */
    struct loop_job *first, *last; /* queue of messages from other threads */
    struct signal_watch *signals;
    struct worker *workers[HOLD_WORKERS]; /* NULL: not created yet */
    /* CPU affinity of the process before any thread was pinned to a processor */
    cpu_set_t processors;
    /* thread pool for parallel computations; NULL: not created yet */
    struct pool *pool;
    /* timers in virtual time; NULL: the loop runs in real time */
    struct timeline *timeline;
    struct hold *hold; /* delays the jobs of workers in virtual time; NULL: jobs run at once */
    struct iterations iterations;
    bool stopped;
    /* true: loop_run is running in real time, so iterations are measured */
    bool running;
};

struct loop_timer {
    /* This must be the first member: the loop converts the pointer that timeline_next returns to a
     * pointer to the timer. */
    struct timeline_entry entry;
    struct loop *loop;
    struct event *event; /* timer of libevent; NULL in virtual time */
    loop_fn *fn;
    void *ctx;
};

struct loop_watch {
    struct event *event;
    loop_fn *fn;
    void *ctx;
};

static struct loop_job *take_messages(struct loop *l)
{
    pthread_mutex_lock(&l->lock);
    struct loop_job *first = l->first;
    l->first = l->last = NULL;
    pthread_mutex_unlock(&l->lock);
    return first;
}

/* Calls the functions of all pending messages. Returns false if there were none. */
static bool read_messages(struct loop *l)
{
    struct loop_job *message = take_messages(l);
    bool any = message != NULL;
    while (message) {
        struct loop_job *next = message->next;
        message->done(message->ctx);
        free(message);
        message = next;
    }
    return any;
}

static void on_mail(evutil_socket_t fd, short what, void *ctx)
{
    (void)what;
    uint64_t count;
    if (read(fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
        return;
    read_messages(ctx);
}

struct loop *loop_new(void)
{
    struct loop *l = calloc(1, sizeof(*l));
    if (!l)
        return NULL;
    pthread_mutex_init(&l->lock, NULL);
    CPU_ZERO(&l->processors);
    (void)sched_getaffinity(0, sizeof(l->processors), &l->processors);
    l->mailbox_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    l->base = event_base_new();
    if (l->mailbox_fd < 0 || !l->base)
        goto fail;
    l->mailbox_event = event_new(l->base, l->mailbox_fd, EV_READ | EV_PERSIST, on_mail, l);
    if (!l->mailbox_event || event_add(l->mailbox_event, NULL))
        goto fail;
    return l;
fail:
    loop_free(l);
    return NULL;
}

struct loop *loop_new_virtual(void)
{
    struct loop *l = calloc(1, sizeof(*l));
    if (!l)
        return NULL;
    pthread_mutex_init(&l->lock, NULL);
    l->mailbox_fd = -1;
    l->timeline = calloc(1, sizeof(*l->timeline));
    if (!l->timeline) {
        loop_free(l);
        return NULL;
    }
    l->timeline->now = VIRTUAL_START_US;
    clock_set_virtual(VIRTUAL_START_US);
    return l;
}

static void free_timeline(struct loop *l)
{
    if (!l->timeline)
        return;
    timeline_fini(l->timeline);
    free(l->timeline);
    clock_set_virtual(0);
}

static void free_signals(struct loop *l)
{
    while (l->signals) {
        struct signal_watch *s = l->signals;
        l->signals = s->next;
        event_free(s->event);
        free(s);
    }
}

void loop_free(struct loop *l)
{
    if (!l)
        return;
    for (unsigned i = 0; i < HOLD_WORKERS; i++)
        worker_free(l->workers[i]);
    thread_pool_free(l->pool);
    hold_free(l->hold);
    for (struct loop_job *message = take_messages(l), *next; message; message = next) {
        next = message->next;
        if (message->owed)
            message->done(message->ctx);
        free(message);
    }
    free_signals(l);
    free_timeline(l);
    if (l->mailbox_event)
        event_free(l->mailbox_event);
    if (l->base) {
        /* libevent frees closed connections only in an iteration of its own loop */
        event_base_loop(l->base, EVLOOP_NONBLOCK);
        event_base_free(l->base);
    }
    if (l->mailbox_fd >= 0)
        close(l->mailbox_fd);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

bool loop_random(const struct loop *l, void *bytes, size_t len)
{
    if (l->timeline == NULL)
        return getrandom(bytes, len, 0) == (ssize_t)len;
    memset(bytes, 0, len);
    return true;
}

static int run_virtual(struct loop *l)
{
    l->stopped = false;
    while (!l->stopped) {
        if (read_messages(l))
            continue;
        struct loop_timer *t = (struct loop_timer *)timeline_next(l->timeline);
        if (!t)
            break;
        clock_set_virtual(l->timeline->now);
        t->fn(t->ctx);
    }
    return FAB_OK;
}

static void end_turn(struct loop *l)
{
    uint64_t us, now = clock_cpu_ns();
    const char *what = iterations_end(&l->iterations, now, &us);
    if (what)
        log_debug("loop", "a long iteration ms=%.1f longest=\"%s\" of_it_ms=%.1f", (double)us / 1e3,
                  what, (double)l->iterations.longest_ns / 1e6);
    iterations_begin(&l->iterations, now);
}

int loop_run(struct loop *l)
{
    if (l->timeline)
        return run_virtual(l);
    l->stopped = false;
    l->running = true;
    iterations_begin(&l->iterations, clock_cpu_ns());
    while (!l->stopped) {
        int r = event_base_loop(l->base, EVLOOP_ONCE);
        if (r != 0)
            return r < 0 ? FAB_E_IO : FAB_OK;
        end_turn(l);
    }
    return FAB_OK;
}

void loop_at(struct loop *l, const char *what)
{
    if (l->running)
        iterations_at(&l->iterations, clock_cpu_ns(), what);
}

void loop_get_iterations(const struct loop *l, struct loop_iterations *ret)
{
    *ret = l->iterations.all;
}

void loop_stop(struct loop *l)
{
    l->stopped = true;
    if (l->timeline)
        return;
    event_base_loopbreak(l->base);
}

struct event_base *loop_base(struct loop *l)
{
    return l->base;
}

static struct timeval to_timeval(uint64_t us)
{
    return (struct timeval){.tv_sec = (time_t)(us / 1000000), .tv_usec = (long)(us % 1000000)};
}

static void on_timer(evutil_socket_t fd, short what, void *ctx)
{
    (void)fd;
    (void)what;
    struct loop_timer *t = ctx;
    t->fn(t->ctx);
}

/* libevent allocates memory when more timers are pending than ever before. If this failed in
 * loop_timer_set, the timer would never fire. So libevent must allocate the memory when a timer is
 * created. If there are more timers than ever before, this function sets twice as many timers, and
 * frees them again; libevent keeps the memory. Returns OK or NOMEM. */
static int make_room(struct loop *l)
{
    const struct timeval far = {.tv_sec = 3600};
    const size_t room = l->room ? 2 * l->room : ROOM_AT_FIRST, count = room + ROOM_OF_OTHERS;
    int r = FAB_OK;
    if (l->timers < l->room)
        return FAB_OK;
    struct event **made = calloc(count, sizeof(struct event *));
    for (size_t i = 0; r == FAB_OK && i < count; i++)
        if (!made || !(made[i] = evtimer_new(l->base, on_timer, NULL)) ||
            evtimer_add(made[i], &far))
            r = FAB_E_NOMEM;
    for (size_t i = 0; made && i < count && made[i]; i++)
        event_free(made[i]);
    free(made);
    if (r == FAB_OK)
        l->room = room;
    return r;
}

struct loop_timer *loop_timer_new(struct loop *l, loop_fn *fn, void *ctx)
{
    struct loop_timer *t = calloc(1, sizeof(*t));
    if (!t)
        return NULL;
    t->loop = l;
    t->fn = fn;
    t->ctx = ctx;
    if (l->timeline ? timeline_reserve(l->timeline) != FAB_OK
                    : make_room(l) != FAB_OK || !(t->event = evtimer_new(l->base, on_timer, t))) {
        free(t);
        return NULL;
    }
    l->timers++;
    return t;
}

void loop_timer_set(struct loop_timer *t, uint64_t delay_us)
{
    if (t->loop->timeline) {
        timeline_set(t->loop->timeline, &t->entry, delay_us);
        return;
    }
    struct timeval tv = to_timeval(delay_us);
    evtimer_add(t->event, &tv);
}

void loop_timer_cancel(struct loop_timer *t)
{
    if (t && t->event)
        evtimer_del(t->event);
    else if (t)
        timeline_cancel(t->loop->timeline, &t->entry);
}

bool loop_timer_pending(const struct loop_timer *t)
{
    if (t && !t->event)
        return t->entry.slot != 0;
    return t && evtimer_pending(t->event, NULL);
}

void loop_timer_free(struct loop_timer *t)
{
    if (!t)
        return;
    t->loop->timers--;
    if (t->event)
        event_free(t->event);
    else
        timeline_release(t->loop->timeline, &t->entry);
    free(t);
}

static void on_readable(evutil_socket_t fd, short what, void *ctx)
{
    (void)fd;
    (void)what;
    struct loop_watch *w = ctx;
    w->fn(w->ctx);
}

struct loop_watch *loop_watch_read(struct loop *l, int fd, loop_fn *fn, void *ctx)
{
    struct loop_watch *w = l->timeline ? NULL : calloc(1, sizeof(*w));
    if (!w)
        return NULL;
    w->fn = fn;
    w->ctx = ctx;
    w->event = event_new(l->base, fd, EV_READ | EV_PERSIST, on_readable, w);
    if (!w->event || event_add(w->event, NULL)) {
        loop_watch_free(w);
        return NULL;
    }
    return w;
}

void loop_watch_free(struct loop_watch *w)
{
    if (!w)
        return;
    if (w->event)
        event_free(w->event);
    free(w);
}

static void on_signal(evutil_socket_t signo, short what, void *ctx)
{
    (void)signo;
    (void)what;
    struct signal_watch *s = ctx;
    s->fn(s->ctx);
}

int loop_signal(struct loop *l, int signo, loop_fn *fn, void *ctx)
{
    if (l->timeline)
        return FAB_E_UNSUPPORTED;
    struct signal_watch *s = calloc(1, sizeof(*s));
    if (!s)
        return FAB_E_NOMEM;
    s->fn = fn;
    s->ctx = ctx;
    s->event = evsignal_new(l->base, signo, on_signal, s);
    if (!s->event || evsignal_add(s->event, NULL)) {
        if (s->event)
            event_free(s->event);
        free(s);
        return FAB_E_IO;
    }
    s->next = l->signals;
    l->signals = s;
    return FAB_OK;
}

void loop_deliver(struct loop *l, struct loop_job *job)
{
    job->next = NULL;
    pthread_mutex_lock(&l->lock);
    bool first = l->first == NULL;
    if (first)
        l->first = job;
    else
        l->last->next = job;
    l->last = job;
    pthread_mutex_unlock(&l->lock);
    const uint64_t one = 1;
    if (first && !l->timeline && write(l->mailbox_fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
        log_error("loop", "the event loop could not be woken: %s", strerror(errno));
}

int loop_post(struct loop *l, loop_fn *fn, void *ctx)
{
    struct loop_job *message = loop_job_new(&(struct loop_job){.done = fn, .ctx = ctx});
    if (!message)
        return FAB_E_NOMEM;
    loop_deliver(l, message);
    return FAB_OK;
}

/* Removes the pinning of this thread to a processor (transport/thread_pinning.h) while it creates a
 * worker thread, because the new thread would inherit it. *ret_was: the affinity that the caller
 * must restore afterwards. */
static void unbind(const struct loop *l, cpu_set_t *ret_was)
{
    CPU_ZERO(ret_was);
    (void)sched_getaffinity(0, sizeof(*ret_was), ret_was);
    (void)sched_setaffinity(0, sizeof(l->processors), &l->processors);
}

static int add_work(struct loop *l, unsigned worker, loop_fn *work, loop_fn *done, void *ctx)
{
    struct worker **w = &l->workers[worker];
    if (l->hold)
        return hold_add(l->hold, worker, work, done, ctx);
    if (l->timeline) {
        struct loop_job *job =
            loop_job_new(&(struct loop_job){.done = done, .ctx = ctx, .owed = true});
        if (!job)
            return FAB_E_NOMEM;
        work(ctx);
        loop_deliver(l, job);
        return FAB_OK;
    }
    if (!*w) {
        cpu_set_t was;
        unbind(l, &was);
        *w = worker_new(l, &worker_configs[worker]);
        (void)sched_setaffinity(0, sizeof(was), &was);
    }
    return *w ? worker_add(*w, work, done, ctx) : FAB_E_NOMEM;
}

int loop_work(struct loop *l, loop_fn *work, loop_fn *done, void *ctx)
{
    return add_work(l, WORKER_LONG, work, done, ctx);
}

int loop_work_short(struct loop *l, loop_fn *work, loop_fn *done, void *ctx)
{
    return add_work(l, WORKER_SHORT, work, done, ctx);
}

int loop_work_blocking(struct loop *l, loop_fn *work, loop_fn *done, void *ctx)
{
    return add_work(l, WORKER_BLOCKING, work, done, ctx);
}

int loop_work_background(struct loop *l, loop_fn *work, loop_fn *done, void *ctx)
{
    return add_work(l, WORKER_BACKGROUND, work, done, ctx);
}

int loop_delay_work(struct loop *l, loop_delay_fn *delay, void *ctx)
{
    l->hold = hold_new(l, delay, ctx);
    return l->hold ? FAB_OK : FAB_E_NOMEM;
}

struct discarded {
    loop_fn *free_fn; /* function that frees the object; NULL: it was called already */
    void *ctx;
};

static void free_discarded(void *ctx)
{
    struct discarded *d = ctx;
    d->free_fn(d->ctx);
    d->free_fn = NULL;
}

/* Called on the loop thread after the worker thread has freed the object. If the loop ended before
 * the worker thread did so, loop_free calls this function, which then frees the object itself. */
static void discarded_done(void *ctx)
{
    struct discarded *d = ctx;
    if (d->free_fn)
        d->free_fn(d->ctx);
    free(d);
}

void loop_discard(struct loop *l, loop_fn *free_fn, void *ctx)
{
    /* A loop in virtual time has no worker thread, so the object is freed at once. */
    struct discarded *d = l->timeline ? NULL : malloc(sizeof(*d));
    if (d) {
        *d = (struct discarded){free_fn, ctx};
        if (loop_work_short(l, free_discarded, discarded_done, d) == FAB_OK)
            return;
        free(d);
    }
    free_fn(ctx);
}

const struct fab_pool *loop_thread_pool(struct loop *l)
{
    if (!l->pool && !l->timeline) {
        cpu_set_t was;
        unbind(l, &was);
        l->pool = thread_pool_new(thread_pool_size());
        (void)sched_setaffinity(0, sizeof(was), &was);
    }
    return thread_pool_lend(l->pool);
}
