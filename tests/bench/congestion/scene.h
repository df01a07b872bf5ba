/* SPDX-License-Identifier: BSD-3-Clause */
/* Scenarios for congestion control: a fabric with tables, the traffic, and the settings. */
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
    uint32_t *end, ends; /* port ids of endports, leaf by leaf */
    uint32_t leaf;       /* endports of a leaf */
};
/* "64", "324", "648" or "2000", the number of endports; slow: the endports of the first leaf have a
 * tenth of the others' rate. */
void scene_init(struct scene *s, const char *name, bool slow);
void scene_fini(struct scene *s);

/* ---- plans.c: what is sent ------------------------------------------------------------------- */

enum role {
    BESIDE, /* not in an incast, but on links that one uses: victims (in runs without an incast:
               all flows) */
    FAR,    /* not in an incast, and not on its links */
    CROWD,  /* the senders of the incast */
    LAST,   /* the sender that continues when the others have stopped */
    ROLES,
};
struct plan {
    struct fab_traffic_flow *flow;
    uint8_t *role; /* enum role */
    uint32_t count, room;
    uint64_t from, until, end; /* the incast lasts from .. until; the run ends at `end` */
    double hot_gbps;           /* rate that all hot spots can receive together; 0: no hot spots */
    double burst_us;           /* incasts of bursts: the shortest possible time of one; 0: no
                                  bursts */
};
struct scenario {
    const char *name, *fabric;
    void (*plan)(const struct scene *s, uint32_t size, struct fab_prng *prng, struct plan *p);
    uint32_t size; /* number of senders */
    bool one_end;  /* all of them send to the same endport */
    bool slow;
};
extern const struct scenario scenarios[]; /* ends with an entry without a name */
void plan_fini(struct plan *p);

/* ---- settings.c: who set what ---------------------------------------------------------------- */

enum who {
    ALONE, /* without the incast and without congestion control */
    OFF,
    ZEROS,
    PLUGIN,
    OPA,
    OURS,   /* the profile "balanced" without a configured fan-in */
    INCAST, /* our other two profiles */
    COLLECTIVE,
    TOLD, /* "balanced" with the fan-in configured */
    WHOS
};
extern const char *const who_names[WHOS];
/* Writes no settings for a manager without congestion control. */
void settings(struct scene *s, enum who who, uint32_t senders, struct fab_congestion *ret);

#endif
