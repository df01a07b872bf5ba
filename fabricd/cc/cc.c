/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The public functions of congestion control, and its timer. compute.c computes the settings,
 * devices.c finds out which devices need new settings, and program.c writes them to the devices.
 *
 * Between two ticks of the timer, congestion control keeps no reference to a view. A local repair
 * changes the tables in place if nobody else refers to them; otherwise it must copy them. A
 * computation for a new view begins at the earliest SETTLE_US after the view was published, and
 * only while the subnet manager is idle.
 */
#include "fabricd/cc/cc.h"

#include <stdlib.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/cc/private.h"
#include "libfabmgr/base/status.h"

#define TICK_BUSY_US 10000u
#define TICK_IDLE_US 250000u
/* Minimum time in us between the beginnings of two computations, if the settings have become
 * stale. */
#define COMPUTE_LEAST_US 1000000u
#define RECENT_US UINT64_C(3600000000)
/* Minimum age in us of a view before settings are computed for it. Links may still go up and
 * down shortly after a view was published. */
#define SETTLE_US 3000000u

static const char *const state_names[CC_STATES] = {"pending", "programmed", "unsupported",
                                                   "foreign-key", "failed"};

const char *cc_state_name(enum cc_state state)
{
    return state_names[state];
}

static int new_agent(struct cc *cc)
{
    const struct config_smp *smp = &cc->in.config->smp;
    struct fab_mads_config config = {
        .window_start = CC_JOBS,
        .window_max = CC_JOBS,
        .timeout_us = (uint64_t)smp->timeout_ms * 1000,
        .retries = smp->retries < 2 ? smp->retries : 2,
    };
    int r = agent_new_class(cc->in.loop, cc->in.transport, FAB_CLASS_CC, &config, NULL, NULL,
                            &cc->agent);
    if (r == FAB_OK)
        cc->mads = agent_mads(cc->agent);
    return r;
}

int cc_new(const struct cc_input *in, struct cc **ret)
{
    struct cc *cc = calloc(1, sizeof(*cc));
    if (!cc)
        return FAB_E_NOMEM;
    cc->in = *in;
    int r = cc_keys_init(cc);
    if (r == FAB_OK)
        r = new_agent(cc);
    cc->timer = r == FAB_OK ? loop_timer_new(in->loop, cc_tick, cc) : NULL;
    cc->take = r == FAB_OK ? loop_timer_new(in->loop, cc_devices_take, cc) : NULL;
    cc->logs.timer = r == FAB_OK ? loop_timer_new(in->loop, cc_log_tick, cc) : NULL;
    if (r == FAB_OK && (!cc->timer || !cc->take || !cc->logs.timer))
        r = FAB_E_NOMEM;
    if (r != FAB_OK) {
        cc_free(cc);
        return r;
    }
    loop_timer_set(cc->timer, TICK_IDLE_US);
    loop_timer_set(cc->logs.timer, TICK_IDLE_US);
    *ret = cc;
    return FAB_OK;
}

void cc_free(struct cc *cc)
{
    if (!cc)
        return;
    loop_timer_free(cc->timer);
    loop_timer_free(cc->take);
    loop_timer_free(cc->logs.timer);
    agent_free(cc->agent);
    cc_devices_fini(cc);
    cc_keys_fini(cc);
    free(cc);
}

void cc_reload(struct cc *cc)
{
    cc->stale = cc->reloaded = true;
    cc_keys_reload(cc);
}

/* ---- the timer ------------------------------------------------------------------------------- */

static bool is_troubled(const struct cc_device *d)
{
    return d->state > CC_PROGRAMMED;
}

bool cc_applies(const struct cc *cc)
{
    return cc->in.config->policy.congestion.apply;
}

#define OUTCOME(cc, count)                                                                         \
    .subject = "fabric", .devices = count[CC_PROGRAMMED], .written = (cc)->written,                \
    .unsupported = count[CC_UNSUPPORTED], .foreign_key = count[CC_FOREIGN_KEY],                    \
    .failed = count[CC_FAILED]

void cc_tell_outcome(struct cc *cc)
{
    uint32_t count[CC_STATES] = {0}, troubled;
    if (cc->waiting > 0)
        return;
    for (uint32_t i = 0; i < cc->device_count; i++)
        count[cc->devices[i].state]++;
    troubled = cc->device_count - count[CC_PROGRAMMED];
    if (cc->written == 0 && troubled == cc->troubled)
        return;
    if (count[CC_FAILED] || count[CC_FOREIGN_KEY])
        event_emit(cc->in.bus, congestion_partly_programmed, OUTCOME(cc, count));
    else
        event_emit(cc->in.bus, congestion_programmed, OUTCOME(cc, count));
    cc->written = 0;
    cc->troubled = troubled;
}

