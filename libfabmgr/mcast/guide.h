/* SPDX-License-Identifier: BSD-3-Clause */
/* A spanning forest of the switches. If multicast trees have a guide, each tree is a part of this
 * forest. Port and switch ids are those of the trees' net. */
#ifndef LIBFABMGR_MCAST_GUIDE_H
#define LIBFABMGR_MCAST_GUIDE_H

#include <stdint.h>

struct fab_mcast_guide { /* all bytes zero: there is no guide */
    uint32_t switches;
    uint32_t *up;    /* [switches] port id of the branch towards the root; FAB_NONE: the switch is a
                        root, or not spanned */
    uint32_t *root;  /* [switches] the root that the branches lead to; FAB_NONE: not spanned */
    uint32_t missed; /* number of switches with endports that are not spanned */
};
void fab_mcast_guide_fini(struct fab_mcast_guide *g);

#endif
