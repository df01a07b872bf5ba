/* SPDX-License-Identifier: BSD-3-Clause */
/* The set of silent switches. */
#include "libfabmgr/discover/silent.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

struct fab_silent {
    uint64_t *guid;
    struct fab_silent_link *link;
    uint32_t count, links;
    int refs; /* reference count, atomic */
};

int fab_discover_silent_new(const uint64_t *guid, uint32_t count,
                            const struct fab_silent_link *link, uint32_t links,
                            struct fab_silent **ret)
{
    struct fab_silent *x = calloc(1, sizeof *x);
    if (x == NULL)
        return FAB_E_NOMEM;
    x->refs = 1;
    x->guid = fab_base_alloc_array((size_t)count + 1, sizeof *x->guid);
    x->link = fab_base_alloc_array((size_t)links + 1, sizeof *x->link);
    if (x->guid == NULL || x->link == NULL) {
        fab_discover_silent_unref(x);
        return FAB_E_NOMEM;
    }
    if (count > 0)
        memcpy(x->guid, guid, count * sizeof *guid);
    if (links > 0)
        memcpy(x->link, link, links * sizeof *link);
    x->count = count;
    x->links = links;
    *ret = x;
    return FAB_OK;
}

struct fab_silent *fab_discover_silent_ref(struct fab_silent *x)
{
    if (x != NULL)
        __atomic_add_fetch(&x->refs, 1, __ATOMIC_RELAXED);
    return x;
}

void fab_discover_silent_unref(struct fab_silent *x)
{
    if (x == NULL || __atomic_sub_fetch(&x->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    free(x->guid);
    free(x->link);
    free(x);
}

uint32_t fab_discover_silent_count(const struct fab_silent *x)
{
    return x != NULL ? x->count : 0;
}

uint64_t fab_discover_silent_guid(const struct fab_silent *x, uint32_t i)
{
    return x->guid[i];
}

bool fab_discover_silent_has(const struct fab_silent *x, uint64_t guid)
{
    uint32_t i = 0;
    while (x != NULL && i < x->count && x->guid[i] != guid)
        i++;
    return x != NULL && i < x->count;
}

const struct fab_silent_link *fab_discover_silent_links(const struct fab_silent *x,
                                                        uint32_t *ret_count)
{
    *ret_count = x != NULL ? x->links : 0;
    return x != NULL ? x->link : NULL;
}
