/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Changes of the baseline by operators. A worker thread finds the nodes that the operator named,
 * makes the changed baseline and compares the fabric with it. In large fabrics, this takes tens of
 * milliseconds. Changes wait in a queue and are made one after the other.
 *
 * The worker task begins between two rounds. It counts as a reader of the snapshot (model.readers),
 * so rounds do not change the snapshot while the task runs. When the task has ended, the loop
 * thread takes over the new baseline and the new list of unapproved devices. If a round has
 * replaced the list of unapproved devices since the task began, the task runs again; it runs at
 * most TRIES_MOST times in all. If the list is still outdated then, or if a round runs for longer
 * than WAIT_MOST_US, the change is made without a new list, and a heavy sweep makes the list later.
 * The manager calls done() of a change when the change is committed to the database.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/sm/apply/state.h"
#include "libfabmgr/base/plural.h"
#include "libfabmgr/discover/baseline_names.h"

/* interval in us at which the manager checks whether the database has committed a change */
#define LOOK_US 200
/* Interval in us of the checks whether the running round has ended. */
#define WAIT_US 5000
/* Maximum time in us that a change waits for the end of a round. */
#define WAIT_MOST_US 3000000
#define TRIES_MOST 4 /* maximum number of comparisons for one change */
/* maximum number of events that a change emits in one iteration of the event loop */
#define EVENTS_A_TURN 64
/* maximum length of an error message; long node names in it are cut */
#define WRONG_LEN 320

enum edit_kind { EDIT_TAKE, EDIT_APPROVE, EDIT_DISAPPROVE, EDIT_CLEAR };
/* While the worker task runs, it owns the members up to `status`. */
struct sm_baseline_edit {
    enum edit_kind kind;
    char by[FAB_APPROVED_BY_LEN];
    struct fab_place *place; /* [count] for EDIT_APPROVE: the places to approve */
    /* [count] for EDIT_DISAPPROVE: the nodes, as the operator named them */
    char **name;
    /* [count] for EDIT_DISAPPROVE: the node GUIDs that belong to the names in `name` */
    uint64_t *guid;
    uint32_t count;
    /* for EDIT_DISAPPROVE, true: the change is only computed and reported, but not made */
    bool dry_run;
    struct fab_fabric *view; /* the published snapshot */
    int64_t unix_us;         /* Unix time of the change, in microseconds */
    /* The baseline before the change; NULL: there was none. */
    struct fab_baseline *before;
    struct fab_baseline *after;  /* the changed baseline; NULL: the change removes the baseline */
    struct sm_baseline_job *job; /* comparison of the fabric with `after`; NULL: none */
    /* For EDIT_TAKE, what the new baseline has. hosts: number of ports of adapters and routers.
     * links: number of ISLs. */
    uint32_t hosts, links;
    /* a sentence that says what is wrong with the request; "": the text for `status` is enough */
    char wrong[WRONG_LEN];
    int status;

    struct sm_baseline_edit *next;
    bool computing; /* the worker task runs */
    /* the new baseline is in use, and the database has not confirmed it yet */
    bool committing;
    /* Value of sm_baseline.version when the task began to compare the fabric with the changed
     * baseline. If the version differs later, a round has replaced the list of unapproved
     * devices. */
    uint64_t version;
    /* Time (manager's clock) at which the change became the first in the queue; 0: not yet. */
    uint64_t begun_us;
    unsigned tries;
    /* for EDIT_DISAPPROVE: number of the named nodes whose event has been emitted */
    uint32_t reported;
    /* the store's number for the writes of this change; they are in the database when
     * store_written(mark) returns STORE_WRITTEN */
    uint64_t mark;
    sm_done *done; /* called when the change is complete; NULL: nobody waits for it */
    void *ctx;
};

/* ---- the worker ------------------------------------------------------------------------------ */

static void sign(const struct sm_baseline_edit *e, const struct fab_place *place,
                 struct fab_approved *ret)
{
    const struct fab_fabric *f = e->view;
    uint32_t node = fab_fabric_node_by_guid(f, place->guid);
    ret->place = *place;
    ret->since_us = e->unix_us;
    snprintf(ret->by, sizeof(ret->by), "%s", e->by);
    if (node != FAB_NONE)
        snprintf(ret->name, sizeof(ret->name), "%s", f->nodes[node].desc);
}

