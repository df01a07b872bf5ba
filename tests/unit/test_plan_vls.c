/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes of VL tables to devices. A model of devices with SL-to-VL and VL arbitration tables
 * executes the writes of plans, those for many pairs of ports as well as those for one pair. After
 * each plan, the model must hold the tables of the target, and the next plan must be empty.
 */
#include "libfabmgr/base/buf.h"
#include "libfabmgr/plan/plan.h"
#include "libfabmgr/plan/scrub.h"
#include "tests/unit/routing.h"

#define PORTS 40
#define POWER_ON UINT64_C(0x0123456701234567) /* SL s uses VL s mod 8 */

struct devices {
    /* [nodes][input port][output port] SL-to-VL table, with 4 bits for each SL */
    uint64_t (*map)[PORTS][PORTS];
    struct fab_vlarb *arb; /* [ports] low-priority VL arbitration table */
};
struct world {
    struct fab_fabric *f;
    struct fab_policy p;
    struct fab_target *t;
    struct fab_observed known;
    struct devices d;
    /* node id of a device that ignores all writes; 0: no device ignores them */
    uint32_t dumb;
};

static void power_on(struct world *w, uint32_t node)
{
    for (unsigned in = 0; in < PORTS; in++) {
        for (unsigned out = 0; out < PORTS; out++)
            w->d.map[node][in][out] = POWER_ON;
    }
    memset(&w->d.arb[w->f->nodes[node].first_port], 0,
           (w->f->nodes[node].num_ports + 1u) * sizeof(*w->d.arb));
}

/* Makes the fabric and its devices, with all ports Active. Takes ownership of f. */
static struct world world_of(struct fab_fabric *f, uint8_t optimized)
{
    struct world w = {0};
    ck_assert_int_eq(fab_fabric_clone(f, &w.f), FAB_OK);
    fab_fabric_unref(f);
    for (uint32_t port = 0; port < w.f->port_count; port++) {
        if (fab_fabric_port_is_up(w.f, port))
            fab_fabric_edit_port(w.f, port)->info.port_state = FAB_STATE_ACTIVE;
    }
    for (uint32_t sw = 0; sw < w.f->switch_count; sw++)
        w.f->switches[sw].optimized_sl2vl = optimized;
    fab_policy_defaults(&w.p);
    w.t = routed(w.f, &w.p);
    ck_assert_int_eq(fab_plan_observed_init(&w.known, w.f->switch_count, w.t->lids.top), FAB_OK);
    w.d.map = calloc(w.f->node_count, sizeof(*w.d.map));
    w.d.arb = calloc(w.f->port_count, sizeof(*w.d.arb));
    for (uint32_t node = 0; node < w.f->node_count; node++)
        power_on(&w, node);
    return w;
}

static void world_fini(struct world *w)
{
    fab_target_unref(w->t);
    fab_plan_observed_fini(&w->known);
    fab_policy_fini(&w->p);
    fab_fabric_unref(w->f);
    free(w->d.map);
    free(w->d.arb);
}

/* ---- virtual lanes --------------------------------------------------------------------------- */

/* On what the VL of a packet depends: on nothing, on the SL, or also on the class of the output
 * port, of the input port, or of both. ISL ports with even numbers have class 1, those with odd
 * numbers class 2. */
enum kind { ONE_LANE, BY_SL, BY_OUT, BY_IN, BY_BOTH };

static bool is_trunk(const struct fab_fabric *f, uint32_t port)
{
    uint32_t peer = fab_fabric_peer_node(f, port);
    return fab_fabric_node_is_switch(f, fab_fabric_port(f, port)->node) && peer != FAB_NONE &&
           fab_fabric_node_is_switch(f, peer);
}

static void set_lanes(struct world *w, enum kind kind, uint8_t count)
{
    struct fab_vls *v = &w->t->vls;
    fab_target_vls_fini(v);
    fab_target_vls_init(v, count);
    v->classes = 3;
    ck_assert_int_eq(fab_target_vls_by_class(v, w->f->port_count), FAB_OK);
    for (uint32_t port = 0; port < w->f->port_count; port++) {
        if (is_trunk(w->f, port))
            v->port_class[port] = (uint8_t)(1 + fab_fabric_port(w->f, port)->num % 2);
    }
    for (unsigned in = 0; in < 3; in++) {
        for (unsigned out = 0; out < 3; out++) {
            unsigned by = (kind == BY_OUT || kind == BY_BOTH ? out : 0) +
                          (kind == BY_IN || kind == BY_BOTH ? 3 * in : 0);
            for (unsigned sl = 0; sl < FAB_SLS; sl++)
                v->vl[in][out][sl] = (uint8_t)((sl + by) % count);
        }
    }
}

