/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opens listening sockets.
 *
 * A Unix socket has mode 0660 from the moment it exists. It belongs to the configured group, if
 * that group exists. At start, the manager removes a socket file on which no process answers,
 * because a killed manager may have left it. At the end, the manager removes its own socket file,
 * unless another process has replaced this file.
 *
 * If the process runs out of file descriptors, a TLS address accepts no connections for one second.
 * For each Unix socket, the manager keeps SPARES descriptors in reserve: it releases them to accept
 * a client, and then closes another connection to fill the reserve again. So network clients and
 * idle clients do not lock out a local user. A Unix socket accepts no connections for one second
 * only if the reserve is empty and no connection can be closed, or if accept fails for another
 * reason.
 */
#include "fabricd/rpc/listen.h"

#include <errno.h>
#include <event2/listener.h>
#include <fcntl.h>
#include <grp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/rpc/limits.h"
#include "libfabmgr/base/bucket.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"

#define REST_US 1000000
/* one descriptor for the connection, and one to read /etc/passwd for the name of the user */
#define SPARES 2

struct listener {
    struct evconnlistener *ev;
    struct loop_timer *rest;
    int spare[SPARES]; /* reserved descriptors of a Unix socket; -1: this element has none */
    struct conn_set *conns;
    /* number of connections accepted since turn_us */
    unsigned accepted;
    uint64_t turn_us;
    /* Token buckets (libfabmgr/base/bucket.h) for new connections from network addresses. The key
     * is random, so that no client can choose addresses that use up the bucket of another
     * client. */
    uint64_t buckets[RPC_PEERS], key;
    /* path of the Unix socket; NULL: the address is a TLS address */
    char *path;
    dev_t dev;
    ino_t ino;
};

/* Converts the address of a client to the argument `peer` of conn_accept_tls. */
static uint64_t peer_of(const struct sockaddr *from)
{
    uint64_t peer = 0;
    if (from->sa_family == AF_INET)
        peer = ((const struct sockaddr_in *)(const void *)from)->sin_addr.s_addr;
    if (from->sa_family != AF_INET6)
        return peer;
    const struct in6_addr *at = &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(at))
        memcpy(&peer, &at->s6_addr[12], 4);
    else
        memcpy(&peer, at, sizeof peer);
    return peer;
}

/* Reserves descriptors for a Unix socket until it has SPARES of them. If the process can open no
 * more descriptors when a client connects, release() frees the reserve for this client. If the
 * process cannot open the reserve, closes connections. */
static void reserve(struct listener *l)
{
    for (int i = 0; i < SPARES && l->path != NULL; i++)
        while (l->spare[i] < 0 && (l->spare[i] = open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0 &&
               conn_set_make_room(l->conns))
            ;
}

/* Frees descriptors for a client of a Unix socket: releases the reserve or, if the reserve is
 * empty, closes another connection. Returns false if no descriptor was freed. */
static bool release(struct listener *l)
{
    bool freed = false;
    for (int i = 0; i < SPARES && l->path != NULL; i++) {
        if (l->spare[i] < 0)
            continue;
        close(l->spare[i]);
        l->spare[i] = -1;
        freed = true;
    }
    return freed || (l->path != NULL && conn_set_make_room(l->conns));
}

/* Returns false if this address, or another one with the same bucket, has opened too many
 * connections in a short time. */
static bool may_connect(struct listener *l, uint64_t peer, uint64_t now)
{
    static const struct fab_bucket_rate rate = {1000000 / RPC_PEER_RATE, RPC_PEER_BURST};
    uint64_t *bucket = &l->buckets[fab_base_mix64(peer ^ l->key) % RPC_PEERS];
    return fab_base_bucket_take(bucket, now, &rate);
}

static void refuse_rate(struct listener *l, int fd, const struct sockaddr *from, int len)
{
    char host[INET6_ADDRSTRLEN] = "an unknown address";
    getnameinfo(from, (socklen_t)len, host, sizeof host, NULL, 0, NI_NUMERICHOST);
    conn_set_note(l->conns, CALL_LIMIT_RATE, host);
    close(fd);
}

/* After RPC_ACCEPTS connections within RPC_ACCEPT_US, accepts none for RPC_ACCEPT_US, so that other
 * work has its turn. */
static void count_accept(struct listener *l, uint64_t now)
{
    if (now - l->turn_us > RPC_ACCEPT_US) {
        l->turn_us = now;
        l->accepted = 0;
    }
    if (++l->accepted < RPC_ACCEPTS)
        return;
    l->accepted = 0;
    evconnlistener_disable(l->ev);
    loop_timer_set(l->rest, RPC_ACCEPT_US);
}

static void on_accept(struct evconnlistener *ev, evutil_socket_t fd, struct sockaddr *from, int len,
                      void *ctx)
{
    (void)ev;
    struct listener *l = ctx;
    uint64_t now = clock_now_us();
    count_accept(l, now);
    if (l->path != NULL)
        conn_accept_unix(l->conns, fd);
    else if (may_connect(l, peer_of(from), now))
        conn_accept_tls(l->conns, fd, peer_of(from));
    else
        refuse_rate(l, fd, from, len);
    reserve(l);
}

static void on_accept_error(struct evconnlistener *ev, void *ctx)
{
    struct listener *l = ctx;
    /* After release(), the process can open a descriptor, and libevent calls on_accept again in the
     * next iteration. */
    if ((errno == EMFILE || errno == ENFILE) && release(l))
        return;
    log_warning("rpc", "no client can be accepted: %s; trying again in a second", strerror(errno));
    evconnlistener_disable(ev);
    loop_timer_set(l->rest, REST_US);
}

static void on_rested(void *ctx)
{
    struct listener *l = ctx;
    evconnlistener_enable(l->ev);
}

/* ---- Unix sockets ---------------------------------------------------------------------------- */

static bool somebody_answers(const struct sockaddr_un *at)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    bool yes = connect(fd, (const struct sockaddr *)at, sizeof *at) == 0 || errno == EAGAIN;
    close(fd);
    return yes;
}

