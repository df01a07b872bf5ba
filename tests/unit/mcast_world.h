/* SPDX-License-Identifier: BSD-3-Clause */
/* Multicast trees on a fabric whose members join and leave and whose links fail. The tests check
 * the trees by following packets as switches would forward them. */
#ifndef TESTS_UNIT_MCAST_WORLD_H
#define TESTS_UNIT_MCAST_WORLD_H

#include <string.h>

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/mcast/tree.h"
#include "tests/unit/fabrics.h"

#define GROUPS 4

static inline uint16_t at(const struct fab_blocks *b, uint32_t id, uint32_t number, unsigned k)
{
    const uint16_t *entry = fab_target_blocks_get(b, id, number);
    return entry != NULL ? entry[k] : 0;
}

/* ---- the walk -------------------------------------------------------------------------------- */

struct walk {
    const struct fab_fabric *f;
    const struct fab_blocks *tables;
    uint16_t mlid;
    /* [port_count] true: the MFT entry of the port's switch contains the port */
    bool *named;
    /* [port_count] how often a packet entered a switch by this port, or left it by this port to an
     * endport */
    uint16_t *came;
    uint32_t steps;
};

static inline struct walk walk_of(const struct fab_fabric *f, const struct fab_blocks *tables)
{
    struct walk w = {.f = f, .tables = tables};
    w.named = calloc(f->port_count + 1, sizeof(*w.named));
    w.came = calloc(f->port_count + 1, sizeof(*w.came));
    return w;
}

static inline void walk_fini(struct walk *w)
{
    free(w->named);
    free(w->came);
}

static inline void walk_take(struct walk *w, uint16_t mlid)
{
    w->mlid = mlid;
    for (uint32_t port = 0; port < w->f->port_count; port++) {
        const struct fab_port *p = fab_fabric_port(w->f, port);
        if (p->node >= w->f->switch_count)
            return;
        const uint16_t *entry =
            fab_target_blocks_get(w->tables, p->node, fab_mft_number(mlid, p->num));
        w->named[port] =
            entry != NULL && (entry[(mlid - FAB_MLID_FIRST) % 32] >> p->num % 16 & 1) != 0;
    }
}

/* A packet enters switch `sw` by port `in`. Forwards it by all other ports that the MFT entry
 * contains. */
static inline void forward(struct walk *w, uint32_t sw, uint32_t in)
{
    const struct fab_node *n = &w->f->nodes[sw];
    if (++w->steps > w->f->switch_count)
        ck_abort_msg("MLID 0x%x forwards in a loop", w->mlid);
    for (uint32_t port = n->first_port; port <= n->first_port + n->num_ports; port++) {
        uint32_t peer = fab_fabric_port(w->f, port)->peer;
        if (port == in || !w->named[port])
            continue;
        if (fab_fabric_port(w->f, port)->num == 0) {
            w->came[port]++;
            continue;
        }
        if (peer == FAB_NONE || !fab_fabric_port_is_up(w->f, port))
            continue;
        w->came[peer]++;
        if (fab_fabric_node_is_switch(w->f, fab_fabric_port(w->f, peer)->node))
            forward(w, fab_fabric_port(w->f, peer)->node, peer);
    }
}

static inline void send_from(struct walk *w, uint32_t port)
{
    uint32_t node = fab_fabric_port(w->f, port)->node;
    memset(w->came, 0, w->f->port_count * sizeof(*w->came));
    w->steps = 0;
    if (fab_fabric_node_is_switch(w->f, node))
        forward(w, node, port);
    else if (fab_fabric_peer_node(w->f, port) < w->f->switch_count &&
             fab_fabric_port_is_up(w->f, port))
        forward(w, fab_fabric_peer_node(w->f, port), fab_fabric_port(w->f, port)->peer);
}

/* ---- the world ------------------------------------------------------------------------------- */

/* A fabric and its multicast groups. Members have numbers from 0 to ends - 1: first ports 0 of the
 * switches, then the ports of the adapters. */
