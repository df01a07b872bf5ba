/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Divides a batch that violates the schema. Another try with the whole batch would fail in the same
 * way. So each record of the batch gets its own transaction, and only the records that violate the
 * schema are dropped. For the folder fabricd/store only.
 */
#ifndef FABRICD_STORE_DIVISION_H
#define FABRICD_STORE_DIVISION_H

#include "fabricd/store/record.h"

struct division {
    struct batch rest; /* the records that have not had their own transaction yet */
    /* The divided batch had the records with the numbers from + 1 to `to`, in the order of the
     * queue. */
    uint64_t from, to;
};

void division_init(struct division *d);
/* Returns true if no records are left, so that the next batch can be written. */
bool division_is_done(const struct division *d);
/* Returns true if a batch that violates the schema can be divided. */
bool division_is_possible(const struct batch *b);
/* Takes over the records of the batch, which is empty afterwards. `written`: number of records that
 * were queued before those of the batch. */
void division_begin(struct division *d, struct batch *b, uint64_t written);
/* Moves the next part to the batch `to`, which is empty. The first part consists of the leases and
 * the view, if the batch has them; each further part is one record. */
void division_next(struct division *d, struct batch *to);
/* Makes `from` and `to` the numbers of the records that count as lost when batch `b`, which cannot
 * be divided further, is dropped. If `b` is a part of a divided batch, these are all records of the
 * divided batch; otherwise the records of `b`. `written`: as in division_begin. */
void division_give_up(struct division *d, const struct batch *b, uint64_t written);

#endif
