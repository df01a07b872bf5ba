/* SPDX-License-Identifier: BSD-3-Clause */
/* The database of counters (fabricd/store/counters.h). Rounds become roll-ups and survive crashes.
 * The history keeps its size limit. Damaged files or a failing disk do not stop the manager. */
#include "fabricd/store/counters.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/fabric/fabric.h"
#include "tests/unit/state_dir.h"

#define NODES 40
#define PORTS 8
#define START INT64_C(1780272000) /* midnight UTC */
#define MIB (UINT64_C(1) << 20)

static struct counters *c;

static void open_history(uint64_t limit)
{
    ck_assert_int_eq(counters_start(dir, limit, &c), FAB_OK);
    snprintf(db_path, sizeof db_path, "%s/counters.db", dir);
}

static void setup(void)
{
    make_dir();
    open_history(100 * MIB);
}

static void teardown(void)
{
    counters_stop(c);
    remove_dir();
}

/* The rate of a port is a function of the time, so the test can compute what it must read back. */
static uint64_t rate_of(uint32_t node, uint32_t port, int64_t end)
{
    return 1000000 * (1 + node) + 1000 * port + (uint64_t)(end / 60 % 10) * 100000;
}

static uint64_t errors_of(uint32_t node, uint32_t port, int64_t end)
{
    return node == 3 && port == 2 ? (uint64_t)(end / 60 % 3) : 0;
}

static void set(struct counters_round *r, unsigned column, uint32_t at, uint64_t value)
{
    if (r->code[column] == NULL)
        r->code[column] = calloc(r->room, sizeof *r->code[column]);
    r->code[column][at] = fab_counters_encode_value(column, value);
}

/* Makes a round of counters with samples of `nodes` nodes, beginning with number `from`. The nodes
 * are in another order in each round. Port p of node 2n is connected to port p of node 2n + 1. */
static struct counters_round *make_round(int64_t end, uint32_t from, uint32_t nodes)
{
    struct counters_round *r = calloc(1, sizeof *r);
    r->time = (struct fab_counters_time){end, 60};
    r->nodes = calloc(nodes, sizeof *r->nodes);
    r->node_count = nodes;
    r->ports = r->room = nodes * (PORTS + 1);
    r->peer = calloc(r->ports, sizeof *r->peer);
    memset(r->peer, 0xff, r->ports * sizeof *r->peer);
    for (uint32_t i = 0; i < nodes; i++) {
        uint32_t node = from + (i + (uint32_t)(end / 60)) % nodes;
        r->nodes[i] =
            (struct counters_node){.guid = GUID(node), .first = i * (PORTS + 1), .ports = PORTS};
        for (uint32_t p = 1; p <= PORTS; p++) {
            set(r, FAB_COLUMN_XMIT_DATA, r->nodes[i].first + p, rate_of(node, p, end));
            set(r, FAB_COLUMN_RCV_DATA, r->nodes[i].first + p, rate_of(node ^ 1, p, end));
            set(r, FAB_COLUMN_ERRORS, r->nodes[i].first + p, errors_of(node, p, end));
        }
    }
    for (uint32_t i = 0; i < nodes; i++)
        for (uint32_t k = 0; k < nodes; k++)
            if (r->nodes[i].guid == (r->nodes[k].guid ^ 1))
                for (uint32_t p = 1; p <= PORTS; p++)
                    r->peer[r->nodes[i].first + p] = r->nodes[k].first + p;
    return r;
}

static void put_rounds(int64_t from, int64_t to)
{
    for (int64_t end = from; end <= to; end += 60) {
        counters_put(c, make_round(end, 0, NODES));
        counters_flush(c);
    }
}

static size_t read_port(unsigned level, uint32_t node, uint8_t port, int64_t since, int64_t until,
                        struct counters_sample **ret)
{
    size_t count = 0;
    *ret = NULL;
    ck_assert_int_eq(
        counters_read_port(c, level, GUID(node), port, since, until, 100000, ret, &count), FAB_OK);
    return count;
}

static bool is_near(uint64_t is, uint64_t want)
{
    return is >= want - want / 100 && is <= want + want / 100 + 1;
}

