/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads OpenSM's partitions.conf:
 *
 *     Default=0x7fff, ipoib : ALL=limited, SELF=full ;
 *     jobs=0x11, ipoib, rate=7, mtu=5, defmember=full : 0x0002c90300000011, "node-0*", @storage;
 *     @storage : "stor-*", 0x0002c90300000021 ;
 *
 * Names, P_Keys, flags and members mean what they mean in OpenSM. Its doc/partition-config.txt
 * describes this; where that file says nothing, OpenSM's behaviour counts:
 *   - A # begins a comment. A semicolon, or the end of the text, ends a definition. The part before
 *     the colon is on one line; the members after it are separated by commas or line ends.
 *   - A definition without a P_Key has the P_Key of the partition with the same name. If there is
 *     no such partition, it gets the lowest free P_Key. Several definitions with the same P_Key are
 *     combined, and the first one gives the name.
 *   - Key words may be abbreviated, as "limi" for limited. An unknown membership means limited.
 *   - Unknown flags and invalid multicast groups are ignored with a note. Whatever OpenSM rejects
 *     is an error here, too.
 *
 * There are two extensions. Members in quotation marks are patterns of node descriptions. A
 * definition whose name begins with @ is a group of ports, which later definitions can use as a
 * member.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/digits.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/policy/gid.h"
#include "libfabmgr/policy/partitions_make.h"

const struct fab_member_word fab_policy_member_words[FAB_MEMBER_WORDS] = {
    {"ALL", FAB_SELECT_ALL},
    {"ALL_CAS", FAB_SELECT_ADAPTERS},
    {"ALL_SWITCHES", FAB_SELECT_SWITCHES},
    {"ALL_ROUTERS", FAB_SELECT_ROUTERS},
    {"SELF", FAB_SELECT_SELF},
};

#define WORD_MAX 255
#define PKEY_LAST 0x7ffe /* the last P_Key that is assigned automatically */

struct word {
    char s[WORD_MAX + 1];
    uint32_t line, column;
    bool quoted;
};
struct flags {
    uint8_t mtu, rate, sl, tclass;
    /* bitset: bit i is set if the definition has the flag scope=i */
    uint16_t scopes;
    uint32_t q_key, flow_label;
};
struct definition {
    struct word name, id;
    struct flags flags;
    bool ipoib, index0, is_group;
    enum fab_membership membership;
    uint32_t number; /* index in fab_partitions of the partition or group that is defined */
};
struct reader {
    const char *at, *end, *line_start;
    uint32_t line;
    uint16_t last_pkey; /* the last P_Key that was assigned automatically */
    struct fab_partitions *p;
    struct fab_partitions_error *error;
};

/* ---- errors and notes ------------------------------------------------------------------------ */

__attribute__((format(printf, 3, 4))) static int wrong(struct reader *r, const struct word *w,
                                                       const char *fmt, ...)
{
    va_list args;
    r->error->line = w != NULL ? w->line : r->line;
    r->error->column = w != NULL ? w->column : (uint32_t)(r->at - r->line_start) + 1;
    va_start(args, fmt);
    vsnprintf(r->error->message, sizeof(r->error->message), fmt, args);
    va_end(args);
    return FAB_E_FORMAT;
}

__attribute__((format(printf, 3, 4))) static void note(struct reader *r, const struct word *w,
                                                       const char *fmt, ...)
{
    va_list args;
    if (r->p->notes++ >= FAB_PARTITION_NOTES)
        return;
    struct fab_partitions_note *n = &r->p->note[r->p->notes - 1];
    n->line = w->line;
    n->column = w->column;
    va_start(args, fmt);
    vsnprintf(n->message, sizeof(n->message), fmt, args);
    va_end(args);
}

/* ---- words ----------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static char peek(const struct reader *r)
{
    return r->at < r->end ? *r->at : '\0';
}

/* Skips blanks and a comment. Stops at the end of the line. */
static void skip_blanks(struct reader *r)
{
    while (r->at < r->end && is_blank(*r->at))
        r->at++;
    if (peek(r) == '#')
        while (r->at < r->end && *r->at != '\n')
            r->at++;
}

