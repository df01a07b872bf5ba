/* SPDX-License-Identifier: BSD-3-Clause */
/* Passphrases of backups. */
#ifndef CLI_CTL_PASSPHRASE_H
#define CLI_CTL_PASSPHRASE_H

#include <stdbool.h>

#define PASSPHRASE_LEAST 12
#define PASSPHRASE_MOST 1000

/* Reads the passphrase: the first line of the file, or of standard input if the file is "-". If
 * file is NULL, asks for the passphrase on the terminal; if `new` is true, asks twice. The caller
 * erases ret[]. If this fails, prints the error. Returns the exit code. */
int passphrase_read(const char *file, bool new, char ret[PASSPHRASE_MOST + 1]);

#endif
