/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds congested ports. The manager reads PortXmitWait together with the error counters. If the
 * manager programs congestion control, it also reads two attributes. PortRcvConCtrl (IBA A10.4.4)
 * has the number of packets with FECN and with BECN that an endport received. SwPortVLCongestion
 * shows how often VLs of a switch port became congested.
 *
 * An endport that receives FECN is the target of an incast. An endport that receives BECN is
 * throttled. A port that waits for credits, but has no FECN, no BECN and no congestion events, is
 * probably a victim of congestion elsewhere.
 *
 * This file assumes that a tick of PortXmitWait is the time in which the port sends one word of
 * PortXmitData. Let w and d be the increases of PortXmitWait and PortXmitData. A port with data to
 * send then waits for about w / (w + d) of the time.
 */
#include <stdlib.h>
#include <string.h>

#include "fabricd/pm/private.h"
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/congestion/advise.h"

/* A port counts as waiting if it had data to send, but no credits, for at least this share of the
 * time (per mille). Ports with FECN, BECN or congestion events are listed even below this share. */
#define WAITS_PERMILLE 10
/* If FECN or congestion events of a port rise in this number of reads in succession, its congestion
 * counts as persistent. */
#define LASTS 3

/* Describes the congestion of a port at its last read. Returns false if the port is not congested.
 */
static bool describe(const struct pm_node *n, uint8_t port, struct pm_congested *ret)
{
    const struct pm_congestion_counters *s = &n->port[port].congestion;
    uint64_t all = (uint64_t)s->rise[PM_XMIT_DATA] + s->rise[PM_XMIT_WAIT];
    if (s->span_ms == 0 ||
        (s->rise[PM_XMIT_WAIT] | s->rise[PM_FECN] | s->rise[PM_BECN] | s->rise[PM_EVENTS]) == 0)
        return false;
    *ret = (struct pm_congested){
        .guid = n->guid,
        .port = port,
        .waits_permille = all > 0 ? (uint32_t)(s->rise[PM_XMIT_WAIT] * UINT64_C(1000) / all) : 0,
        .mbps = (uint32_t)((uint64_t)s->rise[PM_XMIT_DATA] * 32 / s->span_ms / 1000),
        .fecn = s->rise[PM_FECN],
        .becn = s->rise[PM_BECN],
        .events = s->rise[PM_EVENTS],
        .span_ms = s->span_ms,
        .persistent = s->marked >= LASTS,
    };
    ret->kind = ret->fecn || ret->events ? PM_CONGESTED : ret->becn ? PM_THROTTLED : PM_WAITING;
    return ret->kind != PM_WAITING || ret->waits_permille >= WAITS_PERMILLE;
}

/* Puts a port into the set of congested ports of its node, or removes it. Because of these sets,
 * queries need not search the counters of all ports, which takes 10 to 25 ms in a large fabric. */
static void note_congested(struct pm_node *n, uint8_t port)
{
    struct pm_congested unused;
    fab_base_bits_put(n->congested, port, describe(n, port, &unused));
}

static void note(struct pm_congestion_counters *s, enum pm_congestion_counter which, uint64_t now)
{
    uint64_t rise = now >= s->last[which] ? now - s->last[which] : now;
    s->rise[which] = rise < UINT32_MAX ? (uint32_t)rise : UINT32_MAX;
    s->last[which] = now;
}

void pm_note_data(struct pm_node *n, uint8_t port, uint64_t now, uint64_t xmit_data,
                  uint64_t xmit_wait)
{
    struct pm_congestion_counters *s = &n->port[port].congestion;
    bool first = s->at_us == 0;
    note(s, PM_XMIT_DATA, xmit_data);
    note(s, PM_XMIT_WAIT, xmit_wait);
    s->span_ms = first ? 0 : (uint32_t)((now - s->at_us) / 1000);
    s->at_us = now;
    note_congested(n, port);
}

void pm_note_marks(struct pm_node *n, uint8_t port, uint64_t now,
                   const struct fab_perf_details *values)
{
    struct pm_congestion_counters *s = &n->port[port].congestion;
    bool first = s->marks_us == 0;
    uint64_t events = 0;
    for (int vl = 0; n->is_switch && vl < 16; vl++)
        events += values->value[vl];
    note(s, PM_EVENTS, events);
    note(s, PM_FECN, n->is_switch ? 0 : values->value[0]);
    note(s, PM_BECN, n->is_switch ? 0 : values->value[1]);
    if (first)
        s->rise[PM_EVENTS] = s->rise[PM_FECN] = s->rise[PM_BECN] = 0;
    bool marked = s->rise[PM_EVENTS] || s->rise[PM_FECN];
    s->marked = marked && s->marked < UINT32_MAX ? s->marked + 1 : marked;
    s->marks_us = now;
    note_congested(n, port);
}

bool pm_wants_marks(const struct pm *pm)
{
    return pm->in.config->policy.congestion.apply;
}

/* ---- queries ---- */

static int by_congestion(const void *x, const void *y)
{
    const struct pm_congested *a = x, *b = y;
    uint64_t marks_a = (uint64_t)a->fecn + a->becn + a->events + a->senders;
    uint64_t marks_b = (uint64_t)b->fecn + b->becn + b->events + b->senders;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (marks_a != marks_b)
        return marks_a > marks_b ? -1 : 1;
    if (a->waits_permille != b->waits_permille)
        return a->waits_permille > b->waits_permille ? -1 : 1;
    if (a->guid != b->guid)
        return a->guid < b->guid ? -1 : 1;
    return a->port - b->port;
}

/* Calls fn for each congested port. */
static void each_congested(const struct pm *pm, void (*fn)(void *ctx, const struct pm_congested *),
                           void *ctx)
{
    struct pm_congested port;
    for (size_t i = 0; i < pm->node_count; i++) {
        const struct pm_node *n = &pm->nodes[i];
        size_t end = n->port ? n->ports + 1u : 0;
        for (size_t p = fab_base_bits_next(n->congested, end, 0); p < end;
             p = fab_base_bits_next(n->congested, end, p + 1))
            if (describe(n, (uint8_t)p, &port))
                fn(ctx, &port);
    }
}

struct collection {
    struct pm_congested *to;
    uint32_t count, max;
};

static void collect(void *ctx, const struct pm_congested *port)
{
    struct collection *g = ctx;
    if (g->count < g->max)
        g->to[g->count] = *port;
    g->count++;
}

uint32_t pm_congested_ports(const struct pm *pm, struct pm_congested *ret, uint32_t max)
{
    struct collection g = {.to = ret, .max = max};
    each_congested(pm, collect, &g);
    pm_congested_sort(ret, g.count < max ? g.count : max);
    return g.count;
}

void pm_congested_sort(struct pm_congested *all, uint32_t count)
{
    if (count > 1)
        qsort(all, count, sizeof(*all), by_congestion);
}

static void count(void *ctx, const struct pm_congested *port)
{
    struct fab_congestion_observed *seen = ctx;
    seen->congested_endports += port->fecn > 0;
    seen->persistent_endports += port->fecn > 0 && port->persistent;
    seen->slowed += port->becn > 0;
    seen->congested_ports += port->events > 0;
    seen->waiting += port->waits_permille >= WAITS_PERMILLE;
    if (port->waits_permille > seen->max_wait_permille)
        seen->max_wait_permille = port->waits_permille;
}

void pm_congestion_seen(const struct pm *pm, struct fab_congestion_observed *ret)
{
    *ret = (struct fab_congestion_observed){0};
    each_congested(pm, count, ret);
}
