/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the lines of OpenSM's files guid2lid and guid2mkey, which have a common form: the GUID of a
 * port and further hexadecimal numbers, separated by blanks. "#" begins a comment.
 */
#ifndef LIBFABMGR_POLICY_GUID_LINES_H
#define LIBFABMGR_POLICY_GUID_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fab_line_error {
    unsigned line;     /* number of the line with the error, from 1 */
    char message[120]; /* the reason; it never contains a key */
};

/* Reads the next number, which is 0x and 1 to 16 hexadecimal digits. Moves *at past blanks and past
 * the next word, even if this word is not such a number. `end` is the end of the line. Returns
 * false if the next word is not such a number, or if the number exceeds `most`. */
bool fab_policy_guid_lines_number(const char **at, const char *end, uint64_t most, uint64_t *ret);
/* Moves *at past blanks. Returns true if the rest of the line has only blanks or a comment. */
bool fab_policy_guid_lines_is_over(const char **at, const char *end);

/* Reads one line, from `at` to `end`, that is neither empty nor a comment. Returns FAB_OK or an
 * error; if this is FORMAT, *ret_why is the reason, a string constant. */
typedef int fab_policy_guid_lines_take(void *ctx, const char *at, const char *end, unsigned line,
                                       const char **ret_why);
/* Calls the function `take` for each line of the text that is neither empty nor a comment, until
 * take() returns an error, and returns this error. Returns FORMAT if a line has more than line_max
 * bytes; line_max 0: lines can have any length. After FORMAT, *ret_error has the line and the
 * reason. */
int fab_policy_guid_lines_each(const char *text, size_t len, size_t line_max,
                               fab_policy_guid_lines_take *take, void *ctx,
                               struct fab_line_error *ret_error);
/* Writes the number of the line and the reason to *error, and returns FORMAT. */
int fab_policy_guid_lines_fail(struct fab_line_error *error, unsigned line, const char *why);

#endif
