/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements ListBaseline, ApproveBaseline and DisapproveBaseline. They show and change the
 * baseline: the devices that an operator has approved at their places. They also show devices that
 * are not approved.
 */
#include "fabricd/rpc/server.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/v1/baseline.pb-c.h"
#include "fabricd/base/log.h"
#include "fabricd/rpc/convert.h"
#include "fabricd/rpc/limits.h"
#include "fabricd/rpc/page.h"
#include "fabricd/rpc/request.h"
#include "libfabmgr/base/map.h"
#include "libfabmgr/base/plural.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"

/* ---- entries --------------------------------------------------------------------------------- */

static Fabric__V1__PortRef *convert_end(struct answer *a, const struct fab_view *v, uint64_t guid,
                                        uint8_t port)
{
    char place[FAB_NODE_DESC_LEN + 32];
    uint32_t node = fab_fabric_node_by_guid(v->fabric, guid);
    if (guid == 0)
        return NULL;
    if (node != FAB_NONE && v->fabric->nodes[node].desc[0] != '\0')
        snprintf(place, sizeof(place), "%s/%u", v->fabric->nodes[node].desc, port);
    else
        snprintf(place, sizeof(place), "0x%016" PRIx64 "/%u", guid, port);
    return convert_place(a, guid, port, place);
}

static Fabric__V1__BaselineEntry *new_entry(struct answer *a, const struct fab_view *v,
                                            const struct fab_place *p, const char *name)
{
    uint32_t node = fab_fabric_node_by_guid(v->fabric, p->guid);
    Fabric__V1__BaselineEntry *m =
        ANSWER_NEW(a, Fabric__V1__BaselineEntry, fabric__v1__baseline_entry);
    if (m == NULL)
        return NULL;
    m->guid = answer_guid(a, p->guid);
    m->port = p->port;
    m->port_guid = answer_guid(a, p->port_guid);
    m->name = answer_text(a, node != FAB_NONE ? v->fabric->nodes[node].desc : name);
    m->is_switch = p->is_switch;
    return m;
}

static Fabric__V1__BaselineEntry *convert_unapproved(struct answer *a, const struct fab_view *v,
                                                     const struct fab_baseline *b,
                                                     const struct sm_unapproved *u)
{
    static const Fabric__V1__BaselineEffect effects[] = {
        [SM_ADMITTED] = FABRIC__V1__BASELINE_EFFECT__BASELINE_EFFECT_ADMITTED,
        [SM_QUARANTINED] = FABRIC__V1__BASELINE_EFFECT__BASELINE_EFFECT_QUARANTINED,
        [SM_EXCLUDED] = FABRIC__V1__BASELINE_EFFECT__BASELINE_EFFECT_EXCLUDED};
    const struct fab_place *p = &u->what.place;
    const struct fab_approved *was = fab_discover_baseline_at(b, p->guid, p->port);
    bool moved = u->what.why == FAB_UNAPPROVED_MOVED;
    Fabric__V1__BaselineEntry *m = new_entry(a, v, p, was != NULL && moved ? was->name : "");
    if (m == NULL)
        return NULL;
    m->state = moved ? FABRIC__V1__BASELINE_STATE__BASELINE_STATE_MOVED
                     : FABRIC__V1__BASELINE_STATE__BASELINE_STATE_NEW;
    m->place = convert_end(a, v, u->what.first_guid, u->what.first_port);
    m->now = convert_end(a, v, p->near_guid, p->near_port);
    m->holder = u->what.holder != 0 ? answer_guid(a, u->what.holder) : answer_text(a, "");
    m->found_time = convert_time(a, u->since_us);
    m->effect = effects[u->effect];
    if (was != NULL && moved) {
        m->approve_time = convert_time(a, was->since_us);
        m->approved_by = answer_text(a, was->by);
    }
    return m;
}

