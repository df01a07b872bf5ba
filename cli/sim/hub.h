/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hub connects clients of Debian's libumad2sim with the simulated fabric. It implements the
 * protocol of libumad2sim, datagram by datagram. The hub does no I/O; its owner (server.c or a fuzz
 * target) reads and writes the datagrams.
 */
#ifndef CLI_SIM_HUB_H
#define CLI_SIM_HUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/sim/place.h"
#include "libfabmgr/sim/sim.h"

/* maximum number of clients of this hub; the protocol permits 65,536 */
#define HUB_CLIENTS 256
/* maximum number of pending requests that the hub stores */
#define HUB_WAITS 256
#define HUB_PATIENCE_MS 5000
#define HUB_CONTROL_SIZE 80 /* bytes of a control datagram */
#define HUB_PACKET_SIZE 288 /* bytes of a datagram with a MAD */

struct hub_client {
    /* Process id that the client reported when it connected; 0: this client id is free. */
    uint32_t pid;
    struct place at;
    bool is_sm;
    /* bitset of the management classes of the MADs that the client has sent */
    uint64_t classes[4];
    /* number of MADs that the client has sent so far */
    uint64_t sent;
    /* number of MADs that were delivered to the client: answers, requests and traps */
    uint64_t received;
    /* number of MADs that were returned to the client as lost */
    uint64_t lost;
    /* number of MADs that were dropped because the queue to the client was full */
    uint64_t unread;
};
/* Functions that the owner of the hub provides. The hub calls them; they must not call functions of
 * the hub. */
struct hub_owner {
    void *context;
    /* Creates the socket for a client that connects. Returns false if this fails; the hub then
     * refuses the client. */
    bool (*open)(void *context, unsigned client, uint32_t pid);
    void (*close)(void *context, unsigned client);
    /* Sends a datagram to a client. Returns false if the queue of datagrams to the client is
     * full. */
    bool (*deliver)(void *context, unsigned client, const uint8_t packet[HUB_PACKET_SIZE]);
};
/* A request that is not answered yet. */
struct hub_wait {
    /* client: the client that sent the request. with: the client that has received the request;
     * HUB_CLIENTS: a simulated device has received it, and answers later. */
    unsigned client, with;
    uint64_t since_ms; /* time at which the request was sent */
    uint8_t packet[HUB_PACKET_SIZE];
};
struct hub {
    struct fab_sim *sim; /* owned by the caller */
    /* id of the node to which a client is attached if it names no node */
    uint32_t first_node;
    struct hub_owner owner;
    /* greater than all client ids in use */
    unsigned top;
    struct hub_client clients[HUB_CLIENTS];
    uint64_t now_ms; /* time of the last hub_tick */
    unsigned wait_count;
    struct hub_wait waits[HUB_WAITS];
};

void hub_init(struct hub *h, struct fab_sim *sim, uint32_t first_node,
              const struct hub_owner *owner);
/* Handles a control datagram of `len` bytes from the process `pid`. Returns true if `datagram` now
 * has the answer, which the owner must send back. Returns false if the datagram is invalid and gets
 * no answer. */
bool hub_control(struct hub *h, uint32_t pid, uint8_t *datagram, size_t len);
/* Handles a datagram with a MAD from a client. The function modifies the datagram. */
void hub_packet(struct hub *h, unsigned client, uint8_t *packet, size_t len);
/* Tells the hub the present time. The hub returns requests that are older than HUB_PATIENCE_MS to
 * their clients as lost. The owner must call this function regularly. */
void hub_tick(struct hub *h, uint64_t now_ms);
/* Delivers MADs that devices sent by themselves, such as traps. The owner must call this function
 * after each fault. */
void hub_collect(struct hub *h);
/* Removes a client, because its process has ended or because it must be disconnected. Detaches the
 * client from its port, and calls close() of struct hub_owner. */
void hub_detach(struct hub *h, unsigned client);

#endif
