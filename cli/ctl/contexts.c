/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The files of the user are in the directories that the XDG Base Directory Specification defines:
 * config.yaml is in the user's configuration directory. The name of the context that the user chose
 * is in a file of the user's state directory, so that fabricctl never changes a file that a user
 * writes.
 */
#include "cli/ctl/contexts.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/ctl/cmd.h"
#include "cli/ctl/options.h"

#define SYSTEM_FILE SYSCONFDIR "/fabricctl/config.yaml"

/* ---- files ----------------------------------------------------------------------------------- */

/* Writes the path of a file of fabricctl: in the directory that the environment variable names, or
 * else in the default directory below the home directory. "": neither directory is known. */
static void place_of(const char *variable, const char *below_home, const char *file, char *path,
                     size_t size)
{
    const char *dir = getenv(variable), *home = getenv("HOME");
    path[0] = '\0';
    if (dir != NULL && dir[0] == '/')
        snprintf(path, size, "%s/fabricctl/%s", dir, file);
    else if (home != NULL && home[0] == '/')
        snprintf(path, size, "%s/%s/fabricctl/%s", home, below_home, file);
}

void contexts_user_file(char *path, size_t size)
{
    place_of("XDG_CONFIG_HOME", ".config", "config.yaml", path, size);
}

static void choice_file(char *path, size_t size)
{
    place_of("XDG_STATE_HOME", ".local/state", "context", path, size);
}

/* Reads which context the user chose. If the file cannot be read, the user has chosen none. */
static void read_choice(struct contexts *c)
{
    char path[PATH_MAX], name[CONTEXT_NAME_LEN + 2] = "";
    choice_file(path, sizeof path);
    FILE *f = path[0] != '\0' ? fopen(path, "r") : NULL;
    if (f == NULL)
        return;
    if (fgets(name, sizeof name, f) != NULL)
        name[strcspn(name, "\n")] = '\0';
    fclose(f);
    c->chosen = name[0] != '\0' ? strdup(name) : NULL;
}

int contexts_load(struct contexts *ret)
{
    char path[PATH_MAX];
    *ret = (struct contexts){0};
    contexts_user_file(path, sizeof path);
    int rc = path[0] != '\0' ? contexts_read(ret, path) : EXIT_OK;
    if (rc == EXIT_OK)
        rc = contexts_read(ret, SYSTEM_FILE);
    read_choice(ret);
    return rc;
}

void contexts_fini(struct contexts *c)
{
    for (size_t i = 0; i < c->count; i++) {
        struct context *x = &c->list[i];
        char *texts[] = {x->name,    x->server,   x->tls_ca, x->tls_cert,
                         x->tls_key, x->tls_name, x->file};
        for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++)
            free(texts[k]);
    }
    free(c->list);
    free(c->current);
    free(c->chosen);
    *c = (struct contexts){0};
}

/* ---- choices --------------------------------------------------------------------------------- */

const struct context *contexts_find(const struct contexts *c, const char *name)
{
    char names[400] = "";
    size_t used = 0;
    for (size_t i = 0; i < c->count; i++)
        if (strcmp(c->list[i].name, name) == 0)
            return &c->list[i];
    for (size_t i = 0; i < c->count && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "",
                                 c->list[i].name);
    if (c->count > 0) {
        complain(EXIT_NOT_FOUND, "no context \"%.80s\"; the contexts are %s", name, names);
    } else {
        char path[PATH_MAX];
        contexts_user_file(path, sizeof path);
        complain(EXIT_NOT_FOUND,
                 "no context \"%.80s\"; neither %s nor " SYSTEM_FILE " has a context", name, path);
    }
    return NULL;
}

const char *contexts_default(const struct contexts *c)
{
    return c->chosen != NULL ? c->chosen : c->current;
}

/* Makes the directories above a file. */
static int make_directories(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int rc = mkdir(path, 0700);
        *slash = '/';
        if (rc != 0 && errno != EEXIST)
            return -1;
    }
    return 0;
}

static int write_choice(const char *path, const char *name)
{
    char new[PATH_MAX + 8];
    snprintf(new, sizeof new, "%s.new", path);
    FILE *f = fopen(new, "w");
    if (f == NULL)
        return -1;
    fprintf(f, "%s\n", name);
    bool written = fflush(f) == 0;
    if (fclose(f) != 0 || !written || rename(new, path) != 0) {
        int why = errno;
        unlink(new);
        errno = why;
        return -1;
    }
    return 0;
}

int contexts_choose(const char *name)
{
    char path[PATH_MAX];
    choice_file(path, sizeof path);
    if (path[0] == '\0')
        return complain(EXIT_FAILED, "neither XDG_STATE_HOME nor HOME names a directory");
    int rc = make_directories(path);
    if (rc == 0)
        rc = name != NULL ? write_choice(path, name) : unlink(path);
    if (rc != 0 && (name != NULL || errno != ENOENT))
        return complain(EXIT_FAILED, "%s: %s", path, strerror(errno));
    return EXIT_OK;
}

/* ---- connections ----------------------------------------------------------------------------- */

static void fill(const char **option, const char *of_context, const char *variable,
                 const char *otherwise)
{
    const char *value = getenv(variable);
    if (*option == NULL)
        *option = of_context;
    if (*option == NULL && value != NULL && value[0] != '\0')
        *option = value;
    if (*option == NULL)
        *option = otherwise;
}

void contexts_connect(const struct context *c, struct fab_client_options *options)
{
    static const struct context none;
    c = c != NULL ? c : &none;
    fill(&options->address, c->server, "FABRICCTL_SERVER", DEFAULT_SERVER);
    fill(&options->ca, c->tls_ca, "FABRICCTL_TLS_CA", NULL);
    fill(&options->cert, c->tls_cert, "FABRICCTL_TLS_CERT", NULL);
    fill(&options->key, c->tls_key, "FABRICCTL_TLS_KEY", NULL);
    if (options->server_name == NULL)
        options->server_name = c->tls_name;
}
