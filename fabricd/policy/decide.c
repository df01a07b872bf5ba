/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Carries out the decisions in the applied policy: the isolation of links, and the approval of
 * devices. The manager treats each of these decisions as if an operator had made it by a command:
 * it stores and shows them together with the decisions that were made by commands. If the new
 * version lacks a decision that an earlier version had, the manager takes this decision back.
 *
 * The store has the number of the last version whose decisions were all carried out. If a crash or
 * a take-over interrupted the work on newer versions, policy_settle completes it: from the
 * decisions of all versions from that one on, it takes back those that the newest version lacks. A
 * timer calls this function until this manager is master and knows the fabric.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/log.h"
#include "fabricd/policy/state.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/discover/baseline.h"

#define SETTLE_US 500000

/* ---- isolated links -------------------------------------------------------------------------- */

static bool has_link(const struct fab_declared *d, const char *link)
{
    for (size_t i = 0; i < d->isolations; i++)
        if (strcmp(d->isolation[i].link, link) == 0)
            return true;
    return false;
}

static bool find(const struct fab_view *v, const char *place, struct store_port *ret)
{
    char why[200];
    uint32_t port;
    if (policy_find_port(v, place, &port, why, sizeof(why)) != FAB_OK)
        return false;
    const struct fab_port *p = fab_fabric_port(v->fabric, port);
    *ret = (struct store_port){v->fabric->nodes[p->node].guid, p->num};
    return true;
}

static int check_links(struct policy *p, const struct fab_view *v, struct policy_plan *plan,
                       char *why, size_t len)
{
    const struct fab_declared *d = &plan->declared;
    char what[300], place[160];
    size_t which = 0;
    struct store_port *link = calloc(d->isolations + 1, sizeof(*link));
    if (link == NULL)
        return FAB_E_NOMEM;
    for (size_t i = 0; i < d->isolations; i++)
        (void)find(v, d->isolation[i].link, &link[i]);
    int rc = sm_isolate_check(p->sm, link, d->isolations, &which, what, sizeof(what));
    if (rc != FAB_OK && rc != FAB_E_NOMEM) {
        const struct fab_declared_ref *ref = &d->ref[d->isolation[which].ref];
        document_place(&plan->doc, &ref->at, place, sizeof(place));
        snprintf(why, len, "%s%s: link %s cannot be isolated: %s", place, ref->path,
                 d->isolation[which].link, what);
    }
    free(link);
    return rc;
}

static void isolate(struct policy *p, const struct fab_view *v,
                    const struct fab_declared_isolation *i)
{
    struct store_port link;
    char cause[160], why[300] = "";
    if (!find(v, i->link, &link))
        return;
    snprintf(cause, sizeof(cause), "policy version %" PRIu64 "%s%s", p->version,
             i->reason[0] != '\0' ? ": " : "", i->reason);
    int rc = sm_link_isolate(p->sm, link.node_guid, link.port, true, cause, why, sizeof(why));
    if (rc != FAB_OK && rc != FAB_E_EXISTS)
        log_warning("policy", "link %s is not isolated: %s", i->link,
                    why[0] != '\0' ? why : fab_base_status_text(rc));
}

static void release(struct policy *p, const struct fab_view *v, const struct fab_declared *before,
                    const char *by)
{
    struct store_port link;
    for (size_t i = 0; i < before->isolations; i++) {
        const char *name = before->isolation[i].link;
        if (has_link(&p->declared, name) || !find(v, name, &link))
            continue;
        int rc = sm_link_release(p->sm, link.node_guid, link.port, by);
        if (rc != FAB_OK && rc != FAB_E_NOT_FOUND)
            log_warning("policy", "link %s is not released: %s", name, fab_base_status_text(rc));
    }
}

/* ---- approvals ------------------------------------------------------------------------------- */

static bool has_approval(const struct fab_declared *d, uint64_t guid)
{
    for (size_t i = 0; i < d->approvals; i++)
        if (d->approval[i].node_guid == guid)
            return true;
    return false;
}

/* Returns the number of approvals that the policy in force has, but the planned policy `now` has
 * not. */
static size_t count_dropped(const struct policy *p, const struct fab_declared *now)
{
    size_t dropped = 0;
    for (size_t i = 0; i < p->declared.approvals; i++)
        dropped += !has_approval(now, p->declared.approval[i].node_guid);
    return dropped;
}

static int check_approvals(struct policy *p, struct policy_plan *plan, char *why, size_t len)
{
    size_t dropped = count_dropped(p, &plan->declared);
    if (plan->declared.approvals > 0 && sm_baseline(p->sm) == NULL) {
        snprintf(why, len,
                 "approvals: there is no baseline to which devices could be added; 'fabricctl topo "
                 "approve' takes the fabric as it is now");
        return FAB_E_NOT_FOUND;
    }
    if (dropped > 0 && p->in.config->unapproved != CONFIG_ALLOW)
        policy_note(plan, &plan->confirmations,
                    "%zu device%s would lose %s approval, and be %s (subnet.unapproved)", dropped,
                    dropped == 1 ? "" : "s", dropped == 1 ? "its" : "their",
                    p->in.config->unapproved == CONFIG_QUARANTINE ? "quarantined" : "excluded");
    return FAB_OK;
}

