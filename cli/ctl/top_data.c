/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/ctl/top_data.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PORTS 64       /* maximum number of ports in an answer; more than a screen shows */
#define LINKS 100      /* maximum number of gone links, and of degraded links, in an answer */
#define EVENTS 100     /* maximum number of events in an answer; more than a screen shows */
#define RECENT_S 86400 /* links that went down longer ago are not shown, in s */

/* ---- requests -------------------------------------------------------------------------------- */

/* Calls a method that returns a list. If the manager cannot return this list, for example because
 * it has no database, returns OK and leaves *ret unchanged: an empty list. */
static enum fab_grpc_code call(struct session *s, const char *method, const ProtobufCMessage *q,
                               const ProtobufCMessageDescriptor *reply, void *ret,
                               struct fab_client_error *ret_error)
{
    char path[100];
    ProtobufCMessage *m = NULL;
    snprintf(path, sizeof path, "fabric.v1.FabricService/%s", method);
    enum fab_grpc_code code = fab_client_call(s->client, path, q, reply, &m, ret_error);
    if (code == FAB_GRPC_OK)
        *(ProtobufCMessage **)ret = m;
    return code == FAB_GRPC_FAILED_PRECONDITION || code == FAB_GRPC_UNIMPLEMENTED ? FAB_GRPC_OK
                                                                                  : code;
}

static uint64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static enum fab_grpc_code fetch_status(struct session *s, struct top_data *ret,
                                       struct fab_client_error *error)
{
    const Fabric__V1__GetStatusRequest q = FABRIC__V1__GET_STATUS_REQUEST__INIT;
    ret->asked_us = now_us();
    enum fab_grpc_code code = call(
        s, "GetStatus", &q.base, &fabric__v1__get_status_response__descriptor, &ret->status, error);
    if (code != FAB_GRPC_OK || (ret->status != NULL && ret->status->status != NULL))
        return code;
    error->code = FAB_GRPC_INTERNAL;
    snprintf(error->message, sizeof error->message, "the manager sent no status");
    return error->code;
}

static enum fab_grpc_code fetch_ports(struct session *s, Fabric__V1__PortRank by,
                                      struct top_data *ret, struct fab_client_error *error)
{
    Fabric__V1__ListTopPortsRequest q = FABRIC__V1__LIST_TOP_PORTS_REQUEST__INIT;
    q.by = by;
    q.count = PORTS;
    enum fab_grpc_code code =
        call(s, "ListTopPorts", &q.base, &fabric__v1__list_top_ports_response__descriptor,
             &ret->ports, error);
    if (code == FAB_GRPC_OK && ret->ports == NULL)
        snprintf(ret->no_ports, sizeof ret->no_ports, "%.290s", error->message);
    else if (code == FAB_GRPC_OK && ret->ports->n_ports == 0)
        snprintf(ret->no_ports, sizeof ret->no_ports, "%s",
                 by <= FABRIC__V1__PORT_RANK__PORT_RANK_PACKETS
                     ? "the counters were not read twice yet (counters.interval)"
                     : "no port has any");
    return code;
}

static enum fab_grpc_code fetch_links(struct session *s, struct top_data *ret,
                                      struct fab_client_error *error)
{
    Fabric__V1__ListGoneLinksRequest gone = FABRIC__V1__LIST_GONE_LINKS_REQUEST__INIT;
    const Fabric__V1__ListFlappingLinksRequest flapping =
        FABRIC__V1__LIST_FLAPPING_LINKS_REQUEST__INIT;
    const Fabric__V1__ListUnhealthyLinksRequest unhealthy =
        FABRIC__V1__LIST_UNHEALTHY_LINKS_REQUEST__INIT;
    Fabric__V1__ListLinksRequest degraded = FABRIC__V1__LIST_LINKS_REQUEST__INIT;
    gone.page_size = degraded.page_size = LINKS;
    degraded.degraded = true;
    enum fab_grpc_code code =
        call(s, "ListGoneLinks", &gone.base, &fabric__v1__list_gone_links_response__descriptor,
             &ret->gone, error);
    if (code == FAB_GRPC_OK)
        code = call(s, "ListFlappingLinks", &flapping.base,
                    &fabric__v1__list_flapping_links_response__descriptor, &ret->flapping, error);
    if (code == FAB_GRPC_OK)
        code = call(s, "ListUnhealthyLinks", &unhealthy.base,
                    &fabric__v1__list_unhealthy_links_response__descriptor, &ret->unhealthy, error);
    if (code == FAB_GRPC_OK)
        code = call(s, "ListLinks", &degraded.base, &fabric__v1__list_links_response__descriptor,
                    &ret->degraded, error);
    return code;
}

