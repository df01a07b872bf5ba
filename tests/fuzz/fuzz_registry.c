/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzes what hosts register: services that are added, expire and are deleted; subscriptions and
 * their reports; members of multicast groups. A confirmed registration must be found until it is
 * deleted, and no limit may be exceeded.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/generate.h"
#include "libfabmgr/mcast/groups.h"
#include "libfabmgr/registry/reports.h"
#include "libfabmgr/registry/services.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HOSTS 4

struct world {
    struct fab_services services;
    struct fab_subscriptions *subscriptions;
    struct fab_mcast_groups *groups;
    uint64_t host[HOSTS]; /* port GUIDs */
    int64_t now;
};

static void must(bool holds)
{
    if (!holds)
        abort();
}

static struct fab_fabric *small_fabric(void)
{
    struct fab_leaf_spine_spec spec = {
        .leaves = 2, .spines = 2, .hosts_per_leaf = 2, .parallel = 1};
    struct fab_builder *b = NULL;
    struct fab_fabric *f = NULL, *own = NULL;
    must(fab_fabric_generate_leaf_spine(&spec, &b) == 0 && fab_fabric_builder_seal(b, &f) == 0);
    fab_fabric_builder_free(b);
    must(fab_fabric_clone(f, &own) == 0);
    fab_fabric_unref(f);
    for (uint32_t sw = 0; sw < own->switch_count; sw++)
        own->switches[sw].multicast_fdb_cap = 4;
    return own;
}

/* Makes one step with services. Each step has four bytes: action, object, host, details. */
static void try_service(struct world *w, const uint8_t *step)
{
    struct fab_service x = {.key = {step[2] % 8u, {1, w->host[step[1] % HOSTS]}, 0xffff},
                            .owner = w->host[step[1] % HOSTS],
                            .ends_us = step[3] % 4 ? 0 : w->now + step[3]};
    bool was = fab_registry_services_find(&w->services, &x.key) != NULL;
    size_t count = w->services.count;
    if (step[3] & 0x80) {
        must(fab_registry_services_remove(&w->services, &x.key) == was);
        must(fab_registry_services_find(&w->services, &x.key) == NULL);
        must(w->services.count == count - was);
    } else if (fab_registry_services_put(&w->services, &x) == 0) {
        const struct fab_service *is = fab_registry_services_find(&w->services, &x.key);
        must(is != NULL && is->ends_us == x.ends_us && w->services.count == count + !was);
    }
}

static void try_subscription(struct world *w, const uint8_t *step)
{
    const uint64_t gid[2] = {1, w->host[step[1] % HOSTS]};
    const struct fab_inform_info info = {.lid_begin = 0xffff,
                                         .generic = 1,
                                         .type = 0xffff,
                                         .trap = step[2],
                                         .qpn = 1,
                                         .producer = 0xffffff};
    uint32_t slot = fab_registry_subscriptions_find(w->subscriptions, gid, &info);
    uint32_t count = w->subscriptions->count;
    bool was = slot != FAB_SUBSCRIPTION_NONE;
    if ((step[3] & 0x80) && was) {
        fab_registry_subscriptions_remove(w->subscriptions, slot);
        must(fab_registry_subscriptions_find(w->subscriptions, gid, &info) ==
             FAB_SUBSCRIPTION_NONE);
        must(w->subscriptions->count == count - 1);
    } else if (!(step[3] & 0x80) && fab_registry_subscriptions_put(w->subscriptions, gid, &info,
                                                                   false, -1, &slot) == 0) {
        must(fab_registry_subscriptions_find(w->subscriptions, gid, &info) == slot);
        must(w->subscriptions->count == count + !was);
    }
}

static enum fab_report_verdict judge(void *ctx, const struct fab_subscription *x,
                                     const struct fab_event_notice *n)
{
    (void)ctx;
    must(x->used && fab_registry_inform_matches(&x->record.info, n));
    return n->is.trap % 7 == 0 ? FAB_REPORT_DROP : FAB_REPORT_SEND;
}

static void remove_one(void *ctx, uint32_t slot)
{
    fab_registry_subscriptions_remove(((struct world *)ctx)->subscriptions, slot);
}

