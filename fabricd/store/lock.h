/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For this folder only: the lock that lets only one manager at a time use a state directory.
 */
#ifndef FABRICD_STORE_LOCK_H
#define FABRICD_STORE_LOCK_H

#include <stddef.h>

/* Creates the directory if needed, and locks DIR/lock. BUSY: another process has the lock; DENIED,
 * NOT_FOUND, IO: the directory or the lock file cannot be created or written. why[] says what
 * failed and what to do. */
int lock_take(const char *dir, int *ret_fd, char *why, size_t why_len);
void lock_release(int fd);

#endif
