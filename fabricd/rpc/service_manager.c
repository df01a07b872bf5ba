/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements GetManagerMode, FreezeManager and ResumeManager. */
#include "fabricd/rpc/server.h"

#include <stdio.h>

#include "fabric/v1/manager.pb-c.h"
#include "fabricd/rpc/convert.h"
#include "fabricd/rpc/limits.h"
#include "fabricd/rpc/request.h"
#include "libfabmgr/base/status.h"

#define YEAR_S (366 * 86400)

static Fabric__V1__ManagerMode convert_mode(enum sm_freeze mode)
{
    return (Fabric__V1__ManagerMode)(mode + FABRIC__V1__MANAGER_MODE__MANAGER_MODE_NORMAL);
}

void get_manager_mode(struct call *c, const void *request)
{
    Fabric__V1__GetManagerModeResponse m = FABRIC__V1__GET_MANAGER_MODE_RESPONSE__INIT;
    struct answer a = {0};
    struct sm_freeze_status s;
    (void)request;
    sm_get_freeze(call_rpc(c)->in.sm, &s);
    m.mode = convert_mode(s.mode);
    if (s.since_us != 0)
        m.since = convert_time(&a, s.since_us);
    if (s.until_us != 0)
        m.until = convert_time(&a, s.until_us);
    m.by = answer_text(&a, s.by);
    m.reason = answer_text(&a, s.reason);
    m.withheld_writes = s.writes;
    m.withheld_blocks = s.blocks;
    m.withheld_switches = s.switches;
    m.new_nodes = s.new_nodes;
    m.new_links = s.new_links;
    m.postponed = answer_text(&a, s.postponed);
    m.stopped_sets = s.refused;
    m.confirming = answer_text(&a, s.confirming);
    answer_reply(&a, c, &m.base);
}

/* Reads the time limit of a request; 0: none. Returns false if it is not valid; the call is then
 * finished with an error. */
static bool read_limit(struct call *c, const Google__Protobuf__Duration *limit, uint64_t *ret_us)
{
    *ret_us = 0;
    if (limit == NULL)
        return true;
    if (limit->seconds < 0 || limit->nanos < 0 || limit->nanos > 999999999 ||
        limit->seconds > YEAR_S || (limit->seconds == 0 && limit->nanos < 1000)) {
        call_finish(c, FAB_GRPC_INVALID_ARGUMENT,
                    "the time limit is not valid; a microsecond to a year is expected");
        return false;
    }
    *ret_us = (uint64_t)limit->seconds * 1000000 + (uint64_t)limit->nanos / 1000;
    return true;
}

static void rehearse_freeze(struct call *c, enum sm_freeze mode, uint64_t limit_us)
{
    Fabric__V1__FreezeManagerResponse m = FABRIC__V1__FREEZE_MANAGER_RESPONSE__INIT;
    struct sm *sm = call_rpc(c)->in.sm;
    struct sm_freeze_status now;
    char why[240], limit[60] = "until 'fabricctl manager resume'";
    if (sm_freeze_check(sm, mode, why, sizeof why) != FAB_OK) {
        call_finish(c, FAB_GRPC_FAILED_PRECONDITION, "refused: %s", why);
        return;
    }
    sm_get_freeze(sm, &now);
    if (limit_us != 0)
        snprintf(limit, sizeof limit, "for %.0f s", (double)limit_us / 1e6);
    request_rehearsed(c, "manager", &m.base, &m.message,
                      "the manager would be frozen %s (%s; now: %s)", limit,
                      sm_freeze_mode_name(mode), sm_freeze_mode_name(now.mode));
}

void freeze_manager(struct call *c, const void *request)
{
    const Fabric__V1__FreezeManagerRequest *q = request;
    Fabric__V1__FreezeManagerResponse m = FABRIC__V1__FREEZE_MANAGER_RESPONSE__INIT;
    struct sm *sm = call_rpc(c)->in.sm;
    enum sm_freeze mode = q->no_writes ? SM_NO_WRITES : SM_REPAIRS_ONLY;
    struct sm_freeze_status was;
    char reason[RPC_MAX_REASON + 1], text[240];
    uint64_t limit_us;
    if (!read_limit(c, q->limit, &limit_us))
        return;
    if (q->dry_run) {
        rehearse_freeze(c, mode, limit_us);
        return;
    }
    sm_get_freeze(sm, &was);
    call_audit_change(c, sm_freeze_mode_name(was.mode), sm_freeze_mode_name(mode));
    call_audit_object(c, "manager");
    call_reason(c, reason);
    if (sm_freeze(sm, mode, limit_us, call_peer(c), reason, text, sizeof text) != FAB_OK) {
        call_finish(c, FAB_GRPC_FAILED_PRECONDITION, "refused: %s", text);
        return;
    }
    snprintf(text, sizeof text, "the manager is frozen (%s)%s", sm_freeze_mode_name(mode),
             limit_us == 0 ? "; 'fabricctl manager resume' ends this"
                           : "; it resumes by itself, or by 'fabricctl manager resume'");
    request_end(c, FAB_OK, text, &m.base, &m.message);
}

static void rehearse_resume(struct call *c)
{
    Fabric__V1__ResumeManagerResponse m = FABRIC__V1__RESUME_MANAGER_RESPONSE__INIT;
    struct sm_freeze_status now;
    sm_get_freeze(call_rpc(c)->in.sm, &now);
    if (now.mode == SM_NOT_FROZEN)
        request_rehearsed(c, "manager", &m.base, &m.message, "the manager is not frozen");
    else
        request_rehearsed(
            c, "manager", &m.base, &m.message, "the manager would be resumed, and would sweep%s%s",
            now.postponed[0] != '\0' ? "; it would do what was postponed: " : "", now.postponed);
}

void resume_manager(struct call *c, const void *request)
{
    const Fabric__V1__ResumeManagerRequest *q = request;
    Fabric__V1__ResumeManagerResponse m = FABRIC__V1__RESUME_MANAGER_RESPONSE__INIT;
    struct sm *sm = call_rpc(c)->in.sm;
    struct sm_freeze_status was;
    char text[480];
    if (q->dry_run) {
        rehearse_resume(c);
        return;
    }
    sm_get_freeze(sm, &was);
    call_audit_change(c, sm_freeze_mode_name(was.mode), sm_freeze_mode_name(SM_NOT_FROZEN));
    call_audit_object(c, "manager");
    if (sm_resume(sm, call_peer(c)) != FAB_OK) {
        request_end(c, FAB_OK, "the manager is not frozen", &m.base, &m.message);
        return;
    }
    snprintf(text, sizeof text, "the manager is resumed%s%s",
             was.postponed[0] != '\0' ? "; it now does what was postponed: " : "", was.postponed);
    request_end(c, FAB_OK, text, &m.base, &m.message);
}