static void assert_samples(uint32_t node, uint8_t port, int64_t since, int64_t until)
{
    struct counters_sample *s;
    size_t count = read_port(0, node, port, since, until, &s);
    ck_assert_uint_eq(count, (uint64_t)((until - since) / 60));
    for (size_t i = 0; i < count; i++) {
        int64_t end = since + 60 * (int64_t)(i + 1);
        ck_assert_int_eq(s[i].time.end, end);
        ck_assert(is_near(fab_counters_decode_value(0, s[i].code[FAB_COLUMN_XMIT_DATA]),
                          rate_of(node, port, end)));
        ck_assert_uint_eq(
            fab_counters_decode_value(FAB_COLUMN_ERRORS, s[i].code[FAB_COLUMN_ERRORS]),
            errors_of(node, port, end));
    }
    free(s);
}

static struct counters_health health(void)
{
    struct counters_health h;
    counters_get_health(c, &h);
    return h;
}

static bool never(void *ctx)
{
    (void)ctx;
    return false;
}

/* ---- rounds and roll-ups --------------------------------------------------------------------- */

START_TEST(rounds_become_roll_ups)
{
    struct counters_sample *s;
    put_rounds(START + 60, START + 86400 + 3600);
    assert_samples(7, 3, START, START + 86400 + 3600);
    assert_samples(3, 2, START + 3600, START + 7200);
    /* all roll-ups of 15 minutes (96 of the first day, 3 of the next day), then the samples of the
     * last 15 minutes */
    size_t count = read_port(1, 3, 2, START, INT64_MAX / 2, &s);
    ck_assert_uint_eq(count, 96 + 3 + 15);
    for (size_t i = 0; i < 99; i++) {
        ck_assert_int_eq(s[i].time.end, START + 900 * (int64_t)(i + 1));
        ck_assert_uint_eq(s[i].time.span_s, 900);
        ck_assert_uint_eq(
            fab_counters_decode_value(FAB_COLUMN_ERRORS, s[i].code[FAB_COLUMN_ERRORS]), 15);
        uint64_t peak = fab_counters_decode_value(0, s[i].code[FAB_COLUMN_PEAK_XMIT_DATA]);
        ck_assert(is_near(peak, 4002000 + 900000));
    }
    free(s);
    count = read_port(2, 3, 2, START, INT64_MAX / 2, &s);
    ck_assert_uint_eq(count, 1 + 3 + 15);
    ck_assert_uint_eq(s[0].time.span_s, 86400);
    ck_assert(is_near(fab_counters_decode_value(0, s[0].code[FAB_COLUMN_XMIT_DATA]), 4452000));
    ck_assert(
        is_near(fab_counters_decode_value(FAB_COLUMN_ERRORS, s[0].code[FAB_COLUMN_ERRORS]), 1440));
    free(s);
    struct counters_health h = health();
    ck_assert_uint_eq(h.written, 1500);
    ck_assert_uint_eq(h.failures + h.dropped, 0);
    ck_assert_uint_eq(counters_level(&h, START + 86400, START + 86400 + 3600, 60, 200), 0);
    ck_assert_uint_eq(counters_level(&h, START, START + 86400, 60, 200), 1);
    ck_assert_uint_eq(counters_level(&h, START - 30 * 86400, START + 90 * 86400, 60, 200), 2);
}
END_TEST

START_TEST(ports_are_ranked)
{
    struct counters_total *top;
    uint32_t count, ports;
    put_rounds(START + 60, START + 1800);
    ck_assert_int_eq(counters_read_top(c, 1, START, START + 1800, COUNTERS_BY_DATA, 5, never, NULL,
                                       &top, &count, &ports),
                     FAB_OK);
    ck_assert_uint_eq(count, 5);
    ck_assert_uint_eq(ports, NODES * PORTS);
    /* rates rise with the node number, so the link between nodes 38 and 39 carries most data */
    for (uint32_t i = 0; i < count; i++)
        ck_assert_uint_ge(top[i].guid, GUID(38));
    free(top);
    ck_assert_int_eq(counters_read_top(c, 0, START, START + 1800, COUNTERS_BY_ERRORS, 1, never,
                                       NULL, &top, &count, &ports),
                     FAB_OK);
    ck_assert_uint_eq(top[0].guid, GUID(3));
    ck_assert_uint_eq(top[0].port, 2);
    ck_assert_uint_eq(counters_rank_value(COUNTERS_BY_ERRORS, top[0].code), 30);
    free(top);
}
END_TEST

