/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/ctl/policy_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/ctl/cmd.h"
#include "libfabmgr/policy/document.h"

#define CHUNK 65536u

static int add(struct policy_files *f, const char *name, char *text)
{
    Fabric__V1__PolicyFile **more = reallocarray(f->file, f->count + 1, sizeof *more);
    Fabric__V1__PolicyFile *one = calloc(1, sizeof *one);
    char *copy = strdup(name);
    if (more != NULL)
        f->file = more;
    if (more == NULL || one == NULL || copy == NULL) {
        free(one);
        free(copy);
        free(text);
        return complain(EXIT_FAILED, "out of memory");
    }
    fabric__v1__policy_file__init(one);
    one->name = copy;
    one->text = text;
    f->bytes += strlen(text);
    more[f->count++] = one;
    return EXIT_OK;
}

static int read_stream(struct policy_files *f, const char *name, FILE *from)
{
    char *text = NULL;
    size_t len = 0, room = 0;
    do {
        if (room - len < CHUNK) {
            char *more = realloc(text, room += CHUNK + 1);
            if (more == NULL) {
                free(text);
                return complain(EXIT_FAILED, "out of memory");
            }
            text = more;
        }
        len += fread(text + len, 1, room - len - 1, from);
    } while (!feof(from) && !ferror(from) && f->bytes + len <= FAB_DOC_TEXT_MAX);
    int rc = EXIT_OK;
    if (ferror(from))
        rc = complain(EXIT_FAILED, "%s: %s", name, strerror(errno));
    else if (f->bytes + len > FAB_DOC_TEXT_MAX)
        rc =
            complain(EXIT_FAILED, "%s: the policy has more than %zu bytes", name, FAB_DOC_TEXT_MAX);
    else if (memchr(text, '\0', len) != NULL)
        rc = complain(EXIT_FAILED, "%s: the file has a zero byte, expected YAML", name);
    if (rc != EXIT_OK) {
        free(text);
        return rc;
    }
    text[len] = '\0';
    return add(f, name, text);
}

static int read_file(struct policy_files *f, const char *path)
{
    FILE *from = fopen(path, "re");
    if (from == NULL)
        return complain(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_FAILED, "%s: %s", path,
                        strerror(errno));
    int rc = read_stream(f, path, from);
    fclose(from);
    return rc;
}

static int is_yaml(const struct dirent *e)
{
    const char *dot = strrchr(e->d_name, '.');
    return dot != NULL && e->d_name[0] != '.' &&
           (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
}

static int read_dir(struct policy_files *f, const char *dir)
{
    struct dirent **list = NULL;
    int count = scandir(dir, &list, is_yaml, alphasort);
    int rc = count < 0    ? complain(EXIT_FAILED, "%s: %s", dir, strerror(errno))
             : count == 0 ? complain(EXIT_NOT_FOUND, "%s: no file *.yaml or *.yml is here", dir)
                          : EXIT_OK;
    for (int i = 0; i < count; i++) {
        char path[4096];
        if (rc == EXIT_OK &&
            (size_t)snprintf(path, sizeof path, "%s/%s", dir, list[i]->d_name) >= sizeof path)
            rc = complain(EXIT_FAILED, "%s: the path is too long", dir);
        if (rc == EXIT_OK)
            rc = read_file(f, path);
        free(list[i]);
    }
    free(list);
    return rc;
}

int policy_files_read(int argc, char **argv, struct policy_files *ret)
{
    int rc = EXIT_OK;
    bool read_stdin = false;
    *ret = (struct policy_files){0};
    for (int i = 0; i < argc && rc == EXIT_OK; i++) {
        struct stat st;
        if (strcmp(argv[i], "-") == 0) {
            rc = read_stdin ? complain(EXIT_USAGE, "\"-\" (standard input) is given twice")
                            : read_stream(ret, "standard input", stdin);
            read_stdin = true;
        } else if (stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode))
            rc = read_dir(ret, argv[i]);
        else
            rc = read_file(ret, argv[i]);
    }
    return rc;
}

void policy_files_fini(struct policy_files *f)
{
    for (size_t i = 0; i < f->count; i++) {
        free(f->file[i]->name);
        free(f->file[i]->text);
        free(f->file[i]);
    }
    free(f->file);
}