/* Lists the places of all devices and ISLs of the fabric. *ret_count is their number. Returns OK or
 * NOMEM. */
static int list_fabric(struct sm_baseline_edit *e, struct fab_approved **ret, size_t *ret_count)
{
    const struct fab_fabric *f = e->view;
    struct fab_place place;
    size_t count = 0;
    struct fab_approved *list = calloc(f->port_count + 1u, sizeof(*list));
    if (!list)
        return FAB_E_NOMEM;
    e->hosts = e->links = 0;
    for (uint32_t port = 0; port < f->port_count; port++) {
        if (!fab_discover_baseline_place(f, port, &place))
            continue;
        *(place.is_switch ? &e->links : &e->hosts) += 1;
        sign(e, &place, &list[count++]);
    }
    *ret = list;
    *ret_count = count;
    return FAB_OK;
}

static int list_places(const struct sm_baseline_edit *e, struct fab_approved **ret,
                       size_t *ret_count)
{
    struct fab_approved *list = calloc(e->count + 1u, sizeof(*list));
    if (!list)
        return FAB_E_NOMEM;
    for (uint32_t i = 0; i < e->count; i++)
        sign(e, &e->place[i], &list[i]);
    *ret = list;
    *ret_count = e->count;
    return FAB_OK;
}

/* Makes e->after: a copy of the present baseline without the nodes that the operator named. Returns
 * OK, NOMEM, or NOT_FOUND or INVAL with the reason in e->wrong. */
static int remove_named(struct sm_baseline_edit *e)
{
    size_t wrong = 0;
    int r = fab_discover_names_find(e->before, e->view, e->name, e->count, e->guid, &wrong);
    if (r == FAB_OK)
        return fab_discover_baseline_without(e->before, e->guid, e->count, &e->after);
    if (r == FAB_E_NOT_FOUND)
        snprintf(e->wrong, sizeof(e->wrong),
                 "no node \"%.200s\" is approved; 'fabricctl topo baseline' lists those that are",
                 e->name[wrong]);
    else if (r == FAB_E_EXISTS)
        snprintf(e->wrong, sizeof(e->wrong),
                 "\"%.200s\" is ambiguous: several approved nodes have this name; give the GUID",
                 e->name[wrong]);
    return r == FAB_E_EXISTS ? FAB_E_INVAL : r;
}

static int change(struct sm_baseline_edit *e)
{
    struct fab_approved *list = NULL;
    size_t count = 0;
    int r = FAB_OK;
    switch (e->kind) {
    case EDIT_TAKE:
        r = list_fabric(e, &list, &count);
        break;
    case EDIT_APPROVE:
        r = list_places(e, &list, &count);
        break;
    case EDIT_DISAPPROVE:
        return remove_named(e);
    case EDIT_CLEAR:
        return e->before ? FAB_OK : FAB_E_NOT_FOUND;
    }
    if (r == FAB_OK)
        r = fab_discover_baseline_with(e->before, list, count, &e->after);
    free(list);
    return r;
}

static void work(void *ctx, struct loop_task *task)
{
    struct sm_baseline_edit *e = ctx;
    (void)task;
    e->status = change(e);
    if (e->status != FAB_OK || !e->after || !e->job)
        return;
    e->job->set = fab_discover_baseline_ref(e->after);
    sm_baseline_job_run(e->job);
    e->status = e->job->status;
}

/* ---- the queue ------------------------------------------------------------------------------- */

static void release_job(struct sm_baseline_edit *e)
{
    fab_discover_baseline_unref(e->before);
    fab_discover_baseline_unref(e->after);
    fab_fabric_unref(e->view);
    sm_baseline_job_free(e->job);
    e->view = NULL;
    e->before = e->after = NULL;
    e->job = NULL;
}

static void edit_free(void *ctx)
{
    struct sm_baseline_edit *e = ctx;
    release_job(e);
    for (uint32_t i = 0; e->name && i < e->count; i++)
        free(e->name[i]);
    free(e->name);
    free(e->place);
    free(e->guid);
    free(e);
}

/* Removes the first change from the queue, and calls its done(). */
static void finish(struct sm *s, int status, const char *text)
{
    struct sm_baseline_edit *e = s->apply->baseline.edits;
    s->apply->baseline.edits = e->next;
    if (e->done)
        e->done(e->ctx, status, text);
    loop_discard(s->in.loop, edit_free, e);
}

