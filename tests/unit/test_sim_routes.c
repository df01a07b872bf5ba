/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the simulated fabric forwards MADs: by directed routes, by LIDs and tables, and where MADs
 * get lost.
 */
#include "tests/unit/sim_lab.h"

/* ---- directed routes ------------------------------------------------------------------------- */

static int send_directed(struct lab *x, const struct fab_path *path, uint8_t hop_pointer,
                         uint8_t reply[FAB_MAD_SIZE])
{
    struct fab_mad mad = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                          .method = FAB_METHOD_GET,
                          .attr_id = FAB_ATTR_NODE_INFO,
                          .tid = 0x1122334455667788,
                          .hop_pointer = hop_pointer,
                          .path = *path};
    uint8_t bytes[FAB_MAD_SIZE];
    ck_assert_int_eq(fab_wire_smp_pack(&mad, NULL, bytes), FAB_OK);
    return fab_sim_send(x->r.sim, x->r.node, x->r.port, 0xffff, bytes, reply);
}

START_TEST(directed_routes)
{
    struct lab x = lab_new();
    uint8_t reply[FAB_MAD_SIZE];
    uint32_t up = uplink(&x), far = fab_fabric_port(x.f, up)->peer;
    struct fab_path path = {.hops = 2, .port = {0, x.r.port, fab_fabric_port(x.f, up)->num}};
    ck_assert_int_eq(send_directed(&x, &path, 0, reply), 1);
    ck_assert_uint_eq(reply[3], FAB_METHOD_GET_RESP);
    ck_assert_uint_eq(reply[4], 0x80); /* the direction bit says that this is the way back */
    ck_assert_uint_eq(reply[6], 0);    /* the hop pointer of a returned SMP is 0 */
    ck_assert_uint_eq(reply[7], 2);    /* hop count */
    ck_assert_uint_eq(reply[192 + 2], fab_fabric_port(x.f, far)->num); /* return path */
    ck_assert_uint_eq(reply[64 + 36], fab_fabric_port(x.f, far)->num); /* LocalPortNum */

    /* a sender must set the hop pointer to 0 */
    ck_assert_int_eq(send_directed(&x, &path, 1, reply), 0);
    path.port[2] = 0;
    ck_assert_int_eq(send_directed(&x, &path, 0, reply), 0);
    path.port[2] = 254;
    ck_assert_int_eq(send_directed(&x, &path, 0, reply), 0);
    path.port[2] = fab_fabric_port(
                       x.f, fab_fabric_port(x.f, fab_fabric_port_id(x.f, x.r.node, x.r.port))->peer)
                       ->num;
    /* the second hop leads back to the sender, which answers */
    ck_assert_int_eq(send_directed(&x, &path, 0, reply), 1);
    path.hops = 3;
    path.port[3] = 1;
    /* the route leads through an adapter, which does not forward */
    ck_assert_int_eq(send_directed(&x, &path, 0, reply), 0);
    path.port[1] = (uint8_t)(x.r.port + 1);
    path.hops = 1;
    /* the route leaves through another port than that of the sender */
    ck_assert_int_eq(send_directed(&x, &path, 0, reply), 0);
    lab_free(&x);
}
END_TEST

START_TEST(not_a_mad)
{
    struct lab x = lab_new();
    struct fab_mad mad = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                          .method = FAB_METHOD_GET,
                          .attr_id = FAB_ATTR_NODE_INFO};
    uint8_t bytes[FAB_MAD_SIZE], reply[FAB_MAD_SIZE];
    fab_wire_smp_pack(&mad, NULL, bytes);
    ck_assert_int_eq(fab_sim_send(x.r.sim, x.r.node, x.r.port, 0, bytes, reply), 1);
    ck_assert_int_eq(fab_sim_send(x.r.sim, 10000, x.r.port, 0, bytes, reply), FAB_E_INVAL);
    ck_assert_int_eq(fab_sim_send(x.r.sim, x.r.node, 99, 0, bytes, reply), FAB_E_INVAL);
    ck_assert_int_eq(fab_sim_send(x.r.sim, x.r.node, 0, 0, bytes, reply), FAB_E_INVAL);
    bytes[7] = 64; /* a hop count beyond the maximum of 63 */
    ck_assert_int_eq(fab_sim_send(x.r.sim, x.r.node, x.r.port, 0, bytes, reply), FAB_E_FORMAT);
    bytes[7] = 0;
    bytes[0] = 2; /* an unknown BaseVersion */
    ck_assert_int_eq(fab_sim_send(x.r.sim, x.r.node, x.r.port, 0, bytes, reply), FAB_E_FORMAT);
    lab_free(&x);
}
END_TEST

