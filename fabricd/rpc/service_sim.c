/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements SimService, which causes faults in the simulated fabric of this process. All other
 * services change the fabric only through the subnet manager. The server offers SimService only if
 * the transport is the simulated fabric.
 */
#include "fabricd/rpc/server.h"

#include "fabric/v1/sim_service.pb-c.h"
#include "fabricd/rpc/hosts.h"
#include "fabricd/transport/transport.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/fault.h"
#include "libfabmgr/sim/sim.h"

typedef int fault(struct fab_sim *s, uint32_t node, uint8_t port);

/* Causes a fault at a port of the node, by a call of `fn`; number 0: at all ports of the node.
 * Returns NOT_FOUND if none of these ports has a cable. */
static int do_at(struct fab_sim *sim, fault *fn, uint32_t node, uint32_t number)
{
    int rc = FAB_E_NOT_FOUND;
    unsigned last = fab_sim_fabric(sim)->nodes[node].num_ports;
    if (number > last)
        return rc;
    if (number > 0)
        return fn(sim, node, (uint8_t)number);
    for (unsigned port = 1; port <= last; port++)
        if (fn(sim, node, (uint8_t)port) == FAB_OK)
            rc = FAB_OK;
    return rc;
}

/* Causes the fault at all nodes that the name of a host or rack selects. The nodes are those of the
 * simulated fabric, because a view lacks the nodes without a link. On an error, finishes the
 * call. */
static int do_at_several(struct call *c, fault *fn, const char *name, uint32_t number)
{
    const struct rpc_input *in = &call_rpc(c)->in;
    struct fab_view *now = sm_view(in->sm);
    const struct fab_view v = {.fabric = (struct fab_fabric *)(uintptr_t)fab_sim_fabric(in->sim),
                               .policy.locations = now != NULL ? now->policy.locations : NULL};
    struct fab_view_filter filter;
    struct fab_hosts hosts = {0};
    char why[200];
    uint32_t found = 0;
    int rc = fab_hosts_find(v.fabric, v.policy.locations, &hosts);
    if (rc == FAB_OK)
        rc = fab_view_filter_read(&filter, &v, &hosts, name, why, sizeof why);
    for (uint32_t n = 0; rc == FAB_OK && n < v.fabric->node_count; n++)
        if (fab_view_filter_node(&filter, n))
            found += do_at(in->sim, fn, n, number) == FAB_OK;
    if (rc != FAB_OK)
        call_finish(c, fab_grpc_code_of(FAB_E_NOT_FOUND), "the simulated fabric has no node \"%s\"",
                    name);
    else if (found == 0)
        call_finish(c, FAB_GRPC_NOT_FOUND, "there is no cable at %s/%u", name, number);
    fab_hosts_fini(&hosts);
    fab_view_unref(now);
    return rc != FAB_OK || found > 0 ? rc : FAB_E_NOT_FOUND;
}

/* Finds the node, and causes the fault. On an error, finishes the call. */
static int do_fault(struct call *c, fault *fn, const char *name, uint32_t number)
{
    const struct rpc_input *in = &call_rpc(c)->in;
    uint32_t node;
    int rc;
    transport_sim_tell_time(in->sim_transport);
    if (fab_sim_find(in->sim, name, &node) != FAB_OK) {
        rc = do_at_several(c, fn, name, number);
    } else {
        rc = do_at(in->sim, fn, node, number);
        if (rc < 0)
            call_finish(c, fab_grpc_code_of(rc), "there is no cable at %s/%u", name, number);
    }
    if (rc == FAB_OK)
        transport_sim_kick(in->sim_transport);
    return rc;
}

static void unlink_cable(struct call *c, const void *request)
{
    const Fabric__V1__UnlinkRequest *q = request;
    const Fabric__V1__UnlinkResponse m = FABRIC__V1__UNLINK_RESPONSE__INIT;
    call_audit_object(c, "%s/%u", q->node, q->port_number);
    if (do_fault(c, fab_sim_unlink, q->node, q->port_number) == FAB_OK)
        call_reply(c, &m.base);
}

static void relink_cable(struct call *c, const void *request)
{
    const Fabric__V1__RelinkRequest *q = request;
    const Fabric__V1__RelinkResponse m = FABRIC__V1__RELINK_RESPONSE__INIT;
    call_audit_object(c, "%s/%u", q->node, q->port_number);
    if (do_fault(c, fab_sim_relink, q->node, q->port_number) == FAB_OK)
        call_reply(c, &m.base);
}

static void degrade_link(struct call *c, const void *request)
{
    const Fabric__V1__DegradeRequest *q = request;
    const Fabric__V1__DegradeResponse m = FABRIC__V1__DEGRADE_RESPONSE__INIT;
    const struct rpc_input *in = &call_rpc(c)->in;
    const char *speed = q->speed[0] != '\0' ? q->speed : NULL;
    uint32_t node;
    call_audit_object(c, "%s/%u", q->node, q->port_number);
    int rc = fab_sim_find(in->sim, q->node, &node);
    if (rc < 0) {
        call_finish(c, fab_grpc_code_of(rc), "the simulated fabric has no node \"%s\"", q->node);
        return;
    }
    transport_sim_tell_time(in->sim_transport);
    rc = FAB_E_NOT_FOUND;
    if (q->port_number <= UINT8_MAX)
        rc = fab_sim_degrade(in->sim, node, (uint8_t)q->port_number, q->width, speed);
    if (rc == FAB_E_INVAL) {
        call_finish(c, fab_grpc_code_of(rc),
                    "width %u or speed \"%s\" is not valid: widths are 1, 2, 4, 8 and 12, speeds "
                    "are SDR, DDR, QDR, FDR, EDR, HDR, NDR and XDR",
                    q->width, q->speed);
    } else if (rc < 0) {
        call_finish(c, fab_grpc_code_of(rc), "there is no cable at %s/%u", q->node, q->port_number);
    } else {
        transport_sim_kick(in->sim_transport);
        call_reply(c, &m.base);
    }
}

static const struct method methods[] = {
    {.name = "Unlink",
     .request = &fabric__v1__unlink_request__descriptor,
     .handle = unlink_cable,
     .changes = true},
    {.name = "Relink",
     .request = &fabric__v1__relink_request__descriptor,
     .handle = relink_cable,
     .changes = true},
    {.name = "Degrade",
     .request = &fabric__v1__degrade_request__descriptor,
     .handle = degrade_link,
     .changes = true},
};
const struct service service_sim = {"fabric.v1.SimService", methods, 3};
