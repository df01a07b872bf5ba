/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Passes the notices of devices to the listener of sm_on_notice. Before that, the manager reads
 * PortInfo of the device by its directed route. If the device does not answer, or has another LID,
 * the manager assumes that the notice did not come from this device.
 *
 * If there is no answer, a link on the directed route may have just failed. The manager therefore
 * repeats the read after AGAIN_US, on the directed route that it knows by then. It reads the device
 * at most READS_MOST times for one notice.
 *
 * At most CHECKS notices wait for a read at the same time, and at most CHECKS_A_SOURCE notices of
 * one source LID. Further notices are counted and dropped.
 */
#include <stdlib.h>

#include "fabricd/sm/core/trap.h"
#include "libfabmgr/mads/mads.h"

#define CHECKS 256
#define CHECKS_A_SOURCE 8
/* time in us after which a read without an answer is repeated */
#define AGAIN_US 1000000u
#define READS_MOST 5

struct check {
    struct sm *sm;
    /* busy: this entry is in use. again: the last read got no answer, and will be repeated. */
    bool busy, again;
    uint8_t reads;
    uint16_t lid;
    uint8_t port_num;
    uint64_t node_guid;
    struct fab_path path; /* directed route of the request in flight */
    struct fab_notice notice;
};

struct sm_trap_forward {
    sm_notice_wanted *wanted;
    sm_notice *fn;
    void *ctx;
    uint64_t unconfirmed; /* number of notices that were not passed on (sm_trap_unconfirmed) */
    struct loop_timer *timer;
    struct check check[CHECKS];
};

static void end(struct check *c, bool confirmed)
{
    struct sm_trap_forward *x = c->sm->core->forward;
    c->busy = false;
    if (confirmed && x->fn && sm_is_master(c->sm))
        x->fn(x->ctx, &c->notice);
    else
        x->unconfirmed++;
}

static void on_port_info(void *ctx, uint64_t tag, const struct fab_mads_answer *a)
{
    struct check *c = ctx;
    struct sm_trap_forward *x = c->sm->core->forward;
    struct fab_port_info info;
    (void)tag;
    if (a->status == FAB_E_TIMEOUT && c->reads < READS_MOST) {
        c->again = true;
        if (!loop_timer_pending(x->timer))
            loop_timer_set(x->timer, AGAIN_US);
        return;
    }
    end(c, a->status == FAB_OK &&
               fab_wire_attr_unpack(&fab_wire_attr_port_info, a->data, a->len, &info) == FAB_OK &&
               info.lid != 0 && c->lid >= info.lid && c->lid < info.lid + (1u << info.lmc));
}

/* Returns the directed route to the port in the present snapshot; NULL if there is none. */
static const struct fab_path *path_of(const struct check *c)
{
    const struct sm_model *m = &c->sm->model;
    const struct fab_fabric *f = m->fabric;
    uint32_t node = f ? fab_fabric_node_by_guid(f, c->node_guid) : FAB_NONE;
    return node != FAB_NONE && c->port_num <= f->nodes[node].num_ports
               ? sm_model_path(m, fab_fabric_port_id(f, node, c->port_num))
               : NULL;
}

static void read_device(struct check *c)
{
    struct sm *s = c->sm;
    const struct fab_path *path = path_of(c);
    if (path)
        c->path = *path;
    struct fab_mads_request req = {
        .mgmt_class = FAB_CLASS_SMP_DIRECTED,
        .method = FAB_METHOD_GET,
        .attr_id = FAB_ATTR_PORT_INFO,
        .attr_mod = c->port_num,
        .dlid = 0xffff,
        .path = &c->path,
        .done = on_port_info,
        .ctx = c,
    };
    sm_m_key_fill(s, &req);
    c->again = false;
    c->reads++;
    if (path && fab_mads_submit(s->mads, &req) == FAB_OK)
        agent_pump(s->agent);
    else
        end(c, false);
}

static void on_timer(void *ctx)
{
    struct sm_trap_forward *x = ctx;
    for (uint32_t i = 0; i < CHECKS; i++)
        if (x->check[i].busy && x->check[i].again)
            read_device(&x->check[i]);
}

static struct check *free_check(struct sm_trap_forward *x, uint16_t lid)
{
    struct check *found = NULL;
    uint32_t same = 0;
    for (uint32_t i = 0; i < CHECKS; i++) {
        same += x->check[i].busy && x->check[i].lid == lid;
        if (!x->check[i].busy)
            found = &x->check[i];
    }
    return same < CHECKS_A_SOURCE ? found : NULL;
}

void sm_trap_forward(struct sm *s, const struct sm_trap *t)
{
    struct sm_trap_forward *x = s->core->forward;
    if (!x->fn || !x->wanted(x->ctx))
        return;
    struct check *c = free_check(x, t->slid);
    if (!c) {
        x->unconfirmed++;
        return;
    }
    *c = (struct check){.sm = s,
                        .busy = true,
                        .lid = t->slid,
                        .port_num = fab_fabric_port(s->model.view->fabric, t->port)->num,
                        .node_guid = t->guid,
                        .notice = t->notice};
    read_device(c);
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
    struct sm_trap_forward *x = s->core->forward = calloc(1, sizeof(*x));
    if (!x)
        return FAB_E_NOMEM;
    x->timer = loop_timer_new(s->in.loop, on_timer, x);
    return x->timer ? FAB_OK : FAB_E_NOMEM;
}

void sm_trap_forward_fini(struct sm *s)
{
    if (!s->core->forward)
        return;
    loop_timer_free(s->core->forward->timer);
    free(s->core->forward);
}
