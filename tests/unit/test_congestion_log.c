/* SPDX-License-Identifier: BSD-3-Clause */
/* Readings of congestion logs (annex A10): which entries are new, at what time they were made, and
 * which LIDs they name. */
#include "libfabmgr/congestion/log.h"

#include <string.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/wire/gs.h"
#include "tests/unit/testing.h"

#define LEN 224
#define SECOND UINT64_C(1000000)
/* Ticks of 1.024 us in a second. */
#define TICKS 976562u

static uint32_t read_ca(struct fab_congestion_log *log, const struct fab_cc_log_ca *is, uint64_t at)
{
    uint8_t bytes[LEN];
    uint32_t events = UINT32_MAX;
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_cc_log_ca, is, bytes, sizeof bytes), 0);
    ck_assert_int_eq(fab_congestion_log_update(log, false, bytes, sizeof bytes, at, &events), 0);
    return events;
}

static void put(struct fab_cc_log_ca *is, int i, uint16_t to, uint32_t stamp)
{
    is->entry[i].local_lid = 7;
    is->entry[i].remote_lid = to;
    is->entry[i].sl = 3;
    is->entry[i].local_qp = 0x123456;
    is->entry[i].time_stamp = stamp;
}

/* Reads the log of a device several times. back: the device resets its counter of events at each
 * reading. */
static void counts(bool back)
{
    struct fab_congestion_log log = {0};
    struct fab_cc_log_ca is = {.type = 2, .count = 5, .time_stamp = 100 * TICKS};
    put(&is, 0, 20, 99 * TICKS);
    ck_assert_uint_eq(read_ca(&log, &is, 1000 * SECOND), 0);
    ck_assert_uint_eq(log.count, 1);
    ck_assert_uint_ge(log.entry[0].at_us, 999 * SECOND - 10);
    ck_assert_uint_le(log.entry[0].at_us, 999 * SECOND + 10);

    is.time_stamp = 110 * TICKS;
    is.count = back ? 0 : 5;
    ck_assert_uint_eq(read_ca(&log, &is, 1010 * SECOND), 0);

    is.time_stamp = 120 * TICKS;
    is.count = back ? 2 : 7;
    put(&is, 1, 21, 115 * TICKS);
    put(&is, 2, 20, 116 * TICKS);
    ck_assert_uint_eq(read_ca(&log, &is, 1020 * SECOND), 2);
    ck_assert_uint_eq(log.events, 2);
    ck_assert_uint_eq(log.count, 3);
    ck_assert_uint_eq(log.entry[0].dlid, 20); /* after an update, entry 0 is the latest one */
    ck_assert_uint_eq(log.entry[1].dlid, 21);
    ck_assert_uint_eq(log.entry[2].dlid, 20);

    /* If the device resets its counter, the counter shows 2 as at the last reading. Only the new
     * entries reveal the new events. */
    is.time_stamp = 130 * TICKS;
    is.count = back ? 2 : 9;
    put(&is, 3, 22, 125 * TICKS);
    put(&is, 4, 22, 126 * TICKS);
    ck_assert_uint_eq(read_ca(&log, &is, 1030 * SECOND), 2);
    ck_assert_uint_eq(log.events, 4);
}

START_TEST(events_are_counted_once)
{
    counts(true);
    counts(false);
}
END_TEST

START_TEST(clocks_come_round)
{
    struct fab_congestion_log log = {0};
    struct fab_cc_log_ca is = {.type = 2, .time_stamp = 10 * TICKS};
    /* the entry was made before the device's 32-bit clock wrapped */
    put(&is, 0, 20, 0u - 20 * TICKS);
    (void)read_ca(&log, &is, 1000 * SECOND);
    uint64_t at = log.entry[0].at_us;
    ck_assert_uint_ge(at, 970 * SECOND - 100);
    ck_assert_uint_le(at, 970 * SECOND + 100);
    /* Meanwhile the clock has wrapped once more. The entry is still in the log, and its time must
     * stay as it was computed first. */
    is.time_stamp = 0u - 10 * TICKS;
    (void)read_ca(&log, &is, 5380 * SECOND);
    ck_assert_uint_eq(log.entry[0].at_us, at);
    /* an entry from before the last reading is not a new event */
    put(&is, 1, 21, is.time_stamp - 300 * TICKS);
    is.count = 3;
    is.time_stamp += TICKS;
    (void)read_ca(&log, &is, 5381 * SECOND);
    ck_assert_uint_eq(log.count, 2);
    ck_assert_uint_eq(log.events, 3);
}
END_TEST

