/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attributes of MADs. Bytes are written by hand from the layout in the specification, and compared
 * with the tables of fields. Every attribute makes round trips with random values. What must be
 * refused is tested, too. test_wire_mad.c tests headers.
 */
#include <string.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/wire/gs.h"
#include "libfabmgr/wire/vendor.h"
#include "libfabmgr/wire/wire.h"
#include "tests/unit/testing.h"

static const struct fab_attr *const all[] = {
    &fab_wire_attr_node_info,
    &fab_wire_attr_switch_info,
    &fab_wire_attr_port_info,
    &fab_wire_attr_sm_info,
    &fab_wire_attr_notice,
    &fab_wire_attr_sl2vl,
    &fab_wire_attr_vlarb,
    &fab_wire_attr_pkey_block,
    &fab_wire_attr_guid_block,
    &fab_wire_attr_class_port_info,
    &fab_wire_attr_port_counters,
    &fab_wire_attr_port_counters_ext,
    &fab_wire_attr_cc_info,
    &fab_wire_attr_cc_key_info,
    &fab_wire_attr_cc_log,
    &fab_wire_attr_cc_log_ca,
    &fab_wire_attr_cc_switch_setting,
    &fab_wire_attr_cc_switch_port_setting,
    &fab_wire_attr_cc_ca_setting,
    &fab_wire_attr_cc_table,
    &fab_wire_attr_cc_time_stamp,
    &fab_wire_attr_samples_control,
    &fab_wire_attr_samples_result,
    &fab_wire_attr_samples_result_ext,
    &fab_wire_attr_perf_ext_speeds,
    &fab_wire_attr_perf_details[0],
    &fab_wire_attr_perf_details[1],
    &fab_wire_attr_perf_details[2],
    &fab_wire_attr_perf_details[3],
    &fab_wire_attr_perf_details[4],
    &fab_wire_attr_perf_details[5],
    &fab_wire_attr_perf_details[6],
    &fab_wire_attr_perf_details[7],
    &fab_wire_attr_perf_details[8],
    &fab_wire_attr_perf_details[9],
    &fab_wire_attr_perf_details[10],
    &fab_wire_attr_perf_details[11],
    &fab_wire_attr_perf_details[12],
    &fab_wire_attr_perf_details[13],
    &fab_wire_attr_perf_details[14],
    &fab_wire_attr_perf_details[15],
    &fab_wire_attr_general_info,
    &fab_wire_reg_pmlp,
    &fab_wire_reg_mfcr,
    &fab_wire_reg_mfsm,
    &fab_wire_reg_mtmp,
    &fab_wire_reg_mtbr,
    &fab_wire_reg_mcia,
    &fab_wire_reg_msgi,
};
#define SM_ATTRS 9u
#define LARGEST 224u
#define ATTRS (sizeof all / sizeof all[0])

/* ---- attributes by hand ---------------------------------------------------------------------- */

START_TEST(node_info_by_hand)
{
    static const uint8_t bytes[40] = {
        0x01, 0x01, 0x02, 0x24,                         /* versions, NodeType, 36 ports */
        0x00, 0x02, 0xc9, 0x03, 0x00, 0x00, 0x00, 0x01, /* system image GUID */
        0x00, 0x02, 0xc9, 0x03, 0x00, 0x00, 0x00, 0x02, /* node GUID */
        0x00, 0x02, 0xc9, 0x03, 0x00, 0x00, 0x00, 0x03, /* port GUID */
        0x00, 0x08, 0xc7, 0x38,                         /* PartitionCap, DeviceID */
        0x00, 0x00, 0x00, 0xa1,                         /* revision */
        0x11, 0x00, 0x02, 0xc9,                         /* LocalPortNum, VendorID */
    };
    struct fab_node_info n;
    ck_assert_int_eq(fab_wire_attr_unpack(&fab_wire_attr_node_info, bytes, sizeof bytes, &n),
                     FAB_OK);
    ck_assert_uint_eq(n.base_version, 1);
    ck_assert_uint_eq(n.class_version, 1);
    ck_assert_uint_eq(n.node_type, FAB_NODE_SWITCH);
    ck_assert_uint_eq(n.num_ports, 36);
    ck_assert_uint_eq(n.system_guid, UINT64_C(0x0002c90300000001));
    ck_assert_uint_eq(n.node_guid, UINT64_C(0x0002c90300000002));
    ck_assert_uint_eq(n.port_guid, UINT64_C(0x0002c90300000003));
    ck_assert_uint_eq(n.partition_cap, 8);
    ck_assert_uint_eq(n.device_id, 0xc738);
    ck_assert_uint_eq(n.revision, 0xa1);
    ck_assert_uint_eq(n.local_port, 17);
    ck_assert_uint_eq(n.vendor_id, 0x2c9);
}
END_TEST