/* Returns true if the approved link exists in the view. */
static bool is_present(const struct fab_view *v, const struct fab_place *p)
{
    const struct fab_fabric *f = v->fabric;
    uint32_t node = fab_fabric_node_by_guid(f, p->guid);
    if (node == FAB_NONE || p->port > f->nodes[node].num_ports)
        return false;
    uint32_t peer = fab_fabric_port(f, fab_fabric_port_id(f, node, p->port))->peer;
    return peer != FAB_NONE && f->nodes[fab_fabric_port(f, peer)->node].guid == p->near_guid &&
           fab_fabric_port(f, peer)->num == p->near_port;
}

static Fabric__V1__BaselineEntry *convert_approved(struct answer *a, const struct fab_view *v,
                                                   const struct fab_approved *approved)
{
    const struct fab_place *p = &approved->place;
    bool present = is_present(v, p);
    Fabric__V1__BaselineEntry *m = new_entry(a, v, p, approved->name);
    if (m == NULL)
        return NULL;
    m->state = present ? FABRIC__V1__BASELINE_STATE__BASELINE_STATE_PRESENT
                       : FABRIC__V1__BASELINE_STATE__BASELINE_STATE_ABSENT;
    m->place = convert_end(a, v, p->near_guid, p->near_port);
    m->now = present ? convert_end(a, v, p->near_guid, p->near_port) : NULL;
    m->approve_time = convert_time(a, approved->since_us);
    m->approved_by = answer_text(a, approved->by);
    return m;
}

/* ---- the list -------------------------------------------------------------------------------- */

/* Returns true if the list of devices that are not approved says that this device has moved.
 * Then its approved place is not listed again. */
static bool is_moved(const struct sm_unapproved *list, uint32_t count, const struct fab_place *p)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct fab_place *at = &list[middle].what.place;
        if (at->guid < p->guid || (at->guid == p->guid && at->port < p->port))
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && list[low].what.place.guid == p->guid &&
           list[low].what.place.port == p->port && list[low].what.why == FAB_UNAPPROVED_MOVED;
}

/* Fills in a page of entries: first the devices that are not approved, then the baseline. The
 * number in the page token is the index of an entry in this order. */
static void fill_entries(struct answer *a, struct sm *sm, const struct fab_view *v,
                         bool waiting_only, const struct page *page,
                         Fabric__V1__ListBaselineResponse *m)
{
    const struct fab_baseline *b = sm_baseline(sm);
    uint32_t waiting;
    size_t approved;
    const struct sm_unapproved *u = sm_unapproved(sm, &waiting);
    const struct fab_approved *list = fab_discover_baseline_list(b, &approved);
    size_t end = waiting + (waiting_only ? 0 : approved);
    m->entries = answer_alloc(a, page->want, sizeof *m->entries);
    for (size_t i = page->given ? page->key.number : 0; m->entries != NULL && i < end; i++) {
        if (i >= waiting && is_moved(u, waiting, &list[i - waiting].place))
            continue;
        if (m->n_entries == page->want) {
            const struct page_key next = {.list = 'b', .number = i};
            m->next_page_token = page_token(a, &next);
            return;
        }
        m->entries[m->n_entries++] = i < waiting ? convert_unapproved(a, v, b, &u[i])
                                                 : convert_approved(a, v, &list[i - waiting]);
    }
}

void list_baseline(struct call *c, const void *request)
{
    const Fabric__V1__ListBaselineRequest *q = request;
    Fabric__V1__ListBaselineResponse m = FABRIC__V1__LIST_BASELINE_RESPONSE__INIT;
    struct sm *sm = call_rpc(c)->in.sm;
    struct answer a = {0};
    struct page page;
    struct fab_view *v = need_view(c);
    if (v == NULL || !read_page(c, 'b', q->page_token, q->page_size, &page))
        return;
    m.generation = v->generation;
    m.exists = sm_baseline(sm) != NULL;
    fill_entries(&a, sm, v, q->waiting_only, &page, &m);
    answer_reply(&a, c, &m.base);
}

/* ---- which nodes are named ------------------------------------------------------------------- */

