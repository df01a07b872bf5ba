/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Divides a transition from old to new forwarding entries into rounds. Rounds are needed if a cycle
 * of channel dependencies could arise while all entries are written at once.
 *
 * In each round, as many LIDs are updated (get their new entries) as possible without a cycle. The
 * LIDs are chosen greedily. For each LFT block, this file first tries to update all waiting LIDs of
 * the block together, so that the block is written once. If the dependencies of these LIDs close a
 * cycle, it tries the LIDs one after the other. If no LID can be updated, some LIDs are drained:
 * their changed entries drop packets until a later round.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/transition/work.h"

#define COLUMNS FAB_TRANSITION_COLUMNS
/* If no LID can be updated after this number of rounds, all remaining LIDs are drained. */
#define ROUNDS_MOST 24u

/* ---- collecting ------------------------------------------------------------------------------ */

static bool is_updated(uint8_t progress)
{
    return progress == FAB_TRANSITION_UPDATED_ANY || progress == FAB_TRANSITION_UPDATED_ALONG;
}

static struct fab_transition_column column(struct fab_transition_work *w, uint32_t lid,
                                           enum fab_transition_mode mode)
{
    w->visits += w->graph.n;
    return (struct fab_transition_column){.was = w->was + lid % COLUMNS,
                                          .now = w->now + lid % COLUMNS,
                                          .lid = lid,
                                          .home = w->lid[lid].home,
                                          .mode = mode,
                                          .sls = FAB_TRANSITION_OLD};
}

/* Makes all present entries for the LID that differ from the new entries drop packets (NO_ROUTE).
 * The LID must be in the loaded LFT block. */
static void mask(struct fab_transition_work *w, uint32_t lid)
{
    for (uint32_t sw = 0; sw < w->graph.n; sw++) {
        size_t at = (size_t)sw * COLUMNS + lid % COLUMNS;
        if (w->was[at] != w->now[at])
            w->was[at] = FAB_LFT_NO_ROUTE;
    }
}

static void collect(struct fab_transition_work *w, uint32_t lid, enum fab_transition_tables which)
{
    bool waits = w->lid[lid].progress == FAB_TRANSITION_WAITS;
    enum fab_transition_mode mode = FAB_TRANSITION_OLD_ONLY;
    if (which == FAB_TRANSITION_COMMON && waits)
        mask(w, lid);
    if (which == FAB_TRANSITION_ALL && waits)
        mode = FAB_TRANSITION_ANY;
    if (which == FAB_TRANSITION_ALL_ALONG && waits)
        mode = FAB_TRANSITION_ALONG;
    struct fab_transition_column c = column(w, lid, mode);
    if (which == FAB_TRANSITION_UNMIXED && waits) {
        fab_transition_collect(&w->deps, w->lanes, &c);
        c.was = c.now;
    }
    if (which == FAB_TRANSITION_FINAL || which == FAB_TRANSITION_FINAL_BOTH)
        c.was = c.now;
    if (which == FAB_TRANSITION_FINAL_BOTH)
        c.sls = FAB_TRANSITION_OLD | FAB_TRANSITION_NEW;
    fab_transition_collect(&w->deps, w->lanes, &c);
}

static uint32_t last_of(const struct fab_transition_work *w, uint32_t block)
{
    uint32_t last = block * COLUMNS + COLUMNS - 1;
    return last < w->top ? last : w->top;
}

static void collect_all(struct fab_transition_work *w, enum fab_transition_tables which)
{
    struct fab_verify_deps *c = &w->deps.deps;
    memset(c->bits, 0,
           (size_t)c->graph->ports * c->vl_count * c->vl_count * c->words * sizeof(*c->bits));
    w->deps.listing = false;
    for (uint32_t block = 0; block <= w->top / COLUMNS && !w->stopped; block++) {
        fab_transition_load(w, block);
        for (uint32_t lid = block * COLUMNS; lid <= last_of(w, block); lid++) {
            if (w->lid[lid].home != FAB_NONE)
                collect(w, lid, which);
        }
    }
}

bool fab_transition_is_acyclic(struct fab_transition_work *w, enum fab_transition_tables which)
{
    collect_all(w, which);
    return fab_transition_order_sort(&w->order);
}

