/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands `fabricctl cert ...`. They run a small certificate authority in a directory, which
 * issues certificates for the TLS addresses of the manager and for its clients. They do not connect
 * to a manager.
 */
#include <inttypes.h>
#include <string.h>

#include "cli/ctl/authority.h"
#include "cli/ctl/cmd.h"
#include "libfabmgr/base/plural.h"
#include "libfabmgr/base/status.h"

#define DEFAULT_DIR "fabricd-ca"
#define INIT_DAYS 3650
#define ISSUE_DAYS 365
#define WHY_LEN 512

static const char *dir_of(const struct session *s)
{
    return s->dir != NULL ? s->dir : DEFAULT_DIR;
}

/* Prints the error and returns the exit code. */
static int say_failure(int rc, const char *why)
{
    return complain(rc == FAB_E_NOT_FOUND ? EXIT_NOT_FOUND
                    : rc == FAB_E_INVAL   ? EXIT_USAGE
                                          : EXIT_FAILED,
                    "%s", why);
}

static int init(struct session *s)
{
    char why[WHY_LEN];
    const char *dir = dir_of(s);
    int rc = authority_make(dir, s->days > 0 ? s->days : INIT_DAYS, why, sizeof why);
    if (rc != FAB_OK)
        return say_failure(rc, why);
    out_record(s->out, NULL);
    out_text(s->out, "directory", "Directory", OUT_PLAIN, dir);
    out_textf(s->out, "Files", OUT_PLAIN, "ca.pem, crl.pem, and ca.key, which must stay secret");
    out_note(s->out, OUT_DIM,
             "Next, issue a certificate for the manager ('fabricctl cert issue NAME HOST...') and "
             "one for each client ('fabricctl cert issue NAME').");
    out_record_end(s->out);
    return EXIT_OK;
}

static int issue(struct session *s)
{
    char why[WHY_LEN];
    struct authority *a = NULL;
    const char *name = s->argv[0];
    int rc = authority_open(dir_of(s), &a, why, sizeof why);
    if (rc == FAB_OK)
        rc = authority_issue(a, name, s->argv + 1, (size_t)s->argc - 1,
                             s->days > 0 ? s->days : ISSUE_DAYS, why, sizeof why);
    authority_close(a);
    if (rc != FAB_OK)
        return say_failure(rc, why);
    out_record(s->out, NULL);
    out_text(s->out, "name", "Name", OUT_PLAIN, name);
    out_textf(s->out, "Files", OUT_PLAIN, "%s/%s.pem and, which must stay secret, %s/%s.key",
              dir_of(s), name, dir_of(s), name);
    out_text(s->out, "directory", NULL, OUT_PLAIN, dir_of(s));
    out_record_end(s->out);
    return EXIT_OK;
}

static int revoke(struct session *s)
{
    char why[WHY_LEN];
    struct authority *a = NULL;
    int rc = authority_open(dir_of(s), &a, why, sizeof why);
    if (rc == FAB_OK)
        rc = authority_revoke(a, s->argv[0], why, sizeof why);
    authority_close(a);
    if (rc != FAB_OK)
        return say_failure(rc, why);
    out_record(s->out, NULL);
    out_text(s->out, "name", "Revoked", OUT_PLAIN, s->argv[0]);
    out_note(s->out, OUT_DIM,
             "Copy %s/crl.pem to the file tls.crl of the manager, and run 'systemctl reload "
             "fabricd' there.",
             dir_of(s));
    out_record_end(s->out);
    return EXIT_OK;
}

static void say_renewed(struct session *s, const struct authority_renewed *r)
{
    const char *name = s->argv[0], *dir = dir_of(s);
    out_text(s->out, "name", "Renewed", OUT_PLAIN, name);
    out_text(s->out, "directory", NULL, OUT_PLAIN, dir);
    out_text(s->out, "expires", "Expires", OUT_PLAIN, r->expires);
    out_text(s->out, "former_expires", NULL, OUT_PLAIN, r->former_expires);
    if (strcmp(name, AUTHORITY_OWN_NAME) == 0) {
        out_textf(s->out, "Files", OUT_PLAIN, "%s/ca.pem, %s/crl.pem", dir, dir);
        out_note(s->out, OUT_DIM,
                 "The key of the authority is the same, so all certificates stay as they are. Copy "
                 "ca.pem to the clients and, with crl.pem, to the files tls.ca and tls.crl of the "
                 "manager, and run 'systemctl reload fabricd' there. The former ca.pem and crl.pem "
                 "%s %s.",
                 r->former_valid ? "stay valid until" : "have expired at", r->former_expires);
        return;
    }
    out_textf(s->out, "Files", OUT_PLAIN, "%s/%s.pem and, which must stay secret, %s/%s.key", dir,
              name, dir, name);
    if (r->former_valid)
        out_note(s->out, OUT_DIM,
                 "The former certificate stays valid until %s, or until 'fabricctl cert revoke "
                 "%s', which revokes both. Replace the former files by the new ones where they are "
                 "used; a manager reads them after 'systemctl reload fabricd'.",
                 r->former_expires, name);
    else
        out_note(s->out, OUT_DIM,
                 "The former certificate expired at %s. Replace the former files by the new "
                 "ones where they are used; a manager reads them after 'systemctl reload fabricd'.",
                 r->former_expires);
}

