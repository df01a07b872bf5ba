/* SPDX-License-Identifier: BSD-3-Clause */
/* Scenarios for congestion control: a fabric with tables, what is sent, the settings in force. */
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
    uint32_t *end, ends; /* port ids, leaf by leaf */
    uint32_t leaf;       /* ends of a leaf */
};
/* "64", "324", "648", "2000": by the number of ends; slow: those of the first leaf have a tenth of
 * the others' rate. */
void scene_init(struct scene *s, const char *name, bool slow);
void scene_fini(struct scene *s);

/* ---- plans.c: what is sent ------------------------------------------------------------------- */

enum role {
    BESIDE, /* no part of a crowd, but on cables that a crowd uses: victims (all, without a crowd)
             */
    FAR,    /* no part, and not on such cables */
    CROWD,  /* the senders that cause it */
    LAST,   /* the one of them that goes on when the others have stopped */
    ROLES,
};
struct plan {
    struct fab_traffic_flow *flow;
    uint8_t *role; /* enum role */
    uint32_t count, room;
    uint64_t from, until, end; /* the crowd sends from .. until; the run ends */
    double hot_gbps;           /* what all hot spots can take together; 0: there is none */
    double burst_us;           /* crowds of bursts: what one takes at best; 0: no bursts */
};
struct scenario {
    const char *name, *fabric;
    void (*plan)(const struct scene *s, uint32_t size, struct fab_prng *prng, struct plan *p);
    uint32_t size; /* senders */
    bool one_end;  /* all of them send to the same one */
    bool slow;
};
extern const struct scenario scenarios[]; /* the last one has no name */
void plan_fini(struct plan *p);

/* ---- settings.c: who set what ---------------------------------------------------------------- */

enum who {
    ALONE, /* without the crowd, and without congestion control */
    OFF,
    ZEROS,
    PLUGIN,
    OPA,
    OURS,   /* the profile balanced, told nothing */
    INCAST, /* our other two profiles */
    COLLECTIVE,
    TOLD, /* balanced, and told how many may crowd one end */
    WHOS
};
extern const char *const who_names[WHOS];
/* Nothing for those that use no congestion control. */
void settings(struct scene *s, enum who who, uint32_t senders, struct fab_congestion *ret);

#endif
