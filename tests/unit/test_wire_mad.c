/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Headers of MADs: bytes that were written by hand from the layout in the specification, headers
 * that must be refused, and responses.
 */
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/wire/wire.h"
#include "tests/unit/testing.h"

/* SubnGet(PortInfo) of port 7, two hops away, TID 0x1122334455667788, M_Key 0xa1..a8. */
static const uint8_t directed_get[FAB_MAD_SIZE] = {
    [0] = 0x01,   0x81,         0x01, 0x01, 0x00,
    0x00,         0x00,         0x02, /* MAD header: BaseVersion, MgmtClass, ClassVersion, method,
                                         status, hop pointer, hop count */
    [8] = 0x11,   0x22,         0x33, 0x44, 0x55,
    0x66,         0x77,         0x88, /* TID */
    [16] = 0x00,  0x15,         0x00, 0x00, 0x00,
    0x00,         0x00,         0x07, /* attribute, reserved, modifier */
    [24] = 0xa1,  0xa2,         0xa3, 0xa4, 0xa5,
    0xa6,         0xa7,         0xa8,       /* M_Key */
    [32] = 0xff,  0xff,         0xff, 0xff, /* DrSLID DrDLID */
    [64] = 0xd0,  [127] = 0xd1,             /* first and last byte of the attribute */
    [128] = 0x00, 0x05,         0xfe,       /* initial path */
};

static struct fab_mad directed_get_mad(void)
{
    return (struct fab_mad){
        .mgmt_class = FAB_CLASS_SMP_DIRECTED,
        .method = FAB_METHOD_GET,
        .tid = UINT64_C(0x1122334455667788),
        .attr_id = FAB_ATTR_PORT_INFO,
        .attr_mod = 7,
        .m_key = UINT64_C(0xa1a2a3a4a5a6a7a8),
        .path = {.hops = 2, .port = {0, 5, 254}},
    };
}

START_TEST(directed_smp_has_the_layout_of_the_standard)
{
    struct fab_mad mad = directed_get_mad();
    uint8_t data[FAB_SMP_DATA] = {[0] = 0xd0, [63] = 0xd1}, bytes[FAB_MAD_SIZE];
    memset(bytes, 0x5a, sizeof bytes);
    ck_assert_int_eq(fab_wire_smp_pack(&mad, data, bytes), FAB_OK);
    ck_assert_mem_eq(bytes, directed_get, FAB_MAD_SIZE);
}
END_TEST

START_TEST(directed_smp_is_read_back)
{
    struct fab_mad mad;
    const uint8_t *data;
    size_t len;
    ck_assert_int_eq(fab_wire_mad_unpack(directed_get, FAB_MAD_SIZE, &mad, &data, &len), FAB_OK);
    ck_assert_uint_eq(mad.mgmt_class, FAB_CLASS_SMP_DIRECTED);
    ck_assert_uint_eq(mad.class_version, 1);
    ck_assert_uint_eq(mad.method, FAB_METHOD_GET);
    ck_assert_uint_eq(mad.status, 0);
    ck_assert_uint_eq(mad.tid, UINT64_C(0x1122334455667788));
    ck_assert_uint_eq(mad.attr_id, FAB_ATTR_PORT_INFO);
    ck_assert_uint_eq(mad.attr_mod, 7);
    ck_assert_uint_eq(mad.m_key, UINT64_C(0xa1a2a3a4a5a6a7a8));
    ck_assert(mad.directed && !mad.returning);
    ck_assert_uint_eq(mad.path.hops, 2);
    ck_assert_uint_eq(mad.path.port[1], 5);
    ck_assert_uint_eq(mad.path.port[2], 254);
    ck_assert_uint_eq(mad.dr_slid, 0xffff);
    ck_assert_uint_eq(mad.dr_dlid, 0xffff);
    ck_assert_ptr_eq(data, directed_get + 64);
    ck_assert_uint_eq(len, 64);
}
END_TEST

START_TEST(direction_bit_is_apart_from_the_status)
{
    struct fab_mad mad = directed_get_mad(), back;
    uint8_t bytes[FAB_MAD_SIZE];
    const uint8_t *data;
    size_t len;
    mad.method = FAB_METHOD_GET_RESP;
    mad.returning = true;
    mad.status = FAB_SMP_BAD_VALUE;
    mad.hop_pointer = 3;
    ck_assert_int_eq(fab_wire_smp_pack(&mad, NULL, bytes), FAB_OK);
    ck_assert_uint_eq(bytes[4], 0x80);
    ck_assert_uint_eq(bytes[5], 0x1c);
    ck_assert_uint_eq(bytes[6], 3);
    ck_assert_int_eq(fab_wire_mad_unpack(bytes, sizeof bytes, &back, &data, &len), FAB_OK);
    ck_assert(back.returning);
    ck_assert_uint_eq(back.status, FAB_SMP_BAD_VALUE);
    ck_assert_uint_eq(back.hop_pointer, 3);
    ck_assert_uint_eq(data[0], 0);
}
END_TEST

