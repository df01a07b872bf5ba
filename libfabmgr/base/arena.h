/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An arena: allocations that are freed all at once. A caller uses one arena for everything that has
 * the same lifetime, for example for one snapshot or for the parsing of one file.
 */
#ifndef LIBFABMGR_BASE_ARENA_H
#define LIBFABMGR_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fab_arena_block;
struct fab_arena {                  /* all bytes zero: an empty arena */
    struct fab_arena_block *blocks; /* the newest block comes first in the list */
    /* used: number of bytes of the newest block that are allocated to callers. room: size of the
     * newest block in bytes. */
    size_t used, room;
    /* true: an allocation has failed. A caller may make several allocations, and check this member
     * once, at the end. */
    bool failed;
};
/* Frees all memory of the arena. The arena is then empty, and can be used again. */
void fab_base_arena_fini(struct fab_arena *a);
/* Returns zeroed memory for `count` items of `item` bytes each, aligned for any type. Returns NULL
 * if there is no memory, or if count * item overflows. If `count` is 0, the result is not NULL, but
 * the caller must neither read nor write there. */
void *fab_base_arena_alloc(struct fab_arena *a, size_t count, size_t item);
/* Returns a NUL-terminated copy of `len` bytes of text; NULL: no memory. */
char *fab_base_arena_text(struct fab_arena *a, const char *text, size_t len);

#endif
