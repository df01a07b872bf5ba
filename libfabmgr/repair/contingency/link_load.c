/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the channel that carries the most paths, before and after a delta.
 *
 * First all paths are counted, one block of LIDs after the other. A delta then moves the paths that
 * meet a changed entry. For one LID, each path moves at the first changed entry that its packets
 * meet. From the switch of this entry to the destination, the path leaves the channels of the old
 * tables and uses the channels of the new tables.
 */
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/contingency/contingency.h"
#include "libfabmgr/repair/internal.h"

int fab_repair_load_init(struct fab_repair_load *l, const struct fab_repair *r)
{
    const struct fab_repair_network *b = r->network;
    *l = (struct fab_repair_load){
        .load = calloc((size_t)b->ports + 1, sizeof(*l->load)),
        .change = calloc((size_t)b->ports + 1, sizeof(*l->change)),
        .order = fab_base_alloc_array(b->ports, sizeof(*l->order)),
        .index = fab_base_alloc_array((size_t)b->n + 1, sizeof(*l->index)),
        .stack = fab_base_alloc_array((size_t)b->n + 1, sizeof(*l->stack)),
    };
    if (!l->load || !l->change || !l->order || !l->index || !l->stack) {
        fab_repair_load_fini(l);
        return FAB_E_NOMEM;
    }
    memset(l->index, 0xff, ((size_t)b->n + 1) * sizeof(*l->index));
    return FAB_OK;
}

void fab_repair_load_fini(struct fab_repair_load *l)
{
    free(l->load);
    free(l->change);
    free(l->order);
    free(l->marked);
    free(l->index);
    free(l->stack);
    *l = (struct fab_repair_load){0};
}

/* ---- counting all paths ---------------------------------------------------------------------- */

static void count_from(struct fab_repair_load *l, const struct fab_repair_network *b,
                       const struct fab_lft *lft, uint32_t from, uint32_t lid)
{
    uint32_t sw = from;
    for (uint32_t hops = 0; hops <= b->n && sw != b->home[lid]; hops++) {
        uint32_t channel = fab_repair_channel(b, sw, fab_target_lft_at(lft, sw, lid));
        if (channel == FAB_NONE)
            return;
        l->load[channel] += b->attached[from];
        sw = b->peer_sw[channel];
    }
}

struct channel_load {
    uint64_t load;
    uint32_t channel;
};

static int by_load(const void *a, const void *b)
{
    const struct channel_load *x = a, *y = b;
    if (x->load != y->load)
        return x->load > y->load ? -1 : 1;
    return x->channel < y->channel ? -1 : x->channel > y->channel;
}

/* Fills order[] with all channels, by descending number of paths. If memory runs out, order[] stays
 * empty. The search for the busiest channel then considers only channels whose number of paths the
 * failure changes. */
static void sort_channels(struct fab_repair_load *l, const struct fab_repair_network *b)
{
    struct channel_load *channel_load = fab_base_alloc_array(b->ports, sizeof(*channel_load));
    l->channels = 0;
    for (uint32_t port = 0; channel_load != NULL && port < b->ports; port++) {
        if (b->peer_sw[port] != FAB_NONE)
            channel_load[l->channels++] = (struct channel_load){l->load[port], port};
    }
    if (channel_load != NULL)
        qsort(channel_load, l->channels, sizeof(*channel_load), by_load);
    for (size_t i = 0; i < l->channels; i++)
        l->order[i] = channel_load[i].channel;
    free(channel_load);
}

bool fab_repair_load_count(struct fab_repair_load *l, const struct fab_repair *r,
                           const struct fab_lft *lft)
{
    const struct fab_repair_network *b = r->network;
    uint32_t end = l->next + FAB_LFT_BLOCK - l->next % FAB_LFT_BLOCK;
    if (l->next > b->top)
        return false;
    end = end < b->top + 1 ? end : b->top + 1;
    for (uint32_t sw = 0; sw < b->n; sw++) {
        for (uint32_t lid = l->next; b->attached[sw] > 0 && lid < end; lid++) {
            if (fab_base_bits_get(b->is_endport, lid) && b->home[lid] != FAB_NONE)
                count_from(l, b, lft, sw, lid);
        }
    }
    l->next = end;
    if (end > b->top)
        sort_channels(l, b);
    return end <= b->top;
}

/* ---- paths that a delta moves ---------------------------------------------------------------- */

struct moving {
    struct fab_repair_load *l;
    const struct fab_repair *r;
    const struct fab_lft *lft;
    const struct fab_repair_change *change; /* changes of `lid` */
    uint32_t lid, home;
};

/* Returns the number of endports whose packets to m->lid reach switch `sw` before they pass any
 * other switch whose entry changes. */
static uint32_t endports_behind(const struct moving *m, uint32_t sw)
{
    const struct fab_repair_network *b = m->r->network;
    uint32_t count = 0, ends = 0;
    m->l->stack[count++] = sw;
    for (uint32_t seen = 0; count > 0 && seen <= b->n; seen++) {
        uint32_t at = m->l->stack[--count];
        ends += b->attached[at];
        for (uint32_t port = b->first[at] + 1; port < b->first[at + 1]; port++) {
            uint32_t from = b->peer_sw[port];
            if (from == FAB_NONE || from == m->home || m->l->index[from] != FAB_NONE ||
                fab_target_lft_at(m->lft, from, m->lid) != b->peer_num[port] || count >= b->n)
                continue;
            m->l->stack[count++] = from;
        }
    }
    return ends;
}

/* Computes endports_behind for all changed entries of the current LID at once, by following the
 * path of every switch. stack[i] receives the number of endports for change i. */
