/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lowers the greatest link load, one goal after the other. A goal is an upper limit of the load of
 * every channel. The channels above the goal are hot. The goals follow from bisection between the
 * lower bound of the greatest load and its present value.
 *
 * For each goal, the search makes passes over the columns (the entries of all switches for one
 * LID). The paths of a column form a tree. Its shape gives, in O(switches), the length of the path
 * of each switch and the number of flows that pass the switch. Columns that use no hot channel are
 * skipped. In the other columns, each switch whose path uses a hot channel compares the other next
 * hops of the same path length. The excess is the sum of the amounts by which loads exceed the
 * goal. The switch takes the next hop that lowers the excess most. Among equally good next hops, it
 * takes the one whose path shares the fewest channels with flows of the same shifts; only flows
 * from the same switch are compared (find_near). Switches far from the destination come first,
 * because few flows pass them, so that no more flows move than necessary.
 *
 * A change is evaluated from the channels that the flows leave and those that they take instead, up
 * to the switch where both paths join. No other load changes.
 *
 * If the passes for a goal do not succeed, the search undoes its changes since the last goal that
 * it reached. So the result has only changes that lower the greatest load, and the manager writes
 * no more blocks than necessary.
 */
#include "libfabmgr/route/local_search/polish.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/arena.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/route/local_search/channel_numbering.h"

/* Limit of the work, in visited entries: about 10 s of processor time. */
#define WORK (UINT64_C(3) << 30)
/* number of columns that are read from the tables together */
#define TILE 64u
/* maximum number of passes for one goal */
#define PASSES 8
/* A pass must lower the excess by more than 1 / LEAST_GAIN of the excess that is left; otherwise
 * the search gives up the goal. */
#define LEAST_GAIN 16
/* The search ends if the interval of the bisection is smaller than the load / GRAIN. */
#define GRAIN 256
/* cost of the evaluation of one channel of a path, in visited entries */
#define CHANNEL_COST 2
/* maximum number of channels of a path in near[] */
#define NEAR_HOPS 8
/* value of len[] for a switch from which no path leads to the LID */
#define UNREACHED UINT16_MAX

struct column {
    uint32_t lid, home; /* the LID of an endport, and the switch to which the endport is attached */
};
/* The ports of a switch: the id of port 0, and the highest port number. */
struct ports {
    uint32_t first, last;
};
struct step {
    uint32_t sw, lid;
    uint8_t was;
};
struct fab_polish {
    struct fab_arena arena; /* memory of the arrays, except steps[] */
    struct ports *ports;    /* [switches] */
    /* a channel is a port of this graph */
    struct fab_graph graph;
    struct fab_channel_numbering numbering;
    struct fab_lft lft;     /* the tables as the search has changed them */
    struct column *columns; /* [count] ascending by LID */
    uint32_t count;
    uint32_t *attached; /* [switches] number of endports at each switch */
    /* [switches] by number of the connected component (fab_graph.component): its number of
     * endports */
    uint32_t *ends_of;
    /* [channels] present load, and load when the last goal was reached */
    uint64_t *load, *reached;
    uint64_t goal, low, high; /* the present goal, and the interval of the bisection */
    bool *hot;                /* [channels] whether the load is above the goal */
    /* State of the present pass. at: index of the next column. passes: number of complete passes
     * for this goal. counting: the pass counts the loads. moved: the pass has changed entries.
     * excess: the excess before the pass. over: the search has ended. failed: it has ended because
     * there is no memory. */
    uint32_t at, passes;
    bool counting, moved, over, failed;
    uint64_t excess;
    /* the changes since the last goal that was reached */
    struct step *steps;
    size_t step_count, step_room;
    uint64_t work, before, bound;
    /* tile[i * switches + sw]: entry of switch sw for the i-th LID of the tile. tile_first: the
     * index of its first column; tile_count: number of columns, 0: the tile is empty. */
    uint8_t *tile;
    uint32_t tile_first, tile_count;
    /* The present column. next[switches]: the channel by which each switch sends, or FAB_NONE.
     * len[switches]: number of hops. order[reach]: the switches with a path, nearest first.
     * flow[switches]: number of endports that send through the switch. */
    uint32_t *next, *order, reach;
    uint64_t *flow;
    uint16_t *len;
    bool *on_hot; /* [switches] whether the path of the switch uses a hot channel */
    /* near[nears]: the first channels of the paths of one switch to some endports (find_near) */
    uint32_t (*near)[NEAR_HOPS], nears;
};

