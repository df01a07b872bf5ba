/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Announces to the standby managers, through etcd, which order of the switches the active tables
 * follow.
 *
 * After a take-over, a new master can repair routes before it has read all tables again
 * (standby.c). Its proof presumes that labels ascend along all paths in the switches, also in
 * blocks that the former master wrote after the new master had read them in standby. This is so if
 * the labels of the former master followed from an order of the switches
 * (libfabmgr/repair/labels/labels.c) that permits the same paths as the order of the standby
 * manager: a local repair and an incremental rebalance keep the order, also while their writes are
 * under way. So the master
 *
 *   - announces this order when all switches hold tables that follow it, and the repair session
 *     is ready;
 *   - announces, before it writes the first block of tables that an engine computed, that the
 *     tables are changing. Phase "planning" waits until a majority has confirmed this
 *     (replica_is_announced);
 *   - announces the same, without waiting, when a local repair brings back links or changes the
 *     labels. A local repair never waits. If the master dies before this announcement is confirmed,
 *     the switches at both ends of the links still have PortStateChange set, because only the
 *     sweep after the repair clears it. So the light sweep of the new master finds the links, and
 *     its repair either reads the blocks of both ends or is dropped (confirm_tables.c).
 *
 * The standby manager must also know all links that paths may use. So the master announces
 * the order again whenever links have come back, and each announcement has a hash of all links that
 * are up. The standby manager relies only on an announcement that it knew before its last discovery
 * began, or whose hash equals that of the links in its own snapshot. The hashes are equal again
 * after a link has failed and come back.
 *
 * The functions do nothing if the setting `replication` is not in use.
 */
#include <stdlib.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/apply/state.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/repair/repair.h"

#define LOOK_US 2000

/* ---- the links that paths may use ------------------------------------------------------------ */

static struct sm_announced_link link_of(const struct fab_fabric *f, uint32_t port, uint32_t peer)
{
    const struct fab_port *a = fab_fabric_port(f, port), *b = fab_fabric_port(f, peer);
    return (struct sm_announced_link){.guid = {f->nodes[a->node].guid, f->nodes[b->node].guid},
                                      .num = {a->num, b->num},
                                      .up = true};
}

/* Compares the first ends. */
static int compare(const void *a, const void *b)
{
    const struct sm_announced_link *x = a, *y = b;
    if (x->guid[0] != y->guid[0])
        return x->guid[0] < y->guid[0] ? -1 : 1;
    return x->num[0] - y->num[0];
}

static bool is_same(const struct sm_announced_link *x, const struct sm_announced_link *y)
{
    return compare(x, y) == 0 && x->guid[1] == y->guid[1] && x->num[1] == y->num[1];
}

/* Lists all ISLs that are up, in ascending order of their first ends: the ids of ports are in the
 * order of node GUIDs and port numbers. Returns NOMEM. */
static int list_links(const struct fab_fabric *f, struct sm_announced_link **ret, size_t *ret_count)
{
    size_t count = 0;
    struct sm_announced_link *link = calloc((size_t)f->link_count + 1, sizeof(*link));
    if (!link)
        return FAB_E_NOMEM;
    for (uint32_t sw = 0; sw < f->switch_count; sw++)
        for (uint32_t num = 1; num <= f->nodes[sw].num_ports; num++) {
            uint32_t port = fab_fabric_port_id(f, sw, (uint8_t)num),
                     peer = fab_fabric_port(f, port)->peer;
            if (peer != FAB_NONE && port < peer && fab_fabric_isl_is_up(f, port) &&
                count < f->link_count)
                link[count++] = link_of(f, port, peer);
        }
    *ret = link;
    *ret_count = count;
    return FAB_OK;
}

/* Returns a hash of the links that are up, in their order. It is never 0. */
static uint64_t hash_of(const struct sm_announced_link *link, size_t count)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < count; i++)
        for (int end = 0; end < 2 && link[i].up; end++)
            hash = fab_base_mix64(hash ^ fab_base_mix64(link[i].guid[end])) + link[i].num[end];
    return hash != 0 ? hash : 1;
}

int sm_announce_links(const struct fab_fabric *f, uint64_t *ret_hash)
{
    struct sm_announced_link *link = NULL;
    size_t count = 0;
    int r = list_links(f, &link, &count);
    if (r == FAB_OK)
        *ret_hash = hash_of(link, count);
    free(link);
    return r;
}

/* Returns true if each link of link[count] is in the list of the last announcement, and no local
 * repair has removed it since. Both lists are sorted by the first ends of the links. */
static bool announced(const struct sm_announce *x, const struct sm_announced_link *link,
                      size_t count)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        while (at < x->links && compare(&x->link[at], &link[i]) < 0)
            at++;
        if (at == x->links || !x->link[at].up || !is_same(&x->link[at], &link[i]))
            return false;
    }
    return true;
}

static void keep_links(struct sm_announce *x, const struct sm *s, struct sm_announced_link *link,
                       size_t count)
{
    free(x->link);
    x->link = link;
    x->links = count;
    x->listed = s->model.tables;
}

