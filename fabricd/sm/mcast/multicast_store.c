/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps multicast groups over restarts and crashes. Each change of a group or a member is stored. A
 * restarted manager loads the groups with their MLIDs, so that the MFTs of the switches stay valid
 * and hosts need not join again.
 *
 * Groups of the configuration are stored as well, because their MLIDs must not change. A member
 * with an alias GUID belongs to the port that the store has for this alias.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/log.h"
#include "fabricd/sm/mcast/state.h"
#include "libfabmgr/sa/aliases.h"

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

static int load_groups(struct sm *s)
{
    struct fab_wire_mc_member_record *row = NULL;
    size_t count = 0, lost = 0;
    int r = store_load_groups(s->in.store, &row, &count);
    for (size_t i = 0; i < count && r == FAB_OK; i++) {
        r = fab_mcast_groups_restore(s->mcast->groups, &row[i]);
        lost += r == FAB_E_LIMIT;
        r = r == FAB_E_LIMIT ? FAB_OK : r;
    }
    if (lost > 0)
        log_warning("sm", "no LID is left for %zu stored multicast groups", lost);
    free(row);
    return r;
}

static int load_aliases(struct sm *s, struct fab_sa_aliases *ret)
{
    struct store_alias *row = NULL;
    size_t count = 0;
    int r = store_load_aliases(s->in.store, &row, &count);
    for (size_t i = 0; i < count && r == FAB_OK; i++)
        if (fab_sa_aliases_set(ret, row[i].port_guid, row[i].place, row[i].guid) == FAB_E_NOMEM)
            r = FAB_E_NOMEM;
    free(row);
    return r;
}

static int load_members(struct sm *s)
{
    struct store_member *row = NULL;
    struct fab_sa_aliases aliases = {0};
    size_t count = 0;
    int r = load_aliases(s, &aliases);
    if (r == FAB_OK)
        r = store_load_members(s->in.store, &row, &count);
    for (size_t i = 0; i < count && r == FAB_OK; i++) {
        struct fab_mcast_member member = {.join_state = row[i].join_state,
                                          .proxy_join = row[i].proxy_join};
        memcpy(member.gid, row[i].port_gid, sizeof(member.gid));
        member.port_guid = fab_sa_aliases_port(&aliases, member.gid[1]);
        r = fab_mcast_groups_restore_member(s->mcast->groups, row[i].mgid, &member);
        r = r == FAB_E_NOT_FOUND ? FAB_OK : r;
    }
    if (r == FAB_OK)
        r = fab_mcast_groups_restored(s->mcast->groups);
    log_debug("sm", "stored multicast memberships: %zu", count);
    free(row);
    fab_sa_aliases_fini(&aliases);
    return r;
}

int sm_multicast_load(struct sm *s)
{
    int r = s->in.store ? load_groups(s) : FAB_OK;
    if (r == FAB_OK && s->in.store)
        r = load_members(s);
    if (r != FAB_OK && r != FAB_E_NOMEM) {
        log_error("sm", "stored multicast groups could not be read: %s", fab_base_status_text(r));
        r = FAB_OK;
    }
    s->mcast->groups->listener =
        (struct fab_mcast_listener){.ctx = s, .group = on_group, .member = on_member};
    return r;
}
