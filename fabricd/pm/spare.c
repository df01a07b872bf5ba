/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cables that are left alone: those that an operator released from isolation while they were sick.
 * They are told of as others are, and isolated no more until they were well. That is kept over
 * restarts. A cable that was isolated before a restart, and of which nothing is known since, counts
 * as sick when it is released: nobody has seen it well.
 *
 * A cable is known by the end that its isolation names first.
 */
#include <stdlib.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/pm/private.h"
#include "fabricd/store/store.h"
#include "libfabmgr/base/status.h"

static bool is_of(const struct pm_spare *s, const struct pm_watch *w)
{
    return (s->guid == w->guid[0] && s->port == w->port[0]) ||
           (s->guid == w->guid[1] && s->port == w->port[1]);
}

static struct pm_spare *find(const struct pm *pm, const struct pm_watch *w)
{
    for (uint32_t i = 0; i < pm->spares; i++)
        if (is_of(&pm->spare[i], w))
            return &pm->spare[i];
    return NULL;
}

bool pm_is_spared(const struct pm *pm, const struct pm_watch *w)
{
    return find(pm, w) != NULL;
}

void pm_spare_on(struct pm *pm, const struct pm_watch *w)
{
    struct pm_spare *s = find(pm, w);
    if (s)
        s->until_us = clock_now_us() + pm_well_us(pm);
}

static int add(struct pm *pm, uint64_t guid, uint8_t port)
{
    struct pm_spare *more = reallocarray(pm->spare, pm->spares + 1u, sizeof(*more));
    if (!more)
        return FAB_E_NOMEM;
    pm->spare = more;
    more[pm->spares++] = (struct pm_spare){guid, clock_now_us() + pm_well_us(pm), port};
    return FAB_OK;
}

int pm_spares_load(struct pm *pm)
{
    struct store_port *rows = NULL;
    size_t count = 0;
    int r = pm->in.store ? store_load_spared(pm->in.store, &rows, &count) : FAB_OK;
    for (size_t i = 0; r == FAB_OK && i < count; i++)
        r = add(pm, rows[i].node_guid, rows[i].port);
    free(rows);
    return r;
}

static void keep(struct pm *pm, uint64_t guid, uint8_t port, bool spared)
{
    if (pm->in.store)
        store_put_spared(pm->in.store, guid, port, spared);
}

/* ---- who was released ------------------------------------------------------------------------ */

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
    if (w && (!w->sick || pm_is_spared(pm, w)))
        return;
    if (add(pm, one->guid[0], one->port[0]) == FAB_OK)
        keep(pm, one->guid[0], one->port[0], true);
    else
        log_error("pm", "out of memory: %s is not left alone", one->place[0]);
}

void pm_spares_look(struct pm *pm)
{
    uint32_t count = sm_isolations(pm->in.sm, NULL, 0);
    struct sm_isolation *now = calloc(count + 1u, sizeof(*now));
    if (!now)
        return;
    sm_isolations(pm->in.sm, now, count);
    for (uint32_t i = 0; i < pm->isolations; i++)
        if (!is_among(now, count, &pm->isolation[i]))
            released(pm, &pm->isolation[i]);
    free(pm->isolation);
    pm->isolation = now;
    pm->isolations = count;
}

/* ---- who was well ---------------------------------------------------------------------------- */

static bool is_over(struct pm *pm, const struct pm_spare *s)
{
    const struct pm_watch *w = pm_watch_of(pm, s->guid, s->port);
    return !(w && w->sick) && clock_now_us() > s->until_us;
}

void pm_spares_drop(struct pm *pm)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < pm->spares; i++) {
        struct pm_spare s = pm->spare[i];
        if (is_over(pm, &s))
            keep(pm, s.guid, s.port, false);
        else
            pm->spare[kept++] = s;
    }
    pm->spares = kept;
}
