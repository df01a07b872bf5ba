/* SPDX-License-Identifier: BSD-3-Clause */
/* Appends text to a buffer. Formatted text is first written into the free part of the buffer. If it
 * does not fit, the buffer grows and the text is formatted again. */
#include "libfabmgr/base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

void fab_base_text_init(struct fab_text *t)
{
    *t = (struct fab_text){0};
}

void fab_base_text_fini(struct fab_text *t)
{
    free(t->s);
    fab_base_text_init(t);
}

/* Grows the buffer so that `more` bytes and the final NUL fit. */
static int make_room(struct fab_text *t, size_t more)
{
    size_t need;
    if (t->status != FAB_OK)
        return t->status;
    if (fab_base_size_add(t->len, more, &need) && fab_base_size_add(need, 1, &need)) {
        char *grown = fab_base_grow(t->s, 1, need, &t->room);
        if (grown != NULL) {
            t->s = grown;
            return FAB_OK;
        }
    }
    t->status = FAB_E_NOMEM;
    return t->status;
}

void fab_base_text_bytes(struct fab_text *t, const void *bytes, size_t len)
{
    if (make_room(t, len) != FAB_OK)
        return;
    if (len > 0)
        memcpy(t->s + t->len, bytes, len);
    t->len += len;
    t->s[t->len] = '\0';
}

void fab_base_text_add(struct fab_text *t, const char *s)
{
    fab_base_text_bytes(t, s, strlen(s));
}

void fab_base_text_addf(struct fab_text *t, const char *fmt, ...)
{
    va_list args;
    if (make_room(t, 0) != FAB_OK)
        return;
    va_start(args, fmt);
    int len = vsnprintf(t->s + t->len, t->room - t->len, fmt, args);
    va_end(args);
    if (len >= 0 && (size_t)len >= t->room - t->len) {
        t->s[t->len] = '\0';
        if (make_room(t, (size_t)len) != FAB_OK)
            return;
        va_start(args, fmt);
        len = vsnprintf(t->s + t->len, t->room - t->len, fmt, args);
        va_end(args);
    }
    if (len >= 0)
        t->len += (size_t)len;
    else
        t->status = FAB_E_NOMEM;
}

const char *fab_base_text_get(const struct fab_text *t)
{
    return t->s != NULL ? t->s : "";
}

int fab_base_text_take(struct fab_text *t, char **ret, size_t *ret_len)
{
    int status = make_room(t, 0);
    if (status != FAB_OK) {
        fab_base_text_fini(t);
        return status;
    }
    t->s[t->len] = '\0';
    *ret = t->s;
    if (ret_len != NULL)
        *ret_len = t->len;
    fab_base_text_init(t);
    return FAB_OK;
}