/* A request that goes to a switch by LID, and from there by directed route. ibportstate sends such
 * requests. */
START_TEST(directed_routes_from_a_lid)
{
    struct lab x = lab_managed();
    uint32_t up = uplink(&x), far = fab_fabric_port(x.f, up)->peer;
    uint16_t ours = (uint16_t)(x.r.node + 1), leaf = (uint16_t)(x.leaf + 1);
    struct fab_mad mad = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                          .method = FAB_METHOD_GET,
                          .attr_id = FAB_ATTR_NODE_INFO,
                          .dr_slid = ours,
                          .path = {.hops = 1, .port = {0, fab_fabric_port(x.f, up)->num}}};
    uint8_t bytes[FAB_MAD_SIZE], reply[FAB_MAD_SIZE];
    struct fab_node_info info;
    ck_assert_int_eq(fab_wire_smp_pack(&mad, NULL, bytes), FAB_OK);
    ck_assert_int_eq(fab_sim_send(x.r.sim, x.r.node, x.r.port, leaf, bytes, reply), 1);
    fab_wire_attr_unpack(&fab_wire_attr_node_info, reply + 64, FAB_SMP_DATA, &info);
    ck_assert_uint_eq(info.node_guid, x.f->nodes[fab_fabric_port(x.f, far)->node].guid);
    ck_assert_int_eq(fab_sim_send(x.r.sim, x.r.node, x.r.port, 500, bytes, reply), 0);
    /* DrSLID is the LID of another node, so the answer does not come back */
    mad.dr_slid = (uint16_t)(ours + 1);
    ck_assert_int_eq(fab_wire_smp_pack(&mad, NULL, bytes), FAB_OK);
    ck_assert_int_eq(fab_sim_send(x.r.sim, x.r.node, x.r.port, leaf, bytes, reply), 0);
    lab_free(&x);
}
END_TEST

/* ---- LID routes ------------------------------------------------------------------------------ */

static void set_lft_entry(struct lab *x, uint32_t sw, uint32_t lid, uint8_t port)
{
    uint8_t data[FAB_SMP_DATA];
    ck_assert_int_eq(get(x, sw, FAB_ATTR_LFT, lid / 64, data), 0);
    data[lid % 64] = port;
    ck_assert_int_eq(set(x, sw, FAB_ATTR_LFT, lid / 64, data), 0);
}

START_TEST(lids_lead_where_tables_say)
{
    struct lab x = lab_new();
    uint64_t guid = 0;
    ck_assert_int_eq(ask_lid(&x, 1, &guid), 0); /* before any LID is assigned */
    lab_free(&x);
    x = lab_managed();
    for (uint32_t node = 0; node < x.f->node_count; node++) {
        ck_assert_int_eq(ask_lid(&x, (uint16_t)(node + 1), &guid), 1);
        ck_assert_uint_eq(guid, x.f->nodes[node].guid);
    }
    ck_assert_int_eq(ask_lid(&x, 0, &guid), 0);
    ck_assert_int_eq(ask_lid(&x, 500, &guid), 0);
    ck_assert_int_eq(ask_lid(&x, 0xc001, &guid), 0);
    lab_free(&x);
}
END_TEST

/* Sends an SMP whose route has a directed part. Before it, after it, or both, the SMP is LID
 * routed. */
