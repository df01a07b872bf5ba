/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RMPP. Transfers of all sizes run over a wire that loses, duplicates and delays MADs. The layout
 * of segments is checked. If the sender or the receiver violates the protocol, the transfer must
 * end with the status that the specification requires.
 */
#include "libfabmgr/mads/rmpp.h"
#include "tests/unit/rmpp_receiver.h"

#include <string.h>

#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "tests/unit/testing.h"

static const struct rmpp_receiver_config config = {
    .window = 8, .sender = {.timeout_us = 100, .retries = 20}, .limit = 1 << 20};
static const uint8_t head[FAB_SA_DATA] = {
    1, FAB_CLASS_SA, 2, 0x92, [8] = 1, 2, 3, 4, 5, 6, 7, 8, [17] = 0x11, [45] = 14};

static struct fab_rmpp rmpp_of(const uint8_t *mad)
{
    struct fab_rmpp h;
    ck_assert_int_eq(fab_wire_attr_unpack(&fab_wire_attr_rmpp, mad + FAB_RMPP_AT, 12, &h), FAB_OK);
    return h;
}

static void put(uint8_t *mad, struct fab_rmpp h)
{
    memset(mad, 0, FAB_MAD_SIZE);
    memcpy(mad, head, sizeof head);
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_rmpp, &h, mad + FAB_RMPP_AT, 12), FAB_OK);
}

static uint8_t *some_bytes(size_t n)
{
    uint8_t *bytes = malloc(n + 1);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)(i * 7 + i / 251);
    return bytes;
}

START_TEST(one_segment_is_first_and_last)
{
    struct fab_rmpp_sender s;
    uint8_t mad[FAB_MAD_SIZE], data[3] = {7, 8, 9};
    ck_assert_int_eq(fab_mads_rmpp_sender_init(&s, head, data, 3, &config.sender, 0), FAB_OK);
    ck_assert(fab_mads_rmpp_sender_output(&s, 0, mad));
    struct fab_rmpp h = rmpp_of(mad);
    ck_assert_uint_eq(h.version, 1);
    ck_assert_uint_eq(h.type, FAB_RMPP_DATA_TYPE);
    ck_assert_uint_eq(h.flags, FAB_RMPP_ACTIVE | FAB_RMPP_FIRST | FAB_RMPP_LAST);
    ck_assert_uint_eq(h.segment, 1);
    ck_assert_uint_eq(h.length, 23);
    ck_assert_mem_eq(mad, head, 24);
    ck_assert_uint_eq(mad[45], 14);
    ck_assert_mem_eq(mad + FAB_SA_DATA, data, 3);
    ck_assert_uint_eq(mad[FAB_SA_DATA + 3], 0);
    ck_assert(!fab_mads_rmpp_sender_output(&s, 0, mad));
    put(mad, (struct fab_rmpp){.version = 1, .type = FAB_RMPP_ACK, .segment = 1, .length = 1});
    fab_mads_rmpp_sender_input(&s, 1, mad);
    ck_assert_int_eq(s.state, FAB_RMPP_DONE);
}
END_TEST

START_TEST(windows_are_kept)
{
    struct fab_rmpp_sender s;
    uint8_t mad[FAB_MAD_SIZE], *data = some_bytes(2000);
    ck_assert_int_eq(fab_mads_rmpp_sender_init(&s, head, data, 2000, &config.sender, 0), FAB_OK);
    ck_assert(fab_mads_rmpp_sender_output(&s, 0, mad));
    ck_assert_uint_eq(rmpp_of(mad).length, 2000 + 10 * 20);
    /* until the first ACK, the sender may send only one segment */
    ck_assert(!fab_mads_rmpp_sender_output(&s, 0, mad));
    put(mad, (struct fab_rmpp){.version = 1, .type = FAB_RMPP_ACK, .segment = 1, .length = 4});
    fab_mads_rmpp_sender_input(&s, 0, mad);
    for (uint32_t i = 2; i <= 4; i++) {
        ck_assert(fab_mads_rmpp_sender_output(&s, 0, mad));
        ck_assert_uint_eq(rmpp_of(mad).segment, i);
        ck_assert_uint_eq(rmpp_of(mad).flags, FAB_RMPP_ACTIVE);
    }
    ck_assert(!fab_mads_rmpp_sender_output(&s, 0, mad));
    fab_mads_rmpp_sender_expire(&s, 99);
    ck_assert(!fab_mads_rmpp_sender_output(&s, 0, mad));
    /* after the timeout, the sender goes back to the first segment without an ACK */
    fab_mads_rmpp_sender_expire(&s, 100);
    ck_assert(fab_mads_rmpp_sender_output(&s, 100, mad));
    ck_assert_uint_eq(rmpp_of(mad).segment, 2);
    free(data);
}
END_TEST

struct wire {
    struct fab_prng prng;
    double loss, twice;
    uint64_t now;
    uint32_t mads;
};

/* Delivers a MAD of the sender to the receiver, and the receiver's reply, if there is one, to the
 * sender. */
