/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulated fabric as a transport. The simulator answers at once, but the transport delivers
 * the answer in the next iteration of the loop, as a device would. So `send` never calls a
 * receiver.
 *
 * There are two batches: `gathering` collects answers and traps, while the MADs of `leaving` are
 * passed to the receivers. When all MADs of `leaving` have been passed on, the two change roles.
 * Each iteration of the loop passes on at most PART MADs, because all 1,024 answers of a full
 * window would take 15 to 20 ms. If the simulated fabric loses a MAD, the sender's timeout expires.
 *
 * The simulator's time is the loop's time, real or virtual. The transport sets the simulator's time
 * before each MAD. A timer fires when the simulator has work that is due (delayed answers, links in
 * training, repeated traps).
 *
 * A simulator has one outbox, so only one transport at a time may be open on it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/transport/transport.h"
#include "libfabmgr/base/status.h"

#define BATCH 2048
/* maximum number of MADs passed on in one iteration of the loop */
#define PART 256
#define WINDOW_MAX 1024
#define QP1_QKEY 0x80010000u

struct batch {
    struct transport_mad *mads; /* [BATCH] answers and traps */
    size_t count;
    size_t passed; /* number of MADs of this batch that were already passed to the receivers */
};
struct sim_transport {
    struct transport base;
    struct fab_sim *sim;
    struct loop_timer *timer;
    /* loop time in us at which the timer fires; only valid while the timer is set */
    uint64_t timer_at;
    /* loop time in us at which the time of the simulator is 0 */
    uint64_t epoch;
    uint32_t node;
    uint8_t port;
    struct batch gathering, leaving;
};

static bool is_subnet_management(const uint8_t *mad)
{
    return mad[1] == FAB_CLASS_SMP_LID || mad[1] == FAB_CLASS_SMP_DIRECTED;
}

/* Sets the timer to fire at time `at` (loop time in us), unless the timer fires earlier anyway. */
static void ring_at(struct sim_transport *t, uint64_t at)
{
    uint64_t now = clock_now_us();
    if (loop_timer_pending(t->timer) && t->timer_at <= at)
        return;
    t->timer_at = at;
    loop_timer_set(t->timer, at > now ? at - now : 0);
}

static void ring_when_due(struct sim_transport *t)
{
    uint64_t due = fab_sim_deadline(t->sim);
    if (due != UINT64_MAX)
        ring_at(t, t->epoch + due);
}

static void tell_time(struct sim_transport *t)
{
    fab_sim_advance(t->sim, clock_now_us() - t->epoch);
}

/* Returns the next free entry of the batch; NULL: the batch is full. */
static struct transport_mad *gather(struct sim_transport *t)
{
    struct batch *b = &t->gathering;
    if (b->count == BATCH)
        return NULL;
    struct transport_mad *m = &b->mads[b->count++];
    m->addr = (struct fab_mad_addr){0};
    m->failed = false;
    m->len = FAB_MAD_SIZE;
    return m;
}

/* Takes MADs for this transport's port from the simulator's outbox while the batch has room.
 * Discards MADs for other ports. */
static void take_mail(struct sim_transport *t)
{
    struct fab_sim_delivery mail;
    while (t->gathering.count < BATCH && fab_sim_receive(t->sim, &mail)) {
        if (mail.node != t->node || mail.port != t->port)
            continue;
        struct transport_mad *m = gather(t);
        m->addr.slid = mail.slid;
        m->addr.dlid = mail.dlid;
        m->qp = !is_subnet_management(mail.mad);
        m->addr.qpn = m->qp;
        m->addr.qkey = m->qp ? QP1_QKEY : 0;
        memcpy(m->bytes, mail.mad, FAB_MAD_SIZE);
    }
}

/* Swaps the two batches, so that the collected MADs are passed to the receivers next. */
static void swap(struct sim_transport *t)
{
    take_mail(t);
    struct batch full = t->gathering;
    t->gathering = t->leaving;
    t->leaving = full;
    t->gathering.count = t->leaving.passed = 0;
}

