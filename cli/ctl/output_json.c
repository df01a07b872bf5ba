/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON output (RFC 8259). Each command prints one object, indented by two spaces for each level.
 * Each row of a table is one line, so that grep and sed can process the output. A live table prints
 * one object per line, without an enclosing object. */
#include "cli/ctl/output_format.h"

#include <string.h>

#include "libfabmgr/grpc/grpc.h"

void out_put_quoted(FILE *to, const char *text)
{
    const unsigned char *from = (const unsigned char *)text, *t = from;
    fputc('"', to);
    for (; *t != '\0'; t++) {
        if (*t != '"' && *t != '\\' && *t >= 0x20)
            continue;
        fwrite(from, 1, (size_t)(t - from), to);
        fprintf(to, *t < 0x20 ? "\\u%04x" : "\\%c", *t);
        from = t + 1;
    }
    fwrite(from, 1, (size_t)(t - from), to);
    fputc('"', to);
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
    out_put_quoted(o->to, key);
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

/* Writes a value of a row with one call of fwrite, because a list may have millions of values.
 * Returns false if the value is not in a row, is too long, or needs escapes. */
static bool put_plain(struct out *o, const struct value *v)
{
    char piece[256], *at = piece;
    size_t key = out_plain_length(v->key);
    const char *text = v->kind == VALUE_NONE ? "null" : v->text;
    size_t len = v->kind == VALUE_NONE ? 4 : v->plain;
    if (!o->in_row || v->key[key] != '\0' || text[len] != '\0' || key + len + 8 > sizeof piece)
        return false;
    if (!o->first)
        at = mempcpy(at, ", ", 2);
    o->first = false;
    *at++ = '"';
    at = mempcpy(at, v->key, key);
    at = mempcpy(at, "\": ", 3);
    if (v->kind == VALUE_TEXT)
        *at++ = '"';
    at = mempcpy(at, text, len);
    if (v->kind == VALUE_TEXT)
        *at++ = '"';
    fwrite_unlocked(piece, 1, (size_t)(at - piece), o->to);
    return true;
}

static void value(struct out *o, const struct value *v)
{
    if (v->key == NULL || put_plain(o, v))
        return;
    put_key(o, v->key);
    if (v->kind == VALUE_TEXT)
        out_put_quoted(o->to, v->text);
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

const struct out_ops out_json_ops = {true, false,   record,    record_end, value, table,
                                     row,  row_end, table_end, note,       NULL};

void out_error(FILE *to, int exit_status, const char *message)
{
    char clean[6144];
    fab_grpc_utf8_clean(message, strlen(message), clean, sizeof clean);
    fprintf(to, "{\"error\": {\"exit_status\": %d, \"message\": ", exit_status);
    out_put_quoted(to, clean);
    fputs("}}\n", to);
}
