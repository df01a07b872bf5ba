/* SPDX-License-Identifier: BSD-3-Clause */
/* Growing arrays whose items are found by a key. The simulator uses them for blocks of tables,
 * notices, counters and congestion logs. */
#include <stdlib.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/device.h"

void *fab_sim_items_find(const struct sim_items *t, size_t size, uint64_t key)
{
    uint32_t i;
    return fab_base_map_get(&t->index, key, &i) ? (char *)t->items + i * size : NULL;
}

int fab_sim_items_add(struct sim_items *t, size_t size, uint64_t key, uint32_t *ret_index)
{
    if (t->count == t->capacity) {
        void *grown = fab_base_grow(t->items, size, t->count + 1, &t->capacity);
        if (grown == NULL)
            return FAB_E_NOMEM;
        t->items = grown;
    }
    int status = fab_base_map_put(&t->index, key, (uint32_t)t->count);
    if (status != FAB_OK)
        return status;
    memset((char *)t->items + t->count * size, 0, size);
    *ret_index = (uint32_t)t->count++;
    return FAB_OK;
}

void fab_sim_items_fini(struct sim_items *t)
{
    fab_base_map_fini(&t->index);
    free(t->items);
}
