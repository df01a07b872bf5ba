/* SPDX-License-Identifier: BSD-3-Clause */
/* Adds the links between the groups of a dragonfly or Dragonfly+. For this folder only. */
#ifndef LIBFABMGR_FABRIC_GROUPS_H
#define LIBFABMGR_FABRIC_GROUPS_H

#include "libfabmgr/fabric/make.h"

struct groups {
    /* number of groups; 0: fab_fabric_groups_init sets the highest possible number */
    uint32_t count;
    /* Number of switches of a group that have global ports. A global port is a port for a link to
     * another group. */
    uint32_t members;
    /* Number of global ports of each of these switches. */
    uint32_t global;
    uint32_t rounds; /* number of links between any two groups */
};
/* Sets the member `rounds`, and the member `count` if it is 0. Returns OK, or RANGE if `members` is
 * not 1..254, if `global` is above 254, or if a group has fewer global links than there are other
 * groups. */
int fab_fabric_groups_init(struct groups *g);

/* Adds all links between groups. Member i of group g has the reference first + g * stride + i in
 * the builder. The global ports of each member have the numbers from first_port on. */
void fab_fabric_groups_connect(const struct groups *g, struct maker *m, uint32_t first,
                               uint32_t stride, uint32_t first_port);

#endif
