/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The proof checks, in this order, the paths of all LIDs (walk.c, vl_walk.c), the channel
 * dependency graph (dependencies.c) and the limits of the devices (device_limits.c). If a path
 * fails and there is also a cycle, the witness is the path: a path is easier to understand, and
 * often the cause of the cycle.
 *
 * Every LID of an LMC range is checked, and counts as a destination of its own. A path longer than
 * max_hops counts as unreachable.
 */
#include "libfabmgr/verify/verify.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/verify/device_limits.h"
#include "libfabmgr/verify/steps.h"
#include "libfabmgr/verify/trace.h"
#include "libfabmgr/verify/vl_walk.h"

/* Returns the lowest id of the ports that have a LID and are attached to switch `sw`, except
 * `owner`, the destination port. FAB_NONE: there is no such port. */
static uint32_t some_source(const struct fab_verify_input *in, uint32_t sw, uint32_t owner)
{
    for (uint32_t port = 0; port < in->fabric->port_count; port++) {
        uint32_t at;
        uint8_t num;
        if (port != owner && in->lids->base[port] != 0 &&
            fab_verify_attachment(in->fabric, port, &at, &num) && at == sw)
            return port;
    }
    return FAB_NONE;
}

static int witness_path(const struct fab_verify_walk *w, struct fab_witness *ret)
{
    const struct fab_verify_input *in = w->graph->in;
    struct fab_verify_trace trace;
    uint32_t owner = in->lids->owner[w->bad_lid];
    uint32_t src = some_source(in, w->bad_switch, owner);
    int kind = fab_verify_trace_strict(in, src, w->bad_lid, &trace);
    if (kind == FAB_E_NOMEM)
        return kind;
    *ret = (struct fab_witness){.kind = kind == FAB_OK ? FAB_E_LIMIT : kind,
                                .src = src,
                                .dst = owner,
                                .lid = w->bad_lid,
                                .ports = trace.ports,
                                .port_count = trace.count};
    return FAB_OK;
}

/* Replaces each channel number in cycle[] by the port id of the channel. If there are several VLs,
 * *ret_vls lists the VLs of the channels; otherwise it is NULL. */
static int split(uint32_t *cycle, uint32_t count, uint32_t vl_count, uint8_t **ret_vls)
{
    uint8_t *vls = NULL;
    if (vl_count > 1 && (vls = malloc(count)) == NULL)
        return FAB_E_NOMEM;
    for (uint32_t i = 0; i < count && vl_count > 1; i++) {
        vls[i] = (uint8_t)(cycle[i] % vl_count);
        cycle[i] /= vl_count;
    }
    *ret_vls = vls;
    return FAB_OK;
}

static int judge_dependencies(struct fab_verify_deps *deps, struct fab_verdict *v)
{
    uint32_t *cycle = NULL, count = 0;
    uint8_t *vls = NULL;
    v->dependencies = fab_verify_deps_prune(deps);
    int status = fab_verify_deps_cycle(deps, &cycle, &count);
    v->deadlock_free = status == FAB_OK;
    if (status != FAB_E_CYCLE)
        return status;
    status = v->witness.kind == FAB_OK ? split(cycle, count, deps->vl_count, &vls) : FAB_OK;
    if (status == FAB_OK && v->witness.kind == FAB_OK)
        v->witness = (struct fab_witness){.kind = FAB_E_CYCLE,
                                          .src = FAB_NONE,
                                          .dst = FAB_NONE,
                                          .ports = cycle,
                                          .port_count = count,
                                          .vls = vls};
    else
        free(cycle);
    return status;
}

/* Makes the verdict, after the walk `w` has followed all paths. */
static int judge(struct fab_verify_walk *w, struct fab_verdict *ret)
{
    struct fab_verdict v = {.witness = {.src = FAB_NONE, .dst = FAB_NONE}};
    int status = FAB_OK;
    v.pairs = w->pairs;
    v.unreachable_pairs = w->unreachable;
    v.unreachable_host_pairs = w->unreachable_hosts;
    v.longest_path = w->longest;
    if (w->bad_lid != 0)
        status = witness_path(w, &v.witness);
    if (status == FAB_OK)
        status = judge_dependencies(w->vl_walk != NULL ? &w->vl_walk->deps : &w->deps, &v);
    if (status == FAB_OK)
        status = fab_verify_device_limits(w, &v);
    if (status == FAB_OK)
        *ret = v;
    else
        fab_verify_verdict_fini(&v);
    return status;
}

/* Prepares the walk along all paths. After success, the caller must call close_walk. Returns NOMEM
 * or INVAL. */
static int open_walk(const struct fab_verify_input *in, struct fab_verify_graph *graph,
                     struct fab_verify_walk *walk)
{
    if (in->lids->owner == NULL || in->lids->port_count != in->fabric->port_count ||
        in->lft->switch_count != in->fabric->switch_count || in->lft->stride <= in->lids->top)
        return FAB_E_INVAL;
    int status = fab_verify_graph_make(in, graph);
    if (status != FAB_OK)
        return status;
    status = fab_verify_walk_init(walk, graph);
    if (status != FAB_OK)
        fab_verify_graph_fini(graph);
    return status;
}

