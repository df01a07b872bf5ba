/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads OpenSM's qos-policy.conf. A section begins with a key word and ends with "end-" and the
 * same word. Its lines have the form "key: value". # begins a comment.
 *
 *     port-groups        groups of ports: port-guid, port-name, pkey, partition, node-type
 *     qos-setup          ignored, as OpenSM does
 *     qos-levels         become classes: sl, mtu-limit, rate-limit, packet-life, pkey
 *     qos-match-rules    source, destination, service-id, qos-class, pkey -> qos-level-name
 *     qos-ulps           lines like "iser : 3" (ULP : SL) or "iser, port-num 900 : 3" (ULP, kind of
 *                        number and its values : SL)
 *
 * The lines of qos-ulps become rules, too. All rules keep the order that they have in the text.
 *
 * A level named DEFAULT with SL 0 is fabricd's class "default". If it has another SL, it becomes a
 * separate class, for the paths that no rule matches.
 *
 * Rules may refer to groups and levels that are defined later in the text. So the text is read
 * twice: first for groups and levels, then for rules. The service IDs of upper layer protocols
 * (ULPs) are those of OpenSM's documentation (doc/QoS_management_in_OpenSM.txt).
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/policy/classes_make.h"

#define WORD_MOST 255
#define SERVICE_SDP UINT64_C(0x10000)
/* Service ID of TCP port 0 in the range of protocols over TCP, such as RDS and iSER; the low 16
 * bits are the TCP port. */
#define SERVICE_TCP UINT64_C(0x1060000)
/* bitset with bit 1 << type for each node type of enum fab_node_type */
#define TYPES_ALL 0xe

enum place { TOP, GROUPS, GROUP, SETUP, LEVELS, LEVEL, RULES, RULE, ULPS, PLACES };
static const struct {
    const char *name;
    enum place within;
} places[PLACES] = {
    [GROUPS] = {"port-groups", TOP},    [GROUP] = {"port-group", GROUPS},
    [SETUP] = {"qos-setup", TOP},       [LEVELS] = {"qos-levels", TOP},
    [LEVEL] = {"qos-level", LEVELS},    [RULES] = {"qos-match-rules", TOP},
    [RULE] = {"qos-match-rule", RULES}, [ULPS] = {"qos-ulps", TOP},
};
struct reader {
    struct fab_classes *c;
    struct fab_classes_error *error;
    uint32_t line;
    /* true: the reader makes its second pass over the text, which stores the rules; false: the
     * first pass, which stores groups and levels */
    bool rules;
    enum place place;
    char name[WORD_MOST + 1];
    struct fab_class class;
    uint32_t group; /* index in fab_classes.group of the port group that is being read */
    struct fab_class_rule rule;
    bool has_level; /* the rule that is being read has a qos-level-name */
    /* number of the class that a level DEFAULT or a line "default" of qos-ulps made for the paths
     * that no rule matches; -1: class 0 is for these paths */
    int other;
};

__attribute__((format(printf, 2, 3))) static int wrong(struct reader *r, const char *fmt, ...)
{
    va_list args;
    r->error->line = r->line;
    va_start(args, fmt);
    vsnprintf(r->error->message, sizeof(r->error->message), fmt, args);
    va_end(args);
    return FAB_E_FORMAT;
}

static int note(struct reader *r, const char *what)
{
    if (r->c->notes++ < FAB_CLASS_NOTES) {
        struct fab_class_note *n = &r->c->note[r->c->notes - 1];
        n->line = r->line;
        snprintf(n->message, sizeof(n->message), "'%.60s' is unknown and ignored", what);
    }
    return FAB_OK;
}

static int number(struct reader *r, const char *value, uint64_t most, uint64_t *ret)
{
    if (fab_policy_classes_read_number(value, strlen(value), ret) && *ret <= most)
        return FAB_OK;
    return wrong(r, "'%.60s', expected a number up to %llu", value, (unsigned long long)most);
}

static int ranges(struct reader *r, const char *value, uint64_t most, uint64_t offset,
                  struct fab_ranges *ret)
{
    int status = fab_policy_classes_read_ranges(value, strlen(value), most, offset, ret);
    return status == FAB_E_FORMAT ? wrong(r, "'%.60s', expected numbers and ranges", value)
                                  : status;
}

static bool is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

/* ---- groups ---------------------------------------------------------------------------------- */

