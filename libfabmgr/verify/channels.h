/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The channel dependencies of unicast tables, computed once for several proofs of multicast trees
 * (multicast.h). In a large fabric, this computation takes much longer than the proof of a tree.
 */
#ifndef LIBFABMGR_VERIFY_CHANNELS_H
#define LIBFABMGR_VERIFY_CHANNELS_H

#include "libfabmgr/verify/dependencies.h"

struct fab_verify_channels {
    /* The data to which the members of `in` point must stay valid until
     * fab_verify_channels_free. */
    struct fab_verify_input in;
    struct fab_verify_graph graph;
    struct fab_verify_deps unicast; /* the dependencies of unicast packets */
    /* the dependencies of the multicast packets in earlier proofs with `keep` set (multicast.h) */
    struct fab_verify_deps trees;
};
/* Computes the dependencies of all packets that follow the tables. Returns NOMEM, or INVAL under
 * the same conditions as fab_verify. */
int fab_verify_channels_new(const struct fab_verify_input *in, struct fab_verify_channels **ret);
void fab_verify_channels_free(struct fab_verify_channels *c); /* c may be NULL */
/* Removes the dependencies of multicast packets (`trees`). */
void fab_verify_channels_forget_trees(struct fab_verify_channels *c);

#endif
