/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes the entries of one switch for one destination in the general case: there are several
 * candidates (neighbours that are one hop nearer on a legal path), but some of the slots (the ports
 * from which D-mod-k selects) lead to other switches.
 *
 * The port is chosen for each DLID separately. A DLID keeps its slot if the slot leads to a
 * candidate. So a fault moves only DLIDs whose slots it affects. These DLIDs are displaced: they
 * probe all slots, not only slots that lead to candidates. So after a second fault, a displaced
 * DLID keeps the slot that it has chosen, unless this fault affects that slot.
 *
 * The first probe spreads the displaced DLIDs evenly over all other slots. It depends on number /
 * divider / slots, where `number` is the D-mod-k number of the DLID. It also depends on the
 * position of the switch among the lower switches of its group. So the displaced DLIDs do not meet
 * on one link, whether they are DLIDs of one switch or of several. Further probes are
 * pseudo-random.
 */
#include "libfabmgr/base/prng.h"
#include "libfabmgr/route/fattree/entries.h"

#define BATCH FAB_LEGAL_BATCH
#define PROBES 64

bool fab_route_parallel_missing(const struct fab_batch *b, uint32_t s, uint32_t dest)
{
    const struct fab_tree *t = b->t;
    uint32_t home = b->dmodk->sw[dest], rank = t->o->rank[s];
    return t->parallel[rank] > 1 && t->o->rank[home] == rank && !t->whole[home] &&
           !t->irregular_switch[home] && !t->irregular_switch[s] &&
           t->slot_at[home + 1] - t->slot_at[home] == t->slot_at[s + 1] - t->slot_at[s];
}

struct choice {
    const struct fab_entry_choice *c;
    /* lower_pos: position of the switch among the lower switches of its group (tree.h). slots:
     * number of its slots. nbrs: number of candidates. ports: number of links to candidates. */
    uint32_t lower_pos, slots, nbrs, ports;
    const uint8_t *slot_num, *slot_nbr;
    /* [slots of the destination switch] The port in each slot of the destination switch (tree.h);
     * 0: the slot has no link. If home[] is set, a slot of the switch is good only if the
     * destination switch has a link in the same slot. NULL if fab_route_parallel_missing is
     * false: the links of the destination switch then do not matter. */
    const uint8_t *home;
    uint32_t nbr[256]; /* the candidates, as indices into updown.nbr */
    /* is[i]: whether the neighbour updown.nbr[updown.at[s] + i] is a candidate */
    bool is[256];
    /* true: some candidate has a higher rank than the switch, so the D-mod-k slot of each DLID
     * selects the port */
    bool upward;
};

static void collect(const struct fab_entry_choice *c, struct choice *ret)
{
    const struct fab_tree *t = c->b->t;
    const struct fab_updown *sl = t->updown;
    const uint8_t *column = c->b->paths + c->column;
    const uint32_t *row_of = c->b->row_of;
    uint8_t own = column[(size_t)row_of[c->s] * BATCH];
    uint8_t need = (uint8_t)((own & FAB_LEGAL_HOPS) - 1);
    ret->c = c;
    ret->lower_pos = t->lower_pos[c->s];
    ret->slots = t->slot_at[c->s + 1] - t->slot_at[c->s];
    ret->slot_num = t->slot_num + t->slot_at[c->s];
    ret->slot_nbr = t->slot_nbr + t->slot_at[c->s];
    if (fab_route_parallel_missing(c->b, c->s, c->dest))
        ret->home = t->slot_num + t->slot_at[c->b->dmodk->sw[c->dest]];
    for (uint32_t n = sl->at[c->s]; n < sl->at[c->s + 1]; n++) {
        uint8_t paths = column[(size_t)row_of[sl->nbr[n]] * BATCH];
        bool is = n < sl->mid[c->s] ? paths == need
                                    : own >= FAB_LEGAL_CLIMBS && (paths & FAB_LEGAL_HOPS) == need;
        ret->is[n - sl->at[c->s]] = is;
        if (!is)
            continue;
        ret->nbr[ret->nbrs++] = n;
        ret->ports += t->ports.at[n + 1] - t->ports.at[n];
        ret->upward = ret->upward || t->o->rank[sl->nbr[n]] > t->o->rank[c->s];
    }
}

