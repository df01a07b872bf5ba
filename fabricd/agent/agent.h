/* SPDX-License-Identifier: BSD-3-Clause */
/* An agent connects a MAD session (libfabmgr/mads) with a transport, a queue pair and the timers of
 * the loop. SMPs (directed-route and LID-routed, IBA 14.2) use QP0. General services (IBA chapter
 * 16) use QP1. Time-outs and retries of requests follow IBA 13.4.6. */
#ifndef FABRICD_AGENT_AGENT_H
#define FABRICD_AGENT_AGENT_H

#include "fabricd/loop/loop.h"
#include "fabricd/transport/transport.h"
#include "libfabmgr/mads/mads.h"

struct agent;
/* A function that receives the MADs that the session does not handle: requests of other nodes,
 * traps and reports, but no responses and no malformed MADs. An agent for one class gets only MADs
 * of this class. An agent for SMPs also gets every MAD that arrives at QP1, responses included,
 * unless the class of the MAD has a receiver of its own (transport_on_class). The function does not
 * get undelivered requests that the transport returns. */
typedef void agent_unsolicited(void *ctx, const struct transport_mad *mad);

/* Creates an agent for SMPs, at QP0. Returns NOMEM. */
int agent_new(struct loop *l, struct transport *t, const struct fab_mads_config *config,
              agent_unsolicited *fn, void *ctx, struct agent **ret);
/* Creates an agent for one class of general services, at QP1. Returns NOMEM, or LIMIT if there are
 * too many classes. */
int agent_new_class(struct loop *l, struct transport *t, uint8_t mgmt_class,
                    const struct fab_mads_config *config, agent_unsolicited *fn, void *ctx,
                    struct agent **ret);
void agent_free(struct agent *a);
struct fab_mads *agent_mads(struct agent *a);
/* Sends the MADs that the session permits now. Call this function after requests were submitted to
 * the session. */
void agent_pump(struct agent *a);
/* Sends the bytes of `mad` unchanged, as the answer to the MAD `to`. Returns the errors of
 * transport_send. If the transport is busy (BUSY), the agent does not send the answer later. */
int agent_reply(struct agent *a, const struct transport_mad *to, const uint8_t mad[FAB_MAD_SIZE]);

#endif
