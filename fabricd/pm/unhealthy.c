/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds unhealthy links. The manager watches a link, at both ends, from the first increase of an
 * error counter; it watches at most WATCH_MOST links. If a counter rises by its threshold within
 * counters.within (the window), the link becomes unhealthy, and the manager emits an event. The
 * link has recovered when no counter has crossed its threshold for RECOVERED_AFTER windows (or
 * RECOVERED_AFTER times counters.interval, if that is longer). If a counter crossed its threshold
 * and then stops at its maximum value, nobody can see whether the errors continue, so the link
 * stays unhealthy.
 *
 * Depending on counters.on_errors, the manager isolates unhealthy links, the worst first. It
 * isolates a link only for faults of the link itself, and not for errors that congestion or distant
 * ports cause, and only if the errors persist (libfabmgr/health/persistence.h). It skips exempt
 * links (exempt.c) and links that the subnet manager refuses to isolate.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/pm/private.h"
#include "libfabmgr/base/status.h"

#define WATCH_MOST 1024
/* A link has recovered if no counter crossed its threshold for this number of windows
 * (counters.within) or of intervals (counters.interval), whichever takes longer. */
#define RECOVERED_AFTER 5
/* maximum number of isolations that are requested in one timer tick */
#define ACTS 8

struct fab_counter_rule pm_rule(const struct pm *pm)
{
    const struct config_counters *c = &pm->in.config->counters;
    struct fab_counter_rule rule = {.within_us = c->within_s * UINT64_C(1000000)};
    memcpy(rule.threshold, c->most, sizeof(rule.threshold));
    return rule;
}

/* ---- watched links --------------------------------------------------------------------------- */

static struct pm_watch *find(struct pm *pm, uint64_t guid, uint8_t port, int *ret_end)
{
    for (uint32_t i = 0; i < pm->watch_count; i++)
        for (int end = 0; end < 2; end++)
            if (pm->watch[i].guid[end] == guid && pm->watch[i].port[end] == port) {
                *ret_end = end;
                return &pm->watch[i];
            }
    return NULL;
}

struct pm_watch *pm_watch_of(struct pm *pm, uint64_t guid, uint8_t port)
{
    int end;
    return find(pm, guid, port, &end);
}

static bool is_quiet(const struct fab_health_history *h)
{
    for (uint32_t i = 0; i < fab_health_sample_count(h); i++)
        for (int c = 0; c < FAB_COUNTERS; c++)
            if (fab_health_sample(h, i)->rise[c] > 0)
                return false;
    return true;
}

static void drop_quiet(struct pm *pm)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < pm->watch_count; i++)
        if (pm->watch[i].unhealthy || pm->watch[i].isolated || !is_quiet(&pm->watch[i].end[0]) ||
            !is_quiet(&pm->watch[i].end[1]))
            pm->watch[kept++] = pm->watch[i];
    pm->watch_count = kept;
}

static struct pm_watch *room(struct pm *pm)
{
    if (pm->watch_count == pm->watch_room)
        drop_quiet(pm);
    if (pm->watch_count < pm->watch_room)
        return &pm->watch[pm->watch_count++];
    uint32_t more = pm->watch_room ? pm->watch_room * 2 : 16;
    struct pm_watch *list =
        more <= WATCH_MOST ? reallocarray(pm->watch, more, sizeof(*list)) : NULL;
    if (!list)
        return NULL;
    pm->watch = list;
    pm->watch_room = more;
    return &list[pm->watch_count++];
}

void pm_name_place(const struct fab_fabric *f, uint32_t port, char place[PM_PLACE_LEN])
{
    const struct fab_port *p = fab_fabric_port(f, port);
    const struct fab_node *n = &f->nodes[p->node];
    if (n->name[0])
        snprintf(place, PM_PLACE_LEN, "%s/%u", n->name, (unsigned)p->num);
    else
        snprintf(place, PM_PLACE_LEN, "0x%016" PRIx64 "/%u", n->guid, (unsigned)p->num);
}

