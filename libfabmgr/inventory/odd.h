/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the devices with odd firmware: another version than most devices of the same model. */
#ifndef LIBFABMGR_INVENTORY_ODD_H
#define LIBFABMGR_INVENTORY_ODD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A device. Neither text may be NULL. version "": not known. */
struct fab_firmware {
    const char *model, *version;
    size_t tag; /* for the caller, to identify the device */
    /* Results. usual: the version of more than half of the devices with this model; NULL: there is
     * none, the model is "", or there are fewer than three such devices. odd: the version of the
     * device is known, and is not `usual`. */
    const char *usual;
    bool odd;
};
/* Sets the results of all devices. Changes the order of all[]. */
void fab_inventory_find_odd(struct fab_firmware *all, size_t count);

#endif
