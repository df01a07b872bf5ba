/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements ListBaseline, ApproveBaseline and DisapproveBaseline. These methods show and change
 * the baseline: the devices that an operator has approved at their places. They also show devices
 * that are not approved.
 */
#include "fabricd/rpc/server.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/v1/baseline.pb-c.h"
#include "fabricd/rpc/convert.h"
#include "fabricd/rpc/limits.h"
#include "fabricd/rpc/page.h"
#include "fabricd/rpc/request.h"
#include "libfabmgr/base/plural.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/discover/baseline_names.h"

/* ---- entries --------------------------------------------------------------------------------- */

static Fabric__V1__PortRef *convert_end(struct answer *a, const struct fab_view *v, uint64_t guid,
                                        uint8_t port)
{
    char place[FAB_NODE_DESC_LEN + 32];
    uint32_t node = fab_fabric_node_by_guid(v->fabric, guid);
    if (guid == 0)
        return NULL;
    if (node != FAB_NONE && v->fabric->nodes[node].name[0] != '\0')
        snprintf(place, sizeof(place), "%s/%u", v->fabric->nodes[node].name, port);
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
    m->name = answer_text(a, node != FAB_NONE ? v->fabric->nodes[node].name : name);
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

/* Returns true if the approved device at place `p` is now at another place. Such a device is also
 * in `list`, the devices that are not approved. So the page shows it only there, and not a second
 * time at its approved place. */
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

/* Fills in a page: first the devices that are not approved, then, unless waiting_only is true, the
 * devices of the baseline. A device of the baseline that was moved is only in the first part. The
 * page token has the index of the next entry in this order. */
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

/* Marks the devices and links that the request names. marks[] has one element for each device or
 * link that is not approved. If a name in the request matches none of them, finishes the call with
 * an error and returns false. */
static bool mark_all(struct call *c, const struct fab_view *v,
                     const Fabric__V1__ApproveBaselineRequest *q, bool *marks)
{
    uint32_t count, missing = FAB_NONE;
    struct fab_baseline_names w;
    const struct sm_unapproved *list = sm_unapproved(call_rpc(c)->in.sm, &count);
    int r = fab_discover_names_init(q->nodes, q->n_nodes, &w);
    for (uint32_t i = 0; r == FAB_OK && i < count; i++)
        marks[i] = q->all || fab_discover_names_has(&w, v->fabric, &list[i].what.place);
    if (r == FAB_OK)
        missing = fab_discover_names_missing(&w);
    fab_discover_names_fini(&w);
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
    call_audit_result(c, text);
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

/* If `status` is an error, finishes the call with this error, and frees `p`. */
static void approval_check(struct approval *p, int status)
{
    if (status >= 0)
        return;
    request_refuse(p->c, status, "nothing was approved");
    approval_free(p);
}

/* Sets the object of the call in the audit log to the names of the nodes in the request. Names that
 * do not fit are only counted. count == 0: the request is for all nodes. */
static void note_nodes(struct call *c, size_t count, char *const *names)
{
    char text[160] = "";
    size_t used = 0, i;
    for (i = 0; i < count && used < sizeof(text) - 40; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%.64s", i > 0 ? ", " : "",
                                 names[i]);
    if (i < count)
        call_audit_object(c, "%.130s and %zu more", text, count - i);
    else
        call_audit_object(c, "%s", count > 0 ? text : "all that wait for an approval");
}

/* Makes the present fabric the baseline. */
static void take(struct call *c)
{
    struct approval *p = approval_new(c);
    if (p == NULL)
        return;
    call_audit_change(c, "no baseline", NULL);
    call_audit_object(c, "baseline");
    approval_begin(p);
    approval_check(p, sm_baseline_take(call_rpc(c)->in.sm, call_peer(c), on_approved, p));
}

/* Copies the places of the devices that mark_all() has marked to place[], and adds the first
 * RPC_PAGE_MAX of these devices to the reply. Returns the number of marked devices. */
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

/* Answers a dry run, which changes nothing: the reply says how many ports and links would be
 * approved if the present fabric became the baseline. */
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

/* If the request names no nodes, and every device is at its approved place, replies that there is
 * nothing to approve, and returns true. */
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
            note_nodes(c, q->n_nodes, q->nodes);
        approve_marked(c, v, marks, q->dry_run);
    }
    free(marks);
    fab_view_unref(v);
}

/* ---- dropping approvals ---------------------------------------------------------------------- */

static void on_disapproved(void *ctx, int status, const char *text)
{
    Fabric__V1__DisapproveBaselineResponse m = FABRIC__V1__DISAPPROVE_BASELINE_RESPONSE__INIT;
    request_end(ctx, status, text, &m.base, &m.message);
}

static void drop_all(struct call *c)
{
    call_audit_object(c, "baseline");
    request_begin(c);
    int rc = sm_baseline_clear(call_rpc(c)->in.sm, call_peer(c), on_disapproved, c);
    if (rc == FAB_E_NOT_FOUND)
        call_finish(c, FAB_GRPC_NOT_FOUND, "there is no baseline");
    else if (rc < 0)
        request_refuse(c, rc, "the baseline stays");
}

static void rehearse_drop_all(struct call *c)
{
    Fabric__V1__DisapproveBaselineResponse m = FABRIC__V1__DISAPPROVE_BASELINE_RESPONSE__INIT;
    int rc = sm_baseline_clear_check(call_rpc(c)->in.sm);
    if (rc == FAB_E_NOT_FOUND)
        call_finish(c, FAB_GRPC_NOT_FOUND, "there is no baseline");
    else if (rc < 0)
        request_refuse(c, rc, "the baseline stays");
    else
        request_rehearsed(c, "baseline", &m.base, &m.message,
                          "the baseline would be dropped, and every device accepted");
}

static void rehearse_disapproval(struct call *c, const Fabric__V1__DisapproveBaselineRequest *q)
{
    call_audit_change(c, NULL, "unchanged (dry run)");
    note_nodes(c, q->n_nodes, q->nodes);
    request_begin(c);
    int rc = sm_baseline_disapprove_check(call_rpc(c)->in.sm, q->nodes, (uint32_t)q->n_nodes,
                                          on_disapproved, c);
    if (rc < 0)
        request_refuse(c, rc, "the approvals stay");
}

void disapprove_baseline(struct call *c, const void *request)
{
    const Fabric__V1__DisapproveBaselineRequest *q = request;
    if (need_view(c) == NULL)
        return;
    if (q->all == (q->n_nodes > 0)) {
        call_finish(c, FAB_GRPC_INVALID_ARGUMENT, "either nodes or `all` is expected");
        return;
    }
    if (q->all) {
        q->dry_run ? rehearse_drop_all(c) : drop_all(c);
        return;
    }
    if (q->dry_run) {
        rehearse_disapproval(c, q);
        return;
    }
    note_nodes(c, q->n_nodes, q->nodes);
    request_begin(c);
    int rc = sm_baseline_disapprove(call_rpc(c)->in.sm, q->nodes, (uint32_t)q->n_nodes,
                                    call_peer(c), on_disapproved, c);
    if (rc < 0)
        request_refuse(c, rc, "the approvals stay");
}
