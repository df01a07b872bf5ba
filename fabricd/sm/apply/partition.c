/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Phase "reading P_Keys" reads once, block by block, the P_Key table of each port whose table the
 * manager writes. Later the manager knows the contents from the writes that the port acknowledged.
 * If an endport was reset (it is in Init again), its table is read again.
 *
 * Phase "partitioning" computes on a worker thread which P_Keys each port must have, and adds them
 * to the new tables. If the active tables are kept, this phase computes nothing.
 *
 * If no partitions are configured and no port is quarantined, the manager neither reads nor writes
 * P_Keys, because devices start as full members of the default partition. Ports whose tables are
 * known, because this was different before, get the default partition back.
 */
#include "libfabmgr/partition/partition.h"

#include <stdio.h>
#include <stdlib.h>

#include "fabricd/sm/apply/state.h"

static bool is_wanted(const struct sm *s)
{
    return s->policy.partitions || s->model.observed.pkeys.count || s->apply->baseline.quarantined;
}

static uint8_t enforce_of(const struct sm *s)
{
    return s->policy.partitions ? s->policy.enforce : 0;
}

/* Returns the number of blocks of this port's P_Key table that the manager writes. */
static uint32_t blocks_of(const struct sm *s, uint32_t port)
{
    const struct fab_fabric *f = s->model.fabric;
    uint32_t peer = fab_fabric_peer_node(f, port);
    bool guards = fab_fabric_node_is_switch(f, fab_fabric_port(f, port)->node) &&
                  fab_fabric_port(f, port)->num != 0;
    if (!fab_fabric_port(f, port)->present || (!guards && !fab_fabric_port_has_lid(f, port)))
        return 0;
    if (guards && ((!enforce_of(s) && !s->apply->baseline.quarantined) || peer == FAB_NONE ||
                   fab_fabric_node_is_switch(f, peer)))
        return 0;
    return fab_target_pkeys_blocks(fab_target_pkeys_capacity(f, port));
}

static int enter_reading(struct sm *s)
{
    s->apply->scan = (struct sm_scan){.index = is_wanted(s) ? 0 : s->model.fabric->port_count};
    return FAB_OK;
}

/* Moves s->apply->scan to the next P_Key block whose contents are not known, at a port to which a
 * directed route is known. Returns false if there is no further one. */
static bool find_block(struct sm *s)
{
    struct sm_scan *at = &s->apply->scan;
    for (; at->index < s->model.fabric->port_count; at->index++, at->block = 0)
        for (; at->block < blocks_of(s, at->index); at->block++)
            if (!fab_target_blocks_get(&s->model.observed.pkeys, at->index, at->block) &&
                sm_model_path(&s->model, at->index))
                return true;
    return false;
}

static bool next(struct sm *s, struct fab_mads_request *ret)
{
    const struct fab_fabric *f = s->model.fabric;
    if (!find_block(s))
        return false;
    uint32_t port = s->apply->scan.index;
    ret->path = sm_model_path(&s->model, port);
    ret->attr_id = FAB_ATTR_PKEY_TABLE;
    ret->attr_mod = s->apply->scan.block;
    if (fab_fabric_node_is_switch(f, fab_fabric_port(f, port)->node))
        ret->attr_mod |= (uint32_t)fab_fabric_port(f, port)->num << 16;
    ret->tag = (uint64_t)port << 32 | s->apply->scan.block++;
    return true;
}

/* Stores the contents of a P_Key block after its read. If the read failed, the contents stay
 * unknown, and the plan writes the whole block. */
static void answer(struct sm *s, uint64_t tag, const struct fab_mads_answer *a)
{
    struct fab_pkey_block held;
    if (a->status == FAB_OK &&
        fab_wire_attr_unpack(&fab_wire_attr_pkey_block, a->data, a->len, &held) == FAB_OK)
        (void)fab_target_blocks_put(&s->model.observed.pkeys, (uint32_t)(tag >> 32), (uint32_t)tag,
                                    held.pkey);
}

static bool finished(const struct sm *s)
{
    return s->apply->scan.index >= s->model.fabric->port_count;
}

