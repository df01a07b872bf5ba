/* SPDX-License-Identifier: BSD-3-Clause */
/* Passphrases of backups. */
#ifndef CLI_CTL_PASSPHRASE_H
#define CLI_CTL_PASSPHRASE_H

#include <stdbool.h>

#define PASSPHRASE_LEAST 12
#define PASSPHRASE_MOST 1000

/* Reads the passphrase: the first line of the file, or of standard input if the file is "-". file
 * == NULL: asks for it on the terminal, and twice if `new` is true. The caller erases ret[]. On an
 * error prints it. Returns the exit code. */
int passphrase_read(const char *file, bool new, char ret[PASSPHRASE_MOST + 1]);

#endif
