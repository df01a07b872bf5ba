/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the keys `groups` and `partitions` of an applied policy, and stores them in the same form
 * as the content of OpenSM's partitions.conf. As in partitions.conf, all ports are limited members
 * of the default partition and the manager is a full member, unless the policy says otherwise. */
#include <inttypes.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/policy/declared_fields.h"
#include "libfabmgr/policy/partitions_make.h"

#define NAME_MAX_LEN 63
#define MEMBER_MAX_LEN 255

/* ---- members --------------------------------------------------------------------------------- */

static bool select_key_word(const char *text, struct fab_port_selector *ret)
{
    const struct fab_member_word *words = fab_policy_member_words;
    for (size_t i = 0; i < FAB_MEMBER_WORDS; i++)
        if (strcmp(text, words[i].word) == 0) {
            ret->kind = words[i].kind;
            return true;
        }
    return false;
}

static int find_group(struct declared_reader *r, uint32_t node, struct fab_port_selector *ret)
{
    const struct fab_partitions *p = r->to->partitions;
    const char *name = r->doc->node[node].text + 1;
    for (size_t i = 0; i < p->groups; i++)
        if (strcmp(p->group[i].name, name) == 0) {
            ret->kind = FAB_SELECT_GROUP;
            ret->group = (uint32_t)i;
            return FAB_OK;
        }
    (void)fab_policy_wrong(r, node, "names the group '%.60s', but groups has no such name", name);
    return FAB_E_NOT_FOUND;
}

static int select_name(struct declared_reader *r, uint32_t node, struct fab_port_selector *ret)
{
    const char *text;
    int rc = fab_policy_field_text(r, node, MEMBER_MAX_LEN, &text);
    if (rc != FAB_OK)
        return rc;
    if (strchr(text, '"') != NULL)
        return fab_policy_wrong(r, node, "has a quotation mark within the name, expected none");
    ret->kind = FAB_SELECT_NAME;
    ret->name = fab_base_arena_text(&r->to->partitions->arena, text, strlen(text));
    if (ret->name == NULL)
        return FAB_E_NOMEM;
    return fab_policy_add_ref(r, node, FAB_DECLARED_NODE, text, 0);
}

static int read_member(struct declared_reader *r, uint32_t node, bool in_group,
                       struct fab_port_selector *ret)
{
    const char *text = r->doc->node[node].text;
    *ret = (struct fab_port_selector){0};
    if (select_key_word(text, ret))
        return FAB_OK;
    if (fab_policy_node_guid(&r->doc->node[node], &ret->guid)) {
        ret->kind = FAB_SELECT_GUID;
        return r->unknown_guids
                   ? FAB_OK
                   : fab_policy_add_ref(r, node, FAB_DECLARED_PORT_GUID, "", ret->guid);
    }
    if (text[0] == '@' && text[1] != '\0')
        return in_group ? fab_policy_wrong(r, node,
                                           "is the group '%.60s', expected ports: a group has no "
                                           "groups",
                                           text + 1)
                        : find_group(r, node, ret);
    return select_name(r, node, ret);
}

/* ---- groups ---------------------------------------------------------------------------------- */

