/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes and signs the certificates and revocation lists of a small authority. Files are not its
 * concern (authority.h). All functions return NULL if memory ran out; the caller owns the result.
 */
#ifndef CLI_CTL_SIGNING_H
#define CLI_CTL_SIGNING_H

#include <openssl/x509.h>
#include <stdbool.h>

/* The authority that signs. */
struct signer {
    X509 *cert;
    EVP_PKEY *key;
};

/* Whom a certificate names, and what it is for: the same as `former`, or, if that is NULL, `name`
 * as common name, and `hosts` as the value of a subjectAltName extension ("": for clients only). */
struct subject {
    X509 *former;
    const char *name, *hosts;
};

/* The certificate of an authority with this key. It has the subject of `former`, or, if that is
 * NULL, the common name. A certificate with the subject and key of a former one verifies the same
 * signatures. */
X509 *signing_root(const X509 *former, const char *name, unsigned days, EVP_PKEY *key);
X509 *signing_leaf(const struct signer *by, const struct subject *of, unsigned days, EVP_PKEY *key);
/* A revocation list with the entries of the previous one (NULL: none) and these certificates. It
 * expires together with the authority. */
X509_CRL *signing_list(const struct signer *by, X509_CRL *previous, const STACK_OF(X509) * revoked);
bool signing_is_revoked(X509_CRL *crl, const X509 *cert);

#endif
