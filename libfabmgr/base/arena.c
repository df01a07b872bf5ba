/* SPDX-License-Identifier: BSD-3-Clause */
/* The arena is a list of blocks. Each block is twice as large as the block before it, up to
 * LARGEST_BLOCK. If a caller asks for more bytes than such a block has, the new block gets the size
 * that the caller needs. All memory from the arena is zero, because blocks come from calloc, and no
 * byte is allocated twice. */
#include "libfabmgr/base/arena.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"

#define FIRST_BLOCK ((size_t)4096)
#define LARGEST_BLOCK ((size_t)1 << 20)

struct fab_arena_block {
    struct fab_arena_block *next;
    alignas(max_align_t) uint8_t bytes[];
};

void fab_base_arena_fini(struct fab_arena *a)
{
    while (a->blocks != NULL) {
        struct fab_arena_block *next = a->blocks->next;
        free(a->blocks);
        a->blocks = next;
    }
    *a = (struct fab_arena){0};
}

static bool add_block(struct fab_arena *a, size_t need)
{
    size_t size = a->room == 0 ? FIRST_BLOCK : a->room < LARGEST_BLOCK ? a->room * 2 : a->room;
    size_t total;
    if (size > LARGEST_BLOCK)
        size = LARGEST_BLOCK;
    if (size < need)
        size = need;
    if (!fab_base_size_add(sizeof(struct fab_arena_block), size, &total))
        return false;
    struct fab_arena_block *block = calloc(1, total);
    if (block == NULL)
        return false;
    block->next = a->blocks;
    a->blocks = block;
    a->used = 0;
    a->room = size;
    return true;
}

static bool has_room(struct fab_arena *a, size_t size)
{
    return (a->blocks != NULL && size <= a->room - a->used) || add_block(a, size);
}

void *fab_base_arena_alloc(struct fab_arena *a, size_t count, size_t item)
{
    const size_t align = alignof(max_align_t);
    size_t size;
    if (!fab_base_size_mul(count, item, &size) || !fab_base_size_add(size, align - 1, &size) ||
        !has_room(a, size & ~(align - 1))) {
        a->failed = true;
        return NULL;
    }
    size &= ~(align - 1);
    void *place = a->blocks->bytes + a->used;
    a->used += size;
    return place;
}

char *fab_base_arena_text(struct fab_arena *a, const char *text, size_t len)
{
    size_t size;
    if (!fab_base_size_add(len, 1, &size))
        return NULL;
    char *copy = fab_base_arena_alloc(a, size, 1);
    if (copy != NULL && len > 0)
        memcpy(copy, text, len);
    return copy;
}
