/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stores a baseline: a sorted array of approved places, a map from both ends of a place to its
 * index in the array, and maps of all node GUIDs and of all port GUIDs.
 *
 * A key of the map of ends is a 64-bit hash of node GUID and port. Each lookup also compares node
 * GUID and port. If two ends had the same hash, one of them would be missing from the map, and its
 * device would have to be approved again.
 */
#include "libfabmgr/discover/baseline.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/map.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

struct fab_baseline {
    struct fab_approved *list; /* [count] the entries, sorted by node GUID and port number */
    size_t count;
    struct fab_map by_end;  /* hash of an end (node GUID and port) -> index in list[] */
    struct fab_map by_node; /* the GUIDs of the nodes at both ends of all entries */
    struct fab_map by_port; /* port GUIDs of all entries */
    int refs;               /* reference count, atomic */
};

/* ---- ends ------------------------------------------------------------------------------------ */

static uint64_t end_hash(uint64_t guid, uint8_t port)
{
    return fab_base_mix64(guid * UINT64_C(0x9e3779b97f4a7c15) + port);
}

static bool has_end(const struct fab_place *p, uint64_t guid, uint8_t port)
{
    return (p->guid == guid && p->port == port) || (p->near_guid == guid && p->near_port == port);
}

static bool same_links(const struct fab_place *a, const struct fab_place *b)
{
    return has_end(a, b->guid, b->port) && has_end(a, b->near_guid, b->near_port);
}

const struct fab_approved *fab_discover_baseline_at(const struct fab_baseline *b, uint64_t guid,
                                                    uint8_t port)
{
    uint32_t i;
    if (b == NULL || !fab_base_map_get(&b->by_end, end_hash(guid, port), &i))
        return NULL;
    return has_end(&b->list[i].place, guid, port) ? &b->list[i] : NULL;
}

/* Returns the place as the baseline stores it: for a link between switches, the switch with the
 * lower GUID is the device. */
static struct fab_place canonical(const struct fab_place *p)
{
    bool lower = p->guid != p->near_guid ? p->guid < p->near_guid : p->port < p->near_port;
    if (!p->is_switch || lower)
        return *p;
    return (struct fab_place){.guid = p->near_guid,
                              .port_guid = p->near_guid,
                              .near_guid = p->guid,
                              .port = p->near_port,
                              .near_port = p->port,
                              .is_switch = true};
}

/* ---- making a baseline ----------------------------------------------------------------------- */

static int compare(const void *x, const void *y)
{
    const struct fab_place *a = &((const struct fab_approved *)x)->place;
    const struct fab_place *b = &((const struct fab_approved *)y)->place;
    if (a->guid != b->guid)
        return a->guid < b->guid ? -1 : 1;
    return a->port - b->port;
}

/* Adds an entry to the list, unless an earlier entry has the same port at one of its ends. */
static void take(struct fab_baseline *b, const struct fab_approved *a)
{
    const struct fab_place at = canonical(&a->place), *p = &at;
    uint64_t end = end_hash(p->guid, p->port), near = end_hash(p->near_guid, p->near_port);
    if (fab_base_map_has(&b->by_end, end) || fab_base_map_has(&b->by_end, near))
        return;
    (void)fab_base_map_put(&b->by_end, end, 0);
    (void)fab_base_map_put(&b->by_end, near, 0);
    b->list[b->count] = *a;
    b->list[b->count++].place = at;
}

/* Fills the maps. They have room for all entries, so fab_base_map_put cannot fail, and
 * fab_base_map_add fails only for a key that exists. */
static void index_all(struct fab_baseline *b)
{
    if (b->count > 1)
        qsort(b->list, b->count, sizeof *b->list, compare);
    for (size_t i = 0; i < b->count; i++) {
        const struct fab_place *p = &b->list[i].place;
        (void)fab_base_map_put(&b->by_end, end_hash(p->guid, p->port), (uint32_t)i);
        (void)fab_base_map_put(&b->by_end, end_hash(p->near_guid, p->near_port), (uint32_t)i);
        (void)fab_base_map_add(&b->by_node, p->guid, 0);
        (void)fab_base_map_add(&b->by_node, p->near_guid, 0);
        (void)fab_base_map_add(&b->by_port, p->port_guid, 0);
    }
}

static int reserve(struct fab_baseline *b, size_t count)
{
    b->list = fab_base_alloc_array(count + 1, sizeof *b->list);
    if (b->list == NULL)
        return FAB_E_NOMEM;
    int r = fab_base_map_reserve(&b->by_end, 2 * count);
    if (r == FAB_OK)
        r = fab_base_map_reserve(&b->by_node, 2 * count);
    return r == FAB_OK ? fab_base_map_reserve(&b->by_port, count) : r;
}

