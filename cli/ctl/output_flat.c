/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The formats csv (RFC 4180) and wide print each table with one column for each key of the JSON
 * output. If a row contains a record, the values of the record have columns such as "rate.width":
 * the key of the record, a dot and the key of the value. A list (out_is_list) prints only its
 * tables. So does any other output that begins with a table. Each of the remaining outputs prints
 * its values outside of tables as one row, and no tables.
 *
 * Rows may have different keys, so the rows of a table are stored until the table ends. The columns
 * are in the order in which the keys were first seen. A live table prints each row at once, after a
 * header with the columns of its first row.
 */
#include "cli/ctl/output_format.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/arena.h"

#define KEY_LEN 160

struct field {
    size_t row, column;
    const char *text; /* NULL: the value is null */
};

struct rows {
    char **keys; /* [key_count] */
    size_t key_count, key_room;
    struct field *fields; /* [field_count], row by row */
    size_t field_count, field_room, row_count;
    struct fab_arena texts; /* memory of the texts of all fields */
};

struct flat {
    struct rows table;    /* the present table */
    struct rows record;   /* the values that are outside of all tables; they form one row */
    char prefix[KEY_LEN]; /* keys of the open records, each followed by a dot */
    size_t row_prefix;    /* length that `prefix` had when the present row began */
    /* table_seen: the output has had a table; in_live: the header of the present live table is
     * printed */
    bool table_seen, in_live;
    /* true: only values outside of tables are printed, and no rows (out_is_list) */
    bool rows_left_out;
};

static struct flat *flat_of(struct out *o)
{
    if (o->flat == NULL)
        o->flat = calloc(1, sizeof *o->flat);
    if (o->flat == NULL)
        o->failed = true;
    return o->flat;
}

/* ---- storing --------------------------------------------------------------------------------- */

/* Returns an array that has room for one more element, or NULL if memory ran out. */
static void *grow(void *array, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return array;
    size_t more = *room == 0 ? 64 : 2 * *room;
    void *grown = reallocarray(array, more, size);
    if (grown != NULL)
        *room = more;
    return grown;
}

/* Returns the index of the column of a key; adds a column if the key has none. The search begins at
 * the column `near`, because rows usually have the same keys in the same order. Returns FAILED if
 * memory ran out. */
#define FAILED SIZE_MAX
static size_t column_of(struct rows *r, const char *key, size_t near)
{
    for (size_t i = 0; i < r->key_count; i++) {
        size_t k = near + i < r->key_count ? near + i : (near + i) % r->key_count;
        if (strcmp(r->keys[k], key) == 0)
            return k;
    }
    char **keys = grow(r->keys, r->key_count, &r->key_room, sizeof *keys);
    if (keys == NULL)
        return FAILED;
    r->keys = keys;
    keys[r->key_count] = strdup(key);
    return keys[r->key_count] != NULL ? r->key_count++ : FAILED;
}

static bool add(struct rows *r, size_t row, const char *key, const char *text)
{
    size_t near = r->field_count > 0 ? r->fields[r->field_count - 1].column + 1 : 0;
    size_t column = column_of(r, key, near);
    if (column == FAILED)
        return false;
    struct field *fields = grow(r->fields, r->field_count, &r->field_room, sizeof *fields);
    if (fields == NULL)
        return false;
    r->fields = fields;
    const char *copy = text != NULL ? fab_base_arena_text(&r->texts, text, strlen(text)) : NULL;
    if (text != NULL && copy == NULL)
        return false;
    fields[r->field_count++] = (struct field){row, column, copy};
    return true;
}

static void drop_fields(struct rows *r)
{
    fab_base_arena_fini(&r->texts);
    r->field_count = r->row_count = 0;
}

static void drop(struct rows *r)
{
    drop_fields(r);
    for (size_t i = 0; i < r->key_count; i++)
        free(r->keys[i]);
    r->key_count = 0;
}

static void record(struct out *o, const char *key)
{
    struct flat *f = flat_of(o);
    size_t len = f != NULL ? strlen(f->prefix) : 0;
    if (f != NULL && key != NULL)
        snprintf(f->prefix + len, sizeof f->prefix - len, "%s.", key);
}

static void record_end(struct out *o)
{
    struct flat *f = flat_of(o);
    if (f == NULL || f->prefix[0] == '\0')
        return;
    f->prefix[strlen(f->prefix) - 1] = '\0';
    char *point = strrchr(f->prefix, '.');
    *(point != NULL ? point + 1 : f->prefix) = '\0';
}

static void value(struct out *o, const struct value *v)
{
    struct flat *f = flat_of(o);
    if (f == NULL || v->key == NULL)
        return;
    char joined[KEY_LEN];
    const char *key = v->key, *prefix = f->prefix + (o->in_row ? f->row_prefix : 0);
    if (prefix[0] != '\0') {
        snprintf(joined, sizeof joined, "%s%s", prefix, v->key);
        key = joined;
    }
    struct rows *r = o->in_row ? &f->table : &f->record;
    if (!add(r, r->row_count, key, v->kind == VALUE_NONE ? NULL : v->text))
        o->failed = true;
}