/* ---- plans ----------------------------------------------------------------------------------- */

static bool is_vl_write(const struct fab_plan_op *op)
{
    return op->attr_id == FAB_ATTR_SL2VL || op->attr_id == FAB_ATTR_VLARB;
}

static void take_map(struct world *w, const struct fab_plan_op *op, uint32_t mod, uint64_t map)
{
    bool sw = fab_fabric_node_is_switch(w->f, op->node);
    uint32_t num = sw ? 0 : fab_fabric_port(w->f, op->port)->num;
    if (sw && mod >> 16 != 0)
        ck_assert_uint_eq(w->f->switches[op->node].optimized_sl2vl, 1);
    for (uint32_t in = 0; in < PORTS; in++) {
        for (uint32_t out = 0; out < PORTS; out++) {
            if (sw ? (mod >> 17 & 1 || (mod >> 8 & 255) == in) &&
                         (mod >> 16 & 1 || (mod & 255) == out)
                   : in == num && out == num)
                w->d.map[op->node][in][out] = map;
        }
    }
}

static void take(struct world *w, const struct fab_plan_input *in, const struct fab_plan_op *op)
{
    uint8_t data[FAB_SMP_DATA];
    uint32_t mod = 0;
    ck_assert_int_eq(fab_plan_encode(in, op, data, &mod), FAB_OK);
    if (op->attr_id == FAB_ATTR_SL2VL) {
        take_map(w, op, mod, fab_base_get_be64(data));
        return;
    }
    /* block 1, the first block of the low-priority table, is in the upper 16 bits */
    ck_assert_uint_eq(mod >> 16, 1);
    if (fab_fabric_node_is_switch(w->f, op->node))
        ck_assert_uint_eq(mod & 0xffff, fab_fabric_port(w->f, op->port)->num);
    ck_assert_int_eq(
        fab_wire_attr_unpack(&fab_wire_attr_vlarb, data, sizeof(data), &w->d.arb[op->port]),
        FAB_OK);
}

static void assert_stage(const struct world *w, const struct fab_plan *p, uint32_t i)
{
    unsigned stage = 0;
    while (i >= p->stage_start[stage + 1])
        stage++;
    const struct fab_plan_op *op = &p->ops[i];
    if (!fab_fabric_node_is_switch(w->f, op->node))
        ck_assert_uint_eq(stage, FAB_STAGE_ENDPORTS);
    else if (op->attr_id == FAB_ATTR_VLARB)
        ck_assert_uint_eq(stage, FAB_STAGE_VLARB);
    else if (op->mod >> 16 == 3)
        ck_assert_uint_eq(stage, FAB_STAGE_SL2VL);
    else
        ck_assert_uint_eq(stage, op->mod >> 16 ? FAB_STAGE_SL2VL_LINE : FAB_STAGE_SL2VL_PAIR);
}

/* Makes and applies a plan. Returns the number of writes of VL tables in it. */
static uint32_t carry_out(struct world *w)
{
    struct fab_plan_input in = {
        .fabric = w->f, .policy = &w->p, .target = w->t, .observed = &w->known, .sm_lid = 1};
    struct fab_plan plan;
    uint32_t writes = 0;
    bool failed = false;
    ck_assert_int_eq(fab_plan_make(&in, &plan), FAB_OK);
    fab_plan_vls_begin(&in, &plan, &w->known);
    for (uint32_t i = 0; i < plan.stage_start[FAB_STAGE_COUNT]; i++) {
        const struct fab_plan_op *op = &plan.ops[i];
        if (!is_vl_write(op))
            continue;
        assert_stage(w, &plan, i);
        writes++;
        if (w->dumb != 0 && op->node == w->dumb)
            failed = true;
        else
            take(w, &in, op);
    }
    ck_assert_int_eq(fab_plan_vls_done(&in, &w->known), FAB_OK);
    if (failed)
        fab_plan_observed_forget_vls(&w->known, w->f, w->dumb);
    fab_plan_fini(&plan);
    return writes;
}

static void assert_arbitration(const struct world *w, uint32_t port)
{
    struct fab_vlarb want;
    struct fab_arb arb;
    if (!fab_target_arb(w->f, &w->p, &w->t->vls, port, NULL, &arb))
        return;
    fab_target_arb_block(&arb, 1, &want);
    ck_assert_int_eq(memcmp(&want, &w->d.arb[port], sizeof(want)), 0);
}

/* Checks that devices hold the tables of the target for each pair of ports between which packets
 * can pass. */
