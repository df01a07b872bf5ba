/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads and replaces the files of a certificate authority (authority.h), for authority.c and
 * authority_list.c only. Each file is replaced as a whole, and a key together with its certificate.
 * If a command is killed, it leaves the old files, the new files, or a state that the next command
 * completes or undoes.
 *
 * A function that returns int returns OK, IO, NOMEM, or an error that its comment names. After a
 * failure, why[] has the reason.
 */
#ifndef CLI_CTL_AUTHORITY_FILES_H
#define CLI_CTL_AUTHORITY_FILES_H

#include "cli/ctl/authority.h"
#include "cli/ctl/signing.h"

#define AUTHORITY_SERIAL_LEN 48
#define AUTHORITY_FILE_LEN (AUTHORITY_NAME_MAX + AUTHORITY_SERIAL_LEN + 8)

struct authority {
    int dir; /* descriptor of the directory */
    const char *path;
    struct signer by;
    X509_CRL *crl;
};

/* Opens and locks the directory `dir`, which need not have an authority. Of *ret, only `dir` and
 * `path` are set. NOT_FOUND: the directory does not exist. */
int authority_open_dir(const char *dir, struct authority **ret, char *why, size_t why_len);

/* The content of one file; exactly one member is not NULL. In authority_replace_pair, the content
 * of two files: a certificate and its key. */
struct content {
    X509 *cert;
    EVP_PKEY *key;
    X509_CRL *crl;
};
int authority_replace(const struct authority *a, const char *file, const struct content *c,
                      char *why, size_t why_len);
/* Reads a certificate. The caller frees *ret. NOT_FOUND: the file does not exist. */
int authority_read_cert(const struct authority *a, const char *file, X509 **ret, char *why,
                        size_t why_len);
/* Replaces the certificate and the key of `name` by those in `pair`. former: the certificate that a
 * renewal replaces, which is kept in the file NAME.pem.SERIAL because it stays valid; NULL: the
 * present certificate, if any, is not kept. */
int authority_replace_pair(const struct authority *a, const char *name, X509 *former,
                           const struct content *pair, char *why, size_t why_len);
/* Adds to the list `to` the certificates of `name` that renewals have replaced, except revoked
 * ones. The caller frees them. current: the current certificate of `name`, which is not added. */
int authority_add_formers(const struct authority *a, const char *name, const X509 *current,
                          STACK_OF(X509) * to, char *why, size_t why_len);

int authority_no_memory(char *why, size_t why_len); /* writes why[], returns NOMEM */
int authority_fail(int rc, char *why, size_t why_len, const char *path, const char *file,
                   const char *reason); /* writes "PATH/FILE: REASON" to why[], returns `rc` */
/* Returns true if the text has 1 to AUTHORITY_NAME_MAX characters, begins with a letter or a digit,
 * and consists of letters, digits and the characters ".@_-". */
bool authority_is_name(const char *text);
/* Checks the name of a certificate: it must satisfy authority_is_name, and must not be "ca" or
 * "crl". Returns OK or INVAL. */
int authority_check_name(const char *name, char *why, size_t why_len);

bool authority_is_expired(const X509 *cert);
/* Writes the time of the expiry as "2026-12-24 18:00 UTC". */
void authority_expiry_text(const X509 *cert, char *ret, size_t len);
void authority_serial_text(const X509 *cert, char ret[AUTHORITY_SERIAL_LEN]);

#endif
