/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes the steps of a transition.
 *
 * Most transitions are safe in any order of writes, or if each switch is written after all later
 * switches on its new paths. union.c checks this first, as if there were one VL, because this check
 * is fast. If union.c finds a cycle, or cannot make the check, mixture.c makes it, with VLs if the
 * tables have several.
 *
 * If mixture.c also finds a cycle, rounds.c divides the transition into rounds.
 */
#include "libfabmgr/transition/transition.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/transition/work.h"

#define COLUMNS FAB_TRANSITION_COLUMNS

static const struct fab_vls one_vl;

/* ---- setting up ------------------------------------------------------------------------------ */

static const struct fab_vls *vls_of(const struct fab_vls *v)
{
    return v != NULL ? v : &one_vl;
}

static bool is_known(const struct fab_transition_input *in, uint32_t sw, uint32_t block)
{
    size_t blocks = in->old_lft->stride / FAB_LFT_BLOCK;
    if (sw >= in->old_lft->switch_count || block >= blocks)
        return false;
    return in->known == NULL || fab_base_bits_get(in->known, sw * blocks + block);
}

/* Copies the entries of all known LFT blocks from in->old_lft to w->at, and counts the unknown
 * blocks. Then applies the writes in->before[] to w->at. Returns true if at least one block is
 * known. */
static bool copy_present(struct fab_transition_work *w)
{
    const struct fab_transition_input *in = w->in;
    bool any = false;
    for (uint32_t sw = 0; sw < w->graph.n; sw++) {
        for (uint32_t block = 0; block <= w->top / FAB_LFT_BLOCK; block++) {
            size_t at = (size_t)block * FAB_LFT_BLOCK;
            if (is_known(in, sw, block)) {
                memcpy(fab_target_lft_row(&w->at, sw) + at,
                       fab_target_lft_block(in->old_lft, sw, block), FAB_LFT_BLOCK);
                any = true;
            } else {
                w->made.unknown++;
            }
        }
    }
    for (uint32_t i = 0; i < in->before_count; i++)
        fab_transition_apply(&in->before[i], in->new_lft, &w->at);
    return any;
}

static int init(struct fab_transition_work *w)
{
    const struct fab_transition_input *in = w->in;
    w->verify = (struct fab_verify_input){
        .fabric = in->fabric, .lids = in->lids, .lft = in->new_lft, .pool = in->pool};
    w->top = in->lids->top;
    w->visits_most = in->visits > 0 ? in->visits : FAB_TRANSITION_VISITS;
    int status = fab_verify_graph_make(&w->verify, &w->graph);
    if (status == FAB_OK)
        status = fab_target_lft_init(&w->at, in->new_lft->switch_count, in->new_lft->top);
    if (status != FAB_OK)
        return status;
    size_t n = (size_t)w->graph.n + 1;
    w->lid = calloc((size_t)w->top + 1, sizeof(*w->lid));
    w->was = fab_base_alloc_array(n, COLUMNS);
    w->now = fab_base_alloc_array(n, COLUMNS);
    w->fate = fab_base_alloc_array(n, 2);
    w->stack = fab_base_alloc_array(n, sizeof(*w->stack));
    w->wave = fab_base_alloc_array(n, COLUMNS * sizeof(*w->wave));
    return w->lid && w->was && w->now && w->fate && w->stack && w->wave ? FAB_OK : FAB_E_NOMEM;
}

static void drop_model(struct fab_transition_work *w)
{
    fab_transition_order_fini(&w->order);
    fab_transition_deps_fini(&w->deps);
    fab_transition_lanes_fini(&w->lanes_state);
    w->lanes = NULL;
}

static void fini(struct fab_transition_work *w)
{
    drop_model(w);
    fab_verify_deps_fini(&w->wanted);
    fab_verify_graph_fini(&w->graph);
    fab_target_lft_fini(&w->at);
    free(w->lid);
    free(w->was);
    free(w->now);
    free(w->fate);
    free(w->stack);
    free(w->wave);
}

/* Makes an empty graph of channel dependencies. If `lanes` is true, the graph distinguishes the
 * VLs; otherwise all packets are on one VL. */
static int begin_model(struct fab_transition_work *w, bool lanes)
{
    const struct fab_vls *was = vls_of(w->in->old_vls), *now = vls_of(w->in->new_vls);
    uint32_t count = fab_target_vls_count(was), new_count = fab_target_vls_count(now);
    count = new_count > count ? new_count : count;
    drop_model(w);
    int status = fab_transition_deps_init(&w->deps, &w->graph, lanes ? count : 1);
    if (status == FAB_OK && lanes)
        status = fab_transition_lanes_init(&w->lanes_state, &w->graph, was, now);
    if (status == FAB_OK)
        status = fab_transition_order_init(&w->order, &w->deps);
    w->lanes = lanes ? &w->lanes_state : NULL;
    return status;
}

