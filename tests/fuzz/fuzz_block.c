/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzzes blocks of the history of counters. Any input is refused or decoded to a block. The block
 * is encoded and decoded again, and must have the same numbers of ports and samples. */
#include <stdlib.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/counters/block.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fab_counters_block b, again;
    uint8_t *bytes = NULL;
    size_t len;
    if (fab_counters_block_decode(data, size, FAB_BLOCK_ALL, &b) != FAB_OK)
        return 0;
    if (fab_counters_block_encode(&b, &bytes, &len) == FAB_OK) {
        if (fab_counters_block_decode(bytes, len, FAB_BLOCK_ALL, &again) != FAB_OK ||
            again.ports != b.ports || again.samples != b.samples)
            abort();
        fab_counters_block_fini(&again);
    }
    free(bytes);
    fab_counters_block_fini(&b);
    return 0;
}
