/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the metrics as text, as OpenMetrics 1.0 specifies. Each family of metrics has a TYPE and a
 * HELP line. Names of counters end in _total, times are in seconds, and the last line is "# EOF".
 * The name of a released metric never changes.
 */
#include "fabricd/metrics/metrics.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/events.h"
#include "fabricd/cc/cc.h"
#include "fabricd/store/store.h"
#include "libfabmgr/base/version.h"
#include "libfabmgr/grpc/grpc.h"

static void family(struct fab_text *to, const char *name, const char *type, const char *help)
{
    fab_base_text_addf(to, "# TYPE fabricd_%s %s\n# HELP fabricd_%s %s\n", name, type, name, help);
}

static void counter(struct fab_text *to, const char *name, uint64_t value, const char *help)
{
    family(to, name, "counter", help);
    fab_base_text_addf(to, "fabricd_%s_total %" PRIu64 "\n", name, value);
}

static void gauge(struct fab_text *to, const char *name, uint64_t value, const char *help)
{
    family(to, name, "gauge", help);
    fab_base_text_addf(to, "fabricd_%s %" PRIu64 "\n", name, value);
}

static void seconds(struct fab_text *to, const char *name, uint64_t us, const char *help)
{
    family(to, name, "gauge", help);
    fab_base_text_addf(to, "fabricd_%s %.6f\n", name, (double)us / 1e6);
}

/* A histogram of durations. within[i] is the number of durations that are longer than bounds_us[i -
 * 1] and at most bounds_us[i]. */
struct times {
    const uint32_t *bounds_us;
    const uint64_t *within;
    int bounds;
    uint64_t count, sum_us;
};

static void histogram(struct fab_text *to, const char *name, const struct times *t,
                      const char *help)
{
    uint64_t sum = 0;
    family(to, name, "histogram", help);
    for (int i = 0; i < t->bounds; i++) {
        sum += t->within[i];
        fab_base_text_addf(to, "fabricd_%s_bucket{le=\"%g\"} %" PRIu64 "\n", name,
                           (double)t->bounds_us[i] / 1e6, sum);
    }
    fab_base_text_addf(to,
                       "fabricd_%s_bucket{le=\"+Inf\"} %" PRIu64 "\n"
                       "fabricd_%s_count %" PRIu64 "\n"
                       "fabricd_%s_sum %.6f\n",
                       name, t->count, name, t->count, name, (double)t->sum_us / 1e6);
}

static void reroutes(struct fab_text *to, const struct sm_reroute_times *t)
{
    const struct times times = {sm_reroute_bounds_us, t->within, SM_REROUTE_BOUNDS, t->count,
                                t->sum_us};
    histogram(
        to, "reroute_seconds", &times,
        "Time from the trap (or the start of the work) to the last acknowledged table write.");
}

static void turns(struct fab_text *to, const struct loop_iterations *t)
{
    const struct times times = {loop_iteration_bounds_us, t->within, LOOP_ITERATION_BOUNDS,
                                t->count, t->sum_us};
    histogram(to, "loop_iteration_seconds", &times,
              "Processor time of one iteration of the event loop; requests wait that long.");
    family(to, "loop_iteration_longest_seconds", "gauge",
           "Processor time of the longest iteration, and the work that took most of it.");
    if (t->longest_what)
        fab_base_text_addf(to, "fabricd_loop_iteration_longest_seconds{what=\"%s\"} %.6f\n",
                           t->longest_what, (double)t->longest_us / 1e6);
    family(to, "loop_longest_seconds", "gauge",
           "Longest processor time of one kind of work in the event loop.");
    for (uint32_t i = 0; i < t->names; i++)
        fab_base_text_addf(to, "fabricd_loop_longest_seconds{what=\"%s\"} %.6f\n", t->held[i].what,
                           (double)t->held[i].longest_us / 1e6);
}

static void add_phase_row(struct fab_text *to, const char *name, const char *suffix,
                          const struct sm_phase_time *t)
{
    fab_base_text_addf(to, "fabricd_%s%s{round=\"%s\",phase=\"%s\"} ", name, suffix, t->round,
                       t->phase);
}

