/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A session of MAD transactions: requests in, responses out, no I/O and no clock. It matches
 * responses to requests by their transaction ID (IBA 13.4.6.4), times out and retries. It keeps a
 * window of requests in flight, which grows while responses arrive and halves on loss; a request
 * that most likely is lost stops counting long before its time-out, so that an unresponsive device
 * does not delay the others. The session takes each request from a source when it can send it, so
 * that half a million writes need no queue. One session for each queue pair (QP0, QP1). Times are
 * microseconds of any monotonic clock.
 */
#ifndef LIBFABMGR_MADS_MADS_H
#define LIBFABMGR_MADS_MADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/wire/wire.h"

/* The destination of a MAD to be sent, or the source of a received one. */
struct fab_mad_addr {
    uint16_t dlid; /* 0xffff: directed route */
    uint16_t slid; /* of received MADs */
    uint8_t sl;
    uint32_t qpn, qkey;
    /* Of sent MADs: the time that the transport waits for the response before it returns the MAD as
     * failed; 0: no response is expected. */
    uint32_t timeout_us;
};

struct fab_mads_answer {
    int status;          /* OK, TIMEOUT (of the last retry), REFUSED (see smp_status), INVAL */
    uint16_t smp_status; /* Status of the response, without the direction bit (IBA 13.4.7) */
    const uint8_t *data; /* SMPs: the 64 attribute bytes; GMPs: all after the common header. Valid
                          * during the call; NULL without a response */
    size_t len;
    uint64_t rtt_us; /* since the most recent try was sent */
};
typedef void fab_mads_done(void *ctx, uint64_t tag, const struct fab_mads_answer *answer);

struct fab_mads_request {
    uint8_t mgmt_class, method;
    uint16_t attr_id;
    uint32_t attr_mod;
    uint64_t m_key;
    uint16_t dlid;               /* of LID-routed MADs (class 0x01 and GMPs) */
    const struct fab_path *path; /* of directed-route SMPs; must live until done is called. With
                                  * class 0x01: retries take this directed route; or NULL */
    uint8_t data[FAB_SMP_DATA];  /* SMPs: the attribute; GMPs: the bytes after the common header */
    const uint8_t *gmp;  /* GMPs: FAB_GMP_DATA bytes to send instead of data, which must live until
                            done is called; or NULL */
    fab_mads_done *done; /* called exactly once, unless cancelled; may submit requests; or NULL */
    void *ctx;
    uint64_t tag; /* passed to done */
};

struct fab_mads_config {
    uint32_t window_start, window_max; /* requests in flight; at least 1 */
    uint64_t timeout_us;               /* of the first try; doubles each try, at most 7 times */
    uint32_t retries;                  /* tries after the first */
    uint32_t tid_seed; /* of the transaction IDs, so that those of two runs differ */
};
struct fab_mads_stats {
    uint64_t sent;      /* MADs sent, retries included */
    uint64_t answered;  /* requests with a response, of whatever status */
    uint64_t retried;   /* MADs sent again, after a time-out or BUSY */
    uint64_t timed_out; /* requests given up */
    uint64_t refused;   /* requests with a response of an error status */
    uint64_t unmatched; /* received MADs without a request: late, duplicate, foreign or malformed */
    uint32_t window, in_flight;
};

struct fab_mads;
struct fab_mads *fab_mads_new(const struct fab_mads_config *config); /* NULL: no memory */
void fab_mads_free(struct fab_mads *m);

/* Queues a copy of the request; it is sent before those of the source. NOMEM. INVAL: a directed
 * route is missing, or longer than 63 hops. LIMIT: about a million requests are queued or in
 * flight. */
int fab_mads_submit(struct fab_mads *m, const struct fab_mads_request *req);
/* The source of requests of the running phase, or NULL. next() fills *ret, which is zeroed, and
 * returns true, or returns false for "none now"; it is called again at every output, and must not
 * call the session. If submit would refuse the request, its done is called at once with INVAL. */
typedef bool fab_mads_next(void *ctx, struct fab_mads_request *ret);
void fab_mads_source(struct fab_mads *m, fab_mads_next *next, void *ctx);
/* Drops all requests, queued or in flight, without calling done. Their responses are ignored. The
 * source stays. */
void fab_mads_cancel_all(struct fab_mads *m);
/* Drops the requests with this ctx in the same way. */
void fab_mads_cancel(struct fab_mads *m, const void *ctx);

/* The next MAD to send, which is in flight from now on: retries first, then submitted requests,
 * then the source. False: the window is full, or there is no request. */
bool fab_mads_output(struct fab_mads *m, uint64_t now, uint8_t mad[FAB_MAD_SIZE],
                     struct fab_mad_addr *ret_to);
/* Handles a received MAD. True: it is a response, whether or not it matched a request. False: it is
 * a request, trap or report, which the caller handles. failed: the MAD is one of our requests,
 * which the transport returned as undelivered; it is retried as after a time-out. */
bool fab_mads_input(struct fab_mads *m, uint64_t now, const uint8_t *mad, size_t len, bool failed);
void fab_mads_expire(struct fab_mads *m, uint64_t now); /* handles requests that timed out */
/* When the caller must call expire, at the latest; UINT64_MAX: nothing is in flight. */
uint64_t fab_mads_deadline(const struct fab_mads *m);
/* True if nothing is in flight or queued and the source, called after the last request ended, had
 * no request. */
bool fab_mads_idle(const struct fab_mads *m);
void fab_mads_stats(const struct fab_mads *m, struct fab_mads_stats *ret);

#endif