static int remove_stale(const struct sockaddr_un *at, char *why, size_t why_len)
{
    struct stat st;
    if (lstat(at->sun_path, &st) < 0)
        return FAB_OK;
    if (!S_ISSOCK(st.st_mode)) {
        snprintf(why, why_len,
                 "unix:%s: there is a file that is no socket; remove it, or listen "
                 "elsewhere",
                 at->sun_path);
        return FAB_E_EXISTS;
    }
    if (somebody_answers(at)) {
        snprintf(why, why_len,
                 "unix:%s: another program answers there; is fabricd running already?",
                 at->sun_path);
        return FAB_E_EXISTS;
    }
    unlink(at->sun_path);
    return FAB_OK;
}

static void give_to_group(const char *path, const char *group)
{
    if (group == NULL || group[0] == '\0')
        return;
    const struct group *g = getgrnam(group);
    if (g == NULL)
        log_warning("rpc", "there is no group '%s': only this user may use unix:%s", group, path);
    else if (chown(path, (uid_t)-1, g->gr_gid) < 0)
        log_warning("rpc", "unix:%s could not be given to group '%s': %s", path, group,
                    strerror(errno));
}

static int bind_unix(const struct sockaddr_un *at, const char *group, int *ret_fd, char *why,
                     size_t why_len)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* bind() gives the socket file the mode of the socket, without the bits of the umask. fchmod()
     * sets this mode first, so that the file never has a wider one. */
    if (fd < 0 || fchmod(fd, 0660) < 0 || bind(fd, (const struct sockaddr *)at, sizeof *at) < 0 ||
        chmod(at->sun_path, 0660) < 0) {
        snprintf(why, why_len, "unix:%s: %s%s", at->sun_path, strerror(errno),
                 errno == ENOENT ? "; make its folder, or listen elsewhere (--listen)" : "");
        if (fd >= 0)
            close(fd);
        return FAB_E_IO;
    }
    give_to_group(at->sun_path, group);
    *ret_fd = fd;
    return FAB_OK;
}

/* Creates the directory of a socket. On a host where fabricd never ran as a service, the directory
 * of the default socket does not exist. */
static void make_folder(const char *path)
{
    char folder[sizeof((struct sockaddr_un *)NULL)->sun_path];
    const char *slash = strrchr(path, '/');
    if (slash == NULL || slash == path)
        return;
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    if (mkdir(folder, 0755) == 0)
        log_info("rpc", "made the folder %s", folder);
}

static int open_unix(struct listener *l, const struct listen_input *in, const char *path,
                     int *ret_fd, char *why, size_t why_len)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct stat st;
    if (path[0] == '\0' || strlen(path) >= sizeof at.sun_path) {
        snprintf(why, why_len, "unix:%s: a path of 1 to %zu bytes is expected", path,
                 sizeof at.sun_path - 1);
        return FAB_E_INVAL;
    }
    strcpy(at.sun_path, path);
    l->path = strdup(path);
    if (l->path == NULL)
        return FAB_E_NOMEM;
    make_folder(path);
    int rc = remove_stale(&at, why, why_len);
    if (rc == FAB_OK)
        rc = bind_unix(&at, in->group, ret_fd, why, why_len);
    if (rc == FAB_OK && lstat(path, &st) == 0) {
        l->dev = st.st_dev;
        l->ino = st.st_ino;
    }
    return rc;
}