static enum fab_grpc_code fetch_events(struct session *s, struct top_data *ret,
                                       struct fab_client_error *error)
{
    Fabric__V1__ListEventsRequest q = FABRIC__V1__LIST_EVENTS_REQUEST__INIT;
    q.page_size = EVENTS;
    q.min_severity = FABRIC__V1__EVENT_SEVERITY__EVENT_SEVERITY_INFO;
    return call(s, "ListEvents", &q.base, &fabric__v1__list_events_response__descriptor,
                &ret->events, error);
}

/* ---- links that need attention --------------------------------------------------------------- */

static bool is_same_port(const Fabric__V1__PortRef *x, const Fabric__V1__PortRef *y)
{
    return x != NULL && y != NULL && x->port_number == y->port_number &&
           strcmp(x->node_guid, y->node_guid) == 0;
}

/* Adds a link. Returns NULL if the link is already in the list, with a worse state, or if memory
 * ran out. */
static struct top_link *add(struct top_data *d, const char *state, enum out_tone tone,
                            const Fabric__V1__PortRef *a, const Fabric__V1__PortRef *b)
{
    for (size_t i = 0; i < d->link_count; i++)
        if (is_same_port(d->links[i].a, a) || is_same_port(d->links[i].b, a))
            return NULL;
    struct top_link *more = reallocarray(d->links, d->link_count + 1, sizeof *more);
    if (more == NULL)
        return NULL;
    d->links = more;
    d->links[d->link_count] = (struct top_link){.state = state, .tone = tone, .a = a, .b = b};
    return &d->links[d->link_count++];
}

static void add_gone(struct top_data *d, int64_t now)
{
    for (size_t i = 0; d->gone != NULL && i < d->gone->n_links; i++) {
        const Fabric__V1__GoneLink *l = d->gone->links[i];
        char since[SHOW_LEN];
        if (l->gone_since == NULL || l->gone_since->seconds < now - RECENT_S)
            continue;
        struct top_link *t = add(d, "down", OUT_BAD, l->a, l->b);
        show_time(l->gone_since, since);
        if (t != NULL)
            snprintf(t->why, sizeof t->why, "since %.8s%s%.120s",
                     since + (strlen(since) > 11 ? 11 : 0), l->reason[0] != '\0' ? ": " : "",
                     l->reason);
    }
}

static void add_flapping(struct top_data *d)
{
    for (size_t i = 0; d->flapping != NULL && i < d->flapping->n_links; i++) {
        const Fabric__V1__FlappingLink *l = d->flapping->links[i];
        struct top_link *t =
            l->flapping || l->held_down
                ? add(d, l->held_down ? "held down" : "flapping", OUT_BAD, l->a, l->b)
                : NULL;
        if (t != NULL)
            snprintf(t->why, sizeof t->why, "went down %" PRIu64 " times", l->flaps);
    }
}

