/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of scenario files. The message about an error in a file gives line and column. The same
 * file and seed give the same run. A false expectation makes the run fail. Scenarios run in virtual
 * time, without waiting. */
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/loop/loop.h"
#include "libfabmgr/base/status.h"
#include "tests/sim/scenario.h"
#include "tests/unit/testing.h"

/* ---- reading ---- */

static void refused(const char *text, uint32_t line, uint32_t column, const char *part)
{
    struct scenario s;
    struct scenario_error error;
    ck_assert_int_eq(scenario_read(text, strlen(text), "test", &s, &error), FAB_E_FORMAT);
    ck_assert_msg(error.line == line && error.column == column && strstr(error.message, part),
                  "%u:%u: %s", error.line, error.column, error.message);
}

START_TEST(places_of_errors)
{
    refused("fabric random\nat 1s pull\n", 2, 11, "1 more word");
    refused("at 1s blow-up leaf-001", 1, 7, "no \"blow-up\"");
    refused("at later sweep", 1, 4, "not a time");
    refused("at", 1, 3, "a time is expected");
    refused("at 2s", 1, 6, "what happens");
    refused("at 2s sweep\nat 1s sweep", 2, 4, "before the line above");
    refused("pull leaf-001/3", 1, 1, "when?");
    refused("at 1s fabric random", 1, 7, "before time begins");
    refused("at 1s impair loss=lots", 1, 19, "not a number");
    refused("at 1s impair storms=1%", 1, 14, "takes no option");
    refused("at 1s sweep now", 1, 13, "too many");
    refused("at 1s expect healthy within", 1, 28, "needs a value");
}
END_TEST

START_TEST(times_and_options)
{
    static const char text[] = "seed 9 # nine\n\nfabric random hosts=2\n"
                               "at 1s pull a/1\nat +250ms expect healthy within 2min\n";
    struct scenario s;
    struct scenario_error error;
    ck_assert_int_eq(scenario_read(text, strlen(text), "test", &s, &error), FAB_OK);
    ck_assert_uint_eq(s.seed, 9);
    ck_assert_uint_eq(s.count, 4);
    ck_assert_uint_eq(s.lines[3].number, 5);
    ck_assert_uint_eq(s.lines[3].at_us, 1250000);
    ck_assert_uint_eq((uint64_t)scenario_number(&s.lines[3], "within", 0), 120000000);
    scenario_fini(&s);
}
END_TEST

/* ---- running ---- */

static struct scenario_result run(const char *text, uint64_t seed)
{
    struct scenario s;
    struct scenario_error error;
    struct scenario_result result;
    struct scenario_run_config config = {.seed = seed};
    int r = scenario_read(text, strlen(text), "test", &s, &error);
    ck_assert_msg(r == FAB_OK, "%u:%u: %s", error.line, error.column, error.message);
    scenario_run(&s, &config, &result);
    scenario_fini(&s);
    return result;
}

#define FOUL                                                                                       \
    "fabric leaf-spine leaves=4 spines=2 hosts=2\n"                                                \
    "timing hop=1us answer=10us train=20ms\n"                                                      \
    "at 0s impair loss=5% duplicate=5% delay=10% by=1ms spread=10ms\n"                             \
    "at 0s expect idle within 60s\n"                                                               \
    "at 60s flap leaf-001/3 period=30ms count=9\n"                                                 \
    "at 61s reboot spine-002 boot=100ms step=5ms\n"                                                \
    "at 70s impair\n"                                                                              \
    "at 70s sweep\n"                                                                               \
    "at 70s expect healthy within 60s\n"

/* Plays the scenario. *ret is a trace of all MADs and events with their times. */
static struct scenario_result run_traced(const char *text, uint64_t seed, char **ret,
                                         size_t *ret_len)
{
    struct scenario s;
    struct scenario_error error;
    struct scenario_result result;
    struct scenario_run_config config = {.seed = seed, .trace = open_memstream(ret, ret_len)};
    ck_assert_ptr_nonnull(config.trace);
    ck_assert_int_eq(scenario_read(text, strlen(text), "test", &s, &error), FAB_OK);
    scenario_run(&s, &config, &result);
    scenario_fini(&s);
    ck_assert_int_eq(fclose(config.trace), 0);
    return result;
}

START_TEST(same_seed_same_bytes)
{
    for (uint64_t seed = 11; seed <= 13; seed++) {
        char *bytes[2];
        size_t len[2];
        for (unsigned i = 0; i < 2; i++) {
            struct scenario_result r = run_traced(FOUL, seed, &bytes[i], &len[i]);
            ck_assert_msg(r.good, "seed %" PRIu64 ": %s", seed, r.message);
        }
        ck_assert_uint_gt(len[0], 100000);
        ck_assert_uint_eq(len[0], len[1]);
        ck_assert_int_eq(memcmp(bytes[0], bytes[1], len[0]), 0);
        free(bytes[0]);
        free(bytes[1]);
    }
}
END_TEST