START_TEST(switch_info_by_hand)
{
    static const uint8_t bytes[20] = {
        0xc0, 0x00, 0x00, 0x00, 0x04, 0x00, 0x01, 0x23, /* capacities of the tables, LinearFDBTop */
        0x01, 0x02, 0x03,                               /* the three default ports */
        0x96,                                           /* life 18, PortStateChange, SLtoVL 2 */
        0x00, 0x00, 0x00, 0x20,                         /* LIDsPerPort, PartitionEnforcementCap */
        0xa8, 0x00, 0xc0, 0x05,                         /* 4 flags, 0, MulticastFDBTop */
    };
    struct fab_switch_info s;
    ck_assert_int_eq(fab_wire_attr_unpack(&fab_wire_attr_switch_info, bytes, sizeof bytes, &s),
                     FAB_OK);
    ck_assert_uint_eq(s.linear_fdb_cap, 49152);
    ck_assert_uint_eq(s.multicast_fdb_cap, 1024);
    ck_assert_uint_eq(s.linear_fdb_top, 0x123);
    ck_assert_uint_eq(s.default_mcast_not_primary_port, 3);
    ck_assert_uint_eq(s.life_time, 18);
    ck_assert_uint_eq(s.port_state_change, 1);
    ck_assert_uint_eq(s.optimized_sl2vl, 2);
    ck_assert_uint_eq(s.partition_enforcement_cap, 32);
    ck_assert_uint_eq(s.inbound_enforcement, 1);
    ck_assert_uint_eq(s.outbound_enforcement, 0);
    ck_assert_uint_eq(s.filter_raw_inbound, 1);
    ck_assert_uint_eq(s.filter_raw_outbound, 0);
    ck_assert_uint_eq(s.enhanced_port0, 1);
    ck_assert_uint_eq(s.multicast_fdb_top, 0xc005);
}
END_TEST

static const uint8_t port_info_bytes[64] = {
    0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, /* M_Key */
    0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* GID prefix */
    0x01, 0x02, 0x03, 0x04, 0x02, 0x51, 0x48, 0x6a, /* LID, MasterSMLID, CapabilityMask */
    0x00, 0x09, 0x00, 0x0a, 0x07, 0x1f, 0x02, 0x02, /* DiagCode, M_Key lease, port, widths */
    0x14,                                           /* byte 32: SDR supported, state Active */
    0x52,                                           /* byte 33: LinkUp, default Polling */
    0xc5,                                           /* byte 34: M_KeyProtectBits 3, LMC 5 */
    0x47,                                           /* byte 35: speed QDR, all speeds enabled */
    0x5a,                                           /* byte 36: NeighborMTU 4096, MasterSMSL 10 */
    0x43,                                           /* byte 37: VLCap 4, InitType 3 */
    0x04, 0x08, 0x10,                               /* byte 38: VLHighLimit, high cap, low cap */
    0x65,                                           /* byte 41: InitTypeReply 6, MTUCap 5 */
    0xf2,                                           /* byte 42: VLStallCount 7, HOQLife 18 */
    0x3a,                                           /* byte 43: OperationalVLs 3, inbound checks */
    0x00, 0x0b, 0x00, 0x0c, 0x00, 0x0d, 0x20, 0xb2, /* three counters, GUIDCap, SubnetTimeOut 18 */
    0x13, 0x8f, 0x01, 0x02,                         /* RespTime, error thresholds, MaxCreditHint */
    0x2b, 0x12, 0x34, 0x56,                         /* XDR active and enabled; LinkRoundTrip */
    0x08, 0x20, 0x8f, 0x0f,                         /* CapabilityMask2; NDR active and enabled */
};

