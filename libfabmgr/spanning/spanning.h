/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Spanning trees whose multicast packets cannot deadlock with unicast packets.
 *
 * Multicast packets of all members of a tree pass the tree in all directions, so each pair of
 * branches at a switch adds two channel dependencies. A tree of shortest paths is safe on a fat
 * tree, because its paths go up and then down as the unicast paths do. On a torus, mesh or
 * hypercube, and on irregular fabrics, such a tree often closes a cycle with the dependencies of
 * unicast packets. All parts of one spanning tree without such a cycle are safe together, so all
 * multicast groups can use it, as those of Torus-2QoS use one "master spanning tree".
 */
#ifndef LIBFABMGR_SPANNING_SPANNING_H
#define LIBFABMGR_SPANNING_SPANNING_H

#include "libfabmgr/mcast/guide.h"
#include "libfabmgr/verify/channels.h"

/* Makes a spanning tree of each part of the fabric that links connect. Branches are added one by
 * one; a branch that would close a cycle with the dependencies of unicast packets, for packets of
 * an SL in the bitset `sls`, is left out. ret->missed is 0 if all switches with endports are
 * spanned. Switches without an MFT are not spanned. The same input gives the same trees. Returns
 * NOMEM. */
int fab_spanning_make(const struct fab_verify_channels *unicast, uint16_t sls,
                      struct fab_mcast_guide *ret);

#endif
