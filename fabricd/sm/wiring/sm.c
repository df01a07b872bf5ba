/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creates, starts and frees the subnet manager, and reports its status. The other folders do the
 * work; fabricd/sm/README.md describes them.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/apply/apply.h"
#include "fabricd/sm/core/freeze.h"
#include "fabricd/sm/fault/fault.h"
#include "fabricd/sm/ha/ha.h"
#include "fabricd/sm/keys/keys.h"
#include "fabricd/sm/links/links.h"
#include "fabricd/sm/mcast/mcast.h"
#include "fabricd/sm/scrub/scrub.h"
#include "fabricd/sm/sweep/sweep.h"
#include "fabricd/sm/wiring/wiring.h"
#include "libfabmgr/base/status.h"

static void on_unsolicited(void *ctx, const struct transport_mad *mad)
{
    struct sm *s = ctx;
    struct fab_mad head;
    const uint8_t *data;
    size_t len;
    if (mad->qp != 0 || fab_wire_mad_unpack(mad->bytes, mad->len, &head, &data, &len) != FAB_OK)
        return;
    if (head.mgmt_class != FAB_CLASS_SMP_LID && head.mgmt_class != FAB_CLASS_SMP_DIRECTED)
        return;
    if (head.method == FAB_METHOD_TRAP)
        sm_on_trap(s, mad, &head, data, len);
    else if (head.attr_id == FAB_ATTR_SM_INFO &&
             (head.method == FAB_METHOD_GET || head.method == FAB_METHOD_SET))
        sm_on_sminfo(s, mad, &head, data, len);
}

static int new_agent(struct sm *s)
{
    const struct config_smp *smp = &s->in.config->smp;
    uint32_t bears = s->in.transport->window_max ? s->in.transport->window_max : 16;
    uint32_t window = smp->window && smp->window < bears ? smp->window : bears;
    struct fab_mads_config config = {
        .window_start = window < 16 ? window : 16,
        .window_max = window,
        .timeout_us = (uint64_t)smp->timeout_ms * 1000,
        .retries = smp->retries,
    };
    int r = agent_new(s->in.loop, s->in.transport, &config, on_unsolicited, s, &s->agent);
    if (r == FAB_OK)
        s->mads = agent_mads(s->agent);
    return r;
}

/* Initializes the folders of fabricd/sm in the order of their ranks (README.md): a folder may call
 * only folders of lower rank, so those must be initialized before it. */
static int init_folders(struct sm *s)
{
    static int (*const inits[])(struct sm * s) = {sm_core_init,  sm_multicast_init, sm_ha_init,
                                                  sm_links_init, sm_apply_init,     sm_sweep_init,
                                                  sm_scrub_init, sm_keys_init,      sm_fault_init};
    int r = FAB_OK;
    for (size_t i = 0; i < sizeof(inits) / sizeof(*inits) && r == FAB_OK; i++)
        r = inits[i](s);
    return r;
}

int sm_new(const struct sm_input *in, struct sm **ret)
{
    struct sm *s = calloc(1, sizeof(*s));
    if (!s)
        return FAB_E_NOMEM;
    s->in = *in;
    s->wiring = &sm_wiring;
    if (in->rehearsed) {
        sm_wiring_rehearse(&s->rehearsing);
        s->wiring = &s->rehearsing;
    }
    int r = fab_policy_copy(&in->config->policy, &s->policy);
    if (r == FAB_OK && in->store)
        r = sm_model_load_leases(&s->model, in->store);
    if (r == FAB_OK)
        r = sm_model_add_leases(&s->model, s->policy.listed_lids);
    if (r == FAB_OK && in->store)
        r = sm_model_load_places(&s->model, in->store);
    if (r == FAB_OK)
        r = new_agent(s);
    if (r == FAB_OK)
        r = init_folders(s);
    if (r == FAB_OK)
        r = sm_take_over_init(s);
    if (r != FAB_OK) {
        sm_free(s);
        return r;
    }
    *ret = s;
    return FAB_OK;
}

