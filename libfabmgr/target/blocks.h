/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocks of tables. A block has 32 entries of 16 bits, which one SubnSet writes: P_Keys of a port,
 * or port masks of multicast LIDs. A block is identified by the id of the port or switch that has
 * the table, and by the number of the block in the table. The caller decides whether an absent
 * block is unknown or all zero.
 */
#ifndef LIBFABMGR_TARGET_BLOCKS_H
#define LIBFABMGR_TARGET_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/base/map.h"

#define FAB_BLOCK_ENTRIES 32

struct fab_block {
    uint32_t id;
    uint16_t number;
    bool known;
    uint16_t entry[FAB_BLOCK_ENTRIES];
};
struct fab_blocks { /* A set of blocks. If all bytes are zero, the set is empty. */
    /* maps the id of the owner and the number of the block to an index in block[] */
    struct fab_map map;
    struct fab_block *block;
    size_t count, room;
};
void fab_target_blocks_fini(struct fab_blocks *b);
/* Copies the blocks. Returns NOMEM. */
int fab_target_blocks_copy(const struct fab_blocks *b, struct fab_blocks *ret_copy);
/* Sets all entries of a block, and adds the block if it is absent. Returns NOMEM, with nothing
 * changed, if there is no memory. */
int fab_target_blocks_put(struct fab_blocks *b, uint32_t id, uint32_t number,
                          const uint16_t entry[FAB_BLOCK_ENTRIES]);
/* Returns the entries of a block, so that the caller can change them; NULL: there is no memory. If
 * the block is absent, adds it first, with all entries zero. The pointer is valid until another
 * block is added. */
uint16_t *fab_target_blocks_edit(struct fab_blocks *b, uint32_t id, uint32_t number);
/* Returns the entries of a block; NULL: the block is absent. */
const uint16_t *fab_target_blocks_get(const struct fab_blocks *b, uint32_t id, uint32_t number);
void fab_target_blocks_forget(struct fab_blocks *b, uint32_t id, uint32_t number);

#endif
