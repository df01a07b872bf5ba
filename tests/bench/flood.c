/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flood [--clients N] [--window N] [--mads N] [--hops N]: a client of ibsim's socket protocol that
 * only sends MADs and counts the answers, to measure a server without libumad2sim. Each client is a
 * process. It sends Get(NodeInfo) and Get(PortInfo) along directed routes of 0 to --hops hops (from
 * an adapter, by output ports 1, 2, 3...), and keeps --window requests in flight. IBSIM_SOCKNAME
 * names the server. Prints the seconds, the number of answers, and the number of requests that the
 * server returned as lost (status 110).
 */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libfabmgr/base/buf.h"
#include "libfabmgr/wire/wire.h"
#include "tests/bench/raw_client.h"

struct settings {
    unsigned clients, window, hops;
    uint64_t mads; /* number of requests of each client */
};

#define BATCH 32

static void make_request(uint8_t *packet, uint64_t n, unsigned hops)
{
    struct fab_mad mad = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                          .method = FAB_METHOD_GET,
                          .tid = n & 0xffffffff,
                          .attr_id = n & 1 ? FAB_ATTR_PORT_INFO : FAB_ATTR_NODE_INFO,
                          .path.hops = (uint8_t)(n % (hops + 1))};
    mad.path.port[1] = 1;
    for (unsigned i = 2; i <= mad.path.hops; i++)
        mad.path.port[i] = (uint8_t)(1 + (n / 7 + i) % 16);
    mad.attr_mod = n & 1 ? 1 : 0;
    memset(packet, 0, PACKET);
    memset(packet, 0xff, 2);
    memset(packet + 4, 0xff, 2);
    fab_base_put_be64(packet + 24, FAB_MAD_SIZE);
    if (fab_wire_smp_pack(&mad, NULL, packet + PACKET_MAD) != 0)
        exit(1);
}

struct run {
    int fd;
    uint64_t sent, answered, lost;
};

static void drain(struct run *r, uint8_t packets[BATCH][PACKET])
{
    struct mmsghdr m[BATCH];
    struct iovec parts[BATCH];
    for (unsigned i = 0; i < BATCH; i++) {
        parts[i] = (struct iovec){packets[i], PACKET};
        m[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = &parts[i], .msg_iovlen = 1}};
    }
    int n = recvmmsg(r->fd, m, BATCH, MSG_DONTWAIT, NULL);
    for (int i = 0; i < n; i++) {
        r->answered++;
        r->lost += fab_base_get_be32(packets[i] + 16) != 0;
    }
}

/* Sends requests until the window or the socket buffer is full. */
static void fill(struct run *r, const struct settings *s)
{
    uint8_t packet[PACKET];
    while (r->sent < s->mads && r->sent - r->answered < s->window) {
        make_request(packet, r->sent, s->hops);
        if (send(r->fd, packet, PACKET, MSG_DONTWAIT) < 0) {
            if (errno != EAGAIN)
                die("send");
            return;
        }
        r->sent++;
    }
}

/* Runs one client in a process of its own, and writes its counts to the pipe `out`. */
static void flood(const struct settings *s, int out)
{
    uint8_t packets[BATCH][PACKET];
    struct raw_client c = raw_connect(NULL);
    struct run r = {.fd = c.fd};
    while (r.answered < s->mads) {
        fill(&r, s);
        struct pollfd p = {.fd = r.fd, .events = POLLIN};
        if (poll(&p, 1, 10000) != 1) {
            fprintf(stderr, "flood: no answer for 10 s\n");
            exit(1);
        }
        drain(&r, packets);
    }
    raw_leave(&c);
    uint64_t counts[2] = {r.answered, r.lost};
    if (write(out, counts, sizeof counts) != sizeof counts)
        die("write");
    exit(0);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static unsigned long long number(const char *text)
{
    return strtoull(text, NULL, 0);
}

static void parse(int argc, char **argv, struct settings *s)
{
    static const struct option options[] = {{"clients", required_argument, NULL, 'c'},
                                            {"window", required_argument, NULL, 'w'},
                                            {"mads", required_argument, NULL, 'm'},
                                            {"hops", required_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (c == 'c')
            s->clients = (unsigned)number(optarg);
        else if (c == 'w')
            s->window = (unsigned)number(optarg);
        else if (c == 'm')
            s->mads = number(optarg);
        else if (c == 'h')
            s->hops = (unsigned)number(optarg) % FAB_MAX_HOPS;
        else
            exit(2);
    }
}

int main(int argc, char **argv)
{
    struct settings s = {.clients = 1, .window = 64, .mads = 200000, .hops = 3};
    uint64_t counts[2], answered = 0, lost = 0;
    int ends[2], status, failed = 0;
    parse(argc, argv, &s);
    if (pipe(ends) != 0)
        die("pipe");
    double start = now();
    for (unsigned i = 0; i < s.clients; i++)
        if (fork() == 0)
            flood(&s, ends[1]);
    close(ends[1]);
    while (read(ends[0], counts, sizeof counts) == sizeof counts) {
        answered += counts[0];
        lost += counts[1];
    }
    double seconds = now() - start;
    while (wait(&status) > 0)
        failed |= status;
    printf("%.3f %llu %llu\n", seconds, (unsigned long long)answered, (unsigned long long)lost);
    return failed != 0;
}
