/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The format name prints only the first value that text output shows, such as the name of a node.
 * It prints one value for each row of a list, and one value for any other output. Other commands
 * take these names as arguments.
 */
#include "cli/ctl/output_format.h"

static void record(struct out *o, const char *key)
{
    (void)o, (void)key;
}

static void record_end(struct out *o)
{
    (void)o;
}

static void put(struct out *o, const struct value *v)
{
    fprintf(o->to, "%s\n", v->text != NULL ? v->text : "");
    o->found = true;
}

static void table(struct out *o, const char *key)
{
    (void)o, (void)key;
}

static void table_end(struct out *o)
{
    (void)o;
}

static void row(struct out *o)
{
    o->found = false;
}

static void note(struct out *o, enum out_tone tone, const char *line)
{
    (void)o, (void)tone, (void)line;
}

static void value(struct out *o, const struct value *v)
{
    if (v->label == NULL || o->found || o->only_one || (o->rows_only && !o->in_row))
        return;
    put(o, v);
    o->only_one = !o->in_row;
}

static void row_end(struct out *o)
{
    (void)o;
}

const struct out_ops out_name_ops = {false, true,    record,    record_end, value, table,
                                     row,   row_end, table_end, note,       NULL};
