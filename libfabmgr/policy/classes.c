/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds traffic classes while fabricd.yaml, qos-policy.conf or an applied policy is read.
 * Afterwards the classes are shared and do not change. This file also parses numbers, ranges, and
 * the tables of OpenSM's options. */
#include "libfabmgr/policy/classes.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/digits.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/policy/append.h"
#include "libfabmgr/policy/classes_make.h"

#define NAME_MOST 63

/* ---- building -------------------------------------------------------------------------------- */

int fab_policy_classes_add_range(struct fab_ranges *r, struct fab_range range)
{
    return APPEND(r->range, r->count, &range);
}

int fab_policy_classes_add_member(struct fab_class_group *g, const struct fab_class_member *m)
{
    return APPEND(g->member, g->count, m);
}

int fab_policy_classes_add_group(struct fab_classes *c, const char *name, size_t len,
                                 uint32_t *ret_number)
{
    if (c->groups == FAB_CLASS_GROUPS_MAX)
        return FAB_E_LIMIT;
    const char *copy = fab_base_arena_text(&c->arena, name, len);
    if (copy == NULL)
        return FAB_E_NOMEM;
    c->group[c->groups] = (struct fab_class_group){.name = copy};
    *ret_number = (uint32_t)c->groups++;
    return FAB_OK;
}

int fab_policy_classes_append_rule(struct fab_classes *c, const struct fab_class_rule *rule)
{
    return c->rules < FAB_CLASS_RULES_MAX ? APPEND(c->rule, c->rules, rule) : FAB_E_LIMIT;
}

void fab_policy_classes_rule_fini(struct fab_class_rule *rule)
{
    free(rule->service.range);
    free(rule->qos_class.range);
    free(rule->pkey.range);
}

int fab_policy_classes_new(struct fab_classes **ret)
{
    struct fab_classes *c = calloc(1, sizeof(*c));
    if (c == NULL)
        return FAB_E_NOMEM;
    c->class[0] = (struct fab_class){.name = "default", .sl = FAB_CLASS_NO_SL};
    c->count = 1;
    c->refs = 1;
    *ret = c;
    return FAB_OK;
}

struct fab_classes *fab_policy_classes_ref(struct fab_classes *c)
{
    if (c != NULL)
        __atomic_add_fetch(&c->refs, 1, __ATOMIC_RELAXED);
    return c;
}

void fab_policy_classes_unref(struct fab_classes *c)
{
    if (c == NULL)
        return;
    int left = __atomic_sub_fetch(&c->refs, 1, __ATOMIC_ACQ_REL);
    assert(left >= 0);
    if (left > 0)
        return;
    for (size_t i = 0; i < c->groups; i++)
        free(c->group[i].member);
    for (size_t i = 0; i < c->rules; i++)
        fab_policy_classes_rule_fini(&c->rule[i]);
    free(c->rule);
    fab_base_arena_fini(&c->arena);
    free(c);
}

static bool has_priority(const struct fab_classes *c)
{
    bool some = c != NULL && c->highs > 0;
    for (unsigned i = 0; c != NULL && i < c->count; i++)
        some |= c->class[i].high;
    return some;
}

bool fab_policy_classes_same_limit(const struct fab_classes *a, const struct fab_classes *b)
{
    if (!has_priority(a) && !has_priority(b))
        return true;
    if (a == NULL || b == NULL || a->count != b->count || a->has_limit != b->has_limit ||
        a->limit != b->limit || a->highs != b->highs || a->lows != b->lows)
        return false;
    for (unsigned i = 0; i < a->count; i++)
        if (a->class[i].high != b->class[i].high || a->class[i].share != b->class[i].share)
            return false;
    return true;
}

int fab_policy_classes_find(const struct fab_classes *c, const char *name)
{
    for (int i = 0; i < c->count; i++)
        if (strcmp(c->class[i].name, name) == 0)
            return i;
    return -1;
}

