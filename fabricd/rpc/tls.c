/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TLS 1.3 for HTTP/2, negotiated by ALPN. Every client needs a certificate signed by the configured
 * authority. TLS sessions cannot be resumed, so that the server checks the certificate on every
 * connection.
 */
#include "fabricd/rpc/tls.h"

#include <openssl/err.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "libfabmgr/base/expiry.h"
#include "libfabmgr/base/status.h"

static int choose_h2(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                     const unsigned char *in, unsigned in_len, void *ctx)
{
    (void)ssl, (void)ctx;
    for (unsigned i = 0; i < in_len; i += in[i] + 1u) {
        if (in[i] == 2 && i + 2 < in_len && memcmp(in + i + 1, "h2", 2) == 0) {
            *out = in + i + 1;
            *out_len = 2;
            return SSL_TLSEXT_ERR_OK;
        }
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static int complain(char *why, size_t why_len, const char *setting, const char *file)
{
    /* report the first error in OpenSSL's queue, because it caused the others */
    unsigned long e = ERR_peek_error();
    const char *reason =
        ERR_SYSTEM_ERROR(e) ? strerror(ERR_GET_REASON(e)) : ERR_reason_error_string(e);
    snprintf(why, why_len, "%s %s: %s; a PEM file is expected that fabricd may read", setting, file,
             reason != NULL ? reason : "it cannot be read");
    ERR_clear_error();
    return FAB_E_INVAL;
}

/* Refuses a private key that every user can read or write. */
static int check_key_mode(const char *file, char *why, size_t why_len)
{
    struct stat st;
    if (stat(file, &st) != 0 || (st.st_mode & S_IRWXO) == 0)
        /* if stat() has failed, OpenSSL will report that the file cannot be read */
        return FAB_OK;
    snprintf(why, why_len, "TLS key %s: every user can read or write this file; run 'chmod o= %s'",
             file, file);
    return FAB_E_DENIED;
}

/* Loads revocation lists. From then on, the server refuses a client if the authority of its
 * certificate has no valid revocation list. */
static int load_crl(SSL_CTX *ctx, const char *file, char *why, size_t why_len)
{
    X509_STORE *store = SSL_CTX_get_cert_store(ctx);
    X509_LOOKUP *lookup = X509_STORE_add_lookup(store, X509_LOOKUP_file());
    if (lookup == NULL || X509_load_crl_file(lookup, file, X509_FILETYPE_PEM) < 1)
        return complain(why, why_len, "TLS revocation list", file);
    X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK);
    return FAB_OK;
}

static int load_files(SSL_CTX *ctx, const struct tls_files *f, char *why, size_t why_len)
{
    if (f->cert == NULL || f->key == NULL || f->ca == NULL) {
        snprintf(why, why_len,
                 "a tls: address needs the settings for its certificate, key and client authority");
        return FAB_E_INVAL;
    }
    int rc = check_key_mode(f->key, why, why_len);
    if (rc != FAB_OK)
        return rc;
    ERR_clear_error();
    if (SSL_CTX_use_certificate_chain_file(ctx, f->cert) != 1)
        return complain(why, why_len, "TLS certificate", f->cert);
    if (SSL_CTX_use_PrivateKey_file(ctx, f->key, SSL_FILETYPE_PEM) != 1)
        return complain(why, why_len, "TLS key", f->key);
    if (SSL_CTX_load_verify_locations(ctx, f->ca, NULL) != 1)
        return complain(why, why_len, "TLS client authority", f->ca);
    SSL_CTX_set_client_CA_list(ctx, SSL_load_client_CA_file(f->ca));
    return f->crl != NULL && f->crl[0] != '\0' ? load_crl(ctx, f->crl, why, why_len) : FAB_OK;
}

/* ---- refused certificates -------------------------------------------------------------------- */

static CRYPTO_ONCE once = CRYPTO_ONCE_STATIC_INIT;
/* index of the refused certificate among the extra data of an SSL; -1: memory ran out */
static int refused_index = -1;

static void free_refused(void *parent, void *cert, CRYPTO_EX_DATA *data, int index, long argl,
                         void *argp)
{
    (void)parent, (void)data, (void)index, (void)argl, (void)argp;
    X509_free(cert);
}

static void make_index(void)
{
    refused_index = SSL_get_ex_new_index(0, NULL, NULL, NULL, free_refused);
}

/* Keeps the certificate for tls_refused, because OpenSSL discards it when the verification fails.
 * Does not change the result of the verification. */
static int keep_refused(int good, X509_STORE_CTX *check)
{
    SSL *ssl = X509_STORE_CTX_get_ex_data(check, SSL_get_ex_data_X509_STORE_CTX_idx());
    X509 *cert = X509_STORE_CTX_get0_cert(check);
    if (!good && ssl != NULL && cert != NULL && refused_index >= 0 &&
        SSL_get_ex_data(ssl, refused_index) == NULL && X509_up_ref(cert) == 1 &&
        SSL_set_ex_data(ssl, refused_index, cert) != 1)
        X509_free(cert);
    return good;
}

X509 *tls_refused(const SSL *connection)
{
    return refused_index >= 0 ? SSL_get_ex_data(connection, refused_index) : NULL;
}

/* ---- the context ----------------------------------------------------------------------------- */

int tls_context_new(const struct tls_files *files, SSL_CTX **ret, char *why, size_t why_len)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    if (CRYPTO_THREAD_run_once(&once, make_index) != 1 || ctx == NULL ||
        SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION) != 1) {
        SSL_CTX_free(ctx);
        snprintf(why, why_len, "OpenSSL offers no TLS 1.3");
        return FAB_E_NOMEM;
    }
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, keep_refused);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(ctx, 0);
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_alpn_select_cb(ctx, choose_h2, NULL);
    int rc = load_files(ctx, files, why, why_len);
    if (rc < 0) {
        SSL_CTX_free(ctx);
        return rc;
    }
    *ret = ctx;
    return FAB_OK;
}

