/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps the tables that an engine has computed, and repairs them for each snapshot that follows
 * (session.h). */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
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

/* Returns whether the VLs of `former` can be used with the ids of the map. The SLs and VLs of some
 * engines are stored by the ids of an earlier fabric, and cannot be used if the present ids
 * differ. */
static bool lanes_fit(const struct fab_target *former, const struct fab_repair_idmap *idmap)
{
    const struct fab_vls *v = &former->vls;
    return idmap->same || !fab_target_vls_multiple(v) ||
           !(v->of_lid || v->of_pair || v->port_class);
}

/* Gives the tables of the session to the target. Takes over the map if it succeeds. */
static int finish(struct fab_repair_session *t, const struct fab_target *former,
                  const struct fab_fabric *fabric, struct fab_repair_idmap *idmap,
                  struct fab_target *target)
{
    int r = fab_target_vls_copy(&former->vls, &target->vls);
    if (r != FAB_OK)
        return r;
    fab_repair_idmap_fini(&t->idmap);
    t->idmap = *idmap;
    *idmap = (struct fab_repair_idmap){0};
    memcpy(target->engine, former->engine, sizeof(target->engine));
    memcpy(target->reason, former->reason, sizeof(target->reason));
    target->choice = fab_target_choice_ref(former->choice);
    return hand_out(t, fabric->switch_count, target);
}

int fab_repair_session_update(struct fab_repair_session *t, const struct fab_target *former,
                              const struct fab_fabric *fabric, struct fab_target *target)
{
    struct fab_repair_idmap idmap = {0};
    int r = fab_repair_idmap_make(t->baseline, fabric, &target->lids, &idmap);
    if (r == FAB_OK && !lanes_fit(former, &idmap))
        r = FAB_E_NOT_FOUND;
    if (r == FAB_OK) {
        own_tables(t, former);
        r = repair(t, &idmap);
    }
    if (r == FAB_OK)
        r = finish(t, former, fabric, &idmap, target);
    fab_repair_idmap_fini(&idmap);
    return r;
}

/* ---- tables of another manager --------------------------------------------------------------- */

/* The entries in which the tables of the switches differ from those of the session. */
struct difference {
    struct fab_repair_change *change;
    size_t changes, room;
};

static int note(struct difference *x, uint32_t lid, uint32_t sw, uint8_t was, uint8_t now)
{
    if (x->changes == FAB_REPAIR_FOLLOW_MOST)
        return FAB_E_LIMIT;
    if (x->changes == x->room) {
        void *more = fab_base_grow(x->change, sizeof(*x->change), x->changes + 1, &x->room);
        if (more == NULL)
            return FAB_E_NOMEM;
        x->change = more;
    }
    x->change[x->changes++] =
        (struct fab_repair_change){.lid = lid, .sw = sw, .was = was, .now = now};
    return FAB_OK;
}

/* Compares the rows of a switch: sw in `held`, base in the tables of the session. */
static int compare_row(const struct fab_lft *lft, uint32_t base, const struct fab_lft *held,
                       uint32_t sw, struct difference *x)
{
    uint32_t blocks = fab_target_lft_blocks(lft);
    uint8_t none[FAB_LFT_BLOCK];
    int r = FAB_OK;
    memset(none, FAB_LFT_NO_ROUTE, sizeof(none));
    for (uint32_t block = 0; r == FAB_OK && block < blocks; block++) {
        const uint8_t *was = fab_target_lft_block(lft, base, block);
        const uint8_t *now =
            block < fab_target_lft_blocks(held) ? fab_target_lft_block(held, sw, block) : none;
        if (memcmp(was, now, FAB_LFT_BLOCK) == 0)
            continue;
        for (uint32_t i = 0; r == FAB_OK && i < FAB_LFT_BLOCK; i++)
            if (was[i] != now[i] && block * FAB_LFT_BLOCK + i <= lft->top)
                r = note(x, block * FAB_LFT_BLOCK + i, base, was[i], now[i]);
    }
    return r;
}

static int follow(struct fab_repair_session *t, const struct fab_repair_idmap *idmap,
                  const struct fab_lft *held)
{
    struct difference x = {0};
    struct fab_repair_delta d = {0};
    int r = FAB_OK;
    for (uint32_t sw = 0; r == FAB_OK && sw < held->switch_count; sw++)
        r = compare_row(&t->lft, idmap->to_baseline[sw], held, sw, &x);
    if (r != FAB_OK) {
        free(x.change);
        return r;
    }
    r = fab_repair_follow(t->state, &t->lft, idmap->dead, idmap->deads, x.change, x.changes, &d);
    if (r == FAB_OK)
        r = fab_repair_prepare_commit(&d, NULL, &t->lft);
    if (r == FAB_OK) {
        t->leaves_out = d.lost > 0;
        fab_repair_commit(t->state, &t->lft, &d);
    }
    fab_repair_delta_fini(&d);
    return r;
}

int fab_repair_session_follow(struct fab_repair_session *t, const struct fab_target *former,
                              const struct fab_fabric *fabric, const struct fab_lft *held,
                              struct fab_target *target)
{
    struct fab_repair_idmap idmap = {0};
    int r = held->switch_count == fabric->switch_count ? FAB_OK : FAB_E_INVAL;
    if (r == FAB_OK)
        r = fab_repair_idmap_make(t->baseline, fabric, &target->lids, &idmap);
    if (r == FAB_OK && !lanes_fit(former, &idmap))
        r = FAB_E_NOT_FOUND;
    fab_repair_delta_fini(&t->last);
    if (r == FAB_OK) {
        own_tables(t, former);
        r = follow(t, &idmap, held);
    }
    if (r == FAB_OK)
        r = finish(t, former, fabric, &idmap, target);
    fab_repair_idmap_fini(&idmap);
    return r;
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
