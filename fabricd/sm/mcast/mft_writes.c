/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the MFTs (multicast forwarding tables). The tables that the multicast trees need are
 * compared with those that the switches hold. The differences are written in two steps
 * (libfabmgr/plan/mft_writes.h). Unknown blocks are read first; after a restart of the manager, all
 * blocks of the switches in a tree are unknown.
 *
 * MFTs are written outside of rounds, so that a join does not wait for a sweep. If at most FEW MFT
 * requests are left, they are sent before the requests of the running round; otherwise after them.
 *
 * If a switch does not answer, its directed route may lead over a link that has just failed. The
 * manager therefore plans again, and asks the switch once more, by the route that is known then. If
 * the switch does not answer this request either, if it refuses a request, or if it is silent, the
 * manager emits an event. Until the next retry, trees then get no further branches at this switch,
 * and it gets no MFT requests. Switch ids in this file are those of struct fab_mcast_net, the graph
 * of switches for which the trees are computed (fab_mcast_trees_net). Directed routes are looked up
 * by GUID, so that writes continue while a sweep replaces the snapshot.
 */
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/log.h"
#include "fabricd/sm/mcast/state.h"
#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/size.h"

/* if at most this many MFT requests are left, they precede the requests of the running round */
#define FEW 64
#define RETRY_US 1000000u

static struct fab_plan_mft_ops *stage_ops(struct sm_multicast *m)
{
    return &m->plan.stage[m->stage];
}

static const struct fab_mcast_net *net_of(const struct sm_multicast *m)
{
    return fab_mcast_trees_net(m->groups->trees);
}

static void plan_fini(struct sm_multicast *m)
{
    fab_plan_mft_fini(&m->plan);
    free(m->path);
    free(m->asked);
    m->path = NULL;
    m->asked = NULL;
    for (uint32_t i = 0; i < m->failed_now.count; i++)
        sm_guids_add(&m->failed_before, m->failed_now.guid[i]);
    m->failed_now = (struct sm_guids){0};
    m->busy = false;
    m->next = m->outstanding = 0;
}

/* Cancels the running proof and all unanswered MFT requests. If a write was not answered, the
 * contents of its block are unknown. */
void sm_mfts_drop(struct sm *s)
{
    struct sm_multicast *m = s->mcast;
    sm_mfts_unprove(m);
    if (!m->busy)
        return;
    fab_mads_cancel(s->mads, m);
    for (size_t i = 0; i < m->next; i++)
        if (fab_base_bits_get(m->asked, i))
            fab_target_blocks_forget(&m->held, stage_ops(m)->op[i].sw, stage_ops(m)->op[i].number);
    plan_fini(m);
}

void sm_mfts_open_all(struct sm *s)
{
    memset(s->mcast->open, 0xff, sizeof(s->mcast->open));
}

/* ---- planning -------------------------------------------------------------------------------- */

static size_t ops_left(const struct sm_multicast *m)
{
    size_t left = 0;
    for (unsigned stage = m->stage; stage < FAB_MFT_STAGES; stage++)
        left += m->plan.stage[stage].count;
    return left - m->next;
}

static int begin_stage(struct sm_multicast *m)
{
    size_t count = stage_ops(m)->count;
    free(m->path);
    free(m->asked);
    m->path = fab_base_alloc_array(count, sizeof(*m->path));
    m->asked = fab_base_bits_new(count);
    m->next = 0;
    return m->path && m->asked ? FAB_OK : FAB_E_NOMEM;
}

static bool any(const uint64_t mlid_groups[FAB_MFT_GROUPS / 64])
{
    return fab_base_bits_count(mlid_groups, FAB_MFT_GROUPS) > 0;
}

