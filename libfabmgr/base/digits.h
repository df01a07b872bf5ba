/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers in text, by their digits alone: signs, blanks and prefixes are the caller's. */
#ifndef LIBFABMGR_BASE_DIGITS_H
#define LIBFABMGR_BASE_DIGITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a hexadecimal digit counts; 16: it is none. */
unsigned fab_base_digit_value(char c);
/* Reads as many digits of that base (up to 16) as there are before `end`. Returns where they stop
 * (`at`: there are none, and *ret stays); NULL: they say more than `most`. */
const char *fab_base_digits_read(const char *at, const char *end, unsigned base, uint64_t most,
                                 uint64_t *ret);
/* Whether all of the text is such digits, one at least, that say no more than `most`. */
bool fab_base_digits_parse(const char *text, size_t len, unsigned base, uint64_t most,
                           uint64_t *ret);

#endif
