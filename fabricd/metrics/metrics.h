/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Metrics: GET /metrics over plain HTTP, in the OpenMetrics text format, which Prometheus and
 * others read. It reads the state of the manager and nothing else; there is nothing to command
 * here.
 */
#ifndef FABRICD_METRICS_METRICS_H
#define FABRICD_METRICS_METRICS_H

#include "fabricd/config/config.h"
#include "fabricd/loop/loop.h"
#include "fabricd/pm/pm.h"
#include "fabricd/sa/sa.h"
#include "fabricd/sm/sm.h"

struct cc;
struct metrics;
/* Listens at the address of the config. *ret is NULL where it has none. why[] says what failed. */
int metrics_start(struct loop *loop, struct sm *sm, const struct pm *pm, const struct cc *cc,
                  const struct sa *sa, const struct config *config, struct metrics **ret, char *why,
                  size_t why_len);
void metrics_stop(struct metrics *m); /* NULL is fine */

#endif
