/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The quality of tables: how evenly they spread traffic over the links, for the whole fabric or for
 * the endports of one job. It is computed from the fabric, the LIDs and the tables alone. A channel
 * is one direction of a working link between two switches; links to endports are not considered.
 */
#ifndef LIBFABMGR_STUDY_QUALITY_H
#define LIBFABMGR_STUDY_QUALITY_H

#include <stdbool.h>
#include <stdint.h>

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/target/target.h"

#define FAB_QUALITY_HOPS 65 /* number of elements of fab_quality.hops[] */
#define FAB_QUALITY_WORST 5 /* number of most loaded channels that are reported */
/* Hoefler et al. use this number for the effective bisection bandwidth. */
#define FAB_QUALITY_SAMPLES 1000
#define FAB_QUALITY_SAMPLES_MAX 100000u

struct fab_quality_input {
    const struct fab_fabric *fabric;
    const struct fab_lids *lids;
    const struct fab_lft *lft;
    /* Port ids of the job's endports in the order of its ranks. Each must own a LID; duplicates are
     * not allowed. NULL: all endports of the fabric that send and receive (no aggregation nodes),
     * in topological order. */
    const uint32_t *ends;
    uint32_t end_count;
    uint32_t samples; /* number of random permutations, and of random bisections; 0: none */
    uint64_t seed;
    bool (*stopped)(void *ctx); /* called often; when it returns true, the measurement ends with
                                   BUSY. May be NULL */
    void *stopped_ctx;
};

/* All-to-all: every endport sends one unit to every other endport. */
struct fab_quality_all {
    uint64_t max;   /* greatest load of a channel, in units: the edge forwarding index */
    uint64_t bound; /* lower bound of max for any routing, from the links of the leaves */
    /* mean and standard deviation of the load over all channels. For a job, only the channels that
     * it uses are considered. */
    double mean, sigma;
    uint32_t unused;   /* channels without load */
    uint32_t min_ends; /* greatest min(sending endports, receiving endports) of a channel */
    uint32_t worst_count;
    uint32_t worst[FAB_QUALITY_WORST]; /* port ids of the most loaded channels, by descending
                                          load */
    uint64_t worst_load[FAB_QUALITY_WORST];
};
/* Permutations: each endport sends one flow and receives one flow. */
struct fab_quality_shift { /* endport i sends to endport i + k, modulo the number of endports */
    uint32_t max;          /* greatest number of flows on a channel */
    uint32_t worst;        /* the least k whose shift has this maximum */
    uint32_t tried;        /* number of shifts; 0: there are fewer than two endports */
    bool every;            /* all k were tried */
};
struct fab_quality_random {
    uint32_t median, max; /* over all permutations: flows on the most loaded channel */
    uint32_t tried;
};
/* Half of the endports, chosen at random, send to the other half. A flow gets an equal share of the
 * bandwidth of that channel on its path which carries the most flows (Hoefler, Schneider, Lumsdaine
 * 2008). */
struct fab_quality_bisection {
    double mean;  /* mean share of a flow: 0..1 of the bandwidth of an endport */
    double least; /* the mean share of a flow in the worst bisection, 0..1 */
    uint32_t tried;
};
struct fab_quality {
    uint32_t ends, leaves; /* leaves: number of switches that the endports are attached to */
    uint32_t channels;     /* of the fabric */
    uint64_t pairs;        /* ordered pairs of endports that the tables connect */
    uint64_t lost;         /* ordered pairs not connected; no other figure includes them */
    struct fab_quality_all all;
    uint32_t permutation_bound; /* lower bound of the worst permutation's max, for any routing */
    struct fab_quality_shift shift;
    struct fab_quality_random random;
    struct fab_quality_bisection bisection;
    /* hops[i]: number of pairs with i switches on their path; the last element counts all longer
     * paths, too */
    uint64_t hops[FAB_QUALITY_HOPS];
};

/* Computes all figures; equal input gives equal figures. Returns INVAL if an endport owns no LID,
 * is attached to no switch or is listed twice, BUSY if stopped() returned true, or NOMEM. */
int fab_study_quality_measure(const struct fab_quality_input *in, struct fab_quality *ret);
/* Lists the measured endports as port ids, in the order that shifts use; the caller frees the list.
 * Returns the errors of fab_study_quality_measure(). */
int fab_study_quality_endports(const struct fab_quality_input *in, uint32_t **ret_ports,
                               uint32_t *ret_count);
/* Returns max / mean of all-to-all; 0 if no channel has load. */
double fab_study_quality_imbalance(const struct fab_quality *q);

#endif
