/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The server side of gRPC over HTTP/2 (grpc/doc/PROTOCOL-HTTP2.md).
 *
 * A call exists as long as its HTTP/2 stream. When the request headers have arrived, the server
 * accepts or refuses the call. Then it reads one message and passes this message to the method. The
 * method finishes the call at once or, after call_later, at any later time. If the call ends before
 * the method has finished it (call.h says when), the server calls the hook `gone` that the method
 * gave to call_later. A method with `many` (call.h) gets each message of the client, and the server
 * finishes the call after the last one.
 *
 * Messages are never compressed, because answers are small and every client must accept the
 * encoding "identity".
 */
#include "fabricd/rpc/grpc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "fabricd/rpc/audit.h"
#include "fabricd/rpc/caller.h"
#include "fabricd/rpc/h2.h"
#include "fabricd/rpc/limited.h"
#include "fabricd/rpc/limits.h"
#include "fabricd/rpc/majority.h"
#include "libfabmgr/base/status.h"

struct call {
    TAILQ_ENTRY(call) entry;
    struct grpc *grpc;
    struct h2_stream *stream;
    const struct method *method; /* NULL: the server has no such method */
    struct fab_grpc_reader reader;
    uint64_t deadline; /* deadline set by the client; UINT64_MAX: none */
    /* time by which the request must be complete; UINT64_MAX: the request is complete */
    uint64_t request_until;
    const struct call_hooks *hooks;
    void *data;
    unsigned role;
    bool handled, finished;
    /* what the service noted about the call for the audit log; NULL: nothing yet */
    struct notes *notes;
    /* Not NULL: the result of the call waits until its row in the audit log is stored. The result
     * is in `code` and `message` (from malloc, or NULL). */
    struct audit_held *held;
    /* Not NULL: the call waits until this manager can make its decision or, when it is finished,
     * until a majority has confirmed the decision. */
    struct majority_held *confirming;
    uint64_t dropped; /* result of majority_dropped() before the call changed anything */
    enum fab_grpc_code code;
    char *message;
};

/* The notes of a service about a call, for the audit log (call_audit_object, ...). */
struct notes {
    /* number of the call in the audit log; 0: no BEGIN row was stored */
    uint64_t number;
    char object[200], before[200], after[200];
};

struct grpc {
    struct h2 *h2;
    struct grpc_input in;
    /* for the audit log: from where the client connected, such as "unix, pid 812" */
    char source[80];
    uint64_t now;
    /* true: grpc_receive, grpc_tick or grpc_produce is running. Their caller fetches pending bytes
     * afterwards, so `wake` is not called. */
    bool busy;
    TAILQ_HEAD(, call) calls;
};

/* ---- calls, for methods ---------------------------------------------------------------------- */

void *call_context(const struct call *c)
{
    return c->grpc->in.context;
}

struct caller *call_caller(const struct call *c)
{
    return c->grpc->in.caller;
}

const char *call_peer(const struct call *c)
{
    return c->grpc->in.caller->text;
}

unsigned call_role(const struct call *c)
{
    return c->role;
}

void call_set_role(struct call *c, unsigned role)
{
    c->role = role;
}

static void wake(struct grpc *g)
{
    if (!g->busy)
        g->in.wake(g->in.wake_ctx);
}

static void tell_ended(struct call *c, enum fab_grpc_code code)
{
    if (c->grpc->in.access != NULL)
        c->grpc->in.access->ended(c, code);
}

/* ---- the audit log --------------------------------------------------------------------------- */

static struct notes *notes_of(struct call *c)
{
    if (c->notes == NULL)
        c->notes = calloc(1, sizeof *c->notes);
    return c->notes;
}

/* Returns the name of the called method without its service, such as "DisablePort". */
static const char *method_name(const struct call *c)
{
    const char *slash = strrchr(c->stream->request.path, '/');
    return slash != NULL ? slash + 1 : c->stream->request.path;
}

void call_reason(const struct call *c, char ret[RPC_MAX_REASON + 1])
{
    char decoded[RPC_MAX_REASON + 1];
    const char *sent = c->stream->request.reason;
    size_t len = fab_grpc_percent_decode(sent, strlen(sent), decoded, sizeof decoded);
    fab_grpc_utf8_clean(decoded, len, ret, RPC_MAX_REASON + 1);
}

