/* SPDX-License-Identifier: BSD-3-Clause */
/* The ends and channels that are measured. Private to the room. */
#ifndef LIBFABMGR_QUALITY_SCENE_H
#define LIBFABMGR_QUALITY_SCENE_H

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/quality/quality.h"

struct fab_end {
    uint32_t port;
    uint32_t lid;
    uint32_t leaf; /* ordinal */
    uint8_t num;   /* of the leaf's port */
};
struct fab_leaf {
    uint32_t sw;
    uint32_t ends; /* of those measured */
    uint32_t ways; /* its channels */
};
struct fab_scene {
    const struct fab_quality_input *in;
    uint32_t switches, ports; /* port ids of switches are below this */
    uint32_t *first;          /* [switches] port id of port 0 */
    uint32_t *to;             /* [ports] the switch that it leads to, or FAB_NONE: no channel */
    uint32_t channels;
    struct fab_end *ends; /* in the order of shifts */
    uint32_t end_count;
    struct fab_leaf *leaves;
    uint32_t leaf_count;
    uint32_t *leaf_at; /* [switches] ordinal, or FAB_NONE */
    size_t words;      /* of a row of: */
    uint64_t *broken;  /* [leaf_count][words] by end: the tables do not lead there from here */
};
/* As fab_quality_measure. */
int fab_scene_make(const struct fab_quality_input *in, struct fab_scene *ret);
void fab_scene_fini(struct fab_scene *f);
/* Orders the ends: leaves side by side that are near each other, ends of a leaf by port. */
int fab_scene_order(struct fab_scene *f);

static inline bool fab_scene_stopped(const struct fab_scene *f)
{
    return f->in->stopped != NULL && f->in->stopped(f->in->stopped_ctx);
}
static inline bool fab_scene_leads(const struct fab_scene *f, uint32_t src, uint32_t dst)
{
    return !fab_bits_get(f->broken + f->ends[src].leaf * f->words, dst);
}

int fab_measure_all(struct fab_scene *f, struct fab_quality *q); /* finds what is broken, too */
int fab_measure_shifts(const struct fab_scene *f, struct fab_quality_shift *ret);
int fab_measure_random(const struct fab_scene *f, struct fab_quality_random *ret);
int fab_measure_bisections(const struct fab_scene *f, struct fab_quality_bisection *ret);

#endif
