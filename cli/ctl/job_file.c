/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/ctl/job_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ctl/cmd.h"
#include "cli/ctl/job.h"
#include "libfabmgr/base/job_list.h"
#include "libfabmgr/base/status.h"

void job_file_fini(struct job_file *f)
{
    for (size_t i = 0; i < f->count; i++) {
        for (size_t k = 0; k < f->jobs[i]->n_hosts; k++)
            free(f->jobs[i]->hosts[k]);
        free(f->jobs[i]->hosts);
        free(f->jobs[i]->id);
        free(f->jobs[i]);
    }
    free(f->jobs);
    *f = (struct job_file){0};
}

static Fabric__V1__Job *append(struct job_file *f)
{
    if (f->count == f->room) {
        size_t room = f->room == 0 ? 64 : 2 * f->room;
        Fabric__V1__Job **jobs = reallocarray(f->jobs, room, sizeof *jobs);
        if (jobs == NULL)
            return NULL;
        f->jobs = jobs;
        f->room = room;
    }
    Fabric__V1__Job *job = malloc(sizeof *job);
    if (job == NULL)
        return NULL;
    fabric__v1__job__init(job);
    job->id = NULL;
    return f->jobs[f->count++] = job;
}

/* Adds a job. Returns false if memory ran out. */
static bool add_job(struct job_file *f, const struct fab_job_line *line)
{
    struct job list = {0};
    Fabric__V1__Job *job = append(f);
    char *hosts = strndup(line->hosts, (size_t)line->hosts_len);
    bool fine = job != NULL && hosts != NULL && (job->id = strdup(line->id)) != NULL &&
                job_split(&list, hosts);
    free(hosts);
    if (!fine) {
        job_fini(&list);
        return false;
    }
    job->hosts = list.names; /* `job` now owns the names */
    job->n_hosts = list.count;
    return true;
}

static int read_lines(FILE *from, const char *path, struct job_file *f)
{
    struct fab_job_reader reader = {.job = ""};
    char *line = NULL;
    size_t room = 0;
    int rc = EXIT_OK;
    for (unsigned number = 1; rc == EXIT_OK && getline(&line, &room, from) >= 0; number++) {
        struct fab_job_line job;
        bool found;
        if (fab_base_job_list_line(&reader, line, &job, &found) != FAB_OK)
            rc = complain(EXIT_USAGE,
                          "%s:%u: a job and its hosts are expected, such as \"4711 node[01-16]\"",
                          path, number);
        else if (found && !add_job(f, &job))
            rc = complain(EXIT_FAILED, "out of memory");
    }
    if (rc == EXIT_OK && ferror(from))
        rc = complain(EXIT_FAILED, "%s: %s", path, strerror(errno));
    free(line);
    return rc;
}

int job_file_read(const char *path, struct job_file *ret)
{
    FILE *from = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
    *ret = (struct job_file){0};
    if (from == NULL)
        return complain(EXIT_FAILED, "%s: %s", path, strerror(errno));
    int rc = read_lines(from, path, ret);
    if (from != stdin)
        fclose(from);
    return rc;
}
