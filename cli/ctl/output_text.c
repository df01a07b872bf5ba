/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Text output: lines of the form "Label: value", and tables with aligned columns.
 *
 * The cells of a table are stored until the table ends, because the widest cell determines the
 * width of a column. A live table prints each row at once; its columns are as wide as their labels.
 */
#include "cli/ctl/output_format.h"

#include <stdint.h>
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

/* The cells of a table, one after the other. A cell has its width, its tone and its text with the
 * final NUL, and takes as little memory as possible: a table can have hundreds of thousands of
 * cells, and the first access to new memory would take most of the time. */
struct cell_buffer {
    struct cell_buffer *next;
    size_t used, size;
    char bytes[];
};
#define BUFFER_SIZE 65536u
#define CELL_HEAD (sizeof(uint32_t) + 1)

static char *room_for(struct out *o, size_t need)
{
    struct cell_buffer *b = o->last_cells;
    if (b == NULL || b->size - b->used < need) {
        size_t size = need > BUFFER_SIZE ? need : BUFFER_SIZE;
        b = malloc(sizeof *b + size);
        if (b == NULL)
            return NULL;
        *b = (struct cell_buffer){.size = size};
        *(o->last_cells != NULL ? &o->last_cells->next : &o->cells) = b;
        o->last_cells = b;
    }
    b->used += need;
    return b->bytes + b->used - need;
}

static void add_cell(struct out *o, const char *text, enum out_tone tone)
{
    size_t len = strlen(text), width = out_width(text);
    if (o->failed || o->column == o->column_count)
        return;
    char *at = room_for(o, CELL_HEAD + len + 1);
    const uint32_t stored = (uint32_t)width;
    if (at == NULL) {
        o->failed = true;
        return;
    }
    memcpy(at, &stored, sizeof stored);
    at[sizeof stored] = (char)tone;
    memcpy(at + CELL_HEAD, text, len + 1);
    if (width > o->widths[o->column])
        o->widths[o->column] = width;
    o->column++;
}

/* The place in the list of buffers from which read_cell reads the next cell. */
struct reader {
    const struct cell_buffer *buffer;
    size_t at;
};

static struct cell read_cell(struct reader *r)
{
    uint32_t width;
    if (r->at == r->buffer->used)
        *r = (struct reader){.buffer = r->buffer->next};
    const char *at = r->buffer->bytes + r->at;
    memcpy(&width, at, sizeof width);
    const struct cell c = {at + CELL_HEAD, width, (enum out_tone)at[sizeof width]};
    r->at += CELL_HEAD + strlen(c.text) + 1;
    return c;
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
    for (struct cell_buffer *b = o->cells, *next; b != NULL; b = next) {
        next = b->next;
        free(b);
    }
    o->cells = o->last_cells = NULL;
    o->row_count = o->column = 0;
}

/* Sets the widths of the columns to those of their labels. */
static void reset_widths(struct out *o)
{
    for (size_t i = 0; i < o->column_count; i++)
        o->widths[i] = out_width(o->columns[i].label);
}

static void table(struct out *o, const char *key)
{
    (void)key;
    drop_cells(o);
    reset_widths(o);
}

static void row(struct out *o)
{
    o->column = 0;
}

static void put_rows(struct out *o)
{
    struct reader r = {.buffer = o->cells};
    struct cell cells[OUT_COLUMNS_MAX];
    for (size_t i = 0; i < o->row_count; i++) {
        for (size_t k = 0; k < o->column_count; k++)
            cells[k] = read_cell(&r);
        put_row(o, cells, o->widths);
    }
}

/* Ends a row of a table. If memory ran out, this row and the next ones are not printed. */
static void row_end(struct out *o)
{
    while (!o->failed && o->column < o->column_count)
        add_cell(o, "-", OUT_PLAIN);
    o->row_count += !o->failed;
    if (!o->live)
        return;
    reset_widths(o);
    put_rows(o);
    drop_cells(o);
}

static void table_end(struct out *o)
{
    /* a table without columns appears only in JSON */
    if (o->column_count == 0)
        return;
    if (o->row_count > 0 && o->headers)
        put_header(o, o->widths);
    put_rows(o);
    drop_cells(o);
}

static void note(struct out *o, enum out_tone tone, const char *line)
{
    put(o, tone, line);
    fputc('\n', o->to);
}

const struct out_ops out_text_ops = {false, true,    record,    record_end, value,     table,
                                     row,   row_end, table_end, note,       drop_cells};
