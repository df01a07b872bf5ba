/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Joins the outputs of a command that runs for several objects or contexts (out_many) into one
 * output.
 *
 * Lists become one list, with the context in the first column. Any other output becomes an item:
 * JSON and YAML have one object with the array "items", text has a blank line between two items,
 * and the other formats (csv, wide, name) have one row for each item. In csv, wide and name, an
 * item that begins with a table is printed unchanged. If no run prints anything, nothing is
 * printed.
 */
#include "cli/ctl/output_format.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"

struct many {
    /* the functions that get the joined output: those of the format or, if rows are selected, those
     * of output_select.c */
    const struct out_ops *ops;
    bool lists; /* true: each output is a list */
    const char *context, *argument;
    bool begun;     /* true: something was printed */
    unsigned depth; /* number of open records of the current output */
    /* Only for lists. columns: first the column that names the context (the manager that answered),
     * then the columns of the list; empty before the first table. skip: the current table is not
     * part of the list. */
    struct out_column columns[OUT_COLUMNS_MAX];
    size_t column_count, rows;
    char *key; /* key of the list */
    bool skip, in_row;
    /* Only for the formats with one row for each item (csv, wide, name). item: what is known about
     * the current item. ITEM_BEGINS: nothing of it has come yet. ITEM_ROW: it is printed as a row.
     * ITEM_TABLE: it began with a table, and is printed unchanged. inner: number of open tables in
     * the row; these tables are left out */
    enum { ITEM_BEGINS, ITEM_ROW, ITEM_TABLE } item;
    unsigned inner;
};

static bool has_rows(const struct out *o)
{
    return o->format == OUT_CSV || o->format == OUT_WIDE || o->format == OUT_NAME;
}

static void put_label(struct out *o, const char *key, const char *label, const char *text)
{
    if (text != NULL)
        o->many->ops->value(o, &(struct value){key, label, text, VALUE_TEXT, OUT_PLAIN, 0});
}

