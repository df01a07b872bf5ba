/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds out whether the file at a path was deleted, moved or replaced. For the folder fabricd/store
 * only. */
#ifndef FABRICD_STORE_FILE_IDENTITY_H
#define FABRICD_STORE_FILE_IDENTITY_H

#include <stdbool.h>
#include <sys/types.h>

struct file_identity {
    dev_t device;
    ino_t inode;
};
/* Stores in *id the identity of the file at the path. Returns IO if there is no file. */
int file_identity_take(struct file_identity *id, const char *path);
/* Returns true if the file at the path is still the one in *id. Returns false if that file was
 * deleted, moved or replaced. */
bool file_identity_holds(const struct file_identity *id, const char *path);

#endif
