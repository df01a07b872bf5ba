/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures the history of counters for a large fabric: its size, in total and of each level, the
 * CPU time of a round, and the times of queries. The rounds go directly to the code that writes
 * them in fabricd. So three days need some minutes; with the simulated devices, they would need
 * three days times the share of a core that the event loop of fabricd uses.
 *
 *   bench_counters [PORTS [DAYS [INTERVAL [LIMIT_MIB]]]]
 *   bench_counters DIR
 *
 * The second form only repeats the queries on a history that the first form has made.
 *
 * Writes DAYS days (default 3) of samples of PORTS ports into a directory in TMPDIR, with one
 * sample each INTERVAL seconds (default 60) of virtual time. The default of 69,984 ports is that of
 * a fat tree of radix 36, with 11,664 hosts. LIMIT_MIB (default 4096) is the maximum size of the
 * history. On nine of ten ports, the rate changes by up to a tenth from sample to sample, and is
 * replaced by a new random rate, which may be 0, on average every 30 samples. One of 200 ports has
 * errors in a third of its samples.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "fabricd/store/counters.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"

#define START INT64_C(1780272000)
#define NODE_PORTS 36u
#define MIB 1048576.0
#define QUERIES 5 /* number of times that each query runs */

struct port {
    double rate, packet, wait;
};
static struct fab_prng prng;
static struct port *ports;
static uint32_t count;

static double chance(void)
{
    return (double)(fab_base_prng_next(&prng) >> 11) * 0x1p-53;
}

static uint16_t *column(struct counters_round *r, unsigned c)
{
    if (r->code[c] == NULL)
        r->code[c] = calloc(r->room, sizeof *r->code[c]);
    return r->code[c];
}

static void put(struct counters_round *r, unsigned c, uint32_t at, double value)
{
    column(r, c)[at] = fab_counters_encode_value(c, (uint64_t)value);
}

static void step(struct port *p)
{
    if (chance() < 1.0 / 30)
        p->rate = chance() < 0.1 ? 0 : 5e10 * chance() * chance();
    if (p->rate > 0)
        p->rate *= 0.9 + 0.2 * chance();
}

