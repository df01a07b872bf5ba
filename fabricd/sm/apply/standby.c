/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a standby manager reads, so that it can repair routes as soon as it takes over.
 *
 * In standby, a round reads the fabric and the LFTs of all switches, at most subnet.standby_rate
 * requests a second. It proves these tables like those that a new master adopts (standing.c), and
 * makes a repair session for them, and a view for readers. The next round begins PAUSE_US later,
 * and computes tables only if it finds a change. No round in standby writes.
 *
 * When the manager becomes master, it publishes these tables, and a light sweep finds the switches
 * with changed ports. A local repair can therefore begin some milliseconds later. The former master
 * may have written tables that this manager has not read. So all blocks are doubtful at first, and
 * the repair first reads and compares all blocks that its proof uses (fault/confirm_tables.c). It
 * does not read the other blocks; their entries must follow the same order of the switches as the
 * labels of this manager's session. With the setting `replication`, the former master has announced
 * its order (announce.c), and this manager compares the two orders. No local repair begins before
 * all blocks are read (sm_standby_trust) in any of these cases: the orders differ, the former
 * master was changing its tables or took no part in the replication, this manager may not know all
 * links, or etcd does not answer in time. Without the setting, this manager presumes that the
 * orders are the same.
 *
 * The heavy sweep that follows reads all doubtful blocks. If one of them differs, the manager drops
 * the tables, makes no local repairs until it has new ones, and adopts what the switches hold.
 */
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/apply/state.h"
#include "fabricd/sm/ha/ha.h"

/* Time from the end of a round in standby to the next one. */
#define PAUSE_US UINT64_C(10000000)
/* Time from the beginning of the state standby to the first round. */
#define FIRST_US UINT64_C(100000)
/* Interval at which a standby manager checks whether its next round is due earlier. This is so if
 * the master has announced another order and keeps no record of its changes, or if a part of the
 * record is missing. The standby manager cannot rely on its tables before this round has ended. */
#define LOOK_US UINT64_C(500000)
/* A local repair waits for the last announcement of the former master for TRUST_US, plus
 * TRUST_BLOCK_US for each LFT block of the fabric, but at most for TRUST_MOST_US. The manager
 * checks at intervals of TRUST_LOOK_US whether the announcement has come. */
#define TRUST_US UINT64_C(300000)
#define TRUST_BLOCK_US UINT64_C(2)
#define TRUST_MOST_US UINT64_C(800000)
#define TRUST_LOOK_US UINT64_C(2000)

/* Drops the active tables and their repair session. The snapshot, and what is known of the tables
 * that the switches hold, stay; routing computes new tables from them. */
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

static bool is_due(const struct sm *s)
{
    const struct sm_standby *x = &s->apply->standby;
    uint64_t now = clock_now_us();
    bool other_order = s->in.replica && replica_order_revision(s->in.replica) != x->order_begun;
    return now >= x->due_us || now >= sm_behind_due_us(s) || sm_behind_lost(s) ||
           (other_order && !sm_behind_hears(s));
}

void sm_standby_look(struct sm *s, uint64_t within_us)
{
    set_timer(s, within_us);
}

static void set_timer_of_round(struct sm *s, uint64_t after_us)
{
    s->apply->standby.due_us = clock_now_us() + after_us;
    set_timer(s, s->in.replica && after_us > LOOK_US ? LOOK_US : after_us);
}

static void on_time(void *ctx)
{
    struct sm *s = ctx;
    if (s->role.state == FAB_SM_STANDBY && !is_due(s)) {
        set_timer(s, LOOK_US);
        return;
    }
    if (s->in.config->managers.standby_rate == 0)
        set_timer_of_round(s, PAUSE_US); /* a reload may change the rate */
    else if (s->role.state == FAB_SM_STANDBY)
        sm_request(s, sm_behind_can_catch_up(s) ? SM_REQUEST_STANDBY_CHANGES : SM_REQUEST_STANDBY);
    sm_schedule(s);
}

void sm_standby_began(struct sm *s)
{
    struct sm_standby *x = &s->apply->standby;
    x->ready = x->unchecked = x->differs = false;
    set_timer_of_round(s, FIRST_US);
}

void sm_standby_begun(struct sm *s)
{
    struct sm_standby *x = &s->apply->standby;
    sm_behind_reads_all(s);
    x->order_begun = s->in.replica ? replica_order_revision(s->in.replica) : 0;
}

/* Makes the view of what the round has read, unless the present view already shows it. */
static void show(struct sm *s)
{
    struct sm_standby *x = &s->apply->standby;
    struct fab_target *target = x->ready ? s->model.target : NULL;
    struct fab_view *view = NULL;
    if (!s->model.fabric)
        return;
    if (!x->view || x->view->fabric != s->model.fabric || x->view->target != target) {
        if (sm_make_view(s, target, &view) != FAB_OK) {
            log_warning("sm", "no memory to show what was read in standby");
            return;
        }
        fab_view_unref(x->view);
        x->view = view;
    }
    x->read_us = clock_unix_us() - (int64_t)(clock_now_us() - s->run.started_us);
}

