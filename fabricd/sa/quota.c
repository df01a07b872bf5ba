/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Quotas of subnet administration. They limit the multicast groups, memberships, services,
 * subscriptions and alias GUIDs of each port and of all ports together, and the requests per second
 * and the responses in progress of each port. Without quotas, one host can use up all multicast
 * LIDs in a few seconds. A request that carries the key of subnet administration (subnet.sa_key)
 * has no quota; only the rate at which responses to all ports are passed to the kernel (kernel_all)
 * applies to it, too.
 *
 * A registration counts for the port that owns the source LID of the request, but an alias GUID
 * counts for the port that gets it. Because a host can use any source LID, all requesters whose LID
 * belongs to no port share one rate limit.
 *
 * Refusals because of a quota are counted. The event quota-exceeded reports them at most once in 10
 * minutes for each port, kind and limit (that of the port, or that of all ports). The table of
 * these reports has ROWS rows; when it is full, refusals to further ports are counted but not
 * reported.
 */
#include "fabricd/sa/quota.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "libfabmgr/base/bucket.h"
#include "libfabmgr/base/status.h"

#define TELL_AGAIN_US 600000000
#define ROWS 256
#define NAME_LEN 128

/* Rates at which responses are passed to the kernel: 1 KiB every 32 us for a port, and 1 KiB every
 * 2 us for all ports together. The kernel keeps a response until the requester has acknowledged it,
 * but at most 2.2 s (the timeouts of umad.c). The kernel does not report when it frees a response,
 * so only these rates limit the memory of responses in the kernel. */
static const struct fab_bucket_rate kernel_each = {.burst = SA_TABLE_EACH >> 10, .each_us = 32};
static const struct fab_bucket_rate kernel_all = {.burst = 1u << 20, .each_us = 2};

enum { TRANSFERS = FAB_QUOTAS, REQUESTS, KINDS };
static const char *const names[KINDS] = {
    [FAB_QUOTA_GROUPS] = "multicast groups", [FAB_QUOTA_MEMBERSHIPS] = "multicast memberships",
    [FAB_QUOTA_SERVICES] = "services",       [FAB_QUOTA_SUBSCRIPTIONS] = "subscriptions",
    [FAB_QUOTA_ALIAS_GUIDS] = "alias GUIDs", [TRANSFERS] = "responses of many records in progress",
    [REQUESTS] = "requests a second",
};

/* How often requests of one port were refused because of one quota. */
struct row {
    /* guid: GUID of the port. told_us: time in us of the last event about this row; 0: the row is
     * free. */
    uint64_t guid, told_us;
    uint32_t refused; /* number of refusals since the last event */
    uint8_t kind;     /* index in names[] of the kind of quota */
    /* true: the limit for all ports together was reached; false: the limit for this port */
    bool in_all;
};

struct sa_quota {
    struct row row[ROWS];
    /* Token buckets (libfabmgr/base/bucket.h) for each base LID: one for requests, and one for the
     * KiB of responses that were passed to the kernel. Requesters whose LID belongs to no port
     * share entry 0. */
    uint64_t requests_us[FAB_LID_UNICAST_MAX + 1], kernel_us[FAB_LID_UNICAST_MAX + 1];
    /* token bucket of all ports together, for the KiB of responses that were passed to the
     * kernel */
    uint64_t kernel_all_us;
};

int sa_quota_start(struct sa *s)
{
    s->quota = calloc(1, sizeof(*s->quota));
    return s->quota ? FAB_OK : FAB_E_NOMEM;
}

