/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds detours in the tree of paths to one destination.
 *
 * Where a link is missing, the tree breaks: the switch before the gap, and all switches whose paths
 * lead through this switch, are cut off. A detour is a chain of hops from the switch before the gap
 * to a switch that is connected. All switches between them are cut off as well, so a detour never
 * closes a loop.
 *
 * The VL of each hop depends only on the SL and on the classes of two ports, which do not change.
 * So the channel dependencies that a detour adds are known before it is taken. The search takes a
 * detour only if its dependencies close no cycle. It tries the detours with the lowest costs first.
 * The cost is the number of hops to the destination; hops over loaded links cost more.
 *
 * As a last resort, all packets that take a detour get the spare SL, and so do the packets of the
 * opposite direction.
 */
#include "libfabmgr/route/detours/tree.h"

#include <string.h>

/* Maximum number of hops of the detours that are tried first. Longer detours (extend_far) are tried
 * only if all of these fail. */
#define CHAIN_HOPS 3

/* ---- the tree -------------------------------------------------------------------------------- */

static void load_regular(struct fab_detour_search *x, const struct fab_detour_tree *t)
{
    if (x->known && x->dest == t->dest && x->number == t->number)
        return;
    x->known = true;
    x->dest = t->dest;
    x->number = t->number;
    x->rule->next(x->rule->ctx, t->dest, t->number, x->next);
    x->next[t->dest] = FAB_NONE;
    for (uint32_t s = 0; s < x->g->n; s++)
        x->regular[s] =
            x->next[s] != FAB_NONE ? fab_route_graph_arc(x->g, s, x->next[s]) : FAB_NONE;
}

void fab_route_detour_load(struct fab_detour_search *x, const struct fab_detour_tree *t,
                           bool regular)
{
    load_regular(x, t);
    x->weight = t->weight;
    memcpy(x->arc, x->regular, x->g->n * sizeof(*x->arc));
    for (uint32_t i = 0; i < t->count && !regular; i++) {
        const struct fab_detour *detour = &x->d->detour[t->first + i];
        x->arc[detour->sw] = fab_route_graph_arc(x->g, detour->sw, detour->next);
    }
}

/* Computes depth[] and connected[] of the switches on the path from s. */
static void follow(struct fab_detour_search *x, uint32_t s)
{
    uint32_t count = 0;
    while (x->depth[s] == FAB_NONE && x->arc[s] != FAB_NONE && count < x->g->n) {
        x->stack[count++] = s;
        s = x->head[x->arc[s]];
    }
    if (x->depth[s] == FAB_NONE) {
        x->depth[s] = 0;
        x->connected[s] = s == x->dest;
    }
    uint32_t depth = x->depth[s];
    bool connected = x->connected[s];
    while (count-- > 0) {
        x->depth[x->stack[count]] = ++depth;
        x->connected[x->stack[count]] = connected;
    }
}

void fab_route_detour_lay_out(struct fab_detour_search *x)
{
    uint32_t n = x->g->n, at = 0;
    memset(x->depth, 0xff, n * sizeof(*x->depth));
    memset(x->count, 0, ((size_t)n + 2) * sizeof(*x->count));
    for (uint32_t s = 0; s < n; s++)
        follow(x, s);
    for (uint32_t s = 0; s < n; s++)
        x->count[x->depth[s]]++;
    for (uint32_t depth = n; depth-- > 0;) {
        uint32_t here = x->count[depth];
        x->count[depth] = at;
        at += here;
    }
    for (uint32_t s = 0; s < n; s++)
        x->far[x->count[x->depth[s]]++] = s;
}

void fab_route_detour_change_loads(struct fab_detour_search *x, bool add)
{
    for (uint32_t s = 0; s < x->g->n; s++)
        x->flow[s] = x->g->hosts[s];
    for (uint32_t i = 0; i < x->g->n; i++) {
        uint32_t s = x->far[i], arc = x->arc[s];
        if (arc == FAB_NONE)
            continue;
        uint64_t load = x->flow[s] * x->weight;
        x->load[arc] += add ? load : UINT64_C(0) - load;
        x->flow[x->head[arc]] += x->flow[s];
    }
}

/* ---- dependencies ---------------------------------------------------------------------------- */

