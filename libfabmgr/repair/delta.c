/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes a delta: the table entries that change for a new set of dead links.
 *
 * The overlay lists the entries in which the active tables differ from the baseline, with their
 * baseline values. So a repair needs no copy of the baseline: each entry of the baseline is in the
 * overlay, or else in the caller's active tables. First the entries that lead into dead links are
 * found (affected.c). Then these entries and the entries of the overlay are decided, one column
 * (LID) after the other (column/column.c).
 *
 * If no link comes back and the labels stay the same, each column without an entry that leads into
 * a newly dead link stays as it is, because all its paths still work. So the time of a repair does
 * not depend on the number of earlier faults.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/internal.h"

/* A tile (column/tile.c) of the columns of some LIDs is loaded only if at least this number of
 * their entries is affected. For fewer entries, copying costs more time than it saves. */
#define TILE_PAYS 6

/* If the VL depends on the source: maximum number of attempts to find paths for all entries */
#define ATTEMPTS 16

/* ---- columns --------------------------------------------------------------------------------- */

struct job {
    struct fab_repair *r;
    const struct fab_lft *lft;
    struct fab_repair_delta *d;
    size_t change_room, entry_room;
    /* channels whose links were dead at the last commit and are alive now */
    uint32_t *revived;
    /* switches whose entry for the current LID is stale (struct fab_repair_change) */
    uint32_t *stale;
    size_t revivals, stales;
    /* the switches with a living link that leads down in the labels of this delta, but up in those
     * of the baseline */
    uint32_t *turned;
    size_t turns;
    bool components_known, relabelled;
    /* bitset [ports] of the ports whose links were alive at the last commit and are dead now */
    uint64_t *newly_dead;
    struct fab_repair_window *window; /* NULL: no rebalance */
    /* The LIDs whose columns are decided before all others, if the VL depends on the source.
     * failed: the LID to which an endport had no path in the last attempt; FAB_NONE: none. */
    uint32_t urgent[ATTEMPTS], urgents, failed;
    char *why;
    size_t why_len;
};

static int note_change(struct job *j, uint32_t lid, uint32_t sw, uint8_t now)
{
    struct fab_repair_delta *d = j->d;
    bool stale = j->r->column.stale[sw];
    uint8_t was = stale && now != FAB_LFT_NO_ROUTE ? FAB_LFT_NO_ROUTE
                                                   : fab_repair_table_entry(&j->r->column, sw);
    if (was == now)
        return FAB_OK;
    if (d->changes == j->change_room) {
        void *more = fab_base_grow(d->change, sizeof(*d->change), d->changes + 1, &j->change_room);
        if (more == NULL)
            return FAB_E_NOMEM;
        d->change = more;
    }
    d->change[d->changes++] =
        (struct fab_repair_change){.lid = lid, .sw = sw, .was = was, .now = now, .stale = stale};
    return FAB_OK;
}

static int note_entry(struct job *j, uint32_t lid, uint32_t sw, uint8_t base, uint8_t now)
{
    struct fab_repair_delta *d = j->d;
    if (base == now)
        return FAB_OK;
    if (d->entries == j->entry_room) {
        void *more = fab_base_grow(d->entry, sizeof(*d->entry), d->entries + 1, &j->entry_room);
        if (more == NULL)
            return FAB_E_NOMEM;
        d->entry = more;
    }
    d->entry[d->entries++] =
        (struct fab_repair_entry){.lid = lid, .sw = sw, .baseline = base, .now = now};
    return FAB_OK;
}

static bool is_connected(struct job *j, uint32_t sw)
{
    struct fab_repair *r = j->r;
    if (!j->components_known)
        fab_repair_find_components(r);
    j->components_known = true;
    return r->component[sw] == r->component[r->column.home];
}

/* Counts an entry whose packets do not reach the LID. If no living links connect the switch with
 * the destination, counts it in d->cut. If living links connect them, but the switch has no
 * endports or the LID is not that of an endport, counts it in d->lost; an engine should then
 * compute new tables soon. In all other cases, packets between endports would be lost, so the
 * repair is not possible, and the function returns UNSUPPORTED. */
