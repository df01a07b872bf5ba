/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The output of commands. A command describes records and tables once, and the output prints them
 * as text for people, or as JSON, YAML, CSV or names for programs.
 *
 * Each value has a key, which is its name in JSON (NULL: not in JSON), and a label, which is its
 * name in text (NULL: not in text).
 */
#ifndef CLI_CTL_OUTPUT_H
#define CLI_CTL_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct out;

enum out_format {
    OUT_TEXT,
    OUT_WIDE, /* tables with all values, for people */
    OUT_JSON,
    OUT_YAML,
    OUT_CSV,
    OUT_NAME, /* only the first value of each row */
    OUT_SVG   /* no values are printed: the command writes a picture itself (plot.h) */
};

/* The meaning of a value, which decides its colour on a terminal. */
enum out_tone { OUT_PLAIN, OUT_GOOD, OUT_WARN, OUT_BAD, OUT_DIM };

struct out_column {
    const char *key, *label;
    bool right; /* true: align to the right, for numbers */
};

/* Finds the format with this name, such as "json". Returns false if there is none. */
bool out_format_of(const char *name, enum out_format *ret);
/* Creates an output. colour: use colours, if the format has colours. Returns NULL if memory ran
 * out. */
struct out *out_new(enum out_format format, FILE *to, bool colour);
/* Tells the output that the command prints a list. The formats csv, wide and name then print the
 * rows of its tables. Without this call, these formats print the rows only if the output begins
 * with a table. If it begins with a value, they print the values outside of tables, and no rows. */
void out_is_list(struct out *o);
/* Leaves out the line of column names above each table. */
void out_no_headers(struct out *o);
/* Which rows of the tables are printed, and in which order. A member that is NULL leaves the rows
 * as they are. A column is named by its key or its label; case does not matter. */
struct out_rows {
    const char *sort; /* the column to sort by; "-COLUMN" sorts the greatest value first */
    /* state: only rows whose column "state" matches this text are printed; rate: the same for the
     * column "rate". The text matches a value if it is a word of the value, or a pattern for the
     * whole value; "*" in the pattern stands for any text. */
    const char *state, *rate;
};
/* Selects and sorts the rows of all tables of this output. `rows` must outlive the output. Returns
 * NOMEM if memory ran out. */
int out_select(struct out *o, const struct out_rows *rows);
/* Returns the name of a column that out_select was asked for, but that is missing in a table with
 * rows. Writes the names of the columns of this table to ret_columns[], separated by commas.
 * Returns NULL if no column is missing. */
const char *out_unknown_column(const struct out *o, char *ret_columns, size_t size);
/* Joins the outputs of several runs of a command (output_many.c). lists: each output is a list. To
 * select rows, too, call out_select before this function. Returns NOMEM if memory ran out. */
int out_many(struct out *o, bool lists);
/* Begins the output of the next run. context: the context of the run; NULL: it is not shown.
 * argument: the argument of the run; NULL: it is not shown, for example because the output shows it
 * anyway. Both must outlive the output. */
void out_next(struct out *o, const char *context, const char *argument);
/* Flushes the output and frees `o`. Returns IO if some output could not be written, or NOMEM if
 * some output is missing because memory ran out. */
int out_close(struct out *o);

/* Returns false if the output drops all values without a label, as text does. Callers then need not
 * format such values. */
bool out_wants_keys(const struct out *o);
/* Returns false if the output drops all values without a key, as JSON does. */
bool out_wants_labels(const struct out *o);

/* The next functions begin and end a record, which is an object in JSON. The whole output of a
 * command is one record. If a record is inside a row of a table, text output shows the values of
 * the record in that row, except values without a label. */
void out_record(struct out *o, const char *key);
void out_record_end(struct out *o);
/* The next functions write a value in a record or in a row. */
void out_text(struct out *o, const char *key, const char *label, enum out_tone tone,
              const char *value);
void out_number(struct out *o, const char *key, const char *label, enum out_tone tone,
                uint64_t value);
/* Writes a duration in milliseconds with a fraction; the argument is in microseconds. */
void out_millis(struct out *o, const char *key, const char *label, enum out_tone tone,
                uint64_t microseconds);
/* Writes a real number with `decimals` digits after the decimal point. */
void out_real(struct out *o, const char *key, const char *label, enum out_tone tone, double value,
              unsigned decimals);
void out_bool(struct out *o, const char *key, const char *label, enum out_tone tone, bool value);
/* Writes null in JSON and "-" in text. */
void out_none(struct out *o, const char *key, const char *label);
/* The next functions begin and end a table, which in JSON is "key": [{...}, ...]. A row must have a
 * value for each column, in the order of `columns`. A value without a label appears only in JSON.
 * live: each row is printed at once, in text in columns of fixed width, in JSON as one line. */
void out_table(struct out *o, const char *key, const struct out_column *columns, size_t count,
               bool live);
void out_row(struct out *o);
void out_row_end(struct out *o);
void out_table_end(struct out *o);
/* Writes a value in text output only, formatted as by printf. */
void out_textf(struct out *o, const char *label, enum out_tone tone, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Writes a text that may have several lines, in JSON output only. */
void out_lines(struct out *o, const char *key, const char *text);
/* Returns true if an earlier write has failed; the caller can then stop. */
bool out_broken(const struct out *o);
/* Writes a line, in text output only. */
void out_note(struct out *o, enum out_tone tone, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Writes an error as one line of JSON: {"error": {"exit_status": 4, "message": "..."}}. */
void out_error(FILE *to, int exit_status, const char *message);

#endif
