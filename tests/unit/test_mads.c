/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The session: single steps, and whole conversations over a simulated wire that delays, reorders,
 * loses, doubles, refuses and gives back, in virtual time, by seed. Whatever the wire does, every
 * request is done exactly once, with its own answer.
 */
#include <string.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/mads/mads.h"
#include "tests/unit/testing.h"

#define TIMEOUT 1000

static const struct fab_path path = {.hops = 2, .port = {0, 3, 4}};

struct outcome {
    uint32_t calls;
    int status;
    uint16_t smp_status;
    uint64_t tag, rtt;
    size_t len;
    uint8_t first; /* of the data */
};

static void keep(void *ctx, uint64_t tag, const struct fab_mads_answer *a)
{
    struct outcome *o = ctx;
    *o = (struct outcome){.calls = o->calls + 1,
                          .status = a->status,
                          .smp_status = a->smp_status,
                          .tag = tag,
                          .rtt = a->rtt_us,
                          .len = a->len,
                          .first = a->data != NULL ? a->data[0] : 0};
}

static struct fab_mads_request get(struct outcome *o, uint64_t tag)
{
    return (struct fab_mads_request){.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                                     .method = FAB_METHOD_GET,
                                     .attr_id = FAB_ATTR_NODE_INFO,
                                     .path = &path,
                                     .done = o != NULL ? keep : NULL,
                                     .ctx = o,
                                     .tag = tag};
}

static struct fab_mads *session(uint32_t window, uint32_t retries)
{
    struct fab_mads_config config = {.window_start = window,
                                     .window_max = window,
                                     .timeout_us = TIMEOUT,
                                     .retries = retries,
                                     .tid_seed = 77};
    return fab_mads_new(&config);
}

/* Turns a request into its answer: GetResp with the TID's high half rewritten, as kernels do. */
static void answer(uint8_t mad[FAB_MAD_SIZE], uint16_t status, uint8_t first)
{
    uint8_t data[FAB_SMP_DATA] = {first};
    ck_assert_int_eq(fab_smp_answer(mad, status, data, mad), FAB_OK);
    memcpy(mad + 8, "\xde\xad\xbe\xef", 4);
}

static struct fab_mads_stats stats_of(const struct fab_mads *m)
{
    struct fab_mads_stats s;
    fab_mads_stats(m, &s);
    return s;
}

/* ---- single steps -----------------------------------------------------------------------------
 */

/* The kernel refuses a second request of the same TID while it waits for the answer to the first.
 */
START_TEST(the_transport_gives_up_before_the_next_try)
{
    struct fab_mads *m = session(4, 3);
    struct outcome o = {0};
    struct fab_mads_request req = get(&o, 42);
    uint8_t mad[FAB_MAD_SIZE];
    struct fab_mad_addr to;
    uint64_t now = 0;
    ck_assert_int_eq(fab_mads_submit(m, &req), FAB_OK);
    for (int tries = 0; tries < 4; tries++) {
        ck_assert(fab_mads_output(m, now, mad, &to));
        ck_assert_uint_gt(to.timeout_us, 0);
        ck_assert_uint_lt(now + to.timeout_us, fab_mads_deadline(m));
        now = fab_mads_deadline(m);
        fab_mads_expire(m, now);
    }
    ck_assert_int_eq(o.status, FAB_E_TIMEOUT);
    fab_mads_free(m);
}
END_TEST

START_TEST(a_request_goes_out_and_is_answered)
{
    struct fab_mads *m = session(4, 0);
    struct outcome o = {0};
    struct fab_mads_request req = get(&o, 42);
    uint8_t mad[FAB_MAD_SIZE];
    struct fab_mad_addr to;
    ck_assert(fab_mads_idle(m));
    ck_assert_int_eq(fab_mads_submit(m, &req), FAB_OK);
    ck_assert(!fab_mads_idle(m));
    ck_assert_uint_eq(fab_mads_deadline(m), UINT64_MAX);
    ck_assert(fab_mads_output(m, 100, mad, &to));
    ck_assert(!fab_mads_output(m, 100, mad, &to));
    ck_assert_uint_eq(to.dlid, 0xffff);
    ck_assert_uint_eq(to.qpn, 0);
    ck_assert_mem_eq(mad + 128, "\0\3\4", 3);
    ck_assert_uint_eq(fab_mads_deadline(m), 100 + TIMEOUT);
    answer(mad, 0, 9);
    ck_assert(fab_mads_input(m, 150, mad, sizeof mad, false));
    ck_assert_uint_eq(o.calls, 1);
    ck_assert_int_eq(o.status, FAB_OK);
    ck_assert_uint_eq(o.tag, 42);
    ck_assert_uint_eq(o.first, 9);
    ck_assert_uint_eq(o.len, FAB_SMP_DATA);
    ck_assert_uint_eq(o.rtt, 50);
    ck_assert(fab_mads_idle(m));
    ck_assert_uint_eq(fab_mads_deadline(m), UINT64_MAX);
    ck_assert(fab_mads_input(m, 160, mad, sizeof mad, false)); /* doubled */
    ck_assert_uint_eq(o.calls, 1);
    ck_assert_uint_eq(stats_of(m).unmatched, 1);
    ck_assert_uint_eq(stats_of(m).answered, 1);
    fab_mads_free(m);
}
END_TEST

