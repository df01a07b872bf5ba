/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The subnet administration agent (IBA chapter 15). It answers requests of management class 3 at
 * QP1. It answers from the published view, so that a sweep does not delay answers. All functions
 * must be called on the loop thread.
 */
#ifndef FABRICD_SA_SA_H
#define FABRICD_SA_SA_H

#include "fabricd/loop/loop.h"
#include "fabricd/sm/sm.h"
#include "fabricd/transport/transport.h"
#include "libfabmgr/registry/services.h"
#include "libfabmgr/registry/subscriptions.h"

struct sa;
struct sa_input {
    struct loop *loop;
    /* The transport without the recorder, because a recording has no MADs of subnet
     * administration. */
    struct transport *transport;
    struct sm *sm;
    struct bus *bus;
    /* store of the registrations; NULL: registrations are lost when fabricd stops */
    struct store *store;
};
struct sa_stats { /* counts since the start */
    uint64_t requests;
    uint64_t answered; /* requests answered, with success or an error */
    uint64_t refused;  /* requests answered with an error status */
    uint64_t busy;     /* requests answered with the status BUSY */
    /* Number of requests without an answer. The request was malformed, had a wrong SM_Key or
     * exceeded the permitted rate; or this manager was not master; or it was handing over, and the
     * request was a Set or Delete; or the queue of answers was full, or the kernel did not accept
     * the response. */
    uint64_t dropped;
    /* number of registrations that were refused because a quota was used up */
    uint64_t over_quota;
    /* number of requests that were dropped because a port sent too many per second */
    uint64_t over_rate;
    uint64_t tables;  /* number of responses with many records */
    uint64_t records; /* number of records in these responses */
    /* number of notices that the agent was to report to subscribers */
    uint64_t notices;
    uint64_t reports;          /* number of reports sent, including repetitions */
    uint64_t reports_answered; /* number of reports that were answered */
    /* number of reports that were lost because a subscriber answered too slowly */
    uint64_t reports_lost;
    uint64_t subscriptions_ended;
};
/* Starts the agent and loads the registrations of hosts from the store. Returns OK, NOMEM, LIMIT,
 * or an error of sql_status (fabricd/store/sql.h) or of transport_on_class. */
int sa_start(const struct sa_input *in, struct sa **ret);
/* Replaces all registrations by those in the store, after another manager has changed the store.
 * Returns as sa_start; after an error, some registrations are missing. */
int sa_load(struct sa *s);
void sa_stop(struct sa *s); /* the argument may be NULL */
void sa_get_stats(const struct sa *s, struct sa_stats *ret);
/* sa_services and sa_subscriptions return the services and the subscriptions that hosts registered.
 * The pointers are valid until the caller returns to the event loop. */
const struct fab_services *sa_services(const struct sa *s);
const struct fab_subscriptions *sa_subscriptions(const struct sa *s);

#endif
