/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON output (RFC 8259). Each command prints one object, indented by two spaces for each level.
 * Each row of a table is one line, so that grep and sed can process the output. A live table prints
 * one object per line, without an enclosing object. */
#include "cli/ctl/output_format.h"

static void put_string(struct out *o, const char *text)
{
    fputc('"', o->to);
    for (const unsigned char *t = (const unsigned char *)text; *t != '\0'; t++) {
        if (*t == '"' || *t == '\\')
            fprintf(o->to, "\\%c", *t);
        else if (*t < 0x20)
            fprintf(o->to, "\\u%04x", *t);
        else
            fputc(*t, o->to);
    }
    fputc('"', o->to);
}

static void indent(struct out *o)
{
    if (o->in_row) {
        fputs(o->first ? "" : ", ", o->to);
    } else {
        fputs(o->first ? "\n" : ",\n", o->to);
        fprintf(o->to, "%*s", (int)(2 * o->depth), "");
    }
    o->first = false;
}

static void put_key(struct out *o, const char *key)
{
    indent(o);
    put_string(o, key);
    fputs(": ", o->to);
}

static void begin(struct out *o, const char *key, char bracket)
{
    if ((o->depth > 0 || o->in_row) && key != NULL)
        put_key(o, key);
    else if (o->depth > 0)
        indent(o);
    fputc(bracket, o->to);
    o->depth++;
    o->first = true;
}

static void end(struct out *o, char bracket)
{
    o->depth--;
    if (!o->first && !o->in_row)
        fprintf(o->to, "\n%*s", (int)(2 * o->depth), "");
    fputc(bracket, o->to);
    o->first = false;
    if (o->depth == 0 && !o->in_row)
        fputc('\n', o->to);
}

static void record(struct out *o, const char *key)
{
    begin(o, key, '{');
}

static void record_end(struct out *o)
{
    end(o, '}');
}

static void value(struct out *o, const struct value *v)
{
    if (v->key == NULL)
        return;
    put_key(o, v->key);
    if (v->kind == VALUE_TEXT)
        put_string(o, v->text);
    else
        fputs(v->kind == VALUE_NONE ? "null" : v->text, o->to);
}

static void table(struct out *o, const char *key)
{
    if (!o->live)
        begin(o, key, '[');
}

static void table_end(struct out *o)
{
    if (!o->live)
        end(o, ']');
}

static void row(struct out *o)
{
    if (!o->live) {
        o->in_row = false;
        indent(o);
        o->in_row = true;
    }
    fputc('{', o->to);
    o->first = true;
}

static void row_end(struct out *o)
{
    fputs(o->live ? "}\n" : "}", o->to);
    o->first = false;
}

static void note(struct out *o, enum out_tone tone, const char *line)
{
    (void)o, (void)tone, (void)line;
}

const struct out_ops out_json_ops = {record, record_end, value,     table,
                                     row,    row_end,    table_end, note};
