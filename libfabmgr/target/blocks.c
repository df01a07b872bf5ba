/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores table blocks. An array has the blocks in the order in which they were added, and a map
 * finds them by id and number. A removed block stays in the array with `known` false; if a block
 * with the same id and number is added later, it uses the same element. */
#include "libfabmgr/target/blocks.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

static uint64_t key_of(uint32_t id, uint32_t number)
{
    return (uint64_t)id << 16 | number;
}

void fab_target_blocks_fini(struct fab_blocks *b)
{
    fab_base_map_fini(&b->map);
    free(b->block);
    memset(b, 0, sizeof(*b));
}

int fab_target_blocks_copy(const struct fab_blocks *b, struct fab_blocks *ret_copy)
{
    struct fab_blocks copy = {0};
    int r = FAB_OK;
    for (size_t i = 0; r == FAB_OK && i < b->count; i++)
        if (b->block[i].known)
            r = fab_target_blocks_put(&copy, b->block[i].id, b->block[i].number, b->block[i].entry);
    if (r == FAB_OK)
        *ret_copy = copy;
    else
        fab_target_blocks_fini(&copy);
    return r;
}

static struct fab_block *add(struct fab_blocks *b, uint32_t id, uint32_t number)
{
    struct fab_block *more = b->block;
    if (b->count == b->room)
        more = fab_base_grow(b->block, sizeof(*more), b->count + 1, &b->room);
    if (more == NULL)
        return NULL;
    b->block = more;
    if (fab_base_map_put(&b->map, key_of(id, number), (uint32_t)b->count) != FAB_OK)
        return NULL;
    more[b->count] = (struct fab_block){.id = id, .number = (uint16_t)number};
    return &more[b->count++];
}

static struct fab_block *find(const struct fab_blocks *b, uint32_t id, uint32_t number)
{
    uint32_t i;
    return fab_base_map_get(&b->map, key_of(id, number), &i) ? &b->block[i] : NULL;
}

uint16_t *fab_target_blocks_edit(struct fab_blocks *b, uint32_t id, uint32_t number)
{
    struct fab_block *block = find(b, id, number);
    if (block == NULL)
        block = add(b, id, number);
    if (block == NULL)
        return NULL;
    if (!block->known)
        memset(block->entry, 0, sizeof(block->entry));
    block->known = true;
    return block->entry;
}

int fab_target_blocks_put(struct fab_blocks *b, uint32_t id, uint32_t number,
                          const uint16_t entry[FAB_BLOCK_ENTRIES])
{
    uint16_t *at = fab_target_blocks_edit(b, id, number);
    if (at == NULL)
        return FAB_E_NOMEM;
    memcpy(at, entry, FAB_BLOCK_ENTRIES * sizeof(*entry));
    return FAB_OK;
}

const uint16_t *fab_target_blocks_get(const struct fab_blocks *b, uint32_t id, uint32_t number)
{
    const struct fab_block *block = find(b, id, number);
    return block != NULL && block->known ? block->entry : NULL;
}

void fab_target_blocks_forget(struct fab_blocks *b, uint32_t id, uint32_t number)
{
    struct fab_block *block = find(b, id, number);
    if (block != NULL)
        block->known = false;
}