static void find_endports_behind(const struct moving *m, size_t changes)
{
    const struct fab_repair_network *b = m->r->network;
    memset(m->l->stack, 0, changes * sizeof(*m->l->stack));
    for (uint32_t from = 0; from < b->n; from++) {
        uint32_t sw = from;
        if (b->attached[from] == 0)
            continue;
        for (uint32_t hops = 0; hops <= b->n && m->l->index[sw] == FAB_NONE; hops++) {
            uint32_t channel = fab_repair_channel(b, sw, fab_target_lft_at(m->lft, sw, m->lid));
            if (sw == m->home || channel == FAB_NONE)
                break;
            sw = b->peer_sw[channel];
        }
        if (m->l->index[sw] != FAB_NONE)
            m->l->stack[m->l->index[sw]] += b->attached[from];
    }
}

static int move(struct fab_repair_load *l, uint32_t channel, uint64_t paths)
{
    if (l->marks == l->mark_room) {
        void *more = fab_base_grow(l->marked, sizeof(*l->marked), l->marks + 1, &l->mark_room);
        if (more == NULL)
            return FAB_E_NOMEM;
        l->marked = more;
    }
    l->marked[l->marks++] = channel;
    l->change[channel] += paths;
    return FAB_OK;
}

/* Adds `paths` to the change (l->change[]) of each channel on the path from switch `sw` to the
 * destination. The path follows the new tables if `now` is true, otherwise the old ones. To
 * subtract, the caller passes the negative number as an unsigned one. */
static int move_along(const struct moving *m, uint32_t sw, bool now, uint64_t paths)
{
    const struct fab_repair_network *b = m->r->network;
    int status = FAB_OK;
    for (uint32_t hops = 0; status == FAB_OK && hops <= b->n && sw != m->home; hops++) {
        uint32_t i = m->l->index[sw];
        uint8_t entry =
            now && i != FAB_NONE ? m->change[i].now : fab_target_lft_at(m->lft, sw, m->lid);
        uint32_t channel = fab_repair_channel(b, sw, entry);
        if (channel == FAB_NONE)
            break;
        status = move(m->l, channel, paths);
        sw = b->peer_sw[channel];
    }
    return status;
}

static int move_column(struct moving *m, size_t changes)
{
    int status = FAB_OK;
    for (size_t i = 0; i < changes; i++)
        m->l->index[m->change[i].sw] = (uint32_t)i;
    if (changes > 1)
        find_endports_behind(m, changes);
    else
        m->l->stack[0] = endports_behind(m, m->change[0].sw);
    for (size_t i = 0; status == FAB_OK && i < changes; i++) {
        uint64_t ends = m->l->stack[i];
        if (ends > 0)
            status = move_along(m, m->change[i].sw, false, -ends);
        if (status == FAB_OK && ends > 0)
            status = move_along(m, m->change[i].sw, true, ends);
    }
    for (size_t i = 0; i < changes; i++)
        m->l->index[m->change[i].sw] = FAB_NONE;
    return status;
}

static int move_all(struct moving *m, const struct fab_repair_delta *d)
{
    const struct fab_repair_network *b = m->r->network;
    int status = FAB_OK;
    for (size_t i = 0, end; status == FAB_OK && i < d->changes; i = end) {
        m->lid = d->change[i].lid;
        m->home = b->home[m->lid];
        m->change = d->change + i;
        for (end = i; end < d->changes && d->change[end].lid == m->lid;)
            end++;
        if (fab_base_bits_get(b->is_endport, m->lid) && m->home != FAB_NONE && m->lid < m->l->next)
            status = move_column(m, end - i);
    }
    return status;
}

static void busiest(const struct fab_repair_load *l, const struct fab_repair *r, uint64_t *ret_load,
                    uint32_t *ret_channel)
{
    struct channel_load most = {0, FAB_NONE};
    for (size_t i = 0; i < l->marks; i++) {
        struct channel_load one = {l->load[l->marked[i]] + l->change[l->marked[i]], l->marked[i]};
        if (!fab_base_bits_get(r->is_dead, one.channel) && by_load(&one, &most) < 0)
            most = one;
    }
    for (size_t i = 0; i < l->channels; i++) {
        struct channel_load one = {l->load[l->order[i]], l->order[i]};
        if (fab_base_bits_get(r->is_dead, one.channel) || l->change[one.channel] != 0)
            continue;
        if (by_load(&one, &most) < 0)
            most = one;
        break;
    }
    *ret_load = most.load;
    *ret_channel = most.channel;
}

int fab_repair_load_commit(struct fab_repair_load *l, const struct fab_repair *r,
                           const struct fab_lft *lft, const struct fab_repair_delta *d)
{
    struct moving m = {.l = l, .r = r, .lft = lft};
    int status = move_all(&m, d);
    for (size_t i = 0; i < l->marks; i++) {
        l->load[l->marked[i]] += l->change[l->marked[i]];
        l->change[l->marked[i]] = 0;
    }
    l->marks = 0;
    if (l->next > r->network->top)
        sort_channels(l, r->network);
    return status;
}

int fab_repair_load_after(struct fab_repair_load *l, struct fab_repair *r,
                          const struct fab_lft *lft, const struct fab_repair_delta *d,
                          uint64_t *ret_load, uint32_t *ret_channel)
{
    struct moving m = {.l = l, .r = r, .lft = lft};
    int status = move_all(&m, d);
    fab_repair_apply_dead(r, d);
    if (status == FAB_OK)
        busiest(l, r, ret_load, ret_channel);
    fab_repair_undo_dead(r, d);
    for (size_t i = 0; i < l->marks; i++)
        l->change[l->marked[i]] = 0;
    l->marks = 0;
    return status;
}
