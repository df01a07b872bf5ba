/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes the plan. For each stage, one pass over the fabric adds the writes that the stage needs.
 *
 * A plan writes nothing that the device already holds, so the plan after a completed one is empty.
 * A port in state Init gets its attributes and the change to Armed in one Set. A second Set takes
 * the port from Armed to Active (IBA 7.2.7), after both ports of the link have left Init. Ports
 * without a working link are not written: no traffic uses them, and they get all attributes when
 * they come up. The exceptions are port 0 of switches and the manager's own port, which need no
 * link.
 *
 * Within a stage, writes are in the order of node ids, except that the LFT writes of stage ROUTES
 * are in the order of lft_order.c. So a plan depends only on its input.
 */
#include "libfabmgr/plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/plan/attr_diff.h"
#include "libfabmgr/plan/lft_early.h"
#include "libfabmgr/plan/lft_order.h"
#include "libfabmgr/plan/pkey_writes.h"
#include "libfabmgr/plan/vl_writes.h"

struct draft {
    const struct fab_plan_input *in;
    struct fab_plan_cut_off cut_off;
    struct fab_plan_op *ops;
    size_t count, room;
};

/* Adds a write. Does nothing if the switch of the write is silent, because a silent switch cannot
 * receive writes. */
static int add(struct draft *d, struct fab_plan_op op)
{
    if (d->in->fabric->nodes[op.node].silent)
        return FAB_OK;
    if (d->count == d->room) {
        size_t room = d->room > 0 ? d->room * 2 : 256;
        struct fab_plan_op *ops = reallocarray(d->ops, room, sizeof(*ops));
        if (ops == NULL)
            return FAB_E_NOMEM;
        d->ops = ops;
        d->room = room;
    }
    d->ops[d->count++] = op;
    return FAB_OK;
}

static int add_op(void *ctx, struct fab_plan_op op)
{
    return add(ctx, op);
}

static int add_port(struct draft *d, uint32_t port, uint8_t state)
{
    return add(d, (struct fab_plan_op){.node = fab_fabric_port(d->in->fabric, port)->node,
                                       .port = port,
                                       .attr_id = FAB_ATTR_PORT_INFO,
                                       .state = state});
}

/* ---- what a port needs ----------------------------------------------------------------------- */

/* Sets the wanted VLHighLimit of the port, if the port has a high-priority VL arbitration table.
 * VLHighLimit limits how much high-priority traffic the port may send while a low-priority packet
 * waits. */
static void want_limit(const struct fab_plan_input *in, uint32_t port, struct fab_port_info *ret)
{
    struct fab_arb arb;
    if (in->policy->classes == NULL || !fab_target_vls_multiple(&in->target->vls) ||
        fab_fabric_port(in->fabric, port)->num == 0 ||
        fab_fabric_port(in->fabric, port)->peer == FAB_NONE)
        return;
    if (fab_target_arb(in->fabric, in->policy, &in->target->vls, port, in->book, &arb) &&
        arb.highs > 0)
        ret->vl_high_limit = arb.limit;
}

/* Returns true if the store has the registrations (such as multicast joins) that the host of this
 * endport made with the former master. */
static bool is_inherited(const struct fab_plan_input *in, const struct fab_port_info *now)
{
    return in->former_sm_lid != 0 && now->sm_lid == in->former_sm_lid &&
           now->port_state >= FAB_STATE_ARMED;
}

/* Computes the PortInfo that a port should have, including P_Key enforcement by switches. */
static void want_port(const struct fab_plan_input *in, uint32_t port, struct fab_port_info *ret)
{
    const struct fab_fabric *f = in->fabric;
    const struct fab_pkeys *pkeys = &in->target->pkeys;
    fab_target_port_info(f, in->policy, &in->target->lids, port, in->sm_lid, ret);
    if (is_inherited(in, &fab_fabric_port(f, port)->info))
        ret->client_reregister = 0;
    if (in->ask && fab_fabric_port_has_lid(f, port))
        ret->client_reregister = fab_target_can_reregister(ret);
    want_limit(in, port, ret);
    if (pkeys->ports == 0 || fab_fabric_port(f, port)->num == 0 ||
        !fab_fabric_node_is_switch(f, fab_fabric_port(f, port)->node))
        return;
    if (in->observed != NULL &&
        fab_target_held_pkeys_refused_enforce(&in->observed->pkeys, port, pkeys->enforce[port]))
        return;
    ret->part_enforce_in = (pkeys->enforce[port] & FAB_ENFORCE_IN) != 0;
    ret->part_enforce_out = (pkeys->enforce[port] & FAB_ENFORCE_OUT) != 0;
}

