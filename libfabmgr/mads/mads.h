/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A transaction session: requests in, answers out, no I/O and no clock. It matches answers by TID,
 * keeps a window of requests in flight that grows while answers come and halves on loss (those
 * that wait in vain soon do not count any more, so that they hold nobody up), times out and
 * retries, and pulls the next request from a source so that half a million writes need no queue.
 * One session for each queue pair (QP0, QP1). Times are microseconds of any monotonic clock.
 */
#ifndef LIBFABMGR_MADS_MADS_H
#define LIBFABMGR_MADS_MADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/wire/wire.h"

/* Where a MAD goes, or came from. */
struct fab_mad_addr {
    uint16_t dlid; /* 0xffff: directed route */
    uint16_t slid; /* received ones */
    uint8_t sl;
    uint32_t qpn, qkey;
    /* Sent ones: how long the transport may wait for the answer before it gives the MAD back as
     * failed; 0: none is due. */
    uint32_t timeout_us;
};

struct fab_mads_answer {
    int status;          /* OK, TIMEOUT (retries used up), REFUSED (see smp_status) */
    uint16_t smp_status; /* status bits of the answer */
    const uint8_t *data; /* SMPs: the 64 attribute bytes; GMPs: all after the common header. Valid
                          * during the call; NULL on TIMEOUT */
    size_t len;
    uint64_t rtt_us; /* since the last try was sent */
};
typedef void fab_mads_done(void *ctx, uint64_t tag, const struct fab_mads_answer *answer);

struct fab_mads_request {
    uint8_t mgmt_class, method;
    uint16_t attr_id;
    uint32_t attr_mod;
    uint64_t m_key;
    uint16_t dlid;               /* LID routed (class 0x01 and GMPs) */
    const struct fab_path *path; /* directed: must live until done is called. With class 0x01: how
                                  * it goes if it is not answered when it goes by LID; or NULL */
    uint8_t data[FAB_SMP_DATA];  /* SMPs: the attribute; GMPs: what follows the common header */
    const uint8_t *gmp;  /* GMPs: instead of data, FAB_GMP_DATA bytes; must live until done is
                          * called.  NULL: data */
    fab_mads_done *done; /* called exactly once, from input or expire; may submit; or NULL */
    void *ctx;
    uint64_t tag; /* the caller's, given back */
};

struct fab_mads_config {
    uint32_t window_start, window_max; /* requests in flight; at least 1 */
    uint64_t timeout_us;               /* of the first try; doubles each try, at most 7 times */
    uint32_t retries;                  /* tries after the first */
    uint32_t tid_seed;                 /* TIDs carry only their low 32 bits safely */
};
struct fab_mads_stats {
    uint64_t sent;      /* MADs put out, retries included */
    uint64_t answered;  /* requests answered, well or badly */
    uint64_t retried;   /* MADs sent again, after loss or BUSY */
    uint64_t timed_out; /* requests given up */
    uint64_t refused;   /* requests answered with an error status */
    uint64_t
        unmatched; /* MADs that came in and fit no request: late, doubled, foreign, malformed */
    uint32_t window, in_flight;
};

struct fab_mads;
struct fab_mads *fab_mads_new(const struct fab_mads_config *config); /* NULL: no memory */
void fab_mads_free(struct fab_mads *m);

/* A request of its own, ahead of the source (light look, traps, one-off reads). It is copied.
 * NOMEM, INVAL (directed without a path, or with one too long), LIMIT (a million wait already). */
int fab_mads_submit(struct fab_mads *m, const struct fab_mads_request *req);
/* The stream of requests of the running phase. next() fills *ret and returns true, or false for
 * "none now"; it is asked again at every output. *ret comes zeroed. It must not call back into the
 * session. A request that submit would refuse is done at once, with INVAL. NULL: none. */
typedef bool fab_mads_next(void *ctx, struct fab_mads_request *ret);
void fab_mads_source(struct fab_mads *m, fab_mads_next *next, void *ctx);
/* Drops what is queued and in flight without calling done (answers that come late are ignored). The
 * source stays. */
void fab_mads_cancel_all(struct fab_mads *m);
/* The same of those requests that have this ctx. */
void fab_mads_cancel(struct fab_mads *m, const void *ctx);

/* The next MAD to put on the wire: retries first, then what was submitted, then the source. It is
 * in flight from now on. False: the window is full or nothing waits. */
bool fab_mads_output(struct fab_mads *m, uint64_t now, uint8_t mad[FAB_MAD_SIZE],
                     struct fab_mad_addr *ret_to);
/* A MAD that came in. Returns true when it answered one of our requests (done was called) or was
 * a late or foreign answer; false when it is a request, trap or report for the caller to handle.
 * `failed` marks one of our own that the transport gave back undelivered: it counts as a
 * timeout at once, and is retried. */
bool fab_mads_input(struct fab_mads *m, uint64_t now, const uint8_t *mad, size_t len, bool failed);
void fab_mads_expire(struct fab_mads *m, uint64_t now); /* handle what is overdue */
uint64_t fab_mads_deadline(const struct fab_mads *m);   /* UINT64_MAX: nothing in flight */
/* Nothing in flight or queued, and the source had nothing when it was last asked (it is taken to
 * have something after any answer, until it is asked again). */
bool fab_mads_idle(const struct fab_mads *m);
void fab_mads_stats(const struct fab_mads *m, struct fab_mads_stats *ret);

#endif
