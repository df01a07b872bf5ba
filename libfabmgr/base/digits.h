/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads unsigned numbers in text. The functions read digits only; the caller handles signs, blanks
 * and prefixes. */
#ifndef LIBFABMGR_BASE_DIGITS_H
#define LIBFABMGR_BASE_DIGITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the value of a hexadecimal digit; 16: c is no hexadecimal digit. */
unsigned fab_base_digit_value(char c);
/* Reads the number that begins at `at`, in the base `base` (2 to 16); the text ends before `end`.
 * Sets *ret to the number and returns the address after its last digit. If there is no digit,
 * returns `at` and leaves *ret unchanged. Returns NULL if the number exceeds `most`. */
const char *fab_base_digits_read(const char *at, const char *end, unsigned base, uint64_t most,
                                 uint64_t *ret);
/* Returns true if the whole text is one number in the base `base` and does not exceed `most`; *ret
 * is then this number. */
bool fab_base_digits_parse(const char *text, size_t len, unsigned base, uint64_t most,
                           uint64_t *ret);

#endif
