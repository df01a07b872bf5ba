/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores subscriptions. Each subscription has a slot, whose index does not change, because reports
 * in flight refer to it. A second array has the slots sorted by subscriber and number. So a query
 * can continue after the last subscription that it has returned, even if others were added or
 * removed meanwhile. */
#include "libfabmgr/registry/subscriptions.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/registry/reports.h"

int fab_registry_subscriptions_new(struct fab_subscriptions **ret)
{
    struct fab_subscriptions *s = calloc(1, sizeof *s);
    if (s == NULL)
        return FAB_E_NOMEM;
    s->free = FAB_SUBSCRIPTION_NONE;
    int r = fab_registry_reports_init(s);
    if (r == FAB_OK)
        *ret = s;
    else
        free(s);
    return r;
}

void fab_registry_subscriptions_free(struct fab_subscriptions *s)
{
    if (s == NULL)
        return;
    fab_registry_reports_fini(s);
    free(s->slot);
    free(s->order);
    free(s);
}

static int order(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare(const struct fab_wire_inform_info_record *r, const uint64_t gid[2],
                   uint32_t number)
{
    int by_guid = order(r->subscriber_gid[1], gid[1]),
        by_prefix = order(r->subscriber_gid[0], gid[0]);
    return by_guid ? by_guid : by_prefix ? by_prefix : order(r->number, number);
}

/* Returns the index in order[] of the subscription of subscriber `gid` with this number. If there
 * is none, returns the index at which it must be inserted, which is s->count if it would be the
 * last. */
static uint32_t place(const struct fab_subscriptions *s, const uint64_t gid[2], uint32_t number)
{
    uint32_t low = 0, high = s->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (compare(&s->slot[s->order[middle]].record, gid, number) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t fab_registry_subscriptions_next(const struct fab_subscriptions *s, const uint64_t gid[2],
                                         uint16_t number)
{
    uint32_t at = gid != NULL ? place(s, gid, number + 1u) : 0;
    return at < s->count ? s->order[at] : FAB_SUBSCRIPTION_NONE;
}

static bool is_of(const struct fab_subscription *x, const uint64_t gid[2])
{
    return x->record.subscriber_gid[0] == gid[0] && x->record.subscriber_gid[1] == gid[1];
}

static bool is_same(const struct fab_inform_info *a, const struct fab_inform_info *b)
{
    return a->gid[0] == b->gid[0] && a->gid[1] == b->gid[1] && a->lid_begin == b->lid_begin &&
           a->lid_end == b->lid_end && a->generic == b->generic && a->type == b->type &&
           a->trap == b->trap && a->qpn == b->qpn && a->producer == b->producer;
}

uint32_t fab_registry_subscriptions_find(const struct fab_subscriptions *s, const uint64_t gid[2],
                                         const struct fab_inform_info *info)
{
    for (uint32_t at = place(s, gid, 0); at < s->count; at++) {
        const struct fab_subscription *x = &s->slot[s->order[at]];
        if (!is_of(x, gid))
            break;
        if (is_same(&x->record.info, info))
            return s->order[at];
    }
    return FAB_SUBSCRIPTION_NONE;
}

uint32_t fab_registry_subscriptions_of(const struct fab_subscriptions *s, const uint64_t gid[2])
{
    return place(s, gid, UINT32_MAX) - place(s, gid, 0);
}

/* ---- changes --------------------------------------------------------------------------------- */

static int take_slot(struct fab_subscriptions *s, uint32_t *ret)
{
    size_t room = s->room;
    if (s->free != FAB_SUBSCRIPTION_NONE) {
        *ret = s->free;
        s->free = s->slot[s->free].after;
        return FAB_OK;
    }
    if (s->slots == s->room) {
        struct fab_subscription *more = fab_base_grow(s->slot, sizeof *more, s->slots + 1u, &room);
        if (more == NULL)
            return FAB_E_NOMEM;
        s->slot = more;
        s->room = (uint32_t)room;
    }
    s->slot[s->slots] = (struct fab_subscription){0};
    *ret = s->slots++;
    return FAB_OK;
}

/* Finds the lowest number that none of the subscriber's subscriptions has. Returns OK, or LIMIT if
 * the subscriber has too many subscriptions. */
static int free_number(const struct fab_subscriptions *s, const uint64_t gid[2], int *ret)
{
    int number = 0;
    uint32_t from = place(s, gid, 0);
    for (uint32_t at = from; at < s->count && is_of(&s->slot[s->order[at]], gid); at++) {
        if (at - from + 1 >= FAB_SUBSCRIPTIONS_EACH)
            return FAB_E_LIMIT;
        number += s->slot[s->order[at]].record.number == number;
    }
    *ret = number;
    return FAB_OK;
}

static int insert(struct fab_subscriptions *s, const uint64_t gid[2], int number, uint32_t *ret)
{
    uint32_t slot;
    if (s->count == FAB_SUBSCRIPTIONS_MOST)
        return FAB_E_LIMIT;
    uint32_t *rows = fab_base_grow(s->order, sizeof *rows, s->count + 1u, &s->order_room);
    if (rows == NULL)
        return FAB_E_NOMEM;
    s->order = rows;
    int r = take_slot(s, &slot);
    if (r != FAB_OK)
        return r;
    uint32_t at = place(s, gid, (uint32_t)number), turn = s->slot[slot].turn;
    memmove(rows + at + 1, rows + at, (s->count - at) * sizeof *rows);
    rows[at] = slot;
    s->count++;
    s->slot[slot] = (struct fab_subscription){.used = true, .turn = turn};
    s->slot[slot].record = (struct fab_wire_inform_info_record){.subscriber_gid = {gid[0], gid[1]},
                                                                .number = (uint16_t)number};
    fab_registry_reports_join(s, slot);
    *ret = slot;
    return FAB_OK;
}

int fab_registry_subscriptions_put(struct fab_subscriptions *s, const uint64_t gid[2],
                                   const struct fab_inform_info *info, bool trusted, int number,
                                   uint32_t *ret_slot)
{
    uint32_t slot = fab_registry_subscriptions_find(s, gid, info);
    int least = 0, r = FAB_OK;
    if (slot == FAB_SUBSCRIPTION_NONE)
        r = free_number(s, gid, &least);
    if (r == FAB_OK && slot == FAB_SUBSCRIPTION_NONE)
        r = insert(s, gid, number >= 0 ? number : least, &slot);
    if (r != FAB_OK)
        return r;
    s->slot[slot].record.info = *info;
    s->slot[slot].record.info.subscribe = 1;
    s->slot[slot].trusted = trusted;
    *ret_slot = slot;
    return FAB_OK;
}

void fab_registry_subscriptions_remove(struct fab_subscriptions *s, uint32_t slot)
{
    struct fab_subscription *x = &s->slot[slot];
    uint32_t at = place(s, x->record.subscriber_gid, x->record.number);
    fab_registry_reports_leave(s, slot);
    s->count--;
    memmove(s->order + at, s->order + at + 1, (s->count - at) * sizeof *s->order);
    x->used = false;
    x->after = s->free;
    s->free = slot;
}
