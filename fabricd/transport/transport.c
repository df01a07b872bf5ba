/* What all transports share. */
#include "fabricd/transport/transport.h"

void transport_on_receive(struct transport *t, transport_receive *fn, void *ctx)
{
    t->receive = fn;
    t->receive_ctx = ctx;
}

void transport_close(struct transport *t)
{
    if (t)
        t->ops->close(t);
}
