/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A second implementation of the proof, with which the tests compare the proof on small fabrics. It
 * follows the path of each pair separately, and collects the channel dependencies in a matrix, so
 * it is slow.
 */
#ifndef TESTS_UNIT_NAIVE_H
#define TESTS_UNIT_NAIVE_H

#include "tests/unit/routing.h"

struct naive {
    const struct fab_fabric *f;
    const struct fab_lids *lids;
    const struct fab_lft *lft;
    uint32_t max_hops;
    uint64_t pairs, unreachable, unreachable_hosts, dependencies;
    uint32_t longest;
    bool cyclic;
    bool *depends; /* [port_count][port_count] channel dependencies */
    uint8_t *colour;
    bool *reached; /* [node_count] true: naive_reach() has reached this node */
};

static inline bool naive_is_channel(const struct fab_fabric *f, uint32_t port)
{
    uint32_t peer = fab_fabric_peer_node(f, port);
    return fab_fabric_port(f, port)->num != 0 &&
           fab_fabric_node_is_switch(f, fab_fabric_port(f, port)->node) && peer != FAB_NONE &&
           fab_fabric_node_is_switch(f, peer) && fab_fabric_port_is_up(f, port);
}

/* Marks all nodes that packets can reach from `node` over links. Only switches forward packets. */
static inline void naive_reach(struct naive *n, uint32_t node)
{
    if (n->reached[node])
        return;
    n->reached[node] = true;
    if (!fab_fabric_node_is_switch(n->f, node))
        return;
    for (unsigned num = 1; num <= n->f->nodes[node].num_ports; num++) {
        uint32_t port = fab_fabric_port_id(n->f, node, (uint8_t)num);
        if (fab_fabric_port_is_up(n->f, port))
            naive_reach(n, fab_fabric_peer_node(n->f, port));
    }
}

static inline bool naive_connected(struct naive *n, uint32_t src, uint32_t dst)
{
    const struct fab_fabric *f = n->f;
    bool src_sw = fab_fabric_node_is_switch(f, fab_fabric_port(f, src)->node);
    bool dst_sw = fab_fabric_node_is_switch(f, fab_fabric_port(f, dst)->node);
    if ((!src_sw && !fab_fabric_port_is_up(f, src)) || (!dst_sw && !fab_fabric_port_is_up(f, dst)))
        return false;
    if (!src_sw && fab_fabric_port(f, src)->peer == dst)
        return true;
    memset(n->reached, 0, f->node_count);
    uint32_t from = src_sw ? fab_fabric_port(f, src)->node : fab_fabric_peer_node(f, src);
    uint32_t to = dst_sw ? fab_fabric_port(f, dst)->node : fab_fabric_peer_node(f, dst);
    if (!fab_fabric_node_is_switch(f, from) || !fab_fabric_node_is_switch(f, to))
        return false;
    naive_reach(n, from);
    return n->reached[to];
}

/* Follows a packet from port `src` to the LID. Returns the number of switches that the packet
 * passes, which may be 0; -1 if the packet does not arrive. */
static inline int naive_walk(struct naive *n, uint32_t src, uint32_t lid)
{
    const struct fab_fabric *f = n->f;
    uint32_t dst = n->lids->owner[lid], at = fab_fabric_port(f, src)->node, came_by = FAB_NONE;
    if (!fab_fabric_node_is_switch(f, at)) {
        if (fab_fabric_port(f, src)->peer == dst)
            return 0;
        at = fab_fabric_peer_node(f, src);
    }
    for (uint32_t switches = 1; switches <= f->switch_count + 1; switches++) {
        uint8_t num = fab_target_lft_at(n->lft, at, lid);
        if (num > f->nodes[at].num_ports)
            return -1;
        uint32_t port = fab_fabric_port_id(f, at, num);
        if (came_by != FAB_NONE && naive_is_channel(f, port))
            n->depends[(size_t)came_by * f->port_count + port] = true;
        if (num == 0)
            return port == dst ? (int)switches : -1;
        if (!fab_fabric_port_is_up(f, port))
            return -1;
        if (!naive_is_channel(f, port))
            return fab_fabric_port(f, port)->peer == dst ? (int)switches : -1;
        came_by = port;
        at = fab_fabric_peer_node(f, port);
    }
    return -1;
}

static inline void naive_pair(struct naive *n, uint32_t src, uint32_t lid)
{
    uint32_t dst = n->lids->owner[lid];
    if (src == dst || !naive_connected(n, src, dst))
        return;
    n->pairs++;
    int switches = naive_walk(n, src, lid);
    if (switches > 0 && (uint32_t)switches > n->longest)
        n->longest = (uint32_t)switches;
    bool lost = switches < 0 || (uint32_t)switches > n->max_hops;
    n->unreachable += lost;
    n->unreachable_hosts += lost &&
                            !fab_fabric_node_is_switch(n->f, fab_fabric_port(n->f, src)->node) &&
                            !fab_fabric_node_is_switch(n->f, fab_fabric_port(n->f, dst)->node);
}

static inline void naive_visit(struct naive *n, uint32_t port)
{
    n->colour[port] = 1;
    for (uint32_t next = 0; next < n->f->port_count; next++) {
        if (!n->depends[(size_t)port * n->f->port_count + next])
            continue;
        if (n->colour[next] == 1)
            n->cyclic = true;
        else if (n->colour[next] == 0)
            naive_visit(n, next);
    }
    n->colour[port] = 2;
}

static inline struct naive naive_verify(const struct fab_fabric *f, const struct fab_target *t,
                                        uint32_t max_hops)
{
    struct naive n = {.f = f, .lids = &t->lids, .lft = &t->lft, .max_hops = max_hops};
    size_t ports = f->port_count;
    n.depends = calloc(ports * ports + 1, sizeof(bool));
    n.colour = calloc(ports + 1, 1);
    n.reached = calloc(f->node_count + 1, sizeof(bool));
    for (uint32_t src = 0; src < f->port_count; src++) {
        for (uint32_t lid = 1; lid <= t->lids.top && t->lids.base[src] != 0; lid++) {
            if (t->lids.owner[lid] != FAB_NONE)
                naive_pair(&n, src, lid);
        }
    }
    for (size_t i = 0; i < ports * ports; i++)
        n.dependencies += n.depends[i];
    for (uint32_t port = 0; port < f->port_count; port++) {
        if (n.colour[port] == 0)
            naive_visit(&n, port);
    }
    free(n.depends);
    free(n.colour);
    free(n.reached);
    return n;
}

static inline void assert_agrees(const struct naive *n, const struct fab_verdict *v)
{
    ck_assert_uint_eq(v->pairs, n->pairs);
    ck_assert_uint_eq(v->unreachable_pairs, n->unreachable);
    ck_assert_uint_eq(v->unreachable_host_pairs, n->unreachable_hosts);
    ck_assert_uint_eq(v->longest_path, n->longest);
    ck_assert_uint_eq(v->dependencies, n->dependencies);
    ck_assert_int_eq(v->deadlock_free, !n->cyclic);
}

#endif
