/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The families of metrics about the manager and about the whole fabric. Names of counters end in
 * _total, and times are in seconds. The name of a released metric never changes.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/events.h"
#include "fabricd/cc/cc.h"
#include "fabricd/inventory/inventory.h"
#include "fabricd/metrics/private.h"
#include "fabricd/store/store.h"
#include "libfabmgr/base/version.h"
#include "libfabmgr/grpc/grpc.h"

static void seconds(struct page *to, const char *name, uint64_t us, const char *help)
{
    page_own_family(to, name, PAGE_GAUGE, help);
    fab_base_text_addf(to->text, "fabricd_%s %.6f\n", name, (double)us / 1e6);
}

/* A histogram of durations. within[i] counts the durations that are at most bounds_us[i], but
 * longer than bounds_us[i - 1]. */
struct times {
    const uint32_t *bounds_us;
    const uint64_t *within;
    int bounds;
    uint64_t count, sum_us;
};

static void histogram(struct page *to, const char *name, const struct times *t, const char *help)
{
    uint64_t sum = 0;
    page_own_family(to, name, PAGE_HISTOGRAM, help);
    for (int i = 0; i < t->bounds; i++) {
        sum += t->within[i];
        fab_base_text_addf(to->text, "fabricd_%s_bucket{le=\"%g\"} %" PRIu64 "\n", name,
                           (double)t->bounds_us[i] / 1e6, sum);
    }
    fab_base_text_addf(to->text,
                       "fabricd_%s_bucket{le=\"+Inf\"} %" PRIu64 "\n"
                       "fabricd_%s_count %" PRIu64 "\n"
                       "fabricd_%s_sum %.6f\n",
                       name, t->count, name, t->count, name, (double)t->sum_us / 1e6);
}

static void reroutes(struct page *to, const struct sm_reroute_times *t)
{
    const struct times times = {sm_reroute_bounds_us, t->within, SM_REROUTE_BOUNDS, t->count,
                                t->sum_us};
    histogram(
        to, "reroute_seconds", &times,
        "Time from the trap (or the start of the work) to the last acknowledged table write.");
}

static void turns(struct page *to, const struct loop_iterations *t)
{
    const struct times times = {loop_iteration_bounds_us, t->within, LOOP_ITERATION_BOUNDS,
                                t->count, t->sum_us};
    histogram(to, "loop_iteration_seconds", &times,
              "Processor time of one iteration of the event loop; requests wait that long.");
    page_own_family(to, "loop_iteration_longest_seconds", PAGE_GAUGE,
                    "Processor time of the longest iteration, and the work that took most of it.");
    if (t->longest_what)
        fab_base_text_addf(to->text, "fabricd_loop_iteration_longest_seconds{what=\"%s\"} %.6f\n",
                           t->longest_what, (double)t->longest_us / 1e6);
    page_own_family(to, "loop_longest_seconds", PAGE_GAUGE,
                    "Longest processor time of one kind of work in the event loop.");
    for (uint32_t i = 0; i < t->names; i++)
        fab_base_text_addf(to->text, "fabricd_loop_longest_seconds{what=\"%s\"} %.6f\n",
                           t->held[i].what, (double)t->held[i].longest_us / 1e6);
}

static void add_phase_row(struct page *to, const char *name, const char *suffix,
                          const struct sm_phase_time *t)
{
    fab_base_text_addf(to->text, "fabricd_%s%s{round=\"%s\",phase=\"%s\"} ", name, suffix, t->round,
                       t->phase);
}

/* Writes a summary without quantiles: for each phase, how often it ended, and how long it took in
 * total. offset: the offset of the total, a uint64_t, in struct sm_phase_time. a_second: one second
 * in the unit of the total. Leaves out phases whose total is 0. */
static void phase_summary(struct page *to, const char *name, const struct sm_phase_time *t,
                          uint32_t count, size_t offset, double a_second, const char *help)
{
    page_own_family(to, name, PAGE_SUMMARY, help);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t time;
        memcpy(&time, (const char *)&t[i] + offset, sizeof(time));
        if (time == 0)
            continue;
        add_phase_row(to, name, "_count", &t[i]);
        fab_base_text_addf(to->text, "%" PRIu64 "\n", t[i].count);
        add_phase_row(to, name, "_sum", &t[i]);
        fab_base_text_addf(to->text, "%.6f\n", (double)time / a_second);
    }
}

