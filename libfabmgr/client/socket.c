/* SPDX-License-Identifier: BSD-3-Clause */
/* The client's socket. It is non-blocking; if the socket is not ready, the functions wait in
 * poll(), at most until the deadline. TLS connections use version 1.3, and select HTTP/2 by ALPN.
 * The server's certificate must be signed by the given CA and contain the expected name or IP
 * address. */
#include "libfabmgr/client/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "libfabmgr/base/status.h"

struct client_socket {
    int fd;
    SSL *ssl; /* TLS connection; NULL: the socket is a Unix socket */
    /* why the server refused the client's certificate; NULL: the server did not refuse it */
    const char *refusal;
};

uint64_t fab_client_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Waits until the socket can be read (`events` is POLLIN) or written (POLLOUT). Returns OK, TIMEOUT
 * (the deadline has passed) or IO. */
static int wait_for(int fd, short events, uint64_t deadline)
{
    for (;;) {
        uint64_t now = fab_client_now_ms();
        int left = -1;
        if (deadline != CLIENT_NEVER)
            left =
                deadline <= now ? 0 : (int)(deadline - now < 86400000 ? deadline - now : 86400000);
        struct pollfd p = {.fd = fd, .events = events};
        int n = poll(&p, 1, left);
        if (n > 0)
            return FAB_OK;
        if (n == 0 && fab_client_now_ms() >= deadline)
            return FAB_E_TIMEOUT;
        if (n < 0 && errno != EINTR)
            return FAB_E_IO;
    }
}

/* ---- Unix ------------------------------------------------------------------------------------ */

/* Connects a blocking Unix socket, and makes it non-blocking. poll() cannot wait for room in the
 * backlog of a server, but connect() does, at most for SO_SNDTIMEO. Returns 0 or errno; ETIMEDOUT:
 * the deadline has passed. */
static int connect_before(int fd, const struct sockaddr_un *at, uint64_t deadline)
{
    int rc;
    do {
        uint64_t now = fab_client_now_ms(), left = deadline > now ? deadline - now : 0;
        struct timeval limit = {.tv_sec = (time_t)(left / 1000),
                                .tv_usec = (suseconds_t)(left % 1000 * 1000)};
        if (left == 0)
            return ETIMEDOUT;
        if (deadline != CLIENT_NEVER)
            setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
        rc = connect(fd, (const struct sockaddr *)at, sizeof *at);
    } while (rc < 0 && errno == EINTR);
    if (rc < 0)
        return errno == EAGAIN ? ETIMEDOUT : errno;
    return fcntl(fd, F_SETFL, O_NONBLOCK) < 0 ? errno : 0;
}

static int connect_unix(struct client_socket *s, const char *path, uint64_t deadline, char *why,
                        size_t why_len)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    if (path[0] == '\0' || strlen(path) >= sizeof at.sun_path) {
        snprintf(why, why_len, "address 'unix:%s': expected a path of 1 to %zu bytes", path,
                 sizeof at.sun_path - 1);
        return FAB_E_INVAL;
    }
    memcpy(at.sun_path, path, strlen(path) + 1);
    s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int error = s->fd < 0 ? errno : connect_before(s->fd, &at, deadline);
    if (error == 0)
        return FAB_OK;
    const char *hint = error == ENOENT || error == ECONNREFUSED ? "; is fabricd running?"
                       : error == EACCES ? "; only root and the socket's group may use it"
                                         : "";
    snprintf(why, why_len, "unix:%s: %s%s", path,
             error == ETIMEDOUT ? "no response in time" : strerror(error), hint);
    return FAB_E_IO;
}

/* ---- TCP ------------------------------------------------------------------------------------- */

static int connect_one(const struct addrinfo *a, uint64_t deadline, int *ret_fd)
{
    int error = 0;
    socklen_t len = sizeof error;
    int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return errno;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    if (connect(fd, a->ai_addr, a->ai_addrlen) < 0) {
        error = errno;
        if (error == EINPROGRESS) {
            error = wait_for(fd, POLLOUT, deadline) < 0 ? ETIMEDOUT : 0;
            if (error == 0)
                getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
        }
    }
    if (error != 0)
        close(fd);
    else
        *ret_fd = fd;
    return error;
}

static int connect_tcp(struct client_socket *s, const char *host, const char *port,
                       uint64_t deadline, char *why, size_t why_len)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    int gai = getaddrinfo(host, port, &hints, &list);
    if (gai != 0) {
        snprintf(why, why_len, "%s: %s", host, gai_strerror(gai));
        return FAB_E_IO;
    }
    int error = 0;
    for (const struct addrinfo *a = list; a != NULL && s->fd < 0; a = a->ai_next)
        error = connect_one(a, deadline, &s->fd);
    freeaddrinfo(list);
    if (s->fd >= 0)
        return FAB_OK;
    snprintf(why, why_len, "tls:%s:%s: %s", host, port, strerror(error));
    return FAB_E_IO;
}

