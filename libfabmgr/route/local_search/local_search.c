/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Local search over the table entries for endports, with a tabu list (Glover, "Tabu search", ORSA
 * J. Computing 1989).
 *
 * The goal is a bound a little below the present value of one figure: the greatest load of
 * all-to-all traffic, or the greatest number of flows of a shift on one channel. The other figure
 * must not grow. At first some channels exceed the bound. A step draws one of these channels at
 * random. The step considers all entries that bring packets to this channel: entries of the switch
 * that sends on it, and of switches farther from the destination. It makes the change after which
 * the weighted sum of the amounts above the bounds is least, even if this sum is greater than
 * before. The changed entry must then stay for some steps.
 *
 * When no channel exceeds the bound any more, the search sets the next goal. If it does not reach a
 * goal within STEPS steps, it undoes all steps since the last goal that it reached, and tries to
 * lower the other figure.
 *
 * The search keeps tables deadlock-free. Channels have numbers that ascend along all paths
 * (channel_numbering.c), and every changed entry must agree with the numbers. So neither cyclic
 * dependencies nor loops can arise. The SLs of paths do not change.
 *
 * The random generator has a fixed seed, and the order of ids follows GUIDs, so equal input gives
 * equal tables.
 */
#include "libfabmgr/route/local_search/local_search.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/route/local_search/channel_numbering.h"
#include "libfabmgr/route/local_search/link_load.h"

/* Limit of the number of shift counters (endports x channels) and of entries (endports x switches).
 * Larger tables are left unchanged, because the search would need too much memory and time. */
#define ROOM (UINT64_C(1) << 24)
/* maximum number of steps for one goal */
#define STEPS 100
/* Budget for the whole search: the number of counters that it may visit. The search takes about
 * half a second. */
#define BUDGET (UINT64_C(1) << 28)
/* cost of the evaluation of one move, as a number of visited counters; it is subtracted from the
 * budget */
#define WEIGHING_COST 16
/* Number of further searches after the first one, if no order of the switches gives channel numbers
 * that ascend along all paths. Each further search uses other random numbers of the channels. */
#define NUMBERINGS 32
/* Number of passes over all entries in which the search reduces conflicts (flows to different
 * endports that share a channel). */
#define PASSES 4
/* If a step has changed an entry, the next step that may change it again comes TABU to 2 * TABU - 1
 * steps later (drawn at random). */
#define TABU 10

struct step {
    uint32_t end, sw, was;
};
struct search {
    struct fab_graph graph;
    struct fab_channel_numbering numbering;
    struct fab_link_load loads;
    struct fab_prng prng;
    /* [channels] the switch that sends on the channel */
    uint32_t *tail;
    /* [ends][switches] number (`now`) of the first step that may change the entry again */
    uint32_t *until;
    uint32_t *stack; /* [switches] scratch memory */
    uint32_t now;    /* number of steps so far */
    uint64_t budget;
    /* The cost of a move is the change of over_load, plus `weight` times the change of
     * over_flows. */
    uint32_t weight;
    struct step *steps;
    size_t step_count, step_room;
    struct fab_local_move trial, best;
    int64_t best_cost;
    uint32_t ties;
};

/* ---- one step -------------------------------------------------------------------------------- */

/* Returns true if `sw` may send to endport `end` by this channel. Channel numbers must still ascend
 * on the path, and the path must not get longer. On success s->trial is the move. */
static bool may_take(struct search *s, uint32_t end, uint32_t sw, uint32_t channel)
{
    const struct fab_link_load_endport *to = &s->loads.end[end];
    return fab_route_channel_numbering_ascends(&s->numbering,
                                               fab_route_link_load_next(&s->loads, end), to->sw,
                                               to->lid, sw, channel) &&
           fab_route_move_find(&s->loads, end, sw, channel, &s->trial) &&
           s->trial.taken_count <= s->trial.left_count;
}

static void spend(struct search *s, uint64_t looks)
{
    s->budget -= looks < s->budget ? looks : s->budget;
}

static void weigh(struct search *s)
{
    struct fab_local_move *d = &s->trial;
    int64_t cost = fab_route_move_load_delta(&s->loads, d);
    /* the move lowers over_flows by at most this amount */
    uint64_t most = s->loads.over_flows > 0 ? (uint64_t)d->flow * d->left_count : 0;
    spend(s, WEIGHING_COST);
    if (cost - (int64_t)(most * s->weight) > s->best_cost)
        return;
    cost += fab_route_move_flows_delta(&s->loads, d, (s->best_cost - cost) / s->weight) * s->weight;
    spend(s, (uint64_t)d->flow * (d->left_count + d->taken_count) / 8);
    if (cost > s->best_cost)
        return;
    s->ties = cost < s->best_cost ? 1 : s->ties + 1;
    s->best_cost = cost;
    if (fab_base_prng_below(&s->prng, s->ties) == 0)
        s->best = *d;
}

