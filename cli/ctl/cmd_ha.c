/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands `fabricctl ha status`, `ha handover` and `ha priority`. They show the subnet
 * managers and their roles, make another manager master, and change the priority of this manager.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/ctl/cmd.h"
#include "cli/ctl/show.h"
#include "fabric/v1/ha.pb-c.h"

#define POLL_MS 200
/* Maximum time in s that `ha handover` waits until the new master answers as master. */
#define WAIT_S 30

static const char *role_word(Fabric__V1__ManagerRole role)
{
    static const char *const words[] = {"?", "not active", "discovering", "standby", "master"};
    return (size_t)role < sizeof words / sizeof words[0] ? words[role] : "?";
}

static int get(struct session *s, Fabric__V1__GetManagersResponse **ret)
{
    const Fabric__V1__GetManagersRequest q = FABRIC__V1__GET_MANAGERS_REQUEST__INIT;
    return ask(s, "GetManagers", &q.base, &fabric__v1__get_managers_response__descriptor, ret);
}

/* ---- status ---------------------------------------------------------------------------------- */

static const struct out_column columns[] = {
    {"node", "NODE", false},          {"guid", "GUID", false},
    {"role", "STATE", false},         {"priority", "PRIORITY", true},
    {"trusted", "TRUSTED", false},    {"activity_advancing", "ACTCOUNT", false},
    {NULL, "LAST ANSWER", false},     {"place", "AT", false},
    {NULL, "NOT HANDED OVER", false},
};

static void say_duration(struct out *o, const char *key, const char *label,
                         const Google__Protobuf__Duration *d)
{
    char text[SHOW_LEN];
    if (d == NULL) {
        out_none(o, key, NULL);
        out_text(o, NULL, label, OUT_PLAIN, "-");
        return;
    }
    show_duration(microseconds_of(d), text);
    out_millis(o, key, NULL, OUT_PLAIN, microseconds_of(d));
    out_text(o, NULL, label, OUT_PLAIN, text);
}

static void say_other(struct out *o, const Fabric__V1__OtherManager *m)
{
    out_row(o);
    out_fields(o, &m->base, "node", "NODE", "guid", "GUID", NULL);
    out_keys(o, &m->base, "node_guid lid activity_count");
    out_text(o, "role", "STATE", OUT_PLAIN, role_word(m->role));
    out_number(o, "priority", "PRIORITY", OUT_PLAIN, m->priority);
    out_bool(o, "trusted", NULL, OUT_PLAIN, m->trusted);
    out_text(o, NULL, "TRUSTED", m->trusted ? OUT_GOOD : OUT_WARN, m->trusted ? "yes" : "no");
    out_bool(o, "activity_advancing", NULL, OUT_PLAIN, m->activity_advancing);
    out_text(o, NULL, "ACTCOUNT", OUT_PLAIN, m->activity_advancing ? "advances" : "-");
    say_duration(o, "last_answer_ms", "LAST ANSWER", m->last_answer);
    out_text(o, "place", "AT", OUT_PLAIN, m->place);
    say_duration(o, "held_ms", "NOT HANDED OVER", m->held_for);
    out_row_end(o);
}

static void say_priority(struct out *o, const Fabric__V1__GetManagersResponse *r)
{
    char note[160] = "";
    if (r->priority < r->own_priority)
        snprintf(note, sizeof note,
                 " (lowered from %u by a hand-over; 'fabricctl ha priority %u' restores it)",
                 r->own_priority, r->own_priority);
    else if (r->own_priority != r->configured_priority)
        snprintf(note, sizeof note, " until the next start (subnet.sm_priority is %u)",
                 r->configured_priority);
    out_textf(o, "Priority", OUT_PLAIN, "%u%s", r->priority, note);
    out_keys(o, &r->base, "priority own_priority configured_priority");
}

static void say_replication(struct out *o, const Fabric__V1__Replication *m)
{
    if (m == NULL) {
        out_none(o, "replication", NULL);
        return;
    }
    out_record(o, "replication");
    out_bool(o, "majority", NULL, OUT_PLAIN, m->majority);
    out_textf(o, "Replication", m->majority ? OUT_GOOD : OUT_WARN, "%s by etcd, %s",
              m->leads ? "sends" : "receives",
              m->majority ? "a majority answers" : "no majority answers");
    out_keys(o, &m->base, "leads leader_guid level reason");
    if (!m->majority)
        out_text(o, NULL, "Reason", OUT_WARN, m->reason);
    out_fields(o, &m->base, "endpoint", "Etcd server", "pending", "Pending rows", NULL);
    say_duration(o, "lost_for_ms", m->majority ? NULL : "Lost for", m->lost_for);
    out_time(o, m->leads ? "Confirmed" : NULL, m->last_confirmed);
    out_time_utc(o, "last_confirmed", m->last_confirmed);
    say_duration(o, "commit_time_ms", m->leads ? "Commit time" : NULL, m->commit_time);
    say_duration(o, "lag_ms", m->leads ? NULL : "Last heard", m->lag);
    out_keys(o, &m->base, "confirmed received dropped");
    out_record_end(o);
}

