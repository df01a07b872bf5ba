/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/ctl/run.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/ctl/expand.h"
#include "fabric/v1/access.pb-c.h"
#include "libfabmgr/base/status.h"

#define TIMEOUT_MS 10000
#define TIMEOUT_SLOW_MS 600000
#define WATCH_S 2u /* seconds between two outputs of a list with --watch */

/* ---- connections ----------------------------------------------------------------------------- */

static const char *environment(const char *variable)
{
    const char *value = getenv(variable);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

int choose_manager(struct options *o)
{
    const char *name = o->context;
    const struct context *c = NULL;
    if (name == NULL && o->client.address == NULL && environment("FABRICCTL_SERVER") == NULL)
        name = environment("FABRICCTL_CONTEXT");
    bool any = name == NULL && o->client.address == NULL && environment("FABRICCTL_SERVER") == NULL;
    int rc = name != NULL || any || o->all_contexts ? contexts_load(&o->contexts) : EXIT_OK;
    if (rc != EXIT_OK || o->all_contexts)
        return rc;
    name = name != NULL || !any ? name : contexts_default(&o->contexts);
    if (name != NULL && (c = contexts_find(&o->contexts, name)) == NULL)
        return EXIT_NOT_FOUND;
    contexts_connect(c, &o->client);
    return EXIT_OK;
}

static int connect_to_manager(const struct cmd *c, struct options *o)
{
    struct fab_client_error error;
    if (!o->timeout_given)
        o->client.timeout_ms = c->slow ? TIMEOUT_SLOW_MS : TIMEOUT_MS;
    enum fab_grpc_code code = fab_client_open(&o->client, &o->session.client, &error);
    if (code == FAB_GRPC_OK)
        return EXIT_OK;
    int rc = say_error(&error);
    return code == FAB_GRPC_INVALID_ARGUMENT ? EXIT_USAGE : rc;
}

/* ---- one output ------------------------------------------------------------------------------ */

static bool wants_colour(void)
{
    const char *term = getenv("TERM");
    return environment("NO_COLOR") == NULL && isatty(STDOUT_FILENO) && term != NULL &&
           strcmp(term, "dumb") != 0;
}

/* Returns true if standard output is a pipe whose reader (such as head) has ended. This is not a
 * failure of the command. Other failures to write, such as a full disk, are errors. */
static bool reader_left(void)
{
    struct pollfd p = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&p, 1, 0) == 1 && (p.revents & POLLERR) != 0;
}

/* Prints an error if the user named a column that the list does not have. */
static int complain_column(const struct out *out)
{
    char columns[400];
    const char *column = out_unknown_column(out, columns, sizeof columns);
    if (column == NULL)
        return EXIT_OK;
    return complain(EXIT_USAGE, "this list has no column \"%s\"; its columns are %s", column,
                    columns);
}

/* Runs the command at the manager of each context. Returns the exit code of the first failure. */
static int run_in_contexts(const struct cmd *c, struct options *o)
{
    const struct fab_client_options given = o->client;
    int rc = EXIT_OK;
    for (size_t i = 0; i < o->contexts.count; i++) {
        const struct context *x = &o->contexts.list[i];
        o->client = given;
        contexts_connect(x, &o->client);
        complain_about(x->name, NULL);
        int this = connect_to_manager(c, o);
        if (this == EXIT_OK) {
            out_next(o->session.out, x->name, NULL);
            find_hosts(&o->session);
            this = has_patterns(&o->session) ? run_for_each(&o->session, x->name)
                                             : c->run(&o->session);
            fab_client_close(o->session.client);
        }
        rc = rc == EXIT_OK ? this : rc;
    }
    complain_about(NULL, NULL);
    o->client = given;
    return rc;
}

