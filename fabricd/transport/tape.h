/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A tape: a file to which a thread of its own appends, so that the caller never waits for the disk.
 * The thread writes full buffers. tape_flush also passes it a partial one; the caller calls
 * tape_flush regularly.
 */
#ifndef FABRICD_TRANSPORT_TAPE_H
#define FABRICD_TRANSPORT_TAPE_H

#include <stddef.h>
#include <stdint.h>

#define TAPE_PIECE (256u << 10) /* maximum number of bytes of one call of tape_room */

struct tape;
/* Creates the file, or replaces it. NOMEM, IO, DENIED, NOT_FOUND; why[]: one sentence. */
int tape_open(const char *path, struct tape **ret, char *why, size_t why_len);
/* Returns room for the next n bytes, at most TAPE_PIECE. The caller fills in the bytes, and
 * tape_advance appends them. NULL: the disk is far behind, a write failed (see tape_error), or
 * memory ran out. */
uint8_t *tape_room(struct tape *t, size_t n);
void tape_advance(struct tape *t, size_t n);
void tape_flush(struct tape *t); /* passes everything so far to the thread */
int tape_error(struct tape *t);  /* errno of the first write that failed, or 0 */
/* Writes the rest and closes the file. Returns tape_error. NULL is fine. */
int tape_close(struct tape *t);

#endif
