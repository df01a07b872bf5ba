/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The scrub: what it reads, what it reports as a difference, and which writes it causes in the next
 * plan. tests/attack/test_scrub.c has changes by attackers that it must find.
 */
#include <string.h>

#include "libfabmgr/base/buf.h"
#include "libfabmgr/plan/scrub.h"
#include "libfabmgr/target/arb.h"
#include "libfabmgr/target/pkeys.h"
#include "tests/unit/routing.h"

#define ATTRS 64 /* counters are indexed by attribute ID, and all IDs are below 64 */

/* A fabric of two leaves with two hosts each, and one spine. All links are Active. The manager
 * knows that all devices hold the tables of the target. */
struct world {
    struct fab_fabric *f;
    struct fab_policy policy;
    struct fab_target *target;
    struct fab_observed known;
};

static struct fab_plan_input input_of(const struct world *w)
{
    return (struct fab_plan_input){.fabric = w->f,
                                   .policy = &w->policy,
                                   .target = w->target,
                                   .observed = &w->known,
                                   .sm_lid = 1};
}

/* Gives each port a P_Key table of one block, and records that the device holds it. */
static void add_pkeys(struct world *w)
{
    struct fab_pkeys *p = &w->target->pkeys;
    uint16_t block[FAB_PKEY_BLOCK] = {0xffff};
    p->ports = w->f->port_count;
    p->first = calloc(p->ports + 1u, sizeof *p->first);
    p->key = calloc(p->ports + 1u, sizeof *p->key);
    p->enforce = calloc(p->ports + 1u, 1);
    for (uint32_t port = 0; port < p->ports; port++) {
        p->first[port + 1] = port + 1;
        p->key[port] = 0xffff;
        ck_assert_int_eq(fab_target_blocks_put(&w->known.pkeys, port, 0, block), FAB_OK);
    }
}

static struct world world_new(void)
{
    struct world w = {.f = leaf_spine(2, 1, 2)};
    fab_policy_defaults(&w.policy);
    for (uint32_t port = 0; port < w.f->port_count; port++)
        if (fab_fabric_port_is_up(w.f, port))
            fab_fabric_edit_port(w.f, port)->info.port_state = FAB_STATE_ACTIVE;
    w.target = routed(w.f, &w.policy);
    ck_assert_int_eq(fab_plan_observed_init(&w.known, w.f->switch_count, w.target->lids.top),
                     FAB_OK);
    for (uint32_t sw = 0; sw < w.f->switch_count; sw++) {
        w.f->switches[sw].linear_fdb_top = (uint16_t)w.target->lids.top;
        fab_plan_observed_set_block(&w.known, sw, 0, fab_target_lft_block(&w.target->lft, sw, 0));
    }
    add_pkeys(&w);
    return w;
}

static void world_fini(struct world *w)
{
    fab_plan_observed_fini(&w->known);
    fab_target_unref(w->target);
    fab_policy_fini(&w->policy);
    fab_fabric_unref(w->f);
}

/* ---- what is read ---------------------------------------------------------------------------- */

/* Counts the attributes of a turn, one node after the other, because the manager counts them in
 * parts, too. Checks that the sum is the same as for all nodes at once. */
static uint64_t count_tables(const struct fab_plan_input *in)
{
    uint32_t nodes = in->fabric->node_count;
    uint64_t count = 0;
    for (uint32_t n = 0; n < nodes; n++)
        count += fab_plan_scrub_count(in, FAB_SCRUB_TABLES, n, n + 1);
    ck_assert_uint_eq(fab_plan_scrub_count(in, FAB_SCRUB_TABLES, 0, nodes), count);
    return count;
}

/* Makes a whole turn, with at most `steps` steps in each call. count[] gets the number of reads of
 * each attribute ID. Nothing may be read twice. Returns the number of calls. */
static uint32_t read_turn(const struct world *w, uint32_t steps, uint32_t count[ATTRS])
{
    struct fab_plan_input in = input_of(w);
    struct fab_scrub_at at = {0};
    struct fab_scrub_item items[256];
    uint32_t found = 0, calls = 0;
    memset(count, 0, ATTRS * sizeof *count);
    for (; !at.over; calls++) {
        struct fab_scrub_item *item = &items[found];
        ck_assert_uint_lt(calls, 100000);
        if (!fab_plan_scrub_next(&in, FAB_SCRUB_TABLES, &at, steps, item))
            continue;
        ck_assert_uint_eq(fab_fabric_port(w->f, item->port)->node, item->node);
        for (uint32_t i = 0; i < found; i++)
            ck_assert(items[i].node != item->node || items[i].port != item->port ||
                      items[i].attr_id != item->attr_id || items[i].mod != item->mod);
        ck_assert_uint_lt(++found, 256);
        count[item->attr_id]++;
    }
    ck_assert_uint_le(found, count_tables(&in));
    return calls;
}

static uint32_t blocks_of(const struct world *w, uint32_t port)
{
    return fab_target_pkeys_blocks(fab_target_pkeys_capacity(w->f, port));
}

