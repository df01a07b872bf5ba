/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records of subnet administration: bytes that were written by hand from the layout in the
 * specification, round trips of all records with random bytes, and component numbers. The library
 * derives component numbers from its tables, and this test has them as constants.
 */
#include <string.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/wire/sa.h"
#include "tests/unit/testing.h"

#define ROOM 512 /* size of the largest struct in bytes */

START_TEST(headers_by_hand)
{
    static const uint8_t bytes[32] = {
        /* RMPPVersion, DATA, RRespTime 31, ACTIVE and FIRST */
        1,    1,    0xfb, 0,    0,    0,    0,    1,
        0,    0,    0x04, 0xd2,                          /* segment, payload length */
        0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8,  /* SM_Key */
        0,    14,   0,    0,                             /* attribute offset */
        0,    0,    0,    0,    0,    0,    0x40, 0x01}; /* ComponentMask */
    struct fab_rmpp rmpp;
    struct fab_sa_header sa;
    ck_assert_int_eq(fab_wire_attr_unpack(&fab_wire_attr_rmpp, bytes, 12, &rmpp), FAB_OK);
    ck_assert_int_eq(fab_wire_attr_unpack(&fab_wire_attr_sa_header, bytes + 12, 20, &sa), FAB_OK);
    ck_assert_uint_eq(rmpp.version, 1);
    ck_assert_uint_eq(rmpp.type, FAB_RMPP_DATA_TYPE);
    ck_assert_uint_eq(rmpp.resp_time, 31);
    ck_assert_uint_eq(rmpp.flags, FAB_RMPP_ACTIVE | FAB_RMPP_FIRST);
    ck_assert_uint_eq(rmpp.segment, 1);
    ck_assert_uint_eq(rmpp.length, 1234);
    ck_assert_uint_eq(sa.sm_key, UINT64_C(0xa1a2a3a4a5a6a7a8));
    ck_assert_uint_eq(sa.attr_offset, 14);
    ck_assert_uint_eq(sa.comp_mask, 0x4001);
}
END_TEST

START_TEST(node_record_by_hand)
{
    uint8_t bytes[112] = {[0] = 0x12, [1] = 0x34, [2] = 9, [4] = 1, [6] = 2, [7] = 36};
    uint8_t again[112];
    struct fab_wire_node_record r;
    bytes[16] = 0xaa; /* changes the NodeGUID */
    bytes[23] = 0xbb;
    bytes[44] = 'x';
    bytes[107] = 'y';
    bytes[108] = 7; /* changes a byte behind the record */
    ck_assert_int_eq(fab_wire_rec_unpack(&fab_wire_node_record, bytes, sizeof bytes, &r), FAB_OK);
    ck_assert_uint_eq(r.lid, 0x1234);
    ck_assert_uint_eq(r.info.base_version, 1);
    ck_assert_uint_eq(r.info.node_type, FAB_NODE_SWITCH);
    ck_assert_uint_eq(r.info.num_ports, 36);
    ck_assert_uint_eq(r.info.node_guid, UINT64_C(0xaa000000000000bb));
    ck_assert_uint_eq(r.desc.text[0], 'x');
    ck_assert_uint_eq(r.desc.text[63], 'y');
    ck_assert_int_eq(fab_wire_rec_pack(&fab_wire_node_record, &r, again, sizeof again), FAB_OK);
    bytes[2] = bytes[108] = 0;
    ck_assert_mem_eq(bytes, again, sizeof bytes);
    ck_assert_uint_eq(fab_wire_rec_stride(&fab_wire_node_record), 112);
}
END_TEST

