/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * InformInfo (IBA 13.4.8.3), by which hosts subscribe to reports and unsubscribe, and
 * InformInfoRecord (IBA 15.2.5.12), which lists the subscriptions.
 *
 * The subscriber is the port and queue pair that sent the request. The field QPN is ignored in a
 * subscribe request. In an unsubscribe request, QPN is the number of the subscriber's queue pair; 0
 * means the queue pair that sent the request.
 *
 * The subscriber must share a partition with the ports that the subscription selects by GID or by
 * LIDs (o13-14.1.1). Notices 256 to 259 disclose keys. Only a host that gives the sa_key may
 * subscribe to one of them (C15-0.2-1.16). If another host subscribes to all notices, it does not
 * receive these four. In an answer with an error other than BUSY, the field Subscribe is 0
 * (o13-13.1.1). Records show QPNs only to requesters that gave the sa_key.
 */
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/log.h"
#include "fabricd/sa/quota.h"
#include "fabricd/sa/registry.h"
#include "fabricd/store/store.h"
#include "libfabmgr/base/status.h"

#define ALL_LIDS 0xffff
/* maximum number of LIDs in the range that a subscription selects, if partitions are configured */
#define LIDS_MOST 4096

enum { AT_SUBSCRIBE = 23 }; /* offset in bytes of Subscribe in InformInfo */

/* ---- permission to subscribe ----------------------------------------------------------------- */

static bool may_hear(struct sa *s, uint32_t from, uint32_t port)
{
    return fab_sa_share_partition(s->view->sa, from, port);
}

static uint16_t check_lids(struct sa *s, uint32_t from, const struct fab_inform_info *info)
{
    const struct fab_view *v = fab_sa_view(s->view->sa);
    const struct fab_lids *lids = &v->target->lids;
    uint32_t end = info->lid_end != 0 ? info->lid_end : info->lid_begin;
    if (info->lid_begin == ALL_LIDS)
        return 0;
    if (info->lid_begin > lids->top)
        return FAB_SA_REQ_INVALID;
    if (end > lids->top)
        end = lids->top;
    if (v->target->pkeys.ports == 0)
        return 0;
    if (end >= info->lid_begin + (uint32_t)LIDS_MOST)
        return FAB_SA_NO_RESOURCES;
    for (uint32_t lid = info->lid_begin; lid <= end; lid++)
        if (lids->owner[lid] != FAB_NONE && !may_hear(s, from, lids->owner[lid]))
            return FAB_SA_REQ_INVALID;
    return 0;
}

static uint16_t check(struct sa *s, const struct fab_sa_request *req,
                      const struct fab_inform_info *info)
{
    const struct fab_fabric *f = fab_sa_view(s->view->sa)->fabric;
    struct fab_notice named = {.generic = info->generic, .trap = info->trap};
    if (!req->trusted && fab_registry_notice_needs_trust(&named))
        return FAB_SA_REQ_INVALID;
    if (info->gid[0] == 0 && info->gid[1] == 0)
        return check_lids(s, req->from, info);
    uint32_t port = fab_fabric_port_by_guid(f, info->gid[1]);
    return port != FAB_NONE && may_hear(s, req->from, port) ? 0 : FAB_SA_REQ_INVALID;
}

/* ---- changes --------------------------------------------------------------------------------- */

static void keep(const struct sa *s, const struct fab_subscription *x, bool there)
{
    if (s->in.store != NULL)
        store_put_subscription(
            s->in.store, &(struct store_subscription){.record = x->record, .trusted = x->trusted},
            there);
}

static bool is_within_quota(struct sa *s, const struct fab_sa_request *req, const uint64_t gid[2],
                            const struct fab_inform_info *info)
{
    const struct fab_subscriptions *all = s->registry->subscriptions;
    const struct sa_quota_use use = {
        .own = fab_registry_subscriptions_of(all, gid), .all = all->count, .more = 1};
    return fab_registry_subscriptions_find(all, gid, info) != FAB_SUBSCRIPTION_NONE ||
           sa_quota_permits(s, req, FAB_QUOTA_SUBSCRIPTIONS, &use);
}