/* Makes a row of the audit log from the data of the call. reason[] receives the decoded header
 * fabric-reason. The row points to reason[], and to texts that are valid until the call ends. */
static struct audit_row row_of(const struct call *c, char reason[RPC_MAX_REASON + 1])
{
    const struct notes *n = c->notes;
    struct audit_row row = {.text = {[AUDIT_ACCOUNT] = call_peer(c),
                                     [AUDIT_SOURCE] = c->grpc->source,
                                     [AUDIT_METHOD] = method_name(c),
                                     [AUDIT_REASON] = reason}};
    call_reason(c, reason);
    if (n != NULL) {
        row.call = n->number;
        row.text[AUDIT_OBJECT] = n->object;
        row.text[AUDIT_BEFORE] = n->before;
        row.text[AUDIT_AFTER] = n->after;
    }
    return row;
}

void call_audit_change(struct call *c, const char *before, const char *after)
{
    struct notes *n = notes_of(c);
    if (n == NULL)
        return;
    before = before != NULL ? before : "";
    after = after != NULL ? after : "";
    fab_grpc_utf8_clean(before, strlen(before), n->before, sizeof n->before);
    fab_grpc_utf8_clean(after, strlen(after), n->after, sizeof n->after);
}

void call_audit_result(struct call *c, const char *after)
{
    struct notes *n = c->method != NULL && c->method->changes ? notes_of(c) : NULL;
    if (n != NULL && n->after[0] == '\0')
        fab_grpc_utf8_clean(after, strlen(after), n->after, sizeof n->after);
}

void call_audit_object(struct call *c, const char *fmt, ...)
{
    char text[sizeof c->notes->object], reason[RPC_MAX_REASON + 1];
    struct audit *a = c->grpc->in.audit;
    struct notes *n = notes_of(c);
    va_list ap;
    if (n == NULL)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    fab_grpc_utf8_clean(text, strlen(text), n->object, sizeof n->object);
    if (a == NULL || n->number != 0 || c->method == NULL || !c->method->changes)
        return;
    n->number = audit_call_number(a);
    struct audit_row row = row_of(c, reason);
    audit_begin(a, &row);
}

/* Returns true if the audit log must have a row about a call that ends with this code. */
static bool is_recorded(const struct call *c, enum fab_grpc_code code)
{
    return c->grpc->in.audit != NULL &&
           ((c->method != NULL && c->method->changes) || code == FAB_GRPC_PERMISSION_DENIED ||
            code == FAB_GRPC_UNAUTHENTICATED);
}

static struct audit_held *record(struct call *c, enum fab_grpc_code code, const char *message,
                                 audit_stored *done)
{
    char reason[RPC_MAX_REASON + 1];
    struct audit_row row = row_of(c, reason);
    row.result = (uint32_t)code;
    /* `message` is valid UTF-8, because call_finish has replaced all other bytes */
    row.text[AUDIT_MESSAGE] = message;
    return audit_end(c->grpc->in.audit, &row, done, c);
}

/* ---- the end of a call ----------------------------------------------------------------------- */

static void send_result(struct call *c, enum fab_grpc_code code, const char *message)
{
    h2_finish(c->stream, (int)code, message);
    wake(c->grpc);
}

bool call_is_local(const struct call *c)
{
    return strcmp(c->stream->request.local, "yes") == 0;
}

/* Returns true if the call makes a decision that a majority must confirm. Returns false if the
 * client does not need the majority (call_is_local). */
static bool needs_majority(const struct call *c)
{
    return c->grpc->in.majority != NULL && c->method != NULL && c->method->decides &&
           !call_is_local(c);
}

static void send_decided(struct call *c, enum majority_result result)
{
    switch (result) {
    case MAJORITY_CONFIRMED:
        send_result(c, c->code, c->message);
        return;
    case MAJORITY_LATE:
        send_result(c, FAB_GRPC_UNAVAILABLE,
                    "the change was made, but no majority of the etcd servers has confirmed it "
                    "within 2 s; it is sent as soon as they answer, and is lost if another manager "
                    "takes over before; see 'fabricctl ha status'");
        return;
    case MAJORITY_DROPPED:
        send_result(c, FAB_GRPC_UNAVAILABLE,
                    "the change may be lost, because another manager was master meanwhile, and no "
                    "majority of the etcd servers had confirmed the change; see what is in force, "
                    "and repeat the command if necessary");
        return;
    }
}