static bool port_differs(const struct draft *d, uint32_t port)
{
    const struct fab_port *p = fab_fabric_port(d->in->fabric, port);
    struct fab_port_info want;
    want_port(d->in, port, &want);
    if (fab_plan_port_differs(&p->info, &want, p->num == 0))
        return true;
    if (d->in->ask && p->num != 0 && want.client_reregister)
        return true;
    return d->in->tune && fab_plan_tuning_differs(&p->info, &want);
}

/* Returns true if both ports of the link are at least in state Init. The plan can then take the
 * port to Armed, and later to Active. */
static bool can_come_up(const struct fab_fabric *f, uint32_t port)
{
    if (!fab_fabric_port_is_up(f, port))
        return false;
    return fab_fabric_port(f, port)->info.port_state >= FAB_STATE_INIT &&
           fab_fabric_port(f, fab_fabric_port(f, port)->peer)->info.port_state >= FAB_STATE_INIT;
}

static bool can_be_written(const struct fab_fabric *f, uint32_t port)
{
    if (port == f->self_port)
        return true;
    return fab_fabric_port_is_up(f, port) &&
           fab_fabric_port(f, port)->info.port_state >= FAB_STATE_INIT;
}

/* ---- the stages ------------------------------------------------------------------------------ */

static int plan_switch(struct draft *d, uint32_t sw)
{
    const struct fab_fabric *f = d->in->fabric;
    struct fab_switch_info want;
    int ret = FAB_OK;
    fab_target_switch_info(f, d->in->policy, &d->in->target->lids, sw, &want);
    if (fab_plan_switch_differs(&f->switches[sw], &want))
        ret = add(d, (struct fab_plan_op){.node = sw,
                                          .port = fab_fabric_port_id(f, sw, 0),
                                          .attr_id = FAB_ATTR_SWITCH_INFO});
    uint32_t port0 = fab_fabric_port_id(f, sw, 0);
    if (ret == FAB_OK && fab_fabric_port(f, port0)->present && port_differs(d, port0))
        ret = add_port(d, port0, FAB_STATE_NOP);
    return ret;
}

static bool block_is_held(const struct fab_plan_input *in, uint32_t sw, uint32_t block)
{
    const struct fab_observed *o = in->observed;
    if (o == NULL || !fab_plan_observed_is_known(o, sw, block) ||
        (!in->restore && fab_plan_observed_is_doubtful(o, sw, block)))
        return false;
    return memcmp(fab_target_lft_block(&o->lft, sw, block),
                  fab_target_lft_block(&in->target->lft, sw, block), FAB_LFT_BLOCK) == 0;
}

static bool is_cut_off(const struct draft *d, uint32_t sw)
{
    return fab_base_bits_get(d->cut_off.sw, sw);
}

/* Adds the LFT writes of a switch. A block is written if it is unknown, or if it differs from the
 * target. A doubtful block is written even if its former entries are those of the target, unless
 * stage EARLY restores them. A block is also written if stage EARLY has made some of its entries
 * drop packets. */
static int plan_tables(struct draft *d, uint32_t sw)
{
    uint64_t coming_up[4] = {0};
    bool hold =
        d->in->hold && !is_cut_off(d, sw) && fab_plan_lft_coming_up(d->in->fabric, sw, coming_up);
    uint32_t blocks = fab_target_lft_blocks(&d->in->target->lft);
    for (uint32_t block = 0; block < blocks; block++) {
        if (block_is_held(d->in, sw, block) &&
            !(hold && fab_plan_lft_early_drains(d->in, sw, block, coming_up) != 0))
            continue;
        int ret = add(d, (struct fab_plan_op){.node = sw,
                                              .port = fab_fabric_port_id(d->in->fabric, sw, 0),
                                              .attr_id = FAB_ATTR_LFT,
                                              .block = (uint16_t)block});
        if (ret != FAB_OK)
            return ret;
    }
    return FAB_OK;
}

