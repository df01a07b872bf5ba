/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps what a standby manager has read up to date with the record of changes of the master
 * (changed_blocks.c, fabricd/replica/changes.c).
 *
 * The record names LFT blocks that the master has changed, and switches whose links have changed. A
 * round "catching up" discovers only these switches and reads only these blocks. The repair session
 * then follows the changed entries (fab_repair_session_follow), and all tables are proved again. So
 * the manager has proved tables some seconds after a change, instead of after a complete round in
 * standby, which takes two minutes at 11,664 hosts. A decision about links that arrives from
 * another manager (wiring/take_over.c) begins such a round, too.
 *
 * If the manager takes over while something is left to read, it first catches up, without the limit
 * of subnet.standby_rate, and then repairs routes.
 *
 * A link that the round finds lost stays in the snapshot if entries of the switches at its ends
 * still lead into it: the master has not routed around it. If the master lives, its next record
 * tells that it has. At a take-over, the light sweep finds the link, and the repair routes around
 * it.
 *
 * The record only says what is worth reading. All tables stay doubtful at a take-over (standby.c):
 * the repair reads again the blocks that its proof uses, and relies on the announced order for the
 * others. If the manager has missed a part of the record, or if the master has none, everything may
 * have changed: a complete round in standby then reads it, as without the record.
 */
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/apply/state.h"
#include "fabricd/sm/links/links.h"

/* Time from the last record to the round. The master records a change before its writes and again
 * after them, so the second record mostly comes within this time. */
#define SETTLE_US UINT64_C(250000)
/* Complete rounds in standby that may be interrupted in a row. */
#define INTERRUPTED_MOST 8

/* ---- the record ------------------------------------------------------------------------------ */

/* Adds what a record says. Without memory, or if something was missed, everything has changed. */
static void note(struct sm *s, const struct replica_changes *x)
{
    struct sm_behind *b = &s->apply->behind;
    bool follows = x->claim != 0 && x->claim == b->claim && x->first <= b->last + 1;
    if (follows && x->last <= b->last)
        return;
    b->claim = x->claim;
    b->last = x->last;
    b->came_us = clock_now_us();
    if (!follows || !s->model.fabric)
        fab_plan_changes_add_all(&b->set);
    else if (x->text[0] != '\0' &&
             fab_plan_changes_read(&b->set, s->model.fabric, x->text) != FAB_OK)
        log_debug("sm", "the record of changes cannot be read");
}

static void take_records(struct sm *s)
{
    struct replica_changes x;
    while (s->in.replica && replica_next_changes(s->in.replica, &x)) {
        note(s, &x);
        free(x.text);
    }
}

/* Returns true if something is left to read, and it is known what. */
static bool knows(const struct sm *s)
{
    const struct sm_behind *b = &s->apply->behind;
    return !b->set.all && !b->reading.all &&
           (b->decided || fab_plan_changes_any(&b->set) || fab_plan_changes_any(&b->reading));
}

/* Returns whether the session can follow changes of the tables. */
static bool has_base(const struct sm *s)
{
    const struct sm_repair_state *r = &s->apply->repair;
    return s->apply->standby.ready && s->model.fabric && !s->model.lent && r->session.state &&
           r->tables == s->model.tables && (s->model.target || s->model.former);
}

bool sm_behind_hears(const struct sm *s)
{
    int64_t claim = 0;
    uint64_t links;
    (void)replica_order_links(s->in.replica, &claim, &links);
    return s->apply->behind.claim != 0 && s->apply->behind.claim == claim;
}

bool sm_behind_lost(const struct sm *s)
{
    return s->apply->behind.set.all;
}

bool sm_behind_can_catch_up(const struct sm *s)
{
    return knows(s) && has_base(s);
}

uint64_t sm_behind_due_us(const struct sm *s)
{
    return sm_behind_can_catch_up(s) ? s->apply->behind.came_us + SETTLE_US : UINT64_MAX;
}

/* Interrupts a complete round in standby, which would take too long. The next one reads only what
 * this one has not read. */
