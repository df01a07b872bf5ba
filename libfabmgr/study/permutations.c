/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures permutations: shifts, random permutations and random bisections. Each flow is followed
 * through the LFTs. The walk cannot loop: the all-to-all measurement has marked the leaves whose
 * paths do not reach a destination, and their flows are left out.
 *
 * All shifts are tried if they have at most SHIFT_FLOWS flows together, that is, for up to 3,000
 * endports. Otherwise a random sample of shifts with that many flows is tried.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/study/measurement.h"

#define SHIFT_FLOWS 9000000u

struct traffic {
    const struct fab_measurement *f;
    struct fab_prng prng;
    /* [ports] number of flows of the current permutation over each channel */
    uint32_t *load;
    /* [end_count] indices of the endports: at first in ascending order, then in a random order for
     * each permutation */
    uint32_t *ends;
    /* [samples] greatest load of a channel in each random permutation */
    uint32_t *worst;
};

static int traffic_init(struct traffic *t, const struct fab_measurement *f, uint64_t salt,
                        uint32_t worst)
{
    *t = (struct traffic){.f = f};
    fab_base_prng_init(&t->prng, f->in->seed ^ salt);
    t->load = fab_base_alloc_array(f->ports, sizeof *t->load);
    t->ends = fab_base_alloc_array(f->end_count, sizeof *t->ends);
    t->worst = fab_base_alloc_array(worst, sizeof *t->worst);
    for (uint32_t i = 0; t->ends != NULL && i < f->end_count; i++)
        t->ends[i] = i;
    return t->load && t->ends && t->worst ? FAB_OK : FAB_E_NOMEM;
}

static void traffic_fini(struct traffic *t)
{
    free(t->load);
    free(t->ends);
    free(t->worst);
}

static void clear(struct traffic *t)
{
    memset(t->load, 0, t->f->ports * sizeof *t->load);
}

/* Adds one flow from endport `src` to endport `dst` to the loads of the channels on its path.
 * Returns the greatest load among these channels; 0: the path does not reach the destination. */
static uint32_t flow(struct traffic *t, uint32_t src, uint32_t dst)
{
    const struct fab_measurement *f = t->f;
    const struct fab_lft *lft = f->in->lft;
    uint32_t home = f->leaves[f->ends[dst].leaf].sw, lid = f->ends[dst].lid, most = 0;
    if (!fab_study_measurement_leads(f, src, dst))
        return 0;
    for (uint32_t sw = f->leaves[f->ends[src].leaf].sw; sw != home;) {
        uint32_t channel = f->first[sw] + fab_target_lft_at(lft, sw, lid);
        uint32_t load = ++t->load[channel];
        most = load > most ? load : most;
        sw = f->to[channel];
    }
    return most;
}

/* Returns the part (0..1) of an endport's bandwidth that the flow from `src` to `dst` gets; 0: its
 * path does not reach the destination. Before the call, load[] must have the loads of all flows
 * that are active at the same time. */
static double share(const struct traffic *t, uint32_t src, uint32_t dst)
{
    const struct fab_measurement *f = t->f;
    const struct fab_lft *lft = f->in->lft;
    uint32_t home = f->leaves[f->ends[dst].leaf].sw, lid = f->ends[dst].lid, most = 1;
    if (!fab_study_measurement_leads(f, src, dst))
        return 0;
    for (uint32_t sw = f->leaves[f->ends[src].leaf].sw; sw != home;) {
        uint32_t channel = f->first[sw] + fab_target_lft_at(lft, sw, lid);
        most = t->load[channel] > most ? t->load[channel] : most;
        sw = f->to[channel];
    }
    return 1.0 / most;
}

/* ---- shifts ---------------------------------------------------------------------------------- */

static uint32_t shift(struct traffic *t, uint32_t k)
{
    uint32_t n = t->f->end_count, most = 0;
    clear(t);
    for (uint32_t src = 0, dst = k; src < n; src++, dst++) {
        dst = dst < n ? dst : dst - n;
        uint32_t load = flow(t, src, dst);
        most = load > most ? load : most;
    }
    return most;
}

