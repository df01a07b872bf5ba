/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tells which plans a change of the tables does not touch, without a proof of the plans.
 *
 * A maker of contingencies collects the changes from an earlier state, for which all plans were
 * valid, to the present one: the LIDs of all entries that differ, the LIDs of all entries into
 * links that are dead before or after a change, the LIDs that moved to another switch, and the
 * channels to which changed entries forward now. A plan is not touched if
 *
 *   1. it uses the same labels, and leaves no entry without a path;
 *   2. it changes no entry of a collected LID;
 *   3. none of its new entries leads into a link that is dead now;
 *   4. the links whose failure it repairs have no collected channel.
 *
 * The full check (stored_plan.c) would then succeed. The columns (LIDs) of the plan have the same
 * entries as before, and none of these leads into a dead link (2). So the old values are the same,
 * and a path that was broken by a failing link still is. The paths of the changed entries use the
 * same channels with the same labels; these channels are alive (2, 3). In all other columns, no
 * entry leads into the failing links: no entry led there in the earlier state, because the plan
 * would have changed such an entry or left it without a path (1); and no entry has since been
 * changed to lead there (4).
 *
 * If the VL depends on the source, a change of any LID may forbid the dependencies of a plan
 * (labels/dependencies.c), so no plan counts as untouched.
 *
 * The state may also belong to the network of new tables, in which links are missing or new, if
 * both networks give all other links the same labels (fab_repair_networks_agree). A missing or new
 * link counts as dead.
 */
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/contingency/maker.h"

/* Sets lost[] for the ports of `sw` whose links are dead in one of the states, or exist in only one
 * of the networks. Returns true if there is such a port. */
static bool list_lost(const struct fab_repair *old, const struct fab_repair *new, uint32_t sw,
                      bool lost[256])
{
    const struct fab_repair_network *a = old->network, *b = new->network;
    bool any = false;
    for (uint32_t port = a->first[sw] + 1; port < a->first[sw + 1]; port++) {
        bool is_lost = a->peer_sw[port] != b->peer_sw[port] || fab_repair_was_dead(old, port) ||
                       fab_repair_was_dead(new, port);
        lost[port - a->first[sw]] = is_lost;
        any = any || is_lost;
    }
    return any;
}

static void add_leading(struct fab_repair_touched *t, const struct fab_lft *lft, uint32_t sw,
                        const bool lost[256])
{
    for (uint32_t lid = 1, run; lid <= lft->top; lid += run) {
        const uint8_t *entry = fab_target_lft_run(lft, sw, lid, &run);
        for (uint32_t i = 0; i < run; i++) {
            if (lost[entry[i]])
                fab_base_bits_set(t->lid, lid + i);
        }
    }
}

/* Records the LIDs for which an entry of any switch, in the old or the new tables, leads into a
 * link that list_lost found. */
static void add_lost(struct fab_repair_touched *t, const struct fab_repair *old,
                     const struct fab_lft *old_lft, const struct fab_repair *new,
                     const struct fab_lft *new_lft)
{
    if (old->deads == 0 && new->deads == 0 && old->network == new->network)
        return;
    for (uint32_t sw = 0; sw < old->network->n; sw++) {
        bool lost[256] = {false};
        if (!list_lost(old, new, sw, lost))
            continue;
        add_leading(t, old_lft, sw, lost);
        add_leading(t, new_lft, sw, lost);
    }
}

static void add_entry(struct fab_repair_touched *t, const struct fab_repair_network *b, uint32_t sw,
                      uint32_t lid, uint8_t now)
{
    uint32_t channel = fab_repair_channel(b, sw, now);
    fab_base_bits_set(t->lid, lid);
    if (channel != FAB_NONE)
        fab_base_bits_set(t->channel, channel);
}

static void prepare(struct fab_repair_touched *t, const struct fab_repair_network *b)
{
    if (t->any)
        return;
    t->lid = fab_base_bits_new((size_t)b->top + 1);
    t->channel = fab_base_bits_new(b->ports);
    t->any = true;
}

