/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds partitions while partitions.conf or an applied policy is read. Afterwards the partitions
 * are shared and do not change. */
#include "libfabmgr/policy/partitions.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/policy/append.h"
#include "libfabmgr/policy/partitions_make.h"

int fab_policy_partitions_add(struct fab_partitions *p, const struct fab_partition *partition)
{
    int r = APPEND(p->partition, p->partitions, partition);
    if (r == FAB_OK)
        p->by_pkey[partition->pkey] = (uint16_t)p->partitions;
    return r;
}

int fab_policy_partitions_add_rule(struct fab_partitions *p, const struct fab_partition_rule *rule)
{
    return APPEND(p->rule, p->rules, rule);
}

int fab_policy_partitions_add_mgroup(struct fab_partitions *p,
                                     const struct fab_partition_mgroup *mgroup)
{
    for (size_t i = 0; i < p->mgroups; i++)
        if (memcmp(p->mgroup[i].mgid, mgroup->mgid, sizeof(mgroup->mgid)) == 0)
            return FAB_OK;
    if (p->mgroups >= FAB_PARTITION_MGROUPS_MAX)
        return FAB_E_LIMIT;
    return APPEND(p->mgroup, p->mgroups, mgroup);
}

int fab_policy_partitions_add_group(struct fab_partitions *p, const struct fab_port_group *group)
{
    return APPEND(p->group, p->groups, group);
}

int fab_policy_partitions_add_member(struct fab_port_group *group,
                                     const struct fab_port_selector *who)
{
    return APPEND(group->member, group->count, who);
}

/* Adds the broadcast group of a partition, which IP over InfiniBand needs. Its MGID is
 * ff12:401b:<P_Key>::ffff:ffff (RFC 4391, 4). */
int fab_policy_partitions_add_broadcast(struct fab_partitions *p,
                                        const struct fab_partition_mgroup *like)
{
    struct fab_partition_mgroup m = *like;
    uint16_t pkey = p->partition[m.partition].pkey | FAB_PKEY_FULL;
    memcpy(m.mgid, (const uint8_t[16]){0xff, 0x10, 0x40, 0x1b, [12] = 0xff, 0xff, 0xff, 0xff}, 16);
    m.mgid[1] |= m.scope;
    m.mgid[4] = (uint8_t)(pkey >> 8);
    m.mgid[5] = (uint8_t)pkey;
    return fab_policy_partitions_add_mgroup(p, &m);
}

static int begin(struct fab_partitions *p, enum fab_membership all)
{
    struct fab_partition first = {
        .name = "Default", .pkey = FAB_PKEY_DEFAULT, .rate = IPOIB_RATE, .mtu = IPOIB_MTU};
    struct fab_partition_rule everyone = {.membership = all, .who = {.kind = FAB_SELECT_ALL}};
    struct fab_partition_rule self = {.membership = FAB_MEMBER_FULL,
                                      .who = {.kind = FAB_SELECT_SELF}};
    int r = fab_policy_partitions_add(p, &first);
    if (r == FAB_OK)
        r = fab_policy_partitions_add_rule(p, &everyone);
    return r == FAB_OK ? fab_policy_partitions_add_rule(p, &self) : r;
}

int fab_policy_partitions_new(enum fab_membership all, struct fab_partitions **ret)
{
    struct fab_partitions *p = calloc(1, sizeof(*p));
    if (p == NULL)
        return FAB_E_NOMEM;
    p->refs = 1;
    int r = begin(p, all);
    if (r == FAB_OK)
        *ret = p;
    else
        fab_policy_partitions_unref(p);
    return r;
}

int fab_policy_partitions_unrestricted(struct fab_partitions **ret)
{
    static const struct fab_partition_mgroup broadcast = {
        .rate = IPOIB_RATE, .mtu = IPOIB_MTU, .scope = IPOIB_SCOPE, .q_key = IPOIB_Q_KEY};
    struct fab_partitions *p;
    int r = fab_policy_partitions_new(FAB_MEMBER_FULL, &p);
    if (r != FAB_OK)
        return r;
    p->partition[0].ipoib = true;
    r = fab_policy_partitions_add_broadcast(p, &broadcast);
    if (r == FAB_OK)
        *ret = p;
    else
        fab_policy_partitions_unref(p);
    return r;
}

struct fab_partitions *fab_policy_partitions_ref(struct fab_partitions *p)
{
    if (p != NULL)
        __atomic_add_fetch(&p->refs, 1, __ATOMIC_RELAXED);
    return p;
}

void fab_policy_partitions_unref(struct fab_partitions *p)
{
    if (p == NULL)
        return;
    int left = __atomic_sub_fetch(&p->refs, 1, __ATOMIC_ACQ_REL);
    assert(left >= 0);
    if (left > 0)
        return;
    for (size_t i = 0; i < p->groups; i++)
        free(p->group[i].member);
    free(p->group);
    free(p->partition);
    free(p->rule);
    free(p->mgroup);
    fab_base_arena_fini(&p->arena);
    free(p);
}

const struct fab_partition *fab_policy_partitions_find(const struct fab_partitions *p,
                                                       uint16_t pkey)
{
    uint16_t number = p->by_pkey[pkey & ~FAB_PKEY_FULL];
    return number > 0 ? &p->partition[number - 1] : NULL;
}
