/* SPDX-License-Identifier: BSD-3-Clause */
/* Frees a guide. libfabmgr/spanning makes guides; branches.c follows them. */
#include "libfabmgr/mcast/guide.h"

#include <stdlib.h>
#include <string.h>

void fab_mcast_guide_fini(struct fab_mcast_guide *g)
{
    free(g->up);
    free(g->root);
    memset(g, 0, sizeof(*g));
}
