/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures the history of counters for a large fabric: its size, the CPU time of a round, and the
 * times of queries.
 *
 *   bench_counters [PORTS [DAYS [INTERVAL [LIMIT_MIB]]]]
 *
 * Writes DAYS days (default 3) of samples of PORTS ports into a directory in TMPDIR, with one
 * sample each INTERVAL seconds (default 60) of virtual time. The default of 69,984 ports is that of
 * a fat tree of radix 36, with 11,664 hosts. LIMIT_MIB (default 4096) is the maximum size of the
 * history. On nine of ten ports, the rate changes by up to a tenth from sample to sample, and is
 * replaced by a new random rate, which may be 0, on average every 30 samples. One of 200 ports has
 * errors in a third of its samples.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "fabricd/store/counters.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"

#define START INT64_C(1780272000)
#define NODE_PORTS 36u

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

static void query(struct counters *c, int64_t since, int64_t until, uint32_t interval)
{
    struct counters_health h;
    struct counters_total *top = NULL;
    struct counters_sample *sample = NULL;
    uint32_t found = 0, all = 0;
    size_t samples = 0;
    counters_get_health(c, &h);
    unsigned level = counters_level(&h, since, until, interval, 200);
    double begin = seconds(CLOCK_MONOTONIC);
    counters_read_top(c, level, since, until, COUNTERS_BY_DATA, 20, never, NULL, &top, &found,
                      &all);
    double middle = seconds(CLOCK_MONOTONIC);
    counters_read_port(c, level, 0x2c90300000005ull, 7, since, until, 100000, &sample, &samples);
    printf("%6.1f h, level %u: top %.0f ms, history of a port %.1f ms (%zu samples)\n",
           (double)(until - since) / 3600, level, 1000 * (middle - begin),
           1000 * (seconds(CLOCK_MONOTONIC) - middle), samples);
    free(top);
    free(sample);
}

int main(int argc, char **argv)
{
    char dir[300], path[400];
    count = argc > 1 ? (uint32_t)atoi(argv[1]) : 69984;
    double days = argc > 2 ? atof(argv[2]) : 3;
    uint32_t interval = argc > 3 ? (uint32_t)atoi(argv[3]) : 60;
    uint64_t limit = (argc > 4 ? strtoull(argv[4], NULL, 10) : 4096) << 20;
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/bench-counters-XXXXXX", tmp != NULL ? tmp : "/tmp");
    struct counters *c = NULL;
    if (mkdtemp(dir) == NULL || counters_start(dir, limit, &c) != FAB_OK)
        return 1;
    snprintf(path, sizeof path, "%s/counters.db", dir);
    fab_base_prng_init(&prng, 1);
    ports = calloc(count, sizeof *ports);
    double making = 0, cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    int64_t end = START, last = START + (int64_t)(days * 86400);
    uint64_t rounds = 0;
    for (end += interval; end <= last; end += interval, rounds++) {
        double begin = seconds(CLOCK_THREAD_CPUTIME_ID);
        struct counters_round *r = make_round(end, interval);
        making += seconds(CLOCK_THREAD_CPUTIME_ID) - begin;
        counters_put(c, r);
        counters_flush(c);
        if ((end - START) % 21600 == 0) {
            struct counters_health h;
            counters_get_health(c, &h);
            printf("%5.2f days: %.0f MiB, oldest samples %.2f, %.2f, %.2f days\n",
                   (double)(end - START) / 86400, (double)h.bytes / 1048576,
                   h.oldest[0] ? (double)(end - h.oldest[0]) / 86400 : 0,
                   h.oldest[1] ? (double)(end - h.oldest[1]) / 86400 : 0,
                   h.oldest[2] ? (double)(end - h.oldest[2]) / 86400 : 0);
            fflush(stdout);
        }
    }
    cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu - making;
    struct counters_health h;
    struct stat st;
    counters_get_health(c, &h);
    printf("%llu rounds of %u ports, %llu lost; %.1f ms of CPU time each (%.2f %% of a core)\n",
           (unsigned long long)h.written, count, (unsigned long long)(h.dropped),
           1000 * cpu / (double)rounds, 100 * cpu / (double)rounds / interval);
    if (stat(path, &st) == 0)
        printf("counters.db: %.0f MiB; %.2f bytes for each port and round\n",
               (double)st.st_size / 1048576, (double)h.bytes / (double)rounds / count);
    end -= interval;
    query(c, end - 3600, end, interval);
    query(c, end - 10800, end, interval);
    query(c, end - 86400, end, interval);
    query(c, START, end, interval);
    counters_stop(c);
    printf("%s remains; delete it\n", dir);
    return 0;
}
