/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds hosts and rails. hosts.h describes the rules. */
#include "libfabmgr/hosts/hosts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"

#define SEPARATORS " \t/"
#define GUID_LEN 19 /* size of a GUID as text: "0x", 16 digits and the NUL */

/* An adapter for which the search has not found a host yet. */
struct candidate {
    const char *host, *adapter; /* names of the host and of the adapter */
    const struct fab_location *location;
    uint64_t guid, system_guid;
    uint32_t node;
};

/* What fab_hosts_find has read of a node that is no switch. */
struct source_node {
    uint64_t guid, system_guid;
    const char *name, *desc; /* the same pointer, if the texts are equal */
    uint8_t type;
    bool aggregation;
};
struct fab_hosts_source {
    uint32_t node_count, switch_count;
    struct source_node node[]; /* [node_count - switch_count] */
};

/* The state of a search for hosts. */
struct finder {
    const struct fab_fabric *f;
    struct candidate *all; /* [count] all adapters of the fabric that may belong to hosts */
    uint32_t count;
    struct fab_hosts *h;
};

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_empty(const struct fab_location *l)
{
    return l->host[0] == '\0' && l->rack[0] == '\0' && l->row[0] == '\0' && l->slot[0] == '\0';
}

const struct fab_location *fab_hosts_location(const struct fab_locations *locations,
                                              const struct fab_node *n)
{
    const struct fab_location *found = fab_policy_locations_find(locations, n->guid, n->name);
    return is_empty(found) ? fab_policy_locations_find(locations, n->guid, n->desc) : found;
}

static int read_names(struct finder *s, const struct fab_locations *locations, uint32_t node)
{
    const struct fab_node *n = &s->f->nodes[node];
    const char *desc = n->name + strspn(n->name, SEPARATORS);
    size_t word = strcspn(desc, SEPARATORS);
    struct candidate *c = &s->all[s->count++];
    *c = (struct candidate){
        .location = fab_hosts_location(locations, n),
        .guid = n->guid,
        .system_guid = n->info.system_guid,
        .node = node,
    };
    const char *adapter = desc + word + strspn(desc + word, SEPARATORS);
    c->adapter = fab_base_arena_text(&s->h->arena, adapter, strlen(adapter));
    c->host = c->location->host[0] != '\0' ? c->location->host
                                           : fab_base_arena_text(&s->h->arena, desc, word);
    return s->h->arena.failed ? FAB_E_NOMEM : FAB_OK;
}

static int order_candidates(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    int order = strverscmp(x->host, y->host);
    if (order == 0)
        order = strverscmp(x->adapter, y->adapter);
    return order != 0 ? order : (x->guid > y->guid) - (x->guid < y->guid);
}

static int order_by_system(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->system_guid != y->system_guid)
        return x->system_guid < y->system_guid ? -1 : 1;
    return (x->guid > y->guid) - (x->guid < y->guid);
}

static int collect(struct finder *s, const struct fab_locations *locations)
{
    for (uint32_t n = s->f->switch_count; n < s->f->node_count; n++) {
        const struct fab_node *node = &s->f->nodes[n];
        if (node->type != FAB_NODE_CA || node->aggregation)
            continue;
        if (read_names(s, locations, n) != FAB_OK)
            return FAB_E_NOMEM;
    }
    if (s->count > 1)
        qsort(s->all, s->count, sizeof *s->all, order_candidates);
    return FAB_OK;
}

/* ---- hosts ----------------------------------------------------------------------------------- */

/* Makes one host of the candidates from all[from] to all[to - 1]. */
static void add_host(struct finder *s, uint32_t from, uint32_t to, const char *name)
{
    struct fab_hosts *h = s->h;
    struct fab_host *host = &h->hosts[h->count++];
    *host = (struct fab_host){name, s->all[from].location, h->adapter_count, to - from};
    for (uint32_t i = from; i < to; i++) {
        const struct candidate *c = &s->all[i];
        h->adapters[h->adapter_count++] = (struct fab_host_adapter){c->node, c->adapter, 0};
        if (host->location->rack[0] == '\0' && c->location->rack[0] != '\0')
            host->location = c->location;
    }
}

/* Returns true if the candidates from all[from] to all[to - 1], whose host name is the same, are
 * the adapters of one host. */
