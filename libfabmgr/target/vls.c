/* SPDX-License-Identifier: BSD-3-Clause */
/* Allocates, copies and packs struct fab_vls. */
#include "libfabmgr/target/vls.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/owners.h"
#include "libfabmgr/base/status.h"

void fab_target_vls_init(struct fab_vls *v, uint8_t count)
{
    *v = (struct fab_vls){.count = count, .sls = count, .classes = 1};
    for (unsigned in = 0; in < FAB_VL_CLASSES; in++) {
        for (unsigned out = 0; out < FAB_VL_CLASSES; out++) {
            for (unsigned sl = 0; sl < FAB_SLS; sl++)
                v->vl[in][out][sl] = (uint8_t)(count > 0 ? sl % count : 0);
        }
    }
}

static int provide(uint8_t **bytes, size_t size)
{
    uint8_t *made = calloc(size > 0 ? size : 1, 1);
    if (made == NULL)
        return FAB_E_NOMEM;
    free(*bytes);
    *bytes = made;
    return FAB_OK;
}

int fab_target_vls_by_lid(struct fab_vls *v, uint32_t top)
{
    int ret = provide(&v->of_lid, (size_t)top + 1);
    if (ret == FAB_OK)
        v->top = top;
    return ret;
}

int fab_target_vls_by_pair(struct fab_vls *v, uint32_t switches)
{
    int ret = provide(&v->of_pair, (size_t)switches * switches);
    if (ret == FAB_OK)
        v->switches = switches;
    return ret;
}

int fab_target_vls_by_class(struct fab_vls *v, uint32_t ports)
{
    int ret = provide(&v->port_class, ports);
    if (ret == FAB_OK)
        v->ports = ports;
    return ret;
}

int fab_target_vls_with_branches(struct fab_vls *v, uint32_t switches)
{
    int ret = provide(&v->branch, switches);
    if (ret == FAB_OK)
        v->branch_switches = switches;
    return ret;
}

uint64_t fab_target_sl2vl_pack(const uint8_t vl[FAB_SLS], uint8_t vls)
{
    uint64_t map = 0;
    for (unsigned sl = 0; sl < FAB_SLS; sl++) {
        uint64_t to = vl[sl] < FAB_VLS_MAX ? (unsigned)vl[sl] % vls : (unsigned)FAB_VLS_MAX;
        map = map << 4 | to;
    }
    return map;
}

static int duplicate(const uint8_t *bytes, size_t size, uint8_t **ret)
{
    int status = bytes != NULL ? provide(ret, size) : FAB_OK;
    if (status == FAB_OK && bytes != NULL)
        memcpy(*ret, bytes, size);
    return status;
}

int fab_target_vls_copy(const struct fab_vls *v, struct fab_vls *ret_copy)
{
    struct fab_vls copy = *v;
    copy.of_lid = copy.of_pair = copy.port_class = copy.branch = NULL;
    copy.owners = NULL;
    int ret = duplicate(v->of_lid, (size_t)v->top + 1, &copy.of_lid);
    if (ret == FAB_OK)
        ret = duplicate(v->of_pair, (size_t)v->switches * v->switches, &copy.of_pair);
    if (ret == FAB_OK)
        ret = duplicate(v->port_class, v->ports, &copy.port_class);
    if (ret == FAB_OK)
        ret = duplicate(v->branch, v->branch_switches, &copy.branch);
    if (ret == FAB_OK)
        *ret_copy = copy;
    else
        fab_target_vls_fini(&copy);
    return ret;
}

int fab_target_vls_share(struct fab_vls *v, struct fab_vls *ret_other)
{
    int ret = fab_base_owners_add(&v->owners);
    if (ret == FAB_OK)
        *ret_other = *v;
    return ret;
}

void fab_target_vls_fini(struct fab_vls *v)
{
    if (fab_base_owners_remove(v->owners)) {
        free(v->of_lid);
        free(v->of_pair);
        free(v->port_class);
        free(v->branch);
    }
    memset(v, 0, sizeof(*v));
}
