/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores the known links between switches. Each switch, found by its GUID, has an element for each
 * of its ports. A link has two such elements, one for each end; each of them names the other
 * end. */
#include "libfabmgr/health/known.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/map.h"
#include "libfabmgr/base/status.h"

struct fab_known_port {
    uint32_t far;     /* 1 + index in sw[] of the switch at the other end; 0: no known link */
    uint8_t far_port; /* port number at the other end */
};
struct fab_known_switch {
    uint64_t guid;
    uint32_t level;              /* level of the switch when it was last in the fabric */
    uint8_t ports;               /* number of ports */
    struct fab_known_port *port; /* [ports + 1] known link of each port */
};
struct fab_known {
    int refs;             /* reference count, atomic */
    struct fab_map index; /* GUID -> index in sw[] */
    struct fab_known_switch *sw;
    uint32_t count, room;
};

struct fab_known *fab_health_known_ref(struct fab_known *k)
{
    if (k)
        __atomic_add_fetch(&k->refs, 1, __ATOMIC_RELAXED);
    return k;
}

void fab_health_known_unref(struct fab_known *k)
{
    if (!k || __atomic_sub_fetch(&k->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    for (uint32_t i = 0; i < k->count; i++)
        free(k->sw[i].port);
    free(k->sw);
    fab_base_map_fini(&k->index);
    free(k);
}

/* ---- noting ---------------------------------------------------------------------------------- */

static int grow(struct fab_known *k)
{
    uint32_t more = k->room ? k->room * 2 : 64;
    struct fab_known_switch *sw = reallocarray(k->sw, more, sizeof(*sw));
    if (!sw)
        return FAB_E_NOMEM;
    k->sw = sw;
    k->room = more;
    return FAB_OK;
}

/* Adds a switch of which no links are known. */
static int add(struct fab_known *k, uint64_t guid, uint8_t ports)
{
    if (k->count == k->room && grow(k) != FAB_OK)
        return FAB_E_NOMEM;
    struct fab_known_port *port = calloc(ports + 1u, sizeof(*port));
    if (!port || fab_base_map_put(&k->index, guid, k->count) != FAB_OK) {
        free(port);
        return FAB_E_NOMEM;
    }
    k->sw[k->count++] = (struct fab_known_switch){.guid = guid, .ports = ports, .port = port};
    return FAB_OK;
}

/* Sets *ret to the index of the switch `node` in sw[]. If the switch is new, or its number of ports
 * has changed, adds it, without links, first. */
static int enter(struct fab_known *k, const struct fab_node *node, uint32_t *ret)
{
    if (fab_base_map_get(&k->index, node->guid, ret) && k->sw[*ret].ports == node->num_ports)
        return FAB_OK;
    *ret = k->count;
    return add(k, node->guid, node->num_ports);
}

static void forget(struct fab_known *k, uint32_t sw, uint8_t num)
{
    struct fab_known_port *p = &k->sw[sw].port[num];
    if (p->far) {
        struct fab_known_switch *far = &k->sw[p->far - 1];
        if (p->far_port <= far->ports && far->port[p->far_port].far == sw + 1)
            far->port[p->far_port].far = 0;
    }
    p->far = 0;
}

static void connect_end(struct fab_known *k, uint32_t sw, uint8_t num, uint32_t far,
                        uint8_t far_port)
{
    struct fab_known_port *p = &k->sw[sw].port[num];
    if (p->far == far + 1 && p->far_port == far_port)
        return;
    forget(k, sw, num);
    *p = (struct fab_known_port){far + 1, far_port};
}

static int note_port(struct fab_known *k, const struct fab_fabric *f, uint32_t port)
{
    const struct fab_port *p = fab_fabric_port(f, port);
    uint32_t near, far;
    if (enter(k, &f->nodes[p->node], &near) != FAB_OK)
        return FAB_E_NOMEM;
    if (!fab_fabric_isl_is_up(f, port)) {
        /* a host is connected to the port now, so the known link of the port is gone */
        if (p->peer != FAB_NONE && !fab_fabric_node_is_switch(f, fab_fabric_peer_node(f, port)))
            forget(k, near, p->num);
        return FAB_OK;
    }
    if (enter(k, &f->nodes[fab_fabric_peer_node(f, port)], &far) != FAB_OK)
        return FAB_E_NOMEM;
    connect_end(k, near, p->num, far, fab_fabric_port(f, p->peer)->num);
    return FAB_OK;
}

static int note(struct fab_known *k, const struct fab_fabric *f)
{
    struct fab_floor fl;
    int r = fab_health_floor_init(&fl, f, 0);
    if (r != FAB_OK)
        return r;
    for (uint32_t sw = 0; r == FAB_OK && sw < f->switch_count; sw++) {
        uint32_t at;
        for (uint32_t i = 1; r == FAB_OK && i <= f->nodes[sw].num_ports; i++)
            r = note_port(k, f, fab_fabric_port_id(f, sw, (uint8_t)i));
        if (r == FAB_OK && fab_base_map_get(&k->index, f->nodes[sw].guid, &at) &&
            fl.level[sw] != FAB_NONE)
            k->sw[at].level = fl.level[sw];
    }
    fab_health_floor_fini(&fl);
    return r;
}

static int copy(struct fab_known *k, const struct fab_known *was)
{
    for (uint32_t i = 0; was && i < was->count; i++) {
        const struct fab_known_switch *from = &was->sw[i];
        if (add(k, from->guid, from->ports) != FAB_OK)
            return FAB_E_NOMEM;
        k->sw[i].level = from->level;
        memcpy(k->sw[i].port, from->port, (from->ports + 1u) * sizeof(*from->port));
    }
    return FAB_OK;
}

int fab_health_known_next(const struct fab_known *was, const struct fab_fabric *f,
                          struct fab_known **ret)
{
    struct fab_known *k = calloc(1, sizeof(*k));
    if (!k)
        return FAB_E_NOMEM;
    k->refs = 1;
    int r = copy(k, was);
    if (r == FAB_OK)
        r = note(k, f);
    if (r != FAB_OK) {
        fab_health_known_unref(k);
        return r;
    }
    *ret = k;
    return FAB_OK;
}

/* ---- lost links ------------------------------------------------------------------------------ */

static bool is_current(const struct fab_known *k, uint32_t sw)
{
    uint32_t at;
    return fab_base_map_get(&k->index, k->sw[sw].guid, &at) && at == sw;
}

static bool is_up(const struct fab_known *k, const struct fab_fabric *f, uint32_t sw, uint8_t num)
{
    uint32_t node = fab_fabric_node_by_guid(f, k->sw[sw].guid);
    if (node == FAB_NONE || num > f->nodes[node].num_ports)
        return false;
    return fab_fabric_isl_is_up(f, fab_fabric_port_id(f, node, num));
}

/* Returns true if fab_health_known_lost must list the known link of this port: the link is up at
 * neither end, and the index of `sw` in sw[] is lower than that of the switch at the other end. (So
 * a link is listed only once.) */
static bool is_listed(const struct fab_known *k, const struct fab_fabric *f, uint32_t sw,
                      uint8_t num)
{
    const struct fab_known_port *p = &k->sw[sw].port[num];
    return p->far > sw && is_current(k, sw) && is_current(k, p->far - 1) && !is_up(k, f, sw, num) &&
           !is_up(k, f, p->far - 1, p->far_port);
}

static struct fab_lost_link describe(const struct fab_known *k, const struct fab_fabric *f,
                                     uint32_t a, uint32_t b)
{
    return (struct fab_lost_link){.node = {fab_fabric_node_by_guid(f, k->sw[a].guid),
                                           fab_fabric_node_by_guid(f, k->sw[b].guid)},
                                  .level = {k->sw[a].level, k->sw[b].level}};
}

int fab_health_known_lost(const struct fab_known *k, const struct fab_fabric *f,
                          bool (*skip)(void *ctx, uint64_t guid, uint8_t port), void *ctx,
                          struct fab_lost_link **ret, size_t *ret_count)
{
    struct fab_lost_link *list = NULL;
    size_t n = 0, room = 0;
    for (uint32_t sw = 0; k && sw < k->count; sw++)
        for (uint32_t i = 1; i <= k->sw[sw].ports; i++) {
            if (!is_listed(k, f, sw, (uint8_t)i) || (skip && skip(ctx, k->sw[sw].guid, (uint8_t)i)))
                continue;
            if (n == room) {
                room = room ? room * 2 : 16;
                struct fab_lost_link *more = reallocarray(list, room, sizeof(*more));
                if (!more) {
                    free(list);
                    return FAB_E_NOMEM;
                }
                list = more;
            }
            list[n++] = describe(k, f, sw, k->sw[sw].port[i].far - 1);
        }
    *ret = list;
    *ret_count = n;
    return FAB_OK;
}
