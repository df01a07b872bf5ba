/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Phase "programming" sends the writes of the plan stage by stage (libfabmgr/plan/plan.h). Within
 * the stage of LFT writes, a write that depends on earlier writes waits until they are answered. If
 * the plan demands it, the write also waits until packets in flight have left the fabric. A payload
 * is encoded when its write is sent, because storing half a million payloads would take too much
 * memory.
 *
 * The response to a Set contains the attribute after the write. The manager updates the model from
 * the responses. A node that refuses or does not answer a write becomes a suspect of a later sweep.
 * After a failed LFT write, it is not known whether the switch holds the old or the new entries of
 * the block; the block is doubtful (libfabmgr/plan/observed.c). The SL2VL and VLArbitration tables
 * of a node count as unknown while they are written, because an interrupted round may leave them
 * partly written.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/apply/state.h"
#include "libfabmgr/base/plural.h"

/* A plan with at least this many writes is freed on a worker thread, because freeing it takes
 * milliseconds. */
#define DISCARD_OPS 10000

void sm_program_fini(struct sm_programming *p)
{
    fab_plan_fini(&p->plan);
    free(p->touched);
    free(p->held);
    free(p->asked);
    free(p->written);
    *p = (struct sm_programming){0};
}

/* Returns true if LFT writes must wait for all SwitchInfo writes, because the LinearFDBTop of a
 * switch changes. If LFT writes always waited, a switch that hangs would delay the routes around
 * it. */
static bool tables_wait(const struct sm *s)
{
    const struct fab_fabric *f = s->model.fabric;
    for (uint32_t sw = 0; sw < f->switch_count; sw++)
        if (f->switches[sw].linear_fdb_top != s->model.target->lids.top)
            return true;
    return false;
}

/* Marks switches whose ports phase "reading back" must read again. When the sweep read such a
 * switch, it had PortStateChange set, and its MasterSMLID was the LID of another manager. So it may
 * have sent a trap about a port to that manager. */
static void note_unsure(struct sm *s)
{
    const struct fab_fabric *f = s->model.fabric;
    struct sm_programming *p = &s->apply->program;
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        const struct fab_port_info *own = &fab_fabric_port(f, fab_fabric_port_id(f, sw, 0))->info;
        if (!f->switches[sw].port_state_change || own->sm_lid == p->in.sm_lid)
            continue;
        p->touched[sw] |= SM_UNSURE;
        p->unsure++;
    }
}

/* Freeing a large plan takes milliseconds, so a worker thread frees it: a plan for a fabric without
 * tables has millions of writes. */
void sm_program_tidy(struct sm *s)
{
    struct fab_plan *plan = &s->apply->program.plan;
    if (plan->stage_start[FAB_STAGE_COUNT] >= DISCARD_OPS) {
        loop_discard(s->in.loop, free, plan->ops);
        plan->ops = NULL;
    }
    fab_plan_fini(plan);
}

struct fab_plan_input sm_program_input(const struct sm *s)
{
    return (struct fab_plan_input){
        .fabric = s->model.fabric,
        .policy = &s->policy,
        .target = s->model.target,
        .observed = &s->model.observed,
        .sm_lid = s->model.target->lids.base[s->model.fabric->self_port],
        .tune = s->apply->tune,
        .ask = s->apply->ask || s->apply->ask_first,
        .former_sm_lid = s->apply->former_sm_lid,
    };
}

int sm_program_take(struct sm *s, struct fab_plan *plan)
{
    struct sm_programming *p = &s->apply->program;
    sm_program_fini(p);
    p->touched = calloc((size_t)s->model.fabric->node_count + 1, sizeof(*p->touched));
    p->asked = fab_base_bits_new(plan->stage_start[FAB_STAGE_COUNT]);
    p->held = fab_base_bits_new(s->model.fabric->switch_count);
    if (!p->touched || !p->asked || !p->held)
        return FAB_E_NOMEM;
    p->in = sm_program_input(s);
    p->plan = *plan;
    *plan = (struct fab_plan){0};
    sm_changed_plan(s);
    return FAB_OK;
}

