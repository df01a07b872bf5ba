/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the passphrase of a backup from a file, standard input or the terminal. The rules for
 * passphrases are those of `fabricd --passphrase-file`. */
#include "cli/ctl/passphrase.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <termios.h>

#include "cli/ctl/cmd.h"

#define LINE_LEN (PASSPHRASE_MOST + 2)

/* Checks the line, and copies it without its line end. `from` is the source of the line, for error
 * messages. */
static int take_line(const char *from, const char line[LINE_LEN], char ret[PASSPHRASE_MOST + 1])
{
    size_t len = strcspn(line, "\r\n");
    if (len < PASSPHRASE_LEAST || len > PASSPHRASE_MOST)
        return complain(EXIT_FAILED, "%s: the passphrase has %s %d characters", from,
                        len < PASSPHRASE_LEAST ? "fewer than" : "more than",
                        len < PASSPHRASE_LEAST ? PASSPHRASE_LEAST : PASSPHRASE_MOST);
    memcpy(ret, line, len);
    ret[len] = '\0';
    return EXIT_OK;
}

static int read_file(const char *name, char ret[PASSPHRASE_MOST + 1])
{
    char line[LINE_LEN] = "";
    struct stat st;
    bool is_stdin = strcmp(name, "-") == 0;
    FILE *file = is_stdin ? stdin : fopen(name, "re");
    if (file == NULL)
        return complain(EXIT_FAILED, "passphrase file %s: %s", name, strerror(errno));
    int rc = EXIT_OK;
    if (!is_stdin && fstat(fileno(file), &st) == 0 && S_ISREG(st.st_mode) &&
        (st.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        rc = complain(EXIT_FAILED,
                      "passphrase file %s: other users can read or write it; run 'chmod 600' on it",
                      name);
    else if (fgets(line, sizeof line, file) == NULL)
        line[0] = '\0';
    if (!is_stdin)
        fclose(file);
    if (rc == EXIT_OK)
        rc = take_line(is_stdin ? "standard input" : name, line, ret);
    OPENSSL_cleanse(line, sizeof line);
    return rc;
}

/* ---- the terminal ---------------------------------------------------------------------------- */

static void ask_line(FILE *tty, const char *prompt, char line[LINE_LEN])
{
    fputs(prompt, tty);
    fflush(tty);
    if (fgets(line, LINE_LEN, tty) == NULL)
        line[0] = '\0';
    fputc('\n', tty);
}

static int ask_twice(FILE *tty, bool new, char ret[PASSPHRASE_MOST + 1])
{
    char line[LINE_LEN], again[LINE_LEN];
    ask_line(tty, "Passphrase of the backup: ", line);
    int rc = take_line("terminal", line, ret);
    if (rc == EXIT_OK && new) {
        ask_line(tty, "The same again: ", again);
        if (strcmp(line, again) != 0)
            rc = complain(EXIT_FAILED, "the two passphrases differ");
        OPENSSL_cleanse(again, sizeof again);
    }
    OPENSSL_cleanse(line, sizeof line);
    return rc;
}

int passphrase_read(const char *file, bool new, char ret[PASSPHRASE_MOST + 1])
{
    struct termios before, silent;
    if (file != NULL)
        return read_file(file, ret);
    FILE *tty = fopen("/dev/tty", "r+e");
    if (tty == NULL || tcgetattr(fileno(tty), &before) != 0) {
        if (tty != NULL)
            fclose(tty);
        return complain(EXIT_USAGE,
                        "there is no terminal to ask for the passphrase; use --passphrase-file");
    }
    /* Without ISIG, no key such as ^C ends the program while the terminal does not echo. */
    silent = before;
    silent.c_lflag &= ~(tcflag_t)(ECHO | ISIG);
    tcsetattr(fileno(tty), TCSAFLUSH, &silent);
    int rc = ask_twice(tty, new, ret);
    tcsetattr(fileno(tty), TCSAFLUSH, &before);
    fclose(tty);
    return rc;
}