/* Makes a baseline from two lists. If two entries have a port in common, keeps the one from the
 * first list. Returns OK or NOMEM. */
static int join(const struct fab_approved *first, size_t firsts, const struct fab_approved *second,
                size_t seconds, struct fab_baseline **ret)
{
    struct fab_baseline *b = calloc(1, sizeof *b);
    if (b == NULL)
        return FAB_E_NOMEM;
    b->refs = 1;
    int r = reserve(b, firsts + seconds);
    if (r != FAB_OK) {
        fab_discover_baseline_unref(b);
        return r;
    }
    for (size_t i = 0; i < firsts; i++)
        take(b, &first[i]);
    for (size_t i = 0; i < seconds; i++)
        take(b, &second[i]);
    index_all(b);
    *ret = b;
    return FAB_OK;
}

int fab_discover_baseline_new(const struct fab_approved *list, size_t count,
                              struct fab_baseline **ret)
{
    return join(list, count, NULL, 0, ret);
}

struct fab_baseline *fab_discover_baseline_ref(struct fab_baseline *b)
{
    if (b != NULL)
        __atomic_add_fetch(&b->refs, 1, __ATOMIC_RELAXED);
    return b;
}

void fab_discover_baseline_unref(struct fab_baseline *b)
{
    if (b == NULL || __atomic_sub_fetch(&b->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    free(b->list);
    fab_base_map_fini(&b->by_end);
    fab_base_map_fini(&b->by_node);
    fab_base_map_fini(&b->by_port);
    free(b);
}

const struct fab_approved *fab_discover_baseline_list(const struct fab_baseline *b,
                                                      size_t *ret_count)
{
    *ret_count = b != NULL ? b->count : 0;
    return b != NULL ? b->list : NULL;
}

bool fab_discover_baseline_knows(const struct fab_baseline *b, uint64_t guid)
{
    return b != NULL && fab_base_map_has(&b->by_node, guid);
}

bool fab_discover_baseline_has_guid(const struct fab_baseline *b, uint64_t guid)
{
    return fab_discover_baseline_knows(b, guid) ||
           (b != NULL && fab_base_map_has(&b->by_port, guid));
}

/* ---- changed copies -------------------------------------------------------------------------- */

int fab_discover_baseline_with(const struct fab_baseline *b, const struct fab_approved *more,
                               size_t count, struct fab_baseline **ret)
{
    size_t had;
    const struct fab_approved *list = fab_discover_baseline_list(b, &had);
    return join(more, count, list, had, ret);
}

/* Makes a set of the node GUIDs guid[count]. Returns OK, NOT_FOUND (a node has no place in the
 * baseline) or NOMEM. */
static int collect(const struct fab_baseline *b, const uint64_t *guid, size_t count,
                   struct fab_map *ret)
{
    int r = fab_base_map_reserve(ret, count);
    for (size_t i = 0; i < count && r == FAB_OK; i++)
        r = fab_discover_baseline_knows(b, guid[i]) ? fab_base_map_put(ret, guid[i], 0)
                                                    : FAB_E_NOT_FOUND;
    return r;
}

/* Makes a copy of b without the places of a set of nodes. Returns OK or NOMEM. */
static int leave_out(const struct fab_baseline *b, const struct fab_map *nodes,
                     struct fab_baseline **ret)
{
    size_t had, kept = 0;
    const struct fab_approved *list = fab_discover_baseline_list(b, &had);
    struct fab_approved *stay = fab_base_alloc_array(had + 1, sizeof *stay);
    if (stay == NULL)
        return FAB_E_NOMEM;
    for (size_t i = 0; i < had; i++)
        if (!fab_base_map_has(nodes, list[i].place.guid) &&
            !fab_base_map_has(nodes, list[i].place.near_guid))
            stay[kept++] = list[i];
    int r = join(stay, kept, NULL, 0, ret);
    free(stay);
    return r;
}

int fab_discover_baseline_without(const struct fab_baseline *b, const uint64_t *guid, size_t count,
                                  struct fab_baseline **ret)
{
    struct fab_map nodes = {0};
    int r = collect(b, guid, count, &nodes);
    if (r == FAB_OK)
        r = leave_out(b, &nodes, ret);
    fab_base_map_fini(&nodes);
    return r;
}

/* ---- judging --------------------------------------------------------------------------------- */

/* Returns the GUID of another node that is approved at the switch port of place p; 0: there is
 * none. */
static uint64_t holder_of(const struct fab_baseline *b, const struct fab_place *p)
{
    const struct fab_approved *a = fab_discover_baseline_at(b, p->near_guid, p->near_port);
    if (a == NULL)
        return 0;
    uint64_t far = a->place.near_guid == p->near_guid && a->place.near_port == p->near_port
                       ? a->place.guid
                       : a->place.near_guid;
    return far != p->guid ? far : 0;
}

static enum fab_unapproved_why judge_switch(const struct fab_baseline *b, const struct fab_place *p)
{
    const struct fab_approved *a = fab_discover_baseline_at(b, p->guid, p->port);
    if (a != NULL && a->place.is_switch && same_links(&a->place, p))
        return FAB_APPROVED_HERE;
    return fab_discover_baseline_knows(b, p->guid) && fab_discover_baseline_knows(b, p->near_guid)
               ? FAB_UNAPPROVED_LINK
               : FAB_UNAPPROVED_SWITCH;
}

static enum fab_unapproved_why judge_host(const struct fab_baseline *b, const struct fab_place *p,
                                          struct fab_unapproved *ret)
{
    const struct fab_approved *a = fab_discover_baseline_at(b, p->guid, p->port);
    if (a == NULL)
        return fab_discover_baseline_knows(b, p->guid) ? FAB_UNAPPROVED_PORT : FAB_UNAPPROVED_NEW;
    if (a->place.is_switch || a->place.port_guid != p->port_guid)
        return FAB_UNAPPROVED_PORT;
    if (same_links(&a->place, p))
        return FAB_APPROVED_HERE;
    ret->first_guid = a->place.near_guid;
    ret->first_port = a->place.near_port;
    return FAB_UNAPPROVED_MOVED;
}

/* *p is a link between two switches, of which the switch p->guid counts as the device. If only the
 * switch near_guid is missing from the baseline, swaps the ends, so that the missing switch counts
 * as the device. */
static void turn(const struct fab_baseline *b, struct fab_place *p)
{
    const struct fab_place was = *p;
    if (!fab_discover_baseline_knows(b, was.guid) || fab_discover_baseline_knows(b, was.near_guid))
        return;
    *p = (struct fab_place){.guid = was.near_guid,
                            .port_guid = was.near_guid,
                            .near_guid = was.guid,
                            .port = was.near_port,
                            .near_port = was.port,
                            .is_switch = true};
}

enum fab_unapproved_why fab_discover_baseline_judge(const struct fab_baseline *b,
                                                    const struct fab_place *place,
                                                    struct fab_unapproved *ret)
{
    struct fab_unapproved u = {.place = *place};
    enum fab_unapproved_why why =
        place->is_switch ? judge_switch(b, place) : judge_host(b, place, &u);
    u.why = (uint8_t)why;
    if (why == FAB_UNAPPROVED_SWITCH)
        turn(b, &u.place);
    if (why == FAB_UNAPPROVED_LINK)
        u.place = canonical(place);
    u.holder = holder_of(b, &u.place);
    if (why != FAB_APPROVED_HERE)
        *ret = u;
    return why;
}

/* ---- a whole fabric -------------------------------------------------------------------------- */

bool fab_discover_baseline_place(const struct fab_fabric *f, uint32_t port, struct fab_place *ret)
{
    const struct fab_port *p = fab_fabric_port(f, port);
    if (p->peer == FAB_NONE)
        return false;
    const struct fab_port *peer = fab_fabric_port(f, p->peer);
    const struct fab_node *node = &f->nodes[p->node], *near = &f->nodes[peer->node];
    bool is_switch = fab_fabric_node_is_switch(f, p->node);
    bool is_near = fab_fabric_node_is_switch(f, peer->node);
    bool is_lower = node->guid != near->guid ? node->guid < near->guid : p->num < peer->num;
    /* A link between switches has its place at the end with the lower GUID; the other end has no
     * place. */
    if (is_switch && (!is_near || !is_lower))
        return false;
    uint64_t guid = is_switch ? fab_fabric_port(f, node->first_port)->guid : p->guid;
    *ret = (struct fab_place){.guid = node->guid,
                              .port_guid = guid,
                              .near_guid = near->guid,
                              .port = p->num,
                              .near_port = peer->num,
                              .is_switch = is_switch};
    return true;
}

int fab_discover_baseline_compare(const struct fab_baseline *b, const struct fab_fabric *f,
                                  struct fab_unapproved **ret_list, size_t *ret_count)
{
    struct fab_unapproved *list = NULL, one;
    struct fab_place place;
    size_t count = 0, room = 0;
    for (uint32_t port = 0; port < f->port_count; port++) {
        if (!fab_discover_baseline_place(f, port, &place) ||
            fab_discover_baseline_judge(b, &place, &one) == FAB_APPROVED_HERE)
            continue;
        void *more = count < room ? list : fab_base_grow(list, sizeof *list, count + 1, &room);
        if (more == NULL) {
            free(list);
            return FAB_E_NOMEM;
        }
        list = more;
        list[count++] = one;
    }
    *ret_list = list;
    *ret_count = count;
    return FAB_OK;
}