static int note_cut(struct job *j, uint32_t lid, uint32_t sw)
{
    struct fab_repair *r = j->r;
    bool connected = is_connected(j, sw);
    if (connected && r->network->attached[sw] > 0 &&
        fab_base_bits_get(r->network->is_endport, lid)) {
        snprintf(j->why, j->why_len,
                 "not supported: the labels allow no path from switch %u to LID %u", sw, lid);
        j->failed = lid;
        return FAB_E_UNSUPPORTED;
    }
    j->d->cut += !connected;
    j->d->lost += connected;
    return FAB_OK;
}

/* Returns the new value of an entry for which no path was found (FAB_MARK_CUT). This is the value
 * in the baseline, with one exception: if the entry of the next switch was decided anew, and labels
 * do not ascend from the channel of this entry to the channel of that one, this entry must drop
 * packets (NO_ROUTE). If the VL depends on the source, an entry further on may also forbid the
 * path, so the entry always drops packets, unless its link is dead anyway. */
static uint8_t entry_of_cut(struct fab_repair *r, uint32_t sw)
{
    struct fab_repair_column *c = &r->column;
    uint32_t channel = fab_repair_channel(r->network, sw, c->entry[sw]);
    uint32_t next = channel != FAB_NONE ? r->network->peer_sw[channel] : FAB_NONE;
    if (next == FAB_NONE || fab_base_bits_get(r->is_dead, channel))
        return c->entry[sw];
    if (r->network->pair_vl != NULL)
        return FAB_LFT_NO_ROUTE;
    if (c->mark[next] != FAB_MARK_SETTLED)
        return c->entry[sw];
    uint32_t onward = fab_repair_channel(r->network, next, c->entry[next]);
    return fab_repair_turn_ascends(r, channel, onward) ? c->entry[sw] : FAB_LFT_NO_ROUTE;
}

/* ---- columns that stay as they are ----------------------------------------------------------- */

static int list_newly_dead(struct job *j)
{
    j->newly_dead = fab_base_bits_new(j->r->network->ports);
    if (j->newly_dead == NULL)
        return FAB_E_NOMEM;
    for (size_t i = 0; i < j->d->deads; i++)
        fab_base_bits_set(j->newly_dead, j->d->dead[i]);
    for (size_t i = 0; i < j->r->deads; i++)
        fab_base_bits_clear(j->newly_dead, j->r->dead[i]);
    return FAB_OK;
}

/* Returns true if the entries of the LID are to be rebalanced. Sets the members `last` and `more`
 * of the window. */
static bool is_rebalanced(struct job *j, uint32_t lid, size_t knowns)
{
    struct fab_repair_window *w = j->window;
    if (w == NULL || knowns == 0 || lid <= w->after)
        return false;
    bool room = j->d->changes < w->most;
    w->more = !room;
    w->last = room ? lid : w->last;
    return room;
}

/* Returns true if the active entries of a column stay correct: no link comes back, the labels stay
 * the same, no entry leads into a newly dead link, and no entry drops packets. If the VL depends on
 * the source, entries that drop packets do not count: without further links, such an entry hardly
 * finds a path this time, because it would need dependencies that other entries have given up. */
static bool column_stays(const struct job *j, const uint64_t *affected, size_t affected_count,
                         const struct fab_repair_entry *known, size_t knowns)
{
    const struct fab_repair_network *b = j->r->network;
    bool stays = j->revivals == 0 && !j->relabelled;
    for (size_t i = 0; stays && i < affected_count; i++) {
        uint32_t sw = (uint32_t)affected[i], lid = (uint32_t)(affected[i] >> 32);
        stays =
            !fab_base_bits_get(j->newly_dead, b->first[sw] + fab_target_lft_at(j->lft, sw, lid));
    }
    for (size_t i = 0; stays && i < knowns && b->pair_vl == NULL; i++)
        stays = known[i].now != FAB_LFT_NO_ROUTE;
    return stays;
}

