/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Selects and sorts the rows of tables before another format prints them (out_select). The values
 * of each row are stored until the table ends. The rows of a live table are selected but not
 * sorted, because they are printed at once.
 */
#include "cli/ctl/output_format.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "libfabmgr/base/status.h"

#define COLUMNS_LEN 400

/* A row is stored as a list of steps. A step is a value, or the beginning or the end of a record in
 * the row. */
enum step_kind { STEP_VALUE, STEP_RECORD, STEP_RECORD_END };

#define NO_TEXT UINT32_MAX

/* One step of a row. key, label and text are the positions of these texts in row.bytes; NO_TEXT:
 * the text is NULL. */
struct step {
    enum step_kind what;
    enum value_kind kind;
    enum out_tone tone;
    uint32_t key, label, text; /* a STEP_RECORD has only a key */
};

struct row {
    struct step *steps; /* [count] */
    size_t count, room;
    char *bytes; /* [used] the texts of the steps */
    size_t used, bytes_room;
    size_t place; /* index of the row in the table before the rows are sorted */
    /* position of the text by which the row is sorted; NO_TEXT: it has no such text */
    uint32_t sort;
};

struct selection {
    const struct out_rows *wanted;
    const struct out_ops *ops; /* the format that prints the rows */
    /* [count] the rows of the present table; rows[count] is the row that is being written */
    struct row *rows;
    size_t count, room;
    size_t dropped; /* number of rows of the present table that did not match */
    /* has_state, has_rate: at least one row of the present table has the column "state" or "rate"
     * */
    bool has_state, has_rate;
    /* column that the user named and that a table did not have; NULL: none */
    const char *unknown;
    char columns[COLUMNS_LEN]; /* the columns of the table that did not have `unknown` */
};

/* ---- the values of a row --------------------------------------------------------------------- */

static void free_row(struct row *r)
{
    free(r->steps);
    free(r->bytes);
    *r = (struct row){0};
}

/* Removes the values of a row, but keeps its memory for the next row. */
static void clear_row(struct row *r)
{
    r->count = r->used = 0;
}

static const char *text_at(const struct row *r, uint32_t place)
{
    return place != NO_TEXT ? r->bytes + place : NULL;
}

/* Copies a text that may be NULL. Returns false if memory ran out. */
static bool copy(struct row *r, const char *from, uint32_t *ret)
{
    size_t size = from != NULL ? strlen(from) + 1 : 0;
    *ret = NO_TEXT;
    if (from == NULL)
        return true;
    if (size > r->bytes_room - r->used) {
        size_t room = 2 * r->bytes_room + size + 256;
        char *bytes = room < NO_TEXT ? realloc(r->bytes, room) : NULL;
        if (bytes == NULL)
            return false;
        r->bytes = bytes;
        r->bytes_room = room;
    }
    memcpy(r->bytes + r->used, from, size);
    *ret = (uint32_t)r->used;
    r->used += size;
    return true;
}

static void keep(struct out *o, enum step_kind what, const struct value *v)
{
    struct selection *s = o->selection;
    struct row *r = &s->rows[s->count];
    if (o->failed)
        return;
    if (r->count == r->room) {
        size_t room = r->room == 0 ? 32 : 2 * r->room;
        struct step *steps = reallocarray(r->steps, room, sizeof *steps);
        if (steps == NULL) {
            o->failed = true;
            return;
        }
        r->steps = steps;
        r->room = room;
    }
    struct step *to = &r->steps[r->count++];
    *to = (struct step){.what = what, .kind = v->kind, .tone = v->tone};
    o->failed = !copy(r, v->key, &to->key) || !copy(r, v->label, &to->label) ||
                !copy(r, v->text, &to->text);
}

/* Returns the first value of the row in the column. Labels have precedence over keys, because the
 * user reads the labels. Returns NULL if the row has no such value. */
static const struct step *find(const struct row *r, const char *column)
{
    const struct step *by_key = NULL;
    for (size_t i = 0; i < r->count; i++) {
        const struct step *v = &r->steps[i];
        if (v->what != STEP_VALUE)
            continue;
        if (v->label != NO_TEXT && strcasecmp(r->bytes + v->label, column) == 0)
            return v;
        if (by_key == NULL && v->key != NO_TEXT && strcasecmp(r->bytes + v->key, column) == 0)
            by_key = v;
    }
    return by_key;
}

