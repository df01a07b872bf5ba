/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A connection joins a bufferevent (the socket) and a gRPC connection, and enforces their time and
 * memory limits. All code in this file runs on the loop thread.
 *
 * The connection takes bytes from gRPC and reads bytes from the socket only while the socket's
 * buffer holds less than RPC_MAX_SOCKET_QUEUE. So the server stops serving a client that does not
 * read, and such a client needs no more memory than its calls have queued.
 *
 * The TLS handshake of a connection runs on another thread (handshake.h). The connection has no
 * bufferevent until this handshake is complete.
 *
 * Each connection has one timer. The timer fires when the handshakes or the headers of a request
 * take too long, when a call reaches its deadline, when the client counts as stalled or idle, or
 * when received bytes are still to be handled (take_in), whichever is first. When a service
 * finishes a call later (on_wake), the timer fires in the next iteration of the event loop. If
 * on_wake handled the connection at once, it could free the connection while the service still uses
 * it.
 *
 * Connections are counted in three pools: local clients, network clients after their handshakes,
 * and network clients before the end of their handshakes. So the clients of one pool cannot lock
 * out those of another pool. If a pool is full, the client with the most connections in this pool
 * loses one of them. A client is a user or a certificate name or, before the end of the TLS
 * handshake, an address. The server handles first the handshakes from addresses that have completed
 * a handshake before. So a flood from many new addresses displaces and delays only the handshakes
 * of new addresses.
 */
#include "fabricd/rpc/conn.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <inttypes.h>
#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/rpc/access.h"
#include "fabricd/rpc/audit.h"
#include "fabricd/rpc/caller.h"
#include "fabricd/rpc/grpc.h"
#include "fabricd/rpc/handshake.h"
#include "fabricd/rpc/limited.h"
#include "fabricd/rpc/limits.h"
#include "fabricd/rpc/tls.h"
#include "fabricd/rpc/turned_away.h"
#include "libfabmgr/base/plural.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/grpc/grpc.h"

#define BEV_FLAGS (BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS)

enum pool { POOL_LOCAL, POOL_NETWORK, POOL_HANDSHAKE, POOLS };
static const unsigned pool_limits[POOLS] = {RPC_MAX_CONNECTIONS, RPC_MAX_CONNECTIONS,
                                            RPC_MAX_HANDSHAKES};

/* A client with at least one connection. */
struct client {
    LIST_ENTRY(client) entry;
    /* identifies the client: its address in the form that conn_accept_tls takes, or a hash of the
     * name of the caller */
    uint64_t id;
    unsigned connections[POOLS];
    unsigned calls; /* number of calls in progress on all connections of the client */
};

struct conn {
    LIST_ENTRY(conn) entry;
    struct conn_set *set;
    enum pool pool;
    struct client *client; /* NULL: the client is not known yet */
    uint64_t peer;         /* address of the client, in the form that conn_accept_tls takes */
    /* the TLS handshake in progress; NULL: the handshake has ended, or the socket is a Unix
     * socket */
    struct handshake *handshake;
    /* `bev`, `ssl` and `grpc` are NULL until the TLS handshake is complete. `ssl` is always NULL
     * for a Unix socket. */
    struct bufferevent *bev;
    SSL *ssl; /* TLS state of the socket */
    struct grpc *grpc;
    struct loop_timer *timer;
    uint64_t accepted, last_in, last_out;
    /* true: take_in stopped handling received bytes after RPC_TURN_US, and continues in the next
     * iteration of the event loop */
    bool more;
    /* true: the connection is closed as soon as all pending bytes are sent */
    bool closing;
};

struct conn_set {
    struct conn_set_input in;
    struct limited limited;
    LIST_HEAD(, conn) conns; /* all connections, newest first */
    LIST_HEAD(, client) clients;
    unsigned count[POOLS], limit[POOLS];
    struct handshakes *handshakes; /* NULL: no TLS address is served */
    SSL_CTX *ssl_ctx;              /* context for new TLS connections */
    struct turned_away turned_away;
    /* Addresses from which a handshake was completed, in the form that conn_accept_tls takes. The
     * index is the hash of the address, modulo RPC_PEERS. A new address replaces an older one with
     * the same index. */
    uint64_t proven[RPC_PEERS];
};