/* Adds the overlay's entries of a column that stays as it is. Counts (note_cut) the column's
 * entries whose packets do not arrive: entries of the overlay that drop packets, and entries that
 * lead into dead links. */
static int keep_column(struct job *j, uint32_t lid, const uint64_t *affected, size_t affected_count,
                       const struct fab_repair_entry *known, size_t knowns)
{
    uint32_t home = j->r->network->home[lid];
    int status = FAB_OK;
    j->r->column.home = home;
    for (size_t i = 0; status == FAB_OK && i < knowns; i++) {
        status = note_entry(j, lid, known[i].sw, known[i].baseline, known[i].now);
        if (status == FAB_OK && known[i].now == FAB_LFT_NO_ROUTE && home != FAB_NONE)
            status = note_cut(j, lid, known[i].sw);
    }
    for (size_t i = 0; home != FAB_NONE && j->r->alive[home] > 0 && i < affected_count; i++) {
        uint32_t sw = (uint32_t)affected[i];
        if (status == FAB_OK && sw != home)
            status = note_cut(j, lid, sw);
    }
    return status;
}

/* ---- links that come back -------------------------------------------------------------------- */

static int list_revived(struct job *j)
{
    const struct fab_repair *r = j->r;
    j->revived = fab_base_alloc_array(r->deads, sizeof(*j->revived));
    j->stale =
        fab_base_alloc_array(r->deads + (j->relabelled ? r->network->n : 0), sizeof(*j->stale));
    if (j->revived == NULL || j->stale == NULL)
        return FAB_E_NOMEM;
    for (size_t i = 0; i < r->deads; i++) {
        if (!fab_base_bits_get(r->is_dead, r->dead[i]))
            j->revived[j->revivals++] = r->dead[i];
    }
    return FAB_OK;
}

/* Returns the channel by which the active tables send from `sw` to the LID. FAB_NONE: the entry is
 * empty, or its link is dead. */
static uint32_t old_channel(const struct job *j, uint32_t sw, uint32_t lid)
{
    uint32_t channel = fab_repair_channel(j->r->network, sw, fab_target_lft_at(j->lft, sw, lid));
    return channel != FAB_NONE && !fab_base_bits_get(j->r->is_dead, channel) ? channel : FAB_NONE;
}

/* Consider packets to the LID that arrive over `channel`, a channel of a link that comes back, and
 * then follow the active tables. Returns true if they must not do so: the switch at the end of
 * `channel` has an entry in the overlay, and labels do not ascend from `channel` to the channel of
 * this entry. If the VL depends on the source, the packets must not meet any entry of the overlay,
 * because no packets with their VLs have passed it so far. */
static bool meets_descent(const struct job *j, uint32_t channel, uint32_t lid)
{
    const struct fab_repair *r = j->r;
    uint32_t sw = r->network->peer_sw[channel];
    if (r->network->pair_vl == NULL) {
        uint32_t next = fab_repair_channel(r->network, sw, fab_target_lft_at(j->lft, sw, lid));
        return r->column.mark[sw] != FAB_MARK_NONE && next != FAB_NONE &&
               !fab_repair_turn_ascends(r, channel, next);
    }
    for (uint32_t passed = 0; sw != r->column.home && passed <= r->network->n; passed++) {
        uint32_t next = old_channel(j, sw, lid);
        if (r->column.mark[sw] != FAB_MARK_NONE)
            return true;
        if (next == FAB_NONE)
            return false;
        sw = r->network->peer_sw[next];
    }
    return sw != r->column.home;
}

/* Finds stale entries (struct fab_repair_change) at links that come back. Let such a link lead from
 * switch A to switch B. If the entry of A still leads into the link, A was cut off. The entry of A
 * is stale (it must not carry traffic yet) if two conditions hold: the entry of B is in the
 * overlay, and the channel to which B forwards does not have a greater label than the channel from
 * A to B (or see meets_descent). */
