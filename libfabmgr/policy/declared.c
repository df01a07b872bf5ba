/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads an applied policy. First joins the lists of all its documents. Then reads the lists in such
 * an order that each one refers only to lists that were read before. */
#include "libfabmgr/policy/declared.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/policy/declared_fields.h"
#include "libfabmgr/policy/partitions_make.h"

const char *const fab_policy_declared_section_name[FAB_DECLARED_SECTIONS] = {
    [FAB_DECLARED_PARTITIONS] = "partitions", [FAB_DECLARED_CLASSES] = "classes",
    [FAB_DECLARED_CONGESTION] = "congestion", [FAB_DECLARED_NAMES] = "names",
    [FAB_DECLARED_ISOLATION] = "isolation",   [FAB_DECLARED_APPROVALS] = "approvals",
};

enum { PARTITIONS, GROUPS, CLASSES, CONGESTION, NAMES, ISOLATION, APPROVALS, KEYS };
static const struct field top_fields[KEYS] = {
    [PARTITIONS] = {"partitions", FIELD_MAPS, false, 0, 0, NULL},
    [GROUPS] = {"groups", FIELD_MAPS, false, 0, 0, NULL},
    [CLASSES] = {"classes", FIELD_MAPS, false, 0, 0, NULL},
    [CONGESTION] = {"congestion", FIELD_MAP, false, 0, 0, NULL},
    [NAMES] = {"names", FIELD_MAPS, false, 0, 0, NULL},
    [ISOLATION] = {"isolation", FIELD_MAPS, false, 0, 0, NULL},
    [APPROVALS] = {"approvals", FIELD_MAPS, false, 0, 0, NULL},
};

/* For each key, the lists that the documents have under this key. */
struct lists {
    uint32_t *node[KEYS]; /* [key] array of the document nodes of these lists */
    size_t count[KEYS];
};

static int collect(struct declared_reader *r, uint32_t document, struct lists *l)
{
    struct field_value v[FIELDS_MAX];
    if (r->doc->node[document].kind != FAB_DOC_MAP)
        return fab_policy_wrong(r, document,
                                "the document is no mapping, expected keys such as partitions");
    int rc = fab_policy_fields_read(r, document, top_fields, KEYS, v);
    for (int i = 0; rc == FAB_OK && i < KEYS; i++) {
        if (v[i].node == 0)
            continue;
        if (i == CONGESTION && l->count[i] > 0) {
            memcpy(r->path, "congestion", sizeof("congestion"));
            (void)fab_policy_wrong(r, v[i].node, "is in two documents, expected it in one of them");
            return FAB_E_EXISTS;
        }
        uint32_t *more = realloc(l->node[i], (l->count[i] + 1) * sizeof(*more));
        if (more == NULL)
            return FAB_E_NOMEM;
        l->node[i] = more;
        more[l->count[i]++] = v[i].node;
    }
    return rc;
}

static int each(struct declared_reader *r, const struct lists *l, int key,
                int (*read)(struct declared_reader *r, uint32_t node))
{
    int rc = FAB_OK;
    for (size_t i = 0; rc == FAB_OK && i < l->count[key]; i++)
        rc = read(r, l->node[key][i]);
    return rc;
}

static int read_partitions(struct declared_reader *r, const struct lists *l)
{
    if (l->count[PARTITIONS] == 0 && l->count[GROUPS] > 0) {
        memcpy(r->path, "groups", sizeof("groups"));
        return fab_policy_wrong(r, l->node[GROUPS][0],
                                "has no effect without partitions in the same policy");
    }
    if (l->count[PARTITIONS] == 0)
        return FAB_OK;
    int rc = fab_policy_partitions_new(FAB_MEMBER_LIMITED, &r->to->partitions);
    if (rc == FAB_OK)
        rc = each(r, l, GROUPS, fab_policy_read_groups);
    return rc == FAB_OK ? each(r, l, PARTITIONS, fab_policy_read_partitions) : rc;
}

static int read_classes(struct declared_reader *r, const struct lists *l)
{
    if (l->count[CLASSES] == 0)
        return FAB_OK;
    int rc = fab_policy_classes_new(&r->to->classes);
    if (rc == FAB_OK)
        rc = each(r, l, CLASSES, fab_policy_read_classes);
    return rc == FAB_OK ? fab_policy_end_classes(r) : rc;
}

static int read_all(struct declared_reader *r, const struct lists *l)
{
    bool *has = r->to->has;
    has[FAB_DECLARED_PARTITIONS] = l->count[PARTITIONS] > 0;
    has[FAB_DECLARED_CLASSES] = l->count[CLASSES] > 0;
    has[FAB_DECLARED_CONGESTION] = l->count[CONGESTION] > 0;
    has[FAB_DECLARED_NAMES] = l->count[NAMES] > 0;
    has[FAB_DECLARED_ISOLATION] = l->count[ISOLATION] > 0;
    has[FAB_DECLARED_APPROVALS] = l->count[APPROVALS] > 0;
    int rc = read_partitions(r, l);
    if (rc == FAB_OK)
        rc = read_classes(r, l);
    if (rc == FAB_OK)
        rc = each(r, l, CONGESTION, fab_policy_read_congestion);
    if (rc == FAB_OK)
        rc = fab_policy_read_names(r, l->node[NAMES], l->count[NAMES]);
    if (rc == FAB_OK)
        rc = each(r, l, ISOLATION, fab_policy_read_isolation);
    return rc == FAB_OK ? each(r, l, APPROVALS, fab_policy_read_approvals) : rc;
}

int fab_policy_declared_read(const struct fab_doc *d, struct fab_declared *ret,
                             struct fab_declared_error *ret_error)
{
    struct fab_declared to = {0};
    struct declared_reader r = {.doc = d, .to = &to, .error = ret_error};
    struct lists lists = {0};
    int rc = FAB_OK;
    *ret_error = (struct fab_declared_error){0};
    for (uint32_t i = d->node[0].first; rc == FAB_OK && i != 0; i = d->node[i].next) {
        r.path[0] = '\0';
        rc = collect(&r, i, &lists);
    }
    if (rc == FAB_OK)
        rc = read_all(&r, &lists);
    for (int i = 0; i < KEYS; i++)
        free(lists.node[i]);
    if (rc == FAB_OK)
        *ret = to;
    else
        fab_policy_declared_fini(&to);
    return rc;
}

void fab_policy_declared_fini(struct fab_declared *d)
{
    fab_policy_partitions_unref(d->partitions);
    fab_policy_classes_unref(d->classes);
    fab_policy_node_names_unref(d->names);
    free(d->isolation);
    free(d->approval);
    free(d->ref);
    fab_base_arena_fini(&d->arena);
    *d = (struct fab_declared){0};
}

void fab_policy_declared_apply(const struct fab_declared *d, struct fab_policy *p)
{
    if (d->has[FAB_DECLARED_PARTITIONS]) {
        fab_policy_partitions_unref(p->partitions);
        p->partitions = fab_policy_partitions_ref(d->partitions);
    }
    if (d->has[FAB_DECLARED_CLASSES]) {
        fab_policy_classes_unref(p->classes);
        p->classes = fab_policy_classes_ref(d->classes);
    }
    if (d->has[FAB_DECLARED_NAMES]) {
        fab_policy_node_names_unref(p->node_names);
        p->node_names = fab_policy_node_names_ref(d->names);
    }
    if (d->has[FAB_DECLARED_CONGESTION]) {
        struct fab_policy_congestion c = d->congestion;
        c.key = p->congestion.key;
        c.key_lease_s = p->congestion.key_lease_s;
        p->congestion = c;
    }
}
