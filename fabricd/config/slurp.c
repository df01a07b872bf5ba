/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads files piece by piece, because memory is then allocated for the real size of a file and not
 * for the maximum size. */
#include "fabricd/config/slurp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

#define PIECE 65536

static int status_of_errno(int error)
{
    return error == ENOENT || error == ENOTDIR ? FAB_E_NOT_FOUND
           : error == EACCES                   ? FAB_E_DENIED
                                               : FAB_E_IO;
}

/* Reads the stream to its end, or until more than `most` bytes were read. The caller must free
 * *text, even after an error. Returns OK, IO or NOMEM. */
static int read_all(FILE *stream, size_t most, char **text, size_t *len)
{
    size_t room = 0, got;
    do {
        char *more = fab_base_grow(*text, 1, *len + PIECE, &room);
        if (more == NULL)
            return FAB_E_NOMEM;
        *text = more;
        got = fread(more + *len, 1, PIECE, stream);
        *len += got;
    } while (got > 0 && *len <= most);
    return ferror(stream) ? FAB_E_IO : FAB_OK;
}

/* Reads a whole file from the stream, and closes the stream. A stream that is NULL means that the
 * file could not be opened; errno then has the reason. */
static int slurp_stream(FILE *stream, const char *file, size_t most, const char *what,
                        char **ret_text, size_t *ret_len, char *why, size_t why_len)
{
    char *text = NULL;
    size_t len = 0;
    int rc = stream != NULL ? read_all(stream, most, &text, &len) : FAB_E_IO;
    if (rc == FAB_E_IO) {
        rc = status_of_errno(errno);
        snprintf(why, why_len, "%s: cannot be read: %s", file, strerror(errno));
    } else if (rc != FAB_OK) {
        snprintf(why, why_len, "%s: %s", file, fab_base_status_text(rc));
    } else if (len > most) {
        rc = FAB_E_FORMAT;
        snprintf(why, why_len, "%s: larger than %zu bytes, expected %s", file, most, what);
    } else {
        *ret_text = text;
        *ret_len = len;
        text = NULL;
    }
    if (stream != NULL)
        fclose(stream);
    free(text);
    return rc;
}

int slurp(const char *file, size_t most, const char *what, char **ret_text, size_t *ret_len,
          char *why, size_t why_len)
{
    return slurp_stream(fopen(file, "re"), file, most, what, ret_text, ret_len, why, why_len);
}

/* Checks that only the owner of the open file can read and write it. Returns OK, or IO, FORMAT or
 * DENIED with a message in why[]. */
static int check_secret(int fd, const char *file, const char *what, char *why, size_t why_len)
{
    struct stat st;
    if (fstat(fd, &st) != 0) {
        snprintf(why, why_len, "%s: cannot be read: %s", file, strerror(errno));
        return FAB_E_IO;
    }
    if (!S_ISREG(st.st_mode)) {
        snprintf(why, why_len, "%s: not a file, expected %s", file, what);
        return FAB_E_FORMAT;
    }
    if (st.st_mode & (S_IRWXG | S_IRWXO)) {
        snprintf(why, why_len,
                 "%s: other users can read this file with keys; run 'chmod 600' on it", file);
        return FAB_E_DENIED;
    }
    return FAB_OK;
}

int slurp_secret(const char *file, size_t most, const char *what, char **ret_text, size_t *ret_len,
                 char *why, size_t why_len)
{
    /* O_NONBLOCK: if the path is a FIFO, open() must not block */
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int rc = fd >= 0 ? check_secret(fd, file, what, why, why_len) : FAB_OK;
    if (rc != FAB_OK) {
        close(fd);
        return rc;
    }
    FILE *stream = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (fd >= 0 && stream == NULL)
        close(fd);
    return slurp_stream(stream, file, most, what, ret_text, ret_len, why, why_len);
}
