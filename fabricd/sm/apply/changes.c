/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Emits events about the changes between two snapshots. The names of removed nodes and links come
 * from the old snapshot.
 *
 * Up to SINGLY changes of one kind get one event each. If the tables have changed several times
 * within seconds, this limit is one instead of SINGLY (sm_pace_many). If there are more changes,
 * one summary event replaces these events. It has the number of changes and some of the names,
 * switches first. If all changed links end at one node, it has only the name of this node. All
 * changed nodes and ports are places of the summary event, so that the history of each of them has
 * this event.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/sm/apply/state.h"
#include "libfabmgr/base/plural.h"

/* Maximum number of single events for changes of one kind. */
#define SINGLY 8

static bool is_of_link(enum fab_change_kind kind)
{
    return kind == FAB_CHANGE_LINK_ADDED || kind == FAB_CHANGE_LINK_REMOVED;
}

static void emit_link(struct sm *s, const struct fab_fabric *f, const struct fab_change *c)
{
    struct {
        char place[2][SM_PLACE_LEN];
        uint64_t guid[2];
        uint8_t port[2];
    } link = {.guid = {c->guid_a, c->guid_b}, .port = {c->port_a, c->port_b}};
    for (int i = 0; i < 2; i++)
        sm_place_name(f, link.guid[i], link.port[i], link.place[i]);
    if (c->kind == FAB_CHANGE_LINK_ADDED)
        event_emit(s->in.bus, link_up, EVENT_LINK(&link));
    else
        event_emit(s->in.bus, link_down, EVENT_LINK(&link));
}

static void emit_node(struct sm *s, const struct fab_fabric *f, const struct fab_change *c)
{
    char name[SM_PLACE_LEN];
    uint32_t node = fab_fabric_node_by_guid(f, c->guid_a);
    if (node == FAB_NONE)
        return;
    sm_node_name(f, node, name);
    if (c->kind == FAB_CHANGE_NODE_ADDED)
        event_emit(s->in.bus, node_added, .subject = name, .guid = c->guid_a);
    else if (c->kind == FAB_CHANGE_NODE_REMOVED)
        event_emit(s->in.bus, node_removed, .subject = name, .guid = c->guid_a);
    else
        event_emit(s->in.bus, node_renamed, .subject = name, .guid = c->guid_a);
}

/* ---- summary events -------------------------------------------------------------------------- */

struct many {
    /* the snapshot in which the names of the changed nodes and links are looked up */
    const struct fab_fabric *f;
    const struct fab_change *change; /* [count] changes of the same kind */
    size_t count;
    /* [place_count] all changed nodes, or both ends of all changed links */
    struct event_place *places;
    uint32_t place_count;
};

uint32_t sm_list_places(const struct fab_change *change, size_t count, struct event_place **ret)
{
    struct event_place *places = calloc(2 * count + 1, sizeof(*places));
    uint32_t used = 0;
    for (size_t i = 0; places && i < count; i++) {
        const struct fab_change *c = &change[i];
        places[used++] = (struct event_place){c->guid_a, c->port_a};
        if (c->guid_b != 0)
            places[used++] = (struct event_place){c->guid_b, c->port_b};
    }
    *ret = places;
    return used;
}

/* Appends a name to the list, or "..." if the name does not fit. */
static void add_name(char names[SM_NAMES_LEN + 8], size_t *used, const char *name)
{
    if (*used >= SM_NAMES_LEN)
        return;
    int n = snprintf(names + *used, SM_NAMES_LEN - *used, "%s%s", *used ? ", " : "", name);
    if (*used + (size_t)n < SM_NAMES_LEN) {
        *used += (size_t)n;
    } else {
        memcpy(names + *used, ", ...", sizeof(", ..."));
        *used = SM_NAMES_LEN;
    }
}

static void name_nodes(const struct many *m, bool switches, char *names, size_t *used)
{
    char name[SM_PLACE_LEN];
    for (size_t i = 0; i < m->count && *used < SM_NAMES_LEN; i++) {
        uint32_t node = fab_fabric_node_by_guid(m->f, m->change[i].guid_a);
        if (node == FAB_NONE || fab_fabric_node_is_switch(m->f, node) != switches)
            continue;
        sm_node_name(m->f, node, name);
        add_name(names, used, name);
    }
}

static size_t count_switches(const struct many *m)
{
    size_t count = 0;
    for (size_t i = 0; i < m->count; i++) {
        uint32_t node = fab_fabric_node_by_guid(m->f, m->change[i].guid_a);
        count += node != FAB_NONE && fab_fabric_node_is_switch(m->f, node);
    }
    return count;
}