int fab_study_measure_shifts(const struct fab_measurement *f, struct fab_quality_shift *ret)
{
    struct fab_quality_shift s = {0};
    struct traffic t;
    uint32_t all = f->end_count > 1 ? f->end_count - 1 : 0;
    uint32_t some = f->end_count > 0 ? SHIFT_FLOWS / f->end_count : 0;
    int rc = traffic_init(&t, f, 1, 0);
    s.every = all <= some;
    /* ends[1] to ends[all] are the numbers of the shifts, in random order if only a sample is
     * tried */
    if (rc == FAB_OK && !s.every)
        fab_base_prng_shuffle(&t.prng, t.ends + 1, all);
    while (rc == FAB_OK && s.tried < (s.every ? all : some)) {
        uint32_t k = t.ends[++s.tried], most = shift(&t, k);
        if (most > s.max || (most == s.max && k < s.worst)) {
            s.max = most;
            s.worst = k;
        }
        rc = fab_study_measurement_stopped(f) ? FAB_E_BUSY : FAB_OK;
    }
    traffic_fini(&t);
    if (rc == FAB_OK)
        *ret = s;
    return rc;
}

/* ---- random permutations --------------------------------------------------------------------- */

static uint32_t permute(struct traffic *t)
{
    uint32_t most = 0;
    clear(t);
    fab_base_prng_shuffle(&t->prng, t->ends, t->f->end_count);
    for (uint32_t src = 0; src < t->f->end_count; src++) {
        uint32_t load = src != t->ends[src] ? flow(t, src, t->ends[src]) : 0;
        most = load > most ? load : most;
    }
    return most;
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

int fab_study_measure_random(const struct fab_measurement *f, struct fab_quality_random *ret)
{
    struct traffic t;
    uint32_t samples = f->end_count > 1 ? f->in->samples : 0;
    int rc = traffic_init(&t, f, 2, samples);
    for (uint32_t i = 0; i < samples && rc == FAB_OK; i++) {
        t.worst[i] = permute(&t);
        rc = fab_study_measurement_stopped(f) ? FAB_E_BUSY : FAB_OK;
    }
    if (rc == FAB_OK && samples > 0) {
        qsort(t.worst, samples, sizeof *t.worst, by_value);
        *ret = (struct fab_quality_random){t.worst[samples / 2], t.worst[samples - 1], samples};
    }
    traffic_fini(&t);
    return rc;
}

/* ---- random bisections ----------------------------------------------------------------------- */

static double bisect(struct traffic *t)
{
    uint32_t half = t->f->end_count / 2;
    double sum = 0;
    clear(t);
    fab_base_prng_shuffle(&t->prng, t->ends, t->f->end_count);
    for (uint32_t i = 0; i < half; i++)
        flow(t, t->ends[i], t->ends[half + i]);
    for (uint32_t i = 0; i < half; i++)
        sum += share(t, t->ends[i], t->ends[half + i]);
    return sum / half;
}

int fab_study_measure_bisections(const struct fab_measurement *f, struct fab_quality_bisection *ret)
{
    struct fab_quality_bisection b = {0};
    struct traffic t;
    uint32_t samples = f->end_count > 1 ? f->in->samples : 0;
    int rc = traffic_init(&t, f, 3, 0);
    for (b.least = 1; b.tried < samples && rc == FAB_OK; b.tried++) {
        double bandwidth = bisect(&t);
        b.mean += bandwidth / samples;
        b.least = bandwidth < b.least ? bandwidth : b.least;
        rc = fab_study_measurement_stopped(f) ? FAB_E_BUSY : FAB_OK;
    }
    traffic_fini(&t);
    if (rc == FAB_OK && samples > 0)
        *ret = b;
    return rc;
}
