/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * umadcount: a preload library that counts the MADs that a libibumad program sends, so that
 * different subnet managers are measured in the same way. Writes its counts to the file
 * UMADCOUNT_FILE: struct counts below, in host byte order. Any thread may send; the counters are
 * atomic.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <infiniband/umad.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct counts {
    _Atomic uint64_t sent;        /* all MADs */
    _Atomic uint64_t gets, sets;  /* SubnGet, SubnSet */
    _Atomic uint64_t lft_sets;    /* forwarding table blocks */
    _Atomic uint64_t last_lft_ns; /* CLOCK_REALTIME of the last one */
    _Atomic uint64_t last_set_ns; /* CLOCK_REALTIME of the last SubnSet of any attribute */
};

typedef int send_fn(int fd, int agent, void *umad, int length, int timeout_ms, int retries);

static struct counts *counts;
static send_fn *real_send;

__attribute__((constructor)) static void start(void)
{
    real_send = (send_fn *)dlsym(RTLD_NEXT, "umad_send");
    const char *path = getenv("UMADCOUNT_FILE");
    int fd = path ? open(path, O_RDWR | O_CREAT, 0600) : -1;
    if (fd < 0 || ftruncate(fd, sizeof(*counts)))
        return;
    void *map = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    counts = map == MAP_FAILED ? NULL : map;
    close(fd);
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void count(const uint8_t *mad)
{
    atomic_fetch_add(&counts->sent, 1);
    if (mad[1] != 0x81 && mad[1] != 0x01)
        return;
    unsigned attr = (unsigned)mad[16] << 8 | mad[17];
    if (mad[3] == 1)
        atomic_fetch_add(&counts->gets, 1);
    if (mad[3] != 2)
        return;
    atomic_fetch_add(&counts->sets, 1);
    atomic_store(&counts->last_set_ns, now_ns());
    if (attr == 0x19) {
        atomic_fetch_add(&counts->lft_sets, 1);
        atomic_store(&counts->last_lft_ns, now_ns());
    }
}

int umad_send(int fd, int agent, void *umad, int length, int timeout_ms, int retries)
{
    if (counts)
        count(umad_get_mad(umad));
    return real_send(fd, agent, umad, length, timeout_ms, retries);
}
