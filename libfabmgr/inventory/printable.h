/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts of devices and modules. For this folder only. */
#ifndef LIBFABMGR_INVENTORY_PRINTABLE_H
#define LIBFABMGR_INVENTORY_PRINTABLE_H

#include <stddef.h>
#include <stdint.h>

/* Copies a text of at most `count` bytes, which ends at its first NUL. Removes spaces at its end,
 * and replaces characters that are not printable ASCII by '?'. ret must have room for count + 1
 * bytes. */
void fab_inventory_printable(const uint8_t *bytes, size_t count, char *ret);

#endif
