/* SPDX-License-Identifier: BSD-3-Clause */
/* The format of recordings, and the player that answers requests from a recording. */
#include <string.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/recording/player.h"
#include "tests/unit/testing.h"

#define ROOM 65536

struct tape {
    uint8_t bytes[ROOM];
    size_t len;
};

static void begin(struct tape *t)
{
    const struct fab_recording_header h = {
        .window = 7, .began_us = 123456789, .port_guid = 0x42, .version = "1.2", .name = "x:1"};
    fab_recording_pack_header(&h, t->bytes);
    t->len = FAB_RECORDING_HEADER;
}

static void put(struct tape *t, const struct fab_recording_entry *e)
{
    ck_assert_uint_lt(t->len + FAB_RECORDING_ENTRY_MAX, ROOM);
    t->len += fab_recording_pack(e, t->bytes + t->len);
}

static void end_at(struct tape *t, uint64_t us)
{
    put(t, &(struct fab_recording_entry){
               .kind = FAB_RECORDING_END, .time_us = us, .small = FAB_RECORDING_STOPPED});
}

/* Makes an entry with a LID-routed SubnGet, or with its answer. */
static struct fab_recording_entry smp(uint8_t *mad, uint8_t kind, uint8_t method, uint32_t modifier,
                                      uint32_t tid, uint64_t us)
{
    const struct fab_mad m = {.mgmt_class = FAB_CLASS_SMP_LID,
                              .method = method,
                              .tid = tid,
                              .attr_id = FAB_ATTR_PORT_INFO,
                              .attr_mod = modifier};
    ck_assert_int_eq(fab_wire_smp_pack(&m, NULL, mad), FAB_OK);
    return (struct fab_recording_entry){.kind = kind,
                                        .time_us = us,
                                        .addr = {.dlid = 5, .timeout_us = 1000},
                                        .len = FAB_MAD_SIZE,
                                        .bytes = mad};
}

static void put_smp(struct tape *t, uint8_t kind, uint8_t method, uint32_t modifier, uint32_t tid,
                    uint64_t us)
{
    uint8_t mad[FAB_MAD_SIZE];
    struct fab_recording_entry e = smp(mad, kind, method, modifier, tid, us);
    put(t, &e);
}

static void put_pair(struct tape *t, uint32_t modifier, uint32_t tid, uint64_t us)
{
    put_smp(t, FAB_RECORDING_OUT, FAB_METHOD_GET, modifier, tid, us);
    put_smp(t, FAB_RECORDING_IN, FAB_METHOD_GET_RESP, modifier, tid, us + 10);
}

START_TEST(header_round_trip)
{
    struct tape t;
    struct fab_recording_header h = {0};
    begin(&t);
    struct fab_base_reader r = fab_base_reader(t.bytes, t.len);
    ck_assert_int_eq(fab_recording_unpack_header(&r, &h), FAB_OK);
    ck_assert_uint_eq(h.window, 7);
    ck_assert_int_eq(h.began_us, 123456789);
    ck_assert_uint_eq(h.port_guid, 0x42);
    ck_assert_str_eq(h.version, "1.2");
    ck_assert_str_eq(h.name, "x:1");
    ck_assert_uint_eq(fab_base_read_left(&r), 0);
    for (size_t len = 8; len < FAB_RECORDING_HEADER; len++) {
        r = fab_base_reader(t.bytes, len);
        ck_assert_int_eq(fab_recording_unpack_header(&r, &h), FAB_E_TRUNCATED);
    }
    t.bytes[9]++;
    r = fab_base_reader(t.bytes, t.len);
    ck_assert_int_eq(fab_recording_unpack_header(&r, &h), FAB_E_UNSUPPORTED);
    t.bytes[0]++;
    r = fab_base_reader(t.bytes, t.len);
    ck_assert_int_eq(fab_recording_unpack_header(&r, &h), FAB_E_FORMAT);
}
END_TEST