static int send_mixed(struct lab *x, uint16_t dlid, uint16_t dr_slid, uint16_t dr_dlid,
                      struct fab_path path, uint8_t reply[FAB_MAD_SIZE])
{
    struct fab_mad mad = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                          .method = FAB_METHOD_GET,
                          .attr_id = FAB_ATTR_NODE_INFO,
                          .dr_slid = dr_slid,
                          .dr_dlid = dr_dlid,
                          .path = path};
    uint8_t bytes[FAB_MAD_SIZE];
    ck_assert_int_eq(fab_wire_smp_pack(&mad, NULL, bytes), FAB_OK);
    return fab_sim_send(x->r.sim, x->r.node, x->r.port, dlid, bytes, reply);
}

static uint64_t guid_in(const uint8_t reply[FAB_MAD_SIZE])
{
    struct fab_node_info info;
    fab_wire_attr_unpack(&fab_wire_attr_node_info, reply + 64, FAB_SMP_DATA, &info);
    return info.node_guid;
}

/* The request first goes by directed route over the leaf to a spine, and from there by LID to each
 * node. */
START_TEST(directed_routes_to_a_lid)
{
    struct lab x = lab_managed();
    uint16_t ours = (uint16_t)(x.r.node + 1), leaf = (uint16_t)(x.leaf + 1);
    const struct fab_path whole = {.hops = 2, .port = {0, x.r.port, x.up}}, none = {.hops = 0},
                          half = {.hops = 1, .port = {0, x.up}};
    uint8_t reply[FAB_MAD_SIZE];
    for (uint16_t lid = 1; lid <= x.f->node_count; lid++) {
        ck_assert_int_eq(send_mixed(&x, 0xffff, 0, lid, whole, reply), 1);
        ck_assert_uint_eq(guid_in(reply), x.f->nodes[lid - 1].guid);
        ck_assert_uint_eq(reply[6], 0); /* the hop pointer of a returned SMP is 0 */
        ck_assert_int_eq(send_mixed(&x, leaf, ours, lid, half, reply), 1);
        ck_assert_uint_eq(guid_in(reply), x.f->nodes[lid - 1].guid);
    }
    ck_assert_int_eq(send_mixed(&x, 0xffff, 0, 500, whole, reply), 0);
    /* where an SMP changes between LID and directed route, there must be a switch and not an
     * adapter */
    ck_assert_int_eq(send_mixed(&x, 0xffff, 0, leaf, none, reply), 0);
    ck_assert_int_eq(send_mixed(&x, ours, ours, 0, half, reply), 0);
    /* the directed part has no hops */
    ck_assert_int_eq(send_mixed(&x, leaf, ours, 0, none, reply), 1);
    ck_assert_uint_eq(guid_in(reply), x.f->nodes[x.leaf].guid);
    ck_assert_int_eq(send_mixed(&x, leaf, ours, ours, none, reply), 1);
    ck_assert_uint_eq(guid_in(reply), x.f->nodes[x.r.node].guid);
    /* Without this entry, no answer gets from the leaf to the spine's LID. So answers of hosts at
     * this leaf get lost, but answers of hosts at the other leaf do not. */
    set_lft_entry(&x, x.leaf, x.spine + 1, 0xff);
    uint32_t far = x.f->node_count - 1;
    ck_assert_int_eq(send_mixed(&x, 0xffff, 0, (uint16_t)(far + 1), whole, reply), 1);
    ck_assert_int_eq(send_mixed(&x, 0xffff, 0, ours, whole, reply), 0);
    lab_free(&x);
}
END_TEST

/* A manager at a host gets a request whose route has a directed and a LID-routed part. Its answer
 * must arrive at the sender. */
