/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The quality of tables: how evenly they spread traffic over the links, for the whole fabric or for
 * the endports of one job. The figures are computed from the fabric, the LIDs and the tables alone.
 * A channel is one direction of a working link between two switches; links to endports are not
 * considered.
 *
 * The loads and flows of a channel are multiplied by its slowness: the rate of the fastest channel,
 * divided by the rate of the channel. One flow on a 1x link counts as four if other links are 4x.
 */
#ifndef LIBFABMGR_STUDY_QUALITY_H
#define LIBFABMGR_STUDY_QUALITY_H

#include <stdbool.h>
#include <stdint.h>

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/target/target.h"

#define FAB_QUALITY_HOPS 65 /* number of elements of fab_quality.hops[] */
/* maximum number of channels in the list of the most loaded channels */
#define FAB_QUALITY_WORST 5
/* The default number of samples, which Hoefler et al. use for the effective bisection bandwidth. */
#define FAB_QUALITY_SAMPLES 1000
#define FAB_QUALITY_SAMPLES_MAX 100000u

struct fab_quality_input {
    const struct fab_fabric *fabric;
    const struct fab_lids *lids;
    const struct fab_lft *lft;
    /* Port ids of the job's endports in the order of its ranks, without duplicates. Each must have
     * a LID. NULL: all endports of the fabric that send and receive (no aggregation nodes), in
     * topological order. */
    const uint32_t *ends;
    uint32_t end_count;
    /* number of random permutations, and also number of random bisections; 0: none */
    uint32_t samples;
    uint64_t seed;
    /* maximum number of flows of all shifts that are measured in the topological order; 0: the
     * default (permutations.c) */
    uint32_t shift_flows;
    /* The functions of this header call this function often. If it returns true, the measurement
     * ends with BUSY. NULL: the measurement cannot be stopped. */
    bool (*stopped)(void *ctx);
    void *stopped_ctx;
};

/* All-to-all: every endport sends one unit to every other endport. */
struct fab_quality_all {
    /* Greatest load of a channel, in units. The literature calls this the edge forwarding index. */
    uint64_t max;
    /* No routing can have a lower `max` than this. The limit follows from the channels between a
     * leaf and other switches, because these channels must carry all traffic between the endports
     * of this leaf and the endports of other leaves (quality.c). */
    uint64_t bound;
    /* mean and standard deviation of the channel loads, over all channels; for a job, over the
     * channels that it uses */
    double mean, sigma;
    uint32_t unused; /* number of channels without load */
    /* The maximum over all channels of the lesser of two numbers: the number of endports that send
     * over the channel, and the number of endports that receive over it */
    uint32_t min_ends;
    uint32_t worst_count;
    /* the sending ports (ids) of the most loaded channels, by descending load */
    uint32_t worst[FAB_QUALITY_WORST];
    uint64_t worst_load[FAB_QUALITY_WORST];
};
/* Shift permutations: in the shift by k, endport i sends to endport i + k, modulo the number of
 * endports. */
struct fab_quality_shift {
    /* greatest number of flows that any shift puts on one channel */
    uint32_t max;
    /* each shift has a channel with the most flows: the mean, over all shifts, of the number of
     * flows on this channel */
    double mean;
    /* fraction (0..1) of an endport's bandwidth that a flow gets if only the most loaded channel on
     * its path limits it; mean over all flows of all shifts */
    double bandwidth;
    /* the lowest k for which the shift by k puts `max` flows on one channel */
    uint32_t worst;
    /* number of shifts that were tried; 0: there are fewer than two endports */
    uint32_t tried;
    /* true: all shifts were tried; false: only a sample */
    bool every;
};
/* Shifts of the same endports in orders other than the topological one: by NodeDescription, by node
 * GUID, and at random. (Jobs order their ranks as they like.) All figures are means over these
 * orders and the topological one. For a job, the order of its ranks is the only one. */
struct fab_quality_orders {
    uint32_t count;   /* number of orders */
    double max;       /* mean of fab_quality_shift.max */
    double mean;      /* mean of fab_quality_shift.mean */
    double bandwidth; /* mean of fab_quality_shift.bandwidth */
};
/* Random permutations: each endport sends one flow and receives one flow. */
struct fab_quality_random {
    /* median and maximum, over all random permutations, of the number of flows on the channel with
     * the most flows */
    uint32_t median, max;
    /* fraction (0..1) of an endport's bandwidth that a flow gets: mean over all flows of all
     * permutations */
    double bandwidth;
    uint32_t tried;
};
/* Random bisections: half of the endports, chosen at random, send to the other half. A flow gets an
 * equal share of the bandwidth of the most loaded channel on its path (Hoefler, Schneider,
 * Lumsdaine 2008). */
struct fab_quality_bisection {
    /* fraction (0..1) of an endport's bandwidth that a flow gets: mean over all flows of all
     * bisections */
    double mean;
    /* fraction (0..1) of an endport's bandwidth that a flow gets in the worst bisection: mean over
     * the flows of this bisection */
    double least;
    uint32_t tried;
};
struct fab_quality {
    /* number of measured endports, and number of switches to which they are attached (leaves) */
    uint32_t ends, leaves;
    uint32_t channels; /* number of channels of the fabric */
    /* number of ordered pairs of measured endports that the tables connect */
    uint64_t pairs;
    /* number of ordered pairs of measured endports that the tables do not connect. The other
     * figures do not count these pairs, except the bandwidths, in which their flows get 0. */
    uint64_t lost;
    struct fab_quality_all all;
    /* With any routing, there is a permutation that puts at least this number of flows on one
     * channel. */
    uint32_t permutation_bound;
    struct fab_quality_shift shift;
    struct fab_quality_orders orders;
    struct fab_quality_random random;
    struct fab_quality_bisection bisection;
    /* hops[i]: number of pairs with i switches on their path; the last element also counts all
     * pairs with longer paths */
    uint64_t hops[FAB_QUALITY_HOPS];
};

/* Computes all figures; equal input gives equal figures. Returns INVAL if a port of in->ends[] is
 * not an endport, has no LID in the LFTs, has no working link to a switch, or is listed twice. Also
 * returns NOMEM, or BUSY if stopped() returned true. */
int fab_study_quality_measure(const struct fab_quality_input *in, struct fab_quality *ret);
/* Lists the port ids of the endports that fab_study_quality_measure() measures, in the order that
 * shifts use. The caller frees the list. Returns the errors of fab_study_quality_measure(). */
int fab_study_quality_endports(const struct fab_quality_input *in, uint32_t **ret_ports,
                               uint32_t *ret_count);
/* Returns the greatest channel load of all-to-all traffic divided by the mean load; 0 if no channel
 * has a load. */
double fab_study_quality_imbalance(const struct fab_quality *q);
/* Returns the mean of the squares of the channel loads of all-to-all traffic, divided by the square
 * of their mean. The result is 1 if all channels have the same load. Unlike the greatest load, it
 * also shows differences between lower loads. */
double fab_study_quality_squares(const struct fab_quality *q);

#endif