START_TEST(mads_round_trip)
{
    uint8_t mad[FAB_MAD_SIZE], got[FAB_MAD_SIZE], room[FAB_RECORDING_ENTRY_MAX];
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("mads", 1));
    for (unsigned i = 0; i < 2000; i++) {
        struct fab_recording_entry to, e = {.kind = i % 2 ? FAB_RECORDING_OUT : FAB_RECORDING_IN,
                                            .failed = i % 3 == 0,
                                            .time_us = fab_base_prng_next(&prng),
                                            .addr = {1, 2, 3, 4, 5, 6},
                                            .qp = 1,
                                            .bytes = mad};
        e.len = (uint16_t)(i % 4 ? FAB_MAD_SIZE : fab_base_prng_next(&prng) % (FAB_MAD_SIZE + 1));
        uint64_t sparse = fab_base_prng_next(&prng) % 20;
        for (size_t b = 0; b < FAB_MAD_SIZE; b++)
            mad[b] = fab_base_prng_next(&prng) % (sparse + 1) == 0
                         ? (uint8_t)fab_base_prng_next(&prng)
                         : 0;
        size_t size = fab_recording_pack(&e, room);
        ck_assert_uint_le(size, sizeof(room));
        struct fab_base_reader r = fab_base_reader(room, size);
        ck_assert_int_eq(fab_recording_unpack(&r, got, &to), FAB_OK);
        memset(mad + e.len, 0, FAB_MAD_SIZE - e.len);
        ck_assert_mem_eq(mad, got, FAB_MAD_SIZE);
        ck_assert(to.kind == e.kind && to.failed == e.failed && to.time_us == e.time_us);
        ck_assert(to.qp == 1 && to.len == e.len && to.addr.dlid == 1 && to.addr.slid == 2);
        ck_assert(to.addr.sl == 3 && to.addr.qpn == 4 && to.addr.qkey == 5);
        ck_assert_uint_eq(to.addr.timeout_us, 6);
        for (size_t len = 0; len < size; len++) {
            r = fab_base_reader(room, len);
            ck_assert_int_eq(fab_recording_unpack(&r, got, &to), FAB_E_TRUNCATED);
        }
    }
}
END_TEST

/* Entries without a MAD, of every kind, must be read as they were written. A name that is longer
 * than a NodeDescription is truncated. */
START_TEST(other_entries_round_trip)
{
    static const uint8_t name[FAB_NODE_DESC_LEN + 1] = "leaf-001, and more text than the field of "
                                                       "a NodeDescription";
    static const struct {
        struct fab_recording_entry e;
        size_t size; /* size of the body in bytes */
    } rows[] = {
        {{.kind = FAB_RECORDING_LEASE, .guid = 0x42, .lid = 0xbfff, .small = 7}, 11},
        {{.kind = FAB_RECORDING_DISABLED, .guid = UINT64_MAX, .small = 254}, 9},
        {{.kind = FAB_RECORDING_END, .small = FAB_RECORDING_LIMIT}, 1},
        {{.kind = FAB_RECORDING_PIN, .guid = 5, .len = 8, .bytes = name}, 16},
        {{.kind = FAB_RECORDING_PIN, .guid = 5, .len = 0, .bytes = name}, 8},
        {{.kind = FAB_RECORDING_PIN, .guid = 5, .len = FAB_NODE_DESC_LEN, .bytes = name}, 72},
        {{.kind = FAB_RECORDING_PIN, .guid = 5, .len = FAB_NODE_DESC_LEN + 1, .bytes = name}, 72},
    };
    uint8_t mad[FAB_MAD_SIZE], room[FAB_RECORDING_ENTRY_MAX];
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct fab_recording_entry e = rows[i].e, to = {0};
        uint16_t len = e.len <= FAB_NODE_DESC_LEN ? e.len : FAB_NODE_DESC_LEN;
        e.time_us = 77;
        size_t size = fab_recording_pack(&e, room);
        ck_assert_uint_eq(size, FAB_RECORDING_PREFIX + rows[i].size);
        struct fab_base_reader r = fab_base_reader(room, size);
        ck_assert_int_eq(fab_recording_unpack(&r, mad, &to), FAB_OK);
        ck_assert_uint_eq(fab_base_read_left(&r), 0);
        ck_assert(to.kind == e.kind && to.time_us == 77 && to.guid == e.guid && to.lid == e.lid &&
                  to.small == e.small && to.len == len);
        ck_assert(len == 0 || memcmp(to.bytes, name, len) == 0);
        for (size_t cut = 0; cut < size; cut++) {
            r = fab_base_reader(room, cut);
            ck_assert_int_eq(fab_recording_unpack(&r, mad, &to), FAB_E_TRUNCATED);
        }
    }
}
END_TEST