#define NODES(m, list)                                                                             \
    .subject = "fabric", .nodes = (m)->count, .switches = count_switches(m), .names = list,        \
    .places = (m)->places, .place_count = (m)->place_count

static void emit_nodes(struct sm *s, const struct many *m)
{
    char names[SM_NAMES_LEN + 8] = "";
    size_t used = 0;
    name_nodes(m, true, names, &used);
    name_nodes(m, false, names, &used);
    if (m->change->kind == FAB_CHANGE_NODE_ADDED)
        event_emit(s->in.bus, nodes_added, NODES(m, names));
    else if (m->change->kind == FAB_CHANGE_NODE_REMOVED)
        event_emit(s->in.bus, nodes_removed, NODES(m, names));
    else
        event_emit(s->in.bus, nodes_renamed, NODES(m, names));
}

/* Returns the GUID of the node at which all changed links end; 0: they have no node in common. */
static uint64_t common_end(const struct many *m)
{
    uint64_t a = m->change[0].guid_a, b = m->change[0].guid_b;
    for (size_t i = 1; i < m->count; i++) {
        const struct fab_change *c = &m->change[i];
        a = c->guid_a == a || c->guid_b == a ? a : 0;
        b = c->guid_a == b || c->guid_b == b ? b : 0;
    }
    return a ? a : b;
}

#define LINKS(m) .links = (m)->count, .places = (m)->places, .place_count = (m)->place_count

static void emit_links_at(struct sm *s, const struct many *m, uint32_t node)
{
    char name[SM_PLACE_LEN];
    uint64_t guid = m->f->nodes[node].guid;
    sm_node_name(m->f, node, name);
    if (m->change->kind == FAB_CHANGE_LINK_ADDED)
        event_emit(s->in.bus, links_up_at, .subject = name, .guid = guid, LINKS(m));
    else
        event_emit(s->in.bus, links_down_at, .subject = name, .guid = guid, LINKS(m));
}

static void list_links(const struct many *m, char names[SM_NAMES_LEN + 8])
{
    char a[SM_PLACE_LEN], b[SM_PLACE_LEN], name[2 * SM_PLACE_LEN + 4];
    size_t used = 0;
    names[0] = '\0';
    for (size_t i = 0; i < m->count && used < SM_NAMES_LEN; i++) {
        sm_place_name(m->f, m->change[i].guid_a, m->change[i].port_a, a);
        sm_place_name(m->f, m->change[i].guid_b, m->change[i].port_b, b);
        snprintf(name, sizeof(name), "%s - %s", a, b);
        add_name(names, &used, name);
    }
}

static void emit_links(struct sm *s, const struct many *m)
{
    char names[SM_NAMES_LEN + 8];
    list_links(m, names);
    if (m->change->kind == FAB_CHANGE_LINK_ADDED)
        event_emit(s->in.bus, links_up, .subject = "fabric", .names = names, LINKS(m));
    else
        event_emit(s->in.bus, links_down, .subject = "fabric", .names = names, LINKS(m));
}

void sm_name_links(const struct fab_fabric *f, const struct fab_change *links, size_t count,
                   struct sm_link_names *ret)
{
    const struct many m = {.f = f, .change = links, .count = count};
    uint32_t node = count > 0 ? fab_fabric_node_by_guid(f, common_end(&m)) : FAB_NONE;
    *ret = (struct sm_link_names){.node = ""};
    if (node != FAB_NONE) {
        sm_node_name(f, node, ret->node);
        ret->guid = f->nodes[node].guid;
    }
    list_links(&m, ret->names);
}

static void emit_many(struct sm *s, struct many *m)
{
    m->place_count = sm_list_places(m->change, m->count, &m->places);
    uint32_t node =
        is_of_link(m->change->kind) ? fab_fabric_node_by_guid(m->f, common_end(m)) : FAB_NONE;
    if (node != FAB_NONE)
        emit_links_at(s, m, node);
    else if (is_of_link(m->change->kind))
        emit_links(s, m);
    else
        emit_nodes(s, m);
    free(m->places);
}

size_t sm_events_singly(const struct sm *s)
{
    return sm_pace_many(s) ? 1 : SINGLY;
}