static void deliver(void *ctx)
{
    struct sim_transport *t = ctx;
    tell_time(t);
    if (t->leaving.passed == t->leaving.count)
        swap(t);
    const struct transport_mad *next = t->leaving.mads + t->leaving.passed;
    size_t left = t->leaving.count - t->leaving.passed;
    size_t count = left < PART ? left : PART;
    t->leaving.passed += count;
    transport_hand_up(&t->base, next, count);
    /* After a full batch, MADs may be left in the simulator's outbox, so the timer fires again at
     * once. */
    if (left > count || t->gathering.count > 0 || t->leaving.count == BATCH)
        ring_at(t, 0);
    ring_when_due(t);
}

static int sim_send(struct transport *base, const struct transport_mad *mad)
{
    struct sim_transport *t = (struct sim_transport *)base;
    if (mad->len != FAB_MAD_SIZE)
        return FAB_E_INVAL;
    struct transport_mad *m = gather(t);
    if (m == NULL)
        return FAB_E_BUSY;
    tell_time(t);
    int got = fab_sim_send(t->sim, t->node, t->port, mad->addr.dlid, mad->bytes, m->bytes);
    m->qp = mad->qp;
    m->addr.slid = mad->addr.dlid;
    if (got <= 0)
        t->gathering.count--;
    else
        ring_at(t, 0);
    ring_when_due(t);
    return got < 0 ? got : FAB_OK;
}

static int sim_set_is_sm(struct transport *base, bool is_sm)
{
    struct sim_transport *t = (struct sim_transport *)base;
    int status = fab_sim_attach(t->sim, t->node, t->port, is_sm);
    ring_at(t, 0); /* The change of IsSM may have caused a trap; the timer delivers it at once. */
    return status;
}

static void sim_free(struct sim_transport *t)
{
    loop_timer_free(t->timer);
    free(t->gathering.mads);
    free(t->leaving.mads);
    free(t);
}

static void sim_close(struct transport *base)
{
    struct sim_transport *t = (struct sim_transport *)base;
    fab_sim_detach(t->sim, t->node, t->port);
    sim_free(t);
}

void transport_sim_tell_time(struct transport *base)
{
    tell_time((struct sim_transport *)base);
}