static void find_stale(struct job *j, uint32_t lid)
{
    const struct fab_repair_network *b = j->r->network;
    struct fab_repair_column *c = &j->r->column;
    for (size_t i = 0; i < j->revivals; i++) {
        uint32_t channel = j->revived[i], to = b->peer_sw[channel],
                 from = fab_repair_switch_of(b, channel);
        if (to == c->home || from == c->home ||
            fab_target_lft_at(j->lft, from, lid) != channel - b->first[from] ||
            !meets_descent(j, channel, lid))
            continue;
        c->stale[from] = true;
        j->stale[j->stales++] = from;
    }
}

/* Consider packets to the LID that arrive over `channel` and leave by the active tables. Returns
 * true if labels descend for them: the new label of the second channel is not greater than the new
 * label of `channel`. */
static bool turn_descends(const struct job *j, uint32_t channel, uint32_t lid)
{
    const struct fab_repair *r = j->r;
    uint32_t at = r->network->peer_sw[channel];
    uint32_t next = at != r->column.home ? old_channel(j, at, lid) : FAB_NONE;
    return next != FAB_NONE && !fab_repair_turn_ascends(r, channel, next);
}

/* Marks the overlay's entry of `sw` as stale in two cases. First, the labels descend
 * (turn_descends) at the switch to which the entry leads. Second, they descend at `sw` for packets
 * from a neighbour whose entry is not in the overlay. (If the neighbour's entry is in the overlay,
 * this call does not mark `sw`: the call for the neighbour marks the neighbour's entry, by the
 * first case. Fewer packets are then dropped, because packets that other switches or endports send
 * to `sw` still arrive.) */
static void find_descending(struct job *j, uint32_t lid, uint32_t sw)
{
    const struct fab_repair_network *b = j->r->network;
    struct fab_repair_column *c = &j->r->column;
    uint32_t out = sw != c->home ? old_channel(j, sw, lid) : FAB_NONE;
    bool descends = out != FAB_NONE && turn_descends(j, out, lid);
    for (uint32_t port = b->first[sw] + 1; out != FAB_NONE && port < b->first[sw + 1]; port++) {
        uint32_t from = b->peer_sw[port];
        if (!descends && from != FAB_NONE && from != c->home && c->mark[from] == FAB_MARK_NONE &&
            !fab_base_bits_get(j->r->is_dead, port) &&
            fab_target_lft_at(j->lft, from, lid) == b->peer_num[port])
            descends = turn_descends(j, fab_repair_peer_port(b, port), lid);
    }
    if (descends && !c->stale[sw]) {
        c->stale[sw] = true;
        j->stale[j->stales++] = sw;
    }
}

static int add_stale(struct job *j)
{
    struct fab_repair_column *c = &j->r->column;
    int status = FAB_OK;
    for (size_t i = 0; i < j->stales; i++) {
        uint32_t sw = j->stale[i];
        if (status == FAB_OK && c->mark[sw] == FAB_MARK_NONE)
            status = note_change(j, c->lid, sw, fab_target_lft_at(j->lft, sw, c->lid));
        c->stale[sw] = false;
    }
    j->stales = 0;
    return status;
}

/* Adds the new entries for the current LID to the delta. known[knowns]: the overlay's entries of
 * this LID. */
static int add_column(struct job *j, const struct fab_repair_entry *known, size_t knowns)
{
    const struct fab_repair_column *c = &j->r->column;
    int status = FAB_OK;
    for (uint32_t i = 0; status == FAB_OK && i < c->touches; i++) {
        uint32_t sw = c->touched[i];
        /* The entries of the first `knowns` switches of touched[] are in the overlay, so known[]
         * has their baseline values. For all other switches, the tables hold the baseline value. */
        uint8_t base = i < knowns ? known[i].baseline : fab_repair_table_entry(c, sw);
        uint8_t now = c->entry[sw];
        if (c->mark[sw] == FAB_MARK_CUT) {
            now = entry_of_cut(j->r, sw);
            status = note_cut(j, c->lid, sw);
        }
        if (status == FAB_OK)
            status = note_change(j, c->lid, sw, now);
        if (status == FAB_OK)
            status = note_entry(j, c->lid, sw, base, now);
    }
    return status;
}

