/* SPDX-License-Identifier: BSD-3-Clause */
/* The command `fabricctl diagnostics` prints texts in which the manager describes its settings, its
 * metrics and its process, for a report about a fault. */
#include <string.h>

#include "cli/ctl/cmd.h"
#include "fabric/v1/diagnostics.pb-c.h"

static void print_text(struct out *o, const char *text)
{
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        out_note(o, OUT_PLAIN, "%.*s", (int)len, text);
        text += len + (text[len] == '\n');
    }
}

static void print_parts(const struct session *s, const Fabric__V1__GetDiagnosticsResponse *r)
{
    static const struct out_column columns[] = {{"name", NULL, false}, {"text", NULL, false}};
    if (s->out_format != OUT_TEXT) {
        out_record(s->out, NULL);
        out_table(s->out, "parts", columns, 2, false);
    }
    for (size_t i = 0; i < r->n_parts; i++) {
        if (s->out_format != OUT_TEXT) {
            out_row(s->out);
            out_text(s->out, "name", NULL, OUT_PLAIN, r->parts[i]->name);
            out_lines(s->out, "text", r->parts[i]->text);
            out_row_end(s->out);
        } else {
            if (s->argc == 0)
                out_note(s->out, OUT_PLAIN, "==== %s ====", r->parts[i]->name);
            print_text(s->out, r->parts[i]->text);
        }
    }
    if (s->out_format != OUT_TEXT) {
        out_table_end(s->out);
        out_record_end(s->out);
    }
}

static int diagnostics(struct session *s)
{
    Fabric__V1__GetDiagnosticsRequest q = FABRIC__V1__GET_DIAGNOSTICS_REQUEST__INIT;
    Fabric__V1__GetDiagnosticsResponse *r;
    if (s->argc > 0)
        q.part = s->argv[0];
    int rc =
        ask(s, "GetDiagnostics", &q.base, &fabric__v1__get_diagnostics_response__descriptor, &r);
    if (rc != EXIT_OK)
        return rc;
    if (s->argc > 0 && r->n_parts == 0)
        rc = complain(EXIT_NOT_FOUND, "this manager has no part \"%s\"", s->argv[0]);
    else
        print_parts(s, r);
    free_reply(r);
    return rc;
}

const struct cmd cmd_diagnostics = {
    .noun = "diagnostics",
    .args = "[PART]",
    .summary = "show settings, metrics, table sizes and the process of the manager",
    .max_args = 1,
    .method = "fabric.v1.FabricService/GetDiagnostics",
    .slow = true,
    .json = "parts:[ name:text text:text ]",
    .run = diagnostics,
};
