/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes all figures, and lower bounds of some of them.
 *
 * A lower bound follows from the links of each leaf. A leaf has h endports, and its channels to
 * other switches have u times the capacity of the fastest channel. The other leaves have h'
 * endports. With all-to-all traffic, the channels of the leaf must carry h * h' units. There is
 * also a permutation in which min(h, h') endports of the leaf send over these channels at the same
 * time. So on one of the channels, the load is at least h * h' / u, and the number of flows of this
 * permutation at least min(h, h') / u, both rounded up.
 */
#include "libfabmgr/study/quality.h"

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/study/measurement.h"

static uint64_t divide_up(uint64_t x, double y)
{
    uint64_t down = (uint64_t)((double)x / y);
    return down + ((double)down * y < (double)x);
}

static void bound(const struct fab_measurement *f, struct fab_quality *q)
{
    for (uint32_t i = 0; i < f->leaf_count; i++) {
        uint64_t here = f->leaves[i].ends, there = f->end_count - here;
        double capacity = f->leaves[i].capacity;
        if (capacity <= 0)
            continue;
        uint64_t all = divide_up(here * there, capacity);
        uint32_t one = (uint32_t)divide_up(here < there ? here : there, capacity);
        q->all.bound = all > q->all.bound ? all : q->all.bound;
        q->permutation_bound = one > q->permutation_bound ? one : q->permutation_bound;
    }
}

int fab_study_quality_measure(const struct fab_quality_input *in, struct fab_quality *ret)
{
    struct fab_measurement f;
    int rc = fab_study_measurement_make(in, &f);
    if (rc < 0)
        return rc;
    struct fab_quality q = {.ends = f.end_count, .leaves = f.leaf_count, .channels = f.channels};
    rc = fab_study_measure_all_to_all(&f, &q);
    if (rc == FAB_OK)
        rc = fab_study_measure_shifts(&f, &q.shift);
    if (rc == FAB_OK)
        rc = fab_study_measure_orders(&f, &q.shift, &q.orders);
    if (rc == FAB_OK)
        rc = fab_study_measure_random(&f, &q.random);
    if (rc == FAB_OK)
        rc = fab_study_measure_bisections(&f, &q.bisection);
    bound(&f, &q);
    fab_study_measurement_fini(&f);
    if (rc == FAB_OK)
        *ret = q;
    return rc;
}

int fab_study_quality_endports(const struct fab_quality_input *in, uint32_t **ret_ports,
                               uint32_t *ret_count)
{
    struct fab_measurement f;
    int rc = fab_study_measurement_make(in, &f);
    if (rc < 0)
        return rc;
    uint32_t *ports = fab_base_alloc_array(f.end_count, sizeof *ports);
    for (uint32_t i = 0; ports != NULL && i < f.end_count; i++)
        ports[i] = f.ends[i].port;
    uint32_t count = f.end_count;
    fab_study_measurement_fini(&f);
    if (ports == NULL)
        return FAB_E_NOMEM;
    *ret_ports = ports;
    *ret_count = count;
    return FAB_OK;
}

double fab_study_quality_imbalance(const struct fab_quality *q)
{
    return q->all.mean > 0 ? (double)q->all.max / q->all.mean : 0;
}

double fab_study_quality_squares(const struct fab_quality *q)
{
    double spread = q->all.mean > 0 ? q->all.sigma / q->all.mean : 0;
    return 1 + spread * spread;
}
