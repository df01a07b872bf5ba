/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands `fabricctl manager status`, `manager freeze` and `manager resume`. They show and
 * change whether the manager may write to the fabric. `manager status` also shows which changes
 * wait until the manager may write.
 */
#include <stdio.h>
#include <string.h>

#include "cli/ctl/cmd.h"
#include "cli/ctl/show.h"
#include "cli/ctl/when.h"
#include "fabric/v1/manager.pb-c.h"

static const char *mode_word(Fabric__V1__ManagerMode mode)
{
    static const char *const words[] = {"?", "normal", "repairs only", "no writes"};
    return (size_t)mode < sizeof words / sizeof words[0] ? words[mode] : "?";
}

static void say_time(struct out *o, const char *label, const char *key,
                     const Google__Protobuf__Timestamp *t)
{
    if (t != NULL)
        out_time(o, label, t);
    out_time_utc(o, key, t);
}

static void say_text(struct out *o, const char *key, const char *label, enum out_tone tone,
                     const char *text)
{
    out_text(o, key, NULL, tone, text);
    if (text[0] != '\0')
        out_text(o, NULL, label, tone, text);
}

static void say_status(struct out *o, const Fabric__V1__GetManagerModeResponse *r)
{
    bool normal = r->mode == FABRIC__V1__MANAGER_MODE__MANAGER_MODE_NORMAL;
    out_record(o, NULL);
    out_text(o, "mode", "Mode", normal ? OUT_GOOD : OUT_WARN, mode_word(r->mode));
    say_time(o, "Since", "since", r->since);
    say_time(o, "Until", "until", r->until);
    say_text(o, "by", "By", OUT_PLAIN, r->by);
    say_text(o, "reason", "Because", OUT_PLAIN, r->reason);
    out_keys(o, &r->base, "withheld_writes withheld_blocks withheld_switches new_nodes new_links");
    say_text(o, "postponed", "Postponed", OUT_WARN, r->postponed);
    out_keys(o, &r->base, "stopped_sets");
    if (r->stopped_sets > 0)
        out_textf(o, "Stopped Sets", OUT_PLAIN, "%llu", (unsigned long long)r->stopped_sets);
    say_text(o, "confirming", "Confirming", OUT_WARN, r->confirming);
    if (!normal)
        out_note(o, OUT_PLAIN, "'fabricctl manager resume' lets the manager write again.");
    out_record_end(o);
}

static int status(struct session *s)
{
    const Fabric__V1__GetManagerModeRequest q = FABRIC__V1__GET_MANAGER_MODE_REQUEST__INIT;
    Fabric__V1__GetManagerModeResponse *r = NULL;
    int rc =
        ask(s, "GetManagerMode", &q.base, &fabric__v1__get_manager_mode_response__descriptor, &r);
    if (rc == EXIT_OK)
        say_status(s->out, r);
    free_reply(r);
    return rc;
}

static void say_result(struct out *o, const char *message)
{
    out_record(o, NULL);
    out_text(o, "message", "Manager", OUT_PLAIN, message);
    out_record_end(o);
}

static int freeze(struct session *s)
{
    Fabric__V1__FreezeManagerRequest q = FABRIC__V1__FREEZE_MANAGER_REQUEST__INIT;
    Google__Protobuf__Duration limit = GOOGLE__PROTOBUF__DURATION__INIT;
    Fabric__V1__FreezeManagerResponse *r = NULL;
    uint64_t seconds = 0;
    if (s->duration != NULL && (!when_age(s->duration, &seconds) || seconds == 0))
        return complain(EXIT_USAGE, "--for \"%s\": a time is expected, such as 90s, 30m or 2h",
                        s->duration);
    limit.seconds = (int64_t)seconds;
    q.limit = s->duration != NULL ? &limit : NULL;
    q.no_writes = s->no_writes;
    q.dry_run = s->dry_run;
    int rc = ask(s, "FreezeManager", &q.base, &fabric__v1__freeze_manager_response__descriptor, &r);
    if (rc == EXIT_OK)
        say_result(s->out, r->message);
    free_reply(r);
    return rc;
}

static int resume(struct session *s)
{
    Fabric__V1__ResumeManagerRequest q = FABRIC__V1__RESUME_MANAGER_REQUEST__INIT;
    Fabric__V1__ResumeManagerResponse *r = NULL;
    q.dry_run = s->dry_run;
    int rc = ask(s, "ResumeManager", &q.base, &fabric__v1__resume_manager_response__descriptor, &r);
    if (rc == EXIT_OK)
        say_result(s->out, r->message);
    free_reply(r);
    return rc;
}

const struct cmd cmd_manager_status = {
    .noun = "manager",
    .verb = "status",
    .summary = "whether the manager may write, and what waits until it may",
    .method = "fabric.v1.FabricService/GetManagerMode",
    .json = "mode:'?'|'normal'|'repairs only'|'no writes' since:time until:time by:text "
            "reason:text @GetManagerModeResponse(withheld_writes withheld_blocks "
            "withheld_switches new_nodes new_links) postponed:text "
            "@GetManagerModeResponse(stopped_sets) confirming:text",
    .run = status,
};
const struct cmd cmd_manager_freeze = {
    .noun = "manager",
    .verb = "freeze",
    .args = "[--no-writes] [--for TIME] [--dry-run] [--reason TEXT]",
    .summary = "let the manager write only repairs, or nothing",
    .options = "r65D",
    .method = "fabric.v1.FabricService/FreezeManager",
    .json = "message:text",
    .run = freeze,
};
const struct cmd cmd_manager_resume = {
    .noun = "manager",
    .verb = "resume",
    .args = "[--dry-run] [--reason TEXT]",
    .summary = "let the manager write again, and do what was postponed",
    .options = "rD",
    .method = "fabric.v1.FabricService/ResumeManager",
    .json = "message:text",
    .run = resume,
};