/* Computes the topological order of the channels. Returns true if the present entries have no cycle
 * of channel dependencies. If present and new entries together have no cycle either, the order
 * includes the dependencies of both. Then new entries can be added later without a change of the
 * order. */
static bool sort_present(struct fab_transition_work *w)
{
    bool both = fab_transition_is_acyclic(w, FAB_TRANSITION_UNMIXED);
    collect_all(w, FAB_TRANSITION_PRESENT);
    return both || fab_transition_order_sort(&w->order);
}

/* ---- which LIDs a round updates -------------------------------------------------------------- */

/* Adds the dependencies of w->deps.list[] to the order of the channels. Returns false if they close
 * a cycle. */
static bool add_listed(struct fab_transition_work *w)
{
    bool added = fab_transition_order_add(&w->order);
    w->visits += w->order.steps * 16 + w->deps.count;
    return added;
}

static enum fab_transition_mode preferred(const struct fab_transition_work *w, uint32_t lid)
{
    return w->lid[lid].along ? FAB_TRANSITION_ALONG : FAB_TRANSITION_ANY;
}

static void let_move(struct fab_transition_work *w, uint32_t lid, enum fab_transition_mode mode)
{
    w->lid[lid].progress =
        mode == FAB_TRANSITION_ANY ? FAB_TRANSITION_UPDATED_ANY : FAB_TRANSITION_UPDATED_ALONG;
}

static bool try_one(struct fab_transition_work *w, uint32_t lid, enum fab_transition_mode mode)
{
    struct fab_transition_column c = column(w, lid, mode);
    if (w->in->stopped != NULL && w->in->stopped(w->in->stopped_ctx))
        w->stopped = true;
    if (w->stopped || w->visits > w->visits_most)
        return false;
    w->deps.count = 0;
    fab_transition_collect(&w->deps, w->lanes, &c);
    if (w->deps.failed || !add_listed(w))
        return false;
    let_move(w, lid, mode);
    return true;
}

/* Returns true if the search must end, because memory ran out or the caller stopped it. */
static bool is_over(const struct fab_transition_work *w)
{
    return w->deps.failed || w->stopped;
}

static bool try_block(struct fab_transition_work *w, uint32_t block)
{
    if (w->visits > w->visits_most)
        return false;
    w->deps.count = 0;
    for (uint32_t lid = block * COLUMNS; lid <= last_of(w, block); lid++) {
        struct fab_transition_column c = column(w, lid, preferred(w, lid));
        if (w->lid[lid].progress == FAB_TRANSITION_WAITS && c.home != FAB_NONE)
            fab_transition_collect(&w->deps, w->lanes, &c);
    }
    if (w->deps.failed || !add_listed(w))
        return false;
    for (uint32_t lid = block * COLUMNS; lid <= last_of(w, block); lid++) {
        if (w->lid[lid].progress == FAB_TRANSITION_WAITS)
            let_move(w, lid, preferred(w, lid));
    }
    return true;
}

static uint32_t count_waiting(const struct fab_transition_work *w, uint32_t block)
{
    uint32_t count = 0;
    for (uint32_t lid = block * COLUMNS; lid <= last_of(w, block); lid++)
        count += w->lid[lid].progress == FAB_TRANSITION_WAITS;
    return count;
}

/* Returns true if switch `sw`, by its present entry for the LID, causes a channel dependency that
 * the new tables do not have. */
static bool is_foreign_at(const struct fab_transition_work *w, uint32_t lid, uint32_t sw)
{
    const struct fab_verify_graph *graph = &w->graph;
    uint8_t num = w->was[(size_t)sw * COLUMNS + lid % COLUMNS];
    if (num >= graph->port_room[sw] || graph->hop[graph->first[sw] + num] >= graph->n)
        return false;
    uint32_t channel = graph->first[sw] + num, to = graph->hop[channel];
    uint8_t next = w->was[(size_t)to * COLUMNS + lid % COLUMNS];
    if (next == 0 || next >= graph->port_room[to] ||
        graph->hop[graph->first[to] + next] >= graph->n)
        return false;
    const uint64_t *bits = w->wanted.bits + (size_t)channel * w->wanted.words;
    return (bits[(next - 1) / 64] >> (next - 1) % 64 & 1) == 0;
}