struct world {
    /* the fabric without faults, and the fabric in which the links of `dead` have failed */
    struct fab_fabric *whole, *now;
    struct fab_mcast_trees *trees;
    struct fab_prng r;
    uint32_t ends;
    /* [ends] port id of each member number, in the fabric without faults */
    uint32_t *end;
    /* [ends] for each member number and group: 1: receives packets; 2: only sends packets; 0: is no
     * member */
    uint8_t (*member)[GROUPS];
    /* bitset of the ports of failed links, in the fabric without faults */
    uint64_t *dead;
};

static inline void world_fini(struct world *w)
{
    fab_mcast_trees_free(w->trees);
    fab_fabric_unref(w->now);
    fab_fabric_unref(w->whole);
    free(w->end);
    free(w->member);
    free(w->dead);
}

static inline uint16_t mlid_of(uint32_t group)
{
    /* the factor 7 spreads the MLIDs over several MFT blocks */
    return (uint16_t)(FAB_MLID_FIRST + 30 + group * 7);
}

static inline uint64_t guid_of(const struct world *w, uint32_t end)
{
    return fab_fabric_port(w->whole, w->end[end])->guid;
}

/* Returns the node id of the switch to which an endport is connected. Returns FAB_NONE if there is
 * none. `port` and the result are ids of the present snapshot. */
static inline uint32_t switch_of(const struct world *w, uint32_t port)
{
    if (port == FAB_NONE || fab_fabric_node_is_switch(w->now, fab_fabric_port(w->now, port)->node))
        return port == FAB_NONE ? FAB_NONE : fab_fabric_port(w->now, port)->node;
    uint32_t peer = fab_fabric_peer_node(w->now, port);
    return peer < w->now->switch_count && fab_fabric_port_is_up(w->now, port) ? peer : FAB_NONE;
}

/* Finds the connected components of the switches: island[] has the same number for all switches of
 * a component. */
static inline void find_components(const struct world *w, uint32_t *island)
{
    const struct fab_fabric *f = w->now;
    for (uint32_t sw = 0; sw < f->switch_count; sw++)
        island[sw] = sw;
    for (bool again = true; again;) {
        again = false;
        for (uint32_t port = 0; port < f->port_count; port++) {
            uint32_t peer = fab_fabric_peer_node(f, port), sw = fab_fabric_port(f, port)->node;
            if (sw >= f->switch_count || peer >= f->switch_count || !fab_fabric_port_is_up(f, port))
                continue;
            if (island[peer] < island[sw]) {
                island[sw] = island[peer];
                again = true;
            }
        }
    }
}

/* Follows a multicast packet from the member `from`. Each other receiving member that the tree
 * reaches must get the packet exactly once. No other port may get it. */
static inline void judge_from(struct world *w, struct walk *walk, uint32_t group, uint32_t from)
{
    uint32_t port = fab_fabric_port_by_guid(w->now, guid_of(w, from));
    if (!fab_mcast_trees_reaches(w->trees, walk->mlid, guid_of(w, from)))
        return;
    send_from(walk, port);
    for (uint32_t to = 0; to < w->ends; to++) {
        uint32_t out = fab_fabric_port_by_guid(w->now, guid_of(w, to));
        if (to == from || switch_of(w, out) == FAB_NONE)
            continue;
        unsigned shall = w->member[to][group] == 1 &&
                         fab_mcast_trees_reaches(w->trees, walk->mlid, guid_of(w, to));
        /* The test asserts only after a failure, because the library Check writes each assertion to
         * a file. */
        if (walk->came[out] != shall)
            ck_abort_msg("group %u: from %s to %s %u times, not %u", group,
                         w->now->nodes[fab_fabric_port(w->now, port)->node].desc,
                         w->now->nodes[fab_fabric_port(w->now, out)->node].desc, walk->came[out],
                         shall);
    }
}

/* Checks that the tree reaches all members of one connected part of the fabric, and no others. An
 * adapter with two ports may belong to several parts. */
