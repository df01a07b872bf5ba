/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies the counters of the ports for one page, in steps of less than a millisecond, so that the
 * page of a large fabric does not delay other work of the loop.
 *
 * If metrics.ports is "errors", only the ports that the manager watches (pm_watched_ports) have
 * rows, in the order of their GUIDs. Otherwise, metrics.ports selects which groups of ports have
 * rows. The groups come in this order: ports of ISLs, other ports of switches, ports of adapters
 * and routers. Within a group, ports are in the order of their ids, which is also the order of
 * their GUIDs. If metrics.max_series is reached, the remaining ports are left out and counted. The
 * order is the same in each page, so each page leaves out the same ports.
 *
 * Only ports with a link that is up have rows. The rows keep a reference to the fabric and not to
 * the view: a reference to the view would make a local repair copy the tables.
 */
#include <stdlib.h>

#include "fabricd/metrics/private.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/fabric/condition.h"
#include "libfabmgr/view/view.h"

/* STEP_SCAN: maximum number of ports that a step examines. STEP_COPY: maximum number of ports whose
 * counters a step copies. */
#define STEP_SCAN 4096
#define STEP_COPY 512

enum group { GROUP_SWITCH_LINKS, GROUP_SWITCHES, GROUP_ADAPTERS, GROUPS };

static int compare_watched(const void *a, const void *b)
{
    const struct pm_watched *x = a, *y = b;
    if (x->guid != y->guid)
        return x->guid < y->guid ? -1 : 1;
    return (int)x->port - (int)y->port;
}

static void take_watched(struct port_rows *rows, const struct pm *pm)
{
    rows->watched = calloc(PM_WATCHED_MAX, sizeof(*rows->watched));
    rows->failed |= !rows->watched;
    if (!rows->watched)
        return;
    uint32_t all = pm_watched_ports(pm, rows->watched, PM_WATCHED_MAX);
    rows->watched_count = all < PM_WATCHED_MAX ? all : PM_WATCHED_MAX;
    qsort(rows->watched, rows->watched_count, sizeof(*rows->watched), compare_watched);
}

void port_rows_init(struct port_rows *rows, const struct metrics_input *in)
{
    struct fab_view *v = in->config->metrics.ports != CONFIG_METRICS_NONE ? sm_view(in->sm) : NULL;
    *rows = (struct port_rows){.fabric = v ? fab_fabric_ref(v->fabric) : NULL};
    fab_view_unref(v);
    if (rows->fabric)
        take_watched(rows, in->pm);
}

void port_rows_fini(struct port_rows *rows)
{
    fab_fabric_unref(rows->fabric);
    free(rows->row);
    free(rows->watched);
    *rows = (struct port_rows){0};
}

static bool is_unhealthy(const struct port_rows *rows, uint64_t guid, uint8_t port)
{
    const struct pm_watched key = {.guid = guid, .port = port};
    const struct pm_watched *found =
        bsearch(&key, rows->watched, rows->watched_count, sizeof(*rows->watched), compare_watched);
    return found && found->unhealthy;
}

/* Copies the counters of the port with this id to a row. Returns false if the port has no link that
 * is up, or has number 0. */
static bool make_row(const struct port_rows *rows, const struct pm *pm, uint32_t id,
                     struct port_row *ret)
{
    const struct fab_fabric *f = rows->fabric;
    const struct fab_port *p = fab_fabric_port(f, id);
    if (p->num == 0 || !p->present || p->info.phys_state != FAB_PHYS_LINKUP)
        return false;
    const struct fab_port *peer = p->peer != FAB_NONE ? fab_fabric_port(f, p->peer) : NULL;
    uint64_t guid = f->nodes[p->node].guid;
    *ret = (struct port_row){.node = p->node,
                             .peer_node = peer ? peer->node : FAB_NONE,
                             .port_id = id,
                             .port = p->num,
                             .peer_port = peer ? peer->num : 0,
                             .peer_guid = peer ? f->nodes[peer->node].guid : 0,
                             .degraded = fab_fabric_link_is_degraded(f, id),
                             .unhealthy = is_unhealthy(rows, guid, p->num)};
    ret->is_read = pm_port_reading(pm, guid, p->num, &ret->reading);
    return true;
}

static void add_row(struct port_rows *rows, const struct metrics_input *in, uint32_t id,
                    enum config_metrics_names names)
{
    struct port_row row;
    if (!make_row(rows, in->pm, id, &row))
        return;
    uint32_t series = port_series_count(&row, rows->fabric, names);
    if (rows->omitted > 0 || rows->series + series > in->config->metrics.max_series) {
        rows->omitted += series;
        return;
    }
    if (rows->count == rows->room) {
        struct port_row *grown =
            fab_base_grow(rows->row, sizeof(*grown), rows->count + 1, &rows->room);
        rows->failed |= !grown;
        if (!grown)
            return;
        rows->row = grown;
    }
    rows->row[rows->count++] = row;
    rows->series += series;
}

static enum group group_of(const struct fab_fabric *f, const struct fab_port *p)
{
    if (!fab_fabric_node_is_switch(f, p->node))
        return GROUP_ADAPTERS;
    return p->peer != FAB_NONE && fab_fabric_node_is_switch(f, fab_fabric_port(f, p->peer)->node)
               ? GROUP_SWITCH_LINKS
               : GROUP_SWITCHES;
}

static unsigned groups_of(enum config_metrics_ports ports)
{
    return ports == CONFIG_METRICS_ALL ? GROUPS : ports == CONFIG_METRICS_SWITCHES ? 2 : 1;
}

void port_rows_watched(struct port_rows *rows, const struct metrics_input *in,
                       enum config_metrics_names names)
{
    const struct fab_fabric *f = rows->fabric;
    for (uint32_t i = 0; f && !rows->failed && i < rows->watched_count; i++) {
        const struct pm_watched *w = &rows->watched[i];
        uint32_t node = fab_fabric_node_by_guid(f, w->guid);
        if (node != FAB_NONE && w->port <= f->nodes[node].num_ports)
            add_row(rows, in, fab_fabric_port_id(f, node, w->port), names);
    }
}

bool port_rows_step(struct port_rows *rows, const struct metrics_input *in,
                    enum config_metrics_names names)
{
    const struct fab_fabric *f = rows->fabric;
    uint32_t copied = 0;
    if (!f || rows->failed)
        return false;
    if (in->config->metrics.ports == CONFIG_METRICS_ERRORS) {
        port_rows_watched(rows, in, names);
        return false;
    }
    for (uint32_t scanned = 0; scanned < STEP_SCAN && copied < STEP_COPY; scanned++) {
        if (rows->next == f->port_count) {
            rows->next = 0;
            rows->group++;
        }
        if (rows->group >= groups_of(in->config->metrics.ports))
            return false;
        uint32_t id = rows->next++;
        if (group_of(f, fab_fabric_port(f, id)) != (enum group)rows->group)
            continue;
        add_row(rows, in, id, names);
        copied++;
    }
    return true;
}
