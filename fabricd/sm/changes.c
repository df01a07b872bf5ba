/* SPDX-License-Identifier: BSD-3-Clause */
/* What changed between two snapshots, told as events. A removed node or cable has its name from the
 * snapshot that still had it. */
#include <inttypes.h>
#include <stdlib.h>

#include "fabricd/sm/private.h"

struct wording {
    const char *type;
    enum event_severity severity;
    bool from_old;
    const char *node_text; /* of "%s" */
    const char *link_text; /* of "%s - %s" */
};
static const struct wording wordings[] = {
    [FAB_CHANGE_NODE_ADDED] = {"node-added", EVENT_INFO, false, "is part of the fabric now", NULL},
    [FAB_CHANGE_NODE_REMOVED] = {"node-removed", EVENT_WARNING, true, "cannot be reached any more",
                                 NULL},
    [FAB_CHANGE_NODE_RENAMED] = {"node-renamed", EVENT_INFO, false, "has this name now", NULL},
    [FAB_CHANGE_LINK_ADDED] = {"link-up", EVENT_INFO, false, NULL, "is up"},
    [FAB_CHANGE_LINK_REMOVED] = {"link-down", EVENT_WARNING, true, NULL, "is down"},
};

static void tell(struct sm *s, const struct fab_fabric *old, const struct fab_fabric *now,
                 const struct fab_change *c)
{
    const struct wording *w = &wordings[c->kind];
    const struct fab_fabric *f = w->from_old ? old : now;
    char a[SM_PLACE_LEN], b[SM_PLACE_LEN];
    if (w->link_text) {
        sm_place_name(f, c->guid_a, c->port_a, a);
        sm_place_name(f, c->guid_b, c->port_b, b);
        bus_say(s->in.bus, w->severity, w->type, a, c->guid_a, c->port_a, "link %s - %s %s", a, b,
                w->link_text);
        return;
    }
    uint32_t node = fab_fabric_node_by_guid(f, c->guid_a);
    if (node == FAB_NONE)
        return;
    sm_node_name(f, node, a);
    bus_say(s->in.bus, w->severity, w->type, a, c->guid_a, 0, "%s %s (GUID 0x%016" PRIx64 ")", a,
            w->node_text, c->guid_a);
}

void sm_tell_link_down(struct sm *s, const struct sm_cable *c)
{
    const struct fab_fabric *f = s->model.fabric;
    const struct fab_port *a = &f->ports[c->port], *b = &f->ports[c->peer];
    const struct fab_change change = {.kind = FAB_CHANGE_LINK_REMOVED,
                                      .guid_a = f->nodes[a->node].guid,
                                      .port_a = a->num,
                                      .guid_b = f->nodes[b->node].guid,
                                      .port_b = b->num};
    tell(s, f, f, &change);
}

/* Switches that went together with others: the fabric is split. Only what we reach is managed. */
static void tell_island(struct sm *s, const struct fab_fabric *old,
                        const struct fab_change *changes, size_t count)
{
    uint32_t nodes = 0, switches = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t node = changes[i].kind == FAB_CHANGE_NODE_REMOVED
                            ? fab_fabric_node_by_guid(old, changes[i].guid_a)
                            : FAB_NONE;
        nodes += node != FAB_NONE;
        switches += node != FAB_NONE && fab_node_is_switch(old, node);
    }
    if (switches > 0 && nodes > 1)
        bus_say(s->in.bus, EVENT_WARNING, "island", "fabric", 0, 0,
                "%u nodes, %u of them switches, are cut off: the fabric is split, or they are off. "
                "They are not managed until a cable joins them again",
                nodes, switches);
}

int sm_tell_changes(struct sm *s, const struct fab_fabric *old, const struct fab_fabric *now,
                    size_t *ret_count)
{
    struct fab_change *changes = NULL;
    size_t count = 0, told = 0;
    int r = fab_fabric_diff(old, now, &changes, &count);
    if (r != FAB_OK)
        return r;
    for (size_t i = 0; i < count; i++)
        if (changes[i].kind == FAB_CHANGE_LINK_REMOVED)
            sm_flap_removed(s, old, now, &changes[i]);
    sm_flap_arm(s);
    for (size_t i = 0; i < count; i++)
        if (changes[i].kind < sizeof(wordings) / sizeof(*wordings) && told++ < SM_EVENTS_A_ROUND)
            tell(s, old, now, &changes[i]);
    if (told > SM_EVENTS_A_ROUND)
        bus_say(s->in.bus, EVENT_WARNING, "fabric-changed", "fabric", 0, 0,
                "%zu more changes of nodes and cables", told - SM_EVENTS_A_ROUND);
    tell_island(s, old, changes, count);
    sm_reroute_changes(s, changes, count);
    free(changes);
    *ret_count = count;
    return FAB_OK;
}