static void close_walk(struct fab_verify_graph *graph, struct fab_verify_walk *walk)
{
    fab_verify_walk_fini(walk);
    fab_verify_graph_fini(graph);
}

int fab_verify(const struct fab_verify_input *in, struct fab_verdict *ret)
{
    struct fab_verify_graph graph;
    struct fab_verify_walk walk;
    int status = open_walk(in, &graph, &walk);
    if (status != FAB_OK)
        return status;
    status = fab_verify_walk_all(&walk);
    if (status == FAB_OK)
        status = judge(&walk, ret);
    close_walk(&graph, &walk);
    return status;
}

/* ---- the proof in steps ---------------------------------------------------------------------- */

struct fab_verify_steps {
    struct fab_verify_input in;
    struct fab_verify_graph graph;
    struct fab_verify_walk walk;
    /* `next` is the number of the next piece of the walk (from 0), `pieces` the number of all
     * pieces */
    uint32_t next, pieces;
};

int fab_verify_steps_new(const struct fab_verify_input *in, struct fab_verify_steps **ret)
{
    struct fab_verify_steps *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return FAB_E_NOMEM;
    s->in = *in;
    int status = open_walk(&s->in, &s->graph, &s->walk);
    if (status != FAB_OK) {
        free(s);
        return status;
    }
    s->pieces = fab_verify_walk_pieces(&s->walk);
    *ret = s;
    return FAB_OK;
}

void fab_verify_steps_free(struct fab_verify_steps *s)
{
    if (s == NULL)
        return;
    close_walk(&s->graph, &s->walk);
    free(s);
}

bool fab_verify_steps_next(struct fab_verify_steps *s)
{
    if (s->next < s->pieces)
        fab_verify_walk_piece(&s->walk, s->next++);
    return s->next < s->pieces;
}

int fab_verify_steps_judge(struct fab_verify_steps *s, struct fab_verdict *ret)
{
    while (fab_verify_steps_next(s))
        continue;
    fab_verify_walk_finish(&s->walk);
    return judge(&s->walk, ret);
}

int fab_verify_dependencies(const struct fab_verify_graph *graph, struct fab_verify_deps *ret,
                            bool *ret_arrive)
{
    struct fab_verify_walk walk;
    int status = fab_verify_walk_init(&walk, graph);
    if (status != FAB_OK)
        return status;
    status = fab_verify_walk_all(&walk);
    if (status == FAB_OK) {
        fab_verify_deps_prune(&walk.deps);
        *ret = walk.deps;
        walk.deps = (struct fab_verify_deps){0};
        *ret_arrive = walk.unreachable == 0;
    }
    fab_verify_walk_fini(&walk);
    return status;
}

static int number(struct fab_verify_walk *w, struct fab_verify_numbers *ret)
{
    struct fab_verify_deps *deps = w->vl_walk != NULL ? &w->vl_walk->deps : &w->deps;
    int status = fab_verify_walk_all(w);
    if (status == FAB_OK && w->bad_lid != 0)
        status = FAB_E_UNREACHABLE;
    if (status != FAB_OK)
        return status;
    fab_verify_deps_prune(deps);
    struct fab_verify_numbers n = {.vl_count = deps->vl_count};
    n.number = calloc((size_t)w->graph->in->fabric->port_count * n.vl_count + 1, sizeof(*n.number));
    status = n.number != NULL ? fab_verify_deps_number(deps, n.number) : FAB_E_NOMEM;
    if (status == FAB_OK)
        *ret = n;
    else
        free(n.number);
    return status;
}

int fab_verify_number(const struct fab_verify_input *in, struct fab_verify_numbers *ret)
{
    struct fab_verify_graph graph;
    struct fab_verify_walk walk;
    int status = open_walk(in, &graph, &walk);
    if (status != FAB_OK)
        return status;
    status = number(&walk, ret);
    close_walk(&graph, &walk);
    return status;
}

void fab_verify_numbers_fini(struct fab_verify_numbers *n)
{
    free(n->number);
    memset(n, 0, sizeof(*n));
}

const char *fab_verify_verdict_failure(const struct fab_verdict *v)
{
    return !v->deadlock_free      ? "the tables could deadlock"
           : v->unreachable_pairs ? "some endports cannot reach each other"
                                  : "the tables exceed the limits of a device";
}

bool fab_verify_verdict_good(const struct fab_verdict *v)
{
    return v->deadlock_free && v->unreachable_pairs == 0 && v->beyond == 0;
}

bool fab_verify_verdict_good_for_hosts(const struct fab_verdict *v)
{
    return v->deadlock_free && v->unreachable_host_pairs == 0 && v->beyond == 0;
}

void fab_verify_verdict_fini(struct fab_verdict *v)
{
    free(v->witness.ports);
    free(v->witness.vls);
    memset(v, 0, sizeof(*v));
}
