/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Proves that the tables are correct after a delta. The proof reads only the changed entries, the
 * tables and the labels; it uses no other result of the planning (column/column.c).
 *
 * The proof presumes that all paths of the active tables arrive and that labels ascend along them.
 * Then the new tables are correct if
 *
 *   - the path of each changed entry arrives, has ascending labels, uses only living links, and has
 *     at most max_hops switches;
 *   - if the label of an entry became lower (the label of the channel to which it forwards), all
 *     neighbours that forward packets for this LID to its switch use channels with still lower
 *     labels. If the label did not become lower, this is true already;
 *   - no unchanged entry leads into a newly dead link;
 *   - if an unchanged entry leads into a link that comes back, its path arrives and has ascending
 *     labels;
 *   - no unchanged entry has dropped packets since an earlier repair.
 *
 * There is one exception: the path of an entry need not arrive if no living links connect its
 * switch with the destination, or if no endport sends packets to an endport through this switch
 * (excused).
 *
 * If the VL depends on the source, each delta has labels of its own. The proof collects the channel
 * dependencies of the baseline, of the overlay and of the changes (labels/lanes.c), and makes the
 * labels from them (labels/dependencies.c). It then checks that they ascend along all dependencies
 * of the baseline between living channels, and along the paths of all packets that pass a changed
 * entry or an entry of the overlay.
 *
 * These checks suffice for all paths: a path without a changed entry is an old path, and if a path
 * has a changed entry, the proof has followed the rest of the path from this entry to the
 * destination. Labels that ascend everywhere are a topological order of the channels, so there is
 * no cycle of channel dependencies.
 */
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/internal.h"

struct proof {
    struct fab_repair *r;
    const struct fab_lft *lft;
    const struct fab_repair_delta *d;
    /* the change that is being checked; if the proof fails, the change that fails */
    struct fab_repair_change *at;
    bool components_known;
    /* true: the labels of the delta differ from the labels of the active tables */
    bool other_labels;
    /* true: entries of the overlay that do not change are checked, too */
    bool whole_overlay;
    /* number of entries found so far from which packets do not reach the destination; permitted
     * only if no endport uses the entry to reach an endport */
    size_t lost;
};

/* ---- one column ------------------------------------------------------------------------------ */

/* Returns the channel by which `sw` forwards packets to the current LID in the new tables.
 * FAB_NONE: the entry is empty, or its port has no ISL. */
static uint32_t sends_by(const struct fab_repair *r, uint32_t sw)
{
    return fab_repair_channel(r->network, sw, fab_repair_column_entry(&r->column, sw));
}

/* Follows the new tables from the switch `from` to the destination. If the path arrives, stores for
 * each of its switches the number of hops to the destination (len[]), and returns OK. Otherwise
 * returns UNREACHABLE, INVAL (a dead link), LOOP, CYCLE (labels do not ascend), or LIMIT (too many
 * hops). */
static int follow_path(struct fab_repair *r, uint32_t from)
{
    struct fab_repair_column *c = &r->column;
    bool ordered = r->network->pair_vl == NULL; /* otherwise see check_lanes() */
    uint32_t label = 0, passed = 0, sw = from;
    for (; sw != c->home && c->seen[sw] != c->epoch; passed++) {
        uint32_t channel = sends_by(r, sw);
        if (channel == FAB_NONE)
            return FAB_E_UNREACHABLE;
        if (fab_base_bits_get(r->is_dead, channel))
            return FAB_E_INVAL;
        if (passed > r->network->n)
            return FAB_E_LOOP;
        if (ordered && c->label[channel] <= label)
            return FAB_E_CYCLE;
        label = c->label[channel];
        sw = r->network->peer_sw[channel];
    }
    uint32_t beyond = sw != c->home ? c->len[sw] : 0;
    if (ordered && sw != c->home && c->label[sends_by(r, sw)] <= label)
        return FAB_E_CYCLE;
    if (passed + beyond >= r->network->max_hops)
        return FAB_E_LIMIT;
    for (sw = from; passed > 0; passed--) {
        c->seen[sw] = c->epoch;
        c->len[sw] = (uint16_t)(passed + beyond);
        sw = r->network->peer_sw[sends_by(r, sw)];
    }
    return FAB_OK;
}