static void phases(struct page *to, const struct sm *s)
{
    struct sm_phase_time t[SM_PHASE_TIMES_MAX];
    uint32_t count = sm_phase_times(s, t);
    phase_summary(to, "phase_seconds", t, count, offsetof(struct sm_phase_time, wall_us), 1e6,
                  "Duration of each phase of each kind of round.");
    phase_summary(to, "phase_loop_cpu_seconds", t, count, offsetof(struct sm_phase_time, loop_ns),
                  1e9,
                  "Processor time of the event loop during each phase, other requests included.");
    phase_summary(to, "phase_worker_cpu_seconds", t, count,
                  offsetof(struct sm_phase_time, worker_ns), 1e9,
                  "Processor time of the worker thread of each phase, without the thread pool.");
    page_own_family(to, "phase_longest_seconds", PAGE_GAUGE, "Longest duration of each phase.");
    for (uint32_t i = 0; i < count; i++) {
        add_phase_row(to, "phase_longest_seconds", "", &t[i]);
        fab_base_text_addf(to->text, "%.6f\n", (double)t[i].longest_us / 1e6);
    }
}

static void management(struct page *to, const struct sm_status *s)
{
    page_counter(to, "smps_sent", s->smps_sent,
                 "Management packets (SMPs) sent, retries included.");
    page_counter(to, "smps_retried", s->smps_retried, "SMPs that were sent again.");
    page_counter(to, "smps_timed_out", s->smps_timed_out,
                 "SMP requests that got no answer after all retries.");
    page_counter(
        to, "smps_mismatched", s->smps_mismatched,
        "Answers with the transaction ID of an SMP, but from elsewhere or about something else: "
        "forged, or of a faulty device.");
    page_gauge(to, "smps_in_flight", s->in_flight, "SMP requests in flight.");
    page_gauge(to, "smps_window", s->window, "Current limit of SMP requests in flight.");
}

static void scrub(struct page *to, const struct sm_status *s)
{
    page_counter(to, "scrub_turns", s->scrub_turns,
                 "Complete turns of the scrub over tables and ports.");
    page_counter(to, "settings_changed", s->settings_changed,
                 "Attributes of devices that differed from what the manager wrote.");
    page_gauge(to, "settings_not_restored", s->settings_not_restored,
               "Nodes whose settings the manager has not written again yet.");
}

static void proofs(struct page *to, const struct sm_proof *p)
{
    page_gauge(to, "proof_generation", p->last.generation,
               "Generation of the tables in the last proof of all tables.");
    page_own_family(to, "proof_timestamp_seconds", PAGE_GAUGE,
                    "Unix time of the last proof of all tables.");
    fab_base_text_addf(to->text, "fabricd_proof_timestamp_seconds %.3f\n",
                       (double)p->last.time_us / 1e6);
    page_own_family(to, "proof_duration_seconds", PAGE_GAUGE,
                    "Duration of the last proof of all tables, with its pauses.");
    fab_base_text_addf(to->text, "fabricd_proof_duration_seconds %.6f\n",
                       (double)p->last.duration_us / 1e6);
    page_gauge(to, "proof_due", p->due,
               "1: local repairs changed the tables since the last proof of all tables.");
    page_counter(to, "background_proofs", p->proofs, "Proofs of all tables after local repairs.");
    page_counter(to, "background_proof_failures", p->failures,
                 "Background proofs that refuted tables which local repairs had proved.");
    page_own_family(to, "background_proof_cpu_seconds", PAGE_COUNTER,
                    "Processor time that the background proofs have taken.");
    fab_base_text_addf(to->text, "fabricd_background_proof_cpu_seconds_total %.6f\n",
                       (double)p->cpu_us / 1e6);
}

static void key_violations(struct page *to, const struct sm_trap_counts *t)
{
    static const char *const keys[SM_KEYS] = {
        [SM_KEY_M] = "M_Key", [SM_KEY_P] = "P_Key", [SM_KEY_Q] = "Q_Key"};
    page_own_family(
        to, "key_violations", PAGE_COUNTER,
        "Requests with a wrong M_Key, and packets with a wrong P_Key or Q_Key, that devices "
        "counted.");
    for (int i = 0; i < SM_KEYS; i++)
        fab_base_text_addf(to->text, "fabricd_key_violations_total{key=\"%s\"} %" PRIu64 "\n",
                           keys[i], t->violations[i]);
}

static void traps(struct page *to, const struct sm_trap_counts *t)
{
    page_counter(to, "traps", t->received, "Traps received.");
    page_counter(to, "traps_repressed", t->repressed,
                 "Traps beyond the limit of their source, which had no effect.");
    page_counter(to, "traps_refused", t->refused, "Traps that their sender cannot issue.");
    page_counter(to, "traps_unconfirmed", t->unconfirmed,
                 "Traps that were not forwarded, as the device did not answer at its place.");
    key_violations(to, t);
    page_counter(to, "key_violations_unconfirmed", t->violations_unconfirmed,
                 "Traps about wrong keys whose device had not counted another violation.");
    page_counter(to, "trap_sweeps", t->sweeps, "Heavy sweeps because of traps from unknown LIDs.");
}

