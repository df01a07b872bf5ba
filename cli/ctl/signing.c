/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/ctl/signing.h"

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/x509v3.h>
#include <stdint.h>

/* The validity of a certificate begins this number of seconds before the certificate is made,
 * because the clocks of hosts may differ. */
#define SKEW_S 300
#define SERIAL_BITS 127

/* ---- certificates ---------------------------------------------------------------------------- */

static bool add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    bool added = e != NULL && X509_add_ext(cert, e, -1) == 1;
    X509_EXTENSION_free(e);
    return added;
}

static bool set_random_serial(X509 *cert)
{
    BIGNUM *n = BN_new();
    bool set = n != NULL && BN_rand(n, SERIAL_BITS, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
               BN_to_ASN1_INTEGER(n, X509_get_serialNumber(cert)) != NULL;
    BN_free(n);
    return set;
}

/* Creates a certificate without a subject, extensions and signature. Returns NULL if memory ran
 * out. */
static X509 *new_cert(unsigned days, EVP_PKEY *key)
{
    X509 *cert = X509_new();
    if (cert != NULL && X509_set_version(cert, X509_VERSION_3) == 1 && set_random_serial(cert) &&
        X509_gmtime_adj(X509_getm_notBefore(cert), -SKEW_S) != NULL &&
        X509_time_adj_ex(X509_getm_notAfter(cert), (int)days, 0, NULL) != NULL &&
        X509_set_pubkey(cert, key) == 1)
        return cert;
    X509_free(cert);
    return NULL;
}

/* Sets the subject of a certificate: that of the certificate `of` or, if `of` is NULL, the common
 * name `name`. */
static bool set_subject(X509 *cert, const X509 *of, const char *name)
{
    if (of != NULL)
        return X509_set_subject_name(cert, X509_get_subject_name(of)) == 1;
    return X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_UTF8,
                                      (const unsigned char *)name, -1, -1, 0) == 1;
}

/* Copies an extension from another certificate. Returns false on a failure. It is not a failure if
 * the other certificate lacks the extension. */
static bool copy_extension(X509 *cert, const X509 *from, int nid)
{
    int at = X509_get_ext_by_NID(from, nid, -1);
    return at < 0 || X509_add_ext(cert, X509_get_ext(from, at), -1) == 1;
}

static bool copy_purpose(X509 *cert, const X509 *from)
{
    return copy_extension(cert, from, NID_ext_key_usage) &&
           copy_extension(cert, from, NID_subject_alt_name);
}

/* Adds the purpose of the certificate. `hosts` is "" for a client: its certificate is not valid for
 * a server, so that the client cannot pretend to be a manager. */
static bool add_purpose(X509 *cert, X509 *issuer, const char *hosts)
{
    return add_extension(cert, issuer, NID_ext_key_usage,
                         hosts[0] != '\0' ? "serverAuth,clientAuth" : "clientAuth") &&
           (hosts[0] == '\0' || add_extension(cert, issuer, NID_subject_alt_name, hosts));
}

