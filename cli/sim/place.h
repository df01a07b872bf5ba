/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds nodes and ports of a simulated fabric by the names that users and SIM_HOST give. */
#ifndef CLI_SIM_PLACE_H
#define CLI_SIM_PLACE_H

#include <stdint.h>

#include "libfabmgr/sim/sim.h"

#define PLACE_NAME_MAX 128 /* longer names are never found */

struct place {
    uint32_t node;
    uint8_t port; /* 0: no port was named */
};
/* Finds NODE, NODE/PORT, or in the spelling of ibsim's console "NODE", "NODE"[PORT]. A node is
 * named by its id ("S-..." and "H-..." in the topology file), by a GUID (0x..., also that of a
 * port), or by its description. NOT_FOUND: no such node; RANGE: it has no such port. */
int place_find(const struct fab_sim *sim, const char *name, struct place *ret);

#endif