/* ---- TLS ------------------------------------------------------------------------------------- */

static int tls_complain(const char *what, char *why, size_t why_len)
{
    unsigned long e = ERR_peek_error(); /* the oldest error in the queue is the cause */
    const char *reason =
        ERR_SYSTEM_ERROR(e) ? strerror(ERR_GET_REASON(e)) : ERR_reason_error_string(e);
    snprintf(why, why_len, "%s: %s", what, reason != NULL ? reason : "failed");
    ERR_clear_error();
    return FAB_E_IO;
}

/* If the error is a TLS alert by which the server refused the client's certificate (RFC 8446,
 * section 6.2), returns the reason for the refusal; otherwise returns NULL. */
static const char *alert_text(unsigned long error)
{
    if (ERR_GET_LIB(error) != ERR_LIB_SSL)
        return NULL;
    switch (ERR_GET_REASON(error)) {
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
        return "unknown CA";
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
        return "it has expired or is not valid yet";
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
        return "it is revoked";
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:
        return "it is not valid for clients; the log of the manager has the reason";
    default:
        return NULL;
    }
}

/* If the server refused the client's certificate, stores the reason. In TLS 1.3, the client learns
 * of the refusal only after its own handshake, from an alert. */
static void note_refusal(struct client_socket *s)
{
    if (s->refusal == NULL)
        s->refusal = alert_text(ERR_peek_last_error());
}

/* Call this after a write has failed. Reads the alert, still unread, that the server may have sent
 * before it closed the connection. */
static void read_alert(struct client_socket *s)
{
    uint8_t data[256];
    size_t done;
    while (SSL_read_ex(s->ssl, data, sizeof data, &done) == 1)
        ;
    note_refusal(s);
}

const char *fab_client_socket_refusal(const struct client_socket *s)
{
    return s->refusal;
}

static int load_files(SSL_CTX *ctx, const struct fab_client_options *o, char *why, size_t why_len)
{
    if (o->ca == NULL || o->cert == NULL || o->key == NULL) {
        snprintf(why, why_len,
                 "a tls: address needs three files: the CA, the client certificate and its key");
        return FAB_E_INVAL;
    }
    if (SSL_CTX_load_verify_locations(ctx, o->ca, NULL) != 1)
        return tls_complain(o->ca, why, why_len);
    if (SSL_CTX_use_certificate_chain_file(ctx, o->cert) != 1)
        return tls_complain(o->cert, why, why_len);
    if (SSL_CTX_use_PrivateKey_file(ctx, o->key, SSL_FILETYPE_PEM) != 1)
        return tls_complain(o->key, why, why_len);
    return FAB_OK;
}

static int expect_name(SSL *ssl, const char *name)
{
    unsigned char address[16];
    if (inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name);
    return SSL_set_tlsext_host_name(ssl, name) == 1 && SSL_set1_host(ssl, name) == 1;
}

static SSL *tls_new(const struct fab_client_options *o, const char *name, char *why, size_t why_len)
{
    static const unsigned char h2[] = {2, 'h', '2'};
    SSL *ssl = NULL;
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    if (ctx != NULL && SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION) == 1 &&
        load_files(ctx, o, why, why_len) == FAB_OK) {
        SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
        ssl = SSL_new(ctx);
    }
    SSL_CTX_free(ctx);
    if (ssl != NULL &&
        (SSL_set_alpn_protos(ssl, h2, sizeof h2) != 0 || expect_name(ssl, name) != 1)) {
        SSL_free(ssl);
        ssl = NULL;
    }
    return ssl;
}

/* Waits until the SSL call that returned rc can be repeated. Returns OK, TIMEOUT, IO, or TRUNCATED
 * (the server closed the connection). */
static int tls_wait(const struct client_socket *s, int rc, uint64_t deadline)
{
    switch (SSL_get_error(s->ssl, rc)) {
    case SSL_ERROR_WANT_READ:
        return wait_for(s->fd, POLLIN, deadline);
    case SSL_ERROR_WANT_WRITE:
        return wait_for(s->fd, POLLOUT, deadline);
    case SSL_ERROR_ZERO_RETURN:
        return FAB_E_TRUNCATED;
    default:
        return FAB_E_IO;
    }
}

static int handshake(struct client_socket *s, uint64_t deadline, char *why, size_t why_len)
{
    int rc, status = FAB_OK;
    if (SSL_set_fd(s->ssl, s->fd) != 1)
        return tls_complain("TLS", why, why_len);
    while (status == FAB_OK && (rc = SSL_connect(s->ssl)) != 1)
        status = tls_wait(s, rc, deadline);
    if (status == FAB_OK)
        return FAB_OK;
    long verified = SSL_get_verify_result(s->ssl);
    if (verified != X509_V_OK)
        snprintf(why, why_len, "the server's certificate is not accepted: %s",
                 X509_verify_cert_error_string(verified));
    else if (status == FAB_E_TIMEOUT)
        snprintf(why, why_len, "TLS: no response in time");
    else
        tls_complain("TLS", why, why_len);
    return FAB_E_IO;
}

