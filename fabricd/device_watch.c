/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transport reports the loss of its device while the subnet manager sends a MAD, perhaps in the
 * middle of a phase. At that moment, the subnet manager must not be told about the loss. A timer
 * therefore tells it in a later iteration of the event loop. The timer also tries to open the
 * device again.
 */
#include "fabricd/device_watch.h"

#include <stdio.h>
#include <stdlib.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/events.h"
#include "fabricd/base/log.h"
#include "libfabmgr/base/status.h"

#define TRY_US 1000000

struct device_watch {
    struct device_watch_input in;
    struct loop_timer *timer;
    char reason[160];
    /* true: device-lost has been emitted, and device-recovered has not been emitted since */
    bool waiting;
    uint64_t since_us;
};

static void on_lost(void *ctx, const char *reason)
{
    struct device_watch *w = ctx;
    snprintf(w->reason, sizeof(w->reason), "%s", reason);
    loop_timer_set(w->timer, 0);
}

static void end(struct device_watch *w)
{
    event_emit(w->in.bus, device_lost, .subject = w->in.transport->name, .reason = w->reason,
               .action = "the manager ends with an error, so that systemd starts it again until "
                         "the port is back");
    w->in.end(w->in.ctx);
}

static void begin_to_wait(struct device_watch *w)
{
    w->waiting = true;
    w->since_us = clock_now_us();
    event_emit(w->in.bus, device_lost, .subject = w->in.transport->name, .reason = w->reason,
               .action =
                   "the manager waits until the port is back, and manages nothing until then");
    sm_device_lost(w->in.sm, w->reason);
}

static void try_again(struct device_watch *w)
{
    struct transport *t = w->in.transport;
    char why[256];
    if (t->ops->reopen(t, why, sizeof(why)) != FAB_OK) {
        log_debug(t->name, "the port is not back yet: %s", why);
        loop_timer_set(w->timer, TRY_US);
        return;
    }
    w->waiting = false;
    transport_on_lost(t, on_lost, w);
    event_emit(w->in.bus, device_recovered, .subject = t->name,
               .seconds = (clock_now_us() - w->since_us) / 1000000);
    sm_device_back(w->in.sm);
}

static void on_timer(void *ctx)
{
    struct device_watch *w = ctx;
    bool may_wait = w->in.config->on_device_lost == CONFIG_DEVICE_LOST_WAIT &&
                    w->in.transport->ops->reopen != NULL;
    if (!w->waiting && !may_wait) {
        end(w);
        return;
    }
    if (!w->waiting)
        begin_to_wait(w);
    try_again(w);
}

int device_watch_start(const struct device_watch_input *in, struct device_watch **ret)
{
    struct device_watch *w = calloc(1, sizeof(*w));
    if (w == NULL)
        return FAB_E_NOMEM;
    *w = (struct device_watch){.in = *in, .timer = loop_timer_new(in->loop, on_timer, w)};
    if (w->timer == NULL) {
        free(w);
        return FAB_E_NOMEM;
    }
    transport_on_lost(in->transport, on_lost, w);
    *ret = w;
    return FAB_OK;
}

void device_watch_stop(struct device_watch *w)
{
    if (w == NULL)
        return;
    transport_on_lost(w->in.transport, NULL, NULL);
    loop_timer_free(w->timer);
    free(w);
}