/* ---- the present column ---------------------------------------------------------------------- */

static void load_tile(struct fab_polish *p, uint32_t first)
{
    uint32_t n = p->graph.n;
    p->tile_first = first;
    p->tile_count = p->count - first < TILE ? p->count - first : TILE;
    for (uint32_t sw = 0; sw < n; sw++) {
        const uint8_t *row = fab_target_lft_row(&p->lft, sw);
        for (uint32_t i = 0; i < p->tile_count; i++)
            p->tile[(size_t)i * n + sw] = row[p->columns[first + i].lid];
    }
}

/* Returns the channel by which `sw` sends to the i-th LID of the tile, or FAB_NONE. */
static inline uint32_t channel_in_tile(const struct fab_polish *p, uint32_t i, uint32_t sw)
{
    uint8_t num = p->tile[(size_t)i * p->graph.n + sw];
    const struct ports *ports = &p->ports[sw];
    return num <= ports->last ? p->numbering.by_port[ports->first + num] : FAB_NONE;
}

/* Reads the next hops of column number `at`. Returns true if one of them is a hot channel, or if
 * the present pass counts the loads of all columns. */
static bool read_column(struct fab_polish *p, uint32_t at)
{
    uint32_t n = p->graph.n, home = p->columns[at].home;
    if (at - p->tile_first >= p->tile_count)
        load_tile(p, at);
    bool any = p->counting;
    for (uint32_t sw = 0; sw < n; sw++) {
        uint32_t c = sw != home ? channel_in_tile(p, at - p->tile_first, sw) : FAB_NONE;
        p->next[sw] = c;
        any = any || (c != FAB_NONE && p->hot[c]);
    }
    p->work += n / 4;
    return any;
}

/* Finds the length of the path from each switch. Returns the length of the longest path. */
static uint32_t find_lengths(struct fab_polish *p, uint32_t home)
{
    const struct fab_graph *g = &p->graph;
    uint32_t *stack = p->order, longest = 0;
    memset(p->len, 0, g->n * sizeof(*p->len));
    for (uint32_t from = 0; from < g->n; from++) {
        uint32_t depth = 0, sw = from;
        /* while the path is followed, its switches are UNREACHED, so that a loop ends */
        for (; sw != home && p->len[sw] == 0 && p->next[sw] != FAB_NONE;
             sw = g->port_peer[p->next[sw]]) {
            stack[depth++] = sw;
            p->len[sw] = UNREACHED;
        }
        uint32_t length = sw == home ? 0 : p->len[sw] != 0 ? p->len[sw] : UNREACHED;
        while (depth > 0) {
            length = length < UNREACHED - 1u ? length + 1 : UNREACHED;
            p->len[stack[--depth]] = (uint16_t)length;
        }
        if (sw != home && p->next[sw] == FAB_NONE)
            p->len[sw] = UNREACHED;
        longest = length != UNREACHED && length > longest ? length : longest;
    }
    return longest;
}

/* Sorts the switches that have a path by the length of their paths. */
static void sort_switches(struct fab_polish *p, uint32_t longest)
{
    p->reach = 0;
    for (uint32_t length = 0; length <= longest; length++) {
        for (uint32_t sw = 0; sw < p->graph.n; sw++) {
            if (p->len[sw] == length)
                p->order[p->reach++] = sw;
        }
    }
}

/* Adds up the flows of the column from the farthest switch to the nearest. */
static void add_flows(struct fab_polish *p, uint32_t home)
{
    for (uint32_t sw = 0; sw < p->graph.n; sw++)
        p->flow[sw] = sw != home ? p->attached[sw] : 0;
    for (uint32_t i = p->reach; i-- > 1;) {
        uint32_t sw = p->order[i];
        p->flow[p->graph.port_peer[p->next[sw]]] += p->flow[sw];
    }
}

static void find_tree(struct fab_polish *p, uint32_t home)
{
    uint32_t longest = find_lengths(p, home);
    sort_switches(p, longest);
    add_flows(p, home);
    p->work += p->graph.n * 2;
}

/* ---- moves ----------------------------------------------------------------------------------- */

static uint64_t above(uint64_t load, uint64_t goal)
{
    return load > goal ? load - goal : 0;
}

