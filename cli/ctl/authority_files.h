/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The files of a certificate authority (authority.h), for the functions that make and change them.
 * The functions replace each file as a whole, and a key together with its certificate. If a command
 * is killed, it leaves the old files, the new files, or a state that the next command completes or
 * undoes.
 *
 * The functions that return int return OK, IO, NOMEM, or what their comments say. After a failure,
 * why[] has a sentence.
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

/* Opens and locks a directory, which need not have an authority. NOT_FOUND: there is no
 * directory. */
int authority_open_dir(const char *dir, struct authority **ret, char *why, size_t why_len);

/* The content of a file; exactly one member is not NULL. */
struct content {
    X509 *cert;
    EVP_PKEY *key;
    X509_CRL *crl;
};
int authority_replace(const struct authority *a, const char *file, const struct content *c,
                      char *why, size_t why_len);
/* Reads a certificate, which the caller owns. NOT_FOUND: there is no such file. */
int authority_read_cert(const struct authority *a, const char *file, X509 **ret, char *why,
                        size_t why_len);
/* Replaces the certificate and the key of a name. former: the certificate that is replaced, if it
 * stays valid and so must be kept; otherwise NULL. */
int authority_replace_pair(const struct authority *a, const char *name, X509 *former,
                           const struct content *pair, char *why, size_t why_len);
/* Adds to the list `to` those certificates of a name that renewals have replaced and that are not
 * revoked. The caller frees them. `current`: the current certificate of the name. */
int authority_add_formers(const struct authority *a, const char *name, const X509 *current,
                          STACK_OF(X509) * to, char *why, size_t why_len);

int authority_no_memory(char *why, size_t why_len); /* writes why[], returns NOMEM */
int authority_fail(int rc, char *why, size_t why_len, const char *path, const char *file,
                   const char *reason); /* returns `rc` */
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