static void say_status(struct out *o, const Fabric__V1__GetManagersResponse *r)
{
    bool master = r->role == FABRIC__V1__MANAGER_ROLE__MANAGER_ROLE_MASTER;
    out_record(o, NULL);
    out_text(o, "role", "Role", master ? OUT_GOOD : OUT_WARN, role_word(r->role));
    out_time(o, "Since", r->since);
    out_time_utc(o, "since", r->since);
    out_text(o, "reason", "Because", OUT_PLAIN, r->reason);
    say_priority(o, r);
    out_fields(o, &r->base, "guid", "GUID", NULL);
    if (!master && r->master_guid[0] != '\0')
        out_textf(o, "Master", OUT_PLAIN, "%s", r->master_guid);
    out_keys(o, &r->base, "master_guid");
    out_bool(o, "handing_over", NULL, OUT_PLAIN, r->handing_over);
    say_replication(o, r->replication);
    if (r->n_others == 0)
        out_note(o, OUT_PLAIN, "This manager sees no other subnet manager.");
    out_table(o, "others", columns, sizeof columns / sizeof columns[0], false);
    for (size_t i = 0; i < r->n_others; i++)
        say_other(o, r->others[i]);
    out_table_end(o);
    out_record_end(o);
}

static int status(struct session *s)
{
    Fabric__V1__GetManagersResponse *r = NULL;
    int rc = get(s, &r);
    if (rc == EXIT_OK)
        say_status(s->out, r);
    free_reply(r);
    return rc;
}

/* ---- hand-over ------------------------------------------------------------------------------- */

static const Fabric__V1__OtherManager *find(const Fabric__V1__GetManagersResponse *r,
                                            const char *guid)
{
    for (size_t i = 0; i < r->n_others; i++)
        if (strcmp(r->others[i]->guid, guid) == 0)
            return r->others[i];
    return NULL;
}

/* Waits until the manager with the port GUID `guid` answers as master, at most WAIT_S seconds.
 * Stops waiting if the manager that fabricctl is connected to does not see the other one any more.
 * *ret_master: whether the other manager is master now. Returns the exit code. */
static int await_master(struct session *s, const char *guid, bool *ret_master)
{
    int rc = EXIT_OK;
    bool seen = true;
    *ret_master = false;
    for (unsigned i = 0; rc == EXIT_OK && seen && !*ret_master && i < WAIT_S * 1000 / POLL_MS;
         i++) {
        Fabric__V1__GetManagersResponse *r = NULL;
        if (i > 0)
            nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000L}, NULL);
        rc = get(s, &r);
        const Fabric__V1__OtherManager *m = rc == EXIT_OK ? find(r, guid) : NULL;
        seen = m != NULL;
        *ret_master = seen && m->role == FABRIC__V1__MANAGER_ROLE__MANAGER_ROLE_MASTER;
        free_reply(r);
    }
    return rc;
}

static void say_result(struct out *o, const Fabric__V1__HandOverResponse *r, bool master)
{
    out_record(o, NULL);
    out_text(o, "message", "Hand-over", OUT_PLAIN, r->message);
    out_text(o, "new_master", NULL, OUT_PLAIN, r->guid);
    out_bool(o, "confirmed", NULL, OUT_PLAIN, master);
    if (master)
        out_textf(o, "Master", OUT_GOOD, "%s; this manager is standby", r->guid);
    else
        out_textf(o, "Master", OUT_WARN,
                  "not known: %s accepted the role, but does not answer as master; see 'fabricctl "
                  "ha status'",
                  r->guid);
    out_record_end(o);
}

static int rehearse_hand_over(struct session *s, Fabric__V1__HandOverRequest *q)
{
    Fabric__V1__HandOverResponse *r = NULL;
    q->dry_run = true;
    int rc = ask(s, "HandOver", &q->base, &fabric__v1__hand_over_response__descriptor, &r);
    if (rc == EXIT_OK) {
        out_record(s->out, NULL);
        out_text(s->out, "message", "Hand-over", OUT_PLAIN, r->message);
        out_text(s->out, "new_master", NULL, OUT_PLAIN, r->guid);
        out_bool(s->out, "confirmed", NULL, OUT_PLAIN, false);
        out_record_end(s->out);
    }
    free_reply(r);
    return rc;
}

