/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For each destination LID every switch takes, of the ports that it may, the one from which the
 * rest of the way is least loaded in sum (SSSP: Hoefler, Schneider, Lumsdaine, HOTI 2009), counted
 * in pairs of hosts, times the slowness of the cable; where equal, the one that D-mod-k would take.
 * In further rounds each LID's load is taken away and it chooses once more, knowing all others.
 */
#include "libfabmgr/route/share.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"

int fab_share_init(struct fab_share *s, const struct fab_graph *g, const struct fab_order *o)
{
    struct fab_share made = {.g = g, .o = o};
    size_t n = (size_t)g->n + 1, ports = (size_t)g->port_at[g->n] + 1;
    made.slot = calloc(ports, sizeof(*made.slot));
    made.load = calloc(ports, sizeof(*made.load));
    made.port_of = calloc(n, 256 * sizeof(*made.port_of));
    made.at = calloc(n + 1, sizeof(*made.at));
    made.port = calloc(ports, sizeof(*made.port));
    made.pick = calloc(n, sizeof(*made.pick));
    made.cost = calloc(n, sizeof(*made.cost));
    made.flow = calloc(n, sizeof(*made.flow));
    if (!made.slot || !made.load || !made.port_of || !made.at || !made.port || !made.pick ||
        !made.cost || !made.flow) {
        fab_share_fini(&made);
        return FAB_E_NOMEM;
    }
    for (uint32_t v = 0; v < g->n; v++) {
        uint32_t slot = 0, degree = g->nbr_at[v + 1] - g->nbr_at[v];
        for (uint32_t i = g->port_at[v]; i < g->port_at[v + 1]; i++) {
            while (g->nbr[g->nbr_at[v] + slot] != g->port_peer[i])
                slot = slot + 1 < degree ? slot + 1 : 0;
            made.slot[i] = (uint8_t)slot;
            made.port_of[v * 256 + g->port_num[i]] = i;
        }
    }
    *s = made;
    return FAB_OK;
}

void fab_share_fini(struct fab_share *s)
{
    free(s->slot);
    free(s->load);
    free(s->port_of);
    free(s->at);
    free(s->port);
    free(s->pick);
    free(s->cost);
    free(s->flow);
    memset(s, 0, sizeof(*s));
}

static void find_candidates(struct fab_share *s, const struct fab_detours *d)
{
    uint32_t out = 0;
    for (uint32_t i = 1; i < d->count; i++) {
        uint32_t v = d->near[i];
        const uint64_t *wide = d->wide + (size_t)v * d->turns->words;
        s->at[i] = out;
        for (uint32_t port = s->g->port_at[v]; port < s->g->port_at[v + 1]; port++) {
            s->port[out] = port;
            out += (uint32_t)(wide[s->slot[port] / 64] >> s->slot[port] % 64 & 1);
        }
    }
    s->at[d->count] = out;
}

/* Adds (or takes away) what the picks carry. */
static void carry(struct fab_share *s, const struct fab_detours *d, bool away)
{
    memset(s->flow, 0, s->g->n * sizeof(*s->flow));
    for (uint32_t i = d->count; i-- > 1;) {
        uint32_t v = d->near[i], port = s->pick[i];
        uint64_t flow = s->flow[v] + s->g->hosts[v], load = flow * s->g->port_slow[port];
        s->flow[s->g->port_peer[port]] += flow;
        s->load[port] += away ? -load : load;
    }
}

static void choose(struct fab_share *s, const struct fab_detours *d, uint32_t number)
{
    const uint32_t *peer = s->g->port_peer;
    s->cost[d->home] = 0;
    for (uint32_t i = 1; i < d->count; i++) {
        uint32_t v = d->near[i], count = s->at[i + 1] - s->at[i], best = s->port[s->at[i]];
        const uint32_t *port = s->port + s->at[i];
        uint64_t least = UINT64_MAX;
        for (uint32_t k = 0, at = number / s->o->spread[v] % count; k < count; k++) {
            uint64_t cost = s->cost[peer[port[at]]] + s->load[port[at]];
            if (cost < least) {
                least = cost;
                best = port[at];
            }
            at = at + 1 < count ? at + 1 : 0;
        }
        s->pick[i] = best;
        s->cost[v] = least;
    }
}

/* Likewise, from the farthest on, each in view of what others just brought to where it leads: the
 * ways to one LID part. That spreads the load, and costs bandwidth, as two packets to one end never
 * meet in a permutation, but those of different ends do. */
static void part(struct fab_share *s, const struct fab_detours *d)
{
    const uint32_t *peer = s->g->port_peer;
    memset(s->flow, 0, s->g->n * sizeof(*s->flow));
    for (uint32_t i = d->count; i-- > 1;) {
        uint32_t v = d->near[i], best = s->pick[i];
        uint64_t least = UINT64_MAX;
        for (uint32_t k = s->at[i]; k < s->at[i + 1]; k++) {
            uint32_t port = s->port[k], to = peer[port];
            uint64_t cost = s->cost[to] + s->load[port] + (to != d->home ? s->flow[to] : 0);
            if (cost < least) {
                least = cost;
                best = port;
            }
        }
        s->pick[i] = best;
        s->flow[peer[best]] += s->flow[v] + s->g->hosts[v];
    }
}

static void look_up(struct fab_share *s, const struct fab_detours *d, uint32_t lid,
                    const struct fab_lft *lft)
{
    for (uint32_t i = 1; i < d->count; i++)
        s->pick[i] = s->port_of[d->near[i] * 256 + fab_lft_row(lft, d->near[i])[lid]];
}

static void enter(const struct fab_share *s, const struct fab_detours *d, uint32_t lid,
                  struct fab_lft *lft)
{
    for (uint32_t i = 1; i < d->count; i++)
        fab_lft_row(lft, d->near[i])[lid] = s->g->port_num[s->pick[i]];
}

void fab_share_lanes(struct fab_share *s, const struct fab_detours *d, const struct fab_lane *lanes,
                     uint32_t count, bool again, struct fab_lft *lft)
{
    find_candidates(s, d);
    for (uint32_t l = 0; l < count; l++) {
        if (again && lanes[l].loaded) {
            look_up(s, d, lanes[l].lid, lft);
            carry(s, d, true);
        }
        choose(s, d, lanes[l].number);
        if (lanes[l].loaded)
            carry(s, d, false);
        enter(s, d, lanes[l].lid, lft);
        fab_lft_row(lft, d->home)[lanes[l].lid] = lanes[l].port;
    }
}

static bool is_crowded(const struct fab_share *s, const struct fab_detours *d, uint64_t most)
{
    for (uint32_t i = 1; i < d->count; i++) {
        if (s->load[s->pick[i]] > most)
            return true;
    }
    return false;
}

void fab_share_relieve(struct fab_share *s, const struct fab_detours *d,
                       const struct fab_lane *lanes, uint32_t count, uint64_t most,
                       struct fab_lft *lft)
{
    find_candidates(s, d);
    for (uint32_t l = 0; l < count; l++) {
        look_up(s, d, lanes[l].lid, lft);
        if (!lanes[l].loaded || !is_crowded(s, d, most))
            continue;
        carry(s, d, true);
        choose(s, d, lanes[l].number);
        part(s, d);
        carry(s, d, false);
        enter(s, d, lanes[l].lid, lft);
    }
}
