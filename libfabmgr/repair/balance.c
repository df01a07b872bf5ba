/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps the link loads by which a repair chooses among equally long paths.
 *
 * All paths of the baseline are counted, one column (LID) after the other. For one LID, the paths
 * of all endports form a tree. The count starts at the switches with endports and adds up the paths
 * that meet, so each switch of the tree is visited about once.
 *
 * After a repair, each changed entry moves the usual number of paths of its switch (weight[]) from
 * the old path to the new one. This is an estimate: an exact count would read the entries of all
 * neighbours, and would take longer than the repair. If one path meets several changed entries, it
 * is moved several times. Without dead links, the loads are those of the baseline again.
 *
 * A commit only records the entries that it changes, because a repair must not wait for the count.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/internal.h"

int fab_repair_balance_init(struct fab_repair_balance *l, const struct fab_repair_network *b)
{
    *l = (struct fab_repair_balance){
        .load = fab_base_alloc_array((size_t)b->ports + 1, sizeof(*l->load)),
    };
    l->index = fab_base_alloc_array((size_t)b->n + 1, sizeof(*l->index));
    if (l->load == NULL || l->index == NULL)
        return FAB_E_NOMEM;
    memset(l->index, 0xff, ((size_t)b->n + 1) * sizeof(*l->index));
    memcpy(l->load, b->load, b->ports * sizeof(*l->load));
    return FAB_OK;
}

void fab_repair_balance_fini(struct fab_repair_balance *l)
{
    free(l->load);
    free(l->moved);
    free(l->step);
    free(l->index);
    *l = (struct fab_repair_balance){0};
}

int fab_repair_balance_copy(const struct fab_repair_balance *from,
                            const struct fab_repair_network *b, struct fab_repair_balance *to)
{
    memcpy(to->load, from->load, b->ports * sizeof(*to->load));
    if (from->moves == 0)
        return FAB_OK;
    to->moved = fab_base_alloc_array(from->moves, sizeof(*to->moved));
    if (to->moved == NULL)
        return FAB_E_NOMEM;
    memcpy(to->moved, from->moved, from->moves * sizeof(*to->moved));
    to->moves = to->move_room = from->moves;
    return FAB_OK;
}

size_t fab_repair_balance_memory(const struct fab_repair_network *b)
{
    const struct fab_repair_balance *l = NULL;
    return b->ports * sizeof(*l->load) + b->n * sizeof(*l->index);
}

/* ---- counting the paths of the baseline ------------------------------------------------------ */

/* The switches at which paths to the current LID have arrived, in the order of arrival. Each switch
 * is in the queue at most once, so the queue has room for all switches. */
struct queue {
    uint32_t *sw;    /* [n] the switches */
    uint64_t *paths; /* [n] number of paths that have arrived at each switch */
    uint32_t n, first, count;
};

static void arrive(struct queue *q, uint32_t sw, uint64_t paths)
{
    if (q->paths[sw] == 0)
        q->sw[(q->first + q->count++) % q->n] = sw;
    q->paths[sw] += paths;
}

static uint32_t leave(struct queue *q, uint64_t *ret_paths)
{
    uint32_t sw = q->sw[q->first];
    q->first = q->first + 1 < q->n ? q->first + 1 : 0;
    q->count--;
    *ret_paths = q->paths[sw];
    q->paths[sw] = 0;
    return sw;
}

/* Adds the paths to the current LID (struct fab_repair_column) to load[]. Paths end at links that
 * the running call has marked as dead. */
static void count_column(const struct fab_repair *r, struct queue *q, int64_t *load)
{
    const struct fab_repair_network *b = r->network;
    const struct fab_repair_column *c = &r->column;
    for (uint32_t sw = 0; sw < b->n; sw++) {
        if (b->attached[sw] > 0 && sw != c->home)
            arrive(q, sw, b->attached[sw]);
    }
    while (q->count > 0) {
        uint64_t paths;
        uint32_t sw = leave(q, &paths);
        uint32_t channel = fab_repair_channel(b, sw, fab_repair_table_entry(c, sw));
        if (channel == FAB_NONE || fab_base_bits_get(r->is_dead, channel))
            continue;
        load[channel] += (int64_t)paths;
        if (b->peer_sw[channel] != c->home)
            arrive(q, b->peer_sw[channel], paths);
    }
}

