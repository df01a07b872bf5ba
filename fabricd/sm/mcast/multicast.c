/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps the multicast groups and their trees (libfabmgr/mcast). The groups and trees follow from
 * the joins and leaves of hosts, the configuration and the fabric. mft_writes.c writes the MFTs.
 *
 * Trees are computed for the published fabric, so that no tree uses a link before it is up. They
 * are updated when a round publishes a view, and shortly after a local repair. An update cancels
 * the MFT writes that are in flight; they are planned again. It first needs a copy of the links and
 * ports of the published fabric (struct fab_mcast_net). A worker task makes this copy, because its
 * time grows with the size of the fabric. The first such task also makes the groups, from the
 * records in the store, and their trees.
 *
 * An absent port keeps its memberships for `multicast.absent` seconds, so that a link flap does not
 * change all groups of the port. After that time, the port leaves its groups.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/mcast/state.h"
#include "libfabmgr/base/size.h"

#define RETRY_US 1000000u
/* time in us after which the removal of absent members is interrupted, so that it does not block
 * the event loop */
#define SLICE_US 2000u
/* time in us from a local repair to the update of the trees */
#define UPDATE_DELAY_US 20000u

static bool is_there(const struct fab_fabric *f, uint64_t guid)
{
    uint32_t port = fab_fabric_port_by_guid(f, guid);
    return port != FAB_NONE && fab_fabric_port(f, port)->present;
}

void sm_multicast_kick(struct sm *s)
{
    if (!loop_timer_pending(s->mcast->timer))
        loop_timer_set(s->mcast->timer, 0);
}

/* ---- the links of the fabric ----------------------------------------------------------------- */

/* The input and the result of the worker task. No other code uses this struct while the task
 * runs. */
struct reading {
    struct fab_fabric *fabric;
    struct fab_mcast_net *net;
    /* true: the task also makes the groups in `stored`, and their trees */
    bool makes;
    struct sm_stored_groups stored;
    struct fab_mcast_groups *groups;
    int status;
};

static void reading_free(struct reading *x)
{
    fab_mcast_groups_free(x->groups);
    fab_mcast_net_free(x->net);
    fab_fabric_unref(x->fabric);
    sm_stored_groups_fini(&x->stored);
    free(x);
}

static int make_groups(struct reading *x)
{
    struct fab_mcast_groups *groups;
    struct fab_mcast_net *net = x->net;
    x->net = NULL;
    int r = fab_mcast_groups_new_over(net, &groups);
    if (r != FAB_OK)
        return r;
    r = sm_stored_groups_restore(&x->stored, groups);
    if (r == FAB_OK)
        x->groups = groups;
    else
        fab_mcast_groups_free(groups);
    return r;
}

static void read_links(void *ctx, struct loop_task *task)
{
    struct reading *x = ctx;
    (void)task;
    x->status = fab_mcast_net_new(x->fabric, &x->net);
    if (x->status == FAB_OK && x->makes)
        x->status = make_groups(x);
}

static void drop_read(struct sm_multicast *m)
{
    fab_fabric_unref(m->read_of);
    fab_mcast_net_free(m->read);
    m->read_of = NULL;
    m->read = NULL;
}

/* The task has failed. Puts the stored groups back into m->stored, so that a later task can use
 * them. */
static void take_back(struct sm_multicast *m, struct reading *x)
{
    if (!x->makes)
        return;
    m->stored = x->stored;
    x->stored = (struct sm_stored_groups){0};
}

static void links_read(void *owner, void *ctx)
{
    struct sm *s = owner;
    struct reading *x = ctx;
    struct sm_multicast *m = s->mcast;
    m->reading = NULL;
    if (x->status == FAB_OK) {
        drop_read(m);
        m->read = x->net;
        m->read_of = x->fabric;
        if (x->groups)
            m->made = x->groups;
        x->net = NULL;
        x->fabric = NULL;
        x->groups = NULL;
        loop_timer_set(m->timer, 0);
    } else {
        take_back(m, x);
        log_warning("sm", "multicast tables are written later: %s",
                    fab_base_status_text(x->status));
        loop_timer_set(m->timer, RETRY_US);
    }
    reading_free(x);
}

