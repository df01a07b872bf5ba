/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a standby manager reads, so that it can repair routes as soon as it takes over.
 *
 * In standby, a round reads the fabric and the LFTs of all switches, at most subnet.standby_rate
 * requests a second. It proves these tables like those that a new master adopts (standing.c), and
 * makes a repair session for them. The next round begins PAUSE_US later, and computes tables only
 * if it finds a change. No round in standby writes.
 *
 * When the manager becomes master, it publishes these tables, and a light sweep finds the switches
 * with changed ports. A local repair can therefore begin some milliseconds later. The master before
 * may have written tables that this manager has not read. So all blocks are doubtful at first, and
 * the repair compares all blocks that its proof reads before it writes (fault/confirm_tables.c).
 * The heavy sweep that follows reads all doubtful blocks. If one of them differs, the manager drops
 * the tables, makes no local repairs until it has new ones, and adopts what the switches hold.
 */
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/apply/state.h"
#include "fabricd/sm/ha/ha.h"

/* Time from the end of a round in standby to the next one. */
#define PAUSE_US UINT64_C(10000000)
/* Time from the begin of the state standby to the first round. */
#define FIRST_US UINT64_C(100000)

/* The snapshot and the tables of the switches stay; the next round computes tables from them. */
static void drop_tables(struct sm *s)
{
    sm_model_take_target(&s->model, NULL);
    fab_target_unref(s->model.former);
    s->model.former = NULL;
    sm_repair_drop_sealed(s);
    sm_repair_forget(s);
    s->run.same = false;
}

static bool has_session(const struct sm *s)
{
    const struct sm_repair_state *r = &s->apply->repair;
    return s->model.target && r->session.state && r->tables == s->model.tables;
}

/* ---- in standby ------------------------------------------------------------------------------ */

static void set_timer(struct sm *s, uint64_t after_us)
{
    if (s->role.state == FAB_SM_STANDBY)
        loop_timer_set(s->apply->standby.timer, after_us);
}

static void on_time(void *ctx)
{
    struct sm *s = ctx;
    if (s->in.config->managers.standby_rate == 0)
        set_timer(s, PAUSE_US); /* a reload may change the rate */
    else if (s->role.state == FAB_SM_STANDBY)
        sm_request(s, SM_REQUEST_STANDBY);
    sm_schedule(s);
}

void sm_standby_began(struct sm *s)
{
    struct sm_standby *x = &s->apply->standby;
    x->ready = x->unchecked = x->differs = false;
    set_timer(s, FIRST_US);
}

void sm_standby_ended(struct sm *s, int status)
{
    (void)status;
    set_timer(s, PAUSE_US);
}

void sm_standby_report(struct sm *s)
{
    struct sm_standby *x = &s->apply->standby;
    if (s->role.state != FAB_SM_STANDBY || x->reported || !x->ready || !has_session(s))
        return;
    x->reported = true;
    event_emit(s->in.bus, sm_standby_ready, .subject = s->in.transport->name,
               .switches = s->model.fabric->switch_count);
}

/* Returns whether the switches hold exactly the tables of the target. */
static bool holds_target(const struct sm *s)
{
    const struct fab_observed *o = &s->model.observed;
    const struct fab_lft *lft = &s->model.target->lft;
    uint32_t blocks = fab_target_lft_blocks(lft);
    for (uint32_t sw = 0; sw < s->model.fabric->switch_count; sw++)
        for (uint32_t block = 0; block < blocks; block++)
            if (!fab_plan_observed_is_known(o, sw, block) ||
                memcmp(fab_target_lft_block(&o->lft, sw, block),
                       fab_target_lft_block(lft, sw, block), FAB_LFT_BLOCK) != 0)
                return false;
    return true;
}

static int enter(struct sm *s)
{
    struct sm_standby *x = &s->apply->standby;
    x->ready = s->model.target && holds_target(s);
    if (!x->ready) {
        /* Lost links stay in the list: the master has not repaired the routes over them yet. */
        drop_tables(s);
        return FAB_OK;
    }
    sm_standing_forget_lost(s);
    sm_repair_begin(s);
    sm_standby_report(s);
    return FAB_OK;
}

const struct sm_phase sm_phase_stand_by = {.name = "standing by", .enter = enter};

/* ---- comparing ------------------------------------------------------------------------------- */