/* If the snapshot has just the links of the last announcement, this manager knows all links that
 * paths may use until the next one. */
static void renew_order(struct sm *s)
{
    uint64_t links = 0, hash = 0;
    int64_t claim,
        revision = s->in.replica ? replica_order_links(s->in.replica, &claim, &links) : 0;
    if (links != 0 && s->apply->standby.ready && s->model.fabric &&
        sm_announce_links(s->model.fabric, &hash) == FAB_OK && hash == links)
        s->apply->standby.order = revision;
}

void sm_standby_ended(struct sm *s, int status)
{
    struct sm_standby *x = &s->apply->standby;
    if (status == FAB_OK && x->ready)
        x->order = x->order_begun;
    sm_behind_read_all(s, status == FAB_OK);
    renew_order(s);
    if (status == FAB_OK)
        show(s);
    /* tests/bench/standbys.py waits for this line */
    log_debug("sm", "standby sweep ended ready=%d announced=%d", x->ready,
              !s->in.replica || x->order_begun == replica_order_revision(s->in.replica));
    set_timer_of_round(s, PAUSE_US);
}

void sm_standby_caught_up(struct sm *s, bool good)
{
    struct sm_standby *x = &s->apply->standby;
    if (good) {
        renew_order(s);
        show(s);
    }
    if (!good || sm_behind_interrupted(s))
        x->due_us = clock_now_us();
    set_timer(s, is_due(s) ? 0 : LOOK_US);
}

const struct fab_view *sm_shown_view(const struct sm *s)
{
    const struct fab_view *read = s->apply->standby.view;
    return s->role.state == FAB_SM_STANDBY && read ? read : s->model.view;
}

void sm_standby_get_status(const struct sm *s, struct sm_status *ret)
{
    const struct fab_view *v = sm_shown_view(s);
    if (s->role.state != FAB_SM_STANDBY || !v)
        return;
    int64_t read_us =
        v == s->apply->standby.view ? s->apply->standby.read_us : (int64_t)v->published_us;
    int64_t age_us = clock_unix_us() - read_us;
    ret->outdated = true;
    ret->view_age_us = age_us > 0 ? (uint64_t)age_us : 0;
}

static void drop_view(struct sm *s)
{
    fab_view_unref(s->apply->standby.view);
    s->apply->standby.view = NULL;
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
    sm_behind_proved(s, x->ready);
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
    if (!s->run.round->reads_only)
        return;
    s->apply->standby.used = s->apply->adopts = true;
    sm_ha_renew_paths(s);
    if (!s->run.round->catches && !sm_behind_resumes(s))
        doubt_all(s);
}

void sm_standby_compare(struct sm *s, uint32_t sw, uint32_t block, const uint8_t *entries)
{
    struct sm_standby *x = &s->apply->standby;
    const struct fab_observed *o = &s->model.observed;
    if (s->run.round->catches)
        return;
    bool same = fab_plan_observed_is_doubtful(o, sw, block) &&
                memcmp(fab_target_lft_block(&o->lft, sw, block), entries, FAB_LFT_BLOCK) == 0;
    if (same || (!s->run.round->standby && !x->unchecked))
        return;
    x->differs = true;
    x->ready = false;
}

/* If a block of a switch could not be read, marks all blocks of this switch as unknown, so that
 * the plan writes them. Returns whether there is such a switch. */
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
    if (s->run.round->catches)
        return sm_behind_compared(s);
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

/* ---- the order that the former master announced ---------------------------------------------- */

/* Returns whether this manager knows all links that paths may use: it has discovered the fabric
 * since the announcement, or the links of its snapshot are exactly those that were up at the
 * announcement. */
static bool knows_links(const struct sm *s, const struct replica_order *order)
{
    uint64_t hash = 0;
    return order->revision == s->apply->standby.order ||
           (order->links != 0 && s->model.fabric &&
            sm_announce_links(s->model.fabric, &hash) == FAB_OK && hash == order->links);
}

/* Returns why the tables cannot be trusted; NULL: they can. */
static const char *objection(const struct sm *s)
{
    struct replica_order order;
    bool agrees = false;
    if (replica_former_guid(s->in.replica) != sm_ha_former_master_guid(s))
        return "the former master took no part in the replication";
    if (replica_former_order(s->in.replica, &order) != FAB_OK)
        return "the former master may have been changing all tables";
    bool knows = knows_links(s, &order);
    if (knows && has_session(s) &&
        fab_repair_session_agrees(&s->apply->repair.session, s->model.fabric, order.guid,
                                  order.count, &agrees) != FAB_OK)
        agrees = false;
    free(order.guid);
    return !knows    ? "the former master brought back links or changed all tables"
           : !agrees ? "the tables of the former master follow another order"
                     : NULL;
}

