/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lock that permits only one manager at a time to use a state directory. For the folder
 * fabricd/store only.
 */
#ifndef FABRICD_STORE_LOCK_H
#define FABRICD_STORE_LOCK_H

#include <stddef.h>

/* Creates the directory if it does not exist, and locks DIR/lock. Returns BUSY if another process
 * has the lock. Returns DENIED, NOT_FOUND or IO if the directory or the lock file cannot be created
 * or written. why[] says what failed and what to do. */
int lock_take(const char *dir, int *ret_fd, char *why, size_t why_len);
void lock_release(int fd);

#endif
