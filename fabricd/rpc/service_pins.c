/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements ListNodePins, ApproveNode and ForgetNodePin. These methods show and change the pins
 * (names of nodes that are bound to GUIDs), and show the nodes that wait for an approval.
 */
#include "fabricd/rpc/server.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/v1/node.pb-c.h"
#include "fabricd/rpc/convert.h"
#include "fabricd/rpc/page.h"
#include "fabricd/rpc/request.h"
#include "libfabmgr/base/plural.h"
#include "libfabmgr/base/status.h"

/* ---- the list -------------------------------------------------------------------------------- */

/* Returns the port to which the node is connected; if it has several links, the port at the other
 * end of the first one. NULL: the node has no link, or memory ran out. */
static Fabric__V1__PortRef *place_of(struct answer *a, const struct fab_view *v, uint32_t node)
{
    const struct fab_node *n = &v->fabric->nodes[node];
    for (uint32_t num = 1; num <= n->num_ports; num++) {
        uint32_t peer = fab_fabric_port(v->fabric, n->first_port + num)->peer;
        if (peer != FAB_NONE)
            return convert_port_ref(a, v, peer);
    }
    return NULL;
}

static Fabric__V1__NodePin *convert_pin(struct answer *a, const struct fab_view *v,
                                        const struct fab_pins *pins, uint64_t guid)
{
    static const Fabric__V1__NodePinReason reasons[] = {
        [FAB_PIN_CHANGED] = FABRIC__V1__NODE_PIN_REASON__NODE_PIN_REASON_CHANGED,
        [FAB_PIN_HELD] = FABRIC__V1__NODE_PIN_REASON__NODE_PIN_REASON_HELD,
        [FAB_PIN_NEW] = FABRIC__V1__NODE_PIN_REASON__NODE_PIN_REASON_NEW,
        [FAB_PIN_FULL] = FABRIC__V1__NODE_PIN_REASON__NODE_PIN_REASON_FULL};
    const struct fab_pin *pin = fab_policy_pins_find(pins, guid);
    const struct fab_pin_waiting *w = fab_policy_pins_waiting(pins, guid);
    uint32_t node = fab_fabric_node_by_guid(v->fabric, guid);
    Fabric__V1__NodePin *m = ANSWER_NEW(a, Fabric__V1__NodePin, fabric__v1__node_pin);
    if (m == NULL)
        return NULL;
    m->guid = answer_guid(a, guid);
    if (pin != NULL) {
        m->pinned_name = answer_text(a, pin->name);
        m->pin_time = convert_time(a, pin->since_us);
        m->approved_by = answer_text(a, pin->by);
    }
    if (w != NULL) {
        m->reason = reasons[w->reason];
        m->waiting_time = convert_time(a, w->since_us);
        m->holder = answer_guid(a, w->holder);
    }
    if (node != FAB_NONE) {
        m->shown_name = answer_text(a, v->fabric->nodes[node].desc);
        m->place = place_of(a, v, node);
    }
    return m;
}

/* Lists the pins, and the nodes that wait for an approval, in the order of their GUIDs. Begins
 * after the GUID in the page token. */
static void fill_pins(struct answer *a, const struct fab_view *v, const struct fab_pins *pins,
                      bool waiting_only, const struct page *page,
                      Fabric__V1__ListNodePinsResponse *m)
{
    uint64_t after = page->given ? page->key.number : 0, guid = 0;
    size_t p = waiting_only ? pins->count : 0, w = 0;
    m->pins = answer_alloc(a, page->want, sizeof *m->pins);
    while (m->pins != NULL && (p < pins->count || w < pins->waiting_count)) {
        uint64_t of_pin = p < pins->count ? pins->pin[p].guid : UINT64_MAX;
        uint64_t of_waiting = w < pins->waiting_count ? pins->waiting[w].guid : UINT64_MAX;
        uint64_t next = of_pin < of_waiting ? of_pin : of_waiting;
        p += p < pins->count && of_pin == next;
        w += w < pins->waiting_count && of_waiting == next;
        if (next <= after && page->given)
            continue;
        if (m->n_pins == page->want) {
            struct page_key last = {.list = 'P', .number = guid};
            m->next_page_token = page_token(a, &last);
            return;
        }
        m->pins[m->n_pins++] = convert_pin(a, v, pins, next);
        guid = next;
    }
}

