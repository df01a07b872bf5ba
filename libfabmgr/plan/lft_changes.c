/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text of a set of changed LFT blocks is "all", or
 *
 *     HASH ':' SWITCHES { ';' BLOCKS ':' SWITCHES }
 *
 * HASH has 16 hexadecimal digits. The first SWITCHES are those whose links have changed; each
 * further pair names blocks, and the switches at which just these blocks have changed. A set of
 * numbers is a list of runs: for each run, the numbers that are left out before it, and the numbers
 * in it without the first one. Each of these is written in digits of 5 bits, the lowest first; a
 * digit with the value 32 added is followed by another one.
 */
#include "libfabmgr/plan/lft_changes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/digits.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"

#define ALL "all"
#define HASH_LEN 16
static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+-";

/* ---- the set --------------------------------------------------------------------------------- */

static uint64_t hash_of(const struct fab_fabric *f)
{
    uint64_t hash = f->switch_count;
    for (uint32_t sw = 0; sw < f->switch_count; sw++)
        hash = fab_base_mix64(hash ^ f->nodes[sw].guid);
    return hash;
}

void fab_plan_changes_clear(struct fab_lft_changes *c)
{
    free(c->block);
    free(c->linked);
    *c = (struct fab_lft_changes){0};
}

void fab_plan_changes_add_all(struct fab_lft_changes *c)
{
    fab_plan_changes_clear(c);
    c->all = true;
}

/* Makes room for the switches of f. Returns false if everything counts as changed. */
static bool prepare(struct fab_lft_changes *c, const struct fab_fabric *f)
{
    if (c->all)
        return false;
    if (c->block == NULL) {
        c->switches = f->switch_count;
        c->hash = hash_of(f);
        c->block = calloc((size_t)f->switch_count + 1, sizeof(*c->block));
        c->linked = fab_base_bits_new(f->switch_count);
    }
    if (c->block == NULL || c->linked == NULL || c->switches != f->switch_count)
        fab_plan_changes_add_all(c);
    return !c->all;
}

/* Returns whether the set has the ids of f. */
static bool same_switches(const struct fab_lft_changes *c, const struct fab_fabric *f)
{
    return c->switches == f->switch_count && c->hash == hash_of(f);
}

void fab_plan_changes_begin(struct fab_lft_changes *c, const struct fab_fabric *f)
{
    bool fresh = c->block == NULL;
    if (prepare(c, f) && !fresh && !same_switches(c, f))
        fab_plan_changes_add_all(c);
}

void fab_plan_changes_add_block(struct fab_lft_changes *c, uint32_t sw, uint32_t block)
{
    if (!c->all && sw < c->switches && block < FAB_LFT_CHANGES_BLOCKS)
        fab_base_bits_set(c->block[sw], block);
}

void fab_plan_changes_add_links(struct fab_lft_changes *c, uint32_t sw)
{
    if (!c->all && sw < c->switches)
        fab_base_bits_set(c->linked, sw);
}

void fab_plan_changes_add(struct fab_lft_changes *c, const struct fab_lft_changes *from)
{
    bool differs = c->block != NULL && from->block != NULL &&
                   (c->switches != from->switches || c->hash != from->hash);
    if (from->all || c->all || differs || (from->block != NULL && c->block == NULL)) {
        fab_plan_changes_add_all(c);
        return;
    }
    for (uint32_t sw = 0; from->block != NULL && sw < c->switches; sw++) {
        for (size_t i = 0; i < FAB_LFT_CHANGES_WORDS; i++)
            c->block[sw][i] |= from->block[sw][i];
        if (fab_base_bits_get(from->linked, sw))
            fab_base_bits_set(c->linked, sw);
    }
}

bool fab_plan_changes_any(const struct fab_lft_changes *c)
{
    return c->all || c->block != NULL;
}

bool fab_plan_changes_has_block(const struct fab_lft_changes *c, uint32_t sw, uint32_t block)
{
    return c->all || (sw < c->switches && block < FAB_LFT_CHANGES_BLOCKS &&
                      fab_base_bits_get(c->block[sw], block));
}

uint32_t fab_plan_changes_next_block(const struct fab_lft_changes *c, uint32_t sw, uint32_t from)
{
    if (c->all || sw >= c->switches || from >= FAB_LFT_CHANGES_BLOCKS)
        return c->all && from < FAB_LFT_CHANGES_BLOCKS ? from : FAB_LFT_CHANGES_BLOCKS;
    return (uint32_t)fab_base_bits_next(c->block[sw], FAB_LFT_CHANGES_BLOCKS, from);
}

/* ---- writing --------------------------------------------------------------------------------- */

struct writer {
    char *text;
    size_t len, most;
    bool full;
};

static void put(struct writer *w, char c)
{
    w->full |= w->len == w->most;
    if (!w->full)
        w->text[w->len++] = c;
}

static void put_number(struct writer *w, size_t n)
{
    for (; n >= 32; n >>= 5)
        put(w, digits[32 + (n & 31)]);
    put(w, digits[n]);
}

static void put_run(struct writer *w, size_t gap, size_t len)
{
    put_number(w, gap);
    put_number(w, len - 1);
}

static void put_set(struct writer *w, const uint64_t *set, size_t bits)
{
    size_t end = 0;
    for (size_t at = fab_base_bits_next(set, bits, 0); at < bits && !w->full;
         at = fab_base_bits_next(set, bits, end)) {
        size_t first = at;
        while (at < bits && fab_base_bits_get(set, at))
            at++;
        put_run(w, first - end, at - first);
        end = at;
    }
}

/* A switch, and the blocks of it that have changed. */
struct row {
    const uint64_t *block;
    uint32_t sw;
};

