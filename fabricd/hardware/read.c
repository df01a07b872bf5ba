/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups the devices of a fabric into models, sends requests to some devices of each model, and
 * counts the answers. All requests are submitted at once; the windows of the sessions limit how
 * many are in flight. */
#include <stdlib.h>
#include <string.h>

#include "fabricd/hardware/private.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/discover/discover.h"

#define WINDOW 4 /* maximum number of requests in flight for each management class */

/* ---- models ---------------------------------------------------------------------------------- */

static bool is_model(const struct fab_node_info *a, const struct fab_node_info *b)
{
    return a->node_type == b->node_type && a->vendor_id == b->vendor_id &&
           a->device_id == b->device_id && a->revision == b->revision;
}

static void add_device(struct hardware *h, uint32_t node)
{
    const struct fab_node_info *info = &h->in.fabric->nodes[node].info;
    uint32_t i = 0;
    while (i < h->models && !is_model(&h->model[i].info, info))
        i++;
    if (i == HARDWARE_MODELS) {
        h->other_devices++;
        return;
    }
    struct hardware_model *m = &h->model[i];
    if (i == h->models) {
        h->models++;
        m->info = *info;
    }
    m->devices++;
    if (m->samples < HARDWARE_SAMPLES && !h->in.fabric->nodes[node].silent)
        m->sample[m->samples++] = node;
}

/* ---- answers --------------------------------------------------------------------------------- */

static void on_answer(void *ctx, uint64_t tag, const struct fab_mads_answer *a)
{
    struct hardware *h = ctx;
    uint32_t probe = (uint32_t)tag;
    const struct hardware_probe *p = &hardware_probes[probe];
    struct hardware_result *r = &h->model[tag >> 32].results[probe];
    uint32_t first = 0;
    if (a->status == FAB_OK && a->data != NULL && a->len >= p->at) {
        uint32_t unknown = hardware_unknown_bytes(p, a->data + p->at, a->len - p->at, &first);
        r->answered++;
        if (unknown > r->unknown) {
            r->unknown = unknown;
            r->unknown_at = first;
        }
        if (a->rtt_us > r->slowest_us)
            r->slowest_us = a->rtt_us;
    } else if (a->status == FAB_E_REFUSED) {
        r->refused++;
        r->status = a->smp_status;
    } else {
        r->silent++;
    }
    if (--h->waiting == 0)
        h->in.done(h->in.ctx);
}

/* ---- requests -------------------------------------------------------------------------------- */

/* Returns the number of the first port of the node whose link is up; 0: no link is up. */
static uint8_t linked_port(const struct fab_fabric *f, uint32_t node)
{
    const struct fab_node *n = &f->nodes[node];
    for (uint32_t i = 1; i <= n->num_ports; i++)
        if (fab_fabric_port_is_up(f, n->first_port + i))
            return (uint8_t)i;
    return 0;
}

/* Returns the LID at which the general services of a node answer; 0: it has none. */
static uint16_t lid_of(const struct fab_fabric *f, uint32_t node)
{
    const struct fab_node *n = &f->nodes[node];
    uint32_t port = n->first_port + (n->type == FAB_NODE_SWITCH ? 0 : linked_port(f, node));
    return fab_fabric_port(f, port)->info.lid;
}

static struct agent *agent_of(const struct hardware *h, uint8_t mgmt_class)
{
    switch (mgmt_class) {
    case FAB_CLASS_PERF:
        return h->agents[1];
    case FAB_CLASS_CC:
        return h->agents[2];
    case FAB_CLASS_VENDOR:
        return h->agents[3];
    default:
        return h->agents[0];
    }
}

