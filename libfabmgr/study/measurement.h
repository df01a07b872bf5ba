/* SPDX-License-Identifier: BSD-3-Clause */
/* The ends and channels that are measured. Private to the room. */
#ifndef LIBFABMGR_STUDY_MEASUREMENT_H
#define LIBFABMGR_STUDY_MEASUREMENT_H

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/study/quality.h"

struct fab_measured_endport {
    uint32_t port;
    uint32_t lid;
    uint32_t leaf; /* ordinal */
    uint8_t num;   /* of the leaf's port */
};
struct fab_measured_leaf {
    uint32_t sw;
    uint32_t ends; /* of those measured */
    uint32_t ways; /* its channels */
};
struct fab_measurement {
    const struct fab_quality_input *in;
    uint32_t switches, ports; /* port ids of switches are below this */
    uint32_t *first;          /* [switches] port id of port 0 */
    uint32_t *to;             /* [ports] the switch that it leads to, or FAB_NONE: no channel */
    uint32_t channels;
    struct fab_measured_endport *ends; /* in the order of shifts */
    uint32_t end_count;
    struct fab_measured_leaf *leaves;
    uint32_t leaf_count;
    uint32_t *leaf_at; /* [switches] ordinal, or FAB_NONE */
    size_t words;      /* of a row of: */
    uint64_t *broken;  /* [leaf_count][words] by end: the tables do not lead there from here */
};
/* As fab_study_quality_measure. */
int fab_study_measurement_make(const struct fab_quality_input *in, struct fab_measurement *ret);
void fab_study_measurement_fini(struct fab_measurement *f);
/* Orders the ends: leaves side by side that are near each other, ends of a leaf by port. */
int fab_study_measurement_order(struct fab_measurement *f);

static inline bool fab_study_measurement_stopped(const struct fab_measurement *f)
{
    return f->in->stopped != NULL && f->in->stopped(f->in->stopped_ctx);
}
static inline bool fab_study_measurement_leads(const struct fab_measurement *f, uint32_t src,
                                               uint32_t dst)
{
    return !fab_bits_get(f->broken + f->ends[src].leaf * f->words, dst);
}

int fab_study_measure_all_to_all(struct fab_measurement *f,
                                 struct fab_quality *q); /* finds what is broken, too */
int fab_study_measure_shifts(const struct fab_measurement *f, struct fab_quality_shift *ret);
int fab_study_measure_random(const struct fab_measurement *f, struct fab_quality_random *ret);
int fab_study_measure_bisections(const struct fab_measurement *f,
                                 struct fab_quality_bisection *ret);

#endif