START_TEST(requests_that_are_no_answers_are_the_callers)
{
    static const uint8_t methods[] = {FAB_METHOD_GET, FAB_METHOD_SET, FAB_METHOD_TRAP,
                                      FAB_METHOD_REPORT, FAB_METHOD_TRAP_REPRESS};
    struct fab_mads *m = session(4, 0);
    for (size_t i = 0; i < sizeof methods; i++) {
        struct fab_mad mad = {.mgmt_class = FAB_CLASS_SMP_LID, .method = methods[i]};
        uint8_t bytes[FAB_MAD_SIZE];
        fab_smp_pack(&mad, NULL, bytes);
        ck_assert(!fab_mads_input(m, 1, bytes, sizeof bytes, false));
        ck_assert(fab_mads_input(m, 1, bytes, sizeof bytes, true)); /* failed: not a request in */
    }
    ck_assert(fab_mads_input(m, 1, (const uint8_t *)"", 0, false)); /* malformed: swallowed */
    ck_assert_uint_eq(stats_of(m).unmatched, sizeof methods + 1);
    fab_mads_free(m);
    fab_mads_free(NULL);
}
END_TEST

START_TEST(wrong_requests_are_refused)
{
    struct fab_mads *m = session(4, 0);
    struct fab_path long_path = {.hops = FAB_MAX_HOPS + 1};
    struct fab_mads_request req = get(NULL, 0);
    req.path = NULL;
    ck_assert_int_eq(fab_mads_submit(m, &req), FAB_E_INVAL);
    req.path = &long_path;
    ck_assert_int_eq(fab_mads_submit(m, &req), FAB_E_INVAL);
    ck_assert(fab_mads_idle(m));
    fab_mads_free(m);
}
END_TEST

START_TEST(answers_that_do_not_fit_are_ignored)
{
    struct fab_mads *m = session(4, 0);
    struct outcome o = {0};
    struct fab_mads_request req = get(&o, 1);
    uint8_t mad[FAB_MAD_SIZE], wrong[FAB_MAD_SIZE];
    struct fab_mad_addr to;
    fab_mads_submit(m, &req);
    fab_mads_output(m, 0, mad, &to);
    answer(mad, 0, 0);
    static const size_t spoil[] = {15, 14, 12, 17, 1}; /* TID (3 places), attribute, class */
    for (size_t i = 0; i < sizeof spoil / sizeof spoil[0]; i++) {
        memcpy(wrong, mad, sizeof wrong);
        wrong[spoil[i]] ^= 0x80;
        ck_assert(fab_mads_input(m, 5, wrong, sizeof wrong, false));
        ck_assert(fab_mads_input(m, 5, mad, i * 60, false)); /* cut */
    }
    ck_assert_uint_eq(o.calls, 0);
    ck_assert(fab_mads_input(m, 5, mad, sizeof mad, false));
    ck_assert_uint_eq(o.calls, 1);
    fab_mads_free(m);
}
END_TEST

