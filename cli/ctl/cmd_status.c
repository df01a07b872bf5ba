/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command `fabricctl status` prints the state of the manager and of its fabric on one screen.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/ctl/cmd.h"
#include "cli/ctl/show.h"
#include "fabric/v1/status.pb-c.h"
#include "libfabmgr/base/plural.h"

static const char *role_word(Fabric__V1__ManagerRole role)
{
    static const char *const words[] = {"?", "not active", "discovering", "standby", "master"};
    return (size_t)role < sizeof words / sizeof words[0] ? words[role] : "?";
}

/* Prints how long ago this manager read the fabric that it shows. Only a standby manager has such
 * an age. */
static void say_age(struct out *o, const Fabric__V1__Status *s)
{
    char age[SHOW_LEN];
    if (s->view_age == NULL) {
        out_none(o, "view_age_s", NULL);
        return;
    }
    show_duration(microseconds_of(s->view_age), age);
    out_textf(o, "Shown", OUT_PLAIN, "what this manager read %s ago", age);
    out_number(o, "view_age_s", NULL, OUT_PLAIN, microseconds_of(s->view_age) / 1000000);
}

static void say_manager(struct out *o, const Fabric__V1__Status *s)
{
    char up[SHOW_LEN];
    bool master = s->role == FABRIC__V1__MANAGER_ROLE__MANAGER_ROLE_MASTER;
    show_duration(microseconds_of(s->uptime), up);
    const char *role = role_word(s->role);
    /* For a standby manager, the role and the state are the same word, "standby". Text output
     * prints it only once. */
    bool same = strcmp(role, s->state) == 0;
    out_textf(o, "Manager", master ? OUT_GOOD : OUT_WARN, "%s%s%s; fabricd %s, up %s", role,
              same ? "" : ", ", same ? "" : s->state, s->version, up);
    if (!master && s->master_guid[0] != '\0')
        out_textf(o, "Master", OUT_PLAIN, "LID %u, GUID %s", s->master_lid, s->master_guid);
    out_text(o, "role", NULL, OUT_PLAIN, role_word(s->role));
    out_keys(o, &s->base, "state generation version");
    out_number(o, "uptime_s", NULL, OUT_PLAIN, microseconds_of(s->uptime) / 1000000);
    out_keys(o, &s->base, "master_lid master_guid");
    say_age(o, s);
}

static void say_links(struct out *o, const Fabric__V1__FabricCounts *f)
{
    bool all = f->active_links == f->links;
    char degraded[96] = "", active[48] = ", all active";
    if (all && f->degraded_links > 0)
        snprintf(active, sizeof active, " active");
    if (f->degraded_links > 0)
        snprintf(degraded, sizeof degraded, ", %u degraded; see 'fabricctl link list --degraded'",
                 f->degraded_links);
    if (!all)
        snprintf(active, sizeof active, ", of which %u active", f->active_links);
    out_textf(o, "Links", all && f->degraded_links == 0 ? OUT_GOOD : OUT_WARN, "%u%s%s", f->links,
              active, degraded);
}

static void say_fabric_text(struct out *o, const Fabric__V1__FabricCounts *f)
{
    char more[80] = "";
    size_t n = 0;
    if (f->aggregation_nodes > 0)
        n = (size_t)snprintf(more, sizeof more, ", %u aggregation node%s", f->aggregation_nodes,
                             fab_base_plural_s(f->aggregation_nodes));
    if (f->routers > 0)
        snprintf(more + n, sizeof more - n, ", %u router%s", f->routers,
                 fab_base_plural_s(f->routers));
    out_textf(o, "Fabric", OUT_PLAIN, "%u switch%s, %u adapter%s%s", f->switches,
              fab_base_plural_es(f->switches), f->adapters, fab_base_plural_s(f->adapters), more);
    say_links(o, f);
}

static void say_fabric(struct out *o, const Fabric__V1__FabricCounts *f)
{
    static const Fabric__V1__FabricCounts none = FABRIC__V1__FABRIC_COUNTS__INIT;
    if (f == NULL)
        out_textf(o, "Fabric", OUT_WARN, "not known yet");
    else
        say_fabric_text(o, f);
    f = f != NULL ? f : &none;
    out_keys(o, &f->base,
             "switches adapters aggregation_nodes routers links active_links degraded_links");
}

