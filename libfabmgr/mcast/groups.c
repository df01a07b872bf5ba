/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Joins and leaves of multicast groups (IBA 15.2.5.17, with the rules o15-0.2.x of chapter 15).
 * Where the rules permit several answers, the manager answers as OpenSM does, because hosts expect
 * these answers.
 *
 * The components in a request must match the group; MTU, rate and lifetime are compared as their
 * selectors demand. A new group gets the values in the request. If the request has a range for the
 * MTU or rate, the group gets the greatest value in this range that the port supports.
 */
#include "libfabmgr/mcast/groups.h"

#include <string.h>

#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/mcast/group_store.h"

/* ---- components ------------------------------------------------------------------------------ */

/* bits of the ComponentMask of MCMemberRecord, IBA 15.2.5.17 */
enum component {
    C_MGID = 1 << 0,
    C_PORT_GID = 1 << 1,
    C_QKEY = 1 << 2,
    C_MLID = 1 << 3,
    C_MTU_SELECTOR = 1 << 4,
    C_MTU = 1 << 5,
    C_TCLASS = 1 << 6,
    C_PKEY = 1 << 7,
    C_RATE_SELECTOR = 1 << 8,
    C_RATE = 1 << 9,
    C_LIFE_SELECTOR = 1 << 10,
    C_LIFE = 1 << 11,
    C_SL = 1 << 12,
    C_FLOW_LABEL = 1 << 13,
    C_HOP_LIMIT = 1 << 14,
    C_SCOPE = 1 << 15,
    C_JOIN_STATE = 1 << 16
};
#define TO_JOIN (C_MGID | C_PORT_GID | C_JOIN_STATE)
#define TO_CREATE (TO_JOIN | C_QKEY | C_PKEY | C_SL | C_FLOW_LABEL | C_TCLASS)

static bool has(const struct fab_mcast_request *ask, uint64_t components)
{
    return (ask->comp_mask & components) == components;
}

/* ---- values with selectors ------------------------------------------------------------------- */

/* Returns the position of a rate in ascending order of speed. The encodings of rates in
 * MCMemberRecord are not in this order. */
static unsigned rate_rank(uint8_t rate)
{
    static const uint8_t rising[] = {2, 5,  3,  11, 6,  15, 19, 4,  7,  20, 12, 8,
                                     9, 16, 13, 10, 14, 17, 18, 21, 22, 23, 24};
    for (unsigned i = 0; i < sizeof(rising); i++)
        if (rising[i] == rate)
            return i + 1;
    return 0;
}

static unsigned mtu_rank(uint8_t mtu)
{
    return mtu <= 5 ? mtu : 0;
}

static unsigned life_rank(uint8_t life)
{
    return life + 1u;
}

static bool fits(uint8_t selector, unsigned asked, unsigned is)
{
    return selector == FAB_SELECT_MORE   ? is > asked
           : selector == FAB_SELECT_LESS ? is < asked
                                         : selector == FAB_SELECT_BEST || is == asked;
}

/* The components of MCMemberRecord that have a selector: MTU, rate and lifetime. If a request has
 * the value but not the selector, or the reverse, the value is not compared. */
static const struct ranged {
    uint64_t components;
    size_t selector, value;
    unsigned (*rank)(uint8_t);
} ranged[] = {
    {C_MTU_SELECTOR | C_MTU, offsetof(struct fab_wire_mc_member_record, mtu_selector),
     offsetof(struct fab_wire_mc_member_record, mtu), mtu_rank},
    {C_RATE_SELECTOR | C_RATE, offsetof(struct fab_wire_mc_member_record, rate_selector),
     offsetof(struct fab_wire_mc_member_record, rate), rate_rank},
    {C_LIFE_SELECTOR | C_LIFE, offsetof(struct fab_wire_mc_member_record, life_selector),
     offsetof(struct fab_wire_mc_member_record, life), life_rank},
};
enum { MTU, RATE, LIFE, RANGED };