/* Settings may be longer than all other entries: the prefix is packed alone, and the text follows
 * it. */
START_TEST(settings_round_trip)
{
    static uint8_t bytes[FAB_RECORDING_PREFIX + UINT16_MAX];
    static const uint16_t lengths[] = {0, 1, 300, UINT16_MAX};
    uint8_t mad[FAB_MAD_SIZE];
    for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        uint16_t len = lengths[i];
        struct fab_recording_entry to = {0};
        memset(bytes, 'x', sizeof(bytes));
        fab_recording_pack_settings(1234567, len, bytes);
        struct fab_base_reader r = fab_base_reader(bytes, FAB_RECORDING_PREFIX + (size_t)len);
        ck_assert_int_eq(fab_recording_unpack(&r, mad, &to), FAB_OK);
        ck_assert_uint_eq(fab_base_read_left(&r), 0);
        ck_assert_uint_eq(to.kind, FAB_RECORDING_SETTINGS);
        ck_assert_uint_eq(to.time_us, 1234567);
        ck_assert_uint_eq(to.len, len);
        ck_assert_ptr_eq(to.bytes, bytes + FAB_RECORDING_PREFIX);
    }
}
END_TEST

START_TEST(describes)
{
    uint8_t mad[FAB_MAD_SIZE];
    char text[100];
    struct fab_mad m = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                        .method = FAB_METHOD_SET,
                        .attr_id = FAB_ATTR_LFT,
                        .attr_mod = 3,
                        .path = {2, {0, 1, 4}}};
    ck_assert_int_eq(fab_wire_smp_pack(&m, NULL, mad), FAB_OK);
    fab_recording_describe(mad, 0xffff, text, sizeof(text));
    ck_assert_str_eq(text, "SubnSet LinearForwardingTable, modifier 3, by 0,1,4");
    memset(mad, 0xff, sizeof(mad));
    for (size_t room = 1; room < sizeof(text); room++) {
        fab_recording_describe(mad, 7, text, room);
        ck_assert_uint_lt(strlen(text), room);
    }
}
END_TEST

/* ---- the player ---- */

struct play {
    struct fab_recording_player *p;
    uint8_t mad[FAB_MAD_SIZE];
    struct fab_recording_entry got;
};

static void play(struct play *x, const struct tape *t)
{
    ck_assert_int_eq(fab_recording_player_new(t->bytes, t->len, 1000000, &x->p), FAB_OK);
}

static enum fab_recording_player_sent ask(struct play *x, uint64_t now, uint32_t modifier,
                                          uint32_t tid)
{
    uint8_t mad[FAB_MAD_SIZE];
    struct fab_recording_entry e = smp(mad, FAB_RECORDING_OUT, FAB_METHOD_GET, modifier, tid, 0);
    return fab_recording_player_send(x->p, now, &e);
}

/* Checks that the next MAD that the player delivers is the answer or trap with this TID, and that
 * it comes at this time. */
static void comes(struct play *x, uint64_t now, uint32_t tid)
{
    ck_assert_uint_eq(fab_recording_player_deadline(x->p, now), now);
    ck_assert(!fab_recording_player_receive(x->p, now - 1, x->mad, &x->got));
    ck_assert(fab_recording_player_receive(x->p, now, x->mad, &x->got));
    ck_assert_uint_eq(fab_base_get_be64(x->mad + 8), tid);
}