static int hand_over(struct session *s)
{
    Fabric__V1__HandOverRequest q = FABRIC__V1__HAND_OVER_REQUEST__INIT;
    Fabric__V1__HandOverResponse *r = NULL;
    bool master = false;
    if (s->to != NULL)
        q.to = (char *)(uintptr_t)s->to;
    if (s->dry_run)
        return rehearse_hand_over(s, &q);
    fprintf(stderr, "handing the role of master over to %s, and waiting for the new master\n",
            s->to != NULL ? s->to : "the best manager in standby");
    int rc = ask(s, "HandOver", &q.base, &fabric__v1__hand_over_response__descriptor, &r);
    if (rc == EXIT_OK)
        rc = await_master(s, r->guid, &master);
    if (rc == EXIT_OK)
        say_result(s->out, r, master);
    free_reply(r);
    return rc == EXIT_OK && !master ? EXIT_FAILED : rc;
}

/* ---- priority -------------------------------------------------------------------------------- */

static int show_priority(struct session *s)
{
    Fabric__V1__GetManagersResponse *r = NULL;
    int rc = get(s, &r);
    if (rc == EXIT_OK) {
        out_record(s->out, NULL);
        say_priority(s->out, r);
        out_record_end(s->out);
    }
    free_reply(r);
    return rc;
}

static int priority(struct session *s)
{
    Fabric__V1__SetManagerPriorityRequest q = FABRIC__V1__SET_MANAGER_PRIORITY_REQUEST__INIT;
    Fabric__V1__SetManagerPriorityResponse *r = NULL;
    if (s->argc == 0)
        return show_priority(s);
    char *end;
    unsigned long n = strtoul(s->argv[0], &end, 10);
    q.configured = strcmp(s->argv[0], "default") == 0;
    if (!q.configured && (s->argv[0][0] < '0' || s->argv[0][0] > '9' || *end != '\0' || n > 15))
        return complain(EXIT_USAGE,
                        "\"%s\" is no priority; 0 to 15, or default (subnet.sm_priority), is "
                        "expected",
                        s->argv[0]);
    q.priority = q.configured ? 0 : (uint32_t)n;
    q.dry_run = s->dry_run;
    int rc = ask(s, "SetManagerPriority", &q.base,
                 &fabric__v1__set_manager_priority_response__descriptor, &r);
    if (rc == EXIT_OK) {
        out_record(s->out, NULL);
        out_text(s->out, "message", "Priority", OUT_PLAIN, r->message);
        out_record_end(s->out);
    }
    free_reply(r);
    return rc;
}

const struct cmd cmd_ha_status = {
    .noun = "ha",
    .verb = "status",
    .summary = "the role of this manager, and the other subnet managers that it sees",
    .method = "fabric.v1.FabricService/GetManagers",
    .json = "role:manager_role since:time reason:text =priorities @GetManagersResponse(guid "
            "master_guid) handing_over:bool replication:null|{ majority:bool "
            "@Replication(leads leader_guid level reason endpoint pending) "
            "lost_for_ms:amount|null last_confirmed:time commit_time_ms:amount|null "
            "lag_ms:amount|null @Replication(confirmed received dropped) } others:[ "
            "@OtherManager(node guid node_guid lid activity_count) role:manager_role "
            "priority:priority trusted:bool activity_advancing:bool "
            "last_answer_ms:amount|null place:text held_ms:amount|null ]",
    .run = status,
};
const struct cmd cmd_ha_handover = {
    .noun = "ha",
    .verb = "handover",
    .args = "[--to MANAGER] [--dry-run] [--reason TEXT]",
    .summary = "make another manager master; this one stays standby",
    .options = "rHD",
    .slow = true,
    .method = "fabric.v1.FabricService/HandOver",
    .json = "message:text new_master:text confirmed:bool",
    .run = hand_over,
};
const struct cmd cmd_ha_priority = {
    .noun = "ha",
    .verb = "priority",
    .args = "[N|default] [--dry-run] [--reason TEXT]",
    .summary = "show the priority of this manager, or set it until its next start",
    .max_args = 1,
    .options = "rD",
    .method = "fabric.v1.FabricService/GetManagers",
    .optional = "fabric.v1.FabricService/SetManagerPriority",
    .json = "=priorities / message:text",
    .run = priority,
};
