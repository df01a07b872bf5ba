/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the devices whose firmware differs from that of their peers. */
#ifndef LIBFABMGR_INVENTORY_ODD_H
#define LIBFABMGR_INVENTORY_ODD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Devices with the same model are peers. Both texts must not be NULL. */
struct fab_firmware {
    const char *model, *version;
    size_t tag; /* for the caller */
    /* Results. usual: the version that more than half of the peers have; NULL: there is none, or
     * the device has fewer than two peers. odd: the device has another version than `usual`. */
    const char *usual;
    bool odd;
};
/* Sets the results of all devices. Devices with the model "" or the version "" have no peers.
 * Changes the order of all[]. */
void fab_inventory_find_odd(struct fab_firmware *all, size_t count);

#endif