static struct counters_round *make_round(int64_t end, uint32_t interval)
{
    struct counters_round *r = calloc(1, sizeof *r);
    uint32_t nodes = count / NODE_PORTS;
    r->time = (struct fab_counters_time){end, interval};
    r->nodes = calloc(nodes, sizeof *r->nodes);
    r->node_count = nodes;
    r->ports = r->room = nodes * (NODE_PORTS + 1);
    r->peer = malloc(r->ports * sizeof *r->peer);
    memset(r->peer, 0xff, r->ports * sizeof *r->peer);
    for (uint32_t n = 0; n < nodes; n++) {
        uint32_t first = n * (NODE_PORTS + 1);
        r->nodes[n] = (struct counters_node){0x2c90300000000ull + n, first, NODE_PORTS};
        for (uint32_t i = 0; i < NODE_PORTS; i++) {
            struct port *p = &ports[n * NODE_PORTS + i];
            uint32_t at = first + 1 + i;
            if ((n * NODE_PORTS + i) % 10 != 0)
                step(p);
            put(r, FAB_COLUMN_XMIT_DATA, at, p->rate);
            put(r, FAB_COLUMN_RCV_DATA, at, p->rate * (0.95 + 0.1 * chance()));
            put(r, FAB_COLUMN_XMIT_PKTS, at, p->rate / 2048);
            put(r, FAB_COLUMN_RCV_PKTS, at, p->rate / 2048 * (0.95 + 0.1 * chance()));
            put(r, FAB_COLUMN_XMIT_WAIT, at, p->rate > 2.5e10 ? 2e5 * chance() : 0);
            if ((n * NODE_PORTS + i) % 200 == 0)
                put(r, FAB_COLUMN_ERRORS, at, chance() < 0.3 ? 10 * chance() : 0);
        }
    }
    return r;
}

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool never(void *ctx)
{
    (void)ctx;
    return false;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* largest sizes of the files since the start, in bytes, and longest time and CPU time of a round in
 * s */
struct peaks {
    int64_t db, wal;
    double round, cpu;
};

static int64_t size_of(const char *dir, const char *name)
{
    char path[400];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return stat(path, &st) == 0 ? (int64_t)st.st_size : 0;
}

static void note_peaks(const char *dir, double round, double cpu, struct peaks *p)
{
    int64_t db = size_of(dir, "counters.db"), wal = size_of(dir, "counters.db-wal");
    p->db = db > p->db ? db : p->db;
    p->wal = wal > p->wal ? wal : p->wal;
    p->round = round > p->round ? round : p->round;
    p->cpu = cpu > p->cpu ? cpu : p->cpu;
}

static void print_state(struct counters *c, int64_t end)
{
    struct counters_health h;
    counters_get_health(c, &h);
    printf("%5.2f days: %.0f MiB, oldest samples", (double)(end - START) / 86400,
           (double)h.bytes / MIB);
    for (int l = 0; l < FAB_ROLLUP_LEVELS; l++)
        printf("%s %.2f", l > 0 ? "," : "", h.oldest[l] ? (double)(end - h.oldest[l]) / 86400 : 0);
    printf(" days\n");
    fflush(stdout);
}

static int64_t number_from(const char *dir, const char *sql)
{
    char path[400];
    sqlite3 *db;
    sqlite3_stmt *stmt = NULL;
    int64_t number = 0;
    snprintf(path, sizeof path, "%s/counters.db", dir);
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        number = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return number;
}

/* Prints the bytes of each level, and the size of 30 days if nothing was deleted. The pages of the
 * database need more space than the bytes of the blocks: this share is equal for all levels. */
static void print_levels(struct counters *c, const char *dir, int64_t end)
{
    static const char *const name[] = {"samples", "15 minutes", "3 hours", "1 day"};
    static const char *const sql[] = {
        "SELECT sum(length(data)) FROM block WHERE id >> 61 = 0",
        "SELECT sum(length(data)) FROM block WHERE id >> 61 = 1",
        "SELECT sum(length(data)) FROM block WHERE id >> 61 = 2",
        "SELECT sum(length(data)) FROM block WHERE id >> 61 = 3",
    };
    static const double step[] = {0, FAB_ROLLUP_QUARTER, FAB_ROLLUP_3_HOURS, FAB_ROLLUP_DAY};
    struct counters_health h;
    double bytes[FAB_ROLLUP_LEVELS], sum = 0, month = 0;
    counters_get_health(c, &h);
    for (int l = 0; l < FAB_ROLLUP_LEVELS; l++)
        bytes[l] = (double)number_from(dir, sql[l]);
    for (int l = 0; l < FAB_ROLLUP_LEVELS; l++)
        sum += bytes[l];
    for (int l = 0; l < FAB_ROLLUP_LEVELS; l++) {
        /* The oldest sample of level 0 may be the first of a joined block, and roll-ups have the
         * time of their end. */
        double days = (double)(end - h.oldest[l]) / 86400;
        if (l > 0)
            days += step[l] / 86400;
        double day = days > 0 ? bytes[l] / sum * (double)h.bytes / days : 0;
        month += 30 * day;
        printf("%-10s %7.1f MiB for %.2f days; %6.1f MiB a day\n", name[l],
               bytes[l] / sum * (double)h.bytes / MIB, days, day / MIB);
    }
    printf("30 days, nothing deleted: %.0f MiB\n", month / MIB);
}

/* ---- queries --------------------------------------------------------------------------------- */

static void query(struct counters *c, int64_t since, int64_t until, uint32_t interval)
{
    struct counters_health h;
    uint32_t found = 0, all = 0;
    size_t samples = 0;
    double top_ms = 0, top_cpu_ms = 0, port_ms = 0;
    counters_get_health(c, &h);
    unsigned level = counters_level(&h, since, until, interval, 240);
    for (int n = 0; n < QUERIES; n++) {
        struct counters_total *top = NULL;
        struct counters_sample *sample = NULL;
        double begin = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_THREAD_CPUTIME_ID);
        counters_read_top(c, since, until, COUNTERS_BY_DATA, 20, never, NULL, &top, &found, &all);
        double middle = seconds(CLOCK_MONOTONIC);
        cpu = seconds(CLOCK_THREAD_CPUTIME_ID) - cpu;
        counters_read_port(c, level, 0x2c90300000005ull, 7, since, until, 100000, &sample,
                           &samples);
        double end = seconds(CLOCK_MONOTONIC);
        top_ms = n == 0 || middle - begin < top_ms ? middle - begin : top_ms;
        top_cpu_ms = n == 0 || cpu < top_cpu_ms ? cpu : top_cpu_ms;
        port_ms = n == 0 || end - middle < port_ms ? end - middle : port_ms;
        free(top);
        free(sample);
    }
    printf("%6.1f h: top %.0f ms (CPU time %.0f ms), history of a port %.1f ms (level %u, %zu "
           "samples)\n",
           (double)(until - since) / 3600, 1000 * top_ms, 1000 * top_cpu_ms, 1000 * port_ms, level,
           samples);
}

