/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands `fabricctl apply`, `policy show`, `policy history`, `policy diff` and `policy
 * rollback`. Before a change, the manager makes a plan: it checks the whole policy against the
 * fabric, and says what would change and what needs a confirmation, such as endports that would
 * lose a partition.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ctl/cmd.h"
#include "cli/ctl/policy_files.h"
#include "cli/ctl/show.h"

/* ---- differences ----------------------------------------------------------------------------- */

static const struct out_column change_columns[] = {
    {"path", "PATH", false},
    {"change", "CHANGE", false},
    {"before", "BEFORE", false},
    {"after", "AFTER", false},
};

static void say_changes(struct out *o, Fabric__V1__PolicyChange **changes, size_t count)
{
    out_table(o, "changes", change_columns, 4, false);
    for (size_t i = 0; i < count; i++) {
        const Fabric__V1__PolicyChange *c = changes[i];
        bool added = c->before[0] == '\0', removed = c->after[0] == '\0';
        out_row(o);
        out_text(o, "path", "PATH", OUT_PLAIN, c->path);
        out_text(o, "change", "CHANGE",
                 added     ? OUT_GOOD
                 : removed ? OUT_BAD
                           : OUT_WARN,
                 added     ? "added"
                 : removed ? "removed"
                           : "changed");
        out_text(o, "before", "BEFORE", OUT_PLAIN, c->before);
        out_text(o, "after", "AFTER", OUT_PLAIN, c->after);
        out_row_end(o);
    }
    out_table_end(o);
}

static void say_list(struct out *o, const char *key, const char *label, enum out_tone tone,
                     char **lines, size_t count)
{
    const struct out_column column = {"text", label, false};
    out_table(o, key, &column, 1, false);
    for (size_t i = 0; i < count; i++) {
        out_row(o);
        out_text(o, "text", label, tone, lines[i]);
        out_row_end(o);
    }
    out_table_end(o);
}

static void say_plan(struct out *o, const Fabric__V1__PolicyPlan *p, bool diff)
{
    char sections[SHOW_WORDS_LEN];
    show_words(p->sections, p->n_sections, sections);
    out_number(o, "base_version", "Version in force", OUT_PLAIN, p->base_version);
    out_text(o, "sections", NULL, OUT_PLAIN, sections);
    out_text(o, NULL, "Sections", OUT_PLAIN, p->n_sections > 0 ? sections : "none");
    out_number(o, "differences", "Differences", OUT_PLAIN, p->n_changes);
    out_text(o, "hash", NULL, OUT_PLAIN, p->hash);
    if (diff)
        say_changes(o, p->changes, p->n_changes);
    say_list(o, "warnings", "WARNING", OUT_WARN, p->warnings, p->n_warnings);
    say_list(o, "confirmations", "TO BE CONFIRMED", OUT_BAD, p->confirmations, p->n_confirmations);
}

/* ---- apply and rollback ---------------------------------------------------------------------- */

/* If the plan needs a confirmation, asks for it on the terminal. Returns the exit code. */
static int confirm_plan(const struct session *s, const Fabric__V1__PolicyPlan *p)
{
    char question[4096] = "", refusal[1024];
    size_t used = 0;
    if (p->n_confirmations == 0)
        return EXIT_OK;
    for (size_t i = 0; i < p->n_confirmations && used < sizeof question - 32; i++)
        used += (size_t)snprintf(question + used, sizeof question - 32 - used, "%.512s\n",
                                 p->confirmations[i]);
    strcat(question, "Apply this policy?");
    snprintf(refusal, sizeof refusal,
             "nothing was applied: %.512s; apply it with --yes if this is intended",
             p->confirmations[0]);
    return confirm(s, question, refusal);
}

static int send(struct session *s, Fabric__V1__ApplyPolicyRequest *q,
                const Fabric__V1__PolicyPlan *plan)
{
    Fabric__V1__ApplyPolicyResponse *r = NULL;
    q->base_version = plan->base_version;
    q->confirmed = true;
    int rc = ask(s, "ApplyPolicy", &q->base, &fabric__v1__apply_policy_response__descriptor, &r);
    if (rc == EXIT_OK) {
        out_number(s->out, "version", "Version", OUT_GOOD, r->version);
        out_text(s->out, "message", "Policy", OUT_PLAIN, r->message);
    }
    free_reply(r);
    return rc;
}

