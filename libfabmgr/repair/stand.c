/* SPDX-License-Identifier: BSD-3-Clause */
/* What stands, and what follows from it: see stand.h. */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/stand.h"

void fab_stand_fini(struct fab_stand *t)
{
    fab_repair_free(t->state);
    fab_ground_free(t->ground);
    fab_cover_fini(&t->cover);
    fab_lft_fini(&t->lft);
    *t = (struct fab_stand){0};
}

int fab_stand_new(const struct fab_repair_input *in, struct fab_stand *ret, char *why,
                  size_t why_len)
{
    struct fab_stand t = {0};
    int r = fab_repair_new(in, &t.state, why, why_len);
    if (r == FAB_OK)
        r = fab_ground_new(in->fabric, in->lids, &t.ground);
    if (r == FAB_OK)
        r = fab_cover_find(t.ground, in->fabric, in->lids, &t.cover);
    if (r == FAB_OK)
        *ret = t;
    else
        fab_stand_fini(&t);
    return r;
}

/* The tables by the ids of the ground, as a copy if they were those of `former`. */
static int own_tables(struct fab_stand *t, const struct fab_target *former)
{
    if (!t->cover.same)
        return FAB_OK;
    int r = fab_lft_init(&t->lft, former->lft.switch_count, former->lft.top);
    if (r == FAB_OK)
        memcpy(t->lft.entries, former->lft.entries, t->lft.stride * t->lft.switch_count);
    return r;
}

static int repair(struct fab_stand *t, const struct fab_cover *cover)
{
    struct fab_repair_delta d = {0};
    struct fab_repair_change at;
    char why[200];
    int r = fab_repair_plan(t->state, &t->lft, cover->dead, cover->deads, &d, why, sizeof(why));
    if (r == FAB_OK)
        r = fab_repair_prove(t->state, &t->lft, &d, &at);
    if (r == FAB_OK && d.lost > 0)
        r = FAB_E_NOT_FOUND;
    if (r == FAB_OK)
        fab_repair_commit(t->state, &t->lft, &d);
    fab_repair_delta_fini(&d);
    return r;
}

/* The rows of the switches that are there. */
static int hand_out(struct fab_stand *t, uint32_t switches, struct fab_target *target)
{
    if (t->cover.same) {
        target->lft = t->lft;
        t->lft = (struct fab_lft){0};
        return FAB_OK;
    }
    int r = fab_lft_init(&target->lft, switches, target->lids.top);
    size_t width = target->lft.stride < t->lft.stride ? target->lft.stride : t->lft.stride;
    for (uint32_t sw = 0; r == FAB_OK && sw < switches; sw++)
        memcpy(fab_lft_row(&target->lft, sw), fab_lft_row(&t->lft, t->cover.to_ground[sw]), width);
    return r;
}

int fab_stand_follow(struct fab_stand *t, const struct fab_target *former,
                     const struct fab_fabric *fabric, struct fab_target *target)
{
    struct fab_cover cover;
    int r = fab_cover_find(t->ground, fabric, &target->lids, &cover);
    if (r != FAB_OK)
        return r;
    const struct fab_vls *v = &former->vls;
    if (!cover.same && fab_vls_many(v) && (v->of_lid || v->of_pair || v->port_class))
        r = FAB_E_NOT_FOUND; /* lanes go by ids */
    if (r == FAB_OK)
        r = own_tables(t, former);
    if (r == FAB_OK)
        r = repair(t, &cover);
    if (r == FAB_OK)
        r = fab_vls_copy(&former->vls, &target->vls);
    if (r != FAB_OK) {
        fab_cover_fini(&cover);
        return r;
    }
    fab_cover_fini(&t->cover);
    t->cover = cover;
    memcpy(target->engine, former->engine, sizeof(target->engine));
    memcpy(target->reason, former->reason, sizeof(target->reason));
    return hand_out(t, fabric->switch_count, target);
}

/* ---- in place -------------------------------------------------------------------------------- */

struct fab_lft *fab_stand_tables(struct fab_stand *t, struct fab_target *target)
{
    return t->cover.same ? &target->lft : &t->lft;
}

uint32_t fab_stand_port(const struct fab_stand *t, const struct fab_fabric *f, uint32_t port)
{
    return fab_cover_port(&t->cover, t->ground, f, port);
}

void fab_stand_commit(struct fab_stand *t, struct fab_target *target, struct fab_repair_delta *d)
{
    fab_repair_commit(t->state, fab_stand_tables(t, target), d);
    for (size_t i = 0; i < d->changes && !t->cover.same; i++) {
        const struct fab_repair_change *c = &d->change[i];
        uint32_t sw = t->cover.to_now[c->sw];
        if (sw != FAB_NONE && c->lid <= target->lft.top)
            fab_lft_row(&target->lft, sw)[c->lid] = c->now;
    }
}