int sm_mfts_plan_proved(struct sm *s)
{
    struct sm_multicast *m = s->mcast;
    uint64_t mlid_groups[FAB_MFT_GROUPS / 64];
    for (unsigned i = 0; i < FAB_MFT_GROUPS / 64; i++)
        mlid_groups[i] = m->open[i] & m->proved_groups[i];
    const struct fab_plan_mft_input in = {.net = net_of(m),
                                          .want = &m->proved,
                                          .held = &m->held,
                                          .unresponsive = m->unresponsives ? m->unresponsive : NULL,
                                          .groups = mlid_groups};
    int r = fab_plan_mft_make(&in, &m->plan);
    if (r != FAB_OK)
        return r;
    m->stage = FAB_MFT_READ;
    while (m->stage < FAB_MFT_SECOND && stage_ops(m)->count == 0)
        m->stage++;
    m->busy = stage_ops(m)->count > 0;
    if (m->busy)
        r = begin_stage(m);
    for (unsigned i = 0; i < FAB_MFT_GROUPS / 64 && !m->busy; i++)
        m->open[i] &= ~mlid_groups[i];
    if (r != FAB_OK || !m->busy)
        plan_fini(m);
    memcpy(mlid_groups, m->open, sizeof(mlid_groups));
    sm_joint_add_open(m, mlid_groups);
    if (r == FAB_OK && !m->busy && any(mlid_groups))
        sm_multicast_kick(s); /* the timer starts the proof of the next MLID groups */
    else if (!m->busy && !m->unresponsives)
        m->retry_us = RETRY_US;
    return r;
}

/* Plans the MFT writes of the MLID groups (32 consecutive MLIDs each) in the bitset m->open, whose
 * MFT blocks may need a write. Only groups whose trees have passed the proof can be written. If all
 * groups in m->open still need the proof, starts a worker task instead, which proves the trees of
 * some of them. */
static int make_plan(struct sm *s)
{
    struct sm_multicast *m = s->mcast;
    uint64_t changed[FAB_MFT_GROUPS / 64] = {0}, wanted[FAB_MFT_GROUPS / 64];
    if (m->proving)
        return FAB_OK;
    fab_mcast_trees_take_changed(m->groups->trees, changed);
    sm_joint_renew(s);
    bool ready = false;
    for (unsigned i = 0; i < FAB_MFT_GROUPS / 64; i++) {
        m->open[i] |= changed[i];
        m->proved_groups[i] &= ~changed[i];
        ready |= (m->open[i] & m->proved_groups[i]) != 0;
    }
    memcpy(wanted, m->open, sizeof(wanted));
    sm_joint_add_open(m, wanted);
    return ready || !any(wanted) ? sm_mfts_plan_proved(s) : sm_mfts_prove(s, wanted);
}

int sm_mfts_go_on(struct sm *s)
{
    struct sm_multicast *m = s->mcast;
    if (!m->busy)
        return make_plan(s);
    if (m->outstanding || m->next < stage_ops(m)->count)
        return FAB_OK;
    bool over = m->stage != FAB_MFT_FIRST || m->failed || m->plan.stage[FAB_MFT_SECOND].count == 0;
    m->failed = false;
    if (!over) {
        m->stage = FAB_MFT_SECOND;
        return begin_stage(m);
    }
    plan_fini(m);
    return make_plan(s);
}

/* ---- requests and answers -------------------------------------------------------------------- */

static void note_over(struct sm_multicast *m)
{
    if (!m->outstanding && m->next == stage_ops(m)->count)
        sm_multicast_kick(m->s);
}

static void emit_failed(struct sm_multicast *m, uint32_t sw)
{
    char name[SM_PLACE_LEN];
    uint64_t guid = net_of(m)->guid[sw];
    sm_place_name(m->s->model.fabric, guid, 0, name);
    event_emit(m->s->in.bus, multicast_unresponsive, .subject = name, .guid = guid);
}

static bool is_silent(const struct sm_multicast *m, uint64_t guid)
{
    const struct fab_fabric *f = m->s->model.fabric;
    uint32_t node = fab_fabric_node_by_guid(f, guid);
    return node != FAB_NONE && f->nodes[node].silent;
}

/* Call this function when a switch has not answered a request. Returns true if the manager sends
 * the request once more. */
static bool ask_again(struct sm_multicast *m, uint64_t guid)
{
    if (sm_guids_have(&m->failed_before, guid) || is_silent(m, guid))
        return false;
    sm_guids_add(&m->failed_now, guid);
    return sm_guids_have(&m->failed_now, guid);
}

static void failed(struct sm_multicast *m, const struct fab_plan_mft_op *op, int status)
{
    m->failed = true;
    fab_target_blocks_forget(&m->held, op->sw, op->number);
    if (status == FAB_E_TIMEOUT && ask_again(m, net_of(m)->guid[op->sw]))
        return;
    if (!fab_base_bits_add(m->unresponsive, op->sw))
        return;
    m->unresponsives++;
    emit_failed(m, op->sw);
    if (!loop_timer_pending(m->retry))
        loop_timer_set(m->retry, m->retry_us);
}

