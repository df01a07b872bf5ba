/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asks each silent switch every POLL_US, over at most two neighbours, whether it answers again.
 * When it has answered several polls in a row, routes may use it again.
 */
#include "fabricd/base/clock.h"
#include "fabricd/sm/links/state.h"
#include "libfabmgr/base/status.h"

#define POLL_US 2000000u
/* number of polls in a row that a silent switch must answer before routes may use it again;
 * relapses double it (RELAPSES_MOST) */
#define ANSWERS_LEAST 2
/* The number of polls in a row that a switch must answer is ANSWERS_LEAST at first. Each time that
 * the switch becomes silent again, the number doubles, at most this many times. */
#define RELAPSES_MOST 5

static void emit_answers(struct sm *s, const struct sm_silent *e)
{
    char name[SM_PLACE_LEN];
    const struct fab_fabric *f = s->model.fabric;
    uint32_t node = fab_fabric_node_by_guid(f, e->guid);
    if (node == FAB_NONE)
        return;
    sm_node_name(f, node, name);
    event_emit(s->in.bus, switch_answers, .subject = name, .guid = e->guid,
               .duration_us = clock_now_us() - e->since_us);
    sm_cause_set(s, "%.64s answers again", name);
}

static void use_again(struct sm *s, struct sm_silent *e)
{
    emit_answers(s, e);
    sm_request_target(s, e->guid);
    for (uint32_t i = 0; i < e->links; i++)
        for (int end = 0; end < 2; end++)
            sm_request_target(s, e->link[i].guid[end]);
    /* The targeted sweep that is requested above restores the routes over the switch. A background
     * heavy sweep finds all other changes that the switch could not report while it was silent. */
    sm_request(s, SM_REQUEST_BACKGROUND);
    sm_silent_release(s, e);
}

static void on_poll_answer(void *ctx, uint64_t tag, const struct fab_mads_answer *a)
{
    struct sm_silent *e = ctx;
    (void)tag;
    e->asked--;
    e->heard |= a->status == FAB_OK;
}

/* Adds a directed route to the silent switch over its neighbour `near`, and increments *paths. Adds
 * none if there are two routes already, or if `near` is neither a switch nor the manager's own
 * node, because other nodes do not forward packets. */
static void add_path(struct sm *s, struct sm_silent *e, uint32_t near, uint8_t port,
                     uint32_t *paths)
{
    const struct fab_fabric *f = s->model.fabric;
    bool usable = near != FAB_NONE && (fab_fabric_node_is_switch(f, near) ||
                                       near == fab_fabric_port(f, f->self_port)->node);
    *paths +=
        usable && *paths < 2 && sm_silent_extend(&s->model.paths[near], port, &e->path[*paths]);
}

/* Finds at most two directed routes to the silent switch, each over another neighbour. Returns
 * their number. */
static uint32_t find_paths(struct sm *s, struct sm_silent *e)
{
    const struct fab_fabric *f = s->model.fabric;
    uint32_t node = fab_fabric_node_by_guid(f, e->guid), paths = 0;
    for (uint32_t i = 0; i < e->links; i++) {
        int end = e->link[i].guid[0] == e->guid;
        add_path(s, e, fab_fabric_node_by_guid(f, e->link[i].guid[end]), e->link[i].port[end],
                 &paths);
    }
    for (uint32_t num = 1; node != FAB_NONE && num <= f->nodes[node].num_ports; num++) {
        uint32_t far = fab_fabric_port(f, fab_fabric_port_id(f, node, (uint8_t)num))->peer;
        if (far != FAB_NONE)
            add_path(s, e, fab_fabric_port(f, far)->node, fab_fabric_port(f, far)->num, &paths);
    }
    return paths;
}

/* Evaluates the last poll of this switch. If routes must not use the switch yet, sends the next
 * poll. */
static void poll_one(struct sm *s, struct sm_silent *e)
{
    uint32_t relapses = e->relapses < RELAPSES_MOST ? e->relapses : RELAPSES_MOST;
    e->answers = e->heard ? e->answers + 1 : 0;
    e->heard = false;
    if (e->answers >= (uint32_t)ANSWERS_LEAST << relapses) {
        use_again(s, e);
        return;
    }
    if (e->asked > 0)
        return;
    uint32_t paths = e->asked = find_paths(s, e);
    for (uint32_t i = 0; i < paths; i++)
        sm_silent_ask(s, &e->path[i], FAB_ATTR_SWITCH_INFO, 0, on_poll_answer, e, i, true);
}

static void on_poll(void *ctx)
{
    struct sm *s = ctx;
    bool any = false;
    for (uint32_t i = 0; i < s->links->silents; i++) {
        struct sm_silent *e = s->links->silent[i];
        if (e->released_us == 0 && s->model.fabric && s->model.paths)
            poll_one(s, e);
        any |= e->released_us == 0;
    }
    if (any)
        loop_timer_set(s->links->silent_poll, POLL_US);
    sm_run_pump(s);
    /* Only now may a round begin: one targeted sweep then reads all switches that answer again. */
    sm_schedule(s);
}

void sm_silent_poll(struct sm *s)
{
    if (!loop_timer_pending(s->links->silent_poll))
        loop_timer_set(s->links->silent_poll, POLL_US);
}

int sm_silent_poll_init(struct sm *s)
{
    s->links->silent_poll = loop_timer_new(s->in.loop, on_poll, s);
    return s->links->silent_poll ? FAB_OK : FAB_E_NOMEM;
}