START_TEST(a_turn_reads_each_known_table_once)
{
    struct world w = world_new();
    struct fab_plan_input in = input_of(&w);
    uint32_t count[ATTRS], ports = 0, blocks = 0;
    for (uint32_t port = 0; port < w.f->port_count; port++) {
        const struct fab_port *p = fab_fabric_port(w.f, port);
        bool read = (p->num == 0 && p->present) || fab_fabric_port_is_up(w.f, port);
        ports += read;
        blocks += read ? blocks_of(&w, port) : 0;
    }
    read_turn(&w, 1000, count);
    ck_assert_uint_eq(count[FAB_ATTR_SWITCH_INFO], 3);
    ck_assert_uint_eq(count[FAB_ATTR_LFT], 3);
    ck_assert_uint_eq(count[FAB_ATTR_PORT_INFO], ports);
    ck_assert_uint_eq(count[FAB_ATTR_PKEY_TABLE], ports);
    ck_assert_uint_eq(count_tables(&in), 3 * 2 + ports + blocks);
    uint32_t again[ATTRS], few = read_turn(&w, 1, again);
    /* a turn in many short calls reads the same attributes */
    ck_assert_mem_eq(count, again, sizeof count);
    ck_assert_uint_gt(few, 2 * (6 + ports));
    fab_plan_observed_forget(&w.known, 1);
    read_turn(&w, 1000, count);
    /* the LFT of one switch is unknown now, so the turn reads only the other two */
    ck_assert_uint_eq(count[FAB_ATTR_LFT], 2);
    world_fini(&w);
}
END_TEST

/* The order of a turn: one kind of table after the other; for each kind, one block or port number
 * after the other; for each number, all nodes by their ids. */
START_TEST(a_turn_reads_in_order)
{
    struct world w = world_new();
    struct fab_plan_input in = input_of(&w);
    struct fab_scrub_at at = {0};
    struct fab_scrub_item item;
    const struct fab_fabric *f = w.f;
    uint32_t most = 0;
    for (uint32_t node = 0; node < f->node_count; node++)
        most = f->nodes[node].num_ports > most ? f->nodes[node].num_ports : most;
    for (unsigned kind = 0; kind < 4; kind++) {
        static const uint16_t ids[] = {FAB_ATTR_SWITCH_INFO, FAB_ATTR_LFT, FAB_ATTR_PORT_INFO,
                                       FAB_ATTR_PKEY_TABLE};
        for (uint32_t num = 0; num <= (kind < 2 ? 0 : most); num++) {
            for (uint32_t node = 0; node < (kind < 2 ? f->switch_count : f->node_count); node++) {
                bool is_switch = node < f->switch_count;
                if (num > f->nodes[node].num_ports || (num == 0 && !is_switch))
                    continue;
                uint32_t port = fab_fabric_port_id(f, node, (uint8_t)num);
                if (num != 0 && !fab_fabric_port_is_up(f, port))
                    continue;
                ck_assert(fab_plan_scrub_next(&in, FAB_SCRUB_TABLES, &at, 100000, &item));
                ck_assert_uint_eq(item.attr_id, ids[kind]);
                ck_assert_uint_eq(item.node, node);
                ck_assert_uint_eq(item.port, port);
                ck_assert_uint_eq(item.block, 0);
                ck_assert_uint_eq(item.mod, kind < 2    ? 0
                                            : kind == 2 ? num
                                            : is_switch ? num << 16
                                                        : 0);
            }
        }
    }
    ck_assert(!fab_plan_scrub_next(&in, FAB_SCRUB_TABLES, &at, 100000, &item));
    ck_assert(at.over);
    world_fini(&w);
}
END_TEST

/* For progress, a turn counts the LFT blocks of a switch up to LinearFDBTop, the greatest LID that
 * the LFT forwards. */
START_TEST(blocks_up_to_the_top_are_counted)
{
    static const struct {
        uint16_t top;
        uint32_t blocks;
    } rows[] = {{0, 1}, {63, 1}, {64, 2}, {127, 2}, {128, 3}, {0xbfff, 768}};
    struct world w = world_new();
    struct fab_plan_input in = input_of(&w);
    w.f->switches[0].linear_fdb_top = 0;
    uint64_t one = count_tables(&in);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        w.f->switches[0].linear_fdb_top = rows[i].top;
        ck_assert_uint_eq(count_tables(&in), one + rows[i].blocks - 1);
    }
    world_fini(&w);
}
END_TEST

START_TEST(ports_without_a_link_are_not_read)
{
    struct world w = world_new();
    struct fab_plan_input in = input_of(&w);
    uint32_t count[ATTRS], host = w.f->switch_count;
    uint32_t port = w.f->nodes[host].first_port + 1;
    read_turn(&w, 1000, count);
    uint32_t before = count[FAB_ATTR_PORT_INFO];
    uint64_t bound = count_tables(&in);
    uint32_t peer = fab_fabric_port(w.f, port)->peer;
    w.f->self_port = FAB_NONE;
    fab_fabric_edit_port(w.f, port)->info.port_state = FAB_STATE_DOWN;
    fab_fabric_edit_port(w.f, port)->info.phys_state = FAB_PHYS_POLLING;
    fab_fabric_edit_port(w.f, peer)->info.port_state = FAB_STATE_DOWN;
    fab_fabric_edit_port(w.f, peer)->info.phys_state = FAB_PHYS_POLLING;
    read_turn(&w, 1000, count);
    ck_assert_uint_eq(count[FAB_ATTR_PORT_INFO], before - 2);
    ck_assert_uint_eq(count[FAB_ATTR_PKEY_TABLE], before - 2);
    ck_assert_uint_eq(count_tables(&in), bound - 2 - blocks_of(&w, port) - blocks_of(&w, peer));
    /* the manager's own port is read even without a link */
    w.f->self_port = port;
    read_turn(&w, 1000, count);
    ck_assert_uint_eq(count[FAB_ATTR_PORT_INFO], before - 1);
    world_fini(&w);
}
END_TEST

