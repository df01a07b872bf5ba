/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Contexts: names for the managers of several fabrics, with their addresses and certificates. Two
 * files define contexts: the user's config.yaml and the system's config.yaml (fabricctl(1),
 * CONTEXTS).
 */
#ifndef CLI_CTL_CONTEXTS_H
#define CLI_CTL_CONTEXTS_H

#include <stdbool.h>
#include <stddef.h>

#include "libfabmgr/client/client.h"

#define CONTEXTS_MAX 1000u
#define CONTEXT_NAME_LEN 64u

struct context {
    char *name, *server;
    char *tls_ca, *tls_cert, *tls_key, *tls_name; /* NULL: not set */
    /* the configuration file that contains the context */
    char *file;
};
struct contexts {
    struct context *list; /* [count] the user's contexts precede those of the system */
    size_t count;
    /* value of the key `current`, from the user's file if it has the key; NULL: not set */
    char *current;
    char *chosen; /* name of the context that 'fabricctl context use' chose; NULL: none */
};
/* Reads the configuration files, and the file with the user's choice. Files that do not exist count
 * as empty. If a file cannot be used, prints the error. Returns the exit code; call contexts_fini
 * in any case. */
int contexts_load(struct contexts *ret);
void contexts_fini(struct contexts *c);
/* Returns the context with this name. Prints an error and returns NULL if there is none. */
const struct context *contexts_find(const struct contexts *c, const char *name);
/* Returns the name of the context for commands without the option --context: the context that the
 * user chose or, if there is none, the context that the key `current` names. NULL: there is
 * neither. */
const char *contexts_default(const struct contexts *c);
/* Stores the choice of a context, or forgets it if the name is NULL. If this fails, prints the
 * error. Returns the exit code. */
int contexts_choose(const char *name);

/* Fills in those members of *options that the user has not given on the command line. Takes each
 * value from the context `c` (NULL: none) or, if the context lacks it, from the environment; the
 * TLS name only from the context. If neither has an address, fills in the default address. */
void contexts_connect(const struct context *c, struct fab_client_options *options);
/* Writes the name of the configuration file of the user; "": neither XDG_CONFIG_HOME nor HOME names
 * a directory. */
void contexts_user_file(char *path, size_t size);

/* ---- for contexts*.c only ---- */

/* Adds the contexts of a file, except those whose names *c already has. If the file cannot be used,
 * prints the error. Returns the exit code. */
int contexts_read(struct contexts *c, const char *path);

#endif