/* ---- clients --------------------------------------------------------------------------------- */

static struct client *client_of(struct conn_set *set, uint64_t id)
{
    struct client *l;
    LIST_FOREACH (l, &set->clients, entry)
        if (l->id == id)
            return l;
    l = calloc(1, sizeof *l);
    if (l != NULL) {
        l->id = id;
        LIST_INSERT_HEAD(&set->clients, l, entry);
    }
    return l;
}

/* FNV-1a */
static uint64_t hash(const char *text)
{
    uint64_t h = 0xcbf29ce484222325;
    for (; *text != '\0'; text++)
        h = (h ^ (unsigned char)*text) * 0x100000001b3;
    return h;
}

/* Subtracts a connection from the counts of its client. Frees the client if it has no connections
 * left. */
static void leave(struct conn_set *set, struct client *l, enum pool pool)
{
    unsigned left = 0;
    set->count[pool]--;
    l->connections[pool]--;
    for (int i = 0; i < POOLS; i++)
        left += l->connections[i];
    if (left > 0)
        return;
    LIST_REMOVE(l, entry);
    free(l);
}

static void move(struct conn *c, struct client *l, enum pool pool)
{
    struct client *old = c->client;
    enum pool from = c->pool;
    c->set->count[pool]++;
    l->connections[pool]++;
    c->client = l;
    c->pool = pool;
    if (old != NULL)
        leave(c->set, old, from);
}

static void conn_close(struct conn *c)
{
    LIST_REMOVE(c, entry);
    grpc_free(c->grpc);
    if (c->client != NULL)
        leave(c->set, c->client, c->pool);
    loop_timer_free(c->timer);
    handshake_cancel(c->handshake);
    if (c->ssl != NULL) {
        /* the TLS layer sends close_notify, but does not wait for the close_notify of the client */
        SSL_set_shutdown(c->ssl, SSL_RECEIVED_SHUTDOWN);
        SSL_shutdown(c->ssl);
        ERR_clear_error();
    }
    if (c->bev != NULL)
        bufferevent_free(c->bev);
    free(c);
}

/* Returns the name of the client for the log. */
static const char *name_of(const struct conn *c)
{
    return c->grpc != NULL ? grpc_caller(c->grpc)->text : "an unknown client";
}