static void manager(struct page *to, const struct sm_status *s)
{
    page_own_family(to, "build", PAGE_INFO, "The version of fabricd.");
    fab_base_text_addf(to->text, "fabricd_build_info{version=\"%s\"} 1\n", fab_base_version());
    seconds(to, "uptime_seconds", s->uptime_us, "Time since the manager started.");
    page_gauge(to, "master", s->role == FAB_SM_MASTER, "1: this subnet manager is master.");
    page_gauge(
        to, "alarm", s->alarm[0] != '\0',
        "1: new tables failed their proof or no engine supports the topology; the earlier tables "
        "stay active.");
    page_gauge(
        to, "frozen", s->frozen[0] != '\0',
        "1: an operator has frozen the manager, so that it writes only repairs, or nothing.");
    page_gauge(to, "device_lost", s->device_alarm[0] != '\0',
               "1: the manager's own port is gone, so that it manages nothing.");
    page_gauge(to, "generation", s->generation, "Generation of the published view; 0: none yet.");
    page_gauge(to, "unresponsive_ports", s->unresponsive, "Ports behind which no device answers.");
    page_gauge(to, "unapproved", s->unapproved,
               "Devices and links between switches that are not in the baseline.");
    page_gauge(to, "waiting_names", s->waiting_names, "Nodes whose names wait for an approval.");
    page_counter(to, "sweeps", s->sweeps, "Heavy sweeps.");
    seconds(to, "last_sweep_seconds", s->last_sweep_us, "Duration of the last heavy sweep.");
    seconds(to, "last_reroute_seconds", s->last_reroute_us, "Duration of the last reroute.");
}

static void fabric(struct page *to, const struct sm_status *s, const struct fab_fabric *f,
                   const struct fab_census *c)
{
    page_gauge(to, "switches", f ? f->switch_count : 0, "Switches in the fabric.");
    page_gauge(to, "other_nodes", f ? f->node_count - f->switch_count : 0, "Adapters and routers.");
    page_gauge(to, "endports", c->endports, "Ports of adapters and routers that are up.");
    page_gauge(to, "links", f ? f->link_count : 0, "Links in service.");
    page_gauge(to, "links_active", c->active_links, "Links with both ports in state Active.");
    page_gauge(to, "links_degraded", c->degraded_links,
               "Links that run below the best width or speed that both ports have enabled.");
    page_gauge(to, "links_held_down", s->links_held,
               "Links excluded from the routes because they flap.");
    page_gauge(to, "links_isolated", s->links_isolated, "Isolated links.");
    page_counter(to, "links_lost", s->links_lost,
                 "Links that went down or could not be reached any more.");
    page_counter(to, "links_gained", s->links_gained,
                 "Links that came up or could be reached again.");
}

/* Writes the metrics about the reads of counters, the traffic of the whole fabric, and the history
 * of counters. */
static void traffic(struct page *to, const struct pm *pm, struct counters *history)
{
    struct counters_health h;
    struct pm_status s;
    pm_get_status(pm, &s);
    page_counter(to, "port_reads", s.reads, "Reads of the counters of a port.");
    page_counter(to, "port_reads_failed", s.failed, "Reads that failed.");
    page_gauge(to, "links_unhealthy", s.unhealthy,
               "Links with an error counter above its threshold.");
    page_counter(to, "port_read_rounds", s.passes, "Complete reads of the counters of all ports.");
    page_gauge(to, "ports_read", s.ports, "Ports whose counters were read.");
    page_gauge(to, "ports_sent_bytes_per_second", s.bytes_per_s,
               "Sum of the data that all ports sent in a second, between their last two reads.");
    page_gauge(to, "ports_sent_packets_per_second", s.packets_per_s,
               "Sum of the packets that all ports sent in a second, between their last two reads.");
    if (!history)
        return;
    counters_get_health(history, &h);
    page_gauge(to, "history_bytes", h.bytes, "Size of the history of counters.");
    page_gauge(to, "history_failing", h.failing,
               "1: the last round could not be written into the history of counters.");
    page_counter(to, "history_rounds", h.written, "Rounds written into the history of counters.");
    page_counter(to, "history_rounds_lost", h.dropped,
                 "Rounds that are not in the history of counters, because the disk failed.");
}

