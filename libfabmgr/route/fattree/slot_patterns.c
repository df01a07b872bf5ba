/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes patterns of entries. A pattern is the LFT row of a switch at which all DLIDs take their
 * slots.
 *
 * Switches of one level mostly have the same slots on the same ports (the same port class for upper
 * neighbours, switch_classes.c). Then they have the same pattern, which is computed once and
 * copied. Classes with few switches get no pattern, because patterns should need little memory
 * compared with the LFTs.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/route/fattree/entries.h"

#define FEW 4

static void make_pattern(const struct fab_tree *t, const struct fab_dmodk *l, uint32_t s,
                         uint8_t *pattern)
{
    const uint8_t *slot = l->slots_of[l->up[s]].slot, *num = t->slot_num + t->slot_at[s];
    for (uint32_t i = 0; i < l->count; i++)
        pattern[l->dlid[i].lid] = num[slot[i]];
}

/* Makes a pattern for each class of switches that has at least FEW members and a port in every
 * slot. */
static int make_patterns(const struct fab_tree *t, const struct fab_dmodk *dmodk, uint32_t top,
                         uint32_t *members, struct fab_slot_patterns *p)
{
    size_t size = (size_t)top + 1 + FAB_LEGAL_BATCH;
    for (uint32_t s = 0; s < t->g->n; s++)
        members[t->port_class[2 * s] / 2] += t->whole[s];
    for (uint32_t s = 0; s < t->g->n; s++) {
        if (members[s] >= FEW) {
            uint8_t *pattern = malloc(size);
            if (pattern == NULL)
                return FAB_E_NOMEM;
            p->pattern[p->count++] = pattern;
            memset(pattern, FAB_LFT_NO_ROUTE, size);
            make_pattern(t, dmodk, s, pattern);
            p->of[s] = pattern;
        }
        p->of[s] = p->of[t->port_class[2 * s] / 2];
    }
    return FAB_OK;
}

int fab_route_slot_patterns_make(const struct fab_tree *t, const struct fab_dmodk *dmodk,
                                 uint32_t top, struct fab_slot_patterns *ret)
{
    struct fab_slot_patterns p = {0};
    size_t n = (size_t)t->g->n + 1;
    uint32_t *members = calloc(n, sizeof(*members));
    int status = FAB_E_NOMEM;
    p.pattern = calloc(n, sizeof(*p.pattern));
    p.of = calloc(n, sizeof(*p.of));
    if (members != NULL && p.pattern != NULL && p.of != NULL)
        status = make_patterns(t, dmodk, top, members, &p);
    free(members);
    if (status == FAB_OK)
        *ret = p;
    else
        fab_route_slot_patterns_fini(&p);
    return status;
}

void fab_route_slot_patterns_fini(struct fab_slot_patterns *p)
{
    for (uint32_t i = 0; i < p->count; i++)
        free(p->pattern[i]);
    free(p->pattern);
    free(p->of);
    memset(p, 0, sizeof(*p));
}
