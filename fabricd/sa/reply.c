/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends answers. While the transport is busy, answers wait in a ring, in order. If the ring is
 * full, the answer is dropped; the requester repeats its request after its timeout.
 */
#include <string.h>

#include "fabricd/sa/private.h"
#include "libfabmgr/base/status.h"

#define QP1_QKEY 0x80010000u
#define RETRY_US 500

static void keep(struct sa *s, const struct transport_mad *out)
{
    if (s->out_count == SA_OUT) {
        s->stats.dropped++;
        return;
    }
    s->out[(s->out_first + s->out_count++) % SA_OUT] = *out;
    if (!loop_timer_pending(s->retry))
        loop_timer_set(s->retry, RETRY_US);
}

void sa_flush(void *ctx)
{
    struct sa *s = ctx;
    while (s->out_count > 0 &&
           transport_send(s->in.transport, &s->out[s->out_first]) != FAB_E_BUSY) {
        s->out_first = (s->out_first + 1) % SA_OUT;
        s->out_count--;
    }
    if (s->out_count > 0)
        loop_timer_set(s->retry, RETRY_US);
}

void sa_put(struct sa *s, const struct transport_mad *out)
{
    if (s->out_count > 0 || transport_send(s->in.transport, out) == FAB_E_BUSY)
        keep(s, out);
}

void sa_send(struct sa *s, const struct transport_mad *to, const uint8_t mad[FAB_MAD_SIZE])
{
    sa_send_len(s, to, mad, FAB_MAD_SIZE);
}

void sa_send_len(struct sa *s, const struct transport_mad *to, const uint8_t *mad, size_t len)
{
    struct transport_mad out = {
        .addr = {.dlid = to->addr.slid, .sl = to->addr.sl, .qpn = to->addr.qpn, .qkey = QP1_QKEY},
        .qp = 1,
        .len = (uint16_t)len};
    memcpy(out.bytes, mad, len);
    sa_put(s, &out);
}

void sa_refuse(struct sa *s, const struct transport_mad *request, uint16_t status)
{
    uint8_t answer[FAB_MAD_SIZE];
    fab_sa_answer_header(request->bytes, status, 0, answer);
    memcpy(answer + FAB_SA_DATA, request->bytes + FAB_SA_DATA, FAB_SA_DATA_LEN);
    s->stats.answered++;
    s->stats.refused++;
    s->stats.busy += status == FAB_SMP_BUSY;
    sa_send(s, request, answer);
}