static int add_member(struct reader *r, const struct fab_class_member *m)
{
    return fab_policy_classes_add_member(&r->c->group[r->group], m);
}

static int add_spans(struct reader *r, const char *value, enum fab_class_member_kind kind)
{
    struct fab_ranges found = {0};
    int status = ranges(r, value, UINT64_MAX, 0, &found);
    for (size_t i = 0; status == FAB_OK && i < found.count; i++)
        status = add_member(r, &(struct fab_class_member){.kind = kind,
                                                          .first = found.range[i].first,
                                                          .last = found.range[i].last});
    fab_policy_classes_rule_fini(&(struct fab_class_rule){.service = found});
    return status;
}

/* Adds a member to the group: a port given as "description/P1", or all ports of a node given as
 * "description". */
static int add_node(struct reader *r, char *word)
{
    char *slash = strrchr(word, '/');
    uint64_t port = 0;
    if (slash != NULL && (slash[1] | 0x20) == 'p') {
        if (number(r, slash + 2, 254, &port) != FAB_OK)
            return FAB_E_FORMAT;
        *slash = '\0';
    }
    const char *name = fab_base_arena_text(&r->c->arena, word, strlen(word));
    if (name == NULL)
        return FAB_E_NOMEM;
    return add_member(r, &(struct fab_class_member){
                             .kind = FAB_CLASS_NODES, .name = name, .port = (uint8_t)port});
}

static int add_partition(struct reader *r, char *word)
{
    const char *name = fab_base_arena_text(&r->c->arena, word, strlen(word));
    return name == NULL ? FAB_E_NOMEM
                        : add_member(r, &(struct fab_class_member){.kind = FAB_CLASS_PARTITION,
                                                                   .name = name});
}

static int add_type(struct reader *r, char *word)
{
    static const struct {
        const char *name;
        unsigned types;
    } types[] = {{"ALL", TYPES_ALL}, {"CA", 1u << 1}, {"SWITCH", 1u << 2}, {"ROUTER", 1u << 3}};
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
        if (strcasecmp(word, types[i].name) == 0)
            return add_member(
                r, &(struct fab_class_member){.kind = FAB_CLASS_TYPES, .first = types[i].types});
    if (strcasecmp(word, "SELF") == 0)
        return add_member(r, &(struct fab_class_member){.kind = FAB_CLASS_SELF});
    return wrong(r, "node-type '%.60s', expected CA, SWITCH, ROUTER, ALL or SELF", word);
}

/* Calls `add` for each word of the comma-separated list `value`. Stops at the first error and
 * returns it. */
static int each(struct reader *r, char *value, int (*add)(struct reader *r, char *word))
{
    int status = FAB_OK;
    for (char *at = value, *end; status == FAB_OK && at != NULL; at = end) {
        end = strchr(at, ',');
        if (end != NULL)
            *end++ = '\0';
        at += strspn(at, " \t");
        size_t len = strlen(at);
        while (len > 0 && (at[len - 1] == ' ' || at[len - 1] == '\t'))
            at[--len] = '\0';
        if (len > 0)
            status = add(r, at);
    }
    return status;
}

static int name_group(struct reader *r, const char *value)
{
    struct fab_class_group *g = &r->c->group[r->group];
    g->name = fab_base_arena_text(&r->c->arena, value, strlen(value));
    return g->name != NULL ? FAB_OK : FAB_E_NOMEM;
}

static int group_line(struct reader *r, const char *key, char *value)
{
    if (is(key, "use"))
        return FAB_OK;
    if (is(key, "name"))
        return name_group(r, value);
    if (is(key, "port-guid"))
        return add_spans(r, value, FAB_CLASS_GUIDS);
    if (is(key, "pkey"))
        return add_spans(r, value, FAB_CLASS_PKEYS);
    if (is(key, "port-name"))
        return each(r, value, add_node);
    if (is(key, "partition"))
        return each(r, value, add_partition);
    return is(key, "node-type") ? each(r, value, add_type) : note(r, key);
}

/* ---- levels ---------------------------------------------------------------------------------- */