static void unpack(const uint8_t *data, uint16_t entry[FAB_BLOCK_ENTRIES])
{
    for (unsigned i = 0; i < FAB_BLOCK_ENTRIES; i++)
        entry[i] = fab_base_get_be16(data + 2 * i);
}

static void keep(struct sm_multicast *m, const struct fab_plan_mft_op *op, const uint8_t *data)
{
    uint16_t entry[FAB_BLOCK_ENTRIES];
    unpack(data, entry);
    m->writes += m->stage != FAB_MFT_READ;
    sm_guids_remove(&m->failed_before, net_of(m)->guid[op->sw]);
    if (fab_target_blocks_put(&m->held, op->sw, op->number, entry) != FAB_OK)
        fab_target_blocks_forget(&m->held, op->sw, op->number);
}

static void answer(void *ctx, uint64_t tag, const struct fab_mads_answer *a)
{
    struct sm_multicast *m = ctx;
    const struct fab_plan_mft_op *op = &stage_ops(m)->op[tag];
    m->outstanding--;
    fab_base_bits_clear(m->asked, tag);
    if (a->status == FAB_OK && a->len >= FAB_SMP_DATA)
        keep(m, op, a->data);
    else
        failed(m, op, a->status);
    note_over(m);
}

/* Returns the directed route to a switch. NULL: none is known, or the switch gets no requests now:
 * it is in m->unresponsive, or has left a request of this plan unanswered. */
static const struct fab_path *path_to(const struct sm_multicast *m, uint32_t sw)
{
    const struct sm_model *model = &m->s->model;
    uint32_t node = fab_fabric_node_by_guid(model->fabric, net_of(m)->guid[sw]);
    bool known = node != FAB_NONE && model->paths[node].hops != FAB_PATH_UNKNOWN;
    bool asked = fab_base_bits_get(m->unresponsive, sw) ||
                 sm_guids_have(&m->failed_now, net_of(m)->guid[sw]);
    return known && !asked ? &model->paths[node] : NULL;
}

static void fill(struct sm_multicast *m, size_t i, struct fab_mads_request *ret)
{
    const struct fab_plan_mft_op *op = &stage_ops(m)->op[i];
    *ret = (struct fab_mads_request){.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                                     .method = FAB_METHOD_GET,
                                     .attr_id = FAB_ATTR_MFT,
                                     .attr_mod = fab_mft_modifier(op->number),
                                     .dlid = 0xffff,
                                     .path = &m->path[i],
                                     .done = answer,
                                     .ctx = m,
                                     .tag = i};
    sm_m_key_fill(m->s, ret);
    if (m->stage == FAB_MFT_READ)
        return;
    ret->method = FAB_METHOD_SET;
    for (unsigned e = 0; e < FAB_BLOCK_ENTRIES; e++)
        fab_base_put_be16(ret->data + 2 * e, op->entry[e]);
}

bool sm_mfts_next(struct sm *s, bool few, struct fab_mads_request *ret)
{
    struct sm_multicast *m = s->mcast;
    bool barred = m->stage != FAB_MFT_READ && sm_freeze_bars_writes(s);
    if (!m->busy || barred || (few && ops_left(m) > FEW))
        return false;
    while (m->next < stage_ops(m)->count) {
        size_t i = m->next++;
        const struct fab_path *path = path_to(m, stage_ops(m)->op[i].sw);
        if (!path) {
            failed(m, &stage_ops(m)->op[i], FAB_E_TIMEOUT);
            note_over(m);
            continue;
        }
        m->path[i] = *path;
        fill(m, i, ret);
        fab_base_bits_set(m->asked, i);
        m->outstanding++;
        return true;
    }
    return false;
}

/* ---- the scrub ------------------------------------------------------------------------------- */

size_t sm_mfts_held_count(const struct sm *s)
{
    return s->mcast->held.count;
}

bool sm_mfts_pending(const struct sm *s)
{
    return s->mcast->groups && (s->mcast->busy || s->mcast->stale || s->mcast->proving ||
                                loop_timer_pending(s->mcast->timer));
}

