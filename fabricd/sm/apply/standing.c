/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Adopts the tables that the switches hold when this manager becomes master: after a restart, or
 * when it takes over from another manager. These tables may contain local repairs that no manager
 * remembers, or may come from another routing engine. If they pass the proof for the present
 * fabric, the manager keeps them. If they lack paths, for example because a link failed meanwhile,
 * only the switches without a path get entries of the engine (libfabmgr/repair/standing.h). But if
 * the engine's own tables need no more writes than these completed tables, the manager uses the
 * engine's tables.
 *
 * If links were lost since an earlier sweep of this manager, for example in the instant of a
 * take-over, the manager first assumes that the fabric still has these links, and then makes a
 * local repair for the lost links. This repair is the same, with the same order of writes, as if
 * this manager had been master all the time. The manager prefers it to the engine's tables as long
 * as it changes less than 1/NEAR of all blocks.
 *
 * Adopted tables may spread traffic less evenly than those of the engine. A rebalance follows after
 * the quiet time (rebalance.c). If the tables come from an engine that the settings no longer name,
 * a reroute follows at once.
 */
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/apply/state.h"
#include "libfabmgr/route/route.h"

/* maximum number of lost links for which a local repair is tried */
#define LOST_MOST 1024u
/* If less than 1/NEAR of all blocks must be written, this counts as few writes, and other engines
 * are not compared. */
#define NEAR 4

bool sm_standing_awaited(const struct sm *s)
{
    return s->apply->adopts;
}

bool sm_standing_exist(const struct sm *s)
{
    return s->apply->adopts && (s->apply->routes_read || s->apply->generation > 0);
}

void sm_standing_copy(const struct fab_observed *o, struct sm_standing *ret)
{
    size_t bits = (size_t)o->lft.switch_count * o->blocks;
    struct sm_standing x = {.blocks = o->blocks, .known = fab_base_bits_new(bits)};
    if (!x.known || fab_target_lft_copy(&o->lft, &x.lft) != FAB_OK) {
        free(x.known);
        log_debug("sm", "no memory to adopt the tables of the switches");
        return;
    }
    for (size_t i = 0; i < bits; i++)
        fab_base_bits_put(x.known, i, fab_base_bits_get(o->known, i));
    x.any = true;
    *ret = x;
}

int sm_standing_held(const struct sm_standing *x, uint32_t switches, uint32_t top,
                     struct fab_lft *ret)
{
    int r = fab_target_lft_init(ret, switches, top);
    uint32_t blocks = r == FAB_OK ? fab_target_lft_blocks(ret) : 0;
    for (uint32_t sw = 0; r == FAB_OK && sw < switches; sw++)
        for (uint32_t b = 0; b < blocks && b < x->blocks && sw < x->lft.switch_count; b++)
            if (fab_base_bits_get(x->known, (size_t)sw * x->blocks + b))
                memcpy(fab_target_lft_row(ret, sw) + (size_t)b * FAB_LFT_BLOCK,
                       fab_target_lft_block(&x->lft, sw, b), FAB_LFT_BLOCK);
    return r;
}

static uint32_t quarter_of(const struct fab_target *t)
{
    return t->lft.switch_count * fab_target_lft_blocks(&t->lft) / NEAR;
}

static int fit(const struct sm_standing *x, const struct fab_lft *like, struct fab_lft *ret)
{
    return sm_standing_held(x, like->switch_count, like->top, ret);
}

/* Compares the numbers of writes. Sets x->differs if the tables that the switches hold, with their
 * missing paths added, need fewer writes than the engine's tables; if `few`, they must also need
 * writes of less than 1/NEAR of all blocks. Sets x->near if the engine's tables need no more writes
 * than those, and writes of less than 1/NEAR of all blocks. */
static void weigh(struct sm_standing *x, const struct fab_target *t, bool few)
{
    uint32_t most = quarter_of(t);
    bool fewer = x->count.blocks < x->count.fresh_blocks;
    x->differs = fewer && !(few && x->count.blocks >= most);
    x->near = !fewer && x->count.fresh_blocks < most;
}