static int level_line(struct reader *r, const char *key, const char *value)
{
    const struct {
        const char *key;
        uint64_t most;
        uint8_t *to;
    } small[] = {{"sl", 15, &r->class.sl},
                 {"mtu-limit", 5, &r->class.mtu},
                 {"rate-limit", 63, &r->class.rate},
                 {"packet-life", 63, &r->class.life}};
    uint64_t n;
    if (is(key, "name")) {
        snprintf(r->name, sizeof(r->name), "%s", value);
        return FAB_OK;
    }
    for (size_t i = 0; i < sizeof(small) / sizeof(*small); i++) {
        if (!is(key, small[i].key))
            continue;
        int status = number(r, value, small[i].most, &n);
        if (status == FAB_OK)
            *small[i].to = (uint8_t)n;
        r->class.has_life |= is(key, "packet-life");
        return status;
    }
    if (is(key, "pkey")) {
        int status = number(r, value, 0xffff, &n);
        r->class.pkey = status == FAB_OK ? (uint16_t)(n & 0x7fff) : 0;
        return status;
    }
    return is(key, "use") ? FAB_OK : note(r, key);
}

static int add_class(struct reader *r, const struct fab_class *class, uint8_t *ret)
{
    int status = fab_policy_classes_add(r->c, class, ret, r->error);
    r->error->line = r->line;
    return status == FAB_OK || status == FAB_E_NOMEM ? status : FAB_E_FORMAT;
}

static bool is_default_name(const char *name)
{
    return strcasecmp(name, "default") == 0;
}

static int end_level(struct reader *r)
{
    uint8_t number;
    if (r->name[0] == '\0')
        return wrong(r, "a qos-level without a name");
    if (r->class.sl == FAB_CLASS_NO_SL)
        r->class.sl = 0;
    r->class.name = r->name;
    bool other = is_default_name(r->name) && r->class.sl != 0;
    if (is_default_name(r->name))
        r->class.name = other ? "DEFAULT" : "default";
    int status = add_class(r, &r->class, &number);
    if (status == FAB_OK && other)
        r->other = number;
    return status;
}

/* ---- rules ----------------------------------------------------------------------------------- */

static int take_group(struct reader *r, const char *name, uint64_t *mask)
{
    for (size_t i = 0; i < r->c->groups; i++)
        if (is(r->c->group[i].name, name)) {
            *mask |= UINT64_C(1) << i;
            return FAB_OK;
        }
    return wrong(r, "port group '%.60s' is not defined", name);
}

static int take_level(struct reader *r, const char *name)
{
    int class = fab_policy_classes_find(r->c, name);
    if (class < 0 && is_default_name(name))
        class = r->other > 0 ? r->other : 0;
    if (class < 0)
        return wrong(r, "qos-level '%.60s' is not defined", name);
    r->rule.class = (uint8_t) class;
    r->has_level = true;
    return FAB_OK;
}

static int rule_line(struct reader *r, const char *key, const char *value)
{
    if (is(key, "use"))
        return FAB_OK;
    if (is(key, "source"))
        return take_group(r, value, &r->rule.from);
    if (is(key, "destination"))
        return take_group(r, value, &r->rule.to);
    if (is(key, "service-id"))
        return ranges(r, value, UINT64_MAX, 0, &r->rule.service);
    if (is(key, "qos-class"))
        return ranges(r, value, 0xffff, 0, &r->rule.qos_class);
    if (is(key, "pkey"))
        return ranges(r, value, 0xffff, 0, &r->rule.pkey);
    return is(key, "qos-level-name") ? take_level(r, value) : note(r, key);
}

static int append(struct reader *r)
{
    int status = fab_policy_classes_append_rule(r->c, &r->rule);
    if (status == FAB_OK)
        r->rule = (struct fab_class_rule){0};
    return status == FAB_E_LIMIT ? wrong(r, "more than %d rules", FAB_CLASS_RULES_MAX) : status;
}

static int end_rule(struct reader *r)
{
    return r->has_level ? append(r) : wrong(r, "a qos-match-rule without a qos-level-name");
}

/* ---- upper layer protocols ------------------------------------------------------------------- */

/* Finds the class for a line of qos-ulps, which assigns `sl` to an upper layer protocol. For SL 0,
 * it is class 0. For any other SL, it is the first class that has this SL, and that sets no limits
 * and no P_Key; if there is none, adds such a class. */
static int class_of_sl(struct reader *r, uint8_t sl, uint8_t *ret)
{
    char name[16];
    for (uint8_t i = 0; i < r->c->count; i++) {
        const struct fab_class *k = &r->c->class[i];
        bool plain =
            k->mtu == 0 && k->rate == 0 && k->rate_mbps == 0 && !k->has_life && k->pkey == 0;
        if ((i == 0 && sl == 0) || (i > 0 && plain && k->sl == sl)) {
            *ret = i;
            return FAB_OK;
        }
    }
    snprintf(name, sizeof(name), "sl-%u", sl);
    return add_class(r, &(struct fab_class){.name = name, .sl = sl}, ret);
}

