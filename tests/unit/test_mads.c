/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The MAD session (libfabmgr/mads/mads.h), one step after the other. test_mads_window.c tests the
 * window of requests in flight, and whole conversations.
 */
#include "libfabmgr/base/buf.h"
#include "tests/unit/mads_session.h"

/* ---- single steps ---------------------------------------------------------------------------- */

/* The session tells the transport how long to wait for a response. This time must end before the
 * next try: a kernel that still waits for a response with this TID would refuse the try. */
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
    ck_assert(fab_mads_input(m, 150, FAB_LID_PERMISSIVE, mad, sizeof mad, false));
    ck_assert_uint_eq(o.calls, 1);
    ck_assert_int_eq(o.status, FAB_OK);
    ck_assert_uint_eq(o.tag, 42);
    ck_assert_uint_eq(o.first, 9);
    ck_assert_uint_eq(o.len, FAB_SMP_DATA);
    ck_assert_uint_eq(o.rtt, 50);
    ck_assert(fab_mads_idle(m));
    ck_assert_uint_eq(fab_mads_deadline(m), UINT64_MAX);
    /* a second copy of the response, which must have no effect */
    ck_assert(fab_mads_input(m, 160, FAB_LID_PERMISSIVE, mad, sizeof mad, false));
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
        fab_wire_smp_pack(&mad, NULL, bytes);
        ck_assert(!fab_mads_input(m, 1, FAB_LID_PERMISSIVE, bytes, sizeof bytes, false));
        /* the transport returns a MAD that it could not deliver, which is not a request of a
         * device */
        ck_assert(fab_mads_input(m, 1, FAB_LID_PERMISSIVE, bytes, sizeof bytes, true));
    }
    ck_assert(fab_mads_input(m, 1, FAB_LID_PERMISSIVE, (const uint8_t *)"", 0,
                             false)); /* malformed, so the session drops it */
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
    /* One byte of the response is wrong. Offsets of the bytes: TID (3), attribute, class, modifier,
     * method, hop count, initial path (2), D bit, DrSLID, DrDLID. */
    static const size_t spoil[] = {15, 14, 12, 17, 1, 23, 3, 7, 129, 130, 4, 32, 35};
    for (size_t i = 0; i < sizeof spoil / sizeof spoil[0]; i++) {
        memcpy(wrong, mad, sizeof wrong);
        wrong[spoil[i]] ^= spoil[i] == 3 ? 4 : 0x80;
        ck_assert(fab_mads_input(m, 5, FAB_LID_PERMISSIVE, wrong, sizeof wrong, false));
        /* a truncated response */
        ck_assert(fab_mads_input(m, 5, FAB_LID_PERMISSIVE, mad, i * 19, false));
    }
    ck_assert_uint_eq(o.calls, 0);
    ck_assert(fab_mads_input(m, 5, FAB_LID_PERMISSIVE, mad, sizeof mad, false));
    ck_assert_uint_eq(o.calls, 1);
    fab_mads_free(m);
}
END_TEST

/* A host sees the TIDs of the requests to its own port. From these, it must not be able to guess
 * the TIDs of later requests. (In earlier versions, only the upper 12 bits of TIDs changed, by one
 * each time.) */
START_TEST(tids_cannot_be_guessed_from_earlier_ones)
{
    enum { COUNT = 64 };
    struct fab_mads *m = session(COUNT, 0);
    uint32_t tids[2 * COUNT];
    uint64_t count = 0;
    fab_mads_source(m, endless, &count);
    for (size_t i = 0; i < 2 * COUNT; i += COUNT) {
        uint8_t mads[COUNT][FAB_MAD_SIZE];
        struct fab_mad_addr to;
        for (size_t k = 0; k < COUNT; k++) {
            ck_assert(fab_mads_output(m, 1, mads[k], &to));
            tids[i + k] = fab_base_get_be32(mads[k] + 12);
        }
        for (size_t k = 0; k < COUNT; k++) {
            answer(mads[k], 0, 0);
            fab_mads_input(m, 2, FAB_LID_PERMISSIVE, mads[k], FAB_MAD_SIZE, false);
        }
    }
    ck_assert_uint_eq(stats_of(m).answered, 2 * COUNT);
    for (size_t i = 0; i < 2 * COUNT; i++)
        for (size_t k = 0; k < i; k++) {
            uint32_t step = tids[i] - tids[k];
            ck_assert_msg((step & 0xfffff) != 0 && step > 1000 && step < UINT32_MAX - 1000,
                          "%08x follows %08x", tids[i], tids[k]);
        }
    fab_mads_free(m);
}
END_TEST

