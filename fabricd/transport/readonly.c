/* SPDX-License-Identifier: BSD-3-Clause */
/* A transport that passes only Get requests to another transport, and drops everything else, so
 * that nothing in the fabric can change. It does not set IsSM at the port. */
#include <stdlib.h>

#include "fabricd/base/log.h"
#include "fabricd/transport/transport.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/wire/wire.h"

#define METHOD_AT 3 /* offset of the method in a MAD, IBA 13.4.2 */

struct readonly {
    struct transport base;
    struct transport *to; /* the owner of this struct closes it */
};

static int readonly_send(struct transport *base, const struct transport_mad *mad)
{
    struct readonly *r = (struct readonly *)base;
    if (mad->len > METHOD_AT && mad->bytes[METHOD_AT] == FAB_METHOD_GET)
        return transport_send(r->to, mad);
    log_error("transport", "a MAD that is no Get was not sent");
    return FAB_OK;
}

static void readonly_receive(void *ctx, const struct transport_mad *mads, size_t count)
{
    transport_hand_up(&((struct readonly *)ctx)->base, mads, count);
}

static int readonly_set_is_sm(struct transport *base, bool is_sm)
{
    (void)base;
    (void)is_sm;
    return FAB_OK;
}

static void readonly_close(struct transport *base)
{
    struct readonly *r = (struct readonly *)base;
    transport_on_receive(r->to, NULL, NULL);
    free(r);
}

static const struct transport_ops readonly_ops = {
    .send = readonly_send, .set_is_sm = readonly_set_is_sm, .close = readonly_close};

int transport_readonly_open(struct transport *to, struct transport **ret)
{
    struct readonly *r = calloc(1, sizeof(*r));
    if (!r)
        return FAB_E_NOMEM;
    r->base = *to;
    r->base.ops = &readonly_ops;
    r->base.receive = NULL;
    r->to = to;
    transport_on_receive(to, readonly_receive, r);
    *ret = &r->base;
    return FAB_OK;
}
