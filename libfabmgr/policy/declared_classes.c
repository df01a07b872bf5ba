/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the key `classes` of an applied policy. Each class has the keys of qos.classes in
 * fabricd.yaml. */
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/policy/declared_fields.h"

#define RULE_MAX_LEN 1024

enum { NAME, SHARE, PRIORITY, SL, RATE_LIMIT, MTU_LIMIT, MATCH, KEYS };
static const struct field class_fields[KEYS] = {
    [NAME] = {"name", FIELD_TEXT, true, 1, 63, NULL},
    [SHARE] = {"share", FIELD_NUMBER, false, 1, 100, NULL},
    [PRIORITY] = {"priority", FIELD_WORD, false, 0, 0, "low high"},
    [SL] = {"sl", FIELD_NUMBER, false, 0, 15, NULL},
    [RATE_LIMIT] = {"rate_limit", FIELD_NUMBER, false, 1, 100000, NULL},
    [MTU_LIMIT] = {"mtu_limit", FIELD_NUMBER, false, 256, 4096, NULL},
    [MATCH] = {"match", FIELD_TEXTS, false, 0, 0, NULL},
};

static int refuse(struct declared_reader *r, uint32_t node, int status,
                  const struct fab_classes_error *e)
{
    if (status != FAB_OK && status != FAB_E_NOMEM)
        (void)fab_policy_wrong(r, node, "is not accepted: %s", e->message);
    return status;
}

/* ---- rules ----------------------------------------------------------------------------------- */

bool fab_policy_declared_knows(const struct fab_partitions *p, const struct fab_class_member *m)
{
    bool known = m->kind != FAB_CLASS_PARTITION && m->kind != FAB_CLASS_OF_OTHERS;
    for (size_t i = 0; p != NULL && m->kind == FAB_CLASS_PARTITION && i < p->partitions; i++)
        known = known || strcmp(p->partition[i].name, m->name) == 0;
    for (size_t i = 0; p != NULL && m->kind == FAB_CLASS_OF_OTHERS && i < p->groups; i++)
        known = known || strcmp(p->group[i].name, m->name) == 0;
    return known;
}

/* Adds references (struct fab_declared_ref) to the nodes and ports that the last rule names. The
 * rule added the port groups whose indexes are `first` and higher. */
static int add_refs(struct declared_reader *r, uint32_t node, size_t first)
{
    const struct fab_classes *c = r->to->classes;
    int rc = FAB_OK;
    for (size_t i = first; rc == FAB_OK && i < c->groups; i++) {
        const struct fab_class_member *m = &c->group[i].member[0];
        if (m->kind == FAB_CLASS_NODES)
            rc = fab_policy_add_ref(r, node, FAB_DECLARED_NODE, m->name, 0);
        else if (m->kind == FAB_CLASS_GUIDS)
            rc = fab_policy_add_ref(r, node, FAB_DECLARED_PORT_GUID, "", m->first);
    }
    return rc;
}

static int read_rules(struct declared_reader *r, uint32_t list, uint8_t class)
{
    struct fab_classes_error e;
    int rc = FAB_OK;
    for (uint32_t i = list != 0 ? r->doc->node[list].first : 0; rc == FAB_OK && i != 0;
         i = r->doc->node[i].next) {
        const char *text;
        size_t groups = r->to->classes->groups;
        rc = fab_policy_field_text(r, i, RULE_MAX_LEN, &text);
        if (rc == FAB_OK)
            rc = refuse(r, i, fab_policy_classes_add_rule(r->to->classes, class, text, &e), &e);
        if (rc == FAB_OK)
            rc = add_refs(r, i, groups);
    }
    return rc;
}

/* ---- classes --------------------------------------------------------------------------------- */

static int read_class(struct declared_reader *r, uint32_t node, size_t index)
{
    struct field_value v[FIELDS_MAX];
    struct fab_classes_error e;
    uint8_t number;
    fab_policy_path_of(r, "classes", index, NULL);
    int rc = fab_policy_fields_read(r, node, class_fields, KEYS, v);
    if (rc != FAB_OK)
        return rc;
    struct fab_class class = {.name = v[NAME].text,
                              .share = (uint8_t)v[SHARE].number,
                              .high = v[PRIORITY].number == 1,
                              .sl = v[SL].node != 0 ? (uint8_t)v[SL].number : FAB_CLASS_NO_SL,
                              .rate_mbps = (uint32_t)v[RATE_LIMIT].number * 1000};
    uint64_t mtu = v[MTU_LIMIT].number;
    if ((mtu & (mtu - 1)) != 0)
        return fab_policy_wrong(r, v[MTU_LIMIT].node,
                                "is no MTU, expected 256, 512, 1024, 2048 or 4096 in mtu_limit");
    while (mtu >> class.mtu > 128)
        class.mtu++;
    rc = refuse(r, v[NAME].node, fab_policy_classes_add(r->to->classes, &class, &number, &e), &e);
    fab_policy_path_of(r, "classes", index, "match");
    return rc == FAB_OK ? read_rules(r, v[MATCH].node, number) : rc;
}

int fab_policy_read_classes(struct declared_reader *r, uint32_t list)
{
    int rc = FAB_OK;
    size_t index = 0;
    for (uint32_t i = r->doc->node[list].first; rc == FAB_OK && i != 0; i = r->doc->node[i].next)
        rc = read_class(r, i, index++);
    return rc;
}

/* Checks that the policy has the partitions and groups that its classes name. If the policy has no
 * partitions, the caller checks the names against the partitions of fabricd.yaml instead. */
static int check_names(struct declared_reader *r)
{
    const struct fab_classes *c = r->to->classes;
    for (size_t i = 0; r->to->partitions != NULL && i < c->groups; i++) {
        const struct fab_class_member *m = &c->group[i].member[0];
        if (fab_policy_declared_knows(r->to->partitions, m))
            continue;
        (void)fab_policy_wrong(r, 0, "names the %s '%.60s', but the policy has no such name",
                               m->kind == FAB_CLASS_PARTITION ? "partition" : "group", m->name);
        return FAB_E_NOT_FOUND;
    }
    return FAB_OK;
}

int fab_policy_end_classes(struct declared_reader *r)
{
    struct fab_classes_error e;
    memcpy(r->path, "classes", sizeof("classes"));
    int rc = refuse(r, 0, fab_policy_classes_check(r->to->classes, &e), &e);
    if (rc == FAB_OK)
        rc = check_names(r);
    if (rc == FAB_OK && r->to->classes->count == 1) {
        fab_policy_classes_unref(r->to->classes);
        r->to->classes = NULL;
    }
    return rc;
}
