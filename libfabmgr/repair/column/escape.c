/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides the entries for one LID along the escape tree (labels/escape_tree.c), if the VL depends
 * on the source (labels/lanes.c).
 *
 * The graphs of all VLs have the dependencies of all paths along the tree, so these paths never
 * close a cycle. A switch that found no other path is forced: it takes its path along the tree, and
 * so do all switches on this path. Their entries now lead elsewhere, so the packets of other
 * switches meet other entries. If these packets would close a cycle on their VL, their switch is
 * forced, too. This ends, because a path of forced switches alone is always allowed.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/internal.h"

#define FAR FAB_REPAIR_FAR

struct escape {
    struct fab_repair *r;
    /* [switches] first channel of the path along the tree; FAB_NONE: there is none */
    uint32_t *via;
    uint16_t *far;       /* [switches] number of hops of this path; FAR: there is none */
    uint16_t *hops;      /* [switches] number of hops of the path by the entries of the column */
    uint64_t *is_forced; /* bitset [switches] */
    uint8_t *former, *former_mark; /* [switches] entries and marks at the beginning */
    bool gave_up;
};

/* ---- paths along the tree -------------------------------------------------------------------- */

/* Finds the path along the tree from each switch that the tree connects with the destination. */
static void find_paths(struct escape *e)
{
    const struct fab_repair_network *b = e->r->network;
    uint32_t count = 0, *queue = e->r->column.queue;
    memset(e->via, 0xff, b->n * sizeof(*e->via));
    memset(e->far, 0xff, b->n * sizeof(*e->far));
    e->far[e->r->column.home] = 0;
    queue[count++] = e->r->column.home;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t sw = queue[i];
        for (uint32_t port = b->first[sw] + 1; port < b->first[sw + 1]; port++) {
            uint32_t from = b->peer_sw[port];
            if (!fab_base_bits_get(e->r->tree, port) || e->far[from] != FAR)
                continue;
            e->via[from] = fab_repair_peer_port(b, port);
            e->far[from] = (uint16_t)(e->far[sw] + 1);
            queue[count++] = from;
        }
    }
}

/* ---- the entries ----------------------------------------------------------------------------- */

static void force(struct escape *e, uint32_t sw)
{
    struct fab_repair_column *c = &e->r->column;
    const struct fab_repair_network *b = e->r->network;
    for (; sw != c->home && fab_base_bits_add(e->is_forced, sw); sw = b->peer_sw[e->via[sw]]) {
        if (e->via[sw] == FAB_NONE || e->far[sw] + 1u >= b->max_hops) {
            e->gave_up = true;
            return;
        }
        if (c->mark[sw] == FAB_MARK_NONE) {
            c->touched[c->touches++] = sw;
            e->former[sw] = fab_repair_table_entry(c, sw);
            e->former_mark[sw] = FAB_MARK_KNOWN;
        }
        c->mark[sw] = FAB_MARK_SETTLED;
        c->entry[sw] = (uint8_t)(e->via[sw] - b->first[sw]);
    }
}

/* Follows the entries of the column from a switch. Returns the number of hops; FAR: they do not
 * lead to the destination. *ret_changed: some entry on the path has a mark. */
static uint16_t follow(const struct escape *e, uint32_t sw, bool *ret_changed)
{
    const struct fab_repair *r = e->r;
    const struct fab_repair_column *c = &r->column;
    uint16_t hops = 0;
    *ret_changed = false;
    for (; sw != c->home; hops++) {
        uint32_t channel = fab_repair_channel(r->network, sw, fab_repair_column_entry(c, sw));
        if (hops + 1u >= r->network->max_hops || channel == FAB_NONE ||
            c->mark[sw] == FAB_MARK_CUT || fab_base_bits_get(r->is_dead, channel))
            return FAR;
        *ret_changed = *ret_changed || c->mark[sw] != FAB_MARK_NONE;
        sw = r->network->peer_sw[channel];
    }
    return hops;
}

/* Returns true if the packets of this switch may take the path of its entry. */
static bool may_send(struct escape *e, uint32_t sw)
{
    struct fab_repair *r = e->r;
    const struct fab_repair_network *b = r->network;
    uint32_t channel = fab_repair_channel(b, sw, fab_repair_column_entry(&r->column, sw));
    unsigned vl = b->pair_vl[(size_t)r->column.home * b->n + sw];
    return fab_repair_lanes_add(r, FAB_NONE, channel, 1u << vl, NULL);
}

/* Checks the packets of all switches whose path has changed, those of the nearest switch first, and
 * forces the switches whose packets may not take their path. Returns false if it has forced any. */
static bool settle(struct escape *e)
{
    struct fab_repair *r = e->r;
    const struct fab_repair_network *b = r->network;
    uint16_t most = 0;
    bool good = true;
    for (uint32_t sw = 0; sw < b->n; sw++) {
        bool changed = false, connected = e->far[sw] != FAR;
        e->hops[sw] = connected ? follow(e, sw, &changed) : 0;
        if (e->hops[sw] == FAR) {
            e->gave_up = e->gave_up || fab_base_bits_get(e->is_forced, sw);
            force(e, sw);
            good = false;
        }
        e->hops[sw] = changed && e->hops[sw] != FAR ? e->hops[sw] : 0;
        most = e->hops[sw] > most ? e->hops[sw] : most;
    }
    for (uint16_t hops = 1; hops <= most && good; hops++) {
        for (uint32_t sw = 0; sw < b->n; sw++) {
            if (e->hops[sw] != hops || may_send(e, sw))
                continue;
            e->gave_up = e->gave_up || fab_base_bits_get(e->is_forced, sw);
            force(e, sw);
            good = false;
        }
    }
    return good;
}

static void restore(struct escape *e)
{
    struct fab_repair_column *c = &e->r->column;
    for (uint32_t i = 0; i < c->touches; i++) {
        uint32_t sw = c->touched[i];
        c->mark[sw] = e->former_mark[sw];
        c->entry[sw] = e->former[sw];
    }
}

static void decide(struct escape *e)
{
    struct fab_repair *r = e->r;
    struct fab_repair_column *c = &r->column;
    size_t mark = r->graph.undos;
    bool good = false;
    for (uint32_t i = 0; i < c->touches; i++) {
        e->former[c->touched[i]] = c->entry[c->touched[i]];
        e->former_mark[c->touched[i]] = c->mark[c->touched[i]];
    }
    find_paths(e);
    while (!good && !e->gave_up && !r->graph.failed && r->graph.work <= FAB_REPAIR_WORK_MAX) {
        fab_repair_dependencies_undo(r, mark);
        good = settle(e);
    }
    if (good)
        return;
    fab_repair_dependencies_undo(r, mark);
    restore(e);
}

int fab_repair_column_escape(struct fab_repair *r)
{
    const struct fab_repair_network *b = r->network;
    size_t n = (size_t)b->n + 1;
    struct escape e = {.r = r,
                       .via = fab_base_alloc_array(n, sizeof(*e.via)),
                       .far = fab_base_alloc_array(n, sizeof(*e.far)),
                       .hops = fab_base_alloc_array(n, sizeof(*e.hops)),
                       .is_forced = fab_base_bits_new(b->n),
                       .former = malloc(n),
                       .former_mark = malloc(n)};
    bool memory = e.via && e.far && e.hops && e.is_forced && e.former && e.former_mark;
    if (memory)
        decide(&e);
    free(e.via);
    free(e.far);
    free(e.hops);
    free(e.is_forced);
    free(e.former);
    free(e.former_mark);
    return memory ? FAB_OK : FAB_E_NOMEM;
}