static int plan_early(struct draft *d, uint32_t sw)
{
    return is_cut_off(d, sw) ? plan_tables(d, sw) : fab_plan_lft_early(d->in, sw, add_op, d);
}

static int plan_routes(struct draft *d, uint32_t sw)
{
    return is_cut_off(d, sw) ? FAB_OK : plan_tables(d, sw);
}

static int plan_port(struct draft *d, uint32_t port)
{
    const struct fab_fabric *f = d->in->fabric;
    const struct fab_port *p = fab_fabric_port(f, port);
    if (p->num == 0 || !p->present || !can_be_written(f, port))
        return FAB_OK;
    if (p->info.port_state == FAB_STATE_INIT && can_come_up(f, port))
        return add_port(d, port, FAB_STATE_ARMED);
    return port_differs(d, port) ? add_port(d, port, FAB_STATE_NOP) : FAB_OK;
}

static int plan_up(struct draft *d, uint32_t port)
{
    const struct fab_port *p = fab_fabric_port(d->in->fabric, port);
    if (p->num == 0 || !p->present || p->info.port_state == FAB_STATE_ACTIVE)
        return FAB_OK;
    return can_come_up(d->in->fabric, port) ? add_port(d, port, FAB_STATE_ACTIVE) : FAB_OK;
}

static int plan_vlarb(struct draft *d, uint32_t sw)
{
    return fab_plan_vlarb_writes_of_switch(d->in, sw, add_op, d);
}

static int plan_sl2vl(struct draft *d, uint32_t sw)
{
    return fab_plan_vl_writes_of_switch(d->in, sw, FAB_PLAN_VL_ALL, add_op, d);
}

static int plan_sl2vl_line(struct draft *d, uint32_t sw)
{
    return fab_plan_vl_writes_of_switch(d->in, sw, FAB_PLAN_VL_LINE, add_op, d);
}

static int plan_sl2vl_pair(struct draft *d, uint32_t sw)
{
    return fab_plan_vl_writes_of_switch(d->in, sw, FAB_PLAN_VL_PAIR, add_op, d);
}

static int plan_pkeys(struct draft *d, uint32_t port, bool removes)
{
    const struct fab_fabric *f = d->in->fabric;
    const struct fab_port *p = fab_fabric_port(f, port);
    if (!p->present || (p->num != 0 && !can_be_written(f, port)))
        return FAB_OK;
    return fab_plan_pkey_writes(d->in, port, removes, add_op, d);
}

static int plan_pkeys_remove(struct draft *d, uint32_t port)
{
    return plan_pkeys(d, port, true);
}

static int plan_pkeys_add(struct draft *d, uint32_t port)
{
    return plan_pkeys(d, port, false);
}

static int plan_isl(struct draft *d, uint32_t port)
{
    return fab_fabric_port_is_isl(d->in->fabric, port) ? plan_port(d, port) : FAB_OK;
}

static int plan_isl_up(struct draft *d, uint32_t port)
{
    return fab_fabric_port_is_isl(d->in->fabric, port) ? plan_up(d, port) : FAB_OK;
}

static int plan_endport(struct draft *d, uint32_t port)
{
    const struct fab_fabric *f = d->in->fabric;
    int ret = fab_fabric_port_is_isl(f, port) ? FAB_OK : plan_port(d, port);
    if (ret == FAB_OK && !fab_fabric_node_is_switch(f, fab_fabric_port(f, port)->node))
        ret = fab_plan_vl_writes_of_endport(d->in, port, add_op, d);
    return ret;
}

static int plan_endport_up(struct draft *d, uint32_t port)
{
    return fab_fabric_port_is_isl(d->in->fabric, port) ? FAB_OK : plan_up(d, port);
}

/* in->stopped is called before every 64th switch or port */
#define IDS_BETWEEN_LOOKS 64

