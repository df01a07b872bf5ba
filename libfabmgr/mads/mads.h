/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A session of MAD transactions. The caller submits requests and passes in received MADs; the
 * session does no I/O and reads no clock. It matches responses to requests by their transaction ID
 * (IBA 13.4.6.4) and their content, and sends a request again if its response does not come in
 * time.
 *
 * The session limits the requests in flight by a window. The window grows while responses arrive
 * and halves when a request is lost. A request that is most likely lost stops counting against the
 * window long before its time-out, so that an unresponsive device does not delay other requests.
 *
 * The caller can submit requests, or set a source of requests: a function that returns the next
 * request. The session calls the source whenever it can send a request, so that half a million
 * writes need no queue.
 *
 * There is one session for each queue pair (QP0, QP1). Times are microseconds of any monotonic
 * clock.
 */
#ifndef LIBFABMGR_MADS_MADS_H
#define LIBFABMGR_MADS_MADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/base/stream.h"
#include "libfabmgr/wire/wire.h"

/* Address of a MAD: its destination when it is sent, or its source when it was received. */
struct fab_mad_addr {
    uint16_t dlid; /* DLID; 0xffff: the MAD follows a directed route */
    /* SLID; only in received MADs */
    uint16_t slid;
    uint8_t sl;
    uint32_t qpn, qkey;
    /* Only in sent MADs: time in us for which the transport waits for a response; then it returns
     * the MAD as undelivered. 0: no response is expected. */
    uint32_t timeout_us;
};

struct fab_mads_answer {
    /* OK, TIMEOUT (no try got a response other than BUSY), REFUSED (the response has an error
     * status, which is in smp_status), DENIED (fab_mads_refuse) or INVAL (the request is not valid)
     */
    int status;
    /* Status of the response, without the direction bit (IBA 13.4.7). */
    uint16_t smp_status;
    /* SMPs: the 64 bytes of the attribute. GMPs: all bytes after the common header. The bytes are
     * valid only during the call of done(). NULL: there was no response */
    const uint8_t *data;
    size_t len;
    /* M_Key of the try that was sent last; 0: there was no response. */
    uint64_t m_key;
    /* the path of the request; NULL: there was no response */
    const struct fab_path *path;
    /* Time in us from the last transmission of the request to the response. */
    uint64_t rtt_us;
};
#define FAB_MADS_LAST_KEYS 2
typedef void fab_mads_done(void *ctx, uint64_t tag, const struct fab_mads_answer *answer);

struct fab_mads_request {
    uint8_t mgmt_class, method;
    uint16_t attr_id;
    uint32_t attr_mod;
    uint64_t m_key;
    /* M_Keys that the device may have instead of m_key; 0: none. The last tries use these keys, one
     * each, in this order; m_key gets at least one try, so the session may raise the number of
     * tries. If m_key_last[0] is 0, m_key_last[1] must be 0, too. */
    uint64_t m_key_last[FAB_MADS_LAST_KEYS];
    /* true: the session sends the request only once, even if there is no response */
    bool once;
    /* Destination LID; only for LID-routed MADs (class 0x01 and GMPs). */
    uint16_t dlid;
    /* Directed-route SMPs: the path. LID-routed SMPs (class 0x01): the directed route that retries
     * take; NULL: none. The path must stay valid until done() is called. */
    const struct fab_path *path;
    /* SMPs: the attribute. GMPs: the bytes after the common header. */
    uint8_t data[FAB_SMP_DATA];
    /* GMPs: the FAB_GMP_DATA bytes after the common header; NULL: they are in data[]. The bytes
     * must stay valid until done() is called. */
    const uint8_t *gmp;
    /* Called exactly once for each accepted request, unless the caller cancels the request or frees
     * the session. done() may submit further requests. NULL: nothing is called. */
    fab_mads_done *done;
    void *ctx;
    uint64_t tag; /* argument of done() */
};