START_TEST(timeouts_double_and_end)
{
    struct fab_mads *m = session(4, 3);
    struct outcome o = {0};
    struct fab_mads_request req = get(&o, 1);
    uint8_t mad[FAB_MAD_SIZE], first[FAB_MAD_SIZE];
    struct fab_mad_addr to;
    uint64_t now = 0;
    fab_mads_submit(m, &req);
    for (uint32_t try = 0; try <= 3; try++) {
        ck_assert(fab_mads_output(m, now, mad, &to));
        if (try == 0)
            memcpy(first, mad, sizeof first);
        ck_assert_mem_eq(mad, first, sizeof mad); /* the same MAD, the same TID */
        uint64_t deadline = now + ((uint64_t)TIMEOUT << try);
        ck_assert_uint_eq(fab_mads_deadline(m), deadline);
        fab_mads_expire(m, deadline - 1);
        ck_assert(!fab_mads_output(m, now, mad, &to));
        now = deadline;
        ck_assert_uint_eq(o.calls, 0);
        fab_mads_expire(m, now);
    }
    ck_assert_uint_eq(o.calls, 1);
    ck_assert_int_eq(o.status, FAB_E_TIMEOUT);
    ck_assert_uint_eq(o.len, 0);
    ck_assert(fab_mads_idle(m));
    answer(first, 0, 0);
    ck_assert(fab_mads_input(m, now, first, sizeof first, false)); /* too late */
    ck_assert_uint_eq(o.calls, 1);
    struct fab_mads_stats s = stats_of(m);
    ck_assert_uint_eq(s.sent, 4);
    ck_assert_uint_eq(s.retried, 3);
    ck_assert_uint_eq(s.timed_out, 1);
    ck_assert_uint_eq(s.unmatched, 1);
    fab_mads_free(m);
}
END_TEST

START_TEST(an_answer_between_two_tries_counts)
{
    struct fab_mads *m = session(4, 3);
    struct outcome o = {0};
    struct fab_mads_request req = get(&o, 1);
    uint8_t mad[FAB_MAD_SIZE];
    struct fab_mad_addr to;
    fab_mads_submit(m, &req);
    fab_mads_output(m, 0, mad, &to);
    fab_mads_expire(m, TIMEOUT);
    answer(mad, 0, 5);
    fab_mads_input(m, TIMEOUT + 1, mad, sizeof mad, false);
    ck_assert_uint_eq(o.calls, 1);
    ck_assert_int_eq(o.status, FAB_OK);
    ck_assert(!fab_mads_output(m, TIMEOUT + 2, mad, &to)); /* nothing is sent again */
    ck_assert(fab_mads_idle(m));
    fab_mads_free(m);
}
END_TEST

START_TEST(returned_mads_are_retried_at_once)
{
    struct fab_mads *m = session(4, 2);
    struct outcome o = {0};
    struct fab_mads_request req = get(&o, 1);
    uint8_t mad[FAB_MAD_SIZE];
    struct fab_mad_addr to;
    fab_mads_submit(m, &req);
    for (int try = 0; try < 3; try++) {
        ck_assert(fab_mads_output(m, 10, mad, &to));
        ck_assert(fab_mads_input(m, 11, mad, sizeof mad, true));
        ck_assert(fab_mads_input(m, 11, mad, sizeof mad, true)); /* twice is once */
    }
    ck_assert_uint_eq(o.calls, 1);
    ck_assert_int_eq(o.status, FAB_E_TIMEOUT);
    ck_assert(fab_mads_idle(m));
    fab_mads_free(m);
}
END_TEST

START_TEST(error_status_is_a_refusal)
{
    struct fab_mads *m = session(4, 2);
    struct outcome o = {0};
    struct fab_mads_request req = get(&o, 1);
    uint8_t mad[FAB_MAD_SIZE];
    struct fab_mad_addr to;
    fab_mads_submit(m, &req);
    fab_mads_output(m, 0, mad, &to);
    answer(mad, FAB_SMP_BAD_VALUE, 3);
    fab_mads_input(m, 1, mad, sizeof mad, false);
    ck_assert_int_eq(o.status, FAB_E_REFUSED);
    ck_assert_uint_eq(o.smp_status, FAB_SMP_BAD_VALUE);
    ck_assert_uint_eq(o.first, 3);
    ck_assert_uint_eq(stats_of(m).refused, 1);
    fab_mads_free(m);
}
END_TEST