/* Writes the metrics about what devices, cables and optics say about themselves. */
static void inventory(struct page *to, const struct inventory *inv)
{
    struct inventory_status s;
    uint32_t count;
    const struct inventory_firmware *firmware = inventory_firmwares(inv, &count);
    inventory_get_status(inv, &s);
    page_own_family(to, "inventory_nodes", PAGE_GAUGE, "Nodes by the state of their inventory.");
    for (int i = 0; i < 4; i++)
        fab_base_text_addf(to->text, "fabricd_inventory_nodes{state=\"%s\"} %u\n",
                           inventory_state_name((enum inventory_state)i), s.state[i]);
    page_own_family(to, "inventory_firmware_nodes", PAGE_GAUGE, "Nodes by model and firmware.");
    for (uint32_t i = 0; i < count; i++) {
        fab_base_text_addf(to->text, "fabricd_inventory_firmware_nodes{device_id=\"0x%04x\",",
                           firmware[i].device_id);
        page_label(to->text, "psid", firmware[i].psid);
        fab_base_text_add(to->text, ",");
        page_label(to->text, "firmware", firmware[i].version);
        fab_base_text_addf(to->text, "} %u\n", firmware[i].nodes);
    }
    page_gauge(to, "inventory_firmware_odd", s.odd,
               "Nodes with other firmware than most nodes of their model.");
    page_gauge(to, "inventory_temperatures_high", s.hot,
               "Devices, cables and optics above a limit of their temperature.");
    page_gauge(to, "inventory_cables", s.modules, "Ends of cables, and optics, that are known.");
    page_counter(to, "inventory_requests", s.requests, "Requests for vendor attributes sent.");
    page_counter(to, "inventory_requests_failed", s.failed,
                 "Requests for vendor attributes that were refused or not answered.");
}

static void multicast(struct page *to, const struct sm_multicast_status *m)
{
    page_gauge(to, "multicast_groups", m->groups, "Multicast groups.");
    page_gauge(to, "multicast_members", m->members, "Members of multicast groups.");
    page_gauge(to, "multicast_lids", m->mlids, "Multicast LIDs in use.");
    page_gauge(to, "multicast_lids_max", m->room,
               "Multicast LIDs for which the smallest forwarding table has entries.");
    page_gauge(to, "multicast_absent", m->absent, "Members whose port is not in the fabric.");
    page_gauge(to, "multicast_unresponsive", m->unresponsive,
               "Switches that did not accept their multicast tables.");
    page_gauge(to, "multicast_pending", m->pending,
               "1: multicast tables are being written or wait to be.");
    page_counter(to, "multicast_writes", m->writes,
                 "Blocks of multicast forwarding tables written.");
}

static void congestion(struct page *to, const struct pm *pm, const struct cc *cc)
{
    struct fab_congestion_observed seen;
    struct cc_status s;
    cc_get_status(cc, &s);
    pm_congestion_seen(pm, &seen);
    page_own_family(to, "congestion_devices", PAGE_GAUGE,
                    "Devices by their state in congestion control.");
    for (int i = 0; i < CC_STATES; i++)
        fab_base_text_addf(to->text, "fabricd_congestion_devices{state=\"%s\"} %u\n",
                           cc_state_name((enum cc_state)i), s.devices[i]);
    page_counter(to, "congestion_writes", s.writes, "Congestion settings written into devices.");
    page_counter(to, "congestion_log_events", s.log_events, "Events found in congestion logs.");
    page_counter(to, "congestion_changed", s.changed,
                 "How often a device had other settings than the manager wrote.");
    page_gauge(to, "congestion_endports_marked", seen.congested_endports,
               "Endports that receive marked packets (FECN).");
    page_gauge(to, "congestion_endports_throttled", seen.slowed,
               "Endports that receive notifications (BECN) and send more slowly.");
    page_gauge(to, "congestion_ports_congested", seen.congested_ports,
               "Switch ports that became congested.");
    page_gauge(to, "congestion_ports_waiting", seen.waiting,
               "Ports that wait for credits more than a hundredth of their time.");
}

/* Returns true if a row of event_rows before row `i` has the same type and severity. One sample
 * counts the events of all these rows. */
static bool is_counted_before(unsigned i)
{
    const struct event_row *row = event_rows;
    for (unsigned j = 0; j < i; j++)
        if (row[j].of == row[i].of && row[j].severity == row[i].severity)
            return true;
    return false;
}

