/* SPDX-License-Identifier: BSD-3-Clause */
/* Forgets nodes and links that have been gone for long. */
#include "fabricd/upkeep.h"

#include <stdlib.h>

#include "fabricd/base/clock.h"
#include "fabricd/store/gone.h"
#include "libfabmgr/base/status.h"

/* The first round waits until the first sweep has found which nodes are still there. */
#define FIRST_US (60 * INT64_C(1000000))
#define EVERY_US (3600 * INT64_C(1000000))

struct upkeep {
    struct store *store;
    const struct config *config;
    struct loop_timer *timer;
};

static void on_turn(void *ctx)
{
    struct upkeep *u = ctx;
    int64_t now = clock_unix_us() / 1000000;
    store_forget_gone(u->store, now - (int64_t)u->config->gone_days * 86400, u->config->gone_nodes);
    loop_timer_set(u->timer, EVERY_US);
}

int upkeep_start(struct loop *loop, struct store *store, const struct config *config,
                 struct upkeep **ret)
{
    struct upkeep *u = calloc(1, sizeof(*u));
    struct loop_timer *timer = u != NULL ? loop_timer_new(loop, on_turn, u) : NULL;
    if (timer == NULL) {
        free(u);
        return FAB_E_NOMEM;
    }
    *u = (struct upkeep){store, config, timer};
    loop_timer_set(timer, FIRST_US);
    *ret = u;
    return FAB_OK;
}

void upkeep_stop(struct upkeep *u)
{
    if (u == NULL)
        return;
    loop_timer_free(u->timer);
    free(u);
}
