/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * YAML output (YAML 1.2, block style) with the keys and the nesting of the JSON output. A row of a
 * table is an item of a sequence. A live table prints one document for each row.
 */
#include "cli/ctl/output_format.h"

#include <string.h>
#include <strings.h>

/* Returns true if the text is a string in YAML even without quotes: it begins with a letter, has
 * only characters without a meaning in YAML, and is not a keyword of YAML 1.1 or 1.2. */
static bool is_plain(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    static const char rest[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./()+- ";
    static const char *const keywords[] = {"true", "false", "null", "yes", "no",
                                           "on",   "off",   "y",    "n"};
    size_t len = strlen(text);
    if (strspn(text, letters) == 0 || strspn(text, rest) != len || text[len - 1] == ' ')
        return false;
    for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++)
        if (strcasecmp(text, keywords[i]) == 0)
            return false;
    return true;
}

/* Begins an entry of a mapping or sequence. The first entry of a row follows the "- " of the row on
 * the same line. */
static void indent(struct out *o)
{
    if (o->after_dash)
        o->after_dash = false;
    else if (o->depth > 0)
        fprintf(o->to, "%*s", (int)(2 * (o->depth - 1)), "");
    o->first = false;
}

static void put_key(struct out *o, const char *key)
{
    indent(o);
    fprintf(o->to, "%s:", key);
}

/* Begins a mapping or a sequence. The line of its key ends only when its first entry is written,
 * because an empty mapping or sequence is written on this line, as {} or []. */
static void begin(struct out *o, const char *key)
{
    if (o->depth > 0 && key != NULL)
        put_key(o, key);
    o->depth++;
    o->open = o->depth > 1;
    o->first = true;
}

/* Ends the line of a key before the first entry of its value, if this line has not ended yet. */
static void end_line_of_key(struct out *o)
{
    if (o->open)
        fputc('\n', o->to);
    o->open = false;
}

static void end(struct out *o, const char *empty)
{
    if (o->first)
        fprintf(o->to, "%s%s\n", o->open ? " " : "", empty);
    o->open = false;
    o->first = false;
    o->depth--;
}

static void record(struct out *o, const char *key)
{
    end_line_of_key(o);
    begin(o, key);
}

static void record_end(struct out *o)
{
    end(o, "{}");
}

static void value(struct out *o, const struct value *v)
{
    if (v->key == NULL)
        return;
    end_line_of_key(o);
    put_key(o, v->key);
    fputc(' ', o->to);
    if (v->kind == VALUE_NONE)
        fputs("null", o->to);
    else if (v->kind == VALUE_BARE || is_plain(v->text))
        fputs(v->text, o->to);
    else
        out_put_quoted(o->to, v->text);
    fputc('\n', o->to);
}

static void table(struct out *o, const char *key)
{
    if (o->live)
        return;
    end_line_of_key(o);
    begin(o, key);
}

static void table_end(struct out *o)
{
    if (!o->live)
        end(o, "[]");
}

static void row(struct out *o)
{
    end_line_of_key(o);
    if (o->live) {
        fputs("---\n", o->to);
    } else {
        indent(o);
        fputs("- ", o->to);
        o->after_dash = true;
    }
    o->depth++;
    o->first = true;
}

static void row_end(struct out *o)
{
    if (o->first)
        fputs("{}\n", o->to);
    o->after_dash = false;
    o->first = false;
    o->depth--;
}

static void note(struct out *o, enum out_tone tone, const char *line)
{
    (void)o, (void)tone, (void)line;
}

const struct out_ops out_yaml_ops = {true, false,   record,    record_end, value, table,
                                     row,  row_end, table_end, note,       NULL};
