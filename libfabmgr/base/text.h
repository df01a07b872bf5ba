/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Text (or bytes) that grows as it is written. The first failure sticks: later writes do nothing,
 * and only the end needs a check.
 */
#ifndef LIBFABMGR_BASE_TEXT_H
#define LIBFABMGR_BASE_TEXT_H

#include <stddef.h>

struct fab_text {
    char *s; /* NUL-terminated; NULL before the first write. Use fab_base_text_get to read it */
    size_t len, room;
    int status; /* OK, or NOMEM */
};
void fab_base_text_init(struct fab_text *t); /* all zeros is as good */
void fab_base_text_fini(struct fab_text *t);
void fab_base_text_add(struct fab_text *t, const char *s);
void fab_base_text_bytes(struct fab_text *t, const void *bytes, size_t len);
void fab_base_text_addf(struct fab_text *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* What is there so far, "" when empty; valid until the next write. */
const char *fab_base_text_get(const struct fab_text *t);
/* Hands over the malloc'd text (never NULL on OK) and leaves t empty. NOMEM: t is empty too. */
int fab_base_text_take(struct fab_text *t, char **ret, size_t *ret_len);

#endif