static void interrupt_round(struct sm *s)
{
    struct sm_behind *b = &s->apply->behind;
    if (!sm_run_busy(s) || !s->run.round->standby || s->run.round->catches ||
        b->interrupted >= INTERRUPTED_MOST || !has_base(s) || !knows(s))
        return;
    b->interrupted++;
    sm_run_abort(s);
    b->resumes = b->reads_all;
}

static void go_on(struct sm *s)
{
    if (s->role.state != FAB_SM_STANDBY)
        return;
    interrupt_round(s);
    if (!sm_run_busy(s))
        sm_standby_look(s, sm_behind_can_catch_up(s) ? SETTLE_US : 0);
}

static void on_records(void *ctx)
{
    struct sm *s = ctx;
    take_records(s);
    go_on(s);
}

bool sm_behind_decided(struct sm *s)
{
    struct sm_behind *b = &s->apply->behind;
    if (s->role.state != FAB_SM_STANDBY || !sm_behind_hears(s) || b->set.all || b->reading.all ||
        !s->apply->standby.ready)
        return false;
    b->decided = true;
    b->came_us = clock_now_us();
    go_on(s);
    return true;
}

/* ---- complete rounds in standby -------------------------------------------------------------- */

void sm_behind_reads_all(struct sm *s)
{
    struct sm_behind *b = &s->apply->behind;
    take_records(s);
    if (b->resumes && !b->set.all && !b->reading.all)
        return;
    b->resumes = b->reads_all = b->decided = false;
    fab_plan_changes_clear(&b->set);
    fab_plan_changes_clear(&b->reading);
}

bool sm_behind_resumes(struct sm *s)
{
    struct sm_behind *b = &s->apply->behind;
    bool resumes = b->resumes;
    b->resumes = false;
    b->reads_all = true;
    return resumes;
}

void sm_behind_read_all(struct sm *s, bool done)
{
    struct sm_behind *b = &s->apply->behind;
    b->reads_all = b->resumes = false;
    if (done)
        b->interrupted = 0;
}

bool sm_behind_interrupted(const struct sm *s)
{
    return s->apply->behind.interrupted > 0;
}

/* ---- the round ------------------------------------------------------------------------------- */

static void list_suspects(struct sm *s)
{
    const struct fab_lft_changes *set = &s->apply->behind.reading;
    s->run.suspects = (struct sm_guids){0};
    for (uint32_t sw = 0; sw < set->switches; sw++)
        if (fab_base_bits_get(set->linked, sw))
            sm_guids_add(&s->run.suspects, s->model.fabric->nodes[sw].guid);
}

void sm_behind_begun(struct sm *s)
{
    struct sm_behind *b = &s->apply->behind;
    take_records(s);
    fab_plan_changes_begin(&b->reading, s->model.fabric);
    fab_plan_changes_add(&b->reading, &b->set);
    fab_plan_changes_clear(&b->set);
    b->done = b->differs = b->failed = false;
    sm_standing_forget_lost(s);
    list_suspects(s);
}

/* Loads decisions about links that other managers have made. */
static int enter_load(struct sm *s)
{
    struct sm_behind *b = &s->apply->behind;
    if (b->reading.all || s->run.suspects.many || !has_base(s))
        return SM_ROUND_OVER;
    if (sm_is_master(s) && s->in.store)
        store_flush(s->in.store);
    b->decided = false;
    return sm_isolation_differs(s) || sm_drains_differ(s) ? sm_links_load(s) : FAB_OK;
}

const struct sm_phase sm_phase_load_links = {.name = "loading links", .enter = enter_load};

bool sm_behind_next(struct sm *s, uint32_t sw, uint32_t end, uint32_t *block)
{
    *block = fab_plan_changes_next_block(&s->apply->behind.reading, sw, *block);
    return *block < end;
}

void sm_behind_answer(struct sm *s, uint32_t sw, uint32_t block, const uint8_t *entries)
{
    struct sm_behind *b = &s->apply->behind;
    const struct fab_observed *o = &s->model.observed;
    b->failed |= entries == NULL;
    b->differs |=
        entries && memcmp(fab_target_lft_block(&o->lft, sw, block), entries, FAB_LFT_BLOCK) != 0;
}

