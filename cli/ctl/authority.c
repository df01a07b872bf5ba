/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/ctl/authority.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "libfabmgr/base/status.h"

/* Certificates are valid from this many seconds before their creation, since the clocks of hosts
 * may differ. */
#define SKEW_S 300
#define FILE_LEN (AUTHORITY_NAME_MAX + 16)
#define SERIAL_BITS 127

struct authority {
    int dir; /* descriptor of the directory */
    const char *path;
    X509 *cert;
    EVP_PKEY *key;
    X509_CRL *crl;
};

static int fail(int rc, char *why, size_t why_len, const char *path, const char *file,
                const char *reason)
{
    snprintf(why, why_len, "%s/%s: %s", path, file, reason);
    return rc;
}

static int no_memory(char *why, size_t why_len)
{
    ERR_clear_error();
    snprintf(why, why_len, "out of memory");
    return FAB_E_NOMEM;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* What a file contains; one member is not NULL. */
struct content {
    X509 *cert;
    EVP_PKEY *key;
    X509_CRL *crl;
};

static bool write_content(FILE *file, const struct content *c)
{
    int done = c->cert != NULL  ? PEM_write_X509(file, c->cert)
               : c->crl != NULL ? PEM_write_X509_CRL(file, c->crl)
                                : PEM_write_PrivateKey(file, c->key, NULL, NULL, 0, NULL, NULL);
    return done == 1 && fflush(file) == 0 && fsync(fileno(file)) == 0;
}

/* Writes a file under another name, and then renames it. Only keys are secret. */
static int replace(const struct authority *a, const char *name, const struct content *c, char *why,
                   size_t why_len)
{
    static const char part[] = ".part";
    unlinkat(a->dir, part, 0);
    int fd =
        openat(a->dir, part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, c->key != NULL ? 0600 : 0644);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    bool done = file != NULL && write_content(file, c);
    int error = errno;
    if (file != NULL && fclose(file) != 0 && done) {
        error = errno;
        done = false;
    } else if (file == NULL && fd >= 0) {
        close(fd);
    }
    if (done && renameat(a->dir, part, a->dir, name) == 0 && fsync(a->dir) == 0)
        return FAB_OK;
    if (done)
        error = errno;
    unlinkat(a->dir, part, 0);
    ERR_clear_error();
    return fail(FAB_E_IO, why, why_len, a->path, name, strerror(error));
}

static FILE *open_file(const struct authority *a, const char *name)
{
    int fd = openat(a->dir, name, O_RDONLY | O_CLOEXEC);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (file == NULL && fd >= 0)
        close(fd);
    return file;
}

/* Reads a certificate. NOT_FOUND: there is no such file. */
static int read_cert(const struct authority *a, const char *name, X509 **ret, char *why,
                     size_t why_len)
{
    FILE *file = open_file(a, name);
    if (file == NULL)
        return fail(errno == ENOENT ? FAB_E_NOT_FOUND : FAB_E_IO, why, why_len, a->path, name,
                    strerror(errno));
    *ret = PEM_read_X509(file, NULL, NULL, NULL);
    fclose(file);
    ERR_clear_error();
    return *ret != NULL ? FAB_OK
                        : fail(FAB_E_IO, why, why_len, a->path, name, "it is no PEM certificate");
}

static int read_key(struct authority *a, char *why, size_t why_len)
{
    FILE *file = open_file(a, "ca.key");
    if (file == NULL)
        return fail(FAB_E_IO, why, why_len, a->path, "ca.key", strerror(errno));
    a->key = PEM_read_PrivateKey(file, NULL, NULL, NULL);
    fclose(file);
    ERR_clear_error();
    if (a->key == NULL || X509_check_private_key(a->cert, a->key) != 1)
        return fail(FAB_E_IO, why, why_len, a->path, "ca.key", "it is not the key of ca.pem");
    return FAB_OK;
}

static int read_crl(struct authority *a, char *why, size_t why_len)
{
    FILE *file = open_file(a, "crl.pem");
    if (file == NULL)
        return fail(FAB_E_IO, why, why_len, a->path, "crl.pem", strerror(errno));
    a->crl = PEM_read_X509_CRL(file, NULL, NULL, NULL);
    fclose(file);
    if (a->crl != NULL && X509_CRL_verify(a->crl, a->key) != 1) {
        X509_CRL_free(a->crl);
        a->crl = NULL;
    }
    ERR_clear_error();
    return a->crl != NULL ? FAB_OK
                          : fail(FAB_E_IO, why, why_len, a->path, "crl.pem",
                                 "it is no revocation list of this authority");
}

/* ---- certificates and lists ------------------------------------------------------------------ */

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

/* Creates a certificate without extensions and signature. Returns NULL if memory ran out. */
static X509 *new_cert(const char *name, unsigned days, EVP_PKEY *key)
{
    X509 *cert = X509_new();
    if (cert != NULL && X509_set_version(cert, X509_VERSION_3) == 1 && set_random_serial(cert) &&
        X509_gmtime_adj(X509_getm_notBefore(cert), -SKEW_S) != NULL &&
        X509_time_adj_ex(X509_getm_notAfter(cert), (int)days, 0, NULL) != NULL &&
        X509_set_pubkey(cert, key) == 1 &&
        X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_UTF8,
                                   (const unsigned char *)name, -1, -1, 0) == 1)
        return cert;
    X509_free(cert);
    return NULL;
}

