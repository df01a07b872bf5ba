/* SPDX-License-Identifier: BSD-3-Clause */
/* A bounded queue of datagrams that wait to be sent to one client through a non-blocking socket. */
#ifndef CLI_SIM_RING_H
#define CLI_SIM_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/sim/hub.h"

/* maximum number of datagrams in a ring; further datagrams are refused */
#define RING_MAX 4096u

struct ring { /* a ring with all bytes zero is empty */
    uint8_t (*slots)[HUB_PACKET_SIZE];
    /* head: index of the oldest datagram in slots[]. count: number of datagrams. room: number of
     * elements of slots[], a power of two. */
    uint32_t head, count, room;
};
enum ring_state { RING_EMPTY, RING_BLOCKED, RING_DEAD };

void ring_fini(struct ring *r);
/* Appends a datagram. Returns false if the ring is full or memory ran out. */
bool ring_put(struct ring *r, const uint8_t packet[HUB_PACKET_SIZE]);
/* Sends as many datagrams of the ring as the socket accepts. Returns RING_EMPTY if all were
 * sent, RING_BLOCKED if the socket accepts no more now, or RING_DEAD if no process is at the
 * other end. */
enum ring_state ring_send(struct ring *r, int fd);

#endif
