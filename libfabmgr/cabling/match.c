/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the nodes of a plan in the fabric, in four steps:
 *
 *   1. by name, if only one node of the plan and only one of the fabric has it;
 *   2. by GUID, if the plan has GUIDs. Names come first, because a replaced device has another
 *      GUID;
 *   3. by other spellings of a name. The plan may name the only adapter of a host by the name of
 *      the host. ibutils write "node-7/U1" for "node-7 HCA-1", and "leaf-1/U1" for the switch
 *      leaf-1;
 *   4. by place, as described below.
 *
 * Step 4: node X of the fabric is node N of the plan if at least two planned links of N lead to X
 * as planned, and these are more than half of the links of N and more than half of the cables of X.
 * Only links and cables to nodes that are already found are counted. If several nodes of the fabric
 * have the name of N, and X is one of them, one such link suffices. The step is repeated as long as
 * it finds nodes: it finds leaves by their hosts, then spines by their leaves. So switches that
 * still have their names from the factory are found, even if some cables are wrong.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/cabling/check.h"
#include "libfabmgr/cabling/name.h"

/* Nodes sorted by their keys. */
struct names {
    const char **keys; /* [count] key of each node */
    uint32_t *order;   /* [count] ids of the nodes in the order of their keys */
    uint32_t count;
};

struct matcher {
    struct fab_cabling_check *check;
    const struct fab_cabling_plan *plan;
    const struct fab_fabric *fabric;
    struct names planned, observed;
    /* [plan->node_count] id in the fabric of each node of the plan; FAB_NONE: the node was not
     * found */
    uint32_t *to_fabric;
    /* [fabric->node_count] id in the plan of each node of the fabric; FAB_NONE: the node was not
     * found in the plan */
    uint32_t *to_plan;
    uint8_t *how; /* [plan->node_count] how this node was found (enum fab_cabling_match) */
    /* [link_count * 2] The ends of all links, grouped by node. The links of node n are
     * ends[first_end[n]] .. ends[first_end[n + 1] - 1]. An end is stored as 2 * link + index of the
     * end (0 or 1). */
    uint32_t *first_end, *ends;
};

/* ---- names ----------------------------------------------------------------------------------- */

static int compare_keys(const void *a, const void *b, void *ctx)
{
    const char *const *keys = ctx;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int order = strcmp(keys[x], keys[y]);
    return order != 0 ? order : (x > y) - (x < y);
}

static int names_init(struct names *n, uint32_t count)
{
    n->count = count;
    n->keys = fab_base_alloc_array(count, sizeof *n->keys);
    n->order = fab_base_alloc_array(count, sizeof *n->order);
    if (n->keys == NULL || n->order == NULL)
        return FAB_E_NOMEM;
    for (uint32_t i = 0; i < count; i++)
        n->order[i] = i;
    return FAB_OK;
}

static void names_sort(struct names *n)
{
    if (n->count > 1)
        qsort_r(n->order, n->count, sizeof *n->order, compare_keys, n->keys);
}

/* Returns the index in n->order of the first node whose key is not less than the first `len` bytes
 * of `key`. */