/* The clock is set back. A new sample replaces the old sample of the same time, and all other old
 * samples in the same 15 minutes are deleted. */
START_TEST(a_clock_may_go_back)
{
    put_rounds(START + 60, START + 3600);
    put_rounds(START + 1860, START + 2400);
    put_rounds(START + 2100, START + 2400);
    assert_samples(7, 3, START + 900, START + 2400);
    struct counters_sample *s;
    ck_assert_uint_eq(read_port(0, 7, 3, START + 2400, START + 9999, &s), 0);
    free(s);
}
END_TEST

START_TEST(unknown_ports_are_not_found)
{
    struct counters_sample *s;
    size_t count;
    put_rounds(START + 60, START + 60);
    ck_assert_int_eq(counters_read_port(c, 0, GUID(999), 1, 0, START + 60, 9, &s, &count),
                     FAB_E_NOT_FOUND);
    ck_assert_int_eq(counters_read_port(c, 0, GUID(1), PORTS + 1, 0, START + 60, 9, &s, &count),
                     FAB_E_NOT_FOUND);
}
END_TEST

/* ---- findings -------------------------------------------------------------------------------- */

START_TEST(findings_are_reported_once)
{
    struct counters_finding f[16];
    size_t rising = 0, asymmetric = 0;
    for (int64_t end = START + 60; end <= START + 4 * 3600; end += 60) {
        struct counters_round *r = make_round(end, 0, NODES);
        int64_t quarter = (end - START - 1) / 900;
        for (uint32_t i = 0; i < NODES; i++) {
            /* the errors of this port begin to rise after 75 minutes */
            if (r->nodes[i].guid == GUID(5))
                set(r, FAB_COLUMN_ERRORS, r->nodes[i].first + 4,
                    quarter > 4 ? (uint64_t)(quarter - 4) : 0);
            if (r->nodes[i].guid == GUID(8))
                set(r, FAB_COLUMN_RCV_DATA, r->nodes[i].first + 6, 1000);
        }
        counters_put(c, r);
        counters_flush(c);
        size_t count = counters_take_findings(c, f, 16);
        for (size_t i = 0; i < count; i++) {
            bool rises = f[i].kind == COUNTERS_RISING;
            ck_assert_uint_eq(f[i].guid, rises ? GUID(5) : GUID(9));
            ck_assert_uint_eq(f[i].port, rises ? 4 : 6);
            rising += rises;
            asymmetric += !rises;
            ck_assert(rises ? f[i].now > f[i].before : f[i].sent > 1000 * f[i].received);
        }
    }
    ck_assert_uint_eq(rising, 1);
    ck_assert_uint_eq(asymmetric, 1);
}
END_TEST

/* ---- size ------------------------------------------------------------------------------------ */

START_TEST(the_oldest_fine_samples_go_first)
{
    struct counters_sample *s;
    const uint64_t limit = 600 * 1024;
    counters_limit(c, limit);
    put_rounds(START + 60, START + 2 * 86400);
    struct counters_health h = health();
    ck_assert_uint_le(h.bytes, limit + 100 * 1024);
    ck_assert_int_gt(h.oldest[0], START + 900);
    ck_assert_int_le(h.oldest[1], START + 900);
    ck_assert_uint_gt(read_port(1, 7, 3, START, START + 86400, &s), 90);
    free(s);
    assert_samples(7, 3, START + 2 * 86400 - 1800, START + 2 * 86400);
    struct stat st;
    ck_assert_int_eq(stat(db_path, &st), 0);
    ck_assert_int_le(st.st_size, (int64_t)(limit + 200 * 1024));
}
END_TEST

/* The history reuses the place of a node whose samples were all deleted for a new node. */
START_TEST(places_are_used_again)
{
    counters_limit(c, 1);
    for (int day = 0; day < 5; day++)
        for (int64_t end = START + day * 86400 + 60; end <= START + day * 86400 + 7200; end += 60) {
            counters_put(c, make_round(end, 100 * (uint32_t)day, NODES));
            counters_flush(c);
        }
    ck_assert_int_le(ask("SELECT max(first) FROM node"), 2 * NODES * (PORTS + 1));
    struct counters_sample *s;
    int64_t now = START + 4 * 86400 + 7200;
    ck_assert_uint_gt(read_port(0, 400, 1, now - 900, now, &s), 1);
    free(s);
}
END_TEST