START_TEST(lid_routed_smp_has_no_directed_fields)
{
    struct fab_mad mad = directed_get_mad(), back;
    uint8_t bytes[FAB_MAD_SIZE];
    const uint8_t *data;
    size_t len;
    mad.mgmt_class = FAB_CLASS_SMP_LID;
    /* in a LID-routed SMP, the D bit is part of the status */
    mad.status = 0x8001;
    ck_assert_int_eq(fab_wire_smp_pack(&mad, NULL, bytes), FAB_OK);
    ck_assert_mem_eq(bytes, "\x01\x01\x01\x01\x80\x01\x00\x00", 8);
    ck_assert_mem_eq(bytes + 24, "\xa1\xa2\xa3\xa4\xa5\xa6\xa7\xa8", 8);
    for (size_t i = 32; i < FAB_MAD_SIZE; i++)
        ck_assert_uint_eq(bytes[i], 0);
    ck_assert_int_eq(fab_wire_mad_unpack(bytes, sizeof bytes, &back, &data, &len), FAB_OK);
    ck_assert(!back.directed && !back.returning);
    ck_assert_uint_eq(back.status, 0x8001);
    ck_assert_uint_eq(back.path.hops, 0);
    ck_assert_ptr_eq(data, bytes + 64);
}
END_TEST

START_TEST(sixty_three_hops_and_no_more)
{
    struct fab_mad mad = directed_get_mad(), back;
    uint8_t bytes[FAB_MAD_SIZE];
    const uint8_t *data;
    size_t len;
    mad.path.hops = FAB_MAX_HOPS;
    for (unsigned i = 1; i <= FAB_MAX_HOPS; i++)
        mad.path.port[i] = (uint8_t)(i * 4);
    ck_assert_int_eq(fab_wire_smp_pack(&mad, NULL, bytes), FAB_OK);
    ck_assert_uint_eq(bytes[128], 0);
    ck_assert_uint_eq(bytes[191], 252);
    ck_assert_uint_eq(bytes[192], 0);
    ck_assert_int_eq(fab_wire_mad_unpack(bytes, sizeof bytes, &back, &data, &len), FAB_OK);
    ck_assert_mem_eq(back.path.port + 1, mad.path.port + 1, FAB_MAX_HOPS);
    mad.path.hops = FAB_MAX_HOPS + 1;
    memset(bytes, 7, sizeof bytes);
    ck_assert_int_eq(fab_wire_smp_pack(&mad, NULL, bytes), FAB_E_INVAL);
    ck_assert_uint_eq(bytes[0], 7);
}
END_TEST

START_TEST(malformed_headers_are_refused)
{
    static const struct {
        size_t at;
        uint8_t value;
        int status;
    } cases[] = {
        {0, 2, FAB_E_FORMAT},   {2, 0, FAB_E_FORMAT}, {2, 2, FAB_E_FORMAT}, {7, 64, FAB_E_FORMAT},
        {7, 255, FAB_E_FORMAT}, {6, 4, FAB_E_FORMAT}, {6, 3, FAB_OK},       {7, 63, FAB_OK},
    };
    struct fab_mad mad = {.tid = 99};
    const uint8_t *data = NULL;
    size_t len = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t bytes[FAB_MAD_SIZE];
        memcpy(bytes, directed_get, sizeof bytes);
        bytes[cases[i].at] = cases[i].value;
        mad.tid = 99;
        ck_assert_int_eq(fab_wire_mad_unpack(bytes, sizeof bytes, &mad, &data, &len),
                         cases[i].status);
        ck_assert(cases[i].status == FAB_OK || mad.tid == 99);
    }
    for (size_t n = 0; n < FAB_MAD_SIZE; n++) {
        /* in a buffer of exactly this size, a sanitizer detects each read beyond the end */
        uint8_t *exact = malloc(n > 0 ? n : 1);
        memcpy(exact, directed_get, n);
        ck_assert_int_eq(fab_wire_mad_unpack(exact, n, &mad, &data, &len), FAB_E_TRUNCATED);
        free(exact);
    }
}
END_TEST