static void assert_held(const struct world *w)
{
    const struct fab_fabric *f = w->f;
    for (uint32_t out = 0; out < f->port_count; out++) {
        uint32_t node = fab_fabric_port(f, out)->node, first = f->nodes[node].first_port;
        if (fab_fabric_port(f, out)->num == 0 || !fab_fabric_port_is_up(f, out))
            continue;
        assert_arbitration(w, out);
        bool sw = fab_fabric_node_is_switch(f, node);
        for (uint32_t in = 0; in <= f->nodes[node].num_ports; in++) {
            if (sw ? in != 0 && !fab_fabric_port_is_up(f, first + in) : first + in != out)
                continue;
            ck_assert_uint_eq(w->d.map[node][in][fab_fabric_port(f, out)->num],
                              fab_target_sl2vl(f, &w->p, &w->t->vls, first + in, out));
        }
    }
}

static uint32_t settle(struct world *w)
{
    uint32_t writes = carry_out(w);
    assert_held(w);
    ck_assert_uint_eq(carry_out(w), 0);
    return writes;
}

/* ---- tests ----------------------------------------------------------------------------------- */

START_TEST(one_lane_needs_no_write)
{
    struct world w = world_of(fat_tree(8, 2, 1), 1);
    ck_assert_uint_eq(carry_out(&w), 0);
    ck_assert_ptr_null(w.known.vls.port);
    world_fini(&w);
}
END_TEST

START_TEST(all_kinds_reach_all_devices)
{
    static const uint8_t counts[] = {2, 3, 8};
    for (unsigned i = 0; i < 24; i++) {
        struct world w = world_of(fat_tree(8, 2, 1), i % 2 ? 1 : 0);
        set_lanes(&w, (enum kind)(BY_SL + i / 2 % 4), counts[i / 8]);
        uint32_t writes = settle(&w);
        ck_assert_uint_gt(writes, 0);
        world_fini(&w);
    }
}
END_TEST

/* The VL tables change from any kind to any other, including a single VL. */
START_TEST(engines_change)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("changes of lanes", 31));
    for (unsigned optimized = 0; optimized < 2; optimized++) {
        struct world w = world_of(fat_tree(8, 2, 1), (uint8_t)optimized);
        for (unsigned i = 0; i < 40; i++) {
            enum kind kind = (enum kind)fab_base_prng_below(&prng, 5);
            uint8_t count = (uint8_t)(kind == ONE_LANE ? 1 : 2 + fab_base_prng_below(&prng, 3));
            bool was_known = w.known.vls.port != NULL;
            set_lanes(&w, kind, count);
            uint32_t writes = carry_out(&w);
            if (count > 1 || was_known)
                assert_held(&w);
            else
                ck_assert_uint_eq(writes, 0);
            ck_assert_uint_eq(carry_out(&w), 0);
        }
        world_fini(&w);
    }
}
END_TEST

/* A switch with 8 ports has 64 SL-to-VL tables, one for each pair of an input port (or port 0) and
 * another output port. A write can be for many pairs, so few writes must be enough. */
START_TEST(wide_writes_are_few)
{
    static const struct {
        enum kind kind;
        /* maximum number of SL-to-VL writes for a switch: 1 for all pairs of ports, 8 for all pairs
         * of one port each, the rest for single pairs */
        uint32_t most;
    } cases[] = {{BY_SL, 1}, {BY_OUT, 1 + 8}, {BY_IN, 1 + 8}, {BY_BOTH, 40}};
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct world w = world_of(fat_tree(8, 2, 1), 1);
        set_lanes(&w, cases[i].kind, 4);
        uint32_t ends = w.f->node_count - w.f->switch_count, trunk_ports = 0;
        for (uint32_t port = 0; port < w.f->port_count; port++)
            trunk_ports += fab_fabric_port(w.f, port)->num > 0 && fab_fabric_port_is_up(w.f, port);
        /* At most: one VL arbitration write for each port, one SL-to-VL write for each endport, and
         * `most` SL-to-VL writes for each switch. */
        uint32_t writes = settle(&w);
        ck_assert_uint_le(writes, trunk_ports + ends + cases[i].most * w.f->switch_count);
        printf("# kind %u: %u writes, %u ports, %u ends, %u switches\n", cases[i].kind, writes,
               trunk_ports, ends, w.f->switch_count);
        world_fini(&w);
    }
}
END_TEST

