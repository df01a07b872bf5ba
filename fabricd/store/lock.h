/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private to the room: one manager a state directory.
 */
#ifndef FABRICD_STORE_LOCK_H
#define FABRICD_STORE_LOCK_H

#include <stddef.h>

/* Makes the directory if it is not there, and locks DIR/lock. BUSY: another process has it; DENIED,
 * NOT_FOUND, IO. why[] says which and what to do. */
int lock_take(const char *dir, int *ret_fd, char *why, size_t why_len);
void lock_release(int fd);

#endif
