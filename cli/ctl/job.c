/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads lists of hosts. The size of a request is limited, but the manager accepts ranges such as
 * "node[01-16]". Therefore, if a file lists the hosts one by one, fabricctl joins hosts with
 * consecutive numbers into ranges. */
#include "cli/ctl/job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/host_list.h"
#include "libfabmgr/base/status.h"

#define DIGITS_MAX 9

void job_fini(struct job *job)
{
    for (size_t i = 0; i < job->count; i++)
        free(job->names[i]);
    free(job->names);
    *job = (struct job){0};
}

static bool append(struct job *job, const char *name, size_t len)
{
    if (job->count == job->room) {
        size_t room = job->room == 0 ? 64 : 2 * job->room;
        char **names = reallocarray(job->names, room, sizeof *names);
        if (names == NULL)
            return false;
        job->names = names;
        job->room = room;
    }
    job->names[job->count] = strndup(name, len);
    return job->names[job->count] != NULL && ++job->count > 0;
}

/* The parts of a host name that ends in a number. For "node07", `prefix` is 4, the length of "node"
 * in bytes, `number` is 7, and `digits` is 2. For "node[03-07]", the parts are those of the last
 * host, node07, and `list` is true. */
struct numbered {
    size_t prefix, digits;
    unsigned long number;
    bool list;
};

static bool take_apart(const char *name, size_t len, struct numbered *ret)
{
    struct numbered n = {0};
    n.list = len > 0 && name[len - 1] == ']';
    size_t end = len - n.list;
    while (n.digits < end && n.digits <= DIGITS_MAX && name[end - n.digits - 1] >= '0' &&
           name[end - n.digits - 1] <= '9')
        n.digits++;
    if (n.digits == 0 || n.digits > DIGITS_MAX)
        return false;
    n.number = strtoul(name + end - n.digits, NULL, 10);
    n.prefix = end - n.digits;
    /* `name` must be a range prefix[first-last] whose two numbers have the same number of digits */
    if (n.list) {
        const char *open = memchr(name, '[', len);
        if (open == NULL || n.prefix != (size_t)(open - name) + n.digits + 2)
            return false;
        n.prefix = (size_t)(open - name);
    }
    *ret = n;
    return true;
}

bool job_add(struct job *job, const char *name, size_t len)
{
    struct numbered last, now;
    const char *before = job->count > 0 ? job->names[job->count - 1] : "";
    if (memchr(name, '[', len) != NULL || !take_apart(name, len, &now) ||
        !take_apart(before, strlen(before), &last) || last.prefix != now.prefix ||
        last.digits != now.digits || last.number + 1 != now.number ||
        memcmp(before, name, now.prefix) != 0)
        return append(job, name, len);
    char *grown = NULL;
    const char *first = before + last.prefix + last.list;
    if (asprintf(&grown, "%.*s[%.*s-%.*s]", (int)now.prefix, name, (int)now.digits, first,
                 (int)now.digits, name + now.prefix) < 0)
        return false;
    free(job->names[job->count - 1]);
    job->names[job->count - 1] = grown;
    return true;
}

bool job_split(struct job *job, const char *list)
{
    for (size_t len;; list += len + 1) {
        len = fab_base_host_list_item(list);
        if (len > 0 && !append(job, list, len))
            return false;
        if (list[len] == '\0')
            return true;
    }
}

struct expansion {
    struct job *job;
    size_t most;
};

static int expand_name(void *ctx, const char *name)
{
    struct expansion *x = ctx;
    if (x->job->count == x->most)
        return FAB_E_LIMIT;
    return append(x->job, name, strlen(name)) ? FAB_OK : FAB_E_NOMEM;
}

int job_expand(struct job *job, const char *list, size_t most)
{
    struct job items = {0};
    struct expansion x = {job, most};
    int rc = job_split(&items, list) ? FAB_OK : FAB_E_NOMEM;
    for (size_t i = 0; i < items.count && rc == FAB_OK; i++)
        rc = fab_base_host_list_each(items.names[i], expand_name, &x);
    job_fini(&items);
    if (rc == FAB_E_LIMIT)
        return complain(EXIT_USAGE,
                        "\"%.80s\" has more than %zu names, or a name of more than 255 bytes", list,
                        most);
    return rc == FAB_OK ? EXIT_OK : complain(EXIT_FAILED, "out of memory");
}

/* Adds the host in a line of the file to the job. Each line has one host; # begins a comment.
 * Returns false if memory ran out. */
static bool add_line(struct job *job, const char *line)
{
    line += strspn(line, " \t");
    size_t len = strcspn(line, "#\r\n");
    while (len > 0 && (line[len - 1] == ' ' || line[len - 1] == '\t'))
        len--;
    return len == 0 || job_add(job, line, len);
}

static int read_file(struct job *job, const char *path)
{
    FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    bool fine = true;
    if (f == NULL)
        return complain(EXIT_FAILED, "%s: %s", path, strerror(errno));
    while (fine && getline(&line, &room, f) >= 0)
        fine = add_line(job, line);
    int failed = ferror(f) ? errno : 0;
    free(line);
    if (f != stdin)
        fclose(f);
    if (failed)
        return complain(EXIT_FAILED, "%s: %s", path, strerror(failed));
    return fine ? EXIT_OK : complain(EXIT_FAILED, "out of memory");
}

int job_options(struct session *s, struct job *job, Fabric__V1__QualityOptions *ret)
{
    *job = (struct job){0};
    fabric__v1__quality_options__init(ret);
    ret->samples = s->samples;
    ret->seed = s->seed;
    if (s->hosts != NULL && !job_split(job, s->hosts))
        return complain(EXIT_FAILED, "out of memory");
    int rc = s->job != NULL ? read_file(job, s->job) : EXIT_OK;
    if (rc == EXIT_OK && job->count == 0 && (s->hosts != NULL || s->job != NULL))
        rc = complain(EXIT_USAGE, "%s names no host; a job needs at least one",
                      s->job != NULL ? s->job : "--hosts");
    ret->endports = job->names;
    ret->n_endports = job->count;
    return rc;
}
