/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The main program of fabricctl. It finds the command in the table, and runs it (run.c).
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/ctl/commands.h"
#include "cli/ctl/complete.h"
#include "cli/ctl/run.h"
#include "cli/ctl/spelling.h"
#include "libfabmgr/base/version.h"

static int obey(struct options *o, int argc, char **argv)
{
    int rc = parse_options(o, argc, argv);
    if (rc != EXIT_OK)
        return rc;
    if (o->version) {
        printf("fabricctl %s\n", fab_base_version());
        return EXIT_OK;
    }
    argc -= optind;
    argv += optind;
    if (o->help) {
        print_help(argc, argv);
        return EXIT_OK;
    }
    if (argc == 0)
        return complain(EXIT_USAGE, "no command is given; 'fabricctl -h' lists all commands");
    const struct cmd *c = find_command(argc, argv);
    if (c == NULL)
        return complain_verbs(argv[0], argc > 1 ? argv[1] : "");
    int words = c->verb != NULL ? 2 : 1;
    o->session.cmd = c;
    o->session.connection = &o->client;
    o->session.argc = argc - words;
    o->session.argv = argv + words;
    if (c->method != NULL)
        respell_arguments(&o->session);
    rc = check_arguments(c, o);
    return rc == EXIT_OK ? run(c, o) : rc;
}

int main(int argc, char **argv)
{
    struct options o = {
        /* the default of --severity: events of severity info and above */
        .session.severity = 2,
    };
    /* a list may have tens of megabytes */
    static char buffer[1 << 16];
    if (!isatty(STDOUT_FILENO))
        (void)setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    signal(SIGPIPE, SIG_IGN);
    if (argc > 1 && strcmp(argv[1], COMPLETE_COMMAND) == 0) {
        complete(&o, argc - 2, argv + 2);
        contexts_fini(&o.contexts);
        return EXIT_OK;
    }
    int rc = obey(&o, argc, argv);
    free(o.session.fails);
    free(o.session.node);
    contexts_fini(&o.contexts);
    return rc;
}
