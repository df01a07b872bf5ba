/* SPDX-License-Identifier: BSD-3-Clause */
/* The set of places where ports were last seen: an array sorted by node GUID and port number, and a
 * map from port GUIDs to indexes of this array. */
#include "libfabmgr/discover/places.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/map.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

struct fab_places {
    struct fab_place *list; /* [count] the places, sorted by node GUID and port number */
    size_t count;
    /* Maps a port GUID to the index in list[] of its first place. */
    struct fab_map by_port_guid;
    int refs; /* reference count, atomic */
};

static int compare(const struct fab_place *a, uint64_t guid, uint8_t port)
{
    if (a->guid != guid)
        return a->guid < guid ? -1 : 1;
    return a->port - port;
}

/* Compares two places, given by pointers to them, by node GUID and port number. If both are equal,
 * the order in the list decides. */
static int compare_refs(const void *x, const void *y)
{
    const struct fab_place *a = *(const struct fab_place *const *)x;
    const struct fab_place *b = *(const struct fab_place *const *)y;
    int order = compare(a, b->guid, b->port);
    return order != 0 ? order : (a > b) - (a < b);
}

static int fill(struct fab_places *p, const struct fab_place **order, size_t count)
{
    qsort(order, count, sizeof *order, compare_refs);
    for (size_t i = 0; i < count; i++)
        if (p->count == 0 || compare(&p->list[p->count - 1], order[i]->guid, order[i]->port) != 0)
            p->list[p->count++] = *order[i];
    int status = fab_base_map_reserve(&p->by_port_guid, p->count);
    for (size_t i = 0; i < p->count && status == FAB_OK; i++)
        if (p->list[i].port_guid != 0)
            (void)fab_base_map_add(&p->by_port_guid, p->list[i].port_guid, (uint32_t)i);
    return status;
}

int fab_discover_places_new(const struct fab_place *list, size_t count, struct fab_places **ret)
{
    struct fab_places *p = calloc(1, sizeof *p);
    const struct fab_place **order = fab_base_alloc_array(count + 1, sizeof *order);
    int status = FAB_E_NOMEM;
    if (p != NULL)
        p->refs = 1;
    if (p == NULL || order == NULL)
        goto out;
    p->list = fab_base_alloc_array(count + 1, sizeof *p->list);
    if (p->list == NULL)
        goto out;
    for (size_t i = 0; i < count; i++)
        order[i] = &list[i];
    status = fill(p, order, count);
    if (status == FAB_OK) {
        *ret = p;
        p = NULL;
    }
out:
    fab_discover_places_unref(p);
    free(order);
    return status;
}

static uint64_t port_guid(const struct fab_fabric *f, uint32_t port)
{
    uint32_t node = fab_fabric_port(f, port)->node;
    return fab_fabric_node_is_switch(f, node) ? fab_fabric_port(f, f->nodes[node].first_port)->guid
                                              : fab_fabric_port(f, port)->guid;
}

/* Finds the place of a port of the fabric: the port at the other end of its link or, if it has no
 * link, its place in `old`. Returns false if neither is known. */
static bool place_of(const struct fab_fabric *f, uint32_t port, const struct fab_places *old,
                     struct fab_place *ret)
{
    const struct fab_port *p = fab_fabric_port(f, port);
    uint64_t guid = f->nodes[p->node].guid;
    if (p->peer == FAB_NONE) {
        const struct fab_place *was = fab_discover_place(old, guid, p->num);
        if (was != NULL)
            *ret = *was;
        return was != NULL;
    }
    const struct fab_port *peer = fab_fabric_port(f, p->peer);
    *ret = (struct fab_place){.guid = guid,
                              .port_guid = port_guid(f, port),
                              .near_guid = f->nodes[peer->node].guid,
                              .port = p->num,
                              .near_port = peer->num,
                              .is_switch = fab_fabric_node_is_switch(f, p->node)};
    return true;
}

int fab_discover_places_of(const struct fab_fabric *f, const struct fab_places *old,
                           struct fab_places **ret)
{
    struct fab_place *list = fab_base_alloc_array((size_t)f->port_count + 1, sizeof *list);
    size_t count = 0;
    if (list == NULL)
        return FAB_E_NOMEM;
    for (uint32_t port = 0; port < f->port_count; port++)
        count += place_of(f, port, old, &list[count]);
    int status = fab_discover_places_new(list, count, ret);
    free(list);
    return status;
}

struct fab_places *fab_discover_places_ref(struct fab_places *p)
{
    if (p != NULL)
        __atomic_add_fetch(&p->refs, 1, __ATOMIC_RELAXED);
    return p;
}

void fab_discover_places_unref(struct fab_places *p)
{
    if (p == NULL || __atomic_sub_fetch(&p->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    fab_base_map_fini(&p->by_port_guid);
    free(p->list);
    free(p);
}

/* Returns the index of the first place whose node GUID and port number are not less than `guid` and
 * `port`. */
static size_t lower(const struct fab_places *p, uint64_t guid, uint8_t port)
{
    size_t low = 0, high = p->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(&p->list[middle], guid, port) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct fab_place *fab_discover_place(const struct fab_places *p, uint64_t guid, uint8_t port)
{
    size_t i = p != NULL ? lower(p, guid, port) : 0;
    return p != NULL && i < p->count && compare(&p->list[i], guid, port) == 0 ? &p->list[i] : NULL;
}

const struct fab_place *fab_discover_place_of_node(const struct fab_places *p, uint64_t guid)
{
    size_t i = p != NULL ? lower(p, guid, 0) : 0;
    return p != NULL && i < p->count && p->list[i].guid == guid ? &p->list[i] : NULL;
}

const struct fab_place *fab_discover_place_of_port_guid(const struct fab_places *p, uint64_t guid)
{
    uint32_t i;
    return p != NULL && fab_base_map_get(&p->by_port_guid, guid, &i) ? &p->list[i] : NULL;
}

const struct fab_place *fab_discover_places_list(const struct fab_places *p, size_t *ret_count)
{
    *ret_count = p != NULL ? p->count : 0;
    return p != NULL ? p->list : NULL;
}
