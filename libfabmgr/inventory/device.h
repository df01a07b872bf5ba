/* SPDX-License-Identifier: BSD-3-Clause */
/* What a switch or adapter says about itself: firmware, part, serial number, temperature and
 * fans. All values come from the device and are not verified. */
#ifndef LIBFABMGR_INVENTORY_DEVICE_H
#define LIBFABMGR_INVENTORY_DEVICE_H

#include <stdbool.h>

#include "libfabmgr/wire/vendor.h"

/* size of the text of a firmware version in bytes: three numbers of at most 10 digits, two dots and
 * a NUL, rounded up */
#define FAB_INVENTORY_FIRMWARE 36
#define FAB_INVENTORY_FANS 16
/* value of a temperature (in units of 0.125 degrees Celsius) that is not known */
#define FAB_NO_TEMPERATURE INT16_MIN

/* The inventory of a device. A text is "" if the device does not report it. */
struct fab_inventory_device {
    uint16_t device_id, hw_revision;
    /* such as "28.39.1002" and "2024-03-14" */
    char firmware[FAB_INVENTORY_FIRMWARE], firmware_date[11];
    /* parameter-set ID: identifies the model of the board, for which the firmware is made */
    char psid[17];
    char part[21], serial[25], revision[5], product[65];
};

/* Returns true if devices with this vendor ID have the vendor attributes from which this folder
 * takes its values. The vendor is then Mellanox, or Voltaire or Bull, which sell devices of
 * Mellanox. */
bool fab_inventory_is_known_vendor(uint32_t vendor_id);
void fab_inventory_take_general_info(const struct fab_general_info *from,
                                     struct fab_inventory_device *to);
void fab_inventory_take_msgi(const struct fab_reg_msgi *from, struct fab_inventory_device *to);

/* A temperature, and the limit above which the device itself warns. FAB_NO_TEMPERATURE: the device
 * does not report it. */
struct fab_temperature {
    int16_t now, limit;
};
struct fab_temperature fab_inventory_temperature(const struct fab_reg_mtmp *from);
/* Converts a temperature in a record of the register MTBR to units of 0.125 degrees Celsius.
 * Returns FAB_NO_TEMPERATURE if the record has none, or has an error code. */
int16_t fab_inventory_record_temperature(uint16_t record);

#endif
