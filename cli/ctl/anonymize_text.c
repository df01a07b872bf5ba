/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds names in texts. At the beginning of each word, the functions look for the following, in
 * this order: a GUID or an address (anonymize_number.c), the longest known name, a word that may be
 * a name. */
#include "cli/ctl/anonymize_text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ctl/anonymize_number.h"
#include "cli/ctl/plain_words.h"
#include "libfabmgr/base/status.h"

#define FIRST_USER 1000 /* lowest uid of a person; lower uids belong to the system */
#define NOBODY 65534

static void copy(struct anonymize_text *t, const char *text, size_t len)
{
    if (t->to != NULL)
        fab_base_text_bytes(t->to, text, len);
}

static void learn(struct anonymize_text *t, enum pseudonym_kind kind, const char *text, size_t len)
{
    if (t->pass == ANONYMIZE_LEARN)
        anonymize_note(t, pseudonyms_learn(t->pseudonyms, kind, text, len));
}

static bool begins(const char *text, size_t len, const char *with)
{
    return len >= strlen(with) && memcmp(text, with, strlen(with)) == 0;
}

static size_t digits(const char *text, size_t len)
{
    size_t n = 0;
    while (n < len && isdigit((unsigned char)text[n]))
        n++;
    return n;
}

/* Returns the length of the port number after the name of a node, such as "/5"; 0: there is
 * none. */
static size_t port_len(const char *text, size_t len)
{
    size_t n = len > 1 && text[0] == '/' ? digits(text + 1, len - 1) : 0;
    return n > 0 && n <= 3 && (1 + n == len || !pseudonyms_in_word(text[1 + n])) ? 1 + n : 0;
}

/* Returns the length of the device name after the name of a host in a NodeDescription, with the
 * space before it: "HCA-1" in "host17 HCA-1". 0: there is none. */
static size_t device_len(const char *text, size_t len)
{
    size_t n = len > 1 && text[0] == ' ' ? plain_words_token(text + 1, len - 1) : 0;
    return n > 0 && plain_words_is_device(text + 1, n) ? 1 + n : 0;
}

/* Returns the length of the uid of a person at the beginning of the text, such as "uid 1000". 0:
 * the text does not begin with a uid, or the uid belongs to the system. */
static size_t uid_len(const char *text, size_t len)
{
    size_t n = begins(text, len, "uid ") ? digits(text + 4, len - 4) : 0;
    unsigned long uid = n > 0 && n < 10 ? strtoul(text + 4, NULL, 10) : 0;
    bool whole = n > 0 && (4 + n == len || !pseudonyms_in_word(text[4 + n]));
    return whole && uid >= FIRST_USER && uid != NOBODY ? 4 + n : 0;
}

/* ---- texts of any kind ----------------------------------------------------------------------- */

/* Finds a known name at the beginning of the text. Depending on the pass, writes its pseudonym, or
 * sets the error DENIED because the name should have been replaced. Returns the length of the name
 * and of the device name after it; 0: there is no known name. */
static size_t known(struct anonymize_text *t, const char *text, size_t len)
{
    size_t n = 0;
    const struct pseudonym *found = pseudonyms_find(t->pseudonyms, text, len, &n);
    if (found == NULL)
        return 0;
    bool port = found->kind == PSEUDONYM_NODE && port_len(text + n, len - n) > 0;
    if (found->common && !port)
        return 0;
    if (t->pass == ANONYMIZE_CHECK)
        anonymize_note(t, FAB_E_DENIED);
    if (t->to != NULL)
        pseudonyms_write(t->pseudonyms, found, t->to);
    size_t device = found->kind == PSEUDONYM_NODE ? device_len(text + n, len - n) : 0;
    copy(t, text + n, device);
    return n + device;
}

void anonymize_whole(struct anonymize_text *t, enum pseudonym_kind kind, const char *text,
                     size_t len)
{
    size_t found_len = 0;
    learn(t, kind, text, len);
    const struct pseudonym *found = pseudonyms_find(t->pseudonyms, text, len, &found_len);
    if (t->to == NULL)
        return;
    /* Write the pseudonym only if it replaces the whole text. Otherwise the rest of the text could
     * still be a name, so the whole text is withheld. */
    if (found != NULL && found_len == len)
        pseudonyms_write(t->pseudonyms, found, t->to);
    else
        fab_base_text_add(t->to, "(withheld)");
}

/* Returns true if the name of a directory begins at text[at], and not all systems have this
 * directory. Such a name may tell something about the site. */
static bool is_own_directory(const char *text, size_t len, size_t at)
{
    static const char *const general[] = {"x86_64-linux-gnu", "aarch64-linux-gnu", "lib64"};
    size_t n = plain_words_token(text + at, len - at);
    if (at == 0 || text[at - 1] != '/' || at + n >= len || text[at + n] != '/' ||
        plain_words_has(text + at, n))
        return false;
    for (size_t i = 0; i < sizeof general / sizeof general[0]; i++)
        if (strlen(general[i]) == n && memcmp(general[i], text + at, n) == 0)
            return false;
    return true;
}

static bool is_home(const char *text, size_t at)
{
    static const char home[] = "/home/";
    return at >= strlen(home) && memcmp(text + at - strlen(home), home, strlen(home)) == 0;
}

/* Returns the length of the part of a token that is copied at once. If the token begins with a word
 * that plain words follow, this part is only the first word, because a name may begin after it: in
 * "link-uid 1000", the name is "uid 1000". Otherwise the token may be a version number, and the
 * part is the whole token. */