/* Begins to watch the link of a port. Returns NULL if the port has no link in the view, if too many
 * links are watched, or if memory ran out. */
static struct pm_watch *add(struct pm *pm, uint64_t guid, uint8_t port)
{
    struct fab_view *v = sm_view(pm->in.sm);
    uint32_t node = v ? fab_fabric_node_by_guid(v->fabric, guid) : FAB_NONE;
    uint32_t end[2] = {FAB_NONE, FAB_NONE};
    struct pm_watch *w = NULL;
    if (node != FAB_NONE && port <= v->fabric->nodes[node].num_ports) {
        end[0] = fab_fabric_port_id(v->fabric, node, port);
        end[1] = fab_fabric_port(v->fabric, end[0])->peer;
    }
    if (end[1] != FAB_NONE)
        w = room(pm);
    if (w)
        *w = (struct pm_watch){.counter = FAB_COUNTERS};
    for (int i = 0; w && i < 2; i++) {
        const struct fab_port *p = fab_fabric_port(v->fabric, end[i]);
        w->guid[i] = v->fabric->nodes[p->node].guid;
        w->port[i] = p->num;
        pm_name_place(v->fabric, end[i], w->place[i]);
    }
    if (w)
        sm_suspect_link(pm->in.sm, guid, port);
    fab_view_unref(v);
    return w;
}

/* ---- unhealthy and recovered links ----------------------------------------------------------- */

/* fields of the events link-unhealthy and port-errors that describe the increase of a counter */
#define RISE(w, config)                                                                            \
    EVENT_LINK_FROM(w, (w)->at), .counter = fab_health_counter_kinds[(w)->counter].name,           \
                                 .errors = (w)->rise, .span_us = (w)->span_us,                     \
                                 .threshold = (config)->most[(w)->counter],                        \
                                 .within_s = (config)->within_s

static void report_unhealthy(struct pm *pm, const struct pm_watch *w)
{
    const struct config_counters *config = &pm->in.config->counters;
    if (w->of_cable)
        event_emit(pm->in.bus, link_unhealthy, RISE(w, config));
    else
        event_emit(pm->in.bus, port_errors, RISE(w, config));
}

static bool is_confirmed(const struct pm *pm, const struct pm_watch *w)
{
    uint32_t crossings = pm->in.config->counters.confirm;
    return crossings <= 1 || fab_health_persistence_reached(&w->persistence[0], crossings) ||
           fab_health_persistence_reached(&w->persistence[1], crossings);
}

static void cross(struct pm *pm, struct pm_watch *w, int end, enum fab_counter counter,
                  bool of_cable)
{
    struct fab_counter_rule rule = pm_rule(pm);
    bool fresh = !w->unhealthy || (of_cable && !w->of_cable);
    w->of_cable = of_cable || (w->unhealthy && w->of_cable);
    w->at = (uint8_t)end;
    w->counter = counter;
    w->rise = fab_health_recent_increase(&w->end[end], &rule, counter, &w->span_us);
    w->crossed_us = clock_now_us();
    if (!w->unhealthy)
        w->since_us = clock_unix_us();
    w->unhealthy = true;
    if (fresh)
        report_unhealthy(pm, w);
    pm_exempt_extend(pm, w);
    w->wanted = of_cable && pm->in.config->counters.on_errors != CONFIG_ON_ERRORS_REPORT &&
                is_confirmed(pm, w);
}

static void judge(struct pm *pm, struct pm_watch *w, int end)
{
    struct fab_counter_rule rule = pm_rule(pm);
    enum fab_counter own = fab_health_worst_counter(&w->end[end], &rule, true);
    enum fab_counter any = fab_health_worst_counter(&w->end[end], &rule, false);
    if (own != FAB_COUNTERS)
        cross(pm, w, end, own, true);
    else if (any != FAB_COUNTERS)
        cross(pm, w, end, any, false);
}

uint64_t pm_recovery_us(const struct pm *pm)
{
    const struct config_counters *c = &pm->in.config->counters;
    return RECOVERED_AFTER * UINT64_C(1000000) *
           (c->within_s > c->interval_s ? c->within_s : c->interval_s);
}

