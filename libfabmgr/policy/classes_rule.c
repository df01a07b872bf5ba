/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the rules of traffic classes in fabricd.yaml. Each rule is one line:
 *
 *     from=@compute to="stor-*" partition=jobs pkey=0x11-0x1f service=0x1000-0x1fff qos_class=7,9
 *
 * A path belongs to the class if all conditions match. The values of `from` and `to` are a group of
 * partitions.conf, a port GUID, or a pattern of node descriptions. A pattern with blanks is in
 * quotes.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/policy/classes_make.h"

struct reader {
    struct fab_classes *c;
    struct fab_class_rule rule;
    struct fab_classes_error *error;
};

__attribute__((format(printf, 2, 3))) static int wrong(struct reader *r, const char *fmt, ...)
{
    va_list args;
    r->error->line = 0;
    va_start(args, fmt);
    vsnprintf(r->error->message, sizeof(r->error->message), fmt, args);
    va_end(args);
    return FAB_E_FORMAT;
}

struct value {
    const char *s;
    size_t len;
};

/* Sets in *mask the bit of the port group whose only member is `v`. Adds this group if no earlier
 * rule has added it. */
static int group_of(struct reader *r, const struct value *v, enum fab_class_member_kind kind,
                    uint64_t guid, uint64_t *mask)
{
    struct fab_classes *c = r->c;
    uint32_t number;
    for (number = 0; number < c->groups; number++)
        if (strlen(c->group[number].name) == v->len &&
            memcmp(c->group[number].name, v->s, v->len) == 0 && c->group[number].count == 1 &&
            c->group[number].member[0].kind == kind) {
            *mask |= UINT64_C(1) << number;
            return FAB_OK;
        }
    int status = fab_policy_classes_add_group(c, v->s, v->len, &number);
    if (status == FAB_E_LIMIT)
        return wrong(r, "more than %d different values of from, to and partition in the rules",
                     FAB_CLASS_GROUPS_MAX);
    if (status != FAB_OK)
        return status;
    struct fab_class_member m = {.kind = kind, .first = guid, .last = guid};
    m.name = c->group[number].name + (kind == FAB_CLASS_OF_OTHERS);
    *mask |= UINT64_C(1) << number;
    return fab_policy_classes_add_member(&c->group[number], &m);
}

static int take_endpoint(struct reader *r, const struct value *v, uint64_t *mask)
{
    uint64_t guid;
    if (v->s[0] == '@' && v->len > 1)
        return group_of(r, v, FAB_CLASS_OF_OTHERS, 0, mask);
    if (v->len > 2 && v->s[0] == '0' && v->s[1] == 'x') {
        if (!fab_policy_classes_read_number(v->s, v->len, &guid))
            return wrong(r, "'%.*s' is not a GUID", (int)v->len, v->s);
        return group_of(r, v, FAB_CLASS_GUIDS, guid, mask);
    }
    return group_of(r, v, FAB_CLASS_NODES, 0, mask);
}

static int take_from(struct reader *r, const struct value *v)
{
    return take_endpoint(r, v, &r->rule.from);
}

static int take_to(struct reader *r, const struct value *v)
{
    return take_endpoint(r, v, &r->rule.to);
}

/* Adds the condition partition=NAME. It matches a path if both its endports are members of the
 * partition, whatever P_Key the request has. */
static int take_partition(struct reader *r, const struct value *v)
{
    int status = group_of(r, v, FAB_CLASS_PARTITION, 0, &r->rule.from);
    return status == FAB_OK ? group_of(r, v, FAB_CLASS_PARTITION, 0, &r->rule.to) : status;
}

static int take_ranges(struct reader *r, const struct value *v, uint64_t most,
                       struct fab_ranges *ranges)
{
    int status = fab_policy_classes_read_ranges(v->s, v->len, most, 0, ranges);
    return status == FAB_E_FORMAT
               ? wrong(r, "'%.*s', expected numbers and ranges such as 1,4-7", (int)v->len, v->s)
               : status;
}

static int take_pkey(struct reader *r, const struct value *v)
{
    return take_ranges(r, v, 0xffff, &r->rule.pkey);
}

static int take_service(struct reader *r, const struct value *v)
{
    return take_ranges(r, v, UINT64_MAX, &r->rule.service);
}

static int take_qos_class(struct reader *r, const struct value *v)
{
    return take_ranges(r, v, 0xffff, &r->rule.qos_class);
}

static const struct key {
    const char *name;
    int (*take)(struct reader *r, const struct value *v);
} keys[] = {
    {"from", take_from}, {"to", take_to},           {"partition", take_partition},
    {"pkey", take_pkey}, {"service", take_service}, {"qos_class", take_qos_class},
};

static int take_word(struct reader *r, const char *key, size_t len, const struct value *v)
{
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        if (strlen(keys[i].name) == len && strncmp(keys[i].name, key, len) == 0)
            return v->len > 0 ? keys[i].take(r, v) : wrong(r, "%s= has no value", keys[i].name);
    return wrong(
        r, "'%.*s' is unknown, expected from=, to=, partition=, pkey=, service= or qos_class=",
        (int)(len < 60 ? len : 60), key);
}

static int read_words(struct reader *r, const char *at)
{
    int status = FAB_OK;
    for (at += strspn(at, " \t"); status == FAB_OK && *at != '\0'; at += strspn(at, " \t")) {
        const char *key = at;
        size_t len = strcspn(at, "= \t");
        at += len;
        if (*at != '=')
            return wrong(r, "'%.*s' has no value, expected KEY=VALUE", (int)(len < 60 ? len : 60),
                         key);
        bool quoted = *++at == '"';
        at += quoted;
        struct value v = {at, strcspn(at, quoted ? "\"" : " \t")};
        at += v.len;
        if (quoted && *at++ != '"')
            return wrong(r, "unterminated quotation mark");
        status = take_word(r, key, len, &v);
    }
    return status;
}

int fab_policy_classes_add_rule(struct fab_classes *c, uint8_t class, const char *text,
                                struct fab_classes_error *ret_error)
{
    struct reader r = {.c = c, .rule = {.class = class}, .error = ret_error};
    int status = text[strspn(text, " \t")] != '\0' ? read_words(&r, text)
                                                   : wrong(&r, "an empty rule, expected KEY=VALUE");
    if (status == FAB_OK)
        status = fab_policy_classes_append_rule(c, &r.rule);
    if (status == FAB_E_LIMIT)
        (void)wrong(&r, "more than %d rules", FAB_CLASS_RULES_MAX);
    if (status != FAB_OK)
        fab_policy_classes_rule_fini(&r.rule);
    return status;
}