START_TEST(a_port_that_comes_up_gets_its_pairs)
{
    for (unsigned optimized = 0; optimized < 2; optimized++) {
        struct world w = world_of(fat_tree(8, 2, 1), (uint8_t)optimized);
        uint32_t port = fab_fabric_port_id(w.f, 0, 1);
        while (!is_trunk(w.f, port))
            port++;
        uint32_t peer = fab_fabric_port(w.f, port)->peer;
        fab_fabric_edit_port(w.f, port)->info.phys_state = FAB_PHYS_POLLING;
        set_lanes(&w, BY_BOTH, 4);
        (void)settle(&w);
        fab_fabric_edit_port(w.f, port)->info.phys_state = FAB_PHYS_LINKUP;
        uint32_t writes = settle(&w);
        ck_assert_uint_gt(writes, 0);
        /* at most: for each of the two switches, 2 * 9 SL-to-VL tables of pairs with this port, and
         * one VL arbitration table */
        ck_assert_uint_le(writes, 2 * (2 * 9 + 1));
        /* a port that goes down and comes back keeps its tables, so nothing must be written */
        fab_fabric_edit_port(w.f, port)->info.phys_state = FAB_PHYS_POLLING;
        ck_assert_uint_eq(carry_out(&w), 0);
        fab_fabric_edit_port(w.f, port)->info.phys_state = FAB_PHYS_LINKUP;
        ck_assert_uint_eq(settle(&w), 0);
        /* now other tables are wanted, and the writes for this port must follow when it comes
         * back */
        fab_fabric_edit_port(w.f, port)->info.phys_state = FAB_PHYS_POLLING;
        set_lanes(&w, BY_IN, 3);
        (void)settle(&w);
        fab_fabric_edit_port(w.f, port)->info.phys_state = FAB_PHYS_LINKUP;
        ck_assert_uint_gt(settle(&w), 0);
        ck_assert_uint_ne(peer, FAB_NONE);
        world_fini(&w);
    }
}
END_TEST

START_TEST(what_was_reset_is_written_anew)
{
    struct world w = world_of(fat_tree(8, 2, 1), 1);
    set_lanes(&w, BY_BOTH, 4);
    (void)settle(&w);
    power_on(&w, 2);
    struct fab_observed_vl_port *of_next = &w.known.vls.port[w.f->nodes[3].first_port],
                                next = *of_next, before = of_next[-1];
    struct fab_observed_vl_port *of_last = &w.known.vls.port[w.f->nodes[2].first_port - 1],
                                last = *of_last;
    fab_plan_observed_forget_vls(&w.known, w.f, 2);
    /* only what was known about switch 2 is forgotten, not what is known about the ports before and
     * after it */
    ck_assert_mem_eq(of_next, &next, sizeof(next));
    ck_assert_mem_eq(of_last, &last, sizeof(last));
    ck_assert_mem_ne(of_next - 1, &before, sizeof(before));
    uint32_t writes = settle(&w);
    ck_assert_uint_gt(writes, 0);
    uint32_t host = w.f->switch_count, port = w.f->nodes[host].first_port + 1;
    power_on(&w, host);
    fab_fabric_edit_port(w.f, port)->info.port_state = FAB_STATE_INIT;
    /* The host was restarted. Both tables of its port count as unknown, and are written without
     * being read before. */
    ck_assert_uint_eq(carry_out(&w), 2);
    fab_fabric_edit_port(w.f, port)->info.port_state = FAB_STATE_ACTIVE;
    assert_held(&w);
    ck_assert_uint_eq(carry_out(&w), 0);
    world_fini(&w);
}
END_TEST

START_TEST(what_failed_is_tried_again)
{
    struct world w = world_of(fat_tree(8, 2, 1), 0);
    set_lanes(&w, BY_OUT, 4);
    w.dumb = 3;
    uint32_t all = carry_out(&w), again = carry_out(&w);
    ck_assert_uint_gt(again, 0);
    ck_assert_uint_lt(again, all / 5);
    w.dumb = 0;
    ck_assert_uint_eq(settle(&w), again);
    world_fini(&w);
}
END_TEST

/* CapabilityMask of port 0 says whether a switch has SL-to-VL tables. If PortInfo of port 0 could
 * not be read, a plan does not write these tables. They must then not count as written. */
START_TEST(an_unread_port_0_leaves_tables_unknown)
{
    for (unsigned optimized = 0; optimized < 2; optimized++) {
        struct world w = world_of(fat_tree(8, 2, 1), (uint8_t)optimized);
        set_lanes(&w, BY_BOTH, 4);
        (void)settle(&w);
        struct fab_port_info *info = &fab_fabric_edit_port(w.f, w.f->nodes[0].first_port)->info;
        uint32_t cap_mask = info->cap_mask;
        info->cap_mask = 0;
        set_lanes(&w, BY_IN, 3);
        (void)carry_out(&w);
        info->cap_mask = cap_mask;
        ck_assert_uint_gt(settle(&w), 0);
        world_fini(&w);
    }
}
END_TEST

