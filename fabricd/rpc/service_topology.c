/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements ListSnapshots, MakeSnapshot, DeleteSnapshot and CompareTopologies. The comparison
 * reads the snapshots on the worker thread of the studies. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/v1/topology.pb-c.h"
#include "fabricd/base/clock.h"
#include "fabricd/rpc/convert.h"
#include "fabricd/rpc/request.h"
#include "fabricd/rpc/study.h"
#include "fabricd/store/snapshots.h"
#include "libfabmgr/base/plural.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/view/topology_diff.h"

#define CHANGES_SHOWN 5000u

/* ---- the list -------------------------------------------------------------------------------- */

static Fabric__V1__TopologySnapshot *convert(struct answer *a, const struct store_snapshot *s)
{
    Fabric__V1__TopologySnapshot *m =
        ANSWER_NEW(a, Fabric__V1__TopologySnapshot, fabric__v1__topology_snapshot);
    if (m == NULL)
        return NULL;
    m->name = answer_text(a, s->name);
    m->time = convert_time(a, s->time * 1000000);
    m->automatic = s->automatic;
    m->made_by = answer_text(a, s->by);
    m->nodes = s->nodes;
    m->links = s->links;
    m->size = s->size;
    return m;
}

struct snapshots {
    struct answer *a;
    Fabric__V1__TopologySnapshot **item;
    size_t count, room;
    uint64_t bytes;
    unsigned named;
};

static void take_snapshot(void *ctx, const struct store_snapshot *s)
{
    struct snapshots *all = ctx;
    if (all->count == all->room) {
        size_t room = all->room > 0 ? 2 * all->room : 64;
        Fabric__V1__TopologySnapshot **more = answer_alloc(all->a, room, sizeof *more);
        if (more == NULL)
            return;
        if (all->count > 0)
            memcpy(more, all->item, all->count * sizeof *more);
        all->item = more;
        all->room = room;
    }
    all->item[all->count++] = convert(all->a, s);
    all->bytes += s->automatic ? 0 : s->size;
    all->named += !s->automatic;
}

/* Reads the list of snapshots. On an error, finishes the call and returns false. */
static bool read_snapshots(struct call *c, struct answer *a, struct snapshots *ret)
{
    *ret = (struct snapshots){.a = a};
    int rc = store_snapshots(call_rpc(c)->in.store, take_snapshot, ret);
    if (rc == FAB_OK)
        return true;
    fab_base_arena_fini(&a->arena);
    call_finish(c, fab_grpc_code_of(rc), "the snapshots cannot be read: %s",
                fab_base_status_text(rc));
    return false;
}

void list_snapshots(struct call *c, const void *request)
{
    Fabric__V1__ListSnapshotsResponse m = FABRIC__V1__LIST_SNAPSHOTS_RESPONSE__INIT;
    struct answer a = {0};
    struct snapshots all;
    (void)request;
    if (need_store(c) == NULL || !read_snapshots(c, &a, &all))
        return;
    m.snapshots = all.item;
    m.n_snapshots = all.count;
    answer_reply(&a, c, &m.base);
}

/* ---- making and deleting --------------------------------------------------------------------- */

static bool is_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    size_t len = strlen(name);
    return len > 0 && len < STORE_SNAPSHOT_NAME && strchr(letters, name[0]) != NULL &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == len;
}

static const Fabric__V1__TopologySnapshot *find_snapshot(const struct snapshots *all,
                                                         const char *name)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->item[i] != NULL && strcmp(all->item[i]->name, name) == 0)
            return all->item[i];
    return NULL;
}

/* Checks the name of a new snapshot, and the limits of snapshots. If no snapshot may be made,
 * finishes the call with an error and returns false. */