/* Emits the events for a list of changes of the same kind. */
static void emit_all(struct sm *s, const struct fab_fabric *old, const struct fab_fabric *now,
                     const struct fab_change *changes, size_t count)
{
    if (count == 0 || changes->kind > FAB_CHANGE_LINK_REMOVED)
        return;
    bool gone =
        changes->kind == FAB_CHANGE_NODE_REMOVED || changes->kind == FAB_CHANGE_LINK_REMOVED;
    struct many many = {.f = gone ? old : now, .change = changes, .count = count};
    for (size_t i = 0; i < count; i++) {
        sm_node_touched(s, changes[i].guid_a);
        sm_node_touched(s, changes[i].guid_b);
    }
    s->apply->links_lost += changes->kind == FAB_CHANGE_LINK_REMOVED ? count : 0;
    s->apply->links_gained += changes->kind == FAB_CHANGE_LINK_ADDED ? count : 0;
    size_t singly = sm_events_singly(s);
    if (count > singly)
        emit_many(s, &many);
    for (size_t i = 0; count <= singly && i < count; i++)
        if (is_of_link(changes->kind))
            emit_link(s, many.f, &changes[i]);
        else
            emit_node(s, many.f, &changes[i]);
}

/* ---- interface ------------------------------------------------------------------------------- */

static void report_links(struct sm *s, enum fab_change_kind kind, const struct sm_link *link,
                         uint32_t count)
{
    const struct fab_fabric *f = s->model.fabric;
    struct fab_change *changes = calloc(count + 1u, sizeof(*changes));
    size_t changed = 0;
    for (uint32_t i = 0; changes && i < count; i++) {
        if (link[i].isolated)
            /* The event about this link was emitted when the link was isolated or drained, or when
             * its switch became silent. */
            continue;
        const struct fab_port *a = fab_fabric_port(f, link[i].port),
                              *b = fab_fabric_port(f, link[i].peer);
        changes[changed++] = (struct fab_change){.kind = kind,
                                                 .guid_a = f->nodes[a->node].guid,
                                                 .port_a = a->num,
                                                 .guid_b = f->nodes[b->node].guid,
                                                 .port_b = b->num};
    }
    if (changes)
        emit_all(s, f, f, changes, changed);
    free(changes);
}

void sm_report_lost_links(struct sm *s, const struct sm_link *link, uint32_t count)
{
    report_links(s, FAB_CHANGE_LINK_REMOVED, link, count);
}

void sm_report_gained_links(struct sm *s, const struct sm_link *link, uint32_t count)
{
    report_links(s, FAB_CHANGE_LINK_ADDED, link, count);
}

/* If switches disappeared together with other nodes, emits fabric-partitioned: the manager may be
 * able to reach only its own part of the fabric. */
static void emit_partitioned(struct sm *s, const struct fab_fabric *old,
                             const struct fab_change *changes, size_t count)
{
    uint32_t nodes = 0, switches = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t node = changes[i].kind == FAB_CHANGE_NODE_REMOVED
                            ? fab_fabric_node_by_guid(old, changes[i].guid_a)
                            : FAB_NONE;
        nodes += node != FAB_NONE;
        switches += node != FAB_NONE && fab_fabric_node_is_switch(old, node);
    }
    if (switches > 0 && nodes > 1)
        event_emit(s->in.bus, fabric_partitioned, .subject = "fabric", .nodes = nodes,
                   .switches = switches);
}

static bool is_of_silent(const struct sm *s, const struct fab_change *c)
{
    return is_of_link(c->kind) && sm_silent_has_link(s, c->guid_a, c->port_a);
}

/* Some changes have their own events: the removal of isolated or drained links (link-isolated,
 * drain-started), and changes of the links of silent switches (switch-silent). Removes these
 * changes from the list. Returns the number of remaining changes. */
static size_t drop_isolated(const struct sm *s, struct fab_change *changes, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        bool ours = changes[i].kind == FAB_CHANGE_LINK_REMOVED &&
                    sm_is_isolated_out(s, changes[i].guid_a, changes[i].port_a);
        if (!ours && !is_of_silent(s, &changes[i]))
            changes[kept++] = changes[i];
    }
    return kept;
}

void sm_report_changes(struct sm *s, const struct fab_fabric *old, const struct fab_fabric *now,
                       struct fab_change *changes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (changes[i].kind == FAB_CHANGE_LINK_REMOVED && !is_of_silent(s, &changes[i]))
            sm_flap_removed(s, old, now, &changes[i]);
    sm_flap_arm(s);
    sm_changed_fabric(s, changes, count);
    count = drop_isolated(s, changes, count);
    /* changes[from] to changes[to - 1] are of the same kind, because the list is sorted by kind */
    for (size_t from = 0, to = 0; from < count; from = to) {
        while (to < count && changes[to].kind == changes[from].kind)
            to++;
        emit_all(s, old, now, &changes[from], to - from);
    }
    emit_partitioned(s, old, changes, count);
    sm_reroute_changes(s, changes, count);
}
