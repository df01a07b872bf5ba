/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds out why a switch does not answer: it may be silent, it may have lost power, or the manager
 * may reach it only by another route.
 *
 * A phase that gets no answer from a switch within the time of one try calls sm_silent_check. The
 * manager then asks the neighbours of the switch that are switches (or its own node), over at most
 * NEIGHBOURS_MOST links, for the PortInfo of their ports that lead to the switch. It asks the
 * switch itself for SwitchInfo, over the first two neighbours that report such a port as up. The
 * requests of all checks are sent at the same time, in addition to those of the running round.
 * Their directed routes avoid all switches that are being checked.
 *
 * If the switch answers, the check ends. If a neighbour reports its link as down, the manager at
 * once requests a read of that neighbour's ports, unless the running sweep will read them anyway.
 * If the switch has not answered for VERDICT_TRIES times the time of one try, and a neighbour
 * reports its link as up, the switch is silent.
 *
 * If no neighbour reports its link as up, the manager does a targeted sweep, unless it has done so
 * after another check some seconds ago. For FAILED_US, the switch and all neighbours that did not
 * answer count as failed: directed routes of sweeps avoid them, and a sweep waits for their answers
 * no longer than one try.
 */
#include <stdlib.h>

#include "fabricd/base/clock.h"
#include "fabricd/sm/links/state.h"
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/status.h"

#define CHECKS_MOST 64
#define NEIGHBOURS_MOST 64
/* Maximum number of neighbours over which requests are sent to the switch itself. */
#define PATHS_MOST 2
#define VERDICT_TRIES 4
/* If at least this many neighbours report their links to the switch as down, and none as up, the
 * check waits only for the time of one try. */
#define DOWN_LEAST 2
/* Time in us for which a switch that did not answer counts as failed. */
#define FAILED_US 5000000u

/* A neighbour of the switch that is being checked. */
struct neighbour {
    /* to_it: directed route to the neighbour. over_it: directed route to the switch, through this
     * neighbour. */
    struct fab_path to_it, over_it;
    uint64_t guid;
    /* number of the port by which the neighbour is connected to the switch */
    uint8_t port;
    bool answered, up;
};
struct sm_check {
    struct sm *s;
    /* guid: node GUID of the switch. begun_us: time (manager's clock) at which the check was
     * requested; as soon as a request has been sent to the switch itself, the time of the first
     * such request. */
    uint64_t guid, begun_us;
    struct neighbour *neighbour;
    /* neighbours: number of elements of neighbour[]. asked: number of requests that were sent to
     * the switch itself, each over a different neighbour. */
    uint32_t neighbours, asked;
    bool over;
};

/* ---- requests -------------------------------------------------------------------------------- */

void sm_silent_ask(struct sm *s, const struct fab_path *path, uint16_t attr_id, uint32_t attr_mod,
                   fab_mads_done *done, void *ctx, uint64_t tag, bool once)
{
    struct fab_mads_request req = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                                   .method = FAB_METHOD_GET,
                                   .attr_id = attr_id,
                                   .attr_mod = attr_mod,
                                   .dlid = FAB_LID_PERMISSIVE,
                                   .path = path,
                                   .once = once,
                                   .done = done,
                                   .ctx = ctx,
                                   .tag = tag};
    sm_m_key_fill(s, &req);
    (void)fab_mads_submit(s->mads, &req);
}

bool sm_silent_extend(const struct fab_path *near, uint8_t port, struct fab_path *ret)
{
    if (near->hops == FAB_PATH_UNKNOWN || near->hops >= FAB_MAX_HOPS)
        return false;
    *ret = *near;
    ret->port[++ret->hops] = port;
    return true;
}

/* Returns true if the switch seems to have failed: several neighbours report their links to it as
 * down, and none as up. */
static bool is_down(const struct sm_check *c)
{
    uint32_t down = 0;
    for (uint32_t i = 0; i < c->neighbours; i++)
        down += c->neighbour[i].answered && !c->neighbour[i].up;
    return c->asked == 0 && down >= DOWN_LEAST;
}

/* Returns the time, on the manager's clock, at which the check ends and decides whether the switch
 * is silent. */
static uint64_t verdict_us(const struct sm *s, const struct sm_check *c)
{
    return c->begun_us + (is_down(c) ? 1 : VERDICT_TRIES) * sm_first_try_us(s);
}

static void arm(struct sm *s)
{
    struct sm_silent_checks *x = &s->links->silent_checks;
    uint64_t now = clock_now_us(), due = UINT64_MAX;
    for (uint32_t i = 0; i < x->checks; i++)
        if (verdict_us(s, x->check[i]) < due)
            due = verdict_us(s, x->check[i]);
    if (due == UINT64_MAX)
        loop_timer_cancel(x->verdict);
    else
        loop_timer_set(x->verdict, due > now ? due - now : 0);
}