START_TEST(busy_ones_are_asked_again_after_a_rest)
{
    struct fab_mads *m = session(4, 2);
    struct outcome o = {0};
    struct fab_mads_request req = get(&o, 1);
    uint8_t mad[FAB_MAD_SIZE];
    struct fab_mad_addr to;
    uint64_t now = 0;
    fab_mads_submit(m, &req);
    for (int try = 0; try < 3; try++) {
        ck_assert_uint_eq(o.calls, 0);
        ck_assert(fab_mads_output(m, now, mad, &to));
        answer(mad, FAB_SMP_BUSY, 0);
        fab_mads_input(m, now, mad, sizeof mad, false);
        ck_assert(!fab_mads_output(m, now, mad, &to));
        ck_assert(try == 2 || fab_mads_deadline(m) == now + TIMEOUT);
        ck_assert(try == 2 || !fab_mads_idle(m));
        now += TIMEOUT;
        fab_mads_expire(m, now);
    }
    ck_assert_uint_eq(o.calls, 1);
    ck_assert_int_eq(o.status, FAB_E_REFUSED);
    ck_assert_uint_eq(o.smp_status, FAB_SMP_BUSY);
    ck_assert_uint_eq(stats_of(m).in_flight, 0);
    fab_mads_free(m);
}
END_TEST

static bool endless(void *ctx, struct fab_mads_request *ret)
{
    uint64_t *count = ctx;
    *ret = get(NULL, (*count)++);
    return true;
}

START_TEST(order_is_retries_then_submitted_then_source)
{
    struct fab_mads *m = session(4, 1);
    struct outcome lost = {0}, submitted = {0};
    struct fab_mads_request a = get(&lost, 1), b = get(&submitted, 2);
    uint8_t mad[FAB_MAD_SIZE];
    struct fab_mad_addr to;
    uint64_t asked = 0;
    a.attr_mod = 0xaa;
    b.attr_mod = 0xbb;
    fab_mads_submit(m, &a);
    fab_mads_output(m, 0, mad, &to);
    fab_mads_expire(m, TIMEOUT);
    fab_mads_source(m, endless, &asked);
    fab_mads_submit(m, &b);
    ck_assert(fab_mads_output(m, 0, mad, &to));
    ck_assert_uint_eq(mad[23], 0xaa);
    ck_assert(fab_mads_output(m, 0, mad, &to));
    ck_assert_uint_eq(mad[23], 0xbb);
    ck_assert_uint_eq(asked, 0);
    ck_assert(fab_mads_output(m, 0, mad, &to));
    ck_assert_uint_eq(asked, 1);
    ck_assert(fab_mads_output(m, 0, mad, &to));
    ck_assert(!fab_mads_output(m, 0, mad, &to)); /* the window */
    ck_assert_uint_eq(asked, 2);
    fab_mads_free(m);
}
END_TEST

START_TEST(cancel_forgets_everything_quietly)
{
    struct fab_mads *m = session(8, 1);
    struct outcome o[4] = {{0}};
    uint8_t mads[4][FAB_MAD_SIZE];
    struct fab_mad_addr to;
    for (uint64_t i = 0; i < 4; i++) {
        struct fab_mads_request req = get(&o[i], i);
        fab_mads_submit(m, &req);
    }
    fab_mads_output(m, 0, mads[0], &to);
    answer(mads[0], FAB_SMP_BUSY, 0);
    fab_mads_input(m, 0, mads[0], FAB_MAD_SIZE, false); /* rests */
    fab_mads_output(m, 0, mads[1], &to);
    fab_mads_input(m, 0, mads[1], FAB_MAD_SIZE, true); /* lost */
    fab_mads_output(m, 0, mads[1], &to);
    fab_mads_output(m, 0, mads[2], &to); /* in flight, like 1; 3 is queued */
    fab_mads_cancel_all(m);
    ck_assert(fab_mads_idle(m));
    ck_assert_uint_eq(fab_mads_deadline(m), UINT64_MAX);
    ck_assert_uint_eq(stats_of(m).in_flight, 0);
    for (int i = 1; i < 3; i++) {
        answer(mads[i], 0, 0);
        fab_mads_input(m, 1, mads[i], FAB_MAD_SIZE, false);
    }
    fab_mads_expire(m, 100 * TIMEOUT);
    ck_assert(!fab_mads_output(m, 1, mads[0], &to));
    for (int i = 0; i < 4; i++)
        ck_assert_uint_eq(o[i].calls, 0);
    fab_mads_free(m);
}
END_TEST