START_TEST(port_info_by_hand)
{
    struct fab_port_info p;
    ck_assert_int_eq(fab_wire_attr_unpack(&fab_wire_attr_port_info, port_info_bytes, 64, &p),
                     FAB_OK);
    ck_assert_uint_eq(p.m_key, UINT64_C(0x1011121314151617));
    ck_assert_uint_eq(p.gid_prefix, UINT64_C(0xfe80000000000000));
    ck_assert_uint_eq(p.lid, 0x102);
    ck_assert_uint_eq(p.sm_lid, 0x304);
    ck_assert_uint_eq(p.cap_mask, 0x0251486a);
    ck_assert_uint_eq(p.diag_code, 9);
    ck_assert_uint_eq(p.m_key_lease, 10);
    ck_assert_uint_eq(p.local_port, 7);
    ck_assert_uint_eq(p.width_enabled, 0x1f);
    ck_assert_uint_eq(p.width_supported, 2);
    ck_assert_uint_eq(p.width_active, 2);
    ck_assert_uint_eq(p.speed_supported, 1);
    ck_assert_uint_eq(p.port_state, FAB_STATE_ACTIVE);
    ck_assert_uint_eq(p.phys_state, FAB_PHYS_LINKUP);
    ck_assert_uint_eq(p.down_default_state, FAB_PHYS_POLLING);
    ck_assert_uint_eq(p.m_key_protect, 3);
    ck_assert_uint_eq(p.lmc, 5);
    ck_assert_uint_eq(p.speed_active, 4);
    ck_assert_uint_eq(p.speed_enabled, 7);
    ck_assert_uint_eq(p.neighbor_mtu, 5);
    ck_assert_uint_eq(p.sm_sl, 10);
    ck_assert_uint_eq(p.vl_cap, 4);
    ck_assert_uint_eq(p.init_type, 3);
    ck_assert_uint_eq(p.vl_high_limit, 4);
    ck_assert_uint_eq(p.vlarb_high_cap, 8);
    ck_assert_uint_eq(p.vlarb_low_cap, 16);
    ck_assert_uint_eq(p.init_type_reply, 6);
    ck_assert_uint_eq(p.mtu_cap, 5);
    ck_assert_uint_eq(p.vl_stall_count, 7);
    ck_assert_uint_eq(p.hoq_life, 18);
    ck_assert_uint_eq(p.op_vls, 3);
    ck_assert_uint_eq(p.part_enforce_in, 1);
    ck_assert_uint_eq(p.part_enforce_out, 0);
    ck_assert_uint_eq(p.filter_raw_in, 1);
    ck_assert_uint_eq(p.filter_raw_out, 0);
    ck_assert_uint_eq(p.m_key_violations, 11);
    ck_assert_uint_eq(p.p_key_violations, 12);
    ck_assert_uint_eq(p.q_key_violations, 13);
    ck_assert_uint_eq(p.guid_cap, 32);
    ck_assert_uint_eq(p.client_reregister, 1);
    ck_assert_uint_eq(p.mcast_pkey_trap_suppression, 1);
    ck_assert_uint_eq(p.subnet_timeout, 18);
    ck_assert_uint_eq(p.resp_time, 19);
    ck_assert_uint_eq(p.local_phy_errors, 8);
    ck_assert_uint_eq(p.overrun_errors, 15);
    ck_assert_uint_eq(p.max_credit_hint, 0x102);
    ck_assert_uint_eq(p.speed_ext2_active, 1);
    ck_assert_uint_eq(p.speed_ext2_supported, 1);
    ck_assert_uint_eq(p.speed_ext2_enabled, 3);
    ck_assert_uint_eq(p.link_round_trip, 0x123456);
    ck_assert_uint_eq(p.cap_mask2, 0x0820);
    ck_assert_uint_eq(p.speed_ext_active, 8);
    ck_assert_uint_eq(p.speed_ext_supported, 15);
    ck_assert_uint_eq(p.speed_ext_enabled, 15);
}
END_TEST

START_TEST(port_info_by_hand_packs_to_the_same_bytes)
{
    struct fab_port_info p;
    uint8_t bytes[64];
    ck_assert_int_eq(fab_wire_attr_unpack(&fab_wire_attr_port_info, port_info_bytes, 64, &p),
                     FAB_OK);
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_port_info, &p, bytes, 64), FAB_OK);
    ck_assert_mem_eq(bytes, port_info_bytes, 64);
}
END_TEST

START_TEST(sm_info_by_hand)
{
    static const uint8_t bytes[21] = {
        0x00, 0x02, 0xc9, 0x00, 0x00, 0x00, 0x00, 0x42, /* GUID */
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, /* SM_Key */
        0x00, 0x01, 0x00, 0x02, 0xe3,                   /* ActCount, priority 14, state Master */
    };
    struct fab_sm_info s;
    ck_assert_int_eq(fab_wire_attr_unpack(&fab_wire_attr_sm_info, bytes, sizeof bytes, &s), FAB_OK);
    ck_assert_uint_eq(s.guid, UINT64_C(0x0002c90000000042));
    ck_assert_uint_eq(s.sm_key, 1);
    ck_assert_uint_eq(s.activity, 0x10002);
    ck_assert_uint_eq(s.priority, 14);
    ck_assert_uint_eq(s.state, FAB_SM_MASTER);
}
END_TEST

