/* SPDX-License-Identifier: BSD-3-Clause */
/* The command `fabricctl restore`. A running manager also has the database and the keys in memory,
 * so it must be stopped for a restore. The command therefore calls no manager. It asks for the
 * passphrase, and then executes `fabricd --restore`, which implements the restore. */
#include <errno.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/ctl/cmd.h"
#include "cli/ctl/passphrase.h"

#define STATE_DIR "/var/lib/fabricd"

/* Replaces standard input by a pipe, and writes the passphrase into it. The write does not block,
 * because a passphrase is shorter than the capacity of a pipe (pipe(7)). */
static int feed(const char *passphrase)
{
    int fd[2];
    size_t len = strlen(passphrase);
    if (pipe(fd) != 0)
        return complain(EXIT_FAILED, "no pipe for the passphrase: %s", strerror(errno));
    bool good = write(fd[1], passphrase, len) == (ssize_t)len && write(fd[1], "\n", 1) == 1 &&
                dup2(fd[0], STDIN_FILENO) == STDIN_FILENO;
    close(fd[0]);
    close(fd[1]);
    return good ? EXIT_OK : complain(EXIT_FAILED, "the passphrase cannot be passed to fabricd");
}

static int become_fabricd(const struct session *s)
{
    const char *named = getenv("FABRICCTL_FABRICD");
    const char *program = named != NULL ? named : SBINDIR "/fabricd";
    const char *arguments[9] = {program, "--restore", s->argv[0], "--passphrase-file", "-"};
    size_t n = 5;
    arguments[n++] = "--state-dir";
    arguments[n++] = s->state_dir != NULL ? s->state_dir : STATE_DIR;
    if (s->replace || s->verify)
        arguments[n++] = s->replace ? "--replace" : "--verify";
    execv(program, (char *const *)(uintptr_t)arguments);
    return complain(EXIT_FAILED,
                    "%s cannot be run: %s; a backup is restored on the machine of the "
                    "manager",
                    program, strerror(errno));
}

static int restore(struct session *s)
{
    char passphrase[PASSPHRASE_MOST + 1];
    if (s->replace && s->verify)
        return complain(EXIT_USAGE, "it is either --replace or --verify");
    if (s->out_format != OUT_TEXT)
        return complain(EXIT_USAGE, "restore has only text output");
    if (access(s->argv[0], R_OK) != 0)
        return complain(EXIT_FAILED, "%s: %s", s->argv[0], strerror(errno));
    int rc = passphrase_read(s->passphrase_file, false, passphrase);
    if (rc == EXIT_OK)
        rc = feed(passphrase);
    OPENSSL_cleanse(passphrase, sizeof passphrase);
    return rc == EXIT_OK ? become_fabricd(s) : rc;
}

const struct cmd cmd_restore = {
    .noun = "restore",
    .args = "FILE [--verify] [--replace] [--state-dir DIR] [--passphrase-file FILE]",
    .summary = "restore a backup of a stopped manager, or check it",
    .min_args = 1,
    .max_args = 1,
    .options = "pTLv",
    .run = restore,
};
