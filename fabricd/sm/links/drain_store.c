/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps drains in the store, so that they survive a restart of the manager. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/log.h"
#include "fabricd/sm/links/drain.h"
#include "fabricd/store/drains.h"
#include "libfabmgr/base/status.h"

static void take_links(const struct sm *s, const struct sm_drain *d, struct store_drain *row)
{
    for (uint32_t i = 0; i < s->links->count; i++) {
        const struct sm_flap *e = &s->links->list[i];
        if (e->drain != d->info.id || e->returning)
            continue;
        struct store_drain_link *l = &row->link[row->links++];
        for (int end = 0; end < 2; end++) {
            l->guid[end] = e->guid[end];
            l->port[end] = e->port[end];
            snprintf(l->name[end], sizeof(l->name[end]), "%s", e->place[end]);
        }
    }
}

static struct store_drain row_of(const struct sm_drain *d)
{
    struct store_drain row = {.id = d->info.id,
                              .kind = d->info.kind,
                              .force = d->info.force,
                              .since_us = d->info.since_us,
                              .until_us = d->info.until_us,
                              .node = d->node,
                              .nodes = d->nodes};
    snprintf(row.name, sizeof(row.name), "%s", d->info.name);
    snprintf(row.by, sizeof(row.by), "%s", d->info.by);
    snprintf(row.reason, sizeof(row.reason), "%s", d->info.reason);
    return row;
}

void sm_drain_keep(struct sm *s, const struct sm_drain *d)
{
    struct store_drain row = row_of(d);
    if (!s->in.store)
        return;
    row.link = calloc(s->links->count + 1u, sizeof(*row.link));
    if (row.link) {
        take_links(s, d, &row);
        store_put_drain(s->in.store, &row, true);
    } else {
        log_error("sm", "out of memory: the drain of %s is not stored, and would end in a restart",
                  d->info.name);
    }
    free(row.link);
}

void sm_drain_unkeep(struct sm *s, const struct sm_drain *d)
{
    const struct store_drain row = {.id = d->info.id};
    if (s->in.store)
        store_put_drain(s->in.store, &row, false);
}

static int restore_link(struct sm *s, const struct sm_drain_info *info,
                        const struct store_drain_link *l)
{
    struct sm_flap *e = sm_flap_find(s, l->guid[0], l->port[0]);
    if (!e) {
        e = sm_flap_room(s);
        if (!e)
            return FAB_E_NOMEM;
        *e = (struct sm_flap){.isl = true};
        for (int end = 0; end < 2; end++) {
            e->guid[end] = l->guid[end];
            e->port[end] = l->port[end];
            snprintf(e->place[end], sizeof(e->place[end]), "%s", l->name[end]);
        }
    }
    e->drain = info->id;
    return FAB_OK;
}

static int restore(struct sm *s, const struct store_drain *row)
{
    struct sm_drain_info info = {.id = row->id,
                                 .kind = (enum sm_drain_kind)row->kind,
                                 .state = SM_DRAIN_MOVING,
                                 .force = row->force,
                                 .since_us = row->since_us,
                                 .until_us = row->until_us,
                                 .links = row->links,
                                 .used = row->links};
    if (row->kind >= SM_DRAIN_KINDS)
        return FAB_OK;
    snprintf(info.name, sizeof(info.name), "%s", row->name);
    snprintf(info.by, sizeof(info.by), "%s", row->by);
    snprintf(info.reason, sizeof(info.reason), "%s", row->reason);
    int r = sm_drain_add(s, &info, row->node, row->nodes) ? FAB_OK : FAB_E_NOMEM;
    for (uint32_t i = 0; i < row->links && r == FAB_OK; i++)
        r = restore_link(s, &info, &row->link[i]);
    return r;
}

int sm_drain_load(struct sm *s)
{
    struct store_drain *rows = NULL;
    size_t count = 0;
    int r = s->in.store ? store_load_drains(s->in.store, &rows, &count) : FAB_OK;
    for (size_t i = 0; r == FAB_OK && i < count; i++)
        r = restore(s, &rows[i]);
    store_drains_free(rows, count);
    return r;
}

static bool is_drained(const struct sm *s, const struct store_drain_link *l)
{
    const struct sm_flap *e = sm_flap_find(s, l->guid[0], l->port[0]);
    return e && e->drain && !e->returning;
}

bool sm_drains_differ(const struct sm *s)
{
    struct store_drain *rows = NULL;
    size_t count = 0;
    uint32_t known = 0, stored = 0;
    bool differ = false;
    if (!s->in.store || store_load_drains(s->in.store, &rows, &count) != FAB_OK)
        return false;
    for (uint32_t i = 0; i < s->links->count; i++)
        known += s->links->list[i].drain != 0;
    for (size_t i = 0; i < count; i++) {
        stored += rows[i].links;
        for (uint32_t k = 0; k < rows[i].links && !differ; k++)
            differ = !is_drained(s, &rows[i].link[k]);
    }
    store_drains_free(rows, count);
    return differ || known != stored;
}
