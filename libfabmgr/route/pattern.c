/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What slots give. Switches of one level mostly have the same slots on the same ports, and what all
 * lanes take there is the same then: made once, it is copied wherever slots are taken. Kinds that
 * have few switches get no pattern, so that patterns take a fraction of what the tables take.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/route/entries.h"
#include "libfabmgr/route/kin.h"

#define FEW 4

struct view {
    const struct fab_tree *t;
    const struct fab_lanes *lanes;
};

static bool same_slots(const void *ctx, uint32_t a, uint32_t b)
{
    const struct view *v = ctx;
    const struct fab_tree *t = v->t;
    return t->whole[a] == t->whole[b] && v->lanes->up[a] == v->lanes->up[b] &&
           memcmp(t->slot_num + t->slot_at[a], t->slot_num + t->slot_at[b],
                  t->slot_at[a + 1] - t->slot_at[a]) == 0;
}

static uint64_t sign(const void *ctx, uint32_t s)
{
    const struct view *v = ctx;
    const struct fab_tree *t = v->t;
    uint64_t sum = v->lanes->up[s];
    for (uint32_t i = t->slot_at[s]; i < t->slot_at[s + 1]; i++)
        sum = sum * UINT64_C(0x100000001b3) + t->slot_num[i];
    return sum;
}

static void draw(const struct view *v, uint32_t s, uint8_t *pattern)
{
    const struct fab_lanes *l = v->lanes;
    const uint8_t *slot = l->gear[l->up[s]].slot, *num = v->t->slot_num + v->t->slot_at[s];
    for (uint32_t i = 0; i < l->count; i++)
        pattern[l->lane[i].lid] = num[slot[i]];
}

/* A pattern for each kind that is not few; kind[s] is the first switch of it. */
static int draw_all(const struct view *v, uint32_t top, const uint32_t *kind, uint32_t *members,
                    struct fab_patterns *p)
{
    uint32_t n = v->t->g->n;
    size_t size = (size_t)top + 1 + FAB_LEGAL_BATCH;
    for (uint32_t s = 0; s < n; s++)
        members[kind[s]] += v->t->whole[s];
    for (uint32_t s = 0; s < n; s++) {
        if (kind[s] == s && members[s] >= FEW) {
            uint8_t *pattern = malloc(size);
            if (pattern == NULL)
                return FAB_E_NOMEM;
            p->pattern[p->count++] = pattern;
            memset(pattern, FAB_LFT_NO_ROUTE, size);
            draw(v, s, pattern);
            p->of[s] = pattern;
        }
        p->of[s] = p->of[kind[s]];
    }
    return FAB_OK;
}

int fab_patterns_make(const struct fab_tree *t, const struct fab_lanes *lanes, uint32_t top,
                      struct fab_patterns *ret)
{
    struct view v = {t, lanes};
    struct fab_patterns p = {0};
    size_t n = (size_t)t->g->n + 1;
    uint32_t *kind = fab_alloc_array(n, sizeof(*kind));
    uint32_t *members = calloc(n, sizeof(*members));
    int status = FAB_E_NOMEM;
    p.pattern = calloc(n, sizeof(*p.pattern));
    p.of = calloc(n, sizeof(*p.of));
    if (kind != NULL && members != NULL && p.pattern != NULL && p.of != NULL)
        status = fab_kin_find(&(struct fab_kin){&v, same_slots, sign}, t->g->n, kind);
    if (status == FAB_OK)
        status = draw_all(&v, top, kind, members, &p);
    free(kind);
    free(members);
    if (status == FAB_OK)
        *ret = p;
    else
        fab_patterns_fini(&p);
    return status;
}

void fab_patterns_fini(struct fab_patterns *p)
{
    for (uint32_t i = 0; i < p->count; i++)
        free(p->pattern[i]);
    free(p->pattern);
    free(p->of);
    memset(p, 0, sizeof(*p));
}
