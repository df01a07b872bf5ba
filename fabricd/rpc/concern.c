/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares events and audit records with the object that a client named. */
#include "fabricd/rpc/concern.h"

#include <stdio.h>
#include <string.h>

#include "fabricd/rpc/gone.h"
#include "fabricd/rpc/hosts.h"
#include "libfabmgr/base/glob.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/view/name.h"

#define NAME_LEN (FAB_NODE_DESC_LEN * 4 + 1)
#define GONE_MOST 65536u /* the store keeps fewer nodes that are gone */

/* The state while a text is read. */
struct reading {
    struct concern *c;
    struct rpc *rpc;
    const struct fab_view *view;
    const char *rack; /* the rack that the text names; NULL: it names none in the fabric */
    /* true: gone nodes may be those of a rack with this name, because nothing in the fabric is
     * meant */
    bool may_be_rack;
    /* the object whose ends are added now */
    const struct fab_concern_place *place;
    int status;
};

/* ---- nodes of the fabric --------------------------------------------------------------------- */

static void add_object(struct reading *r, uint64_t guid, int port, const char *name)
{
    if (r->status == FAB_OK)
        r->status = fab_view_concern_set_add(&r->c->objects, guid, port, name);
}

/* Adds an adapter under the name of its host, too, because texts about a node of a rack can name
 * the host, for example after 'drain host'. */
static void add_host_name(struct reading *r, const struct fab_hosts *hosts, uint32_t node)
{
    const struct fab_node *n = &r->view->fabric->nodes[node];
    const struct fab_host *h =
        hosts->host_of[node] != FAB_NONE ? &hosts->hosts[hosts->host_of[node]] : NULL;
    if (h != NULL && strcmp(h->name, n->name) != 0)
        add_object(r, n->guid, FAB_ALL_PORTS, h->name);
}

