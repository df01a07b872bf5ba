/* SPDX-License-Identifier: BSD-3-Clause */
/* Expands lists of hosts in the notation of job schedulers: "node[01-16,20]" names 17 hosts. */
#ifndef LIBFABMGR_BASE_HOST_LIST_H
#define LIBFABMGR_BASE_HOST_LIST_H

/* Function of the caller that gets each name. If it returns an error, fab_base_host_list_each stops
 * and returns this error. */
typedef int fab_host_name_fn(void *ctx, const char *name);
/* Calls `each` for every name in the text. The text may have up to four lists in brackets. Brackets
 * with other text in them are part of the name. Returns the errors of `each`. */
int fab_base_host_list_each(const char *text, fab_host_name_fn *each, void *ctx);

#endif