/* Returns true if a switch without a path is connected with the destination. */
static bool some_is_cut(struct job *j)
{
    const struct fab_repair_column *c = &j->r->column;
    for (uint32_t i = 0; i < c->touches; i++) {
        if (c->mark[c->touched[i]] == FAB_MARK_CUT && is_connected(j, c->touched[i]))
            return true;
    }
    return false;
}

/* Finds paths for CUT switches, if the VL depends on the source. */
static int relax_lanes(struct job *j)
{
    int status = some_is_cut(j) ? fab_repair_column_search_lanes(j->r) : FAB_OK;
    bool escape = status == FAB_OK && j->r->has_tree && some_is_cut(j);
    return escape ? fab_repair_column_escape(j->r) : status;
}

static int relax_cut(struct job *j)
{
    const struct fab_repair_column *c = &j->r->column;
    int status = FAB_OK;
    if (j->r->network->pair_vl != NULL)
        return relax_lanes(j);
    for (uint32_t i = 0; status == FAB_OK && i < c->touches; i++) {
        uint32_t sw = c->touched[i];
        if (c->mark[sw] != FAB_MARK_CUT || !is_connected(j, sw))
            continue;
        status = fab_repair_maxima_find(j->r);
        if (status == FAB_OK && fab_repair_may_reach(j->r, sw, c->home))
            return fab_repair_column_relax(j->r);
    }
    return status;
}

/* Marks the turned switches (j->turned) PENDING whose paths do not work. The entry of a turned
 * switch may lead over a link that led up before the relabelling, and now leads down to a switch
 * without a path. That switch can get a path only over the turned switch, whose entry must
 * therefore be decided first. */
static void mark_turned(struct job *j)
{
    bool again = j->turns > 0;
    while (again) {
        again = false;
        for (size_t i = 0; i < j->turns; i++)
            again = fab_repair_column_reopen(j->r, j->turned[i]) || again;
    }
}

/* Gives up the decision of a column; its entries stay as they are. mark: what r->graph.undos was
 * before the decision. */
static void give_up_column(struct job *j, size_t mark)
{
    struct fab_repair *r = j->r;
    fab_repair_dependencies_undo(r, mark);
    for (size_t i = 0; i < j->stales; i++)
        r->column.stale[j->stale[i]] = false;
    j->stales = 0;
    fab_repair_column_end(r);
}

static int decide_column(struct job *j, uint32_t lid, const uint64_t *affected,
                         size_t affected_count, const struct fab_repair_entry *known, size_t knowns)
{
    struct fab_repair *r = j->r;
    uint32_t home = r->network->home[lid];
    int status = FAB_OK;
    size_t mark = r->graph.undos;
    bool rebalanced = is_rebalanced(j, lid, knowns);
    if (!rebalanced && column_stays(j, affected, affected_count, known, knowns))
        return keep_column(j, lid, affected, affected_count, known, knowns);
    r->balance.improving = rebalanced;
    fab_repair_column_begin(r, j->lft, lid);
    for (size_t i = 0; i < knowns; i++)
        fab_repair_column_set(r, known[i].sw, known[i].baseline);
    find_stale(j, lid);
    for (size_t i = 0; j->relabelled && i < knowns; i++)
        find_descending(j, lid, known[i].sw);
    /* If all links of the destination switch are dead, no packet reaches it, so no entry has to be
     * decided: the entries of the overlay get their baseline values, and all others stay. */
    if (home != FAB_NONE && (r->alive[home] > 0 || r->network->degree[home] == 0)) {
        for (size_t i = 0; i < knowns; i++)
            fab_repair_column_mark_pending(r, known[i].sw);
        for (size_t i = 0; i < affected_count; i++)
            fab_repair_column_mark_pending(r, (uint32_t)affected[i]);
        mark_turned(j);
        fab_repair_column_solve(r);
        status = relax_cut(j);
    }
    /* The present paths may be those of an escape tree, which a rebalance does not keep free. */
    if (status == FAB_OK && rebalanced && r->network->pair_vl != NULL && some_is_cut(j)) {
        give_up_column(j, mark);
        return keep_column(j, lid, affected, affected_count, known, knowns);
    }
    if (status == FAB_OK)
        status = add_column(j, known, knowns);
    int stale = add_stale(j);
    fab_repair_column_end(r);
    return status == FAB_OK ? stale : status;
}

