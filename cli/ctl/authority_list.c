/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists the certificates of an authority, and finds out which of them expire soon. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/ctl/authority_files.h"
#include "libfabmgr/base/expiry.h"
#include "libfabmgr/base/status.h"

struct listing {
    const struct authority *a;
    int64_t now_s;
    void (*fn)(void *ctx, const struct authority_issued *i);
    void *ctx;
};

static int is_issued(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name);
    char name[AUTHORITY_NAME_MAX + 1], why[256];
    if (len < 5 || len - 4 > AUTHORITY_NAME_MAX || strcmp(entry->d_name + len - 4, ".pem") != 0)
        return 0;
    snprintf(name, sizeof name, "%.*s", (int)(len - 4), entry->d_name);
    return authority_check_name(name, why, sizeof why) == FAB_OK;
}

static int64_t unix_time(const ASN1_TIME *t)
{
    struct tm tm;
    return ASN1_TIME_to_tm(t, &tm) == 1 ? (int64_t)timegm(&tm) : 0;
}

/* Calls the callback of the listing for a certificate. If `replaced` is true, a renewal has
 * replaced the certificate, so operators need no warning before it expires. */
static void show(const struct listing *l, const char *name, const X509 *cert, bool replaced)
{
    int64_t begin = unix_time(X509_get0_notBefore(cert)), end = unix_time(X509_get0_notAfter(cert));
    bool revoked = signing_is_revoked(l->a->crl, cert), expired = end <= l->now_s;
    struct authority_issued i = {
        .name = name,
        .state = revoked    ? "revoked"
                 : expired  ? "expired"
                 : replaced ? "replaced"
                            : "valid",
        .days_left = fab_base_days_left(l->now_s, end),
        .valid = !revoked && !expired,
        .expiring =
            !revoked && !expired && !replaced && l->now_s >= fab_base_expiry_warn_s(begin, end),
    };
    authority_serial_text(cert, i.serial);
    authority_expiry_text(cert, i.expires, sizeof i.expires);
    l->fn(l->ctx, &i);
}

static int show_formers(const struct listing *l, const char *name, const X509 *current, char *why,
                        size_t why_len)
{
    STACK_OF(X509) *formers = sk_X509_new_null();
    int rc = formers != NULL ? authority_add_formers(l->a, name, current, formers, why, why_len)
                             : authority_no_memory(why, why_len);
    for (int i = 0; rc == FAB_OK && i < sk_X509_num(formers); i++)
        if (!authority_is_expired(sk_X509_value(formers, i)))
            show(l, name, sk_X509_value(formers, i), true);
    sk_X509_pop_free(formers, X509_free);
    return rc;
}

static int show_name(const struct listing *l, char *file, char *why, size_t why_len)
{
    X509 *cert = NULL;
    int rc = authority_read_cert(l->a, file, &cert, why, why_len);
    if (rc != FAB_OK)
        return rc;
    file[strlen(file) - 4] = '\0';
    show(l, file, cert, false);
    rc = show_formers(l, file, cert, why, why_len);
    X509_free(cert);
    return rc;
}

int authority_list(struct authority *a, void (*fn)(void *ctx, const struct authority_issued *i),
                   void *ctx, char *why, size_t why_len)
{
    struct listing l = {.a = a, .now_s = time(NULL), .fn = fn, .ctx = ctx};
    struct dirent **entries = NULL;
    int rc = FAB_OK, count = scandirat(a->dir, ".", &entries, is_issued, alphasort);
    if (count < 0) {
        snprintf(why, why_len, "%s: %s", a->path, strerror(errno));
        return FAB_E_IO;
    }
    show(&l, AUTHORITY_OWN_NAME, a->by.cert, false);
    for (int i = 0; i < count; i++) {
        if (rc == FAB_OK)
            rc = show_name(&l, entries[i]->d_name, why, why_len);
        free(entries[i]);
    }
    free(entries);
    return rc;
}