/* Finds the waiting LIDs whose present entries have dependencies that the new tables do not have.
 * These LIDs are updated before others, because while their old dependencies remain, fewer other
 * LIDs can be updated. */
static void find_foreign(struct fab_transition_work *w)
{
    for (uint32_t block = 0; w->wanted.bits != NULL && block <= w->top / COLUMNS; block++) {
        if (count_waiting(w, block) > 0)
            fab_transition_load(w, block);
        for (uint32_t lid = block * COLUMNS; lid <= last_of(w, block); lid++) {
            struct fab_transition_lid *l = &w->lid[lid];
            l->foreign = false;
            w->visits += l->progress == FAB_TRANSITION_WAITS ? w->graph.n : 0;
            for (uint32_t sw = 0; l->progress == FAB_TRANSITION_WAITS && sw < w->graph.n; sw++)
                l->foreign = l->foreign || is_foreign_at(w, lid, sw);
        }
    }
}

/* the passes over the waiting LIDs, in this order; each pass tries to update some of them */
enum pass {
    /* LIDs that some source ports cannot reach at present */
    URGENT,
    /* LIDs whose old dependencies prevent the update of other LIDs */
    FOREIGN,
    OTHERS
};

static bool is_of_pass(const struct fab_transition_lid *l, enum pass pass)
{
    return pass == OTHERS || (pass == FOREIGN ? l->foreign : l->drained_pairs > 0 || l->broken);
}

/* Tries to update the waiting LIDs of the block, one after the other. A LID is updated in this
 * round if the dependencies of its old and new entries close no cycle with the dependencies
 * collected before. If `only_first` is true, stops after the first LID that is updated. Returns
 * true if a LID was updated. */
static bool try_lids(struct fab_transition_work *w, uint32_t block, enum pass pass, bool only_first)
{
    bool any = false;
    for (uint32_t lid = block * COLUMNS; lid <= last_of(w, block) && !(any && only_first); lid++) {
        const struct fab_transition_lid *l = &w->lid[lid];
        if (l->progress == FAB_TRANSITION_WAITS && is_of_pass(l, pass))
            any |= try_one(w, lid, preferred(w, lid)) ||
                   (l->loss == 0 && try_one(w, lid, FAB_TRANSITION_ALONG));
    }
    return any;
}

static bool any_of_pass(const struct fab_transition_work *w, uint32_t block, enum pass pass)
{
    bool any = false;
    for (uint32_t lid = block * COLUMNS; lid <= last_of(w, block); lid++)
        any =
            any || (w->lid[lid].progress == FAB_TRANSITION_WAITS && is_of_pass(&w->lid[lid], pass));
    return any;
}

/* Chooses the LIDs to update in this round. First come LIDs that some source ports cannot reach,
 * then LIDs whose old dependencies prevent the update of other LIDs. Then come as many of all other
 * LIDs as the channel dependencies permit. Returns the number of LIDs. */
static uint32_t choose(struct fab_transition_work *w)
{
    uint32_t updated = 0;
    find_foreign(w);
    w->deps.listing = true;
    for (enum pass pass = URGENT; pass <= OTHERS; pass++) {
        for (uint32_t block = 0; block <= w->top / COLUMNS && !is_over(w); block++) {
            uint32_t waiting = count_waiting(w, block);
            if (waiting == 0 || !any_of_pass(w, block, pass))
                continue;
            fab_transition_load(w, block);
            if (pass != OTHERS || !try_block(w, block))
                try_lids(w, block, pass, false);
            updated += waiting - count_waiting(w, block);
        }
    }
    return updated;
}

/* Chooses one waiting LID to update. Returns false if every choice would close a cycle of channel
 * dependencies. */
static bool choose_one(struct fab_transition_work *w)
{
    w->deps.listing = true;
    for (uint32_t block = 0; block <= w->top / COLUMNS && !is_over(w); block++) {
        if (count_waiting(w, block) == 0)
            continue;
        fab_transition_load(w, block);
        if (try_lids(w, block, OTHERS, true))
            return true;
    }
    return false;
}

