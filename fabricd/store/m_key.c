/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads and writes the key files (m_key.h). A file has one item on each line, in this order:
 *
 *     fabricd M_Keys 1              (or: fabricd CC_Keys 1)
 *     generation 3
 *     since 1763841600
 *     origin generated              (or: settings, derived)
 *     current 0x0123456789abcdef    (or, for derived keys: current secret, and 64 digits)
 *     previous 0x0123456789abcdee   (only if there is one; or: previous secret, and 64 digits)
 *     rotating                      (only while the change is not complete)
 *     port 0x0002c90300000001       (any number, ascending)
 *     end
 *
 * The parser accepts no other text. A damaged file is therefore never read as a wrong key, and an
 * operator can restore the file from a backup.
 */
#include "fabricd/store/m_key.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "fabricd/store/derive.h"
#include "fabricd/store/key.h"
#include "libfabmgr/base/digits.h"
#include "libfabmgr/base/status.h"

#define HEAD_LEN 512 /* maximum size in bytes of the lines before the list of ports */
/* length in bytes of a line for a port: "port ", "0x", 16 digits and the line end */
#define PORT_LEN 24

static const struct {
    const char *file, *heading, *name;
    /* end of an error message: how the manager controls ports or devices again if somebody removes
     * the key file */
    const char *lost;
} kinds[] = {
    [STORE_KEY_OF_PORTS] = {STORE_M_KEY_FILE, "fabricd M_Keys 1", "M_Key",
                            "takes each port back when the lease of the lost key ends"},
    [STORE_KEY_OF_CONGESTION] = {STORE_CC_KEY_FILE, "fabricd CC_Keys 1", "CC_Key",
                                 "takes each device back when the lease of the lost key ends"},
};

void store_m_key_fini(struct store_m_key *k)
{
    free(k->port);
    *k = (struct store_m_key){0};
}

/* ---- ports that may have the previous key ---------------------------------------------------- */

struct store_m_key store_m_key_next(const struct store_m_key *was, uint64_t key, bool generated,
                                    uint64_t since_s)
{
    return (struct store_m_key){.of = was->of,
                                .generation = was->generation + 1,
                                .since_s = since_s,
                                .generated = generated,
                                .current = key,
                                .previous = was->current,
                                .rotating = was->current != 0};
}

static bool has_previous(const struct store_m_key *k)
{
    return k->previous != 0 || k->previous_secret.set;
}

static struct fab_m_keys keys_of(uint64_t number, const struct store_secret *secret)
{
    struct fab_m_keys keys = {.number = number, .derive = secret->set ? store_m_key_derive : NULL};
    memcpy(keys.secret, secret->bytes, sizeof(keys.secret));
    return keys;
}

struct fab_m_keys store_m_key_current(const struct store_m_key *k)
{
    return keys_of(k->current, &k->secret);
}

struct fab_m_keys store_m_key_previous(const struct store_m_key *k)
{
    return keys_of(k->previous, &k->previous_secret);
}

static struct store_secret secret_of(const struct fab_m_keys *keys)
{
    struct store_secret ret = {.set = keys->derive != NULL};
    memcpy(ret.bytes, keys->secret, sizeof(ret.bytes));
    return ret;
}