/* Called instead of links_read if memory ran out, or if the manager is being freed. */
static void drop_reading(void *owner, void *ctx)
{
    if (owner) {
        ((struct sm *)owner)->mcast->reading = NULL;
        take_back(((struct sm *)owner)->mcast, ctx);
    }
    reading_free(ctx);
}

static int begin_reading(struct sm *s)
{
    static const struct loop_task_ops ops = {"multicast", read_links, links_read, drop_reading};
    struct sm_multicast *m = s->mcast;
    struct reading *x = calloc(1, sizeof(*x));
    if (!x)
        return FAB_E_NOMEM;
    x->fabric = fab_fabric_ref(s->model.view->fabric);
    x->makes = !m->groups && !m->made;
    if (x->makes) {
        x->stored = m->stored;
        m->stored = (struct sm_stored_groups){0};
    }
    const struct loop_task_config config = {.ops = &ops,
                                            .tasks = &m->tasks,
                                            .owner = s,
                                            .ctx = x,
                                            .place = s->in.recorded ? LOOP_TASK_INLINE
                                                                    : LOOP_TASK_SHORT};
    return loop_task_start(s->in.loop, &config, &m->reading);
}

/* Returns true if there is a copy of the links of the published fabric. */
static bool have_links(const struct sm *s)
{
    return s->mcast->read_of && s->mcast->read_of == s->model.view->fabric;
}

/* Updates the trees for the copy of the links that the worker task has made. Returns OK or
 * NOMEM. */
static int take_links(struct sm_multicast *m)
{
    struct fab_mcast_net *net = m->read;
    m->read = NULL;
    drop_read(m);
    return net ? fab_mcast_groups_update_over(m->groups, net) : FAB_OK;
}

/* ---- groups ---------------------------------------------------------------------------------- */

static void take_groups(struct sm *s)
{
    struct sm_multicast *m = s->mcast;
    m->groups = m->made;
    m->made = NULL;
    m->configured = false;
    sm_multicast_listen(s);
}

static void emit_full(struct sm *s, size_t left_out)
{
    const struct fab_fabric *f = s->model.fabric;
    uint32_t sw, smallest_mft = fab_mcast_trees_room(s->mcast->groups->trees, &sw);
    uint32_t room = fab_mcast_groups_room(s->mcast->groups);
    char name[SM_PLACE_LEN] = "fabric";
    if (s->mcast->full)
        return;
    s->mcast->full = true;
    if (sw < f->switch_count && room == smallest_mft)
        sm_node_name(f, sw, name);
    if (room == 0)
        event_emit(s->in.bus, multicast_unsupported, .subject = name);
    else
        event_emit(s->in.bus, multicast_full, .subject = name, .room = room,
                   .limited = room < smallest_mft, .groups = s->mcast->groups->groups,
                   .refused = left_out);
}

/* Makes the multicast groups that the settings demand: those of the configured partitions or,
 * without partitions, the IPoIB broadcast group of the default partition. */
static int configure(struct sm *s)
{
    struct fab_partitions *open = NULL;
    size_t left_out = 0;
    s->mcast->groups->most = s->in.config->multicast.mlids;
    s->mcast->groups->share = s->in.config->multicast.share;
    int r = s->policy.partitions ? FAB_OK : fab_policy_partitions_unrestricted(&open);
    if (r != FAB_OK)
        return r;
    r = fab_mcast_groups_configure(s->mcast->groups, open ? open : s->policy.partitions,
                                   s->policy.subnet_timeout, &left_out);
    fab_policy_partitions_unref(open);
    s->mcast->configured = r == FAB_OK || r == FAB_E_LIMIT;
    if (r == FAB_E_LIMIT)
        emit_full(s, left_out);
    return r == FAB_E_LIMIT ? FAB_OK : r;
}

/* ---- absent ports ---------------------------------------------------------------------------- */

/* Adds a member to the list of members whose ports are absent (m->absent). noted: GUIDs that are in
 * this list already. If memory runs out, the next sweep adds the member. */
