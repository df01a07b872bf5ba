/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads YAML mappings. A table of `struct field` lists the allowed keys with the types of their
 * values. The types are those of YAML's core schema, so that programs that check the policy against
 * doc/policy.schema.json see the same types: if a text without quotes looks like a number, a truth
 * value or null, it is not accepted as a text. */
#include "libfabmgr/policy/declared_fields.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "libfabmgr/base/digits.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/policy/append.h"

#define SHOWN 60 /* maximum number of bytes of a value that an error message shows */

/* ---- errors ---------------------------------------------------------------------------------- */

void fab_policy_path_of(struct declared_reader *r, const char *base, size_t index, const char *key)
{
    snprintf(r->path, sizeof(r->path), "%.40s[%zu]%s%.40s", base, index, key != NULL ? "." : "",
             key != NULL ? key : "");
}

int fab_policy_wrong(struct declared_reader *r, uint32_t node, const char *fmt, ...)
{
    char text[300];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    r->error->at = r->doc->node[node].at;
    snprintf(r->error->message, sizeof(r->error->message), "%s%s%s", r->path,
             r->path[0] != '\0' ? " " : "", text);
    return FAB_E_FORMAT;
}

/* Writes the value of a document node to to[], for an error message. Replaces control characters,
 * and shortens a long value. */
static void shown(const struct fab_doc_node *n, char to[SHOWN + 8])
{
    size_t len = 0;
    if (n->kind != FAB_DOC_TEXT || n->text[0] == '\0') {
        snprintf(to, SHOWN + 8, "%s",
                 n->kind == FAB_DOC_LIST  ? "a list"
                 : n->kind == FAB_DOC_MAP ? "a mapping"
                                          : "empty");
        return;
    }
    to[len++] = '\'';
    for (const char *s = n->text; *s != '\0' && len <= SHOWN; s++)
        to[len++] = (unsigned char)*s < 0x20 || *s == 0x7f ? '?' : *s;
    snprintf(to + len, 5, "%s'", strlen(n->text) > SHOWN ? "..." : "");
}