/* Writes a summary without quantiles: for each phase, how often it ended, and its total time. The
 * total time is the uint64_t at `offset` in struct sm_phase_time; a_second of its units are one
 * second. Phases whose total time is 0 are left out. */
static void phase_summary(struct fab_text *to, const char *name, const struct sm_phase_time *t,
                          uint32_t count, size_t offset, double a_second, const char *help)
{
    family(to, name, "summary", help);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t time;
        memcpy(&time, (const char *)&t[i] + offset, sizeof(time));
        if (time == 0)
            continue;
        add_phase_row(to, name, "_count", &t[i]);
        fab_base_text_addf(to, "%" PRIu64 "\n", t[i].count);
        add_phase_row(to, name, "_sum", &t[i]);
        fab_base_text_addf(to, "%.6f\n", (double)time / a_second);
    }
}

static void phases(struct fab_text *to, const struct sm *s)
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
    family(to, "phase_longest_seconds", "gauge", "Longest duration of each phase.");
    for (uint32_t i = 0; i < count; i++) {
        add_phase_row(to, "phase_longest_seconds", "", &t[i]);
        fab_base_text_addf(to, "%.6f\n", (double)t[i].longest_us / 1e6);
    }
}

static void management(struct fab_text *to, const struct sm_status *s)
{
    counter(to, "smps_sent", s->smps_sent, "Management packets (SMPs) sent, retries included.");
    counter(to, "smps_retried", s->smps_retried, "SMPs that were sent again.");
    counter(to, "smps_timed_out", s->smps_timed_out,
            "SMP requests that got no answer after all retries.");
    counter(
        to, "smps_mismatched", s->smps_mismatched,
        "Answers with the transaction ID of an SMP, but from elsewhere or about something else: "
        "forged, or of a faulty device.");
    gauge(to, "smps_in_flight", s->in_flight, "SMP requests in flight.");
    gauge(to, "smps_window", s->window, "Current limit of SMP requests in flight.");
}

static void scrub(struct fab_text *to, const struct sm_status *s)
{
    counter(to, "scrub_turns", s->scrub_turns,
            "Complete turns of the scrub over tables and ports.");
    counter(to, "settings_changed", s->settings_changed,
            "Attributes of devices that differed from what the manager wrote.");
    gauge(to, "settings_not_restored", s->settings_not_restored,
          "Nodes whose settings the manager has not written again yet.");
}

static void proofs(struct fab_text *to, const struct sm_proof *p)
{
    gauge(to, "proof_generation", p->last.generation,
          "Generation of the tables in the last proof of all tables.");
    family(to, "proof_timestamp_seconds", "gauge", "Unix time of the last proof of all tables.");
    fab_base_text_addf(to, "fabricd_proof_timestamp_seconds %.3f\n", (double)p->last.time_us / 1e6);
    family(to, "proof_duration_seconds", "gauge",
           "Duration of the last proof of all tables, with its pauses.");
    fab_base_text_addf(to, "fabricd_proof_duration_seconds %.6f\n",
                       (double)p->last.duration_us / 1e6);
    gauge(to, "proof_due", p->due,
          "1: local repairs changed the tables since the last proof of all tables.");
    counter(to, "background_proofs", p->proofs, "Proofs of all tables after local repairs.");
    counter(to, "background_proof_failures", p->failures,
            "Background proofs that refuted tables which local repairs had proved.");
    family(to, "background_proof_cpu_seconds", "counter",
           "Processor time that the background proofs have taken.");
    fab_base_text_addf(to, "fabricd_background_proof_cpu_seconds_total %.6f\n",
                       (double)p->cpu_us / 1e6);
}