/* Adds a port group with the GUIDs that the text `value` lists, and sets the bit of this group in
 * *mask. */
static int guids(struct reader *r, const char *value, uint64_t *mask)
{
    int status = fab_policy_classes_add_group(r->c, value, strlen(value), &r->group);
    if (status == FAB_E_LIMIT)
        return wrong(r, "more than %d port groups", FAB_CLASS_GROUPS_MAX);
    if (status == FAB_OK)
        status = add_spans(r, value, FAB_CLASS_GUIDS);
    if (status == FAB_OK)
        *mask |= UINT64_C(1) << r->group;
    return status;
}

static int plain_ulp(struct reader *r, const char *ulp)
{
    struct fab_class_rule *rule = &r->rule;
    if (is(ulp, "sdp"))
        return fab_policy_classes_add_range(&rule->service,
                                            (struct fab_range){SERVICE_SDP, SERVICE_SDP + 0xffff});
    if (is(ulp, "rds"))
        return ranges(r, "0x48ca", 0xffff, SERVICE_TCP, &rule->service);
    if (is(ulp, "iser"))
        return ranges(r, "0x0cbc", 0xffff, SERVICE_TCP, &rule->service);
    if (is(ulp, "ipoib"))
        return ranges(r, "0x7fff", 0xffff, 0, &rule->pkey);
    return wrong(
        r, "'%.60s' selects no paths, expected sdp, rds, iser, ipoib, or a ULP with numbers", ulp);
}

static int narrow_ulp(struct reader *r, const char *ulp, const char *what, const char *value)
{
    struct fab_class_rule *rule = &r->rule;
    if (is(what, "port-num") && (is(ulp, "sdp") || is(ulp, "rds") || is(ulp, "iser")))
        return ranges(r, value, 0xffff, is(ulp, "sdp") ? SERVICE_SDP : SERVICE_TCP, &rule->service);
    if (is(what, "service-id"))
        return ranges(r, value, UINT64_MAX, 0, &rule->service);
    if (is(what, "pkey"))
        return ranges(r, value, 0xffff, 0, &rule->pkey);
    if (is(what, "target-port-guid"))
        return guids(r, value, &rule->to);
    if (is(what, "source-port-guid"))
        return guids(r, value, &rule->from);
    if (is(what, "source-target-port-guid"))
        return guids(r, value, &rule->either);
    return wrong(
        r,
        "'%.40s, %.40s' is unknown, expected port-num, service-id, pkey, target-port-guid, "
        "source-port-guid or source-target-port-guid",
        ulp, what);
}

/* Reads a line like "iser, port-num 900 : 3". ulp: the text before the colon. value: the SL, after
 * the colon. */
