/* SPDX-License-Identifier: BSD-3-Clause */
/* A scenario for congestion control consists of a fabric with tables, the traffic, and the
 * congestion control settings of a manager. */
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
/* Makes the fabric with this number of endports: "64", "324", "648" or "2000". slow: the endports
 * of the first leaf have 14 Gb/s, about a seventh of the rate of the others. */
void scene_init(struct scene *s, const char *name, bool slow);
void scene_fini(struct scene *s);

/* ---- plans.c: traffic ------------------------------------------------------------------------ */

enum role {
    /* A flow beside an incast: it is not part of the incast but shares a link with it, so it may
     * lose rate. If there is no incast: every flow. */
    BESIDE,
    /* A flow that is not part of an incast, and shares no link with one. */
    FAR,
    SENDER, /* a sender of the incast */
    /* The one sender of an incast that goes on sending when the others have stopped. */
    LAST,
    ROLES,
};
struct plan {
    struct fab_traffic_flow *flow;
    uint8_t *role; /* enum role */
    uint32_t count, room;
    /* Times in the traffic model: begin and end of the incast, and end of the run. */
    uint64_t from, until, end;
    /* Rate in Gb/s at which all targets of the incasts together can receive. 0: there is no
     * incast. */
    double hot_gbps;
    /* Shortest possible time of a burst, in us. 0: the incasts have no bursts. */
    double burst_us;
};
struct scenario {
    const char *name, *fabric;
    void (*plan)(const struct scene *s, uint32_t size, struct fab_prng *prng, struct plan *p);
    uint32_t size; /* number of senders */
    bool one_end;  /* all senders send to the same endport */
    bool slow;
};
extern const struct scenario scenarios[]; /* ends with an entry without a name */
void plan_fini(struct plan *p);

/* ---- settings.c: settings of managers -------------------------------------------------------- */

enum who {
    ALONE, /* no incast and no congestion control; for comparison */
    OFF,
    ZEROS,
    PLUGIN,
    OPA,
    /* fabricd, with the profile "balanced" and no configured fan-in */
    OURS,
    INCAST, /* fabricd, with the profile "incast" or "collective" */
    COLLECTIVE,
    /* fabricd, with the profile "balanced" and the true number of senders as configured fan-in */
    TOLD,
    WHOS
};
extern const char *const who_names[WHOS];
/* Makes the congestion control settings that the manager `who` would make (OFF and ALONE: none).
 * senders: number of senders to one endport. */
void settings(struct scene *s, enum who who, uint32_t senders, struct fab_congestion *ret);

#endif
