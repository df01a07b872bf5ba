/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A small certificate authority in a directory, for fabrics that have no other. The whole state of
 * the authority is in these files:
 *
 *     ca.pem    the certificate of the authority
 *     ca.key    its private key
 *     crl.pem   its revocation list, which expires together with ca.pem
 *     NAME.pem  the certificate that was issued last for NAME
 *     NAME.key  the private key of this certificate
 *     NAME.pem.SERIAL  a certificate that a renewal replaced, and that stays valid until it expires
 *     .NAME.key  a new key; it is renamed to NAME.key when NAME.pem has its certificate
 *
 * All keys are for the NIST curve P-256, and their files have mode 0600. Each file is replaced as a
 * whole. If a command is killed when it has replaced only one of NAME.pem and NAME.key, the next
 * command completes or undoes the change.
 */
#ifndef CLI_CTL_AUTHORITY_H
#define CLI_CTL_AUTHORITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* maximum length of the name of a certificate, in characters; X.509 limits common names to this
 * length (RFC 5280, appendix A.1) */
#define AUTHORITY_NAME_MAX 64
/* the name of the authority itself, in lists and as an argument of authority_renew */
#define AUTHORITY_OWN_NAME "ca"

/* A function below that returns int returns OK, IO, NOMEM, or an error that its comment names.
 * After a failure, why[] has the reason. */
struct authority;
/* Makes an authority that is valid for `days` days. Also makes the directory if it does not exist.
 * EXISTS: the directory already has an authority; nothing was changed. */
int authority_make(const char *dir, unsigned days, char *why, size_t why_len);
/* Opens the authority in the directory `dir`, and locks the directory until authority_close.
 * NOT_FOUND: the directory has no authority. DENIED: other users can read or write the authority's
 * key. */
int authority_open(const char *dir, struct authority **ret, char *why, size_t why_len);
void authority_close(struct authority *a); /* `a` may be NULL */

/* Issues a certificate with `name` as its common name. `others` are the host names and IP addresses
 * by which clients may reach a server with this certificate; if there are none, the certificate is
 * only for clients. INVAL: a name is not valid, or the certificate would expire after the
 * authority. EXISTS: there is a valid certificate for `name`. */
int authority_issue(struct authority *a, const char *name, char *const *others, size_t count,
                    unsigned days, char *why, size_t why_len);
/* Adds the current certificate of `name`, and the older ones that renewals have replaced, to the
 * revocation list. INVAL: the name is not valid. NOT_FOUND: there is no such certificate. EXISTS:
 * the certificate is already in the list. */
int authority_revoke(struct authority *a, const char *name, char *why, size_t why_len);

struct authority_renewed {
    bool former_valid; /* true: the replaced certificate has not expired yet */
    char expires[24], former_expires[24];
};
/* Issues a new certificate and key for `name`. The subject, the alternative names and the purpose
 * are those of the current certificate, which stays valid. If `name` is AUTHORITY_OWN_NAME, gives
 * the authority and its revocation list a new period of validity; the key of the authority and all
 * certificates stay valid. days: length of the new period; 0: as long as the present period.
 * NOT_FOUND: there is no certificate for `name`. EXISTS: the certificate is revoked. INVAL: the
 * name is not valid, or the new certificate would expire after the authority or, if `name` is
 * AUTHORITY_OWN_NAME, before the present certificate of the authority. */
int authority_renew(struct authority *a, const char *name, unsigned days,
                    struct authority_renewed *ret, char *why, size_t why_len);

struct authority_issued {
    const char *name;
    /* "valid", "expired", "revoked", or "replaced" (valid, but a renewal has replaced it) */
    const char *state;
    char serial[48];    /* serial number in hexadecimal digits */
    char expires[24];   /* time of the expiry, such as "2026-12-24 18:00 UTC" */
    uint64_t days_left; /* number of days until the certificate expires */
    bool valid;
    /* true: the certificate is still valid, but expires so soon that operators must be warned
     * (fab_base_expiry_warn_s) */
    bool expiring;
};
/* Calls fn for each certificate. The first is that of the authority ("ca"), which expires together
 * with its revocation list. Then come the names in alphabetical order. For each name, the current
 * certificate comes first, then those that renewals replaced and that are still valid. */
int authority_list(struct authority *a, void (*fn)(void *ctx, const struct authority_issued *i),
                   void *ctx, char *why, size_t why_len);

#endif