START_TEST(a_plan_that_breaks_off_leaves_doubts)
{
    struct world w = world_of(fat_tree(8, 2, 1), 1);
    struct fab_plan plan;
    set_lanes(&w, BY_OUT, 4);
    (void)settle(&w);
    set_lanes(&w, BY_IN, 4);
    struct fab_plan_input in = {
        .fabric = w.f, .policy = &w.p, .target = w.t, .observed = &w.known, .sm_lid = 1};
    ck_assert_int_eq(fab_plan_make(&in, &plan), FAB_OK);
    fab_plan_vls_begin(&in, &plan, &w.known);
    for (uint32_t i = 0; i < plan.stage_start[FAB_STAGE_COUNT]; i += 2) {
        if (is_vl_write(&plan.ops[i]))
            take(&w, &in, &plan.ops[i]);
    }
    fab_plan_fini(&plan);
    /* The plan stopped half way, so the devices hold some of its values. To go back to the target
     * before it, a further plan must write. */
    set_lanes(&w, BY_OUT, 4);
    ck_assert_uint_gt(settle(&w), 0);
    world_fini(&w);
}
END_TEST

/* In a new snapshot, nodes can have other ids. What is known about their VL tables must move to
 * these ids. */
START_TEST(knowledge_moves_with_the_nodes)
{
    struct world w = world_of(fat_tree(8, 2, 1), 1);
    struct fab_observed moved;
    set_lanes(&w, BY_BOTH, 4);
    (void)settle(&w);
    struct fab_builder *b = fab_fabric_builder_from(w.f);
    ck_assert_int_eq(fab_fabric_builder_remove_node(b, 1), FAB_OK);
    struct fab_fabric *now = sealed(b);
    ck_assert_int_eq(fab_plan_observed_remap(&w.known, w.f, now, w.t->lids.top, &moved), FAB_OK);
    ck_assert_uint_eq(moved.vls.ports, now->port_count);
    for (uint32_t node = 0; node < now->node_count; node++) {
        uint32_t was = fab_fabric_node_by_guid(w.f, now->nodes[node].guid);
        ck_assert_int_eq(memcmp(moved.vls.port + now->nodes[node].first_port,
                                w.known.vls.port + w.f->nodes[was].first_port,
                                (now->nodes[node].num_ports + 1u) * sizeof(*moved.vls.port)),
                         0);
    }
    fab_plan_observed_fini(&moved);
    fab_fabric_unref(now);
    world_fini(&w);
}
END_TEST

START_TEST(ends_with_fewer_lanes_fold_them)
{
    struct world w = world_of(leaf_spine(2, 2, 2), 1);
    uint32_t port = w.f->nodes[w.f->switch_count].first_port + 1,
             peer = fab_fabric_port(w.f, port)->peer;
    struct fab_arb arb;
    fab_fabric_edit_port(w.f, port)->info.vl_cap = 2;
    set_lanes(&w, BY_SL, 4);
    (void)settle(&w);
    ck_assert_uint_eq(fab_target_sl2vl(w.f, &w.p, &w.t->vls, port, port),
                      UINT64_C(0x0101010101010101));
    ck_assert_uint_eq(fab_target_sl2vl(w.f, &w.p, &w.t->vls, peer, peer),
                      UINT64_C(0x0101010101010101));
    ck_assert_uint_eq(fab_target_vl(w.f, &w.p, &w.t->vls, peer, peer, 3), 1);
    ck_assert(fab_target_arb(w.f, &w.p, &w.t->vls, port, NULL, &arb));
    ck_assert_uint_eq(arb.lows, 2);
    ck_assert_uint_eq(arb.low[0].weight, arb.low[1].weight);
    fab_fabric_edit_port(w.f, port)->info.vlarb_low_cap = 1;
    ck_assert(!fab_target_arb(w.f, &w.p, &w.t->vls, port, NULL, &arb));
    fab_fabric_edit_port(w.f, port)->info.vl_cap = 1;
    ck_assert_uint_eq(fab_target_sl2vl(w.f, &w.p, &w.t->vls, port, port), 0);
    world_fini(&w);
}
END_TEST