static uint16_t subscribe(struct sa *s, const struct fab_sa_request *req, const uint64_t gid[2],
                          const struct fab_inform_info *info)
{
    struct fab_subscriptions *all = s->registry->subscriptions;
    uint32_t slot;
    uint16_t status = check(s, req, info);
    if (status == 0 && !is_within_quota(s, req, gid, info))
        status = FAB_SA_NO_RESOURCES;
    if (status == 0 &&
        fab_registry_subscriptions_put(all, gid, info, req->trusted, -1, &slot) != FAB_OK)
        status = FAB_SA_NO_RESOURCES;
    if (status == 0)
        keep(s, &all->slot[slot], true);
    return status;
}

static uint16_t unsubscribe(struct sa *s, const uint64_t gid[2], const struct fab_inform_info *info)
{
    uint32_t slot = fab_registry_subscriptions_find(s->registry->subscriptions, gid, info);
    if (slot == FAB_SUBSCRIPTION_NONE)
        return FAB_SA_REQ_INVALID;
    sa_subscription_drop(s, slot, NULL);
    return 0;
}

uint16_t sa_inform_set(struct sa *s, const struct transport_mad *mad,
                       const struct fab_sa_request *req, uint8_t ret_data[FAB_SA_DATA_LEN])
{
    struct fab_inform_info info;
    const struct fab_view *v = fab_sa_view(s->view->sa);
    uint16_t status = FAB_SA_REQ_INVALID;
    memcpy(ret_data, req->data, FAB_SA_DATA_LEN);
    if (fab_wire_attr_unpack(&fab_wire_attr_inform_info, req->data, FAB_SA_DATA_LEN, &info) ==
            FAB_OK &&
        info.subscribe <= 1 && req->from != FAB_NONE) {
        const uint64_t gid[2] = {v->policy.subnet_prefix,
                                 fab_fabric_port(v->fabric, req->from)->guid};
        if (info.subscribe || info.qpn == 0)
            info.qpn = mad->addr.qpn & 0xffffff;
        status = info.subscribe ? subscribe(s, req, gid, &info) : unsubscribe(s, gid, &info);
    }
    if (status != 0)
        ret_data[AT_SUBSCRIBE] = 0;
    return status;
}

void sa_subscription_drop(struct sa *s, uint32_t slot, const char *why)
{
    struct fab_subscriptions *all = s->registry->subscriptions;
    const struct fab_subscription *x = &all->slot[slot];
    if (why != NULL)
        sa_report_gone(s, x, why);
    keep(s, x, false);
    fab_registry_subscriptions_remove(all, slot);
}

int sa_subscriptions_load(struct sa *s)
{
    struct store_subscription *rows = NULL;
    size_t count = 0;
    uint32_t slot;
    int r = store_load_subscriptions(s->in.store, &rows, &count);
    for (size_t i = 0; r == FAB_OK && i < count; i++)
        r = fab_registry_subscriptions_put(s->registry->subscriptions,
                                           rows[i].record.subscriber_gid, &rows[i].record.info,
                                           rows[i].trusted, rows[i].record.number, &slot);
    free(rows);
    return r;
}

/* ---- queries --------------------------------------------------------------------------------- */

static bool sees(const struct fab_sa_query *q, const struct fab_subscription *x)
{
    const struct fab_fabric *f = fab_sa_view(q->sa)->fabric;
    if (q->trusted)
        return true;
    uint32_t port = fab_fabric_port_by_guid(f, x->record.subscriber_gid[1]);
    return port != FAB_NONE && fab_sa_may_see(q, port);
}

bool sa_inform_next(void *ctx, const struct fab_sa_query *q, uint64_t at[4], void *ret_struct)
{
    const struct sa *s = ctx;
    const struct fab_subscriptions *all = s->registry->subscriptions;
    struct fab_wire_inform_info_record *ret = ret_struct;
    uint32_t slot = fab_registry_subscriptions_next(all, at[3] != 0 ? at : NULL, (uint16_t)at[2]);
    while (slot != FAB_SUBSCRIPTION_NONE && !sees(q, &all->slot[slot])) {
        const struct fab_wire_inform_info_record *r = &all->slot[slot].record;
        slot = fab_registry_subscriptions_next(all, r->subscriber_gid, r->number);
    }
    if (slot == FAB_SUBSCRIPTION_NONE)
        return false;
    *ret = all->slot[slot].record;
    at[0] = ret->subscriber_gid[0];
    at[1] = ret->subscriber_gid[1];
    at[2] = ret->number;
    at[3] = 1;
    if (!q->trusted)
        ret->info.qpn = 0;
    return true;
}
