/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/ctl/sink.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/ctl/cmd.h"

int sink_open(struct sink *s, const char *file)
{
    struct stat st;
    *s = (struct sink){.to = stdout};
    if (file == NULL || strcmp(file, "-") == 0)
        return EXIT_OK;
    if (stat(file, &st) < 0 || S_ISREG(st.st_mode))
        snprintf(s->part, sizeof s->part, "%s.part", file);
    const char *name = s->part[0] != '\0' ? s->part : file;
    s->to = fopen(name, "w");
    return s->to != NULL ? EXIT_OK : complain(EXIT_FAILED, "%s: %s", name, strerror(errno));
}

int sink_close(struct sink *s, const char *file, int rc)
{
    if (s->to == stdout)
        s->error = s->error == 0 && fflush(stdout) != 0 ? errno : s->error;
    else if (fclose(s->to) != 0 && s->error == 0)
        s->error = errno;
    /* It is not an error if the reader of the pipe, such as head, has ended. */
    if (s->to == stdout && s->error == EPIPE)
        return EXIT_OK;
    if (rc == EXIT_OK && s->error == 0 && s->part[0] != '\0' && rename(s->part, file) < 0)
        s->error = errno;
    if (rc == EXIT_OK && s->error != 0)
        rc = complain(EXIT_FAILED, "%s: %s", s->to == stdout ? "standard output" : file,
                      strerror(s->error));
    if (rc != EXIT_OK && s->part[0] != '\0')
        unlink(s->part);
    return rc;
}