/* ---- expiry ---------------------------------------------------------------------------------- */

static int64_t unix_time(const ASN1_TIME *t)
{
    struct tm tm;
    return t != NULL && ASN1_TIME_to_tm(t, &tm) == 1 ? (int64_t)timegm(&tm) : 0;
}

/* Called for each object of a file, with its period of validity. Stores the earliest end of these
 * periods, and the time of the warning before this end. */
static void note_period(struct tls_expiry *e, enum tls_file file, const ASN1_TIME *from,
                        const ASN1_TIME *to)
{
    int64_t end = unix_time(to);
    if (end == 0 || (e->file[file].at_s != 0 && e->file[file].at_s <= end))
        return;
    e->file[file].at_s = end;
    e->file[file].warn_s = fab_base_expiry_warn_s(unix_time(from), end);
}

static void note_certificate(struct tls_expiry *e, enum tls_file file, const X509 *cert)
{
    if (cert != NULL)
        note_period(e, file, X509_get0_notBefore(cert), X509_get0_notAfter(cert));
}

void tls_expiry_of(SSL_CTX *ctx, struct tls_expiry *ret)
{
    STACK_OF(X509) *chain = NULL;
    const STACK_OF(X509_OBJECT) *trusted = X509_STORE_get0_objects(SSL_CTX_get_cert_store(ctx));
    *ret = (struct tls_expiry){0};
    note_certificate(ret, TLS_FILE_CERT, SSL_CTX_get0_certificate(ctx));
    SSL_CTX_get0_chain_certs(ctx, &chain);
    for (int i = 0; i < sk_X509_num(chain); i++)
        note_certificate(ret, TLS_FILE_CERT, sk_X509_value(chain, i));
    for (int i = 0; i < sk_X509_OBJECT_num(trusted); i++) {
        const X509_OBJECT *o = sk_X509_OBJECT_value(trusted, i);
        const X509_CRL *crl =
            X509_OBJECT_get_type(o) == X509_LU_CRL ? X509_OBJECT_get0_X509_CRL(o) : NULL;
        if (crl != NULL)
            note_period(ret, TLS_FILE_CRL, X509_CRL_get0_lastUpdate(crl),
                        X509_CRL_get0_nextUpdate(crl));
        else
            note_certificate(ret, TLS_FILE_CA, X509_OBJECT_get0_X509(o));
    }
}

bool tls_accepts(SSL_CTX *ctx, const SSL *connection, const char **ret_why)
{
    X509 *cert = SSL_get0_peer_certificate(connection);
    X509_STORE_CTX *check = X509_STORE_CTX_new();
    bool accepted = false;
    *ret_why = "out of memory";
    if (cert == NULL)
        *ret_why = "the handshake was not complete";
    else if (check != NULL && X509_STORE_CTX_init(check, SSL_CTX_get_cert_store(ctx), cert,
                                                  SSL_get_peer_cert_chain(connection)) == 1) {
        X509_STORE_CTX_set_default(check, "ssl_client");
        accepted = X509_verify_cert(check) == 1;
        *ret_why = X509_verify_cert_error_string(X509_STORE_CTX_get_error(check));
    }
    X509_STORE_CTX_free(check);
    ERR_clear_error();
    return accepted;
}
