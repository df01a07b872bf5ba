/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creates the state of a repair for the tables of an engine, clones this state for other threads,
 * and changes it when a repair is committed.
 */
#include "libfabmgr/repair/repair.h"

#include <stdio.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/internal.h"

/* ---- creating and freeing -------------------------------------------------------------------- */

static int alloc_column(struct fab_repair_column *c, size_t n)
{
    c->mark = calloc(n + 1, sizeof(*c->mark));
    c->entry = calloc(n + 1, sizeof(*c->entry));
    c->old = calloc(n + 1, sizeof(*c->old));
    c->len = calloc(n + 1, sizeof(*c->len));
    c->seen = calloc(n + 1, sizeof(*c->seen));
    c->stale = calloc(n + 1, sizeof(*c->stale));
    c->next_hop = fab_base_alloc_array(n + 1, sizeof(*c->next_hop));
    c->touched = calloc(n + 1, sizeof(*c->touched));
    c->heap = calloc(n + 1, sizeof(*c->heap));
    c->via = calloc(n + 1, sizeof(*c->via));
    c->queue = calloc(n + 1, sizeof(*c->queue));
    c->reached = fab_base_bits_new(n);
    if (c->next_hop != NULL)
        memset(c->next_hop, 0xff, (n + 1) * sizeof(*c->next_hop));
    return c->mark && c->entry && c->old && c->len && c->seen && c->stale && c->next_hop &&
                   c->touched && c->heap && c->via && c->queue && c->reached
               ? FAB_OK
               : FAB_E_NOMEM;
}

/* Creates a repair without dead links for the network b. Takes over the caller's reference to b,
 * even if it fails. */
static int make(struct fab_repair_network *b, struct fab_repair **ret)
{
    struct fab_repair *r = calloc(1, sizeof(*r));
    if (r == NULL) {
        fab_repair_network_unref(b);
        return FAB_E_NOMEM;
    }
    r->network = b;
    r->label = b->label;
    r->is_dead = fab_base_bits_new(b->ports);
    r->alive = fab_base_alloc_array((size_t)b->n + 1, sizeof(*r->alive));
    r->component = fab_base_alloc_array((size_t)b->n + 1, sizeof(*r->component));
    r->maxima = fab_base_alloc_array((size_t)b->n + 1, sizeof(*r->maxima));
    r->candidates = calloc(FAB_REPAIR_CANDIDATES, sizeof(*r->candidates));
    if (!r->candidates || !r->is_dead || !r->alive || !r->component || !r->maxima ||
        alloc_column(&r->column, b->n) != FAB_OK ||
        fab_repair_balance_init(&r->balance, b) != FAB_OK) {
        fab_repair_free(r);
        return FAB_E_NOMEM;
    }
    memcpy(r->alive, b->degree, b->n * sizeof(*r->alive));
    *ret = r;
    return FAB_OK;
}

int fab_repair_new(const struct fab_repair_input *in, struct fab_repair **ret, char *why,
                   size_t why_len)
{
    struct fab_repair_network *b = NULL;
    int status = fab_repair_network_new(in, &b);
    if (status == FAB_OK)
        status = fab_repair_labels_find(b, in, why, why_len);
    if (status != FAB_OK) {
        fab_repair_network_unref(b);
        return status;
    }
    return make(b, ret);
}

static void *copied(const void *from, size_t count, size_t item)
{
    void *to = fab_base_alloc_array(count, item);
    if (to != NULL && count > 0)
        memcpy(to, from, count * item);
    return to;
}

int fab_repair_clone(const struct fab_repair *r, struct fab_repair **ret)
{
    struct fab_repair *twin = NULL;
    int status = make(fab_repair_network_ref(r->network), &twin);
    if (status != FAB_OK)
        return status;
    twin->entry = copied(r->entry, r->entries, sizeof(*r->entry));
    twin->dead = copied(r->dead, r->deads, sizeof(*r->dead));
    twin->relabel = copied(r->relabel, r->relabels, sizeof(*r->relabel));
    if (twin->entry == NULL || twin->dead == NULL || twin->relabel == NULL ||
        fab_repair_balance_copy(&r->balance, r->network, &twin->balance) != FAB_OK) {
        fab_repair_free(twin);
        return FAB_E_NOMEM;
    }
    twin->entries = r->entries;
    twin->deads = r->deads;
    twin->relabels = r->relabels;
    twin->label_set = r->label_set;
    twin->commits = r->commits;
    twin->detoured = r->detoured;
    *ret = twin;
    return FAB_OK;
}

void fab_repair_free(struct fab_repair *r)
{
    if (r == NULL)
        return;
    struct fab_repair_column *c = &r->column;
    void *all[] = {r->entry,     r->dead,   r->own_label, r->relabel,    r->is_dead,    r->alive,
                   r->component, r->maxima, c->mark,      c->entry,      c->old,        c->len,
                   c->seen,      c->stale,  c->next_hop,  r->candidates, r->tile.table, c->touched,
                   c->heap,      c->via,    c->queue,     c->reached,    r->tree};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        free(all[i]);
    fab_repair_balance_fini(&r->balance);
    fab_repair_dependencies_fini(&r->graph);
    fab_repair_network_unref(r->network);
    free(r);
}