/* If the VL depends on the source, checks the labels of all packets that pass the entry of switch
 * `sw` (labels/lanes.c). Its path must arrive (follow_path). */
static int check_lanes(struct fab_repair *r, uint32_t sw)
{
    if (r->network->pair_vl == NULL || sw == r->column.home)
        return FAB_OK;
    return fab_repair_lanes_ascend(r, sw, sends_by(r, sw)) ? FAB_OK : FAB_E_CYCLE;
}

static bool has_turned(const struct fab_repair *r, uint32_t channel)
{
    const struct fab_repair_network *b = r->network;
    return fab_repair_goes_up(b, b->label, channel) != fab_repair_goes_up(b, r->label, channel);
}

/* Checks the neighbours that forward packets for the current LID to switch `sw`: the channels that
 * they use must have labels below `label`. turned: checks only neighbours at links that lead up in
 * the labels of the baseline and down in those of the delta, or the other way round. */
static int check_arrivals(const struct fab_repair *r, uint32_t sw, uint32_t label, bool turned)
{
    const struct fab_repair_network *b = r->network;
    for (uint32_t port = b->first[sw] + 1; port < b->first[sw + 1]; port++) {
        uint32_t from = b->peer_sw[port];
        if (from == FAB_NONE || from == r->column.home || fab_base_bits_get(r->is_dead, port) ||
            (turned && !has_turned(r, port)) ||
            fab_repair_column_entry(&r->column, from) != b->peer_num[port])
            continue;
        if (r->column.label[fab_repair_peer_port(b, port)] >= label)
            return FAB_E_CYCLE;
    }
    return FAB_OK;
}

static uint32_t label_of(const struct fab_repair *r, uint32_t sw, uint8_t num)
{
    uint32_t channel = fab_repair_channel(r->network, sw, num);
    return channel != FAB_NONE ? r->column.label[channel] : 0;
}

/* Returns true if living links connect `sw` with the switch that delivers the current LID. */
static bool is_connected(struct proof *p, uint32_t sw)
{
    if (!p->components_known)
        fab_repair_find_components(p->r);
    p->components_known = true;
    return p->r->column.home != FAB_NONE &&
           p->r->component[sw] == p->r->component[p->r->column.home];
}

/* Returns true if the current LID belongs to an endport, and some endport sends packets for it
 * through `sw`. */
static bool carries_endports(struct fab_repair *r, uint32_t sw)
{
    const struct fab_repair_network *b = r->network;
    /* this heap is free during a proof */
    uint64_t *stack = r->column.heap;
    uint32_t count = 0;
    if (!fab_base_bits_get(b->is_endport, r->column.lid))
        return false;
    stack[count++] = sw;
    while (count > 0) {
        sw = (uint32_t)stack[--count];
        if (b->attached[sw] > 0)
            return true;
        for (uint32_t port = b->first[sw] + 1; port < b->first[sw + 1]; port++) {
            uint32_t from = b->peer_sw[port];
            if (from != FAB_NONE && from != r->column.home &&
                !fab_base_bits_get(r->is_dead, port) &&
                fab_repair_column_entry(&r->column, from) == b->peer_num[port])
                stack[count++] = from;
        }
        /* the stack holds all switches only if the tables have a loop, which other checks report */
        if (count == b->n)
            return true;
    }
    return false;
}

/* Decides whether a path that does not reach the destination is allowed. It is allowed if no living
 * links connect the switch with the destination, or if no endport sends to an endport through the
 * switch. The second reason may apply at most d->lost times. Returns OK, or `status` (the result of
 * follow_path) if the path is not allowed. */
static int excused(struct proof *p, uint32_t sw, int status)
{
    if (status != FAB_E_INVAL && status != FAB_E_UNREACHABLE)
        return status;
    if (!is_connected(p, sw))
        return FAB_OK;
    if (p->lost == p->d->lost || carries_endports(p->r, sw))
        return status;
    p->lost++;
    return FAB_OK;
}

/* Returns true if the active tables ascend by the labels of the baseline, and the delta uses these
 * labels or relabels switches in their order. */
