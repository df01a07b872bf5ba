/* SPDX-License-Identifier: BSD-3-Clause */
/* Small sets of node GUIDs (guids.h). */
#include "fabricd/sm/core/guids.h"

bool sm_guids_have(const struct sm_guids *g, uint64_t guid)
{
    for (uint32_t i = 0; i < g->count; i++)
        if (g->guid[i] == guid)
            return true;
    return false;
}

void sm_guids_add(struct sm_guids *g, uint64_t guid)
{
    if (sm_guids_have(g, guid))
        return;
    if (g->count == SM_GUIDS_MOST)
        g->many = true;
    else
        g->guid[g->count++] = guid;
}

void sm_guids_remove(struct sm_guids *g, uint64_t guid)
{
    for (uint32_t i = 0; i < g->count; i++)
        if (g->guid[i] == guid) {
            g->guid[i] = g->guid[--g->count];
            return;
        }
}
