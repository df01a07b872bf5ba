/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds out whether a text in a journal names a given node or port. */
#include "libfabmgr/view/concern.h"

#include <stdint.h>
#include <string.h>

#include "libfabmgr/base/digits.h"

/* Returns the port number with which a text "NODE/PORT" ends; -1: the text has another form. */
static int port_at_end(const char *text, size_t len)
{
    uint64_t port;
    size_t digits = 0;
    while (digits < len && text[len - 1 - digits] >= '0' && text[len - 1 - digits] <= '9')
        digits++;
    if (digits == 0 || digits == len || text[len - 1 - digits] != '/' ||
        !fab_base_digits_parse(text + len - digits, digits, 10, 255, &port))
        return -1;
    return (int)port;
}

/* Returns true if the text is the node c->node, or one of its ports ("NAME/PORT"). c->node is a
 * whole name, or the first word of a name; after such a word, the text may continue with the rest
 * of the name. */
static bool is_place(const struct fab_concern *c, const char *text, size_t len)
{
    if (c->len == 0 || len < c->len || memcmp(text, c->node, c->len) != 0)
        return false;
    if (len == c->len)
        return c->port == FAB_ALL_PORTS;
    int port = port_at_end(text, len);
    bool whole = text[c->len] == '/' && port >= 0 && memrchr(text, '/', len) == text + c->len;
    if (!whole && text[c->len] != ' ')
        return false;
    return c->port == FAB_ALL_PORTS || port == c->port;
}

/* Returns the length of the first entry of a list, and sets *ret_skip to the length of the
 * separator after it. */
static size_t first_entry(const char *text, size_t *ret_skip)
{
    static const char *const separators[] = {", ", " - "};
    size_t len = strlen(text);
    *ret_skip = 0;
    for (size_t i = 0; i < 2; i++) {
        const char *end = strstr(text, separators[i]);
        if (end != NULL && (size_t)(end - text) < len) {
            len = (size_t)(end - text);
            *ret_skip = strlen(separators[i]);
        }
    }
    return len;
}

bool fab_view_concerns(const struct fab_concern *c, const char *text)
{
    size_t len, skip = 1;
    /* compares the whole text first, because a name may contain separators, as in
     * "SwitchX -  Mellanox Technologies" */
    if (is_place(c, text, strlen(text)))
        return true;
    for (; *text != '\0' && skip > 0; text += len + skip) {
        len = first_entry(text, &skip);
        if (is_place(c, text, len))
            return true;
    }
    return false;
}
