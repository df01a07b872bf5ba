/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that all transports share: they register the receivers of MADs and pass MADs to
 * them. */
#include "fabricd/transport/transport.h"

#include "libfabmgr/base/status.h"

#define AT_CLASS 1

void transport_on_receive(struct transport *t, transport_receive *fn, void *ctx)
{
    t->receive = fn;
    t->receive_ctx = ctx;
}

int transport_on_class(struct transport *t, uint8_t mgmt_class, transport_receive *fn, void *ctx)
{
    struct transport_taker *end = t->taker + TRANSPORT_TAKERS, *at = end;
    for (struct transport_taker *i = t->taker; i < end; i++)
        if (i->receive != NULL && i->mgmt_class == mgmt_class)
            at = i;
    for (struct transport_taker *i = t->taker; i < end && at == end; i++)
        if (i->receive == NULL)
            at = i;
    if (at == end)
        return fn != NULL ? FAB_E_LIMIT : FAB_OK;
    *at = (struct transport_taker){mgmt_class, fn, ctx};
    return FAB_OK;
}

void transport_on_send(struct transport *t, transport_admits *fn, void *ctx)
{
    t->admits = fn;
    t->admits_ctx = ctx;
}

void transport_on_lost(struct transport *t, transport_lost *fn, void *ctx)
{
    t->lost = fn;
    t->lost_ctx = ctx;
}

void transport_tell_lost(struct transport *t, const char *reason)
{
    transport_lost *fn = t->lost;
    t->lost = NULL;
    if (fn != NULL)
        fn(t->lost_ctx, reason);
}

static struct transport_taker taker_of(const struct transport *t, const struct transport_mad *mad)
{
    for (int i = 0; mad->qp != 0 && i < TRANSPORT_TAKERS; i++)
        if (t->taker[i].receive != NULL && t->taker[i].mgmt_class == mad->bytes[AT_CLASS])
            return t->taker[i];
    return (struct transport_taker){0, t->receive, t->receive_ctx};
}

void transport_hand_up(struct transport *t, const struct transport_mad *mads, size_t count)
{
    for (size_t from = 0, to; from < count; from = to) {
        struct transport_taker one = taker_of(t, &mads[from]);
        for (to = from + 1; to < count; to++) {
            struct transport_taker next = taker_of(t, &mads[to]);
            if (next.receive != one.receive || next.ctx != one.ctx)
                break;
        }
        if (one.receive != NULL)
            one.receive(one.ctx, mads + from, to - from);
    }
}

void transport_close(struct transport *t)
{
    if (t)
        t->ops->close(t);
}
