/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a view to what devices shall have. A device is known by the GUID of the port that owns its
 * LID; what it shall have is remembered as a digest, so that a new view of thousands of ports leads
 * to requests only to the few devices for which it makes a difference.
 */
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/cc/private.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/partition/crowd.h"

/* ---- digests --------------------------------------------------------------------------------- */

static uint64_t fold(uint64_t digest, uint64_t value)
{
    return fab_mix64(digest * UINT64_C(0x9e3779b97f4a7c15) + value + 1);
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

static int digest_all(struct cc *cc)
{
    const struct fab_congestion *c = &cc->settings;
    cc->port_digest = fab_alloc_array(c->port_count, sizeof(uint64_t));
    cc->adapter_digest = fab_alloc_array(c->adapter_count, sizeof(uint64_t));
    if (!cc->port_digest || !cc->adapter_digest)
        return FAB_E_NOMEM;
    for (uint32_t i = 0; i < c->port_count; i++)
        cc->port_digest[i] = digest_port(&c->port[i]);
    for (uint32_t i = 0; i < c->adapter_count; i++)
        cc->adapter_digest[i] = digest_adapter(&c->adapter[i]);
    return FAB_OK;
}

/* Of all that a device shall have, and the key; never 0. */
static uint64_t digest_device(const struct cc *cc, const struct cc_device *d)
{
    const uint16_t *of_port = cc->settings.of_port + d->port;
    uint64_t digest = fold(3, cc->in.config->policy.congestion.key);
    if (d->num != 0)
        return fold(digest, cc->adapter_digest[of_port[0]]) | 1;
    for (uint32_t num = 1; num <= d->ports; num++)
        if (of_port[num] != FAB_CONGESTION_NONE)
            digest = fold(fold(digest, num), cc->port_digest[of_port[num]]);
    return digest | 1;
}

/* ---- devices --------------------------------------------------------------------------------- */

static struct cc_device *device_of(struct cc *cc, uint64_t port_guid)
{
    uint32_t i;
    if (fab_map_get(&cc->index, port_guid, &i))
        return &cc->devices[i];
    if (cc->device_count == cc->device_room) {
        void *grown =
            fab_grow(cc->devices, sizeof(*cc->devices), cc->device_count + 1u, &cc->device_room);
        if (!grown)
            return NULL;
        cc->devices = grown;
    }
    if (fab_map_put(&cc->index, port_guid, cc->device_count) != FAB_OK)
        return NULL;
    struct cc_device *d = &cc->devices[cc->device_count++];
    *d = (struct cc_device){.port_guid = port_guid};
    return d;
}

/* What it shall have is other than before: it is looked at, however that went before, but not where
 * it cannot at all. */
static void want(struct cc_device *d, uint64_t digest)
{
    if (d->want == digest)
        return;
    d->want = digest;
    if (d->state == CC_UNSUPPORTED || d->stands == digest)
        return;
    d->state = CC_WAITS;
    d->tries = 0;
    d->due_us = 0;
}

static int see_device(struct cc *cc, const struct fab_view *v, uint32_t port)
{
    const struct fab_fabric *f = v->fabric;
    const struct fab_node *n = &f->nodes[f->ports[port].node];
    bool is_switch = fab_node_is_switch(f, f->ports[port].node);
    uint32_t lid = v->target->lids.base[port];
    if (lid == 0 || lid > FAB_LID_UNICAST_MAX || f->ports[port].guid == 0 ||
        (!is_switch && cc->settings.of_port[port] == FAB_CONGESTION_NONE))
        return FAB_OK;
    struct cc_device *d = device_of(cc, f->ports[port].guid);
    if (!d)
        return FAB_E_NOMEM;
    d->node_guid = n->guid;
    d->port = port;
    d->num = f->ports[port].num;
    d->ports = n->num_ports;
    d->lid = (uint16_t)lid;
    d->pass = cc->pass;
    d->busy = false;
    want(d, digest_device(cc, d));
    return FAB_OK;
}

/* Those that are away are forgotten: when they come back they may have been off. */
static void forget_devices(struct cc *cc)
{
    for (uint32_t i = 0; i < cc->device_count;) {
        struct cc_device *d = &cc->devices[i];
        if (d->pass == cc->pass) {
            i++;
            continue;
        }
        fab_map_remove(&cc->index, d->port_guid);
        free(d->log);
        *d = cc->devices[--cc->device_count];
        if (i < cc->device_count)
            (void)fab_map_put(&cc->index, d->port_guid, i); /* it is there: needs no room */
    }
}

static void count_waiting(struct cc *cc)
{
    cc->waiting = 0;
    for (uint32_t i = 0; i < cc->device_count; i++)
        cc->waiting += cc->devices[i].state == CC_WAITS;
}

/* ---- settings -------------------------------------------------------------------------------- */

/* As far as devices told; malloc'd. */
static uint8_t *table_blocks(const struct cc *cc, const struct fab_fabric *f)
{
    uint8_t *blocks = calloc(f->node_count ? f->node_count : 1, 1);
    for (uint32_t i = 0; blocks && i < cc->device_count; i++) {
        uint32_t node = fab_fabric_node_by_guid(f, cc->devices[i].node_guid);
        if (node != FAB_NONE)
            blocks[node] = cc->devices[i].table_blocks;
    }
    return blocks;
}

static void settings_fini(struct cc *cc)
{
    fab_congestion_fini(&cc->settings);
    free(cc->port_digest);
    free(cc->adapter_digest);
    cc->port_digest = cc->adapter_digest = NULL;
    cc->generation = 0;
}

/* Where partitions are in force; malloc'd, or NULL. */
static int find_crowds(const struct fab_view *v, uint32_t **ret)
{
    if (!v->policy.partitions || !v->target->pkeys.ports)
        return FAB_OK;
    uint32_t *crowd = fab_alloc_array(v->fabric->port_count, sizeof(*crowd));
    int r = crowd ? fab_partition_crowds(v->fabric, &v->target->pkeys, crowd) : FAB_E_NOMEM;
    if (r == FAB_OK)
        *ret = crowd;
    else
        free(crowd);
    return r;
}

static int compute(struct cc *cc, const struct fab_view *v)
{
    uint32_t fan_in[FAB_CONGESTION_SLS];
    uint8_t *blocks = table_blocks(cc, v->fabric);
    struct fab_congestion_input in = {
        .fabric = v->fabric,
        .policy = &cc->in.config->policy,
        .hops = v->verdict.longest_path,
        .table_blocks = blocks,
        .fan_in = fan_in,
    };
    settings_fini(cc);
    uint32_t *crowd = NULL;
    int r = blocks ? cc_class_fan_in(v, fan_in) : FAB_E_NOMEM;
    if (r == FAB_OK)
        r = find_crowds(v, &crowd);
    in.crowd = crowd;
    if (r == FAB_OK)
        r = fab_congestion_compute(&in, &cc->settings);
    free(blocks);
    free(crowd);
    return r == FAB_OK ? digest_all(cc) : r;
}

int cc_compute(struct cc *cc, const struct fab_view *v)
{
    uint64_t began = clock_now_us();
    cc_program_stop(cc);
    cc->stale = false;
    cc->computed_us = began;
    cc->pass++;
    int r = compute(cc, v);
    for (uint32_t p = 0; r == FAB_OK && p < v->fabric->port_count; p++)
        if (fab_port_has_lid(v->fabric, p))
            r = see_device(cc, v, p);
    if (r == FAB_OK) {
        forget_devices(cc);
        count_waiting(cc);
        cc->cursor = 0;
        cc->generation = v->generation;
        cc->compute_us = clock_now_us() - began;
    } else {
        settings_fini(cc);
    }
    return r;
}

void cc_compute_fini(struct cc *cc)
{
    settings_fini(cc);
    for (uint32_t i = 0; i < cc->device_count; i++)
        free(cc->devices[i].log);
    free(cc->devices);
    fab_map_fini(&cc->index);
}
