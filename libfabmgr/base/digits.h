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
/* Reads a number at `at`; the text ends before `end`. base: 2 to 16. Returns the address after the
 * last digit. Returns `at`, and leaves *ret unchanged, if there is no digit. Returns NULL if the
 * number exceeds `most`. */
const char *fab_base_digits_read(const char *at, const char *end, unsigned base, uint64_t most,
                                 uint64_t *ret);
/* Returns true if the text is exactly one number in this base that does not exceed `most`. *ret is
 * then the number. */
bool fab_base_digits_parse(const char *text, size_t len, unsigned base, uint64_t most,
                           uint64_t *ret);

#endif
