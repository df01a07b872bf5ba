/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares path records with the tables in the devices. One of 648 hosts requests all path records
 * in one RMPP response. By SMPs, the test reads every LID, PortInfo, forwarding table and
 * SLtoVLMappingTable. For each path record between hosts, it follows the path through these tables.
 * The path must end at the destination of the record, without a loop. MTU and rate of the record
 * must be the lowest ones on the path, and its SL must have a VL on each link. The channel
 * dependencies of all paths must have no cycle.
 */
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/sa/sa.h"
#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/map.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/mads/rmpp.h"
#include "libfabmgr/sa/sa.h"
#include "tests/sim/lab.h"
#include "tests/unit/rmpp_receiver.h"

#define HOSTS 648
#define LIDS 1024
#define WINDOW 256
#define HOPS_MOST 32
#define NO_VL 15

struct walk {
    struct lab lab;
    const struct fab_fabric *f; /* the topology of the fabric */
    uint32_t self;              /* node of the requesting host */
    struct transport wire;
    struct sa *sa;
    uint8_t flight[WINDOW][FAB_MAD_SIZE];
    unsigned flying;
    struct rmpp_receiver table;
    /* The next members are read from the devices. */
    uint32_t owner[LIDS];       /* [LID] id of the port with this LID */
    uint16_t *lid;              /* [ports] LID of each port */
    struct fab_port_info *info; /* [ports] PortInfo of each port */
    uint8_t (*lft)[LIDS];       /* [switches] LFT of each switch */
    /* VL of a packet on the output port of a switch, by [first_vl[node] + input port * number of
     * ports + output port][SL]. */
    uint8_t (*vl)[16];
    uint32_t *first_vl;
    /* The next members are noted while the test follows the paths. */
    bool *seen; /* [HOSTS][HOSTS] true: there was a path record for this pair */
    struct fab_map waits;
    uint32_t lanes, mtus, rates; /* bitsets of the VLs, MTUs and rates on the paths */
};
static struct walk walk;

/* An assertion that is fast when it holds. Check's own assertions write to a file each time, and
 * would take longer than the rest of this test. */
