/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Destinations as D-mod-k counts them.
 *
 * A host of a leaf has the number leaf * leaf_size + seat; the other things on a leaf (its own
 * port 0, aggregation nodes) share the numbers of the leaf. What hangs on an upper switch has no
 * place among the hosts; its number is drawn from its GUID, so that it has nothing to do with what
 * else there is. The further LIDs of an LMC range are one slot on at every level.
 */
#include "libfabmgr/route/fattree/dmodk.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

#define DRAWN 0xfffffu

/* ---- lanes ----------------------------------------------------------------------------------- */

/* The switch where packets to the owner leave, and the port; false: nowhere. */
static bool attachment(const struct fab_fabric *f, uint32_t owner, uint32_t *ret_sw,
                       uint8_t *ret_num)
{
    const struct fab_port *p = &f->ports[owner];
    *ret_sw = p->node;
    *ret_num = 0;
    if (fab_node_is_switch(f, p->node))
        return p->num == 0;
    if (!fab_port_is_up(f, owner) || !fab_node_is_switch(f, f->ports[p->peer].node))
        return false;
    *ret_sw = f->ports[p->peer].node;
    *ret_num = f->ports[p->peer].num;
    return true;
}

static uint32_t number_of(const struct fab_tree *t, uint32_t owner, uint32_t sw, uint8_t seat)
{
    uint32_t node = t->f->ports[owner].node;
    uint32_t drawn = (uint32_t)fab_mix64(t->f->nodes[node].guid) & DRAWN;
    if (!t->o->leaf[sw])
        return drawn + seat;
    uint32_t first = t->number[sw] * t->leaf_size;
    if (node == sw)
        return first + t->under[sw] % t->leaf_size;
    return first + (t->f->nodes[node].aggregation ? drawn % t->leaf_size : seat);
}

struct first_lid {
    uint32_t lid, sw;
};
static int by_lid(const void *a, const void *b)
{
    const struct first_lid *x = a, *y = b;
    return (x->lid > y->lid) - (x->lid < y->lid);
}

