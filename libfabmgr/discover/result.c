/* SPDX-License-Identifier: BSD-3-Clause */
/* The results of a discovery: the snapshot, and the unresponsive ports and nodes. */
#include "libfabmgr/base/status.h"
#include "libfabmgr/discover/machine.h"

int fab_discover_result(struct fab_discover *d, struct fab_fabric **ret_fabric)
{
    if (d->status != FAB_OK)
        return d->status;
    if (d->self == NO_REF)
        return FAB_E_NOT_FOUND;
    int status = fab_discover_keep_silent(d);
    if (status == FAB_OK && d->cut)
        status = fab_discover_targeted_prune(d);
    return status == FAB_OK ? fab_fabric_builder_seal(d->builder, ret_fabric) : status;
}

static int compare_unresponsive(const void *x, const void *y)
{
    const struct fab_unresponsive *a = x, *b = y;
    if (a->near_guid != b->near_guid)
        return a->near_guid < b->near_guid ? -1 : 1;
    if (a->near_port != b->near_port)
        return a->near_port < b->near_port ? -1 : 1;
    if (a->attr_id != b->attr_id)
        return a->attr_id < b->attr_id ? -1 : 1;
    return a->status - b->status;
}

const struct fab_unresponsive *fab_discover_unresponsive(const struct fab_discover *d,
                                                         uint32_t *ret_count)
{
    if (d->unresponsive_count > 1)
        qsort(d->unresponsive, d->unresponsive_count, sizeof *d->unresponsive,
              compare_unresponsive);
    *ret_count = (uint32_t)d->unresponsive_count;
    return d->unresponsive;
}