static void emit(struct sm *s, const struct fab_partition_report *r)
{
    const struct fab_fabric *f = s->model.fabric;
    for (size_t i = 0; i < r->overflows && i < FAB_PARTITION_OVERFLOWS; i++) {
        const struct fab_partition_overflow *t = &r->overflow[i];
        char name[SM_PLACE_LEN];
        sm_port_name(f, t->port, name);
        bool guards = fab_fabric_node_is_switch(f, fab_fabric_port(f, t->port)->node) &&
                      fab_fabric_port(f, t->port)->num != 0;
        event_emit(s->in.bus, pkey_table_full, .subject = name, .wanted = t->wanted,
                   .room = t->room, .enforces = guards);
    }
    if (r->overflows > FAB_PARTITION_OVERFLOWS)
        event_emit(s->in.bus, pkey_tables_full, .subject = "fabric",
                   .ports = r->overflows - FAB_PARTITION_OVERFLOWS);
}

static uint8_t enforcement(const struct fab_port_info *is)
{
    return (uint8_t)(is->part_enforce_in * FAB_ENFORCE_IN | is->part_enforce_out * FAB_ENFORCE_OUT);
}

static void emit_changed(struct sm *s, uint32_t port, uint8_t does, uint8_t set)
{
    const struct fab_fabric *f = s->model.fabric;
    char name[SM_PLACE_LEN], found[8], written[8];
    sm_port_name(f, port, name);
    snprintf(found, sizeof(found), "%u", does);
    snprintf(written, sizeof(written), "%u", set);
    event_emit(s->in.bus, settings_changed, .subject = name,
               .guid = f->nodes[fab_fabric_port(f, port)->node].guid,
               .port = fab_fabric_port(f, port)->num, .attribute = sm_attr_name(FAB_ATTR_PORT_INFO),
               .place = "PartitionEnforcement", .found = found, .written = written,
               .differences = 1, .author = "author unknown");
}

/* Finds the ports where another program has changed PartitionEnforcement: the last sweep found the
 * value that the manager had written, and this sweep finds another value. Emits settings-changed
 * for these ports, at most SM_EVENTS_A_ROUND times. The plan of this round writes the setting
 * again. */
static void find_changed(struct sm *s)
{
    const struct fab_fabric *f = s->model.fabric;
    const struct fab_pkeys *pkeys = &s->model.target->pkeys;
    unsigned emitted = 0;
    for (uint32_t port = 0; port < pkeys->ports && port < f->port_count; port++) {
        uint8_t does = enforcement(&fab_fabric_port(f, port)->info);
        if (pkeys->enforce[port] != 0 && fab_fabric_port(f, port)->present &&
            fab_target_held_pkeys_lost_enforce(&s->model.observed.pkeys, port, does) &&
            does != pkeys->enforce[port] && emitted++ < SM_EVENTS_A_ROUND)
            emit_changed(s, port, does, pkeys->enforce[port]);
    }
}

/* Returns true if a port of this switch does not enforce partitions as the manager has set it,
 * although the switch acknowledged the write of this setting. */
static bool refuses(const struct sm *s, uint32_t node)
{
    const struct fab_fabric *f = s->model.fabric;
    const struct fab_node *n = &f->nodes[node];
    for (uint32_t port = n->first_port + 1; port <= n->first_port + n->num_ports; port++) {
        const struct fab_port_info *is = &fab_fabric_port(f, port)->info;
        uint8_t enforce = s->model.target->pkeys.enforce[port];
        uint8_t does = enforcement(is);
        if (does != enforce &&
            fab_target_held_pkeys_refused_enforce(&s->model.observed.pkeys, port, enforce))
            return true;
    }
    return false;
}

static void emit_not_enforced(struct sm *s)
{
    const struct fab_fabric *f = s->model.fabric;
    char name[SM_PLACE_LEN] = "";
    uint32_t count = 0;
    for (uint32_t sw = 0; sw < f->switch_count; sw++)
        if (refuses(s, sw) && count++ == 0)
            sm_node_name(f, sw, name);
    if (count && count != s->apply->unchecked)
        event_emit(s->in.bus, partition_not_enforced, .subject = name, .switches = count);
    s->apply->unchecked = count;
}

