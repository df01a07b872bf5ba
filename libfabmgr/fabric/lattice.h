/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Switches on a lattice of up to 6 dimensions, for the generators of tori and HyperX. For this
 * folder only.
 */
#ifndef LIBFABMGR_FABRIC_LATTICE_H
#define LIBFABMGR_FABRIC_LATTICE_H

#include "libfabmgr/fabric/make.h"

struct lattice {
    uint32_t dimensions, size[FAB_GENERATE_DIMENSIONS];
    /* for each dimension, the difference between the numbers of adjacent switches */
    uint32_t step[FAB_GENERATE_DIMENSIONS];
    uint32_t count; /* number of switches */
};
/* Fills *l. RANGE: the number of dimensions is not 1..6, a size is 0, a switch would have more than
 * 254 hosts, or the fabric more than 2^20 nodes (switches and hosts together). */
int fab_fabric_lattice_init(struct lattice *l, uint32_t dimensions, const uint32_t *size,
                            uint32_t hosts);

static inline uint32_t fab_fabric_lattice_at(const struct lattice *l, uint32_t sw,
                                             uint32_t dimension)
{
    return sw / l->step[dimension] % l->size[dimension];
}

/* Adds the switches, named by their coordinates ("torus-0-12"), and their hosts. The references of
 * the switches in the builder begin at 0. */
void fab_fabric_lattice_switches(const struct lattice *l, struct maker *m, const char *stem,
                                 uint32_t ports, uint32_t hosts);

#endif
