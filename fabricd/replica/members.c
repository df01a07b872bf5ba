/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list of the managers that share the state. Every TELL_US, the sender thread of each manager
 * renews the manager's own key member/GUID, and reads the keys of the others. A manager whose key
 * has not changed in STALE_AFTER readings of the list counts as gone.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/replica/state.h"
#include "libfabmgr/base/status.h"

#define TELL_US 3000000
#define STALE_AFTER 5

struct reading {
    struct replica *r;
    struct replica_member found[REPLICA_MEMBERS];
    unsigned count;
};

static int take(void *ctx, const char *key, const char *value, int64_t mod_revision)
{
    struct reading *x = ctx;
    struct replica_member m = {.revision = mod_revision};
    (void)key;
    if (value != NULL && x->count < REPLICA_MEMBERS &&
        sscanf(value, "port 0x%" SCNx64 " instance 0x%" SCNx64 " wrapping 0x%" SCNx64, &m.guid,
               &m.instance, &m.wrapping) == 3)
        x->found[x->count++] = m;
    return FAB_OK;
}

static struct replica_member *find(struct replica *r, uint64_t guid)
{
    for (unsigned i = 0; i < r->member_count; i++)
        if (r->member[i].guid == guid)
            return &r->member[i];
    return NULL;
}

/* Replaces r->member[] by the list that was just read, and counts for each manager in how many
 * readings its key has not changed. The caller holds the mutex. */
static void note(struct replica *r, struct reading *x)
{
    for (unsigned i = 0; i < x->count; i++) {
        const struct replica_member *was = find(r, x->found[i].guid);
        if (was != NULL && was->revision == x->found[i].revision)
            x->found[i].unchanged = was->unchanged + 1;
    }
    memcpy(r->member, x->found, sizeof(r->member));
    r->member_count = x->count;
}

void replica_tell(struct replica *r, int64_t fence)
{
    struct reading x = {.r = r};
    char name[REPLICA_KEY_MAX + 20], value[120];
    bool done;
    int64_t revision;
    uint64_t now = clock_now_us();
    if (now < r->tell_at_us)
        return;
    r->tell_at_us = now + TELL_US;
    snprintf(name, sizeof(name), "%s0x%016" PRIx64, r->members, r->in.port_guid);
    snprintf(value, sizeof(value),
             "port 0x%016" PRIx64 " instance 0x%016" PRIx64 " wrapping 0x%016" PRIx64,
             r->in.port_guid, r->instance, r->in.wrapping_check);
    const struct etcd_change change = {name, value};
    const struct etcd_fence leads = {r->leader, fence};
    /* A failure is not reported here, because the sender's next request will also fail, and reports
     * it. */
    if (etcd_commit(&r->to_send, &leads, 1, &change, 1, &done, &revision) != FAB_OK ||
        etcd_list(&r->to_send, r->members, take, &x, &revision) != FAB_OK)
        return;
    pthread_mutex_lock(&r->mutex);
    note(r, &x);
    pthread_mutex_unlock(&r->mutex);
}

bool replica_shares_keys_with(const struct replica *replica, uint64_t port_guid)
{
    struct replica *r = (struct replica *)(uintptr_t)replica;
    pthread_mutex_lock(&r->mutex);
    const struct replica_member *m = find(r, port_guid);
    bool shares = m != NULL && m->unchanged < STALE_AFTER && r->in.wrapping_check != 0 &&
                  m->wrapping == r->in.wrapping_check;
    pthread_mutex_unlock(&r->mutex);
    return shares;
}