static int ulp_line(struct reader *r, char *ulp, const char *value)
{
    char *what = strchr(ulp, ','), *of = NULL;
    uint64_t sl;
    int status = number(r, value, 15, &sl);
    if (status == FAB_OK)
        status = class_of_sl(r, (uint8_t)sl, &r->rule.class);
    if (status != FAB_OK)
        return status;
    if (is_default_name(ulp)) {
        r->other = r->other < 0 && sl != 0 ? r->rule.class : r->other;
        return FAB_OK;
    }
    if (what != NULL) {
        *what++ = '\0';
        ulp[strcspn(ulp, " \t")] = '\0';
        what += strspn(what, " \t");
        of = what + strcspn(what, " \t");
        if (*of != '\0')
            *of++ = '\0';
        status = narrow_ulp(r, ulp, what, of + strspn(of, " \t"));
    } else {
        status = plain_ulp(r, ulp);
    }
    return status == FAB_OK ? append(r) : status;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static int begin(struct reader *r, enum place place)
{
    r->place = place;
    r->name[0] = '\0';
    r->class = (struct fab_class){.sl = FAB_CLASS_NO_SL};
    fab_policy_classes_rule_fini(&r->rule);
    r->rule = (struct fab_class_rule){0};
    r->has_level = false;
    if (place != GROUP || r->rules)
        return FAB_OK;
    int status = fab_policy_classes_add_group(r->c, "", 0, &r->group);
    return status == FAB_E_LIMIT ? wrong(r, "more than %d port groups", FAB_CLASS_GROUPS_MAX)
                                 : status;
}

static int end(struct reader *r)
{
    enum place was = r->place;
    r->place = places[was].within;
    if (was == LEVEL && !r->rules)
        return end_level(r);
    return was == RULE && r->rules ? end_rule(r) : FAB_OK;
}

/* Handles a line that begins or ends a section, and writes the status to *ret_status. Returns false
 * if the line is of another kind. */
static bool is_section(struct reader *r, const char *line, int *ret_status)
{
    for (enum place p = GROUPS; p < PLACES; p++) {
        if (is(line, places[p].name) && places[p].within == r->place) {
            *ret_status = begin(r, p);
            return true;
        }
        if (p == r->place && strncmp(line, "end-", 4) == 0 && is(line + 4, places[p].name)) {
            *ret_status = end(r);
            return true;
        }
    }
    return false;
}

static int take_pair(struct reader *r, char *key, char *value)
{
    if (r->place == GROUP)
        return r->rules ? FAB_OK : group_line(r, key, value);
    if (r->place == LEVEL)
        return r->rules ? FAB_OK : level_line(r, key, value);
    if (r->place == RULE)
        return r->rules ? rule_line(r, key, value) : FAB_OK;
    return r->place == ULPS && r->rules ? ulp_line(r, key, value) : FAB_OK;
}

static char *trimmed(char *s)
{
    s += strspn(s, " \t\r");
    size_t len = strlen(s);
    while (len > 0 && strchr(" \t\r", s[len - 1]) != NULL)
        s[--len] = '\0';
    return s;
}

static int take_line(struct reader *r, char *line)
{
    int status = FAB_OK;
    line[strcspn(line, "#")] = '\0';
    line = trimmed(line);
    if (*line == '\0' || is_section(r, line, &status) || r->place == SETUP)
        return status;
    char *colon = strchr(line, ':');
    if (colon == NULL || r->place == TOP || r->place == GROUPS || r->place == LEVELS ||
        r->place == RULES)
        return wrong(r, "'%.60s', expected %s", line,
                     r->place == TOP ? "port-groups, qos-setup, qos-levels, qos-match-rules or "
                                       "qos-ulps"
                                     : "a section, KEY: VALUE in one, or its end");
    *colon = '\0';
    return take_pair(r, trimmed(line), trimmed(colon + 1));
}

/* Reads the whole text once. The first pass (rules == false) stores groups and levels, the second
 * pass (rules == true) stores rules. */
static int pass(struct reader *r, const char *text, size_t len, bool rules)
{
    const char *end_of_text = text + len;
    char line[4096];
    int status = FAB_OK;
    r->rules = rules;
    r->place = TOP;
    for (r->line = 1; status == FAB_OK && text < end_of_text; r->line++) {
        const char *stop = memchr(text, '\n', (size_t)(end_of_text - text));
        size_t size = (size_t)((stop != NULL ? stop : end_of_text) - text);
        if (size >= sizeof(line) || memchr(text, '\0', size) != NULL)
            return wrong(
                r, "a line of %zu bytes, or with a zero byte, expected text of less than %zu bytes",
                size, sizeof(line));
        memcpy(line, text, size);
        line[size] = '\0';
        status = take_line(r, line);
        text += size + (stop != NULL);
        if (status != FAB_OK || stop == NULL)
            break;
    }
    if (status == FAB_OK && r->place != TOP)
        return wrong(r, "the text ends within %s", places[r->place].name);
    return status;
}

int fab_policy_classes_read(struct fab_classes *c, const char *text, size_t len,
                            struct fab_classes_error *ret_error)
{
    struct reader r = {.c = c, .error = ret_error, .other = -1};
    if (len > FAB_CLASSES_TEXT_MAX)
        return wrong(&r, "more than %u bytes", FAB_CLASSES_TEXT_MAX) < 0 ? FAB_E_LIMIT : 0;
    int status = pass(&r, text, len, false);
    if (status == FAB_OK)
        status = pass(&r, text, len, true);
    if (status == FAB_OK && r.other > 0) {
        r.rule = (struct fab_class_rule){.class = (uint8_t)r.other};
        status = append(&r);
    }
    fab_policy_classes_rule_fini(&r.rule);
    return status;
}
