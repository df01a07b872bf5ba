/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host that asks for paths as fast as it gets them: `sa_flood LIDS SECONDS WINDOW`, on any port
 * of libibumad (sa_against_opensm.sh runs it on ibsim). Get(PathRecord) between random LIDs
 * 1..LIDS, so many at a time. Prints answers a second and how long they took.
 */
#include <infiniband/umad.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/wire/sa.h"

#define WINDOW_MOST 1024
#define TIMES_MOST (1u << 22)
#define WAIT_MS 500

struct flood {
    int port, agent;
    uint16_t sm_lid;
    uint32_t lids;
    struct fab_prng prng;
    uint64_t sent_us[WINDOW_MOST];
    uint32_t *times, answers, good, lost;
};

static uint64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static uint16_t some_lid(struct flood *f)
{
    return (uint16_t)(1 + fab_prng_next(&f->prng) % f->lids);
}

static void ask(struct flood *f, uint32_t slot)
{
    _Alignas(16) uint8_t umad[512] = {0};
    uint8_t *mad = umad_get_mad(umad);
    struct fab_mad head = {.mgmt_class = FAB_CLASS_SA,
                           .method = FAB_METHOD_GET,
                           .tid = slot + 1,
                           .attr_id = FAB_SA_PATH_RECORD};
    struct fab_sa_header sa = {.comp_mask = fab_rec_component(&fab_path_record, "SLID") |
                                            fab_rec_component(&fab_path_record, "DLID")};
    struct fab_path_record path = {.slid = some_lid(f), .dlid = some_lid(f)};
    fab_gmp_pack(&head, NULL, 0, mad);
    fab_attr_pack(&fab_attr_sa_header, &sa, mad + FAB_SA_HEADER, FAB_SA_DATA - FAB_SA_HEADER);
    fab_rec_pack(&fab_path_record, &path, mad + FAB_SA_DATA, FAB_SA_DATA_LEN);
    umad_set_addr(umad, f->sm_lid, 1, 0, (int)0x80010000);
    f->sent_us[slot] = now_us();
    if (umad_send(f->port, f->agent, umad, FAB_MAD_SIZE, WAIT_MS, 0) != 0)
        f->lost++;
}

static bool take(struct flood *f, uint32_t window)
{
    _Alignas(16) uint8_t umad[512];
    int len = FAB_MAD_SIZE;
    if (umad_recv(f->port, umad, &len, WAIT_MS) < 0)
        return false;
    const uint8_t *mad = umad_get_mad(umad);
    uint32_t slot = fab_be32(mad + 12) - 1;
    if (slot >= window)
        return true;
    if (umad_status(umad) != 0) {
        f->lost++;
    } else {
        f->good += fab_be16(mad + 4) == 0;
        if (f->answers < TIMES_MOST)
            f->times[f->answers++] = (uint32_t)(now_us() - f->sent_us[slot]);
    }
    ask(f, slot);
    return true;
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
    struct flood f = {.times = calloc(TIMES_MOST, sizeof(uint32_t))};
    umad_port_t port;
    if (argc != 4 || !f.times || umad_init() < 0 || umad_get_port(NULL, 0, &port) < 0) {
        fprintf(stderr, "usage: sa_flood LIDS SECONDS WINDOW, at a port of libibumad\n");
        return 1;
    }
    f.lids = (uint32_t)strtoul(argv[1], NULL, 0);
    uint64_t seconds = strtoull(argv[2], NULL, 0), start = now_us();
    uint32_t window = (uint32_t)strtoul(argv[3], NULL, 0);
    f.sm_lid = (uint16_t)port.sm_lid;
    f.port = umad_open_port(port.ca_name, port.portnum);
    f.agent = umad_register(f.port, FAB_CLASS_SA, 2, 1, NULL);
    fab_prng_init(&f.prng, 1);
    if (f.agent < 0 || f.lids == 0 || window == 0 || window > WINDOW_MOST)
        return 1;
    for (uint32_t slot = 0; slot < window; slot++)
        ask(&f, slot);
    while (now_us() - start < seconds * 1000000 && take(&f, window))
        ;
    if (f.answers == 0) {
        printf("no answer\n");
        return 1;
    }
    report(&f, now_us() - start);
    return 0;
}
