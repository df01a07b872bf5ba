/* SPDX-License-Identifier: BSD-3-Clause */
/* Kinds of records that subnet administration computes from the view. For this folder only. */
#ifndef LIBFABMGR_SA_KINDS_H
#define LIBFABMGR_SA_KINDS_H

#include "libfabmgr/sa/context.h"

/* Tells how the records of one attribute are made. For each port in q->from (for paths, these are
 * the sources), the query first calls count(), and then fill() for each record. */
struct fab_sa_kind {
    const struct fab_rec *rec;
    /* true: component 0 of the record is the LID. The query finds the port by this LID, and
     * compares only the other components. */
    bool lid_key;
    /* true: only requesters that have sent the right SM_Key may read this attribute */
    bool trusted;
    /* Returns the maximum number of records of `port`. */
    uint32_t (*count)(const struct fab_sa_query *q, uint32_t port);
    /* Fills in record number k of `port`, from 0. The caller has set the struct to zero. Returns
     * false if there is no such record. */
    bool (*fill)(struct fab_sa_query *q, uint32_t port, uint32_t k, void *ret_struct);
};
/* Returns the kind of records for an attribute; NULL: the attribute is not supported. */
const struct fab_sa_kind *fab_sa_kind_of(uint16_t attr_id);

/* The kinds of records in path.c, with the functions that begin queries of them. fab_sa_begin_path
 * (PathRecord, TraceRecord) and fab_sa_begin_multi (MultiPathRecord) copy the values of the request
 * to q->path, and set the bits of the members of q->given whose components the request selects.
 * They return 0, or the SA status for the answer. */
extern const struct fab_sa_kind fab_sa_kind_path, fab_sa_kind_trace;
uint16_t fab_sa_begin_path(struct fab_sa_query *q, const struct fab_sa_request *req);
uint16_t fab_sa_begin_multi(struct fab_sa_query *q, const struct fab_sa_request *req);

/* Returns the P_Key of a partition in which ports `a` and `b` can communicate; 0 if there is none.
 * If there are several, returns the first one in the P_Key table of `a`. If `wanted` is not 0,
 * considers only the partition with this P_Key. The result has the full-member bit if both ports
 * are full members. A port can always communicate with itself. */
uint16_t fab_sa_common_key(const struct fab_sa *sa, uint32_t a, uint32_t b, uint16_t wanted);
/* Functions of class.c. fab_sa_class returns the traffic class of a path. fab_sa_class_limits
 * lowers *mtu and *rank to the limits of a class, and replaces *life, unless it is 0, by the
 * lifetime of the class, if the class has one. fab_sa_class_pkey returns the P_Key of the partition
 * that a class requires; 0: any partition. */
uint8_t fab_sa_class(const struct fab_sa_query *q, uint32_t src, uint32_t dst, uint32_t lid,
                     uint16_t pkey);
void fab_sa_class_limits(const struct fab_sa_query *q, uint8_t class, unsigned *mtu, unsigned *rank,
                         unsigned *life);
uint16_t fab_sa_class_pkey(const struct fab_sa *sa, uint8_t class);
/* Applies a selector of PathRecord (IBA 15.2.5.16) to *value, which is the MTU, the rank of the
 * rate, or the lifetime of a path. want: the value in the request. Lowers *value if the selector
 * demands a lower value than the path has. If `exact_only` is true, the selector "exactly" matches
 * only an equal value, otherwise also a higher one. Returns false if the path does not match;
 * *value is then not valid. */
bool fab_sa_apply_selector(uint8_t selector, unsigned want, unsigned *value, bool exact_only);

#endif
