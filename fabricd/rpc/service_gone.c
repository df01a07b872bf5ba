/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements ListGoneNodes, ListGoneLinks and ForgetNodes. A page token has the GUID of the last
 * node on the page (for a link: the GUID and port of its first end), and the time since which this
 * node or link has been gone. */
#include <stdio.h>

#include "fabric/v1/gone.pb-c.h"
#include "fabricd/base/clock.h"
#include "fabricd/rpc/concern.h"
#include "fabricd/rpc/convert.h"
#include "fabricd/rpc/gone.h"
#include "fabricd/rpc/page.h"
#include "fabricd/rpc/request.h"
#include "libfabmgr/base/plural.h"
#include "libfabmgr/base/status.h"

#define FORGOTTEN_SHOWN 1000u

static void fail(struct call *c, struct answer *a, int status)
{
    fab_base_arena_fini(&a->arena);
    call_finish(c, fab_grpc_code_of(status), "the database cannot be read: %s",
                fab_base_status_text(status));
}

/* ---- lists ----------------------------------------------------------------------------------- */

struct rows {
    struct gone g;
    void **item; /* [count] messages, one for each row */
    size_t count;
    struct page_key last;
    const char *last_name; /* name of the last node of the page, in memory of the answer */
};

static bool begin(struct rows *r, struct call *c, const struct fab_view *v, struct answer *a,
                  uint32_t want)
{
    *r = (struct rows){0};
    r->item = answer_alloc(a, want, sizeof *r->item);
    return gone_begin(&r->g, call_rpc(c), v, a) && r->item != NULL;
}

static void add_node(void *ctx, const struct store_gone_node *n)
{
    struct rows *r = ctx;
    r->item[r->count++] = gone_convert_node(&r->g, n);
    r->last_name = answer_text(r->g.a, n->name);
    r->last =
        (struct page_key){.list = 'G', .number = (uint64_t)n->seen.gone_since, .high = n->guid};
}

void list_gone_nodes(struct call *c, const void *request)
{
    const Fabric__V1__ListGoneNodesRequest *q = request;
    Fabric__V1__ListGoneNodesResponse m = FABRIC__V1__LIST_GONE_NODES_RESPONSE__INIT;
    struct answer a = {0};
    struct rows r;
    struct page page;
    struct fab_view *v = need_view(c);
    struct store *store = v != NULL ? need_store(c) : NULL;
    if (store == NULL || !read_page(c, 'G', q->page_token, q->page_size, &page))
        return;
    const struct store_gone_nodes query = {.type = (int)q->type,
                                           .before = INT64_MAX,
                                           .after_since =
                                               page.given ? (int64_t)page.key.number : INT64_MAX,
                                           .after_guid = page.key.high};
    int rc = begin(&r, c, v, &a, page.want)
                 ? store_gone_nodes(store, &query, page.want, add_node, &r)
                 : FAB_E_NOMEM;
    if (rc != FAB_OK) {
        fail(c, &a, rc);
        return;
    }
    m.nodes = (Fabric__V1__GoneNode **)r.item;
    m.n_nodes = r.count;
    if (r.count == page.want)
        m.next_page_token = page_token(&a, &r.last);
    answer_reply(&a, c, &m.base);
}

static void add_link(void *ctx, const struct store_gone_link *l)
{
    struct rows *r = ctx;
    r->item[r->count++] = gone_convert_link(&r->g, l, 0);
    r->last = (struct page_key){.list = 'L',
                                .number = (uint64_t)l->seen.gone_since,
                                .port = l->end[0].port,
                                .high = l->end[0].guid};
}

/* Reads what the client named: a node or port, a host or a rack, in the fabric or gone. On an
 * error, finishes the call and returns the error. */
