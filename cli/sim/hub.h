/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hub: where the clients of Debian's libumad2sim meet the simulated fabric. It speaks their
 * protocol, datagram by datagram, and does no I/O: who owns it moves the datagrams (see server.c;
 * the fuzz target is another owner).
 */
#ifndef CLI_SIM_HUB_H
#define CLI_SIM_HUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/sim/place.h"
#include "libfabmgr/sim/sim.h"

#define HUB_CLIENTS 256 /* ids are 0..255; the protocol could name 65,536 */
#define HUB_WAITS 256   /* requests on top of these are waited for without end */
#define HUB_PATIENCE_MS 5000
#define HUB_CONTROL_SIZE 80 /* bytes of a control datagram */
#define HUB_PACKET_SIZE 288 /* bytes of a datagram with a MAD */

struct hub_client {
    uint32_t pid; /* as the client calls itself; 0: nobody has this id */
    struct place at;
    bool is_sm;
    uint64_t classes[4]; /* management classes it has used, a bit set */
    uint64_t sent;       /* MADs it sent */
    uint64_t received;   /* MADs it was given: answers, requests, traps */
    uint64_t lost;       /* MADs it got back as lost */
    uint64_t unread;     /* MADs for it that had no room */
};
/* What the hub asks of its owner. It may be called from within any call of the hub's below, and
 * calls none of those itself. */
struct hub_owner {
    void *context;
    /* A client comes: make its channel. False: it cannot be made, the client is refused. */
    bool (*open)(void *context, unsigned client, uint32_t pid);
    void (*close)(void *context, unsigned client);
    /* A datagram for a client. False: there is no room for it. */
    bool (*deliver)(void *context, unsigned client, const uint8_t packet[HUB_PACKET_SIZE]);
};
/* A request that is with another client now, who may never answer, or (with == HUB_CLIENTS) that
 * may be late. */
struct hub_wait {
    unsigned client, with;
    uint64_t since_ms;
    uint8_t packet[HUB_PACKET_SIZE];
};
struct hub {
    struct fab_sim *sim; /* borrowed */
    uint32_t first_node; /* where those sit who name no place */
    struct hub_owner owner;
    unsigned top; /* no id from here on is in use */
    struct hub_client clients[HUB_CLIENTS];
    uint64_t now_ms; /* as the owner last said */
    unsigned wait_count;
    struct hub_wait waits[HUB_WAITS];
};

void hub_init(struct hub *h, struct fab_sim *sim, uint32_t first_node,
              const struct hub_owner *owner);
/* A control datagram of `len` bytes from the process that calls itself `pid`. True: it is now the
 * answer, to be sent back. False: it deserves none. */
bool hub_control(struct hub *h, uint32_t pid, uint8_t *datagram, size_t len);
/* A datagram with a MAD from a client; it is written to. */
void hub_packet(struct hub *h, unsigned client, uint8_t *packet, size_t len);
/* Says what time it is, every now and then: requests that have not been answered for
 * HUB_PATIENCE_MS are given back as lost. */
void hub_tick(struct hub *h, uint64_t now_ms);
/* Hands out what devices sent of themselves; to be called after faults. */
void hub_collect(struct hub *h);
/* The client is dead or unwanted: its port is free again, and no longer an SM's. Calls close. */
void hub_detach(struct hub *h, unsigned client);

#endif