/* ---- what changes ---------------------------------------------------------------------------- */

static void note_change(struct fab_transition_work *w, uint32_t lid, bool changes)
{
    struct fab_transition_lid *l = &w->lid[lid];
    uint32_t owner = w->in->lids->owner[lid];
    uint8_t num;
    l->home = FAB_NONE;
    if (owner != FAB_NONE)
        (void)fab_verify_attachment(w->in->fabric, owner, &l->home, &num);
    if (changes)
        l->progress = FAB_TRANSITION_WAITS;
}

/* Finds the switch that delivers each LID, and the LIDs whose entries change. Returns true if any
 * entry changes. */
static bool find_changes(struct fab_transition_work *w)
{
    bool any = false;
    for (uint32_t block = 0; block <= w->top / COLUMNS; block++) {
        size_t offset = (size_t)block * COLUMNS;
        uint64_t changes = 0;
        for (uint32_t sw = 0; sw < w->graph.n; sw++)
            changes |= fab_transition_find_changes(fab_target_lft_row(&w->at, sw) + offset,
                                                   fab_target_lft_block(w->in->new_lft, sw, block));
        any = any || changes != 0;
        for (uint32_t i = 0; i < COLUMNS && offset + i <= w->top; i++)
            note_change(w, (uint32_t)offset + i, (changes >> i & 1) != 0);
    }
    return any;
}

/* Finds, for each waiting LID, how many pairs may lose a working path while its entries are
 * written, and which mode avoids this. */
static void find_losses(struct fab_transition_work *w)
{
    for (uint32_t block = 0; block <= w->top / COLUMNS; block++) {
        uint64_t lids = fab_transition_find_lossy(w, block);
        if (lids != 0)
            fab_transition_load(w, block);
        for (; lids != 0; lids &= lids - 1)
            fab_transition_find_losses(w, block * COLUMNS + (uint32_t)__builtin_ctzll(lids));
    }
}

/* Counts the pairs of a source switch and a destination LID whose SL changes. */
static void find_sl_changes(struct fab_transition_work *w)
{
    const struct fab_vls *was = vls_of(w->in->old_vls), *now = vls_of(w->in->new_vls);
    w->made.sl_pairs = 0;
    for (uint32_t lid = 0; lid <= w->top; lid++) {
        const struct fab_transition_lid *l = &w->lid[lid];
        uint64_t changed = 0;
        for (uint32_t sw = 0; l->home != FAB_NONE && sw < w->graph.n; sw++)
            changed += w->graph.owners[sw] > 0 && fab_target_vls_sl(was, sw, l->home, lid) !=
                                                      fab_target_vls_sl(now, sw, l->home, lid);
        w->made.sl_pairs += changed;
    }
}

/* ---- the verdict ----------------------------------------------------------------------------- */

static bool same_tables(const struct fab_vls *a, const struct fab_vls *b)
{
    if (fab_target_vls_count(a) != fab_target_vls_count(b))
        return false;
    if (!fab_target_vls_multiple(a))
        return true;
    if (a->classes != b->classes || (a->port_class == NULL) != (b->port_class == NULL) ||
        a->ports != b->ports || memcmp(a->vl, b->vl, sizeof(a->vl)) != 0)
        return false;
    return a->port_class == NULL || memcmp(a->port_class, b->port_class, a->ports) == 0;
}

/* Called if there are several VLs. Sets made.unproven_lanes if the old LFTs may have a cycle while
 * SL-to-VL tables change, and made.stale_sls if the new tables may have a cycle while some hosts
 * use old and others new SLs. Also counts the pairs whose SL changes. */
static void check_lanes(struct fab_transition_work *w)
{
    if (!same_tables(w->lanes_state.vls[0], w->lanes_state.vls[1])) {
        w->lanes_state.tables = FAB_TRANSITION_OLD | FAB_TRANSITION_NEW;
        w->made.unproven_lanes = !fab_transition_is_acyclic(w, FAB_TRANSITION_PRESENT);
        w->lanes_state.tables = FAB_TRANSITION_NEW;
    }
    w->made.stale_sls = !fab_transition_is_acyclic(w, FAB_TRANSITION_FINAL_BOTH);
    find_sl_changes(w);
}

static enum fab_transition_verdict judge_model(struct fab_transition_work *w)
{
    if (fab_transition_is_acyclic(w, FAB_TRANSITION_ALL))
        return FAB_TRANSITION_ANY_ORDER;
    if (!fab_transition_is_acyclic(w, FAB_TRANSITION_PRESENT))
        return FAB_TRANSITION_OLD_CYCLE;
    return fab_transition_is_acyclic(w, FAB_TRANSITION_FINAL) ? FAB_TRANSITION_STEPS
                                                              : FAB_TRANSITION_NEW_CYCLE;
}