static int plan_and_apply(struct session *s, Fabric__V1__ApplyPolicyRequest *q)
{
    Fabric__V1__PlanPolicyRequest ask_plan = FABRIC__V1__PLAN_POLICY_REQUEST__INIT;
    Fabric__V1__PlanPolicyResponse *r = NULL;
    ask_plan.files = q->files;
    ask_plan.n_files = q->n_files;
    ask_plan.rollback = q->rollback;
    ask_plan.version = q->version;
    int rc =
        ask(s, "PlanPolicy", &ask_plan.base, &fabric__v1__plan_policy_response__descriptor, &r);
    if (rc != EXIT_OK)
        return rc;
    if (r->plan == NULL) {
        free_reply(r);
        return complain(EXIT_FAILED, "nothing was applied: the manager sent no plan");
    }
    out_record(s->out, NULL);
    say_plan(s->out, r->plan, s->diff);
    if (!s->diff && !s->dry_run) {
        rc = confirm_plan(s, r->plan);
        if (rc == EXIT_OK)
            rc = send(s, q, r->plan);
    }
    out_record_end(s->out);
    free_reply(r);
    return rc;
}

static int apply(struct session *s)
{
    Fabric__V1__ApplyPolicyRequest q = FABRIC__V1__APPLY_POLICY_REQUEST__INIT;
    struct policy_files files;
    int rc = policy_files_read(s->argc, s->argv, &files);
    q.files = files.file;
    q.n_files = files.count;
    if (rc == EXIT_OK)
        rc = plan_and_apply(s, &q);
    policy_files_fini(&files);
    return rc;
}

static int read_version(const char *text, uint64_t *ret)
{
    char *end;
    *ret = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0')
        return complain(EXIT_USAGE,
                        "\"%s\" is no number of a version; 'fabricctl policy history' "
                        "lists them",
                        text);
    return EXIT_OK;
}

static int rollback(struct session *s)
{
    Fabric__V1__ApplyPolicyRequest q = FABRIC__V1__APPLY_POLICY_REQUEST__INIT;
    q.rollback = true;
    int rc = read_version(s->argv[0], &q.version);
    return rc == EXIT_OK ? plan_and_apply(s, &q) : rc;
}

/* ---- versions -------------------------------------------------------------------------------- */

static void say_yaml(struct out *o, const char *text)
{
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        out_note(o, OUT_PLAIN, "%.*s", (int)len, text);
        text += len + (text[len] == '\n');
    }
}

static int show(struct session *s)
{
    Fabric__V1__GetPolicyRequest q = FABRIC__V1__GET_POLICY_REQUEST__INIT;
    Fabric__V1__GetPolicyResponse *r = NULL;
    int rc = s->argc > 0 ? read_version(s->argv[0], &q.version) : EXIT_OK;
    if (rc == EXIT_OK)
        rc = ask(s, "GetPolicy", &q.base, &fabric__v1__get_policy_response__descriptor, &r);
    if (rc != EXIT_OK)
        return rc;
    out_record(s->out, NULL);
    if (r->policy != NULL) {
        const Fabric__V1__PolicyVersion *p = r->policy;
        out_keys(s->out, &p->base, "version by reason hash in_force");
        out_time_utc(s->out, "time", p->time);
        out_lines(s->out, "text", p->text);
        say_yaml(s->out, p->text);
    } else {
        out_number(s->out, "version", NULL, OUT_PLAIN, 0);
        out_note(s->out, OUT_DIM, "No policy is applied: fabricd.yaml applies.");
    }
    out_record_end(s->out);
    free_reply(r);
    return rc;
}

