/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A second implementation of the proof with several VLs, for small fabrics. It is slow: it follows
 * each packet with its SL, and its VL on each link, and stores the dependencies of channels (port,
 * VL) in a matrix.
 */
#ifndef TESTS_UNIT_VERIFY_VLS_H
#define TESTS_UNIT_VERIFY_VLS_H

#include "tests/unit/naive.h"

struct naive_vls {
    const struct fab_fabric *f;
    const struct fab_target *t;
    size_t size;     /* number of channels: number of ports * 16 VLs */
    bool *depends;   /* [size][size] channel dependencies */
    uint8_t *colour; /* [size] whether the search for cycles has visited the channel */
    uint16_t *used;  /* [ports] bitset of the VLs on which packets leave the port */
    uint64_t dependencies;
    uint32_t beyond;
    bool cyclic;
};

static inline uint32_t naive_switch_of(const struct fab_fabric *f, uint32_t port)
{
    uint32_t node = fab_fabric_port(f, port)->node;
    return fab_fabric_node_is_switch(f, node) ? node : fab_fabric_peer_node(f, port);
}

/* Follows a packet of the traffic class `level` from the port src to the LID, and stores its
 * channel dependencies. */
static inline void naive_send(struct naive_vls *n, uint32_t src, uint32_t lid, uint8_t level)
{
    const struct fab_fabric *f = n->f;
    const struct fab_vls *v = &n->t->vls;
    uint32_t dst = n->t->lids.owner[lid], at = naive_switch_of(f, src), in = src;
    uint8_t sl = v->of_pair  ? v->of_pair[naive_switch_of(f, dst) * v->switches + at]
                 : v->of_lid ? v->of_lid[lid]
                             : 0;
    sl = v->levels > 1 ? v->sl[level][sl] : sl;
    size_t last = SIZE_MAX;
    if (fab_fabric_node_is_switch(f, fab_fabric_port(f, src)->node) ||
        fab_fabric_port(f, src)->peer != dst) {
        for (uint32_t i = 0; i < 2 * f->switch_count + 2; i++) {
            uint8_t num = fab_target_lft_at(&n->t->lft, at, lid);
            uint32_t out = fab_fabric_port_id(f, at, num);
            if (num > f->nodes[at].num_ports || !naive_is_channel(f, out))
                return;
            /* when a packet begins at an endport or at port 0, the input class is 0 */
            uint8_t from = i > 0 && v->port_class ? v->port_class[in] : 0;
            uint8_t to = v->port_class ? v->port_class[out] : 0;
            size_t channel = out * 16u + v->vl[from][to][sl];
            n->used[out] |= (uint16_t)(1u << v->vl[from][to][sl]);
            if (last != SIZE_MAX)
                n->depends[last * n->size + channel] = true;
            last = channel;
            in = fab_fabric_port(f, out)->peer;
            at = fab_fabric_port(f, in)->node;
        }
    }
}

static inline void naive_lanes_visit(struct naive_vls *n, size_t channel)
{
    n->colour[channel] = 1;
    for (size_t next = 0; next < n->size; next++) {
        if (!n->depends[channel * n->size + next])
            continue;
        if (n->colour[next] == 1)
            n->cyclic = true;
        else if (n->colour[next] == 0)
            naive_lanes_visit(n, next);
    }
    n->colour[channel] = 2;
}

static inline void naive_lanes_judge(struct naive_vls *n, const struct fab_policy *p)
{
    for (size_t i = 0; i < n->size * n->size; i++)
        n->dependencies += n->depends[i];
    for (size_t channel = 0; channel < n->size; channel++) {
        if (n->colour[channel] == 0)
            naive_lanes_visit(n, channel);
    }
    for (uint32_t port = 0; port < n->f->port_count; port++)
        n->beyond += (n->used[port] >> fab_target_port_vls(n->f, p, port)) != 0;
}

/* Follows all packets of all traffic classes. The caller must call naive_vls_fini(). */
static inline struct naive_vls naive_vls(const struct fab_fabric *f, const struct fab_target *t,
                                         const struct fab_policy *p)
{
    struct naive pairs = {.f = f, .lids = &t->lids, .lft = &t->lft};
    struct naive_vls n = {.f = f, .t = t, .size = f->port_count * 16u};
    pairs.reached = calloc(f->node_count + 1, sizeof(bool));
    n.depends = calloc(n.size * n.size + 1, sizeof(bool));
    n.colour = calloc(n.size + 1, 1);
    n.used = calloc(f->port_count + 1, sizeof(*n.used));
    for (uint32_t src = 0; src < f->port_count; src++) {
        for (uint32_t lid = 1; lid <= t->lids.top && t->lids.base[src] != 0; lid++) {
            uint32_t dst = t->lids.owner[lid];
            bool sends = dst != FAB_NONE && dst != src && naive_connected(&pairs, src, dst);
            for (uint8_t level = 0; sends && level < fab_target_vls_levels(&t->vls); level++)
                naive_send(&n, src, lid, level);
        }
    }
    naive_lanes_judge(&n, p);
    free(pairs.reached);
    return n;
}

static inline void naive_vls_fini(struct naive_vls *n)
{
    free(n->depends);
    free(n->colour);
    free(n->used);
}

#endif