START_TEST(path_record_by_hand)
{
    uint8_t bytes[64];
    struct fab_wire_path_record r = {
        .service_msb = 0x10,
        .service_lsb = UINT64_C(0x11121314151617),
        .dgid = {UINT64_C(0xfe80000000000000), 0x22},
        .sgid = {UINT64_C(0xfe80000000000000), 0x33},
        .dlid = 0x4445,
        .slid = 0x5556,
        .raw = 1,
        .flow_label = 0xabcde,
        .hop_limit = 64,
        .tclass = 7,
        .reversible = 1,
        .paths = 5,
        .pkey = 0xffff,
        .qos_class = 0x123,
        .sl = 4,
        .mtu_selector = FAB_SELECT_EXACTLY,
        .mtu = 5,
        .rate_selector = FAB_SELECT_LESS,
        .rate = 16,
        .life_selector = FAB_SELECT_BEST,
        .life = 18,
        .preference = 2,
    };
    static const uint8_t end[24] = {0x44, 0x45, 0x55, 0x56, 0x8a, 0xbc, 0xde, 64,
                                    7,    0x85, 0xff, 0xff, 0x12, 0x34, 0x85, 0x50,
                                    0xd2, 2,    0,    0,    0,    0,    0,    0};
    ck_assert_int_eq(fab_wire_rec_pack(&fab_wire_path_record, &r, bytes, sizeof bytes), FAB_OK);
    ck_assert_mem_eq(bytes, "\x10\x11\x12\x13\x14\x15\x16\x17", 8);
    ck_assert_uint_eq(bytes[23], 0x22);
    ck_assert_uint_eq(bytes[39], 0x33);
    ck_assert_mem_eq(bytes + 40, end, sizeof end);
}
END_TEST

START_TEST(sizes_are_those_of_the_standard)
{
    static const struct {
        uint16_t id, stride; /* id: attribute ID. stride: AttributeOffset, in units of 8 bytes */
    } want[] = {
        {0x11, 14}, {0x12, 9}, {0x13, 2}, {0x14, 3},  {0x15, 9}, {0x17, 9},
        {0x18, 4},  {0x20, 1}, {0x30, 9}, {0x31, 22}, {0x33, 9}, {0x35, 8},
        {0x36, 9},  {0x38, 7}, {0x39, 6}, {0x3a, 25}, {0xf3, 8},
    };
    ck_assert_uint_eq(sizeof want / sizeof want[0], FAB_RECS);
    for (size_t i = 0; i < FAB_RECS; i++) {
        const struct fab_rec *r = fab_wire_rec_by_id(want[i].id);
        ck_assert_ptr_eq(r, fab_wire_recs[i]);
        ck_assert_uint_eq(fab_wire_rec_stride(r) / 8, want[i].stride);
        ck_assert_uint_le(r->wire_size, FAB_REC_MAX);
        ck_assert_uint_le(r->struct_size, ROOM);
    }
    ck_assert_ptr_null(fab_wire_rec_by_id(0x16));
    ck_assert_ptr_null(fab_wire_rec_by_id(0x10));
}
END_TEST

/* Each field must be within its part of the record, fields must be in the order of their bits, and
 * parts must follow each other. */
START_TEST(tables_are_well_formed)
{
    for (size_t i = 0; i < FAB_RECS; i++) {
        const struct fab_rec *r = fab_wire_recs[i];
        unsigned bit = 0;
        for (size_t p = 0; p < r->part_count; p++) {
            const struct fab_part *part = &r->parts[p];
            ck_assert_uint_ge(part->at * 8u, bit);
            ck_assert_uint_le(part->member + part->attr->struct_size, r->struct_size);
            for (size_t k = 0; k < part->attr->field_count && !part->whole; k++) {
                const struct fab_field *f = &part->attr->fields[k];
                ck_assert_msg(part->at * 8u + f->bit >= bit, "%s: %s", r->name, f->name);
                bit = part->at * 8u + f->bit + (f->repeat - 1u) * f->bit_stride + f->bits;
                ck_assert(f->bit % 8 == 0 || f->bit % 8 + f->bits <= 64);
            }
            bit = part->whole ? (part->at + part->attr->wire_size) * 8u : bit;
            ck_assert_uint_le(bit, r->wire_size * 8u);
        }
    }
}
END_TEST

/* The fields must read and write all bits that belong to a component, and no other bits, because
 * these are reserved. */
