/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds nodes that have exchanged their places or their names. Such a pair of switches or hosts has
 * swapped its cables, or at least half of them, port by port. The moves would correct each cable
 * alone; to exchange the two nodes, or their names, corrects all of them at once. */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/cabling/check.h"
#include "libfabmgr/cabling/name.h"

/* A unit is a switch, or a host with all its adapters. The id of a unit is the id of its first
 * site. */
struct units {
    uint32_t *unit;  /* [site_count] the unit of each site */
    uint32_t *links; /* [site_count] number of planned links of each unit */
};

static int make_units(const struct fab_cabling_check *c, struct units *u)
{
    u->unit = fab_base_alloc_array(c->site_count, sizeof *u->unit);
    u->links = calloc(c->site_count + 1u, sizeof *u->links);
    if (u->unit == NULL || u->links == NULL)
        return FAB_E_NOMEM;
    for (uint32_t i = 0, count; i < c->site_count; i += count) {
        count = fab_cabling_system_size(c, i);
        for (uint32_t k = i; k < i + count; k++) {
            uint32_t site = c->by_name[k];
            u->unit[site] = c->sites[site].is_switch ? site : c->by_name[i];
        }
    }
    for (uint32_t p = 0; p < c->port_count; p++)
        u->links[u->unit[c->port_site[p]]] += c->planned[p] != FAB_NONE;
    return FAB_OK;
}

/* Returns true if two ports correspond to each other: they have the same number in their units and,
 * for hosts, their adapters have the same name within the host. */
static bool are_alike(const struct fab_cabling_check *c, uint32_t p, uint32_t q)
{
    const struct fab_cabling_site *x = fab_cabling_site_of(c, p), *y = fab_cabling_site_of(c, q);
    if (fab_cabling_port_number(c, p) != fab_cabling_port_number(c, q) ||
        x->is_switch != y->is_switch)
        return false;
    return x->is_switch || strcmp(x->key + fab_cabling_system_len(x->key),
                                  y->key + fab_cabling_system_len(y->key)) == 0;
}

/* The ports p and q have exchanged their cables. If they correspond to each other and belong to
 * different units, adds the pair of these units to pairs[]. */
static void add_pair(const struct fab_cabling_check *c, const struct units *u, uint32_t p,
                     uint32_t q, struct fab_cabling_exchange *pairs, size_t *count)
{
    uint32_t a = u->unit[c->port_site[p]], b = u->unit[c->port_site[q]];
    if (a != b && are_alike(c, p, q))
        pairs[(*count)++] = (struct fab_cabling_exchange){a < b ? a : b, a < b ? b : a, 1};
}

static int compare_pairs(const void *x, const void *y)
{
    const struct fab_cabling_exchange *p = x, *q = y;
    if (p->a != q->a)
        return p->a < q->a ? -1 : 1;
    return (p->b > q->b) - (p->b < q->b);
}

/* Merges equal pairs, and adds up their cables. Keeps a pair only if at least two cables are
 * swapped, and they are at least half as many as the planned links of unit `a`. Returns the number
 * of pairs that it has kept. */
static size_t join_pairs(const struct units *u, struct fab_cabling_exchange *pairs, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0, next; i < count; i = next) {
        struct fab_cabling_exchange x = pairs[i];
        for (next = i + 1; next < count && compare_pairs(&pairs[next], &x) == 0; next++)
            x.cables++;
        if (x.cables >= 2 && x.cables * 2 >= u->links[x.a])
            pairs[kept++] = x;
    }
    return kept;
}

int fab_cabling_find_exchanges(struct fab_cabling_check *c)
{
    const struct fab_cabling_moves *m = &c->moves;
    struct units u = {0};
    size_t count = 0;
    int rc = make_units(c, &u);
    c->exchanges = fab_base_alloc_array(2 * m->count, sizeof *c->exchanges);
    if (c->exchanges == NULL)
        rc = FAB_E_NOMEM;
    for (size_t i = 0; i < m->count && rc == FAB_OK; i++) {
        const struct fab_cabling_move *x = &m->moves[i];
        bool alone = (i == 0 || m->moves[i - 1].group != x->group) &&
                     (i + 1 == m->count || m->moves[i + 1].group != x->group);
        if (x->step != FAB_CABLING_EXCHANGE || !alone)
            continue;
        add_pair(c, &u, x->a, x->b, c->exchanges, &count);
        add_pair(c, &u, c->actual[x->a], c->actual[x->b], c->exchanges, &count);
    }
    if (rc == FAB_OK && count > 1)
        qsort(c->exchanges, count, sizeof *c->exchanges, compare_pairs);
    if (rc == FAB_OK)
        c->exchange_count = join_pairs(&u, c->exchanges, count);
    free(u.unit);
    free(u.links);
    return rc;
}
