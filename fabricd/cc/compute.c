/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes the congestion control settings of all devices for a view, in a worker task. The result
 * has a list of distinct settings, and for each device a digest of its computed settings.
 *
 * The task has a reference to the fabric of the view, and copies of LIDs, P_Keys and policy. The
 * task does not hold the view itself, so that a local repair can change the tables in place.
 */
#include "fabricd/cc/compute.h"

#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/partition/incast.h"

/* ---- digests --------------------------------------------------------------------------------- */

static uint64_t fold(uint64_t digest, uint64_t value)
{
    return fab_base_mix64(digest * UINT64_C(0x9e3779b97f4a7c15) + value + 1);
}

static uint64_t digest_port(const struct fab_congestion_port *p)
{
    return fold(1, (uint64_t)p->threshold << 32 | (uint64_t)p->packet_size << 24 |
                       (uint64_t)p->victim << 16 | p->marking_rate);
}

static uint64_t digest_adapter(const struct fab_congestion_adapter *a)
{
    uint64_t d = fold(2, a->sls);
    for (int sl = 0; sl < FAB_CONGESTION_SLS; sl++)
        d = fold(d, (uint64_t)a->sl[sl].timer << 32 | (uint64_t)a->sl[sl].increase << 16 |
                        (uint64_t)a->sl[sl].trigger << 8 | a->sl[sl].min);
    for (uint32_t i = 0; i <= a->table.limit; i++)
        d = fold(d, a->table.entry[i]);
    return fold(d, a->table.limit);
}

static int digest_all(struct cc_work *w)
{
    const struct fab_congestion *c = &w->settings;
    w->port_digest = fab_base_alloc_array(c->port_count, sizeof(uint64_t));
    w->adapter_digest = fab_base_alloc_array(c->adapter_count, sizeof(uint64_t));
    if (!w->port_digest || !w->adapter_digest)
        return FAB_E_NOMEM;
    for (uint32_t i = 0; i < c->port_count; i++)
        w->port_digest[i] = digest_port(&c->port[i]);
    for (uint32_t i = 0; i < c->adapter_count; i++)
        w->adapter_digest[i] = digest_adapter(&c->adapter[i]);
    return FAB_OK;
}

/* Returns a digest of all computed settings of a device. The digest is never 0. */
static uint64_t digest_device(const struct cc_work *w, const struct cc_wanted *d)
{
    const uint16_t *of_port = w->settings.of_port + d->port;
    uint64_t digest = 3;
    if (d->num != 0)
        return fold(digest, w->adapter_digest[of_port[0]]) | 1;
    for (uint32_t num = 1; num <= d->ports; num++)
        if (of_port[num] != FAB_CONGESTION_NONE)
            digest = fold(fold(digest, num), w->port_digest[of_port[num]]);
    return digest | 1;
}

/* ---- settings -------------------------------------------------------------------------------- */

/* For each node id, finds the number of blocks (64 entries each) of the node's congestion control
 * table; 0: unknown. Returns an array that the caller frees. NULL: out of memory. */
static uint8_t *table_blocks(const struct cc_work *w)
{
    const struct fab_fabric *f = w->fabric;
    uint8_t *blocks = calloc(f->node_count ? f->node_count : 1, 1);
    for (uint32_t i = 0; blocks && i < w->told_count; i++) {
        uint32_t node = fab_fabric_node_by_guid(f, w->told[i].node_guid);
        if (node != FAB_NONE)
            blocks[node] = w->told[i].table_blocks;
    }
    return blocks;
}

static int find_incasts(const struct cc_work *w, uint32_t **ret)
{
    if (!w->policy.partitions || !w->pkeys.ports)
        return FAB_OK;
    *ret = fab_base_alloc_array(w->fabric->port_count, sizeof(**ret));
    return *ret ? fab_partition_incast(w->fabric, &w->pkeys, *ret) : FAB_E_NOMEM;
}