static void skip_line_end(struct reader *r)
{
    r->at++;
    r->line++;
    r->line_start = r->at;
}

static void skip_space(struct reader *r)
{
    for (skip_blanks(r); peek(r) == '\n'; skip_blanks(r))
        skip_line_end(r);
}

static bool take(struct reader *r, char c)
{
    skip_blanks(r);
    if (r->at >= r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

static int keep(struct reader *r, struct word *w, const char *s, size_t len)
{
    if (len > WORD_MAX)
        return wrong(r, w, "a word of %zu bytes, expected at most %d bytes", len, WORD_MAX);
    if (memchr(s, '\0', len) != NULL)
        return wrong(r, w, "a zero byte, expected text");
    memcpy(w->s, s, len);
    w->s[len] = '\0';
    return FAB_OK;
}

static int read_quoted(struct reader *r, struct word *w)
{
    const char *start = ++r->at;
    while (r->at < r->end && *r->at != '"' && *r->at != '\n')
        r->at++;
    if (peek(r) != '"')
        return wrong(r, w, "unterminated quotation mark on this line");
    w->quoted = true;
    return keep(r, w, start, (size_t)(r->at++ - start));
}

/* Reads a word. It ends before one of the characters in `until`, at the end of the line or at a
 * comment. Blanks before and after the word are dropped; the word may be empty. */
static int read_word(struct reader *r, const char *until, struct word *w)
{
    skip_blanks(r);
    w->line = r->line;
    w->column = (uint32_t)(r->at - r->line_start) + 1;
    w->quoted = false;
    if (peek(r) == '"')
        return read_quoted(r, w);
    const char *start = r->at;
    while (r->at < r->end && *r->at != '\n' && *r->at != '#' &&
           (*r->at == '\0' || strchr(until, *r->at) == NULL))
        r->at++;
    const char *end = r->at;
    while (end > start && is_blank(end[-1]))
        end--;
    return keep(r, w, start, (size_t)(end - start));
}

/* Reads NAME or NAME=VALUE. *ret_valued is true if there is a value. If not, `value` is an empty
 * word at the position of the name, for error messages. */
static int read_pair(struct reader *r, const char *until, struct word *name, struct word *value,
                     bool *ret_valued)
{
    char both[8];
    snprintf(both, sizeof(both), "=%s", until);
    int status = read_word(r, both, name);
    *ret_valued = false;
    if (status != FAB_OK)
        return status;
    *value = (struct word){.line = name->line, .column = name->column};
    if (!take(r, '='))
        return FAB_OK;
    *ret_valued = true;
    return read_word(r, until, value);
}

/* Reads a number in C notation, such as 12, 0x1f or 017. Returns false if other characters follow,
 * or if the number exceeds `most`. */
static bool number(const char *s, uint64_t most, uint64_t *ret)
{
    unsigned base = s[0] != '0' ? 10 : s[1] == 'x' || s[1] == 'X' ? 16 : 8;
    s += base == 16 ? 2 : 0;
    return fab_base_digits_parse(s, strlen(s), base, most, ret);
}

/* Returns true if s is the key word `word` or an abbreviation of it. */
static bool is_short_for(const char *s, const char *word)
{
    return s[0] != '\0' && strncmp(s, word, strlen(s)) == 0;
}

/* ---- flags ----------------------------------------------------------------------------------- */

struct group_flag {
    const char *name;
    uint32_t least, most;
};
static const struct group_flag group_flags[] = {
    {"mtu", 1, 5}, {"rate", 2, 63},          {"scope", 1, 15},          {"Q_Key", 1, UINT32_MAX},
    {"sl", 0, 15}, {"TClass", 0, UINT8_MAX}, {"FlowLabel", 0, 0xfffff},
};

static void set_group_flag(struct flags *f, size_t which, uint32_t value)
{
    switch (which) {
    case 0:
        f->mtu = (uint8_t)value;
        break;
    case 1:
        f->rate = (uint8_t)value;
        break;
    case 2:
        f->scopes |= (uint16_t)(1u << value);
        break;
    case 3:
        f->q_key = value;
        break;
    case 4:
        f->sl = (uint8_t)value;
        break;
    case 5:
        f->tclass = (uint8_t)value;
        break;
    default:
        f->flow_label = value;
    }
}

/* Stores a flag of multicast groups, such as rate=7, in *f. Ignores an invalid value, and adds a
 * note. Returns false if groups have no flag `name`. */
static bool take_group_flag(struct reader *r, struct flags *f, const struct word *name,
                            const struct word *value)
{
    const size_t count = sizeof(group_flags) / sizeof(*group_flags);
    size_t i = 0;
    uint64_t n;
    while (i < count && !is_short_for(name->s, group_flags[i].name))
        i++;
    if (i == count)
        return false;
    if (number(value->s, group_flags[i].most, &n) && n >= group_flags[i].least)
        set_group_flag(f, i, (uint32_t)n);
    else
        note(r, name, "%s is \"%.40s\", expected %u to %u; ignored", group_flags[i].name, value->s,
             group_flags[i].least, group_flags[i].most);
    return true;
}

/* Reads a membership. As in OpenSM, an unknown membership means limited; a note reports it. */
static enum fab_membership membership(struct reader *r, const struct word *value)
{
    if (is_short_for(value->s, "full"))
        return FAB_MEMBER_FULL;
    if (is_short_for(value->s, "both"))
        return FAB_MEMBER_BOTH;
    if (!is_short_for(value->s, "limited"))
        note(r, value,
             "the membership is \"%.40s\", expected full, limited or both; limited is assumed",
             value->s);
    return FAB_MEMBER_LIMITED;
}

static void take_flag(struct reader *r, struct definition *d, const struct word *name,
                      const struct word *value)
{
    if (name->s[0] == '\0' || take_group_flag(r, &d->flags, name, value))
        return;
    if (is_short_for(name->s, "ipoib"))
        d->ipoib = true;
    else if (is_short_for(name->s, "defmember"))
        d->membership = membership(r, value);
    else if (strcmp(name->s, "indx0") == 0)
        d->index0 = true;
    else
        note(r, name, "the flag \"%.40s\" is unknown; ignored", name->s);
}

/* ---- the part before the colon --------------------------------------------------------------- */

/* Returns the P_Key of the partition with that name. If there is no such partition, returns the
 * lowest free P_Key, or 0 if none is free. */
static uint16_t find_pkey(struct reader *r, const char *name)
{
    for (size_t i = 0; name[0] != '\0' && i < r->p->partitions; i++)
        if (strcmp(r->p->partition[i].name, name) == 0)
            return r->p->partition[i].pkey;
    while (r->last_pkey < PKEY_LAST)
        if (fab_policy_partitions_find(r->p, ++r->last_pkey) == NULL)
            return r->last_pkey;
    return 0;
}

static int told_pkey(struct reader *r, struct definition *d, uint64_t *ret)
{
    if (d->id.s[0] == '\0' && d->name.s[0] >= '0' && d->name.s[0] <= '9') {
        d->id = d->name;
        d->name.s[0] = '\0';
    }
    *ret = 0;
    if (d->id.s[0] != '\0' && !number(d->id.s, UINT16_MAX, ret))
        return wrong(r, &d->id, "the P_Key is \"%.40s\", expected a number such as 0x8001",
                     d->id.s);
    *ret &= (uint16_t)~FAB_PKEY_FULL;
    return FAB_OK;
}

/* Finds the partition that is defined, which an earlier definition may have added. Adds the
 * partition if it is new. */
static int open_partition(struct reader *r, struct definition *d)
{
    uint64_t pkey;
    int status = told_pkey(r, d, &pkey);
    if (status == FAB_OK && pkey == 0 && (pkey = find_pkey(r, d->name.s)) == 0) {
        wrong(r, &d->name, "no P_Key is free for this partition");
        return FAB_E_LIMIT;
    }
    if (status != FAB_OK)
        return status;
    const struct fab_partition *known = fab_policy_partitions_find(r->p, (uint16_t)pkey);
    d->number = (uint32_t)(known != NULL ? (size_t)(known - r->p->partition) : r->p->partitions);
    if (known != NULL)
        return FAB_OK;
    struct fab_partition one = {
        .name = fab_base_arena_text(&r->p->arena, d->name.s, strlen(d->name.s)),
        .pkey = (uint16_t)pkey,
    };
    return one.name != NULL ? fab_policy_partitions_add(r->p, &one) : FAB_E_NOMEM;
}

/* Adds one multicast group for each scope among the flags; if there is none, one of scope
 * IPOIB_SCOPE. `mgid` is the MGID of the groups, except for the bits of the scope. If mgid is NULL,
 * the groups are broadcast groups of the partition. */
static int add_groups(struct reader *r, const struct definition *d, const struct flags *f,
                      const uint8_t *mgid)
{
    uint16_t scopes = f->scopes != 0 ? f->scopes : 1u << IPOIB_SCOPE;
    struct fab_partition_mgroup m = {
        .partition = d->number,
        .rate = f->rate,
        .mtu = f->mtu,
        .sl = f->sl,
        .tclass = f->tclass,
        .q_key = f->q_key,
        .flow_label = f->flow_label,
    };
    int status = FAB_OK;
    for (unsigned scope = 0; scope < 16 && status == FAB_OK; scope++) {
        if (!(scopes >> scope & 1))
            continue;
        m.scope = (uint8_t)scope;
        if (mgid != NULL) {
            memcpy(m.mgid, mgid, sizeof(m.mgid));
            m.mgid[1] = (uint8_t)((mgid[1] & 0xf0) | scope);
        }
        status = mgid != NULL ? fab_policy_partitions_add_mgroup(r->p, &m)
                              : fab_policy_partitions_add_broadcast(r->p, &m);
    }
    if (status == FAB_E_LIMIT)
        wrong(r, NULL, "more than %d multicast groups", FAB_PARTITION_MGROUPS_MAX);
    return status;
}

static int begin_partition(struct reader *r, struct definition *d)
{
    int status = open_partition(r, d);
    if (status != FAB_OK)
        return status;
    struct fab_partition *p = &r->p->partition[d->number];
    struct flags flags = d->flags;
    p->sl = flags.sl;
    if (d->ipoib || p->line == 0) {
        p->rate = flags.rate;
        p->mtu = flags.mtu;
    }
    if (p->line == 0)
        p->line = d->name.line;
    if (!d->ipoib)
        return FAB_OK;
    p->ipoib = true;
    if (flags.q_key == 0)
        flags.q_key = IPOIB_Q_KEY;
    return add_groups(r, d, &flags, NULL);
}

static int find_group(const struct reader *r, const char *name, uint32_t *ret)
{
    for (size_t i = 0; i < r->p->groups; i++)
        if (strcmp(r->p->group[i].name, name) == 0) {
            *ret = (uint32_t)i;
            return FAB_OK;
        }
    return FAB_E_NOT_FOUND;
}

static int begin_group(struct reader *r, struct definition *d)
{
    const char *name = d->name.s + 1;
    if (name[0] == '\0')
        return wrong(r, &d->name, "a port group without a name, expected @NAME");
    if (find_group(r, name, &d->number) == FAB_OK)
        return wrong(r, &d->name, "the port group \"%.40s\" is defined twice", name);
    struct fab_port_group g = {.name = fab_base_arena_text(&r->p->arena, name, strlen(name))};
    d->number = (uint32_t)r->p->groups;
    return g.name != NULL ? fab_policy_partitions_add_group(r->p, &g) : FAB_E_NOMEM;
}

static int read_head(struct reader *r, struct definition *d)
{
    struct word name, value;
    bool valued;
    *d = (struct definition){.flags = {.mtu = IPOIB_MTU, .rate = IPOIB_RATE},
                             .membership = FAB_MEMBER_LIMITED};
    int status = read_pair(r, ",:;", &d->name, &d->id, &valued);
    d->is_group = !d->name.quoted && d->name.s[0] == '@';
    while (status == FAB_OK && take(r, ',')) {
        status = read_pair(r, ",:;", &name, &value, &valued);
        if (status == FAB_OK)
            take_flag(r, d, &name, &value);
    }
    if (status == FAB_OK && !take(r, ':'))
        return wrong(r, NULL, "expected ':' and members, or ',' and another flag, on this line");
    if (status != FAB_OK)
        return status;
    return d->is_group ? begin_group(r, d) : begin_partition(r, d);
}

/* ---- members --------------------------------------------------------------------------------- */

static int select_key_word(const char *s, struct fab_port_selector *ret)
{
    const struct fab_member_word *words = fab_policy_member_words;
    for (size_t i = 0; i < FAB_MEMBER_WORDS; i++)
        if (is_short_for(s, words[i].word)) {
            ret->kind = words[i].kind;
            return FAB_OK;
        }
    return FAB_E_NOT_FOUND;
}

static int select_name(struct reader *r, const struct word *w, struct fab_port_selector *ret)
{
    ret->kind = FAB_SELECT_NAME;
    ret->name = fab_base_arena_text(&r->p->arena, w->s, strlen(w->s));
    return ret->name != NULL ? FAB_OK : FAB_E_NOMEM;
}

static int select_ports(struct reader *r, const struct definition *d, const struct word *w,
                        struct fab_port_selector *ret)
{
    *ret = (struct fab_port_selector){0};
    if (w->quoted)
        return select_name(r, w, ret);
    if (w->s[0] == '@') {
        ret->kind = FAB_SELECT_GROUP;
        if (d->is_group)
            return wrong(r, w, "a port group within a port group, expected ports");
        if (find_group(r, w->s + 1, &ret->group) != FAB_OK)
            return wrong(r, w, "the port group \"%.40s\" is not defined before this line",
                         w->s + 1);
        return FAB_OK;
    }
    if (select_key_word(w->s, ret) == FAB_OK)
        return FAB_OK;
    ret->kind = FAB_SELECT_GUID;
    if (!number(w->s, UINT64_MAX, &ret->guid) || ret->guid == 0)
        return wrong(r, w,
                     "the member is \"%.40s\", expected the GUID of a port, ALL, ALL_CAS, "
                     "ALL_SWITCHES, ALL_ROUTERS, SELF, \"PATTERN\" or @GROUP",
                     w->s);
    return FAB_OK;
}

static int add_member(struct reader *r, const struct definition *d, const struct word *name,
                      const struct word *value, bool valued)
{
    struct fab_partition_rule rule = {
        .partition = d->number, .membership = d->membership, .index0 = d->index0};
    if (!name->quoted && (name->s[0] == '\0' || is_short_for(name->s, "NONE")))
        return FAB_OK;
    int status = select_ports(r, d, name, &rule.who);
    if (status != FAB_OK)
        return status;
    if (d->is_group)
        return fab_policy_partitions_add_member(&r->p->group[d->number], &rule.who);
    if (valued)
        rule.membership = membership(r, value);
    return fab_policy_partitions_add_rule(r->p, &rule);
}

/* ---- multicast groups ------------------------------------------------------------------------ */

static bool is_ip(const uint8_t *mgid)
{
    return (mgid[2] == 0x40 || mgid[2] == 0x60) && mgid[3] == 0x1b;
}

/* Prepares a multicast group for IP over InfiniBand: writes the P_Key of the partition into mgid[],
 * and sets the Q_Key if the group has none. Adds a note and returns false if mgid[] has another
 * P_Key already, or if the rate or MTU of the group differs from that of the broadcast group (RFC
 * 4391, 5). In the MGID of a broadcast group, the P_Key 0xffff stands for that of the partition. */
static bool fit_ip(struct reader *r, const struct definition *d, const struct word *w,
                   struct flags *f, uint8_t *mgid)
{
    uint16_t pkey = r->p->partition[d->number].pkey | FAB_PKEY_FULL;
    uint16_t told = (uint16_t)(mgid[4] << 8 | mgid[5]);
    bool all = told == UINT16_MAX && memcmp(mgid + 6, "\0\0\0\0\0\0\xff\xff\xff\xff", 10) == 0;
    if (told != 0 && told != pkey && !all)
        note(r, w, "the group has P_Key 0x%04x, its partition 0x%04x; ignored", told, pkey);
    else if (f->rate != d->flags.rate || f->mtu != d->flags.mtu)
        note(r, w, "rate or mtu differ from those of the partition, %u and %u; ignored",
             d->flags.rate, d->flags.mtu);
    else {
        mgid[4] = (uint8_t)(pkey >> 8);
        mgid[5] = (uint8_t)pkey;
        if (f->q_key == 0)
            f->q_key = IPOIB_Q_KEY;
        return true;
    }
    return false;
}

/* Reads the flags of a multicast group: the rest of a line "mgid=GID, flags ..." after the GID. */
static int read_mgroup(struct reader *r, const struct definition *d, const struct word *gid)
{
    struct flags f = d->flags;
    struct word name, value;
    uint8_t mgid[16];
    bool valued;
    int status = FAB_OK;
    while (status == FAB_OK && take(r, ',')) {
        status = read_pair(r, ",;", &name, &value, &valued);
        if (status == FAB_OK && name.s[0] != '\0' && !take_group_flag(r, &f, &name, &value))
            note(r, &name, "the flag \"%.40s\" is unknown; ignored", name.s);
    }
    if (status != FAB_OK)
        return status;
    if (d->is_group)
        return wrong(r, gid, "a multicast group within a port group, expected ports");
    if (fab_policy_gid_parse(gid->s, mgid) != FAB_OK || mgid[0] != 0xff) {
        note(r, gid, "\"%.60s\" is no multicast GID; ignored", gid->s);
        return FAB_OK;
    }
    if (is_ip(mgid) && !fit_ip(r, d, gid, &f, mgid))
        return FAB_OK;
    return add_groups(r, d, &f, mgid);
}

/* Reads one member of a partition or port group, with the comma after it, or one multicast group
 * (mgid=...). */
static int read_property(struct reader *r, const struct definition *d)
{
    struct word name, value;
    bool valued;
    int status = read_pair(r, ",;", &name, &value, &valued);
    if (status != FAB_OK)
        return status;
    if (!name.quoted && strcmp(name.s, "mgid") == 0)
        return read_mgroup(r, d, &value);
    status = add_member(r, d, &name, &value, valued);
    if (status != FAB_OK || take(r, ','))
        return status;
    skip_blanks(r);
    if (r->at < r->end && *r->at != '\n' && *r->at != ';')
        return wrong(r, NULL, "expected ',' or ';'");
    return FAB_OK;
}

static int read_definition(struct reader *r)
{
    struct definition d;
    int status = read_head(r, &d);
    for (skip_space(r); status == FAB_OK && r->at < r->end && *r->at != ';'; skip_space(r))
        status = read_property(r, &d);
    if (status == FAB_OK && r->at < r->end)
        r->at++;
    return status;
}

int fab_policy_partitions_read(const char *text, size_t len, struct fab_partitions **ret,
                               struct fab_partitions_error *ret_error)
{
    struct reader r = {
        .at = text, .end = text + len, .line_start = text, .line = 1, .error = ret_error};
    if (len > FAB_PARTITIONS_TEXT_MAX) {
        wrong(&r, NULL, "%zu bytes, expected at most %u", len, FAB_PARTITIONS_TEXT_MAX);
        return FAB_E_LIMIT;
    }
    int status = fab_policy_partitions_new(FAB_MEMBER_LIMITED, &r.p);
    if (status != FAB_OK)
        return status;
    for (skip_space(&r); status == FAB_OK && r.at < r.end; skip_space(&r))
        status = read_definition(&r);
    if (status == FAB_OK)
        *ret = r.p;
    else
        fab_policy_partitions_unref(r.p);
    return status;
}