START_TEST(managers_answer_along_mixed_routes)
{
    struct lab x = lab_manager();
    uint32_t other = x.f->node_count - 1;
    struct fab_mad mad = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                          .method = FAB_METHOD_GET,
                          .attr_id = FAB_ATTR_SM_INFO,
                          .dr_slid = (uint16_t)(x.r.node + 1),
                          .dr_dlid = (uint16_t)(other + 1),
                          .path = {.hops = 1, .port = {0, x.up}}};
    uint8_t bytes[FAB_MAD_SIZE], reply[FAB_MAD_SIZE];
    struct fab_sim_delivery mail;
    ck_assert_int_eq(fab_sim_attach(x.r.sim, other, 1, false), FAB_OK);
    ck_assert_int_eq(fab_wire_smp_pack(&mad, NULL, bytes), FAB_OK);
    ck_assert_int_eq(
        fab_sim_send(x.r.sim, x.r.node, x.r.port, (uint16_t)(x.leaf + 1), bytes, reply), 0);
    ck_assert(fab_sim_receive(x.r.sim, &mail));
    ck_assert_uint_eq(mail.node, other);
    /* on the LID-routed part, the SLID is the LID of the switch where this part began */
    ck_assert_uint_eq(mail.slid, x.spine + 1);
    ck_assert_int_eq(fab_wire_smp_answer(mail.mad, 0, NULL, bytes), FAB_OK);
    ck_assert_int_eq(fab_sim_send(x.r.sim, other, 1, mail.slid, bytes, reply), 0);
    ck_assert(fab_sim_receive(x.r.sim, &mail));
    ck_assert_uint_eq(mail.node, x.r.node);
    ck_assert_uint_eq(mail.mad[3], FAB_METHOD_GET_RESP);
    lab_free(&x);
}
END_TEST

/* A route leads back and forth between two switches. It may have FAB_MAX_HOPS hops, but not
 * more. */
START_TEST(hop_limits)
{
    struct lab x = lab_new();
    uint8_t reply[FAB_MAD_SIZE];
    struct fab_path path = {.hops = FAB_MAX_HOPS, .port = {0, x.r.port}};
    uint32_t far = fab_fabric_port(x.f, fab_fabric_port_id(x.f, x.leaf, x.up))->peer;
    for (unsigned hop = 2; hop <= FAB_MAX_HOPS; hop++)
        path.port[hop] = hop % 2 == 0 ? x.up : fab_fabric_port(x.f, far)->num;
    ck_assert_int_eq(send_directed(&x, &path, 0, reply), 1);
    ck_assert_uint_eq(guid_in(reply), x.f->nodes[x.leaf].guid);
    ck_assert_uint_eq(reply[192 + FAB_MAX_HOPS], x.up);
    struct fab_mad mad = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                          .method = FAB_METHOD_GET,
                          .attr_id = FAB_ATTR_NODE_INFO,
                          .path = path};
    uint8_t bytes[FAB_MAD_SIZE];
    for (unsigned hops = FAB_MAX_HOPS + 1; hops < 256; hops++) {
        fab_wire_smp_pack(&mad, NULL, bytes);
        bytes[7] = (uint8_t)hops;
        ck_assert_int_eq(fab_sim_send(x.r.sim, x.r.node, x.r.port, 0xffff, bytes, reply),
                         FAB_E_FORMAT);
    }
    lab_free(&x);
}
END_TEST

START_TEST(wrong_tables_lose)
{
    struct lab x = lab_managed();
    uint32_t up = uplink(&x), spine = fab_fabric_peer_node(x.f, up), top;
    uint16_t lid = (uint16_t)(spine + 1);
    uint64_t guid;
    const uint8_t *lft = fab_sim_lft(x.r.sim, x.leaf, &top);
    ck_assert_ptr_nonnull(lft);
    ck_assert_uint_eq(top, x.f->node_count);
    uint8_t good = lft[lid],
            home = fab_fabric_port(
                       x.f, fab_fabric_port(x.f, fab_fabric_port_id(x.f, x.r.node, x.r.port))->peer)
                       ->num;
    set_lft_entry(&x, x.leaf, lid, 0xff);
    ck_assert_int_eq(ask_lid(&x, lid, &guid), 0);
    set_lft_entry(&x, x.leaf, lid, 0);
    ck_assert_int_eq(ask_lid(&x, lid, &guid), 0);
    set_lft_entry(&x, x.leaf, lid, 253);
    ck_assert_int_eq(ask_lid(&x, lid, &guid), 0);
    /* the entry leads back to the sender's port */
    set_lft_entry(&x, x.leaf, lid, home);
    ck_assert_int_eq(ask_lid(&x, lid, &guid), 0);
    set_lft_entry(&x, x.leaf, lid, good);
    ck_assert_int_eq(ask_lid(&x, lid, &guid), 1);
    /* the spine has no entry for the sender, so the answer gets lost */
    set_lft_entry(&x, spine, x.r.node + 1, 0xff);
    ck_assert_int_eq(ask_lid(&x, lid, &guid), 0);
    lab_free(&x);
}
END_TEST