static bool is_name_of(const struct fab_fabric *f, uint64_t guid, const char *text)
{
    char *end;
    bool hex = strncmp(text, "0x", 2) == 0 && strtoull(text, &end, 16) == guid && *end == '\0';
    uint32_t node = fab_fabric_node_by_guid(f, guid);
    const char *name = node != FAB_NONE ? f->nodes[node].desc : "";
    size_t len = strcspn(name, " \t");
    return hex || (*name != '\0' && (strcmp(text, name) == 0 ||
                                     (strlen(text) == len && strncmp(text, name, len) == 0)));
}

static bool is_place_of(const struct fab_fabric *f, uint64_t guid, uint8_t port, const char *text)
{
    char number[8], head[FAB_NODE_DESC_LEN + 8];
    const char *slash = strrchr(text, '/');
    snprintf(number, sizeof(number), "%u", port);
    if (slash == NULL || strcmp(slash + 1, number) != 0 || slash - text >= (int)sizeof(head))
        return false;
    snprintf(head, sizeof(head), "%.*s", (int)(slash - text), text);
    return is_name_of(f, guid, head);
}

/* Returns true if the text names this device or link, by the name of a node or of a switch port. */
static bool names(const struct fab_fabric *f, const struct fab_place *p, const char *text)
{
    return is_name_of(f, p->guid, text) || is_place_of(f, p->near_guid, p->near_port, text) ||
           (p->is_switch &&
            (is_name_of(f, p->near_guid, text) || is_place_of(f, p->guid, p->port, text)));
}

/* A map that finds the texts of a request (names of nodes and ports) by the hash of the name,
 * because a request may have a thousand texts for ten thousand devices. The caller also compares
 * the name itself: a host chooses its own name, and could choose one that has the hash of
 * another. */
struct wanted {
    char *const *text;
    size_t count;
    struct fab_map map; /* hash -> index in text[] */
    /* [count] for each text, the number of devices that it names; the caller counts them */
    uint32_t *found;
};

static uint64_t hash_text(const char *text, size_t len)
{
    uint64_t hash = 1;
    for (size_t i = 0; i < len; i++)
        hash = fab_base_mix64(hash + (uint8_t)text[i]);
    return hash;
}

static uint64_t hash_guid(uint64_t guid)
{
    return fab_base_mix64(guid ^ UINT64_C(0x9e3779b97f4a7c15));
}

/* Returns the hash of a port from the hash of its node; port number 0 means the node itself. */
static uint64_t hash_at(uint64_t node, unsigned port)
{
    return fab_base_mix64(node + port);
}

/* Adds text number `index` to the map, as the name of a node or of one of its ports. */
static int want_node(struct wanted *w, uint32_t index, size_t len, unsigned port)
{
    const char *text = w->text[index];
    char head[FAB_NODE_DESC_LEN + 8], *end;
    int r = fab_base_map_put(&w->map, hash_at(hash_text(text, len), port), index);
    if (r != FAB_OK || strncmp(text, "0x", 2) != 0 || len >= sizeof(head))
        return r;
    snprintf(head, sizeof(head), "%.*s", (int)len, text);
    uint64_t guid = strtoull(head, &end, 16);
    return *end == '\0' ? fab_base_map_put(&w->map, hash_at(hash_guid(guid), port), index) : r;
}

static int wanted_init(struct wanted *w, char *const *text, size_t count)
{
    int r = FAB_OK;
    *w = (struct wanted){.text = text, .count = count};
    w->found = calloc(count + 1, sizeof(*w->found));
    if (w->found == NULL)
        return FAB_E_NOMEM;
    for (uint32_t i = (uint32_t)count; i-- > 0 && r == FAB_OK;) {
        const char *slash = strrchr(text[i], '/');
        unsigned long port = slash != NULL ? strtoul(slash + 1, NULL, 10) : 0;
        r = want_node(w, i, strlen(text[i]), 0);
        if (r == FAB_OK && port > 0 && port < 256)
            r = want_node(w, i, (size_t)(slash - text[i]), (unsigned)port);
    }
    return r;
}

static void wanted_fini(struct wanted *w)
{
    fab_base_map_fini(&w->map);
    free(w->found);
}

/* Appends to list[] the indexes of the texts that may name a node called `name`, or a port of
 * such a node. */