/* Completes the certificate of the authority, and signs it with the authority's own key. */
static bool sign_root(X509 *cert, EVP_PKEY *key)
{
    return X509_set_issuer_name(cert, X509_get_subject_name(cert)) == 1 &&
           add_extension(cert, cert, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
           add_extension(cert, cert, NID_key_usage, "critical,keyCertSign,cRLSign") &&
           add_extension(cert, cert, NID_subject_key_identifier, "hash") &&
           X509_sign(cert, key, EVP_sha256()) > 0;
}

X509 *signing_root(const X509 *former, const char *name, unsigned days, EVP_PKEY *key)
{
    X509 *cert = new_cert(days, key);
    if (cert != NULL && set_subject(cert, former, name) && sign_root(cert, key))
        return cert;
    X509_free(cert);
    return NULL;
}

static bool sign_leaf(const struct signer *by, X509 *cert)
{
    return X509_set_issuer_name(cert, X509_get_subject_name(by->cert)) == 1 &&
           add_extension(cert, by->cert, NID_basic_constraints, "critical,CA:FALSE") &&
           add_extension(cert, by->cert, NID_key_usage, "critical,digitalSignature") &&
           add_extension(cert, by->cert, NID_subject_key_identifier, "hash") &&
           add_extension(cert, by->cert, NID_authority_key_identifier, "keyid:always") &&
           X509_sign(cert, by->key, EVP_sha256()) > 0;
}

X509 *signing_leaf(const struct signer *by, const struct subject *of, unsigned days, EVP_PKEY *key)
{
    X509 *cert = new_cert(days, key);
    if (cert != NULL && set_subject(cert, of->former, of->name) &&
        (of->former != NULL ? copy_purpose(cert, of->former)
                            : add_purpose(cert, by->cert, of->hosts)) &&
        sign_leaf(by, cert))
        return cert;
    X509_free(cert);
    return NULL;
}

/* ---- revocation lists ------------------------------------------------------------------------ */

static bool add_entry(X509_CRL *to, const X509 *cert, ASN1_TIME *now)
{
    X509_REVOKED *r = X509_REVOKED_new();
    if (r != NULL &&
        X509_REVOKED_set_serialNumber(r, (ASN1_INTEGER *)(uintptr_t)X509_get0_serialNumber(cert)) ==
            1 &&
        X509_REVOKED_set_revocationDate(r, now) == 1 && X509_CRL_add0_revoked(to, r) == 1)
        return true;
    X509_REVOKED_free(r);
    return false;
}

static bool copy_entries(X509_CRL *to, X509_CRL *from)
{
    STACK_OF(X509_REVOKED) *entries = from != NULL ? X509_CRL_get_REVOKED(from) : NULL;
    for (int i = 0; i < sk_X509_REVOKED_num(entries); i++) {
        X509_REVOKED *r = X509_REVOKED_dup(sk_X509_REVOKED_value(entries, i));
        if (r == NULL || X509_CRL_add0_revoked(to, r) != 1) {
            X509_REVOKED_free(r);
            return false;
        }
    }
    return true;
}

/* Sets the number of the list, which grows with each new list (RFC 5280, section 5.2.3). */
static bool add_number(X509_CRL *crl, X509_CRL *previous)
{
    ASN1_INTEGER *before =
        previous != NULL ? X509_CRL_get_ext_d2i(previous, NID_crl_number, NULL, NULL) : NULL;
    ASN1_INTEGER *n = ASN1_INTEGER_new();
    int64_t number = 0;
    bool added = n != NULL && (before == NULL || ASN1_INTEGER_get_int64(&number, before) == 1) &&
                 ASN1_INTEGER_set_int64(n, number + 1) == 1 &&
                 X509_CRL_add1_ext_i2d(crl, NID_crl_number, n, 0, 0) == 1;
    ASN1_INTEGER_free(before);
    ASN1_INTEGER_free(n);
    return added;
}

X509_CRL *signing_list(const struct signer *by, X509_CRL *previous, const STACK_OF(X509) * revoked)
{
    X509_CRL *crl = X509_CRL_new();
    ASN1_TIME *now = X509_gmtime_adj(NULL, 0);
    bool good = crl != NULL && now != NULL && copy_entries(crl, previous);
    for (int i = 0; good && i < sk_X509_num(revoked); i++)
        good = add_entry(crl, sk_X509_value(revoked, i), now);
    good = good && X509_CRL_set_version(crl, X509_CRL_VERSION_2) == 1 &&
           X509_CRL_set_issuer_name(crl, X509_get_subject_name(by->cert)) == 1 &&
           X509_CRL_set1_lastUpdate(crl, now) == 1 &&
           X509_CRL_set1_nextUpdate(crl, X509_get0_notAfter(by->cert)) == 1 &&
           add_number(crl, previous) && X509_CRL_sort(crl) == 1 &&
           X509_CRL_sign(crl, by->key, EVP_sha256()) > 0;
    ASN1_TIME_free(now);
    if (good)
        return crl;
    X509_CRL_free(crl);
    return NULL;
}

bool signing_is_revoked(X509_CRL *crl, const X509 *cert)
{
    X509_REVOKED *entry;
    return X509_CRL_get0_by_serial(crl, &entry,
                                   (ASN1_INTEGER *)(uintptr_t)X509_get0_serialNumber(cert)) == 1;
}
