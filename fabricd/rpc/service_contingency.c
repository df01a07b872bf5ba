/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements ListContingencies and GetContingency.
 *
 * A page lists contingencies in the order of severity, but the manager does not sort them. To make
 * a page, the method collects the most severe contingencies after the page token in a heap. The
 * least severe contingency of the heap is at its top, and is replaced when the method finds a more
 * severe one.
 */
#include <stdlib.h>

#include "fabricd/rpc/convert.h"
#include "fabricd/rpc/page.h"
#include "fabricd/rpc/server.h"
#include "libfabmgr/base/status.h"

/* ---- the order of rows: worst first ---------------------------------------------------------- */

struct pick {
    uint64_t badness;
    uint32_t row;
};
struct picks {
    /* [want] a heap of the most severe contingencies that were found so far */
    struct pick *heap;
    uint32_t count, want;
    bool more;
};

static uint64_t badness(const struct fab_repair_contingency *c)
{
    bool engine = c->outcome == FAB_CONTINGENCY_ENGINE;
    return (uint64_t)c->lost_ends << 32 | (engine ? UINT32_MAX : c->blocks);
}

static bool is_worse(const struct pick *a, const struct pick *b)
{
    return a->badness != b->badness ? a->badness > b->badness : a->row < b->row;
}

static void swap(struct pick *a, struct pick *b)
{
    struct pick was = *a;
    *a = *b;
    *b = was;
}

static void rise(struct picks *p)
{
    for (uint32_t at = p->count - 1; at > 0 && is_worse(&p->heap[(at - 1) / 2], &p->heap[at]);
         at = (at - 1) / 2)
        swap(&p->heap[at], &p->heap[(at - 1) / 2]);
}

static void sink(struct picks *p)
{
    for (uint32_t at = 0, child; (child = 2 * at + 1) < p->count; at = child) {
        if (child + 1 < p->count && is_worse(&p->heap[child], &p->heap[child + 1]))
            child++;
        if (!is_worse(&p->heap[at], &p->heap[child]))
            return;
        swap(&p->heap[at], &p->heap[child]);
    }
}

static void offer(struct picks *p, struct pick one)
{
    if (p->count < p->want) {
        p->heap[p->count++] = one;
        rise(p);
        return;
    }
    p->more = true;
    if (!is_worse(&one, &p->heap[0]))
        return;
    p->heap[0] = one;
    sink(p);
}

static int by_badness(const void *a, const void *b)
{
    return is_worse(a, b) ? -1 : is_worse(b, a);
}

static void pick(const struct fab_repair_contingencies *all, const struct page_key *after,
                 struct picks *ret)
{
    const struct pick last = {after->number, after->port};
    for (size_t i = 0; i < all->rows; i++) {
        if (!all->row[i].known)
            continue;
        struct pick one = {badness(&all->row[i]), (uint32_t)i};
        if (after->list == '\0' || is_worse(&last, &one))
            offer(ret, one);
    }
    qsort(ret->heap, ret->count, sizeof *ret->heap, by_badness);
}

/* ---- messages -------------------------------------------------------------------------------- */

static Fabric__V1__ContingencySummary *summary(struct answer *a, const struct sm_contingencies *c)
{
    Fabric__V1__ContingencySummary *m =
        ANSWER_NEW(a, Fabric__V1__ContingencySummary, fabric__v1__contingency_summary);
    if (m == NULL)
        return NULL;
    m->cases = c->cases;
    m->computed = (uint32_t)c->all->count;
    m->plans = (uint32_t)c->all->plans;
    m->running = c->under_way;
    m->memory = c->all->memory;
    m->memory_allowed = c->budget;
    m->working_memory = c->working;
    m->blocks_per_second = c->rate;
    m->rate_measured = c->rate_measured;
    m->current_load = c->load;
    m->current = c->current;
    m->kept = c->kept;
    m->cpu_percent = c->percent;
    m->cpu_us = c->cpu_us;
    m->waits_for = answer_text(a, c->waits_for);
    return m;
}

static void fill_place(struct answer *a, const struct fab_view *v,
                       const struct fab_repair_contingency *c, Fabric__V1__Contingency *m)
{
    if (!c->is_switch) {
        m->from = c->id != FAB_NONE ? convert_port_ref(a, v, c->id) : NULL;
        m->to = c->peer != FAB_NONE ? convert_port_ref(a, v, c->peer) : NULL;
    } else if (c->id != FAB_NONE) {
        m->node_guid = answer_guid(a, v->fabric->nodes[c->id].guid);
        m->node_name = answer_text(a, v->fabric->nodes[c->id].name);
    }
}

static Fabric__V1__Contingency *convert(struct answer *a, const struct fab_view *v,
                                        const struct sm *s,
                                        const struct fab_repair_contingency *row, uint32_t rate)
{
    struct fab_repair_contingency c;
    Fabric__V1__Contingency *m = ANSWER_NEW(a, Fabric__V1__Contingency, fabric__v1__contingency);
    if (m == NULL)
        return NULL;
    sm_contingency_row(s, row, &c);
    fill_place(a, v, &c, m);
    m->needs_engine = c.outcome == FAB_CONTINGENCY_ENGINE;
    m->lost_endports = c.lost_ends;
    m->lost_switches = c.lost_switches;
    m->entries = c.entries;
    m->blocks = c.blocks;
    m->switches = c.switches;
    m->steps = c.steps;
    m->worst_load = c.load;
    m->busiest =
        c.busiest != FAB_NONE && !m->needs_engine ? convert_port_ref(a, v, c.busiest) : NULL;
    m->plan_ready = c.plan != NULL;
    m->plan_bytes = c.plan_len;
    if (!m->needs_engine)
        m->estimated_time = convert_duration(a, (uint64_t)c.blocks * 1000000 / rate);
    return m;
}

