/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements ListServices and ListSubscriptions. These methods list the services and subscriptions
 * that hosts have registered with subnet administration.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fabric/v1/registration.pb-c.h"
#include "fabricd/rpc/convert.h"
#include "fabricd/rpc/page.h"
#include "fabricd/rpc/server.h"
#include "libfabmgr/base/status.h"

#define NAME_LEN 64

/* Returns the subnet administration agent. If fabricd runs as a replay, there is none; the function
 * then finishes the call with an error and returns NULL. */
static const struct sa *need_sa(struct call *c)
{
    const struct sa *sa = call_rpc(c)->in.sa;
    if (sa == NULL)
        call_finish(c, FAB_GRPC_UNAVAILABLE,
                    "this manager has no subnet administrator (fabricd runs as a replay)");
    return sa;
}

static Fabric__V1__PortRef *port_of(struct answer *a, const struct fab_view *v, uint64_t guid)
{
    uint32_t port = fab_fabric_port_by_guid(v->fabric, guid);
    return port != FAB_NONE ? convert_port_ref(a, v, port) : NULL;
}

/* ---- services -------------------------------------------------------------------------------- */

static Fabric__V1__Service *convert_service(struct answer *a, const struct fab_view *v,
                                            const struct fab_service *x)
{
    struct fab_wire_service_record is;
    char text[NAME_LEN + 1] = "";
    Fabric__V1__Service *m = ANSWER_NEW(a, Fabric__V1__Service, fabric__v1__service);
    if (m == NULL ||
        fab_wire_rec_unpack(&fab_wire_service_record, x->wire, sizeof x->wire, &is) != FAB_OK)
        return m;
    for (size_t i = 0; i < NAME_LEN && is.name[i] != 0; i++)
        text[i] = is.name[i] >= ' ' && is.name[i] <= '~' ? (char)is.name[i] : '?';
    m->name = answer_text(a, text);
    snprintf(text, sizeof text, "0x%016" PRIx64, is.id);
    m->id = answer_text(a, text);
    m->gid = answer_gid(a, is.gid);
    m->pkey = is.pkey;
    m->port = port_of(a, v, is.gid[1]);
    m->owner = answer_guid(a, x->owner);
    if (x->ends_us != 0)
        m->lease_end = convert_time(a, x->ends_us);
    return m;
}

/* Finds the first service of a page. The page token has a service ID, and how many services with
 * this ID the earlier pages have listed. */
static const struct fab_service *first_service(const struct fab_services *all,
                                               const struct page_key *key)
{
    const struct fab_service_key before = {
        .id = key->number - 1, .gid = {UINT64_MAX, UINT64_MAX}, .pkey = UINT16_MAX};
    const struct fab_service *x = fab_registry_services_next(all, key->number > 0 ? &before : NULL);
    for (uint32_t i = 0; i < key->port && x != NULL && x->key.id == key->number; i++)
        x = fab_registry_services_next(all, &x->key);
    return x;
}

static void fill_services(struct answer *a, const struct fab_view *v,
                          const struct fab_services *all, const struct page *page,
                          Fabric__V1__ListServicesResponse *m)
{
    struct page_key key = {.list = 'v', .number = page->key.number, .port = page->key.port};
    m->services = answer_alloc(a, page->want, sizeof *m->services);
    if (m->services == NULL)
        return;
    const struct fab_service *x = first_service(all, &key);
    for (; x != NULL && m->n_services < page->want; x = fab_registry_services_next(all, &x->key)) {
        key.port = x->key.id == key.number ? key.port + 1 : 1;
        key.number = x->key.id;
        m->services[m->n_services++] = convert_service(a, v, x);
    }
    if (x != NULL)
        m->next_page_token = page_token(a, &key);
}

void list_host_services(struct call *c, const void *request)
{
    const Fabric__V1__ListServicesRequest *q = request;
    Fabric__V1__ListServicesResponse m = FABRIC__V1__LIST_SERVICES_RESPONSE__INIT;
    struct answer a = {0};
    struct page page;
    const struct sa *sa = need_sa(c);
    struct fab_view *v = sa != NULL ? need_view(c) : NULL;
    if (v != NULL && read_page(c, 'v', q->page_token, q->page_size, &page)) {
        fill_services(&a, v, sa_services(sa), &page, &m);
        answer_reply(&a, c, &m.base);
    }
}

/* ---- subscriptions --------------------------------------------------------------------------- */

static Fabric__V1__Subscription *convert_subscription(struct answer *a, const struct fab_view *v,
                                                      const struct fab_subscription *x)
{
    const struct fab_inform_info *info = &x->record.info;
    Fabric__V1__Subscription *m = ANSWER_NEW(a, Fabric__V1__Subscription, fabric__v1__subscription);
    if (m == NULL)
        return NULL;
    m->subscriber = answer_guid(a, x->record.subscriber_gid[1]);
    m->port = port_of(a, v, x->record.subscriber_gid[1]);
    m->number = x->record.number;
    m->queue_pair = info->qpn;
    m->trap = info->trap;
    m->vendor = !info->generic;
    if (info->gid[0] != 0 || info->gid[1] != 0)
        m->issuer_gid = answer_gid(a, info->gid);
    m->first_lid = info->lid_begin;
    m->last_lid = info->lid_end != 0 ? info->lid_end : info->lid_begin;
    m->trusted = x->trusted;
    m->unanswered = x->tries;
    return m;
}

/* Fills in a page of subscriptions. The page token contains the subscriber's port GUID and the
 * number of the subscription. The token needs no GID prefix, because all subscribers have the GID
 * prefix of the subnet. */
static void fill_subscriptions(struct answer *a, const struct fab_view *v,
                               const struct fab_subscriptions *all, const struct page *page,
                               Fabric__V1__ListSubscriptionsResponse *m)
{
    const uint64_t gid[2] = {v->policy.subnet_prefix, page->key.number};
    m->subscriptions = answer_alloc(a, page->want, sizeof *m->subscriptions);
    if (m->subscriptions == NULL)
        return;
    uint32_t slot =
        fab_registry_subscriptions_next(all, page->given ? gid : NULL, (uint16_t)page->key.port);
    const struct fab_wire_inform_info_record *last = NULL;
    while (slot != FAB_SUBSCRIPTION_NONE && m->n_subscriptions < page->want) {
        last = &all->slot[slot].record;
        m->subscriptions[m->n_subscriptions++] = convert_subscription(a, v, &all->slot[slot]);
        slot = fab_registry_subscriptions_next(all, last->subscriber_gid, last->number);
    }
    if (slot != FAB_SUBSCRIPTION_NONE && last != NULL) {
        struct page_key key = {
            .list = 'i', .number = last->subscriber_gid[1], .port = last->number};
        m->next_page_token = page_token(a, &key);
    }
}

void list_subscriptions(struct call *c, const void *request)
{
    const Fabric__V1__ListSubscriptionsRequest *q = request;
    Fabric__V1__ListSubscriptionsResponse m = FABRIC__V1__LIST_SUBSCRIPTIONS_RESPONSE__INIT;
    struct answer a = {0};
    struct page page;
    const struct sa *sa = need_sa(c);
    struct fab_view *v = sa != NULL ? need_view(c) : NULL;
    if (v != NULL && read_page(c, 'i', q->page_token, q->page_size, &page)) {
        fill_subscriptions(&a, v, sa_subscriptions(sa), &page, &m);
        answer_reply(&a, c, &m.base);
    }
}
