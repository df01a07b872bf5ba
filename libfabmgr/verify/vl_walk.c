/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets with their lanes. A packet keeps its SL; the VL that it goes on by hangs on the SL, on
 * the class of the port that it came in by, and on that of the port it leaves by
 * (SLtoVLMappingTable, IBA 14.2.5.8). So what it does from a switch on is known from the switch,
 * the class and the SL: each such state is visited once a destination, and each visit notes one
 * dependency, of the channel (a cable and a VL) that the packet takes there on the channel that it
 * takes next. All switches with somebody to send begin with class 0, as ends and port 0 have it;
 * ways that go in circles end where they were before.
 *
 * With traffic classes each way is gone with the SL of every class: what is proved is what all of
 * them do together. Where packets keep one VL all along (fab_target_vls_keep_vl) they wait for each
 * other on each VL as they would on one lane, so that this is not needed: the walk without lanes is
 * the proof, for all classes at once.
 *
 * LIDs of one destination switch side by side that all switches send alike, with the same SL, are
 * looked at once: 64 LIDs are compared at a time, each with its neighbour.
 */
#include "libfabmgr/verify/vl_walk.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

#define COLUMNS FAB_VERIFY_TILE_LIDS

/* ---- are the lanes sound? -------------------------------------------------------------------- */

static bool all_below(const uint8_t *byte, size_t count, uint8_t limit)
{
    uint8_t most = 0;
    for (size_t i = 0; i < count; i++)
        most = byte[i] > most ? byte[i] : most;
    return count == 0 || most < limit;
}

/* The SLs of a level lead to VLs that there are. */
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

static bool classes_in_range(const struct fab_verify_graph *net, const struct fab_vls *v)
{
    if (v->port_class == NULL)
        return true;
    if (v->ports < net->in->fabric->port_count)
        return false;
    for (uint32_t port = 0; port < net->in->fabric->port_count; port++) {
        uint32_t hop = port < net->ports ? net->hop[port] : FAB_HOP_ENDPORT;
        if (v->port_class[port] >= (hop < net->n || hop == FAB_HOP_DEAD ? v->classes : 1))
            return false;
    }
    return true;
}

bool fab_verify_vls_valid(const struct fab_verify_graph *net, const struct fab_vls *v)
{
    uint32_t top = net->in->lids->top;
    if (v->count > FAB_VLS_MAX || v->sls == 0 || v->sls > FAB_SLS || v->classes == 0 ||
        v->classes > FAB_VL_CLASSES || !vls_in_range(v) || !classes_in_range(net, v))
        return false;
    if (v->of_pair != NULL)
        return v->switches == net->n && all_below(v->of_pair, (size_t)net->n * net->n, v->sls);
    return v->of_lid == NULL || (v->top >= top && all_below(v->of_lid, (size_t)top + 1, v->sls));
}

/* ---- setting up ------------------------------------------------------------------------------ */

static void find_classes(struct fab_verify_vl_walk *fl)
{
    const struct fab_verify_graph *net = fl->net;
    for (uint32_t port = 0; port < net->ports; port++) {
        if (net->hop[port] >= net->n)
            continue;
        fl->out_class[port] = fab_target_vls_port_class(fl->vls, port);
        fl->in_class[port] = fab_target_vls_port_class(fl->vls, net->in->fabric->ports[port].peer);
    }
}

int fab_verify_vl_walk_new(const struct fab_verify_graph *net, struct fab_verify_vl_walk **ret)
{
    const struct fab_vls *v = net->in->vls;
    if (!fab_verify_vls_valid(net, v))
        return FAB_E_INVAL;
    struct fab_verify_vl_walk *fl = calloc(1, sizeof(*fl));
    if (fl == NULL)
        return FAB_E_NOMEM;
    fl->net = net;
    fl->vls = v;
    fl->out_class = calloc((size_t)net->ports + 1, sizeof(*fl->out_class));
    fl->in_class = calloc((size_t)net->ports + 1, sizeof(*fl->in_class));
    fl->used = calloc((size_t)net->ports + 1, sizeof(*fl->used));
    fl->seen = calloc((size_t)net->n + 1, v->classes * sizeof(*fl->seen));
    fl->entry = fab_base_alloc_array((size_t)net->n + 1, sizeof(*fl->entry));
    int status = FAB_E_NOMEM;
    if (fl->out_class && fl->in_class && fl->used && fl->seen && fl->entry)
        status = fab_verify_deps_init(&fl->channels, net, v->count);
    if (status != FAB_OK) {
        fab_verify_vl_walk_free(fl);
        return status;
    }
    find_classes(fl);
    *ret = fl;
    return FAB_OK;
}

void fab_verify_vl_walk_free(struct fab_verify_vl_walk *fl)
{
    if (fl == NULL)
        return;
    fab_verify_deps_fini(&fl->channels);
    free(fl->out_class);
    free(fl->in_class);
    free(fl->used);
    free(fl->seen);
    free(fl->entry);
    free(fl);
}