static uint8_t member_at(const struct fab_wire_mc_member_record *r, size_t offset)
{
    return ((const uint8_t *)r)[offset];
}

/* Chooses the MTU, rate or lifetime of a new group (`which`: index of ranged[]). If the request
 * does not have both the value and its selector, chooses `most`. Otherwise, for an MTU or rate,
 * chooses the greatest value that fits the request and is at most `most`; if `most` is 0 (unknown),
 * the request must name an exact value. For a lifetime, chooses the exact value that the request
 * names, otherwise `most`. Returns false if no value fits. */
static bool choose_value(const struct fab_mcast_request *ask, unsigned which, uint8_t most,
                         uint8_t *ret)
{
    const struct ranged *r = &ranged[which];
    uint8_t selector = member_at(ask->record, r->selector), best = most;
    unsigned asked = r->rank(member_at(ask->record, r->value));
    bool found = !has(ask, r->components);
    for (uint8_t v = 0; v < 64 && has(ask, r->components); v++) {
        bool exact = selector == FAB_SELECT_EXACTLY;
        bool possible = which == LIFE ? exact || v == most
                        : most == 0   ? exact
                                      : r->rank(v) <= r->rank(most);
        if (!possible || r->rank(v) == 0 || !fits(selector, asked, r->rank(v)))
            continue;
        if (!found || r->rank(v) > r->rank(best))
            best = v;
        found = true;
    }
    *ret = best;
    return found;
}

/* ---- matching a request with a group --------------------------------------------------------- */

static bool agrees(const struct fab_mcast_request *ask, const struct fab_wire_mc_member_record *is)
{
    const struct fab_wire_mc_member_record *a = ask->record;
    const struct {
        uint64_t component;
        bool same;
    } plain[] = {
        {C_QKEY, a->qkey == is->qkey},
        {C_MLID, a->mlid == is->mlid},
        {C_TCLASS, a->tclass == is->tclass},
        {C_PKEY, (a->pkey & ~FAB_PKEY_FULL) == (is->pkey & ~FAB_PKEY_FULL)},
        {C_SL, a->sl == is->sl},
        {C_FLOW_LABEL, a->flow_label == is->flow_label},
        {C_HOP_LIMIT, a->hop_limit == is->hop_limit},
        {C_SCOPE, a->scope == is->scope},
    };
    for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
        if (has(ask, plain[i].component) && !plain[i].same)
            return false;
    for (unsigned i = 0; i < RANGED; i++) {
        const struct ranged *r = &ranged[i];
        if (has(ask, r->components) &&
            !fits(member_at(a, r->selector), r->rank(member_at(a, r->value)),
                  r->rank(member_at(is, r->value))))
            return false;
    }
    return true;
}

bool fab_mcast_group_matches(const struct fab_mcast_group *group,
                             const struct fab_wire_mc_member_record *asked, uint64_t comp_mask)
{
    const struct fab_mcast_request ask = {.record = asked, .comp_mask = comp_mask};
    if (has(&ask, C_MGID) &&
        (asked->mgid[0] != group->is.mgid[0] || asked->mgid[1] != group->is.mgid[1]))
        return false;
    return agrees(&ask, &group->is);
}

/* Returns true if the port has at least the MTU and the rate of the group. A value of 0 is unknown,
 * and counts as sufficient. */
static bool can_receive(const struct fab_mcast_request *ask,
                        const struct fab_wire_mc_member_record *is)
{
    return (ask->mtu == 0 || ask->mtu >= is->mtu) &&
           (ask->rate == 0 || rate_rank(ask->rate) >= rate_rank(is->rate));
}

static void answer(const struct fab_mcast_group *group, const struct fab_mcast_member *m,
                   struct fab_wire_mc_member_record *ret)
{
    *ret = group->is;
    ret->port_gid[0] = m->gid[0];
    ret->port_gid[1] = m->gid[1];
    ret->join_state = m->join_state;
    ret->proxy_join = m->proxy_join;
}

