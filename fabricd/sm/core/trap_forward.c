/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Passes the notices of devices to the listener of sm_on_notice. Before, the manager reads PortInfo
 * of the device by its directed route: a device that does not answer there, or has another LID,
 * did not send the notice. At most CHECKS notices wait for such an answer; further ones are not
 * passed on, and counted.
 */
#include <stdlib.h>

#include "fabricd/base/clock.h"
#include "fabricd/sm/core/trap.h"
#include "libfabmgr/mads/mads.h"

#define CHECKS 64

struct check {
    struct sm *sm;
    bool busy;
    uint16_t lid;
    struct fab_path path;
    struct fab_notice notice;
};

struct sm_trap_forward {
    sm_notice_wanted *wanted;
    sm_notice *fn;
    void *ctx;
    uint64_t unconfirmed; /* notices that were not passed on */
    struct check check[CHECKS];
};

static void on_port_info(void *ctx, uint64_t tag, const struct fab_mads_answer *a)
{
    struct check *c = ctx;
    struct sm_trap_forward *x = c->sm->core->forward;
    struct fab_port_info info;
    (void)tag;
    c->busy = false;
    bool there = a->status == FAB_OK &&
                 fab_wire_attr_unpack(&fab_wire_attr_port_info, a->data, a->len, &info) == FAB_OK &&
                 info.lid != 0 && c->lid >= info.lid && c->lid < info.lid + (1u << info.lmc);
    if (!there || !x->fn || !sm_is_master(c->sm))
        x->unconfirmed++;
    else
        x->fn(x->ctx, &c->notice);
}

/* Returns the port in the current snapshot that the view's port is. */
static uint32_t current_port(const struct sm *s, uint32_t port)
{
    const struct fab_fabric *f = s->model.fabric, *v = s->model.view->fabric;
    uint32_t node = f ? fab_fabric_node_by_guid(f, v->nodes[v->ports[port].node].guid) : FAB_NONE;
    uint8_t num = v->ports[port].num;
    return node != FAB_NONE && num <= f->nodes[node].num_ports ? fab_fabric_port_id(f, node, num)
                                                               : FAB_NONE;
}

static struct check *free_check(struct sm_trap_forward *x)
{
    for (uint32_t i = 0; i < CHECKS; i++)
        if (!x->check[i].busy)
            return &x->check[i];
    return NULL;
}

static bool submit(struct sm *s, struct check *c, uint8_t port_num)
{
    const struct fab_mads_request req = {
        .mgmt_class = FAB_CLASS_SMP_DIRECTED,
        .method = FAB_METHOD_GET,
        .attr_id = FAB_ATTR_PORT_INFO,
        .attr_mod = port_num,
        .m_key = s->policy.m_key,
        .dlid = 0xffff,
        .path = &c->path,
        .done = on_port_info,
        .ctx = c,
    };
    c->busy = fab_mads_submit(s->mads, &req) == FAB_OK;
    if (c->busy)
        agent_pump(s->agent);
    return c->busy;
}

void sm_trap_forward(struct sm *s, const struct sm_trap *t)
{
    struct sm_trap_forward *x = s->core->forward;
    if (!x->fn || !x->wanted(x->ctx))
        return;
    uint32_t port = current_port(s, t->port);
    const struct fab_path *path = port != FAB_NONE ? sm_model_path(&s->model, port) : NULL;
    struct check *c = free_check(x);
    if (path && c) {
        *c = (struct check){.sm = s, .lid = t->slid, .path = *path, .notice = t->notice};
        if (submit(s, c, s->model.fabric->ports[port].num))
            return;
    }
    x->unconfirmed++;
}

void sm_on_notice(struct sm *s, sm_notice_wanted *wanted, sm_notice *fn, void *ctx)
{
    s->core->forward->wanted = wanted;
    s->core->forward->fn = fn;
    s->core->forward->ctx = ctx;
}

uint64_t sm_trap_unconfirmed(const struct sm *s)
{
    return s->core->forward->unconfirmed;
}

int sm_trap_forward_init(struct sm *s)
{
    s->core->forward = calloc(1, sizeof(*s->core->forward));
    return s->core->forward ? FAB_OK : FAB_E_NOMEM;
}

void sm_trap_forward_fini(struct sm *s)
{
    free(s->core->forward);
}
