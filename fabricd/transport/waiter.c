/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread of a waiter (waiter.h). An eventfd tells the loop that a MAD has arrived. A semaphore
 * tells the thread that the loop has read all MADs. */
#include "fabricd/transport/waiter.h"

#include <errno.h>
#include <infiniband/umad.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fabricd/base/thread.h"

/* interval in ms in which the thread checks whether it must stop */
#define POLL_MS 200

struct waiter {
    int umad_port;
    int fd;
    sem_t armed;
    atomic_bool stop;
    pthread_t thread;
};

static void *wait_for_mads(void *ctx)
{
    struct waiter *w = ctx;
    const uint64_t one = 1;
    thread_set_name("fabricd-umad");
    for (;;) {
        while (sem_wait(&w->armed))
            ;
        while (!atomic_load(&w->stop) && umad_poll(w->umad_port, POLL_MS))
            ;
        if (atomic_load(&w->stop) || write(w->fd, &one, sizeof(one)) < 0)
            return NULL;
    }
}

struct waiter *waiter_new(int umad_port)
{
    struct waiter *w = calloc(1, sizeof(*w));
    if (!w)
        return NULL;
    w->umad_port = umad_port;
    sem_init(&w->armed, 0, 1);
    w->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (w->fd < 0 || thread_start(&w->thread, wait_for_mads, w)) {
        if (w->fd >= 0)
            close(w->fd);
        sem_destroy(&w->armed);
        free(w);
        return NULL;
    }
    return w;
}

void waiter_free(struct waiter *w)
{
    if (!w)
        return;
    atomic_store(&w->stop, true);
    sem_post(&w->armed);
    pthread_join(w->thread, NULL);
    close(w->fd);
    sem_destroy(&w->armed);
    free(w);
}

int waiter_fd(const struct waiter *w)
{
    return w->fd;
}

void waiter_rearm(struct waiter *w)
{
    uint64_t count;
    if (read(w->fd, &count, sizeof(count)) == sizeof(count))
        sem_post(&w->armed);
}