/* ---- new groups ------------------------------------------------------------------------------ */

/* Makes an MGID of the form ff1S:a01b:PPPP::N, with scope S, P_Key PPPP and a number N that no
 * other group has. (OpenSM uses the same signature, 0xa01b, for the MGIDs that it makes.) */
static void make_mgid(struct fab_mcast_groups *g, const struct fab_wire_mc_member_record *is,
                      uint64_t ret[2])
{
    do {
        ret[0] =
            UINT64_C(0xff10a01b00000000) | (uint64_t)is->scope << 48 | (uint64_t)is->pkey << 16;
        ret[1] = ++g->given;
    } while (fab_mcast_store_find(g, ret) != NULL);
}

/* Returns true if the MGID is a multicast GID with a valid scope (IBA 4.1.1). */
static bool is_sound(const uint64_t mgid[2])
{
    unsigned scope = mgid[0] >> 48 & 15;
    return mgid[0] >> 56 == 0xff && scope != 0 && scope != 15;
}

/* Returns true if the MGID belongs to an IP group in another partition. The MGID of an IP group,
 * ff1S:401b:PPPP:... or ff1S:601b:PPPP:..., contains the P_Key PPPP of the group (RFC 4391, section
 * 4). Without this check, a host could create the groups of a foreign partition, with parameters
 * that prevent the members of this partition from joining. */
static bool is_of_other_partition(const uint64_t mgid[2], uint16_t pkey)
{
    uint32_t flags = (uint32_t)(mgid[0] >> 52), signature = (uint32_t)(mgid[0] >> 32) & 0xffff;
    bool is_ip = flags == 0xff1 && (signature == 0x401b || signature == 0x601b);
    return is_ip && ((uint16_t)(mgid[0] >> 16) & ~FAB_PKEY_FULL) != (pkey & ~FAB_PKEY_FULL);
}

static uint16_t create(struct fab_mcast_groups *g, const struct fab_mcast_request *ask,
                       struct fab_mcast_group **ret)
{
    struct fab_wire_mc_member_record is = *ask->record;
    bool unnamed = is.mgid[0] == 0 && is.mgid[1] == 0;
    if (!has(ask, TO_CREATE))
        return FAB_SA_INSUFFICIENT_COMPONENTS;
    if (!(is.join_state & (FAB_JOIN_FULL | FAB_JOIN_SENDER_FULL)) || (is.pkey & 0x7fff) == 0)
        return FAB_SA_REQ_INVALID;
    if (!unnamed && (!is_sound(is.mgid) || is_of_other_partition(is.mgid, is.pkey)))
        return FAB_SA_REQ_INVALID;
    if (!choose_value(ask, MTU, ask->mtu, &is.mtu) ||
        !choose_value(ask, RATE, ask->rate, &is.rate) ||
        !choose_value(ask, LIFE, ask->life, &is.life))
        return FAB_SA_REQ_INVALID;
    is.mtu_selector = is.rate_selector = is.life_selector = FAB_SELECT_EXACTLY;
    is.port_gid[0] = is.port_gid[1] = 0;
    is.join_state = is.proxy_join = 0;
    is.mlid = 0; /* the manager chooses the MLID */
    if (!has(ask, C_HOP_LIMIT))
        is.hop_limit = 0;
    is.scope = unnamed ? (has(ask, C_SCOPE) && is.scope != 0 ? is.scope : 2)
                       : (uint8_t)(is.mgid[0] >> 48 & 15);
    if (unnamed)
        make_mgid(g, &is, is.mgid);
    return fab_mcast_store_add(g, &is, ask->from_guid, ret) == FAB_OK ? 0 : FAB_SA_NO_RESOURCES;
}

