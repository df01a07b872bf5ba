/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of hosts in the notation of job schedulers: "node[01-16,20]" names seventeen. */
#ifndef FABRICD_RPC_NAMES_H
#define FABRICD_RPC_NAMES_H

/* Called with each name; a negative result stops, and names_each returns it. */
typedef int names_fn(void *ctx, const char *name);
/* Expands up to four [...] in a name; other texts stay as they are. Errors are those of `each`. */
int names_each(const char *text, names_fn *each, void *ctx);

#endif