/* What the move of the flows of one switch to another channel would change. */
struct change {
    int64_t excess; /* the excess: sum of the amounts by which loads exceed the goal */
    /* number of channels that the new path shares with paths of the same switch to endports near
     * the destination (find_near) */
    uint32_t shared;
    /* sum of the loads of the channels on the new path, minus the same sum for the old path; both
     * sums are without the flows that move */
    int64_t load;
};

static bool is_better(const struct change *x, const struct change *y)
{
    if (x->excess != y->excess)
        return x->excess < y->excess;
    return x->shared != y->shared ? x->shared < y->shared : x->load < y->load;
}

/* Lists in near[] the paths from `sw` to the endports whose LIDs are near that of the destination.
 * In a shift, the endports of a switch send to the same number of endports with consecutive LIDs.
 * So the flows to two of these endports are in the same shift, and they share a channel if their
 * paths from `sw` share a channel. Only LIDs of the tile are considered. */
static void find_near(struct fab_polish *p, uint32_t sw)
{
    uint32_t at = p->at - p->tile_first, width = p->flow[sw] < TILE ? (uint32_t)p->flow[sw] : TILE;
    uint32_t hops = p->len[sw] < NEAR_HOPS ? p->len[sw] : NEAR_HOPS;
    p->nears = 0;
    for (uint32_t i = at >= width ? at - width + 1 : 0; i < at + width && i < p->tile_count; i++) {
        uint32_t home = p->columns[p->tile_first + i].home, here = sw;
        uint32_t *path = p->near[p->nears];
        if (i == at || home == sw)
            continue;
        for (uint32_t hop = 0; hop < hops; hop++) {
            path[hop] = here != home ? channel_in_tile(p, i, here) : FAB_NONE;
            here = path[hop] != FAB_NONE ? p->graph.port_peer[path[hop]] : home;
        }
        p->nears++;
        p->work += hops;
    }
}

/* Counts the channels that the path from `sw` by `channel` shares with the paths in near[]. */
static uint32_t count_shared(struct fab_polish *p, uint32_t sw, uint32_t channel)
{
    uint32_t hops = p->len[sw] < NEAR_HOPS ? p->len[sw] : NEAR_HOPS, shared = 0;
    for (uint32_t hop = 0; hop < hops; hop++) {
        for (uint32_t i = 0; i < p->nears; i++)
            shared += p->near[i][hop] == channel;
        channel = p->next[p->graph.port_peer[channel]];
        p->work += p->nears / 4;
    }
    return shared;
}

/* Evaluates the move of the flows of `sw` to `channel`. Both paths are equally long, so they join
 * after the same number of hops. */
static struct change evaluate(struct fab_polish *p, uint32_t sw, uint32_t channel)
{
    const struct fab_graph *g = &p->graph;
    struct change sum = {0};
    uint64_t flow = p->flow[sw];
    for (uint32_t from = p->next[sw], to = channel;;
         from = p->next[g->port_peer[from]], to = p->next[g->port_peer[to]]) {
        uint64_t left = p->load[from] - flow * g->port_slow[from],
                 taken = p->load[to] + flow * g->port_slow[to];
        sum.excess += (int64_t)(above(taken, p->goal) - above(p->load[to], p->goal));
        sum.excess -= (int64_t)(above(p->load[from], p->goal) - above(left, p->goal));
        sum.load += (int64_t)(p->load[to] - left);
        p->work += CHANNEL_COST;
        if (g->port_peer[from] == g->port_peer[to])
            return sum;
    }
}

static void add_load(struct fab_polish *p, uint32_t channel, uint64_t load)
{
    p->load[channel] += load;
    p->hot[channel] = p->load[channel] > p->goal;
}

static void shift_flows(struct fab_polish *p, uint32_t sw, uint32_t channel)
{
    const struct fab_graph *g = &p->graph;
    uint64_t flow = p->flow[sw];
    for (uint32_t from = p->next[sw], to = channel;;
         from = p->next[g->port_peer[from]], to = p->next[g->port_peer[to]]) {
        add_load(p, from, 0 - flow * g->port_slow[from]);
        add_load(p, to, flow * g->port_slow[to]);
        if (g->port_peer[from] == g->port_peer[to])
            return;
        p->flow[g->port_peer[from]] -= flow;
        p->flow[g->port_peer[to]] += flow;
    }
}

