/* SPDX-License-Identifier: BSD-3-Clause */
/* Collects the claims of ports to LIDs: the LID of the port's lease, and the LID that the device
 * reports. Also collects the leases of absent ports. Leases come from the manager's store, and the
 * other LIDs from devices. Both sources can have invalid LIDs, so this file checks them. */
#include "libfabmgr/address/claims.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"

static int by_guid(const void *a, const void *b)
{
    const struct fab_claim *x = a, *y = b;
    if (x->guid != y->guid)
        return x->guid < y->guid ? -1 : 1;
    return (x->port > y->port) - (x->port < y->port);
}

static int by_lease(const void *a, const void *b)
{
    const struct fab_lease *x = a, *y = b;
    if (x->port_guid != y->port_guid)
        return x->port_guid < y->port_guid ? -1 : 1;
    return (x->lid > y->lid) - (x->lid < y->lid);
}

/* Returns true if a port needs a LID: port 0 of a switch, an endport with a link, or the manager's
 * own port. */
static bool needs_lid(const struct fab_fabric *f, uint32_t port)
{
    if (!fab_fabric_port_has_lid(f, port))
        return false;
    return fab_fabric_node_is_switch(f, fab_fabric_port(f, port)->node) ||
           fab_fabric_port(f, port)->peer != FAB_NONE || port == f->self_port;
}

static struct fab_claim claim_of(const struct fab_address_input *in, uint32_t port,
                                 uint32_t max_lid)
{
    const struct fab_port *p = fab_fabric_port(in->fabric, port);
    bool is_switch = fab_fabric_node_is_switch(in->fabric, p->node);
    struct fab_claim c = {.port = port, .guid = p->guid, .lmc = in->policy->lmc};
    if (is_switch) {
        /* a base switch port 0 has only one LID (IBA 14.2.5.6, LMC) */
        c.lmc = 0;
        c.guid = p->guid != 0 ? p->guid : in->fabric->nodes[p->node].guid;
    }
    if (fab_address_lid_valid(p->info.lid, c.lmc, max_lid))
        c.carried = p->info.lid;
    return c;
}

/* Writes the LIDs of the leases into the claims. Claims and leases are sorted by GUID, so one pass
 * over both lists finds the claim for each lease. If a GUID has several leases, only the one with
 * the lowest LID counts. */
static void match_leases(struct fab_claims *c, const struct fab_lease *leases, size_t count,
                         uint32_t max_lid)
{
    uint32_t at = 0;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && leases[i].port_guid == leases[i - 1].port_guid)
            continue;
        while (at < c->count && c->by_guid[at].guid < leases[i].port_guid)
            at++;
        if (at == c->count || c->by_guid[at].guid != leases[i].port_guid)
            c->absent[c->absent_count++] = leases[i];
        else if (fab_address_lid_valid(leases[i].lid, c->by_guid[at].lmc, max_lid))
            c->by_guid[at].leased = leases[i].lid;
    }
}

int fab_address_claims_make(const struct fab_address_input *in, uint32_t max_lid,
                            struct fab_claims *ret)
{
    struct fab_claims c = {0};
    size_t leases = in->lease_count;
    struct fab_lease *sorted = calloc(leases + 1, sizeof(*sorted));
    c.absent = calloc(leases + 1, sizeof(*c.absent));
    c.by_guid = calloc((size_t)in->fabric->port_count + 1, sizeof(*c.by_guid));
    if (sorted == NULL || c.absent == NULL || c.by_guid == NULL) {
        free(sorted);
        fab_address_claims_fini(&c);
        return FAB_E_NOMEM;
    }
    for (uint32_t port = 0; port < in->fabric->port_count; port++) {
        if (needs_lid(in->fabric, port))
            c.by_guid[c.count++] = claim_of(in, port, max_lid);
    }
    qsort(c.by_guid, c.count, sizeof(*c.by_guid), by_guid);
    if (leases > 0)
        memcpy(sorted, in->leases, leases * sizeof(*sorted));
    qsort(sorted, leases, sizeof(*sorted), by_lease);
    match_leases(&c, sorted, leases, max_lid);
    free(sorted);
    *ret = c;
    return FAB_OK;
}

void fab_address_claims_fini(struct fab_claims *c)
{
    free(c->by_guid);
    free(c->absent);
    memset(c, 0, sizeof(*c));
}
