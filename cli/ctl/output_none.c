/* SPDX-License-Identifier: BSD-3-Clause */
/* The output of commands that write a picture: no value is printed. */
#include "cli/ctl/output_format.h"

static void skip_key(struct out *o, const char *key)
{
    (void)o;
    (void)key;
}

static void skip(struct out *o)
{
    (void)o;
}

static void skip_value(struct out *o, const struct value *v)
{
    (void)o;
    (void)v;
}

static void skip_note(struct out *o, enum out_tone tone, const char *line)
{
    (void)o;
    (void)tone;
    (void)line;
}

const struct out_ops out_none_ops = {
    .record = skip_key,
    .record_end = skip,
    .value = skip_value,
    .table = skip_key,
    .row = skip,
    .row_end = skip,
    .table_end = skip,
    .note = skip_note,
};
