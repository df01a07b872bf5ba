/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts values of the manager to messages of the gRPC API. */
#ifndef FABRICD_RPC_CONVERT_H
#define FABRICD_RPC_CONVERT_H

#include "fabric/v1/contingency.pb-c.h"
#include "fabric/v1/event.pb-c.h"
#include "fabric/v1/link.pb-c.h"
#include "fabric/v1/node.pb-c.h"
#include "fabric/v1/port.pb-c.h"
#include "fabric/v1/reroute.pb-c.h"
#include "fabric/v1/route.pb-c.h"
#include "fabric/v1/status.pb-c.h"
#include "fabricd/base/bus.h"
#include "fabricd/rpc/answer.h"
#include "fabricd/sm/sm.h"
#include "libfabmgr/view/view.h"

/* The next functions convert objects of the view to messages. The arguments `node` and `port` are
 * ids in the fabric of the view. If memory ran out, a function that converts returns NULL and marks
 * the answer as failed. convert_rate also returns NULL if the link is not up, and convert_time if
 * the time is negative. */
/* Returns the base LID of a port; 0: it has none yet. */
uint32_t lid_of_port(const struct fab_view *v, uint32_t port);
Fabric__V1__Node *convert_node(struct answer *a, const struct fab_view *v, uint32_t node);
Fabric__V1__Port *convert_port(struct answer *a, const struct fab_view *v, uint32_t port);
Fabric__V1__PortRef *convert_port_ref(struct answer *a, const struct fab_view *v, uint32_t port);
Fabric__V1__LinkRate *convert_rate(struct answer *a, const struct fab_port_info *info);
Fabric__V1__Link *convert_link(struct answer *a, const struct fab_view *v, uint32_t port);
/* Converts an LFT entry. The message also names the port that owns the LID. */
Fabric__V1__ForwardingEntry *convert_entry(struct answer *a, const struct fab_view *v, uint32_t lid,
                                           uint8_t out_port);
Fabric__V1__Verdict *convert_verdict(struct answer *a, const struct fab_view *v,
                                     const struct fab_verdict *verdict);
/* Converts the state of the manager. v == NULL: no view is published yet. `census`: the counts of
 * nodes and links in the fabric of the view. */
Fabric__V1__Status *convert_status(struct answer *a, const struct sm_status *s,
                                   const struct sm_unresponsive *unresponsive,
                                   uint32_t unresponsive_count, const struct fab_view *v,
                                   const struct fab_census *census);
Fabric__V1__WholeProof *convert_proof(struct answer *a, const struct sm_proof *p);
Google__Protobuf__Duration *convert_duration(struct answer *a, uint64_t us);
Fabric__V1__Event *convert_event(struct answer *a, const struct event *e);
/* Returns the time in microseconds; if the time is missing or out of range, returns `otherwise`. */
int64_t read_time(const Google__Protobuf__Timestamp *t, int64_t otherwise);
Google__Protobuf__Timestamp *convert_time(struct answer *a, int64_t unix_us);
Fabric__V1__FlappingLink *convert_flapping(struct answer *a, const struct sm_flapping *f);
/* Converts a port, which need not be in the view. `place` is its name, such as "leaf-1/12"; the
 * part before the slash is the name of its node. */
Fabric__V1__PortRef *convert_place(struct answer *a, uint64_t guid, uint8_t port,
                                   const char *place);
Fabric__V1__Reroute *convert_reroute(struct answer *a, const struct reroute *r);

#endif