static void add_kind(char *text, size_t len, uint32_t count, const char *one, const char *many)
{
    size_t n = strlen(text);
    if (count > 0)
        snprintf(text + n, len - n, "%s%u %s", n > 0 ? ", " : "", count, count == 1 ? one : many);
}

static void say_gone(struct out *o, const Fabric__V1__Status *s)
{
    char text[120] = "";
    add_kind(text, sizeof text, s->gone_hosts, "host", "hosts");
    add_kind(text, sizeof text, s->gone_switches, "switch", "switches");
    add_kind(text, sizeof text, s->gone_others, "other node", "other nodes");
    if (text[0] != '\0')
        out_textf(o, "Gone", OUT_WARN,
                  "%s (in the last 24 h); list them with 'fabricctl node list --gone'", text);
    out_keys(o, &s->base, "gone_hosts gone_switches gone_others");
}

static void say_routing_text(struct out *o, const Fabric__V1__Status *s)
{
    const Fabric__V1__RoutingStatus *r = s->routing;
    char when[SHOW_LEN];
    show_time(s->publish_time, when);
    out_textf(o, "Routing", OUT_PLAIN, "%s, generation %" PRIu64 "%s%s", r->engine, s->generation,
              when[0] != '\0' ? " of " : "", when);
    if (r->reason[0] != '\0')
        out_textf(o, "Reason", OUT_PLAIN, "%s", r->reason);
    if (r->virtual_lanes > 1)
        out_textf(o, "Lanes", OUT_PLAIN, "%u virtual lanes", r->virtual_lanes);
    if (r->deadlock_free && r->unreachable_pairs == 0)
        out_textf(o, "Verdict", OUT_GOOD,
                  "deadlock-free, all %" PRIu64 " pairs reachable, at most %u switch%s on a path",
                  r->pairs, r->longest_path, fab_base_plural_es(r->longest_path));
    else
        out_textf(o, "Verdict", OUT_BAD, "%s, %" PRIu64 " of %" PRIu64 " pairs unreachable",
                  r->deadlock_free ? "deadlock-free" : "NOT deadlock-free", r->unreachable_pairs,
                  r->pairs);
}

/* Prints how many LFT entries local repairs have changed, and when a rebalance is due. */
static void say_repaired(struct out *o, const Fabric__V1__RoutingStatus *r)
{
    char when[SHOW_LEN], then[SHOW_LEN + 40] = "no rebalance is due";
    if (r->repaired_entries == 0)
        return;
    if (r->rebalance_in != NULL) {
        show_duration(microseconds_of(r->rebalance_in), when);
        snprintf(then, sizeof then, "a rebalance is due in %s", when);
    }
    out_textf(o, "Repaired", OUT_PLAIN, "%" PRIu64 " table entr%s; %s", r->repaired_entries,
              fab_base_plural(r->repaired_entries, "y", "ies"), then);
}

static void say_routing(struct out *o, const Fabric__V1__Status *s)
{
    const Fabric__V1__RoutingStatus *r = s->routing;
    if (r == NULL) {
        out_textf(o, "Routing", OUT_WARN, "no tables yet");
        out_none(o, "routing_engine", NULL);
        out_none(o, "routing_reason", NULL);
        out_none(o, "deadlock_free", NULL);
        out_none(o, "unreachable_pairs", NULL);
        out_none(o, "virtual_lanes", NULL);
        out_none(o, "repaired_entries", NULL);
        out_none(o, "polish", NULL);
        out_none(o, "proof_generation", NULL);
        out_none(o, "rebalance_in_ms", NULL);
        return;
    }
    say_routing_text(o, s);
    out_proof(o, r->proof);
    say_repaired(o, r);
    if (r->polish[0] != '\0')
        out_textf(o, "Polish", OUT_PLAIN, "%s", r->polish);
    out_time_utc(o, "published_at", s->publish_time);
    out_text(o, "routing_engine", NULL, OUT_PLAIN, r->engine);
    out_text(o, "routing_reason", NULL, OUT_PLAIN, r->reason);
    out_keys(o, &r->base,
             "deadlock_free unreachable_pairs pairs longest_path max_lid virtual_lanes "
             "repaired_entries polish");
    if (r->rebalance_in != NULL)
        out_millis(o, "rebalance_in_ms", NULL, OUT_PLAIN, microseconds_of(r->rebalance_in));
    else
        out_none(o, "rebalance_in_ms", NULL);
}

