/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Watches the database. The writer thread of the store counts its failures, but only the loop
 * thread may emit events. A timer on the loop thread therefore checks whether the number of
 * failures has grown.
 */
#include "fabricd/store_watch.h"

#include <stdlib.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/events.h"
#include "libfabmgr/base/status.h"

#define LOOK_US 1000000

struct store_watch {
    struct bus *bus;
    struct store *store;
    const char *directory;
    struct loop_timer *timer;
    uint64_t failures; /* number of failures when the timer last fired */
    /* true: store-failing has been emitted, and store-recovered has not been emitted since */
    bool told;
    uint64_t since_us;
};

static void on_look(void *ctx)
{
    struct store_watch *w = ctx;
    struct store_health health;
    store_get_health(w->store, &health);
    if (health.failures != w->failures && !w->told) {
        w->told = true;
        w->since_us = clock_now_us();
        event_emit(w->bus, store_failing, .subject = "manager", .directory = w->directory,
                   .reason = health.reason);
    }
    if (w->told && !health.failing) {
        w->told = false;
        event_emit(w->bus, store_recovered, .subject = "manager", .directory = w->directory,
                   .seconds = (clock_now_us() - w->since_us) / 1000000);
    }
    w->failures = health.failures;
    loop_timer_set(w->timer, LOOK_US);
}

int store_watch_start(struct loop *loop, struct bus *bus, struct store *store,
                      const char *directory, struct store_watch **ret)
{
    struct store_watch *w = calloc(1, sizeof(*w));
    struct loop_timer *timer = w != NULL ? loop_timer_new(loop, on_look, w) : NULL;
    if (timer == NULL) {
        free(w);
        return FAB_E_NOMEM;
    }
    *w = (struct store_watch){.bus = bus, .store = store, .directory = directory, .timer = timer};
    loop_timer_set(timer, LOOK_US);
    *ret = w;
    return FAB_OK;
}

void store_watch_stop(struct store_watch *w)
{
    if (w == NULL)
        return;
    loop_timer_free(w->timer);
    free(w);
}
