/* SPDX-License-Identifier: BSD-3-Clause */
/* Replaces names in JSON that fabricctl has written. The key of a string determines how the string
 * is handled. If the key is unknown, the string is handled as a text of any kind. */
#include "cli/ctl/anonymize_json.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"

#define KEY_MOST 64

typedef void rule_fn(struct anonymize_text *t, const char *text, size_t len);

static void keep(struct anonymize_text *t, const char *text, size_t len)
{
    if (t->to != NULL)
        fab_base_text_bytes(t->to, text, len);
}

static void partition(struct anonymize_text *t, const char *text, size_t len)
{
    anonymize_name(t, PSEUDONYM_PARTITION, text, len);
}

static void class(struct anonymize_text *t, const char *text, size_t len)
{
    anonymize_name(t, PSEUDONYM_CLASS, text, len);
}

static void service(struct anonymize_text *t, const char *text, size_t len)
{
    anonymize_name(t, PSEUDONYM_SERVICE, text, len);
}

static void certificate(struct anonymize_text *t, const char *text, size_t len)
{
    anonymize_name(t, PSEUDONYM_CERTIFICATE, text, len);
}

static void reason(struct anonymize_text *t, const char *text, size_t len)
{
    anonymize_name(t, PSEUDONYM_TEXT, text, len);
}

/* Handles the subject of an event. A subject with a '/' is a port; any other subject is handled as
 * a text of any kind. */
static void subject(struct anonymize_text *t, const char *text, size_t len)
{
    if (memchr(text, '/', len) != NULL)
        anonymize_node(t, text, len);
    else
        anonymize_text(t, text, len);
}

/* The rules for keys; the first rule that matches is applied. */
static const struct rule {
    const char *part; /* NULL: any part */
    const char *key;  /* name of the field; "*" at the beginning stands for any text */
    rule_fn *apply;
} rules[] = {
    {"nodes.json", "name", anonymize_node},
    {"baseline.json", "name", anonymize_node},
    {"partitions.json", "name", partition},
    {"classes.json", "name", class},
    {"services", "name", service},
    {"multicast.json", "partition", partition},
    {"whoami.json", "subject", certificate},
    {"whoami.json", "issuer", certificate},
    {"whoami.json", "serial", certificate},
    {"events.json", "subject", subject},
    {"events.json", "names", anonymize_nodes},
    {"events.json", "peer", anonymize_node},
    {"audit", "object", subject},
    {"audit", "reason", reason},
    {NULL, "version", keep},
    {"version.json", "*", keep},
    {NULL, "node", anonymize_node},
    {NULL, "*_node", anonymize_node},
    {NULL, "pinned_name", anonymize_node},
    {NULL, "shown_name", anonymize_node},
    {NULL, "holder", anonymize_node},
    {NULL, "uplinks_of", anonymize_node},
    {NULL, "by", anonymize_account},
    {NULL, "approved_by", anonymize_account},
    {NULL, "author", anonymize_account},
    {NULL, "caller", anonymize_account},
    {NULL, "account", anonymize_account},
    {NULL, "user", anonymize_account},
};

static bool fits(const char *pattern, const char *key)
{
    if (pattern[0] != '*')
        return strcmp(pattern, key) == 0;
    size_t end = strlen(pattern + 1), len = strlen(key);
    return len >= end && strcmp(key + len - end, pattern + 1) == 0;
}

static rule_fn *rule_of(const char *part, const char *key)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if ((rules[i].part == NULL || strcmp(rules[i].part, part) == 0) && fits(rules[i].key, key))
            return rules[i].apply;
    return anonymize_text;
}

/* ---- strings --------------------------------------------------------------------------------- */

static void add_utf8(struct fab_text *to, uint32_t code)
{
    char bytes[4];
    if (code < 0x80) {
        bytes[0] = (char)code;
        fab_base_text_bytes(to, bytes, 1);
        return;
    }
    unsigned more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    bytes[0] = (char)((0xff00u >> (more + 1) & 0xff) | code >> 6 * more);
    for (unsigned i = 1; i <= more; i++)
        bytes[i] = (char)(0x80 | (code >> 6 * (more - i) & 0x3f));
    fab_base_text_bytes(to, bytes, more + 1);
}

/* Reads the four digits of an escape such as \u00e9. */
static bool read_code(const char *text, size_t len, uint32_t *ret)
{
    uint32_t code = 0;
    if (len < 4)
        return false;
    for (size_t i = 0; i < 4; i++) {
        if (!isxdigit((unsigned char)text[i]))
            return false;
        code = code << 4 | (uint32_t)(isdigit((unsigned char)text[i])
                                          ? text[i] - '0'
                                          : tolower((unsigned char)text[i]) - 'a' + 10);
    }
    *ret = code;
    return true;
}

/* Reads an escape sequence, from the character after its backslash, and adds the character that it
 * stands for to `to`. Returns the number of bytes read; 0: the escape sequence is not valid. */