int sm_program_links(struct sm *s, const uint32_t *port, size_t count, struct fab_plan *ret)
{
    const struct fab_plan_input in = sm_program_input(s);
    struct fab_port_info *up = calloc(count + 1, sizeof(*up));
    if (!up)
        return FAB_E_NOMEM;
    int r = fab_plan_make_links(&in, port, count, ret);
    if (r == FAB_OK)
        fab_plan_vls_begin(&in, ret, &s->model.observed);
    for (size_t i = 0; r == FAB_OK && i < count; i++)
        fab_plan_port_when_up(&in, port[i], &up[i]);
    for (size_t i = 0; r == FAB_OK && i < count; i++)
        r = fab_fabric_set_port_info(s->model.fabric, port[i], &up[i]);
    free(up);
    return r;
}

const struct fab_plan *sm_program_plan(const struct sm *s)
{
    return s->apply->program.touched ? &s->apply->program.plan : NULL;
}

const struct fab_verdict *sm_verdict_of_tables(const struct sm *s)
{
    return &s->apply->verdict;
}

uint32_t sm_program_failed(const struct sm *s)
{
    return s->apply->program.failed;
}

/* Bars a plan that brings up ISLs if the manager is frozen in mode "repairs only", in which it does
 * not bring up ISLs. The tables of such a plan may use these ISLs, so none of its writes is
 * sent. */
static void bar_set_up(struct sm *s)
{
    struct sm_programming *p = &s->apply->program;
    const uint32_t *start = p->plan.stage_start;
    p->barred = sm_freeze_bars_engine(s) && start[FAB_STAGE_ISLS_UP + 1] > start[FAB_STAGE_ISLS_UP];
    if (p->barred)
        sm_freeze_alarm(s, "links must be brought up before it can repair routes");
}

int sm_program_begin(struct sm *s, struct fab_plan *plan, bool asks)
{
    int r = sm_program_take(s, plan);
    if (r != FAB_OK)
        return r;
    sm_failed_begin(s);
    s->apply->program.in.ask = asks;
    if (!sm_is_frozen(s)) {
        s->apply->tune = false;
        s->apply->asking |= asks;
        if (asks)
            s->apply->ask = s->apply->ask_first = false;
    }
    bar_set_up(s);
    note_unsure(s);
    s->apply->program.tables_wait = tables_wait(s);
    if (s->apply->program.tables_wait)
        sm_changed_all(s);
    return FAB_OK;
}

/* If a fault has come while the plan of a rebalance was computed, sm_rebalance_yield stops the
 * round before its first write is sent. Other rounds continue. */
static int enter(struct sm *s)
{
    if (sm_fault_waits(s))
        sm_rebalance_yield(s);
    sm_repair_begin(s);
    return FAB_OK;
}

static bool all_sent(const struct sm_programming *p)
{
    return p->next == p->plan.stage_start[FAB_STAGE_COUNT];
}

/* Returns the directed route for a write. Returns NULL if no route is known, or if the node did not
 * answer an earlier write of this round; further writes to it would only cost time. */
static const struct fab_path *path_of(const struct sm *s, const struct fab_plan_op *op)
{
    return s->apply->program.touched[op->node] & SM_UNRESPONSIVE
               ? NULL
               : sm_model_path(&s->model, op->port);
}

/* Returns whether all writes of the present stage must be answered before writes of the next stage
 * are sent. False if the stage has no writes, and for the stage SWITCH unless tables must wait for
 * it. */
static bool stage_is_awaited(const struct sm_programming *p)
{
    if (p->plan.stage_start[p->stage] == p->plan.stage_start[p->stage + 1])
        return false;
    return p->stage != FAB_STAGE_SWITCH || p->tables_wait;
}

/* If all writes of the present stage have been sent, enters the next stage, unless it must first
 * wait for answers. Returns false if no write may be sent now, or no write is left. */
static bool may_go_on(struct sm *s)
{
    struct sm_programming *p = &s->apply->program;
    while (p->stage < FAB_STAGE_COUNT && p->next == p->plan.stage_start[p->stage + 1]) {
        if (sm_run_outstanding(s) && stage_is_awaited(p))
            return false;
        p->stage++;
    }
    return p->stage < FAB_STAGE_COUNT;
}

static bool waits_for_failed(const struct sm_programming *p, const struct fab_plan_op *op)
{
    return op->waits && (p->failed_block[op->block / 64 % 16] >> op->block % 64 & 1) != 0;
}

