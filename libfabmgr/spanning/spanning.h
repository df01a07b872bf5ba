/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Spanning trees whose multicast packets cannot deadlock with unicast packets.
 *
 * Every member of a multicast group may send, so packets pass each branch (link) of the tree in
 * both directions. Each pair of branches at a switch therefore adds two channel dependencies. A
 * tree of shortest paths is safe on a fat tree, because its paths go up and then down as the
 * unicast paths do. On a torus, mesh or hypercube, and on irregular fabrics, such a tree often
 * closes a cycle with the dependencies of unicast packets. If one spanning tree closes no such
 * cycle, all multicast groups can use parts of it at the same time. Torus-2QoS does the same with
 * its "master spanning tree".
 */
#ifndef LIBFABMGR_SPANNING_SPANNING_H
#define LIBFABMGR_SPANNING_SPANNING_H

#include "libfabmgr/mcast/guide.h"
#include "libfabmgr/verify/channels.h"

/* Makes a spanning tree of each connected part of the fabric. Adds branches one by one. Leaves out
 * a branch with which multicast packets of an SL in the bitset `sls` (0: only SL 0) could close a
 * cycle with the dependencies of unicast packets. ret->missed is the number of switches that have
 * endports, but are in no tree. Switches without an MFT are in no tree either, but are not counted.
 * The same input gives the same trees. Returns OK, NOMEM, or CYCLE if the dependencies of unicast
 * packets alone have a cycle. */
int fab_spanning_make(const struct fab_verify_channels *unicast, uint16_t sls,
                      struct fab_mcast_guide *ret);

#endif
