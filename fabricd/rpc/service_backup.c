/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements Backup. A separate thread writes the encrypted backup to a file without a name in the
 * state directory. Such a file vanishes if the call ends early or the manager is killed. The loop
 * thread then sends the file in pieces; it reads a piece only when the client has taken the
 * previous piece. A backup of any size therefore needs only the memory of one piece.
 *
 * The client sends a key that it derived from its passphrase with scrypt. The manager therefore
 * needs no memory for scrypt. It never has the passphrase, which may also open other backups.
 */
#include <errno.h>
#include <openssl/crypto.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabric/v1/backup.pb-c.h"
#include "fabricd/loop/worker.h"
#include "fabricd/rpc/limits.h"
#include "fabricd/rpc/server.h"
#include "fabricd/store/backup.h"
#include "fabricd/store/counters.h"
#include "libfabmgr/base/status.h"

#define PIECE (64u << 10)

struct backup {
    struct rpc *rpc;
    /* the call that gets the backup; NULL: it has ended. Only the loop thread uses this member. */
    struct call *call;
    struct worker *worker;
    /* Ends the call if the client takes no piece for RPC_STALL_US. Otherwise a client that does not
     * read would prevent other backups, because only one backup is made at a time. */
    struct loop_timer *stall;
    atomic_bool stop;
    struct store_backup_key key;
    /* results of the thread that writes the file */
    int status;
    int fd; /* the encrypted file; -1: there is none */
    struct store_backup_result result;
    char why[600];
    uint64_t size, sent;
};

static void backup_free(struct backup *b)
{
    atomic_store(&b->stop, true);
    worker_free(b->worker);
    loop_timer_free(b->stall);
    if (b->fd >= 0)
        close(b->fd);
    OPENSSL_cleanse(&b->key, sizeof b->key);
    b->rpc->backup = NULL;
    free(b);
}

void backup_end(struct rpc *r)
{
    if (r->backup != NULL)
        backup_free(r->backup);
}

/* ---- making the file ------------------------------------------------------------------------- */

static bool is_stopped(void *ctx)
{
    struct backup *b = ctx;
    return atomic_load_explicit(&b->stop, memory_order_relaxed);
}

static void work(void *ctx)
{
    struct backup *b = ctx;
    const struct store_backup what = {.dir = b->rpc->in.config->state_dir,
                                      .file = "the backup",
                                      .key = &b->key,
                                      .settings = b->rpc->in.settings_file,
                                      .stopped = is_stopped,
                                      .stop_ctx = b};
    struct stat st;
    b->status = store_backup_unnamed(&what, &b->result, &b->fd, b->why, sizeof b->why);
    if (b->status == FAB_OK && fstat(b->fd, &st) != 0) {
        b->status = FAB_E_IO;
        snprintf(b->why, sizeof b->why, "%s", strerror(errno));
    }
    b->size = b->status == FAB_OK ? (uint64_t)st.st_size : 0;
    OPENSSL_cleanse(&b->key, sizeof b->key);
}

/* ---- sending it ------------------------------------------------------------------------------ */

static void forget(struct call *c, void *data)
{
    (void)c;
    backup_free(data);
}

/* Reads the next piece of the file. The piece is empty only at the end of the file. Returns OK or
 * IO. */
static int read_piece(struct backup *b, uint8_t piece[PIECE], size_t *ret_len)
{
    ssize_t n;
    do {
        n = read(b->fd, piece, PIECE);
    } while (n < 0 && errno == EINTR);
    if (n < 0 || (n == 0 && b->sent < b->size))
        return FAB_E_IO;
    *ret_len = (size_t)n;
    b->sent += (uint64_t)n;
    return FAB_OK;
}

/* Returns the size of the history of counters; 0: the manager keeps none. */
static uint64_t history_bytes(const struct rpc *r)
{
    struct counters_health health;
    if (r->in.history == NULL)
        return 0;
    counters_get_health(r->in.history, &health);
    return health.bytes;
}