/* Gets the computed contingencies. If there are none, finishes the call with an error and returns
 * false. */
static bool need_contingencies(struct call *c, struct sm_contingencies *ret)
{
    sm_get_contingencies(call_rpc(c)->in.sm, ret);
    if (ret->all != NULL)
        return true;
    call_finish(
        c, FAB_GRPC_FAILED_PRECONDITION, "%s",
        ret->budget == 0
            ? "contingency analysis is off: contingency.memory is 0 in the configuration"
            : "no contingency is computed yet: the analysis starts when the manager has been "
              "idle for a second, if the tables support local repair");
    return false;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void fill_page(struct answer *a, struct call *c, const struct fab_view *v,
                      const struct sm_contingencies *all, struct picks *p,
                      Fabric__V1__ListContingenciesResponse *m)
{
    m->contingencies = answer_alloc(a, p->count, sizeof *m->contingencies);
    for (uint32_t i = 0; m->contingencies != NULL && i < p->count; i++)
        m->contingencies[m->n_contingencies++] =
            convert(a, v, call_rpc(c)->in.sm, &all->all->row[p->heap[i].row], all->rate);
    if (p->more) {
        const struct pick *last = &p->heap[p->count - 1];
        const struct page_key key = {.list = 'c', .number = last->badness, .port = last->row};
        m->next_page_token = page_token(a, &key);
    }
}

void list_contingencies(struct call *c, const void *request)
{
    const Fabric__V1__ListContingenciesRequest *q = request;
    Fabric__V1__ListContingenciesResponse m = FABRIC__V1__LIST_CONTINGENCIES_RESPONSE__INIT;
    struct answer a = {0};
    struct page page;
    struct sm_contingencies all;
    struct fab_view *v = need_target(c);
    if (v != NULL && read_page(c, 'c', q->page_token, q->page_size, &page) &&
        need_contingencies(c, &all)) {
        struct picks picks = {.want = page.want};
        picks.heap = answer_alloc(&a, picks.want, sizeof *picks.heap);
        if (picks.heap != NULL) {
            pick(all.all, &page.key, &picks);
            fill_page(&a, c, v, &all, &picks, &m);
        }
        m.summary = summary(&a, &all);
        m.generation = v->generation;
        answer_reply(&a, c, &m.base);
    }
}

/* Returns the contingency that the client named. If there is none, finishes the call with an error
 * and returns NULL. */
static const struct fab_repair_contingency *
find(struct call *c, const struct fab_view *v, const char *what, const struct sm_contingencies *all)
{
    char node[FAB_NODE_DESC_LEN + 1];
    uint32_t number, id, peer = FAB_NONE;
    bool port = is_port_name(v, what, node, &number);
    if ((port ? find_port(c, v, node, number, &id) : find_node(c, v, what, &id)) != FAB_OK)
        return NULL;
    if (port)
        peer = fab_fabric_peer_node(v->fabric, id);
    const struct fab_repair_contingency *row = sm_contingency_of(call_rpc(c)->in.sm, !port, id);
    if (row != NULL)
        return row;
    if (port ? peer == FAB_NONE || !fab_fabric_node_is_switch(v->fabric, peer) ||
                   !fab_fabric_node_is_switch(v->fabric, fab_fabric_port(v->fabric, id)->node)
             : !fab_fabric_node_is_switch(v->fabric, id))
        call_finish(c, FAB_GRPC_INVALID_ARGUMENT,
                    "\"%.200s\" is neither a switch nor a link between switches; its failure would "
                    "change no table",
                    what);
    else if (all->all->count < all->all->cases)
        call_finish(c, FAB_GRPC_FAILED_PRECONDITION,
                    "\"%.200s\" is not computed yet (%zu of %u cases are); try again later", what,
                    all->all->count, (uint32_t)all->all->cases);
    else
        call_finish(c, FAB_GRPC_NOT_FOUND, "\"%.200s\" has no link between switches that is up",
                    what);
    return NULL;
}

void get_contingency(struct call *c, const void *request)
{
    const Fabric__V1__GetContingencyRequest *q = request;
    Fabric__V1__GetContingencyResponse m = FABRIC__V1__GET_CONTINGENCY_RESPONSE__INIT;
    struct answer a = {0};
    struct sm_contingencies all;
    const struct fab_repair_contingency *row = NULL;
    struct fab_view *v = need_target(c);
    if (v != NULL && need_contingencies(c, &all))
        row = find(c, v, q->failure, &all);
    if (row != NULL) {
        m.contingency = convert(&a, v, call_rpc(c)->in.sm, row, all.rate);
        m.summary = summary(&a, &all);
        m.generation = v->generation;
        answer_reply(&a, c, &m.base);
    }
}
