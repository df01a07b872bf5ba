/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ServiceRecord (IBA 15.2.5.14): hosts register services with a lease (Set), withdraw them
 * (Delete), and query them.
 *
 * A host may register only services of its own ports: the ServiceGID must belong to the requesting
 * node, unless it is a multicast GID or the request carries the sa_key. The requester and the port
 * of the ServiceGID must be in the partition that the request names.
 *
 * A service with a ServiceKey can be changed or withdrawn only by a request with the same
 * ServiceKey. A service without a ServiceKey can be changed by the port that registered it last,
 * and by the port whose port GUID is in its ServiceGID. A requester that gives the sa_key may
 * change any service. (OpenSM lets every host change any service.)
 *
 * Requesters see the services of their partitions. Only requesters that gave the sa_key see
 * ServiceKeys. A service without ServiceP_Key belongs to the default partition; a service without
 * ServiceLease does not expire. All other components missing from the ComponentMask are 0.
 */
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sa/quota.h"
#include "fabricd/sa/registry.h"
#include "fabricd/store/store.h"
#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"

#define FOR_EVER UINT32_MAX
#define DEFAULT_KEY 0xffff
/* first byte of every multicast GID */
#define MULTICAST 0xff
#define SECOND_US 1000000
#define ARM_MOST_US (3600ull * SECOND_US)

/* offsets and a length in bytes, for fields of ServiceRecord */
enum { AT_PKEY = 24, AT_LEASE = 28, AT_KEY = 32, KEY_LEN = 16 };

static uint64_t component(const char *name)
{
    return fab_wire_rec_component(&fab_wire_service_record, name);
}

static bool given(const struct fab_sa_request *req, const char *name)
{
    return (req->comp_mask & component(name)) != 0;
}

/* ---- the request ----------------------------------------------------------------------------- */

struct change {
    const struct fab_view *view;
    const struct fab_sa_aliases *aliases;
    const struct fab_sa_request *req;
    struct fab_service service;
    struct fab_wire_service_record record;
    /* the registered service with the ServiceID, ServiceGID and ServiceP_Key of the request; NULL:
     * none */
    const struct fab_service *old;
    uint64_t from; /* GUID of the requesting port */
};

static void read_service(const struct fab_sa_request *req, struct fab_service *x,
                         struct fab_wire_service_record *ret_record)
{
    uint8_t mask[FAB_REC_MAX];
    fab_wire_rec_mask_bytes(&fab_wire_service_record, req->comp_mask, mask);
    for (size_t i = 0; i < FAB_SERVICE_BYTES; i++)
        x->wire[i] = req->data[i] & mask[i];
    if (!given(req, "ServiceP_Key"))
        fab_base_put_be16(x->wire + AT_PKEY, DEFAULT_KEY);
    if (!given(req, "ServiceLease"))
        fab_base_put_be32(x->wire + AT_LEASE, FOR_EVER);
    (void)fab_wire_rec_unpack(&fab_wire_service_record, x->wire, FAB_SERVICE_BYTES, ret_record);
    x->key = (struct fab_service_key){.id = ret_record->id,
                                      .gid = {ret_record->gid[0], ret_record->gid[1]},
                                      .pkey = ret_record->pkey};
}

/* Returns true if both the requester and the port of the ServiceGID are in the partition of the
 * service, or if the request has no ServiceP_Key. If the ServiceGID is a multicast GID, only the
 * requester counts. */
static bool is_served(const struct change *c)
{
    uint16_t pkey = c->record.pkey;
    if (!given(c->req, "ServiceP_Key"))
        return true;
    if (!fab_target_pkeys_has(&c->view->target->pkeys, c->req->from, pkey))
        return false;
    if (c->record.gid[0] >> 56 == MULTICAST)
        return true;
    uint64_t alias_of = fab_sa_aliases_port(c->aliases, c->record.gid[1]);
    uint32_t port =
        fab_fabric_port_by_guid(c->view->fabric, alias_of ? alias_of : c->record.gid[1]);
    return port != FAB_NONE && fab_fabric_port_has_lid(c->view->fabric, port) &&
           fab_target_pkeys_has(&c->view->target->pkeys, port, pkey);
}