/* The search for unknown blocks looks at whole words of a bitset. In this test, the blocks of a
 * switch begin and end within a word. */
START_TEST(unknown_blocks_are_found)
{
    struct fab_observed o;
    const uint8_t none[FAB_LFT_BLOCK] = {0};
    ck_assert_int_eq(fab_plan_observed_init(&o, 3, 150 * FAB_LFT_BLOCK), FAB_OK);
    for (uint32_t block = 0; block < o.blocks; block++)
        if (block != 3 && block != 70 && block != 140)
            fab_plan_observed_set_block(&o, 1, block, none);
    for (uint32_t from = 0; from <= o.blocks + 1; from++) {
        for (uint32_t end = from; end <= o.blocks + 2; end++) {
            uint32_t first = from;
            while (first < end && fab_plan_observed_is_known(&o, 1, first))
                first++;
            ck_assert_uint_eq(fab_plan_observed_next_unknown(&o, 1, from, end), first);
        }
    }
    ck_assert_uint_eq(fab_plan_observed_next_unknown(&o, 0, 5, 9), 5);
    fab_plan_observed_fini(&o);
}
END_TEST

/* ---- what differs ---------------------------------------------------------------------------- */

struct field {
    const char *name;
    size_t at, size;
    /* true: a field of endports only, which is not compared at port 0 of a switch */
    bool endports_only;
    bool secret; /* messages do not show the value */
};
#define FIELD(name, member, endports_only, secret)                                                 \
    {                                                                                              \
        name, offsetof(struct fab_port_info, member), sizeof(((struct fab_port_info *)0)->member), \
            endports_only, secret                                                                  \
    }
static const struct field port_fields[] = {
    FIELD("LID", lid, false, false),
    FIELD("LMC", lmc, false, false),
    FIELD("MasterSMLID", sm_lid, false, false),
    FIELD("GIDPrefix", gid_prefix, false, false),
    FIELD("M_Key", m_key, false, true),
    FIELD("M_KeyProtectBits", m_key_protect, false, false),
    FIELD("M_KeyLeasePeriod", m_key_lease, false, false),
    FIELD("NeighborMTU", neighbor_mtu, true, false),
    FIELD("OperationalVLs", op_vls, true, false),
    FIELD("PartitionEnforcementInbound", part_enforce_in, true, false),
    FIELD("PartitionEnforcementOutbound", part_enforce_out, true, false),
};

static uint64_t value_of(const struct field *x, const void *of)
{
    uint64_t value = 0;
    memcpy(&value, (const char *)of + x->at, x->size);
    return value;
}

static void flip(const struct field *x, void *of)
{
    uint64_t value = value_of(x, of) ^ 1;
    memcpy((char *)of + x->at, &value, x->size);
}

START_TEST(each_field_of_a_port_is_named_with_both_values)
{
    struct world w = world_new();
    struct fab_plan_input in = input_of(&w);
    struct fab_scrub_difference d;
    uint8_t data[FAB_SMP_DATA];
    for (int port0 = 0; port0 < 2; port0++) {
        uint32_t port = fab_fabric_port_id(w.f, 0, port0 ? 0 : 1);
        struct fab_scrub_item item = {.port = port, .attr_id = FAB_ATTR_PORT_INFO};
        const struct fab_port_info *want = &fab_fabric_port(w.f, port)->info;
        fab_fabric_edit_port(w.f, port)->info.neighbor_mtu = 4;
        for (size_t i = 0; i < sizeof port_fields / sizeof *port_fields; i++) {
            const struct field *x = &port_fields[i];
            struct fab_port_info now = *want;
            flip(x, &now);
            ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_port_info, &now, data, sizeof data),
                             FAB_OK);
            bool differs = fab_plan_scrub_differs(&in, &item, data, &d);
            ck_assert_msg(differs == !(port0 && x->endports_only), "%s of port %u", x->name, port);
            if (!differs)
                continue;
            ck_assert_str_eq(d.field, x->name);
            ck_assert_uint_eq(d.entry, 0);
            ck_assert_uint_eq(d.entries, 1);
            ck_assert_uint_eq(d.held, x->secret ? 1 : value_of(x, &now));
            ck_assert_uint_eq(d.wanted, x->secret ? 0 : value_of(x, want));
        }
        struct fab_port_info now = *want;
        now.lid = (uint16_t)(want->lid + 7);
        now.sm_lid = (uint16_t)(want->sm_lid + 7);
        ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_port_info, &now, data, sizeof data),
                         FAB_OK);
        ck_assert(fab_plan_scrub_differs(&in, &item, data, &d));
        /* of two differences, only the first is described, but both are counted */
        ck_assert_str_eq(d.field, "LID");
        ck_assert_uint_eq(d.entries, 2);
    }
    world_fini(&w);
}
END_TEST