void sm_start(struct sm *s)
{
    if (!s->in.rehearsed)
        sm_ha_announce(s);
    sm_request_heavy(s);
    sm_schedule(s);
}

void sm_device_lost(struct sm *s, const char *reason)
{
    snprintf(s->device_alarm, sizeof(s->device_alarm), "%s", reason);
    if (sm_run_busy(s))
        sm_run_abort(s);
    sm_ha_lose_port(s);
    sm_flap_set_blind(s, true);
    sm_repair_forget(s);
    sm_model_forget(&s->model);
    sm_multicast_forget(s);
    sm_waiters_end(s, FAB_E_DENIED, "the manager's port is gone");
}

void sm_device_back(struct sm *s)
{
    s->device_alarm[0] = '\0';
    sm_ha_find_port(s);
    sm_cause_set(s, "the manager's port is back");
    sm_start(s);
}

/* Puts the priority in the settings into use, and nothing else. */
static void reload_priority(struct sm *s)
{
    uint8_t former_priority = s->policy.sm_priority;
    s->policy.sm_priority = s->in.config->policy.sm_priority;
    sm_ha_reload(s, former_priority);
}

int sm_reload(struct sm *s)
{
    struct fab_policy policy;
    if (sm_freeze_keeps_settings(s)) {
        log_notice("sm", "frozen: the settings wait until the manager is resumed");
        reload_priority(s);
        return FAB_OK;
    }
    int r = fab_policy_copy(&s->in.config->policy, &policy);
    if (r != FAB_OK)
        return r;
    sm_apply_reload(s);
    struct fab_m_keys m_keys = s->policy.m_keys;
    bool keys_listed = !fab_policy_m_key_list_same(s->policy.listed_m_keys, policy.listed_m_keys);
    bool named = !fab_policy_node_names_same(s->policy.node_names, policy.node_names);
    uint8_t former_priority = s->policy.sm_priority;
    fab_policy_fini(&s->policy);
    s->policy = policy;
    sm_keys_reload(s, &m_keys);
    sm_pins_attach(s);
    sm_baseline_reload(s);
    if (sm_background_active(s))
        sm_request(s, SM_REQUEST_BACKGROUND);
    sm_background_drop(s);
    sm_ha_reload(s, former_priority);
    sm_repair_forget(s);
    sm_model_take_target(&s->model, NULL);
    /* a running round may have made its plan with the old policy already */
    bool aborted = sm_run_busy(s);
    if (aborted)
        sm_run_abort(s);
    /* A heavy sweep is needed: it tries the listed keys, and gives nodes their new names. */
    if (aborted || keys_listed || named)
        sm_request_heavy(s);
    sm_request(s, SM_REQUEST_REROUTE);
    sm_multicast_reload(s);
    sm_scrub_reload(s);
    sm_schedule(s);
    return FAB_OK;
}

int sm_find_guid(const struct sm *s, uint64_t guid)
{
    const struct sm_model *m = &s->model;
    if (m->lent)
        return FAB_E_BUSY;
    bool known = (m->fabric != NULL && fab_fabric_node_by_guid(m->fabric, guid) != FAB_NONE) ||
                 sm_model_knows_port_guid(m, guid) ||
                 fab_discover_baseline_has_guid(sm_baseline(s), guid) ||
                 fab_policy_pins_find(sm_pins(s), guid) != NULL;
    return known ? FAB_OK : FAB_E_NOT_FOUND;
}

void sm_free(struct sm *s)
{
    if (!s)
        return;
    sm_core_stop(s);
    sm_take_over_fini(s);
    sm_fault_fini(s);
    sm_keys_fini(s);
    sm_scrub_fini(s);
    sm_sweep_fini(s);
    sm_apply_fini(s);
    sm_links_fini(s);
    sm_ha_fini(s);
    sm_multicast_fini(s);
    agent_free(s->agent);
    sm_core_fini(s);
    sm_model_fini(&s->model);
    fab_policy_fini(&s->policy);
    free(s);
}

