/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A tape: a file that a separate thread writes (tape.h). The caller fills buffers, and the thread
 * writes them to the file and returns them empty. If the thread is too slow, the caller allocates
 * more buffers, at most MOST_PIECES. After a failed write, the thread writes nothing more and
 * discards all buffers.
 */
#include "fabricd/transport/tape.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabricd/base/thread.h"
#include "libfabmgr/base/status.h"

/* maximum number of buffers; 64 MiB in all */
#define MOST_PIECES 256

struct piece {
    struct piece *next;
    size_t used;
    uint8_t bytes[TAPE_PIECE];
};
struct tape {
    int fd;
    /* the buffer that the caller is filling; NULL: none */
    struct piece *filling;
    unsigned made;
    pthread_t thread;
    pthread_mutex_t lock; /* guards the members below */
    pthread_cond_t wake;
    struct piece *first, *last, *empty;
    bool end;
    int error;
};

static int write_all(int fd, const uint8_t *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, bytes, len);
        if (n < 0 && errno != EINTR)
            return errno;
        bytes += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* Called by the thread. Waits until the queue has a full buffer, and returns the buffer. NULL: the
 * queue is empty and the thread must end. The caller holds the lock. */
static struct piece *await_piece(struct tape *t)
{
    while (!t->first && !t->end)
        pthread_cond_wait(&t->wake, &t->lock);
    struct piece *p = t->first;
    if (p)
        t->first = p->next;
    if (!t->first)
        t->last = NULL;
    return p;
}

static void *write_pieces(void *ctx)
{
    struct tape *t = ctx;
    struct piece *p;
    thread_set_name("fabricd-record");
    pthread_mutex_lock(&t->lock);
    while ((p = await_piece(t))) {
        int error = t->error;
        pthread_mutex_unlock(&t->lock);
        if (!error)
            error = write_all(t->fd, p->bytes, p->used);
        pthread_mutex_lock(&t->lock);
        t->error = error;
        p->next = t->empty;
        t->empty = p;
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

static int status_of(int error)
{
    return error == ENOENT ? FAB_E_NOT_FOUND : error == EACCES ? FAB_E_DENIED : FAB_E_IO;
}

/* Creates a file that only this user can read, because a recording has keys. If a file with this
 * name exists and other users have access to it, the function replaces it by a new file, because
 * one of them may have the old file open. */
static int open_private(const char *path)
{
    struct stat st;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || (st.st_mode & 077) == 0)
        return fd;
    close(fd);
    if (unlink(path) != 0)
        return -1;
    return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

int tape_open(const char *path, struct tape **ret, char *why, size_t why_len)
{
    struct tape *t = calloc(1, sizeof(*t));
    if (!t) {
        snprintf(why, why_len, "out of memory");
        return FAB_E_NOMEM;
    }
    int error = 0;
    t->fd = open_private(path);
    if (t->fd < 0)
        error = errno;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->wake, NULL);
    if (!error)
        error = thread_start(&t->thread, write_pieces, t);
    if (error) {
        snprintf(why, why_len, "%s: cannot record: %s", path, strerror(error));
        if (t->fd >= 0)
            close(t->fd);
        free(t);
        return status_of(error);
    }
    *ret = t;
    return FAB_OK;
}

/* Returns an empty buffer: one that the thread has written, or a new one. Returns NULL if a write
 * failed, if there are MOST_PIECES buffers, or if memory ran out. */
static struct piece *take_empty(struct tape *t)
{
    pthread_mutex_lock(&t->lock);
    struct piece *p = t->empty;
    bool good = t->error == 0;
    if (good && p)
        t->empty = p->next;
    pthread_mutex_unlock(&t->lock);
    if (!good)
        return NULL;
    if (!p && t->made < MOST_PIECES && (p = malloc(sizeof(*p))))
        t->made++;
    if (p)
        p->used = 0;
    return p;
}

uint8_t *tape_room(struct tape *t, size_t n)
{
    if (t->filling && t->filling->used + n > TAPE_PIECE)
        tape_flush(t);
    if (!t->filling)
        t->filling = take_empty(t);
    return t->filling ? t->filling->bytes + t->filling->used : NULL;
}

void tape_advance(struct tape *t, size_t n)
{
    t->filling->used += n;
}

void tape_flush(struct tape *t)
{
    struct piece *p = t->filling;
    if (!p || !p->used)
        return;
    t->filling = NULL;
    p->next = NULL;
    pthread_mutex_lock(&t->lock);
    *(t->last ? &t->last->next : &t->first) = p;
    t->last = p;
    pthread_cond_signal(&t->wake);
    pthread_mutex_unlock(&t->lock);
}

int tape_error(struct tape *t)
{
    pthread_mutex_lock(&t->lock);
    int error = t->error;
    pthread_mutex_unlock(&t->lock);
    return error;
}

static void free_pieces(struct piece *p)
{
    while (p) {
        struct piece *next = p->next;
        free(p);
        p = next;
    }
}

int tape_close(struct tape *t)
{
    if (!t)
        return 0;
    tape_flush(t);
    pthread_mutex_lock(&t->lock);
    t->end = true;
    pthread_cond_signal(&t->wake);
    pthread_mutex_unlock(&t->lock);
    pthread_join(t->thread, NULL);
    int error = t->error;
    if (close(t->fd) != 0 && !error)
        error = errno;
    free_pieces(t->empty);
    free(t->filling);
    pthread_mutex_destroy(&t->lock);
    pthread_cond_destroy(&t->wake);
    free(t);
    return error;
}
