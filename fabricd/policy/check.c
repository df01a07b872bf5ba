/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares a planned policy with the fabric. Each node name and each port GUID in the policy must
 * belong to a device that is or was in the fabric; a node name may also be one that the policy
 * itself gives. A pattern that matches no node, and an unknown node GUID, are only warnings. If
 * ports would lose a partition, or if this would take too long to find out, the operator must
 * confirm the change.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/policy/state.h"
#include "fabricd/store/gone.h"
#include "libfabmgr/base/map.h"
#include "libfabmgr/base/plural.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/partition/partition.h"
#include "libfabmgr/target/selector.h"

#define SHOWN 8 /* maximum number of names that a message lists */
/* Maximum number of comparisons (see the function comparisons) that the loop thread may make to
 * find the members of partitions. This number of comparisons takes about 50 ms. */
#define COMPARISONS_MAX UINT64_C(20000000)

/* ---- an index of names ------------------------------------------------------------------------
 */

/* An index that finds a node by its name, by its NodeDescription, or by the first word of one of
 * these. */
struct policy_index {
    const struct fab_fabric *fabric;
    struct fab_map by_hash; /* maps the hash of a name to the id of the first node with this name */
};

static uint64_t hash_of(const char *name, size_t len)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < len; i++)
        h = (h ^ (unsigned char)name[i]) * UINT64_C(0x100000001b3);
    return h;
}

static int add_name(struct policy_index *x, const char *name, uint32_t node)
{
    size_t word = strcspn(name, " "), len = strlen(name);
    uint32_t other;
    int rc = FAB_OK;
    if (!fab_base_map_get(&x->by_hash, hash_of(name, len), &other))
        rc = fab_base_map_put(&x->by_hash, hash_of(name, len), node);
    if (rc == FAB_OK && word < len && !fab_base_map_get(&x->by_hash, hash_of(name, word), &other))
        rc = fab_base_map_put(&x->by_hash, hash_of(name, word), node);
    return rc;
}

static int index_init(struct policy_index *x, const struct fab_fabric *f)
{
    int rc = FAB_OK;
    *x = (struct policy_index){.fabric = f};
    for (uint32_t n = 0; rc == FAB_OK && n < f->node_count; n++) {
        rc = add_name(x, f->nodes[n].name, n);
        if (rc == FAB_OK)
            rc = add_name(x, f->nodes[n].desc, n);
    }
    return rc;
}

static bool begins_with_word(const char *name, const char *text, size_t len)
{
    return strncmp(name, text, len) == 0 && (name[len] == '\0' || name[len] == ' ');
}