START_TEST(gmps_and_lid_routed_smps_have_their_addresses)
{
    struct fab_mads *m = session(4, 0);
    struct outcome o = {0};
    uint8_t mad[FAB_MAD_SIZE];
    struct fab_mad_addr to;
    struct fab_mads_request req = {.mgmt_class = FAB_CLASS_PERF,
                                   .method = FAB_METHOD_GET,
                                   .attr_id = 0x12,
                                   .dlid = 0x77,
                                   .done = keep,
                                   .ctx = &o};
    req.data[41] = 3; /* PortSelect, 65 bytes into the MAD */
    fab_mads_submit(m, &req);
    ck_assert(fab_mads_output(m, 0, mad, &to));
    ck_assert_uint_eq(to.dlid, 0x77);
    ck_assert_uint_eq(to.qpn, 1);
    ck_assert_uint_eq(to.qkey, 0x80010000);
    ck_assert_uint_eq(mad[65], 3);
    mad[3] = FAB_METHOD_GET_RESP;
    mad[24] = 0x44;
    ck_assert(fab_mads_input(m, 1, mad, sizeof mad, false));
    ck_assert_int_eq(o.status, FAB_OK);
    ck_assert_uint_eq(o.first, 0x44);
    ck_assert_uint_eq(o.len, FAB_MAD_SIZE - 24);
    req.mgmt_class = FAB_CLASS_SMP_LID;
    fab_mads_submit(m, &req);
    ck_assert(fab_mads_output(m, 0, mad, &to));
    ck_assert_uint_eq(to.dlid, 0x77);
    ck_assert_uint_eq(to.qpn, 0);
    ck_assert_uint_eq(to.qkey, 0);
    fab_mads_free(m);
}
END_TEST

static bool one_bad_one_good(void *ctx, struct fab_mads_request *ret)
{
    struct outcome *o = ctx;
    if (o[2].calls++ > 1)
        return false;
    *ret = get(&o[o[2].calls - 1], o[2].calls);
    if (o[2].calls == 1)
        ret->path = NULL;
    return true;
}

START_TEST(a_bad_request_of_the_source_is_done_at_once)
{
    struct fab_mads *m = session(4, 0);
    struct outcome o[3] = {{0}};
    uint8_t mad[FAB_MAD_SIZE];
    struct fab_mad_addr to;
    fab_mads_source(m, one_bad_one_good, o);
    ck_assert(!fab_mads_idle(m));
    ck_assert(fab_mads_output(m, 0, mad, &to));
    ck_assert_uint_eq(o[0].calls, 1);
    ck_assert_int_eq(o[0].status, FAB_E_INVAL);
    ck_assert_uint_eq(o[1].calls, 0);
    ck_assert(!fab_mads_output(m, 0, mad, &to));
    answer(mad, 0, 0);
    fab_mads_input(m, 1, mad, sizeof mad, false);
    ck_assert(!fab_mads_idle(m)); /* not before the source was asked again */
    ck_assert(!fab_mads_output(m, 0, mad, &to));
    ck_assert(fab_mads_idle(m));
    fab_mads_free(m);
}
END_TEST

struct chain {
    struct fab_mads *m;
    uint64_t left;
};

static void submit_more(void *ctx, uint64_t tag, const struct fab_mads_answer *a)
{
    struct chain *c = ctx;
    (void)a;
    for (int i = 0; i < 2 && c->left > 0; i++, c->left--) {
        struct fab_mads_request req = get(NULL, tag + 1);
        req.done = submit_more;
        req.ctx = c;
        ck_assert_int_eq(fab_mads_submit(c->m, &req), FAB_OK);
    }
}

START_TEST(done_may_submit)
{
    struct fab_mads *m = session(64, 0);
    struct chain c = {.m = m, .left = 5000};
    struct fab_mads_answer none = {0};
    uint8_t mad[FAB_MAD_SIZE];
    struct fab_mad_addr to;
    uint64_t now = 0;
    submit_more(&c, 0, &none);
    while (!fab_mads_idle(m)) {
        while (fab_mads_output(m, now, mad, &to)) {
            if (now++ % 7 != 0) {
                answer(mad, 0, 0);
                fab_mads_input(m, now, mad, sizeof mad, false);
            }
        }
        fab_mads_expire(m, now += TIMEOUT);
    }
    ck_assert_uint_eq(c.left, 0);
    ck_assert_uint_eq(stats_of(m).answered + stats_of(m).timed_out, 5000);
    fab_mads_free(m);
}
END_TEST

/* ---- the window -------------------------------------------------------------------------------
 */

/* Puts out what may go; returns how many, the MADs in wire[]. */
static uint32_t pump(struct fab_mads *m, uint64_t now, uint8_t wire[][FAB_MAD_SIZE])
{
    struct fab_mad_addr to;
    uint32_t n = 0;
    while (fab_mads_output(m, now, wire[n], &to))
        n++;
    return n;
}

