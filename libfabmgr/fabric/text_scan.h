/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads texts line by line and token by token, and writes error messages with the position of the
 * error. For readers of topology files and of cabling plans (libfabmgr/cabling). */
#ifndef LIBFABMGR_FABRIC_TEXT_SCAN_H
#define LIBFABMGR_FABRIC_TEXT_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/fabric/text.h"

/* A part of a text: a pointer into the text, and a length. */
struct span {
    const char *s;
    size_t len;
};
struct text_scan {
    /* start of the next line, and end of the whole text */
    const char *next, *end;
    /* start of the current line, position of the cursor in the line, and end of the line */
    const char *line, *at, *eol;
    uint32_t number; /* number of the current line, from 1 */
    /* true: the current line ends with a newline; false: it ends with the end of the text */
    bool ended;
    struct fab_text_error *error;
};

void fab_fabric_scan_init(struct text_scan *s, const char *text, size_t len,
                          struct fab_text_error *error);
/* moves to the next line; returns false at the end of the text */
bool fab_fabric_scan_line(struct text_scan *s);

/* All functions below this line, except fab_fabric_scan_fail, first skip blanks. */
/* returns true if the rest of the line begins with `word`; does not move the cursor */
bool fab_fabric_scan_is(struct text_scan *s, const char *word);
/* if the next character is c, moves the cursor after it and returns true */
bool fab_fabric_scan_take(struct text_scan *s, char c);
/* returns true if the rest of the line is empty or a comment */
bool fab_fabric_scan_at_end(struct text_scan *s);
/* Returns true if a decimal digit comes next. */
bool fab_fabric_scan_digit(struct text_scan *s);

/* Each of the next functions reads a token of one kind and moves the cursor after this token. If
 * the next token is of another kind, the function sets the error and returns FORMAT. `what` names
 * the expected token in the error message. */
int fab_fabric_scan_expect(struct text_scan *s, char c);
int fab_fabric_scan_quoted(struct text_scan *s, const char *what, struct span *ret);
/* Reads a number such as 12 or 0x1f. */
int fab_fabric_scan_number(struct text_scan *s, const char *what, uint64_t max, uint64_t *ret);
/* Reads a hexadecimal number such as 1f or 0x1f. */
int fab_fabric_scan_hex(struct text_scan *s, const char *what, uint64_t *ret);
/* Reads a comment or the end of the line. */
int fab_fabric_scan_end(struct text_scan *s);

/* Sets the error at the character `at` of the current line, and returns FORMAT. */
int fab_fabric_scan_fail(struct text_scan *s, const char *at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Sets the error "expected WHAT, found ..." at the cursor, and returns FORMAT. */
int fab_fabric_scan_unexpected(struct text_scan *s, const char *what);

#endif
