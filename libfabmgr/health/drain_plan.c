/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans the batches of a rolling maintenance. For each batch, the planner tries the switches that
 * are in no batch yet, in the order of their ids. A switch joins the batch if all other switches
 * and all pods then keep the wanted share of their ISLs. If the batch would cut off a part of the
 * fabric, the switches that joined last are removed from it.
 */
#include "libfabmgr/health/drain_plan.h"

#include <stdlib.h>

#include "libfabmgr/base/arena.h"
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/health/drain.h"
#include "libfabmgr/health/hosts.h"

struct share {
    uint32_t links, out;
};
struct planner {
    struct fab_arena arena;
    const struct fab_drain_plan_input *input;
    const struct fab_fabric *f;
    uint32_t *hosts; /* [switch_count] number of endports at the switch */
    uint32_t *pod;   /* [switch_count] the lowest switch id in the pod of each switch */
    uint64_t *top;   /* bitset of the switches that are farthest from hosts */
    uint64_t *in;    /* bitset of the switches in the present batch */
    /* [switch_count] for each switch: number of its ISLs, and how many of them lead to switches of
     * the batch */
    struct share *own;
    /* [pod] for each pod: number of its ISLs to switches of `top`, and how many of them the drain
     * of the batch takes out of use */
    struct share *up;
    uint32_t *member; /* the present batch, in the order in which the switches joined */
    uint64_t *none;   /* an empty bitset */
};

/* ---- pods ------------------------------------------------------------------------------------ */

/* Finds the pod of each switch. Switches that belong to no pod are those farthest from hosts; they
 * form the set p->top. */
static int find_pods(struct planner *p)
{
    int r = fab_health_drain_pods(p->f, p->pod);
    for (uint32_t sw = 0; r == FAB_OK && sw < p->f->switch_count; sw++)
        if (p->pod[sw] == FAB_NONE)
            fab_base_bits_set(p->top, sw);
    return r;
}

/* ---- shares ---------------------------------------------------------------------------------- */

/* An ISL is an uplink of a pod if it connects a switch of the pod with one of the switches farthest
 * from hosts. Returns the pod of which an ISL between switches `a` and `b` is an uplink; FAB_NONE:
 * it is no uplink of a pod. */
static uint32_t pod_of(const struct planner *p, uint32_t a, uint32_t b)
{
    bool a_top = fab_base_bits_get(p->top, a), b_top = fab_base_bits_get(p->top, b);
    return a_top == b_top ? FAB_NONE : p->pod[a_top ? b : a];
}

static void count_links(struct planner *p)
{
    const struct fab_fabric *f = p->f;
    for (uint32_t port = 0; port < f->port_count; port++) {
        if (!fab_fabric_isl_is_up(f, port))
            continue;
        uint32_t near = fab_fabric_port(f, port)->node, far = fab_fabric_peer_node(f, port);
        uint32_t pod = near < far ? pod_of(p, near, far) : FAB_NONE;
        p->own[near].links++;
        if (pod != FAB_NONE)
            p->up[pod].links++;
    }
}

/* Adds switch `sw` to the present batch if `in` is true, and removes it from the batch if `in` is
 * false. Updates the counts of links. */
static void put(struct planner *p, uint32_t sw, bool in)
{
    const struct fab_fabric *f = p->f;
    const uint32_t step = in ? 1 : UINT32_MAX; /* 1 or -1 */
    fab_base_bits_put(p->in, sw, in);
    for (uint32_t i = 1; i <= f->nodes[sw].num_ports; i++) {
        uint32_t port = fab_fabric_port_id(f, sw, (uint8_t)i), far = fab_fabric_peer_node(f, port);
        if (!fab_fabric_isl_is_up(f, port))
            continue;
        p->own[far].out += step;
        uint32_t pod = pod_of(p, sw, far);
        if (pod != FAB_NONE && !fab_base_bits_get(p->in, far))
            p->up[pod].out += step;
    }
}

static bool is_enough(const struct planner *p, const struct share *s)
{
    return (uint64_t)(s->links - s->out) * 100 >= (uint64_t)p->input->keep_percent * s->links;
}

/* Returns true if switch `sw`, which put() has added, may stay in the batch: each of its neighbours
 * outside of the batch must keep enough ISLs, and each pod that has an uplink at `sw` must keep
 * enough of its uplinks. */
static bool may_join(const struct planner *p, uint32_t sw)
{
    const struct fab_fabric *f = p->f;
    for (uint32_t i = 1; i <= f->nodes[sw].num_ports; i++) {
        uint32_t port = fab_fabric_port_id(f, sw, (uint8_t)i), far = fab_fabric_peer_node(f, port);
        if (!fab_fabric_isl_is_up(f, port))
            continue;
        uint32_t pod = pod_of(p, sw, far);
        /* If the switch has hosts, its ISLs do not count for its pod: the hosts are drained, too,
         * and need no capacity. */
        bool counts = pod != FAB_NONE && p->hosts[sw] == 0;
        if ((!fab_base_bits_get(p->in, far) && !is_enough(p, &p->own[far])) ||
            (counts && !is_enough(p, &p->up[pod])))
            return false;
    }
    return true;
}