START_TEST(same_seed_same_run)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct scenario_result x = run(FOUL, seed), y = run(FOUL, seed), z = run(FOUL, seed + 100);
        ck_assert_msg(x.good, "seed %" PRIu64 ": %s", seed, x.message);
        ck_assert_uint_eq(x.digest, y.digest);
        ck_assert_uint_eq(x.mads, y.mads);
        ck_assert_uint_eq(x.end_us, y.end_us);
        ck_assert_uint_ne(x.digest, z.digest);
    }
}
END_TEST

START_TEST(failures_are_noticed)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"at 0s expect healthy", "generation 0"},
        {"at 1s pull leaf-001/3\nat 1s expect good", "unreachable"},
        {"at 1s reboot spine-001\nat 1s expect active", "are not Active"},
        {"at 1s expect event link-down within 5s", "events:"},
        {"at 1s mark\nat 1s pull leaf-001/3\nat 2s expect generation same", "it was"},
        {"at 1s pull nobody/3", "nobody/3"},
        {"at 1s expect miracles", "no such condition"},
        {"at 1s label a\nat 1s pull leaf-001/3\nat 2s expect tables same a", "they are others"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[512];
        snprintf(text, sizeof(text), "fabric leaf-spine\ntiming hop=1us answer=10us\n%s\n",
                 cases[i].text);
        struct scenario_result r = run(text, 1);
        ck_assert(!r.good);
        ck_assert_msg(strstr(r.message, cases[i].message), "%s: %s", cases[i].text, r.message);
    }
}
END_TEST

/* ---- virtual time ---- */

struct rig {
    struct loop *loop;
    struct loop_timer *timers[3];
    char order[32];
    unsigned rings;
};

static void note(struct rig *x, char what)
{
    size_t len = strlen(x->order);
    x->order[len] = what;
}
static void ring_a(void *ctx)
{
    struct rig *x = ctx;
    note(x, 'a');
    if (++x->rings < 3)
        loop_timer_set(x->timers[0], 5000000);
}
static void ring_b(void *ctx)
{
    note(ctx, 'b');
}
static void ring_c(void *ctx)
{
    struct rig *x = ctx;
    note(x, 'c');
    loop_timer_cancel(x->timers[1]);
}
static void work(void *ctx)
{
    note(ctx, 'w');
}
static void done(void *ctx)
{
    note(ctx, 'd');
}

START_TEST(time_jumps)
{
    struct rig x = {.loop = loop_new_virtual()};
    uint64_t start = clock_now_us();
    int64_t wall = clock_unix_us();
    x.timers[0] = loop_timer_new(x.loop, ring_a, &x);
    x.timers[1] = loop_timer_new(x.loop, ring_b, &x);
    x.timers[2] = loop_timer_new(x.loop, ring_c, &x);
    loop_timer_set(x.timers[1], 7000000);
    /* ring_c() of timers[2] cancels timers[1], so timers[1] does not fire, although it was set
     * before timers[0] */
    loop_timer_set(x.timers[1], 5000000);
    loop_timer_set(x.timers[0], 5000000);
    loop_timer_set(x.timers[2], 1000000);
    ck_assert(loop_timer_pending(x.timers[1]));
    ck_assert_int_eq(loop_work(x.loop, work, done, &x), FAB_OK);
    ck_assert_int_eq(loop_run(x.loop), FAB_OK); /* returns when no timer is set any more */
    ck_assert_str_eq(x.order, "wdcaaa");
    ck_assert(!loop_timer_pending(x.timers[1]));
    ck_assert_uint_eq(clock_now_us() - start, 15000000);
    ck_assert_int_eq(clock_unix_us() - wall, 15000000);
    ck_assert_ptr_null(loop_watch_read(x.loop, 0, ring_a, &x));
    ck_assert_int_eq(loop_signal(x.loop, 1, ring_a, &x), FAB_E_UNSUPPORTED);
    for (unsigned i = 0; i < 3; i++)
        loop_timer_free(x.timers[i]);
    loop_free(x.loop);
    ck_assert_int_gt(clock_unix_us(), wall - INT64_C(1000000) * 86400 * 365 * 50);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("scenario");
    TCase *c = tcase_create("scenario");
    tcase_set_timeout(c, 60);
    log_init(LOG_LEVEL_ERROR);
    tcase_add_test(c, places_of_errors);
    tcase_add_test(c, times_and_options);
    tcase_add_test(c, same_seed_same_bytes);
    tcase_add_test(c, same_seed_same_run);
    tcase_add_test(c, failures_are_noticed);
    tcase_add_test(c, time_jumps);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return test_run(suite());
}
