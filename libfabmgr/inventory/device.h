/* SPDX-License-Identifier: BSD-3-Clause */
/* What a switch or adapter says about itself: firmware, part, serial number, temperature and
 * fans. All values come from the device and are not verified. */
#ifndef LIBFABMGR_INVENTORY_DEVICE_H
#define LIBFABMGR_INVENTORY_DEVICE_H

#include <stdbool.h>

#include "libfabmgr/wire/vendor.h"

#define FAB_INVENTORY_FIRMWARE 36 /* three numbers of 32 bits, two dots and a NUL */
#define FAB_INVENTORY_FANS 16
/* A temperature in 0.125 degrees Celsius; INT16_MIN: there is no reading. */
#define FAB_NO_TEMPERATURE INT16_MIN

/* A text is "" if the device does not have it. */
struct fab_inventory_device {
    uint16_t device_id, hw_revision;
    /* such as "28.39.1002" and "2024-03-14" */
    char firmware[FAB_INVENTORY_FIRMWARE], firmware_date[11];
    char psid[17]; /* identifies the model of the board; the firmware must fit it */
    char part[21], serial[25], revision[5], product[65];
};

void fab_inventory_take_general_info(const struct fab_general_info *from,
                                     struct fab_inventory_device *to);
void fab_inventory_take_msgi(const struct fab_reg_msgi *from, struct fab_inventory_device *to);

/* now, limit: FAB_NO_TEMPERATURE if the device does not report the value. Above `limit`, the device
 * itself warns. */
struct fab_temperature {
    int16_t now, limit;
};
struct fab_temperature fab_inventory_temperature(const struct fab_reg_mtmp *from);
/* Converts a reading of MTBR. */
int16_t fab_inventory_record_temperature(uint16_t record);

#endif