static void look_up_name(const struct wanted *w, const char *name, unsigned port, uint32_t *list,
                         uint32_t *count)
{
    size_t len = strlen(name), word = strcspn(name, " \t");
    uint32_t i;
    if (len == 0)
        return;
    if (fab_base_map_get(&w->map, hash_at(hash_text(name, len), port), &i))
        list[(*count)++] = i;
    if (word < len && fab_base_map_get(&w->map, hash_at(hash_text(name, word), port), &i))
        list[(*count)++] = i;
}

static void look_up_node(const struct wanted *w, const struct fab_fabric *f, uint64_t guid,
                         unsigned port, uint32_t *list, uint32_t *count)
{
    uint32_t node = fab_fabric_node_by_guid(f, guid), i;
    if (fab_base_map_get(&w->map, hash_at(hash_guid(guid), port), &i))
        list[(*count)++] = i;
    if (node != FAB_NONE)
        look_up_name(w, f->nodes[node].desc, port, list, count);
}

/* greatest number of texts that can name a link: three for each of its two nodes and each of its
 * two ports */
#define CANDIDATES 12

/* Returns true if the request names this device or link. Counts the device for each text that
 * names it. */
static bool is_wanted(struct wanted *w, const struct fab_fabric *f, const struct fab_place *p)
{
    uint32_t list[CANDIDATES], count = 0;
    bool named = false;
    look_up_node(w, f, p->guid, 0, list, &count);
    look_up_node(w, f, p->near_guid, p->near_port, list, &count);
    if (p->is_switch) {
        look_up_node(w, f, p->near_guid, 0, list, &count);
        look_up_node(w, f, p->guid, p->port, list, &count);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!names(f, p, w->text[list[i]]))
            continue;
        named = true;
        w->found[list[i]]++;
    }
    return named;
}

/* Returns the index of a text in the request that names no device; FAB_NONE: each text names
 * one. Of equal texts, only one is in the map and counted. */
static uint32_t first_not_found(const struct wanted *w)
{
    for (uint32_t i = 0; i < w->count; i++) {
        uint32_t same = i;
        (void)fab_base_map_get(&w->map, hash_at(hash_text(w->text[i], strlen(w->text[i])), 0),
                               &same);
        if (w->found[i] == 0 && w->found[same] == 0)
            return i;
    }
    return FAB_NONE;
}

/* Marks the devices and links that the request names. If a text names none, finishes the call
 * with an error and returns false. */
static bool mark_all(struct call *c, const struct fab_view *v,
                     const Fabric__V1__ApproveBaselineRequest *q, bool *marks)
{
    uint32_t count, missing = FAB_NONE;
    struct wanted w;
    const struct sm_unapproved *list = sm_unapproved(call_rpc(c)->in.sm, &count);
    int r = wanted_init(&w, q->nodes, q->n_nodes);
    for (uint32_t i = 0; r == FAB_OK && i < count; i++)
        marks[i] = q->all || is_wanted(&w, v->fabric, &list[i].what.place);
    if (r == FAB_OK)
        missing = first_not_found(&w);
    wanted_fini(&w);
    if (r != FAB_OK)
        call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED, "out of memory");
    else if (missing != FAB_NONE)
        call_finish(c, FAB_GRPC_NOT_FOUND,
                    "no device \"%s\" waits for an approval; 'fabricctl topo baseline "
                    "--waiting' lists those that do",
                    q->nodes[missing]);
    return r == FAB_OK && missing == FAB_NONE;
}

/* ---- approvals ------------------------------------------------------------------------------- */

/* An approval in progress: the request to the manager, and the reply to the client. */
struct approval {
    struct call *c;
    struct answer a;
    Fabric__V1__ApproveBaselineResponse m;
};

static void reply_approved(struct call *c, struct answer *a, Fabric__V1__ApproveBaselineResponse *m,
                           const char *text)
{
    m->message = answer_text(a, text);
    answer_reply(a, c, &m->base);
}

static void approval_free(struct approval *p)
{
    fab_base_arena_fini(&p->a.arena);
    free(p);
}

static void forget_approval(struct call *c, void *data)
{
    sm_forget(call_rpc(c)->in.sm, data);
    approval_free(data);
}