static int history(struct session *s)
{
    static const struct out_column columns[] = {
        {"version", "VERSION", true}, {"in_force", "IN FORCE", false}, {NULL, "TIME", false},
        {"by", "BY", false},          {"reason", "REASON", false},     {"hash", "HASH", false},
    };
    Fabric__V1__ListPoliciesRequest q = FABRIC__V1__LIST_POLICIES_REQUEST__INIT;
    Fabric__V1__ListPoliciesResponse *r = NULL;
    int rc = ask(s, "ListPolicies", &q.base, &fabric__v1__list_policies_response__descriptor, &r);
    if (rc != EXIT_OK)
        return rc;
    out_record(s->out, NULL);
    out_table(s->out, "versions", columns, sizeof columns / sizeof columns[0], false);
    for (size_t i = 0; i < r->n_versions; i++) {
        const Fabric__V1__PolicyVersion *p = r->versions[i];
        char hash[13];
        snprintf(hash, sizeof hash, "%.12s", p->hash);
        out_row(s->out);
        out_number(s->out, "version", "VERSION", OUT_PLAIN, p->version);
        out_bool(s->out, "in_force", "IN FORCE", p->in_force ? OUT_GOOD : OUT_PLAIN, p->in_force);
        out_time_utc(s->out, "time", p->time);
        out_time(s->out, "TIME", p->time);
        out_text(s->out, "by", "BY", OUT_PLAIN, p->by);
        out_text(s->out, "reason", "REASON", OUT_PLAIN, p->reason);
        out_text(s->out, "hash", NULL, OUT_DIM, p->hash);
        out_text(s->out, NULL, "HASH", OUT_DIM, hash);
        out_row_end(s->out);
    }
    out_table_end(s->out);
    if (r->n_versions == 0)
        out_note(s->out, OUT_DIM, "No policy was applied yet.");
    out_record_end(s->out);
    free_reply(r);
    return rc;
}

static int diff(struct session *s)
{
    Fabric__V1__ComparePoliciesRequest q = FABRIC__V1__COMPARE_POLICIES_REQUEST__INIT;
    Fabric__V1__ComparePoliciesResponse *r = NULL;
    int rc = read_version(s->argv[0], &q.from);
    if (rc == EXIT_OK)
        rc = read_version(s->argv[1], &q.to);
    if (rc == EXIT_OK)
        rc = ask(s, "ComparePolicies", &q.base, &fabric__v1__compare_policies_response__descriptor,
                 &r);
    if (rc != EXIT_OK)
        return rc;
    out_record(s->out, NULL);
    say_changes(s->out, r->changes, r->n_changes);
    if (r->n_changes == 0)
        out_note(s->out, OUT_DIM, "There is no difference.");
    out_record_end(s->out);
    free_reply(r);
    return rc;
}

#define APPLY_ARGS " [--diff | --dry-run] [--yes] [--reason TEXT] [--local]"
const struct cmd cmd_apply = {
    .noun = "apply",
    .args = "FILE..." APPLY_ARGS,
    .summary = "apply a policy: partitions, classes, names and more",
    .min_args = 1,
    .max_args = 64,
    .options = "8DUrl",
    .slow = true,
    .method = "fabric.v1.FabricService/ApplyPolicy",
    .json = "=apply",
    .run = apply,
};
const struct cmd cmd_policy_show = {
    .noun = "policy",
    .verb = "show",
    .args = "[VERSION]",
    .summary = "the applied policy, as YAML",
    .max_args = 1,
    .method = "fabric.v1.FabricService/GetPolicy",
    .json = "@PolicyVersion(version by reason hash in_force) time:time text:text / "
            "version:u64",
    .run = show,
};
const struct cmd cmd_policy_history = {
    .noun = "policy",
    .verb = "history",
    .args = "",
    .summary = "versions of the applied policy: who, when, why",
    .options = "",
    .method = "fabric.v1.FabricService/ListPolicies",
    .is_list = true,
    .json = "versions:[ version:u64 in_force:bool time:time by:text reason:text hash:text ]",
    .run = history,
};
const struct cmd cmd_policy_diff = {
    .noun = "policy",
    .verb = "diff",
    .args = "VERSION VERSION",
    .summary = "differences between two versions; 0 is fabricd.yaml",
    .min_args = 2,
    .max_args = 2,
    .method = "fabric.v1.FabricService/ComparePolicies",
    .is_list = true,
    .json = "changes:[ =policy_change ]",
    .run = diff,
};
const struct cmd cmd_policy_rollback = {
    .noun = "policy",
    .verb = "rollback",
    .args = "VERSION" APPLY_ARGS,
    .summary = "apply an earlier version again; 0 is fabricd.yaml",
    .min_args = 1,
    .max_args = 1,
    .options = "8DUrl",
    .slow = true,
    .method = "fabric.v1.FabricService/ApplyPolicy",
    .json = "=apply",
    .run = rollback,
};