void transport_sim_kick(struct transport *base)
{
    struct sim_transport *t = (struct sim_transport *)base;
    ring_at(t, 0);
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Finds the port of `node` to which the manager is attached: port 0 of a switch; in an adapter or
 * router, the first port that has a link. Returns false if `node` is an adapter or router without a
 * link. */
static bool find_port(const struct fab_fabric *f, uint32_t node, uint8_t *ret_port)
{
    if (fab_fabric_node_is_switch(f, node)) {
        *ret_port = 0;
        return true;
    }
    for (unsigned num = 1; num <= f->nodes[node].num_ports; num++) {
        if (fab_fabric_port(f, fab_fabric_port_id(f, node, (uint8_t)num))->peer != FAB_NONE) {
            *ret_port = (uint8_t)num;
            return true;
        }
    }
    return false;
}

/* Finds the first adapter with a link. If there is none, finds the first switch. Returns false if
 * there is neither. */
static bool find_first(const struct fab_fabric *f, uint32_t *ret_node, uint8_t *ret_port)
{
    for (uint32_t node = f->switch_count; node < f->node_count; node++) {
        if (f->nodes[node].type == FAB_NODE_CA && find_port(f, node, ret_port)) {
            *ret_node = node;
            return true;
        }
    }
    *ret_node = 0;
    return f->switch_count > 0 && find_port(f, 0, ret_port);
}

static int find_place(const struct fab_sim *sim, const char *at, uint32_t *ret_node,
                      uint8_t *ret_port, char *why, size_t why_len)
{
    const struct fab_fabric *f = fab_sim_fabric(sim);
    if (at == NULL || *at == '\0') {
        if (find_first(f, ret_node, ret_port))
            return FAB_OK;
        snprintf(why, why_len, "the simulated fabric has no node with a link for the manager");
        return FAB_E_NOT_FOUND;
    }
    if (fab_sim_find(sim, at, ret_node) == FAB_OK && find_port(f, *ret_node, ret_port))
        return FAB_OK;
    snprintf(why, why_len, "the simulated fabric has no node \"%s\" with a link", at);
    return FAB_E_NOT_FOUND;
}

static const struct transport_ops sim_ops = {
    .send = sim_send, .set_is_sm = sim_set_is_sm, .close = sim_close};

static void describe(struct sim_transport *t)
{
    const struct fab_fabric *f = fab_sim_fabric(t->sim);
    uint64_t guid = fab_fabric_port(f, fab_fabric_port_id(f, t->node, t->port))->guid;
    t->base.ops = &sim_ops;
    t->base.window_max = WINDOW_MAX;
    t->base.port_guid = guid != 0 ? guid : f->nodes[t->node].guid;
    snprintf(t->base.name, sizeof t->base.name, "sim:%.40s:%u", f->nodes[t->node].desc,
             (unsigned)t->port);
}

/* Returns the number of nodes that a manager at node `self` can reach. Only switches forward
 * packets. */
static uint32_t count_reached(const struct fab_fabric *f, uint32_t self, bool *seen,
                              uint32_t *queue)
{
    uint32_t head = 0, tail = 0;
    seen[self] = true;
    queue[tail++] = self;
    while (head < tail) {
        uint32_t node = queue[head++];
        for (uint32_t i = 0; i <= f->nodes[node].num_ports; i++) {
            uint32_t port = fab_fabric_port_id(f, node, (uint8_t)i);
            uint32_t far =
                fab_fabric_port(f, port)->peer != FAB_NONE ? fab_fabric_peer_node(f, port) : node;
            if (seen[far] || (node != self && !fab_fabric_node_is_switch(f, node)))
                continue;
            seen[far] = true;
            queue[tail++] = far;
        }
    }
    return tail;
}

/* Logs how many nodes of the simulated fabric the manager cannot manage, because no path leads
 * to them. */
static void tell_islands(const struct sim_transport *t)
{
    const struct fab_fabric *f = fab_sim_fabric(t->sim);
    bool *seen = calloc(f->node_count, sizeof *seen);
    uint32_t *queue = calloc(f->node_count, sizeof *queue);
    uint32_t reached = seen && queue ? count_reached(f, t->node, seen, queue) : f->node_count;
    if (reached < f->node_count)
        log_notice("sim",
                   "%u of the %u nodes are not managed: no link leads to them from %s (--sim-at "
                   "chooses another node)",
                   f->node_count - reached, f->node_count, t->base.name);
    free(seen);
    free(queue);
}

int transport_sim_open(struct loop *l, struct fab_sim *sim, const char *at, struct transport **ret,
                       char *why, size_t why_len)
{
    struct sim_transport *t = calloc(1, sizeof *t);
    int status = FAB_E_NOMEM;
    if (t == NULL)
        goto out;
    t->sim = sim;
    t->epoch = clock_now_us() - fab_sim_now(sim);
    status = find_place(sim, at, &t->node, &t->port, why, why_len);
    if (status != FAB_OK)
        goto out;
    status = FAB_E_NOMEM;
    t->gathering.mads = calloc(BATCH, sizeof *t->gathering.mads);
    t->leaving.mads = calloc(BATCH, sizeof *t->leaving.mads);
    t->timer = loop_timer_new(l, deliver, t);
    if (t->gathering.mads == NULL || t->leaving.mads == NULL || t->timer == NULL)
        goto out;
    describe(t);
    status = fab_sim_attach(sim, t->node, t->port, false);
    ring_when_due(t);
    if (status != FAB_OK)
        goto out;
    tell_islands(t);
    *ret = &t->base;
    return FAB_OK;
out:
    if (status == FAB_E_NOMEM)
        snprintf(why, why_len, "out of memory");
    if (t != NULL)
        sim_free(t);
    return status;
}