static void on_approved(void *ctx, int status, const char *text)
{
    struct approval *p = ctx;
    if (status < 0)
        call_finish(p->c, fab_grpc_code_of(status), "%s", text);
    else
        reply_approved(p->c, &p->a, &p->m, text);
    approval_free(p);
}

static struct approval *approval_new(struct call *c)
{
    struct approval *p = calloc(1, sizeof(*p));
    if (p != NULL) {
        p->c = c;
        fabric__v1__approve_baseline_response__init(&p->m);
    } else {
        call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED, "out of memory");
    }
    return p;
}

static void approval_begin(struct approval *p)
{
    static const struct call_hooks hooks = {.gone = forget_approval};
    call_later(p->c, &hooks, p);
}

/* Finishes the call with an error if the manager refused the request. */
static void approval_check(struct approval *p, int status)
{
    if (status >= 0)
        return;
    request_refuse(p->c, status, "nothing was approved");
    approval_free(p);
}

/* Makes the present fabric the baseline. */
static void take(struct call *c)
{
    struct approval *p = approval_new(c);
    if (p == NULL)
        return;
    log_notice("rpc", "%s takes the fabric as its baseline", call_peer(c));
    approval_begin(p);
    approval_check(p, sm_baseline_take(call_rpc(c)->in.sm, call_peer(c), on_approved, p));
}

/* Lists the devices that mark_all() has marked, and adds the first RPC_PAGE_MAX of them to the
 * reply. Returns their number. */
static uint32_t add_marked(struct approval *p, const struct fab_view *v, const bool *marks,
                           struct fab_place *place)
{
    struct sm *sm = call_rpc(p->c)->in.sm;
    uint32_t count, n = 0;
    const struct sm_unapproved *list = sm_unapproved(sm, &count);
    p->m.entries =
        answer_alloc(&p->a, count < RPC_PAGE_MAX ? count + 1u : RPC_PAGE_MAX, sizeof *p->m.entries);
    for (uint32_t i = 0; p->m.entries != NULL && i < count; i++) {
        if (!marks[i])
            continue;
        place[n++] = list[i].what.place;
        if (p->m.n_entries < RPC_PAGE_MAX)
            p->m.entries[p->m.n_entries++] =
                convert_unapproved(&p->a, v, sm_baseline(sm), &list[i]);
    }
    return n;
}

static void approve_marked(struct call *c, const struct fab_view *v, const bool *marks,
                           bool dry_run)
{
    struct approval *p = approval_new(c);
    struct sm *sm = call_rpc(c)->in.sm;
    uint32_t count;
    char text[80];
    if (p == NULL)
        return;
    (void)sm_unapproved(sm, &count);
    struct fab_place *place = answer_alloc(&p->a, count + 1u, sizeof(*place));
    if (place == NULL) {
        approval_check(p, FAB_E_NOMEM);
        return;
    }
    uint32_t n = add_marked(p, v, marks, place);
    if (dry_run) {
        snprintf(text, sizeof(text), "this would approve %u place%s", n, fab_base_plural_s(n));
        on_approved(p, FAB_OK, text);
        return;
    }
    approval_begin(p);
    approval_check(p, sm_baseline_approve(sm, place, n, call_peer(c), on_approved, p));
}

/* Answers a trial run (no change is made): says what would be approved if the present fabric became
 * the baseline. */
