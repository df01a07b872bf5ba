/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies the state of a manager for a rehearsal, which must not change the original. */
#include "fabricd/store/copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabricd/store/schema.h"
#include "libfabmgr/base/status.h"

#define KEY_FILE_MAX 65536

static int fail(char *why, size_t why_len, const char *path)
{
    int status = errno == EACCES || errno == EPERM ? FAB_E_DENIED : FAB_E_IO;
    snprintf(why, why_len, "%s: %s", path, strerror(errno));
    return status;
}

/* Copies a small file with mode 0600. */
static int copy_file(const char *from, const char *to, char *why, size_t why_len)
{
    char bytes[KEY_FILE_MAX];
    int fd = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? FAB_OK : fail(why, why_len, from);
    ssize_t len = read(fd, bytes, sizeof(bytes));
    close(fd);
    if (len < 0)
        return fail(why, why_len, from);
    fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    ssize_t done = fd >= 0 ? write(fd, bytes, (size_t)len) : -1;
    explicit_bzero(bytes, sizeof(bytes));
    int status = done == len ? FAB_OK : fail(why, why_len, to);
    if (fd >= 0)
        close(fd);
    return status;
}

static int copy_database(const char *from, const char *to, char *why, size_t why_len)
{
    sqlite3 *db = NULL;
    if (access(from, F_OK) != 0)
        return errno == ENOENT || errno == ENOTDIR ? FAB_OK : fail(why, why_len, from);
    int status = schema_open_reader(from, &db, why, why_len);
    if (status != FAB_OK)
        return status;
    char *sql = sqlite3_mprintf("VACUUM INTO %Q", to);
    if (sql == NULL || sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        snprintf(why, why_len, "%s cannot be copied to %s: %s", from, to, sqlite3_errmsg(db));
        status = FAB_E_IO;
    }
    sqlite3_free(sql);
    sqlite3_close(db);
    return status;
}

int store_copy(const char *dir, const char *to, char *why, size_t why_len)
{
    static const char *const keys[] = {"m_key", "sa_key", "cc_key"};
    char from[PATH_MAX], target[PATH_MAX];
    int status = FAB_OK;
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys) && status == FAB_OK; i++) {
        snprintf(from, sizeof(from), "%s/%s", dir, keys[i]);
        snprintf(target, sizeof(target), "%s/%s", to, keys[i]);
        status = copy_file(from, target, why, why_len);
    }
    snprintf(from, sizeof(from), "%s/fabricd.db", dir);
    snprintf(target, sizeof(target), "%s/fabricd.db", to);
    return status == FAB_OK ? copy_database(from, target, why, why_len) : status;
}

void store_copy_remove(const char *to)
{
    DIR *dir = opendir(to);
    if (dir == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
    rmdir(to);
}