/* Returns whether the list has exactly the links that are up. This is so as long as only local
 * repairs have changed links, because note_link() enters their changes. After a change that a sweep
 * found, other tables are active than those for which the list was made (`listed`). */
static bool is_listed(const struct sm *s)
{
    const struct sm_announce *x = &s->apply->announce;
    return x->listed != 0 && x->listed == s->model.tables;
}

/* Notes in the list that a local repair has removed a link, or has brought it back. If the list
 * cannot show the change, it is no longer up to date. */
static void note_link(struct sm *s, const struct sm_link *changed, bool up)
{
    struct sm_announce *x = &s->apply->announce;
    uint32_t port = changed->port < changed->peer ? changed->port : changed->peer;
    const struct sm_announced_link is =
        link_of(s->model.fabric, port, changed->port ^ changed->peer ^ port);
    struct sm_announced_link *found =
        x->links > 0 ? bsearch(&is, x->link, x->links, sizeof(is), compare) : NULL;
    bool same = found && is_same(found, &is);
    if (same)
        found->up = up;
    /* A link of an endport is not in the list. When a silent switch is excluded, more links may
     * have been removed than the repair names. */
    if (changed->silent || (up && !same))
        x->listed = 0;
}

/* ---- tables that follow no order ------------------------------------------------------------- */

static bool has_session(const struct sm *s)
{
    const struct sm_repair_state *r = &s->apply->repair;
    return r->session.state && r->tables == s->model.tables;
}

static void announce_change(struct sm *s)
{
    replica_announce(s->in.replica, NULL, 0, 0);
    s->apply->announce.follows = false;
}

/* Call this function when the active tables are a repair of the tables that the last
 * announcement was about. Announces that the tables are changing, if that announcement is no
 * longer valid: paths may use links that were not up then (`gains`), or the labels do not follow
 * from an order of the switches any more. */
static void announce_repaired(struct sm *s, bool gains)
{
    if (s->apply->announce.follows &&
        (gains || !has_session(s) || !fab_repair_positions(s->apply->repair.session.state)))
        announce_change(s);
}

void sm_announce_repair(struct sm *s, const struct sm_link *lost, uint32_t losses,
                        const struct sm_link *gained, uint32_t gains)
{
    if (!s->in.replica)
        return;
    sm_changed_repair(s, lost, losses);
    sm_changed_repair(s, gained, gains);
    for (uint32_t i = 0; i < losses; i++)
        note_link(s, &lost[i], false);
    for (uint32_t i = 0; i < gains; i++)
        note_link(s, &gained[i], true);
    announce_repaired(s, gains > 0);
}

/* Returns whether all links that are up now were also up at the last announcement. */
static bool knows_links(const struct sm *s)
{
    struct sm_announced_link *link = NULL;
    size_t count = 0;
    if (is_listed(s))
        return true;
    bool known = list_links(s->model.fabric, &link, &count) == FAB_OK &&
                 announced(&s->apply->announce, link, count);
    free(link);
    return known;
}

/* The new tables are a repair of the former ones, so their writes keep the order. */
static void announce_update(struct sm *s)
{
    if (s->apply->announce.follows)
        announce_repaired(s, !knows_links(s));
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

/* Returns true if all switches hold the active tables, and all paths of these tables follow an
 * order of the switches (announced order). */
static bool follow_order(const struct sm *s)
{
    const struct sm_apply *a = s->apply;
    return sm_repair_ready(s) && !sm_run_busy(s) && !a->standby.unchecked && !a->mixed &&
           a->failed_count == 0 && has_session(s) && fab_repair_positions(a->repair.session.state);
}

/* Lists the links, unless the list is up to date. *ret_same: the last announcement gave an
 * order, and all links of the list were up then. Returns NOMEM. */
static int renew_links(struct sm *s, bool *ret_same)
{
    struct sm_announce *x = &s->apply->announce;
    struct sm_announced_link *link = NULL;
    size_t count = 0;
    *ret_same = x->follows;
    if (is_listed(s))
        return FAB_OK;
    int r = list_links(s->model.fabric, &link, &count);
    if (r != FAB_OK)
        return r;
    *ret_same = x->follows && announced(x, link, count);
    keep_links(x, s, link, count);
    return FAB_OK;
}

static int announce_order(struct sm *s)
{
    struct sm_announce *x = &s->apply->announce;
    uint64_t *guid = NULL;
    uint32_t count = 0;
    bool same;
    int r = renew_links(s, &same);
    if (r != FAB_OK || same)
        return r;
    r = fab_repair_session_order(&s->apply->repair.session, s->model.fabric, &guid, &count);
    if (r != FAB_OK)
        return r;
    announce_change(s); /* the announcement is new even if the order is the same */
    replica_announce(s->in.replica, guid, count, hash_of(x->link, x->links));
    x->follows = true;
    free(guid);
    log_debug("sm", "announced the order of the tables switches=%u links=%zu", count, x->links);
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
    x->listed = 0;
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
