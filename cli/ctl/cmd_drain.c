/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands `fabricctl drain link`, `drain switch`, `drain rack`, `drain pod`, `drain host` and
 * `undrain`. Before a drain starts, the drain commands show what it costs: the links that routes
 * will avoid, the hosts that still need the drained switches, and the figures of the routes before
 * and after (method WhatIf).
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/ctl/job.h"
#include "cli/ctl/show.h"
#include "cli/ctl/show_drain.h"
#include "cli/ctl/when.h"
#include "fabric/v1/drain.pb-c.h"
#include "fabric/v1/quality.pb-c.h"
#include "libfabmgr/base/host_list.h"

/* maximum number of links that one call of WhatIf accepts */
#define FAILURES_MOST 4096u
/* length of the longest "GUID/PORT" with its terminating NUL */
#define FAILURE_LEN 32
#define LOOK_US 1000000u

/* ---- the cost -------------------------------------------------------------------------------- */

/* Asks the manager for the figures of the routes without the drained links. *ret stays NULL if no
 * link is drained, or if there are more links than WhatIf accepts. */
static int ask_cost(struct session *s, const Fabric__V1__GetDrainPreviewResponse *p,
                    Fabric__V1__QualityOptions *options, Fabric__V1__WhatIfResponse **ret)
{
    Fabric__V1__WhatIfRequest q = FABRIC__V1__WHAT_IF_REQUEST__INIT;
    if (p->n_links == 0 || p->n_links > FAILURES_MOST)
        return EXIT_OK;
    char **names = calloc(p->n_links, sizeof *names), *text = calloc(p->n_links, FAILURE_LEN);
    int rc = names != NULL && text != NULL ? EXIT_OK : complain(EXIT_FAILED, "out of memory");
    for (size_t i = 0; rc == EXIT_OK && i < p->n_links; i++) {
        names[i] = text + i * FAILURE_LEN;
        snprintf(names[i], FAILURE_LEN, "%s/%u", p->links[i]->a->node_guid,
                 p->links[i]->a->port_number);
    }
    q.failures = names;
    q.n_failures = p->n_links;
    q.options = options;
    if (rc == EXIT_OK)
        rc = ask(s, "WhatIf", &q.base, &fabric__v1__what_if_response__descriptor, ret);
    free(names);
    free(text);
    return rc;
}

/* A node that is searched for in the list of hosts of a job. Only the first word of its
 * NodeDescription, which has `len` characters, is compared. */
struct sought {
    const char *node;
    size_t len;
    bool found;
};

static int compare(void *ctx, const char *name)
{
    struct sought *x = ctx;
    x->found |= strncmp(x->node, name, x->len) == 0 && name[x->len] == '\0';
    return 0;
}

static uint32_t count_named(const struct job *job, char **nodes, size_t count)
{
    uint32_t n = 0;
    for (size_t i = 0; i < count; i++) {
        struct sought x = {nodes[i], strcspn(nodes[i], " /"), false};
        for (size_t j = 0; j < job->count && !x.found; j++)
            (void)fab_base_host_list_each(job->names[j], compare, &x);
        n += x.found;
    }
    return n;
}

/* Prints what the drain costs. Returns the exit code. */
static int say_cost(struct session *s, struct out *o, Fabric__V1__DrainKind kind,
                    const Fabric__V1__GetDrainPreviewResponse *p)
{
    Fabric__V1__QualityOptions options;
    Fabric__V1__WhatIfResponse *cost = NULL;
    struct job job;
    int rc = job_options(s, &job, &options);
    if (rc == EXIT_OK && p->refusal[0] == '\0')
        rc = ask_cost(s, p, &options, &cost);
    if (rc == EXIT_OK) {
        say_drain_cost(o, kind, p, cost);
        if (job.count > 0)
            say_drain_job(o, kind == FABRIC__V1__DRAIN_KIND__DRAIN_KIND_HOST
                                 ? count_named(&job, p->nodes, p->n_nodes)
                                 : count_named(&job, p->hosts, p->n_hosts));
    }
    free_reply(cost);
    job_fini(&job);
    return rc;
}

