/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Converts the state of the manager, events and reroutes to messages of fabric.v1.
 */
#include "fabricd/rpc/convert.h"

#include <stdio.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/base/version.h"

Google__Protobuf__Timestamp *convert_time(struct answer *a, int64_t unix_us)
{
    Google__Protobuf__Timestamp *m =
        ANSWER_NEW(a, Google__Protobuf__Timestamp, google__protobuf__timestamp);
    if (m == NULL || unix_us < 0)
        return NULL;
    m->seconds = unix_us / 1000000;
    m->nanos = (int32_t)(unix_us % 1000000) * 1000;
    return m;
}

int64_t read_time(const Google__Protobuf__Timestamp *t, int64_t otherwise)
{
    if (t == NULL || t->seconds > INT64_MAX / 1000000 - 1 || t->seconds < 0)
        return otherwise;
    return t->seconds * 1000000 + t->nanos / 1000;
}

Google__Protobuf__Duration *convert_duration(struct answer *a, uint64_t us)
{
    Google__Protobuf__Duration *m =
        ANSWER_NEW(a, Google__Protobuf__Duration, google__protobuf__duration);
    if (m == NULL)
        return NULL;
    m->seconds = (int64_t)(us / 1000000);
    m->nanos = (int32_t)(us % 1000000) * 1000;
    return m;
}

static Fabric__V1__FabricCounts *counts(struct answer *a, const struct fab_fabric *f,
                                        const struct fab_census *c)
{
    Fabric__V1__FabricCounts *m =
        ANSWER_NEW(a, Fabric__V1__FabricCounts, fabric__v1__fabric_counts);
    if (m == NULL)
        return NULL;
    m->switches = f->switch_count;
    m->links = f->link_count;
    m->routers = c->routers;
    m->aggregation_nodes = c->aggregation_nodes;
    m->adapters = c->hosts;
    m->active_links = c->active_links;
    m->degraded_links = c->degraded_links;
    return m;
}

Fabric__V1__WholeProof *convert_proof(struct answer *a, const struct sm_proof *p)
{
    Fabric__V1__WholeProof *m = ANSWER_NEW(a, Fabric__V1__WholeProof, fabric__v1__whole_proof);
    if (m == NULL)
        return NULL;
    m->generation = p->last.generation;
    if (p->last.generation != 0) {
        m->time = convert_time(a, p->last.time_us);
        m->duration = convert_duration(a, p->last.duration_us);
    }
    m->background = p->last.background;
    m->due = p->due;
    m->background_proofs = p->proofs;
    m->background_failures = p->failures;
    return m;
}

static Fabric__V1__RoutingStatus *routing(struct answer *a, const struct sm_status *s,
                                          const struct fab_view *v)
{
    Fabric__V1__RoutingStatus *m =
        ANSWER_NEW(a, Fabric__V1__RoutingStatus, fabric__v1__routing_status);
    if (m == NULL)
        return NULL;
    m->engine = answer_text(a, v->target->engine);
    m->reason = answer_text(a, v->target->reason);
    m->deadlock_free = v->verdict.deadlock_free;
    m->unreachable_pairs = v->verdict.unreachable_pairs;
    m->pairs = v->verdict.pairs;
    m->longest_path = v->verdict.longest_path;
    m->max_lid = v->target->lids.top;
    m->virtual_lanes = fab_target_vls_count(&v->target->vls);
    m->repaired_entries = s->repaired;
    m->proof = convert_proof(a, &s->proof);
    m->polish = answer_text(a, s->polish != NULL ? s->polish : "");
    if (s->rebalance_due)
        m->rebalance_in = convert_duration(a, s->rebalance_in_us);
    return m;
}

static Fabric__V1__SweepStatus *sweep(struct answer *a, const struct sm_status *s)
{
    Fabric__V1__SweepStatus *m = ANSWER_NEW(a, Fabric__V1__SweepStatus, fabric__v1__sweep_status);
    if (m == NULL)
        return NULL;
    m->sweeps = s->sweeps;
    if (s->last_sweep_us != 0)
        m->last_sweep = convert_duration(a, s->last_sweep_us);
    if (s->last_reroute_us != 0)
        m->last_reroute = convert_duration(a, s->last_reroute_us);
    return m;
}