static bool is_host(const struct finder *s, uint32_t from, uint32_t to)
{
    const struct candidate *c = s->all;
    for (uint32_t i = from; i < to; i++)
        if (c[i].location->host[0] != '\0')
            return true;
    if (to - from > FAB_HOST_ADAPTERS_MAX || c[from].host[0] == '\0')
        return false;
    for (uint32_t i = from + 1; i < to; i++)
        if (strcmp(c[i].adapter, c[i - 1].adapter) == 0)
            return false;
    return true;
}

/* Makes hosts of the candidates from all[from] to all[to - 1]. Their common name is no host name,
 * so only adapters with the same system image GUID become one host. */
static int add_nameless(struct finder *s, uint32_t from, uint32_t to)
{
    qsort(s->all + from, to - from, sizeof *s->all, order_by_system);
    for (uint32_t i = from, end; i < to; i = end) {
        char *name = fab_base_arena_alloc(&s->h->arena, 1, GUID_LEN);
        if (name == NULL)
            return FAB_E_NOMEM;
        snprintf(name, GUID_LEN, "0x%016" PRIx64, s->all[i].guid);
        for (end = i + 1; end < to && s->all[i].system_guid != 0 &&
                          s->all[end].system_guid == s->all[i].system_guid;)
            end++;
        add_host(s, i, end, name);
    }
    return FAB_OK;
}

static int order_hosts(const void *a, const void *b)
{
    const struct fab_host *x = a, *y = b;
    int order = strverscmp(x->name, y->name);
    return order != 0 ? order : (x->first > y->first) - (x->first < y->first);
}

static bool is_sorted(const struct fab_hosts *h)
{
    for (uint32_t i = 1; i < h->count; i++)
        if (order_hosts(&h->hosts[i - 1], &h->hosts[i]) > 0)
            return false;
    return true;
}

static int make_hosts(struct finder *s)
{
    int rc = FAB_OK;
    for (uint32_t from = 0, to; from < s->count && rc == FAB_OK; from = to) {
        for (to = from + 1; to < s->count && strcmp(s->all[from].host, s->all[to].host) == 0;)
            to++;
        if (is_host(s, from, to))
            add_host(s, from, to, s->all[from].host);
        else
            rc = add_nameless(s, from, to);
    }
    struct fab_hosts *h = s->h;
    if (h->count > 1 && !is_sorted(h))
        qsort(h->hosts, h->count, sizeof *h->hosts, order_hosts);
    for (uint32_t i = 0; i < h->count; i++)
        for (uint32_t k = 0; k < h->hosts[i].count; k++)
            h->host_of[h->adapters[h->hosts[i].first + k].node] = i;
    return rc;
}

/* ---- rails ----------------------------------------------------------------------------------- */

/* An adapter, and its position among the adapters of its host, from 1. */
struct position {
    const char *name;
    uint32_t siblings; /* number of adapters of the host */
    uint32_t position, adapter;
};

static int order_positions(const void *a, const void *b)
{
    const struct position *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    if (order != 0)
        return order;
    if (x->siblings != y->siblings)
        return x->siblings > y->siblings ? -1 : 1;
    return (x->adapter > y->adapter) - (x->adapter < y->adapter);
}

/* Corrects the rails if successive adapters of one host have the same name, or no name: the first
 * of them keeps its rail; each further one gets the rail that equals its position among the
 * adapters of the host. If a host has only one adapter, and this adapter has no name, it gets no
 * rail. */
static void separate_equal_names(struct fab_hosts *h)
{
    for (uint32_t i = 0; i < h->count; i++) {
        struct fab_host_adapter *a = &h->adapters[h->hosts[i].first];
        if (h->hosts[i].count == 1 && a[0].name[0] == '\0')
            a[0].rail = 0;
        for (uint32_t k = 1; k < h->hosts[i].count; k++)
            if (strcmp(a[k].name, a[k - 1].name) == 0)
                a[k].rail = k + 1;
    }
}

