/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/ctl/authority_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "libfabmgr/base/status.h"

int authority_fail(int rc, char *why, size_t why_len, const char *path, const char *file,
                   const char *reason)
{
    snprintf(why, why_len, "%s/%s: %s", path, file, reason);
    return rc;
}

int authority_no_memory(char *why, size_t why_len)
{
    ERR_clear_error();
    snprintf(why, why_len, "out of memory");
    return FAB_E_NOMEM;
}

/* ---- names ---------------------------------------------------------------------------------- */

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

bool authority_is_name(const char *text)
{
    size_t len = strlen(text);
    return len <= AUTHORITY_NAME_MAX && strspn(text, LETTERS) > 0 &&
           strspn(text, LETTERS ".@_-") == len;
}

int authority_check_name(const char *name, char *why, size_t why_len)
{
    if (authority_is_name(name) && strcmp(name, "ca") != 0 && strcmp(name, "crl") != 0)
        return FAB_OK;
    snprintf(
        why, why_len,
        "'%.80s': a name of 1 to %d letters, digits and . @ _ - is expected, which begins with "
        "a letter or digit, and is not 'ca' or 'crl'",
        name, AUTHORITY_NAME_MAX);
    return FAB_E_INVAL;
}

/* ---- files ----------------------------------------------------------------------------------- */

static bool write_content(FILE *file, const struct content *c)
{
    int done = c->cert != NULL  ? PEM_write_X509(file, c->cert)
               : c->crl != NULL ? PEM_write_X509_CRL(file, c->crl)
                                : PEM_write_PrivateKey(file, c->key, NULL, NULL, 0, NULL, NULL);
    return done == 1 && fflush(file) == 0 && fsync(fileno(file)) == 0;
}

/* Writes a file under another name, and then renames it. Only files with keys get mode 0600. */
int authority_replace(const struct authority *a, const char *name, const struct content *c,
                      char *why, size_t why_len)
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
    return authority_fail(FAB_E_IO, why, why_len, a->path, name, strerror(error));
}

static FILE *open_file(const struct authority *a, const char *name)
{
    int fd = openat(a->dir, name, O_RDONLY | O_CLOEXEC);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (file == NULL && fd >= 0)
        close(fd);
    return file;
}

int authority_read_cert(const struct authority *a, const char *name, X509 **ret, char *why,
                        size_t why_len)
{
    FILE *file = open_file(a, name);
    if (file == NULL)
        return authority_fail(errno == ENOENT ? FAB_E_NOT_FOUND : FAB_E_IO, why, why_len, a->path,
                              name, strerror(errno));
    *ret = PEM_read_X509(file, NULL, NULL, NULL);
    fclose(file);
    ERR_clear_error();
    return *ret != NULL
               ? FAB_OK
               : authority_fail(FAB_E_IO, why, why_len, a->path, name, "it is no PEM certificate");
}

/* Returns true if the file has a private key that belongs to the certificate. *ret is the private
 * key in the file; NULL: the file has none. */
static bool read_key(const struct authority *a, const char *name, X509 *cert, EVP_PKEY **ret)
{
    FILE *file = open_file(a, name);
    *ret = file != NULL ? PEM_read_PrivateKey(file, NULL, NULL, NULL) : NULL;
    if (file != NULL)
        fclose(file);
    bool good = *ret != NULL && X509_check_private_key(cert, *ret) == 1;
    ERR_clear_error();
    return good;
}

static int read_crl(struct authority *a, char *why, size_t why_len)
{
    FILE *file = open_file(a, "crl.pem");
    if (file == NULL)
        return authority_fail(FAB_E_IO, why, why_len, a->path, "crl.pem", strerror(errno));
    a->crl = PEM_read_X509_CRL(file, NULL, NULL, NULL);
    fclose(file);
    if (a->crl != NULL && X509_CRL_verify(a->crl, a->by.key) != 1) {
        X509_CRL_free(a->crl);
        a->crl = NULL;
    }
    ERR_clear_error();
    return a->crl != NULL ? FAB_OK
                          : authority_fail(FAB_E_IO, why, why_len, a->path, "crl.pem",
                                           "it is no revocation list of this authority");
}

void authority_expiry_text(const X509 *cert, char *ret, size_t len)
{
    struct tm tm;
    if (ASN1_TIME_to_tm(X509_get0_notAfter(cert), &tm) != 1 ||
        strftime(ret, len, "%F %R UTC", &tm) == 0)
        snprintf(ret, len, "unknown");
}

