/* SPDX-License-Identifier: BSD-3-Clause */
/* The first words of names. For this folder only. */
#ifndef LIBFABMGR_VIEW_NAME_H
#define LIBFABMGR_VIEW_NAME_H

#include <stdbool.h>

/* Returns true if a word of a name ends before `rest`: at a blank, or at a slash without a digit
 * after it. So "twin/2" is one word, because "/2" looks like a port number. */
static inline bool fab_view_ends_word(const char *rest)
{
    return rest[0] == ' ' || (rest[0] == '/' && (rest[1] < '0' || rest[1] > '9'));
}

#endif