/* ---- selecting ------------------------------------------------------------------------------- */

/* Returns true if the text has the word; case does not matter. */
static bool has_word(const char *text, const char *word)
{
    static const char separators[] = " ,()";
    size_t len = strlen(word);
    for (const char *t = text; *t != '\0'; t++) {
        bool begins = t == text || strchr(separators, t[-1]) != NULL;
        if (begins && strncasecmp(t, word, len) == 0 && strchr(separators, t[len]) != NULL)
            return true;
    }
    return false;
}

static bool matches(const struct row *r, const char *column, const char *pattern, bool *has_column)
{
    if (pattern == NULL)
        return true;
    const struct step *v = find(r, column);
    const char *text = v != NULL ? text_at(r, v->text) : NULL;
    *has_column |= v != NULL;
    return text != NULL && (has_word(text, pattern) || fnmatch(pattern, text, FNM_CASEFOLD) == 0);
}

static bool is_selected(struct selection *s, const struct row *r)
{
    bool state = matches(r, "state", s->wanted->state, &s->has_state);
    return matches(r, "rate", s->wanted->rate, &s->has_rate) && state;
}

/* ---- sorting --------------------------------------------------------------------------------- */

/* Compares two values. Numbers are ordered by value, and come before all texts. Numbers within
 * texts also count as numbers: leaf-2 comes before leaf-10. */
static int compare_texts(const char *a, const char *b)
{
    char *a_end, *b_end;
    double x = strtod(a, &a_end), y = strtod(b, &b_end);
    bool a_number = a_end != a && *a_end == '\0', b_number = b_end != b && *b_end == '\0';
    if (a_number && b_number)
        return (x > y) - (x < y);
    if (a_number != b_number)
        return a_number ? -1 : 1;
    return strverscmp(a, b);
}

/* Compares two rows for qsort_r. ctx: the column to sort by, after "-" if the order is descending.
 * In both orders, rows without a value in the column come last. */
static int compare_rows(const void *a, const void *b, void *ctx)
{
    const struct row *x = a, *y = b;
    const char *column = ctx, *t = text_at(x, x->sort), *u = text_at(y, y->sort);
    bool down = column[0] == '-';
    int order = t != NULL && u != NULL ? compare_texts(t, u) : 0;
    if ((t == NULL) != (u == NULL))
        return t == NULL ? 1 : -1;
    if (order != 0)
        return down ? -order : order;
    return (x->place > y->place) - (x->place < y->place);
}

static void sort_rows(struct selection *s)
{
    if (s->wanted->sort != NULL && s->count > 0)
        qsort_r(s->rows, s->count, sizeof *s->rows, compare_rows,
                (void *)(uintptr_t)s->wanted->sort);
}

/* Stores in s->unknown the first column that the user named, but that no row of the present table
 * has. Does nothing if an earlier table set s->unknown, or if the table has no rows. */
static void check_columns(struct out *o)
{
    struct selection *s = o->selection;
    const char *sort = s->wanted->sort;
    size_t used = 0;
    bool sortable = sort == NULL || s->count == 0;
    for (size_t i = 0; i < s->count && !sortable; i++)
        sortable = find(&s->rows[i], sort + (sort[0] == '-')) != NULL;
    if (s->unknown != NULL || s->count + s->dropped == 0)
        return;
    if (!sortable)
        s->unknown = sort + (sort[0] == '-');
    else if (s->wanted->state != NULL && !s->has_state)
        s->unknown = "STATE";
    else if (s->wanted->rate != NULL && !s->has_rate)
        s->unknown = "RATE";
    for (size_t i = 0; s->unknown != NULL && i < o->column_count; i++)
        if (o->columns[i].label != NULL && used < sizeof s->columns)
            used += (size_t)snprintf(s->columns + used, sizeof s->columns - used, "%s%s",
                                     used > 0 ? ", " : "", o->columns[i].label);
}

/* ---- the interface of a format --------------------------------------------------------------- */