/* Sets ret[port] to a bitset of the VL arbitration blocks of this port that the scrub reads. */
static void scrubbed_blocks(const struct world *w, uint8_t *ret)
{
    struct fab_plan_input in = {
        .fabric = w->f, .policy = &w->p, .target = w->t, .observed = &w->known, .sm_lid = 1};
    struct fab_scrub_at at = {0};
    struct fab_scrub_item item;
    memset(ret, 0, w->f->port_count);
    while (!at.over) {
        if (!fab_plan_scrub_next(&in, FAB_SCRUB_LANES, &at, 1000, &item) ||
            item.attr_id != FAB_ATTR_VLARB)
            continue;
        uint32_t num =
            fab_fabric_node_is_switch(w->f, item.node) ? fab_fabric_port(w->f, item.port)->num : 0;
        ck_assert_uint_eq(item.mod, item.block << 16 | num);
        ck_assert_uint_eq(fab_fabric_port(w->f, item.port)->node, item.node);
        ck_assert_uint_eq(ret[item.port] >> item.block & 1, 0); /* no block is read twice */
        ret[item.port] |= (uint8_t)(1u << item.block);
    }
}

/* Blocks 1 and 2 are of the low-priority table, 3 and 4 of the high-priority table. A table with up
 * to 32 entries has only the first of its two blocks. */
START_TEST(a_scrub_reads_the_arbitration_that_was_written)
{
    static const uint8_t caps[][3] = {{8, 8, 1 << 1 | 1 << 3},
                                      {64, 8, 1 << 1 | 1 << 2 | 1 << 3},
                                      {32, 33, 1 << 1 | 1 << 3 | 1 << 4},
                                      {64, 64, 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4}};
    struct world w = world_of(leaf_spine(2, 2, 2), 1);
    uint8_t *seen = calloc(w.f->port_count, 1);
    set_lanes(&w, BY_SL, 4);
    (void)settle(&w);
    for (unsigned i = 0; i < 5; i++) {
        for (size_t k = 0; k < w.known.vls.arbs && i > 0; k++)
            w.known.vls.arb[k].whole = true;
        for (uint32_t port = 0; port < w.f->port_count && i > 0; port++) {
            fab_fabric_edit_port(w.f, port)->info.vlarb_low_cap = caps[i - 1][0];
            fab_fabric_edit_port(w.f, port)->info.vlarb_high_cap = caps[i - 1][1];
        }
        scrubbed_blocks(&w, seen);
        for (uint32_t port = 0; port < w.f->port_count; port++) {
            bool has = fab_fabric_port_is_up(w.f, port) && fab_fabric_port(w.f, port)->num > 0;
            ck_assert_uint_eq(seen[port], !has ? 0 : i == 0 ? 1 << 1 : caps[i - 1][2]);
        }
    }
    free(seen);
    world_fini(&w);
}
END_TEST

/* Fills data[] with the attribute that the device must hold after the plan. */
static void held_data(const struct world *w, const struct fab_scrub_item *item,
                      uint8_t data[FAB_SMP_DATA])
{
    struct fab_vlarb block;
    struct fab_arb arb;
    uint32_t in = item->port + (item->mod >> 8 & 0xff), out = item->port + (item->mod & 0xff);
    memset(data, 0, FAB_SMP_DATA);
    if (item->attr_id == FAB_ATTR_SL2VL) {
        bool is_switch = fab_fabric_node_is_switch(w->f, item->node);
        fab_base_put_be64(data,
                          fab_target_sl2vl(w->f, &w->p, &w->t->vls, is_switch ? in : item->port,
                                           is_switch ? out : item->port));
        return;
    }
    ck_assert(fab_target_arb(w->f, &w->p, &w->t->vls, item->port, NULL, &arb));
    fab_target_arb_block(&arb, item->block, &block);
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_vlarb, &block, data, FAB_SMP_DATA), FAB_OK);
}

static void assert_difference(const struct fab_plan_input *in, const struct fab_scrub_item *item,
                              const uint8_t *data, const char *field, uint32_t entry)
{
    struct fab_scrub_difference d;
    ck_assert(fab_plan_scrub_differs(in, item, data, &d));
    ck_assert_str_eq(d.field, field);
    ck_assert_uint_eq(d.entry, entry);
    ck_assert_uint_eq(d.entries, 1);
    ck_assert_uint_ne(d.held, d.wanted);
}

/* Changes the VL of one SL, or one entry, after the other, and checks how the scrub describes the
 * difference. data: the attribute without a difference. */