static Fabric__V1__PacketCounts *packets(struct answer *a, const struct sm_status *s)
{
    Fabric__V1__PacketCounts *m =
        ANSWER_NEW(a, Fabric__V1__PacketCounts, fabric__v1__packet_counts);
    if (m == NULL)
        return NULL;
    m->sent = s->smps_sent;
    m->retried = s->smps_retried;
    m->timed_out = s->smps_timed_out;
    m->window = s->window;
    m->in_flight = s->in_flight;
    return m;
}

static void add_unresponsive(struct answer *a, Fabric__V1__Status *m,
                             const struct sm_unresponsive *unresponsive, uint32_t count)
{
    m->unresponsive_ports = answer_alloc(a, count, sizeof *m->unresponsive_ports);
    for (uint32_t i = 0; m->unresponsive_ports != NULL && i < count; i++) {
        Fabric__V1__UnresponsivePort *s =
            ANSWER_NEW(a, Fabric__V1__UnresponsivePort, fabric__v1__unresponsive_port);
        if (s == NULL)
            return;
        s->port = answer_text(a, unresponsive[i].place);
        s->problem = answer_text(a, fab_base_status_text(unresponsive[i].status));
        m->unresponsive_ports[m->n_unresponsive_ports++] = s;
    }
}

Fabric__V1__Status *convert_status(struct answer *a, const struct sm_status *s,
                                   const struct sm_unresponsive *unresponsive,
                                   uint32_t unresponsive_count, const struct fab_view *v,
                                   const struct fab_census *census)
{
    Fabric__V1__Status *m = ANSWER_NEW(a, Fabric__V1__Status, fabric__v1__status);
    if (m == NULL)
        return NULL;
    m->role = (Fabric__V1__ManagerRole)(s->role + 1);
    m->state = answer_text(a, s->state);
    m->generation = s->generation;
    m->sweep = sweep(a, s);
    m->packets = packets(a, s);
    m->unresponsive_port_count = s->unresponsive;
    add_unresponsive(a, m, unresponsive, unresponsive_count);
    m->alarm = answer_text(a, s->alarm);
    m->device_alarm = answer_text(a, s->device_alarm);
    m->frozen = answer_text(a, s->frozen);
    m->multicast_alarm = answer_text(a, s->multicast_alarm);
    m->unapproved_count = s->unapproved;
    m->waiting_name_count = s->waiting_names;
    m->master_lid = s->master_lid;
    m->master_guid = answer_guid(a, s->master_guid);
    m->uptime = convert_duration(a, s->uptime_us);
    m->version = answer_text(a, fab_base_version());
    if (v == NULL)
        return m;
    if (v->published_us != 0)
        m->publish_time = convert_time(a, (int64_t)v->published_us);
    if (s->outdated)
        m->view_age = convert_duration(a, s->view_age_us);
    m->fabric = counts(a, v->fabric, census);
    if (v->target != NULL)
        m->routing = routing(a, s, v);
    return m;
}

static Fabric__V1__Event__FieldsEntry *field(struct answer *a, const struct event_field *f)
{
    Fabric__V1__Event__FieldsEntry *m =
        ANSWER_NEW(a, Fabric__V1__Event__FieldsEntry, fabric__v1__event__fields_entry);
    Fabric__V1__EventValue *value = ANSWER_NEW(a, Fabric__V1__EventValue, fabric__v1__event_value);
    if (m == NULL || value == NULL)
        return NULL;
    m->key = answer_text(a, f->name);
    m->value = value;
    value->kind_case = FABRIC__V1__EVENT_VALUE__KIND_TEXT;
    if (f->kind == EVENT_TEXT) {
        value->text = answer_text(a, f->text);
    } else if (f->kind == EVENT_GUID) {
        value->text = answer_guid(a, f->number);
    } else {
        value->kind_case = FABRIC__V1__EVENT_VALUE__KIND_NUMBER;
        value->number = f->number;
    }
    return m;
}