static int make_settings(struct cc_work *w)
{
    uint32_t fan_in[FAB_CONGESTION_SLS], *incast = NULL;
    uint8_t *blocks = table_blocks(w);
    int r = blocks ? cc_class_fan_in(w, fan_in) : FAB_E_NOMEM;
    if (r == FAB_OK)
        r = find_incasts(w, &incast);
    struct fab_congestion_input in = {
        .fabric = w->fabric,
        .policy = &w->policy,
        .hops = w->hops,
        .table_blocks = blocks,
        .fan_in = fan_in,
        .port_fan_in = incast,
    };
    if (r == FAB_OK)
        r = fab_congestion_compute(&in, &w->settings);
    free(blocks);
    free(incast);
    return r == FAB_OK ? digest_all(w) : r;
}

/* ---- devices --------------------------------------------------------------------------------- */

static void want_device(struct cc_work *w, uint32_t port)
{
    const struct fab_fabric *f = w->fabric;
    const struct fab_node *n = &f->nodes[fab_fabric_port(f, port)->node];
    bool is_switch = fab_fabric_node_is_switch(f, fab_fabric_port(f, port)->node);
    uint32_t lid = w->lid[port];
    if (lid == 0 || lid > FAB_LID_UNICAST_MAX || fab_fabric_port(f, port)->guid == 0 ||
        (!is_switch && w->settings.of_port[port] == FAB_CONGESTION_NONE))
        return;
    struct cc_wanted *d = &w->wanted[w->wanted_count++];
    *d = (struct cc_wanted){
        .port_guid = fab_fabric_port(f, port)->guid,
        .node_guid = n->guid,
        .port = port,
        .lid = (uint16_t)lid,
        .num = fab_fabric_port(f, port)->num,
        .ports = n->num_ports,
    };
    d->digest = digest_device(w, d);
}

static int want_devices(struct cc_work *w)
{
    uint32_t count = 0;
    for (uint32_t p = 0; p < w->fabric->port_count; p++)
        count += fab_fabric_port_has_lid(w->fabric, p);
    w->wanted = fab_base_alloc_array(count, sizeof(*w->wanted));
    if (!w->wanted)
        return FAB_E_NOMEM;
    for (uint32_t p = 0; p < w->fabric->port_count; p++)
        if (fab_fabric_port_has_lid(w->fabric, p))
            want_device(w, p);
    return FAB_OK;
}

/* ---- the worker task ------------------------------------------------------------------------- */

void cc_work_do(struct cc_work *w)
{
    uint64_t began = clock_now_us();
    w->status = make_settings(w);
    if (w->status == FAB_OK)
        w->status = want_devices(w);
    fab_fabric_unref(w->fabric);
    w->fabric = NULL;
    w->us = clock_now_us() - began;
}

static int copy_lids(struct cc_work *w, const struct fab_lids *lids)
{
    w->lid = fab_base_alloc_array(lids->port_count, sizeof(*w->lid));
    if (!w->lid)
        return FAB_E_NOMEM;
    memcpy(w->lid, lids->base, lids->port_count * sizeof(*w->lid));
    return FAB_OK;
}

int cc_work_new(const struct fab_view *v, const struct fab_policy *wanted, struct cc_work **ret)
{
    struct cc_work *w = calloc(1, sizeof(*w));
    int r = w ? fab_policy_copy(&v->policy, &w->policy) : FAB_E_NOMEM;
    if (r == FAB_OK && (w->policy.partitions || w->policy.classes))
        r = fab_target_pkeys_copy(&v->target->pkeys, &w->pkeys);
    if (r == FAB_OK)
        r = copy_lids(w, &v->target->lids);
    if (r != FAB_OK) {
        cc_work_free(w);
        return r;
    }
    w->policy.congestion = wanted->congestion;
    w->policy.max_mtu = wanted->max_mtu;
    w->fabric = fab_fabric_ref(v->fabric);
    w->generation = v->generation;
    w->hops = v->verdict.longest_path;
    cc_note_classes(&v->target->vls, w);
    *ret = w;
    return FAB_OK;
}

void cc_work_free(struct cc_work *w)
{
    if (!w)
        return;
    fab_fabric_unref(w->fabric);
    fab_policy_fini(&w->policy);
    fab_target_pkeys_fini(&w->pkeys);
    fab_congestion_fini(&w->settings);
    free(w->port_digest);
    free(w->adapter_digest);
    free(w->lid);
    free(w->told);
    free(w->wanted);
    free(w);
}
