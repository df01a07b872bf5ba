/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A tape: a file to which a separate thread appends, so that the caller never waits for the disk.
 * The thread writes full buffers. A buffer that is only partly full is written after tape_flush,
 * which the caller must call regularly.
 */
#ifndef FABRICD_TRANSPORT_TAPE_H
#define FABRICD_TRANSPORT_TAPE_H

#include <stddef.h>
#include <stdint.h>

/* maximum number of bytes in one call of tape_room */
#define TAPE_PIECE (256u << 10)

struct tape;
/* Creates or replaces the file. Returns OK, or NOMEM, IO, DENIED or NOT_FOUND with the reason in
 * why[]. */
int tape_open(const char *path, struct tape **ret, char *why, size_t why_len);
/* Returns memory for the next `n` bytes of the file; `n` is at most TAPE_PIECE. The caller fills in
 * the bytes and calls tape_advance to append them. Returns NULL if the disk is too slow, if a write
 * failed (see tape_error), or if memory ran out. */
uint8_t *tape_room(struct tape *t, size_t n);
void tape_advance(struct tape *t, size_t n);
/* makes the thread write all bytes that were appended so far; does not wait until they are written
 */
void tape_flush(struct tape *t);
/* returns errno of the first failed write; 0: none failed */
int tape_error(struct tape *t);
/* Writes the remaining bytes and closes the file. Returns errno of the first failed write or of
 * close(2); 0: none failed. t may be NULL. */
int tape_close(struct tape *t);

#endif