static void answer_all(struct fab_mads *m, uint64_t now, uint8_t wire[][FAB_MAD_SIZE], uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        answer(wire[i], 0, 0);
        fab_mads_input(m, now, wire[i], FAB_MAD_SIZE, false);
    }
}

START_TEST(window_doubles_then_halves_then_creeps)
{
    static uint8_t wire[256][FAB_MAD_SIZE];
    struct fab_mads_config config = {
        .window_start = 4, .window_max = 128, .timeout_us = TIMEOUT, .retries = 9};
    struct fab_mads *m = fab_mads_new(&config);
    uint64_t asked = 0, now = 0;
    fab_mads_source(m, endless, &asked);
    for (uint32_t expected = 4; expected <= 128; expected *= 2) {
        ck_assert_uint_eq(pump(m, now, wire), expected);
        answer_all(m, ++now, wire, expected);
    }
    ck_assert_uint_eq(pump(m, now, wire), 128); /* and not beyond */
    for (uint32_t i = 0; i < 128; i++)
        fab_mads_input(m, now + 1, wire[i], FAB_MAD_SIZE, true);
    ck_assert_uint_eq(stats_of(m).window, 64); /* 128 losses of one round trip: one cut */
    now += 2;
    for (uint32_t expected = 64; expected < 70; expected++) {
        ck_assert_uint_eq(pump(m, now, wire), expected);
        answer_all(m, ++now, wire, expected);
    }
    for (uint32_t i = 0; i < 10; i++) { /* loss upon loss: down to the floor */
        uint32_t n = pump(m, ++now, wire);
        for (uint32_t k = 0; k < n; k++)
            fab_mads_input(m, now + 1, wire[k], FAB_MAD_SIZE, true);
    }
    ck_assert_uint_eq(stats_of(m).window, 4);
    fab_mads_free(m);
}
END_TEST

/* Devices that are silent hold up nobody: long before its timeout, what is late makes room. */
START_TEST(late_ones_make_room)
{
    static uint8_t wire[64][FAB_MAD_SIZE], lost[64][FAB_MAD_SIZE];
    struct fab_mads_config config = {
        .window_start = 4, .window_max = 10, .timeout_us = 200000, .retries = 3};
    struct fab_mads *m = fab_mads_new(&config);
    uint64_t asked = 0, now = 0;
    fab_mads_source(m, endless, &asked);
    answer_all(m, now + 100, wire, pump(m, now, wire)); /* a round trip takes 100 us */
    now += 100;
    uint32_t n = pump(m, now, lost);
    ck_assert_uint_eq(n, 8);
    uint64_t late = fab_mads_deadline(m);
    ck_assert_uint_lt(late, now + 10000);
    ck_assert_uint_gt(late, now + 800);
    fab_mads_expire(m, late);
    ck_assert_uint_eq(pump(m, late, wire), 2); /* 10 in all */
    ck_assert_uint_eq(stats_of(m).in_flight, 10);
    ck_assert_uint_eq(stats_of(m).retried, 0);
    answer_all(m, late + 100, wire, 2);
    answer_all(m, late + 100, lost, n); /* late, and right all the same */
    ck_assert_uint_eq(stats_of(m).in_flight, 0);
    ck_assert_uint_eq(stats_of(m).answered, 14);
    ck_assert_uint_eq(stats_of(m).unmatched, 0);
    fab_mads_free(m);
}
END_TEST

START_TEST(window_does_not_grow_unused)
{
    static uint8_t wire[256][FAB_MAD_SIZE];
    struct fab_mads_config config = {
        .window_start = 8, .window_max = 128, .timeout_us = TIMEOUT, .retries = 0};
    struct fab_mads *m = fab_mads_new(&config);
    for (int round = 0; round < 100; round++) {
        struct fab_mads_request req = get(NULL, 0);
        fab_mads_submit(m, &req);
        answer_all(m, 1, wire, pump(m, 0, wire));
    }
    ck_assert_uint_eq(stats_of(m).window, 8);
    fab_mads_free(m);
}
END_TEST

START_TEST(window_keeps_its_bounds)
{
    static const struct {
        uint32_t start, max, window;
    } cases[] = {{0, 0, 1}, {0, 1, 1}, {9, 2, 2}, {0, 64, 4}, {100, 64, 64}, {16, 64, 16}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fab_mads_config config = {
            .window_start = cases[i].start, .window_max = cases[i].max, .timeout_us = TIMEOUT};
        struct fab_mads *m = fab_mads_new(&config);
        ck_assert_uint_eq(stats_of(m).window, cases[i].window);
        fab_mads_free(m);
    }
}
END_TEST

