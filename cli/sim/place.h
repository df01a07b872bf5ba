/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds nodes and ports of a simulated fabric by name. The names come from users, and from the
 * environment variable SIM_HOST of clients. */
#ifndef CLI_SIM_PLACE_H
#define CLI_SIM_PLACE_H

#include <stdint.h>

#include "libfabmgr/sim/sim.h"

#define PLACE_NAME_MAX 128 /* names of this length or longer are never found */

struct place {
    uint32_t node;
    /* port number; 0: the name contains no port */
    uint8_t port;
};
/* Finds the node or port with this name. The name is NODE or NODE/PORT, or in the spelling of
 * ibsim's console "NODE" or "NODE"[PORT]. NODE is the id of a node ("S-..." or "H-..." in the
 * topology file), the GUID of a node or port (0x...), or a node description. Returns NOT_FOUND if
 * there is no such node, or RANGE if the node has no such port. */
int place_find(const struct fab_sim *sim, const char *name, struct place *ret);

#endif
