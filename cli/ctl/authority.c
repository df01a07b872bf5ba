/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/ctl/authority.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/ctl/authority_files.h"
#include "libfabmgr/base/status.h"

/* ---- making an authority --------------------------------------------------------------------- */

/* Writes the two files of an authority that expire together: first crl.pem, then ca.pem. If the
 * command is killed between the two files, a new authority has no certificate yet, and a renewed
 * one has a revocation list that expires later than its certificate. So there is never an authority
 * without a revocation list, or whose revocation list expires first. */
static int write_authority(const struct authority *a, X509 *cert, X509_CRL *crl, char *why,
                           size_t why_len)
{
    int rc = authority_replace(a, "crl.pem", &(struct content){.crl = crl}, why, why_len);
    if (rc == FAB_OK)
        rc = authority_replace(a, "ca.pem", &(struct content){.cert = cert}, why, why_len);
    return rc;
}

static int make_files(struct authority *a, unsigned days, char *why, size_t why_len)
{
    a->by.key = EVP_EC_gen("P-256");
    a->by.cert = a->by.key != NULL ? signing_root(NULL, "fabricd CA", days, a->by.key) : NULL;
    a->crl = a->by.cert != NULL ? signing_list(&a->by, NULL, NULL) : NULL;
    if (a->crl == NULL)
        return authority_no_memory(why, why_len);
    int rc = authority_replace(a, "ca.key", &(struct content){.key = a->by.key}, why, why_len);
    return rc == FAB_OK ? write_authority(a, a->by.cert, a->crl, why, why_len) : rc;
}

int authority_make(const char *dir, unsigned days, char *why, size_t why_len)
{
    struct authority *a = NULL;
    if (mkdir(dir, 0700) != 0 && errno != EEXIST) {
        snprintf(why, why_len, "%s: %s", dir, strerror(errno));
        return FAB_E_IO;
    }
    int rc = authority_open_dir(dir, &a, why, why_len);
    if (rc == FAB_OK && faccessat(a->dir, "ca.pem", F_OK, 0) == 0)
        rc = authority_fail(FAB_E_EXISTS, why, why_len, dir, "ca.pem",
                            "there is an authority already; name another directory with --dir");
    if (rc == FAB_OK)
        rc = make_files(a, days, why, why_len);
    authority_close(a);
    return rc;
}

/* ---- issuing --------------------------------------------------------------------------------- */

/* Makes the value of a subjectAltName extension from the names: "DNS:mgmt-1,IP:192.0.2.1". The
 * caller frees *ret. INVAL: a name is no host name or IP address. */
static int alternative_names(char *const *names, size_t count, char **ret, char *why,
                             size_t why_len)
{
    size_t size = 1, used = 0;
    unsigned char address[16];
    for (size_t i = 0; i < count; i++)
        size += strlen(names[i]) + 5;
    char *text = calloc(1, size);
    if (text == NULL)
        return authority_no_memory(why, why_len);
    for (size_t i = 0; i < count; i++) {
        bool ip = inet_pton(AF_INET, names[i], address) == 1 ||
                  inet_pton(AF_INET6, names[i], address) == 1;
        if (!ip && (!authority_is_name(names[i]) || strpbrk(names[i], "@_") != NULL)) {
            snprintf(why, why_len, "'%.80s': a host name or an IP address is expected", names[i]);
            free(text);
            return FAB_E_INVAL;
        }
        used += (size_t)snprintf(text + used, size - used, "%s%s:%s", i > 0 ? "," : "",
                                 ip ? "IP" : "DNS", names[i]);
    }
    *ret = text;
    return FAB_OK;
}

/* Returns true if the first certificate expires before the second. */
static bool expires_before(const X509 *first, const X509 *second)
{
    return ASN1_TIME_compare(X509_get0_notAfter(first), X509_get0_notAfter(second)) < 0;
}