/* ---- the request ----------------------------------------------------------------------------- */

static int read_kind(const char *word, Fabric__V1__DrainKind *ret)
{
    static const char *const words[] = {"link", "switch", "rack", "pod", "host", NULL};
    size_t i;
    int rc = accept_word("the kind", word, words, &i);
    if (rc == EXIT_OK)
        *ret = (Fabric__V1__DrainKind)(FABRIC__V1__DRAIN_KIND__DRAIN_KIND_LINK + i);
    return rc;
}

/* Reads the end of the drain from --for or --until. If neither option was given, *ret stays
 * unchanged. Otherwise writes the time to *room, and sets *ret to `room`. Returns the exit code. */
static int read_end(const struct session *s, Google__Protobuf__Timestamp *room,
                    Google__Protobuf__Timestamp **ret)
{
    uint64_t seconds;
    if (s->duration == NULL)
        return when_option("--until", s->until, room, ret);
    if (s->until != NULL)
        return complain(EXIT_USAGE, "--for and --until exclude each other");
    if (!when_age(s->duration, &seconds) || seconds == 0)
        return complain(EXIT_USAGE, "--for '%s' is not a time such as 90m, 2h or 1d", s->duration);
    google__protobuf__timestamp__init(room);
    room->seconds = (int64_t)time(NULL) + (int64_t)seconds;
    *ret = room;
    return EXIT_OK;
}

/* Waits until the drain with this number is in the state drained, and prints the drain. Prints an
 * error if the drain ends before that. Returns the exit code. */
static int wait_drained(struct session *s, uint32_t id)
{
    for (;;) {
        Fabric__V1__ListDrainsRequest q = FABRIC__V1__LIST_DRAINS_REQUEST__INIT;
        Fabric__V1__ListDrainsResponse *r = NULL;
        bool there = false, done = false;
        int rc = ask(s, "ListDrains", &q.base, &fabric__v1__list_drains_response__descriptor, &r);
        for (size_t i = 0; rc == EXIT_OK && i < r->n_drains; i++)
            if (r->drains[i]->id == id) {
                there = true;
                done = r->drains[i]->state == FABRIC__V1__DRAIN_STATE__DRAIN_STATE_DRAINED;
                if (done)
                    say_drain(s->out, r->drains[i]);
            }
        free_reply(r);
        if (rc == EXIT_OK && !there)
            rc = complain(EXIT_FAILED, "the drain ended before it was complete");
        if (rc != EXIT_OK || done)
            return rc;
        usleep(LOOK_US);
    }
}

static int start(struct session *s, Fabric__V1__DrainKind kind, const char *name)
{
    Fabric__V1__StartDrainRequest q = FABRIC__V1__START_DRAIN_REQUEST__INIT;
    Fabric__V1__StartDrainResponse *r = NULL;
    Google__Protobuf__Timestamp room;
    int rc = read_end(s, &room, &q.until);
    q.kind = kind;
    q.name = (char *)(uintptr_t)name;
    q.force = s->force;
    if (rc == EXIT_OK)
        rc = ask(s, "StartDrain", &q.base, &fabric__v1__start_drain_response__descriptor, &r);
    uint32_t id = rc == EXIT_OK && r->drain != NULL ? r->drain->id : 0;
    if (rc == EXIT_OK && r->drain != NULL && !s->wait)
        say_drain(s->out, r->drain);
    free_reply(r);
    return rc == EXIT_OK && s->wait ? wait_drained(s, id) : rc;
}

/* Prints the cost before the user is asked to confirm. Text output appears only when its record
 * ends, so the cost gets a record of its own. */
static int show_cost(struct session *s, Fabric__V1__DrainKind kind,
                     const Fabric__V1__GetDrainPreviewResponse *p)
{
    if (s->out_format != OUT_TEXT)
        return say_cost(s, s->out, kind, p);
    struct out *o = out_new(OUT_TEXT, stdout, isatty(STDOUT_FILENO));
    if (o == NULL)
        return complain(EXIT_FAILED, "out of memory");
    out_record(o, NULL);
    int rc = say_cost(s, o, kind, p);
    out_record_end(o);
    (void)out_close(o);
    return rc;
}