START_TEST(random_bytes_make_the_round_trip)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("records", 6));
    for (int round = 0; round < 1000; round++) {
        const struct fab_rec *r = fab_wire_recs[round % FAB_RECS];
        _Alignas(8) uint8_t once[ROOM] = {0}, twice[ROOM] = {0};
        uint8_t bytes[FAB_REC_MAX], out[FAB_REC_MAX], mask[FAB_REC_MAX];
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (uint8_t)fab_base_prng_next(&prng);
        ck_assert_int_eq(fab_wire_rec_unpack(r, bytes, r->wire_size - 1u, once), FAB_E_TRUNCATED);
        ck_assert_int_eq(fab_wire_rec_unpack(r, bytes, r->wire_size, once), FAB_OK);
        ck_assert_int_eq(fab_wire_rec_pack(r, once, out, r->wire_size - 1u), FAB_E_TRUNCATED);
        ck_assert_int_eq(fab_wire_rec_pack(r, once, out, sizeof out), FAB_OK);
        ck_assert_int_eq(fab_wire_rec_unpack(r, out, sizeof out, twice), FAB_OK);
        ck_assert_mem_eq(once, twice, r->struct_size);
        fab_wire_rec_mask_bytes(r, UINT64_MAX, mask);
        /* VLArbitrationTable is one component, in which some bits are reserved */
        if (r->id == FAB_SA_VLARB_RECORD)
            continue;
        if (r->id == FAB_SA_PORT_INFO_RECORD)
            /* the fields LinkSpeedExt*2 are written, although they are in no component */
            mask[4 + 56] = 0x7f;
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = i < r->wire_size ? bytes[i] & mask[i] : 0;
        ck_assert_mem_eq(out, bytes, sizeof out);
    }
}
END_TEST

START_TEST(paths_by_hand_are_as_by_table)
{
    struct fab_prng prng;
    struct fab_wire_path_record table, hand;
    uint8_t bytes[FAB_PATH_RECORD_LEN], by_table[FAB_PATH_RECORD_LEN], by_hand[FAB_PATH_RECORD_LEN];
    fab_base_prng_init(&prng, test_seed("paths", 7));
    for (int i = 0; i < 1000; i++) {
        for (size_t n = 0; n < sizeof bytes; n++)
            bytes[n] = (uint8_t)fab_base_prng_next(&prng);
        ck_assert_int_eq(fab_wire_rec_unpack(&fab_wire_path_record, bytes, sizeof bytes, &table),
                         FAB_OK);
        fab_wire_path_record_unpack(bytes, &hand);
        for (size_t p = 0; p < fab_wire_path_record.part_count; p++)
            ck_assert_ptr_null(
                fab_wire_attr_diff(fab_wire_path_record.parts[p].attr, &table, &hand));
        ck_assert_int_eq(
            fab_wire_rec_pack(&fab_wire_path_record, &table, by_table, sizeof by_table), FAB_OK);
        fab_wire_path_record_pack(&hand, by_hand);
        ck_assert_mem_eq(by_table, by_hand, sizeof by_hand);
    }
}
END_TEST

START_TEST(values_too_large_are_refused)
{
    uint8_t bytes[64] = {5};
    struct fab_wire_path_record r = {.mtu = 64};
    ck_assert_int_eq(fab_wire_rec_pack(&fab_wire_path_record, &r, bytes, sizeof bytes),
                     FAB_E_RANGE);
    ck_assert_uint_eq(bytes[0], 5);
}
END_TEST

/* ---- components ------------------------------------------------------------------------------ */

