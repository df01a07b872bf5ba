/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What commands print: written once, rendered as text for people or as JSON for programs.
 *
 * A command describes records and tables; a format draws them. Each value has a key, which is its
 * name in JSON (NULL: not there), and a label, which is its name in text (NULL: not there).
 */
#ifndef CLI_CTL_OUTPUT_H
#define CLI_CTL_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct out;

enum out_format { OUT_TEXT, OUT_JSON };

/* How a value is meant: colours on a terminal, nothing elsewhere. */
enum out_tone { OUT_PLAIN, OUT_GOOD, OUT_WARN, OUT_BAD, OUT_DIM };

struct out_column {
    const char *key, *label;
    bool right; /* numbers */
};

/* colour: only where the format can. */
struct out *out_new(enum out_format format, FILE *to, bool colour);
/* Flushes. Negative: something could not be written (IO) or kept (NOMEM). */
int out_close(struct out *o);

/* A record is what one command says. In JSON: {...}. Records do not nest in text: of one within a
 * row, text has the values with a label. */
void out_record(struct out *o, const char *key);
void out_record_end(struct out *o);
/* Values, in a record or in a row. */
void out_text(struct out *o, const char *key, const char *label, enum out_tone tone,
              const char *value);
void out_number(struct out *o, const char *key, const char *label, enum out_tone tone,
                uint64_t value);
/* Milliseconds with their fraction, given in microseconds. */
void out_millis(struct out *o, const char *key, const char *label, enum out_tone tone,
                uint64_t microseconds);
/* With so many decimals. */
void out_real(struct out *o, const char *key, const char *label, enum out_tone tone, double value,
              unsigned decimals);
void out_bool(struct out *o, const char *key, const char *label, enum out_tone tone, bool value);
void out_none(struct out *o, const char *key, const char *label); /* null; "-" */
/* A table: in JSON "key": [{...}, ...]. Rows have the values of the columns, in their order; a
 * value without a label stands in JSON only. `live`: rows are printed as they come, on columns of
 * their own width; in JSON each row is then one line. */
void out_table(struct out *o, const char *key, const struct out_column *columns, size_t count,
               bool live);
void out_row(struct out *o);
void out_row_end(struct out *o);
void out_table_end(struct out *o);
/* A value that is put together, in text only. */
void out_textf(struct out *o, const char *label, enum out_tone tone, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* JSON only: a text whose lines are kept. */
void out_lines(struct out *o, const char *key, const char *text);
/* Nobody takes what is printed. */
bool out_broken(const struct out *o);
/* Text only: a line as it is. */
void out_note(struct out *o, enum out_tone tone, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
