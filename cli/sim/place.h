/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds nodes and ports of a simulated fabric by name. The names come from users and from the
 * variable SIM_HOST of clients. */
#ifndef CLI_SIM_PLACE_H
#define CLI_SIM_PLACE_H

#include <stdint.h>

#include "libfabmgr/sim/sim.h"

#define PLACE_NAME_MAX 128 /* longer names are never found */

struct place {
    uint32_t node;
    uint8_t port; /* 0: no port was named */
};
/* Finds the node or port with this name: NODE or NODE/PORT, or, in the spelling of ibsim's console,
 * "NODE" or "NODE"[PORT]. A node is named by its id ("S-..." and "H-..." in the topology file), by
 * a GUID (0x..., also that of a port), or by its description. NOT_FOUND: no such node; RANGE: it
 * has no such port. */
int place_find(const struct fab_sim *sim, const char *name, struct place *ret);

#endif
