/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transports send and receive MADs. The transport `umad` uses libibumad, for real adapters and for
 * ibsim's preload library. The transport `sim` is the simulated fabric in this process. A transport
 * may have its own threads, but its functions must be called on the loop thread.
 */
#ifndef FABRICD_TRANSPORT_TRANSPORT_H
#define FABRICD_TRANSPORT_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabricd/loop/loop.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/mads/mads.h"
#include "libfabmgr/sim/sim.h"

struct transport_mad {
    struct fab_mad_addr addr;
    /* number of the queue pair, which is 0 (SMPs) or 1 (general services) */
    uint8_t qp;
    /*
     * true: the transport returns a request of this manager, because it could not deliver the
     * request or got no answer to it
     */
    bool failed;
    uint16_t len;
    uint8_t bytes[FAB_MAD_SIZE];
};
/* A function that receives a batch of MADs. The transport reuses the memory of the MADs after
 * the call. */
typedef void transport_receive(void *ctx, const struct transport_mad *mads, size_t count);

/* A function that the transport calls once, when its device is gone. `reason` is a text for
 * operators. */
typedef void transport_lost(void *ctx, const char *reason);

/* A function that returns true if this MAD may be sent. */
typedef bool transport_admits(void *ctx, const struct transport_mad *mad);

struct transport;
/* maximum number of management classes that have their own receiver */
#define TRANSPORT_TAKERS 5
/* The receiver of the MADs of one management class of general services. */
struct transport_taker {
    uint8_t mgmt_class;
    transport_receive *receive; /* NULL: this entry is unused */
    void *ctx;
};
/* The implementation of RMPP for long answers of general services. OURS: the RMPP sender in this
 * process (libfabmgr/mads). KERNEL: the kernel, to which send_long passes the whole answer. NONE:
 * RMPP is not available, so only the first MAD of a long answer is sent. */
enum transport_rmpp { TRANSPORT_RMPP_OURS, TRANSPORT_RMPP_KERNEL, TRANSPORT_RMPP_NONE };
struct transport_ops {
    /* Sends one MAD. Returns OK; BUSY if there is no room now (the caller then tries again when a
     * MAD has arrived, or after a millisecond); or IO if the transport failed. */
    int (*send)(struct transport *t, const struct transport_mad *mad);
    /* Sets or clears IsSM in the CapabilityMask of the port. Returns OK, DENIED, IO or INVAL. */
    int (*set_is_sm)(struct transport *t, bool is_sm);
    void (*close)(struct transport *t);
    /* Closes the device if it is open, and opens the same port again. After an error, which why[]
     * describes, the caller may try again later. `reopen` is NULL if the transport cannot lose its
     * device. */
    int (*reopen)(struct transport *t, char *why, size_t why_len);
    /* Sends a long answer at QP1: a MAD header and all data, which the kernel divides into RMPP
     * segments. Returns the errors of `send`, or NOMEM. `send_long` is NULL if the member `rmpp` of
     * struct transport is not KERNEL. */
    int (*send_long)(struct transport *t, const struct fab_mad_addr *to, const uint8_t *bytes,
                     size_t len);
};
struct transport {
    const struct transport_ops *ops;
    /* name for messages: adapter and port, for example "mlx5_0:1" or "sim:host-1:1" */
    char name[64];
    uint64_t port_guid;
    uint32_t window_max; /* maximum number of MADs in flight */
    uint8_t rmpp;        /* enum transport_rmpp */
    transport_receive *receive;
    void *receive_ctx;
    struct transport_taker taker[TRANSPORT_TAKERS];
    /* called when the device is gone; NULL: nothing to call, or called already */
    transport_lost *lost;
    void *lost_ctx;
    transport_admits *admits; /* decides whether a MAD may be sent; NULL: all MADs may be sent */
    void *admits_ctx;
};
/* Sends one MAD. Returns DENIED if the function that transport_on_send has set does not admit the
 * MAD. Otherwise returns what the transport's own `send` returns. */
static inline int transport_send(struct transport *t, const struct transport_mad *m)
{
    return t->admits && !t->admits(t->admits_ctx, m) ? FAB_E_DENIED : t->ops->send(t, m);
}
/* Sets the function that decides, for each MAD, whether it may be sent. fn == NULL: all MADs may be
 * sent. */
void transport_on_send(struct transport *t, transport_admits *fn, void *ctx);
/* Sets the receiver of all MADs, except those of classes with their own receiver. fn == NULL: these
 * MADs are dropped. */
void transport_on_receive(struct transport *t, transport_receive *fn, void *ctx);
/* Sets the receiver of all MADs (requests and answers) of one class of general services. fn == NULL
 * removes it. Returns OK, or LIMIT if TRANSPORT_TAKERS other classes already have a receiver. */
int transport_on_class(struct transport *t, uint8_t mgmt_class, transport_receive *fn, void *ctx);
/* Sets the function that is called when the device is gone: an adapter was removed or its driver
 * unloaded, or the simulator ended. The transport may call the function while a MAD is being
 * sent. */
void transport_on_lost(struct transport *t, transport_lost *fn, void *ctx);
/* Every transport calls this function when it can neither send nor receive any more. The first
 * time, this function calls the function that transport_on_lost has set; after that, it does
 * nothing. */
void transport_tell_lost(struct transport *t, const char *reason);
/* Passes the MADs of a batch to their receivers, in order. Each transport calls this function with
 * the MADs that it received. */
void transport_hand_up(struct transport *t, const struct transport_mad *mads, size_t count);
void transport_close(struct transport *t); /* t may be NULL */

/* Opens a port of an adapter. `where` is "CA" or "CA:PORT". If `where` is NULL or "", the function
 * opens the first InfiniBand port that is active or whose link is up. Returns OK, or with the
 * reason in why[]: BUSY (another subnet manager is registered at the port), NOT_FOUND, DENIED,
 * INVAL, IO or NOMEM. */
int transport_umad_open(struct loop *l, const char *where, struct transport **ret, char *why,
                        size_t why_len);
/* Like transport_umad_open, but the transport receives only answers to requests of this process,
 * and no requests of other nodes. So a subnet manager can run at the same port at the same time. */
int transport_umad_observe(struct loop *l, const char *where, struct transport **ret, char *why,
                           size_t why_len);
/* Makes a transport that passes only Gets to `to`, and drops everything else. The caller closes it
 * before `to`. Returns OK or NOMEM. */
int transport_readonly_open(struct transport *to, struct transport **ret);
/* Opens a port of the simulated fabric in this process. `at` is the GUID or description of the node
 * whose port is used; NULL: the first adapter with a link or, if there is none, the first switch.
 * The caller still owns `sim`. Returns OK, or NOT_FOUND or NOMEM with the reason in why[]. */
int transport_sim_open(struct loop *l, struct fab_sim *sim, const char *at, struct transport **ret,
                       char *why, size_t why_len);
/* Sets the simulator's clock to the present time of the loop. Call this function before you cause a
 * fault in the simulator. */
void transport_sim_tell_time(struct transport *t);
/* Delivers the traps that the simulator has sent. Call this function after you have caused a fault
 * in the simulator. */
void transport_sim_kick(struct transport *t);

#endif
