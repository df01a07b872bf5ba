/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements PlanPolicy, ApplyPolicy, GetPolicy, ListPolicies and ComparePolicies. The folder
 * fabricd/policy makes the plans and the changes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/v1/policy.pb-c.h"
#include "fabricd/rpc/convert.h"
#include "fabricd/rpc/limits.h"
#include "fabricd/rpc/request.h"
#include "libfabmgr/base/status.h"

/* ---- what all methods use -------------------------------------------------------------------- */

static struct policy *need_policy(struct call *c)
{
    struct policy *p = call_rpc(c)->in.policy;
    if (p == NULL)
        call_finish(c, FAB_GRPC_UNIMPLEMENTED, "this manager keeps no applied policy");
    return p;
}

static size_t list_sections(struct answer *a, const bool *has, char ***ret)
{
    size_t n = 0;
    *ret = answer_alloc(a, FAB_DECLARED_SECTIONS, sizeof **ret);
    for (int i = 0; *ret != NULL && i < FAB_DECLARED_SECTIONS; i++)
        if (has[i])
            (*ret)[n++] = answer_text(a, fab_policy_declared_section_name[i]);
    return n;
}

size_t list_policy_sections(struct answer *a, const struct policy *p, uint64_t *ret_version,
                            char ***ret_sections)
{
    struct policy_status s;
    policy_get_status(p, &s);
    *ret_version = s.version;
    return list_sections(a, s.has, ret_sections);
}

static Fabric__V1__PolicyChange *convert_change(struct answer *a, const struct fab_policy_change *c)
{
    Fabric__V1__PolicyChange *m =
        ANSWER_NEW(a, Fabric__V1__PolicyChange, fabric__v1__policy_change);
    if (m == NULL)
        return NULL;
    m->path = answer_text(a, c->path);
    m->before = answer_text(a, c->before != NULL ? c->before : "");
    m->after = answer_text(a, c->after != NULL ? c->after : "");
    return m;
}

/* Splits a text into its lines. */
static size_t list_lines(struct answer *a, const char *text, char ***ret)
{
    size_t n = 0, room = 1;
    for (const char *s = text; *s != '\0'; s++)
        room += *s == '\n';
    *ret = answer_alloc(a, room, sizeof **ret);
    while (*ret != NULL && *text != '\0') {
        char line[600];
        size_t len = strcspn(text, "\n");
        snprintf(line, sizeof line, "%.*s", (int)len, text);
        (*ret)[n++] = answer_text(a, line);
        text += len + (text[len] == '\n');
    }
    return n;
}

static Fabric__V1__PolicyPlan *convert_plan(struct answer *a, const struct policy_plan *p)
{
    Fabric__V1__PolicyPlan *m = ANSWER_NEW(a, Fabric__V1__PolicyPlan, fabric__v1__policy_plan);
    if (m == NULL)
        return NULL;
    m->base_version = p->base;
    m->n_sections = list_sections(a, p->declared.has, &m->sections);
    m->changes = answer_alloc(a, p->changes + 1, sizeof *m->changes);
    for (size_t i = 0; m->changes != NULL && i < p->changes; i++)
        m->changes[m->n_changes++] = convert_change(a, &p->change[i]);
    m->n_warnings = list_lines(a, fab_base_text_get(&p->warnings), &m->warnings);
    m->n_confirmations = list_lines(a, fab_base_text_get(&p->confirmations), &m->confirmations);
    m->hash = answer_text(a, p->hash);
    return m;
}

/* ---- plans ----------------------------------------------------------------------------------- */

static bool take_files(struct call *c, struct answer *a, Fabric__V1__PolicyFile *const *files,
                       size_t count, struct policy_request *to)
{
    struct document_file *list = answer_alloc(a, count + 1, sizeof *list);
    if (count == 0 && !to->rollback)
        call_finish(c, FAB_GRPC_INVALID_ARGUMENT, "files, or a version to roll back to, expected");
    else if (count > 0 && to->rollback)
        call_finish(c, FAB_GRPC_INVALID_ARGUMENT, "a rollback takes no files");
    else if (list == NULL)
        call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED, "out of memory");
    else {
        for (size_t i = 0; i < count; i++)
            list[i] =
                (struct document_file){files[i]->name, files[i]->text, strlen(files[i]->text)};
        to->file = list;
        to->files = count;
        return true;
    }
    return false;
}