START_TEST(loops_and_tops_lose)
{
    struct lab x = lab_managed();
    uint32_t up = uplink(&x), far = fab_fabric_port(x.f, up)->peer;
    uint16_t lid = (uint16_t)x.f->node_count; /* the highest LID */
    uint8_t data[FAB_SMP_DATA];
    struct fab_switch_info info;
    uint64_t guid;
    set_lft_entry(&x, x.leaf, lid, fab_fabric_port(x.f, up)->num);
    set_lft_entry(&x, fab_fabric_port(x.f, far)->node, lid, fab_fabric_port(x.f, far)->num);
    ck_assert_int_eq(ask_lid(&x, lid, &guid), 0);
    ck_assert_int_eq(ask_lid(&x, (uint16_t)(lid - 1), &guid), 1);
    get(&x, x.leaf, FAB_ATTR_SWITCH_INFO, 0, data);
    fab_wire_attr_unpack(&fab_wire_attr_switch_info, data, sizeof data, &info);
    info.linear_fdb_top = (uint16_t)(lid - 2);
    fab_wire_attr_pack(&fab_wire_attr_switch_info, &info, data, sizeof data);
    ck_assert_int_eq(set(&x, x.leaf, FAB_ATTR_SWITCH_INFO, 0, data), 0);
    ck_assert_int_eq(ask_lid(&x, (uint16_t)(lid - 1), &guid), 0);
    info.linear_fdb_top = info.linear_fdb_cap;
    fab_wire_attr_pack(&fab_wire_attr_switch_info, &info, data, sizeof data);
    ck_assert_int_eq(set(&x, x.leaf, FAB_ATTR_SWITCH_INFO, 0, data), FAB_SMP_BAD_VALUE);
    lab_free(&x);
}
END_TEST

/* MADs of subnet management pass links in state Init, but all other MADs need Active links. */
START_TEST(data_needs_active_links)
{
    struct lab x = lab_managed();
    uint32_t up = uplink(&x), spine = fab_fabric_peer_node(x.f, up);
    uint8_t mad[FAB_MAD_SIZE] = {1, FAB_CLASS_SA, 2, FAB_METHOD_GET}, reply[FAB_MAD_SIZE];
    struct fab_sim_delivery mail;
    uint64_t guid;
    ck_assert_int_eq(fab_sim_attach(x.r.sim, spine, 0, false), FAB_OK);
    ck_assert_int_eq(fab_sim_send(x.r.sim, x.r.node, x.r.port, (uint16_t)(spine + 1), mad, reply),
                     0);
    ck_assert(fab_sim_receive(x.r.sim, &mail));
    ck_assert_uint_eq(mail.node, spine);
    ck_assert_uint_eq(mail.slid, x.r.node + 1);
    ck_assert(!fab_sim_receive(x.r.sim, &mail));
    ck_assert_int_eq(set_states(&x, x.leaf, fab_fabric_port(x.f, up)->num, FAB_STATE_DOWN, 0), 0);
    while (fab_sim_receive(x.r.sim, &mail)) {
    }
    ck_assert_int_eq(fab_sim_send(x.r.sim, x.r.node, x.r.port, (uint16_t)(spine + 1), mad, reply),
                     0);
    ck_assert(!fab_sim_receive(x.r.sim, &mail));
    /* SMPs use VL 15, which works in state Init */
    ck_assert_int_eq(ask_lid(&x, (uint16_t)(spine + 1), &guid), 1);
    lab_free(&x);
}
END_TEST

/* ---- counters of packets that tables drop ------------------------------------------------------
 */

