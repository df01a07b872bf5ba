/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and writes key files. The key files of store_key have one line, such as 0x0123456789abcdef;
 * m_key.c writes longer ones. To replace a key file, the manager writes the new text to a file with
 * another name, syncs this file, and renames it. The key file is therefore complete even if the
 * manager is killed at any moment. */
#include "fabricd/store/key.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libfabmgr/base/digits.h"
#include "libfabmgr/base/status.h"

#define PATH_LEN 1024
#define FILE_MOST (64 << 20)
/* length in bytes of a key file with one line: "0x", 16 digits and the line end */
#define LINE_LEN 19

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

static int parse_key(const char *path, const char *text, size_t len, uint64_t *ret, char *why,
                     size_t why_len)
{
    while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == ' '))
        len--;
    if (len < 3 || len > LINE_LEN || memcmp(text, "0x", 2) != 0 ||
        !fab_base_digits_parse(text + 2, len - 2, 16, UINT64_MAX, ret) || *ret == 0)
        return fail(FAB_E_FORMAT, why, why_len, path,
                    "does not have a key such as 0x0123456789abcdef; remove it, and fabricd makes "
                    "another one");
    return FAB_OK;
}

int store_key_random(uint64_t *ret)
{
    do
        if (getrandom(ret, sizeof(*ret), 0) != (ssize_t)sizeof(*ret))
            return FAB_E_IO;
    while (*ret == 0);
    return FAB_OK;
}

static int sync_folder(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int status = fd >= 0 && fsync(fd) == 0 ? FAB_OK : FAB_E_IO;
    if (fd >= 0)
        close(fd);
    return status;
}

static int make_path(const char *dir, const char *name, char path[PATH_LEN], char *why,
                     size_t why_len)
{
    if ((size_t)snprintf(path, PATH_LEN, "%s/%s", dir, name) >= PATH_LEN)
        return fail(FAB_E_IO, why, why_len, name, "has too long a path");
    return FAB_OK;
}

static int write_all(int fd, const char *text, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, text, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return FAB_E_IO;
        text += n;
        len -= (size_t)n;
    }
    return fsync(fd) == 0 ? FAB_OK : FAB_E_IO;
}

int store_key_file_write(const char *dir, const char *name, const char *text, size_t len, char *why,
                         size_t why_len)
{
    char path[PATH_LEN], temporary[PATH_LEN + 8];
    int status = make_path(dir, name, path, why, why_len);
    if (status != FAB_OK)
        return status;
    snprintf(temporary, sizeof(temporary), "%s.new", path);
    status = FAB_E_IO;
    /* A process that was killed may have left a temporary file, perhaps with another mode. Remove
     * it first. */
    if (unlink(temporary) == 0 || errno == ENOENT) {
        int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd >= 0) {
            status = write_all(fd, text, len);
            close(fd);
        }
    }
    if (status == FAB_OK && rename(temporary, path) != 0)
        status = FAB_E_IO;
    if (status == FAB_OK)
        status = sync_folder(dir);
    return status == FAB_OK ? FAB_OK : fail(status, why, why_len, path, strerror(errno));
}

static int read_all(int fd, const char *path, char **ret_text, size_t *ret_len, char *why,
                    size_t why_len)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return fail(FAB_E_IO, why, why_len, path, strerror(errno));
    if (st.st_size < 0 || st.st_size > FILE_MOST)
        return fail(FAB_E_FORMAT, why, why_len, path, "is too long for a key file");
    size_t room = (size_t)st.st_size, len = 0;
    char *text = malloc(room + 1);
    ssize_t n = 1;
    if (!text)
        return fail(FAB_E_NOMEM, why, why_len, path, "could not be read: out of memory");
    while (len < room && (n = read(fd, text + len, room - len)) > 0)
        len += (size_t)n;
    if (n < 0) {
        free(text);
        return fail(FAB_E_IO, why, why_len, path, strerror(errno));
    }
    *ret_text = text;
    *ret_len = len;
    return FAB_OK;
}

int store_key_file_read(const char *dir, const char *name, char **ret_text, size_t *ret_len,
                        char *why, size_t why_len)
{
    char path[PATH_LEN];
    int status = make_path(dir, name, path, why, why_len);
    if (status != FAB_OK)
        return status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail(errno == ENOENT ? FAB_E_NOT_FOUND : FAB_E_IO, why, why_len, path,
                    strerror(errno));
    status = check_mode(fd, path, why, why_len);
    if (status == FAB_OK)
        status = read_all(fd, path, ret_text, ret_len, why, why_len);
    close(fd);
    return status;
}

static int make_key(const char *dir, const char *name, uint64_t *ret, char *why, size_t why_len)
{
    char line[LINE_LEN + 1];
    if (store_key_random(ret) != FAB_OK)
        return fail(FAB_E_IO, why, why_len, name, strerror(errno));
    snprintf(line, sizeof(line), "0x%016" PRIx64 "\n", *ret);
    return store_key_file_write(dir, name, line, LINE_LEN, why, why_len);
}

int store_key(const char *dir, const char *name, uint64_t *ret, char *why, size_t why_len)
{
    char path[PATH_LEN], *text = NULL;
    size_t len = 0;
    uint64_t key = 0;
    int status = store_key_file_read(dir, name, &text, &len, why, why_len);
    if (status == FAB_E_NOT_FOUND)
        status = make_key(dir, name, &key, why, why_len);
    else if (status == FAB_OK && (status = make_path(dir, name, path, why, why_len)) == FAB_OK)
        status = parse_key(path, text, len, &key, why, why_len);
    free(text);
    if (status == FAB_OK)
        *ret = key;
    return status;
}
