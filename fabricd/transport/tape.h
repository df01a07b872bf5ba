/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A tape: a file that is only appended to, by a thread of its own, so that whoever fills it never
 * waits for a disk. What was given to it is written a tenth of a second later at the latest, if
 * tape_flush is called that often.
 */
#ifndef FABRICD_TRANSPORT_TAPE_H
#define FABRICD_TRANSPORT_TAPE_H

#include <stddef.h>
#include <stdint.h>

#define TAPE_PIECE (256u << 10) /* most bytes of one tape_room */

struct tape;
/* Replaces an existing file. NOMEM, IO, DENIED, NOT_FOUND; why[]: a sentence. */
int tape_open(const char *path, struct tape **ret, char *why, size_t why_len);
/* Room for the next bytes, to be filled before the next call, or NULL: the disk is behind by far or
 * refused to write, or memory ran out (tape_error tells). n of them are on the tape once
 * tape_advance was called. */
uint8_t *tape_room(struct tape *t, size_t n);
void tape_advance(struct tape *t, size_t n);
void tape_flush(struct tape *t); /* gives what was put on it to the thread */
int tape_error(struct tape *t);  /* errno of the first write that failed, or 0 */
/* Writes all that is left, and closes. Returns tape_error. NULL is fine. */
int tape_close(struct tape *t);

#endif
