/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the congestion logs of devices (IBA annex A10). In each pass, the manager reads the log of
 * every device whose state is neither pending nor unsupported. A pass takes one counter interval,
 * or less if the lease of the CC_Key demands it (pass_us). The requests are spread evenly over the
 * pass, and are sent only while the subnet manager is idle.
 *
 * A request with a wrong key starts the lease of a device's key, and a request with the right key
 * stops it. The manager therefore sends at least three requests with the CC_Key within one lease
 * period to each device that has the manager's key. To a device whose log is not read, it sends a
 * Get of CongestionKeyInfo instead.
 *
 * The manager stops reading the log of a device if the device does not support logs, or if CC_TRIES
 * successive reads fail. The manager tries again after the device has left the fabric and come
 * back.
 */
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/cc/private.h"
#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"

/* byte offset of CongestionLog in the data after the common MAD header */
#define AT_LOG (FAB_CC_LOG_DATA - 24)
/* number of devices whose logs are read in a timer tick, unless the pass over all devices is late
 */
#define TICK_DEVICES 4
/* maximum number of requests that are sent in a timer tick, even if the pass over all devices is
 * late */
#define TICK_MOST 8
#define WAITING_MOST 16
#define TICK_LEAST_US 5000u
#define TICK_MOST_US 1000000u
#define REQUESTS_A_LEASE 3
/* A log entry counts as recent for this time in us, or for two counter intervals if these are
 * longer. */
#define RECENT_US UINT64_C(60000000)

static uint64_t interval_us(const struct cc *cc)
{
    return cc->in.config->counters.interval_s * UINT64_C(1000000);
}

/* A pass sends one request to every device. Returns the time in us that a pass takes; 0: no passes
 * are made. */