/* ---- classes --------------------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static int wrong(struct fab_classes_error *e, int status,
                                                       const char *fmt, ...)
{
    va_list args;
    e->line = 0;
    va_start(args, fmt);
    vsnprintf(e->message, sizeof(e->message), fmt, args);
    va_end(args);
    return status;
}

static int check_class(const struct fab_class *k, struct fab_classes_error *e)
{
    if (k->name[0] == '\0' || strlen(k->name) > NAME_MOST)
        return wrong(e, FAB_E_RANGE, "a class has no name, or a name of more than %d bytes",
                     NAME_MOST);
    if (k->share > 100)
        return wrong(e, FAB_E_RANGE, "the share of class %s is %u percent, expected 1 to 100",
                     k->name, k->share);
    if (k->sl > 15 && k->sl != FAB_CLASS_NO_SL)
        return wrong(e, FAB_E_RANGE, "the SL of class %s is %u, expected 0 to 15", k->name, k->sl);
    if (k->mtu > 5)
        return wrong(e, FAB_E_RANGE, "the MTU of class %s has code %u, expected 1 to 5", k->name,
                     k->mtu);
    if (k->life > 63 || k->rate > 63)
        return wrong(e, FAB_E_RANGE, "the lifetime or rate of class %s has a code above 63",
                     k->name);
    if (k->pkey > 0x7fff)
        return wrong(e, FAB_E_RANGE, "the P_Key of class %s is 0x%x, expected 1 to 0x7fff", k->name,
                     k->pkey);
    return FAB_OK;
}

int fab_policy_classes_add(struct fab_classes *c, const struct fab_class *class,
                           uint8_t *ret_number, struct fab_classes_error *ret_error)
{
    bool is_default = strcmp(class->name, "default") == 0;
    int r = check_class(class, ret_error);
    if (r != FAB_OK)
        return r;
    if (is_default && class->sl != FAB_CLASS_NO_SL && class->sl != 0)
        return wrong(ret_error, FAB_E_RANGE,
                     "the SL of class default is %u, expected 0: unclassified traffic uses SL 0",
                     class->sl);
    if (!is_default && fab_policy_classes_find(c, class->name) >= 0)
        return wrong(ret_error, FAB_E_EXISTS, "class %s is defined twice", class->name);
    if (!is_default && c->count == FAB_CLASSES_MAX)
        return wrong(ret_error, FAB_E_LIMIT, "more than %d classes, including the default class",
                     FAB_CLASSES_MAX);
    const char *name = fab_base_arena_text(&c->arena, class->name, strlen(class->name));
    if (name == NULL)
        return FAB_E_NOMEM;
    uint8_t number = is_default ? 0 : c->count++;
    c->class[number] = *class;
    c->class[number].name = name;
    *ret_number = number;
    return FAB_OK;
}

int fab_policy_classes_check(const struct fab_classes *c, struct fab_classes_error *ret_error)
{
    unsigned sum = 0, open = 0;
    for (unsigned i = 0; i < c->count; i++) {
        sum += c->class[i].share;
        open += c->class[i].share == 0;
    }
    if (sum > 100 || (sum == 100 && open > 0))
        return wrong(ret_error, FAB_E_RANGE,
                     "the shares of all classes add up to %u percent%s, expected %s", sum,
                     open > 0 ? ", and a class has no share" : "",
                     open > 0 ? "less than 100, so that something is left for that class (without "
                                "a share, the class default gets what is left)"
                              : "at most 100");
    return FAB_OK;
}

/* ---- numbers, ranges, tables ----------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void trim(const char **text, size_t *len)
{
    while (*len > 0 && is_blank(**text)) {
        (*text)++;
        (*len)--;
    }
    while (*len > 0 && is_blank((*text)[*len - 1]))
        (*len)--;
}

bool fab_policy_classes_read_number(const char *text, size_t len, uint64_t *ret)
{
    trim(&text, &len);
    bool hex = len > 2 && text[0] == '0' && (text[1] | 0x20) == 'x';
    return hex ? fab_base_digits_parse(text + 2, len - 2, 16, UINT64_MAX, ret)
               : fab_base_digits_parse(text, len, 10, UINT64_MAX, ret);
}

static bool read_range(const char *text, size_t len, struct fab_range *ret)
{
    const char *dash = memchr(text, '-', len);
    size_t first = dash != NULL ? (size_t)(dash - text) : len;
    if (!fab_policy_classes_read_number(text, first, &ret->first))
        return false;
    ret->last = ret->first;
    return dash == NULL || (fab_policy_classes_read_number(dash + 1, len - first - 1, &ret->last) &&
                            ret->last >= ret->first);
}

int fab_policy_classes_read_ranges(const char *text, size_t len, uint64_t most, uint64_t offset,
                                   struct fab_ranges *ret)
{
    int r = FAB_OK;
    for (const char *end = text + len; r == FAB_OK; text++) {
        const char *comma = memchr(text, ',', (size_t)(end - text));
        struct fab_range range;
        if (!read_range(text, (size_t)((comma != NULL ? comma : end) - text), &range) ||
            range.last > most)
            return FAB_E_FORMAT;
        range.first += offset;
        range.last += offset;
        r = fab_policy_classes_add_range(ret, range);
        if (comma == NULL)
            return r;
        text = comma;
    }
    return r;
}

/* Reads the number at *at, and moves *at past it. The number must end at the end of the text or at
 * one of the characters in `ends`. Returns -1 if there is no number, or if the number exceeds
 * `most`. */
static int take_number(const char **at, const char *ends, unsigned most)
{
    uint64_t value;
    size_t len = strcspn(*at, ends);
    if (!fab_policy_classes_read_number(*at, len, &value) || value > most)
        return -1;
    *at += len;
    return (int)value;
}

int fab_policy_classes_set_map(struct fab_classes *c, const char *text)
{
    uint8_t map[16] = {0};
    for (unsigned sl = 0; sl < 16; sl++) {
        int vl = take_number(&text, ",", 15);
        if (vl < 0)
            return FAB_E_FORMAT;
        map[sl] = (uint8_t)vl;
        if (*text == '\0' && sl < 15)
            return FAB_E_FORMAT;
        text += *text == ',';
    }
    if (*text != '\0')
        return FAB_E_FORMAT;
    memcpy(c->map, map, sizeof(map));
    c->has_map = true;
    return FAB_OK;
}

int fab_policy_classes_set_arb(struct fab_classes *c, bool high, const char *text)
{
    struct fab_arb_entry entry[FAB_ARB_ENTRIES];
    uint8_t count = 0;
    for (;; text++) {
        int vl = take_number(&text, ":,", 14);
        if (vl < 0 || *text++ != ':' || count == FAB_ARB_ENTRIES)
            return FAB_E_FORMAT;
        int weight = take_number(&text, ",", 255);
        if (weight < 0)
            return FAB_E_FORMAT;
        entry[count++] = (struct fab_arb_entry){(uint8_t)vl, (uint8_t)weight};
        if (*text == '\0')
            break;
    }
    memcpy(high ? c->high : c->low, entry, sizeof(entry));
    *(high ? &c->highs : &c->lows) = count;
    return FAB_OK;
}