static void rehearse(struct call *c, const struct fab_view *v)
{
    Fabric__V1__ApproveBaselineResponse m = FABRIC__V1__APPROVE_BASELINE_RESPONSE__INIT;
    struct answer a = {0};
    struct fab_place place;
    char text[160];
    uint32_t hosts = 0, links = 0;
    for (uint32_t p = 0; p < v->fabric->port_count; p++)
        if (fab_discover_baseline_place(v->fabric, p, &place))
            *(place.is_switch ? &links : &hosts) += 1;
    snprintf(text, sizeof(text),
             "this would approve %u port%s of adapters and routers, and %u link%s between switches",
             hosts, fab_base_plural_s(hosts), links, fab_base_plural_s(links));
    reply_approved(c, &a, &m, text);
}
static bool refuse_approval(struct call *c, const Fabric__V1__ApproveBaselineRequest *q)
{
    uint32_t count;
    struct sm *sm = call_rpc(c)->in.sm;
    bool exists = sm_baseline(sm) != NULL, chosen = q->all || q->n_nodes > 0;
    (void)sm_unapproved(sm, &count);
    if (q->all && q->n_nodes > 0)
        call_finish(c, FAB_GRPC_INVALID_ARGUMENT, "`all` takes no nodes");
    else if (chosen && !exists)
        call_finish(
            c, FAB_GRPC_FAILED_PRECONDITION,
            "refused: there is no baseline; 'fabricctl topo approve' takes the fabric as it "
            "is now");
    else if (exists && count > 0 && !chosen)
        call_finish(
            c, FAB_GRPC_ALREADY_EXISTS,
            "refused: there is a baseline, and %u device%s or link%s wait%s for an approval; "
            "name the nodes, or approve all of them with --all",
            count, fab_base_plural_s(count), fab_base_plural_s(count), count == 1 ? "s" : "");
    else
        return false;
    return true;
}

/* Answers a request without names if there is nothing to approve: every device is at its
 * approved place. Returns false otherwise. */
static bool nothing_waits(struct call *c, const Fabric__V1__ApproveBaselineRequest *q,
                          uint32_t count)
{
    Fabric__V1__ApproveBaselineResponse m = FABRIC__V1__APPROVE_BASELINE_RESPONSE__INIT;
    struct answer a = {0};
    if (q->n_nodes > 0 || count > 0 || sm_baseline(call_rpc(c)->in.sm) == NULL)
        return false;
    reply_approved(c, &a, &m, "there is nothing to approve: every device is at its approved place");
    return true;
}

void approve_baseline(struct call *c, const void *request)
{
    const Fabric__V1__ApproveBaselineRequest *q = request;
    uint32_t count;
    struct fab_view *v = need_view(c);
    if (v == NULL || refuse_approval(c, q))
        return;
    (void)sm_unapproved(call_rpc(c)->in.sm, &count);
    if (nothing_waits(c, q, count))
        return;
    fab_view_ref(v);
    bool *marks = calloc(count + 1u, sizeof(*marks));
    if (marks == NULL)
        call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED, "out of memory");
    else if (!q->all && q->n_nodes == 0)
        q->dry_run ? rehearse(c, v) : take(c);
    else if (mark_all(c, v, q, marks)) {
        if (!q->dry_run)
            log_notice("rpc", "%s approves devices at their places", call_peer(c));
        approve_marked(c, v, marks, q->dry_run);
    }
    free(marks);
    fab_view_unref(v);
}

/* ---- dropping approvals ---------------------------------------------------------------------- */

/* Returns the GUID of the approved node that the text names, by its GUID, by its present name,
 * or by its name when it was approved. 0: the text does not name the node of this place. */
static uint64_t named_guid(const struct fab_approved *a, const struct fab_fabric *f,
                           const char *text)
{
    size_t len = strcspn(a->name, " \t");
    bool was = strcmp(a->name, text) == 0 ||
               (len > 0 && strlen(text) == len && strncmp(a->name, text, len) == 0);
    return was || is_name_of(f, a->place.guid, text) ? a->place.guid
           : is_name_of(f, a->place.near_guid, text) ? a->place.near_guid
                                                     : 0;
}

/* Finds the texts that name a node of an approved place. guid[i] becomes the GUID of the node
 * that text i names, and w->found[i] the number of nodes that it names. Consecutive places of
 * one node count once. */
static void note_approved(struct wanted *w, const struct fab_fabric *f,
                          const struct fab_approved *a, uint64_t *guid)
{
    uint32_t list[CANDIDATES], count = 0;
    look_up_node(w, f, a->place.guid, 0, list, &count);
    look_up_node(w, f, a->place.near_guid, 0, list, &count);
    look_up_name(w, a->name, 0, list, &count);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t at = named_guid(a, f, w->text[list[i]]);
        if (at == 0 || at == guid[list[i]])
            continue;
        guid[list[i]] = at;
        w->found[list[i]]++;
    }
}

