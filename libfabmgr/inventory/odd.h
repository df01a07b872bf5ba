/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the devices with odd firmware: a version that differs from that of most devices of the same
 * model. */
#ifndef LIBFABMGR_INVENTORY_ODD_H
#define LIBFABMGR_INVENTORY_ODD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A device and its firmware. Neither text may be NULL. version: "": not known. */
struct fab_firmware {
    const char *model, *version;
    size_t tag; /* number by which the caller identifies the device */
    /* Results. usual: the version that more than half of the devices of this model have; NULL:
     * there is no such version, the model is "", or there are fewer than three devices of this
     * model. odd: true: the version of this device is known and is not `usual`. */
    const char *usual;
    bool odd;
};
/* Sets the results `usual` and `odd` of all devices. Changes the order of all[]. */
void fab_inventory_find_odd(struct fab_firmware *all, size_t count);

#endif