START_TEST(tables_of_values_by_hand)
{
    static const uint8_t sl2vl_bytes[8] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};
    static const uint8_t vlarb_bytes[64] = {0x05, 0xff, 0x1e, 0x01, [62] = 0x0f, 0x02};
    static const uint8_t pkey_bytes[64] = {0xff, 0xff, 0x80, 0x01, [62] = 0x12, 0x34};
    static const uint8_t guid_bytes[64] = {[7] = 1, [63] = 8};
    struct fab_sl2vl s;
    struct fab_vlarb v;
    struct fab_pkey_block p;
    struct fab_guid_block g;
    ck_assert_int_eq(fab_wire_attr_unpack(&fab_wire_attr_sl2vl, sl2vl_bytes, 8, &s), FAB_OK);
    for (unsigned sl = 0; sl < 16; sl++)
        ck_assert_uint_eq(s.vl[sl], sl);
    ck_assert_int_eq(fab_wire_attr_unpack(&fab_wire_attr_vlarb, vlarb_bytes, 64, &v), FAB_OK);
    ck_assert_uint_eq(v.entry[0].vl, 5);
    ck_assert_uint_eq(v.entry[0].weight, 255);
    ck_assert_uint_eq(v.entry[1].vl, 14); /* the upper 4 bits of the byte are reserved */
    ck_assert_uint_eq(v.entry[31].vl, 15);
    ck_assert_uint_eq(v.entry[31].weight, 2);
    ck_assert_int_eq(fab_wire_attr_unpack(&fab_wire_attr_pkey_block, pkey_bytes, 64, &p), FAB_OK);
    ck_assert_uint_eq(p.pkey[0], 0xffff);
    ck_assert_uint_eq(p.pkey[1], 0x8001);
    ck_assert_uint_eq(p.pkey[31], 0x1234);
    ck_assert_int_eq(fab_wire_attr_unpack(&fab_wire_attr_guid_block, guid_bytes, 64, &g), FAB_OK);
    ck_assert_uint_eq(g.guid[0], 1);
    ck_assert_uint_eq(g.guid[7], 8);
}
END_TEST

START_TEST(notices_name_their_lid)
{
    static const struct {
        uint16_t trap, lid;
    } cases[] = {{128, 0x0102}, {129, 0x0304}, {130, 0x0304}, {131, 0x0304}, {144, 0x0304},
                 {145, 0x0304}, {64, 0},       {256, 0},      {257, 0}};
    /* a generic notice of type "urgent" from a switch: trap 128, issuer LID 0x11, NoticeToggle 1,
     * NoticeCount 5 */
    uint8_t bytes[64] = {0x81, 0x00, 0x00, 0x02, 0x00, 0x80, 0x00,       0x11,
                         0x80, 0x05, 0x01, 0x02, 0x03, 0x04, [63] = 0x99};
    struct fab_notice n;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bytes[4] = (uint8_t)(cases[i].trap >> 8);
        bytes[5] = (uint8_t)cases[i].trap;
        ck_assert_int_eq(fab_wire_attr_unpack(&fab_wire_attr_notice, bytes, 64, &n), FAB_OK);
        ck_assert_uint_eq(n.trap, cases[i].trap);
        ck_assert_uint_eq(fab_wire_notice_lid(&n), cases[i].lid);
    }
    ck_assert_uint_eq(n.generic, 1);
    ck_assert_uint_eq(n.type, 1);
    ck_assert_uint_eq(n.producer_type, 2);
    ck_assert_uint_eq(n.issuer_lid, 0x11);
    ck_assert_uint_eq(n.toggle, 1);
    ck_assert_uint_eq(n.count, 5);
    ck_assert_uint_eq(n.details[53], 0x99);
    n.trap = 128;
    n.generic = 0; /* a vendor's notice, which has a device ID in place of the trap number 128 */
    ck_assert_uint_eq(fab_wire_notice_lid(&n), 0);
}
END_TEST

