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
    uint32_t leaf; /* index in leaves[] */
    /* port of the leaf switch to which the endport is attached */
    uint8_t num;
};
struct fab_measured_leaf {
    uint32_t sw;
    uint32_t ends; /* number of measured endports at the leaf */
    /* capacity of all channels from the leaf to other switches together, in units of the capacity
     * of the fastest channel of the fabric */
    double capacity;
};
struct fab_measurement {
    struct fab_arena arena; /* memory of the arrays */
    const struct fab_quality_input *in;
    /* number of switches, and number of all their ports; the ports of switches have the ids 0 to
     * `ports` - 1 */
    uint32_t switches, ports;
    /* [switches] id of port 0 of each switch */
    uint32_t *first;
    /* [ports] the switch at the other end of each port's link; FAB_NONE: no link to a switch */
    uint32_t *to;
    uint32_t channels;
    /* [ports] rate of the fastest channel divided by the rate of this channel, at least 1; 0: the
     * port has no channel */
    uint8_t *slow;
    /* [end_count] the endports that are measured; in the shift by k, endport i sends to endport i +
     * k */
    struct fab_measured_endport *ends;
    uint32_t end_count;
    struct fab_measured_leaf *leaves; /* [leaf_count] */
    uint32_t leaf_count;
    /* [switches] index of each switch in leaves[]; FAB_NONE: the switch is not a leaf */
    uint32_t *leaf_at;
    /* number of 64-bit words of a set of endports */
    size_t words;
    /* [leaf_count][words] for each leaf, the set of the endports that packets from this leaf do not
     * reach */
    uint64_t *broken;
};
/* Finds the endports and channels to measure. Returns the errors of fab_study_quality_measure(). */
int fab_study_measurement_make(const struct fab_quality_input *in, struct fab_measurement *ret);
void fab_study_measurement_fini(struct fab_measurement *f);
/* Sorts leaves[] and ends[] for shift permutations. Afterwards leaves with few hops between them
 * are adjacent in leaves[], and ends[] is sorted by leaf, and then by the leaf's port. Returns
 * NOMEM if there is no memory. */
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

/* Each of these functions computes the figures of one traffic pattern. Each returns NOMEM, or BUSY
 * if the caller stopped the measurement. fab_study_measure_all_to_all also fills broken[], which
 * the other functions need. */
int fab_study_measure_all_to_all(struct fab_measurement *f, struct fab_quality *q);
int fab_study_measure_shifts(const struct fab_measurement *f, struct fab_quality_shift *ret);
/* Measures shifts of the endports in other orders. own: the figures of the shifts in the
 * topological order, which count as one of these orders. */
int fab_study_measure_orders(const struct fab_measurement *f, const struct fab_quality_shift *own,
                             struct fab_quality_orders *ret);
int fab_study_measure_random(const struct fab_measurement *f, struct fab_quality_random *ret);
int fab_study_measure_bisections(const struct fab_measurement *f,
                                 struct fab_quality_bisection *ret);

#endif