uint32_t fab_route_detour_vl(const struct fab_detour_search *x, uint32_t in, uint32_t out,
                             uint32_t sl)
{
    const uint8_t *of = x->rule->arc_class;
    return x->rule->vls->vl[in != FAB_NONE ? of[in] : 0][of[out]][sl];
}

/* Consider packets that leave a switch over `arc` and the next switch over `onward`. Those of SL sl
 * are on the VLs of the bitset vls[sl]. Adds the dependencies of these packets, and adds their VLs
 * on `onward` to ret[]. Stops and returns false if a dependency cannot be added. */
static bool pass_on(struct fab_detour_search *x, uint32_t arc, const uint16_t *vls, uint32_t onward,
                    uint16_t *ret)
{
    for (uint32_t sl = 0; sl < x->sls; sl++) {
        if (vls[sl] == 0)
            continue;
        uint32_t to = fab_route_detour_vl(x, arc, onward, sl);
        for (uint32_t v = 0; vls[sl] >> v != 0; v++) {
            if ((vls[sl] >> v & 1) != 0 && !fab_route_vl_cdg_add(&x->cdg, arc, v, onward, to))
                return false;
        }
        ret[sl] |= (uint16_t)(1u << to);
    }
    return true;
}

/* Adds to ret[] the VL on which packets from hosts of switch s leave this switch. */
static void inject(const struct fab_detour_search *x, uint32_t s, uint16_t *ret)
{
    uint32_t sl = fab_target_vls_sl(x->rule->vls, s, x->dest, 0);
    ret[sl] |= (uint16_t)(1u << fab_route_detour_vl(x, FAB_NONE, x->arc[s], sl));
}

bool fab_route_detour_add(struct fab_detour_search *x)
{
    bool fine = true;
    memset(x->vls, 0, (size_t)x->g->n * x->sls * sizeof(*x->vls));
    for (uint32_t i = 0; i < x->g->n; i++) {
        uint32_t s = x->far[i], arc = x->arc[s];
        if (arc == FAB_NONE)
            continue;
        inject(x, s, x->vls + (size_t)s * x->sls);
        uint32_t next = x->head[arc];
        if (x->arc[next] != FAB_NONE)
            fine &= pass_on(x, arc, x->vls + (size_t)s * x->sls, x->arc[next],
                            x->vls + (size_t)next * x->sls);
    }
    return fine;
}

/* ---- trying a detour ------------------------------------------------------------------------- */

/* Sets ret[] to the VLs of all packets that switch s sends over arc[s], and adds the dependencies
 * of these packets. If s is not the first switch of the detour, `before` is the switch before s,
 * and before_vls has its VLs; otherwise `before` is FAB_NONE. Returns false if a dependency would
 * close a cycle. */
static bool gather(struct fab_detour_search *x, uint32_t s, uint32_t before,
                   const uint16_t *before_vls, uint16_t *ret)
{
    memset(ret, 0, FAB_SLS * sizeof(*ret));
    inject(x, s, ret);
    for (uint32_t i = x->g->nbr_at[s]; i < x->g->nbr_at[s + 1]; i++) {
        uint32_t from = x->head[i];
        if (x->arc[from] == FAB_NONE || x->head[x->arc[from]] != s)
            continue;
        const uint16_t *vls = from == before ? before_vls : x->vls + (size_t)from * x->sls;
        if (!pass_on(x, x->arc[from], vls, x->arc[s], ret))
            return false;
    }
    return true;
}

/* Adds the dependencies on the path after a detour, from its end to the destination. arc: the last
 * hop of the detour; vls: the VLs of the packets on this hop. */
static bool add_rest(struct fab_detour_search *x, uint32_t arc, const uint16_t *vls)
{
    uint16_t now[FAB_SLS], then[FAB_SLS];
    memcpy(now, vls, sizeof(now));
    for (uint32_t s = x->head[arc]; s != x->dest; s = x->head[arc]) {
        memset(then, 0, sizeof(then));
        if (!pass_on(x, arc, now, x->arc[s], then))
            return false;
        memcpy(now, then, sizeof(now));
        arc = x->arc[s];
    }
    return true;
}

