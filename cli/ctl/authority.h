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
 *     NAME.pem.SERIAL  a certificate that a renewal replaced, and that stays valid until it expires
 *     .NAME.key  a new key, between the moments at which NAME.pem and NAME.key are replaced
 *
 * All keys are for the NIST curve P-256 and have mode 0600. Each file is replaced as a whole. If a
 * command is killed between the two files of a name, the next command completes or undoes its work.
 */
#ifndef CLI_CTL_AUTHORITY_H
#define CLI_CTL_AUTHORITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* longest name of a certificate: the upper bound of a common name (RFC 5280, appendix A.1) */
#define AUTHORITY_NAME_MAX 64
/* the name of the authority itself in lists and for renewals */
#define AUTHORITY_OWN_NAME "ca"

/* All functions return IO or NOMEM, or what is said below. why[] then has a sentence. */
struct authority;
/* Makes the directory, unless it exists, and an authority in it that is valid for this number of
 * days. EXISTS: the directory has an authority; nothing changed. */
int authority_make(const char *dir, unsigned days, char *why, size_t why_len);
/* Opens the authority in the directory, and locks it until authority_close. NOT_FOUND: there is
 * none. DENIED: others can read its key. */
int authority_open(const char *dir, struct authority **ret, char *why, size_t why_len);
void authority_close(struct authority *a); /* a may be NULL */

/* Issues a certificate with `name` as its common name. `others` are the host names and IP addresses
 * by which clients may reach a server with this certificate; none: it is for clients only. INVAL: a
 * name is not valid, or the certificate would expire after the authority. EXISTS: there is a valid
 * certificate for `name`. */
int authority_issue(struct authority *a, const char *name, char *const *others, size_t count,
                    unsigned days, char *why, size_t why_len);
/* Puts the certificate of `name`, and those that renewals replaced, on the revocation list.
 * NOT_FOUND: there is no such certificate. EXISTS: it is on the list. */
int authority_revoke(struct authority *a, const char *name, char *why, size_t why_len);

struct authority_renewed {
    bool former_valid; /* the former certificate has not expired */
    char expires[24], former_expires[24];
};
/* Issues a certificate and key with the subject, alternative names and purpose of the current
 * certificate of `name`, which stays valid. `name` is AUTHORITY_OWN_NAME: gives the authority and
 * its revocation list a new period of validity; its key stays, and so do all certificates. days is
 * 0: the period is as long as the former one. NOT_FOUND: there is no such certificate. EXISTS: it
 * is revoked. INVAL: the certificate would expire after the authority, or the authority before
 * the present one. */
int authority_renew(struct authority *a, const char *name, unsigned days,
                    struct authority_renewed *ret, char *why, size_t why_len);

struct authority_issued {
    const char *name;
    /* "valid", "expired", "revoked", or "replaced": valid, but a renewal has replaced it */
    const char *state;
    char serial[48];    /* hexadecimal */
    char expires[24];   /* "2026-12-24 18:00 UTC" */
    uint64_t days_left; /* until it expires */
    bool valid;
    bool expiring; /* valid, and the rule of fab_base_expiry_warn_s says to warn operators */
};
/* Calls fn for the certificate of the authority ("ca"), with which its revocation list expires, and
 * then for the current certificate of each name, in the order of the names, each followed by those
 * that renewals replaced and that are still valid. */
int authority_list(struct authority *a, void (*fn)(void *ctx, const struct authority_issued *i),
                   void *ctx, char *why, size_t why_len);

#endif
