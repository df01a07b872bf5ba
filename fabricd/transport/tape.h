/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A tape: a file that is only appended to, by a thread of its own, so that the caller never
 * waits for the disk. Data is written after at most 0.1 s if tape_flush is called that often.
 */
#ifndef FABRICD_TRANSPORT_TAPE_H
#define FABRICD_TRANSPORT_TAPE_H

#include <stddef.h>
#include <stdint.h>

#define TAPE_PIECE (256u << 10) /* most bytes of one tape_room */

struct tape;
/* Creates the file, or replaces it. NOMEM, IO, DENIED, NOT_FOUND; why[]: a sentence. */
int tape_open(const char *path, struct tape **ret, char *why, size_t why_len);
/* Room for the next n bytes, to be filled before the next call. They are part of the file after
 * tape_advance. NULL: the disk is far behind, a write failed, or memory ran out (see
 * tape_error). */
uint8_t *tape_room(struct tape *t, size_t n);
void tape_advance(struct tape *t, size_t n);
void tape_flush(struct tape *t); /* passes everything so far to the thread */
int tape_error(struct tape *t);  /* errno of the first write that failed, or 0 */
/* Writes the rest and closes the file. Returns tape_error. NULL is fine. */
int tape_close(struct tape *t);

#endif