struct fab_mads_config {
    /* initial and maximum size of the window: number of requests in flight, at least 1 */
    uint32_t window_start, window_max;
    /* Time-out of the first try in us; it doubles with each further try, at most 7 times. */
    uint64_t timeout_us;
    uint32_t retries; /* number of tries after the first one */
    /* key from which transaction IDs are generated, so that nobody can guess them */
    uint8_t tid_key[FAB_STREAM_KEY];
};
struct fab_mads_stats {
    uint64_t sent; /* number of MADs sent, retries included */
    /* Number of requests that ended with a response, whatever its status. A response BUSY ends a
     * request only if no try is left. */
    uint64_t answered;
    /* number of repetitions: MADs that were sent again after a time-out or BUSY */
    uint64_t retried;
    /* Number of requests that ended without a response: the last try timed out, or the transport
     * returned it as undelivered. Earlier tries may have got BUSY. */
    uint64_t timed_out;
    /* number of answered requests whose response has an error status */
    uint64_t refused;
    /* Number of received responses that match no request: late, duplicate, foreign or malformed
     * ones. Includes `mismatched`. */
    uint64_t unmatched;
    /* number of received responses with the TID of a request, but with another sender or another
     * content: they are forged, or a device is faulty */
    uint64_t mismatched;
    uint32_t window, in_flight;
};

struct fab_mads;
/* Returns NULL if memory ran out. */
struct fab_mads *fab_mads_new(const struct fab_mads_config *config);
void fab_mads_free(struct fab_mads *m);

/* Queues a copy of the request. Queued requests are sent before requests of the source. Returns OK,
 * INVAL (a directed route is missing, or longer than 63 hops), LIMIT (about a million requests are
 * queued or in flight) or NOMEM. */
int fab_mads_submit(struct fab_mads *m, const struct fab_mads_request *req);
/* A source of requests. The function stores the next request in *ret, which is zeroed before the
 * call, and returns true. It returns false if there is no request now; fab_mads_output calls it
 * again later. The function must not call functions of the session. If the request is not valid,
 * the session calls its done() at once, with INVAL. */
typedef bool fab_mads_next(void *ctx, struct fab_mads_request *ret);
/* Sets the source of requests; next == NULL: removes the source. */
void fab_mads_source(struct fab_mads *m, fab_mads_next *next, void *ctx);
/* Drops all requests, queued or in flight, without calling their done(). Ignores their responses.
 * The source (fab_mads_source) stays set. */
void fab_mads_cancel_all(struct fab_mads *m);
/* Drops the requests whose member `ctx` is `ctx`, queued or in flight, without calling their
 * done(). Ignores their responses. */
void fab_mads_cancel(struct fab_mads *m, const void *ctx);
/* fab_mads_cancel_if is like fab_mads_cancel, but drops only the requests for which matches()
 * returns true. It returns the number of dropped requests. matches() gets the members `tag` and
 * `path` of a request, and must not call functions of the session. */
typedef bool fab_mads_match(void *arg, uint64_t tag, const struct fab_path *path);
uint32_t fab_mads_cancel_if(struct fab_mads *m, const void *ctx, fab_mads_match *matches,
                            void *arg);

/* Stores the next MAD to send and returns true; the MAD is in flight from then on. Retries come
 * first, then submitted requests, then requests of the source. Returns false if the window is full,
 * or if there are no requests. */
bool fab_mads_output(struct fab_mads *m, uint64_t now, uint8_t mad[FAB_MAD_SIZE],
                     struct fab_mad_addr *ret_to);
/* Handles a received MAD, whose source LID is `slid`. Returns true if the MAD is malformed, or is a
 * response, whether or not the response matches a request. Returns false if the MAD is a request,
 * trap or report, which the caller handles. failed: the MAD is a request of this session that the
 * transport returned as undelivered; it is then handled like a time-out. */
bool fab_mads_input(struct fab_mads *m, uint64_t now, uint16_t slid, const uint8_t *mad, size_t len,
                    bool failed);
/* Ends a request with the status DENIED. The caller calls this function with the MAD that
 * fab_mads_output has just stored, if the manager may not send this MAD. */
void fab_mads_refuse(struct fab_mads *m, const uint8_t mad[FAB_MAD_SIZE]);
/* Handles all requests whose time-outs are over. */
void fab_mads_expire(struct fab_mads *m, uint64_t now);
/* Returns the latest time at which the caller must call fab_mads_expire; UINT64_MAX: nothing is in
 * flight, and no request waits to be sent again after BUSY. */
uint64_t fab_mads_deadline(const struct fab_mads *m);
/* Returns true if nothing is left to do. This needs two conditions: no request is in flight, queued
 * or waiting to be sent again; and there is no source, or the source was called after the last
 * request ended and had no request. */
bool fab_mads_idle(const struct fab_mads *m);
void fab_mads_stats(const struct fab_mads *m, struct fab_mads_stats *ret);

#endif