static uint64_t pass_us(const struct cc *cc)
{
    uint64_t logs = interval_us(cc), keys = 0;
    if (cc->keys.file.current != 0)
        keys = cc->in.config->policy.congestion.key_lease_s * UINT64_C(1000000) / REQUESTS_A_LEASE;
    return logs == 0 || (keys > 0 && keys < logs) ? keys : logs;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Stores in `d` a log that was read from the device. Allocates the memory when the device reports a
 * log entry for the first time. */
static void keep(struct cc_device *d, const struct fab_congestion_log *log)
{
    if (d->log == NULL && log->count == 0 && log->counter == 0)
        return;
    if (d->log == NULL)
        d->log = malloc(sizeof *d->log);
    if (d->log != NULL)
        *d->log = *log;
}

static bool take(struct cc *cc, struct cc_device *d, const struct fab_mads_answer *a)
{
    struct fab_congestion_log log = {.read_us = d->logged_us};
    uint64_t now = clock_now_us();
    uint32_t events;
    if (d->log != NULL)
        log = *d->log;
    if (a->len < AT_LOG || fab_congestion_log_update(&log, d->num == 0, a->data + AT_LOG,
                                                     a->len - AT_LOG, now, &events) != FAB_OK)
        return false;
    keep(d, &log);
    d->logged_us = now;
    d->log_tries = 0;
    cc->logs.reads++;
    cc->logs.events += events;
    return true;
}

static void on_log(void *ctx, uint64_t tag, const struct fab_mads_answer *a)
{
    struct cc *cc = ctx;
    struct cc_device *d = &cc->devices[tag];
    cc->logs.waiting--;
    if (a->status == FAB_OK && take(cc, d, a))
        return;
    bool unknown = a->status == FAB_E_REFUSED && cc_says_unknown(a->smp_status);
    d->no_log = unknown || ++d->log_tries >= CC_TRIES;
}

/* Handles the answer to a Get of CongestionKeyInfo. If the device no longer has the key, or no
 * longer protects it, the device must be programmed again. */
static void on_key(void *ctx, uint64_t tag, const struct fab_mads_answer *a)
{
    struct cc *cc = ctx;
    struct cc_device *d = &cc->devices[tag];
    struct fab_cc_key_info info;
    cc->logs.waiting--;
    if (a->status != FAB_OK || a->len < FAB_GMP_DATA)
        return;
    (void)fab_wire_attr_unpack(&fab_wire_attr_cc_key_info, a->data + CC_AT_ATTR, FAB_GS_DATA,
                               &info);
    cc_key_watch(cc, d, &info);
    if (info.key != cc->keys.file.current || !info.protect)
        d->due_us = 0;
}

/* ---- requests -------------------------------------------------------------------------------- */

static bool ask(struct cc *cc, uint32_t device)
{
    const struct cc_device *d = &cc->devices[device];
    bool log = !d->no_log && interval_us(cc) > 0;
    bool key = d->key == CC_KEY_CURRENT && cc->keys.file.current != 0;
    struct fab_mads_request r = {
        .mgmt_class = FAB_CLASS_CC,
        .method = FAB_METHOD_GET,
        .attr_id = log ? FAB_CC_LOG : FAB_CC_KEY_INFO,
        .dlid = d->lid,
        .done = log ? on_log : on_key,
        .ctx = cc,
        .tag = device,
    };
    if ((!log && !key) || d->state == CC_UNSUPPORTED || d->state == CC_PENDING)
        return false;
    fab_base_put_be64(r.data + CC_AT_KEY, cc_key_of(cc, d));
    if (fab_mads_submit(cc->mads, &r) != FAB_OK)
        return false;
    cc->logs.waiting++;
    return true;
}

static void ask_some(struct cc *cc, uint64_t now)
{
    struct cc_logs *l = &cc->logs;
    l->began_us = l->began_us > 0 ? l->began_us : now;
    uint64_t gone = now - l->began_us, all = cc->device_count;
    uint64_t due = gone >= pass_us(cc) ? all : all * gone / pass_us(cc) + TICK_DEVICES;
    for (uint32_t sent = 0;
         l->cursor < due && l->cursor < all && sent < TICK_MOST && l->waiting < WAITING_MOST;)
        sent += ask(cc, l->cursor++);
    if (l->cursor >= all && gone >= pass_us(cc)) {
        l->cursor = 0;
        l->began_us = now;
    }
}

static uint64_t tick_us(const struct cc *cc)
{
    uint64_t us = pass_us(cc) / (cc->device_count + 1u) * TICK_DEVICES;
    return us < TICK_LEAST_US ? TICK_LEAST_US : us > TICK_MOST_US ? TICK_MOST_US : us;
}

void cc_log_tick(void *ctx)
{
    struct cc *cc = ctx;
    loop_at(cc->in.loop, "congestion logs");
    struct fab_view *v = sm_is_quiet(cc->in.sm) ? sm_view(cc->in.sm) : NULL;
    if (v && pass_us(cc) > 0 && cc_applies(cc) && v->generation == cc->generation) {
        ask_some(cc, clock_now_us());
        agent_pump(cc->agent);
    }
    fab_view_unref(v);
    loop_timer_set(cc->logs.timer, pass_us(cc) > 0 ? tick_us(cc) : TICK_MOST_US);
}

void cc_log_stop(struct cc *cc)
{
    cc->logs.waiting = 0;
}

/* ---- queries --------------------------------------------------------------------------------- */

static struct cc_log_status status_of(const struct cc_device *d)
{
    return (struct cc_log_status){
        .guid = d->node_guid,
        .port = d->num,
        .none = d->no_log || d->state == CC_UNSUPPORTED,
        .read_us =
            d->logged_us == 0 ? 0 : clock_unix_us() - (int64_t)(clock_now_us() - d->logged_us),
        .log = d->log,
    };
}

uint32_t cc_logs(const struct cc *cc, uint64_t node_guid, struct cc_log_status *ret, uint32_t max)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < cc->device_count; i++) {
        const struct cc_device *d = &cc->devices[i];
        bool told = node_guid == 0 ? d->log != NULL || d->no_log : d->node_guid == node_guid;
        if (told && count++ < max)
            ret[count - 1] = status_of(d);
    }
    return count;
}

void cc_count_senders(const struct cc *cc, uint16_t *senders, uint32_t lids)
{
    uint64_t now = clock_now_us(), span = 2 * interval_us(cc);
    span = span > RECENT_US ? span : RECENT_US;
    for (uint32_t i = 0; i < cc->device_count; i++)
        if (cc->devices[i].log != NULL && cc->devices[i].num != 0)
            fab_congestion_log_incasts(cc->devices[i].log, now > span ? now - span : 0, senders,
                                       lids);
}
