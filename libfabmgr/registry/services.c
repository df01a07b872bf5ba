/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores services in one array sorted by key. A query remembers the last key that it returned, so
 * it can continue even if services were added or removed meanwhile. Each service has the bytes of
 * its record as they are on the wire; queries compare these bytes. */
#include "libfabmgr/registry/services.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

void fab_registry_services_fini(struct fab_services *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->row[i]);
    free(s->row);
    fab_base_map_fini(&s->owners);
    *s = (struct fab_services){0};
}

static int order(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare(const struct fab_service_key *a, const struct fab_service_key *b)
{
    int by_id = order(a->id, b->id), by_prefix = order(a->gid[0], b->gid[0]),
        by_guid = order(a->gid[1], b->gid[1]);
    return by_id ? by_id : by_prefix ? by_prefix : by_guid ? by_guid : order(a->pkey, b->pkey);
}

/* Returns the index of the service with this key; then *ret_there is true. If there is no such
 * service, returns the index at which it must be inserted; then *ret_there is false. */
static size_t place(const struct fab_services *s, const struct fab_service_key *key,
                    bool *ret_there)
{
    size_t low = 0, high = s->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(&s->row[middle]->key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *ret_there = low < s->count && compare(&s->row[low]->key, key) == 0;
    return low;
}

const struct fab_service *fab_registry_services_find(const struct fab_services *s,
                                                     const struct fab_service_key *key)
{
    bool there;
    size_t at = place(s, key, &there);
    return there ? s->row[at] : NULL;
}

const struct fab_service *fab_registry_services_next(const struct fab_services *s,
                                                     const struct fab_service_key *key)
{
    bool there = false;
    size_t at = key != NULL ? place(s, key, &there) : 0;
    at += there;
    return at < s->count ? s->row[at] : NULL;
}

/* ---- changes --------------------------------------------------------------------------------- */

uint32_t fab_registry_services_of(const struct fab_services *s, uint64_t owner)
{
    uint32_t count = 0;
    (void)fab_base_map_get(&s->owners, owner, &count);
    return count;
}

static void disown(struct fab_services *s, uint64_t owner)
{
    uint32_t count = fab_registry_services_of(s, owner);
    if (count > 1)
        /* this call cannot fail, because the map has the key already */
        (void)fab_base_map_put(&s->owners, owner, count - 1);
    else
        (void)fab_base_map_remove(&s->owners, owner);
}

static void note_end(struct fab_services *s, int64_t ends_us)
{
    if (ends_us != 0 && (s->ends_us == 0 || ends_us < s->ends_us))
        s->ends_us = ends_us;
}

static int insert(struct fab_services *s, size_t at, const struct fab_service *service)
{
    if (s->count == FAB_SERVICES_MOST)
        return FAB_E_LIMIT;
    struct fab_service *row = malloc(sizeof *row);
    struct fab_service **rows =
        row ? fab_base_grow(s->row, sizeof *rows, s->count + 1, &s->room) : NULL;
    if (rows != NULL)
        s->row = rows;
    if (rows == NULL || fab_base_map_put(&s->owners, service->owner,
                                         fab_registry_services_of(s, service->owner) + 1) != 0) {
        free(row);
        return FAB_E_NOMEM;
    }
    *row = *service;
    memmove(rows + at + 1, rows + at, (s->count - at) * sizeof *rows);
    rows[at] = row;
    s->count++;
    return FAB_OK;
}

/* Replaces a service that is registered again. The port that registers it this time becomes its
 * owner. */
static int replace(struct fab_services *s, struct fab_service *row,
                   const struct fab_service *service)
{
    if (row->owner != service->owner) {
        if (fab_base_map_put(&s->owners, service->owner,
                             fab_registry_services_of(s, service->owner) + 1) != FAB_OK)
            return FAB_E_NOMEM;
        disown(s, row->owner);
    }
    *row = *service;
    return FAB_OK;
}

int fab_registry_services_put(struct fab_services *s, const struct fab_service *service)
{
    bool there;
    size_t at = place(s, &service->key, &there);
    int r = there ? replace(s, s->row[at], service) : insert(s, at, service);
    if (r == FAB_OK)
        note_end(s, service->ends_us);
    return r;
}

bool fab_registry_services_remove(struct fab_services *s, const struct fab_service_key *key)
{
    bool there;
    size_t at = place(s, key, &there);
    if (!there)
        return false;
    disown(s, s->row[at]->owner);
    free(s->row[at]);
    s->count--;
    memmove(s->row + at, s->row + at + 1, (s->count - at) * sizeof *s->row);
    return true;
}

void fab_registry_services_expire(struct fab_services *s, int64_t now_us,
                                  void (*gone)(void *ctx, const struct fab_service *service),
                                  void *ctx)
{
    size_t kept = 0;
    s->ends_us = 0;
    for (size_t i = 0; i < s->count; i++) {
        struct fab_service *row = s->row[i];
        if (row->ends_us == 0 || row->ends_us > now_us) {
            note_end(s, row->ends_us);
            s->row[kept++] = row;
            continue;
        }
        if (gone != NULL)
            gone(ctx, row);
        disown(s, row->owner);
        free(row);
    }
    s->count = kept;
}