/* Returns true if the settings must be computed for view `v` now. The first computation is due at
 * once. If `v` is a new view, its computation is due SETTLE_US after this function first saw `v`.
 * If the settings are stale, the computation is due COMPUTE_LEAST_US after the beginning of the
 * last computation. */
static bool is_due(struct cc *cc, const struct fab_view *v, uint64_t now)
{
    if (cc->seen != v->generation) {
        cc->seen = v->generation;
        cc->seen_us = now;
    }
    if (cc->computed_us == 0 || cc->stale)
        return cc->computed_us == 0 || now - cc->computed_us >= COMPUTE_LEAST_US;
    return cc->generation != v->generation && now - cc->seen_us >= SETTLE_US;
}

void cc_tick(void *ctx)
{
    struct cc *cc = ctx;
    uint64_t now = clock_now_us();
    loop_at(cc->in.loop, "congestion");
    cc_share_tick(cc);
    bool may = sm_is_quiet(cc->in.sm) && !sm_is_frozen(cc->in.sm);
    struct fab_view *v = may ? sm_view(cc->in.sm) : NULL;
    if (v && v->target) {
        if (is_due(cc, v, now) && cc_begin(cc, v) != FAB_OK)
            log_error("congestion", "out of memory: no congestion settings were computed");
        if (cc_applies(cc) && cc->generation == v->generation) {
            cc_program(cc, now);
            cc_keys_tick(cc, now);
        }
    }
    /* cc_tell_outcome sends no requests, so the subnet manager need not be idle */
    if (cc_applies(cc) && cc->generation != 0)
        cc_tell_outcome(cc);
    bool busy = cc_applies(cc) && (cc->waiting > 0 || cc->keys.due > 0 || cc->keys.proposed);
    loop_timer_set(cc->timer, busy ? TICK_BUSY_US : TICK_IDLE_US);
    fab_view_unref(v);
    cc_report_advice(cc, now);
    agent_pump(cc->agent);
}

/* ---- queries --------------------------------------------------------------------------------- */

void cc_get_status(const struct cc *cc, struct cc_status *ret)
{
    const struct fab_congestion *c = &cc->settings;
    *ret = (struct cc_status){
        .apply = cc_applies(cc),
        .profile = cc->in.config->policy.congestion.profile,
        .generation = cc->generation,
        .settings = c->port_count + c->adapter_count,
        .compute_us = cc->compute_us,
        .reads = cc->reads,
        .writes = cc->writes,
        .log_reads = cc->logs.reads,
        .log_events = cc->logs.events,
        .changed = cc->changed,
    };
    for (uint16_t i = 0; i < c->adapter_count; i++)
        if (c->adapter_basis[i].fan_in > ret->fan_in)
            ret->fan_in = c->adapter_basis[i].fan_in;
    for (uint32_t i = 0; i < cc->device_count; i++)
        ret->devices[cc->devices[i].state]++;
    for (uint32_t i = 0; i < cc->device_count; i++)
        ret->without_log += cc->devices[i].no_log;
    uint64_t now = clock_now_us();
    for (uint32_t i = 0; i < cc->device_count; i++)
        ret->changed_recently +=
            cc->devices[i].changed_us > 0 && now - cc->devices[i].changed_us < RECENT_US;
}

static struct cc_device_status status_of(const struct cc_device *d)
{
    return (struct cc_device_status){
        .guid = d->node_guid,
        .port = d->num,
        .state = (enum cc_state)d->state,
        .unresponsive = d->unresponsive,
        .tries = d->tries,
        .gives_up = is_troubled(d) && d->due_us == UINT64_MAX,
    };
}

uint32_t cc_not_programmed(const struct cc *cc, struct cc_device_status *ret, uint32_t max)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < cc->device_count; i++) {
        if (!is_troubled(&cc->devices[i]))
            continue;
        if (count < max)
            ret[count] = status_of(&cc->devices[i]);
        count++;
    }
    return count;
}

bool cc_device_of(const struct cc *cc, const struct fab_fabric *f, uint32_t port,
                  struct cc_device_status *ret)
{
    uint32_t node = fab_fabric_port(f, port)->node, i;
    uint32_t owner = fab_fabric_node_is_switch(f, node) ? f->nodes[node].first_port : port;
    if (!fab_base_map_get(&cc->index, fab_fabric_port(f, owner)->guid, &i))
        return false;
    *ret = status_of(&cc->devices[i]);
    return true;
}

int cc_settings(struct cc *cc, const struct fab_view *v, const struct fab_congestion **ret)
{
    if (cc->generation != v->generation || cc->stale)
        return FAB_E_BUSY;
    *ret = &cc->settings;
    return FAB_OK;
}
