/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The handshake thread waits with epoll for bytes of clients, and continues one handshake at a
 * time, without holding the lock. There are two epoll sets. One is for urgent handshakes. The other
 * is for all other handshakes, and also contains the first set. A handshake on which the thread
 * does not work is in a list: `pending`, or `finished` until the loop thread takes the result. The
 * loop thread can cancel and free such a handshake at once, which also frees the descriptor. If the
 * loop thread cancels the handshake on which the thread works, the thread frees it afterwards.
 *
 * The thread also reads the names in the client's certificate, so that the loop thread need not
 * spend time on this. OpenSSL counts the references of an SSL_CTX, so a handshake keeps the context
 * with which it began.
 */
#include "fabricd/rpc/handshake.h"

#include <errno.h>
#include <openssl/err.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <unistd.h>

#include "fabricd/base/thread.h"
#include "libfabmgr/base/status.h"

TAILQ_HEAD(handshake_list, handshake);

struct handshake {
    TAILQ_ENTRY(handshake) entry;
    struct handshakes *set;
    /* the list that contains this handshake, guarded by `lock`; NULL: the thread is working on the
     * handshake, or on_finished passes on its result */
    struct handshake_list *list;
    bool cancelled; /* true: the loop thread cancelled the handshake while `list` was NULL */
    struct handshake_input in;
    struct handshake_result result;
};

struct handshakes {
    pthread_t thread;
    /* `epoll`: the set on which the thread waits. `urgent`: the set of the urgent handshakes, which
     * is also a member of `epoll`. */
    int epoll, urgent;
    int stop; /* eventfd that tells the thread to end */
    /* eventfd, used as a semaphore: each finished handshake adds 1, and each call of on_finished
     * subtracts 1. So the loop thread takes one result in each iteration. */
    int ready;
    struct loop_watch *watch;
    /* guards `pending`, `finished`, and the members `list` and `cancelled` of each handshake */
    pthread_mutex_t lock;
    struct handshake_list pending, finished;
};

static void put(struct handshake_list *list, struct handshake *h)
{
    TAILQ_INSERT_TAIL(list, h, entry);
    h->list = list;
}

static void take(struct handshake *h)
{
    TAILQ_REMOVE(h->list, h, entry);
    h->list = NULL;
}

static void handshake_free(struct handshake *h)
{
    caller_unref(h->result.caller);
    SSL_free(h->result.ssl);
    if (h->result.fd >= 0)
        close(h->result.fd);
    SSL_CTX_free(h->in.context);
    free(h);
}

/* ---- on the thread --------------------------------------------------------------------------- */

static bool make_ssl(struct handshake *h)
{
    h->result.ssl = SSL_new(h->in.context);
    return h->result.ssl != NULL && SSL_set_fd(h->result.ssl, h->result.fd) == 1;
}

static int epoll_of(const struct handshake *h)
{
    return h->in.urgent ? h->set->urgent : h->set->epoll;
}

/* Continues a handshake. Returns the epoll event that the handshake needs next; 0: it has ended. */
static uint32_t advance(struct handshake *h)
{
    struct handshake_result *r = &h->result;
    ERR_clear_error();
    int status = r->ssl != NULL || make_ssl(h) ? SSL_accept(r->ssl) : 0;
    int reason = r->ssl != NULL ? SSL_get_error(r->ssl, status) : SSL_ERROR_SSL;
    if (status != 1 && reason == SSL_ERROR_WANT_READ)
        return EPOLLIN;
    if (status != 1 && reason == SSL_ERROR_WANT_WRITE)
        return EPOLLOUT;
    r->error = ERR_peek_error();
    if (status == 1)
        r->complete = caller_of_tls(r->ssl, r->fd, &r->caller) == FAB_OK;
    else if (r->ssl != NULL)
        (void)caller_refused(r->ssl, r->fd, &r->caller);
    ERR_clear_error();
    return 0;
}

/* Takes the handshake `wanted`, for which epoll has reported an event, from the list `pending`.
 * Returns NULL if the loop thread has cancelled `wanted` meanwhile. If the memory of `wanted`
 * already belongs to a newer handshake, returns the newer one. This does no harm: if no bytes have
 * arrived for the newer handshake, the thread goes on waiting for them. */
static struct handshake *take_pending(struct handshakes *set, const void *wanted)
{
    struct handshake *h;
    pthread_mutex_lock(&set->lock);
    TAILQ_FOREACH (h, &set->pending, entry)
        if (h == wanted)
            break;
    if (h != NULL)
        take(h);
    pthread_mutex_unlock(&set->lock);
    return h;
}

/* Puts a handshake into the list `finished` if it has ended, otherwise into `pending`. If the loop
 * thread has cancelled it meanwhile, frees it instead. */
static void put_back(struct handshakes *set, struct handshake *h, bool ended)
{
    const uint64_t one = 1;
    pthread_mutex_lock(&set->lock);
    bool cancelled = h->cancelled;
    if (!cancelled)
        put(ended ? &set->finished : &set->pending, h);
    pthread_mutex_unlock(&set->lock);
    if (cancelled)
        handshake_free(h);
    else if (ended && write(set->ready, &one, sizeof one) < 0)
        abort(); /* impossible: the counter of an eventfd has 64 bits */
}

