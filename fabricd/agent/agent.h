/* SPDX-License-Identifier: BSD-3-Clause */
/* An agent: a mads session bound to a transport, a queue pair and the loop's timers. */
#ifndef FABRICD_AGENT_AGENT_H
#define FABRICD_AGENT_AGENT_H

#include "fabricd/loop/loop.h"
#include "fabricd/transport/transport.h"
#include "libfabmgr/mads/mads.h"

struct agent;
/* Requests, traps and reports that are not answers to us. */
typedef void agent_unsolicited(void *ctx, const struct transport_mad *mad);

int agent_new(struct loop *l, struct transport *t, const struct fab_mads_config *config,
              agent_unsolicited *fn, void *ctx, struct agent **ret);
/* Likewise for one class of general services, at QP1. */
int agent_new_class(struct loop *l, struct transport *t, uint8_t mgmt_class,
                    const struct fab_mads_config *config, agent_unsolicited *fn, void *ctx,
                    struct agent **ret);
void agent_free(struct agent *a);
struct fab_mads *agent_mads(struct agent *a);
/* After submitting or setting a source: put on the wire what may go now. */
void agent_pump(struct agent *a);
/* An answer to a request that came in: bytes are sent as they are. */
int agent_reply(struct agent *a, const struct transport_mad *to, const uint8_t mad[FAB_MAD_SIZE]);

#endif
