/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the class of a path: the class of the first rule that matches. The port groups to which
 * each port belongs are found once, and stored as one bit for each group. So a query needs only a
 * few comparisons for each rule.
 *
 * If no rule matches and the path's partition has an SL (sl= in partitions.conf), the path belongs
 * to the class to which the policy gives this SL, if there is one.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/qos/qos.h"
#include "libfabmgr/target/selector.h"

/* ---- groups ---------------------------------------------------------------------------------- */

struct membership {
    const struct fab_fabric *f;
    const struct fab_policy *p;
    const struct fab_pkeys *pkeys;
};

static bool is_member(const struct membership *c, uint32_t port, uint64_t first, uint64_t last)
{
    uint32_t count;
    const uint16_t *key = fab_target_pkeys_table_or_default(c->pkeys, port, &count);
    for (uint32_t i = 0; i < count; i++) {
        uint16_t base = fab_target_pkey_base(key[i]);
        if (base != 0 && base >= (first & 0x7fff) && base <= (last & 0x7fff))
            return true;
    }
    return false;
}

static bool in_partition(const struct membership *c, uint32_t port, const char *name)
{
    const struct fab_partitions *all = c->p->partitions;
    for (size_t i = 0; all != NULL && i < all->partitions; i++)
        if (strcmp(all->partition[i].name, name) == 0)
            return is_member(c, port, all->partition[i].pkey, all->partition[i].pkey);
    return false;
}

static bool in_other(const struct membership *c, uint32_t port, const char *name)
{
    const struct fab_partitions *all = c->p->partitions;
    for (size_t i = 0; all != NULL && i < all->groups; i++) {
        const struct fab_port_group *g = &all->group[i];
        for (size_t k = 0; strcmp(g->name, name) == 0 && k < g->count; k++)
            if (fab_target_selector_matches(c->f, c->p->pins, &g->member[k], port))
                return true;
    }
    return false;
}

static bool is_in(const struct membership *c, uint32_t port, const struct fab_class_member *m)
{
    uint64_t guid = fab_fabric_port(c->f, port)->guid;
    switch (m->kind) {
    case FAB_CLASS_GUIDS:
        return guid >= m->first && guid <= m->last;
    case FAB_CLASS_PKEYS:
        return is_member(c, port, m->first, m->last);
    case FAB_CLASS_PARTITION:
        return in_partition(c, port, m->name);
    case FAB_CLASS_NODES:
        return (m->port == 0 || m->port == fab_fabric_port(c->f, port)->num) &&
               fab_target_node_matches(c->p->pins, &c->f->nodes[fab_fabric_port(c->f, port)->node],
                                       m->name);
    case FAB_CLASS_OF_OTHERS:
        return in_other(c, port, m->name);
    case FAB_CLASS_TYPES:
        return m->first >> c->f->nodes[fab_fabric_port(c->f, port)->node].type & 1;
    case FAB_CLASS_SELF:
        return port == c->f->self_port;
    }
    return false;
}

static uint64_t groups_of(const struct membership *c, uint32_t port)
{
    const struct fab_classes *classes = c->p->classes;
    uint64_t groups = 0;
    for (size_t i = 0; i < classes->groups; i++)
        for (size_t k = 0; k < classes->group[i].count && !(groups >> i & 1); k++)
            groups |= (uint64_t)is_in(c, port, &classes->group[i].member[k]) << i;
    return groups;
}

int fab_qos_matcher_init(struct fab_qos_matcher *m, const struct fab_fabric *f,
                         const struct fab_policy *p, const struct fab_pkeys *pkeys)
{
    const struct membership membership = {f, p, pkeys};
    struct fab_qos_matcher made = {.classes = p->classes, .partitions = p->partitions};
    if (p->classes != NULL && p->classes->groups > 0) {
        made.groups = calloc((size_t)f->port_count + 1, sizeof(*made.groups));
        if (made.groups == NULL)
            return FAB_E_NOMEM;
        made.ports = f->port_count;
        for (uint32_t port = 0; port < f->port_count; port++)
            if (fab_fabric_port_has_lid(f, port))
                made.groups[port] = groups_of(&membership, port);
    }
    *m = made;
    return FAB_OK;
}

void fab_qos_matcher_fini(struct fab_qos_matcher *m)
{
    free(m->groups);
    *m = (struct fab_qos_matcher){0};
}

/* ---- rules ----------------------------------------------------------------------------------- */

static bool within(const struct fab_ranges *r, bool has, uint64_t value)
{
    if (r->count == 0)
        return true;
    for (size_t i = 0; has && i < r->count; i++)
        if (value >= r->range[i].first && value <= r->range[i].last)
            return true;
    return false;
}

/* Returns true if *r has no ranges, or if one of its ranges contains the P_Key with or without the
 * membership bit. */
static bool has_pkey(const struct fab_ranges *r, uint16_t pkey)
{
    uint16_t base = pkey & 0x7fff;
    return within(r, base != 0, base) || within(r, base != 0, base | 0x8000u);
}

static bool fits(const struct fab_class_rule *r, uint64_t from, uint64_t to,
                 const struct fab_qos_path *path)
{
    return (r->from == 0 || (r->from & from)) && (r->to == 0 || (r->to & to)) &&
           (r->either == 0 || (r->either & (from | to))) &&
           within(&r->service, path->has_service, path->service) &&
           within(&r->qos_class, path->has_class, path->qos_class) &&
           has_pkey(&r->pkey, path->pkey);
}

static int by_partition(const struct fab_qos_matcher *m, uint16_t pkey)
{
    const struct fab_partition *p =
        m->partitions != NULL && pkey != 0 ? fab_policy_partitions_find(m->partitions, pkey) : NULL;
    for (int i = 1; p != NULL && p->sl != 0 && i < m->classes->count; i++)
        if (m->classes->class[i].sl == p->sl)
            return i;
    return -1;
}

int fab_qos_match(const struct fab_qos_matcher *m, const struct fab_qos_path *path)
{
    const struct fab_classes *c = m->classes;
    if (c == NULL || c->count < 2)
        return -1;
    uint64_t from = m->groups != NULL && path->src < m->ports ? m->groups[path->src] : 0;
    uint64_t to = m->groups != NULL && path->dst < m->ports ? m->groups[path->dst] : 0;
    for (size_t i = 0; i < c->rules; i++)
        if (fits(&c->rule[i], from, to, path))
            return c->rule[i].class;
    return by_partition(m, path->pkey);
}