START_TEST(gmp_data_begins_after_the_common_header)
{
    struct fab_mad mad = {.mgmt_class = FAB_CLASS_SA,
                          .method = FAB_METHOD_GET,
                          .tid = 5,
                          .attr_id = 0x35,
                          .attr_mod = 0xffffffff},
                   back;
    uint8_t bytes[FAB_MAD_SIZE], payload[FAB_GMP_DATA + 1];
    const uint8_t *data;
    size_t len;
    memset(payload, 0x77, sizeof payload);
    ck_assert_int_eq(fab_wire_gmp_pack(&mad, payload, 10, bytes), FAB_OK);
    ck_assert_mem_eq(bytes, "\x01\x03\x02\x01\0\0\0\0\0\0\0\0\0\0\0\x05\0\x35\0\0\xff\xff\xff\xff",
                     24);
    ck_assert_uint_eq(bytes[33], 0x77);
    ck_assert_uint_eq(bytes[34], 0);
    ck_assert_int_eq(fab_wire_mad_unpack(bytes, 30, &back, &data, &len), FAB_OK);
    ck_assert_uint_eq(back.class_version, 2);
    ck_assert_ptr_eq(data, bytes + 24);
    ck_assert_uint_eq(len, 6);
    ck_assert_int_eq(fab_wire_gmp_pack(&mad, payload, FAB_GMP_DATA, bytes), FAB_OK);
    ck_assert_int_eq(fab_wire_gmp_pack(&mad, payload, FAB_GMP_DATA + 1, bytes), FAB_E_INVAL);
    mad.mgmt_class = FAB_CLASS_SMP_LID;
    ck_assert_int_eq(fab_wire_gmp_pack(&mad, payload, 1, bytes), FAB_E_INVAL);
    mad.mgmt_class = FAB_CLASS_PERF;
    ck_assert_int_eq(fab_wire_smp_pack(&mad, NULL, bytes), FAB_E_INVAL);
    ck_assert_int_eq(fab_wire_gmp_pack(&mad, NULL, 0, bytes), FAB_OK);
    ck_assert_uint_eq(bytes[2], 1);
}
END_TEST

START_TEST(answers_keep_what_finds_the_way_back)
{
    uint8_t request[FAB_MAD_SIZE], answer[FAB_MAD_SIZE], data[FAB_SMP_DATA];
    memcpy(request, directed_get, sizeof request);
    /* as in a request that has arrived: the hop pointer is one more than the hop count */
    request[6] = 3;
    /* the switches on the route have filled in the return path */
    memcpy(request + 193, "\x09\x08", 2);
    memset(data, 0x33, sizeof data);
    ck_assert_int_eq(fab_wire_smp_answer(request, 0x0004, data, answer), FAB_OK);
    ck_assert_uint_eq(answer[3], FAB_METHOD_GET_RESP);
    ck_assert_mem_eq(answer + 4, "\x80\x04\x03\x02", 4);
    ck_assert_mem_eq(answer + 8, request + 8, 64 - 8);
    ck_assert_mem_eq(answer + 64, data, sizeof data);
    ck_assert_mem_eq(answer + 128, request + 128, 128);
    request[1] = FAB_CLASS_SMP_LID;
    /* the answer overwrites the request */
    ck_assert_int_eq(fab_wire_smp_answer(request, 0, NULL, request), FAB_OK);
    ck_assert_uint_eq(request[4], 0);
    ck_assert_uint_eq(request[64], 0xd0);
    ck_assert_int_eq(fab_wire_smp_answer(request, 0, NULL, answer),
                     FAB_E_INVAL); /* a response gets no answer */
}
END_TEST

START_TEST(each_request_has_its_answer)
{
    static const uint8_t pairs[][2] = {
        {FAB_METHOD_GET, FAB_METHOD_GET_RESP},
        {FAB_METHOD_SET, FAB_METHOD_GET_RESP},
        {FAB_METHOD_TRAP, FAB_METHOD_TRAP_REPRESS},
        {FAB_METHOD_REPORT, FAB_METHOD_REPORT_RESP},
        {FAB_METHOD_SEND, 0},
        {FAB_METHOD_TRAP_REPRESS, 0},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        uint8_t bytes[FAB_MAD_SIZE] = {1, FAB_CLASS_SMP_LID, 1, pairs[i][0]};
        ck_assert_int_eq(fab_wire_smp_answer(bytes, 0, NULL, bytes),
                         pairs[i][1] != 0 ? FAB_OK : FAB_E_INVAL);
        if (pairs[i][1] != 0)
            ck_assert_uint_eq(bytes[3], pairs[i][1]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("headers");
    TCase *tcase = tcase_create("mads");
    tcase_add_test(tcase, directed_smp_has_the_layout_of_the_standard);
    tcase_add_test(tcase, directed_smp_is_read_back);
    tcase_add_test(tcase, direction_bit_is_apart_from_the_status);
    tcase_add_test(tcase, lid_routed_smp_has_no_directed_fields);
    tcase_add_test(tcase, sixty_three_hops_and_no_more);
    tcase_add_test(tcase, malformed_headers_are_refused);
    tcase_add_test(tcase, gmp_data_begins_after_the_common_header);
    tcase_add_test(tcase, answers_keep_what_finds_the_way_back);
    tcase_add_test(tcase, each_request_has_its_answer);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
