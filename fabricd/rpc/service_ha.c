/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements GetManagers, HandOver and SetManagerPriority. */
#include "fabricd/rpc/server.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "fabric/v1/ha.pb-c.h"
#include "fabricd/rpc/convert.h"
#include "fabricd/rpc/request.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/smstate/smstate.h"

static Fabric__V1__ManagerRole role_of_state(uint8_t state)
{
    return state <= FAB_SM_MASTER ? (Fabric__V1__ManagerRole)(state + 1)
                                  : FABRIC__V1__MANAGER_ROLE__MANAGER_ROLE_UNSPECIFIED;
}

static Fabric__V1__OtherManager *convert_manager(struct answer *a, const struct sm_manager *o)
{
    Fabric__V1__OtherManager *m =
        ANSWER_NEW(a, Fabric__V1__OtherManager, fabric__v1__other_manager);
    if (m == NULL)
        return NULL;
    m->guid = answer_guid(a, o->guid);
    m->node = answer_text(a, o->name);
    m->node_guid = answer_guid(a, o->node_guid);
    m->place = answer_text(a, o->place);
    m->lid = o->lid;
    m->role = role_of_state(o->state);
    m->priority = o->priority;
    m->trusted = o->trusted;
    m->activity_count = o->activity;
    m->activity_advancing = o->advancing;
    m->last_answer = convert_duration(a, o->silent_us);
    if (o->held_us != 0)
        m->held_for = convert_duration(a, o->held_us);
    return m;
}

static Fabric__V1__Replication *convert_replication(struct answer *a, const struct replica *replica,
                                                    struct sm *sm)
{
    struct replica_status s;
    Fabric__V1__Replication *m =
        replica != NULL ? ANSWER_NEW(a, Fabric__V1__Replication, fabric__v1__replication) : NULL;
    if (m == NULL)
        return NULL;
    replica_get_status(replica, &s);
    m->endpoint = answer_text(a, s.endpoint);
    m->majority = s.quorum;
    m->reason = answer_text(a, s.reason);
    if (!s.quorum)
        m->lost_for = convert_duration(a, s.lost_us);
    m->leads = s.role == REPLICA_LEADS;
    if (s.leader_guid != 0)
        m->leader_guid = answer_guid(a, s.leader_guid);
    m->pending = s.pending;
    m->confirmed = s.confirmed;
    m->received = s.received;
    m->dropped = s.dropped;
    if (m->leads && s.confirmed_us != 0) {
        m->last_confirmed = convert_time(a, s.confirmed_us);
        m->commit_time = convert_duration(a, s.commit_us);
    }
    if (s.lag_us != 0)
        m->lag = convert_duration(a, s.lag_us);
    m->level = s.level && !sm_lacks_decisions(sm);
    return m;
}

void get_managers(struct call *c, const void *request)
{
    Fabric__V1__GetManagersResponse m = FABRIC__V1__GET_MANAGERS_RESPONSE__INIT;
    struct answer a = {0};
    struct sm_ha_status s;
    struct sm *sm = call_rpc(c)->in.sm;
    struct sm_manager *others = answer_alloc(&a, SM_MANAGERS_MAX, sizeof *others);
    uint32_t count = others != NULL ? sm_managers(sm, others, SM_MANAGERS_MAX) : 0;
    (void)request;
    sm_get_ha_status(sm, &s);
    m.role = role_of_state(s.state);
    m.priority = s.priority;
    m.own_priority = s.own_priority;
    m.configured_priority = s.set_priority;
    m.guid = answer_guid(&a, s.guid);
    if (s.master_guid != 0)
        m.master_guid = answer_guid(&a, s.master_guid);
    m.since = convert_time(&a, s.since_us);
    m.reason = answer_text(&a, s.why);
    m.handing_over = s.handing_over;
    m.others = answer_alloc(&a, count, sizeof(Fabric__V1__OtherManager *));
    for (uint32_t i = 0; i < count && m.others != NULL; i++)
        m.others[m.n_others++] = convert_manager(&a, &others[i]);
    m.replication = convert_replication(&a, call_rpc(c)->in.replica, sm);
    answer_reply(&a, c, &m.base);
}

/* ---- hand-over ------------------------------------------------------------------------------- */

static bool is_named(const struct sm_manager *o, const char *name)
{
    char guid[24], node[24];
    snprintf(guid, sizeof guid, "0x%016" PRIx64, o->guid);
    snprintf(node, sizeof node, "0x%016" PRIx64, o->node_guid);
    return strcmp(o->name, name) == 0 || strcasecmp(guid, name) == 0 || strcasecmp(node, name) == 0;
}

/* Returns the port GUID of the manager with this name. If no manager or several managers have the
 * name, finishes the call with an error and returns 0. */
static uint64_t find_manager(struct call *c, const char *name)
{
    struct sm_manager others[SM_MANAGERS_MAX];
    uint32_t count = sm_managers(call_rpc(c)->in.sm, others, SM_MANAGERS_MAX), found = 0;
    uint64_t guid = 0;
    for (uint32_t i = 0; i < count; i++)
        if (is_named(&others[i], name)) {
            guid = others[i].guid;
            found++;
        }
    if (found == 1)
        return guid;
    if (found == 0)
        call_finish(c, FAB_GRPC_NOT_FOUND,
                    "this manager sees no other manager \"%s\"; 'fabricctl ha status' lists the "
                    "managers that it sees",
                    name);
    else
        call_finish(c, FAB_GRPC_INVALID_ARGUMENT,
                    "%u managers are named \"%s\"; give the port GUID", found, name);
    return 0;
}