static void fail(struct sm *s, int status)
{
    const struct sm_baseline_edit *e = s->apply->baseline.edits;
    finish(s, status,
           e->wrong[0] != '\0'         ? e->wrong
           : status == FAB_E_DENIED    ? "another subnet manager became master; the baseline stays"
           : status != FAB_E_NOT_FOUND ? "out of memory; the baseline stays"
                                       : "there is no baseline");
}

static int check_role(const struct sm *s)
{
    if (!sm_is_master(s))
        return FAB_E_DENIED;
    return s->model.view && s->model.fabric ? FAB_OK : FAB_E_BUSY;
}

static int begin(struct sm *s, struct sm_baseline_edit *e);

/* Returns whether the first change of the queue must wait, because a round is running. It waits at
 * most WAIT_MOST_US. */
static bool must_wait(const struct sm *s, struct sm_baseline_edit *e)
{
    uint64_t now = clock_now_us();
    if (e->begun_us == 0)
        e->begun_us = now;
    return sm_run_busy(s) && now - e->begun_us < WAIT_MOST_US;
}

static void begin_next(struct sm *s)
{
    struct sm_baseline *b = &s->apply->baseline;
    while (b->edits && !b->edits->computing && !b->edits->committing) {
        struct sm_baseline_edit *e = b->edits;
        if (must_wait(s, e)) {
            loop_timer_set(b->timer, WAIT_US);
            return;
        }
        int r = begin(s, e);
        if (r != FAB_OK && b->edits == e)
            fail(s, r);
    }
}

/* ---- a change that the worker has made ------------------------------------------------------- */

static void say(const struct sm_baseline_edit *e, char *ret, size_t len)
{
    switch (e->kind) {
    case EDIT_TAKE:
        snprintf(ret, len,
                 "approved %u port%s of adapters and routers, and %u link%s between switches",
                 e->hosts, fab_base_plural_s(e->hosts), e->links, fab_base_plural_s(e->links));
        break;
    case EDIT_APPROVE:
        snprintf(ret, len, "approved %u place%s", e->count, fab_base_plural_s(e->count));
        break;
    case EDIT_DISAPPROVE:
        if (e->dry_run)
            snprintf(ret, len, "%u node%s would no longer be approved", e->count,
                     fab_base_plural_s(e->count));
        else
            snprintf(ret, len, "%u node%s no longer approved", e->count,
                     e->count == 1 ? " is" : "s are");
        break;
    case EDIT_CLEAR:
        snprintf(ret, len, "the baseline is dropped; every device is accepted");
        break;
    }
}

static void emit_disapproved(struct sm *s, uint64_t guid, const char *by)
{
    char name[SM_PLACE_LEN];
    uint32_t node = fab_fabric_node_by_guid(s->model.fabric, guid);
    snprintf(name, sizeof(name), "0x%016" PRIx64, guid);
    if (node != FAB_NONE)
        sm_node_name(s->model.fabric, node, name);
    event_emit(s->in.bus, baseline_disapproved, .subject = name, .guid = guid, .by = by);
}

static void report(struct sm *s, const struct sm_baseline_edit *e)
{
    if (e->kind == EDIT_CLEAR)
        event_emit(s->in.bus, baseline_cleared, .subject = "fabric", .by = e->by);
    else if (e->kind == EDIT_TAKE)
        event_emit(s->in.bus, baseline_approved, .subject = "fabric", .links = e->hosts + e->links,
                   .by = e->by);
    else if (e->kind == EDIT_APPROVE)
        event_emit(s->in.bus, baseline_approved, .subject = "fabric", .links = e->count,
                   .by = e->by);
}

/* Emits one event for each node that the change disapproves, at most EVENTS_A_TURN events in one
 * call. Returns true if all events have been emitted. */
static bool report_nodes(struct sm *s, struct sm_baseline_edit *e)
{
    uint32_t count = e->kind == EDIT_DISAPPROVE ? e->count : 0;
    for (uint32_t i = 0; i < EVENTS_A_TURN && e->reported < count; i++)
        emit_disapproved(s, e->guid[e->reported++], e->by);
    return e->reported == count;
}

