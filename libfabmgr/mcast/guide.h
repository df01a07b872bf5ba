/* SPDX-License-Identifier: BSD-3-Clause */
/* A guide is a spanning forest of the switches. If multicast trees have a guide, each tree is a
 * part of this forest. Port and switch ids are ids of the trees' net (net.h). */
#ifndef LIBFABMGR_MCAST_GUIDE_H
#define LIBFABMGR_MCAST_GUIDE_H

#include <stdint.h>

struct fab_mcast_guide { /* all bytes zero: there is no guide */
    uint32_t switches;
    /* [switches] for each switch, the id of the port that leads towards the root; FAB_NONE: the
     * switch is a root, or not in the forest */
    uint32_t *up;
    /* [switches] for each switch, the id of its root; FAB_NONE: the switch is not in the forest */
    uint32_t *root;
    /* number of switches that have endports but are not in the forest */
    uint32_t missed;
};
void fab_mcast_guide_fini(struct fab_mcast_guide *g);

#endif