static int note_absent(struct sm_multicast *m, struct fab_map *noted,
                       const struct fab_mcast_member *member)
{
    uint64_t guid = member->gid[1];
    struct sm_absent *more = m->absent;
    uint32_t at;
    if (fab_base_map_get(noted, guid, &at))
        return FAB_OK;
    if (m->absents == m->absent_room)
        more = fab_base_grow(m->absent, sizeof(*more), m->absents + 1, &m->absent_room);
    if (!more)
        return FAB_E_NOMEM;
    m->absent = more;
    int r = fab_base_map_put(noted, guid, (uint32_t)m->absents);
    if (r == FAB_OK)
        more[m->absents++] = (struct sm_absent){guid, member->port_guid, clock_now_us()};
    return r;
}

static void note_absents(struct sm *s)
{
    struct sm_multicast *m = s->mcast;
    const struct fab_fabric *f = s->model.fabric;
    struct fab_map noted = {0};
    size_t kept = 0;
    int r = FAB_OK;
    for (size_t i = 0; i < m->absents && r == FAB_OK; i++)
        if (!is_there(f, m->absent[i].port_guid)) {
            m->absent[kept] = m->absent[i];
            r = fab_base_map_put(&noted, m->absent[i].guid, (uint32_t)kept++);
        }
    m->absents = kept;
    for (size_t g = 0; g < m->groups->groups && r == FAB_OK; g++)
        for (size_t i = 0; i < m->groups->group[g]->members && r == FAB_OK; i++)
            if (!is_there(f, m->groups->group[g]->member[i].port_guid))
                r = note_absent(m, &noted, &m->groups->group[g]->member[i]);
    fab_base_map_fini(&noted);
}

/* Removes the members whose ports have been absent for longer than `multicast.absent`. If this
 * takes longer than SLICE_US, the timer continues it later. */
static void drop_absents(struct sm *s)
{
    struct sm_multicast *m = s->mcast;
    uint64_t now = clock_now_us(), patience = (uint64_t)s->in.config->multicast.absent_s * 1000000;
    uint64_t next = UINT64_MAX;
    for (size_t i = 0; i < m->absents;) {
        uint64_t due = m->absent[i].since_us + patience;
        if (due > now || clock_now_us() - now > SLICE_US) {
            due = due > now ? due : now;
            next = due < next ? due : next;
            i++;
            continue;
        }
        fab_mcast_groups_drop_member(m->groups, m->absent[i].guid);
        m->absent[i] = m->absent[--m->absents];
    }
    if (next != UINT64_MAX)
        loop_timer_set(m->absent_timer, next - now);
}

static void on_absent(void *ctx)
{
    struct sm *s = ctx;
    if (!s->mcast->groups || !sm_is_master(s))
        return;
    drop_absents(s);
    sm_multicast_kick(s);
}

/* ---- following the fabric -------------------------------------------------------------------- */

static int note_tops(struct sm_multicast *m, const struct fab_fabric *f)
{
    uint16_t *top = fab_base_alloc_array(f->switch_count, sizeof(*top));
    if (!top)
        return FAB_E_NOMEM;
    for (uint32_t sw = 0; sw < f->switch_count; sw++)
        top[sw] = f->switches[sw].linear_fdb_top;
    free(m->top);
    m->top = top;
    return FAB_OK;
}

/* If the LinearFDBTop of a switch has changed, it may have been reset. The contents of its MFT are
 * then unknown. */
void sm_multicast_swept(struct sm *s)
{
    struct sm_multicast *m = s->mcast;
    const struct fab_fabric *f = s->model.fabric;
    const struct fab_mcast_net *n = m->groups ? fab_mcast_trees_net(m->groups->trees) : NULL;
    for (uint32_t was = 0; n && m->top && was < n->switches; was++) {
        uint32_t sw = fab_fabric_node_by_guid(f, n->guid[was]);
        if (sw != FAB_NONE && fab_fabric_node_is_switch(f, sw) &&
            f->switches[sw].linear_fdb_top != m->top[was]) {
            fab_plan_mft_forget(&m->held, was);
            m->stale = true;
            sm_mfts_open_all(s);
        }
    }
}

void sm_multicast_forget(struct sm *s)
{
    sm_mfts_drop(s);
    fab_target_blocks_fini(&s->mcast->held);
    sm_mfts_open_all(s);
    s->mcast->stale = true;
}

