/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers the destinations for D-mod-k (Zahavi, 2012).
 *
 * The number of a host is leaf * leaf_size + position: `leaf` is the number of its leaf, and
 * `position` is its position among the hosts of the leaf (tree.h). Other destinations of a leaf
 * (port 0, aggregation nodes) share the numbers of its hosts. The number of a destination at an
 * upper switch is the sum of a hash of its node GUID and the position of its switch port (0 for
 * port 0). So this number does not depend on other nodes. If a port has several LIDs (LMC), each
 * LID takes the slot after that of the LID before, at every level.
 */
#include "libfabmgr/route/fattree/dmodk.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

#define HASH_MASK 0xfffffu

/* ---- DLIDs ----------------------------------------------------------------------------------- */

/* Finds the switch to which the owner of a LID is attached, and the number of the switch port that
 * leads to the owner. Returns false if the owner is not connected to a switch. */
static bool attachment(const struct fab_fabric *f, uint32_t owner, uint32_t *ret_sw,
                       uint8_t *ret_num)
{
    const struct fab_port *p = fab_fabric_port(f, owner);
    *ret_sw = p->node;
    *ret_num = 0;
    if (fab_fabric_node_is_switch(f, p->node))
        return p->num == 0;
    if (!fab_fabric_port_is_up(f, owner) ||
        !fab_fabric_node_is_switch(f, fab_fabric_port(f, p->peer)->node))
        return false;
    *ret_sw = fab_fabric_port(f, p->peer)->node;
    *ret_num = fab_fabric_port(f, p->peer)->num;
    return true;
}

static uint32_t number_of(const struct fab_tree *t, uint32_t owner, uint32_t sw, uint8_t position)
{
    uint32_t node = fab_fabric_port(t->f, owner)->node;
    uint32_t hashed = (uint32_t)fab_base_mix64(t->f->nodes[node].guid) & HASH_MASK;
    if (!t->o->leaf[sw])
        return hashed + position;
    uint32_t first = t->number[sw] * t->leaf_size;
    if (node == sw)
        return first + t->lower_pos[sw] % t->leaf_size;
    return first + (t->f->nodes[node].aggregation ? hashed % t->leaf_size : position);
}

struct first_lid {
    uint32_t lid, sw;
};
static int by_lid(const void *a, const void *b)
{
    const struct first_lid *x = a, *y = b;
    return (x->lid > y->lid) - (x->lid < y->lid);
}

/* Counts the DLIDs (destination LIDs) of each switch in count[]. Lists in first[] the switches that
 * have DLIDs, by the lowest DLID of each. */
static void count_dlids(const struct fab_tree *t, const struct fab_lids *lids, uint32_t *count,
                        struct first_lid *first, struct fab_dmodk *l)
{
    for (uint32_t lid = 1; lid <= lids->top; lid++) {
        uint32_t sw;
        uint8_t num;
        if (lids->owner[lid] == FAB_NONE || !attachment(t->f, lids->owner[lid], &sw, &num))
            continue;
        if (count[sw]++ == 0)
            first[l->dests++] = (struct first_lid){lid, sw};
        l->count++;
    }
    qsort(first, l->dests, sizeof(*first), by_lid);
}

/* Adds DLIDs to l->dlid[]. If `ends` is true, these are the DLIDs of adapters and routers;
 * otherwise they are the DLIDs of port 0 of switches. next[]: for each switch, the index in
 * l->dlid[] at which its next DLID is stored. */
static void list_dlids(const struct fab_tree *t, const struct fab_lids *lids, bool ends,
                       uint32_t *next, struct fab_dmodk *l)
{
    uint32_t known = FAB_NONE;
    uint8_t positions[256];
    for (uint32_t lid = 1; lid <= lids->top; lid++) {
        uint32_t owner = lids->owner[lid], sw;
        uint8_t num;
        if (owner == FAB_NONE ||
            fab_fabric_node_is_switch(t->f, fab_fabric_port(t->f, owner)->node) == ends ||
            !attachment(t->f, owner, &sw, &num))
            continue;
        if (num != 0 && known != sw) {
            fab_route_tree_host_positions(t->f, sw, t->first_host, positions);
            known = sw;
        }
        uint8_t position = num != 0 ? positions[num] : 0;
        l->dlid[next[sw]++] = (struct fab_dmodk_dlid){.lid = lid,
                                                      .number = number_of(t, owner, sw, position),
                                                      .offset = (uint8_t)(lid - lids->base[owner]),
                                                      .port = num};
    }
}

static void measure_runs(struct fab_dmodk *l)
{
    for (uint32_t d = 0; d < l->dests; d++) {
        struct fab_dmodk_dest *set = &l->dest[d];
        const struct fab_dmodk_dlid *dlid = l->dlid + set->at;
        set->run = 1;
        set->lid = dlid[0].lid;
        while (set->run < set->count && dlid[set->run].lid == dlid[set->run - 1].lid + 1)
            set->run++;
    }
}