void sa_quota_stop(struct sa *s)
{
    free(s->quota);
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Writes the name of the switch port to which a port is connected; if it has no link, the name of
 * the port itself. Replaces control characters, because devices choose their NodeDescriptions. */
static void name_place(const struct fab_fabric *f, uint32_t port, char name[NAME_LEN])
{
    uint32_t peer = port != FAB_NONE ? fab_fabric_port(f, port)->peer : FAB_NONE;
    uint32_t at = peer != FAB_NONE ? peer : port;
    snprintf(name, NAME_LEN, "an unknown port");
    if (at == FAB_NONE)
        return;
    char text[NAME_LEN];
    snprintf(text, sizeof(text), "%s/%u", f->nodes[fab_fabric_port(f, at)->node].name,
             fab_fabric_port(f, at)->num);
    log_clean(text, name, NAME_LEN);
}

/* Returns the row with the same guid, kind and in_all as *like. If there is none, copies *like into
 * a free row, or into one whose last event is older than TELL_AGAIN_US, and returns this row.
 * Returns NULL if there is no such row either. */
static struct row *find_row(struct sa_quota *q, const struct row *like, uint64_t now)
{
    struct row *usable = NULL;
    for (struct row *r = q->row; r < q->row + ROWS; r++) {
        if (r->told_us != 0 && r->guid == like->guid && r->kind == like->kind &&
            r->in_all == like->in_all)
            return r;
        if (usable == NULL && (r->told_us == 0 || now >= r->told_us + TELL_AGAIN_US))
            usable = r;
    }
    if (usable != NULL)
        *usable = *like;
    return usable;
}

static void emit(struct sa *s, const struct row *r, uint32_t from, uint32_t limit)
{
    char place[NAME_LEN];
    name_place(fab_sa_view(s->view->sa)->fabric, from, place);
    if (r->in_all)
        event_emit(s->in.bus, quota_exceeded_in_all, .subject = place, .guid = r->guid,
                   .what = names[r->kind], .limit = limit, .refused = r->refused);
    else
        event_emit(s->in.bus, quota_exceeded, .subject = place, .guid = r->guid,
                   .what = names[r->kind], .limit = limit, .refused = r->refused);
}

static void refuse(struct sa *s, uint32_t from, uint8_t kind, bool in_all, uint32_t limit)
{
    const struct fab_fabric *f = fab_sa_view(s->view->sa)->fabric;
    uint64_t now = clock_now_us();
    const struct row like = {.guid = from != FAB_NONE ? fab_fabric_port(f, from)->guid : 0,
                             .kind = kind,
                             .in_all = in_all};
    struct row *r = find_row(s->quota, &like, now);
    if (r == NULL)
        return;
    r->refused++;
    if (r->told_us != 0 && now < r->told_us + TELL_AGAIN_US)
        return;
    emit(s, r, from, limit);
    r->told_us = now;
    r->refused = 0;
}

/* ---- limits ---------------------------------------------------------------------------------- */

bool sa_quota_permits(struct sa *s, const struct fab_sa_request *req, enum fab_quota kind,
                      const struct sa_quota_use *use)
{
    const struct fab_policy_quotas *q = &fab_sa_view(s->view->sa)->policy.quotas;
    bool each = q->each[kind] != 0 && use->own + use->more > q->each[kind];
    bool all = q->all[kind] != 0 && use->all + use->more > q->all[kind];
    if (req->trusted || (!each && !all))
        return true;
    s->stats.over_quota++;
    refuse(s, req->from, (uint8_t)kind, !each, each ? q->each[kind] : q->all[kind]);
    return false;
}

uint32_t sa_quota_host(const struct sa *s, const struct fab_sa_request *req)
{
    uint32_t lid =
        req->from != FAB_NONE ? fab_sa_view(s->view->sa)->target->lids.base[req->from] : 0;
    return lid <= FAB_LID_UNICAST_MAX ? lid : 0;
}

bool sa_quota_permits_transfer(struct sa *s, const struct fab_sa_request *req, uint32_t open)
{
    const struct fab_policy_quotas *q = &fab_sa_view(s->view->sa)->policy.quotas;
    uint64_t now = clock_now_us(), kernel_us = s->quota->kernel_us[sa_quota_host(s, req)];
    if (!fab_base_bucket_has(s->quota->kernel_all_us, now, &kernel_all))
        return false;
    if (req->trusted || (open < q->transfers && fab_base_bucket_has(kernel_us, now, &kernel_each)))
        return true;
    s->stats.over_quota++;
    refuse(s, req->from, TRANSFERS, false, q->transfers);
    return false;
}

static void spend(uint64_t *full_us, uint64_t now, uint64_t kib, const struct fab_bucket_rate *rate)
{
    *full_us = (*full_us > now ? *full_us : now) + kib * rate->each_us;
}

void sa_quota_sent(struct sa *s, uint32_t host, size_t len)
{
    uint64_t now = clock_now_us(), kib = (len >> 10) + 1;
    spend(&s->quota->kernel_us[host], now, kib, &kernel_each);
    spend(&s->quota->kernel_all_us, now, kib, &kernel_all);
}

bool sa_quota_admits(struct sa *s, const struct fab_sa_request *req)
{
    const struct fab_policy_quotas *q = &fab_sa_view(s->view->sa)->policy.quotas;
    if (req->trusted || q->requests == 0)
        return true;
    const struct fab_bucket_rate rate = {.burst = q->request_burst,
                                         .each_us = 1000000 / q->requests};
    if (fab_base_bucket_take(&s->quota->requests_us[sa_quota_host(s, req)], clock_now_us(), &rate))
        return true;
    s->stats.over_rate++;
    refuse(s, req->from, REQUESTS, false, q->requests);
    return false;
}