START_TEST(fields_of_a_switch_are_named_with_both_values)
{
    static const char *const names[] = {"LinearFDBTop", "MulticastFDBTop", "LifeTimeValue"};
    struct world w = world_new();
    struct fab_plan_input in = input_of(&w);
    struct fab_scrub_item item = {
        .node = 1, .port = fab_fabric_port_id(w.f, 1, 0), .attr_id = FAB_ATTR_SWITCH_INFO};
    struct fab_scrub_difference d;
    uint8_t data[FAB_SMP_DATA];
    for (int i = -1; i < 3; i++) {
        struct fab_switch_info now = w.f->switches[1];
        now.linear_fdb_top = (uint16_t)(now.linear_fdb_top + (i == 0));
        now.multicast_fdb_top = (uint16_t)(now.multicast_fdb_top ^ (i == 1));
        now.life_time = (uint8_t)(now.life_time ^ (i == 2));
        /* PortStateChange is set if a port has changed; this is no difference, but a reason for a
         * sweep */
        now.port_state_change = i < 0;
        ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_switch_info, &now, data, sizeof data),
                         FAB_OK);
        ck_assert_int_eq(fab_plan_scrub_is_stale(&in, &item, data), i < 0);
        ck_assert_int_eq(fab_plan_scrub_differs(&in, &item, data, &d), i >= 0);
        if (i < 0)
            continue;
        ck_assert_str_eq(d.field, names[i]);
        ck_assert_uint_eq(d.entries, 1);
        ck_assert_uint_eq(d.held ^ d.wanted,
                          i == 0 ? now.linear_fdb_top ^ (now.linear_fdb_top - 1) : 1);
        ck_assert_uint_eq(d.held, i == 0   ? now.linear_fdb_top
                                  : i == 1 ? now.multicast_fdb_top
                                           : now.life_time);
    }
    world_fini(&w);
}
END_TEST

/* A default port with a link is a difference. Port 0 and ports that the switch does not have all
 * drop packets, so the scrub accepts any of them. */
START_TEST(only_default_ports_with_a_link_differ)
{
    static const struct field default_ports[] = {
        {"DefaultPort", offsetof(struct fab_switch_info, default_port), 1, false, false},
        {"DefaultMulticastPrimaryPort",
         offsetof(struct fab_switch_info, default_mcast_primary_port), 1, false, false},
        {"DefaultMulticastNotPrimaryPort",
         offsetof(struct fab_switch_info, default_mcast_not_primary_port), 1, false, false},
    };
    struct world w = world_new();
    struct fab_plan_input in = input_of(&w);
    struct fab_scrub_item item = {
        .node = 1, .port = fab_fabric_port_id(w.f, 1, 0), .attr_id = FAB_ATTR_SWITCH_INFO};
    struct fab_scrub_difference d;
    uint8_t data[FAB_SMP_DATA];
    const unsigned ports = w.f->nodes[1].num_ports;
    for (size_t i = 0; i < 3; i++) {
        const struct field *x = &default_ports[i];
        for (unsigned held = 0; held < 256; held++) {
            struct fab_switch_info now = w.f->switches[1];
            ((uint8_t *)&now)[x->at] = (uint8_t)held;
            ck_assert_int_eq(
                fab_wire_attr_pack(&fab_wire_attr_switch_info, &now, data, sizeof data), FAB_OK);
            bool differs = held != 0 && held <= ports;
            ck_assert_int_eq(fab_plan_scrub_differs(&in, &item, data, &d), differs);
            ck_assert_uint_eq(d.entries, differs);
            ck_assert_str_eq(d.field, differs ? x->name : "");
            ck_assert_uint_eq(d.held, differs ? held : 0);
            ck_assert_uint_eq(d.wanted, 0);
        }
    }
    world_fini(&w);
}
END_TEST

START_TEST(entries_are_compared_up_to_the_top)
{
    struct world w = world_new();
    struct fab_plan_input in = input_of(&w);
    struct fab_scrub_item item = {
        .node = 1, .port = fab_fabric_port_id(w.f, 1, 0), .attr_id = FAB_ATTR_LFT};
    struct fab_scrub_difference d;
    uint32_t top = w.f->switches[1].linear_fdb_top;
    ck_assert_uint_lt(top + 1, FAB_LFT_BLOCK);
    for (uint32_t lid = 0; lid < FAB_LFT_BLOCK; lid++) {
        uint8_t data[FAB_SMP_DATA];
        memcpy(data, fab_target_lft_block(&w.known.lft, 1, 0), sizeof data);
        data[lid] ^= 3;
        ck_assert_int_eq(fab_plan_scrub_differs(&in, &item, data, &d), lid <= top);
        if (lid > top)
            continue;
        ck_assert_str_eq(d.field, "entry");
        ck_assert_uint_eq(d.entry, lid);
        ck_assert_uint_eq(d.held, data[lid]);
        ck_assert_uint_eq(d.wanted, data[lid] ^ 3);
        /* records that the device holds the changed value */
        fab_plan_scrub_record(&in, &item, data, &w.known);
        ck_assert(!fab_plan_scrub_differs(&in, &item, data, &d));
        ck_assert_uint_eq(fab_target_lft_at(&w.known.lft, 1, lid), data[lid]);
    }
    world_fini(&w);
}
END_TEST