static bool note_step(struct fab_polish *p, uint32_t sw, uint32_t lid)
{
    struct step *steps = p->steps;
    if (p->step_count == p->step_room)
        steps = fab_base_grow(steps, sizeof(*steps), p->step_count + 1, &p->step_room);
    if (steps == NULL)
        return false;
    p->steps = steps;
    steps[p->step_count++] =
        (struct step){.sw = sw, .lid = lid, .was = fab_target_lft_at(&p->lft, sw, lid)};
    return true;
}

/* Changes the entry of `sw` in the tables, in the tile and in the present column. If there is no
 * memory to note the change, ends the search. */
static void move(struct fab_polish *p, uint32_t sw, uint32_t channel)
{
    uint32_t lid = p->columns[p->at].lid;
    if (!note_step(p, sw, lid)) {
        p->over = p->failed = true;
        return;
    }
    shift_flows(p, sw, channel);
    p->next[sw] = channel;
    fab_target_lft_row(&p->lft, sw)[lid] = p->graph.port_num[channel];
    p->tile[(size_t)(p->at - p->tile_first) * p->graph.n + sw] = p->graph.port_num[channel];
    p->moved = true;
}

/* Returns true if the path from the switch uses a hot channel now. */
static bool is_hot(const struct fab_polish *p, uint32_t sw)
{
    for (uint32_t c = p->next[sw]; c != FAB_NONE; c = p->next[p->graph.port_peer[c]]) {
        if (p->hot[c])
            return true;
    }
    return false;
}

/* Moves the flows of `sw` to the best next hop, if there is a better one than the present. */
static void improve_switch(struct fab_polish *p, uint32_t sw)
{
    const struct fab_graph *g = &p->graph;
    const struct column *to = &p->columns[p->at];
    struct change best = {0};
    uint32_t taken = FAB_NONE;
    bool near = false;
    for (uint32_t c = g->port_at[sw]; c < g->port_at[sw + 1]; c++) {
        uint32_t peer = g->port_peer[c];
        if (c == p->next[sw] || p->len[peer] + 1u != p->len[sw] ||
            (p->next[peer] == FAB_NONE && peer != to->home))
            continue;
        struct change x = evaluate(p, sw, c);
        if (x.excess >= 0 || x.excess > best.excess)
            continue;
        if (!near)
            find_near(p, sw);
        near = true;
        x.shared = count_shared(p, sw, c);
        if (!is_better(&x, &best) ||
            !fab_route_channel_numbering_ascends(&p->numbering, p->next, to->home, to->lid, sw, c))
            continue;
        best = x;
        taken = c;
    }
    if (taken != FAB_NONE)
        move(p, sw, taken);
}

static void improve_column(struct fab_polish *p)
{
    const struct fab_graph *g = &p->graph;
    uint32_t home = p->columns[p->at].home;
    find_tree(p, home);
    p->on_hot[home] = false;
    for (uint32_t i = 1; i < p->reach; i++) {
        uint32_t sw = p->order[i], c = p->next[sw];
        p->on_hot[sw] = p->hot[c] || p->on_hot[g->port_peer[c]];
    }
    for (uint32_t i = p->reach; i-- > 1;) {
        uint32_t sw = p->order[i];
        if (p->flow[sw] > 0 && p->on_hot[sw] && is_hot(p, sw))
            improve_switch(p, sw);
    }
}

static void count_column(struct fab_polish *p)
{
    const struct fab_graph *g = &p->graph;
    find_tree(p, p->columns[p->at].home);
    for (uint32_t i = 1; i < p->reach; i++) {
        uint32_t c = p->next[p->order[i]];
        p->load[c] += p->flow[p->order[i]] * g->port_slow[c];
    }
}

/* ---- goals ----------------------------------------------------------------------------------- */

static uint64_t greatest_load(const struct fab_polish *p)
{
    uint64_t most = 0;
    for (uint32_t c = 0; c < p->graph.port_at[p->graph.n]; c++)
        most = p->load[c] > most ? p->load[c] : most;
    return most;
}

static uint64_t excess(const struct fab_polish *p)
{
    uint64_t sum = 0;
    for (uint32_t c = 0; c < p->graph.port_at[p->graph.n]; c++)
        sum += above(p->load[c], p->goal);
    return sum;
}

/* Begins with the goal in the middle of the interval. Ends the search if the interval is so small
 * that a further goal is not worth the work. */
