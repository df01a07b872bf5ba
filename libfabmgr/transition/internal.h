/* SPDX-License-Identifier: BSD-3-Clause */
/* Types and functions that the files of libfabmgr/transition share. For this folder only. */
#ifndef LIBFABMGR_TRANSITION_INTERNAL_H
#define LIBFABMGR_TRANSITION_INTERNAL_H

#include "libfabmgr/transition/transition.h"
#include "libfabmgr/verify/dependencies.h"

#define FAB_TRANSITION_COLUMNS FAB_LFT_BLOCK

/* ---- mixture.c: the dependencies of mixtures of old and new entries -------------------------- */

enum fab_transition_mode {
    FAB_TRANSITION_OLD_ONLY, /* the LID keeps its old entries */
    FAB_TRANSITION_ANY,      /* old and new entries may be mixed in every combination */
    FAB_TRANSITION_ALONG,    /* a packet meets old entries first, and only new entries afterwards */
};
/* Bits of `sls` and `tables` below: whether hosts may use the old and the new SLs, and whether
 * switches may hold the old and the new SL-to-VL tables. */
#define FAB_TRANSITION_OLD 1u
#define FAB_TRANSITION_NEW 2u

/* A dependency: a packet may hold channel `from` while it waits for channel `to`. Channels are
 * numbered as in struct fab_verify_deps. */
struct fab_transition_edge {
    uint32_t from, to;
};
struct fab_transition_deps {
    struct fab_verify_deps deps; /* the dependencies collected so far */
    /* [count] the dependencies added since the caller set `count` to 0 */
    struct fab_transition_edge *list;
    size_t count, room;
    bool listing; /* whether added dependencies are also stored in list[] */
    bool failed;  /* memory ran out */
};
/* Makes an empty set of dependencies. Returns OK or NOMEM. */
int fab_transition_deps_init(struct fab_transition_deps *d, const struct fab_verify_graph *graph,
                             uint32_t vl_count);
void fab_transition_deps_fini(struct fab_transition_deps *d);
void fab_transition_deps_put(struct fab_transition_deps *d, struct fab_transition_edge e, bool on);

/* Working memory of a walk that follows packets to one LID together with their SLs. It is needed
 * only if there are several VLs. */
struct fab_transition_lanes {
    const struct fab_vls *vls[2]; /* old and new SLs and SL-to-VL tables; never NULL */
    uint32_t classes;             /* number of old port classes times number of new port classes */
    /* [2][n][classes] bitset of the SLs with which packets reached each switch. In mode ALONG,
     * seen[1] is for packets that have met a new entry, and seen[0] for all others. */
    uint16_t *seen;
    struct fab_transition_state *stack;
    size_t depth, room;
    unsigned tables; /* FAB_TRANSITION_OLD, _NEW or both: SL-to-VL tables that switches may have */
};
struct fab_transition_column { /* the entries of all switches for one LID */
    /* Old and new entry of each switch, FAB_TRANSITION_COLUMNS bytes apart. */
    const uint8_t *was, *now;
    uint32_t lid, home; /* home: the switch that delivers packets to the LID */
    enum fab_transition_mode mode;
    unsigned sls; /* FAB_TRANSITION_OLD, _NEW or both: SLs that hosts may use */
};
/* Adds to d the channel dependencies that packets to one LID can have while switches hold the old
 * and new entries of c, mixed as c->mode permits. `lanes` NULL: there is only one VL. */
void fab_transition_collect(struct fab_transition_deps *d, struct fab_transition_lanes *lanes,
                            const struct fab_transition_column *c);
/* Sets the old and new SLs and SL-to-VL tables. Returns OK or NOMEM. */
int fab_transition_lanes_init(struct fab_transition_lanes *l, const struct fab_verify_graph *graph,
                              const struct fab_vls *was, const struct fab_vls *now);
void fab_transition_lanes_fini(struct fab_transition_lanes *l);

/* ---- order.c: a topological order of the channels -------------------------------------------- */

struct fab_transition_order {
    struct fab_transition_deps *d;
    uint32_t count;    /* number of channels */
    uint32_t *at;      /* [count] position of each channel in the order, 0 .. count - 1 */
    uint32_t *scratch; /* [4][count] memory for searches */
    uint8_t *mark;     /* [count] 1: found by the search under way; 0 between searches */
    /* Number of channels that fab_transition_order_add has visited since `steps` was set to 0. */
    uint64_t steps;
};
int fab_transition_order_init(struct fab_transition_order *o, struct fab_transition_deps *d);
void fab_transition_order_fini(struct fab_transition_order *o);
/* Computes the order from all dependencies. Returns false if there is no order, because the
 * dependencies have a cycle. */
bool fab_transition_order_sort(struct fab_transition_order *o);
/* Adapts the order to the dependencies of d->list[], which are in d->deps already. Returns false if
 * they close a cycle, or if the search takes too long; it has then removed them from d->deps. */
bool fab_transition_order_add(struct fab_transition_order *o);

#endif
