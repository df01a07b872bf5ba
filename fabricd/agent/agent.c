/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The agent passes MADs between a MAD session (libfabmgr/mads: requests, windows, retries) and a
 * transport. It owns the session, one timer, and at most one MAD that waits because the transport
 * was busy (`held`). It allocates no memory while it runs.
 *
 * The agent passes all MADs of an incoming batch to the session before it takes further requests
 * from the session. The agent changes a timer that is set only if it would fire too late. A timer
 * that fires before the next deadline of the session does no harm: the agent only sets it again.
 */
#include "fabricd/agent/agent.h"

#include <stdlib.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "libfabmgr/base/status.h"

/* Time in us after which the agent tries again to send a MAD if the transport was busy. If a MAD
 * arrives earlier, the agent tries again at once. */
#define BUSY_RETRY_US 1000

struct agent {
    struct loop *loop;
    struct transport *transport;
    struct fab_mads *mads;
    struct loop_timer *timer;
    /*
     * time in us, on the manager's clock, at which the timer fires; valid only if the timer is set
     */
    uint64_t timer_at;
    agent_unsolicited *unsolicited;
    void *ctx;
    /* the agent's management class of general services; 0: the agent is for SMPs */
    uint8_t mgmt_class;
    struct transport_mad out; /* the next MAD to be sent */
    bool held;                /* `out` has not been sent yet, because the transport was busy */
    bool pumping;
    /* true: the transport failed to send the last MAD, and this was logged */
    bool io_failed;
};

static void arm_at(struct agent *a, uint64_t now, uint64_t at)
{
    if (at == UINT64_MAX || (loop_timer_pending(a->timer) && a->timer_at <= at))
        return;
    a->timer_at = at;
    loop_timer_set(a->timer, at > now ? at - now : 0);
}

/* Passes the MAD in a->out to the transport. Returns false if no further MAD can be sent now,
 * because the transport is busy or has failed. If the transport refuses the MAD (DENIED), ends the
 * request and returns true. */
static bool send_out(struct agent *a)
{
    int r = transport_send(a->transport, &a->out);
    a->held = r == FAB_E_BUSY;
    if (r == FAB_E_IO && !a->io_failed)
        log_error(a->transport->name, "sending failed; requests will time out and be retried");
    a->io_failed = r == FAB_E_IO;
    if (r == FAB_E_DENIED)
        fab_mads_refuse(a->mads, a->out.bytes);
    return r == FAB_OK || r == FAB_E_DENIED;
}

void agent_pump(struct agent *a)
{
    if (a->pumping)
        return;
    a->pumping = true;
    uint64_t now = clock_now_us();
    bool going = !a->held || send_out(a);
    while (going && fab_mads_output(a->mads, now, a->out.bytes, &a->out.addr))
        going = send_out(a);
    arm_at(a, now, a->held ? now + BUSY_RETRY_US : UINT64_MAX);
    arm_at(a, now, fab_mads_deadline(a->mads));
    a->pumping = false;
}

static void on_timer(void *ctx)
{
    struct agent *a = ctx;
    loop_at(a->loop, "timeouts");
    fab_mads_expire(a->mads, clock_now_us());
    agent_pump(a);
}

static void on_receive(void *ctx, const struct transport_mad *mads, size_t count)
{
    struct agent *a = ctx;
    uint64_t now = clock_now_us();
    loop_at(a->loop, "answers");
    for (size_t i = 0; i < count; i++) {
        const struct transport_mad *m = &mads[i];
        bool ours = m->qp == a->out.qp &&
                    fab_mads_input(a->mads, now, m->addr.slid, m->bytes, m->len, m->failed);
        if (!ours && !m->failed && a->unsolicited)
            a->unsolicited(a->ctx, m);
    }
    agent_pump(a);
}

/* Returns a new session with a random key. The session derives its transaction IDs from this key,
 * so that no host can guess them. A replay has a different key from the recorded run, and therefore
 * compares MADs without their transaction IDs. Returns NULL if there is no memory, or if the kernel
 * has no random numbers. */
static struct fab_mads *new_session(const struct loop *l, const struct fab_mads_config *config)
{
    struct fab_mads_config own = *config;
    return loop_random(l, own.tid_key, sizeof(own.tid_key)) ? fab_mads_new(&own) : NULL;
}

static int make(struct loop *l, struct transport *t, const struct fab_mads_config *config,
                agent_unsolicited *fn, void *ctx, struct agent **ret)
{
    struct agent *a = calloc(1, sizeof(*a));
    if (!a)
        return FAB_E_NOMEM;
    a->loop = l;
    a->transport = t;
    a->unsolicited = fn;
    a->ctx = ctx;
    a->out.len = FAB_MAD_SIZE;
    a->mads = new_session(l, config);
    a->timer = loop_timer_new(l, on_timer, a);
    if (!a->mads || !a->timer) {
        agent_free(a);
        return FAB_E_NOMEM;
    }
    *ret = a;
    return FAB_OK;
}

int agent_new(struct loop *l, struct transport *t, const struct fab_mads_config *config,
              agent_unsolicited *fn, void *ctx, struct agent **ret)
{
    int r = make(l, t, config, fn, ctx, ret);
    if (r == FAB_OK)
        transport_on_receive(t, on_receive, *ret);
    return r;
}

int agent_new_class(struct loop *l, struct transport *t, uint8_t mgmt_class,
                    const struct fab_mads_config *config, agent_unsolicited *fn, void *ctx,
                    struct agent **ret)
{
    struct agent *a;
    int r = make(l, t, config, fn, ctx, &a);
    if (r != FAB_OK)
        return r;
    a->mgmt_class = mgmt_class;
    a->out.qp = 1;
    r = transport_on_class(t, mgmt_class, on_receive, a);
    if (r == FAB_OK)
        *ret = a;
    else
        agent_free(a);
    return r;
}

void agent_free(struct agent *a)
{
    if (!a)
        return;
    if (a->mgmt_class)
        transport_on_class(a->transport, a->mgmt_class, NULL, NULL);
    else if (a->mads && a->timer)
        transport_on_receive(a->transport, NULL, NULL);
    loop_timer_free(a->timer);
    fab_mads_free(a->mads);
    free(a);
}

struct fab_mads *agent_mads(struct agent *a)
{
    return a->mads;
}

int agent_reply(struct agent *a, const struct transport_mad *to, const uint8_t mad[FAB_MAD_SIZE])
{
    struct transport_mad reply = {.qp = to->qp, .len = FAB_MAD_SIZE};
    bool directed = mad[1] == FAB_CLASS_SMP_DIRECTED;
    reply.addr.dlid = directed ? 0xffff : to->addr.slid;
    reply.addr.sl = to->addr.sl;
    reply.addr.qpn = to->addr.qpn;
    reply.addr.qkey = to->addr.qkey;
    for (size_t i = 0; i < FAB_MAD_SIZE; i++)
        reply.bytes[i] = mad[i];
    return transport_send(a->transport, &reply);
}
