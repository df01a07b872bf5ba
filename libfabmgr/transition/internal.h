/* SPDX-License-Identifier: BSD-3-Clause */
/* Types and functions that the files of libfabmgr/transition share. For this folder only. */
#ifndef LIBFABMGR_TRANSITION_INTERNAL_H
#define LIBFABMGR_TRANSITION_INTERNAL_H

#include "libfabmgr/transition/transition.h"
#include "libfabmgr/verify/dependencies.h"

#define FAB_TRANSITION_COLUMNS FAB_LFT_BLOCK

/* ---- mixture.c: the dependencies of mixtures of old and new entries -------------------------- */

enum fab_transition_mode {
    /* every switch keeps its old entry for the LID */
    FAB_TRANSITION_OLD_ONLY,
    /* switches may hold old and new entries in every combination */
    FAB_TRANSITION_ANY,
    /* The order of the writes ensures that each packet meets old entries first. After its first new
     * entry, it meets only new entries. */
    FAB_TRANSITION_ALONG,
};
/* Two bits of the bitsets `sls` and `tables`. In `sls`, they say whether hosts may use the old SLs,
 * and the new SLs. In `tables`, they say whether switches may hold the old SL-to-VL tables, and the
 * new ones. */
#define FAB_TRANSITION_OLD 1u
#define FAB_TRANSITION_NEW 2u

/* A dependency: a packet may hold channel `from` while it waits for channel `to`. Channels have the
 * same numbers as in struct fab_verify_deps. */
struct fab_transition_edge {
    uint32_t from, to;
};
struct fab_transition_deps {
    struct fab_verify_deps deps; /* the dependencies collected so far */
    /* [count] the dependencies that were added since the caller last set `count` to 0 */
    struct fab_transition_edge *list;
    size_t count, room;
    /* true: each dependency that is added to `deps` is also appended to list[] */
    bool listing;
    bool failed; /* memory ran out */
};
/* Makes an empty set of dependencies. Returns OK or NOMEM. */
int fab_transition_deps_init(struct fab_transition_deps *d, const struct fab_verify_graph *graph,
                             uint32_t vl_count);
void fab_transition_deps_fini(struct fab_transition_deps *d);
void fab_transition_deps_put(struct fab_transition_deps *d, struct fab_transition_edge e, bool on);

/* Scratch memory for following packets to one LID together with their SLs. It is needed only if
 * there are several VLs. */
struct fab_transition_lanes {
    /* [0]: old SLs and SL-to-VL tables; [1]: new ones; never NULL */
    const struct fab_vls *vls[2];
    /* number of combinations of an old and a new port class */
    uint32_t classes;
    /* [2][switches][classes] for each switch and each class of its ports: bitset of the SLs of the
     * packets that entered the switch by a port of this class. In mode ALONG, seen[1] is for
     * packets that have met a new entry, and seen[0] for all others. */
    uint16_t *seen;
    struct fab_transition_state *stack;
    size_t depth, room;
    /* the SL-to-VL tables that switches may hold: FAB_TRANSITION_OLD, FAB_TRANSITION_NEW or both (a
     * bitset) */
    unsigned tables;
};
/* the entries of all switches for one LID */
struct fab_transition_column {
    /* Old (was) and new (now) entry of each switch for the LID. The entry of switch s has the index
     * s * FAB_TRANSITION_COLUMNS. */
    const uint8_t *was, *now;
    /* lid: the LID. home: the switch that delivers packets to the LID */
    uint32_t lid, home;
    enum fab_transition_mode mode;
    /* FAB_TRANSITION_OLD, _NEW or both: the SLs that hosts may use */
    unsigned sls;
};
/* Adds to d the channel dependencies that packets to one LID can have while switches hold the old
 * and new entries of c. c->mode tells which combinations of old and new entries can occur. lanes:
 * NULL if there is only one VL. */
void fab_transition_collect(struct fab_transition_deps *d, struct fab_transition_lanes *lanes,
                            const struct fab_transition_column *c);
/* Sets the old and new SLs and SL-to-VL tables. Returns OK or NOMEM. */
int fab_transition_lanes_init(struct fab_transition_lanes *l, const struct fab_verify_graph *graph,
                              const struct fab_vls *was, const struct fab_vls *now);
void fab_transition_lanes_fini(struct fab_transition_lanes *l);

/* ---- order.c: a topological order of the channels -------------------------------------------- */

struct fab_transition_order {
    struct fab_transition_deps *d;
    uint32_t count; /* number of channels */
    /* [count] position of each channel in the topological order, from 0 to count - 1 */
    uint32_t *at;
    uint32_t *scratch; /* [4][count] memory for searches */
    /* [count] 1 for channels that the present search has found; 0 between searches */
    uint8_t *mark;
    /* number of channels that the last call of fab_transition_order_add has visited */
    uint64_t steps;
};
int fab_transition_order_init(struct fab_transition_order *o, struct fab_transition_deps *d);
void fab_transition_order_fini(struct fab_transition_order *o);
/* Computes the order from all dependencies. Returns false if there is no order, because the
 * dependencies have a cycle. */
bool fab_transition_order_sort(struct fab_transition_order *o);
/* Adapts the order to the dependencies of d->list[], which are already in d->deps. Returns false if
 * these dependencies close a cycle, if the search takes too long, or if memory runs out
 * (d->failed). In all three cases, the function removes the dependencies from d->deps. */
bool fab_transition_order_add(struct fab_transition_order *o);

#endif