static void traps(struct fab_text *to, const struct sm_trap_counts *t)
{
    counter(to, "traps", t->received, "Traps received.");
    counter(to, "traps_repressed", t->repressed,
            "Traps beyond the limit of their source, which had no effect.");
    counter(to, "traps_refused", t->refused, "Traps that their sender cannot issue.");
    counter(to, "traps_unconfirmed", t->unconfirmed,
            "Traps that were not forwarded, as the device did not answer at its place.");
    counter(to, "m_key_violations", t->violations[SM_KEY_M],
            "Requests with a wrong M_Key that devices counted.");
    counter(to, "p_key_violations", t->violations[SM_KEY_P],
            "Packets with a wrong P_Key that ports counted.");
    counter(to, "q_key_violations", t->violations[SM_KEY_Q],
            "Packets with a wrong Q_Key that ports counted.");
    counter(to, "key_violations_unconfirmed", t->violations_unconfirmed,
            "Traps about wrong keys whose device had not counted another violation.");
    counter(to, "trap_sweeps", t->sweeps, "Heavy sweeps because of traps from unknown LIDs.");
}

static void manager(struct fab_text *to, const struct sm_status *s)
{
    family(to, "build", "info", "The version of fabricd.");
    fab_base_text_addf(to, "fabricd_build_info{version=\"%s\"} 1\n", fab_base_version());
    seconds(to, "uptime_seconds", s->uptime_us, "Time since the manager started.");
    gauge(to, "master", s->role == FAB_SM_MASTER, "1: this subnet manager is master.");
    gauge(to, "alarm", s->alarm[0] != '\0',
          "1: new tables failed their proof or no engine supports the topology; the earlier tables "
          "stay active.");
    gauge(to, "device_lost", s->device_alarm[0] != '\0',
          "1: the manager's own port is gone, so that it manages nothing.");
    gauge(to, "generation", s->generation, "Generation of the published view; 0: none yet.");
    gauge(to, "unresponsive_ports", s->unresponsive, "Ports behind which no device answers.");
    gauge(to, "unapproved", s->unapproved,
          "Devices and links between switches that are not in the baseline.");
    gauge(to, "waiting_names", s->waiting_names, "Nodes whose names wait for an approval.");
    counter(to, "sweeps", s->sweeps, "Heavy sweeps.");
    seconds(to, "last_sweep_seconds", s->last_sweep_us, "Duration of the last heavy sweep.");
    seconds(to, "last_reroute_seconds", s->last_reroute_us, "Duration of the last reroute.");
}

static void fabric(struct fab_text *to, const struct sm_status *s, const struct fab_fabric *f,
                   const struct fab_census *c)
{
    gauge(to, "switches", f ? f->switch_count : 0, "Switches in the fabric.");
    gauge(to, "other_nodes", f ? f->node_count - f->switch_count : 0, "Adapters and routers.");
    gauge(to, "endports", c->endports, "Ports of adapters and routers that are up.");
    gauge(to, "links", f ? f->link_count : 0, "Links in service.");
    gauge(to, "links_active", c->active_links, "Links with both ports in state Active.");
    gauge(to, "links_degraded", c->degraded_links,
          "Links that run below the best width or speed that both ports have enabled.");
    gauge(to, "links_held_down", s->links_held,
          "Links excluded from the routes because they flap.");
    gauge(to, "links_isolated", s->links_isolated, "Isolated links.");
    counter(to, "links_lost", s->links_lost,
            "Links that went down or could not be reached any more.");
    counter(to, "links_gained", s->links_gained, "Links that came up or could be reached again.");
}

/* Writes a label of a metric, NAME="VALUE". Quotes and backslashes in the value are escaped. */
static void add_label(struct fab_text *to, const char *name, const char *value)
{
    fab_base_text_addf(to, "%s=\"", name);
    for (; *value != '\0'; value++)
        fab_base_text_addf(to, "%s%c", *value == '"' || *value == '\\' ? "\\" : "", *value);
    fab_base_text_add(to, "\"");
}

