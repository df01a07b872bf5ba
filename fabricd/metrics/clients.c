/* SPDX-License-Identifier: BSD-3-Clause */
/* The families of metrics about the programs with which the manager communicates: hosts (subnet
 * administration), the managers that share its state, clients of the RPC server, and targets of
 * alerts. */
#include <inttypes.h>

#include "fabricd/metrics/private.h"
#include "libfabmgr/grpc/grpc.h"

static void administration(struct page *to, const struct sa *sa)
{
    struct sa_stats s;
    sa_get_stats(sa, &s);
    page_counter(to, "sa_requests", s.requests, "Requests to the subnet administrator.");
    page_counter(to, "sa_refused", s.refused, "Answers with an error status, BUSY among them.");
    page_counter(to, "sa_busy", s.busy, "Answers with status BUSY.");
    page_counter(to, "sa_dropped", s.dropped, "Requests dropped without an answer.");
    page_counter(to, "sa_over_quota", s.over_quota, "Registrations refused because of a quota.");
    page_counter(to, "sa_over_rate", s.over_rate,
                 "Requests dropped because their port sent too many a second.");
    page_gauge(to, "sa_services", sa_services(sa)->count, "Registered services.");
    page_gauge(to, "sa_subscriptions", sa_subscriptions(sa)->count, "Subscriptions to notices.");
    page_counter(to, "sa_notices", s.notices, "Notices that had to be reported.");
    page_counter(to, "sa_reports", s.reports, "Reports sent, repetitions included.");
    page_counter(to, "sa_reports_answered", s.reports_answered, "Reports that were answered.");
    page_counter(to, "sa_reports_lost", s.reports_lost,
                 "Notices that a subscriber missed because it was too slow.");
    page_counter(to, "sa_subscriptions_ended", s.subscriptions_ended,
                 "Subscriptions that the manager ended.");
}

static void replication(struct page *to, const struct replica *replica)
{
    struct replica_status s;
    replica_get_status(replica, &s);
    page_gauge(to, "replication_majority", s.quorum,
               "1 if a majority of the etcd servers answers.");
    page_gauge(to, "replication_leads", s.role == REPLICA_LEADS,
               "1 if this manager sends its changes to the others.");
    page_gauge(to, "replication_pending", s.pending, "Changed rows that are not confirmed.");
    page_counter(to, "replication_confirmed", s.confirmed, "Rows that a majority confirmed.");
    page_counter(to, "replication_received", s.received, "Rows received from other managers.");
    page_counter(to, "replication_dropped", s.dropped,
                 "Changes dropped because another manager led before they were confirmed.");
}

static void calls(struct page *to, const struct call_counts *c)
{
    page_own_family(to, "rpc_calls", PAGE_COUNTER,
                    "Ended RPC calls by role of the caller and gRPC status.");
    for (unsigned role = 0; role < CALL_COUNTS_ROLES; role++)
        for (int code = 0; code < CALL_COUNTS_CODES; code++)
            if (c->ended[role][code] > 0)
                fab_base_text_addf(
                    to->text, "fabricd_rpc_calls_total{role=\"%s\",code=\"%s\"} %" PRIu64 "\n",
                    config_role_name(role), fab_grpc_code_name(code), c->ended[role][code]);
}

static void studies(struct page *to, const struct call_counts *c)
{
    static const char *const limits[STUDY_LIMITS] = {"client", "all", "cpu"};
    page_gauge(to, "rpc_studies_running", c->studies_running,
               "RPC calls with a long computation (studies) whose computation is running.");
    page_gauge(to, "rpc_studies_queued", c->studies_queued, "Studies that wait for their turn.");
    page_own_family(
        to, "rpc_studies_refused", PAGE_COUNTER,
        "Studies refused by the limit of one client or of all clients, or ended by the limit of "
        "CPU time.");
    for (int i = 0; i < STUDY_LIMITS; i++)
        fab_base_text_addf(to->text,
                           "fabricd_rpc_studies_refused_total{limit=\"%s\"} %" PRIu64 "\n",
                           limits[i], c->studies_refused[i]);
}

static void limits(struct page *to, const struct call_counts *c)
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
    page_own_family(
        to, "rpc_limited", PAGE_COUNTER,
        "RPC connections that a limit closed or turned away, and calls that it refused.");
    for (int i = 0; i < CALL_LIMITS; i++)
        fab_base_text_addf(to->text, "fabricd_rpc_limited_total{limit=\"%s\"} %" PRIu64 "\n",
                           names[i], c->limited[i]);
}

/* The families about alerts. Each has one sample for each target. */
static const struct alert_family {
    const char *name;
    enum page_type type;
    const char *help;
} alert_families[] = {
    {"alerts_sent", PAGE_COUNTER, "Alerts sent to a target of the setting alerts."},
    {"alerts_lost", PAGE_COUNTER, "Alerts that were dropped instead of sent."},
    {"alerts_queued", PAGE_GAUGE, "Alerts that wait for a target."},
    {"alerts_failing", PAGE_GAUGE, "1: the last try to send alerts failed."},
};

static void alerts(struct page *to, const struct alerts *a)
{
    for (size_t f = 0; f < sizeof(alert_families) / sizeof(*alert_families); f++) {
        const struct alert_family *row = &alert_families[f];
        page_own_family(to, row->name, row->type, row->help);
        for (size_t i = 0; i < alerts_count(a); i++) {
            struct alerts_status s;
            alerts_get_status(a, i, &s);
            const uint64_t values[] = {s.sent, s.lost, s.queued, s.failing};
            fab_base_text_addf(to->text, "fabricd_%s%s{target=\"%s\"} %" PRIu64 "\n", row->name,
                               row->type == PAGE_COUNTER ? "_total" : "", s.target, values[f]);
        }
    }
}

void page_clients(const struct metrics_input *in, struct page *to)
{
    if (in->sa)
        administration(to, in->sa);
    if (in->replica)
        replication(to, in->replica);
    if (in->calls) {
        calls(to, in->calls);
        studies(to, in->calls);
        limits(to, in->calls);
    }
    if (alerts_count(in->alerts) > 0)
        alerts(to, in->alerts);
}
