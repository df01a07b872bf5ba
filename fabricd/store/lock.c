/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lock of the state directory, so that only one manager uses it: flock(2) on the file DIR/lock.
 * The kernel releases the lock when the process ends. The file contains the process id, for people
 * and for the error message.
 *
 * fabricd never removes the file. If it did, one process could hold the lock of the removed file
 * while another process locks a new file.
 */
#include "fabricd/store/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libfabmgr/base/status.h"

static int status_of(int error)
{
    if (error == EACCES || error == EPERM || error == EROFS)
        return FAB_E_DENIED;
    return error == ENOENT || error == ENOTDIR ? FAB_E_NOT_FOUND : FAB_E_IO;
}

static int refuse(int error, const char *dir, const char *what, char *why, size_t why_len)
{
    int status = status_of(error);
    if (status == FAB_E_DENIED)
        snprintf(why, why_len,
                 "state directory %s %s: %s; make it writable for user %u, or name another with "
                 "--state-dir",
                 dir, what, strerror(error), (unsigned)geteuid());
    else
        snprintf(why, why_len,
                 "state directory %s %s: %s; name a directory that can be written with --state-dir",
                 dir, what, strerror(error));
    return status;
}

static void name_holder(int fd, const char *dir, char *why, size_t why_len)
{
    char text[32] = "";
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
    long pid = n > 0 ? strtol(text, NULL, 10) : 0;
    if (pid > 0)
        snprintf(why, why_len, "state directory %s is in use by fabricd pid %ld", dir, pid);
    else
        snprintf(why, why_len, "state directory %s is in use by another fabricd", dir);
}

static int write_pid(int fd)
{
    char text[32];
    int len = snprintf(text, sizeof(text), "%ld\n", (long)getpid());
    if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)len, 0) != len)
        return errno != 0 ? errno : EIO;
    return 0;
}

int lock_take(const char *dir, int *ret_fd, char *why, size_t why_len)
{
    char path[PATH_MAX];
    if (mkdir(dir, 0750) != 0 && errno != EEXIST)
        return refuse(errno, dir, "cannot be made", why, why_len);
    if ((size_t)snprintf(path, sizeof(path), "%s/lock", dir) >= sizeof(path))
        return refuse(ENAMETOOLONG, dir, "cannot be used", why, why_len);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
    if (fd < 0)
        return refuse(errno, dir, "cannot be written", why, why_len);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        int error = errno;
        int status = error == EWOULDBLOCK ? FAB_E_BUSY
                                          : refuse(error, dir, "cannot be locked", why, why_len);
        if (status == FAB_E_BUSY)
            name_holder(fd, dir, why, why_len);
        close(fd);
        return status;
    }
    int error = write_pid(fd);
    if (error != 0) {
        close(fd);
        return refuse(error, dir, "cannot be written", why, why_len);
    }
    *ret_fd = fd;
    return FAB_OK;
}

void lock_release(int fd)
{
    if (fd < 0)
        return;
    if (ftruncate(fd, 0) != 0) {
        /* The file keeps the process id of this process. This does no harm, because close()
         * releases the lock. */
    }
    close(fd);
}
