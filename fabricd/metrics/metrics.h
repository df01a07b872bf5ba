/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Serves GET /metrics over plain HTTP, in the OpenMetrics text format, which Prometheus and others
 * read. Clients can only read the state of the manager, not change it.
 */
#ifndef FABRICD_METRICS_METRICS_H
#define FABRICD_METRICS_METRICS_H

#include "fabricd/base/bus.h"
#include "fabricd/config/config.h"
#include "fabricd/loop/loop.h"
#include "fabricd/pm/pm.h"
#include "fabricd/sa/sa.h"
#include "fabricd/sm/sm.h"

struct cc;
struct metrics_input {
    struct loop *loop;
    const struct bus *bus;
    struct sm *sm;
    const struct pm *pm;
    const struct cc *cc;
    const struct sa *sa; /* NULL while replaying */
    const struct config *config;
};
struct metrics;
/* Listens at the address `metrics` of the configuration. *ret is NULL if no address is configured.
 * Errors: IO (the address is in use, or is not an address of this host), NOMEM; why[] then holds a
 * sentence. */
int metrics_start(const struct metrics_input *in, struct metrics **ret, char *why, size_t why_len);
void metrics_stop(struct metrics *m); /* accepts NULL */

#endif