/* Evaluates all moves of the entry of `sw` for endport `end`: one move for each other channel of
 * the switch. Does nothing if this entry was changed recently and must not change again yet
 * (until[]). */
static void consider(struct search *s, uint32_t end, uint32_t sw)
{
    const struct fab_graph *g = &s->graph;
    uint32_t now = fab_route_link_load_next(&s->loads, end)[sw];
    if (s->until[(size_t)end * g->n + sw] > s->now)
        return;
    spend(s, g->port_at[sw + 1] - g->port_at[sw]);
    for (uint32_t c = g->port_at[sw]; c < g->port_at[sw + 1]; c++) {
        if (c != now && may_take(s, end, sw, c))
            weigh(s);
    }
}

/* Evaluates the moves of the entries for endport `end`, at switch `sw` and at all switches that
 * send through it. */
static void consider_upstream(struct search *s, uint32_t end, uint32_t sw)
{
    const struct fab_graph *g = &s->graph;
    const uint32_t *next = fab_route_link_load_next(&s->loads, end);
    const uint32_t *flow = fab_route_link_load_flow(&s->loads, end);
    uint32_t depth = 0;
    s->stack[depth++] = sw;
    while (depth > 0) {
        sw = s->stack[--depth];
        consider(s, end, sw);
        for (uint32_t i = g->nbr_at[sw]; i < g->nbr_at[sw + 1]; i++) {
            uint32_t from = g->nbr[i];
            if (flow[from] > 0 && next[from] != FAB_NONE && g->port_peer[next[from]] == sw)
                s->stack[depth++] = from;
        }
    }
}

static void reduce_load(struct search *s, uint32_t channel)
{
    const struct fab_link_load *b = &s->loads;
    uint32_t sw = s->tail[channel];
    spend(s, b->ends);
    for (uint32_t end = 0; end < b->ends; end++) {
        if (fab_route_link_load_next(b, end)[sw] == channel &&
            fab_route_link_load_flow(b, end)[sw] > 0)
            consider_upstream(s, end, sw);
    }
}

/* Evaluates the moves of the entries on the path from switch `from` to endport `end`, up to the
 * switch that sends on the channel. Does nothing if the path does not use the channel. */
static void consider_path(struct search *s, uint32_t from, uint32_t end, uint32_t channel)
{
    const uint32_t *next = fab_route_link_load_next(&s->loads, end);
    uint32_t count = 0;
    for (uint32_t sw = from; next[sw] != FAB_NONE; sw = s->graph.port_peer[next[sw]]) {
        s->stack[count++] = sw;
        if (next[sw] != channel)
            continue;
        for (uint32_t i = 0; i < count; i++)
            consider(s, end, s->stack[i]);
        return;
    }
}

/* Draws at random one of the shifts that put more flows on the channel than the bound allows.
 * Evaluates moves of the entries that bring these flows to the channel. */
static void reduce_flows(struct search *s, uint32_t channel)
{
    const struct fab_link_load *b = &s->loads;
    const uint8_t *cell = fab_route_link_load_cells(b, channel);
    uint32_t shift = 0, found = 0, bound = b->most_flows / s->graph.port_slow[channel];
    for (uint32_t k = 0; k < b->ends; k++) {
        if (cell[k] > bound && fab_base_prng_below(&s->prng, ++found) == 0)
            shift = k;
    }
    spend(s, (uint64_t)b->ends * 4);
    for (uint32_t i = 0; i < b->ends; i++) {
        uint32_t to = (i + shift) % b->ends;
        if (b->end[i].sw != b->end[to].sw)
            consider_path(s, b->end[i].sw, to, channel);
    }
}

/* Draws at random one of the channels that exceed a bound. Returns this channel. Sets *ret_load to
 * true if the channel exceeds the bound of the load, and to false if it exceeds the bound of the
 * flows. */
static uint32_t draw(struct search *s, bool *ret_load)
{
    const struct fab_link_load *b = &s->loads;
    uint32_t found = 0, channel = FAB_NONE;
    *ret_load = b->over_load > 0 && (b->over_flows == 0 || fab_base_prng_below(&s->prng, 2) == 0);
    for (uint32_t c = 0; c < b->channels; c++) {
        bool over = *ret_load ? b->load[c] > b->most_load : b->over[c] > 0;
        if (over && fab_base_prng_below(&s->prng, ++found) == 0)
            channel = c;
    }
    spend(s, b->channels);
    return channel;
}

