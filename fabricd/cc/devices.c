/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starts computations of congestion settings, copies their results to the list of devices, and
 * keeps this list. A device is identified by the GUID of the port that owns its LID. The list has a
 * digest of each device's computed settings. The digests show which devices get other settings with
 * a new view; the manager sends requests only to these devices.
 *
 * At most one computation runs at a time. If a device reports a table size that changes the
 * settings, the settings become stale and the timer starts another computation. When a computation
 * has ended, each iteration of the event loop copies the results for at most TAKE_MOST devices to
 * the list. After the last copy, or after a failure, the callbacks of callers that wait for
 * settings are called. These callers must check whether the settings belong to their view.
 */
#include <stdlib.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/cc/private.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

/* Maximum number of devices for which one iteration of the event loop copies the results of a
 * computation to the list of devices. */
#define TAKE_MOST 4096u

/* ---- devices --------------------------------------------------------------------------------- */

static struct cc_device *device_of(struct cc *cc, uint64_t port_guid)
{
    uint32_t i;
    if (fab_base_map_get(&cc->index, port_guid, &i))
        return &cc->devices[i];
    if (cc->device_count == cc->device_room) {
        void *grown = fab_base_grow(cc->devices, sizeof(*cc->devices), cc->device_count + 1u,
                                    &cc->device_room);
        if (!grown)
            return NULL;
        cc->devices = grown;
    }
    if (fab_base_map_put(&cc->index, port_guid, cc->device_count) != FAB_OK)
        return NULL;
    struct cc_device *d = &cc->devices[cc->device_count++];
    *d = (struct cc_device){.port_guid = port_guid};
    return d;
}

/* Stores the digest of the settings that were computed for a device. If they differ from the
 * settings that the device has, the device becomes pending: the manager reads and programs it
 * again, even after earlier failures. A device that does not support congestion control stays
 * unsupported. */
static void want(struct cc_device *d, uint64_t digest)
{
    if (d->want == digest)
        return;
    d->want = digest;
    if (d->state == CC_UNSUPPORTED || d->digest == digest)
        return;
    d->state = CC_PENDING;
    d->tries = 0;
    d->due_us = 0;
}

static int see_device(struct cc *cc, const struct cc_wanted *w)
{
    struct cc_device *d = device_of(cc, w->port_guid);
    if (!d)
        return FAB_E_NOMEM;
    d->node_guid = w->node_guid;
    d->port = w->port;
    d->num = w->num;
    d->ports = w->ports;
    d->lid = w->lid;
    d->pass = cc->pass;
    d->busy = false;
    want(d, w->digest);
    return FAB_OK;
}

/* Removes the devices that left the fabric. If such a device comes back, the manager reads it
 * again, because it may have lost its settings in a restart. */
static void forget_devices(struct cc *cc)
{
    for (uint32_t i = 0; i < cc->device_count;) {
        struct cc_device *d = &cc->devices[i];
        if (d->pass == cc->pass) {
            i++;
            continue;
        }
        fab_base_map_remove(&cc->index, d->port_guid);
        free(d->log);
        *d = cc->devices[--cc->device_count];
        if (i < cc->device_count)
            (void)fab_base_map_put(&cc->index, d->port_guid,
                                   i); /* the key is in the map already, so no memory is needed */
    }
}

/* Called after a reload of the settings file. Makes those devices pending again that the manager
 * had given up because they did not answer. */
static void try_again(struct cc *cc)
{
    for (uint32_t i = 0; i < cc->device_count; i++) {
        struct cc_device *d = &cc->devices[i];
        if (!d->unresponsive || d->due_us != UINT64_MAX)
            continue;
        d->state = CC_PENDING;
        d->tries = 0;
        d->due_us = 0;
    }
}

static void count_waiting(struct cc *cc)
{
    cc->waiting = 0;
    for (uint32_t i = 0; i < cc->device_count; i++)
        cc->waiting += cc->devices[i].state == CC_PENDING;
}

/* ---- results of a computation ---------------------------------------------------------------- */

/* Begins to copy the results of a computation to the list of devices. Until the last device is
 * copied, cc_settings returns BUSY. Returns the error of the computation, or NOMEM. */
static int take_begin(struct cc *cc, const struct cc_work *w)
{
    if (w->status != FAB_OK)
        return w->status;
    cc_program_stop(cc);
    cc->pass++;
    cc->generation = 0;
    if (w->wanted_count > cc->device_room) {
        void *grown =
            fab_base_grow(cc->devices, sizeof(*cc->devices), w->wanted_count, &cc->device_room);
        if (!grown)
            return FAB_E_NOMEM;
        cc->devices = grown;
    }
    return FAB_OK;
}