static size_t read_escape(const char *text, size_t len, struct fab_text *to)
{
    static const char letters[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    uint32_t code, low;
    const char *letter = len > 0 && text[0] != '\0' ? strchr(letters, text[0]) : NULL;
    if (letter != NULL) {
        fab_base_text_bytes(to, &values[letter - letters], 1);
        return 1;
    }
    if (len == 0 || text[0] != 'u' || !read_code(text + 1, len - 1, &code))
        return 0;
    if (code >> 10 != 0x36) {
        add_utf8(to, code);
        return 5;
    }
    if (len < 11 || text[5] != '\\' || text[6] != 'u' || !read_code(text + 7, len - 7, &low) ||
        low >> 10 != 0x37)
        return 0;
    add_utf8(to, 0x10000 + ((code & 0x3ff) << 10) + (low & 0x3ff));
    return 11;
}

/* Reads a JSON string, from the character after its opening quotation mark, and adds its characters
 * to `to`. Returns the number of bytes read, with the closing quotation mark; 0: the string is not
 * valid. */
static size_t read_string(const char *text, size_t len, struct fab_text *to)
{
    for (size_t at = 0, n; at < len; at += n) {
        n = 1;
        if (text[at] == '"')
            return at + 1;
        if ((unsigned char)text[at] < 0x20)
            return 0;
        if (text[at] != '\\') {
            fab_base_text_bytes(to, &text[at], 1);
            continue;
        }
        size_t escape = read_escape(text + at + 1, len - at - 1, to);
        if (escape == 0)
            return 0;
        n += escape;
    }
    return 0;
}

static void write_string(struct fab_text *to, const char *text, size_t len)
{
    fab_base_text_add(to, "\"");
    for (size_t i = 0; i < len; i++)
        if (text[i] == '"' || text[i] == '\\')
            fab_base_text_addf(to, "\\%c", text[i]);
        else if ((unsigned char)text[i] < 0x20)
            fab_base_text_addf(to, "\\u%04x", (unsigned)text[i]);
        else
            fab_base_text_bytes(to, &text[i], 1);
    fab_base_text_add(to, "\"");
}

/* ---- the document ---------------------------------------------------------------------------- */

static bool is_key(const char *text, size_t len)
{
    size_t at = 0;
    while (at < len && isspace((unsigned char)text[at]))
        at++;
    return at < len && text[at] == ':';
}

/* Handles a value as the rule for its key demands. In the pass ANONYMIZE_WRITE, also writes the
 * result as a JSON string. */
static void replace(struct anonymize_text *t, const char *part, const char *key,
                    const struct fab_text *value)
{
    struct fab_text out = {0}, *to = t->to;
    t->to = to != NULL ? &out : NULL;
    rule_of(part, key)(t, fab_base_text_get(value), value->len);
    t->to = to;
    if (to != NULL)
        write_string(to, fab_base_text_get(&out), out.len);
    anonymize_note(t, out.status);
    fab_base_text_fini(&out);
}

/* Handles the string at the beginning of the text. If the string is a key, copies it to key[].
 * Returns the length of the string; 0: the string is not valid. */
static size_t string(struct anonymize_text *t, const char *part, char key[KEY_MOST],
                     const char *text, size_t len)
{
    struct fab_text value = {0};
    size_t n = read_string(text + 1, len - 1, &value);
    if (value.status != FAB_OK)
        n = 0;
    if (n > 0 && is_key(text + 1 + n, len - 1 - n)) {
        n = value.len < KEY_MOST ? n : 0;
        memcpy(key, fab_base_text_get(&value), n > 0 ? value.len + 1 : 0);
        if (t->to != NULL)
            fab_base_text_bytes(t->to, text, n > 0 ? 1 + n : 0);
    } else if (n > 0) {
        replace(t, part, key, &value);
    }
    fab_base_text_fini(&value);
    return n > 0 ? 1 + n : 0;
}

/* Copies the number or punctuation at the beginning of the text. IDs of users, groups and processes
 * are personal, so they become null. Returns the number of bytes read; 0: the text is not valid
 * JSON. */
static size_t other(struct anonymize_text *t, const char *key, const char *text, size_t len)
{
    static const char allowed[] = "{}[]:, \n\t\r";
    bool personal = strcmp(key, "uid") == 0 || strcmp(key, "gid") == 0 || strcmp(key, "pid") == 0;
    size_t n = 0;
    if (text[0] != '\0' && strchr(allowed, text[0]) != NULL)
        n = 1;
    else
        while (n < len && (isalnum((unsigned char)text[n]) || memchr("+-.", text[n], 3) != NULL))
            n++;
    if (t->to != NULL && personal && isdigit((unsigned char)text[0]))
        fab_base_text_add(t->to, "null");
    else if (t->to != NULL)
        fab_base_text_bytes(t->to, text, n);
    return n;
}

void anonymize_json(struct anonymize_text *t, const char *part, const char *text, size_t len)
{
    char key[KEY_MOST] = "";
    for (size_t at = 0; at < len;) {
        size_t n = text[at] == '"' ? string(t, part, key, text + at, len - at)
                                   : other(t, key, text + at, len - at);
        if (n == 0) {
            anonymize_note(t, FAB_E_FORMAT);
            return;
        }
        at += n;
    }
}