static int by_blocks(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int order = memcmp(x->block, y->block, FAB_LFT_CHANGES_WORDS * sizeof(*x->block));
    return order != 0 ? order : (x->sw > y->sw) - (x->sw < y->sw);
}

static bool same_blocks(const struct row *a, const struct row *b)
{
    return memcmp(a->block, b->block, FAB_LFT_CHANGES_WORDS * sizeof(*a->block)) == 0;
}

/* Writes the switches of row[count], which are in ascending order. */
static void put_switches(struct writer *w, const struct row *row, size_t count)
{
    uint32_t end = 0;
    for (size_t first = 0, next; first < count; first = next) {
        for (next = first + 1; next < count && row[next].sw == row[next - 1].sw + 1;)
            next++;
        put_run(w, row[first].sw - end, next - first);
        end = row[next - 1].sw + 1;
    }
}

static void put_rows(struct writer *w, const struct row *row, size_t count)
{
    for (size_t first = 0, next; first < count && !w->full; first = next) {
        for (next = first + 1; next < count && same_blocks(&row[first], &row[next]);)
            next++;
        put(w, ';');
        put_set(w, row[first].block, FAB_LFT_CHANGES_BLOCKS);
        put(w, ':');
        put_switches(w, row + first, next - first);
    }
}

/* Returns NULL if there is no memory. */
static struct row *list_rows(const struct fab_lft_changes *c, size_t *ret_count)
{
    struct row *row = calloc((size_t)c->switches + 1, sizeof(*row));
    size_t count = 0;
    for (uint32_t sw = 0; row != NULL && sw < c->switches; sw++)
        if (fab_plan_changes_next_block(c, sw, 0) < FAB_LFT_CHANGES_BLOCKS)
            row[count++] = (struct row){c->block[sw], sw};
    if (row != NULL)
        qsort(row, count, sizeof(*row), by_blocks);
    *ret_count = count;
    return row;
}

char *fab_plan_changes_text(const struct fab_lft_changes *c, size_t most)
{
    struct writer w = {.text = malloc(most + sizeof(ALL) + 1), .most = most};
    size_t count = 0;
    struct row *row = c->all ? NULL : list_rows(c, &count);
    if (w.text == NULL || (row == NULL && !c->all)) {
        free(w.text);
        free(row);
        return NULL;
    }
    w.full = c->all || most < HASH_LEN;
    if (!w.full)
        w.len = (size_t)snprintf(w.text, HASH_LEN + 1, "%016llx", (unsigned long long)c->hash);
    put(&w, ':');
    if (!w.full && c->linked != NULL)
        put_set(&w, c->linked, c->switches);
    put_rows(&w, row, count);
    free(row);
    if (w.full)
        memcpy(w.text, ALL, sizeof(ALL));
    else
        w.text[w.len] = '\0';
    return w.text;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads a number of at most `most`. Returns false if there is none. */
static bool take_number(const char **at, size_t most, size_t *ret)
{
    size_t n = 0;
    for (unsigned shift = 0; shift < 30; shift += 5) {
        const char *digit = **at != '\0' ? strchr(digits, **at) : NULL;
        if (digit == NULL)
            return false;
        (*at)++;
        n |= (size_t)((digit - digits) & 31) << shift;
        if (digit - digits < 32) {
            *ret = n;
            return n <= most;
        }
    }
    return false;
}

/* Reads a set of numbers below `bits`, up to the character `end` or to the end of the text. */
static bool take_set(const char **at, char end, uint64_t *ret, size_t bits)
{
    size_t from = 0, gap, more;
    while (**at != end && **at != '\0') {
        if (!take_number(at, bits, &gap) || !take_number(at, bits, &more) ||
            from + gap + more + 1 > bits)
            return false;
        for (size_t i = from + gap; i <= from + gap + more; i++)
            fab_base_bits_set(ret, i);
        from += gap + more + 1;
    }
    return true;
}

/* Reads the blocks and the switches of one pair. sws: scratch memory for a set of switches. */
static bool take_pair(const char **at, struct fab_lft_changes *c, uint64_t *sws)
{
    uint64_t blocks[FAB_LFT_CHANGES_WORDS] = {0};
    fab_base_bits_zero(sws, c->switches);
    if (!take_set(at, ':', blocks, FAB_LFT_CHANGES_BLOCKS) || **at != ':')
        return false;
    (*at)++;
    if (!take_set(at, ';', sws, c->switches))
        return false;
    for (size_t sw = 0; (sw = fab_base_bits_next(sws, c->switches, sw)) < c->switches; sw++)
        for (size_t i = 0; i < FAB_LFT_CHANGES_WORDS; i++)
            c->block[sw][i] |= blocks[i];
    return true;
}

static bool take_text(struct fab_lft_changes *c, const char *text)
{
    uint64_t hash, *sws = fab_base_bits_new(c->switches);
    const char *at = text + HASH_LEN;
    bool good = sws != NULL && strlen(text) > HASH_LEN && *at++ == ':' &&
                fab_base_digits_parse(text, HASH_LEN, 16, UINT64_MAX, &hash) && hash == c->hash &&
                take_set(&at, ';', c->linked, c->switches);
    while (good && *at != '\0') {
        at++;
        good = take_pair(&at, c, sws);
    }
    free(sws);
    return good;
}

int fab_plan_changes_read(struct fab_lft_changes *c, const struct fab_fabric *f, const char *text)
{
    if (strcmp(text, ALL) == 0) {
        fab_plan_changes_add_all(c);
        return FAB_OK;
    }
    fab_plan_changes_begin(c, f);
    if (c->all)
        return FAB_OK;
    if (take_text(c, text))
        return FAB_OK;
    fab_plan_changes_add_all(c);
    return FAB_E_INVAL;
}