bool sm_mfts_in_flight(const struct sm *s)
{
    return s->mcast->outstanding > 0;
}

uint64_t sm_mfts_epoch(const struct sm *s)
{
    return s->mcast->writes * 2 + s->mcast->busy;
}

bool sm_mfts_held_next(const struct sm *s, uint32_t *at, uint64_t *ret_guid, uint32_t *ret_number)
{
    const struct sm_multicast *m = s->mcast;
    while (m->groups && !sm_mfts_pending(s) && *at < m->held.count) {
        const struct fab_block *b = &m->held.block[(*at)++];
        if (!b->known || b->id >= net_of(m)->switches || fab_base_bits_get(m->unresponsive, b->id))
            continue;
        *ret_guid = net_of(m)->guid[b->id];
        *ret_number = b->number;
        return true;
    }
    return false;
}

/* Returns the number of blocks that an MLID group has in the MFT of a switch: an entry has one bit
 * for each port, and a block has 16 of these bits. */
static uint32_t positions(const struct sm_multicast *m, uint32_t sw)
{
    return fab_mcast_net_port_count(net_of(m), sw) / 16 + 1;
}

/* Returns the number of MLID groups (blocks of FAB_BLOCK_ENTRIES MLIDs) for which the MFT of the
 * switch has room. */
static uint32_t mlid_groups_of(const struct sm_multicast *m, uint32_t sw)
{
    return (net_of(m)->cap[sw] + FAB_BLOCK_ENTRIES - 1u) / FAB_BLOCK_ENTRIES;
}

uint64_t sm_mfts_scan_begin(const struct sm *s, struct sm_mfts_scan *scan)
{
    const struct sm_multicast *m = s->mcast;
    uint64_t count = 0;
    uint32_t most = 0;
    *scan = (struct sm_mfts_scan){.over = !m->groups};
    if (!m->groups)
        return 0;
    scan->switches = net_of(m)->switches;
    for (uint32_t sw = 0; sw < scan->switches; sw++) {
        uint32_t mlid_groups = mlid_groups_of(m, sw);
        scan->mlid_groups = mlid_groups > scan->mlid_groups ? mlid_groups : scan->mlid_groups;
        most = positions(m, sw) > most ? positions(m, sw) : most;
        count += (uint64_t)mlid_groups * positions(m, sw);
    }
    scan->rows = scan->mlid_groups * most;
    return count > m->held.count ? count - m->held.count : 0;
}

/* After each block, the search goes to the next switch, so that consecutive requests do not wait
 * for the same switch. */
bool sm_mfts_scan_next(const struct sm *s, struct sm_mfts_scan *scan, uint32_t steps,
                       uint64_t *ret_guid, uint32_t *ret_number)
{
    const struct sm_multicast *m = s->mcast;
    if (m->groups && sm_mfts_pending(s))
        return false;
    scan->over |= !m->groups || net_of(m)->switches != scan->switches;
    uint64_t most = (uint64_t)scan->rows * scan->switches;
    for (; !scan->over && scan->at < most && steps > 0; steps--) {
        uint32_t sw = scan->at % scan->switches, row = scan->at / scan->switches;
        uint32_t mlid_group = row % scan->mlid_groups, position = row / scan->mlid_groups;
        uint32_t number = mlid_group | position << 9;
        scan->at++;
        if (mlid_group >= mlid_groups_of(m, sw) || position >= positions(m, sw) ||
            fab_base_bits_get(m->unresponsive, sw) || fab_target_blocks_get(&m->held, sw, number))
            continue;
        *ret_guid = net_of(m)->guid[sw];
        *ret_number = number;
        return true;
    }
    scan->over |= scan->at >= most;
    return false;
}

/* Returns the contents of an MFT block of a switch, as far as they are known; otherwise zeros.
 * NULL: the switch is not in the trees. *ret_sw: its id in struct fab_mcast_net. */
static const uint16_t *held_of(const struct sm_multicast *m, uint64_t guid, uint32_t number,
                               uint32_t *ret_sw)
{
    static const uint16_t zero[FAB_BLOCK_ENTRIES];
    uint32_t sw = 0;
    while (m->groups && sw < net_of(m)->switches && net_of(m)->guid[sw] != guid)
        sw++;
    *ret_sw = sw;
    if (!m->groups || sw == net_of(m)->switches)
        return NULL;
    const uint16_t *held = fab_target_blocks_get(&m->held, sw, number);
    return held ? held : zero;
}

