/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread pool for parallel computations. Its threads sleep until there is work. Each thread takes
 * the next piece of work from a shared counter until no piece is left. The caller works, too, and
 * returns when the last piece is done. A thread that wakes up late finds no piece left, or works on
 * the next computation. */
#include "fabricd/loop/thread_pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "fabricd/base/thread.h"

#define WORKERS_MAX 16

struct helper {
    struct pool *pool;
    pthread_t thread;
    uint32_t worker;
};

struct pool {
    struct fab_pool lent;
    /* [lent.workers] the threads of the pool; the caller's thread counts as helper 0, and helper[0]
     * is not used */
    struct helper helper[WORKERS_MAX];
    /* the caller whose computation the pool runs holds this lock */
    pthread_mutex_t taken;
    pthread_mutex_t lock; /* guards the members below */
    pthread_cond_t wake, idle;
    uint64_t round;
    uint32_t busy; /* number of threads of the pool that are working */
    bool stop;
    /* function that is called for each piece of work */
    fab_pool_task *body;
    void *arg;
    uint32_t count;
    atomic_uint next;
};

static void work(struct pool *c, uint32_t worker)
{
    for (uint32_t i; (i = atomic_fetch_add(&c->next, 1)) < c->count;)
        c->body(c->arg, i, worker);
}

static void *help(void *ctx)
{
    struct helper *h = ctx;
    struct pool *c = h->pool;
    uint64_t seen = 0;
    thread_set_name("fabricd-pool");
    pthread_mutex_lock(&c->lock);
    while (!c->stop) {
        if (c->round == seen) {
            pthread_cond_wait(&c->wake, &c->lock);
            continue;
        }
        seen = c->round;
        c->busy++;
        pthread_mutex_unlock(&c->lock);
        work(c, h->worker);
        pthread_mutex_lock(&c->lock);
        if (--c->busy == 0)
            pthread_cond_signal(&c->idle);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

static void run_together(struct pool *c, uint32_t count, fab_pool_task *body, void *arg)
{
    pthread_mutex_lock(&c->lock);
    /* A thread that woke up late may still look for a piece of the previous computation. It must
     * not see a mixture of that computation's values and the new ones. */
    while (c->busy > 0)
        pthread_cond_wait(&c->idle, &c->lock);
    c->body = body;
    c->arg = arg;
    c->count = count;
    atomic_store(&c->next, 0);
    c->round++;
    pthread_cond_broadcast(&c->wake);
    pthread_mutex_unlock(&c->lock);
    work(c, 0);
    pthread_mutex_lock(&c->lock);
    while (c->busy > 0)
        pthread_cond_wait(&c->idle, &c->lock);
    /* A thread that wakes up from now on finds no piece. */
    c->count = 0;
    pthread_mutex_unlock(&c->lock);
}

static void run(void *ctx, uint32_t count, fab_pool_task *body, void *arg)
{
    struct pool *c = ctx;
    if (pthread_mutex_trylock(&c->taken) != 0) {
        fab_base_pool_run(NULL, count, body, arg);
        return;
    }
    run_together(c, count, body, arg);
    pthread_mutex_unlock(&c->taken);
}

struct pool *thread_pool_new(uint32_t workers)
{
    struct pool *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    c->lent = (struct fab_pool){.workers = 1, .run = run, .ctx = c};
    pthread_mutex_init(&c->taken, NULL);
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->wake, NULL);
    pthread_cond_init(&c->idle, NULL);
    for (uint32_t i = 1; i < workers && i < WORKERS_MAX; i++) {
        c->helper[i] = (struct helper){.pool = c, .worker = i};
        if (thread_start(&c->helper[i].thread, help, &c->helper[i]))
            break;
        c->lent.workers++;
    }
    return c;
}

void thread_pool_free(struct pool *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    c->stop = true;
    pthread_cond_broadcast(&c->wake);
    pthread_mutex_unlock(&c->lock);
    for (uint32_t i = 1; i < c->lent.workers; i++)
        pthread_join(c->helper[i].thread, NULL);
    pthread_cond_destroy(&c->idle);
    pthread_cond_destroy(&c->wake);
    pthread_mutex_destroy(&c->lock);
    pthread_mutex_destroy(&c->taken);
    free(c);
}

const struct fab_pool *thread_pool_lend(const struct pool *c)
{
    return c ? &c->lent : NULL;
}

uint32_t thread_pool_size(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : count > WORKERS_MAX ? WORKERS_MAX : (uint32_t)count;
}