uint16_t fab_mcast_groups_join(struct fab_mcast_groups *g, const struct fab_mcast_request *ask,
                               struct fab_wire_mc_member_record *ret)
{
    const struct fab_wire_mc_member_record *a = ask->record;
    struct fab_mcast_group *group = fab_mcast_store_find(g, a->mgid);
    uint16_t status = 0;
    if (!has(ask, TO_JOIN))
        return FAB_SA_INSUFFICIENT_COMPONENTS;
    if ((a->join_state & 15) == 0)
        return FAB_SA_REQ_INVALID;
    if (group == NULL)
        status = create(g, ask, &group);
    else if (!agrees(ask, &group->is) || !can_receive(ask, &group->is))
        status = FAB_SA_REQ_INVALID;
    if (status != 0)
        return status;
    const struct fab_mcast_member *m = fab_mcast_store_member(group, a->port_gid[1]);
    struct fab_mcast_member as = {.gid = {a->port_gid[0], a->port_gid[1]},
                                  .port_guid = ask->port_guid,
                                  .charged = ask->from_guid,
                                  .proxy_join = m != NULL ? m->proxy_join : ask->proxy};
    as.join_state = (uint8_t)((m != NULL ? m->join_state : 0) | (a->join_state & 15));
    if (fab_mcast_store_set_member(g, group, &as) != FAB_OK) {
        if (!fab_mcast_store_is_needed(group))
            fab_mcast_store_remove(g, group);
        return FAB_SA_NO_RESOURCES;
    }
    answer(group, &as, ret);
    return 0;
}

uint16_t fab_mcast_groups_leave(struct fab_mcast_groups *g, const struct fab_mcast_request *ask,
                                struct fab_wire_mc_member_record *ret)
{
    const struct fab_wire_mc_member_record *a = ask->record;
    struct fab_mcast_group *group = fab_mcast_store_find(g, a->mgid);
    if (!has(ask, TO_JOIN))
        return FAB_SA_INSUFFICIENT_COMPONENTS;
    const struct fab_mcast_member *m =
        group != NULL ? fab_mcast_store_member(group, a->port_gid[1]) : NULL;
    uint8_t taken = a->join_state & 15;
    if (m == NULL || taken == 0 || (m->join_state & taken) != taken)
        return FAB_SA_REQ_INVALID;
    struct fab_mcast_member as = *m;
    as.join_state = taken;
    answer(group, &as, ret);
    as.join_state = (uint8_t)(m->join_state & ~taken);
    if (fab_mcast_store_set_member(g, group, &as) != FAB_OK)
        return FAB_SA_NO_RESOURCES;
    if (!fab_mcast_store_is_needed(group))
        fab_mcast_store_remove(g, group);
    return 0;
}

bool fab_mcast_groups_has_member(const struct fab_mcast_groups *g, uint64_t guid)
{
    for (size_t i = 0; i < g->groups; i++)
        if (fab_mcast_store_member(g->group[i], guid) != NULL)
            return true;
    return false;
}

void fab_mcast_groups_drop_member(struct fab_mcast_groups *g, uint64_t guid)
{
    for (size_t i = g->groups; i-- > 0;) {
        struct fab_mcast_group *group = g->group[i];
        const struct fab_mcast_member *m = fab_mcast_store_member(group, guid);
        if (m == NULL)
            continue;
        const struct fab_mcast_member none = {.gid = {m->gid[0], guid}};
        (void)fab_mcast_store_set_member(g, group, &none);
        if (!fab_mcast_store_is_needed(group))
            fab_mcast_store_remove(g, group);
    }
}

/* ---- groups from before a restart ------------------------------------------------------------ */

int fab_mcast_groups_restore(struct fab_mcast_groups *g, const struct fab_wire_mc_member_record *is)
{
    struct fab_wire_mc_member_record bare = *is;
    struct fab_mcast_group *group;
    bare.port_gid[0] = bare.port_gid[1] = 0;
    bare.join_state = bare.proxy_join = 0;
    return fab_mcast_store_find(g, is->mgid) != NULL ? FAB_OK
                                                     : fab_mcast_store_add(g, &bare, 0, &group);
}

