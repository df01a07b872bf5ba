/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements ListHosts, GetHost and ListRacks.
 *
 * A page token of ListHosts identifies the last host of the page. It has the GUID of the host's
 * first adapter, and the index of the host in the list. If the adapter has left the fabric, the
 * next page begins after this index.
 */
#include "fabricd/rpc/server.h"

#include <stdlib.h>
#include <string.h>

#include "fabric/v1/host.pb-c.h"
#include "fabricd/rpc/convert.h"
#include "fabricd/rpc/hosts.h"
#include "libfabmgr/base/glob.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/condition.h"

static Fabric__V1__HostPort *convert_host_port(struct answer *a, const struct fab_view *v,
                                               uint32_t port)
{
    const struct fab_port *p = fab_fabric_port(v->fabric, port);
    Fabric__V1__HostPort *m = ANSWER_NEW(a, Fabric__V1__HostPort, fabric__v1__host_port);
    if (m == NULL)
        return NULL;
    m->port_number = p->num;
    m->lid = lid_of_port(v, port);
    m->state = (Fabric__V1__PortState)p->info.port_state;
    m->rate = convert_rate(a, &p->info);
    m->degraded = fab_fabric_link_is_degraded(v->fabric, port);
    m->peer = p->peer != FAB_NONE ? convert_port_ref(a, v, p->peer) : NULL;
    return m;
}

static Fabric__V1__HostAdapter *convert_adapter(struct answer *a, const struct fab_view *v,
                                                const struct fab_host_adapter *adapter)
{
    const struct fab_node *n = &v->fabric->nodes[adapter->node];
    Fabric__V1__HostAdapter *m = ANSWER_NEW(a, Fabric__V1__HostAdapter, fabric__v1__host_adapter);
    if (m == NULL)
        return NULL;
    m->guid = answer_guid(a, n->guid);
    m->name = answer_text(a, adapter->name);
    m->node_name = answer_text(a, n->name);
    m->rail = adapter->rail;
    m->ports = answer_alloc(a, n->num_ports, sizeof *m->ports);
    for (uint32_t i = 1; m->ports != NULL && i <= n->num_ports; i++)
        if (fab_fabric_port(v->fabric, n->first_port + i)->present)
            m->ports[m->n_ports++] = convert_host_port(a, v, n->first_port + i);
    return m;
}