/* Returns EXISTS if there is a certificate for this name that is neither revoked nor expired. */
static int check_free(const struct authority *a, const char *name, const char *file, char *why,
                      size_t why_len)
{
    X509 *cert = NULL;
    int rc = authority_read_cert(a, file, &cert, why, why_len);
    if (rc == FAB_E_NOT_FOUND)
        return FAB_OK;
    if (rc == FAB_OK && !signing_is_revoked(a->crl, cert) && !authority_is_expired(cert)) {
        snprintf(why, why_len,
                 "%s has a valid certificate; 'fabricctl cert renew %s' renews it, and before you "
                 "issue another, run 'fabricctl cert revoke %s'",
                 name, name, name);
        rc = FAB_E_EXISTS;
    }
    X509_free(cert);
    return rc;
}

static int write_pair(const struct authority *a, const char *name, const struct subject *of,
                      unsigned days, char *why, size_t why_len)
{
    char expires[24];
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = key != NULL ? signing_leaf(&a->by, of, days, key) : NULL;
    int rc = FAB_OK;
    if (cert == NULL) {
        rc = authority_no_memory(why, why_len);
    } else if (expires_before(a->by.cert, cert)) {
        authority_expiry_text(a->by.cert, expires, sizeof expires);
        snprintf(why, why_len,
                 "the certificate would expire after the authority (%s); shorten it with --days, "
                 "or renew the authority first with 'fabricctl cert renew ca'",
                 expires);
        rc = FAB_E_INVAL;
    } else {
        rc = authority_replace_pair(a, name, of->former,
                                    &(struct content){.cert = cert, .key = key}, why, why_len);
    }
    X509_free(cert);
    EVP_PKEY_free(key);
    return rc;
}

int authority_issue(struct authority *a, const char *name, char *const *others, size_t count,
                    unsigned days, char *why, size_t why_len)
{
    char file[AUTHORITY_FILE_LEN], *names = NULL;
    int rc = authority_check_name(name, why, why_len);
    if (rc != FAB_OK)
        return rc;
    snprintf(file, sizeof file, "%s.pem", name);
    rc = alternative_names(others, count, &names, why, why_len);
    if (rc == FAB_OK)
        rc = check_free(a, name, file, why, why_len);
    if (rc == FAB_OK)
        rc = write_pair(a, name, &(struct subject){.name = name, .hosts = names}, days, why,
                        why_len);
    free(names);
    return rc;
}

/* ---- revoking and renewing ------------------------------------------------------------------- */

/* Reads the current certificate of a name. The caller frees *ret, even after EXISTS. NOT_FOUND: the
 * name has no certificate. EXISTS: the certificate is revoked. */
static int read_current(const struct authority *a, const char *name, X509 **ret, char *why,
                        size_t why_len)
{
    char file[AUTHORITY_FILE_LEN];
    int rc = authority_check_name(name, why, why_len);
    if (rc != FAB_OK)
        return rc;
    snprintf(file, sizeof file, "%s.pem", name);
    rc = authority_read_cert(a, file, ret, why, why_len);
    if (rc == FAB_E_NOT_FOUND)
        snprintf(why, why_len, "%s has no certificate; 'fabricctl cert list' lists all", name);
    if (rc == FAB_OK && signing_is_revoked(a->crl, *ret)) {
        snprintf(why, why_len, "the certificate of %s is revoked already", name);
        rc = FAB_E_EXISTS;
    }
    return rc;
}