START_TEST(losses_are_counted)
{
    struct lab x = lab_managed();
    uint16_t lid = (uint16_t)(x.spine + 1);
    uint8_t home = fab_fabric_port(
                       x.f, fab_fabric_port(x.f, fab_fabric_port_id(x.f, x.r.node, x.r.port))->peer)
                       ->num;
    uint64_t guid;
    set_lft_entry(&x, x.leaf, lid, 0xff);
    ck_assert_int_eq(ask_lid(&x, lid, &guid), 0);
    ck_assert_uint_eq(fab_sim_counter(x.r.sim, x.leaf, home, FAB_SIM_RCV_SWITCH_RELAY_ERRORS), 1);
    ck_assert_uint_eq(fab_sim_counter(x.r.sim, x.leaf, home, FAB_SIM_DLID_MAPPING_ERRORS), 1);
    /* the entry leads back to the port by which the packet enters the switch */
    set_lft_entry(&x, x.leaf, lid, home);
    ck_assert_int_eq(ask_lid(&x, lid, &guid), 0);
    ck_assert_uint_eq(fab_sim_counter(x.r.sim, x.leaf, home, FAB_SIM_RCV_SWITCH_RELAY_ERRORS), 2);
    ck_assert_uint_eq(fab_sim_counter(x.r.sim, x.leaf, home, FAB_SIM_LOOPING_ERRORS), 1);
    set_lft_entry(&x, x.leaf, lid, x.up);
    ck_assert_int_eq(ask_lid(&x, lid, &guid), 1);
    fab_sim_unlink(x.r.sim, x.leaf, x.up);
    ck_assert_int_eq(ask_lid(&x, lid, &guid), 0);
    ck_assert_uint_ge(fab_sim_counter(x.r.sim, x.leaf, x.up, FAB_SIM_XMIT_DISCARDS), 1);
    ck_assert_uint_ge(fab_sim_counter(x.r.sim, x.leaf, x.up, FAB_SIM_INACTIVE_DISCARDS), 1);
    lab_free(&x);
}
END_TEST

/* ---- multicast ------------------------------------------------------------------------------- */

static void set_mft(struct lab *x, uint32_t sw, uint16_t mask)
{
    uint8_t data[FAB_SMP_DATA];
    ck_assert_int_eq(get(x, sw, FAB_ATTR_MFT, 0, data), 0);
    fab_base_put_be16(data + 2 * 3, mask); /* MLID 0xc003 is entry 3 of the block */
    ck_assert_int_eq(set(x, sw, FAB_ATTR_MFT, 0, data), 0);
}

/* Sends a packet to MLID 0xc003. Returns the number of receivers, and their LIDs in *ret_lids. */
static unsigned send_to_group(struct lab *x, uint32_t *ret_lids)
{
    const struct fab_mad mad = {.mgmt_class = 0x30, .method = FAB_METHOD_SEND};
    uint8_t bytes[FAB_MAD_SIZE], reply[FAB_MAD_SIZE];
    struct fab_sim_delivery mail;
    unsigned count = 0;
    *ret_lids = 0;
    ck_assert_int_eq(fab_wire_gmp_pack(&mad, NULL, 0, bytes), FAB_OK);
    ck_assert_int_eq(fab_sim_send(x->r.sim, x->r.node, x->r.port, 0xc003, bytes, reply), 0);
    while (fab_sim_receive(x->r.sim, &mail)) {
        if (mail.mad[1] != mad.mgmt_class)
            continue;
        count++;
        ck_assert_uint_eq(mail.slid, x->r.node + 1);
        ck_assert_uint_eq(mail.dlid, 0xc003);
        *ret_lids |= 1u << (mail.node + 1);
    }
    return count;
}

/* The tables give a tree over one spine, with all hosts and this spine as members. Then its links
 * and tables change. */
