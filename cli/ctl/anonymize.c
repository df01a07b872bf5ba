/* SPDX-License-Identifier: BSD-3-Clause */
/* Anonymizes a support bundle. This file has the rules for each kind of part, and runs the passes
 * over the parts. */
#include "cli/ctl/anonymize.h"

#include <stdlib.h>
#include <string.h>

#include "cli/ctl/anonymize_json.h"
#include "cli/ctl/anonymize_text.h"
#include "libfabmgr/base/status.h"

struct anonymizer {
    struct pseudonyms *pseudonyms;
    int status; /* status of the first error; OK: there was no error */
};

int anonymizer_new(struct anonymizer **ret)
{
    struct anonymizer *a = calloc(1, sizeof *a);
    if (a == NULL || pseudonyms_new(&a->pseudonyms) != FAB_OK) {
        free(a);
        return FAB_E_NOMEM;
    }
    *ret = a;
    return FAB_OK;
}

void anonymizer_free(struct anonymizer *a)
{
    if (a == NULL)
        return;
    pseudonyms_free(a->pseudonyms);
    free(a);
}

static void note(struct anonymizer *a, int status)
{
    if (a->status == FAB_OK)
        a->status = status;
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* Returns true if the part describes the hardware or the operating system. Unknown words of such a
 * part are not replaced, because they are rarely names, and because the names in such a part are
 * also in other parts, from which they are learned. */
static bool is_of_system(const char *part)
{
    static const char *const parts[] = {"kernel.txt", "system.txt", "cpus.txt", "process.txt"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strcmp(part, parts[i]) == 0)
            return true;
    return false;
}

/* Returns true if the part is JSON. A part whose file name has no extension, such as "audit", is
 * JSON, too. fabricctl only learns names from such a part; the bundle does not contain it. */
static bool is_json(const char *part)
{
    const char *dot = strrchr(part, '.');
    return dot == NULL || strcmp(dot, ".json") == 0;
}

/* Handles one line of settings.txt, such as "rpc.roles.viewer[0].user: alice". The end of the key
 * tells what kind of name the value is. */
static void setting(struct anonymize_text *t, const char *line, size_t len)
{
    static const struct {
        const char *key;
        enum pseudonym_kind kind;
    } kinds[] = {
        {".user", PSEUDONYM_PERSON},        {".group", PSEUDONYM_PERSON},
        {"socket_group", PSEUDONYM_PERSON}, {".cn", PSEUDONYM_CERTIFICATE},
        {".san", PSEUDONYM_CERTIFICATE},    {".name", PSEUDONYM_CLASS},
    };
    const char *colon = memmem(line, len, ": ", 2);
    size_t key = colon != NULL ? (size_t)(colon - line) : len;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && colon != NULL; i++) {
        size_t end = strlen(kinds[i].key);
        if (key < end || memcmp(line + key - end, kinds[i].key, end) != 0)
            continue;
        anonymize_text(t, line, key + 2);
        if (kinds[i].kind == PSEUDONYM_PERSON)
            anonymize_account(t, line + key + 2, len - key - 2);
        else
            anonymize_name(t, kinds[i].kind, line + key + 2, len - key - 2);
        return;
    }
    anonymize_text(t, line, len);
}

static void settings(struct anonymize_text *t, const char *text, size_t len)
{
    while (len > 0) {
        const char *end = memchr(text, '\n', len);
        size_t n = end != NULL ? (size_t)(end - text) : len;
        setting(t, text, n);
        n += end != NULL;
        if (t->to != NULL && end != NULL)
            fab_base_text_add(t->to, "\n");
        text += n;
        len -= n;
    }
}

static void pass_over(struct anonymizer *a, enum anonymize_pass pass, const char *part,
                      const char *text, size_t len, struct fab_text *to)
{
    struct anonymize_text t = {
        .pseudonyms = a->pseudonyms, .pass = pass, .strict = !is_of_system(part), .to = to};
    if (is_json(part))
        anonymize_json(&t, part, text, len);
    else if (strcmp(part, "settings.txt") == 0)
        settings(&t, text, len);
    else
        anonymize_text(&t, text, len);
    note(a, t.status);
}

/* ---- the interface --------------------------------------------------------------------------- */

void anonymizer_learn(struct anonymizer *a, enum pseudonym_kind kind, const char *name)
{
    struct anonymize_text t = {.pseudonyms = a->pseudonyms, .pass = ANONYMIZE_LEARN};
    anonymize_name(&t, kind, name, strlen(name));
    note(a, t.status);
}

void anonymizer_read(struct anonymizer *a, const char *part, const char *text, size_t len)
{
    pass_over(a, ANONYMIZE_LEARN, part, text, len, NULL);
}

void anonymizer_seal(struct anonymizer *a)
{
    note(a, pseudonyms_seal(a->pseudonyms));
}

void anonymizer_write(struct anonymizer *a, const char *part, const char *text, size_t len,
                      struct fab_text *to)
{
    pass_over(a, ANONYMIZE_WRITE, part, text, len, to);
    note(a, to->status);
    pass_over(a, ANONYMIZE_CHECK, part, fab_base_text_get(to), to->len, NULL);
}

int anonymizer_status(const struct anonymizer *a)
{
    return a->status;
}

struct pseudonyms *anonymizer_pseudonyms(struct anonymizer *a)
{
    return a->pseudonyms;
}