static void set_goal(struct fab_polish *p)
{
    p->over = p->over || p->high <= p->low || p->high - p->low <= p->high / GRAIN;
    p->goal = p->low + (p->high - p->low) / 2;
    for (uint32_t c = 0; c < p->graph.port_at[p->graph.n]; c++)
        p->hot[c] = p->load[c] > p->goal;
    p->excess = excess(p);
    p->passes = 0;
    p->step_count = 0;
}

static void reach_goal(struct fab_polish *p)
{
    memcpy(p->reached, p->load, p->graph.port_at[p->graph.n] * sizeof(*p->load));
    p->high = greatest_load(p);
    set_goal(p);
}

static void undo(struct fab_polish *p)
{
    while (p->step_count > 0) {
        const struct step *s = &p->steps[--p->step_count];
        fab_target_lft_row(&p->lft, s->sw)[s->lid] = s->was;
    }
    memcpy(p->load, p->reached, p->graph.port_at[p->graph.n] * sizeof(*p->load));
}

static void give_up_goal(struct fab_polish *p)
{
    undo(p);
    p->low = p->goal + 1;
    set_goal(p);
}

/* Returns a lower bound of the greatest load. First, the links of each leaf must carry the traffic
 * between its endports and all others. Second, no change makes a path shorter, so the sum of the
 * flows over all channels does not become lower; the greatest load is at least the mean load for
 * this sum. */
static uint64_t find_bound(const struct fab_polish *p)
{
    const struct fab_graph *g = &p->graph;
    double most = 0, all_flows = 0, all_capacity = 0;
    for (uint32_t sw = 0; sw < g->n; sw++) {
        uint32_t others = p->ends_of[g->component[sw]] - p->attached[sw];
        double flows = (double)p->attached[sw] * others, capacity = 0;
        for (uint32_t c = g->port_at[sw]; c < g->port_at[sw + 1]; c++) {
            capacity += 1.0 / g->port_slow[c];
            all_flows += (double)p->load[c] / g->port_slow[c];
        }
        all_capacity += capacity;
        most = capacity > 0 && flows / capacity > most ? flows / capacity : most;
    }
    if (all_capacity > 0 && all_flows / all_capacity > most)
        most = all_flows / all_capacity;
    return (uint64_t)most;
}

static void end_pass(struct fab_polish *p)
{
    p->at = p->tile_count = 0;
    p->passes++;
    if (p->counting) {
        p->counting = false;
        p->before = greatest_load(p);
        p->low = p->bound = find_bound(p);
        reach_goal(p);
        return;
    }
    uint64_t left = excess(p);
    bool progress = p->moved && left + left / LEAST_GAIN < p->excess;
    p->excess = left;
    p->moved = false;
    if (left == 0)
        reach_goal(p);
    else if (!progress || p->passes == PASSES)
        give_up_goal(p);
}

bool fab_route_polish_slice(struct fab_polish *p, uint64_t work)
{
    uint64_t until = p->work + work < WORK ? p->work + work : WORK;
    while (!p->over && p->work < until) {
        if (read_column(p, p->at)) {
            if (p->counting)
                count_column(p);
            else
                improve_column(p);
        }
        if (++p->at == p->count && !p->over)
            end_pass(p);
    }
    if (!p->over && p->work >= WORK) {
        undo(p);
        p->over = true;
    }
    return p->over;
}

/* ---- making ---------------------------------------------------------------------------------- */

static int allocate(struct fab_polish *p)
{
    size_t n = (size_t)p->graph.n + 1, channels = (size_t)p->graph.port_at[p->graph.n] + 1;
    p->columns = fab_base_arena_alloc(&p->arena, (size_t)p->count + 1, sizeof(*p->columns));
    p->ports = fab_base_arena_alloc(&p->arena, n, sizeof(*p->ports));
    p->ends_of = fab_base_arena_alloc(&p->arena, n, sizeof(*p->ends_of));
    p->attached = fab_base_arena_alloc(&p->arena, n, sizeof(*p->attached));
    p->load = fab_base_arena_alloc(&p->arena, channels, sizeof(*p->load));
    p->reached = fab_base_arena_alloc(&p->arena, channels, sizeof(*p->reached));
    p->hot = fab_base_arena_alloc(&p->arena, channels, sizeof(*p->hot));
    p->tile = fab_base_arena_alloc(&p->arena, n, TILE);
    p->near = fab_base_arena_alloc(&p->arena, TILE, sizeof(*p->near));
    p->next = fab_base_arena_alloc(&p->arena, n, sizeof(*p->next));
    p->order = fab_base_arena_alloc(&p->arena, n, sizeof(*p->order));
    p->flow = fab_base_arena_alloc(&p->arena, n, sizeof(*p->flow));
    p->len = fab_base_arena_alloc(&p->arena, n, sizeof(*p->len));
    p->on_hot = fab_base_arena_alloc(&p->arena, n, sizeof(*p->on_hot));
    return !p->arena.failed ? FAB_OK : FAB_E_NOMEM;
}