/* Signs the certificate of the authority itself. */
static bool sign_root(X509 *cert, EVP_PKEY *key)
{
    return X509_set_issuer_name(cert, X509_get_subject_name(cert)) == 1 &&
           add_extension(cert, cert, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
           add_extension(cert, cert, NID_key_usage, "critical,keyCertSign,cRLSign") &&
           add_extension(cert, cert, NID_subject_key_identifier, "hash") &&
           X509_sign(cert, key, EVP_sha256()) > 0;
}

/* names: the value of the subjectAltName extension. If it is "", the certificate is for clients
 * only, so that no client can take the place of a manager. */
static bool sign_leaf(const struct authority *a, X509 *cert, const char *names)
{
    return X509_set_issuer_name(cert, X509_get_subject_name(a->cert)) == 1 &&
           add_extension(cert, a->cert, NID_basic_constraints, "critical,CA:FALSE") &&
           add_extension(cert, a->cert, NID_key_usage, "critical,digitalSignature") &&
           add_extension(cert, a->cert, NID_ext_key_usage,
                         names[0] != '\0' ? "serverAuth,clientAuth" : "clientAuth") &&
           add_extension(cert, a->cert, NID_subject_key_identifier, "hash") &&
           add_extension(cert, a->cert, NID_authority_key_identifier, "keyid:always") &&
           (names[0] == '\0' || add_extension(cert, a->cert, NID_subject_alt_name, names)) &&
           X509_sign(cert, a->key, EVP_sha256()) > 0;
}

/* Adds the entries of the previous list, and one with this serial number if it is not NULL. Returns
 * the number of entries, or -1 if memory ran out. */
static long add_entries(X509_CRL *to, X509_CRL *previous, const ASN1_INTEGER *serial)
{
    STACK_OF(X509_REVOKED) *old = previous != NULL ? X509_CRL_get_REVOKED(previous) : NULL;
    int count = old != NULL ? sk_X509_REVOKED_num(old) : 0;
    ASN1_TIME *now = X509_gmtime_adj(NULL, 0);
    bool good = now != NULL;
    for (int i = 0; i < count + (serial != NULL) && good; i++) {
        X509_REVOKED *r =
            i < count ? X509_REVOKED_dup(sk_X509_REVOKED_value(old, i)) : X509_REVOKED_new();
        good = r != NULL &&
               (i < count ||
                (X509_REVOKED_set_serialNumber(r, (ASN1_INTEGER *)(uintptr_t)serial) == 1 &&
                 X509_REVOKED_set_revocationDate(r, now) == 1)) &&
               X509_CRL_add0_revoked(to, r) == 1;
        if (!good)
            X509_REVOKED_free(r);
    }
    ASN1_TIME_free(now);
    return good ? count + (serial != NULL) : -1;
}

/* The number of a list grows with each revocation (RFC 5280, section 5.2.3). */
static bool add_number(X509_CRL *crl, long number)
{
    ASN1_INTEGER *n = ASN1_INTEGER_new();
    bool added = n != NULL && ASN1_INTEGER_set(n, number) == 1 &&
                 X509_CRL_add1_ext_i2d(crl, NID_crl_number, n, 0, 0) == 1;
    ASN1_INTEGER_free(n);
    return added;
}

/* Creates a revocation list from the previous one (NULL: none), and one more serial number. Returns
 * NULL if memory ran out. */
static X509_CRL *new_crl(const struct authority *a, X509_CRL *previous, const ASN1_INTEGER *serial)
{
    X509_CRL *crl = X509_CRL_new();
    ASN1_TIME *now = X509_gmtime_adj(NULL, 0);
    long count = crl != NULL && now != NULL ? add_entries(crl, previous, serial) : -1;
    bool good = count >= 0 && X509_CRL_set_version(crl, X509_CRL_VERSION_2) == 1 &&
                X509_CRL_set_issuer_name(crl, X509_get_subject_name(a->cert)) == 1 &&
                X509_CRL_set1_lastUpdate(crl, now) == 1 &&
                X509_CRL_set1_nextUpdate(crl, X509_get0_notAfter(a->cert)) == 1 &&
                add_number(crl, count + 1) && X509_CRL_sort(crl) == 1 &&
                X509_CRL_sign(crl, a->key, EVP_sha256()) > 0;
    ASN1_TIME_free(now);
    if (good)
        return crl;
    X509_CRL_free(crl);
    return NULL;
}

static bool is_revoked(const struct authority *a, X509 *cert)
{
    X509_REVOKED *entry;
    return X509_CRL_get0_by_serial(a->crl, &entry, X509_get_serialNumber(cert)) == 1;
}

/* ---- opening and making ---------------------------------------------------------------------- */

void authority_close(struct authority *a)
{
    if (a == NULL)
        return;
    X509_free(a->cert);
    EVP_PKEY_free(a->key);
    X509_CRL_free(a->crl);
    if (a->dir >= 0)
        close(a->dir);
    free(a);
}

static int open_dir(const char *dir, struct authority **ret, char *why, size_t why_len)
{
    struct authority *a = calloc(1, sizeof *a);
    if (a == NULL)
        return no_memory(why, why_len);
    a->path = dir;
    a->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (a->dir >= 0 && flock(a->dir, LOCK_EX) == 0) {
        *ret = a;
        return FAB_OK;
    }
    int rc = errno == ENOENT ? FAB_E_NOT_FOUND : FAB_E_IO;
    snprintf(why, why_len, "%s: %s", dir, strerror(errno));
    authority_close(a);
    return rc;
}

int authority_open(const char *dir, struct authority **ret, char *why, size_t why_len)
{
    struct authority *a = NULL;
    int rc = open_dir(dir, &a, why, why_len);
    if (rc == FAB_OK)
        rc = read_cert(a, "ca.pem", &a->cert, why, why_len);
    if (rc == FAB_E_NOT_FOUND)
        snprintf(why, why_len, "%s: there is no authority; 'fabricctl cert init' makes one", dir);
    if (rc == FAB_OK)
        rc = read_key(a, why, why_len);
    if (rc == FAB_OK)
        rc = read_crl(a, why, why_len);
    if (rc != FAB_OK) {
        authority_close(a);
        return rc;
    }
    *ret = a;
    return FAB_OK;
}

/* ca.pem is written last: the authority exists from then on. */
static int make_files(struct authority *a, unsigned days, char *why, size_t why_len)
{
    a->key = EVP_EC_gen("P-256");
    a->cert = a->key != NULL ? new_cert("fabricd CA", days, a->key) : NULL;
    if (a->cert == NULL || !sign_root(a->cert, a->key) || (a->crl = new_crl(a, NULL, NULL)) == NULL)
        return no_memory(why, why_len);
    int rc = replace(a, "ca.key", &(struct content){.key = a->key}, why, why_len);
    if (rc == FAB_OK)
        rc = replace(a, "crl.pem", &(struct content){.crl = a->crl}, why, why_len);
    if (rc == FAB_OK)
        rc = replace(a, "ca.pem", &(struct content){.cert = a->cert}, why, why_len);
    return rc;
}

int authority_make(const char *dir, unsigned days, char *why, size_t why_len)
{
    struct authority *a = NULL;
    if (mkdir(dir, 0700) != 0 && errno != EEXIST) {
        snprintf(why, why_len, "%s: %s", dir, strerror(errno));
        return FAB_E_IO;
    }
    int rc = open_dir(dir, &a, why, why_len);
    if (rc == FAB_OK && faccessat(a->dir, "ca.pem", F_OK, 0) == 0)
        rc = fail(FAB_E_EXISTS, why, why_len, dir, "ca.pem",
                  "there is an authority already; name another directory with --dir");
    if (rc == FAB_OK)
        rc = make_files(a, days, why, why_len);
    authority_close(a);
    return rc;
}

/* ---- issuing, revoking and listing ----------------------------------------------------------- */

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

/* Returns true if the text can be the name of a file and of a host. */
static bool is_name(const char *text)
{
    size_t len = strlen(text);
    return len <= AUTHORITY_NAME_MAX && strspn(text, LETTERS) > 0 &&
           strspn(text, LETTERS ".@_-") == len;
}

static int check_name(const char *name, char *why, size_t why_len)
{
    if (is_name(name) && strcmp(name, "ca") != 0 && strcmp(name, "crl") != 0)
        return FAB_OK;
    snprintf(
        why, why_len,
        "'%.80s': a name of 1 to %d letters, digits and . @ _ - is expected, which begins with "
        "a letter or digit, and is not 'ca' or 'crl'",
        name, AUTHORITY_NAME_MAX);
    return FAB_E_INVAL;
}

/* Writes the names as the value of a subjectAltName extension: "DNS:mgmt-1,IP:192.0.2.1". */
static int alternative_names(char *const *names, size_t count, char **ret, char *why,
                             size_t why_len)
{
    size_t size = 1, used = 0;
    unsigned char address[16];
    for (size_t i = 0; i < count; i++)
        size += strlen(names[i]) + 5;
    char *text = calloc(1, size);
    if (text == NULL)
        return no_memory(why, why_len);
    for (size_t i = 0; i < count; i++) {
        bool ip = inet_pton(AF_INET, names[i], address) == 1 ||
                  inet_pton(AF_INET6, names[i], address) == 1;
        if (!ip && (!is_name(names[i]) || strpbrk(names[i], "@_") != NULL)) {
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

static void time_text(const ASN1_TIME *at, char *ret, size_t len)
{
    struct tm tm;
    if (ASN1_TIME_to_tm(at, &tm) != 1 || strftime(ret, len, "%F %R UTC", &tm) == 0)
        snprintf(ret, len, "unknown");
}

/* EXISTS: there is a certificate for this name that is neither revoked nor expired. */
static int check_free(const struct authority *a, const char *name, const char *file, char *why,
                      size_t why_len)
{
    X509 *cert = NULL;
    int rc = read_cert(a, file, &cert, why, why_len);
    if (rc == FAB_E_NOT_FOUND)
        return FAB_OK;
    if (rc == FAB_OK && !is_revoked(a, cert) &&
        X509_cmp_current_time(X509_get0_notAfter(cert)) > 0) {
        snprintf(why, why_len,
                 "%s has a valid certificate; before you issue another, run 'fabricctl cert revoke "
                 "%s'",
                 name, name);
        rc = FAB_E_EXISTS;
    }
    X509_free(cert);
    return rc;
}

static int write_pair(const struct authority *a, const char *name, const char *names, unsigned days,
                      char *why, size_t why_len)
{
    char file[FILE_LEN], expires[24];
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = key != NULL ? new_cert(name, days, key) : NULL;
    int rc = FAB_OK;
    time_text(X509_get0_notAfter(a->cert), expires, sizeof expires);
    if (cert == NULL || !sign_leaf(a, cert, names)) {
        rc = no_memory(why, why_len);
    } else if (ASN1_TIME_compare(X509_get0_notAfter(cert), X509_get0_notAfter(a->cert)) > 0) {
        snprintf(why, why_len,
                 "the certificate would expire after the authority (%s); shorten it "
                 "with --days",
                 expires);
        rc = FAB_E_INVAL;
    }
    snprintf(file, sizeof file, "%s.key", name);
    if (rc == FAB_OK)
        rc = replace(a, file, &(struct content){.key = key}, why, why_len);
    snprintf(file, sizeof file, "%s.pem", name);
    if (rc == FAB_OK)
        rc = replace(a, file, &(struct content){.cert = cert}, why, why_len);
    X509_free(cert);
    EVP_PKEY_free(key);
    return rc;
}

int authority_issue(struct authority *a, const char *name, char *const *others, size_t count,
                    unsigned days, char *why, size_t why_len)
{
    char file[FILE_LEN], *names = NULL;
    int rc = check_name(name, why, why_len);
    if (rc != FAB_OK)
        return rc;
    snprintf(file, sizeof file, "%s.pem", name);
    rc = alternative_names(others, count, &names, why, why_len);
    if (rc == FAB_OK)
        rc = check_free(a, name, file, why, why_len);
    if (rc == FAB_OK)
        rc = write_pair(a, name, names, days, why, why_len);
    free(names);
    return rc;
}

int authority_revoke(struct authority *a, const char *name, char *why, size_t why_len)
{
    char file[FILE_LEN];
    X509 *cert = NULL;
    X509_CRL *crl = NULL;
    int rc = check_name(name, why, why_len);
    if (rc != FAB_OK)
        return rc;
    snprintf(file, sizeof file, "%s.pem", name);
    rc = read_cert(a, file, &cert, why, why_len);
    if (rc == FAB_E_NOT_FOUND)
        snprintf(why, why_len, "%s has no certificate; 'fabricctl cert list' lists all", name);
    if (rc == FAB_OK && is_revoked(a, cert)) {
        snprintf(why, why_len, "the certificate of %s is revoked already", name);
        rc = FAB_E_EXISTS;
    }
    if (rc == FAB_OK && (crl = new_crl(a, a->crl, X509_get0_serialNumber(cert))) == NULL)
        rc = no_memory(why, why_len);
    if (rc == FAB_OK)
        rc = replace(a, "crl.pem", &(struct content){.crl = crl}, why, why_len);
    X509_free(cert);
    X509_CRL_free(crl);
    return rc;
}

static int is_issued(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name);
    char name[AUTHORITY_NAME_MAX + 1], why[256];
    if (len < 5 || len - 4 > AUTHORITY_NAME_MAX || strcmp(entry->d_name + len - 4, ".pem") != 0)
        return 0;
    snprintf(name, sizeof name, "%.*s", (int)(len - 4), entry->d_name);
    return check_name(name, why, sizeof why) == FAB_OK;
}

static void describe(const struct authority *a, X509 *cert, struct authority_issued *ret)
{
    BIGNUM *number = ASN1_INTEGER_to_BN(X509_get0_serialNumber(cert), NULL);
    char *hex = number != NULL ? BN_bn2hex(number) : NULL;
    snprintf(ret->serial, sizeof ret->serial, "%s", hex != NULL ? hex : "unknown");
    OPENSSL_free(hex);
    BN_free(number);
    time_text(X509_get0_notAfter(cert), ret->expires, sizeof ret->expires);
    ret->state = is_revoked(a, cert)                                    ? "revoked"
                 : X509_cmp_current_time(X509_get0_notAfter(cert)) <= 0 ? "expired"
                                                                        : "valid";
    ret->valid = strcmp(ret->state, "valid") == 0;
}

int authority_list(struct authority *a, void (*fn)(void *ctx, const struct authority_issued *i),
                   void *ctx, char *why, size_t why_len)
{
    struct dirent **entries = NULL;
    int rc = FAB_OK, count = scandirat(a->dir, ".", &entries, is_issued, alphasort);
    if (count < 0) {
        snprintf(why, why_len, "%s: %s", a->path, strerror(errno));
        return FAB_E_IO;
    }
    struct authority_issued own = {.name = "ca"};
    describe(a, a->cert, &own);
    fn(ctx, &own);
    for (int i = 0; i < count; i++) {
        X509 *cert = NULL;
        if (rc == FAB_OK)
            rc = read_cert(a, entries[i]->d_name, &cert, why, why_len);
        if (rc == FAB_OK) {
            struct authority_issued issued = {.name = entries[i]->d_name};
            describe(a, cert, &issued);
            entries[i]->d_name[strlen(entries[i]->d_name) - 4] = '\0';
            fn(ctx, &issued);
        }
        X509_free(cert);
        free(entries[i]);
    }
    free(entries);
    return rc;
}