static const struct numbered {
    uint16_t id;
    uint8_t bit;
    const char *name;
} numbered[] = {
    {0x11, 0, "LID"},
    {0x11, 2, "BaseVersion"},
    {0x11, 4, "NodeType"},
    {0x11, 7, "NodeGUID"},
    {0x11, 8, "PortGUID"},
    {0x11, 12, "LocalPortNum"},
    {0x11, 13, "VendorID"},
    {0x11, 14, "NodeDescription"},
    {0x12, 0, "EndportLID"},
    {0x12, 1, "PortNum"},
    {0x12, 5, "LID"},
    {0x12, 7, "CapabilityMask"},
    {0x12, 15, "PortState"},
    {0x12, 18, "M_KeyProtectBits"},
    {0x12, 20, "LMC"},
    {0x12, 34, "OperationalVLs"},
    {0x12, 38, "FilterRawOutbound"},
    {0x12, 42, "GUIDCap"},
    {0x12, 43, "ClientReregister"},
    {0x12, 45, "SubnetTimeOut"},
    {0x12, 47, "RespTimeValue"},
    {0x12, 50, "MaxCreditHint"},
    {0x12, 52, "LinkRoundTripLatency"},
    {0x12, 53, "CapabilityMask2"},
    {0x12, 54, "LinkSpeedExtActive"},
    {0x12, 57, "LinkSpeedExtEnabled"},
    {0x13, 1, "InputPortNum"},
    {0x13, 2, "OutputPortNum"},
    {0x14, 2, "LinearFDBCap"},
    {0x15, 0, "LID"},
    {0x15, 1, "BlockNum"},
    {0x17, 1, "Position"},
    {0x17, 3, "BlockNum"},
    {0x18, 2, "GUID"},
    {0x18, 6, "SMState"},
    {0x20, 0, "FromLID"},
    {0x20, 1, "FromPort"},
    {0x20, 2, "ToPort"},
    {0x20, 3, "ToLID"},
    {0x30, 1, "BlockNum"},
    {0x31, 0, "ServiceID"},
    {0x31, 1, "ServiceGID"},
    {0x31, 2, "ServiceP_Key"},
    {0x31, 4, "ServiceLease"},
    {0x31, 5, "ServiceKey"},
    {0x31, 6, "ServiceName"},
    {0x33, 1, "BlockNum"},
    {0x33, 2, "PortNum"},
    {0x35, 0, "ServiceID8MSB"},
    {0x35, 2, "DGID"},
    {0x35, 3, "SGID"},
    {0x35, 4, "DLID"},
    {0x35, 5, "SLID"},
    {0x35, 6, "RawTraffic"},
    {0x35, 8, "FlowLabel"},
    {0x35, 11, "Reversible"},
    {0x35, 12, "NumbPath"},
    {0x35, 13, "P_Key"},
    {0x35, 14, "QoSClass"},
    {0x35, 15, "SL"},
    {0x35, 17, "Mtu"},
    {0x35, 19, "Rate"},
    {0x35, 21, "PacketLifeTime"},
    {0x36, 1, "OutputPortNum"},
    {0x36, 2, "BlockNum"},
    {0x38, 0, "MGID"},
    {0x38, 1, "PortGID"},
    {0x38, 3, "MLID"},
    {0x38, 5, "MTU"},
    {0x38, 7, "P_Key"},
    {0x38, 12, "SL"},
    {0x38, 15, "Scope"},
    {0x38, 16, "JoinState"},
    {0x38, 17, "ProxyJoin"},
    {0x3a, 5, "Reversible"},
    {0x3a, 6, "NumbPath"},
    {0x3a, 9, "SL"},
    {0x3a, 15, "PacketLifeTime"},
    {0x3a, 16, "ServiceID8MSB"},
    {0x3a, 17, "IndependenceSelector"},
    {0x3a, 19, "SGIDCount"},
    {0x3a, 20, "DGIDCount"},
    {0x3a, 21, "ServiceID56LSB"},
    {0xf3, 0, "SubscriberGID"},
    {0xf3, 1, "Enum"},
    {0xf3, 3, "GID"},
    {0xf3, 4, "LIDRangeBegin"},
    {0xf3, 7, "IsGeneric"},
    {0xf3, 10, "TrapNumber"},
    {0xf3, 11, "QPN"},
    {0xf3, 13, "RespTimeValue"},
    {0xf3, 15, "ProducerType"},
};