/* Sets weight[]. lids: number of LIDs of endports. */
static void find_weights(struct fab_repair_network *b, uint32_t lids)
{
    for (uint32_t sw = 0; sw < b->n && lids > 0; sw++) {
        int64_t out = 0;
        for (uint32_t port = b->first[sw]; port < b->first[sw + 1]; port++)
            out += b->load[port];
        b->weight[sw] = (uint32_t)((out + lids - 1) / lids);
    }
}

/* Counts the paths to the LIDs first to first + count - 1. Returns the number of LIDs of endports.
 */
static uint32_t count_columns(struct fab_repair *r, const struct fab_lft *lft, uint32_t first,
                              uint32_t count, struct queue *q, int64_t *load)
{
    const struct fab_repair_network *b = r->network;
    uint32_t lids = 0;
    for (uint32_t lid = first; lid < first + count; lid++) {
        if (b->home[lid] == FAB_NONE || !fab_base_bits_get(b->is_endport, lid))
            continue;
        fab_repair_column_begin(r, lft, lid);
        count_column(r, q, load);
        lids++;
    }
    return lids;
}

/* Fills load[] with the number of paths over each channel. Returns NOMEM. */
static int count(struct fab_repair *r, const struct fab_lft *lft, int64_t *load, uint32_t *ret_lids)
{
    const struct fab_repair_network *b = r->network;
    struct queue q = {.n = b->n};
    q.sw = fab_base_alloc_array((size_t)b->n + 1, sizeof(*q.sw));
    q.paths = calloc((size_t)b->n + 1, sizeof(*q.paths));
    int status = q.sw != NULL && q.paths != NULL ? FAB_OK : FAB_E_NOMEM;
    memset(load, 0, b->ports * sizeof(*load));
    *ret_lids = 0;
    for (uint32_t lid = 0, lids; status == FAB_OK && lid <= b->top; lid += lids) {
        lids = b->top - lid < FAB_REPAIR_TILE_LIDS ? b->top - lid + 1 : FAB_REPAIR_TILE_LIDS;
        fab_repair_tile_load(r, lft, lid, lids);
        status = r->tile.count == lids ? FAB_OK : FAB_E_NOMEM;
        if (status == FAB_OK)
            *ret_lids += count_columns(r, lft, lid, lids, &q, load);
    }
    r->tile.count = 0;
    free(q.sw);
    free(q.paths);
    return status;
}

int fab_repair_balance_count_baseline(struct fab_repair *r, const struct fab_lft *lft)
{
    struct fab_repair_network *b = r->network;
    uint32_t lids;
    int status = count(r, lft, b->load, &lids);
    find_weights(b, lids);
    memcpy(r->balance.load, b->load, b->ports * sizeof(*b->load));
    return status;
}

int fab_repair_balance_count(struct fab_repair *r, const struct fab_lft *lft)
{
    uint32_t lids;
    r->balance.moves = 0;
    return count(r, lft, r->balance.load, &lids);
}

/* ---- after a commit -------------------------------------------------------------------------- */

static int reserve(struct fab_repair_balance *l, size_t changes)
{
    if (changes <= l->move_room)
        return FAB_OK;
    void *more = fab_base_grow(l->moved, sizeof(*l->moved), changes, &l->move_room);
    if (more == NULL)
        return FAB_E_NOMEM;
    l->moved = more;
    return FAB_OK;
}

void fab_repair_balance_record(struct fab_repair *r, const struct fab_lft *lft,
                               const struct fab_repair_delta *d)
{
    struct fab_repair_balance *l = &r->balance;
    fab_repair_balance_update(r, lft);
    if (reserve(l, d->changes) != FAB_OK)
        return;
    for (size_t i = 0; i < d->changes; i++) {
        const struct fab_repair_change *c = &d->change[i];
        l->moved[l->moves++] =
            (struct fab_repair_change){.lid = c->lid,
                                       .sw = c->sw,
                                       .was = fab_target_lft_at(lft, c->sw, c->lid),
                                       .now = c->now};
    }
}

/* Changed entries for one LID, and the tables after the change. */
struct column_change {
    struct fab_repair *r;
    const struct fab_lft *lft;
    const struct fab_repair_change *change;
    size_t count;
};

/* Adds `paths` to the load of each channel on the path from the switch `sw` to the LID. The path
 * follows the new entries if `now` is true, otherwise the old ones. Returns the number of its
 * channels. */