static int follow(struct sm *s)
{
    struct sm_multicast *m = s->mcast;
    const struct fab_fabric *f = s->model.view->fabric;
    if (!m->groups)
        take_groups(s);
    sm_mfts_drop(s);
    int r = sm_mfts_move(s, f);
    if (r == FAB_OK)
        r = note_tops(m, f);
    if (r == FAB_OK)
        r = take_links(m);
    /* If the update failed in the middle, m->held has the new switch ids, but the trees have the
     * old ones. So the contents of all MFTs count as unknown, and are read again. */
    if (r != FAB_OK) {
        free(m->top);
        m->top = NULL;
        sm_mfts_reset(s);
        return r;
    }
    fab_fabric_unref(m->fabric);
    m->fabric = fab_fabric_ref(f);
    m->stale = false;
    note_absents(s);
    drop_absents(s);
    return FAB_OK;
}

static bool is_behind(const struct sm *s)
{
    return !s->mcast->groups || s->mcast->stale ||
           fab_mcast_trees_are_broken(s->mcast->groups->trees);
}

static int catch_up(struct sm *s)
{
    struct sm_multicast *m = s->mcast;
    int r = is_behind(s) ? follow(s) : FAB_OK;
    return r == FAB_OK && !m->configured ? configure(s) : r;
}

static void run(void *ctx)
{
    struct sm *s = ctx;
    if (!sm_is_master(s) || !s->model.fabric || !s->model.view || s->mcast->unloaded)
        return;
    loop_at(s->in.loop, "multicast");
    bool wait = is_behind(s) && !have_links(s);
    int r = FAB_OK;
    if (wait && !s->mcast->reading)
        r = begin_reading(s);
    else if (!wait)
        r = catch_up(s);
    if (r == FAB_OK && !wait && !s->mcast->only_makes)
        r = sm_mfts_go_on(s);
    sm_multicast_planned(s, r);
}

void sm_multicast_planned(struct sm *s, int status)
{
    if (status != FAB_OK) {
        log_warning("sm", "multicast tables are written later: %s", fab_base_status_text(status));
        sm_mfts_drop(s);
        s->mcast->stale = true;
        loop_timer_set(s->mcast->timer, RETRY_US);
    }
    if (s->mcast->busy)
        sm_run_pump(s);
}

/* ---- interface ------------------------------------------------------------------------------- */

void sm_multicast_make(struct sm *s)
{
    s->mcast->only_makes = true;
    s->mcast->stale = true;
    sm_multicast_kick(s);
}

void sm_multicast_changed(struct sm *s)
{
    s->mcast->only_makes = false;
    s->mcast->stale = true;
    sm_multicast_kick(s);
}

void sm_multicast_repaired(struct sm *s)
{
    s->mcast->stale = true;
    if (!loop_timer_pending(s->mcast->timer))
        loop_timer_set(s->mcast->timer, UPDATE_DELAY_US);
}

void sm_multicast_reload(struct sm *s)
{
    s->mcast->configured = false;
    sm_multicast_kick(s);
}

int sm_multicast_init(struct sm *s)
{
    struct sm_multicast *m = calloc(1, sizeof(*m));
    if (!m)
        return FAB_E_NOMEM;
    s->mcast = m;
    m->s = s;
    m->timer = loop_timer_new(s->in.loop, run, s);
    m->absent_timer = loop_timer_new(s->in.loop, on_absent, s);
    int r = m->timer && m->absent_timer ? sm_mfts_init(s) : FAB_E_NOMEM;
    return r == FAB_OK && s->in.store ? sm_stored_groups_read(s->in.store, &m->stored) : r;
}

void sm_multicast_unload(struct sm *s)
{
    struct sm_multicast *m = s->mcast;
    loop_tasks_orphan(&m->tasks);
    m->reading = m->proving = NULL;
    sm_mfts_drop(s);
    sm_mfts_reset(s);
    sm_mfts_unprove(m);
    sm_joint_drop(m);
    drop_read(m);
    fab_mcast_groups_free(m->made);
    fab_mcast_groups_free(m->groups);
    m->groups = m->made = NULL;
    fab_fabric_unref(m->fabric);
    m->fabric = NULL;
    free(m->top);
    m->top = NULL;
    m->absents = 0;
    m->stale = true;
    m->configured = false;
    sm_stored_groups_fini(&m->stored);
    m->unloaded = true;
}

