/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The scrub slowly and continuously reads back the settings that the manager wrote to the devices,
 * and compares them with the intended values (libfabmgr/plan/scrub.h). The scrub thus finds tables
 * that another program overwrote or that a device lost. Sweeps do not find this, because they read
 * no tables.
 *
 * A turn over SwitchInfo, LFTs, PortInfo, P_Key tables and MFTs takes sweep.scrub_interval. A
 * second kind of turn, over SL2VL and VLArbitration tables and the MFT blocks that the manager
 * never wrote, takes six times as long. Both turns together send at most RATE_MOST requests a
 * second, so in a large fabric they take longer. The scrub has at most one request to a device in
 * flight. It pauses while a round runs or a fault waits. If a round wrote to devices while a read
 * was in flight, the read is repeated, because the round may have changed the attribute.
 *
 * If an attribute differs, the scrub reads the M_Key violation counter of the port, which may
 * explain the difference. It then emits an event, records the value that was read as the device's
 * state, and requests a targeted sweep of the node. The plan of that sweep restores the attribute.
 * (A changed MFT block is written again without a sweep.)
 *
 * While a recording is made or replayed the scrub is off, because the order of its requests would
 * depend on timers.
 */
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/apply/apply.h"
#include "fabricd/sm/mcast/mcast.h"
#include "fabricd/sm/scrub/state.h"

/* maximum number of requests a second, for both turns together */
#define RATE_MOST 1500.0
/* maximum number of requests a second for the turn over LFTs and other settings; the turn over VL
 * tables may use the rest of RATE_MOST */
#define RATE_MOST_TABLES 1000.0
/* how many times longer the turn over SL2VL and VLArbitration tables takes than the other turn */
#define LANES_TIMES 6
/* the requests of a turn are spread over this fraction of the time for the turn */
#define SHARE 0.97
#define BURST 16.0 /* maximum number of requests sent at once */
#define TICK_LEAST_US 10000u
#define TICK_MOST_US 1000000u
/* maximum number of settings that one call of fab_plan_scrub_next examines, and of MFT blocks that
 * one call of sm_mfts_scan_next examines */
#define STEPS 4096
/* The counting of requests pauses after this number of ports, because it must not block the event
 * loop. */
#define COUNT_PORTS 16384u
/* time in us from the first difference that was found to the targeted sweep that restores the
 * settings */
#define RESTORE_DELAY_US 200000u
/* maximum number of times that a read is repeated because a round has run or an MFT was written
 * meanwhile */
#define TRIES_MOST 8

static bool is_quiet(const struct sm *s)
{
    const struct sm_model *m = &s->model;
    return sm_is_master(s) && !sm_run_busy(s) && !sm_fault_waits(s) && m->view && m->fabric &&
           m->target && !m->lent && m->observed.lft.switch_count >= m->fabric->switch_count &&
           m->target->lids.port_count == m->fabric->port_count;
}

static struct fab_plan_input input_of(const struct sm *s)
{
    return (struct fab_plan_input){.fabric = s->model.fabric,
                                   .policy = &s->policy,
                                   .target = s->model.target,
                                   .observed = &s->model.observed};
}

static uint64_t interval_us(const struct sm *s, enum fab_scrub_turn turn)
{
    uint64_t us = (uint64_t)s->in.config->sweep.scrub_interval_s * 1000000;
    return turn == FAB_SCRUB_LANES ? LANES_TIMES * us : us;
}

/* ---- turns ----------------------------------------------------------------------------------- */

/* Called at the start of a turn. Stores the M_Key violation counters of all ports for this turn,
 * and keeps those that were stored for the previous turn: an attribute that is now found changed
 * may have changed during the previous turn. */
static void keep_violations(struct sm_scrub *c, uint32_t ports)
{
    bool same = c->violation_ports == ports;
    free(same ? c->violations[0] : c->violations[1]);
    if (!same)
        free(c->violations[0]);
    c->violations[0] = same ? c->violations[1] : NULL;
    c->violations[1] = c->violations_now;
    c->violations_now = NULL;
    c->violation_ports = ports;
}

static void note_violations(const struct fab_fabric *f, uint32_t node, uint32_t end, uint16_t *ret)
{
    for (; node < end; node++) {
        const struct fab_node *n = &f->nodes[node];
        for (uint32_t port = n->first_port; port <= n->first_port + n->num_ports; port++)
            ret[port] = fab_fabric_port(f, port)->info.m_key_violations;
    }
}