static bool from_baseline(const struct proof *p)
{
    return p->r->relabels == 0 && p->r->label_set == p->d->label_set;
}

/* Checks the labels of the neighbours that send to the switch of a changed entry. All of them are
 * checked if the label of the entry became lower, if the entry had no label, or if the active
 * tables do not ascend by the labels of the baseline (from_baseline). Otherwise a check is needed
 * only after a relabelling, and only if the entry led into a dead link: at turns between living
 * links, the delta's labels ascend where those of the baseline do (fab_repair_relabel_sound). A
 * dead link keeps the direction that it has in the baseline, so only neighbours at links that have
 * changed their direction can have a label that is too great. */
static int check_senders(const struct proof *p, const struct fab_repair_change *change)
{
    const struct fab_repair *r = p->r;
    uint32_t was = label_of(r, change->sw, change->was);
    uint32_t now = label_of(r, change->sw, change->now);
    if (!from_baseline(p) || was == 0 || was > now)
        return check_arrivals(r, change->sw, now, false);
    bool dead = fab_base_bits_get(r->is_dead, r->network->first[change->sw] + change->was);
    return dead && p->d->relabels > 0 ? check_arrivals(r, change->sw, now, true) : FAB_OK;
}

/* Checks one changed entry, and the neighbours that send to its switch. */
static int check_change(struct proof *p, const struct fab_repair_change *change)
{
    struct fab_repair *r = p->r;
    int status = change->sw == r->column.home ? FAB_E_INVAL : follow_path(r, change->sw);
    if (status == FAB_OK && r->network->pair_vl != NULL)
        return check_lanes(r, change->sw);
    if (status == FAB_OK)
        return check_senders(p, change);
    return excused(p, change->sw, status);
}

/* Checks the entries for one LID: the changes in change[], and the entries of the overlay in
 * entry[] that do not change. */
static int check_column(struct proof *p, uint32_t lid, const struct fab_repair_change *change,
                        size_t changes, const struct fab_repair_entry *entry, size_t entries)
{
    int status = FAB_OK;
    fab_repair_column_begin(p->r, p->lft, lid);
    for (size_t i = 0; i < changes; i++)
        fab_repair_column_set(p->r, change[i].sw, change[i].now);
    for (size_t i = 0; status == FAB_OK && i < changes; i++) {
        *p->at = change[i];
        status = check_change(p, &change[i]);
    }
    for (size_t i = 0; status == FAB_OK && i < entries; i++) {
        if (p->r->column.mark[entry[i].sw] != FAB_MARK_NONE)
            continue;
        *p->at = (struct fab_repair_change){
            .lid = lid, .sw = entry[i].sw, .was = entry[i].now, .now = entry[i].now};
        status = check_change(p, p->at);
    }
    fab_repair_column_end(p->r);
    return status;
}

/* If the VL depends on the source, makes the labels of the tables after the delta, and checks that
 * they ascend along the dependencies of the baseline. */
static int make_labels(struct proof *p)
{
    struct fab_repair *r = p->r;
    if (r->network->pair_vl == NULL)
        return FAB_OK;
    int status = fab_repair_lanes_collect(r, p->lft, p->d);
    if (status != FAB_OK)
        return status;
    r->label = r->graph.label;
    return fab_repair_dependencies_ascend(r) ? FAB_OK : FAB_E_CYCLE;
}

/* Checks all changed entries. If the labels have changed, or if the VL depends on the source, also
 * checks all entries that earlier repairs changed (the overlay). All other entries have the values
 * of the baseline. They need no check, because the labels of every set ascend along the paths of
 * the baseline, and a relabelling allows every turn between living links that these labels allow
 * (labels/reorder.c). */
