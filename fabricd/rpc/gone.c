/* SPDX-License-Identifier: BSD-3-Clause */
/* Looks up names among the nodes that are gone, and describes these nodes in answers. */
#include "fabricd/rpc/gone.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "fabricd/rpc/convert.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/view/gone.h"

#define PLACE_LEN (FAB_NODE_DESC_LEN * 4 + 8)

bool gone_begin(struct gone *g, struct rpc *rpc, const struct fab_view *v, struct answer *a)
{
    *g = (struct gone){.rpc = rpc, .view = v, .a = a};
    return excluded_read(a, rpc->in.sm, &g->excluded);
}

/* ---- the reason ------------------------------------------------------------------------------ */

static void name_port(const struct fab_fabric *f, uint32_t port, char text[PLACE_LEN])
{
    const struct fab_port *p = fab_fabric_port(f, port);
    snprintf(text, PLACE_LEN, "%s/%u", f->nodes[p->node].name, p->num);
}

/* Writes why a link is gone. The text calls the end at the node with the GUID `near` "this port",
 * because the caller has named this end before. near == 0: the caller has named neither end. */
static void write_reason(const struct gone *g, const struct store_gone_link *l, uint64_t near,
                         char *text, size_t len)
{
    const struct fab_fabric *f = g->view->fabric;
    const struct fab_gone_link link = {.guid = {l->end[0].guid, l->end[1].guid},
                                       .port = {l->end[0].port, l->end[1].port}};
    const struct fab_gone_why why = fab_view_why_gone(f, &link);
    char name[PLACE_LEN], peer[PLACE_LEN];
    if (why.cause == FAB_GONE_NODES) {
        int far = l->end[0].guid == near ? 0 : 1;
        snprintf(text, len, near != 0 ? "%s is gone, too" : "both nodes are gone",
                 l->end[far].name);
        return;
    }
    const struct fab_port *p = fab_fabric_port(f, why.port);
    uint64_t guid = f->nodes[p->node].guid;
    name_port(f, why.port, name);
    if (guid == near)
        snprintf(name, sizeof name, "this port");
    const char *excluded = excluded_why(&g->excluded, f, why.port);
    if (why.cause == FAB_GONE_REPLACED) {
        name_port(f, p->peer, peer);
        snprintf(text, len, "%s is connected to %s now", name, peer);
    } else if (why.cause == FAB_GONE_DISABLED && sm_port_is_disabled(g->rpc->in.sm, guid, p->num)) {
        snprintf(text, len, "an operator disabled %s", name);
    } else if (why.cause == FAB_GONE_DISABLED) {
        snprintf(text, len, "%s is disabled", name);
    } else if (why.cause == FAB_GONE_DOWN) {
        snprintf(text, len, "%s is down", name);
    } else if (excluded[0] != '\0') {
        snprintf(text, len, "the link of %s is %s", name, excluded);
    } else {
        snprintf(text, len, "%s is up, but the device connected to it does not answer", name);
    }
}

/* ---- messages -------------------------------------------------------------------------------- */

static Google__Protobuf__Timestamp *convert_seconds(struct answer *a, int64_t seconds)
{
    return convert_time(a, seconds >= 0 && seconds < INT64_MAX / 1000000 ? seconds * 1000000 : -1);
}

static Fabric__V1__PortRef *convert_end(struct answer *a, const struct store_gone_link *l, int end)
{
    Fabric__V1__PortRef *m = ANSWER_NEW(a, Fabric__V1__PortRef, fabric__v1__port_ref);
    if (m == NULL)
        return NULL;
    m->node_guid = answer_guid(a, l->end[end].guid);
    m->node_name = answer_text(a, l->end[end].name);
    m->port_number = l->end[end].port;
    return m;
}

