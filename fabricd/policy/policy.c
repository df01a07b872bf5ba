/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans and applies policies, and keeps config->policy up to date. */
#include "fabricd/policy/policy.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/events.h"
#include "fabricd/base/log.h"
#include "fabricd/policy/state.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/policy/append.h"

/* ---- sections -------------------------------------------------------------------------------- */

/* Copies the parts of a policy that an applied policy can replace. The CC_Key and its lease period
 * are not among them: a key rotation changes the key in config->policy. */
static void copy_sections(const struct fab_policy *from, struct fab_policy *to)
{
    fab_policy_partitions_unref(to->partitions);
    fab_policy_classes_unref(to->classes);
    fab_policy_node_names_unref(to->node_names);
    to->partitions = fab_policy_partitions_ref(from->partitions);
    to->classes = fab_policy_classes_ref(from->classes);
    to->node_names = fab_policy_node_names_ref(from->node_names);
    struct fab_policy_congestion c = from->congestion;
    c.key = to->congestion.key;
    c.key_lease_s = to->congestion.key_lease_s;
    to->congestion = c;
}

int policy_join(const struct fab_policy *base, const struct fab_declared *d, struct fab_policy *ret)
{
    int rc = fab_policy_copy(base, ret);
    if (rc == FAB_OK)
        fab_policy_declared_apply(d, ret);
    return rc;
}

/* Returns NOT_FOUND if a traffic class names a partition or group that the joined policy lacks.
 * Returns OK if fabricd.yaml alone has this fault, too. Also returns OK if the applied policy has
 * both classes and partitions, or neither, because both then come from the same text. */
static int check_classes(const struct fab_policy *base, const struct fab_declared *d,
                         const struct fab_policy *joined, char *why, size_t len)
{
    const struct fab_classes *c = joined->classes;
    if (d->has[FAB_DECLARED_CLASSES] == d->has[FAB_DECLARED_PARTITIONS])
        return FAB_OK;
    for (size_t i = 0; c != NULL && i < c->groups; i++)
        for (size_t m = 0; m < c->group[i].count; m++) {
            const struct fab_class_member *one = &c->group[i].member[m];
            bool was =
                d->has[FAB_DECLARED_CLASSES] || fab_policy_declared_knows(base->partitions, one);
            if (!was || fab_policy_declared_knows(joined->partitions, one))
                continue;
            snprintf(why, len,
                     "a rule of the traffic classes names the %s '%.60s', which the partitions %s "
                     "lack; have classes and partitions in the same policy",
                     one->kind == FAB_CLASS_PARTITION ? "partition" : "group", one->name,
                     d->has[FAB_DECLARED_PARTITIONS] ? "of the policy" : "of fabricd.yaml");
            return FAB_E_NOT_FOUND;
        }
    return FAB_OK;
}

/* Joins the sections with the settings, and checks the result. Sets *ret to the joined policy,
 * which would be in force. */
static int check_whole(const struct config *settings, const struct fab_policy *base,
                       const struct fab_declared *d, struct fab_policy *ret, char *why, size_t len)
{
    struct config whole = *settings;
    int rc = fab_policy_copy(&settings->policy, &whole.policy);
    if (rc != FAB_OK)
        return rc;
    copy_sections(base, &whole.policy);
    fab_policy_declared_apply(d, &whole.policy);
    rc = config_check(&whole, why, len);
    if (rc == FAB_OK)
        rc = check_classes(base, d, &whole.policy, why, len);
    if (rc == FAB_OK)
        *ret = whole.policy;
    else
        fab_policy_fini(&whole.policy);
    return rc;
}

/* ---- the store ------------------------------------------------------------------------------- */

static void take_stored(void *ctx, const struct store_policy *row)
{
    struct policy_stored *to = ctx;
    to->found = true;
    to->version = row->version;
    snprintf(to->hash, sizeof(to->hash), "%s", row->hash);
    free(to->text);
    to->text = strdup(row->text);
}

int policy_stored_load(const struct policy *p, uint64_t version, struct policy_stored *ret)
{
    *ret = (struct policy_stored){0};
    int rc =
        p->in.store != NULL ? store_policies(p->in.store, version, 1, take_stored, ret) : FAB_OK;
    if (rc == FAB_OK && ret->found && ret->text == NULL)
        rc = FAB_E_NOMEM;
    return rc;
}