Fabric__V1__Event *convert_event(struct answer *a, const struct event *e)
{
    Fabric__V1__Event *m = ANSWER_NEW(a, Fabric__V1__Event, fabric__v1__event);
    if (m == NULL)
        return NULL;
    m->sequence = e->seq;
    m->time = convert_time(a, e->time_us);
    m->severity = (Fabric__V1__EventSeverity)(e->severity + 1);
    m->type = answer_text(a, e->type);
    m->subject = answer_text(a, e->subject);
    m->message = answer_text(a, e->message);
    m->node_guid = answer_guid(a, e->guid);
    m->port_number = e->port;
    m->fields = answer_alloc(a, e->field_count, sizeof *m->fields);
    for (uint32_t i = 0; m->fields != NULL && i < e->field_count; i++)
        if ((m->fields[m->n_fields] = field(a, &e->fields[i])) != NULL)
            m->n_fields++;
    return m;
}

static Google__Protobuf__Duration *step(struct answer *a, uint64_t us)
{
    return us != 0 ? convert_duration(a, us) : NULL;
}

Fabric__V1__Reroute *convert_reroute(struct answer *a, const struct reroute *r)
{
    Fabric__V1__Reroute *m = ANSWER_NEW(a, Fabric__V1__Reroute, fabric__v1__reroute);
    if (m == NULL)
        return NULL;
    m->generation = r->generation;
    m->cause = answer_text(a, r->cause);
    m->time = convert_time(a, r->time_us);
    m->discovered = step(a, r->known_us);
    m->computed = step(a, r->computed_us);
    m->verified = step(a, r->proved_us);
    m->first_write = step(a, r->first_write_us);
    m->last_write = step(a, r->last_write_us);
    m->entries = r->entries;
    m->blocks = r->blocks;
    m->switches = r->switches;
    m->failed = r->failed;
    m->links_lost = r->links_lost;
    m->links_gained = r->links_gained;
    m->nodes_lost = r->nodes_lost;
    m->nodes_gained = r->nodes_gained;
    m->engine = answer_text(a, r->engine);
    m->paused_pairs = r->lost_pairs;
    m->paused = step(a, r->lost_us);
    return m;
}

Fabric__V1__PortRef *convert_place(struct answer *a, uint64_t guid, uint8_t port, const char *place)
{
    Fabric__V1__PortRef *m = ANSWER_NEW(a, Fabric__V1__PortRef, fabric__v1__port_ref);
    char name[128];
    if (m == NULL)
        return NULL;
    snprintf(name, sizeof name, "%s", place);
    char *slash = strrchr(name, '/');
    if (slash != NULL)
        *slash = '\0';
    m->node_guid = answer_guid(a, guid);
    m->node_name = answer_text(a, name);
    m->port_number = port;
    return m;
}

Fabric__V1__FlappingLink *convert_flapping(struct answer *a, const struct sm_flapping *f)
{
    Fabric__V1__FlappingLink *m =
        ANSWER_NEW(a, Fabric__V1__FlappingLink, fabric__v1__flapping_link);
    if (m == NULL)
        return NULL;
    m->a = convert_place(a, f->guid[0], f->port[0], f->place[0]);
    m->b = convert_place(a, f->guid[1], f->port[1], f->place[1]);
    m->flaps = f->flaps;
    m->flapping = f->flapping;
    m->held_down = f->held_down;
    m->up = f->up;
    if (f->hold_us != 0)
        m->hold_down = convert_duration(a, f->hold_us);
    if (f->due_us != 0)
        m->release_time = convert_time(a, f->due_us);
    m->flap_times = answer_alloc(a, f->flap_time_count, sizeof *m->flap_times);
    for (uint32_t i = 0; m->flap_times != NULL && i < f->flap_time_count; i++)
        m->flap_times[m->n_flap_times++] = convert_time(a, f->flap_us[i]);
    return m;
}
