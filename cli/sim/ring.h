/* SPDX-License-Identifier: BSD-3-Clause */
/* A bounded queue of datagrams that wait to be sent to one client by a non-blocking socket. */
#ifndef CLI_SIM_RING_H
#define CLI_SIM_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/sim/hub.h"

#define RING_MAX 4096u /* capacity in datagrams; a full ring refuses more */

struct ring { /* all zeros: the ring is empty */
    uint8_t (*slots)[HUB_PACKET_SIZE];
    uint32_t head, count, room; /* room: number of slots, a power of two */
};
enum ring_state { RING_EMPTY, RING_BLOCKED, RING_DEAD };

void ring_fini(struct ring *r);
bool ring_put(struct ring *r, const uint8_t packet[HUB_PACKET_SIZE]); /* false: the ring is full */
/* Sends as many datagrams as the socket accepts. RING_DEAD: no process is at the other end. */
enum ring_state ring_send(struct ring *r, int fd);

#endif
