/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads traffic classes from the configuration, in this order: the list qos.classes with its rules;
 * OpenSM's qos-policy.conf (qos.file); the SL-to-VL and VL arbitration tables that the operator
 * configured. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/log.h"
#include "fabricd/config/config.h"
#include "fabricd/config/raw.h"
#include "fabricd/config/slurp.h"
#include "libfabmgr/base/status.h"

#define PATH_LEN 64

struct taking {
    struct report *report;
    struct fab_classes *to;
    const struct fab_partitions *partitions; /* the configured partitions; NULL: none */
    /* path in fabricd.yaml of the class that is being read, such as "qos.classes[1]"; for error
     * messages */
    char path[PATH_LEN];
};

static int value_wrong(struct taking *t, const char *key, const char *expected)
{
    char path[2 * PATH_LEN];
    snprintf(path, sizeof(path), "%s.%s", t->path, key);
    report_value(t->report, path, expected);
    return FAB_E_RANGE;
}

static int take_number(struct taking *t, const char *key, const char *text, uint64_t least,
                       uint64_t most, const char *expected, uint64_t *ret)
{
    uint64_t value;
    if (text == NULL)
        return FAB_OK;
    if (setting_parse_number(text, &value) != FAB_OK || value < least || value > most)
        return value_wrong(t, key, expected);
    *ret = value;
    return FAB_OK;
}

static int take_values(struct taking *t, const struct raw_class *raw, struct fab_class *class)
{
    uint64_t share = 0, sl = FAB_CLASS_NO_SL, gbps = 0, mtu = 0;
    int rc =
        take_number(t, "share", raw->share, 1, 100, "a number from 1 to 100 (percent)", &share);
    if (rc == FAB_OK)
        rc = take_number(t, "sl", raw->sl, 0, 15, "a number from 0 to 15", &sl);
    if (rc == FAB_OK)
        rc = take_number(t, "rate_limit", raw->rate_limit, 1, 100000,
                         "a number from 1 to 100000 (Gb/s)", &gbps);
    if (rc == FAB_OK)
        rc = take_number(t, "mtu_limit", raw->mtu_limit, 256, 4096, "256, 512, 1024, 2048 or 4096",
                         &mtu);
    if (rc == FAB_OK && mtu != 0 && (mtu & (mtu - 1)) != 0)
        rc = value_wrong(t, "mtu_limit", "256, 512, 1024, 2048 or 4096");
    if (rc == FAB_OK && raw->priority != NULL) {
        class->high = strcmp(raw->priority, "high") == 0;
        if (!class->high && strcmp(raw->priority, "low") != 0)
            rc = value_wrong(t, "priority", "high or low");
    }
    class->share = (uint8_t)share;
    class->sl = (uint8_t)sl;
    class->rate_mbps = (uint32_t)gbps * 1000;
    while (mtu >> class->mtu > 128)
        class->mtu++;
    return rc;
}

/* Returns true if partitions.conf defines the group or partition that the member `m` of a rule
 * names, or if `m` names neither. */
static bool is_known(const struct fab_partitions *all, const struct fab_class_member *m)
{
    bool known = m->kind != FAB_CLASS_PARTITION && m->kind != FAB_CLASS_OF_OTHERS;
    for (size_t i = 0; all != NULL && m->kind == FAB_CLASS_PARTITION && i < all->partitions; i++)
        known = known || strcmp(all->partition[i].name, m->name) == 0;
    for (size_t i = 0; all != NULL && m->kind == FAB_CLASS_OF_OTHERS && i < all->groups; i++)
        known = known || strcmp(all->group[i].name, m->name) == 0;
    return known;
}

/* Checks the names of groups and partitions in the rule that was added last. `first`: index of the
 * first group of this rule. Returns OK; or NOT_FOUND with a message in the report, if a name is
 * unknown. */
static int check_names(struct taking *t, const char *path, size_t first)
{
    for (size_t i = first; i < t->to->groups; i++) {
        const struct fab_class_member *m = &t->to->group[i].member[0];
        if (is_known(t->partitions, m))
            continue;
        report_key(t->report, path, "there is no %s '%s' in partitions.file",
                   m->kind == FAB_CLASS_PARTITION ? "partition" : "group", m->name);
        return FAB_E_NOT_FOUND;
    }
    return FAB_OK;
}

static int take_rules(struct taking *t, const struct raw_class *raw, uint8_t number)
{
    struct fab_classes_error error;
    char path[2 * PATH_LEN];
    for (unsigned i = 0; i < raw->match_count; i++) {
        size_t groups = t->to->groups;
        int rc = fab_policy_classes_add_rule(t->to, number, raw->match[i], &error);
        snprintf(path, sizeof(path), "%s.match[%u]", t->path, i);
        if (rc == FAB_E_FORMAT || rc == FAB_E_LIMIT)
            report_key(t->report, path, "%s", error.message);
        if (rc == FAB_OK)
            rc = check_names(t, path, groups);
        if (rc != FAB_OK)
            return rc;
    }
    return FAB_OK;
}