START_TEST(pkeys_are_compared_with_what_the_device_held)
{
    struct world w = world_new();
    struct fab_plan_input in = input_of(&w);
    uint32_t port = w.f->nodes[w.f->switch_count].first_port + 1;
    struct fab_scrub_item item = {
        .node = w.f->switch_count, .port = port, .attr_id = FAB_ATTR_PKEY_TABLE};
    struct fab_scrub_difference d;
    for (uint32_t i = 0; i < FAB_PKEY_BLOCK; i++) {
        uint8_t data[FAB_SMP_DATA] = {0};
        memset(data, 0, sizeof data);
        fab_base_put_be16(data, 0xffff);
        fab_base_put_be16(data + 2 * (size_t)i, 0x8123);
        ck_assert(fab_plan_scrub_differs(&in, &item, data, &d));
        ck_assert_str_eq(d.field, "entry");
        ck_assert_uint_eq(d.entry, i);
        ck_assert_uint_eq(d.held, 0x8123);
        ck_assert_uint_eq(d.wanted, i == 0 ? 0xffff : 0);
    }
    uint8_t data[FAB_SMP_DATA] = {0x81, 0x23};
    fab_plan_scrub_record(&in, &item, data, &w.known);
    ck_assert(!fab_plan_scrub_differs(&in, &item, data, &d));
    ck_assert_uint_eq(fab_target_blocks_get(&w.known.pkeys, port, 0)[0], 0x8123);
    world_fini(&w);
}
END_TEST

/* In the report of a difference, entries are numbered from the beginning of the table, not of the
 * block. */
START_TEST(entries_of_later_blocks_are_numbered)
{
    struct world w = world_new();
    struct fab_plan_input in = input_of(&w);
    struct fab_scrub_item lft = {
        .node = 1, .port = fab_fabric_port_id(w.f, 1, 0), .attr_id = FAB_ATTR_LFT, .block = 2};
    struct fab_scrub_item pkeys = {.node = w.f->switch_count,
                                   .port = w.f->nodes[w.f->switch_count].first_port + 1,
                                   .attr_id = FAB_ATTR_PKEY_TABLE,
                                   .block = 2};
    struct fab_scrub_difference d;
    uint8_t data[FAB_SMP_DATA] = {0};
    fab_plan_observed_fini(&w.known);
    ck_assert_int_eq(fab_plan_observed_init(&w.known, w.f->switch_count, 4 * FAB_LFT_BLOCK),
                     FAB_OK);
    w.f->switches[1].linear_fdb_top = 2 * FAB_LFT_BLOCK + 10;
    data[3] = 9;
    /* nothing is known about this block, so nothing can differ */
    ck_assert(!fab_plan_scrub_differs(&in, &lft, data, &d));
    data[3] = 0;
    fab_plan_observed_set_block(&w.known, 1, 2, data);
    data[3] = 9;
    data[10] = 8;
    /* the switch does not use entries above LinearFDBTop, so they must not be reported */
    data[11] = 7;
    ck_assert(fab_plan_scrub_differs(&in, &lft, data, &d));
    ck_assert_uint_eq(d.entry, 2 * FAB_LFT_BLOCK + 3);
    ck_assert_uint_eq(d.entries, 2);
    ck_assert_uint_eq(d.held, 9);
    ck_assert_uint_eq(d.wanted, 0);
    memset(data, 0, sizeof data);
    fab_base_put_be16(data + 2 * 5, 0x8005);
    ck_assert(!fab_plan_scrub_differs(&in, &pkeys, data, &d));
    fab_plan_scrub_record(&in, &pkeys, data, &w.known);
    ck_assert(!fab_plan_scrub_differs(&in, &pkeys, data, &d));
    fab_base_put_be16(data + 2 * 5, 0x8006);
    ck_assert(fab_plan_scrub_differs(&in, &pkeys, data, &d));
    ck_assert_uint_eq(d.entry, 2 * FAB_PKEY_BLOCK + 5);
    ck_assert_uint_eq(d.held, 0x8006);
    ck_assert_uint_eq(d.wanted, 0x8005);
    world_fini(&w);
}
END_TEST

START_TEST(blocks_differ_from_their_first_entry_on)
{
    uint16_t held[FAB_BLOCK_ENTRIES] = {0}, wanted[FAB_BLOCK_ENTRIES] = {0};
    struct fab_scrub_difference d;
    ck_assert(!fab_plan_scrub_blocks_differ(held, wanted, &d));
    ck_assert_str_eq(d.field, "");
    ck_assert_uint_eq(d.entries, 0);
    for (uint32_t i = FAB_BLOCK_ENTRIES; i-- > 0;) {
        held[i] = (uint16_t)(i + 1);
        ck_assert(fab_plan_scrub_blocks_differ(held, wanted, &d));
        ck_assert_str_eq(d.field, "entry");
        ck_assert_uint_eq(d.entry, i);
        ck_assert_uint_eq(d.entries, FAB_BLOCK_ENTRIES - i);
        ck_assert_uint_eq(d.held, i + 1);
        ck_assert_uint_eq(d.wanted, 0);
    }
}
END_TEST

START_TEST(a_port_in_another_state_is_stale)
{
    struct world w = world_new();
    struct fab_plan_input in = input_of(&w);
    uint32_t port = fab_fabric_port_id(w.f, 0, 1);
    struct fab_scrub_item item = {.port = port, .attr_id = FAB_ATTR_PORT_INFO};
    uint8_t data[FAB_SMP_DATA];
    for (int i = 0; i < 3; i++) {
        struct fab_port_info now = fab_fabric_port(w.f, port)->info;
        now.port_state = (uint8_t)(i == 1 ? FAB_STATE_INIT : now.port_state);
        now.phys_state = (uint8_t)(i == 2 ? FAB_PHYS_POLLING : now.phys_state);
        ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_port_info, &now, data, sizeof data),
                         FAB_OK);
        ck_assert_int_eq(fab_plan_scrub_is_stale(&in, &item, data), i > 0);
    }
    world_fini(&w);
}
END_TEST

