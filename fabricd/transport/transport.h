/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transports: how MADs leave and enter. Loop thread only, except where an implementation hides a
 * thread of its own. `umad`: libibumad, real adapters and ibsim's preload library. `sim`: the
 * embedded simulated fabric.
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
    bool failed; /* one of ours that came back undelivered */
    uint16_t len;
    uint8_t bytes[FAB_MAD_SIZE];
};
/* A batch of what came in. `down`: the device went away; the transport is useless from now on. */
typedef void transport_receive(void *ctx, const struct transport_mad *mads, size_t count);

struct transport;
/* Who takes what comes of a class of general services. */
#define TRANSPORT_TAKERS 4
struct transport_taker {
    uint8_t mgmt_class;
    transport_receive *receive; /* NULL: this place is free */
    void *ctx;
};
/* Who cuts long answers of general services into MADs (RMPP): whoever sends them; the kernel, by
 * send_long; or nobody, and only their first MAD arrives. */
enum transport_rmpp { TRANSPORT_RMPP_OURS, TRANSPORT_RMPP_KERNEL, TRANSPORT_RMPP_NONE };
struct transport_ops {
    /* OK, BUSY (try again after the next receive or in a millisecond), IO. */
    int (*send)(struct transport *t, const struct transport_mad *mad);
    int (*set_is_sm)(struct transport *t, bool is_sm);
    void (*close)(struct transport *t);
    /* One header of a MAD and all that follows it, at QP1; as send, or NOMEM. NULL unless the
     * kernel does RMPP. */
    int (*send_long)(struct transport *t, const struct fab_mad_addr *to, const uint8_t *bytes,
                     size_t len);
};
struct transport {
    const struct transport_ops *ops;
    char name[64];       /* "mlx5_0:1", "sim:demo.net" */
    uint64_t port_guid;  /* of the port we sit on */
    uint32_t window_max; /* MADs in flight that it bears */
    uint8_t rmpp;        /* enum transport_rmpp */
    transport_receive *receive;
    void *receive_ctx;
    struct transport_taker taker[TRANSPORT_TAKERS];
};
static inline int transport_send(struct transport *t, const struct transport_mad *m)
{
    return t->ops->send(t, m);
}
/* Takes all that comes but the classes that others take. */
void transport_on_receive(struct transport *t, transport_receive *fn, void *ctx);
/* What comes of one class (not of SMPs), requests and answers, goes there; fn NULL: not any more.
 * LIMIT: too many classes. */
int transport_on_class(struct transport *t, uint8_t mgmt_class, transport_receive *fn, void *ctx);
/* For implementations: a batch goes to those who take it, in its order. */
void transport_hand_up(struct transport *t, const struct transport_mad *mads, size_t count);
void transport_close(struct transport *t); /* NULL is fine */

/* where: NULL or "" (first active or linked-up InfiniBand port), "CA", "CA:PORT". why[]: a
 * sentence for the operator. NOT_FOUND, DENIED, IO. */
int transport_umad_open(struct loop *l, const char *where, struct transport **ret, char *why,
                        size_t why_len);
/* The simulated fabric in process; `at`: GUID or description of the adapter we sit on, NULL: the
 * first. The sim stays the caller's. */
int transport_sim_open(struct loop *l, struct fab_sim *sim, const char *at, struct transport **ret,
                       char *why, size_t why_len);
/* Before a fault is put into the sim: it learns what time it is. */
void transport_sim_tell_time(struct transport *t);
/* After a fault was put into the sim: delivers traps that wait in its outbox. */
void transport_sim_kick(struct transport *t);

#endif