/* Handles a write that failed or could not be sent: a later round repeats it. If LFT writes wait
 * for this write, packets could loop if they were sent. This round then sends no further waiting
 * write of a block with the same number (LID / 64), at any switch; in a transition of several
 * steps, no further waiting write at all. */
static void note_failed_block(struct sm *s, const struct fab_plan_op *op)
{
    struct sm_programming *p = &s->apply->program;
    if (op->awaited && p->plan.stepwise)
        memset(p->failed_block, 0xff, sizeof(p->failed_block));
    else if (op->awaited)
        p->failed_block[op->block / 64 % 16] |= UINT64_C(1) << op->block % 64;
    sm_request_retry_of(s, s->model.fabric->nodes[op->node].guid);
}

static bool is_in_stage(const struct sm_programming *p, const struct fab_plan_op *op,
                        enum fab_plan_stage stage)
{
    uint32_t i = (uint32_t)(op - p->plan.ops);
    return i >= p->plan.stage_start[stage] && i < p->plan.stage_start[stage + 1];
}

/* Notes a failed write of a table that a switch must hold before its links become Active; is_held()
 * then keeps these links from becoming Active. If this write had to restore a doubtful block, no
 * new link may become Active, because the proof of the new tables assumes that the block is
 * restored. */
static void hold_links(struct sm_programming *p, const struct fab_plan_op *op)
{
    if (is_in_stage(p, op, FAB_STAGE_EARLY))
        fab_base_bits_set(p->held, op->node);
    p->hold_all |= op->restores;
}

/* Returns true if this write would make a link Active, although a switch at one of its ends lacks a
 * table that it must hold before, or a doubtful block was not restored (hold_links). The write is
 * then left out. The next round writes the table, and then makes the link Active. */
static bool is_held(const struct sm *s, const struct fab_plan_op *op)
{
    const struct sm_programming *p = &s->apply->program;
    const struct fab_fabric *f = s->model.fabric;
    if (!is_in_stage(p, op, FAB_STAGE_ISLS_UP))
        return false;
    uint32_t peer = fab_fabric_peer_node(f, op->port);
    return p->hold_all || fab_base_bits_get(p->held, op->node) ||
           (peer < f->switch_count && fab_base_bits_get(p->held, peer));
}

/* Returns true if the write is for a silent switch, to which it cannot be sent. Such a write does
 * not count as failed, because the proof of the new tables used the entries that this switch holds.
 * Writes that wait for this write are not sent either. */
static bool is_out_of_reach(struct sm *s, const struct fab_plan_op *op)
{
    if (!s->model.fabric->nodes[op->node].silent)
        return false;
    if (op->awaited)
        s->apply->program.failed_block[op->block / 64 % 16] |= UINT64_C(1) << op->block % 64;
    return true;
}

static void note_lanes(struct sm_programming *p, const struct fab_plan_op *op)
{
    if (op->attr_id == FAB_ATTR_SL2VL || op->attr_id == FAB_ATTR_VLARB)
        p->touched[op->node] |= SM_LANES_FAILED;
}

/* Makes the request for an LFT write a LID-routed SMP if this is safe (lid_routed.c). The decision
 * is made once in a round for each switch. */
static void go_by_lid(struct sm *s, uint32_t sw, struct fab_mads_request *ret)
{
    uint16_t *touched = &s->apply->program.touched[sw];
    if (!(*touched & (SM_BY_LID | SM_BY_PATH)))
        *touched |= sm_lid_route_to(s, sw) != 0 ? SM_BY_LID : SM_BY_PATH;
    if (*touched & SM_BY_LID) {
        ret->mgmt_class = FAB_CLASS_SMP_LID;
        ret->dlid =
            (uint16_t)s->model.target->lids.base[fab_fabric_port_id(s->model.fabric, sw, 0)];
    }
}

/* Some writes must wait until the packets that were in flight at the last awaited answer have left
 * the fabric. Returns true if write `op` need not wait for this, or if the time for it has passed.
 * Otherwise sets the timer that sends the next writes. */