/* ---- conversations ----------------------------------------------------------------------------
 */

#define CROWD 150
#define FLIGHTS 2048

/* What is on its way to us: an answer, a doubled one, or one of ours given back. */
struct flight {
    uint64_t arrives;
    bool failed, used;
    uint8_t mad[FAB_MAD_SIZE];
};
struct world {
    struct fab_prng prng;
    struct fab_mads *m;
    double loss, twice, slow, busy, refuse, give_back;
    uint32_t asked, to_ask;
    uint32_t done[CROWD], ok, timeouts, refused;
    uint64_t now;
    struct flight flights[FLIGHTS];
    bool bad;
};

static void crowd_done(void *ctx, uint64_t tag, const struct fab_mads_answer *a)
{
    struct world *w = ctx;
    w->bad |= tag >= w->asked || w->done[tag]++ != 0;
    w->ok += a->status == FAB_OK;
    w->timeouts += a->status == FAB_E_TIMEOUT;
    w->refused += a->status == FAB_E_REFUSED;
    if (a->data != NULL) /* the world wrote the request's own number into its answer */
        w->bad |= a->data[0] != (uint8_t)tag;
    else
        w->bad |= a->status != FAB_E_TIMEOUT;
}

static bool crowd_next(void *ctx, struct fab_mads_request *ret)
{
    struct world *w = ctx;
    if (w->asked == w->to_ask || fab_prng_chance(&w->prng, 0.05))
        return false;
    *ret = get(NULL, w->asked);
    ret->attr_id = (uint16_t)(FAB_ATTR_NODE_INFO + fab_prng_below(&w->prng, 4));
    ret->attr_mod = w->asked++;
    ret->done = crowd_done;
    ret->ctx = w;
    return true;
}

static void fly(struct world *w, const uint8_t mad[FAB_MAD_SIZE], bool failed)
{
    for (size_t i = 0; i < FLIGHTS; i++) {
        struct flight *f = &w->flights[i];
        if (f->used)
            continue;
        f->used = true;
        f->failed = failed;
        /* Mostly quick, sometimes later than timeouts. */
        uint64_t latest = fab_prng_chance(&w->prng, w->slow) ? 8 * TIMEOUT : TIMEOUT / 2;
        f->arrives = w->now + fab_prng_below(&w->prng, latest);
        memcpy(f->mad, mad, FAB_MAD_SIZE);
        return;
    }
}

/* What the fabric makes of a request. */
static void carry(struct world *w, uint8_t mad[FAB_MAD_SIZE])
{
    if (fab_prng_chance(&w->prng, w->loss))
        return;
    if (fab_prng_chance(&w->prng, w->give_back)) {
        fly(w, mad, true);
        return;
    }
    uint16_t status = fab_prng_chance(&w->prng, w->busy)     ? FAB_SMP_BUSY
                      : fab_prng_chance(&w->prng, w->refuse) ? FAB_SMP_BAD_ATTR
                                                             : 0;
    answer(mad, status, mad[23]);
    fly(w, mad, false);
    if (fab_prng_chance(&w->prng, w->twice))
        fly(w, mad, false);
}

static struct flight *first_to_arrive(struct world *w)
{
    struct flight *first = NULL;
    for (size_t i = 0; i < FLIGHTS; i++)
        if (w->flights[i].used && (first == NULL || w->flights[i].arrives < first->arrives))
            first = &w->flights[i];
    return first;
}

/* One event: put out what may go, then the next arrival or the next deadline. False: all is over.
 */
static bool step(struct world *w)
{
    uint8_t mad[FAB_MAD_SIZE];
    struct fab_mad_addr to;
    while (fab_mads_output(w->m, w->now, mad, &to))
        carry(w, mad);
    uint64_t deadline = fab_mads_deadline(w->m);
    struct flight *f = first_to_arrive(w);
    if (f != NULL && f->arrives <= deadline) {
        w->now = f->arrives > w->now ? f->arrives : w->now;
        f->used = false;
        w->bad |= !fab_mads_input(w->m, w->now, f->mad, FAB_MAD_SIZE, f->failed);
        return true;
    }
    if (deadline == UINT64_MAX)
        return w->asked < w->to_ask || !fab_mads_idle(w->m);
    w->now = deadline;
    fab_mads_expire(w->m, w->now);
    w->bad |= fab_mads_deadline(w->m) <= w->now;
    return true;
}

