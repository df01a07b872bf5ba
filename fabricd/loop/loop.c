/*
 * The event loop, over libevent.
 *
 * One thread owns the loop and everything the daemon can change. Two doors lead in from other
 * threads, loop_post and the worker's results; both end in one mailbox: a locked list and an
 * eventfd that wakes the loop once for however many letters wait.
 */
#include "fabricd/loop/loop.h"

#include <errno.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fabricd/loop/worker.h"
#include "libfabmgr/base/status.h"

struct letter {
    loop_fn *fn;
    void *ctx;
    struct letter *next;
};

struct signal_watch {
    struct event *event;
    loop_fn *fn;
    void *ctx;
    struct signal_watch *next;
};

struct loop {
    struct event_base *base;
    struct event *mailbox_event;
    int mailbox_fd;
    pthread_mutex_t lock; /* guards first and last */
    struct letter *first, *last;
    struct signal_watch *signals;
    struct worker *worker;
};

struct loop_timer {
    struct event *event;
    loop_fn *fn;
    void *ctx;
};

struct loop_watch {
    struct event *event;
    loop_fn *fn;
    void *ctx;
};

static struct letter *take_letters(struct loop *l)
{
    pthread_mutex_lock(&l->lock);
    struct letter *first = l->first;
    l->first = l->last = NULL;
    pthread_mutex_unlock(&l->lock);
    return first;
}

static void on_mail(evutil_socket_t fd, short what, void *ctx)
{
    (void)what;
    uint64_t count;
    if (read(fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
        return;
    struct letter *letter = take_letters(ctx);
    while (letter) {
        struct letter *next = letter->next;
        letter->fn(letter->ctx);
        free(letter);
        letter = next;
    }
}

struct loop *loop_new(void)
{
    struct loop *l = calloc(1, sizeof(*l));
    if (!l)
        return NULL;
    pthread_mutex_init(&l->lock, NULL);
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
    worker_free(l->worker);
    for (struct letter *letter = take_letters(l), *next; letter; letter = next) {
        next = letter->next;
        free(letter);
    }
    free_signals(l);
    if (l->mailbox_event)
        event_free(l->mailbox_event);
    if (l->base)
        event_base_free(l->base);
    if (l->mailbox_fd >= 0)
        close(l->mailbox_fd);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

int loop_run(struct loop *l)
{
    return event_base_dispatch(l->base) < 0 ? FAB_E_IO : FAB_OK;
}

void loop_stop(struct loop *l)
{
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

struct loop_timer *loop_timer_new(struct loop *l, loop_fn *fn, void *ctx)
{
    struct loop_timer *t = calloc(1, sizeof(*t));
    if (!t)
        return NULL;
    t->fn = fn;
    t->ctx = ctx;
    t->event = evtimer_new(l->base, on_timer, t);
    if (!t->event) {
        free(t);
        return NULL;
    }
    return t;
}

void loop_timer_set(struct loop_timer *t, uint64_t delay_us)
{
    struct timeval tv = to_timeval(delay_us);
    evtimer_add(t->event, &tv);
}

void loop_timer_cancel(struct loop_timer *t)
{
    if (t)
        evtimer_del(t->event);
}

bool loop_timer_pending(const struct loop_timer *t)
{
    return t && evtimer_pending(t->event, NULL);
}

void loop_timer_free(struct loop_timer *t)
{
    if (!t)
        return;
    event_free(t->event);
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
    struct loop_watch *w = calloc(1, sizeof(*w));
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

int loop_post(struct loop *l, loop_fn *fn, void *ctx)
{
    struct letter *letter = malloc(sizeof(*letter));
    if (!letter)
        return FAB_E_NOMEM;
    *letter = (struct letter){.fn = fn, .ctx = ctx};
    pthread_mutex_lock(&l->lock);
    bool first = l->first == NULL;
    if (first)
        l->first = letter;
    else
        l->last->next = letter;
    l->last = letter;
    pthread_mutex_unlock(&l->lock);
    const uint64_t one = 1;
    if (first && write(l->mailbox_fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
        return FAB_E_IO;
    return FAB_OK;
}

int loop_work(struct loop *l, loop_fn *work, loop_fn *done, void *ctx)
{
    if (!l->worker)
        l->worker = worker_new(l);
    return l->worker ? worker_add(l->worker, work, done, ctx) : FAB_E_NOMEM;
}