static void spoil_item(const struct fab_plan_input *in, const struct fab_scrub_item *item,
                       uint8_t *data)
{
    struct fab_scrub_difference d;
    struct fab_vlarb block;
    for (uint32_t sl = 0; sl < FAB_SLS && item->attr_id == FAB_ATTR_SL2VL; sl++) {
        data[sl / 2] ^= sl % 2 == 0 ? 0x80 : 8;
        assert_difference(in, item, data, "SL", sl);
        data[sl / 2] ^= sl % 2 == 0 ? 0x80 : 8;
    }
    if (item->attr_id == FAB_ATTR_SL2VL)
        return;
    ck_assert_int_eq(fab_wire_attr_unpack(&fab_wire_attr_vlarb, data, FAB_SMP_DATA, &block),
                     FAB_OK);
    for (uint32_t i = 0; i < FAB_BLOCK_ENTRIES; i++) {
        struct fab_vlarb other = block;
        other.entry[i].weight ^= 1;
        (void)fab_wire_attr_pack(&fab_wire_attr_vlarb, &other, data, FAB_SMP_DATA);
        assert_difference(in, item, data, "weight of entry", i);
        other = block;
        other.entry[i].vl ^= 1;
        (void)fab_wire_attr_pack(&fab_wire_attr_vlarb, &other, data, FAB_SMP_DATA);
        if (block.entry[i].weight != 0)
            assert_difference(in, item, data, "VL of entry", i);
        else /* the VL of an entry with weight 0 does not matter */
            ck_assert(!fab_plan_scrub_differs(in, item, data, &d));
    }
}

/* The scrub has read a table that differs. Checks that the manager forgets this table, so that the
 * next plan writes it, and remembers the tables of all other ports. */
static void assert_forgotten(struct world *w, const struct fab_plan_input *in,
                             const struct fab_scrub_item *item, const uint8_t *data)
{
    struct fab_observed_vl_port *held = w->known.vls.port;
    uint32_t at = item->port;
    if (item->attr_id == FAB_ATTR_SL2VL && fab_fabric_node_is_switch(w->f, item->node))
        at += item->mod & 0xff;
    struct fab_observed_vl_port was = held[at];
    ck_assert(was.vls != 0);
    fab_plan_scrub_record(in, item, data, &w->known);
    for (uint32_t port = 0; port < w->f->port_count; port++) {
        if (!fab_fabric_port_is_up(w->f, port) || fab_fabric_port(w->f, port)->num == 0)
            continue;
        bool is_it = port == at;
        ck_assert(held[port].vls != 0 || (is_it && item->attr_id == FAB_ATTR_SL2VL));
        ck_assert(held[port].arbitrated != 0 || (is_it && item->attr_id == FAB_ATTR_VLARB));
    }
    ck_assert_uint_eq(item->attr_id == FAB_ATTR_SL2VL ? held[at].vls : held[at].arbitrated, 0);
    held[at] = was;
}

START_TEST(a_scrub_finds_each_wrong_entry)
{
    struct world w = world_of(leaf_spine(2, 2, 2), 1);
    struct fab_scrub_at at = {0};
    struct fab_scrub_item item;
    struct fab_scrub_difference d;
    uint8_t data[FAB_SMP_DATA];
    unsigned maps = 0, arbs = 0;
    set_lanes(&w, BY_BOTH, 4);
    (void)settle(&w);
    struct fab_plan_input in = {
        .fabric = w.f, .policy = &w.p, .target = w.t, .observed = &w.known, .sm_lid = 1};
    while (!at.over) {
        if (!fab_plan_scrub_next(&in, FAB_SCRUB_LANES, &at, 1000, &item))
            continue;
        maps += item.attr_id == FAB_ATTR_SL2VL;
        arbs += item.attr_id == FAB_ATTR_VLARB;
        held_data(&w, &item, data);
        ck_assert(!fab_plan_scrub_differs(&in, &item, data, &d));
        ck_assert_uint_eq(d.entries, 0);
        spoil_item(&in, &item, data);
        assert_forgotten(&w, &in, &item, data);
    }
    ck_assert_uint_eq(maps, 56);
    ck_assert_uint_eq(arbs, 16); /* one for each of the 16 ports of 8 links */
    /* the scrubbed tables are of another snapshot now, so what the scrub reads must have no
     * effect */
    w.known.vls.ports--;
    struct fab_scrub_item none = {
        .node = 0, .port = w.f->nodes[0].first_port, .attr_id = FAB_ATTR_SL2VL, .mod = 0x0102};
    fab_plan_scrub_record(&in, &none, data, &w.known);
    ck_assert_uint_ne(w.known.vls.port[none.port + 2].vls, 0);
    world_fini(&w);
}
END_TEST

/* A device reports a partition enforcement that the manager did not write, because another program
 * changed it. The next plan must write the enforcement again. */