void list_node_pins(struct call *c, const void *request)
{
    const Fabric__V1__ListNodePinsRequest *q = request;
    Fabric__V1__ListNodePinsResponse m = FABRIC__V1__LIST_NODE_PINS_RESPONSE__INIT;
    struct answer a = {0};
    struct page page;
    struct fab_view *v = need_view(c);
    if (v != NULL && read_page(c, 'P', q->page_token, q->page_size, &page)) {
        m.generation = v->generation;
        fill_pins(&a, v, sm_pins(call_rpc(c)->in.sm), q->waiting_only, &page, &m);
        answer_reply(&a, c, &m.base);
    }
}

/* ---- approvals ------------------------------------------------------------------------------- */

static void on_approved(void *ctx, int status, const char *message)
{
    Fabric__V1__ApproveNodeResponse m = FABRIC__V1__APPROVE_NODE_RESPONSE__INIT;
    request_end(ctx, status, message, &m.base, &m.message);
}

static void on_forgotten(void *ctx, int status, const char *message)
{
    Fabric__V1__ForgetNodePinResponse m = FABRIC__V1__FORGET_NODE_PIN_RESPONSE__INIT;
    request_end(ctx, status, message, &m.base, &m.message);
}

static bool refuse_if_off(struct call *c)
{
    bool on = sm_pins_are_on(call_rpc(c)->in.sm);
    if (!on)
        call_finish(c, FAB_GRPC_FAILED_PRECONDITION,
                    "refused: names are not pinned, because subnet.pin_names is off");
    return !on;
}

static void refuse_known(struct call *c, const struct fab_node *n)
{
    call_finish(c, FAB_GRPC_ALREADY_EXISTS,
                "%s (0x%016" PRIx64 ") does not wait for an approval; 'fabricctl node pins "
                "--waiting' lists the nodes that do",
                n->name, n->guid);
}

/* Answers the dry run of an approval of the node; node == FAB_NONE: of all nodes that wait for an
 * approval. */
static void rehearse_approval(struct call *c, const struct fab_view *v, uint32_t node)
{
    Fabric__V1__ApproveNodeResponse m = FABRIC__V1__APPROVE_NODE_RESPONSE__INIT;
    const struct fab_pins *pins = sm_pins(call_rpc(c)->in.sm);
    const struct fab_node *n = node != FAB_NONE ? &v->fabric->nodes[node] : NULL;
    const struct fab_pin *pin = n != NULL ? fab_policy_pins_find(pins, n->guid) : NULL;
    bool other = pin != NULL && strcmp(pin->name, n->desc) != 0;
    if (n == NULL && pins->waiting_count == 0)
        call_finish(c, FAB_GRPC_ALREADY_EXISTS, "no node waits for an approval");
    else if (n == NULL)
        request_rehearsed(c, "all that wait for an approval", &m.base, &m.message,
                          "%zu node%s would be approved", pins->waiting_count,
                          fab_base_plural_s(pins->waiting_count));
    else if (fab_policy_pins_waiting(pins, n->guid) == NULL && !other)
        refuse_known(c, n);
    else
        request_rehearsed(c, n->name, &m.base, &m.message,
                          "\"%s\" would be pinned to 0x%016" PRIx64, n->desc, n->guid);
}

static void approve_all(struct call *c)
{
    uint32_t count;
    call_audit_object(c, "all that wait for an approval");
    request_begin(c);
    int rc = sm_pin_approve_all(call_rpc(c)->in.sm, call_peer(c), &count, on_approved, c);
    if (rc == FAB_E_EXISTS)
        call_finish(c, FAB_GRPC_ALREADY_EXISTS, "no node waits for an approval");
    else if (rc < 0)
        request_refuse(c, rc, "nothing was approved");
}