int policy_stored_read(const struct policy_stored *v, struct fab_declared *ret, char *why,
                       size_t why_len)
{
    char name[40];
    struct fab_doc doc;
    snprintf(name, sizeof(name), "policy version %" PRIu64, v->version);
    const struct document_file file = {name, v->text != NULL ? v->text : "",
                                       v->text != NULL ? strlen(v->text) : 0};
    int rc = document_read(&file, 1, &doc, ret, why, why_len);
    if (rc == FAB_OK)
        fab_policy_doc_fini(&doc);
    return rc;
}

/* ---- what is in force ------------------------------------------------------------------------ */

static void set_force(struct policy *p, uint64_t version, const char *hash,
                      struct fab_declared *take)
{
    fab_policy_declared_fini(&p->declared);
    p->declared = *take;
    *take = (struct fab_declared){0};
    p->version = version;
    snprintf(p->hash, sizeof(p->hash), "%s", hash);
}

static int load(struct policy *p, char *why, size_t len)
{
    struct policy_stored v;
    struct fab_declared d = {0};
    struct fab_policy joined;
    int rc = policy_stored_load(p, 0, &v);
    if (rc == FAB_OK)
        rc = policy_stored_read(&v, &d, why, len);
    if (rc == FAB_OK)
        rc = check_whole(p->in.config, &p->base, &d, &joined, why, len);
    if (rc == FAB_OK) {
        copy_sections(&joined, &p->in.config->policy);
        fab_policy_fini(&joined);
        set_force(p, v.version, v.hash, &d);
    }
    fab_policy_declared_fini(&d);
    free(v.text);
    return rc;
}

void policy_load(struct policy *p)
{
    char why[POLICY_WHY_LEN] = "";
    struct policy_stored v;
    bool newer = policy_stored_load(p, 0, &v) == FAB_OK &&
                 (v.version != p->version || strcmp(v.hash, p->hash) != 0);
    free(v.text);
    if (!newer)
        return;
    int rc = load(p, why, sizeof(why));
    if (rc == FAB_OK)
        rc = p->in.changed(p->in.ctx);
    if (rc != FAB_OK)
        log_error("policy", "the policy of the other manager is not applied: %s",
                  why[0] != '\0' ? why : fab_base_status_text(rc));
    else
        log_notice("policy", "policy version %" PRIu64 " of another manager is in force",
                   p->version);
    policy_settle_begin(p);
}

int policy_new(const struct policy_input *in, struct policy **ret, char *why, size_t why_len)
{
    char detail[POLICY_WHY_LEN] = "";
    struct policy *p = calloc(1, sizeof(*p));
    if (p == NULL)
        return FAB_E_NOMEM;
    p->in = *in;
    p->settle = loop_timer_new(in->loop, policy_settle, p);
    int rc = p->settle != NULL ? fab_policy_copy(&in->config->policy, &p->base) : FAB_E_NOMEM;
    if (rc == FAB_OK)
        rc = load(p, detail, sizeof(detail));
    if (rc == FAB_OK) {
        *ret = p;
        return FAB_OK;
    }
    snprintf(why, why_len,
             "the applied policy cannot be used with these settings: %.300s; change the settings, "
             "or see POLICY AND SETTINGS in fabricd-policy(5)",
             detail[0] != '\0' ? detail : fab_base_status_text(rc));
    policy_free(p);
    return rc;
}

void policy_free(struct policy *p)
{
    if (p == NULL)
        return;
    if (p->sm != NULL)
        sm_forget(p->sm, p);
    loop_timer_free(p->settle);
    fab_policy_declared_fini(&p->declared);
    fab_policy_fini(&p->base);
    free(p);
}

void policy_attach(struct policy *p, struct sm *sm)
{
    p->sm = sm;
    policy_settle_begin(p);
}

int policy_fits(const struct policy *p, const struct config *now, char *why, size_t why_len)
{
    struct fab_policy joined;
    char detail[POLICY_WHY_LEN] = "";
    int rc = check_whole(now, &now->policy, &p->declared, &joined, detail, sizeof(detail));
    if (rc == FAB_OK)
        fab_policy_fini(&joined);
    else
        snprintf(why, why_len, "the applied policy (version %" PRIu64 ") does not fit: %.350s",
                 p->version, detail[0] != '\0' ? detail : fab_base_status_text(rc));
    return rc;
}

void policy_rebase(struct policy *p)
{
    copy_sections(&p->in.config->policy, &p->base);
    fab_policy_declared_apply(&p->declared, &p->in.config->policy);
}

void policy_get_status(const struct policy *p, struct policy_status *ret)
{
    ret->version = p->version;
    memcpy(ret->has, p->declared.has, sizeof(ret->has));
}

