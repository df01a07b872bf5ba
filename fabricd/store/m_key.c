/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text of the file has one item a line, in this order:
 *
 *     fabricd M_Keys 1
 *     generation 3
 *     since 1763841600
 *     origin generated              (or: settings)
 *     current 0x0123456789abcdef
 *     previous 0x0123456789abcdee   (only if there is one)
 *     rotating                      (only while the change is not complete)
 *     port 0x0002c90300000001       (any number, ascending)
 *     end
 *
 * The parser accepts nothing else, so that a damaged file cannot be taken for an older key: an
 * operator can then restore it from a backup. It owns what it returns in struct store_m_key.
 */
#include "fabricd/store/m_key.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fabricd/store/key.h"
#include "libfabmgr/base/digits.h"
#include "libfabmgr/base/status.h"

#define HEADING "fabricd M_Keys 1"
#define HEAD_LEN 256 /* bytes for all lines before the ports, and the last one */
#define PORT_LEN 24  /* "port ", 0x, 16 digits, the end of the line */

void store_m_key_fini(struct store_m_key *k)
{
    free(k->port);
    *k = (struct store_m_key){0};
}

/* ---- reading --------------------------------------------------------------------------------- */

struct lines {
    const char *at, *end;
    unsigned number; /* of the line at `at` */
    const char *line;
    size_t len; /* of the current line */
};

static bool next_line(struct lines *l)
{
    const char *eol = l->at < l->end ? memchr(l->at, '\n', (size_t)(l->end - l->at)) : NULL;
    if (!eol)
        return false;
    l->line = l->at;
    l->len = (size_t)(eol - l->at);
    l->at = eol + 1;
    l->number++;
    return true;
}

static bool is_line(const struct lines *l, const char *text)
{
    return l->len == strlen(text) && memcmp(l->line, text, l->len) == 0;
}

/* Reads the value of "WORD VALUE". */
static bool read_number(const struct lines *l, const char *word, unsigned base, uint64_t *ret)
{
    size_t n = strlen(word);
    const char *prefix = base == 16 ? "0x" : "";
    size_t m = strlen(prefix);
    return l->len > n + 1 + m && memcmp(l->line, word, n) == 0 && l->line[n] == ' ' &&
           memcmp(l->line + n + 1, prefix, m) == 0 &&
           fab_base_digits_parse(l->line + n + 1 + m, l->len - n - 1 - m, base, UINT64_MAX, ret);
}

static bool read_head(struct lines *l, struct store_m_key *k)
{
    if (!next_line(l) || !is_line(l, HEADING))
        return false;
    if (!next_line(l) || !read_number(l, "generation", 10, &k->generation) || k->generation == 0)
        return false;
    if (!next_line(l) || !read_number(l, "since", 10, &k->since_s))
        return false;
    if (!next_line(l))
        return false;
    k->generated = is_line(l, "origin generated");
    if (!k->generated && !is_line(l, "origin settings"))
        return false;
    return next_line(l) && read_number(l, "current", 16, &k->current) &&
           (k->current != 0 || !k->generated);
}

static bool read_port(const struct lines *l, struct store_m_key *k)
{
    uint64_t guid;
    if (!read_number(l, "port", 16, &guid) || guid == 0 || k->previous == 0 ||
        (k->count > 0 && k->port[k->count - 1] >= guid))
        return false;
    k->port[k->count++] = guid;
    return true;
}

static bool read_rest(struct lines *l, struct store_m_key *k)
{
    bool more = next_line(l);
    if (more && read_number(l, "previous", 16, &k->previous)) {
        if (k->previous == 0 || k->previous == k->current)
            return false;
        more = next_line(l);
    }
    if (more && is_line(l, "rotating") && k->previous != 0) {
        k->rotating = true;
        more = next_line(l);
    }
    while (more && read_port(l, k))
        more = next_line(l);
    return more && is_line(l, "end") && l->at == l->end;
}