struct store_m_key store_m_keys_next(const struct store_m_key *was, const struct fab_m_keys *keys,
                                     const struct fab_m_keys *former, bool generated,
                                     uint64_t since_s)
{
    struct store_m_key before = {.generation = was->generation, .current = former->number};
    struct store_m_key ret = store_m_key_next(&before, keys->number, generated, since_s);
    ret.secret = secret_of(keys);
    ret.previous_secret = secret_of(former);
    ret.rotating = has_previous(&ret);
    return ret;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

void store_m_key_set_ports(struct store_m_key *k, uint64_t *list, size_t count)
{
    size_t kept = 0;
    if (count > 0)
        qsort(list, count, sizeof(*list), compare);
    for (size_t i = 0; i < count; i++)
        if (list[i] != 0 && (kept == 0 || list[kept - 1] != list[i]))
            list[kept++] = list[i];
    free(k->port);
    k->port = list;
    k->count = kept;
}

const uint64_t *store_m_key_find(const struct store_m_key *k, uint64_t guid)
{
    return k->count > 0 ? bsearch(&guid, k->port, k->count, sizeof(guid), compare) : NULL;
}

size_t store_m_key_strike(struct store_m_key *k, const uint8_t *done)
{
    size_t kept = 0, count = k->count;
    for (size_t i = 0; i < count; i++)
        if (!done[i])
            k->port[kept++] = k->port[i];
    k->count = kept;
    return count - kept;
}

/* ---- reading --------------------------------------------------------------------------------- */

struct lines {
    const char *at, *end;
    unsigned number; /* number of the current line, from 1 */
    const char *line;
    /* length in bytes of the current line, without the line end */
    size_t len;
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

/* Reads the value from a line of the form "WORD VALUE". Returns false if the line has another
 * form. */
static bool read_number(const struct lines *l, const char *word, unsigned base, uint64_t *ret)
{
    size_t n = strlen(word);
    const char *prefix = base == 16 ? "0x" : "";
    size_t m = strlen(prefix);
    return l->len > n + 1 + m && memcmp(l->line, word, n) == 0 && l->line[n] == ' ' &&
           memcmp(l->line + n + 1, prefix, m) == 0 &&
           fab_base_digits_parse(l->line + n + 1 + m, l->len - n - 1 - m, base, UINT64_MAX, ret);
}

/* Reads the secret from a line of the form "WORD secret DIGITS". Returns false if the line has
 * another form. */
static bool read_secret(const struct lines *l, const char *word, struct store_secret *ret)
{
    char prefix[24];
    size_t n = (size_t)snprintf(prefix, sizeof(prefix), "%s secret ", word);
    if (l->len != n + 2 * FAB_M_KEY_SECRET || memcmp(l->line, prefix, n) != 0)
        return false;
    for (size_t i = 0; i < FAB_M_KEY_SECRET; i++) {
        uint64_t byte;
        if (!fab_base_digits_parse(l->line + n + 2 * i, 2, 16, 255, &byte))
            return false;
        ret->bytes[i] = (uint8_t)byte;
    }
    ret->set = true;
    return true;
}

static bool read_head(struct lines *l, struct store_m_key *k)
{
    if (!next_line(l) || !is_line(l, kinds[k->of].heading))
        return false;
    if (!next_line(l) || !read_number(l, "generation", 10, &k->generation) || k->generation == 0)
        return false;
    if (!next_line(l) || !read_number(l, "since", 10, &k->since_s))
        return false;
    if (!next_line(l))
        return false;
    bool derived = k->of == STORE_KEY_OF_PORTS && is_line(l, "origin derived");
    k->generated = derived || is_line(l, "origin generated");
    if (!k->generated && !is_line(l, "origin settings"))
        return false;
    if (derived)
        return next_line(l) && read_secret(l, "current", &k->secret);
    return next_line(l) && read_number(l, "current", 16, &k->current) &&
           (k->current != 0 || !k->generated);
}

static bool read_port(const struct lines *l, struct store_m_key *k)
{
    uint64_t guid;
    if (!read_number(l, "port", 16, &guid) || guid == 0 || !has_previous(k) ||
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
    } else if (more && k->of == STORE_KEY_OF_PORTS &&
               read_secret(l, "previous", &k->previous_secret)) {
        if (k->secret.set &&
            memcmp(k->secret.bytes, k->previous_secret.bytes, FAB_M_KEY_SECRET) == 0)
            return false;
        more = next_line(l);
    }
    if (more && is_line(l, "rotating") && has_previous(k)) {
        k->rotating = true;
        more = next_line(l);
    }
    while (more && read_port(l, k))
        more = next_line(l);
    return more && is_line(l, "end") && l->at == l->end;
}

int store_m_key_parse(enum store_key_of of, const char *text, size_t len, struct store_m_key *ret,
                      char *why, size_t why_len)
{
    struct lines l = {.at = text, .end = text + len};
    struct store_m_key k = {.of = of, .port = calloc(len / (PORT_LEN - 17) + 1, sizeof(*k.port))};
    if (!k.port) {
        snprintf(why, why_len, "the key file cannot be read: out of memory");
        return FAB_E_NOMEM;
    }
    if (!read_head(&l, &k) || !read_rest(&l, &k)) {
        snprintf(why, why_len,
                 "the key file is damaged at line %u; restore it from a backup. Without one, "
                 "remove it: fabricd then makes another key, and %s (\"Lost keys\" in "
                 "doc/security.md)",
                 l.at == l.end || l.number == 0 ? l.number + 1 : l.number, kinds[of].lost);
        store_m_key_fini(&k);
        return FAB_E_FORMAT;
    }
    *ret = k;
    return FAB_OK;
}

static int read_file(const char *dir, enum store_key_of of, struct store_m_key *ret, char *why,
                     size_t why_len)
{
    char *text, reason[384];
    size_t len;
    int r = store_key_file_read(dir, kinds[of].file, &text, &len, why, why_len);
    if (r != FAB_OK)
        return r;
    r = store_m_key_parse(of, text, len, ret, reason, sizeof(reason));
    free(text);
    if (r != FAB_OK)
        snprintf(why, why_len, "%s/%s: %s", dir, kinds[of].file, reason);
    return r;
}

int store_m_key_read(const char *dir, struct store_m_key *ret, char *why, size_t why_len)
{
    return read_file(dir, STORE_KEY_OF_PORTS, ret, why, why_len);
}

int store_cc_key_read(const char *dir, struct store_m_key *ret, char *why, size_t why_len)
{
    return read_file(dir, STORE_KEY_OF_CONGESTION, ret, why, why_len);
}

/* ---- writing --------------------------------------------------------------------------------- */

static size_t write_key(char *text, size_t room, const char *word, uint64_t key,
                        const struct store_secret *secret)
{
    if (!secret->set)
        return (size_t)snprintf(text, room, "%s 0x%016" PRIx64 "\n", word, key);
    size_t n = (size_t)snprintf(text, room, "%s secret ", word);
    for (size_t i = 0; i < FAB_M_KEY_SECRET; i++)
        n += (size_t)snprintf(text + n, room - n, "%02x", secret->bytes[i]);
    return n + (size_t)snprintf(text + n, room - n, "\n");
}

static size_t write_head(const struct store_m_key *k, char *text, size_t room)
{
    size_t n =
        (size_t)snprintf(text, room, "%s\ngeneration %" PRIu64 "\nsince %" PRIu64 "\norigin %s\n",
                         kinds[k->of].heading, k->generation, k->since_s,
                         k->secret.set  ? "derived"
                         : k->generated ? "generated"
                                        : "settings");
    n += write_key(text + n, room - n, "current", k->current, &k->secret);
    if (!has_previous(k))
        return n;
    n += write_key(text + n, room - n, "previous", k->previous, &k->previous_secret);
    return n + (size_t)snprintf(text + n, room - n, "%s", k->rotating ? "rotating\n" : "");
}

int store_m_key_text(const struct store_m_key *k, char **ret, size_t *ret_len)
{
    size_t room = HEAD_LEN + k->count * PORT_LEN;
    char *text = malloc(room);
    if (!text)
        return FAB_E_NOMEM;
    size_t n = write_head(k, text, room);
    for (size_t i = 0; has_previous(k) && i < k->count; i++)
        n += (size_t)snprintf(text + n, room - n, "port 0x%016" PRIx64 "\n", k->port[i]);
    *ret_len = n + (size_t)snprintf(text + n, room - n, "end\n");
    *ret = text;
    return FAB_OK;
}

int store_m_key_write(const char *dir, const struct store_m_key *k, char *why, size_t why_len)
{
    char *text;
    size_t len;
    if (store_m_key_text(k, &text, &len) != FAB_OK) {
        snprintf(why, why_len, "the key file %s/%s cannot be written: out of memory", dir,
                 kinds[k->of].file);
        return FAB_E_NOMEM;
    }
    int r = store_key_file_write(dir, kinds[k->of].file, text, len, why, why_len);
    free(text);
    return r;
}

bool store_m_key_same(const struct store_m_key *a, const struct store_m_key *b)
{
    struct fab_m_keys current[2] = {store_m_key_current(a), store_m_key_current(b)};
    struct fab_m_keys previous[2] = {store_m_key_previous(a), store_m_key_previous(b)};
    return a->generation == b->generation && a->since_s == b->since_s &&
           a->rotating == b->rotating && fab_policy_m_keys_same(&current[0], &current[1]) &&
           fab_policy_m_keys_same(&previous[0], &previous[1]);
}

static int generated(const char *dir, enum store_key_of of, uint64_t *ret, char *why,
                     size_t why_len)
{
    struct store_m_key k = {0};
    int r = read_file(dir, of, &k, why, why_len);
    bool is_new = r == FAB_E_NOT_FOUND;
    if (r != FAB_OK && !is_new)
        return r;
    uint64_t key = k.current;
    bool usable = k.generated && !k.secret.set;
    store_m_key_fini(&k);
    if (!usable && store_key_random(&key) != FAB_OK) {
        snprintf(why, why_len, "no random %s: %s", kinds[of].name, strerror(errno));
        return FAB_E_IO;
    }
    k = (struct store_m_key){.of = of,
                             .generation = 1,
                             .since_s = (uint64_t)time(NULL),
                             .generated = true,
                             .current = key};
    r = is_new ? store_m_key_write(dir, &k, why, why_len) : FAB_OK;
    if (r == FAB_OK)
        *ret = key;
    return r;
}

int store_m_key_new_secret(struct fab_m_keys *ret)
{
    *ret = (struct fab_m_keys){.derive = store_m_key_derive};
    ssize_t n = getrandom(ret->secret, sizeof(ret->secret), 0);
    return n == (ssize_t)sizeof(ret->secret) ? FAB_OK : FAB_E_IO;
}

int store_m_key_derived(const char *dir, struct fab_m_keys *ret, char *why, size_t why_len)
{
    struct store_m_key k = {0};
    struct fab_m_keys keys;
    int r = store_m_key_read(dir, &k, why, why_len);
    bool is_new = r == FAB_E_NOT_FOUND, usable = k.secret.set;
    if (r != FAB_OK && !is_new)
        return r;
    keys = store_m_key_current(&k);
    store_m_key_fini(&k);
    if (!usable && store_m_key_new_secret(&keys) != FAB_OK) {
        snprintf(why, why_len, "no random secret for M_Keys: %s", strerror(errno));
        return FAB_E_IO;
    }
    if (store_m_key_derive(keys.secret, 1) == 0) {
        snprintf(why, why_len, "no M_Key can be derived: OpenSSL has no HKDF with SHA-256");
        return FAB_E_UNSUPPORTED;
    }
    k = (struct store_m_key){.generation = 1,
                             .since_s = (uint64_t)time(NULL),
                             .generated = true,
                             .secret = secret_of(&keys)};
    r = is_new ? store_m_key_write(dir, &k, why, why_len) : FAB_OK;
    if (r == FAB_OK)
        *ret = keys;
    return r;
}

int store_m_key_generated(const char *dir, uint64_t *ret, char *why, size_t why_len)
{
    return generated(dir, STORE_KEY_OF_PORTS, ret, why, why_len);
}

int store_cc_key_generated(const char *dir, uint64_t *ret, char *why, size_t why_len)
{
    return generated(dir, STORE_KEY_OF_CONGESTION, ret, why, why_len);
}