static int read_object(struct call *c, const struct fab_view *v, const char *what,
                       struct concern *ret)
{
    uint32_t node;
    int rc = concern_read(ret, call_rpc(c), what);
    if (rc != FAB_OK) {
        call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED, "the manager is out of memory");
        return rc;
    }
    if (ret->objects.count > 0)
        return FAB_OK;
    concern_fini(ret);
    rc = find_node(c, v, what, &node);
    if (rc == FAB_OK) /* cannot occur, because concern_read finds all nodes that find_node finds */
        call_finish(c, FAB_GRPC_NOT_FOUND, "no link of \"%.100s\" is gone", what);
    return FAB_E_NOT_FOUND;
}

/* Sets the nodes and the port whose links a query returns. */
static void select_links(struct answer *a, const struct concern *concern,
                         struct store_gone_links *query)
{
    const struct fab_concern_set *p = &concern->objects;
    uint64_t *guids = answer_alloc(a, p->count, sizeof *guids);
    for (size_t i = 0; guids != NULL && i < p->count; i++)
        guids[query->node_count++] = p->by_guid[i].guid;
    query->nodes = guids;
    query->port = concern->port == FAB_ALL_PORTS ? 0 : (uint8_t)concern->port;
}

/* Replies with a page of the links of the objects in `concern` that are gone; concern == NULL: of
 * all links that are gone. */
static void reply_links(struct call *c, struct store *store, const struct fab_view *v,
                        const struct concern *concern, const struct page *page)
{
    Fabric__V1__ListGoneLinksResponse m = FABRIC__V1__LIST_GONE_LINKS_RESPONSE__INIT;
    struct answer a = {0};
    struct rows r;
    struct store_gone_links query = {.after_since =
                                         page->given ? (int64_t)page->key.number : INT64_MAX,
                                     .after_guid = page->key.high,
                                     .after_port = (uint8_t)page->key.port};
    /* port 0 of a switch has no link */
    uint32_t want = concern != NULL && concern->port == 0 ? 0 : page->want;
    if (concern != NULL)
        select_links(&a, concern, &query);
    int rc = begin(&r, c, v, &a, page->want) && !a.arena.failed
                 ? store_gone_links(store, &query, want, add_link, &r)
                 : FAB_E_NOMEM;
    if (rc != FAB_OK) {
        fail(c, &a, rc);
        return;
    }
    m.links = (Fabric__V1__GoneLink **)r.item;
    m.n_links = r.count;
    if (r.count == page->want)
        m.next_page_token = page_token(&a, &r.last);
    answer_reply(&a, c, &m.base);
}

void list_gone_links(struct call *c, const void *request)
{
    const Fabric__V1__ListGoneLinksRequest *q = request;
    struct concern concern = {0};
    struct page page;
    struct fab_view *v = need_view(c);
    struct store *store = v != NULL ? need_store(c) : NULL;
    if (store == NULL || !read_page(c, 'L', q->page_token, q->page_size, &page) ||
        (q->node[0] != '\0' && read_object(c, v, q->node, &concern) != FAB_OK))
        return;
    reply_links(c, store, v, q->node[0] != '\0' ? &concern : NULL, &page);
    concern_fini(&concern);
}

/* ---- forgetting ------------------------------------------------------------------------------ */

/* What to forget: the node `guid` or, if `guid` is 0, all nodes and links that left the fabric
 * before the Unix time `before` in s. */
struct forgetting {
    uint64_t guid;
    int64_t before;
    struct store_gone_count count;
};

/* Finds the node that the client wants to forget. Returns false if this node is still in the
 * fabric, or if there is no such node; the call is then finished with an error. */
static bool find_forgotten(struct call *c, const struct fab_view *v, const char *what,
                           struct forgetting *f)
{
    char why[512];
    uint32_t node;
    int rc = fab_view_find_node(v, what, &node, why, sizeof why);
    if (gone_is_better(call_rpc(c), v, what, rc) &&
        gone_find(call_rpc(c), what, &f->guid) == FAB_OK)
        return true;
    if (find_node(c, v, what, &node) == FAB_OK)
        call_finish(c, FAB_GRPC_FAILED_PRECONDITION,
                    "refused: %s is part of the fabric; only nodes that are gone can be forgotten, "
                    "and 'fabricctl node list --gone' lists them",
                    v->fabric->nodes[node].name);
    return false;
}

