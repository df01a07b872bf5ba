/* SPDX-License-Identifier: BSD-3-Clause */
/* TLS 1.3 with mandatory client certificates. */
#ifndef FABRICD_RPC_TLS_H
#define FABRICD_RPC_TLS_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>

#include "fabricd/base/tls_expiry.h"

struct tls_files {
    /* Paths of PEM files: certificate, private key, and CA of client certificates. */
    const char *cert, *key, *ca;
    /* path of a PEM file with revocation lists of this CA; NULL or "": certificates are
     * not checked for revocation */
    const char *crl;
};
/* Creates the server's TLS context from the files. Returns INVAL, DENIED (every user can read or
 * write the key) or NOMEM; why[] names the file and the error. */
int tls_context_new(const struct tls_files *files, SSL_CTX **ret, char *why, size_t why_len);

/* Finds out when the certificates and revocation lists of the context expire; for each file, the
 * first expiry counts. The warning is due 30 days before the expiry. If the period of validity is
 * shorter than 90 days, the warning is due when a third of this period is left. */
void tls_expiry_of(SSL_CTX *ctx, struct tls_expiry *ret);

/* Returns the certificate of the client if the handshake failed because the certificate was not
 * accepted; otherwise NULL. SSL_get_verify_result has the reason. The certificate belongs to the
 * connection. The names in it are not proven: anybody can make a certificate with any name. */
X509 *tls_refused(const SSL *connection);

/* Returns true if the context still accepts the client's certificate of an open connection: its
 * authority is trusted, and the certificate has neither expired nor been revoked. Otherwise
 * *ret_why is the reason, in static memory. */
bool tls_accepts(SSL_CTX *ctx, const SSL *connection, const char **ret_why);

#endif