static int note_step(struct search *s)
{
    struct step *steps = s->steps;
    if (s->step_count == s->step_room)
        steps = fab_base_grow(steps, sizeof(*steps), s->step_count + 1, &s->step_room);
    if (steps == NULL)
        return FAB_E_NOMEM;
    s->steps = steps;
    steps[s->step_count++] = (struct step){
        s->best.end, s->best.sw, fab_route_link_load_next(&s->loads, s->best.end)[s->best.sw]};
    return FAB_OK;
}

static int take_step(struct search *s)
{
    bool load;
    uint32_t channel = draw(s, &load);
    s->now++;
    s->best_cost = INT64_MAX / 2;
    s->ties = 0;
    if (load)
        reduce_load(s, channel);
    else
        reduce_flows(s, channel);
    if (s->ties == 0)
        return FAB_OK;
    int status = note_step(s);
    if (status == FAB_OK)
        fab_route_move_apply(&s->loads, &s->best);
    s->until[(size_t)s->best.end * s->graph.n + s->best.sw] =
        s->now + TABU + (uint32_t)fab_base_prng_below(&s->prng, TABU);
    return status;
}

/* ---- goals ----------------------------------------------------------------------------------- */

static void undo_steps(struct search *s)
{
    while (s->step_count > 0) {
        const struct step *t = &s->steps[--s->step_count];
        if (fab_route_move_find(&s->loads, t->end, t->sw, t->was, &s->trial))
            fab_route_move_apply(&s->loads, &s->trial);
    }
}

static bool reached(const struct search *s)
{
    return s->loads.over_load == 0 && s->loads.over_flows == 0;
}

static int try_goal(struct search *s, uint32_t load, uint32_t flows, bool *ret_reached)
{
    int status = FAB_OK;
    s->step_count = 0;
    fab_route_link_load_set_bounds(&s->loads, load, flows);
    for (uint32_t i = 0; status == FAB_OK && i < STEPS && s->budget > 0 && !reached(s); i++)
        status = take_step(s);
    *ret_reached = status == FAB_OK && reached(s);
    if (!*ret_reached)
        undo_steps(s);
    return status;
}

/* Lowers two figures: the greatest load of all-to-all traffic and, each time this load cannot be
 * lowered further, the greatest number of flows of a shift on one channel. Ends when it can lower
 * neither. */
static int search(struct search *s)
{
    int status = FAB_OK;
    bool better = true;
    while (status == FAB_OK && better && s->budget > 0) {
        uint32_t load = fab_route_link_load_max(&s->loads),
                 flows = fab_route_link_load_max_flows(&s->loads);
        better = false;
        if (load > 0)
            status = try_goal(s, load - 1, flows, &better);
        if (status == FAB_OK && !better && flows > 1)
            status = try_goal(s, load, flows - 1, &better);
    }
    return status;
}

/* ---- conflicts ------------------------------------------------------------------------------- */

/* Compares all channels by which `sw` may send to endport `end`. Among those that raise neither
 * over_load nor over_flows, chooses the channel whose path shares links with the fewest flows to
 * other endports. Returns true if the entry has changed. */
static bool reduce_conflicts_at(struct search *s, uint32_t end, uint32_t sw)
{
    const struct fab_graph *g = &s->graph;
    uint32_t now = fab_route_link_load_next(&s->loads, end)[sw];
    int64_t least = 0;
    for (uint32_t c = g->port_at[sw]; c < g->port_at[sw + 1]; c++) {
        if (c == now || !may_take(s, end, sw, c))
            continue;
        spend(s, WEIGHING_COST);
        int64_t change = fab_route_move_conflicts_delta(&s->loads, &s->trial);
        if (change >= least || fab_route_move_load_delta(&s->loads, &s->trial) > 0 ||
            fab_route_move_flows_delta(&s->loads, &s->trial, 0) > 0)
            continue;
        least = change;
        s->best = s->trial;
    }
    if (least < 0)
        fab_route_move_apply(&s->loads, &s->best);
    return least < 0;
}

static bool reduce_conflicts_of(struct search *s, uint32_t end)
{
    const uint32_t *next = fab_route_link_load_next(&s->loads, end);
    const uint32_t *flow = fab_route_link_load_flow(&s->loads, end);
    bool changed = false;
    for (uint32_t sw = 0; sw < s->graph.n && s->budget > 0; sw++) {
        if (flow[sw] > 0 && next[sw] != FAB_NONE)
            changed |= reduce_conflicts_at(s, end, sw);
    }
    return changed;
}