/* Chooses which waiting LIDs are drained. Adds the dependencies of the present entries of the
 * waiting LIDs, one LID after the other. A LID whose dependencies would close a cycle is
 * drained. */
static void choose_drained(struct fab_transition_work *w)
{
    for (uint32_t block = 0; block <= w->top / COLUMNS && !is_over(w); block++) {
        if (count_waiting(w, block) == 0)
            continue;
        fab_transition_load(w, block);
        for (uint32_t lid = block * COLUMNS; lid <= last_of(w, block); lid++) {
            struct fab_transition_column c = column(w, lid, FAB_TRANSITION_OLD_ONLY);
            if (w->lid[lid].progress != FAB_TRANSITION_WAITS || c.home == FAB_NONE)
                continue;
            w->deps.count = 0;
            fab_transition_collect(&w->deps, w->lanes, &c);
            if (!add_listed(w))
                w->lid[lid].progress = FAB_TRANSITION_IS_DRAINED;
        }
    }
}

/* ---- steps and writes ------------------------------------------------------------------------ */

static int add_write(struct fab_transition_work *w, struct fab_transition_write write)
{
    struct fab_transition *m = &w->made;
    void *grown =
        fab_base_grow(m->writes, sizeof(*m->writes), (size_t)m->write_count + 1, &w->write_room);
    if (grown == NULL)
        return FAB_E_NOMEM;
    m->writes = grown;
    m->writes[m->write_count++] = write;
    return FAB_OK;
}

static int add_step(struct fab_transition_work *w, struct fab_transition_step step)
{
    struct fab_transition *m = &w->made;
    void *grown =
        fab_base_grow(m->steps, sizeof(*m->steps), (size_t)m->step_count + 1, &w->step_room);
    if (grown == NULL)
        return FAB_E_NOMEM;
    m->steps = grown;
    m->steps[m->step_count++] = step;
    m->lost_pairs = step.lost_pairs > m->lost_pairs ? step.lost_pairs : m->lost_pairs;
    return FAB_OK;
}

/* Adds the writes of the loaded block for switch `sw`: one write for each wave of changed entries.
 * The entries of wave 0 are written first, then those of wave 1, and so on. */
static int write_switch(struct fab_transition_work *w, uint32_t block, uint32_t sw)
{
    uint64_t left = 0;
    int status = FAB_OK;
    for (uint32_t lid = block * COLUMNS; lid <= last_of(w, block); lid++) {
        size_t at = (size_t)sw * COLUMNS + lid % COLUMNS;
        left |= (uint64_t)(is_updated(w->lid[lid].progress) && w->was[at] != w->now[at])
                << lid % COLUMNS;
    }
    while (left != 0 && status == FAB_OK) {
        uint32_t wave = w->wave[(size_t)__builtin_ctzll(left) * w->graph.n + sw];
        uint64_t set = 0;
        for (uint32_t i = 0; i < COLUMNS; i++)
            set |= (left & UINT64_C(1) << i) != 0 && w->wave[(size_t)i * w->graph.n + sw] == wave
                       ? UINT64_C(1) << i
                       : 0;
        left &= ~set;
        status = add_write(
            w, (struct fab_transition_write){
                   .sw = sw, .block = block, .step = w->made.step_count + wave, .set = set});
    }
    return status;
}

/* Adds the writes of an LFT block in this round, for all switches. */
static int write_block(struct fab_transition_work *w, uint32_t block)
{
    bool any = false;
    int status = FAB_OK;
    for (uint32_t lid = block * COLUMNS; lid <= last_of(w, block); lid++)
        any = any || is_updated(w->lid[lid].progress);
    if (!any)
        return FAB_OK;
    fab_transition_load(w, block);
    for (uint32_t lid = block * COLUMNS; lid <= last_of(w, block); lid++) {
        uint16_t *wave = w->wave + (size_t)(lid % COLUMNS) * w->graph.n;
        if (w->lid[lid].progress == FAB_TRANSITION_UPDATED_ALONG)
            fab_transition_find_waves(w, lid, wave);
        else
            memset(wave, 0, w->graph.n * sizeof(*wave));
    }
    for (uint32_t sw = 0; sw < w->graph.n && status == FAB_OK; sw++)
        status = write_switch(w, block, sw);
    return status;
}

