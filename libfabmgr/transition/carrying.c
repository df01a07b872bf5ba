/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes a copy of a snapshot without the ISLs that are not Active, because these carry no data
 * packets. */
#include "libfabmgr/base/status.h"
#include "libfabmgr/plan/plan.h"
#include "libfabmgr/transition/transition.h"

static bool is_idle(const struct fab_fabric *f, uint32_t port)
{
    return fab_fabric_isl_is_up(f, port) && !fab_plan_isl_carries(f, port);
}

int fab_transition_carrying(const struct fab_fabric *f, struct fab_fabric **ret)
{
    struct fab_fabric *copy;
    uint32_t port = 0;
    while (port < f->port_count && !is_idle(f, port))
        port++;
    if (port == f->port_count) {
        *ret = fab_fabric_ref(f);
        return FAB_OK;
    }
    int status = fab_fabric_clone(f, &copy);
    if (status != FAB_OK)
        return status;
    for (; port < f->port_count && status == FAB_OK; port++) {
        if (is_idle(f, port))
            status = fab_fabric_remove_link(copy, port);
    }
    if (status == FAB_OK)
        *ret = copy;
    else
        fab_fabric_unref(copy);
    return status;
}