static inline void judge_reach(const struct world *w, uint32_t group, const uint32_t *island)
{
    uint32_t reached = FAB_NONE, missing = 0, members = 0, lost[400];
    for (uint32_t end = 0; end < w->ends; end++) {
        uint32_t sw = switch_of(w, fab_fabric_port_by_guid(w->now, guid_of(w, end)));
        if (w->member[end][group] == 0 || sw == FAB_NONE)
            continue;
        members++;
        if (!fab_mcast_trees_reaches(w->trees, mlid_of(group), guid_of(w, end))) {
            lost[missing++] = island[sw];
            continue;
        }
        if (reached != FAB_NONE && reached != island[sw])
            ck_abort_msg("group %u reaches two islands", group);
        reached = island[sw];
    }
    ck_assert(members == 0 || reached != FAB_NONE);
    for (uint32_t i = 0; i < missing; i++)
        ck_assert_uint_ne(lost[i], reached);
}

static inline void judge_group(struct world *w, struct walk *walk, const uint32_t *island,
                               uint32_t group)
{
    walk_take(walk, mlid_of(group));
    judge_reach(w, group, island);
    for (uint32_t from = 0; from < w->ends; from++)
        if (w->member[from][group] != 0)
            judge_from(w, walk, group, from);
}

/* Checks that each branch of the trees leads one hop nearer to the root. */
static inline void judge_lengths(const struct world *w)
{
    const struct fab_mcast_trees *t = w->trees;
    struct fab_mcast_distances fresh;
    ck_assert_int_eq(fab_mcast_distances_init(&fresh, t->net), FAB_OK);
    for (uint32_t i = 0; i < t->slots; i++) {
        const struct fab_mcast_tree *tree = t->tree[i];
        if (tree == NULL || tree->root == FAB_NONE)
            continue;
        const uint16_t *dist = fab_mcast_distances_to(&fresh, tree->root, i);
        for (size_t k = 0; k < tree->vertices; k++) {
            const struct fab_mcast_vertex *v = &tree->vertex[k];
            if (v->up != FAB_NONE)
                ck_assert_uint_eq(dist[t->net->node[t->net->peer[v->up]]] + 1, dist[v->sw]);
        }
    }
    fab_mcast_distances_fini(&fresh);
}

/* Checks the tree of the group `changed`, or of all groups if it is GROUPS. */
static inline void judge(struct world *w, uint32_t changed)
{
    uint32_t *island = calloc(w->now->switch_count + 1, sizeof(*island));
    struct walk walk = walk_of(w->now, fab_mcast_trees_tables(w->trees));
    ck_assert_uint_lt(w->ends, 400);
    find_components(w, island);
    for (uint32_t group = 0; group < GROUPS; group++)
        if (changed == GROUPS || changed == group)
            judge_group(w, &walk, island, group);
    if (changed == GROUPS)
        judge_lengths(w);
    walk_fini(&walk);
    free(island);
}

/* ---- changes --------------------------------------------------------------------------------- */

static inline void join(struct world *w, uint32_t end, uint32_t group, uint8_t how)
{
    ck_assert_int_eq(fab_mcast_trees_join(w->trees, mlid_of(group), guid_of(w, end), how == 1),
                     FAB_OK);
    w->member[end][group] = how;
}

static inline void leave(struct world *w, uint32_t end, uint32_t group)
{
    uint8_t how = w->member[end][group];
    ck_assert_int_eq(fab_mcast_trees_leave(w->trees, mlid_of(group), guid_of(w, end), how == 1),
                     FAB_OK);
    w->member[end][group] = 0;
}

/* Lets a random endport join or leave a random group, and returns the group. */
static inline uint32_t change_member(struct world *w)
{
    uint32_t end = (uint32_t)fab_base_prng_below(&w->r, w->ends);
    uint32_t group = (uint32_t)fab_base_prng_below(&w->r, GROUPS);
    if (w->member[end][group] != 0)
        leave(w, end, group);
    else
        join(w, end, group, fab_base_prng_chance(&w->r, 0.8) ? 1 : 2);
    return group;
}

