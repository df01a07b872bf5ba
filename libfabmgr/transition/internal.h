/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of this folder. */
#ifndef LIBFABMGR_TRANSITION_INTERNAL_H
#define LIBFABMGR_TRANSITION_INTERNAL_H

#include "libfabmgr/transition/transition.h"
#include "libfabmgr/verify/dependencies.h"

#define FAB_TRANSITION_COLUMNS FAB_LFT_BLOCK

/* ---- mixture.c: the dependencies of mixtures of old and new entries -------------------------- */

enum fab_transition_mode {
    FAB_TRANSITION_STAND, /* old entries only */
    FAB_TRANSITION_ANY,   /* old and new entries in every combination */
    FAB_TRANSITION_ALONG, /* old entries, then new ones */
};
#define FAB_TRANSITION_OLD 1u /* bits for the use of old and new SLs, or SL-to-VL tables */
#define FAB_TRANSITION_NEW 2u

/* Channels are numbered as in struct fab_verify_deps. */
struct fab_transition_edge {
    uint32_t from, to;
};
struct fab_transition_deps {
    struct fab_verify_deps deps;      /* only dependencies on channels */
    struct fab_transition_edge *list; /* the dependencies that were added since the last _begin */
    size_t count, room;
    bool listing; /* whether to note additions in list[] */
    bool failed;  /* no memory */
};
int fab_transition_deps_init(struct fab_transition_deps *d, const struct fab_verify_graph *graph,
                             uint32_t vl_count); /* NOMEM */
void fab_transition_deps_fini(struct fab_transition_deps *d);
void fab_transition_deps_put(struct fab_transition_deps *d, struct fab_transition_edge e, bool on);

/* Walks packets with SLs. */
struct fab_transition_lanes {
    const struct fab_vls *vls[2]; /* old and new; never NULL */
    uint32_t classes;             /* product of both numbers of port classes */
    uint16_t *seen;               /* [2][n][classes] bitset of SLs */
    struct fab_transition_state *stack;
    size_t depth, room;
    unsigned tables; /* which SL-to-VL tables switches may have */
};
struct fab_transition_column { /* the entries for one LID */
    const uint8_t *was, *now;  /* by switch, FAB_TRANSITION_COLUMNS bytes apart */
    uint32_t lid, home;        /* home: the switch that delivers the LID */
    enum fab_transition_mode mode;
    unsigned sls; /* which SLs hosts may use */
};
/* Adds the dependencies of a LID. lanes is NULL for one VL. */
void fab_transition_collect(struct fab_transition_deps *d, struct fab_transition_lanes *lanes,
                            const struct fab_transition_column *c);
int fab_transition_lanes_init(struct fab_transition_lanes *l, const struct fab_verify_graph *graph,
                              const struct fab_vls *was, const struct fab_vls *now); /* NOMEM */
void fab_transition_lanes_fini(struct fab_transition_lanes *l);

/* ---- order.c: a topological order of the channels, which grows with the dependencies ----------
 */

struct fab_transition_order {
    struct fab_transition_deps *d;
    uint32_t count;    /* number of channels */
    uint32_t *at;      /* [count] position of the channel in the order */
    uint32_t *scratch; /* [4][count] */
    uint8_t *mark;     /* [count] */
    uint64_t
        steps; /* number of channels visited by fab_transition_order_add since it was set to 0 */
};
int fab_transition_order_init(struct fab_transition_order *o, struct fab_transition_deps *d);
void fab_transition_order_fini(struct fab_transition_order *o);
/* Computes the order anew. Returns whether there is one: the dependencies have no cycle. */
bool fab_transition_order_sort(struct fab_transition_order *o);
/* Adds all dependencies of d->list[], whose bits are set, to the order. Returns false if they close
 * a cycle, or finding that out takes too long; then their bits are clear again. */
bool fab_transition_order_add(struct fab_transition_order *o);

#endif
