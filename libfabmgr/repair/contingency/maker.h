/* SPDX-License-Identifier: BSD-3-Clause */
/* The maker of contingencies, for this folder only. */
#ifndef LIBFABMGR_REPAIR_CONTINGENCY_MAKER_H
#define LIBFABMGR_REPAIR_CONTINGENCY_MAKER_H

#include "libfabmgr/repair/contingency/contingency.h"
#include "libfabmgr/repair/internal.h"

/* Tells which table entries changed between an earlier state of the repair and the present one
 * (touched.c). since: the number of commits of the earlier state. */
struct fab_repair_touched {
    uint64_t since;
    /* bitset of the LIDs with changes; NULL: there are none yet, or memory ran out */
    uint64_t *lid;
    /* bitset of the channels over which changed entries forward packets */
    uint64_t *channel;
    bool any; /* true: fab_repair_contingency_follow has recorded a change */
};

struct fab_repair_contingency_maker {
    struct fab_repair *r; /* a clone that the maker owns */
    struct fab_lft lft;   /* the active tables, which belong to the state of `r` */
    struct fab_repair_load load;
    /* [rows] for each element of the collection, what fails: the lower port id of the link, or the
     * switch */
    uint32_t *id;
    size_t rows, links, cases; /* see struct fab_repair_contingencies */
    /* [queued] the elements of the collection whose failures must be examined, in this order */
    uint32_t *queue;
    /* queued: length of queue[]. next: index in queue[] of the failure to examine next. */
    size_t queued, next;
    /* [likelies] ports of the links that are likely to fail; the contingencies of these links come
     * first */
    uint32_t *likely;
    size_t likelies;
    /* true: queue[] was filled for the present state of the repair */
    bool ordered;
    struct fab_repair_touched touched;
    uint32_t untouched; /* result of fab_repair_contingency_untouched */
    const int *stop;
};

/* Returns true if the port belongs to an ISL that is not dead in the present state of the
 * repair. */
static inline bool fab_repair_is_living(const struct fab_repair *r, uint32_t port)
{
    return r->network->peer_sw[port] != FAB_NONE && !fab_repair_was_dead(r, port);
}

/* functions of collection.c */
/* Lists what fails for each element of the collection: the lower port id of each ISL, then the ids
 * of the switches that have ISLs. The caller frees *ret_id. Returns OK or NOMEM. */
int fab_repair_contingency_list_rows(const struct fab_repair_network *b, uint32_t **ret_id,
                                     size_t *ret_rows, size_t *ret_links);
size_t fab_repair_contingency_count_cases(const struct fab_repair *r, const uint32_t *id,
                                          size_t rows, size_t links);

/* functions of touched.c */
/* Records the change from the state `old` of a repair to its state `new`, which have the same
 * network. d: the entries that differ. If memory runs out, every plan later counts as touched by
 * the changes. */
void fab_repair_touched_add(struct fab_repair_touched *t, const struct fab_repair *old,
                            const struct fab_lft *old_lft, const struct fab_repair *new,
                            const struct fab_lft *new_lft, const struct fab_repair_delta *d);
/* Records the change from the state `old` to the state `new`, if the two states have different
 * networks that agree (fab_repair_networks_agree). Compares all entries of the tables. */
void fab_repair_touched_add_tables(struct fab_repair_touched *t, const struct fab_repair *old,
                                   const struct fab_lft *old_lft, const struct fab_repair *new,
                                   const struct fab_lft *new_lft);
/* Call this function when all plans have been found valid for the state with `commits` commits.
 * Forgets all recorded changes, because from now on only later changes matter. */
void fab_repair_touched_reset(struct fab_repair_touched *t, uint64_t commits);
/* Returns true if a plan is certainly still valid for the present state `r`. The plan was valid for
 * the state with `commits` commits. d: the decoded plan; all its dead links must be marked in r
 * (fab_repair_apply_dead). */
bool fab_repair_touched_spares(const struct fab_repair_touched *t, const struct fab_repair *r,
                               const struct fab_repair_delta *d, uint64_t commits);

/* Fills m->queue with the failures to examine (order.c). If memory runs out, the queue stays empty.
 */
void fab_repair_contingency_order(struct fab_repair_contingency_maker *m);

#endif
