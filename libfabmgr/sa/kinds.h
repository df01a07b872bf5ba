/* SPDX-License-Identifier: BSD-3-Clause */
/* Kinds of records. For the files of this room. */
#ifndef LIBFABMGR_SA_KINDS_H
#define LIBFABMGR_SA_KINDS_H

#include "libfabmgr/sa/context.h"

/* How the records of one attribute are found: ports that own LIDs one after the other (q->from),
 * and of each some number of records. */
struct fab_sa_kind {
    const struct fab_rec *rec;
    bool lid_key; /* component 0 is the LID of such a port, others are compared */
    bool trusted; /* only who knows our SM_Key may ask */
    /* How many records `port` may have. */
    uint32_t (*count)(const struct fab_sa_query *q, uint32_t port);
    /* The k-th of them, into a struct of the record that is cleared; false: there is none. */
    bool (*fill)(struct fab_sa_query *q, uint32_t port, uint32_t k, void *ret_struct);
};
const struct fab_sa_kind *fab_sa_kind_of(uint16_t attr_id); /* NULL: none */

/* PathRecord and what is asked for in its terms. q->path and q->given are set by begin. */
extern const struct fab_sa_kind fab_sa_kind_path, fab_sa_kind_trace;
uint16_t fab_sa_begin_path(struct fab_sa_query *q, const struct fab_sa_request *req);
uint16_t fab_sa_begin_multi(struct fab_sa_query *q, const struct fab_sa_request *req);

/* The first partition, in the order of the table of `a`, in which both ports can talk: its key,
 * full where both are full members. Anyone may talk to itself. wanted: of this partition, 0: of
 * any. 0: there is none. */
uint16_t fab_sa_common_key(const struct fab_sa *sa, uint32_t a, uint32_t b, uint16_t wanted);
/* class.c: the traffic class of a path, its limits, and the P_Key that it shall have (0: any). */
uint8_t fab_sa_class(const struct fab_sa_query *q, uint32_t src, uint32_t dst, uint32_t lid,
                     uint16_t pkey);
void fab_sa_class_limits(const struct fab_sa_query *q, uint8_t class, unsigned *mtu, unsigned *rank,
                         unsigned *life);
uint16_t fab_sa_class_pkey(const struct fab_sa *sa, uint8_t class);
/* Whether the one who asks may know of a port (of an end, or port 0 of a switch). */
static inline bool fab_sa_may_see(const struct fab_sa_query *q, uint32_t port)
{
    return q->trusted || q->asker == FAB_NONE || fab_sa_common_key(q->sa, q->asker, port, 0) != 0;
}

/* The same MTU, rate or lifetime, or one that the selector lets us say instead; 0: none does. Best
 * of `have` and below for lifetimes, too. */
bool fab_sa_apply_selector(uint8_t selector, unsigned want, unsigned *value, bool exact_only);

#endif