static Fabric__V1__Host *convert_host(struct answer *a, const struct fab_view *v,
                                      const struct fab_hosts *h, uint32_t i)
{
    const struct fab_host *host = &h->hosts[i];
    Fabric__V1__Host *m = ANSWER_NEW(a, Fabric__V1__Host, fabric__v1__host);
    if (m == NULL)
        return NULL;
    m->name = answer_text(a, host->name);
    m->location = convert_location(a, host->location);
    m->adapters = answer_alloc(a, host->count, sizeof *m->adapters);
    for (uint32_t k = 0; m->adapters != NULL && k < host->count; k++)
        m->adapters[m->n_adapters++] = convert_adapter(a, v, &h->adapters[host->first + k]);
    return m;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Finds a host by its name, or by the name, GUID or LID of one of its adapters. On an error,
 * finishes the call. */
static int find_host(struct call *c, const struct fab_view *v, const struct fab_hosts *h,
                     const char *what, uint32_t *ret_host)
{
    uint32_t node;
    *ret_host = fab_hosts_by_name(h, what);
    if (*ret_host != FAB_NONE)
        return FAB_OK;
    int rc = find_node(c, v, what, &node);
    if (rc != FAB_OK)
        return rc;
    *ret_host = h->host_of[node];
    if (*ret_host != FAB_NONE)
        return FAB_OK;
    call_finish(c, FAB_GRPC_INVALID_ARGUMENT, "%s is not the adapter of a host",
                v->fabric->nodes[node].name);
    return FAB_E_INVAL;
}

static bool name_matches(const struct fab_hosts *h, uint32_t host, const char *glob)
{
    const char *name = h->hosts[host].name;
    return fab_base_glob_matches(glob, strlen(glob), name, strlen(name));
}

/* Finds the hosts that a list shows. If `what` names one host, *ret_only is this host. Otherwise
 * *ret_only is FAB_NONE: the list shows the hosts whose names match the pattern `what`, or all
 * hosts if `what` is "". On an error, finishes the call. */
static int find_hosts(struct call *c, const struct fab_view *v, const struct fab_hosts *h,
                      const char *what, uint32_t *ret_only)
{
    uint32_t i = 0;
    *ret_only = FAB_NONE;
    if (what[0] == '\0')
        return FAB_OK;
    if (strlen(what) > FAB_FILTER_TEXT_MAX || !fab_base_is_glob(what))
        return find_host(c, v, h, what, ret_only);
    while (i < h->count && !name_matches(h, i, what))
        i++;
    if (i < h->count)
        return FAB_OK;
    call_finish(c, FAB_GRPC_NOT_FOUND, "no host matches \"%.100s\"", what);
    return FAB_E_NOT_FOUND;
}

static bool is_wanted(const struct fab_hosts *h, uint32_t host, const char *what, uint32_t only)
{
    if (what[0] == '\0' || only == host)
        return true;
    return only == FAB_NONE && name_matches(h, host, what);
}

/* ---- ListHosts ------------------------------------------------------------------------------- */

static uint32_t first_host(const struct fab_hosts *h, const struct fab_view *v,
                           const struct page *page)
{
    if (!page->given)
        return 0;
    uint32_t node = fab_fabric_node_by_guid(v->fabric, page->key.number);
    uint32_t last = node != FAB_NONE ? h->host_of[node] : FAB_NONE;
    return (last != FAB_NONE ? last : page->key.port) + 1;
}

static void fill_hosts(struct answer *a, const struct fab_view *v, const struct fab_hosts *h,
                       const Fabric__V1__ListHostsRequest *q, uint32_t only,
                       const struct page *page, Fabric__V1__ListHostsResponse *m)
{
    uint32_t i;
    m->hosts = answer_alloc(a, page->want, sizeof *m->hosts);
    for (i = first_host(h, v, page); m->hosts != NULL && i < h->count; i++) {
        if (!is_rack(h->hosts[i].location->rack, q->rack) || !is_wanted(h, i, q->name, only))
            continue;
        if (m->n_hosts == page->want)
            break;
        m->hosts[m->n_hosts++] = convert_host(a, v, h, i);
    }
    if (i < h->count && i > 0) {
        uint32_t node = h->adapters[h->hosts[i - 1].first].node;
        const struct page_key last = {
            .list = 'S', .number = v->fabric->nodes[node].guid, .port = i - 1};
        m->next_page_token = page_token(a, &last);
    }
}

void list_hosts(struct call *c, const void *request)
{
    const Fabric__V1__ListHostsRequest *q = request;
    Fabric__V1__ListHostsResponse m = FABRIC__V1__LIST_HOSTS_RESPONSE__INIT;
    struct answer a = {0};
    struct page page;
    struct fab_view *v = need_view(c);
    if (v == NULL || !read_page(c, 'S', q->page_token, q->page_size, &page))
        return;
    const struct fab_hosts *h = need_hosts(c, v);
    uint32_t only;
    if (h == NULL || !need_rack(c, h, v, q->rack) || find_hosts(c, v, h, q->name, &only) != FAB_OK)
        return;
    m.generation = v->generation;
    fill_hosts(&a, v, h, q, only, &page, &m);
    answer_reply(&a, c, &m.base);
}

/* ---- GetHost --------------------------------------------------------------------------------- */

void get_host(struct call *c, const void *request)
{
    const Fabric__V1__GetHostRequest *q = request;
    Fabric__V1__GetHostResponse m = FABRIC__V1__GET_HOST_RESPONSE__INIT;
    struct answer a = {0};
    struct fab_view *v = need_view(c);
    const struct fab_hosts *h = v != NULL ? need_hosts(c, v) : NULL;
    uint32_t host;
    if (h == NULL || find_host(c, v, h, q->host, &host) != FAB_OK)
        return;
    m.host = convert_host(&a, v, h, host);
    answer_reply(&a, c, &m.base);
}

/* ---- ListRacks ------------------------------------------------------------------------------- */

static Fabric__V1__Rack *convert_rack(struct answer *a, const struct fab_rack *rack)
{
    Fabric__V1__Rack *m = ANSWER_NEW(a, Fabric__V1__Rack, fabric__v1__rack);
    if (m == NULL)
        return NULL;
    m->name = answer_text(a, rack->name);
    m->row = answer_text(a, rack->row);
    m->switch_count = rack->switches;
    m->host_count = rack->hosts;
    m->adapter_count = rack->adapters;
    return m;
}

void list_racks(struct call *c, const void *request)
{
    Fabric__V1__ListRacksResponse m = FABRIC__V1__LIST_RACKS_RESPONSE__INIT;
    struct answer a = {0};
    struct fab_rack *racks = NULL;
    uint32_t count = 0;
    struct fab_view *v = need_view(c);
    const struct fab_hosts *h = v != NULL ? need_hosts(c, v) : NULL;
    (void)request;
    if (h == NULL)
        return;
    if (fab_hosts_racks(v->fabric, v->policy.locations, h, &racks, &count) != FAB_OK)
        a.arena.failed = true;
    m.racks = answer_alloc(&a, count, sizeof *m.racks);
    m.without_rack_count = v->fabric->switch_count + h->count;
    for (uint32_t i = 0; m.racks != NULL && i < count; i++) {
        m.racks[m.n_racks++] = convert_rack(&a, &racks[i]);
        m.without_rack_count -= racks[i].switches + racks[i].hosts;
    }
    free(racks);
    answer_reply(&a, c, &m.base);
}