static bool may_make(struct call *c, const struct snapshots *all, const char *name)
{
    const struct config *config = call_rpc(c)->in.config;
    if (!is_name(name) || strncmp(name, "auto-", 5) == 0 || strcmp(name, "now") == 0 ||
        strcmp(name, "today") == 0 || strcmp(name, "yesterday") == 0)
        call_finish(
            c, FAB_GRPC_INVALID_ARGUMENT,
            "\"%s\": a name of 1 to %d letters, digits, '-', '_' and '.' is expected, which "
            "begins with a letter, not with \"auto-\", and is no time",
            name, STORE_SNAPSHOT_NAME - 1);
    else if (find_snapshot(all, name) != NULL)
        call_finish(c, FAB_GRPC_ALREADY_EXISTS,
                    "there is a snapshot \"%s\"; delete it with 'fabricctl topo snapshot --forget "
                    "%s', or choose another name",
                    name, name);
    else if (all->named >= STORE_SNAPSHOTS_NAMED || all->bytes >= config->snapshots_mb << 20)
        call_finish(
            c, FAB_GRPC_RESOURCE_EXHAUSTED,
            "there are %u snapshots of operators with %u MiB; the limits are %d and "
            "snapshots.max_size, %u MiB; delete some with 'fabricctl topo snapshot --forget "
            "NAME'",
            all->named, (unsigned)(all->bytes >> 20), STORE_SNAPSHOTS_NAMED, config->snapshots_mb);
    else
        return true;
    return false;
}

void make_snapshot(struct call *c, const void *request)
{
    const Fabric__V1__MakeSnapshotRequest *q = request;
    Fabric__V1__MakeSnapshotResponse m = FABRIC__V1__MAKE_SNAPSHOT_RESPONSE__INIT;
    const struct config *config = call_rpc(c)->in.config;
    struct answer a = {0};
    struct snapshots all;
    char text[200];
    struct fab_view *v = need_view(c);
    struct store *store = v != NULL ? need_store(c) : NULL;
    if (store == NULL || !read_snapshots(c, &a, &all))
        return;
    if (!may_make(c, &all, q->name)) {
        fab_base_arena_fini(&a.arena);
        return;
    }
    if (q->dry_run) {
        fab_base_arena_fini(&a.arena);
        request_rehearsed(c, q->name, &m.base, &m.message,
                          "snapshot \"%s\" would be made: %u node%s and %u link%s", q->name,
                          v->fabric->node_count, fab_base_plural_s(v->fabric->node_count),
                          v->fabric->link_count, fab_base_plural_s(v->fabric->link_count));
        return;
    }
    call_audit_object(c, "%s", q->name);
    store_put_snapshot(store,
                       &(struct store_snapshot){
                           .name = q->name, .by = call_peer(c), .time = clock_unix_us() / 1000000},
                       v->fabric,
                       &(struct store_snapshot_limits){config->snapshots_keep,
                                                       (uint64_t)config->snapshots_mb << 20});
    snprintf(text, sizeof text, "snapshot \"%s\": %u node%s and %u link%s", q->name,
             v->fabric->node_count, fab_base_plural_s(v->fabric->node_count), v->fabric->link_count,
             fab_base_plural_s(v->fabric->link_count));
    m.message = answer_text(&a, text);
    answer_reply(&a, c, &m.base);
}

static void refuse_unknown(struct call *c, const char *name)
{
    call_finish(c, FAB_GRPC_NOT_FOUND, "no snapshot \"%s\"; 'fabricctl topo list' lists them",
                name);
}

void delete_snapshot(struct call *c, const void *request)
{
    const Fabric__V1__DeleteSnapshotRequest *q = request;
    Fabric__V1__DeleteSnapshotResponse m = FABRIC__V1__DELETE_SNAPSHOT_RESPONSE__INIT;
    struct answer a = {0};
    struct snapshots all;
    char text[100];
    struct store *store = need_store(c);
    if (store == NULL || !read_snapshots(c, &a, &all))
        return;
    if (find_snapshot(&all, q->name) == NULL) {
        refuse_unknown(c, q->name);
        fab_base_arena_fini(&a.arena);
        return;
    }
    if (q->dry_run) {
        fab_base_arena_fini(&a.arena);
        request_rehearsed(c, q->name, &m.base, &m.message, "snapshot \"%s\" would be deleted",
                          q->name);
        return;
    }
    call_audit_object(c, "%s", q->name);
    store_delete_snapshot(store, q->name);
    snprintf(text, sizeof text, "snapshot \"%s\" is deleted", q->name);
    m.message = answer_text(&a, text);
    answer_reply(&a, c, &m.base);
}

/* ---- comparison ------------------------------------------------------------------------------ */

