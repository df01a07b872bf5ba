/* SPDX-License-Identifier: BSD-3-Clause */
#include "libfabmgr/counters/rank.h"

#include <stdbool.h>

void fab_counters_rank_init(struct fab_rank *r, struct fab_rank_entry *entry, uint32_t most)
{
    *r = (struct fab_rank){.entry = entry, .most = most};
}

static bool is_before(const struct fab_rank_entry *a, const struct fab_rank_entry *b)
{
    return a->value != b->value ? a->value > b->value : a->id < b->id;
}

static void swap(struct fab_rank_entry *a, struct fab_rank_entry *b)
{
    struct fab_rank_entry c = *a;
    *a = *b;
    *b = c;
}

/* Moves entry[i] down in the heap entry[0] .. entry[count - 1], until both its children rank before
 * it. */
static void sink(struct fab_rank_entry *entry, uint32_t count, uint32_t i)
{
    for (uint32_t child; (child = 2 * i + 1) < count; i = child) {
        if (child + 1 < count && is_before(&entry[child], &entry[child + 1]))
            child++;
        if (!is_before(&entry[i], &entry[child]))
            return;
        swap(&entry[i], &entry[child]);
    }
}

void fab_counters_rank_add(struct fab_rank *r, uint64_t id, uint64_t value)
{
    struct fab_rank_entry e = {value, id};
    if (r->count < r->most) {
        uint32_t i = r->count++;
        r->entry[i] = e;
        for (; i > 0 && is_before(&r->entry[(i - 1) / 2], &r->entry[i]); i = (i - 1) / 2)
            swap(&r->entry[(i - 1) / 2], &r->entry[i]);
        return;
    }
    if (r->most == 0 || !is_before(&e, &r->entry[0]))
        return;
    r->entry[0] = e;
    sink(r->entry, r->count, 0);
}

void fab_counters_rank_sort(struct fab_rank *r)
{
    for (uint32_t left = r->count; left > 1; left--) {
        swap(&r->entry[0], &r->entry[left - 1]);
        sink(r->entry, left - 1, 0);
    }
}