START_TEST(notices_of_wrong_keys_name_the_sender)
{
    struct fab_notice n = {.generic = 1, .trap = 256};
    struct fab_violation v;
    static const uint8_t request[54] = {
        0,    0,    0xff, 0xff, 0xff, 0xff, 2,    0,
        0x00, 0x15, 0,    0,    0,    7,                /* attribute PortInfo, modifier 7 */
        0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, /* the wrong M_Key */
        0,    0x83, 5,    6,    9};
    memcpy(n.details, request, sizeof request);
    ck_assert(fab_wire_notice_violation(&n, &v));
    ck_assert(v.directed && !v.truncated);
    ck_assert_uint_eq(v.slid, 0xffff);
    ck_assert_uint_eq(v.dr_slid, 0xffff);
    ck_assert_uint_eq(v.method, FAB_METHOD_SET);
    ck_assert_uint_eq(v.attr_id, FAB_ATTR_PORT_INFO);
    ck_assert_uint_eq(v.attr_mod, 7);
    ck_assert_uint_eq(v.hops, 3);
    ck_assert_uint_eq(v.return_path[0], 5);
    ck_assert_uint_eq(v.return_path[2], 9);
    /* the notice has no room for the return path of so many hops */
    n.details[23] = 0x80 | 31;
    ck_assert(fab_wire_notice_violation(&n, &v));
    ck_assert(v.truncated && v.hops == 0);
    n.details[23] = 3; /* the bit for a directed route is not set */
    ck_assert(fab_wire_notice_violation(&n, &v));
    ck_assert(!v.directed && v.hops == 0);

    static const uint8_t packet[54] = {0,    0, 0, 3,    0, 4, 0,    0,    0x12,     0x34,
                                       0x50, 0, 0, 0x11, 0, 0, 0x22, 0x33, [50] = 17};
    memcpy(n.details, packet, sizeof packet);
    n.trap = 257;
    ck_assert(fab_wire_notice_violation(&n, &v));
    ck_assert_uint_eq(v.slid, 3);
    ck_assert_uint_eq(v.dlid, 4);
    ck_assert_uint_eq(v.p_key, 0x1234);
    /* the upper 4 bits of these bytes are the SL, which must be left out */
    ck_assert_uint_eq(v.qp[0], 0x11);
    ck_assert_uint_eq(v.qp[1], 0x2233);
    n.trap = 258;
    ck_assert(fab_wire_notice_violation(&n, &v));
    ck_assert_uint_eq(v.p_key, 0);
    n.trap = 259;
    n.details[6] = 0x56;
    n.details[7] = 0x78;
    ck_assert(fab_wire_notice_violation(&n, &v));
    ck_assert_uint_eq(v.p_key, 0x5678);
    ck_assert_uint_eq(v.port, 17);
    n.generic = 0;
    ck_assert(!fab_wire_notice_violation(&n, &v));
}
END_TEST

/* ---- every attribute ------------------------------------------------------------------------- */

static uint64_t field_mask(const struct fab_field *f)
{
    return f->bits == 64 ? UINT64_MAX : (UINT64_C(1) << f->bits) - 1;
}

static void set_member(void *in, const struct fab_field *f, size_t i, uint64_t value)
{
    uint8_t *p = (uint8_t *)in + f->member + i * f->stride;
    for (unsigned b = 0; b < f->member_size; b++) /* works on little-endian machines only */
        p[b] = (uint8_t)(value >> (8 * b));
}

