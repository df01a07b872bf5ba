/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * smp_ping NODE PERIOD_US: sends one SubnGet(NodeInfo) in each period to its own node, until it is
 * killed. ibsim answers requests in the order in which they arrive, so the round trip of this SMP
 * equals that of an SMP of the manager. faults.py compiles and runs this program.
 *
 * For each SMP, prints the time at which it was sent (CLOCK_REALTIME) and its round trip, both in
 * microseconds. If no answer comes within a second, the SMP counts as lost, and its round trip is
 * -1.
 */
#include <sys/time.h>
#include <time.h>

#include "raw_client.h"

static long long now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (long long)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void fill(uint8_t *packet, uint32_t tid)
{
    static const uint8_t mad[] = {1, 0x81, 1, 1}; /* SubnGet, directed route, no hops */
    memset(packet, 0, PACKET);
    memset(packet, 0xff, 2);
    memset(packet + 4, 0xff, 2);
    packet[30] = 1; /* length of the MAD, 256, in big-endian order */
    packet += PACKET_MAD;
    memcpy(packet, mad, sizeof mad);
    for (int i = 0; i < 4; i++)
        packet[12 + i] = (uint8_t)(tid >> (24 - 8 * i));
    packet[17] = 0x11; /* attribute NodeInfo */
    memset(packet + 32, 0xff, 4);
}

/* Sends one SMP. Returns its round trip in us, or -1 if no answer came. */
static long long ping(int fd, uint32_t tid)
{
    uint8_t sent[PACKET], got[PACKET];
    fill(sent, tid);
    long long start = now_us();
    if (send(fd, sent, PACKET, 0) != PACKET)
        return -1;
    while (recv(fd, got, PACKET, 0) == PACKET)
        if (memcmp(got + PACKET_MAD + 12, sent + PACKET_MAD + 12, 4) == 0)
            return now_us() - start;
    return -1;
}

int main(int argc, char **argv)
{
    const struct timeval wait = {.tv_sec = 1};
    if (argc != 3)
        return 1;
    struct raw_client c = raw_connect(argv[1]);
    setsockopt(c.fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    for (uint32_t tid = 1;; tid++) {
        long long start = now_us(), took = ping(c.fd, tid);
        if (printf("%lld %lld\n", start, took) < 0 || fflush(stdout) != 0)
            break;
        usleep((useconds_t)strtoul(argv[2], NULL, 10));
    }
    raw_leave(&c);
    return 0;
}
