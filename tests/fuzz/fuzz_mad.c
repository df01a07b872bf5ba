/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzes the readers of MADs: the header, each attribute (what was read must pack and unpack to the
 * same values), printing, and notices. Also fuzzes a session with requests in flight: it gets each
 * input as it is, and again with the transaction ID of a request.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/mads/mads.h"
#include "libfabmgr/wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void try_attribute(const struct fab_attr *a, const uint8_t *data, size_t len)
{
    _Alignas(8) uint8_t once[512], twice[512];
    uint8_t bytes[64];
    char text[256];
    must(a->struct_size <= sizeof once);
    if (fab_wire_attr_unpack(a, data, len, once) != 0)
        return;
    must(fab_wire_attr_pack(a, once, bytes, sizeof bytes) == 0);
    must(fab_wire_attr_unpack(a, bytes, sizeof bytes, twice) == 0);
    must(fab_wire_attr_diff(a, once, twice) == NULL);
    must(memcmp(once, twice, a->struct_size) == 0);
    size_t need = fab_wire_attr_print(a, once, text, sizeof text);
    must(strlen(text) == (need < sizeof text ? need : sizeof text - 1));
}

static void try_attributes(const uint8_t *data, size_t len)
{
    static const struct fab_attr *const all[] = {
        &fab_wire_attr_node_info, &fab_wire_attr_switch_info, &fab_wire_attr_port_info,
        &fab_wire_attr_sm_info,   &fab_wire_attr_notice,      &fab_wire_attr_sl2vl,
        &fab_wire_attr_vlarb,     &fab_wire_attr_pkey_block,  &fab_wire_attr_guid_block,
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        try_attribute(all[i], data, len);
    struct fab_notice notice;
    struct fab_violation violation;
    if (fab_wire_attr_unpack(&fab_wire_attr_notice, data, len, &notice) == 0) {
        (void)fab_wire_notice_lid(&notice);
        if (fab_wire_notice_violation(&notice, &violation))
            must(violation.hops <= FAB_VIOLATION_HOPS);
    }
    struct fab_port_info port;
    if (fab_wire_attr_unpack(&fab_wire_attr_port_info, data, len, &port) == 0)
        must(fab_wire_link_rate(&port) <= 12 * 200000 && fab_wire_link_speed(&port) != NULL);
}

static void try_header(const uint8_t *data, size_t size)
{
    struct fab_mad mad, again;
    const uint8_t *at, *at_again;
    size_t len, len_again;
    uint8_t bytes[FAB_MAD_SIZE];
    if (fab_wire_mad_unpack(data, size, &mad, &at, &len) != 0)
        return;
    must(at >= data && at + len <= data + size);
    try_attributes(at, len);
    if (fab_wire_smp_pack(&mad, len == FAB_SMP_DATA ? at : NULL, bytes) != 0)
        return;
    must(fab_wire_mad_unpack(bytes, sizeof bytes, &again, &at_again, &len_again) == 0);
    must(again.tid == mad.tid && again.status == mad.status && again.returning == mad.returning);
    must(memcmp(&again.path, &mad.path, sizeof mad.path) == 0);
    must(memcmp(at, at_again, len) == 0);
    (void)fab_wire_smp_answer(bytes, 0x1c, NULL, bytes);
}

static void count_done(void *ctx, uint64_t tag, const struct fab_mads_answer *answer)
{
    (void)tag;
    must(answer->data != NULL || answer->len == 0);
    (*(unsigned *)ctx)++;
}

static void try_session(const uint8_t *data, size_t size)
{
    static const struct fab_path path = {.hops = 1, .port = {0, 1}};
    struct fab_mads_config config = {
        .window_start = 4, .window_max = 4, .timeout_us = 10, .retries = 1};
    struct fab_mads *m = fab_mads_new(&config);
    struct fab_mads_request req = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                                   .method = FAB_METHOD_GET,
                                   .attr_id = FAB_ATTR_PORT_INFO,
                                   .path = &path,
                                   .done = count_done};
    unsigned done = 0;
    uint8_t mad[FAB_MAD_SIZE], hostile[FAB_MAD_SIZE] = {0};
    struct fab_mad_addr to;
    req.ctx = &done;
    must(m != NULL && fab_mads_submit(m, &req) == 0 && fab_mads_submit(m, &req) == 0);
    must(fab_mads_output(m, 0, mad, &to) && fab_mads_output(m, 0, mad, &to));
    fab_mads_input(m, 1, FAB_LID_PERMISSIVE, data, size, false);
    fab_mads_input(m, 1, FAB_LID_PERMISSIVE, data, size, true);
    memcpy(hostile, data, size < sizeof hostile ? size : sizeof hostile);
    memcpy(hostile + 8, mad + 8, 8); /* the transaction ID of the second request */
    fab_mads_input(m, 2, FAB_LID_PERMISSIVE, hostile, sizeof hostile, false);
    fab_mads_input(m, 2, FAB_LID_PERMISSIVE, hostile, sizeof hostile, true);
    for (uint64_t now = 10; !fab_mads_idle(m); now += 10) {
        while (fab_mads_output(m, now, mad, &to))
            ;
        fab_mads_expire(m, now + 20);
    }
    must(done == 2);
    fab_mads_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_header(data, size);
    try_attributes(data, size);
    try_session(data, size);
    return 0;
}