static bool any_entry_leads_into(const struct sm *s, uint32_t port)
{
    const struct fab_lft *lft = &s->model.observed.lft;
    const struct fab_port *p = fab_fabric_port(s->model.fabric, port);
    uint32_t lid = 0;
    while (lid <= lft->top && fab_target_lft_at(lft, p->node, lid) != p->num)
        lid++;
    return lid <= lft->top;
}

/* Brings back into the snapshot the lost links into which entries still lead. Returns OK or
 * NOMEM. */
static int keep_links_in_use(struct sm *s)
{
    struct sm_apply *a = s->apply;
    uint32_t port[2], left = 0;
    int r = a->lost_count > 0 ? sm_model_writable(&s->model, true) : FAB_OK;
    for (uint32_t i = 0; r == FAB_OK && i < a->lost_count; i++) {
        if (sm_link_ports(s->model.fabric, &a->lost[i], port) &&
            (any_entry_leads_into(s, port[0]) || any_entry_leads_into(s, port[1])))
            r = sm_standing_connect(s->model.fabric, &a->lost[i]);
        else
            a->lost[left++] = a->lost[i];
    }
    a->lost_count = left;
    return r;
}

/* Called when all blocks are read. Ends the round if a read failed or if, while there are active
 * tables, no entry differs from what the manager knew. Otherwise the active tables become
 * model.former, and there are no active tables any more, so that the next phases make new ones from
 * the entries that were read. */
int sm_behind_compared(struct sm *s)
{
    struct sm_behind *b = &s->apply->behind;
    if (b->failed)
        return SM_ROUND_OVER;
    if (s->model.target && !b->differs) {
        b->done = true;
        return SM_ROUND_OVER;
    }
    fab_plan_observed_presume(&s->model.observed);
    if (s->model.target)
        sm_model_take_target(&s->model, NULL);
    s->run.same = false;
    return keep_links_in_use(s);
}

void sm_behind_proved(struct sm *s, bool good)
{
    s->apply->behind.done = good;
}

void sm_behind_ended(struct sm *s, int status)
{
    struct sm_behind *b = &s->apply->behind;
    bool good = status == FAB_OK && b->done;
    log_debug("sm", "caught up good=%d differed=%d", good, b->differs);
    if (good)
        fab_plan_changes_clear(&b->reading);
    else
        fab_plan_changes_add_all(&b->set);
    if (s->role.state == FAB_SM_STANDBY)
        sm_standby_caught_up(s, good);
    else
        sm_standby_conclude(s, good);
}

/* ---- taking over ----------------------------------------------------------------------------- */

void sm_behind_postponed(struct sm *s, bool awaited)
{
    (void)awaited;
    sm_request(s, SM_REQUEST_CATCH_UP);
}

bool sm_behind_take_over(struct sm *s)
{
    struct sm_behind *b = &s->apply->behind;
    take_records(s);
    if (sm_run_busy(s) && s->run.round->catches) {
        /* the same phases, but without the limit of the rate */
        s->run.round = &s->wiring->rounds[SM_ROUND_CATCH_UP];
        sm_run_pump(s);
        return true;
    }
    if (!sm_behind_can_catch_up(s))
        return false;
    b->resumes = b->reads_all = false;
    sm_request(s, SM_REQUEST_CATCH_UP);
    return true;
}

void sm_behind_drop(struct sm *s)
{
    struct sm_behind *b = &s->apply->behind;
    sm_request_met(s, SM_REQUEST_CATCH_UP | SM_REQUEST_STANDBY_CHANGES);
    b->decided = b->resumes = b->reads_all = false;
    b->claim = 0;
    b->interrupted = 0;
    fab_plan_changes_clear(&b->set);
    fab_plan_changes_clear(&b->reading);
}

void sm_behind_init(struct sm *s)
{
    if (s->in.replica)
        replica_on_changes(s->in.replica, on_records, s);
}

void sm_behind_fini(struct sm *s)
{
    if (s->in.replica)
        replica_on_changes(s->in.replica, NULL, NULL);
    fab_plan_changes_clear(&s->apply->behind.set);
    fab_plan_changes_clear(&s->apply->behind.reading);
}