/* ---- VL tables ------------------------------------------------------------------------------- */

#define LANES 5

/* Records that all devices hold VL tables, which differ by the class of the port: ports of switches
 * have the class `number % 3`, those of hosts the class 3. All blocks of VL arbitration are set. */
static void add_lanes(struct world *w)
{
    struct fab_observed_vls *o = &w->known.vls;
    o->ports = w->f->port_count;
    o->port = calloc(o->ports, sizeof *o->port);
    o->arb = calloc(1, sizeof *o->arb);
    o->arbs = o->arb_room = 1;
    o->arb[0] = (struct fab_arb){.lows = 40, .highs = 2, .whole = true};
    for (unsigned i = 0; i < 40; i++)
        o->arb[0].low[i] =
            (struct fab_arb_entry){.vl = (uint8_t)(i % LANES), .weight = (uint8_t)(i + 1)};
    for (unsigned i = 0; i < 2; i++)
        o->arb[0].high[i] = (struct fab_arb_entry){.vl = (uint8_t)(2 + i), .weight = 9};
    for (unsigned from = 0; from < 4; from++)
        for (unsigned to = 0; to < 4; to++)
            for (unsigned sl = 0; sl < FAB_SLS; sl++)
                o->vl[from][to][sl] = (uint8_t)((from + 2 * to + sl) % LANES);
    for (uint32_t port = 0; port < o->ports; port++) {
        const struct fab_port *p = fab_fabric_port(w->f, port);
        struct fab_port_info *info = &fab_fabric_edit_port(w->f, port)->info;
        bool is_switch = fab_fabric_node_is_switch(w->f, p->node);
        info->cap_mask |= 1u << 6; /* IsSLMappingSupported (IBA 14.2.5.6) */
        info->vlarb_low_cap = info->vlarb_high_cap = 64;
        o->port[port] = (struct fab_observed_vl_port){
            .vls = LANES, .class = is_switch ? p->num % 3 : 3, .arbitrated = 1};
    }
}

/* Reads the VL tables of a whole turn, and returns their number. Checks that no more are read than
 * were counted. */
static uint32_t read_lanes(const struct world *w, struct fab_scrub_item ret[256])
{
    struct fab_plan_input in = input_of(w);
    struct fab_scrub_at at = {0};
    uint32_t found = 0;
    uint64_t counted = 0;
    while (fab_plan_scrub_next(&in, FAB_SCRUB_LANES, &at, 1000000, &ret[found]))
        ck_assert_uint_lt(++found, 256);
    ck_assert(at.over);
    for (uint32_t n = 0; n < w->f->node_count; n++)
        counted += fab_plan_scrub_count(&in, FAB_SCRUB_LANES, n, n + 1);
    ck_assert_uint_le(found, counted);
    ck_assert_uint_eq(fab_plan_scrub_count(&in, FAB_SCRUB_LANES, 0, w->f->node_count), counted);
    return found;
}

static bool is_up(const struct world *w, uint32_t node, uint32_t num)
{
    return num <= w->f->nodes[node].num_ports &&
           (num == 0 ? fab_fabric_node_is_switch(w->f, node)
                     : fab_fabric_port_is_up(w->f, w->f->nodes[node].first_port + num));
}

static void assert_item(const struct world *w, const struct fab_scrub_item *item, uint32_t node,
                        uint32_t num, uint16_t attr_id, uint32_t mod)
{
    ck_assert_uint_eq(item->node, node);
    ck_assert_uint_eq(item->port, w->f->nodes[node].first_port + num);
    ck_assert_uint_eq(item->attr_id, attr_id);
    ck_assert_uint_eq(item->mod, mod);
}

static void assert_turn_over_vl_tables(const struct world *w)
{
    struct fab_plan_input in = input_of(w);
    struct fab_scrub_item item[256];
    uint32_t i = 0, nodes = w->f->node_count, switches = w->f->switch_count;
    uint32_t found = read_lanes(w, item);
    for (uint32_t row = 0; row < 1u << 16; row++)
        for (uint32_t sw = 0; sw < switches; sw++)
            if ((row & 0xff) != 0 && is_up(w, sw, row >> 8) && is_up(w, sw, row & 0xff))
                assert_item(w, &item[i++], sw, 0, FAB_ATTR_SL2VL, row);
    for (uint32_t node = switches; node < nodes; node++)
        if (is_up(w, node, 1))
            assert_item(w, &item[i++], node, 1, FAB_ATTR_SL2VL, 0);
    for (uint32_t row = 4; row < 1024; row++)
        for (uint32_t node = 0; node < nodes; node++)
            if (is_up(w, node, row / 4)) {
                ck_assert_uint_eq(item[i].block, 1 + row % 4);
                assert_item(w, &item[i++], node, row / 4, FAB_ATTR_VLARB,
                            (1 + row % 4) << 16 | (node < switches ? row / 4 : 0));
            }
    ck_assert_uint_eq(found, i);
    ck_assert_uint_eq(fab_plan_scrub_count(&in, FAB_SCRUB_LANES, 0, nodes), i);
}

