/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands `fabricctl context list`, `context show` and `context use`.
 */
#include <limits.h>
#include <string.h>

#include "cli/ctl/cmd.h"
#include "cli/ctl/contexts.h"

static const struct out_column columns[] = {
    {"name", "NAME", false},
    {"current", "CURRENT", false},
    {"server", "SERVER", false},
    {"file", "FILE", false},
};

static void say_keys(struct out *o, const struct context *c, bool current)
{
    out_text(o, "name", NULL, OUT_PLAIN, c->name);
    out_bool(o, "current", NULL, OUT_PLAIN, current);
    out_text(o, "server", NULL, OUT_PLAIN, c->server);
    out_text(o, "tls_ca", NULL, OUT_PLAIN, word_of(c->tls_ca));
    out_text(o, "tls_cert", NULL, OUT_PLAIN, word_of(c->tls_cert));
    out_text(o, "tls_key", NULL, OUT_PLAIN, word_of(c->tls_key));
    out_text(o, "tls_name", NULL, OUT_PLAIN, word_of(c->tls_name));
    out_text(o, "file", NULL, OUT_PLAIN, c->file);
}

static bool is_default(const struct contexts *all, const struct context *c)
{
    const char *name = contexts_default(all);
    return name != NULL && strcmp(name, c->name) == 0;
}

static void say_row(struct out *o, const struct context *c, bool current)
{
    out_row(o);
    say_keys(o, c, current);
    out_text(o, NULL, "NAME", OUT_PLAIN, c->name);
    out_text(o, NULL, "CURRENT", OUT_GOOD, current ? "*" : "");
    out_text(o, NULL, "SERVER", OUT_PLAIN, c->server);
    out_text(o, NULL, "FILE", OUT_PLAIN, c->file);
    out_row_end(o);
}

static int list(struct session *s)
{
    struct contexts all;
    char path[PATH_MAX];
    int rc = contexts_load(&all);
    if (rc == EXIT_OK) {
        out_record(s->out, NULL);
        out_table(s->out, "contexts", columns, sizeof columns / sizeof columns[0], false);
        for (size_t i = 0; i < all.count; i++)
            say_row(s->out, &all.list[i], is_default(&all, &all.list[i]));
        out_table_end(s->out);
        contexts_user_file(path, sizeof path);
        if (all.count == 0)
            out_note(s->out, OUT_DIM,
                     "There is no context; fabricctl(1), CONTEXTS, says how %s "
                     "names contexts.",
                     path);
        out_record_end(s->out);
    }
    contexts_fini(&all);
    return rc;
}

static void say(struct out *o, const struct context *c, bool current)
{
    out_record(o, NULL);
    say_keys(o, c, current);
    out_textf(o, "Name", OUT_PLAIN, "%s%s", c->name, current ? " (current)" : "");
    out_text(o, NULL, "Server", OUT_PLAIN, c->server);
    if (c->tls_ca != NULL)
        out_text(o, NULL, "TLS authority", OUT_PLAIN, c->tls_ca);
    if (c->tls_cert != NULL)
        out_text(o, NULL, "TLS certificate", OUT_PLAIN, c->tls_cert);
    if (c->tls_key != NULL)
        out_text(o, NULL, "TLS key", OUT_PLAIN, c->tls_key);
    if (c->tls_name != NULL)
        out_text(o, NULL, "TLS name", OUT_PLAIN, c->tls_name);
    out_text(o, NULL, "File", OUT_PLAIN, c->file);
    out_record_end(o);
}

static int show(struct session *s)
{
    struct contexts all;
    int rc = contexts_load(&all);
    const char *name = s->argc > 0 ? s->argv[0] : contexts_default(&all);
    if (rc == EXIT_OK && name == NULL)
        rc = complain(EXIT_NOT_FOUND,
                      "no context is current; 'fabricctl context use NAME' chooses one");
    const struct context *c = rc == EXIT_OK ? contexts_find(&all, name) : NULL;
    if (c != NULL)
        say(s->out, c, is_default(&all, c));
    else if (rc == EXIT_OK)
        rc = EXIT_NOT_FOUND;
    contexts_fini(&all);
    return rc;
}

static int use(struct session *s)
{
    struct contexts all = {0};
    if (s->forget != (s->argc == 0))
        return complain(EXIT_USAGE, "name a context, or use --forget");
    if (s->forget)
        return contexts_choose(NULL);
    int rc = contexts_load(&all);
    if (rc == EXIT_OK && contexts_find(&all, s->argv[0]) == NULL)
        rc = EXIT_NOT_FOUND;
    if (rc == EXIT_OK)
        rc = contexts_choose(s->argv[0]);
    contexts_fini(&all);
    return rc;
}

const struct cmd cmd_context_list = {
    .noun = "context",
    .verb = "list",
    .summary = "the managers that config.yaml names, and which of them is current",
    .is_list = true,
    .json = "contexts:[ =context ]",
    .run = list,
};
const struct cmd cmd_context_show = {
    .noun = "context",
    .verb = "show",
    .args = "[CONTEXT]",
    .summary = "address and certificates of the current context, or of another one",
    .max_args = 1,
    .json = "=context",
    .run = show,
};
const struct cmd cmd_context_use = {
    .noun = "context",
    .verb = "use",
    .args = "CONTEXT | --forget",
    .summary = "choose the context for the next commands",
    .max_args = 1,
    .options = "F",
    .run = use,
};