static bool slot_is_good(const struct choice *x, uint32_t slot)
{
    return x->slot_num[slot] != 0 && x->is[x->slot_nbr[slot]] &&
           (x->home == NULL || x->home[slot] != 0);
}

/* Numbers the links to all candidates from 0, and returns the port of link k modulo x->ports. */
static uint8_t any_link(const struct choice *x, uint32_t k)
{
    const struct fab_nbr_ports *ports = &x->c->b->t->ports;
    k %= x->ports;
    for (uint32_t i = 0; i < x->nbrs; i++) {
        uint32_t count = ports->at[x->nbr[i] + 1] - ports->at[x->nbr[i]];
        if (k < count)
            return ports->num[ports->at[x->nbr[i]] + k];
        k -= count;
    }
    return 0;
}

/* Returns the port for a DLID whose D-mod-k slot is not good (slot_is_good). Tries other slots
 * until one is good. If none is, returns the port of any link to a candidate. */
static uint8_t probe_slots(const struct choice *x, uint32_t slot, uint32_t quotient,
                           uint32_t number)
{
    uint32_t k = x->slots;
    if (k < 2)
        return any_link(x, quotient);
    uint32_t probe = (slot + 1 + (quotient / k + x->lower_pos) % (k - 1)) % k;
    for (uint32_t i = 0; i < PROBES; i++) {
        if (slot_is_good(x, probe))
            return x->slot_num[probe];
        uint64_t key = ((uint64_t)number << 32) + ((uint64_t)x->lower_pos << 16) + i;
        probe = (uint32_t)(fab_base_mix64(key + 1) % k);
    }
    for (uint32_t i = 0; i < k; i++, probe = probe + 1 < k ? probe + 1 : 0) {
        if (slot_is_good(x, probe))
            return x->slot_num[probe];
    }
    return any_link(x, quotient);
}

/* Returns the port for packets that descend, if there are several candidates. Packets from switches
 * below the candidates ascend to the candidate that D-mod-k selects, and turn down at this
 * candidate. This function selects the same candidate, so that all packets to the DLID descend by
 * one switch. */
static uint8_t descend(const struct choice *x, uint32_t number, uint32_t offset)
{
    const struct fab_tree *t = x->c->b->t;
    uint32_t first = t->updown->nbr[x->nbr[0]];
    uint32_t positions = t->upper_positions[first] > 0 ? t->upper_positions[first] : 1;
    uint32_t divider = t->divider[first] / positions;
    uint32_t quotient = number / (divider > 0 ? divider : 1) + offset;
    for (uint32_t i = 0; i < x->nbrs && t->upper_positions[first] > 0; i++) {
        uint32_t nbr = x->nbr[i], ports = t->ports.at[nbr + 1] - t->ports.at[nbr];
        if (t->upper_pos[t->updown->nbr[nbr]] == quotient % positions)
            return t->ports.num[t->ports.at[nbr] + quotient / positions % ports];
    }
    return any_link(x, quotient / positions + x->lower_pos);
}

void fab_route_entry_choose(const struct fab_entry_choice *c)
{
    const struct fab_dmodk_slots *slots_of = &c->b->dmodk->slots_of[c->b->dmodk->up[c->s]];
    struct choice x = {0};
    collect(c, &x);
    if (x.nbrs == 0)
        return;
    for (uint32_t i = 0; i < c->dlids.count; i++) {
        const struct fab_dmodk_dlid *dlid = &c->dlid[i];
        uint8_t *entry = &c->row[dlid->lid];
        if (!x.upward || x.slots == 0) {
            *entry = descend(&x, dlid->number, dlid->offset);
            continue;
        }
        uint32_t slot = slots_of->slot[c->dlids.at + i];
        uint32_t quotient = dlid->number / slots_of->divider + dlid->offset;
        *entry = slot_is_good(&x, slot) ? x.slot_num[slot]
                                        : probe_slots(&x, slot, quotient, dlid->number);
    }
}