static int each(struct draft *d, uint32_t count, int (*plan_one)(struct draft *, uint32_t))
{
    const struct fab_plan_input *in = d->in;
    int ret = FAB_OK;
    for (uint32_t id = 0; id < count && ret == FAB_OK; id++) {
        bool looks = id % IDS_BETWEEN_LOOKS == 0 && in->stopped != NULL;
        ret = looks && in->stopped(in->stopped_ctx) ? FAB_E_BUSY : plan_one(d, id);
    }
    return ret;
}

/* Sorts the LFT writes into a safe order (lft_order.c). start: index of the first LFT write in the
 * ops. */
static int order_routes(struct draft *d, size_t start, struct fab_plan *plan)
{
    struct fab_plan_op *ops = NULL;
    size_t count = 0;
    int ret = fab_plan_lft_order(d->in, d->ops + start, d->count - start, &ops, &count,
                                 &plan->unordered, &plan->unchecked);
    if (ret != FAB_OK || ops == NULL)
        return ret;
    d->count = start;
    for (size_t i = 0; i < count && ret == FAB_OK; i++)
        ret = add(d, ops[i]);
    free(ops);
    return ret;
}

/* Returns true if stage EARLY writes tables of a switch that is cut off from the fabric, but has
 * Active links to other switches that are cut off. start: index of the first op of the stage. */
static bool early_mixes(const struct draft *d, size_t start)
{
    uint32_t last = FAB_NONE;
    for (size_t i = start; i < d->count; i++) {
        uint32_t sw = d->ops[i].node;
        if (sw != last && is_cut_off(d, sw) && fab_plan_lft_is_joined(d->in->fabric, sw))
            return true;
        last = sw;
    }
    return false;
}

static bool any_restores(const struct draft *d, size_t start)
{
    size_t i = start;
    while (i < d->count && !d->ops[i].restores)
        i++;
    return i < d->count;
}

static int make(struct draft *d, struct fab_plan *ret)
{
    const struct fab_plan_input *in = d->in;
    const struct fab_fabric *f = in->fabric;
    const struct {
        uint32_t count;
        int (*plan_one)(struct draft *, uint32_t);
    } stages[FAB_STAGE_COUNT] = {
        [FAB_STAGE_SWITCH] = {f->switch_count, plan_switch},
        [FAB_STAGE_EARLY] = {f->switch_count, plan_early},
        [FAB_STAGE_ISLS] = {f->port_count, plan_isl},
        [FAB_STAGE_VLARB] = {f->switch_count, plan_vlarb},
        [FAB_STAGE_SL2VL] = {f->switch_count, plan_sl2vl},
        [FAB_STAGE_SL2VL_LINE] = {f->switch_count, plan_sl2vl_line},
        [FAB_STAGE_SL2VL_PAIR] = {f->switch_count, plan_sl2vl_pair},
        [FAB_STAGE_ISLS_UP] = {f->port_count, plan_isl_up},
        [FAB_STAGE_ROUTES] = {f->switch_count, plan_routes},
        [FAB_STAGE_PKEYS_REMOVE] = {f->port_count, plan_pkeys_remove},
        [FAB_STAGE_PKEYS_ADD] = {f->port_count, plan_pkeys_add},
        [FAB_STAGE_ENDPORTS] = {f->port_count, plan_endport},
        [FAB_STAGE_ENDPORTS_UP] = {f->port_count, plan_endport_up},
    };
    struct fab_plan plan = {0};
    int status = FAB_OK;
    if (in->target->lft.switch_count != f->switch_count ||
        in->target->lids.port_count != f->port_count)
        return FAB_E_INVAL;
    for (unsigned stage = 0; stage < FAB_STAGE_COUNT && status == FAB_OK; stage++) {
        size_t start = d->count;
        status = each(d, stages[stage].count, stages[stage].plan_one);
        if (status == FAB_OK && stage == FAB_STAGE_ROUTES && d->count > start)
            status = order_routes(d, start, &plan);
        if (status == FAB_OK && stage == FAB_STAGE_EARLY) {
            plan.early_mixes = early_mixes(d, start);
            plan.restores = any_restores(d, start);
        }
        plan.stage_start[stage + 1] = (uint32_t)d->count;
    }
    if (status != FAB_OK)
        return status;
    plan.ops = d->ops;
    *ret = plan;
    return FAB_OK;
}