bool authority_is_expired(const X509 *cert)
{
    return X509_cmp_current_time(X509_get0_notAfter(cert)) <= 0;
}

void authority_serial_text(const X509 *cert, char ret[AUTHORITY_SERIAL_LEN])
{
    BIGNUM *number = ASN1_INTEGER_to_BN(X509_get0_serialNumber(cert), NULL);
    char *hex = number != NULL ? BN_bn2hex(number) : NULL;
    snprintf(ret, AUTHORITY_SERIAL_LEN, "%s", hex != NULL ? hex : "unknown");
    OPENSSL_free(hex);
    BN_free(number);
}

/* ---- interrupted commands -------------------------------------------------------------------- */

/* Returns true for the file .NAME.key, in which a new key waits until its certificate is in
 * NAME.pem. Names begin with a letter or a digit, so no other file has such a name. */
static int is_waiting_key(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name);
    return len > 5 && len < AUTHORITY_FILE_LEN && entry->d_name[0] == '.' &&
           strcmp(entry->d_name + len - 4, ".key") == 0;
}

/* Completes or undoes a change that was interrupted. If NAME.pem is the certificate of the waiting
 * key, renames the key to NAME.key. Otherwise removes the key, because the command was killed
 * before it wrote NAME.pem. Returns IO if NAME.pem exists, but the waiting file has no key, or if a
 * file cannot be read, renamed or removed. */
static int settle_key(const struct authority *a, const char *waiting, char *why, size_t why_len)
{
    char file[AUTHORITY_FILE_LEN];
    X509 *cert = NULL;
    EVP_PKEY *key = NULL;
    snprintf(file, sizeof file, "%.*s.pem", (int)strlen(waiting) - 5, waiting + 1);
    int rc = authority_read_cert(a, file, &cert, why, why_len);
    bool used = rc == FAB_OK && read_key(a, waiting, cert, &key);
    bool done = false;
    if (used)
        done = renameat(a->dir, waiting, a->dir, waiting + 1) == 0 && fsync(a->dir) == 0;
    else if (key != NULL || rc == FAB_E_NOT_FOUND)
        done = unlinkat(a->dir, waiting, 0) == 0;
    else if (rc == FAB_OK)
        errno = EINVAL;
    if (rc == FAB_OK || rc == FAB_E_NOT_FOUND)
        rc = done ? FAB_OK
                  : authority_fail(FAB_E_IO, why, why_len, a->path, waiting, strerror(errno));
    X509_free(cert);
    EVP_PKEY_free(key);
    return rc;
}

static int settle_keys(const struct authority *a, char *why, size_t why_len)
{
    struct dirent **entries = NULL;
    int rc = FAB_OK, count = scandirat(a->dir, ".", &entries, is_waiting_key, alphasort);
    if (count < 0)
        return authority_fail(FAB_E_IO, why, why_len, a->path, ".", strerror(errno));
    for (int i = 0; i < count; i++) {
        if (rc == FAB_OK)
            rc = settle_key(a, entries[i]->d_name, why, why_len);
        free(entries[i]);
    }
    free(entries);
    return rc;
}

/* ---- certificates that a renewal replaced ---------------------------------------------------- */

/* Returns true for a file NAME.pem.SERIAL. This file has a certificate that a renewal replaced, but
 * that stays valid until it expires. The file is kept so that a revocation of NAME can revoke this
 * certificate, too. */
static bool is_former(const char *file, const char *name)
{
    size_t len = strlen(name);
    return strncmp(file, name, len) == 0 && strncmp(file + len, ".pem.", 5) == 0 &&
           file[len + 5] != '\0' &&
           strspn(file + len + 5, "0123456789ABCDEF") == strlen(file + len + 5);
}

/* Keeps the certificate that a renewal replaces, in the file NAME.pem.SERIAL. */
static int keep_former(const struct authority *a, const char *name, X509 *cert, char *why,
                       size_t why_len)
{
    char file[AUTHORITY_FILE_LEN], serial[AUTHORITY_SERIAL_LEN];
    authority_serial_text(cert, serial);
    snprintf(file, sizeof file, "%s.pem.%s", name, serial);
    return authority_replace(a, file, &(struct content){.cert = cert}, why, why_len);
}

/* If the command is killed in this function, it can leave a new NAME.pem and an old NAME.key. The
 * next command then completes or undoes the change (settle_keys). */
