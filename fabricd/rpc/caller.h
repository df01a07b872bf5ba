/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The identity of a client: a user of this machine who connected to a Unix socket, or the subject
 * of a TLS certificate. The kernel or the TLS handshake has authenticated all values in struct
 * caller. A connection creates its caller once, and all calls on the connection have this caller.
 */
#ifndef FABRICD_RPC_CALLER_H
#define FABRICD_RPC_CALLER_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* length of caller->text with its NUL */
#define CALLER_TEXT_LEN 96

enum caller_transport {
    /* the connection is neither a Unix socket nor TLS; the client is not authenticated */
    CALLER_OTHER,
    CALLER_UNIX,
    CALLER_TLS
};

/* All members except `refs` are constant after the creation. All texts are clean (log_clean): they
 * have no control characters, and are valid UTF-8. */
struct caller {
    unsigned refs;
    enum caller_transport transport;
    /* Name of the caller for logs and audit records: "alice (uid 1000)" or "certificate of alice".
     * All connections of the same user or certificate have the same text. */
    char text[CALLER_TEXT_LEN];

    /* Only for CALLER_UNIX. The kernel recorded these values when the client connected. */
    uid_t uid;
    gid_t gid;
    pid_t pid;
    /* name of the user, if /etc/passwd has the uid; otherwise "" */
    char user[33];
    gid_t *groups; /* [group_count] supplementary groups */
    size_t group_count;

    /* The next members are only for CALLER_TLS. */
    /* Common name of the subject. NULL if the subject has no common name, several of them, or one
     * with control characters. */
    char *cn;
    /* names in the form of RFC 2253, such as "CN=alice,O=Example" */
    char *subject, *issuer;
    char *serial; /* serial number in hexadecimal digits */
    /* [san_count] subject alternative names: "DNS:ci.example.com", "email:alice@example.com",
     * "URI:spiffe://example.com/ci" or "IP:192.0.2.1" */
    char **sans;
    size_t san_count;
    /* numeric address of the client without the port, such as "192.0.2.1"; "": unknown */
    char address[46];
};

/* The next functions create a caller with one reference. They return NOMEM, or IO if the client
 * cannot be identified. */
int caller_of_unix(int fd, struct caller **ret); /* fd is a connected Unix socket */
/* call this function after the TLS handshake */
int caller_of_tls(SSL *ssl, int fd, struct caller **ret);
/* Creates a caller for a client whose certificate was refused in the handshake. The names of this
 * caller are not authenticated, and the member `text` says so. Returns IO if the client showed no
 * certificate. */
int caller_refused(SSL *ssl, int fd, struct caller **ret);
int caller_other(struct caller **ret);
/* Returns true if both callers are the same user, or have certificates of the same subject and
 * issuer. All clients that are not authenticated count as the same. */
bool caller_is_same(const struct caller *a, const struct caller *b);
/* Takes a reference, and returns `c`. Code that uses a caller after the end of the call needs a
 * reference. */
struct caller *caller_ref(struct caller *c);
void caller_unref(struct caller *c); /* `c` may be NULL */

#endif