static void refuse_plan(struct call *c, int status, const char *why)
{
    enum fab_grpc_code code = status == FAB_E_BUSY          ? FAB_GRPC_UNAVAILABLE
                              : status == FAB_E_NOMEM       ? FAB_GRPC_RESOURCE_EXHAUSTED
                              : status == FAB_E_NOT_FOUND   ? FAB_GRPC_NOT_FOUND
                              : status == FAB_E_UNREACHABLE ? FAB_GRPC_FAILED_PRECONDITION
                                                            : FAB_GRPC_INVALID_ARGUMENT;
    call_finish(c, code, "nothing was applied: %s",
                why[0] != '\0' ? why : fab_base_status_text(status));
}

/* Makes the plan that the request demands. On an error, finishes the call and returns false. */
static bool make_plan(struct call *c, const struct policy_request *q, struct policy_plan *ret)
{
    char why[POLICY_WHY_LEN];
    int rc = policy_plan(call_rpc(c)->in.policy, q, ret, why, sizeof why);
    if (rc != FAB_OK)
        refuse_plan(c, rc, why);
    return rc == FAB_OK;
}

void plan_policy(struct call *c, const void *request)
{
    const Fabric__V1__PlanPolicyRequest *q = request;
    Fabric__V1__PlanPolicyResponse m = FABRIC__V1__PLAN_POLICY_RESPONSE__INIT;
    struct policy_request ask = {.rollback = q->rollback, .version = q->version};
    struct policy_plan plan;
    struct answer a = {0};
    if (need_policy(c) == NULL || !take_files(c, &a, q->files, q->n_files, &ask) ||
        !make_plan(c, &ask, &plan)) {
        fab_base_arena_fini(&a.arena);
        return;
    }
    m.plan = convert_plan(&a, &plan);
    policy_plan_fini(&plan);
    answer_reply(&a, c, &m.base);
}

/* ---- applying -------------------------------------------------------------------------------- */

/* A call of ApplyPolicy that waits until the switches have the tables of the new policy. */
struct applying {
    struct call *c;
    struct answer a;
    Fabric__V1__ApplyPolicyResponse m;
};

static void applying_free(struct applying *p)
{
    fab_base_arena_fini(&p->a.arena);
    free(p);
}

static void forget_applying(struct call *c, void *data)
{
    sm_forget(call_rpc(c)->in.sm, data);
    applying_free(data);
}

static void reply_applied(struct applying *p, const char *text)
{
    p->m.message = answer_text(&p->a, text);
    call_audit_result(p->c, text);
    answer_reply(&p->a, p->c, &p->m.base);
    applying_free(p);
}

static void on_round(void *ctx, int status, const char *message)
{
    struct applying *p = ctx;
    char text[700];
    if (status < 0)
        snprintf(text, sizeof text,
                 "policy version %" PRIu64 " is in force, but the switches do not have it yet: %s",
                 p->m.version, message);
    else
        snprintf(text, sizeof text, "policy version %" PRIu64 " is in force", p->m.version);
    reply_applied(p, text);
}

/* Returns false if the client must look at the plan first, because it has not confirmed the change,
 * or because another version of the policy is in force than it expects. The call is then finished
 * with an error. */
static bool may_apply(struct call *c, const Fabric__V1__ApplyPolicyRequest *q,
                      const struct policy_plan *plan)
{
    const char *confirm = fab_base_text_get(&plan->confirmations);
    if (q->base_version != 0 && q->base_version != plan->base)
        call_finish(c, FAB_GRPC_ABORTED,
                    "nothing was applied: policy version %" PRIu64
                    " is in force now, and not %" PRIu64 "; look at the differences again",
                    plan->base, q->base_version);
    else if (confirm[0] != '\0' && !q->confirmed)
        call_finish(c, FAB_GRPC_FAILED_PRECONDITION,
                    "nothing was applied: %.*s; apply it with --yes if this is intended",
                    (int)strcspn(confirm, "\n"), confirm);
    else
        return true;
    return false;
}