/* Copies the entries for all LIDs of one destination switch into the tile (column/tile.c), if the
 * copy saves time. The copy saves time if this switch has lost a link, and if the next TILE_PAYS
 * affected entries all belong to LIDs of this switch. */
static void load_tile(struct fab_repair *r, const struct fab_lft *lft, const uint64_t *affected,
                      size_t affected_count)
{
    uint32_t first = affected_count > 0 ? (uint32_t)(affected[0] >> 32) : 0;
    uint32_t last =
        affected_count >= TILE_PAYS ? (uint32_t)(affected[TILE_PAYS - 1] >> 32) : FAB_NONE;
    if (last == FAB_NONE || last - first >= FAB_REPAIR_TILE_LIDS)
        return;
    uint32_t siblings = fab_repair_tile_width(r, first), home = r->network->home[first];
    if (home == FAB_NONE || r->alive[home] == r->network->degree[home])
        return;
    if (last - first < siblings)
        fab_repair_tile_load(r, lft, first, siblings);
}

static bool is_urgent(const struct job *j, uint32_t lid)
{
    for (uint32_t i = 0; i < j->urgents; i++) {
        if (j->urgent[i] == lid)
            return true;
    }
    return false;
}

static int decide_columns(struct job *j, const uint64_t *affected, size_t affected_count)
{
    struct fab_repair *r = j->r;
    size_t prefetched = 0;
    int status = FAB_OK;
    for (size_t p = 0, e = 0; status == FAB_OK && (p < affected_count || e < r->entries);) {
        uint32_t of_affected = p < affected_count ? (uint32_t)(affected[p] >> 32) : FAB_NONE;
        uint32_t of_entry = e < r->entries ? r->entry[e].lid : FAB_NONE;
        uint32_t lid = of_affected < of_entry ? of_affected : of_entry;
        size_t p_end = p, e_end = e;
        if (p >= prefetched && p < affected_count) {
            prefetched = affected_count - p < FAB_REPAIR_PREFETCH_MAX ? affected_count
                                                                      : p + FAB_REPAIR_PREFETCH_MAX;
            fab_repair_prefetch(r, j->lft, affected + p, prefetched - p);
        }
        while (p_end < affected_count && (uint32_t)(affected[p_end] >> 32) == lid)
            p_end++;
        if (lid - r->tile.first >= r->tile.count)
            load_tile(r, j->lft, p < affected_count ? affected + p : NULL, affected_count - p);
        while (e_end < r->entries && r->entry[e_end].lid == lid)
            e_end++;
        if (is_urgent(j, lid)) { /* decided already */
            p = p_end;
            e = e_end;
            continue;
        }
        /* affected[] and the list of overlay entries are NULL if they are empty, and pointer
         * arithmetic on NULL is undefined */
        status = decide_column(j, lid, p_end > p ? affected + p : NULL, p_end - p,
                               e_end > e ? r->entry + e : NULL, e_end - e);
        if (status == FAB_OK && fab_repair_must_stop(r))
            status = FAB_E_BUSY;
        p = p_end;
        e = e_end;
    }
    return status;
}

/* ---- several attempts ------------------------------------------------------------------------ */

/* Decides the column of one LID. affected[affected_count] and the overlay have the entries of all
 * LIDs. */
