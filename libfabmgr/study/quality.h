/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How good tables are, from the fabric, the LIDs and the tables alone: how evenly they spread
 * traffic over the cables, for the whole fabric or for the hosts of one job. A channel is one
 * direction of a working cable between two switches; cables to ends are not looked at.
 */
#ifndef LIBFABMGR_STUDY_QUALITY_H
#define LIBFABMGR_STUDY_QUALITY_H

#include <stdbool.h>
#include <stdint.h>

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/target/target.h"

#define FAB_QUALITY_HOPS 65      /* the last counts all longer ones too */
#define FAB_QUALITY_WORST 5      /* channels that are named */
#define FAB_QUALITY_SAMPLES 1000 /* what Hoefler et al. take for effective bisection bandwidth */
#define FAB_QUALITY_SAMPLES_MAX 100000u

struct fab_quality_input {
    const struct fab_fabric *fabric;
    const struct fab_lids *lids;
    const struct fab_lft *lft;
    /* Port ids, in the order of the job's ranks; each owns a LID, none comes twice. NULL: all ends
     * of the fabric that send and receive (no aggregation nodes), in topological order. */
    const uint32_t *ends;
    uint32_t end_count;
    uint32_t samples; /* random permutations, and random bisections; 0: none */
    uint64_t seed;
    bool (*stopped)(void *ctx); /* asked often; true: give up. May be NULL */
    void *stopped_ctx;
};

/* Every end sends one unit to every other end. */
struct fab_quality_all {
    uint64_t max;       /* of the units that one channel carries: the edge forwarding index */
    uint64_t bound;     /* no routing has a lower max: a leaf's own cables have to carry it */
    double mean, sigma; /* over all channels; of a job: over those that it uses */
    uint32_t unused;    /* channels that carry nothing */
    uint32_t min_ends;  /* max over channels of min(ends that send, ends that receive over it) */
    uint32_t worst_count;
    uint32_t worst[FAB_QUALITY_WORST]; /* port ids, by load and then by id */
    uint64_t worst_load[FAB_QUALITY_WORST];
};
/* Permutations: each end sends to one and receives from one; max: flows over one channel. */
struct fab_quality_shift { /* end i to end i + k, for all k or some */
    uint32_t max;
    uint32_t worst; /* the least k that has it */
    uint32_t tried; /* 0: there are too few ends */
    bool every;
};
struct fab_quality_random {
    uint32_t median, max; /* over permutations, of the flows over the worst channel */
    uint32_t tried;
};
/* Half of the ends, drawn by lot, send to the other half; a flow gets the share that the most
 * crowded channel on its way leaves it. (Hoefler, Schneider, Lumsdaine 2008.) */
struct fab_quality_bisection {
    double mean;  /* 0..1 of the bandwidth of an end */
    double least; /* of one matching */
    uint32_t tried;
};
struct fab_quality {
    uint32_t ends, leaves; /* leaves: switches that they sit at */
    uint32_t channels;     /* of the fabric */
    uint64_t pairs;        /* ordered, that the tables lead to each other */
    uint64_t lost;         /* ordered, that they do not; they count nowhere else */
    struct fab_quality_all all;
    uint32_t permutation_bound; /* the worst permutation has no lower max */
    struct fab_quality_shift shift;
    struct fab_quality_random random;
    struct fab_quality_bisection bisection;
    uint64_t hops[FAB_QUALITY_HOPS]; /* pairs by the switches on their way */
};

/* NOMEM; INVAL: an end owns no LID, is at no switch, or comes twice; BUSY: stopped. The same input
 * gives the same figures. */
int fab_study_quality_measure(const struct fab_quality_input *in, struct fab_quality *ret);
/* The ends that are measured, as port ids in the order of the shifts. Caller frees. As
 * fab_study_quality_measure. */
int fab_study_quality_endports(const struct fab_quality_input *in, uint32_t **ret_ports,
                               uint32_t *ret_count);
/* max / mean of all-to-all; 0 when nothing crosses a channel. */
double fab_study_quality_imbalance(const struct fab_quality *q);

#endif
