/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocks of 32 entries of 16 bits, as one SubnSet writes them: P_Keys of ports, port masks of
 * multicast LIDs. The key is the id of the table's owner (a port or a switch) and the number of the
 * block in the table. The caller decides whether an absent block means that it is unknown, or all
 * zero.
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
struct fab_blocks {     /* an all-zero value is empty */
    struct fab_map map; /* id and number -> index */
    struct fab_block *block;
    size_t count, room;
};
void fab_target_blocks_fini(struct fab_blocks *b);
int fab_target_blocks_copy(const struct fab_blocks *b, struct fab_blocks *ret_copy); /* NOMEM */
/* Sets a block. On NOMEM nothing has changed. */
int fab_target_blocks_put(struct fab_blocks *b, uint32_t id, uint32_t number,
                          const uint16_t entry[FAB_BLOCK_ENTRIES]);
/* The entries of a block, to be changed; a new block is all zero. NULL: no memory. Valid until
 * another block is added. */
uint16_t *fab_target_blocks_edit(struct fab_blocks *b, uint32_t id, uint32_t number);
/* The entries of a block; NULL: it is absent. */
const uint16_t *fab_target_blocks_get(const struct fab_blocks *b, uint32_t id, uint32_t number);
void fab_target_blocks_forget(struct fab_blocks *b, uint32_t id, uint32_t number);

#endif
