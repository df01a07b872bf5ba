/* SPDX-License-Identifier: BSD-3-Clause */
#include "libfabmgr/policy/lines.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"

/* ---- partitions ------------------------------------------------------------------------------ */

static const char *membership_name(enum fab_membership m)
{
    return m == FAB_MEMBER_FULL ? "full" : m == FAB_MEMBER_BOTH ? "both" : "limited";
}

static void add_selector(const struct fab_partitions *p, const struct fab_port_selector *who,
                         struct fab_text *to)
{
    static const char *const words[] = {[FAB_SELECT_ALL] = "ALL",
                                        [FAB_SELECT_ADAPTERS] = "ALL_CAS",
                                        [FAB_SELECT_SWITCHES] = "ALL_SWITCHES",
                                        [FAB_SELECT_ROUTERS] = "ALL_ROUTERS",
                                        [FAB_SELECT_SELF] = "SELF"};
    if (who->kind == FAB_SELECT_GUID)
        fab_base_text_addf(to, "0x%016" PRIx64, who->guid);
    else if (who->kind == FAB_SELECT_NAME)
        fab_base_text_add(to, who->name);
    else if (who->kind == FAB_SELECT_GROUP)
        fab_base_text_addf(to, "@%s", p->group[who->group].name);
    else
        fab_base_text_add(to, words[who->kind]);
}

static void add_partition_name(const struct fab_partition *p, struct fab_text *to)
{
    if (p->name[0] != '\0')
        fab_base_text_addf(to, "partitions.%s", p->name);
    else
        fab_base_text_addf(to, "partitions.0x%x", p->pkey);
}

static void add_partitions(const struct fab_partitions *p, struct fab_text *to)
{
    for (size_t i = 0; i < p->groups; i++)
        for (size_t m = 0; m < p->group[i].count; m++) {
            fab_base_text_addf(to, "groups.%s.", p->group[i].name);
            add_selector(p, &p->group[i].member[m], to);
            fab_base_text_add(to, ": member\n");
        }
    for (size_t i = 0; i < p->partitions; i++) {
        const struct fab_partition *one = &p->partition[i];
        add_partition_name(one, to);
        fab_base_text_addf(to, ": pkey 0x%x%s, rate %u, mtu %u, sl %u\n", one->pkey,
                           one->ipoib ? ", ipoib" : "", one->rate, one->mtu, one->sl);
    }
    for (size_t i = 0; i < p->rules; i++) {
        const struct fab_partition_rule *rule = &p->rule[i];
        add_partition_name(&p->partition[rule->partition], to);
        fab_base_text_add(to, ".");
        add_selector(p, &rule->who, to);
        fab_base_text_addf(to, ": %s member%s\n", membership_name(rule->membership),
                           rule->index0 ? ", index 0" : "");
    }
    for (size_t i = 0; i < p->mgroups; i++) {
        add_partition_name(&p->partition[p->mgroup[i].partition], to);
        fab_base_text_add(to, ".group-");
        for (int b = 0; b < 16; b += 2)
            fab_base_text_addf(to, "%s%x", b > 0 ? ":" : "",
                               p->mgroup[i].mgid[b] << 8 | p->mgroup[i].mgid[b + 1]);
        fab_base_text_addf(to, ": multicast group, rate %u, mtu %u, sl %u\n", p->mgroup[i].rate,
                           p->mgroup[i].mtu, p->mgroup[i].sl);
    }
}

/* ---- classes --------------------------------------------------------------------------------- */

static void add_ends(const struct fab_classes *c, const char *key, uint64_t groups,
                     struct fab_text *to)
{
    const char *before = key;
    for (size_t i = 0; i < c->groups; i++)
        if (groups >> i & 1) {
            fab_base_text_addf(to, "%s%s", before, c->group[i].name);
            before = ",";
        }
}