static bool has_settled(struct sm *s, const struct fab_plan_op *op)
{
    struct sm_programming *p = &s->apply->program;
    uint64_t now = clock_now_us(), at = p->awaited_us + sm_transition_settle_us(s);
    if (!op->settle || !p->awaited_us || now >= at || waits_for_failed(p, op))
        return true;
    if (!loop_timer_pending(s->apply->settle))
        loop_timer_set(s->apply->settle, at - now);
    return false;
}

/* Call this function when a write has failed or could not be sent. A local repair first brings up
 * links (stages before ROUTES), and then routes packets over them. If a link did not come up, the
 * repair must not route packets to it, so no further writes are sent. A targeted sweep then reads
 * both ends of the link. */
static void stop_before_routes(struct sm *s, const struct fab_plan_op *op)
{
    struct sm_programming *p = &s->apply->program;
    if (s->run.round->probes && op < p->plan.ops + p->plan.stage_start[FAB_STAGE_ROUTES])
        p->stopped = true;
}

/* Leaves out a write that the mode of the frozen manager forbids. The node keeps its old
 * settings. The write is not repeated before the manager is resumed. */
static void withhold(struct sm *s, const struct fab_plan_op *op)
{
    struct sm_programming *p = &s->apply->program;
    bool table = op->attr_id == FAB_ATTR_LFT;
    p->withheld++;
    p->withheld_blocks += table;
    p->withheld_switches += table && !(p->touched[op->node] & SM_WITHHELD);
    if (table) {
        p->touched[op->node] |= SM_WITHHELD;
        p->failed_tables++;
        sm_failed_note(s, op, false);
    }
    note_lanes(p, op);
    hold_links(p, op);
    stop_before_routes(s, op);
}

static bool next(struct sm *s, struct fab_mads_request *ret)
{
    struct sm_programming *p = &s->apply->program;
    while (!p->stopped && may_go_on(s)) {
        const struct fab_plan_op *op = &p->plan.ops[p->next];
        if (op->barrier && (p->awaited || !has_settled(s, op)))
            return false;
        sm_transition_sending(s, p->next);
        ret->tag = p->next++;
        if (is_out_of_reach(s, op))
            continue;
        if (p->barred || !sm_freeze_admits(s, op->attr_id)) {
            withhold(s, op);
            continue;
        }
        ret->path = waits_for_failed(p, op) || is_held(s, op) ? NULL : path_of(s, op);
        if (!ret->path)
            note_failed_block(s, op);
        if (!ret->path || fab_plan_encode(&p->in, op, ret->data, &ret->attr_mod) != FAB_OK) {
            p->failed++;
            p->failed_tables += op->attr_id == FAB_ATTR_LFT;
            if (op->attr_id == FAB_ATTR_LFT)
                sm_failed_note(s, op, false);
            note_lanes(p, op);
            hold_links(p, op);
            stop_before_routes(s, op);
            continue;
        }
        ret->method = FAB_METHOD_SET;
        ret->attr_id = op->attr_id;
        if (op->attr_id == FAB_ATTR_LFT)
            go_by_lid(s, op->node, ret);
        p->writes++;
        if (op->attr_id == FAB_ATTR_LFT && !p->first_write_us)
            p->first_write_us = clock_now_us();
        p->awaited += op->awaited;
        fab_base_bits_set(p->asked, ret->tag);
        return true;
    }
    return false;
}

static bool finished(const struct sm *s)
{
    return s->apply->program.stopped || all_sent(&s->apply->program);
}

void sm_program_stop(struct sm *s)
{
    s->apply->program.stopped = true;
    sm_run_check(s);
}

/* Returns true if a failed write is the fault of the node; an event then names the node. If there
 * was no answer, perhaps a link on the route has just failed; a sweep then repeats the write over a
 * new route. Only after a second write without an answer is the node at fault. */
static bool is_to_blame(const struct sm *s, uint64_t guid, const struct fab_mads_answer *a)
{
    return a->status != FAB_E_TIMEOUT || (s->run.round->targets && sm_is_refusing(s, guid));
}

