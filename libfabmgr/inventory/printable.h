/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts of devices and modules. For this folder only. */
#ifndef LIBFABMGR_INVENTORY_PRINTABLE_H
#define LIBFABMGR_INVENTORY_PRINTABLE_H

#include <stddef.h>
#include <stdint.h>

/* Copies a text of `count` bytes, which ends at its first NUL, without the spaces at its end.
 * Replaces every character that is not printable ASCII by '?'. ret has count + 1 bytes. */
void fab_inventory_printable(const uint8_t *bytes, size_t count, char *ret);

#endif