/* Counts the requests of a turn that is about to begin, and copies the violation counters of the
 * ports from the snapshot. Each call handles some of the nodes, because all nodes of a fabric with
 * 44,000 hosts would block the event loop for 10 ms. Returns true when all nodes are counted. */
static bool count_requests(struct sm *s, enum fab_scrub_turn which)
{
    struct sm_scrub *c = s->scrub;
    struct sm_scrub_turn *t = &c->turn[which];
    const struct fab_fabric *f = s->model.fabric;
    const struct fab_plan_input in = input_of(s);
    if (!t->counts || t->counted_ports != f->port_count) {
        t->counts = true;
        t->counted_ports = f->port_count;
        t->counted_nodes = 0;
        t->count = 0;
        if (which == FAB_SCRUB_TABLES) {
            free(c->violations_now);
            c->violations_now = calloc(f->port_count + 1u, sizeof(*c->violations_now));
        }
    }
    uint32_t from = t->counted_nodes, end = from;
    for (uint32_t ports = 0; end < f->node_count && ports < COUNT_PORTS; end++)
        ports += f->nodes[end].num_ports + 1u;
    t->count += fab_plan_scrub_count(&in, which, from, end);
    if (which == FAB_SCRUB_TABLES && c->violations_now)
        note_violations(f, from, end, c->violations_now);
    t->counted_nodes = end;
    t->counts = end < f->node_count;
    return !t->counts;
}

static void begin_turn(struct sm *s, enum fab_scrub_turn which, uint64_t now)
{
    struct sm_scrub_turn *t = &s->scrub->turn[which];
    uint64_t us = interval_us(s, which), count = t->count;
    struct sm_mfts_scan scan = {.over = true};
    double most = which == FAB_SCRUB_TABLES ? RATE_MOST_TABLES
                                            : RATE_MOST - s->scrub->turn[FAB_SCRUB_TABLES].rate;
    if (which == FAB_SCRUB_TABLES) {
        count += sm_mfts_held_count(s);
        keep_violations(s->scrub, s->model.fabric->port_count);
    } else {
        count += sm_mfts_scan_begin(s, &scan);
    }
    double rate = (double)count * 1e6 / ((double)us * SHARE);
    *t = (struct sm_scrub_turn){.runs = true,
                                .due_us = now + us,
                                .rate = rate < most ? rate : most,
                                .credit = t->credit,
                                .scan = scan};
}

static void end_turn(struct sm *s, enum fab_scrub_turn which)
{
    struct sm_scrub *c = s->scrub;
    struct sm_scrub_turn *t = &c->turn[which];
    t->runs = false;
    sm_scrub_summarize(s, t);
    if (which == FAB_SCRUB_TABLES) {
        c->turns++;
        c->last_reads = t->reads;
    } else {
        c->mfts_scanned = true;
    }
}

/* Finds the next MFT block to read. The turn over LFTs and other settings reads the blocks whose
 * contents are known. The slower turn over VL tables reads the blocks that the manager never wrote,
 * because there are far more of them. */
static bool next_mft(struct sm *s, enum fab_scrub_turn which, struct sm_scrub_slot *ret)
{
    struct sm_scrub_turn *t = &s->scrub->turn[which];
    uint32_t number;
    uint64_t guid;
    while (which == FAB_SCRUB_TABLES ? sm_mfts_held_next(s, &t->mft, &guid, &number)
                                     : sm_mfts_scan_next(s, &t->scan, STEPS, &guid, &number)) {
        uint32_t node = fab_fabric_node_by_guid(s->model.fabric, guid);
        if (node == FAB_NONE)
            continue;
        ret->item = (struct fab_scrub_item){.node = node,
                                            .port = fab_fabric_port_id(s->model.fabric, node, 0),
                                            .attr_id = FAB_ATTR_MFT,
                                            .block = number,
                                            .mod = fab_mft_modifier(number)};
        return true;
    }
    return false;
}

static bool is_over(const struct sm *s, enum fab_scrub_turn which)
{
    const struct sm_scrub_turn *t = &s->scrub->turn[which];
    return t->at.over && (which == FAB_SCRUB_TABLES ? !sm_mfts_pending(s) : t->scan.over);
}

/* Puts the next attribute of this turn into a slot. Returns false if no attribute can be read
 * now. */
