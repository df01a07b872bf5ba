/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of pseudonyms. The table finds a name by a hash of the name in lower case. The search
 * computes the hash letter by letter, so that one pass over the text finds the longest name. The
 * hash begins with a random number, so that nobody can choose two names with the same hash. If two
 * names have the same hash, the table refuses the second one, because the search could not find
 * it. */
#include "cli/ctl/pseudonyms.h"

#include <ctype.h>
#include <inttypes.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/ctl/plain_words.h"
#include "libfabmgr/base/map.h"
#include "libfabmgr/base/status.h"

#define NONE UINT32_MAX
/* The first 16 bits of the pseudonym of a GUID. Such a GUID counts as locally administered, so no
 * vendor uses it. */
#define GUID_HEAD UINT64_C(0x0200000000000000)
/* The first 32 bits of the pseudonym of a prefix: the IPv6 prefix for documentation (RFC 3849). */
#define PREFIX_HEAD UINT64_C(0x20010db800000000)

/* All GUIDs, or all prefixes. GUIDs that differ only in their last 8 bits form a group; each prefix
 * is a group of its own. */
struct numbers {
    struct fab_map index; /* finds the index of an original in all[] */
    struct number {
        uint64_t original, pseudonym;
        /* HMAC of the bits that the numbers of the group share; the groups are numbered in the
         * order of these HMACs */
        unsigned char mac[8];
        bool used;
    } * all;
    uint32_t count, room;
    struct fab_map pseudonyms; /* after the seal: finds the index of a pseudonym in all[] */
};

struct pseudonyms {
    unsigned char key[32]; /* key of the HMACs; the seal erases it */
    uint64_t basis;        /* a random number that is the start value of every hash */
    struct fab_map index;  /* finds the index in names[] by the hash of a name */
    struct pseudonym *names;
    uint32_t count, room;
    size_t longest;
    struct numbers numbers[2];
    char stem[PSEUDONYM_GUID][64]; /* [kind] the word with which pseudonyms of this kind begin */
};

int pseudonyms_new(struct pseudonyms **ret)
{
    struct pseudonyms *p = calloc(1, sizeof *p);
    if (p == NULL || RAND_bytes(p->key, sizeof p->key) != 1 ||
        RAND_bytes((unsigned char *)&p->basis, sizeof p->basis) != 1) {
        free(p);
        return FAB_E_NOMEM;
    }
    *ret = p;
    return FAB_OK;
}

void pseudonyms_free(struct pseudonyms *p)
{
    if (p == NULL)
        return;
    for (uint32_t i = 0; i < p->count; i++)
        free(p->names[i].original);
    for (size_t i = 0; i < 2; i++) {
        fab_base_map_fini(&p->numbers[i].index);
        fab_base_map_fini(&p->numbers[i].pseudonyms);
        free(p->numbers[i].all);
    }
    fab_base_map_fini(&p->index);
    free(p->names);
    OPENSSL_cleanse(p, sizeof *p);
    free(p);
}

/* ---- learning -------------------------------------------------------------------------------- */

