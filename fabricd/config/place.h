/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the line and column of a value in the configuration file, and writes error messages with
 * this position. A path such as "subnet.lmc" or "listen[1]" names a value. For this folder only.
 */
#ifndef FABRICD_CONFIG_PLACE_H
#define FABRICD_CONFIG_PLACE_H

#include <stdbool.h>
#include <stddef.h>

struct place_document;

/* Report of an error in a configuration file. why[] gets the message "NAME:LINE:COLUMN: ...". The
 * struct also has the parsed text, in which the line and column are looked up. */
struct report {
    const char *name;
    struct place_document *document;
    char *why;
    size_t why_len;
};

/* Parses the text, so that the functions below can find lines and columns. Returns OK; NOMEM; or
 * FORMAT with a message in the report, if the text is no YAML, or has a duplicate key or a second
 * document. */
int place_open(const char *text, size_t len, struct report *report);
void place_close(struct report *report);
/* Returns true if the configuration file is empty or has only comments. */
bool place_is_empty(const struct report *report);
/* Writes all values of the file to *ret, as lines "path: value". The caller frees *ret. Returns
 * NOMEM. */
int place_flatten(const struct report *report, char **ret);
bool place_has(const struct report *report, const char *path);

/* The functions report_... write an error message into the report and return FAB_E_FORMAT. If the
 * position of the error is not known, the message has only the file name. */
int report_at(struct report *report, size_t line, size_t column, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Writes an error message with the line and column of a key, not of its value. */
int report_key(struct report *report, const char *path, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Writes "PATH is 'VALUE', expected EXPECTED", with the line and column of the value. */
int report_value(struct report *report, const char *path, const char *expected);
/* Writes "PATH SENTENCE", with the line and column of the value. */
int report_sentence(struct report *report, const char *path, const char *sentence);
/* Writes the same message as report_value, for the value at this line and column, which count from
 * 1. */
int report_node_at(struct report *report, size_t line, size_t column, const char *path,
                   const char *expected);

#endif