static int judge(struct fab_transition_work *w)
{
    bool lanes = fab_target_vls_multiple(vls_of(w->in->old_vls)) ||
                 fab_target_vls_multiple(vls_of(w->in->new_vls));
    int status = begin_model(w, false);
    if (status != FAB_OK)
        return status;
    if (!lanes) {
        w->made.verdict = judge_model(w);
    } else if (fab_transition_is_acyclic(w, FAB_TRANSITION_ALL)) {
        find_sl_changes(w);
        w->made.verdict = FAB_TRANSITION_ANY_ORDER;
    } else {
        status = begin_model(w, true);
        if (status != FAB_OK)
            return status;
        check_lanes(w);
        w->made.verdict = judge_model(w);
    }
    return w->deps.failed ? FAB_E_NOMEM : FAB_OK;
}

/* Makes the steps of a transition if the quick check, fab_transition_check_union, has found a
 * possible cycle or was not possible. */
static int make_hard(struct fab_transition_work *w)
{
    int status = judge(w);
    if (status != FAB_OK)
        return status;
    if (w->made.verdict != FAB_TRANSITION_STEPS)
        return fab_transition_move_all(w, false);
    if (fab_transition_is_acyclic(w, FAB_TRANSITION_ALL_ALONG))
        return fab_transition_move_all(w, true);
    status = fab_transition_move_in_rounds(w);
    if (w->made.drained > 0 && w->made.verdict == FAB_TRANSITION_STEPS)
        w->made.verdict = FAB_TRANSITION_DRAINS;
    return status;
}

static int make(struct fab_transition_work *w)
{
    bool along = false, any = false;
    if (!copy_present(w) || !find_changes(w)) {
        w->made.verdict = FAB_TRANSITION_NOTHING;
        return FAB_OK;
    }
    int status = fab_transition_check_union(w, &along, &any);
    if (status != FAB_OK)
        return status;
    find_losses(w);
    if (!along)
        return make_hard(w);
    find_sl_changes(w);
    w->made.verdict = any ? FAB_TRANSITION_ANY_ORDER : FAB_TRANSITION_STEPS;
    return fab_transition_move_all(w, !any);
}

static bool vls_fit(const struct fab_transition_input *in, const struct fab_vls *v)
{
    if (v == NULL || !fab_target_vls_multiple(v))
        return true;
    if (v->classes == 0 || v->classes > FAB_VL_CLASSES || v->count > FAB_VLS_MAX ||
        v->levels > FAB_SLS || (v->of_pair != NULL && v->switches != in->fabric->switch_count) ||
        (v->of_pair == NULL && v->of_lid != NULL && v->top < in->lids->top))
        return false;
    return v->port_class == NULL || v->ports >= in->fabric->port_count;
}

int fab_transition_make(const struct fab_transition_input *in, struct fab_transition *ret)
{
    if (in->lids->owner == NULL || in->lids->port_count != in->fabric->port_count ||
        in->new_lft->switch_count != in->fabric->switch_count ||
        in->new_lft->stride <= in->lids->top || !vls_fit(in, in->old_vls) ||
        !vls_fit(in, in->new_vls))
        return FAB_E_INVAL;
    struct fab_transition_work w = {.in = in};
    int status = init(&w);
    if (status == FAB_OK)
        status = make(&w);
    if (status == FAB_OK && w.stopped)
        status = FAB_E_BUSY;
    fini(&w);
    if (status == FAB_OK)
        *ret = w.made;
    else
        fab_transition_fini(&w.made);
    return status;
}

void fab_transition_fini(struct fab_transition *t)
{
    free(t->steps);
    free(t->writes);
    memset(t, 0, sizeof(*t));
}

void fab_transition_apply(const struct fab_transition_write *w, const struct fab_lft *new_lft,
                          struct fab_lft *lft)
{
    size_t at = (size_t)w->block * FAB_LFT_BLOCK;
    uint8_t *row = fab_target_lft_row(lft, w->sw) + at;
    const uint8_t *now = fab_target_lft_block(new_lft, w->sw, w->block);
    for (unsigned i = 0; i < FAB_LFT_BLOCK; i++) {
        if ((w->set >> i & 1) != 0)
            row[i] = now[i];
        else if ((w->drain >> i & 1) != 0)
            row[i] = FAB_LFT_NO_ROUTE;
    }
}

const char *fab_transition_verdict_name(enum fab_transition_verdict v)
{
    static const char *const names[] = {"nothing", "any-order", "steps",    "drains",
                                        "limit",   "old-cycle", "new-cycle"};
    return names[v];
}