/* ---- status and requests ---- */

static const char *state_name(const struct sm *s)
{
    bool master = sm_is_master(s);
    if (s->device_alarm[0] != '\0')
        return "without a port";
    if (sm_run_busy(s) && !s->run.round->standby)
        return sm_run_phase(s)->name;
    if (master &&
        (sm_requested_targets(s)->count ||
         sm_is_requested(s, SM_REQUEST_HEAVY | SM_REQUEST_BACKGROUND) || sm_probe_unchecked(s)))
        /* a sweep is requested but has not begun, mostly because the manager waits for further
         * traps (sweep.trap_settle_ms) */
        return "settling";
    if (master)
        return sm_background_active(s) ? "background sweep" : "idle";
    return fab_smstate_name(s->role.state);
}

void sm_get_status(const struct sm *s, struct sm_status *ret)
{
    struct fab_mads_stats stats;
    fab_mads_stats(s->mads, &stats);
    const struct fab_view *v = sm_shown_view(s);
    bool ours = sm_is_master(s) && v && v->target;
    *ret = (struct sm_status){
        .role = s->role.state,
        .state = state_name(s),
        .generation = v ? v->generation : 0,
        .smps_sent = stats.sent,
        .smps_retried = stats.retried,
        .smps_timed_out = stats.timed_out,
        .smps_mismatched = stats.mismatched,
        .window = stats.window,
        .in_flight = stats.in_flight,
        .unresponsive = sm_unresponsive_count(s),
        .master_guid = sm_ha_master_guid(s),
        .master_lid = ours ? v->target->lids.base[v->fabric->self_port] : sm_ha_master_lid(s),
        .uptime_us = sm_uptime_us(s),
        .links_held = sm_flap_held(s),
        .links_isolated = sm_isolated_count(s),
        .ready = sm_repair_ready(s),
        .traps = sm_trap_counts(s),
    };
    snprintf(ret->alarm, sizeof(ret->alarm), "%s", sm_alarm(s));
    struct sm_freeze_status freeze;
    sm_get_freeze(s, &freeze);
    if (freeze.mode != SM_NOT_FROZEN)
        snprintf(ret->frozen, sizeof(ret->frozen), "%s, by %s", sm_freeze_mode_name(freeze.mode),
                 freeze.by);
    snprintf(ret->device_alarm, sizeof(ret->device_alarm), "%s", s->device_alarm);
    sm_multicast_alarm(s, ret->multicast_alarm, sizeof(ret->multicast_alarm));
    sm_apply_get_status(s, ret);
    sm_scrub_get_status(s, ret);
}

bool sm_is_quiet(const struct sm *s)
{
    return sm_is_master(s) && !sm_run_busy(s) && !sm_fault_waits(s) && s->model.view != NULL;
}

struct fab_view *sm_view_to_show(const struct sm *s)
{
    const struct fab_view *v = sm_shown_view(s);
    return v ? fab_view_ref(v) : NULL;
}

struct fab_view *sm_view(const struct sm *s)
{
    return s->model.view ? fab_view_ref(s->model.view) : NULL;
}

int sm_reroute(struct sm *s, sm_done *done, void *ctx)
{
    int r = sm_wait(s, SM_ROUND_REROUTE, done, ctx);
    if (r != FAB_OK)
        return r;
    sm_request(s, SM_REQUEST_REROUTE);
    sm_schedule(s);
    return FAB_OK;
}

void sm_forget(struct sm *s, void *ctx)
{
    sm_wait_forget(s, ctx);
    sm_handover_drop(s, ctx);
    sm_port_forget(s, ctx);
    sm_baseline_edit_forget(s, ctx);
    sm_dry_run_forget(s, ctx);
}