static void events(struct page *to, const struct bus *bus)
{
    static const char *const severities[] = {"debug", "info", "warning", "error"};
    const struct event_row *row = event_rows;
    page_own_family(to, "events", PAGE_COUNTER,
                    "Events by type and severity; see fabricd-events(7).");
    for (unsigned i = 0; i < EVENT_IDS; i++) {
        if (is_counted_before(i))
            continue;
        uint64_t count = 0;
        for (unsigned j = i; j < EVENT_IDS; j++)
            if (row[j].of == row[i].of && row[j].severity == row[i].severity)
                count += bus_counted(bus, j);
        fab_base_text_addf(to->text,
                           "fabricd_events_total{type=\"%s\",severity=\"%s\"} %" PRIu64 "\n",
                           row[row[i].of].type, severities[row[i].severity], count);
    }
}

static void contingencies(struct page *to, const struct sm *s)
{
    struct sm_contingencies c;
    sm_get_contingencies(s, &c);
    if (c.budget == 0)
        return;
    page_gauge(to, "contingency_cases", c.cases,
               "Possible failures of one link between switches or of one switch.");
    page_gauge(to, "contingency_current", c.current,
               "Failures whose effects are computed or checked for the active tables.");
    page_gauge(to, "contingency_plans", c.all ? c.all->plans : 0,
               "Failures whose repair is in memory, ready to be written.");
    page_gauge(to, "contingency_memory_bytes", c.all ? c.all->memory : 0,
               "Memory of the contingency plans.");
    page_own_family(to, "contingency_cpu_seconds", PAGE_COUNTER,
                    "Processor time that the computation of contingencies has taken.");
    fab_base_text_addf(to->text, "fabricd_contingency_cpu_seconds_total %.6f\n",
                       (double)c.cpu_us / 1e6);
}

static void store(struct page *to, struct store *s)
{
    page_gauge(to, "store_failing", store_is_failing(s),
               "1: the database cannot be written, so that changes and registrations are refused.");
    page_counter(
        to, "store_dropped", store_dropped(s),
        "Records that were dropped because the database was too slow or could not be written.");
}

static void expiry(struct page *to, const struct tls_expiry *e)
{
    static const char *const names[TLS_FILES] = {"cert", "ca", "crl"};
    page_own_family(
        to, "tls_expiry_timestamp_seconds", PAGE_GAUGE,
        "Unix time at which the first certificate or revocation list in a TLS file expires.");
    for (int f = 0; f < TLS_FILES; f++)
        if (e->file[f].at_s != 0)
            fab_base_text_addf(to->text,
                               "fabricd_tls_expiry_timestamp_seconds{file=\"%s\"} %" PRId64 "\n",
                               names[f], e->file[f].at_s);
}

/* Writes the metrics about the making of these pages. */
static void pages(struct page *to, const struct page_statistics *s)
{
    page_own_family(to, "metrics_page_seconds", PAGE_SUMMARY,
                    "Time from the request for a page of metrics until the page is made.");
    fab_base_text_addf(to->text,
                       "fabricd_metrics_page_seconds_count %" PRIu64 "\n"
                       "fabricd_metrics_page_seconds_sum %.6f\n",
                       s->pages, (double)s->us / 1e6);
    page_gauge(to, "metrics_page_bytes", s->last_bytes,
               "Size of the page of metrics before this one.");
    page_gauge(to, "metrics_port_series", s->port_series, "Time series of ports in this page.");
    page_gauge(to, "metrics_port_series_omitted", s->port_series_omitted,
               "Time series of ports that metrics.max_series keeps out of this page.");
}

void page_manager(const struct metrics_input *in, const struct page_statistics *statistics,
                  struct page *to)
{
    struct sm_status status;
    struct sm_multicast_status multicasts;
    struct loop_iterations loop_iterations;
    struct fab_view *v = sm_view(in->sm); /* NULL: no view is published yet */
    struct fab_census census = sm_census(in->sm);
    sm_get_status(in->sm, &status);
    sm_get_multicast(in->sm, &multicasts);
    loop_get_iterations(in->loop, &loop_iterations);
    manager(to, &status);
    if (in->store != NULL)
        store(to, in->store);
    if (in->expiry != NULL)
        expiry(to, in->expiry);
    events(to, in->bus);
    reroutes(to, &status.reroutes);
    management(to, &status);
    traps(to, &status.traps);
    scrub(to, &status);
    proofs(to, &status.proof);
    turns(to, &loop_iterations);
    phases(to, in->sm);
    fabric(to, &status, v ? v->fabric : NULL, &census);
    multicast(to, &multicasts);
    contingencies(to, in->sm);
    traffic(to, in->pm, in->history);
    congestion(to, in->pm, in->cc);
    if (in->inventory && in->config->inventory.read)
        inventory(to, in->inventory);
    page_clients(in, to);
    if (statistics)
        pages(to, statistics);
    fab_view_unref(v);
}