/* ---- batches --------------------------------------------------------------------------------- */

/* Sets *ret to true if the drain of the present batch would cut off a part of the fabric. Returns
 * NOMEM, or BUSY if the caller has stopped the computation. */
static int cuts(const struct planner *p, bool *ret)
{
    if (p->input->stopped != NULL && p->input->stopped(p->input->stopped_ctx))
        return FAB_E_BUSY;
    const struct fab_drain_input in = {.fabric = p->f, .switches = p->in, .transit = p->none};
    struct fab_drain d = {0};
    int r = fab_health_drain(&in, &d);
    *ret = d.first_cut != FAB_NONE;
    fab_health_drain_fini(&d);
    return r;
}

static struct fab_drain_batch describe(const struct planner *p, uint32_t count)
{
    struct fab_drain_batch b = {.kept_percent = 100, .least = FAB_NONE};
    for (uint32_t i = 0; i < count; i++)
        b.hosts += p->hosts[p->member[i]];
    for (uint32_t sw = 0; sw < p->f->switch_count; sw++) {
        const struct share *s = &p->own[sw];
        if (fab_base_bits_get(p->in, sw) || s->out == 0)
            continue;
        uint32_t kept = (uint32_t)((uint64_t)(s->links - s->out) * 100 / s->links);
        if (kept >= b.kept_percent && b.least != FAB_NONE)
            continue;
        b.kept_percent = kept;
        b.least = sw;
    }
    return b;
}

/* Makes one batch from the switches that are in no batch yet: from those with hosts if `hosted` is
 * true, otherwise from those without. *ret_count receives the number of switches in the batch. */
static int make_batch(struct planner *p, bool hosted, struct fab_drain_plan *ret,
                      uint32_t *ret_count)
{
    uint32_t count = 0;
    bool cut = false;
    for (uint32_t sw = 0; sw < p->f->switch_count; sw++) {
        if (!fab_base_bits_get(p->input->of, sw) || ret->batch_of[sw] != FAB_NONE ||
            (p->hosts[sw] > 0) != hosted)
            continue;
        put(p, sw, true);
        if (may_join(p, sw))
            p->member[count++] = sw;
        else
            put(p, sw, false);
    }
    int r = count > 0 ? cuts(p, &cut) : FAB_OK;
    while (r == FAB_OK && cut && count > 0) {
        put(p, p->member[--count], false);
        r = cuts(p, &cut);
    }
    for (uint32_t i = 0; r == FAB_OK && i < count; i++)
        ret->batch_of[p->member[i]] = ret->count;
    if (r == FAB_OK && count > 0)
        ret->batch[ret->count++] = describe(p, count);
    for (uint32_t i = count; i-- > 0;)
        put(p, p->member[i], false);
    *ret_count = count;
    return r;
}

static int plan(struct planner *p, struct fab_drain_plan *ret)
{
    int r = find_pods(p);
    for (uint32_t sw = 0; sw < p->f->switch_count; sw++) {
        p->hosts[sw] = fab_health_count_hosts(p->f, sw);
        ret->batch_of[sw] = FAB_NONE;
    }
    count_links(p);
    for (int hosted = 0; hosted < 2; hosted++)
        for (uint32_t count = 1; r == FAB_OK && count > 0;)
            r = make_batch(p, hosted, ret, &count);
    return r;
}

int fab_health_drain_plan(const struct fab_drain_plan_input *in, struct fab_drain_plan *ret)
{
    const struct fab_fabric *f = in->fabric;
    size_t n = f->switch_count + 1u, words = fab_base_bits_words(n);
    struct planner p = {.input = in, .f = f};
    struct fab_drain_plan got = {calloc(n, sizeof(*got.batch_of)), calloc(n, sizeof(*got.batch)),
                                 0};
    p.hosts = fab_base_arena_alloc(&p.arena, n, sizeof(*p.hosts));
    p.pod = fab_base_arena_alloc(&p.arena, n, sizeof(*p.pod));
    p.top = fab_base_arena_alloc(&p.arena, words, sizeof(*p.top));
    p.in = fab_base_arena_alloc(&p.arena, words, sizeof(*p.in));
    p.none = fab_base_arena_alloc(&p.arena, words, sizeof(*p.none));
    p.own = fab_base_arena_alloc(&p.arena, n, sizeof(*p.own));
    p.up = fab_base_arena_alloc(&p.arena, n, sizeof(*p.up));
    p.member = fab_base_arena_alloc(&p.arena, n, sizeof(*p.member));
    int r = p.arena.failed || !got.batch_of || !got.batch ? FAB_E_NOMEM : plan(&p, &got);
    fab_base_arena_fini(&p.arena);
    if (r == FAB_OK)
        *ret = got;
    else
        fab_health_drain_plan_fini(&got);
    return r;
}

void fab_health_drain_plan_fini(struct fab_drain_plan *p)
{
    free(p->batch_of);
    free(p->batch);
    *p = (struct fab_drain_plan){0};
}