/* ---- plans ----------------------------------------------------------------------------------- */

void policy_note(struct policy_plan *plan, struct fab_text *list, const char *fmt, ...)
{
    char text[500];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    fab_base_text_addf(list, "%s\n", text);
    if (list->status != FAB_OK)
        plan->status = list->status;
}

static const char *keep(struct policy_plan *plan, const char *text)
{
    const char *copy = text != NULL ? fab_base_arena_text(&plan->arena, text, strlen(text)) : NULL;
    if (text != NULL && copy == NULL)
        plan->status = FAB_E_NOMEM;
    return copy;
}

static void add_change(void *ctx, const struct fab_policy_change *c)
{
    struct policy_plan *plan = ctx;
    const struct fab_policy_change copy = {keep(plan, c->path), keep(plan, c->before),
                                           keep(plan, c->after)};
    struct fab_policy_change *more = reallocarray(plan->change, plan->changes + 1, sizeof(*more));
    if (more == NULL) {
        plan->status = FAB_E_NOMEM;
        return;
    }
    plan->change = more;
    more[plan->changes++] = copy;
}

static int compare(struct policy *p, struct policy_plan *plan)
{
    struct fab_text before = {0}, after = {0};
    fab_policy_lines(&p->in.config->policy, &before);
    fab_policy_lines_decisions(&p->declared, &before);
    fab_policy_lines(&plan->policy, &after);
    fab_policy_lines_decisions(&plan->declared, &after);
    int rc = before.status != FAB_OK ? before.status : after.status;
    if (rc == FAB_OK)
        rc = fab_policy_lines_compare(fab_base_text_get(&before), fab_base_text_get(&after),
                                      add_change, plan);
    fab_base_text_fini(&before);
    fab_base_text_fini(&after);
    return rc;
}

/* Joins the files to one YAML text, in which each file is a document. */
static int join_files(const struct policy_request *q, char **ret)
{
    struct fab_text text = {0};
    for (size_t i = 0; i < q->files; i++) {
        char name[120];
        log_clean(q->file[i].name, name, sizeof(name));
        fab_base_text_addf(&text, "--- # %s\n", name);
        fab_base_text_bytes(&text, q->file[i].text, q->file[i].len);
        if (q->file[i].len > 0 && q->file[i].text[q->file[i].len - 1] != '\n')
            fab_base_text_add(&text, "\n");
    }
    return fab_base_text_take(&text, ret, NULL);
}

static int hash_text(const char *text, char ret[65])
{
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    if (EVP_Digest(text, strlen(text), digest, &len, EVP_sha256(), NULL) != 1)
        return FAB_E_NOMEM;
    for (unsigned i = 0; i < 32; i++)
        snprintf(ret + 2 * (size_t)i, 3, "%02x", digest[i]);
    return FAB_OK;
}

/* Reads each file by itself, so that an error message names the file. Then joins the files to one
 * text. Reads this text, too, because fabricd stores it, and must be able to read it at the next
 * start. */
static int take_files(const struct policy_request *q, struct policy_plan *plan, char *why,
                      size_t len)
{
    struct fab_declared again;
    struct fab_doc doc;
    int rc = document_read(q->file, q->files, &plan->doc, &plan->declared, why, len);
    if (rc == FAB_OK)
        rc = join_files(q, &plan->text);
    if (rc != FAB_OK)
        return rc;
    const struct document_file all = {"all files together", plan->text, strlen(plan->text)};
    rc = document_read(&all, 1, &doc, &again, why, len);
    if (rc == FAB_OK) {
        fab_policy_declared_fini(&again);
        fab_policy_doc_fini(&doc);
    }
    return rc;
}

static int take_version(const struct policy *p, uint64_t version, struct policy_plan *plan,
                        char *why, size_t len)
{
    struct policy_stored v = {.found = true};
    int rc = version != 0 ? policy_stored_load(p, version, &v) : FAB_OK;
    plan->text = v.text != NULL ? v.text : strdup("");
    if (rc == FAB_OK && !v.found) {
        snprintf(why, len,
                 "there is no policy version %" PRIu64 "; 'fabricctl policy history' lists them",
                 version);
        rc = FAB_E_NOT_FOUND;
    }
    if (rc == FAB_OK && plan->text == NULL)
        rc = FAB_E_NOMEM;
    if (rc != FAB_OK)
        return rc;
    char name[40];
    snprintf(name, sizeof(name), "policy version %" PRIu64, version);
    const struct document_file file = {name, plan->text, strlen(plan->text)};
    return document_read(&file, 1, &plan->doc, &plan->declared, why, len);
}

