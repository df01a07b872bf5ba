/* SPDX-License-Identifier: BSD-3-Clause */
/* The database of counters (fabricd/store/counters.h). Rounds become roll-ups and survive crashes.
 * The history keeps its size limit. Damaged files or a failing disk do not stop the manager. */
#include "fabricd/store/counters.h"

#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "fabricd/store/counters_state.h"
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

/* Puts one round. Returns true if it was written. */
static bool put_one(int64_t end)
{
    uint64_t written = health().written;
    counters_put(c, make_round(end, 0, NODES));
    counters_flush(c);
    return health().written > written;
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
    ck_assert_uint_eq(count, 8 + 3 + 15);
    for (size_t i = 0; i < 8; i++) {
        ck_assert_int_eq(s[i].time.end, START + 10800 * (int64_t)(i + 1));
        ck_assert_uint_eq(s[i].time.span_s, 10800);
    }
    free(s);
    count = read_port(3, 3, 2, START, INT64_MAX / 2, &s);
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
    ck_assert_uint_eq(counters_level(&h, START, START + 20 * 86400, 60, 200), 2);
    ck_assert_uint_eq(counters_level(&h, START - 30 * 86400, START + 90 * 86400, 60, 200), 3);
}
END_TEST

START_TEST(ports_are_ranked)
{
    struct counters_total *top;
    uint32_t count, ports;
    put_rounds(START + 60, START + 1800);
    ck_assert_int_eq(counters_read_top(c, START, START + 1800, COUNTERS_BY_DATA, 5, never, NULL,
                                       &top, &count, &ports),
                     FAB_OK);
    ck_assert_uint_eq(count, 5);
    ck_assert_uint_eq(ports, NODES * PORTS);
    /* rates rise with the node number, so the link between nodes 38 and 39 carries most data */
    for (uint32_t i = 0; i < count; i++)
        ck_assert_uint_ge(top[i].guid, GUID(38));
    free(top);
    ck_assert_int_eq(counters_read_top(c, START, START + 1800, COUNTERS_BY_ERRORS, 1, never, NULL,
                                       &top, &count, &ports),
                     FAB_OK);
    ck_assert_uint_eq(top[0].guid, GUID(3));
    ck_assert_uint_eq(top[0].port, 2);
    ck_assert_uint_eq(counters_rank_value(COUNTERS_BY_ERRORS, top[0].code), 30);
    free(top);
}
END_TEST

/* Samples, roll-ups of both levels and the total are each encoded with an error of up to 0.8 %. */
static bool is_total(uint64_t is, uint64_t want)
{
    return is + want / 30 >= want && is <= want + want / 30;
}

/* The mean rate and the errors of a port in (since, until], from the functions that made them. */
static void expect_total(const struct counters_total *t, int64_t since, int64_t until)
{
    uint32_t node = (uint32_t)(t->guid - GUID(0));
    uint64_t rates = 0, errors = 0, samples = 0;
    for (int64_t end = START + 60; end <= until; end += 60)
        if (end > since) {
            rates += rate_of(node, t->port, end);
            errors += errors_of(node, t->port, end);
            samples++;
        }
    uint64_t is = fab_counters_decode_value(0, t->code[FAB_COLUMN_XMIT_DATA]);
    ck_assert_msg(is_total(is, rates / samples), "node %u port %u: %" PRIu64 ", not %" PRIu64, node,
                  t->port, is, rates / samples);
    ck_assert(is_total(counters_rank_value(COUNTERS_BY_ERRORS, t->code), errors));
}