/* One of the two topologies that the call compares. */
struct side {
    /* the snapshot to compare; if `name` is "", the present topology is compared instead */
    struct store_snapshot snapshot;
    char name[STORE_SNAPSHOT_NAME], by[200];
    struct fab_fabric *fabric;
};

struct comparison {
    struct study study;
    const struct store *store;
    /* [0] is the older topology (`before` in the request), [1] the newer one (`after`) */
    struct side side[2];
    struct fab_topology_change *changes;
    size_t count;
};

static void work(struct study *s)
{
    struct comparison *x = (struct comparison *)s;
    int rc = FAB_OK;
    for (int i = 0; i < 2 && rc == FAB_OK && !study_stopped(s); i++) {
        struct side *side = &x->side[i];
        rc = side->name[0] != '\0' ? store_snapshot_load(x->store, side->name, 0, &side->fabric)
                                   : store_snapshot_of(s->view->fabric, &side->fabric);
    }
    if (rc == FAB_OK && x->side[1].fabric != NULL)
        rc = fab_view_topology_diff(x->side[0].fabric, x->side[1].fabric, &x->changes, &x->count);
    if (rc != FAB_OK)
        study_fail(s, rc, "the snapshots cannot be compared");
}

static Fabric__V1__PortRef *port_ref(struct answer *a, const struct fab_fabric *f, uint32_t port)
{
    Fabric__V1__PortRef *m = ANSWER_NEW(a, Fabric__V1__PortRef, fabric__v1__port_ref);
    if (m == NULL)
        return NULL;
    const struct fab_port *p = fab_fabric_port(f, port);
    m->node_guid = answer_guid(a, f->nodes[p->node].guid);
    m->node_name = answer_text(a, f->nodes[p->node].name);
    m->port_number = p->num;
    return m;
}

static char *mode_text(struct answer *a, const struct fab_fabric *f, uint32_t port)
{
    const struct fab_port_info *info = &fab_fabric_port(f, port)->info;
    char text[40];
    snprintf(text, sizeof text, "%ux %s", fab_wire_link_width(info), fab_wire_link_speed(info));
    return answer_text(a, text);
}

/* Fills in the node and its first link in the message about a change. */
static void say_node(struct answer *a, const struct fab_fabric *f, uint32_t node,
                     Fabric__V1__TopologyChange *m)
{
    const struct fab_node *n = &f->nodes[node];
    m->node_guid = answer_guid(a, n->guid);
    m->node_name = answer_text(a, n->name);
    for (uint32_t i = 1; i <= n->num_ports && m->port == NULL; i++) {
        uint32_t port = n->first_port + i, peer = fab_fabric_port(f, port)->peer;
        if (peer == FAB_NONE)
            continue;
        m->port = port_ref(a, f, port);
        m->peer = port_ref(a, f, peer);
    }
}

static void say_link(struct answer *a, const struct fab_fabric *f, uint32_t port,
                     Fabric__V1__TopologyChange *m)
{
    m->port = port_ref(a, f, port);
    m->peer = port_ref(a, f, fab_fabric_port(f, port)->peer);
}

static Fabric__V1__TopologyChange *convert_change(struct answer *a, const struct comparison *x,
                                                  const struct fab_topology_change *c)
{
    const struct fab_fabric *before = x->side[0].fabric, *after = x->side[1].fabric;
    const struct fab_fabric *f = c->after != FAB_NONE ? after : before;
    uint32_t id = c->after != FAB_NONE ? c->after : c->before;
    Fabric__V1__TopologyChange *m =
        ANSWER_NEW(a, Fabric__V1__TopologyChange, fabric__v1__topology_change);
    if (m == NULL)
        return NULL;
    m->kind = (Fabric__V1__TopologyChangeKind)(c->kind + 1);
    if (c->kind <= FAB_TOPOLOGY_NODE_RENAMED)
        say_node(a, f, id, m);
    else
        say_link(a, f, id, m);
    if (c->kind == FAB_TOPOLOGY_NODE_RENAMED) {
        m->before = answer_text(a, before->nodes[c->before].name);
        m->after = m->node_name;
    } else if (c->kind == FAB_TOPOLOGY_LINK_MOVED) {
        m->peer_before = port_ref(a, before, fab_fabric_port(before, c->before)->peer);
    } else if (c->kind == FAB_TOPOLOGY_LINK_RATE) {
        m->before = mode_text(a, before, c->before);
        m->after = mode_text(a, after, c->after);
    }
    return m;
}

