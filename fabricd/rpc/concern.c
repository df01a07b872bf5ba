/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares events and audit records with the node or port that a client named. */
#include "fabricd/rpc/concern.h"

#include <stdio.h>
#include <string.h>

#include "fabricd/rpc/gone.h"
#include "libfabmgr/base/glob.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/view/concern.h"

/* ---- the request ----------------------------------------------------------------------------- */

static void take_name(void *ctx, const struct store_gone_node *n)
{
    struct concern *c = ctx;
    snprintf(c->name, sizeof c->name, "%s", n->name);
}

/* Finds the node with this name, in the fabric or among the nodes that are gone, and stores its
 * GUID and its name in *c. */
static bool find(struct concern *c, struct rpc *r, const struct fab_view *v, const char *name)
{
    char why[200];
    uint32_t node;
    int rc = fab_view_find_node(v, name, &node, why, sizeof why);
    if (gone_is_better(r, v, name, rc)) {
        if (gone_find(r, name, &c->guid) != FAB_OK)
            return false;
        store_gone_node(r->in.store, c->guid, take_name, c);
    } else if (rc == FAB_OK) {
        c->guid = v->fabric->nodes[node].guid;
        snprintf(c->name, sizeof c->name, "%s", v->fabric->nodes[node].name);
    }
    return c->guid != 0;
}

static void add_end(struct concern *c, uint64_t guid, int port, const char *name)
{
    if (c->end_count == CONCERN_ENDS)
        return;
    struct concern_end *end = &c->end[c->end_count++];
    end->guid = guid;
    end->port = port;
    snprintf(end->name, sizeof end->name, "%s", name);
}

static void take_end(void *ctx, const struct store_gone_link *l)
{
    struct concern *c = ctx;
    int far = l->end[0].guid == c->guid;
    add_end(c, l->end[far].guid, l->end[far].port, l->end[far].name);
}

/* Adds the port at the other end of the link of a port. If the port has no link now, adds the other
 * end of its last link. */
static void add_end_of(struct concern *c, struct store *store, const struct fab_fabric *f,
                       uint32_t port)
{
    const struct fab_port *p = fab_fabric_port(f, port);
    const struct store_gone_links last = {
        .node = c->guid, .port = p->num, .after_since = INT64_MAX};
    if (p->peer != FAB_NONE) {
        const struct fab_port *peer = fab_fabric_port(f, p->peer);
        add_end(c, f->nodes[peer->node].guid, peer->num, f->nodes[peer->node].name);
    } else if (store != NULL && p->num != 0) {
        store_gone_links(store, &last, 1, take_end, c);
    }
}

/* Adds the ports at the other ends of the links of the object: of the port, or of all ports of the
 * adapter. */
static void add_ends(struct concern *c, struct store *store, const struct fab_fabric *f)
{
    uint32_t node = fab_fabric_node_by_guid(f, c->guid);
    uint8_t port = c->port == FAB_ALL_PORTS ? 0 : (uint8_t)c->port;
    const struct store_gone_links last = {.node = c->guid, .port = port, .after_since = INT64_MAX};
    if (node == FAB_NONE) {
        if (store != NULL)
            store_gone_links(store, &last, 1, take_end, c);
        return;
    }
    const struct fab_node *n = &f->nodes[node];
    if (port != 0 && port <= n->num_ports)
        add_end_of(c, store, f, n->first_port + port);
    for (uint32_t i = 1; i <= n->num_ports && port == 0 && n->type != FAB_NODE_SWITCH; i++)
        add_end_of(c, store, f, n->first_port + i);
}

/* Divides a text of the form NODE/PORT. Returns false if the text has another form. */
static bool split(const char *what, size_t *ret_len, int *ret_port)
{
    unsigned port;
    int used = 0;
    const char *slash = strrchr(what, '/');
    if (slash == NULL || slash == what || strspn(slash + 1, "0123456789") > 3 ||
        sscanf(slash + 1, "%3u%n", &port, &used) != 1 || slash[1 + used] != '\0' || port > 254)
        return false;
    *ret_len = (size_t)(slash - what);
    *ret_port = (int)port;
    return true;
}