START_TEST(a_scrub_lets_enforcement_be_set_again)
{
    struct world w = world_of(leaf_spine(2, 2, 2), 1);
    uint32_t port = fab_fabric_port_id(w.f, 0, 1);
    struct fab_port_info info = {.part_enforce_in = 1};
    uint8_t data[FAB_SMP_DATA];
    struct fab_pkeys *p = &w.t->pkeys;
    p->ports = w.f->port_count;
    p->first = calloc(p->ports + 1u, sizeof *p->first);
    p->key = calloc(1, sizeof *p->key);
    p->enforce = calloc(p->ports, 1);
    p->enforce[port] = FAB_ENFORCE_IN | FAB_ENFORCE_OUT;
    struct fab_plan_input in = {
        .fabric = w.f, .policy = &w.p, .target = w.t, .observed = &w.known, .sm_lid = 1};
    const struct fab_scrub_item item = {.port = port, .attr_id = FAB_ATTR_PORT_INFO, .mod = 1};
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_port_info, &info, data, sizeof data),
                     FAB_OK);
    fab_plan_scrub_record(&in, &item, data, &w.known); /* the manager wrote no enforcement yet */
    ck_assert(!fab_target_held_pkeys_refused_enforce(&w.known.pkeys, port, FAB_ENFORCE_IN));
    ck_assert_int_eq(fab_target_held_pkeys_set_enforce(&w.known.pkeys, port, p->enforce[port]),
                     FAB_OK);
    fab_plan_scrub_record(&in, &item, data, &w.known);
    ck_assert(fab_target_held_pkeys_refused_enforce(&w.known.pkeys, port, FAB_ENFORCE_IN));
    ck_assert(!fab_target_held_pkeys_refused_enforce(&w.known.pkeys, port, p->enforce[port]));
    info.part_enforce_out = 1; /* the device reports what is wanted: no change */
    ck_assert_int_eq(fab_target_held_pkeys_set_enforce(&w.known.pkeys, port, p->enforce[port]),
                     FAB_OK);
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_port_info, &info, data, sizeof data),
                     FAB_OK);
    fab_plan_scrub_record(&in, &item, data, &w.known);
    ck_assert(fab_target_held_pkeys_refused_enforce(&w.known.pkeys, port, p->enforce[port]));
    world_fini(&w);
}
END_TEST

/* If the tables of only one node were read and written, only its tables count as known. */
START_TEST(what_was_done_at_one_node_is_known_there)
{
    struct world w = world_of(leaf_spine(2, 2, 2), 1);
    set_lanes(&w, BY_BOTH, 4);
    (void)settle(&w);
    struct fab_plan_input in = {
        .fabric = w.f, .policy = &w.p, .target = w.t, .observed = &w.known, .sm_lid = 1};
    struct fab_observed_vls *held = &w.known.vls;
    const uint32_t node = 1, first = w.f->nodes[node].first_port,
                   last = first + w.f->nodes[node].num_ports;
    uint32_t live = 0;
    for (unsigned turn = 0; turn < 3; turn++) {
        for (uint32_t port = 0; port < held->ports; port++)
            held->port[port] = (struct fab_observed_vl_port){0};
        /* turn 1: other tables are wanted */
        held->vl[1][1][3] = (uint8_t)(held->vl[1][1][3] + (turn == 1));
        /* turn 2: the known tables are of another snapshot */
        held->ports -= turn == 2;
        ck_assert_int_eq(fab_plan_vls_done_at(&in, &w.known, node), FAB_OK);
        for (uint32_t port = 0; port < held->ports; port++) {
            bool is_known = held->port[port].vls != 0;
            live += turn == 0 && is_known;
            ck_assert(!is_known || (turn == 0 && port >= first && port <= last));
            if (is_known && port > first) {
                ck_assert_uint_eq(held->port[port].class, w.t->vls.port_class[port]);
                ck_assert_uint_gt(held->port[port].arbitrated, 0);
            }
        }
        held->vl[1][1][3] = w.t->vls.vl[1][1][3];
    }
    ck_assert_uint_ge(live, 4); /* the switch has two links to spines and two to hosts */
    world_fini(&w);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        one_lane_needs_no_write,
        a_scrub_reads_the_arbitration_that_was_written,
        all_kinds_reach_all_devices,
        engines_change,
        wide_writes_are_few,
        a_port_that_comes_up_gets_its_pairs,
        what_was_reset_is_written_anew,
        what_failed_is_tried_again,
        an_unread_port_0_leaves_tables_unknown,
        a_plan_that_breaks_off_leaves_doubts,
        knowledge_moves_with_the_nodes,
        ends_with_fewer_lanes_fold_them,
        a_scrub_finds_each_wrong_entry,
        a_scrub_lets_enforcement_be_set_again,
        what_was_done_at_one_node_is_known_there,
    };
    Suite *suite = suite_create("plan_lanes");
    TCase *tcase = tcase_create("lanes");
    tcase_set_timeout(tcase, 120);
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