static size_t first_piece(const char *token, size_t len)
{
    size_t n = 0;
    while (n < len && pseudonyms_in_word(token[n]))
        n++;
    return n < len && plain_words_has(token + n, len - n) ? n : len;
}

/* Handles a token that is not a known name. */
static size_t token(struct anonymize_text *t, const char *text, size_t len, size_t at)
{
    const char *from = text + at;
    size_t uid = uid_len(from, len - at), n = plain_words_token(from, len - at);
    if (uid > 0 || is_home(text, at)) {
        n = uid > 0 ? uid : n;
        anonymize_whole(t, PSEUDONYM_PERSON, from, n);
    } else if (t->strict ? plain_words_has(from, n) : !is_own_directory(text, len, at)) {
        n = first_piece(from, n);
        copy(t, from, n);
    } else {
        bool port = port_len(from + n, len - at - n) > 0;
        anonymize_whole(t, port ? PSEUDONYM_NODE : PSEUDONYM_WORD, from, n);
    }
    return n;
}

void anonymize_text(struct anonymize_text *t, const char *text, size_t len)
{
    for (size_t at = 0, n; at < len; at += n) {
        bool inside = at > 0 && pseudonyms_in_word(text[at - 1]);
        n = inside ? 0 : anonymize_number(t, text, len, at);
        if (n == 0 && !inside && pseudonyms_in_word(text[at])) {
            n = known(t, text + at, len - at);
            if (n == 0)
                n = token(t, text, len, at);
        }
        if (n == 0) {
            copy(t, text + at, 1);
            n = 1;
        }
    }
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Returns true if every machine or every fabric has this name. */
static bool is_general(const char *text, size_t len)
{
    static const char *const names[] = {"root",   "nobody",  "daemon",    "fabricd",
                                        "fabric", "Default", "localhost", "default"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strlen(names[i]) == len && memcmp(names[i], text, len) == 0)
            return true;
    return false;
}

void anonymize_name(struct anonymize_text *t, enum pseudonym_kind kind, const char *text,
                    size_t len)
{
    size_t n = 0;
    while (len > 0 && !pseudonyms_in_word(text[0])) {
        copy(t, text++, 1);
        len--;
    }
    if (!is_general(text, len))
        learn(t, kind, text, len);
    const struct pseudonym *found = pseudonyms_find(t->pseudonyms, text, len, &n);
    if (t->to == NULL || found == NULL || is_general(text, len)) {
        if (t->pass != ANONYMIZE_LEARN)
            anonymize_text(t, text, len);
        return;
    }
    /* write the pseudonym here, because anonymize_text would keep a name that is also a word in
     * fabricd's sources */
    pseudonyms_write(t->pseudonyms, found, t->to);
    anonymize_text(t, text + n, len - n);
}

/* Returns the length of the host or switch name in a text such as "host17 HCA-1/1". */
static size_t host_len(const char *text, size_t len)
{
    for (size_t at = 0; at < len; at++) {
        size_t device = device_len(text + at, len - at);
        size_t port = port_len(text + at + device, len - at - device);
        if (device + port > 0 && at + device + port == len)
            return at;
    }
    return len;
}

void anonymize_node(struct anonymize_text *t, const char *text, size_t len)
{
    size_t host = host_len(text, len);
    anonymize_name(t, PSEUDONYM_NODE, text, host);
    copy(t, text + host, len - host);
}

void anonymize_nodes(struct anonymize_text *t, const char *text, size_t len)
{
    while (len > 0) {
        const char *comma = memmem(text, len, ", ", 2), *and = memmem(text, len, " and ", 5);
        const char *end = comma != NULL ? comma : and != NULL ? and : text + len;
        size_t n = (size_t)(end - text), gap = comma != NULL ? 2 : and != NULL ? 5 : 0;
        size_t number = digits(text, n);
        if (number > 0 && n == number + 5 && begins(text + number, 5, " more"))
            copy(t, text, n);
        else
            anonymize_node(t, text, n);
        copy(t, end, gap);
        text += n + gap;
        len -= n + gap;
    }
}

void anonymize_account(struct anonymize_text *t, const char *text, size_t len)
{
    static const char *const heads[] = {"certificate of ", "refused certificate of "};
    const char *number = memmem(text, len, " (uid ", 6);
    size_t name = number != NULL ? (size_t)(number - text) : len;
    size_t uid = number != NULL ? uid_len(number + 2, len - name - 2) : 0;
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        size_t head = strlen(heads[i]);
        if (!begins(text, len, heads[i]))
            continue;
        copy(t, text, head);
        anonymize_name(t, PSEUDONYM_CERTIFICATE, text + head, len - head);
        return;
    }
    anonymize_name(t, PSEUDONYM_PERSON, text, name);
    if (t->pass == ANONYMIZE_LEARN && digits(text, len) == len && len < 10) {
        char uid[14];
        int n = snprintf(uid, sizeof uid, "uid %.*s", (int)len, text);
        anonymize_note(t, pseudonyms_learn_alias(t->pseudonyms, uid, (size_t)n, text, len));
    }
    if (t->pass == ANONYMIZE_LEARN && uid > 0)
        anonymize_note(t, pseudonyms_learn_alias(t->pseudonyms, number + 2, uid, text, name));
    anonymize_text(t, text + name, len - name);
}
