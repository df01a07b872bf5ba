/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps the tables that an engine has computed, and repairs them for each snapshot that follows
 * (session.h). */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/session/session.h"
#include "libfabmgr/target/choice.h"

void fab_repair_session_fini(struct fab_repair_session *t)
{
    fab_repair_free(t->state);
    fab_repair_baseline_free(t->baseline);
    fab_repair_idmap_fini(&t->idmap);
    fab_target_lft_fini(&t->lft);
    fab_repair_delta_fini(&t->last);
    *t = (struct fab_repair_session){0};
}

int fab_repair_session_new(const struct fab_repair_input *in, struct fab_repair_session *ret,
                           char *why, size_t why_len)
{
    struct fab_repair_session t = {0};
    int r = fab_repair_new(in, &t.state, why, why_len);
    if (r == FAB_OK)
        r = fab_repair_baseline_new(in->fabric, in->lids, &t.baseline);
    if (r == FAB_OK)
        r = fab_repair_idmap_make(t.baseline, in->fabric, in->lids, &t.idmap);
    if (r == FAB_OK)
        *ret = t;
    else
        fab_repair_session_fini(&t);
    return r;
}

/* Gives the session the tables of the target `former`, unless the session already has tables. */
static void own_tables(struct fab_repair_session *t, const struct fab_target *former)
{
    if (t->idmap.same)
        t->lft = fab_target_lft_share(&former->lft);
}

/* Moves the delta that was just committed to t->last, and translates its switch ids to ids of the
 * present fabric. */
static void keep_last(struct fab_repair_session *t, const struct fab_repair_idmap *idmap,
                      struct fab_repair_delta *d)
{
    for (size_t i = 0; i < d->changes; i++)
        d->change[i].sw = idmap->to_current[d->change[i].sw];
    for (size_t i = 0; i < d->writes; i++)
        d->write[i].sw = idmap->to_current[d->write[i].sw];
    t->last = *d;
    *d = (struct fab_repair_delta){0};
}

void fab_repair_session_take_last(struct fab_repair_session *t, struct fab_repair_delta *ret)
{
    *ret = t->last;
    t->last = (struct fab_repair_delta){0};
}

static int repair(struct fab_repair_session *t, const struct fab_repair_idmap *idmap)
{
    struct fab_repair_delta d = {0};
    struct fab_repair_change at;
    char why[200];
    fab_repair_delta_fini(&t->last);
    int r = fab_repair_plan(t->state, &t->lft, idmap->dead, idmap->deads, &d, why, sizeof(why));
    if (r == FAB_OK)
        r = fab_repair_prove(t->state, &t->lft, &d, &at);
    if (r == FAB_OK)
        r = fab_repair_order(t->state, &t->lft, &d);
    if (r == FAB_OK)
        r = fab_repair_count_paused(t->state, &t->lft, &d, &d.paused);
    t->leaves_out = d.lost > 0;
    if (r == FAB_OK)
        r = fab_repair_prepare_commit(&d, NULL, &t->lft);
    if (r == FAB_OK)
        fab_repair_commit(t->state, &t->lft, &d);
    if (r == FAB_OK)
        keep_last(t, idmap, &d);
    fab_repair_delta_fini(&d);
    return r;
}

/* Puts the LFTs of the present switches into the target. If the present fabric and the baseline's
 * fabric have the same ids, the target receives the session's tables; otherwise it receives
 * copies. */
static int hand_out(struct fab_repair_session *t, uint32_t switches, struct fab_target *target)
{
    if (t->idmap.same) {
        target->lft = t->lft;
        t->lft = (struct fab_lft){0};
        return FAB_OK;
    }
    int r = fab_target_lft_init(&target->lft, switches, target->lids.top);
    for (uint32_t sw = 0; r == FAB_OK && sw < switches; sw++)
        fab_target_lft_copy_row(&t->lft, t->idmap.to_baseline[sw], &target->lft, sw);
    return r;
}

int fab_repair_session_update(struct fab_repair_session *t, const struct fab_target *former,
                              const struct fab_fabric *fabric, struct fab_target *target)
{
    struct fab_repair_idmap idmap;
    int r = fab_repair_idmap_make(t->baseline, fabric, &target->lids, &idmap);
    if (r != FAB_OK)
        return r;
    const struct fab_vls *v = &former->vls;
    if (!idmap.same && fab_target_vls_multiple(v) && (v->of_lid || v->of_pair || v->port_class))
        /* the SLs and VLs in `former` are stored by the ids of an earlier fabric, and cannot be
         * used if the present ids differ */
        r = FAB_E_NOT_FOUND;
    if (r == FAB_OK) {
        own_tables(t, former);
        r = repair(t, &idmap);
    }
    if (r == FAB_OK)
        r = fab_target_vls_copy(&former->vls, &target->vls);
    if (r != FAB_OK) {
        fab_repair_idmap_fini(&idmap);
        return r;
    }
    fab_repair_idmap_fini(&t->idmap);
    t->idmap = idmap;
    memcpy(target->engine, former->engine, sizeof(target->engine));
    memcpy(target->reason, former->reason, sizeof(target->reason));
    target->choice = fab_target_choice_ref(former->choice);
    return hand_out(t, fabric->switch_count, target);
}

/* ---- for repairs in place -------------------------------------------------------------------- */

struct fab_lft *fab_repair_session_tables(struct fab_repair_session *t, struct fab_target *target)
{
    return t->idmap.same ? &target->lft : &t->lft;
}

uint32_t fab_repair_session_port(const struct fab_repair_session *t, const struct fab_fabric *f,
                                 uint32_t port)
{
    return fab_repair_idmap_to_baseline(&t->idmap, t->baseline, f, port);
}

uint32_t fab_repair_session_peer(const struct fab_repair_session *t, const struct fab_fabric *f,
                                 uint32_t port)
{
    uint32_t at = fab_repair_session_port(t, f, port);
    uint32_t peer = fab_repair_baseline_peer(t->baseline, at);
    return peer != FAB_NONE ? fab_repair_idmap_to_current(&t->idmap, t->baseline, f, peer)
                            : FAB_NONE;
}

int fab_repair_session_commit(struct fab_repair_session *t, struct fab_target *target,
                              struct fab_repair_delta *d)
{
    int r = fab_repair_prepare_commit(d, NULL, fab_repair_session_tables(t, target));
    if (r == FAB_OK && !t->idmap.same)
        r = fab_repair_prepare_commit(d, t->idmap.to_current, &target->lft);
    if (r != FAB_OK)
        return r;
    fab_repair_delta_fini(&t->last);
    fab_repair_commit(t->state, fab_repair_session_tables(t, target), d);
    for (size_t i = 0; i < d->changes && !t->idmap.same; i++) {
        const struct fab_repair_change *c = &d->change[i];
        uint32_t sw = t->idmap.to_current[c->sw];
        if (sw != FAB_NONE && c->lid <= target->lft.top)
            fab_target_lft_set(&target->lft, sw, c->lid, c->now);
    }
    return FAB_OK;
}

void fab_repair_session_prepare(struct fab_repair_session *t, struct fab_target *target)
{
    fab_target_lft_prepare(&target->lft);
    if (!t->idmap.same)
        fab_target_lft_prepare(&t->lft);
}