/* Returns false if this manager cannot write to the fabric now. The call is then finished with an
 * error. */
static bool may_write(struct call *c)
{
    struct sm_status s;
    sm_get_status(call_rpc(c)->in.sm, &s);
    if (s.role == FAB_SM_MASTER && s.device_alarm[0] == '\0' && !sm_is_frozen(call_rpc(c)->in.sm))
        return true;
    request_refuse(c, FAB_E_DENIED, "nothing was applied");
    return false;
}

static void apply(struct applying *p, struct policy_plan *plan)
{
    static const struct call_hooks hooks = {.gone = forget_applying};
    char why[POLICY_WHY_LEN], reason[RPC_MAX_REASON + 1], after[40];
    struct call *c = p->c;
    struct sm *sm = call_rpc(c)->in.sm;
    call_reason(c, reason);
    snprintf(after, sizeof after, "version %" PRIu64, plan->base + 1);
    call_audit_change(c, NULL, after);
    call_audit_object(c, "policy");
    int rc = policy_apply(call_rpc(c)->in.policy, plan, call_peer(c), reason, &p->m.version, why,
                          sizeof why);
    if (rc != FAB_OK) {
        refuse_plan(c, rc, why);
        applying_free(p);
        return;
    }
    call_later(c, &hooks, p);
    rc = sm_reroute(sm, on_round, p);
    if (rc != FAB_OK)
        on_round(p, rc, fab_base_status_text(rc));
}

void apply_policy(struct call *c, const void *request)
{
    const Fabric__V1__ApplyPolicyRequest *q = request;
    struct policy_request ask = {.rollback = q->rollback, .version = q->version};
    struct policy_plan plan = {0};
    struct applying *p = calloc(1, sizeof *p);
    if (p == NULL) {
        call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED, "out of memory");
        return;
    }
    p->c = c;
    fabric__v1__apply_policy_response__init(&p->m);
    if (need_policy(c) == NULL || !may_write(c) ||
        !take_files(c, &p->a, q->files, q->n_files, &ask) || !make_plan(c, &ask, &plan) ||
        !may_apply(c, q, &plan)) {
        policy_plan_fini(&plan);
        applying_free(p);
        return;
    }
    p->m.plan = convert_plan(&p->a, &plan);
    if (plan.unchanged) {
        p->m.version = plan.base;
        reply_applied(p, "nothing changed: the version in force has the same text");
    } else {
        apply(p, &plan);
    }
    policy_plan_fini(&plan);
}

/* ---- versions -------------------------------------------------------------------------------- */

struct listing {
    struct answer *a;
    uint64_t in_force;
    bool with_text;
    /* [STORE_POLICIES_KEPT] the versions of the policy in the store */
    Fabric__V1__PolicyVersion **list;
    size_t count;
};

static void add_version(void *ctx, const struct store_policy *row)
{
    struct listing *l = ctx;
    Fabric__V1__PolicyVersion *m =
        ANSWER_NEW(l->a, Fabric__V1__PolicyVersion, fabric__v1__policy_version);
    if (m == NULL || l->list == NULL || l->count == STORE_POLICIES_KEPT)
        return;
    m->version = row->version;
    m->time = convert_time(l->a, row->time_us);
    m->by = answer_text(l->a, row->by);
    m->reason = answer_text(l->a, row->reason);
    m->hash = answer_text(l->a, row->hash);
    m->in_force = row->version == l->in_force;
    if (l->with_text)
        m->text = answer_lines(l->a, row->text);
    l->list[l->count++] = m;
}

