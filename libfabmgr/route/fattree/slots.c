/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the slots of each switch. Slot i is the port that D-mod-k means by "the i-th port up". A
 * packet that ascends from a switch takes slot (number / divider) mod slots: `number` is the number
 * of the destination, and `slots` is the number of slots of the switch. A slot whose link is
 * missing stays empty, and the other slots do not change.
 *
 * A switch is regular if its uplinks are equally fast, and their number is close to the usual
 * number on its level. Let `positions` be the number of positions among the upper switches of its
 * group (tree.c), positions of missing switches included. Let `parallel` be the usual number of
 * parallel links between two switches on its level. The switch has positions * parallel slots. Slot
 * p * positions + o is the p-th link to the upper switch at position o. So all switches of a group
 * reach the same upper switch by the same slot, which makes shifts free of conflicts.
 *
 * Other switches are irregular: they have one slot for each link, and several slots for faster
 * links if FAB_TREE_SLOTS slots suffice for this. These slots are not stable: a lost link moves
 * many of them.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/route/fattree/tree.h"

#define DIVIDER_MAX (1u << 20)
/* maximum number of slots of a link that is faster than other links of its switch */
#define FASTER 4

/* Returns the number of links from switch s to the neighbour updown.nbr[i]; 0 if this neighbour is
 * not one rank above s. */
static uint32_t links_up(const struct fab_tree *t, uint32_t s, uint32_t i)
{
    bool up = t->o->rank[t->updown->nbr[i]] == t->o->rank[s] + 1;
    return up ? t->ports.at[i + 1] - t->ports.at[i] : 0;
}

/* Finds, for each rank, the usual number of parallel links from a switch to a switch one rank
 * above. The usual number is the most frequent one. */
static void find_usual_parallels(struct fab_tree *t)
{
    uint32_t count[256];
    for (uint32_t rank = 0; rank + 1 < t->levels; rank++) {
        memset(count, 0, sizeof(count));
        for (uint32_t s = 0; s < t->g->n; s++) {
            if (t->o->rank[s] != rank)
                continue;
            for (uint32_t i = t->updown->at[s]; i < t->updown->at[s + 1]; i++)
                count[links_up(t, s, i)]++;
        }
        count[0] = 0;
        t->parallel[rank] = 1;
        for (uint32_t k = 2; k < 256; k++) {
            if (count[k] > count[t->parallel[rank]])
                t->parallel[rank] = (uint8_t)k;
        }
    }
}

static void find_first_ports(struct fab_tree *t)
{
    memset(t->first_up, UINT8_MAX, sizeof(t->first_up));
    memset(t->first_down, UINT8_MAX, sizeof(t->first_down));
    for (uint32_t s = 0; s < t->g->n; s++) {
        uint32_t rank = t->o->rank[s];
        for (uint32_t p = t->g->port_at[s]; p < t->g->port_at[s + 1]; p++) {
            uint32_t theirs = t->o->rank[t->g->port_peer[p]];
            uint8_t *first = theirs > rank ? &t->first_up[rank] : &t->first_down[rank];
            if (theirs != rank && t->g->port_num[p] < *first)
                *first = t->g->port_num[p];
        }
    }
}

/* The links from one switch to the switches one rank higher: their numbers and speeds. */
struct above {
    uint32_t neighbours, ports, positions, parallel;
    /* number of links that can have a slot; these are at most `parallel` links to each neighbour */
    uint32_t usable;
    /* port_slow (struct fab_graph) of the slowest, and of the fastest, of the links that lead one
     * rank up */
    uint8_t slowest, fastest;
};

static struct above links_above(const struct fab_tree *t, uint32_t s)
{
    struct above a = {.parallel = t->parallel[t->o->rank[s]], .fastest = UINT8_MAX};
    for (uint32_t i = t->updown->at[s]; i < t->updown->at[s + 1]; i++) {
        uint32_t ports = links_up(t, s, i);
        if (ports == 0)
            continue;
        a.neighbours++;
        a.ports += ports;
        a.usable += ports < a.parallel ? ports : a.parallel;
        a.positions = t->upper_positions[t->updown->nbr[i]];
    }
    for (uint32_t p = t->g->port_at[s]; p < t->g->port_at[s + 1]; p++) {
        if (t->o->rank[t->g->port_peer[p]] != t->o->rank[s] + 1)
            continue;
        a.slowest = t->g->port_slow[p] > a.slowest ? t->g->port_slow[p] : a.slowest;
        a.fastest = t->g->port_slow[p] < a.fastest ? t->g->port_slow[p] : a.fastest;
    }
    return a;
}