static uint32_t lower_bound(const struct names *n, const char *key, size_t len)
{
    uint32_t low = 0, high = n->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (strncmp(n->keys[n->order[middle]], key, len) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the number of nodes whose key begins with the first `len` bytes of `key`, but at most 2.
 * *ret is the first of these nodes. If `len` is strlen(key) + 1, the whole key must be equal. */
static unsigned find_prefix(const struct names *n, const char *key, size_t len, uint32_t *ret)
{
    uint32_t at = lower_bound(n, key, len);
    unsigned count = 0;
    for (; at < n->count && count < 2 && strncmp(n->keys[n->order[at]], key, len) == 0; at++)
        if (count++ == 0)
            *ret = n->order[at];
    return count;
}

static unsigned find_name(const struct names *n, const char *key, uint32_t *ret)
{
    return find_prefix(n, key, strlen(key) + 1, ret);
}

/* ---- matching by name and GUID --------------------------------------------------------------- */

/* Returns true if neither node is matched yet and their types do not differ. The plan need not give
 * the type of a node. */
static bool may_be(const struct matcher *m, uint32_t planned, uint32_t observed)
{
    uint8_t type = m->plan->nodes[planned].type;
    return m->to_fabric[planned] == FAB_NONE && m->to_plan[observed] == FAB_NONE &&
           (type == 0 || type == m->fabric->nodes[observed].type);
}

static void take(struct matcher *m, uint32_t planned, uint32_t observed, enum fab_cabling_match how)
{
    if (!may_be(m, planned, observed))
        return;
    m->to_fabric[planned] = observed;
    m->to_plan[observed] = planned;
    m->how[planned] = (uint8_t)how;
}

static void match_names(struct matcher *m)
{
    for (uint32_t i = 0; i < m->plan->node_count; i++) {
        const char *key = m->plan->nodes[i].key;
        uint32_t same, node;
        if (find_name(&m->planned, key, &same) == 1 && find_name(&m->observed, key, &node) == 1)
            take(m, i, node, FAB_CABLING_BY_NAME);
    }
}

static void match_guids(struct matcher *m)
{
    for (uint32_t i = 0; i < m->plan->node_count; i++) {
        uint64_t guid = m->plan->nodes[i].guid;
        uint32_t node = guid != 0 ? fab_fabric_node_by_guid(m->fabric, guid) : FAB_NONE;
        if (node != FAB_NONE)
            take(m, i, node, FAB_CABLING_BY_GUID);
    }
}

/* Matches a node of the plan if its key ends in "/u" and a number. ibutils give such names to the
 * devices inside a system. */
static void match_unit(struct matcher *m, uint32_t planned)
{
    const char *key = m->plan->nodes[planned].key, *slash = strrchr(key, '/');
    char other[FAB_CABLING_KEY + 8];
    uint32_t node;
    if (slash == NULL || slash[1] != 'u' || slash[2] == '\0')
        return;
    snprintf(other, sizeof other, "%.*s/hca-%s", (int)(slash - key), key, slash + 2);
    if (find_name(&m->observed, other, &node) == 1)
        take(m, planned, node, FAB_CABLING_BY_NAME);
    snprintf(other, sizeof other, "%.*s", (int)(slash - key), key);
    if (strcmp(slash, "/u1") == 0 && find_name(&m->observed, other, &node) == 1)
        take(m, planned, node, FAB_CABLING_BY_NAME);
}

/* Matches the only adapter of a host, if the plan or the fabric names it by the host alone. If the
 * plan does, the host must have only one adapter in the fabric; if the fabric does, the host must
 * have only one adapter in the plan. */
static void match_host(struct matcher *m, uint32_t planned)
{
    char host[FAB_CABLING_KEY + 1];
    const char *key = m->plan->nodes[planned].key;
    size_t len = fab_cabling_system_len(key);
    uint32_t node, same;
    snprintf(host, sizeof host, "%.*s/", (int)len, key);
    if (key[len] == '\0' && find_prefix(&m->observed, host, len + 1, &node) == 1 &&
        m->fabric->nodes[node].type == FAB_NODE_CA)
        take(m, planned, node, FAB_CABLING_BY_NAME);
    if (key[len] == '/' && find_prefix(&m->planned, host, len + 1, &same) == 1) {
        host[len] = '\0';
        if (find_name(&m->observed, host, &node) == 1 && m->fabric->nodes[node].type == FAB_NODE_CA)
            take(m, planned, node, FAB_CABLING_BY_NAME);
    }
}

static void match_spellings(struct matcher *m)
{
    for (uint32_t i = 0; i < m->plan->node_count; i++)
        if (m->to_fabric[i] == FAB_NONE) {
            match_unit(m, i);
            match_host(m, i);
        }
}

/* ---- matching by place ----------------------------------------------------------------------- */

/* Follows a planned link of an unmatched node to the port at its other end, and then the cable in
 * that port. Returns the port to which the cable leads. FAB_NONE: the node at the other end is
 * unmatched, too, or its port has no cable. */
static uint32_t seen_at(const struct matcher *m, uint32_t end)
{
    const struct fab_cabling_link *l = &m->plan->links[end / 2];
    uint32_t peer = m->to_fabric[l->node[1 - end % 2]];
    uint8_t number = l->port[1 - end % 2];
    if (peer == FAB_NONE || number > m->fabric->nodes[peer].num_ports)
        return FAB_NONE;
    return fab_fabric_port(m->fabric, fab_fabric_port_id(m->fabric, peer, number))->peer;
}

/* Returns the node of the fabric for which one planned link of an unmatched planned node votes: the
 * node of the port that seen_at returns. `end`: the end of the link at the planned node. FAB_NONE
 * (no vote): seen_at finds no port, the node of the port that it finds is already matched, or the
 * number of this port is not the planned one. */
static uint32_t vote(const struct matcher *m, uint32_t end)
{
    uint32_t far = seen_at(m, end);
    if (far == FAB_NONE)
        return FAB_NONE;
    const struct fab_port *p = fab_fabric_port(m->fabric, far);
    bool as_planned = p->num == m->plan->links[end / 2].port[end % 2];
    return as_planned && m->to_plan[p->node] == FAB_NONE ? p->node : FAB_NONE;
}

/* Returns the node of the fabric for which most planned links of node n vote (majority vote of
 * Boyer and Moore). *ret_votes is the number of votes for this node. *ret_seen is the number of
 * links for which seen_at found a port. */
static uint32_t find_majority(const struct matcher *m, uint32_t n, uint32_t *ret_votes,
                              uint32_t *ret_seen)
{
    uint32_t candidate = FAB_NONE, lead = 0, votes = 0, seen = 0;
    for (uint32_t i = m->first_end[n]; i < m->first_end[n + 1]; i++) {
        uint32_t node = vote(m, m->ends[i]);
        seen += seen_at(m, m->ends[i]) != FAB_NONE;
        if (node == FAB_NONE)
            continue;
        if (lead == 0)
            candidate = node;
        lead += node == candidate ? 1u : -1u;
    }
    for (uint32_t i = m->first_end[n]; i < m->first_end[n + 1] && candidate != FAB_NONE; i++)
        votes += vote(m, m->ends[i]) == candidate;
    *ret_votes = votes;
    *ret_seen = seen;
    return candidate;
}

/* Returns the number of cables that connect this node with matched nodes. */
static uint32_t count_known(const struct matcher *m, uint32_t node)
{
    uint32_t count = 0;
    for (uint32_t i = 1; i <= m->fabric->nodes[node].num_ports; i++) {
        uint32_t peer = fab_fabric_peer_node(m->fabric, m->fabric->nodes[node].first_port + i);
        count += peer != FAB_NONE && m->to_plan[peer] != FAB_NONE;
    }
    return count;
}

static bool match_place(struct matcher *m, uint32_t n)
{
    uint32_t votes, seen, node = find_majority(m, n, &votes, &seen);
    if (node == FAB_NONE || !may_be(m, n, node))
        return false;
    bool named = strcmp(m->plan->nodes[n].key, m->observed.keys[node]) == 0;
    bool sure = votes >= 2 && votes * 2 > seen && votes * 2 > count_known(m, node);
    if (!named && !sure)
        return false;
    take(m, n, node, named ? FAB_CABLING_BY_NAME : FAB_CABLING_BY_PLACE);
    return true;
}

static void match_places(struct matcher *m)
{
    bool again = true;
    while (again) {
        again = false;
        for (uint32_t i = 0; i < m->plan->node_count; i++)
            if (m->to_fabric[i] == FAB_NONE && match_place(m, i))
                again = true;
    }
}

/* ---- sites ----------------------------------------------------------------------------------- */

static bool is_switch(const struct matcher *m, uint32_t planned)
{
    const struct fab_cabling_node *n = &m->plan->nodes[planned];
    return n->type != 0 ? n->type == FAB_NODE_SWITCH : n->ports > 2;
}

static void set_site(struct matcher *m, struct fab_cabling_site *s, uint32_t planned,
                     uint32_t observed)
{
    unsigned ports = 0;
    *s = (struct fab_cabling_site){.rack = "", .planned = planned, .observed = observed};
    if (observed != FAB_NONE) {
        const struct fab_node *n = &m->fabric->nodes[observed];
        s->name = n->name;
        s->key = m->observed.keys[observed];
        s->is_switch = fab_fabric_node_is_switch(m->fabric, observed);
        ports = n->num_ports;
    }
    if (planned != FAB_NONE) {
        const struct fab_cabling_node *n = &m->plan->nodes[planned];
        s->name = n->name;
        s->key = n->key;
        s->rack = n->rack;
        s->match = m->how[planned];
        s->is_switch = observed != FAB_NONE ? s->is_switch : is_switch(m, planned);
        ports = n->ports > ports ? n->ports : ports;
    }
    s->ports = (uint16_t)(ports + 1);
}

static int make_ports(struct fab_cabling_check *c)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->site_count; i++) {
        c->sites[i].first_port = count;
        count += c->sites[i].ports;
    }
    c->port_count = count;
    c->port_site = fab_base_alloc_array(count, sizeof *c->port_site);
    if (c->port_site == NULL)
        return FAB_E_NOMEM;
    for (uint32_t i = 0; i < c->site_count; i++)
        for (unsigned k = 0; k < c->sites[i].ports; k++)
            c->port_site[c->sites[i].first_port + k] = i;
    return FAB_OK;
}