static bool index_has(const struct policy_index *x, const char *text)
{
    size_t len = strlen(text);
    uint32_t node;
    return fab_base_map_get(&x->by_hash, hash_of(text, len), &node) &&
           (begins_with_word(x->fabric->nodes[node].name, text, len) ||
            begins_with_word(x->fabric->nodes[node].desc, text, len));
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_pattern(const char *text)
{
    return strpbrk(text, "*?[") != NULL;
}

/* Returns true if a node of the fabric matches the pattern. */
static bool matches(const struct fab_view *v, const struct fab_pins *pins, const char *pattern)
{
    const struct fab_fabric *f = v->fabric;
    for (uint32_t n = 0; n < f->node_count; n++)
        if (fab_target_node_matches(pins, &f->nodes[n], pattern))
            return true;
    return false;
}

static bool is_named_by(const struct fab_node_names *names, const char *text)
{
    uint64_t guid;
    for (size_t i = 0; i < fab_policy_node_names_count(names); i++)
        if (strcmp(fab_policy_node_names_at(names, i, &guid), text) == 0)
            return true;
    return false;
}

/* Returns true if the text is a pinned name, the name of a node that is gone, or the first word of
 * such a name. */
static bool was_known(const struct policy *p, const char *text)
{
    struct store_gone_found found = {0};
    const struct fab_pins *pins = sm_pins(p->sm);
    if (p->in.store != NULL &&
        store_gone_find(p->in.store, text, strlen(text), 0, false, &found) == FAB_OK &&
        found.count > 0 && found.match < STORE_MATCH_BEGINNING)
        return true;
    for (size_t i = 0; pins != NULL && i < pins->count; i++)
        if (strcmp(pins->pin[i].name, text) == 0)
            return true;
    return false;
}

static int refuse(const struct policy_plan *plan, const struct fab_declared_ref *ref,
                  const char *what, char *why, size_t len)
{
    char place[160];
    document_place(&plan->doc, &ref->at, place, sizeof(place));
    snprintf(why, len, "%s%s: %s", place, ref->path, what);
    return FAB_E_NOT_FOUND;
}

static int check_node(struct policy *p, struct policy_plan *plan, const struct fab_view *v,
                      const struct policy_index *x, const struct fab_declared_ref *ref, char *why,
                      size_t len)
{
    char what[300];
    uint32_t node;
    if (is_pattern(ref->text)) {
        if (!matches(v, sm_pins(p->sm), ref->text))
            policy_note(plan, &plan->warnings, "%s: no node matches \"%s\" now", ref->path,
                        ref->text);
        return FAB_OK;
    }
    if (index_has(x, ref->text) || matches(v, sm_pins(p->sm), ref->text) ||
        is_named_by(plan->policy.node_names, ref->text))
        return FAB_OK;
    if (was_known(p, ref->text)) {
        policy_note(plan, &plan->warnings, "%s: node \"%s\" is not in the fabric now", ref->path,
                    ref->text);
        return FAB_OK;
    }
    if (fab_view_find_node(v, ref->text, &node, what, sizeof(what)) == FAB_OK)
        snprintf(what, sizeof(what), "no node \"%s\"; did you mean \"%s\"?", ref->text,
                 v->fabric->nodes[node].name);
    return refuse(plan, ref, what, why, len);
}

static int check_guid(struct policy *p, struct policy_plan *plan, const struct fab_view *v,
                      const struct fab_declared_ref *ref, char *why, size_t len)
{
    char what[120];
    bool of_node = ref->what == FAB_DECLARED_NODE_GUID;
    if (of_node ? fab_fabric_node_by_guid(v->fabric, ref->guid) != FAB_NONE
                : fab_fabric_port_by_guid(v->fabric, ref->guid) != FAB_NONE)
        return FAB_OK;
    snprintf(what, sizeof(what), "no %s with GUID 0x%016" PRIx64 " is in the fabric",
             of_node ? "node" : "port", ref->guid);
    /* An unknown node GUID is only a warning, because a policy may name a node before the node
     * arrives. */
    if (!of_node && sm_find_guid(p->sm, ref->guid) == FAB_E_NOT_FOUND)
        return refuse(plan, ref, what, why, len);
    policy_note(plan, &plan->warnings, "%s: %s now", ref->path, what);
    return FAB_OK;
}

int policy_find_port(const struct fab_view *v, const char *place, uint32_t *ret_port, char *why,
                     size_t len)
{
    char name[160];
    const char *slash = strrchr(place, '/');
    uint32_t node, number = slash != NULL ? (uint32_t)strtoul(slash + 1, NULL, 10) : 0;
    snprintf(name, sizeof(name), "%.*s", slash != NULL ? (int)(slash - place) : 0, place);
    int rc = fab_view_find_node(v, name, &node, why, len);
    if (rc != FAB_OK)
        return FAB_E_NOT_FOUND;
    const struct fab_node *n = &v->fabric->nodes[node];
    if (number == 0 || number > n->num_ports) {
        snprintf(why, len, "%s has the ports 1 to %u, and no port %" PRIu32, n->name, n->num_ports,
                 number);
        return FAB_E_NOT_FOUND;
    }
    *ret_port = fab_fabric_port_id(v->fabric, node, (uint8_t)number);
    return FAB_OK;
}

int policy_check_names(struct policy *p, struct policy_plan *plan, char *why, size_t why_len)
{
    struct fab_view *v = p->sm != NULL ? sm_view(p->sm) : NULL;
    char what[300];
    uint32_t port;
    struct policy_index x = {0};
    int rc = v != NULL ? index_init(&x, v->fabric) : FAB_E_BUSY;
    if (v == NULL)
        snprintf(why, why_len, "the manager does not know the fabric yet; try again soon");
    for (size_t i = 0; rc == FAB_OK && i < plan->declared.refs; i++) {
        const struct fab_declared_ref *ref = &plan->declared.ref[i];
        if (ref->what == FAB_DECLARED_NODE)
            rc = check_node(p, plan, v, &x, ref, why, why_len);
        else if (ref->what != FAB_DECLARED_LINK)
            rc = check_guid(p, plan, v, ref, why, why_len);
        else if (policy_find_port(v, ref->text, &port, what, sizeof(what)) != FAB_OK)
            rc = refuse(plan, ref, what, why, why_len);
    }
    fab_base_map_fini(&x.by_hash);
    fab_view_unref(v);
    return rc;
}

/* ---- partitions ------------------------------------------------------------------------------ */

static int tables_of(const struct policy *p, const struct fab_view *v,
                     const struct fab_policy *policy, struct fab_pkeys *ret)
{
    struct fab_partition_report report;
    struct fab_partitions *open = NULL;
    struct fab_partition_input in = {.fabric = v->fabric,
                                     .partitions = policy->partitions,
                                     .pins = sm_pins(p->sm),
                                     .both = policy->both_pkeys};
    int rc = FAB_OK;
    if (in.partitions == NULL) {
        rc = fab_policy_partitions_unrestricted(&open);
        in.partitions = open;
    }
    if (rc == FAB_OK)
        rc = fab_partition_tables(&in, ret, &report);
    fab_policy_partitions_unref(open);
    return rc;
}

/* The endports that would lose one P_Key, or would become limited instead of full members. */
struct losses {
    uint32_t ports, shown;
    char names[SHOWN * 72];
};

static bool has_key(const uint16_t *key, uint32_t count, uint16_t wanted)
{
    for (uint32_t i = 0; i < count; i++)
        if (fab_target_pkey_base(key[i]) == fab_target_pkey_base(wanted) &&
            (fab_target_pkey_is_full(key[i]) || !fab_target_pkey_is_full(wanted)))
            return true;
    return false;
}

static void note_loss(struct losses *l, const struct fab_fabric *f, uint32_t port)
{
    size_t used = strlen(l->names);
    l->ports++;
    if (l->shown == SHOWN)
        return;
    l->shown++;
    snprintf(l->names + used, sizeof(l->names) - used, "%s%.64s", used > 0 ? ", " : "",
             f->nodes[fab_fabric_port(f, port)->node].name);
}

/* For each partition, finds the endports of adapters and routers that would lose it, or would
 * become limited instead of full members. Adds a line about these endports to the confirmations of
 * the plan. */
static void find_losses(struct policy_plan *plan, const struct fab_view *v,
                        const struct fab_partitions *old, const struct fab_pkeys *before,
                        const struct fab_pkeys *after)
{
    const struct fab_fabric *f = v->fabric;
    for (size_t i = 0; i < (old != NULL ? old->partitions : 1); i++) {
        uint16_t pkey = old != NULL ? old->partition[i].pkey : FAB_PKEY_DEFAULT;
        struct losses l = {0};
        for (uint32_t port = 0; port < before->ports && port < after->ports; port++) {
            uint32_t had, has;
            const uint16_t *was = fab_target_pkeys_table(before, port, &had);
            const uint16_t *now = fab_target_pkeys_table(after, port, &has);
            if (!fab_fabric_port_has_lid(f, port) ||
                f->nodes[fab_fabric_port(f, port)->node].type == FAB_NODE_SWITCH)
                continue;
            for (uint32_t k = 0; k < had; k++)
                if (fab_target_pkey_base(was[k]) == pkey && !has_key(now, has, was[k])) {
                    note_loss(&l, f, port);
                    break;
                }
        }
        if (l.ports > 0)
            policy_note(plan, &plan->confirmations,
                        "%u endport%s would lose partition %s (0x%x), or full membership of it: "
                        "%s%s",
                        l.ports, fab_base_plural_s(l.ports),
                        old != NULL ? old->partition[i].name : "Default", pkey, l.names,
                        l.ports > l.shown ? ", ..." : "");
    }
}

/* Returns the number of comparisons that are needed to find the members of these partitions. Each
 * port is compared with each rule or, if the rule names a group, with each member of the group. A
 * rule or member that is a port GUID needs no comparison. */
static uint64_t comparisons(const struct fab_partitions *p, const struct fab_fabric *f)
{
    uint64_t rules = 0;
    for (size_t i = 0; p != NULL && i < p->rules; i++) {
        const struct fab_port_selector *who = &p->rule[i].who;
        const struct fab_port_group *g =
            who->kind == FAB_SELECT_GROUP ? &p->group[who->group] : NULL;
        rules += g == NULL && who->kind != FAB_SELECT_GUID;
        for (size_t m = 0; g != NULL && m < g->count; m++)
            rules += g->member[m].kind != FAB_SELECT_GUID;
    }
    return rules * f->port_count;
}

int policy_check_partitions(struct policy *p, struct policy_plan *plan)
{
    const struct fab_policy *old = &p->in.config->policy;
    struct fab_pkeys before = {0}, after = {0};
    if (old->partitions == plan->policy.partitions)
        return FAB_OK;
    struct fab_view *v = sm_view(p->sm);
    if (v == NULL)
        return FAB_E_BUSY;
    if (comparisons(old->partitions, v->fabric) + comparisons(plan->policy.partitions, v->fabric) >
        COMPARISONS_MAX) {
        policy_note(plan, &plan->confirmations,
                    "partitions change, and they have too many members by name to find out which "
                    "endports would lose one; look at the differences with --diff");
        fab_view_unref(v);
        return FAB_OK;
    }
    int rc = tables_of(p, v, old, &before);
    if (rc == FAB_OK)
        rc = tables_of(p, v, &plan->policy, &after);
    if (rc == FAB_OK)
        find_losses(plan, v, old->partitions, &before, &after);
    fab_target_pkeys_fini(&before);
    fab_target_pkeys_fini(&after);
    fab_view_unref(v);
    return rc;
}
