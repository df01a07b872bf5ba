/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of fabricctl: its options and the arguments of the command. */
#ifndef CLI_CTL_OPTIONS_H
#define CLI_CTL_OPTIONS_H

#include "cli/ctl/cmd.h"
#include "cli/ctl/contexts.h"

#define DEFAULT_SERVER "unix:/run/fabricd/fabricd.sock"

struct options {
    /* How to connect to the manager. Members that the command line does not give are NULL, until
     * choose_manager sets them. */
    struct fab_client_options client;
    const char *context; /* option --context; NULL: not given */
    bool all_contexts;   /* option --all-contexts */
    struct contexts contexts;
    enum out_format format;
    bool timeout_given, no_headers, help, version;
    /* letters of the given options that only some commands take; the table own_options in options.c
     * gives each option its letter */
    char given[16];
    struct session session;
};

/* Parses the options. The words that are not options then begin at argv[optind]. If this fails,
 * prints the error. Returns the exit code. */
int parse_options(struct options *o, int argc, char **argv);
/* Checks the number of arguments, and that the command takes the given options. Returns the exit
 * code. */
int check_arguments(const struct cmd *c, const struct options *o);
/* Returns the long name, without dashes, of an option that takes a value in the next word, such as
 * "server" for "-s". Returns NULL for any other word, also for "--server=ADDRESS". */
const char *option_of(const char *word);
/* Stores the value if the option tells how to connect to the manager. `name` is as option_of
 * returns it. */
void set_connection(struct options *o, const char *name, const char *value);
/* Calls each() for each option that only some commands take and that this command takes. `name` is
 * the long name of the option, such as "--format", or "-n". */
void each_option(const struct cmd *c, void (*each)(void *ctx, const char *name), void *ctx);

#endif
