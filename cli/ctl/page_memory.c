/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/ctl/page_memory.h"

#include <stdalign.h>
#include <stdbool.h>
#include <stdlib.h>

#define BLOCK_SIZE ((size_t)256 << 10)

struct page_block {
    struct page_block *next;
    size_t size;
    alignas(max_align_t) char bytes[];
};

/* Sets m->block to a block that has room for `size` bytes: the next block of the list or, if there
 * is none or it is too small, a new block. Returns false if there is no memory. */
static bool next_block(struct page_memory *m, size_t size)
{
    struct page_block **place = m->block != NULL ? &m->block->next : &m->first;
    struct page_block *b = *place;
    if (b == NULL || b->size < size) {
        size_t room = size > BLOCK_SIZE ? size : BLOCK_SIZE;
        b = malloc(sizeof *b + room);
        if (b == NULL)
            return false;
        *b = (struct page_block){*place, room};
        *place = b;
    }
    m->block = b;
    m->used = 0;
    return true;
}

static void *take(void *memory, size_t size)
{
    struct page_memory *m = memory;
    size = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    if ((m->block == NULL || m->block->size - m->used < size) && !next_block(m, size))
        return NULL;
    m->used += size;
    return m->block->bytes + m->used - size;
}

static void leave(void *memory, void *pointer)
{
    (void)memory, (void)pointer;
}

void page_memory_init(struct page_memory *m)
{
    *m = (struct page_memory){.allocator = {take, leave, m}};
}

void page_memory_reset(struct page_memory *m)
{
    m->block = NULL;
    m->used = 0;
}

void page_memory_fini(struct page_memory *m)
{
    for (struct page_block *b = m->first, *next; b != NULL; b = next) {
        next = b->next;
        free(b);
    }
    page_memory_init(m);
}
