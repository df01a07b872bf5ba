/* SPDX-License-Identifier: BSD-3-Clause */
#include "fabricd/rpc/hosts.h"

#include "fabricd/rpc/server.h"
#include "libfabmgr/base/status.h"

const struct fab_hosts *hosts_of_view(struct rpc *r, const struct fab_view *v)
{
    struct host_cache *cache = &r->hosts;
    if (cache->generation != 0 && cache->generation == v->generation)
        return &cache->hosts;
    /* The hosts are those of the former view, unless nodes were added, removed or renamed. Finding
     * them again would take milliseconds. */
    if (cache->generation != 0 && cache->locations == v->policy.locations &&
        fab_hosts_fit(&cache->hosts, v->fabric)) {
        cache->generation = v->generation;
        return &cache->hosts;
    }
    hosts_end(cache);
    if (fab_hosts_find(v->fabric, v->policy.locations, &cache->hosts) != FAB_OK)
        return NULL;
    cache->locations = fab_policy_locations_ref(v->policy.locations);
    cache->generation = v->generation;
    return &cache->hosts;
}

const struct fab_hosts *need_hosts(struct call *c, const struct fab_view *v)
{
    const struct fab_hosts *h = hosts_of_view(call_rpc(c), v);
    if (h == NULL)
        call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED, "the manager has not enough memory");
    return h;
}

void hosts_end(struct host_cache *c)
{
    fab_hosts_fini(&c->hosts);
    fab_policy_locations_unref(c->locations);
    *c = (struct host_cache){0};
}

const struct fab_location *location_of_node(const struct fab_hosts *h, const struct fab_view *v,
                                            uint32_t node)
{
    return fab_hosts_location_of(h, v->fabric, v->policy.locations, node);
}

bool is_rack(const char *rack, const char *wanted)
{
    return wanted[0] == '\0' || fab_hosts_is_rack(rack, wanted);
}

bool is_in_rack(const struct fab_hosts *h, const struct fab_view *v, uint32_t node,
                const char *rack)
{
    return rack[0] == '\0' || fab_hosts_is_rack(location_of_node(h, v, node)->rack, rack);
}

bool is_switch_in_rack(const struct fab_view *v, uint32_t sw, const char *rack)
{
    const struct fab_node *n = &v->fabric->nodes[sw];
    return rack[0] == '\0' ||
           fab_hosts_is_rack(fab_hosts_location(v->policy.locations, n)->rack, rack);
}

bool need_rack(struct call *c, const struct fab_hosts *h, const struct fab_view *v,
               const char *rack)
{
    for (uint32_t n = 0; n < v->fabric->node_count; n++)
        if (is_in_rack(h, v, n, rack))
            return true;
    if (v->policy.locations == NULL)
        call_finish(c, FAB_GRPC_NOT_FOUND,
                    "no rack is known; name a file with racks in the setting locations.file");
    else
        call_finish(c, FAB_GRPC_NOT_FOUND,
                    "no node is in a rack \"%.80s\"; 'fabricctl rack list' lists the racks", rack);
    return false;
}

Fabric__V1__Location *convert_location(struct answer *a, const struct fab_location *location)
{
    if (location->rack[0] == '\0' && location->row[0] == '\0' && location->slot[0] == '\0')
        return NULL;
    Fabric__V1__Location *m = ANSWER_NEW(a, Fabric__V1__Location, fabric__v1__location);
    if (m == NULL)
        return NULL;
    m->rack = answer_text(a, location->rack);
    m->row = answer_text(a, location->row);
    m->slot = answer_text(a, location->slot);
    return m;
}
