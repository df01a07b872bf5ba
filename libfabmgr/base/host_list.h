/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of hosts in the notation of job schedulers (Slurm's hostlists): "node[01-16,20],login1"
 * names 18 hosts, and "r[1-2]n[1-8]" names 16. A number is written with at least as many digits as
 * the first number of its range. Brackets with other text in them are part of the name.
 */
#ifndef LIBFABMGR_BASE_HOST_LIST_H
#define LIBFABMGR_BASE_HOST_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/base/text.h"

#define FAB_RANGE_DIGITS_MAX 9

/* A range of numbers, such as "01-16", or one number, such as "7". width: least number of digits */
struct fab_number_range {
    uint32_t first, last;
    uint32_t width;
};
/* Reads a number or range at the beginning of the text, and the ',' or ']' that follows. Returns
 * the position after this ',' or ']'; NULL: the text has another form, a number has more than
 * FAB_RANGE_DIGITS_MAX digits, or the range is descending; *ret may have changed nevertheless. */
const char *fab_base_read_range(const char *text, struct fab_number_range *ret);
/* Returns the position after the list of numbers and ranges that ends with ']', or NULL if the text
 * does not begin with such a list. */
const char *fab_base_end_of_ranges(const char *text);

/* maximum number of names that one text may stand for */
#define FAB_HOST_LIST_MAX 1000000u

/* Type of the function that fab_base_host_list_each calls for each name. If the function returns an
 * error, fab_base_host_list_each stops and returns this error. */
typedef int fab_host_name_fn(void *ctx, const char *name);
/* Calls the function `each` for every name that the text stands for. The text is a single item: a
 * comma outside of brackets is part of the name. The text may have up to four lists in brackets.
 * Returns LIMIT if a name is longer than 255 bytes, or if there are more than FAB_HOST_LIST_MAX
 * names. Also returns the errors of `each`. */
int fab_base_host_list_each(const char *text, fab_host_name_fn *each, void *ctx);

/* Returns the length of the first item of a list. The item ends before the first comma outside of
 * brackets. */
size_t fab_base_host_list_item(const char *list);

/* Appends names[count] to the text as one list: "n1", "n2", "n3", "m" become "n[1-3],m". Adjacent
 * names that differ only in the number at their end (at most 9 digits) share a pair of brackets.
 * The order of the names stays the same. */
void fab_base_host_list_fold(const char *const *names, size_t count, struct fab_text *t);

#endif
