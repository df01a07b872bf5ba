/* SPDX-License-Identifier: BSD-3-Clause */
/* Divides a batch that violates the schema, and remembers the numbers of its records. */
#include "fabricd/store/division.h"

void division_init(struct division *d)
{
    *d = (struct division){.from = 0};
    batch_init(&d->rest);
}

bool division_is_done(const struct division *d)
{
    return batch_is_empty(&d->rest);
}

bool division_is_possible(const struct batch *b)
{
    bool has_tables = b->has_leases || b->view != NULL;
    return b->record_count + has_tables > 1;
}

static void set_range(struct division *d, const struct batch *b, uint64_t written)
{
    d->from = written;
    d->to = written + b->record_count;
}

void division_begin(struct division *d, struct batch *b, uint64_t written)
{
    set_range(d, b, written);
    batch_move(&d->rest, b);
}

void division_next(struct division *d, struct batch *to)
{
    batch_move_part(to, &d->rest);
}

void division_give_up(struct division *d, const struct batch *b, uint64_t written)
{
    if (b->record_count > 0 && d->to <= written)
        set_range(d, b, written);
}