static int compare_columns(const void *x, const void *y)
{
    const struct column *a = x, *b = y;
    return a->lid < b->lid ? -1 : a->lid > b->lid;
}

static int list_columns(struct fab_polish *p, const struct fab_local_search_input *in)
{
    for (uint32_t sw = 0; sw < p->graph.n; sw++) {
        const struct fab_node *node = &in->fabric->nodes[sw];
        p->ports[sw] = (struct ports){.first = node->first_port, .last = node->num_ports};
    }
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t port = in->ends[i], sw = fab_fabric_peer_node(in->fabric, port);
        if (in->lids->base[port] == 0 || sw >= p->graph.n)
            return FAB_E_UNSUPPORTED;
        p->columns[i] = (struct column){.lid = in->lids->base[port], .home = sw};
        p->attached[sw]++;
        p->ends_of[p->graph.component[sw]]++;
    }
    if (p->count > 1)
        qsort(p->columns, p->count, sizeof(*p->columns), compare_columns);
    return FAB_OK;
}

int fab_route_polish_new(const struct fab_local_search_input *in, const struct fab_lft *lft,
                         struct fab_polish **ret)
{
    if ((uint64_t)lft->switch_count * lft->top > FAB_POLISH_ENTRIES)
        return FAB_E_LIMIT;
    struct fab_polish *p = calloc(1, sizeof(*p));
    if (p == NULL)
        return FAB_E_NOMEM;
    *p = (struct fab_polish){.count = in->end_count, .counting = true};
    p->over = p->count == 0;
    int status = fab_route_graph_make(in->fabric, &p->graph);
    if (status == FAB_OK)
        status = allocate(p);
    if (status == FAB_OK)
        status = list_columns(p, in);
    if (status == FAB_OK)
        status = fab_route_channel_numbering_make(&p->numbering, &p->graph, in, lft, NULL);
    if (status == FAB_OK)
        status = fab_target_lft_copy(lft, &p->lft);
    if (status == FAB_OK)
        *ret = p;
    else
        fab_route_polish_free(p);
    return status;
}

void fab_route_polish_free(struct fab_polish *p)
{
    if (p == NULL)
        return;
    fab_target_lft_fini(&p->lft);
    fab_route_channel_numbering_fini(&p->numbering);
    fab_route_graph_fini(&p->graph);
    fab_base_arena_fini(&p->arena);
    free(p->steps);
    free(p);
}

/* ---- results --------------------------------------------------------------------------------- */

void fab_route_polish_get(const struct fab_polish *p, struct fab_polish_progress *ret)
{
    *ret = (struct fab_polish_progress){
        .work = p->work, .before = p->before, .load = p->high, .bound = p->bound};
}

int fab_route_polish_take(struct fab_polish *p, struct fab_lft *ret)
{
    if (p->failed)
        return FAB_E_NOMEM;
    *ret = p->lft;
    p->lft = (struct fab_lft){0};
    return FAB_OK;
}

void fab_route_polish_count(const struct fab_lft *was, const struct fab_lft *now,
                            uint64_t *ret_entries, uint32_t *ret_blocks)
{
    *ret_entries = 0;
    *ret_blocks = 0;
    for (uint32_t sw = 0; sw < was->switch_count; sw++) {
        for (uint32_t block = 0; block < fab_target_lft_blocks(was); block++) {
            const uint8_t *a = fab_target_lft_block(was, sw, block),
                          *b = fab_target_lft_block(now, sw, block);
            if (memcmp(a, b, FAB_LFT_BLOCK) == 0)
                continue;
            (*ret_blocks)++;
            for (unsigned i = 0; i < FAB_LFT_BLOCK; i++)
                *ret_entries += a[i] != b[i];
        }
    }
}