static int by_step(const void *a, const void *b)
{
    const struct fab_transition_write *x = a, *y = b;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    if (x->block != y->block)
        return x->block < y->block ? -1 : 1;
    return (x->sw > y->sw) - (x->sw < y->sw);
}

static void apply(struct fab_transition_work *w, uint32_t first_write)
{
    for (uint32_t i = first_write; i < w->made.write_count; i++)
        fab_transition_apply(&w->made.writes[i], w->in->new_lft, &w->at);
}

/* Returns a step without writes. Sets only two of its members: `moved` (number of LIDs that this
 * round updates) and lost_pairs. */
static struct fab_transition_step sum_up(const struct fab_transition_work *w)
{
    struct fab_transition_step step = {.lost_pairs = w->drained_pairs};
    for (uint32_t lid = 0; lid <= w->top; lid++) {
        const struct fab_transition_lid *l = &w->lid[lid];
        step.moved += is_updated(l->progress) && l->home != FAB_NONE;
        step.lost_pairs += is_updated(l->progress) && !l->along ? l->loss : 0;
    }
    return step;
}

/* Makes a step for each wave of writes; write_switch explains the waves. at: index of the first
 * write; the writes are sorted by wave. */
static int add_steps(struct fab_transition_work *w, uint32_t at)
{
    struct fab_transition_step step = sum_up(w);
    int status = FAB_OK;
    step.settle = w->made.step_count > 0;
    while (at < w->made.write_count && status == FAB_OK) {
        uint32_t of = w->made.writes[at].step;
        step.first = at;
        while (at < w->made.write_count && w->made.writes[at].step == of)
            w->made.writes[at++].step = w->made.step_count;
        step.count = at - step.first;
        status = add_step(w, step);
        step.settle = false;
        step.moved = 0;
    }
    return status;
}

/* Makes the steps for the LIDs that are updated in this round. */
static int make_steps(struct fab_transition_work *w)
{
    uint32_t before = w->made.write_count;
    int status = FAB_OK;
    w->made.rounds++;
    for (uint32_t block = 0; block <= w->top / COLUMNS && status == FAB_OK; block++)
        status = write_block(w, block);
    if (w->made.write_count > before)
        qsort(w->made.writes + before, w->made.write_count - before, sizeof(*w->made.writes),
              by_step);
    if (status == FAB_OK)
        status = add_steps(w, before);
    apply(w, before);
    for (uint32_t lid = 0; lid <= w->top; lid++) {
        if (!is_updated(w->lid[lid].progress))
            continue;
        w->drained_pairs -= w->lid[lid].drained_pairs;
        w->lid[lid].progress = FAB_TRANSITION_DONE;
    }
    return w->deps.failed ? FAB_E_NOMEM : status;
}

/* ---- draining -------------------------------------------------------------------------------- */

static void note_drained(struct fab_transition_work *w, uint32_t lid,
                         struct fab_transition_step *step)
{
    struct fab_transition_lid *l = &w->lid[lid];
    l->drained_pairs = (uint32_t)fab_transition_count_drained(w, lid);
    w->drained_pairs += l->drained_pairs;
    l->loss = 0;
    l->along = false;
    step->drained++;
}

static int write_drained(struct fab_transition_work *w, uint32_t block,
                         struct fab_transition_step *step)
{
    uint64_t drained = 0;
    int status = FAB_OK;
    fab_transition_load(w, block);
    for (uint32_t lid = block * COLUMNS; lid <= last_of(w, block); lid++) {
        if (w->lid[lid].progress != FAB_TRANSITION_IS_DRAINED)
            continue;
        drained |= UINT64_C(1) << lid % COLUMNS;
        note_drained(w, lid, step);
    }
    for (uint32_t sw = 0; sw < w->graph.n && drained != 0 && status == FAB_OK; sw++) {
        uint64_t drain = 0;
        for (uint32_t i = 0; i < COLUMNS; i++) {
            size_t at = (size_t)sw * COLUMNS + i;
            drain |= (uint64_t)(w->was[at] != w->now[at]) << i;
        }
        if ((drain & drained) != 0)
            status = add_write(w, (struct fab_transition_write){.sw = sw,
                                                                .block = block,
                                                                .step = w->made.step_count,
                                                                .drain = drain & drained});
    }
    return status;
}

