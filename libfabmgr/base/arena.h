/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An arena: memory that is freed all at once. Everything that lives as long as one sweep, snapshot
 * or parse comes from one.
 */
#ifndef LIBFABMGR_BASE_ARENA_H
#define LIBFABMGR_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct fab_arena_block;
struct fab_arena {
    struct fab_arena_block *blocks; /* newest first */
    size_t used, room;              /* in the newest */
};
void fab_base_arena_init(struct fab_arena *a); /* all zeros is as good */
void fab_base_arena_fini(struct fab_arena *a); /* frees everything; the arena is empty and usable */
/* Zeroed room for count items, aligned for any type. NULL: no memory, or count * item overflows.
 * Count 0 gives a valid pointer to nothing. */
void *fab_base_arena_alloc(struct fab_arena *a, size_t count, size_t item);
/* A copy of len bytes of text, NUL-terminated. */
char *fab_base_arena_text(struct fab_arena *a, const char *text, size_t len);

#endif