static void on_time(void *ctx)
{
    struct sm *s = ctx;
    struct sm_baseline *b = &s->apply->baseline;
    char text[160];
    if (!b->edits || !b->edits->committing) {
        begin_next(s);
        return;
    }
    if (!report_nodes(s, b->edits)) {
        loop_timer_set(b->timer, 0);
        return;
    }
    if (s->in.store && store_written(s->in.store, b->edits->mark) == STORE_PENDING) {
        loop_timer_set(b->timer, LOOK_US);
        return;
    }
    say(b->edits, text, sizeof(text));
    finish(s, FAB_OK, text);
    begin_next(s);
}

static void unref(void *ctx)
{
    fab_discover_baseline_unref(ctx);
}

/* Replaces the baseline by the one that the worker task has made, and stores it. Requests the sweep
 * or the writes that the new baseline makes necessary. */
static void commit(struct sm *s, struct sm_baseline_edit *e)
{
    struct sm_baseline *b = &s->apply->baseline;
    bool late = b->version != e->version || (e->after && !e->job), changed = false;
    if (b->set)
        loop_discard(s->in.loop, unref, b->set);
    b->set = e->after;
    e->after = NULL;
    if (!late || !b->set)
        changed = sm_baseline_take_list(s, b->set ? e->job : NULL);
    if (s->in.store) {
        store_put_baseline(s->in.store, b->set);
        e->mark = store_mark(s->in.store);
    }
    if (s->in.config->unapproved == CONFIG_EXCLUDE || late)
        sm_request_heavy(s);
    else if (changed)
        sm_request(s, SM_REQUEST_REROUTE);
    e->committing = true;
    loop_timer_set(b->timer, 0);
    report(s, e);
    sm_schedule(s);
}

static void finish_dry_run(struct sm *s, const struct sm_baseline_edit *e)
{
    static const char *const effects[] = {
        [CONFIG_ALLOW] = "; they would stay in use, because subnet.unapproved is allow",
        [CONFIG_QUARANTINE] = "; their ports would only be in the quarantine partition",
        [CONFIG_EXCLUDE] = "; they would get no LID and no routes",
    };
    char text[240];
    say(e, text, sizeof(text));
    size_t len = strlen(text);
    snprintf(text + len, sizeof(text) - len, "%s", effects[s->apply->baseline.mode]);
    finish(s, FAB_OK, text);
}

static void on_made(void *owner, void *ctx)
{
    struct sm *s = owner;
    struct sm_baseline_edit *e = ctx;
    e->computing = false;
    if (check_role(s) != FAB_OK)
        fail(s, FAB_E_DENIED);
    else if (e->status != FAB_OK)
        fail(s, e->status);
    else if (e->dry_run)
        finish_dry_run(s, e);
    else if (e->version != s->apply->baseline.version && ++e->tries < TRIES_MOST)
        /* begin_next then computes this change again, with the new list of unapproved devices */
        release_job(e);
    else
        commit(s, e);
    begin_next(s);
}

static void on_dropped(void *owner, void *ctx)
{
    struct sm_baseline_edit *e = ctx;
    if (owner)
        /* The loop also calls on_dropped if it has no memory for the task; begin() then returns
         * NOMEM. */
        e->computing = false;
    else
        edit_free(e);
}

/* Starts the worker task for the first change of the queue. Returns OK; DENIED if another manager
 * is master; BUSY if no view is published; or NOMEM. */
static int begin(struct sm *s, struct sm_baseline_edit *e)
{
    static const struct loop_task_ops ops = {"baseline", work, on_made, on_dropped};
    struct sm_baseline *b = &s->apply->baseline;
    int r = check_role(s);
    if (r == FAB_OK && !sm_run_busy(s) && !e->dry_run)
        r = sm_baseline_job_new(s, s->model.fabric, NULL, &e->job);
    if (r != FAB_OK)
        return r;
    e->view = fab_fabric_ref(s->model.view->fabric);
    e->unix_us = clock_unix_us();
    e->before = fab_discover_baseline_ref(b->set);
    e->version = b->version;
    e->computing = true;
    const struct loop_task_config config = {
        .ops = &ops, .tasks = &s->model.readers, .owner = s, .ctx = e, .place = LOOP_TASK_SHORT};
    return loop_task_start(s->in.loop, &config, NULL);
}

/* ---- operators ------------------------------------------------------------------------------- */

