/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private to the room: where in the file something stands, and the sentence about it.
 *
 * A path names a value as a person would: "subnet.lmc", "listen[1]".
 */
#ifndef FABRICD_CONFIG_PLACE_H
#define FABRICD_CONFIG_PLACE_H

#include <stdbool.h>
#include <stddef.h>

struct place_document;

/* Where complaints go: "NAME:LINE:COLUMN: ..." into why[]. */
struct report {
    const char *name;
    struct place_document *document;
    char *why;
    size_t why_len;
};

/* Parses the text for its places only. FORMAT: not YAML, a key twice in a mapping, more than one
 * document; the report then holds the sentence. NOMEM. */
int place_open(const char *text, size_t len, struct report *report);
void place_close(struct report *report);
/* True when the document sets nothing: an empty file, or only comments. */
bool place_is_empty(const struct report *report);
bool place_has(const struct report *report, const char *path);

/* Each writes one sentence. A place that cannot be found is left out. Returns FAB_E_FORMAT. */
int report_at(struct report *report, size_t line, size_t column, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* About the key itself. */
int report_key(struct report *report, const char *path, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* "PATH is 'VALUE', expected EXPECTED", with the place of the value. */
int report_value(struct report *report, const char *path, const char *expected);
/* The same where only the place is known: line and column of the value, from 1. */
int report_node_at(struct report *report, size_t line, size_t column, const char *path,
                   const char *expected);

#endif
