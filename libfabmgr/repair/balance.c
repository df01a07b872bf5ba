/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts the link loads by which a rebalance chooses among equally long paths.
 *
 * All paths are counted, one column (LID) after the other. For one LID, the paths of all endports
 * form a tree. The count starts at the switches with endports, and adds up the paths that meet at a
 * switch, so it visits each switch of the tree about once.
 *
 * A commit records the entries that it changes. If only one commit follows a count, and the dead
 * links stay the same, as in successive steps of a rebalance, the next count reads only the columns
 * of these entries: it subtracts the paths by the old entries, and adds the paths by the new
 * entries. Otherwise it counts all paths anew.
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
        .former = fab_base_alloc_array((size_t)b->ports + 1, sizeof(*l->former)),
        .touched = fab_base_bits_new(b->ports),
    };
    return l->load != NULL && l->former != NULL && l->touched != NULL ? FAB_OK : FAB_E_NOMEM;
}

void fab_repair_balance_fini(struct fab_repair_balance *l)
{
    free(l->load);
    free(l->moved);
    free(l->former);
    free(l->touched);
    *l = (struct fab_repair_balance){0};
}

int fab_repair_balance_copy(const struct fab_repair_balance *from,
                            const struct fab_repair_network *b, struct fab_repair_balance *to)
{
    if (!from->exact)
        return FAB_OK;
    to->moved = fab_base_alloc_array(from->moves, sizeof(*to->moved));
    if (to->moved == NULL)
        return FAB_E_NOMEM;
    if (from->moves > 0)
        memcpy(to->moved, from->moved, from->moves * sizeof(*to->moved));
    memcpy(to->load, from->load, b->ports * sizeof(*to->load));
    to->moves = to->move_room = from->moves;
    to->exact = true;
    return FAB_OK;
}

size_t fab_repair_balance_memory(const struct fab_repair_network *b)
{
    const struct fab_repair_balance *l = NULL;
    return b->ports * (sizeof(*l->load) + sizeof(*l->former)) + b->ports / 8;
}

/* ---- counting all paths ---------------------------------------------------------------------- */

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

/* Adds all paths to the current LID (struct fab_repair_column) to balance.load[]. each: 1 to count
 * the paths, -1 to subtract them. Paths end at links that the running call has marked as dead. */
static void count_column(const struct fab_repair *r, struct queue *q, int64_t each)
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
        uint32_t channel = fab_repair_channel(b, sw, fab_repair_column_entry(c, sw));
        if (channel == FAB_NONE || fab_base_bits_get(r->is_dead, channel))
            continue;
        r->balance.load[channel] += each * (int64_t)paths;
        if (b->peer_sw[channel] != c->home)
            arrive(q, b->peer_sw[channel], paths);
    }
}

/* Counts the paths to `count` LIDs, beginning with LID `first`. */
static void count_columns(struct fab_repair *r, const struct fab_lft *lft, uint32_t first,
                          uint32_t count, struct queue *q)
{
    const struct fab_repair_network *b = r->network;
    for (uint32_t lid = first; lid < first + count; lid++) {
        if (b->home[lid] == FAB_NONE || !fab_base_bits_get(b->is_endport, lid))
            continue;
        fab_repair_column_begin(r, lft, lid);
        count_column(r, q, 1);
    }
}

static int queue_init(struct queue *q, uint32_t n)
{
    *q = (struct queue){.n = n};
    q->sw = fab_base_alloc_array((size_t)n + 1, sizeof(*q->sw));
    q->paths = calloc((size_t)n + 1, sizeof(*q->paths));
    return q->sw != NULL && q->paths != NULL ? FAB_OK : FAB_E_NOMEM;
}

static void queue_fini(struct queue *q)
{
    free(q->sw);
    free(q->paths);
}

static int count_all(struct fab_repair *r, const struct fab_lft *lft, struct queue *q)
{
    const struct fab_repair_network *b = r->network;
    int status = FAB_OK;
    memset(r->balance.load, 0, b->ports * sizeof(*r->balance.load));
    for (uint32_t lid = 0, lids; status == FAB_OK && lid <= b->top; lid += lids) {
        lids = b->top - lid < FAB_REPAIR_TILE_LIDS ? b->top - lid + 1 : FAB_REPAIR_TILE_LIDS;
        fab_repair_tile_load(r, lft, lid, lids);
        status = r->tile.count == lids ? FAB_OK : FAB_E_NOMEM;
        if (status == FAB_OK)
            count_columns(r, lft, lid, lids, q);
    }
    r->tile.count = 0;
    return status;
}

