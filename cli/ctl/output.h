/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The output of commands. A command writes its values once; the output prints them as text for
 * people or as JSON for programs.
 *
 * A command describes records and tables, and a format prints them. Each value has a key, its name
 * in JSON (NULL: not in JSON), and a label, its name in text (NULL: not in text).
 */
#ifndef CLI_CTL_OUTPUT_H
#define CLI_CTL_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct out;

enum out_format { OUT_TEXT, OUT_JSON };

/* The tone of a value: it decides the colour on a terminal and has no effect elsewhere. */
enum out_tone { OUT_PLAIN, OUT_GOOD, OUT_WARN, OUT_BAD, OUT_DIM };

struct out_column {
    const char *key, *label;
    bool right; /* align right: numbers */
};

/* Creates an output. colour: use colours if the format has colours. NULL: out of memory. */
struct out *out_new(enum out_format format, FILE *to, bool colour);
/* Flushes the output and frees `o`. IO: some output could not be written; NOMEM: memory was short,
 * so some output is missing. */
int out_close(struct out *o);

/* Begin and end a record. A record is the output of one command; in JSON it is an object. In text,
 * a record within a row adds its values to the row, as far as they have a label. */
void out_record(struct out *o, const char *key);
void out_record_end(struct out *o);
/* Write a value in a record or in a row. */
void out_text(struct out *o, const char *key, const char *label, enum out_tone tone,
              const char *value);
void out_number(struct out *o, const char *key, const char *label, enum out_tone tone,
                uint64_t value);
/* Writes a time, given in microseconds, as milliseconds with a fraction. */
void out_millis(struct out *o, const char *key, const char *label, enum out_tone tone,
                uint64_t microseconds);
/* Writes a real number with `decimals` digits after the point. */
void out_real(struct out *o, const char *key, const char *label, enum out_tone tone, double value,
              unsigned decimals);
void out_bool(struct out *o, const char *key, const char *label, enum out_tone tone, bool value);
void out_none(struct out *o, const char *key, const char *label); /* JSON: null; text: "-" */
/* Begin and end a table; in JSON it is "key": [{...}, ...]. A row has a value for each column, in
 * the order of `columns`. A value without a label appears only in JSON. `live`: rows are printed at
 * once, in columns of fixed width; in JSON each row is then one line. */
void out_table(struct out *o, const char *key, const struct out_column *columns, size_t count,
               bool live);
void out_row(struct out *o);
void out_row_end(struct out *o);
void out_table_end(struct out *o);
/* Writes a formatted value, only in text. */
void out_textf(struct out *o, const char *label, enum out_tone tone, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Writes a text that may have several lines, only in JSON. */
void out_lines(struct out *o, const char *key, const char *text);
/* Returns whether writing has failed, so that further output is pointless. */
bool out_broken(const struct out *o);
/* Writes a line, only in text. */
void out_note(struct out *o, enum out_tone tone, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