static void port_errors(struct fab_text *to, const struct pm_link_end *e)
{
    /* A name may have any bytes. Bytes that are not valid UTF-8 and control characters are replaced
     * by U+FFFD, which has three bytes. */
    char place[3 * sizeof(e->place)];
    fab_grpc_utf8_clean(e->place, strlen(e->place), place, sizeof(place));
    char *slash = strrchr(place, '/');
    if (slash)
        *slash = '\0';
    for (int i = 0; i < FAB_COUNTERS; i++) {
        if (e->total[i] == 0)
            continue;
        fab_base_text_add(to, "fabricd_port_errors_total{");
        add_label(to, "node", place);
        fab_base_text_addf(
            to, ",guid=\"0x%016" PRIx64 "\",port=\"%u\",counter=\"%s\"} %" PRIu64 "\n", e->guid,
            (unsigned)e->port, fab_health_counter_kinds[i].name, e->total[i]);
    }
}

/* Writes the counters of links with recent errors. Other links are left out, so that the page stays
 * short even in a large fabric. */
static void errors(struct fab_text *to, const struct pm *pm)
{
    struct pm_status s;
    pm_get_status(pm, &s);
    counter(to, "counter_reads", s.reads, "Reads of the error counters of a port.");
    counter(to, "counter_reads_failed", s.failed, "Reads that failed.");
    gauge(to, "links_unhealthy", s.unhealthy, "Links with an error counter above its threshold.");
    struct pm_link *link = calloc(s.watched + 1u, sizeof(*link));
    if (!link)
        return;
    pm_links(pm, link, s.watched);
    family(to, "port_errors", "counter",
           "Increases of error counters; only links whose counters rose recently.");
    for (uint32_t i = 0; i < s.watched; i++) {
        port_errors(to, &link[i].end[0]);
        port_errors(to, &link[i].end[1]);
    }
    free(link);
}

/* The traffic of the whole fabric, and the history of counters. The page has no rates of single
 * ports, because a fabric may have a hundred thousand ports. */
static void traffic(struct fab_text *to, const struct pm *pm, struct counters *history)
{
    struct counters_health h;
    struct pm_status s;
    pm_get_status(pm, &s);
    counter(to, "counter_rounds", s.passes, "Complete reads of the counters of all ports.");
    gauge(to, "counter_ports", s.ports, "Ports whose counters were read.");
    gauge(to, "ports_sent_bytes_per_second", s.bytes_per_s,
          "Sum of the data that all ports sent in a second, between their last two reads.");
    gauge(to, "ports_sent_packets_per_second", s.packets_per_s,
          "Sum of the packets that all ports sent in a second, between their last two reads.");
    if (!history)
        return;
    counters_get_health(history, &h);
    gauge(to, "counter_history_bytes", h.bytes, "Size of the history of counters.");
    gauge(to, "counter_history_failing", h.failing,
          "1: the last round could not be written into the history of counters.");
    counter(to, "counter_history_rounds", h.written,
            "Rounds written into the history of counters.");
    counter(to, "counter_history_rounds_lost", h.dropped,
            "Rounds that are not in the history of counters, because the disk failed.");
}

static void multicast(struct fab_text *to, const struct sm_multicast_status *m)
{
    gauge(to, "multicast_groups", m->groups, "Multicast groups.");
    gauge(to, "multicast_members", m->members, "Members of multicast groups.");
    gauge(to, "multicast_lids", m->mlids, "Multicast LIDs in use.");
    gauge(to, "multicast_lids_max", m->room,
          "Multicast LIDs for which the smallest forwarding table has entries.");
    gauge(to, "multicast_absent", m->absent, "Members whose port is not in the fabric.");
    gauge(to, "multicast_unresponsive", m->unresponsive,
          "Switches that did not accept their multicast tables.");
    gauge(to, "multicast_pending", m->pending,
          "1: multicast tables are being written or wait to be.");
    counter(to, "multicast_writes", m->writes, "Blocks of multicast forwarding tables written.");
}