static int make_dlids(const struct fab_tree *t, const struct fab_lids *lids, struct fab_dmodk *l)
{
    size_t n = (size_t)t->g->n + 1;
    uint32_t *next = calloc(n, sizeof(*next));
    struct first_lid *first = calloc(n, sizeof(*first));
    int status = FAB_E_NOMEM;
    l->sw = calloc(n, sizeof(*l->sw));
    l->dest = calloc(n, sizeof(*l->dest));
    if (next == NULL || first == NULL || l->sw == NULL || l->dest == NULL)
        goto out;
    count_dlids(t, lids, next, first, l);
    l->dlid = fab_base_alloc_array(l->count, sizeof(*l->dlid));
    if (l->dlid == NULL)
        goto out;
    for (uint32_t i = 0, at = 0; i < l->dests; i++) {
        uint32_t here = next[first[i].sw];
        l->sw[i] = first[i].sw;
        l->dest[i] = (struct fab_dmodk_dest){.at = at, .count = here};
        next[first[i].sw] = at;
        at += here;
    }
    list_dlids(t, lids, true, next, l);
    list_dlids(t, lids, false, next, l);
    measure_runs(l);
    status = FAB_OK;
out:
    free(next);
    free(first);
    return status;
}

/* ---- slots of all DLIDs ---------------------------------------------------------------------- */

static int compute_slots(const struct fab_dmodk *l, struct fab_dmodk_slots *g)
{
    g->slot = fab_base_alloc_array(l->count, 1);
    if (g->slot == NULL)
        return FAB_E_NOMEM;
    for (uint32_t i = 0; i < l->count; i++)
        g->slot[i] = (uint8_t)((l->dlid[i].number / g->divider + l->dlid[i].offset) % g->slots);
    return FAB_OK;
}

/* Sets *ret to the index of the element of slots_of[] for this divider and this number of slots. If
 * slots_of[] has no such element yet, adds one and computes the slot of each DLID. *room: number of
 * elements for which slots_of[] has memory. Returns NOMEM or LIMIT. */
static int find_slots(struct fab_dmodk *l, size_t *room, uint32_t divider, uint32_t slots,
                      uint16_t *ret)
{
    uint32_t i = slots == 0 ? 0 : 1;
    while (slots != 0 && i < l->slots_count &&
           (l->slots_of[i].divider != divider || l->slots_of[i].slots != slots))
        i++;
    if (i == l->slots_count || l->slots_count == 0) {
        struct fab_dmodk_slots *more =
            fab_base_grow(l->slots_of, sizeof(*more), (size_t)l->slots_count + 2, room);
        if (more == NULL)
            return FAB_E_NOMEM;
        l->slots_of = more;
        if (l->slots_count == 0)
            more[l->slots_count++] = (struct fab_dmodk_slots){0};
        if (slots != 0) {
            i = l->slots_count;
            more[l->slots_count++] = (struct fab_dmodk_slots){.divider = divider, .slots = slots};
            int status = i < UINT16_MAX ? compute_slots(l, &more[i]) : FAB_E_LIMIT;
            if (status != FAB_OK)
                return status;
        }
    }
    *ret = (uint16_t)i;
    return FAB_OK;
}

static int make_slots(const struct fab_tree *t, struct fab_dmodk *l)
{
    size_t room = 0;
    int status = FAB_OK;
    l->up = calloc((size_t)t->g->n + 1, sizeof(*l->up));
    l->down = calloc((size_t)t->g->n + 1, sizeof(*l->down));
    if (l->up == NULL || l->down == NULL)
        return FAB_E_NOMEM;
    for (uint32_t s = 0; s < t->g->n && status == FAB_OK; s++) {
        uint32_t slots = t->slot_at[s + 1] - t->slot_at[s];
        uint32_t rank = t->o->rank[s], parallel = rank > 0 ? t->parallel[rank - 1] : 1;
        status = find_slots(l, &room, t->divider[s], slots, &l->up[s]);
        if (status == FAB_OK)
            status = find_slots(l, &room, t->divider[s], parallel > 1 ? parallel : 0, &l->down[s]);
    }
    return status;
}

int fab_route_dmodk_make(const struct fab_tree *t, const struct fab_lids *lids,
                         struct fab_dmodk *ret)
{
    struct fab_dmodk l = {0};
    int status = make_dlids(t, lids, &l);
    if (status == FAB_OK)
        status = make_slots(t, &l);
    if (status == FAB_OK)
        *ret = l;
    else
        fab_route_dmodk_fini(&l);
    return status;
}

void fab_route_dmodk_fini(struct fab_dmodk *l)
{
    for (uint32_t i = 0; i < l->slots_count; i++)
        free(l->slots_of[i].slot);
    free(l->slots_of);
    free(l->dlid);
    free(l->sw);
    free(l->dest);
    free(l->up);
    free(l->down);
    memset(l, 0, sizeof(*l));
}