/* The format name has no contexts, because other commands take its lines as arguments. */
static void put_context(struct out *o, const char *label)
{
    if (o->format != OUT_NAME)
        put_label(o, "context", label, o->many->context);
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void begin_list(struct out *o, const char *key)
{
    struct many *m = o->many;
    size_t n = 0;
    if (m->context != NULL && o->column_count < OUT_COLUMNS_MAX)
        m->columns[n++] = (struct out_column){"context", "CONTEXT", false};
    memcpy(m->columns + n, o->columns, o->column_count * sizeof *o->columns);
    m->column_count = n + o->column_count;
    m->key = strdup(key != NULL ? key : "");
    if (m->key == NULL)
        o->failed = true;
    m->ops->record(o, NULL);
    m->begun = true;
    o->columns = m->columns;
    o->column_count = m->column_count;
    m->ops->table(o, key);
}

static void list_table(struct out *o, const char *key)
{
    struct many *m = o->many;
    if (!m->begun)
        begin_list(o, key);
    m->skip = m->key == NULL || strcmp(m->key, key != NULL ? key : "") != 0;
}

static void list_row(struct out *o)
{
    struct many *m = o->many;
    if (m->skip)
        return;
    o->columns = m->columns;
    o->column_count = m->column_count;
    m->in_row = true;
    m->rows++;
    m->ops->row(o);
    if (m->column_count > 0 && m->columns[0].key != NULL &&
        strcmp(m->columns[0].key, "context") == 0)
        put_context(o, "CONTEXT");
}

static void end_list(struct out *o)
{
    struct many *m = o->many;
    o->columns = m->columns;
    o->column_count = m->column_count;
    m->ops->table_end(o);
    if (m->rows == 0)
        m->ops->note(o, OUT_DIM, "The lists are empty.");
    m->ops->record_end(o);
}

/* ---- items ----------------------------------------------------------------------------------- */

static void begin_item(struct out *o)
{
    struct many *m = o->many;
    if (!m->begun && (o->format == OUT_JSON || o->format == OUT_YAML)) {
        m->ops->record(o, NULL);
        m->ops->table(o, "items");
    } else if (m->begun && o->format == OUT_TEXT) {
        fputc('\n', o->to);
    }
    m->begun = true;
    m->item = ITEM_BEGINS;
    if (has_rows(o))
        return;
    if (o->format == OUT_YAML)
        m->ops->row(o);
    else
        m->ops->record(o, NULL);
    put_context(o, "Context");
    put_label(o, "argument", "Argument", m->argument);
}

static void end_item(struct out *o)
{
    struct many *m = o->many;
    if (!has_rows(o) && o->format != OUT_YAML)
        m->ops->record_end(o);
    else if (o->format == OUT_YAML || m->item == ITEM_ROW)
        m->ops->row_end(o);
    o->in_row = false;
}

/* Called before each value of an item. If the value is the first of the item, begins the row of the
 * item. Returns false if the value is in a table that is left out. */
static bool in_item_row(struct out *o)
{
    struct many *m = o->many;
    if (m->inner > 0)
        return false;
    if (m->item == ITEM_BEGINS) {
        m->item = ITEM_ROW;
        if (m->rows++ == 0)
            m->ops->table(o, "items");
        o->in_row = true;
        m->ops->row(o);
        put_context(o, "Context");
    }
    o->in_row = m->item == ITEM_ROW || o->in_row;
    return true;
}

/* ---- the interface of a format --------------------------------------------------------------- */

static void record(struct out *o, const char *key)
{
    struct many *m = o->many;
    if (m->depth++ == 0 && !m->lists)
        begin_item(o);
    else if (m->lists ? m->in_row : m->inner == 0)
        m->ops->record(o, key);
}

static void record_end(struct out *o)
{
    struct many *m = o->many;
    if (--m->depth == 0 && !m->lists)
        end_item(o);
    else if (m->lists ? m->in_row : m->inner == 0)
        m->ops->record_end(o);
}

static void value(struct out *o, const struct value *v)
{
    struct many *m = o->many;
    bool wanted = m->lists ? m->in_row : has_rows(o) ? in_item_row(o) : true;
    if (wanted)
        m->ops->value(o, v);
}

static void table(struct out *o, const char *key)
{
    struct many *m = o->many;
    if (m->lists && !m->in_row) {
        list_table(o, key);
        return;
    }
    if (!m->lists && has_rows(o) && m->item == ITEM_BEGINS)
        m->item = ITEM_TABLE;
    if (!m->lists && has_rows(o) && m->item == ITEM_ROW)
        m->inner++;
    else
        m->ops->table(o, key);
}

static void row(struct out *o)
{
    struct many *m = o->many;
    if (m->lists)
        list_row(o);
    else if (m->inner == 0)
        m->ops->row(o);
}

static void row_end(struct out *o)
{
    struct many *m = o->many;
    if (m->lists ? !m->skip : m->inner == 0)
        m->ops->row_end(o);
    m->in_row = false;
}

static void table_end(struct out *o)
{
    struct many *m = o->many;
    if (m->lists) {
        m->skip = false;
        return;
    }
    if (m->inner > 0)
        m->inner--;
    else
        m->ops->table_end(o);
}

static void note(struct out *o, enum out_tone tone, const char *line)
{
    if (!o->many->lists)
        o->many->ops->note(o, tone, line);
}

static void close_many(struct out *o)
{
    struct many *m = o->many;
    if (m->lists && m->begun) {
        end_list(o);
    } else if (m->begun && (o->format == OUT_JSON || o->format == OUT_YAML)) {
        m->ops->table_end(o);
        m->ops->record_end(o);
    } else if (!m->lists && m->rows > 0) {
        m->ops->table_end(o);
    }
    if (m->ops->close != NULL)
        m->ops->close(o);
    free(m->key);
    free(m);
    o->many = NULL;
}

const struct out_ops out_many_ops = {true, true,    record,    record_end, value,     table,
                                     row,  row_end, table_end, note,       close_many};

int out_many(struct out *o, bool lists)
{
    struct many *m = calloc(1, sizeof *m);
    if (m == NULL)
        return FAB_E_NOMEM;
    m->ops = o->ops;
    m->lists = lists;
    o->many = m;
    o->ops = &out_many_ops;
    return FAB_OK;
}

void out_next(struct out *o, const char *context, const char *argument)
{
    o->many->context = context;
    o->many->argument = argument;
    o->many->depth = 0;
    o->in_row = o->many->in_row = o->many->skip = false;
}
