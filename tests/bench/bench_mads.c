/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures how much time MAD encoding and the session take, in ns: for each unpack, for each pack,
 * and for each transaction of the session. In a transaction, the session gets a request from its
 * source, sends it, matches the answer with it, and calls the callback `done`. The benchmark makes
 * the answers out of the requests, and measures this step separately.
 *
 *   bench_mads [MILLIONS]        amount of work (default 2)
 *   bench_mads MILLIONS WHAT     only one of: unpack pack mad session
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/mads/mads.h"
#include "libfabmgr/wire/wire.h"

#define KEEP(value) __asm__ volatile("" : : "g"(value) : "memory")

static double now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static void report(const char *what, double start, uint64_t count)
{
    printf("%-28s %8.1f ns\n", what, (now_ns() - start) / (double)count);
}

static void random_bytes(uint8_t *bytes, size_t len)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, 1);
    for (size_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)fab_base_prng_next(&prng);
}

static void bench_unpack(uint64_t count)
{
    uint8_t data[FAB_SMP_DATA];
    struct fab_port_info port;
    struct fab_node_info node;
    random_bytes(data, sizeof data);
    double start = now_ns();
    for (uint64_t i = 0; i < count; i++) {
        fab_wire_attr_unpack(&fab_wire_attr_port_info, data, sizeof data, &port);
        KEEP(&port);
    }
    report("unpack PortInfo", start, count);
    start = now_ns();
    for (uint64_t i = 0; i < count; i++) {
        fab_wire_attr_unpack(&fab_wire_attr_node_info, data, sizeof data, &node);
        KEEP(&node);
    }
    report("unpack NodeInfo", start, count);
}

static void bench_pack(uint64_t count)
{
    uint8_t data[FAB_SMP_DATA];
    struct fab_port_info port;
    random_bytes(data, sizeof data);
    fab_wire_attr_unpack(&fab_wire_attr_port_info, data, sizeof data, &port);
    double start = now_ns();
    for (uint64_t i = 0; i < count; i++) {
        fab_wire_attr_pack(&fab_wire_attr_port_info, &port, data, sizeof data);
        KEEP(data);
    }
    report("pack PortInfo", start, count);
}

static void bench_mad(uint64_t count)
{
    uint8_t bytes[FAB_MAD_SIZE], data[FAB_SMP_DATA] = {0};
    struct fab_mad mad = {.mgmt_class = FAB_CLASS_SMP_DIRECTED, .method = FAB_METHOD_GET};
    const uint8_t *at;
    size_t len;
    mad.path.hops = 5;
    double start = now_ns();
    for (uint64_t i = 0; i < count; i++) {
        fab_wire_smp_pack(&mad, data, bytes);
        KEEP(bytes);
    }
    report("pack directed SMP", start, count);
    start = now_ns();
    for (uint64_t i = 0; i < count; i++) {
        fab_wire_mad_unpack(bytes, sizeof bytes, &mad, &at, &len);
        KEEP(&mad);
    }
    report("unpack directed SMP", start, count);
    start = now_ns();
    for (uint64_t i = 0; i < count; i++) {
        bytes[3] = FAB_METHOD_GET;
        fab_wire_smp_answer(bytes, 0, NULL, bytes);
        KEEP(bytes);
    }
    report("turn into answer in place", start, count);
}

struct source {
    uint64_t left, done;
    const struct fab_path *path;
};

static void count_done(void *ctx, uint64_t tag, const struct fab_mads_answer *answer)
{
    struct source *s = ctx;
    s->done += answer->status == 0 && tag == 7;
}

static bool next_request(void *ctx, struct fab_mads_request *ret)
{
    struct source *s = ctx;
    if (s->left == 0)
        return false;
    s->left--;
    ret->mgmt_class = FAB_CLASS_SMP_DIRECTED;
    ret->method = FAB_METHOD_GET;
    ret->attr_id = FAB_ATTR_PORT_INFO;
    ret->path = s->path;
    ret->done = count_done;
    ret->ctx = s;
    ret->tag = 7;
    return true;
}

/* Measures a session in rounds: each round sends `window` requests, and then answers all of
 * them. */
static void bench_session(uint64_t count, uint32_t window)
{
    static uint8_t wire[4096][FAB_MAD_SIZE];
    struct fab_path path = {.hops = 5, .port = {0, 1, 2, 3, 4, 5}};
    struct source source = {.left = count, .path = &path};
    struct fab_mad_addr to;
    struct fab_mads_config config = {
        .window_start = window, .window_max = window, .timeout_us = 1000000, .retries = 3};
    struct fab_mads *m = fab_mads_new(&config);
    uint64_t now = 0;
    char name[64];
    if (m == NULL)
        abort();
    fab_mads_source(m, next_request, &source);
    double start = now_ns();
    while (!fab_mads_idle(m)) {
        uint32_t n = 0;
        while (n < window && fab_mads_output(m, now, wire[n], &to))
            n++;
        for (uint32_t i = 0; i < n; i++) {
            fab_wire_smp_answer(wire[i], 0, NULL, wire[i]);
            fab_mads_input(m, ++now, FAB_LID_PERMISSIVE, wire[i], FAB_MAD_SIZE, false);
        }
        KEEP(fab_mads_deadline(m));
    }
    snprintf(name, sizeof name, "transaction, window %u", window);
    report(name, start, count);
    if (source.done != count)
        abort();
    fab_mads_free(m);
}

int main(int argc, char **argv)
{
    uint64_t count = (argc > 1 ? strtoull(argv[1], NULL, 10) : 2) * 1000000;
    const char *what = argc > 2 ? argv[2] : "";
    if (*what == '\0' || strcmp(what, "unpack") == 0)
        bench_unpack(count);
    if (*what == '\0' || strcmp(what, "pack") == 0)
        bench_pack(count);
    if (*what == '\0' || strcmp(what, "mad") == 0)
        bench_mad(count);
    if (*what == '\0' || strcmp(what, "session") == 0) {
        bench_session(count, 64);
        bench_session(count, 1024);
    }
    return 0;
}
