/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A small certificate authority in a directory, for fabrics that have no other. All of its state is
 * in these files:
 *
 *     ca.pem    the certificate of the authority
 *     ca.key    its private key
 *     crl.pem   its revocation list, which expires together with ca.pem
 *     NAME.pem  the certificate that was issued last for NAME
 *     NAME.key  the private key of this certificate
 *
 * All keys are for the NIST curve P-256 and have mode 0600. Each file is replaced as a whole, so a
 * command that is interrupted leaves the previous file.
 */
#ifndef CLI_CTL_AUTHORITY_H
#define CLI_CTL_AUTHORITY_H

#include <stdbool.h>
#include <stddef.h>

/* longest name of a certificate: the upper bound of a common name (RFC 5280, appendix A.1) */
#define AUTHORITY_NAME_MAX 64

/* All functions return IO or NOMEM, or what is said below. why[] then has a sentence. */
struct authority;
/* Makes the directory, unless it exists, and an authority in it that is valid for this number of
 * days. EXISTS: the directory has an authority; nothing changed. */
int authority_make(const char *dir, unsigned days, char *why, size_t why_len);
/* Opens the authority in the directory, and locks it until authority_close. NOT_FOUND: there is
 * none. */
int authority_open(const char *dir, struct authority **ret, char *why, size_t why_len);
void authority_close(struct authority *a); /* a may be NULL */

/* Issues a certificate with `name` as its common name. `others` are the host names and IP addresses
 * by which clients may reach a server with this certificate; none: it is for clients only. INVAL: a
 * name is not valid, or the certificate would expire after the authority. EXISTS: there is a valid
 * certificate for `name`. */
int authority_issue(struct authority *a, const char *name, char *const *others, size_t count,
                    unsigned days, char *why, size_t why_len);
/* Puts the certificate of `name` on the revocation list. NOT_FOUND: there is no such certificate.
 * EXISTS: it is on the list. */
int authority_revoke(struct authority *a, const char *name, char *why, size_t why_len);

struct authority_issued {
    const char *name;
    const char *state; /* "valid", "expired" or "revoked" */
    char serial[48];   /* hexadecimal */
    char expires[24];  /* "2026-12-24 18:00 UTC" */
    bool valid;
};
/* Calls fn for the certificate of the authority ("ca"), with which its revocation list expires, and
 * then for the current certificate of each name, in the order of the names. */
int authority_list(struct authority *a, void (*fn)(void *ctx, const struct authority_issued *i),
                   void *ctx, char *why, size_t why_len);

#endif