/* ---- after a commit -------------------------------------------------------------------------- */

static bool same_dead(const struct fab_repair *r, const struct fab_repair_delta *d)
{
    return d->deads == r->deads &&
           (d->deads == 0 || memcmp(d->dead, r->dead, d->deads * sizeof(*d->dead)) == 0);
}

void fab_repair_balance_record(struct fab_repair *r, const struct fab_lft *lft,
                               const struct fab_repair_delta *d)
{
    struct fab_repair_balance *l = &r->balance;
    l->exact = l->exact && l->moves == 0 && d->changes <= l->move_room && same_dead(r, d);
    l->moves = 0;
    for (size_t i = 0; l->exact && i < d->changes; i++) {
        const struct fab_repair_change *c = &d->change[i];
        l->moved[l->moves++] =
            (struct fab_repair_change){.lid = c->lid,
                                       .sw = c->sw,
                                       .was = fab_target_lft_at(lft, c->sw, c->lid),
                                       .now = c->now};
    }
}

void fab_repair_balance_take(struct fab_repair *r, struct fab_repair *clone)
{
    struct fab_repair_balance former = r->balance;
    r->balance = clone->balance;
    clone->balance = former;
}

/* ---- counting the paths that a commit has moved ---------------------------------------------- */

/* Corrects the loads for one LID: adds its paths by the new entries, and subtracts its paths by the
 * old ones. change[count]: the changed entries for this LID. */
static void recount_column(struct fab_repair *r, const struct fab_lft *lft, struct queue *q,
                           const struct fab_repair_change *change, size_t count)
{
    const struct fab_repair_network *b = r->network;
    uint32_t lid = change->lid;
    if (b->home[lid] == FAB_NONE || !fab_base_bits_get(b->is_endport, lid))
        return;
    fab_repair_column_begin(r, lft, lid);
    count_column(r, q, 1);
    for (size_t i = 0; i < count; i++)
        fab_repair_column_set(r, change[i].sw, change[i].was);
    count_column(r, q, -1);
    fab_repair_column_end(r);
}

/* Corrects the loads for each LID of moved[], which is sorted by LID. */
static void recount(struct fab_repair *r, const struct fab_lft *lft, struct queue *q)
{
    const struct fab_repair_balance *l = &r->balance;
    for (size_t i = 0, end; i < l->moves; i = end) {
        for (end = i; end < l->moves && l->moved[end].lid == l->moved[i].lid;)
            end++;
        recount_column(r, lft, q, l->moved + i, end - i);
    }
}

int fab_repair_balance_count(struct fab_repair *r, const struct fab_lft *lft)
{
    struct fab_repair_balance *l = &r->balance;
    struct queue q;
    int status = queue_init(&q, r->network->n);
    if (status == FAB_OK && l->exact)
        recount(r, lft, &q);
    else if (status == FAB_OK)
        status = count_all(r, lft, &q);
    l->exact = status == FAB_OK;
    l->moves = 0;
    queue_fini(&q);
    return status;
}

/* ---- while a rebalance is computed ----------------------------------------------------------- */

void fab_repair_balance_add(struct fab_repair *r, uint32_t channel, int64_t paths)
{
    struct fab_repair_balance *l = &r->balance;
    if (fab_base_bits_add(l->touched, channel))
        l->former[channel] = l->load[channel];
    l->load[channel] += paths;
}

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

int fab_repair_balance_undo(struct fab_repair *r, const struct fab_repair_delta *d)
{
    struct fab_repair_balance *l = &r->balance;
    size_t ports = r->network->ports;
    for (size_t i = fab_base_bits_next(l->touched, ports, 0); i < ports;
         i = fab_base_bits_next(l->touched, ports, i + 1)) {
        l->load[i] = l->former[i];
        fab_base_bits_clear(l->touched, i);
    }
    return reserve(l, d->changes);
}
