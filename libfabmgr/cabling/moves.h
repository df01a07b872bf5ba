/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The smallest set of moves of cable ends that turns the cables as they are into the cables as they
 * are planned.
 *
 * Planned links and cables are both matchings of ports: each port has at most one planned and at
 * most one actual partner. In the graph of both, every port has at most two edges, so its connected
 * components (groups) are cycles and paths in which planned edges and cables alternate. Let a step
 * be one of: two cable ends are exchanged, one end is moved to a free port, a cable is connected
 * between two free ports, or a cable is removed. A group needs
 *
 *     a cycle with k cables             k - 1 exchanges
 *     a path with k planned edges:
 *       and k - 1 cables                k - 1 moves, and a cable to connect
 *       and k cables                    k moves
 *       and k + 1 cables                k moves, and a cable to remove
 *
 * The sum over all groups is P - C + B: P is the number of planned edges, C the number of cycles (a
 * correct cable is a cycle with one cable), B the number of paths that have a cable at both ends. A
 * step lowers this number by at most one, so no other sequence is shorter. The reason is this. An
 * exchange cuts two cables and joins the four ends anew. It can split a cycle from one group (C
 * grows by one), or exchange the tails of two paths (B falls by one). It cannot do both, because
 * each port still has a cable, or still has none. A move is an exchange with a free port in place
 * of the second cable. A new cable can close one cycle, and does not lower B. A removal lowers B by
 * at most one, and closes no cycle. The argument is known from sorting genomes by double cut and
 * join (Bergeron, Mixtacki and Stoye, 2006). tests/unit/test_cabling_moves.c also compares with a
 * search of all sequences.
 *
 * Among the smallest sets, steps at one switch or host are preferred, then those in one rack. The
 * choice is greedy.
 */
#ifndef LIBFABMGR_CABLING_MOVES_H
#define LIBFABMGR_CABLING_MOVES_H

#include <stddef.h>
#include <stdint.h>

enum fab_cabling_step {
    FAB_CABLING_EXCHANGE, /* exchange the cable ends in the ports a and b */
    FAB_CABLING_MOVE,     /* move the cable end in port a to port b, which is free */
    FAB_CABLING_CONNECT,  /* connect the ports a and b, which are free */
    FAB_CABLING_REMOVE,   /* remove the cable between the ports a and b */
};
struct fab_cabling_move {
    enum fab_cabling_step step;
    uint32_t a, b;
    /* MOVE: the port at the other end of the moved cable; otherwise FAB_NONE */
    uint32_t other;
    /* Number of the group, from 0. All moves of a group must be made, in the order of the array. */
    uint32_t group;
};

/* Returns the distance of ports a and b, from 0 (both on one switch or host) to
 * FAB_CABLING_FARTHEST. */
#define FAB_CABLING_FARTHEST 3u
typedef unsigned fab_cabling_distance(const void *ctx, uint32_t a, uint32_t b);

struct fab_cabling_ports {
    uint32_t count;
    /* [count] for each port, the port to which it should be connected (`planned`) and the port to
     * which it is connected (`actual`); FAB_NONE: none. Both arrays are symmetric:
     * planned[planned[p]] == p. */
    const uint32_t *planned, *actual;
    fab_cabling_distance *distance;
    const void *ctx; /* argument of distance() */
};
struct fab_cabling_moves {
    struct fab_cabling_move *moves; /* [count] the moves, ordered by group */
    size_t count, room;
    /* [ports.count] number of the group to which each port belongs; FAB_NONE: the port is cabled as
     * planned */
    uint32_t *group;
    uint32_t groups;
};
/* Computes the moves. Takes time proportional to the number of ports. Returns OK or NOMEM. */
int fab_cabling_moves_find(const struct fab_cabling_ports *ports, struct fab_cabling_moves *ret);
void fab_cabling_moves_fini(struct fab_cabling_moves *m);

#endif