static void emit_failed(struct sm *s, const struct fab_plan_op *op, const struct fab_mads_answer *a)
{
    const struct fab_fabric *f = s->model.fabric;
    char name[SM_PLACE_LEN];
    bool port = op->attr_id == FAB_ATTR_PORT_INFO, refused = a->status == FAB_E_REFUSED;
    if (port)
        sm_port_name(f, op->port, name);
    else
        sm_node_name(f, op->node, name);
    uint64_t guid = f->nodes[op->node].guid;
    uint8_t num = port ? fab_fabric_port(f, op->port)->num : 0;
    const char *attr = sm_attr_name(op->attr_id);
    if (refused)
        event_emit(s->in.bus, write_refused, .subject = name, .guid = guid, .port = num,
                   .attribute = attr, .status = a->smp_status);
    else
        event_emit(s->in.bus, node_unresponsive_write, .subject = name, .guid = guid, .port = num,
                   .attribute = attr);
}

static void failed(struct sm *s, const struct fab_plan_op *op, const struct fab_mads_answer *a)
{
    struct sm_programming *p = &s->apply->program;
    uint64_t guid = s->model.fabric->nodes[op->node].guid;
    bool known = p->touched[op->node] & SM_UNRESPONSIVE || sm_is_silent(s, guid);
    if (a->status == FAB_E_DENIED) {
        withhold(s, op);
        return;
    }
    p->failed++;
    p->failed_tables += op->attr_id == FAB_ATTR_LFT;
    p->touched[op->node] |= SM_REFUSED;
    note_failed_block(s, op);
    note_lanes(p, op);
    hold_links(p, op);
    stop_before_routes(s, op);
    if (op->attr_id == FAB_ATTR_LFT) {
        sm_failed_note(s, op, true);
        fab_plan_observed_doubt(&s->model.observed, op->node);
    }
    if (op->attr_id == FAB_ATTR_PKEY_TABLE)
        fab_target_held_pkeys_forget(&s->model.observed.pkeys, op->port);
    if (a->status == FAB_E_TIMEOUT)
        p->touched[op->node] |= SM_UNRESPONSIVE;
    if (!known && is_to_blame(s, guid, a) && sm_refusing_name(s, guid) &&
        p->reported++ < SM_EVENTS_A_ROUND)
        emit_failed(s, op, a);
}

static bool is_of_an_end(const struct sm *s, uint32_t lid)
{
    const struct fab_lids *lids = &s->model.target->lids;
    return lid <= lids->top && lids->owner[lid] != FAB_NONE &&
           !fab_fabric_port_is_of_switch(s->model.fabric, lids->owner[lid]);
}

/* Adds the number of LFT entries that this write has changed to the count of the round. If the
 * former contents of the block are not known, counts all entries that have a route. */
static void count_changed(struct sm *s, const struct fab_plan_op *op, const uint8_t *data)
{
    const struct fab_observed *o = &s->model.observed;
    bool known = fab_plan_observed_is_known(o, op->node, op->block);
    if (op->node >= o->lft.switch_count || op->block >= o->blocks)
        return;
    uint32_t lid = op->block * FAB_LFT_BLOCK;
    const uint8_t *was = fab_target_lft_row(&o->lft, op->node) + lid;
    for (unsigned i = 0; i < FAB_LFT_BLOCK; i++) {
        if (data[i] == (known ? was[i] : FAB_LFT_NO_ROUTE))
            continue;
        s->apply->program.entries++;
        s->apply->program.to_ends += is_of_an_end(s, lid + i);
    }
}

/* Returns the M_Key that a port has after a write of PortInfo. The key in the answer is accepted
 * only if it is the key that the port must have. A faulty device could answer with random data, and
 * a later write would then set a random key. */
static uint64_t key_after_write(const struct sm *s, uint32_t port, uint64_t answered)
{
    uint64_t known = fab_fabric_port(s->model.fabric, port)->info.m_key;
    return answered == sm_m_key_wanted(s, port) ? answered : known;
}

/* Stores the PortInfo from the answer to a write in the snapshot. In a local repair, instead checks
 * the state of the port: the snapshot was published before the writes, and already has the PortInfo
 * that they establish. */
