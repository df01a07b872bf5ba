/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An arena: memory that is freed all at once. Callers use one arena for everything that lives as
 * long as one snapshot, one policy file or one parse.
 */
#ifndef LIBFABMGR_BASE_ARENA_H
#define LIBFABMGR_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct fab_arena_block;
struct fab_arena {
    struct fab_arena_block *blocks; /* newest first */
    size_t used, room;              /* bytes of the newest block: handed out, and in all */
};
void fab_base_arena_init(struct fab_arena *a); /* an all-zero arena is valid, too */
void fab_base_arena_fini(struct fab_arena *a); /* frees everything; the arena can be used again */
/* Zeroed memory for `count` items of `item` bytes, aligned for any type. NULL: no memory, or
 * count * item overflows. Count 0 gives a valid pointer that must not be read. */
void *fab_base_arena_alloc(struct fab_arena *a, size_t count, size_t item);
/* A copy of `len` bytes of text, NUL-terminated. NULL: no memory. */
char *fab_base_arena_text(struct fab_arena *a, const char *text, size_t len);

#endif
