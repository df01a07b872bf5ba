/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The proof. First all ways of all LIDs (walk.c, flow.c), then the graph of what waits for what
 * (channels.c), then what devices can do (limits.c). A failed way is the witness when there is one:
 * it is easier to understand than a cycle, and often its cause. Every LID of an LMC range is
 * checked; the pairs that are counted are those of base LIDs, but a further LID that fails counts
 * as unreachable, too. A way that is longer than max_hops counts as none.
 */
#include "libfabmgr/verify/verify.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/verify/device_limits.h"
#include "libfabmgr/verify/trace.h"
#include "libfabmgr/verify/vl_walk.h"

/* The lowest port id at the switch that has a LID and is not the destination. */
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

static int witness_way(const struct fab_verify_walk *w, struct fab_witness *ret)
{
    const struct fab_verify_input *in = w->net->in;
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

/* From channels to ports and, where there are several lanes, VLs. */
static int split(uint32_t *cycle, uint32_t count, uint32_t lanes, uint8_t **ret_vls)
{
    uint8_t *vls = NULL;
    if (lanes > 1 && (vls = malloc(count)) == NULL)
        return FAB_E_NOMEM;
    for (uint32_t i = 0; i < count && lanes > 1; i++) {
        vls[i] = (uint8_t)(cycle[i] % lanes);
        cycle[i] /= lanes;
    }
    *ret_vls = vls;
    return FAB_OK;
}

static int judge_channels(struct fab_verify_deps *channels, struct fab_verdict *v)
{
    uint32_t *cycle = NULL, count = 0;
    uint8_t *vls = NULL;
    v->dependencies = fab_verify_deps_prune(channels);
    int status = fab_verify_deps_cycle(channels, &cycle, &count);
    v->deadlock_free = status == FAB_OK;
    if (status != FAB_E_CYCLE)
        return status;
    status = v->witness.kind == FAB_OK ? split(cycle, count, channels->lanes, &vls) : FAB_OK;
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

static int judge(struct fab_verify_walk *w, struct fab_verdict *ret)
{
    struct fab_verdict v = {.witness = {.src = FAB_NONE, .dst = FAB_NONE}};
    int status = fab_verify_walk_all(w);
    v.pairs = w->pairs;
    v.unreachable_pairs = w->unreachable;
    v.longest_path = w->longest;
    if (status == FAB_OK && w->bad_lid != 0)
        status = witness_way(w, &v.witness);
    if (status == FAB_OK)
        status = judge_channels(w->flow != NULL ? &w->flow->channels : &w->channels, &v);
    if (status == FAB_OK)
        status = fab_verify_device_limits(w, &v);
    if (status == FAB_OK)
        *ret = v;
    else
        fab_verify_verdict_fini(&v);
    return status;
}

int fab_verify(const struct fab_verify_input *in, struct fab_verdict *ret)
{
    struct fab_verify_graph net;
    struct fab_verify_walk walk;
    if (in->lids->owner == NULL || in->lids->port_count != in->fabric->port_count ||
        in->lft->switch_count != in->fabric->switch_count || in->lft->stride <= in->lids->top)
        return FAB_E_INVAL;
    int status = fab_verify_graph_make(in, &net);
    if (status != FAB_OK)
        return status;
    status = fab_verify_walk_init(&walk, &net);
    if (status == FAB_OK) {
        status = judge(&walk, ret);
        fab_verify_walk_fini(&walk);
    }
    fab_verify_graph_fini(&net);
    return status;
}

bool fab_verify_verdict_good(const struct fab_verdict *v)
{
    return v->deadlock_free && v->unreachable_pairs == 0 && v->beyond == 0;
}

void fab_verify_verdict_fini(struct fab_verdict *v)
{
    free(v->witness.ports);
    free(v->witness.vls);
    memset(v, 0, sizeof(*v));
}
