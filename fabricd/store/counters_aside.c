/* SPDX-License-Identifier: BSD-3-Clause */
/* Renames damaged histories of counters, and deletes all but the newest two of them: if a disk
 * damages files again and again, the damaged histories would otherwise fill it. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fabricd/store/counters_db.h"
#include "libfabmgr/base/status.h"

#define NAME "counters.db"
#define ASIDE NAME ".damaged-"
#define NAME_LEN 96
#define KEPT 2 /* maximum number of damaged databases that are kept */

/* A database consists of files with these suffixes. */
static const char *const suffixes[] = {"", "-wal", "-shm"};
#define SUFFIXES (sizeof(suffixes) / sizeof(*suffixes))

static bool join(char path[PATH_MAX], const char *dir, const char *name, const char *suffix)
{
    return (size_t)snprintf(path, PATH_MAX, "%s/%s%s", dir, name, suffix) < PATH_MAX;
}

/* Returns true if the directory entry is a damaged database. Returns false for the WAL of one. */
static int is_aside(const struct dirent *e)
{
    size_t len = strlen(e->d_name);
    return strncmp(e->d_name, ASIDE, strlen(ASIDE)) == 0 && e->d_name[len - 1] == 'Z';
}

static void delete_old(const char *dir)
{
    struct dirent **list = NULL;
    char path[PATH_MAX];
    int count = scandir(dir, &list, is_aside, alphasort);
    for (int i = 0; i < count; i++) {
        for (size_t k = 0; k < SUFFIXES && i + KEPT < count; k++)
            if (join(path, dir, list[i]->d_name, suffixes[k]))
                unlink(path);
        free(list[i]);
    }
    free(list);
}

/* Makes the name of a damaged database from the present time. The alphabetical order of these names
 * is the order of time. */
static void choose_name(char name[NAME_LEN])
{
    struct timespec now;
    struct tm utc;
    char text[32];
    clock_gettime(CLOCK_REALTIME, &now);
    strftime(text, sizeof(text), "%Y%m%dT%H%M%S", gmtime_r(&now.tv_sec, &utc));
    snprintf(name, NAME_LEN, ASIDE "%s.%06ldZ", text, now.tv_nsec / 1000);
}

int counters_db_put_aside(const char *dir, char *ret_name, size_t len)
{
    char name[NAME_LEN], from[PATH_MAX], to[PATH_MAX];
    choose_name(name);
    for (size_t i = 0; i < SUFFIXES; i++)
        if (!join(from, dir, NAME, suffixes[i]) || !join(to, dir, name, suffixes[i]) ||
            (rename(from, to) != 0 && errno != ENOENT))
            return FAB_E_IO;
    snprintf(ret_name, len, "%s/%s", dir, name);
    delete_old(dir);
    return FAB_OK;
}