static bool may_change(const struct change *c)
{
    static const uint8_t none[KEY_LEN];
    const struct fab_service *old = c->old;
    if (old == NULL || c->req->trusted)
        return true;
    if (memcmp(old->wire + AT_KEY, none, KEY_LEN) != 0)
        return memcmp(old->wire + AT_KEY, c->service.wire + AT_KEY, KEY_LEN) == 0;
    return old->owner == c->from || old->key.gid[1] == c->from;
}

static uint16_t read_change(struct sa *s, const struct fab_sa_request *req, struct change *c)
{
    *c = (struct change){.view = fab_sa_view(s->view->sa), .aliases = &s->aliases, .req = req};
    if (!given(req, "ServiceID") || !given(req, "ServiceGID") || req->from == FAB_NONE)
        return FAB_SA_REQ_INVALID;
    read_service(req, &c->service, &c->record);
    c->from = fab_fabric_port(c->view->fabric, req->from)->guid;
    c->old = fab_registry_services_find(&s->registry->services, &c->service.key);
    return is_served(c) && may_change(c) ? 0 : FAB_SA_REQ_INVALID;
}

/* ---- changes --------------------------------------------------------------------------------- */

static void keep(const struct sa *s, const struct fab_service *x, bool there)
{
    struct store_service row = {.ends_us = x->ends_us, .owner = x->owner};
    (void)fab_wire_rec_unpack(&fab_wire_service_record, x->wire, FAB_SERVICE_BYTES, &row.record);
    if (s->in.store != NULL)
        store_put_service(s->in.store, &row, there);
}

static void tell(const struct fab_sa_request *req, const struct fab_service *x,
                 uint8_t ret_data[FAB_SA_DATA_LEN])
{
    memcpy(ret_data, x->wire, FAB_SERVICE_BYTES);
    if (!req->trusted)
        memset(ret_data + AT_KEY, 0, KEY_LEN);
}

/* Returns true if the quota permits the registration. A service counts for the port that registered
 * it last, even if another port registered it before. */
static bool is_within_quota(struct sa *s, const struct change *c)
{
    const struct fab_services *all = &s->registry->services;
    const struct sa_quota_use use = {.own = fab_registry_services_of(all, c->from),
                                     .all = c->old == NULL ? all->count : 0,
                                     .more = 1};
    return (c->old != NULL && c->old->owner == c->from) ||
           sa_quota_permits(s, c->req, FAB_QUOTA_SERVICES, &use);
}

/* Returns true if the request may use this ServiceGID: it is a multicast GID, or has a port GUID or
 * alias GUID of the requesting node, or the request has the sa_key. Without this check, a host
 * could direct the clients of another host's service to any port, or register many services for
 * another host. */
static bool is_own_gid(const struct change *c)
{
    const struct fab_fabric *f = c->view->fabric;
    uint64_t alias_of = fab_sa_aliases_port(c->aliases, c->record.gid[1]);
    uint32_t port = fab_fabric_port_by_guid(f, alias_of ? alias_of : c->record.gid[1]);
    return c->req->trusted || c->record.gid[0] >> 56 == MULTICAST ||
           (port != FAB_NONE &&
            fab_fabric_port(f, port)->node == fab_fabric_port(f, c->req->from)->node);
}

uint16_t sa_service_set(struct sa *s, const struct fab_sa_request *req,
                        uint8_t ret_data[FAB_SA_DATA_LEN])
{
    struct change c;
    uint16_t status = read_change(s, req, &c);
    if (status == 0 && !is_own_gid(&c))
        status = FAB_SA_REQ_INVALID;
    if (status == 0 && !is_within_quota(s, &c))
        status = FAB_SA_NO_RESOURCES;
    if (status != 0)
        return status;
    c.service.owner = c.from;
    if (c.record.lease != FOR_EVER)
        c.service.ends_us = clock_unix_us() + (int64_t)c.record.lease * SECOND_US;
    if (fab_registry_services_put(&s->registry->services, &c.service) != FAB_OK)
        return FAB_SA_NO_RESOURCES;
    keep(s, &c.service, true);
    sa_services_arm(s);
    tell(req, &c.service, ret_data);
    return 0;
}