/* Stores the VLs of the packets on a detour that was taken, and on the path after it. */
static void keep_vls(struct fab_detour_search *x, const struct fab_detour_chain *c,
                     uint16_t vls[FAB_DETOUR_CHAIN_MAX][FAB_SLS])
{
    for (uint32_t i = 0; i < c->count; i++)
        memcpy(x->vls + (size_t)x->tail[c->arc[i]] * x->sls, vls[i], x->sls * sizeof(*x->vls));
    for (uint32_t arc = c->arc[c->count - 1], s = x->head[arc]; s != x->dest; s = x->head[arc]) {
        const uint16_t *from = x->vls + (size_t)x->tail[arc] * x->sls;
        for (uint32_t sl = 0; sl < x->sls; sl++) {
            if (from[sl] != 0)
                x->vls[(size_t)s * x->sls + sl] |=
                    (uint16_t)(1u << fab_route_detour_vl(x, arc, x->arc[s], sl));
        }
        arc = x->arc[s];
    }
}

bool fab_route_detour_take(struct fab_detour_search *x, const struct fab_detour_chain *c)
{
    uint16_t vls[FAB_DETOUR_CHAIN_MAX][FAB_SLS];
    uint32_t before[FAB_DETOUR_CHAIN_MAX];
    bool fine = true;
    size_t mark = x->cdg.cdg.logged;
    for (uint32_t i = 0; i < c->count; i++) {
        before[i] = x->arc[x->tail[c->arc[i]]];
        x->arc[x->tail[c->arc[i]]] = c->arc[i];
    }
    for (uint32_t i = 0; i < c->count && fine; i++)
        fine = gather(x, x->tail[c->arc[i]], i > 0 ? x->tail[c->arc[i - 1]] : FAB_NONE,
                      i > 0 ? vls[i - 1] : NULL, vls[i]);
    if (fine && add_rest(x, c->arc[c->count - 1], vls[c->count - 1])) {
        keep_vls(x, c, vls);
        return true;
    }
    fab_route_cdg_undo(&x->cdg.cdg, mark);
    for (uint32_t i = 0; i < c->count; i++)
        x->arc[x->tail[c->arc[i]]] = before[i];
    return false;
}

/* ---- which detours --------------------------------------------------------------------------- */

/* Returns the cost of a hop. It is 16 without load and 80 at the mean load, and grows with the
 * third power of the load. */
static uint64_t cost_of(const struct fab_detour_search *x, uint32_t arc)
{
    uint64_t load = x->load[arc] * 16 / x->mean;
    load = load < 256 ? load : 256;
    return 16 + load * load * load / 64;
}

void fab_route_detour_offer(struct fab_detour_search *x, const struct fab_detour_chain *c)
{
    uint32_t i = x->candidates;
    if (i == FAB_DETOUR_CANDIDATES && x->best[i - 1].cost <= c->cost)
        return;
    i = i < FAB_DETOUR_CANDIDATES ? x->candidates++ : i - 1;
    for (; i > 0 && x->best[i - 1].cost > c->cost; i--)
        x->best[i] = x->best[i - 1];
    x->best[i] = *c;
}

static bool passes(const struct fab_detour_search *x, const struct fab_detour_chain *c, uint32_t s)
{
    for (uint32_t i = 0; i < c->count; i++) {
        if (x->tail[c->arc[i]] == s)
            return true;
    }
    return false;
}

/* Continues the chain c from switch s in all possible ways, by at most `hops` hops. Passes each
 * detour that it finds to offer(), which keeps the detours with the lowest costs. */
static void extend(struct fab_detour_search *x, struct fab_detour_chain *c, uint32_t s,
                   uint32_t hops)
{
    uint64_t cost = c->cost;
    for (uint32_t arc = x->g->nbr_at[s]; arc < x->g->nbr_at[s + 1]; arc++) {
        uint32_t to = x->head[arc];
        if (passes(x, c, to) || (x->strict && x->rule->leads_back(x->rule->ctx, x->dest, s, to)))
            continue;
        c->arc[c->count++] = arc;
        c->cost = cost + cost_of(x, arc);
        if (x->connected[to]) {
            c->cost += x->cost[to];
            fab_route_detour_offer(x, c);
        } else if (hops > 1) {
            extend(x, c, to, hops - 1);
        }
        c->count--;
    }
    c->cost = cost;
}

