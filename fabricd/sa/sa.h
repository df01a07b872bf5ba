/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The subnet administration agent (IBA chapter 15): answers requests of management class 3 at QP1
 * from the published view, so that a sweep does not delay answers. Loop thread only.
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
    struct transport *transport; /* the transport itself, not the recorder, which records only the
                                    MADs of sm and pm */
    struct sm *sm;
    struct bus *bus;
    struct store *store; /* may be NULL: registrations are then lost when fabricd stops */
};
struct sa_stats { /* since the start */
    uint64_t requests;
    uint64_t answered; /* requests answered, with success or an error */
    uint64_t refused;  /* answers with an error status */
    uint64_t busy;     /* answers with status BUSY */
    /* Requests without an answer: the request was malformed, had a wrong SM_Key or exceeded the
     * permitted rate, this manager was not master, or the queue of answers was full. */
    uint64_t dropped;
    uint64_t over_quota;       /* registrations refused because of a quota */
    uint64_t over_rate;        /* requests dropped because their port sent too many a second */
    uint64_t tables;           /* answers of many records */
    uint64_t records;          /* records in all answers of many records */
    uint64_t notices;          /* notices to report to subscribers */
    uint64_t reports;          /* reports sent, repetitions included */
    uint64_t reports_answered; /* reports that the subscriber answered */
    uint64_t reports_lost;     /* notices that a subscriber missed because it was too slow */
    uint64_t subscriptions_ended;
};
/* Starts the agent, and loads from the store what hosts registered. NOMEM, LIMIT, IO, FORMAT. */
int sa_start(const struct sa_input *in, struct sa **ret);
void sa_stop(struct sa *s); /* NULL is fine */
void sa_get_stats(const struct sa *s, struct sa_stats *ret);
/* These functions return what hosts registered. The pointers are valid until the caller returns to
 * the loop. */
const struct fab_services *sa_services(const struct sa *s);
const struct fab_subscriptions *sa_subscriptions(const struct sa *s);

#endif
