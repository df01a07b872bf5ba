/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands `fabricctl class list` and `class show`.
 */
#include <stdio.h>

#include "cli/ctl/list.h"
#include "cli/ctl/show.h"
#include "fabric/v1/class.pb-c.h"

#define NUMBERS_LEN 64

static const struct out_column columns[] = {
    {"name", "NAME", false},
    {"share", "SHARE", true},
    {"guaranteed", "GUARANTEED", true},
    {"priority", "PRIO", false},
    {"sls", "SL", false},
    {"vls", "VL", false},
    {"rate", "RATE", true},
    {"mtu", "MTU", true},
    {"rules", "RULES", true},
    {"with", "SHARES LANES WITH", false},
};

static void say_numbers(struct out *o, const char *key, const char *title, size_t count,
                        const uint32_t *number)
{
    char text[NUMBERS_LEN] = "";
    size_t used = 0;
    for (size_t i = 0; i < count && used < sizeof text; i++)
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s%u", i > 0 ? "," : "", number[i]);
    out_text(o, key, title, OUT_PLAIN, text);
}

static void say_limit(struct out *o, const char *key, const char *title, uint32_t value,
                      const char *shown)
{
    out_number(o, key, NULL, OUT_PLAIN, value);
    out_text(o, NULL, title, OUT_PLAIN, value != 0 ? shown : "");
}

static void say_shares(struct out *o, const Fabric__V1__TrafficClass *c)
{
    char share[16], has[16];
    bool less = c->share * 10 > c->guaranteed_permille + 10;
    snprintf(share, sizeof share, "%u %%", c->share);
    snprintf(has, sizeof has, "%u.%u %%", c->guaranteed_permille / 10, c->guaranteed_permille % 10);
    out_number(o, "share_percent", NULL, OUT_PLAIN, c->share);
    out_text(o, NULL, "SHARE", OUT_PLAIN, c->share != 0 ? share : "rest");
    out_number(o, "guaranteed_permille", NULL, OUT_PLAIN, c->guaranteed_permille);
    out_text(o, NULL, "GUARANTEED", less ? OUT_WARN : OUT_PLAIN, has);
}

static void say_row(struct out *o, const void *item)
{
    const Fabric__V1__TrafficClass *c = item;
    char rate[16], mtu[16], with[256] = "";
    size_t used = 0;
    snprintf(rate, sizeof rate, "%u Gb/s", c->rate_limit_mbps / 1000);
    snprintf(mtu, sizeof mtu, "%u", c->mtu_limit);
    for (size_t i = 0; i < c->n_shares_with && used < sizeof with; i++)
        used += (size_t)snprintf(with + used, sizeof with - used, "%s%s", i > 0 ? ", " : "",
                                 c->shares_with[i]);
    out_row(o);
    out_text(o, "name", "NAME", OUT_PLAIN, c->name);
    say_shares(o, c);
    out_text(o, "priority", "PRIO", OUT_PLAIN, c->high_priority ? "high" : "low");
    say_numbers(o, "service_levels", "SL", c->n_service_levels, c->service_levels);
    say_numbers(o, "virtual_lanes", "VL", c->n_virtual_lanes, c->virtual_lanes);
    say_limit(o, "rate_limit_mbps", "RATE", c->rate_limit_mbps, rate);
    say_limit(o, "mtu_limit", "MTU", c->mtu_limit, mtu);
    out_number(o, "rules", "RULES", OUT_PLAIN, c->rules);
    out_text(o, "shares_with", "SHARES LANES WITH", OUT_WARN, with);
    out_row_end(o);
}

static int list(struct session *s)
{
    static const struct list classes = {
        .method = "ListClasses",
        .reply = &fabric__v1__list_classes_response__descriptor,
        .items = "classes",
        .columns = columns,
        .column_count = sizeof columns / sizeof columns[0],
        .say_row = say_row,
        .none = "There are no traffic classes.",
    };
    Fabric__V1__ListClassesRequest q = FABRIC__V1__LIST_CLASSES_REQUEST__INIT;
    return say_list(s, &classes, &q.base);
}

static const struct out_column rule_columns[] = {
    {"rule", "RULE", true},
    {"from", "FROM", false},
    {"to", "TO", false},
    {"either", "EITHER", false},
    {"service", "SERVICE ID", false},
    {"qos_class", "QOS CLASS", false},
    {"pkey", "P_KEY", false},
};

static void say_rule(struct out *o, const void *item)
{
    const Fabric__V1__ClassRule *r = item;
    out_row(o);
    out_number(o, "rule", "RULE", OUT_PLAIN, r->number);
    out_text(o, "from", "FROM", OUT_PLAIN, r->source);
    out_text(o, "to", "TO", OUT_PLAIN, r->destination);
    out_fields(o, &r->base, "either", "EITHER", "service_ids", "SERVICE ID", "qos_classes",
               "QOS CLASS", "pkeys", "P_KEY", NULL);
    out_row_end(o);
}

static int show(struct session *s)
{
    static const struct list rules = {
        .method = "ListClassRules",
        .reply = &fabric__v1__list_class_rules_response__descriptor,
        .items = "rules",
        .columns = rule_columns,
        .column_count = sizeof rule_columns / sizeof rule_columns[0],
        .say_row = say_rule,
        .none = "No rule assigns paths to this class.",
    };
    Fabric__V1__ListClassRulesRequest q = FABRIC__V1__LIST_CLASS_RULES_REQUEST__INIT;
    q.class_ = s->argv[0];
    return say_list(s, &rules, &q.base);
}

const struct cmd cmd_class_list = {
    .noun = "class",
    .verb = "list",
    .summary = "all traffic classes with shares, service levels and virtual lanes",
    .method = "fabric.v1.FabricService/ListClasses",
    .is_list = true,
    .json = "classes:[ name:text share_percent:u32 guaranteed_permille:permille "
            "priority:'high'|'low' service_levels:text virtual_lanes:text rate_limit_mbps:u32 "
            "mtu_limit:u32 rules:u32 shares_with:text ]",
    .run = list,
};
const struct cmd cmd_class_show = {
    .noun = "class",
    .verb = "show",
    .args = "CLASS",
    .summary = "the rules that assign paths to a traffic class",
    .min_args = 1,
    .max_args = 1,
    .method = "fabric.v1.FabricService/ListClassRules",
    .is_list = true,
    .json = "rules:[ rule:u32 from:text to:text @ClassRule(either service_ids qos_classes "
            "pkeys) ]",
    .run = show,
};
