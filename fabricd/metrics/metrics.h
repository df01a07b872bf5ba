/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Serves GET /metrics over plain HTTP, in the OpenMetrics format or the text format of Prometheus,
 * whichever the client prefers. A client can only read the state of the manager and cannot change
 * it.
 */
#ifndef FABRICD_METRICS_METRICS_H
#define FABRICD_METRICS_METRICS_H

#include "fabricd/alerts/alerts.h"
#include "fabricd/base/bus.h"
#include "fabricd/base/call_counts.h"
#include "fabricd/base/tls_expiry.h"
#include "fabricd/config/config.h"
#include "fabricd/loop/loop.h"
#include "fabricd/pm/pm.h"
#include "fabricd/sa/sa.h"
#include "fabricd/sm/sm.h"
#include "libfabmgr/base/text.h"

struct cc;
struct store;
struct metrics_input {
    struct loop *loop;
    struct bus *bus;
    struct sm *sm;
    const struct pm *pm;
    const struct cc *cc;
    const struct inventory *inventory; /* NULL: not available */
    /* subnet administration; NULL in a replay, which has none */
    const struct sa *sa;
    const struct config *config;
    /* counts of RPC calls; NULL: there is no RPC server */
    const struct call_counts *calls;
    struct store *store; /* NULL: nothing is stored */
    /* times at which the TLS files expire; NULL: there is no RPC server */
    const struct tls_expiry *expiry;
    struct counters *history;      /* history of counters; NULL: fabricd keeps none */
    const struct replica *replica; /* NULL: the state is not replicated */
    const struct alerts *alerts;   /* NULL: no targets of alerts are configured */
};
/* Writes a page of metrics in OpenMetrics on the calling thread. To save time, the families about
 * ports have samples only for ports whose links had errors recently. */
void metrics_page(const struct metrics_input *in, struct fab_text *text);

struct metrics;
/* Listens at the address `metrics.listen` of the configuration. *ret is NULL if no address is
 * configured. Returns OK; or NOMEM, or IO if the address is in use or does not belong to this host,
 * with the reason in why[]. */
int metrics_start(const struct metrics_input *in, struct metrics **ret, char *why, size_t why_len);
void metrics_stop(struct metrics *m); /* `m` may be NULL */

#endif
