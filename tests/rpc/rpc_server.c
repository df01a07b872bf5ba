/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rpc_server ADDRESS [LEAVES SPINES HOSTS-PER-LEAF [DELAY-MS [EVENTS-PER-TICK]]]: runs the RPC
 * server over the fake manager, for tests. TLS_CERT, TLS_KEY and TLS_CA name the TLS files. If
 * CONGESTION is set, the server also has a fake of congestion control. HISTORY is a directory for a
 * history of counters (fake_history.h). SETTINGS names a settings
 * file. DEBUG_EVENTS is the number of debug events per tick. STUDY_CPU_MS is the maximum CPU time
 * of a study. The program prints "ready" when it listens, and ends on SIGTERM or when its standard
 * input is closed.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fabricd/base/log.h"
#include "fabricd/rpc/rpc.h"
#include "libfabmgr/base/status.h"
#include "tests/rpc/fake_cc.h"
#include "tests/rpc/fake_history.h"
#include "tests/rpc/fake_sm.h"

struct server {
    struct loop *loop;
    struct bus *bus;
    struct config config;
    struct sm *sm;
    struct cc *cc;
    struct counters *history;
    struct rpc *rpc;
    struct loop_timer *tick;
    unsigned events, debug_events; /* numbers of events that a tick emits */
};

static void on_end(void *ctx)
{
    struct server *s = ctx;
    char byte;
    if (read(STDIN_FILENO, &byte, 1) <= 0)
        loop_stop(s->loop);
}

static void on_signal(void *ctx)
{
    struct server *s = ctx;
    loop_stop(s->loop);
}

static void on_tick(void *ctx)
{
    struct server *s = ctx;
    for (unsigned i = 0; i < s->debug_events; i++)
        bus_publish(s->bus, &(struct event){.severity = EVENT_DEBUG,
                                            .type = "trap-received",
                                            .subject = "leaf-1/1",
                                            .message = "a debug event"});
    for (unsigned i = 0; i < s->events; i++) {
        char message[64];
        const struct event_field fields[] = {
            {.name = "name", .kind = EVENT_TEXT, .text = "a \"quote\" \xff"},
            {.name = "peer_guid", .kind = EVENT_GUID, .number = 0x42},
            {.name = "tick", .kind = EVENT_COUNT, .number = i}};
        snprintf(message, sizeof message, "event %u of this tick \xff", i);
        bus_publish(s->bus, &(struct event){.severity = i % 2 ? EVENT_WARNING : EVENT_INFO,
                                            .type = "trap",
                                            .subject = "leaf-1/1",
                                            .guid = 0x42,
                                            .port = 1,
                                            .message = message,
                                            .fields = fields,
                                            .field_count = 3});
    }
    loop_timer_set(s->tick, 20000);
}

static unsigned number(char **argv, int argc, int i, unsigned otherwise)
{
    return i < argc ? (unsigned)strtoul(argv[i], NULL, 10) : otherwise;
}

static int configure(struct server *s, const char *address, char *why, size_t len)
{
    const char *settings = getenv("SETTINGS");
    int rc = settings != NULL ? config_load(settings, &s->config, why, len)
                              : config_defaults(&s->config);
    if (rc < 0)
        return rc;
    const char *cert = getenv("TLS_CERT"), *key = getenv("TLS_KEY"), *ca = getenv("TLS_CA");
    if (cert != NULL && key != NULL && ca != NULL)
        s->config.tls = (struct config_tls){strdup(cert), strdup(key), strdup(ca), NULL};
    return config_listen_add(&s->config, address, true, why, len);
}

static int start(struct server *s, int argc, char **argv, char *why, size_t len)
{
    const struct fake_sm how = {number(argv, argc, 2, 2), number(argv, argc, 3, 2),
                                number(argv, argc, 4, 2),
                                number(argv, argc, 5, 50) * (uint64_t)1000};
    s->loop = loop_new();
    s->bus = bus_new(100);
    if (s->loop == NULL || s->bus == NULL)
        return FAB_E_NOMEM;
    int rc = configure(s, argv[1], why, len);
    const struct sm_input sm = {.loop = s->loop, .bus = s->bus, .config = &s->config};
    if (rc == FAB_OK)
        rc = fake_sm_new(&sm, &how, &s->sm);
    if (rc == FAB_OK && getenv("CONGESTION") != NULL)
        rc = fake_cc_new(s->loop, &s->config, &s->cc);
    if (rc == FAB_OK && getenv("HISTORY") != NULL)
        rc = fake_history_new(getenv("HISTORY"), &s->history);
    const char *cpu = getenv("STUDY_CPU_MS");
    const struct rpc_input rpc = {.loop = s->loop,
                                  .sm = s->sm,
                                  .cc = s->cc,
                                  .bus = s->bus,
                                  .history = s->history,
                                  .config = &s->config,
                                  .study_cpu_us = cpu != NULL ? strtoul(cpu, NULL, 10) * 1000 : 0};
    if (rc == FAB_OK)
        rc = rpc_start(&rpc, &s->rpc, why, len);
    const char *debug_events = getenv("DEBUG_EVENTS");
    s->events = number(argv, argc, 6, 0);
    s->debug_events = debug_events != NULL ? (unsigned)strtoul(debug_events, NULL, 10) : 0;
    s->tick = loop_timer_new(s->loop, on_tick, s);
    if (rc == FAB_OK && s->events > 0)
        loop_timer_set(s->tick, 20000);
    return rc;
}

int main(int argc, char **argv)
{
    struct server s = {0};
    char why[300] = "out of memory";
    if (argc < 2) {
        fprintf(stderr, "usage: rpc_server ADDRESS [LEAVES SPINES HOSTS [DELAY-MS [EVENTS]]]\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    log_init(LOG_LEVEL_NOTICE);
    if (start(&s, argc, argv, why, sizeof why) < 0) {
        fprintf(stderr, "rpc_server: %s\n", why);
        return 1;
    }
    struct loop_watch *in = loop_watch_read(s.loop, STDIN_FILENO, on_end, &s);
    loop_signal(s.loop, SIGTERM, on_signal, &s);
    puts("ready");
    fflush(stdout);
    loop_run(s.loop);
    rpc_stop(s.rpc);
    counters_stop(s.history);
    fake_cc_free(s.cc);
    sm_free(s.sm);
    loop_watch_free(in);
    loop_timer_free(s.tick);
    bus_free(s.bus);
    loop_free(s.loop);
    config_fini(&s.config);
    return 0;
}