static uint32_t modifier_of(const struct hardware_probe *p, const struct fab_node_info *info,
                            uint8_t port)
{
    if (p->modifier == MODIFIER_NONE)
        return 0;
    if (p->modifier == MODIFIER_VLARB)
        return UINT32_C(1) << 16 | (info->node_type == FAB_NODE_SWITCH ? port : 0);
    /* SLtoVLMappingTable of a switch: use the same port as input port and output port. An adapter
     * has only one table for each port, so its modifier is 0. */
    if (p->attr_id == FAB_ATTR_SL2VL)
        return info->node_type == FAB_NODE_SWITCH ? (uint32_t)port << 8 | port : 0;
    return port;
}

static int ask(struct hardware *h, uint32_t model, uint32_t probe, uint32_t node)
{
    const struct hardware_probe *p = &hardware_probes[probe];
    struct hardware_result *result = &h->model[model].results[probe];
    const struct fab_fabric *f = h->in.fabric;
    uint8_t port = linked_port(f, node);
    bool directed = p->mgmt_class == FAB_CLASS_SMP_DIRECTED;
    struct fab_mads_request r = {.mgmt_class = p->mgmt_class,
                                 .method = FAB_METHOD_GET,
                                 .attr_id = p->attr_id,
                                 .attr_mod = modifier_of(p, &f->nodes[node].info, port),
                                 .path = directed ? &h->paths[node] : NULL,
                                 .dlid = directed ? 0 : lid_of(f, node),
                                 .done = on_answer,
                                 .ctx = h,
                                 .tag = (uint64_t)model << 32 | probe};
    bool have_lids = r.dlid != 0 && fab_fabric_port(f, f->self_port)->info.lid != 0;
    if (!directed && !have_lids) {
        result->unsent++;
        return FAB_OK;
    }
    if (p->port_select)
        r.data[p->at + 1] = port;
    result->asked++;
    h->waiting++;
    return fab_mads_submit(agent_mads(agent_of(h, p->mgmt_class)), &r);
}

static int ask_all(struct hardware *h)
{
    int r = FAB_OK;
    for (uint32_t m = 0; m < h->models; m++)
        for (uint32_t p = 0; p < HARDWARE_PROBES; p++)
            for (uint32_t i = 0; r == FAB_OK && i < h->model[m].samples; i++)
                if (hardware_applies(&hardware_probes[p], &h->model[m].info))
                    r = ask(h, m, p, h->model[m].sample[i]);
    return r;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static int new_agents(struct hardware *h)
{
    static const uint8_t classes[] = {FAB_CLASS_PERF, FAB_CLASS_CC, FAB_CLASS_VENDOR};
    const struct fab_mads_config config = {.window_start = WINDOW,
                                           .window_max = WINDOW,
                                           .timeout_us = h->in.timeout_us,
                                           .retries = h->in.retries};
    int r = agent_new(h->in.loop, h->in.transport, &config, NULL, NULL, &h->agents[0]);
    for (unsigned i = 0; r == FAB_OK && i < sizeof(classes); i++)
        r = agent_new_class(h->in.loop, h->in.transport, classes[i], &config, NULL, NULL,
                            &h->agents[i + 1]);
    return r;
}

int hardware_start(const struct hardware_input *in, struct hardware **ret)
{
    struct hardware *h = calloc(1, sizeof(*h));
    if (!h)
        return FAB_E_NOMEM;
    h->in = *in;
    int r = fab_discover_paths(in->fabric, &h->paths);
    for (uint32_t node = 0; r == FAB_OK && node < in->fabric->node_count; node++)
        add_device(h, node);
    if (r == FAB_OK)
        r = new_agents(h);
    if (r == FAB_OK)
        r = ask_all(h);
    if (r != FAB_OK) {
        hardware_free(h);
        return r;
    }
    *ret = h;
    for (unsigned i = 0; i < sizeof(h->agents) / sizeof(*h->agents); i++)
        agent_pump(h->agents[i]);
    return FAB_OK;
}

void hardware_free(struct hardware *h)
{
    if (!h)
        return;
    for (unsigned i = 0; i < sizeof(h->agents) / sizeof(*h->agents); i++)
        agent_free(h->agents[i]);
    free(h->paths);
    free(h);
}
