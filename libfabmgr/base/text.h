/* SPDX-License-Identifier: BSD-3-Clause */
/* A buffer of text or bytes that grows as the caller writes. After the first failure, later writes
 * do nothing, so the caller checks the status only once, at the end. */
#ifndef LIBFABMGR_BASE_TEXT_H
#define LIBFABMGR_BASE_TEXT_H

#include <stddef.h>

struct fab_text {
    /* the text, NUL-terminated; NULL before the first write; so use fab_base_text_get to read it */
    char *s;
    size_t len, room;
    int status; /* FAB_OK or FAB_E_NOMEM */
};
/* Makes *t empty. Setting all bytes of the struct to zero has the same effect. */
void fab_base_text_init(struct fab_text *t);
void fab_base_text_fini(struct fab_text *t);
void fab_base_text_add(struct fab_text *t, const char *s);
void fab_base_text_bytes(struct fab_text *t, const void *bytes, size_t len);
void fab_base_text_addf(struct fab_text *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Returns the text written so far, which may be "". The pointer is valid until the next write. */
const char *fab_base_text_get(const struct fab_text *t);
/* Sets *ret to the text (never NULL), which the caller frees with free(), and makes *t empty.
 * *ret_len receives the length of the text; `ret_len` may be NULL. Returns NOMEM if memory ran out
 * now or in an earlier write; *t is then empty, too. */
int fab_base_text_take(struct fab_text *t, char **ret, size_t *ret_len);

#endif