static Fabric__V1__LinkRate *convert_last_rate(struct answer *a, const struct store_gone_link *l)
{
    Fabric__V1__LinkRate *m = ANSWER_NEW(a, Fabric__V1__LinkRate, fabric__v1__link_rate);
    if (m == NULL)
        return NULL;
    m->width = l->width;
    m->speed = answer_text(a, l->speed);
    m->mbps = l->width * fab_wire_speed_rate(l->speed);
    return m;
}

/* Returns the index of the end that comes first in the message: the end at the node with the GUID
 * `near`. If `near` is 0, an end at a switch comes before an end at an adapter or router. */
static int first_end(const struct store_gone_link *l, uint64_t near)
{
    if (near != 0)
        return l->end[1].guid == near && l->end[0].guid != near;
    return l->end[1].is_switch && !l->end[0].is_switch;
}

Fabric__V1__GoneLink *gone_convert_link(const struct gone *g, const struct store_gone_link *l,
                                        uint64_t near)
{
    Fabric__V1__GoneLink *m = ANSWER_NEW(g->a, Fabric__V1__GoneLink, fabric__v1__gone_link);
    char reason[2 * PLACE_LEN + 80];
    int first = first_end(l, near);
    if (m == NULL)
        return NULL;
    m->a = convert_end(g->a, l, first);
    m->b = convert_end(g->a, l, !first);
    m->rate = convert_last_rate(g->a, l);
    m->first_seen = convert_seconds(g->a, l->seen.first);
    m->last_seen = convert_seconds(g->a, l->seen.last);
    m->gone_since = convert_seconds(g->a, l->seen.gone_since);
    write_reason(g, l, 0, reason, sizeof reason);
    m->reason = answer_text(g->a, reason);
    return m;
}

struct last_link {
    const struct gone *g;
    uint64_t node;
    Fabric__V1__GoneLink *link;
};

static void take_link(void *ctx, const struct store_gone_link *l)
{
    struct last_link *last = ctx;
    last->link = gone_convert_link(last->g, l, last->node);
}

