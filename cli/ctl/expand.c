/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/ctl/expand.h"

#include <stdlib.h>
#include <string.h>

#include "cli/ctl/commands.h"
#include "cli/ctl/matched.h"
#include "fabric/v1/access.pb-c.h"
#include "fabric/v1/node.pb-c.h"
#include "libfabmgr/base/glob.h"
#include "libfabmgr/base/plural.h"

#define ARGUMENTS_MAX 16
#define WORD_LEN 40
#define SHOWN 8u /* the question to the user names at most this number of objects */

/* The arguments of a command, each with the objects that it names or matches. */
struct expansion {
    struct matched of[ARGUMENTS_MAX];
    int count;
    bool matched[ARGUMENTS_MAX]; /* true: the argument is a pattern */
    /* true: the command is called once with all objects, and not once for each */
    bool joined;
    char *argv[ARGUMENTS_MAX];
};

/* ---- patterns -------------------------------------------------------------------------------- */

/* Writes to word[] the name that argument number `i` has in the usage text of the command, such as
 * "NODE/PORT". Returns false if the command has no such argument. */
static bool usage_of_argument(const struct cmd *c, int i, char word[WORD_LEN], bool *ret_repeated)
{
    const char *usage = c->args != NULL ? c->args : "";
    *ret_repeated = false;
    while (next_argument(&usage, word, ret_repeated))
        if (i-- == 0 || *ret_repeated) {
            /* the word may have an alternative, as in NODE...|--all */
            word[strcspn(word, "|")] = '\0';
            return true;
        }
    return false;
}

static bool is_pattern(const struct session *s, int i)
{
    char word[WORD_LEN];
    bool repeated;
    return (fab_base_is_glob(s->argv[i]) || (s->several >> i & 1) != 0) &&
           usage_of_argument(s->cmd, i, word, &repeated) && can_match(s, word);
}

/* Returns true if the manager knows several nodes by this name: the adapters of a host, or the
 * nodes in a rack. If the request fails, returns false; the command itself then fails, too, and
 * prints the reason. */
static bool names_several(struct session *s, const char *name)
{
    Fabric__V1__ListNodesRequest q = FABRIC__V1__LIST_NODES_REQUEST__INIT;
    struct fab_client_error error;
    ProtobufCMessage *m = NULL;
    q.name = word_of(name);
    q.page_size = 2;
    if (fab_client_call(s->client, "fabric.v1.FabricService/ListNodes", &q.base,
                        &fabric__v1__list_nodes_response__descriptor, &m, &error) != FAB_GRPC_OK)
        return false;
    bool several = ((const Fabric__V1__ListNodesResponse *)m)->n_nodes == q.page_size;
    free_reply(m);
    return several;
}

void find_hosts(struct session *s)
{
    s->several = 0;
    if (!s->cmd->takes_hosts)
        return;
    for (int i = 0; i < s->argc && i < ARGUMENTS_MAX; i++)
        if (s->argv[i][0] != '\0' && !fab_base_is_glob(s->argv[i]) && names_several(s, s->argv[i]))
            s->several |= 1u << i;
}

bool has_patterns(const struct session *s)
{
    if (s->cmd->method == NULL || s->cmd->takes_patterns)
        return false;
    for (int i = 0; i < s->argc; i++)
        if (is_pattern(s, i))
            return true;
    return false;
}

bool takes_pattern(const struct cmd *c)
{
    const struct session s = {.cmd = c};
    const char *usage = c->args != NULL ? c->args : "";
    char word[WORD_LEN];
    bool repeated;
    while (c->method != NULL && !c->takes_patterns && next_argument(&usage, word, &repeated)) {
        word[strcspn(word, "|")] = '\0';
        if (can_match(&s, word))
            return true;
    }
    return false;
}

/* ---- objects --------------------------------------------------------------------------------- */

static int expand_argument(struct session *s, int i, struct expansion *e)
{
    char word[WORD_LEN];
    bool repeated;
    if (!is_pattern(s, i))
        return matched_add(&e->of[i], s->argv[i], NULL);
    (void)usage_of_argument(s->cmd, i, word, &repeated);
    e->joined |= repeated;
    e->matched[i] = true;
    return match_argument(s, word, s->argv[i], &e->of[i]);
}

static int expand(struct session *s, struct expansion *e)
{
    size_t runs = 1;
    int rc = EXIT_OK;
    if (s->argc > ARGUMENTS_MAX)
        return complain(EXIT_USAGE, "at most %d arguments are accepted if one is a pattern",
                        ARGUMENTS_MAX);
    for (e->count = 0; e->count < s->argc && rc == EXIT_OK; e->count++) {
        rc = expand_argument(s, e->count, e);
        runs *= e->of[e->count].count;
        if (rc == EXIT_OK && runs > MATCHED_MAX)
            rc = complain(EXIT_USAGE, "more than %u objects match; choose narrower patterns",
                          MATCHED_MAX);
    }
    return rc;
}

