/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands `fabricctl audit list`, `export` and `verify`.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ctl/list.h"
#include "cli/ctl/show.h"
#include "cli/ctl/when.h"
#include "fabric/v1/audit.pb-c.h"

static const struct out_column columns[] = {
    {"sequence", "SEQ", true},   {"time", "TIME", false},     {"account", "BY", false},
    {"method", "METHOD", false}, {"object", "OBJECT", false}, {"before", "BEFORE", false},
    {"after", "AFTER", false},   {"result", "RESULT", false}, {"reason", "REASON", false},
};
#define COLUMNS (sizeof columns / sizeof columns[0])

/* ---- the filter ------------------------------------------------------------------------------ */

/* Makes the request from the options of the command. times[] is memory for the times to which the
 * request points. */
static int make_query(const struct session *s, Google__Protobuf__Timestamp times[2],
                      Fabric__V1__ListAuditRequest *ret)
{
    fabric__v1__list_audit_request__init(ret);
    ret->account = word_of(s->by);
    ret->object = word_of(s->object);
    ret->method = word_of(s->method);
    ret->result = word_of(s->result);
    int rc = when_option("--since", s->since, &times[0], &ret->since);
    return rc == EXIT_OK ? when_option("--until", s->until, &times[1], &ret->until) : rc;
}

/* ---- list and export ------------------------------------------------------------------------- */

static void say_row(struct out *o, const void *item)
{
    const Fabric__V1__AuditRecord *r = item;
    bool good = strcmp(r->result, "OK") == 0;
    out_row(o);
    out_number(o, "sequence", "SEQ", OUT_DIM, r->sequence);
    out_time_utc(o, "time", r->time);
    out_time(o, "TIME", r->time);
    out_text(o, "account", "BY", OUT_PLAIN, r->account);
    out_text(o, "source", NULL, OUT_PLAIN, r->source);
    out_fields(o, &r->base, "method", "METHOD", "object", "OBJECT", "before", "BEFORE", "after",
               "AFTER", NULL);
    out_text(o, "result", "RESULT", good ? OUT_PLAIN : OUT_WARN, r->result);
    out_text(o, "message", NULL, OUT_PLAIN, r->message);
    out_text(o, "reason", "REASON", OUT_PLAIN, r->reason);
    out_row_end(o);
}

static int list(struct session *s)
{
    static const struct list records = {
        .method = "ListAudit",
        .reply = &fabric__v1__list_audit_response__descriptor,
        .items = "records",
        .columns = columns,
        .column_count = COLUMNS,
        .say_row = say_row,
        .none = "No record matches.",
        .count = 50,
    };
    Google__Protobuf__Timestamp times[2];
    Fabric__V1__ListAuditRequest q;
    int rc = make_query(s, times, &q);
    return rc == EXIT_OK ? say_list(s, &records, &q.base) : rc;
}

/* Prints all matching records as lines of JSON, page by page, so that the command needs memory for
 * only one page. */
static int export(struct session *s)
{
    Google__Protobuf__Timestamp times[2];
    Fabric__V1__ListAuditRequest q;
    Fabric__V1__ListAuditResponse *page = NULL, *last = NULL;
    struct out *lines = out_new(OUT_JSON, stdout, false);
    int rc = make_query(s, times, &q);
    if (lines == NULL)
        return complain(EXIT_FAILED, "out of memory");
    out_table(lines, "records", columns, COLUMNS, true);
    do {
        if (rc == EXIT_OK)
            rc = ask(s, "ListAudit", &q.base, &fabric__v1__list_audit_response__descriptor, &page);
        free_reply(last);
        last = rc == EXIT_OK ? page : NULL;
        for (size_t i = 0; last != NULL && i < last->n_records; i++)
            say_row(lines, last->records[i]);
        q.page_token = last != NULL ? last->next_page_token : q.page_token;
    } while (last != NULL && q.page_token[0] != '\0' && !out_broken(lines));
    free_reply(last);
    out_table_end(lines);
    if (out_close(lines) != 0 && rc == EXIT_OK)
        rc = complain(EXIT_FAILED, "the output could not be written");
    return rc;
}

/* ---- verify ---------------------------------------------------------------------------------- */

static void say_verdict(struct out *o, const Fabric__V1__VerifyAuditResponse *r)
{
    out_record(o, NULL);
    out_bool(o, "intact", NULL, OUT_PLAIN, r->intact);
    out_keys(o, &r->base, "rows first last bad problem head head_mac");
    out_text(o, NULL, "Audit log", r->intact ? OUT_GOOD : OUT_BAD,
             r->intact ? "intact" : r->problem);
    out_textf(o, "Verified", OUT_PLAIN, "%" PRIu64 " rows, %" PRIu64 " to %" PRIu64, r->rows,
              r->first, r->last);
    out_textf(o, "Head", OUT_PLAIN, "row %" PRIu64 ", MAC %s", r->head, r->head_mac);
    out_record_end(o);
}

static int verify(struct session *s)
{
    const Fabric__V1__VerifyAuditRequest q = FABRIC__V1__VERIFY_AUDIT_REQUEST__INIT;
    Fabric__V1__VerifyAuditResponse *r = NULL;
    int rc = ask(s, "VerifyAudit", &q.base, &fabric__v1__verify_audit_response__descriptor, &r);
    if (rc != EXIT_OK)
        return rc;
    say_verdict(s->out, r);
    if (!r->intact)
        rc = EXIT_UNSOUND;
    free_reply(r);
    return rc;
}

#define FILTER                                                                                     \
    "[--since TIME] [--until TIME] [--by WHO] [--object WHAT] [--method NAME] [--result CODE]"

const struct cmd cmd_audit_list = {
    .noun = "audit",
    .verb = "list",
    .args = "[-n COUNT] " FILTER,
    .summary = "the newest records of the audit log (50), newest first",
    .options = "niuboMt",
    .method = "fabric.v1.FabricService/ListAudit",
    .is_list = true,
    .json = "records:[ =audit ]",
    .run = list,
};
const struct cmd cmd_audit_export = {
    .noun = "audit",
    .verb = "export",
    .one_manager = true,
    .args = FILTER,
    .summary = "all records of the audit log, as lines of JSON",
    .options = "iuboMt",
    .slow = true,
    .method = "fabric.v1.FabricService/ListAudit",
    .json = "=audit",
    .run = export,
};
const struct cmd cmd_audit_verify = {
    .noun = "audit",
    .verb = "verify",
    .summary = "find removed, changed and inserted rows of the audit log",
    .slow = true,
    .method = "fabric.v1.FabricService/VerifyAudit",
    .json = "intact:bool @VerifyAuditResponse(rows first last bad problem head head_mac)",
    .run = verify,
};