START_TEST(a_turn_over_vl_tables_reads_in_order)
{
    struct world w = world_new();
    struct fab_plan_input in = input_of(&w);
    struct fab_scrub_item item[256];
    ck_assert_uint_eq(read_lanes(&w, item), 0); /* nothing is known of the devices */
    ck_assert_uint_eq(fab_plan_scrub_count(&in, FAB_SCRUB_LANES, 0, w.f->node_count), 0);
    add_lanes(&w);
    assert_turn_over_vl_tables(&w);
    /* the first link of the first switch goes down; its other ports are read as before */
    uint32_t port = w.f->nodes[0].first_port + 1;
    while (!fab_fabric_port_is_up(w.f, port))
        port++;
    fab_fabric_edit_port(w.f, fab_fabric_port(w.f, port)->peer)->info.phys_state = FAB_PHYS_POLLING;
    fab_fabric_edit_port(w.f, port)->info.phys_state = FAB_PHYS_POLLING;
    w.f->self_port = FAB_NONE;
    assert_turn_over_vl_tables(&w);
    world_fini(&w);
}
END_TEST

START_TEST(blocks_of_vl_arbitration_are_counted)
{
    static const struct {
        uint8_t low, high, blocks;
    } rows[] = {{0, 0, 0}, {1, 0, 1}, {0, 1, 1}, {32, 32, 2}, {33, 1, 3}, {1, 33, 3}, {64, 64, 4}};
    struct world w = world_new();
    struct fab_scrub_item item[256];
    uint32_t port = w.f->nodes[w.f->switch_count].first_port + 1;
    struct fab_port_info *info = &fab_fabric_edit_port(w.f, port)->info;
    struct fab_plan_input in = input_of(&w);
    add_lanes(&w);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        info->vlarb_low_cap = rows[i].low;
        info->vlarb_high_cap = rows[i].high;
        uint32_t blocks = 0, found = read_lanes(&w, item);
        for (uint32_t k = 0; k < found; k++)
            blocks += item[k].attr_id == FAB_ATTR_VLARB && item[k].port == port;
        ck_assert_uint_eq(blocks, rows[i].blocks);
        /* the SL-to-VL table of the host is counted, too */
        ck_assert_uint_eq(
            fab_plan_scrub_count(&in, FAB_SCRUB_LANES, w.f->switch_count, w.f->switch_count + 1),
            1u + rows[i].blocks);
    }
    world_fini(&w);
}
END_TEST

START_TEST(unknown_vl_tables_are_not_read)
{
    struct world w = world_new();
    struct fab_scrub_item item[256];
    add_lanes(&w);
    uint32_t all = read_lanes(&w, item), first = w.f->nodes[0].first_port, up = 0;
    for (uint32_t num = 1; num <= w.f->nodes[0].num_ports; num++)
        up += is_up(&w, 0, num);
    struct fab_observed_vls *o = &w.known.vls;
    uint32_t num = 1;
    while (!is_up(&w, 0, num))
        num++;
    /* as in port and as out port; the arbitration of the port stays known */
    o->port[first + num].vls = 0;
    ck_assert_uint_eq(read_lanes(&w, item), all - 2 * up);
    o->port[first + num].vls = LANES;
    o->port[first].vls = 0; /* all SL-to-VL tables of the switch */
    ck_assert_uint_eq(read_lanes(&w, item), all - (up + 1) * up);
    o->port[first].vls = LANES;
    fab_fabric_edit_port(w.f, first)->info.cap_mask &= ~(1u << 6);
    ck_assert_uint_eq(read_lanes(&w, item), all - (up + 1) * up);
    fab_fabric_edit_port(w.f, first)->info.cap_mask |= 1u << 6;
    for (uint16_t arbitrated = 0; arbitrated <= 2; arbitrated++) {
        o->port[first + num].arbitrated = arbitrated;
        ck_assert_uint_eq(read_lanes(&w, item), arbitrated == 1 ? all : all - 4);
    }
    o->port[first + num].arbitrated = 1;
    o->arb[0].lows = 0;
    ck_assert_uint_eq(read_lanes(&w, item), all);
    o->arb[0].highs = 0;
    uint32_t maps = read_lanes(&w, item);
    for (uint32_t i = 0; i < maps; i++)
        ck_assert_uint_eq(item[i].attr_id, FAB_ATTR_SL2VL);
    o->ports--; /* the values belong to another snapshot */
    ck_assert_uint_eq(read_lanes(&w, item), 0);
    world_fini(&w);
}
END_TEST

/* Returns the VL that a table maps an SL to, by the rule of add_lanes. */
static unsigned lane_of(const struct world *w, const struct fab_scrub_item *item, unsigned sl)
{
    if (!fab_fabric_node_is_switch(w->f, item->node))
        return sl % LANES;
    return ((item->mod >> 8) % 3 + 2 * ((item->mod & 0xff) % 3) + sl) % LANES;
}

