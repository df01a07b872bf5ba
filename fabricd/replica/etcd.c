/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls etcd's services KV and Watch (proto/etcd/etcd.proto) with the client of libfabmgr. The
 * server is not trusted: keys and values with NUL bytes are ignored, and the client limits the size
 * of replies.
 */
#include "fabricd/replica/etcd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"

/* time limit in ms for the connection, and for each call; the etcd servers need about a second to
 * elect their leader */
#define CALL_MS 1000
#define PAGE 1000

void etcd_init(struct etcd *e, const struct config_replication *config)
{
    *e = (struct etcd){.config = config};
    pthread_mutex_init(&e->mutex, NULL);
}

static void set_client(struct etcd *e, struct fab_client *client)
{
    pthread_mutex_lock(&e->mutex);
    struct fab_client *old = e->client;
    e->client = client;
    pthread_mutex_unlock(&e->mutex);
    fab_client_close(old);
}

void etcd_fini(struct etcd *e)
{
    set_client(e, NULL);
    pthread_mutex_destroy(&e->mutex);
}

void etcd_interrupt(struct etcd *e)
{
    pthread_mutex_lock(&e->mutex);
    if (e->client != NULL)
        fab_client_interrupt(e->client);
    pthread_mutex_unlock(&e->mutex);
}

void etcd_end(struct etcd *e)
{
    pthread_mutex_lock(&e->mutex);
    e->ended = true;
    pthread_mutex_unlock(&e->mutex);
    etcd_interrupt(e);
}

const char *etcd_endpoint(const struct etcd *e)
{
    return e->config->endpoint[e->at];
}

/* Closes the connection after a failure, so that the next call uses the next server. why: the
 * reason for the failure. Returns IO. */
static int fail(struct etcd *e, const char *why)
{
    snprintf(e->why, sizeof(e->why), "%s", why);
    set_client(e, NULL);
    e->at = (e->at + 1) % e->config->endpoints;
    return FAB_E_IO;
}

static int connect_if_needed(struct etcd *e)
{
    const struct config_replication *c = e->config;
    const struct fab_client_options options = {.address = etcd_endpoint(e),
                                               .ca = c->ca,
                                               .cert = c->cert,
                                               .key = c->key,
                                               .server_name = c->server_name,
                                               .timeout_ms = CALL_MS};
    struct fab_client_error error;
    struct fab_client *client = NULL;
    if (e->client == NULL) {
        if (fab_client_open(&options, &client, &error) != FAB_GRPC_OK)
            return fail(e, error.message);
        set_client(e, client);
    }
    pthread_mutex_lock(&e->mutex);
    bool ended = e->ended;
    pthread_mutex_unlock(&e->mutex);
    return ended ? fail(e, "the manager is stopping") : FAB_OK;
}

static int call(struct etcd *e, const char *method, const ProtobufCMessage *request,
                const ProtobufCMessageDescriptor *type, void *ret)
{
    struct fab_client_error error;
    ProtobufCMessage *reply = NULL;
    int status = connect_if_needed(e);
    if (status != FAB_OK)
        return status;
    if (fab_client_call(e->client, method, request, type, &reply, &error) != FAB_GRPC_OK)
        return fail(e, error.message);
    *(ProtobufCMessage **)ret = reply;
    return FAB_OK;
}

static ProtobufCBinaryData bytes_of(const char *text)
{
    return (ProtobufCBinaryData){strlen(text), (uint8_t *)(uintptr_t)text};
}

/* Returns a copy of the bytes as a string, which the caller frees; NULL: the bytes contain a NUL,
 * or there is no memory. */
static char *text_of(const ProtobufCBinaryData *b)
{
    return b->len == 0 || memchr(b->data, 0, b->len) == NULL
               ? strndup(b->len > 0 ? (const char *)b->data : "", b->len)
               : NULL;
}