static bool tell(struct study *s)
{
    struct comparison *x = (struct comparison *)s;
    Fabric__V1__CompareTopologiesResponse m = FABRIC__V1__COMPARE_TOPOLOGIES_RESPONSE__INIT;
    struct answer a = {0};
    size_t shown = x->count < CHANGES_SHOWN ? x->count : CHANGES_SHOWN;
    m.before = convert(&a, &x->side[0].snapshot);
    m.after = x->side[1].name[0] != '\0' ? convert(&a, &x->side[1].snapshot) : NULL;
    m.changes = answer_alloc(&a, shown, sizeof *m.changes);
    for (size_t i = 0; i < shown && m.changes != NULL; i++)
        m.changes[m.n_changes++] = convert_change(&a, x, &x->changes[i]);
    m.change_count = (uint32_t)x->count;
    answer_reply(&a, s->call, &m.base);
    return false;
}

static void comparison_free(struct study *s)
{
    struct comparison *x = (struct comparison *)s;
    fab_fabric_unref(x->side[0].fabric);
    fab_fabric_unref(x->side[1].fabric);
    free(x->changes);
    free(x);
}

/* ---- choosing the snapshots ------------------------------------------------------------------ */

/* Which snapshot to select: the one with this name or, if `name` is NULL, the newest one that was
 * made at or before `time`. */
struct choice {
    const char *name;
    int64_t time;
    struct side *side;
};

static void choose(void *ctx, const struct store_snapshot *s)
{
    struct choice *choice = ctx;
    struct side *side = choice->side;
    if (choice->name != NULL ? strcmp(choice->name, s->name) != 0 : s->time > choice->time)
        return;
    side->snapshot = *s;
    snprintf(side->name, sizeof side->name, "%s", s->name);
    snprintf(side->by, sizeof side->by, "%s", s->by);
    side->snapshot.name = side->name;
    side->snapshot.by = side->by;
}

/* Finds the snapshot that the client named. If there is none, finishes the call with an error and
 * returns false. */
static bool find_side(struct call *c, struct store *store, const char *name,
                      const Google__Protobuf__Timestamp *time, struct side *ret)
{
    struct choice choice = {
        .name = name[0] != '\0' ? name : NULL, .time = read_time(time, 0) / 1000000, .side = ret};
    int rc = store_snapshots(store, choose, &choice);
    if (rc != FAB_OK)
        call_finish(c, fab_grpc_code_of(rc), "the snapshots cannot be read: %s",
                    fab_base_status_text(rc));
    else if (ret->name[0] != '\0')
        return true;
    else if (choice.name != NULL)
        refuse_unknown(c, name);
    else
        call_finish(c, FAB_GRPC_NOT_FOUND,
                    "no snapshot was made before this time; 'fabricctl topo list' lists them");
    return false;
}

static bool find_sides(struct call *c, struct store *store,
                       const Fabric__V1__CompareTopologiesRequest *q, struct comparison *x)
{
    if (q->before[0] == '\0' && q->before_time == NULL) {
        call_finish(c, FAB_GRPC_INVALID_ARGUMENT, "the name or the time of a snapshot is expected");
        return false;
    }
    return find_side(c, store, q->before, q->before_time, &x->side[0]) &&
           ((q->after[0] == '\0' && q->after_time == NULL) ||
            find_side(c, store, q->after, q->after_time, &x->side[1]));
}

void compare_topologies(struct call *c, const void *request)
{
    static const struct study_kind kind = {work, tell, comparison_free, NULL};
    struct fab_view *v = need_view(c);
    struct store *store = v != NULL ? need_store(c) : NULL;
    struct comparison *x = store != NULL ? calloc(1, sizeof *x) : NULL;
    if (store == NULL)
        return;
    if (x == NULL) {
        call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED, "the manager is out of memory");
        return;
    }
    x->store = store;
    if (find_sides(c, store, request, x))
        study_start(c, v, &kind, &x->study);
    else
        free(x);
}