static uint32_t add_along(const struct column_change *m, uint32_t sw, bool now, int64_t paths)
{
    const struct fab_repair_network *b = m->r->network;
    uint32_t hops = 0, lid = m->change->lid;
    for (; hops <= b->max_hops && sw != b->home[lid]; hops++) {
        uint32_t i = m->r->balance.index[sw];
        uint8_t num = i == FAB_NONE ? fab_target_lft_at(m->lft, sw, lid)
                      : now         ? m->change[i].now
                                    : m->change[i].was;
        uint32_t channel = fab_repair_channel(b, sw, num);
        if (channel == FAB_NONE)
            break;
        m->r->balance.load[channel] += paths;
        sw = b->peer_sw[channel];
    }
    return hops;
}

/* Moves the paths of a changed entry to its new path. If the path gets longer or shorter, the
 * entries of all neighbours that carry traffic to its switch are decided again, and move their own
 * paths. */
static void move_paths(const struct column_change *m, uint32_t sw)
{
    const struct fab_repair_network *b = m->r->network;
    bool same = add_along(m, sw, false, 0) == add_along(m, sw, true, 0);
    int64_t paths = same ? b->weight[sw] : b->attached[sw];
    add_along(m, sw, false, -paths);
    add_along(m, sw, true, paths);
}

static void move_column(const struct column_change *m)
{
    const struct fab_repair_network *b = m->r->network;
    uint32_t *index = m->r->balance.index, lid = m->change->lid;
    if (b->home[lid] == FAB_NONE || !fab_base_bits_get(b->is_endport, lid))
        return;
    for (size_t i = 0; i < m->count; i++)
        index[m->change[i].sw] = (uint32_t)i;
    for (size_t i = 0; i < m->count; i++)
        move_paths(m, m->change[i].sw);
    for (size_t i = 0; i < m->count; i++)
        index[m->change[i].sw] = FAB_NONE;
}

static int by_lid(const void *a, const void *b)
{
    const struct fab_repair_change *x = a, *y = b;
    if (x->lid != y->lid)
        return x->lid < y->lid ? -1 : 1;
    return x->sw < y->sw ? -1 : x->sw > y->sw;
}

/* Sorts the recorded changes by LID. The changes of a stored plan are in the order of its
 * writes. */
static void sort_moved(struct fab_repair_balance *l)
{
    bool sorted = true;
    for (size_t i = 1; sorted && i < l->moves; i++)
        sorted = l->moved[i - 1].lid <= l->moved[i].lid;
    if (!sorted)
        qsort(l->moved, l->moves, sizeof(*l->moved), by_lid);
}

void fab_repair_balance_update(struct fab_repair *r, const struct fab_lft *lft)
{
    struct fab_repair_balance *l = &r->balance;
    if (l->moves == 0)
        return;
    sort_moved(l);
    for (size_t i = 0, end; i < l->moves; i = end) {
        for (end = i; end < l->moves && l->moved[end].lid == l->moved[i].lid;)
            end++;
        move_column(&(struct column_change){r, lft, l->moved + i, end - i});
    }
    l->moves = 0;
    if (r->entries == 0)
        memcpy(l->load, r->network->load, r->network->ports * sizeof(*l->load));
}

void fab_repair_balance_take(struct fab_repair *r, const struct fab_repair *clone)
{
    memcpy(r->balance.load, clone->balance.load, r->network->ports * sizeof(*r->balance.load));
    r->balance.moves = 0;
}

/* ---- while a repair is computed -------------------------------------------------------------- */

void fab_repair_balance_add(struct fab_repair *r, uint32_t channel, int64_t paths)
{
    struct fab_repair_balance *l = &r->balance;
    if (l->steps == l->step_room) {
        void *more = fab_base_grow(l->step, sizeof(*l->step), l->steps + 1, &l->step_room);
        l->failed = l->failed || more == NULL;
        if (more == NULL)
            return;
        l->step = more;
    }
    l->step[l->steps++] = (struct fab_repair_load_step){channel, paths};
    l->load[channel] += paths;
}

int fab_repair_balance_undo(struct fab_repair *r, const struct fab_repair_delta *d)
{
    struct fab_repair_balance *l = &r->balance;
    for (size_t i = 0; i < l->steps; i++)
        l->load[l->step[i].channel] -= l->step[i].paths;
    int status = l->failed ? FAB_E_NOMEM : reserve(l, d->changes);
    l->steps = 0;
    l->failed = false;
    return status;
}
