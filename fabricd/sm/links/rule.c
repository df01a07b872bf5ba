/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes the rules that decide which links may be excluded. The rules consist of settings and of the
 * list of ISLs that have failed since the manager started. These ISLs count for the capacity floor
 * (libfabmgr/health/floor.h).
 */
#include <stdlib.h>

#include "fabricd/sm/links/state.h"
#include "libfabmgr/base/status.h"

/* Callback of fab_health_known_lost: returns whether this link is excluded. An excluded link does
 * not count as failed, because the rules count it separately. */
static bool is_excluded(void *ctx, uint64_t guid, uint8_t port)
{
    const struct sm_flap *e = sm_flap_find(ctx, guid, port);
    return e && !e->offence && (e->out || sm_flap_is_barred(ctx, e));
}

int sm_rule_init(struct sm *s, const struct fab_fabric *f, struct sm_rule *ret)
{
    const struct config_flapping *c = &s->in.config->flapping;
    *ret = (struct sm_rule){
        .rule = {.max_percent = c->max_excluded_percent, .min_percent = c->min_capacity_percent}};
    int r = fab_health_known_lost(s->links->known, f, is_excluded, s, &ret->lost,
                                  &ret->rule.lost_count);
    ret->rule.lost = ret->lost;
    return r;
}

void sm_rule_fini(struct sm_rule *r)
{
    free(r->lost);
    r->lost = NULL;
}