static void doubt_all(struct sm *s)
{
    for (uint32_t sw = 0; sw < s->model.fabric->switch_count; sw++)
        fab_plan_observed_doubt(&s->model.observed, sw);
}

void sm_standby_read_again(struct sm *s)
{
    if (!s->run.round->standby)
        return;
    s->apply->standby.used = s->apply->adopts = true;
    sm_ha_renew_paths(s);
    doubt_all(s);
}

void sm_standby_compare(struct sm *s, uint32_t sw, uint32_t block, const uint8_t *entries)
{
    struct sm_standby *x = &s->apply->standby;
    const struct fab_observed *o = &s->model.observed;
    bool same = fab_plan_observed_is_doubtful(o, sw, block) &&
                memcmp(fab_target_lft_block(&o->lft, sw, block), entries, FAB_LFT_BLOCK) == 0;
    if (same || (!s->run.round->standby && !x->unchecked))
        return;
    x->differs = true;
    x->ready = false;
}

/* Marks the blocks that could not be read as unknown, so that the plan writes them. Returns whether
 * there are any. */
static bool forget_unread(struct sm *s)
{
    struct fab_observed *o = &s->model.observed;
    bool any = false;
    for (uint32_t sw = 0; sw < s->model.fabric->switch_count; sw++) {
        uint32_t block = 0;
        while (block < o->blocks && !fab_plan_observed_is_doubtful(o, sw, block))
            block++;
        if (block < o->blocks) {
            fab_plan_observed_forget(o, sw);
            any = true;
        }
    }
    return any;
}

/* Stores the LIDs that the tables use. Phase "addressing" does not store them, because it keeps the
 * LIDs of the active tables. */
static int store_leases(struct sm *s)
{
    int r = sm_model_keep_leases(&s->model, &s->model.target->lids);
    if (r == FAB_OK && s->in.store)
        store_put_leases(s->in.store, s->model.leases, s->model.lease_count);
    return r;
}

int sm_standby_compared(struct sm *s)
{
    struct sm_standby *x = &s->apply->standby;
    bool standby = s->run.round->standby, differs = x->differs;
    if (!standby && !x->unchecked)
        return FAB_OK;
    x->differs = x->unchecked = false;
    if (forget_unread(s))
        x->ready = false;
    if (standby && x->ready && s->model.target)
        return SM_ROUND_OVER;
    if (standby || differs) {
        drop_tables(s);
        return FAB_OK;
    }
    s->apply->adopts = false;
    return s->model.target ? store_leases(s) : FAB_OK;
}

/* ---- taking over ----------------------------------------------------------------------------- */

bool sm_standby_unchecked(const struct sm *s)
{
    return s->apply->standby.unchecked;
}

void sm_standby_differs(struct sm *s)
{
    s->apply->standby.differs = true;
    sm_request_heavy(s);
}

static void use_tables(struct sm *s)
{
    struct sm_standby *x = &s->apply->standby;
    doubt_all(s);
    x->unchecked = true;
    sm_standing_adopted(s, &x->adopted);
    if (sm_publish(s) != FAB_OK)
        log_warning("sm", "no memory to publish the tables that were read in standby");
    sm_request_heavy(s);
    sm_request(s, SM_REQUEST_FIRST_LIGHT);
}

void sm_standby_take_over(struct sm *s)
{
    struct sm_standby *x = &s->apply->standby;
    loop_timer_cancel(x->timer);
    sm_request_met(s, SM_REQUEST_STANDBY);
    if (sm_run_busy(s) && s->run.round->standby)
        sm_run_abort(s);
    bool ready = x->ready && !x->differs && !s->model.lent && !sm_run_busy(s) && has_session(s);
    if (ready)
        use_tables(s);
    else if (x->used)
        drop_tables(s);
    x->ready = x->used = x->reported = false;
}

void sm_standby_drop(struct sm *s)
{
    struct sm_standby *x = &s->apply->standby;
    x->ready = x->unchecked = x->differs = x->reported = false;
    sm_request_met(s, SM_REQUEST_FIRST_LIGHT);
}

int sm_standby_init(struct sm *s)
{
    s->apply->standby.timer = loop_timer_new(s->in.loop, on_time, s);
    return s->apply->standby.timer ? FAB_OK : FAB_E_NOMEM;
}

void sm_standby_fini(struct sm *s)
{
    loop_timer_free(s->apply->standby.timer);
    s->apply->standby.timer = NULL;
}