START_TEST(tables_are_well_formed)
{
    for (size_t a = 0; a < ATTRS; a++) {
        bool wire[LARGEST * 8] = {false}, member[1024] = {false};
        ck_assert_uint_le(all[a]->wire_size, LARGEST);
        ck_assert_uint_le(all[a]->struct_size, sizeof member);
        if (a < SM_ATTRS)
            ck_assert_ptr_eq(fab_wire_attr_by_id(all[a]->id), all[a]);
        for (size_t i = 0; i < all[a]->field_count; i++) {
            const struct fab_field *f = &all[a]->fields[i];
            ck_assert(f->bits >= 1 && f->bits <= 64 && f->bits <= 8 * f->member_size);
            ck_assert(f->repeat >= 1);
            for (unsigned e = 0; e < f->repeat; e++) {
                unsigned bit = f->bit + e * f->bit_stride;
                ck_assert_msg(bit % 8 + f->bits <= 64, "%s", f->name);
                ck_assert_msg(bit + f->bits <= 8u * all[a]->wire_size, "%s", f->name);
                for (unsigned b = bit; b < bit + f->bits; b++) {
                    ck_assert_msg(!wire[b], "%s overlaps on the wire", f->name);
                    wire[b] = true;
                }
                size_t at = f->member + e * f->stride;
                ck_assert_msg(at + f->member_size <= all[a]->struct_size, "%s", f->name);
                for (size_t b = at; b < at + f->member_size; b++) {
                    ck_assert_msg(!member[b], "%s overlaps in the struct", f->name);
                    member[b] = true;
                }
            }
        }
    }
    ck_assert_ptr_null(fab_wire_attr_by_id(0xffff));
    ck_assert_ptr_eq(fab_wire_attr_of_class(FAB_CLASS_PERF, 0x12), &fab_wire_attr_port_counters);
    ck_assert_ptr_eq(fab_wire_attr_of_class(FAB_CLASS_CC, 0x12), &fab_wire_attr_cc_key_info);
    ck_assert_ptr_eq(fab_wire_attr_of_class(FAB_CLASS_SMP_LID, 0x12), &fab_wire_attr_switch_info);
    ck_assert_ptr_eq(fab_wire_attr_of_class(FAB_CLASS_CC, 1), &fab_wire_attr_class_port_info);
    ck_assert_ptr_eq(fab_wire_attr_of_class(FAB_CLASS_PERF, 0x16), &fab_wire_attr_perf_details[1]);
    ck_assert_ptr_eq(fab_wire_attr_of_class(FAB_CLASS_PERF, 0x10), &fab_wire_attr_samples_control);
    ck_assert_ptr_null(fab_wire_attr_of_class(FAB_CLASS_PERF, 0x20));
}
END_TEST

START_TEST(random_values_make_the_round_trip)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("round trip", 9));
    for (int round = 0; round < 2000; round++) {
        const struct fab_attr *a = all[round % (int)ATTRS];
        _Alignas(8) uint8_t in[1024] = {0}, out[1024];
        uint8_t bytes[LARGEST], again[LARGEST];
        for (size_t i = 0; i < a->field_count; i++)
            for (size_t e = 0; e < a->fields[i].repeat; e++)
                set_member(in, &a->fields[i], e,
                           fab_base_prng_next(&prng) & field_mask(&a->fields[i]));
        memset(out, 0xee, sizeof out);
        ck_assert_int_eq(fab_wire_attr_pack(a, in, bytes, sizeof bytes), FAB_OK);
        ck_assert_int_eq(fab_wire_attr_unpack(a, bytes, sizeof bytes, out), FAB_OK);
        ck_assert_ptr_null(fab_wire_attr_diff(a, in, out));
        ck_assert_mem_eq(in, out, a->struct_size);
        ck_assert_int_eq(fab_wire_attr_pack(a, out, again, sizeof again), FAB_OK);
        ck_assert_mem_eq(bytes, again, sizeof bytes);
    }
}
END_TEST

START_TEST(values_too_large_are_refused)
{
    for (size_t a = 0; a < ATTRS; a++) {
        for (size_t i = 0; i < all[a]->field_count; i++) {
            const struct fab_field *f = &all[a]->fields[i];
            _Alignas(8) uint8_t in[1024] = {0};
            uint8_t bytes[LARGEST];
            memset(bytes, 0xcc, sizeof bytes);
            set_member(in, f, f->repeat - 1u, field_mask(f));
            ck_assert_int_eq(fab_wire_attr_pack(all[a], in, bytes, sizeof bytes), FAB_OK);
            if (f->bits == 8 * f->member_size)
                continue;
            memset(bytes, 0xcc, sizeof bytes);
            set_member(in, f, f->repeat - 1u, field_mask(f) + 1);
            ck_assert_int_eq(fab_wire_attr_pack(all[a], in, bytes, sizeof bytes), FAB_E_RANGE);
            for (size_t b = 0; b < sizeof bytes; b++)
                ck_assert_uint_eq(bytes[b], 0xcc);
        }
    }
}
END_TEST

START_TEST(short_bytes_are_refused)
{
    for (size_t a = 0; a < ATTRS; a++) {
        _Alignas(8) uint8_t value[1024] = {0};
        size_t size = all[a]->wire_size;
        uint8_t *exact = malloc(size);
        memset(exact, 0xff, size);
        ck_assert_int_eq(fab_wire_attr_unpack(all[a], exact, size, value), FAB_OK);
        ck_assert_int_eq(fab_wire_attr_pack(all[a], value, exact, size), FAB_OK);
        memset(value, 0x11, sizeof value);
        for (size_t len = 0; len < size; len++) {
            ck_assert_int_eq(fab_wire_attr_unpack(all[a], exact, len, value), FAB_E_TRUNCATED);
            ck_assert_int_eq(fab_wire_attr_pack(all[a], value, exact, len), FAB_E_TRUNCATED);
        }
        ck_assert_uint_eq(value[0], 0x11);
        free(exact);
    }
}
END_TEST