static bool read_forgetting(struct call *c, const struct fab_view *v,
                            const Fabric__V1__ForgetNodesRequest *q, struct forgetting *f)
{
    *f = (struct forgetting){.before = INT64_MAX};
    if ((q->node[0] != '\0') == (q->older_than != NULL)) {
        call_finish(c, FAB_GRPC_INVALID_ARGUMENT, "either a node or an age is expected");
        return false;
    }
    if (q->older_than == NULL)
        return find_forgotten(c, v, q->node, f);
    if (q->older_than->seconds < 0 || q->older_than->seconds > INT32_MAX) {
        call_finish(c, FAB_GRPC_INVALID_ARGUMENT, "older_than is not between 0 and 68 years");
        return false;
    }
    /* Add 1 s, so that nodes and links that have been gone for exactly older_than are forgotten,
     * too. */
    f->before = clock_unix_us() / 1000000 - q->older_than->seconds + 1;
    return true;
}

static void count_link(void *ctx, const struct store_gone_link *l)
{
    (void)l;
    ((struct forgetting *)ctx)->count.links++;
}

/* Adds to the answer the nodes that will be forgotten, at most FORGOTTEN_SHOWN. Counts all these
 * nodes, and the links that will be forgotten with them. */
static int list_forgotten(struct store *store, struct forgetting *f, struct rows *r)
{
    const struct store_gone_nodes old = {.before = f->before, .after_since = INT64_MAX};
    const struct store_gone_links links = {.node = f->guid, .after_since = INT64_MAX};
    if (f->guid == 0) {
        int rc = store_gone_nodes(store, &old, FORGOTTEN_SHOWN, add_node, r);
        return rc == FAB_OK ? store_gone_count(store, INT64_MIN, f->before, &f->count) : rc;
    }
    int rc = store_gone_node(store, f->guid, add_node, r);
    f->count.hosts = (uint32_t)r->count;
    return rc == FAB_OK ? store_gone_links(store, &links, UINT32_MAX, count_link, f) : rc;
}

static void forget(struct call *c, struct store *store, const struct forgetting *f,
                   const char *object, const char *before)
{
    call_audit_change(c, before, "forgotten");
    call_audit_object(c, "%s", object);
    if (f->guid != 0)
        store_forget_node(store, f->guid);
    else
        store_forget_older(store, f->before);
}

void forget_nodes(struct call *c, const void *request)
{
    const Fabric__V1__ForgetNodesRequest *q = request;
    Fabric__V1__ForgetNodesResponse m = FABRIC__V1__FORGET_NODES_RESPONSE__INIT;
    struct answer a = {0};
    struct forgetting f;
    struct rows r;
    char what[120], message[200];
    struct fab_view *v = need_view(c);
    struct store *store = v != NULL ? need_store(c) : NULL;
    if (store == NULL || request_refuse_in_standby(c, "no node was forgotten") ||
        !read_forgetting(c, v, q, &f))
        return;
    int rc = begin(&r, c, v, &a, FORGOTTEN_SHOWN) ? list_forgotten(store, &f, &r) : FAB_E_NOMEM;
    if (rc != FAB_OK) {
        fail(c, &a, rc);
        return;
    }
    m.node_count = f.count.hosts + f.count.switches + f.count.others;
    m.link_count = f.count.links;
    snprintf(what, sizeof what, "%u node%s and %u link%s that %s gone", m.node_count,
             fab_base_plural_s(m.node_count), m.link_count, fab_base_plural_s(m.link_count),
             m.node_count + m.link_count == 1 ? "is" : "are");
    snprintf(message, sizeof message, q->dry_run ? "%s would be forgotten" : "%s: forgotten", what);
    if (!q->dry_run)
        forget(c, store, &f, f.guid != 0 && r.count > 0 ? r.last_name : "nodes that are gone",
               what);
    m.message = answer_text(&a, message);
    m.nodes = (Fabric__V1__GoneNode **)r.item;
    m.n_nodes = r.count;
    answer_reply(&a, c, &m.base);
}