static void on_confirmed(void *ctx, enum majority_result result)
{
    struct call *c = ctx;
    c->confirming = NULL;
    send_decided(c, result);
}

static void on_stored(void *ctx, bool stored)
{
    struct call *c = ctx;
    enum majority_result result = MAJORITY_CONFIRMED;
    c->held = NULL;
    if (stored && c->code == FAB_GRPC_OK && needs_majority(c))
        c->confirming = majority_wait(c->grpc->in.majority, c->dropped, on_confirmed, c, &result);
    if (c->confirming != NULL)
        return;
    if (stored || c->code != FAB_GRPC_OK)
        send_decided(c, result);
    else
        send_result(c, FAB_GRPC_DATA_LOSS,
                    "the change was made, but the database of the manager cannot be written: a "
                    "restart may undo it; see the log of fabricd");
}

static void finish(struct call *c, enum fab_grpc_code code, const char *message)
{
    if (c->finished)
        return;
    c->finished = true;
    if (c->confirming != NULL)
        majority_forget(c->confirming);
    c->confirming = NULL;
    tell_ended(c, code);
    c->hooks = NULL;
    c->deadline = c->request_until = UINT64_MAX;
    if (is_recorded(c, code)) {
        c->code = code;
        c->message = message != NULL ? strdup(message) : NULL;
        c->held = record(c, code, message, on_stored);
    }
    if (c->held == NULL)
        send_result(c, code, message);
}

void call_finish(struct call *c, enum fab_grpc_code code, const char *fmt, ...)
{
    char text[1024] = "", clean[3 * sizeof text];
    va_list ap;
    va_start(ap, fmt);
    if (fmt != NULL)
        vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    /* The message may contain node names, whose bytes need not be valid UTF-8. */
    fab_grpc_utf8_clean(text, strlen(text), clean, sizeof clean);
    finish(c, code, clean);
}

int call_send(struct call *c, const ProtobufCMessage *message)
{
    size_t len = protobuf_c_message_get_packed_size(message);
    if (c->finished)
        return FAB_E_INVAL;
    if (len > RPC_MAX_REPLY) {
        call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED,
                    "the response has %zu bytes; at most %u are possible; ask for a smaller "
                    "page_size",
                    len, RPC_MAX_REPLY);
        return FAB_E_LIMIT;
    }
    uint8_t *bytes = malloc(FAB_GRPC_PREFIX + len);
    if (bytes == NULL)
        goto fail;
    fab_grpc_prefix(bytes, (uint32_t)len);
    protobuf_c_message_pack(message, bytes + FAB_GRPC_PREFIX);
    if (h2_write(c->stream, bytes, FAB_GRPC_PREFIX + len) < 0)
        goto fail;
    wake(c->grpc);
    return FAB_OK;
fail:
    call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED, "the manager is out of memory; ask again later");
    return FAB_E_NOMEM;
}

void call_reply(struct call *c, const ProtobufCMessage *message)
{
    if (call_send(c, message) == FAB_OK)
        finish(c, FAB_GRPC_OK, NULL);
}

void call_later(struct call *c, const struct call_hooks *hooks, void *data)
{
    if (c->finished)
        return;
    c->hooks = hooks;
    c->data = data;
    if (hooks->drain != NULL)
        h2_start(c->stream);
}

void call_kick(struct call *c)
{
    h2_resume(c->stream);
    wake(c->grpc);
}

/* ---- calls that end before their method finishes them ---------------------------------------- */

static void tell_gone(struct call *c)
{
    const struct call_hooks *hooks = c->hooks;
    c->hooks = NULL;
    if (hooks != NULL)
        hooks->gone(c, c->data);
}

static void abandon(struct call *c, enum fab_grpc_code code, const char *message)
{
    tell_gone(c);
    finish(c, code, message);
}

/* ---- requests -------------------------------------------------------------------------------- */

static const struct service *find_service(const struct grpc *g, const char *name, size_t len)
{
    for (const struct service *const *s = g->in.services; *s != NULL; s++)
        if (strlen((*s)->name) == len && memcmp((*s)->name, name, len) == 0)
            return *s;
    return NULL;
}

/* Finds the method that the path of a request names, such as "/fabric.v1.FabricService/GetStatus".
 * Returns NULL if there is no such method. */
