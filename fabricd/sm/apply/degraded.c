/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Emits the events link-degraded and link-restored (libfabmgr/fabric/condition.h says which links
 * are degraded).
 *
 * A link is in the list of degraded links from its event link-degraded until its event
 * link-restored. If its active or enabled width or speed changes, but it stays degraded, it gets a
 * further event link-degraded. It also stays in the list while it is down, so that link-restored is
 * emitted when it comes back at its best width and speed. It is removed without an event when both
 * its nodes have left the fabric, or when one of its ports is connected to another port.
 *
 * After a sweep, the worker task that compares the old snapshot with the new one (publish.c) lists
 * the degraded links of the new one. After a local repair, only the links that came back are
 * compared.
 *
 * Up to sm_events_singly() links get one event each; more links get one summary event.
 */
#include <stdlib.h>
#include <string.h>

#include "fabricd/sm/apply/state.h"
#include "libfabmgr/fabric/condition.h"

/* ---- lists of degraded links ----------------------------------------------------------------- */

/* Compares two links by their first ends. The first end of a link is the port with the lower id.
 * All snapshots have the ports in the same order, so a link has the same first end in all of
 * them. */
static int compare_links(const void *x, const void *y)
{
    const struct sm_degraded_link *a = x, *b = y;
    if (a->guid[0] != b->guid[0])
        return a->guid[0] < b->guid[0] ? -1 : 1;
    return (a->port[0] > b->port[0]) - (a->port[0] < b->port[0]);
}

static bool is_same_link(const struct sm_degraded_link *a, const struct sm_degraded_link *b)
{
    return a->guid[0] == b->guid[0] && a->port[0] == b->port[0] && a->guid[1] == b->guid[1] &&
           a->port[1] == b->port[1];
}

static struct sm_degraded_link link_at(const struct fab_fabric *f, uint32_t port)
{
    if (fab_fabric_port(f, port)->peer < port)
        port = fab_fabric_port(f, port)->peer;
    const struct fab_port *p = fab_fabric_port(f, port), *q = fab_fabric_port(f, p->peer);
    struct sm_degraded_link l = {.guid = {f->nodes[p->node].guid, f->nodes[q->node].guid},
                                 .port = {p->num, q->num}};
    fab_fabric_link_condition(&p->info, &q->info, &l.condition);
    return l;
}

int sm_degraded_list(const struct fab_fabric *f, uint32_t count, struct sm_degraded *ret)
{
    struct sm_degraded d = {.link = calloc(count + 1u, sizeof(*d.link))};
    if (!d.link)
        return FAB_E_NOMEM;
    for (uint32_t port = 0; d.count < count && port < f->port_count; port++)
        if (fab_fabric_port(f, port)->peer != FAB_NONE && port < fab_fabric_port(f, port)->peer &&
            fab_fabric_link_is_degraded(f, port))
            d.link[d.count++] = link_at(f, port);
    qsort(d.link, d.count, sizeof(*d.link), compare_links);
    *ret = d;
    return FAB_OK;
}

void sm_degraded_fini(struct sm_degraded *d)
{
    free(d->link);
    *d = (struct sm_degraded){0};
}

static const struct sm_degraded_link *find(const struct sm_degraded *d,
                                           const struct sm_degraded_link *l)
{
    return d->count > 0 ? bsearch(l, d->link, d->count, sizeof(*d->link), compare_links) : NULL;
}

/* Returns the port id of end 0 or 1 of a link; FAB_NONE: the port has left the fabric. */
static uint32_t port_of(const struct fab_fabric *f, const struct sm_degraded_link *l, int end)
{
    uint32_t node = fab_fabric_node_by_guid(f, l->guid[end]);
    return node != FAB_NONE && l->port[end] <= f->nodes[node].num_ports
               ? fab_fabric_port_id(f, node, l->port[end])
               : FAB_NONE;
}

/* ---- events ---------------------------------------------------------------------------------- */

struct place {
    char place[2][SM_PLACE_LEN];
    uint64_t guid[2];
    uint8_t port[2];
};

static void place_of(const struct fab_fabric *f, const struct sm_degraded_link *l,
                     struct place *ret)
{
    for (int i = 0; i < 2; i++) {
        ret->guid[i] = l->guid[i];
        ret->port[i] = l->port[i];
        sm_place_name(f, l->guid[i], l->port[i], ret->place[i]);
    }
}

static void emit_degraded(struct sm *s, const struct fab_fabric *f,
                          const struct sm_degraded_link *l)
{
    char active[FAB_MODE_LEN], enabled[FAB_MODE_LEN], reason[FAB_CONDITION_LEN];
    struct place x;
    place_of(f, l, &x);
    const char *const names[2] = {x.place[0], x.place[1]};
    fab_fabric_mode_text(l->condition.active, active);
    fab_fabric_mode_text(l->condition.enabled, enabled);
    fab_fabric_condition_text(&l->condition, names, reason);
    event_emit(s->in.bus, link_degraded, EVENT_LINK(&x), .active = active, .enabled = enabled,
               .reason = reason);
}

static void emit_restored(struct sm *s, const struct fab_fabric *f,
                          const struct sm_degraded_link *l)
{
    char active[FAB_MODE_LEN];
    struct place x;
    place_of(f, l, &x);
    fab_fabric_mode_text(l->condition.active, active);
    event_emit(s->in.bus, link_restored, EVENT_LINK(&x), .active = active);
}

#define LINKS .links = d->count, .places = places, .place_count = count