int store_m_key_parse(const char *text, size_t len, struct store_m_key *ret, char *why,
                      size_t why_len)
{
    struct lines l = {.at = text, .end = text + len};
    struct store_m_key k = {.port = calloc(len / (PORT_LEN - 17) + 1, sizeof(*k.port))};
    if (!k.port) {
        snprintf(why, why_len, "the key file cannot be read: out of memory");
        return FAB_E_NOMEM;
    }
    if (!read_head(&l, &k) || !read_rest(&l, &k)) {
        snprintf(
            why, why_len,
            "the key file is damaged at line %u; restore it from a backup. Without one, remove "
            "it: fabricd then makes another key, and takes each port back when the lease of "
            "the lost key ends (\"Lost keys\" in doc/security.md)",
            l.at == l.end || l.number == 0 ? l.number + 1 : l.number);
        store_m_key_fini(&k);
        return FAB_E_FORMAT;
    }
    *ret = k;
    return FAB_OK;
}

int store_m_key_read(const char *dir, struct store_m_key *ret, char *why, size_t why_len)
{
    char *text, reason[384];
    size_t len;
    int r = store_key_file_read(dir, STORE_M_KEY_FILE, &text, &len, why, why_len);
    if (r != FAB_OK)
        return r;
    r = store_m_key_parse(text, len, ret, reason, sizeof(reason));
    free(text);
    if (r != FAB_OK)
        snprintf(why, why_len, "%s/" STORE_M_KEY_FILE ": %s", dir, reason);
    return r;
}

/* ---- writing --------------------------------------------------------------------------------- */

static size_t write_head(const struct store_m_key *k, char *text, size_t room)
{
    size_t n = (size_t)snprintf(text, room,
                                HEADING "\ngeneration %" PRIu64 "\nsince %" PRIu64 "\norigin %s\n"
                                        "current 0x%016" PRIx64 "\n",
                                k->generation, k->since_s, k->generated ? "generated" : "settings",
                                k->current);
    if (k->previous != 0)
        n += (size_t)snprintf(text + n, room - n, "previous 0x%016" PRIx64 "\n%s", k->previous,
                              k->rotating ? "rotating\n" : "");
    return n;
}

int store_m_key_write(const char *dir, const struct store_m_key *k, char *why, size_t why_len)
{
    size_t room = HEAD_LEN + k->count * PORT_LEN;
    char *text = malloc(room);
    if (!text) {
        snprintf(why, why_len, "the key file %s/" STORE_M_KEY_FILE " out of memory", dir);
        return FAB_E_NOMEM;
    }
    size_t n = write_head(k, text, room);
    for (size_t i = 0; k->previous != 0 && i < k->count; i++)
        n += (size_t)snprintf(text + n, room - n, "port 0x%016" PRIx64 "\n", k->port[i]);
    n += (size_t)snprintf(text + n, room - n, "end\n");
    int r = store_key_file_write(dir, STORE_M_KEY_FILE, text, n, why, why_len);
    free(text);
    return r;
}

int store_m_key_generated(const char *dir, uint64_t *ret, char *why, size_t why_len)
{
    struct store_m_key k = {0};
    int r = store_m_key_read(dir, &k, why, why_len);
    bool is_new = r == FAB_E_NOT_FOUND;
    if (r != FAB_OK && !is_new)
        return r;
    uint64_t key = k.current;
    bool usable = k.generated;
    store_m_key_fini(&k);
    if (!usable && store_key_random(&key) != FAB_OK) {
        snprintf(why, why_len, "no random M_Key: %s", strerror(errno));
        return FAB_E_IO;
    }
    k = (struct store_m_key){
        .generation = 1, .since_s = (uint64_t)time(NULL), .generated = true, .current = key};
    r = is_new ? store_m_key_write(dir, &k, why, why_len) : FAB_OK;
    if (r == FAB_OK)
        *ret = key;
    return r;
}