static int take_some(struct cc *cc, struct cc_work *w)
{
    uint32_t rest = w->wanted_count - w->taken;
    int r = FAB_OK;
    for (uint32_t i = 0; r == FAB_OK && i < rest && i < TAKE_MOST; i++)
        r = see_device(cc, &w->wanted[w->taken++]);
    return r;
}

static void take_end(struct cc *cc, struct cc_work *w)
{
    forget_devices(cc);
    if (cc->reloaded)
        try_again(cc);
    cc->reloaded = false;
    count_waiting(cc);
    fab_congestion_fini(&cc->settings);
    cc->settings = w->settings;
    w->settings = (struct fab_congestion){0};
    cc->cursor = 0;
    cc->generation = w->generation;
    cc->compute_us = w->us;
}

/* Calls all functions that cc_await has registered. Such a function may call cc_await again. */
static void tell_waiters(struct cc *cc)
{
    struct cc_waiter *waiters = cc->waiters;
    size_t count = cc->waiter_count;
    cc->waiters = NULL;
    cc->waiter_count = cc->waiter_room = 0;
    for (size_t i = 0; i < count; i++)
        waiters[i].fn(waiters[i].ctx);
    free(waiters);
}

static void work(void *ctx)
{
    cc_work_do(ctx);
}

static void free_work(void *ctx)
{
    cc_work_free(ctx);
}

static void finish(struct cc *cc, struct cc_work *w, int status)
{
    cc->work = NULL;
    cc->taking = false;
    if (status == FAB_OK) {
        take_end(cc, w);
    } else {
        log_error("congestion", "the congestion settings could not be computed: %s",
                  fab_base_status_text(status));
        /* If copying has failed in the middle, some devices have the settings for the new view, the
         * others still those for the view before. The settings therefore count as belonging to no
         * view. */
        cc->generation = 0;
        cc->stale = true;
    }
    loop_discard(cc->in.loop, free_work, w);
    tell_waiters(cc);
}

void cc_devices_take(void *ctx)
{
    struct cc *cc = ctx;
    loop_at(cc->in.loop, "congestion");
    int r = take_some(cc, cc->work);
    if (r == FAB_OK && cc->work->taken < cc->work->wanted_count)
        loop_timer_set(cc->take, 0);
    else
        finish(cc, cc->work, r);
}

static void done(void *ctx)
{
    struct cc_work *w = ctx;
    struct cc *cc = w->cc;
    if (!cc) {
        cc_work_free(w);
        return;
    }
    loop_at(cc->in.loop, "congestion");
    int r = take_begin(cc, w);
    cc->taking = r == FAB_OK;
    if (cc->taking)
        cc_devices_take(cc);
    else
        finish(cc, w, r);
}

/* ---- starting a computation ------------------------------------------------------------------ */

static int note_told(const struct cc *cc, struct cc_work *w)
{
    w->told = fab_base_alloc_array(cc->device_count, sizeof(*w->told));
    if (!w->told)
        return FAB_E_NOMEM;
    for (uint32_t i = 0; i < cc->device_count; i++)
        if (cc->devices[i].table_blocks)
            w->told[w->told_count++] =
                (struct cc_told){cc->devices[i].node_guid, cc->devices[i].table_blocks};
    return FAB_OK;
}

int cc_begin(struct cc *cc, const struct fab_view *v)
{
    struct cc_work *w = NULL;
    if (cc->work)
        return FAB_OK;
    cc->computed_us = clock_now_us();
    int r = cc_work_new(v, &cc->in.config->policy, &w);
    if (r == FAB_OK)
        r = note_told(cc, w);
    if (r == FAB_OK) {
        w->cc = cc;
        cc->work = w;
        cc->stale = false;
        r = loop_work(cc->in.loop, work, done, w);
        if (r == FAB_OK)
            return r;
        cc->work = NULL;
        cc->stale = true;
    }
    cc_work_free(w);
    return r;
}

int cc_await(struct cc *cc, const struct fab_view *v, loop_fn *fn, void *ctx)
{
    struct cc_waiter *more = cc->waiters;
    if (cc->waiter_count == cc->waiter_room)
        more = fab_base_grow(more, sizeof(*more), cc->waiter_count + 1, &cc->waiter_room);
    if (!more)
        return FAB_E_NOMEM;
    cc->waiters = more;
    more[cc->waiter_count++] = (struct cc_waiter){fn, ctx};
    int r = cc_begin(cc, v);
    cc->waiter_count -= r != FAB_OK;
    return r;
}

void cc_devices_fini(struct cc *cc)
{
    if (cc->taking)
        cc_work_free(cc->work);
    else if (cc->work)
        cc->work->cc = NULL;
    tell_waiters(cc);
    fab_congestion_fini(&cc->settings);
    for (uint32_t i = 0; i < cc->device_count; i++)
        free(cc->devices[i].log);
    free(cc->devices);
    fab_base_map_fini(&cc->index);
}