static void table(struct out *o, const char *key)
{
    (void)key;
    struct flat *f = flat_of(o);
    if (f == NULL)
        return;
    drop(&f->table);
    f->in_live = false;
    f->rows_left_out = !o->rows_only && f->record.field_count > 0;
}

static void row(struct out *o)
{
    struct flat *f = flat_of(o);
    if (f != NULL)
        f->row_prefix = strlen(f->prefix);
}

/* ---- printing -------------------------------------------------------------------------------- */

static void put_csv(FILE *to, const char *text)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        fputs(text, to);
        return;
    }
    fputc('"', to);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            fputc('"', to);
        fputc(*text, to);
    }
    fputc('"', to);
}

/* Prints the cells of one row. cells[i] may be NULL. widths: widths of the columns; NULL: prints
 * the row as CSV. */
static void put_cells(FILE *to, const char *const *cells, size_t count, const size_t *widths)
{
    for (size_t i = 0; i < count; i++) {
        const char *text = cells[i] != NULL ? cells[i] : "";
        if (widths == NULL) {
            fputs(i > 0 ? "," : "", to);
            put_csv(to, text);
            continue;
        }
        text = text[0] != '\0' ? text : "-";
        fprintf(to, "%s%s", i > 0 ? "  " : "", text);
        if (i + 1 < count)
            fprintf(to, "%*s", (int)(widths[i] - out_width(text)), "");
    }
    fputc('\n', to);
}

/* Returns the width of each column, or NULL if memory ran out. */
static size_t *widths_of(const struct rows *r)
{
    size_t *widths = calloc(r->key_count, sizeof *widths);
    for (size_t i = 0; widths != NULL && i < r->key_count; i++)
        widths[i] = out_width(r->keys[i]);
    for (size_t i = 0; widths != NULL && i < r->field_count; i++) {
        size_t width = r->fields[i].text != NULL ? out_width(r->fields[i].text) : 1;
        if (width > widths[r->fields[i].column])
            widths[r->fields[i].column] = width;
    }
    return widths;
}

static void put_header(struct out *o, const struct rows *r, const size_t *widths)
{
    for (size_t i = 0; widths != NULL && i < r->key_count; i++)
        for (char *c = r->keys[i]; *c != '\0'; c++)
            *c = (char)toupper((unsigned char)*c);
    put_cells(o->to, (const char *const *)r->keys, r->key_count, widths);
}

static void put_rows(struct out *o, const struct rows *r, bool header)
{
    bool wide = o->format == OUT_WIDE;
    if (r->row_count == 0 || r->key_count == 0)
        return;
    const char **cells = calloc(r->key_count, sizeof *cells);
    size_t *widths = wide ? widths_of(r) : NULL;
    if (cells == NULL || (wide && widths == NULL)) {
        o->failed = true;
        goto out;
    }
    if (header && o->headers)
        put_header(o, r, widths);
    for (size_t row = 0, i = 0; row < r->row_count; row++) {
        memset(cells, 0, r->key_count * sizeof *cells);
        for (; i < r->field_count && r->fields[i].row == row; i++)
            cells[r->fields[i].column] = r->fields[i].text;
        put_cells(o->to, cells, r->key_count, widths);
    }
out:
    free(cells);
    free(widths);
}

static void row_end(struct out *o)
{
    struct flat *f = flat_of(o);
    if (f == NULL)
        return;
    f->table.row_count++;
    if (f->rows_left_out)
        drop_fields(&f->table);
    if (!o->live || f->rows_left_out)
        return;
    put_rows(o, &f->table, !f->in_live);
    f->in_live = true;
    f->table_seen = true;
    drop_fields(&f->table);
}

static void table_end(struct out *o)
{
    struct flat *f = flat_of(o);
    if (f == NULL || o->live || f->rows_left_out)
        return;
    if (f->table_seen && f->table.row_count > 0)
        fputc('\n', o->to);
    put_rows(o, &f->table, true);
    f->table_seen = true;
    drop(&f->table);
}

static void note(struct out *o, enum out_tone tone, const char *line)
{
    (void)o, (void)tone, (void)line;
}

static void close_flat(struct out *o)
{
    struct flat *f = o->flat;
    if (f == NULL)
        return;
    f->record.row_count = 1;
    if (!f->table_seen && !o->rows_only)
        put_rows(o, &f->record, true);
    drop(&f->table);
    drop(&f->record);
    free(f->table.keys);
    free(f->table.fields);
    free(f->record.keys);
    free(f->record.fields);
    free(f);
    o->flat = NULL;
}

const struct out_ops out_csv_ops = {true, false,   record,    record_end, value,     table,
                                    row,  row_end, table_end, note,       close_flat};
const struct out_ops out_wide_ops = {true, false,   record,    record_end, value,     table,
                                     row,  row_end, table_end, note,       close_flat};
