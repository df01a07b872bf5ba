/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hub connects clients of Debian's libumad2sim with the simulated fabric. It implements their
 * protocol, datagram by datagram. The hub does no I/O: its owner, server.c or a fuzz target, reads
 * and writes the datagrams.
 */
#ifndef CLI_SIM_HUB_H
#define CLI_SIM_HUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/sim/place.h"
#include "libfabmgr/sim/sim.h"

#define HUB_CLIENTS 256 /* ids are 0..255; the protocol allows 65,536 */
#define HUB_WAITS 256   /* limit of pending requests; further ones are not stored */
#define HUB_PATIENCE_MS 5000
#define HUB_CONTROL_SIZE 80 /* bytes of a control datagram */
#define HUB_PACKET_SIZE 288 /* bytes of a datagram with a MAD */

struct hub_client {
    uint32_t pid; /* process id that the client reports; 0: this client id is free */
    struct place at;
    bool is_sm;
    uint64_t classes[4]; /* management classes of the MADs that the client has sent, one bit each */
    uint64_t sent;       /* MADs that the client sent */
    uint64_t received;   /* MADs delivered to the client: answers, requests, traps */
    uint64_t lost;       /* MADs returned to the client as lost */
    uint64_t unread;     /* MADs dropped because the client's queue was full */
};
/* Functions of the owner, which the hub calls. They must not call the hub. */
struct hub_owner {
    void *context;
    /* Creates the socket of a client that connects. False: there is no socket, and the hub refuses
     * the client. */
    bool (*open)(void *context, unsigned client, uint32_t pid);
    void (*close)(void *context, unsigned client);
    /* Sends a datagram to a client. False: the client's queue is full. */
    bool (*deliver)(void *context, unsigned client, const uint8_t packet[HUB_PACKET_SIZE]);
};
/* A pending request: client `with` has received the request but not answered it. If `with` is
 * HUB_CLIENTS, the simulated fabric delays the answer. */
struct hub_wait {
    unsigned client, with;
    uint64_t since_ms;
    uint8_t packet[HUB_PACKET_SIZE];
};
struct hub {
    struct fab_sim *sim; /* borrowed */
    uint32_t first_node; /* node to which clients that name no node are attached */
    struct hub_owner owner;
    unsigned top; /* all client ids in use are less than `top` */
    struct hub_client clients[HUB_CLIENTS];
    uint64_t now_ms; /* time of the last hub_tick */
    unsigned wait_count;
    struct hub_wait waits[HUB_WAITS];
};

void hub_init(struct hub *h, struct fab_sim *sim, uint32_t first_node,
              const struct hub_owner *owner);
/* Handles a control datagram of `len` bytes from a process that gives `pid` as its process id.
 * True: `datagram` now holds the answer, which the owner sends back. False: the datagram is invalid
 * and gets no answer. */
bool hub_control(struct hub *h, uint32_t pid, uint8_t *datagram, size_t len);
/* Handles a datagram with a MAD from a client, and modifies the datagram. */
void hub_packet(struct hub *h, unsigned client, uint8_t *packet, size_t len);
/* Sets the time; the owner calls this function regularly. Returns to its client, as lost, each
 * request that had no answer for HUB_PATIENCE_MS. */
void hub_tick(struct hub *h, uint64_t now_ms);
/* Delivers the MADs that devices sent by themselves, such as traps. The owner calls this function
 * after faults. */
void hub_collect(struct hub *h);
/* Removes a client whose process has ended or that is to be disconnected, detaches it from its
 * port, and calls the owner's close. */
void hub_detach(struct hub *h, unsigned client);

#endif
