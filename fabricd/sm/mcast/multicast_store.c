/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps multicast groups over restarts and crashes. Each change of a group or a member is stored. A
 * restarted manager loads the groups with their MLIDs, so that the MFTs of the switches stay valid
 * and hosts need not join again. The records are read before the loop runs; when the fabric is
 * known, a worker task makes groups and trees from them.
 *
 * Groups of the configuration are stored as well, because their MLIDs must not change. If a
 * member's GUID is an alias GUID, the store knows to which port it belongs.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/log.h"
#include "fabricd/sm/mcast/state.h"

static void on_group(void *ctx, const struct fab_mcast_group *group, bool made)
{
    struct sm *s = ctx;
    if (s->in.store)
        store_put_group(s->in.store, &group->is, made);
    if (s->mcast->on_mgroup)
        s->mcast->on_mgroup(s->mcast->on_mgroup_ctx, &group->is, made);
}

static void on_member(void *ctx, const struct fab_mcast_group *group,
                      const struct fab_mcast_member *member)
{
    struct sm *s = ctx;
    struct store_member row = {.join_state = member->join_state, .proxy_join = member->proxy_join};
    memcpy(row.mgid, group->is.mgid, sizeof(row.mgid));
    memcpy(row.port_gid, member->gid, sizeof(row.port_gid));
    if (s->in.store)
        store_put_member(s->in.store, &row, member->join_state != 0);
}

void sm_stored_group_repeat(struct sm *s, const uint64_t mgid[2], uint64_t port_guid)
{
    const struct fab_mcast_group *group = fab_mcast_groups_find(s->mcast->groups, mgid);
    if (!s->in.store || !store_has_lost(s->in.store) || !group)
        return;
    store_put_group(s->in.store, &group->is, true);
    size_t i = fab_mcast_group_lower_bound(group, port_guid);
    if (i < group->members && group->member[i].gid[1] == port_guid)
        on_member(s, group, &group->member[i]);
}

static int read_aliases(struct store *store, struct fab_sa_aliases *ret)
{
    struct store_alias *row = NULL;
    size_t count = 0;
    int r = store_load_aliases(store, &row, &count);
    for (size_t i = 0; i < count && r == FAB_OK; i++)
        if (fab_sa_aliases_set(ret, row[i].port_guid, row[i].place, row[i].guid) == FAB_E_NOMEM)
            r = FAB_E_NOMEM;
    free(row);
    return r;
}

int sm_stored_groups_read(struct store *store, struct sm_stored_groups *ret)
{
    struct sm_stored_groups x = {0};
    int r = store_load_groups(store, &x.group, &x.groups);
    if (r == FAB_OK)
        r = read_aliases(store, &x.aliases);
    if (r == FAB_OK)
        r = store_load_members(store, &x.member, &x.members);
    if (r == FAB_OK) {
        *ret = x;
        return r;
    }
    sm_stored_groups_fini(&x);
    if (r != FAB_E_NOMEM)
        log_error("sm", "stored multicast groups could not be read: %s", fab_base_status_text(r));
    return r == FAB_E_NOMEM ? r : FAB_OK;
}

void sm_stored_groups_fini(struct sm_stored_groups *x)
{
    fab_sa_aliases_fini(&x->aliases);
    free(x->group);
    free(x->member);
    *x = (struct sm_stored_groups){0};
}

static int restore_member(const struct sm_stored_groups *x, const struct store_member *row,
                          struct fab_mcast_groups *groups)
{
    struct fab_mcast_member member = {.join_state = row->join_state, .proxy_join = row->proxy_join};
    memcpy(member.gid, row->port_gid, sizeof(member.gid));
    member.port_guid = fab_sa_aliases_port(&x->aliases, member.gid[1]);
    int r = fab_mcast_groups_restore_member(groups, row->mgid, &member);
    return r == FAB_E_NOT_FOUND ? FAB_OK : r;
}

int sm_stored_groups_restore(const struct sm_stored_groups *x, struct fab_mcast_groups *groups)
{
    size_t lost = 0;
    int r = FAB_OK;
    for (size_t i = 0; i < x->groups && r == FAB_OK; i++) {
        r = fab_mcast_groups_restore(groups, &x->group[i]);
        lost += r == FAB_E_LIMIT;
        r = r == FAB_E_LIMIT ? FAB_OK : r;
    }
    if (lost > 0)
        log_warning("sm", "no LID is left for %zu stored multicast groups", lost);
    for (size_t i = 0; i < x->members && r == FAB_OK; i++)
        r = restore_member(x, &x->member[i], groups);
    if (r == FAB_OK)
        r = fab_mcast_groups_restored(groups);
    log_debug("sm", "stored multicast memberships: %zu", x->members);
    return r;
}

void sm_multicast_listen(struct sm *s)
{
    s->mcast->groups->listener =
        (struct fab_mcast_listener){.ctx = s, .group = on_group, .member = on_member};
}
