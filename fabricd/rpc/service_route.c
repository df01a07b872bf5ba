/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements TracePath, GetForwardingTable and GetVerdict, from the active tables.
 *
 * The request of GetVerdict can demand that the tables are verified again. In a large fabric, this
 * verification would take too long on the loop thread. A worker task, which has a reference to the
 * view, therefore verifies the tables. If the call ends before the worker task, the result is
 * dropped.
 */
#include "fabricd/rpc/server.h"

#include <stdlib.h>
#include <string.h>

#include "fabric/v1/route.pb-c.h"
#include "fabricd/rpc/convert.h"
#include "fabricd/rpc/page.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/qos/qos.h"

/* ---- paths ----------------------------------------------------------------------------------- */

/* Returns the destination LID of the path to trace. If the client gave a LID, returns this LID,
 * because a port can have several LIDs (LMC). Otherwise returns the base LID of the port. */
static uint32_t destination_lid(const struct fab_lids *lids, const char *what, uint32_t port)
{
    char *end;
    unsigned long lid = strtoul(what, &end, 0);
    if (*end == '\0' && lid <= lids->top && lids->owner[lid] == port)
        return (uint32_t)lid;
    return lids->base[port];
}

/* Returns the VL of a packet on the link of hop `i`, which begins at port t->ports[i]. The packet
 * enters the node of this hop by the port at the other end of the link of hop i - 1. */
static uint8_t lane(const struct fab_view *v, const struct fab_verify_trace *t, uint32_t i,
                    uint32_t sl)
{
    uint32_t out = t->ports[i],
             in = i > 0 ? fab_fabric_port(v->fabric, t->ports[i - 1])->peer : out;
    /* if the path begins at this switch, the packet comes from port 0 of the switch */
    if (i == 1 &&
        fab_fabric_node_is_switch(v->fabric, fab_fabric_port(v->fabric, t->ports[0])->node))
        in = t->ports[0];
    return fab_target_vl(v->fabric, &v->policy, &v->target->vls, in, out, (uint8_t)sl);
}

static void fill_hops(struct answer *a, const struct fab_view *v, const struct fab_verify_trace *t,
                      Fabric__V1__Path *m)
{
    const struct fab_fabric *f = v->fabric;
    m->hops = answer_alloc(a, t->count, sizeof *m->hops);
    for (uint32_t i = 0; m->hops != NULL && i < t->count; i++) {
        uint32_t peer = fab_fabric_port(f, t->ports[i])->peer;
        Fabric__V1__Hop *hop =
            peer == FAB_NONE ? NULL : ANSWER_NEW(a, Fabric__V1__Hop, fabric__v1__hop);
        if (hop == NULL)
            continue;
        hop->from = convert_port_ref(a, v, t->ports[i]);
        hop->to = convert_port_ref(a, v, peer);
        hop->rate = convert_rate(a, &fab_fabric_port(f, t->ports[i])->info);
        hop->virtual_lane = lane(v, t, i, m->service_level);
        m->hops[m->n_hops++] = hop;
    }
}

static const char *path_problem(int rc)
{
    if (rc == FAB_E_LOOP)
        return "the tables forward in a loop";
    return "the tables lead no further";
}

/* Returns the traffic class that the rules give to a path if only its source, its destination and
 * its P_Key are known. A rule that asks for a service ID or a QoS class does not match. */
static uint8_t find_class(struct answer *a, const struct fab_view *v, uint32_t from, uint32_t to,
                          uint16_t pkey)
{
    const struct fab_qos_path path = {.src = from, .dst = to, .pkey = pkey};
    struct fab_qos_matcher m;
    uint8_t levels = fab_target_vls_levels(&v->target->vls);
    if (levels < 2 || levels != fab_policy_classes_count(v->policy.classes))
        return 0;
    if (fab_qos_matcher_init(&m, v->fabric, &v->policy, &v->target->pkeys) != FAB_OK) {
        a->arena.failed = true;
        return 0;
    }
    int class = fab_qos_match(&m, &path);
    fab_qos_matcher_fini(&m);
    return class < 0 ? 0 : (uint8_t) class;
}

static const char *class_name(const struct fab_view *v, uint8_t class)
{
    const struct fab_classes *c = v->policy.classes;
    return c != NULL && class < c->count ? c->class[class].name : "";
}

static void fill_partition(struct answer *a, const struct fab_view *v, uint16_t pkey,
                           Fabric__V1__Path *m)
{
    const struct fab_partitions *all = v->policy.partitions;
    const struct fab_partition *p =
        all != NULL ? fab_policy_partitions_find(all, fab_target_pkey_base(pkey)) : NULL;
    m->pkey = pkey;
    if (p != NULL)
        m->partition = answer_text(a, p->name);
}

