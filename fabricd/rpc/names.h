/* SPDX-License-Identifier: BSD-3-Clause */
/* Expands lists of hosts in the notation of job schedulers: "node[01-16,20]" names 17 hosts. */
#ifndef FABRICD_RPC_NAMES_H
#define FABRICD_RPC_NAMES_H

/* The caller's function that gets each name. If it returns an error, names_each stops and returns
 * this error. */
typedef int names_fn(void *ctx, const char *name);
/* Calls `each` for every name in the text. The text may have up to four lists in brackets. Brackets
 * with other text in them are part of the name. Returns the errors of `each`. */
int names_each(const char *text, names_fn *each, void *ctx);

#endif