static void settled(struct policy *p)
{
    if (p->pending == 0 && p->in.store != NULL)
        store_put_policy_settled(p->in.store, p->version);
}

static void on_baseline(void *ctx, int status, const char *message)
{
    struct policy *p = ctx;
    if (status < 0)
        log_warning("policy", "the approvals of policy version %" PRIu64 " are not complete: %s",
                    p->version, message);
    p->pending--;
    settled(p);
}

/* NOT_FOUND: the device has lost its approval already, for example by another version. */
static void on_disapproved(void *ctx, int status, const char *message)
{
    on_baseline(ctx, status == FAB_E_NOT_FOUND ? FAB_OK : status, message);
}

static void approve(struct policy *p, const struct fab_view *v, const char *by)
{
    const struct fab_declared *d = &p->declared;
    struct fab_place *place = calloc(d->approvals + 1, sizeof(*place));
    uint32_t count = 0;
    for (size_t i = 0; place != NULL && i < d->approvals; i++) {
        const struct fab_declared_approval *a = &d->approval[i];
        struct store_port at;
        if (find(v, a->at, &at))
            place[count++] = (struct fab_place){.guid = a->node_guid,
                                                .port_guid = a->port_guid,
                                                .port = a->port,
                                                .near_guid = at.node_guid,
                                                .near_port = at.port};
    }
    if (count > 0 && sm_baseline_approve(p->sm, place, count, by, on_baseline, p) == FAB_OK)
        p->pending++;
    free(place);
}

static void disapprove(struct policy *p, const struct fab_declared *before, const char *by)
{
    char name[24], *const list[] = {name};
    for (size_t i = 0; i < before->approvals; i++) {
        uint64_t guid = before->approval[i].node_guid;
        snprintf(name, sizeof(name), "0x%016" PRIx64, guid);
        if (!has_approval(&p->declared, guid) &&
            sm_baseline_disapprove(p->sm, list, 1, by, on_disapproved, p) == FAB_OK)
            p->pending++;
    }
}

/* ---- all decisions --------------------------------------------------------------------------- */

int policy_check_decisions(struct policy *p, struct policy_plan *plan, char *why, size_t why_len)
{
    struct fab_view *v = sm_view(p->sm);
    if (v == NULL)
        return FAB_E_BUSY;
    int rc = check_links(p, v, plan, why, why_len);
    if (rc == FAB_OK)
        rc = check_approvals(p, plan, why, why_len);
    fab_view_unref(v);
    return rc;
}

/* Takes back those decisions of an earlier version that the version in force lacks. */
static void take_back(struct policy *p, const struct fab_view *v, const struct fab_declared *before,
                      const char *by)
{
    release(p, v, before, by);
    disapprove(p, before, by);
}

static void take_back_stored(struct policy *p, const struct fab_view *v, uint64_t version,
                             const char *by)
{
    struct policy_stored stored;
    struct fab_declared before = {0};
    char why[POLICY_WHY_LEN];
    if (policy_stored_load(p, version, &stored) == FAB_OK && stored.found &&
        policy_stored_read(&stored, &before, why, sizeof(why)) == FAB_OK)
        take_back(p, v, &before, by);
    fab_policy_declared_fini(&before);
    free(stored.text);
}

/* Returns the last version whose decisions were all carried out, or were all requested by this
 * manager. */
static uint64_t last_decided(const struct policy *p)
{
    uint64_t stored = p->in.store != NULL ? store_policy_settled(p->in.store) : 0;
    return stored > p->decided ? stored : p->decided;
}

void policy_decide(struct policy *p, const struct fab_declared *before, const char *by)
{
    struct fab_view *v = sm_view(p->sm);
    if (v == NULL)
        return;
    uint64_t end = before != NULL ? p->version - 1 : p->version, from = last_decided(p);
    if (from + STORE_POLICIES_KEPT < end)
        from = end - STORE_POLICIES_KEPT;
    for (size_t i = 0; i < p->declared.isolations; i++)
        isolate(p, v, &p->declared.isolation[i]);
    for (uint64_t version = from > 0 ? from : 1; version < end; version++)
        take_back_stored(p, v, version, by);
    if (before != NULL)
        take_back(p, v, before, by);
    approve(p, v, by);
    fab_view_unref(v);
    p->decided = p->version;
    settled(p);
}

void policy_settle_begin(struct policy *p)
{
    if (p->in.store != NULL && p->version > store_policy_settled(p->in.store))
        loop_timer_set(p->settle, SETTLE_US);
}

void policy_settle(void *ctx)
{
    struct policy *p = ctx;
    struct sm_status status;
    struct fab_view *view = sm_view(p->sm);
    bool known = view != NULL;
    fab_view_unref(view);
    sm_get_status(p->sm, &status);
    if (!known || status.role != FAB_SM_MASTER || p->version <= store_policy_settled(p->in.store)) {
        if (p->version > store_policy_settled(p->in.store))
            loop_timer_set(p->settle, SETTLE_US);
        return;
    }
    policy_decide(p, NULL, "fabricd");
}