/* Reduces conflicts (pairs of flows to different endports that share a link) in at most PASSES
 * passes over all entries. Neither the greatest load nor the greatest number of flows of a shift
 * may grow. */
static void reduce_conflicts(struct search *s)
{
    fab_route_link_load_set_bounds(&s->loads, fab_route_link_load_max(&s->loads),
                                   fab_route_link_load_max_flows(&s->loads));
    for (unsigned round = 0; round < PASSES; round++) {
        uint32_t changed = 0;
        for (uint32_t end = 0; end < s->loads.ends; end++)
            changed += reduce_conflicts_of(s, end);
        if (changed == 0)
            return;
    }
}

/* ---- the whole search ------------------------------------------------------------------------ */

static int allocate(struct search *s, const struct fab_local_search_input *in)
{
    const struct fab_graph *g = &s->graph;
    uint32_t channels = g->port_at[g->n];
    if ((uint64_t)in->end_count * (channels > g->n ? channels : g->n) > ROOM)
        return FAB_E_LIMIT;
    s->tail = fab_base_alloc_array((size_t)channels + 1, sizeof(*s->tail));
    s->stack = fab_base_alloc_array((size_t)g->n + 1, sizeof(*s->stack));
    s->until = calloc((size_t)in->end_count * g->n + 1, sizeof(*s->until));
    return s->tail && s->stack && s->until ? FAB_OK : FAB_E_NOMEM;
}

static int prepare(struct search *s, const struct fab_local_search_input *in,
                   const struct fab_lft *lft)
{
    int status = fab_route_graph_make(in->fabric, &s->graph);
    if (status == FAB_OK)
        status = allocate(s, in);
    if (status != FAB_OK)
        return status;
    for (uint32_t sw = 0; sw < s->graph.n; sw++) {
        for (uint32_t c = s->graph.port_at[sw]; c < s->graph.port_at[sw + 1]; c++)
            s->tail[c] = sw;
    }
    status = fab_route_channel_numbering_make(&s->numbering, &s->graph, in, lft, NULL);
    if (status == FAB_OK)
        status = fab_route_link_load_init(&s->loads, &s->graph, s->numbering.by_port, in, lft);
    return status;
}

static void fini(struct search *s)
{
    free(s->tail);
    free(s->stack);
    free(s->until);
    free(s->steps);
    fab_route_link_load_fini(&s->loads);
    fab_route_channel_numbering_fini(&s->numbering);
    fab_route_graph_fini(&s->graph);
}

static void write_back(const struct search *s, struct fab_lft *lft)
{
    for (uint32_t end = 0; end < s->loads.ends; end++) {
        const uint32_t *next = fab_route_link_load_next(&s->loads, end);
        for (uint32_t sw = 0; sw < s->graph.n; sw++) {
            if (next[sw] != FAB_NONE)
                fab_target_lft_row(lft, sw)[s->loads.end[end].lid] = s->graph.port_num[next[sw]];
        }
    }
}

/* Gives the channels other numbers: random ones that ascend along all present paths. The new
 * numbers permit moves that the old ones forbid. */
static int renumber(struct search *s, const struct fab_local_search_input *in,
                    const struct fab_lft *lft)
{
    struct fab_channel_numbering numbering;
    int status = fab_route_channel_numbering_make(&numbering, &s->graph, in, lft, &s->prng);
    if (status != FAB_OK)
        return status;
    fab_route_channel_numbering_fini(&s->numbering);
    s->numbering = numbering;
    return FAB_OK;
}

static int improve(struct search *s, const struct fab_local_search_input *in, struct fab_lft *lft)
{
    int status = search(s);
    for (unsigned i = 0; status == FAB_OK && i < NUMBERINGS && !s->numbering.by_order; i++) {
        write_back(s, lft);
        status = renumber(s, in, lft);
        if (status == FAB_OK)
            status = search(s);
    }
    if (status == FAB_OK)
        reduce_conflicts(s);
    if (status == FAB_OK)
        write_back(s, lft);
    return status;
}

int fab_route_local_search(const struct fab_local_search_input *in, struct fab_lft *lft)
{
    struct search s = {.budget = BUDGET};
    if (in->end_count == 0)
        return FAB_OK;
    fab_base_prng_init(&s.prng, 1);
    int status = prepare(&s, in, lft);
    if (status == FAB_OK) {
        s.weight = 1 + s.loads.ends / s.loads.runs;
        status = improve(&s, in, lft);
    }
    fini(&s);
    return status == FAB_E_UNSUPPORTED || status == FAB_E_LIMIT ? FAB_OK : status;
}