START_TEST(answers_by_content)
{
    struct tape t;
    struct play x;
    begin(&t);
    put_pair(&t, 1, 100, 0);
    put_pair(&t, 2, 101, 100);
    end_at(&t, 2000000);
    play(&x, &t);
    ck_assert_int_eq(fab_recording_player_tail(x.p), FAB_OK);
    ck_assert_int_eq(ask(&x, 2000000, 1, 7), FAB_RECORDING_PLAYER_RECORDED);
    ck_assert_int_eq(ask(&x, 2000001, 3, 8), FAB_RECORDING_PLAYER_UNEXPECTED);
    ck_assert_int_eq(ask(&x, 2000002, 2, 9), FAB_RECORDING_PLAYER_RECORDED);
    comes(&x, 2000010, 7);
    comes(&x, 2000012, 9);
    ck_assert_int_eq(ask(&x, 3500020, 1, 10), FAB_RECORDING_PLAYER_NOT_JUDGED);
    struct fab_recording_player_stats s;
    fab_recording_player_stats(x.p, &s);
    ck_assert_uint_eq(s.asked, 2);
    ck_assert_uint_eq(s.delivered, 2);
    ck_assert_uint_eq(s.unexpected, 1);
    ck_assert_uint_eq(s.missing, 0);
    ck_assert_uint_ne(fab_recording_player_deadline(x.p, 3500020), UINT64_MAX);
    ck_assert_uint_eq(fab_recording_player_deadline(x.p, 4000000), UINT64_MAX);
    fab_recording_player_free(x.p);
}
END_TEST

/* Fills `mad` with a Get of counters (class PerfMgt) by LID. */
static struct fab_recording_entry counters_read(uint8_t *mad, uint32_t tid, uint64_t us)
{
    struct fab_recording_entry e = smp(mad, FAB_RECORDING_OUT, FAB_METHOD_GET, 0, tid, us);
    mad[1] = FAB_CLASS_PERF;
    e.addr.dlid = (uint16_t)tid;
    return e;
}

START_TEST(reads_of_counters_are_no_difference)
{
    struct tape t;
    struct play x;
    uint8_t mad[FAB_MAD_SIZE];
    struct fab_recording_player_stats s;
    begin(&t);
    struct fab_recording_entry e = counters_read(mad, 5, 0);
    put(&t, &e);
    put_pair(&t, 1, 100, 100);
    put_pair(&t, 2, 101, 200);
    end_at(&t, 9000000);
    play(&x, &t);
    ck_assert_int_eq(ask(&x, 2000000, 1, 7), FAB_RECORDING_PLAYER_RECORDED);
    e = counters_read(mad, 6, 0);
    ck_assert_int_eq(fab_recording_player_send(x.p, 2000001, &e), FAB_RECORDING_PLAYER_NOT_JUDGED);
    fab_recording_player_stats(x.p, &s);
    ck_assert_uint_eq(s.unexpected, 0);
    ck_assert_uint_eq(s.not_judged, 1);
    /* the SMP with modifier 2 was not sent; the read of counters does not count */
    ck_assert_uint_eq(s.missing, 1);
    fab_recording_player_free(x.p);
}
END_TEST

/* In the recording, the first try of a request got no answer, and the second one did. The first try
 * of another request came back as undeliverable. The player must do the same. */
START_TEST(loses_what_was_lost)
{
    struct tape t;
    struct play x;
    uint8_t mad[FAB_MAD_SIZE];
    begin(&t);
    put_smp(&t, FAB_RECORDING_OUT, FAB_METHOD_GET, 1, 100, 0);
    put_pair(&t, 1, 100, 1000);
    put_smp(&t, FAB_RECORDING_OUT, FAB_METHOD_GET, 2, 101, 2000);
    struct fab_recording_entry back = smp(mad, FAB_RECORDING_IN, FAB_METHOD_GET, 2, 101, 2500);
    back.failed = true;
    put(&t, &back);
    end_at(&t, 3000);
    play(&x, &t);
    ck_assert_int_eq(ask(&x, 2000000, 1, 7), FAB_RECORDING_PLAYER_RECORDED);
    ck_assert(!fab_recording_player_receive(x.p, 2000900, x.mad, &x.got));
    ck_assert_int_eq(ask(&x, 2001000, 1, 7), FAB_RECORDING_PLAYER_RECORDED);
    comes(&x, 2001010, 7);
    ck_assert(!x.got.failed);
    ck_assert_int_eq(ask(&x, 2002000, 2, 8), FAB_RECORDING_PLAYER_RECORDED);
    comes(&x, 2002500, 8);
    ck_assert(x.got.failed);
    fab_recording_player_free(x.p);
}
END_TEST

