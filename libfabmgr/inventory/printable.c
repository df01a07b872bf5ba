/* SPDX-License-Identifier: BSD-3-Clause */
#include "libfabmgr/inventory/printable.h"

void fab_inventory_printable(const uint8_t *bytes, size_t count, char *ret)
{
    size_t end = 0;
    for (size_t i = 0; i < count && bytes[i] != 0; i++) {
        ret[i] = bytes[i] >= ' ' && bytes[i] <= '~' ? (char)bytes[i] : '?';
        if (ret[i] != ' ')
            end = i + 1;
    }
    ret[end] = '\0';
}
