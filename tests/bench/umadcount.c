/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * umadcount: a preload library that counts the MADs that a libibumad program sends, and the answers
 * to its writes of forwarding table blocks, so that all subnet managers are measured in the same
 * way. The library keeps its counts (struct counts, in host byte order) in the file UMADCOUNT_FILE.
 * They are atomic, because any thread may send.
 *
 * Another program can write kill_after to this file. The process then sends this number of further
 * MADs, and kills itself (kill -9) before the next one. With kill_after_lft, it sends this number
 * of further writes of forwarding table blocks.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <infiniband/umad.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct counts {
    _Atomic uint64_t sent;       /* all MADs */
    _Atomic uint64_t gets, sets; /* SubnGet, SubnSet */
    _Atomic uint64_t lft_sets;   /* writes of forwarding table blocks */
    /* CLOCK_REALTIME in ns of the last write of a forwarding table block */
    _Atomic uint64_t last_lft_ns;
    /* CLOCK_REALTIME in ns of the last SubnSet of any attribute */
    _Atomic uint64_t last_set_ns;
    _Atomic uint64_t lft_acks;    /* answers to writes of forwarding table blocks */
    _Atomic uint64_t last_ack_ns; /* CLOCK_REALTIME in ns of the last of these answers */
    _Atomic uint64_t kill_after;  /* 0: the process is not killed */
    _Atomic uint64_t kill_after_lft;
    _Atomic uint64_t reregisters; /* writes of PortInfo that set ClientReregister */
};

typedef int send_fn(int fd, int agent, void *umad, int length, int timeout_ms, int retries);
typedef int recv_fn(int fd, void *umad, int *length, int timeout_ms);

static struct counts *counts;
static send_fn *real_send;
static recv_fn *real_recv;

__attribute__((constructor)) static void start(void)
{
    real_send = (send_fn *)dlsym(RTLD_NEXT, "umad_send");
    real_recv = (recv_fn *)dlsym(RTLD_NEXT, "umad_recv");
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

/* Kills the process if it has sent as many MADs as another program has allowed. */
static void use_up(_Atomic uint64_t *left)
{
    if (atomic_load(left) > 0 && atomic_fetch_sub(left, 1) == 1)
        kill(getpid(), SIGKILL);
}

static void count(const uint8_t *mad)
{
    atomic_fetch_add(&counts->sent, 1);
    use_up(&counts->kill_after);
    if (mad[1] != 0x81 && mad[1] != 0x01)
        return;
    unsigned attr = (unsigned)mad[16] << 8 | mad[17];
    if (mad[3] == 1)
        atomic_fetch_add(&counts->gets, 1);
    if (mad[3] != 2)
        return;
    atomic_fetch_add(&counts->sets, 1);
    atomic_store(&counts->last_set_ns, now_ns());
    if (attr == 0x15 && (mad[64 + 51] & 0x80))
        atomic_fetch_add(&counts->reregisters, 1);
    if (attr == 0x19) {
        use_up(&counts->kill_after_lft);
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

static void count_answer(const uint8_t *mad)
{
    if ((mad[1] != 0x81 && mad[1] != 0x01) || mad[3] != 0x81 || mad[16] != 0 || mad[17] != 0x19)
        return;
    atomic_store(&counts->last_ack_ns, now_ns());
    atomic_fetch_add(&counts->lft_acks, 1);
}

int umad_recv(int fd, void *umad, int *length, int timeout_ms)
{
    int agent = real_recv(fd, umad, length, timeout_ms);
    if (counts && agent >= 0 && umad_status(umad) == 0)
        count_answer(umad_get_mad(umad));
    return agent;
}