int authority_revoke(struct authority *a, const char *name, char *why, size_t why_len)
{
    X509 *cert = NULL;
    X509_CRL *crl = NULL;
    STACK_OF(X509) *revoked = sk_X509_new_null();
    int rc = revoked != NULL ? read_current(a, name, &cert, why, why_len)
                             : authority_no_memory(why, why_len);
    if (rc == FAB_OK)
        rc = authority_add_formers(a, name, cert, revoked, why, why_len);
    if (rc == FAB_OK && sk_X509_push(revoked, cert) > 0) {
        cert = NULL;
        crl = signing_list(&a->by, a->crl, revoked);
    }
    if (rc == FAB_OK && crl == NULL)
        rc = authority_no_memory(why, why_len);
    if (rc == FAB_OK)
        rc = authority_replace(a, "crl.pem", &(struct content){.crl = crl}, why, why_len);
    sk_X509_pop_free(revoked, X509_free);
    X509_free(cert);
    X509_CRL_free(crl);
    return rc;
}

/* Returns the number of days for which a certificate is valid, at least 1. */
static unsigned period_of(const X509 *cert)
{
    int days = 0, seconds = 0;
    bool known =
        ASN1_TIME_diff(&days, &seconds, X509_get0_notBefore(cert), X509_get0_notAfter(cert)) == 1;
    return known && days > 0 ? (unsigned)days : 1;
}

static int renew_authority(struct authority *a, unsigned days, char *why, size_t why_len)
{
    X509 *cert = signing_root(a->by.cert, NULL, days, a->by.key);
    struct signer by = {.cert = cert, .key = a->by.key};
    X509_CRL *crl = cert != NULL ? signing_list(&by, a->crl, NULL) : NULL;
    int rc = FAB_OK;
    if (crl == NULL) {
        rc = authority_no_memory(why, why_len);
    } else if (expires_before(cert, a->by.cert)) {
        char expires[24];
        authority_expiry_text(a->by.cert, expires, sizeof expires);
        snprintf(why, why_len,
                 "the new certificate of the authority would expire before the present one (%s); "
                 "choose more days with --days",
                 expires);
        rc = FAB_E_INVAL;
    } else {
        rc = write_authority(a, cert, crl, why, why_len);
    }
    X509_CRL_free(crl);
    X509_free(cert);
    return rc;
}

static int read_expiry(const struct authority *a, const char *name, char *ret, size_t len,
                       char *why, size_t why_len)
{
    char file[AUTHORITY_FILE_LEN];
    X509 *cert = NULL;
    snprintf(file, sizeof file, "%s.pem", name);
    int rc = authority_read_cert(a, file, &cert, why, why_len);
    if (rc == FAB_OK)
        authority_expiry_text(cert, ret, len);
    X509_free(cert);
    return rc;
}

static int renew_leaf(const struct authority *a, const char *name, X509 *former, unsigned days,
                      char *why, size_t why_len)
{
    if (X509_verify(former, a->by.key) == 1)
        return write_pair(a, name, &(struct subject){.former = former}, days, why, why_len);
    ERR_clear_error();
    snprintf(why, why_len, "refused: %s/%s.pem is no certificate of this authority", a->path, name);
    return FAB_E_IO;
}

int authority_renew(struct authority *a, const char *name, unsigned days,
                    struct authority_renewed *ret, char *why, size_t why_len)
{
    X509 *former = NULL;
    bool own = strcmp(name, AUTHORITY_OWN_NAME) == 0;
    int rc = own ? FAB_OK : read_current(a, name, &former, why, why_len);
    if (rc == FAB_E_EXISTS)
        snprintf(
            why, why_len,
            "refused: the certificate of %s is revoked; 'fabricctl cert issue %s' issues a new "
            "one",
            name, name);
    if (rc == FAB_OK) {
        const X509 *old = own ? a->by.cert : former;
        ret->former_valid = !authority_is_expired(old);
        authority_expiry_text(old, ret->former_expires, sizeof ret->former_expires);
        days = days > 0 ? days : period_of(old);
        rc = own ? renew_authority(a, days, why, why_len)
                 : renew_leaf(a, name, former, days, why, why_len);
    }
    if (rc == FAB_OK)
        rc = read_expiry(a, name, ret->expires, sizeof ret->expires, why, why_len);
    X509_free(former);
    return rc;
}