static void run(struct handshakes *set, struct handshake *h)
{
    uint32_t wanted = advance(h);
    struct epoll_event e = {.events = wanted | EPOLLONESHOT, .data.ptr = h};
    /* The thread owns the handshake now, so the loop thread cannot have closed its descriptor
     * `fd`. */
    if (wanted != 0 && epoll_ctl(epoll_of(h), EPOLL_CTL_MOD, h->result.fd, &e) < 0)
        wanted = 0;
    else if (wanted == 0)
        epoll_ctl(epoll_of(h), EPOLL_CTL_DEL, h->result.fd, NULL);
    put_back(set, h, wanted == 0);
}

static void *run_handshakes(void *ctx)
{
    struct handshakes *set = ctx;
    thread_set_name("fabricd-tls");
    /* this thread runs only while the loop thread and other programs leave CPU time unused */
    thread_set_background();
    for (;;) {
        struct epoll_event e;
        int count = epoll_wait(set->urgent, &e, 1, 0);
        if (count < 1)
            count = epoll_wait(set->epoll, &e, 1, -1);
        if (count == 1 && e.data.ptr == &set->stop)
            return NULL;
        /* If the event is about the set `urgent` itself, its pointer is the address of set->urgent.
         * take_pending does not find it in the list, and returns NULL. */
        struct handshake *h = count == 1 ? take_pending(set, e.data.ptr) : NULL;
        if (h != NULL)
            run(set, h);
    }
}

/* ---- on the loop thread ---------------------------------------------------------------------- */

static void on_finished(void *ctx)
{
    struct handshakes *set = ctx;
    uint64_t count;
    if (read(set->ready, &count, sizeof count) < 0)
        return;
    pthread_mutex_lock(&set->lock);
    struct handshake *h = TAILQ_FIRST(&set->finished);
    if (h != NULL)
        take(h);
    pthread_mutex_unlock(&set->lock);
    if (h == NULL) /* the loop thread has cancelled the handshake after it ended */
        return;
    h->in.done(h->in.ctx, &h->result);
    if (h->result.complete) {
        h->result.ssl = NULL;
        h->result.fd = -1;
    }
    handshake_free(h);
}

int handshake_begin(struct handshakes *set, const struct handshake_input *in,
                    struct handshake **ret)
{
    struct handshake *h = calloc(1, sizeof *h);
    struct epoll_event e = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = h};
    if (h == NULL || SSL_CTX_up_ref(in->context) != 1) {
        free(h);
        close(in->fd);
        return FAB_E_NOMEM;
    }
    *h = (struct handshake){.set = set, .in = *in, .result.fd = in->fd};
    pthread_mutex_lock(&set->lock);
    put(&set->pending, h);
    pthread_mutex_unlock(&set->lock);
    if (epoll_ctl(epoll_of(h), EPOLL_CTL_ADD, in->fd, &e) < 0) {
        handshake_cancel(h);
        return FAB_E_NOMEM;
    }
    *ret = h;
    return FAB_OK;
}

void handshake_cancel(struct handshake *h)
{
    struct handshakes *set = h != NULL ? h->set : NULL;
    if (h == NULL)
        return;
    pthread_mutex_lock(&set->lock);
    bool idle = h->list != NULL;
    if (idle)
        take(h);
    else
        h->cancelled = true;
    pthread_mutex_unlock(&set->lock);
    if (idle)
        handshake_free(h);
}

/* ---- starting and stopping ------------------------------------------------------------------- */

static int open_descriptors(struct handshakes *set)
{
    struct epoll_event stop = {.events = EPOLLIN, .data.ptr = &set->stop};
    struct epoll_event urgent = {.events = EPOLLIN, .data.ptr = &set->urgent};
    set->epoll = epoll_create1(EPOLL_CLOEXEC);
    set->urgent = epoll_create1(EPOLL_CLOEXEC);
    set->stop = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    set->ready = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC | EFD_SEMAPHORE);
    return set->ready >= 0 && epoll_ctl(set->epoll, EPOLL_CTL_ADD, set->stop, &stop) == 0 &&
                   epoll_ctl(set->epoll, EPOLL_CTL_ADD, set->urgent, &urgent) == 0
               ? FAB_OK
               : FAB_E_NOMEM;
}

static void close_descriptors(struct handshakes *set)
{
    const int fds[] = {set->epoll, set->urgent, set->stop, set->ready};
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

static void discard(struct handshake_list *list)
{
    for (struct handshake *h; (h = TAILQ_FIRST(list)) != NULL;) {
        take(h);
        handshake_free(h);
    }
}

int handshakes_new(struct loop *loop, struct handshakes **ret)
{
    struct handshakes *set = calloc(1, sizeof *set);
    if (set == NULL)
        return FAB_E_NOMEM;
    TAILQ_INIT(&set->pending);
    TAILQ_INIT(&set->finished);
    pthread_mutex_init(&set->lock, NULL);
    int rc = open_descriptors(set);
    set->watch = rc == FAB_OK ? loop_watch_read(loop, set->ready, on_finished, set) : NULL;
    if (set->watch == NULL || thread_start(&set->thread, run_handshakes, set) != 0) {
        loop_watch_free(set->watch);
        close_descriptors(set);
        pthread_mutex_destroy(&set->lock);
        free(set);
        return FAB_E_NOMEM;
    }
    *ret = set;
    return FAB_OK;
}

void handshakes_free(struct handshakes *set)
{
    const uint64_t one = 1;
    if (set == NULL)
        return;
    if (write(set->stop, &one, sizeof one) < 0)
        abort();
    pthread_join(set->thread, NULL);
    loop_watch_free(set->watch);
    discard(&set->pending);
    discard(&set->finished);
    close_descriptors(set);
    pthread_mutex_destroy(&set->lock);
    free(set);
}
