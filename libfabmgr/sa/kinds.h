/* SPDX-License-Identifier: BSD-3-Clause */
/* Kinds of records that subnet administration computes from the view. For this folder only. */
#ifndef LIBFABMGR_SA_KINDS_H
#define LIBFABMGR_SA_KINDS_H

#include "libfabmgr/sa/context.h"

/* How the records of one attribute are made. The query calls these functions for each port in
 * q->from (for paths: each source). count() returns the maximum number of records of the port, and
 * fill() makes one record. */
struct fab_sa_kind {
    const struct fab_rec *rec;
    /* true: component 0 of the record is the LID. The query uses it to find the port, and compares
     * only the other components. */
    bool lid_key;
    /* true: only requesters that gave the SM_Key may read this attribute */
    bool trusted;
    /* Returns the maximum number of records of `port`. */
    uint32_t (*count)(const struct fab_sa_query *q, uint32_t port);
    /* Fills in record number k of `port`, from 0. The caller has set the struct to zero. Returns
     * false if there is no such record. */
    bool (*fill)(struct fab_sa_query *q, uint32_t port, uint32_t k, void *ret_struct);
};
/* Returns how records of an attribute are made; NULL: the attribute is not supported. */
const struct fab_sa_kind *fab_sa_kind_of(uint16_t attr_id);

/* The kinds of path.c: PathRecord, and attributes with the same components. fab_sa_begin_path and
 * fab_sa_begin_multi write the values of the request to q->path, and note in q->given which
 * components the request selects. */
extern const struct fab_sa_kind fab_sa_kind_path, fab_sa_kind_trace;
uint16_t fab_sa_begin_path(struct fab_sa_query *q, const struct fab_sa_request *req);
uint16_t fab_sa_begin_multi(struct fab_sa_query *q, const struct fab_sa_request *req);

/* Returns the P_Key of the first partition, in the order of a's P_Key table, in which ports a and b
 * can communicate. `wanted`: only the partition with this P_Key counts; 0: all partitions count.
 * The result has the full-member bit if both ports are full members. A port can always communicate
 * with itself. Returns 0 if there is no such partition. */
uint16_t fab_sa_common_key(const struct fab_sa *sa, uint32_t a, uint32_t b, uint16_t wanted);
/* Functions of class.c: the traffic class of a path, the limits of a class, and the P_Key of the
 * partition that a class requires (0: any partition). */
uint8_t fab_sa_class(const struct fab_sa_query *q, uint32_t src, uint32_t dst, uint32_t lid,
                     uint16_t pkey);
void fab_sa_class_limits(const struct fab_sa_query *q, uint8_t class, unsigned *mtu, unsigned *rank,
                         unsigned *life);
uint16_t fab_sa_class_pkey(const struct fab_sa *sa, uint8_t class);
/* Applies a selector of PathRecord (IBA 15.2.5.16) to *value, which is the MTU, the rank of the
 * rate, or the lifetime of a path. `want`: the value in the request. Lowers *value if the selector
 * demands less. exact_only: "exactly" matches only an equal value. Returns false if the path does
 * not match. */
bool fab_sa_apply_selector(uint8_t selector, unsigned want, unsigned *value, bool exact_only);

#endif