static void say_duration(struct out *o, const char *key, const char *label,
                         const Google__Protobuf__Duration *d)
{
    char text[SHOW_LEN];
    if (d == NULL) {
        out_textf(o, label, OUT_DIM, "none yet");
        out_none(o, key, NULL);
        return;
    }
    show_duration(microseconds_of(d), text);
    out_text(o, NULL, label, OUT_PLAIN, text);
    out_millis(o, key, NULL, OUT_PLAIN, microseconds_of(d));
}

static void say_work(struct out *o, const Fabric__V1__SweepStatus *s,
                     const Fabric__V1__PacketCounts *p)
{
    say_duration(o, "last_sweep_ms", "Last sweep", s != NULL ? s->last_sweep : NULL);
    say_duration(o, "last_reroute_ms", "Last reroute", s != NULL ? s->last_reroute : NULL);
    out_number(o, "sweeps", NULL, OUT_PLAIN, s != NULL ? s->sweeps : 0);
    if (p == NULL)
        return;
    out_textf(o, "SMPs", p->timed_out > 0 ? OUT_WARN : OUT_PLAIN,
              "%" PRIu64 " sent, %" PRIu64 " retried, %" PRIu64 " timed out; %u of %u in flight",
              p->sent, p->retried, p->timed_out, p->in_flight, p->window);
    out_number(o, "smps_sent", NULL, OUT_PLAIN, p->sent);
    out_number(o, "smps_retried", NULL, OUT_PLAIN, p->retried);
    out_number(o, "smps_timed_out", NULL, OUT_PLAIN, p->timed_out);
    out_keys(o, &p->base, "window in_flight");
}

#define UNRESPONSIVE_LINES 8

static void say_unresponsive(struct out *o, const Fabric__V1__Status *s)
{
    size_t shown = s->n_unresponsive_ports;
    if (s->unresponsive_port_count > 0)
        out_textf(o, "Unresponsive", OUT_WARN,
                  "%u port%s did not answer:", s->unresponsive_port_count,
                  fab_base_plural_s(s->unresponsive_port_count));
    out_number(o, "unresponsive_port_count", NULL, OUT_PLAIN, s->unresponsive_port_count);
    for (size_t i = 0; i < shown && i < UNRESPONSIVE_LINES; i++)
        out_note(o, OUT_WARN, "    %s: %s", s->unresponsive_ports[i]->port,
                 s->unresponsive_ports[i]->problem);
    if (s->unresponsive_port_count > UNRESPONSIVE_LINES && shown >= UNRESPONSIVE_LINES)
        out_note(o, OUT_DIM, "    and %u more", s->unresponsive_port_count - UNRESPONSIVE_LINES);
    out_table(o, "unresponsive_ports", NULL, 0, false);
    for (size_t i = 0; i < shown; i++) {
        out_row(o);
        out_text(o, "port", NULL, OUT_PLAIN, s->unresponsive_ports[i]->port);
        out_text(o, "problem", NULL, OUT_PLAIN, s->unresponsive_ports[i]->problem);
        out_row_end(o);
    }
    out_table_end(o);
}

static void say_waiting(struct out *o, const Fabric__V1__Status *s)
{
    uint32_t devices = s->unapproved_count, names = s->waiting_name_count;
    if (devices > 0)
        out_textf(
            o, "Unapproved", OUT_WARN,
            "%u device%s or link%s wait%s for approval; see 'fabricctl topo baseline --waiting'",
            devices, fab_base_plural_s(devices), fab_base_plural_s(devices),
            devices == 1 ? "s" : "");
    if (names > 0)
        out_textf(o, "Names", OUT_WARN,
                  "%u node%s wait%s for approval; see 'fabricctl node pins --waiting'", names,
                  fab_base_plural_s(names), names == 1 ? "s" : "");
    out_keys(o, &s->base, "unapproved_count waiting_name_count");
}