/* While requests are in flight, the session's table of TIDs grows. The session must still find each
 * of the requests by its TID. */
START_TEST(many_requests_in_flight_are_found)
{
    enum { COUNT = 5000 };
    struct fab_mads *m = session(COUNT, 0);
    uint8_t(*mads)[FAB_MAD_SIZE] = calloc(COUNT, FAB_MAD_SIZE);
    struct fab_mads_request req = get(NULL, 0);
    struct fab_mad_addr to;
    ck_assert_ptr_nonnull(mads);
    for (size_t i = 0; i < COUNT; i++) {
        ck_assert_int_eq(fab_mads_submit(m, &req), FAB_OK);
        ck_assert(fab_mads_output(m, 1, mads[i], &to));
    }
    /* these requests must wait, because the window is full */
    for (size_t i = 0; i < 3 * COUNT; i++)
        ck_assert_int_eq(fab_mads_submit(m, &req), FAB_OK);
    for (size_t i = 0; i < COUNT; i++) {
        size_t k = i * 7 % COUNT;
        answer(mads[k], 0, 0);
        ck_assert(fab_mads_input(m, 2, FAB_LID_PERMISSIVE, mads[k], FAB_MAD_SIZE, false));
    }
    ck_assert_uint_eq(stats_of(m).answered, COUNT);
    ck_assert_uint_eq(stats_of(m).unmatched, 0);
    free(mads);
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
        /* a retry must not differ from the first MAD, not even in its TID */
        ck_assert_mem_eq(mad, first, sizeof mad);
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
    ck_assert(
        /* the response comes after the last timeout, so the session ignores it */
        fab_mads_input(m, now, FAB_LID_PERMISSIVE, first, sizeof first, false));
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
    fab_mads_input(m, TIMEOUT + 1, FAB_LID_PERMISSIVE, mad, sizeof mad, false);
    ck_assert_uint_eq(o.calls, 1);
    ck_assert_int_eq(o.status, FAB_OK);
    /* after a late response, the session must not send the retry */
    ck_assert(!fab_mads_output(m, TIMEOUT + 2, mad, &to));
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
        ck_assert(fab_mads_input(m, 11, FAB_LID_PERMISSIVE, mad, sizeof mad, true));
        ck_assert(fab_mads_input(m, 11, FAB_LID_PERMISSIVE, mad, sizeof mad,
                                 /* a second copy of the returned MAD, which must have no effect */
                                 true));
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
    fab_mads_input(m, 1, FAB_LID_PERMISSIVE, mad, sizeof mad, false);
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
        fab_mads_input(m, now, FAB_LID_PERMISSIVE, mad, sizeof mad, false);
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

/* The status BUSY answers the second copy of a request. The response to the first copy arrives when
 * the pause is over, but before the third copy is sent. It counts, and there is no third copy. */
START_TEST(an_answer_after_a_rest_counts)
{
    struct fab_mads *m = session(4, 2);
    struct outcome o = {0};
    struct fab_mads_request req = get(&o, 1);
    uint8_t mad[FAB_MAD_SIZE], busy[FAB_MAD_SIZE];
    struct fab_mad_addr to;
    fab_mads_submit(m, &req);
    ck_assert(fab_mads_output(m, 0, mad, &to));
    fab_mads_expire(m, TIMEOUT);
    ck_assert(fab_mads_output(m, TIMEOUT, mad, &to));
    memcpy(busy, mad, sizeof busy);
    answer(busy, FAB_SMP_BUSY, 0);
    fab_mads_input(m, TIMEOUT, FAB_LID_PERMISSIVE, busy, sizeof busy, false);
    fab_mads_expire(m, 2 * TIMEOUT);
    answer(mad, 0, 5);
    fab_mads_input(m, 2 * TIMEOUT, FAB_LID_PERMISSIVE, mad, sizeof mad, false);
    ck_assert_uint_eq(o.calls, 1);
    ck_assert_int_eq(o.status, FAB_OK);
    ck_assert_uint_eq(o.first, 5);
    ck_assert(!fab_mads_output(m, 2 * TIMEOUT, mad, &to));
    ck_assert(fab_mads_idle(m));
    ck_assert_uint_eq(stats_of(m).in_flight, 0);
    fab_mads_free(m);
}
END_TEST

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
    ck_assert(!fab_mads_output(m, 0, mad, &to)); /* the window is full */
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
    /* request 0 got the status BUSY, so the session pauses before the next try */
    fab_mads_input(m, 0, FAB_LID_PERMISSIVE, mads[0], FAB_MAD_SIZE, false);
    fab_mads_output(m, 0, mads[1], &to);
    /* the transport returns request 1 as lost, and the session sends it again */
    fab_mads_input(m, 0, FAB_LID_PERMISSIVE, mads[1], FAB_MAD_SIZE, true);
    fab_mads_output(m, 0, mads[1], &to);
    /* now requests 1 and 2 are in flight, and request 3 is queued */
    fab_mads_output(m, 0, mads[2], &to);
    fab_mads_cancel_all(m);
    ck_assert(fab_mads_idle(m));
    ck_assert_uint_eq(fab_mads_deadline(m), UINT64_MAX);
    ck_assert_uint_eq(stats_of(m).in_flight, 0);
    for (int i = 1; i < 3; i++) {
        answer(mads[i], 0, 0);
        fab_mads_input(m, 1, FAB_LID_PERMISSIVE, mads[i], FAB_MAD_SIZE, false);
    }
    fab_mads_expire(m, 100 * TIMEOUT);
    ck_assert(!fab_mads_output(m, 1, mads[0], &to));
    for (int i = 0; i < 4; i++)
        ck_assert_uint_eq(o[i].calls, 0);
    fab_mads_free(m);
}
END_TEST