/* ---- repairing ------------------------------------------------------------------------------- */

int sm_standing_connect(struct fab_fabric *f, const struct fab_silent_link *l)
{
    uint32_t port[2];
    struct fab_port_info info[2];
    if (!sm_link_ports(f, l, port))
        return FAB_OK;
    for (int end = 0; end < 2; end++) {
        if (fab_fabric_port(f, port[end])->peer != FAB_NONE)
            return FAB_OK;
        info[end] = fab_fabric_port(f, port[end])->info;
        info[end].port_state = FAB_STATE_ACTIVE;
        info[end].phys_state = FAB_PHYS_LINKUP;
    }
    return fab_fabric_add_link(f, port, info);
}

static int connect_lost(const struct sm_standing *x, const struct fab_fabric *f,
                        struct fab_fabric **ret)
{
    struct fab_fabric *before = NULL;
    int r = fab_fabric_clone(f, &before);
    for (uint32_t i = 0; r == FAB_OK && i < x->lost_count; i++)
        r = sm_standing_connect(before, &x->lost[i]);
    if (r == FAB_OK)
        *ret = before;
    else
        fab_fabric_unref(before);
    return r;
}

/* `former` are the tables that the switches hold, made for the fabric `before`. Repairs them for
 * the present fabric. *ret: the repaired tables. *ret_session: their repair session. Returns OK,
 * NOMEM, or NOT_FOUND if the repair is not possible or would leave out paths. */
static int repair(const struct sm_sealed *of, const struct fab_fabric *before,
                  const struct fab_target *former, struct fab_repair_session *ret_session,
                  struct fab_lft *ret)
{
    struct fab_target now = {.lids = former->lids};
    char why[200];
    const struct fab_repair_input in = {.fabric = before,
                                        .policy = &of->policy,
                                        .lids = &former->lids,
                                        .lft = &former->lft,
                                        .vls = &former->vls};
    int r = fab_repair_session_new(&in, ret_session, why, sizeof(why));
    if (r != FAB_OK)
        log_debug("sm", "the tables of the switches cannot be repaired: %s", why);
    if (r == FAB_OK)
        r = fab_repair_session_update(ret_session, former, of->fabric, &now);
    fab_target_vls_fini(&now.vls);
    if (r == FAB_OK && !ret_session->leaves_out) {
        *ret = now.lft;
        return FAB_OK;
    }
    fab_target_lft_fini(&now.lft);
    fab_repair_session_fini(ret_session);
    return r == FAB_E_NOMEM ? r : FAB_E_NOT_FOUND;
}

int sm_standing_repair(struct sm_standing *x, const struct sm_sealed *of, bool few,
                       struct fab_repair_session *ret_session, struct fab_lft *ret)
{
    const struct fab_target *t = of->target;
    struct fab_target former = {.lids = t->lids, .vls = t->vls};
    struct fab_fabric *before = NULL;
    const struct fab_standing in = {
        .held = &former.lft, .fresh = &t->lft, .fabric = of->fabric, .lids = &t->lids};
    struct fab_lft now = {0};
    if (x->lost_count == 0)
        return FAB_E_NOT_FOUND;
    int r = fit(x, &t->lft, &former.lft);
    if (r == FAB_OK)
        r = connect_lost(x, of->fabric, &before);
    if (r == FAB_OK)
        r = repair(of, before, &former, ret_session, &now);
    if (r == FAB_OK) {
        fab_repair_standing_compare(&in, &now, &x->count);
        weigh(x, t, few);
        /* Prefers the repair even if it changes more blocks than the engine's tables would: the
         * repair writes each block once, whereas the transition to the engine's tables may write a
         * block several times. */
        x->differs |= x->count.fresh_blocks > 0 && x->count.blocks < quarter_of(t);
    }
    if (r == FAB_OK && x->differs)
        *ret = now;
    else if (r == FAB_OK)
        fab_target_lft_fini(&now);
    fab_fabric_unref(before);
    fab_target_lft_fini(&former.lft);
    return r;
}