static int run_command(const struct cmd *c, struct options *o)
{
    if (!o->all_contexts)
        find_hosts(&o->session);
    bool patterns = has_patterns(&o->session);
    if (patterns && o->format == OUT_SVG)
        return complain(EXIT_USAGE, "-o svg writes one picture, so it takes no pattern");
    if ((patterns || o->all_contexts) &&
        out_many(o->session.out, c->is_list && !patterns) != FAB_OK)
        return complain(EXIT_FAILED, "out of memory");
    if (o->all_contexts)
        return run_in_contexts(c, o);
    return patterns ? run_for_each(&o->session, NULL) : c->run(&o->session);
}

static int run_once(const struct cmd *c, struct options *o)
{
    o->session.out = out_new(o->format, stdout, wants_colour());
    if (o->session.out == NULL)
        return complain(EXIT_FAILED, "out of memory");
    const struct out_rows rows = {o->session.sort, o->session.state, o->session.rate};
    if (c->is_list)
        out_is_list(o->session.out);
    if (o->no_headers)
        out_no_headers(o->session.out);
    int rc = EXIT_OK;
    if ((rows.sort != NULL || rows.state != NULL || rows.rate != NULL) &&
        out_select(o->session.out, &rows) != FAB_OK)
        rc = complain(EXIT_FAILED, "out of memory");
    else
        rc = run_command(c, o);
    if (rc == EXIT_OK)
        rc = complain_column(o->session.out);
    int written = out_close(o->session.out);
    if (written == FAB_E_NOMEM && rc == EXIT_OK)
        rc = complain(EXIT_FAILED, "out of memory");
    if (written == FAB_E_IO && rc == EXIT_OK && !reader_left())
        rc = complain(EXIT_FAILED, "the output could not be written");
    return rc;
}

/* Prints a list again and again (--watch), until the user interrupts the program, nobody reads the
 * output any more, or an error occurs. */
static int run_again_and_again(const struct cmd *c, struct options *o)
{
    bool clear = o->format == OUT_TEXT && isatty(STDOUT_FILENO);
    int rc;
    do {
        if (clear)
            fputs("\033[H\033[J", stdout);
        rc = run_once(c, o);
    } while (rc == EXIT_OK && !ferror(stdout) && sleep(WATCH_S) == 0);
    return rc;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* With --all-contexts, checks that the command can run at several managers: the command must change
 * nothing, and no option may select one manager or the format svg. Returns the exit code. */
static int check_all_contexts(const struct cmd *c, const struct options *o)
{
    const char *verb = c->verb != NULL ? c->verb : "";
    if (!o->all_contexts)
        return EXIT_OK;
    if (o->context != NULL || o->client.address != NULL)
        return complain(EXIT_USAGE, "--all-contexts excludes --context and --server");
    if (o->format == OUT_SVG)
        return complain(EXIT_USAGE, "-o svg writes one picture, so it takes one context");
    if (c->method == NULL || c->one_manager || role_of(c->method) > FABRIC__V1__ROLE__ROLE_VIEWER)
        return complain(EXIT_USAGE, "%s%s%s takes one context: use --context", c->noun,
                        *verb ? " " : "", verb);
    return EXIT_OK;
}

int run(const struct cmd *c, struct options *o)
{
    int rc = check_all_contexts(c, o);
    if (rc == EXIT_OK && o->context != NULL && o->client.address != NULL)
        rc = complain(EXIT_USAGE, "--context and --server exclude each other");
    if (rc == EXIT_OK && c->method != NULL)
        rc = choose_manager(o);
    if (rc == EXIT_OK && o->all_contexts && o->contexts.count == 0)
        rc = complain(EXIT_NOT_FOUND, "there is no context; 'fabricctl context list' says where "
                                      "they are looked for");
    if (rc == EXIT_OK && c->method != NULL && !o->all_contexts)
        rc = connect_to_manager(c, o);
    if (rc != EXIT_OK)
        return rc;
    o->session.out_format = o->format;
    rc = c->is_list && o->session.watch ? run_again_and_again(c, o) : run_once(c, o);
    if (!o->all_contexts)
        fab_client_close(o->session.client);
    return rc;
}