static int list_versions(struct call *c, struct answer *a, uint64_t version, uint32_t limit,
                         struct listing *ret)
{
    struct policy_status s;
    struct store *store = need_store(c);
    policy_get_status(call_rpc(c)->in.policy, &s);
    *ret = (struct listing){.a = a, .in_force = s.version, .with_text = limit == 1};
    ret->list = answer_alloc(a, STORE_POLICIES_KEPT, sizeof *ret->list);
    if (store == NULL)
        return FAB_E_NOT_FOUND;
    int rc = store_policies(store, version, limit, add_version, ret);
    if (rc != FAB_OK)
        call_finish(c, fab_grpc_code_of(rc), "the versions cannot be read: %s",
                    fab_base_status_text(rc));
    return rc;
}

void get_policy(struct call *c, const void *request)
{
    const Fabric__V1__GetPolicyRequest *q = request;
    Fabric__V1__GetPolicyResponse m = FABRIC__V1__GET_POLICY_RESPONSE__INIT;
    struct answer a = {0};
    struct listing l;
    uint64_t version;
    if (need_policy(c) == NULL)
        return;
    if (list_versions(c, &a, q->version, 1, &l) != FAB_OK) {
        fab_base_arena_fini(&a.arena);
        return;
    }
    if (l.count == 0 && q->version != 0) {
        call_finish(c, FAB_GRPC_NOT_FOUND,
                    "there is no policy version %" PRIu64 "; 'fabricctl policy history' lists them",
                    q->version);
        fab_base_arena_fini(&a.arena);
        return;
    }
    m.policy = l.count > 0 ? l.list[0] : NULL;
    m.n_sections = list_policy_sections(&a, call_rpc(c)->in.policy, &version, &m.sections);
    answer_reply(&a, c, &m.base);
}

void list_policies(struct call *c, const void *request)
{
    Fabric__V1__ListPoliciesResponse m = FABRIC__V1__LIST_POLICIES_RESPONSE__INIT;
    struct answer a = {0};
    struct listing l;
    (void)request;
    if (need_policy(c) == NULL)
        return;
    if (list_versions(c, &a, 0, STORE_POLICIES_KEPT, &l) != FAB_OK) {
        fab_base_arena_fini(&a.arena);
        return;
    }
    m.versions = l.list;
    m.n_versions = l.count;
    answer_reply(&a, c, &m.base);
}

/* ---- comparing ------------------------------------------------------------------------------- */

struct comparison {
    struct answer *a;
    Fabric__V1__ComparePoliciesResponse *m;
    size_t room;
};

static void add_change(void *ctx, const struct fab_policy_change *change)
{
    struct comparison *x = ctx;
    if (x->m->n_changes < x->room)
        x->m->changes[x->m->n_changes++] = convert_change(x->a, change);
}

static size_t count_lines(const struct fab_text *t)
{
    size_t n = 0;
    for (const char *s = fab_base_text_get(t); *s != '\0'; s++)
        n += *s == '\n';
    return n;
}

void compare_policies(struct call *c, const void *request)
{
    const Fabric__V1__ComparePoliciesRequest *q = request;
    Fabric__V1__ComparePoliciesResponse m = FABRIC__V1__COMPARE_POLICIES_RESPONSE__INIT;
    struct answer a = {0};
    struct comparison x = {.a = &a, .m = &m};
    struct fab_text from = {0}, to = {0};
    char why[POLICY_WHY_LEN] = "";
    const struct policy *p = need_policy(c);
    if (p == NULL)
        return;
    int rc = policy_lines(p, q->from, &from, why, sizeof why);
    if (rc == FAB_OK)
        rc = policy_lines(p, q->to, &to, why, sizeof why);
    if (rc == FAB_OK) {
        x.room = count_lines(&from) + count_lines(&to);
        m.changes = answer_alloc(&a, x.room + 1, sizeof *m.changes);
        x.room = m.changes != NULL ? x.room : 0;
        rc = fab_policy_lines_compare(fab_base_text_get(&from), fab_base_text_get(&to), add_change,
                                      &x);
    }
    fab_base_text_fini(&from);
    fab_base_text_fini(&to);
    if (rc == FAB_OK) {
        answer_reply(&a, c, &m.base);
        return;
    }
    call_finish(c, fab_grpc_code_of(rc), "%s", why[0] != '\0' ? why : fab_base_status_text(rc));
    fab_base_arena_fini(&a.arena);
}
