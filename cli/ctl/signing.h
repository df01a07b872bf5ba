/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes and signs the certificates and revocation lists of a small authority; authority.h describes
 * its files. The functions that make something return NULL if memory ran out; the caller owns the
 * result. */
#ifndef CLI_CTL_SIGNING_H
#define CLI_CTL_SIGNING_H

#include <openssl/x509.h>
#include <stdbool.h>

/* The authority that signs. */
struct signer {
    X509 *cert;
    EVP_PKEY *key;
};

/* The subject and the purpose of a certificate. If `former` is not NULL, both are those of
 * `former`. Otherwise `name` is the common name, and `hosts` the value of the subjectAltName
 * extension; "": the certificate is only for clients. */
struct subject {
    X509 *former;
    const char *name, *hosts;
};

/* Makes the certificate of an authority with this key. The subject is that of `former` or, if
 * `former` is NULL, the common name `name`. With the same subject and key as an earlier
 * certificate, the new one verifies all signatures that the earlier one verifies. */
X509 *signing_root(const X509 *former, const char *name, unsigned days, EVP_PKEY *key);
X509 *signing_leaf(const struct signer *by, const struct subject *of, unsigned days, EVP_PKEY *key);
/* Makes a revocation list with the entries of the previous one (NULL: none) and the certificates
 * `revoked`. The list expires together with the authority. */
X509_CRL *signing_list(const struct signer *by, X509_CRL *previous, const STACK_OF(X509) * revoked);
bool signing_is_revoked(X509_CRL *crl, const X509 *cert);

#endif