static int fill_plan(struct policy *p, const struct policy_request *q, struct policy_plan *plan,
                     char *why, size_t len)
{
    int rc =
        q->rollback ? take_version(p, q->version, plan, why, len) : take_files(q, plan, why, len);
    if (rc == FAB_OK)
        rc = hash_text(plan->text, plan->hash);
    if (rc == FAB_OK)
        rc = check_whole(p->in.config, &p->base, &plan->declared, &plan->policy, why, len);
    if (rc == FAB_OK)
        rc = compare(p, plan);
    if (rc == FAB_OK)
        rc = policy_check_names(p, plan, why, len);
    if (rc == FAB_OK)
        rc = policy_check_partitions(p, plan);
    if (rc == FAB_OK)
        rc = policy_check_decisions(p, plan, why, len);
    return rc == FAB_OK ? plan->status : rc;
}

int policy_plan(struct policy *p, const struct policy_request *q, struct policy_plan *ret,
                char *why, size_t why_len)
{
    struct policy_plan plan = {.base = p->version};
    snprintf(why, why_len, "%s", "");
    int rc = fill_plan(p, q, &plan, why, why_len);
    plan.unchanged = p->version > 0 && strcmp(plan.hash, p->hash) == 0;
    if (rc == FAB_OK)
        *ret = plan;
    else
        policy_plan_fini(&plan);
    return rc;
}

void policy_plan_fini(struct policy_plan *plan)
{
    free(plan->text);
    free(plan->change);
    fab_policy_declared_fini(&plan->declared);
    fab_policy_doc_fini(&plan->doc);
    fab_policy_fini(&plan->policy);
    fab_base_text_fini(&plan->warnings);
    fab_base_text_fini(&plan->confirmations);
    fab_base_arena_fini(&plan->arena);
    *plan = (struct policy_plan){0};
}

/* ---- applying -------------------------------------------------------------------------------- */

static void store_version(struct policy *p, const struct policy_plan *plan, uint64_t version,
                          const char *by, const char *reason)
{
    const struct store_policy row = {.version = version,
                                     .time_us = clock_unix_us(),
                                     .by = by,
                                     .reason = reason,
                                     .hash = plan->hash,
                                     .text = plan->text};
    if (p->in.store != NULL)
        store_put_policy(p->in.store, &row);
}

int policy_apply(struct policy *p, struct policy_plan *plan, const char *by, const char *reason,
                 uint64_t *ret_version, char *why, size_t why_len)
{
    struct fab_policy old;
    struct fab_declared before;
    int rc = fab_policy_copy(&p->in.config->policy, &old);
    if (rc != FAB_OK)
        return rc;
    snprintf(why, why_len, "%s", "");
    copy_sections(&plan->policy, &p->in.config->policy);
    rc = p->in.changed(p->in.ctx);
    if (rc != FAB_OK)
        copy_sections(&old, &p->in.config->policy);
    fab_policy_fini(&old);
    if (rc != FAB_OK)
        return rc;
    *ret_version = p->version + 1;
    store_version(p, plan, *ret_version, by, reason);
    before = p->declared;
    p->declared = (struct fab_declared){0};
    set_force(p, *ret_version, plan->hash, &plan->declared);
    event_emit(p->in.bus, policy_applied, .subject = "policy", .by = by, .version = p->version,
               .changes = plan->changes);
    policy_decide(p, &before, by);
    fab_policy_declared_fini(&before);
    return FAB_OK;
}

int policy_lines(const struct policy *p, uint64_t version, struct fab_text *to, char *why,
                 size_t why_len)
{
    struct policy_stored v = {.found = true};
    struct fab_declared d = {0};
    struct fab_policy joined = {0};
    int rc = version != 0 ? policy_stored_load(p, version, &v) : FAB_OK;
    if (rc == FAB_OK && !v.found) {
        snprintf(why, why_len,
                 "there is no policy version %" PRIu64 "; 'fabricctl policy history' lists them",
                 version);
        rc = FAB_E_NOT_FOUND;
    }
    if (rc == FAB_OK)
        rc = policy_stored_read(&v, &d, why, why_len);
    if (rc == FAB_OK)
        rc = policy_join(&p->base, &d, &joined);
    if (rc == FAB_OK) {
        fab_policy_lines(&joined, to);
        fab_policy_lines_decisions(&d, to);
        rc = to->status;
    }
    fab_policy_fini(&joined);
    fab_policy_declared_fini(&d);
    free(v.text);
    return rc;
}