static bool next_item(struct sm *s, enum fab_scrub_turn which, struct sm_scrub_slot *ret)
{
    struct sm_scrub_turn *t = &s->scrub->turn[which];
    const struct fab_plan_input in = input_of(s);
    *ret = (struct sm_scrub_slot){.turn = which};
    if (!t->runs || t->credit < 1)
        return false;
    bool found = !t->at.over && fab_plan_scrub_next(&in, which, &t->at, STEPS, &ret->item);
    if (!found && t->at.over)
        found = next_mft(s, which, ret);
    if (!found && is_over(s, which))
        end_turn(s, which);
    if (!found)
        return false;
    t->credit -= 1;
    t->reads++;
    ret->state = SM_SCRUB_WAITS;
    ret->guid = s->model.fabric->nodes[ret->item.node].guid;
    ret->num = fab_fabric_port(s->model.fabric, ret->item.port)->num;
    return true;
}

/* ---- requests -------------------------------------------------------------------------------- */

static bool is_in_flight(const struct sm_scrub_slot *x)
{
    return x->state == SM_SCRUB_ASKED || x->state == SM_SCRUB_TRACED;
}

static bool is_asked(const struct sm_scrub *c, uint64_t guid)
{
    for (unsigned i = 0; i < SM_SCRUB_SLOTS; i++)
        if (is_in_flight(&c->slot[i]) && c->slot[i].guid == guid)
            return true;
    return false;
}

/* A new snapshot may have other ids. Finds the present ids of the node and the port by GUID and
 * port number. Returns false if the port has left the fabric, or if there is no directed route to
 * it. */
static bool look_up(const struct sm *s, struct sm_scrub_slot *x)
{
    const struct fab_fabric *f = s->model.fabric;
    uint32_t node = fab_fabric_node_by_guid(f, x->guid);
    if (node == FAB_NONE || x->num > f->nodes[node].num_ports)
        return false;
    x->item.node = node;
    x->item.port = fab_fabric_port_id(f, node, x->num);
    return fab_fabric_port(f, x->item.port)->present &&
           sm_model_path(&s->model, x->item.port) != NULL;
}

/* Returns a slot whose request may be sent now; NULL: none. */
static struct sm_scrub_slot *find_ready(struct sm *s)
{
    struct sm_scrub *c = s->scrub;
    for (unsigned i = 0; i < SM_SCRUB_SLOTS; i++) {
        struct sm_scrub_slot *x = &c->slot[i];
        bool waits = x->state == SM_SCRUB_WAITS || x->state == SM_SCRUB_DIFFERS;
        if (waits && !look_up(s, x))
            x->state = SM_SCRUB_FREE;
        else if (waits && !is_asked(c, x->guid))
            return x;
    }
    return NULL;
}

/* Puts the next attributes of both turns into free slots. Returns whether at least one slot was
 * filled. */
static bool fill_slots(struct sm *s)
{
    bool filled = false;
    for (unsigned i = 0; i < SM_SCRUB_SLOTS; i++) {
        struct sm_scrub_slot *x = &s->scrub->slot[i];
        if (x->state == SM_SCRUB_FREE)
            filled |= next_item(s, FAB_SCRUB_TABLES, x) || next_item(s, FAB_SCRUB_LANES, x);
    }
    return filled;
}

static void on_answer(void *ctx, uint64_t tag, const struct fab_mads_answer *a);

