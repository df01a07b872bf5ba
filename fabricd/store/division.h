/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Divides a batch that violates the schema. Another try with the whole batch would fail in the same
 * way. Each record of the batch therefore gets its own transaction, and only the records that
 * violate the schema are dropped. For the folder fabricd/store only.
 */
#ifndef FABRICD_STORE_DIVISION_H
#define FABRICD_STORE_DIVISION_H

#include "fabricd/store/record.h"

struct division {
    struct batch rest; /* the parts of the divided batch that were not taken yet */
    /* Each record in the queue has a number. The batch that was divided had the records whose
     * numbers are greater than `from` and at most `to`. */
    uint64_t from, to;
};

void division_init(struct division *d);
/* Returns true if all parts of the divided batch have been taken; the next batch can then be
 * written. */
bool division_is_done(const struct division *d);
/* Returns true if the batch has more than one part, and therefore can be divided. */
bool division_is_possible(const struct batch *b);
/* Moves the records of batch `b` to `d`. written: number of records that entered the queue before
 * those of `b`. */
void division_begin(struct division *d, struct batch *b, uint64_t written);
/* Moves the next part to the batch `to`, which must be empty. The first part is the leases and the
 * view, if there are any. Each further part is one record. */
void division_next(struct division *d, struct batch *to);
/* Called when batch `b`, which cannot be divided further, is dropped. Sets d->from and d->to to the
 * numbers of the records that count as lost. If `b` is part of a divided batch, all records of that
 * batch count as lost; otherwise those of `b`. written: as in division_begin. */
void division_give_up(struct division *d, const struct batch *b, uint64_t written);

#endif