START_TEST(reserved_bits_are_written_as_zero)
{
    for (size_t a = 0; a < ATTRS; a++) {
        _Alignas(8) uint8_t value[1024];
        uint8_t ones[LARGEST], bytes[LARGEST], used[LARGEST] = {0};
        memset(ones, 0xff, sizeof ones);
        for (size_t i = 0; i < all[a]->field_count; i++)
            for (unsigned e = 0; e < all[a]->fields[i].repeat; e++)
                for (unsigned b = 0; b < all[a]->fields[i].bits; b++) {
                    const struct fab_field *f = &all[a]->fields[i];
                    unsigned bit = f->bit + e * f->bit_stride + b;
                    used[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
                }
        ck_assert_int_eq(fab_wire_attr_unpack(all[a], ones, sizeof ones, value), FAB_OK);
        ck_assert_int_eq(fab_wire_attr_pack(all[a], value, bytes, sizeof bytes), FAB_OK);
        ck_assert_mem_eq(bytes, used, sizeof bytes);
    }
}
END_TEST

START_TEST(diff_names_the_first_field)
{
    struct fab_port_info x = {0}, y = {0};
    ck_assert_ptr_null(fab_wire_attr_diff(&fab_wire_attr_port_info, &x, &y));
    y.cap_mask2 = 1;
    ck_assert_str_eq(fab_wire_attr_diff(&fab_wire_attr_port_info, &x, &y)->name, "CapabilityMask2");
    y.lmc = 1;
    ck_assert_str_eq(fab_wire_attr_diff(&fab_wire_attr_port_info, &x, &y)->name, "LMC");
    struct fab_vlarb v = {{{0, 0}}}, w = {{{0, 0}}};
    w.entry[31].weight = 1;
    ck_assert_str_eq(fab_wire_attr_diff(&fab_wire_attr_vlarb, &v, &w)->name, "Weight");
}
END_TEST

START_TEST(printing_speaks_the_words_of_the_standard)
{
    struct fab_port_info p;
    char text[4096];
    fab_wire_attr_unpack(&fab_wire_attr_port_info, port_info_bytes, 64, &p);
    size_t len = fab_wire_attr_print(&fab_wire_attr_port_info, &p, text, sizeof text);
    ck_assert_uint_eq(len, strlen(text));
    ck_assert_ptr_nonnull(strstr(text, "GidPrefix: 0xfe80000000000000\n"));
    ck_assert_ptr_nonnull(strstr(text, "\nLID: 258\n"));
    ck_assert_ptr_nonnull(strstr(text, "\nPortState: Active\n"));
    ck_assert_ptr_nonnull(strstr(text, "\nPortPhysicalState: LinkUp\n"));
    ck_assert_ptr_nonnull(strstr(text, "\nLinkWidthEnabled: 1x|4x|8x|12x|2x\n"));
    ck_assert_ptr_nonnull(strstr(text, "\nLinkSpeedEnabled: SDR|DDR|QDR\n"));
    ck_assert_ptr_nonnull(strstr(text, "\nLinkSpeedExtActive: NDR\n"));
    ck_assert_ptr_nonnull(strstr(text, "\nLinkSpeedExtActive2: XDR\n"));
    ck_assert_ptr_nonnull(strstr(text, "\nNeighborMTU: 4096\n"));
    ck_assert_ptr_nonnull(strstr(text, "\nOperationalVLs: 4\n"));
    struct fab_sl2vl s = {.vl = {15}};
    fab_wire_attr_print(&fab_wire_attr_sl2vl, &s, text, sizeof text);
    ck_assert_str_eq(text, "SLtoVL: 15 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
    struct fab_node_info n = {.node_type = 9};
    fab_wire_attr_print(&fab_wire_attr_node_info, &n, text, sizeof text);
    /* NodeType 9 has no name, so its number is printed */
    ck_assert_ptr_nonnull(strstr(text, "NodeType: 9\n"));
}
END_TEST

START_TEST(printing_into_too_little_room_is_cut)
{
    struct fab_sl2vl s = {.vl = {1, 2}};
    const char *whole = "SLtoVL: 1 2 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
    for (size_t room = 0; room < 60; room++) {
        char *text = malloc(room > 0 ? room : 1);
        ck_assert_uint_eq(fab_wire_attr_print(&fab_wire_attr_sl2vl, &s, text, room), strlen(whole));
        if (room > 0) {
            size_t kept = room - 1 < strlen(whole) ? room - 1 : strlen(whole);
            ck_assert_uint_eq(strlen(text), kept);
            ck_assert_mem_eq(text, whole, kept);
        }
        free(text);
    }
}
END_TEST

/* ---- links ----------------------------------------------------------------------------------- */

START_TEST(links_have_width_speed_and_rate)
{
    static const struct {
        uint8_t width, speed, ext, ext2;
        unsigned lanes;
        const char *name;
        uint32_t rate;
    } cases[] = {
        {0x01, 1, 0, 0, 1, "SDR", 2500},    {0x02, 1, 0, 0, 4, "SDR", 10000},
        {0x02, 2, 0, 0, 4, "DDR", 20000},   {0x02, 4, 0, 0, 4, "QDR", 40000},
        {0x02, 4, 1, 0, 4, "FDR", 56000},   {0x02, 4, 2, 0, 4, "EDR", 100000},
        {0x10, 4, 4, 0, 2, "HDR", 100000},  {0x02, 4, 4, 0, 4, "HDR", 200000},
        {0x04, 4, 8, 0, 8, "NDR", 800000},  {0x02, 4, 8, 0, 4, "NDR", 400000},
        {0x02, 4, 8, 1, 4, "XDR", 800000},  {0x02, 4, 0, 1, 4, "XDR", 800000},
        {0x08, 4, 2, 0, 12, "EDR", 300000}, {0x03, 4, 2, 0, 0, "EDR", 0},
        {0x02, 4, 15, 0, 4, "?", 0},        {0x02, 3, 0, 0, 4, "?", 0},
        {0x02, 4, 8, 2, 4, "?", 0},         {0x00, 0, 0, 0, 0, "?", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fab_port_info p = {.width_active = cases[i].width,
                                  .speed_active = cases[i].speed,
                                  .speed_ext_active = cases[i].ext,
                                  .speed_ext2_active = cases[i].ext2};
        ck_assert_uint_eq(fab_wire_link_width(&p), cases[i].lanes);
        ck_assert_str_eq(fab_wire_link_speed(&p), cases[i].name);
        ck_assert_uint_eq(fab_wire_link_rate(&p), cases[i].rate);
    }
}
END_TEST

START_TEST(small_enums_have_meanings)
{
    static const unsigned mtus[] = {0, 256, 512, 1024, 2048, 4096, 0, 0};
    static const unsigned vls[] = {0, 1, 2, 4, 8, 15, 0, 0};
    for (uint8_t i = 0; i < 8; i++) {
        ck_assert_uint_eq(fab_wire_mtu_bytes(i), mtus[i]);
        ck_assert_uint_eq(fab_wire_op_vls_count(i), vls[i]);
    }
    ck_assert_str_eq(fab_wire_port_state_name(FAB_STATE_ARMED), "Armed");
    ck_assert_str_eq(fab_wire_port_state_name(5), "?");
    ck_assert_str_eq(fab_wire_phys_state_name(FAB_PHYS_DISABLED), "Disabled");
    ck_assert_str_eq(fab_wire_phys_state_name(8), "?");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("wire");
    TCase *tcase = tcase_create("attributes");
    tcase_add_test(tcase, node_info_by_hand);
    tcase_add_test(tcase, switch_info_by_hand);
    tcase_add_test(tcase, port_info_by_hand);
    tcase_add_test(tcase, port_info_by_hand_packs_to_the_same_bytes);
    tcase_add_test(tcase, sm_info_by_hand);
    tcase_add_test(tcase, tables_of_values_by_hand);
    tcase_add_test(tcase, notices_name_their_lid);
    tcase_add_test(tcase, notices_of_wrong_keys_name_the_sender);
    tcase_add_test(tcase, tables_are_well_formed);
    tcase_add_test(tcase, random_values_make_the_round_trip);
    tcase_add_test(tcase, values_too_large_are_refused);
    tcase_add_test(tcase, short_bytes_are_refused);
    tcase_add_test(tcase, reserved_bits_are_written_as_zero);
    tcase_add_test(tcase, diff_names_the_first_field);
    tcase_add_test(tcase, printing_speaks_the_words_of_the_standard);
    tcase_add_test(tcase, printing_into_too_little_room_is_cut);
    tcase_add_test(tcase, links_have_width_speed_and_rate);
    tcase_add_test(tcase, small_enums_have_meanings);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
