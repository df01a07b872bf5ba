/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host that requests paths as fast as it gets the answers: `sa_flood NODE LIDS SECONDS WINDOW
 * [PAUSE | RATE/s]` attaches to this node of a simulator. It speaks the socket protocol itself
 * (raw_client.h), because libumad2sim takes longer than the answers that are measured. It sends
 * Get(PathRecord) between random LIDs 1..LIDS, with WINDOW requests in flight. PAUSE: microseconds
 * between an answer and the next request. RATE: maximum number of requests a second. Prints the
 * answers a second and their latency.
 */
#include <errno.h>
#include <poll.h>
#include <time.h>

#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/wire/sa.h"
#include "tests/bench/raw_client.h"

#define WINDOW_MOST 1024
#define TIMES_MOST (1u << 22)
#define WAIT_MS 500
#define BATCH 32

struct flood {
    struct raw_client c;
    uint16_t sm_lid;
    uint32_t lids;
    struct fab_prng prng;
    uint64_t sent_us[WINDOW_MOST];
    uint32_t *times, answers, good, lost, pause_us, rate;
    uint64_t start_us, asked;
    uint8_t request[PACKET]; /* all fields are set except the TID and the LIDs */
};

static uint64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static uint16_t some_lid(struct flood *f)
{
    return (uint16_t)(1 + fab_base_prng_next(&f->prng) % f->lids);
}

static void make_request(struct flood *f)
{
    uint8_t *mad = f->request + PACKET_MAD;
    struct fab_mad head = {
        .mgmt_class = FAB_CLASS_SA, .method = FAB_METHOD_GET, .attr_id = FAB_SA_PATH_RECORD};
    struct fab_sa_header sa = {.comp_mask = fab_wire_rec_component(&fab_wire_path_record, "SLID") |
                                            fab_wire_rec_component(&fab_wire_path_record, "DLID")};
    fab_base_put_be16(f->request, f->sm_lid);
    fab_base_put_be32(f->request + 8, 1); /* queue pair 1, as destination and source */
    fab_base_put_be32(f->request + 12, 1);
    fab_base_put_be64(f->request + 24, FAB_MAD_SIZE);
    fab_wire_gmp_pack(&head, NULL, 0, mad);
    fab_wire_attr_pack(&fab_wire_attr_sa_header, &sa, mad + FAB_SA_HEADER,
                       FAB_SA_DATA - FAB_SA_HEADER);
}

/* Returns the LID of the SM, read from PortInfo of this host; 0: no answer. */
static uint16_t find_sm(const struct raw_client *c)
{
    uint8_t packet[PACKET] = {0xff, 0xff, 0, 0, 0xff, 0xff};
    struct fab_mad mad = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                          .method = FAB_METHOD_GET,
                          .tid = 1,
                          .attr_id = FAB_ATTR_PORT_INFO};
    struct fab_port_info info = {0};
    fab_base_put_be64(packet + 24, FAB_MAD_SIZE);
    fab_wire_smp_pack(&mad, NULL, packet + PACKET_MAD);
    if (send(c->fd, packet, PACKET, 0) == PACKET && recv(c->fd, packet, PACKET, 0) == PACKET)
        fab_wire_attr_unpack(&fab_wire_attr_port_info, packet + PACKET_MAD + 64, 64, &info);
    return info.sm_lid;
}

/* Waits as long as PAUSE or RATE demands before the next request. */
static void pace(struct flood *f)
{
    uint64_t now = now_us(), due = f->rate ? f->start_us + f->asked * 1000000 / f->rate : 0;
    if (due > now)
        usleep((useconds_t)(due - now));
    f->asked++;
}

static void ask(struct flood *f, uint32_t slot)
{
    pace(f);
    uint8_t *mad = f->request + PACKET_MAD;
    fab_base_put_be64(mad + 8, slot + 1);
    fab_base_put_be16(mad + FAB_SA_DATA + 40, some_lid(f));
    fab_base_put_be16(mad + FAB_SA_DATA + 42, some_lid(f));
    f->sent_us[slot] = now_us();
    if (send(f->c.fd, f->request, PACKET, 0) != PACKET)
        f->lost++;
}

static void take_one(struct flood *f, const uint8_t *packet, uint32_t window)
{
    const uint8_t *mad = packet + PACKET_MAD;
    uint32_t slot = fab_base_get_be32(mad + 12) - 1;
    if (slot >= window)
        return;
    if (fab_base_get_be32(packet + 16) != 0) {
        f->lost++;
    } else {
        f->good += fab_base_get_be16(mad + 4) == 0;
        if (f->answers < TIMES_MOST)
            f->times[f->answers++] = (uint32_t)(now_us() - f->sent_us[slot]);
    }
    if (f->pause_us != 0)
        usleep(f->pause_us);
    ask(f, slot);
}

static bool take(struct flood *f, uint32_t window)
{
    static uint8_t packets[BATCH][PACKET];
    struct mmsghdr m[BATCH];
    struct iovec parts[BATCH];
    struct pollfd p = {.fd = f->c.fd, .events = POLLIN};
    for (unsigned i = 0; i < BATCH; i++) {
        parts[i] = (struct iovec){packets[i], PACKET};
        m[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = &parts[i], .msg_iovlen = 1}};
    }
    int n = poll(&p, 1, WAIT_MS) == 1 ? recvmmsg(f->c.fd, m, BATCH, MSG_DONTWAIT, NULL) : 0;
    for (int i = 0; i < n; i++)
        take_one(f, packets[i], window);
    return n > 0;
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void report(struct flood *f, uint64_t us)
{
    qsort(f->times, f->answers, sizeof *f->times, compare);
    printf("%.0f answers/s, %u of %u good, %u lost; median %u us, 99 %% in %u us, all in %u us\n",
           f->answers * 1e6 / (double)us, f->good, f->answers, f->lost, f->times[f->answers / 2],
           f->times[(size_t)f->answers * 99 / 100], f->times[f->answers - 1]);
}

int main(int argc, char **argv)
{
    static struct flood f;
    f.times = calloc(TIMES_MOST, sizeof(uint32_t));
    if ((argc != 5 && argc != 6) || !f.times) {
        fprintf(stderr, "usage: sa_flood NODE LIDS SECONDS WINDOW [PAUSE | RATE/s]\n");
        return 1;
    }
    f.lids = (uint32_t)strtoul(argv[2], NULL, 0);
    uint64_t seconds = strtoull(argv[3], NULL, 0);
    uint32_t window = (uint32_t)strtoul(argv[4], NULL, 0);
    uint32_t number = argc == 6 ? (uint32_t)strtoul(argv[5], NULL, 0) : 0;
    bool is_rate = argc == 6 && strchr(argv[5], '/');
    f.rate = is_rate ? number : 0;
    f.pause_us = is_rate ? 0 : number;
    if (f.lids == 0 || window == 0 || window > WINDOW_MOST)
        return 1;
    f.c = raw_connect(argv[1]);
    f.sm_lid = find_sm(&f.c);
    fab_base_prng_init(&f.prng, 1);
    make_request(&f);
    uint64_t start = f.start_us = now_us();
    for (uint32_t slot = 0; slot < window; slot++)
        ask(&f, slot);
    while (now_us() - start < seconds * 1000000 && take(&f, window))
        ;
    if (f.answers == 0)
        printf("no answer\n");
    else
        report(&f, now_us() - start);
    raw_leave(&f.c);
    return f.answers == 0;
}