/* Splits "HOST:PORT" or "[HOST]:PORT" into two strings, in place. */
static int split_address(char *text, char **ret_host, char **ret_port)
{
    char *colon = strrchr(text, ':');
    if (colon == NULL || colon == text || colon[1] == '\0')
        return FAB_E_INVAL;
    *colon = '\0';
    *ret_port = colon + 1;
    *ret_host = text;
    if (text[0] == '[' && colon[-1] == ']') {
        colon[-1] = '\0';
        *ret_host = text + 1;
    }
    return **ret_host != '\0' ? FAB_OK : FAB_E_INVAL;
}

static int connect_tls(struct client_socket *s, const struct fab_client_options *o,
                       const char *address, uint64_t deadline, char *why, size_t why_len)
{
    char *host, *port, *text = strdup(address);
    int rc = text == NULL ? FAB_E_NOMEM : split_address(text, &host, &port);
    if (rc < 0) {
        snprintf(why, why_len, "address 'tls:%s': expected tls:HOST:PORT", address);
        goto out;
    }
    s->ssl = tls_new(o, o->server_name != NULL ? o->server_name : host, why, why_len);
    rc = s->ssl == NULL ? FAB_E_INVAL : connect_tcp(s, host, port, deadline, why, why_len);
    if (rc == FAB_OK)
        rc = handshake(s, deadline, why, why_len);
out:
    free(text);
    return rc;
}

/* ---- Unix, and TCP with TLS ------------------------------------------------------------------ */

int fab_client_socket_open(const struct fab_client_options *o, uint64_t deadline_ms,
                           struct client_socket **ret, char *why, size_t why_len)
{
    struct client_socket *s = calloc(1, sizeof *s);
    if (s == NULL)
        return FAB_E_NOMEM;
    s->fd = -1;
    int rc = FAB_E_INVAL;
    snprintf(why, why_len, "address '%s': expected unix:PATH or tls:HOST:PORT", o->address);
    if (strncmp(o->address, "unix:", 5) == 0)
        rc = connect_unix(s, o->address + 5, deadline_ms, why, why_len);
    else if (strncmp(o->address, "tls:", 4) == 0)
        rc = connect_tls(s, o, o->address + 4, deadline_ms, why, why_len);
    if (rc < 0) {
        fab_client_socket_close(s);
        return rc;
    }
    *ret = s;
    return FAB_OK;
}

void fab_client_socket_interrupt(struct client_socket *s)
{
    (void)shutdown(s->fd, SHUT_RDWR);
}

void fab_client_socket_close(struct client_socket *s)
{
    if (s == NULL)
        return;
    if (s->ssl != NULL && s->fd >= 0)
        SSL_shutdown(s->ssl);
    SSL_free(s->ssl);
    ERR_clear_error();
    if (s->fd >= 0)
        close(s->fd);
    free(s);
}

int fab_client_socket_write(struct client_socket *s, const uint8_t *data, size_t len,
                            uint64_t deadline_ms)
{
    while (len > 0) {
        int rc = FAB_OK;
        size_t done = 0;
        if (s->ssl != NULL) {
            int n = SSL_write_ex(s->ssl, data, len, &done);
            rc = n == 1 ? FAB_OK : tls_wait(s, n, deadline_ms);
            if (rc < 0 && rc != FAB_E_TIMEOUT)
                read_alert(s);
        } else {
            ssize_t n = send(s->fd, data, len, MSG_NOSIGNAL);
            done = n > 0 ? (size_t)n : 0;
            if (n < 0)
                rc = errno == EAGAIN || errno == EINTR ? wait_for(s->fd, POLLOUT, deadline_ms)
                                                       : FAB_E_IO;
        }
        if (rc < 0)
            return rc;
        data += done;
        len -= done;
    }
    return FAB_OK;
}

static ssize_t read_tls(struct client_socket *s, uint8_t *data, size_t len, uint64_t deadline)
{
    for (;;) {
        size_t done = 0;
        int n = SSL_read_ex(s->ssl, data, len, &done);
        if (n == 1)
            return (ssize_t)done;
        int rc = tls_wait(s, n, deadline);
        if (rc < 0) {
            note_refusal(s);
            return rc == FAB_E_TRUNCATED ? 0 : rc;
        }
    }
}

ssize_t fab_client_socket_read(struct client_socket *s, uint8_t *data, size_t len,
                               uint64_t deadline_ms)
{
    if (s->ssl != NULL)
        return read_tls(s, data, len, deadline_ms);
    for (;;) {
        ssize_t n = recv(s->fd, data, len, 0);
        if (n >= 0)
            return n;
        if (errno != EAGAIN && errno != EINTR)
            return FAB_E_IO;
        int rc = wait_for(s->fd, POLLIN, deadline_ms);
        if (rc < 0)
            return rc;
    }
}
