/* SPDX-License-Identifier: BSD-3-Clause */
#include "libfabmgr/cabling/name.h"

#include <ctype.h>
#include <string.h>

struct writer {
    char *key;
    size_t len;
};

static void put(struct writer *w, const char *text, size_t len)
{
    for (size_t i = 0; i < len && w->len + 1 < FAB_CABLING_KEY; i++) {
        char c = (char)tolower((unsigned char)text[i]);
        w->key[w->len++] = c == ' ' || c == '\t' ? '/' : c;
    }
    w->key[w->len] = '\0';
}

/* Writes the key of a name of the form "MF0;system:model/board". If the board is U1, it is the only
 * switch of the system, so the key has only the system; otherwise the key has the system and the
 * board. */
static void put_managed(struct writer *w, const char *name, const char *colon, const char *end)
{
    put(w, name, (size_t)(colon - name));
    const char *slash = memchr(colon, '/', (size_t)(end - colon));
    if (slash == NULL)
        return;
    size_t len = (size_t)(end - slash);
    if (len != 3 || strncasecmp(slash, "/U1", 3) != 0)
        put(w, slash, len);
}

void fab_cabling_key(const char *name, size_t len, char key[FAB_CABLING_KEY])
{
    static const char managed[] = "MF0;";
    const size_t prefix = sizeof managed - 1;
    struct writer w = {.key = key};
    const char *end = name + len;
    key[0] = '\0';
    const char *colon = NULL;
    if (len > prefix && strncasecmp(name, managed, prefix) == 0)
        colon = memchr(name + prefix, ':', len - prefix);
    if (colon != NULL)
        put_managed(&w, name + prefix, colon, end);
    else
        put(&w, name, len);
}

size_t fab_cabling_system_len(const char *key)
{
    return strcspn(key, "/");
}

bool fab_cabling_is_same_system(const char *a, const char *b)
{
    size_t len = fab_cabling_system_len(a);
    return fab_cabling_system_len(b) == len && memcmp(a, b, len) == 0;
}