static void note_revision(struct etcd *e, const Etcdserverpb__ResponseHeader *h)
{
    if (h != NULL)
        e->revision = h->revision;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int range(struct etcd *e, const Etcdserverpb__RangeRequest *q,
                 Etcdserverpb__RangeResponse **ret)
{
    int status =
        call(e, "etcdserverpb.KV/Range", &q->base, &etcdserverpb__range_response__descriptor, ret);
    if (status == FAB_OK)
        note_revision(e, (*ret)->header);
    return status;
}

int etcd_get(struct etcd *e, const char *key, char **ret_value, int64_t *ret_mod_revision)
{
    Etcdserverpb__RangeRequest q = ETCDSERVERPB__RANGE_REQUEST__INIT;
    Etcdserverpb__RangeResponse *m = NULL;
    q.key = bytes_of(key);
    int status = range(e, &q, &m);
    if (status != FAB_OK)
        return status;
    bool found = m->n_kvs > 0;
    *ret_value = found ? text_of(&m->kvs[0]->value) : NULL;
    *ret_mod_revision = found ? m->kvs[0]->mod_revision : 0;
    etcdserverpb__range_response__free_unpacked(m, NULL);
    return FAB_OK;
}

static int pass(const Etcdserverpb__KeyValue *kv, bool deleted, etcd_each *each, void *ctx)
{
    char *key = text_of(&kv->key), *value = deleted ? NULL : text_of(&kv->value);
    int status = key != NULL && (deleted || value != NULL) ? each(ctx, key, value, kv->mod_revision)
                                                           : FAB_OK;
    free(key);
    free(value);
    return status;
}

/* Returns the end of the range of all keys that begin with `prefix`: the prefix with its last byte
 * increased by one. None of our prefixes ends with the byte 0xff. */
static ProtobufCBinaryData end_of(const char *prefix, char *buffer, size_t len)
{
    snprintf(buffer, len, "%s", prefix);
    buffer[strlen(buffer) - 1]++;
    return bytes_of(buffer);
}

int etcd_list(struct etcd *e, const char *prefix, etcd_each *each, void *ctx, int64_t *ret_revision)
{
    char end[300];
    Etcdserverpb__RangeRequest q = ETCDSERVERPB__RANGE_REQUEST__INIT;
    char *from = strdup(prefix);
    bool more = true;
    int status = from != NULL ? FAB_OK : FAB_E_NOMEM;
    q.range_end = end_of(prefix, end, sizeof(end));
    q.limit = PAGE;
    while (status == FAB_OK && more) {
        Etcdserverpb__RangeResponse *m = NULL;
        q.key = bytes_of(from);
        if ((status = range(e, &q, &m)) != FAB_OK)
            break;
        if (q.revision == 0 && m->header != NULL)
            q.revision = m->header->revision;
        for (size_t i = 0; i < m->n_kvs && status == FAB_OK; i++)
            status = pass(m->kvs[i], false, each, ctx);
        more = m->more && m->n_kvs > 0;
        char *last = more ? text_of(&m->kvs[m->n_kvs - 1]->key) : NULL;
        etcdserverpb__range_response__free_unpacked(m, NULL);
        /* The next page starts at the last key with a byte 1 appended. All keys between these two
         * contain a NUL, and such keys are ignored anyway. */
        if (more) {
            free(from);
            from = last != NULL ? realloc(last, strlen(last) + 2) : NULL;
            status = from != NULL ? status : FAB_E_NOMEM;
            if (from != NULL)
                strcat(from, "\x01");
        }
    }
    free(from);
    *ret_revision = q.revision;
    return status;
}

/* ---- writing --------------------------------------------------------------------------------- */

struct operation {
    Etcdserverpb__RequestOp op;
    union {
        Etcdserverpb__PutRequest put;
        Etcdserverpb__DeleteRangeRequest delete;
    };
};

static void fill(struct operation *o, const struct etcd_change *c)
{
    etcdserverpb__request_op__init(&o->op);
    if (c->value != NULL) {
        etcdserverpb__put_request__init(&o->put);
        o->put.key = bytes_of(c->key);
        o->put.value = bytes_of(c->value);
        o->op.request_case = ETCDSERVERPB__REQUEST_OP__REQUEST_REQUEST_PUT;
        o->op.request_put = &o->put;
    } else {
        etcdserverpb__delete_range_request__init(&o->delete);
        o->delete.key = bytes_of(c->key);
        o->op.request_case = ETCDSERVERPB__REQUEST_OP__REQUEST_REQUEST_DELETE_RANGE;
        o->op.request_delete_range = &o->delete;
    }
}

static void fill_compare(Etcdserverpb__Compare *c, const struct etcd_fence *fence)
{
    etcdserverpb__compare__init(c);
    c->target = ETCDSERVERPB__COMPARE__COMPARE_TARGET__MOD;
    c->key = bytes_of(fence->key);
    c->target_union_case = ETCDSERVERPB__COMPARE__TARGET_UNION_MOD_REVISION;
    c->mod_revision = fence->revision;
}

int etcd_commit(struct etcd *e, const struct etcd_fence *fence, size_t fences,
                const struct etcd_change *change, size_t count, bool *ret_done,
                int64_t *ret_revision)
{
    Etcdserverpb__TxnRequest q = ETCDSERVERPB__TXN_REQUEST__INIT;
    Etcdserverpb__Compare compare[ETCD_FENCES], *compares[ETCD_FENCES];
    struct operation *o = calloc(count, sizeof(*o));
    Etcdserverpb__RequestOp **ops = calloc(count, sizeof(*ops));
    Etcdserverpb__TxnResponse *m = NULL;
    int status = o != NULL && ops != NULL ? FAB_OK : FAB_E_NOMEM;
    for (size_t i = 0; status == FAB_OK && i < count; i++) {
        fill(&o[i], &change[i]);
        ops[i] = &o[i].op;
    }
    for (size_t i = 0; i < fences; i++) {
        fill_compare(&compare[i], &fence[i]);
        compares[i] = &compare[i];
    }
    q.compare = compares;
    q.n_compare = fences;
    q.success = ops;
    q.n_success = count;
    if (status == FAB_OK)
        status =
            call(e, "etcdserverpb.KV/Txn", &q.base, &etcdserverpb__txn_response__descriptor, &m);
    if (status == FAB_OK) {
        note_revision(e, m->header);
        *ret_done = m->succeeded;
        *ret_revision = m->header != NULL ? m->header->revision : 0;
        etcdserverpb__txn_response__free_unpacked(m, NULL);
    }
    free(o);
    free(ops);
    return status;
}

/* ---- watching -------------------------------------------------------------------------------- */

struct watching {
    struct etcd *e;
    etcd_each *each;
    bool (*batch)(void *ctx, int64_t revision);
    void *ctx;
    bool compacted, over;
    int status;
    char why[200];
};

static bool on_response(void *ctx, const ProtobufCMessage *message)
{
    struct watching *w = ctx;
    const Etcdserverpb__WatchResponse *m = (const Etcdserverpb__WatchResponse *)message;
    note_revision(w->e, m->header);
    w->compacted = m->compact_revision != 0;
    if (m->canceled || w->compacted) {
        snprintf(w->why, sizeof(w->why), "etcd ended the watch: %s", m->cancel_reason);
        w->status = FAB_E_IO;
        return false;
    }
    int64_t last = 0;
    for (size_t i = 0; i < m->n_events && w->status == FAB_OK; i++) {
        const Etcdserverpb__Event *event = m->events[i];
        if (event->kv == NULL)
            continue;
        w->status = pass(event->kv, event->type == ETCDSERVERPB__EVENT__EVENT_TYPE__DELETE, w->each,
                         w->ctx);
        last = event->kv->mod_revision;
    }
    if (w->status == FAB_OK && last != 0)
        w->over = !w->batch(w->ctx, last);
    return w->status == FAB_OK && !w->over;
}

int etcd_watch(struct etcd *e, const char *prefix, int64_t revision, etcd_each *each,
               bool (*batch)(void *ctx, int64_t revision), void *ctx, bool *ret_compacted)
{
    char end[300];
    Etcdserverpb__WatchRequest q = ETCDSERVERPB__WATCH_REQUEST__INIT;
    Etcdserverpb__WatchCreateRequest create = ETCDSERVERPB__WATCH_CREATE_REQUEST__INIT;
    struct watching w = {.e = e, .each = each, .batch = batch, .ctx = ctx};
    struct fab_client_error error;
    *ret_compacted = false;
    int status = connect_if_needed(e);
    if (status != FAB_OK)
        return status;
    create.key = bytes_of(prefix);
    create.range_end = end_of(prefix, end, sizeof(end));
    create.start_revision = revision;
    q.request_union_case = ETCDSERVERPB__WATCH_REQUEST__REQUEST_UNION_CREATE_REQUEST;
    q.create_request = &create;
    enum fab_grpc_code code =
        fab_client_stream(e->client, "etcdserverpb.Watch/Watch", &q.base,
                          &etcdserverpb__watch_response__descriptor, on_response, &w, &error);
    *ret_compacted = w.compacted;
    if (code == FAB_GRPC_OK && w.over)
        return FAB_OK;
    return fail(e, w.status != FAB_OK    ? w.why
                   : code != FAB_GRPC_OK ? error.message
                                         : "etcd ended the watch");
}
