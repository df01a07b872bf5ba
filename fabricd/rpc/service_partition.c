/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements ListPartitions and ListPartitionMembers, which read the P_Key tables of the view's
 * target.
 */
#include <stdlib.h>
#include <string.h>

#include "fabric/v1/partition.pb-c.h"
#include "fabricd/rpc/convert.h"
#include "fabricd/rpc/page.h"
#include "fabricd/rpc/server.h"
#include "libfabmgr/base/status.h"

struct counts {
    uint32_t full, limited;
};

/* Counts the members of each partition, from the P_Key tables. */
static void count_members(const struct fab_view *v, struct counts by_pkey[FAB_PKEY_FULL])
{
    const struct fab_pkeys *pkeys = &v->target->pkeys;
    for (uint32_t port = 0; port < pkeys->ports; port++) {
        uint32_t count;
        const uint16_t *key = fab_target_pkeys_table(pkeys, port, &count);
        if (!fab_fabric_port_has_lid(v->fabric, port))
            continue;
        for (uint32_t i = 0; i < count; i++) {
            struct counts *c = &by_pkey[fab_target_pkey_base(key[i])];
            if (fab_target_pkey_is_full(key[i]))
                c->full++;
            else
                c->limited++;
        }
    }
}

static Fabric__V1__Partition *convert_partition(struct answer *a, const struct fab_partitions *all,
                                                const struct fab_partition *p,
                                                const struct counts *members)
{
    Fabric__V1__Partition *m = ANSWER_NEW(a, Fabric__V1__Partition, fabric__v1__partition);
    if (m == NULL)
        return NULL;
    m->name = answer_text(a, p->name);
    m->pkey = p->pkey;
    m->full_members = members->full;
    m->limited_members = members->limited;
    m->ipoib = p->ipoib;
    m->service_level = p->sl;
    for (size_t i = 0; i < all->mgroups; i++)
        m->multicast_groups += &all->partition[all->mgroup[i].partition] == p;
    return m;
}

static void fill_partitions(struct answer *a, const struct fab_view *v, const struct page *page,
                            Fabric__V1__ListPartitionsResponse *m)
{
    const struct fab_partitions *all = v->policy.partitions;
    struct counts *counts = answer_alloc(a, FAB_PKEY_FULL, sizeof *counts);
    m->partitions = answer_alloc(a, page->want, sizeof *m->partitions);
    if (all == NULL || counts == NULL || m->partitions == NULL)
        return;
    memset(counts, 0, FAB_PKEY_FULL * sizeof *counts);
    count_members(v, counts);
    for (uint64_t pkey = page->given ? page->key.number + 1 : 1; pkey <= FAB_PKEY_DEFAULT; pkey++) {
        const struct fab_partition *p = fab_policy_partitions_find(all, (uint16_t)pkey);
        if (p == NULL)
            continue;
        if (m->n_partitions == page->want) {
            struct page_key last = {.list = 'k', .number = pkey - 1};
            m->next_page_token = page_token(a, &last);
            return;
        }
        m->partitions[m->n_partitions++] = convert_partition(a, all, p, &counts[pkey]);
    }
}

void list_partitions(struct call *c, const void *request)
{
    const Fabric__V1__ListPartitionsRequest *q = request;
    Fabric__V1__ListPartitionsResponse m = FABRIC__V1__LIST_PARTITIONS_RESPONSE__INIT;
    struct answer a = {0};
    struct page page;
    struct fab_view *v = need_target(c);
    if (v != NULL && read_page(c, 'k', q->page_token, q->page_size, &page)) {
        m.generation = v->generation;
        fill_partitions(&a, v, &page, &m);
        answer_reply(&a, c, &m.base);
    }
}

/* ---- members --------------------------------------------------------------------------------- */

/* Finds a partition by its name or, if no partition has this name, by its P_Key. Returns NULL if
 * there is none. */
static const struct fab_partition *find_partition(const struct fab_partitions *all,
                                                  const char *what)
{
    char *end;
    unsigned long pkey = strtoul(what, &end, 0);
    for (size_t i = 0; all != NULL && what[0] != '\0' && i < all->partitions; i++)
        if (strcmp(all->partition[i].name, what) == 0)
            return &all->partition[i];
    if (all == NULL || end == what || *end != '\0' || pkey > UINT16_MAX)
        return NULL;
    return fab_policy_partitions_find(all, (uint16_t)pkey);
}

static Fabric__V1__PartitionMember *convert_member(struct answer *a, const struct fab_view *v,
                                                   uint32_t port, uint32_t index, bool full)
{
    Fabric__V1__PartitionMember *m =
        ANSWER_NEW(a, Fabric__V1__PartitionMember, fabric__v1__partition_member);
    if (m == NULL)
        return NULL;
    m->port = convert_port_ref(a, v, port);
    m->guid = answer_guid(a, fab_fabric_port(v->fabric, port)->guid);
    m->lid = v->target->lids.base[port];
    m->membership =
        full ? FABRIC__V1__MEMBERSHIP__MEMBERSHIP_FULL : FABRIC__V1__MEMBERSHIP__MEMBERSHIP_LIMITED;
    m->index = index;
    return m;
}

static void fill_members(struct answer *a, const struct fab_view *v, const struct page *page,
                         uint16_t pkey, Fabric__V1__ListPartitionMembersResponse *m)
{
    const struct fab_pkeys *pkeys = &v->target->pkeys;
    m->members = answer_alloc(a, page->want + 1, sizeof *m->members);
    uint32_t first = page->given ? page_port(v->fabric, &page->key) : 0;
    for (uint32_t port = first; m->members != NULL && port < pkeys->ports; port++) {
        uint32_t count;
        const uint16_t *key = fab_target_pkeys_table(pkeys, port, &count);
        if (!fab_fabric_port_has_lid(v->fabric, port))
            continue;
        /* A page can have one row more than requested, because a port with both memberships has two
         * rows. */
        if (m->n_members >= page->want) {
            struct page_key last = page_key_of_port(v->fabric, port - 1, 'm');
            m->next_page_token = page_token(a, &last);
            return;
        }
        for (uint32_t i = 0; i < count; i++)
            if (fab_target_pkey_base(key[i]) == pkey)
                m->members[m->n_members++] =
                    convert_member(a, v, port, i, fab_target_pkey_is_full(key[i]));
    }
}

void list_partition_members(struct call *c, const void *request)
{
    const Fabric__V1__ListPartitionMembersRequest *q = request;
    Fabric__V1__ListPartitionMembersResponse m = FABRIC__V1__LIST_PARTITION_MEMBERS_RESPONSE__INIT;
    struct answer a = {0};
    struct page page;
    struct fab_view *v = need_target(c);
    if (v != NULL && read_page(c, 'm', q->page_token, q->page_size, &page)) {
        const struct fab_partition *p = find_partition(v->policy.partitions, q->partition);
        m.generation = v->generation;
        if (p != NULL) {
            fill_members(&a, v, &page, p->pkey, &m);
            answer_reply(&a, c, &m.base);
        } else {
            call_finish(
                c, FAB_GRPC_NOT_FOUND,
                "no partition with name or P_Key \"%s\"; 'fabricctl partition list' lists them",
                q->partition);
        }
    }
}