static void add_ranges(const char *key, const struct fab_ranges *r, struct fab_text *to)
{
    for (size_t i = 0; i < r->count; i++)
        fab_base_text_addf(to, "%s0x%" PRIx64 "-0x%" PRIx64, i == 0 ? key : ",", r->range[i].first,
                           r->range[i].last);
}

static void add_tables(const struct fab_classes *c, struct fab_text *to)
{
    if (c->has_map) {
        fab_base_text_add(to, "classes.sl2vl:");
        for (int i = 0; i < 16; i++)
            fab_base_text_addf(to, " %u", c->map[i]);
        fab_base_text_add(to, "\n");
    }
    if (c->highs + c->lows > 0)
        fab_base_text_addf(to, "classes.vlarb: %u entries high, %u entries low\n", c->highs,
                           c->lows);
    if (c->has_limit)
        fab_base_text_addf(to, "classes.high_limit: %u\n", c->limit);
}

static void add_classes(const struct fab_classes *c, struct fab_text *to)
{
    for (uint8_t i = 0; i < c->count; i++) {
        const struct fab_class *k = &c->class[i];
        fab_base_text_addf(to, "classes.%s: share %u, priority %s", k->name, k->share,
                           k->high ? "high" : "low");
        if (k->sl != FAB_CLASS_NO_SL)
            fab_base_text_addf(to, ", sl %u", k->sl);
        if (k->rate_mbps != 0)
            fab_base_text_addf(to, ", rate_limit %" PRIu32, k->rate_mbps / 1000);
        if (k->mtu != 0)
            fab_base_text_addf(to, ", mtu_limit %u", 128u << k->mtu);
        fab_base_text_add(to, "\n");
    }
    for (size_t i = 0; i < c->rules; i++) {
        const struct fab_class_rule *r = &c->rule[i];
        fab_base_text_addf(to, "classes.%s.match-%zu:", c->class[r->class].name, i + 1);
        add_ends(c, " from=", r->from, to);
        add_ends(c, " to=", r->to, to);
        add_ends(c, " either=", r->either, to);
        add_ranges(" service=", &r->service, to);
        add_ranges(" qos_class=", &r->qos_class, to);
        add_ranges(" pkey=", &r->pkey, to);
        fab_base_text_add(to, "\n");
    }
    add_tables(c, to);
}

/* ---- congestion ------------------------------------------------------------------------------ */

static void add_congestion(const struct fab_policy_congestion *c, struct fab_text *to)
{
    fab_base_text_addf(to, "congestion.apply: %s\ncongestion.profile: %s\n",
                       c->apply ? "yes" : "no", fab_policy_congestion_profile_name(c->profile));
    fab_base_text_addf(to,
                       "congestion.fan_in: %" PRIu32 "\ncongestion.hop_ns: %" PRIu32
                       "\ncongestion.adapter_ns: %" PRIu32 "\ncongestion.cable_m: %" PRIu32
                       "\ncongestion.queue_kb: %" PRIu32 "\n",
                       c->fan_in, c->hop_ns, c->adapter_ns, c->cable_m, c->queue_kb);
    for (int i = 0; i < FAB_CONGESTION_VALUES; i++)
        if (c->value[i] != FAB_CONGESTION_AUTO)
            fab_base_text_addf(to, "congestion.%s: %" PRId32 "\n",
                               fab_policy_congestion_domains[i].name, c->value[i]);
    for (unsigned i = 0; i < c->table_count; i++)
        fab_base_text_addf(to, "congestion.table[%u]: 0x%04x\n", i, c->table[i]);
}

/* ---- all ------------------------------------------------------------------------------------- */

void fab_policy_lines(const struct fab_policy *p, struct fab_text *to)
{
    if (p->partitions != NULL)
        add_partitions(p->partitions, to);
    if (p->classes != NULL)
        add_classes(p->classes, to);
    add_congestion(&p->congestion, to);
    for (size_t i = 0; i < fab_policy_node_names_count(p->node_names); i++) {
        uint64_t guid;
        const char *name = fab_policy_node_names_at(p->node_names, i, &guid);
        fab_base_text_addf(to, "names.0x%016" PRIx64 ": %s\n", guid, name);
    }
}

