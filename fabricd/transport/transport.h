/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transports send and receive MADs. `umad`: libibumad, for real adapters and for ibsim's preload
 * library. `sim`: the simulated fabric in process. Loop thread only; an implementation may hide
 * a thread of its own.
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
    bool failed; /* a request of ours that could not be delivered, or was not answered */
    uint16_t len;
    uint8_t bytes[FAB_MAD_SIZE];
};
/* Receives a batch of MADs. */
typedef void transport_receive(void *ctx, const struct transport_mad *mads, size_t count);

struct transport;
/* The receiver of one class of general services. */
#define TRANSPORT_TAKERS 4
struct transport_taker {
    uint8_t mgmt_class;
    transport_receive *receive; /* NULL: unused */
    void *ctx;
};
/* Who does RMPP for long answers of general services: the sender in this process; the kernel,
 * through send_long; or nobody, so that only the first MAD arrives. */
enum transport_rmpp { TRANSPORT_RMPP_OURS, TRANSPORT_RMPP_KERNEL, TRANSPORT_RMPP_NONE };
struct transport_ops {
    /* Returns OK, BUSY (try again after the next receive, or in a millisecond), or IO. */
    int (*send)(struct transport *t, const struct transport_mad *mad);
    int (*set_is_sm)(struct transport *t, bool is_sm);
    void (*close)(struct transport *t);
    /* Sends a MAD header and all data behind it, at QP1. Errors as send, or NOMEM. NULL unless
     * the kernel does RMPP. */
    int (*send_long)(struct transport *t, const struct fab_mad_addr *to, const uint8_t *bytes,
                     size_t len);
};
struct transport {
    const struct transport_ops *ops;
    char name[64];       /* "mlx5_0:1", "sim:demo.net" */
    uint64_t port_guid;  /* GUID of the port */
    uint32_t window_max; /* most MADs in flight */
    uint8_t rmpp;        /* enum transport_rmpp */
    transport_receive *receive;
    void *receive_ctx;
    struct transport_taker taker[TRANSPORT_TAKERS];
};
static inline int transport_send(struct transport *t, const struct transport_mad *m)
{
    return t->ops->send(t, m);
}
/* fn receives all MADs except those of classes that have a receiver of their own. */
void transport_on_receive(struct transport *t, transport_receive *fn, void *ctx);
/* fn receives all MADs, requests and answers, of one class (not SMPs); fn NULL: no longer.
 * LIMIT: too many classes. */
int transport_on_class(struct transport *t, uint8_t mgmt_class, transport_receive *fn, void *ctx);
/* For implementations: hands a batch to the receivers of its MADs, in order. */
void transport_hand_up(struct transport *t, const struct transport_mad *mads, size_t count);
void transport_close(struct transport *t); /* NULL is fine */

/* where: NULL or "" (the first InfiniBand port that is active or has its link up), "CA" or
 * "CA:PORT". NOT_FOUND, DENIED, INVAL, IO, NOMEM; why[]: a sentence for the operator. */
int transport_umad_open(struct loop *l, const char *where, struct transport **ret, char *why,
                        size_t why_len);
/* The simulated fabric in process. `at`: GUID or description of the adapter whose port is used;
 * NULL: the first one. The sim stays the caller's. NOT_FOUND, NOMEM; why[] says which. */
int transport_sim_open(struct loop *l, struct fab_sim *sim, const char *at, struct transport **ret,
                       char *why, size_t why_len);
/* Call before a fault is injected into the sim: sets the sim's time. */
void transport_sim_tell_time(struct transport *t);
/* Call after a fault was injected into the sim: delivers the traps in its outbox. */
void transport_sim_kick(struct transport *t);

#endif
