/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transports send and receive MADs. The transport `umad` uses libibumad, for real adapters and for
 * ibsim's preload library. The transport `sim` is the simulated fabric inside this process.
 * Transports are used on the loop thread only, but may have threads of their own.
 */
#ifndef FABRICD_TRANSPORT_TRANSPORT_H
#define FABRICD_TRANSPORT_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabricd/loop/loop.h"
#include "libfabmgr/mads/mads.h"
#include "libfabmgr/sim/sim.h"

struct transport_mad {
    struct fab_mad_addr addr;
    uint8_t qp;  /* 0 or 1 */
    bool failed; /* our own request came back: it could not be delivered, or was not answered */
    uint16_t len;
    uint8_t bytes[FAB_MAD_SIZE];
};
/* Receives a batch of MADs, which the transport reuses after the call. */
typedef void transport_receive(void *ctx, const struct transport_mad *mads, size_t count);

struct transport;
/* The receiver of one class of general services. */
#define TRANSPORT_TAKERS 4
struct transport_taker {
    uint8_t mgmt_class;
    transport_receive *receive; /* NULL: unused */
    void *ctx;
};
/* Where RMPP for long answers of general services is implemented. OURS: in this process, by its own
 * sender (libfabmgr/mads). KERNEL: in the kernel, which gets the answer by send_long. NONE:
 * nowhere, so that only the first MAD is sent. */
enum transport_rmpp { TRANSPORT_RMPP_OURS, TRANSPORT_RMPP_KERNEL, TRANSPORT_RMPP_NONE };
struct transport_ops {
    /* Sends one MAD. BUSY: try again after the next receive, or in a millisecond. IO: the transport
     * failed. */
    int (*send)(struct transport *t, const struct transport_mad *mad);
    /* Sets or clears IsSM in the CapabilityMask of the port. DENIED, IO, INVAL. */
    int (*set_is_sm)(struct transport *t, bool is_sm);
    void (*close)(struct transport *t);
    /* Sends, at QP1, a MAD header with all data behind it. Errors as send, or NOMEM. NULL unless
     * the kernel implements RMPP. */
    int (*send_long)(struct transport *t, const struct fab_mad_addr *to, const uint8_t *bytes,
                     size_t len);
};
struct transport {
    const struct transport_ops *ops;
    char name[64]; /* "mlx5_0:1", "sim:demo.net" */
    uint64_t port_guid;
    uint32_t window_max; /* maximum number of MADs in flight */
    uint8_t rmpp;        /* enum transport_rmpp */
    transport_receive *receive;
    void *receive_ctx;
    struct transport_taker taker[TRANSPORT_TAKERS];
};
static inline int transport_send(struct transport *t, const struct transport_mad *m)
{
    return t->ops->send(t, m);
}
/* Sets the receiver of all MADs except those of classes with a receiver of their own. fn NULL:
 * these MADs are dropped. */
void transport_on_receive(struct transport *t, transport_receive *fn, void *ctx);
/* Sets the receiver of all MADs, requests and answers, of one class of general services. fn NULL
 * removes the receiver. LIMIT: more than TRANSPORT_TAKERS classes. */
int transport_on_class(struct transport *t, uint8_t mgmt_class, transport_receive *fn, void *ctx);
/* Passes the MADs of a batch to their receivers, in order. Implementations of transports call it.
 */
void transport_hand_up(struct transport *t, const struct transport_mad *mads, size_t count);
void transport_close(struct transport *t); /* NULL is fine */

/* Opens a port of an adapter. where: NULL or "" (the first InfiniBand port that is active or has
 * its link up), "CA" or "CA:PORT". BUSY: another subnet manager is registered at the port.
 * NOT_FOUND, DENIED, INVAL, IO, NOMEM. why[]: one sentence for the operator. */
int transport_umad_open(struct loop *l, const char *where, struct transport **ret, char *why,
                        size_t why_len);
/* Opens a port of the simulated fabric inside this process. `at`: GUID or description of the node
 * whose port is used; NULL: the first adapter. The sim stays the caller's. NOT_FOUND, NOMEM; why[]
 * says which. */
int transport_sim_open(struct loop *l, struct fab_sim *sim, const char *at, struct transport **ret,
                       char *why, size_t why_len);
/* Sets the simulator's time. Call it before a fault is injected. */
void transport_sim_tell_time(struct transport *t);
/* Delivers the traps in the simulator's outbox. Call it after a fault was injected. */
void transport_sim_kick(struct transport *t);

#endif