static void on_disapproved(void *ctx, int status, const char *text)
{
    Fabric__V1__DisapproveBaselineResponse m = FABRIC__V1__DISAPPROVE_BASELINE_RESPONSE__INIT;
    request_end(ctx, status, text, &m.base, &m.message);
}

static void drop_all(struct call *c)
{
    log_notice("rpc", "%s drops the baseline", call_peer(c));
    request_begin(c);
    int rc = sm_baseline_clear(call_rpc(c)->in.sm, call_peer(c), on_disapproved, c);
    if (rc == FAB_E_NOT_FOUND)
        call_finish(c, FAB_GRPC_NOT_FOUND, "there is no baseline");
    else if (rc < 0)
        request_refuse(c, rc, "the baseline stays");
}

/* Returns true if each text names exactly one approved node; guid[] then has the GUIDs of all of
 * them. Otherwise finishes the call with an error. */
static bool check_found(struct call *c, const struct wanted *w, uint64_t *guid)
{
    for (size_t i = 0; i < w->count; i++) {
        uint32_t same = (uint32_t)i;
        (void)fab_base_map_get(&w->map, hash_at(hash_text(w->text[i], strlen(w->text[i])), 0),
                               &same);
        if (w->found[i] == 0 && strcmp(w->text[i], w->text[same]) != 0)
            same = (uint32_t)i;
        guid[i] = w->found[i] == 0 ? guid[same] : guid[i];
        if (w->found[i] <= 1 && guid[i] != 0)
            continue;
        if (guid[i] == 0)
            call_finish(
                c, FAB_GRPC_NOT_FOUND,
                "no node \"%s\" is approved; 'fabricctl topo baseline' lists those that are",
                w->text[i]);
        else
            call_finish(c, FAB_GRPC_INVALID_ARGUMENT,
                        "\"%s\" is ambiguous: several approved nodes have this name; give the GUID",
                        w->text[i]);
        return false;
    }
    return true;
}

/* Finds the GUIDs of all nodes that the request names. If one of them is not in the baseline,
 * finishes the call with an error and returns false. */
static bool find_all(struct call *c, const struct fab_view *v,
                     const Fabric__V1__DisapproveBaselineRequest *q, uint64_t *guid)
{
    const struct fab_baseline *b = sm_baseline(call_rpc(c)->in.sm);
    struct wanted w;
    size_t count;
    const struct fab_approved *list = fab_discover_baseline_list(b, &count);
    int r = wanted_init(&w, q->nodes, q->n_nodes);
    for (size_t i = 0; r == FAB_OK && i < count; i++)
        note_approved(&w, v->fabric, &list[i], guid);
    bool found = r == FAB_OK && check_found(c, &w, guid);
    if (r != FAB_OK)
        call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED, "out of memory");
    wanted_fini(&w);
    return found;
}

void disapprove_baseline(struct call *c, const void *request)
{
    const Fabric__V1__DisapproveBaselineRequest *q = request;
    struct sm *sm = call_rpc(c)->in.sm;
    struct fab_view *v = need_view(c);
    if (v == NULL)
        return;
    if (q->all == (q->n_nodes > 0)) {
        call_finish(c, FAB_GRPC_INVALID_ARGUMENT, "either nodes or `all` is expected");
        return;
    }
    if (q->all) {
        drop_all(c);
        return;
    }
    uint64_t *guid = calloc(q->n_nodes, sizeof(*guid));
    if (guid == NULL) {
        call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED, "out of memory");
        return;
    }
    if (find_all(c, v, q, guid)) {
        log_notice("rpc", "%s drops the approval of %zu node%s", call_peer(c), q->n_nodes,
                   fab_base_plural_s(q->n_nodes));
        request_begin(c);
        int rc =
            sm_baseline_disapprove(sm, guid, (uint32_t)q->n_nodes, call_peer(c), on_disapproved, c);
        if (rc < 0)
            request_refuse(c, rc, "the approvals stay");
    }
    free(guid);
}
