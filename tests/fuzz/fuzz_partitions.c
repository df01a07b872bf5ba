/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzzes partitions.conf, prefix-routes.conf and the file of locations. Any input is refused with a
 * line and column, or gives partitions that satisfy their invariants. */
#include <assert.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/policy/locations.h"
#include "libfabmgr/policy/partitions.h"
#include "libfabmgr/policy/routers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_selector(const struct fab_partitions *p, const struct fab_port_selector *who)
{
    assert(who->kind <= FAB_SELECT_GROUP);
    assert(who->kind != FAB_SELECT_GROUP || who->group < p->groups);
    assert(who->kind != FAB_SELECT_GUID || who->guid != 0);
    assert(who->kind != FAB_SELECT_NAME || who->name != NULL);
}

static void check(const struct fab_partitions *p)
{
    for (size_t i = 0; i < p->partitions; i++) {
        uint16_t pkey = p->partition[i].pkey;
        assert(pkey > 0 && pkey <= FAB_PKEY_DEFAULT && p->partition[i].name != NULL);
        assert(fab_policy_partitions_find(p, pkey | FAB_PKEY_FULL) == &p->partition[i]);
    }
    for (size_t i = 0; i < p->rules; i++) {
        assert(p->rule[i].partition < p->partitions);
        assert(p->rule[i].membership >= FAB_MEMBER_LIMITED);
        assert(p->rule[i].membership <= FAB_MEMBER_BOTH);
        check_selector(p, &p->rule[i].who);
    }
    for (size_t i = 0; i < p->mgroups; i++)
        assert(p->mgroup[i].partition < p->partitions && p->mgroup[i].mgid[0] == 0xff);
    for (size_t i = 0; i < p->groups; i++)
        for (size_t m = 0; m < p->group[i].count; m++) {
            assert(p->group[i].member[m].kind != FAB_SELECT_GROUP);
            check_selector(p, &p->group[i].member[m]);
        }
}

static void try_routers(const char *text, size_t size)
{
    struct fab_routers *r = NULL;
    struct fab_routers_error e = {0};
    int status = fab_policy_routers_read(text, size, &r, &e);
    assert(status != FAB_E_FORMAT || (e.line > 0 && e.message[0] != '\0'));
    for (size_t i = 0; status == FAB_OK && i < r->count; i++)
        assert(fab_policy_routers_find(r, r->route[i].prefix) != NULL);
    fab_policy_routers_unref(r);
}

static void try_locations(const char *text, size_t size)
{
    struct fab_locations *l = NULL;
    struct fab_locations_error e = {0};
    int status = fab_policy_locations_read(text, size, &l, &e);
    assert(status != FAB_E_FORMAT || (e.line > 0 && e.message[0] != '\0'));
    if (status == FAB_OK)
        assert(fab_policy_locations_find(l, 1, "node-1 mlx5_0")->rack != NULL);
    fab_policy_locations_unref(l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_routers((const char *)data, size);
    try_locations((const char *)data, size);
    struct fab_partitions *p = NULL;
    struct fab_partitions_error error = {.line = 0};
    int status = fab_policy_partitions_read((const char *)data, size, &p, &error);
    if (status != FAB_OK) {
        assert(p == NULL);
        assert(status == FAB_E_NOMEM || (error.line > 0 && error.column > 0 && error.message[0]));
        return 0;
    }
    assert(p->partition[0].pkey == FAB_PKEY_DEFAULT && p->rules >= 2);
    check(p);
    fab_policy_partitions_unref(p);
    return 0;
}
