/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Text output: lines of the form "Label: value", and tables with aligned columns.
 *
 * The cells of a table are stored until the table ends, because the widest cell determines the
 * width of a column. A live table prints each row at once; its columns are as wide as their labels.
 */
#include "cli/ctl/output_format.h"

#include <stdlib.h>
#include <string.h>

#define LABEL_WIDTH 14

static const char *colour_of(enum out_tone tone)
{
    switch (tone) {
    case OUT_GOOD:
        return "\033[32m";
    case OUT_WARN:
        return "\033[33m";
    case OUT_BAD:
        return "\033[1;31m";
    case OUT_DIM:
        return "\033[2m";
    default:
        return NULL;
    }
}

static void put(struct out *o, enum out_tone tone, const char *text)
{
    const char *colour = o->colour ? colour_of(tone) : NULL;
    if (colour != NULL)
        fprintf(o->to, "%s%s\033[0m", colour, text);
    else
        fputs(text, o->to);
}

static void pad(struct out *o, size_t used, size_t width)
{
    for (; used < width; used++)
        fputc(' ', o->to);
}

static void record(struct out *o, const char *key)
{
    (void)o, (void)key;
}

static void record_end(struct out *o)
{
    (void)o;
}

static void add_cell(struct out *o, const char *text, enum out_tone tone)
{
    if (o->cell_count == o->cell_room) {
        size_t room = o->cell_room == 0 ? 256 : o->cell_room * 2;
        struct cell *cells = reallocarray(o->cells, room, sizeof *cells);
        if (cells == NULL) {
            o->failed = true;
            return;
        }
        o->cells = cells;
        o->cell_room = room;
    }
    const char *copy = fab_base_arena_text(&o->texts, text, strlen(text));
    if (copy == NULL)
        o->failed = true;
    else
        o->cells[o->cell_count++] = (struct cell){copy, out_width(text), tone};
}

static void value(struct out *o, const struct value *v)
{
    const char *text = v->text == NULL || v->text[0] == '\0' ? "-" : v->text;
    if (v->label == NULL)
        return;
    if (o->in_row) {
        add_cell(o, text, v->tone);
        return;
    }
    fprintf(o->to, "%s:", v->label);
    pad(o, out_width(v->label) + 1, LABEL_WIDTH - 1);
    fputc(' ', o->to);
    put(o, v->tone, text);
    fputc('\n', o->to);
}

/* Prints one row of a table. The last column is not padded with spaces. */
static void put_row(struct out *o, const struct cell *cells, const size_t *widths)
{
    for (size_t i = 0; i < o->column_count; i++) {
        size_t used = cells[i].width;
        if (i > 0)
            fputs("  ", o->to);
        if (o->columns[i].right)
            pad(o, used, widths[i]);
        put(o, cells[i].tone, cells[i].text);
        if (!o->columns[i].right && i + 1 < o->column_count)
            pad(o, used, widths[i]);
    }
    fputc('\n', o->to);
}

static void put_header(struct out *o, const size_t *widths)
{
    struct cell cells[OUT_COLUMNS_MAX];
    for (size_t i = 0; i < o->column_count; i++)
        cells[i] = (struct cell){o->columns[i].label, out_width(o->columns[i].label), OUT_DIM};
    put_row(o, cells, widths);
}

static void drop_cells(struct out *o)
{
    fab_base_arena_fini(&o->texts);
    o->cell_count = 0;
}

static void table(struct out *o, const char *key)
{
    (void)key;
    drop_cells(o);
}

static void row(struct out *o)
{
    o->row_cell = o->cell_count;
}

/* Ends a row of a table. If memory ran out, drops the incomplete row. */
static void row_end(struct out *o)
{
    if (o->failed)
        o->cell_count = o->row_cell;
    if (!o->live || o->cell_count == o->row_cell)
        return;
    size_t widths[OUT_COLUMNS_MAX];
    for (size_t i = 0; i < o->column_count; i++)
        widths[i] = out_width(o->columns[i].label);
    put_row(o, o->cells + o->row_cell, widths);
    drop_cells(o);
}

static void table_end(struct out *o)
{
    size_t widths[OUT_COLUMNS_MAX] = {0};
    /* a table without columns appears only in JSON */
    if (o->column_count == 0)
        return;
    for (size_t i = 0; i < o->column_count; i++)
        widths[i] = out_width(o->columns[i].label);
    for (size_t i = 0; i < o->cell_count; i++) {
        if (o->cells[i].width > widths[i % o->column_count])
            widths[i % o->column_count] = o->cells[i].width;
    }
    if (o->cell_count > 0 && o->headers)
        put_header(o, widths);
    for (size_t i = 0; i + o->column_count <= o->cell_count; i += o->column_count)
        put_row(o, o->cells + i, widths);
    drop_cells(o);
}

static void note(struct out *o, enum out_tone tone, const char *line)
{
    put(o, tone, line);
    fputc('\n', o->to);
}

const struct out_ops out_text_ops = {false, true,    record,    record_end, value, table,
                                     row,   row_end, table_end, note,       NULL};