static void put_value(struct out *o, const struct row *r, const struct step *v)
{
    const struct value value = {
        text_at(r, v->key), text_at(r, v->label), text_at(r, v->text), v->kind, v->tone, 0};
    o->selection->ops->value(o, &value);
}

static void print_row(struct out *o, const struct row *r)
{
    const struct out_ops *ops = o->selection->ops;
    o->in_row = true;
    ops->row(o);
    for (size_t i = 0; i < r->count; i++) {
        const struct step *v = &r->steps[i];
        if (v->what == STEP_VALUE)
            put_value(o, r, v);
        else if (v->what == STEP_RECORD)
            ops->record(o, text_at(r, v->key));
        else
            ops->record_end(o);
    }
    ops->row_end(o);
    o->in_row = false;
}

static void record(struct out *o, const char *key)
{
    if (o->in_row)
        keep(o, STEP_RECORD, &(struct value){.key = key});
    else
        o->selection->ops->record(o, key);
}

static void record_end(struct out *o)
{
    if (o->in_row)
        keep(o, STEP_RECORD_END, &(struct value){0});
    else
        o->selection->ops->record_end(o);
}

static void value(struct out *o, const struct value *v)
{
    if (o->in_row)
        keep(o, STEP_VALUE, v);
    else
        o->selection->ops->value(o, v);
}

static void table(struct out *o, const char *key)
{
    struct selection *s = o->selection;
    s->dropped = 0;
    s->has_state = s->has_rate = false;
    s->ops->table(o, key);
}

static void row(struct out *o)
{
    struct selection *s = o->selection;
    if (s->count < s->room)
        return;
    size_t room = s->room == 0 ? 64 : 2 * s->room;
    struct row *rows = reallocarray(s->rows, room, sizeof *rows);
    if (rows == NULL) {
        /* without memory, this row and all later ones are left out; out_close returns NOMEM */
        o->failed = true;
        return;
    }
    memset(rows + s->room, 0, (room - s->room) * sizeof *rows);
    s->rows = rows;
    s->room = room;
}

static void row_end(struct out *o)
{
    struct selection *s = o->selection;
    if (s->count >= s->room)
        return;
    struct row *r = &s->rows[s->count];
    const char *sort = s->wanted->sort;
    const struct step *v = sort != NULL ? find(r, sort + (sort[0] == '-')) : NULL;
    r->sort = v != NULL ? v->text : NO_TEXT;
    if (o->failed || !is_selected(s, r)) {
        s->dropped++;
        clear_row(r);
    } else if (o->live) {
        print_row(o, r);
        clear_row(r);
    } else {
        r->place = s->count++;
    }
}

static void table_end(struct out *o)
{
    struct selection *s = o->selection;
    if (!o->live)
        check_columns(o);
    sort_rows(s);
    for (size_t i = 0; i < s->count; i++) {
        if (s->unknown == NULL)
            print_row(o, &s->rows[i]);
        free_row(&s->rows[i]);
    }
    s->ops->table_end(o);
    if (s->count == 0 && s->dropped > 0 && s->unknown == NULL)
        s->ops->note(o, OUT_DIM, "No row matches.");
    s->count = 0;
}

static void note(struct out *o, enum out_tone tone, const char *line)
{
    o->selection->ops->note(o, tone, line);
}

static void close_selection(struct out *o)
{
    struct selection *s = o->selection;
    if (s->ops->close != NULL)
        s->ops->close(o);
    for (size_t i = 0; i < s->room; i++)
        free_row(&s->rows[i]);
    free(s->rows);
    free(s);
    o->selection = NULL;
}

const struct out_ops out_select_ops = {true, true,    record,    record_end, value,          table,
                                       row,  row_end, table_end, note,       close_selection};

int out_select(struct out *o, const struct out_rows *rows)
{
    struct selection *s = calloc(1, sizeof *s);
    if (s == NULL)
        return FAB_E_NOMEM;
    s->wanted = rows;
    s->ops = o->ops;
    o->selection = s;
    o->ops = &out_select_ops;
    return FAB_OK;
}

const char *out_unknown_column(const struct out *o, char *ret_columns, size_t size)
{
    const struct selection *s = o->selection;
    if (s == NULL || s->unknown == NULL)
        return NULL;
    snprintf(ret_columns, size, "%s", s->columns);
    return s->unknown;
}
