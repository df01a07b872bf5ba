/* SPDX-License-Identifier: BSD-3-Clause */
/* The command `fabricctl schema` prints the JSON Schema of the output of commands. */
#include "cli/ctl/commands.h"
#include "cli/ctl/schema.h"

static int complain_no_json(const struct cmd *c)
{
    return complain(EXIT_NOT_FOUND, "%s%s%s prints a text or writes a file, so it has no schema",
                    c->noun, c->verb != NULL ? " " : "", c->verb != NULL ? c->verb : "");
}

static int schema(struct session *s)
{
    const struct cmd *c = find_command(s->argc, s->argv);
    if (s->out_format != OUT_TEXT && s->out_format != OUT_JSON && s->out_format != OUT_YAML)
        return complain(EXIT_USAGE, "a schema is JSON; use -o json, or no -o");
    if (s->argc > 0 && c == NULL)
        return complain_verbs(s->argv[0], s->argc > 1 ? s->argv[1] : "");
    if (s->argc > 0 && c->json == NULL)
        return complain_no_json(c);
    int rc = s->argc > 0 ? schema_write_command(stdout, c) : schema_write_all(stdout);
    return rc == 0 ? EXIT_OK : complain(EXIT_FAILED, "out of memory");
}

const struct cmd cmd_schema = {
    .noun = "schema",
    .args = "[COMMAND]",
    .summary = "the JSON Schema of the output of a command, or of all commands and errors",
    .max_args = 2,
    .run = schema,
};