#define must(holds)                                                                                \
    do {                                                                                           \
        if (!(holds))                                                                              \
            ck_abort_msg("not so: %s", #holds);                                                    \
    } while (0)

/* ---- asking ---------------------------------------------------------------------------------- */

static void to_agent(const uint8_t *bytes)
{
    struct transport_mad mad = {.addr = {.slid = 2, .qpn = 1}, .qp = 1, .len = FAB_MAD_SIZE};
    memcpy(mad.bytes, bytes, FAB_MAD_SIZE);
    transport_hand_up(&walk.wire, &mad, 1);
}

/* Delivers the answers in flight[] to the requesting host. The event loop calls it after the agent
 * has sent them. */
static void arrive(void *ctx)
{
    uint8_t reply[FAB_MAD_SIZE], replies[WINDOW][FAB_MAD_SIZE];
    unsigned count = 0;
    (void)ctx;
    for (unsigned i = 0; i < walk.flying; i++)
        if (rmpp_receiver_input(&walk.table, clock_now_us(), walk.flight[i], reply))
            memcpy(replies[count++], reply, sizeof reply);
    walk.flying = 0;
    for (unsigned i = 0; i < count; i++)
        to_agent(replies[i]);
}

static int wire_send(struct transport *t, const struct transport_mad *mad)
{
    (void)t;
    if (walk.flying == WINDOW)
        return FAB_E_BUSY;
    memcpy(walk.flight[walk.flying], mad->bytes, FAB_MAD_SIZE);
    return walk.flying++ == 0 ? loop_post(walk.lab.loop, arrive, NULL) : FAB_OK;
}

static bool table_is_here(struct lab *lab)
{
    (void)lab;
    return walk.table.state != FAB_RMPP_GOING;
}

static void ask_for_all_paths(void)
{
    const struct rmpp_receiver_config patience = {
        .window = WINDOW, .sender = {.timeout_us = 500000, .retries = 20}, .limit = 256 << 20};
    struct fab_mad head = {.mgmt_class = FAB_CLASS_SA,
                           .method = FAB_METHOD_GET_TABLE,
                           .tid = 4711,
                           .attr_id = FAB_SA_PATH_RECORD};
    uint8_t mad[FAB_MAD_SIZE];
    ck_assert_int_eq(fab_wire_gmp_pack(&head, NULL, 0, mad), FAB_OK);
    rmpp_receiver_init(&walk.table, &patience, clock_now_us());
    to_agent(mad);
    lab_run(&walk.lab, 60, table_is_here, "the table");
    ck_assert_int_eq(walk.table.state, FAB_RMPP_DONE);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads an attribute of the port with LID `lid`. Returns false if no port has this LID. */
static bool read_attr(uint16_t lid, uint16_t attr_id, uint32_t mod, uint8_t data[FAB_SMP_DATA])
{
    struct fab_mad mad = {.mgmt_class = FAB_CLASS_SMP_LID,
                          .method = FAB_METHOD_GET,
                          .tid = 1,
                          .attr_id = attr_id,
                          .attr_mod = mod};
    uint8_t bytes[FAB_MAD_SIZE], reply[FAB_MAD_SIZE];
    must(fab_wire_smp_pack(&mad, NULL, bytes) == FAB_OK);
    if (fab_sim_send(walk.lab.sim, walk.self, 1, lid, bytes, reply) != 1)
        return false;
    must(fab_base_get_be16(reply + 4) == 0);
    memcpy(data, reply + 64, FAB_SMP_DATA);
    return true;
}

static void read_attr_into(uint16_t lid, const struct fab_attr *attr, uint32_t mod, void *ret)
{
    uint8_t data[FAB_SMP_DATA];
    must(read_attr(lid, attr->id, mod, data));
    must(fab_wire_attr_unpack(attr, data, sizeof data, ret) == FAB_OK);
}

static void read_ports(uint16_t lid, uint32_t node)
{
    const struct fab_node *n = &walk.f->nodes[node];
    bool is_switch = fab_fabric_node_is_switch(walk.f, node);
    struct fab_sl2vl map;
    for (unsigned out = is_switch ? 0 : 1; out <= n->num_ports; out++) {
        read_attr_into(lid, &fab_wire_attr_port_info, out, &walk.info[n->first_port + out]);
        for (unsigned in = is_switch ? 0 : out; in <= (is_switch ? n->num_ports : out); in++) {
            read_attr_into(lid, &fab_wire_attr_sl2vl, is_switch ? in << 8 | out : 0, &map);
            memcpy(walk.vl[walk.first_vl[node] + in * (n->num_ports + 1u) + out], map.vl, 16);
        }
    }
}

static void read_lft(uint16_t lid, uint32_t sw)
{
    for (unsigned block = 0; block < LIDS / 64; block++)
        must(read_attr(lid, FAB_ATTR_LFT, block, walk.lft[sw] + block * 64));
}

static void read_all(void)
{
    const struct fab_fabric *f = walk.f;
    uint32_t tables = 0, nodes = 0;
    walk.lid = calloc(f->port_count, sizeof *walk.lid);
    walk.info = calloc(f->port_count, sizeof *walk.info);
    walk.lft = calloc(f->switch_count, sizeof *walk.lft);
    walk.first_vl = calloc(f->node_count, sizeof *walk.first_vl);
    for (uint32_t node = 0; node < f->node_count; node++) {
        walk.first_vl[node] = tables;
        tables += (f->nodes[node].num_ports + 1u) * (f->nodes[node].num_ports + 1u);
    }
    walk.vl = calloc(tables, sizeof *walk.vl);
    for (uint16_t lid = 0; lid < LIDS; lid++) {
        struct fab_node_info info;
        uint8_t data[FAB_SMP_DATA];
        walk.owner[lid] = FAB_NONE;
        if (lid == 0 || !read_attr(lid, FAB_ATTR_NODE_INFO, 0, data))
            continue;
        fab_wire_attr_unpack(&fab_wire_attr_node_info, data, sizeof data, &info);
        uint32_t node = fab_fabric_node_by_guid(f, info.node_guid);
        must(node != FAB_NONE);
        bool is_switch = fab_fabric_node_is_switch(f, node);
        walk.owner[lid] = f->nodes[node].first_port + (is_switch ? 0 : info.local_port);
        walk.lid[walk.owner[lid]] = lid;
        read_ports(lid, node);
        if (is_switch)
            read_lft(lid, node);
        nodes++;
    }
    ck_assert_uint_eq(nodes, f->node_count);
}

/* ---- walking --------------------------------------------------------------------------------- */

struct way {
    uint32_t mbps;
    uint8_t mtu;
    /* The last channel of the path so far: 16 * port id of the sending port + VL; FAB_NONE: no
     * channel yet. */
    uint32_t last;
};

static uint8_t lane(uint32_t node, uint32_t in, uint32_t out, uint8_t sl)
{
    const struct fab_node *n = &walk.f->nodes[node];
    return walk.vl[walk.first_vl[node] + (in - n->first_port) * (n->num_ports + 1u) +
                   (out - n->first_port)][sl];
}

/* Follows the link from port `out` on this VL. Adds the dependency of this channel on the path's
 * last channel. Returns the port at the other end of the link. */
static uint32_t over(struct way *w, uint32_t out, uint8_t vl)
{
    const struct fab_port_info *info = &walk.info[out];
    uint32_t peer = fab_fabric_port(walk.f, out)->peer, channel = out * 16 + vl;
    must(peer != FAB_NONE);
    must(vl != NO_VL);
    must(vl < fab_wire_op_vls_count(info->op_vls));
    const struct fab_port_info *ends[] = {info, &walk.info[peer]};
    for (int i = 0; i < 2; i++) {
        w->mbps = fab_wire_link_rate(ends[i]) < w->mbps ? fab_wire_link_rate(ends[i]) : w->mbps;
        w->mtu = ends[i]->neighbor_mtu < w->mtu ? ends[i]->neighbor_mtu : w->mtu;
    }
    if (w->last != FAB_NONE)
        must(fab_base_map_put(&walk.waits, (uint64_t)w->last << 32 | channel, 1) == FAB_OK);
    w->last = channel;
    walk.lanes |= 1u << vl;
    return peer;
}

static struct way go(uint32_t src, uint16_t dlid, uint8_t sl)
{
    struct way w = {.mbps = UINT32_MAX, .mtu = 5, .last = FAB_NONE};
    uint32_t at = over(&w, src, lane(fab_fabric_port(walk.f, src)->node, src, src, sl));
    for (int hops = 0; fab_fabric_node_is_switch(walk.f, fab_fabric_port(walk.f, at)->node);
         hops++) {
        uint32_t sw = fab_fabric_port(walk.f, at)->node;
        uint8_t out = walk.lft[sw][dlid];
        must(hops < HOPS_MOST);
        must(out > 0 && out <= walk.f->nodes[sw].num_ports);
        uint32_t port = walk.f->nodes[sw].first_port + out;
        at = over(&w, port, lane(sw, at, port, sl));
    }
    must(at == walk.owner[dlid]);
    return w;
}

static uint32_t host_number(uint32_t port)
{
    return fab_fabric_port(walk.f, port)->node - walk.f->switch_count;
}

/* Checks the path of a path record. Returns false if the source or the destination is no host. */
static bool check_path(const struct fab_wire_path_record *r)
{
    must(r->slid < LIDS && r->dlid < LIDS);
    uint32_t src = walk.owner[r->slid], dst = walk.owner[r->dlid];
    must(src != FAB_NONE && dst != FAB_NONE);
    must(r->sgid[1] == fab_fabric_port(walk.f, src)->guid);
    must(r->dgid[1] == fab_fabric_port(walk.f, dst)->guid);
    if (fab_fabric_node_is_switch(walk.f, fab_fabric_port(walk.f, src)->node) ||
        fab_fabric_node_is_switch(walk.f, fab_fabric_port(walk.f, dst)->node))
        return false;
    bool *seen = &walk.seen[host_number(src) * HOSTS + host_number(dst)];
    must(!*seen);
    *seen = true;
    if (src == dst)
        return true;
    struct way w = go(src, r->dlid, r->sl);
    if (r->mtu != w.mtu || fab_sa_rate_mbps(r->rate) != w.mbps)
        ck_abort_msg("%u to %u: MTU %u, %u Mb/s; walked: %u, %u", r->slid, r->dlid, r->mtu,
                     fab_sa_rate_mbps(r->rate), w.mtu, w.mbps);
    walk.mtus |= 1u << r->mtu;
    walk.rates |= 1u << r->rate;
    return true;
}

static uint32_t check_paths(void)
{
    uint32_t found = 0;
    ck_assert_uint_eq(fab_base_get_be16(walk.table.head + 44) * 8u, FAB_PATH_RECORD_LEN);
    ck_assert_uint_eq(walk.table.len % FAB_PATH_RECORD_LEN, 0);
    for (size_t at = 0; at < walk.table.len; at += FAB_PATH_RECORD_LEN) {
        struct fab_wire_path_record r;
        ck_assert_int_eq(fab_wire_rec_unpack(&fab_wire_path_record, walk.table.data + at,
                                             FAB_PATH_RECORD_LEN, &r),
                         FAB_OK);
        found += check_path(&r);
    }
    return found;
}

/* Removes channels that depend on no remaining channel, until no such channel is left. If some
 * channels remain, their dependencies have a cycle, and the test fails. */
static void check_no_circle(void)
{
    struct fab_map *m = &walk.waits;
    uint32_t channels = walk.f->port_count * 16, gone = 1;
    bool *there = calloc(channels, sizeof *there), *waits = malloc(channels);
    uint64_t key;
    uint32_t value;
    must(there && waits);
    for (size_t c = 0; fab_base_map_next(m, &c, &key, &value);)
        there[key >> 32] = there[(uint32_t)key] = true;
    while (gone > 0) {
        gone = 0;
        memset(waits, 0, channels);
        for (size_t c = 0; fab_base_map_next(m, &c, &key, &value);)
            waits[key >> 32] |= there[(uint32_t)key];
        for (uint32_t i = 0; i < channels; i++)
            if (there[i] && !waits[i]) {
                there[i] = false;
                gone++;
            }
    }
    for (uint32_t i = 0; i < channels; i++)
        /* i: 16 * port id + VL. A channel that remains is on a cycle, or its dependencies lead to
         * one. */
        must(!there[i]);
    free(there);
    free(waits);
}

/* ---- fabrics --------------------------------------------------------------------------------- */

/* Makes a fabric in which some links have a quarter of the usual width, and some endports have a
 * smaller MTU than the others. */
static struct fab_builder *motley(struct fab_builder *b)
{
    struct fab_fabric *f;
    ck_assert_int_eq(fab_fabric_builder_seal(b, &f), FAB_OK);
    fab_fabric_builder_free(b);
    for (uint32_t p = 0; p < f->port_count; p++) {
        struct fab_port_info *info = &fab_fabric_edit_port(f, p)->info;
        if (fab_fabric_port(f, p)->peer == FAB_NONE)
            continue;
        if (p % 23 == 0)
            info->width_supported = info->width_enabled = info->width_active = 1;
        if (p % 31 == 0)
            info->mtu_cap = 3;
    }
    b = fab_fabric_builder_from(f);
    fab_fabric_unref(f);
    return b;
}

static void all_ways_are_walked(struct fab_builder *b, bool lanes)
{
    static const struct transport_ops ops = {.send = wire_send};
    memset(&walk, 0, sizeof walk);
    lab_bring_up(&walk.lab, motley(b), NULL);
    walk.f = fab_sim_fabric(walk.lab.sim);
    walk.self = walk.f->node_count - 1;
    walk.wire.ops = &ops;
    walk.seen = calloc(HOSTS, HOSTS);
    struct sa_input in = {.loop = walk.lab.loop, .transport = &walk.wire, .sm = walk.lab.sm};
    ck_assert_int_eq(sa_start(&in, &walk.sa), FAB_OK);
    read_all();
    ask_for_all_paths();
    ck_assert_uint_eq(check_paths(), HOSTS * HOSTS);
    check_no_circle();
    ck_assert_int_eq(walk.lanes > 1, lanes);
    ck_assert_int_ge(__builtin_popcount(walk.mtus), 2);
    ck_assert_int_ge(__builtin_popcount(walk.rates), 2);
    sa_stop(walk.sa);
    lab_run_for(&walk.lab, 0.1);
    rmpp_receiver_fini(&walk.table);
    fab_base_map_fini(&walk.waits);
    free(walk.lid);
    free(walk.info);
    free(walk.lft);
    free(walk.vl);
    free(walk.first_vl);
    free(walk.seen);
    lab_close(&walk.lab);
}

START_TEST(leaf_spine)
{
    all_ways_are_walked(lab_leaf_spine(18, 9, 36), false);
}
END_TEST

START_TEST(torus_with_lanes)
{
    struct fab_torus_spec spec = {.dimensions = 2, .size = {6, 6}, .hosts = 18, .parallel = 1};
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_fabric_generate_torus(&spec, &b), FAB_OK);
    all_ways_are_walked(b, true);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sa walk");
    TCase *tcase = tcase_create("648 hosts");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, leaf_spine);
    tcase_add_test(tcase, torus_with_lanes);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