/* Input and result of the worker task that computes the P_Key tables. `model` is lent to the task
 * (sm_model_lend); all other members belong to this struct. */
struct members {
    struct sm_model model;
    struct fab_partition_input in;
    struct fab_partitions *partitions;
    struct fab_pins *pins;
    uint64_t *quarantined;
    struct fab_pkeys pkeys;
    struct fab_partition_report report;
    int status;
};

static void members_free(struct members *m)
{
    fab_target_pkeys_fini(&m->pkeys);
    fab_policy_partitions_unref(m->partitions);
    fab_policy_pins_unref(m->pins);
    free(m->quarantined);
    free(m);
}

static void drop(struct sm *s, void *ctx)
{
    struct members *m = ctx;
    if (s)
        sm_model_take_back(&s->model, &m->model);
    else
        sm_model_fini(&m->model);
    members_free(m);
}

static void work(void *ctx)
{
    struct members *m = ctx;
    m->in.fabric = m->model.fabric;
    m->in.held = &m->model.observed.pkeys;
    m->in.partitions = m->partitions;
    m->in.pins = m->pins;
    m->in.quarantined = m->quarantined;
    m->status = fab_partition_tables(&m->in, &m->pkeys, &m->report);
}

static int begin(struct sm *s)
{
    static const struct sm_phase_work part = {work, drop};
    struct members *m = calloc(1, sizeof(*m));
    int r = m ? sm_baseline_quarantined(s, &m->quarantined, &m->in.quarantined_count) : FAB_E_NOMEM;
    if (r == FAB_OK && s->policy.partitions)
        m->partitions = fab_policy_partitions_ref(s->policy.partitions);
    else if (r == FAB_OK)
        r = fab_policy_partitions_unrestricted(&m->partitions);
    if (r != FAB_OK) {
        free(m);
        return r;
    }
    m->pins = fab_policy_pins_ref(s->policy.pins);
    m->in.quarantine_pkey = s->in.config->quarantine_pkey;
    m->in.enforce = enforce_of(s);
    m->in.both = s->policy.both_pkeys;
    sm_model_lend(&s->model, &m->model);
    return sm_phase_task_begin(s, &part, m);
}

static int enter(struct sm *s)
{
    const struct fab_pkeys *pkeys = &s->model.target->pkeys;
    if (pkeys->ports) {
        find_changed(s);
        emit_not_enforced(s);
    }
    return is_wanted(s) && !pkeys->ports ? begin(s) : FAB_OK;
}

static int leave(struct sm *s)
{
    struct members *m = sm_phase_task_take(s);
    if (!m)
        /* enter() has kept the active tables, so no worker task ran, and there is no result. */
        return FAB_OK;
    int r = m->status;
    sm_model_take_back(&s->model, &m->model);
    if (r == FAB_OK) {
        s->model.target->pkeys = m->pkeys;
        m->pkeys = (struct fab_pkeys){0};
        emit(s, &m->report);
    }
    members_free(m);
    return r;
}

void sm_partition_acknowledged(struct sm *s, uint32_t port)
{
    const struct fab_pkeys *pkeys = &s->model.target->pkeys;
    const struct fab_fabric *f = s->model.fabric;
    struct fab_blocks *held = &s->model.observed.pkeys;
    if (port >= pkeys->ports || !fab_fabric_port(f, port)->num ||
        !fab_fabric_node_is_switch(f, fab_fabric_port(f, port)->node))
        return;
    (void)fab_target_held_pkeys_set_enforce(held, port, pkeys->enforce[port]);
    (void)fab_target_held_pkeys_lost_enforce(held, port,
                                             enforcement(&fab_fabric_port(f, port)->info));
}

const struct sm_phase sm_phase_pkeys = {.name = "reading P_Keys",
                                        .enter = enter_reading,
                                        .next = next,
                                        .answer = answer,
                                        .finished = finished};
const struct sm_phase sm_phase_partition = {
    .name = "partitioning", .enter = enter, .finished = sm_phase_task_over, .leave = leave};
