/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts about this process, from getrusage(2), getrlimit(2), /proc/self and the dynamic linker. The
 * report leaves out facts that cannot be read. It shows neither the environment nor the command
 * line, because both may contain secrets. */
#include "fabricd/base/process.h"

#include <dirent.h>
#include <gnu/libc-version.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "libfabmgr/base/version.h"

static void limits(struct fab_text *to)
{
    static const struct {
        const char *name;
        __rlimit_resource_t resource;
    } rows[] = {
        {"AS", RLIMIT_AS},         {"CORE", RLIMIT_CORE},   {"CPU", RLIMIT_CPU},
        {"DATA", RLIMIT_DATA},     {"FSIZE", RLIMIT_FSIZE}, {"MEMLOCK", RLIMIT_MEMLOCK},
        {"NOFILE", RLIMIT_NOFILE}, {"NPROC", RLIMIT_NPROC}, {"RTPRIO", RLIMIT_RTPRIO},
        {"RTTIME", RLIMIT_RTTIME}, {"STACK", RLIMIT_STACK},
    };
    fab_base_text_add(to, "Resource limits (soft, hard)\n");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct rlimit l;
        if (getrlimit(rows[i].resource, &l) != 0)
            continue;
        fab_base_text_addf(to, "  RLIMIT_%-8s", rows[i].name);
        for (int hard = 0; hard < 2; hard++) {
            rlim_t value = hard ? l.rlim_max : l.rlim_cur;
            if (value == RLIM_INFINITY)
                fab_base_text_add(to, " unlimited");
            else
                fab_base_text_addf(to, " %" PRIu64, (uint64_t)value);
        }
        fab_base_text_add(to, "\n");
    }
}

static void usage(struct fab_text *to)
{
    struct rusage u;
    if (getrusage(RUSAGE_SELF, &u) != 0)
        return;
    fab_base_text_addf(to,
                       "\nResource usage\n"
                       "  user CPU time       %ld.%06ld s\n"
                       "  system CPU time     %ld.%06ld s\n"
                       "  maximum memory      %ld KiB\n"
                       "  page faults         %ld minor, %ld major\n"
                       "  blocks              %ld read, %ld written\n"
                       "  context switches    %ld voluntary, %ld involuntary\n",
                       (long)u.ru_utime.tv_sec, (long)u.ru_utime.tv_usec, (long)u.ru_stime.tv_sec,
                       (long)u.ru_stime.tv_usec, u.ru_maxrss, u.ru_minflt, u.ru_majflt,
                       u.ru_inblock, u.ru_oublock, u.ru_nvcsw, u.ru_nivcsw);
}

/* Appends the lines of /proc/self/status about memory. */
static void memory(struct fab_text *to)
{
    char line[200], *value;
    FILE *f = fopen("/proc/self/status", "re");
    if (f == NULL)
        return;
    fab_base_text_add(to, "\nMemory now\n");
    while (fgets(line, sizeof(line), f) != NULL)
        if ((strncmp(line, "Vm", 2) == 0 || strncmp(line, "Rss", 3) == 0) &&
            (value = strchr(line, '\t')) != NULL)
            fab_base_text_addf(to, "  %-19.*s%s", (int)(value - line), line,
                               value + strspn(value, "\t "));
    fclose(f);
}

/* Calls fn (NULL: nothing) for each entry of the directory `path` in /proc/self. Returns the number
 * of entries. */
static unsigned each(const char *path, void (*fn)(const char *name, struct fab_text *to),
                     struct fab_text *to)
{
    unsigned count = 0;
    DIR *d = opendir(path);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
        if (e->d_name[0] != '.') {
            count++;
            if (fn != NULL)
                fn(e->d_name, to);
        }
    if (d != NULL)
        closedir(d);
    return count;
}

/* Appends the number, the name and the CPU times (in ticks; proc(5)) of a thread. */
static void thread(const char *id, struct fab_text *to)
{
    char path[300], line[600];
    unsigned long user = 0, system = 0;
    snprintf(path, sizeof(path), "/proc/self/task/%s/stat", id);
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return;
    char *name = fgets(line, sizeof(line), f) != NULL ? strchr(line, '(') : NULL;
    /* The line has the name of the thread between its first '(' and its last ')'. The name may
     * contain parentheses. */
    char *end = name != NULL ? strrchr(name, ')') : NULL;
    if (end != NULL && sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
                              &user, &system) == 2)
        fab_base_text_addf(to, "  %-10s %-18.*s %10lu %10lu\n", id, (int)(end - name - 1), name + 1,
                           user, system);
    fclose(f);
}

static int library(struct dl_phdr_info *info, size_t size, void *ctx)
{
    char path[PATH_MAX];
    (void)size;
    /* The report names the real file of a library, because symbolic links do not show its complete
     * version. The first entry is the program itself, and has no name. */
    if (info->dlpi_name != NULL && info->dlpi_name[0] == '/' &&
        realpath(info->dlpi_name, path) != NULL)
        fab_base_text_addf(ctx, "  %s\n", path);
    return 0;
}

void process_describe(struct fab_text *to)
{
    fab_base_text_addf(to, "fabricd %s, glibc %s\n\n", fab_base_version(), gnu_get_libc_version());
    limits(to);
    usage(to);
    memory(to);
    fab_base_text_addf(to, "\nOpen files: %u\n", each("/proc/self/fd", NULL, to));
    fab_base_text_add(to, "\nThreads (number, name, user and system CPU time in clock ticks)\n");
    each("/proc/self/task", thread, to);
    fab_base_text_add(to, "\nShared libraries\n");
    dl_iterate_phdr(library, to);
}

static uint64_t microseconds(const struct timeval *t)
{
    return (uint64_t)t->tv_sec * 1000000 + (uint64_t)t->tv_usec;
}

void process_get_use(struct process_use *ret)
{
    struct rusage u;
    unsigned long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    *ret = (struct process_use){0};
    if (getrusage(RUSAGE_SELF, &u) == 0)
        ret->cpu_us = microseconds(&u.ru_utime) + microseconds(&u.ru_stime);
    if (f == NULL)
        return;
    /* The line begins with two numbers of pages: the size of the address space, and the resident
     * memory. */
    if (fscanf(f, "%*u %llu", &pages) == 1)
        ret->resident_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
    fclose(f);
}