bool pseudonyms_in_word(char c)
{
    return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

/* FNV-1a */
static uint64_t hash_next(uint64_t hash, char c)
{
    return (hash ^ (uint64_t)tolower((unsigned char)c)) * UINT64_C(0x100000001b3);
}

static uint64_t hash_of(const struct pseudonyms *p, const char *text, size_t len)
{
    uint64_t hash = p->basis;
    for (size_t i = 0; i < len; i++)
        hash = hash_next(hash, text[i]);
    return hash;
}

static void sign(const struct pseudonyms *p, const void *bytes, size_t len, unsigned char mac[8])
{
    unsigned char whole[EVP_MAX_MD_SIZE] = {0};
    HMAC(EVP_sha256(), p->key, sizeof p->key, bytes, len, whole, NULL);
    memcpy(mac, whole, 8);
}

/* Removes the characters before the first and after the last word. Returns false if there are no
 * words. */
static bool trim(const char **text, size_t *len)
{
    while (*len > 0 && !pseudonyms_in_word((*text)[0]))
        (*text)++, (*len)--;
    while (*len > 0 && !pseudonyms_in_word((*text)[*len - 1]))
        (*len)--;
    return *len > 0;
}

static bool same_name(const struct pseudonym *n, const char *text, size_t len)
{
    return n->len == len && strncasecmp(n->original, text, len) == 0;
}

static int add_name(struct pseudonyms *p, const struct pseudonym *name, uint64_t hash)
{
    if (p->count == p->room) {
        uint32_t room = p->room > 0 ? 2 * p->room : 64;
        struct pseudonym *names = reallocarray(p->names, room, sizeof *names);
        if (names == NULL)
            return FAB_E_NOMEM;
        p->names = names;
        p->room = room;
    }
    int rc = fab_base_map_add(&p->index, hash, p->count);
    if (rc == FAB_OK)
        p->names[p->count++] = *name;
    return rc;
}

/* Returns true for an IPv4 address and for a text of several words. Such a name is always replaced
 * by a pseudonym, even if it consists of plain words. */
static bool is_special(enum pseudonym_kind kind, const char *name, size_t len)
{
    return kind == PSEUDONYM_IPV4 || (kind == PSEUDONYM_TEXT && memchr(name, ' ', len) != NULL);
}

static int learn(struct pseudonyms *p, enum pseudonym_kind kind, const char *name, size_t len,
                 uint32_t *ret)
{
    uint64_t hash = hash_of(p, name, len);
    if (fab_base_map_get(&p->index, hash, ret)) {
        if (!same_name(&p->names[*ret], name, len))
            return FAB_E_EXISTS;
        if (kind < p->names[*ret].kind)
            p->names[*ret].kind = kind;
        return FAB_OK;
    }
    struct pseudonym new = {.original = strndup(name, len),
                            .len = len,
                            .kind = kind,
                            .common = !is_special(kind, name, len) && plain_words_only(name, len),
                            .same_as = p->count};
    int rc = new.original != NULL ? add_name(p, &new, hash) : FAB_E_NOMEM;
    if (rc != FAB_OK) {
        free(new.original);
        return rc;
    }
    *ret = new.same_as;
    if (len > p->longest)
        p->longest = len;
    return FAB_OK;
}

int pseudonyms_learn(struct pseudonyms *p, enum pseudonym_kind kind, const char *name, size_t len)
{
    uint32_t at;
    return trim(&name, &len) ? learn(p, kind, name, len, &at) : FAB_OK;
}

int pseudonyms_learn_alias(struct pseudonyms *p, const char *name, size_t len, const char *of,
                           size_t of_len)
{
    uint32_t first, at;
    if (!trim(&of, &of_len) || !trim(&name, &len) ||
        !fab_base_map_get(&p->index, hash_of(p, of, of_len), &first))
        return FAB_OK;
    first = p->names[first].same_as;
    int rc = learn(p, p->names[first].kind, name, len, &at);
    if (rc == FAB_OK && p->names[at].same_as == at)
        p->names[at].same_as = first;
    return rc;
}

static struct numbers *numbers_of(struct pseudonyms *p, enum pseudonym_kind kind)
{
    return &p->numbers[kind - PSEUDONYM_GUID];
}

/* Returns the bits that all numbers of a group have in common. */
static uint64_t group_of(enum pseudonym_kind kind, uint64_t number)
{
    return kind == PSEUDONYM_GUID ? number >> 8 : number;
}

int pseudonyms_learn_number(struct pseudonyms *p, enum pseudonym_kind kind, uint64_t original)
{
    struct numbers *n = numbers_of(p, kind);
    if (fab_base_map_has(&n->index, original))
        return FAB_OK;
    if (n->count == n->room) {
        uint32_t room = n->room > 0 ? 2 * n->room : 64;
        struct number *all = reallocarray(n->all, room, sizeof *all);
        if (all == NULL)
            return FAB_E_NOMEM;
        n->all = all;
        n->room = room;
    }
    int rc = fab_base_map_add(&n->index, original, n->count);
    if (rc == FAB_OK)
        n->all[n->count++] = (struct number){.original = original};
    return rc;
}

/* ---- numbering the pseudonyms ---------------------------------------------------------------- */

static int by_mac(const void *a, const void *b)
{
    const struct pseudonym *const *x = a, *const *y = b;
    return memcmp((*x)->mac, (*y)->mac, sizeof(*x)->mac);
}

static int number_names(struct pseudonyms *p)
{
    uint32_t last[PSEUDONYM_KINDS] = {0};
    struct pseudonym **order = calloc(p->count + 1, sizeof(struct pseudonym *));
    if (order == NULL)
        return FAB_E_NOMEM;
    for (uint32_t i = 0; i < p->count; i++) {
        order[i] = &p->names[i];
        sign(p, order[i]->original, order[i]->len, order[i]->mac);
    }
    qsort(order, p->count, sizeof *order, by_mac);
    for (uint32_t i = 0; i < p->count; i++)
        if (&p->names[order[i]->same_as] == order[i])
            order[i]->number = ++last[order[i]->kind];
    free(order);
    return FAB_OK;
}

/* Returns true if a learned name begins with this word. Names marked `common`, which consist of
 * plain words, do not count. */
static bool has_name_like(const struct pseudonyms *p, const char *word, size_t len)
{
    for (uint32_t i = 0; i < p->count; i++) {
        const struct pseudonym *n = &p->names[i];
        if (!n->common && n->len >= len && strncasecmp(n->original, word, len) == 0 &&
            (n->len == len || !pseudonyms_in_word(n->original[len])))
            return true;
    }
    return false;
}

/* Chooses the word with which the pseudonyms of a kind begin. No learned name begins with this
 * word, apart from names marked `common`; so no pseudonym is an original. */
static void choose_stem(struct pseudonyms *p, enum pseudonym_kind kind)
{
    static const char *const stems[] = {"node",      "machine", "user",    "certificate",
                                        "partition", "class",   "service", "text",
                                        "",          "word"};
    char *stem = p->stem[kind];
    size_t len = (size_t)snprintf(stem, sizeof p->stem[kind], "%s", stems[kind]);
    while (len + 2 < sizeof p->stem[kind] && has_name_like(p, stem, len)) {
        memmove(stem + 1, stem, ++len);
        stem[0] = 'x';
    }
    stem[len] = '-';
    stem[len + 1] = '\0';
}

static int by_group(const void *a, const void *b)
{
    const struct number *x = a, *y = b;
    int order = memcmp(x->mac, y->mac, sizeof x->mac);
    return order != 0 ? order : (x->original > y->original) - (x->original < y->original);
}

static int number_numbers(struct pseudonyms *p, enum pseudonym_kind kind)
{
    struct numbers *n = numbers_of(p, kind);
    uint64_t first = 0, group = 0;
    for (uint32_t i = 0; i < n->count; i++) {
        uint64_t bits = group_of(kind, n->all[i].original);
        sign(p, &bits, sizeof bits, n->all[i].mac);
    }
    if (n->count > 0)
        qsort(n->all, n->count, sizeof *n->all, by_group);
    for (uint32_t i = 0; i < n->count; i++) {
        struct number *x = &n->all[i];
        if (i == 0 || group_of(kind, x->original) != group_of(kind, first)) {
            first = x->original;
            group++;
        }
        x->pseudonym = kind == PSEUDONYM_GUID ? GUID_HEAD | group << 8 | (x->original - first)
                                              : PREFIX_HEAD | group;
        int rc = fab_base_map_put(&n->index, x->original, i);
        if (rc == FAB_OK)
            rc = fab_base_map_put(&n->pseudonyms, x->pseudonym, i);
        if (rc != FAB_OK)
            return rc;
    }
    return FAB_OK;
}

int pseudonyms_seal(struct pseudonyms *p)
{
    int rc = number_names(p);
    for (enum pseudonym_kind k = 0; k < PSEUDONYM_GUID; k++)
        choose_stem(p, k);
    for (enum pseudonym_kind k = PSEUDONYM_GUID; k < PSEUDONYM_KINDS && rc == FAB_OK; k++)
        rc = number_numbers(p, k);
    OPENSSL_cleanse(p->key, sizeof p->key);
    return rc;
}

/* ---- replacing ------------------------------------------------------------------------------- */

const struct pseudonym *pseudonyms_find(const struct pseudonyms *p, const char *text, size_t len,
                                        size_t *ret_len)
{
    const struct pseudonym *found = NULL;
    uint64_t hash = p->basis;
    uint32_t at;
    for (size_t i = 0; i < len && i < p->longest; i++) {
        hash = hash_next(hash, text[i]);
        /* A name ends at text[i] only if text[i] belongs to a word and the next character does
         * not. */
        if (!pseudonyms_in_word(text[i]) || (i + 1 < len && pseudonyms_in_word(text[i + 1])))
            continue;
        if (fab_base_map_get(&p->index, hash, &at) && same_name(&p->names[at], text, i + 1)) {
            found = &p->names[at];
            *ret_len = i + 1;
        }
    }
    return found;
}

static const struct pseudonym *root_of(const struct pseudonyms *p, const struct pseudonym *name)
{
    while (&p->names[name->same_as] != name)
        name = &p->names[name->same_as];
    return name;
}

static void write_pseudonym(const struct pseudonyms *p, const struct pseudonym *name,
                            struct fab_text *to)
{
    const struct pseudonym *n = root_of(p, name);
    /* A pseudonym of an IPv4 address is an address that RFC 2544 reserves for benchmarks. */
    if (n->kind == PSEUDONYM_IPV4)
        fab_base_text_addf(to, "198.%u.%u.%u", 18 + (n->number >> 16 & 1), n->number >> 8 & 255,
                           n->number & 255);
    else
        fab_base_text_addf(to, "%s%" PRIu32, p->stem[n->kind], n->number);
}

void pseudonyms_write(struct pseudonyms *p, const struct pseudonym *original, struct fab_text *to)
{
    p->names[original - p->names].used = true;
    p->names[root_of(p, original) - p->names].used = true;
    write_pseudonym(p, original, to);
}

uint64_t pseudonyms_number(struct pseudonyms *p, enum pseudonym_kind kind, uint64_t original)
{
    struct numbers *n = numbers_of(p, kind);
    uint32_t at;
    if (!fab_base_map_get(&n->index, original, &at))
        return original;
    n->all[at].used = true;
    return n->all[at].pseudonym;
}

bool pseudonyms_is_original(const struct pseudonyms *p, enum pseudonym_kind kind, uint64_t number)
{
    const struct numbers *n = &p->numbers[kind - PSEUDONYM_GUID];
    return fab_base_map_has(&n->index, number) && !fab_base_map_has(&n->pseudonyms, number);
}

/* ---- the table ------------------------------------------------------------------------------- */

uint32_t pseudonyms_count(const struct pseudonyms *p, enum pseudonym_kind kind)
{
    uint32_t count = 0;
    if (kind >= PSEUDONYM_GUID) {
        const struct numbers *n = &p->numbers[kind - PSEUDONYM_GUID];
        for (uint32_t i = 0; i < n->count; i++)
            count += n->all[i].used;
        return count;
    }
    for (uint32_t i = 0; i < p->count; i++)
        count += p->names[i].used && p->names[i].same_as == i && p->names[i].kind == kind;
    return count;
}

void pseudonyms_table(const struct pseudonyms *p, struct fab_text *to)
{
    static const char *const forms[] = {"0x%016" PRIx64 "\t0x%016" PRIx64 "\n",
                                        "prefix 0x%016" PRIx64 "\t0x%016" PRIx64 "\n"};
    for (uint32_t i = 0; i < p->count; i++) {
        if (!p->names[i].used)
            continue;
        write_pseudonym(p, &p->names[i], to);
        fab_base_text_add(to, "\t");
        for (const char *c = p->names[i].original; *c != '\0'; c++)
            if ((unsigned char)*c < 0x20 || *c == 0x7f || *c == '\\')
                fab_base_text_addf(to, "\\x%02x", (unsigned char)*c);
            else
                fab_base_text_bytes(to, c, 1);
        fab_base_text_add(to, "\n");
    }
    for (size_t k = 0; k < 2; k++)
        for (uint32_t i = 0; i < p->numbers[k].count; i++)
            if (p->numbers[k].all[i].used)
                fab_base_text_addf(to, forms[k], p->numbers[k].all[i].pseudonym,
                                   p->numbers[k].all[i].original);
}