static const struct method *find_method(const struct grpc *g, const char *path,
                                        const struct service **ret_service)
{
    const char *slash = path[0] == '/' ? strchr(path + 1, '/') : NULL;
    if (slash == NULL)
        return NULL;
    const struct service *s = find_service(g, path + 1, (size_t)(slash - path - 1));
    *ret_service = s;
    for (size_t i = 0; s != NULL && i < s->method_count; i++)
        if (strcmp(s->methods[i].name, slash + 1) == 0)
            return &s->methods[i];
    return NULL;
}

static bool is_grpc(const char *content_type)
{
    static const char grpc[] = "application/grpc";
    if (strncmp(content_type, grpc, sizeof grpc - 1) != 0)
        return false;
    const char *rest = content_type + sizeof grpc - 1;
    return *rest == '\0' || *rest == ';' || strcmp(rest, "+proto") == 0;
}

static int http_problem(const struct h2_request *r)
{
    if (strcmp(r->method, "POST") != 0)
        return 405;
    return is_grpc(r->content_type) ? 0 : 415;
}

static void set_deadline(struct call *c, const char *timeout)
{
    uint64_t us;
    if (timeout[0] == '\0')
        return;
    if (fab_grpc_timeout_parse(timeout, &us) < 0)
        call_finish(
            c, FAB_GRPC_INVALID_ARGUMENT,
            "grpc-timeout \"%s\" is not valid; up to 8 digits and one of H M S m u n are expected",
            timeout);
    else
        c->deadline = c->grpc->now + us;
}

static bool is_over_share(const struct call *c)
{
    const unsigned *calls = c->grpc->in.calls;
    return calls != NULL && *calls > RPC_MAX_CLIENT_CALLS;
}

static void refuse_share(struct call *c)
{
    limited_note(c->grpc->in.limited, CALL_LIMIT_CALLS, call_peer(c));
    call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED,
                "refused: %s already has %u calls in progress, the limit of one client; wait for "
                "their answers, or end streams that are not needed",
                call_peer(c), RPC_MAX_CLIENT_CALLS);
}

static void check_request(struct call *c, const struct h2_request *r)
{
    const struct grpc_access *access = c->grpc->in.access;
    const struct service *service;
    c->method = find_method(c->grpc, r->path, &service);
    if (c->method != NULL && access != NULL)
        access->admit(c, service, c->method);
    if (c->method != NULL && c->method->large)
        c->reader.max = RPC_MAX_LARGE_REQUEST;
    if (is_over_share(c))
        refuse_share(c);
    else if (c->method == NULL)
        call_finish(c, FAB_GRPC_UNIMPLEMENTED, "there is no method %s on this server", r->path);
    else if (r->encoding[0] != '\0' && strcmp(r->encoding, "identity") != 0)
        call_finish(
            c, FAB_GRPC_UNIMPLEMENTED,
            "not supported: requests compressed with \"%s\"; send them uncompressed (identity)",
            r->encoding);
    else if (strcmp(r->reason, "?") == 0)
        call_finish(c, FAB_GRPC_INVALID_ARGUMENT,
                    "fabric-reason has more than %u bytes with its percent-encoding, or is only "
                    "\"?\"; a short sentence is expected",
                    RPC_MAX_REASON);
    else
        set_deadline(c, r->timeout);
}

static void on_open(void *ctx, struct h2_stream *s)
{
    struct grpc *g = ctx;
    int http_status = http_problem(&s->request);
    struct call *c = http_status == 0 ? calloc(1, sizeof *c) : NULL;
    if (c == NULL) {
        h2_refuse(s, http_status != 0 ? http_status : 503);
        return;
    }
    c->grpc = g;
    c->stream = s;
    c->deadline = UINT64_MAX;
    c->request_until = g->now + RPC_REQUEST_US;
    fab_grpc_reader_init(&c->reader, RPC_MAX_REQUEST);
    s->user = c;
    TAILQ_INSERT_TAIL(&g->calls, c, entry);
    if (g->in.calls != NULL)
        ++*g->in.calls;
    check_request(c, &s->request);
}

static void handle(struct call *c);

static void refuse_new_master(struct call *c)
{
    call_finish(c, FAB_GRPC_FAILED_PRECONDITION,
                "refused: this manager is a new master, and does not have all decisions of the "
                "former master yet; repeat the command later, or decide for this manager alone "
                "with --local; see 'fabricctl ha status'");
}