static void check_map(struct world *w, const struct fab_scrub_item *item)
{
    struct fab_plan_input in = input_of(w);
    struct fab_scrub_difference d;
    uint8_t data[FAB_SMP_DATA] = {0};
    uint64_t map = 0;
    for (unsigned sl = 0; sl < FAB_SLS; sl++)
        map = map << 4 | lane_of(w, item, sl);
    fab_base_put_be64(data, map);
    ck_assert(!fab_plan_scrub_differs(&in, item, data, &d));
    for (unsigned sl = 0; sl < FAB_SLS; sl++) {
        fab_base_put_be64(data, map ^ UINT64_C(7) << (60 - 4 * sl));
        ck_assert(fab_plan_scrub_differs(&in, item, data, &d));
        ck_assert_str_eq(d.field, "SL");
        ck_assert_uint_eq(d.entry, sl);
        ck_assert_uint_eq(d.entries, 1);
        ck_assert_uint_eq(d.wanted, lane_of(w, item, sl));
        ck_assert_uint_eq(d.held, lane_of(w, item, sl) ^ 7);
    }
}

static void check_arb(struct world *w, const struct fab_scrub_item *item)
{
    struct fab_plan_input in = input_of(w);
    struct fab_scrub_difference d;
    uint8_t data[FAB_SMP_DATA];
    for (unsigned i = 0; i < FAB_BLOCK_ENTRIES; i++) {
        for (int weight = -1; weight < 2; weight++) {
            struct fab_vlarb now;
            fab_target_arb_block(&w->known.vls.arb[0], item->block, &now);
            uint8_t *entry = weight == 1 ? &now.entry[i].weight : &now.entry[i].vl;
            /* the VL of an entry with weight 0 has no meaning */
            bool differs = weight == 1 || (weight == 0 && now.entry[i].weight != 0);
            uint8_t was = *entry;
            *entry ^= weight >= 0 ? 8 : 0;
            uint8_t held = *entry;
            ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_vlarb, &now, data, sizeof data),
                             FAB_OK);
            ck_assert_int_eq(fab_plan_scrub_differs(&in, item, data, &d), differs);
            if (!differs)
                continue;
            ck_assert_str_eq(d.field, weight == 1 ? "weight of entry" : "VL of entry");
            ck_assert_uint_eq(d.entry, i);
            ck_assert_uint_eq(d.entries, 1);
            ck_assert_uint_eq(d.held, held);
            ck_assert_uint_eq(d.wanted, was);
        }
    }
}

START_TEST(vl_tables_are_compared_with_what_the_device_held)
{
    struct world w = world_new();
    struct fab_scrub_item item[256];
    add_lanes(&w);
    uint32_t found = read_lanes(&w, item);
    for (uint32_t i = 0; i < found; i++) {
        if (item[i].attr_id == FAB_ATTR_SL2VL)
            check_map(&w, &item[i]);
        else
            check_arb(&w, &item[i]);
    }
    world_fini(&w);
}
END_TEST

/* A VL table that differed is unknown, until the next plan has written it. */
START_TEST(vl_tables_that_differed_are_forgotten)
{
    struct world w = world_new();
    struct fab_scrub_item item[256], again[256];
    const uint8_t data[FAB_SMP_DATA] = {0};
    add_lanes(&w);
    struct fab_plan_input in = input_of(&w);
    struct fab_observed_vls *o = &w.known.vls;
    struct fab_observed_vl_port *before = calloc(o->ports, sizeof *before);
    memcpy(before, o->port, o->ports * sizeof *before);
    uint32_t found = read_lanes(&w, item);
    for (uint32_t i = 0; i < found; i++) {
        bool is_map = item[i].attr_id == FAB_ATTR_SL2VL;
        uint32_t changed =
            item[i].port + (is_map && item[i].node < w.f->switch_count ? item[i].mod & 0xff : 0);
        fab_plan_scrub_record(&in, &item[i], data, &w.known);
        ck_assert_uint_eq(o->port[changed].vls, is_map ? 0 : LANES);
        ck_assert_uint_eq(o->port[changed].arbitrated, is_map);
        ck_assert_uint_lt(read_lanes(&w, again), found);
        o->port[changed] = before[changed];
        ck_assert_mem_eq(o->port, before, o->ports * sizeof *before);
    }
    o->ports--; /* the values belong to another snapshot, and stay */
    fab_plan_scrub_record(&in, &item[0], data, &w.known);
    ck_assert_mem_eq(o->port, before, o->ports * sizeof *before);
    free(before);
    world_fini(&w);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {
        a_turn_reads_each_known_table_once,
        a_turn_reads_in_order,
        blocks_up_to_the_top_are_counted,
        ports_without_a_link_are_not_read,
        unknown_blocks_are_found,
        each_field_of_a_port_is_named_with_both_values,
        fields_of_a_switch_are_named_with_both_values,
        only_default_ports_with_a_link_differ,
        entries_are_compared_up_to_the_top,
        entries_of_later_blocks_are_numbered,
        blocks_differ_from_their_first_entry_on,
        pkeys_are_compared_with_what_the_device_held,
        a_port_in_another_state_is_stale,
        a_turn_over_vl_tables_reads_in_order,
        blocks_of_vl_arbitration_are_counted,
        unknown_vl_tables_are_not_read,
        vl_tables_are_compared_with_what_the_device_held,
        vl_tables_that_differed_are_forgotten,
    };
    Suite *suite = suite_create("scrub");
    TCase *tcase = tcase_create("scrub");
    tcase_set_timeout(tcase, 60);
    for (size_t i = 0; i < sizeof(tests) / sizeof(*tests); i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