/* Returns true if the switch is regular. The slots of a regular switch follow from the positions of
 * the upper switches. To be regular, a switch must meet four conditions. It has uplinks, and all of
 * them are equally fast. It has at most FAB_TREE_SLOTS slots. The number of slots without a link
 * must not exceed a quarter of the slots or the usual number of parallel links to one neighbour,
 * whichever is greater. The number of links without a slot must not exceed a quarter of the
 * slots. */
static bool is_regular(const struct above *a)
{
    uint32_t slots = a->positions * a->parallel;
    uint32_t tolerated = slots / 4 > a->parallel ? slots / 4 : a->parallel;
    return a->ports > 0 && a->fastest == a->slowest && slots <= FAB_TREE_SLOTS &&
           a->usable + tolerated >= slots && a->ports - a->usable <= slots / 4;
}

static uint32_t weight(const struct above *a, uint8_t slow)
{
    uint32_t times = slow > 0 ? (a->slowest + slow / 2u) / slow : 1;
    return times < 1 ? 1 : times > FASTER ? FASTER : times;
}

static uint32_t count_slots(const struct fab_tree *t, uint32_t s, const struct above *a)
{
    uint32_t count = 0;
    if (is_regular(a))
        return a->positions * a->parallel;
    for (uint32_t p = t->g->port_at[s]; p < t->g->port_at[s + 1]; p++) {
        if (t->o->rank[t->g->port_peer[p]] == t->o->rank[s] + 1)
            count += weight(a, t->g->port_slow[p]);
    }
    return count <= FAB_TREE_SLOTS ? count : a->ports;
}

/* ---- regular switches ------------------------------------------------------------------------ */

/* Finds which parallel links to a neighbour remain, if some are missing. Parallel links are on
 * adjacent ports of the lower switch (side_by_side), or alternate with the links to the other
 * neighbours. So the port numbers show which links remain. num[count]: port numbers of the
 * remaining links. first: the lowest port number that leads up on this level. ret_parallel[k]:
 * which of the parallel links (from 0) is at port num[k]. If the port numbers do not tell them
 * apart, the remaining links are numbered from 0. */
static void identify_parallel(const struct above *a, const uint8_t *num, uint32_t count,
                              bool side_by_side, uint32_t first, uint32_t ret_parallel[256])
{
    bool taken[256] = {false}, distinct = true;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t off = num[k] - first;
        uint32_t at = side_by_side ? off % a->parallel : off / a->positions % a->parallel;
        distinct = distinct && !taken[at];
        taken[at] = true;
        ret_parallel[k] = at;
    }
    for (uint32_t k = 0; k < count && !distinct; k++)
        ret_parallel[k] = k;
}

static void fill_regular(struct fab_tree *t, uint32_t s, const struct above *a)
{
    uint32_t first = t->first_up[t->o->rank[s]], at = t->slot_at[s];
    bool side_by_side = false;
    for (uint32_t i = t->updown->at[s]; i < t->updown->at[s + 1]; i++) {
        const uint8_t *num = t->ports.num + t->ports.at[i];
        uint32_t count = links_up(t, s, i);
        if (count == 0)
            continue;
        side_by_side = side_by_side || (count > 1 && num[1] == num[0] + 1);
    }
    for (uint32_t i = t->updown->at[s]; i < t->updown->at[s + 1]; i++) {
        const uint8_t *num = t->ports.num + t->ports.at[i];
        uint32_t count = links_up(t, s, i), parallel[256];
        if (count < a->parallel)
            identify_parallel(a, num, count, side_by_side, first, parallel);
        for (uint32_t k = 0; k < count && k < a->parallel; k++) {
            uint32_t p = count < a->parallel ? parallel[k] : k;
            uint32_t slot = at + p * a->positions + t->upper_pos[t->updown->nbr[i]];
            t->slot_num[slot] = num[k];
            t->slot_nbr[slot] = (uint8_t)(i - t->updown->at[s]);
        }
    }
}

/* ---- irregular switches ---------------------------------------------------------------------- */

static uint8_t local_nbr(const struct fab_tree *t, uint32_t s, uint32_t peer)
{
    uint32_t i = t->updown->at[s];
    while (t->updown->nbr[i] != peer)
        i++;
    return (uint8_t)(i - t->updown->at[s]);
}

/* Distributes the slots over the links of an irregular switch. First each link gets one slot; then
 * the faster links get further slots. */
static void fill_irregular(struct fab_tree *t, uint32_t s, const struct above *a)
{
    uint32_t slot = t->slot_at[s], end = t->slot_at[s + 1];
    for (uint32_t round = 0; slot < end; round++) {
        for (uint32_t p = t->g->port_at[s]; p < t->g->port_at[s + 1] && slot < end; p++) {
            uint32_t peer = t->g->port_peer[p];
            if (t->o->rank[peer] != t->o->rank[s] + 1 || weight(a, t->g->port_slow[p]) <= round)
                continue;
            t->slot_num[slot] = t->g->port_num[p];
            t->slot_nbr[slot++] = local_nbr(t, s, peer);
        }
    }
}