/* Makes the snapshot that a discovery finds while the links in w->dead have failed. The manager is
 * at the last adapter. */
static inline void look(struct world *w)
{
    struct fab_builder *b = fab_fabric_builder_from(w->whole);
    struct fab_fabric *damaged, *island;
    uint32_t dropped;
    for (uint32_t port = 0; port < w->whole->port_count; port++)
        if (fab_base_bits_get(w->dead, port))
            ck_assert_int_eq(fab_fabric_builder_unlink(b, fab_fabric_port(w->whole, port)->node,
                                                       fab_fabric_port(w->whole, port)->num),
                             0);
    fab_fabric_builder_set_self(b, fab_fabric_port(w->whole, w->end[w->ends - 1])->node, 1);
    damaged = sealed(b);
    ck_assert_int_eq(fab_fabric_reachable(damaged, &island, &dropped), FAB_OK);
    fab_fabric_unref(damaged);
    fab_fabric_unref(w->now);
    w->now = island;
    ck_assert_int_eq(fab_mcast_trees_update(w->trees, w->now), FAB_OK);
}

static inline void world_init(struct world *w, struct fab_fabric *f, uint64_t seed)
{
    *w = (struct world){.whole = f, .now = fab_fabric_ref(f)};
    fab_base_prng_init(&w->r, seed);
    w->end = calloc(f->port_count, sizeof(*w->end));
    for (uint32_t port = 0; port < f->port_count; port++)
        if (fab_fabric_port_has_lid(f, port))
            w->end[w->ends++] = port;
    w->member = calloc(w->ends, sizeof(*w->member));
    w->dead = fab_base_bits_new(f->port_count);
    ck_assert_int_eq(fab_mcast_trees_new(f, &w->trees), FAB_OK);
    /* A partitioned fabric: the snapshot w->now has only the part to which the manager is
     * connected. */
    look(w);
}

static inline void set_dead(struct world *w, uint32_t port, bool dead)
{
    if (fab_fabric_port(w->whole, port)->peer == FAB_NONE)
        return;
    fab_base_bits_put(w->dead, port, dead);
    fab_base_bits_put(w->dead, fab_fabric_port(w->whole, port)->peer, dead);
}

/* Makes one link, or all links of a switch, fail or come back. Chooses a return more often than a
 * failure. Returns GROUPS, because the trees of all groups may change. */
static inline uint32_t change_fabric(struct world *w)
{
    bool dies =
        fab_base_bits_count(w->dead, w->whole->port_count) < 8 && fab_base_prng_chance(&w->r, 0.6);
    uint32_t sw = (uint32_t)fab_base_prng_below(&w->r, w->whole->switch_count);
    const struct fab_node *n = &w->whole->nodes[sw];
    if (fab_base_prng_chance(&w->r, 0.2)) {
        for (uint32_t num = 1; num <= n->num_ports; num++)
            set_dead(w, n->first_port + num, dies);
    } else if (dies) {
        set_dead(w, n->first_port + 1 + (uint32_t)fab_base_prng_below(&w->r, n->num_ports), true);
    } else {
        size_t from = fab_base_prng_below(&w->r, w->whole->port_count);
        size_t port = fab_base_bits_next(w->dead, w->whole->port_count, from);
        if (port < w->whole->port_count)
            set_dead(w, (uint32_t)port, false);
    }
    look(w);
    return GROUPS;
}

static inline void assert_nothing_left(const struct world *w)
{
    const struct fab_blocks *tables = fab_mcast_trees_tables(w->trees);
    for (size_t i = 0; i < tables->count; i++)
        for (unsigned k = 0; k < FAB_BLOCK_ENTRIES; k++)
            ck_assert_uint_eq(tables->block[i].entry[k], 0);
    ck_assert_uint_eq(fab_mcast_trees_count(w->trees), 0);
}

static inline void all_leave(struct world *w)
{
    for (uint32_t end = 0; end < w->ends; end++)
        for (uint32_t group = 0; group < GROUPS; group++)
            if (w->member[end][group] != 0)
                leave(w, end, group);
}

#endif