int fab_plan_make(const struct fab_plan_input *in, struct fab_plan *ret)
{
    struct fab_arb_cache book = {.count = 0};
    struct fab_plan_input mine = *in;
    struct draft d = {.in = &mine};
    mine.book = &book;
    int status = fab_plan_cut_off_find(in->fabric, &d.cut_off);
    if (status == FAB_OK)
        status = make(&d, ret);
    fab_plan_cut_off_fini(&d.cut_off);
    if (status != FAB_OK)
        free(d.ops);
    fab_target_arb_cache_fini(&book);
    return status;
}

/* ---- single links ---------------------------------------------------------------------------- */

/* Calls plan_one once for each switch that has at least one of the ports. */
static int each_switch(struct draft *d, const uint32_t *port, size_t count,
                       int (*plan_one)(struct draft *, uint32_t))
{
    const struct fab_fabric *f = d->in->fabric;
    int ret = FAB_OK;
    for (size_t i = 0; i < count && ret == FAB_OK; i++) {
        size_t before = 0;
        while (before < i &&
               fab_fabric_port(f, port[before])->node != fab_fabric_port(f, port[i])->node)
            before++;
        if (before == i)
            ret = plan_one(d, fab_fabric_port(f, port[i])->node);
    }
    return ret;
}

static int each_port(struct draft *d, const uint32_t *port, size_t count,
                     int (*plan_one)(struct draft *, uint32_t))
{
    int ret = FAB_OK;
    for (size_t i = 0; i < count && ret == FAB_OK; i++)
        ret = plan_one(d, port[i]);
    return ret;
}

static int make_links(struct draft *d, const uint32_t *port, size_t count, struct fab_plan *ret)
{
    static const struct {
        int (*of_port)(struct draft *, uint32_t);
        int (*of_switch)(struct draft *, uint32_t);
    } stages[FAB_STAGE_COUNT] = {
        [FAB_STAGE_ISLS] = {.of_port = plan_isl},
        [FAB_STAGE_VLARB] = {.of_switch = plan_vlarb},
        [FAB_STAGE_SL2VL] = {.of_switch = plan_sl2vl},
        [FAB_STAGE_SL2VL_LINE] = {.of_switch = plan_sl2vl_line},
        [FAB_STAGE_SL2VL_PAIR] = {.of_switch = plan_sl2vl_pair},
        [FAB_STAGE_ISLS_UP] = {.of_port = plan_isl_up},
    };
    struct fab_plan plan = {0};
    int status = FAB_OK;
    for (unsigned stage = 0; stage < FAB_STAGE_COUNT && status == FAB_OK; stage++) {
        if (stages[stage].of_port != NULL)
            status = each_port(d, port, count, stages[stage].of_port);
        else if (stages[stage].of_switch != NULL)
            status = each_switch(d, port, count, stages[stage].of_switch);
        plan.stage_start[stage + 1] = (uint32_t)d->count;
    }
    plan.ops = d->ops;
    if (status == FAB_OK)
        *ret = plan;
    return status;
}

int fab_plan_make_links(const struct fab_plan_input *in, const uint32_t *port, size_t count,
                        struct fab_plan *ret)
{
    struct fab_arb_cache book = {.count = 0};
    struct fab_plan_input mine = *in;
    struct draft d = {.in = &mine};
    mine.book = &book;
    int status = make_links(&d, port, count, ret);
    if (status != FAB_OK)
        free(d.ops);
    fab_target_arb_cache_fini(&book);
    return status;
}

void fab_plan_port_when_up(const struct fab_plan_input *in, uint32_t port,
                           struct fab_port_info *ret)
{
    const struct fab_port_info *now = &fab_fabric_port(in->fabric, port)->info;
    struct fab_port_info want;
    want_port(in, port, &want);
    want.port_state = FAB_STATE_ACTIVE;
    want.phys_state = now->phys_state;
    want.width_enabled = now->width_enabled;
    want.speed_enabled = now->speed_enabled;
    want.speed_ext_enabled = now->speed_ext_enabled;
    want.speed_ext2_enabled = now->speed_ext2_enabled;
    *ret = want;
}

