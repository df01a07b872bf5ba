/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends events to the targets in the setting `alerts`: webhooks (HTTP POST with a JSON body) and
 * syslog. Each target has a thread of its own, so that no target delays the loop or another target.
 * All functions must be called on the loop thread.
 */
#ifndef FABRICD_ALERTS_ALERTS_H
#define FABRICD_ALERTS_ALERTS_H

#include "fabricd/base/bus.h"
#include "fabricd/config/config.h"
#include "fabricd/loop/loop.h"

struct alerts;
/* Starts one thread for each target in the configuration. If there is no target, *ret is NULL.
 * Returns NOMEM, or IO if libcurl cannot be used. `config` must exist until alerts_stop. */
int alerts_start(struct loop *loop, struct bus *bus, const struct config_alerts *config,
                 struct alerts **ret);
/* Stops the threads. Events that were not sent are dropped. `a` may be NULL. */
void alerts_stop(struct alerts *a);

/* The state of a target. `sent`: number of alerts that the target has accepted since fabricd
 * started. `lost`: number of alerts that fabricd has dropped since then. */
struct alerts_status {
    char target[24]; /* name of the target, such as "alerts[0]" */
    uint64_t sent, lost;
    uint32_t queued; /* number of alerts in the queue, including those that the thread is sending */
    bool failing;    /* true: the last request failed */
};
/* Returns the number of targets. `a` may be NULL. */
size_t alerts_count(const struct alerts *a);
void alerts_get_status(const struct alerts *a, size_t target, struct alerts_status *ret);

#endif
