/* SPDX-License-Identifier: BSD-3-Clause */
/* A block has the samples that several ports have at the same times. The history of counters is
 * stored in blocks. encode.c converts blocks to bytes and back. */
#ifndef LIBFABMGR_COUNTERS_BLOCK_H
#define LIBFABMGR_COUNTERS_BLOCK_H

#include <stddef.h>

#include "libfabmgr/counters/column.h"

#define FAB_BLOCK_PORTS 256    /* maximum number of ports in a block */
#define FAB_BLOCK_SAMPLES 1024 /* maximum number of samples of each port in a block */
#define FAB_BLOCK_ALL UINT64_MAX

struct fab_counters_time {
    int64_t end;     /* Unix time in seconds at which the sample ends */
    uint32_t span_s; /* duration of the sample in seconds */
};
struct fab_counters_block { /* a block; all bytes zero: an empty block */
    uint32_t ports, samples;
    struct fab_counters_time *time; /* [samples] times of the samples, in ascending order */
    /* code[column][port * samples + sample] is the code of a value; code[column] NULL: all codes
     * are 0 */
    uint16_t *code[FAB_COLUMNS];
};
/* Makes a block whose codes are all 0. Returns OK, NOMEM, or LIMIT if the block would be too large.
 */
int fab_counters_block_init(struct fab_counters_block *b, uint32_t ports, uint32_t samples);
void fab_counters_block_fini(struct fab_counters_block *b);
static inline uint16_t fab_counters_block_get(const struct fab_counters_block *b, unsigned column,
                                              uint32_t port, uint32_t sample)
{
    return b->code[column] != NULL ? b->code[column][port * b->samples + sample] : 0;
}
/* Sets the code of one sample of a port in a column. Returns OK or NOMEM. */
int fab_counters_block_set(struct fab_counters_block *b, unsigned column, uint32_t port,
                           uint32_t sample, uint16_t code);
/* Joins the blocks from[count], which must be in ascending order of time, into one block. Returns
 * OK, NOMEM or LIMIT. */
int fab_counters_block_join(const struct fab_counters_block *from, size_t count,
                            struct fab_counters_block *ret);

/* Removes the samples that end after `until`. */
void fab_counters_block_cut(struct fab_counters_block *b, int64_t until);

/* Converts a block to bytes, which the caller frees. Returns OK or NOMEM. */
int fab_counters_block_encode(const struct fab_counters_block *b, uint8_t **ret, size_t *ret_len);
/* Reads a block from bytes. columns: bitset of the columns to read; code[] of all other columns is
 * NULL. Returns OK, NOMEM, or FORMAT if the bytes are no block. */
int fab_counters_block_decode(const uint8_t *bytes, size_t len, uint64_t columns,
                              struct fab_counters_block *ret);

#endif