/* ---- TLS addresses --------------------------------------------------------------------------- */

static int bind_first(const struct addrinfo *list)
{
    int fd = -1;
    const int one = 1;
    for (const struct addrinfo *a = list; a != NULL && fd < 0; a = a->ai_next) {
        fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
            continue;
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
        /* Accepted sockets inherit TCP_NODELAY. Without it, the answers of a new connection wait
         * about 40 ms for a delayed acknowledgement of the client. */
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        if (bind(fd, a->ai_addr, a->ai_addrlen) < 0) {
            int error = errno;
            close(fd);
            errno = error;
            fd = -1;
        }
    }
    return fd;
}

/* Logs a hint that other hosts may be unable to connect, if systemd started fabricd and the address
 * is not local. By default, the systemd unit of fabricd admits only this host (IPAddressDeny=), and
 * packets of other hosts are dropped silently. */
static void hint_at_unit(const struct config_listen *at)
{
    bool local = strcmp(at->host, "localhost") == 0 || strncmp(at->host, "127.", 4) == 0 ||
                 strcmp(at->host, "::1") == 0;
    if (!local && getenv("INVOCATION_ID") != NULL)
        log_notice("rpc",
                   "%s: systemd drops packets of networks that IPAddressAllow= of the unit "
                   "does not name; see 'systemctl cat fabricd'",
                   at->text);
}

static int open_tls(const struct config_listen *at, int *ret_fd, char *why, size_t why_len)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *list = NULL;
    char port[8];
    snprintf(port, sizeof port, "%u", at->port);
    int gai = getaddrinfo(strcmp(at->host, "*") == 0 ? NULL : at->host, port, &hints, &list);
    if (gai != 0) {
        snprintf(why, why_len, "%s: %s", at->text, gai_strerror(gai));
        return FAB_E_INVAL;
    }
    int fd = bind_first(list);
    if (fd < 0)
        snprintf(why, why_len, "%s: %s", at->text, strerror(errno));
    else
        *ret_fd = fd;
    if (fd >= 0)
        hint_at_unit(at);
    freeaddrinfo(list);
    return fd < 0 ? FAB_E_IO : FAB_OK;
}

/* ---- listeners of both kinds ----------------------------------------------------------------- */

static int open_socket(struct listener *l, const struct listen_input *in,
                       const struct config_listen *at, int *ret_fd, char *why, size_t why_len)
{
    if (at->kind == CONFIG_LISTEN_UNIX)
        return open_unix(l, in, at->host, ret_fd, why, why_len);
    return open_tls(at, ret_fd, why, why_len);
}

int listen_open(const struct listen_input *in, const struct config_listen *at,
                struct listener **ret, char *why, size_t why_len)
{
    int fd = -1;
    struct listener *l = calloc(1, sizeof *l);
    if (l == NULL)
        return FAB_E_NOMEM;
    l->conns = in->conns;
    for (int i = 0; i < SPARES; i++)
        l->spare[i] = -1;
    int rc = open_socket(l, in, at, &fd, why, why_len);
    if (rc < 0)
        goto fail;
    if (!loop_random(in->loop, &l->key, sizeof l->key)) {
        snprintf(why, why_len, "%s: the kernel has no random numbers", at->text);
        rc = FAB_E_IO;
        goto fail;
    }
    l->rest = loop_timer_new(in->loop, on_rested, l);
    l->ev = evconnlistener_new(loop_base(in->loop), on_accept, l,
                               LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 512, fd);
    if (l->ev == NULL || l->rest == NULL) {
        snprintf(why, why_len, "%s: %s", at->text, strerror(errno));
        rc = FAB_E_IO;
        goto fail;
    }
    evconnlistener_set_error_cb(l->ev, on_accept_error);
    reserve(l);
    *ret = l;
    return FAB_OK;
fail:
    if (l->ev == NULL && fd >= 0)
        close(fd);
    listen_close(l);
    return rc;
}

void listen_close(struct listener *l)
{
    struct stat st;
    if (l == NULL)
        return;
    if (l->ev != NULL)
        evconnlistener_free(l->ev);
    for (int i = 0; i < SPARES; i++)
        if (l->spare[i] >= 0)
            close(l->spare[i]);
    if (l->ino != 0 && lstat(l->path, &st) == 0 && st.st_dev == l->dev && st.st_ino == l->ino)
        unlink(l->path);
    loop_timer_free(l->rest);
    free(l->path);
    free(l);
}