static int read_group(struct declared_reader *r, uint32_t node, size_t index)
{
    static const struct field fields[] = {
        {"name", FIELD_TEXT, true, 1, NAME_MAX_LEN, NULL},
        {"members", FIELD_MEMBERS, true, 0, 0, NULL},
    };
    struct fab_partitions *p = r->to->partitions;
    struct field_value v[FIELDS_MAX];
    fab_policy_path_of(r, "groups", index, NULL);
    int rc = fab_policy_fields_read(r, node, fields, 2, v);
    for (size_t i = 0; rc == FAB_OK && i < p->groups; i++)
        if (strcmp(p->group[i].name, v[0].text) == 0) {
            (void)fab_policy_wrong(r, v[0].node, "has the name '%s' of another group", v[0].text);
            rc = FAB_E_EXISTS;
        }
    if (rc != FAB_OK)
        return rc;
    if (p->groups == FAB_DECLARED_GROUPS_MAX) {
        (void)fab_policy_wrong(r, node, "is one group too many, expected at most %d",
                               FAB_DECLARED_GROUPS_MAX);
        return FAB_E_LIMIT;
    }
    struct fab_port_group g = {.name =
                                   fab_base_arena_text(&p->arena, v[0].text, strlen(v[0].text))};
    rc = g.name != NULL ? fab_policy_partitions_add_group(p, &g) : FAB_E_NOMEM;
    fab_policy_path_of(r, "groups", index, "members");
    for (uint32_t i = r->doc->node[v[1].node].first; rc == FAB_OK && i != 0;
         i = r->doc->node[i].next) {
        struct fab_port_selector who;
        rc = read_member(r, i, true, &who);
        if (rc == FAB_OK)
            rc = fab_policy_partitions_add_member(&p->group[p->groups - 1], &who);
    }
    return rc;
}

int fab_policy_read_groups(struct declared_reader *r, uint32_t list)
{
    int rc = FAB_OK;
    size_t index = 0;
    for (uint32_t i = r->doc->node[list].first; rc == FAB_OK && i != 0; i = r->doc->node[i].next)
        rc = read_group(r, i, index++);
    return rc;
}

/* ---- partitions ------------------------------------------------------------------------------ */

enum { NAME, PKEY, IPOIB, INDEX0, RATE, MTU, SL, FULL, LIMITED, BOTH, UNKNOWN, KEYS };
static const struct field partition_fields[KEYS] = {
    [NAME] = {"name", FIELD_TEXT, true, 1, NAME_MAX_LEN, NULL},
    [PKEY] = {"pkey", FIELD_NUMBER, true, 1, 0xffff, NULL},
    [IPOIB] = {"ipoib", FIELD_BOOL, false, 0, 0, NULL},
    [INDEX0] = {"index0", FIELD_BOOL, false, 0, 0, NULL},
    [RATE] = {"rate", FIELD_NUMBER, false, 2, 63, NULL},
    [MTU] = {"mtu", FIELD_NUMBER, false, 1, 5, NULL},
    [SL] = {"sl", FIELD_NUMBER, false, 0, 15, NULL},
    [FULL] = {"full", FIELD_MEMBERS, false, 0, 0, NULL},
    [LIMITED] = {"limited", FIELD_MEMBERS, false, 0, 0, NULL},
    [BOTH] = {"both", FIELD_MEMBERS, false, 0, 0, NULL},
    [UNKNOWN] = {"unknown_guids", FIELD_BOOL, false, 0, 0, NULL},
};

/* Finds the default partition, or adds a new partition. A second partition with the same name or
 * P_Key is an error. */
static int open_partition(struct declared_reader *r, const struct field_value v[FIELDS_MAX],
                          uint32_t *ret)
{
    struct fab_partitions *p = r->to->partitions;
    uint16_t pkey = (uint16_t)(v[PKEY].number & ~(uint64_t)FAB_PKEY_FULL);
    if (pkey == 0)
        return fab_policy_wrong(r, v[PKEY].node, "has the P_Key 0x8000, expected another one");
    for (uint32_t i = 0; i < p->partitions; i++) {
        bool same_name = strcmp(p->partition[i].name, v[NAME].text) == 0;
        bool same_key = p->partition[i].pkey == pkey;
        if (i == 0 && p->partition[0].line == 0 && same_key) {
            p->partition[0].name =
                fab_base_arena_text(&p->arena, v[NAME].text, strlen(v[NAME].text));
            *ret = 0;
            return p->partition[0].name != NULL ? FAB_OK : FAB_E_NOMEM;
        }
        if (same_name || same_key) {
            (void)fab_policy_wrong(r, v[same_name ? NAME : PKEY].node,
                                   "has the %s of the partition \"%s\" (0x%x), expected another "
                                   "one",
                                   same_name ? "name" : "P_Key", p->partition[i].name,
                                   p->partition[i].pkey);
            return FAB_E_EXISTS;
        }
    }
    if (p->partitions > FAB_DECLARED_PARTITIONS_MAX) {
        (void)fab_policy_wrong(r, v[NAME].node, "is one partition too many, expected at most %d",
                               FAB_DECLARED_PARTITIONS_MAX);
        return FAB_E_LIMIT;
    }
    struct fab_partition one = {
        .name = fab_base_arena_text(&p->arena, v[NAME].text, strlen(v[NAME].text)), .pkey = pkey};
    *ret = (uint32_t)p->partitions;
    return one.name != NULL ? fab_policy_partitions_add(p, &one) : FAB_E_NOMEM;
}

