/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The metrics as text, by OpenMetrics 1.0: each family has its TYPE and HELP, counters end in
 * _total, times are in seconds, the last line is "# EOF". Names stay as they are once released.
 */
#include "fabricd/metrics/page.h"

#include <inttypes.h>

#include "libfabmgr/base/version.h"

static void family(struct fab_text *to, const char *name, const char *type, const char *help)
{
    fab_text_addf(to, "# TYPE fabricd_%s %s\n# HELP fabricd_%s %s\n", name, type, name, help);
}

static void counter(struct fab_text *to, const char *name, uint64_t value, const char *help)
{
    family(to, name, "counter", help);
    fab_text_addf(to, "fabricd_%s_total %" PRIu64 "\n", name, value);
}

static void gauge(struct fab_text *to, const char *name, uint64_t value, const char *help)
{
    family(to, name, "gauge", help);
    fab_text_addf(to, "fabricd_%s %" PRIu64 "\n", name, value);
}

static void seconds(struct fab_text *to, const char *name, uint64_t us, const char *help)
{
    family(to, name, "gauge", help);
    fab_text_addf(to, "fabricd_%s %.6f\n", name, (double)us / 1e6);
}

static void reroutes(struct fab_text *to, const struct sm_reroute_times *t)
{
    uint64_t sum = 0;
    family(to, "reroute_seconds", "histogram",
           "From the trap, or from the start, to the last table write acknowledged.");
    for (int i = 0; i < SM_REROUTE_BOUNDS; i++) {
        sum += t->within[i];
        fab_text_addf(to, "fabricd_reroute_seconds_bucket{le=\"%g\"} %" PRIu64 "\n",
                      (double)sm_reroute_bounds_us[i] / 1e6, sum);
    }
    fab_text_addf(to,
                  "fabricd_reroute_seconds_bucket{le=\"+Inf\"} %" PRIu64 "\n"
                  "fabricd_reroute_seconds_count %" PRIu64 "\n"
                  "fabricd_reroute_seconds_sum %.6f\n",
                  t->count, t->count, (double)t->sum_us / 1e6);
}

static void management(struct fab_text *to, const struct sm_status *s)
{
    counter(to, "smps_sent", s->smps_sent, "Management packets sent, retries included.");
    counter(to, "smps_retried", s->smps_retried, "Management packets sent again.");
    counter(to, "smps_timed_out", s->smps_timed_out, "Requests that were given up.");
    gauge(to, "smps_in_flight", s->in_flight, "Requests without an answer yet.");
    gauge(to, "smps_window", s->window, "Most requests in flight just now.");
}

static void manager(struct fab_text *to, const struct sm_status *s)
{
    family(to, "build", "info", "The version of fabricd.");
    fab_text_addf(to, "fabricd_build_info{version=\"%s\"} 1\n", fab_version());
    seconds(to, "uptime_seconds", s->uptime_us, "Since the manager was started.");
    gauge(to, "master", s->role == FAB_SM_MASTER, "1: this subnet manager is master.");
    gauge(to, "alarm", s->alarm[0] != '\0', "1: new tables were refused, the old ones stay.");
    gauge(to, "generation", s->generation, "Of the published view; 0: none yet.");
    gauge(to, "silent_places", s->silent, "Places that do not answer.");
    counter(to, "sweeps", s->sweeps, "Full sweeps.");
    seconds(to, "last_sweep_seconds", s->last_sweep_us, "Duration of the last full sweep.");
    seconds(to, "last_reroute_seconds", s->last_reroute_us, "Duration of the last reroute.");
}

static uint32_t count_active(const struct fab_fabric *f)
{
    uint32_t count = 0;
    for (uint32_t p = 0; p < f->port_count; p++) {
        uint32_t peer = f->ports[p].peer;
        count += peer != FAB_NONE && p < peer && f->ports[p].info.port_state == FAB_STATE_ACTIVE &&
                 f->ports[peer].info.port_state == FAB_STATE_ACTIVE;
    }
    return count;
}

static uint32_t count_ends(const struct fab_fabric *f)
{
    uint32_t count = 0;
    for (uint32_t p = 0; p < f->port_count; p++)
        count += f->ports[p].num > 0 && fab_port_has_lid(f, p) && fab_port_is_up(f, p);
    return count;
}

static void fabric(struct fab_text *to, const struct sm_status *s, const struct fab_fabric *f)
{
    gauge(to, "switches", f ? f->switch_count : 0, "Switches in the fabric.");
    gauge(to, "other_nodes", f ? f->node_count - f->switch_count : 0, "Adapters and routers.");
    gauge(to, "ends", f ? count_ends(f) : 0, "Ports of adapters and routers that are up.");
    gauge(to, "links", f ? f->link_count : 0, "Cables in service.");
    gauge(to, "links_active", f ? count_active(f) : 0, "Cables of which both ends are Active.");
    gauge(to, "links_held", s->links_held, "Cables kept out of the routes because they flap.");
    counter(to, "links_lost", s->links_lost, "Cables that went down, or out of reach.");
    counter(to, "links_gained", s->links_gained, "Cables that came up, or into reach.");
}

void metrics_page(const struct sm_status *s, const struct fab_view *v, struct fab_text *to)
{
    manager(to, s);
    reroutes(to, &s->reroutes);
    management(to, s);
    fabric(to, s, v ? v->fabric : NULL);
    fab_text_add(to, "# EOF\n");
}
