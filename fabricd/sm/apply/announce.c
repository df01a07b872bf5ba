/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Announces to the standby managers, by etcd, which order the active tables follow.
 *
 * A standby manager that takes over repairs routes before it has read all tables again
 * (standby.c). Its proof presumes that labels ascend along all paths in the switches, also in
 * blocks that the former master wrote after this manager had read them. This is so if the former
 * master's labels followed from an order of the switches (libfabmgr/repair/labels/labels.c) that
 * permits the same paths as the order of the standby manager: a local repair and an incremental
 * rebalance keep the order, also while their writes are under way. So the master
 *
 *   - announces this order when all switches hold tables that follow it, and the repair session
 *     is ready;
 *   - announces that the tables are changing before it writes the first block of tables that an
 *     engine computed. Phase "planning" waits until a majority has confirmed this
 *     (replica_is_announced);
 *   - announces the same, without waiting, when a local repair brings back links or changes the
 *     labels. A local repair never waits. If the master dies before this announcement is confirmed,
 *     the switches at both ends of the links still have PortStateChange set, because only the
 *     sweep after the repair clears it. So the light sweep of the new master finds the links, and
 *     its repair either reads the blocks of both ends or is dropped (confirm_tables.c).
 *
 * The standby manager must also know all links that paths may use. So each announcement of an order
 * is new if links have come back, and the standby manager relies only on an announcement that it
 * knew before its last discovery began.
 *
 * The functions do nothing if the setting `replication` is not in use.
 */
#include <stdlib.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/apply/state.h"
#include "libfabmgr/repair/repair.h"

#define LOOK_US 2000

/* ---- the links that paths may use ------------------------------------------------------------ */

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint64_t key_of(const struct fab_fabric *f, uint32_t port)
{
    const struct fab_port *p = fab_fabric_port(f, port), *peer = fab_fabric_port(f, p->peer);
    uint64_t hash = mix(mix(1, f->nodes[p->node].guid), p->num);
    return mix(mix(hash, f->nodes[peer->node].guid), peer->num);
}

static int compare(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Lists hashes of all ISLs that are up, in ascending order. Returns NOMEM. */
static int list_links(const struct fab_fabric *f, uint64_t **ret, size_t *ret_count)
{
    size_t count = 0;
    uint64_t *key = calloc((size_t)f->link_count + 1, sizeof(*key));
    if (!key)
        return FAB_E_NOMEM;
    for (uint32_t port = 0; port < f->port_count; port++)
        if (fab_fabric_isl_is_up(f, port) && port < fab_fabric_port(f, port)->peer &&
            count < f->link_count)
            key[count++] = key_of(f, port);
    qsort(key, count, sizeof(*key), compare);
    *ret = key;
    *ret_count = count;
    return FAB_OK;
}

/* Returns whether all links of key[count] are in the last announcement. */
static bool announced(const struct sm_announce *x, const uint64_t *key, size_t count)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        while (at < x->links && x->link[at] < key[i])
            at++;
        if (at == x->links || x->link[at] != key[i])
            return false;
    }
    return true;
}

static void keep_links(struct sm_announce *x, uint64_t *key, size_t count)
{
    free(x->link);
    x->link = key;
    x->links = count;
}

/* ---- tables that follow no order ------------------------------------------------------------- */

static bool has_session(const struct sm *s)
{
    const struct sm_repair_state *r = &s->apply->repair;
    return r->session.state && r->tables == s->model.tables;
}

static void announce_change(struct sm *s)
{
    replica_announce(s->in.replica, NULL, 0);
    s->apply->announce.follows = false;
}

void sm_announce_repair(struct sm *s, bool gains)
{
    struct sm_announce *x = &s->apply->announce;
    if (s->in.replica && x->follows &&
        (gains || !has_session(s) || !fab_repair_positions(s->apply->repair.session.state)))
        announce_change(s);
}

/* The new tables are a repair of the former ones, so their writes keep the order. */
static void announce_update(struct sm *s)
{
    struct sm_announce *x = &s->apply->announce;
    uint64_t *key = NULL;
    size_t count = 0;
    if (!x->follows)
        return;
    bool known = list_links(s->model.fabric, &key, &count) == FAB_OK && announced(x, key, count);
    free(key);
    sm_announce_repair(s, !known);
}

static void on_look(void *ctx)
{
    struct sm *s = ctx;
    if (sm_announce_waits(s))
        loop_timer_set(s->apply->announce.timer, LOOK_US);
    else
        sm_run_check(s);
}

void sm_announce_plan(struct sm *s)
{
    struct sm_announce *x = &s->apply->announce;
    x->since_us = 0;
    if (!s->in.replica)
        return;
    if (has_session(s)) {
        announce_update(s);
        return;
    }
    announce_change(s);
    x->since_us = clock_now_us();
    loop_timer_set(x->timer, LOOK_US);
}

bool sm_announce_waits(const struct sm *s)
{
    const struct sm_announce *x = &s->apply->announce;
    return x->since_us != 0 && !replica_is_announced(s->in.replica, x->since_us);
}

/* ---- tables that follow an order ------------------------------------------------------------- */

/* Returns whether all switches hold the active tables, and these follow an order. */
static bool follow_order(const struct sm *s)
{
    const struct sm_apply *a = s->apply;
    return sm_repair_ready(s) && !sm_run_busy(s) && !a->standby.unchecked && !a->mixed &&
           a->failed_count == 0 && has_session(s) && fab_repair_positions(a->repair.session.state);
}

static int announce_order(struct sm *s)
{
    struct sm_announce *x = &s->apply->announce;
    uint64_t *key = NULL, *guid = NULL;
    size_t links = 0;
    uint32_t count = 0;
    int r = list_links(s->model.fabric, &key, &links);
    if (r != FAB_OK)
        return r;
    bool same = x->follows && announced(x, key, links);
    keep_links(x, key, links);
    if (same)
        return FAB_OK;
    r = fab_repair_session_order(&s->apply->repair.session, s->model.fabric, &guid, &count);
    if (r != FAB_OK)
        return r;
    announce_change(s); /* the announcement is new even if the order is the same */
    replica_announce(s->in.replica, guid, count);
    x->follows = true;
    free(guid);
    log_debug("sm", "announced the order of the tables switches=%u links=%zu", count, links);
    return FAB_OK;
}

void sm_announce_prepare(struct sm *s)
{
    struct sm_announce *x = &s->apply->announce;
    if (!s->in.replica || !follow_order(s))
        return;
    uint64_t commits = fab_repair_commits(s->apply->repair.session.state);
    if (x->follows && x->tables == s->model.tables && x->commits == commits)
        return;
    if (announce_order(s) != FAB_OK) {
        announce_change(s);
        log_warning("sm", "no memory to announce the order of the tables: the next master reads "
                          "all tables before it repairs routes");
        return;
    }
    x->tables = s->model.tables;
    x->commits = commits;
}

void sm_announce_drop(struct sm *s)
{
    struct sm_announce *x = &s->apply->announce;
    x->follows = false;
    x->since_us = 0;
}

int sm_announce_init(struct sm *s)
{
    s->apply->announce.timer = loop_timer_new(s->in.loop, on_look, s);
    return s->apply->announce.timer ? FAB_OK : FAB_E_NOMEM;
}

void sm_announce_fini(struct sm *s)
{
    loop_timer_free(s->apply->announce.timer);
    free(s->apply->announce.link);
    s->apply->announce = (struct sm_announce){0};
}