static void port_acknowledged(struct sm *s, const struct fab_plan_op *op,
                              const struct fab_port_info *port)
{
    struct fab_fabric *f = s->model.fabric;
    if (!s->run.round->probes) {
        struct fab_port_info now = *port;
        now.m_key = key_after_write(s, op->port, port->m_key);
        /* if memory runs out here, the next sweep updates the port */
        (void)fab_fabric_set_port_info(f, op->port, &now);
    } else if (port->port_state < op->state) {
        log_info("sm", "port 0x%016" PRIx64 "/%u did not take the state %s",
                 f->nodes[op->node].guid, fab_fabric_port(f, op->port)->num,
                 fab_wire_port_state_name(op->state));
        s->apply->program.failed++;
        sm_request_retry_of(s, f->nodes[op->node].guid);
        stop_before_routes(s, op);
    }
    sm_node_touched(s, f->nodes[op->node].guid);
    sm_partition_acknowledged(s, op->port);
}

static void acknowledged(struct sm *s, const struct fab_plan_op *op, const uint8_t *data,
                         size_t len)
{
    struct sm_programming *p = &s->apply->program;
    struct fab_fabric *f = s->model.fabric;
    struct fab_port_info port;
    struct fab_switch_info sw;
    struct fab_pkey_block keys;
    p->touched[op->node] |= SM_TOOK;
    if (op->attr_id == FAB_ATTR_LFT) {
        count_changed(s, op, data);
        fab_plan_observed_set_block(&s->model.observed, op->node, op->block, data);
        p->last_write_us = clock_now_us();
        p->blocks++;
        p->switches += !(p->touched[op->node] & SM_WRITTEN);
        p->touched[op->node] |= SM_WRITTEN;
    } else if (op->attr_id == FAB_ATTR_PORT_INFO) {
        if (fab_wire_attr_unpack(&fab_wire_attr_port_info, data, len, &port) != FAB_OK)
            return;
        port_acknowledged(s, op, &port);
    } else if (op->attr_id == FAB_ATTR_SWITCH_INFO) {
        if (fab_wire_attr_unpack(&fab_wire_attr_switch_info, data, len, &sw) == FAB_OK)
            f->switches[op->node] = sw;
        sm_node_touched(s, f->nodes[op->node].guid);
    } else if (op->attr_id == FAB_ATTR_PKEY_TABLE) {
        if (fab_wire_attr_unpack(&fab_wire_attr_pkey_block, data, len, &keys) == FAB_OK)
            (void)fab_target_blocks_put(&s->model.observed.pkeys, op->port, op->block, keys.pkey);
    }
}

static void answer(struct sm *s, uint64_t tag, const struct fab_mads_answer *a)
{
    struct sm_programming *p = &s->apply->program;
    const struct fab_plan_op *op = &p->plan.ops[tag];
    p->awaited -= op->awaited;
    if (op->awaited)
        p->awaited_us = clock_now_us();
    fab_base_bits_clear(p->asked, tag);
    if (a->status == FAB_OK && a->len >= FAB_SMP_DATA)
        acknowledged(s, op, a->data, a->len);
    else
        failed(s, op, a);
}

/* For each node with unanswered writes, lets links/silent_check.c find out whether it is a
 * silent switch. Returns true if all these nodes are already known to be silent switches. */
static bool suspect_awaited(struct sm *s)
{
    struct sm_programming *p = &s->apply->program;
    bool only_silent = true;
    for (size_t i = 0; (i = fab_base_bits_next(p->asked, p->next, i)) < p->next; i++) {
        uint64_t guid = s->model.fabric->nodes[p->plan.ops[i].node].guid;
        if (sm_is_silent(s, guid))
            continue;
        only_silent = false;
        (void)sm_silent_check(s, guid);
    }
    return only_silent;
}

/* Called if no write was answered within the time of one try. The unanswered writes are given up if
 * only silent switches have not answered, or if another fault is waiting until this round ends.
 * Otherwise the MAD session continues its retries. */
static void stalled(struct sm *s, uint64_t stalled_us)
{
    struct sm_programming *p = &s->apply->program;
    if (stalled_us < sm_first_try_us(s) || (!suspect_awaited(s) && !sm_fault_waits(s)))
        return;
    for (uint32_t i = 0; i < p->next; i++)
        if (fab_base_bits_get(p->asked, i))
            answer(s, i, &(struct fab_mads_answer){.status = FAB_E_TIMEOUT});
    sm_run_give_up(s);
}

/* Call this function when all writes have been answered. Marks the SL2VL and VLArbitration tables
 * of all nodes as known again, except at nodes where a write failed. Returns OK or NOMEM. */
