/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes and ports of a simulated fabric, as people and SIM_HOST name them. */
#ifndef CLI_SIM_PLACE_H
#define CLI_SIM_PLACE_H

#include <stdint.h>

#include "libfabmgr/sim/sim.h"

#define PLACE_NAME_MAX 128 /* longer ones name nothing */

struct place {
    uint32_t node;
    uint8_t port; /* 0: no port was named */
};
/* NODE, NODE/PORT, or as ibsim's console has it "NODE", "NODE"[PORT]. A node is named by its id
 * ("S-..." and "H-..." of the topology file), by a GUID (0x..., of a port too), or by its
 * description. NOT_FOUND: no such node; RANGE: it has no such port. */
int place_find(const struct fab_sim *sim, const char *name, struct place *ret);

#endif
