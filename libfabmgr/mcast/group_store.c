/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stores multicast groups by MGID and their members by GUID. Assigns multicast LIDs (MLIDs) to
 * groups.
 *
 * A new group gets the lowest free MLID, unless it shares one. There is about one IPv6
 * solicited-node group for each IPv6 address. If less than an eighth of the MLIDs is free (enum
 * fab_mcast_share changes this rule), a solicited-node group shares an MLID with others of its
 * partition. IBA permits several groups with one MLID, because adapters compare the MGID. If no
 * MLID is free, other IP groups share MLIDs in the same way. Groups of other protocols never share.
 */
#include "libfabmgr/mcast/group_store.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/mcast/tree.h"

/* ---- groups ---------------------------------------------------------------------------------- */

static int compare(const uint64_t a[2], const uint64_t b[2])
{
    if (a[0] != b[0])
        return a[0] < b[0] ? -1 : 1;
    return (a[1] > b[1]) - (a[1] < b[1]);
}

static size_t index_of(const struct fab_mcast_groups *g, const uint64_t mgid[2])
{
    size_t low = 0, high = g->groups;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (compare(g->group[mid]->is.mgid, mgid) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

size_t fab_mcast_groups_lower_bound(const struct fab_mcast_groups *g, const uint64_t mgid[2])
{
    return index_of(g, mgid);
}

struct fab_mcast_group *fab_mcast_store_find(const struct fab_mcast_groups *g,
                                             const uint64_t mgid[2])
{
    size_t i = index_of(g, mgid);
    return i < g->groups && compare(g->group[i]->is.mgid, mgid) == 0 ? g->group[i] : NULL;
}

const struct fab_mcast_group *fab_mcast_groups_find(const struct fab_mcast_groups *g,
                                                    const uint64_t mgid[2])
{
    return fab_mcast_store_find(g, mgid);
}

bool fab_mcast_store_is_needed(const struct fab_mcast_group *group)
{
    bool wanted = group->fixed;
    for (size_t i = 0; i < group->members && !wanted; i++)
        wanted = (group->member[i].join_state & (FAB_JOIN_FULL | FAB_JOIN_SENDER_FULL)) != 0;
    return wanted;
}

/* ---- multicast LIDs -------------------------------------------------------------------------- */

/* Kinds of multicast groups. SOLICITED: groups of IPv6 solicited-node addresses. IP: other IP
 * groups, except broadcast groups. OTHER: broadcast groups, and groups of other protocols. A group
 * of kind IP or SOLICITED shares an MLID only with groups of the same kind; a group of kind OTHER
 * shares none. */
enum kind_of { OTHER, IP, SOLICITED };

static enum kind_of kind_of(const uint64_t mgid[2])
{
    uint16_t signature = (uint16_t)(mgid[0] >> 32);
    /* MGID of an IPv6 solicited-node address (RFC 4291, 2.7.1) */
    if (signature == 0x601b && mgid[1] >> 24 == 0x1ff)
        return SOLICITED;
    bool broadcast = (uint32_t)mgid[1] == UINT32_MAX;
    return (signature == 0x401b || signature == 0x601b) && !broadcast ? IP : OTHER;
}

/* Returns the MLID that a group with the record `is` can share: of the MLIDs of groups of the same
 * kind and partition, the one with the fewest groups. 0: there are no such groups. */
static uint16_t shared_mlid(const struct fab_mcast_groups *g,
                            const struct fab_wire_mc_member_record *is)
{
    uint16_t best = 0;
    for (size_t i = 0; i < g->groups; i++) {
        const struct fab_wire_mc_member_record *other = &g->group[i]->is;
        if (kind_of(other->mgid) != kind_of(is->mgid) || other->pkey != is->pkey)
            continue;
        if (best == 0 || g->users[other->mlid - FAB_MLID_FIRST] < g->users[best - FAB_MLID_FIRST])
            best = other->mlid;
    }
    return best;
}

/* Returns the lowest MLID that no group has; 0: all are in use. Sets *ret_left to the number of
 * MLIDs that no group has. */
static uint16_t free_mlid(const struct fab_mcast_groups *g, uint32_t room, uint32_t *ret_left)
{
    uint32_t left = room, first = room;
    for (uint32_t i = 0; i < room && i < g->mlids; i++) {
        left -= g->users[i] > 0;
        if (g->users[i] == 0 && first == room)
            first = i;
    }
    if (first == room && g->mlids < room)
        first = g->mlids;
    *ret_left = left;
    return first < room ? (uint16_t)(FAB_MLID_FIRST + first) : 0;
}

uint32_t fab_mcast_groups_room(const struct fab_mcast_groups *g)
{
    uint32_t room = fab_mcast_trees_room(g->trees, NULL);
    return g->most > 0 && g->most < room ? g->most : room;
}

static uint16_t choose_mlid(const struct fab_mcast_groups *g,
                            const struct fab_wire_mc_member_record *is)
{
    uint32_t left, room = fab_mcast_groups_room(g);
    uint16_t own = free_mlid(g, room, &left), shared = 0;
    enum kind_of like = kind_of(is->mgid);
    bool shares = own == 0 || (like == SOLICITED && left < room / 8 + 1) ||
                  (like == SOLICITED && g->share == FAB_MCAST_SHARE_ALWAYS);
    if (like != OTHER && g->share != FAB_MCAST_SHARE_NEVER && shares)
        shared = shared_mlid(g, is);
    return shared != 0 ? shared : own;
}

static int use_mlid(struct fab_mcast_groups *g, uint16_t mlid)
{
    uint32_t i = (uint32_t)mlid - FAB_MLID_FIRST;
    if (i >= g->mlids) {
        uint32_t *more = reallocarray(g->users, (size_t)i + 1, sizeof(*more));
        if (more == NULL)
            return FAB_E_NOMEM;
        memset(more + g->mlids, 0, (i + 1 - g->mlids) * sizeof(*more));
        g->users = more;
        g->mlids = i + 1;
    }
    g->users[i]++;
    return FAB_OK;
}

/* ---- charges --------------------------------------------------------------------------------- */

static uint32_t charged(const struct fab_map *m, uint64_t guid)
{
    uint32_t count = 0;
    (void)fab_base_map_get(m, guid, &count);
    return count;
}

static int charge(struct fab_map *m, uint64_t guid)
{
    return guid != 0 ? fab_base_map_put(m, guid, charged(m, guid) + 1) : FAB_OK;
}

static void discharge(struct fab_map *m, uint64_t guid)
{
    uint32_t count = charged(m, guid);
    if (count > 1)
        (void)fab_base_map_put(m, guid, count - 1); /* the key exists */
    else
        (void)fab_base_map_remove(m, guid);
}

int fab_mcast_store_charge(struct fab_mcast_groups *g, struct fab_mcast_group *group,
                           uint64_t creator)
{
    int r = charge(&g->created, creator);
    if (r == FAB_OK)
        group->creator = creator;
    return r;
}

uint32_t fab_mcast_groups_created_by(const struct fab_mcast_groups *g, uint64_t port_guid)
{
    return charged(&g->created, port_guid);
}

uint32_t fab_mcast_groups_joined_by(const struct fab_mcast_groups *g, uint64_t port_guid)
{
    return charged(&g->joined, port_guid);
}

/* ---- adding a group -------------------------------------------------------------------------- */

static int insert(struct fab_mcast_groups *g, struct fab_mcast_group *group)
{
    struct fab_mcast_group **more = fab_base_grow(g->group, sizeof(*more), g->groups + 1, &g->room);
    if (more == NULL)
        return FAB_E_NOMEM;
    g->group = more;
    size_t i = index_of(g, group->is.mgid);
    memmove(&more[i + 1], &more[i], (g->groups++ - i) * sizeof(struct fab_mcast_group *));
    more[i] = group;
    return FAB_OK;
}

/* Returns the MLID in the record of a group that existed before a restart, if this MLID is free or
 * the group can share it; otherwise 0. */
static uint16_t same_mlid(const struct fab_mcast_groups *g,
                          const struct fab_wire_mc_member_record *is)
{
    uint32_t slot = (uint32_t)is->mlid - FAB_MLID_FIRST;
    if (is->mlid < FAB_MLID_FIRST || slot >= fab_mcast_groups_room(g))
        return 0;
    bool shares = slot < g->mlids && g->users[slot] > 0;
    for (size_t i = 0; i < g->groups && shares; i++) {
        const struct fab_wire_mc_member_record *other = &g->group[i]->is;
        if (other->mlid == is->mlid && (kind_of(is->mgid) == OTHER || other->pkey != is->pkey ||
                                        kind_of(other->mgid) != kind_of(is->mgid)))
            return 0;
    }
    return is->mlid;
}

/* Inserts the group, counts it as a user of its MLID, and counts it in the quota of its creator. If
 * this function returns NOMEM, it has changed nothing. */
static int enter(struct fab_mcast_groups *g, struct fab_mcast_group *group, uint64_t creator)
{
    uint16_t mlid = group->is.mlid;
    int r = fab_mcast_store_charge(g, group, creator);
    if (r != FAB_OK)
        return r;
    r = use_mlid(g, mlid);
    if (r == FAB_OK && (r = insert(g, group)) != FAB_OK)
        g->users[mlid - FAB_MLID_FIRST]--;
    if (r != FAB_OK)
        discharge(&g->created, creator);
    return r;
}

int fab_mcast_store_add(struct fab_mcast_groups *g, const struct fab_wire_mc_member_record *is,
                        uint64_t creator, struct fab_mcast_group **ret)
{
    uint16_t mlid = is->mlid != 0 ? same_mlid(g, is) : 0;
    if (mlid == 0)
        mlid = choose_mlid(g, is);
    struct fab_mcast_group *group = mlid != 0 ? calloc(1, sizeof(*group)) : NULL;
    if (group == NULL)
        return mlid != 0 ? FAB_E_NOMEM : FAB_E_LIMIT;
    group->is = *is;
    group->is.mlid = mlid;
    int r = enter(g, group, creator);
    if (r != FAB_OK) {
        free(group);
        return r;
    }
    if (g->listener.group != NULL)
        g->listener.group(g->listener.ctx, group, true);
    *ret = group;
    return FAB_OK;
}

/* ---- members --------------------------------------------------------------------------------- */

static size_t member_index(const struct fab_mcast_group *group, uint64_t guid)
{
    size_t low = 0, high = group->members;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (group->member[mid].gid[1] < guid)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

size_t fab_mcast_group_lower_bound(const struct fab_mcast_group *group, uint64_t guid)
{
    return member_index(group, guid);
}

struct fab_mcast_member *fab_mcast_store_member(const struct fab_mcast_group *group, uint64_t guid)
{
    size_t i = member_index(group, guid);
    return i < group->members && group->member[i].gid[1] == guid ? &group->member[i] : NULL;
}

static bool receives(uint8_t join_state)
{
    return (join_state & (FAB_JOIN_FULL | FAB_JOIN_NON_MEMBER)) != 0;
}

/* Replaces the join of a member in the tree: removes the join for its old JoinState, and adds one
 * for the new JoinState `is`. Adds the new join first, so that the tree keeps the member's
 * branch. */
static int move_member(struct fab_mcast_groups *g, const struct fab_mcast_group *group,
                       const struct fab_mcast_member *m, uint8_t is)
{
    uint8_t was = m->join_state;
    int r = FAB_OK;
    if (was != 0 && is != 0 && receives(was) == receives(is))
        return FAB_OK;
    if (is != 0)
        r = fab_mcast_trees_join(g->trees, group->is.mlid, m->port_guid, receives(is));
    if (was != 0 && r == FAB_OK)
        r = fab_mcast_trees_leave(g->trees, group->is.mlid, m->port_guid, receives(was));
    return r;
}

static int insert_member(struct fab_mcast_groups *g, struct fab_mcast_group *group,
                         const struct fab_mcast_member *as)
{
    struct fab_mcast_member *more =
        fab_base_grow(group->member, sizeof(*more), group->members + 1, &group->room);
    if (more != NULL)
        group->member = more;
    if (more == NULL || charge(&g->joined, as->charged) != FAB_OK)
        return FAB_E_NOMEM;
    g->memberships++;
    size_t i = member_index(group, as->gid[1]);
    memmove(&more[i + 1], &more[i], (group->members++ - i) * sizeof(*more));
    more[i] = *as;
    more[i].join_state = 0;
    if (as->port_guid == 0)
        more[i].port_guid = as->gid[1];
    return FAB_OK;
}

static void release_member(struct fab_mcast_groups *g, const struct fab_mcast_member *m)
{
    discharge(&g->joined, m->charged);
    g->memberships--;
}

static void emit_member(struct fab_mcast_groups *g, const struct fab_mcast_group *group,
                        const struct fab_mcast_member *m)
{
    if (g->listener.member != NULL)
        g->listener.member(g->listener.ctx, group, m);
}

int fab_mcast_store_set_member(struct fab_mcast_groups *g, struct fab_mcast_group *group,
                               const struct fab_mcast_member *as)
{
    uint64_t guid = as->gid[1];
    struct fab_mcast_member *m = fab_mcast_store_member(group, guid);
    int r = m == NULL && as->join_state != 0 ? insert_member(g, group, as) : FAB_OK;
    if (r != FAB_OK || (m = fab_mcast_store_member(group, guid)) == NULL)
        return r;
    bool changes = m->join_state != as->join_state;
    r = move_member(g, group, m, as->join_state);
    if (r == FAB_OK)
        m->join_state = as->join_state;
    if (r == FAB_OK && changes)
        emit_member(g, group, m);
    if (m->join_state == 0) {
        release_member(g, m);
        size_t i = (size_t)(m - group->member);
        memmove(m, m + 1, (--group->members - i) * sizeof(*m));
    }
    return r;
}

void fab_mcast_store_remove(struct fab_mcast_groups *g, struct fab_mcast_group *group)
{
    while (group->members > 0) {
        struct fab_mcast_member m = group->member[--group->members];
        (void)fab_mcast_trees_leave(g->trees, group->is.mlid, m.port_guid, receives(m.join_state));
        m.join_state = 0;
        release_member(g, &m);
        emit_member(g, group, &m);
    }
    g->users[group->is.mlid - FAB_MLID_FIRST]--;
    discharge(&g->created, group->creator);
    size_t i = index_of(g, group->is.mgid);
    memmove(&g->group[i], &g->group[i + 1], (--g->groups - i) * sizeof(struct fab_mcast_group *));
    if (g->listener.group != NULL)
        g->listener.group(g->listener.ctx, group, false);
    free(group->member);
    free(group);
}

/* ---- life cycle ------------------------------------------------------------------------------ */

int fab_mcast_groups_new(const struct fab_fabric *f, struct fab_mcast_groups **ret)
{
    struct fab_mcast_net *net;
    int r = fab_mcast_net_new(f, &net);
    return r == FAB_OK ? fab_mcast_groups_new_over(net, ret) : r;
}

int fab_mcast_groups_new_over(struct fab_mcast_net *net, struct fab_mcast_groups **ret)
{
    struct fab_mcast_groups *g = calloc(1, sizeof(*g));
    if (g == NULL) {
        fab_mcast_net_free(net);
        return FAB_E_NOMEM;
    }
    g->share = FAB_MCAST_SHARE_SHORT;
    int r = fab_mcast_trees_new_over(net, &g->trees);
    if (r == FAB_OK)
        *ret = g;
    else
        fab_mcast_groups_free(g);
    return r;
}

void fab_mcast_groups_free(struct fab_mcast_groups *g)
{
    if (g == NULL)
        return;
    for (size_t i = 0; i < g->groups; i++) {
        free(g->group[i]->member);
        free(g->group[i]);
    }
    free(g->group);
    free(g->users);
    fab_base_map_fini(&g->created);
    fab_base_map_fini(&g->joined);
    fab_mcast_trees_free(g->trees);
    free(g);
}

int fab_mcast_groups_update(struct fab_mcast_groups *g, const struct fab_fabric *now)
{
    return fab_mcast_trees_update(g->trees, now);
}

int fab_mcast_groups_update_over(struct fab_mcast_groups *g, struct fab_mcast_net *now)
{
    return fab_mcast_trees_update_over(g->trees, now);
}