START_TEST(traps_keep_their_place)
{
    struct tape t;
    struct play x;
    begin(&t);
    put_pair(&t, 1, 100, 0);
    put_smp(&t, FAB_RECORDING_IN, FAB_METHOD_TRAP, 0, 55, 500000);
    put_pair(&t, 2, 101, 600000);
    end_at(&t, 3000000);
    play(&x, &t);
    ck_assert_int_eq(ask(&x, 1000000, 1, 7), FAB_RECORDING_PLAYER_RECORDED);
    comes(&x, 1000010, 7);
    /* In the recording, a trap came between request 1 and request 2, which was sent 600 ms after
     * request 1. Now request 2 is sent after 400 ms. So the player must deliver the trap at
     * once. */
    ck_assert_int_eq(ask(&x, 1400000, 2, 8), FAB_RECORDING_PLAYER_RECORDED);
    ck_assert(fab_recording_player_receive(x.p, 1400000, x.mad, &x.got));
    ck_assert_uint_eq(fab_base_get_be64(x.mad + 8), 55);
    comes(&x, 1400010, 8);
    fab_recording_player_free(x.p);
}
END_TEST

START_TEST(does_not_wait_for_ever)
{
    struct tape t;
    struct play x;
    begin(&t);
    put_pair(&t, 1, 100, 0);
    put_pair(&t, 2, 101, 100);
    put_smp(&t, FAB_RECORDING_IN, FAB_METHOD_TRAP, 0, 55, 200);
    end_at(&t, 300);
    play(&x, &t);
    ck_assert_int_eq(ask(&x, 1000000, 2, 8), FAB_RECORDING_PLAYER_RECORDED);
    /* Request 1 is never sent. The player must deliver the answer to request 2 even so, after half
     * of the timeout of this request. */
    comes(&x, 1000500, 8);
    comes(&x, 1000100, 55);
    ck_assert_int_eq(ask(&x, 1000600, 1, 7), FAB_RECORDING_PLAYER_RECORDED);
    comes(&x, 1000610, 7); /* this answer comes after the answer to the later request */
    struct fab_recording_player_stats s;
    fab_recording_player_stats(x.p, &s);
    ck_assert_uint_eq(s.reordered, 1);
    ck_assert_uint_eq(s.unexpected + s.missing, 0);
    fab_recording_player_free(x.p);
}
END_TEST

START_TEST(names_what_is_missing)
{
    struct tape t;
    struct play x;
    uint32_t cursor = 0;
    begin(&t);
    put_pair(&t, 1, 100, 0);
    put_pair(&t, 2, 101, 100);
    end_at(&t, 5000000);
    play(&x, &t);
    ck_assert_int_eq(ask(&x, 1000000, 2, 8), FAB_RECORDING_PLAYER_RECORDED);
    ck_assert(fab_recording_player_missing(x.p, &cursor, x.mad, &x.got));
    ck_assert_uint_eq(fab_base_get_be32(x.mad + 20), 1);
    ck_assert(!fab_recording_player_missing(x.p, &cursor, x.mad, &x.got));
    fab_recording_player_free(x.p);
}
END_TEST

START_TEST(plays_up_to_damage)
{
    struct tape t;
    struct play x;
    begin(&t);
    put_pair(&t, 1, 100, 0);
    size_t good = t.len;
    put_pair(&t, 2, 101, 100);
    end_at(&t, 300);
    memset(t.bytes + good, 0, 40);
    play(&x, &t);
    ck_assert_int_eq(fab_recording_player_tail(x.p), FAB_E_FORMAT);
    ck_assert_int_eq(ask(&x, 1000000, 1, 8), FAB_RECORDING_PLAYER_RECORDED);
    fab_recording_player_free(x.p);
    t.len = good - 3;
    play(&x, &t);
    ck_assert_int_eq(fab_recording_player_tail(x.p), FAB_E_TRUNCATED);
    fab_recording_player_free(x.p);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("recording");
    TCase *c = tcase_create("recording");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, header_round_trip);
    tcase_add_test(c, mads_round_trip);
    tcase_add_test(c, other_entries_round_trip);
    tcase_add_test(c, settings_round_trip);
    tcase_add_test(c, describes);
    tcase_add_test(c, answers_by_content);
    tcase_add_test(c, reads_of_counters_are_no_difference);
    tcase_add_test(c, loses_what_was_lost);
    tcase_add_test(c, traps_keep_their_place);
    tcase_add_test(c, does_not_wait_for_ever);
    tcase_add_test(c, names_what_is_missing);
    tcase_add_test(c, plays_up_to_damage);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return test_run(suite());
}
