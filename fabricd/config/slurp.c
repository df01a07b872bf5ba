/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads files piece by piece, so that memory is allocated for the real size and not for the maximum
 * size. */
#include "fabricd/config/slurp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

#define PIECE 65536

static int status_of_errno(int error)
{
    return error == ENOENT || error == ENOTDIR ? FAB_E_NOT_FOUND
           : error == EACCES                   ? FAB_E_DENIED
                                               : FAB_E_IO;
}

/* Reads the stream until it ends or *len exceeds `most`. The caller must free *text, even after an
 * error. Returns IO or NOMEM. */
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

int slurp(const char *file, size_t most, const char *what, char **ret_text, size_t *ret_len,
          char *why, size_t why_len)
{
    char *text = NULL;
    size_t len = 0;
    FILE *stream = fopen(file, "re");
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
