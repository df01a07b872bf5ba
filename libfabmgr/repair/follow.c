/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes a delta of entries that another manager has written, and proves it. The delta then has the
 * same members as one of delta.c, except for the order of its writes, so a commit can follow.
 *
 * The other manager may have used other labels. So the proof is tried with the labels of the active
 * tables first, and then with the other sets of labels. Switches that need another position while
 * the links are dead get the one that a repair would give them (labels/reorder.c): it depends only
 * on the order, the dead links, and whether detours are permitted.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/internal.h"

static int compare(uint32_t lid_a, uint32_t sw_a, uint32_t lid_b, uint32_t sw_b)
{
    return lid_a != lid_b ? (lid_a < lid_b ? -1 : 1) : (sw_a > sw_b) - (sw_a < sw_b);
}

static int by_lid(const void *a, const void *b)
{
    const struct fab_repair_change *x = a, *y = b;
    return compare(x->lid, x->sw, y->lid, y->sw);
}

static int entry_by_lid(const void *a, const void *b)
{
    const struct fab_repair_entry *x = a, *y = b;
    return compare(x->lid, x->sw, y->lid, y->sw);
}

/* Makes the overlay after the changes, d->entry[]: the entries of the present overlay that do not
 * change, and the changes that differ from the baseline. Returns NOMEM. */
static int make_overlay(const struct fab_repair *r, struct fab_repair_delta *d)
{
    struct fab_repair_entry *old = fab_base_alloc_array(r->entries, sizeof(*old));
    size_t i = 0, k = 0;
    d->entry = fab_base_alloc_array(r->entries + d->changes, sizeof(*d->entry));
    if (old == NULL || d->entry == NULL) {
        free(old);
        return FAB_E_NOMEM;
    }
    if (r->entries > 0) {
        memcpy(old, r->entry, r->entries * sizeof(*old));
        qsort(old, r->entries, sizeof(*old), entry_by_lid);
    }
    while (i < r->entries || k < d->changes) {
        const struct fab_repair_change *c = &d->change[k];
        int order = i == r->entries   ? 1
                    : k == d->changes ? -1
                                      : compare(old[i].lid, old[i].sw, c->lid, c->sw);
        if (order < 0) {
            d->entry[d->entries++] = old[i++];
            continue;
        }
        struct fab_repair_entry e = {.lid = c->lid, .sw = c->sw, .now = c->now};
        e.baseline = order == 0 ? old[i].baseline : c->was;
        if (e.baseline != e.now)
            d->entry[d->entries++] = e;
        i += order == 0;
        k++;
    }
    free(old);
    return FAB_OK;
}

/* Gives the delta the labels of this set, and the positions that switches need while its links are
 * dead. Returns NOMEM, or UNSUPPORTED if the active tables have detours that are not permitted. */
static int choose_labels(struct fab_repair *r, uint32_t set, struct fab_repair_delta *d)
{
    free(d->relabel);
    d->relabel = NULL;
    d->relabels = 0;
    d->label_set = set;
    d->detours = false;
    fab_repair_apply_dead(r, d);
    int status = fab_repair_relabel_find(r, d);
    r->maxima_known = false;
    /* fab_repair_undo_dead must restore the labels that apply_dead has set: none are relabelled */
    size_t relabels = d->relabels;
    d->relabels = 0;
    fab_repair_undo_dead(r, d);
    d->relabels = status == FAB_OK ? relabels : 0;
    return status;
}

/* Proves the delta with the labels of this set. An entry without a path is permitted if no endport
 * sends to an endport through it: the other manager has left it out, too. */
static int prove_with(struct fab_repair *r, const struct fab_lft *lft, uint32_t set,
                      struct fab_repair_delta *d)
{
    struct fab_repair_change at;
    size_t lost = 0;
    int status = choose_labels(r, set, d);
    d->lost = SIZE_MAX;
    if (status == FAB_OK)
        status = fab_repair_prove_losses(r, lft, d, &at, &lost);
    d->lost = lost;
    return status;
}

int fab_repair_follow(struct fab_repair *r, const struct fab_lft *lft, const uint32_t *dead,
                      size_t count, struct fab_repair_change *change, size_t changes,
                      struct fab_repair_delta *ret)
{
    struct fab_repair_delta d = {.change = change, .changes = changes};
    int status = FAB_OK;
    if (lft->switch_count != r->network->n || lft->top < r->network->top)
        status = FAB_E_INVAL;
    if (changes > 0)
        qsort(change, changes, sizeof(*change), by_lid);
    if (status == FAB_OK)
        status = fab_repair_list_dead(r->network, dead, count, &d);
    if (status == FAB_OK)
        status = make_overlay(r, &d);
    if (status == FAB_OK)
        status = prove_with(r, lft, r->label_set, &d);
    for (uint32_t set = 0; status != FAB_OK && status != FAB_E_NOMEM && status != FAB_E_BUSY &&
                           d.entry != NULL && set < r->network->sets;
         set++)
        if (set != r->label_set)
            status = prove_with(r, lft, set, &d);
    if (status == FAB_OK)
        *ret = d;
    else
        fab_repair_delta_fini(&d);
    return status;
}
