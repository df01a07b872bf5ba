/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps the list of links that are exempt from isolation. A link becomes exempt if an operator
 * releases it while it is unhealthy. The manager still reports the errors of an exempt link, but
 * does not isolate the link again until it has recovered. Exemptions survive restarts.
 *
 * If an operator releases a link whose counters the manager does not watch, for example after a
 * restart, the manager assumes that the link is unhealthy. An exemption identifies its link by only
 * one of the two ports: the first one in struct sm_isolation.
 */
#include <stdlib.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/pm/private.h"
#include "fabricd/store/store.h"
#include "libfabmgr/base/status.h"

static bool is_of(const struct pm_exempt *s, const struct pm_watch *w)
{
    return (s->guid == w->guid[0] && s->port == w->port[0]) ||
           (s->guid == w->guid[1] && s->port == w->port[1]);
}

static struct pm_exempt *find(const struct pm *pm, const struct pm_watch *w)
{
    for (uint32_t i = 0; i < pm->exempt_count; i++)
        if (is_of(&pm->exempt[i], w))
            return &pm->exempt[i];
    return NULL;
}

bool pm_is_exempt(const struct pm *pm, const struct pm_watch *w)
{
    return find(pm, w) != NULL;
}

void pm_exempt_extend(struct pm *pm, const struct pm_watch *w)
{
    struct pm_exempt *s = find(pm, w);
    if (s)
        s->until_us = clock_now_us() + pm_recovery_us(pm);
}

static int add(struct pm *pm, uint64_t guid, uint8_t port)
{
    struct pm_exempt *more = reallocarray(pm->exempt, pm->exempt_count + 1u, sizeof(*more));
    if (!more)
        return FAB_E_NOMEM;
    pm->exempt = more;
    more[pm->exempt_count++] = (struct pm_exempt){guid, clock_now_us() + pm_recovery_us(pm), port};
    return FAB_OK;
}

int pm_exempt_load(struct pm *pm)
{
    struct store_port *rows = NULL;
    size_t count = 0;
    int r = pm->in.store ? store_load_exempt(pm->in.store, &rows, &count) : FAB_OK;
    for (size_t i = 0; r == FAB_OK && i < count; i++)
        r = add(pm, rows[i].node_guid, rows[i].port);
    free(rows);
    return r;
}

int pm_load(struct pm *pm)
{
    pm->exempt_count = 0;
    return pm_exempt_load(pm);
}

static void keep(struct pm *pm, uint64_t guid, uint8_t port, bool spared)
{
    if (pm->in.store)
        store_put_exempt(pm->in.store, guid, port, spared);
}

/* ---- released links ------------------------------------------------------------------------- */

static bool is_among(const struct sm_isolation *list, uint32_t count,
                     const struct sm_isolation *one)
{
    for (uint32_t i = 0; i < count; i++)
        if (list[i].guid[0] == one->guid[0] && list[i].port[0] == one->port[0])
            return true;
    return false;
}

static void released(struct pm *pm, const struct sm_isolation *one)
{
    const struct pm_watch *w = pm_watch_of(pm, one->guid[0], one->port[0]);
    if (w && (!w->unhealthy || pm_is_exempt(pm, w)))
        return;
    if (add(pm, one->guid[0], one->port[0]) == FAB_OK)
        keep(pm, one->guid[0], one->port[0], true);
    else
        log_error("pm", "out of memory: %s is not exempt from isolation", one->place[0]);
}

void pm_isolations_update(struct pm *pm)
{
    uint32_t count = sm_isolations(pm->in.sm, NULL, 0);
    struct sm_isolation *now = calloc(count + 1u, sizeof(*now));
    if (!now)
        return;
    sm_isolations(pm->in.sm, now, count);
    for (uint32_t i = 0; i < pm->isolation_count; i++)
        if (!is_among(now, count, &pm->isolation[i]))
            released(pm, &pm->isolation[i]);
    free(pm->isolation);
    pm->isolation = now;
    pm->isolation_count = count;
}

/* ---- recovered links ------------------------------------------------------------------------- */

static bool is_over(struct pm *pm, const struct pm_exempt *s)
{
    const struct pm_watch *w = pm_watch_of(pm, s->guid, s->port);
    return !(w && w->unhealthy) && clock_now_us() > s->until_us;
}

void pm_exempt_expire(struct pm *pm)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < pm->exempt_count; i++) {
        struct pm_exempt s = pm->exempt[i];
        if (is_over(pm, &s))
            keep(pm, s.guid, s.port, false);
        else
            pm->exempt[kept++] = s;
    }
    pm->exempt_count = kept;
}
