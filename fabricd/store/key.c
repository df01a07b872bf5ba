/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A key file has one line, such as 0x0123456789abcdef. It is written under another name, synced and
 * renamed, so that it is complete whenever the manager is killed.
 */
#include "fabricd/store/key.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libfabmgr/base/digits.h"
#include "libfabmgr/base/status.h"

#define LINE_LEN 19 /* 0x, 16 digits and the end of the line */

static int fail(int status, char *why, size_t why_len, const char *path, const char *reason)
{
    snprintf(why, why_len, "the key file %s %s", path, reason);
    return status;
}

static int check_mode(int fd, const char *path, char *why, size_t why_len)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return fail(FAB_E_IO, why, why_len, path, strerror(errno));
    if (st.st_mode & (S_IRWXG | S_IRWXO))
        return fail(FAB_E_DENIED, why, why_len, path,
                    "can be read by other users; run 'chmod 600' on it, and remove it instead if "
                    "others may know the key: fabricd then makes another one");
    return FAB_OK;
}

static int read_key(int fd, const char *path, uint64_t *ret, char *why, size_t why_len)
{
    char text[64];
    int status = check_mode(fd, path, why, why_len);
    if (status != FAB_OK)
        return status;
    ssize_t n = read(fd, text, sizeof(text));
    if (n < 0)
        return fail(FAB_E_IO, why, why_len, path, strerror(errno));
    size_t len = (size_t)n;
    while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == ' '))
        len--;
    if (len < 3 || memcmp(text, "0x", 2) != 0 ||
        !fab_base_digits_parse(text + 2, len - 2, 16, UINT64_MAX, ret) || *ret == 0)
        return fail(FAB_E_FORMAT, why, why_len, path,
                    "does not have a key such as 0x0123456789abcdef; remove it, and fabricd makes "
                    "another one");
    return FAB_OK;
}

static int make_key(uint64_t *ret)
{
    do
        if (getrandom(ret, sizeof(*ret), 0) != (ssize_t)sizeof(*ret))
            return FAB_E_IO;
    while (*ret == 0);
    return FAB_OK;
}

static int write_line(int fd, uint64_t key)
{
    char line[LINE_LEN + 1];
    snprintf(line, sizeof(line), "0x%016" PRIx64 "\n", key);
    return write(fd, line, LINE_LEN) == LINE_LEN && fsync(fd) == 0 ? FAB_OK : FAB_E_IO;
}

static int sync_folder(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int status = fd >= 0 && fsync(fd) == 0 ? FAB_OK : FAB_E_IO;
    if (fd >= 0)
        close(fd);
    return status;
}

static int write_key(const char *dir, const char *path, uint64_t key)
{
    char temporary[1100];
    int status = FAB_E_IO;
    snprintf(temporary, sizeof(temporary), "%s.new", path);
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd >= 0) {
        status = write_line(fd, key);
        close(fd);
    }
    if (status == FAB_OK && rename(temporary, path) != 0)
        status = FAB_E_IO;
    return status == FAB_OK ? sync_folder(dir) : status;
}

int store_key(const char *dir, const char *name, uint64_t *ret, char *why, size_t why_len)
{
    char path[1024];
    uint64_t key = 0;
    int status;
    if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, name) >= sizeof(path))
        return fail(FAB_E_IO, why, why_len, name, "has too long a path");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno != ENOENT)
        return fail(FAB_E_IO, why, why_len, path, strerror(errno));
    if (fd >= 0) {
        status = read_key(fd, path, &key, why, why_len);
        close(fd);
    } else {
        status = make_key(&key);
        if (status == FAB_OK)
            status = write_key(dir, path, key);
        if (status != FAB_OK)
            fail(status, why, why_len, path, strerror(errno));
    }
    if (status == FAB_OK)
        *ret = key;
    return status;
}
