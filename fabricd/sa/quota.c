/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Quotas of subnet administration: what one port, and all ports, may have of multicast groups,
 * memberships, services, subscriptions and alias GUIDs, and how many requests a second a port may
 * send. Without them, one host can use up all multicast LIDs in some seconds. A request with the
 * SM_Key has no quota.
 *
 * The port that sent the request is charged. It is recognized by its LID. All requesters whose LID
 * no port has share one limit of requests, because a host can give itself any LID.
 *
 * A refusal is counted, and reported by the event quota-exceeded, at most once in 10 minutes for a
 * port and kind. The table of these reports is bounded; when it is full, further ports are only
 * counted.
 */
#include "fabricd/sa/quota.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "libfabmgr/base/status.h"

#define TELL_AGAIN_US 600000000
#define ROWS 256
#define NAME_LEN 128
#define UNKNOWN_LID 0 /* index in due_ns[] of all requesters whose LID no port has */

enum { REQUESTS = FAB_QUOTAS, KINDS };
static const char *const names[KINDS] = {
    [FAB_QUOTA_GROUPS] = "multicast groups", [FAB_QUOTA_MEMBERSHIPS] = "multicast memberships",
    [FAB_QUOTA_SERVICES] = "services",       [FAB_QUOTA_SUBSCRIPTIONS] = "subscriptions",
    [FAB_QUOTA_ALIAS_GUIDS] = "alias GUIDs", [REQUESTS] = "requests a second",
};

/* The refusals of one kind to one port. */
struct row {
    uint64_t guid, told_us; /* told_us: time of the last event; 0: the row is free */
    uint32_t refused;       /* since then */
    uint8_t kind;
    bool in_all;
};

struct sa_quota {
    struct row row[ROWS];
    /* The time in nanoseconds up to which a port has used its requests, by its base LID (the
     * generic cell rate algorithm: one number is a whole token bucket). */
    uint64_t due_ns[FAB_LID_UNICAST_MAX + 1];
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

/* ---- events ------------------------------------------------------------------------------------
 */

/* Writes the name of the switch port to which a port is connected. A NodeDescription comes from the
 * device, so control characters in it are replaced. */
static void name_place(const struct fab_fabric *f, uint32_t port, char name[NAME_LEN])
{
    uint32_t peer = port != FAB_NONE ? f->ports[port].peer : FAB_NONE;
    uint32_t at = peer != FAB_NONE ? peer : port;
    snprintf(name, NAME_LEN, "an unknown port");
    if (at == FAB_NONE)
        return;
    snprintf(name, NAME_LEN, "%s/%u", f->nodes[f->ports[at].node].desc, f->ports[at].num);
    for (char *c = name; *c != '\0'; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
}

/* Returns the row of a port and kind, or a free row, or one whose event is long ago; NULL: there is
 * none. */
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
    const struct row like = {
        .guid = from != FAB_NONE ? f->ports[from].guid : 0, .kind = kind, .in_all = in_all};
    struct row *r = find_row(s->quota, &like, now);
    if (r == NULL)
        return;
    r->refused++;
    if (r->told_us != 0 && now < r->told_us + TELL_AGAIN_US)
        return;
    emit(s, r, from, limit);
    r->told_us = now > 0 ? now : 1;
    r->refused = 0;
}

/* ---- limits ------------------------------------------------------------------------------------
 */

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

bool sa_quota_admits(struct sa *s, const struct fab_sa_request *req)
{
    const struct fab_view *v = fab_sa_view(s->view->sa);
    const struct fab_policy_quotas *q = &v->policy.quotas;
    uint32_t lid = req->from != FAB_NONE ? v->target->lids.base[req->from] : UNKNOWN_LID;
    if (req->trusted || q->requests == 0 || lid > FAB_LID_UNICAST_MAX)
        return true;
    uint64_t interval = UINT64_C(1000000000) / q->requests, now = clock_now_us() * 1000;
    uint64_t *due = &s->quota->due_ns[lid], used = *due > now ? *due : now;
    if (used - now > (q->request_burst - 1) * interval) {
        s->stats.over_rate++;
        refuse(s, req->from, REQUESTS, false, q->requests);
        return false;
    }
    *due = used + interval;
    return true;
}
