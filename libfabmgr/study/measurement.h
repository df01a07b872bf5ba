/* SPDX-License-Identifier: BSD-3-Clause */
/* The endports and channels that a measurement covers. Only this folder uses this header. */
#ifndef LIBFABMGR_STUDY_MEASUREMENT_H
#define LIBFABMGR_STUDY_MEASUREMENT_H

#include "libfabmgr/base/arena.h"
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/study/quality.h"

struct fab_measured_endport {
    uint32_t port;
    uint32_t lid;
    uint32_t leaf; /* index of leaves[] */
    uint8_t num;   /* port number of the leaf switch */
};
struct fab_measured_leaf {
    uint32_t sw;
    uint32_t ends;     /* number of measured endports at the leaf */
    uint32_t channels; /* number of channels to other switches */
};
struct fab_measurement {
    struct fab_arena arena; /* of the arrays */
    const struct fab_quality_input *in;
    uint32_t switches, ports; /* ports: number of port ids of switches, the lowest ids */
    uint32_t *first;          /* [switches] id of port 0 of the switch */
    uint32_t *to;             /* [ports] the switch that the channel leads to, or FAB_NONE */
    uint32_t channels;
    /* [end_count] the measured endports in the order of shifts */
    struct fab_measured_endport *ends;
    uint32_t end_count;
    struct fab_measured_leaf *leaves; /* [leaf_count] */
    uint32_t leaf_count;
    uint32_t *leaf_at; /* [switches] index of leaves[], or FAB_NONE */
    size_t words;      /* 64-bit words of a set of endports */
    uint64_t *broken;  /* [leaf_count][words] endports that the leaf's paths do not reach */
};
/* Finds the endports and channels to measure. Returns the errors of fab_study_quality_measure(). */
int fab_study_measurement_make(const struct fab_quality_input *in, struct fab_measurement *ret);
void fab_study_measurement_fini(struct fab_measurement *f);
/* Orders the endports so that leaves near each other are adjacent, and the endports of a leaf are
 * in the order of its ports. Returns NOMEM if there is no memory. */
int fab_study_measurement_order(struct fab_measurement *f);

static inline bool fab_study_measurement_stopped(const struct fab_measurement *f)
{
    return f->in->stopped != NULL && f->in->stopped(f->in->stopped_ctx);
}
static inline bool fab_study_measurement_leads(const struct fab_measurement *f, uint32_t src,
                                               uint32_t dst)
{
    return !fab_base_bits_get(f->broken + f->ends[src].leaf * f->words, dst);
}

/* These functions compute the figures of one traffic pattern each. Each returns NOMEM, or BUSY if
 * the caller stopped the measurement. fab_study_measure_all_to_all also fills broken[], which the
 * other three need. */
int fab_study_measure_all_to_all(struct fab_measurement *f, struct fab_quality *q);
int fab_study_measure_shifts(const struct fab_measurement *f, struct fab_quality_shift *ret);
int fab_study_measure_random(const struct fab_measurement *f, struct fab_quality_random *ret);
int fab_study_measure_bisections(const struct fab_measurement *f,
                                 struct fab_quality_bisection *ret);

#endif