int authority_replace_pair(const struct authority *a, const char *name, X509 *former,
                           const struct content *pair, char *why, size_t why_len)
{
    char waiting[AUTHORITY_FILE_LEN], file[AUTHORITY_FILE_LEN];
    snprintf(waiting, sizeof waiting, ".%s.key", name);
    snprintf(file, sizeof file, "%s.pem", name);
    int rc = former != NULL ? keep_former(a, name, former, why, why_len) : FAB_OK;
    if (rc == FAB_OK)
        rc = authority_replace(a, waiting, &(struct content){.key = pair->key}, why, why_len);
    if (rc == FAB_OK)
        rc = authority_replace(a, file, &(struct content){.cert = pair->cert}, why, why_len);
    return rc == FAB_OK ? settle_key(a, waiting, why, why_len) : rc;
}

/* Adds the certificate in `file`, which a renewal has replaced, to the list `to`. Leaves out a
 * revoked certificate, and the certificate `current`: if a renewal was interrupted, `file` is a
 * copy of the current certificate. */
static int add_former(const struct authority *a, const char *file, const X509 *current,
                      STACK_OF(X509) * to, char *why, size_t why_len)
{
    X509 *cert = NULL;
    int rc = authority_read_cert(a, file, &cert, why, why_len);
    if (rc != FAB_OK)
        return rc;
    if (signing_is_revoked(a->crl, cert) || X509_cmp(cert, current) == 0)
        X509_free(cert);
    else if (sk_X509_push(to, cert) == 0) {
        X509_free(cert);
        rc = authority_no_memory(why, why_len);
    }
    return rc;
}

int authority_add_formers(const struct authority *a, const char *name, const X509 *current,
                          STACK_OF(X509) * to, char *why, size_t why_len)
{
    struct dirent **entries = NULL;
    int rc = FAB_OK, count = scandirat(a->dir, ".", &entries, NULL, alphasort);
    if (count < 0)
        return authority_fail(FAB_E_IO, why, why_len, a->path, ".", strerror(errno));
    for (int i = 0; i < count; i++) {
        if (rc == FAB_OK && is_former(entries[i]->d_name, name))
            rc = add_former(a, entries[i]->d_name, current, to, why, why_len);
        free(entries[i]);
    }
    free(entries);
    return rc;
}

/* ---- opening --------------------------------------------------------------------------------- */

void authority_close(struct authority *a)
{
    if (a == NULL)
        return;
    X509_free(a->by.cert);
    EVP_PKEY_free(a->by.key);
    X509_CRL_free(a->crl);
    if (a->dir >= 0)
        close(a->dir);
    free(a);
}

int authority_open_dir(const char *dir, struct authority **ret, char *why, size_t why_len)
{
    struct authority *a = calloc(1, sizeof *a);
    if (a == NULL)
        return authority_no_memory(why, why_len);
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

/* Returns DENIED if other users can read or write the private key of the authority. */
static int check_key_mode(const struct authority *a, char *why, size_t why_len)
{
    struct stat st;
    if (fstatat(a->dir, "ca.key", &st, 0) != 0 || (st.st_mode & (S_IRWXG | S_IRWXO)) == 0)
        return FAB_OK;
    return authority_fail(FAB_E_DENIED, why, why_len, a->path, "ca.key",
                          "other users can read or write it; run 'chmod 600' on it, and make "
                          "another authority if others may know it");
}

int authority_open(const char *dir, struct authority **ret, char *why, size_t why_len)
{
    struct authority *a = NULL;
    int rc = authority_open_dir(dir, &a, why, why_len);
    if (rc == FAB_OK)
        rc = authority_read_cert(a, "ca.pem", &a->by.cert, why, why_len);
    if (rc == FAB_E_NOT_FOUND)
        snprintf(why, why_len, "%s: there is no authority; 'fabricctl cert init' makes one", dir);
    if (rc == FAB_OK)
        rc = check_key_mode(a, why, why_len);
    if (rc == FAB_OK && !read_key(a, "ca.key", a->by.cert, &a->by.key))
        rc = authority_fail(FAB_E_IO, why, why_len, dir, "ca.key", "it is not the key of ca.pem");
    if (rc == FAB_OK)
        rc = read_crl(a, why, why_len);
    if (rc == FAB_OK)
        rc = settle_keys(a, why, why_len);
    if (rc != FAB_OK) {
        authority_close(a);
        return rc;
    }
    *ret = a;
    return FAB_OK;
}
