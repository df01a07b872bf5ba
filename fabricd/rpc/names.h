/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of hosts, as job schedulers write them: "node[01-16,20]" is seventeen. */
#ifndef FABRICD_RPC_NAMES_H
#define FABRICD_RPC_NAMES_H

/* Gets each name; negative: stop, and names_each returns it. */
typedef int names_fn(void *ctx, const char *name);
/* Expands up to four [...] in a name; what is not of that form is taken as it is. */
int names_each(const char *text, names_fn *each, void *ctx);

#endif