bool sm_scrub_next(struct sm *s, struct fab_mads_request *ret)
{
    struct sm_scrub *c = s->scrub;
    if (!is_quiet(s))
        return false;
    struct sm_scrub_slot *x = find_ready(s);
    if (!x && fill_slots(s))
        x = find_ready(s);
    if (!x)
        return false;
    bool traces = x->state == SM_SCRUB_DIFFERS;
    x->state = traces ? SM_SCRUB_TRACED : SM_SCRUB_ASKED;
    x->path = *sm_model_path(&s->model, x->item.port);
    x->round_us = s->run.started_us;
    x->mft_epoch = sm_mfts_epoch(s);
    *ret = (struct fab_mads_request){.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                                     .method = FAB_METHOD_GET,
                                     .attr_id = traces ? FAB_ATTR_PORT_INFO : x->item.attr_id,
                                     .attr_mod = traces ? x->num : x->item.mod,
                                     .dlid = 0xffff,
                                     .path = &x->path,
                                     .done = on_answer,
                                     .ctx = c,
                                     .tag = (uint64_t)(x - c->slot)};
    sm_m_key_fill(s, ret);
    return true;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Returns true if this manager cannot have changed the attribute, because no round has run and no
 * MFT has been written since the read was sent. */
static bool is_undisturbed(const struct sm *s, const struct sm_scrub_slot *x)
{
    return is_quiet(s) && x->round_us == s->run.started_us &&
           (x->item.attr_id != FAB_ATTR_MFT || x->mft_epoch == sm_mfts_epoch(s));
}

static bool differs(const struct sm *s, const struct sm_scrub_slot *x,
                    struct fab_scrub_difference *ret)
{
    const struct fab_plan_input in = input_of(s);
    if (x->item.attr_id == FAB_ATTR_MFT)
        return sm_mfts_differ(s, x->guid, x->item.block, x->data, ret);
    return fab_plan_scrub_differs(&in, &x->item, x->data, ret);
}

static void request_restore(struct sm *s, uint64_t guid)
{
    sm_guids_add(&s->scrub->found, guid);
    if (!loop_timer_pending(s->scrub->restore))
        loop_timer_set(s->scrub->restore, RESTORE_DELAY_US);
}

static void compare(struct sm *s, struct sm_scrub_slot *x)
{
    const struct fab_plan_input in = input_of(s);
    struct fab_scrub_difference d;
    if (fab_plan_scrub_is_stale(&in, &x->item, x->data))
        /* The state of the port has changed, and no trap reported it. A targeted sweep must read
         * the port. */
        request_restore(s, x->guid);
    else if (differs(s, x, &d))
        x->state = SM_SCRUB_DIFFERS;
}

static uint32_t violations_of(const struct sm *s, const struct sm_scrub_slot *x,
                              const struct fab_mads_answer *a)
{
    const struct sm_scrub *c = s->scrub;
    const uint16_t *counts = c->violations[0] ? c->violations[0] : c->violations[1];
    struct fab_port_info now;
    if (!counts || c->violation_ports != s->model.fabric->port_count || a->status != FAB_OK ||
        fab_wire_attr_unpack(&fab_wire_attr_port_info, a->data, a->len, &now) != FAB_OK)
        return 0;
    uint32_t was = counts[x->item.port];
    return now.m_key_violations > was ? now.m_key_violations - was : 0;
}

static void record(struct sm *s, const struct sm_scrub_slot *x)
{
    struct sm_scrub *c = s->scrub;
    const struct fab_plan_input in = input_of(s);
    if (x->item.attr_id == FAB_ATTR_MFT) {
        c->mft_differs = true;
        sm_mfts_record(s, x->guid, x->item.block, x->data);
        return;
    }
    fab_plan_scrub_record(&in, &x->item, x->data, &s->model.observed);
    sm_guids_add(&c->differing, x->guid);
    request_restore(s, x->guid);
}

static void conclude(struct sm *s, struct sm_scrub_slot *x, const struct fab_mads_answer *a)
{
    struct sm_scrub_turn *t = &s->scrub->turn[x->turn];
    struct fab_scrub_difference d;
    if (!differs(s, x, &d))
        return;
    s->scrub->differences++;
    if (t->differences++ < SM_EVENTS_A_ROUND)
        sm_scrub_report(s, x, &d, violations_of(s, x, a));
    record(s, x);
}

static void on_answer(void *ctx, uint64_t tag, const struct fab_mads_answer *a)
{
    struct sm_scrub *c = ctx;
    struct sm_scrub_slot *x = &c->slot[tag];
    bool traced = x->state == SM_SCRUB_TRACED;
    x->state = SM_SCRUB_FREE;
    if (!is_undisturbed(c->s, x)) {
        x->state = x->tries++ < TRIES_MOST ? SM_SCRUB_WAITS : SM_SCRUB_FREE;
        return;
    }
    if (!look_up(c->s, x))
        return;
    if (traced) {
        conclude(c->s, x, a);
    } else if (a->status == FAB_OK && a->len >= FAB_SMP_DATA) {
        memcpy(x->data, a->data, FAB_SMP_DATA);
        compare(c->s, x);
    }
}

/* ---- timers ---------------------------------------------------------------------------------- */

static void on_restore(void *ctx)
{
    struct sm *s = ctx;
    struct sm_scrub *c = s->scrub;
    if (!sm_trap_waits(s))
        sm_cause_set(s, "settings that differ from what was written");
    sm_request_targets(s, &c->found);
    c->found = (struct sm_guids){0};
    sm_schedule(s);
}

static void arm(struct sm *s)
{
    double rate = s->scrub->turn[FAB_SCRUB_TABLES].rate + s->scrub->turn[FAB_SCRUB_LANES].rate;
    double us = rate > 0 ? 1e6 / rate : TICK_MOST_US;
    if (s->scrub->turn[FAB_SCRUB_TABLES].counts || s->scrub->turn[FAB_SCRUB_LANES].counts)
        us = TICK_LEAST_US;
    us = us < TICK_LEAST_US ? TICK_LEAST_US : us > TICK_MOST_US ? TICK_MOST_US : us;
    if (s->in.config->sweep.scrub_interval_s && !s->in.recorded)
        loop_timer_set(s->scrub->timer, (uint64_t)us);
}

static void give_credit(struct sm *s, uint64_t now)
{
    struct sm_scrub *c = s->scrub;
    uint64_t span = now - c->ticked_us;
    for (unsigned which = 0; which < FAB_SCRUB_TURNS; which++) {
        struct sm_scrub_turn *t = &c->turn[which];
        if (!t->runs && now >= t->due_us && count_requests(s, which))
            begin_turn(s, which, now);
        double earned = (double)span * t->rate / 1e6;
        t->credit = t->credit + earned < BURST ? t->credit + earned : BURST;
    }
}

static void on_tick(void *ctx)
{
    struct sm *s = ctx;
    uint64_t now = clock_now_us();
    if (is_quiet(s)) {
        if (s->scrub->mft_differs && !sm_mfts_pending(s))
            s->scrub->mft_differs = false;
        give_credit(s, now);
        sm_run_pump(s);
    }
    s->scrub->ticked_us = now;
    arm(s);
}

/* ---- interface ------------------------------------------------------------------------------- */

void sm_scrub_drop(struct sm *s)
{
    struct sm_scrub *c = s->scrub;
    if (s->mads)
        fab_mads_cancel(s->mads, c);
    loop_timer_cancel(c->restore);
    memset(c->slot, 0, sizeof(c->slot));
    memset(c->turn, 0, sizeof(c->turn));
    free(c->violations_now);
    c->violations_now = NULL;
    c->found = c->differing = (struct sm_guids){0};
    c->mft_differs = c->mfts_scanned = false;
}

void sm_scrub_reload(struct sm *s)
{
    sm_scrub_drop(s);
    loop_timer_cancel(s->scrub->timer);
    arm(s);
}

/* Called when a round has ended. If the writes of the round succeeded, all settings of its nodes
 * have been written again, so removes these nodes from the list of nodes with changed settings
 * (`differing`). After a sweep of the whole fabric, empties the list. */
void sm_scrub_round_ended(struct sm *s, int status)
{
    struct sm_guids *differing = &s->scrub->differing;
    const struct sm_round *round = s->run.round;
    if (status != FAB_OK || (!round->targets && !round->whole) || sm_program_failed(s) ||
        sm_alarm(s)[0])
        return;
    if (round->whole)
        *differing = (struct sm_guids){0};
    for (uint32_t i = 0; i < s->run.suspects.count; i++)
        sm_guids_remove(differing, s->run.suspects.guid[i]);
}

void sm_scrub_get_status(const struct sm *s, struct sm_status *ret)
{
    const struct sm_scrub *c = s->scrub;
    ret->scrub_turns = c->turns;
    ret->scrub_reads = c->last_reads;
    ret->settings_changed = c->differences;
    ret->settings_not_restored = c->differing.count + c->mft_differs;
}

int sm_scrub_init(struct sm *s)
{
    s->scrub = calloc(1, sizeof(*s->scrub));
    if (!s->scrub)
        return FAB_E_NOMEM;
    s->scrub->s = s;
    s->scrub->timer = loop_timer_new(s->in.loop, on_tick, s);
    s->scrub->restore = loop_timer_new(s->in.loop, on_restore, s);
    if (!s->scrub->timer || !s->scrub->restore)
        return FAB_E_NOMEM;
    s->scrub->ticked_us = clock_now_us();
    arm(s);
    return FAB_OK;
}

void sm_scrub_fini(struct sm *s)
{
    if (!s->scrub)
        return;
    sm_scrub_drop(s);
    loop_timer_free(s->scrub->timer);
    loop_timer_free(s->scrub->restore);
    free(s->scrub->violations[0]);
    free(s->scrub->violations[1]);
    free(s->scrub);
    s->scrub = NULL;
}
