/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads the decisions of other managers (fabricd/replica), before this manager acts as master.
 *
 * A manager in standby stores the decisions of the master as they arrive. When it is elected, it
 * claims the lead of the replication. Before it uses tables, it waits at most WAIT_US for the last
 * rows of the former master, and loads them. If these rows change which links are isolated or
 * drained, or if sweeps must leave out devices that are not approved, the heavy sweep begins again.
 * If etcd does not answer in this time, the manager continues with the rows that it has. If further
 * rows arrive later, it loads them and sweeps again.
 *
 * The manager asks hosts to register again only if registrations may be missing. There are three
 * such cases: the former master took no part in the replication; its last beat says that it had not
 * sent all rows; or ASK_US after the wait, this manager still does not know whether it has all rows
 * (it is not level). Until the manager has decided whether hosts must register again, a host whose
 * port has the MasterSMLID of the former master need not register again.
 */
#include <stdlib.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/apply/apply.h"
#include "fabricd/sm/core/freeze.h"
#include "fabricd/sm/ha/ha.h"
#include "fabricd/sm/keys/keys.h"
#include "fabricd/sm/links/links.h"
#include "fabricd/sm/mcast/mcast.h"
#include "fabricd/sm/wiring/wiring.h"
#include "libfabmgr/base/status.h"

#define WAIT_US 300000
#define LOOK_US 2000
#define ASK_US 3000000
#define LATE_LOOK_US 50000
#define NOTHING UINT64_MAX

struct sm_take_over {
    struct sm *s;
    struct loop_timer *timer;
    bool begun; /* this manager has claimed the lead since it became master */
    bool waits; /* phase "taking over" is waiting for the last rows of the former master */
    uint64_t until_us;
    /* true: the manager has not decided yet whether hosts must register again, because it is not
     * level. If it is not level at the time ask_us (manager's clock), either, hosts must register
     * again. */
    bool undecided;
    uint64_t ask_us;
    /* value of replica_changes() when the decisions of other managers were last loaded; NOTHING:
     * this manager has lost the role of master since */
    uint64_t loaded;
    /* the last claim of this manager (replica_level_claim) for which it has loaded all decisions
     * that others made before this claim; 0: none */
    int64_t claim;
};

/* ---- loading --------------------------------------------------------------------------------- */

static bool has_news(const struct sm *s)
{
    return s->in.replica && replica_changes(s->in.replica) != s->take_over->loaded;
}

static int load(struct sm *s)
{
    int64_t claim = replica_level_claim(s->in.replica);
    store_flush(s->in.store);
    uint64_t changes = replica_changes(s->in.replica);
    int r = sm_model_load_leases(&s->model, s->in.store);
    if (r == FAB_OK)
        r = sm_multicast_load(s);
    if (r == FAB_OK)
        r = sm_links_load(s);
    if (r == FAB_OK)
        r = sm_apply_load(s);
    if (r != FAB_OK)
        return r;
    sm_freeze_load(s);
    sm_keys_load(s);
    s->take_over->loaded = changes;
    s->take_over->claim = claim;
    if (s->model.view)
        sm_multicast_make(s);
    if (s->in.loaded)
        s->in.loaded(s->in.loaded_ctx);
    log_notice("sm", "loaded the decisions and registrations of the other managers");
    return FAB_OK;
}

static int enter_load(struct sm *s)
{
    if (!has_news(s))
        return FAB_OK;
    if (!s->model.lent)
        return load(s);
    sm_request_heavy_later(s); /* the worker task of an aborted round still has the model */
    return FAB_OK;
}

const struct sm_phase sm_phase_load = {.name = "loading", .enter = enter_load};

bool sm_lacks_decisions(struct sm *s)
{
    if (!s->in.replica || !sm_is_master(s))
        return false;
    struct sm_take_over *t = s->take_over;
    int64_t claim = replica_level_claim(s->in.replica);
    if (claim != t->claim && claim != 0 && !has_news(s)) {
        store_flush(s->in.store); /* rows that are still in the queue of the store are news, too */
        if (!has_news(s))
            t->claim = claim;
    }
    return claim == 0 || claim != t->claim;
}

/* ---- asking hosts to register again ---------------------------------------------------------- */

/* Returns true if the former master led the replication, or if there was no former master. */
static bool former_shared(const struct sm *s)
{
    return sm_ha_former_master_lid(s) == 0 ||
           replica_former_guid(s->in.replica) == sm_ha_former_master_guid(s);
}

/* Decides whether hosts must register again. Returns true if they must; the next plan then asks
 * them. While etcd may still deliver rows of the former master, returns false, and the decision
 * comes later. */
static bool decide(struct sm *s)
{
    struct sm_take_over *t = s->take_over;
    bool level = replica_is_level(s->in.replica);
    t->undecided = !level && clock_now_us() < t->ask_us;
    if (t->undecided)
        loop_timer_set(t->timer, LATE_LOOK_US);
    const char *why = !level              ? "etcd does not answer"
                      : !former_shared(s) ? "the former master took no part in the replication"
                      : !replica_former_was_level(s->in.replica)
                          ? "the former master may not have sent all of them"
                          : NULL;
    if (t->undecided || !why)
        return false;
    log_warning("sm", "asking all hosts to register again: %s, so registrations may be missing",
                why);
    sm_apply_ask(s);
    return true;
}