/* Emits one summary event for all links of the list. */
static void emit_many(struct sm *s, const struct fab_fabric *f, const struct sm_degraded *d,
                      bool degraded)
{
    struct sm_link_names n;
    struct fab_change *links = calloc(d->count, sizeof(*links));
    for (uint32_t i = 0; links && i < d->count; i++)
        links[i] = (struct fab_change){.guid_a = d->link[i].guid[0],
                                       .port_a = d->link[i].port[0],
                                       .guid_b = d->link[i].guid[1],
                                       .port_b = d->link[i].port[1]};
    sm_name_links(f, links, links ? d->count : 0, &n);
    struct event_place *places;
    uint32_t count = sm_list_places(links, links ? d->count : 0, &places);
    if (degraded && n.node[0])
        event_emit(s->in.bus, links_degraded_at, .subject = n.node, .guid = n.guid, LINKS);
    else if (degraded)
        event_emit(s->in.bus, links_degraded, .subject = "fabric", .names = n.names, LINKS);
    else if (n.node[0])
        event_emit(s->in.bus, links_restored_at, .subject = n.node, .guid = n.guid, LINKS);
    else
        event_emit(s->in.bus, links_restored, .subject = "fabric", .names = n.names, LINKS);
    free(places);
    free(links);
}

static void emit(struct sm *s, const struct fab_fabric *f, const struct sm_degraded *d,
                 bool degraded)
{
    if (d->count > sm_events_singly(s)) {
        emit_many(s, f, d, degraded);
        return;
    }
    for (uint32_t i = 0; i < d->count; i++)
        (degraded ? emit_degraded : emit_restored)(s, f, &d->link[i]);
}

/* ---- from one list to the next --------------------------------------------------------------- */

static bool is_news(const struct sm_degraded_link *was, const struct sm_degraded_link *now)
{
    return !was || !is_same_link(was, now) ||
           memcmp(&was->condition.active, &now->condition.active, sizeof(was->condition.active)) !=
               0 ||
           memcmp(&was->condition.enabled, &now->condition.enabled,
                  sizeof(was->condition.enabled)) != 0;
}

/* Decides about a link that was degraded before and is not degraded now: adds it to `restored` if
 * it is up, to `kept` while it is down, and to neither if it no longer exists. */
static void settle_old(const struct fab_fabric *f, const struct sm_degraded_link *l,
                       struct sm_degraded *kept, struct sm_degraded *restored)
{
    bool known = false;
    for (int end = 0; end < 2; end++) {
        uint32_t port = port_of(f, l, end);
        known |= port != FAB_NONE;
        if (port == FAB_NONE || !fab_fabric_port_is_up(f, port))
            continue;
        struct sm_degraded_link now = link_at(f, port);
        if (is_same_link(l, &now))
            restored->link[restored->count++] = now;
        return;
    }
    if (known)
        kept->link[kept->count++] = *l;
}

static void settle(struct sm *s, const struct fab_fabric *f, const struct sm_degraded *now)
{
    struct sm_degraded *old = &s->apply->degraded, next = {0}, news = {0}, restored = {0};
    size_t most = (size_t)old->count + now->count + 1;
    next.link = calloc(most, sizeof(*next.link));
    news.link = calloc(most, sizeof(*news.link));
    restored.link = calloc(most, sizeof(*restored.link));
    if (next.link && news.link && restored.link) {
        for (uint32_t i = 0; i < old->count; i++)
            if (!find(now, &old->link[i]))
                settle_old(f, &old->link[i], &next, &restored);
        for (uint32_t i = 0; i < now->count; i++) {
            if (is_news(find(old, &now->link[i]), &now->link[i]))
                news.link[news.count++] = now->link[i];
            next.link[next.count++] = now->link[i];
        }
        qsort(next.link, next.count, sizeof(*next.link), compare_links);
        emit(s, f, &news, true);
        emit(s, f, &restored, false);
        struct sm_degraded swap = *old;
        *old = next;
        next = swap;
    }
    sm_degraded_fini(&next);
    sm_degraded_fini(&news);
    sm_degraded_fini(&restored);
}

void sm_report_degraded(struct sm *s, const struct fab_fabric *f, const struct sm_degraded *now)
{
    if (now->count > 0 || s->apply->degraded.count > 0)
        settle(s, f, now);
}

/* ---- links that came back -------------------------------------------------------------------- */

static bool is_gained(const struct sm_degraded_link *l, const struct fab_fabric *f,
                      const struct sm_link *gained, uint32_t count)
{
    uint32_t port = port_of(f, l, 0);
    for (uint32_t i = 0; i < count; i++)
        if (gained[i].port == port || gained[i].peer == port)
            return true;
    return false;
}

void sm_report_gained_rates(struct sm *s, const struct sm_link *gained, uint32_t count)
{
    const struct fab_fabric *f = s->model.fabric;
    const struct sm_degraded *old = &s->apply->degraded;
    struct sm_degraded now = {.link = calloc(old->count + count + 1u, sizeof(*now.link))};
    for (uint32_t i = 0; now.link && i < old->count; i++)
        if (!is_gained(&old->link[i], f, gained, count))
            now.link[now.count++] = old->link[i];
    for (uint32_t i = 0; now.link && i < count; i++)
        if (fab_fabric_link_is_degraded(f, gained[i].port))
            now.link[now.count++] = link_at(f, gained[i].port);
    if (now.link) {
        qsort(now.link, now.count, sizeof(*now.link), compare_links);
        sm_report_degraded(s, f, &now);
    }
    sm_degraded_fini(&now);
}