int fab_mcast_groups_restore_member(struct fab_mcast_groups *g, const uint64_t mgid[2],
                                    const struct fab_mcast_member *member)
{
    struct fab_mcast_group *group = fab_mcast_store_find(g, mgid);
    struct fab_mcast_member as = *member;
    if (!as.proxy_join)
        as.charged = as.port_guid != 0 ? as.port_guid : as.gid[1];
    return group != NULL ? fab_mcast_store_set_member(g, group, &as) : FAB_E_NOT_FOUND;
}

int fab_mcast_groups_restored(struct fab_mcast_groups *g)
{
    int r = FAB_OK;
    for (size_t i = 0; i < g->groups && r == FAB_OK; i++) {
        struct fab_mcast_group *group = g->group[i];
        if (group->members == 1 && !group->fixed && group->creator == 0)
            r = fab_mcast_store_charge(g, group, group->member[0].charged);
    }
    return r;
}

/* ---- from the configuration ------------------------------------------------------------------ */

static struct fab_wire_mc_member_record
record_of(const struct fab_partitions *p, const struct fab_partition_mgroup *m, uint8_t life)
{
    return (struct fab_wire_mc_member_record){
        .mgid = {fab_base_get_be64(m->mgid), fab_base_get_be64(m->mgid + 8)},
        .qkey = m->q_key,
        .mtu_selector = FAB_SELECT_EXACTLY,
        .mtu = m->mtu,
        .tclass = m->tclass,
        .pkey = p->partition[m->partition].pkey | FAB_PKEY_FULL,
        .rate_selector = FAB_SELECT_EXACTLY,
        .rate = m->rate,
        .life_selector = FAB_SELECT_EXACTLY,
        .life = life,
        .sl = m->sl,
        .flow_label = m->flow_label,
        /* scope 2 is link-local, so no router forwards these packets */
        .hop_limit = m->scope == 2 ? 0 : UINT8_MAX,
        .scope = m->scope,
    };
}

/* Creates a configured group if necessary, and makes it fixed: it exists even without members. An
 * existing group keeps its values (MTU, rate, ...). */
static int fix(struct fab_mcast_groups *g, const struct fab_wire_mc_member_record *is,
               size_t *left_out)
{
    struct fab_mcast_group *group = fab_mcast_store_find(g, is->mgid);
    int r = group == NULL ? fab_mcast_store_add(g, is, 0, &group) : FAB_OK;
    if (r == FAB_OK)
        group->fixed = true;
    *left_out += r == FAB_E_LIMIT;
    return r;
}

/* Marks the configured groups as fixed, and all other groups as not fixed. */
static void unfix_others(struct fab_mcast_groups *g, const struct fab_partitions *p)
{
    for (size_t i = 0; i < g->groups; i++)
        g->group[i]->fixed = false;
    for (size_t i = 0; p != NULL && i < p->mgroups; i++) {
        struct fab_wire_mc_member_record is = record_of(p, &p->mgroup[i], 0);
        struct fab_mcast_group *group = fab_mcast_store_find(g, is.mgid);
        if (group != NULL)
            group->fixed = true;
    }
}

/* Removes groups that are not fixed and have no full member. */
static void prune(struct fab_mcast_groups *g)
{
    for (size_t i = g->groups; i-- > 0;)
        if (!fab_mcast_store_is_needed(g->group[i]))
            fab_mcast_store_remove(g, g->group[i]);
}

int fab_mcast_groups_configure(struct fab_mcast_groups *g, const struct fab_partitions *p,
                               uint8_t life, size_t *ret_left_out)
{
    size_t left_out = 0;
    int r = FAB_OK;
    for (size_t i = 0; p != NULL && i < p->mgroups && r != FAB_E_NOMEM; i++) {
        struct fab_wire_mc_member_record is = record_of(p, &p->mgroup[i], life);
        r = fix(g, &is, &left_out);
    }
    if (r == FAB_E_NOMEM)
        return r;
    unfix_others(g, p);
    prune(g);
    *ret_left_out = left_out;
    return left_out > 0 ? FAB_E_LIMIT : FAB_OK;
}