static size_t unsent(const struct conn *c)
{
    return evbuffer_get_length(bufferevent_get_output(c->bev));
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Returns the time at which the connection will exceed a time limit (limits.h) if no bytes are
 * received or sent until then. There are limits for the handshake, for the headers of a request,
 * for stalled clients and for idle clients. */
static uint64_t patience(const struct conn *c)
{
    if (c->grpc == NULL || !grpc_ready(c->grpc))
        return c->accepted + RPC_HANDSHAKE_US;
    uint64_t headers = grpc_headers_until(c->grpc);
    if (unsent(c) > 0)
        return lesser(c->last_out + RPC_STALL_US, headers);
    return grpc_calls(c->grpc) == 0 ? c->last_in + RPC_IDLE_US : headers;
}

static void set_timer(struct conn *c, uint64_t now)
{
    bool next_turn = c->more && unsent(c) < RPC_MAX_SOCKET_QUEUE;
    uint64_t due = next_turn ? now : patience(c);
    if (c->grpc != NULL)
        due = lesser(due, grpc_deadline(c->grpc));
    if (due == UINT64_MAX)
        loop_timer_cancel(c->timer);
    else
        loop_timer_set(c->timer, due > now ? due - now : 0);
}

/* ---- pools ----------------------------------------------------------------------------------- */

static bool is_idle(const struct conn *c)
{
    return c->grpc != NULL && grpc_ready(c->grpc) && grpc_calls(c->grpc) == 0 && unsent(c) == 0;
}

/* Returns the rank of a connection when one must be closed; higher ranks are closed first. 2: the
 * handshakes of the connection are not complete; 1: it is idle; 0: it has calls or unsent
 * answers. */
static int dispensable(const struct conn *c)
{
    if (c->grpc == NULL || !grpc_ready(c->grpc))
        return 2;
    return is_idle(c) ? 1 : 0;
}

static uint64_t *proven_place(const struct conn *c)
{
    return &c->set->proven[fab_base_mix64(c->peer) % RPC_PEERS];
}

static bool is_proven(const struct conn *c)
{
    return *proven_place(c) == c->peer;
}

/* Compares two connections of one pool, of which `other` is newer. Returns true if `c` should be
 * closed, and false if `other` should be closed. */
static bool goes_first(const struct conn *c, const struct conn *other)
{
    unsigned mine = c->client->connections[c->pool], theirs = other->client->connections[c->pool];
    int my_rank = dispensable(c), their_rank = dispensable(other);
    if (mine != theirs)
        return mine > theirs;
    if (my_rank != their_rank)
        return my_rank > their_rank;
    if (c->pool == POOL_HANDSHAKE && is_proven(c) != is_proven(other))
        return is_proven(other);
    return my_rank != 1 || c->last_in <= other->last_in;
}

/* Closes a connection if the pool of the new connection `newcomer` has too many connections. The
 * client with the most connections in the pool loses one: the oldest whose handshakes are not
 * complete (first those from addresses that never completed a handshake), else the one that has
 * been idle longest, else the oldest. If this client is that of the newcomer, and all its other
 * connections have calls or unsent answers, the function closes no connection and returns false;
 * the caller must then close the newcomer. */
static bool make_way(struct conn *newcomer)
{
    struct conn_set *set = newcomer->set;
    enum pool pool = newcomer->pool;
    struct conn *c, *found = NULL;
    if (set->count[pool] <= set->limit[pool])
        return true;
    LIST_FOREACH (c, &set->conns, entry)
        if (c->pool == pool && c != newcomer && (found == NULL || goes_first(c, found)))
            found = c;
    if (found->client == newcomer->client && dispensable(found) == 0)
        found = newcomer;
    limited_note(&set->limited,
                 pool == POOL_HANDSHAKE ? CALL_LIMIT_HANDSHAKES : CALL_LIMIT_CONNECTIONS,
                 name_of(found));
    if (found != newcomer)
        conn_close(found);
    return found != newcomer;
}

/* Moves a connection from POOL_HANDSHAKE to POOL_NETWORK when its handshakes are complete. Returns
 * false if POOL_NETWORK is full, and this connection must be closed (make_way). */
static bool settle(struct conn *c)
{
    if (c->pool != POOL_HANDSHAKE || c->grpc == NULL || !grpc_ready(c->grpc))
        return true;
    move(c, c->client, POOL_NETWORK);
    return make_way(c);
}

/* Moves bytes from the gRPC connection to the buffer of the socket, until the buffer is full.
 * Returns false if the connection must be closed. */
static bool pump(struct conn *c)
{
    while (unsent(c) < RPC_MAX_SOCKET_QUEUE) {
        const uint8_t *data;
        ssize_t n = grpc_produce(c->grpc, &data);
        if (n == 0)
            return true;
        if (n < 0 || bufferevent_write(c->bev, data, (size_t)n) < 0)
            return false;
    }
    return true;
}

/* Sends pending bytes, then closes the connection if it is finished, or else sets its timer. Each
 * handler of the socket and of the timer ends with this function. */
static void go_on(struct conn *c)
{
    uint64_t now = clock_now_us();
    if (unsent(c) == 0)
        c->last_out = now;
    if (!settle(c) || !pump(c) || ((c->closing || grpc_done(c->grpc)) && unsent(c) == 0)) {
        conn_close(c);
        return;
    }
    bool full = unsent(c) >= RPC_MAX_SOCKET_QUEUE;
    if (full || c->closing)
        bufferevent_disable(c->bev, EV_READ);
    else
        bufferevent_enable(c->bev, EV_READ);
    set_timer(c, now);
}

/* Handles received bytes for about RPC_TURN_US at most. The next iteration of the event loop
 * handles the rest, so that other connections are not delayed. */
static void take_in(struct conn *c)
{
    struct evbuffer *in = bufferevent_get_input(c->bev);
    uint64_t now = clock_now_us();
    c->last_in = now;
    c->more = false;
    for (size_t n; !c->closing && (n = evbuffer_get_contiguous_space(in)) > 0;) {
        if (clock_now_us() - now > RPC_TURN_US) {
            c->more = true;
            break;
        }
        n = n < RPC_SLICE ? n : RPC_SLICE;
        int rc = grpc_receive(c->grpc, evbuffer_pullup(in, (ssize_t)n), n, now);
        if (rc == FAB_E_LIMIT)
            limited_note(&c->set->limited, CALL_LIMIT_FRAMES, name_of(c));
        c->closing = rc < 0;
        evbuffer_drain(in, n);
    }
}

/* Counts a client that was too slow, either in the handshakes or in sending the headers of a
 * request. Does not count a client that was idle or did not read its answers. */
static void note_impatience(struct conn *c, uint64_t now)
{
    struct limited *l = &c->set->limited;
    if (c->grpc == NULL || !grpc_ready(c->grpc))
        limited_note(l, CALL_LIMIT_HANDSHAKE_TIME, name_of(c));
    else if (grpc_headers_until(c->grpc) <= now)
        limited_note(l, CALL_LIMIT_REQUEST_TIME, name_of(c));
}

static void on_timer(void *ctx)
{
    struct conn *c = ctx;
    uint64_t now = clock_now_us();
    loop_at(c->set->in.loop, "rpc");
    if (patience(c) <= now) {
        note_impatience(c, now);
        conn_close(c);
        return;
    }
    if (c->grpc == NULL) {
        set_timer(c, now);
        return;
    }
    grpc_tick(c->grpc, now);
    if (c->more && unsent(c) < RPC_MAX_SOCKET_QUEUE)
        take_in(c);
    go_on(c);
}

static void on_wake(void *ctx)
{
    struct conn *c = ctx;
    loop_timer_set(c->timer, 0);
}

static void on_read(struct bufferevent *bev, void *ctx)
{
    (void)bev;
    struct conn *c = ctx;
    loop_at(c->set->in.loop, "rpc");
    take_in(c);
    go_on(c);
}

static void on_write(struct bufferevent *bev, void *ctx)
{
    (void)bev;
    struct conn *c = ctx;
    loop_at(c->set->in.loop, "rpc");
    if (c->grpc != NULL)
        go_on(c);
}

static void on_sent(struct evbuffer *out, const struct evbuffer_cb_info *info, void *ctx)
{
    (void)out;
    struct conn *c = ctx;
    if (info->n_deleted > 0)
        c->last_out = clock_now_us();
}

/* ---- the beginning and the end --------------------------------------------------------------- */

static int make_grpc(struct conn *c, struct caller *caller)
{
    const struct conn_set_input *set = &c->set->in;
    const struct grpc_input in = {.services = set->services,
                                  .context = set->context,
                                  .caller = caller,
                                  .access = &access_by_role,
                                  .wake = on_wake,
                                  .wake_ctx = c,
                                  .audit = set->audit,
                                  .majority = set->majority,
                                  .calls = &c->client->calls,
                                  .limited = &c->set->limited};
    return grpc_new(&in, &c->grpc);
}

/* Creates the gRPC connection after the handshake has shown who the client is. */
static int begin_grpc(struct conn *c, struct caller *caller)
{
    struct client *client = client_of(c->set, hash(caller->text));
    if (client == NULL)
        return FAB_E_NOMEM;
    move(c, client, c->pool);
    return make_grpc(c, caller);
}

static void on_event(struct bufferevent *bev, short what, void *ctx)
{
    (void)bev, (void)what;
    conn_close(ctx);
}

/* ---- opening and closing --------------------------------------------------------------------- */

/* Starts to serve a client on its connected socket. On an error, the caller closes the
 * connection. */
static int conn_begin(struct conn *c, struct caller *caller)
{
    if (evbuffer_add_cb(bufferevent_get_output(c->bev), on_sent, c) == NULL)
        return FAB_E_NOMEM;
    bufferevent_setcb(c->bev, on_read, on_write, on_event, c);
    bufferevent_setwatermark(c->bev, EV_READ, 0, 64 << 10);
    bufferevent_setwatermark(c->bev, EV_WRITE, RPC_MAX_SOCKET_QUEUE / 4, 0);
    if (bufferevent_enable(c->bev, EV_READ | EV_WRITE) < 0)
        return FAB_E_IO;
    return begin_grpc(c, caller);
}

/* Takes over the socket of a complete TLS handshake. If the settings were reloaded since the
 * handshake began, and the new settings do not accept the client, returns DENIED. */
static int begin_tls(struct conn *c, const struct handshake_result *r)
{
    const char *why;
    c->bev = bufferevent_openssl_socket_new(loop_base(c->set->in.loop), r->fd, r->ssl,
                                            BUFFEREVENT_SSL_OPEN, BEV_FLAGS);
    if (c->bev == NULL) {
        SSL_free(r->ssl);
        close(r->fd);
        return FAB_E_NOMEM;
    }
    c->ssl = r->ssl;
    bufferevent_openssl_set_allow_dirty_shutdown(c->bev, 1);
    if (SSL_get_SSL_CTX(c->ssl) != c->set->ssl_ctx && !tls_accepts(c->set->ssl_ctx, c->ssl, &why)) {
        log_notice("rpc", "the connection of %s is closed: %s", r->caller->text, why);
        return FAB_E_DENIED;
    }
    *proven_place(c) = c->peer;
    return conn_begin(c, r->caller);
}

static void on_handshake(void *ctx, const struct handshake_result *r)
{
    struct conn *c = ctx;
    loop_at(c->set->in.loop, "rpc");
    c->handshake = NULL;
    if (!r->complete)
        turned_away_note(&c->set->turned_away, c->set->in.audit, r);
    if (r->complete && begin_tls(c, r) == FAB_OK)
        go_on(c);
    else
        conn_close(c);
}

static int begin_unix(struct conn *c, int fd)
{
    struct caller *caller;
    c->bev = bufferevent_socket_new(loop_base(c->set->in.loop), fd, BEV_FLAGS);
    if (c->bev == NULL) {
        close(fd);
        return FAB_E_NOMEM;
    }
    int rc = caller_of_unix(fd, &caller);
    if (rc < 0)
        return rc;
    rc = conn_begin(c, caller);
    caller_unref(caller);
    return rc == FAB_OK && !make_way(c) ? FAB_E_LIMIT : rc;
}

/* Counts a network connection among those of its address, until the handshake has shown who the
 * client is. Returns false if the connection must be closed. */
static bool join_peer(struct conn *c, uint64_t peer)
{
    struct client *client = client_of(c->set, peer);
    c->peer = peer;
    if (client == NULL)
        return false;
    move(c, client, POOL_HANDSHAKE);
    return make_way(c);
}

static struct conn *conn_new(struct conn_set *set, enum pool pool)
{
    struct conn *c = calloc(1, sizeof *c);
    if (c == NULL)
        return NULL;
    *c = (struct conn){.set = set, .pool = pool};
    c->accepted = c->last_in = c->last_out = clock_now_us();
    c->timer = loop_timer_new(set->in.loop, on_timer, c);
    if (c->timer == NULL) {
        free(c);
        return NULL;
    }
    LIST_INSERT_HEAD(&set->conns, c, entry);
    return c;
}

void conn_accept_unix(struct conn_set *set, int fd)
{
    struct conn *c = conn_new(set, POOL_LOCAL);
    if (c == NULL)
        close(fd);
    else if (begin_unix(c, fd) == FAB_OK)
        go_on(c);
    else
        conn_close(c);
}

void conn_accept_tls(struct conn_set *set, int fd, uint64_t peer)
{
    struct conn *c = conn_new(set, POOL_HANDSHAKE);
    if (c == NULL || !join_peer(c, peer)) {
        close(fd);
        if (c != NULL)
            conn_close(c);
        return;
    }
    const struct handshake_input in = {fd, set->ssl_ctx, is_proven(c), on_handshake, c};
    if (handshake_begin(set->handshakes, &in, &c->handshake) == FAB_OK)
        set_timer(c, c->accepted);
    else
        conn_close(c);
}

void conn_set_note(struct conn_set *set, enum call_limit limit, const char *who)
{
    limited_note(&set->limited, limit, who);
}

bool conn_set_make_room(struct conn_set *set)
{
    static const enum pool order[] = {POOL_HANDSHAKE, POOL_NETWORK, POOL_LOCAL};
    struct conn *c, *found = NULL;
    for (int i = 0; i < POOLS && found == NULL; i++)
        LIST_FOREACH (c, &set->conns, entry)
            if (c->pool == order[i] && c != LIST_FIRST(&set->conns) && dispensable(c) > 0 &&
                (found == NULL || goes_first(c, found)))
                found = c;
    if (found == NULL)
        return false;
    limited_note(&set->limited, CALL_LIMIT_DESCRIPTORS, name_of(found));
    conn_close(found);
    return true;
}

int conn_set_use(struct conn_set *set, SSL_CTX *ssl_ctx)
{
    const char *why;
    if (set->handshakes == NULL && handshakes_new(set->in.loop, &set->handshakes) != FAB_OK)
        return FAB_E_NOMEM;
    set->ssl_ctx = ssl_ctx;
    struct conn *c = LIST_FIRST(&set->conns);
    while (c != NULL) {
        struct conn *next = LIST_NEXT(c, entry);
        if (c->ssl != NULL && !tls_accepts(ssl_ctx, c->ssl, &why)) {
            log_notice("rpc", "the connection of %s is closed: %s", name_of(c), why);
            conn_close(c);
        }
        c = next;
    }
    return FAB_OK;
}

void conn_set_review(struct conn_set *set)
{
    struct conn *c;
    LIST_FOREACH (c, &set->conns, entry)
        if (c->grpc != NULL)
            grpc_review(c->grpc);
}

/* Lowers the limits of connections if the process may not open enough descriptors for them. */
static void set_limits(struct conn_set *set)
{
    struct rlimit may;
    uint64_t all = 0, room = UINT64_MAX;
    for (int i = 0; i < POOLS; i++)
        all += pool_limits[i];
    if (getrlimit(RLIMIT_NOFILE, &may) == 0)
        room = may.rlim_cur > RPC_OTHER_DESCRIPTORS ? may.rlim_cur - RPC_OTHER_DESCRIPTORS : 0;
    for (int i = 0; i < POOLS; i++) {
        uint64_t share = room < all ? pool_limits[i] * room / all : pool_limits[i];
        set->limit[i] = share > RPC_LEAST_CONNECTIONS ? (unsigned)share : RPC_LEAST_CONNECTIONS;
    }
    if (room < all)
        log_notice("rpc",
                   "only %u local and %u network clients can connect, since the process may open "
                   "%" PRIu64 " files; raise LimitNOFILE= of the unit",
                   set->limit[POOL_LOCAL], set->limit[POOL_NETWORK], (uint64_t)may.rlim_cur);
}

int conn_set_new(const struct conn_set_input *in, struct conn_set **ret)
{
    struct conn_set *set = calloc(1, sizeof *set);
    if (set == NULL)
        return FAB_E_NOMEM;
    *set = (struct conn_set){.in = *in, .limited.counts = in->counts};
    LIST_INIT(&set->conns);
    LIST_INIT(&set->clients);
    set_limits(set);
    *ret = set;
    return FAB_OK;
}

void conn_set_free(struct conn_set *set)
{
    if (set == NULL)
        return;
    while (!LIST_EMPTY(&set->conns))
        conn_close(LIST_FIRST(&set->conns));
    handshakes_free(set->handshakes);
    free(set);
}