static int drain(struct session *s)
{
    Fabric__V1__GetDrainPreviewRequest q = FABRIC__V1__GET_DRAIN_PREVIEW_REQUEST__INIT;
    Fabric__V1__GetDrainPreviewResponse *p = NULL;
    Google__Protobuf__Timestamp room, *until = NULL;
    q.name = s->argv[0];
    int rc = read_kind(s->cmd->verb, &q.kind);
    if (rc == EXIT_OK)
        rc = read_end(s, &room, &until);
    if (rc == EXIT_OK)
        rc = ask(s, "GetDrainPreview", &q.base, &fabric__v1__get_drain_preview_response__descriptor,
                 &p);
    if (rc != EXIT_OK)
        return rc;
    out_record(s->out, NULL);
    rc = show_cost(s, q.kind, p);
    if (rc == EXIT_OK && p->refusal[0] != '\0')
        rc = complain(EXIT_FAILED, "refused: %s", p->refusal);
    if (rc == EXIT_OK && !s->dry_run)
        rc = confirm(s, "Start this drain?",
                     "nothing was drained: add --yes, or --dry-run to see the cost only");
    if (rc == EXIT_OK && !s->dry_run)
        rc = start(s, q.kind, q.name);
    out_record_end(s->out);
    free_reply(p);
    return rc;
}

static int undrain(struct session *s)
{
    Fabric__V1__EndDrainRequest q = FABRIC__V1__END_DRAIN_REQUEST__INIT;
    Fabric__V1__EndDrainResponse *r = NULL;
    if (s->all ? s->argc != 0 : s->argc != 2)
        return complain(EXIT_USAGE, "name a drain, such as 'fabricctl undrain switch NAME', or use "
                                    "--all");
    int rc = EXIT_OK;
    q.all = s->all;
    if (!s->all) {
        rc = read_kind(s->argv[0], &q.kind);
        q.name = s->argv[1];
    }
    q.dry_run = s->dry_run;
    if (rc == EXIT_OK)
        rc = ask(s, "EndDrain", &q.base, &fabric__v1__end_drain_response__descriptor, &r);
    if (rc == EXIT_OK && s->dry_run)
        say_message(s->out, r->message);
    free_reply(r);
    return rc;
}

#define DRAIN_ARGS                                                                                 \
    " [--for TIME | --until TIME] [--reason TEXT] [--local] [--dry-run] [--yes] [--wait] "         \
    "[--force] "                                                                                   \
    "[--hosts LIST | --job FILE]"
#define DRAIN(what, argument, text)                                                                \
    const struct cmd cmd_drain_##what = {                                                          \
        .noun = "drain",                                                                           \
        .verb = #what,                                                                             \
        .args = argument DRAIN_ARGS,                                                               \
        .summary = text,                                                                           \
        .min_args = 1,                                                                             \
        .max_args = 1,                                                                             \
        .options = "5urlDUINhj",                                                                   \
        .slow = true,                                                                              \
        .asks = true,                                                                              \
        .method = "fabric.v1.FabricService/StartDrain",                                            \
        .json = "=begin_drain",                                                                    \
        .run = drain,                                                                              \
    }
DRAIN(link, "NODE/PORT", "move traffic away from a link, for maintenance");
DRAIN(switch, "NODE", "move traffic away from a switch, for maintenance");
DRAIN(rack, "RACK", "move traffic away from the switches of a rack");
DRAIN(pod, "NODE", "move traffic away from the pod of a switch");
DRAIN(host, "HOST", "wait until a host no longer sends or receives");

const struct cmd cmd_undrain = {
    .noun = "undrain",
    .args = "KIND NAME [--all] [--dry-run] [--yes] [--reason TEXT] [--local]",
    .summary = "end a drain: routes use its links again",
    .max_args = 2,
    .options = "ArlUD",
    .method = "fabric.v1.FabricService/EndDrain",
    .json = "message:text",
    .run = undrain,
};