static Fabric__V1__Path *trace(struct answer *a, const struct fab_view *v, uint32_t from,
                               uint32_t to, uint32_t lid)
{
    struct fab_verify_trace t = {0};
    const struct fab_verify_input in = fab_view_verify_input(v);
    Fabric__V1__Path *m = ANSWER_NEW(a, Fabric__V1__Path, fabric__v1__path);
    if (m == NULL)
        return NULL;
    m->source = convert_port_ref(a, v, from);
    m->destination = convert_port_ref(a, v, to);
    m->source_lid = v->target->lids.base[from];
    m->destination_lid = lid;
    fill_partition(a, v, fab_target_pkeys_common(&v->target->pkeys, from, to, 0), m);
    uint8_t class = find_class(a, v, from, to, (uint16_t)m->pkey);
    m->service_level =
        fab_target_level_sl(v->fabric, &v->target->lids, &v->target->vls, class, from, lid);
    m->traffic_class = answer_text(a, class_name(v, class));
    m->virtual_lanes = fab_target_vls_count(&v->target->vls);
    int rc = from == to ? FAB_OK : fab_verify_trace(&in, from, lid, &t);
    if (rc == FAB_E_NOMEM)
        a->arena.failed = true;
    m->reachable = rc == FAB_OK;
    m->problem = answer_text(a, m->reachable ? "" : path_problem(rc));
    fill_hops(a, v, &t, m);
    fab_verify_trace_fini(&t);
    return m;
}

void trace_path(struct call *c, const void *request)
{
    const Fabric__V1__TracePathRequest *q = request;
    Fabric__V1__TracePathResponse m = FABRIC__V1__TRACE_PATH_RESPONSE__INIT;
    struct answer a = {0};
    uint32_t from, to;
    struct fab_view *v = need_target(c);
    if (v != NULL && find_end(c, v, q->source, &from) == FAB_OK &&
        find_end(c, v, q->destination, &to) == FAB_OK) {
        uint32_t lid = destination_lid(&v->target->lids, q->destination, to);
        m.generation = v->generation;
        m.path = trace(&a, v, from, to, lid);
        answer_reply(&a, c, &m.base);
    }
}

/* ---- tables ---------------------------------------------------------------------------------- */

static int find_switch(struct call *c, const struct fab_view *v, const char *what,
                       uint32_t *ret_switch)
{
    uint32_t node;
    int rc = find_node(c, v, what, &node);
    if (rc < 0)
        return rc;
    if (!fab_fabric_node_is_switch(v->fabric, node)) {
        call_finish(c, FAB_GRPC_INVALID_ARGUMENT,
                    "\"%s\" is not a switch; only switches have forwarding tables",
                    v->fabric->nodes[node].name);
        return FAB_E_INVAL;
    }
    *ret_switch = node;
    return FAB_OK;
}

static void fill_entries(struct answer *a, const struct fab_view *v, uint32_t sw,
                         const struct page *page, Fabric__V1__GetForwardingTableResponse *m)
{
    const struct fab_lft *lft = &v->target->lft;
    bool goes_on = page->given && page->key.number < UINT32_MAX;
    uint64_t lid = goes_on ? page->key.number + 1 : 1;
    m->entries = answer_alloc(a, page->want, sizeof *m->entries);
    for (; m->entries != NULL && lid <= lft->top; lid++) {
        uint8_t out = fab_target_lft_at(lft, sw, lid);
        if (out == FAB_LFT_NO_ROUTE)
            continue;
        if (m->n_entries == page->want)
            break;
        m->entries[m->n_entries++] = convert_entry(a, v, (uint32_t)lid, out);
    }
    if (lid <= lft->top) {
        const struct page_key last = {.list = 'f', .number = lid - 1};
        m->next_page_token = page_token(a, &last);
    }
}

void get_forwarding_table(struct call *c, const void *request)
{
    const Fabric__V1__GetForwardingTableRequest *q = request;
    Fabric__V1__GetForwardingTableResponse m = FABRIC__V1__GET_FORWARDING_TABLE_RESPONSE__INIT;
    struct answer a = {0};
    uint32_t sw;
    struct page page;
    struct fab_view *v = need_target(c);
    if (v != NULL && find_switch(c, v, q->node, &sw) == FAB_OK &&
        read_page(c, 'f', q->page_token, q->page_size, &page)) {
        m.generation = v->generation;
        m.node_guid = answer_guid(&a, v->fabric->nodes[sw].guid);
        m.node_name = answer_text(&a, v->fabric->nodes[sw].name);
        fill_entries(&a, v, sw, &page, &m);
        answer_reply(&a, c, &m.base);
    }
}

/* ---- the verdict ----------------------------------------------------------------------------- */

