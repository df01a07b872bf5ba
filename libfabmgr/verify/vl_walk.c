/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Walks the paths of packets with their VLs, and notes the dependencies of channels on each VL.
 *
 * A packet keeps its SL. The VL on which a packet leaves a switch depends on three things
 * (SLtoVLMappingTable, IBA 14.2.5.8): the SL, the class of the port by which the packet entered,
 * and the class of the port by which it leaves. So the switch, the class of the in port and the SL
 * form a state that determines the rest of the path. For each destination, the walk visits a state
 * at most once. Each visit notes one dependency: the channel to the next switch depends on the
 * channel by which the packet leaves that switch. Packets from the endports of a switch start in
 * class 0, which is the class of endports and of port 0. A walk along a loop ends at the first
 * state that was visited before.
 *
 * With traffic classes, each path is followed with the SL of every class; the proof covers all
 * classes together. If packets keep one VL from end to end (fab_target_vls_keep_vl), the
 * dependencies on each VL are a subset of the dependencies that all packets would have on a single
 * VL. Then this walk is not needed: the walk without VLs (walk.c) is the proof for all classes.
 *
 * Often all switches forward several consecutive LIDs of one destination switch by the same ports
 * and with the same SL. Then the walk follows the paths to the first of these LIDs only.
 * find_differences() compares up to 64 LIDs, each with the next LID.
 */
#include "libfabmgr/verify/vl_walk.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

#define COLUMNS FAB_VERIFY_TILE_LIDS

/* ---- are the VL tables valid? ---------------------------------------------------------------- */

static bool all_below(const uint8_t *byte, size_t count, uint8_t limit)
{
    uint8_t most = 0;
    for (size_t i = 0; i < count; i++)
        most = byte[i] > most ? byte[i] : most;
    return count == 0 || most < limit;
}

/* Returns true if the SLs of this traffic class (`level`) are valid, and the tables map them only
 * to VLs that exist. */
static bool level_in_range(const struct fab_vls *v, uint8_t level)
{
    for (unsigned in = 0; in < v->classes; in++)
        for (unsigned out = 0; out < v->classes; out++)
            for (uint8_t sl = 0; sl < v->sls; sl++)
                if (fab_target_vls_level_sl(v, level, sl) >= FAB_SLS ||
                    v->vl[in][out][fab_target_vls_level_sl(v, level, sl)] >= v->count)
                    return false;
    return true;
}

static bool vls_in_range(const struct fab_vls *v)
{
    if (v->levels > FAB_SLS)
        return false;
    for (uint8_t level = 0; level < fab_target_vls_levels(v); level++)
        if (!level_in_range(v, level))
            return false;
    return true;
}

static bool classes_in_range(const struct fab_verify_graph *graph, const struct fab_vls *v)
{
    if (v->port_class == NULL)
        return true;
    if (v->ports < graph->in->fabric->port_count)
        return false;
    for (uint32_t port = 0; port < graph->in->fabric->port_count; port++) {
        uint32_t hop = port < graph->ports ? graph->hop[port] : FAB_HOP_ENDPORT;
        if (v->port_class[port] >= (hop < graph->n || hop == FAB_HOP_DEAD ? v->classes : 1))
            return false;
    }
    return true;
}

bool fab_verify_vls_valid(const struct fab_verify_graph *graph, const struct fab_vls *v)
{
    uint32_t top = graph->in->lids->top;
    if (v->count > FAB_VLS_MAX || v->sls == 0 || v->sls > FAB_SLS || v->classes == 0 ||
        v->classes > FAB_VL_CLASSES || !vls_in_range(v) || !classes_in_range(graph, v))
        return false;
    if (v->of_pair != NULL)
        return v->switches == graph->n &&
               all_below(v->of_pair, (size_t)graph->n * graph->n, v->sls);
    return v->of_lid == NULL || (v->top >= top && all_below(v->of_lid, (size_t)top + 1, v->sls));
}

/* ---- setting up ------------------------------------------------------------------------------ */

static void find_classes(struct fab_verify_vl_walk *w)
{
    const struct fab_verify_graph *graph = w->graph;
    for (uint32_t port = 0; port < graph->ports; port++) {
        if (graph->hop[port] >= graph->n)
            continue;
        w->out_class[port] = fab_target_vls_port_class(w->vls, port);
        w->in_class[port] =
            fab_target_vls_port_class(w->vls, fab_fabric_port(graph->in->fabric, port)->peer);
    }
}

int fab_verify_vl_walk_new(const struct fab_verify_graph *graph, struct fab_verify_vl_walk **ret)
{
    const struct fab_vls *v = graph->in->vls;
    if (!fab_verify_vls_valid(graph, v))
        return FAB_E_INVAL;
    struct fab_verify_vl_walk *w = calloc(1, sizeof(*w));
    if (w == NULL)
        return FAB_E_NOMEM;
    w->graph = graph;
    w->vls = v;
    w->out_class = fab_base_arena_alloc(&w->arena, (size_t)graph->ports + 1, sizeof(*w->out_class));
    w->in_class = fab_base_arena_alloc(&w->arena, (size_t)graph->ports + 1, sizeof(*w->in_class));
    w->used = fab_base_arena_alloc(&w->arena, (size_t)graph->ports + 1, sizeof(*w->used));
    w->seen = fab_base_arena_alloc(&w->arena, (size_t)graph->n + 1, v->classes * sizeof(*w->seen));
    w->entry = fab_base_arena_alloc(&w->arena, (size_t)graph->n + 1, sizeof(*w->entry));
    int status = FAB_E_NOMEM;
    if (!w->arena.failed)
        status = fab_verify_deps_init(&w->deps, graph, v->count);
    if (status != FAB_OK) {
        fab_verify_vl_walk_free(w);
        return status;
    }
    find_classes(w);
    *ret = w;
    return FAB_OK;
}