bool sm_mfts_differ(const struct sm *s, uint64_t guid, uint32_t number, const uint8_t *data,
                    struct fab_scrub_difference *ret)
{
    uint16_t entry[FAB_BLOCK_ENTRIES];
    uint32_t sw;
    const uint16_t *held = held_of(s->mcast, guid, number, &sw);
    unpack(data, entry);
    if (!held || sm_mfts_pending(s) || !fab_plan_scrub_blocks_differ(entry, held, ret))
        return false;
    ret->entry += FAB_MLID_FIRST + (number % FAB_MFT_GROUPS) * FAB_BLOCK_ENTRIES;
    return true;
}

void sm_mfts_record(struct sm *s, uint64_t guid, uint32_t number, const uint8_t *data)
{
    struct sm_multicast *m = s->mcast;
    uint16_t entry[FAB_BLOCK_ENTRIES];
    uint32_t sw;
    if (!held_of(m, guid, number, &sw))
        return;
    unpack(data, entry);
    if (fab_target_blocks_put(&m->held, sw, number, entry) != FAB_OK)
        fab_target_blocks_forget(&m->held, sw, number);
    fab_base_bits_set(m->open, number % FAB_MFT_GROUPS);
    sm_multicast_kick(s);
}

/* ---- switches -------------------------------------------------------------------------------- */

/* Called when it is time for a retry: switches that did not answer before may get requests
 * again. */
static void on_retry(void *ctx)
{
    struct sm *s = ctx;
    struct sm_multicast *m = s->mcast;
    m->retry_us = m->retry_us < 32 * RETRY_US ? m->retry_us * 2 : m->retry_us;
    for (uint32_t sw = 0; m->groups && m->unresponsives && sw < net_of(m)->switches; sw++)
        if (fab_base_bits_get(m->unresponsive, sw)) {
            fab_plan_mft_forget(&m->held, sw);
            fab_base_bits_clear(m->unresponsive, sw);
        }
    m->unresponsives = 0;
    sm_mfts_open_all(s);
    sm_multicast_kick(s);
}

static int move_held(struct sm_multicast *m, const struct fab_fabric *now)
{
    struct fab_blocks held = {0};
    uint64_t *unresponsive = fab_base_bits_new(now->switch_count);
    int r = unresponsive ? FAB_OK : FAB_E_NOMEM;
    if (r == FAB_OK)
        r = fab_plan_mft_remap(&m->held, net_of(m)->guid, net_of(m)->switches, now, &held);
    if (r != FAB_OK) {
        free(unresponsive);
        return r;
    }
    fab_target_blocks_fini(&m->held);
    free(m->unresponsive);
    m->held = held;
    m->unresponsive = unresponsive;
    return FAB_OK;
}

int sm_mfts_move(struct sm *s, const struct fab_fabric *now)
{
    struct sm_multicast *m = s->mcast;
    bool stays = m->unresponsive && fab_mcast_net_same_switches(net_of(m), now);
    if (stays && !m->unresponsives)
        return FAB_OK;
    for (uint32_t sw = 0; m->unresponsives && sw < net_of(m)->switches; sw++)
        if (fab_base_bits_get(m->unresponsive, sw))
            fab_plan_mft_forget(&m->held, sw);
    int r = move_held(m, now);
    if (r != FAB_OK)
        return r;
    m->unresponsives = 0;
    sm_mfts_open_all(s);
    return FAB_OK;
}

void sm_mfts_reset(struct sm *s)
{
    struct sm_multicast *m = s->mcast;
    fab_target_blocks_fini(&m->held);
    free(m->unresponsive);
    m->unresponsive = NULL;
    m->unresponsives = 0;
    sm_mfts_open_all(s);
}

int sm_mfts_init(struct sm *s)
{
    s->mcast->retry_us = RETRY_US;
    s->mcast->retry = loop_timer_new(s->in.loop, on_retry, s);
    return s->mcast->retry ? FAB_OK : FAB_E_NOMEM;
}

void sm_mfts_fini(struct sm *s)
{
    struct sm_multicast *m = s->mcast;
    plan_fini(m);
    sm_mfts_unprove(m);
    loop_timer_free(m->retry);
    sm_mfts_reset(s);
}