static void converse(struct world *w, uint64_t seed)
{
    static const double rates[] = {0, 0, 0.01, 0.1, 0.5};
    memset(w, 0, sizeof *w);
    fab_prng_init(&w->prng, seed);
    struct fab_mads_config config = {
        .window_start = (uint32_t)fab_prng_below(&w->prng, 20),
        .window_max = 1 + (uint32_t)fab_prng_below(&w->prng, 64),
        .timeout_us = TIMEOUT,
        .retries = (uint32_t)fab_prng_below(&w->prng, 12),
        .tid_seed = (uint32_t)seed,
    };
    w->loss = rates[fab_prng_below(&w->prng, 5)];
    w->twice = rates[fab_prng_below(&w->prng, 5)];
    w->slow = rates[fab_prng_below(&w->prng, 5)];
    w->busy = rates[fab_prng_below(&w->prng, 5)];
    w->refuse = rates[fab_prng_below(&w->prng, 5)];
    w->give_back = rates[fab_prng_below(&w->prng, 5)];
    w->to_ask = 1 + (uint32_t)fab_prng_below(&w->prng, CROWD);
    w->m = fab_mads_new(&config);
    fab_mads_source(w->m, crowd_next, w);
    for (int i = 0; i < 100000 && step(w); i++)
        ;
}

START_TEST(every_request_is_done_once_with_its_own_answer)
{
    static struct world w;
    uint64_t first = test_seed("conversations", 1);
    uint64_t seeds = getenv("TEST_SEED") != NULL ? 1 : 3000;
    for (uint64_t seed = first; seed < first + seeds; seed++) {
        converse(&w, seed);
        struct fab_mads_stats s = stats_of(w.m);
        ck_assert_msg(!w.bad, "seed %" PRIu64, seed);
        ck_assert_msg(fab_mads_idle(w.m) && s.in_flight == 0, "seed %" PRIu64, seed);
        ck_assert_msg(w.asked == w.to_ask, "seed %" PRIu64, seed);
        ck_assert_msg(w.ok + w.timeouts + w.refused == w.to_ask, "seed %" PRIu64, seed);
        ck_assert_msg(s.answered == w.ok + w.refused && s.refused == w.refused &&
                          s.timed_out == w.timeouts && s.sent == w.to_ask + s.retried,
                      "seed %" PRIu64, seed);
        if (w.loss + w.slow + w.busy + w.refuse + w.give_back == 0)
            ck_assert_msg(w.ok == w.to_ask, "seed %" PRIu64, seed);
        fab_mads_free(w.m);
    }
}
END_TEST

static TCase *step_cases(void)
{
    TCase *tcase = tcase_create("steps");
    tcase_add_test(tcase, the_transport_gives_up_before_the_next_try);
    tcase_add_test(tcase, a_request_goes_out_and_is_answered);
    tcase_add_test(tcase, requests_that_are_no_answers_are_the_callers);
    tcase_add_test(tcase, wrong_requests_are_refused);
    tcase_add_test(tcase, answers_that_do_not_fit_are_ignored);
    tcase_add_test(tcase, timeouts_double_and_end);
    tcase_add_test(tcase, an_answer_between_two_tries_counts);
    tcase_add_test(tcase, returned_mads_are_retried_at_once);
    tcase_add_test(tcase, error_status_is_a_refusal);
    tcase_add_test(tcase, busy_ones_are_asked_again_after_a_rest);
    tcase_add_test(tcase, order_is_retries_then_submitted_then_source);
    tcase_add_test(tcase, cancel_forgets_everything_quietly);
    tcase_add_test(tcase, gmps_and_lid_routed_smps_have_their_addresses);
    tcase_add_test(tcase, a_bad_request_of_the_source_is_done_at_once);
    tcase_add_test(tcase, done_may_submit);
    return tcase;
}

int main(void)
{
    Suite *suite = suite_create("mads");
    suite_add_tcase(suite, step_cases());
    TCase *tcase = tcase_create("window and conversations");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, window_doubles_then_halves_then_creeps);
    tcase_add_test(tcase, late_ones_make_room);
    tcase_add_test(tcase, window_does_not_grow_unused);
    tcase_add_test(tcase, window_keeps_its_bounds);
    tcase_add_test(tcase, every_request_is_done_once_with_its_own_answer);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