/* Adds the node, or those of its ports that the filter selects. */
static void add_node(struct reading *r, struct fab_view_filter *filter, uint32_t node)
{
    const struct fab_node *n = &r->view->fabric->nodes[node];
    if (!filter->has_port)
        add_object(r, n->guid, FAB_ALL_PORTS, n->name);
    if (filter->rack != NULL)
        add_host_name(r, filter->hosts, node);
    for (uint32_t i = 0; filter->has_port && i <= n->num_ports; i++)
        if (fab_view_filter_port(filter, n->first_port + i))
            add_object(r, n->guid, (int)i, n->name);
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

/* Returns true if the text names one node of the fabric exactly, so that it cannot also mean nodes
 * that are gone: any switch or router, or an adapter by its GUID, its LID or its whole name. */
static bool is_exact(const struct concern *c, const struct fab_view_filter *filter)
{
    struct fab_view_number number;
    if (filter->pattern || filter->rack != NULL || filter->node == FAB_NONE)
        return false;
    const struct fab_node *n = &filter->view->fabric->nodes[filter->node];
    return n->type != FAB_NODE_CA || fab_view_read_number(c->what, c->node_len, &number) ||
           (strlen(n->name) == c->node_len && strncmp(n->name, c->what, c->node_len) == 0);
}

/* Adds the nodes or ports of the fabric that the text names. Returns true if the text cannot also
 * mean nodes that are gone (is_exact). */
static bool add_current(struct reading *r, const struct fab_hosts *hosts)
{
    struct concern *c = r->c;
    struct fab_view_filter filter;
    char why[512];
    int rc = fab_view_filter_read(&filter, r->view, hosts, c->what, why, sizeof why);
    bool rack = rc == FAB_OK && filter.rack != NULL;
    if (!rack && gone_is_better(r->rpc, r->view, c->what, rc))
        rc = FAB_E_NOT_FOUND;
    if (rc != FAB_OK || filter.has_port)
        split(c->what, &c->node_len, &c->port);
    if (rc != FAB_OK)
        return false;
    r->rack = filter.rack;
    for (uint32_t n = 0; n < r->view->fabric->node_count; n++)
        if (fab_view_filter_node(&filter, n))
            add_node(r, &filter, n);
    return is_exact(c, &filter);
}

/* ---- nodes that are gone --------------------------------------------------------------------- */

/* Returns true if the text means this gone node. If the text is known to be a rack (r->rack is set,
 * or the text has the prefix FAB_FILTER_RACK), only the rack of the node counts, as the operator's
 * file of locations gives it. Otherwise the part of the text before "/PORT" must be the name of the
 * node, the first word of this name, or the name of its host in that file. If the text means
 * nothing in the fabric, it may also be the name of the rack. */
static bool is_meant(const struct reading *r, const struct store_gone_node *n)
{
    const struct concern *c = r->c;
    const struct fab_location *l =
        fab_policy_locations_find(r->view->policy.locations, n->guid, n->name);
    bool prefixed = strncmp(c->what, FAB_FILTER_RACK, strlen(FAB_FILTER_RACK)) == 0;
    if (r->rack != NULL || prefixed)
        return fab_hosts_is_rack(l->rack, prefixed ? c->what + strlen(FAB_FILTER_RACK) : r->rack);
    if (strncmp(n->name, c->what, c->node_len) == 0 &&
        (n->name[c->node_len] == '\0' || fab_view_ends_word(n->name + c->node_len)))
        return true;
    return (strlen(l->host) == c->node_len && strncmp(l->host, c->what, c->node_len) == 0) ||
           (r->may_be_rack && fab_hosts_is_rack(l->rack, c->what));
}

static void take_meant(void *ctx, const struct store_gone_node *n)
{
    struct reading *r = ctx;
    if (is_meant(r, n))
        add_object(r, n->guid, r->c->port, n->name);
}

static void take_gone(void *ctx, const struct store_gone_node *n)
{
    struct reading *r = ctx;
    add_object(r, n->guid, r->c->port, n->name);
}

/* Adds the nodes that are gone and that the text means. */
static void add_gone(struct reading *r)
{
    const struct store_gone_nodes all = {.before = INT64_MAX, .after_since = INT64_MAX};
    struct concern *c = r->c;
    char node[NAME_LEN];
    uint64_t guid;
    if (r->rpc->in.store == NULL)
        return;
    r->may_be_rack = c->objects.count == 0;
    store_gone_nodes(r->rpc->in.store, &all, GONE_MOST, take_meant, r);
    if (c->objects.count > 0 || c->node_len >= sizeof node)
        return;
    snprintf(node, sizeof node, "%.*s", (int)c->node_len, c->what);
    if (gone_find(r->rpc, node, &guid) == FAB_OK)
        store_gone_node(r->rpc->in.store, guid, take_gone, r);
}

/* ---- the other ends of links ----------------------------------------------------------------- */

static void add_end(struct reading *r, uint64_t guid, int port, const char *name)
{
    if (r->status == FAB_OK)
        r->status = fab_view_concern_set_add(&r->c->ends, guid, port, name);
}

static void take_end(void *ctx, const struct store_gone_link *l)
{
    struct reading *r = ctx;
    int far = l->end[0].guid == r->place->guid;
    add_end(r, l->end[far].guid, l->end[far].port, l->end[far].name);
}

/* Adds the other end of the last link of a port; port 0: of the last link of the node. */
static void add_last_end(struct reading *r, uint8_t port)
{
    const struct store_gone_links last = {
        .node = r->place->guid, .port = port, .after_since = INT64_MAX};
    if (r->rpc->in.store != NULL)
        store_gone_links(r->rpc->in.store, &last, 1, take_end, r);
}

/* Adds the port at the other end of the link of a port. If the port has no link now, adds the other
 * end of its last link. */
static void add_end_of(struct reading *r, uint32_t port)
{
    const struct fab_fabric *f = r->view->fabric;
    const struct fab_port *p = fab_fabric_port(f, port);
    if (p->peer != FAB_NONE) {
        const struct fab_port *peer = fab_fabric_port(f, p->peer);
        add_end(r, f->nodes[peer->node].guid, peer->num, f->nodes[peer->node].name);
    } else if (p->num != 0) {
        add_last_end(r, p->num);
    }
}

/* Adds the ports at the other ends of the links of r->place: of the link of a port, or of the links
 * of all ports of an adapter or router. For a switch as a whole, adds none. If the node is gone:
 * the other end of the last link of the port or, for a node as a whole, of the node. */
static void add_ends(struct reading *r)
{
    const struct fab_fabric *f = r->view->fabric;
    uint32_t node = fab_fabric_node_by_guid(f, r->place->guid);
    uint8_t port = r->place->port == FAB_ALL_PORTS ? 0 : (uint8_t)r->place->port;
    if (node == FAB_NONE) {
        add_last_end(r, port);
        return;
    }
    const struct fab_node *n = &f->nodes[node];
    if (port != 0 && port <= n->num_ports)
        add_end_of(r, n->first_port + port);
    for (uint32_t i = 1; i <= n->num_ports && port == 0 && n->type != FAB_NODE_SWITCH; i++)
        add_end_of(r, n->first_port + i);
}

/* ---- the request ----------------------------------------------------------------------------- */

static void resolve(struct reading *r)
{
    struct concern *c = r->c;
    const struct fab_hosts *hosts = NULL;
    if (r->view->policy.locations != NULL && (hosts = hosts_of_view(r->rpc, r->view)) == NULL) {
        r->status = FAB_E_NOMEM;
        return;
    }
    if (!add_current(r, hosts))
        add_gone(r);
    for (size_t i = 0; i < c->objects.count && r->status == FAB_OK; i++) {
        r->place = &c->objects.by_guid[i];
        add_ends(r);
    }
    if (r->status == FAB_OK)
        r->status = fab_view_concern_set_sort(&c->objects);
    if (r->status == FAB_OK)
        r->status = fab_view_concern_set_sort(&c->ends);
}

int concern_read(struct concern *c, struct rpc *r, const char *what)
{
    struct fab_view *v = sm_view_to_show(r->in.sm);
    struct reading reading = {.c = c, .rpc = r, .view = v};
    *c = (struct concern){.what = what, .node_len = strlen(what), .port = FAB_ALL_PORTS};
    c->pattern =
        fab_base_is_glob(what) && strncmp(what, FAB_FILTER_RACK, strlen(FAB_FILTER_RACK)) != 0;
    if (v == NULL)
        split(what, &c->node_len, &c->port);
    else if (what[0] != '\0' && !c->pattern)
        resolve(&reading);
    fab_view_unref(v);
    if (reading.status != FAB_OK)
        concern_fini(c);
    return reading.status;
}

void concern_fini(struct concern *c)
{
    fab_view_concern_set_fini(&c->objects);
    fab_view_concern_set_fini(&c->ends);
}

/* ---- comparison ------------------------------------------------------------------------------ */

/* Returns true if the text names the object itself. */
static bool names_object(const struct concern *c, const char *text)
{
    const struct fab_concern by_text = {c->what, c->node_len, c->port};
    if (c->pattern)
        return fab_base_glob_matches(c->what, strlen(c->what), text, strlen(text));
    return c->what[0] == '\0' || fab_view_concerns(&by_text, text) ||
           fab_view_concern_set_named(&c->objects, text);
}

bool concern_text(const struct concern *c, const char *text)
{
    return names_object(c, text) || fab_view_concern_set_named(&c->ends, text);
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
    return fab_view_concern_set_have(&c->ends, e->guid, e->port) ||
           fab_view_concern_set_named(&c->ends, e->subject);
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
    return guid != NULL &&
           fab_view_concern_set_have(&c->objects, guid_of(guid), port != NULL ? port->number : 0);
}

static bool has_place(const struct concern *c, const struct event *e)
{
    for (uint32_t i = 0; i < e->place_count && c->objects.count > 0; i++)
        if (fab_view_concern_set_have(&c->objects, e->places[i].guid, e->places[i].port))
            return true;
    return false;
}

bool concern_event(const struct concern *c, const struct event *e)
{
    static const char *const texts[] = {"peer", "names"};
    if (names_object(c, e->subject) || fab_view_concern_set_have(&c->objects, e->guid, e->port) ||
        is_about_peer(c, e) || is_about_end(c, e) || has_place(c, e))
        return true;
    for (size_t i = 0; i < 2; i++) {
        const struct event_field *f = field_of(e, texts[i]);
        if (f != NULL && f->kind == EVENT_TEXT && names_object(c, f->text))
            return true;
    }
    return false;
}