static int compare_sites(const void *a, const void *b, void *ctx)
{
    const struct fab_cabling_site *sites = ctx;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int order = strverscmp(sites[x].key, sites[y].key);
    return order != 0 ? order : (x > y) - (x < y);
}

static int sort_sites(struct fab_cabling_check *c)
{
    c->by_name = fab_base_alloc_array(c->site_count, sizeof *c->by_name);
    if (c->by_name == NULL)
        return FAB_E_NOMEM;
    for (uint32_t i = 0; i < c->site_count; i++)
        c->by_name[i] = i;
    if (c->site_count > 1)
        qsort_r(c->by_name, c->site_count, sizeof *c->by_name, compare_sites, c->sites);
    return FAB_OK;
}

/* Makes the sites. A node of the fabric has the same id as its site. */
static int make_sites(struct matcher *m)
{
    struct fab_cabling_check *c = m->check;
    uint32_t count = m->fabric->node_count;
    for (uint32_t i = 0; i < m->plan->node_count; i++) {
        count += m->to_fabric[i] == FAB_NONE;
        c->matched[m->how[i]]++;
    }
    c->sites = fab_base_alloc_array(count, sizeof *c->sites);
    if (c->sites == NULL)
        return FAB_E_NOMEM;
    for (uint32_t i = 0; i < m->fabric->node_count; i++)
        set_site(m, &c->sites[c->site_count++], m->to_plan[i], i);
    for (uint32_t i = 0; i < m->plan->node_count; i++)
        if (m->to_fabric[i] == FAB_NONE)
            set_site(m, &c->sites[c->site_count++], i, FAB_NONE);
    int rc = make_ports(c);
    return rc == FAB_OK ? sort_sites(c) : rc;
}