/* Passes one detour to offer(): the detour from switch s whose last hop is the arc `last`. from[u]
 * is the arc by which this detour reaches switch u. */
static void offer_detour(struct fab_detour_search *x, uint32_t s, const uint32_t *from,
                         uint32_t last)
{
    struct fab_detour_chain c = {.cost = x->cost[x->head[last]]};
    uint32_t arc = last, count = 1;
    for (; x->tail[arc] != s; arc = from[x->tail[arc]])
        count++;
    if (count > FAB_DETOUR_CHAIN_MAX)
        return;
    c.count = count;
    for (arc = last; count-- > 0; arc = from[x->tail[arc]]) {
        c.arc[count] = arc;
        c.cost += cost_of(x, arc);
        if (count == 0)
            break;
    }
    fab_route_detour_offer(x, &c);
}

/* Passes detours of up to FAB_DETOUR_CHAIN_MAX hops to offer(). A breadth-first search from s
 * visits the switches that are cut off. The detours end at the connected neighbours of these
 * switches. */
static void extend_far(struct fab_detour_search *x, uint32_t s)
{
    uint32_t first = 0, count = 0, *from = x->next;
    memset(from, 0xff, x->g->n * sizeof(*from));
    x->stack[count++] = s;
    while (first < count) {
        uint32_t at = x->stack[first++];
        for (uint32_t arc = x->g->nbr_at[at]; arc < x->g->nbr_at[at + 1]; arc++) {
            uint32_t to = x->head[arc];
            if (x->connected[to]) {
                offer_detour(x, s, from, arc);
            } else if (to != s && from[to] == FAB_NONE) {
                from[to] = arc;
                x->stack[count++] = to;
            }
        }
    }
}

/* Marks the switches whose paths lead through s, and s itself, as connected. */
static void connect(struct fab_detour_search *x, uint32_t s)
{
    uint32_t count = 0;
    x->stack[count++] = s;
    while (count > 0) {
        s = x->stack[--count];
        x->connected[s] = true;
        x->cost[s] = x->cost[x->head[x->arc[s]]] + cost_of(x, x->arc[s]);
        for (uint32_t i = x->g->nbr_at[s]; i < x->g->nbr_at[s + 1]; i++) {
            uint32_t from = x->head[i];
            if (x->arc[from] != FAB_NONE && x->head[x->arc[from]] == s && !x->connected[from])
                x->stack[count++] = from;
        }
    }
}

static bool connect_by(struct fab_detour_search *x, uint32_t s, uint32_t hops)
{
    struct fab_detour_chain c = {.cost = 0};
    x->candidates = 0;
    x->strict = hops <= CHAIN_HOPS;
    if (hops <= CHAIN_HOPS + 1)
        extend(x, &c, s, hops <= CHAIN_HOPS ? hops : CHAIN_HOPS);
    else
        extend_far(x, s);
    for (uint32_t i = 0; i < x->candidates; i++) {
        if (!fab_route_detour_take(x, &x->best[i]))
            continue;
        for (uint32_t k = x->best[i].count; k-- > 0;)
            connect(x, x->tail[x->best[i].arc[k]]);
        return true;
    }
    return false;
}

static void set_costs(struct fab_detour_search *x)
{
    for (uint32_t i = x->g->n; i-- > 0;) {
        uint32_t s = x->far[i];
        x->cost[s] = 0;
        if (x->connected[s] && s != x->dest)
            x->cost[s] = x->cost[x->head[x->arc[s]]] + cost_of(x, x->arc[s]);
    }
}

bool fab_route_detour_connect(struct fab_detour_search *x, bool last)
{
    uint32_t left = 0, before = 0;
    uint32_t *gap = x->gap;
    set_costs(x);
    for (uint32_t s = 0; s < x->g->n; s++) {
        if (s != x->dest && x->arc[s] == FAB_NONE)
            gap[left++] = s;
    }
    for (uint32_t hops = 2; left > 0 && hops <= CHAIN_HOPS + 1 + (uint32_t)last;
         hops += left == before) {
        before = left;
        left = 0;
        for (uint32_t i = 0; i < before; i++) {
            if (!x->connected[gap[i]] && !connect_by(x, gap[i], hops))
                gap[left++] = gap[i];
        }
    }
    x->gaps = left;
    return left == 0;
}