static int check_columns(struct proof *p)
{
    const struct fab_repair_delta *d = p->d;
    const struct fab_repair_entry *entry = p->r->entry;
    size_t entries = p->whole_overlay ? p->r->entries : 0;
    int status = fab_repair_relabel_sound(p->r, d) ? make_labels(p) : FAB_E_INVAL;
    for (size_t c = 0, e = 0; status == FAB_OK && (c < d->changes || e < entries);) {
        uint32_t of_change = c < d->changes ? d->change[c].lid : FAB_NONE;
        uint32_t of_entry = e < entries ? entry[e].lid : FAB_NONE;
        uint32_t lid = of_change < of_entry ? of_change : of_entry;
        size_t c_end = c, e_end = e;
        while (c_end < d->changes && d->change[c_end].lid == lid)
            c_end++;
        while (e_end < entries && entry[e_end].lid == lid)
            e_end++;
        const struct fab_repair_change *first = c < c_end ? &d->change[c] : NULL;
        const struct fab_repair_entry *known = e < e_end ? entry + e : NULL;
        status = check_column(p, lid, first, c_end - c, known, e_end - e);
        if (status == FAB_OK && fab_repair_must_stop(p->r))
            status = FAB_E_BUSY;
        c = c_end;
        e = e_end;
    }
    return status;
}

/* ---- entries that should have changed -------------------------------------------------------- */

/* Returns true if the entry of switch sw for this LID is among the delta's changes. key[count]:
 * switch << 32 | LID of all changes, ascending. */
