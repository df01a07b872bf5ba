/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of a scenario for congestion control: a fabric with tables, the traffic, and the
 * settings. */
#ifndef TESTS_BENCH_CONGESTION_SCENE_H
#define TESTS_BENCH_CONGESTION_SCENE_H

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/traffic/traffic.h"
#include "tests/bench/bench.h"

#define US FAB_TRAFFIC_US

/* ---- scene.c: fabrics ------------------------------------------------------------------------ */

struct scene {
    const char *name;
    struct fab_fabric *fabric;
    struct fab_policy policy;
    struct fab_lids lids;
    struct fab_lft lft;
    struct fab_vls vls;
    /* [ends] port ids of the endports, leaf by leaf */
    uint32_t *end, ends;
    uint32_t leaf; /* number of endports of a leaf */
};
/* Makes the fabric `name`: "64", "324", "648" or "2000", the number of endports. slow: the endports
 * of the first leaf have 14 Gb/s, about a seventh of the rate of the other endports. */
void scene_init(struct scene *s, const char *name, bool slow);
void scene_fini(struct scene *s);

/* ---- plans.c: traffic ------------------------------------------------------------------------ */

enum role {
    /* a flow that is not part of an incast, but shares a link with one, so it may lose rate (in
     * scenarios without an incast: every flow) */
    BESIDE,
    /* a flow that is not part of an incast and uses none of its links */
    FAR,
    SENDER, /* a sender of the incast */
    /* the sender of an incast that goes on sending when the other senders have stopped */
    LAST,
    ROLES,
};
struct plan {
    struct fab_traffic_flow *flow;
    uint8_t *role; /* enum role */
    uint32_t count, room;
    /* time in the model: the incast lasts from `from` to `until`, and the run ends at `end` */
    uint64_t from, until, end;
    /* rate in Gb/s that all targets of the incasts can receive together; 0: there is no incast */
    double hot_gbps;
    /* for incasts of bursts: the shortest possible time of one burst, in us; 0: no bursts */
    double burst_us;
};
struct scenario {
    const char *name, *fabric;
    void (*plan)(const struct scene *s, uint32_t size, struct fab_prng *prng, struct plan *p);
    uint32_t size; /* number of senders */
    bool one_end;  /* all senders send to the same endport */
    bool slow;
};
extern const struct scenario scenarios[]; /* the last entry has no name */
void plan_fini(struct plan *p);

/* ---- settings.c: settings of managers -------------------------------------------------------- */

enum who {
    ALONE, /* without the incast and without congestion control */
    OFF,
    ZEROS,
    PLUGIN,
    OPA,
    /* fabricd's settings with profile "balanced", without a configured fan-in */
    OURS,
    INCAST, /* profile "incast"; COLLECTIVE: profile "collective" */
    COLLECTIVE,
    /* fabricd's settings with profile "balanced", with the number of senders as the configured
     * fan-in */
    TOLD,
    WHOS
};
extern const char *const who_names[WHOS];
/* Makes the congestion control settings of a manager (OFF and ALONE: none). senders: number of
 * senders to one endport. */
void settings(struct scene *s, enum who who, uint32_t senders, struct fab_congestion *ret);

#endif