START_TEST(a_switch_tells_its_ports)
{
    struct fab_congestion_log log = {0};
    struct fab_cc_log is = {.type = 1, .count = 1, .time_stamp = 5};
    uint8_t bytes[LEN];
    uint32_t events;
    is.port_map[31 - 36 / 8] = 1u << 36 % 8;
    is.entry[14].slid = 9;
    is.entry[14].dlid = 8;
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_cc_log, &is, bytes, sizeof bytes), 0);
    ck_assert_int_eq(fab_congestion_log_update(&log, true, bytes, sizeof bytes, SECOND, &events),
                     0);
    for (int port = 0; port < 256; port++)
        ck_assert(fab_congestion_log_marked(&log, (uint8_t)port) == (port == 36));
    ck_assert_uint_eq(log.count, 1);
    ck_assert_uint_eq(log.entry[0].slid, 9);
    /* the log of an adapter and a truncated log are refused, and change nothing */
    struct fab_congestion_log was = log;
    bytes[0] = 2;
    ck_assert_int_eq(
        fab_congestion_log_update(&log, true, bytes, sizeof bytes, 2 * SECOND, &events),
        FAB_E_FORMAT);
    bytes[0] = 1;
    ck_assert_int_eq(
        fab_congestion_log_update(&log, false, bytes, sizeof bytes, 2 * SECOND, &events),
        FAB_E_FORMAT);
    ck_assert_int_eq(fab_congestion_log_update(&log, true, bytes, 219, 2 * SECOND, &events),
                     FAB_E_FORMAT);
    ck_assert_int_eq(memcmp(&was, &log, sizeof log), 0);
}
END_TEST

START_TEST(incasts_have_each_sender_once)
{
    struct fab_congestion_log log = {0};
    struct fab_cc_log_ca is = {.type = 2, .time_stamp = 100 * TICKS};
    uint16_t senders[22] = {0};
    put(&is, 0, 20, 99 * TICKS);
    put(&is, 1, 20, 98 * TICKS);
    put(&is, 2, 21, 97 * TICKS);
    put(&is, 3, 7, 97 * TICKS);  /* the destination is the adapter's own LID */
    put(&is, 4, 22, 97 * TICKS); /* a LID out of range */
    /* this entry is older than the time from which the test counts senders */
    put(&is, 5, 19, 10 * TICKS);
    (void)read_ca(&log, &is, 1000 * SECOND);
    fab_congestion_log_incasts(&log, 990 * SECOND, senders, 22);
    for (int lid = 0; lid < 22; lid++)
        ck_assert_uint_eq(senders[lid], lid == 20 || lid == 21);
}
END_TEST

/* Reads logs of random bytes. Entries must stay in order and within bounds. There must not be more
 * events than the device's counter says. */
START_TEST(any_readings)
{
    struct fab_prng r;
    fab_base_prng_init(&r, test_seed("logs", 17));
    static uint16_t senders[0xc000];
    for (int i = 0; i < 2000; i++) {
        struct fab_congestion_log log = {0};
        bool of_switch = fab_base_prng_chance(&r, 0.5);
        uint64_t now = 1 + fab_base_prng_below(&r, 10 * SECOND), sum = 0;
        for (int k = 0; k < 6; k++, now += fab_base_prng_below(&r, 100 * SECOND)) {
            uint8_t bytes[LEN];
            uint32_t events;
            for (size_t b = 0; b < sizeof bytes; b++)
                bytes[b] = (uint8_t)fab_base_prng_next(&r);
            bytes[0] = of_switch ? 1 : 2;
            ck_assert_int_eq(
                fab_congestion_log_update(&log, of_switch, bytes, sizeof bytes, now, &events), 0);
            ck_assert_uint_le(events, UINT16_MAX);
            sum += events;
            ck_assert_uint_eq(log.events, sum);
            ck_assert_uint_le(log.count, of_switch ? 15 : 13);
            for (int e = 0; e < log.count; e++)
                ck_assert(log.entry[e].at_us > 0 && log.entry[e].at_us <= now &&
                          (e == 0 || log.entry[e].at_us <= log.entry[e - 1].at_us));
            fab_congestion_log_incasts(&log, 0, senders, 0xc000);
        }
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("congestion logs");
    TCase *t = tcase_create("readings");
    suite_add_tcase(s, t);
    tcase_add_test(t, events_are_counted_once);
    tcase_add_test(t, clocks_come_round);
    tcase_add_test(t, a_switch_tells_its_ports);
    tcase_add_test(t, incasts_have_each_sender_once);
    tcase_add_test(t, any_readings);
    return test_run(s);
}