/* Returns the number of nodes with this key. */
static uint32_t count_name(const struct names *n, const char *key)
{
    uint32_t at = lower_bound(n, key, strlen(key) + 1), count = 0;
    while (at + count < n->count && strcmp(n->keys[n->order[at + count]], key) == 0)
        count++;
    return count;
}

/* Reports each planned name that more nodes have in the fabric than in the plan. Leaves out
 * aggregation nodes, because they all have the same name. */
static int find_duplicates(struct matcher *m)
{
    const struct names *o = &m->observed;
    int rc = FAB_OK;
    for (uint32_t i = 0, count; i < o->count && rc == FAB_OK; i += count) {
        uint32_t node = o->order[i];
        count = count_name(o, o->keys[node]);
        uint32_t planned = count_name(&m->planned, o->keys[node]);
        if (planned > 0 && count > 1 && count > planned && !m->fabric->nodes[node].aggregation)
            rc = fab_cabling_add_site(m->check, FAB_CABLING_DUPLICATE_NAME, node, count, 1);
    }
    return rc;
}

/* ---- the whole matching ---------------------------------------------------------------------- */

static int make_ends(struct matcher *m)
{
    const struct fab_cabling_plan *p = m->plan;
    m->first_end = calloc(p->node_count + 2u, sizeof *m->first_end);
    m->ends = fab_base_alloc_array(2 * (size_t)p->link_count, sizeof *m->ends);
    if (m->first_end == NULL || m->ends == NULL)
        return FAB_E_NOMEM;
    /* At first, first_end[n + 2] is the number of ends at node n. Later, first_end[n + 1] is the
     * index for the next end of node n. */
    for (uint32_t i = 0; i < 2 * p->link_count; i++)
        m->first_end[p->links[i / 2].node[i % 2] + 2]++;
    for (uint32_t i = 2; i <= p->node_count + 1; i++)
        m->first_end[i] += m->first_end[i - 1];
    for (uint32_t i = 0; i < 2 * p->link_count; i++)
        m->ends[m->first_end[p->links[i / 2].node[i % 2] + 1]++] = i;
    return FAB_OK;
}