void approve_node(struct call *c, const void *request)
{
    const Fabric__V1__ApproveNodeRequest *q = request;
    uint32_t node;
    struct fab_view *v = need_view(c);
    if (v == NULL || refuse_if_off(c))
        return;
    if (q->all) {
        q->dry_run ? rehearse_approval(c, v, FAB_NONE) : approve_all(c);
        return;
    }
    if (find_node(c, v, q->node, &node) < 0)
        return;
    if (q->dry_run) {
        rehearse_approval(c, v, node);
        return;
    }
    /* The request can begin a round, which replaces the view, so keep a reference. */
    fab_view_ref(v);
    const struct fab_node *n = &v->fabric->nodes[node];
    char after[100];
    snprintf(after, sizeof after, "pinned to 0x%016" PRIx64, n->guid);
    call_audit_change(c, NULL, after);
    call_audit_object(c, "%s", n->name);
    request_begin(c);
    int rc = sm_pin_approve(call_rpc(c)->in.sm, n->guid, call_peer(c), on_approved, c);
    if (rc == FAB_E_EXISTS)
        refuse_known(c, n);
    else if (rc < 0)
        request_refuse(c, rc, "nothing was approved");
    fab_view_unref(v);
}

/* ---- dropping a pin -------------------------------------------------------------------------- */

/* Finds the pins whose GUID, node name or host name is `what`, and returns their number. *ret_guid
 * is the GUID of one of these pins; it is only useful if there is just one. */
static size_t find_pins(const struct fab_pins *pins, const char *what, uint64_t *ret_guid)
{
    char *end;
    size_t found = 0;
    uint64_t guid = strncmp(what, "0x", 2) == 0 ? strtoull(what, &end, 16) : 0;
    if (guid != 0 && *end == '\0' && fab_policy_pins_find(pins, guid) != NULL) {
        *ret_guid = guid;
        return 1;
    }
    for (size_t i = 0; i < pins->count; i++) {
        const char *name = pins->pin[i].name;
        size_t len = strcspn(name, " \t");
        if (strcmp(name, what) == 0 || (strlen(what) == len && strncmp(name, what, len) == 0)) {
            *ret_guid = pins->pin[i].guid;
            found++;
        }
    }
    return found;
}

void forget_node_pin(struct call *c, const void *request)
{
    const Fabric__V1__ForgetNodePinRequest *q = request;
    struct sm *sm = call_rpc(c)->in.sm;
    uint64_t guid = 0;
    if (need_view(c) == NULL || refuse_if_off(c))
        return;
    size_t found = find_pins(sm_pins(sm), q->node, &guid);
    if (found == 0) {
        call_finish(c, FAB_GRPC_NOT_FOUND,
                    "no node GUID or name \"%s\" is pinned; 'fabricctl node pins' lists them",
                    q->node);
        return;
    }
    if (found > 1) {
        call_finish(c, FAB_GRPC_INVALID_ARGUMENT,
                    "\"%s\" is ambiguous: it is pinned to %zu node GUID%s; name one of them",
                    q->node, found, fab_base_plural_s(found));
        return;
    }
    const struct fab_pin *pin = fab_policy_pins_find(sm_pins(sm), guid);
    if (q->dry_run) {
        Fabric__V1__ForgetNodePinResponse m = FABRIC__V1__FORGET_NODE_PIN_RESPONSE__INIT;
        request_rehearsed(c, q->node, &m.base, &m.message, "the pin of \"%s\" would be dropped",
                          pin != NULL ? pin->name : q->node);
        return;
    }
    call_audit_change(c, pin != NULL ? pin->name : NULL, NULL);
    call_audit_object(c, "0x%016" PRIx64, guid);
    request_begin(c);
    int rc = sm_pin_forget(sm, guid, call_peer(c), on_forgotten, c);
    if (rc < 0)
        request_refuse(c, rc, "the pin was not dropped");
}