void fab_plan_fini(struct fab_plan *p)
{
    free(p->ops);
    memset(p, 0, sizeof(*p));
}

/* ---- payloads -------------------------------------------------------------------------------- */

static int encode_port(const struct fab_plan_input *in, const struct fab_plan_op *op,
                       uint8_t data[FAB_SMP_DATA])
{
    struct fab_port_info want;
    want_port(in, op->port, &want);
    want.port_state = op->state;
    if (op->state == FAB_STATE_ACTIVE)
        /* the Set that took the port to Armed has already asked the host to register again */
        want.client_reregister = 0;
    return fab_wire_attr_pack(&fab_wire_attr_port_info, &want, data, FAB_SMP_DATA);
}

static int encode_switch(const struct fab_plan_input *in, const struct fab_plan_op *op,
                         uint8_t data[FAB_SMP_DATA])
{
    struct fab_switch_info want;
    fab_target_switch_info(in->fabric, in->policy, &in->target->lids, op->node, &want);
    return fab_wire_attr_pack(&fab_wire_attr_switch_info, &want, data, FAB_SMP_DATA);
}

static void encode_block(const struct fab_plan_input *in, const struct fab_plan_op *op,
                         uint8_t data[FAB_SMP_DATA])
{
    size_t offset = (size_t)op->block * FAB_LFT_BLOCK;
    memcpy(data, fab_target_lft_block(&in->target->lft, op->node, op->block), FAB_LFT_BLOCK);
    for (unsigned i = 0; i < FAB_LFT_BLOCK && op->keep != 0; i++)
        if (op->keep >> i & 1)
            data[i] = fab_target_lft_at(&in->observed->lft, op->node, offset + i);
    for (unsigned i = 0; i < FAB_LFT_BLOCK && op->drain != 0; i++)
        if (op->drain >> i & 1)
            data[i] = FAB_LFT_NO_ROUTE;
}

static int encode_pkeys(const struct fab_plan_input *in, const struct fab_plan_op *op,
                        uint8_t data[FAB_SMP_DATA])
{
    struct fab_pkey_block want;
    fab_plan_pkey_block(in, op, want.pkey);
    return fab_wire_attr_pack(&fab_wire_attr_pkey_block, &want, data, FAB_SMP_DATA);
}

static int encode_vlarb(const struct fab_plan_input *in, const struct fab_plan_op *op,
                        uint8_t data[FAB_SMP_DATA])
{
    struct fab_vlarb want;
    struct fab_arb arb;
    (void)fab_target_arb(in->fabric, in->policy, &in->target->vls, op->port, in->book, &arb);
    fab_target_arb_block(&arb, op->mod >> 16, &want);
    return fab_wire_attr_pack(&fab_wire_attr_vlarb, &want, data, FAB_SMP_DATA);
}

int fab_plan_encode(const struct fab_plan_input *in, const struct fab_plan_op *op,
                    uint8_t data[FAB_SMP_DATA], uint32_t *ret_attr_mod)
{
    int ret = FAB_OK;
    uint32_t attr_mod = 0;
    memset(data, 0, FAB_SMP_DATA);
    switch (op->attr_id) {
    case FAB_ATTR_SWITCH_INFO:
        ret = encode_switch(in, op, data);
        break;
    case FAB_ATTR_PORT_INFO:
        attr_mod = fab_fabric_port(in->fabric, op->port)->num;
        ret = encode_port(in, op, data);
        break;
    case FAB_ATTR_LFT:
        attr_mod = op->block;
        encode_block(in, op, data);
        break;
    case FAB_ATTR_SL2VL:
        attr_mod = op->mod;
        fab_base_put_be64(data, op->map);
        break;
    case FAB_ATTR_PKEY_TABLE:
        attr_mod = op->mod;
        ret = encode_pkeys(in, op, data);
        break;
    case FAB_ATTR_VLARB:
        attr_mod = op->mod;
        ret = encode_vlarb(in, op, data);
        break;
    default:
        ret = FAB_E_INVAL;
    }
    if (ret == FAB_OK)
        *ret_attr_mod = attr_mod;
    return ret;
}
