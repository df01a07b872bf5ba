/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocks of tables with 32 entries of 16 bits, as one write carries them: P_Keys of ports, port
 * masks of multicast LIDs. By the id that the table belongs to (of a port, of a switch) and the
 * number of the block in it; what is not there is not known, or zeros, as the owner has it.
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
struct fab_blocks {     /* all zero: none */
    struct fab_map map; /* id and number -> index */
    struct fab_block *block;
    size_t count, room;
};
void fab_target_blocks_fini(struct fab_blocks *b);
int fab_target_blocks_copy(const struct fab_blocks *b, struct fab_blocks *ret_copy); /* NOMEM */
/* NOMEM: then nothing has changed. */
int fab_target_blocks_put(struct fab_blocks *b, uint32_t id, uint32_t number,
                          const uint16_t entry[FAB_BLOCK_ENTRIES]);
/* For changes of entries; a new one is zeros. NULL: NOMEM. Valid until the next one is added. */
uint16_t *fab_target_blocks_edit(struct fab_blocks *b, uint32_t id, uint32_t number);
const uint16_t *fab_target_blocks_get(const struct fab_blocks *b, uint32_t id, uint32_t number);
void fab_target_blocks_forget(struct fab_blocks *b, uint32_t id, uint32_t number);

#endif
