/* SPDX-License-Identifier: BSD-3-Clause */
/* Shows the settings of the configuration file without secrets, for reports about faults. */
#include <string.h>

#include "fabricd/config/config.h"
#include "fabricd/config/raw.h"
#include "fabricd/config/secret.h"

static bool may_show(const char *path, size_t path_len, const char *value)
{
    return !setting_is_secret(path, path_len) || setting_is_made(value) ||
           secret_is_elsewhere(value);
}

/* Appends a line "path: value" of config.text to the text. */
static void show(const char *line, size_t len, struct fab_text *to)
{
    const char *colon = memmem(line, len, ": ", 2);
    char value[16]; /* copy of the first bytes of the value; may_show needs no more of it */
    if (colon == NULL)
        return;
    const char *from = colon + 2;
    size_t path_len = (size_t)(colon - line), value_len = len - path_len - 2;
    size_t most = value_len < sizeof(value) - 1 ? value_len : sizeof(value) - 1;
    memcpy(value, from, most);
    value[most] = '\0';
    if (may_show(line, path_len, value))
        fab_base_text_bytes(to, line, len);
    else
        fab_base_text_addf(to, "%.*s: (not shown)", (int)path_len, line);
    fab_base_text_add(to, "\n");
}

void config_show(const struct config *c, struct fab_text *to)
{
    for (const char *at = c->text; at != NULL && *at != '\0';) {
        size_t len = strcspn(at, "\n");
        show(at, len, to);
        at += len + (at[len] == '\n');
    }
}