static void add_unhealthy(struct top_data *d)
{
    for (size_t i = 0; d->unhealthy != NULL && i < d->unhealthy->n_links; i++) {
        const Fabric__V1__UnhealthyLink *l = d->unhealthy->links[i];
        struct top_link *t =
            add(d, l->isolated && !l->in_routes ? "isolated" : "unhealthy", OUT_WARN, l->a, l->b);
        if (t != NULL && l->isolated)
            snprintf(t->why, sizeof t->why, "%.190s", l->isolated_cause);
        else if (t != NULL)
            snprintf(t->why, sizeof t->why, "%.60s +%" PRIu64 " in %" PRIu64 " s%s%.90s",
                     l->counter, l->increase, microseconds_of(l->interval) / 1000000,
                     l->isolation_skipped[0] != '\0' ? ": " : "", l->isolation_skipped);
    }
}

static void add_degraded(struct top_data *d)
{
    for (size_t i = 0; d->degraded != NULL && i < d->degraded->n_links; i++) {
        const Fabric__V1__Link *l = d->degraded->links[i];
        struct top_link *t = add(d, "degraded", OUT_WARN, l->a, l->b);
        if (t != NULL)
            snprintf(t->why, sizeof t->why, "%.190s", l->rate_reason);
    }
}

static void collect_links(struct top_data *d)
{
    add_gone(d, (int64_t)time(NULL));
    add_flapping(d);
    add_unhealthy(d);
    add_degraded(d);
    d->more_links = (d->gone != NULL && d->link_count >= LINKS) ||
                    (d->degraded != NULL && d->degraded->next_page_token[0] != '\0');
}

enum fab_grpc_code top_fetch(struct session *s, Fabric__V1__PortRank by, struct top_data *ret,
                             struct fab_client_error *ret_error)
{
    *ret = (struct top_data){0};
    enum fab_grpc_code code = fetch_status(s, ret, ret_error);
    /* before the first sweep, the manager has no ports, links and events to show */
    if (code != FAB_GRPC_OK || ret->status->status == NULL || ret->status->status->fabric == NULL)
        return code;
    code = fetch_ports(s, by, ret, ret_error);
    if (code == FAB_GRPC_OK)
        code = fetch_links(s, ret, ret_error);
    if (code == FAB_GRPC_OK)
        code = fetch_events(s, ret, ret_error);
    collect_links(ret);
    return code;
}

void top_free(struct top_data *d)
{
    free_reply(d->status);
    free_reply(d->ports);
    free_reply(d->gone);
    free_reply(d->flapping);
    free_reply(d->unhealthy);
    free_reply(d->degraded);
    free_reply(d->events);
    free(d->links);
    *d = (struct top_data){0};
}

/* ---- load ------------------------------------------------------------------------------------ */

static const Fabric__V1__ManagerLoad *load_of(const struct top_data *d)
{
    return d->status != NULL && d->status->status != NULL ? d->status->status->load : NULL;
}

static double percent(uint64_t now, uint64_t before, uint64_t us)
{
    return us == 0 || now < before ? -1 : 100.0 * (double)(now - before) / (double)us;
}

struct top_load top_load_of(const struct top_data *before, const struct top_data *now)
{
    const Fabric__V1__ManagerLoad *was = load_of(before), *is = load_of(now);
    if (is == NULL)
        return (struct top_load){-1, -1};
    uint64_t us = microseconds_of(now->status->status->uptime);
    /* the CPU time decreases only if the manager was restarted between the two answers */
    bool same = was != NULL && microseconds_of(was->cpu_time) <= microseconds_of(is->cpu_time);
    if (same)
        us = now->asked_us - before->asked_us;
    return (struct top_load){
        .cpu =
            percent(microseconds_of(is->cpu_time), same ? microseconds_of(was->cpu_time) : 0, us),
        .loop =
            percent(microseconds_of(is->loop_time), same ? microseconds_of(was->loop_time) : 0, us),
    };
}

double top_utilisation(const Fabric__V1__TopPort *p)
{
    const Fabric__V1__PortSample *m = p->sample;
    if (m == NULL || !(m->sent_known || m->received_known) || p->rate == NULL || p->rate->mbps == 0)
        return -1;
    uint64_t sent = m->sent_bytes_per_second, got = m->received_bytes_per_second;
    return (double)(sent > got ? sent : got) * 8 / (p->rate->mbps * 1e6) * 100;
}
