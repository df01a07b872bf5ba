/* SPDX-License-Identifier: BSD-3-Clause */
/* TLS 1.3 with mandatory client certificates. */
#ifndef FABRICD_RPC_TLS_H
#define FABRICD_RPC_TLS_H

#include <openssl/ssl.h>
#include <stddef.h>

struct tls_files {
    const char *cert, *key, *ca; /* PEM */
};
/* Creates the server's context from the files. IO, INVAL: why[] names the file and the error. */
int tls_context_new(const struct tls_files *files, SSL_CTX **ret, char *why, size_t why_len);

#endif