START_TEST(components_have_the_numbers_of_the_standard)
{
    for (size_t i = 0; i < sizeof numbered / sizeof numbered[0]; i++) {
        const struct numbered *n = &numbered[i];
        const struct fab_rec *r = fab_wire_rec_by_id(n->id);
        uint64_t mask = fab_wire_rec_component(r, n->name);
        ck_assert_msg(mask == UINT64_C(1) << n->bit, "%s, %s: %#" PRIx64, r->name, n->name, mask);
    }
    ck_assert_uint_eq(fab_wire_rec_component(&fab_wire_service_record, "ServiceData8"),
                      0xffffu << 7);
    ck_assert_uint_eq(fab_wire_rec_component(&fab_wire_service_record, "ServiceData64"), UINT64_C(3)
                                                                                             << 35);
    ck_assert_uint_eq(fab_wire_rec_component(&fab_wire_guid_info_record, "GUID"), 0xffu << 4);
    ck_assert_uint_eq(fab_wire_rec_component(&fab_wire_node_record, "no such"), 0);
}
END_TEST

START_TEST(masks_become_bits_and_members)
{
    uint64_t mask = fab_wire_rec_component(&fab_wire_path_record, "SLID") |
                    fab_wire_rec_component(&fab_wire_path_record, "SL") |
                    fab_wire_rec_component(&fab_wire_path_record, "DGID");
    uint8_t bits[64], want[64] = {0};
    struct fab_wire_path_record given;
    memset(want + 8, 0xff, 16);
    memset(want + 42, 0xff, 2);
    want[53] = 0x0f;
    fab_wire_rec_mask_bytes(&fab_wire_path_record, mask | UINT64_C(1) << 7,
                            bits); /* component 7 is reserved, so it selects no bits */
    ck_assert_mem_eq(bits, want, sizeof want);
    fab_wire_rec_mask_struct(&fab_wire_path_record, mask, &given);
    ck_assert(given.slid && given.sl && given.dgid[0] && given.dgid[1]);
    ck_assert(!given.dlid && !given.sgid[0] && !given.rate && !given.qos_class && !given.paths);
    fab_wire_rec_mask_bytes(&fab_wire_path_record, UINT64_C(1) << 63, bits);
    for (size_t i = 0; i < sizeof bits; i++)
        ck_assert_uint_eq(bits[i], 0);
}
END_TEST

START_TEST(elements_of_some_arrays_are_components)
{
    uint8_t bits[176];
    struct fab_wire_service_record given;
    /* component 9: ServiceData8.3 */
    fab_wire_rec_mask_bytes(&fab_wire_service_record, UINT64_C(1) << 9, bits);
    for (size_t i = 0; i < sizeof bits; i++)
        ck_assert_uint_eq(bits[i], i == 114 ? 0xff : 0);
    fab_wire_rec_mask_struct(&fab_wire_service_record, UINT64_C(1) << 32,
                             &given); /* ServiceData32.2 */
    ck_assert_uint_eq(given.data32[1], UINT32_MAX);
    ck_assert_uint_eq(given.data32[0], 0);
    ck_assert_uint_eq(given.data32[2], 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("wire_sa");
    TCase *tcase = tcase_create("records");
    tcase_add_test(tcase, headers_by_hand);
    tcase_add_test(tcase, node_record_by_hand);
    tcase_add_test(tcase, path_record_by_hand);
    tcase_add_test(tcase, sizes_are_those_of_the_standard);
    tcase_add_test(tcase, tables_are_well_formed);
    tcase_add_test(tcase, random_bytes_make_the_round_trip);
    tcase_add_test(tcase, paths_by_hand_are_as_by_table);
    tcase_add_test(tcase, values_too_large_are_refused);
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("components");
    tcase_add_test(tcase, components_have_the_numbers_of_the_standard);
    tcase_add_test(tcase, masks_become_bits_and_members);
    tcase_add_test(tcase, elements_of_some_arrays_are_components);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