/* ---- paths on the spare VL ------------------------------------------------------------------- */

/* Sets the SL between switch s and the destination, in both directions. */
static void set_sl(struct fab_detour_search *x, uint32_t s, uint8_t sl)
{
    size_t n = x->g->n;
    x->rule->vls->of_pair[x->dest * n + s] = sl;
    x->rule->vls->of_pair[s * n + x->dest] = sl;
}

/* Adds the dependencies of the path from the destination to switch `s`, for packets of the spare
 * SL. `tree` is the number of the tree of switch `s`. Returns false if the dependencies close a
 * cycle. */
static bool add_path_back(struct fab_detour_search *x, uint32_t tree, uint32_t s)
{
    uint32_t arc = FAB_NONE, vl = 0, at = x->dest;
    fab_route_detours_next(x->d, tree, x->next);
    for (uint32_t hops = 0; hops < x->g->n && at != s && x->next[at] != FAB_NONE; hops++) {
        uint32_t out = fab_route_graph_arc(x->g, at, x->next[at]);
        uint32_t to = fab_route_detour_vl(x, arc, out, x->rule->spare_sl);
        if (arc != FAB_NONE && !fab_route_vl_cdg_add(&x->cdg, arc, vl, out, to))
            return false;
        arc = out;
        vl = to;
        at = x->next[at];
    }
    return true;
}

/* For each switch that only the new detour connects to the destination: gives the spare SL to the
 * packets between the switch and the destination, in both directions. Returns false if the paths
 * from the destination to these switches close a cycle. */
static bool set_spare_sls(struct fab_detour_search *x)
{
    bool fine = true;
    for (uint32_t s = 0; s < x->g->n; s++) {
        if (!x->connected[s] || x->old_connected[s])
            continue;
        set_sl(x, s, (uint8_t)x->rule->spare_sl);
        for (uint32_t i = 0; i < x->d->trees && fine; i++)
            fine = x->d->tree[i].dest != s || add_path_back(x, i, s);
    }
    return fine;
}

/* Tries the detour c. All packets that take the detour are on the spare VL from end to end, and so
 * are the packets of the opposite direction. Returns false if this closes a cycle; the tree is then
 * unchanged. */
static bool take_spare(struct fab_detour_search *x, const struct fab_detour_chain *c)
{
    uint32_t n = x->g->n;
    const uint8_t *sl = x->rule->vls->of_pair + (size_t)x->dest * n;
    size_t mark = x->cdg.cdg.logged;
    memcpy(x->old_arc, x->arc, n * sizeof(*x->old_arc));
    memcpy(x->old_sl, sl, n);
    memcpy(x->old_connected, x->connected, n * sizeof(*x->old_connected));
    for (uint32_t i = 0; i < c->count; i++)
        x->arc[x->tail[c->arc[i]]] = c->arc[i];
    fab_route_detour_lay_out(x);
    bool fine = set_spare_sls(x) && fab_route_detour_add(x);
    if (!fine) {
        fab_route_cdg_undo(&x->cdg.cdg, mark);
        memcpy(x->arc, x->old_arc, n * sizeof(*x->old_arc));
        for (uint32_t s = 0; s < n; s++)
            set_sl(x, s, x->old_sl[s]);
        fab_route_detour_lay_out(x);
        fab_route_detour_add(x);
    }
    set_costs(x);
    return fine;
}

static bool connect_by_spare(struct fab_detour_search *x, uint32_t s)
{
    struct fab_detour_chain c = {.cost = 0};
    x->candidates = 0;
    x->strict = false;
    extend(x, &c, s, CHAIN_HOPS);
    extend_far(x, s);
    for (uint32_t i = 0; i < x->candidates; i++) {
        if (take_spare(x, &x->best[i]))
            return true;
    }
    return false;
}

bool fab_route_detour_connect_by_spare(struct fab_detour_search *x)
{
    if (x->rule->spare_sl >= FAB_SLS)
        return false;
    for (uint32_t i = 0; i < x->gaps; i++) {
        if (!x->connected[x->gap[i]] && !connect_by_spare(x, x->gap[i]))
            return false;
    }
    return true;
}
