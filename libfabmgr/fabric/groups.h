/* SPDX-License-Identifier: BSD-3-Clause */
/* How groups of switches are connected with each other, for dragonflies. */
#ifndef LIBFABMGR_FABRIC_GROUPS_H
#define LIBFABMGR_FABRIC_GROUPS_H

#include "libfabmgr/fabric/make.h"

struct groups {
    uint32_t count;   /* groups; 0: as many as can be */
    uint32_t members; /* switches of a group that have cables to other groups */
    uint32_t global;  /* ports for them, each */
    uint32_t rounds;  /* cables between each two groups */
};
/* Fills count and rounds. RANGE: no member, more than 254 ports, more than 2^20 groups, or fewer
 * cables than other groups. */
int fab_fabric_groups_init(struct groups *g);

/* All cables between groups. Member i of group g has the reference first + g * stride + i; its
 * global ports are from first_port on. */
void fab_fabric_groups_connect(const struct groups *g, struct maker *m, uint32_t first,
                               uint32_t stride, uint32_t first_port);

#endif