static void on_handed_over(void *ctx, int status, const char *message)
{
    Fabric__V1__HandOverResponse m = FABRIC__V1__HAND_OVER_RESPONSE__INIT;
    struct sm_ha_status s;
    char guid[24] = "";
    sm_get_ha_status(call_rpc(ctx)->in.sm, &s);
    snprintf(guid, sizeof guid, "0x%016" PRIx64, s.master_guid);
    m.guid = guid;
    request_end(ctx, status, message, &m.base, &m.message);
}

/* Returns the name of the switch port to which the manager with this GUID is connected; "": not
 * known. */
static const char *place_of(const struct sm_manager *others, uint32_t count, uint64_t guid)
{
    for (uint32_t i = 0; i < count; i++)
        if (others[i].guid == guid)
            return others[i].place;
    return "";
}

static void rehearse_hand_over(struct call *c, uint64_t guid)
{
    Fabric__V1__HandOverResponse m = FABRIC__V1__HAND_OVER_RESPONSE__INIT;
    struct sm *sm = call_rpc(c)->in.sm;
    struct sm_manager others[SM_MANAGERS_MAX];
    struct sm_ha_status s;
    uint32_t count = sm_managers(sm, others, SM_MANAGERS_MAX);
    uint64_t to = 0;
    uint8_t priority = 0;
    char why[400], text[24], lower[80] = "";
    if (sm_hand_over_check(sm, guid, &to, &priority, why, sizeof why) < 0) {
        call_finish(c, FAB_GRPC_FAILED_PRECONDITION, "refused: %s", why);
        return;
    }
    sm_get_ha_status(sm, &s);
    if (priority != s.priority)
        snprintf(lower, sizeof lower, " with priority %u (now: %u)", priority, s.priority);
    snprintf(text, sizeof text, "0x%016" PRIx64, to);
    m.guid = text;
    request_rehearsed(c, "manager", &m.base, &m.message,
                      "the manager %s at %s would become master; this manager would stay standby%s",
                      text, place_of(others, count, to), lower);
}

void hand_over(struct call *c, const void *request)
{
    const Fabric__V1__HandOverRequest *q = request;
    char why[400];
    uint64_t guid = q->to[0] != '\0' ? find_manager(c, q->to) : 0;
    if (q->to[0] != '\0' && guid == 0)
        return;
    if (q->dry_run) {
        rehearse_hand_over(c, guid);
        return;
    }
    call_audit_object(c, "manager");
    request_begin(c);
    int rc = sm_hand_over(call_rpc(c)->in.sm, guid, on_handed_over, c, why, sizeof why);
    if (rc < 0)
        call_finish(c, FAB_GRPC_FAILED_PRECONDITION, "refused: %s", why);
}

/* ---- priority -------------------------------------------------------------------------------- */

/* Writes to ret[] the end of a sentence: which other manager would become master if this manager
 * got the new priority. Writes "" if this manager would stay master, or is not master now. */
static void describe_election(struct sm *sm, const struct sm_ha_status *s, uint8_t priority,
                              char *ret, size_t len)
{
    struct sm_manager others[SM_MANAGERS_MAX];
    uint32_t count = sm_managers(sm, others, SM_MANAGERS_MAX);
    const struct sm_manager *best = NULL;
    *ret = '\0';
    for (uint32_t i = 0; s->state == FAB_SM_MASTER && i < count; i++) {
        const struct sm_manager *o = &others[i];
        if (o->trusted && o->state == FAB_SM_STANDBY && o->held_us == 0 &&
            fab_smstate_beats(o->priority, o->guid, priority, s->guid) &&
            (best == NULL || fab_smstate_beats(o->priority, o->guid, best->priority, best->guid)))
            best = o;
    }
    if (best != NULL)
        snprintf(ret, len,
                 "; the manager 0x%016" PRIx64
                 " at %s would then have precedence and become master",
                 best->guid, best->place);
}

static void rehearse_priority(struct call *c, const struct sm_ha_status *s, uint8_t priority)
{
    Fabric__V1__SetManagerPriorityResponse m = FABRIC__V1__SET_MANAGER_PRIORITY_RESPONSE__INIT;
    char after[240];
    describe_election(call_rpc(c)->in.sm, s, priority, after, sizeof after);
    request_rehearsed(c, "manager", &m.base, &m.message, "the priority would be %u (now: %u)%s",
                      priority, s->priority, after);
}

void set_manager_priority(struct call *c, const void *request)
{
    const Fabric__V1__SetManagerPriorityRequest *q = request;
    Fabric__V1__SetManagerPriorityResponse m = FABRIC__V1__SET_MANAGER_PRIORITY_RESPONSE__INIT;
    struct sm *sm = call_rpc(c)->in.sm;
    struct sm_ha_status s;
    char was[32], text[240];
    sm_get_ha_status(sm, &s);
    uint32_t priority = q->configured ? s.set_priority : q->priority;
    if (q->dry_run && priority <= SM_PRIORITY_MAX) {
        rehearse_priority(c, &s, (uint8_t)priority);
        return;
    }
    call_audit_object(c, "manager");
    snprintf(was, sizeof was, "priority %u", s.priority);
    snprintf(text, sizeof text, "priority %u", priority);
    call_audit_change(c, was, text);
    if (priority > SM_PRIORITY_MAX || sm_set_priority(sm, (uint8_t)priority) < 0) {
        call_finish(c, FAB_GRPC_INVALID_ARGUMENT, "the priority is %u, expected 0 to %d", priority,
                    SM_PRIORITY_MAX);
        return;
    }
    snprintf(text, sizeof text, "the priority is %u now (before: %u)%s", priority, s.priority,
             priority == s.set_priority
                 ? ""
                 : " until the manager is restarted; to keep it, set subnet.sm_priority in "
                   "fabricd.yaml");
    request_end(c, FAB_OK, text, &m.base, &m.message);
}