struct proof {
    struct call *call; /* NULL: the call has ended */
    struct fab_view *view;
    struct fab_verdict verdict;
    struct sm_mft_copy *mfts; /* NULL: no multicast groups are known */
    struct fab_multicast_verdict multicast;
    /* true: the manager was programming multicast tables when they were copied, so the copy can
     * differ from the switches */
    bool pending;
    int rc;
};

static Fabric__V1__MulticastVerdict *convert_multicast(struct answer *a, const struct proof *p)
{
    const struct fab_multicast_verdict *v = &p->multicast;
    char *witness = NULL;
    Fabric__V1__MulticastVerdict *m =
        ANSWER_NEW(a, Fabric__V1__MulticastVerdict, fabric__v1__multicast_verdict);
    if (m == NULL)
        return NULL;
    m->passed = v->kind == FAB_OK;
    m->dependencies_verified = v->with_unicast;
    m->deadlock_free = v->together;
    m->mlids = v->lids;
    m->failed_mlids = v->failed;
    m->members = v->members;
    m->unserved_members = v->unserved;
    m->dependencies = v->dependencies;
    m->pending = p->pending;
    if ((v->kind != FAB_OK || v->cycle.kind != FAB_OK) &&
        sm_mft_copy_text(p->mfts, v, &witness) == FAB_OK)
        m->witness = fab_base_arena_text(&a->arena, witness, strlen(witness));
    if (m->witness == NULL)
        m->witness = answer_text(a, "");
    free(witness);
    return m;
}

/* Sends the reply of GetVerdict. `again`: the result of the new verification; NULL: the client did
 * not request one. */
static void reply_verdict(struct call *c, const struct fab_view *v,
                          const struct fab_verdict *verdict, const struct proof *again)
{
    Fabric__V1__GetVerdictResponse m = FABRIC__V1__GET_VERDICT_RESPONSE__INIT;
    struct answer a = {0};
    m.generation = v->generation;
    m.verdict = convert_verdict(&a, v, verdict);
    struct sm_status status;
    sm_get_status(call_rpc(c)->in.sm, &status);
    m.settings_not_restored = status.settings_not_restored;
    m.proof = convert_proof(&a, &status.proof);
    if (again != NULL && again->mfts != NULL)
        m.multicast = convert_multicast(&a, again);
    answer_reply(&a, c, &m.base);
}

static void prove(void *ctx)
{
    struct proof *p = ctx;
    const struct fab_verify_input in = fab_view_verify_input(p->view);
    p->rc = fab_verify(&in, &p->verdict);
    if (p->rc == FAB_OK && p->mfts != NULL)
        p->rc = sm_mft_copy_verify(p->mfts, &in, &p->multicast);
}

static void proof_free(struct proof *p)
{
    fab_verify_verdict_fini(&p->verdict);
    fab_verify_multicast_fini(&p->multicast);
    sm_mft_copy_free(p->mfts);
    fab_view_unref(p->view);
    free(p);
}

static void on_proved(void *ctx)
{
    struct proof *p = ctx;
    if (p->call != NULL && p->rc == FAB_OK)
        reply_verdict(p->call, p->view, &p->verdict, p);
    else if (p->call != NULL)
        call_finish(p->call, fab_grpc_code_of(p->rc), "the tables could not be verified: %s",
                    fab_base_status_text(p->rc));
    proof_free(p);
}

/* Copies the multicast tables for the verification. Returns OK, also if no multicast groups are
 * known, or NOMEM. */
static int copy_mfts(const struct sm *sm, struct proof *p)
{
    struct sm_multicast_status status;
    int rc = sm_copy_mfts(sm, &p->mfts);
    sm_get_multicast(sm, &status);
    p->pending = status.pending;
    return rc == FAB_E_NOT_FOUND ? FAB_OK : rc;
}

static void forget_proof(struct call *c, void *data)
{
    (void)c;
    struct proof *p = data;
    p->call = NULL;
}

static void verify_again(struct call *c, struct fab_view *v)
{
    static const struct call_hooks hooks = {.gone = forget_proof};
    struct proof *p = calloc(1, sizeof *p);
    if (p != NULL) {
        *p = (struct proof){.call = c, .view = fab_view_ref(v)};
        call_later(c, &hooks, p);
        if (copy_mfts(call_rpc(c)->in.sm, p) == FAB_OK &&
            loop_work_background(call_rpc(c)->in.loop, prove, on_proved, p) == FAB_OK)
            return;
    }
    call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED, "the manager is out of memory");
    if (p != NULL)
        proof_free(p);
}

void get_verdict(struct call *c, const void *request)
{
    const Fabric__V1__GetVerdictRequest *q = request;
    struct fab_view *v = need_target(c);
    if (v == NULL)
        return;
    if (q->verify_again)
        verify_again(c, v);
    else
        reply_verdict(c, v, &v->verdict, NULL);
}