void fab_policy_lines_decisions(const struct fab_declared *d, struct fab_text *to)
{
    for (size_t i = 0; i < d->isolations; i++)
        fab_base_text_addf(to, "isolation.%s: isolated%s%s\n", d->isolation[i].link,
                           d->isolation[i].reason[0] != '\0' ? ", " : "", d->isolation[i].reason);
    for (size_t i = 0; i < d->approvals; i++) {
        const struct fab_declared_approval *a = &d->approval[i];
        fab_base_text_addf(to, "approvals.0x%016" PRIx64 "/%u: at %s, port GUID 0x%016" PRIx64 "\n",
                           a->node_guid, a->port, a->at, a->port_guid);
    }
}

/* ---- comparing ------------------------------------------------------------------------------- */

struct lines {
    /* text: a copy of the policy in lines. line: [count] pointers to the lines in this copy,
     * sorted; in each line, a NUL ends the path */
    char *text, **line;
    size_t count;
};

static int compare_lines(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    int order = strcmp(x, y);
    return order != 0 ? order : strcmp(x + strlen(x) + 1, y + strlen(y) + 1);
}

static void lines_fini(struct lines *l)
{
    free(l->text);
    free(l->line);
}

/* Splits a copy of the text into lines of the form "PATH: VALUE", and each line into two strings.
 * The value begins directly after the NUL of the path. Ignores lines of another form. */
static int lines_init(const char *text, struct lines *ret)
{
    struct lines l = {.text = strdup(text)};
    size_t room = 1;
    for (const char *s = text; *s != '\0'; s++)
        room += *s == '\n';
    l.line = calloc(room, sizeof(*l.line));
    if (l.text == NULL || l.line == NULL) {
        lines_fini(&l);
        return FAB_E_NOMEM;
    }
    char *rest = l.text;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        char *colon = strstr(line, ": ");
        if (colon == NULL)
            continue;
        *colon = '\0';
        /* moves the value to the byte after the NUL of the path */
        memmove(colon + 1, colon + 2, strlen(colon + 2) + 1);
        l.line[l.count++] = line;
    }
    qsort(l.line, l.count, sizeof(*l.line), compare_lines);
    *ret = l;
    return FAB_OK;
}

static const char *value_of(const char *line)
{
    return line + strlen(line) + 1;
}

/* Compares line *i of `a` with line *j of `b`. If their paths are equal, passes a change of the
 * value to `fn` and increments *i and *j. Otherwise the lower of the two paths is in one of the
 * texts only: passes this path to `fn` and increments the index of its line. */
static void compare_path(const struct lines *a, const struct lines *b, size_t *i, size_t *j,
                         fab_policy_change_fn *fn, void *ctx)
{
    const char *x = *i < a->count ? a->line[*i] : NULL, *y = *j < b->count ? b->line[*j] : NULL;
    int order = x == NULL ? 1 : y == NULL ? -1 : strcmp(x, y);
    struct fab_policy_change c = {.path = order <= 0 ? x : y,
                                  .before = order <= 0 ? value_of(x) : NULL,
                                  .after = order >= 0 ? value_of(y) : NULL};
    if (c.before == NULL || c.after == NULL || strcmp(c.before, c.after) != 0)
        fn(ctx, &c);
    *i += order <= 0;
    *j += order >= 0;
}

int fab_policy_lines_compare(const char *before, const char *after, fab_policy_change_fn *fn,
                             void *ctx)
{
    struct lines a = {0}, b = {0};
    int rc = lines_init(before, &a);
    if (rc == FAB_OK)
        rc = lines_init(after, &b);
    for (size_t i = 0, j = 0; rc == FAB_OK && (i < a.count || j < b.count);)
        compare_path(&a, &b, &i, &j, fn, ctx);
    lines_fini(&a);
    lines_fini(&b);
    return rc;
}
