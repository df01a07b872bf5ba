/* SPDX-License-Identifier: BSD-3-Clause */
/* Adds the links between groups of switches, for dragonflies. For this folder only. */
#ifndef LIBFABMGR_FABRIC_GROUPS_H
#define LIBFABMGR_FABRIC_GROUPS_H

#include "libfabmgr/fabric/make.h"

struct groups {
    uint32_t count;   /* groups; 0: as many as possible */
    uint32_t members; /* switches of a group with links to other groups */
    uint32_t global;  /* ports of each such switch for links to other groups */
    uint32_t rounds;  /* links between any two groups */
};
/* Computes count and rounds. RANGE: members is not 1..254, global is above 254, or a group has
 * fewer global links than there are other groups. */
int fab_fabric_groups_init(struct groups *g);

/* Adds all links between groups. Member i of group g has the reference first + g * stride + i; its
 * ports for these links begin at first_port. */
void fab_fabric_groups_connect(const struct groups *g, struct maker *m, uint32_t first,
                               uint32_t stride, uint32_t first_port);

#endif