static int make_names(struct matcher *m)
{
    char key[FAB_CABLING_KEY];
    int rc = names_init(&m->planned, m->plan->node_count);
    if (rc == FAB_OK)
        rc = names_init(&m->observed, m->fabric->node_count);
    if (rc != FAB_OK)
        return rc;
    for (uint32_t i = 0; i < m->plan->node_count; i++)
        m->planned.keys[i] = m->plan->nodes[i].key;
    for (uint32_t i = 0; i < m->fabric->node_count; i++) {
        const char *desc = m->fabric->nodes[i].name;
        fab_cabling_key(desc, strlen(desc), key);
        m->observed.keys[i] = fab_base_arena_text(&m->check->arena, key, strlen(key));
        if (m->observed.keys[i] == NULL)
            return FAB_E_NOMEM;
    }
    names_sort(&m->planned);
    names_sort(&m->observed);
    return FAB_OK;
}

static int make_maps(struct matcher *m)
{
    m->to_fabric = fab_base_alloc_array(m->plan->node_count, sizeof *m->to_fabric);
    m->to_plan = fab_base_alloc_array(m->fabric->node_count, sizeof *m->to_plan);
    m->how = calloc(m->plan->node_count + 1u, sizeof *m->how);
    if (m->to_fabric == NULL || m->to_plan == NULL || m->how == NULL)
        return FAB_E_NOMEM;
    /* sets all elements to FAB_NONE */
    memset(m->to_fabric, 0xff, m->plan->node_count * sizeof *m->to_fabric);
    memset(m->to_plan, 0xff, m->fabric->node_count * sizeof *m->to_plan);
    return FAB_OK;
}

static void matcher_fini(struct matcher *m)
{
    free(m->planned.keys);
    free(m->planned.order);
    free(m->observed.keys);
    free(m->observed.order);
    free(m->to_fabric);
    free(m->to_plan);
    free(m->how);
    free(m->first_end);
    free(m->ends);
}

int fab_cabling_match(struct fab_cabling_check *c)
{
    struct matcher m = {.check = c, .plan = c->plan, .fabric = c->fabric};
    int rc = make_names(&m);
    if (rc == FAB_OK)
        rc = make_maps(&m);
    if (rc == FAB_OK)
        rc = make_ends(&m);
    if (rc == FAB_OK) {
        match_names(&m);
        match_guids(&m);
        match_spellings(&m);
        match_places(&m);
        rc = make_sites(&m);
    }
    if (rc == FAB_OK)
        rc = find_duplicates(&m);
    matcher_fini(&m);
    return rc;
}