static int unexpected(struct declared_reader *r, uint32_t node, const char *expected)
{
    char text[SHOWN + 8];
    shown(&r->doc->node[node], text);
    return fab_policy_wrong(r, node, "is %s, expected %s", text, expected);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Returns the index of the text in the list words[count], without regard to case. Returns `count`
 * if the list does not contain the text. */
static size_t find_word(const char *text, const char *const *words, size_t count)
{
    char lower[8] = "";
    size_t i = 0, len = strlen(text);
    for (size_t c = 0; c < len && c < sizeof(lower) - 1; c++)
        lower[c] = text[c] >= 'A' && text[c] <= 'Z' ? (char)(text[c] | 0x20) : text[c];
    while (i < count && (len >= sizeof(lower) || strcmp(lower, words[i]) != 0))
        i++;
    return i;
}

/* The words for truth values. Those with even indexes mean yes, those with odd indexes no. */
static const char *const truth[] = {"yes", "no", "true", "false", "on", "off"};

/* Returns true if a text without quotes is a number, a date, a truth value or null in YAML. */
static bool is_other_type(const char *text)
{
    static const char *const null[] = {"null", "~"};
    if (find_word(text, truth, 6) < 6 || find_word(text, null, 2) < 2)
        return true;
    return strchr("0123456789+-.", text[0]) != NULL &&
           strspn(text, "0123456789abcdefABCDEFxXoO_+:.-") == strlen(text);
}

int fab_policy_field_text(struct declared_reader *r, uint32_t node, size_t most, const char **ret)
{
    const struct fab_doc_node *n = &r->doc->node[node];
    char expected[80];
    if (n->kind == FAB_DOC_TEXT && n->plain && n->text[0] != '\0' && is_other_type(n->text))
        return unexpected(r, node, "a text; put it in quotes if this is one");
    snprintf(expected, sizeof(expected), "a text of 1 to %zu bytes without control characters",
             most);
    if (n->kind != FAB_DOC_TEXT || n->text[0] == '\0' || strlen(n->text) > most)
        return unexpected(r, node, expected);
    for (const char *s = n->text; *s != '\0'; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            return unexpected(r, node, expected);
    *ret = n->text;
    return FAB_OK;
}

static bool number_of(const char *text, uint64_t *ret)
{
    size_t len = strlen(text);
    if (len > 2 && text[0] == '0' && text[1] == 'x')
        return fab_base_digits_parse(text + 2, len - 2, 16, UINT64_MAX, ret);
    return (text[0] != '0' || len == 1) && fab_base_digits_parse(text, len, 10, UINT64_MAX, ret);
}

int fab_policy_field_number(struct declared_reader *r, uint32_t node, uint64_t least, uint64_t most,
                            const char * or, uint64_t *ret)
{
    const struct fab_doc_node *n = &r->doc->node[node];
    char expected[100];
    uint64_t value;
    if (n->kind == FAB_DOC_TEXT && n->plain && number_of(n->text, &value) && value >= least &&
        value <= most) {
        *ret = value;
        return FAB_OK;
    }
    snprintf(expected, sizeof(expected), "a number from %" PRIu64 " to %" PRIu64 "%s", least, most,
             or);
    return unexpected(r, node, expected);
}

bool fab_policy_node_guid(const struct fab_doc_node *n, uint64_t *ret)
{
    if (n->kind != FAB_DOC_TEXT || (!n->plain && strncmp(n->text, "0x", 2) != 0))
        return false;
    return strlen(n->text) <= 20 && number_of(n->text, ret) && *ret != 0 &&
           (n->plain || strlen(n->text) <= 18);
}

int fab_policy_field_guid(struct declared_reader *r, uint32_t node, uint64_t *ret)
{
    return fab_policy_node_guid(&r->doc->node[node], ret)
               ? FAB_OK
               : unexpected(r, node, "a GUID such as 0x0002c90300000001");
}

static int read_bool(struct declared_reader *r, uint32_t node, uint64_t *ret)
{
    const struct fab_doc_node *n = &r->doc->node[node];
    size_t word = n->kind == FAB_DOC_TEXT && n->plain ? find_word(n->text, truth, 6) : 6;
    *ret = word % 2 == 0;
    return word < 6 ? FAB_OK : unexpected(r, node, "yes or no");
}

/* Reads the text of document node `node`, which must be one of the words of the string `words`.
 * Writes the index of the word to *ret. */
static int read_word(struct declared_reader *r, uint32_t node, const char *words, uint64_t *ret)
{
    const struct fab_doc_node *n = &r->doc->node[node];
    char expected[120] = "one of the words ";
    uint64_t index = 0;
    for (const char *w = words; n->kind == FAB_DOC_TEXT && *w != '\0'; index++) {
        size_t len = strcspn(w, " ");
        if (strlen(n->text) == len && strncmp(n->text, w, len) == 0) {
            *ret = index;
            return FAB_OK;
        }
        w += len + strspn(w + len, " ");
    }
    snprintf(expected, sizeof(expected), "one of the words: %s", words);
    return unexpected(r, node, expected);
}

static int read_list(struct declared_reader *r, uint32_t node, enum fab_doc_kind of,
                     const char *expected)
{
    const struct fab_doc_node *n = &r->doc->node[node];
    if (n->kind != FAB_DOC_LIST)
        return unexpected(r, node, expected);
    for (uint32_t i = n->first; i != 0; i = r->doc->node[i].next)
        if (r->doc->node[i].kind != of)
            return unexpected(r, i, of == FAB_DOC_MAP ? "a mapping" : "a text or number");
    return FAB_OK;
}

static int read_value(struct declared_reader *r, uint32_t node, const struct field *f,
                      struct field_value *v)
{
    const struct fab_doc_node *n = &r->doc->node[node];
    v->node = node;
    switch (f->kind) {
    case FIELD_TEXT:
        return fab_policy_field_text(r, node, f->most, &v->text);
    case FIELD_AUTO:
        v->automatic = n->kind == FAB_DOC_TEXT && strcmp(n->text, "auto") == 0;
        return v->automatic
                   ? FAB_OK
                   : fab_policy_field_number(r, node, f->least, f->most, ", or auto", &v->number);
    case FIELD_NUMBER:
        return fab_policy_field_number(r, node, f->least, f->most, "", &v->number);
    case FIELD_BOOL:
        return read_bool(r, node, &v->number);
    case FIELD_WORD:
        return read_word(r, node, f->expected, &v->number);
    case FIELD_GUID:
        return fab_policy_field_guid(r, node, &v->number);
    case FIELD_MAPS:
        return read_list(r, node, FAB_DOC_MAP, "a list of mappings; [] is an empty one");
    case FIELD_MAP:
        return n->kind == FAB_DOC_MAP ? FAB_OK : unexpected(r, node, "a mapping of keys");
    case FIELD_TEXTS:
    case FIELD_MEMBERS:
    case FIELD_NUMBERS:
    default:
        return read_list(r, node, FAB_DOC_TEXT, "a list; [] is an empty one");
    }
}

/* ---- mappings -------------------------------------------------------------------------------- */

static int unknown_key(struct declared_reader *r, uint32_t node, const struct field *fields,
                       size_t count)
{
    char known[300] = "", key[SHOWN + 8];
    const struct fab_doc_node as_text = {.text = r->doc->node[node].key};
    size_t used = 0;
    for (size_t i = 0; i < count && used < sizeof(known); i++)
        used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s",
                                 i == 0           ? ""
                                 : i + 1 == count ? " or "
                                                  : ", ",
                                 fields[i].key);
    shown(&as_text, key);
    fab_policy_wrong(r, node, "has the unknown key %s, expected %s", key, known);
    r->error->at = r->doc->node[node].key_at;
    return FAB_E_FORMAT;
}

static int take_key(struct declared_reader *r, uint32_t node, const struct field *fields,
                    size_t count, struct field_value *ret)
{
    char path[FAB_DECLARED_PATH_LEN];
    size_t i = 0;
    while (i < count && strcmp(fields[i].key, r->doc->node[node].key) != 0)
        i++;
    if (i == count)
        return unknown_key(r, node, fields, count);
    memcpy(path, r->path, sizeof(path));
    size_t used = strlen(r->path);
    snprintf(r->path + used, sizeof(r->path) - used, "%s%s", used > 0 ? "." : "", fields[i].key);
    int rc = ret[i].node != 0 ? fab_policy_wrong(r, node, "is here a second time, expected it once")
                              : read_value(r, node, &fields[i], &ret[i]);
    memcpy(r->path, path, sizeof(path));
    return rc;
}

int fab_policy_fields_read(struct declared_reader *r, uint32_t node, const struct field *fields,
                           size_t count, struct field_value ret[FIELDS_MAX])
{
    int rc = FAB_OK;
    memset(ret, 0, FIELDS_MAX * sizeof(*ret));
    for (uint32_t i = r->doc->node[node].first; rc == FAB_OK && i != 0; i = r->doc->node[i].next)
        rc = take_key(r, i, fields, count, ret);
    for (size_t i = 0; rc == FAB_OK && i < count; i++)
        if (fields[i].required && ret[i].node == 0)
            rc = fab_policy_wrong(r, node, "has no key %s, expected one", fields[i].key);
    return rc;
}

/* ---- references ------------------------------------------------------------------------------ */

const char *fab_policy_keep(struct declared_reader *r, const char *text)
{
    return fab_base_arena_text(&r->to->arena, text, strlen(text));
}

int fab_policy_add_ref(struct declared_reader *r, uint32_t node, enum fab_declared_what what,
                       const char *text, uint64_t guid)
{
    struct fab_declared_ref ref = {.what = what, .guid = guid, .at = r->doc->node[node].at};
    ref.text = fab_policy_keep(r, text);
    memcpy(ref.path, r->path, sizeof(ref.path));
    return ref.text != NULL ? APPEND(r->to->ref, r->to->refs, &ref) : FAB_E_NOMEM;
}