static void congestion(struct fab_text *to, const struct pm *pm, const struct cc *cc)
{
    struct fab_congestion_observed seen;
    struct cc_status s;
    cc_get_status(cc, &s);
    pm_congestion_seen(pm, &seen);
    family(to, "congestion_devices", "gauge", "Devices by their state in congestion control.");
    for (int i = 0; i < CC_STATES; i++)
        fab_base_text_addf(to, "fabricd_congestion_devices{state=\"%s\"} %u\n",
                           cc_state_name((enum cc_state)i), s.devices[i]);
    counter(to, "congestion_writes", s.writes, "Congestion settings written into devices.");
    counter(to, "congestion_log_events", s.log_events, "Events found in congestion logs.");
    counter(to, "congestion_changed", s.changed,
            "How often a device had other settings than the manager wrote.");
    gauge(to, "congestion_endports_marked", seen.congested_endports,
          "Endports that receive marked packets (FECN).");
    gauge(to, "congestion_endports_throttled", seen.slowed,
          "Endports that receive notifications (BECN) and send more slowly.");
    gauge(to, "congestion_ports_congested", seen.congested_ports,
          "Switch ports that became congested.");
    gauge(to, "congestion_ports_waiting", seen.waiting,
          "Ports that wait for credits more than a hundredth of their time.");
}

static void administration(struct fab_text *to, const struct sa *sa)
{
    struct sa_stats s;
    sa_get_stats(sa, &s);
    counter(to, "sa_requests", s.requests, "Requests to the subnet administrator.");
    counter(to, "sa_refused", s.refused, "Answers with an error status, BUSY among them.");
    counter(to, "sa_busy", s.busy, "Answers with status BUSY.");
    counter(to, "sa_dropped", s.dropped, "Requests dropped without an answer.");
    counter(to, "sa_over_quota", s.over_quota, "Registrations refused because of a quota.");
    counter(to, "sa_over_rate", s.over_rate,
            "Requests dropped because their port sent too many a second.");
    gauge(to, "sa_services", sa_services(sa)->count, "Registered services.");
    gauge(to, "sa_subscriptions", sa_subscriptions(sa)->count, "Subscriptions to notices.");
    counter(to, "sa_notices", s.notices, "Notices that had to be reported.");
    counter(to, "sa_reports", s.reports, "Reports sent, repetitions included.");
    counter(to, "sa_reports_answered", s.reports_answered, "Reports that were answered.");
    counter(to, "sa_reports_lost", s.reports_lost,
            "Notices that a subscriber missed because it was too slow.");
    counter(to, "sa_subscriptions_ended", s.subscriptions_ended,
            "Subscriptions that the manager ended.");
}

/* Returns true if an earlier row of the event table has the same type and severity as row i. The
 * metric of that row then includes the events of row i. */
static bool is_counted_before(unsigned i)
{
    const struct event_row *row = event_rows;
    for (unsigned j = 0; j < i; j++)
        if (row[j].of == row[i].of && row[j].severity == row[i].severity)
            return true;
    return false;
}

static void events(struct fab_text *to, const struct bus *bus)
{
    static const char *const severities[] = {"debug", "info", "warning", "error"};
    const struct event_row *row = event_rows;
    family(to, "events", "counter", "Events by type and severity; see fabricd-events(7).");
    for (unsigned i = 0; i < EVENT_IDS; i++) {
        if (is_counted_before(i))
            continue;
        uint64_t count = 0;
        for (unsigned j = i; j < EVENT_IDS; j++)
            if (row[j].of == row[i].of && row[j].severity == row[i].severity)
                count += bus_counted(bus, j);
        fab_base_text_addf(to, "fabricd_events_total{type=\"%s\",severity=\"%s\"} %" PRIu64 "\n",
                           row[row[i].of].type, severities[row[i].severity], count);
    }
}

static void contingencies(struct fab_text *to, const struct sm *s)
{
    struct sm_contingencies c;
    sm_get_contingencies(s, &c);
    if (c.budget == 0)
        return;
    gauge(to, "contingency_cases", c.cases,
          "Possible failures of one link between switches or of one switch.");
    gauge(to, "contingency_current", c.current,
          "Failures whose effects are computed or checked for the active tables.");
    gauge(to, "contingency_plans", c.all ? c.all->plans : 0,
          "Failures whose repair is in memory, ready to be written.");
    gauge(to, "contingency_memory_bytes", c.all ? c.all->memory : 0,
          "Memory of the contingency plans.");
    family(to, "contingency_cpu_seconds", "counter",
           "Processor time that the computation of contingencies has taken.");
    fab_base_text_addf(to, "fabricd_contingency_cpu_seconds_total %.6f\n", (double)c.cpu_us / 1e6);
}