size_t fab_repair_memory(const struct fab_repair *r)
{
    const struct fab_repair_column *c = &r->column;
    size_t a_switch = sizeof(*c->mark) + sizeof(*c->entry) + sizeof(*c->old) + sizeof(*c->len) +
                      sizeof(*c->seen) + sizeof(*c->stale) + sizeof(*c->next_hop) +
                      sizeof(*c->touched) + sizeof(*c->heap) + sizeof(*c->via) + sizeof(*c->queue) +
                      sizeof(*r->alive) + sizeof(*r->component) + sizeof(*r->maxima);
    return sizeof(*r) + FAB_REPAIR_CANDIDATES * sizeof(*r->candidates) + r->tile.room +
           a_switch * r->network->n + r->network->ports / 8 + r->entries * sizeof(*r->entry) +
           r->deads * sizeof(*r->dead) + (r->tree != NULL ? r->network->ports / 8 : 0) +
           (r->own_label != NULL ? sizeof(*r->own_label) * r->network->vl_count * r->network->ports
                                 : 0) +
           fab_repair_balance_memory(r->network) + fab_repair_dependencies_memory(r) +
           fab_repair_network_memory(r->network);
}

size_t fab_repair_overlay_size(const struct fab_repair *r)
{
    return r->entries;
}

uint64_t fab_repair_commits(const struct fab_repair *r)
{
    return r->commits;
}

const char *fab_repair_label_source(const struct fab_repair *r)
{
    return r->network->label_source;
}

const uint32_t *fab_repair_positions(const struct fab_repair *r)
{
    return r->relabels == 0 ? r->network->order : NULL;
}

const uint32_t *fab_repair_dead(const struct fab_repair *r, size_t *ret_count)
{
    *ret_count = r->deads;
    return r->dead;
}

void fab_repair_permit_detours(struct fab_repair *r, bool permit)
{
    r->no_detours = !permit;
}

/* Tries the sets of labels in turn. Uses the first set with which every entry has a path. If there
 * is no such set, uses the first set with which a repair is possible. */
int fab_repair_plan(struct fab_repair *r, const struct fab_lft *lft, const uint32_t *dead,
                    size_t count, struct fab_repair_delta *ret, char *why, size_t why_len)
{
    struct fab_repair_delta best = {0}, d;
    int status = FAB_E_UNSUPPORTED;
    if (lft->switch_count != r->network->n || lft->top < r->network->top)
        return FAB_E_INVAL;
    r->relax_work = 0;
    for (uint32_t set = 0; set < r->network->sets && (status != FAB_OK || best.lost > 0); set++) {
        int set_status = fab_repair_delta_make(r, set, lft, dead, count, NULL, &d, why, why_len);
        if (set_status == FAB_OK && (status != FAB_OK || d.lost == 0)) {
            fab_repair_delta_fini(&best);
            best = d;
            status = FAB_OK;
        } else if (set_status == FAB_OK) {
            fab_repair_delta_fini(&d);
        } else if (set_status != FAB_E_UNSUPPORTED) {
            fab_repair_delta_fini(&best);
            return set_status;
        }
    }
    if (status == FAB_OK)
        *ret = best;
    return status;
}

int fab_repair_rebalance(struct fab_repair *r, const struct fab_lft *lft, size_t most, uint32_t *at,
                         struct fab_repair_delta *ret)
{
    struct fab_repair_window w = {.after = *at, .most = most};
    char why[200];
    if (lft->switch_count != r->network->n || lft->top < r->network->top)
        return FAB_E_INVAL;
    r->relax_work = 0;
    int status =
        fab_repair_delta_make(r, r->label_set, lft, r->dead, r->deads, &w, ret, why, sizeof(why));
    r->balance.improving = false;
    if (status == FAB_OK)
        *at = w.more ? w.last : 0;
    return status;
}

void fab_repair_delta_fini(struct fab_repair_delta *d)
{
    free(d->change);
    free(d->write);
    free(d->by_write);
    free(d->dead);
    free(d->entry);
    free(d->relabel);
    memset(d, 0, sizeof(*d));
}

int fab_repair_prepare_commit(const struct fab_repair_delta *d, const uint32_t *to_sw,
                              struct fab_lft *lft)
{
    int status = fab_target_lft_unshare(lft);
    for (size_t i = 0; status == FAB_OK && i < d->changes; i++) {
        const struct fab_repair_change *c = &d->change[i];
        uint32_t sw = to_sw != NULL ? to_sw[c->sw] : c->sw;
        if (sw != FAB_NONE && c->lid <= lft->top)
            status = fab_target_lft_own(lft, sw, c->lid);
    }
    return status;
}

/* Returns true if the delta changes neither the tables nor the dead links nor the labels. */
static bool is_void(const struct fab_repair *r, const struct fab_repair_delta *d)
{
    return d->changes == 0 && d->entries == r->entries && d->deads == r->deads &&
           (d->deads == 0 || memcmp(d->dead, r->dead, d->deads * sizeof(*d->dead)) == 0) &&
           !fab_repair_labels_differ(r, d);
}

void fab_repair_commit(struct fab_repair *r, struct fab_lft *lft, struct fab_repair_delta *d)
{
    fab_repair_balance_record(r, lft, d);
    for (size_t i = 0; i < d->changes; i++)
        fab_target_lft_set(lft, d->change[i].sw, d->change[i].lid, d->change[i].now);
    r->commits += !is_void(r, d);
    free(r->entry);
    r->entry = d->entry;
    r->entries = d->entries;
    d->entry = NULL;
    d->entries = 0;
    free(r->dead);
    r->dead = d->dead;
    r->deads = d->deads;
    free(r->relabel);
    r->relabel = d->relabel;
    r->relabels = d->relabels;
    r->label_set = d->label_set;
    r->detoured = d->detours;
    r->tile.count = 0;
    d->dead = NULL;
    d->deads = 0;
    d->relabel = NULL;
    d->relabels = 0;
}