static void carry(struct wire *w, struct fab_rmpp_sender *s, struct rmpp_receiver *r,
                  const uint8_t *mad)
{
    uint8_t reply[FAB_MAD_SIZE];
    w->mads++;
    if (fab_base_prng_chance(&w->prng, w->loss))
        return;
    for (int times = fab_base_prng_chance(&w->prng, w->twice) ? 2 : 1; times > 0; times--)
        if (rmpp_receiver_input(r, w->now, mad, reply) && !fab_base_prng_chance(&w->prng, w->loss))
            fab_mads_rmpp_sender_input(s, w->now, reply);
}

static void transfer(struct wire *w, size_t len, uint32_t window)
{
    struct fab_rmpp_sender s;
    struct rmpp_receiver r;
    struct rmpp_receiver_config c = config;
    uint8_t mad[FAB_MAD_SIZE], *data = some_bytes(len);
    c.window = window;
    ck_assert_int_eq(fab_mads_rmpp_sender_init(&s, head, data, len, &c.sender, w->now), FAB_OK);
    rmpp_receiver_init(&r, &c, w->now);
    while (s.state == FAB_RMPP_GOING) {
        while (fab_mads_rmpp_sender_output(&s, w->now, mad))
            carry(w, &s, &r, mad);
        w->now += 20;
        fab_mads_rmpp_sender_expire(&s, w->now);
        rmpp_receiver_expire(&r, w->now);
    }
    ck_assert_int_eq(s.state, FAB_RMPP_DONE);
    ck_assert_int_eq(r.state, FAB_RMPP_DONE);
    ck_assert_uint_eq(r.len, len);
    ck_assert(len == 0 || memcmp(r.data, data, len) == 0);
    ck_assert_uint_eq(r.head[45], 14);
    rmpp_receiver_fini(&r);
    free(data);
}

START_TEST(all_of_it_arrives_whatever_is_lost)
{
    struct wire w = {.now = 1000};
    fab_base_prng_init(&w.prng, test_seed("rmpp", 13));
    static const size_t sizes[] = {0, 1, 199, 200, 201, 399, 400, 1600, 1601, 12345, 200000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size_t segments = sizes[i] ? (sizes[i] + 199) / 200 : 1;
        w.loss = w.twice = 0;
        w.mads = 0;
        transfer(&w, sizes[i], 8);
        ck_assert_uint_eq(w.mads, segments); /* without losses, each segment is sent once */
        w.loss = 0.1;
        w.twice = 0.05;
        transfer(&w, sizes[i], (uint32_t)(1 + fab_base_prng_next(&w.prng) % 64));
    }
}
END_TEST

START_TEST(patience_ends)
{
    struct fab_rmpp_sender s;
    struct rmpp_receiver r;
    uint8_t mad[FAB_MAD_SIZE], data[400] = {0};
    uint32_t sent = 0;
    ck_assert_int_eq(fab_mads_rmpp_sender_init(&s, head, data, 400, &config.sender, 0), FAB_OK);
    for (uint64_t now = 0; s.state == FAB_RMPP_GOING; now += 100) {
        fab_mads_rmpp_sender_expire(&s, now);
        sent += s.state == FAB_RMPP_GOING && fab_mads_rmpp_sender_output(&s, now, mad);
    }
    ck_assert_uint_eq(sent, 21);
    /* after the last retry, the sender sends one ABORT */
    ck_assert(fab_mads_rmpp_sender_output(&s, 9999, mad));
    ck_assert_uint_eq(rmpp_of(mad).type, FAB_RMPP_ABORT);
    ck_assert_uint_eq(rmpp_of(mad).status, FAB_RMPP_TOO_MANY_RETRIES);
    ck_assert(!fab_mads_rmpp_sender_output(&s, 9999, mad));
    rmpp_receiver_init(&r, &config, 0);
    rmpp_receiver_expire(&r, 2099);
    ck_assert_int_eq(r.state, FAB_RMPP_GOING);
    rmpp_receiver_expire(&r, 2100);
    ck_assert_int_eq(r.state, FAB_RMPP_FAILED);
}
END_TEST