static void decide_late(struct sm *s)
{
    if (!decide(s))
        return;
    sm_request_heavy(s);
    sm_schedule(s);
}

/* ---- waiting for the last rows --------------------------------------------------------------- */

static void on_look(void *ctx)
{
    struct sm_take_over *t = ctx;
    if (t->undecided)
        decide_late(t->s);
    if (!t->waits)
        return;
    t->waits = !replica_is_level(t->s->in.replica) && clock_now_us() < t->until_us;
    if (t->waits)
        loop_timer_set(t->timer, LOOK_US);
    else
        sm_run_check(t->s);
}

void sm_take_over_claim(struct sm *s)
{
    if (s->in.replica)
        replica_lead(s->in.replica);
}

static int enter_wait(struct sm *s)
{
    struct sm_take_over *t = s->take_over;
    if (!s->in.replica || t->begun)
        return FAB_OK;
    sm_take_over_claim(s);
    t->until_us = clock_now_us() + WAIT_US;
    t->waits = true;
    loop_timer_set(t->timer, LOOK_US);
    return FAB_OK;
}

static bool waited(const struct sm *s)
{
    return !s->take_over->waits;
}

/* Loads the last rows of the former master. A sweep begins again if its snapshot was made for other
 * decisions about links or devices. Registrations, which arrive all the time, need no other
 * snapshot. */
static int load_last(struct sm *s)
{
    bool outdated =
        sm_isolation_differs(s) || sm_drains_differ(s) || sm_baseline_barrier(s) != NULL;
    int r = load(s);
    if (r != FAB_OK)
        return r;
    outdated |= sm_baseline_barrier(s) != NULL;
    if (!outdated || !s->run.round->whole)
        return FAB_OK;
    sm_request_heavy(s);
    return SM_ROUND_OVER;
}

static int leave_wait(struct sm *s)
{
    struct sm_take_over *t = s->take_over;
    if (!s->in.replica || t->begun)
        return FAB_OK;
    t->begun = true;
    t->ask_us = clock_now_us() + ASK_US;
    sm_apply_inherit(s, sm_ha_former_master_lid(s));
    (void)decide(s);
    store_flush(s->in.store);
    sm_keys_load(s);
    if (!has_news(s))
        return FAB_OK;
    if (!s->model.lent)
        return load_last(s);
    sm_request_heavy(s);
    return SM_ROUND_OVER;
}

static void abort_wait(struct sm *s)
{
    s->take_over->waits = false;
}

const struct sm_phase sm_phase_take_over = {.name = "taking over",
                                            .enter = enter_wait,
                                            .finished = waited,
                                            .leave = leave_wait,
                                            .abort = abort_wait};

/* Called when rows of another manager have arrived. A master requests a heavy sweep, which loads
 * them, unless phase "taking over" is still waiting for more. A standby manager sweeps if the
 * isolated and drained links in the rows are not those that its snapshot assumes. Without this
 * sweep, the master could send a HANDOVER by a directed route over a link that this snapshot
 * lacks. This manager could then not determine the sender from the return path (trust.c), and
 * would refuse the HANDOVER. */
static void on_news(void *ctx)
{
    struct sm *s = ctx;
    sm_keys_load(s);
    bool late = sm_is_master(s) && s->take_over->begun;
    bool outdated =
        s->role.state == FAB_SM_STANDBY && (sm_isolation_differs(s) || sm_drains_differ(s));
    if (!has_news(s) || (!late && !outdated))
        return;
    sm_cause_set(s, "decisions of another manager came");
    if (outdated) {
        if (!sm_behind_decided(s))
            sm_ha_rediscover(s);
        return;
    }
    sm_request_heavy(s);
    sm_schedule(s);
}

void sm_take_over_end(struct sm *s)
{
    if (!s->in.replica)
        return;
    s->take_over->begun = s->take_over->undecided = false;
    sm_multicast_unload(s);
    s->take_over->loaded = NOTHING;
    sm_apply_inherit(s, 0);
    replica_follow(s->in.replica);
}

int sm_take_over_init(struct sm *s)
{
    struct sm_take_over *t = s->take_over = calloc(1, sizeof(*t));
    if (!t)
        return FAB_E_NOMEM;
    t->s = s;
    t->timer = loop_timer_new(s->in.loop, on_look, t);
    if (s->in.replica)
        replica_on_news(s->in.replica, on_news, s);
    return t->timer ? FAB_OK : FAB_E_NOMEM;
}

void sm_take_over_fini(struct sm *s)
{
    if (!s->take_over)
        return;
    if (s->in.replica)
        replica_on_news(s->in.replica, NULL, NULL);
    loop_timer_free(s->take_over->timer);
    free(s->take_over);
    s->take_over = NULL;
}