uint16_t sa_service_delete(struct sa *s, const struct fab_sa_request *req,
                           uint8_t ret_data[FAB_SA_DATA_LEN])
{
    struct change c;
    uint16_t status = read_change(s, req, &c);
    if (status != 0)
        return status;
    if (c.old == NULL)
        return FAB_SA_NO_RECORDS;
    struct fab_service old = *c.old;
    fab_registry_services_remove(&s->registry->services, &old.key);
    keep(s, &old, false);
    tell(req, &old, ret_data);
    return 0;
}

/* ---- leases ---------------------------------------------------------------------------------- */

void sa_services_arm(struct sa *s)
{
    int64_t ends = s->registry->services.ends_us, now = clock_unix_us();
    if (ends == 0)
        return;
    uint64_t in = ends > now ? (uint64_t)(ends - now) : 0;
    loop_timer_set(s->registry->leases, in < ARM_MOST_US ? in + 1 : ARM_MOST_US);
}

static void on_end(void *ctx, const struct fab_service *x)
{
    keep(ctx, x, false);
}

void sa_services_expire(void *ctx)
{
    struct sa *s = ctx;
    fab_registry_services_expire(&s->registry->services, clock_unix_us(), on_end, s);
    sa_services_arm(s);
}

int sa_services_load(struct sa *s)
{
    struct store_service *rows = NULL;
    size_t count = 0;
    int r = store_load_services(s->in.store, &rows, &count);
    for (size_t i = 0; r == FAB_OK && i < count; i++) {
        const struct fab_wire_service_record *is = &rows[i].record;
        struct fab_service x = {.key = {is->id, {is->gid[0], is->gid[1]}, is->pkey},
                                .owner = rows[i].owner,
                                .ends_us = rows[i].ends_us};
        r = fab_wire_rec_pack(&fab_wire_service_record, is, x.wire, sizeof(x.wire));
        if (r == FAB_OK)
            r = fab_registry_services_put(&s->registry->services, &x);
    }
    free(rows);
    return r;
}

/* ---- queries --------------------------------------------------------------------------------- */

static bool agrees(const struct fab_sa_query *q, const struct fab_service *x)
{
    uint8_t differ = 0;
    for (size_t i = 0; i < FAB_SERVICE_BYTES; i++)
        differ |= (uint8_t)((x->wire[i] ^ q->want[i]) & q->mask[i]);
    return differ == 0;
}

/* Fills in the ServiceRecord. ServiceLease is the remaining time of the lease. ServiceKey is 0,
 * unless the requester gave the sa_key. */
static void show(const struct fab_sa_query *q, const struct fab_service *x,
                 struct fab_wire_service_record *ret)
{
    int64_t left = x->ends_us - clock_unix_us();
    (void)fab_wire_rec_unpack(&fab_wire_service_record, x->wire, FAB_SERVICE_BYTES, ret);
    if (x->ends_us != 0)
        ret->lease = left > 0 ? (uint32_t)(left / SECOND_US) : 0;
    if (!q->trusted)
        ret->key[0] = ret->key[1] = 0;
}

bool sa_service_next(void *ctx, const struct fab_sa_query *q, uint64_t at[4], void *ret_struct)
{
    const struct sa *s = ctx;
    struct fab_service_key key = {at[0], {at[1], at[2]}, (uint16_t)at[3]};
    bool begun = at[3] != 0;
    const struct fab_service *x =
        fab_registry_services_next(&s->registry->services, begun ? &key : NULL);
    while (x != NULL && (!fab_sa_in_partition(q, x->key.pkey) || !agrees(q, x)))
        x = fab_registry_services_next(&s->registry->services, &x->key);
    if (x == NULL)
        return false;
    at[0] = x->key.id;
    at[1] = x->key.gid[0];
    at[2] = x->key.gid[1];
    /* Bit 32 is set, because the P_Key may be 0, and at[3] == 0 means that the search has not
     * begun. */
    at[3] = x->key.pkey | UINT64_C(1) << 32;
    show(q, x, ret_struct);
    return true;
}