/* Makes the step whose writes make the changed entries of the drained LIDs drop packets. */
static int make_drain_step(struct fab_transition_work *w)
{
    struct fab_transition_step step = {.first = w->made.write_count,
                                       .settle = w->made.step_count > 0};
    int status = FAB_OK;
    for (uint32_t block = 0; block <= w->top / COLUMNS && status == FAB_OK; block++)
        status = write_drained(w, block, &step);
    step.count = w->made.write_count - step.first;
    step.lost_pairs = w->drained_pairs;
    if (status != FAB_OK || step.count == 0)
        return status;
    w->made.drained += step.drained;
    w->made.rounds++;
    apply(w, step.first);
    return add_step(w, step);
}

static void replace(struct fab_transition_work *w, uint8_t from, uint8_t to)
{
    for (uint32_t lid = 0; lid <= w->top; lid++) {
        if (w->lid[lid].progress == from)
            w->lid[lid].progress = to;
    }
}

/* ---- the whole transition -------------------------------------------------------------------- */

int fab_transition_move_all(struct fab_transition_work *w, bool along)
{
    for (uint32_t lid = 0; lid <= w->top; lid++) {
        if (w->lid[lid].progress == FAB_TRANSITION_WAITS)
            let_move(w, lid, along ? FAB_TRANSITION_ALONG : preferred(w, lid));
    }
    return make_steps(w);
}

/* Drains all waiting LIDs, and then updates all of them in one round. While the LIDs are drained,
 * packets to them meet only entries that do not change and are a part of the present tables.
 * Afterwards packets meet only entries of the new tables. Both situations are safe if neither the
 * present nor the new tables have a cycle. */
static int drain_all(struct fab_transition_work *w)
{
    replace(w, FAB_TRANSITION_WAITS, FAB_TRANSITION_IS_DRAINED);
    int status = make_drain_step(w);
    replace(w, FAB_TRANSITION_IS_DRAINED, FAB_TRANSITION_WAITS);
    return status == FAB_OK ? fab_transition_move_all(w, false) : status;
}

/* Called if no LID can be updated while all other LIDs keep their old entries. Updates one LID,
 * drains the LIDs that prevent its update, and updates further LIDs as far as the dependencies
 * permit. Instead drains all waiting LIDs and updates them in one round, if there were ROUNDS_MOST
 * rounds already, or if no LID can be updated even while all other waiting LIDs are drained. */
static int drain(struct fab_transition_work *w)
{
    if (w->made.rounds >= ROUNDS_MOST || !fab_transition_is_acyclic(w, FAB_TRANSITION_COMMON) ||
        !choose_one(w))
        return w->deps.failed ? FAB_E_NOMEM : drain_all(w);
    choose_drained(w);
    (void)choose(w);
    int status = w->deps.failed ? FAB_E_NOMEM : make_drain_step(w);
    if (status == FAB_OK)
        status = make_steps(w);
    replace(w, FAB_TRANSITION_IS_DRAINED, FAB_TRANSITION_WAITS);
    return status;
}

static bool any_waiting(const struct fab_transition_work *w)
{
    for (uint32_t block = 0; block <= w->top / COLUMNS; block++) {
        if (count_waiting(w, block) > 0)
            return true;
    }
    return false;
}

int fab_transition_move_in_rounds(struct fab_transition_work *w)
{
    int status = FAB_OK;
    while (status == FAB_OK && !w->stopped && any_waiting(w)) {
        bool progress = sort_present(w) && choose(w) > 0;
        if (w->deps.failed)
            return FAB_E_NOMEM;
        if (w->visits > w->visits_most && !progress) {
            w->made.verdict = FAB_TRANSITION_LIMIT;
            return drain_all(w);
        }
        status = progress ? make_steps(w) : drain(w);
    }
    return status;
}