static int decide_one(struct job *j, uint32_t lid, const uint64_t *affected, size_t affected_count)
{
    const struct fab_repair *r = j->r;
    size_t p = 0, e = 0, p_end, e_end;
    while (p < affected_count && (uint32_t)(affected[p] >> 32) < lid)
        p++;
    for (p_end = p; p_end < affected_count && (uint32_t)(affected[p_end] >> 32) == lid;)
        p_end++;
    while (e < r->entries && r->entry[e].lid < lid)
        e++;
    for (e_end = e; e_end < r->entries && r->entry[e_end].lid == lid;)
        e_end++;
    return decide_column(j, lid, p_end > p ? affected + p : NULL, p_end - p,
                         e_end > e ? r->entry + e : NULL, e_end - e);
}

static int change_by_lid(const void *a, const void *b)
{
    const struct fab_repair_change *x = a, *y = b;
    return x->lid != y->lid ? (x->lid < y->lid ? -1 : 1) : x->sw < y->sw ? -1 : x->sw > y->sw;
}

static int entry_by_lid(const void *a, const void *b)
{
    const struct fab_repair_entry *x = a, *y = b;
    return x->lid != y->lid ? (x->lid < y->lid ? -1 : 1) : x->sw < y->sw ? -1 : x->sw > y->sw;
}

/* Decides all columns, those of the urgent LIDs first. old: the new paths must not close a cycle of
 * dependencies with the old paths that they replace. tree: switches that find no other path use an
 * escape tree. */
static int attempt(struct job *j, const uint64_t *affected, size_t affected_count, bool old,
                   bool tree)
{
    struct fab_repair *r = j->r;
    struct fab_repair_delta *d = j->d;
    d->changes = d->entries = d->cut = d->lost = 0;
    j->failed = FAB_NONE;
    int status = old ? fab_repair_lanes_collect(r, j->lft, NULL) : fab_repair_dependencies_reset(r);
    r->has_tree = false;
    if (status == FAB_OK && tree)
        status = fab_repair_tree_find(r);
    for (uint32_t i = 0; status == FAB_OK && i < j->urgents; i++)
        status = decide_one(j, j->urgent[i], affected, affected_count);
    if (status == FAB_OK)
        status = decide_columns(j, affected, affected_count);
    if (r->graph.failed)
        return FAB_E_NOMEM;
    if (status == FAB_OK && j->urgents > 0 && d->changes > 0)
        qsort(d->change, d->changes, sizeof(*d->change), change_by_lid);
    if (status == FAB_OK && j->urgents > 0 && d->entries > 0)
        qsort(d->entry, d->entries, sizeof(*d->entry), entry_by_lid);
    return status == FAB_E_CYCLE ? FAB_E_UNSUPPORTED : status;
}

/* Puts the LID without a path before all other urgent LIDs. Returns false, and changes nothing, if
 * it was the first one already, if `lid` is FAB_NONE, or if there are too many urgent LIDs. */
static bool make_urgent(struct job *j, uint32_t lid)
{
    uint32_t at = 0;
    while (at < j->urgents && j->urgent[at] != lid)
        at++;
    if (lid == FAB_NONE || (at == 0 && j->urgents > 0) || at == ATTEMPTS)
        return false;
    j->urgents += at == j->urgents;
    memmove(j->urgent + 1, j->urgent, at * sizeof(*j->urgent));
    j->urgent[0] = lid;
    return true;
}

/* Decides all columns, if the VL depends on the source. The dependencies of columns that are
 * decided first may leave no path to another LID. The second attempt then keeps an escape tree
 * free, and each later attempt begins with the LID that had no path in the one before it. If links
 * come back and no attempt succeeds, further attempts permit that new paths close a cycle with old
 * ones; fab_repair_order then drains the old ones. */