static bool is_changed(const uint64_t *key, size_t count, uint32_t sw, uint32_t lid)
{
    uint64_t wanted = (uint64_t)sw << 32 | lid;
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (key[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && key[low] == wanted;
}

/* Checks an entry that does not change, by following its path in the new tables to the destination.
 */
static int check_path(struct proof *p, uint32_t lid, uint32_t sw)
{
    const struct fab_repair_delta *d = p->d;
    size_t low = 0, high = d->changes;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (d->change[middle].lid < lid)
            low = middle + 1;
        else
            high = middle;
    }
    fab_repair_column_begin(p->r, p->lft, lid);
    for (; low < d->changes && d->change[low].lid == lid; low++)
        fab_repair_column_set(p->r, d->change[low].sw, d->change[low].now);
    int status = follow_path(p->r, sw);
    status = status == FAB_OK ? check_lanes(p->r, sw) : excused(p, sw, status);
    fab_repair_column_end(p->r);
    return status;
}

/* Checks the unchanged entries of a switch that forward to dead links. died[num] is true if the
 * link of port `num` is dead. */
static int check_row(struct proof *p, uint32_t sw, const bool died[256], const uint64_t *key,
                     size_t count)
{
    struct fab_repair *r = p->r;
    int status = FAB_OK;
    for (uint32_t lid = 1; status == FAB_OK && lid <= r->network->top; lid++) {
        uint8_t out = fab_target_lft_at(p->lft, sw, lid);
        if (!died[out] || r->network->home[lid] == FAB_NONE || r->network->home[lid] == sw ||
            r->alive[r->network->home[lid]] == 0 || is_changed(key, count, sw, lid))
            continue;
        *p->at = (struct fab_repair_change){.lid = lid, .sw = sw, .was = out, .now = out};
        status = check_path(p, lid, sw);
    }
    return status;
}

static bool any_revived(const struct fab_repair *r)
{
    for (size_t i = 0; i < r->deads; i++) {
        if (!fab_base_bits_get(r->is_dead, r->dead[i]))
            return true;
    }
    return false;
}

/* Checks the unchanged entries that lead into newly dead links. If links came back or the labels
 * have changed, a switch that was cut off may be connected again. The function then checks the
 * unchanged entries that lead into any dead link. key[count]: switch << 32 | LID of all changes,
 * ascending. */
static int check_dead(struct proof *p, const uint64_t *key, size_t count)
{
    const struct fab_repair *r = p->r;
    const struct fab_repair_network *b = r->network;
    const struct fab_repair_delta *d = p->d;
    bool all = p->other_labels || any_revived(r);
    int status = FAB_OK;
    for (size_t i = 0; status == FAB_OK && i < d->deads;) {
        uint32_t sw = fab_repair_switch_of(b, d->dead[i]);
        bool died[256] = {false}, any = false;
        for (; i < d->deads && d->dead[i] < b->first[sw + 1]; i++) {
            bool newly_dead = all || !fab_repair_was_dead(r, d->dead[i]);
            died[d->dead[i] - b->first[sw]] = newly_dead;
            any = any || newly_dead;
        }
        if (any && r->alive[sw] > 0)
            status = check_row(p, sw, died, key, count);
    }
    return status;
}

/* Checks unchanged entries that lead into a link that comes back. While the link was dead, the
 * switches of these entries were cut off from the destination. key[count]: switch << 32 | LID of
 * all changes, ascending. */
static int check_revived(struct proof *p, const uint64_t *key, size_t count)
{
    struct fab_repair *r = p->r;
    const struct fab_repair_network *b = r->network;
    int status = FAB_OK;
    for (size_t i = 0; i < r->deads; i++) {
        uint32_t channel = r->dead[i], sw = fab_repair_switch_of(b, channel);
        if (fab_base_bits_get(r->is_dead, channel))
            continue;
        for (uint32_t lid = 1; status == FAB_OK && lid <= b->top; lid++) {
            uint8_t out = fab_target_lft_at(p->lft, sw, lid);
            if (out != channel - b->first[sw] || b->home[lid] == FAB_NONE || b->home[lid] == sw ||
                is_changed(key, count, sw, lid))
                continue;
            *p->at = (struct fab_repair_change){.lid = lid, .sw = sw, .was = out, .now = out};
            status = check_path(p, lid, sw);
        }
    }
    return status;
}

/* Checks unchanged entries that have dropped packets since an earlier repair. */
static int check_dropping(struct proof *p, const uint64_t *key, size_t count)
{
    const struct fab_repair *r = p->r;
    int status = FAB_OK;
    for (size_t i = 0; status == FAB_OK && i < r->entries; i++) {
        const struct fab_repair_entry *e = &r->entry[i];
        if (e->now != FAB_LFT_NO_ROUTE || is_changed(key, count, e->sw, e->lid))
            continue;
        *p->at =
            (struct fab_repair_change){.lid = e->lid, .sw = e->sw, .was = e->now, .now = e->now};
        status = check_path(p, e->lid, e->sw);
    }
    return status;
}

static int check_all(struct proof *p)
{
    const struct fab_repair_delta *d = p->d;
    uint64_t *key = fab_base_alloc_array(d->changes, sizeof(*key));
    uint64_t *room = fab_base_alloc_array(d->changes, sizeof(*room));
    int status = key != NULL && room != NULL ? FAB_OK : FAB_E_NOMEM;
    if (status == FAB_OK)
        status = check_columns(p);
    if (status == FAB_OK) {
        for (size_t i = 0; i < d->changes; i++)
            key[i] = (uint64_t)d->change[i].sw << 32 | d->change[i].lid;
        /* the changes are already sorted by LID, so a stable sort by switch (bits 32 and above of
         * the keys) suffices */
        unsigned bits = 32 - (unsigned)__builtin_clz(p->r->network->n | 1);
        const uint64_t *sorted = fab_repair_radix_sort(key, room, d->changes, 32, bits);
        status = check_dead(p, sorted, d->changes);
        if (status == FAB_OK)
            status = check_revived(p, sorted, d->changes);
        /* check_columns has already checked and counted them if it checked the whole overlay */
        if (status == FAB_OK && !p->whole_overlay)
            status = check_dropping(p, sorted, d->changes);
    }
    free(key);
    free(room);
    return status;
}

int fab_repair_prove_losses(struct fab_repair *r, const struct fab_lft *lft,
                            const struct fab_repair_delta *d, struct fab_repair_change *ret_at,
                            size_t *ret_lost)
{
    struct fab_repair_change at = {0};
    bool by_pair = r->network->pair_vl != NULL;
    bool other_labels = !by_pair && fab_repair_labels_differ(r, d);
    struct proof p = {.r = r,
                      .lft = lft,
                      .d = d,
                      .at = &at,
                      .other_labels = other_labels,
                      .whole_overlay = other_labels || by_pair};
    fab_repair_apply_dead(r, d);
    int status = check_all(&p);
    fab_repair_undo_dead(r, d);
    if (status != FAB_OK)
        *ret_at = at;
    *ret_lost = p.lost;
    return status;
}

int fab_repair_prove(struct fab_repair *r, const struct fab_lft *lft,
                     const struct fab_repair_delta *d, struct fab_repair_change *ret_at)
{
    size_t lost;
    return fab_repair_prove_losses(r, lft, d, ret_at, &lost);
}