static int take_class(struct taking *t, const struct raw_class *raw)
{
    struct fab_classes_error error;
    struct fab_class class = {.name = raw->name};
    uint8_t number;
    if (raw->name == NULL) {
        report_key(t->report, t->path, "a class without a name, expected name: WORD");
        return FAB_E_FORMAT;
    }
    int rc = take_values(t, raw, &class);
    if (rc != FAB_OK)
        return rc;
    rc = fab_policy_classes_add(t->to, &class, &number, &error);
    if (rc != FAB_OK && rc != FAB_E_NOMEM)
        report_key(t->report, t->path, "%s", error.message);
    return rc == FAB_OK ? take_rules(t, raw, number) : rc;
}

/* ---- OpenSM's qos-policy.conf and options ---------------------------------------------------- */

static void tell_notes(const char *file, const struct fab_classes *c)
{
    for (size_t i = 0; i < c->notes && i < FAB_CLASS_NOTES; i++)
        log_warning("config", "%s:%u: %s", file, c->note[i].line, c->note[i].message);
    if (c->notes > FAB_CLASS_NOTES)
        log_warning("config", "%s: %zu more of these", file, c->notes - FAB_CLASS_NOTES);
}

static int take_file(struct taking *t, const char *file)
{
    struct fab_classes_error error;
    char why[300], *text = NULL;
    size_t len = 0;
    if (file == NULL || file[0] == '\0')
        return FAB_OK;
    int rc = slurp(file, FAB_CLASSES_TEXT_MAX, "a QoS policy", &text, &len, why, sizeof(why));
    if (rc != FAB_OK) {
        report_key(t->report, "qos.file", "%s", why);
        return rc;
    }
    rc = fab_policy_classes_read(t->to, text, len, &error);
    if (rc == FAB_OK)
        tell_notes(file, t->to);
    else if (rc != FAB_E_NOMEM)
        report_key(t->report, "qos.file", "%s:%u: %s", file, error.line, error.message);
    free(text);
    return rc;
}

static int take_option(struct taking *t, const char *path, const char *text, int status)
{
    char expected[200];
    if (text != NULL && text[0] != '\0' && status != FAB_OK)
        report_value(t->report, path, setting_expected(path, expected, sizeof(expected)));
    return text == NULL || text[0] == '\0' ? FAB_OK : status;
}

static const char *text_of(const char *text)
{
    return text != NULL ? text : "";
}

static int take_options(struct taking *t, const struct raw_qos *raw)
{
    struct fab_classes *c = t->to;
    uint64_t limit = 0;
    int rc =
        take_option(t, "qos.sl2vl", raw->sl2vl, fab_policy_classes_set_map(c, text_of(raw->sl2vl)));
    if (rc == FAB_OK)
        rc = take_option(t, "qos.vlarb_high", raw->vlarb_high,
                         fab_policy_classes_set_arb(c, true, text_of(raw->vlarb_high)));
    if (rc == FAB_OK)
        rc = take_option(t, "qos.vlarb_low", raw->vlarb_low,
                         fab_policy_classes_set_arb(c, false, text_of(raw->vlarb_low)));
    snprintf(t->path, sizeof(t->path), "qos");
    if (rc == FAB_OK)
        rc =
            take_number(t, "high_limit", raw->high_limit, 0, 255, "a number from 0 to 255", &limit);
    c->has_limit = raw->high_limit != NULL;
    c->limit = (uint8_t)limit;
    return rc;
}

/* ---- all classes ----------------------------------------------------------------------------- */

static int take_all(struct taking *t, const struct raw_qos *raw)
{
    struct fab_classes_error error;
    int rc = FAB_OK;
    for (unsigned i = 0; i < raw->classes_count && rc == FAB_OK; i++) {
        snprintf(t->path, sizeof(t->path), "qos.classes[%u]", i);
        rc = take_class(t, &raw->classes[i]);
    }
    if (rc == FAB_OK)
        rc = take_file(t, raw->file);
    if (rc == FAB_OK)
        rc = take_options(t, raw);
    if (rc == FAB_OK && (rc = fab_policy_classes_check(t->to, &error)) != FAB_OK)
        report_key(t->report, "qos", "%s", error.message);
    return rc;
}

int classes_take(const struct raw_qos *raw, struct report *report, struct config *c)
{
    struct taking t = {.report = report, .partitions = c->policy.partitions};
    if (raw == NULL)
        return FAB_OK;
    int rc = fab_policy_classes_new(&t.to);
    if (rc == FAB_OK)
        rc = take_all(&t, raw);
    if (rc == FAB_OK && t.to->count > 1) {
        fab_policy_classes_unref(c->policy.classes);
        c->policy.classes = t.to;
    } else {
        fab_policy_classes_unref(t.to);
    }
    return rc;
}
