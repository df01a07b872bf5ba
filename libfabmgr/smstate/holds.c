/* SPDX-License-Identifier: BSD-3-Clause */
/* Damping of hand-overs to managers that repeatedly lose the role of master. */
#include "libfabmgr/smstate/holds.h"

#include <stdbool.h>
#include <stddef.h>

static bool is_over(const struct fab_smstate_loss *l, uint64_t now_us)
{
    return now_us - l->last_us >= 2 * FAB_SMSTATE_HOLD_MAX_US;
}

static struct fab_smstate_loss *slot_for(struct fab_smstate_holds *h, uint64_t guid)
{
    struct fab_smstate_loss *oldest = NULL;
    for (uint32_t i = 0; i < h->count; i++) {
        if (h->of[i].guid == guid)
            return &h->of[i];
        if (oldest == NULL || h->of[i].last_us < oldest->last_us)
            oldest = &h->of[i];
    }
    if (h->count < FAB_SMSTATE_HELD)
        oldest = &h->of[h->count++];
    *oldest = (struct fab_smstate_loss){.guid = guid};
    return oldest;
}

void fab_smstate_holds_lost(struct fab_smstate_holds *h, uint64_t guid, uint64_t now_us)
{
    struct fab_smstate_loss *l = slot_for(h, guid);
    if (is_over(l, now_us))
        l->losses = 0;
    l->losses++;
    l->last_us = now_us;
}

uint64_t fab_smstate_holds_until(const struct fab_smstate_holds *h, uint64_t guid,
                                 uint64_t first_us, uint64_t now_us)
{
    for (uint32_t i = 0; i < h->count; i++) {
        const struct fab_smstate_loss *l = &h->of[i];
        if (l->guid != guid || l->losses < 2 || is_over(l, now_us))
            continue;
        uint64_t hold_us = first_us;
        for (uint32_t n = 2; n < l->losses && hold_us < FAB_SMSTATE_HOLD_MAX_US; n++)
            hold_us *= 2;
        if (hold_us > FAB_SMSTATE_HOLD_MAX_US)
            hold_us = FAB_SMSTATE_HOLD_MAX_US;
        return l->last_us + hold_us > now_us ? l->last_us + hold_us : 0;
    }
    return 0;
}