int sm_multicast_load(struct sm *s)
{
    struct sm_stored_groups stored = {0};
    int r = sm_stored_groups_read(s->in.store, &stored);
    if (r != FAB_OK)
        return r;
    sm_multicast_unload(s);
    s->mcast->stored = stored;
    s->mcast->unloaded = false;
    return FAB_OK;
}

void sm_multicast_fini(struct sm *s)
{
    struct sm_multicast *m = s->mcast;
    if (!m)
        return;
    loop_tasks_orphan(&m->tasks);
    drop_read(m);
    sm_joint_drop(m);
    fab_mcast_groups_free(m->made);
    sm_stored_groups_fini(&m->stored);
    fab_fabric_unref(m->fabric);
    sm_mfts_fini(s);
    loop_timer_free(m->timer);
    loop_timer_free(m->absent_timer);
    fab_mcast_groups_free(m->groups);
    free(m->top);
    free(m->absent);
    free(m);
    s->mcast = NULL;
}

static bool is_ready(struct sm *s)
{
    return sm_is_master(s) && s->model.fabric && s->model.view && s->mcast->groups;
}

uint16_t sm_mgroup_join(struct sm *s, const struct fab_mcast_request *ask,
                        struct fab_wire_mc_member_record *ret)
{
    if (!is_ready(s))
        return FAB_SMP_BUSY;
    uint16_t status = fab_mcast_groups_join(s->mcast->groups, ask, ret);
    if (status == FAB_SA_NO_RESOURCES)
        emit_full(s, 0);
    if (status == 0)
        sm_stored_group_repeat(s, ret->mgid, ret->port_gid[1]);
    sm_multicast_kick(s);
    return status;
}

uint16_t sm_mgroup_leave(struct sm *s, const struct fab_mcast_request *ask,
                         struct fab_wire_mc_member_record *ret)
{
    if (!is_ready(s))
        return FAB_SMP_BUSY;
    size_t before = s->mcast->groups->groups;
    uint16_t status = fab_mcast_groups_leave(s->mcast->groups, ask, ret);
    s->mcast->full &= s->mcast->groups->groups == before;
    sm_multicast_kick(s);
    return status;
}

const struct fab_mcast_groups *sm_mgroups(const struct sm *s)
{
    return s->mcast->groups;
}

void sm_on_mgroup(struct sm *s, sm_mgroup_fn *fn, void *ctx)
{
    s->mcast->on_mgroup = fn;
    s->mcast->on_mgroup_ctx = ctx;
}

const uint16_t *sm_mft_block(const struct sm *s, uint32_t sw, uint32_t number)
{
    return fab_target_blocks_get(&s->mcast->held, sw, number);
}

void sm_get_multicast(const struct sm *s, struct sm_multicast_status *ret)
{
    const struct sm_multicast *m = s->mcast;
    *ret = (struct sm_multicast_status){.pending = m->busy || m->stale || m->proving ||
                                                   !m->groups || loop_timer_pending(m->timer),
                                        .writes = m->writes};
    if (!m->groups)
        return;
    uint32_t sw;
    ret->groups = (uint32_t)m->groups->groups;
    for (size_t i = 0; i < m->groups->groups; i++)
        ret->members += m->groups->group[i]->members;
    for (uint32_t i = 0; i < m->groups->mlids; i++)
        ret->mlids += m->groups->users[i] > 0;
    ret->room = fab_mcast_trees_room(m->groups->trees, &sw);
    ret->smallest = sw != FAB_NONE ? fab_mcast_trees_net(m->groups->trees)->guid[sw] : 0;
    ret->unresponsive = m->unresponsives;
    ret->spanning = fab_mcast_trees_have_guide(m->groups->trees);
    ret->absent = (uint32_t)m->absents;
}

void sm_multicast_alarm(const struct sm *s, char *text, size_t len)
{
    const struct sm_multicast *m = s->mcast;
    text[0] = 0;
    if (fab_base_bits_count(m->refuted, FAB_MFT_GROUPS) > 0)
        snprintf(text, len,
                 "multicast trees failed the verification and are not written; see the "
                 "event multicast-unproved and 'fabricctl route verify'");
    else if (m->joint.deadlock)
        snprintf(text, len, "unicast and multicast packets together can deadlock: %s",
                 m->joint.witness);
}