START_TEST(senders_refuse_nonsense)
{
    static const struct {
        struct fab_rmpp h;
        /* status of the ABORT with which the sender ends the transfer; 0: it does not end */
        uint8_t status;
    } cases[] = {
        {{.version = 1, .type = FAB_RMPP_ACK, .segment = 2, .length = 9}, FAB_RMPP_SEGMENT_TOO_BIG},
        {{.version = 1, .type = FAB_RMPP_ACK, .segment = 1, .length = 0},
         FAB_RMPP_WINDOW_TOO_SMALL},
        {{.version = 2, .type = FAB_RMPP_ACK, .segment = 1, .length = 1}, FAB_RMPP_BAD_VERSION},
        {{.version = 1, .type = FAB_RMPP_DATA_TYPE, .segment = 1}, FAB_RMPP_BAD_TYPE},
        {{.version = 1, .type = 77}, FAB_RMPP_BAD_TYPE},
        {{.version = 1, .type = FAB_RMPP_ACK, .status = 9}, FAB_RMPP_BAD_STATUS},
        {{.version = 1, .type = FAB_RMPP_ABORT, .status = 126}, 0},
        {{.version = 1, .type = FAB_RMPP_STOP, .status = 1}, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fab_rmpp_sender s;
        uint8_t mad[FAB_MAD_SIZE], data[1000] = {0};
        ck_assert_int_eq(fab_mads_rmpp_sender_init(&s, head, data, 1000, &config.sender, 0),
                         FAB_OK);
        ck_assert(fab_mads_rmpp_sender_output(&s, 0, mad));
        put(mad, cases[i].h);
        fab_mads_rmpp_sender_input(&s, 0, mad);
        ck_assert_int_eq(s.state, FAB_RMPP_FAILED);
        ck_assert_int_eq(fab_mads_rmpp_sender_output(&s, 0, mad), cases[i].status != 0);
        if (cases[i].status != 0)
            ck_assert_uint_eq(rmpp_of(mad).status, cases[i].status);
    }
}
END_TEST

START_TEST(receivers_refuse_nonsense)
{
    enum { DATA = FAB_RMPP_DATA_TYPE };
    static const struct {
        struct fab_rmpp h;
        uint8_t type, status;
    } cases[] = {
        {{.version = 0, .type = DATA, .flags = 3, .segment = 1}, 4, FAB_RMPP_BAD_VERSION},
        {{.version = 1, .type = FAB_RMPP_ACK, .segment = 1}, 4, FAB_RMPP_BAD_TYPE},
        {{.version = 1, .type = DATA, .flags = 3, .segment = 1, .status = 1},
         4,
         FAB_RMPP_BAD_STATUS},
        {{.version = 1, .type = DATA, .flags = 1, .segment = 1}, 4, FAB_RMPP_BAD_FIRST},
        {{.version = 1, .type = DATA, .flags = 3, .segment = 2}, 4, FAB_RMPP_BAD_FIRST},
        {{.version = 1, .type = DATA, .flags = 3, .segment = 0}, 4, FAB_RMPP_BAD_FIRST},
        {{.version = 1, .type = DATA, .flags = 1, .segment = 2}, 4, FAB_RMPP_SEGMENT_TOO_BIG},
        {{.version = 1, .type = DATA, .flags = 7, .segment = 1, .length = 19},
         4,
         FAB_RMPP_BAD_LENGTH},
        {{.version = 1, .type = DATA, .flags = 7, .segment = 1, .length = 221},
         4,
         FAB_RMPP_BAD_LENGTH},
        {{.version = 1, .type = DATA, .flags = 3, .segment = 1, .length = UINT32_MAX},
         3,
         FAB_RMPP_NO_RESOURCES},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rmpp_receiver r;
        uint8_t mad[FAB_MAD_SIZE], reply[FAB_MAD_SIZE];
        rmpp_receiver_init(&r, &config, 0);
        put(mad, cases[i].h);
        ck_assert(rmpp_receiver_input(&r, 0, mad, reply));
        ck_assert_uint_eq(rmpp_of(reply).type, cases[i].type);
        ck_assert_uint_eq(rmpp_of(reply).status, cases[i].status);
        ck_assert_int_eq(r.state, FAB_RMPP_FAILED);
        /* the transfer has failed, so the receiver does not reply any more */
        ck_assert(!rmpp_receiver_input(&r, 0, mad, reply));
        rmpp_receiver_fini(&r);
    }
}
END_TEST

/* The sender never marks a segment as the last one. The receiver must stop the transfer when the
 * data exceed its limit. */
START_TEST(receivers_have_a_limit)
{
    struct rmpp_receiver r;
    struct rmpp_receiver_config c = config;
    uint8_t mad[FAB_MAD_SIZE], reply[FAB_MAD_SIZE];
    uint32_t segment = 0;
    c.limit = 10000;
    rmpp_receiver_init(&r, &c, 0);
    while (r.state == FAB_RMPP_GOING && segment < 1000) {
        segment++;
        put(mad, (struct fab_rmpp){.version = 1,
                                   .type = FAB_RMPP_DATA_TYPE,
                                   .flags = segment == 1 ? 3 : 1,
                                   .segment = segment});
        rmpp_receiver_input(&r, 0, mad, reply);
    }
    ck_assert_uint_eq(segment, 51);
    ck_assert_uint_eq(rmpp_of(reply).type, FAB_RMPP_STOP);
    ck_assert_uint_le(r.len, 10000);
    rmpp_receiver_fini(&r);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rmpp");
    TCase *tcase = tcase_create("transfers");
    tcase_set_timeout(tcase, 30);
    tcase_add_test(tcase, one_segment_is_first_and_last);
    tcase_add_test(tcase, windows_are_kept);
    tcase_add_test(tcase, all_of_it_arrives_whatever_is_lost);
    tcase_add_test(tcase, patience_ends);
    tcase_add_test(tcase, senders_refuse_nonsense);
    tcase_add_test(tcase, receivers_refuse_nonsense);
    tcase_add_test(tcase, receivers_have_a_limit);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