static void print_queries(struct counters *c, int64_t end, uint32_t interval)
{
    static const int64_t hours[] = {1, 3, 6, 24, 30, 72, 720};
    printf("shortest of %d times:\n", QUERIES);
    for (size_t i = 0; i < sizeof hours / sizeof *hours; i++)
        query(c, end - hours[i] * 3600, end, interval);
}

/* Repeats the queries on an existing history. */
static int query_only(const char *dir)
{
    struct counters *c = NULL;
    struct counters_health h = {0};
    int64_t end = number_from(dir, "SELECT max(id) & 1099511627775 FROM block WHERE id >> 61 = 0");
    if (end == 0 || counters_start(dir, UINT64_MAX, &c) != FAB_OK)
        return 1;
    while (h.oldest[0] == 0 && !h.failing) /* the thread opens the database */
        counters_get_health(c, &h);
    print_queries(c, end, 60);
    counters_stop(c);
    return 0;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

int main(int argc, char **argv)
{
    char dir[300];
    if (argc > 1 && strchr(argv[1], '/') != NULL)
        return query_only(argv[1]);
    count = argc > 1 ? (uint32_t)atoi(argv[1]) : 69984;
    double days = argc > 2 ? atof(argv[2]) : 3;
    uint32_t interval = argc > 3 ? (uint32_t)atoi(argv[3]) : 60;
    uint64_t limit = (argc > 4 ? strtoull(argv[4], NULL, 10) : 4096) << 20;
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/bench-counters-XXXXXX", tmp != NULL ? tmp : "/tmp");
    struct counters *c = NULL;
    if (mkdtemp(dir) == NULL || counters_start(dir, limit, &c) != FAB_OK)
        return 1;
    fab_base_prng_init(&prng, 1);
    ports = calloc(count, sizeof *ports);
    double making = 0, cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    int64_t end = START, last = START + (int64_t)(days * 86400);
    uint64_t rounds = 0;
    struct peaks peaks = {0};
    for (end += interval; end <= last; end += interval, rounds++) {
        double begin = seconds(CLOCK_THREAD_CPUTIME_ID);
        struct counters_round *r = make_round(end, interval);
        making += seconds(CLOCK_THREAD_CPUTIME_ID) - begin;
        begin = seconds(CLOCK_MONOTONIC);
        double used = seconds(CLOCK_PROCESS_CPUTIME_ID);
        counters_put(c, r);
        counters_flush(c);
        note_peaks(dir, seconds(CLOCK_MONOTONIC) - begin, seconds(CLOCK_PROCESS_CPUTIME_ID) - used,
                   &peaks);
        if ((end - START) % 21600 == 0)
            print_state(c, end);
    }
    end -= interval;
    cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu - making;
    struct counters_health h;
    counters_get_health(c, &h);
    printf("%llu rounds of %u ports, %llu lost; %.1f ms of CPU time each (%.2f %% of a core), the "
           "longest took %.2f s (CPU time at most %.2f s)\n",
           (unsigned long long)h.written, count, (unsigned long long)h.dropped,
           1000 * cpu / (double)rounds, 100 * cpu / (double)rounds / interval, peaks.round,
           peaks.cpu);
    printf("greatest size of counters.db %.1f MiB (limit %llu), of its log %.1f MiB\n",
           (double)peaks.db / MIB, (unsigned long long)limit >> 20, (double)peaks.wal / MIB);
    print_levels(c, dir, end);
    print_queries(c, end, interval);
    counters_stop(c);
    printf("%s remains; delete it\n", dir);
    return 0;
}
