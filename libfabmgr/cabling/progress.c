/* SPDX-License-Identifier: BSD-3-Clause */
#include "libfabmgr/cabling/progress.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/cabling/check.h"

/* ---- by rack --------------------------------------------------------------------------------- */

static int compare_progress(const void *x, const void *y)
{
    const struct fab_cabling_progress *a = x, *b = y;
    return strverscmp(a->rack, b->rack);
}

/* Merges the entries of the same rack, which come one after the other. Returns the number of
 * entries left. */
static size_t join(struct fab_cabling_progress *items, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (kept > 0 && strcmp(items[kept - 1].rack, items[i].rack) == 0) {
            items[kept - 1].planned += items[i].planned;
            items[kept - 1].correct += items[i].correct;
        } else {
            items[kept++] = items[i];
        }
    return kept;
}

int fab_cabling_progress(const struct fab_cabling_check *c, struct fab_cabling_progress **ret,
                         size_t *ret_count)
{
    struct fab_cabling_progress *items = fab_base_alloc_array(c->plan->link_count, sizeof *items);
    size_t count = 0;
    if (items == NULL)
        return FAB_E_NOMEM;
    for (uint32_t p = 0; p < c->port_count; p++) {
        uint32_t q = c->planned[p];
        if (q == FAB_NONE || q < p)
            continue;
        uint32_t first = fab_cabling_precedence(c, q) < fab_cabling_precedence(c, p) ? q : p;
        items[count++] = (struct fab_cabling_progress){fab_cabling_site_of(c, first)->rack, 1,
                                                       c->actual[p] == q};
    }
    if (count > 1)
        qsort(items, count, sizeof *items, compare_progress);
    *ret_count = join(items, count);
    *ret = items;
    return FAB_OK;
}

/* ---- estimate -------------------------------------------------------------------------------- */

void fab_cabling_estimate_add(struct fab_cabling_estimate *e, uint64_t time_us, uint32_t correct)
{
    uint32_t at = e->count++ % FAB_CABLING_SAMPLES;
    e->time_us[at] = time_us;
    e->correct[at] = correct;
}

double fab_cabling_estimate_rate(const struct fab_cabling_estimate *e)
{
    if (e->count < 2)
        return 0;
    uint32_t last = (e->count - 1) % FAB_CABLING_SAMPLES;
    uint32_t first = e->count > FAB_CABLING_SAMPLES ? e->count % FAB_CABLING_SAMPLES : 0;
    uint64_t us = e->time_us[last] - e->time_us[first];
    if (us == 0 || e->correct[last] <= e->correct[first])
        return 0;
    return (double)(e->correct[last] - e->correct[first]) * 60e6 / (double)us;
}
