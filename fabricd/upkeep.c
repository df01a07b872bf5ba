/* SPDX-License-Identifier: BSD-3-Clause */
/* Forgets nodes and links that have been gone for too long, and makes a snapshot of the topology
 * each day. */
#include "fabricd/upkeep.h"

#include <stdlib.h>
#include <time.h>

#include "fabricd/base/clock.h"
#include "fabricd/store/gone.h"
#include "fabricd/store/snapshots.h"
#include "libfabmgr/base/status.h"

#define DAY_S 86400
/* Time in us until the first run. The first run must come after the first sweep, which finds out
 * which nodes are still in the fabric. */
#define FIRST_US (60 * INT64_C(1000000))
#define EVERY_US (3600 * INT64_C(1000000))

struct upkeep {
    struct store *store;
    const struct sm *sm;
    const struct config *config;
    struct loop_timer *timer;
    /* day of the last automatic snapshot since the start, in days of Unix time; 0: none */
    int64_t day;
};

/* Once a day (UTC), stores a snapshot of the topology, unless the settings keep no automatic
 * snapshots. The store drops the snapshot if the topology has not changed. */
static void make_snapshot(struct upkeep *u, int64_t now)
{
    char name[STORE_SNAPSHOT_NAME];
    time_t seconds = (time_t)now;
    struct tm tm;
    struct fab_view *v = sm_view(u->sm);
    if (v == NULL)
        return;
    if (u->config->snapshots_keep > 0 && now / DAY_S != u->day && gmtime_r(&seconds, &tm) != NULL &&
        strftime(name, sizeof(name), "auto-%Y-%m-%d", &tm) > 0) {
        const struct store_snapshot_limits limits = {u->config->snapshots_keep,
                                                     (uint64_t)u->config->snapshots_mb << 20};
        store_put_snapshot(
            u->store,
            &(struct store_snapshot){.name = name, .by = "", .time = now, .automatic = true},
            v->fabric, &limits);
        u->day = now / DAY_S;
    }
    fab_view_unref(v);
}

static void on_turn(void *ctx)
{
    struct upkeep *u = ctx;
    int64_t now = clock_unix_us() / 1000000;
    store_forget_gone(u->store, now - (int64_t)u->config->gone_days * DAY_S, u->config->gone_nodes);
    make_snapshot(u, now);
    loop_timer_set(u->timer, EVERY_US);
}

int upkeep_start(struct loop *loop, struct store *store, const struct sm *sm,
                 const struct config *config, struct upkeep **ret)
{
    struct upkeep *u = calloc(1, sizeof(*u));
    struct loop_timer *timer = u != NULL ? loop_timer_new(loop, on_turn, u) : NULL;
    if (timer == NULL) {
        free(u);
        return FAB_E_NOMEM;
    }
    *u = (struct upkeep){.store = store, .sm = sm, .config = config, .timer = timer};
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
