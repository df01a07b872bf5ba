/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Brings a maker of contingencies to a later state of the repair. If both states belong to the same
 * baseline, their overlays tell which table entries differ, so the tables are not read as a whole.
 * If an engine has computed a new baseline, all entries of the new tables are compared with the old
 * ones.
 */
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/contingency/maker.h"

static void add(struct fab_repair_delta *d, uint32_t lid, uint32_t sw, uint8_t was, uint8_t now)
{
    if (was != now)
        d->change[d->changes++] =
            (struct fab_repair_change){.lid = lid, .sw = sw, .was = was, .now = now};
}

/* Compares the entries that the two overlays have for one LID. Adds the entries that differ to the
 * changes of d. index[] is scratch memory; before and after the call, all elements are FAB_NONE. */
static void compare(const struct fab_repair_entry *old, size_t olds,
                    const struct fab_repair_entry *new, size_t news, uint32_t *index,
                    struct fab_repair_delta *d)
{
    for (size_t i = 0; i < olds; i++)
        index[old[i].sw] = (uint32_t)i;
    for (size_t i = 0; i < news; i++) {
        uint32_t at = index[new[i].sw];
        add(d, new[i].lid, new[i].sw, at != FAB_NONE ? old[at].now : new[i].baseline, new[i].now);
        index[new[i].sw] = FAB_NONE;
    }
    for (size_t i = 0; i < olds; i++) {
        if (index[old[i].sw] != FAB_NONE)
            add(d, old[i].lid, old[i].sw, old[i].now, old[i].baseline);
        index[old[i].sw] = FAB_NONE;
    }
}

/* Lists the table entries that differ between two states of the same repair, by LID. */
static int list_changes(const struct fab_repair *old, const struct fab_repair *new, uint32_t *index,
                        struct fab_repair_delta *d)
{
    d->change = fab_base_alloc_array(old->entries + new->entries, sizeof(*d->change));
    if (d->change == NULL)
        return FAB_E_NOMEM;
    for (size_t o = 0, n = 0; o < old->entries || n < new->entries;) {
        uint32_t of_old = o < old->entries ? old->entry[o].lid : FAB_NONE;
        uint32_t of_new = n < new->entries ? new->entry[n].lid : FAB_NONE;
        uint32_t lid = of_old < of_new ? of_old : of_new;
        size_t o_end = o, n_end = n;
        while (o_end < old->entries && old->entry[o_end].lid == lid)
            o_end++;
        while (n_end < new->entries &&new->entry[n_end].lid == lid)
            n_end++;
        compare(o_end > o ? old->entry + o : NULL, o_end - o, n_end > n ? new->entry + n : NULL,
                n_end - n, index, d);
        o = o_end;
        n = n_end;
    }
    return FAB_OK;
}

/* Updates the maker for a later state with the same baseline: the number of paths over each channel
 * (m->load), and the record of table entries that changed (m->touched). */
static int note_changes(struct fab_repair_contingency_maker *m, const struct fab_repair *later,
                        const struct fab_lft *tables)
{
    struct fab_repair_delta d = {0};
    int status = list_changes(m->r, later, m->load.index, &d);
    if (status == FAB_OK)
        fab_repair_touched_add(&m->touched, m->r, &m->lft, later, tables, &d);
    if (status == FAB_OK)
        status = fab_repair_load_commit(&m->load, m->r, &m->lft, &d);
    fab_repair_delta_fini(&d);
    return status;
}

/* Updates the maker for a state with a new baseline. The new baseline has a network of its own, so
 * the paths over each channel must be counted again (fab_repair_contingency_prepare). Returns OK,
 * NOMEM, or INVAL if the networks do not agree. */
static int change_network(struct fab_repair_contingency_maker *m, const struct fab_repair *later,
                          const struct fab_lft *tables)
{
    if (!fab_repair_networks_agree(m->r->network, later->network))
        return FAB_E_INVAL;
    fab_repair_touched_add_tables(&m->touched, m->r, &m->lft, later, tables);
    fab_repair_load_fini(&m->load);
    free(m->id);
    free(m->queue);
    m->id = m->queue = NULL;
    int status = fab_repair_load_init(&m->load, later);
    if (status == FAB_OK)
        status = fab_repair_contingency_list_rows(later->network, &m->id, &m->rows, &m->links);
    return status;
}

int fab_repair_contingency_follow(struct fab_repair_contingency_maker *m, struct fab_repair *later,
                                  struct fab_lft *tables)
{
    if (m->ordered && m->next == m->queued)
        fab_repair_touched_reset(&m->touched, m->r->commits);
    int status = later->network == m->r->network ? note_changes(m, later, tables)
                                                 : change_network(m, later, tables);
    fab_target_lft_fini(&m->lft);
    m->lft = *tables;
    *tables = (struct fab_lft){0};
    fab_repair_free(m->r);
    m->r = later;
    later->stop = m->stop;
    m->ordered = false;
    m->queued = m->next = 0;
    m->untouched = 0;
    if (status == FAB_OK)
        m->cases = fab_repair_contingency_count_cases(later, m->id, m->rows, m->links);
    return status;
}