static void say_alarms(struct out *o, const Fabric__V1__Status *s)
{
    const struct {
        const char *key, *label, *alarm, *before, *after;
    } rows[] = {
        {"alarm", "Alarm", s->alarm, "", ""},
        {"frozen", "Frozen", s->frozen, "", "; see 'fabricctl manager status'"},
        {"multicast_alarm", "Multicast", s->multicast_alarm, "", ""},
        {"device_alarm", "Port", s->device_alarm, "the manager's port is gone (",
         "), and the fabric is shown as it was; see 'man 7 fabricd-events', device-lost"},
        {"store_alarm", "Database", s->store_alarm, "cannot be written (",
         "); changes and registrations are refused; see 'man 7 fabricd-events', store-failing"},
        {"certificate_alarm", "Certificates", s->certificate_alarm, "",
         "; replace the file and run 'systemctl reload fabricd'"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].alarm[0] != '\0')
            out_textf(o, rows[i].label, OUT_BAD, "%s%s%s", rows[i].before, rows[i].alarm,
                      rows[i].after);
        out_text(o, rows[i].key, NULL, OUT_BAD, rows[i].alarm);
    }
}

/* Writes the version of the applied policy, and which sections of fabricd.yaml it replaces. */
static void say_policy(struct out *o, const Fabric__V1__Status *s)
{
    char sections[SHOW_WORDS_LEN];
    show_words(s->policy_sections, s->n_policy_sections, sections);
    if (s->policy_version > 0)
        out_textf(o, "Policy", OUT_PLAIN, "version %llu%s%s%s",
                  (unsigned long long)s->policy_version,
                  s->n_policy_sections > 0 ? " replaces in fabricd.yaml: " : ", without sections",
                  sections, "; see 'fabricctl policy show'");
    out_keys(o, &s->base, "policy_version");
    out_text(o, "policy_sections", NULL, OUT_PLAIN, sections);
}

static void say(struct out *o, const Fabric__V1__Status *s)
{
    out_record(o, NULL);
    say_manager(o, s);
    say_fabric(o, s->fabric);
    say_gone(o, s);
    say_routing(o, s);
    say_work(o, s->sweep, s->packets);
    say_unresponsive(o, s);
    say_waiting(o, s);
    say_policy(o, s);
    say_alarms(o, s);
    out_record_end(o);
}

static int run(struct session *s)
{
    const Fabric__V1__GetStatusRequest q = FABRIC__V1__GET_STATUS_REQUEST__INIT;
    Fabric__V1__GetStatusResponse *r = NULL;
    int rc = ask(s, "GetStatus", &q.base, &fabric__v1__get_status_response__descriptor, &r);
    if (rc == EXIT_OK && r->status != NULL)
        say(s->out, r->status);
    free_reply(r);
    return rc;
}

const struct cmd cmd_status = {
    .noun = "status",
    .summary = "the state of the manager and of its fabric",
    .method = "fabric.v1.FabricService/GetStatus",
    .json = "role:manager_role @Status(state generation version) uptime_s:u64 "
            "@Status(master_lid master_guid) view_age_s:u64|null =fabric "
            "@FabricCounts(aggregation_nodes routers) "
            "@Status(gone_hosts gone_switches gone_others) routing_engine:text|null "
            "routing_reason:text|null deadlock_free:bool|null unreachable_pairs:u64|null "
            "virtual_lanes:u8|null repaired_entries:u64|null polish:text|null "
            "rebalance_in_ms:amount|null "
            "proof_generation:u64|null =proof? published_at&:time pairs&:u64 "
            "longest_path&:u32 max_lid&:u16 last_sweep_ms:amount|null "
            "last_reroute_ms:amount|null sweeps:u64 =packets? unresponsive_port_count:u32 "
            "unresponsive_ports:[ port:text problem:text ] @Status(unapproved_count "
            "waiting_name_count policy_version) policy_sections:text alarm:text frozen:text "
            "multicast_alarm:text device_alarm:text store_alarm:text certificate_alarm:text",
    .run = run,
};