static bool has_memory(const struct fab_repair_touched *t)
{
    return t->lid != NULL && t->channel != NULL;
}

void fab_repair_touched_reset(struct fab_repair_touched *t, uint64_t commits)
{
    free(t->lid);
    free(t->channel);
    *t = (struct fab_repair_touched){.since = commits};
}

void fab_repair_touched_add(struct fab_repair_touched *t, const struct fab_repair *old,
                            const struct fab_lft *old_lft, const struct fab_repair *new,
                            const struct fab_lft *new_lft, const struct fab_repair_delta *d)
{
    prepare(t, new->network);
    if (!has_memory(t))
        return;
    for (size_t i = 0; i < d->changes; i++)
        add_entry(t, new->network, d->change[i].sw, d->change[i].lid, d->change[i].now);
    add_lost(t, old, old_lft, new, new_lft);
}

/* ---- another network ------------------------------------------------------------------------- */

static void add_block(struct fab_repair_touched *t, const struct fab_repair_network *b, uint32_t sw,
                      uint32_t block, const uint8_t *old, const uint8_t *new)
{
    for (uint32_t i = 0; i < FAB_LFT_BLOCK; i++) {
        uint32_t lid = block * FAB_LFT_BLOCK + i;
        if (old[i] != new[i] && lid <= b->top)
            add_entry(t, b, sw, lid, new[i]);
    }
}

static void compare_tables(struct fab_repair_touched *t, const struct fab_repair_network *b,
                           const struct fab_lft *old, const struct fab_lft *new)
{
    uint32_t blocks = fab_target_lft_blocks(new);
    for (uint32_t sw = 0; sw < b->n; sw++) {
        for (uint32_t block = 0; block < blocks; block++) {
            const uint8_t *x = fab_target_lft_block(old, sw, block);
            const uint8_t *y = fab_target_lft_block(new, sw, block);
            if (x != y && memcmp(x, y, FAB_LFT_BLOCK) != 0)
                add_block(t, b, sw, block, x, y);
        }
    }
}

static void compare_homes(struct fab_repair_touched *t, const struct fab_repair_network *a,
                          const struct fab_repair_network *b)
{
    for (uint32_t lid = 0; lid <= b->top; lid++) {
        if (a->home[lid] != b->home[lid] ||
            fab_base_bits_get(a->is_endport, lid) != fab_base_bits_get(b->is_endport, lid))
            fab_base_bits_set(t->lid, lid);
    }
}

void fab_repair_touched_add_tables(struct fab_repair_touched *t, const struct fab_repair *old,
                                   const struct fab_lft *old_lft, const struct fab_repair *new,
                                   const struct fab_lft *new_lft)
{
    prepare(t, new->network);
    if (!has_memory(t))
        return;
    compare_tables(t, new->network, old_lft, new_lft);
    compare_homes(t, old->network, new->network);
    add_lost(t, old, old_lft, new, new_lft);
}

/* ---- the question ---------------------------------------------------------------------------- */

bool fab_repair_touched_spares(const struct fab_repair_touched *t, const struct fab_repair *r,
                               const struct fab_repair_delta *d, uint64_t commits)
{
    const struct fab_repair_network *b = r->network;
    if (b->pair_vl != NULL || !has_memory(t) || commits < t->since ||
        d->label_set != r->label_set || d->relabels > 0 || d->cut > 0 || d->lost > 0)
        return false;
    for (size_t i = 0; i < d->changes; i++) {
        const struct fab_repair_change *c = &d->change[i];
        uint32_t channel = fab_repair_channel(b, c->sw, c->now);
        if (fab_base_bits_get(t->lid, c->lid) || channel == FAB_NONE ||
            fab_base_bits_get(r->is_dead, channel))
            return false;
    }
    for (size_t i = 0; i < d->deads; i++) {
        if (!fab_repair_was_dead(r, d->dead[i]) && fab_base_bits_get(t->channel, d->dead[i]))
            return false;
    }
    return true;
}