static void on_others_known(void *ctx, enum majority_result result)
{
    struct call *c = ctx;
    c->confirming = NULL;
    if (result == MAJORITY_CONFIRMED)
        handle(c);
    else
        refuse_new_master(c);
}

/* Returns true if the method may make its decision now. Otherwise either finishes the call with an
 * error, or waits for the decisions of the former masters and then calls the method. */
static bool can_decide(struct call *c)
{
    struct majority *m = c->grpc->in.majority;
    char why[600];
    c->dropped = majority_dropped(m);
    if (!majority_answers(m, why, sizeof why)) {
        call_finish(c, FAB_GRPC_FAILED_PRECONDITION, "%s", why);
        return false;
    }
    if (majority_can_decide(m))
        return true;
    c->confirming = majority_await_others(m, on_others_known, c);
    if (c->confirming == NULL)
        refuse_new_master(c);
    return false;
}

static void handle(struct call *c)
{
    const struct method *m = c->method;
    if (m->changes && c->grpc->in.audit != NULL && !audit_is_ready(c->grpc->in.audit)) {
        call_finish(c, FAB_GRPC_FAILED_PRECONDITION,
                    "refused: the database of the manager cannot be written, so nothing was "
                    "changed; 'fabricctl status' says why");
        return;
    }
    if (needs_majority(c) && !can_decide(c))
        return;
    if (h2_queued(c->grpc->h2) > RPC_MAX_QUEUED) {
        call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED,
                    "the client has not read the earlier answers on this connection; it must read "
                    "them first");
        return;
    }
    ProtobufCMessage *request =
        protobuf_c_message_unpack(m->request, NULL, c->reader.len, c->reader.body);
    if (request == NULL) {
        call_finish(c, FAB_GRPC_INVALID_ARGUMENT, "the request is not a valid message of type %s",
                    m->request->name);
        return;
    }
    m->handle(c, request);
    protobuf_c_message_free_unpacked(request, NULL);
}

static void on_message(struct call *c)
{
    if (c->handled && !c->method->many) {
        abandon(c, FAB_GRPC_INVALID_ARGUMENT, "this method takes one message, more came");
        return;
    }
    /* If the method takes only one message, do not call it yet: a second message would be an error,
     * so the call waits until the client has ended its stream. */
    c->handled = true;
    if (c->method->many)
        handle(c);
}

static void on_data(void *ctx, struct h2_stream *s, const uint8_t *data, size_t len)
{
    (void)ctx;
    struct call *c = s->user;
    while (c != NULL && !c->finished && len > 0) {
        int rc = c->handled && !c->method->many ? FAB_E_INVAL
                                                : fab_grpc_reader_feed(&c->reader, &data, &len);
        if (rc == FAB_E_UNSUPPORTED)
            abandon(c, FAB_GRPC_UNIMPLEMENTED, "compressed messages are not read");
        else if (rc == FAB_E_LIMIT)
            abandon(c, FAB_GRPC_RESOURCE_EXHAUSTED, "the request is too long");
        else if (rc == FAB_E_NOMEM)
            abandon(c, FAB_GRPC_RESOURCE_EXHAUSTED, "the manager is out of memory");
        else if (rc != 0)
            on_message(c);
    }
}

static void on_end(void *ctx, struct h2_stream *s)
{
    (void)ctx;
    struct call *c = s->user;
    if (c == NULL || c->finished)
        return;
    c->request_until = UINT64_MAX;
    if (!fab_grpc_reader_idle(&c->reader))
        abandon(c, FAB_GRPC_INVALID_ARGUMENT, "the request ends in the middle of a message");
    else if (c->method->many)
        finish(c, FAB_GRPC_OK, NULL);
    else if (c->handled)
        handle(c);
    else
        abandon(c, FAB_GRPC_INVALID_ARGUMENT, "the request has no message");
}

static void on_drain(void *ctx, struct h2_stream *s)
{
    (void)ctx;
    struct call *c = s->user;
    if (c != NULL && c->hooks != NULL && c->hooks->drain != NULL)
        c->hooks->drain(c, c->data);
}