static void judge(struct sm *s)
{
    struct sm_standby *x = &s->apply->standby;
    bool level = replica_is_level(s->in.replica);
    if (!level && clock_now_us() < x->trust_until_us) {
        loop_timer_set(x->trust_timer, TRUST_LOOK_US);
        return;
    }
    const char *why = level ? objection(s) : "etcd does not answer";
    x->trust = why ? SM_STANDBY_REFUSED : SM_STANDBY_TRUSTED;
    if (why)
        log_notice("sm", "all tables are read again before routes are repaired: %s", why);
    else
        log_debug("sm", "the former master announced the order of the tables");
    sm_run_check(s);
}

static void on_trust(void *ctx)
{
    struct sm *s = ctx;
    if (s->apply->standby.unchecked)
        judge(s);
}

/* Returns how long a local repair waits for etcd. To read all tables takes some 10 us for each
 * block, so in a large fabric, a busy etcd server is worth a longer wait. */
static uint64_t patience_us(const struct sm *s)
{
    uint64_t blocks = (uint64_t)s->model.fabric->switch_count * s->model.observed.blocks;
    uint64_t us = TRUST_US + blocks * TRUST_BLOCK_US;
    return us < TRUST_MOST_US ? us : TRUST_MOST_US;
}

static void begin_trust(struct sm *s)
{
    struct sm_standby *x = &s->apply->standby;
    x->trust = s->in.replica ? SM_STANDBY_WAITS : SM_STANDBY_TRUSTED;
    x->trust_until_us = clock_now_us() + patience_us(s);
    if (s->in.replica)
        loop_timer_set(x->trust_timer, 0);
}

enum sm_standby_trust sm_standby_trust(const struct sm *s)
{
    return s->apply->standby.trust;
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
    begin_trust(s);
    sm_standing_adopted(s, &x->adopted);
    s->apply->adopted |= fab_repair_overlay_size(s->apply->repair.session.state) > 0;
    if (sm_publish(s) != FAB_OK)
        log_warning("sm", "no memory to publish the tables that were read in standby");
    sm_request_heavy(s);
    sm_request(s, SM_REQUEST_FIRST_LIGHT | SM_REQUEST_MASTER_LID);
}

/* Returns why the tables cannot be used; NULL: they can. interrupted: a round in standby was
 * aborted before it found the tables proved. */
static const char *reason_unready(const struct sm *s, bool interrupted)
{
    const struct sm_standby *x = &s->apply->standby;
    if (interrupted)
        return "a standby sweep was running";
    if (!x->ready || x->differs)
        return "the last standby sweep found tables that were being changed";
    return s->model.lent || sm_run_busy(s) || !has_session(s)
               ? "the repair session for the tables was not complete"
               : NULL;
}

static void conclude(struct sm *s, const char *why)
{
    struct sm_standby *x = &s->apply->standby;
    if (!why) {
        use_tables(s);
    } else if (x->used) {
        log_notice("sm", "all tables are read again before routes are repaired: %s", why);
        drop_tables(s);
        /* Forgets all blocks, even those that the interrupted sweep has read: the former master may
         * have written them since. */
        sm_model_forget(&s->model);
    }
    x->ready = x->used = x->reported = x->catching = false;
}

void sm_standby_conclude(struct sm *s, bool good)
{
    conclude(s, good ? reason_unready(s, false)
                     : "the changes of the former master could not be followed");
}

void sm_standby_take_over(struct sm *s)
{
    struct sm_standby *x = &s->apply->standby;
    loop_timer_cancel(x->timer);
    sm_request_met(s, SM_REQUEST_STANDBY | SM_REQUEST_STANDBY_CHANGES);
    drop_view(s); /* the first repair then changes the tables in place */
    bool interrupted = sm_run_busy(s) && s->run.round->standby && !s->run.round->catches;
    if (interrupted)
        sm_run_abort(s);
    x->catching = sm_behind_take_over(s);
    if (!x->catching)
        conclude(s, reason_unready(s, interrupted && !x->ready));
}

void sm_standby_reload(struct sm *s)
{
    if (!s->apply->standby.catching)
        return;
    sm_request_met(s, SM_REQUEST_CATCH_UP);
    conclude(s, "the settings were read again");
}

void sm_standby_drop(struct sm *s)
{
    struct sm_standby *x = &s->apply->standby;
    x->ready = x->unchecked = x->differs = x->reported = x->catching = false;
    x->order = 0;
    sm_behind_drop(s);
    loop_timer_cancel(x->trust_timer);
    sm_request_met(s, SM_REQUEST_FIRST_LIGHT | SM_REQUEST_MASTER_LID);
}

int sm_standby_init(struct sm *s)
{
    struct sm_standby *x = &s->apply->standby;
    x->timer = loop_timer_new(s->in.loop, on_time, s);
    x->trust_timer = loop_timer_new(s->in.loop, on_trust, s);
    return x->timer && x->trust_timer ? FAB_OK : FAB_E_NOMEM;
}

void sm_standby_fini(struct sm *s)
{
    drop_view(s);
    loop_timer_free(s->apply->standby.timer);
    loop_timer_free(s->apply->standby.trust_timer);
    s->apply->standby.timer = s->apply->standby.trust_timer = NULL;
}
