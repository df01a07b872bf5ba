/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzes answers of congestion control (management class 0x21) from untrusted devices. The readers
 * of attributes must not read out of bounds, and what they read must pack to the same bytes. The
 * entries of congestion logs stay in order over several readings, and no event counts twice.
 *
 * The first byte selects an attribute of the settings, or the log of a switch or an adapter.
 * Answers of 192 or 224 bytes follow; the last one may be shorter.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/congestion/log.h"
#include "libfabmgr/wire/gs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LOG_BYTES 224

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void read_setting(const struct fab_attr *attr, const uint8_t *data, size_t size)
{
    _Alignas(8) uint8_t value[512] = {0}, again[512] = {0};
    uint8_t bytes[FAB_GS_DATA];
    char text[8192];
    must(sizeof value >= attr->struct_size);
    if (fab_wire_attr_unpack(attr, data, size, value) != FAB_OK)
        return;
    must(fab_wire_attr_pack(attr, value, bytes, sizeof bytes) == FAB_OK);
    must(fab_wire_attr_unpack(attr, bytes, sizeof bytes, again) == FAB_OK);
    must(fab_wire_attr_diff(attr, value, again) == NULL);
    (void)fab_wire_attr_print(attr, value, text, sizeof text);
}

static void read_logs(bool of_switch, const uint8_t *data, size_t size)
{
    static uint16_t senders[FAB_CONGESTION_LOG_ENTRIES * 64];
    struct fab_congestion_log log = {0};
    uint64_t now = 1, sum = 0;
    while (size > 0) {
        size_t len = size < LOG_BYTES ? size : LOG_BYTES;
        uint32_t events = 0;
        struct fab_congestion_log was = log;
        now += UINT64_C(1) << data[len - 1] % 40;
        if (fab_congestion_log_update(&log, of_switch, data, len, now, &events) != FAB_OK)
            must(memcmp(&was, &log, sizeof log) == 0);
        sum += events;
        must(events <= UINT16_MAX && log.events == sum && log.count <= FAB_CONGESTION_LOG_ENTRIES);
        for (int i = 0; i < log.count; i++)
            must(log.entry[i].at_us > 0 && log.entry[i].at_us <= now &&
                 (i == 0 || log.entry[i].at_us <= log.entry[i - 1].at_us));
        fab_congestion_log_incasts(&log, now / 2, senders, sizeof senders / sizeof senders[0]);
        data += len;
        size -= len;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct fab_attr *const settings[] = {
        &fab_wire_attr_cc_info,           &fab_wire_attr_cc_key_info,
        &fab_wire_attr_cc_switch_setting, &fab_wire_attr_cc_switch_port_setting,
        &fab_wire_attr_cc_ca_setting,     &fab_wire_attr_cc_table,
        &fab_wire_attr_cc_time_stamp,
    };
    const size_t count = sizeof settings / sizeof settings[0];
    if (size == 0)
        return 0;
    if (data[0] % 9 < count)
        read_setting(settings[data[0] % 9], data + 1, size - 1);
    else
        read_logs(data[0] % 9 == count, data + 1, size - 1);
    return 0;
}