/* ---- faults ---------------------------------------------------------------------------------- */

START_TEST(a_damaged_history_is_set_aside)
{
    put_rounds(START + 60, START + 1200);
    counters_stop(c);
    FILE *f = fopen(db_path, "r+");
    for (int i = 0; i < 2000; i++)
        fprintf(f, "this is no database ");
    fclose(f);
    open_history(100 * MIB);
    put_rounds(START + 1260, START + 2400);
    struct counters_health h = health();
    ck_assert_uint_eq(h.replaced, 1);
    ck_assert(!h.failing);
    ck_assert_int_eq(access(h.aside, R_OK), 0);
    assert_samples(7, 3, START + 1200, START + 2400);
}
END_TEST

/* A block on the disk is damaged while the manager runs. A new block replaces it, and the next
 * samples are stored. */
START_TEST(a_damaged_block_is_set_aside)
{
    put_rounds(START + 60, START + 600);
    change("UPDATE block SET data = x'ff' WHERE id < 1099511627776");
    put_rounds(START + 660, START + 1200);
    struct counters_health h = health();
    ck_assert_uint_eq(h.replaced, 1);
    ck_assert(!h.failing);
    assert_samples(7, 3, START + 900, START + 1200);
}
END_TEST

START_TEST(a_dead_disk_stops_nothing)
{
    char away[300];
    snprintf(away, sizeof away, "%s.away", dir);
    put_rounds(START + 60, START + 300);
    ck_assert_int_eq(rename(dir, away), 0);
    put_rounds(START + 360, START + 600);
    ck_assert(health().failing);
    ck_assert_uint_eq(health().dropped, 5);
    ck_assert_int_eq(rename(away, dir), 0);
    put_rounds(START + 660, START + 900);
    ck_assert(!health().failing);
    ck_assert_uint_eq(health().replaced, 0);
    assert_samples(7, 3, START, START + 300);
    assert_samples(7, 3, START + 600, START + 900);
}
END_TEST

/* A child process writes rounds until it is killed at a random time. Every round that it reported
 * as written must be in the history. */
START_TEST(kills_lose_no_written_round)
{
    struct fab_prng p;
    fab_base_prng_init(&p, test_seed("kills", 1));
    counters_stop(c);
    c = NULL;
    int64_t now = START;
    for (unsigned n = 0; n < test_rounds(20); n++) {
        int tell[2];
        ck_assert_int_eq(pipe(tell), 0);
        pid_t child = fork();
        if (child == 0) {
            open_history(100 * MIB);
            for (int64_t end = now + 60;; end += 60) {
                counters_put(c, make_round(end, 0, NODES));
                counters_flush(c);
                if (write(tell[1], &end, sizeof end) < 0)
                    _exit(1);
            }
        }
        close(tell[1]);
        usleep(20000 + (unsigned)fab_base_prng_below(&p, 200000));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        int64_t begin = now, end;
        while (read(tell[0], &end, sizeof end) == sizeof end)
            now = end;
        close(tell[0]);
        open_history(100 * MIB);
        if (now > begin)
            assert_samples(7, 3, begin, now);
        counters_stop(c);
        c = NULL;
        ck_assert_int_eq(
            ask("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"), 0);
        now += 600; /* skips rounds that the child may have written without reporting them */
    }
    ck_assert_int_gt(now, START + 6000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("history of counters in SQLite");
    TCase *tcase = tcase_create("history of counters in SQLite");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, rounds_become_roll_ups);
    tcase_add_test(tcase, ports_are_ranked);
    tcase_add_test(tcase, a_clock_may_go_back);
    tcase_add_test(tcase, unknown_ports_are_not_found);
    tcase_add_test(tcase, findings_are_reported_once);
    tcase_add_test(tcase, the_oldest_fine_samples_go_first);
    tcase_add_test(tcase, places_are_used_again);
    tcase_add_test(tcase, a_damaged_history_is_set_aside);
    tcase_add_test(tcase, a_damaged_block_is_set_aside);
    tcase_add_test(tcase, a_dead_disk_stops_nothing);
    tcase_add_test(tcase, kills_lose_no_written_round);
    tcase_set_timeout(tcase, 300);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
