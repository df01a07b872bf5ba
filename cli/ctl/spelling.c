/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/ctl/spelling.h"

#include <ctype.h>
#include <string.h>

#define GUID_DIGITS 16

/* Returns the length of the GUID at the beginning of the text: 16 digits, or "S-", "H-" or "R-" and
 * 16 digits; 0: there is none. */
static size_t guid_length(const char *text)
{
    size_t type = text[0] != '\0' && strchr("SHRshr", text[0]) != NULL && text[1] == '-' ? 2 : 0;
    size_t digits = 0;
    while (digits < GUID_DIGITS && isxdigit((unsigned char)text[type + digits]))
        digits++;
    return digits == GUID_DIGITS ? type + digits : 0;
}

/* Returns the length of a port number of 1 to 3 digits; 0: there is none. */
static size_t port_length(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    return digits <= 3 ? digits : 0;
}

void respell(char *text)
{
    bool quoted = text[0] == '"';
    size_t guid = guid_length(text + quoted);
    char *rest = text + quoted + guid;
    if (guid == 0 || (quoted && *rest++ != '"'))
        return;
    bool brackets = *rest == '[';
    size_t port = brackets || *rest == '_' ? port_length(rest + 1) : 0;
    if (port == 0 ? *rest != '\0' : strcmp(rest + 1 + port, brackets ? "]" : "") != 0)
        return;
    memmove(text, text + quoted, guid);
    text[guid] = port > 0 ? '/' : '\0';
    memmove(text + guid + 1, rest + 1, port);
    text[guid + (port > 0) + port] = '\0';
}

void respell_arguments(struct session *s)
{
    for (int i = 0; i < s->argc; i++)
        respell(s->argv[i]);
    for (size_t i = 0; i < s->fail_count; i++)
        respell(s->fails[i]);
}