Fabric__V1__GoneNode *gone_convert_node(const struct gone *g, const struct store_gone_node *n)
{
    Fabric__V1__GoneNode *m = ANSWER_NEW(g->a, Fabric__V1__GoneNode, fabric__v1__gone_node);
    const struct store_gone_links q = {.node = n->guid, .after_since = INT64_MAX};
    struct last_link last = {.g = g, .node = n->guid};
    if (m == NULL)
        return NULL;
    m->guid = answer_guid(g->a, n->guid);
    m->name = answer_text(g->a, n->name);
    m->type = (Fabric__V1__NodeType)n->type;
    m->aggregation_node = n->aggregation;
    m->port_count = n->ports;
    m->first_seen = convert_seconds(g->a, n->seen.first);
    m->last_seen = convert_seconds(g->a, n->seen.last);
    m->gone_since = convert_seconds(g->a, n->seen.gone_since);
    if (store_gone_links(g->rpc->in.store, &q, 1, take_link, &last) == FAB_OK)
        m->last_link = last.link;
    return m;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Returns the length of the text without "/PORT". */
static size_t node_length(const char *what)
{
    const char *slash = strrchr(what, '/');
    size_t digits = slash != NULL ? strspn(slash + 1, "0123456789") : 0;
    return digits > 0 && slash[1 + digits] == '\0' ? (size_t)(slash - what) : strlen(what);
}

/* Looks for `what` among the nodes that are gone: first for the whole text, then for the text
 * without "/PORT". Sets *ret_len to the length of the part that was found. Returns false if no node
 * matches, there is no store, or it cannot be read. */
static bool find(struct rpc *r, const char *what, struct store_gone_found *ret, size_t *ret_len)
{
    size_t lens[2] = {strlen(what), node_length(what)};
    ret->count = 0;
    for (int i = 0; r->in.store != NULL && i < 2 && ret->count == 0; i++) {
        struct fab_view_number number = {0};
        *ret_len = lens[i];
        if (lens[i] == 0 || lens[i] > PLACE_LEN || (i > 0 && lens[1] == lens[0]))
            break;
        if (!fab_view_read_number(what, lens[i], &number))
            number = (struct fab_view_number){0};
        if (store_gone_find(r->in.store, what, lens[i], number.value, number.guid, ret) != FAB_OK)
            ret->count = 0;
    }
    return ret->count > 0;
}

int gone_find(struct rpc *r, const char *what, uint64_t *ret_guid)
{
    struct store_gone_found found;
    size_t len;
    if (!find(r, what, &found, &len) || len != strlen(what))
        return FAB_E_NOT_FOUND;
    if (found.count > 1)
        return FAB_E_EXISTS;
    *ret_guid = found.guid;
    return FAB_OK;
}

bool gone_is_better(struct rpc *r, const struct fab_view *v, const char *what, int found)
{
    struct store_gone_found gone;
    struct fab_view_number number;
    size_t len = node_length(what);
    if (found != FAB_OK && found != FAB_E_EXISTS)
        return found == FAB_E_NOT_FOUND;
    if (fab_view_has_name(v, what, strlen(what)) || fab_view_has_name(v, what, len) ||
        fab_view_read_number(what, len, &number))
        return false;
    return find(r, what, &gone, &len) && gone.match < STORE_MATCH_BEGINNING;
}

/* ---- the explanation ------------------------------------------------------------------------- */

struct explanation {
    struct gone g;
    char *why;
    size_t len, used;
    struct store_seen seen;
    uint64_t node;
};

static void add(struct explanation *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add(struct explanation *e, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(e->why + e->used, e->len - e->used, fmt, args);
    va_end(args);
    e->used = n < 0 || (size_t)n >= e->len - e->used ? e->len - 1 : e->used + (size_t)n;
}

static void add_time(struct explanation *e, int64_t seconds)
{
    char text[40] = "?";
    time_t t = (time_t)seconds;
    struct tm tm;
    if (gmtime_r(&t, &tm) != NULL)
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &tm);
    add(e, "%s", text);
}

static void add_place(void *ctx, const struct store_gone_link *l)
{
    struct explanation *e = ctx;
    char reason[2 * PLACE_LEN + 80];
    int far = l->end[0].guid == e->node;
    write_reason(&e->g, l, l->end[far].guid, reason, sizeof reason);
    add(e, "; it was last seen at %s/%u", l->end[far].name, l->end[far].port);
    if (e->seen.last < e->seen.gone_since) {
        add(e, " at ");
        add_time(e, e->seen.last);
    }
    add(e, " (%s)", reason);
}

static void add_node(void *ctx, const struct store_gone_node *n)
{
    struct explanation *e = ctx;
    e->seen = n->seen;
    add(e, "%s (0x%016" PRIx64 ") has not been reachable since ", n->name, n->guid);
    add_time(e, n->seen.gone_since);
}

static bool explain_one(struct explanation *e)
{
    struct store *store = e->g.rpc->in.store;
    const struct store_gone_links q = {.node = e->node, .after_since = INT64_MAX};
    return store_gone_node(store, e->node, add_node, e) == FAB_OK && e->used > 0 &&
           store_gone_links(store, &q, 1, add_place, e) == FAB_OK;
}

bool gone_explain(struct rpc *r, const struct fab_view *v, const char *what, char *why,
                  size_t why_len)
{
    struct answer a = {0};
    struct explanation e = {.why = why, .len = why_len};
    struct store_gone_found found;
    size_t len;
    if (!find(r, what, &found, &len))
        return false;
    bool told = true;
    e.node = found.guid;
    if (found.count > 1)
        add(&e,
            "no node, GUID or LID \"%.*s\"; %u nodes that are gone have names that %s so; list "
            "them "
            "with 'fabricctl node list --gone'",
            (int)len, what, found.count,
            found.match == STORE_MATCH_BEGINNING ? "begin" : "are or begin");
    else
        told = gone_begin(&e.g, r, v, &a) && explain_one(&e);
    fab_base_arena_fini(&a.arena);
    return told;
}