/* Two callers have requests in every state: queued, in flight, or waiting for the next try. All
 * requests of one caller are cancelled. The other caller must still get its responses, over the
 * slots that became free. */
START_TEST(cancels_those_of_one)
{
    struct fab_mads *m = session(8, 8);
    struct outcome o[2] = {{0}};
    uint8_t mads[16][FAB_MAD_SIZE];
    struct fab_mad_addr to;
    for (uint64_t i = 0; i < 16; i++) {
        struct fab_mads_request req = get(&o[i % 2], i);
        ck_assert_int_eq(fab_mads_submit(m, &req), FAB_OK);
    }
    for (int i = 0; i < 8; i++)
        ck_assert(fab_mads_output(m, 0, mads[i], &to));
    for (int i = 0; i < 2; i++) { /* requests 0 and 1 get the status BUSY */
        answer(mads[i], FAB_SMP_BUSY, 0);
        fab_mads_input(m, 0, FAB_LID_PERMISSIVE, mads[i], FAB_MAD_SIZE, false);
    }
    for (int i = 2; i < 4; i++) /* requests 2 and 3 are lost, and must be sent again */
        fab_mads_input(m, 0, FAB_LID_PERMISSIVE, mads[i], FAB_MAD_SIZE, true);
    /* requests that have been in flight for so long count as late */
    fab_mads_expire(m, TIMEOUT / 2);
    fab_mads_cancel(m, &o[1]);
    /* of the requests in flight, only 4 and 6 belong to the other caller */
    ck_assert_uint_eq(stats_of(m).in_flight, 2);
    for (uint64_t now = 1; !fab_mads_idle(m) && now < 100; now++) {
        fab_mads_expire(m, now * TIMEOUT / 2);
        while (fab_mads_output(m, now * TIMEOUT / 2, mads[0], &to)) {
            answer(mads[0], 0, 0);
            fab_mads_input(m, now * TIMEOUT / 2, FAB_LID_PERMISSIVE, mads[0], FAB_MAD_SIZE, false);
        }
    }
    ck_assert(fab_mads_idle(m));
    ck_assert_uint_eq(stats_of(m).in_flight, 0);
    ck_assert_uint_eq(o[0].calls, 8);
    ck_assert_uint_eq(o[1].calls, 0);
    fab_mads_free(m);
}
END_TEST

static bool is_odd(void *arg, uint64_t tag, const struct fab_path *path)
{
    *(uint32_t *)arg += path->hops;
    return tag % 2 != 0;
}