/* Finds the node that `what` names, in the fabric or among the nodes that are gone. */
static bool resolve(struct concern *c, struct rpc *r, const struct fab_view *v)
{
    char node[CONCERN_NAME];
    if (find(c, r, v, c->what))
        return true;
    if (!split(c->what, &c->node_len, &c->port) || c->node_len >= sizeof node)
        return false;
    snprintf(node, sizeof node, "%.*s", (int)c->node_len, c->what);
    return find(c, r, v, node);
}

void concern_read(struct concern *c, struct rpc *r, const char *what)
{
    struct fab_view *v = sm_view_to_show(r->in.sm);
    *c = (struct concern){.what = what, .node_len = strlen(what), .port = FAB_ALL_PORTS};
    c->pattern = fab_base_is_glob(what);
    if (v != NULL && what[0] != '\0' && !c->pattern && resolve(c, r, v))
        add_ends(c, r->in.store, v->fabric);
    else if (v == NULL)
        split(what, &c->node_len, &c->port);
    fab_view_unref(v);
}

/* ---- comparison ------------------------------------------------------------------------------ */

/* Returns true if the text names the node or port itself. */
static bool names_object(const struct concern *c, const char *text)
{
    const struct fab_concern by_text = {c->what, c->node_len, c->port};
    const struct fab_concern by_name = {c->name, strlen(c->name), c->port};
    if (c->pattern)
        return fab_base_glob_matches(c->what, strlen(c->what), text, strlen(text));
    return c->what[0] == '\0' || fab_view_concerns(&by_text, text) ||
           fab_view_concerns(&by_name, text);
}

/* Returns true if the text names the other end of a link of the object. */
static bool names_end(const struct concern *c, const char *text)
{
    for (uint32_t i = 0; i < c->end_count; i++) {
        const struct fab_concern by_name = {c->end[i].name, strlen(c->end[i].name), c->end[i].port};
        if (fab_view_concerns(&by_name, text))
            return true;
    }
    return false;
}

bool concern_text(const struct concern *c, const char *text)
{
    return names_object(c, text) || names_end(c, text);
}

static bool is_port(const struct concern *c, uint64_t guid, uint64_t port)
{
    return c->guid != 0 && guid == c->guid &&
           (c->port == FAB_ALL_PORTS || port == (uint64_t)c->port);
}

static const struct event_field *field_of(const struct event *e, const char *name)
{
    for (uint32_t i = 0; i < e->field_count; i++)
        if (strcmp(e->fields[i].name, name) == 0)
            return &e->fields[i];
    return NULL;
}

/* Returns true if the event is about a port to which a link of the object leads. Events with a
 * field `peer_guid` do not count: such an event is about a link, which may be an earlier link of
 * that port to another node. */
static bool is_about_end(const struct concern *c, const struct event *e)
{
    if (field_of(e, "peer_guid") != NULL)
        return false;
    for (uint32_t i = 0; i < c->end_count; i++)
        if (e->guid == c->end[i].guid && e->port == (uint32_t)c->end[i].port)
            return true;
    return names_end(c, e->subject);
}

/* Returns the GUID in a field; 0: the field has no GUID. In events from the store, GUIDs are
 * texts. */
static uint64_t guid_of(const struct event_field *f)
{
    struct fab_view_number n;
    if (f->kind != EVENT_TEXT)
        return f->number;
    return fab_view_read_number(f->text, strlen(f->text), &n) && n.guid ? n.value : 0;
}

static bool is_about_peer(const struct concern *c, const struct event *e)
{
    const struct event_field *guid = field_of(e, "peer_guid"), *port = field_of(e, "peer_port");
    return guid != NULL && is_port(c, guid_of(guid), port != NULL ? port->number : 0);
}

bool concern_event(const struct concern *c, const struct event *e)
{
    static const char *const texts[] = {"peer", "names"};
    if (names_object(c, e->subject) || is_port(c, e->guid, e->port) || is_about_peer(c, e) ||
        is_about_end(c, e))
        return true;
    for (size_t i = 0; i < 2; i++) {
        const struct event_field *f = field_of(e, texts[i]);
        if (f != NULL && f->kind == EVENT_TEXT && names_object(c, f->text))
            return true;
    }
    return false;
}
