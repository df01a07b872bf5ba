/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The window of the MAD session, which limits the number of requests in flight. Also whole
 * conversations in virtual time, over a simulated wire that delays, reorders, loses, duplicates,
 * refuses and returns MADs at random. Every request must end exactly once, with its own response.
 */
#include "libfabmgr/base/prng.h"
#include "tests/unit/mads_session.h"

/* ---- the window ------------------------------------------------------------------------------ */

/* Takes all MADs that the session may send now into wire[], and returns their number. */
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
        fab_mads_input(m, now, FAB_LID_PERMISSIVE, wire[i], FAB_MAD_SIZE, false);
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
    ck_assert_uint_eq(pump(m, now, wire), 128); /* the window has reached its maximum */
    for (uint32_t i = 0; i < 128; i++)
        fab_mads_input(m, now + 1, FAB_LID_PERMISSIVE, wire[i], FAB_MAD_SIZE, true);
    /* All 128 requests are lost within one round trip. This halves the window only once, from 128
     * to 64. */
    ck_assert_uint_eq(stats_of(m).window, 64);
    now += 2;
    for (uint32_t expected = 64; expected < 70; expected++) {
        ck_assert_uint_eq(pump(m, now, wire), expected);
        answer_all(m, ++now, wire, expected);
    }
    for (uint32_t i = 0; i < 10; i++) {
        /* loses all requests ten times, so that the window shrinks to its minimum */
        uint32_t n = pump(m, ++now, wire);
        for (uint32_t k = 0; k < n; k++)
            fab_mads_input(m, now + 1, FAB_LID_PERMISSIVE, wire[k], FAB_MAD_SIZE, true);
    }
    ck_assert_uint_eq(stats_of(m).window, 4);
    fab_mads_free(m);
}
END_TEST

/* Soon after the usual response time, a request without a response counts as late, and leaves the
 * window. So devices that do not answer do not delay requests to others. */
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
    /* the window has room for only 2 more, because window_max also counts the 8 late requests */
    ck_assert_uint_eq(pump(m, late, wire), 2);
    ck_assert_uint_eq(stats_of(m).in_flight, 10);
    ck_assert_uint_eq(stats_of(m).retried, 0);
    answer_all(m, late + 100, wire, 2);
    answer_all(m, late + 100, lost, n); /* the responses to the late requests are still accepted */
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

/* ---- conversations --------------------------------------------------------------------------- */

#define REQUESTS 150
#define FLIGHTS 2048

/* A MAD that the wire will deliver to the session at the time `arrives`: a response, a copy of a
 * response, or (failed) a returned request. */
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
    uint32_t done[REQUESTS], ok, timeouts, refused;
    uint64_t now;
    struct flight flights[FLIGHTS];
    bool bad;
};

static void request_done(void *ctx, uint64_t tag, const struct fab_mads_answer *a)
{
    struct world *w = ctx;
    w->bad |= tag >= w->asked || w->done[tag]++ != 0;
    w->ok += a->status == FAB_OK;
    w->timeouts += a->status == FAB_E_TIMEOUT;
    w->refused += a->status == FAB_E_REFUSED;
    /* the first data byte of a response is the number of its request */
    if (a->data != NULL)
        w->bad |= a->data[0] != (uint8_t)tag;
    else
        w->bad |= a->status != FAB_E_TIMEOUT;
}

static bool next_request(void *ctx, struct fab_mads_request *ret)
{
    struct world *w = ctx;
    if (w->asked == w->to_ask || fab_base_prng_chance(&w->prng, 0.05))
        return false;
    *ret = get(NULL, w->asked);
    ret->attr_id = (uint16_t)(FAB_ATTR_NODE_INFO + fab_base_prng_below(&w->prng, 4));
    ret->attr_mod = w->asked++;
    ret->done = request_done;
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
        /* most MADs arrive before the timeout, and some much later */
        uint64_t latest = fab_base_prng_chance(&w->prng, w->slow) ? 8 * TIMEOUT : TIMEOUT / 2;
        f->arrives = w->now + fab_base_prng_below(&w->prng, latest);
        memcpy(f->mad, mad, FAB_MAD_SIZE);
        return;
    }
}

/* Loses or returns a request at random, or lets the device answer it once or twice. */
static void carry(struct world *w, uint8_t mad[FAB_MAD_SIZE])
{
    if (fab_base_prng_chance(&w->prng, w->loss))
        return;
    if (fab_base_prng_chance(&w->prng, w->give_back)) {
        fly(w, mad, true);
        return;
    }
    uint16_t status = fab_base_prng_chance(&w->prng, w->busy)     ? FAB_SMP_BUSY
                      : fab_base_prng_chance(&w->prng, w->refuse) ? FAB_SMP_BAD_ATTR
                                                                  : 0;
    answer(mad, status, mad[23]);
    fly(w, mad, false);
    if (fab_base_prng_chance(&w->prng, w->twice))
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

/* Sends what the session permits. Then goes on to the next arrival or timeout, whichever is
 * earlier. Returns false if nothing is left. */
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
        w->bad |=
            !fab_mads_input(w->m, w->now, FAB_LID_PERMISSIVE, f->mad, FAB_MAD_SIZE, f->failed);
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
    fab_base_prng_init(&w->prng, seed);
    struct fab_mads_config config = {
        .window_start = (uint32_t)fab_base_prng_below(&w->prng, 20),
        .window_max = 1 + (uint32_t)fab_base_prng_below(&w->prng, 64),
        .timeout_us = TIMEOUT,
        .retries = (uint32_t)fab_base_prng_below(&w->prng, 12),
        .tid_key = {(uint8_t)seed, (uint8_t)(seed >> 8)},
    };
    w->loss = rates[fab_base_prng_below(&w->prng, 5)];
    w->twice = rates[fab_base_prng_below(&w->prng, 5)];
    w->slow = rates[fab_base_prng_below(&w->prng, 5)];
    w->busy = rates[fab_base_prng_below(&w->prng, 5)];
    w->refuse = rates[fab_base_prng_below(&w->prng, 5)];
    w->give_back = rates[fab_base_prng_below(&w->prng, 5)];
    w->to_ask = 1 + (uint32_t)fab_base_prng_below(&w->prng, REQUESTS);
    w->m = fab_mads_new(&config);
    fab_mads_source(w->m, next_request, w);
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

int main(void)
{
    Suite *suite = suite_create("mads window");
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