START_TEST(multicast_follows_the_tables)
{
    struct lab x = lab_managed();
    uint32_t lids, all_hosts = 0, other_leaf = FAB_NONE;
    for (uint32_t node = 0; node < x.f->node_count; node++) {
        ck_assert_int_eq(
            fab_sim_attach(x.r.sim, node, fab_fabric_node_is_switch(x.f, node) ? 0 : 1, false),
            FAB_OK);
        if (!fab_fabric_node_is_switch(x.f, node))
            all_hosts |= 1u << (node + 1);
    }
    for (uint8_t p = 1; p <= x.f->nodes[x.spine].num_ports; p++) {
        uint32_t leaf = fab_fabric_peer_node(x.f, fab_fabric_port_id(x.f, x.spine, p));
        other_leaf = leaf != x.leaf && leaf < x.f->switch_count ? leaf : other_leaf;
    }
    struct fab_sim_delivery mail;
    while (fab_sim_receive(x.r.sim, &mail)) {
    }
    /* without an MFT entry, the leaf sends the packet to its default port 0, which is the leaf
     * itself */
    ck_assert_uint_eq(send_to_group(&x, &lids), 1);
    ck_assert_uint_eq(lids, 1u << (x.leaf + 1));
    /* the leaf forwards to its hosts at ports 1 and 2, and up to the spine */
    set_mft(&x, x.leaf, (uint16_t)(6u | 1u << x.up));
    set_mft(&x, other_leaf, (uint16_t)(6u | 1u << x.up));
    /* the spine forwards to both leaves, and bit 0 makes it a receiver */
    set_mft(&x, x.spine, 7);
    ck_assert_uint_eq(send_to_group(&x, &lids), 4);
    ck_assert_uint_eq(lids, (all_hosts & ~(1u << (x.r.node + 1))) | 1u << (x.spine + 1));
    fab_sim_unlink(x.r.sim, x.leaf, x.up);
    send_to_group(&x, &lids);
    /* only the other host at this leaf gets the packet */
    ck_assert_uint_eq(send_to_group(&x, &lids), 1);
    fab_sim_relink(x.r.sim, x.leaf, x.up);
    lab_free(&x);
}
END_TEST

/* If every switch forwards a packet to all its ports, real switches would make copies for ever. The
 * simulated fabric makes at most one copy for each port. When the tables are correct again, it
 * works as before. */
START_TEST(multicast_loops_end)
{
    struct lab x = lab_managed();
    uint32_t lids;
    for (uint32_t node = 0; node < x.f->node_count; node++)
        ck_assert_int_eq(
            fab_sim_attach(x.r.sim, node, fab_fabric_node_is_switch(x.f, node) ? 0 : 1, false),
            FAB_OK);
    struct fab_sim_delivery mail;
    while (fab_sim_receive(x.r.sim, &mail)) {
    }
    for (uint32_t sw = 0; sw < x.f->switch_count; sw++)
        set_mft(&x, sw, 0xffff);
    for (unsigned i = 0; i < 3; i++) {
        unsigned copies = send_to_group(&x, &lids);
        ck_assert_uint_gt(copies, 0);
        ck_assert_uint_le(copies, x.f->port_count);
    }
    for (uint32_t sw = 0; sw < x.f->switch_count; sw++)
        set_mft(&x, sw, 0);
    /* the leaf forwards to its hosts at ports 1 and 2, and up to the spine */
    set_mft(&x, x.leaf, (uint16_t)(6u | 1u << x.up));
    set_mft(&x, x.spine, 1);
    /* receivers: the other host at this leaf, and the spine itself */
    ck_assert_uint_eq(send_to_group(&x, &lids), 2);
    ck_assert_uint_ne(lids & 1u << (x.spine + 1), 0);
    lab_free(&x);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("sim_routes");
    TCase *c = tcase_create("sim_routes");
    tcase_add_test(c, directed_routes);
    tcase_add_test(c, not_a_mad);
    tcase_add_test(c, directed_routes_from_a_lid);
    tcase_add_test(c, lids_lead_where_tables_say);
    tcase_add_test(c, directed_routes_to_a_lid);
    tcase_add_test(c, managers_answer_along_mixed_routes);
    tcase_add_test(c, hop_limits);
    tcase_add_test(c, wrong_tables_lose);
    tcase_add_test(c, loops_and_tops_lose);
    tcase_add_test(c, data_needs_active_links);
    tcase_add_test(c, losses_are_counted);
    tcase_add_test(c, multicast_follows_the_tables);
    tcase_add_test(c, multicast_loops_end);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return test_run(suite());
}