/* Totals of random times, which begin and end anywhere in a quarter of an hour and in a day. */
START_TEST(totals_are_those_of_all_samples)
{
    const int64_t last = START + 2 * 86400 + 5000;
    struct fab_prng p;
    fab_base_prng_init(&p, test_seed("totals", 7));
    put_rounds(START + 60, last / 60 * 60);
    for (unsigned n = 0; n < test_rounds(60); n++) {
        struct counters_total *top;
        uint32_t count, ports;
        int64_t since = last - 60 - (int64_t)fab_base_prng_below(&p, 1u << (n % 18));
        int64_t until = n % 3 ? last : since + 60 + (int64_t)fab_base_prng_below(&p, 4000);
        until = until < last ? until : last;
        enum counters_by by = n % 2 ? COUNTERS_BY_DATA : COUNTERS_BY_ERRORS;
        ck_assert_int_eq(
            counters_read_top(c, since, until, by, 1000, never, NULL, &top, &count, &ports),
            FAB_OK);
        for (uint32_t i = 0; i < count; i++)
            expect_total(&top[i], since, until);
        ck_assert_uint_le(count, NODES * PORTS);
        ck_assert(by != COUNTERS_BY_DATA || count == NODES * PORTS);
        free(top);
    }
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

/* The roll-ups of the time before the clock was set back must be replaced, too, and those before
 * this time must stay. */
START_TEST(roll_ups_follow_a_clock_that_goes_back)
{
    struct counters_sample *s;
    put_rounds(START + 60, START + 2 * 86400 + 7200);
    put_rounds(START + 86400 + 4 * 3600 + 1260, START + 2 * 86400 + 7200);
    ck_assert_uint_eq(health().failures, 0);
    size_t count = read_port(1, 7, 3, START, START + 2 * 86400 + 7200, &s);
    ck_assert_uint_eq(count, 2 * 96 + 7 + 15);
    for (size_t i = 0; i + 15 < count; i++)
        ck_assert_int_eq(s[i].time.end, START + 900 * (int64_t)(i + 1));
    free(s);
    count = read_port(2, 7, 3, START, START + 2 * 86400, &s);
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(s[i].time.end, START + 10800 * (int64_t)(i + 1));
    ck_assert_uint_eq(count, 16);
    free(s);
    ck_assert_uint_eq(read_port(3, 7, 3, START, START + 2 * 86400, &s), 2);
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
    for (int64_t end = START + 60; end <= START + 2 * 86400; end += 60) {
        struct stat st;
        ck_assert(put_one(end));
        ck_assert_int_eq(stat(db_path, &st), 0);
        ck_assert_int_le(st.st_size, (int64_t)limit);
    }
    struct counters_health h = health();
    ck_assert_uint_le(h.bytes, limit);
    ck_assert_int_gt(h.oldest[0], START + 900);
    ck_assert_int_le(h.oldest[1], START + 900);
    ck_assert_uint_gt(read_port(1, 7, 3, START, START + 86400, &s), 90);
    free(s);
    assert_samples(7, 3, START + 2 * 86400 - 1800, START + 2 * 86400);
}
END_TEST

/* Returns the age of the oldest samples of a level, in units of the days that this level has in a
 * history of the default size with 70,000 ports. */
static double age_of(const struct counters_health *h, unsigned level, int64_t now)
{
    static const int days[] = {2, 30, 90, 1000};
    return (double)(now - h->oldest[level]) / 86400 / days[level];
}

/* The limit becomes lower and lower. The history must lose samples and roll-ups so that their ages
 * stay in proportion, and roll-ups of a day stay longest. */
START_TEST(a_smaller_history_has_a_part_of_each_level)
{
    const int64_t day = 86400, first = START + 3600;
    const double slack[] = {0.05, 0.03, 0.02}; /* of a unit and a round */
    int64_t end = first;
    unsigned trimmed[3] = {0};
    for (; end < START + 40 * day; end += 3600)
        ck_assert(put_one(end));
    const struct counters_health all = health();
    for (struct counters_health h = all; h.oldest[2] < end - 3 * day; h = health()) {
        ck_assert_int_eq(h.oldest[3], all.oldest[3]);
        double least = age_of(&h, 0, end), most = 0;
        for (unsigned l = 0; l < 3; l++) {
            bool is = h.oldest[l] > all.oldest[l];
            trimmed[l] += is;
            least = is && age_of(&h, l, end) < least ? age_of(&h, l, end) : least;
            most = age_of(&h, l, end) - slack[l] > most ? age_of(&h, l, end) - slack[l] : most;
        }
        /* a level that lost samples is not younger than the others */
        if (h.oldest[0] > all.oldest[0])
            ck_assert_double_ge(least + 0.05, most);
        counters_limit(c, h.bytes - h.bytes / 50);
        end += 60;
        ck_assert(put_one(end));
    }
    /* first samples, then also roll-ups of 15 minutes, then also of three hours */
    ck_assert_uint_gt(trimmed[0], trimmed[1]);
    ck_assert_uint_gt(trimmed[1], trimmed[2]);
    ck_assert_uint_gt(trimmed[2], 0);
}
END_TEST

/* The history reuses the place of a node whose samples were all deleted for a new node. */
START_TEST(places_are_used_again)
{
    counters_limit(c, 1);
    for (int day = 0; day < 40; day += 8) /* a block of roll-ups of a day covers 8 days */
        for (int64_t end = START + day * 86400 + 60; end <= START + day * 86400 + 7200; end += 60) {
            counters_put(c, make_round(end, 100 * (uint32_t)day, NODES));
            counters_flush(c);
        }
    ck_assert_int_le(ask("SELECT max(first) FROM node"), 2 * NODES * (PORTS + 1));
    struct counters_sample *s;
    int64_t now = START + 32 * 86400 + 7200;
    ck_assert_uint_gt(read_port(0, 3200, 1, now - 900, now, &s), 1);
    free(s);
}
END_TEST

/* Two nodes, which had one port less before, have new places. When other nodes get their former
 * places, they must keep their new ones. */
START_TEST(a_node_with_more_ports_gets_one_new_place)
{
    const int64_t now = START + 32 * 86400;
    struct counters_sample *s;
    counters_limit(c, 1);
    for (int day = 0; day <= 32; day += 8)
        for (int64_t at = 60; at <= 7080; at += 60) {
            struct counters_round *r = make_round(START + day * 86400 + at, 0, 2);
            for (int i = 0; i < 2 && day == 0; i++)
                r->nodes[i].ports = PORTS - 1;
            counters_put(c, r);
            counters_flush(c);
        }
    struct counters_round *others = make_round(now + 7140, 100, 2);
    for (int i = 0; i < 2; i++)
        others->nodes[i].ports = PORTS - 1;
    counters_put(c, others);
    counters_flush(c);
    ck_assert_int_eq(ask("SELECT count(*) FROM node WHERE first < 2 * 9 AND ports = 7"), 2);
    ck_assert_uint_gt(read_port(0, 0, PORTS, now + 6300, now + 7080, &s), 1);
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

/* ---- writes that fail ------------------------------------------------------------------------ */

/* SQLite calls these functions instead of the system calls. While writes_left is 0, they fail;
 * a negative number: they never fail. */
static atomic_long writes_left = -1;
static atomic_int write_error;

static bool write_fails(void)
{
    if (writes_left > 0)
        writes_left--;
    if (writes_left != 0)
        return false;
    errno = write_error;
    return true;
}

static ssize_t failing_write(int fd, const void *from, size_t len)
{
    return write_fails() ? -1 : write(fd, from, len);
}

static ssize_t failing_pwrite(int fd, const void *from, size_t len, off_t at)
{
    /* A disk that becomes full stores the first part of the data. */
    if (writes_left == 1 && write_error == ENOSPC && len > 1)
        return pwrite(fd, from, len / 2, at);
    return write_fails() ? -1 : pwrite(fd, from, len, at);
}

static int failing_ftruncate(int fd, off_t len)
{
    return write_fails() ? -1 : ftruncate(fd, len);
}

static void replace_calls(bool fail)
{
    typedef void (*call)(void);
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    const struct {
        const char *name;
        call fn;
    } calls[] = {{"write", (call)failing_write},
                 {"pwrite", (call)failing_pwrite},
                 {"pwrite64", (call)failing_pwrite},
                 {"ftruncate", (call)failing_ftruncate}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        vfs->xSetSystemCall(vfs, calls[i].name, fail ? calls[i].fn : NULL);
}

/* The disk becomes full, read-only or broken at any write, and works again some rounds later. Each
 * round that was reported as written must be in the history, and no file may be damaged. */
START_TEST(any_write_may_fail)
{
    static const int errors[] = {ENOSPC, EROFS, EIO};
    struct fab_prng p;
    bool written[200];
    fab_base_prng_init(&p, test_seed("failing writes", 8));
    unsigned faults = 0;
    replace_calls(true);
    for (unsigned n = 0; n < test_rounds(40); n++) {
        int64_t begin = START + (int64_t)n * 40000;
        unsigned from = 10 + (unsigned)fab_base_prng_below(&p, 60);
        unsigned to = from + 1 + (unsigned)fab_base_prng_below(&p, 40);
        write_error = errors[n % 3];
        for (unsigned i = 0; i < 120; i++) {
            if (i == from)
                writes_left = (long)fab_base_prng_below(&p, 30);
            if (i == to)
                writes_left = -1;
            written[i] = put_one(begin + 60 * (i + 1));
            ck_assert_msg(written[i] || (i >= from && i < to), "round %u is lost", i);
            faults += !written[i];
        }
        for (unsigned i = 0; i < 120; i++)
            if (written[i])
                assert_samples(7, 3, begin + 60 * i, begin + 60 * (i + 1));
        ck_assert(!health().failing);
        ck_assert_uint_eq(health().replaced, 0);
    }
    replace_calls(false);
    ck_assert_uint_gt(faults, 40);
    counters_stop(c);
    c = NULL;
    ck_assert_int_eq(
        ask("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"), 0);
}
END_TEST

/* The path of the database is a directory, so that it cannot be opened. */
START_TEST(a_file_that_cannot_be_opened_is_tried_again)
{
    counters_stop(c);
    remove_dir();
    ck_assert_int_eq(mkdir(dir, 0700), 0);
    ck_assert_int_eq(mkdir(db_path, 0700), 0);
    open_history(100 * MIB);
    put_rounds(START + 60, START + 180);
    ck_assert(health().failing);
    ck_assert_uint_eq(health().replaced, 0);
    ck_assert_int_eq(rmdir(db_path), 0);
    put_rounds(START + 240, START + 300);
    ck_assert(!health().failing);
    assert_samples(7, 3, START + 180, START + 300);
}
END_TEST

/* On a disk that damages the history again and again, only two damaged files remain. */
START_TEST(few_damaged_histories_are_kept)
{
    char pattern[300];
    glob_t found;
    for (int n = 0; n < 5; n++) {
        int64_t begin = START + n * 1200;
        put_rounds(begin + 60, begin + 600);
        change("UPDATE block SET data = x'ff' WHERE id < 1099511627776");
        put_rounds(begin + 660, begin + 1200);
    }
    ck_assert_uint_eq(health().replaced, 5);
    /* each round was written to the new history */
    ck_assert_uint_eq(health().dropped, 0);
    snprintf(pattern, sizeof pattern, "%s/counters.db.damaged-*Z", dir);
    ck_assert_int_eq(glob(pattern, 0, NULL, &found), 0);
    ck_assert_uint_eq(found.gl_pathc, 2);
    ck_assert_str_eq(found.gl_pathv[1], health().aside);
    globfree(&found);
}
END_TEST

/* ---- the disk -------------------------------------------------------------------------------- */

START_TEST(the_history_leaves_space_on_the_disk)
{
    struct counters_space s = {0};
    const uint64_t gib = 1024 * MIB;
    ck_assert_uint_eq(counters_space_limit(&s, 4 * gib, 100 * gib, 50 * gib, 2 * gib), 4 * gib);
    /* less than 1 GiB is free: the history keeps its size, although its file grew in between */
    ck_assert_uint_eq(counters_space_limit(&s, 4 * gib, 100 * gib, gib - 1, 2 * gib), 2 * gib);
    ck_assert_uint_eq(counters_space_limit(&s, 4 * gib, 100 * gib, 0, 3 * gib), 2 * gib);
    ck_assert_uint_eq(counters_space_limit(&s, gib, 100 * gib, 0, 3 * gib), gib);
    ck_assert_uint_eq(counters_space_limit(&s, 4 * gib, 100 * gib, gib, 3 * gib), 4 * gib);
    /* a 20th of a small disk */
    ck_assert_uint_eq(counters_space_limit(&s, 4 * gib, 200 * MIB, 10 * MIB, 50 * MIB), 4 * gib);
    ck_assert_uint_eq(counters_space_limit(&s, 4 * gib, 200 * MIB, 9 * MIB, 50 * MIB), 50 * MIB);
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
    tcase_add_test(tcase, totals_are_those_of_all_samples);
    tcase_add_test(tcase, a_clock_may_go_back);
    tcase_add_test(tcase, roll_ups_follow_a_clock_that_goes_back);
    tcase_add_test(tcase, unknown_ports_are_not_found);
    tcase_add_test(tcase, findings_are_reported_once);
    tcase_add_test(tcase, the_oldest_fine_samples_go_first);
    tcase_add_test(tcase, a_smaller_history_has_a_part_of_each_level);
    tcase_add_test(tcase, places_are_used_again);
    tcase_add_test(tcase, a_node_with_more_ports_gets_one_new_place);
    tcase_add_test(tcase, a_damaged_history_is_set_aside);
    tcase_add_test(tcase, a_damaged_block_is_set_aside);
    tcase_add_test(tcase, a_dead_disk_stops_nothing);
    tcase_add_test(tcase, any_write_may_fail);
    tcase_add_test(tcase, a_file_that_cannot_be_opened_is_tried_again);
    tcase_add_test(tcase, few_damaged_histories_are_kept);
    tcase_add_test(tcase, the_history_leaves_space_on_the_disk);
    tcase_add_test(tcase, kills_lose_no_written_round);
    tcase_set_timeout(tcase, 300);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