static int decide_in_attempts(struct job *j, const uint64_t *affected, size_t affected_count)
{
    int status = FAB_E_UNSUPPORTED;
    for (int old = 1; status == FAB_E_UNSUPPORTED && old >= (j->revivals > 0 ? 0 : 1); old--) {
        uint64_t work = 0;
        j->urgents = 0;
        for (unsigned i = 0; i < ATTEMPTS && work <= FAB_REPAIR_WORK_MAX; i++) {
            status = attempt(j, affected, affected_count, old, i == 1);
            work += j->r->graph.work;
            if (status != FAB_E_UNSUPPORTED || j->window != NULL ||
                (i > 0 && !make_urgent(j, j->failed)))
                break;
        }
    }
    return status;
}

/* ---- switches whose links turned ------------------------------------------------------------- */

/* Returns true if a living link of the switch led up in the labels of the baseline, and leads down
 * in those of this delta. */
static bool has_turned(const struct fab_repair *r, uint32_t sw)
{
    const struct fab_repair_network *b = r->network;
    bool turned = false;
    for (uint32_t port = b->first[sw] + 1; port < b->first[sw + 1] && !turned; port++)
        turned = fab_repair_neighbour(r, port) != FAB_NONE &&
                 fab_repair_goes_up(b, b->label, port) && !fab_repair_goes_up(b, r->label, port);
    return turned;
}

static int list_turned(struct job *j)
{
    const struct fab_repair_delta *d = j->d;
    j->turned = fab_base_alloc_array(d->relabels, sizeof(*j->turned));
    if (j->turned == NULL)
        return FAB_E_NOMEM;
    for (size_t i = 0; i < d->relabels; i++) {
        if (has_turned(j->r, d->relabel[i].sw))
            j->turned[j->turns++] = d->relabel[i].sw;
    }
    return FAB_OK;
}

static int find_labels(struct job *j)
{
    int status = fab_repair_relabel_find(j->r, j->d);
    if (status == FAB_E_UNSUPPORTED)
        snprintf(j->why, j->why_len,
                 "packets still pass links that are drained or isolated, and the active tables "
                 "have detours around a lost spine");
    /* after an error no label has changed yet, so fab_repair_undo_dead must restore none */
    if (status != FAB_OK)
        j->d->relabels = 0;
    fab_repair_relabel_apply(j->r, j->d);
    j->relabelled = fab_repair_labels_differ(j->r, j->d);
    j->r->maxima_known = false;
    return status == FAB_OK ? list_turned(j) : status;
}

int fab_repair_delta_make(struct fab_repair *r, uint32_t set, const struct fab_lft *lft,
                          const uint32_t *dead, size_t count, struct fab_repair_window *window,
                          struct fab_repair_delta *ret, char *why, size_t why_len)
{
    struct fab_repair_delta d = {.label_set = set};
    struct job j = {.r = r, .lft = lft, .d = &d, .window = window, .why = why, .why_len = why_len};
    uint64_t *affected = NULL;
    size_t affected_count = 0;
    int status = fab_repair_list_dead(r->network, dead, count, &d);
    fab_repair_apply_dead(r, &d);
    if (status == FAB_OK)
        status = find_labels(&j);
    if (status == FAB_OK)
        status = list_revived(&j);
    if (status == FAB_OK)
        status = list_newly_dead(&j);
    if (status == FAB_OK && window != NULL)
        status = fab_repair_balance_count(r, lft);
    if (status == FAB_OK)
        status = fab_repair_find_affected(r, lft, &d, &affected, &affected_count);
    if (status == FAB_OK)
        status = r->network->pair_vl != NULL ? decide_in_attempts(&j, affected, affected_count)
                                             : decide_columns(&j, affected, affected_count);
    fab_repair_undo_dead(r, &d);
    int balance = window != NULL ? fab_repair_balance_undo(r, &d) : FAB_OK;
    status = status == FAB_OK ? balance : status;
    free(affected);
    free(j.revived);
    free(j.stale);
    free(j.turned);
    free(j.newly_dead);
    if (status == FAB_OK)
        *ret = d;
    else
        fab_repair_delta_fini(&d);
    return status;
}
