/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creates the performance manager and answers queries about it. poll.c reads the counters, and
 * unhealthy.c finds and isolates unhealthy links.
 */
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/pm/private.h"
#include "libfabmgr/base/status.h"

#define WINDOW 32

static int new_agent(struct pm *pm)
{
    const struct config_smp *smp = &pm->in.config->smp;
    struct fab_mads_config config = {
        .window_start = WINDOW / 2,
        .window_max = WINDOW,
        .timeout_us = (uint64_t)smp->timeout_ms * 1000,
        .retries = smp->retries < 2 ? smp->retries : 2,
    };
    int r = agent_new_class(pm->in.loop, pm->in.transport, FAB_CLASS_PERF, &config, NULL, NULL,
                            &pm->agent);
    if (r == FAB_OK)
        pm->mads = agent_mads(pm->agent);
    return r;
}

int pm_new(const struct pm_input *in, struct pm **ret)
{
    struct pm *pm = calloc(1, sizeof(*pm));
    if (!pm)
        return FAB_E_NOMEM;
    pm->in = *in;
    int r = new_agent(pm);
    if (r == FAB_OK)
        r = pm_exempt_load(pm);
    if (r == FAB_OK)
        r = pm_history_start(pm);
    if (r == FAB_OK)
        r = pm_drains_init(pm);
    pm->timer = r == FAB_OK ? loop_timer_new(in->loop, pm_tick, pm) : NULL;
    if (r == FAB_OK && !pm->timer)
        r = FAB_E_NOMEM;
    if (r != FAB_OK) {
        pm_free(pm);
        return r;
    }
    pm_isolations_update(pm);
    pm_reload(pm);
    *ret = pm;
    return FAB_OK;
}

void pm_free(struct pm *pm)
{
    if (!pm)
        return;
    loop_timer_free(pm->timer);
    agent_free(pm->agent);
    pm_drains_fini(pm);
    pm_history_fini(pm);
    pm_nodes_fini(pm);
    free(pm->watch);
    free(pm->exempt);
    free(pm->isolation);
    free(pm);
}

void pm_reload(struct pm *pm)
{
    if (pm->in.config->counters.interval_s == 0)
        loop_timer_cancel(pm->timer);
    else if (!loop_timer_pending(pm->timer))
        loop_timer_set(pm->timer, 0);
}

/* ---- queries ---- */

static int64_t unix_of(uint64_t us)
{
    return clock_unix_us() - (int64_t)(clock_now_us() - us);
}

void pm_get_status(const struct pm *pm, struct pm_status *ret)
{
    *ret = (struct pm_status){.reads = pm->reads,
                              .failed = pm->failed,
                              .passes = pm->pass,
                              .watched = pm->watch_count,
                              .most_in_flight = pm->most_in_flight};
    for (uint32_t i = 0; i < pm->watch_count; i++)
        ret->unhealthy += pm->watch[i].unhealthy;
    pm_history_sum(pm, ret);
}

bool pm_counters(const struct pm *pm, uint64_t node_guid, uint8_t port, struct pm_counters *ret)
{
    uint32_t i;
    if (!fab_base_map_get(&pm->index, node_guid, &i) || port > pm->nodes[i].ports ||
        pm->nodes[i].port[port].at_us == 0)
        return false;
    const struct pm_port *p = &pm->nodes[i].port[port];
    *ret = (struct pm_counters){.counters = p->last, .time_us = unix_of(p->at_us)};
    return true;
}

static void describe_end(const struct pm *pm, const struct pm_watch *w, int end,
                         struct pm_link_end *ret)
{
    const struct fab_health_history *h = &w->end[end];
    struct fab_counter_rule rule = pm_rule(pm);
    ret->guid = w->guid[end];
    ret->port = w->port[end];
    memcpy(ret->place, w->place[end], sizeof(ret->place));
    memcpy(ret->total, h->sum, sizeof(ret->total));
    for (int i = 0; i < FAB_COUNTERS && h->count > 0; i++) {
        uint64_t us;
        ret->recent[i] = fab_health_recent_increase(h, &rule, (enum fab_counter)i, &us);
        ret->per_hour[i] = us ? (uint64_t)((double)ret->recent[i] * 3600e6 / (double)us) : 0;
    }
    ret->history_count = fab_health_sample_count(h);
    for (uint32_t i = 0; i < ret->history_count; i++) {
        const struct fab_health_sample *s = fab_health_sample(h, i);
        ret->history[i].time_us = unix_of(s->to_us);
        memcpy(ret->history[i].rise, s->rise, sizeof(s->rise));
    }
}

uint32_t pm_links(const struct pm *pm, struct pm_link *ret, uint32_t max)
{
    for (uint32_t i = 0; i < pm->watch_count && i < max; i++) {
        const struct pm_watch *w = &pm->watch[i];
        ret[i] = (struct pm_link){.unhealthy = w->unhealthy,
                                  .of_cable = w->of_cable,
                                  .at = w->at,
                                  .counter = w->counter,
                                  .rise = w->rise,
                                  .span_us = w->span_us,
                                  .since_us = w->since_us};
        memcpy(ret[i].skipped, w->skipped, sizeof(ret[i].skipped));
        ret[i].windows = w->persistence[0].crossed > w->persistence[1].crossed
                             ? w->persistence[0].crossed
                             : w->persistence[1].crossed;
        ret[i].windows_required = pm->in.config->counters.confirm;
        for (int end = 0; end < 2; end++)
            describe_end(pm, w, end, &ret[i].end[end]);
    }
    return pm->watch_count;
}