/* ---- the question ---------------------------------------------------------------------------- */

static void name_objects(const struct expansion *e, char *text, size_t size)
{
    size_t used = 0, named = 0, all = 0;
    for (int i = 0; i < e->count; i++) {
        if (!e->matched[i])
            continue;
        all += e->of[i].count;
        for (size_t k = 0; k < e->of[i].count && named < SHOWN && used < size; k++, named++)
            used += (size_t)snprintf(text + used, size - used, "%s%s", named > 0 ? ", " : "",
                                     e->of[i].match[k].name);
    }
    if (all > named && used < size)
        snprintf(text + used, size - used, ", and %zu more", all - named);
}

/* If the command changes something, prints what the patterns match, and asks whether to change
 * these objects. Does not ask if --dry-run was given, or if the command itself asks. */
static int confirm_objects(const struct session *s, const struct expansion *e)
{
    char names[600] = "", question[120], refusal[800];
    const struct cmd *c = s->cmd;
    size_t count = 0;
    if (role_of(c->method) <= FABRIC__V1__ROLE__ROLE_VIEWER)
        return EXIT_OK;
    for (int i = 0; i < e->count; i++)
        count = e->of[i].count > count ? e->of[i].count : count;
    name_objects(e, names, sizeof names);
    if (s->out_format == OUT_TEXT)
        fprintf(stderr, "%zu object%s match%s: %s\n", count, fab_base_plural_s(count),
                count == 1 ? "es" : "", names);
    if (s->dry_run || c->asks)
        return EXIT_OK;
    snprintf(question, sizeof question, "Enter '%s%s%s' for each of them?", c->noun,
             c->verb != NULL ? " " : "", c->verb != NULL ? c->verb : "");
    snprintf(refusal, sizeof refusal,
             "nothing was changed: %zu object%s match%s (%s); add --yes to change them", count,
             fab_base_plural_s(count), count == 1 ? "es" : "", names);
    return confirm(s, question, refusal);
}

/* ---- running --------------------------------------------------------------------------------- */

static void end_run(struct session *s)
{
    free(s->node);
    s->node = NULL;
}

/* Runs the command once, with all objects. */
static int run_joined(struct session *s, const struct expansion *e, const char *context)
{
    size_t count = 0, n = 0;
    for (int i = 0; i < e->count; i++)
        count += e->of[i].count;
    char **argv = calloc(count, sizeof *argv);
    if (argv == NULL)
        return complain(EXIT_FAILED, "out of memory");
    for (int i = 0; i < e->count; i++)
        for (size_t k = 0; k < e->of[i].count; k++)
            argv[n++] = e->of[i].match[k].argument;
    s->argv = argv;
    s->argc = (int)count;
    out_next(s->out, context, NULL);
    int rc = s->cmd->run(s);
    free(argv);
    return rc;
}

/* Runs the command for one combination of objects, one of each argument. `number` selects the
 * combination. */
static int run_combination(struct session *s, struct expansion *e, size_t number,
                           const char *context)
{
    const char *shown = NULL;
    for (int i = e->count; i-- > 0;) {
        const struct match *m = &e->of[i].match[number % e->of[i].count];
        number /= e->of[i].count;
        e->argv[i] = m->argument;
        shown = e->of[i].count > 1 || shown == NULL ? m->name : shown;
    }
    s->argv = e->argv;
    out_next(s->out, context, s->cmd->is_list ? shown : NULL);
    complain_about(context, shown);
    int rc = s->cmd->run(s);
    complain_about(context, NULL);
    end_run(s);
    return rc;
}

static int run_all(struct session *s, struct expansion *e, const char *context)
{
    size_t runs = 1;
    int rc = EXIT_OK;
    for (int i = 0; i < e->count; i++)
        runs *= e->of[i].count;
    for (size_t n = 0; n < runs && rc != EXIT_UNAVAILABLE; n++) {
        int this = run_combination(s, e, n, context);
        rc = this != EXIT_OK && (rc == EXIT_OK || this == EXIT_UNAVAILABLE) ? this : rc;
    }
    return rc;
}

int run_for_each(struct session *s, const char *context)
{
    struct expansion *e = calloc(1, sizeof *e);
    char **argv = s->argv;
    int argc = s->argc;
    if (e == NULL)
        return complain(EXIT_FAILED, "out of memory");
    int rc = expand(s, e);
    if (rc == EXIT_OK)
        rc = confirm_objects(s, e);
    if (rc == EXIT_OK)
        rc = e->joined ? run_joined(s, e, context) : run_all(s, e, context);
    for (int i = 0; i < ARGUMENTS_MAX; i++)
        matched_fini(&e->of[i]);
    free(e);
    s->argv = argv;
    s->argc = argc;
    return rc;
}