void fab_verify_vl_walk_merge(struct fab_verify_vl_walk *to, const struct fab_verify_vl_walk *from)
{
    fab_verify_deps_merge(&to->channels, &from->channels);
    for (uint32_t port = 0; port < to->net->ports; port++)
        to->used[port] |= from->used[port];
}

/* ---- one column ------------------------------------------------------------------------------ */

struct column {
    uint32_t lid;
    uint32_t sw; /* it leaves the switches here, */
    uint8_t num; /* by this port */
};

/* The way of packets of an SL from the ends of a switch, up to where such packets were before. */
static void send(struct fab_verify_vl_walk *fl, const struct column *c, uint32_t from, uint8_t sl)
{
    const struct fab_verify_graph *net = fl->net;
    const struct fab_vls *v = fl->vls;
    const uint16_t bit = (uint16_t)(1u << sl);
    uint32_t sw = from, class = 0;
    for (;;) {
        uint16_t *seen = &fl->seen[(size_t)sw * v->classes + class];
        uint8_t num = fl->entry[sw];
        if ((*seen & bit) != 0 || num >= net->port_room[sw] || (sw == c->sw && num == c->num))
            return;
        *seen |= bit;
        uint32_t port = net->first[sw] + num, next = net->hop[port];
        if (next >= net->n)
            return;
        uint8_t vl = v->vl[class][fl->out_class[port]][sl], next_num = fl->entry[next];
        fl->used[port] |= (uint16_t)(1u << vl);
        class = fl->in_class[port];
        if (next_num < net->port_room[next])
            fab_verify_deps_add_vl(&fl->channels, port * v->count + vl, next_num,
                                   v->vl[class][fl->out_class[net->first[next] + next_num]][sl]);
        sw = next;
    }
}

/* Packets of all levels. */
static void send_all(struct fab_verify_vl_walk *fl, const struct column *c, uint32_t from)
{
    uint8_t sl = fab_target_vls_sl(fl->vls, from, c->sw, c->lid);
    for (uint8_t level = 0; level < fab_target_vls_levels(fl->vls); level++)
        send(fl, c, from, fab_target_vls_level_sl(fl->vls, level, sl));
}

static void walk_column(struct fab_verify_vl_walk *fl, const struct column *c)
{
    const struct fab_verify_graph *net = fl->net;
    uint32_t component = net->component[c->sw];
    memset(fl->seen, 0, (size_t)net->n * fl->vls->classes * sizeof(*fl->seen));
    for (uint32_t sw = component; sw < net->n; sw++) {
        if (net->component[sw] == component && net->owners[sw] > (sw == c->sw ? 1u : 0u))
            send_all(fl, c, sw);
    }
}

/* ---- a bundle -------------------------------------------------------------------------------- */

/* differs[i]: something tells column i + 1 from column i. At the destination switch they differ by
 * the ports of the ends; whether they go there is looked at one by one. */
static void compare(const struct fab_verify_vl_walk *fl, const uint8_t *tile,
                    const struct fab_verify_batch *b, uint8_t differs[COLUMNS])
{
    memset(differs, 0, COLUMNS);
    for (uint32_t sw = 0; sw < fl->net->n; sw++) {
        const uint8_t *entry = tile + (size_t)sw * COLUMNS + b->at;
        if (sw == b->sw)
            continue;
        for (uint32_t i = 0; i + 1 < b->count; i++)
            differs[i] |= entry[i] ^ entry[i + 1];
    }
}

static bool goes_home(const uint8_t *tile, const struct fab_verify_batch *b, uint32_t i)
{
    return tile[(size_t)b->sw * COLUMNS + b->at + i] == b->num[i];
}

/* Is column i as the one before it? */
static bool is_same(const struct fab_verify_vl_walk *fl, const uint8_t *tile, uint32_t lid,
                    const struct fab_verify_batch *b, uint32_t i, const uint8_t differs[COLUMNS])
{
    const struct fab_vls *v = fl->vls;
    return i > 0 && differs[i - 1] == 0 && goes_home(tile, b, i - 1) && goes_home(tile, b, i) &&
           fab_target_vls_sl(v, b->sw, b->sw, lid) == fab_target_vls_sl(v, b->sw, b->sw, lid - 1);
}

void fab_verify_vl_walk_batch(struct fab_verify_vl_walk *fl, const uint8_t *tile,
                              uint32_t first_lid, const struct fab_verify_batch *b)
{
    uint8_t differs[COLUMNS];
    compare(fl, tile, b, differs);
    for (uint32_t i = 0; i < b->count; i++) {
        uint32_t lid = first_lid + b->at + i;
        if (is_same(fl, tile, lid, b, i, differs))
            continue;
        for (uint32_t sw = 0; sw < fl->net->n; sw++)
            fl->entry[sw] = tile[(size_t)sw * COLUMNS + b->at + i];
        walk_column(fl, &(struct column){.lid = lid, .sw = b->sw, .num = b->num[i]});
    }
}