/* Counts the lanes of each switch into count[], and lists the switches that have any. */
static void count_lanes(const struct fab_tree *t, const struct fab_lids *lids, uint32_t *count,
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

/* Those of the ends, or those of the switches themselves. */
static void fill_lanes(const struct fab_tree *t, const struct fab_lids *lids, bool ends,
                       uint32_t *next, struct fab_dmodk *l)
{
    uint32_t known = FAB_NONE;
    uint8_t seats[256];
    for (uint32_t lid = 1; lid <= lids->top; lid++) {
        uint32_t owner = lids->owner[lid], sw;
        uint8_t num;
        if (owner == FAB_NONE || fab_node_is_switch(t->f, t->f->ports[owner].node) == ends ||
            !attachment(t->f, owner, &sw, &num))
            continue;
        if (num != 0 && known != sw) {
            fab_route_tree_host_positions(t->f, sw, t->first_host, seats);
            known = sw;
        }
        uint8_t seat = num != 0 ? seats[num] : 0;
        l->lane[next[sw]++] = (struct fab_dmodk_dlid){.lid = lid,
                                                      .number = number_of(t, owner, sw, seat),
                                                      .offset = (uint8_t)(lid - lids->base[owner]),
                                                      .port = num};
    }
}

static void measure_runs(struct fab_dmodk *l)
{
    for (uint32_t d = 0; d < l->dests; d++) {
        struct fab_dmodk_dest *set = &l->dest[d];
        const struct fab_dmodk_dlid *lane = l->lane + set->at;
        set->run = 1;
        set->lid = lane[0].lid;
        while (set->run < set->count && lane[set->run].lid == lane[set->run - 1].lid + 1)
            set->run++;
    }
}

static int make_lanes(const struct fab_tree *t, const struct fab_lids *lids, struct fab_dmodk *l)
{
    size_t n = (size_t)t->g->n + 1;
    uint32_t *next = calloc(n, sizeof(*next));
    struct first_lid *first = calloc(n, sizeof(*first));
    int status = FAB_E_NOMEM;
    l->sw = calloc(n, sizeof(*l->sw));
    l->dest = calloc(n, sizeof(*l->dest));
    if (next == NULL || first == NULL || l->sw == NULL || l->dest == NULL)
        goto out;
    count_lanes(t, lids, next, first, l);
    l->lane = fab_alloc_array(l->count, sizeof(*l->lane));
    if (l->lane == NULL)
        goto out;
    for (uint32_t i = 0, at = 0; i < l->dests; i++) {
        uint32_t here = next[first[i].sw];
        l->sw[i] = first[i].sw;
        l->dest[i] = (struct fab_dmodk_dest){.at = at, .count = here};
        next[first[i].sw] = at;
        at += here;
    }
    fill_lanes(t, lids, true, next, l);
    fill_lanes(t, lids, false, next, l);
    measure_runs(l);
    status = FAB_OK;
out:
    free(next);
    free(first);
    return status;
}

/* ---- gears ----------------------------------------------------------------------------------- */

static int turn_gear(const struct fab_dmodk *l, struct fab_dmodk_slots *g)
{
    g->slot = fab_alloc_array(l->count, 1);
    if (g->slot == NULL)
        return FAB_E_NOMEM;
    for (uint32_t i = 0; i < l->count; i++)
        g->slot[i] = (uint8_t)((l->lane[i].number / g->divider + l->lane[i].offset) % g->slots);
    return FAB_OK;
}

/* The index of the gear; makes it if it is new. Gear 0 is for no slots. */
static int find_gear(struct fab_dmodk *l, size_t *room, uint32_t divider, uint32_t slots,
                     uint16_t *ret)
{
    uint32_t i = slots == 0 ? 0 : 1;
    while (slots != 0 && i < l->gears &&
           (l->gear[i].divider != divider || l->gear[i].slots != slots))
        i++;
    if (i == l->gears || l->gears == 0) {
        struct fab_dmodk_slots *more = fab_grow(l->gear, sizeof(*more), (size_t)l->gears + 2, room);
        if (more == NULL)
            return FAB_E_NOMEM;
        l->gear = more;
        if (l->gears == 0)
            more[l->gears++] = (struct fab_dmodk_slots){0};
        if (slots != 0) {
            i = l->gears;
            more[l->gears++] = (struct fab_dmodk_slots){.divider = divider, .slots = slots};
            int status = i < UINT16_MAX ? turn_gear(l, &more[i]) : FAB_E_LIMIT;
            if (status != FAB_OK)
                return status;
        }
    }
    *ret = (uint16_t)i;
    return FAB_OK;
}

static int make_gears(const struct fab_tree *t, struct fab_dmodk *l)
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
        status = find_gear(l, &room, t->divider[s], slots, &l->up[s]);
        if (status == FAB_OK)
            status = find_gear(l, &room, t->divider[s], parallel > 1 ? parallel : 0, &l->down[s]);
    }
    return status;
}

int fab_route_dmodk_make(const struct fab_tree *t, const struct fab_lids *lids,
                         struct fab_dmodk *ret)
{
    struct fab_dmodk l = {0};
    int status = make_lanes(t, lids, &l);
    if (status == FAB_OK)
        status = make_gears(t, &l);
    if (status == FAB_OK)
        *ret = l;
    else
        fab_route_dmodk_fini(&l);
    return status;
}

void fab_route_dmodk_fini(struct fab_dmodk *l)
{
    for (uint32_t i = 0; i < l->gears; i++)
        free(l->gear[i].slot);
    free(l->gear);
    free(l->lane);
    free(l->sw);
    free(l->dest);
    free(l->up);
    free(l->down);
    memset(l, 0, sizeof(*l));
}