/* ---- all switches ---------------------------------------------------------------------------- */

static void count_empty_slots(struct fab_tree *t, uint32_t s)
{
    bool class_row_of[256] = {false};
    t->whole[s] = t->slot_at[s + 1] > t->slot_at[s];
    for (uint32_t i = t->slot_at[s]; i < t->slot_at[s + 1]; i++) {
        if (t->slot_num[i] == 0) {
            t->whole[s] = false;
            t->empty_slots++;
        } else if (!class_row_of[t->slot_nbr[i]]) {
            class_row_of[t->slot_nbr[i]] = true;
            t->slot_nbrs[s]++;
        }
    }
}

static void find_dividers(struct fab_tree *t)
{
    for (uint32_t s = 0; s < t->g->n; s++)
        t->divider[s] = 1;
    for (uint32_t rank = 0; rank + 1 < t->levels; rank++) {
        for (uint32_t s = 0; s < t->g->n; s++) {
            if (t->o->rank[s] != rank)
                continue;
            struct above a = links_above(t, s);
            uint64_t here = (uint64_t)t->divider[s] * (is_regular(&a) ? a.positions : a.neighbours);
            for (uint32_t i = t->updown->at[s]; i < t->updown->at[s + 1]; i++) {
                uint32_t *above = &t->divider[t->updown->nbr[i]];
                if (links_up(t, s, i) > 0 && here > *above)
                    *above = (uint32_t)(here < DIVIDER_MAX ? here : DIVIDER_MAX);
            }
        }
    }
}

/* Sets leaf_size, the number of D-mod-k numbers that are reserved for each leaf, to the greatest
 * number of host positions at any leaf. Also sets first_host. */
static void size_leaves(struct fab_tree *t)
{
    const struct fab_fabric *f = t->f;
    uint32_t first = UINT32_MAX;
    uint8_t positions[256];
    for (uint32_t s = 0; s < t->g->n; s++) {
        for (unsigned num = 1; t->o->leaf[s] && num <= f->nodes[s].num_ports; num++) {
            uint32_t port = fab_fabric_port_id(f, s, (uint8_t)num),
                     peer = fab_fabric_peer_node(f, port);
            if (num < first && peer != FAB_NONE && !fab_fabric_node_is_switch(f, peer) &&
                !f->nodes[peer].aggregation)
                first = num;
        }
    }
    t->leaf_size = 1;
    t->first_host = first;
    for (uint32_t s = 0; s < t->g->n; s++) {
        uint32_t size = t->o->leaf[s] ? fab_route_tree_host_positions(f, s, first, positions) : 0;
        t->leaf_size = size > t->leaf_size ? size : t->leaf_size;
    }
}

static void mark_neighbours(struct fab_tree *t)
{
    for (uint32_t s = 0; s < t->g->n; s++) {
        for (uint32_t i = t->updown->at[s]; i < t->updown->at[s + 1]; i++) {
            uint32_t ports = t->ports.at[i + 1] - t->ports.at[i];
            t->higher[i] = t->o->rank[t->updown->nbr[i]] > t->o->rank[s] ? 0xff : 0;
            t->single_port[i] = ports == 1 ? t->ports.num[t->ports.at[i]] : 0;
        }
    }
}

int fab_route_tree_slots(struct fab_tree *t)
{
    uint32_t total = 0;
    find_usual_parallels(t);
    find_first_ports(t);
    mark_neighbours(t);
    for (uint32_t s = 0; s < t->g->n; s++) {
        struct above a = links_above(t, s);
        t->slot_at[s] = total;
        total += count_slots(t, s, &a);
    }
    t->slot_at[t->g->n] = total;
    t->slot_num = calloc((size_t)total + 1, 1);
    t->slot_nbr = calloc((size_t)total + 1, 1);
    if (t->slot_num == NULL || t->slot_nbr == NULL)
        return FAB_E_NOMEM;
    for (uint32_t s = 0; s < t->g->n; s++) {
        struct above a = links_above(t, s);
        if (is_regular(&a)) {
            fill_regular(t, s, &a);
        } else {
            fill_irregular(t, s, &a);
            t->irregular_switch[s] = a.ports > 0;
            t->irregular += a.ports > 0;
        }
        count_empty_slots(t, s);
    }
    find_dividers(t);
    size_leaves(t);
    return FAB_OK;
}