static int number_rails(struct fab_hosts *h)
{
    struct position *p = fab_base_arena_alloc(&h->arena, h->adapter_count, sizeof *p);
    uint32_t count = 0, rail = 0;
    if (p == NULL)
        return FAB_E_NOMEM;
    for (uint32_t i = 0; i < h->count; i++)
        for (uint32_t k = 0; k < h->hosts[i].count; k++) {
            uint32_t adapter = h->hosts[i].first + k;
            p[count++] =
                (struct position){h->adapters[adapter].name, h->hosts[i].count, k + 1, adapter};
        }
    if (count > 1)
        qsort(p, count, sizeof *p, order_positions);
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || strcmp(p[i].name, p[i - 1].name) != 0)
            rail = p[i].siblings > 1 ? p[i].position : 0;
        h->adapters[p[i].adapter].rail = rail;
    }
    separate_equal_names(h);
    for (uint32_t i = 0; i < h->adapter_count; i++)
        if (h->adapters[i].rail > h->rails)
            h->rails = h->adapters[i].rail;
    return FAB_OK;
}

/* ---- the nodes in which the hosts were found ------------------------------------------------- */

static int copy_source(const struct fab_fabric *f, struct fab_hosts *h)
{
    uint32_t count = f->node_count - f->switch_count;
    struct fab_hosts_source *s =
        fab_base_arena_alloc(&h->arena, 1, sizeof *s + (size_t)count * sizeof s->node[0]);
    if (s == NULL)
        return FAB_E_NOMEM;
    s->node_count = f->node_count;
    s->switch_count = f->switch_count;
    for (uint32_t i = 0; i < count; i++) {
        const struct fab_node *n = &f->nodes[f->switch_count + i];
        const char *name = fab_base_arena_text(&h->arena, n->name, strlen(n->name));
        bool same = strcmp(n->name, n->desc) == 0;
        const char *desc = same ? name : fab_base_arena_text(&h->arena, n->desc, strlen(n->desc));
        s->node[i] =
            (struct source_node){n->guid, n->info.system_guid, name, desc, n->type, n->aggregation};
    }
    h->source = s;
    return h->arena.failed ? FAB_E_NOMEM : FAB_OK;
}

static bool is_same(const struct source_node *s, const struct fab_node *n)
{
    return s->guid == n->guid && s->system_guid == n->info.system_guid && s->type == n->type &&
           s->aggregation == n->aggregation && strcmp(s->name, n->name) == 0 &&
           strcmp(s->desc, n->desc) == 0;
}

bool fab_hosts_fit(const struct fab_hosts *h, const struct fab_fabric *f)
{
    const struct fab_hosts_source *s = h->source;
    if (s == NULL || s->node_count != f->node_count || s->switch_count != f->switch_count)
        return false;
    for (uint32_t i = f->switch_count; i < f->node_count; i++)
        if (!is_same(&s->node[i - f->switch_count], &f->nodes[i]))
            return false;
    return true;
}

/* ---- public ---------------------------------------------------------------------------------- */

int fab_hosts_find(const struct fab_fabric *f, const struct fab_locations *locations,
                   struct fab_hosts *ret)
{
    struct finder s = {.f = f, .h = ret};
    uint32_t most = f->node_count - f->switch_count;
    *ret = (struct fab_hosts){0};
    s.all = fab_base_arena_alloc(&ret->arena, most, sizeof *s.all);
    ret->hosts = fab_base_arena_alloc(&ret->arena, most, sizeof *ret->hosts);
    ret->adapters = fab_base_arena_alloc(&ret->arena, most, sizeof *ret->adapters);
    ret->host_of = fab_base_arena_alloc(&ret->arena, f->node_count, sizeof *ret->host_of);
    int rc = ret->arena.failed ? FAB_E_NOMEM : FAB_OK;
    if (rc == FAB_OK) {
        memset(ret->host_of, 0xff, f->node_count * sizeof *ret->host_of);
        rc = collect(&s, locations);
    }
    if (rc == FAB_OK)
        rc = make_hosts(&s);
    if (rc == FAB_OK)
        rc = number_rails(ret);
    if (rc == FAB_OK)
        rc = copy_source(f, ret);
    if (rc != FAB_OK)
        fab_hosts_fini(ret);
    return rc;
}

void fab_hosts_fini(struct fab_hosts *h)
{
    fab_base_arena_fini(&h->arena);
    *h = (struct fab_hosts){0};
}

static int compare_name(const void *key, const void *host)
{
    return strverscmp(key, ((const struct fab_host *)host)->name);
}

uint32_t fab_hosts_by_name(const struct fab_hosts *h, const char *name)
{
    const struct fab_host *found =
        h->count > 0 ? bsearch(name, h->hosts, h->count, sizeof *h->hosts, compare_name) : NULL;
    return found != NULL ? (uint32_t)(found - h->hosts) : FAB_NONE;
}