static int renew(struct session *s)
{
    char why[WHY_LEN];
    struct authority *a = NULL;
    struct authority_renewed renewed;
    int rc = authority_open(dir_of(s), &a, why, sizeof why);
    if (rc == FAB_OK)
        rc = authority_renew(a, s->argv[0], s->days, &renewed, why, sizeof why);
    authority_close(a);
    if (rc != FAB_OK)
        return say_failure(rc, why);
    out_record(s->out, NULL);
    say_renewed(s, &renewed);
    out_record_end(s->out);
    return EXIT_OK;
}

static void say_row(void *ctx, const struct authority_issued *i)
{
    struct out *o = ctx;
    out_row(o);
    out_text(o, "name", "NAME", OUT_PLAIN, i->name);
    out_text(o, "state", "STATE", i->valid ? OUT_GOOD : OUT_BAD, i->state);
    out_text(o, "expires", "EXPIRES", i->expiring ? OUT_WARN : OUT_PLAIN, i->expires);
    out_text(o, "serial", "SERIAL", OUT_DIM, i->serial);
    out_number(o, "days_left", NULL, OUT_PLAIN, i->days_left);
    out_bool(o, "expiring", NULL, OUT_PLAIN, i->expiring);
    out_row_end(o);
}

/* Writes a line about a certificate that expires soon or has expired, in the words of the manager's
 * events certificate-expiring and certificate-expired. */
static void say_warning(void *ctx, const struct authority_issued *i)
{
    struct out *o = ctx;
    if (i->expiring)
        out_note(o, OUT_WARN,
                 "%s.pem expires at %s (%" PRIu64 " day%s left); 'fabricctl cert renew %s' renews "
                 "it",
                 i->name, i->expires, i->days_left, fab_base_plural_s(i->days_left), i->name);
    else if (strcmp(i->state, "expired") == 0)
        out_note(o, OUT_BAD, "%s.pem expired at %s; 'fabricctl cert renew %s' renews it", i->name,
                 i->expires, i->name);
}

static int list(struct session *s)
{
    static const struct out_column columns[] = {{"name", "NAME", false},
                                                {"state", "STATE", false},
                                                {"expires", "EXPIRES", false},
                                                {"serial", "SERIAL", false}};
    char why[WHY_LEN];
    struct authority *a = NULL;
    int rc = authority_open(dir_of(s), &a, why, sizeof why);
    if (rc == FAB_OK) {
        out_record(s->out, NULL);
        out_table(s->out, "certificates", columns, sizeof columns / sizeof columns[0], false);
        rc = authority_list(a, say_row, s->out, why, sizeof why);
        out_table_end(s->out);
        if (rc == FAB_OK)
            rc = authority_list(a, say_warning, s->out, why, sizeof why);
        out_record_end(s->out);
    }
    authority_close(a);
    return rc == FAB_OK ? EXIT_OK : say_failure(rc, why);
}

const struct cmd cmd_cert_init = {
    .noun = "cert",
    .verb = "init",
    .args = "[--dir DIR] [--days N]",
    .summary = "make a certificate authority in a directory",
    .options = "yY",
    .json = "directory:text",
    .run = init,
};

const struct cmd cmd_cert_issue = {
    .noun = "cert",
    .verb = "issue",
    .args = "NAME [HOST...] [--dir DIR] [--days N]",
    .summary = "issue a certificate for a manager or a client",
    .min_args = 1,
    .max_args = 64,
    .options = "yY",
    .json = "name:text directory:text",
    .run = issue,
};

const struct cmd cmd_cert_list = {
    .noun = "cert",
    .verb = "list",
    .args = "[--dir DIR]",
    .summary = "certificates of the authority",
    .options = "y",
    .is_list = true,
    .json = "certificates:[ name:text state:'valid'|'revoked'|'expired'|'replaced' "
            "expires:text serial:text days_left:u32 expiring:bool ]",
    .run = list,
};

const struct cmd cmd_cert_renew = {
    .noun = "cert",
    .verb = "renew",
    .args = "NAME [--dir DIR] [--days N]",
    .summary = "renew a certificate, or with NAME ca the authority",
    .min_args = 1,
    .max_args = 1,
    .options = "yY",
    .json = "name:text directory:text expires:text former_expires:text",
    .run = renew,
};

const struct cmd cmd_cert_revoke = {
    .noun = "cert",
    .verb = "revoke",
    .args = "NAME [--dir DIR]",
    .summary = "revoke a certificate of the authority",
    .min_args = 1,
    .max_args = 1,
    .options = "y",
    .json = "name:text",
    .run = revoke,
};