static void calls(struct fab_text *to, const struct call_counts *c)
{
    family(to, "rpc_calls", "counter", "Ended RPC calls by role of the caller and gRPC status.");
    for (unsigned role = 0; role < CALL_COUNTS_ROLES; role++)
        for (int code = 0; code < CALL_COUNTS_CODES; code++)
            if (c->ended[role][code] > 0)
                fab_base_text_addf(
                    to, "fabricd_rpc_calls_total{role=\"%s\",code=\"%s\"} %" PRIu64 "\n",
                    config_role_name(role), fab_grpc_code_name(code), c->ended[role][code]);
}

static void studies(struct fab_text *to, const struct call_counts *c)
{
    static const char *const limits[STUDY_LIMITS] = {"client", "all", "cpu"};
    gauge(to, "rpc_studies_running", c->studies_running,
          "RPC calls with a long computation (studies) whose computation is running.");
    gauge(to, "rpc_studies_queued", c->studies_queued, "Studies that wait for their turn.");
    family(to, "rpc_studies_refused", "counter",
           "Studies refused by the limit of one client or of all clients, or ended by the limit of "
           "CPU time.");
    for (int i = 0; i < STUDY_LIMITS; i++)
        fab_base_text_addf(to, "fabricd_rpc_studies_refused_total{limit=\"%s\"} %" PRIu64 "\n",
                           limits[i], c->studies_refused[i]);
}

static void limits(struct fab_text *to, const struct call_counts *c)
{
    static const char *const names[CALL_LIMITS] = {
        [CALL_LIMIT_HANDSHAKE_TIME] = "handshake-time",
        [CALL_LIMIT_REQUEST_TIME] = "request-time",
        [CALL_LIMIT_FRAMES] = "frames",
        [CALL_LIMIT_HANDSHAKES] = "handshakes",
        [CALL_LIMIT_CONNECTIONS] = "connections",
        [CALL_LIMIT_CALLS] = "calls",
        [CALL_LIMIT_DESCRIPTORS] = "descriptors",
        [CALL_LIMIT_RATE] = "rate",
    };
    family(to, "rpc_limited", "counter",
           "RPC connections that a limit closed or turned away, and calls that it refused.");
    for (int i = 0; i < CALL_LIMITS; i++)
        fab_base_text_addf(to, "fabricd_rpc_limited_total{limit=\"%s\"} %" PRIu64 "\n", names[i],
                           c->limited[i]);
}

static void store(struct fab_text *to, struct store *s)
{
    gauge(to, "store_failing", store_is_failing(s),
          "1: the database cannot be written, so that changes and registrations are refused.");
    counter(to, "store_dropped", store_dropped(s),
            "Records that were dropped because the database was too slow or could not be written.");
}

static void expiry(struct fab_text *to, const struct tls_expiry *e)
{
    static const char *const names[TLS_FILES] = {"cert", "ca", "crl"};
    family(to, "tls_expiry_timestamp_seconds", "gauge",
           "Unix time at which the first certificate or revocation list in a TLS file expires.");
    for (int f = 0; f < TLS_FILES; f++)
        if (e->file[f].at_s != 0)
            fab_base_text_addf(to,
                               "fabricd_tls_expiry_timestamp_seconds{file=\"%s\"} %" PRId64 "\n",
                               names[f], e->file[f].at_s);
}

void metrics_page(const struct metrics_input *in, struct fab_text *to)
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
    errors(to, in->pm);
    traffic(to, in->pm, in->history);
    congestion(to, in->pm, in->cc);
    if (in->sa)
        administration(to, in->sa);
    if (in->calls) {
        calls(to, in->calls);
        studies(to, in->calls);
        limits(to, in->calls);
    }
    fab_base_text_add(to, "# EOF\n");
    fab_view_unref(v);
}