static void drop_check(struct sm *s, uint32_t i)
{
    struct sm_silent_checks *x = &s->links->silent_checks;
    struct sm_check *c = x->check[i];
    if (s->mads)
        fab_mads_cancel(s->mads, c);
    x->check[i] = x->check[--x->checks];
    free(c->neighbour);
    free(c);
}

/* ---- failed switches ------------------------------------------------------------------------- */

const struct sm_guids *sm_silent_failed(struct sm *s)
{
    struct sm_silent_checks *x = &s->links->silent_checks;
    if (clock_now_us() - x->lost_us > FAILED_US)
        x->lost = x->judged = (struct sm_guids){0};
    return &x->lost;
}

bool sm_silent_note_failed(struct sm *s, uint64_t guid)
{
    struct sm_silent_checks *x = &s->links->silent_checks;
    bool fresh = !sm_guids_have(sm_silent_failed(s), guid);
    sm_guids_add(&x->lost, guid);
    x->lost_us = clock_now_us();
    return fresh;
}

/* Adds the switch that was checked, and those of its neighbours that did not answer, to the
 * switches that have probably failed. */
static void note_failed(struct sm *s, const struct sm_check *c)
{
    (void)sm_silent_note_failed(s, c->guid);
    sm_guids_add(&s->links->silent_checks.judged, c->guid);
    for (uint32_t i = 0; i < c->neighbours; i++)
        if (!c->neighbour[i].answered)
            (void)sm_silent_note_failed(s, c->neighbour[i].guid);
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Called when the switch has answered with SwitchInfo. If SwitchInfo shows that ports have changed,
 * requests that the ports be read, as a light sweep does. */
static void compare(struct sm *s, uint64_t guid, const struct fab_switch_info *info)
{
    const struct fab_fabric *f = s->model.fabric;
    uint32_t node = f ? fab_fabric_node_by_guid(f, guid) : FAB_NONE;
    if (node != FAB_NONE && fab_fabric_node_is_switch(f, node))
        sm_request_if_changed(s, node, info);
}

static void on_switch(void *ctx, uint64_t tag, const struct fab_mads_answer *a)
{
    struct sm_check *c = ctx;
    struct fab_switch_info info;
    (void)tag;
    if (c->over || a->status != FAB_OK ||
        fab_wire_attr_unpack(&fab_wire_attr_switch_info, a->data, a->len, &info) != FAB_OK)
        return;
    c->over = true;
    sm_guids_remove(&c->s->links->silent_checks.lost, c->guid);
    sm_guids_remove(&c->s->links->silent_checks.judged, c->guid);
    compare(c->s, c->guid, &info);
    /* the callback of the timer ends the check, because c->over is true */
    loop_timer_set(c->s->links->silent_checks.verdict, 0);
}

/* Asks the switch itself for SwitchInfo, over a neighbour that reports its link to the switch as
 * up. When the first such request is sent, the time limit of the check starts again. */
static void ask_over(struct sm_check *c, const struct neighbour *n)
{
    if (c->asked == PATHS_MOST)
        return;
    if (c->asked++ == 0)
        c->begun_us = clock_now_us();
    sm_silent_ask(c->s, &n->over_it, FAB_ATTR_SWITCH_INFO, 0, on_switch, c, 0, false);
}

static void on_port(void *ctx, uint64_t tag, const struct fab_mads_answer *a)
{
    struct sm_check *c = ctx;
    struct neighbour *n = &c->neighbour[tag];
    struct fab_port_info info;
    if (a->status != FAB_OK ||
        fab_wire_attr_unpack(&fab_wire_attr_port_info, a->data, a->len, &info) != FAB_OK)
        return;
    n->answered = true;
    sm_guids_remove(&c->s->links->silent_checks.lost, n->guid);
    n->up = info.phys_state == FAB_PHYS_LINKUP;
    if (n->up) {
        ask_over(c, n);
        return;
    }
    arm(c->s);
    if (!sm_can_repair(c->s) && c->s->wiring->sweep_awaits(c->s, c->guid))
        /* The running sweep is waiting for an answer of the switch. The sweep will soon give up the
         * switch, and then read this neighbour anyway. */
        return;
    sm_cause_set(c->s, "a switch does not answer, and its link is down");
    sm_request_ports(c->s, n->guid);
    loop_timer_set(c->s->links->silent_checks.schedule, 0);
}

/* ---- beginning ------------------------------------------------------------------------------- */

/* Lists in c->neighbour the neighbours of the switch that the manager can reach. avoid: bitset of
 * all switches that are being checked. paths: [node id] directed routes that avoid these switches.
 * Returns OK or NOMEM. */
static int find_neighbours(struct sm *s, struct sm_check *c, const struct fab_path *paths,
                           const uint64_t *avoid)
{
    const struct fab_fabric *f = s->model.fabric;
    uint32_t node = fab_fabric_node_by_guid(f, c->guid);
    uint32_t own = fab_fabric_port(f, f->self_port)->node;
    c->neighbour = calloc(NEIGHBOURS_MOST, sizeof(*c->neighbour));
    if (!c->neighbour)
        return FAB_E_NOMEM;
    for (uint32_t num = 1; num <= f->nodes[node].num_ports && c->neighbours < NEIGHBOURS_MOST;
         num++) {
        uint32_t far = fab_fabric_port(f, fab_fabric_port_id(f, node, (uint8_t)num))->peer;
        uint32_t peer = far == FAB_NONE ? FAB_NONE : fab_fabric_port(f, far)->node;
        struct neighbour *n = &c->neighbour[c->neighbours];
        bool usable = peer != FAB_NONE && (fab_fabric_node_is_switch(f, peer) || peer == own) &&
                      !fab_base_bits_get(avoid, peer);
        if (!usable || !sm_silent_extend(&paths[peer], fab_fabric_port(f, far)->num, &n->over_it))
            continue;
        n->to_it = paths[peer];
        n->guid = f->nodes[peer].guid;
        n->port = fab_fabric_port(f, far)->num;
        c->neighbours++;
    }
    return FAB_OK;
}

static void send(struct sm *s, struct sm_check *c)
{
    for (uint32_t i = 0; i < c->neighbours; i++)
        sm_silent_ask(s, &c->neighbour[i].to_it, FAB_ATTR_PORT_INFO, c->neighbour[i].port, on_port,
                      c, i, false);
}

/* Begins all checks that were requested since the last call. Computes once, for all checks
 * together, directed routes around the switches that are being checked. */
static void begin(void *ctx)
{
    struct sm *s = ctx;
    struct sm_silent_checks *x = &s->links->silent_checks;
    const struct fab_fabric *f = s->model.fabric;
    struct fab_path *paths = NULL;
    uint64_t *avoid = f ? fab_base_bits_new(f->node_count) : NULL;
    for (uint32_t i = x->checks; avoid && i-- > 0;) {
        uint32_t node = fab_fabric_node_by_guid(f, x->check[i]->guid);
        if (node != FAB_NONE && fab_fabric_node_is_switch(f, node))
            fab_base_bits_set(avoid, node);
        else
            drop_check(s, i);
    }
    bool good = avoid && fab_discover_paths_around(f, avoid, &paths) == FAB_OK;
    for (uint32_t i = 0; good && i < x->checks; i++) {
        struct sm_check *c = x->check[i];
        if (!c->neighbour && find_neighbours(s, c, paths, avoid) == FAB_OK)
            send(s, c);
    }
    free(avoid);
    free(paths);
    arm(s);
    sm_run_pump(s);
}

bool sm_silent_check(struct sm *s, uint64_t guid)
{
    struct sm_silent_checks *x = &s->links->silent_checks;
    const struct fab_fabric *f = s->model.fabric;
    uint32_t node = f && s->model.view ? fab_fabric_node_by_guid(f, guid) : FAB_NONE;
    if (node == FAB_NONE || !fab_fabric_node_is_switch(f, node) || sm_is_silent(s, guid))
        return false;
    for (uint32_t i = 0; i < x->checks; i++)
        if (x->check[i]->guid == guid)
            return true;
    struct sm_check *c = x->checks < CHECKS_MOST ? calloc(1, sizeof(*c)) : NULL;
    if (!c)
        return false;
    *c = (struct sm_check){.s = s, .guid = guid, .begun_us = clock_now_us()};
    x->check[x->checks++] = c;
    loop_timer_set(x->begin, 0);
    return true;
}

/* ---- the verdict ----------------------------------------------------------------------------- */

static void emit_silent(struct sm *s, const struct sm_silent *e, uint32_t links, bool avoided)
{
    char name[SM_PLACE_LEN];
    const struct fab_fabric *f = s->model.fabric;
    sm_node_name(f, fab_fabric_node_by_guid(f, e->guid), name);
    if (avoided)
        event_emit(s->in.bus, switch_silent, .subject = name, .guid = e->guid, .links = links);
    else
        event_emit(s->in.bus, switch_silent_needed, .subject = name, .guid = e->guid,
                   .links = links);
}

/* Called when a switch was found to be silent. If routes can avoid it (`avoid`) and a local
 * repair is possible, requests a port probe of the switch, which leads to this repair, and
 * interrupts the running round for it. Otherwise requests a targeted sweep; if one is running
 * already, it begins again without the switch. */
static void act(struct sm *s, struct sm_silent *e, bool avoid)
{
    char name[SM_PLACE_LEN];
    const struct fab_fabric *f = s->model.fabric;
    sm_node_name(f, fab_fabric_node_by_guid(f, e->guid), name);
    sm_cause_set(s, "silence of %.64s", name);
    if (avoid && sm_can_repair(s)) {
        sm_request_probe(s, e->guid);
        sm_round_postpone(s);
    } else {
        sm_request_target(s, e->guid);
        sm_round_repeat(s);
    }
}

/* Requests a targeted sweep of the switch and its neighbours, whose ports show whether the switch
 * is down. */
static void suspect_all(struct sm *s, uint64_t guid)
{
    const struct fab_fabric *f = s->model.fabric;
    uint32_t node = fab_fabric_node_by_guid(f, guid);
    sm_request_target(s, guid);
    for (uint32_t port = 0; port <= f->nodes[node].num_ports; port++) {
        uint32_t peer = fab_fabric_peer_node(f, fab_fabric_port_id(f, node, (uint8_t)port));
        if (peer != FAB_NONE)
            sm_request_target(s, f->nodes[peer].guid);
    }
}

static void judge(struct sm *s, const struct sm_check *c)
{
    uint32_t node = fab_fabric_node_by_guid(s->model.fabric, c->guid), up = 0;
    if (node == FAB_NONE || !fab_fabric_node_is_switch(s->model.fabric, node))
        return;
    for (uint32_t i = 0; i < c->neighbours; i++)
        up += c->neighbour[i].answered && c->neighbour[i].up;
    struct sm_silent *e = up > 0 ? sm_silent_add(s, c->guid) : NULL;
    if (!e) {
        bool again = sm_guids_have(&s->links->silent_checks.judged, c->guid);
        note_failed(s, c);
        /* If the last check, some seconds ago, had the same result (`again`), no targeted sweep is
         * requested: it would write to the switch again, and so cause the next check. */
        if (!again && !s->wiring->sweep_awaits(s, c->guid))
            suspect_all(s, c->guid);
        return;
    }
    bool avoid = sm_silent_can_leave_out(s->model.fabric, node);
    emit_silent(s, e, up, avoid);
    act(s, e, avoid);
    sm_silent_poll(s);
}

static void on_verdict(void *ctx)
{
    struct sm *s = ctx;
    struct sm_silent_checks *x = &s->links->silent_checks;
    for (uint32_t i = x->checks; i-- > 0;) {
        struct sm_check *c = x->check[i];
        bool due = clock_now_us() >= verdict_us(s, c);
        if (!c->over && due && s->model.fabric)
            judge(s, c);
        else if (c->over)
            s->wiring->switch_answered(s, c->guid);
        if (c->over || due)
            drop_check(s, i);
    }
    arm(s);
    sm_schedule(s);
}

/* ---- init and fini --------------------------------------------------------------------------- */

static void on_schedule(void *ctx)
{
    sm_schedule(ctx);
}

void sm_silent_forget(struct sm *s)
{
    while (s->links->silent_checks.checks > 0)
        drop_check(s, s->links->silent_checks.checks - 1);
    loop_timer_cancel(s->links->silent_checks.verdict);
    s->links->silent_checks.lost = s->links->silent_checks.judged = (struct sm_guids){0};
    sm_silent_fini(s);
}

int sm_silent_checks_init(struct sm *s)
{
    struct sm_silent_checks *x = &s->links->silent_checks;
    x->check = calloc(CHECKS_MOST, sizeof(struct sm_check *));
    x->begin = loop_timer_new(s->in.loop, begin, s);
    x->verdict = loop_timer_new(s->in.loop, on_verdict, s);
    x->schedule = loop_timer_new(s->in.loop, on_schedule, s);
    return x->check && x->begin && x->verdict && x->schedule ? FAB_OK : FAB_E_NOMEM;
}

void sm_silent_checks_fini(struct sm *s)
{
    struct sm_silent_checks *x = &s->links->silent_checks;
    while (x->checks > 0)
        drop_check(s, x->checks - 1);
    loop_timer_free(x->begin);
    loop_timer_free(x->verdict);
    loop_timer_free(x->schedule);
    free(x->check);
}
