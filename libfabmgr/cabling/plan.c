/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds plans. The arena of a plan owns all texts of the plan. */
#include "libfabmgr/cabling/plan.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/cabling/name.h"

struct fab_cabling_plan *fab_cabling_plan_new(void)
{
    struct fab_cabling_plan *p = calloc(1, sizeof *p);
    if (p != NULL)
        p->format = "";
    return p;
}

void fab_cabling_plan_free(struct fab_cabling_plan *p)
{
    if (p == NULL)
        return;
    free(p->nodes);
    free(p->links);
    fab_base_arena_fini(&p->arena);
    fab_base_map_fini(&p->names);
    fab_base_map_fini(&p->ports);
    free(p);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static uint64_t hash(const char *key)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; *key != '\0'; key++)
        h = (h ^ (uint8_t)*key) * UINT64_C(0x100000001b3);
    return fab_base_mix64(h);
}

/* Adds a node, whether or not the plan already has a node with this name. */
static int add_node(struct fab_cabling_plan *p, const char *name, size_t len, const char *key,
                    uint32_t *ret_node)
{
    struct fab_cabling_node n = {.rack = ""};
    n.name = fab_base_arena_text(&p->arena, name, len);
    n.key = fab_base_arena_text(&p->arena, key, strlen(key));
    if (n.name == NULL || n.key == NULL)
        return FAB_E_NOMEM;
    if (p->node_count == p->node_room) {
        void *bigger = fab_base_grow(p->nodes, sizeof n, p->node_count + 1u, &p->node_room);
        if (bigger == NULL)
            return FAB_E_NOMEM;
        p->nodes = bigger;
    }
    *ret_node = p->node_count;
    p->nodes[p->node_count++] = n;
    return FAB_OK;
}

int fab_cabling_plan_node(struct fab_cabling_plan *p, const char *name, size_t len,
                          uint32_t *ret_node)
{
    char key[FAB_CABLING_KEY];
    if (len == 0 || len > FAB_CABLING_NAME_MAX)
        return FAB_E_RANGE;
    fab_cabling_key(name, len, key);
    uint64_t h = hash(key);
    for (uint32_t i; fab_base_map_get(&p->names, h, &i); h++)
        if (strcmp(p->nodes[i].key, key) == 0) {
            *ret_node = i;
            return FAB_OK;
        }
    uint32_t node = 0;
    int rc = add_node(p, name, len, key, &node);
    if (rc == FAB_OK)
        rc = fab_base_map_put(&p->names, h, node);
    if (rc == FAB_OK)
        *ret_node = node;
    return rc;
}

int fab_cabling_plan_set_rack(struct fab_cabling_plan *p, uint32_t node, const char *rack,
                              size_t len)
{
    struct fab_cabling_node *n = &p->nodes[node];
    if (len == 0 || n->rack[0] != '\0')
        return FAB_OK;
    const char *copy = fab_base_arena_text(&p->arena, rack, len);
    if (copy == NULL)
        return FAB_E_NOMEM;
    n->rack = copy;
    return FAB_OK;
}

/* ---- links ----------------------------------------------------------------------------------- */

static uint64_t port_key(uint32_t node, uint8_t port)
{
    return (uint64_t)node << 8 | port;
}

static bool is_same(const struct fab_cabling_link *a, const struct fab_cabling_link *b)
{
    for (unsigned turn = 0; turn < 2; turn++)
        if (a->node[0] == b->node[turn] && a->port[0] == b->port[turn] &&
            a->node[1] == b->node[1 - turn] && a->port[1] == b->port[1 - turn])
            return true;
    return false;
}

static int append_link(struct fab_cabling_plan *p, const struct fab_cabling_link *link)
{
    if (p->link_count == p->link_room) {
        void *bigger = fab_base_grow(p->links, sizeof *link, p->link_count + 1u, &p->link_room);
        if (bigger == NULL)
            return FAB_E_NOMEM;
        p->links = bigger;
    }
    for (unsigned i = 0; i < 2; i++) {
        struct fab_cabling_node *n = &p->nodes[link->node[i]];
        int rc = fab_base_map_put(&p->ports, port_key(link->node[i], link->port[i]), p->link_count);
        if (rc != FAB_OK)
            return rc;
        n->ports = link->port[i] > n->ports ? link->port[i] : n->ports;
    }
    p->links[p->link_count++] = *link;
    return FAB_OK;
}

int fab_cabling_plan_link(struct fab_cabling_plan *p, const struct fab_cabling_link *link,
                          uint32_t *ret_other)
{
    if (link->node[0] == link->node[1] && link->port[0] == link->port[1])
        return FAB_E_INVAL;
    for (unsigned i = 0; i < 2; i++) {
        uint32_t other;
        if (!fab_base_map_get(&p->ports, port_key(link->node[i], link->port[i]), &other))
            continue;
        *ret_other = other;
        if (!is_same(&p->links[other], link))
            return FAB_E_EXISTS;
        if (link->rate.speeds != 0)
            p->links[other].rate = link->rate;
        return FAB_OK;
    }
    return append_link(p, link);
}

/* ---- from a fabric --------------------------------------------------------------------------- */

static int add_fabric_node(struct fab_cabling_plan *p, const struct fab_node *n)
{
    char key[FAB_CABLING_KEY];
    uint32_t node = 0;
    fab_cabling_key(n->name, strlen(n->name), key);
    int rc = add_node(p, n->name, strlen(n->name), key, &node);
    if (rc != FAB_OK)
        return rc;
    p->nodes[node].guid = n->guid;
    p->nodes[node].type = n->type;
    return FAB_OK;
}

int fab_cabling_plan_add_nodes(struct fab_cabling_plan *p, const struct fab_fabric *f)
{
    int rc = FAB_OK;
    for (uint32_t i = 0; i < f->node_count && rc == FAB_OK; i++)
        rc = add_fabric_node(p, &f->nodes[i]);
    return rc;
}

int fab_cabling_plan_add_fabric(struct fab_cabling_plan *p, const struct fab_fabric *f, bool rates)
{
    uint32_t first = p->node_count, other;
    int rc = fab_cabling_plan_add_nodes(p, f);
    for (uint32_t i = 0; i < f->port_count && rc == FAB_OK; i++) {
        const struct fab_port *a = fab_fabric_port(f, i);
        if (a->peer == FAB_NONE || a->peer < i)
            continue;
        const struct fab_port *b = fab_fabric_port(f, a->peer);
        struct fab_cabling_link link = {.node = {first + a->node, first + b->node},
                                        .port = {a->num, b->num}};
        if (rates)
            link.rate = fab_wire_link_modes(&a->info, FAB_LINK_ACTIVE);
        rc = fab_cabling_plan_link(p, &link, &other);
    }
    return rc;
}