void fab_verify_vl_walk_free(struct fab_verify_vl_walk *w)
{
    if (w == NULL)
        return;
    fab_verify_deps_fini(&w->deps);
    fab_base_arena_fini(&w->arena);
    free(w);
}

void fab_verify_vl_walk_merge(struct fab_verify_vl_walk *to, const struct fab_verify_vl_walk *from)
{
    fab_verify_deps_merge(&to->deps, &from->deps);
    for (uint32_t port = 0; port < to->graph->ports; port++)
        to->used[port] |= from->used[port];
}

/* ---- one LID --------------------------------------------------------------------------------- */

struct column {
    uint32_t lid;
    uint32_t sw; /* the switch at which all paths to the LID end */
    /* number of the port of switch `sw` that leads to the owner of the LID */
    uint8_t num;
};

/* Follows packets of SL `sl` from the endports of switch `from` to the end of the path. Stops
 * earlier at a state (switch, class of the in port, SL) that was visited before. */
static void send(struct fab_verify_vl_walk *w, const struct column *c, uint32_t from, uint8_t sl)
{
    const struct fab_verify_graph *graph = w->graph;
    const struct fab_vls *v = w->vls;
    const uint16_t bit = (uint16_t)(1u << sl);
    uint32_t sw = from, class = 0;
    for (;;) {
        uint16_t *seen = &w->seen[(size_t)sw * v->classes + class];
        uint8_t num = w->entry[sw];
        if ((*seen & bit) != 0 || num >= graph->port_room[sw] || (sw == c->sw && num == c->num))
            return;
        *seen |= bit;
        uint32_t port = graph->first[sw] + num, next = graph->hop[port];
        if (next >= graph->n)
            return;
        uint8_t vl = v->vl[class][w->out_class[port]][sl], next_num = w->entry[next];
        w->used[port] |= (uint16_t)(1u << vl);
        class = w->in_class[port];
        if (next_num < graph->port_room[next])
            fab_verify_deps_add_vl(&w->deps, port * v->count + vl, next_num,
                                   v->vl[class][w->out_class[graph->first[next] + next_num]][sl]);
        sw = next;
    }
}

/* Follows packets of all traffic classes from the endports of switch `from`. */
static void send_all(struct fab_verify_vl_walk *w, const struct column *c, uint32_t from)
{
    uint8_t sl = fab_target_vls_sl(w->vls, from, c->sw, c->lid);
    for (uint8_t level = 0; level < fab_target_vls_levels(w->vls); level++)
        send(w, c, from, fab_target_vls_level_sl(w->vls, level, sl));
}

static void walk_column(struct fab_verify_vl_walk *w, const struct column *c)
{
    const struct fab_verify_graph *graph = w->graph;
    uint32_t component = graph->component[c->sw];
    memset(w->seen, 0, (size_t)graph->n * w->vls->classes * sizeof(*w->seen));
    for (uint32_t sw = component; sw < graph->n; sw++) {
        if (graph->component[sw] == component && graph->owners[sw] > (sw == c->sw ? 1u : 0u))
            send_all(w, c, sw);
    }
}

/* ---- a batch --------------------------------------------------------------------------------- */

/* Compares the LFT entries of successive LIDs. Sets differs[i] to non-zero if some switch does not
 * forward LID i + 1 of the batch like LID i. Skips the destination switch, because its entries lead
 * to different endports; is_same compares its entries. */
static void find_differences(const struct fab_verify_vl_walk *w, const uint8_t *tile,
                             const struct fab_verify_batch *b, uint8_t differs[COLUMNS])
{
    memset(differs, 0, COLUMNS);
    for (uint32_t sw = 0; sw < w->graph->n; sw++) {
        const uint8_t *entry = tile + (size_t)sw * COLUMNS + b->at;
        if (sw == b->sw)
            continue;
        for (uint32_t i = 0; i + 1 < b->count; i++)
            differs[i] |= entry[i] ^ entry[i + 1];
    }
}

static bool is_delivered(const uint8_t *tile, const struct fab_verify_batch *b, uint32_t i)
{
    return tile[(size_t)b->sw * COLUMNS + b->at + i] == b->num[i];
}

/* Returns true if all switches forward LID i of the batch like LID i - 1, with the same SL. */
static bool is_same(const struct fab_verify_vl_walk *w, const uint8_t *tile, uint32_t lid,
                    const struct fab_verify_batch *b, uint32_t i, const uint8_t differs[COLUMNS])
{
    const struct fab_vls *v = w->vls;
    return i > 0 && differs[i - 1] == 0 && is_delivered(tile, b, i - 1) &&
           is_delivered(tile, b, i) &&
           fab_target_vls_sl(v, b->sw, b->sw, lid) == fab_target_vls_sl(v, b->sw, b->sw, lid - 1);
}

void fab_verify_vl_walk_batch(struct fab_verify_vl_walk *w, const uint8_t *tile, uint32_t first_lid,
                              const struct fab_verify_batch *b)
{
    uint8_t differs[COLUMNS];
    find_differences(w, tile, b, differs);
    for (uint32_t i = 0; i < b->count; i++) {
        uint32_t lid = first_lid + b->at + i;
        if (is_same(w, tile, lid, b, i, differs))
            continue;
        for (uint32_t sw = 0; sw < w->graph->n; sw++)
            w->entry[sw] = tile[(size_t)sw * COLUMNS + b->at + i];
        walk_column(w, &(struct column){.lid = lid, .sw = b->sw, .num = b->num[i]});
    }
}
