/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads and writes whole files. A regular file is written as a temporary file in the same folder
 * and then renamed, so that readers see either the old or the complete new file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/sim/cmd.h"
#include "libfabmgr/base/size.h"

#define SIZE_LIMIT ((size_t)1 << 30)

static int complain(const char *path, const char *what)
{
    fprintf(stderr, "fabsim: %s: %s: %s\n", path, what, strerror(errno));
    return -1;
}

/* Reads the whole stream. Returns 0, or -1 and sets errno. */
static int slurp(FILE *file, char **ret_text, size_t *ret_len)
{
    char *text = NULL;
    size_t len = 0, room = 0, got;
    do {
        char *bigger = fab_base_grow(text, 1, len + 65536, &room);
        errno = bigger == NULL ? ENOMEM : EFBIG;
        if (bigger == NULL || len > SIZE_LIMIT) {
            free(bigger != NULL ? bigger : text);
            return -1;
        }
        text = bigger;
        got = fread(text + len, 1, room - len, file);
        len += got;
    } while (got > 0);
    if (ferror(file)) {
        free(text);
        return -1;
    }
    /* the last read left room in the buffer */
    text[len] = '\0';
    *ret_text = text;
    *ret_len = len;
    return 0;
}

int file_read(const char *path, char **ret_text, size_t *ret_len)
{
    bool standard = strcmp(path, "-") == 0;
    FILE *file = standard ? stdin : fopen(path, "rb");
    if (file == NULL)
        return complain(path, "cannot be opened");
    int status = slurp(file, ret_text, ret_len);
    if (status != 0)
        complain(path, "cannot be read");
    if (!standard)
        fclose(file);
    return status;
}

static int write_standard(const char *text, size_t len)
{
    if (fwrite(text, 1, len, stdout) != len || fflush(stdout) != 0)
        return complain("standard output", "cannot be written");
    return 0;
}

static int write_all(int fd, const char *text, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, text, len);
        if (n < 0 && errno != EINTR)
            return -1;
        text += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* Gives a new file the usual permissions (umask). mkstemp makes it readable for its owner only, but
 * a topology is not secret. */
static int open_up(int fd)
{
    mode_t mask = umask(0);
    umask(mask);
    return fchmod(fd, 0666 & ~mask);
}

/* Writes the text to fd, and closes fd. */
static int fill(int fd, const char *text, size_t len)
{
    int status = write_all(fd, text, len);
    if (status == 0)
        status = open_up(fd);
    if (status == 0)
        status = fsync(fd);
    int error = errno;
    if (close(fd) != 0 && status == 0)
        return -1;
    errno = error;
    return status;
}

/* Writes the text into an existing device or pipe. Renaming would replace it by a file. */
static int write_directly(const char *path, const char *text, size_t len)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    int status = fd >= 0 ? write_all(fd, text, len) : -1;
    if (status != 0)
        complain(path, "cannot be written");
    if (fd >= 0)
        close(fd);
    return status;
}

int file_write(const char *path, const char *text, size_t len)
{
    char *temporary = NULL;
    struct stat st;
    if (strcmp(path, "-") == 0)
        return write_standard(text, len);
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return write_directly(path, text, len);
    if (asprintf(&temporary, "%s.XXXXXX", path) < 0)
        return complain(path, "cannot be written");
    int fd = mkstemp(temporary), status = -1;
    if (fd < 0) {
        complain(path, "cannot be written");
        goto out;
    }
    status = fill(fd, text, len);
    if (status == 0)
        status = rename(temporary, path);
    if (status != 0) {
        complain(path, "cannot be written");
        unlink(temporary);
    }
out:
    free(temporary);
    return status;
}
