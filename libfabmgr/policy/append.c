/* SPDX-License-Identifier: BSD-3-Clause */
/* Appends items to an array. The array grows only when its length is 0 or a power of two, so n
 * appends copy only O(n) items in total. */
#include "libfabmgr/policy/append.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

int fab_policy_append(void *items, size_t item, size_t *count, const void *value)
{
    char *array;
    /* The type of the pointer to the array is unknown here, so memcpy reads and writes this
     * pointer. */
    memcpy(&array, items, sizeof(array));
    if ((*count & (*count - 1)) == 0) {
        size_t size;
        if (!fab_base_size_mul(*count > 0 ? *count * 2 : 1, item, &size) ||
            (array = realloc(array, size)) == NULL)
            return FAB_E_NOMEM;
        memcpy(items, &array, sizeof(array));
    }
    memcpy(array + *count * item, value, item);
    ++*count;
    return FAB_OK;
}