static bool has_recovered(const struct pm *pm, const struct pm_watch *w)
{
    return clock_now_us() - w->crossed_us > pm_recovery_us(pm) && !w->end[w->at].full[w->counter];
}

static void recover(struct pm *pm, struct pm_watch *w)
{
    w->unhealthy = w->of_cable = w->wanted = false;
    w->skipped[0] = '\0';
    event_emit(pm->in.bus, link_recovered, EVENT_LINK(w));
}

void pm_read(struct pm *pm, uint64_t guid, uint8_t port, const struct pm_port *was,
             const struct pm_port *now)
{
    int end = 0;
    struct fab_counter_rule rule = pm_rule(pm);
    struct pm_watch *w = find(pm, guid, port, &end);
    if (!w && !fab_health_counters_increased(&was->last, &now->last))
        return;
    if (!w)
        w = add(pm, guid, port);
    if (!w)
        return;
    fab_health_history_add(&w->end[end], was->at_us, now->at_us, &was->last, &now->last);
    fab_health_persistence_add(&w->persistence[end], &w->end[end], &rule);
    judge(pm, w, end);
    if (w->unhealthy && has_recovered(pm, w))
        recover(pm, w);
}

/* ---- isolating ------------------------------------------------------------------------------- */

static void report_skipped(struct pm *pm, struct pm_watch *w, const char *why)
{
    if (strcmp(w->skipped, why) == 0)
        return;
    snprintf(w->skipped, sizeof(w->skipped), "%s", why);
    event_emit(pm->in.bus, isolation_skipped, EVENT_LINK(w), .reason = why);
}

static void isolate(struct pm *pm, struct pm_watch *w)
{
    char cause[160], why[256];
    snprintf(cause, sizeof(cause), "%s at %.60s rose by %" PRIu64 " in %.0f s",
             fab_health_counter_kinds[w->counter].name, w->place[w->at], w->rise,
             (double)w->span_us / 1e6);
    int r = sm_link_isolate(pm->in.sm, w->guid[0], w->port[0], false, cause, why, sizeof(why));
    /* If the isolation is refused, it is requested again only after a new reading of the link's
     * counters. */
    w->wanted = false;
    if (r == FAB_OK || r == FAB_E_EXISTS) {
        w->isolated = true;
        w->skipped[0] = '\0';
    } else if (why[0]) {
        report_skipped(pm, w, why);
    }
}

static bool is_isolated(const struct sm_isolation *list, uint32_t count, const struct pm_watch *w)
{
    for (uint32_t i = 0; i < count; i++)
        for (int end = 0; end < 2; end++)
            if (list[i].guid[end] == w->guid[0] && list[i].port[end] == w->port[0])
                return true;
    return false;
}

static void mark_isolated(struct pm *pm)
{
    for (uint32_t i = 0; i < pm->watch_count; i++) {
        struct pm_watch *w = &pm->watch[i];
        w->isolated = is_isolated(pm->isolation, pm->isolation_count, w);
        w->wanted &= !w->isolated && !pm_is_exempt(pm, w);
    }
}

/* Returns a measure of the errors of a link: the increase of the counter that crossed its
 * threshold, as a multiple of this threshold. */
static uint64_t severity(const struct pm *pm, const struct pm_watch *w)
{
    uint32_t most = pm->in.config->counters.most[w->counter];
    return most ? w->rise / most : 0;
}

void pm_act(struct pm *pm)
{
    pm_isolations_update(pm);
    pm_exempt_expire(pm);
    mark_isolated(pm);
    for (int n = 0; n < ACTS; n++) {
        struct pm_watch *worst = NULL;
        for (uint32_t i = 0; i < pm->watch_count; i++)
            if (pm->watch[i].wanted &&
                (!worst || severity(pm, &pm->watch[i]) > severity(pm, worst)))
                worst = &pm->watch[i];
        if (!worst)
            break;
        isolate(pm, worst);
    }
    pm_isolations_update(pm);
}
