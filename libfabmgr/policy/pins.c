/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets of pins. A set has one allocation for its pins, and one for the nodes that wait for an
 * approval. A map finds pins by a 64-bit hash of the host name. If two host names have the same
 * hash, the second host must wait for an approval. So a collision never lets a host into a
 * partition. */
#include "libfabmgr/policy/pins.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

static size_t host_len(const char *desc)
{
    return strcspn(desc, " \t");
}

bool fab_policy_pins_same_host(const char *a, const char *b)
{
    size_t len = host_len(a);
    return len == host_len(b) && memcmp(a, b, len) == 0;
}

static uint64_t host_hash(const char *desc)
{
    uint64_t hash = 1;
    for (size_t i = 0, len = host_len(desc); i < len; i++)
        hash = fab_base_mix64(hash * UINT64_C(0x9e3779b97f4a7c15) + (unsigned char)desc[i]);
    return hash;
}

static int compare_pins(const void *x, const void *y)
{
    const struct fab_pin *a = x, *b = y;
    return (a->guid > b->guid) - (a->guid < b->guid);
}

/* Copies the pins into the set, sorted by GUID. If several pins have the same GUID, copies only
 * the first. */
static void take_pins(struct fab_pins *p, const struct fab_pin *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (fab_base_map_add(&p->by_guid, from[i].guid, 0) == FAB_OK)
            p->pin[p->count++] = from[i];
    if (p->count > 1)
        qsort(p->pin, p->count, sizeof *p->pin, compare_pins);
}

/* Fills the maps of the set. They already have room for all entries, so fab_base_map_put cannot
 * fail, and fab_base_map_add fails only for a key that exists. */
static void index_all(struct fab_pins *p)
{
    for (size_t i = 0; i < p->count; i++) {
        (void)fab_base_map_put(&p->by_guid, p->pin[i].guid, (uint32_t)i);
        (void)fab_base_map_add(&p->by_host, host_hash(p->pin[i].name), (uint32_t)i);
    }
    for (size_t i = 0; i < p->waiting_count; i++)
        (void)fab_base_map_add(&p->by_waits, p->waiting[i].guid, (uint32_t)i);
}

static int reserve(struct fab_pins *p, size_t count, size_t waiting)
{
    p->pin = fab_base_alloc_array(count + 1, sizeof *p->pin);
    p->waiting = fab_base_alloc_array(waiting + 1, sizeof *p->waiting);
    if (p->pin == NULL || p->waiting == NULL)
        return FAB_E_NOMEM;
    int r = fab_base_map_reserve(&p->by_guid, count);
    if (r == FAB_OK)
        r = fab_base_map_reserve(&p->by_host, count);
    return r == FAB_OK ? fab_base_map_reserve(&p->by_waits, waiting) : r;
}

int fab_policy_pins_new(const struct fab_pin *pin, size_t count,
                        const struct fab_pin_waiting *waiting, size_t waiting_count,
                        bool approved_only, struct fab_pins **ret)
{
    struct fab_pins *p = calloc(1, sizeof *p);
    if (p == NULL)
        return FAB_E_NOMEM;
    p->refs = 1;
    p->approved_only = approved_only;
    int r = reserve(p, count, waiting_count);
    if (r != FAB_OK) {
        fab_policy_pins_unref(p);
        return r;
    }
    take_pins(p, pin, count);
    if (waiting_count > 0)
        memcpy(p->waiting, waiting, waiting_count * sizeof *waiting);
    p->waiting_count = waiting_count;
    index_all(p);
    *ret = p;
    return FAB_OK;
}

struct fab_pins *fab_policy_pins_ref(struct fab_pins *p)
{
    if (p != NULL)
        __atomic_add_fetch(&p->refs, 1, __ATOMIC_RELAXED);
    return p;
}

void fab_policy_pins_unref(struct fab_pins *p)
{
    if (p == NULL || __atomic_sub_fetch(&p->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    free(p->pin);
    free(p->waiting);
    fab_base_map_fini(&p->by_guid);
    fab_base_map_fini(&p->by_host);
    fab_base_map_fini(&p->by_waits);
    free(p);
}

/* Makes a copy of a set that lacks the pin and the waiting entry of `guid`. Adds the pin *more to
 * the copy, unless `more` is NULL. */
static int changed(const struct fab_pins *p, uint64_t guid, const struct fab_pin *more,
                   struct fab_pins **ret)
{
    struct fab_pin *pin = fab_base_alloc_array(p->count + 1, sizeof *pin);
    struct fab_pin_waiting *waiting = fab_base_alloc_array(p->waiting_count + 1, sizeof *waiting);
    size_t pins = 0, waits = 0;
    int r = pin != NULL && waiting != NULL ? FAB_OK : FAB_E_NOMEM;
    if (r == FAB_OK && more != NULL)
        pin[pins++] = *more;
    for (size_t i = 0; r == FAB_OK && i < p->count; i++)
        if (p->pin[i].guid != guid)
            pin[pins++] = p->pin[i];
    for (size_t i = 0; r == FAB_OK && i < p->waiting_count; i++)
        if (p->waiting[i].guid != guid)
            waiting[waits++] = p->waiting[i];
    if (r == FAB_OK)
        r = fab_policy_pins_new(pin, pins, waiting, waits, p->approved_only, ret);
    free(pin);
    free(waiting);
    return r;
}

int fab_policy_pins_with(const struct fab_pins *p, const struct fab_pin *pin, struct fab_pins **ret)
{
    return changed(p, pin->guid, pin, ret);
}

int fab_policy_pins_without(const struct fab_pins *p, uint64_t guid, struct fab_pins **ret)
{
    return fab_policy_pins_find(p, guid) != NULL ? changed(p, guid, NULL, ret) : FAB_E_NOT_FOUND;
}

const struct fab_pin *fab_policy_pins_find(const struct fab_pins *p, uint64_t guid)
{
    uint32_t at;
    return p != NULL && fab_base_map_get(&p->by_guid, guid, &at) ? &p->pin[at] : NULL;
}

const struct fab_pin_waiting *fab_policy_pins_waiting(const struct fab_pins *p, uint64_t guid)
{
    uint32_t at;
    return p != NULL && fab_base_map_get(&p->by_waits, guid, &at) ? &p->waiting[at] : NULL;
}

const struct fab_pin *fab_policy_pins_holder(const struct fab_pins *p, const char *desc)
{
    uint32_t at;
    return p != NULL && fab_base_map_get(&p->by_host, host_hash(desc), &at) ? &p->pin[at] : NULL;
}

const char *fab_policy_pins_name(const struct fab_pins *p, uint64_t guid, const char *desc)
{
    const struct fab_pin *pin = fab_policy_pins_find(p, guid);
    if (p == NULL)
        return desc;
    if (pin != NULL)
        return pin->name;
    bool may = !p->approved_only && fab_policy_pins_waiting(p, guid) == NULL &&
               fab_policy_pins_holder(p, desc) == NULL;
    return may ? desc : NULL;
}