/* Makes one step with reports: an event occurs, subscribers get a report, and answer it or not. */
static void try_report(struct world *w, const uint8_t *step)
{
    struct fab_event_notice n = {.is = {.generic = 1, .trap = step[2]}};
    uint8_t mad[FAB_MAD_SIZE];
    uint32_t budget = 1000, slot;
    (void)fab_registry_reports_add(w->subscriptions, &n);
    for (int r = 0; r == 0 || r == FAB_E_DENIED;) {
        r = fab_registry_reports_output(w->subscriptions, (uint64_t)w->now, &budget, judge, w,
                                        &slot, mad);
        if (r == FAB_E_DENIED)
            remove_one(w, slot);
        else if (r == 0 && (step[3] & 1))
            fab_registry_reports_answered(w->subscriptions, slot);
    }
    fab_registry_reports_expire(w->subscriptions, (uint64_t)w->now, remove_one, w);
}

/* Makes one step with multicast: a member joins a group by its own GUID or by one of two alias
 * GUIDs. */
static void try_member(struct world *w, const uint8_t *step)
{
    const uint64_t port = w->host[step[1] % HOSTS],
                   guid = port + UINT64_C(0x1000000) * (step[3] >> 4 & 3);
    const struct fab_wire_mc_member_record r = {
        .mgid = {UINT64_C(0xff12601bffff0000), UINT64_C(0x1ff000000) + step[2] % 8u},
        .port_gid = {1, guid},
        .qkey = 1,
        .pkey = step[2] & 0x40 ? 0x8001 : 0xffff,
        .join_state = step[3] & 15};
    const struct fab_mcast_request ask = {
        .record = &r, .comp_mask = 0x130c7, .port_guid = port, .mtu = 4, .rate = 7};
    struct fab_wire_mc_member_record is;
    bool joins = !(step[3] & 0x80);
    if ((joins ? fab_mcast_groups_join : fab_mcast_groups_leave)(w->groups, &ask, &is) != 0)
        return;
    const struct fab_mcast_group *g = fab_mcast_groups_find(w->groups, r.mgid);
    size_t i = g != NULL ? fab_mcast_group_lower_bound(g, guid) : 0;
    bool there = g != NULL && i < g->members && g->member[i].gid[1] == guid;
    uint8_t state = there ? g->member[i].join_state : 0;
    must(joins ? (state & r.join_state) == r.join_state : (state & r.join_state) == 0);
    must(!there ||
         (g->member[i].port_guid == port && fab_mcast_groups_has_member(w->groups, guid)));
}

static void check(const struct world *w)
{
    size_t services = 0;
    uint32_t used = 0, users = 0;
    for (const struct fab_service *x = NULL;
         (x = fab_registry_services_next(&w->services, x ? &x->key : NULL));)
        services++;
    for (uint32_t i = 0; i < w->subscriptions->slots; i++)
        used += w->subscriptions->slot[i].used;
    for (uint32_t i = 0; i < w->groups->mlids; i++)
        users += w->groups->users[i];
    must(services == w->services.count && services <= 8 * HOSTS);
    must(used == w->subscriptions->count && used <= HOSTS * FAB_SUBSCRIPTIONS_EACH);
    must(users == w->groups->groups && w->groups->groups <= 8);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const kinds[])(struct world *, const uint8_t *) = {try_service, try_subscription,
                                                                     try_report, try_member};
    static const struct fab_reports_config patience = {
        .window = 2, .tries = 2, .slow_us = 20, .wait_least_us = 10, .wait_most_us = 40};
    struct fab_fabric *f = small_fabric();
    struct world w = {.now = 1};
    must(fab_registry_subscriptions_new(&w.subscriptions) == 0 &&
         fab_mcast_groups_new(f, &w.groups) == 0);
    for (uint32_t i = 0; i < HOSTS; i++)
        w.host[i] = fab_fabric_port(f, f->nodes[f->switch_count + i].first_port + 1)->guid;
    fab_registry_reports_configure(w.subscriptions, &patience);
    for (; size >= 4; data += 4, size -= 4, w.now += 5) {
        kinds[data[0] % 4](&w, data);
        fab_registry_services_expire(&w.services, w.now, NULL, NULL);
        check(&w);
    }
    fab_registry_services_fini(&w.services);
    fab_registry_subscriptions_free(w.subscriptions);
    fab_mcast_groups_free(w.groups);
    fab_fabric_unref(f);
    return 0;
}