void sm_standing_note_lost(struct sm *s, const struct fab_silent_link *link, uint32_t count)
{
    struct sm_apply *a = s->apply;
    if (!a->adopts || count == 0 || count > LOST_MOST - a->lost_count)
        return;
    struct fab_silent_link *more = reallocarray(a->lost, a->lost_count + count, sizeof(*a->lost));
    if (!more)
        return;
    a->lost = more;
    memcpy(a->lost + a->lost_count, link, count * sizeof(*link));
    a->lost_count += count;
}

void sm_standing_forget_lost(struct sm *s)
{
    free(s->apply->lost);
    s->apply->lost = NULL;
    s->apply->lost_count = 0;
}

void sm_standing_take(struct sm *s, struct sm_standing *ret)
{
    struct sm_apply *a = s->apply;
    *ret = a->standing;
    a->standing = (struct sm_standing){0};
    if (!ret->any || a->lost_count == 0)
        return;
    ret->lost = calloc(a->lost_count, sizeof(*ret->lost));
    if (!ret->lost)
        return;
    memcpy(ret->lost, a->lost, a->lost_count * sizeof(*ret->lost));
    ret->lost_count = a->lost_count;
}

/* ---- completing ------------------------------------------------------------------------------ */

int sm_standing_complete(struct sm_standing *x, const struct fab_fabric *f,
                         const struct fab_target *t, bool few, struct fab_lft *ret)
{
    struct fab_lft held = {0}, lft = {0};
    x->differs = x->near = false;
    x->count = (struct fab_standing_count){0};
    const struct fab_standing in = {.held = &held, .fresh = &t->lft, .fabric = f, .lids = &t->lids};
    int r = fit(x, &t->lft, &held);
    if (r == FAB_OK && !fab_target_lft_same(&held, &t->lft))
        r = fab_repair_standing(&in, &lft, &x->count);
    fab_target_lft_fini(&held);
    if (r == FAB_OK)
        weigh(x, t, few);
    x->differs &= lft.switch_count > 0;
    if (x->differs)
        *ret = lft;
    else
        fab_target_lft_fini(&lft);
    return r;
}

/* Returns whether the newest tables in the store came from an engine that is not in the settings
 * any more. */
static bool is_other_engine(const struct sm *s)
{
    struct fab_route_chain chain;
    char why[300];
    const char *last = s->apply->last_engine;
    if (!last[0] || fab_route_chain_parse(s->policy.engine, &chain, why, sizeof(why)) != FAB_OK)
        return false;
    uint32_t i = 0;
    while (i < chain.count && strcmp(chain.engine[i]->name, last) != 0)
        i++;
    return i == chain.count;
}

void sm_standing_adopted(struct sm *s, const struct sm_adopted *x)
{
    s->apply->adopted = x->adopted || (x->near && x->count.fresh_blocks > 0);
    if (!x->adopted)
        return;
    /* The quiet time before the rebalance begins now. */
    s->apply->rebalance.changed_us = clock_now_us();
    event_emit(s->in.bus, tables_adopted, .subject = "fabric", .blocks = x->count.blocks,
               .entries = x->count.entries, .engine_blocks = x->count.fresh_blocks,
               .engine = s->model.target->engine);
    if (is_other_engine(s))
        sm_request(s, SM_REQUEST_REROUTE);
}

void sm_standing_report(struct sm *s, const struct sm_standing *x)
{
    const struct sm_adopted a = {.adopted = x->adopted, .near = x->near, .count = x->count};
    if (s->run.round->reads_only) {
        s->apply->standby.adopted = a;
        return;
    }
    sm_standing_forget_lost(s);
    s->apply->adopts = false;
    sm_standing_adopted(s, &a);
}

void sm_standing_fini(struct sm_standing *x)
{
    free(x->known);
    free(x->lost);
    fab_target_lft_fini(&x->lft);
    *x = (struct sm_standing){0};
}

void sm_standing_await(struct sm *s)
{
    s->apply->adopts = true;
    sm_standing_forget_lost(s);
    s->apply->last_engine[0] = 0;
}