static int keep_lanes(struct sm *s)
{
    const struct fab_fabric *f = s->model.fabric;
    int r = fab_plan_vls_done(&s->apply->program.in, &s->model.observed);
    for (uint32_t node = 0; node < f->node_count; node++)
        if (s->apply->program.touched[node] & SM_LANES_FAILED)
            fab_plan_observed_forget_vls(&s->model.observed, f, node);
    return r;
}

/* Updates the list of nodes at which writes fail (sm_refusing_set): adds the nodes at which a write
 * of this round failed, and removes those that acknowledged all their writes. A heavy sweep writes
 * to all nodes that need writes, so after it only nodes at which a write failed stay in the
 * list. */
static void note_refusing(struct sm *s)
{
    const struct sm_programming *p = &s->apply->program;
    const struct fab_fabric *f = s->model.fabric;
    struct sm_guids refused = {0};
    for (uint32_t node = 0; node < f->node_count; node++) {
        if (p->touched[node] & SM_REFUSED)
            sm_guids_add(&refused, f->nodes[node].guid);
        if (p->touched[node] & (SM_REFUSED | SM_TOOK))
            sm_refusing_set(s, f->nodes[node].guid, (p->touched[node] & SM_REFUSED) != 0);
    }
    if (s->run.round->whole)
        sm_refusing_keep(s, &refused);
}

/* Call this function after the last write of the round. It updates the lists of failed writes
 * and of the nodes at which writes failed, notes the time, and emits the summary event about
 * failed writes and the event about the end of the transition, if they are due. */
static void end_writes(struct sm *s)
{
    struct sm_programming *p = &s->apply->program;
    note_refusing(s);
    sm_freeze_note_plan(s, p->withheld, p->withheld_blocks, p->withheld_switches);
    sm_failed_prune(s);
    if (!p->last_write_us)
        p->last_write_us = clock_now_us();
    sm_transition_ended(s);
    sm_changed_plan(s);
    if (p->reported > SM_EVENTS_A_ROUND)
        event_emit(s->in.bus, writes_failed, .subject = "fabric", .writes = p->failed);
    log_debug("sm", "wrote writes=%u blocks=%u switches=%u failed=%u", p->writes, p->blocks,
              p->switches, p->failed);
}

/* Ends phase "programming" of a local repair. If table writes failed, the next sweep begins with
 * phase "judging repairs" (mixture.c). SL2VL and VLArbitration tables that the repair wrote are
 * known again, except at nodes where a write failed. */
static int leave_repair(struct sm *s)
{
    const struct sm_programming *p = &s->apply->program;
    const uint32_t *start = p->plan.stage_start;
    int r = FAB_OK;
    end_writes(s);
    s->apply->mixed |= p->failed_tables > 0;
    s->apply->unjudged |= s->apply->mixed;
    for (uint32_t i = start[FAB_STAGE_VLARB]; i < start[FAB_STAGE_ISLS_UP] && !p->stopped; i++)
        if (r == FAB_OK && !(p->touched[p->plan.ops[i].node] & SM_LANES_FAILED))
            r = fab_plan_vls_done_at(&p->in, &s->model.observed, p->plan.ops[i].node);
    return r;
}

/* Called if not all writes of the plan were sent. If the plan asked hosts to register again, some
 * of them may not have been asked, so the next plan asks all of them. */
static void ask_again(struct sm *s)
{
    s->apply->ask |= s->apply->asking;
    s->apply->asking = false;
}

static int leave(struct sm *s)
{
    end_writes(s);
    if (!s->apply->program.stopped)
        return keep_lanes(s);
    ask_again(s);
    return SM_ROUND_OVER;
}

/* the phase "programming" of local repairs; sm_program_take has taken over the plan before */
const struct sm_phase sm_phase_program_repair = {.name = "programming",
                                                 .next = next,
                                                 .answer = answer,
                                                 .finished = finished,
                                                 .leave = leave_repair,
                                                 .stalled = stalled};
const struct sm_phase sm_phase_program = {.name = "programming",
                                          .enter = enter,
                                          .next = next,
                                          .answer = answer,
                                          .finished = finished,
                                          .leave = leave,
                                          .stalled = stalled,
                                          .abort = ask_again};