static void on_close(void *ctx, struct h2_stream *s)
{
    struct grpc *g = ctx;
    struct call *c = s->user;
    if (c == NULL)
        return;
    tell_gone(c);
    if (!c->finished)
        tell_ended(c, FAB_GRPC_CANCELLED);
    if (c->confirming != NULL)
        majority_forget(c->confirming);
    if (c->held != NULL)
        audit_forget(c->held);
    else if (!c->finished && c->handled && is_recorded(c, FAB_GRPC_CANCELLED))
        record(c, FAB_GRPC_CANCELLED, "the client left before the result", NULL);
    TAILQ_REMOVE(&g->calls, c, entry);
    if (g->in.calls != NULL)
        --*g->in.calls;
    free(c->notes);
    free(c->message);
    fab_grpc_reader_fini(&c->reader);
    free(c);
}

/* ---- the connection -------------------------------------------------------------------------- */

static void write_source(struct grpc *g)
{
    const struct caller *who = g->in.caller;
    if (who->transport == CALLER_UNIX)
        snprintf(g->source, sizeof g->source, "unix, pid %d", (int)who->pid);
    else if (who->transport == CALLER_TLS)
        snprintf(g->source, sizeof g->source, "tls, %s", who->address);
}

int grpc_new(const struct grpc_input *in, struct grpc **ret)
{
    static const struct h2_ops ops = {on_open, on_data, on_end, on_drain, on_close};
    struct grpc *g = calloc(1, sizeof *g);
    if (g == NULL)
        return FAB_E_NOMEM;
    g->in = *in;
    TAILQ_INIT(&g->calls);
    int rc = h2_new(&ops, g, &g->h2);
    if (rc < 0) {
        free(g);
        return rc;
    }
    caller_ref(in->caller);
    write_source(g);
    *ret = g;
    return FAB_OK;
}

const struct caller *grpc_caller(const struct grpc *g)
{
    return g->in.caller;
}

void grpc_free(struct grpc *g)
{
    if (g == NULL)
        return;
    g->busy = true;
    h2_free(g->h2);
    caller_unref(g->in.caller);
    free(g);
}

int grpc_receive(struct grpc *g, const uint8_t *data, size_t len, uint64_t now_us)
{
    g->now = now_us;
    g->busy = true;
    int rc = h2_receive(g->h2, data, len, now_us);
    g->busy = false;
    return rc;
}

ssize_t grpc_produce(struct grpc *g, const uint8_t **ret_data)
{
    g->busy = true;
    ssize_t n = h2_produce(g->h2, ret_data);
    g->busy = false;
    return n;
}

bool grpc_done(const struct grpc *g)
{
    return h2_done(g->h2);
}

void grpc_shut(struct grpc *g)
{
    h2_shut(g->h2);
}

bool grpc_ready(const struct grpc *g)
{
    return h2_ready(g->h2);
}

uint64_t grpc_headers_until(const struct grpc *g)
{
    return h2_headers_until(g->h2);
}

size_t grpc_calls(const struct grpc *g)
{
    return h2_streams(g->h2);
}

static uint64_t due(const struct call *c)
{
    return c->deadline < c->request_until ? c->deadline : c->request_until;
}

uint64_t grpc_deadline(const struct grpc *g)
{
    const struct call *c;
    uint64_t first = UINT64_MAX;
    TAILQ_FOREACH (c, &g->calls, entry) {
        if (due(c) < first)
            first = due(c);
    }
    return first;
}

void grpc_tick(struct grpc *g, uint64_t now_us)
{
    struct call *c;
    g->now = now_us;
    g->busy = true;
    TAILQ_FOREACH (c, &g->calls, entry) {
        if (due(c) > now_us)
            continue;
        abandon(c, FAB_GRPC_DEADLINE_EXCEEDED,
                c->deadline <= now_us ? "the deadline of the call has passed"
                                      : "the request did not come in time");
    }
    g->busy = false;
}

/* Returns true if the call has begun a change that cannot be stopped. Such a call has a BEGIN row
 * in the audit log. A call that answers with a stream, for example of a backup, has a BEGIN row,
 * too, but can be stopped. */
static bool is_changing(const struct call *c)
{
    bool stream = c->hooks != NULL && c->hooks->drain != NULL;
    return c->notes != NULL && c->notes->number != 0 && !stream;
}

void grpc_review(struct grpc *g)
{
    const struct grpc_access *access = g->in.access;
    const struct service *service;
    struct call *c;
    TAILQ_FOREACH (c, &g->calls, entry) {
        if (access == NULL || c->finished || is_changing(c))
            continue;
        find_method(g, c->stream->request.path, &service);
        if (access->permits(c, service, c->method))
            continue;
        tell_gone(c);
        access->admit(c, service, c->method);
    }
}