static int request(struct sm *s, struct sm_baseline_edit *e, const char *by, sm_done *done,
                   void *ctx)
{
    int r = e ? check_role(s) : FAB_E_NOMEM;
    if (r != FAB_OK) {
        if (e)
            edit_free(e);
        return r;
    }
    struct sm_baseline_edit **at = &s->apply->baseline.edits;
    while (*at)
        at = &(*at)->next;
    *at = e;
    snprintf(e->by, sizeof(e->by), "%s", by);
    e->done = done;
    e->ctx = ctx;
    begin_next(s);
    return FAB_OK;
}

static struct sm_baseline_edit *edit_new(enum edit_kind kind, uint32_t count)
{
    struct sm_baseline_edit *e = calloc(1, sizeof(*e));
    if (!e)
        return NULL;
    e->kind = kind;
    e->count = count;
    return e;
}

static struct sm_baseline_edit *new_approval(const struct fab_place *place, uint32_t count)
{
    struct sm_baseline_edit *e = edit_new(EDIT_APPROVE, count);
    if (!e)
        return NULL;
    e->place = calloc(count + 1u, sizeof(*place));
    if (!e->place) {
        edit_free(e);
        return NULL;
    }
    if (count > 0)
        memcpy(e->place, place, count * sizeof(*place));
    return e;
}

static struct sm_baseline_edit *new_disapproval(char *const *name, uint32_t count)
{
    struct sm_baseline_edit *e = edit_new(EDIT_DISAPPROVE, count);
    if (!e)
        return NULL;
    e->name = calloc(count + 1u, sizeof(*e->name));
    e->guid = calloc(count + 1u, sizeof(*e->guid));
    bool whole = e->name && e->guid;
    for (uint32_t i = 0; whole && i < count; i++)
        whole = (e->name[i] = strdup(name[i])) != NULL;
    if (!whole) {
        edit_free(e);
        return NULL;
    }
    return e;
}

int sm_baseline_take(struct sm *s, const char *by, sm_done *done, void *ctx)
{
    return request(s, edit_new(EDIT_TAKE, 0), by, done, ctx);
}

int sm_baseline_approve(struct sm *s, const struct fab_place *place, uint32_t count, const char *by,
                        sm_done *done, void *ctx)
{
    return request(s, new_approval(place, count), by, done, ctx);
}

int sm_baseline_disapprove(struct sm *s, char *const *name, uint32_t count, const char *by,
                           sm_done *done, void *ctx)
{
    return request(s, new_disapproval(name, count), by, done, ctx);
}

int sm_baseline_disapprove_check(struct sm *s, char *const *name, uint32_t count, sm_done *done,
                                 void *ctx)
{
    struct sm_baseline_edit *e = new_disapproval(name, count);
    if (e)
        e->dry_run = true;
    return request(s, e, "", done, ctx);
}

int sm_baseline_clear_check(const struct sm *s)
{
    int r = check_role(s);
    return r == FAB_OK && !s->apply->baseline.set && !s->apply->baseline.edits ? FAB_E_NOT_FOUND
                                                                               : r;
}

int sm_baseline_clear(struct sm *s, const char *by, sm_done *done, void *ctx)
{
    if (sm_baseline_clear_check(s) == FAB_E_NOT_FOUND)
        return FAB_E_NOT_FOUND;
    return request(s, edit_new(EDIT_CLEAR, 0), by, done, ctx);
}

void sm_baseline_edit_forget(struct sm *s, void *ctx)
{
    for (struct sm_baseline_edit *e = s->apply->baseline.edits; e; e = e->next)
        if (e->ctx == ctx)
            e->done = NULL;
}

/* ---- start and end --------------------------------------------------------------------------- */

int sm_baseline_edit_init(struct sm *s)
{
    s->apply->baseline.timer = loop_timer_new(s->in.loop, on_time, s);
    return s->apply->baseline.timer ? FAB_OK : FAB_E_NOMEM;
}

void sm_baseline_edit_fini(struct sm *s)
{
    struct sm_baseline *b = &s->apply->baseline;
    loop_timer_free(b->timer);
    while (b->edits) {
        struct sm_baseline_edit *e = b->edits;
        b->edits = e->next;
        /* The running worker task still uses the edit; after the cancellation, on_dropped frees
         * it. */
        if (!e->computing)
            edit_free(e);
    }
}