static int send_piece(struct backup *b)
{
    uint8_t piece[PIECE];
    Fabric__V1__BackupResponse m = FABRIC__V1__BACKUP_RESPONSE__INIT;
    int rc = read_piece(b, piece, &m.data.len);
    if (rc != FAB_OK) {
        call_finish(b->call, FAB_GRPC_INTERNAL, "the backup in the state directory cannot be read");
        return rc;
    }
    m.data.data = piece;
    m.size = b->size;
    m.time = b->result.made;
    m.files = b->result.files;
    m.has_settings = b->result.settings;
    m.history_bytes = history_bytes(b->rpc);
    return call_send(b->call, &m.base); /* call_send finishes the call if it fails */
}

static void drain(struct call *c, void *data)
{
    struct backup *b = data;
    loop_timer_set(b->stall, RPC_STALL_US);
    int rc = send_piece(b);
    if (rc == FAB_OK && b->sent < b->size)
        return;
    if (rc == FAB_OK)
        call_finish(c, FAB_GRPC_OK, NULL);
    backup_free(b);
}

static void on_stall(void *ctx)
{
    struct backup *b = ctx;
    call_finish(b->call, FAB_GRPC_ABORTED, "the client took nothing of the backup for %llu seconds",
                RPC_STALL_US / 1000000);
    backup_free(b);
}

static void on_made(void *ctx)
{
    static const struct call_hooks hooks = {.gone = forget, .drain = drain};
    struct backup *b = ctx;
    char text[100];
    worker_free(b->worker);
    b->worker = NULL;
    if (b->call == NULL || b->status != FAB_OK) {
        if (b->call != NULL)
            call_finish(b->call, fab_grpc_code_of(b->status), "no backup was made: %s", b->why);
        backup_free(b);
        return;
    }
    snprintf(text, sizeof text, "%u files, %llu bytes", b->result.files,
             (unsigned long long)b->size);
    call_audit_change(b->call, NULL, text);
    /* The audit log must have a row before the client gets the first piece. */
    call_audit_object(b->call, "backup of %s", b->result.made);
    loop_timer_set(b->stall, RPC_STALL_US);
    call_later(b->call, &hooks, b);
    call_kick(b->call);
}

/* Called if the call ends early. Does not free `data`, because the worker thread still uses it;
 * on_made frees it. */
static void forget_call(struct call *c, void *data)
{
    (void)c;
    struct backup *b = data;
    b->call = NULL;
    atomic_store(&b->stop, true);
}

/* ---- the method ------------------------------------------------------------------------------ */

/* Returns false if the backup cannot be made; the call is then finished with an error. */
static bool is_possible(struct call *c, const Fabric__V1__BackupRequest *q)
{
    const struct rpc *r = call_rpc(c);
    if (r->in.store == NULL)
        call_finish(c, FAB_GRPC_UNIMPLEMENTED, "this manager has no database");
    else if (q->salt.len != STORE_BACKUP_SALT || q->key.len != STORE_BACKUP_KEY)
        call_finish(c, FAB_GRPC_INVALID_ARGUMENT,
                    "salt has %zu bytes and key has %zu bytes, expected %d and %d", q->salt.len,
                    q->key.len, STORE_BACKUP_SALT, STORE_BACKUP_KEY);
    else if (r->backup != NULL)
        call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED,
                    "another backup is being made or sent; try again when it is complete");
    else
        return true;
    return false;
}

void make_backup(struct call *c, const void *request)
{
    static const struct call_hooks hooks = {.gone = forget_call};
    const Fabric__V1__BackupRequest *q = request;
    struct rpc *r = call_rpc(c);
    if (!is_possible(c, q))
        return;
    struct backup *b = calloc(1, sizeof *b);
    if (b == NULL) {
        call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED, "the manager is out of memory");
        return;
    }
    static const struct worker_config config = {.name = "fabricd-backup"};
    *b = (struct backup){.rpc = r, .call = c, .fd = -1, .worker = worker_new(r->in.loop, &config)};
    memcpy(b->key.salt, q->salt.data, sizeof b->key.salt);
    memcpy(b->key.key, q->key.data, sizeof b->key.key);
    b->stall = loop_timer_new(r->in.loop, on_stall, b);
    r->backup = b;
    call_later(c, &hooks, b);
    if (b->worker != NULL && b->stall != NULL && worker_add(b->worker, work, on_made, b) == FAB_OK)
        return;
    call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED, "the manager is out of memory");
    backup_free(b);
}