static int set_properties(struct declared_reader *r, const struct field_value v[FIELDS_MAX],
                          uint32_t number)
{
    struct fab_partition *p = &r->to->partitions->partition[number];
    p->line = r->doc->node[v[NAME].node].at.line;
    p->ipoib = v[IPOIB].number != 0;
    p->rate = v[RATE].node != 0 ? (uint8_t)v[RATE].number : IPOIB_RATE;
    p->mtu = v[MTU].node != 0 ? (uint8_t)v[MTU].number : IPOIB_MTU;
    p->sl = (uint8_t)v[SL].number;
    if (!p->ipoib)
        return FAB_OK;
    const struct fab_partition_mgroup group = {.partition = number,
                                               .rate = p->rate,
                                               .mtu = p->mtu,
                                               .sl = p->sl,
                                               .scope = IPOIB_SCOPE,
                                               .q_key = IPOIB_Q_KEY};
    return fab_policy_partitions_add_broadcast(r->to->partitions, &group);
}

static int add_members(struct declared_reader *r, const struct field_value *list,
                       struct fab_partition_rule *rule)
{
    int rc = FAB_OK;
    for (uint32_t i = list->node != 0 ? r->doc->node[list->node].first : 0; rc == FAB_OK && i != 0;
         i = r->doc->node[i].next) {
        rc = read_member(r, i, false, &rule->who);
        if (rc == FAB_OK)
            rc = fab_policy_partitions_add_rule(r->to->partitions, rule);
    }
    return rc;
}

static int read_partition(struct declared_reader *r, uint32_t node, size_t index)
{
    static const struct {
        int key;
        enum fab_membership membership;
    } lists[] = {{LIMITED, FAB_MEMBER_LIMITED}, {FULL, FAB_MEMBER_FULL}, {BOTH, FAB_MEMBER_BOTH}};
    struct field_value v[FIELDS_MAX];
    struct fab_partition_rule rule = {0};
    fab_policy_path_of(r, "partitions", index, NULL);
    int rc = fab_policy_fields_read(r, node, partition_fields, KEYS, v);
    if (rc == FAB_OK)
        rc = open_partition(r, v, &rule.partition);
    if (rc == FAB_OK)
        rc = set_properties(r, v, rule.partition);
    rule.index0 = v[INDEX0].number != 0;
    r->unknown_guids = v[UNKNOWN].number != 0;
    for (size_t i = 0; rc == FAB_OK && i < 3; i++) {
        rule.membership = lists[i].membership;
        fab_policy_path_of(r, "partitions", index, partition_fields[lists[i].key].key);
        rc = add_members(r, &v[lists[i].key], &rule);
    }
    r->unknown_guids = false;
    return rc;
}

int fab_policy_read_partitions(struct declared_reader *r, uint32_t list)
{
    int rc = FAB_OK;
    size_t index = 0;
    for (uint32_t i = r->doc->node[list].first; rc == FAB_OK && i != 0; i = r->doc->node[i].next)
        rc = read_partition(r, i, index++);
    return rc;
}