/* A caller has eight requests: two that are late, two in flight and four queued. The four with odd
 * tags are cancelled, and the others must still get their responses. */
START_TEST(cancels_those_that_match)
{
    struct fab_mads *m = session(4, 4);
    struct outcome o[2] = {{0}};
    uint8_t mads[8][FAB_MAD_SIZE];
    struct fab_mad_addr to;
    uint32_t hops = 0;
    for (uint64_t i = 0; i < 8; i++) {
        struct fab_mads_request req = get(&o[0], i);
        hops += req.path->hops;
        ck_assert_int_eq(fab_mads_submit(m, &req), FAB_OK);
    }
    for (int i = 0; i < 2; i++)
        ck_assert(fab_mads_output(m, 0, mads[i], &to));
    fab_mads_expire(m, TIMEOUT / 2); /* requests 0 and 1 count as late now */
    for (int i = 2; i < 4; i++)
        ck_assert(fab_mads_output(m, TIMEOUT / 2, mads[i], &to));
    uint32_t seen = 0;
    ck_assert_uint_eq(fab_mads_cancel_if(m, &o[1], is_odd, &seen),
                      0); /* another caller has no requests that could be cancelled */
    ck_assert_uint_eq(fab_mads_cancel_if(m, &o[0], is_odd, &seen), 4);
    ck_assert_uint_eq(seen, hops);
    ck_assert_uint_eq(stats_of(m).in_flight, 2);
    for (int i = 0; i < 4; i++) {
        answer(mads[i], 0, 0);
        fab_mads_input(m, TIMEOUT / 2, FAB_LID_PERMISSIVE, mads[i], FAB_MAD_SIZE, false);
    }
    ck_assert_uint_eq(o[0].calls, 2);
    ck_assert_uint_eq(stats_of(m).unmatched, 2);
    while (fab_mads_output(m, TIMEOUT / 2, mads[0], &to)) {
        answer(mads[0], 0, 0);
        fab_mads_input(m, TIMEOUT / 2, FAB_LID_PERMISSIVE, mads[0], FAB_MAD_SIZE, false);
    }
    ck_assert(fab_mads_idle(m));
    ck_assert_uint_eq(o[0].calls, 4);
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
    req.data[41] = 3; /* byte 41 of the data, which is byte 65 of the MAD, is PortSelect */
    fab_mads_submit(m, &req);
    ck_assert(fab_mads_output(m, 0, mad, &to));
    ck_assert_uint_eq(to.dlid, 0x77);
    ck_assert_uint_eq(to.qpn, 1);
    ck_assert_uint_eq(to.qkey, 0x80010000);
    ck_assert_uint_eq(mad[65], 3);
    mad[3] = FAB_METHOD_GET_RESP;
    mad[24] = 0x44;
    /* a response from another LID than that of the request */
    ck_assert(fab_mads_input(m, 1, 0x76, mad, sizeof mad, false));
    ck_assert_uint_eq(o.calls, 0);
    ck_assert_uint_eq(stats_of(m).mismatched, 1);
    ck_assert(fab_mads_input(m, 1, 0x77, mad, sizeof mad, false));
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

/* The first try is LID routed, and every retry uses the directed route. The response to any of the
 * tries must be accepted. */
START_TEST(what_is_lost_by_lid_goes_along_its_path)
{
    struct fab_mads *m = session(4, 2);
    struct outcome o = {0};
    uint8_t mad[FAB_MAD_SIZE];
    struct fab_mad_addr to;
    struct fab_mads_request req = get(&o, 1);
    req.mgmt_class = FAB_CLASS_SMP_LID;
    req.dlid = 0x77;
    ck_assert_int_eq(fab_mads_submit(m, &req), FAB_OK);
    ck_assert(fab_mads_output(m, 0, mad, &to));
    ck_assert_uint_eq(to.dlid, 0x77);
    ck_assert_uint_eq(mad[1], FAB_CLASS_SMP_LID);
    fab_mads_expire(m, TIMEOUT);
    ck_assert(fab_mads_output(m, TIMEOUT, mad, &to));
    ck_assert_uint_eq(to.dlid, FAB_LID_PERMISSIVE);
    ck_assert_uint_eq(mad[1], FAB_CLASS_SMP_DIRECTED);
    ck_assert_uint_eq(mad[7], path.hops);
    answer(mad, 0, 9);
    ck_assert(fab_mads_input(m, TIMEOUT + 1, FAB_LID_PERMISSIVE, mad, sizeof mad, false));
    ck_assert_int_eq(o.status, FAB_OK);
    ck_assert_uint_eq(o.calls, 1);
    ck_assert_uint_eq(o.first, 9);
    struct fab_path long_way = {.hops = FAB_MAX_HOPS + 1};
    req.path = &long_way;
    ck_assert_int_eq(fab_mads_submit(m, &req), FAB_E_INVAL);
    fab_mads_free(m);
}
END_TEST

/* A device may still have another M_Key. The last tries carry the other possible keys, one key
 * each. */
START_TEST(the_last_tries_have_other_keys)
{
    static const struct {
        uint32_t retries;
        uint64_t last[FAB_MADS_LAST_KEYS];
        /* M_Key of each try: 1 means req.m_key, and 2 and 3 are keys of last[]; 0: no further
         * try */
        uint8_t sent[5];
    } cases[] = {{3, {0, 0}, {1, 1, 1, 1}}, {3, {2, 0}, {1, 1, 1, 2}}, {3, {2, 3}, {1, 1, 2, 3}},
                 {2, {2, 3}, {1, 2, 3}},    {1, {2, 3}, {1, 2, 3}},    {0, {2, 3}, {1, 2, 3}},
                 {0, {2, 0}, {1, 2}},       {0, {0, 0}, {1}}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fab_mads *m = session(4, cases[i].retries);
        struct outcome o = {0};
        uint8_t mad[FAB_MAD_SIZE];
        struct fab_mad_addr to;
        struct fab_mads_request req = get(&o, 1);
        uint64_t now = 0;
        req.m_key = 1;
        memcpy(req.m_key_last, cases[i].last, sizeof req.m_key_last);
        ck_assert_int_eq(fab_mads_submit(m, &req), FAB_OK);
        for (size_t n = 0; cases[i].sent[n] != 0; n++) {
            ck_assert(fab_mads_output(m, now, mad, &to));
            ck_assert_uint_eq(mad[31], cases[i].sent[n]);
            now += (uint64_t)TIMEOUT << n;
            fab_mads_expire(m, now);
        }
        ck_assert_int_eq(o.status, FAB_E_TIMEOUT);
        fab_mads_free(m);
    }
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
    fab_mads_input(m, 1, FAB_LID_PERMISSIVE, mad, sizeof mad, false);
    /* the session is not idle until it has asked its source for more requests */
    ck_assert(!fab_mads_idle(m));
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
                fab_mads_input(m, now, FAB_LID_PERMISSIVE, mad, sizeof mad, false);
            }
        }
        fab_mads_expire(m, now += TIMEOUT);
    }
    ck_assert_uint_eq(c.left, 0);
    ck_assert_uint_eq(stats_of(m).answered + stats_of(m).timed_out, 5000);
    fab_mads_free(m);
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
    tcase_add_test(tcase, tids_cannot_be_guessed_from_earlier_ones);
    tcase_add_test(tcase, many_requests_in_flight_are_found);
    tcase_add_test(tcase, timeouts_double_and_end);
    tcase_add_test(tcase, an_answer_between_two_tries_counts);
    tcase_add_test(tcase, returned_mads_are_retried_at_once);
    tcase_add_test(tcase, error_status_is_a_refusal);
    tcase_add_test(tcase, busy_ones_are_asked_again_after_a_rest);
    tcase_add_test(tcase, an_answer_after_a_rest_counts);
    tcase_add_test(tcase, order_is_retries_then_submitted_then_source);
    tcase_add_test(tcase, cancel_forgets_everything_quietly);
    tcase_add_test(tcase, cancels_those_of_one);
    tcase_add_test(tcase, cancels_those_that_match);
    tcase_add_test(tcase, gmps_and_lid_routed_smps_have_their_addresses);
    tcase_add_test(tcase, what_is_lost_by_lid_goes_along_its_path);
    tcase_add_test(tcase, the_last_tries_have_other_keys);
    tcase_add_test(tcase, a_bad_request_of_the_source_is_done_at_once);
    tcase_add_test(tcase, done_may_submit);
    return tcase;
}

int main(void)
{
    Suite *suite = suite_create("mads");
    suite_add_tcase(suite, step_cases());
    return test_run(suite);
}
